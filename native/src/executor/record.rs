//! The event log of a native run, in the format that the simulator writes (contracts §4).
//!
//! While a run is recorded, each step of the machine happens under the log's lock: events stand in
//! the order in which the words of the machine changed. Thunks run outside of it. A run that is
//! not recorded pays nothing for this: whether it is, is a type parameter of the worker loop.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use thunkscope_core::executor::{Happening, Observer, ReadyQueue};
use thunkscope_core::trace::{Actor, Event, EventKind, RunId};

use super::plan::PlanRun;
use super::post::Post;
use super::thunks::Thunks;

/// Collects the events of all lanes.
#[derive(Debug)]
pub(super) struct Recorder {
    start: Instant,
    log: Mutex<Recording>,
}

/// The events so far.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) events: Vec<Event>,
    runs: RunId,
    /// Events left out because there were too many.
    pub(super) left_out: u64,
    max_events: usize,
    t: u64,
}

impl Recorder {
    pub(super) fn new(max_events: usize) -> Self {
        Self { start: Instant::now(), log: Mutex::new(Recording { max_events, ..Recording::default() }) }
    }

    /// What the times of events count from.
    pub(super) fn start(&self) -> Instant {
        self.start
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Recording> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // One time for all events of a step: read under the lock, so it never runs backwards.
        log.t = log.t.max(self.start.elapsed().as_nanos() as u64);
        log
    }
}

impl Recording {
    pub(super) fn emit(&mut self, run: RunId, actor: Actor, kind: EventKind) {
        // What comes after the first event that was left out would not fit any more.
        if self.left_out > 0 || self.events.len() >= self.max_events {
            self.left_out += 1;
            return;
        }
        self.events.push(Event { t: self.t, actor, run, kind });
    }

    /// The number of a new run.
    pub(super) fn new_run(&mut self) -> RunId {
        self.runs += 1;
        self.runs - 1
    }

    /// The number that the next run will have.
    pub(super) fn next_run(&self) -> RunId {
        self.runs
    }
}

/// What a worker loop tells about itself while it works on one run.
pub(super) trait Watch: Observer {
    /// Whether anything is recorded.
    const ON: bool;

    /// A step of the machine begins.
    fn lock(&mut self);

    /// The step is over: its events are written, its tasks are sent.
    fn unlock<Q: ReadyQueue + Send + 'static, T: Thunks>(&mut self, post: &mut Post<'_, Q, T>);

    /// Inside a step, before the machine moves: something that it does not report itself.
    fn emit(&mut self, kind: impl FnOnce() -> EventKind);

    /// Whether this loop ended the run; asked once.
    fn ended(&mut self) -> bool;
}

/// Records nothing.
#[derive(Debug, Default)]
pub(super) struct Off {
    ended: bool,
}

impl Observer for Off {
    #[inline(always)]
    fn on(&mut self, happening: Happening) {
        if let Happening::Done(_) = happening {
            self.ended = true;
        }
    }
}

impl Watch for Off {
    const ON: bool = false;
    #[inline(always)]
    fn lock(&mut self) {}
    #[inline(always)]
    fn unlock<Q: ReadyQueue + Send + 'static, T: Thunks>(&mut self, _: &mut Post<'_, Q, T>) {}
    #[inline(always)]
    fn emit(&mut self, _: impl FnOnce() -> EventKind) {}
    #[inline(always)]
    fn ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }
}

/// Records everything.
pub(super) struct On<'r> {
    recorder: &'r Recorder,
    actor: Actor,
    run: RunId,
    guard: Option<MutexGuard<'r, Recording>>,
    happenings: Vec<Happening>,
    ended: bool,
}

impl<'r> On<'r> {
    pub(super) fn new<Q>(recorder: &'r Recorder, lane: u16, plan: &PlanRun<Q>) -> Self {
        let run = plan.run_id.load(Relaxed);
        Self { recorder, actor: Actor(lane), run, guard: None, happenings: Vec::new(), ended: false }
    }

    fn write(&mut self, kind: EventKind) {
        if let Some(log) = &mut self.guard {
            log.emit(self.run, self.actor, kind);
        }
    }
}

impl Observer for On<'_> {
    fn on(&mut self, happening: Happening) {
        self.happenings.push(happening);
    }
}

impl Watch for On<'_> {
    const ON: bool = true;

    fn lock(&mut self) {
        // Dropped first: a step that panicked may have left it locked.
        self.guard = None;
        self.guard = Some(self.recorder.lock());
    }

    fn unlock<Q: ReadyQueue + Send + 'static, T: Thunks>(&mut self, post: &mut Post<'_, Q, T>) {
        let mut held = std::mem::take(&mut post.held).unwrap_or_default().into_iter();
        for happening in std::mem::take(&mut self.happenings) {
            match happening {
                Happening::Split { kept, .. } => {
                    let Some(task) = held.next() else { continue };
                    let id = post.shared.next_task();
                    let nodes = task.ready.in_pop_order().into_boxed_slice();
                    self.write(EventKind::Split { kept, task: id, nodes });
                    post.send(task, id);
                }
                Happening::PostedBlocking(node) => {
                    let Some(task) = held.next() else { continue };
                    let id = post.shared.next_task();
                    self.write(EventKind::Posted { task: id, node });
                    post.send(task, id);
                }
                other => {
                    self.ended |= matches!(other, Happening::Done(_));
                    EventKind::of(other).into_iter().for_each(|kind| self.write(kind));
                }
            }
        }
        post.held = Some(Vec::new());
        self.guard = None;
    }

    fn emit(&mut self, kind: impl FnOnce() -> EventKind) {
        debug_assert!(self.happenings.is_empty(), "told before the machine moves");
        self.write(kind());
    }

    fn ended(&mut self) -> bool {
        std::mem::take(&mut self.ended)
    }
}
