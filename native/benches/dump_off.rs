//! What a thunk costs with dump off, with dump on in an iteration that is not selected, and with its
//! outputs dumped: instructions by callgrind, which does not mind a busy machine.
//!
//! `cargo bench -p thunkscope --bench dump_off`. Prints the table of `docs/performance.md`; the first two
//! figures must be equal: with dump off the loop is the one without an observer.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

const THUNKS: u64 = 400;
/// What building, writing and the runs in program order cost (five, from five runs on) falls out of the
/// difference.
const RUNS: [u64; 2] = [6, 16];

/// Below `dump`; `None` is no document at all.
const CASES: [(&str, Option<&str>); 5] = [
    ("no dump", None),
    ("dump off", Some(r#""dump_op_switch": "off", "dump_debug": "off""#)),
    ("iteration not selected", Some(r#""dump_step": "2147483647", "dump_list": [{}]"#)),
    ("no op selected", Some(r#""dump_list": [{"layer": ["none"]}]"#)),
    ("every output dumped", Some(r#""dump_list": [{}]"#)),
];

fn main() -> ExitCode {
    let scratch = std::env::temp_dir().join(format!("thunkscope-dump-off-{}", std::process::id()));
    fs::create_dir_all(&scratch).expect("a scratch directory");
    println!("instructions per thunk, one thread, {THUNKS} thunks of 64 bytes (callgrind)\n");
    println!("| | static | dynamic |");
    println!("| --- | ---: | ---: |");
    let mut off = Vec::new();
    for (name, fields) in CASES {
        let cells = ["static", "dynamic"].map(|mode| per_thunk(&scratch, mode, fields));
        let shown = cells.map(|cell| cell.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.1}")));
        println!("| {name} | {} | {} |", shown[0], shown[1]);
        if fields.is_none() || name == "dump off" {
            off.push(cells);
        }
    }
    let _ = fs::remove_dir_all(&scratch);
    let equal = off.windows(2).all(|two| {
        two[0].iter().zip(two[1]).all(|(a, b)| matches!((a, b), (Some(a), Some(b)) if (a - b).abs() < 0.5))
    });
    println!("\ndump off is {}no dump", if equal { "" } else { "NOT " });
    if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn program(mode: &str) -> Value {
    let thunk = |n: u64| {
        json!({ "kind": "kernel", "name": format!("op{n}"), "kernel": "fill(1)",
            "uses": [{ "allocation": n, "size": 64, "access": "write", "dtype": "f32", "shape": [16] }] })
    };
    let thunks: Vec<Value> = (0..THUNKS).map(thunk).collect();
    json!({ "format": "thunkscope.program/1", "name": "m", "mode": mode, "sequence": { "thunks": thunks } })
}

fn per_thunk(scratch: &Path, mode: &str, fields: Option<&str>) -> Option<f64> {
    let file = |name: &str, text: String| -> PathBuf {
        let path = scratch.join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let program = file("program.json", program(mode).to_string());
    let acl =
        fields.map(|fields| file("acl.json", format!(r#"{{"dump": {{"dump_path": "/d", {fields}}}}}"#)));
    let count = |runs: u64| instructions(&program, acl.as_deref(), runs, &scratch.join("out"));
    let [few, many] = RUNS;
    Some((count(many)? - count(few)?) as f64 / (many - few) as f64 / THUNKS as f64)
}

/// Instructions inside of runs: not of what stands around them, nor of the thread that looks on.
fn instructions(program: &Path, acl: Option<&Path>, runs: u64, out: &Path) -> Option<i64> {
    let _ = fs::remove_dir_all(out);
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*run_once*"])
        .arg(env!("CARGO_BIN_EXE_thunkscope"))
        .arg("run")
        .arg(program)
        .args(["--workers", "0", "--mode", "concurrent", "--repeat", &runs.to_string(), "--out"])
        .arg(out)
        .stdout(Stdio::null());
    if let Some(acl) = acl {
        command.arg("--acl").arg(acl);
    }
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}
