//! One sequence, ready to be run again and again.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use thunkscope_core::executor::{self, Continuation, Event, ReadyQueue, Run, Sequential, Session, State};
use thunkscope_core::graph::{Graph, NodeId};
use thunkscope_core::machine::{AtomicMemory, Memory, Word};
use thunkscope_core::program::SequencePath;
use thunkscope_core::sim::Cursor;
use thunkscope_core::trace::Mode;

use super::thunks::Flags;

/// A sequence, its graph, and everything a run of it changes.
#[derive(Debug)]
pub(super) struct PlanRun<Q> {
    pub(super) path: SequencePath,
    pub(super) graph: Graph,
    pub(super) priorities: Vec<u32>,
    pub(super) mode: Mode,
    /// The thunk of which sequence enters this one; `None` for the entry.
    pub(super) parent: Option<(usize, NodeId)>,
    /// By node, if any blocks.
    blocking: Vec<bool>,
    /// Nodes that may answer something else than done, control flow among them; ascending.
    pending: Vec<PendingThunk>,
    has_control_flow: bool,
    pub(super) state: State<AtomicMemory>,
    /// One event for the end of the run, then one for each of `pending`.
    events: AtomicMemory,
    /// Where a run in program order stands while one of its thunks is pending.
    pub(super) sequential: Mutex<Sequential>,
    /// Queues that nobody uses, empty, with room for every node.
    spare: Mutex<Vec<Q>>,
    /// Queues of posted tasks.
    slots: Mutex<Vec<Option<Q>>>,
    /// Its number in the log.
    pub(super) run_id: AtomicU32,
    /// Whether a run is going on.
    pub(super) active: AtomicBool,
}

/// A thunk that may pend.
#[derive(Debug)]
pub(super) struct PendingThunk {
    pub(super) node: NodeId,
    /// Its continuation is handed back.
    pub(super) foreign: bool,
    /// Written before the event is attached, read after it has completed.
    pub(super) left: Mutex<Left>,
    /// Of control flow: what it enters, from the start and from here on.
    pub(super) cursor: Option<(Cursor, Mutex<Cursor>)>,
}

/// What a worker left behind for a continuation.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) continuation: Option<Continuation>,
    pub(super) place: Place,
    pub(super) since: Option<Instant>,
}

/// How a worker came by its place in the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// It has none: the thread that entered the sequence.
    #[default]
    None,
    /// By `try_join`, under the cap.
    Tried,
    /// By `join`, whatever the cap.
    Joined,
}

/// What a plan is made of.
pub(super) struct Parts {
    pub(super) path: SequencePath,
    pub(super) graph: Graph,
    pub(super) priorities: Vec<u32>,
    pub(super) mode: Mode,
    pub(super) parent: Option<(usize, NodeId)>,
    pub(super) flags: Vec<Flags>,
    /// By node: the cursor of a control-flow thunk.
    pub(super) cursors: Vec<Option<Cursor>>,
    /// Threads that can be in a run of it at once.
    pub(super) threads: usize,
    /// Tasks that can be posted and not taken.
    pub(super) tasks: usize,
}

