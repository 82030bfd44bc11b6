//! The worker loop as a two-phase step: `begin` → the thunk runs → `finish`.

use super::{Failure, Fault, ReadyQueue, Session, State};
use crate::graph::{EdgeKind, NodeId, Successors};
use crate::machine::Memory;

/// One thread's part in a run. The default takes part with nothing to do yet: for a continuation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Worker<Q> {
    /// The nodes that this thread will run.
    pub ready: Q,
    /// Nobody else takes part: no task has been posted and no event has been pending so far. Then
    /// counters are loaded and stored; an atomic read-modify-write costs as much as a whole step.
    alone: bool,
}

/// A run, as all its workers see it. Put together anew wherever it is needed.
#[derive(Debug)]
pub struct Run<'r, M> {
    /// What may run when.
    pub graph: Successors<'r>,
    /// By node; may be empty unless the queue class orders by it.
    pub priorities: &'r [u32],
    /// What the workers share.
    pub state: &'r State<M>,
    /// The cap on workers, shared with all nested runs.
    pub session: &'r Session<M>,
    /// A worker splits its queue while more than this many other nodes are ready.
    pub split_threshold: u32,
}

impl<M> Clone for Run<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Run<'_, M> {}

impl<M> Run<'_, M> {
    #[inline]
    fn push<Q: ReadyQueue>(&self, queue: &mut Q, node: NodeId) {
        queue.push(node, || self.priorities[node as usize]);
    }
}

/// A piece of a run that some other thread should take over: it holds a place in the session,
/// and its taker calls [`Session::leave`] when its loop has ended.
#[derive(Clone, Debug)]
pub struct Task<Q> {
    /// What to run.
    pub ready: Q,
    /// A blocking thunk alone: it joined the session whatever the cap. Else it is half of a queue,
    /// and joined under the cap.
    pub blocking: bool,
}

/// Takes posted tasks to other threads.
pub trait Runner<Q> {
    /// Whether tasks can be posted at all. Without a runner, one thread does everything.
    fn available(&self) -> bool;

    /// Whether a split pays now. A runner that knows how short the thunks are may decline: to hand
    /// over work of a microsecond costs more than to do it.
    #[inline]
    fn pays(&mut self) -> bool {
        true
    }

    /// Runs `task` on some thread, some time. What the poster wrote before must be visible to the
    /// taker, as any queue between threads has it.
    fn post(&mut self, task: Task<Q>);

    /// An empty queue for a task: a runner that keeps old ones saves an allocation.
    fn spare(&mut self) -> Q
    where
        Q: Default,
    {
        Q::default()
    }
}

/// Something that happened inside a step, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A node left the ready queue; it will be run, skipped or posted.
    Popped(NodeId),
    /// The queue was too long and half of it was given away as one task.
    Split {
        /// Nodes kept.
        kept: u32,
        /// Nodes given away.
        given: u32,
    },
    /// A split was wanted, but the session is full: this worker goes on alone.
    Refused {
        /// Ready nodes at that moment.
        ready: u32,
    },
    /// A blocking thunk was posted alone, so that this worker need not wait for it.
    PostedBlocking(NodeId),
    /// The session's number of workers changed to this.
    Workers(u32),
    /// An edge was released; at `left` = 0 the target was pushed into the ready queue.
    Released {
        /// Source of the edge.
        from: NodeId,
        /// Target of the edge.
        to: NodeId,
        /// Kind of the edge.
        kind: EdgeKind,
        /// Edges that still hold the target.
        left: u32,
    },
    /// The number of completions still wanted changed to this.
    PendingNodes(u32),
    /// The first failure: from here on thunks are skipped.
    Aborted(NodeId),
    /// The run is over.
    Done(Option<Failure>),
}

/// Sees what happens. `()` sees nothing and compiles to nothing.
pub trait Observer {
    /// Called once for each happening, in order, on the thread where it happens.
    fn on(&mut self, happening: Happening);
}

impl Observer for () {
    #[inline(always)]
    fn on(&mut self, _: Happening) {}
}

