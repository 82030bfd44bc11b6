//! The command line as a user meets it: exit code, standard output, standard error.

#[path = "cli/dump.rs"]
mod dump;

use std::path::{Path, PathBuf};
use std::process::Command;

/// What one call gave.
struct Answer {
    code: i32,
    out: String,
    err: String,
}

fn thunkscope(arguments: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_thunkscope"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("the binary starts");
    Answer {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Calls, and checks the exit code and a text that must be in standard output or error.
#[track_caller]
fn check(arguments: &[&str], code: i32, says: &[&str]) -> Answer {
    let answer = thunkscope(arguments);
    // Wrapping depends on the terminal: look at words.
    let all = format!("{} {}", answer.out, answer.err).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(answer.code, code, "{all}");
    for text in says {
        assert!(all.contains(text), "`{text}` is not in: {all}");
    }
    answer
}

/// A scratch directory of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thunkscope-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("writes");
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const MOE10: &str = "tests/oracle/programs/moe10/exec.bin";

#[test]
fn an_executable_gives_a_verdict() {
    check(
        &["explain", MOE10],
        0,
        &[
            "entry · 10 thunks · concurrent but never split",
            "at most 4 other thunks are ready at once, and work is handed over only above 8. One task, one thread.",
            "the largest slice has 16,384 B (thunk 0 `ynn_fusion.5`), the limit is 512 B",
        ],
    );
}

#[test]
fn a_cache_entry_and_our_own_json_give_the_same_verdict() {
    let says = ["entry · 10 thunks · concurrent but never split"];
    check(&["explain", "tests/oracle/cache/moe10-cache"], 0, &says);
    check(&["explain", "www/programs/moe10.json"], 0, &says);
}

/// The presets of xla-import spec §4: four bytes, one thunk, and the verdict flips.
#[test]
fn thresholds_flip_the_verdict() {
    let program = |name: &str| format!("tests/oracle/programs/{name}/exec.bin");
    check(
        &["explain", &program("edge512_bytes")],
        0,
        &["Small-buffers rule holds: the largest slice has 512 B"],
    );
    check(
        &["explain", &program("edge516_bytes")],
        0,
        &["Small-buffers rule does not hold: the largest slice has 516 B"],
    );
    check(&["explain", &program("dots_08")], 0, &["Few-thunks rule holds: 8 thunks"]);
    check(&["explain", &program("dots_09")], 0, &["Few-thunks rule does not hold: 9 thunks"]);
    let more = ["explain", &program("dots_09"), "--thunk-threshold", "9"].map(str::to_owned);
    check(
        &more.iter().map(String::as_str).collect::<Vec<_>>(),
        0,
        &["Few-thunks rule holds: 9 thunks, the limit is 9"],
    );
}

#[test]
fn a_directory_is_listed_worst_first() {
    let answer = check(&["explain", "tests/oracle/programs"], 0, &["In all:", "other files are no programs"]);
    let heads = answer.out.lines().filter(|line| line.contains("exec.bin")).count();
    let programs = std::fs::read_dir(root().join("tests/oracle/programs")).expect("the oracle").count();
    assert_eq!(heads, programs);
}

#[test]
fn json_is_one_document_or_an_array() {
    let one = thunkscope(&["explain", MOE10, "--json"]);
    let one: serde_json::Value = serde_json::from_str(&one.out).expect("JSON");
    assert_eq!(one["format"], "thunkscope.explain/1");
    assert_eq!(one["sequences"][0]["erased"], 8);
    assert_eq!(one["sequences"][0]["thunks"][0]["priority"], 5);
    let two = thunkscope(&["explain", MOE10, "www/programs/moe10.json", "--json"]);
    let two: serde_json::Value = serde_json::from_str(&two.out).expect("JSON");
    assert_eq!(two.as_array().map(Vec::len), Some(2));
    // The shape is that of the question, whatever can be read.
    let bad = thunkscope(&["explain", MOE10, "no/such/file", "--json"]);
    let array: serde_json::Value = serde_json::from_str(&bad.out).expect("JSON");
    assert_eq!((bad.code, array.as_array().map(Vec::len)), (3, Some(1)));
}

#[test]
fn verify_finds_equality_and_the_first_difference() {
    let log = "tests/oracle/programs/moe10/vlog.txt";
    check(&["explain", MOE10, "--verify", log], 0, &["1 of 1 sequences identical to XLA's own log"]);
    let text = std::fs::read_to_string(root().join(log)).expect("the log");
    let scratch = Scratch::new("verify");
    let altered = |from: &str, to: &str, says: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "the log has `{from}`");
        let changed = scratch.file("vlog.txt", changed.as_bytes());
        check(&["explain", MOE10, "--verify", &changed], 1, &["0 of 1 sequences identical", says]);
    };
    altered("priority=5", "priority=4", "has priority 4 in the log, 5 here");
    altered("kind=ynn-fusion, dependencies=[multiply", "kind=ynn-fusion, dependencies=[", "waits for");
    altered(
        "graph with 10 nodes: #source_nodes=5",
        "graph with 10 nodes: #source_nodes=6",
        "contradicts itself",
    );
    altered("ThunkExecutor with 10 thunks", "ThunkExecutor with 11 thunks", "10 thunks");
    altered("ThunkExecutor: #thunks=10", "ThunkExecutor: #thunks=11", "contradicts itself");
    altered("10 #source_nodes=5 #sink_nodes=1\n", "10 #source_nodes=5 #sink_nodes=2\n", "contradicts itself");
    altered("small_buffers=false", "small_buffers=true", "below the small-buffers limit");
    let fifth = text.lines().find(|line| line.contains("thunk #00005")).expect("thunk 5");
    altered(&format!("{fifth}\n"), "", "thunk 6 stands where thunk 5 should");
    let ninth = text.lines().find(|line| line.contains("thunk #00009")).expect("thunk 9");
    altered(&format!("{ninth}\n"), "", "lists 9 of 10 thunks, and ends too early");
    let empty = scratch.file("empty.txt", b"nothing of XLA here\n");
    check(&["explain", MOE10, "--verify", &empty], 3, &["no executor in this log", "TF_CPP_VMODULE"]);
}

