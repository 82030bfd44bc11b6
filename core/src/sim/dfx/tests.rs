//! Whole runs: nothing lost, what a freeze does to time, what is said about wrong files.

use serde_json::json;

use super::*;
use crate::dfx::{Event, Policy, PoolKind, Profile};

mod claims;

/// The scenarios that are shipped, in `www/scenarios`.
pub(super) const SHIPPED: [(&str, &str); 13] = [
    ("arena", include_str!("../../../../www/scenarios/arena.json")),
    ("collector-stuck", include_str!("../../../../www/scenarios/collector-stuck.json")),
    ("host-crash", include_str!("../../../../www/scenarios/host-crash.json")),
    ("host-stall", include_str!("../../../../www/scenarios/host-stall.json")),
    ("lost-wakeup", include_str!("../../../../www/scenarios/lost-wakeup.json")),
    ("one-buffer", include_str!("../../../../www/scenarios/one-buffer.json")),
    ("push-gate", include_str!("../../../../www/scenarios/push-gate.json")),
    ("real-a2a3", include_str!("../../../../www/scenarios/real-a2a3.json")),
    ("shadow-a5", include_str!("../../../../www/scenarios/shadow-a5.json")),
    ("slot-first", include_str!("../../../../www/scenarios/slot-first.json")),
    ("tight-drop", include_str!("../../../../www/scenarios/tight-drop.json")),
    ("tight-freeze", include_str!("../../../../www/scenarios/tight-freeze.json")),
    ("tight-per-lane", include_str!("../../../../www/scenarios/tight-per-lane.json")),
];

/// One of them.
pub(super) fn shipped(name: &str) -> Scenario {
    let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name).expect("is shipped");
    read(text.as_bytes()).expect("a good scenario")
}

/// A device so small that its host cannot keep up.
fn tight(policy: &str) -> serde_json::Value {
    json!({
        "format": FORMAT, "name": "tight", "lanes": 3, "cores": 4, "policy": policy,
        "program": { "shape": "transformer", "thunks": 60 },
        "host": { "collect_ns": 30_000, "poll_ns": 2_000 },
        "arena_bytes": 4096, "budget_ns": 1_000_000_000_u64,
    })
}

fn go(value: serde_json::Value) -> (Scenario, Run) {
    let scenario = scenario(value).expect("a good scenario");
    let run = run(&scenario, &Synthetic(scenario.dump.every)).expect("runs");
    (scenario, run)
}

#[test]
fn nothing_is_lost_and_finish_moves() {
    let (_, run) = go(tight("global-freeze"));
    assert_eq!(run.report.outcome, Outcome::Complete, "{:?}", run.ledgers);
    assert!(run.report.disturbed() >= 2 && run.report.records[0] > 500, "{:?}", run.report);
    let freezes = run.log.events.iter().filter(|entry| matches!(entry.kind, Kind::Other(Event::Open { .. })));
    assert!(freezes.count() > 3);
    // The core's own end is true; what the lane recorded as finish is as late as it was let go.
    let [median, _, largest] = run.report.finish_error;
    assert!(largest > 20_000 && largest > 4 * median.max(1), "{:?}", run.report);
    // With buffers to spare there is no such thing.
    let mut roomy = tight("global-freeze");
    let pools = PoolKind::ALL
        .map(|kind| (kind.name().to_owned(), json!({ "records": 512, "buffers": 8, "slots": 4 })));
    roomy["pools"] = serde_json::Value::Object(pools.into_iter().collect());
    roomy["arena_bytes"] = json!(1 << 20);
    let (_, calm) = go(roomy);
    assert_eq!((calm.report.disturbed(), calm.report.outcome), (0, Outcome::Complete));
    assert!(calm.report.finish_error[2] < 20_000, "{:?}", calm.report);
    let cores = |run: &Run| -> u64 { run.report.lanes.iter().map(|lane| lane.busy).sum() };
    assert_eq!(cores(&run), cores(&calm), "cores are not disturbed by a freeze");
}

#[test]
fn policies_differ_as_they_should() {
    let (_, drop) = go(tight("drop"));
    let (_, lane) = go(tight("per-lane"));
    assert_eq!(drop.report.outcome, Outcome::Missing, "dropped, and counted: {:?}", drop.report);
    assert_eq!(lane.report.outcome, Outcome::Complete, "{:?}", lane.report);
    let opens = |run: &Run| run.log.events.iter().any(|e| matches!(e.kind, Kind::Other(Event::Open { .. })));
    assert!(!opens(&drop) && !opens(&lane), "only the global freeze freezes");
}

