//! `thunkscope run` as a user meets it: real processes, their output, their exit codes, Ctrl-C.

#[path = "executor/fold.rs"]
mod fold;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use thunkscope_core::trace::{EventKind, Log, Replay};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thunkscope"));
    command.arg("run").args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

/// All that was said, with its white space evened out.
fn said(output: &Output) -> String {
    let all = [&output.stdout[..], b" ", &output.stderr].concat();
    String::from_utf8_lossy(&all).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(arguments: &[&str], code: i32, says: &[&str]) -> Output {
    let output = command(arguments).output().expect("the binary starts");
    let all = said(&output);
    assert_eq!(output.status.code(), Some(code), "{all}");
    for text in says {
        assert!(all.contains(text), "`{text}` is not in: {all}");
    }
    output
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thunkscope-run-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Self(path)
    }

    /// A fill, `kernels` side by side that read it, and a sum over all.
    fn program(&self, kernels: &[&str], flags: &Value) -> String {
        let mut thunks = vec![json!({
            "kind": "kernel", "name": "fill", "kernel": "fill(1)",
            "uses": [{"allocation": 0, "size": 1024, "access": "write"}],
        })];
        for (i, kernel) in kernels.iter().enumerate() {
            let mut thunk = json!({
                "kind": "kernel", "name": format!("k{i}"), "kernel": kernel,
                "uses": [
                    {"allocation": 0, "size": 1024, "access": "read"},
                    {"allocation": 1, "offset": 1024 * i, "size": 1024, "access": "write"},
                ],
            });
            for (name, value) in flags.as_object().into_iter().flatten() {
                thunk[name] = value.clone();
            }
            thunks.push(thunk);
        }
        thunks.push(json!({
            "kind": "kernel", "name": "sum", "kernel": "reduce",
            "uses": [
                {"allocation": 1, "size": 1024 * kernels.len(), "access": "read"},
                {"allocation": 2, "size": 4, "access": "write"},
            ],
        }));
        self.json(&json!({"format": "thunkscope.program/1", "name": "test", "sequence": {"thunks": thunks}}))
    }

    fn json(&self, value: &Value) -> String {
        let path = self.0.join("program.json");
        std::fs::write(&path, value.to_string()).expect("writes");
        path.display().to_string()
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn kernels_compute_the_same_on_threads_and_in_program_order() {
    let scratch = Scratch::new("check");
    let program =
        scratch.program(&["add", "multiply", "spin(20000)", "sort", "transpose(4,4)"].repeat(8), &json!({}));
    for more in [
        &["--always-split"][..],
        &["--queue", "priority"],
        &["--offloaded", "--cores", "3"],
        &["--workers", "0"],
    ] {
        let all = [&[&*program, "--check", "--repeat", "5"], more].concat();
        check(
            &all,
            0,
            &["ran 5 times and ended well", "every byte is as in program order", "longest ready queue"],
        );
    }
}

#[test]
fn real_executables_are_replayed_and_their_logs_open() {
    for (number, mode) in ["decided", "concurrent", "sequential"].into_iter().enumerate() {
        let scratch = Scratch::new(&format!("out{number}"));
        let out = scratch.at("run");
        let program = "tests/oracle/programs/moe10/exec.bin";
        check(&[program, "--check", "--mode", mode, "--repeat", "2", "--out", &out], 0, &["ended well"]);
        let read = |name: &str| std::fs::read_to_string(Path::new(&out).join(name)).expect(name);
        let log = Log::from_json_lines(&read("log.jsonl")).expect("a log");
        let started =
            log.events.iter().filter(|event| matches!(event.kind, EventKind::Started { .. })).count();
        assert_eq!((started, log.header.program.as_str()), (20, "moe10"));
        fold::check_fold(mode, &log);
        let replay = Replay::new(log);
        let last = replay.log().events.len() - 1;
        let end = replay.state_at(last);
        assert!(end.entry().is_some_and(|run| run.done), "{mode}: the fold ends where the run did");
        assert!(end.lanes.iter().all(|lane| lane.frames.is_empty()), "{mode}: all lanes are idle");
        let summary: Value = serde_json::from_str(&read("run.json")).expect("JSON");
        assert_eq!(summary["check"]["result"], "equal");
        check(&[&scratch.at("run/program.json"), "--json"], 0, &["\"format\": \"thunkscope.run/1\""]);
    }
}

#[test]
fn each_way_to_go_wrong_has_its_words_and_exit_code_1() {
    let scratch = Scratch::new("wrong");
    let ten = |one: &'static str| [&["add"; 9][..], &[one]].concat();
    check(
        &[&scratch.program(&ten("fail"), &json!({}))],
        1,
        &["failed in run 0: thunk 10 of entry fails, as its kernel says"],
    );
    check(
        &[&scratch.program(&ten("panic"), &json!({}))],
        1,
        &["thunk 10 of entry panicked: thunk 10 panics"],
    );
    check(
        &[&scratch.program(&ten("never"), &json!({}))],
        1,
        &[
            "stalled, nothing can move any more in entry: thunk 10 `k9` pending for",
            "1 thunk never became ready",
        ],
    );
    check(&[&scratch.program(&ten("never"), &json!({})), "--offloaded"], 1, &["thunk 10 `k9` pending for"]);
    check(&[&scratch.program(&ten("overflow"), &json!({})), "--op-debug"], 0, &["overflow in thunk 10 `k9`"]);
    check(
        &[&scratch.program(&ten("fil"), &json!({}))],
        3,
        &["error RN002", "entry/10.kernel", "found \"fil\""],
    );
    check(&["no/such/file"], 3, &["error FS001"]);
    check(&[], 2, &["PROGRAM"]);
    check(&["p", "--workers", "9999"], 2, &["1023"]);
    check(&["p", "--watchdog", "5x"], 2, &["none of ms, s, m, h"]);
}

#[test]
fn summaries_follow_their_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/run.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema is in docs/");
    let schema = jsonschema::validator_for(&serde_json::from_str(&text).expect("JSON")).expect("a schema");
    let scratch = Scratch::new("schema");
    for (last, code, ended) in [("add", 0, "well"), ("fail", 1, "failed"), ("never", 1, "stalled")] {
        let program = scratch.program(&[&["add"; 9][..], &[last]].concat(), &json!({}));
        let output = command(&[&program, "--json", "--check"]).output().expect("the binary starts");
        let summary: Value = serde_json::from_slice(&output.stdout).expect("one document");
        assert_eq!((output.status.code(), summary["ranks"][0]["ended"].as_str()), (Some(code), Some(ended)));
        if let Some(error) = schema.iter_errors(&summary).next() {
            panic!("{last} at {}: {error}", error.instance_path);
        }
    }
}

/// Two collectives that share nothing but their communicator.
#[test]
fn ranks_meet_or_say_why_not() {
    let scratch = Scratch::new("ranks");
    let collective = |i: u32| {
        json!({
            "kind": "all-reduce", "name": format!("all-reduce.{i}"),
            "uses": [{"allocation": i, "size": 64, "access": "write"}],
            "resources": [{"resource": 0, "access": "write"}],
        })
    };
    let program = scratch.json(&json!({
        "format": "thunkscope.program/1", "resources": [{"kind": "communicator"}],
        "sequence": {"thunks": [collective(0), collective(1)]},
    }));
    let all = [&*program, "--ranks", "2", "--workers", "0", "--mode", "concurrent", "--blocking-collectives"];
    check(&[&all[..], &["--check", "--repeat", "3"]].concat(), 0, &["rank 1: ran 3 times", "every byte"]);
    check(
        &[&all[..], &["--without-scheduling-edges"]].concat(),
        1,
        &[
            "rank 0: failed",
            "deadlock: the ranks wait for each other; in thunk 0 `all-reduce.0` rank 0 waits for rank 1",
        ],
    );
}

#[test]
fn the_watchdog_names_the_suspect() {
    let scratch = Scratch::new("watchdog");
    let program = scratch.program(&["add", "sleep(1500000000)"], &json!({"pending": true}));
    let arguments = [&*program, "--mode", "concurrent", "--watchdog", "400ms"];
    check(
        &arguments,
        0,
        &[
            "watchdog: entry: thunk 2 `k1` pending for",
            "1 thunk never became ready, the first is thunk 3 `sum`",
        ],
    );
}

/// Ctrl-C: a snapshot, and the run is cancelled; the process ends by itself with exit code 1.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_says_how_it_stands_and_cancels() {
    let scratch = Scratch::new("sigint");
    let program = scratch.program(&["add", "sleep(3600000000000)"], &json!({}));
    let mut child = command(&[&program, "--mode", "concurrent", "--watchdog", "100ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let id = child.id().to_string();
    // The watchdog tells when the kernel sleeps; a time to wait for it would be too short some day.
    let mut errors = BufReader::new(child.stderr.take().expect("piped"));
    let mut before = String::new();
    while !before.contains("watchdog: entry: thunk 2 `k1` running for") {
        assert_ne!(errors.read_line(&mut before).expect("text"), 0, "it ended by itself: {before}");
    }
    let sent = Command::new("kill").args(["-INT", &id]).status().expect("kill is there");
    assert!(sent.success());
    let mut all = before;
    errors.read_to_string(&mut all).expect("text");
    let output = child.wait_with_output().expect("it ends");
    all += &said(&output);
    assert_eq!(output.status.code(), Some(1), "{all}");
    assert!(all.contains("interrupted: entry: thunk 2 `k1` running for"), "{all}");
    assert!(all.contains("was cancelled"), "{all}");
}
