//! One or two regions with scripted lanes, stepped in the order of a seed.

use std::collections::VecDeque;

use super::super::host::{Sink, Taken};
use super::super::record::{MAX_SCOPES, Scopes, View};
use super::super::*;

use crate::digest::Hasher;
use crate::machine::{Grain, Outcome, Ticks, WideMemory, Word};
use crate::rng::Rng;

/// How a run is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    None,
    /// The host dies at this step.
    Crash(u64),
    /// The host stops at this step, until every wait has ended, and goes on.
    Stall(u64),
    /// One in so many copies, payload writes or collects fails.
    Fails(u64),
    /// One in so many published entries is damaged.
    Corrupts(u64),
}

/// What one run is made of.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) subsystems: Vec<Subsystem>,
    pub(super) profile: Profile,
    pub(super) lanes: u32,
    pub(super) cores: u32,
    pub(super) writes: u32,
    pub(super) rules: Rules,
    pub(super) first: u32,
    pub(super) disturbance: Disturbance,
    pub(super) grain: Grain,
}

impl Shape {
    /// Buffers 1–4, slots 1–4, ready queue 2–8, lanes 1–5, allocation, transport, gate: by the seed.
    pub(super) fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xdf0);
        let mut pick = |from: u64, to: u64| from + rng.below(to - from + 1);
        let lanes = pick(1, 5) as u32;
        let cores = pick(1, 3) as u32;
        let mut profile = Profile::custom(lanes, cores);
        profile.transport = if pick(0, 1) == 0 { Transport::Shared } else { Transport::Shadow };
        for pool in &mut profile.pools {
            // Slots divide 2³².
            let slots = [1, 2, 4][pick(0, 2) as usize];
            *pool = PoolSize { records: pick(1, 3) as u32, buffers: pick(1, 4) as u32, slots };
        }
        profile.ready = [pick(2, 8) as u32; 6];
        profile.arena_bytes = 32 * pick(1, 4);
        let subsystems = if pick(0, 7) == 0 {
            vec![Subsystem::DepGen, Subsystem::TensorDump]
        } else {
            vec![Subsystem::ALL[pick(0, 5) as usize]]
        };
        let rules = Rules {
            policy: Policy::GlobalFreeze,
            peer_gate: if pick(0, 1) == 0 { PeerGate::BarrierFirst } else { PeerGate::SlotFirst },
            budget: 1_000_000_000,
            short_wait: 50,
            allocate: pick(0, 3) == 0,
            faults: Faults::default(),
        };
        let first = if pick(0, 3) == 0 { u32::MAX - pick(0, 6) as u32 } else { 0 };
        let writes = pick(3, 9) as u32;
        let disturbance = Disturbance::None;
        Self { subsystems, profile, lanes, cores, writes, rules, first, disturbance, grain: Grain::Fine }
    }
}

/// Something a lane does.
#[derive(Clone, Copy, Debug)]
struct Op {
    rig: usize,
    writer: usize,
    write: Write,
    /// The record says that a scope begins, or that one ends.
    scope: Option<bool>,
}

struct Lane {
    recorders: Vec<Recorder>,
    ops: VecDeque<Op>,
    scopes: Scopes,
    /// Scopes that are really open, outermost first.
    open: Vec<u32>,
    record: Vec<u32>,
    begun: bool,
    /// Waits for a word of a region, at most until.
    waits: Option<(usize, Word, Option<Ticks>)>,
    /// When its present stop began, and the longest one allowed.
    stopped: Option<Ticks>,
    spent: Ticks,
}

/// Keeps what is collected, checks payloads, fails when told to.
#[derive(Default)]
pub(super) struct Kept {
    /// By pool: the first word of each record, in order.
    pub(super) records: Vec<Vec<u32>>,
    /// Of scopes, in order.
    scopes: Vec<Scope>,
    queue: Vec<VecDeque<Vec<(u64, u64, u32)>>>,
    pub(super) wrong_payloads: u32,
    pub(super) payloads: u32,
    fails: Option<(u64, Rng)>,
    arenas: Vec<Arena>,
    drops: bool,
}

