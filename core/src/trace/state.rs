//! What a prefix of a log adds up to.
//!
//! The fold holds no rules: every fact is in some event. It never panics on a log that
//! [`Log::checked`](super::Log::checked) accepted; what does not fit is ignored.

use std::hash::Hash;

use super::{Actor, Entry, Event, EventKind, Header, Mode, RunId, SequenceHeader, TaskId};
use crate::digest::{Digest, Hasher};
use crate::graph::{EdgeKind, NodeId};
use crate::machine::Ticks;

/// Everything there is to see at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The time of the last event.
    pub t: Ticks,
    /// The iteration of the program, from 0.
    pub iteration: u32,
    /// Executions that are going on, and the last one of the entry sequence, by ascending id.
    pub runs: Vec<RunState>,
    /// By lane.
    pub lanes: Vec<Lane>,
    /// Posted tasks that no lane has taken yet, oldest first.
    pub waiting: Vec<Waiting>,
    /// Workers of the session beside the caller.
    pub workers: u32,
    /// Nothing can happen any more, though the run is not over.
    pub quiet: bool,
}

/// One execution of one sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunState {
    /// Which one.
    pub id: RunId,
    /// Index into the header's sequences.
    pub sequence: u32,
    /// How it is executed.
    pub mode: Mode,
    /// The execution and thunk that entered it.
    pub parent: Option<(RunId, NodeId)>,
    /// By node.
    pub nodes: Vec<NodeState>,
    /// By node: edges that still hold it.
    pub counters: Vec<u32>,
    /// Completions still wanted.
    pub pending_nodes: u32,
    /// The first thunk that failed.
    pub failed: Option<NodeId>,
    /// The run is over.
    pub done: bool,
}

/// How a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeState {
    /// Held by edges (or, in a sequential run, by those before it).
    Waiting,
    /// In some ready queue or task.
    Ready,
    /// A lane runs it.
    Running,
    /// It has returned, its event is not available.
    Pending,
    /// Completed.
    Done,
    /// Completed with an error.
    Failed,
    /// Not executed: the run is aborted.
    Skipped,
}

impl NodeState {
    /// Its name: `waiting`, `ready`, `running`, `pending`, `done`, `failed`, `skipped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Pending => "pending",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether an edge of `kind` out of a node that stands so still holds its target.
    pub fn holds(self, kind: EdgeKind) -> bool {
        match self {
            Self::Waiting | Self::Ready | Self::Running => true,
            Self::Pending => kind == EdgeKind::Execution,
            Self::Done | Self::Failed | Self::Skipped => false,
        }
    }
}

/// One lane: a stack of what it works on, the innermost last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Loops it is in; more than one inside nested sequences. Empty when idle.
    pub frames: Vec<Frame>,
}

/// One worker loop on a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The execution it works on.
    pub run: RunId,
    /// What brought the lane into it.
    pub by: Entry,
    /// Its ready queue, in order of arrival.
    pub queue: Vec<NodeId>,
    /// What it has popped and not finished.
    pub running: Option<Running>,
}

/// A thunk on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// The thunk.
    pub node: NodeId,
    /// Since when.
    pub since: Ticks,
}

/// A posted task that no lane has taken yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The task.
    pub task: TaskId,
    /// The execution it belongs to.
    pub run: RunId,
    /// Its nodes, in pop order.
    pub nodes: Vec<NodeId>,
}

impl State {
    /// The state before the first event.
    pub fn new(header: &Header) -> Self {
        Self {
            t: 0,
            iteration: 0,
            runs: Vec::new(),
            lanes: vec![Lane::default(); usize::from(header.lanes)],
            waiting: Vec::new(),
            workers: 0,
            quiet: false,
        }
    }

