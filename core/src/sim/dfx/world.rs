//! The simulation itself: who goes next, and what each turn does.

use std::collections::VecDeque;

use serde::Serialize;

use super::device::{Core, Lane, Phase, Running, Stock, Todo};
use super::host::Keeper;
use super::log::{DfxLog, Entry, Kind};
use super::orchestrator::SUBMIT;
use super::report::Report;
use super::scenario::{Order, Payloads, Scenario, Workload};
use super::schedule::Schedule;
use crate::dfx::record::{Argument, Record, Scopes, gather};
use crate::dfx::{
    Disturbed, Engine, Event, HostActor, Layout, Ledger, Oracle, Party, Policy, PoolKind, Recorder, Rig,
    Subsystem, Touched, Verdicts, Write, Written,
};
use crate::diagnostic::Diagnostic;
use crate::executor::{
    self, Begin, Fifo, Happening, Plan, ReadyQueue, Run as View, Runner, Session, State, Task, Worker,
};
use crate::machine::{Grain, LocalMemory, Outcome as Step, Ticks, WideMemory, Word};
use crate::program::{Access, Program};
use crate::rng::Rng;
use crate::trace::{Actor, Entry as By, EventKind, Header, Mode, SequenceHeader, TaskId, VERSION};

/// What a run leaves.
#[derive(Debug)]
pub struct Run {
    /// Everything that happened.
    pub log: DfxLog,
    /// What became of the records, by region.
    pub ledgers: Vec<Ledger>,
    /// What the policy cost.
    pub report: Report,
    /// What the invariants say of it; nothing if nobody [asked](judged()).
    pub verdicts: Verdicts,
    /// Records and payloads, for [`files`](super::files).
    pub(super) kept: Vec<(Layout, Keeper)>,
    /// Names of thunks.
    pub(super) names: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every record is accounted for, none is missing.
    Complete,
    /// Every record is accounted for, some are missing.
    Missing,
    /// The ledger does not balance.
    Unbalanced,
}

/// Runs a scenario to its end.
///
/// # Errors
/// `GR001` for a graph with too many edges, `SM001` for a log that gets too long, `DX005` for sizes
/// that do not fit into memory.
pub fn run(scenario: &Scenario, payloads: &dyn Payloads) -> Result<Run, Diagnostic> {
    run_with(scenario, payloads, false)
}

/// As [`run()`], with every step judged by the invariants I1 to I18.
///
/// # Errors
/// As [`run()`].
pub fn judged(scenario: &Scenario, payloads: &dyn Payloads) -> Result<Run, Diagnostic> {
    run_with(scenario, payloads, true)
}

fn run_with(scenario: &Scenario, payloads: &dyn Payloads, judge: bool) -> Result<Run, Diagnostic> {
    let generated;
    let program: &Program = match &scenario.workload {
        Workload::Shape(shape, n) => {
            generated = shape.generate(*n, scenario.seed);
            &generated
        }
        Workload::Program(program) => program,
    };
    let plans = Plan::all(program, &executor::Options::default())?;
    World::new(scenario, program, &plans, payloads, judge)?.finish()
}

/// A thread of some host.
struct Thread {
    rig: usize,
    actor: HostActor,
    name: Actor,
    news: bool,
    /// Its present round has changed something.
    busy: bool,
    slept: Ticks,
    percent: u64,
}

/// Which word is news for which threads of one region.
struct Watchers {
    /// Threads, by the word that they watch.
    all: Vec<u32>,
    /// By memory, by word: where its watchers begin in `all`, and how many they are.
    spans: [Vec<(u32, u32)>; 2],
}

impl Watchers {
    fn new(mut all: Vec<((bool, Word), u32)>) -> Self {
        all.sort_unstable();
        let mut spans: [Vec<(u32, u32)>; 2] = [Vec::new(), Vec::new()];
        for (place, ((device, word), _)) in all.iter().enumerate().rev() {
            let (spans, word) = (&mut spans[usize::from(*device)], word.0 as usize);
            spans.resize(spans.len().max(word + 1), (0, 0));
            spans[word] = (place as u32, spans[word].1 + 1);
        }
        Self { all: all.into_iter().map(|(_, thread)| thread).collect(), spans }
    }

    fn of(&self, device: bool, word: Word) -> &[u32] {
        let (first, n) = self.spans[usize::from(device)].get(word.0 as usize).copied().unwrap_or((0, 0));
        &self.all[first as usize..][..n as usize]
    }
}

pub(super) struct World<'p> {
    pub(super) scenario: &'p Scenario,
    pub(super) plans: &'p [Plan<'p>],
    payloads: &'p dyn Payloads,
    pub(super) state: State<LocalMemory>,
    session: Session<LocalMemory>,
    pub(super) lanes: Vec<Lane>,
    cores: Vec<Core>,
    rigs: Vec<Rig>,
    keepers: Vec<Keeper>,
    threads: Vec<Thread>,
    /// By region: which word is news for which threads.
    watchers: Vec<Watchers>,
    /// Cores, then lanes, then threads of hosts.
    schedule: Schedule,
    /// By kind, by owner: region, lane, the engine's number of the pool.
    places: Vec<Vec<(usize, usize, usize)>>,
    posted: VecDeque<(TaskId, Task<Fifo>)>,
    tasks: TaskId,
    /// By region; none if nobody asked for a judgement.
    oracles: Vec<Oracle>,
    verdicts: Verdicts,
    /// By lane: time at gates when the host died.
    blocked_before: Vec<Ticks>,
    touched: Touched,
    words: Vec<(bool, Word)>,
    events: Vec<Event>,
    happenings: Happenings,
    /// Room for the words of a dep_gen record.
    pub(super) chain: Vec<u32>,
    /// The slots of such a record at their full length, while it is written; zeros at all other times.
    slots: Vec<u32>,
    log: DfxLog,
    rng: Rng,
    now: Ticks,
    run: u32,
    pub(super) submitted: u32,
    pub(super) pending: u32,
    pub(super) scopes: Scopes,
    iteration: u32,
    crashed: bool,
    errors: Vec<u64>,
    busy: Vec<u64>,
    host_steps: u64,
    turns: u64,
    makespan: Ticks,
}

