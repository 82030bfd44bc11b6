//! The swimlane's two files: raw cycles, and a trace for a viewer of Chrome's format (dfx spec §6.1, §6.2).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::profile::{PoolKind, Profile};
use super::{PoolRecords, Submitted, wide};

/// What people call things.
pub trait Names {
    /// A task, by its id.
    fn task(&self, task: u64) -> String;
}

/// Names of scheduler phases by number; 3 is unused (dfx spec §1.5).
const PHASES: [&str; 14] = [
    "complete",
    "dispatch",
    "release",
    "",
    "dummy",
    "early_dispatch",
    "resolve",
    "dummy_task",
    "drain",
    "drain_prepare",
    "drain_publish",
    "async_poll",
    "predicated_skip",
    "graph_prepare",
];

fn of(pools: &[PoolRecords], kind: PoolKind) -> impl Iterator<Item = &PoolRecords> {
    pools.iter().filter(move |pool| pool.kind == kind)
}

/// `chip_swimlane_records.json`: values are cycles of the device's counter.
pub fn chip_swimlane_records(pools: &[PoolRecords], profile: &Profile, level: u32, cores: u32) -> Value {
    let aicore = of(pools, PoolKind::AicoreTask).flat_map(|pool| {
        pool.iter().map(|r| {
            json!([pool.owner, wide(r.u64(16)), r.u32(24), wide(r.u64(0)), wide(r.u64(8)), r.u32(28)])
        })
    });
    let aicpu = of(pools, PoolKind::AicpuTask)
        .flat_map(|pool| pool.iter().map(|r| json!([pool.owner, r.u32(16), wide(r.u64(0)), wide(r.u64(8))])));
    let phases = of(pools, PoolKind::SchedPhase).map(|pool| {
        let rows = pool.iter().map(|r| {
            json!({ "kind": PHASES[r.u32(20).min(13) as usize], "start_cycles": wide(r.u64(0)),
                "end_cycles": wide(r.u64(8)), "loop_iter": r.u32(16), "tasks_processed": r.u32(24),
                "pop_hit": r.u32(28), "pop_miss": r.u32(32),
                "shared_at_start": [r.u16(36), r.u16(38), r.u16(40)],
                "shared_at_end": [r.u16(42), r.u16(44), r.u16(46)] })
        });
        Value::Array(rows.collect())
    });
    let submits = of(pools, PoolKind::OrchPhase).map(|pool| {
        let rows = pool.iter().map(|r| {
            json!({ "submit_idx": r.u32(24), "task_id": wide(r.u64(16)), "start_cycles": wide(r.u64(0)),
                "end_cycles": wide(r.u64(8)) })
        });
        Value::Array(rows.collect())
    });
    let core_types = json!((0..cores).map(|c| if c % 3 == 0 { "aic" } else { "aiv" }).collect::<Vec<_>>());
    let mut owners: Vec<_> = of(pools, PoolKind::AicpuTask).map(|pool| (pool.owner, pool.lane)).collect();
    owners.sort_unstable();
    let mut file = json!({
        "chip_swimlane_level": level,
        "metadata": { "clock_freq_hz": profile.frequency, "num_cores": cores, "core_types": core_types,
            "core_to_thread": owners.into_iter().map(|(_, lane)| lane).collect::<Vec<_>>() },
        "aicore_tasks": aicore.collect::<Vec<_>>(),
        "aicpu_tasks": aicpu.collect::<Vec<_>>(),
    });
    if level >= 3 {
        file["aicpu_scheduler_phases"] = Value::Array(phases.collect());
    }
    if level >= 4 {
        file["aicpu_orchestrator_phases"] = Value::Array(submits.collect());
    }
    file
}