    /// Adds one event.
    pub fn apply(&mut self, event: &Event, header: &Header) {
        self.t = event.t;
        let run = event.run;
        match &event.kind {
            EventKind::IterationStart { iteration } => self.iteration = *iteration,
            EventKind::IterationEnd { .. } => {}
            EventKind::RunStart { sequence, mode, parent } => {
                if let Some(shape) = header.sequences.get(*sequence as usize) {
                    // A new iteration replaces the execution of the one before.
                    let stays = |other: &RunState| other.id != run && (parent.is_some() || !other.done);
                    self.runs.retain(stays);
                    self.runs.push(RunState::new(run, *sequence, *mode, *parent, shape));
                }
            }
            EventKind::LoopStart { by } => self.loop_start(event.actor, run, *by),
            EventKind::LoopEnd => {
                if let Some(lane) = self.lane(event.actor) {
                    lane.frames.pop();
                }
            }
            EventKind::Popped { node } => {
                if let Some(frame) = self.frame(event.actor, run) {
                    frame.queue.retain(|queued| queued != node);
                }
            }
            EventKind::Split { task, nodes, .. } => {
                if let Some(frame) = self.frame(event.actor, run) {
                    frame.queue.retain(|queued| !nodes.contains(queued));
                }
                self.waiting.push(Waiting { task: *task, run, nodes: nodes.to_vec() });
            }
            EventKind::Posted { task, node } => {
                self.waiting.push(Waiting { task: *task, run, nodes: vec![*node] });
            }
            EventKind::Refused { .. } => {}
            EventKind::Workers { count } => self.workers = *count,
            EventKind::Started { node } => {
                self.set(run, *node, NodeState::Running);
                self.occupy(event.actor, run, Some(Running { node: *node, since: event.t }));
            }
            EventKind::Pending { node } => {
                self.set(run, *node, NodeState::Pending);
                self.occupy(event.actor, run, None);
            }
            // Until its continuation has run, an available thunk still counts as pending.
            EventKind::Available { .. } => {}
            EventKind::Finished { node } => {
                self.set(run, *node, NodeState::Done);
                self.occupy(event.actor, run, None);
            }
            EventKind::Failed { node } => {
                self.set(run, *node, NodeState::Failed);
                self.occupy(event.actor, run, None);
            }
            EventKind::Skipped { node } => self.set(run, *node, NodeState::Skipped),
            EventKind::Released { to, left, .. } => {
                let counter = self.run_mut(run).and_then(|run| run.counters.get_mut(*to as usize));
                counter.into_iter().for_each(|counter| *counter = *left);
                if *left == 0 {
                    self.set(run, *to, NodeState::Ready);
                    if let Some(frame) = self.frame(event.actor, run) {
                        frame.queue.push(*to);
                    }
                }
            }
            EventKind::PendingNodes { count } => {
                if let Some(state) = self.run_mut(run) {
                    state.pending_nodes = *count;
                }
            }
            EventKind::Aborted { node } => {
                if let Some(state) = self.run_mut(run) {
                    state.failed = Some(*node);
                }
            }
            EventKind::Done { failed } => {
                if let Some(state) = self.run_mut(run) {
                    state.done = true;
                    state.failed = *failed;
                }
                self.runs.retain(|other| other.id != run || other.parent.is_none());
            }
            EventKind::Quiet { .. } => self.quiet = true,
            EventKind::Broken { .. } => {}
        }
    }

    fn loop_start(&mut self, actor: Actor, run: RunId, by: Entry) {
        let queue = match by {
            Entry::Caller => self.sources(run),
            Entry::Task(task) => match self.waiting.iter().position(|waiting| waiting.task == task) {
                Some(place) => self.waiting.remove(place).nodes,
                None => Vec::new(),
            },
            Entry::Continuation(_) => Vec::new(),
        };
        if let Some(lane) = self.lane(actor) {
            lane.frames.push(Frame { run, by, queue, running: None });
        }
    }

    /// Makes the sources of a concurrent run ready.
    fn sources(&mut self, run: RunId) -> Vec<NodeId> {
        let Some(state) = self.run_mut(run).filter(|state| state.mode == Mode::Concurrent) else {
            return Vec::new();
        };
        let mut sources = Vec::new();
        for (node, (&counter, state)) in state.counters.iter().zip(&mut state.nodes).enumerate() {
            if counter == 0 {
                *state = NodeState::Ready;
                sources.push(node as NodeId);
            }
        }
        sources
    }

