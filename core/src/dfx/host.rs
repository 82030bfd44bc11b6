//! The host's side of one region: drains, the replenish tick with its freeze machine, collectors,
//! the payload writer (dfx spec §3).
//!
//! Each is a machine of its own, made to run on a thread of its own. What they share stands in
//! words of the host's memory: rings with one producer and one consumer, and a few flags. A free
//! queue has one writer by construction: the drain that serves its lane. Whoever wants it refilled
//! asks that drain.

mod collector;
mod drain;
mod replenish;
mod ring;
mod writer;

pub use collector::Collector;
pub use drain::Drain;
pub use replenish::Replenish;
pub use writer::PayloadWriter;

pub(crate) use ring::Ring;

use std::sync::atomic::Ordering::Release;

use super::event::Cause;
use super::layout::{Layout, Pool};
use super::link::Link;
use super::rules::{Fault, Rules};
use crate::machine::{Ticks, WideMemory, Word};

/// How long an idle host thread sleeps, unless set otherwise (dfx spec §3.7).
pub const POLL: Ticks = 10_000;

/// What every thread of a host is given for one step: where things are, and the two memories.
#[derive(Debug)]
pub struct Site<'a, M> {
    /// The region.
    pub layout: &'a Layout,
    /// The host's own words.
    pub host: &'a HostLayout,
    /// The way to the region.
    pub link: Link<'a, M>,
    /// The memory with the host's own words.
    pub mem: &'a M,
    /// The clock.
    pub now: Ticks,
}

impl<M> Clone for Site<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Site<'_, M> {}

/// Where the host's own words are, in a memory that the device does not see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostLayout {
    /// Set once the device has flushed: drains and replenish make a last pass and end.
    pub stop: Word,
    /// Set when these have ended: collectors empty their rings and end.
    pub complete: Word,
    /// Set when these have ended: the writer ends.
    pub collected: Word,
    pub(crate) shards: Vec<Shard>,
    pub(crate) pools: Vec<Recycled>,
    /// By lane: payload marks of what the writer is done with.
    pub(crate) handled: Vec<Word>,
    /// Words in all.
    pub words: u32,
}

/// What the threads of one shard share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shard {
    /// Drain → collector.
    pub(crate) ready: Ring,
    /// Collector → replenish.
    pub(crate) done: Ring,
    /// Collector → writer.
    pub(crate) payloads: Ring,
    /// Replenish → drain: fill the free queues, for the n-th time.
    pub(crate) request: Word,
    /// Drain → replenish: done for the n-th time.
    pub(crate) granted: Word,
}

/// Buffers of one pool that the host has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Recycled {
    /// Replenish → drain: those that may be filled again.
    pub(crate) ring: Ring,
    /// All that the host has, in whatever ring or hand; written by the drain.
    pub(crate) held: Word,
}

impl HostLayout {
    /// The host's words for a region.
    pub fn new(layout: &Layout, rules: Rules) -> Self {
        let mut at = 4;
        let mut ring = |entries: u32, width: u32| {
            let ring = Ring::new(Word(at), entries, width);
            at += ring.words();
            ring
        };
        let mut shards = Vec::new();
        for shard in 0..layout.shards {
            let mine = layout.pools.iter().filter(|pool| layout.shard(pool.lane) == shard);
            let buffers: u32 = mine.map(|pool| pool.most).sum();
            // Large enough for all buffers, so that nobody waits here (T12); the fault has the
            // ring as it was, sized for the usual case.
            let done = if rules.faults.has(Fault::DoneRingIgnored) { 1 } else { buffers };
            shards.push(Shard {
                ready: ring(buffers, READY_WORDS),
                done: ring(done, 2),
                payloads: ring(buffers, 2),
                request: Word(0),
                granted: Word(0),
            });
        }
        let mut pools: Vec<Recycled> =
            layout.pools.iter().map(|pool| Recycled { ring: ring(pool.most, 1), held: Word(0) }).collect();
        let mut word = || {
            at += 1;
            Word(at - 1)
        };
        for shard in &mut shards {
            (shard.request, shard.granted) = (word(), word());
        }
        pools.iter_mut().for_each(|pool| pool.held = word());
        let handled = (0..layout.lanes).map(|_| word()).collect();
        Self { stop: Word(0), complete: Word(1), collected: Word(2), shards, pools, handled, words: at }
    }

    /// What the thread that started the others does when it has joined some of them: tells the rest.
    /// `ended`: drains, replenish, collectors, writer. True if all have.
    pub fn join<M: WideMemory>(&self, mem: &M, ended: &[bool]) -> bool {
        let shards = self.shards.len();
        if ended[..=shards].iter().all(|ended| *ended) {
            mem.store(self.complete, 1, Release);
            if ended[shards + 1..][..shards].iter().all(|ended| *ended) {
                mem.store(self.collected, 1, Release);
            }
        }
        ended.iter().all(|ended| *ended)
    }

