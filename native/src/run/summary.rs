//! What is said about a run: text, JSON, files.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;
use thunkscope::executor::{Ended, Failed, Report};
use thunkscope_core::diagnostic::{Diagnostic, shown};
use thunkscope_core::digest::Digest;
use thunkscope_core::dump::event::DumpLog;
use thunkscope_core::dump::sink::Written;
use thunkscope_core::executor::progress::duration;
use thunkscope_core::program::{Program, json};

use super::dump::Dumped;
use crate::print::{name, paragraph};

/// Everything about a series of runs.
pub(super) struct Summary {
    pub(super) program: String,
    pub(super) digest: Digest,
    pub(super) options: String,
    pub(super) thunks: u64,
    pub(super) workers: u16,
    /// Median of the runs of rank 0; `None` unless all ranks ended well.
    pub(super) wall_ns: Option<u64>,
    /// The same in program order.
    pub(super) sequential_ns: Option<u64>,
    pub(super) check: Option<Check>,
    pub(super) ranks: Vec<RankSummary>,
    /// By rank, if recorded: the log, and events that did not fit.
    pub(super) logs: Vec<(DumpLog, u64)>,
}

/// What became of the comparison with program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub(super) enum Check {
    /// Every byte is equal.
    Equal,
    /// The first allocation that differs.
    Different {
        /// Which rank.
        rank: usize,
        /// Which run, from 0.
        run: u32,
        /// Which allocation.
        allocation: u32,
    },
    /// A run did not end well.
    NotCompared,
}

/// One rank.
#[derive(Serialize)]
pub(super) struct RankSummary {
    #[serde(flatten)]
    pub(super) ended: Ended,
    pub(super) runs: u32,
    pub(super) total_ns: u64,
    #[serde(flatten)]
    pub(super) report: Report,
    pub(super) overflowed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dump: Option<Dumped>,
}

/// `thunkscope.run/1`.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    format: &'static str,
    program: &'a str,
    digest: Digest,
    options: &'a str,
    thunks: u64,
    workers: u16,
    wall_ns: Option<u64>,
    sequential_ns: Option<u64>,
    /// 100 for as fast as in program order.
    speed_up_percent: Option<u64>,
    check: Option<Check>,
    ranks: &'a [RankSummary],
}

impl Summary {
    /// Whether all ended well and nothing differs.
    pub(super) fn is_fine(&self) -> bool {
        self.ranks.iter().all(|rank| rank.ended == Ended::Well)
            && !matches!(self.check, Some(Check::Different { .. }))
            && self.ranks.iter().flat_map(|rank| &rank.dump).all(|dump| dump.written.lost.is_empty())
    }

    fn speed_up_percent(&self) -> Option<u64> {
        let (wall, sequential) = (self.wall_ns?, self.sequential_ns?);
        (u128::from(sequential) * 100).checked_div(u128::from(wall)).map(|percent| percent as u64)
    }

