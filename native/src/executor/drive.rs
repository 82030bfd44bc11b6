//! The worker loop on a thread: what the simulator does in virtual time, done for real.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use thunkscope_core::executor::{
    Attached, Begin, Completed, Failure, ReadyQueue, Sequential, Session, Worker,
};
use thunkscope_core::graph::NodeId;
use thunkscope_core::machine::AtomicMemory;
use thunkscope_core::trace::{Actor, Entry, EventKind, Mode};

use super::activity::{Member, World};
use super::handle::{Failed, Options};
use super::lane::Lane;
use super::mailbox::{Item, Mailbox};
use super::offload::Cores;
use super::plan::{Left, Place, PlanRun};
use super::post::{Meter, Nobody, Post};
use super::record::{Off, On, Recorder, Watch};
use super::thunks::{Call, Driver, Error, Ran, Target, Thunks};
use super::timers::Timers;

/// Everything that the threads of one executor share.
pub(super) struct Shared<Q, T> {
    pub(super) plans: Vec<PlanRun<Q>>,
    pub(super) thunks: T,
    pub(super) options: Options,
    pub(super) session: Session<AtomicMemory>,
    pub(super) mailbox: Mailbox,
    pub(super) cores: Cores,
    pub(super) timers: Timers,
    pub(super) world: Arc<World>,
    pub(super) lanes: Vec<Lane>,
    pub(super) has_pool: bool,
    pub(super) recorder: Option<Recorder>,
    pub(super) cancelled: AtomicBool,
    /// The caller was told that the run is over, and counts as active again.
    pub(super) woken: AtomicBool,
    /// Items that are posted or being worked on.
    pub(super) inside: AtomicUsize,
    pub(super) tasks: AtomicU32,
    pub(super) places: Places,
    /// Whether there are any.
    pub(super) any_failed: AtomicBool,
    /// Errors of thunks, in the order in which they came; the first few.
    pub(super) errors: Mutex<Vec<Failed>>,
    pub(super) me: Weak<Self>,
}

/// How workers came into the session.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Held now by `try_join`.
    tried: AtomicUsize,
    /// Most ever held by `try_join` at once.
    pub(super) peak_tried: AtomicUsize,
    /// Taken by `join`, whatever the cap.
    pub(super) joined: AtomicU64,
}

impl Places {
    /// Nobody holds a place: a stalled run may have left some behind.
    pub(super) fn forget(&self) {
        self.tried.store(0, Relaxed);
    }
}

