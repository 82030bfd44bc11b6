//! The device's side of one region, for one lane: append, switch, publish, acquire, flush.
//!
//! [`Engine::append`] is the fast path: a buffer is there and not full, and a record costs a few
//! instructions more than the copy. When it refuses, the lane [begins](Engine::begin) a [`Task`] and
//! calls [`Engine::advance`] until it is ready; that machine holds both gates (dfx spec §2.2, §2.3)
//! and the arena's (§4.2). Publish first, then acquire: so whoever waits holds nothing.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::event::{Cause, Event, Gate, Observer};
use super::layout::{Arena, Backpressure, Extension, Layout, Pool, State};
use super::profile::Subsystem;
use super::rules::{Fault, PeerGate, Policy, Rules};
use crate::machine::{Grain, Outcome, Ticks, WideMemory, Word};

/// What a lane wants of its engine, beyond the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// Publish the current buffer, if there is one, and get an empty one.
    Switch,
    /// Publish the current buffer if there is anything in it.
    Flush,
    /// Make room in the arena for a payload that does not fit (after [`Reserve::Full`]).
    Arena,
}

/// How a [`Task`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Done {
    /// There is an empty buffer (`Switch`), or nothing left to publish (`Flush`), or room (`Arena`).
    Served,
    /// The buffer was published, but the freeze behind it did not end in time. Ownership has passed
    /// and nothing is counted; the lane has no buffer.
    Published,
    /// It was not; what this cost has been counted.
    Failed(Cause),
}

/// Whether the arena has room for a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reserve {
    /// At this logical offset; `truncated` if only the first half of the arena's size is kept.
    At {
        /// Logical offset, over all laps.
        offset: u64,
        /// Bytes that are kept.
        bytes: u64,
        /// Not all of them.
        truncated: bool,
    },
    /// Not before the payloads in it are acknowledged: begin [`Task::Arena`].
    Full,
}

/// One lane's engine in one region.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Engine {
    subsystem: Subsystem,
    rules: Rules,
    queue: Word,
    head: Word,
    tail: Word,
    ready: u32,
    backpressure: Backpressure,
    extension: Extension,
    /// Our own copy of the tail that only we write.
    at: u32,
    /// The host's heartbeat when this lane gave up on it (contracts §6).
    silent: Option<u32>,
    writers: Vec<Writer>,
    arena: Option<ArenaCursor>,
    machine: Machine,
}

/// A pool as its lane sees it. Whatever only the lane writes is kept here too, so that the fast
/// path reads no shared word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Writer {
    /// Number of the pool in the layout.
    pool: u32,
    owner: u32,
    kind: u32,
    core_written: bool,
    state: State,
    slots: u32,
    record_words: u32,
    capacity: u32,
    buffers: Word,
    buffer_words: u32,
    first: u32,
    count_at: u32,
    /// Start of the current buffer; 0 for none.
    current: Word,
    /// Where the next record goes.
    next: Word,
    /// Where the count of the current buffer stands.
    count_word: Word,
    count: u32,
    /// The capacity if there is a current buffer, else 0: one comparison answers both questions.
    limit: u32,
    fq_head: u32,
    seq: u32,
    /// Records wanted, without those in the current buffer: they are added when it is published or
    /// given up, so that a record costs one counter and not two. Whoever reads the total adds the count.
    total: u32,
    dropped: u32,
    overflow: u32,
    /// Overflow slots in the current buffer.
    extra: u32,
    /// Records with a payload in the current buffer.
    payloads: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ArenaCursor {
    words: Arena,
    offset: u64,
    published: u64,
}

/// Where the slow path stands. One coordination access from one state to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Idle,
    PushSeek,
    PushMark,
    Watermark,
    Tail,
    PushGeneration,
    PushFreeze { generation: u32 },
    Clear,
    PopGeneration,
    PopFreeze { generation: u32 },
    PopSeek,
    PopMark,
    Claim,
    ArenaMark,
    ArenaFirst,
    ArenaSecond,
    ArenaParked { generation: Option<u32> },
    ArenaAck,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Machine {
    at: At,
    task: Task,
    writer: u32,
    /// When the present wait began.
    start: Ticks,
    /// The flag has been raised in this wait; once is enough (dfx spec §9.4).
    marked: bool,
    /// The lane has stopped: [`Event::Park`] was given.
    parked: bool,
    /// The lane has waited for its free queue: what came may have come inside a freeze.
    waited: bool,
    /// The buffer that is on its way into the ready queue.
    leaving: Word,
    /// T5: the next buffer, claimed before the old one is published; 0 for none.
    held: Word,
    /// Payloads that must be acknowledged.
    target: u64,
}

