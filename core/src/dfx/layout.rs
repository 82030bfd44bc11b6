//! Where everything is in the shared region of one subsystem (dfx spec §1).
//!
//! Offsets, record sizes and orders are those of the real device for the profiles a2a3 and a5. What
//! we add stands behind the states (the [extension](Layout::extension)) or in padding: causes of
//! drops, the total that the dumps lack, a buffer's count and payload mark in its ready entry.

use super::event::Event;
use super::profile::{PoolKind, Profile, Subsystem};
use crate::machine::Word;

/// Bytes of a ready-queue entry.
pub const ENTRY_BYTES: u32 = 32;
/// Words of a ready-queue entry: owner, kind, buffer (2), sequence, payload mark, count, –. The real
/// entry has padding where mark and count stand.
pub(super) const ENTRY_WORDS: u32 = ENTRY_BYTES / 4;
/// Drop causes that a device counts, in the last bytes of each state.
pub(super) const DEVICE_CAUSES: u32 = 7;

/// The words of the freeze block (dfx spec §1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backpressure {
    /// Host → device: the push gate is closed.
    pub rq_freeze_active: Word,
    /// Device → host: some lane found its ready queue full.
    pub rq_contended: Word,
    /// Host → device: the pop gate is closed.
    pub fq_freeze_active: Word,
    /// Device → host: some lane found a free queue empty, or its arena full.
    pub fq_contended: Word,
}

/// Words that the real region does not have, in 64 bytes behind the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    /// Releases of the push gate so far; written by the host.
    pub rq_generation: Word,
    /// Releases of the pop gate so far; written by the host.
    pub fq_generation: Word,
    /// Bumped by every tick of the host: a lane that gave up on it starts to wait again.
    pub heartbeat: Word,
}

/// The fields of one pool's state that both sides need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Buffer being filled, as byte offset in the region; 0 for none. 64 bits.
    pub current: Word,
    /// Number of that buffer, from 0.
    pub seq: Word,
    /// Records wanted, without those in the current buffer.
    pub total: Word,
    /// Records dropped.
    pub dropped: Word,
    /// dep_gen: extra slots of chains.
    pub overflow: Option<Word>,
    /// Dropped by cause, in the order of the device's causes.
    pub causes: Word,
    /// Slots of the free queue, 64 bits each.
    pub fq_slots: Word,
    /// Taken so far; written by the device.
    pub fq_head: Word,
    /// Given so far; written by the host.
    pub fq_tail: Word,
}

/// One pool and its buffers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pool {
    /// What it holds.
    pub kind: PoolKind,
    /// Core, lane or 0 (dfx spec §1.2).
    pub owner: u32,
    /// The lane that writes it, or hands its core the buffers.
    pub lane: u32,
    /// Its state.
    pub state: State,
    /// Slots of its free queue.
    pub slots: u32,
    /// Words of a record.
    pub record_words: u32,
    /// Records in a buffer.
    pub capacity: u32,
    /// The first buffer.
    pub buffers: Word,
    /// Words from one buffer to the next.
    pub buffer_words: u32,
    /// Buffers at the start.
    pub count: u32,
    /// Buffers that there is room for; more than `count` only where allocation is allowed.
    pub most: u32,
    /// Words from the start of a buffer to its first record.
    pub first: u32,
    /// Words from the start of a buffer to its count.
    pub count_at: u32,
}

impl Pool {
    /// The start of buffer `index`.
    pub fn buffer(&self, index: u32) -> Word {
        self.buffers.plus(index * self.buffer_words)
    }

    /// Which buffer starts at `word`, if one does.
    pub fn index_of(&self, word: Word) -> Option<u32> {
        let offset = word.0.checked_sub(self.buffers.0)?;
        (offset.is_multiple_of(self.buffer_words) && offset / self.buffer_words < self.most)
            .then(|| offset / self.buffer_words)
    }
}

/// A lane's payload arena (dfx spec §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arena {
    /// Its first byte.
    pub base: Word,
    /// Bytes.
    pub size: u64,
    /// Logical bytes written, over all laps; 64 bits, written by the device.
    pub write_offset: Word,
    /// Payloads in published buffers; 64 bits, written by the device.
    pub published: Word,
    /// Payloads that the host is done with; 64 bits, written by the host.
    pub completed: Word,
}