/// `merged_swimlane.json`: processes, rows and flows as in dfx spec §6.2.
pub fn merged_swimlane(
    pools: &[PoolRecords],
    submitted: &[Submitted],
    profile: &Profile,
    names: &impl Names,
) -> Value {
    let mut events = Vec::new();
    let scheduler_rows = of(pools, PoolKind::SchedPhase).map(|pool| (pool.owner, pool.lane));
    for (pid, name) in
        [(1, "Orchestrator (AICPU)"), (2, "AICPU Scheduler"), (3, "Scheduler View"), (4, "Worker View")]
    {
        events.push(json!({ "ph": "M", "pid": pid, "name": "process_name", "args": { "name": name } }));
        events.push(
            json!({ "ph": "M", "pid": pid, "name": "process_sort_index", "args": { "sort_index": pid } }),
        );
    }
    let row = |pid: u32, tid: u32, name: String| json!({ "ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": { "name": name } });
    events.extend(scheduler_rows.map(|(owner, _)| row(2, 30_000 + 10 * owner, format!("AICPU_{owner}"))));
    events.push(row(1, 4_000, "submit".to_owned()));
    // The earliest stamp is 0 µs.
    let starts = of(pools, PoolKind::AicoreTask)
        .flat_map(PoolRecords::iter)
        .map(|r| r.u64(0).saturating_sub(u64::from(r.u32(28))))
        .chain(of(pools, PoolKind::AicpuTask).flat_map(PoolRecords::iter).map(|r| r.u64(0)))
        .chain(of(pools, PoolKind::OrchPhase).flat_map(PoolRecords::iter).map(|r| r.u64(0)))
        .chain(of(pools, PoolKind::SchedPhase).flat_map(PoolRecords::iter).map(|r| r.u64(0)));
    let base = starts.filter(|at| *at > 0).min().unwrap_or(0);
    // Microseconds with three digits, by integers: the same text everywhere.
    let us = |cycles: u64| {
        let ns = u128::from(cycles) * 1_000_000_000 / u128::from(profile.frequency.max(1));
        let text = format!("{}.{:03}", ns / 1000, ns % 1000);
        text.parse::<serde_json::Number>().map_or(Value::Null, Value::Number)
    };
    let bar = |pid: u32, tid: u32, name: String, start: u64, end: u64, args: Value| {
        json!({ "ph": "X", "pid": pid, "tid": tid, "name": name, "ts": us(start.saturating_sub(base)),
            "dur": us(end.saturating_sub(start)), "args": args })
    };
    for r in of(pools, PoolKind::OrchPhase).flat_map(PoolRecords::iter) {
        let (task, start, end) = (r.u64(16), r.u64(0), r.u64(8));
        events.push(bar(1, 4_000, names.task(task), start, end, json!({ "submit_idx": r.u32(24) })));
    }
    for pool in of(pools, PoolKind::SchedPhase) {
        for r in pool.iter() {
            let name = format!("{}({})", PHASES[r.u32(20).min(13) as usize], r.u32(24));
            let tid = 30_000 + 10 * pool.owner;
            events.push(bar(2, tid, name, r.u64(0), r.u64(8), json!({ "loop_iter": r.u32(16) })));
            if [0, 1].contains(&r.u32(20)) {
                events.push(json!({ "ph": "C", "pid": 2, "tid": 3999, "name": "shared_ready_queue",
                    "ts": us(r.u64(8).saturating_sub(base)), "args": { "AIC": r.u16(42) } }));
            }
        }
    }
    // Joined on core and register id: the token repeats where one task runs on several cores.
    let mut tokens = BTreeMap::new();
    let mut bars = BTreeMap::new();
    for pool in of(pools, PoolKind::AicoreTask) {
        events.push(row(4, 10_000 + 10 * pool.owner, format!("core {}", pool.owner)));
        events.push(row(3, 10_000 + 10 * pool.owner, format!("core {}", pool.owner)));
        for r in pool.iter() {
            let (start, end, task) = (r.u64(0), r.u64(8), r.u64(16));
            tokens.insert((pool.owner, r.u32(24)), task);
            bars.insert(task, (pool.owner, start, end));
            let received = start.saturating_sub(u64::from(r.u32(28)));
            let args = json!({ "task_id": wide(task) });
            events.push(bar(4, 10_000 + 10 * pool.owner, names.task(task), received, end, args));
        }
    }
    for pool in of(pools, PoolKind::AicpuTask) {
        for r in pool.iter() {
            if let Some(&task) = tokens.get(&(pool.owner, r.u32(16))) {
                let args = json!({ "task_id": wide(task) });
                let tid = 10_000 + 10 * pool.owner;
                events.push(bar(3, tid, names.task(task), r.u64(0), r.u64(8), args));
            }
        }
    }
    let mut flow = 0_u64;
    for Submitted { task, deps, .. } in submitted {
        let Some(&(core, start, _)) = bars.get(task) else { continue };
        for dep in deps {
            let Some(&(from, began, ended)) = bars.get(dep) else { continue };
            let name = if ended > start { "hb_violation" } else { "dependency" };
            for (ph, core, at) in [("s", from, began), ("f", core, start)] {
                events.push(json!({ "ph": ph, "bp": "e", "id": flow, "pid": 4, "tid": 10_000 + 10 * core,
                    "cat": "dep", "name": name, "ts": us(at.saturating_sub(base)) }));
            }
            flow += 1;
        }
    }
    json!({ "traceEvents": events, "metadata": { "clock_freq_hz": profile.frequency } })
}
