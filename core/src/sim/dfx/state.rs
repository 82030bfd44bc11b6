//! What a prefix of a log of this device adds up to: gates, queues, who holds which buffer, and the
//! ledger at that instant.
//!
//! As [`trace::State`](crate::trace::State) for the executor: a fold that holds no rules. The log
//! says itself how large everything is ([`Event::Region`], [`Event::Pool`]), so it is enough alone.
//! It never panics; what does not fit is ignored.

use std::collections::VecDeque;

use serde::Serialize;

use super::log::{DfxLog, Entry, Kind};
use crate::dfx::{Cause, Event, Gate, Owner, PoolKind, Subsystem};
use crate::digest::{Digest, Hasher};
use crate::machine::Ticks;

/// Everything there is to see of the transport at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct State {
    /// The time of the last event.
    #[serde(with = "crate::number::wide")]
    pub t: Ticks,
    /// The host has died.
    pub crashed: bool,
    /// In the order of the log.
    pub regions: Vec<Region>,
    /// By number.
    pub cores: Vec<Core>,
}

/// One region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// Whose.
    pub subsystem: Subsystem,
    /// Entries of each ready queue, one of which always stays empty.
    pub ready: u32,
    /// Bytes of a lane's arena; 0 where there is none.
    #[serde(with = "crate::number::wide")]
    pub arena_bytes: u64,
    /// `rq_freeze_active`, `rq_contended`, and releases of the push gate so far.
    pub push: Flags,
    /// `fq_freeze_active`, `fq_contended`, and releases of the pop gate so far.
    pub pop: Flags,
    /// By lane.
    pub lanes: Vec<Lane>,
    /// By number of the pool.
    pub pools: Vec<Pool>,
    /// Ticks of the host that changed something.
    pub ticks: u32,
    /// The host's side has stopped.
    pub stopped: bool,
}

/// The flags of one gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flags {
    /// Host → device: the gate is closed.
    pub freeze_active: bool,
    /// Device → host: some lane ran out.
    pub contended: bool,
    /// Releases so far.
    pub releases: u32,
}

/// A lane in one region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// The gate at which it stands.
    pub parked: Option<Gate>,
    /// It has given up on the host.
    pub silent: bool,
    /// Of its ready queue; written by the host.
    pub head: u32,
    /// Of its ready queue; written by the lane.
    pub tail: u32,
    /// (pool, buffer) in its ready queue, oldest first.
    pub queue: VecDeque<(u32, u32)>,
    /// Logical bytes written to its arena, over all laps.
    #[serde(with = "crate::number::wide")]
    pub arena_offset: u64,
    /// Payloads that the host is done with.
    pub handled: u32,
    /// Payloads that the lane was told of.
    pub completed: u32,
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// What it holds.
    pub kind: PoolKind,
    /// Core, lane or 0.
    pub owner: u32,
    /// The lane that writes it, or hands its core the buffers.
    pub lane: u32,
    /// Records that a buffer holds.
    pub capacity: u32,
    /// Slots of its free queue.
    pub slots: u32,
    /// Of its free queue; written by the device. Runs freely over 32 bits.
    pub head: u32,
    /// Of its free queue; written by the host.
    pub tail: u32,
    /// Number of the current buffer, or of the next one.
    pub seq: u32,
    /// By number: who holds it.
    pub buffers: Vec<Buffer>,
    /// What became of its records so far.
    pub ledger: Ledger,
}

/// One buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// Who holds it.
    pub owner: Owner,
    /// Records in it that are on their way.
    pub records: u32,
}

/// The ledger of a pool at one instant: it balances in every state of a sound run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ledger {
    /// Records wanted; for dep_gen, slots.
    pub written: u32,
    /// Records that a collector was given; after the host's death, those in its spool.
    pub collected: u32,
    /// In a buffer that is being filled.
    pub active: u32,
    /// In a ready queue, not yet the host's.
    pub published: u32,
    /// At the host, not yet collected.
    pub at_host: u32,
    /// Counted by the device.
    pub dropped: u32,
    /// Counted by the host.
    pub lost: u32,
    /// By cause, in the order of [`Cause::ALL`].
    pub causes: [u32; Cause::ALL.len()],
}

