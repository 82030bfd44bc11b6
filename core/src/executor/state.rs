//! What the workers of one run share: a counter per node, pending nodes, the first error.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::Fault;
use crate::graph::{Graph, NodeId};
use crate::machine::{AtomicMemory, AtomicView, Memory, Word};

/// Shared state of one run of one graph, in words of a memory.
///
/// Reused between runs by [`State::reset`]; nothing is allocated after construction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<M> {
    memory: M,
    fault: Option<Fault>,
}

/// Why a run failed: the first thunk that did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// The thunk.
    pub node: NodeId,
}

/// What a word of a [`State`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Completions still wanted before the run is over.
    PendingNodes,
    /// The first failure.
    Failed,
    /// The end of the run.
    Done,
    /// How many incoming edges of this node still hold.
    Counter(NodeId),
}

/// Completions still wanted before the run is over: sinks, and pending nodes that had released a
/// scheduling edge.
const PENDING_NODES: Word = Word(0);
/// 0, or 1 + the first node that failed. Not 0 means that the run is aborted.
const FAILED: Word = Word(1);
/// 1 once the run is over.
const DONE: Word = Word(2);
/// Counter of node 0; the others follow. A counter says how many incoming edges still hold.
const COUNTERS: u32 = 3;

impl<M: Memory> State<M> {
    /// Words that the memory must have for a graph of `nodes` nodes.
    pub fn words(nodes: u32) -> usize {
        (COUNTERS + nodes) as usize
    }

    /// State for one run of `graph`, over memory of [`State::words`] words.
    pub fn new(memory: M, graph: &Graph) -> Self {
        let state = Self::over(memory);
        state.reset(graph);
        state
    }

    /// The state that the memory holds.
    pub fn over(memory: M) -> Self {
        Self { memory, fault: None }
    }

    /// The same with a defect, for the explorer. [`Fault::DecrementBeforeIncrement`] is the one
    /// that matters here.
    #[must_use]
    pub fn with_fault(self, fault: Option<Fault>) -> Self {
        Self { fault, ..self }
    }

    /// The defect, if one was asked for.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// What a word of the memory is for.
    pub fn role(word: Word) -> Role {
        match word {
            PENDING_NODES => Role::PendingNodes,
            FAILED => Role::Failed,
            DONE => Role::Done,
            Word(counter) => Role::Counter(counter - COUNTERS),
        }
    }

    /// Makes the state ready for another run. No worker may be using it.
    pub fn reset(&self, graph: &Graph) {
        self.memory.store(PENDING_NODES, graph.sinks().len() as u32, Relaxed);
        self.memory.store(FAILED, 0, Relaxed);
        self.memory.store(DONE, u32::from(graph.is_empty()), Relaxed);
        self.memory.store_all(counter(0), graph.in_degrees());
    }

    /// How many incoming edges of `node` still hold.
    pub fn counter(&self, node: NodeId) -> u32 {
        self.memory.load(counter(node), Acquire)
    }

    /// Releases one incoming edge of `node`; returns how many are left. `alone`: no other worker
    /// takes part, and whoever joins later sees what was stored through the runner or the event.
    #[inline]
    pub(super) fn release(&self, node: NodeId, alone: bool) -> u32 {
        if alone {
            return self.decrement_alone(counter(node));
        }
        // Release: what the predecessor wrote is visible to whoever pops `node` after the last
        // decrement (the counter load in `begin` acquires).
        self.memory.fetch_sub(counter(node), 1, AcqRel).wrapping_sub(1)
    }

    /// Completions still wanted.
    pub fn pending_nodes(&self) -> u32 {
        self.memory.load(PENDING_NODES, Acquire)
    }

    /// One more completion is wanted; must come before the first release it protects.
    pub(super) fn expect_completion(&self) -> u32 {
        self.memory.fetch_add(PENDING_NODES, 1, AcqRel).wrapping_add(1)
    }

    /// One completion has come; returns how many are left. 0 means that the caller ends the run.
    /// `alone` as in [`State::release`].
    #[inline]
    pub(super) fn complete(&self, alone: bool) -> u32 {
        if alone {
            return self.decrement_alone(PENDING_NODES);
        }
        self.memory.fetch_sub(PENDING_NODES, 1, AcqRel).wrapping_sub(1)
    }

    #[inline]
    fn decrement_alone(&self, word: Word) -> u32 {
        let left = self.memory.load(word, Relaxed).wrapping_sub(1);
        self.memory.store(word, left, Relaxed);
        left
    }

    /// Records a failure; true for the first one.
    pub(super) fn fail(&self, node: NodeId) -> bool {
        self.memory.compare_exchange(FAILED, 0, node + 1, AcqRel, Acquire).is_ok()
    }

    /// The first failure. While there is one, thunks are skipped but edges are still released, so
    /// that good runs and failed ones end the same way.
    #[inline]
    pub fn failure(&self) -> Option<Failure> {
        let failed = self.memory.load(FAILED, Acquire);
        (failed != 0).then(|| Failure { node: failed - 1 })
    }

    pub(super) fn finish(&self) {
        self.memory.store(DONE, 1, Release);
    }

    /// Whether the run is over.
    pub fn is_done(&self) -> bool {
        self.memory.load(DONE, Acquire) != 0
    }
}

impl State<AtomicMemory> {
    /// The same state, for a loop: where its words are need not be looked up at each step.
    #[inline]
    pub fn view(&self) -> State<AtomicView<'_>> {
        State { memory: self.memory.view(), fault: self.fault }
    }
}

fn counter(node: NodeId) -> Word {
    Word(COUNTERS + node)
}