    /// Words whose change is news for the drain of a shard; others for the other threads.
    pub fn watched_by_drain(&self, shard: u32) -> Vec<Word> {
        let words = &self.shards[shard as usize];
        vec![self.stop, words.request, words.ready.head]
    }

    /// As [`Self::watched_by_drain`].
    pub fn watched_by_collector(&self, shard: u32) -> Vec<Word> {
        let words = &self.shards[shard as usize];
        vec![self.complete, words.ready.tail, words.done.head, words.payloads.head]
    }

    /// As [`Self::watched_by_drain`].
    pub fn watched_by_replenish(&self) -> Vec<Word> {
        let mut words = vec![self.stop];
        words.extend(self.shards.iter().flat_map(|shard| [shard.done.tail, shard.granted]));
        words.extend(&self.handled);
        words.extend(self.pools.iter().map(|pool| pool.held));
        words
    }

    /// As [`Self::watched_by_drain`].
    pub fn watched_by_writer(&self) -> Vec<Word> {
        let mut words = vec![self.collected];
        words.extend(self.shards.iter().map(|shard| shard.payloads.tail));
        words
    }

    /// Buffers of `pool` in its recycled ring, oldest first; for checks.
    pub fn recycled<M: WideMemory>(&self, host: &M, pool: usize) -> Vec<u32> {
        self.pools[pool].ring.content(host).into_iter().map(|[buffer, ..]| buffer).collect()
    }

    /// Payloads of `lane` that the host is done with; for checks.
    pub fn handled<M: WideMemory>(&self, host: &M, lane: usize) -> u32 {
        host.load(self.handled[lane], std::sync::atomic::Ordering::Acquire)
    }

    /// (pool, buffer) in a shard's ready ring and in its done ring; for checks.
    pub fn in_rings<M: WideMemory>(&self, host: &M, shard: usize) -> [Vec<(u32, u32)>; 2] {
        let pairs = |ring: &Ring| ring.content(host).into_iter().map(|[pool, buffer, ..]| (pool, buffer));
        [pairs(&self.shards[shard].ready).collect(), pairs(&self.shards[shard].done).collect()]
    }
}

/// Words of an entry in a ready ring.
const READY_WORDS: u32 = 5;

/// A buffer that the host has taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Taken {
    /// Pool of the layout.
    pub pool: u32,
    /// Buffer of the pool.
    pub buffer: u32,
    /// Its number in the pool's order.
    pub seq: u32,
    /// Records in it; at most the buffer's capacity.
    pub records: u32,
    /// Payloads of the lane in this and all earlier buffers.
    pub marks: u32,
}

/// What became of a pool's records at the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Account {
    /// Records that a collector was given.
    pub collected: u32,
    /// Records in the spool: what is collected if the host dies (contracts §6).
    pub spooled: u32,
    /// The next buffer in order.
    pub next_seq: u32,
    /// Records lost, by cause.
    pub lost: [u32; Cause::ALL.len()],
}

impl Taken {
    /// Stands for a buffer whose entry was corrupt: only its payload mark is handed on.
    pub const NO_BUFFER: u32 = u32::MAX;
}

impl Account {
    fn lose(&mut self, cause: Cause, records: u32) {
        let lost = &mut self.lost[cause as usize];
        *lost = lost.wrapping_add(records);
    }
}

/// Where records end up; also where the world can make a copy, a write or a sink fail.
pub trait Sink<M> {
    /// Whether the copy of this buffer to the host succeeds.
    fn copies(&mut self, pool: &Pool, taken: &Taken) -> bool;
    /// Frames the records into the spool, before the entry is acknowledged.
    fn spool(&mut self, pool: &Pool, taken: &Taken, link: Link<'_, M>);
    /// Takes over the records; says how many it had room for.
    fn collect(&mut self, pool: &Pool, taken: &Taken, link: Link<'_, M>) -> u32;
    /// Writes the payloads of one buffer of the tensor dump; false if that failed.
    fn write_payloads(&mut self, lane: u32, link: Link<'_, M>) -> bool;
}

/// Starts a region: every free queue gets up to its slots, the rest is recycled, all zero else. Free
/// queues begin at `first`, ready queues at 0.
pub fn seed<M: WideMemory>(layout: &Layout, host: &HostLayout, link: Link<'_, M>, mem: &M, first: u32) {
    for (index, pool) in layout.pools.iter().enumerate() {
        link.put(pool.state.fq_head, first);
        let queued = pool.count.min(pool.slots);
        for buffer in 0..queued {
            let slot = first.wrapping_add(buffer) % pool.slots;
            link.put64(pool.state.fq_slots.plus(2 * slot), u64::from(pool.buffer(buffer).0) * 4);
        }
        link.put(pool.state.fq_tail, first.wrapping_add(queued));
        for buffer in queued..pool.count {
            host.pools[index].ring.push(mem, &[buffer]);
        }
        WideMemory::write_range(mem, host.pools[index].held, &[pool.count - queued]);
    }
}
