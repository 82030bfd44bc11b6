//! What users of the executor hold: build, run, look at, cancel.

use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::executor::{
    self, Attached, Fifo, Lifo, Plan, Priority, Progress, Queue, ReadyQueue, Session,
};
use thunkscope_core::graph::NodeId;
use thunkscope_core::machine::AtomicMemory;
use thunkscope_core::program::{Program, ResourceKind, Sequence, Thunk};
use thunkscope_core::rng::Rng;
use thunkscope_core::sim::{Cursor, ModeChoice};
use thunkscope_core::trace::{Actor, Event, EventKind, Header, Log, Mode, SequenceHeader, VERSION};

use super::activity::World;
use super::drive::{Places, Shared};
use super::lane::{Lane, LaneReport};
use super::mailbox::Mailbox;
use super::offload::Cores;
use super::plan::{Parts, PlanRun};
use super::record::Recorder;
use super::thunks::{Flags, Thunks};
use super::timers::Timers;

/// How an executor runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The executor's own options: queue, cap, thresholds.
    pub executor: executor::Options,
    /// Threads of the pool beside the calling thread; at most 1,023.
    pub workers: u16,
    /// Threads that complete pending thunks; at most 1,023, and at least one is there if any may pend.
    pub completion_threads: u16,
    /// Whether sequences run as decided, or all in one way.
    pub mode: ModeChoice,
    /// Split whenever XLA's rule says so. Otherwise not before thunks were seen to be long enough
    /// that a second thread gains something.
    pub always_split: bool,
    /// Take figures that cost some time: how busy lanes are, and how long their ready queues get.
    pub measure: bool,
    /// Record the event log, up to so many events.
    pub record: Option<usize>,
    /// A `while` of unknown trip count runs its body this often.
    pub max_trips: u64,
    /// Of branches.
    pub seed: u64,
    /// Cores of each lane, for lanes that dispatch thunks instead of running them; 0 for those that
    /// run them.
    pub cores: u16,
    /// Fault: leave the scheduling edges out. Then ranks may start collectives in different orders.
    pub without_scheduling_edges: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            executor: executor::Options::default(),
            workers: 4,
            completion_threads: 1,
            mode: ModeChoice::Decided,
            always_split: false,
            measure: false,
            record: None,
            max_trips: 2,
            seed: 0,
            cores: 0,
            without_scheduling_edges: false,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "ended")]
pub enum Ended {
    /// Every thunk has completed.
    Well,
    /// A thunk failed, or panicked; what had not begun was skipped.
    Failed(Failed),
    /// Some thunk never completes, and nothing moves any more.
    Stalled {
        /// Each sequence that is not over, the innermost last.
        progress: Vec<Progress>,
    },
    /// [`Monitor::cancel`] was called.
    Cancelled,
}

/// What [`Monitor::sync`] answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Synced {
    /// Nothing to tell.
    None,
    /// A float kernel gave an infinity or no number, and op debug is on.
    Overflow,
    /// The lane was still inside a thunk.
    TimeOut,
    /// A thunk failed, or there is no such lane.
    Error,
}

/// The first failure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The sequence, such as `entry/4.body`.
    pub path: String,
    /// The thunk.
    pub node: NodeId,
    /// What it said.
    pub message: String,
}

/// What an executor did, since it was built or since the last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Tasks posted.
    pub tasks: u32,
    /// Most places held by `try_join` at once; never above the cap.
    pub peak_tried: usize,
    /// Places taken by `join`, whatever the cap: blocking thunks and continuations.
    pub joined: u64,
    /// By lane: the caller, the pool, the completion threads.
    pub lanes: Vec<LaneReport>,
}

/// A program on threads of its own.
pub struct Executor {
    engine: Arc<dyn Engine>,
    threads: Vec<JoinHandle<()>>,
}

/// Looks at a running executor from another thread.
#[derive(Clone)]
pub struct Monitor {
    pub(super) engine: Arc<dyn Engine>,
}