    pub(super) fn document(&self) -> Document<'_> {
        Document {
            format: "thunkscope.run/1",
            program: &self.program,
            digest: self.digest,
            options: &self.options,
            thunks: self.thunks,
            workers: self.workers,
            wall_ns: self.wall_ns,
            sequential_ns: self.sequential_ns,
            speed_up_percent: self.speed_up_percent(),
            check: self.check,
            ranks: &self.ranks,
        }
    }

    pub(super) fn text(&self, path: &Path) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}  ({}, {} thunks)", shown(&self.program, 120), name(path), self.thunks);
        let ranks = self.ranks.len();
        for (number, rank) in self.ranks.iter().enumerate() {
            let head = if ranks > 1 { format!("rank {number}: ") } else { String::new() };
            text += &paragraph("  ", &format!("{head}{}", ended(&rank.ended, rank.runs)));
        }
        if let Some(wall) = self.wall_ns {
            let mut line = format!("{} a run", duration(wall));
            if let (Some(sequential), Some(percent)) = (self.sequential_ns, self.speed_up_percent()) {
                let _ = write!(
                    line,
                    ", {} in program order: {}.{:02} times as fast",
                    duration(sequential),
                    percent / 100,
                    percent % 100
                );
            }
            text += &paragraph("  ", &line);
        }
        for (number, rank) in self.ranks.iter().enumerate() {
            let Some(Dumped { summaries, written }) = &rank.dump else { continue };
            let head = if ranks > 1 { format!("rank {number}: ") } else { String::new() };
            let lost: u64 = written.lost.values().sum();
            let causes: Vec<String> =
                written.lost.iter().map(|(cause, tensors)| format!("{cause} {tensors}")).collect();
            let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
            let Written { tensors, files, .. } = written;
            let line = format!("{head}dumped {tensors} tensors in {files} files, {lost} lost{causes}");
            text += &paragraph("  ", &line);
            if let Some(last) = summaries.last() {
                text += &paragraph("    ", &last.to_string());
            }
        }
        for (number, rank) in self.ranks.iter().enumerate() {
            let head = if ranks > 1 { format!("rank {number}: ") } else { String::new() };
            let Report { tasks, peak_tried, joined, lanes } = &rank.report;
            let used: Vec<_> = lanes
                .iter()
                .enumerate()
                .map(|(lane, report)| {
                    let percent = (u128::from(report.busy_ns) * 100).checked_div(u128::from(rank.total_ns));
                    format!("lane {lane} {}%", percent.unwrap_or(0).min(100))
                })
                .collect();
            let peak = lanes.iter().map(|lane| lane.peak_ready).max().unwrap_or(0);
            let line = format!(
                "{head}{tasks} tasks posted, {peak_tried} places held by splitting at most, {joined} taken regardless; \
                 longest ready queue {peak}; busy: {}",
                used.join(", ")
            );
            text += &paragraph("  ", &line);
            if !rank.overflowed.is_empty() {
                text += &paragraph("  ", &format!("{head}overflow in {}", rank.overflowed.join(", ")));
            }
        }
        match self.check {
            Some(Check::Equal) => text += "  check: every byte is as in program order\n",
            Some(Check::Different { rank, run, allocation }) => {
                let _ = writeln!(
                    text,
                    "  check: allocation {allocation} of rank {rank} differs from program order after run {run}"
                );
            }
            Some(Check::NotCompared) => text += "  check: not compared, a run did not end well\n",
            None => {}
        }
        for (_, left_out) in self.logs.iter().filter(|(_, left_out)| *left_out > 0) {
            text += &paragraph("  ", &format!("the log is cut: {left_out} events did not fit"));
        }
        text
    }

    /// Writes `program.json`, the logs and `run.json` into `folder`.
    pub(super) fn write(&self, folder: &Path, program: &Program) -> Result<(), Diagnostic> {
        let failed = |path: &Path, error: &io::Error| {
            Diagnostic::error("FS005", name(path), "a folder that can be written").found(error)
        };
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        let put = |file: &str, write: &dyn Fn(&mut io::BufWriter<fs::File>) -> io::Result<()>| {
            let path = folder.join(file);
            let written = fs::File::create(&path).and_then(|file| {
                let mut to = io::BufWriter::new(file);
                write(&mut to).and_then(|()| to.flush())
            });
            written.map_err(|error| failed(&path, &error))
        };
        put("program.json", &|to| to.write_all(json::write(program).as_bytes()))?;
        for (rank, (log, _)) in self.logs.iter().enumerate() {
            let file = if rank == 0 { "log.jsonl".to_owned() } else { format!("log-rank-{rank}.jsonl") };
            put(&file, &|to| to.write_all(log.to_json_lines().as_bytes()))?;
        }
        put("run.json", &|to| serde_json::to_writer_pretty(to, &self.document()).map_err(io::Error::from))
    }
}

/// How a rank ended, as a sentence.
fn ended(ended: &Ended, runs: u32) -> String {
    let times = |n: u32| if n == 1 { "once".to_owned() } else { format!("{n} times") };
    match ended {
        Ended::Well => format!("ran {} and ended well", times(runs)),
        Ended::Failed(Failed { path, node, message }) => {
            format!("failed in run {}: thunk {node} of {path} {message}", runs.saturating_sub(1))
        }
        Ended::Cancelled => "was cancelled".to_owned(),
        Ended::Stalled { progress } => {
            let inner = progress.last();
            let says =
                inner.map_or_else(String::new, |progress| format!(" in {}: {progress}", progress.path));
            format!("stalled, nothing can move any more{says}")
        }
    }
}
