//! Files that a run leaves: one or two for each subsystem (dfx spec §4.6, §6).

mod swimlane;

pub use swimlane::{Names, chip_swimlane_records, merged_swimlane};

use serde_json::{Value, json};

use super::ledger::Ledger;
use super::profile::PoolKind;
use super::record::{DTYPES, HAS_OVERFLOW, OVERFLOW, View};
use super::rules::{Policy, Rules};

/// The records of one pool, in the order of their buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRecords {
    /// What they are.
    pub kind: PoolKind,
    /// Core, lane or 0.
    pub owner: u32,
    /// The lane that wrote them.
    pub lane: u32,
    /// One after the other.
    pub words: Vec<u32>,
}

impl PoolRecords {
    /// Each record.
    pub fn iter(&self) -> impl Iterator<Item = View<'_>> {
        self.words.chunks_exact((self.kind.record_bytes() / 4) as usize).map(View)
    }
}

/// 64-bit numbers that JavaScript may not read exactly are texts, as everywhere.
fn wide(value: u64) -> Value {
    if value <= crate::number::MAX_SAFE { json!(value) } else { json!(value.to_string()) }
}

fn hex(task: u64) -> String {
    format!("0x{task:016x}")
}

/// `pmu.csv`. `counters`: names of those that mean something; the others are not written.
pub fn pmu_csv(pools: &[PoolRecords], counters: &[&str], event_type: u32) -> String {
    let mut text = "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles".to_owned();
    for name in counters {
        text = text + "," + name;
    }
    text += ",event_type\n";
    for pool in pools.iter().filter(|pool| pool.kind == PoolKind::Pmu) {
        for record in pool.iter() {
            let fixed = [u64::from(pool.lane), u64::from(pool.owner)];
            text += &format!("{},{},{}", fixed[0], fixed[1], hex(record.u64(0)));
            text += &format!(",{},{},{}", record.u32(8), record.u32(12), record.u64(16));
            for n in 0..counters.len() {
                text += &format!(",{}", record.u32(24 + 4 * n));
            }
            text += &format!(",{event_type}\n");
        }
    }
    text
}

/// One submitted task of `deps.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub task: u64,
    /// What it waits for.
    pub deps: Vec<u64>,
    /// Its kernel; negative where unknown.
    pub kernel: i32,
    /// Argument type, address, bytes.
    pub arguments: Vec<(u8, u64, u64)>,
}

/// The submits in dep_gen records, chains put together again. None if a chain is cut: a file that
/// lacks an edge is worse than none (dfx spec §6.4).
pub fn submitted(pools: &[PoolRecords]) -> Option<Vec<Submitted>> {
    let mut tasks: Vec<Submitted> = Vec::new();
    let mut open = false;
    for record in pools.iter().filter(|pool| pool.kind == PoolKind::DepGen).flat_map(PoolRecords::iter) {
        let flags = record.u32(8);
        let (count, chained) =
            if flags & OVERFLOW == 0 { (record.u16(14), false) } else { (record.u16(12), true) };
        if chained != open {
            return None;
        }
        let deps = (0..usize::from(count).min(582)).map(|n| record.u64(16 + 8 * n));
        if chained {
            let task = tasks.last_mut().filter(|task| task.task == record.u64(0))?;
            task.deps.extend(deps);
            open = flags & super::record::LAST_OVERFLOW == 0;
        } else {
            let argument =
                |n: usize| (record.u8(528 + n), record.u64(576 + 128 * n), record.u64(584 + 128 * n));
            let arguments = (0..usize::from(record.u16(12)).min(32)).map(argument).collect();
            let (task, kernel) = (record.u64(0), record.i32(560));
            tasks.push(Submitted { task, deps: deps.collect(), kernel, arguments });
            open = flags & HAS_OVERFLOW != 0;
        }
    }
    (!open).then_some(tasks)
}

