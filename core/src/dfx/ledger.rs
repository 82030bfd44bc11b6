//! The ledger: `written = collected + in flight + dropped(cause) + lost(cause)`, for every pool.

use super::event::{Cause, Event};
use super::profile::{PoolKind, Subsystem};

/// What became of the records of one pool. Counts are those of the device, which wrap at 2³².
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Number of the pool in its region.
    pub pool: u32,
    /// What it holds.
    pub kind: PoolKind,
    /// Core, lane or 0.
    pub owner: u32,
    /// Records wanted; for dep_gen, slots.
    pub written: u32,
    /// Records that a collector was given; after the host's death, those in its spool.
    pub collected: u32,
    /// Counted by the device.
    pub dropped: u32,
    /// Counted by the host.
    pub lost: u32,
    /// In some buffer on its way; 0 at the end.
    pub in_flight: u32,
    /// By cause.
    pub causes: [u32; Cause::ALL.len()],
}

impl Line {
    /// Whether nothing is missing without a cause.
    pub fn balances(&self) -> bool {
        let known = [self.collected, self.in_flight, self.dropped, self.lost];
        self.written == known.into_iter().fold(0, u32::wrapping_add)
    }
}

/// The ledger of one region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Whose.
    pub subsystem: Subsystem,
    /// By pool.
    pub lines: Vec<Line>,
}

impl Ledger {
    /// Whether every pool balances.
    pub fn balances(&self) -> bool {
        self.lines.iter().all(Line::balances)
    }

    /// Records missing, whatever the cause.
    pub fn missing(&self) -> u64 {
        self.lines.iter().map(|line| u64::from(line.dropped) + u64::from(line.lost)).sum()
    }

    /// Records that were collected.
    pub fn collected(&self) -> u64 {
        self.lines.iter().map(|line| u64::from(line.collected)).sum()
    }

    /// Records that were written.
    pub fn written(&self) -> u64 {
        self.lines.iter().map(|line| u64::from(line.written)).sum()
    }

    /// One event for each pool.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let subsystem = self.subsystem;
        self.lines.iter().map(move |line| Event::Ledger {
            subsystem,
            pool: line.pool,
            of: line.kind,
            written: line.written,
            collected: line.collected,
            dropped: line.dropped,
            lost: line.lost,
            in_flight: line.in_flight,
        })
    }
}
