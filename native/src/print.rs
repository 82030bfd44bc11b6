//! Printing: whole documents to standard output, wrapped paragraphs, a reader that went away.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use thunkscope_core::diagnostic::shown;

use crate::Outcome;

/// Writes `text` to standard output.
pub(crate) fn out(text: &str) -> Outcome {
    written(io::stdout().lock().write_all(text.as_bytes()))
}

/// Serializes `value` to standard output, without holding it in memory.
pub(crate) fn out_json(value: &impl Serialize) -> Outcome {
    let mut out = BufWriter::new(io::stdout().lock());
    let result = serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from);
    written(result.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// A closed pipe (`| head`) is no error; a full disk is.
fn written(result: io::Result<()>) -> Outcome {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            err(&format!("cannot write the answer: {error}"));
            Outcome::Unreadable
        }
        _ => Outcome::Fine,
    }
}

/// A path as it may be printed.
pub(crate) fn name(path: &Path) -> String {
    shown(&path.to_string_lossy(), usize::MAX)
}

/// Writes a line to standard error.
pub(crate) fn err(text: &str) {
    // Nobody is left to be told when this fails.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Wraps a paragraph to the terminal (at most 100 columns), the first line after `mark`, the
/// others under it. Whatever a file may have put into `text`, it stays one paragraph of at most
/// [`MAX_PARAGRAPH`] characters.
pub(crate) fn paragraph(mark: &str, text: &str) -> String {
    let text = shown(text, MAX_PARAGRAPH);
    let width = textwrap::termwidth().clamp(40, 100);
    let under = " ".repeat(mark.chars().count());
    let options = textwrap::Options::new(width).initial_indent(mark).subsequent_indent(&under);
    format!("{}\n", textwrap::fill(&text, options))
}

/// Longest paragraph, in characters.
const MAX_PARAGRAPH: usize = 4_000;
