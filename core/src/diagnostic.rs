//! What a user is told when an input is wrong: a value, never a panic.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The input was used; something in it deserves a look.
    Warning,
    /// The input, or the part at `path`, was not used.
    Error,
}

/// One finding about one place of an input.
///
/// Codes are stable: two letters for the reader (`XI` XLA import, `PG` program JSON, `GR` graph,
/// `SM` simulation, `DX` DFX scenario, `RN` native run, `LG` event log, `DU` dump) and three digits, or one of CANN's own for
/// dump configurations (`EP0001`, `E10001`). They are listed in `docs/diagnostics.md`.
///
/// One pointer wide, because it is the error of nearly every result: what it says is in [`Finding`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Diagnostic(Box<Finding>);

/// What a [`Diagnostic`] says; its fields are read through it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable code, such as `XI004`.
    pub code: String,
    /// Error or warning.
    pub severity: Severity,
    /// Where: a JSON path (`$.thunks[3].uses[0].size`), a byte offset (`byte 1042`) or a
    /// sequence path (`entry/4.body`).
    pub path: String,
    /// What was found there, shortened for print. Empty when nothing was there.
    pub value: String,
    /// What would have been accepted.
    pub expected: String,
    /// What the user can do about it.
    pub hint: String,
}

/// Longest `value` that is kept, in characters; the rest is cut with an ellipsis.
const MAX_VALUE: usize = 120;

impl Diagnostic {
    /// An error with `code` at `path`; what was expected there.
    pub fn error(code: &str, path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, path.into(), expected.into())
    }

    /// As [`Diagnostic::error`], but the input was used all the same.
    pub fn warning(code: &str, path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, path.into(), expected.into())
    }

    // Diagnostics are made in hundreds of places and seldom: small code there is worth a call.
    #[cold]
    #[inline(never)]
    fn new(severity: Severity, code: &str, path: String, expected: String) -> Self {
        let (value, hint) = Default::default();
        Self(Box::new(Finding { code: code.to_owned(), severity, path, value, expected, hint }))
    }

    /// Adds what was found, shortened; control characters are shown escaped.
    #[must_use]
    pub fn found(self, value: impl fmt::Display) -> Self {
        self.with_value(format_args!("{value}"))
    }

    #[cold]
    #[inline(never)]
    fn with_value(mut self, value: fmt::Arguments<'_>) -> Self {
        self.value = shown(&fmt::format(value), MAX_VALUE);
        self
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The same about another place.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }
}

impl Deref for Diagnostic {
    type Target = Finding;
    fn deref(&self) -> &Finding {
        &self.0
    }
}

impl DerefMut for Diagnostic {
    fn deref_mut(&mut self) -> &mut Finding {
        &mut self.0
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        *diagnostic.0
    }
}

/// Text of a file as it may be printed: characters that move the cursor, end the line or turn the
/// direction of writing are escaped, and after `most` characters the rest is cut with an ellipsis.
/// A hostile file must not be able to steer a terminal or to forge lines.
pub fn shown(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    for c in text.chars().take(most) {
        if steers(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Control characters, line and paragraph separators, marks of direction.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let path = shown(&self.path, 4 * MAX_VALUE);
        write!(f, "{word} {} at {path}: expected {}", self.code, self.expected)?;
        if !self.value.is_empty() {
            write!(f, ", found {}", self.value)?;
        }
        if !self.hint.is_empty() {
            write!(f, "\n  {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_sentence() {
        let d = Diagnostic::error("PG003", "$.thunks[1].kind", "a known kind")
            .found("kernle")
            .hint("did you mean `kernel`?");
        assert_eq!(
            d.to_string(),
            "error PG003 at $.thunks[1].kind: expected a known kind, found kernle\n  did you mean `kernel`?"
        );
    }

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(shown("a\u{1b}[31m\n\u{9b}\u{202e}b", 99), "a\\u{1b}[31m\\n\\u{9b}\\u{202e}b");
        assert_eq!(shown("größer 模型", 99), "größer 模型");
        assert_eq!(shown("abcdef", 3), "abc…");
    }

    #[test]
    fn control_characters_and_length_are_tamed() {
        let d = Diagnostic::error("PG001", "$", "text").found("\u{1b}[2J".to_owned() + &"x".repeat(500));
        assert!(!d.value.contains('\u{1b}'), "{}", d.value);
        assert!(d.value.ends_with('…'));
        assert!(d.value.chars().count() < 140);
    }
}
