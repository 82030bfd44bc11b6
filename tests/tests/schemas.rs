//! What is written is what the schemas in `docs/` promise.

use std::path::Path;

use serde_json::Value;
use thunkscope_core::executor::Options;
use thunkscope_core::exhibit;
use thunkscope_core::explain::{Report, to_json};
use thunkscope_core::import::{self, ReadOptions};
use thunkscope_core::sim;

fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let text = std::fs::read_to_string(&path).expect("the schema is in docs/");
    jsonschema::validator_for(&serde_json::from_str(&text).expect("the schema is JSON"))
        .expect("a valid schema")
}

#[track_caller]
fn check(schema: &jsonschema::Validator, what: &str, value: &Value) {
    if let Some(error) = schema.iter_errors(value).next() {
        panic!("{what} at {}: {error}", error.instance_path);
    }
}

#[test]
fn reports_of_real_programs_follow_their_schema() {
    let schema = schema("explain.schema.json");
    let mut programs = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/programs");
    for entry in std::fs::read_dir(folder).expect("the oracle is there") {
        let file = entry.expect("an entry").path().join("exec.bin");
        let bytes = std::fs::read(&file).expect("an executable");
        let imported = import::read(&bytes, "p", &ReadOptions::default()).expect("reads");
        let report = Report::new(&imported.program, Options::default()).expect("explains");
        check(&schema, &file.display().to_string(), &to_json(&report));
        programs += 1;
    }
    assert!(programs > 20, "only {programs} programs");
}

#[test]
fn logs_follow_their_schema() {
    let schema = schema("log.schema.json");
    for seed in 0..sim::SEEDED {
        let (program, options) = sim::seeded(seed);
        let log = sim::run(&program, &options).expect("runs");
        for (index, line) in log.to_json_lines().lines().enumerate() {
            check(&schema, &format!("seed {seed} line {index}"), &serde_json::from_str(line).expect("JSON"));
        }
    }
}

#[test]
fn exhibits_follow_their_schema() {
    let schema = schema("exhibit.schema.json");
    for seed in 0..sim::SEEDED {
        let (program, options) = sim::seeded(seed);
        for (path, _) in program.sequences() {
            let exhibit =
                exhibit::build(&program, &path, std::slice::from_ref(&options), &[]).expect("builds");
            let value = serde_json::from_str(&exhibit.to_json()).expect("JSON");
            check(&schema, &format!("seed {seed} {path}"), &value);
        }
    }
}

#[test]
fn checks_follow_their_schema() {
    use thunkscope_core::explore::document::{Document, Line, named};
    use thunkscope_core::explore::memory::Order;
    use thunkscope_core::explore::{Fault, Limits, Property, Sweep};
    let schema = schema("check.schema.json");
    let log = self::schema("log.schema.json");
    let fault: Fault = "no-scheduling-edges".parse().expect("a fault");
    for (states, faults) in [(u64::MAX, vec![]), (20, vec![]), (u64::MAX, vec![fault])] {
        let mut scenarios = named("2 collectives pending fifo").expect("a scenario").remove(0).scenarios;
        scenarios.iter_mut().for_each(|scenario| assert!(scenario.apply(&faults, &Property::all())));
        let limits = Limits { states, ..Limits::default() };
        let mut sweep = Sweep::new(scenarios, limits);
        sweep.finish().expect("a scenario that can be explored");
        let mut document = Document::new(Order::Sc, &faults, &Property::all(), limits, true);
        document.checks.push(Line::new("one", &sweep));
        let value = serde_json::to_value(&document).expect("JSON");
        check(&schema, &format!("{states} {faults:?}"), &value);
        let verdict = match (states, faults.is_empty()) {
            (20, _) => "not-exhaustive",
            (_, true) => "clean",
            (_, false) => "broken",
        };
        assert_eq!(value["checks"][0]["verdict"], verdict);
        if verdict == "broken" {
            let found = &value["checks"][0]["counterexample"]["log"];
            check(&log, "header", &found["header"]);
            let events = found["events"].as_array().expect("events");
            events.iter().for_each(|event| check(&log, "event", event));
        }
    }
}

