//! The scenarios that are checked when none is asked for.

use super::scenario::{Scenario, Script};
use crate::dfx::{PeerGate, Transport};
use crate::explore::Group;

/// Under both orders at the pop gate.
fn both_gates(scenarios: impl IntoIterator<Item = Scenario>) -> Vec<Scenario> {
    let gates = [PeerGate::BarrierFirst, PeerGate::SlotFirst];
    let each = |scenario: Scenario| {
        gates.map(|peer_gate| {
            let name = format!("{} {peer_gate}", scenario.name);
            Scenario { name, peer_gate, ..scenario.clone() }
        })
    };
    scenarios.into_iter().flat_map(each).collect()
}

fn crashing(lanes: u8, buffers: u8, records: u8) -> Scenario {
    Scenario { crash: true, ..Scenario::new(lanes, buffers, records) }
}

/// One drain and one collector for all lanes.
fn one_shard(scenario: Scenario) -> Scenario {
    Scenario { name: format!("{} one shard", scenario.name), shards: 1, ..scenario }
}

fn shadow(scenario: Scenario) -> Scenario {
    let name = format!("{} shadow", scenario.name);
    Scenario { name, transport: Transport::Shadow, ..scenario }
}

/// Free queues that start empty, so that the first thing a lane meets is its gate.
fn dry(lanes: u8, buffers: u8, records: u8) -> Scenario {
    let scenario = crashing(lanes, buffers, records);
    Scenario { name: format!("{} dry", scenario.name), dry: true, ..scenario }
}

fn payloads(lanes: u8, buffers: u8, records: u8, arena: u8) -> Scenario {
    let name = format!("{lanes} x {buffers} x {records} payloads, {arena} a lap");
    Scenario { name, script: Script::Payloads { arena }, ..crashing(lanes, buffers, records) }
}

/// Flags and generations alone: lanes that ask for a release and wait for it.
fn barrier(lanes: u8, releases: u8) -> Scenario {
    let name = format!("{lanes} leaders, {releases} releases");
    let scenario = Scenario { name, script: Script::Barrier, dry: true, ..crashing(lanes, 1, releases) };
    Scenario { shards: 1, ..scenario }
}

fn core(buffers: u8, records: u8, capacity: u8) -> Scenario {
    let name = format!("core, {buffers} x {records} in buffers of {capacity}");
    Scenario { name, script: Script::Core, capacity, ..crashing(1, buffers, records) }
}

fn group(name: &'static str, about: &'static str, long: bool, scenarios: Vec<Scenario>) -> Group {
    Group { name, about, long, scenarios: scenarios.into_iter().map(Into::into).collect() }
}

/// The standard set.
pub(crate) fn standard() -> Vec<Group> {
    vec![
        group(
            "dfx-flags",
            "freeze flags and generations: one and two leaders at the arena's gate, the host dies at any step",
            false,
            vec![barrier(1, 1), barrier(1, 2), barrier(2, 1)],
        ),
        group(
            "dfx-one-lane",
            "a lane with pools of 1 and 2 buffers, both peer gates, the host dies at any step",
            false,
            both_gates([crashing(1, 1, 1), dry(1, 1, 1), crashing(1, 1, 2), crashing(1, 2, 2)]),
        ),
        group(
            "dfx-two-lanes",
            "two lanes with a buffer each, both peer gates, one shard or two, the host dies at any step",
            false,
            both_gates([one_shard(crashing(2, 1, 1)), crashing(2, 1, 1)]),
        ),
        group(
            "dfx-core",
            "records that a core writes, pools of 1 and 2 buffers, the host dies at any step",
            false,
            vec![core(1, 2, 1), core(1, 1, 2), core(2, 2, 1)],
        ),
        group(
            "dfx-payloads",
            "an arena of one payload a lap, the host dies at any step",
            false,
            vec![payloads(1, 1, 1, 1), payloads(1, 1, 2, 1)],
        ),
        group(
            "dfx-shadow",
            "a host that reads a copy of the region, the host dies at any step",
            false,
            vec![shadow(crashing(1, 1, 2)), shadow(one_shard(crashing(2, 1, 1)))],
        ),
        group(
            "dfx-2x1x2",
            "two lanes with one buffer and two records each, so that the pool must drain to go on",
            true,
            both_gates([one_shard(crashing(2, 1, 2))]),
        ),
        group(
            "dfx-shadow-2x1x2",
            "as dfx-2x1x2, with a host that reads a copy of the region",
            true,
            vec![shadow(one_shard(crashing(2, 1, 2)))],
        ),
        group("dfx-3x1x1", "three lanes, both peer gates", true, both_gates([one_shard(crashing(3, 1, 1))])),
        group(
            "dfx-2x2x2",
            "two lanes with two buffers and two records each, both peer gates, as far as --max-states goes",
            true,
            both_gates([one_shard(crashing(2, 2, 2))]),
        ),
        group(
            "dfx-3x2x3",
            "three lanes with two buffers and three records each, as far as --max-states goes",
            true,
            vec![one_shard(crashing(3, 2, 3))],
        ),
    ]
}