impl Ledger {
    /// Records in some buffer on their way.
    pub fn in_flight(&self) -> u32 {
        self.active.wrapping_add(self.published).wrapping_add(self.at_host)
    }

    /// Whether nothing is missing without a cause.
    pub fn balances(&self) -> bool {
        let known = [self.collected, self.in_flight(), self.dropped, self.lost];
        self.written == known.into_iter().fold(0, u32::wrapping_add)
    }
}

/// One core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Core {
    /// The thunk it has, and how far it is.
    pub task: Option<(u32, Phase)>,
}

/// How far a core is with its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Written by the lane, not seen by the core.
    Dispatched,
    /// Seen.
    Received,
    /// It runs.
    Running,
    /// It has ended; the lane has not seen it.
    Finished,
}

impl State {
    /// The state after the first `n` events of a log.
    pub fn after(log: &DfxLog, n: usize) -> Self {
        let mut state = Self::default();
        log.events.iter().take(n).for_each(|entry| state.apply(entry));
        state
    }

    /// Adds one event; those of the executor change only the time.
    pub fn apply(&mut self, entry: &Entry) {
        self.t = entry.t;
        let Kind::Other(event) = entry.kind else { return };
        match event {
            // Sizes of a log from elsewhere are not believed beyond what there can be.
            Event::Region { subsystem, lanes, ready, arena_bytes, .. } if lanes <= 64 => {
                let lanes = vec![Lane::default(); lanes as usize];
                let [push, pop] = [Flags::default(); 2];
                let (pools, ticks, stopped) = (Vec::new(), 0, false);
                self.regions.push(Region {
                    subsystem,
                    ready,
                    arena_bytes,
                    push,
                    pop,
                    lanes,
                    pools,
                    ticks,
                    stopped,
                });
            }
            Event::Crash => {
                self.crashed = true;
                // What was in the spool is collected (contracts §6).
                for pool in self.regions.iter_mut().flat_map(|region| &mut region.pools) {
                    let at_host = std::mem::take(&mut pool.ledger.at_host);
                    pool.ledger.collected = pool.ledger.collected.wrapping_add(at_host);
                }
            }
            Event::Dispatched { core, node } => self.core(core, Some((node, Phase::Dispatched))),
            Event::Ack { core, node } => self.core(core, Some((node, Phase::Received))),
            Event::Start { core, node } => self.core(core, Some((node, Phase::Running))),
            Event::End { core, node } => self.core(core, Some((node, Phase::Finished))),
            Event::Fin { core, .. } => self.core(core, None),
            _ => {
                let region =
                    event.subsystem().and_then(|of| self.regions.iter_mut().find(|r| r.subsystem == of));
                if let Some(region) = region {
                    region.apply(usize::from(entry.actor.0), event);
                }
            }
        }
    }

    fn core(&mut self, core: u32, task: Option<(u32, Phase)>) {
        let core = core as usize;
        // A log from elsewhere may name any core; there are at most 0x1000 (contracts §4).
        if core < 0x1000 {
            if self.cores.len() <= core {
                self.cores.resize(core + 1, Core::default());
            }
            self.cores[core].task = task;
        }
    }

    /// The region of a subsystem.
    pub fn region(&self, subsystem: Subsystem) -> Option<&Region> {
        self.regions.iter().find(|region| region.subsystem == subsystem)
    }

    /// Digest of everything in the state: what a share link carries.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        hasher.text(&serde_json::to_string(self).unwrap_or_default());
        hasher.finish()
    }
}

impl Region {
    fn flags(&mut self, gate: Gate) -> &mut Flags {
        match gate {
            Gate::Push => &mut self.push,
            Gate::Pop | Gate::Arena => &mut self.pop,
        }
    }

