//! The Dump module from outside: the page that describes it, the schemas, NumPy, the command line's
//! building blocks together.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use thunkscope_core::dump::acl;
use thunkscope_core::dump::check::{Question, Report, check as check_config};
use thunkscope_core::dump::log::Lines;
use thunkscope_core::dump::names::{Layout, time_dir};
use thunkscope_core::dump::npy::npy;
use thunkscope_core::dump::path::PathState;
use thunkscope_core::dump::scenario::{self, Output, Scenario};
use thunkscope_core::dump::selection::Skip;
use thunkscope_core::dump::sink::{FileSink, Loss, MemoryStore};
use thunkscope_core::dump::types::DataType;
use thunkscope_core::import::{self, ReadOptions};
use thunkscope_core::program::{Program, json as program_json};

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(&path).expect("a page of docs/")
}

fn schema(name: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(&docs(name)).expect("JSON")).expect("a schema")
}

#[track_caller]
fn follows(schema: &jsonschema::Validator, value: &Value) {
    if let Some(error) = schema.iter_errors(value).next() {
        panic!("at {}: {error}", error.instance_path);
    }
}

fn fine(_: &str) -> PathState {
    PathState::Fine
}

fn ask<'a>(acl: Option<&'a [u8]>, program: Option<&'a Program>) -> Question<'a> {
    Question {
        acl,
        env: &[],
        options: &[],
        program,
        iterations: 20,
        layout: Layout::Seed,
        probe: &fine,
        time: Some("20260801120000"),
        scenario: None,
    }
}

/// Code blocks of docs/dump.md whose first line begins with these words: what follows them, the block.
fn blocks<'d>(page: &'d str, words: &str) -> Vec<(&'d str, &'d str)> {
    page.split("\n```")
        .filter_map(|block| {
            let (head, body) = block.split_once('\n')?;
            Some((head.strip_prefix(words)?.trim(), body))
        })
        .collect()
}

#[test]
fn the_documents_of_the_page_do_what_it_says() {
    let page = docs("dump.md");
    let documents = blocks(&page, "json acl");
    assert!(documents.len() >= 5, "{}", documents.len());
    for (kind, text) in documents {
        let report = check_config(ask(Some(text.as_bytes()), None));
        let expected: &[&str] = if kind == "nothing" { &[] } else { &[kind] };
        assert_eq!(report.kinds, expected, "{text}");
        assert!(!report.has_errors(), "{text}: {:?}", report.diagnostics);
        assert_eq!(report.diagnostics.is_empty(), kind != "nothing", "{text}: {:?}", report.diagnostics);
    }
}

#[test]
fn the_scenario_of_the_page_runs() {
    let page = docs("dump.md");
    let (_, text) = blocks(&page, "json scenario")[0];
    let scenario = Scenario::read(text.as_bytes()).expect("a scenario");
    let mut sink = FileSink::new(MemoryStore::default(), Layout::Seed);
    let mut lines = Lines::default();
    let output = Output { sink: &mut sink, journal: &mut lines, sync: false, batch: 0 };
    let outcome = scenario::run(&small(), &scenario, &fine, Some("T"), output).expect("runs");
    assert_eq!(outcome.diagnostics, []);
    let report = json!({ "format": "thunkscope.dump-run/1", "written": sink.written(), "outcome": outcome });
    follows(&schema("dump-run.schema.json"), &report);
    let iterations: BTreeSet<&str> =
        sink.store.files.keys().filter_map(|path| path.split('_').nth(4)).collect();
    assert_eq!(iterations, BTreeSet::from(["0", "1", "3"]));
}

