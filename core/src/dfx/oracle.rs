//! What must hold (dfx spec §9.1), judged from the events and from what is really in memory.
//!
//! Tests run it over random shapes, [`sim::dfx`](crate::sim::dfx) beside every run that asks for
//! it: one set of judgements for both.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

use serde::Serialize;

use super::rig::{HostActor, Rig};
use super::{Cause, Engine, Event, Gate, Ledger, Policy};
use crate::machine::{Memory, Outcome, Ticks, WideMemory, Word};

/// The invariants by number; I0 does not exist, I20 (same seed, same log) is judged by digests.
pub const INVARIANTS: [&str; 21] = [
    "",
    "each buffer has one owner",
    "no leader escapes between two flags",
    "each word has one writer",
    "nothing is lost while the host lives",
    "nothing is counted twice",
    "pools are delivered in order",
    "no deadlock at any pool size",
    "every wait has an end, from its start",
    "a release serves those who waited",
    "no lane sleeps through a release",
    "a freeze takes in boundedly many buffers",
    "unread payloads are not overwritten",
    "what is published is not called dropped",
    "what is acknowledged is the host's",
    "after the stop nothing is on its way",
    "lanes outlive the host",
    "freezes begin and end once",
    "a freeze stops its own region only",
    "indices wrap",
    "same seed, same log",
];

/// How often each invariant was judged, and the first thing that broke it.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// By number of the invariant.
    pub judged: [u64; INVARIANTS.len()],
    /// What was seen, by number.
    pub broken: BTreeMap<usize, String>,
}

/// One invariant after a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// `I1` to `I18`.
    pub invariant: String,
    /// What it says.
    pub says: &'static str,
    /// How often it was judged; 0 where the run never came to it.
    pub judged: u64,
    /// The first thing that broke it.
    pub broken: Option<String>,
}

impl Verdicts {
    /// Judges once; `what` says what was seen if it does not hold.
    pub fn judge(&mut self, invariant: usize, holds: bool, what: impl FnOnce() -> String) {
        self.judged[invariant] += 1;
        if !holds {
            self.broken.entry(invariant).or_insert_with(what);
        }
    }

    /// The invariants that one run can judge, in order.
    pub fn list(&self) -> Vec<Verdict> {
        let verdict = |n: usize| Verdict {
            invariant: format!("I{n}"),
            says: INVARIANTS[n],
            judged: self.judged[n],
            broken: self.broken.get(&n).cloned(),
        };
        (1..=18).map(verdict).collect()
    }
}

/// Who holds a buffer (dfx spec §1.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The host, to be filled again.
    #[default]
    Recycled,
    /// A free queue.
    Queued,
    /// A lane or core, which fills it.
    Active,
    /// A ready queue.
    ReadyDevice,
    /// A shard's ready ring.
    ReadyHost,
    /// A collector.
    Collecting,
    /// A shard's done ring.
    Done,
}

impl Owner {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recycled => "recycled",
            Self::Queued => "free queue",
            Self::Active => "being filled",
            Self::ReadyDevice => "ready queue",
            Self::ReadyHost => "ready ring",
            Self::Collecting => "collector",
            Self::Done => "done ring",
        }
    }
}

/// Who took a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// A lane of the device.
    Lane(u32),
    /// A thread of the host.
    Host(HostActor),
}

/// How a run was disturbed, for the judgement of its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disturbed {
    /// The host did not always go on, or something failed: records may be missing.
    pub at_all: bool,
    /// Ready entries were damaged: counts are no longer exact.
    pub entries: bool,
}