/// `deps.json`; None if records are missing or a chain is cut.
pub fn deps_json(pools: &[PoolRecords], ledger: &Ledger) -> Option<Value> {
    if ledger.missing() > 0 || !ledger.balances() {
        return None;
    }
    let submitted = submitted(pools)?;
    let mut tensors = std::collections::BTreeMap::new();
    let tensor_id = |address: u64| crate::digest::Digest::of(&address.to_le_bytes()).0;
    let mut tasks = Vec::new();
    let mut edges = Vec::new();
    for Submitted { task, deps, kernel, arguments } in &submitted {
        let mut args = Vec::new();
        for (index, (kind, address, bytes)) in arguments.iter().enumerate() {
            let id = tensor_id(*address);
            tensors.insert(id, (*address, *bytes));
            let kind = ["input", "output", "inout"][usize::from(*kind).min(2)];
            args.push(json!({ "idx": index, "type": kind, "tensor_id": id.to_string(), "dtype": "UINT8",
                "shape": [bytes], "start_offset": 0, "strides": [1] }));
        }
        tasks.push(json!({ "task_id": task.to_string(), "scope": "auto", "early_dispatch": false,
            "kernel_ids": [kernel, -1, -1], "block_num": 1, "args": args }));
        edges.extend(deps.iter().map(|pred| {
            json!({ "pred": pred.to_string(), "succ": task.to_string(), "arg": -1, "source": "explicit",
                "flags": ["wait"] })
        }));
    }
    let tensors: Vec<_> = tensors
        .into_iter()
        .map(|(id, (address, bytes))| {
            json!({ "tensor_id": id.to_string(), "buffer_addr": address.to_string(), "version": 0,
                "dtype": "UINT8", "buffer_numel": bytes })
        })
        .collect();
    Some(json!({ "tasks": tasks, "tensors": tensors, "edges": edges }))
}

/// `scope_stats.jsonl`: a line about the run, then one for each begin and end (schema 6).
pub fn scope_stats(pools: &[PoolRecords], ledger: &Ledger) -> String {
    let fatal = ledger.missing() > 0;
    let records =
        || pools.iter().filter(|pool| pool.kind == PoolKind::ScopeStats).flat_map(PoolRecords::iter);
    // By ring: the highest water marks of the run.
    let most = |of: &dyn Fn(View<'_>) -> u64| -> [u64; 4] {
        let mut most = [0; 4];
        for record in records() {
            let ring = usize::from(record.u16(74)).min(3);
            most[ring] = of(record).max(most[ring]);
        }
        most
    };
    let head = json!({ "version": 6, "fatal": fatal, "dropped": ledger.missing(), "total": ledger.written(),
        "task_window_max": most(&|r| u64::from(r.u32(56))), "heap_max": most(&|r| r.u64(40)),
        "dep_pool_max": most(&|r| u64::from(r.u32(64))),
        "tensormap_max": records().map(|record| record.u32(68)).max().unwrap_or(0) });
    let mut text = format!("{head}\n");
    for record in records() {
        let line = json!({
            "site": format!("{}:{}", record.text(0, 32), record.i32(48)),
            "phase": if record.u16(76) == 0 { "begin" } else { "end" },
            "depth": record.u16(72), "ring": record.u16(74),
            "task_window_start": record.i32(52), "task_window_end": record.i32(56),
            "heap_start": wide(record.u64(32)), "heap_end": wide(record.u64(40)),
            "dep_pool_start": record.i32(60), "dep_pool_end": record.i32(64),
            "tensormap": record.i32(68),
        });
        text += &format!("{line}\n");
    }
    text
}

/// Where a payload went: offset and bytes in the payload file; None if it was not written.
pub type Written = Option<(u64, u64)>;

