//! How a run stands, while it goes on: what people with a silent process ask for (executor spec §4).

use std::fmt;

use serde::Serialize;

use super::State;
use crate::diagnostic::shown;
use crate::graph::{Graph, NodeId};
use crate::machine::{Memory, Ticks};
use crate::program::Sequence;

/// A snapshot, taken without stopping anybody: each number is true of some instant, not all of the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The sequence, such as `entry/4.body`.
    pub path: String,
    /// Thunks of the sequence.
    pub thunks: u32,
    /// By lane that has worked on the run: the thunk that it completed last.
    pub last_completed: Vec<Named>,
    /// Thunks that have not become ready.
    pub never_ready: u32,
    /// The first of them, at most [`SHOWN`].
    pub first_never_ready: Vec<Named>,
    /// Thunks that have begun and not completed, longest first.
    pub suspects: Vec<Suspect>,
}

/// Most names in a list of a snapshot.
pub const SHOWN: usize = 8;

/// A thunk that people should recognise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Named {
    /// Its index.
    pub node: NodeId,
    /// Its name.
    pub name: String,
}

/// A thunk that has begun and not completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suspect {
    /// The thunk.
    #[serde(flatten)]
    pub thunk: Named,
    /// Running on a lane, or returned with its event pending.
    pub state: SuspectState,
    /// For how long, in ns, as far as known.
    pub for_ns: Ticks,
}

/// How a suspect stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspectState {
    /// A lane is inside it.
    Running,
    /// It has returned; its event has not become available.
    Pending,
}

impl Named {
    /// The thunk `node` of `sequence`.
    pub fn of(sequence: &Sequence, node: NodeId) -> Self {
        let name = sequence.thunks.get(node as usize).map_or("?", |thunk| &thunk.name);
        Self { node, name: shown(name, 80) }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thunk {} `{}`", self.node, self.name)
    }
}

impl Progress {
    /// Adds what the counters tell. Last completed thunks and suspects are known to the driver.
    pub fn count<M: Memory>(&mut self, graph: &Graph, state: &State<M>, named: &impl Fn(NodeId) -> Named) {
        for node in (0..graph.len()).filter(|&node| state.counter(node) > 0) {
            self.never_ready += 1;
            if self.first_never_ready.len() < SHOWN {
                self.first_never_ready.push(named(node));
            }
        }
    }
}

/// One sentence, as a watchdog says it: `thunk 17 `all-reduce` pending for 12 s; 40 thunks never became ready`.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, suspect) in self.suspects.iter().take(SHOWN).enumerate() {
            let state = match suspect.state {
                SuspectState::Running => "running",
                SuspectState::Pending => "pending",
            };
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{} {state} for {}", suspect.thunk, duration(suspect.for_ns))?;
        }
        match self.suspects.len() {
            0 => f.write_str("no thunk is running or pending")?,
            n if n > SHOWN => write!(f, " and {} more", n - SHOWN)?,
            _ => {}
        }
        match self.never_ready {
            1 => f.write_str("; 1 thunk never became ready")?,
            n => write!(f, "; {n} thunks never became ready")?,
        }
        if let Some(first) = self.first_never_ready.first() {
            write!(f, ", the first is {first}")?;
        }
        if let Some(last) = self.last_completed.first() {
            write!(f, "; last completed: {last}")?;
            for last in &self.last_completed[1..] {
                write!(f, ", {last}")?;
            }
        }
        Ok(())
    }
}

/// A length of time in the unit that suits it: `12 s`, `340 ms`, `17 µs`, `90 ns`; rounded down.
pub fn duration(ns: Ticks) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{} µs", ns / 1_000),
        10_000_000..10_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Reduction;
    use crate::machine::LocalMemory;
    use crate::program::{Kind, Thunk};

    #[test]
    fn reads_as_one_sentence() {
        let thunk = |name: &str| Thunk::new(Kind::Kernel, name).writes(0, 0, 4);
        let sequence = Sequence { thunks: vec![thunk("all-reduce"), thunk("b"), thunk("c")] };
        let graph = Graph::build(&sequence, &[], Reduction::Upstream).expect("small");
        let memory = LocalMemory::new(State::<LocalMemory>::words(graph.len()));
        let state = State::new(memory, &graph);
        let mut progress = Progress { path: "entry".to_owned(), thunks: 3, ..Progress::default() };
        progress.count(&graph, &state, &|node| Named::of(&sequence, node));
        let thunk = Named::of(&sequence, 0);
        progress.suspects = vec![Suspect { thunk, state: SuspectState::Pending, for_ns: 12_300_000_000 }];
        assert_eq!(
            progress.to_string(),
            "thunk 0 `all-reduce` pending for 12 s; 2 thunks never became ready, the first is thunk 1 `b`"
        );
        assert_eq!([duration(90), duration(340_000_000)], ["90 ns", "340 ms"]);
    }
}