/// The oracle of one region.
#[derive(Clone, Debug)]
pub struct Oracle {
    owners: BTreeMap<(u32, u32), Owner>,
    next_seq: Vec<u32>,
    queues: Vec<VecDeque<(u32, u32)>>,
    /// By gate: whether a freeze is open, releases so far.
    open: [bool; 2],
    releases: [u32; 2],
    /// By lane and gate: buffers published in the open freeze.
    published: Vec<[u32; 2]>,
    /// By lane: releases at the mark of its arena wait.
    arena_mark: Vec<Option<u32>>,
    /// By lane: payloads as (offset, bytes), and how many are handled.
    payloads: Vec<Vec<(u64, u64)>>,
    handled: Vec<u32>,
    /// Some batch with payloads was given up: which are handled can no longer be told by counting.
    uncounted: bool,
    /// By lane: parked at this gate, since before the open freeze opened.
    parked: Vec<Option<(Gate, bool)>>,
    /// By lane: the gate whose release it waits for, and releases before.
    barrier: Vec<Option<(Gate, u32)>>,
    /// The present task of the lane has published.
    task_published: Vec<bool>,
    writers: BTreeMap<(bool, Word), Party>,
    /// Some wait ended without what it waited for: gates no longer hold lanes back.
    gave_up: bool,
    /// Entries are damaged: their buffers leave every structure.
    shrunk: bool,
}

impl Oracle {
    /// An oracle for a region that has not begun; `shrunk`: its ready entries will be damaged.
    pub fn new(rig: &Rig, shrunk: bool) -> Self {
        let layout = &rig.layout;
        let mut owners = BTreeMap::new();
        for (index, pool) in layout.pools.iter().enumerate() {
            for buffer in 0..pool.count {
                let owner = if buffer < pool.slots { Owner::Queued } else { Owner::Recycled };
                owners.insert((index as u32, buffer), owner);
            }
        }
        let lanes = layout.lanes as usize;
        let mut writers = BTreeMap::new();
        let block = layout.backpressure;
        let replenish = Party::Host(HostActor::Replenish);
        for word in [
            block.rq_freeze_active,
            block.fq_freeze_active,
            layout.extension.rq_generation,
            layout.extension.fq_generation,
            layout.extension.heartbeat,
        ] {
            writers.insert((true, word), replenish);
        }
        for lane in 0..layout.lanes {
            writers.insert((true, layout.tails.plus(lane)), Party::Lane(lane));
            let drain = Party::Host(HostActor::Drain(layout.shard(lane)));
            writers.insert((true, layout.heads.plus(lane)), drain);
        }
        for pool in &layout.pools {
            let drain = Party::Host(HostActor::Drain(layout.shard(pool.lane)));
            writers.insert((true, pool.state.fq_tail), drain);
            writers.insert((true, pool.state.fq_head), Party::Lane(pool.lane));
            writers.insert((true, pool.state.current), Party::Lane(pool.lane));
            writers.insert((true, pool.state.seq), Party::Lane(pool.lane));
        }
        for arena in &layout.arenas {
            writers.insert((true, arena.completed), replenish);
        }
        Self {
            owners,
            next_seq: vec![0; layout.pools.len()],
            queues: vec![VecDeque::new(); lanes],
            open: [false; 2],
            releases: [0; 2],
            published: vec![[0; 2]; lanes],
            arena_mark: vec![None; lanes],
            payloads: vec![Vec::new(); lanes],
            handled: vec![0; lanes],
            uncounted: false,
            parked: vec![None; lanes],
            barrier: vec![None; lanes],
            task_published: vec![false; lanes],
            writers,
            gave_up: false,
            shrunk,
        }
    }

    fn moves(&mut self, verdicts: &mut Verdicts, at: (u32, u32), from: Owner, to: Owner) {
        let owner = self.owners.get(&at).copied();
        verdicts.judge(1, owner == Some(from), || {
            format!("buffer {at:?} goes from {from:?} to {to:?}, but was {owner:?}")
        });
        self.owners.insert(at, to);
    }

