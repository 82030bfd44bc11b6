//! The simulation as a whole: runs, lanes, the clock, and what each happening becomes in the log.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::control_flow::Cursor;
use super::lane::{Frame, Lane, Nested, Step, Wait};
use super::pool::{Pool, PoolItem, Resume, Resumption, Timer};
use super::{FaultKind, ModeChoice, Options, PendingThunks, Schedule};
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::executor::{
    self, AnyQueue, Begin, Failure, Happening, Plan, Queue, ReadyQueue, Run, Runner, Sequential, Session,
    State, Task, Worker,
};
use crate::graph::NodeId;
use crate::machine::{Job, LocalMemory, Ticks};
use crate::program::Program;
use crate::rng::Rng;
use crate::trace::{
    Actor, Entry, Event, EventKind, Header, Log, Mode, RunId, SequenceHeader, TaskId, VERSION,
};

/// Runs `program` to its end, or until nothing can happen any more.
///
/// # Errors
/// `GR001` for a graph with too many edges, `SM001` for a log that gets too long, `SM002` for a
/// fault that names no thunk.
pub fn run(program: &Program, options: &Options) -> Result<Log, Diagnostic> {
    let plans = Plan::all(program, &options.executor)?;
    run_plans(program, &plans, options)
}

/// As [`run`], with the plans at hand. The first plan is the entry.
pub fn run_plans(program: &Program, plans: &[Plan<'_>], options: &Options) -> Result<Log, Diagnostic> {
    Simulation::new(program, plans, options)?.finish()
}

/// As [`run_plans`], but hands each event over at once and keeps none: for runs of any length.
pub fn watch(
    program: &Program,
    plans: &[Plan<'_>],
    options: &Options,
    see: impl FnMut(&Event),
) -> Result<(), Diagnostic> {
    // Nobody sees the header.
    let unseen = Digest(0);
    Simulation::with_digest(program, unseen, plans, options)?.watch(see)
}

/// The header of the log that the program has under these options.
pub fn header(program: &Program, plans: &[Plan<'_>], options: &Options) -> Header {
    header_with(program, program.digest(), plans, options)
}

fn header_with(program: &Program, digest: Digest, plans: &[Plan<'_>], options: &Options) -> Header {
    let sequence = |plan: &Plan<'_>| SequenceHeader {
        path: plan.path.to_string(),
        counters: (0..plan.graph.len()).map(|node| plan.graph.incoming(node).len() as u32).collect(),
        sinks: plan.graph.sinks().len() as u32,
    };
    Header {
        format: VERSION.to_owned(),
        program: program.name.clone(),
        digest,
        options: options.summary(),
        seed: options.seed,
        clock: "ns".to_owned(),
        lanes: options.pool_threads.clamp(1, MAX_POOL) + 1,
        sequences: plans.iter().map(sequence).collect(),
    }
}

/// A simulation that can be advanced in slices.
#[derive(Debug)]
pub struct Simulation<'p> {
    plans: &'p [Plan<'p>],
    options: &'p Options,
    session: Session<LocalMemory>,
    runs: Vec<Execution>,
    lanes: Vec<Lane>,
    pool: Pool,
    log: Log,
    rng: Rng,
    /// By plan and thunk, ascending; the last one named for a thunk counts.
    faults: Vec<((usize, NodeId), Reverse<usize>, FaultKind)>,
    now: Ticks,
    tasks: TaskId,
    iteration: u32,
    /// The entry's run has ended; lane 0 starts the next iteration once its stack is empty.
    entry_done: bool,
    over: bool,
}

/// One execution of one sequence.
#[derive(Debug)]
struct Execution {
    plan: usize,
    /// `None` for a sequential execution.
    state: Option<State<LocalMemory>>,
    done: bool,
    failure: Option<Failure>,
    /// By node, whether its event is pending; empty before the first and after the last.
    suspended: Vec<bool>,
    /// A control-flow thunk that left its lane while this execution went on.
    waiter: Option<Nested>,
}

impl<'p> Simulation<'p> {
    /// A simulation at time 0.
    ///
    /// # Errors
    /// `SM002` for a fault that names no thunk.
    pub fn new(program: &Program, plans: &'p [Plan<'p>], options: &'p Options) -> Result<Self, Diagnostic> {
        Self::with_digest(program, program.digest(), plans, options)
    }

    /// As [`Simulation::new`]; the digest costs a walk over the whole program.
    fn with_digest(
        program: &Program,
        digest: Digest,
        plans: &'p [Plan<'p>],
        options: &'p Options,
    ) -> Result<Self, Diagnostic> {
        let mut faults = Vec::with_capacity(options.faults.len());
        for fault in &options.faults {
            let plan = plans.iter().position(|plan| plan.path == fault.path && fault.node < plan.graph.len());
            let plan = plan.ok_or_else(|| {
                Diagnostic::error("SM002", "faults", "a thunk of the program, as sequence path and index")
                    .found(format!("{}/{}", fault.path, fault.node))
            })?;
            faults.push(((plan, fault.node), Reverse(faults.len()), fault.kind));
        }
        // Of those for one thunk the last comes first, and stays.
        faults.sort_unstable_by_key(|&(thunk, place, _)| (thunk, place));
        faults.dedup_by_key(|&mut (thunk, ..)| thunk);
        let header = header_with(program, digest, plans, options);
        let lanes = header.lanes;
        let mut simulation = Self {
            plans,
            options,
            session: Session::new(
                LocalMemory::new(Session::<LocalMemory>::WORDS),
                options.executor.max_workers,
            ),
            runs: Vec::new(),
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            pool: Pool::default(),
            log: Log { header, events: Vec::new() },
            rng: Rng::new(options.seed),
            faults,
            now: 0,
            tasks: 0,
            iteration: 0,
            entry_done: false,
            over: false,
        };
        simulation.start_iteration();
        Ok(simulation)
    }

    /// Advances by at most `budget` turns of a lane.
    ///
    /// # Errors
    /// `SM001` when the log gets longer than [`Options::max_events`].
    pub fn advance(&mut self, budget: u32) -> Result<Job, Diagnostic> {
        for _ in 0..budget {
            if self.over || !self.turn() {
                self.end();
                return Ok(Job::Done);
            }
            if self.log.events.len() > self.options.max_events {
                return Err(Diagnostic::error("SM001", "events", "a shorter run")
                    .found(self.log.events.len())
                    .hint(format!(
                        "the log is limited to {} events: fewer iterations or trips, or one nested sequence alone",
                        self.options.max_events
                    )));
            }
        }
        let events = self.log.events.len() as u64;
        Ok(Job::Running { done: events, total: events.max(self.options.max_events as u64) })
    }

    /// Runs to the end and gives the log.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn finish(mut self) -> Result<Log, Diagnostic> {
        while self.advance(u32::MAX)? != Job::Done {}
        Ok(self.log)
    }

    fn watch(mut self, mut see: impl FnMut(&Event)) -> Result<(), Diagnostic> {
        loop {
            let job = self.advance(1024)?;
            self.log.events.drain(..).for_each(|event| see(&event));
            if job == Job::Done {
                return Ok(());
            }
        }
    }

    fn start_iteration(&mut self) {
        self.entry_done = false;
        let iteration = self.iteration;
        let run = self.runs.len() as RunId;
        self.emit(run, Actor(0), EventKind::IterationStart { iteration });
        self.enter(Actor(0), 0, None);
        self.lanes[0].at = Some(self.now);
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let entry =
            self.runs.iter().enumerate().filter(|(_, run)| run.plan == 0).map(|(id, _)| id).next_back();
        let Some(id) = entry.filter(|&id| !self.runs[id].done) else { return };
        // Seed 004: no time-out, no watchdog; the process goes quiet.
        let run = &self.runs[id];
        let never_ready = run.state.as_ref().map_or(0, |state| {
            (0..self.plans[run.plan].graph.len()).filter(|&node| state.counter(node) > 0).count() as u32
        });
        let suspects =
            (0..).zip(&run.suspended).filter(|(_, suspended)| **suspended).map(|(node, _)| node).collect();
        self.emit(id as RunId, Actor::EVENTS, EventKind::Quiet { never_ready, suspects });
    }

    /// One turn of one lane, or one event becoming available. False if nothing can happen.
    fn turn(&mut self) -> bool {
        let lane = |(index, lane): (usize, &Lane)| Some((lane.at?, index));
        let choice = match self.options.schedule {
            Schedule::ByTime => {
                let lane = self.lanes.iter().enumerate().filter_map(lane).min();
                match (lane, self.pool.next_timer()) {
                    (Some((at, index)), timer) if timer.is_none_or(|t| at < t) => Some(Ok((at, index))),
                    (_, Some(_)) => self.pool.take_timer(0).map(Err),
                    _ => None,
                }
            }
            Schedule::Adversarial => {
                let lanes: Vec<_> = self.lanes.iter().enumerate().filter_map(lane).collect();
                let n = self.rng.below((lanes.len() + self.pool.timers()) as u64) as usize;
                match lanes.get(n) {
                    Some(&choice) => Some(Ok(choice)),
                    None => self.pool.take_timer(n - lanes.len()).map(Err),
                }
            }
        };
        match choice {
            Some(Ok((at, index))) => {
                self.now = self.now.max(at);
                self.lane_turn(index);
            }
            Some(Err((at, timer))) => {
                self.now = self.now.max(at);
                self.timer_turn(timer);
            }
            None => return false,
        }
        self.dispatch();
        true
    }

    fn timer_turn(&mut self, timer: Timer) {
        match timer {
            Timer::Available(resume) => {
                self.emit(resume.run, Actor::EVENTS, EventKind::Available { node: resume.node });
                let thunk =
                    &self.plans[self.runs[resume.run as usize].plan].sequence.thunks[resume.node as usize];
                // The continuation of a thunk that completes on a foreign pool is handed back
                // through the task runner; otherwise it runs on the completing thread.
                if thunk.foreign_pool && self.options.post_latency > 0 {
                    self.pool
                        .at(self.now + self.options.post_latency, Timer::Deliver(PoolItem::Resume(resume)));
                } else {
                    self.pool.ready.push_back(PoolItem::Resume(resume));
                }
            }
            Timer::Deliver(item) => self.pool.ready.push_back(item),
        }
    }

    /// Gives ready items to idle lanes, lowest lane first; starts the next iteration.
    fn dispatch(&mut self) {
        while let Some(idle) = self.lanes.iter().skip(1).position(|lane| lane.frames.is_empty()) {
            let Some(item) = self.pool.ready.pop_front() else { break };
            self.take(Actor(idle as u16 + 1), item);
        }
        if self.entry_done && self.lanes[0].frames.is_empty() {
            let iteration = self.iteration;
            self.emit(self.runs.len() as RunId - 1, Actor(0), EventKind::IterationEnd { iteration });
            self.iteration += 1;
            if self.iteration < self.options.iterations {
                self.start_iteration();
            } else {
                self.entry_done = false;
            }
        }
    }

    fn take(&mut self, actor: Actor, item: PoolItem) {
        match item {
            PoolItem::Task { run, id, task } => {
                self.emit(run, actor, EventKind::LoopStart { by: Entry::Task(id) });
                let worker = Worker::take(task.ready);
                self.push(actor, Frame::Loop { run, worker, place: true, step: Step::Begin });
            }
            PoolItem::Resume(resume) => self.resume(actor, resume),
        }
    }

    /// A pending thunk has completed: its continuation runs on `actor`.
    fn resume(&mut self, actor: Actor, resume: Resume) {
        let Resume { run, node, resumption, result } = resume;
        self.emit(run, actor, EventKind::LoopStart { by: Entry::Continuation(node) });
        if let Some(suspended) = self.runs[run as usize].suspended.get_mut(node as usize) {
            *suspended = false;
        }
        match resumption {
            Resumption::Concurrent { continuation, place } => {
                if !place {
                    self.session.join();
                    self.emit_workers(run, actor);
                }
                self.emit_completion(run, actor, node, result);
                let mut worker = Worker::take(self.queue());
                self.observe(run, actor, |run, observer| worker.resume(run, continuation, result, observer));
                self.push(actor, Frame::Loop { run, worker, place: true, step: Step::Begin });
                self.after_release(run, actor);
            }
            Resumption::Sequential(mut sequential) => {
                self.emit_completion(run, actor, node, result);
                sequential.finish(result);
                self.push(actor, Frame::Sequential { run, sequential, step: Step::Begin });
            }
        }
    }

    /// One turn of the innermost frame of a lane.
    fn lane_turn(&mut self, index: usize) {
        let actor = Actor(index as u16);
        match self.lanes[index].frames.pop() {
            Some(Frame::Loop { run, worker, place, step }) => self.loop_turn(actor, run, worker, place, step),
            Some(Frame::Sequential { run, sequential, step }) => {
                self.sequential_turn(actor, run, sequential, step);
            }
            Some(Frame::Nested(nested)) => self.nested_turn(actor, nested),
            None => {}
        }
        // Whoever left without saying when to go on leaves the lane to the frame below, at once.
        let lane = &mut self.lanes[index];
        if lane.frames.is_empty() {
            lane.at = None;
        }
    }

    fn loop_turn(&mut self, actor: Actor, run: RunId, mut worker: Worker<AnyQueue>, place: bool, step: Step) {
        match step {
            Step::Begin => match self.begin(run, actor, &mut worker) {
                Begin::Idle => {
                    self.emit(run, actor, EventKind::LoopEnd);
                    if place {
                        self.session.leave();
                        self.emit_workers(run, actor);
                    }
                }
                Begin::Posted => self.push(actor, Frame::Loop { run, worker, place, step: Step::Begin }),
                Begin::Skip(node) => {
                    self.emit(run, actor, EventKind::Skipped { node });
                    self.observe(run, actor, |run, observer| worker.finish(run, node, Ok(()), observer));
                    self.push(actor, Frame::Loop { run, worker, place, step: Step::Begin });
                    self.after_release(run, actor);
                }
                Begin::Execute(node) => match self.execute(run, actor, node) {
                    Executed::Inline { cost, result } => {
                        let step = Step::Completed { node, result };
                        self.push(actor, Frame::Loop { run, worker, place, step });
                        self.sleep(actor, cost);
                    }
                    Executed::Pending(wait) => {
                        let step = Step::Returned { node, wait };
                        self.push(actor, Frame::Loop { run, worker, place, step });
                    }
                    Executed::Nested(nested) => {
                        self.push(actor, Frame::Loop { run, worker, place, step: Step::Begin });
                        self.push(actor, Frame::Nested(nested));
                    }
                },
            },
            Step::Completed { node, result } => {
                self.emit_completion(run, actor, node, result);
                self.observe(run, actor, |run, observer| worker.finish(run, node, result, observer));
                self.push(actor, Frame::Loop { run, worker, place, step: Step::Begin });
                self.after_release(run, actor);
            }
            Step::Returned { node, wait } => {
                self.emit(run, actor, EventKind::Pending { node });
                let continuation =
                    self.observe(run, actor, |run, observer| worker.suspend(run, node, observer));
                // The continuation takes over the worker's place when the worker has nothing left.
                let handed = place && worker.ready.is_empty();
                let resumption = Resumption::Concurrent { continuation, place: handed };
                self.push(actor, Frame::Loop { run, worker, place: place && !handed, step: Step::Begin });
                self.suspend(run, node, resumption, wait);
            }
        }
    }

    fn sequential_turn(&mut self, actor: Actor, run: RunId, mut sequential: Sequential, step: Step) {
        match step {
            Step::Begin => match sequential.next() {
                None => {
                    let failure = sequential.failure();
                    if let Some(failure) = failure {
                        self.emit(run, actor, EventKind::Aborted { node: failure.node });
                    }
                    self.emit(run, actor, EventKind::Done { failed: failure.map(|failure| failure.node) });
                    self.emit(run, actor, EventKind::LoopEnd);
                    self.done(run, actor, failure);
                }
                Some(node) => match self.execute(run, actor, node) {
                    Executed::Inline { cost, result } => {
                        let step = Step::Completed { node, result };
                        self.push(actor, Frame::Sequential { run, sequential, step });
                        self.sleep(actor, cost);
                    }
                    Executed::Pending(wait) => {
                        let step = Step::Returned { node, wait };
                        self.push(actor, Frame::Sequential { run, sequential, step });
                    }
                    Executed::Nested(nested) => {
                        self.push(actor, Frame::Sequential { run, sequential, step: Step::Begin });
                        self.push(actor, Frame::Nested(nested));
                    }
                },
            },
            Step::Completed { node, result } => {
                self.emit_completion(run, actor, node, result);
                sequential.finish(result);
                self.push(actor, Frame::Sequential { run, sequential, step: Step::Begin });
            }
            // The thread is free; whoever completes the thunk goes on with the next one.
            Step::Returned { node, wait } => {
                self.emit(run, actor, EventKind::Pending { node });
                self.emit(run, actor, EventKind::LoopEnd);
                self.suspend(run, node, Resumption::Sequential(sequential), wait);
            }
        }
    }

    /// Between two nested executions of a control-flow thunk.
    fn nested_turn(&mut self, actor: Actor, mut nested: Nested) {
        let child = nested.child.map(|child| &self.runs[child as usize]);
        let failure = child.and_then(|child| child.failure);
        if let (Some(id), Some(false)) = (nested.child, child.map(|child| child.done)) {
            // The child goes on elsewhere: the thunk returns to its loop as pending, unless it had
            // done so before, and whoever ends the child goes on from here.
            let returned = nested.resumption.is_some();
            let step = Step::Returned { node: nested.node, wait: Wait::Child(id) };
            self.runs[id as usize].waiter = Some(nested);
            if !returned {
                // In the same turn: nobody may end the child before the loop knows.
                self.set_step(actor, step);
                self.lane_turn(usize::from(actor.0));
            }
            return;
        }
        if failure.is_none()
            && let Some(plan) = nested.cursor.next()
        {
            let parent = (nested.run, nested.node);
            nested.child = Some(self.runs.len() as RunId);
            self.push(actor, Frame::Nested(nested));
            self.enter(actor, plan, Some(parent));
            return;
        }
        let Nested { run, node, resumption, .. } = nested;
        let result = failure.map_or(Ok(()), |_| Err(Failure { node }));
        let result = result.and_then(|()| self.injected(run, node));
        match resumption {
            None => self.set_step(actor, Step::Completed { node, result }),
            Some(resumption) => {
                self.emit(run, actor, EventKind::Available { node });
                self.resume(actor, Resume { run, node, resumption, result });
            }
        }
    }

    /// Starts an execution of a plan's sequence on `actor`.
    fn enter(&mut self, actor: Actor, plan: usize, parent: Option<(RunId, NodeId)>) {
        let run = self.runs.len() as RunId;
        let graph = &self.plans[plan].graph;
        let mode = match self.options.mode {
            ModeChoice::Decided if self.plans[plan].decision.sequential => Mode::Sequential,
            ModeChoice::Decided | ModeChoice::Concurrent => Mode::Concurrent,
            ModeChoice::Sequential => Mode::Sequential,
        };
        // Nothing to run is done at once, in program order.
        let mode = if graph.is_empty() { Mode::Sequential } else { mode };
        self.emit(run, actor, EventKind::RunStart { sequence: plan as u32, mode, parent });
        self.emit(run, actor, EventKind::LoopStart { by: Entry::Caller });
        let state = (mode == Mode::Concurrent)
            .then(|| State::new(LocalMemory::new(State::<LocalMemory>::words(graph.len())), graph));
        self.runs.push(Execution {
            plan,
            state,
            done: false,
            failure: None,
            suspended: Vec::new(),
            waiter: None,
        });
        let frame = match mode {
            Mode::Sequential => {
                Frame::Sequential { run, sequential: Sequential::new(graph.len()), step: Step::Begin }
            }
            Mode::Concurrent => {
                let queue = self.queue();
                let worker = self.observe(run, actor, |run, _| Worker::start_with(run, queue));
                Frame::Loop { run, worker, place: false, step: Step::Begin }
            }
        };
        self.push(actor, frame);
    }

    /// A thunk begins on `actor`.
    fn execute(&mut self, run: RunId, actor: Actor, node: NodeId) -> Executed {
        self.emit(run, actor, EventKind::Started { node });
        let index = self.runs[run as usize].plan;
        let plan = &self.plans[index];
        let thunk = &plan.sequence.thunks[node as usize];
        if self.fault(index, node) == Some(FaultKind::NeverCompletes) {
            return Executed::Pending(Wait::Forever);
        }
        let links = &plan.nested[node as usize];
        if !links.is_empty() {
            let cursor = Cursor::new(thunk, links, self.options.max_trips, &mut self.thunk_rng(index, node));
            return Executed::Nested(Nested { run, node, cursor, child: None, resumption: None });
        }
        let mut rng = self.thunk_rng(index, node);
        let cost = self.options.costs.of(thunk, &mut rng);
        let result = self.injected(run, node);
        let pending = match self.options.pending {
            PendingThunks::AsDeclared => thunk.pending || thunk.foreign_pool || thunk.kind.is_collective(),
            PendingThunks::Never => false,
            PendingThunks::All => true,
            PendingThunks::OneIn(n) => rng.one_in(n),
        };
        if pending {
            Executed::Pending(Wait::Time { cost, result })
        } else {
            Executed::Inline { cost, result }
        }
    }

    /// What is random about a thunk depends on the seed and the thunk alone, so that runs under
    /// different queues and schedules can be compared.
    fn thunk_rng(&self, plan: usize, node: NodeId) -> Rng {
        Rng::new(
            self.options.seed ^ ((plan as u64) << 32 | u64::from(node)).wrapping_mul(0x2545_f491_4f6c_dd1d),
        )
    }

    fn fault(&self, plan: usize, node: NodeId) -> Option<FaultKind> {
        let place = self.faults.binary_search_by_key(&(plan, node), |&(thunk, ..)| thunk).ok()?;
        Some(self.faults[place].2)
    }

    fn injected(&self, run: RunId, node: NodeId) -> Result<(), Failure> {
        match self.fault(self.runs[run as usize].plan, node) {
            Some(FaultKind::Fails) => Err(Failure { node }),
            _ => Ok(()),
        }
    }

    /// An empty ready queue of the class that the options ask for.
    fn queue(&self) -> AnyQueue {
        AnyQueue::new(self.options.executor.queue)
    }

    /// Registers what makes a pending thunk go on.
    fn suspend(&mut self, run: RunId, node: NodeId, resumption: Resumption, wait: Wait) {
        let execution = &mut self.runs[run as usize];
        execution.suspended.resize(self.plans[execution.plan].sequence.thunks.len(), false);
        execution.suspended[node as usize] = true;
        match wait {
            Wait::Forever => {}
            Wait::Time { cost, result } => {
                let resume = Resume { run, node, resumption, result };
                self.pool.at(self.now + cost, Timer::Available(resume));
            }
            Wait::Child(child) => {
                if let Some(waiter) = &mut self.runs[child as usize].waiter {
                    waiter.resumption = Some(resumption);
                }
            }
        }
    }

    fn begin(&mut self, run: RunId, actor: Actor, worker: &mut Worker<AnyQueue>) -> Begin {
        let mut posted = Posted {
            available: self.options.runner,
            class: self.options.executor.queue,
            tasks: VecDeque::new(),
        };
        let thunks = &self.plans[self.runs[run as usize].plan].sequence.thunks;
        let may_block = |node: NodeId| thunks[node as usize].may_block;
        let mut happenings = Happenings(Vec::new());
        let begin = worker.begin(&self.view(run), may_block, &mut posted, &mut happenings);
        for happening in happenings.0 {
            match happening {
                Happening::Split { kept, .. } => {
                    if let Some((id, nodes)) = self.post(run, &mut posted) {
                        self.emit(run, actor, EventKind::Split { kept, task: id, nodes });
                    }
                }
                Happening::PostedBlocking(node) => {
                    if let Some((id, _)) = self.post(run, &mut posted) {
                        self.emit(run, actor, EventKind::Posted { task: id, node });
                    }
                }
                other => self.emit_happening(run, actor, other),
            }
        }
        begin
    }

    /// Sends the next posted task on its way to the pool.
    fn post(&mut self, run: RunId, posted: &mut Posted) -> Option<(TaskId, Box<[NodeId]>)> {
        let task = posted.tasks.pop_front()?;
        let nodes = task.ready.in_pop_order().into_boxed_slice();
        let id = self.tasks;
        self.tasks += 1;
        let item = PoolItem::Task { run, id, task };
        if self.options.post_latency > 0 {
            self.pool.at(self.now + self.options.post_latency, Timer::Deliver(item));
        } else {
            self.pool.ready.push_back(item);
        }
        Some((id, nodes))
    }

    /// Calls a step of a machine and logs what happened in it.
    fn observe<T>(
        &mut self,
        run: RunId,
        actor: Actor,
        step: impl FnOnce(&Run<'_, LocalMemory>, &mut Happenings) -> T,
    ) -> T {
        let mut happenings = Happenings(Vec::new());
        let result = step(&self.view(run), &mut happenings);
        for happening in happenings.0 {
            self.emit_happening(run, actor, happening);
        }
        result
    }

    /// A concurrent run, as its workers see it.
    fn view(&self, run: RunId) -> Run<'_, LocalMemory> {
        let execution = &self.runs[run as usize];
        let plan = &self.plans[execution.plan];
        let Some(state) = &execution.state else {
            unreachable!("run {run} is sequential: it has no workers")
        };
        Run {
            graph: plan.graph.successors(),
            priorities: match self.options.executor.queue {
                Queue::Priority => plan.priorities(),
                Queue::Fifo | Queue::Lifo => &[],
            },
            state,
            session: &self.session,
            split_threshold: self.options.executor.split_threshold,
        }
    }

    /// After edges were released: if that ended the run, whoever waits for it goes on here.
    fn after_release(&mut self, run: RunId, actor: Actor) {
        let execution = &self.runs[run as usize];
        if let Some(state) = &execution.state
            && state.is_done()
            && !execution.done
        {
            let failure = state.failure();
            self.done(run, actor, failure);
        }
    }

    fn done(&mut self, run: RunId, actor: Actor, failure: Option<Failure>) {
        let execution = &mut self.runs[run as usize];
        execution.done = true;
        execution.failure = failure;
        execution.suspended = Vec::new();
        let (plan, waiter) = (execution.plan, execution.waiter.take());
        if let Some(nested) = waiter {
            self.push(actor, Frame::Nested(nested));
        }
        if plan == 0 {
            self.entry_done = true;
        }
    }

    fn push(&mut self, actor: Actor, frame: Frame) {
        let lane = &mut self.lanes[usize::from(actor.0)];
        lane.frames.push(frame);
        lane.at = Some(self.now);
    }

    /// The lane's innermost frame goes on after `cost`.
    fn sleep(&mut self, actor: Actor, cost: Ticks) {
        self.lanes[usize::from(actor.0)].at = Some(self.now + cost);
    }

    /// Tells the loop under a control-flow thunk what became of the thunk.
    fn set_step(&mut self, actor: Actor, new: Step) {
        let lane = &mut self.lanes[usize::from(actor.0)];
        lane.at = Some(self.now);
        if let Some(Frame::Loop { step, .. } | Frame::Sequential { step, .. }) = lane.frames.last_mut() {
            *step = new;
        }
    }

    fn emit(&mut self, run: RunId, actor: Actor, kind: EventKind) {
        self.log.events.push(Event { t: self.now, actor, run, kind });
    }

    fn emit_workers(&mut self, run: RunId, actor: Actor) {
        self.emit(run, actor, EventKind::Workers { count: self.session.workers() });
    }

    fn emit_completion(&mut self, run: RunId, actor: Actor, node: NodeId, result: Result<(), Failure>) {
        let kind = match result {
            Ok(()) => EventKind::Finished { node },
            Err(_) => EventKind::Failed { node },
        };
        self.emit(run, actor, kind);
    }

    fn emit_happening(&mut self, run: RunId, actor: Actor, happening: Happening) {
        // A posted task is logged where it gets its number, in `begin`.
        if let Some(kind) = EventKind::of(happening) {
            self.emit(run, actor, kind);
        }
    }
}

/// Threads of the pool that a simulation has at most.
const MAX_POOL: u16 = 1024;

/// What became of a thunk that was begun.
enum Executed {
    /// The lane is busy with it for `cost`.
    Inline { cost: Ticks, result: Result<(), Failure> },
    /// It has returned, its event is pending.
    Pending(Wait),
    /// It is control flow.
    Nested(Nested),
}

/// Keeps what a step of a machine reports until the step is over.
struct Happenings(Vec<Happening>);

impl executor::Observer for Happenings {
    fn on(&mut self, happening: Happening) {
        self.0.push(happening);
    }
}

/// Keeps the tasks that a step posts until the step is over.
struct Posted {
    available: bool,
    class: Queue,
    tasks: VecDeque<Task<AnyQueue>>,
}

impl Runner<AnyQueue> for Posted {
    fn available(&self) -> bool {
        self.available
    }
    fn post(&mut self, task: Task<AnyQueue>) {
        self.tasks.push_back(task);
    }
    fn spare(&mut self) -> AnyQueue {
        AnyQueue::new(self.class)
    }
}
