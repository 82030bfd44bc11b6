//! When would what be written? The program in the simulator, under the configuration in question.

use serde::Serialize;
use serde_json::Value;

use super::Question;
use crate::diagnostic::{Diagnostic, Severity};
use crate::dump::dumper;
use crate::dump::event::{Event, Kinds, Of};
use crate::dump::model::Model;
use crate::dump::scenario::{Bytes, Output, Scenario, run_logged};
use crate::dump::sink::{FileSink, NoStore};
use crate::dump::summary::Summary;
use crate::program::Program;
use crate::trace::{EventKind, MixedKind, RunId};

/// What happens, and when. Times are those of the log that the simulator writes for the scenario's
/// options: a page that replays it shows records at their moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Iterations that were simulated, from 0: fewer than were asked about if there is much to do.
    #[serde(with = "crate::number::wide")]
    pub iterations: u64,
    /// When the last of them ended, in ns.
    #[serde(with = "crate::number::wide")]
    pub end: u64,
    /// Changes of the configuration and starts of iterations, in order.
    pub changes: Vec<ChangeReport>,
    /// Records in the order in which they are written.
    pub records: Vec<RecordReport>,
    /// Records beyond [`MAX_RECORDS`], which are only counted.
    #[serde(with = "crate::number::wide")]
    pub left_out: u64,
    /// By iteration.
    pub summaries: Vec<Summary>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    /// When, in ns.
    #[serde(with = "crate::number::wide")]
    pub t: u64,
    /// `switched`: asked for, and counts from the next iteration on; `latched`: an iteration begins.
    pub what: &'static str,
    /// What is on: `data`, `overflow`, `exception`.
    pub kinds: Vec<&'static str>,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordReport {
    /// When it was copied, in ns.
    #[serde(with = "crate::number::wide")]
    pub t: u64,
    /// The lane.
    pub lane: u16,
    /// The execution of a sequence, as the log counts them.
    pub run: RunId,
    /// The thunk at whose start or end it was copied: sequence path and index. None for what is
    /// copied at the end of an iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What it is of.
    #[serde(flatten)]
    pub of: Of,
    /// Its file, below `dump_path`.
    pub file: String,
    /// Bytes of tensors in it.
    #[serde(with = "crate::number::wide")]
    pub bytes: u64,
}

/// Most records that are told one by one.
pub const MAX_RECORDS: usize = 10_000;
/// Most iterations that are simulated.
pub const MAX_ITERATIONS: u64 = 64;
/// Thunks that are simulated, all iterations together: about a second in a browser.
const MAX_THUNKS: u64 = 50_000;
/// Events of the simulation; a loop of many trips ends here.
const MAX_EVENTS: usize = 1_000_000;
/// Bytes that are copied in one iteration, if it is simulated at all, and in all of them.
const MAX_BYTES: u64 = 1 << 30;

/// Simulates the program as asked; a warning if that cannot be done here.
pub(super) fn timeline(
    program: &Program,
    model: &Model,
    question: Question<'_>,
    acl_counts: bool,
    bytes_per_iteration: u64,
) -> Result<Timeline, Diagnostic> {
    let warning = |mut error: Diagnostic| {
        error.severity = Severity::Warning;
        error
    };
    let thunks: u64 = program.sequences().iter().map(|(_, sequence)| sequence.thunks.len() as u64).sum();
    // A switch may select anything.
    let switches = question.scenario.is_some_and(|scenario| !scenario.switches.is_empty());
    let everything = || model.ops.iter().map(dumper::room).fold(0, u64::saturating_add);
    let bytes = if switches { everything() } else { bytes_per_iteration };
    if bytes > MAX_BYTES {
        return Err(Diagnostic::warning(
            "DU043",
            "program",
            format!("at most {MAX_BYTES} bytes an iteration"),
        )
        .found(bytes)
        .hint("when records are written is not shown; what is written is"));
    }
    let by_bytes = MAX_BYTES / bytes.max(1);
    let affordable = (MAX_THUNKS / thunks.max(1)).min(by_bytes).clamp(1, MAX_ITERATIONS);
    let iterations = question.iterations.min(affordable);
    let mut scenario = Scenario { format: String::new(), ..question.scenario.cloned().unwrap_or_default() };
    // A document that was refused leaves the layer unset, as it is in the report.
    let document = question.acl.filter(|_| acl_counts).and_then(|text| {
        serde_json::from_slice::<Value>(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)).ok()
    });
    scenario.acl = document;
    scenario.env = question.env.iter().cloned().collect();
    scenario.options =
        question.options.iter().map(|(scope, name, value)| (scope.with(name), value.clone())).collect();
    scenario.iterations = iterations as u32;
    scenario.run.max_events = scenario.run.max_events.min(MAX_EVENTS);
    let room = model.ops.iter().map(dumper::room).max().unwrap_or(0).max(4_096).saturating_mul(4);
    let mut sink = FileSink::new(NoStore, question.layout);
    // Each record as soon as it is copied: its time is that of the copy.
    let output = Output { sink: &mut sink, journal: &mut (), sync: true, batch: room };
    let (outcome, log) = run_logged(program, &scenario, question.probe, question.time, output, Bytes::Zeros)
        .map_err(warning)?;
    let mut timeline = Timeline { iterations, summaries: outcome.summaries, ..Timeline::default() };
    let mut paths: Vec<u32> = Vec::new();
    let mut at: Option<(u32, u32)> = None;
    let change = |t, what, kinds: Kinds| ChangeReport { t, what, kinds: kinds.names().collect() };
    for event in log.events {
        let (t, run) = (event.t, event.run);
        timeline.end = t;
        match event.kind {
            MixedKind::Executor(kind) => match kind {
                EventKind::RunStart { sequence, .. } => paths.push(sequence),
                EventKind::Started { node } | EventKind::Finished { node } | EventKind::Failed { node } => {
                    at = paths.get(run as usize).map(|&sequence| (sequence, node));
                }
                EventKind::IterationEnd { .. } => at = None,
                _ => {}
            },
            MixedKind::Other(Event::Switched { kinds, .. }) => {
                timeline.changes.push(change(t, "switched", kinds));
            }
            MixedKind::Other(Event::Latched { kinds, .. }) => {
                timeline.changes.push(change(t, "latched", kinds));
            }
            MixedKind::Other(Event::Written { file, of, bytes }) => {
                if timeline.records.len() >= MAX_RECORDS {
                    timeline.left_out += 1;
                    continue;
                }
                let name = |(sequence, node): (u32, u32)| {
                    let path = model.paths.get(sequence as usize).map_or("entry", String::as_str);
                    format!("{path}/{node}")
                };
                let (lane, at) = (event.actor.0, at.map(name));
                timeline.records.push(RecordReport { t, lane, run, at, of, file, bytes });
            }
            MixedKind::Other(_) => {}
        }
    }
    timeline.changes.truncate(MAX_RECORDS);
    Ok(timeline)
}
