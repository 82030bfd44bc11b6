//! Lanes that dispatch thunks to cores and poll for their completion (contracts §5).
//!
//! Lane loop: take what has finished → take a ready thunk, choose the lowest-numbered idle core of
//! the lane's own (lane i owns cores i, i + L, …), dispatch → go on; when there is nothing to do,
//! wait for a core. To the machine a dispatched thunk is one whose event is pending, and the lane
//! itself completes it when it sees the core's FIN.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use thunkscope_core::executor::{Begin, Continuation, Failure, ReadyQueue, Sequential, Worker};
use thunkscope_core::graph::NodeId;
use thunkscope_core::trace::EventKind;

use super::activity::World;
use super::drive::{Shared, completion, panicked};
use super::post::Post;
use super::record::Watch;
use super::thunks::{Call, Error, Ran, Thunks};

/// The cores of all lanes.
#[derive(Debug, Default)]
pub(super) struct Cores {
    lanes: Vec<LaneCores>,
}

#[derive(Debug, Default)]
struct LaneCores {
    state: Mutex<State>,
    /// A core has something to do, or to look at.
    dispatched: Condvar,
    /// The lane has something to look at.
    finished: Condvar,
}

#[derive(Debug, Default)]
struct State {
    cores: Vec<Core>,
    /// Finished thunks that the lane has not seen yet, oldest first.
    fins: Vec<Fin>,
    /// The lane waits, and does not count as active.
    lane_waits: bool,
    closed: bool,
}

/// What one core is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Core {
    Idle,
    Dispatched(usize, NodeId),
    Busy(usize, NodeId),
}

#[derive(Debug)]
struct Fin {
    plan: usize,
    node: NodeId,
    result: Result<(), Error>,
}

impl Cores {
    /// `cores` for each of `lanes`; none if there are none.
    pub(super) fn new(lanes: usize, cores: usize) -> Self {
        let lane = || {
            let state =
                State { cores: vec![Core::Idle; cores], fins: Vec::with_capacity(cores), ..State::default() };
            LaneCores { state: Mutex::new(state), ..LaneCores::default() }
        };
        Self { lanes: (0..if cores > 0 { lanes } else { 0 }).map(|_| lane()).collect() }
    }

    pub(super) fn any(&self) -> bool {
        !self.lanes.is_empty()
    }

    fn lock(&self, lane: usize) -> MutexGuard<'_, State> {
        self.lanes[lane].state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what a stalled run left on the cores.
    pub(super) fn reset(&self) {
        for lane in 0..self.lanes.len() {
            let mut state = self.lock(lane);
            state.cores.fill(Core::Idle);
            state.fins.clear();
        }
    }

    pub(super) fn close(&self) {
        for (index, lane) in self.lanes.iter().enumerate() {
            self.lock(index).closed = true;
            lane.dispatched.notify_all();
        }
    }

    /// Lets waiting lanes look whether the run has stalled.
    pub(super) fn wake(&self) {
        for (index, lane) in self.lanes.iter().enumerate() {
            drop(self.lock(index));
            lane.finished.notify_all();
        }
    }

    /// Dispatches to the lowest-numbered idle core; false if there is none. The core counts as active.
    fn dispatch(&self, world: &World, lane: usize, plan: usize, node: NodeId) -> bool {
        let mut state = self.lock(lane);
        let Some(core) = state.cores.iter_mut().find(|core| **core == Core::Idle) else { return false };
        *core = Core::Dispatched(plan, node);
        world.activate();
        drop(state);
        self.lanes[lane].dispatched.notify_all();
        true
    }

    fn has_idle(&self, lane: usize) -> bool {
        self.lock(lane).cores.contains(&Core::Idle)
    }

    /// A thunk of `plan` that has finished.
    fn take_fin(&self, lane: usize, plan: usize) -> Option<Fin> {
        let mut state = self.lock(lane);
        let place = state.fins.iter().position(|fin| fin.plan == plan)?;
        Some(state.fins.remove(place))
    }

