//! How large must a pool be? Little's law, and what it takes of memory (dfx spec §5).

use serde_json::{Value, json};

use crate::dfx::{Layout, PoolKind, Profile, Subsystem};

/// One kind of pool under a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizing {
    /// Which.
    pub kind: PoolKind,
    /// Records a second, into one pool: of a kind that each core or lane has, into the pool of one.
    pub rate: u64,
    /// From publishing a buffer to having it back, in ns.
    pub latency: u64,
    /// Time to fill one buffer, in ns.
    pub fill: u64,
    /// Buffers in flight: `L = λ·W`, rounded up.
    pub in_flight: u64,
    /// Those, and the one being filled.
    pub needed: u64,
    /// Buffers that the profile has.
    pub configured: u32,
    /// Bytes of all its pools.
    pub bytes: u64,
}

/// From publishing a buffer to having it back, in ns, where nobody says otherwise. The audit of the
/// real device does not print it; it is the time in which one core's tasks, 105,000 a second in
/// buffers of 1000, have the 4 buffers in flight that the audit finds (dfx spec §5).
pub const LATENCY: u64 = 38_000_000;

/// Records a second into one pool. Tasks, phases and submits were measured in a flood of submits
/// (dfx spec §5): the times there to fill a buffer (9.5 ms for 1000 tasks, 56.8 ms for 16384 scheduler
/// phases, 12.5 ms for 16384 submits) are those of one pool, so the rates are not sums over cores or
/// lanes. Of the others only a verdict is known, and theirs are the rates that lead to it within
/// [`LATENCY`]: about one buffer in flight for PMU and scopes, the configured 8 are adequate for dumps.
pub(super) fn preset(kind: PoolKind) -> u64 {
    match kind {
        PoolKind::AicpuTask | PoolKind::AicoreTask => 105_000,
        PoolKind::SchedPhase => 288_000,
        PoolKind::OrchPhase | PoolKind::DepGen => 1_310_000,
        PoolKind::Pmu | PoolKind::ScopeStats => 13_000,
        PoolKind::ArgsDump | PoolKind::TensorDump => 40_000,
    }
}

/// Sizes every kind of pool of `profile`; `rate` and `latency` (ns) replace the presets. None if the
/// regions do not fit into memory.
pub fn size(
    profile: &Profile,
    lanes: u32,
    cores: u32,
    rate: Option<u64>,
    latency: u64,
) -> Option<Vec<Sizing>> {
    let mut all = Vec::new();
    for subsystem in Subsystem::ALL {
        let layout = Layout::new(profile, subsystem, lanes, cores, 0)?;
        for &kind in subsystem.kinds() {
            let size = profile.pool(kind);
            let rate = rate.unwrap_or_else(|| preset(kind));
            let records = u128::from(size.records.max(1));
            let in_flight = (u128::from(rate) * u128::from(latency)).div_ceil(records * 1_000_000_000);
            let in_flight = u64::try_from(in_flight).unwrap_or(u64::MAX);
            let pools = layout.pools.iter().filter(|pool| pool.kind == kind);
            let buffers: u64 =
                pools.map(|pool| u64::from(pool.buffer_words) * 4 * u64::from(pool.count)).sum();
            let arenas = match kind {
                PoolKind::TensorDump => layout.arenas.iter().map(|arena| arena.size).sum(),
                _ => 0,
            };
            all.push(Sizing {
                kind,
                rate,
                latency,
                fill: (records * 1_000_000_000 / u128::from(rate.max(1))) as u64,
                in_flight,
                needed: in_flight.saturating_add(1),
                configured: size.buffers,
                bytes: buffers + arenas,
            });
        }
    }
    Some(all)
}

impl Sizing {
    /// Whether a lane never has to wait for a buffer under this load.
    pub fn suffices(&self) -> bool {
        u64::from(self.configured) >= self.needed
    }

    /// Whether those in flight take all there are: a lane waits at times for the one it would fill.
    pub fn is_at_the_edge(&self) -> bool {
        u64::from(self.configured) == self.in_flight
    }

    /// As JSON, an element of `thunkscope.size/1`.
    pub fn to_json(&self) -> Value {
        json!({ "kind": self.kind, "records_per_second": self.rate, "latency_ns": self.latency,
            "fill_ns": self.fill, "buffers_needed": self.needed, "buffers_configured": self.configured,
            "suffices": self.suffices(), "bytes": self.bytes })
    }
}