/// The region of one subsystem.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Whose.
    pub subsystem: Subsystem,
    /// Lanes that run; the last one is the orchestrator.
    pub lanes: u32,
    /// Drain and collector shards: lanes, or 1 where only the orchestrator writes (dfx spec §3.1).
    pub shards: u32,
    /// Ready queues there are, one for each lane that the profile has room for.
    pub queues: u32,
    /// Entries of a ready queue.
    pub ready: u32,
    /// Heads of the ready queues, one word each; written by the host.
    pub heads: Word,
    /// Tails of the ready queues, one word each; written by the device.
    pub tails: Word,
    /// The first word behind the tails: what is there differs by subsystem (dfx spec §1.3).
    pub metadata: Word,
    /// The freeze block.
    pub backpressure: Backpressure,
    /// Bytes of the real header.
    pub header_bytes: u32,
    /// Bytes of the real region: header and states.
    pub region_bytes: u32,
    /// Our own words.
    pub extension: Extension,
    /// The pools of all lanes and cores that run.
    pub pools: Vec<Pool>,
    /// By lane; only the tensor dump has arenas.
    pub arenas: Vec<Arena>,
    /// Words in all, buffers and arenas included.
    pub words: u32,
}

/// Most bytes of one region with its buffers and arenas: words have 32-bit addresses.
pub const MAX_BYTES: u64 = 8 << 30;

/// Where the freeze block begins, and how long the header is (dfx spec §1.3).
fn header(profile: &Profile, subsystem: Subsystem, after_tails: u32) -> (u32, u32) {
    let up = |value: u32, to: u32| value.next_multiple_of(to);
    match subsystem {
        Subsystem::Swimlane => {
            let block = up(after_tails + 5 * 4 + profile.max_cores, 4);
            (block, up(block + 16, 64))
        }
        Subsystem::Pmu => {
            let block = after_tails + 2 * 4;
            (block, up(block + 16 + if profile.pmu_ring { 8 } else { 0 }, 64))
        }
        Subsystem::DepGen => (after_tails + 4, up(after_tails + 4 + 16, 64)),
        Subsystem::ArgsDump | Subsystem::TensorDump => {
            let block = up(after_tails + 2 * 4, 8) + 8 + 2 * 4;
            (block, up(block + 16, 64))
        }
        Subsystem::ScopeStats => {
            let block = after_tails + 4;
            (block, up(up(block + 16 + 2 * 16, 8) + 4 * 8 + 2 * 4, 64))
        }
    }
}

/// Bytes of a state, of the free queue in it, and where that begins.
fn state_shape(subsystem: Subsystem, slots: u32) -> (u32, u32, u32) {
    // 128 bytes in the real device, which has 4 or 8 slots; more only where a profile asks for more.
    let queue = (8 * slots + 8).next_multiple_of(64).max(128);
    match subsystem {
        Subsystem::Swimlane => (64 + queue, queue, 64),
        Subsystem::ArgsDump | Subsystem::TensorDump => (queue + 128, queue, 0),
        _ => (queue + 64, queue, 0),
    }
}

/// A pool's state at byte `at` (dfx spec §1.4).
fn state(profile: &Profile, subsystem: Subsystem, at: u32, slots: u32) -> State {
    let (bytes, queue, queue_at) = state_shape(subsystem, slots);
    let word = |byte: u32| Word((at + byte) / 4);
    let fields = |current, seq, total, dropped| State {
        current: word(current),
        seq: word(seq),
        total: word(total),
        dropped: word(dropped),
        overflow: None,
        causes: word(bytes - 4 * DEVICE_CAUSES),
        fq_slots: word(queue_at),
        fq_head: word(queue_at + 8 * slots),
        fq_tail: word(queue_at + 8 * slots + 4),
    };
    let q = queue;
    match subsystem {
        // The head line has 64 bytes; the causes stand in its padding, not behind the queue.
        Subsystem::Swimlane => State { causes: word(64 - 4 * DEVICE_CAUSES), ..fields(0, 8, 12, 16) },
        Subsystem::Pmu if profile.pmu_ring => fields(q, q + 16, q + 20, q + 24),
        Subsystem::Pmu | Subsystem::ScopeStats => fields(q, q + 8, q + 16, q + 12),
        Subsystem::DepGen => State { overflow: Some(word(q + 20)), ..fields(q, q + 8, q + 16, q + 12) },
        // The total is ours: the real dumps have none.
        Subsystem::ArgsDump | Subsystem::TensorDump => fields(q, q + 8, q + 60, q + 56),
    }
}