#[test]
fn bad_input_is_told_once_and_the_rest_goes_on() {
    let scratch = Scratch::new("bad");
    let cut = std::fs::read(root().join(MOE10)).expect("the executable");
    let cut = scratch.file("exec.bin", &cut[..cut.len() / 2]);
    check(&["explain", &cut], 3, &["error XI", "byte"]);
    check(&["explain", &cut, MOE10], 3, &["error XI", "entry · 10 thunks"]);
    check(&["explain", &scratch.file("empty", b"")], 3, &["error XI001"]);
    check(&["explain", "no/such/file"], 3, &["error FS001"]);
    #[cfg(unix)]
    check(&["explain", "/dev/zero"], 3, &["error FS001", "a regular file"]);
    check(&["explain", &scratch.file("bad.json", b"{\"format\": ")], 3, &["error PG001"]);
    let only_text = Scratch::new("text");
    only_text.file("readme.txt", b"hello");
    check(&["explain", &only_text.0.display().to_string()], 3, &["error FS003"]);
    check(&["explain", &scratch.0.display().to_string()], 3, &["exec.bin: error XI"]);
}

#[test]
fn usage_errors_exit_with_2() {
    check(&["explain"], 2, &["required"]);
    check(&["explain", MOE10, "--queue", "stack"], 2, &["fifo, lifo, priority"]);
    check(&["explain", MOE10, "--workers", "99999"], 2, &["1023"]);
    check(&["frobnicate"], 2, &["unrecognized subcommand"]);
}

#[test]
fn a_check_is_clean_or_gives_a_counterexample() {
    check(&["check", "cap"], 0, &["cap clean: 3 scenarios, 332 states, 576 steps, depth 19"]);
    check(&["check", "--list"], 0, &["two-kinds", "graphs-4", "with --long"]);
    check(
        &["check", "two-kinds", "--fault", "decrement-before-increment"],
        1,
        &["BROKEN", "event-once: the run's event fires while thunk 0 `k0` has not completed", "lane 0"],
    );
    let scratch = Scratch::new("check");
    let log = scratch.0.join("log.jsonl").display().to_string();
    let deadlock = ["check", "collectives", "--fault", "no-scheduling-edges", "--property", "no-deadlock"];
    check(&[&deadlock[..], &["--log", &log]].concat(), 1, &["nothing can happen any more on rank 0"]);
    let log = std::fs::read_to_string(log).expect("the log was written");
    thunkscope_core::trace::Log::from_json_lines(&log).expect("an event log");
    check(
        &["check", "graphs", "--max-states", "20"],
        0,
        &["not exhaustive", "were not looked at to the end (--max-states); all states up to depth"],
    );
}