    /// Waits for the FIN of a thunk of `plan`, or for an idle core if `or_idle`. False if the run has
    /// stalled: then nothing will ever finish.
    fn wait(&self, world: &World, lane: usize, plan: usize, or_idle: bool) -> bool {
        let ready = |state: &State| {
            state.fins.iter().any(|fin| fin.plan == plan) || or_idle && state.cores.contains(&Core::Idle)
        };
        let mut state = self.lock(lane);
        if ready(&state) {
            return true;
        }
        state.lane_waits = true;
        drop(state);
        world.deactivate();
        let mut state = self.lock(lane);
        while state.lane_waits && !world.is_stalled() {
            state = self.lanes[lane].finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if std::mem::take(&mut state.lane_waits) {
            world.activate();
            return false;
        }
        drop(state);
        true
    }

    /// A core is done with a thunk: FIN. False if no core has it.
    pub(super) fn finish(&self, world: &World, plan: usize, node: NodeId, result: Result<(), Error>) -> bool {
        for (index, lane) in self.lanes.iter().enumerate() {
            let mut state = self.lock(index);
            let Some(core) = state.cores.iter_mut().find(|core| **core == Core::Busy(plan, node)) else {
                continue;
            };
            *core = Core::Idle;
            state.fins.push(Fin { plan, node, result });
            if std::mem::take(&mut state.lane_waits) {
                world.activate();
            }
            drop(state);
            lane.finished.notify_all();
            return true;
        }
        false
    }
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Shared<Q, T> {
    /// What a core does: wait for a dispatch, run, FIN.
    pub(super) fn core_thread(&self, lane: u16, core: usize) {
        let own = &self.cores.lanes[usize::from(lane)];
        loop {
            let mut state = self.cores.lock(usize::from(lane));
            let (plan, node) = loop {
                if state.closed {
                    return;
                }
                if let Core::Dispatched(plan, node) = state.cores[core] {
                    // The acknowledgement.
                    state.cores[core] = Core::Busy(plan, node);
                    break (plan, node);
                }
                state = own.dispatched.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            let call = Call { plan, node, lane, driver: self };
            let run = || match self.thunks.run(&call) {
                Ran::Later(time) => {
                    std::thread::sleep(time);
                    Ran::Done(self.thunks.run_later(&call))
                }
                ran => ran,
            };
            let ran =
                catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Ran::Done(Err(panicked(&*panic))));
            // `Pending`: whoever completes it says FIN for this core.
            if let Ran::Done(result) = ran {
                self.cores.finish(&self.world, plan, node, result);
            }
            self.world.deactivate();
        }
    }

    /// Turns of the worker loop of a lane with cores, until its queue is empty and its cores are idle.
    pub(super) fn turns_offloaded<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        worker: &mut Worker<Q>,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) {
        let plan = &self.plans[p];
        let run = plan.run(&self.session, &self.options.executor);
        let own = usize::from(lane);
        let mut dispatched: Vec<Continuation> = Vec::new();
        loop {
            while let Some(Fin { node, result, .. }) = self.cores.take_fin(own, p) {
                let Some(place) = dispatched.iter().position(|left| left.node == node) else { continue };
                let continuation = dispatched.swap_remove(place);
                let result = result.map_err(|error| self.failed(Some(lane), p, node, error));
                self.lanes[own].completes(p, node);
                watch.lock();
                watch.emit(|| EventKind::Available { node });
                watch.emit(|| completion(node, result.is_ok()));
                worker.resume(&run, continuation, result, watch);
                watch.unlock(post);
            }
            if !self.cores.has_idle(own) {
                if self.cores.wait(&self.world, own, p, true) {
                    continue;
                }
                return;
            }
            watch.lock();
            let begin = worker.begin(&run, |_| false, post, watch);
            watch.unlock(post);
            match begin {
                Begin::Idle if dispatched.is_empty() => return,
                Begin::Idle => {
                    if !self.cores.wait(&self.world, own, p, false) {
                        return;
                    }
                }
                // No thunk blocks a lane that only dispatches.
                Begin::Posted => {}
                Begin::Skip(node) => {
                    watch.lock();
                    watch.emit(|| EventKind::Skipped { node });
                    worker.finish(&run, node, Ok(()), watch);
                    watch.unlock(post);
                }
                Begin::Execute(node) => {
                    watch.lock();
                    watch.emit(|| EventKind::Started { node });
                    if !plan.is_control_flow(node) && !self.is_cancelled_now() {
                        post.meter.thunk();
                        // Only this lane dispatches to its cores: the idle one is still idle.
                        self.cores.dispatch(&self.world, own, p, node);
                        watch.emit(|| EventKind::Pending { node });
                        dispatched.push(worker.suspend(&run, node, watch));
                        watch.unlock(post);
                        continue;
                    }
                    watch.unlock(post);
                    self.lanes[own].begins(p, node);
                    match self.call(lane, p, node) {
                        Ran::Done(result) => {
                            let result = result.map_err(|error| self.failed(Some(lane), p, node, error));
                            watch.lock();
                            watch.emit(|| completion(node, result.is_ok()));
                            worker.finish(&run, node, result, watch);
                            watch.unlock(post);
                        }
                        // A nested sequence goes on on another lane; so does this run then.
                        ran => self.pend(p, node, ran, worker, &mut super::plan::Place::None, watch, post),
                    }
                    self.lanes[own].rests();
                }
            }
        }
    }

    /// Runs one thunk on a core and waits for it. `None` if it never finishes.
    pub(super) fn on_a_core(&self, lane: u16, p: usize, node: NodeId) -> Option<Result<(), Failure>> {
        let own = usize::from(lane);
        while !self.cores.dispatch(&self.world, own, p, node) {
            if !self.cores.wait(&self.world, own, p, true) {
                return None;
            }
        }
        loop {
            if let Some(Fin { result, .. }) = self.cores.take_fin(own, p) {
                return Some(result.map_err(|error| self.failed(Some(lane), p, node, error)));
            }
            if !self.cores.wait(&self.world, own, p, false) {
                return None;
            }
        }
    }

    /// A run in program order on a lane with cores. False if it has stalled, or a thunk went on elsewhere.
    pub(super) fn turns_in_order_offloaded<W: Watch>(
        &self,
        lane: u16,
        p: usize,
        sequential: &mut Sequential,
        watch: &mut W,
        post: &mut Post<'_, Q, T>,
    ) -> bool {
        let slot = &self.lanes[usize::from(lane)];
        while let Some(node) = sequential.next() {
            slot.begins(p, node);
            watch.lock();
            watch.emit(|| EventKind::Started { node });
            watch.unlock(post);
            let result = if self.plans[p].is_control_flow(node) || self.is_cancelled_now() {
                match self.call(lane, p, node) {
                    Ran::Done(result) => result.map_err(|error| self.failed(Some(lane), p, node, error)),
                    ran => match self.pend_in_order(p, node, ran, sequential, watch, post) {
                        Some(result) => result,
                        None => return false,
                    },
                }
            } else {
                match self.on_a_core(lane, p, node) {
                    Some(result) => result,
                    None => {
                        *self.plans[p].sequential.lock().unwrap_or_else(PoisonError::into_inner) =
                            sequential.clone();
                        return false;
                    }
                }
            };
            slot.completes(p, node);
            watch.lock();
            watch.emit(|| completion(node, result.is_ok()));
            watch.unlock(post);
            sequential.finish(result);
        }
        true
    }
}

impl Cores {
    /// Thunks of `plan` that a core has begun and not finished.
    pub(super) fn busy(&self, plan: usize) -> Vec<NodeId> {
        let mut busy = Vec::new();
        for lane in 0..self.lanes.len() {
            let state = self.lock(lane);
            busy.extend(state.cores.iter().filter_map(|core| match *core {
                Core::Dispatched(p, node) | Core::Busy(p, node) if p == plan => Some(node),
                _ => None,
            }));
        }
        busy
    }
}