impl Machine {
    const IDLE: Self = Self {
        at: At::Idle,
        task: Task::Switch,
        writer: 0,
        start: 0,
        marked: false,
        parked: false,
        waited: false,
        leaving: Word(0),
        held: Word(0),
        target: 0,
    };
}

impl Engine {
    /// The engine of `lane` in a zeroed region.
    pub fn new(layout: &Layout, lane: u32, rules: Rules) -> Self {
        let writer = |(index, pool): (usize, &Pool)| Writer {
            pool: index as u32,
            owner: pool.owner,
            kind: pool.kind as u32,
            core_written: pool.kind.core_written(),
            state: pool.state,
            slots: pool.slots,
            record_words: pool.record_words,
            capacity: pool.capacity,
            buffers: pool.buffers,
            buffer_words: pool.buffer_words,
            first: pool.first,
            count_at: pool.count_at,
            current: Word(0),
            next: Word(0),
            count_word: Word(0),
            count: 0,
            limit: 0,
            fq_head: 0,
            seq: 0,
            total: 0,
            dropped: 0,
            overflow: 0,
            extra: 0,
            payloads: 0,
        };
        let mine = layout.pools.iter().enumerate().filter(|(_, pool)| pool.lane == lane);
        Self {
            subsystem: layout.subsystem,
            rules,
            queue: layout.entry(lane, 0),
            head: layout.heads.plus(lane),
            tail: layout.tails.plus(lane),
            ready: layout.ready,
            backpressure: layout.backpressure,
            extension: layout.extension,
            at: 0,
            silent: None,
            writers: mine.map(writer).collect(),
            arena: layout.arenas.get(lane as usize).map(|&words| ArenaCursor {
                words,
                offset: 0,
                published: 0,
            }),
            machine: Machine::IDLE,
        }
    }

    /// Takes over indices that do not start at 0: the free queues' run freely, also past 2³².
    pub fn attach<M: WideMemory>(&mut self, mem: &M) {
        self.at = mem.load(self.tail, Acquire);
        for writer in &mut self.writers {
            writer.fq_head = mem.load(writer.state.fq_head, Acquire);
        }
    }