/// Most errors that are kept; the first failure of each sequence is among them.
const MAX_ERRORS: usize = 64;

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Shared<Q, T> {
    /// Something was posted or begun that the caller must wait for.
    pub(super) fn enter_item(&self) {
        self.inside.fetch_add(1, AcqRel);
        self.world.activate();
    }

    fn leave_item(&self) {
        // The world first: once nothing is inside, the caller may start another run.
        self.world.deactivate();
        if self.inside.fetch_sub(1, AcqRel) == 1 {
            self.mailbox.wake();
        }
    }

    /// The time, if it is wanted.
    pub(super) fn clock(&self) -> Option<Instant> {
        self.options.measure.then(Instant::now)
    }

    pub(super) fn was_busy(&self, lane: u16, since: Option<Instant>) {
        if let Some(since) = since {
            self.lanes[usize::from(lane)].was_busy(since.elapsed());
        }
    }

    pub(super) fn next_task(&self) -> u32 {
        self.tasks.fetch_add(1, Relaxed)
    }

    /// What a thread of the pool does.
    pub(super) fn pool_thread(&self, lane: u16) {
        while let Some(item) = self.mailbox.take() {
            self.item(lane, item);
        }
    }

    /// What a completion thread does.
    pub(super) fn completion_thread(&self, lane: u16) {
        while let Some((p, node)) = self.timers.take() {
            let start = self.clock();
            let call = Call { plan: p, node, lane, driver: self };
            self.lanes[usize::from(lane)].begins(p, node);
            let result = catch_unwind(AssertUnwindSafe(|| self.thunks.run_later(&call)))
                .unwrap_or_else(|panic| Err(panicked(&*panic)));
            self.lanes[usize::from(lane)].rests();
            self.completed(Some(lane), p, node, result);
            self.was_busy(lane, start);
            self.leave_item();
        }
    }

    /// Works on an item until there is nothing left of it.
    pub(super) fn item(&self, lane: u16, item: Item) {
        let start = self.clock();
        match item {
            Item::Task { plan, slot, id } => {
                let plan = plan as usize;
                let ready = self.plans[plan].take(slot);
                self.task(lane, plan, ready, id, Place::Tried);
            }
            Item::Node { plan, node, id } => {
                let plan = plan as usize;
                let mut ready = self.plans[plan].spare();
                ready.push(node, || 0);
                self.task(lane, plan, ready, id, Place::Joined);
            }
            Item::Resume { plan, node, well } => self.resume(lane, plan as usize, node, well),
        }
        self.was_busy(lane, start);
        self.leave_item();
    }

    fn task(&self, lane: u16, p: usize, ready: Q, id: u32, place: Place) {
        self.work(lane, p, Start::Loop(Worker::take(ready), place), Entry::Task(id));
    }

    /// Starts a run of plan `p` and works on it until this thread has nothing left to do.
    pub(super) fn enter(&self, lane: u16, p: usize, parent: Option<(usize, NodeId)>) {
        let plan = &self.plans[p];
        plan.reset();
        plan.active.store(true, Release);
        if let Some(recorder) = &self.recorder {
            let mut log = recorder.lock();
            let run = log.new_run();
            plan.run_id.store(run, Relaxed);
            let parent = parent.map(|(q, node)| (self.plans[q].run_id.load(Relaxed), node));
            log.emit(run, Actor(lane), EventKind::RunStart { sequence: p as u32, mode: plan.mode, parent });
        }
        let start = match plan.mode {
            Mode::Sequential => Start::InOrder(Sequential::new(plan.graph.len())),
            Mode::Concurrent => {
                let run = plan.run(&self.session, &self.options.executor);
                Start::Loop(Worker::start_with(&run, plan.spare()), Place::None)
            }
        };
        self.work(lane, p, start, Entry::Caller);
    }

    /// A pending thunk has completed: its continuation runs here.
    fn resume(&self, lane: u16, p: usize, node: NodeId, well: bool) {
        let start = match self.plans[p].mode {
            Mode::Sequential => Start::InOrderAgain { node, well },
            Mode::Concurrent => Start::Continuation { node, well },
        };
        self.work(lane, p, start, Entry::Continuation(node));
    }

    /// Works on a run; if that ends it, whoever waits for the run goes on, here if it has left.
    fn work(&self, lane: u16, p: usize, start: Start<Q>, by: Entry) {
        let plan = &self.plans[p];
        // Chosen once: the loops that record nothing have no check for it.
        let ended = match &self.recorder {
            None => self.work_watched(lane, p, start, by, &mut Off::default()),
            Some(recorder) => self.work_watched(lane, p, start, by, &mut On::new(recorder, lane, plan)),
        };
        self.lanes[usize::from(lane)].rests();
        let Some(well) = ended else { return };
        plan.active.store(false, Release);
        if plan.done().complete(well) != Completed::Continue {
            return;
        }
        match plan.parent {
            None => {
                // The caller has left; it counts as active again before this thread goes.
                self.world.activate();
                self.woken.store(true, Release);
                self.mailbox.wake();
            }
            Some((q, node)) => {
                let go_on = || self.control_flow(lane, q, node, false);
                let ran = if well {
                    catch_unwind(AssertUnwindSafe(go_on))
                        .unwrap_or_else(|panic| Ran::Done(Err(panicked(&*panic))))
                } else {
                    inner_failure()
                };
                if let Ran::Done(result) = ran {
                    self.completed(Some(lane), q, node, result);
                }
            }
        }
    }

    /// `Some` if the run has ended here: whether it went well.
    fn work_watched<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        start: Start<Q>,
        by: Entry,
        watch: &mut W,
    ) -> Option<bool> {
        let meter = Meter::new(self.options.always_split || !matches!(by, Entry::Caller));
        let held = W::ON.then(Vec::new);
        let mut post = Post { shared: self, plan: p, meter, held };
        watch.lock();
        watch.emit(|| EventKind::LoopStart { by });
        match start {
            Start::InOrder(sequential) => {
                watch.unlock(&mut post);
                self.in_order(lane, p, sequential, watch, &mut post)
            }
            Start::InOrderAgain { node, well } => {
                watch.emit(|| completion(node, well));
                watch.unlock(&mut post);
                let mut sequential =
                    self.plans[p].sequential.lock().unwrap_or_else(PoisonError::into_inner).clone();
                sequential.finish(result_of(node, well));
                self.in_order(lane, p, sequential, watch, &mut post)
            }
            Start::Loop(worker, place) => {
                watch.unlock(&mut post);
                self.concurrent(lane, p, worker, place, watch, &mut post)
            }
            Start::Continuation { node, well } => {
                let plan = &self.plans[p];
                let left = plan.pending_thunk(node).map(|(thunk, _)| {
                    std::mem::take(&mut *thunk.left.lock().unwrap_or_else(PoisonError::into_inner))
                });
                let Some(Left { continuation: Some(continuation), mut place, .. }) = left else {
                    unreachable!("only a thunk that has left is resumed")
                };
                if place == Place::None {
                    place = self.join();
                    watch.emit(|| EventKind::Workers { count: self.session.workers() });
                }
                let mut worker = Worker::take(plan.spare());
                watch.emit(|| completion(node, well));
                let run = plan.run(&self.session, &self.options.executor);
                worker.resume(&run, continuation, result_of(node, well), watch);
                watch.unlock(&mut post);
                self.concurrent(lane, p, worker, place, watch, &mut post)
            }
        }
    }

    /// The worker loop.
    fn concurrent<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        mut worker: Worker<Q>,
        mut place: Place,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) -> Option<bool> {
        let plan = &self.plans[p];
        loop {
            let turns = || {
                if self.cores.any() {
                    return self.turns_offloaded(lane, p, &mut worker, watch, post);
                }
                loop {
                    let stop = if !self.is_plain(p) {
                        self.turns::<W, EVERYTHING>(lane, p, &mut worker, watch, post)
                    } else if !self.has_pool || !post.meter.has_paid() {
                        self.turns::<W, LEAN>(lane, p, &mut worker, watch, post)
                    } else {
                        self.turns::<W, EVERYTHING>(lane, p, &mut worker, watch, post)
                    };
                    match stop {
                        Stop::Look => {}
                        Stop::Begun(Begin::Idle) => return,
                        Stop::Begun(begin) => self.not_executed(p, begin, &mut worker, watch, post),
                        Stop::Special(node) => {
                            let ran = self.call(lane, p, node);
                            self.after(lane, p, node, ran, &mut worker, &mut place, watch, post);
                        }
                        Stop::Ran(node, ran) => {
                            self.after(lane, p, node, ran, &mut worker, &mut place, watch, post);
                        }
                    }
                }
            };
            let Err(panic) = catch_unwind(AssertUnwindSafe(turns)) else { break };
            // A kernel panicked: its thunk has failed, and the loop goes on.
            let node = self.panicked_in(lane, p, panic);
            watch.lock();
            watch.emit(|| EventKind::Failed { node });
            let run = plan.run(&self.session, &self.options.executor);
            worker.finish(&run, node, Err(Failure { node }), watch);
            watch.unlock(post);
        }
        watch.lock();
        watch.emit(|| EventKind::LoopEnd);
        if place != Place::None {
            self.leave(place);
            watch.emit(|| EventKind::Workers { count: self.session.workers() });
        }
        watch.unlock(post);
        plan.keep(worker.ready);
        watch.ended().then(|| plan.state.failure().is_none())
    }

    /// Turns of the worker loop until its queue is empty, or something happens that is rare.
    ///
    /// A function of its own, which has no call but that of the kernel in its path: what a turn
    /// needs stays in registers. `KIND` is [`LEAN`] or [`EVERYTHING`].
    #[inline(never)]
    fn turns<W: Watch, const KIND: u8>(
        &self,
        lane: u16,
        p: usize,
        worker: &mut Worker<Q>,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) -> Stop {
        let plan = &self.plans[p];
        let (state, session) = (plan.state.view(), self.session.view());
        let run = plan.run_over(&state, &session, &self.options.executor);
        let slot = &self.lanes[usize::from(lane)];
        let cancelled = &self.cancelled;
        let everything = const { KIND == EVERYTHING };
        let measure = everything && self.options.measure;
        let (control_flow, blocking) = (everything && plan.has_control_flow(), plan.blocking());
        let may_block = |node: NodeId| blocking.get(node as usize).is_some_and(|blocks| *blocks);
        // Alone or with a pool, lean turns are the same code: two threads cannot be slower a turn.
        let window = if self.has_pool { post.meter.window() } else { u32::MAX };
        let mut left = window;
        let mut local = Borrowed::new(worker);
        loop {
            if !everything {
                if left == 0 {
                    post.meter.ran(window);
                    return Stop::Look;
                }
                left -= 1;
            }
            watch.lock();
            let begin = match everything {
                false => local.value.begin(&run, |_| false, &mut Nobody, watch),
                true => local.value.begin(&run, may_block, post, watch),
            };
            watch.unlock(post);
            let Begin::Execute(node) = begin else { return Stop::Begun(begin) };
            if measure {
                slot.saw_ready(local.value.ready.len() + 1);
            }
            slot.begins(p, node);
            self.started(p, lane, node, watch);
            if everything {
                post.meter.thunk();
            }
            if cancelled.load(Relaxed) || control_flow && plan.is_control_flow(node) {
                return Stop::Special(node);
            }
            match self.thunks.run(&Call { plan: p, node, lane, driver: self }) {
                Ran::Done(Ok(())) => {
                    slot.completes(p, node);
                    watch.lock();
                    watch.emit(|| EventKind::Finished { node });
                    local.value.finish(&run, node, Ok(()), watch);
                    watch.unlock(post);
                }
                ran => {
                    if !everything {
                        post.meter.ran(window - left);
                    }
                    return Stop::Ran(node, ran);
                }
            }
        }
    }

    /// Whether turns of this plan need no checks for anything special, as long as nothing is split.
    fn is_plain(&self, p: usize) -> bool {
        let plan = &self.plans[p];
        !self.options.measure && !plan.has_control_flow() && (!self.has_pool || plan.blocking().is_empty())
    }

    /// A turn in which nothing is run.
    #[cold]
    fn not_executed<W: Watch>(
        &self,
        p: usize,
        begin: Begin,
        worker: &mut Worker<Q>,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) {
        match begin {
            Begin::Posted => {
                self.places.joined.fetch_add(1, Relaxed);
            }
            Begin::Skip(node) => {
                let run = self.plans[p].run(&self.session, &self.options.executor);
                watch.lock();
                watch.emit(|| EventKind::Skipped { node });
                worker.finish(&run, node, Ok(()), watch);
                watch.unlock(post);
            }
            Begin::Execute(_) | Begin::Idle => {}
        }
    }

    /// What became of a thunk that did not simply complete well.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "one turn of the loop, kept out of its hot part")]
    fn after<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        node: NodeId,
        ran: Ran,
        worker: &mut Worker<Q>,
        place: &mut Place,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) {
        let Ran::Done(result) = ran else { return self.pend(p, node, ran, worker, place, watch, post) };
        let plan = &self.plans[p];
        let run = plan.run(&self.session, &self.options.executor);
        let result = result.map_err(|error| self.failed(Some(lane), p, node, error));
        self.lanes[usize::from(lane)].completes(p, node);
        watch.lock();
        watch.emit(|| completion(node, result.is_ok()));
        worker.finish(&run, node, result, watch);
        watch.unlock(post);
    }

    /// A thunk has returned, its event is pending: scheduling edges now, the rest when it completes.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "one turn of the loop, kept out of its hot part")]
    pub(super) fn pend<W: Watch>(
        &self,
        p: usize,
        node: NodeId,
        ran: Ran,
        worker: &mut Worker<Q>,
        place: &mut Place,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) {
        let plan = &self.plans[p];
        let run = plan.run(&self.session, &self.options.executor);
        let Some((thunk, event)) = plan.pending_thunk(node) else {
            let failure = self.failed(None, p, node, undeclared());
            watch.lock();
            watch.emit(|| EventKind::Failed { node });
            worker.finish(&run, node, Err(failure), watch);
            return watch.unlock(post);
        };
        watch.lock();
        watch.emit(|| EventKind::Pending { node });
        let continuation = worker.suspend(&run, node, watch);
        watch.unlock(post);
        // The continuation takes over the worker's place when the worker has nothing left.
        let handed = if worker.ready.is_empty() { *place } else { Place::None };
        *thunk.left.lock().unwrap_or_else(PoisonError::into_inner) =
            Left { continuation: Some(continuation), place: handed, since: Some(Instant::now()) };
        self.begin_later(p, node, ran);
        match event.attach() {
            Attached::Waits if handed != Place::None => *place = Place::None,
            Attached::Waits => {}
            Attached::Completed { well } => {
                watch.lock();
                watch.emit(|| EventKind::Available { node });
                watch.emit(|| completion(node, well));
                worker.resume(&run, continuation, result_of(node, well), watch);
                watch.unlock(post);
            }
        }
    }

    fn begin_later(&self, p: usize, node: NodeId, ran: Ran) {
        if let Ran::Later(after) = ran {
            self.enter_item();
            self.timers.set(Instant::now() + after, p as u32, node);
        }
    }

    /// A run in program order.
    fn in_order<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        mut sequential: Sequential,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) -> Option<bool> {
        loop {
            let turns = || {
                if self.cores.any() {
                    self.turns_in_order_offloaded(lane, p, &mut sequential, watch, post)
                } else {
                    self.turns_in_order(lane, p, &mut sequential, watch, post)
                }
            };
            match catch_unwind(AssertUnwindSafe(turns)) {
                Ok(true) => break,
                // The thread is free; whoever completes the thunk goes on with the next one.
                Ok(false) => return None,
                Err(panic) => {
                    let node = self.panicked_in(lane, p, panic);
                    watch.lock();
                    watch.emit(|| EventKind::Failed { node });
                    watch.unlock(post);
                    sequential.finish(Err(Failure { node }));
                }
            }
        }
        let failure = sequential.failure();
        if failure.is_some() {
            *self.plans[p].sequential.lock().unwrap_or_else(PoisonError::into_inner) = sequential;
        }
        watch.lock();
        if let Some(Failure { node }) = failure {
            watch.emit(|| EventKind::Aborted { node });
        }
        watch.emit(|| EventKind::Done { failed: failure.map(|failure| failure.node) });
        watch.emit(|| EventKind::LoopEnd);
        watch.unlock(post);
        Some(failure.is_none())
    }

    /// True when the run is over, false when a thunk is pending.
    fn turns_in_order<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        sequential: &mut Sequential,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) -> bool {
        loop {
            let (node, ran) = match self.turns_in_order_well(lane, p, sequential, watch) {
                Stop::Begun(_) | Stop::Look => return true,
                Stop::Special(node) => (node, self.call(lane, p, node)),
                Stop::Ran(node, ran) => (node, ran),
            };
            let result = match ran {
                Ran::Done(result) => result.map_err(|error| self.failed(Some(lane), p, node, error)),
                ran => match self.pend_in_order(p, node, ran, sequential, watch, post) {
                    Some(result) => result,
                    None => return false,
                },
            };
            self.lanes[usize::from(lane)].completes(p, node);
            watch.lock();
            watch.emit(|| completion(node, result.is_ok()));
            watch.unlock(post);
            sequential.finish(result);
        }
    }

    /// Turns in program order, as long as thunks simply complete well; the hot part, as
    /// [`turns`](Self::turns). Where it is recorded, a single one.
    #[inline(never)]
    fn turns_in_order_well<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        sequential: &mut Sequential,
        watch: &W,
    ) -> Stop {
        let plan = &self.plans[p];
        let slot = &self.lanes[usize::from(lane)];
        let cancelled = &self.cancelled;
        let control_flow = plan.has_control_flow();
        // A kernel that panics leaves `sequential` where it was: its failure ends the run anyway.
        let ahead = sequential.ahead();
        let (end, stop) = 'turns: {
            let end = ahead.end;
            for node in ahead {
                slot.begins(p, node);
                self.started(p, lane, node, watch);
                if cancelled.load(Relaxed) || control_flow && plan.is_control_flow(node) {
                    break 'turns (node, Stop::Special(node));
                }
                match self.thunks.run(&Call { plan: p, node, lane, driver: self }) {
                    Ran::Done(Ok(())) if !W::ON => {}
                    ran => break 'turns (node, Stop::Ran(node, ran)),
                }
            }
            (end, Stop::Begun(Begin::Idle))
        };
        sequential.reach(end);
        // Meanwhile whoever looks takes the thunk before the one that runs: a store less per thunk.
        if let Some(last) = end.checked_sub(1) {
            slot.completes(p, last);
        }
        stop
    }

    /// `None` when the thunk is left to its completion.
    #[cold]
    pub(super) fn pend_in_order<W: Watch>(
        &self,
        p: usize,
        node: NodeId,
        ran: Ran,
        sequential: &Sequential,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) -> Option<Result<(), Failure>> {
        let plan = &self.plans[p];
        let Some((thunk, event)) = plan.pending_thunk(node) else {
            return Some(Err(self.failed(None, p, node, undeclared())));
        };
        watch.lock();
        watch.emit(|| EventKind::Pending { node });
        // Written now: once attached, somebody else may go on at any moment.
        watch.emit(|| EventKind::LoopEnd);
        watch.unlock(post);
        *plan.sequential.lock().unwrap_or_else(PoisonError::into_inner) = sequential.clone();
        thunk.left.lock().unwrap_or_else(PoisonError::into_inner).since = Some(Instant::now());
        self.begin_later(p, node, ran);
        match event.attach() {
            Attached::Waits => None,
            Attached::Completed { well } => {
                watch.lock();
                watch.emit(|| EventKind::Available { node });
                watch.emit(|| EventKind::LoopStart { by: Entry::Continuation(node) });
                watch.unlock(post);
                Some(result_of(node, well))
            }
        }
    }

    #[inline]
    fn started<W: Watch>(&self, p: usize, lane: u16, node: NodeId, _: &W) {
        if W::ON
            && let Some(recorder) = &self.recorder
        {
            let run = self.plans[p].run_id.load(Relaxed);
            recorder.lock().emit(run, Actor(lane), EventKind::Started { node });
        }
    }

    pub(super) fn call(&self, lane: u16, p: usize, node: NodeId) -> Ran {
        if self.cancelled.load(Relaxed) {
            return Ran::Done(Err(Error("was cancelled".to_owned())));
        }
        if self.plans[p].is_control_flow(node) {
            return self.control_flow(lane, p, node, true);
        }
        self.thunks.run(&Call { plan: p, node, lane, driver: self })
    }

    /// Enters the nested sequences of a control-flow thunk, one after the other. `Pending` when one
    /// of them goes on without this thread: whoever ends it goes on from here.
    #[cold]
    fn control_flow(&self, lane: u16, p: usize, node: NodeId, from_the_start: bool) -> Ran {
        let plan = &self.plans[p];
        let Some((start, cursor)) = plan.pending_thunk(node).and_then(|(thunk, _)| thunk.cursor.as_ref())
        else {
            return Ran::Done(Err(undeclared()));
        };
        let lock = || cursor.lock().unwrap_or_else(PoisonError::into_inner);
        if from_the_start {
            lock().restart(start);
        }
        loop {
            if self.cancelled.load(Relaxed) {
                return Ran::Done(Err(Error("was cancelled".to_owned())));
            }
            // The lock is not held while the sequence runs: another thread may go on from here.
            let next = lock().next();
            let Some(child) = next else { break };
            self.enter(lane, child, Some((p, node)));
            match self.plans[child].done().attach() {
                Attached::Waits => return Ran::Pending,
                Attached::Completed { well: true } => {}
                Attached::Completed { well: false } => return inner_failure(),
            }
            self.lanes[usize::from(lane)].begins(p, node);
        }
        let call = Call { plan: p, node, lane, driver: self };
        Ran::Done(self.thunks.leave(&call))
    }

    /// A pending thunk has completed: by a completion thread, which goes on from there, or
    /// elsewhere (`lane` is `None`), and then the pool goes on.
    fn completed(&self, lane: Option<u16>, p: usize, node: NodeId, result: Result<(), Error>) {
        let plan = &self.plans[p];
        if self.cores.any() && !plan.is_control_flow(node) {
            self.cores.finish(&self.world, p, node, result);
            return;
        }
        let Some((thunk, event)) = plan.pending_thunk(node) else { return };
        let well = result.map_err(|error| self.failed(lane, p, node, error)).is_ok();
        let completed = match &self.recorder {
            None => event.complete(well),
            Some(recorder) => {
                let mut log = recorder.lock();
                let completed = event.complete(well);
                if completed == Completed::Continue {
                    let run = plan.run_id.load(Relaxed);
                    log.emit(run, Actor::EVENTS, EventKind::Available { node });
                }
                completed
            }
        };
        if completed != Completed::Continue {
            return;
        }
        match lane.filter(|_| !thunk.foreign) {
            Some(lane) => self.resume(lane, p, node, well),
            None => {
                self.enter_item();
                self.mailbox.push(Item::Resume { plan: p as u32, node, well });
            }
        }
    }

    pub(super) fn is_cancelled_now(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    fn join(&self) -> Place {
        self.session.join();
        self.places.joined.fetch_add(1, Relaxed);
        Place::Joined
    }

    fn leave(&self, place: Place) {
        if place == Place::Tried {
            self.places.tried.fetch_sub(1, AcqRel);
        }
        self.session.leave();
    }

    /// A task was posted that holds a place by `try_join`.
    pub(super) fn tried(&self) {
        let now = self.places.tried.fetch_add(1, AcqRel) + 1;
        self.places.peak_tried.fetch_max(now, Relaxed);
    }

    pub(super) fn failed(&self, lane: Option<u16>, p: usize, node: NodeId, Error(message): Error) -> Failure {
        if let Some(lane) = lane {
            self.lanes[usize::from(lane)].fails();
        }
        self.any_failed.store(true, Release);
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() < MAX_ERRORS {
            errors.push(Failed { path: self.plans[p].path.to_string(), node, message });
        }
        Failure { node }
    }

    /// Which thunk a panic came from. A panic of the driver itself goes on.
    fn panicked_in(&self, lane: u16, p: usize, panic: Box<dyn std::any::Any + Send>) -> NodeId {
        match self.lanes[usize::from(lane)].current() {
            Some((q, node)) if q == p => {
                self.failed(Some(lane), p, node, panicked(&*panic));
                node
            }
            _ => resume_unwind(panic),
        }
    }

    /// Whether the run that the caller waits for needs it no longer: it is over, or never will be.
    pub(super) fn caller_may_go(&self) -> bool {
        (self.woken.load(Acquire) || self.world.is_stalled()) && self.inside.load(Acquire) == 0
    }
}

