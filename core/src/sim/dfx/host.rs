//! What the simulated host does with buffers: keeps records, writes payloads, fails when told to.

use std::collections::VecDeque;

use crate::dfx::artifact::Written;
use crate::dfx::host::{Sink, Taken};
use crate::dfx::record::View;
use crate::dfx::{Arena, Layout, Link, Pool, PoolKind};
use crate::machine::WideMemory;
use crate::rng::Rng;

/// A payload that the writer has yet to copy: pool, place among its records, offset, bytes.
type Due = (u32, usize, u64, u64);

/// Records of one pool, each without the zeros at its end: of a dep_gen record hardly a fifth is
/// used, and memory that is written for the first time is what a long run waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    words: Vec<u32>,
    /// By record: where it ends.
    ends: Vec<usize>,
}

impl Kept {
    /// How many records there are.
    fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a record.
    fn push(&mut self, record: &[u32]) {
        // Whole groups of words first: that is one comparison for many.
        let used = |record: &[u32]| {
            let groups = record.rchunks(GROUP).take_while(|group| group.iter().fold(0, |a, b| a | b) == 0);
            let rest = &record[..record.len() - groups.map(<[u32]>::len).sum::<usize>()];
            rest.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1)
        };
        self.words.extend_from_slice(&record[..used(record)]);
        self.ends.push(self.words.len());
    }

    /// The words of each record from `first` on, as far as they are kept.
    fn parts(&self, first: usize) -> impl Iterator<Item = &[u32]> {
        let mut start = if first == 0 { 0 } else { self.ends[first - 1] };
        self.ends[first..].iter().map(move |&end| &self.words[std::mem::replace(&mut start, end)..end])
    }

    /// Each record from `first` on: a [`View`] reads zeros beyond the end of its words.
    pub(super) fn from(&self, first: usize) -> impl Iterator<Item = View<'_>> {
        self.parts(first).map(View)
    }

    /// The records at their full length of `words` words, one after the other.
    pub(super) fn whole(&self, words: usize) -> Vec<u32> {
        let mut whole = Vec::with_capacity(self.len() * words);
        for (n, part) in self.parts(0).enumerate() {
            whole.extend_from_slice(part);
            whole.resize((n + 1) * words, 0);
        }
        whole
    }
}

/// Words that are looked at together.
const GROUP: usize = 32;
/// Words of a payload that are written together.
const CHUNK: usize = 64;

/// Keeps everything that was collected.
#[derive(Debug)]
pub(super) struct Keeper {
    /// By pool.
    pub(super) records: Vec<Kept>,
    /// By pool, by record: where its payload went.
    pub(super) payloads: Vec<Vec<Written>>,
    /// Payloads that could not be written.
    pub(super) unwritten: u64,
    /// The payload file.
    pub(super) file: Vec<u8>,
    due: Vec<VecDeque<Vec<Due>>>,
    /// Words of the payload that is being written, or of the record that is collected; at its longest.
    copied: Vec<u32>,
    arenas: Vec<Arena>,
    room: u64,
    copy_fails: u64,
    write_fails: u64,
    rng: Rng,
}

/// The first `words` words, made longer where they are too few.
fn at_least(all: &mut Vec<u32>, words: usize) -> &mut [u32] {
    if all.len() < words {
        all.resize(words, 0);
    }
    &mut all[..words]
}

impl Keeper {
    pub(super) fn new(layout: &Layout, host: &super::Host, seed: u64) -> Self {
        Self {
            records: vec![Kept::default(); layout.pools.len()],
            payloads: vec![Vec::new(); layout.pools.len()],
            unwritten: 0,
            file: Vec::new(),
            due: vec![VecDeque::new(); layout.lanes as usize],
            copied: Vec::new(),
            arenas: layout.arenas.clone(),
            room: if host.sink_records == 0 { u64::MAX } else { host.sink_records },
            copy_fails: host.copy_fails_one_in,
            write_fails: host.write_fails_one_in,
            rng: Rng::new(seed ^ 0x4057),
        }
    }
}

impl<M: WideMemory> Sink<M> for Keeper {
    fn copies(&mut self, _: &Pool, _: &Taken) -> bool {
        self.copy_fails == 0 || self.rng.below(self.copy_fails) != 0
    }

    fn spool(&mut self, _: &Pool, _: &Taken, _: Link<'_, M>) {}

    fn collect(&mut self, pool: &Pool, taken: &Taken, link: Link<'_, M>) -> u32 {
        let kept = &mut self.records[taken.pool as usize];
        let before = kept.len();
        let n = u64::from(taken.records).min(self.room.saturating_sub(before as u64)) as u32;
        for record in 0..n {
            if taken.buffer == Taken::NO_BUFFER {
                kept.push(&[]);
                continue;
            }
            let first = pool.buffer(taken.buffer).plus(pool.first);
            let copied = at_least(&mut self.copied, pool.record_words as usize);
            link.read(first.plus(record * pool.record_words), copied);
            kept.push(copied);
        }
        if pool.kind == PoolKind::TensorDump {
            let mut due = Vec::new();
            for record in kept.from(before) {
                let place = self.payloads[taken.pool as usize].len();
                self.payloads[taken.pool as usize].push(None);
                due.push((taken.pool, place, record.u64(24), record.u64(32)));
            }
            self.due[pool.lane as usize].push_back(due);
        }
        n
    }

    fn write_payloads(&mut self, lane: u32, link: Link<'_, M>) -> bool {
        let arena = self.arenas[lane as usize];
        let due = self.due[lane as usize].pop_front().unwrap_or_default();
        let mut fine = true;
        for (pool, place, offset, bytes) in due.into_iter().filter(|(.., bytes)| *bytes > 0) {
            if self.write_fails > 0 && self.rng.below(self.write_fails) == 0 {
                fine = false;
                self.unwritten += 1;
                continue;
            }
            let physical = offset % arena.size;
            let (first, last) = (physical / 4, (physical + bytes).div_ceil(4));
            let copied = at_least(&mut self.copied, (last - first) as usize);
            link.device().read_range(arena.base.plus(first as u32), copied);
            let skip = (physical % 4) as usize;
            let start = self.file.len() as u64;
            let mut raw = [[0; 4]; CHUNK];
            for chunk in copied.chunks(CHUNK) {
                raw.iter_mut().zip(chunk).for_each(|(raw, word)| *raw = word.to_le_bytes());
                self.file.extend_from_slice(raw[..chunk.len()].as_flattened());
            }
            // The words hold more than the payload where it does not begin or end with one.
            let end = start as usize + skip + bytes as usize;
            self.file.truncate(end);
            if skip > 0 {
                self.file.copy_within(start as usize + skip..end, start as usize);
                self.file.truncate(end - skip);
            }
            self.payloads[pool as usize][place] = Some((start, bytes));
        }
        fine
    }
}