#[test]
fn the_page_lists_every_reason_key_and_value() {
    let page = docs("dump.md");
    let names = Skip::ALL.iter().map(|skip| skip.name()).chain(Loss::ALL.iter().map(|loss| loss.name()));
    for name in names {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
    // Whatever the reader takes for a misspelling of a key must be on the page.
    let text = br#"{"dump": {"dump_pat": "", "dump_mod": "", "dump_dat": "", "dump_leve": "", "dump_op_switc": "", "dump_debu": "", "dump_ste": "", "dump_scen": "", "dump_kernel_dat": "", "dump_stat": [], "dump_lis": []}}"#;
    let (_, warnings) = acl::read(text, &fine).expect("only unknown keys");
    let meant: Vec<String> = warnings
        .iter()
        .filter_map(|w| w.hint.split('`').nth(1).map(str::to_owned))
        .filter(|key| key.starts_with("dump_"))
        .collect();
    assert!(meant.len() >= 11, "{meant:?}");
    assert!(meant.iter().all(|key| page.contains(&format!("| `{key}` |"))), "{meant:?}");
}

fn small() -> Program {
    let text = json!({ "format": program_json::FORMAT, "name": "m", "sequence": { "thunks": [
        { "kind": "kernel", "name": "a", "op_type": "Add", "uses": [
            { "allocation": 0, "size": 16, "access": "read", "dtype": "f32", "shape": [4] },
            { "allocation": 1, "size": 16, "access": "write", "dtype": "f32", "shape": [2, 2] }] },
        { "kind": "all-reduce", "name": "r", "uses": [
            { "allocation": 1, "size": 16, "access": "read" }, { "allocation": 2, "size": 16, "access": "write" }] },
    ] } });
    program_json::read(text.to_string().as_bytes()).expect("a program").program
}

#[test]
fn reports_follow_their_schema() {
    let schema = schema("dump-check.schema.json");
    let of = |report: Report| serde_json::to_value(report).expect("JSON");
    let list: &[u8] = br#"{"dump": {"dump_path": "/d", "dump_mode": "all", "dump_step": "1-3", "dump_list": [{"layer": ["a", "zz"]}]}}"#;
    let small = small();
    for acl in
        [None, Some(list), Some(&b"{"[..]), Some(br#"{"dump": {"dump_debug": "on", "dump_path": "/d"}}"#)]
    {
        for program in [None, Some(&small)] {
            follows(&schema, &of(check_config(ask(acl, program))));
        }
    }
    let report = check_config(ask(Some(list), Some(&small))).program.expect("a program");
    assert_eq!((report.selected_iterations, report.files_per_iteration, report.bytes), (3, 1, 3 * 32));
    assert_eq!(report.ops[0].files, ["normal_m_a_Add_{iteration}_{lane}_0"]);
    assert_eq!(report.ops[1].skip, Some(Skip::NotSelected));
    let all = br#"{"dump": {"dump_path": "/d", "dump_mode": "all", "dump_list": [{}]}}"#;
    let report = check_config(ask(Some(all), Some(&small))).program.expect("a program");
    assert_eq!(
        report.ops[1].files,
        ["normal_m_r_all-reduce_{iteration}_{lane}_1_in", "normal_m_r_all-reduce_{iteration}_{lane}_1_out"]
    );
}

#[test]
fn imported_executables_can_be_asked_about() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/programs/moe10/exec.bin");
    let program = import::read(&std::fs::read(file).expect("a file"), "moe10", &ReadOptions::default())
        .expect("reads")
        .program;
    let all = br#"{"dump": {"dump_path": "/d", "dump_mode": "all", "dump_list": [{}]}}"#;
    let report = check_config(ask(Some(all), Some(&program))).program.expect("a program");
    assert_eq!(report.ops.len(), 10);
    assert!(report.ops.iter().all(|op| op.skip.is_none() && !op.files.is_empty()), "{report:?}");
    assert!(report.bytes_per_iteration > 0);
}

#[test]
fn manifests_follow_their_schema() {
    let schema = schema("dump-record.schema.json");
    for (layout, single) in [(Layout::Seed, false), (Layout::Cann, false), (Layout::Seed, true)] {
        let acl = json!({ "dump": { "dump_path": "/d", "dump_mode": "all", "dump_op_switch": "on" } });
        let scenario = Scenario {
            format: scenario::FORMAT.to_owned(),
            acl: Some(acl),
            single_op: single,
            ..Scenario::default()
        };
        let mut sink = FileSink::new(MemoryStore::default(), layout);
        let output = Output { sink: &mut sink, journal: &mut (), sync: false, batch: 0 };
        scenario::run(&small(), &scenario, &fine, Some("T"), output).expect("runs");
        let manifest =
            sink.store.files.iter().find(|(path, _)| path.ends_with("manifest.jsonl")).expect("a manifest").1;
        let text = std::str::from_utf8(manifest).expect("UTF-8");
        let mut files = BTreeSet::new();
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).expect("JSON");
            follows(&schema, &value);
            assert!(files.insert(value["file"].as_str().expect("a file").to_owned()), "each file once");
        }
        let written: BTreeSet<String> =
            sink.store.files.keys().filter(|path| !path.ends_with("manifest.jsonl")).cloned().collect();
        assert_eq!(files, written);
    }
}