    fn lane(&mut self, actor: Actor) -> Option<&mut Lane> {
        self.lanes.get_mut(usize::from(actor.0))
    }

    /// The innermost loop of `actor` on `run`.
    fn frame(&mut self, actor: Actor, run: RunId) -> Option<&mut Frame> {
        self.lane(actor)?.frames.iter_mut().rev().find(|frame| frame.run == run)
    }

    fn occupy(&mut self, actor: Actor, run: RunId, running: Option<Running>) {
        if let Some(frame) = self.frame(actor, run) {
            frame.running = running;
        }
    }

    fn set(&mut self, run: RunId, node: NodeId, state: NodeState) {
        if let Some(place) = self.run_mut(run).and_then(|run| run.nodes.get_mut(node as usize)) {
            *place = state;
        }
    }

    /// One execution, if it is going on or was the last of the entry sequence.
    pub fn run(&self, id: RunId) -> Option<&RunState> {
        self.runs.iter().find(|run| run.id == id)
    }

    fn run_mut(&mut self, id: RunId) -> Option<&mut RunState> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// The execution of the entry sequence.
    pub fn entry(&self) -> Option<&RunState> {
        self.runs.iter().find(|run| run.parent.is_none())
    }

    /// Digest of everything in the state: what a share link carries.
    pub fn digest(&self) -> Digest {
        struct Feed(Hasher);
        impl std::hash::Hasher for Feed {
            fn finish(&self) -> u64 {
                self.0.finish().0
            }
            fn write(&mut self, bytes: &[u8]) {
                self.0.bytes(bytes);
            }
            // The standard `usize` and integer writes depend on the machine; these do not.
            fn write_u8(&mut self, value: u8) {
                self.0.u64(u64::from(value));
            }
            fn write_u16(&mut self, value: u16) {
                self.0.u64(u64::from(value));
            }
            fn write_u32(&mut self, value: u32) {
                self.0.u64(u64::from(value));
            }
            fn write_u64(&mut self, value: u64) {
                self.0.u64(value);
            }
            fn write_usize(&mut self, value: usize) {
                self.0.u64(value as u64);
            }
            fn write_isize(&mut self, value: isize) {
                self.0.u64(value as u64);
            }
        }
        let mut feed = Feed(Hasher::new());
        let Self { t, iteration, runs, lanes, waiting, workers, quiet } = self;
        (t, iteration, workers, quiet).hash(&mut feed);
        for run in runs {
            let RunState { id, sequence, mode, parent, nodes, counters, pending_nodes, failed, done } = run;
            (id, sequence, mode, parent, pending_nodes, failed, done).hash(&mut feed);
            for (node, counter) in nodes.iter().zip(counters) {
                (node, counter).hash(&mut feed);
            }
        }
        for (index, lane) in lanes.iter().enumerate() {
            for Frame { run, by, queue, running } in &lane.frames {
                (index as u64, run, by, queue.len() as u64).hash(&mut feed);
                queue.iter().for_each(|node| node.hash(&mut feed));
                running.map(|Running { node, since }| (node, since)).hash(&mut feed);
            }
        }
        for Waiting { task, run, nodes } in waiting {
            (task, run, nodes.len() as u64).hash(&mut feed);
            nodes.iter().for_each(|node| node.hash(&mut feed));
        }
        feed.0.finish()
    }
}

impl RunState {
    fn new(
        id: RunId,
        sequence: u32,
        mode: Mode,
        parent: Option<(RunId, NodeId)>,
        shape: &SequenceHeader,
    ) -> Self {
        Self {
            id,
            sequence,
            mode,
            parent,
            nodes: vec![NodeState::Waiting; shape.counters.len()],
            counters: shape.counters.clone(),
            pending_nodes: shape.sinks,
            failed: None,
            done: shape.counters.is_empty(),
        }
    }
}