/// What a worker should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Run this thunk, then call [`Worker::finish`] or [`Worker::suspend`].
    Execute(NodeId),
    /// The run is aborted: do not run this thunk, call [`Worker::finish`] with `Ok` at once.
    Skip(NodeId),
    /// The node went to another thread; call [`Worker::begin`] again.
    Posted,
    /// The ready queue is empty: this worker is done, whether or not the run is.
    Idle,
}

/// A thunk that has started and not completed; what [`Worker::resume`] needs when it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use = "the run cannot end before the thunk is resumed"]
pub struct Continuation {
    /// The pending thunk.
    pub node: NodeId,
    /// Its completion counts in `pending_nodes`: it is a sink, or it has released a scheduling edge.
    counted: bool,
}

impl<Q: ReadyQueue> Worker<Q> {
    /// The first worker of a run: its queue holds the sources in program order.
    pub fn start<M>(run: &Run<'_, M>) -> Self {
        Self::start_with(run, Q::default())
    }

    /// As [`Worker::start`], with a queue that was used before and is empty now.
    pub fn start_with<M>(run: &Run<'_, M>, mut ready: Q) -> Self {
        for &node in run.graph.sources() {
            run.push(&mut ready, node);
        }
        Self { ready, alone: true }
    }

    /// A worker that takes over a posted task, or (with an empty queue) goes on after a pending
    /// thunk has completed.
    pub fn take(ready: Q) -> Self {
        Self { ready, alone: false }
    }

    /// A worker as it was: with these nodes, and alone in the run or not.
    pub fn with(ready: Q, alone: bool) -> Self {
        Self { ready, alone }
    }

    /// Whether nobody else takes part in the run so far, as far as this worker goes by.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// First half of one iteration: pops a node, splits the queue if it is long, posts a blocking
    /// thunk elsewhere. `may_block` tells whether running a node may block the thread.
    #[inline(always)]
    pub fn begin<M: Memory>(
        &mut self,
        run: &Run<'_, M>,
        may_block: impl FnOnce(NodeId) -> bool,
        runner: &mut impl Runner<Q>,
        observer: &mut impl Observer,
    ) -> Begin {
        let Some(node) = self.ready.pop() else { return Begin::Idle };
        observer.on(Happening::Popped(node));
        // With nothing else ready there is nothing to hand over: the usual case in a chain.
        if !self.ready.is_empty() && runner.available() {
            if self.ready.len() > run.split_threshold as usize && runner.pays() {
                *self = std::mem::take(self).after_split(*run, runner, observer);
            }
            if may_block(node) && !self.ready.is_empty() {
                *self = std::mem::take(self).after_post(*run, node, runner, observer);
                return Begin::Posted;
            }
        }
        if run.state.failure().is_some() { Begin::Skip(node) } else { Begin::Execute(node) }
    }

    /// A blocking thunk goes to another thread, alone and whatever the cap. By value, as
    /// [`after_split`](Self::after_split).
    #[cold]
    #[inline(never)]
    fn after_post<M: Memory>(
        mut self,
        run: Run<'_, M>,
        node: NodeId,
        runner: &mut impl Runner<Q>,
        observer: &mut impl Observer,
    ) -> Self {
        run.session.join();
        observer.on(Happening::PostedBlocking(node));
        observer.on(Happening::Workers(run.session.workers()));
        let mut ready = runner.spare();
        run.push(&mut ready, node);
        self.alone = false;
        runner.post(Task { ready, blocking: true });
        self
    }

    /// What [`split`](Self::split) makes of a worker. By value: a worker whose address is known to
    /// no other function can stay in registers.
    #[cold]
    #[inline(never)]
    fn after_split<M: Memory>(
        mut self,
        run: Run<'_, M>,
        runner: &mut impl Runner<Q>,
        observer: &mut impl Observer,
    ) -> Self {
        self.split(&run, runner, observer);
        self
    }

