//! What an iteration came to: so that "no files" always has an answer (ge-dump spec §10).

use std::fmt;

use serde::Serialize;
use serde::ser::SerializeMap;

use super::selection::Skip;

/// Counts per reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skips([u64; Skip::COUNT]);

impl Default for Skips {
    fn default() -> Self {
        Self([0; Skip::COUNT])
    }
}

impl Skips {
    /// Counts `n` more.
    #[inline]
    pub fn add(&mut self, skip: Skip, n: u64) {
        let slot = &mut self.0[skip as usize];
        *slot = slot.saturating_add(n);
    }

    /// The count of a reason.
    pub fn of(&self, skip: Skip) -> u64 {
        self.0[skip as usize]
    }

    /// Adds another set.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Reasons that occurred, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (Skip, u64)> {
        Skip::ALL.iter().copied().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

impl Serialize for Skips {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (skip, count) in self.iter() {
            map.serialize_entry(skip.name(), &count)?;
        }
        map.end()
    }
}

/// What a lane counted, or all lanes together. Counts are of tensors unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Ops whose moment came.
    pub ops_due: u64,
    /// Ops of which something was staged.
    pub ops_dumped: u64,
    /// Tensors staged.
    pub tensors: u64,
    /// Bytes staged.
    pub bytes: u64,
    /// Tensors that were not, by reason.
    pub skipped: Skips,
}

impl Counts {
    /// Adds another lane's.
    pub fn merge(&mut self, other: &Self) {
        self.ops_due += other.ops_due;
        self.ops_dumped += other.ops_dumped;
        self.tensors += other.tensors;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.skipped.merge(&other.skipped);
    }
}

/// One iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Counted from 0.
    pub iteration: u64,
    /// What it came to.
    pub counts: Counts,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { ops_due, ops_dumped, tensors, bytes, skipped } = &self.counts;
        write!(
            f,
            "iter={} ops_due={ops_due} ops_dumped={ops_dumped} tensors_written={tensors} bytes={bytes} skipped={{",
            self.iteration
        )?;
        for (index, (skip, count)) in skipped.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{skip}: {count}")?;
        }
        f.write_str("}")
    }
}