#[test]
fn a_ledger_balances_whatever_happens() {
    for seed in 0..40_u64 {
        let mut value = tight(["global-freeze", "drop", "per-lane"][(seed % 3) as usize]);
        value["seed"] = json!(seed);
        value["program"]["thunks"] = json!(24);
        value["order"] = json!(["by_time", "random", "adversarial"][(seed / 3 % 3) as usize]);
        value["transport"] = json!(["shared", "shadow"][(seed % 2) as usize]);
        match seed % 5 {
            0 => value["host"]["crash_at_ns"] = json!(seed * 7_000),
            1 => value["host"]["stall_ns"] = json!([10_000, 300_000]),
            2 => value["host"]["copy_fails_one_in"] = json!(3),
            3 => value["host"]["write_fails_one_in"] = json!(2),
            _ => value["host"]["collectors_stuck_ns"] = json!([5_000, 200_000]),
        }
        let (_, run) = go(value);
        assert_ne!(run.report.outcome, Outcome::Unbalanced, "seed {seed}: {:?}", run.ledgers);
        let in_flight: u32 = run.ledgers.iter().flat_map(|l| &l.lines).map(|line| line.in_flight).sum();
        assert_eq!(in_flight, 0, "seed {seed}");
    }
}

#[test]
fn same_scenario_same_log_and_it_reads_back() {
    let digests: Vec<_> = (0..2).map(|_| go(tight("global-freeze")).1.log.digest()).collect();
    assert_eq!(digests[0], digests[1]);
    let (_, run) = go(tight("global-freeze"));
    let read = DfxLog::from_json_lines(&run.log.to_json_lines()).expect("reads back");
    assert_eq!(read, run.log);
    // The executor's part alone replays to the end of the program.
    let replay = crate::trace::Replay::new(run.log.executor());
    let end = replay.state_at(replay.len());
    assert!(end.entry().is_some_and(|run| run.done));
    // As with every log: a later format is refused, not read as if it were this one.
    let later = run.log.to_json_lines().replacen("thunkscope.log/1", "thunkscope.log/2", 1);
    assert_eq!(DfxLog::from_json_lines(&later).map_err(|error| error.code.clone()), Err("LG001".to_owned()));
}

#[test]
fn files_hold_what_was_collected() {
    let (scenario, run) = go(tight("global-freeze"));
    let files = files(&scenario, &run);
    let text = |path: &str| {
        let file = files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} is there"));
        String::from_utf8(file.bytes.clone()).expect("text")
    };
    let json = |path: &str| -> serde_json::Value { serde_json::from_str(&text(path)).expect("JSON") };
    assert_eq!(json("chip_swimlane_records.json")["aicpu_tasks"].as_array().map(Vec::len), Some(60));
    assert_eq!(json("chip_swimlane_records.json")["aicore_tasks"].as_array().map(Vec::len), Some(60));
    assert_eq!(json("deps.json")["tasks"].as_array().map(Vec::len), Some(60));
    assert_eq!(text("pmu.csv").lines().count(), 61);
    assert!(json("merged_swimlane.json")["traceEvents"].as_array().is_some_and(|all| all.len() > 200));
    assert_eq!(text("scope_stats/scope_stats.jsonl").lines().count(), 3);
    let dump = json("tensor_dump/tensor_dump.json");
    let bin = files.iter().find(|file| file.path.ends_with(".bin")).expect("payloads");
    let sizes: u64 =
        dump["args"].as_array().expect("entries").iter().filter_map(|e| e["bin_size"].as_u64()).sum();
    assert_eq!(bin.bytes.len() as u64, sizes);
    assert!(json("ledger.json")["balances"].as_bool().is_some_and(|balances| balances));
}