    fn apply(&mut self, actor: usize, event: Event) {
        match event {
            Event::Pool { of, owner, lane, records, buffers, slots, first, .. } if buffers <= MOST => {
                let held = |n| if n < slots { Owner::Queued } else { Owner::Recycled };
                let buffers: Vec<_> = (0..buffers).map(|n| Buffer { owner: held(n), records: 0 }).collect();
                self.pools.push(Pool {
                    kind: of,
                    owner,
                    lane,
                    capacity: records,
                    slots,
                    head: first,
                    tail: first.wrapping_add(slots.min(buffers.len() as u32)),
                    seq: 0,
                    buffers,
                    ledger: Ledger::default(),
                });
            }
            Event::Mark { gate, .. } => self.flags(gate).contended = true,
            Event::Consume { gate, .. } => self.flags(gate).contended = false,
            Event::Open { gate, .. } => self.flags(gate).freeze_active = true,
            Event::Release { gate, .. } => {
                let flags = self.flags(gate);
                flags.freeze_active = false;
                flags.releases = flags.releases.wrapping_add(1);
            }
            Event::Park { gate, .. } => self.lane(actor, |lane| lane.parked = Some(gate)),
            Event::Resume { .. } => self.lane(actor, |lane| lane.parked = None),
            Event::Silent { .. } => self.lane(actor, |lane| lane.silent = true),
            Event::Heard { .. } => self.lane(actor, |lane| lane.silent = false),
            Event::Append { pool, records, .. } => self.pool(pool, |pool| {
                let ledger = &mut pool.ledger;
                ledger.written = ledger.written.wrapping_add(records.wrapping_sub(ledger.active));
                ledger.active = records;
            }),
            Event::Claim { pool, buffer, seq, head, .. } => self.pool(pool, |pool| {
                (pool.head, pool.seq) = (head, seq);
                pool.hold(buffer, Owner::Active, 0);
            }),
            Event::Publish { pool, buffer, seq, records, tail, .. } => {
                self.lane(actor, |lane| {
                    lane.tail = tail;
                    lane.queue.push_back((pool, buffer));
                });
                self.pool(pool, |pool| {
                    pool.seq = seq.wrapping_add(1);
                    pool.ledger.active = 0;
                    pool.ledger.published = pool.ledger.published.wrapping_add(records);
                    pool.hold(buffer, Owner::ReadyDevice, records);
                });
            }
            Event::Dropped { pool, cause, records, .. } => self.pool(pool, |pool| {
                let ledger = &mut pool.ledger;
                ledger.dropped = ledger.dropped.wrapping_add(records);
                ledger.charge(cause, records);
                match cause {
                    // A batch that was written already.
                    Cause::PushTimeout | Cause::FlushTimeout => {
                        ledger.active = ledger.active.saturating_sub(records);
                    }
                    _ => ledger.written = ledger.written.wrapping_add(records),
                }
            }),
            Event::Payload { offset, bytes, .. } => {
                self.lane(actor, |lane| lane.arena_offset = offset.wrapping_add(bytes));
            }
            Event::Spool { pool, buffer, records, .. } => self.pool(pool, |pool| {
                let published = pool.records(buffer);
                // At the end, what a failed flush left behind is taken over as well.
                match pool.buffers.get(buffer as usize).map(|buffer| buffer.owner) {
                    Some(Owner::Active) => pool.ledger.active = 0,
                    _ => pool.ledger.published = pool.ledger.published.wrapping_sub(published),
                }
                pool.ledger.at_host = pool.ledger.at_host.wrapping_add(records);
                pool.fill(buffer, records);
            }),
            Event::Deliver { pool, buffer, records, .. } => {
                self.pool(pool, |pool| pool.hold(buffer, Owner::ReadyHost, records));
            }
            Event::Acknowledge { queue, head, .. } => self.lane(queue as usize, |lane| {
                lane.head = head;
                lane.queue.pop_front();
            }),
            Event::Collect { pool, buffer, .. } => self.pool(pool, |pool| {
                let records = pool.records(buffer);
                pool.hold(buffer, Owner::Collecting, records);
            }),
            Event::Collected { pool, buffer, records, .. } => self.pool(pool, |pool| {
                pool.ledger.at_host = pool.ledger.at_host.wrapping_sub(records);
                pool.ledger.collected = pool.ledger.collected.wrapping_add(records);
                pool.fill(buffer, 0);
            }),
            Event::Return { pool, buffer, .. } => self.pool(pool, |pool| pool.hold(buffer, Owner::Done, 0)),
            Event::Recycle { pool, buffer, .. } => {
                self.pool(pool, |pool| pool.hold(buffer, Owner::Recycled, 0));
            }
            Event::Allocate { pool, buffer, .. } => self.pool(pool, |pool| {
                if buffer as usize == pool.buffers.len() {
                    pool.buffers.push(Buffer { owner: Owner::Recycled, records: 0 });
                }
            }),
            Event::Refill { pool, buffer, tail, .. } => self.pool(pool, |pool| {
                pool.tail = tail;
                pool.hold(buffer, Owner::Queued, 0);
            }),
            Event::Lost { pool, cause, records, .. } => self.pool(pool, |pool| {
                let ledger = &mut pool.ledger;
                ledger.lost = ledger.lost.wrapping_add(records);
                ledger.charge(cause, records);
                match cause {
                    Cause::SinkFull => ledger.at_host = ledger.at_host.wrapping_sub(records),
                    // Part of a buffer whose spooling takes it out of the queue.
                    Cause::CountClamped => {}
                    _ => ledger.published = ledger.published.wrapping_sub(records),
                }
            }),
            Event::Handled { lane, payloads, .. } => self.lane(lane as usize, |lane| lane.handled = payloads),
            Event::Completed { lane, payloads, .. } => {
                self.lane(lane as usize, |lane| lane.completed = payloads);
            }
            Event::Tick { .. } => self.ticks = self.ticks.wrapping_add(1),
            Event::Stop { .. } => self.stopped = true,
            _ => {}
        }
    }

