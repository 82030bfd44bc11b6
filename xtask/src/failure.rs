//! What went wrong, and what a person can do about it by hand.

use std::fmt;
use std::io;

/// A step that did not work. Printed as the cause, then the commands to run by hand.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: String,
    by_hand: Vec<String>,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), by_hand: Vec::new() }
    }

    /// Adds one line of "what to do by hand": a command, or a sentence.
    pub(crate) fn by_hand(mut self, line: impl Into<String>) -> Self {
        self.by_hand.push(line.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if !self.by_hand.is_empty() {
            write!(f, "\n  By hand:")?;
        }
        for line in &self.by_hand {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Failure::new(error.to_string()).by_hand("cargo xtask help")
    }
}

/// Gives an I/O error the name of the thing that was being done.
pub(crate) fn while_doing(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::new(format!("{what}: {error}"))
}