#[test]
fn wrong_files_are_told_where_and_what_is_allowed() {
    #[track_caller]
    fn check(change: serde_json::Value, code: &str, path: &str) {
        let mut value = tight("global-freeze");
        for (name, field) in change.as_object().expect("an object") {
            value[name] = field.clone();
        }
        let error = scenario(value).expect_err("is refused");
        assert_eq!((error.code.as_str(), error.path.as_str()), (code, path), "{error}");
        assert!(!error.expected.is_empty());
    }
    check(json!({ "format": "x" }), "DX002", "$.format");
    check(json!({ "polcy": "drop" }), "DX003", "$.polcy");
    check(json!({ "host": { "colect_ns": 3 } }), "DX003", "$.host.colect_ns");
    check(json!({ "lanes": 1 }), "DX004", "$.lanes");
    check(json!({ "lanes": "two" }), "DX004", "$.lanes");
    check(json!({ "profile": "a3" }), "DX004", "$.profile");
    check(json!({ "cores": 1.5 }), "DX004", "$.cores");
    check(json!({ "faults": ["t1"] }), "DX004", "$.faults[0]");
    check(json!({ "subsystems": ["pmu", "x"] }), "DX004", "$.subsystems[1]");
    check(json!({ "pools": { "pmu": { "buffers": 0 } } }), "DX004", "$.pools.pmu.buffers");
    check(json!({ "pools": { "pmu": { "slots": 3 } } }), "DX005", "$.pools.pmu.slots");
    check(json!({ "ready": { "pmu": 1 } }), "DX005", "$.ready.pmu");
    check(json!({ "arena_bytes": 66 }), "DX005", "$.arena_bytes");
    check(json!({ "host": { "stall_ns": [5, 3] } }), "DX004", "$.host.stall_ns[1]");
    check(json!({ "program": { "shape": "star" } }), "DX004", "$.program.shape");
    assert_eq!(read(b"{").expect_err("cut").code, "DX001");
}

#[test]
fn sizes_follow_littles_law() {
    let profile = Profile::a2a3();
    let all = size(&profile, 4, 72, None, 10_000_000).expect("fits");
    let task = all.iter().find(|sizing| sizing.kind == PoolKind::AicpuTask).expect("is there");
    // 105,000 records a second, 10 ms, 1000 records in a buffer: 1.05 in flight, and one being filled.
    assert_eq!((task.in_flight, task.needed, task.configured), (2, 3, 8));
    let most = size(&profile, 4, 72, Some(u64::MAX), u64::MAX).expect("fits");
    assert!(most.iter().all(|sizing| sizing.needed == u64::MAX), "{most:?}");
    let flood = size(&profile, 4, 72, Some(100_000_000), 50_000_000).expect("fits");
    assert!(flood.iter().all(|sizing| !sizing.suffices()), "nothing suffices for a flood");
}

/// The capacity audit (dfx spec §5): what it found in flight, what is configured, and memory.
#[test]
fn presets_lead_to_the_verdicts_of_the_audit() {
    #[track_caller]
    fn check(profile: &Profile, kind: PoolKind, expected: (u64, u32, u64)) {
        let all = size(profile, profile.max_lanes, profile.max_cores, None, LATENCY).expect("fits");
        let it = all.iter().find(|sizing| sizing.kind == kind).expect("is there");
        assert_eq!((it.in_flight, it.configured, it.bytes), expected, "{} {kind}", profile.name);
    }
    for (profile, cores, lanes) in [(Profile::a2a3(), 72, 4), (Profile::a5(), 108, 5)] {
        check(&profile, PoolKind::AicpuTask, (4, 8, cores * 8 * 32_064));
        check(&profile, PoolKind::AicoreTask, (4, 4, cores * 4 * 32_832));
        // The audit counts one for each thread; the orchestrator's would never be written, and is not there.
        check(&profile, PoolKind::SchedPhase, (1, 6, (lanes - 1) * 6 * 1_048_640));
        check(&profile, PoolKind::OrchPhase, (4, 8, 8 * 524_352));
        check(&profile, PoolKind::Pmu, (1, 2, cores * 2 * 32_832));
        check(&profile, PoolKind::DepGen, (49, 4, 4 * 4_784_192));
        check(&profile, PoolKind::ArgsDump, (6, 8, lanes * 8 * 32_832));
        check(&profile, PoolKind::TensorDump, (6, 8, lanes * (8 * 32_832 + (128 << 20))));
        check(&profile, PoolKind::ScopeStats, (1, 4, 4 * 41_024));
    }
}

/// The real profiles run at their real sizes: the arenas cost only what is written.
#[test]
fn real_profiles_run() {
    for profile in ["a2a3", "a5"] {
        let (_, run) = go(json!({ "format": FORMAT, "profile": profile, "cores": 24 }));
        assert_eq!(run.report.outcome, Outcome::Complete, "{profile}");
        assert_eq!(run.report.disturbed(), 0, "{profile}: the path is cold");
    }
    assert_eq!(Policy::default(), Policy::GlobalFreeze);
}