impl<Q: ReadyQueue> PlanRun<Q> {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { path, graph, priorities, mode, parent, flags, cursors, threads, tasks } = parts;
        let nodes = graph.len() as usize;
        let blocking: Vec<bool> = flags.iter().map(|flags| flags.may_block).collect();
        let pending: Vec<_> = flags
            .iter()
            .zip(cursors)
            .zip(0..)
            .filter(|((flags, cursor), _)| flags.may_pend || cursor.is_some())
            .map(|((flags, cursor), node)| PendingThunk {
                node,
                foreign: flags.foreign,
                left: Mutex::default(),
                cursor: cursor.map(|start| (start.clone(), Mutex::new(start))),
            })
            .collect();
        let concurrent = mode == Mode::Concurrent;
        let words = if concurrent { State::<AtomicMemory>::words(graph.len()) } else { 3 };
        let state = if concurrent {
            State::new(AtomicMemory::new(words), &graph)
        } else {
            let empty = Graph::from_incoming(&[]);
            State::new(AtomicMemory::new(words), &empty)
        };
        let queues = if concurrent { threads + tasks } else { 0 };
        let spare = (0..queues).map(|_| queue(nodes)).collect();
        let plan = Self {
            path,
            priorities,
            mode,
            parent,
            blocking: if blocking.contains(&true) { blocking } else { Vec::new() },
            events: AtomicMemory::new(1 + pending.len()),
            has_control_flow: pending.iter().any(|thunk| thunk.cursor.is_some()),
            pending,
            state,
            sequential: Mutex::new(Sequential::new(0)),
            spare: Mutex::new(spare),
            slots: Mutex::new((0..if concurrent { tasks } else { 0 }).map(|_| None).collect()),
            run_id: AtomicU32::new(0),
            active: AtomicBool::new(false),
            graph,
        };
        debug_assert_eq!(plan.events.load(Word(0), Relaxed), 0);
        plan
    }

    /// Makes everything ready for another run.
    pub(super) fn reset(&self) {
        if self.mode == Mode::Concurrent {
            self.state.reset(&self.graph);
        }
        for index in 0..=self.pending.len() {
            Event::new(&self.events, Word(index as u32)).reset();
        }
    }

    #[inline]
    pub(super) fn run<'r>(
        &'r self,
        session: &'r Session<AtomicMemory>,
        options: &executor::Options,
    ) -> Run<'r, AtomicMemory> {
        self.run_over(&self.state, session, options)
    }

    /// As [`PlanRun::run`], with other ways to get at the same state and session.
    #[inline]
    pub(super) fn run_over<'r, M>(
        &'r self,
        state: &'r State<M>,
        session: &'r Session<M>,
        options: &executor::Options,
    ) -> Run<'r, M> {
        Run {
            graph: self.graph.successors(),
            priorities: &self.priorities,
            state,
            session,
            split_threshold: options.split_threshold,
        }
    }

    /// By node, whether it may block; empty if none may.
    pub(super) fn blocking(&self) -> &[bool] {
        &self.blocking
    }

    /// Whether any thunk has nested sequences.
    pub(super) fn has_control_flow(&self) -> bool {
        self.has_control_flow
    }

    /// Whether `node` has nested sequences.
    #[inline]
    pub(super) fn is_control_flow(&self, node: NodeId) -> bool {
        self.has_control_flow && self.pending_thunk(node).is_some_and(|(thunk, _)| thunk.cursor.is_some())
    }

    /// Thunks that may pend.
    pub(super) fn pending(&self) -> &[PendingThunk] {
        &self.pending
    }

    /// What there is to say about a thunk that may pend, and its event.
    pub(super) fn pending_thunk(&self, node: NodeId) -> Option<(&PendingThunk, Event<'_, AtomicMemory>)> {
        let index = self.pending.binary_search_by_key(&node, |thunk| thunk.node).ok()?;
        Some((&self.pending[index], Event::new(&self.events, Word(1 + index as u32))))
    }

    /// The event of the run as a whole.
    pub(super) fn done(&self) -> Event<'_, AtomicMemory> {
        Event::new(&self.events, Word(0))
    }

    /// An empty queue with room for all.
    pub(super) fn spare(&self) -> Q {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| queue(self.graph.len() as usize))
    }

    /// Gives a queue back.
    pub(super) fn keep(&self, mut queue: Q) {
        queue.clear();
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
    }

    /// Puts the queue of a posted task where its taker finds it.
    pub(super) fn put(&self, queue: Q) -> u32 {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let free = slots.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            slots.push(None);
            slots.len() - 1
        });
        slots[slot] = Some(queue);
        slot as u32
    }

    /// The queue of a posted task.
    pub(super) fn take(&self, slot: u32) -> Q {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get_mut(slot as usize).and_then(Option::take).unwrap_or_default()
    }
}

fn queue<Q: ReadyQueue>(nodes: usize) -> Q {
    let mut queue = Q::default();
    queue.reserve(nodes);
    queue
}
