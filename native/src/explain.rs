//! `thunkscope explain`: a verdict per sequence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use thunkscope_core::diagnostic::shown;
use thunkscope_core::executor::{Options, Queue};
use thunkscope_core::explain::{ASSUMED_TRIPS, Card, Report, document, to_xla_text};
use thunkscope_core::import::ReadOptions;

use crate::Outcome;
use crate::input::{self, Found};
use crate::print::{err, name, out, out_json, paragraph};

const HELP: &str = "\
How to get an executable from JAX:
  compiled = jax.jit(f).lower(*args).compile()
  open(\"exec.bin\", \"wb\").write(compiled.runtime_executable().serialize())
Or point it at the directory of JAX's persistent compilation cache.

How to get XLA's own log, for --verify (compile with these set, keep standard error):
  TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE=\"thunk_executor=7,execution_graph=7\"";

/// What `explain` is asked for.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// Serialized executables, JAX cache entries, thunkscope.program/1 JSON, or directories of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print everything as JSON (thunkscope.explain/1).
    #[arg(long)]
    json: bool,
    /// Print the graphs in the form of XLA's own log, to be diffed with it.
    #[arg(long, conflicts_with = "json")]
    log: bool,
    /// Compare with XLA's own log of the compile and name the first difference.
    #[arg(long, value_name = "LOG")]
    verify: Option<PathBuf>,
    /// Class of the ready queues: fifo, lifo or priority.
    #[arg(long, default_value = "fifo", value_name = "CLASS")]
    queue: Queue,
    /// Most workers beside the calling thread.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=1023))]
    workers: u32,
    /// A worker splits its queue while more than this many other thunks are ready.
    #[arg(long, default_value_t = 8)]
    split_threshold: u32,
    /// Sequential if no slice is larger than this many bytes.
    #[arg(long, default_value_t = 512)]
    buffer_threshold: u64,
    /// Sequential if there are at most this many thunks.
    #[arg(long, default_value_t = 8)]
    thunk_threshold: u32,
    /// Take thunks of unknown kinds to clash with everything, instead of giving up.
    #[arg(long)]
    lenient: bool,
    /// Also show sequences of at most one thunk.
    #[arg(long)]
    all: bool,
}

