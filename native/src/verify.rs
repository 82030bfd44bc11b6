//! `--verify`: our graphs against XLA's own log.

use std::fmt::Write as _;
use std::path::Path;

use thunkscope_core::explain::Report;
use thunkscope_core::import::verify::{Checked, Verdict, verify};
use thunkscope_core::import::xla_log::XlaLog;

use crate::Outcome;
use crate::input;
use crate::print::{err, name, out, paragraph};

/// Compares each report's graphs with the log at `path` and says what is equal and what differs.
///
/// A sequence that the log lacks is a finding too: nothing is known about it. In JSON mode the answer goes to standard error, after the document.
pub(crate) fn run(path: &Path, reports: &[(&Path, Report<'_>)], json: bool) -> Outcome {
    let bytes = match input::read_file(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            err(&format!("{}: {error}", name(path)));
            return Outcome::Unreadable;
        }
    };
    let log = XlaLog::parse(&bytes);
    if log.executors.is_empty() {
        err(&format!(
            "{}: no executor in this log; compile with TF_CPP_MIN_LOG_LEVEL=0 and \
             TF_CPP_VMODULE=\"thunk_executor=7,execution_graph=7\" and keep standard error",
            name(path)
        ));
        return Outcome::Unreadable;
    }
    let mut text = String::new();
    let mut outcome = Outcome::Fine;
    for (file, report) in reports {
        let graphs: Vec<_> = report.plans.iter().map(|plan| &plan.graph).collect();
        let checked = verify(report.program, &graphs, &log);
        outcome = outcome.max(answer(&mut text, file, path, &checked));
    }
    if json {
        err(text.trim_end());
    } else {
        outcome = outcome.max(out(&format!("\n{text}")));
    }
    outcome
}

/// One block for one program.
fn answer(text: &mut String, file: &Path, log: &Path, checked: &[Checked]) -> Outcome {
    let equal = checked.iter().filter(|one| matches!(one.verdict, Verdict::Equal { .. })).count();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} against {}: {equal} of {} sequences identical to XLA's own log",
        name(file),
        name(log),
        checked.len()
    );
    let mut differs = false;
    for Checked { path, verdict } in checked {
        match verdict {
            Verdict::Equal { nodes: 0, of } if *of > 0 => text.push_str(&paragraph(
                "  ",
                &format!("{path}: the log has the counts and the decision alone, without a list of thunks; those are identical."),
            )),
            Verdict::Equal { nodes, of } if nodes < of => text.push_str(&paragraph(
                "  ",
                &format!("{path}: the log shows {nodes} of {of} thunks (XLA cuts long messages); those are identical."),
            )),
            Verdict::Equal { .. } => {}
            Verdict::Different(what) => {
                differs = true;
                text.push_str(&paragraph("  ", &format!("{path}: {what}")));
            }
            Verdict::NotInLog => {
                differs = true;
                text.push_str(&paragraph("  ", &format!("{path}: no executor of the log resembles it.")));
            }
        }
    }
    if differs { Outcome::Finding } else { Outcome::Fine }
}