    /// Judges one event of `actor`.
    pub fn see(&mut self, rig: &Rig, actor: Party, event: Event, verdicts: &mut Verdicts) {
        let layout = &rig.layout;
        let lane = match actor {
            Party::Lane(lane) => lane as usize,
            Party::Host(_) => 0,
        };
        match event {
            Event::Claim { pool, buffer, .. } => {
                self.moves(verdicts, (pool, buffer), Owner::Queued, Owner::Active);
            }
            Event::Publish { pool, buffer, seq, .. } => {
                self.moves(verdicts, (pool, buffer), Owner::Active, Owner::ReadyDevice);
                self.queues[lane].push_back((pool, buffer));
                let expected = std::mem::replace(&mut self.next_seq[pool as usize], seq.wrapping_add(1));
                verdicts.judge(6, seq == expected, || {
                    format!("pool {pool} publishes {seq} where {expected} was next")
                });
                self.task_published[lane] = true;
                for (gate, published) in self.published[lane].iter_mut().enumerate() {
                    *published += u32::from(self.open[gate]);
                    let slots: u32 = layout
                        .pools
                        .iter()
                        .filter(|p| p.lane == lane as u32)
                        .map(|p| p.most + 2 * p.slots + 1)
                        .sum();
                    // What it had, what a drain was just filling, and what the release's refill brought.
                    let most = if gate == 0 { 2 } else { slots };
                    verdicts.judge(
                        11,
                        *published <= most || rig.dead || self.gave_up || rig.rules.allocate,
                        || {
                            format!(
                                "lane {lane} published {published} buffers into one freeze of gate {gate}"
                            )
                        },
                    );
                }
            }
            Event::Deliver { pool, buffer, .. } => {
                self.moves(verdicts, (pool, buffer), Owner::ReadyDevice, Owner::ReadyHost);
            }
            Event::Collect { pool, buffer, .. } => {
                self.moves(verdicts, (pool, buffer), Owner::ReadyHost, Owner::Collecting);
            }
            Event::Return { pool, buffer, .. } => {
                self.moves(verdicts, (pool, buffer), Owner::Collecting, Owner::Done);
            }
            Event::Recycle { pool, buffer, .. } => {
                self.moves(verdicts, (pool, buffer), Owner::Done, Owner::Recycled);
            }
            Event::Refill { pool, buffer, .. } => {
                self.moves(verdicts, (pool, buffer), Owner::Recycled, Owner::Queued);
            }
            Event::Allocate { pool, buffer, .. } => {
                verdicts.judge(1, rig.rules.allocate, || {
                    format!("pool {pool} grew by buffer {buffer}, though pools are fixed")
                });
                self.owners.insert((pool, buffer), Owner::Recycled);
            }
            Event::Acknowledge { queue, .. } => {
                let at = self.queues[queue as usize].pop_front();
                let owner = at.and_then(|at| self.owners.get(&at).copied());
                let charged = self.shrunk;
                verdicts.judge(14, owner.is_some_and(|owner| owner != Owner::ReadyDevice) || charged, || {
                    format!("queue {queue} acknowledges {at:?}, which is {owner:?}")
                });
            }
            Event::Open { gate, .. } => {
                let slot = usize::from(gate != Gate::Push);
                verdicts.judge(17, !self.open[slot], || format!("{gate:?} opened twice"));
                self.open[slot] = true;
                self.published.iter_mut().for_each(|lane| lane[slot] = 0);
                for (_, before) in self.parked.iter_mut().flatten() {
                    *before = true;
                }
            }
            Event::Release { gate, .. } => {
                let slot = usize::from(gate != Gate::Push);
                verdicts.judge(17, self.open[slot], || format!("{gate:?} released while it was open"));
                self.open[slot] = false;
                self.releases[slot] += 1;
                if actor == Party::Host(HostActor::Replenish) {
                    self.judge_release(rig, verdicts);
                }
            }
            Event::Park { gate, .. } => self.parked[lane] = Some((gate, false)),
            Event::Resume { gave_up, .. } => {
                self.parked[lane] = None;
                self.gave_up |= gave_up;
            }
            Event::Mark { gate: Gate::Arena, .. } => self.arena_mark[lane] = Some(self.releases[1]),
            Event::Dropped { cause: Cause::ArenaTimeout, .. } => self.arena_mark[lane] = None,
            Event::Dropped { cause: Cause::PushTimeout, .. } => self.uncounted = true,
            Event::Payload { offset, bytes, .. } => {
                if let Some(before) = self.arena_mark[lane].take() {
                    verdicts.judge(2, self.releases[1] > before, || {
                        format!("lane {lane} left the arena's gate without a release")
                    });
                }
                self.judge_payload(rig, lane, offset, bytes, verdicts);
            }
            Event::Handled { lane, payloads, .. } => self.handled[lane as usize] = payloads,
            _ => {}
        }
    }