    /// The pools that this lane writes, as numbers of the layout; the engine numbers them in this order.
    pub fn pools(&self) -> impl Iterator<Item = u32> + '_ {
        self.writers.iter().map(|writer| writer.pool)
    }

    /// The engine's number of a pool of the layout.
    pub fn writer_of(&self, pool: u32) -> Option<usize> {
        self.writers.iter().position(|writer| writer.pool == pool)
    }

    /// Appends one record of the pool's size. False if there is no buffer or it is full: begin
    /// [`Task::Switch`], then try again, or [drop](Engine::drop_record) it.
    #[inline(always)]
    pub fn append<M: WideMemory>(&mut self, mem: &M, writer: usize, record: &[u32]) -> bool {
        let Some(w) = self.writers.get_mut(writer) else { return false };
        // Read once: the compiler cannot know that the record does not lie over our own fields.
        let count = w.count;
        if count >= w.limit {
            return false;
        }
        mem.write_range(w.next, record);
        w.next.0 += record.len() as u32;
        w.count = count + 1;
        mem.store(w.count_word, count + 1, Relaxed);
        true
    }

    /// As [`Engine::append`], for a record with a payload in the arena.
    pub fn append_with_payload<M: WideMemory>(&mut self, mem: &M, writer: usize, record: &[u32]) -> bool {
        let appended = self.append(mem, writer, record);
        self.writers[writer].payloads += u32::from(appended);
        appended
    }

    /// Appends a chain of slots that one store of the count publishes; it never spans two buffers
    /// (dfx spec §2.4). Counts one record, and the other slots as overflow.
    pub fn append_chain<M: WideMemory>(&mut self, mem: &M, writer: usize, slots: &[u32]) -> bool {
        let w = &mut self.writers[writer];
        let n = slots.len() as u32 / w.record_words;
        if w.count + n > w.limit {
            return false;
        }
        mem.write_range(w.next, slots);
        w.next.0 += slots.len() as u32;
        w.count += n;
        w.extra += n.saturating_sub(1);
        mem.store(w.count_word, w.count, Relaxed);
        true
    }

    /// Takes one record slot of a core-written pool for the next task of its core; false as in
    /// [`Engine::append`].
    pub fn reserve_for_core<M: WideMemory>(&mut self, mem: &M, writer: usize) -> bool {
        let w = &mut self.writers[writer];
        if w.count >= w.limit {
            return false;
        }
        w.count += 1;
        mem.store(w.count_word, w.count, Relaxed);
        true
    }

    /// Where the core writes the record whose slot was reserved last: it travels with the task. The
    /// core commits there before it reports FIN (contracts §5), so a lane that has seen FIN may
    /// publish the buffer, and a pool of one buffer drains too (dfx spec §9.4).
    pub fn core_slot(&self, writer: usize) -> Option<Word> {
        let w = &self.writers[writer];
        let last = w.count.checked_sub(1)?;
        (w.current.0 != 0).then(|| w.current.plus(w.first + last * w.record_words))
    }

    /// Counts `slots` records that could not be appended (a chain counts all its slots).
    pub fn drop_record<M: WideMemory>(
        &mut self,
        mem: &M,
        writer: usize,
        slots: u32,
        cause: Cause,
        seen: &mut impl Observer,
    ) {
        let w = &mut self.writers[writer];
        w.total = w.total.wrapping_add(1);
        mem.store(w.state.total, w.total, Relaxed);
        if slots > 1
            && let Some(word) = w.state.overflow
        {
            w.overflow = w.overflow.wrapping_add(slots - 1);
            mem.store(word, w.overflow, Relaxed);
        }
        w.charge(mem, self.subsystem, slots, cause, seen);
    }

    /// Records in the current buffer of a writer.
    pub fn count(&self, writer: usize) -> u32 {
        self.writers[writer].count
    }

    /// Number of a writer's pool in the layout, and records in its current buffer.
    pub fn current_count(&self, writer: usize) -> (u32, u32) {
        (self.writers[writer].pool, self.writers[writer].count)
    }

    /// Whose engine it is.
    pub fn subsystem(&self) -> Subsystem {
        self.subsystem
    }

    /// Whether the current buffer is full: writers that switch eagerly do it now.
    pub fn is_full(&self, writer: usize) -> bool {
        let w = &self.writers[writer];
        w.limit > 0 && w.count == w.limit
    }

    /// Whether a chain of `slots` slots needs a switch first, and can fit into a buffer at all.
    pub fn fits(&self, writer: usize, slots: u32) -> bool {
        slots <= self.writers[writer].capacity
    }

    /// The start of a writer's current buffer; the address that a core is given.
    pub fn current(&self, writer: usize) -> Option<Word> {
        let w = &self.writers[writer];
        (w.current.0 != 0).then_some(w.current)
    }

    /// Room for a payload in the arena, which is taken when it is there (dfx spec §4.1).
    pub fn reserve<M: WideMemory>(
        &mut self,
        mem: &M,
        bytes: u64,
        seen: &mut impl Observer,
    ) -> Option<Reserve> {
        let drops = self.rules.policy == Policy::Drop;
        let arena = self.arena.as_mut()?;
        let size = arena.words.size;
        let (kept, truncated) = if bytes > size { (size / 2, true) } else { (bytes, false) };
        if kept == 0 {
            return Some(Reserve::At { offset: arena.offset, bytes: 0, truncated });
        }
        let physical = arena.offset % size;
        let new_lap = arena.offset != 0 && physical == 0;
        if new_lap || kept > size - physical {
            if !drops {
                return Some(Reserve::Full);
            }
            // Before the design: the lap begins, whether or not its bytes were read.
            arena.offset = arena.offset.next_multiple_of(size);
        }
        Some(Self::take(arena, mem, self.subsystem, self.writers.first(), kept, truncated, seen))
    }

    /// As [`Engine::reserve`], just after a served [`Task::Arena`].
    pub fn reserve_in_new_lap<M: WideMemory>(
        &mut self,
        mem: &M,
        bytes: u64,
        seen: &mut impl Observer,
    ) -> Option<Reserve> {
        let arena = self.arena.as_mut()?;
        let size = arena.words.size;
        let (kept, truncated) = if bytes > size { (size / 2, true) } else { (bytes, false) };
        arena.offset = arena.offset.next_multiple_of(size);
        Some(Self::take(arena, mem, self.subsystem, self.writers.first(), kept, truncated, seen))
    }

    fn take<M: WideMemory>(
        arena: &mut ArenaCursor,
        mem: &M,
        subsystem: Subsystem,
        writer: Option<&Writer>,
        bytes: u64,
        truncated: bool,
        seen: &mut impl Observer,
    ) -> Reserve {
        let offset = arena.offset;
        arena.offset += bytes;
        mem.store64(arena.words.write_offset, arena.offset, Relaxed);
        let pool = writer.map_or(0, |writer| writer.pool);
        seen.on(Event::Payload { subsystem, pool, offset, bytes });
        Reserve::At { offset, bytes, truncated }
    }

    /// Where a reserved payload's bytes go. A payload never straddles the arena's end.
    pub fn payload_at(&self, offset: u64) -> Option<(Word, u32)> {
        let arena = self.arena.as_ref()?;
        let physical = offset % arena.words.size;
        Some((arena.words.base.plus((physical / 4) as u32), (physical % 4) as u32))
    }

    /// The gate of a freeze whose release the lane waits for.
    pub fn waits_for_release(&self) -> Option<Gate> {
        match self.machine.at {
            At::PushFreeze { .. } if self.machine.parked => Some(Gate::Push),
            At::PopFreeze { .. } if self.machine.parked => Some(Gate::Pop),
            _ => None,
        }
    }

    /// The buffer that a writer fills: its current one, unless that is published already.
    pub fn fills(&self, writer: usize) -> Option<Word> {
        let machine = &self.machine;
        let left = machine.writer as usize == writer
            && matches!(machine.at, At::PushGeneration | At::PushFreeze { .. } | At::Clear);
        self.current(writer).filter(|_| !left)
    }

    /// Whether the lane stands at a gate.
    pub fn is_parked(&self) -> bool {
        self.machine.parked
    }

    /// Whether the lane has given up on the host.
    pub fn is_silent(&self) -> bool {
        self.silent.is_some()
    }

    /// Puts to rest what it will not read again, and counts releases from `generations` (push, pop):
    /// two states that differ in this alone are one to a search. A lane asks only whether there was
    /// another release, and those that were never come back. Without `generations`, releases are counted
    /// as ever. Its present wait begins at 0; true if it is over or has begun at another time.
    #[cfg(feature = "explore")]
    pub(crate) fn forget(&mut self, generations: Option<[u32; 2]>) -> bool {
        let since = |generation: &mut u32, now: u32| {
            *generation = if *generation == now { 0 } else { u32::MAX };
        };
        let fresh = self.machine.at == At::Idle || self.machine.start != 0;
        self.machine.start = 0;
        match (&mut self.machine.at, generations) {
            (At::Idle, _) => self.machine = Machine::IDLE,
            (At::PushFreeze { generation }, Some([now, _])) => since(generation, now),
            (
                At::PopFreeze { generation } | At::ArenaParked { generation: Some(generation) },
                Some([_, now]),
            ) => since(generation, now),
            _ => {}
        }
        if !matches!(self.machine.at, At::Watermark | At::Tail) {
            self.machine.leaving = Word(0);
        }
        fresh
    }

    /// Begins a task; [`Engine::advance`] until it is ready.
    pub fn begin(&mut self, writer: usize, task: Task, now: Ticks) {
        let w = &self.writers[writer];
        let at = match task {
            Task::Arena => {
                if w.count > 0 {
                    At::PushSeek
                } else {
                    At::ArenaMark
                }
            }
            // A core gets its next buffer before the old one is published (T5).
            Task::Switch
                if w.core_written
                    && w.current.0 != 0
                    && self.rules.faults.has(Fault::AcquireBeforePublish) =>
            {
                At::PopSeek
            }
            Task::Switch if w.current.0 == 0 => self.pop_entry(),
            Task::Switch => At::PushSeek,
            Task::Flush if w.current.0 == 0 || w.count == 0 => At::Idle,
            Task::Flush => At::PushSeek,
        };
        self.machine = Machine { at, task, writer: writer as u32, start: now, ..Machine::IDLE };
    }

    fn pop_entry(&self) -> At {
        let barrier =
            self.rules.policy == Policy::GlobalFreeze && self.rules.peer_gate == PeerGate::BarrierFirst;
        if barrier { At::PopGeneration } else { At::PopSeek }
    }

    /// Advances the task that was begun. `Fine` returns after each coordination access.
    pub fn advance<M: WideMemory>(
        &mut self,
        mem: &M,
        now: Ticks,
        grain: Grain,
        seen: &mut impl Observer,
    ) -> Outcome<Done> {
        loop {
            let outcome = self.step(mem, now, seen);
            if grain == Grain::Fine || outcome != Outcome::Progress {
                return outcome;
            }
        }
    }

    fn step<M: WideMemory>(&mut self, mem: &M, now: Ticks, seen: &mut impl Observer) -> Outcome<Done> {
        let subsystem = self.subsystem;
        let freezes = self.rules.policy == Policy::GlobalFreeze;
        let backpressure = self.backpressure;
        let n = self.machine.writer as usize;
        match self.machine.at {
            At::Idle => Outcome::Ready(Done::Served),
            At::PushSeek => {
                let head = mem.load(self.head, Acquire);
                if head < self.ready && (self.at + 1) % self.ready != head {
                    self.write_entry(mem, n);
                    self.machine.at = if self.arena.is_some() { At::Watermark } else { At::Tail };
                    return Outcome::Progress;
                }
                if freezes && !self.machine.marked {
                    self.machine.at = At::PushMark;
                    return Outcome::Progress;
                }
                self.wait(mem, now, Gate::Push, self.head, head, seen)
            }
            At::PushMark => {
                self.machine.marked = true;
                self.machine.at = At::PushSeek;
                mem.store(backpressure.rq_contended, 1, Release);
                seen.on(Event::Mark { subsystem, gate: Gate::Push });
                Outcome::Progress
            }
            At::Watermark => {
                if let Some(arena) = &mut self.arena {
                    // Arena bytes → record → mark → tail (dfx spec §3.9).
                    arena.published += u64::from(self.writers[n].payloads);
                    mem.store64(arena.words.published, arena.published, Release);
                }
                self.machine.at = At::Tail;
                Outcome::Progress
            }
            At::Tail => {
                self.at = (self.at + 1) % self.ready;
                self.writers[n].settle(mem);
                mem.store(self.tail, self.at, Release);
                self.published(seen);
                self.resume(Gate::Push, false, seen);
                self.machine.start = now;
                self.machine.at = if freezes { At::PushGeneration } else { At::Clear };
                Outcome::Progress
            }
            At::PushGeneration => {
                let generation = mem.load(self.extension.rq_generation, Acquire);
                self.machine.at = At::PushFreeze { generation };
                Outcome::Progress
            }
            At::PushFreeze { generation } => {
                let (word, expected) = (backpressure.rq_freeze_active, self.extension.rq_generation);
                match self.closed(mem, word, expected, generation) {
                    None => {
                        self.doubt(mem, now, seen);
                        self.resume(Gate::Push, false, seen);
                        self.machine.at = At::Clear;
                        Outcome::Progress
                    }
                    Some((word, value)) => self.wait(mem, now, Gate::Push, word, value, seen),
                }
            }
            At::Clear => {
                let w = &mut self.writers[n];
                let held = self.machine.held;
                w.seq = w.seq.wrapping_add(1);
                w.clear();
                if held.0 != 0 {
                    w.install(held);
                }
                mem.store64(w.state.current, u64::from(held.0) * 4, Relaxed);
                mem.store(w.state.seq, w.seq, Release);
                self.machine.start = now;
                self.machine.marked = false;
                match self.machine.task {
                    Task::Flush => self.done(Done::Served),
                    Task::Switch if held.0 != 0 => self.done(Done::Served),
                    Task::Switch => {
                        self.machine.at = self.pop_entry();
                        Outcome::Progress
                    }
                    Task::Arena => {
                        self.machine.at = At::ArenaMark;
                        Outcome::Progress
                    }
                }
            }
            At::PopGeneration => {
                let generation = mem.load(self.extension.fq_generation, Acquire);
                self.machine.at = At::PopFreeze { generation };
                Outcome::Progress
            }
            At::PopFreeze { generation } => {
                let (word, expected) = (backpressure.fq_freeze_active, self.extension.fq_generation);
                match self.closed(mem, word, expected, generation) {
                    None => {
                        self.doubt(mem, now, seen);
                        self.machine.at = At::PopSeek;
                        Outcome::Progress
                    }
                    Some((word, value)) => self.wait(mem, now, Gate::Pop, word, value, seen),
                }
            }
            At::PopSeek => {
                let w = &self.writers[n];
                let tail = mem.load(w.state.fq_tail, Acquire);
                // A tail that is further ahead than the queue is long is corrupt: taken as empty.
                let ahead = tail.wrapping_sub(w.fq_head);
                if ahead != 0 && ahead <= w.slots {
                    // What came while we waited may have come inside a freeze: then wait for its end.
                    self.machine.at =
                        if std::mem::take(&mut self.machine.waited) { self.pop_entry() } else { At::Claim };
                    return Outcome::Progress;
                }
                if freezes && !self.machine.marked {
                    self.machine.at = At::PopMark;
                    return Outcome::Progress;
                }
                let word = w.state.fq_tail;
                self.machine.waited = true;
                self.wait(mem, now, Gate::Pop, word, tail, seen)
            }
            At::PopMark => {
                self.machine.marked = true;
                self.machine.at = At::PopSeek;
                mem.store(backpressure.fq_contended, 1, Release);
                seen.on(Event::Mark { subsystem, gate: Gate::Pop });
                Outcome::Progress
            }
            At::Claim => self.claim(mem, n, now, seen),
            At::ArenaMark => {
                let target = self.arena.as_ref().map_or(0, |arena| arena.published);
                self.machine.target = target;
                self.machine.start = now;
                if !freezes {
                    self.machine.at = At::ArenaAck;
                    return self.step(mem, now, seen);
                }
                mem.store(backpressure.fq_contended, 1, Release);
                seen.on(Event::Mark { subsystem, gate: Gate::Arena });
                self.machine.at = At::ArenaFirst;
                Outcome::Progress
            }
            // The contended flag first, then the freeze: the host closes the gate before it clears
            // the flag, so both are never seen clear before the release (seed 000, I2).
            At::ArenaFirst => {
                let word = if self.rules.faults.has(Fault::FreezeLoadedFirst) {
                    backpressure.fq_freeze_active
                } else {
                    backpressure.fq_contended
                };
                let value = mem.load(word, Acquire);
                if value != 0 {
                    return self.wait(mem, now, Gate::Arena, word, value, seen);
                }
                self.machine.at = At::ArenaSecond;
                Outcome::Progress
            }
            At::ArenaSecond => {
                let word = if self.rules.faults.has(Fault::FreezeLoadedFirst) {
                    backpressure.fq_contended
                } else {
                    backpressure.fq_freeze_active
                };
                let value = mem.load(word, Acquire);
                self.machine.at = match value {
                    0 => At::ArenaAck,
                    _ if self.rules.faults.has(Fault::GenerationLessBarrier) => At::ArenaFirst,
                    _ => At::ArenaParked { generation: None },
                };
                if value != 0 && self.machine.at == At::ArenaFirst {
                    return self.wait(mem, now, Gate::Arena, word, value, seen);
                }
                Outcome::Progress
            }
            // Our mark was consumed, so this freeze opened after it; its release is ours, even if
            // another freeze follows before we look.
            At::ArenaParked { mut generation } => {
                let now_at = mem.load(self.extension.fq_generation, Acquire);
                let before = *generation.get_or_insert(now_at);
                self.machine.at = At::ArenaParked { generation };
                let word = backpressure.fq_freeze_active;
                let value = mem.load(word, Acquire);
                if before != now_at || value == 0 {
                    self.machine.at = At::ArenaAck;
                    return Outcome::Progress;
                }
                self.wait(mem, now, Gate::Arena, word, value, seen)
            }
            At::ArenaAck => {
                let Some(arena) = &self.arena else { return self.done(Done::Served) };
                let word = arena.words.completed;
                let completed = mem.load64(word, Acquire);
                if completed >= self.machine.target {
                    self.resume(Gate::Arena, false, seen);
                    return self.done(Done::Served);
                }
                self.wait(mem, now, Gate::Arena, word, completed as u32, seen)
            }
        }
    }

    /// What a lane at a closed gate waits for; None if it may pass. The generation changes with
    /// each release, so a lane cannot sleep through one that is followed by another freeze.
    fn closed<M: WideMemory>(
        &self,
        mem: &M,
        freeze: Word,
        generation: Word,
        before: u32,
    ) -> Option<(Word, u32)> {
        let closed = mem.load(freeze, Acquire);
        if closed == 0 {
            return None;
        }
        if self.rules.faults.has(Fault::GenerationLessBarrier) {
            return Some((freeze, closed));
        }
        // Looked at only by a lane that has found the gate closed: it decides when to look again.
        (mem.load(generation, Acquire) == before).then_some((generation, before))
    }

    /// Takes the buffer at the head of the free queue.
    fn claim<M: WideMemory>(
        &mut self,
        mem: &M,
        n: usize,
        now: Ticks,
        seen: &mut impl Observer,
    ) -> Outcome<Done> {
        let subsystem = self.subsystem;
        let w = &mut self.writers[n];
        let slot = w.state.fq_slots.plus(2 * (w.fq_head % w.slots));
        let buffer = mem.load64(slot, Acquire);
        w.fq_head = w.fq_head.wrapping_add(1);
        mem.store(w.state.fq_head, w.fq_head, Release);
        let Some(start) = w.start_of(buffer) else {
            // Not a buffer of ours: the slot is skipped.
            self.machine.at = At::PopSeek;
            return Outcome::Progress;
        };
        let (pool, head, buffer) = (w.pool, w.fq_head, w.index(start));
        mem.store(start.plus(w.count_at), 0, Relaxed);
        if w.current.0 != 0 {
            // T5: only now is the old buffer published.
            seen.on(Event::Claim { subsystem, pool, buffer, seq: w.seq.wrapping_add(1), head });
            self.machine.held = start;
            self.machine.start = now;
            self.machine.at = At::PushSeek;
            self.resume(Gate::Pop, false, seen);
            return Outcome::Progress;
        }
        w.install(start);
        mem.store64(w.state.current, u64::from(start.0) * 4, Release);
        seen.on(Event::Claim { subsystem, pool, buffer, seq: w.seq, head });
        self.resume(Gate::Pop, false, seen);
        self.done(Done::Served)
    }

    /// Writes the entry for the current buffer: the slot is ours until the tail moves.
    fn write_entry<M: WideMemory>(&mut self, mem: &M, n: usize) {
        let stamped = self.rules.faults.has(Fault::StampedCount) && self.machine.task == Task::Flush;
        let w = &mut self.writers[n];
        if w.core_written {
            // The core wrote the records; how many is known only here (T10).
            if stamped {
                // The total stays what it was: that is what tells.
                w.total = w.total.wrapping_sub(w.capacity - w.count);
                w.count = w.capacity;
            }
            mem.store(w.current.plus(w.count_at), w.count, Relaxed);
        }
        let marks = self.arena.as_ref().map_or(0, |arena| arena.published as u32).wrapping_add(w.payloads);
        let buffer = u64::from(w.current.0) * 4;
        let entry = [w.owner, w.kind, buffer as u32, (buffer >> 32) as u32, w.seq, marks, w.count, 0];
        mem.write_range(self.queue.plus(self.at * super::layout::ENTRY_WORDS), &entry);
        self.machine.leaving = w.current;
    }

    fn published(&mut self, seen: &mut impl Observer) {
        let w = &self.writers[self.machine.writer as usize];
        seen.on(Event::Publish {
            subsystem: self.subsystem,
            pool: w.pool,
            buffer: w.index(self.machine.leaving),
            seq: w.seq,
            records: w.count,
            tail: self.at,
        });
    }

    fn resume(&mut self, gate: Gate, gave_up: bool, seen: &mut impl Observer) {
        if std::mem::take(&mut self.machine.parked) {
            seen.on(Event::Resume { subsystem: self.subsystem, gate, gave_up });
        }
    }

    fn done(&mut self, done: Done) -> Outcome<Done> {
        self.machine.at = At::Idle;
        Outcome::Ready(done)
    }

    /// A gate that was found open only when the whole budget had gone: the host may have died between
    /// opening it and telling so. The lane does not wait for it a second time.
    fn doubt<M: WideMemory>(&mut self, mem: &M, now: Ticks, seen: &mut impl Observer) {
        if self.machine.parked && now.saturating_sub(self.machine.start) >= self.rules.budget {
            if self.silent.is_none() {
                seen.on(Event::Silent { subsystem: self.subsystem });
            }
            self.silent = Some(mem.load(self.extension.heartbeat, Acquire));
        }
    }

    /// The one way to wait, and the one way to give up.
    fn wait<M: WideMemory>(
        &mut self,
        mem: &M,
        now: Ticks,
        gate: Gate,
        word: Word,
        expected: u32,
        seen: &mut impl Observer,
    ) -> Outcome<Done> {
        let subsystem = self.subsystem;
        let bound = self.rules.bound();
        if !self.machine.parked {
            self.machine.parked = true;
            seen.on(Event::Park { subsystem, gate });
        }
        let unbounded = self.rules.faults.has(Fault::PopWaitUnbounded)
            && gate == Gate::Pop
            && self.machine.at == At::PopSeek;
        if let Some(then) = self.silent {
            // The heartbeat only decides how long to wait: any value that is read is good.
            if mem.load(self.extension.heartbeat, Acquire) == then {
                return self.give_up(mem, gate, true, seen);
            }
            self.silent = None;
            seen.on(Event::Heard { subsystem });
        }
        if now.saturating_sub(self.machine.start) >= bound && !unbounded {
            if self.rules.policy != Policy::Drop {
                self.silent = Some(mem.load(self.extension.heartbeat, Acquire));
                seen.on(Event::Silent { subsystem });
            }
            return self.give_up(mem, gate, false, seen);
        }
        let deadline = (!unbounded).then(|| self.machine.start.saturating_add(bound));
        Outcome::Wait { word, expected, deadline }
    }

    fn give_up<M: WideMemory>(
        &mut self,
        mem: &M,
        gate: Gate,
        at_once: bool,
        seen: &mut impl Observer,
    ) -> Outcome<Done> {
        self.resume(gate, true, seen);
        let subsystem = self.subsystem;
        let (at, task, n) = (self.machine.at, self.machine.task, self.machine.writer as usize);
        let w = &mut self.writers[n];
        match at {
            // Nothing was published: the batch is given up and its buffer is filled anew.
            At::PushSeek if task != Task::Flush => {
                w.settle(mem);
                let count = std::mem::take(&mut w.count);
                w.payloads = 0;
                w.next = w.current.plus(w.first);
                mem.store(w.count_word, 0, Relaxed);
                w.charge(mem, subsystem, count, Cause::PushTimeout, seen);
                let cause = if task == Task::Arena { Cause::ArenaTimeout } else { Cause::PushTimeout };
                self.done(Done::Failed(cause))
            }
            // The buffer stays current, for whoever reconciles (T15).
            At::PushSeek => {
                if self.rules.faults.has(Fault::LostOnFailedFlush) {
                    w.settle(mem);
                    w.clear();
                    mem.store64(w.state.current, 0, Release);
                }
                self.done(Done::Failed(Cause::FlushTimeout))
            }
            At::PushFreeze { .. } if self.rules.faults.has(Fault::PublishThenDrop) => {
                // T3: counted as dropped though it is published, and filled anew though it is not ours.
                let count = std::mem::take(&mut w.count);
                w.next = w.current.plus(w.first);
                mem.store(w.count_word, 0, Relaxed);
                w.charge(mem, subsystem, count, Cause::PushTimeout, seen);
                self.done(Done::Failed(Cause::PushTimeout))
            }
            At::PushFreeze { .. } => {
                w.seq = w.seq.wrapping_add(1);
                w.clear();
                mem.store64(w.state.current, 0, Relaxed);
                mem.store(w.state.seq, w.seq, Release);
                self.done(Done::Published)
            }
            At::ArenaFirst | At::ArenaSecond | At::ArenaParked { .. } | At::ArenaAck => {
                self.done(Done::Failed(Cause::ArenaTimeout))
            }
            _ if at_once => self.done(Done::Failed(Cause::NoBuffer)),
            _ => self.done(Done::Failed(Cause::PopTimeout)),
        }
    }
}