#[test]
fn the_schemas_refuse_what_they_should() {
    let schema = schema("log.schema.json");
    for line in [
        r#"{"t":0,"actor":0,"run":0,"kind":"popped"}"#,
        r#"{"t":0,"actor":0,"run":0,"kind":"popped","node":1,"extra":1}"#,
        r#"{"t":0,"actor":0,"run":0,"kind":"unheard_of"}"#,
    ] {
        assert!(!schema.is_valid(&serde_json::from_str(line).expect("JSON")), "{line}");
    }
}

/// The scenarios that are shipped: file name and text.
fn scenarios() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/scenarios");
    let files = std::fs::read_dir(folder).expect("scenarios are shipped").map(|file| {
        let path = file.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("is read"))
    });
    let mut all: Vec<_> = files.collect();
    all.sort();
    assert!(all.len() >= 12, "a dozen scenarios");
    all
}

/// A definition inside a schema, as a schema of its own.
fn part(schema: &str, name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(schema);
    let whole: Value = serde_json::from_slice(&std::fs::read(path).expect("is there")).expect("JSON");
    jsonschema::validator_for(&whole["$defs"][name]).expect("a valid schema")
}

#[test]
fn simulated_runs_follow_their_schemas() {
    use thunkscope_core::dfx::{Fault, Policy};
    use thunkscope_core::sim::dfx::{Overrides, files, simulate};
    let names = ["scenario", "sim", "ledger", "log"];
    let [scenario, sim, ledger, log] = names.map(|name| schema(&format!("{name}.schema.json")));
    let artifacts = ["chip_swimlane_records.json", "merged_swimlane.json", "deps.json", "args_dump.json"]
        .into_iter()
        .chain(["tensor_dump.json", "scope_stats.jsonl"])
        .map(|name| (name, part("dfx-artifacts.schema.json", name)))
        .collect::<Vec<_>>();
    let (mut kinds, mut seen) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    let faulty =
        Overrides { faults: vec![Fault::AllocatePerFreeze, Fault::StampedCount], ..Overrides::default() };
    let drop = Overrides { policy: Some(Policy::Drop), seed: Some(u64::MAX), ..Overrides::default() };
    for (name, text) in scenarios() {
        check(&scenario, &name, &serde_json::from_slice(&text).expect("JSON"));
        for overrides in [&Overrides::default(), &drop, &faulty] {
            let simulation = simulate(&text, overrides).expect("runs");
            check(&sim, &name, &serde_json::to_value(&simulation.document).expect("JSON"));
            for file in files(&simulation.scenario, &simulation.run) {
                let what = format!("{name} {}", file.path);
                let last = file.path.rsplit('/').next().expect("a name").to_owned();
                let value = |text: &[u8]| -> Value { serde_json::from_slice(text).expect("JSON") };
                match last.as_str() {
                    "ledger.json" => check(&ledger, &what, &value(&file.bytes)),
                    "report.json" => check(&sim, &what, &value(&file.bytes)),
                    "log.jsonl" => {
                        // All events of a kind have one form: the first ones of each, and some of the others.
                        for (index, line) in file.bytes.split(|byte| *byte == b'\n').enumerate() {
                            let Ok(event) = serde_json::from_slice::<Value>(line) else { continue };
                            let first = kinds.insert(event["kind"].as_str().unwrap_or_default().to_owned());
                            if first || index % 97 == 0 {
                                check(&log, &format!("{what} line {index}"), &event);
                            }
                        }
                    }
                    "pmu.csv" | "tensor_dump.bin" => {}
                    _ => {
                        let (_, schema) = artifacts.iter().find(|(name, _)| *name == last).expect(&what);
                        let lines = last.ends_with(".jsonl");
                        let texts: Vec<_> = file.bytes.split(|byte| lines && *byte == b'\n').collect();
                        for text in texts.into_iter().filter(|text| !text.is_empty()) {
                            check(schema, &what, &value(text));
                        }
                    }
                }
                seen.insert(last);
            }
        }
    }
    assert_eq!(seen.len(), 11, "every file was written: {seen:?}");
    // All of the transport's kinds but those of a run that these scenarios do not have.
    assert!(kinds.len() > 40, "{kinds:?}");
    for kind in
        ["region", "pool", "append", "spool", "heard", "silent", "lost", "crash", "allocate", "ledger"]
    {
        assert!(kinds.contains(kind), "{kind} was never seen: {kinds:?}");
    }
}