#[test]
fn a_check_in_json_repeats() {
    let ask = || thunkscope(&["check", "cap", "--memory", "ra", "--json"]);
    let (one, two) = (ask(), ask());
    assert_eq!((one.code, &one.out), (0, &two.out));
    let document: serde_json::Value = serde_json::from_str(&one.out).expect("JSON");
    assert_eq!((&document["format"], &document["memory"]), (&"thunkscope.check/1".into(), &"ra".into()));
    assert_eq!(document["checks"][0]["verdict"], "clean");
}

#[test]
fn a_program_of_the_users_is_checked_if_it_is_small() {
    let program = "tests/oracle/programs/dots_08/exec.bin";
    check(&["check", program, "--threads", "1", "--split-threshold", "8"], 0, &["clean: 3 scenarios"]);
    check(&["check", "no/such/file"], 3, &["no group, no scenario and no file"]);
    check(&["check", "tests/oracle/programs/wide_kernels40/exec.bin"], 3, &["error CK001", "1 to 12 thunks"]);
    check(&["check", "www/programs/moe10.json", "--threads", "9"], 3, &["error CK002"]);
    check(&["check", "--fault", "frobnicate"], 2, &["no-scheduling-edges"]);
    check(&["check", "--memory", "tso"], 2, &["neither sc nor ra"]);
}

