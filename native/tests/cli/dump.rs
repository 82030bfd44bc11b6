//! `thunkscope dump` and `run --acl`, as a user meets them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use thunkscope_core::dump::check::{Texts, check_texts};
use thunkscope_core::dump::event::{DumpLog, Event};
use thunkscope_core::dump::resolve::Context;
use thunkscope_core::trace::{Log, MixedKind};

use crate::{Scratch, check, root, thunkscope};

const DUMP_PROGRAM: &str = r#"{"format": "thunkscope.program/1", "name": "m", "sequence": {"thunks": [
    {"kind": "kernel", "name": "a", "op_type": "Fill", "kernel": "fill(3)", "uses": [{"allocation": 0, "size": 16, "access": "write", "dtype": "f32", "shape": [4]}]},
    {"kind": "kernel", "name": "b", "op_type": "Copy", "kernel": "copy", "uses": [
        {"allocation": 0, "size": 16, "access": "read", "dtype": "f32", "shape": [4]},
        {"allocation": 1, "size": 16, "access": "write", "dtype": "f32", "shape": [4]}]}]}}"#;

#[test]
fn dump_check_says_what_is_dumped_and_why_not() {
    let scratch = Scratch::new("dump-check");
    let program = scratch.file("m.json", DUMP_PROGRAM.as_bytes());
    let folder = scratch.0.display().to_string();
    let acl = scratch.file(
        "acl.json",
        format!(r#"{{"dump": {{"dump_path": "{folder}", "dump_list": [{{"layer": ["b"]}}]}}}}"#).as_bytes(),
    );
    check(
        &["dump", "check", "--acl", &acl, "--program", &program],
        0,
        &[
            "data dump below",
            "entry/0 a (Fill): not_selected",
            "input 0: mode_excludes",
            "output 0: 16 B",
            "→ normal_m_b_Copy_{iteration}_{lane}_1",
        ],
    );
    let inert = scratch.file("inert.json", format!(r#"{{"dump": {{"dump_path": "{folder}"}}}}"#).as_bytes());
    check(&["dump", "check", "--acl", &inert], 0, &["Nothing is dumped", "DU002", "\"dump_list\": [{}]"]);
    check(&["dump", "check", "--acl", &scratch.file("bad.json", b"{")], 1, &["EP0004"]);
    check(&["dump", "check", "--env", "DUMP_GE_PATH=/nowhere/at/all"], 0, &["EP0003", "create it first"]);
    check(
        &[
            "dump",
            "check",
            "--env",
            &format!("DUMP_GE_PATH={folder}"),
            "--option",
            "ge.exec.dumpPath=/other",
            "--option",
            "global:ge.exec.dumpMode=all",
        ],
        1,
        &["DU010", "the environment wins", "mode all option"],
    );
    check(&["dump", "check", "--option", "nonsense"], 2, &["NAME=VALUE"]);
    check(&["dump", "check", "--acl", "/nowhere.json"], 3, &["FS001"]);
}

#[test]
fn dump_runs_write_files_that_show_and_compare_read() {
    let scratch = Scratch::new("dump-run");
    let program = scratch.file("m.json", DUMP_PROGRAM.as_bytes());
    let acl =
        scratch.file("acl.json", br#"{"dump": {"dump_path": "/d", "dump_mode": "all", "dump_list": [{}]}}"#);
    let [one, two] = ["one", "two"].map(|name| scratch.0.join(name).display().to_string());
    check(
        &["run", &program, "--acl", &acl, "--out", &one, "--repeat", "2"],
        0,
        &["dumped 6 tensors in 4 files, 0 lost", "ops_due=2"],
    );
    check(
        &["run", &program, "--acl", &acl, "--out", &two, "--repeat", "2", "--dump-sync", "--check"],
        0,
        &["dumped 6 tensors in 4 files"],
    );
    check(
        &["dump", "show", &format!("{one}/d"), "--stats"],
        0,
        &["op b", "output 0: FLOAT ND [4] 16 B", "count 4, max 3, min 3, avg 3"],
    );
    check(&["dump", "compare", &format!("{one}/d"), &format!("{two}/d")], 0, &["4 of 4 pairs are equal"]);
    let exported = scratch.0.join("npy").display().to_string();
    check(
        &["dump", "show", &format!("{one}/d"), "--export", "npy", "--to", &exported],
        0,
        &["b_Copy_1_0_1.output.0.npy"],
    );
    let other = scratch.file("n.json", DUMP_PROGRAM.replace("fill(3)", "fill(4)").as_bytes());
    let three = scratch.0.join("three").display().to_string();
    check(&["run", &other, "--acl", &acl, "--out", &three, "--repeat", "2"], 0, &["dumped 6 tensors"]);
    check(
        &["dump", "compare", &format!("{one}/d"), &format!("{three}/d")],
        1,
        &["4 of 4 differ, first at 0: 3 and 4; max abs 1, max rel 0.25, cosine 1", "0 of 4 pairs are equal"],
    );
    check(&["dump", "show", &program], 3, &["DU030"]);
    check(&["run", &program, "--acl", &acl], 2, &["--out"]);
}

#[test]
fn dump_simulate_follows_a_scenario() {
    let scratch = Scratch::new("dump-simulate");
    let program = scratch.file("m.json", DUMP_PROGRAM.as_bytes());
    let scenario = scratch.file(
        "s.json",
        br#"{"format": "thunkscope.dump-scenario/1", "iterations": 3, "acl": {"dump": {"dump_path": "/d", "dump_step": "1", "dump_list": [{}]}}}"#,
    );
    let out = scratch.0.display().to_string();
    check(
        &["dump", "simulate", &program, "--scenario", &scenario, "--out", &out],
        0,
        &[
            "iter=0 ops_due=0",
            "step_mismatch: 2",
            "iter=1 ops_due=2 ops_dumped=2",
            "2 files with 2 tensors, 32 B; 0 tensors lost",
        ],
    );
}

fn schema(name: &str) -> jsonschema::Validator {
    let text = fs::read_to_string(root().join("docs").join(name)).expect("a schema of docs/");
    jsonschema::validator_for(&serde_json::from_str(&text).expect("JSON")).expect("a schema")
}

#[track_caller]
fn follows(name: &str, value: &Value) {
    if let Some(error) = schema(name).iter_errors(value).next() {
        panic!("{name} at {}: {error}\n{value:#}", error.instance_path);
    }
}

/// Calls with `--json`; the document.
#[track_caller]
fn json_of(arguments: &[&str], code: i32) -> Value {
    let answer = check(&[arguments, &["--json"]].concat(), code, &[]);
    serde_json::from_str(&answer.out).expect("JSON")
}

/// Every line of a log follows its schema; the log.
#[track_caller]
fn log_of(path: &Path) -> DumpLog {
    let text = fs::read_to_string(path).expect("a log");
    let schema = schema("log.schema.json");
    for line in text.lines() {
        if let Some(error) = schema.iter_errors(&serde_json::from_str(line).expect("JSON")).next() {
            panic!("{line}: {error}");
        }
    }
    // Whoever knows nothing of records reads the thunks.
    Log::from_json_lines(&text).expect("an event log");
    DumpLog::from_json_lines(&text).expect("with records")
}

fn events(log: &DumpLog) -> impl Iterator<Item = &Event> {
    log.events.iter().filter_map(|event| match &event.kind {
        MixedKind::Other(event) => Some(event),
        MixedKind::Executor(_) => None,
    })
}

const EVERYTHING: &str = r#"{"dump": {"dump_path": "/d", "dump_mode": "all", "dump_list": [{}]}}"#;

#[test]
fn every_json_document_follows_its_schema() {
    let scratch = Scratch::new("dump-schemas");
    let program = scratch.file("m.json", DUMP_PROGRAM.as_bytes());
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    let stats = scratch
        .file("stats.json", br#"{"dump": {"dump_path": "/s", "dump_data": "stats", "dump_list": [{}]}}"#);
    let scenario = scratch.file("s.json", br#"{"format": "thunkscope.dump-scenario/1", "iterations": 2, "acl": {"dump": {"dump_path": "/d", "dump_list": [{}]}}, "switches": [{"iteration": 0, "after": 0, "to": "off"}]}"#);
    let at = |name: &str| scratch.0.join(name).display().to_string();
    let [one, two] = ["one", "two"].map(at);
    let ran = json_of(&["run", &program, "--acl", &acl, "--out", &one, "--ranks", "2", "--repeat", "2"], 0);
    follows("run.schema.json", &ran);
    assert_eq!(ran["ranks"][1]["dump"]["files"], 4);
    follows("run.schema.json", &json_of(&["run", &program, "--acl", &stats, "--out", &two], 0));
    for (path, more) in [(format!("{one}/rank-0/d"), &["--stats"][..]), (format!("{two}/s"), &[])] {
        let shown = json_of(&[&["dump", "show", &path], more].concat(), 0);
        follows("dump-show.schema.json", &shown);
        assert!(shown["files"].as_array().is_some_and(|files| files.len() >= 2));
    }
    let ranks = ["rank-0", "rank-1"].map(|rank| format!("{one}/{rank}/d"));
    let same = json_of(&["dump", "compare", &ranks[0], &ranks[1]], 0);
    follows("dump-compare.schema.json", &same);
    let differs = json_of(&["dump", "compare", &ranks[0], &format!("{two}/s")], 1);
    follows("dump-compare.schema.json", &differs);
    fs::create_dir(at("sim")).expect("a directory");
    let simulated = json_of(&["dump", "simulate", &program, "--scenario", &scenario, "--out", &at("sim")], 0);
    follows("dump-run.schema.json", &simulated);
    let checked = json_of(&["dump", "check", "--acl", &acl, "--program", &program, "--no-disk"], 0);
    follows("dump-check.schema.json", &checked);
    // And the logs, with as many records as there are files.
    for (path, files) in
        [("one/log.jsonl", 4), ("one/log-rank-1.jsonl", 4), ("two/log.jsonl", 2), ("sim/log.jsonl", 2)]
    {
        let log = log_of(&scratch.0.join(path));
        assert_eq!(
            events(&log).filter(|event| matches!(event, Event::Written { .. })).count(),
            files,
            "{path}"
        );
    }
}

#[test]
fn dump_check_prints_what_the_page_is_given() {
    let scratch = Scratch::new("dump-same");
    let scenario = r#"{"format": "thunkscope.dump-scenario/1", "iterations": 3, "switches": [{"iteration": 1, "after": 0, "to": "off"}]}"#;
    let [acl, program, with] = [("a.json", EVERYTHING), ("m.json", DUMP_PROGRAM), ("s.json", scenario)]
        .map(|(name, text)| scratch.file(name, text.as_bytes()));
    let printed = json_of(
        &[
            "dump",
            "check",
            "--acl",
            &acl,
            "--program",
            &program,
            "--scenario",
            &with,
            "--no-disk",
            "--env",
            "DUMP_GE_MODE=input",
            "--option",
            "global:ge.exec.dumpStep=1",
        ],
        0,
    );
    let directory = printed["directory"].as_str().expect("on").to_owned();
    let time = directory.rsplit('/').next().expect("a time");
    let texts = Texts {
        acl: EVERYTHING,
        env: "DUMP_GE_MODE=input",
        options: "global:ge.exec.dumpStep=1",
        program: DUMP_PROGRAM,
        scenario,
        ..Texts::default()
    };
    let given = check_texts(texts, Context { time: Some(time), ..Context::unseen() });
    assert_eq!(printed, serde_json::to_value(&given).expect("JSON"));
    let records = given.program.and_then(|program| program.timeline).expect("a timeline").records;
    assert_eq!(records.len(), 4, "two iterations of two ops, then off");
}

/// The format by its description alone: 8 bytes of length, a message of that length, inputs, outputs.
#[test]
fn files_hold_the_bytes_of_the_buffers_and_nothing_else() {
    let scratch = Scratch::new("dump-bytes");
    let op = |name: &str, kernel: &str, reads: &[u32], writes: u32| {
        let tensor = |at: u32, access: &str| json!({ "allocation": at, "size": 4096, "access": access, "dtype": "f32", "shape": [1024] });
        let mut uses: Vec<Value> = reads.iter().map(|&at| tensor(at, "read")).collect();
        uses.push(tensor(writes, "write"));
        json!({ "kind": "kernel", "name": name, "op_type": "T", "kernel": kernel, "uses": uses })
    };
    let thunks = [
        op("a", "fill(3)", &[], 0),
        op("b", "fill(5)", &[], 1),
        op("c", "add", &[0, 1], 2),
        op("d", "multiply", &[0, 2], 3),
    ];
    let program = json!({ "format": "thunkscope.program/1", "name": "m", "sequence": { "thunks": thunks } });
    let program = scratch.file("m.json", program.to_string().as_bytes());
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    for (name, more) in [
        ("async", &[][..]),
        ("sync", &["--dump-sync"][..]),
        ("threads", &["--workers", "3", "--mode", "concurrent", "--always-split"]),
    ] {
        let out = scratch.0.join(name);
        let out_text = out.display().to_string();
        check(
            &[&["run", &program, "--acl", &acl, "--out", &out_text][..], more].concat(),
            0,
            &["dumped 8 tensors in 4 files"],
        );
        let time =
            fs::read_dir(out.join("d")).expect("files").next().expect("a time").expect("an entry").path();
        let mut seen = BTreeSet::new();
        for entry in fs::read_dir(time).expect("files") {
            let entry = entry.expect("an entry");
            let file = entry.file_name().into_string().expect("UTF-8");
            let values: &[f32] = match file.split('_').nth(2) {
                Some("a") => &[3.0],
                Some("b") => &[5.0],
                Some("c") => &[3.0, 5.0, 8.0],
                Some("d") => &[3.0, 8.0, 24.0],
                _ => continue,
            };
            let bytes = fs::read(entry.path()).expect("a file");
            let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight")) as usize;
            let expected: Vec<u8> =
                values.iter().flat_map(|value| value.to_le_bytes().repeat(1024)).collect();
            assert!(bytes[8 + length..] == expected, "{name} {file}");
            seen.insert(file);
        }
        assert_eq!(seen.len(), 4, "{name}");
    }
}

#[test]
fn each_rank_dumps_for_itself_and_computes_the_same() {
    let scratch = Scratch::new("dump-ranks");
    let program = scratch.file(
        "r.json",
        br#"{"format": "thunkscope.program/1", "name": "m", "ranks": 3, "sequence": {"thunks": [
            {"kind": "kernel", "name": "a", "kernel": "fill(1)", "uses": [{"allocation": 0, "size": 16, "access": "write", "dtype": "f32", "shape": [4]}]},
            {"kind": "all-reduce", "name": "sum", "op_type": "HcomAllReduce", "kernel": {"name": "all-reduce", "dtype": "f32"}, "uses": [
                {"allocation": 0, "size": 16, "access": "read", "dtype": "f32", "shape": [4]},
                {"allocation": 1, "size": 16, "access": "write", "dtype": "f32", "shape": [4]}]}]}}"#,
    );
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    let out = scratch.0.join("out").display().to_string();
    let ran = json_of(
        &["run", &program, "--acl", &acl, "--out", &out, "--ranks", "3", "--repeat", "2", "--check"],
        0,
    );
    assert_eq!(ran["check"]["result"], "equal");
    for rank in 0..3 {
        let dump = &ran["ranks"][rank]["dump"];
        assert_eq!(
            (&dump["files"], &dump["tensors"], &dump["lost"]),
            (&json!(6), &json!(6), &json!({})),
            "rank {rank}"
        );
        let says = ["sum_HcomAllReduce_1_", "_in op sum", "_out op sum", "count 4, max 3, min 3"];
        check(&["dump", "show", &format!("{out}/rank-{rank}/d"), "--stats"], 0, &says);
    }
}

/// The matrix of ge-dump spec §11.1 on real threads: which records there are, whatever the threads.
#[test]
fn the_matrix_on_threads() {
    let scratch = Scratch::new("dump-matrix");
    let width = 12;
    for dynamic in [false, true] {
        for (kind, document) in [
            ("normal", EVERYTHING),
            ("overflow", r#"{"dump": {"dump_path": "/d", "dump_debug": "on"}}"#),
            ("exception", r#"{"dump": {"dump_path": "/d", "dump_scene": "aic_err_norm_dump"}}"#),
        ] {
            let special = match kind {
                "overflow" => "overflow",
                "exception" => "fail",
                _ => "fill(1)",
            };
            let mut thunks = Vec::new();
            for n in 0..width {
                let kernel = if n == width - 1 { special } else { "fill(1)" };
                let used = json!({ "allocation": n, "size": 4096, "access": "write", "dtype": "f32", "shape": [1024] });
                thunks.push(
                    json!({ "kind": "kernel", "name": format!("op{n}"), "kernel": kernel, "uses": [used] }),
                );
            }
            let mode = if dynamic { "dynamic" } else { "static" };
            let program = json!({ "format": "thunkscope.program/1", "name": "m", "mode": mode, "sequence": { "thunks": thunks } });
            let name = format!("{kind}-{mode}");
            let file = scratch.file(&format!("{name}.json"), program.to_string().as_bytes());
            let acl = scratch.file("acl.json", document.as_bytes());
            let out = scratch.0.join(&name).display().to_string();
            let code = if kind == "normal" || kind == "overflow" { 0 } else { 1 };
            let all = [
                "run",
                &file,
                "--acl",
                &acl,
                "--out",
                &out,
                "--workers",
                "3",
                "--mode",
                "concurrent",
                "--always-split",
            ];
            let ran = json_of(&all, code);
            let mut records: Vec<String> = events(&log_of(&Path::new(&out).join("log.jsonl")))
                .filter_map(|event| match event {
                    Event::Written { of, .. } => Some(format!("{} {}", of.scenario, of.op)),
                    _ => None,
                })
                .collect();
            records.sort();
            let last = format!("op{}", width - 1);
            let expected: Vec<String> = match kind {
                "normal" => {
                    let mut all: Vec<_> = (0..width).map(|n| format!("normal op{n}")).collect();
                    all.sort();
                    all
                }
                // The device's own record comes with loaded models.
                "overflow" if !dynamic => {
                    vec!["overflow Node_OpDebug".to_owned(), format!("overflow {last}")]
                }
                "overflow" => vec![format!("overflow {last}")],
                _ => vec![format!("exception {last}")],
            };
            assert_eq!(records, expected, "{name}: {ran:#}");
            assert_eq!(ran["ranks"][0]["dump"]["lost"], json!({}), "{name}");
        }
    }
}

/// A run whose files cannot be written: the result is that of program order, every tensor is counted
/// with its cause, the log says what to do.
#[track_caller]
fn lossy(ran: &Value, err: &str, cause: &str, lost: u64, advice: &str) {
    assert_eq!(ran["check"]["result"], "equal", "{ran:#}");
    assert_eq!(ran["ranks"][0]["ended"], "well");
    let dump = &ran["ranks"][0]["dump"];
    assert_eq!(dump["lost"], json!({ cause: lost }), "{ran:#}");
    let skipped: u64 = dump["summaries"]
        .as_array()
        .expect("summaries")
        .iter()
        .filter_map(|summary| summary["counts"]["skipped"]["write_failed"].as_u64())
        .sum();
    assert_eq!(skipped, lost, "{ran:#}");
    assert!(err.contains("could not be written") && err.contains(advice), "{err}");
    follows("run.schema.json", ran);
}

#[test]
fn a_file_where_a_directory_should_be() {
    let scratch = Scratch::new("dump-blocked");
    let program = scratch.file("m.json", DUMP_PROGRAM.as_bytes());
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    let out = scratch.0.join("out");
    fs::create_dir(&out).expect("a directory");
    fs::write(out.join("d"), b"in the way").expect("a file");
    let out = out.display().to_string();
    let answer =
        check(&["run", &program, "--acl", &acl, "--out", &out, "--check", "--repeat", "2", "--json"], 1, &[]);
    let ran: Value = serde_json::from_str(&answer.out).expect("JSON");
    lossy(&ran, &answer.err, "not_a_directory", 6, "name another dump_path");
    let told: BTreeSet<String> = events(&log_of(&scratch.0.join("out/log.jsonl")))
        .filter_map(|event| match event {
            Event::Lost { cause, .. } => Some(cause.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(told, BTreeSet::from(["not_a_directory".to_owned()]));
    // The text says it as well.
    check(
        &["run", &program, "--acl", &acl, "--out", &out],
        1,
        &["0 files, 3 lost (not_a_directory 3)", "write_failed: 3"],
    );
}

/// A limit on the size of files stands for a disk that fills up: the process goes on.
#[cfg(unix)]
#[test]
fn files_that_would_be_too_large() {
    let scratch = Scratch::new("dump-large");
    let large = DUMP_PROGRAM.replace("\"size\": 16", "\"size\": 262144").replace("[4]", "[65536]");
    let program = scratch.file("m.json", large.as_bytes());
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    let out = scratch.0.join("out").display().to_string();
    // Blocks of 512 bytes or of 1024: the log fits in both, no tensor does.
    let script = "ulimit -f 200; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args([
            "-c",
            script,
            env!("CARGO_BIN_EXE_thunkscope"),
            "run",
            &program,
            "--acl",
            &acl,
            "--out",
            &out,
            "--check",
            "--repeat",
            "2",
            "--json",
        ])
        .output()
        .expect("a shell");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{err}");
    let ran: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    lossy(&ran, &err, "too_large", 6, "ulimit -f");
    // Nothing partial is left.
    let below: Vec<_> = fs::read_dir(scratch.0.join("out/d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert!(below.iter().flat_map(fs::read_dir).flatten().next().is_none(), "{below:?}");
}

#[test]
fn a_directory_that_vanishes_while_the_model_runs() {
    let scratch = Scratch::new("dump-vanish");
    let slow = DUMP_PROGRAM.replace("\"kernel\": \"fill(3)\"", "\"kernel\": \"sleep(150000000)\"");
    let program = scratch.file("m.json", slow.as_bytes());
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    let out = scratch.0.join("out");
    let child = Command::new(env!("CARGO_BIN_EXE_thunkscope"))
        .args(["run", &program, "--acl", &acl, "--check", "--repeat", "6", "--json", "--dump-sync", "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // As soon as there is a first record the directory goes, and stays away until the run is over. If
    // the machine is slow the run may be over before: then there is nothing to be seen here.
    while !out.join("d").exists() {
        std::thread::yield_now();
    }
    fs::rename(&out, scratch.0.join("gone")).expect("renames");
    let output = child.wait_with_output().expect("ends");
    let (ran, err): (Value, _) =
        (serde_json::from_slice(&output.stdout).expect("JSON"), String::from_utf8_lossy(&output.stderr));
    let dump = &ran["ranks"][0]["dump"];
    let lost = dump["lost"]["vanished"].as_u64().unwrap_or(0);
    assert_eq!(
        lost + dump["tensors"].as_u64().expect("a number"),
        18,
        "written or lost, nothing else: {ran:#}"
    );
    if lost > 0 {
        lossy(&ran, &err, "vanished", lost, "do not remove the directory");
    }
}

#[test]
fn an_out_that_cannot_be_is_told_before_anything_runs() {
    let scratch = Scratch::new("dump-no-out");
    let program = scratch.file("m.json", DUMP_PROGRAM.as_bytes());
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    let out = scratch.file("out", b"a file");
    check(&["run", &program, "--acl", &acl, "--out", &out], 3, &["FS005", "--out"]);
}

/// NumPy opens every exported tensor. Run by `cargo xtask test` where Python has NumPy; counted as
/// skipped elsewhere.
#[test]
#[ignore = "needs Python with NumPy"]
fn numpy_opens_every_exported_tensor() {
    let scratch = Scratch::new("dump-numpy");
    let program = scratch.file("m.json", DUMP_PROGRAM.replace("[4]", "[2, 2]").as_bytes());
    let acl = scratch.file("acl.json", EVERYTHING.as_bytes());
    let [out, exported] = ["out", "npy"].map(|name| scratch.0.join(name).display().to_string());
    check(&["run", &program, "--acl", &acl, "--out", &out], 0, &[]);
    check(&["dump", "show", &format!("{out}/d"), "--export", "npy", "--to", &exported], 0, &[]);
    let code = "import numpy, os, sys\nfor name in sorted(os.listdir(sys.argv[1])):\n    a = numpy.load(os.path.join(sys.argv[1], name))\n    print(name, a.dtype, a.shape, a.tolist())";
    let output = Command::new("python3").args(["-c", code, &exported]).output().expect("Python");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(),
        [
            "normal_m_a_Fill_0_0_0.output.0.npy float32 (2, 2) [[3.0, 3.0], [3.0, 3.0]]",
            "normal_m_b_Copy_0_0_1.input.0.npy float32 (2, 2) [[3.0, 3.0], [3.0, 3.0]]",
            "normal_m_b_Copy_0_0_1.output.0.npy float32 (2, 2) [[3.0, 3.0], [3.0, 3.0]]",
        ],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The scenarios of `tests/samples/dump`: what a user sees of each.
#[test]
fn the_samples_say_what_they_did() {
    let scratch = Scratch::new("dump-samples");
    let sample = |name: &str| format!("tests/samples/dump/{name}.json");
    let see = |name: &str, code: i32, says: &[&str]| {
        let out = scratch.0.join(name);
        fs::create_dir(&out).expect("a directory");
        let out = out.display().to_string();
        let simulate =
            ["dump", "simulate", &sample("block"), "--scenario", &sample(name), "--out", &out, "--log"];
        check(&simulate, code, says);
        log_of(&Path::new(&out).join("log.jsonl"))
    };
    let log = see(
        "switch",
        0,
        &[
            "disable called",
            "generation 2 to 3: Off",
            "iter=1 ops_due=1 ops_dumped=1",
            "iter=4 ops_due=2 ops_dumped=3",
            "8 files with 10 tensors",
        ],
    );
    let switched: Vec<bool> = events(&log)
        .filter_map(|event| if let Event::Switched { kinds, .. } = event { Some(kinds.data) } else { None })
        .collect();
    assert_eq!(switched, [false, true]);
    see(
        "overflow",
        0,
        &["WARNING [Overflow][Dumper] overflow in op `norm` type BatchNorm", "no_overflow: 8", "2 files"],
    );
    see(
        "exception",
        0,
        &[
            "[AIC_INFO] op `loss` type: SoftmaxCrossEntropy",
            "ERROR [Dump][Exception] dump exception to file, file:tmp/",
            "1 files",
        ],
    );
    let log = see("watcher", 0, &["2 files with 2 tensors"]);
    let ops: Vec<&str> = events(&log)
        .filter_map(|event| if let Event::Written { of, .. } = event { Some(of.op.as_str()) } else { None })
        .collect();
    assert_eq!(ops, ["norm_To_conv", "loss_To_conv"]);
    see(
        "entries",
        0,
        &[
            "ERROR [Dumper] error DU010 at path",
            "aclmdlFinalizeDump called",
            "iter=0 ops_due=0",
            "step_mismatch",
            "iter=3 ops_due=2",
        ],
    );
}

#[test]
fn commands_that_are_none_say_so() {
    assert_eq!(thunkscope(&["dump"]).code, 2);
    check(&["dump", "check", "--scenario", "/nowhere.json"], 3, &["FS001"]);
}