impl Layout {
    /// The region of `subsystem` for `lanes` lanes (the last is the orchestrator) and `cores` cores,
    /// core `c` served by lane `c` modulo the scheduling lanes. `spare`: buffers of each pool that
    /// may be allocated later. None if the sizes do not fit into [`MAX_BYTES`].
    pub fn new(profile: &Profile, subsystem: Subsystem, lanes: u32, cores: u32, spare: u32) -> Option<Self> {
        let schedulers = lanes.saturating_sub(1).max(1);
        let queues = profile.max_lanes;
        let ready = profile.ready[subsystem as usize];
        let heads = u64::from(queues) * u64::from(ready) * u64::from(ENTRY_BYTES);
        if heads > MAX_BYTES / 8 || lanes == 0 || lanes > queues || cores > profile.max_cores {
            return None;
        }
        let heads = heads as u32;
        let tails = heads + 4 * queues;
        let metadata = tails + 4 * queues;
        let (block, header_bytes) = header(profile, subsystem, metadata);
        let mut pools: Vec<Pool> = Vec::new();
        // Both sides take room for all cores, so that they cannot disagree about how many run.
        let mut at = u64::from(header_bytes);
        for &kind in subsystem.kinds() {
            let size = profile.pool(kind);
            let (bytes, ..) = state_shape(subsystem, size.slots);
            let (places, present) = match kind {
                _ if kind.per_core() => (profile.max_cores, cores),
                PoolKind::DepGen | PoolKind::ScopeStats => (1, 1),
                PoolKind::OrchPhase => (queues, 1),
                // The dumps have a state for each lane, the orchestrator's included.
                PoolKind::ArgsDump | PoolKind::TensorDump => (queues, lanes),
                _ => (queues, schedulers),
            };
            if at + u64::from(places) * u64::from(bytes) > MAX_BYTES / 8 {
                return None;
            }
            for owner in 0..present {
                let record_words = kind.record_bytes() / 4;
                let records = size.records.checked_mul(record_words).filter(|words| *words < 1 << 28)?;
                let (first, count_at) = if kind.count_first() { (16, 0) } else { (0, records) };
                let behind = if kind.count_first() { 16 + records } else { records + 1 };
                pools.push(Pool {
                    kind,
                    owner,
                    lane: match kind {
                        _ if kind.orchestrator_only() => lanes - 1,
                        _ if kind.per_core() => owner % schedulers,
                        _ => owner,
                    },
                    state: state(profile, subsystem, at as u32 + owner * bytes, size.slots),
                    slots: size.slots,
                    record_words,
                    capacity: size.records,
                    buffers: Word(0),
                    buffer_words: behind.next_multiple_of(16),
                    count: size.buffers,
                    most: size.buffers + spare,
                    first,
                    count_at,
                });
            }
            at += u64::from(places) * u64::from(bytes);
        }
        let region_bytes = at as u32;
        let extension = Word(region_bytes / 4);
        let mut end = u64::from(region_bytes) / 4 + 16;
        for pool in &mut pools {
            pool.buffers = Word(u32::try_from(end).ok()?);
            end += u64::from(pool.buffer_words) * u64::from(pool.most);
        }
        let mut arenas = Vec::new();
        if subsystem == Subsystem::TensorDump {
            for pool in &pools {
                let state = pool.state.current;
                arenas.push(Arena {
                    base: Word(u32::try_from(end).ok()?),
                    size: profile.arena_bytes,
                    write_offset: state.plus(8),
                    published: state.plus(10),
                    completed: state.plus(12),
                });
                end += profile.arena_bytes.div_ceil(4).next_multiple_of(16);
            }
        }
        if end * 4 > MAX_BYTES {
            return None;
        }
        let only = matches!(subsystem, Subsystem::DepGen | Subsystem::ScopeStats);
        let block = Word(block / 4);
        Some(Self {
            subsystem,
            lanes,
            shards: if only { 1 } else { lanes },
            queues,
            ready,
            heads: Word(heads / 4),
            tails: Word(tails / 4),
            metadata: Word(metadata / 4),
            backpressure: Backpressure {
                rq_freeze_active: block,
                rq_contended: block.plus(1),
                fq_freeze_active: block.plus(2),
                fq_contended: block.plus(3),
            },
            header_bytes,
            region_bytes,
            extension: Extension {
                rq_generation: extension,
                fq_generation: extension.plus(1),
                heartbeat: extension.plus(2),
            },
            pools,
            arenas,
            words: end as u32,
        })
    }