/// One step of a lane, in ns.
const LANE_STEP: Ticks = 20;
/// From dispatch to a core's ACK, and from there to its start.
const RECEIVE: Ticks = 100;
/// As [`RECEIVE`].
const START: Ticks = 60;
/// A lane's look at its cores.
const LOOK: Ticks = 40;

#[derive(Default)]
struct Happenings(Vec<Happening>);

impl executor::Observer for Happenings {
    fn on(&mut self, happening: Happening) {
        self.0.push(happening);
    }
}

struct Posted(Vec<Task<Fifo>>);

impl Runner<Fifo> for Posted {
    fn available(&self) -> bool {
        true
    }
    fn post(&mut self, task: Task<Fifo>) {
        self.0.push(task);
    }
}

impl<'p> World<'p> {
    fn new(
        scenario: &'p Scenario,
        program: &Program,
        plans: &'p [Plan<'p>],
        payloads: &'p dyn Payloads,
        judge: bool,
    ) -> Result<Self, Diagnostic> {
        let graph = &plans[0].graph;
        let mut rigs = Vec::new();
        let mut keepers = Vec::new();
        let mut threads = Vec::new();
        let mut watchers = Vec::new();
        let mut places = vec![Vec::new(); PoolKind::ALL.len()];
        for (index, &subsystem) in scenario.subsystems.iter().enumerate() {
            let (lanes, cores) = (scenario.lanes, scenario.cores);
            let spare = scenario.rules.spare();
            let layout = Layout::new(&scenario.profile, subsystem, lanes, cores, spare).ok_or_else(|| {
                Diagnostic::error("DX005", format!("$.pools ({subsystem})"), "at most 8 GiB for a region")
                    .hint("fewer or smaller buffers, or a smaller arena")
            })?;
            keepers.push(Keeper::new(&layout, &scenario.host, scenario.seed));
            let mut by_lane = vec![0; lanes as usize];
            for pool in &layout.pools {
                let lane = pool.lane as usize;
                places[pool.kind as usize].push((index, lane, by_lane[lane]));
                by_lane[lane] += 1;
            }
            let rig = Rig::new(layout, scenario.profile.transport, scenario.rules, 0);
            let mut watched = Vec::new();
            for (place, actor) in rig.actors().into_iter().enumerate() {
                let shard = match actor {
                    HostActor::Drain(shard) | HostActor::Collector(shard) => shard as usize,
                    HostActor::Replenish | HostActor::Writer => usize::MAX,
                };
                let percent = scenario.host.skew_percent.get(shard).copied().unwrap_or(100);
                let name = Actor(0x2000 + 0x100 * index as u16 + place as u16);
                let thread = threads.len() as u32;
                watched.extend(rig.watched(actor).into_iter().map(|word| (word, thread)));
                threads.push(Thread {
                    rig: index,
                    actor,
                    name,
                    news: false,
                    busy: false,
                    slept: 0,
                    percent: u64::from(percent),
                });
            }
            watchers.push(Watchers::new(watched));
            rigs.push(rig);
        }
        let lane = |lane: u32| Lane {
            recorders: rigs
                .iter()
                .map(|rig| {
                    let mut engine = Engine::new(&rig.layout, lane, scenario.rules);
                    engine.attach(&rig.device);
                    Recorder::new(engine)
                })
                .collect(),
            todo: VecDeque::new(),
            stock: Stock::default(),
            begun: false,
            waits: None,
            worker: Worker::default(),
            joined: false,
            held: Vec::new(),
            loops: 0,
            slot: None,
            stopped: None,
            blocked: 0,
            stops: 0,
            flushing: false,
            over: false,
        };
        let lanes: Vec<_> = (0..scenario.lanes).map(lane).collect();
        let schedulers = (scenario.lanes - 1).max(1);
        let cores: Vec<_> = (0..scenario.cores)
            .map(|core| Core { lane: (core % schedulers) as usize, reg: 0, task: None })
            .collect();
        let oracles = rigs.iter().filter(|_| judge).map(|rig| Oracle::new(rig, false)).collect();
        let header = Header {
            format: VERSION.to_owned(),
            program: program.name.clone(),
            digest: program.digest(),
            options: scenario.summary(),
            seed: scenario.seed,
            clock: "ns".to_owned(),
            lanes: scenario.lanes as u16,
            sequences: vec![SequenceHeader {
                path: "entry".to_owned(),
                counters: (0..graph.len()).map(|node| graph.incoming(node).len() as u32).collect(),
                sinks: graph.sinks().len() as u32,
            }],
        };
        let mut schedule = Schedule::new(cores.len() + lanes.len() + threads.len());
        (cores.len()..cores.len() + lanes.len() + threads.len())
            .for_each(|actor| schedule.set(actor, Some(0)));
        let state = State::new(LocalMemory::new(State::<LocalMemory>::words(graph.len())), graph);
        let session = Session::new(LocalMemory::new(Session::<LocalMemory>::WORDS), schedulers - 1);
        let mut world = Self {
            scenario,
            plans,
            payloads,
            state,
            session,
            lanes,
            cores,
            rigs,
            keepers,
            threads,
            watchers,
            schedule,
            places,
            posted: VecDeque::new(),
            tasks: 0,
            oracles,
            verdicts: Verdicts::default(),
            blocked_before: Vec::new(),
            touched: Touched::default(),
            words: Vec::new(),
            events: Vec::new(),
            happenings: Happenings::default(),
            chain: Vec::new(),
            slots: Vec::new(),
            log: DfxLog { header, events: Vec::new() },
            rng: Rng::new(scenario.seed ^ 0x0070_71de),
            now: 0,
            run: 0,
            submitted: 0,
            pending: 0,
            scopes: Scopes::default(),
            iteration: 0,
            crashed: false,
            errors: Vec::new(),
            busy: vec![0; schedulers as usize],
            host_steps: 0,
            turns: 0,
            makespan: 0,
        };
        for rig in 0..world.rigs.len() {
            let Self { rigs, events, .. } = &mut world;
            events.extend(rigs[rig].layout.events(0));
            world.flush_events(Actor::EVENTS);
        }
        world.start_iteration();
        Ok(world)
    }

    fn finish(mut self) -> Result<Run, Diagnostic> {
        let most = self.scenario.max_events;
        while self.turn() {
            self.turns += 1;
            if self.log.events.len() > most || self.turns > 64 * most as u64 {
                return Err(Diagnostic::error("SM001", "events", "a shorter run")
                    .found(self.log.events.len())
                    .hint(format!("the log is limited to {most} events: fewer thunks or iterations")));
            }
        }
        self.judge_end();
        let mut ledgers = Vec::new();
        for index in 0..self.rigs.len() {
            let Self { rigs, keepers, touched, events, .. } = &mut self;
            let before = rigs[index].ledger();
            rigs[index].reconcile(&mut keepers[index], touched, events);
            let ledger = rigs[index].ledger();
            if let Some(oracle) = self.oracles.get(index) {
                let disturbed = Disturbed { at_all: !self.scenario.is_fair(), entries: false };
                oracle.end(&self.rigs[index], &before, &ledger, disturbed, &mut self.verdicts);
            }
            self.events.extend(ledger.events());
            self.flush_events(Actor::EVENTS);
            ledgers.push(ledger);
        }
        let report = self.report(&ledgers);
        let names = self.plans[0].sequence.thunks.iter().map(|thunk| thunk.name.clone()).collect();
        let kept = self.rigs.iter().map(|rig| (*rig.layout).clone()).zip(self.keepers).collect();
        Ok(Run { log: self.log, ledgers, report, verdicts: self.verdicts, kept, names })
    }

    /// Whether everybody came to the end.
    fn judge_end(&mut self) {
        if self.oracles.is_empty() {
            return;
        }
        let dead = self.crashed;
        for (index, lane) in self.lanes.iter().enumerate() {
            let what = || format!("lane {index} did not come back");
            self.verdicts.judge(if dead { 16 } else { 7 }, lane.over, what);
            // Times mean nothing where anybody may go next.
            if let Some(before) =
                self.blocked_before.get(index).filter(|_| self.scenario.order != Order::Adversarial)
            {
                let spent = lane.blocked - before;
                let stops = Ticks::from(lane.stops) + 2;
                let rules = &self.scenario.rules;
                let waits = match rules.policy {
                    // A lane that gives up soon never takes the host for dead: it waits again each time.
                    Policy::Drop => rules.short_wait * stops,
                    Policy::GlobalFreeze | Policy::PerLane => rules.budget * self.rigs.len() as Ticks,
                };
                let most = waits + LANE_STEP * stops;
                self.verdicts.judge(16, spent <= most, || {
                    format!("lane {index} spent {spent} ns in waits after the host's death")
                });
            }
        }
        if !dead && self.lanes.iter().all(|lane| lane.over) {
            let over = self.rigs.iter().all(Rig::is_over);
            self.verdicts.judge(15, over, || "somebody did not end".to_owned());
        }
    }

    fn report(&self, ledgers: &[Ledger]) -> Report {
        let collected = |kind: PoolKind| {
            let rig = self.scenario.subsystems.iter().position(|s| s.kinds().contains(&kind));
            rig.map(|rig| (&self.rigs[rig].layout.pools, &self.keepers[rig].records))
        };
        let mut seen = vec![0_u64; self.busy.len()];
        if let Some((pools, records)) = collected(PoolKind::AicpuTask) {
            for (pool, kept) in pools.iter().zip(records).filter(|(p, _)| p.kind == PoolKind::AicpuTask) {
                for record in kept.from(0) {
                    seen[pool.lane as usize] += record.u64(8).saturating_sub(record.u64(0));
                }
            }
        }
        let lanes = self.lanes.iter().map(|lane| (lane.blocked, lane.stops)).collect();
        Report::new(
            self.scenario,
            ledgers,
            lanes,
            &self.errors,
            (&self.busy, &seen),
            self.makespan,
            self.host_steps,
        )
    }

    fn emit(&mut self, actor: Actor, kind: EventKind) {
        self.log.events.push(Entry { t: self.now, actor, run: self.run, kind: Kind::Executor(kind) });
    }

    fn emit_dfx(&mut self, actor: Actor, event: Event) {
        self.log.events.push(Entry { t: self.now, actor, run: self.run, kind: Kind::Other(event) });
    }

    fn flush_events(&mut self, actor: Actor) {
        if self.events.is_empty() {
            return;
        }
        let (t, run) = (self.now, self.run);
        let entry = |event| Entry { t, actor, run, kind: Kind::Other(event) };
        self.log.events.extend(self.events.drain(..).map(entry));
    }

    pub(super) fn cycles(&self, ns: Ticks) -> u64 {
        self.scenario.profile.cycles(ns)
    }

    /// `ring << 32 | local`; iterations follow each other in one ring.
    pub(super) fn task(&self, node: u32) -> u64 {
        u64::from(self.iteration * self.plans[0].graph.len() + node)
    }

    /// Puts a record for the pool of that kind and owner on a lane's list, unless its region is off.
    pub(super) fn record(&mut self, lane: usize, kind: PoolKind, owner: usize, write: Write, words: &[u32]) {
        if let Some(place) = self.place(kind, owner) {
            self.lanes[lane].put(place, write, words, |_| {});
        }
    }

    /// The region of a pool, and its number among its lane's.
    fn place(&self, kind: PoolKind, owner: usize) -> Option<(usize, usize)> {
        self.places[kind as usize].get(owner).map(|&(rig, _, writer)| (rig, writer))
    }

    fn has(&self, subsystem: Subsystem) -> bool {
        self.scenario.subsystems.contains(&subsystem)
    }

    fn start_iteration(&mut self) {
        let iteration = self.iteration;
        self.run = iteration;
        self.submitted = 0;
        self.state.reset(&self.plans[0].graph);
        self.emit(Actor(0), EventKind::IterationStart { iteration });
        self.emit(Actor(0), EventKind::RunStart { sequence: 0, mode: Mode::Concurrent, parent: None });
        self.emit(Actor(0), EventKind::LoopStart { by: By::Caller });
        let worker = Worker::start(&self.view());
        self.lanes[0].worker = worker;
        (0..self.lanes.len()).for_each(|lane| self.lane_at(lane, Some(self.now)));
        if self.plans[0].graph.is_empty() {
            self.emit(Actor(0), EventKind::Done { failed: None });
        }
    }

    fn view(&self) -> View<'_, LocalMemory> {
        View {
            graph: self.plans[0].graph.successors(),
            priorities: &[],
            state: &self.state,
            session: &self.session,
            split_threshold: (self.scenario.cores / (self.scenario.lanes - 1).max(1)).max(1),
        }
    }

    fn jitter(&mut self, cost: Ticks) -> Ticks {
        match self.scenario.order {
            Order::Random => cost - cost / 4 + self.rng.below(cost / 2 + 1),
            Order::ByTime | Order::Adversarial => cost,
        }
    }

    /// One turn of whoever comes first. False if nobody can go on.
    fn turn(&mut self) -> bool {
        let next = match self.scenario.order {
            // Whoever waits for a time-out comes only when nobody else can.
            Order::Adversarial => {
                let soon = self.schedule.until(self.now.saturating_add(HORIZON));
                match soon.clone().count() {
                    0 => self.schedule.first(),
                    n => soon.clone().nth(self.rng.below(n as u64) as usize),
                }
            }
            Order::ByTime | Order::Random => self.schedule.first(),
        };
        let crash = self.scenario.host.crash_at.filter(|_| !self.crashed);
        if let Some(at) = crash
            && next.is_none_or(|(next, _)| next >= at)
        {
            self.now = self.now.max(at);
            self.crashed = true;
            self.rigs.iter_mut().for_each(|rig| rig.dead = true);
            (0..self.threads.len()).for_each(|thread| self.thread_at(thread, None));
            self.blocked_before = self.lanes.iter().map(|lane| lane.blocked).collect();
            self.emit_dfx(Actor::EVENTS, Event::Crash);
            return true;
        }
        let Some((at, actor)) = next else { return false };
        self.now = self.now.max(at);
        let (cores, lanes) = (self.cores.len(), self.lanes.len());
        match actor {
            core if core < cores => self.core_turn(core),
            lane if lane < cores + lanes => self.lane_turn(lane - cores),
            thread => self.host_turn(thread - cores - lanes),
        }
        true
    }

    fn core_at(&mut self, core: usize, at: Option<Ticks>) {
        self.schedule.set(core, at);
    }

    fn lane_at(&mut self, lane: usize, at: Option<Ticks>) {
        self.schedule.set(self.cores.len() + lane, at);
    }

    fn thread_at(&mut self, thread: usize, at: Option<Ticks>) {
        self.schedule.set(self.cores.len() + self.lanes.len() + thread, at);
    }

    /// After a step of `party` in a region: its events are judged and logged, its stores told.
    fn after_step(&mut self, rig: usize, party: Party, actor: Actor) {
        if let Some(oracle) = self.oracles.get_mut(rig) {
            for &event in &self.events {
                oracle.see(&self.rigs[rig], party, event, &mut self.verdicts);
            }
        }
        self.flush_events(actor);
        self.touched.take(&mut self.words);
        if self.words.is_empty() {
            return;
        }
        if let Some(oracle) = self.oracles.get(rig) {
            for &word in &self.words {
                oracle.judge_store(party, word, &mut self.verdicts);
            }
        }
        self.tell(rig);
    }

    /// Wakes those for whom a word is news that was stored to.
    fn tell(&mut self, rig: usize) {
        let (now, poll) = (self.now, self.scenario.host.poll.max(1));
        let (cores, lanes) = (self.cores.len(), self.lanes.len());
        let watchers = &self.watchers[rig];
        for &(device, word) in &self.words {
            for &index in watchers.of(device, word) {
                let thread = &mut self.threads[index as usize];
                thread.news = true;
                let place = cores + lanes + index as usize;
                if !self.crashed && self.schedule.get(place).is_none() {
                    // It polls: it sees the news when it wakes next.
                    let slept = now.saturating_sub(thread.slept);
                    let at = thread.slept + slept.div_ceil(poll).max(1) * poll;
                    self.schedule.set(place, Some(at));
                }
            }
            if device {
                for (index, lane) in self.lanes.iter_mut().enumerate() {
                    if lane.waits.is_some_and(|(r, waited, _)| r == rig && waited == word) {
                        lane.waits = None;
                        self.schedule.set(cores + index, Some(now + LANE_STEP));
                    }
                }
            }
        }
    }

    fn host_turn(&mut self, index: usize) {
        let host = &self.scenario.host;
        let (rig, actor, name) =
            (self.threads[index].rig, self.threads[index].actor, self.threads[index].name);
        if self.rigs[rig].has_ended(actor) {
            self.thread_at(index, None);
            return;
        }
        let collects = matches!(actor, HostActor::Collector(_) | HostActor::Writer);
        let windows = [host.stall, host.collectors_stuck.filter(|_| collects)];
        if let Some((_, end)) =
            windows.into_iter().flatten().find(|(from, to)| (*from..*to).contains(&self.now))
        {
            self.thread_at(index, Some(end));
            return;
        }
        let mut cost = 0;
        if self.rigs[rig].is_about_to_work(actor) {
            cost += match actor {
                HostActor::Writer => host.write,
                _ => host.collect,
            };
        }
        let Self { rigs, keepers, touched, events: seen, now, .. } = self;
        // A look that finds nothing is no turn of its own: it takes its time, and the next follows.
        // In adversarial order everybody may come in between.
        let most = if self.scenario.order == Order::Adversarial { 1 } else { MOST_LOOKS };
        let again = |seen: &Vec<Event>, steps| seen.is_empty() && steps < most;
        let (outcome, steps) = rigs[rig].steps(actor, &mut keepers[rig], *now, touched, seen, again);
        self.host_steps += steps;
        // A thread that waits has looked until now.
        cost += host.step * if matches!(outcome, Step::Wait { .. }) { steps - 1 } else { steps };
        for event in &self.events {
            if let Event::Deliver { records, .. } = event {
                cost += self.scenario.host.collect_record * u64::from(*records) / 4;
            }
            if let Event::Return { records, .. } = event {
                cost += self.scenario.host.collect_record * u64::from(*records);
            }
        }
        self.threads[index].busy |= !self.events.is_empty();
        self.after_step(rig, Party::Host(actor), name);
        let cost = self.jitter(cost) * self.threads[index].percent / 100;
        let (now, poll) = (self.now, self.scenario.host.poll.max(1));
        let thread = &mut self.threads[index];
        let at = match outcome {
            Step::Progress => Some(now + cost.max(1)),
            Step::Ready(()) => None,
            // A freeze that this tick opened is for the next one to release; after a tick that found nothing
            // to do, only news can change that.
            Step::Wait { .. } if std::mem::take(&mut thread.news) | std::mem::take(&mut thread.busy) => {
                Some(now + cost + poll)
            }
            Step::Wait { .. } => {
                thread.slept = now;
                None
            }
        };
        self.thread_at(index, at);
    }

    fn core_turn(&mut self, index: usize) {
        let now = self.now;
        let name = Actor(0x1000 + index as u16);
        let Some(running) = self.cores[index].task.as_ref() else { return };
        let (node, cost, core) = (running.node, running.cost, index as u32);
        match running.phase {
            Phase::Receive => {
                self.emit_dfx(name, Event::Ack { core, node });
                if let Some(task) = &mut self.cores[index].task {
                    (task.phase, task.received) = (Phase::Start, now);
                }
                self.core_at(index, Some(now + START));
            }
            Phase::Start => {
                self.emit_dfx(name, Event::Start { core, node });
                if let Some(task) = &mut self.cores[index].task {
                    (task.phase, task.started) = (Phase::End, now);
                }
                self.core_at(index, Some(now + cost));
            }
            Phase::End => {
                let (slot, started, received) = (running.slot, running.started, running.received);
                self.emit_dfx(name, Event::End { core, node });
                let token = self.task(node);
                if let (Some(slot), Some(&(rig, ..))) =
                    (slot, self.places[PoolKind::AicoreTask as usize].get(index))
                {
                    let wait = self.cycles(started) - self.cycles(received);
                    let record = Record::new(32)
                        .u64(0, self.cycles(started))
                        .u64(8, self.cycles(now))
                        .u64(16, token)
                        .u32(24, self.cores[index].reg)
                        .u32(28, wait as u32);
                    // Its record first, then FIN (contracts §5).
                    self.rigs[rig].device.write_range(slot, record.words());
                }
                let lane = self.cores[index].lane;
                if let Some(task) = &mut self.cores[index].task {
                    (task.phase, task.ended) = (Phase::Finished, now);
                    self.busy[lane] += now - started;
                }
                self.core_at(index, None);
                self.wake(lane);
            }
            Phase::Finished => {}
        }
    }

    /// A lane that only waits for news looks around; one at a gate does not.
    fn wake(&mut self, lane: usize) {
        let sleeps = self.schedule.get(self.cores.len() + lane).is_none();
        if sleeps && self.lanes[lane].waits.is_none() && !self.lanes[lane].over {
            self.lane_at(lane, Some(self.now + LOOK));
        }
    }

    fn lane_turn(&mut self, index: usize) {
        match self.lanes[index].todo.front() {
            Some(Todo::Record { .. }) => self.record_turn(index),
            Some(&Todo::Dispatch { core, node }) => {
                self.lanes[index].take_off();
                self.dispatch(index, core, node);
                self.lane_at(index, Some(self.now + LANE_STEP));
            }
            Some(&Todo::Submitted { node }) => {
                self.lanes[index].take_off();
                self.submitted = node + 1;
                (0..self.lanes.len() - 1).for_each(|lane| self.wake(lane));
                self.lane_at(index, Some(self.now + SUBMIT));
            }
            None if self.lanes[index].flushing => {
                self.lanes[index].over = true;
                self.lane_at(index, None);
                if self.lanes.iter().all(|lane| lane.over) {
                    for rig in 0..self.rigs.len() {
                        self.rigs[rig].stop(&self.touched);
                        self.touched.take(&mut self.words);
                        self.tell(rig);
                    }
                }
            }
            None if index + 1 == self.lanes.len() => self.orchestrator_turn(index),
            None => self.scheduler_turn(index),
        }
    }

    fn record_turn(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        let Some(&Todo::Record { rig, writer, write, words, payload }) = lane.todo.front() else { return };
        let (words, payload) = lane.stock.next(words, payload);
        let recorder = &mut lane.recorders[rig];
        if !lane.begun {
            lane.begun = true;
            recorder.begin(writer, write);
            if let Some(oracle) = self.oracles.get_mut(rig) {
                oracle.begins(index as u32);
            }
        }
        let tap = self.rigs[rig].tap(&self.touched);
        let mut length = words.len();
        let outcome = if let Write::Chain { slots } = write {
            // The list has it without the zeros at its end.
            length = slots as usize * (PoolKind::DepGen.record_bytes() / 4) as usize;
            self.slots.resize(self.slots.len().max(length), 0);
            self.slots[..words.len()].copy_from_slice(words);
            let whole = &self.slots[..length];
            let outcome = recorder.advance(&tap, whole, self.now, Grain::Fine, &mut self.events);
            self.slots[..words.len()].fill(0);
            outcome
        } else {
            recorder.advance(&tap, words, self.now, Grain::Fine, &mut self.events)
        };
        let mut cost = LANE_STEP;
        let mut more = None;
        let at;
        match outcome {
            Step::Progress => at = Some(self.now + cost),
            Step::Wait { word, expected, deadline } => {
                let value = crate::machine::Memory::load(&tap, word, std::sync::atomic::Ordering::Acquire);
                if value == expected {
                    lane.waits = Some((rig, word, deadline));
                    at = deadline;
                } else {
                    at = Some(self.now + cost);
                }
                if lane.stopped.is_none() {
                    lane.stopped = Some(self.now);
                    lane.stops += 1;
                }
            }
            Step::Ready(written) => {
                cost += length as u64 / 2;
                if let Written::Reserved { offset, bytes, truncated } = written {
                    if let Some((word, skip)) = recorder.engine.payload_at(offset) {
                        write_bytes(&tap, word, skip as usize, &payload[..bytes as usize]);
                    }
                    let wide = |value: u64| [value as u32, (value >> 32) as u32];
                    words[6..8].copy_from_slice(&wide(offset));
                    words[8..10].copy_from_slice(&wide(bytes));
                    words[4] |= u32::from(truncated) << 8;
                    recorder.append_with_payload(&tap, words, bytes);
                    self.events.push(recorder.appended());
                    cost += bytes / 8;
                }
                if write == Write::ForCore {
                    let reserved = written == Written::Recorded;
                    lane.slot = if reserved { recorder.engine.core_slot(writer) } else { None };
                }
                if write == Write::Record && recorder.engine.is_full(writer) {
                    let (pool, _) = recorder.engine.current_count(writer);
                    let eager = self.rigs[rig].layout.pools[pool as usize].kind.eager();
                    let write = Write::Switch;
                    more = eager.then_some(Todo::Record { rig, writer, write, words: 0, payload: 0 });
                }
                lane.take_off();
                lane.begun = false;
                at = Some(self.now + cost);
            }
        }
        if let Some(more) = more {
            lane.todo.push_front(more);
        }
        if let Some(oracle) = self.oracles.get_mut(rig) {
            let stop = (lane.stopped.unwrap_or(self.now), Some(self.scenario.rules.bound()));
            let engine = &lane.recorders[rig].engine;
            oracle.step(index as u32, engine, &outcome, stop, &self.events, &mut self.verdicts);
        }
        if !matches!(outcome, Step::Wait { .. }) {
            lane.waits = None;
            if let Some(start) = lane.stopped.take() {
                lane.blocked += self.now - start;
            }
        }
        self.lane_at(index, at);
        self.after_step(rig, Party::Lane(index as u32), Actor(index as u16));
    }

    fn dispatch(&mut self, index: usize, core: usize, node: u32) {
        let actor = Actor(index as u16);
        let thunk = &self.plans[0].sequence.thunks[node as usize];
        let seed = self.scenario.seed ^ u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let cost = self.scenario.costs.of(thunk, &mut Rng::new(seed));
        let slot = self.lanes[index].slot.take();
        self.emit_dfx(actor, Event::Dispatched { core: core as u32, node });
        self.emit(actor, EventKind::Started { node });
        let mut worker = std::mem::take(&mut self.lanes[index].worker);
        let mut happenings = std::mem::take(&mut self.happenings);
        let continuation = worker.suspend(&self.view(), node, &mut happenings);
        self.lanes[index].worker = worker;
        self.emit(actor, EventKind::Pending { node });
        self.emit_happenings(actor, happenings);
        self.pending += 1;
        self.core_at(core, Some(self.now + RECEIVE));
        let reg = self.cores[core].reg;
        self.cores[core].reg = reg.wrapping_add(1);
        self.cores[core].task = Some(Running {
            node,
            cost,
            slot,
            dispatched: self.now,
            received: 0,
            started: 0,
            ended: 0,
            phase: Phase::Receive,
            continuation: Some(continuation),
        });
    }

    /// Also puts back the room that was taken for them.
    fn emit_happenings(&mut self, actor: Actor, mut happenings: Happenings) {
        for happening in happenings.0.drain(..) {
            self.emit_happening(actor, happening);
        }
        self.happenings = happenings;
    }

    fn emit_happening(&mut self, actor: Actor, happening: Happening) {
        if let Some(kind) = EventKind::of(happening) {
            self.emit(actor, kind);
        }
    }

    fn orchestrator_turn(&mut self, index: usize) {
        let nodes = self.plans[0].graph.len();
        if self.submitted < nodes {
            let node = self.submitted;
            self.submit(node, self.now);
            self.lane_at(index, Some(self.now + LANE_STEP));
            return;
        }
        self.lane_at(index, None);
        self.after_work();
    }

    /// After the last task: the next iteration, or the flush (dfx spec §2.5).
    fn after_work(&mut self) {
        let last = self.lanes.len() - 1;
        let idle = self.cores.iter().all(|core| core.task.is_none())
            && self.lanes.iter().all(|lane| lane.todo.is_empty());
        if !self.state.is_done() || !idle || self.submitted < self.plans[0].graph.len() {
            return;
        }
        if self.lanes[last].flushing {
            return;
        }
        let iteration = self.iteration;
        self.emit(Actor(0), EventKind::IterationEnd { iteration });
        self.makespan = self.now;
        if iteration + 1 < self.scenario.iterations {
            if iteration == 0 {
                // Each of them logs as much as the first: no copies of a log that outgrows its place.
                let more = self.log.events.len().saturating_mul(self.scenario.iterations as usize - 1);
                self.log.events.reserve_exact(more.min(self.scenario.max_events));
            }
            self.iteration += 1;
            self.start_iteration();
            return;
        }
        for lane in &mut self.lanes {
            for (rig, recorder) in lane.recorders.iter().enumerate() {
                let writers = recorder.engine.pools().count();
                lane.todo.extend((0..writers).map(|writer| Todo::Record {
                    rig,
                    writer,
                    write: Write::Flush,
                    words: 0,
                    payload: 0,
                }));
            }
            lane.flushing = true;
        }
        (0..self.lanes.len()).for_each(|lane| self.lane_at(lane, Some(self.now)));
    }

    fn scheduler_turn(&mut self, index: usize) {
        let actor = Actor(index as u16);
        let start = self.now;
        let depth = self.lanes[index].worker.ready.len() as u16;
        self.lanes[index].loops += 1;
        // Core `c` belongs to lane `c` modulo the scheduling lanes.
        let mine = (index..self.cores.len()).step_by((self.lanes.len() - 1).max(1));
        let mut completed = 0;
        for core in mine.clone() {
            let finished = self.cores[core].task.take_if(|task| task.phase == Phase::Finished);
            if let Some(task) = finished {
                self.complete(index, core, task);
                completed += 1;
            }
        }
        self.phase(index, 0, completed, start, depth, (0, 0));
        if self.lanes[index].worker.ready.is_empty() && self.lanes[index].held.is_empty() {
            self.take_posted(index);
        }
        let (mut dispatched, mut missed) = (0, 0);
        for core in mine.clone() {
            if self.cores[core].task.is_some() {
                continue;
            }
            let Some(node) = self.next_node(index) else {
                missed += 1;
                break;
            };
            dispatched += 1;
            self.arguments(index, node, false);
            self.record(index, PoolKind::AicoreTask, core, Write::ForCore, &[0; 8]);
            self.lanes[index].todo.push_back(Todo::Dispatch { core, node });
        }
        self.phase(index, 1, dispatched, start, depth, (dispatched, missed));
        let busy = !self.lanes[index].todo.is_empty();
        let running = mine.clone().any(|core| self.cores[core].task.is_some());
        let lane = &mut self.lanes[index];
        let nothing = !busy && !running && lane.worker.ready.is_empty() && lane.held.is_empty();
        if nothing && std::mem::take(&mut lane.joined) {
            self.session.leave();
            self.emit(actor, EventKind::LoopEnd);
            let count = self.session.workers();
            self.emit(actor, EventKind::Workers { count });
        }
        self.lane_at(index, busy.then_some(self.now + LOOK));
        if !busy {
            self.after_work();
        }
    }

    /// The next node that this lane may dispatch: ready, and submitted.
    fn next_node(&mut self, index: usize) -> Option<u32> {
        let submitted = self.submitted;
        if let Some(at) = self.lanes[index].held.iter().position(|node| *node < submitted) {
            return Some(self.lanes[index].held.remove(at));
        }
        loop {
            let mut worker = std::mem::take(&mut self.lanes[index].worker);
            let (mut posted, mut happenings) = (Posted(Vec::new()), std::mem::take(&mut self.happenings));
            let begin = worker.begin(&self.view(), |_| false, &mut posted, &mut happenings);
            self.lanes[index].worker = worker;
            let mut tasks = posted.0.into_iter();
            let actor = Actor(index as u16);
            for happening in happenings.0.drain(..) {
                if let Happening::Split { kept, .. } = happening {
                    if let Some(task) = tasks.next() {
                        let nodes = task.ready.in_pop_order().into_boxed_slice();
                        let id = self.tasks;
                        self.tasks += 1;
                        self.posted.push_back((id, task));
                        self.emit(actor, EventKind::Split { kept, task: id, nodes });
                        (0..self.lanes.len() - 1).for_each(|lane| self.wake(lane));
                    }
                } else {
                    self.emit_happening(actor, happening);
                }
            }
            self.happenings = happenings;
            match begin {
                Begin::Execute(node) | Begin::Skip(node) if node < submitted => return Some(node),
                Begin::Execute(node) | Begin::Skip(node) => self.lanes[index].held.push(node),
                Begin::Posted => {}
                Begin::Idle => return None,
            }
        }
    }

    fn take_posted(&mut self, index: usize) {
        let lane = &self.lanes[index];
        let caller = index == 0;
        let running = self.cores.iter().any(|core| core.lane == index && core.task.is_some());
        if running || lane.joined {
            return;
        }
        if let Some((id, task)) = self.posted.pop_front() {
            let actor = Actor(index as u16);
            self.emit(actor, EventKind::LoopStart { by: By::Task(id) });
            self.lanes[index].worker = Worker::take(task.ready);
            // The split took a place for whoever takes the task; the caller has one anyway.
            if caller {
                self.session.leave();
            } else {
                self.lanes[index].joined = true;
            }
        }
    }

    /// A lane has seen FIN: the executor goes on, and the records of the task are due.
    fn complete(&mut self, index: usize, core: usize, task: Running) {
        let (actor, node, now) = (Actor(index as u16), task.node, self.now);
        self.emit_dfx(actor, Event::Fin { core: core as u32, node });
        self.emit(Actor::EVENTS, EventKind::Available { node });
        self.emit(actor, EventKind::Finished { node });
        self.errors.push(now - task.ended);
        self.pending = self.pending.saturating_sub(1);
        if let Some(continuation) = task.continuation {
            let mut worker = std::mem::take(&mut self.lanes[index].worker);
            let mut happenings = std::mem::take(&mut self.happenings);
            worker.resume(&self.view(), continuation, Ok(()), &mut happenings);
            self.lanes[index].worker = worker;
            self.emit_happenings(actor, happenings);
        }
        let reg = self.cores[core].reg;
        if self.scenario.swimlane_level >= 2 {
            let record =
                Record::new(32).u64(0, self.cycles(task.dispatched)).u64(8, self.cycles(now)).u32(16, reg);
            self.record(index, PoolKind::AicpuTask, core, Write::Record, record.words());
        }
        if self.has(Subsystem::Pmu) {
            let thunk = &self.plans[0].sequence.thunks[node as usize];
            let bytes = |access: Access| {
                thunk
                    .uses
                    .iter()
                    .filter(|used| used.access == access)
                    .fold(0_u64, |sum, used| sum.saturating_add(used.slice.size))
            };
            let cycles = self.cycles(task.ended) - self.cycles(task.started);
            let record = Record::new(64)
                .u64(0, self.task(node))
                .u32(8, thunk.kind as u32)
                .u32(12, u32::from(!core.is_multiple_of(3)))
                .u64(16, cycles)
                .u32(24, bytes(Access::Read).min(u64::from(u32::MAX)) as u32)
                .u32(28, bytes(Access::Write).min(u64::from(u32::MAX)) as u32)
                .u32(32, cycles as u32);
            self.record(index, PoolKind::Pmu, core, Write::Record, record.words());
        }
        self.arguments(index, node, true);
    }

    /// A record of a phase of the lane's loop, unless nothing was done in it.
    fn phase(&mut self, index: usize, kind: u32, tasks: u32, start: Ticks, depth: u16, pops: (u32, u32)) {
        if tasks == 0 || self.scenario.swimlane_level < 3 {
            return;
        }
        let lane = &self.lanes[index];
        let record = Record::new(64)
            .u64(0, self.cycles(start))
            .u64(8, self.cycles(self.now + LOOK))
            .u32(16, lane.loops)
            .u32(20, kind)
            .u32(24, tasks)
            .u32(28, pops.0)
            .u32(32, pops.1)
            .u16(36, depth)
            .u16(42, lane.worker.ready.len() as u16);
        self.record(index, PoolKind::SchedPhase, index, Write::Record, record.words());
    }

    /// Records of a thunk's arguments at a stage: inputs before, outputs after (dfx spec §4.5).
    fn arguments(&mut self, index: usize, node: u32, after: bool) {
        let (args, tensors) = (self.has(Subsystem::ArgsDump), self.has(Subsystem::TensorDump));
        let dumped = tensors && self.payloads.selects(node);
        if !args && !dumped {
            return;
        }
        let (plans, payloads) = (self.plans, self.payloads);
        let thunk = &plans[0].sequence.thunks[node as usize];
        let mut argument = Argument {
            task: self.task(node),
            stage: u8::from(after),
            dtype: 5,
            shape: vec![0],
            strides: vec![1],
            function: thunk.kind as u16,
            ..Argument::default()
        };
        for (place, used) in thunk.uses.iter().enumerate() {
            let writes = used.access == Access::Write;
            if writes != after {
                continue;
            }
            let size = used.slice.size.min(u64::from(u32::MAX));
            (argument.role, argument.index) = (u8::from(writes), place as u32);
            (argument.shape[0], argument.start) = (size as u32, used.slice.offset);
            let record = argument.record();
            if args {
                self.record(index, PoolKind::ArgsDump, index, Write::Record, record.words());
            }
            if let Some(pool) = self.place(PoolKind::TensorDump, index).filter(|_| dumped) {
                let kept = size.min(self.scenario.dump.most);
                let memory = payloads.bytes(thunk, place, after, kept as usize);
                let record = record.u8(17, u8::from(kept < size));
                // What `bytes` gives begins at the argument's first element.
                argument.start = 0;
                let write = Write::Payload { bytes: kept };
                let gathered = |bytes: &mut Vec<u8>| gather(&argument, 1, &memory, kept as usize, bytes);
                self.lanes[index].put(pool, write, record.words(), gathered);
            }
        }
    }
}