/// What a record says of a scope.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// Which scope it is; the real records do not say so.
    id: u32,
    depth: u16,
    ends: bool,
}

impl Scope {
    /// Where the real record has nothing of interest here.
    const ID: usize = 4;

    fn write(self, record: &mut [u32]) {
        record[Self::ID / 4] = self.id;
        record[72 / 4] = u32::from(self.depth);
        record[76 / 4] = u32::from(self.ends);
    }

    fn read(record: &[u32]) -> Self {
        let view = View(record);
        Self { id: view.u32(Self::ID), depth: view.u16(72), ends: view.u16(76) != 0 }
    }

    /// Whether every end in `scopes` belongs to the last begin of its depth. Those that were open
    /// before the first record have no begin.
    fn nest(scopes: &[Self]) -> bool {
        let mut open: [Option<u32>; MAX_SCOPES as usize] = [None; MAX_SCOPES as usize];
        scopes.iter().all(|scope| {
            let Some(place) = open.get_mut(usize::from(scope.depth)) else { return false };
            if scope.ends {
                place.take().is_none_or(|begun| begun == scope.id)
            } else {
                place.replace(scope.id).is_none()
            }
        })
    }
}

impl Kept {
    fn fails(&mut self) -> bool {
        match &mut self.fails {
            Some((n, rng)) => rng.below(*n) == 0,
            None => false,
        }
    }
}

impl<M: WideMemory> Sink<M> for Kept {
    fn copies(&mut self, _: &Pool, _: &Taken) -> bool {
        !self.fails()
    }
    fn spool(&mut self, pool: &Pool, taken: &Taken, link: Link<'_, M>) {
        for slot in 0..taken.records {
            let mut word = [0];
            link.read(pool.buffer(taken.buffer).plus(pool.first + slot * pool.record_words), &mut word);
            self.records[taken.pool as usize].push(word[0]);
            if pool.kind == PoolKind::ScopeStats {
                let mut record = vec![0; pool.record_words as usize];
                link.read(pool.buffer(taken.buffer).plus(pool.first + slot * pool.record_words), &mut record);
                self.scopes.push(Scope::read(&record));
            }
        }
    }
    fn collect(&mut self, pool: &Pool, taken: &Taken, link: Link<'_, M>) -> u32 {
        if !self.arenas.is_empty() {
            let mut payloads = Vec::new();
            for slot in 0..taken.records {
                let mut words = [0; 8];
                let at = pool.buffer(taken.buffer).plus(pool.first + slot * pool.record_words);
                link.read(at, &mut words);
                let wide = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
                payloads.push((wide(4), wide(6), words[0]));
            }
            let lanes = self.arenas.len();
            self.queue.resize(lanes.max(self.queue.len()), VecDeque::new());
            self.queue[pool.lane as usize].push_back(payloads);
        }
        if self.fails() { taken.records / 2 } else { taken.records }
    }
    fn write_payloads(&mut self, lane: u32, link: Link<'_, M>) -> bool {
        let arena = self.arenas[lane as usize];
        let payloads = self.queue[lane as usize].pop_front().unwrap_or_default();
        for (offset, bytes, id) in payloads.into_iter().filter(|(_, bytes, _)| *bytes > 0) {
            let mut words = vec![0; (bytes / 4) as usize];
            link.device().read_range(arena.base.plus((offset % arena.size / 4) as u32), &mut words);
            self.payloads += 1;
            self.wrong_payloads += u32::from(!self.drops && words.iter().any(|word| *word != id));
        }
        !self.fails()
    }
}

/// A thread of a host. It polls: asleep, it comes again when something it watches has changed, also
/// if that was while it was looking elsewhere.
struct Thread {
    actor: HostActor,
    asleep: bool,
    news: bool,
    watched: Vec<(bool, Word)>,
}

impl Thread {
    fn tell(&mut self, word: (bool, Word)) {
        if self.watched.contains(&word) {
            self.asleep = false;
            self.news = true;
        }
    }
}