/// `args_dump.json` or `tensor_dump.json` (dfx spec §4.6). `payloads` has one entry for each tensor
/// record with a payload, in the order of `pools`.
pub fn dump_json(
    pools: &[PoolRecords],
    kind: PoolKind,
    ledger: &Ledger,
    payloads: &[Vec<Written>],
    level: u32,
) -> Value {
    let mut entries = Vec::new();
    let (mut counts, mut truncated) = ([0_u64; 5], 0_u64);
    let mine = pools.iter().filter(|pool| pool.kind == kind);
    for (place, pool) in mine.enumerate() {
        for (n, record) in pool.iter().enumerate() {
            let written = payloads.get(place).and_then(|list| list.get(n)).copied().flatten();
            let (task, role, stage) = (record.u64(0), record.u8(8).min(2), record.u8(9).min(1));
            let dims = usize::from(record.u8(10)).min(5);
            let list = |at: usize| (0..dims).map(|n| record.u32(at + 4 * n)).collect::<Vec<_>>();
            let shape = list(92);
            counts[usize::from(stage)] += 1;
            counts[2 + usize::from(role)] += 1;
            truncated += u64::from(record.u8(17));
            let function = record.u16(50);
            let function = if function == u16::MAX { -1 } else { i32::from(function) };
            let dtype = usize::from(record.u8(16)).min(14);
            let (offset, bytes) = written.unwrap_or((0, 0));
            let role_name = ["input", "output", "inout"][usize::from(role)];
            let stage_name = ["before_dispatch", "after_completion"][usize::from(stage)];
            let mut entry = json!({
                "task_id": hex(task), "func_id": [function], "arg_index": record.u32(12),
                "role": role_name, "stage": stage_name,
                "kind": if record.u8(48) == 0 { "tensor" } else { "scalar" }, "dtype": DTYPES[dtype],
                "is_contiguous": record.u8(18) != 0, "shape": shape, "strides": list(72),
                "start_offset": wide(record.u64(64)),
                "numel": wide(shape.iter().map(|extent| u64::from(*extent)).product()),
                "bin_offset": wide(offset), "bin_size": wide(bytes),
                "truncated": record.u8(17) != 0, "overwritten": false,
            });
            if record.u8(48) != 0 {
                entry["value"] = wide(record.u64(40));
            }
            entries.push(((task, stage, record.u32(12), role), entry));
        }
    }
    entries.sort_by_key(|entry| entry.0);
    let any = payloads.iter().flatten().any(Option::is_some);
    let name = if kind == PoolKind::TensorDump { "tensor_dump.bin" } else { "args.bin" };
    json!({
        "run_dir": ".",
        "bin_format": { "type": "logical_contiguous", "byte_order": "little_endian" },
        "dump_args_level": level, "total_args": entries.len(),
        "before_dispatch": counts[0], "after_completion": counts[1],
        "input_args": counts[2], "output_args": counts[3], "inout_args": counts[4],
        "truncated_args": truncated, "dropped_records": ledger.missing(), "dropped_overwrite": 0,
        "bin_file": if any { json!(name) } else { Value::Null },
        "args": entries.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>(),
    })
}

/// `ledger.json`: every pool of every region.
pub fn ledger_json(ledgers: &[Ledger], rules: &Rules) -> Value {
    let pools = ledgers.iter().flat_map(|ledger| {
        ledger.lines.iter().map(|line| {
            let causes: serde_json::Map<_, _> = super::Cause::ALL
                .into_iter()
                .filter(|cause| line.causes[*cause as usize] > 0)
                .map(|cause| (cause.name().to_owned(), json!(line.causes[cause as usize])))
                .collect();
            json!({ "subsystem": ledger.subsystem, "pool": line.pool, "kind": line.kind, "owner": line.owner,
                "written": line.written, "collected": line.collected, "in_flight": line.in_flight,
                "dropped": line.dropped, "lost": line.lost, "causes": causes, "balances": line.balances() })
        })
    });
    json!({ "format": "thunkscope.ledger/1", "policy": rules.policy,
        "blocks": rules.policy != Policy::Drop,
        "balances": ledgers.iter().all(Ledger::balances), "pools": pools.collect::<Vec<_>>() })
}