    /// I9: who has waited since before the freeze is served by its release.
    fn judge_release(&self, rig: &Rig, verdicts: &mut Verdicts) {
        let layout = &rig.layout;
        for (lane, parked) in self.parked.iter().enumerate() {
            if let Some((Gate::Pop, true)) = parked {
                let dry = layout.pools.iter().enumerate().filter(|(_, pool)| pool.lane == lane as u32).any(
                    |(index, _)| {
                        let owns =
                            |owner| self.owners.iter().any(|(at, o)| at.0 == index as u32 && owner == *o);
                        !owns(Owner::Active) && !owns(Owner::Queued) && !owns(Owner::ReadyDevice)
                    },
                );
                verdicts.judge(9, !dry, || format!("released while lane {lane} waits at an empty queue"));
            }
            if let (Some((Gate::Arena, true)), Some(&handled)) = (parked, self.handled.get(lane)) {
                let payloads = self.payloads[lane].len() as u32;
                verdicts.judge(9, handled == payloads || self.uncounted, || {
                    format!("released while {handled} of lane {lane}'s {payloads} payloads are handled")
                });
            }
        }
    }

    fn judge_payload(&mut self, rig: &Rig, lane: usize, offset: u64, bytes: u64, verdicts: &mut Verdicts) {
        let size = rig.layout.arenas[lane].size;
        if bytes == 0 {
            return;
        }
        let (start, end) = (offset % size, offset % size + bytes);
        verdicts.judge(12, end <= size, || format!("payload {offset}+{bytes} straddles the arena's end"));
        let mut unread = self.payloads[lane].iter().skip(self.handled[lane] as usize);
        let hit = unread.find(|(o, b)| *o % size < end && start < *o % size + b);
        let drops = rig.rules.policy == Policy::Drop;
        verdicts.judge(12, hit.is_none() || drops || self.uncounted, || {
            format!("payload {offset}+{bytes} of lane {lane} overwrites {hit:?}")
        });
        self.payloads[lane].push((offset, bytes));
    }

    /// I3: every shared word has one writer; the contended flags alone have many.
    pub fn judge_store(&self, actor: Party, at: (bool, Word), verdicts: &mut Verdicts) {
        if let Some(&writer) = self.writers.get(&at) {
            verdicts.judge(3, writer == actor, || format!("{actor:?} writes {at:?} of {writer:?}"));
        }
    }

    /// A lane begins something new.
    pub fn begins(&mut self, lane: u32) {
        self.task_published[lane as usize] = false;
    }

    /// Judges one step of a lane by what it came to (I8, I10, I13, I18), before its events are
    /// [seen](Self::see). `since`: when its present stop began; `bound`: how long it may last, None
    /// where one step can go from one wait into the next.
    pub fn step<T>(
        &mut self,
        lane: u32,
        engine: &Engine,
        outcome: &Outcome<T>,
        (since, bound): (Ticks, Option<Ticks>),
        events: &[Event],
        verdicts: &mut Verdicts,
    ) {
        let index = lane as usize;
        let mut barrier = None;
        if let Outcome::Wait { deadline, .. } = outcome {
            barrier = engine.waits_for_release();
            let ends = deadline.is_some_and(|end| bound.is_none_or(|bound| end <= since + bound));
            verdicts.judge(8, ends, || {
                format!("a wait of lane {lane} that began at {since} ends at {deadline:?}")
            });
        }
        let slot = |gate: Gate| usize::from(gate != Gate::Push);
        match (barrier, self.barrier[index]) {
            (Some(gate), Some((before, then))) if before == gate => {
                let now = self.releases[slot(gate)];
                verdicts.judge(10, now == then, || {
                    format!("lane {lane} sleeps at {gate:?} through release {now}")
                });
            }
            (Some(gate), _) => {
                self.barrier[index] = Some((gate, self.releases[slot(gate)]));
                verdicts.judge(18, self.open[slot(gate)], || {
                    format!("lane {lane} stops at {gate:?} of a region that is not frozen")
                });
            }
            (None, _) => {
                verdicts.judge(10, true, String::new);
                self.barrier[index] = None;
            }
        }
        self.task_published[index] |= events.iter().any(|event| matches!(event, Event::Publish { .. }));
        let gives_up = |event: &Event| {
            matches!(event, Event::Dropped { cause: Cause::PushTimeout | Cause::FlushTimeout, .. })
        };
        let holds = !(self.task_published[index] && events.iter().any(gives_up));
        verdicts.judge(13, holds, || format!("lane {lane} counts records as dropped that it has published"));
    }

