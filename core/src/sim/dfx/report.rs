//! What a policy cost (policies spec): for the same scenario under each, these are compared.

use serde::{Serialize, Serializer};

use super::scenario::Scenario;
use super::world::Outcome;
use crate::dfx::{Cause, Ledger};
use crate::machine::Ticks;

/// Missing records by cause; in JSON an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes(pub Vec<(Cause, u64)>);

impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(cause, n)| (cause.name(), n)))
    }
}

/// What one lane went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Time at gates, in ns.
    pub blocked: Ticks,
    /// How often it stopped at one.
    pub stops: u32,
    /// Time its cores were running, in ns.
    pub busy: u64,
    /// The same as its records tell: finish minus dispatch, in ns.
    pub seen: u64,
}

/// The measures of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How the ledger stands.
    pub outcome: Outcome,
    /// Records written, collected, missing.
    pub records: [u64; 3],
    /// Missing records by cause.
    pub causes: Causes,
    /// By lane; the last is the orchestrator.
    pub lanes: Vec<Lane>,
    /// Recorded finish minus the core's own end, in ns: median, 95th percentile, largest.
    pub finish_error: [u64; 3],
    /// Pairs of scheduling lanes that the records put in the wrong order of load, of all pairs.
    pub wrong_ranks: (u32, u32),
    /// From the first submit to the last task, in ns.
    pub makespan: Ticks,
    /// Steps that host threads took.
    pub host_steps: u64,
}

impl Report {
    pub(super) fn new(
        scenario: &Scenario,
        ledgers: &[Ledger],
        lanes: Vec<(Ticks, u32)>,
        errors: &[u64],
        (busy, seen): (&[u64], &[u64]),
        makespan: Ticks,
        host_steps: u64,
    ) -> Self {
        let missing: u64 = ledgers.iter().map(Ledger::missing).sum();
        let outcome = match () {
            () if !ledgers.iter().all(Ledger::balances) => Outcome::Unbalanced,
            () if missing > 0 => Outcome::Missing,
            () => Outcome::Complete,
        };
        let count = |cause: Cause| -> u64 {
            ledgers.iter().flat_map(|l| &l.lines).map(|line| u64::from(line.causes[cause as usize])).sum()
        };
        let mut sorted = errors.to_vec();
        sorted.sort_unstable();
        let at =
            |percent: usize| sorted.get(sorted.len() * percent / 100).or(sorted.last()).copied().unwrap_or(0);
        // The records hold cycles; back to ns for comparison.
        let ns = |cycles: u64| {
            (u128::from(cycles) * 1_000_000_000 / u128::from(scenario.profile.frequency.max(1))) as u64
        };
        let lanes: Vec<_> = lanes
            .into_iter()
            .enumerate()
            .map(|(n, (blocked, stops))| Lane {
                blocked,
                stops,
                busy: busy.get(n).copied().unwrap_or(0),
                seen: ns(seen.get(n).copied().unwrap_or(0)),
            })
            .collect();
        let mut wrong_ranks = (0, 0);
        for a in 0..busy.len() {
            for b in a + 1..busy.len() {
                wrong_ranks.1 += 1;
                wrong_ranks.0 += u32::from(busy[a].cmp(&busy[b]) != lanes[a].seen.cmp(&lanes[b].seen));
            }
        }
        Self {
            outcome,
            records: [
                ledgers.iter().map(Ledger::written).sum(),
                ledgers.iter().map(Ledger::collected).sum(),
                missing,
            ],
            causes: Causes(Cause::ALL.into_iter().map(|c| (c, count(c))).filter(|(_, n)| *n > 0).collect()),
            lanes,
            finish_error: [at(50), at(95), at(100)],
            wrong_ranks,
            makespan,
            host_steps,
        }
    }

    /// Lanes that stopped at a gate at least once.
    pub fn disturbed(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.stops > 0).count()
    }
}