/// An executor without its type parameters.
pub(super) trait Engine: Send + Sync {
    fn world(&self) -> &Arc<World>;
    /// One run. The caller counts as active before and after.
    fn run_once(&self, iteration: u32) -> Ended;
    fn report(&self) -> Report;
    fn reset_report(&self);
    fn cancel(&self);
    fn sync(&self, lane: u16, timeout: Duration) -> Synced;
    fn take_log(&self) -> Option<(Vec<SequenceHeader>, Vec<Event>, u64)>;
    fn clock(&self) -> Option<Instant>;
    fn close(&self);
    fn snapshot(&self) -> super::snapshot::Snapshot;
}

impl Executor {
    /// Builds the executor and starts its threads. Executors of one `world` may complete each
    /// other's thunks.
    ///
    /// # Errors
    /// `GR001`, `GR002` for graphs that are too large.
    pub fn new(
        program: &Program,
        thunks: impl Thunks,
        options: &Options,
        world: &Arc<World>,
    ) -> Result<Self, Diagnostic> {
        match options.executor.queue {
            Queue::Fifo => Self::build::<Fifo>(program, thunks, options, world),
            Queue::Lifo => Self::build::<Lifo>(program, thunks, options, world),
            Queue::Priority => Self::build::<Priority>(program, thunks, options, world),
        }
    }

