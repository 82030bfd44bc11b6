//! A drain: takes entries from the ready queues of its lanes, hands the buffers on, fills free queues.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::super::event::{Cause, Event, Observer};
use super::super::layout::{ENTRY_WORDS, Layout};
use super::super::link::Link;
use super::super::rules::{Fault, Rules};
use super::{Account, POLL, Sink, Site, Taken};
use crate::machine::{Outcome, WideMemory, Word};

/// One drain thread. It alone writes the heads of its ready queues and fills its free queues.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Drain {
    shard: u32,
    rules: Rules,
    at: At,
    /// Heads of the queues it serves, in the order of [`Drain::queue`].
    heads: Vec<u32>,
    /// Which of these it looks at.
    index: u32,
    tail: u32,
    taken: Taken,
    /// The buffer of `taken` is not handed on: its entry was corrupt.
    stranded: bool,
    /// The entry is acknowledged already (T11).
    acknowledged: bool,
    fill: Fill,
    request: u32,
    found: bool,
    finishing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Tail,
    Entry,
    Copy,
    Room,
    Deliver,
    Held,
    Acknowledge,
    Frozen,
    Fill,
    Request,
    FillAll,
    Grant,
    Stop,
}

/// Filling the free queue of one pool from its recycled ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Fill {
    pub(super) pool: u32,
    at: FillAt,
    tail: u32,
    head: u32,
    buffer: u32,
    /// Buffers added so far.
    pub(super) pushed: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum FillAt {
    #[default]
    Head,
    Recycled,
    Take,
    Publish,
    Held,
}

impl Fill {
    pub(super) fn of(pool: u32) -> Self {
        Self { pool, ..Self::default() }
    }

    #[cfg(feature = "explore")]
    fn forget(&mut self) {
        self.pushed = 0;
        let [tail, head, buffer] = match self.at {
            FillAt::Head | FillAt::Held => [false; 3],
            FillAt::Recycled => [true, false, false],
            FillAt::Take => [true, true, false],
            FillAt::Publish => [true, false, true],
        };
        self.tail *= u32::from(tail);
        self.head *= u32::from(head);
        self.buffer *= u32::from(buffer);
    }

    /// One access; true when nothing more can be added.
    pub(super) fn step<M: WideMemory>(&mut self, site: Site<'_, M>, seen: &mut impl Observer) -> bool {
        let Site { layout, host, link, mem, .. } = site;
        let pool = &layout.pools[self.pool as usize];
        let recycled = &host.pools[self.pool as usize];
        match self.at {
            FillAt::Head => {
                self.tail = link.peek(pool.state.fq_tail);
                let head = link.get(pool.state.fq_head);
                if self.tail.wrapping_sub(head) >= pool.slots {
                    return true;
                }
                self.at = FillAt::Recycled;
            }
            FillAt::Recycled => {
                self.head = mem.load(recycled.ring.head, Acquire);
                if mem.load(recycled.ring.tail, Acquire) == self.head {
                    return true;
                }
                self.at = FillAt::Take;
            }
            FillAt::Take => {
                [self.buffer, ..] = recycled.ring.read(mem, self.head);
                mem.store(recycled.ring.head, self.head.wrapping_add(1), Release);
                // The slot is ours until the tail moves: not seen by anybody.
                let slot = pool.state.fq_slots.plus(2 * (self.tail % pool.slots));
                link.put64(slot, u64::from(pool.buffer(self.buffer).0) * 4);
                self.at = FillAt::Publish;
            }
            FillAt::Publish => {
                self.tail = self.tail.wrapping_add(1);
                link.put(pool.state.fq_tail, self.tail);
                self.pushed += 1;
                let (subsystem, tail, buffer) = (layout.subsystem, self.tail, self.buffer);
                seen.on(Event::Refill { subsystem, pool: self.pool, buffer, tail });
                self.at = FillAt::Held;
            }
            FillAt::Held => {
                let held = mem.load(recycled.held, Acquire);
                mem.store(recycled.held, held.wrapping_sub(1), Release);
                self.at = FillAt::Head;
            }
        }
        false
    }
}

impl Drain {
    /// The drain of `shard`.
    pub fn new(layout: &Layout, shard: u32, rules: Rules) -> Self {
        let queues = (shard..layout.lanes).step_by(layout.shards as usize).count();
        Self {
            shard,
            rules,
            at: At::Tail,
            heads: vec![0; queues],
            index: 0,
            tail: 0,
            taken: Taken::default(),
            stranded: false,
            acknowledged: false,
            fill: Fill::default(),
            request: 0,
            found: false,
            finishing: false,
        }
    }

