//! Who is told what happens in a step: nobody during a search, the log of a counterexample after.

use crate::dfx;
use crate::machine::Ticks;
use crate::sim::dfx::{Entry, Kind};
use crate::trace::{Actor, EventKind, RunId, TaskId};

/// Is told what happens. `()` hears nothing and compiles to nothing.
pub trait Narrator {
    /// Something happened.
    fn on(&mut self, actor: Actor, run: RunId, kind: impl FnOnce() -> EventKind);

    /// Something happened to buffers, queues and gates.
    fn on_dfx(&mut self, actor: Actor, event: dfx::Event);

    /// A task joined the end of list `list`; gives it the number that a log calls it by.
    ///
    /// States hold no such numbers: they would make equal states differ.
    fn posted(&mut self, list: usize) -> TaskId;

    /// The entry at `index` left list `list`; the number it was given.
    fn taken(&mut self, list: usize, index: usize) -> TaskId;
}

impl Narrator for () {
    #[inline(always)]
    fn on(&mut self, _: Actor, _: RunId, _: impl FnOnce() -> EventKind) {}
    #[inline(always)]
    fn on_dfx(&mut self, _: Actor, _: dfx::Event) {}
    #[inline(always)]
    fn posted(&mut self, _: usize) -> TaskId {
        0
    }
    #[inline(always)]
    fn taken(&mut self, _: usize, _: usize) -> TaskId {
        0
    }
}

/// Keeps what it is told as events; each step of the search is one tick.
#[derive(Debug, Default)]
pub struct Teller {
    /// The time of what is told now.
    pub now: Ticks,
    /// What was told.
    pub events: Vec<Entry>,
    lists: Vec<Vec<TaskId>>,
    tasks: TaskId,
}

impl Narrator for Teller {
    fn on(&mut self, actor: Actor, run: RunId, kind: impl FnOnce() -> EventKind) {
        self.events.push(Entry { t: self.now, actor, run, kind: Kind::Executor(kind()) });
    }

    fn on_dfx(&mut self, actor: Actor, event: dfx::Event) {
        self.events.push(Entry { t: self.now, actor, run: 0, kind: Kind::Other(event) });
    }

    fn posted(&mut self, list: usize) -> TaskId {
        if self.lists.len() <= list {
            self.lists.resize(list + 1, Vec::new());
        }
        let task = self.tasks;
        self.tasks += 1;
        self.lists[list].push(task);
        task
    }

    fn taken(&mut self, list: usize, index: usize) -> TaskId {
        self.lists.get_mut(list).filter(|list| index < list.len()).map_or(0, |list| list.remove(index))
    }
}
