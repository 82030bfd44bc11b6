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

/// Keeps everything that was collected.
#[derive(Debug)]
pub(super) struct Keeper {
    /// By pool: records one after the other.
    pub(super) records: Vec<Vec<u32>>,
    /// By pool, by record: where its payload went.
    pub(super) payloads: Vec<Vec<Written>>,
    /// The payload file.
    pub(super) file: Vec<u8>,
    due: Vec<VecDeque<Vec<Due>>>,
    arenas: Vec<Arena>,
    room: u64,
    copy_fails: u64,
    write_fails: u64,
    rng: Rng,
}

impl Keeper {
    pub(super) fn new(layout: &Layout, host: &super::Host, seed: u64) -> Self {
        Self {
            records: vec![Vec::new(); layout.pools.len()],
            payloads: vec![Vec::new(); layout.pools.len()],
            file: Vec::new(),
            due: vec![VecDeque::new(); layout.lanes as usize],
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
        let there = (before / pool.record_words as usize) as u64;
        let n = u64::from(taken.records).min(self.room.saturating_sub(there)) as u32;
        kept.resize(before + (n * pool.record_words) as usize, 0);
        if taken.buffer != Taken::NO_BUFFER {
            link.read(pool.buffer(taken.buffer).plus(pool.first), &mut kept[before..]);
        }
        if pool.kind == PoolKind::TensorDump {
            let mut due = Vec::new();
            for record in kept[before..].chunks_exact(pool.record_words as usize).map(View) {
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
                continue;
            }
            let physical = offset % arena.size;
            let (first, last) = (physical / 4, (physical + bytes).div_ceil(4));
            let mut words = vec![0; (last - first) as usize];
            link.device().read_range(arena.base.plus(first as u32), &mut words);
            let raw: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            let skip = (physical % 4) as usize;
            let start = self.file.len() as u64;
            self.file.extend_from_slice(&raw[skip..skip + bytes as usize]);
            self.payloads[pool as usize][place] = Some((start, bytes));
        }
        fine
    }
}