pub(super) struct World {
    pub(super) shape: Shape,
    pub(super) rigs: Vec<Rig>,
    pub(super) kept: Vec<Kept>,
    oracles: Vec<Oracle>,
    lanes: Vec<Lane>,
    /// By region, by thread.
    threads: Vec<Vec<Thread>>,
    touched: Touched,
    events: Vec<Event>,
    pub(super) verdicts: Verdicts,
    now: Ticks,
    steps: u64,
    stalled: bool,
    pub(super) log: Hasher,
    pub(super) freezes: u64,
    ids: u32,
}

impl World {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let rigs: Vec<Rig> = shape
            .subsystems
            .iter()
            .map(|&subsystem| {
                let spare = shape.rules.spare();
                let layout = Layout::new(&shape.profile, subsystem, shape.lanes, shape.cores, spare)
                    .expect("small shapes fit");
                Rig::new(layout, shape.profile.transport, shape.rules, shape.first)
            })
            .collect();
        let fails = |n| Some((n, Rng::new(seed)));
        let kept = rigs
            .iter()
            .map(|rig| Kept {
                records: vec![Vec::new(); rig.layout.pools.len()],
                arenas: rig.layout.arenas.clone(),
                drops: shape.rules.policy == Policy::Drop,
                fails: if let Disturbance::Fails(n) = shape.disturbance { fails(n) } else { None },
                ..Kept::default()
            })
            .collect();
        let oracles = rigs
            .iter()
            .map(|rig| Oracle::new(rig, matches!(shape.disturbance, Disturbance::Corrupts(_))))
            .collect();
        let lane = |lane: u32| {
            let recorders: Vec<_> = rigs
                .iter()
                .map(|rig| {
                    let mut engine = Engine::new(&rig.layout, lane, shape.rules);
                    engine.attach(&rig.device);
                    Recorder::new(engine)
                })
                .collect();
            let mut ops = VecDeque::new();
            let mut writers = Vec::new();
            for (rig, recorder) in recorders.iter().enumerate() {
                writers.extend(recorder.engine.pools().enumerate().map(|(writer, pool)| (rig, writer, pool)));
            }
            if !writers.is_empty() {
                for _ in 0..shape.writes {
                    let (rig, writer, pool) = writers[rng.below(writers.len() as u64) as usize];
                    let capacity = rigs[rig].layout.pools[pool as usize].capacity;
                    let write = match rigs[rig].layout.pools[pool as usize].kind {
                        PoolKind::AicoreTask => Write::ForCore,
                        PoolKind::DepGen if rng.below(2) == 0 => {
                            Write::Chain { slots: 1 + rng.below(u64::from(capacity) + 1) as u32 }
                        }
                        PoolKind::TensorDump => Write::Payload { bytes: 4 * rng.below(20) },
                        _ => Write::Record,
                    };
                    let scopes = rigs[rig].layout.pools[pool as usize].kind == PoolKind::ScopeStats;
                    let scope = scopes.then(|| rng.below(2) == 0);
                    ops.push_back(Op { rig, writer, write, scope });
                }
                for (rig, writer, _) in writers {
                    ops.push_back(Op { rig, writer, write: Write::Flush, scope: None });
                }
            }
            // So many are open before the first record that the deepest ones cannot be recorded.
            let mut scopes = Scopes::default();
            let outer = MAX_SCOPES - seed as u32 % 3;
            (0..outer).for_each(|_| assert!(scopes.begin(shape.rules.faults).is_some()));
            let open = (0..outer).collect();
            let (record, begun, waits, stopped, spent) = (Vec::new(), false, None, None, 0);
            Lane { recorders, ops, scopes, open, record, begun, waits, stopped, spent }
        };
        let lanes = (0..shape.lanes).map(lane).collect();
        let thread =
            |rig: &Rig, actor| Thread { actor, asleep: false, news: false, watched: rig.watched(actor) };
        let threads = rigs
            .iter()
            .map(|rig| rig.actors().into_iter().map(|actor| thread(rig, actor)).collect())
            .collect();
        Self {
            shape,
            rigs,
            kept,
            oracles,
            lanes,
            threads,
            touched: Touched::default(),
            events: Vec::new(),
            verdicts: Verdicts::default(),
            now: 0,
            steps: 0,
            stalled: false,
            log: Hasher::new(),
            freezes: 0,
            ids: 0,
        }
    }

    /// Runs to the end in the order of `seed`, and judges the end.
    pub(super) fn run(mut self, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5eed);
        // Some are slow in this run: collectors that hardly ever come, shards of uneven speed.
        let mut weigh = || [1, 4, 4, 16, 64][rng.below(5) as usize];
        let lanes: Vec<u64> = self.lanes.iter().map(|_| weigh()).collect();
        let hosts: Vec<Vec<u64>> =
            self.threads.iter().map(|threads| threads.iter().map(|_| weigh()).collect()).collect();
        let mut choices: Vec<(u64, usize, usize)> = Vec::new();
        let mut stopped = false;
        loop {
            self.steps += 1;
            self.now += 1;
            if self.steps > 200_000 {
                self.verdicts.judge(7, false, || "no end after 200000 steps".to_owned());
                break;
            }
            match self.shape.disturbance {
                Disturbance::Crash(step) if self.steps == step => {
                    self.rigs.iter_mut().for_each(|rig| rig.dead = true);
                }
                Disturbance::Stall(step) if self.steps == step => self.stalled = !stopped,
                _ => {}
            }
            if !stopped && self.lanes.iter().all(|lane| lane.ops.is_empty()) {
                stopped = true;
                self.stalled = false;
                let Self { rigs, touched, .. } = &self;
                rigs.iter().for_each(|rig| rig.stop(touched));
                self.wake_touched();
            }
            choices.clear();
            let mut total = 0;
            for (index, lane) in self.lanes.iter().enumerate() {
                if !lane.ops.is_empty() && lane.waits.is_none() {
                    total += lanes[index];
                    choices.push((total, usize::MAX, index));
                }
            }
            if !self.stalled {
                for (rig, threads) in self.threads.iter().enumerate() {
                    for (place, thread) in threads.iter().enumerate() {
                        if !thread.asleep && !self.rigs[rig].has_ended(thread.actor) {
                            total += hosts[rig][place];
                            choices.push((total, rig, place));
                        }
                    }
                }
            }
            if let Some(&(_, rig, index)) = {
                let n = rng.below(total.max(1));
                choices.iter().find(|(end, ..)| n < *end)
            } {
                if rig == usize::MAX {
                    self.lane_step(index)
                } else {
                    self.host_step(rig, index)
                }
                continue;
            }
            if stopped || !self.expire() {
                break;
            }
        }
        self.judge_end(stopped);
        self
    }

    /// The clock jumps to the first deadline. False if nobody has one.
    fn expire(&mut self) -> bool {
        let alive = self.shape.disturbance == Disturbance::None;
        let waiting: Vec<_> = self.lanes.iter().map(|lane| lane.waits).collect();
        self.verdicts.judge(7, !alive, || format!("nobody can go on: {waiting:?}"));
        let first = self.lanes.iter().filter_map(|lane| lane.waits?.2).min();
        let Some(deadline) = first else {
            self.verdicts.judge(8, false, || "a wait without an end".to_owned());
            return false;
        };
        self.now = self.now.max(deadline);
        for lane in &mut self.lanes {
            if lane.waits.is_some_and(|(_, _, end)| end.is_some_and(|end| end <= self.now)) {
                lane.waits = None;
            }
        }
        true
    }

    fn wake_touched(&mut self) {
        let mut touched = Vec::new();
        self.touched.take(&mut touched);
        // Regions have words of their own; waking a thread of another one once too often is harmless.
        for (device, word) in touched {
            for thread in self.threads.iter_mut().flatten() {
                thread.tell((device, word));
            }
            for lane in &mut self.lanes {
                if device && lane.waits.is_some_and(|(_, waited, _)| waited == word) {
                    lane.waits = None;
                }
            }
        }
    }

    fn after_step(&mut self, rig: usize, actor: Party) {
        let mut touched = Vec::new();
        self.touched.take(&mut touched);
        for &at in &touched {
            self.oracles[rig].judge_store(actor, at, &mut self.verdicts);
        }
        for (device, word) in touched {
            for thread in &mut self.threads[rig] {
                thread.tell((device, word));
            }
            for lane in &mut self.lanes {
                if device && lane.waits.is_some_and(|(r, waited, _)| r == rig && waited == word) {
                    lane.waits = None;
                }
            }
        }
        for event in std::mem::take(&mut self.events) {
            self.log.u64(self.now);
            self.log.text(&format!("{event:?}"));
            self.freezes += u64::from(matches!(event, Event::Open { .. }));
            self.oracles[rig].see(&self.rigs[rig], actor, event, &mut self.verdicts);
        }
    }

    fn lane_step(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        let Some(&Op { rig, writer, write, scope }) = lane.ops.front() else { return };
        let rig_ref = &self.rigs[rig];
        let tap = rig_ref.tap(&self.touched);
        let recorder = &mut lane.recorders[rig];
        let pool = recorder.engine.pools().nth(writer).expect("a writer of the lane") as usize;
        if !lane.begun {
            let told = match scope {
                None => None,
                Some(begins) => {
                    let (id, depth) = if begins {
                        // Their numbers go on where those of records begin.
                        let id = MAX_SCOPES + self.ids;
                        lane.open.push(id);
                        (id, lane.scopes.begin(self.shape.rules.faults))
                    } else {
                        let id = lane.open.pop().expect("more are open than a lane has writes");
                        (id, lane.scopes.end())
                    };
                    self.ids += 1;
                    let Some(depth) = depth else {
                        // Too deep: nothing is recorded.
                        lane.ops.pop_front();
                        return;
                    };
                    Some(Scope { id, depth: depth as u16, ends: !begins })
                }
            };
            lane.begun = true;
            self.oracles[rig].begins(index as u32);
            let slots = if let Write::Chain { slots } = write { slots } else { 1 };
            lane.record.clear();
            for _ in 0..slots {
                self.ids += 1;
                lane.record.push(self.ids);
                let words = rig_ref.layout.pools[pool].record_words as usize;
                lane.record.resize(lane.record.len() - 1 + words, self.ids);
            }
            if let Some(scope) = told {
                scope.write(&mut lane.record);
            }
            recorder.begin(writer, write);
        }
        let outcome = recorder.advance(&tap, &lane.record, self.now, self.shape.grain, &mut self.events);
        match outcome {
            Outcome::Progress => lane.waits = None,
            Outcome::Wait { word, expected, deadline } => {
                // It may have changed since it was looked at, as a futex would notice.
                let same = crate::machine::Memory::load(&tap, word, std::sync::atomic::Ordering::Acquire)
                    == expected;
                lane.waits = same.then_some((rig, word, deadline));
                lane.stopped.get_or_insert(self.now);
            }
            Outcome::Ready(written) => {
                if let Written::Reserved { offset, bytes, truncated } = written {
                    let id = lane.record[0];
                    if let Some((word, 0)) = recorder.engine.payload_at(offset) {
                        tap.write_range(word, &vec![id; (bytes / 4) as usize]);
                    }
                    let wide = |value: u64| [value as u32, (value >> 32) as u32];
                    lane.record[4..6].copy_from_slice(&wide(offset));
                    lane.record[6..8].copy_from_slice(&wide(bytes));
                    let _ = truncated;
                    recorder.append_with_payload(&tap, &lane.record, bytes);
                }
                if write == Write::ForCore && written == Written::Recorded {
                    let slot = recorder.engine.core_slot(writer).expect("a slot was reserved");
                    // The core runs and writes its record; its lane goes on at FIN.
                    tap.write_range(slot, &lane.record);
                }
                lane.ops.pop_front();
                lane.begun = false;
            }
        }
        let fine = self.shape.grain == Grain::Fine;
        let bound = fine.then(|| self.shape.rules.bound());
        let stop = (lane.stopped.unwrap_or(self.now), bound);
        let engine = &lane.recorders[rig].engine;
        self.oracles[rig].step(index as u32, engine, &outcome, stop, &self.events, &mut self.verdicts);
        if !matches!(outcome, Outcome::Wait { .. })
            && let Some(start) = lane.stopped.take()
        {
            lane.spent += self.now - start;
        }
        let published = self.events.iter().any(|event| matches!(event, Event::Publish { .. }));
        if published
            && let Disturbance::Corrupts(n) = self.shape.disturbance
            && Rng::new(self.steps).below(n) == 0
        {
            let layout = &self.rigs[rig].layout;
            let tail = crate::machine::Memory::load(
                &self.rigs[rig].device,
                layout.tails.plus(index as u32),
                std::sync::atomic::Ordering::Relaxed,
            );
            let last = (tail + layout.ready - 1) % layout.ready;
            // The buffer's address, or the whole entry's owner.
            let word = layout.entry(index as u32, last).plus(2 * (self.steps % 2) as u32);
            self.rigs[rig].device.write_range(word, &[0xdead_beef]);
        }
        self.after_step(rig, Party::Lane(index as u32));
    }

    fn host_step(&mut self, rig: usize, place: usize) {
        let actor = self.threads[rig][place].actor;
        let outcome =
            self.rigs[rig].step(actor, &mut self.kept[rig], self.now, &self.touched, &mut self.events);
        self.after_step(rig, Party::Host(actor));
        let frozen = actor == HostActor::Replenish && self.oracles[rig].is_frozen();
        let thread = &mut self.threads[rig][place];
        if matches!(outcome, Outcome::Wait { .. }) {
            // While a freeze is open, the tick comes again without being called.
            thread.asleep = !std::mem::take(&mut thread.news) && !frozen;
        }
    }

    fn judge_end(&mut self, stopped: bool) {
        let Self { rigs, kept, oracles, verdicts, shape, touched, .. } = self;
        let disturbed = Disturbed {
            at_all: shape.disturbance != Disturbance::None,
            entries: matches!(shape.disturbance, Disturbance::Corrupts(_)),
        };
        for ((rig, kept), oracle) in rigs.iter_mut().zip(kept.iter_mut()).zip(oracles.iter()) {
            let mut events = Vec::new();
            if stopped {
                verdicts.judge(15, rig.is_over(), || "somebody did not end".to_owned());
            }
            let before = rig.ledger();
            rig.reconcile(kept, touched, &mut events);
            let ledger = rig.ledger();
            oracle.end(rig, &before, &ledger, disturbed, verdicts);
            for line in &ledger.lines {
                let read = &kept.records[line.pool as usize];
                let sink_full = line.causes[Cause::SinkFull as usize];
                let agrees = read.len() as u32 == line.collected + sink_full || disturbed.entries;
                verdicts.judge(5, agrees, || format!("{} records were read: {line:?}", read.len()));
                let sorted = read.windows(2).all(|pair| pair[0] < pair[1]);
                verdicts.judge(6, sorted, || format!("pool {} out of order: {read:?}", line.pool));
                // A begin that is missing would leave its end to another one.
                let all = line.collected == line.written && !disturbed.entries;
                if all && rig.layout.pools[line.pool as usize].kind == PoolKind::ScopeStats {
                    let scopes = &kept.scopes;
                    verdicts.judge(6, Scope::nest(scopes), || format!("ends of other scopes: {scopes:?}"));
                }
            }
            verdicts
                .judge(12, kept.wrong_payloads == 0, || format!("{} wrong payloads", kept.wrong_payloads));
        }
        let budget = self.shape.rules.budget;
        for (index, lane) in self.lanes.iter().enumerate() {
            let most = budget * self.rigs.len() as u64 + self.steps;
            if matches!(self.shape.disturbance, Disturbance::Crash(_)) {
                self.verdicts.judge(16, lane.spent <= most, || {
                    format!("lane {index} spent {} in waits after the host's death", lane.spent)
                });
                self.verdicts.judge(16, lane.ops.is_empty(), || format!("lane {index} did not come back"));
            }
        }
    }
}
