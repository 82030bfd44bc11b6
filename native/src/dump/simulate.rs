//! `thunkscope dump simulate`: a scenario in the simulator, with real files.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::dump::log::{Grade, Lines};
use thunkscope_core::dump::names::Layout;
use thunkscope_core::dump::scenario::{self, Bytes, Output, Scenario};
use thunkscope_core::dump::sink::FileSink;

use super::check::{layout, now, program, unreadable};
use super::files::probe;
use super::store::DiskStore;
use crate::Outcome;
use crate::input;
use crate::print::{err, name, out, out_json};

/// What `dump simulate` is asked for.
#[derive(Args)]
pub(super) struct Arguments {
    /// The program.
    program: PathBuf,
    /// What happens (thunkscope.dump-scenario/1).
    #[arg(long, value_name = "FILE")]
    scenario: PathBuf,
    /// An existing directory; the configured dump_path is taken below it. What happened, to thunks and to
    /// records, goes to log.jsonl in it.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write each record before its thunk's event fires.
    #[arg(long)]
    dump_sync: bool,
    /// Names of files: seed or cann.
    #[arg(long, default_value = "seed", value_parser = layout, value_name = "LAYOUT")]
    dump_layout: Layout,
    /// Also print what is logged.
    #[arg(long)]
    log: bool,
    /// Print the outcome as JSON (thunkscope.dump-run/1).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let program = match program(&arguments.program) {
        Ok(program) => program,
        Err(error) => return unreadable(&arguments.program, &error),
    };
    let scenario = match input::read_file(&arguments.scenario).and_then(|text| Scenario::read(&text)) {
        Ok(scenario) => scenario,
        Err(error) => return unreadable(&arguments.scenario, &error),
    };
    let time = now();
    let mut sink = FileSink::new(DiskStore::new(arguments.out.clone()), arguments.dump_layout).under_path();
    let mut lines = Lines::default();
    let output = Output { sink: &mut sink, journal: &mut lines, sync: arguments.dump_sync, batch: 0 };
    // The configured path is resolved below --out: whether it is there does not matter.
    let result = scenario::run_logged(
        &program,
        &scenario,
        &|_: &str| probe(&arguments.out.to_string_lossy(), false),
        Some(&time),
        output,
        Bytes::Simulated,
    );
    for line in lines.lines.iter().filter(|line| arguments.log || line.grade >= Grade::Warning) {
        err(&line.to_string());
    }
    let (outcome, log) = match result {
        Ok(done) => done,
        Err(error) => return unreadable(&arguments.scenario, &error),
    };
    let listed = std::fs::write(arguments.out.join("log.jsonl"), log.to_json_lines());
    if let Err(error) = &listed {
        let error = Diagnostic::error("FS005", "log.jsonl", "a folder that can be written").found(error);
        err(&format!("{}: {error}", name(&arguments.out)));
    }
    let written = sink.written();
    let printed = if arguments.json {
        out_json(&json!({ "format": "thunkscope.dump-run/1", "written": written, "outcome": outcome }))
    } else {
        let lost: u64 = written.lost.values().sum();
        let mut text = String::new();
        for summary in &outcome.summaries {
            text.push_str(&format!("{summary}\n"));
        }
        text.push_str(&format!(
            "{} files with {} tensors, {} B; {lost} tensors lost\n",
            written.files, written.tensors, written.bytes
        ));
        out(&text)
    };
    for problem in &outcome.diagnostics {
        err(&problem.to_string());
    }
    let complete = written.lost.is_empty() && outcome.diagnostics.is_empty() && listed.is_ok();
    printed.max(if complete { Outcome::Fine } else { Outcome::Finding })
}