    /// Ready queues that this drain serves.
    pub fn queues<'a>(layout: &'a Layout, shard: u32) -> impl Iterator<Item = u32> + 'a {
        (shard..layout.lanes).step_by(layout.shards as usize)
    }

    /// Puts to rest what it will not read again, and counts requests from `requests`: two states
    /// that differ in this alone are one to a search.
    #[cfg(feature = "explore")]
    pub(crate) fn forget(&mut self, requests: u32) {
        if !matches!(self.at, At::Held | At::Deliver) {
            self.tail = 0;
        }
        let in_hand =
            matches!(self.at, At::Copy | At::Room | At::Held | At::Deliver | At::Acknowledge | At::Frozen);
        if !in_hand {
            self.taken = Taken::default();
            self.stranded = false;
        }
        match self.at {
            At::Fill | At::FillAll => self.fill.forget(),
            _ => self.fill = Fill::default(),
        }
        self.request = match self.at {
            At::FillAll | At::Grant => self.request.wrapping_sub(requests),
            _ => 0,
        };
    }

    fn queue(&self, layout: &Layout) -> u32 {
        self.shard + self.index * layout.shards
    }

    /// One access. `Ready` after the last pass that a stop asks for.
    pub fn step<M: WideMemory>(
        &mut self,
        site: Site<'_, M>,
        accounts: &mut [Account],
        sink: &mut impl Sink<M>,
        seen: &mut impl Observer,
    ) -> Outcome<()> {
        let Site { layout, host, link, mem, now } = site;
        let subsystem = layout.subsystem;
        let words = &host.shards[self.shard as usize];
        match self.at {
            At::Tail => {
                let (queue, head) = (self.queue(layout), self.heads[self.index as usize]);
                self.tail = link.get(layout.tails.plus(queue));
                // An index out of range is corrupt: taken as empty, never followed (I19).
                if self.tail < layout.ready && self.tail != head {
                    self.found = true;
                    self.at = At::Entry;
                    return Outcome::Progress;
                }
                self.index += 1;
                if self.index as usize == self.heads.len() {
                    self.index = 0;
                    self.at = At::Request;
                }
            }
            At::Entry => {
                self.read_entry(layout, link, accounts, seen);
                let early = self.rules.faults.has(Fault::AckBeforeDeliver);
                self.at = match () {
                    // The buffer is lost to us, but the payloads before and in it are not waited for.
                    () if self.stranded && !layout.arenas.is_empty() => At::Room,
                    () if self.stranded || early => At::Acknowledge,
                    () => At::Copy,
                };
            }
            At::Copy => {
                let pool = &layout.pools[self.taken.pool as usize];
                let account = &mut accounts[self.taken.pool as usize];
                if sink.copies(pool, &self.taken) {
                    link.fetch(pool.buffer(self.taken.buffer), pool.buffer_words);
                    let count = link.peek(pool.buffer(self.taken.buffer).plus(pool.count_at));
                    if count > pool.capacity {
                        let (records, cause) = (count - pool.capacity, Cause::CountClamped);
                        account.lose(cause, records);
                        seen.on(Event::Lost { subsystem, pool: self.taken.pool, cause, records });
                    }
                    self.taken.records = count.min(pool.capacity);
                    sink.spool(pool, &self.taken, link);
                    account.spooled = account.spooled.wrapping_add(self.taken.records);
                    let Taken { pool, buffer, seq, records, .. } = self.taken;
                    seen.on(Event::Spool { subsystem, pool, buffer, seq, records });
                } else {
                    // Nothing to collect, but the buffer goes its way and comes back.
                    let (records, cause) = (self.taken.records, Cause::CopyFailed);
                    account.lose(cause, records);
                    seen.on(Event::Lost { subsystem, pool: self.taken.pool, cause, records });
                    self.taken.records = 0;
                }
                account.next_seq = self.taken.seq.wrapping_add(1);
                self.at = At::Room;
            }
            At::Room => {
                let head = mem.load(words.ready.head, Acquire);
                self.tail = mem.load(words.ready.tail, Acquire);
                if words.ready.is_full(head, self.tail) {
                    // Blocks and never discards; the collector lives until the end (upstream #1658).
                    return Outcome::Wait {
                        word: words.ready.head,
                        expected: head,
                        deadline: Some(now + POLL),
                    };
                }
                self.at = if self.stranded { At::Deliver } else { At::Held };
            }
            // Before the entry is acknowledged: a ready queue that looks drained has its buffers counted.
            At::Held => {
                let held = host.pools[self.taken.pool as usize].held;
                mem.store(held, mem.load(held, Acquire).wrapping_add(1), Release);
                self.at = At::Deliver;
            }
            At::Deliver => {
                let Taken { pool, buffer, seq, records, marks } = self.taken;
                words.ready.write(mem, self.tail, &[pool, buffer, seq, records, marks]);
                mem.store(words.ready.tail, self.tail.wrapping_add(1), Release);
                if !self.stranded {
                    seen.on(Event::Deliver { subsystem, pool, buffer, seq, records });
                }
                self.at = if self.acknowledged { At::Frozen } else { At::Acknowledge };
            }
            At::Acknowledge => {
                let queue = self.queue(layout);
                let head = (self.heads[self.index as usize] + 1) % layout.ready;
                self.heads[self.index as usize] = head;
                link.put(layout.heads.plus(queue), head);
                seen.on(Event::Acknowledge { subsystem, queue, head });
                let early = self.rules.faults.has(Fault::AckBeforeDeliver);
                self.acknowledged = early && !self.stranded;
                self.at = match () {
                    () if self.stranded => At::Tail,
                    () if early => At::Copy,
                    () => At::Frozen,
                };
            }
            At::Frozen => {
                self.acknowledged = false;
                // The flags are the host's own. While one is up, queues are filled for the release.
                let block = layout.backpressure;
                let frozen = link.peek(block.rq_freeze_active) != 0 || link.peek(block.fq_freeze_active) != 0;
                self.fill = Fill::of(self.taken.pool);
                self.at = if frozen { At::Tail } else { At::Fill };
            }
            At::Fill => {
                if self.fill.step(site, seen) {
                    self.at = At::Tail;
                }
            }
            At::Request => {
                self.request = mem.load(words.request, Acquire);
                if self.request == mem.load(words.granted, Acquire) {
                    self.at = At::Stop;
                } else if let Some(first) = self.next_pool(layout, 0) {
                    self.fill = Fill::of(first);
                    self.at = At::FillAll;
                } else {
                    self.at = At::Grant;
                }
            }
            At::FillAll => {
                if self.fill.step(site, seen) {
                    match self.next_pool(layout, self.fill.pool + 1) {
                        Some(next) => self.fill = Fill::of(next),
                        None => self.at = At::Grant,
                    }
                }
            }
            At::Grant => {
                mem.store(words.granted, self.request, Release);
                self.at = At::Stop;
            }
            At::Stop => {
                let stop = mem.load(host.stop, Acquire) != 0;
                self.at = At::Tail;
                let found = std::mem::take(&mut self.found);
                if self.finishing && !found {
                    return Outcome::Ready(());
                }
                self.finishing = stop;
                if !stop && !found {
                    let first = layout.tails.plus(self.shard);
                    return Outcome::Wait {
                        word: first,
                        expected: link.peek(first),
                        deadline: Some(now + POLL),
                    };
                }
            }
        }
        Outcome::Progress
    }

    /// The first pool of this shard from `from` on.
    fn next_pool(&self, layout: &Layout, from: u32) -> Option<u32> {
        (from..layout.pools.len() as u32)
            .find(|&pool| layout.shard(layout.pools[pool as usize].lane) == self.shard)
    }

    fn read_entry<M: WideMemory>(
        &mut self,
        layout: &Layout,
        link: Link<'_, M>,
        accounts: &mut [Account],
        seen: &mut impl Observer,
    ) {
        let queue = self.queue(layout);
        let at = layout.entry(queue, self.heads[self.index as usize]);
        link.fetch(at, ENTRY_WORDS);
        let mut entry = [0; ENTRY_WORDS as usize];
        link.read(at, &mut entry);
        let [owner, kind, low, high, seq, marks, records, _] = entry;
        let pool = layout
            .pools
            .iter()
            .position(|pool| pool.kind as u32 == kind && pool.owner == owner && pool.lane == queue);
        let buffer = pool.and_then(|pool| {
            let address = u64::from(low) | u64::from(high) << 32;
            let word = u32::try_from(address / 4).ok().filter(|_| address.is_multiple_of(4))?;
            layout.pools[pool].index_of(Word(word))
        });
        let (subsystem, cause) = (layout.subsystem, Cause::CorruptEntry);
        self.stranded = buffer.is_none();
        if self.stranded && !layout.arenas.is_empty() {
            let pool = layout.pools.iter().position(|pool| pool.lane == queue).unwrap_or(0) as u32;
            self.taken = Taken { pool, buffer: Taken::NO_BUFFER, seq: 0, records: 0, marks };
        }
        match (pool, buffer) {
            (Some(pool), Some(buffer)) => {
                let records = records.min(layout.pools[pool].capacity);
                self.taken = Taken { pool: pool as u32, buffer, seq, records, marks };
            }
            // Whose it was is known: its records are charged, the others are found missing at the end.
            (Some(pool), None) => {
                let records = records.min(layout.pools[pool].capacity);
                accounts[pool].lose(cause, records);
                seen.on(Event::Lost { subsystem, pool: pool as u32, cause, records });
            }
            (None, _) => {}
        }
    }
}