    /// Judges what a region's ledgers say before and after what remained was reconciled.
    pub fn end(
        &self,
        rig: &Rig,
        before: &Ledger,
        after: &Ledger,
        disturbed: Disturbed,
        verdicts: &mut Verdicts,
    ) {
        let drops = rig.rules.policy == Policy::Drop;
        for line in &after.lines {
            verdicts.judge(5, line.balances() || disturbed.entries, || format!("does not balance: {line:?}"));
            verdicts.judge(5, line.in_flight == 0, || format!("still in flight: {line:?}"));
            if !disturbed.at_all && !drops {
                let missing = line.dropped + line.lost - line.causes[Cause::Oversize as usize];
                verdicts.judge(4, missing == 0, || format!("records are missing: {line:?}"));
            }
            if rig.dead {
                verdicts.judge(16, line.balances(), || format!("after the host's death: {line:?}"));
            }
        }
        if !rig.dead && rig.is_over() {
            let in_flight: u32 = before.lines.iter().map(|line| line.in_flight).sum();
            verdicts.judge(15, in_flight == 0 || disturbed.at_all, || {
                format!("in flight at the end: {before:?}")
            });
            self.census(rig, verdicts);
            verdicts.judge(17, self.open == [false; 2], || "a freeze is left open".to_owned());
        }
    }

    /// Whether a freeze is open at any gate.
    pub fn is_frozen(&self) -> bool {
        self.open != [false; 2]
    }

    /// I1 against the memory itself, when everybody has ended and the host lives.
    fn census(&self, rig: &Rig, verdicts: &mut Verdicts) {
        let layout = &rig.layout;
        let mut found: BTreeMap<(u32, u32), Vec<Owner>> = BTreeMap::new();
        for (index, pool) in layout.pools.iter().enumerate() {
            let at = |buffer| (index as u32, buffer);
            for buffer in rig.host_layout.recycled(&rig.host, index) {
                found.entry(at(buffer)).or_default().push(Owner::Recycled);
            }
            let (mut head, tail) =
                (rig.device.load(pool.state.fq_head, Relaxed), rig.device.load(pool.state.fq_tail, Relaxed));
            while head != tail {
                let slot = pool.state.fq_slots.plus(2 * (head % pool.slots));
                let word = Word((rig.device.load64(slot, Relaxed) / 4) as u32);
                let buffer = pool.index_of(word).unwrap_or(u32::MAX);
                found.entry(at(buffer)).or_default().push(Owner::Queued);
                head = head.wrapping_add(1);
            }
            let current = rig.device.load64(pool.state.current, Relaxed);
            if current != 0 {
                let buffer = pool.index_of(Word((current / 4) as u32)).unwrap_or(u32::MAX);
                found.entry(at(buffer)).or_default().push(Owner::Active);
            }
        }
        for shard in 0..layout.shards as usize {
            let [ready, done] = rig.host_layout.in_rings(&rig.host, shard);
            verdicts.judge(15, ready.is_empty(), || format!("shard {shard} ends with {ready:?}"));
            for at in done {
                found.entry(at).or_default().push(Owner::Done);
            }
        }
        for (at, owner) in &self.owners {
            let places = found.remove(at).unwrap_or_default();
            let holds = places == [*owner] || self.shrunk && places.is_empty();
            verdicts.judge(1, holds, || format!("buffer {at:?} should be {owner:?}, is {places:?}"));
        }
        verdicts.judge(1, found.is_empty(), || format!("unknown buffers {found:?}"));
    }
}
