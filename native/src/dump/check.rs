//! `thunkscope dump check`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use thunkscope_core::diagnostic::{Diagnostic, shown};
use thunkscope_core::dump::check::{ProgramReport, Question, RecordReport, Report, Timeline, check};
use thunkscope_core::dump::names::{Layout, time_dir};
use thunkscope_core::dump::option::Scope;
use thunkscope_core::dump::scenario::Scenario;
use thunkscope_core::executor::progress::duration;
use thunkscope_core::import::{self, ReadOptions};
use thunkscope_core::program::Program;

use super::files::probe;
use crate::Outcome;
use crate::input;
use crate::print::{err, name, out, out_json, paragraph};

/// What `dump check` is asked for.
#[derive(Args)]
pub(super) struct Arguments {
    /// The ACL document: what aclmdlSetDump is given.
    #[arg(long, value_name = "FILE")]
    acl: Option<PathBuf>,
    /// An environment variable, such as DUMP_GE_PATH=/tmp/dump. Nothing is taken from your own environment.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// A GE option, such as ge.exec.enableDump=1; with `global:` or `graph:` in front for these scopes.
    #[arg(long, value_name = "NAME=VALUE", value_parser = option)]
    option: Vec<(Scope, String, String)>,
    /// Also say which tensors of this program are dumped, or why not.
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// What else happens (thunkscope.dump-scenario/1): switches, overflows, failures. Its acl, env, options
    /// and iterations count where they are not given here.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// How often the program runs; as often as the scenario says, or once.
    #[arg(long, requires = "program")]
    iterations: Option<u64>,
    /// Names of files: seed or cann.
    #[arg(long, default_value = "seed", value_parser = layout, value_name = "LAYOUT")]
    dump_layout: Layout,
    /// Do not look at directories.
    #[arg(long)]
    no_disk: bool,
    /// Print everything as JSON (thunkscope.dump-check/1).
    #[arg(long)]
    json: bool,
}

/// A layout, by name.
pub(crate) fn layout(text: &str) -> Result<Layout, String> {
    Layout::from_name(text).ok_or_else(|| format!("one of {}", Layout::names()))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is wanted")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn option(text: &str) -> Result<(Scope, String, String), String> {
    pair(text).map(|(name, value)| Scope::of(&name, value))
}

