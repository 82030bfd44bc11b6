//! Sizes: what a device profile fixes, and what a custom one may change (dfx spec §1, §7).

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of the six regions; each has its own header, flags, queues and freeze (dfx spec §9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subsystem {
    /// Task timing by lane and by core, phases of scheduler and orchestrator.
    Swimlane,
    /// Counters per task.
    Pmu,
    /// One record per submitted task with what it waits for.
    DepGen,
    /// Every argument: metadata and scalars.
    ArgsDump,
    /// Every dumped tensor, with its payload in an arena.
    TensorDump,
    /// Begin and end of scopes with water marks.
    ScopeStats,
}

impl Subsystem {
    /// All six.
    pub const ALL: [Self; 6] =
        [Self::Swimlane, Self::Pmu, Self::DepGen, Self::ArgsDump, Self::TensorDump, Self::ScopeStats];

    /// As it is written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Swimlane => "swimlane",
            Self::Pmu => "pmu",
            Self::DepGen => "dep_gen",
            Self::ArgsDump => "args_dump",
            Self::TensorDump => "tensor_dump",
            Self::ScopeStats => "scope_stats",
        }
    }

    /// The kinds of pool in its region, in the order of the region.
    pub const fn kinds(self) -> &'static [PoolKind] {
        match self {
            Self::Swimlane => {
                &[PoolKind::AicpuTask, PoolKind::AicoreTask, PoolKind::SchedPhase, PoolKind::OrchPhase]
            }
            Self::Pmu => &[PoolKind::Pmu],
            Self::DepGen => &[PoolKind::DepGen],
            Self::ArgsDump => &[PoolKind::ArgsDump],
            Self::TensorDump => &[PoolKind::TensorDump],
            Self::ScopeStats => &[PoolKind::ScopeStats],
        }
    }
}

impl fmt::Display for Subsystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a pool's buffers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// Dispatch and finish of a task, seen by its lane.
    AicpuTask,
    /// Start and end of a task, written by the core itself.
    AicoreTask,
    /// A phase of a scheduler's loop.
    SchedPhase,
    /// A submit of the orchestrator.
    OrchPhase,
    /// Counters of a task.
    Pmu,
    /// A submitted task, or an overflow slot of its chain.
    DepGen,
    /// An argument.
    ArgsDump,
    /// A dumped tensor.
    TensorDump,
    /// A scope's begin or end.
    ScopeStats,
}

impl PoolKind {
    /// All nine.
    pub const ALL: [Self; 9] = [
        Self::AicpuTask,
        Self::AicoreTask,
        Self::SchedPhase,
        Self::OrchPhase,
        Self::Pmu,
        Self::DepGen,
        Self::ArgsDump,
        Self::TensorDump,
        Self::ScopeStats,
    ];

    /// As it is written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AicpuTask => "aicpu_task",
            Self::AicoreTask => "aicore_task",
            Self::SchedPhase => "sched_phase",
            Self::OrchPhase => "orch_phase",
            Self::Pmu => "pmu",
            Self::DepGen => "dep_gen",
            Self::ArgsDump => "args_dump",
            Self::TensorDump => "tensor_dump",
            Self::ScopeStats => "scope_stats",
        }
    }

    /// Bytes of one record (dfx spec §1.5).
    pub const fn record_bytes(self) -> u32 {
        match self {
            Self::AicpuTask | Self::AicoreTask | Self::OrchPhase => 32,
            Self::SchedPhase | Self::Pmu => 64,
            Self::DepGen => 4672,
            Self::ArgsDump | Self::TensorDump => 128,
            Self::ScopeStats => 80,
        }
    }

    /// Whether `count` stands before the records, in a header of 64 bytes, and not behind them.
    /// Reading one form through the other once lost every orchestrator record (dfx spec §1.6).
    pub const fn count_first(self) -> bool {
        matches!(self, Self::DepGen | Self::ScopeStats)
    }

    /// Whether a pool belongs to a core, rather than to a lane or to the orchestrator alone.
    pub const fn per_core(self) -> bool {
        matches!(self, Self::AicpuTask | Self::AicoreTask | Self::Pmu)
    }

    /// Whether only the orchestrator's lane writes it.
    pub const fn orchestrator_only(self) -> bool {
        matches!(self, Self::OrchPhase | Self::DepGen | Self::ScopeStats)
    }

    /// Whether the core writes the records, and its lane only hands it buffers (dfx spec §2.6).
    pub const fn core_written(self) -> bool {
        matches!(self, Self::AicoreTask)
    }

    /// Whether a lane switches right after the record that fills a buffer, not before the next one.
    pub const fn eager(self) -> bool {
        matches!(self, Self::AicpuTask)
    }
}