/// Turns in which nothing can happen but that thunks run on this thread, until the meter wants to
/// look: without a pool, and with one as long as no split would pay.
const LEAN: u8 = 0;
/// Turns in which queues are split, blocking thunks posted, control flow entered and times taken.
const EVERYTHING: u8 = 1;

/// Why the hot part of a loop ended.
enum Stop {
    /// The meter has looked, and the loop goes on.
    Look,
    /// This has begun, and it is not a thunk that should run.
    Begun(Begin),
    /// This thunk has its turn, and is control flow, or the run is cancelled.
    Special(NodeId),
    /// This thunk did not simply complete well.
    Ran(NodeId, Ran),
}

/// A value as a local variable, and home again at the end, also when a kernel panics: what stands
/// behind a reference would be written before each call and read again after it.
struct Borrowed<'h, V: Default> {
    value: V,
    home: &'h mut V,
}

impl<'h, V: Default> Borrowed<'h, V> {
    #[inline(always)]
    fn new(home: &'h mut V) -> Self {
        Self { value: std::mem::take(home), home }
    }
}

impl<V: Default> Drop for Borrowed<'_, V> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.home = std::mem::take(&mut self.value);
    }
}

/// How a thread comes to a run.
enum Start<Q> {
    /// A run in program order begins.
    InOrder(Sequential),
    /// It goes on after this thunk.
    InOrderAgain { node: NodeId, well: bool },
    /// The worker loop.
    Loop(Worker<Q>, Place),
    /// The worker loop after this pending thunk.
    Continuation { node: NodeId, well: bool },
}