impl Arguments {
    fn options(&self) -> Options {
        Options {
            queue: self.queue,
            max_workers: self.workers,
            split_threshold: self.split_threshold,
            buffer_threshold: self.buffer_threshold,
            thunk_threshold: self.thunk_threshold,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = ReadOptions { lenient: arguments.lenient, ..ReadOptions::default() };
    let found = input::read_all(&arguments.paths, &options);
    let mut outcome = Outcome::Fine;
    for (path, error) in &found.errors {
        err(&format!("{}: {error}", name(path)));
        outcome = Outcome::Unreadable;
    }
    let mut reports = Vec::new();
    for (path, imported) in &found.programs {
        for warning in &imported.warnings {
            err(&format!("{}: {warning}", name(path)));
        }
        match Report::new(&imported.program, arguments.options()) {
            Ok(report) => reports.push((path.as_path(), report)),
            Err(error) => {
                err(&format!("{}: {error}", name(path)));
                outcome = Outcome::Unreadable;
            }
        }
    }
    // Worst first, over all files; the order of the paths decides between equals.
    reports.sort_by_key(|(_, report)| std::cmp::Reverse(report.cards.first().map_or(0, Card::badness)));
    let printed = if arguments.json {
        print_json(&reports, &arguments.paths)
    } else if arguments.log {
        out(&reports.iter().map(|(_, report)| to_xla_text(report)).collect::<String>())
    } else {
        print_text(&reports, &found, arguments.all)
    };
    outcome = outcome.max(printed);
    match &arguments.verify {
        Some(log) => outcome.max(crate::verify::run(log, &reports, arguments.json)),
        None => outcome,
    }
}

/// One document if one file was asked for, else an array: the shape does not depend on what could
/// be read.
fn print_json(reports: &[(&Path, Report<'_>)], paths: &[PathBuf]) -> Outcome {
    let files: Vec<_> = reports.iter().map(|(path, _)| path.display().to_string()).collect();
    let mut documents = reports.iter().zip(&files).map(|((_, report), file)| document(report, Some(file)));
    match paths {
        [one] if !one.is_dir() => documents.next().map_or(Outcome::Fine, |document| out_json(&document)),
        _ => out_json(&documents.collect::<Vec<_>>()),
    }
}

fn print_text(reports: &[(&Path, Report<'_>)], found: &Found, all: bool) -> Outcome {
    let mut text = String::new();
    for (path, report) in reports {
        let program = report.program;
        let release = if program.origin.release.is_empty() {
            String::new()
        } else {
            format!(", jaxlib {}", shown(&program.origin.release, 40))
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}  ({}{release}, {})",
            shown(&program.name, 120),
            name(path),
            sequences(report.cards.len())
        );
        text += &paragraph("  ", &report.summary);
        text.push('\n');
        let (small, cards): (Vec<_>, Vec<_>) =
            report.cards.iter().partition(|card| !all && card.thunks <= 1 && report.cards.len() > 1);
        for card in cards {
            text += &card_text(card);
        }
        if !small.is_empty() {
            let mut paths: Vec<_> = small.iter().map(|card| card.path.to_string()).collect();
            paths.truncate(4);
            let more = if small.len() > 4 { ", …" } else { "" };
            text += &paragraph(
                "  ",
                &format!(
                    "{} of at most one thunk, nothing to schedule: {}{more} (--all shows them).",
                    sequences(small.len()),
                    paths.join(", ")
                ),
            );
            text.push('\n');
        }
        for note in &report.notes {
            text += &paragraph("Note: ", note);
            text.push('\n');
        }
    }
    text += &totals(reports, found);
    out(&text)
}

fn card_text(card: &Card) -> String {
    let thunks = if card.thunks == 1 { "1 thunk".to_owned() } else { format!("{} thunks", card.thunks) };
    let repeats = match (card.repeats_known, card.repeats) {
        (true, 1) => String::new(),
        (true, n) => format!(" · runs {n} times"),
        (false, _) => " · in a loop".to_owned(),
    };
    let mut text = format!("  {} · {thunks} · {}{repeats}\n", card.path, card.verdict.name());
    text += &paragraph("    ", &card.headline);
    for finding in &card.findings {
        text += &paragraph("    - ", finding);
    }
    for advice in &card.advice {
        text += &paragraph("    → ", advice);
    }
    text.push('\n');
    text
}

fn sequences(n: usize) -> String {
    if n == 1 { "1 sequence".to_owned() } else { format!("{n} sequences") }
}

/// The last lines: how many of each verdict, and what this is not about.
fn totals(reports: &[(&Path, Report<'_>)], found: &Found) -> String {
    let mut text = String::new();
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    for card in reports.iter().flat_map(|(_, report)| &report.cards) {
        *verdicts.entry(card.verdict.name()).or_default() += 1;
    }
    if verdicts.values().sum::<usize>() > 1 {
        let counts: Vec<_> = verdicts.iter().map(|(name, n)| format!("{n} {name}")).collect();
        text += &paragraph("", &format!("In all: {}.", counts.join(", ")));
    }
    let looped = reports.iter().flat_map(|(_, report)| &report.cards).any(|card| !card.repeats_known);
    if looped {
        text += &paragraph(
            "",
            &format!(
                "Worst first; for the order, a loop of unknown length is taken to run {ASSUMED_TRIPS} times."
            ),
        );
    }
    if found.skipped > 0 {
        text += &paragraph("", &format!("{} other files are no programs and were skipped.", found.skipped));
    }
    if !reports.is_empty() {
        text += &paragraph(
            "",
            "These verdicts are about work between thunks. One thunk may still use several cores inside its kernel.",
        );
    }
    text
}