impl fmt::Display for PoolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How the host reaches the device's memory (dfx spec §3.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// One memory for both (SVM): copies are nothing.
    #[default]
    Shared,
    /// The host has a shadow of each region, kept by explicit copies of ranges.
    Shadow,
}

/// Sizes of one kind of pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSize {
    /// Records in a buffer.
    pub records: u32,
    /// Buffers in a pool.
    pub buffers: u32,
    /// Slots of its free queue; divides 2³², because the queue's indices run freely.
    pub slots: u32,
}

/// Everything that is fixed about a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    /// `a2a3`, `a5` or `custom`.
    pub name: &'static str,
    /// Lanes that a region has room for (`MAX_AICPU_THREADS`).
    pub max_lanes: u32,
    /// Cores that a region has room for.
    pub max_cores: u32,
    /// Ticks of the device's counter per second.
    pub frequency: u64,
    /// How the host reaches the regions.
    pub transport: Transport,
    /// Counters in a PMU record.
    pub pmu_counters: u32,
    /// PMU states have the word that a5 adds (the core's ring, dfx spec §1.4).
    pub pmu_ring: bool,
    /// Entries of each lane's ready queue, by [`Subsystem::ALL`]; one of them always stays empty.
    pub ready: [u32; 6],
    /// By [`PoolKind::ALL`].
    pub pools: [PoolSize; 9],
    /// Bytes of a lane's payload arena.
    pub arena_bytes: u64,
}

/// Sizes that both real profiles share (dfx spec §1.6).
const POOLS: [PoolSize; 9] = [
    PoolSize { records: 1000, buffers: 8, slots: 4 },
    PoolSize { records: 1024, buffers: 4, slots: 4 },
    PoolSize { records: 16384, buffers: 6, slots: 4 },
    PoolSize { records: 16384, buffers: 8, slots: 4 },
    PoolSize { records: 512, buffers: 2, slots: 4 },
    PoolSize { records: 1024, buffers: 4, slots: 4 },
    PoolSize { records: 256, buffers: 8, slots: 4 },
    PoolSize { records: 256, buffers: 8, slots: 4 },
    PoolSize { records: 512, buffers: 4, slots: 8 },
];

impl Profile {
    /// The a2a3 device: 50 MHz, shared memory.
    pub fn a2a3() -> Self {
        Self {
            name: "a2a3",
            max_lanes: 4,
            max_cores: 72,
            frequency: 50_000_000,
            transport: Transport::Shared,
            pmu_counters: 8,
            pmu_ring: false,
            ready: [992, 144, 8, 64, 64, 8],
            pools: POOLS,
            arena_bytes: 128 << 20,
        }
    }

    /// The a5 device: 1 GHz, a shadow on the host.
    pub fn a5() -> Self {
        Self {
            name: "a5",
            max_lanes: 5,
            max_cores: 108,
            frequency: 1_000_000_000,
            transport: Transport::Shadow,
            pmu_counters: 10,
            pmu_ring: true,
            ready: [1456, 216, 8, 80, 80, 8],
            pools: POOLS,
            arena_bytes: 128 << 20,
        }
    }

    /// A small device whose sizes are all meant to be changed; 1 GHz, shared memory.
    pub fn custom(lanes: u32, cores: u32) -> Self {
        Self {
            name: "custom",
            max_lanes: lanes,
            max_cores: cores,
            frequency: 1_000_000_000,
            transport: Transport::Shared,
            pmu_counters: 8,
            pmu_ring: false,
            ready: [8; 6],
            pools: [PoolSize { records: 4, buffers: 2, slots: 2 }; 9],
            arena_bytes: 4096,
        }
    }

    /// The sizes of a kind of pool.
    pub fn pool(&self, kind: PoolKind) -> PoolSize {
        self.pools[kind as usize]
    }

    /// Device counter ticks at `ns`.
    pub fn cycles(&self, ns: u64) -> u64 {
        // Wide only where it must be: that division is a hundred instructions.
        match ns.checked_mul(self.frequency) {
            Some(product) => product / 1_000_000_000,
            None => (u128::from(ns) * u128::from(self.frequency) / 1_000_000_000) as u64,
        }
    }
}
