//! When an op of a dynamic program can be dumped: as soon as every thunk that sets something of it
//! has ended (seed 003 "Dependency update mechanism", ge-dump spec §5.4).

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::model::{Model, OpId, OpKind, Role, ThunkRef};
use crate::machine::{Memory, Word};

/// Most distinct thunks of one op.
pub const MAX_TOTAL: u32 = CUR_MASK;

/// A word per unit: generation, overflow flag, count. A word of an older generation is a count of
/// 0: counts left by a failed run or an untaken branch do not leak (P-20, T28).
const CUR_BITS: u32 = 11;
const CUR_MASK: u32 = (1 << CUR_BITS) - 1;
const FLAG: u32 = 1 << CUR_BITS;
const GENERATION_SHIFT: u32 = CUR_BITS + 1;
const GENERATIONS: u32 = 1 << (32 - GENERATION_SHIFT);

/// The units of one model.
#[derive(Debug)]
pub struct Units<M> {
    words: M,
    totals: Vec<u32>,
    /// By thunk, in the order of sequences: where its units begin in `ids`.
    offsets: Vec<u32>,
    ids: Vec<OpId>,
    /// By sequence: its first thunk in `offsets`.
    sequences: Vec<u32>,
    generation: u32,
    /// Ops whose kind of control flow is not known: never due.
    pub unknown_control: Vec<OpId>,
}

impl<M: Memory> Units<M> {
    /// Words that the units of a model take.
    pub fn words(model: &Model) -> usize {
        model.ops.len()
    }

    /// Units over `words` zeros. `replaced` maps thunks that an optimisation pass removed to those
    /// that took their place.
    pub fn new(model: &Model, words: M, replaced: &BTreeMap<ThunkRef, ThunkRef>) -> Self {
        let mut by_thunk: BTreeMap<ThunkRef, Vec<OpId>> = BTreeMap::new();
        let mut totals = vec![0u32; model.ops.len()];
        let mut unknown_control = Vec::new();
        for (id, op) in (0..).zip(&model.ops) {
            if op.kind == OpKind::NetOutput {
                continue;
            }
            if op.kind == OpKind::OtherControl {
                unknown_control.push(id);
                continue;
            }
            let sequence = op.at.sequence;
            // A `while` ends at its exit, a conditional at its merge: both are the end of its own thunk.
            let own: &[u32] = &[op.at.node];
            let parts: Vec<u32> = match op.kind {
                OpKind::Control => own.to_vec(),
                _ => [own, &op.shape_setters, &op.address_setters, &op.launches].concat(),
            };
            let mut thunks: Vec<ThunkRef> = parts
                .into_iter()
                .map(|node| ThunkRef { sequence, node })
                .map(|thunk| replaced.get(&thunk).copied().unwrap_or(thunk))
                // What the initialising graph makes is there before the first event.
                .filter(|&thunk| !matches!(model.role(thunk), Role::Init | Role::Event))
                .collect();
            thunks.sort_unstable();
            // Each thunk counts once, even if it sets several things (rule 2).
            thunks.dedup();
            thunks.truncate(MAX_TOTAL as usize);
            totals[id as usize] = thunks.len() as u32;
            for thunk in thunks {
                by_thunk.entry(thunk).or_default().push(id);
            }
        }
        let (mut offsets, mut ids, mut sequences) = (vec![0u32], Vec::new(), Vec::new());
        for (sequence, roles) in (0..).zip(&model.thunks) {
            sequences.push(offsets.len() as u32 - 1);
            for node in 0..roles.len() as u32 {
                ids.extend(by_thunk.get(&ThunkRef { sequence, node }).into_iter().flatten());
                offsets.push(ids.len() as u32);
            }
        }
        Self { words, totals, offsets, ids, sequences, generation: 0, unknown_control }
    }

    /// An iteration begins: all counts are 0. Constant time but for every 2²⁰th one.
    pub fn reset(&mut self) {
        self.generation = (self.generation + 1) % GENERATIONS;
        if self.generation == 0 {
            for unit in 0..self.totals.len() as u32 {
                self.words.store(Word(unit), 0, Ordering::Relaxed);
            }
            self.generation = 1;
        }
    }

    /// How many ticks make an op due.
    pub fn total(&self, op: OpId) -> u32 {
        self.totals[op as usize]
    }

    /// The units of a thunk.
    pub fn of(&self, thunk: ThunkRef) -> &[OpId] {
        let Some(&first) = self.sequences.get(thunk.sequence as usize) else { return &[] };
        let at = (first + thunk.node) as usize;
        match (self.offsets.get(at), self.offsets.get(at + 1)) {
            (Some(&start), Some(&end)) => &self.ids[start as usize..end as usize],
            _ => &[],
        }
    }

    /// One of an op's thunks has ended. `Some` exactly for the last of a round, on the thread where
    /// that happens: whether the op was flagged. The count is 0 again then.
    #[inline]
    pub fn tick(&self, op: OpId) -> Option<bool> {
        let total = self.totals[op as usize];
        self.update(
            op,
            |cur, flagged| {
                if cur + 1 >= total { (0, false, Some(flagged)) } else { (cur + 1, flagged, None) }
            },
        )
    }

    /// Marks an op: it overflowed.
    pub fn flag(&self, op: OpId) {
        self.update(op, |cur, _| (cur, true, None::<bool>));
    }

    /// Begins a round anew.
    pub fn clear(&self, op: OpId) {
        self.update(op, |_, _| (0, false, None::<bool>));
    }

    /// Ticks so far in this round.
    pub fn current(&self, op: OpId) -> u32 {
        let word = self.words.load(Word(op), Ordering::Acquire);
        if word >> GENERATION_SHIFT == self.generation { word & CUR_MASK } else { 0 }
    }

    fn update<T>(&self, op: OpId, change: impl Fn(u32, bool) -> (u32, bool, Option<T>)) -> Option<T> {
        let word = Word(op);
        let mut held = self.words.load(word, Ordering::Relaxed);
        loop {
            let fresh = held >> GENERATION_SHIFT == self.generation;
            let (cur, flagged) = if fresh { (held & CUR_MASK, held & FLAG != 0) } else { (0, false) };
            let (cur, flagged, result) = change(cur, flagged);
            let new = self.generation << GENERATION_SHIFT | if flagged { FLAG } else { 0 } | cur;
            // Whoever makes an op due sees everything that the other thunks of it have written.
            match self.words.compare_exchange(word, held, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return result,
                Err(now) => held = now,
            }
        }
    }
}

#[cfg(test)]
mod tests;