    fn lane(&mut self, lane: usize, change: impl FnOnce(&mut Lane)) {
        self.lanes.get_mut(lane).map(change);
    }

    fn pool(&mut self, pool: u32, change: impl FnOnce(&mut Pool)) {
        self.pools.get_mut(pool as usize).map(change);
    }
}

impl Pool {
    fn records(&self, buffer: u32) -> u32 {
        self.buffers.get(buffer as usize).map_or(0, |buffer| buffer.records)
    }

    fn fill(&mut self, buffer: u32, records: u32) {
        self.buffers.get_mut(buffer as usize).into_iter().for_each(|buffer| buffer.records = records);
    }

    fn hold(&mut self, buffer: u32, owner: Owner, records: u32) {
        self.buffers.get_mut(buffer as usize).into_iter().for_each(|held| *held = Buffer { owner, records });
    }
}

impl Ledger {
    fn charge(&mut self, cause: Cause, records: u32) {
        let counted = &mut self.causes[cause as usize];
        *counted = counted.wrapping_add(records);
    }
}

/// Most buffers of a pool.
const MOST: u32 = 4_200;

/// Events between two keyframes.
const SPACING: usize = 128;

/// A log that can be looked at anywhere: nearest keyframe, then fold.
#[derive(Clone, Debug)]
pub struct Replay {
    log: DfxLog,
    /// `keyframes[k]` is the state after `k * SPACING` events.
    keyframes: Vec<State>,
}

impl Replay {
    /// Folds the log once and keeps keyframes.
    pub fn new(log: DfxLog) -> Self {
        let mut state = State::default();
        let mut keyframes = vec![state.clone()];
        for (index, entry) in log.events.iter().enumerate() {
            state.apply(entry);
            if (index + 1).is_multiple_of(SPACING) {
                keyframes.push(state.clone());
            }
        }
        Self { log, keyframes }
    }

    /// The log.
    pub fn log(&self) -> &DfxLog {
        &self.log
    }

    /// The state after the first `n` events; the last state beyond the end.
    pub fn state_at(&self, n: usize) -> State {
        let n = n.min(self.log.events.len());
        let key = n / SPACING;
        let mut state = self.keyframes[key].clone();
        self.log.events[key * SPACING..n].iter().for_each(|entry| state.apply(entry));
        state
    }
}