fn result_of(node: NodeId, well: bool) -> Result<(), Failure> {
    if well { Ok(()) } else { Err(Failure { node }) }
}

pub(super) fn completion(node: NodeId, well: bool) -> EventKind {
    if well { EventKind::Finished { node } } else { EventKind::Failed { node } }
}

fn undeclared() -> Error {
    Error("returned with its event pending, but had not declared that it may".to_owned())
}

fn inner_failure() -> Ran {
    Ran::Done(Err(Error("a thunk inside it failed".to_owned())))
}

pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    Error(format!("panicked: {}", text.unwrap_or("no message")))
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Driver for Shared<Q, T> {
    fn target(&self, _: usize, _: NodeId) -> Arc<dyn Target> {
        self.enter_item();
        match self.me.upgrade() {
            Some(me) => me,
            None => unreachable!("a thunk runs while its executor lives"),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Target for Shared<Q, T> {
    fn complete(&self, plan: usize, node: NodeId, result: Result<(), Error>) {
        self.completed(None, plan, node, result);
        self.leave_item();
    }

    fn set_active(&self, active: bool) {
        if active { self.world.activate() } else { self.world.deactivate() }
    }
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Member for Shared<Q, T> {
    fn wake(&self) {
        self.cores.wake();
        self.mailbox.wake();
    }
}