impl Writer {
    fn install(&mut self, start: Word) {
        self.current = start;
        self.next = start.plus(self.first);
        self.count_word = start.plus(self.count_at);
        self.count = 0;
        self.payloads = 0;
        self.limit = self.capacity;
    }

    fn clear(&mut self) {
        self.current = Word(0);
        self.count = 0;
        self.payloads = 0;
        self.limit = 0;
    }

    /// Adds what is in the current buffer to the totals: it leaves.
    fn settle<M: WideMemory>(&mut self, mem: &M) {
        let extra = std::mem::take(&mut self.extra);
        self.total = self.total.wrapping_add(self.count - extra.min(self.count));
        mem.store(self.state.total, self.total, Relaxed);
        if let Some(word) = self.state.overflow.filter(|_| extra > 0) {
            self.overflow = self.overflow.wrapping_add(extra);
            mem.store(word, self.overflow, Relaxed);
        }
    }

    /// The start of the buffer that a queue names, if it is one of this pool.
    fn start_of(&self, buffer: u64) -> Option<Word> {
        let word = u32::try_from(buffer / 4).ok()?;
        let offset = word.checked_sub(self.buffers.0)?;
        (buffer.is_multiple_of(4) && offset.is_multiple_of(self.buffer_words)).then_some(Word(word))
    }

    fn index(&self, start: Word) -> u32 {
        start.0.saturating_sub(self.buffers.0) / self.buffer_words
    }

    fn charge<M: WideMemory>(
        &mut self,
        mem: &M,
        subsystem: Subsystem,
        records: u32,
        cause: Cause,
        seen: &mut impl Observer,
    ) {
        if records == 0 {
            return;
        }
        self.dropped = self.dropped.wrapping_add(records);
        mem.store(self.state.dropped, self.dropped, Relaxed);
        let word = self.state.causes.plus(cause as u32);
        mem.store(word, mem.load(word, Relaxed).wrapping_add(records), Relaxed);
        seen.on(Event::Dropped { subsystem, pool: self.pool, cause, records });
    }
}
