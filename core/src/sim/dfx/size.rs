//! How large must a pool be? Little's law, and what it takes of memory (dfx spec §5).

use serde_json::{Value, json};

use crate::dfx::{Layout, PoolKind, Profile, Subsystem};

/// One kind of pool under a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizing {
    /// Which.
    pub kind: PoolKind,
    /// Records a second, into one pool.
    pub rate: u64,
    /// From publishing a buffer to having it back, in ns.
    pub latency: u64,
    /// Time to fill one buffer, in ns.
    pub fill: u64,
    /// Buffers in flight: `L = λ·W`, rounded up, and the one being filled.
    pub needed: u64,
    /// Buffers that the profile has.
    pub configured: u32,
    /// Bytes of all its pools.
    pub bytes: u64,
}

/// Records a second into one pool that were measured in a flood of submits (dfx spec §5).
pub(super) fn preset(kind: PoolKind) -> u64 {
    match kind {
        PoolKind::AicpuTask | PoolKind::AicoreTask | PoolKind::Pmu => 105_000,
        PoolKind::SchedPhase => 288_000,
        PoolKind::OrchPhase | PoolKind::DepGen => 1_310_000,
        PoolKind::ArgsDump | PoolKind::TensorDump => 420_000,
        PoolKind::ScopeStats => 10_000,
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
                needed: in_flight as u64 + 1,
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

    /// As JSON, an element of `thunkscope.size/1`.
    pub fn to_json(&self) -> Value {
        json!({ "kind": self.kind, "records_per_second": self.rate, "latency_ns": self.latency,
            "fill_ns": self.fill, "buffers_needed": self.needed, "buffers_configured": self.configured,
            "suffices": self.suffices(), "bytes": self.bytes })
    }
}