    fn build<Q: ReadyQueue + Send + 'static>(
        program: &Program,
        thunks: impl Thunks,
        options: &Options,
        world: &Arc<World>,
    ) -> Result<Self, Diagnostic> {
        let without;
        let program = if options.without_scheduling_edges {
            without = without_communicators(program);
            &without
        } else {
            program
        };
        let workers = options.workers.min(MAX_THREADS);
        let plans = prepare::<Q>(program, &thunks, options)?;
        let pends = plans.iter().any(|plan: &PlanRun<Q>| !plan.pending().is_empty());
        let completing = if pends { options.completion_threads.clamp(1, MAX_THREADS) } else { 0 };
        let lanes = 1 + usize::from(workers) + usize::from(completing);
        let shared = Arc::new_cyclic(|me: &Weak<Shared<Q, _>>| Shared {
            session: Session::new(
                AtomicMemory::new(Session::<AtomicMemory>::WORDS),
                options.executor.max_workers,
            ),
            mailbox: Mailbox::default(),
            cores: Cores::new(1 + usize::from(workers), usize::from(options.cores.min(MAX_CORES))),
            timers: Timers::default(),
            world: Arc::clone(world),
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            has_pool: workers > 0,
            recorder: options.record.map(Recorder::new),
            cancelled: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            inside: AtomicUsize::new(0),
            tasks: AtomicU32::new(0),
            places: Places::default(),
            any_failed: AtomicBool::new(false),
            errors: Mutex::default(),
            me: me.clone(),
            options: options.clone(),
            plans,
            thunks,
        });
        let tasks: usize = shared
            .plans
            .iter()
            .map(|plan| plan.blocking().iter().filter(|blocks| **blocks).count() + plan.pending().len())
            .sum();
        shared.mailbox.reserve(tasks + options.executor.max_workers.min(MAX_CAP) as usize + 1);
        shared.timers.reserve(tasks);
        let me: Weak<dyn super::activity::Member> = Arc::<Shared<Q, _>>::downgrade(&shared);
        world.join(me);
        let mut executor = Self { engine: Arc::clone(&shared) as Arc<dyn Engine>, threads: Vec::new() };
        for lane in 1..lanes as u16 {
            let own = Arc::clone(&shared);
            if lane <= workers {
                executor.start(format!("lane-{lane}"), move || own.pool_thread(lane))?;
            } else {
                executor.start(format!("completion-{lane}"), move || own.completion_thread(lane))?;
            }
        }
        for core in 0..usize::from(options.cores.min(MAX_CORES)) {
            for lane in 0..=workers {
                let own = Arc::clone(&shared);
                // Lane i owns cores i, i + L, …
                let number = usize::from(lane) + core * (1 + usize::from(workers));
                executor.start(format!("core-{number}"), move || own.core_thread(lane, core))?;
            }
        }
        Ok(executor)
    }

    /// Starts a thread. When it fails, those that were started end with the executor.
    fn start(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<(), Diagnostic> {
        let thread = std::thread::Builder::new().name(name).spawn(work).map_err(|error| {
            Diagnostic::error("RN001", "threads", "threads that the system can start")
                .found(error)
                .hint("ask for fewer workers, cores or ranks")
        })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Runs the program once. The calling thread takes part as lane 0.
    pub fn run(&mut self) -> Ended {
        let world = self.engine.world();
        let _active = Active::new(world);
        world.reset();
        self.engine.run_once(0)
    }

    /// A handle for other threads.
    pub fn monitor(&self) -> Monitor {
        Monitor { engine: Arc::clone(&self.engine) }
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        self.engine.report()
    }

    /// Starts the figures of the report over.
    pub fn reset_report(&mut self) {
        self.engine.reset_report();
    }

    /// What the times of the event log count from; `None` if there is none.
    pub fn clock(&self) -> Option<Instant> {
        self.engine.clock()
    }

    /// The event log of all runs so far, and how many events did not fit; `None` unless
    /// [`Options::record`] is set. `options` is the line of the header that says how it was run.
    pub fn take_log(&mut self, program: &Program, options: String) -> Option<(Log, u64)> {
        let (sequences, events, left_out) = self.engine.take_log()?;
        let header = Header {
            format: VERSION.to_owned(),
            program: program.name.clone(),
            digest: program.digest(),
            options,
            seed: 0,
            clock: "ns".to_owned(),
            lanes: self.engine.report().lanes.len() as u16,
            sequences,
        };
        Some((Log { header, events }, left_out))
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.engine.close();
        for thread in self.threads.drain(..) {
            // A thread of the driver never panics by a thunk's fault; nothing is left to be done.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executor {{ threads: {} }}", self.threads.len())
    }
}

impl Monitor {
    /// Ends the run as soon as possible: thunks that have not begun fail or are skipped. A thunk
    /// that runs is not interrupted; it can ask [`Call::is_cancelled`](super::Call::is_cancelled).
    pub fn cancel(&self) {
        self.engine.cancel();
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        self.engine.report()
    }

    /// Waits until `lane` is inside no thunk, and answers what happened on it since the last time,
    /// as a stream's sync does: the worst of it.
    pub fn sync(&self, lane: u16, timeout: Duration) -> Synced {
        self.engine.sync(lane, timeout)
    }

    /// How each sequence stands that is being run, outermost first, as far as one look can tell.
    pub fn progress(&self) -> Vec<Progress> {
        super::Sampler::new(self.clone()).sample()
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Monitor")
    }
}

/// Runs executors of one world side by side, each on a thread of its own, each `repeat` times; for
/// each, how its last run ended. An executor whose run did not end well is not run again. After each
/// run `between` is called with the index of the executor, that of the run and how long it took.
pub fn run_together(
    executors: &mut [Executor],
    repeat: u32,
    between: &(impl Fn(usize, u32, Duration) + Sync),
) -> Vec<Ended> {
    let Some(world) = executors.first().map(|first| Arc::clone(first.engine.world())) else {
        return Vec::new();
    };
    world.reset();
    // All count as active before any begins: none may look stalled because another starts late.
    let active: Vec<_> = executors.iter().map(|_| Active::new(&world)).collect();
    std::thread::scope(|scope| {
        let run = |index: usize, executor: &mut Executor, active: Active<'_>| {
            let mut ended = Ended::Well;
            for iteration in 0..repeat {
                let start = Instant::now();
                ended = executor.engine.run_once(iteration);
                between(index, iteration, start.elapsed());
                if ended != Ended::Well {
                    break;
                }
            }
            drop(active);
            ended
        };
        let threads: Vec<_> = executors
            .iter_mut()
            .zip(active)
            .enumerate()
            .map(|(index, (executor, active))| scope.spawn(move || run(index, executor, active)))
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Ended>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// A thread that takes part in runs, and counts as active while it does not wait for one.
struct Active<'w>(&'w World);

impl<'w> Active<'w> {
    fn new(world: &'w World) -> Self {
        world.enter_run();
        Self(world)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.leave_run();
    }
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Engine for Shared<Q, T> {
    fn world(&self) -> &Arc<World> {
        &self.world
    }

    fn run_once(&self, iteration: u32) -> Ended {
        self.woken.store(false, Release);
        // What a stalled run left behind.
        while self.session.workers() > 0 {
            self.session.leave();
        }
        self.places.forget();
        if self.cores.any() {
            self.cores.reset();
        }
        for plan in &self.plans {
            plan.active.store(false, Relaxed);
        }
        if self.any_failed.load(Acquire) {
            self.any_failed.store(false, Release);
            self.errors.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        let iterations = |kind| {
            if let Some(recorder) = &self.recorder {
                let mut log = recorder.lock();
                let run = match kind {
                    EventKind::IterationStart { .. } => log.next_run(),
                    _ => log.next_run().saturating_sub(1),
                };
                log.emit(run, Actor(0), kind);
            }
        };
        iterations(EventKind::IterationStart { iteration });
        let start = self.clock();
        self.enter(0, 0, None);
        self.was_busy(0, start);
        let over = match self.plans[0].done().attach() {
            Attached::Completed { .. } => {
                self.woken.store(true, Release);
                // Others may still be on their way out.
                while !self.caller_may_go()
                    && let Some(item) = self.mailbox.take_until(|| self.caller_may_go())
                {
                    self.item(0, item);
                }
                true
            }
            Attached::Waits => {
                // From here on somebody else makes the caller active again, if anybody.
                self.world.deactivate();
                while let Some(item) = self.mailbox.take_until(|| self.caller_may_go()) {
                    self.item(0, item);
                }
                let over = self.woken.load(Acquire);
                if !over {
                    self.world.activate();
                }
                over
            }
        };
        if !over {
            return self.stalled();
        }
        iterations(EventKind::IterationEnd { iteration });
        if self.cancelled.load(Acquire) && self.cancelled.swap(false, AcqRel) {
            return Ended::Cancelled;
        }
        match self.any_failed.load(Acquire) {
            true => self.failure().map_or(Ended::Well, Ended::Failed),
            false => Ended::Well,
        }
    }

    fn report(&self) -> Report {
        Report {
            tasks: self.tasks.load(Relaxed),
            peak_tried: self.places.peak_tried.load(Relaxed),
            joined: self.places.joined.load(Relaxed),
            lanes: self.lanes.iter().map(Lane::report).collect(),
        }
    }

    fn reset_report(&self) {
        self.places.peak_tried.store(0, Relaxed);
        self.places.joined.store(0, Relaxed);
        self.lanes.iter().for_each(Lane::reset);
        if self.recorder.is_none() {
            self.tasks.store(0, Relaxed);
        }
    }

    fn cancel(&self) {
        self.cancelled.store(true, Release);
    }

    fn sync(&self, lane: u16, timeout: Duration) -> Synced {
        let Some(slot) = self.lanes.get(usize::from(lane)) else { return Synced::Error };
        let start = Instant::now();
        while slot.current().is_some() {
            if start.elapsed() >= timeout {
                return Synced::TimeOut;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        let overflowed = self.thunks.take_overflow(lane);
        match (slot.take_failed(), overflowed) {
            (true, _) => Synced::Error,
            (false, true) => Synced::Overflow,
            (false, false) => Synced::None,
        }
    }

    fn clock(&self) -> Option<Instant> {
        self.recorder.as_ref().map(Recorder::start)
    }

    fn take_log(&self) -> Option<(Vec<SequenceHeader>, Vec<Event>, u64)> {
        let mut log = self.recorder.as_ref()?.lock();
        let sequence = |plan: &PlanRun<Q>| SequenceHeader {
            path: plan.path.to_string(),
            counters: plan.graph.in_degrees().collect(),
            sinks: plan.graph.sinks().len() as u32,
        };
        let sequences = self.plans.iter().map(sequence).collect();
        Some((sequences, std::mem::take(&mut log.events), log.left_out))
    }

    fn close(&self) {
        self.mailbox.close();
        self.cores.close();
        self.timers.close();
    }

    fn snapshot(&self) -> super::snapshot::Snapshot {
        super::snapshot::Snapshot::of(self)
    }
}

impl<Q: ReadyQueue + Send + 'static, T: Thunks> Shared<Q, T> {
    fn stalled(&self) -> Ended {
        let snapshot = self.snapshot();
        if let Some(recorder) = &self.recorder
            && let Some(entry) = snapshot.sequences.first()
        {
            let suspects = entry.pending.iter().map(|&(node, _)| node).collect();
            let run = self.plans[0].run_id.load(Relaxed);
            let never_ready = entry.progress.never_ready;
            recorder.lock().emit(run, Actor::EVENTS, EventKind::Quiet { never_ready, suspects });
        }
        Ended::Stalled { progress: snapshot.into_progress(&|_, _, _| 0) }
    }

    /// The first failure of the entry; for control flow, what failed inside.
    fn failure(&self) -> Option<Failed> {
        let entry = &self.plans[0];
        let failure = match entry.mode {
            Mode::Concurrent => entry.state.failure(),
            Mode::Sequential => entry.sequential.lock().unwrap_or_else(PoisonError::into_inner).failure(),
        }?;
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = format!("{}/{}.", entry.path, failure.node);
        let found = errors
            .iter()
            .find(|error| error.path.starts_with(&inside))
            .or_else(|| errors.iter().find(|error| error.path == "entry" && error.node == failure.node));
        Some(found.cloned().unwrap_or_else(|| Failed {
            path: entry.path.to_string(),
            node: failure.node,
            message: "failed".to_owned(),
        }))
    }
}

/// Most threads of a kind.
const MAX_THREADS: u16 = 1_023;
/// Most cores of a lane.
const MAX_CORES: u16 = 64;
/// Posted tasks for which room is made beforehand.
const MAX_CAP: u32 = 1_024;

/// The same thunks without their communicators.
fn without_communicators(program: &Program) -> Program {
    fn strip(sequence: &mut Sequence, program: &Program) {
        for thunk in &mut sequence.thunks {
            let is_communicator = |resource: u32| {
                program.resources.get(resource as usize).is_some_and(|r| r.kind == ResourceKind::Communicator)
            };
            thunk.resources.retain(|used| !is_communicator(used.resource));
            thunk.nested.iter_mut().for_each(|nested| strip(&mut nested.sequence, program));
        }
    }
    let mut stripped = program.clone();
    strip(&mut stripped.sequence, program);
    stripped
}

/// Graphs, decisions and flags of all sequences.
fn prepare<Q: ReadyQueue>(
    program: &Program,
    thunks: &impl Thunks,
    options: &Options,
) -> Result<Vec<PlanRun<Q>>, Diagnostic> {
    let plans = Plan::all(program, &options.executor)?;
    let mut parents = vec![None; plans.len()];
    for (index, plan) in plans.iter().enumerate() {
        for (node, links) in (0..).zip(&plan.nested) {
            links.iter().for_each(|&(_, child)| parents[child] = Some((index, node)));
        }
    }
    let threads = 1 + usize::from(options.workers) + usize::from(options.completion_threads.max(1));
    let prepared = plans.into_iter().zip(parents).enumerate().map(|(index, (plan, parent))| {
        let mode = match options.mode {
            // Nothing to run is done at once, in program order.
            _ if plan.graph.is_empty() => Mode::Sequential,
            ModeChoice::Decided if plan.decision.sequential => Mode::Sequential,
            ModeChoice::Decided | ModeChoice::Concurrent => Mode::Concurrent,
            ModeChoice::Sequential => Mode::Sequential,
        };
        let flags: Vec<Flags> = (0..plan.graph.len()).map(|node| thunks.flags(index, node)).collect();
        let cursor = |(node, (thunk, links)): (u64, (&Thunk, &Vec<_>))| {
            // As in a simulation of the same seed, a branch depends on the seed and the thunk alone.
            let key = ((index as u64) << 32 | node).wrapping_mul(0x2545_f491_4f6c_dd1d);
            let mut rng = Rng::new(options.seed ^ key);
            (!links.is_empty()).then(|| Cursor::new(thunk, links, options.max_trips, &mut rng))
        };
        let cursors = (0..).zip(plan.sequence.thunks.iter().zip(&plan.nested)).map(cursor).collect();
        let priorities = match Q::default().class() {
            Queue::Priority if mode == Mode::Concurrent => plan.priorities().to_vec(),
            _ => Vec::new(),
        };
        let tasks = options.executor.max_workers.min(MAX_CAP) as usize + 1;
        let tasks = if options.workers == 0 { 0 } else { tasks };
        PlanRun::new(Parts {
            path: plan.path,
            graph: plan.graph,
            priorities,
            mode,
            parent,
            flags,
            cursors,
            threads,
            tasks,
        })
    });
    Ok(prepared.collect())
}