/// Now, as the directory of an enabling is named.
pub(crate) fn now() -> String {
    time_dir(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// A program from a file.
pub(super) fn program(path: &Path) -> Result<Program, Diagnostic> {
    let bytes = input::read_file(path)?;
    Ok(import::read(&bytes, &input::name_of(path), &ReadOptions::default())?.program)
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let acl = match arguments.acl.as_deref().map(|path| (path, input::read_file(path))) {
        None => None,
        Some((_, Ok(bytes))) => Some(bytes),
        Some((path, Err(error))) => return unreadable(path, &error),
    };
    let program = match arguments.program.as_deref().map(|path| (path, program(path))) {
        None => None,
        Some((_, Ok(program))) => Some(program),
        Some((path, Err(error))) => return unreadable(path, &error),
    };
    let scenario = arguments.scenario.as_deref().map(|path| {
        let read = input::read_file(path).and_then(|text| Scenario::read(&text));
        read.map_err(|error| unreadable(path, &error))
    });
    let scenario = match scenario.transpose() {
        Ok(scenario) => scenario,
        Err(outcome) => return outcome,
    };
    let time = now();
    let report = check(Question {
        acl: acl.as_deref(),
        env: &arguments.env,
        options: &arguments.option,
        program: program.as_ref(),
        iterations: arguments.iterations.unwrap_or(0),
        layout: arguments.dump_layout,
        probe: &|path: &str| probe(path, arguments.no_disk),
        time: Some(&time),
        scenario: scenario.as_ref(),
    });
    let printed = if arguments.json { out_json(&report) } else { out(&text(&report)) };
    printed.max(if report.has_errors() { Outcome::Finding } else { Outcome::Fine })
}

pub(super) fn unreadable(path: &Path, error: &Diagnostic) -> Outcome {
    err(&format!("{}: {error}", name(path)));
    Outcome::Unreadable
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = match (&report.directory, report.kinds.as_slice()) {
        (_, []) => writeln!(text, "Nothing is dumped.\n"),
        (Some(directory), kinds) => {
            writeln!(text, "{} dump below {}\n", kinds.join(" and "), shown(directory, 600))
        }
        (None, kinds) => writeln!(text, "{} dump\n", kinds.join(" and ")),
    };
    for field in &report.fields {
        let value = if field.value.is_empty() { "–" } else { &field.value };
        let _ = write!(text, "  {:<10} {:<34} {}", field.field, shown(value, 200), field.source);
        if !field.raw.is_empty() && field.raw != field.value {
            let _ = write!(text, " ({})", shown(&field.raw, 80));
        }
        text.push('\n');
        for hidden in &field.shadowed {
            let _ = writeln!(
                text,
                "  {:<10} {:<34} not used: {}",
                "",
                "",
                format_args!("{} {}", hidden.source, shown(&hidden.raw, 80))
            );
        }
    }
    if !report.diagnostics.is_empty() {
        text.push('\n');
    }
    for diagnostic in &report.diagnostics {
        for line in diagnostic.to_string().lines() {
            text.push_str(&paragraph("  ", line.trim_start()));
        }
    }
    if let Some(program) = &report.program {
        program_text(program, &mut text);
    }
    let about: Vec<_> = report
        .log
        .iter()
        .filter(|line| {
            line.text.contains("layer") || line.text.contains("range") || line.text.contains("no list")
        })
        .collect();
    for line in about {
        text.push_str(&paragraph("  ", &line.to_string()));
    }
    text
}

fn program_text(program: &ProgramReport, text: &mut String) {
    let ProgramReport {
        model,
        iterations,
        selected_iterations,
        files_per_iteration,
        bytes_per_iteration,
        bytes,
        ops,
        timeline,
    } = program;
    let _ = writeln!(text, "\nmodel {}: {} ops", shown(model, 120), ops.len());
    for op in ops {
        let _ = write!(text, "  {} {} ({})", shown(&op.at, 60), shown(&op.op, 80), shown(&op.op_type, 40));
        if let Some(skip) = op.skip {
            let _ = writeln!(text, ": {skip}");
            continue;
        }
        text.push('\n');
        for tensor in &op.tensors {
            let what = tensor.skip.map_or_else(|| format!("{} B", tensor.size), |skip| skip.to_string());
            let _ = writeln!(text, "      {} {}: {what}", tensor.part, tensor.index);
        }
        for file in &op.files {
            let _ = writeln!(text, "      → {}", shown(file, 300));
        }
    }
    let _ = writeln!(
        text,
        "{selected_iterations} of {iterations} iterations, each {files_per_iteration} files with {bytes_per_iteration} B: {bytes} B in all"
    );
    if let Some(timeline) = timeline {
        timeline_text(timeline, text);
    }
}

/// The first records, each with its time.
fn timeline_text(timeline: &Timeline, text: &mut String) {
    let Timeline { iterations, changes, records, left_out, .. } = timeline;
    if records.is_empty() && changes.iter().all(|change| change.what == "latched") {
        return;
    }
    let _ = writeln!(text, "\nsimulated, {iterations} iterations:");
    let mut lines: Vec<(u64, String)> = Vec::new();
    for change in changes.iter().filter(|change| change.what == "switched") {
        let kinds = if change.kinds.is_empty() { "off".to_owned() } else { change.kinds.join(" and ") };
        lines.push((change.t, format!("switched to {kinds}, from the next iteration on")));
    }
    for RecordReport { t, lane, of, file, bytes, .. } in records {
        let (tensors, file) = (of.tensors, shown(file, 300));
        lines.push((*t, format!("lane {lane}: {tensors} tensors, {bytes} B → {file}")));
    }
    lines.sort_by_key(|(t, _)| *t);
    for (t, line) in lines.iter().take(SHOWN_LINES) {
        let _ = writeln!(text, "  {:>12} {line}", duration(*t));
    }
    let more = (lines.len().saturating_sub(SHOWN_LINES) as u64).saturating_add(*left_out);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
}

/// Most records and changes in the text; all are in the JSON.
const SHOWN_LINES: usize = 20;