/// Looks of a host's thread that find nothing, in one turn.
const MOST_LOOKS: u64 = 64;

/// How far apart the times of those may be who can go next in adversarial order.
const HORIZON: Ticks = 1_000_000;

/// Writes bytes from byte `skip` of `start` on; the bytes around them stay.
fn write_bytes(mem: &impl WideMemory, mut start: Word, skip: usize, mut bytes: &[u8]) {
    let part = |word: Word, from: usize, bytes: &[u8]| {
        let mut held = [0];
        mem.read_range(word, &mut held);
        let mut held = held[0].to_le_bytes();
        held[from..from + bytes.len()].copy_from_slice(bytes);
        mem.write_range(word, &[u32::from_le_bytes(held)]);
    };
    if skip > 0 {
        let (head, rest) = bytes.split_at(bytes.len().min(4 - skip));
        part(start, skip, head);
        (start, bytes) = (start.plus(1), rest);
    }
    let (whole, tail) = bytes.as_chunks::<4>();
    let mut words = [0; 64];
    for chunk in whole.chunks(64) {
        words.iter_mut().zip(chunk).for_each(|(word, raw)| *word = u32::from_le_bytes(*raw));
        mem.write_range(start, &words[..chunk.len()]);
        start = start.plus(chunk.len() as u32);
    }
    if !tail.is_empty() {
        part(start, 0, tail);
    }
}

#[cfg(test)]
mod tests;
