//! What a simulation is told.

use std::fmt::Write as _;

use crate::executor;
use crate::graph::NodeId;
use crate::machine::Ticks;
use crate::number::{decimal, wide};
use serde::{Deserialize, Serialize};

use crate::program::SequencePath;
#[cfg(feature = "engine")]
use crate::{program::Thunk, rng::Rng};

/// How to run a program in virtual time.
///
/// In JSON, what is left out has its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The executor's own options.
    pub executor: executor::Options,
    /// Whether sequences run as decided, or all in one way.
    pub mode: ModeChoice,
    /// Whether there is a task runner. Without one, a single thread does everything.
    pub runner: bool,
    /// Threads beside the caller; they take posted tasks and completions. At least 1.
    pub pool_threads: u16,
    /// From posting a task to its first step, in ns; also the way of a completion from a foreign pool.
    #[serde(with = "wide")]
    pub post_latency: Ticks,
    /// How long thunks run.
    pub costs: Costs,
    /// Which thunks return before they are done.
    pub pending: PendingThunks,
    /// Thunks that fail or never complete.
    pub faults: Vec<Fault>,
    /// Who goes next.
    pub schedule: Schedule,
    /// How often the whole program runs.
    pub iterations: u32,
    /// A `while` runs its body this often at most (and once if its trip count is unknown).
    #[serde(with = "wide")]
    pub max_trips: u64,
    /// Of jitter, branches and adversarial order.
    #[serde(with = "decimal")]
    pub seed: u64,
    /// Longest log: beyond it the simulation ends with `SM001`.
    pub max_events: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            executor: executor::Options::default(),
            mode: ModeChoice::Decided,
            runner: true,
            pool_threads: 4,
            post_latency: 2_000,
            costs: Costs::default(),
            pending: PendingThunks::AsDeclared,
            faults: Vec::new(),
            schedule: Schedule::ByTime,
            iterations: 1,
            max_trips: 2,
            seed: 0,
            max_events: 4_000_000,
        }
    }
}

impl Options {
    /// One line for the log's header; equal options, equal line.
    pub fn summary(&self) -> String {
        let Self { executor, mode, runner, pool_threads, post_latency, costs, .. } = self;
        let executor::Options { queue, max_workers, split_threshold, buffer_threshold, thunk_threshold } =
            executor;
        let Costs { base, bytes_per_tick, jitter_percent } = costs;
        let mut line = format!(
            "queue={queue} workers={max_workers} split={split_threshold} buffer={buffer_threshold} \
             thunks={thunk_threshold} mode={mode:?} runner={runner} pool={pool_threads} \
             post={post_latency} cost={base}+bytes/{bytes_per_tick}±{jitter_percent}% \
             pending={:?} schedule={:?} iterations={} trips={}",
            self.pending, self.schedule, self.iterations, self.max_trips
        );
        for Fault { path, node, kind } in &self.faults {
            // Writing to a string cannot fail.
            let _ = write!(line, " {kind:?}={path}/{node}");
        }
        line
    }
}

/// Whether sequences run as decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeChoice {
    /// As the sequential decision says.
    Decided,
    /// All by counters and ready queues: what the decision saves, or costs.
    Concurrent,
    /// All in program order.
    Sequential,
}

/// How long thunks run, where the program does not say: `base + bytes / bytes_per_tick`, then jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// Of every thunk, in ns.
    #[serde(with = "wide")]
    pub base: Ticks,
    /// Declared bytes that take one ns more; 0 counts no bytes.
    #[serde(with = "wide")]
    pub bytes_per_tick: u64,
    /// Random change of each cost, at most this many percent either way.
    pub jitter_percent: u32,
}

impl Default for Costs {
    /// A microsecond, and 8 bytes a nanosecond: one core's memory bandwidth, roughly.
    fn default() -> Self {
        Self { base: 1_000, bytes_per_tick: 8, jitter_percent: 0 }
    }
}

#[cfg(feature = "engine")]
impl Costs {
    /// How long `thunk` runs, in ns; never 0, so that no thunk is invisible.
    pub(super) fn of(&self, thunk: &Thunk, rng: &mut Rng) -> Ticks {
        let modelled = || {
            let bytes: u64 = thunk.uses.iter().fold(0, |sum, used| used.slice.size.saturating_add(sum));
            self.base.saturating_add(bytes.checked_div(self.bytes_per_tick).unwrap_or(0))
        };
        // An hour at most: no sum of costs can overflow the clock.
        let cost = thunk.cost.unwrap_or_else(modelled).clamp(1, MAX_COST);
        let spread = cost / 100 * u64::from(self.jitter_percent.min(100));
        if spread == 0 {
            return cost;
        }
        (cost - spread + rng.below(2 * spread + 1)).max(1)
    }
}

#[cfg(feature = "engine")]
/// Longest cost of one thunk: an hour in ns.
const MAX_COST: Ticks = 3_600_000_000_000;

/// Which thunks return before they are done, their event still pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingThunks {
    /// Those that the program marks, and collectives.
    AsDeclared,
    /// None.
    Never,
    /// All that are not control flow.
    All,
    /// A seeded choice of one in `n`.
    OneIn(u64),
}

/// A thunk that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Its sequence.
    pub path: SequencePath,
    /// The thunk.
    pub node: NodeId,
    /// What it does.
    pub kind: FaultKind,
}

/// How a thunk goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It completes with an error.
    Fails,
    /// It returns a pending event that never becomes available (seed 004).
    NeverCompletes,
}

/// Who goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// The lane or event with the earliest time; ties by lane.
    ByTime,
    /// Any that can, by the seed: finds what depends on timing.
    Adversarial,
}