#[test]
fn a_simulated_device_says_what_became_of_its_records() {
    let tight = "www/scenarios/tight-freeze.json";
    check(
        &["sim", tight],
        0,
        &["0 missing: nothing is missing", "all hold", "freezes, 3 of 3 lanes stopped"],
    );
    check(&["sim", tight, "--policy", "drop"], 1, &["pop-timeout", "records are missing, each with a cause"]);
    check(
        &["sim", tight, "--policy", "per-lane", "--ledger"],
        0,
        &["0 freezes", "tensor_dump tensor_dump 0:"],
    );
    check(&["sim", tight, "--policy", "block"], 2, &["expected one of drop, global-freeze, per-lane"]);
    check(&["sim", tight, "--fault", "t1"], 2, &["release-with-empty-queues"]);
    check(&["sim", "www/scenarios/lost-wakeup.json"], 1, &["I9 is broken by seed 0"]);
    check(&["sim", "www/scenarios/lost-wakeup.json", "--no-faults"], 0, &["nothing is missing", "all hold"]);
    // A ledger that does not balance is a finding, and so is any invariant that is broken.
    check(&["sim", tight, "--fault", "stamped-count"], 1, &["I5 is broken"]);
    let scratch = Scratch::new("sim");
    let scenario = scratch.file("s.json", br#"{"format": "thunkscope.scenario/1", "ready": {"pmu": 1}}"#);
    check(&["sim", &scenario], 3, &["DX005", "$.ready.pmu", "2 to 65536", "can hold nothing"]);
    let out = scratch.0.join("out").display().to_string();
    let one =
        check(&["sim", tight, "--seed", "7", "--profile", "a5", "--out", &out, "--json"], 0, &["\"a5\""]);
    let report: serde_json::Value = serde_json::from_str(&one.out).expect("JSON");
    let written = std::fs::read(format!("{out}/report.json")).expect("is written");
    let written: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(report["format"], "thunkscope.sim/1");
    assert_eq!(report, written, "one structure for both");
}

/// Every shipped scenario under every option: an end, and an exit code that agrees with what is told.
#[test]
fn every_shipped_scenario_runs_under_every_option() {
    let options: [&[&str]; 9] = [
        &[],
        &["--policy", "drop"],
        &["--policy", "per-lane"],
        &["--policy", "global-freeze", "--seed", "18446744073709551615"],
        &["--peer-gate", "slot-first"],
        &["--peer-gate", "barrier-first", "--no-faults"],
        &["--profile", "a2a3"],
        &["--profile", "a5"],
        &["--profile", "custom", "--no-faults"],
    ];
    let mut names: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../www/scenarios"))
        .expect("is shipped")
        .map(|entry| entry.expect("can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        for options in options {
            let mut command = vec!["sim".to_owned(), format!("www/scenarios/{name}"), "--json".to_owned()];
            command.extend(options.iter().map(|&option| option.to_owned()));
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            let one = thunkscope(&command);
            let report: serde_json::Value = serde_json::from_str(&one.out).expect("JSON");
            let broken: Vec<_> = report["invariants"]
                .as_array()
                .expect("a list")
                .iter()
                .filter(|verdict| !verdict["broken"].is_null())
                .collect();
            let faulty = report["faults"].as_array().is_some_and(|faults| !faults.is_empty());
            assert!(faulty || broken.is_empty(), "{command:?}: {broken:?}");
            let fine = report["outcome"] == "complete" && broken.is_empty();
            assert_eq!(one.code, i32::from(!fine), "{command:?}");
        }
    }
}

/// What is no scenario, or no place to write to, is told with its place; nothing panics or hangs.
#[test]
fn hostile_scenarios_are_told() {
    let scratch = Scratch::new("hostile");
    let told = |text: &[u8], says: &[&str]| {
        let path = scratch.file("s.json", text);
        check(&["sim", &path], 3, says);
    };
    told(b"", &["DX001", "line 1 column 0"]);
    told(b"\0\0\0", &["DX001"]);
    told(&b"[".repeat(200_000), &["DX001", "recursion limit"]);
    told(b"[]", &["DX004", "$: expected an object"]);
    told(b"{}", &["DX002", "$.format", "found nothing"]);
    told(br#"{"format": "thunkscope.scenario/2"}"#, &["DX002", "$.format"]);
    let fields = ["lanes", "cores", "iterations", "arena_bytes", "max_events"];
    for field in fields {
        for value in ["-1", "0", "1.5", "1e300", "18446744073709551616", "true", "[]", "{}", "\"\""] {
            let text = format!(r#"{{"format": "thunkscope.scenario/1", "{field}": {value}}}"#);
            told(text.as_bytes(), &["DX004", &format!("$.{field}: expected")]);
        }
    }
    for object in ["program", "pools", "ready", "dump", "host", "costs"] {
        let text = |value: &str| format!(r#"{{"format": "thunkscope.scenario/1", "{object}": {value}}}"#);
        told(text("[1]").as_bytes(), &["DX004", &format!("$.{object}: expected")]);
        told(text(r#"{"colour": 1}"#).as_bytes(), &["DX003", &format!("$.{object}.colour")]);
    }
    check(&["sim", "no/such/file"], 3, &["FS001", "No such file"]);
    check(&["sim", "www"], 3, &["FS001", "found a directory"]);
    let tight = "www/scenarios/tight-freeze.json";
    let file = scratch.file("file", b"");
    for out in [file.clone(), format!("{file}/below")] {
        check(&["sim", tight, "--out", &out], 3, &["FS005", "a folder that can be written"]);
    }
    check(&["sim", tight, "--seed", "18446744073709551616"], 2, &["--seed"]);
    check(&["sim", tight, "--profile", "a7"], 2, &["a2a3, a5, custom"]);
}

/// Records without their payloads are not all that there was to keep.
#[test]
fn payloads_that_cannot_be_written_are_a_finding() {
    let scratch = Scratch::new("payloads");
    let text = br#"{"format": "thunkscope.scenario/1", "host": {"write_fails_one_in": 1}}"#;
    let path = scratch.file("s.json", text);
    check(&["sim", &path], 1, &["0 missing", "could not be written"]);
}

#[test]
fn sizes_of_pools_are_told() {
    // A flood of submits, as the audit of the real device found it: no sizes suffice for dep_gen.
    check(
        &["size"],
        1,
        &["4 lanes, 72 cores", "dep_gen 1310000 records/s", "50 buffers needed, 4 there (too few)"],
    );
    check(&["size"], 1, &["5 buffers needed, 4 there (at the edge)", "17.6 MiB", "18.3 MiB"]);
    check(&["size", "--profile", "a5", "--latency", "100"], 0, &["5 lanes, 108 cores", "2 buffers needed"]);
    check(&["size", "--cores", "108"], 2, &["--cores 108: a2a3 has at most 72"]);
    check(&["size", "--profile", "a5", "--lanes", "6"], 2, &["--lanes 6: a5 has at most 5"]);
    check(&["size", "--rate", "18446744073709551615"], 2, &["1000000000000"]);
    check(&["size", "--rate", "100000000", "--latency", "50000"], 1, &["(too few)"]);
    check(&["size", "--latency", "0"], 2, &["1..=3600000000"]);
}