#[test]
fn times_are_named_by_the_calendar() {
    for (seconds, expected) in [
        (0, "19700101000000"),
        (951_782_399, "20000228235959"),
        (951_782_400, "20000229000000"),
        (1_767_225_599, "20251231235959"),
        (4_107_542_400, "21000301000000"),
    ] {
        assert_eq!(time_dir(seconds), expected);
    }
}

/// NumPy opens every type that it has. Run by `cargo xtask test` where Python has NumPy; counted as
/// skipped elsewhere.
#[test]
#[ignore = "needs Python with NumPy"]
fn numpy_opens_every_type_it_has() {
    let file = std::env::temp_dir().join(format!("thunkscope-npy-{}.npy", std::process::id()));
    for (dtype, expected) in [
        (DataType::Float, "float32 4"),
        (DataType::Double, "float64 8"),
        (DataType::Float16, "float16 2"),
        (DataType::Int8, "int8 1"),
        (DataType::Uint8, "uint8 1"),
        (DataType::Int16, "int16 2"),
        (DataType::Uint16, "uint16 2"),
        (DataType::Int32, "int32 4"),
        (DataType::Uint32, "uint32 4"),
        (DataType::Int64, "int64 8"),
        (DataType::Uint64, "uint64 8"),
        (DataType::Bool, "bool 1"),
    ] {
        let size: usize = expected.split(' ').nth(1).and_then(|size| size.parse().ok()).expect("a size");
        let bytes: Vec<u8> = (0..6 * size).map(|n| u8::from(n % size == 0)).collect();
        std::fs::write(&file, npy(dtype, &[2, 3], &bytes)).expect("writes");
        let code = "import numpy, sys; a = numpy.load(sys.argv[1]); print(a.dtype, a.itemsize, a.shape, a.tobytes().hex())";
        let output = Command::new("python3").args(["-c", code]).arg(&file).output().expect("Python");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            format!("{expected} (2, 3) {hex}"),
            "{errors}"
        );
    }
    let _ = std::fs::remove_file(&file);
}

/// The table of `core/src/dump/audit.rs` names tests that there are, and has a row for every trap and law.
#[test]
fn every_row_of_the_spec_names_tests_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let table = std::fs::read_to_string(root.join("core/src/dump/audit.rs")).expect("the table");
    let mut sources = String::new();
    let mut folders: Vec<_> = ["core/src/dump", "native/src/dump", "native/tests", "tests/tests"]
        .map(|folder| root.join(folder))
        .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("audit.rs") {
                sources += &std::fs::read_to_string(path).expect("a source");
            }
        }
    }
    let rows: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("//! | ")).skip(2).collect();
    let mut names = 0;
    for row in &rows {
        for name in row.split('`').skip(1).step_by(2).filter(|name| name.contains('_')) {
            assert!(sources.contains(&format!("fn {name}(")), "{name} in {row}");
            names += 1;
        }
    }
    assert!(names > 140, "{names}");
    let first = |row: &&str| row.split(" |").next().unwrap_or_default().to_owned();
    let heads = rows.iter().map(first).collect::<Vec<_>>().join(", ");
    for wanted in (1..=29).map(|n| format!("T{n}")).chain((1..=11).map(|n| format!("law {n}"))) {
        assert!(heads.split(", ").any(|head| head == wanted), "{wanted} has no row");
    }
}
