//! A log as text, a line of JSON per event, and its digest.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::log::VERSION;
use super::{Event, Header, Log};
use crate::diagnostic::Diagnostic;
use crate::digest::{Digest, Hasher};

/// The header, then one event a line.
pub(crate) fn to_lines<E: Serialize>(header: &Header, events: &[E]) -> String {
    let mut text = String::new();
    // Serialising into a string cannot fail: no map with other than string keys, no I/O.
    let _ = writeln!(text, "{}", serde_json::to_string(header).unwrap_or_default());
    for event in events {
        let _ = writeln!(text, "{}", serde_json::to_string(event).unwrap_or_default());
    }
    text
}

/// Reads what [`to_lines`] writes; `each` gets the place of every event, and may refuse it. Events of
/// the `foreign` family are left out, if the reader has no use for one.
pub(crate) fn from_lines<E: DeserializeOwned>(
    text: &str,
    foreign: Option<&str>,
    mut each: impl FnMut(&Header, &str, E) -> Result<(), Diagnostic>,
) -> Result<Header, Diagnostic> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header_error = |found: String| {
        Diagnostic::error("LG001", "line 1", format!("a header with format {VERSION}"))
            .found(found)
            .hint("this file is no Thunkscope event log, or one of a newer version")
    };
    let Some((_, first)) = lines.next() else { return Err(header_error("nothing".to_owned())) };
    let header: Header = serde_json::from_str(first).map_err(|error| header_error(error.to_string()))?;
    if header.format != VERSION {
        return Err(header_error(header.format));
    }
    for (index, line) in lines {
        let path = format!("line {}", index + 1);
        match serde_json::from_str(line) {
            Ok(event) => each(&header, &path, event)?,
            Err(_) if foreign.is_some_and(|family| is_of(family, line)) => {}
            Err(error) => return Err(Diagnostic::error("LG002", &path, "an event").found(error)),
        }
    }
    Ok(header)
}

/// Whether an event's kind begins with the name of a family.
fn is_of(family: &str, line: &str) -> bool {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        kind: Cow<'a, str>,
    }
    serde_json::from_str(line).is_ok_and(|Named { kind }| kind.starts_with(family))
}

/// How the kinds of events about records begin (`dump::event`).
const DUMP_FAMILY: &str = "dump_";

impl Log {
    /// JSON lines: the header, then one event a line.
    pub fn to_json_lines(&self) -> String {
        to_lines(&self.header, &self.events)
    }

    /// Reads JSON lines. What happened to records of a dump is left out: it does not move a thunk.
    ///
    /// # Errors
    /// `LG001` for a header that is missing or of another format, `LG002` for a line that is no
    /// event, `LG003` for an event that names a lane, sequence or node that the header lacks.
    pub fn from_json_lines(text: &str) -> Result<Self, Diagnostic> {
        let mut events = Vec::new();
        // Which sequence each run executes: events may only name nodes of it.
        let mut runs: Vec<u32> = Vec::new();
        let header = from_lines(text, Some(DUMP_FAMILY), |header, path, event: Event| {
            header.check(events.last(), &event, &mut runs).map_err(|(expected, found)| {
                Diagnostic::error("LG003", path, expected).found(found).hint("the log was cut or edited")
            })?;
            events.push(event);
            Ok(())
        })?;
        Ok(Self { header, events })
    }

    /// Digest of the header and of every event. The same run gives the same digest, native and wasm.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        hasher.text(&self.to_json_lines());
        hasher.finish()
    }
}