    /// Recursive halving (seed 004): while the queue is longer than the threshold and the session
    /// has room, half of the queue becomes one task that runs the same loop.
    pub fn split<M: Memory>(
        &mut self,
        run: &Run<'_, M>,
        runner: &mut impl Runner<Q>,
        observer: &mut impl Observer,
    ) {
        while self.ready.len() > run.split_threshold as usize {
            if !run.session.try_join() {
                observer.on(Happening::Refused { ready: self.ready.len() as u32 });
                break;
            }
            let mut half = runner.spare();
            self.ready.pop_half_into(&mut half);
            self.alone = false;
            observer.on(Happening::Split { kept: self.ready.len() as u32, given: half.len() as u32 });
            observer.on(Happening::Workers(run.session.workers()));
            runner.post(Task { ready: half, blocking: false });
        }
    }

    /// Second half for a thunk that has completed: releases all its outgoing edges. The first
    /// error aborts the run, which still drains.
    #[inline(always)]
    pub fn finish<M: Memory>(
        &mut self,
        run: &Run<'_, M>,
        node: NodeId,
        result: Result<(), Failure>,
        observer: &mut impl Observer,
    ) {
        if result.is_err() {
            run.note(result, observer);
        }
        let edges = run.graph.of(node);
        for edge in edges {
            self.release(run, node, edge.node, edge.kind, observer);
        }
        if edges.is_empty() {
            run.complete(self.alone, observer);
        }
    }

    /// Second half for a thunk whose event is still pending: releases the scheduling edges now.
    ///
    /// Its completion joins `pending_nodes` strictly before the first release: the successor may
    /// finish first, and the run must not end under a thunk that still runs (seed 004).
    pub fn suspend<M: Memory>(
        &mut self,
        run: &Run<'_, M>,
        node: NodeId,
        observer: &mut impl Observer,
    ) -> Continuation {
        // From here on another thread may complete the thunk and release edges.
        self.alone = false;
        let edges = run.graph.of(node);
        let releases = edges.iter().any(|edge| edge.kind == EdgeKind::Scheduling);
        let too_late = run.state.fault() == Some(Fault::DecrementBeforeIncrement);
        if releases && !too_late {
            observer.on(Happening::PendingNodes(run.state.expect_completion()));
        }
        for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Scheduling) {
            self.release(run, node, edge.node, edge.kind, observer);
        }
        if releases && too_late {
            observer.on(Happening::PendingNodes(run.state.expect_completion()));
        }
        Continuation { node, counted: releases || edges.is_empty() }
    }

    /// A pending thunk has completed: releases its execution edges. The caller then goes on with
    /// [`Worker::begin`].
    pub fn resume<M: Memory>(
        &mut self,
        run: &Run<'_, M>,
        continuation: Continuation,
        result: Result<(), Failure>,
        observer: &mut impl Observer,
    ) {
        run.note(result, observer);
        let Continuation { node, counted } = continuation;
        for edge in run.graph.of(node).iter().filter(|edge| edge.kind == EdgeKind::Execution) {
            self.release(run, node, edge.node, edge.kind, observer);
        }
        if counted {
            run.complete(self.alone, observer);
        }
    }

    #[inline(always)]
    fn release<M: Memory>(
        &mut self,
        run: &Run<'_, M>,
        from: NodeId,
        to: NodeId,
        kind: EdgeKind,
        observer: &mut impl Observer,
    ) {
        let left = run.state.release(to, self.alone);
        observer.on(Happening::Released { from, to, kind, left });
        if left == 0 {
            run.push(&mut self.ready, to);
        }
    }
}

impl<M: Memory> Run<'_, M> {
    #[cold]
    fn note(&self, result: Result<(), Failure>, observer: &mut impl Observer) {
        if let Err(failure) = result
            && self.state.fail(failure.node)
        {
            observer.on(Happening::Aborted(failure.node));
        }
    }

    #[inline]
    fn complete(&self, alone: bool, observer: &mut impl Observer) {
        let left = self.state.complete(alone);
        observer.on(Happening::PendingNodes(left));
        if left == 0 {
            self.state.finish();
            observer.on(Happening::Done(self.state.failure()));
        }
    }
}