    /// Entry `index` of lane `queue`'s ready queue.
    pub fn entry(&self, queue: u32, index: u32) -> Word {
        Word((queue * self.ready + index) * ENTRY_WORDS)
    }

    /// The shard that serves a lane's ready queue.
    pub fn shard(&self, lane: u32) -> u32 {
        lane % self.shards
    }

    /// What a log says of the region at its beginning; free queues begin at index `first`.
    pub fn events(&self, first: u32) -> impl Iterator<Item = Event> + '_ {
        let subsystem = self.subsystem;
        let (lanes, ready, shards) = (self.lanes, self.ready, self.shards);
        let arena_bytes = self.arenas.first().map_or(0, |arena| arena.size);
        let region = Event::Region { subsystem, lanes, ready, shards, arena_bytes };
        let pools = self.pools.iter().enumerate().map(move |(index, pool)| Event::Pool {
            subsystem,
            pool: index as u32,
            of: pool.kind,
            owner: pool.owner,
            lane: pool.lane,
            records: pool.capacity,
            buffers: pool.count,
            slots: pool.slots,
            first,
        });
        std::iter::once(region).chain(pools)
    }

    /// The pool of a kind and owner.
    pub fn find(&self, kind: PoolKind, owner: u32) -> Option<usize> {
        self.pools.iter().position(|pool| pool.kind == kind && pool.owner == owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and offsets as printed by a compiler for the real headers (dfx spec §1.3).
    #[track_caller]
    fn check(profile: &Profile, subsystem: Subsystem, expected: [u32; 5]) {
        let layout = Layout::new(profile, subsystem, 2, 3, 0).expect("fits");
        let bytes = |word: Word| word.0 * 4;
        let block = bytes(layout.backpressure.rq_freeze_active);
        assert_eq!(
            [layout.header_bytes, layout.ready, bytes(layout.heads), bytes(layout.tails), block],
            expected,
            "{} {subsystem}",
            profile.name
        );
    }

    #[test]
    fn headers_are_those_of_the_device() {
        let (a2a3, a5) = (Profile::a2a3(), Profile::a5());
        check(&a2a3, Subsystem::Swimlane, [127_168, 992, 126_976, 126_992, 127_100]);
        check(&a5, Subsystem::Swimlane, [233_152, 1456, 232_960, 232_980, 233_128]);
        check(&a2a3, Subsystem::Pmu, [18_496, 144, 18_432, 18_448, 18_472]);
        check(&a5, Subsystem::Pmu, [34_688, 216, 34_560, 34_580, 34_608]);
        check(&a2a3, Subsystem::DepGen, [1088, 8, 1024, 1040, 1060]);
        check(&a5, Subsystem::DepGen, [1344, 8, 1280, 1300, 1324]);
        for dump in [Subsystem::ArgsDump, Subsystem::TensorDump] {
            check(&a2a3, dump, [8320, 64, 8192, 8208, 8248]);
            check(&a5, dump, [12_928, 80, 12_800, 12_820, 12_864]);
        }
        check(&a2a3, Subsystem::ScopeStats, [1152, 8, 1024, 1040, 1060]);
        check(&a5, Subsystem::ScopeStats, [1472, 8, 1280, 1300, 1324]);
    }

    #[test]
    fn buffers_are_those_of_the_device() {
        let sizes = [
            (PoolKind::AicpuTask, 32_064, 32_000),
            (PoolKind::AicoreTask, 32_832, 32_768),
            (PoolKind::SchedPhase, 1_048_640, 1_048_576),
            (PoolKind::OrchPhase, 524_352, 524_288),
            (PoolKind::Pmu, 32_832, 32_768),
            (PoolKind::DepGen, 4_784_192, 0),
            (PoolKind::ScopeStats, 41_024, 0),
            (PoolKind::ArgsDump, 32_832, 32_768),
            (PoolKind::TensorDump, 32_832, 32_768),
        ];
        for profile in [Profile::a2a3(), Profile::a5()] {
            for (kind, bytes, count_at) in sizes {
                let subsystem =
                    Subsystem::ALL.into_iter().find(|s| s.kinds().contains(&kind)).expect("in one");
                let layout = Layout::new(&profile, subsystem, 2, 3, 0).expect("fits");
                let pool = layout.pools.iter().find(|pool| pool.kind == kind).expect("has one");
                assert_eq!((pool.buffer_words * 4, pool.count_at * 4), (bytes, count_at), "{kind}");
            }
        }
    }

    #[test]
    fn states_are_those_of_the_device() {
        let layout = |profile: &Profile, s| Layout::new(profile, s, 2, 2, 0).expect("fits");
        let at = |layout: &Layout, word: Word| word.0 * 4 - layout.header_bytes;
        let (a2a3, a5) = (Profile::a2a3(), Profile::a5());
        let swimlane = layout(&a2a3, Subsystem::Swimlane);
        let second = &swimlane.pools[1].state;
        assert_eq!(
            [second.current, second.total, second.fq_slots].map(|w| at(&swimlane, w)),
            [192, 204, 256]
        );
        // All cores have their place, also those that do not run.
        let sched = swimlane.find(PoolKind::SchedPhase, 0).expect("one per scheduling lane");
        assert_eq!(at(&swimlane, swimlane.pools[sched].state.current), 2 * 72 * 192);
        let pmu = layout(&a5, Subsystem::Pmu);
        let first = &pmu.pools[0].state;
        assert_eq!(
            [first.current, first.seq, first.total, first.dropped].map(|w| at(&pmu, w)),
            [128, 144, 148, 152]
        );
        let pmu = layout(&a2a3, Subsystem::Pmu);
        let first = &pmu.pools[0].state;
        assert_eq!([first.seq, first.dropped, first.total].map(|w| at(&pmu, w)), [136, 140, 144]);
        let dump = layout(&a2a3, Subsystem::TensorDump);
        let (state, arena) = (&dump.pools[1].state, &dump.arenas[1]);
        assert_eq!(
            [state.current, arena.write_offset, arena.published, arena.completed, state.dropped]
                .map(|w| at(&dump, w)),
            [256 + 128, 256 + 160, 256 + 168, 256 + 176, 256 + 184]
        );
    }

    /// No two fields of a region share a word, whatever the sizes.
    #[test]
    fn fields_do_not_overlap() {
        for (slots, ready, ring) in [(1, 2, false), (2, 3, true), (4, 8, true), (8, 5, false), (16, 2, true)]
        {
            let mut profile = Profile { pmu_ring: ring, ..Profile::custom(5, 7) };
            profile.ready = [ready; 6];
            profile.pools.iter_mut().for_each(|pool| pool.slots = slots);
            for subsystem in Subsystem::ALL {
                let layout = Layout::new(&profile, subsystem, 4, 6, 1).expect("fits");
                let mut used = std::collections::BTreeSet::new();
                let mut take = |word: Word, n: u32| {
                    for word in word.0..word.0 + n {
                        assert!(used.insert(word), "{subsystem} slots {slots}: word {word} twice");
                        assert!(word < layout.words);
                    }
                };
                take(Word(0), layout.heads.0);
                take(layout.heads, layout.queues);
                take(layout.tails, layout.queues);
                take(layout.backpressure.rq_freeze_active, 4);
                take(layout.extension.rq_generation, 3);
                for pool in &layout.pools {
                    let State { current, seq, total, dropped, overflow, causes, fq_slots, fq_head, fq_tail } =
                        pool.state;
                    assert!(current.0.is_multiple_of(2) && fq_slots.0.is_multiple_of(2));
                    take(current, 2);
                    overflow.into_iter().for_each(|word| take(word, 1));
                    take(causes, DEVICE_CAUSES);
                    take(fq_slots, 2 * slots);
                    for word in [seq, total, dropped, fq_head, fq_tail] {
                        take(word, 1);
                    }
                    take(pool.buffers, pool.most * pool.buffer_words);
                }
                for arena in &layout.arenas {
                    for word in [arena.write_offset, arena.published, arena.completed] {
                        take(word, 2);
                    }
                    take(arena.base, arena.size.div_ceil(4) as u32);
                }
            }
        }
    }
}
