//! `thunkscope run`: a program on real threads.

mod dump;
mod observe;
mod options;
mod stage;
mod summary;

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::import::ReadOptions;
use thunkscope_core::program::Program;

use crate::Outcome;
use crate::input;
use crate::print::{err, name, out, out_json};

pub(crate) use options::Arguments;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = ReadOptions { lenient: arguments.lenient, ..ReadOptions::default() };
    let found = input::read_all(std::slice::from_ref(&arguments.program), &options);
    for (path, error) in &found.errors {
        err(&format!("{}: {error}", name(path)));
    }
    let [(path, imported)] = &found.programs[..] else {
        if found.errors.is_empty() {
            err(&format!("{}: `run` takes one program, and found several", name(&arguments.program)));
        }
        return Outcome::Unreadable;
    };
    for warning in &imported.warnings {
        err(&format!("{}: {warning}", name(path)));
    }
    match perform(path, &imported.program, arguments) {
        Ok(outcome) => outcome,
        Err(error) => {
            err(&format!("{}: {error}", name(path)));
            Outcome::Unreadable
        }
    }
}

fn perform(path: &Path, program: &Program, arguments: &Arguments) -> Result<Outcome, Diagnostic> {
    let stage = stage::Stage::default();
    let (done, ended) = mpsc::channel();
    let finished = std::thread::scope(|scope| {
        let work = || {
            let result = stage.run(program, arguments);
            // The other end only goes away when the process does.
            let _ = done.send(result);
        };
        std::thread::Builder::new().name("lane-0".to_owned()).spawn_scoped(scope, work).map_err(|error| {
            Diagnostic::error("RN001", "threads", "threads that the system can start").found(error)
        })?;
        observe::until(&ended, &stage, arguments)
    })?;
    let summary = match finished {
        Some(summary) => summary?,
        None => return Ok(Outcome::Finding),
    };
    // Said first: what was computed does not hang on whether it can be written down.
    let printed = if arguments.json { out_json(&summary.document()) } else { out(&summary.text(path)) };
    if let Some(out) = &arguments.out {
        summary.write(out, program)?;
    }
    Ok(printed.max(if summary.is_fine() { Outcome::Fine } else { Outcome::Finding }))
}

/// A time such as `5s`, `200ms`, `1m` or `90` (seconds).
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| format!("`{text}` is no time such as 5s or 200ms"))?;
    let ms = match &text[digits.len()..] {
        "ms" => number,
        "" | "s" => number.saturating_mul(1_000),
        "m" => number.saturating_mul(60_000),
        "h" => number.saturating_mul(3_600_000),
        unit => return Err(format!("`{unit}` is none of ms, s, m, h")),
    };
    if ms == 0 { Err("a time above 0".to_owned()) } else { Ok(Duration::from_millis(ms)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let ms = |text| duration(text).map(|time| time.as_millis()).ok();
        assert_eq!([ms("5s"), ms("200ms"), ms("1m"), ms("90")], [5_000, 200, 60_000, 90_000].map(Some));
        assert_eq!([ms(""), ms("0s"), ms("5 s"), ms("5d"), ms("-1s")], [None; 5]);
    }
}
