//! The same question as people type it: documents, and blocks of `NAME=VALUE` lines.

use super::{Question, Report, check};
use crate::diagnostic::Diagnostic;
use crate::dump::names::Layout;
use crate::dump::option::Scope;
use crate::dump::resolve::Context;
use crate::dump::scenario::Scenario;
use crate::program::json;

/// What is asked, as texts. Blank ones are none.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// The ACL document.
    pub acl: &'a str,
    /// Environment variables, `NAME=VALUE` line by line; `export`, quotes around values and lines that
    /// begin with `#` are as in a shell.
    pub env: &'a str,
    /// GE options, `NAME=VALUE` line by line, with `global:` or `graph:` in front for these scopes.
    pub options: &'a str,
    /// `thunkscope.program/1`.
    pub program: &'a str,
    /// `thunkscope.dump-scenario/1`, as [`Question::scenario`].
    pub scenario: &'a str,
    /// As [`Question::iterations`].
    pub iterations: u64,
    /// The names of which layout.
    pub layout: Layout,
}

impl Default for Texts<'_> {
    fn default() -> Self {
        let none = "";
        Self {
            acl: none,
            env: none,
            options: none,
            program: none,
            scenario: none,
            iterations: 0,
            layout: Layout::Seed,
        }
    }
}

/// The report on texts. Never fails: what cannot be read is a diagnostic of the report, with the text
/// and the line in its path, and the rest is answered without it.
///
/// In a browser nobody can look at the disk: [`Context::unseen`].
pub fn check_texts(texts: Texts<'_>, context: Context<'_>) -> Report {
    let mut diagnostics = Vec::new();
    let mut keep = |error: Diagnostic| diagnostics.push(error);
    let scenario = given(texts.scenario).and_then(|text| {
        Scenario::read(text.as_bytes()).map_err(|error| keep(within("scenario", error))).ok()
    });
    let program = given(texts.program).and_then(|text| match json::read(text.as_bytes()) {
        Ok(read) => {
            read.warnings.into_iter().for_each(|warning| keep(within("program", warning)));
            Some(read.program)
        }
        Err(error) => {
            keep(within("program", error));
            None
        }
    });
    let env = pairs(texts.env, "env", &mut keep);
    let options = pairs(texts.options, "options", &mut keep);
    let options: Vec<_> = options.into_iter().map(|(name, value)| Scope::of(&name, value)).collect();
    let mut report = check(Question {
        acl: given(texts.acl).map(str::as_bytes),
        env: &env,
        options: &options,
        program: program.as_ref(),
        iterations: texts.iterations,
        layout: texts.layout,
        probe: context.probe,
        time: context.time,
        scenario: scenario.as_ref(),
    });
    diagnostics.append(&mut report.diagnostics);
    report.diagnostics = diagnostics;
    report
}

fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Says which of the texts a place is in.
fn within(text: &str, mut error: Diagnostic) -> Diagnostic {
    error.path = format!("{text}: {}", error.path);
    error
}

/// The lines of a block. A line that is none is told, and left out.
fn pairs(block: &str, what: &str, keep: &mut impl FnMut(Diagnostic)) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut told = 0;
    for (number, line) in block.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                pairs.push((name.trim().to_owned(), unquoted(value).to_owned()));
            }
            _ if told < MAX_TOLD => {
                told += 1;
                let place = format!("{what}: line {}", number + 1);
                let warning = Diagnostic::warning("DU013", place, "NAME=VALUE").found(line);
                keep(warning.hint("this line was left out"));
            }
            _ => {}
        }
    }
    pairs
}

/// Most lines of a block that are told to be none.
const MAX_TOLD: usize = 20;

/// A value without the quotes that a shell would take off.
fn unquoted(value: &str) -> &str {
    let trimmed = value.trim();
    let inner = |quote: char| trimmed.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}