#[test]
fn sizes_follow_their_schema() {
    let schema = schema("size.schema.json");
    for profile in [thunkscope_core::dfx::Profile::a2a3(), thunkscope_core::dfx::Profile::a5()] {
        let all = sim::dfx::size(&profile, 4, 72, None, 10_000_000).expect("fits");
        let pools: Vec<_> = all.iter().map(sim::dfx::Sizing::to_json).collect();
        let value = serde_json::json!({ "format": "thunkscope.size/1", "profile": profile.name, "lanes": 4,
            "cores": 72, "pools": pools });
        check(&schema, profile.name, &value);
    }
}

/// What the schema of a scenario refuses, the reader refuses, and the other way round.
#[test]
fn the_scenario_schema_is_the_reader() {
    let schema = schema("scenario.schema.json");
    let check = |change: &str, fine: bool| {
        let mut value = serde_json::json!({ "format": "thunkscope.scenario/1" });
        let fields: Value = serde_json::from_str(change).expect("JSON");
        for (name, field) in fields.as_object().expect("an object") {
            value[name] = field.clone();
        }
        let read = sim::dfx::scenario(value.clone());
        assert_eq!(read.is_ok(), fine, "the reader on {change}: {:?}", read.err());
        assert_eq!(schema.is_valid(&value), fine, "the schema on {change}");
    };
    for change in [
        r#"{}"#,
        r#"{ "lanes": 5, "cores": 7, "seed": "18446744073709551615" }"#,
        r#"{ "program": { "shape": "wide", "thunks": 3 }, "iterations": 2 }"#,
        r#"{ "pools": { "pmu": { "slots": 4096 } }, "ready": { "pmu": 2 } }"#,
        r#"{ "host": { "stall_ns": [5, 5], "skew_percent": [1, 100000] }, "order": "adversarial" }"#,
    ] {
        check(change, true);
    }
    for change in [
        r#"{ "format": "thunkscope.scenario/2" }"#,
        r#"{ "polcy": "drop" }"#,
        r#"{ "policy": "block" }"#,
        r#"{ "lanes": 1 }"#,
        r#"{ "lanes": 65 }"#,
        r#"{ "cores": 0 }"#,
        r#"{ "cores": -3 }"#,
        r#"{ "cores": 1.5 }"#,
        r#"{ "profile": "a3" }"#,
        r#"{ "swimlane_level": 5 }"#,
        r#"{ "budget_ns": 999 }"#,
        r#"{ "ready": { "pmu": 1 } }"#,
        r#"{ "ready": { "gpu": 4 } }"#,
        r#"{ "pools": { "pmu": { "slots": 3 } } }"#,
        r#"{ "pools": { "pmu": { "buffers": 0 } } }"#,
        r#"{ "pools": { "pmu": { "records": 65537 } } }"#,
        r#"{ "faults": ["t1"] }"#,
        r#"{ "subsystems": "pmu" }"#,
        r#"{ "host": { "step_ns": 0 } }"#,
        r#"{ "host": { "stall_ns": [1] } }"#,
        r#"{ "costs": { "jitter_percent": 101 } }"#,
        r#"{ "program": { "thunks": 0 } }"#,
        r#"{ "arena_bytes": 63 }"#,
        r#"{ "allocate": 1 }"#,
        r#"{ "max_events": 0 }"#,
        r#"{ "name": 3 }"#,
    ] {
        check(change, false);
    }
}
