//! The GE option entry: three maps of texts, the more specific scope wins (ge-dump spec §1.3, P-7).

use std::collections::BTreeMap;

use super::path::{self, PathProbe};
use super::step::Steps;
use super::value::{Content, ExceptionLevel, Mode, OverflowMode, named};
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use serde::{Serialize, Serializer};
use std::fmt;

named! {
    /// How far an option reaches; later ones win.
    Scope {
        /// The process.
        Global = "global",
        /// One session.
        Session = "session",
        /// One graph.
        Graph = "graph",
    }
}

impl Scope {
    /// Takes `global:`, `session:` or `graph:` off a name; without one it is the session's.
    pub fn of<T>(name: &str, value: T) -> (Self, String, T) {
        let scoped = name.split_once(':').and_then(|(scope, name)| Some((Self::from_name(scope)?, name)));
        let (scope, name) = scoped.unwrap_or((Self::Session, name));
        (scope, name.to_owned(), value)
    }

    /// The name with its scope in front, as [`Scope::of`] reads it.
    pub fn with(self, name: &str) -> String {
        format!("{self}:{name}")
    }
}

/// The options that concern the Dump module.
pub const OPTIONS: [&str; 10] = [
    "ge.exec.enableDump",
    "ge.exec.enableDumpDebug",
    "ge.exec.dumpPath",
    "ge.exec.dumpStep",
    "ge.exec.dumpMode",
    "ge.exec.dumpData",
    "ge.exec.dumpLayer",
    "ge.exec.dumpDebugMode",
    "ge.exec.enable_exception_dump",
    "ge.quant_dumpable",
];

/// The options of one session and its graph, on top of the global ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionLayer {
    values: BTreeMap<(Scope, String), String>,
}

/// A value in force: what it means, as it was written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) raw: String,
}

impl OptionLayer {
    /// Takes the options that are ours. An empty value is as good as not set.
    ///
    /// Warns about names that look like ours and are none.
    pub fn read<'a>(options: impl IntoIterator<Item = (Scope, &'a str, &'a str)>) -> (Self, Vec<Diagnostic>) {
        let mut layer = Self::default();
        let mut warnings = Vec::new();
        for (scope, name, value) in options {
            if OPTIONS.contains(&name) {
                layer.values.insert((scope, name.to_owned()), value.to_owned());
            } else if warnings.len() < 100
                && let Some(meant) = nearest(name, OPTIONS)
            {
                warnings.push(
                    Diagnostic::warning("DU008", name, "a known option")
                        .found(name)
                        .hint(format!("did you mean `{meant}`? It was ignored.")),
                );
            }
        }
        (layer, warnings)
    }

    /// Puts the options of another layer over these.
    pub fn extend(&mut self, other: &Self) {
        self.values.extend(other.values.iter().map(|(key, value)| (key.clone(), value.clone())));
    }

    /// The value of the most specific scope that sets it, and the wider ones it hides.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        [Scope::Graph, Scope::Session, Scope::Global]
            .into_iter()
            .filter_map(move |scope| self.values.get(&(scope, name.to_owned())))
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Values of wider scopes that the most specific one hides.
    pub(super) fn hidden(&self, name: &str) -> Vec<String> {
        self.all(name).skip(1).map(str::to_owned).collect()
    }

    fn of<T>(
        &self,
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<Result<Given<T>, Diagnostic>> {
        let raw = self.raw(name)?;
        Some(match parse(raw) {
            Some(value) => Ok(Given { value, raw: raw.to_owned() }),
            None => Err(Diagnostic::error("E10001", name, expected).found(raw)),
        })
    }

    pub(super) fn flag(&self, name: &str) -> Option<Result<Given<bool>, Diagnostic>> {
        self.of(name, "0 or 1", |raw| match raw {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    pub(super) fn path(&self, probe: &dyn PathProbe) -> Option<Result<Given<(String, bool)>, Diagnostic>> {
        let name = "ge.exec.dumpPath";
        let raw = self.raw(name)?;
        Some(match path::check(raw, probe) {
            Ok(checked) => Ok(Given { value: (path::clean(raw), checked), raw: raw.to_owned() }),
            Err(error) => {
                let (expected, hint) = error.words();
                Err(Diagnostic::error("E10001", name, expected).found(raw).hint(hint))
            }
        })
    }

    pub(super) fn mode(&self) -> Option<Result<Given<Mode>, Diagnostic>> {
        self.of("ge.exec.dumpMode", &Mode::names(), Mode::from_name)
    }

    pub(super) fn content(&self) -> Option<Result<Given<Content>, Diagnostic>> {
        self.of("ge.exec.dumpData", &Content::names(), Content::from_name)
    }

    pub(super) fn steps(&self) -> Option<Result<Given<Steps>, Diagnostic>> {
        let name = "ge.exec.dumpStep";
        let raw = self.raw(name)?;
        // MindSpore's word for every iteration (P-8).
        let expression = if raw == "all" { "" } else { raw };
        Some(match Steps::parse(expression) {
            Ok(value) => Ok(Given { value, raw: raw.to_owned() }),
            Err(error) => Err(Diagnostic::error("E10001", name, error.to_string()).found(raw)),
        })
    }

    pub(super) fn layers(&self) -> Option<Given<Vec<String>>> {
        let raw = self.raw("ge.exec.dumpLayer")?;
        let value: Vec<String> = raw.split_whitespace().map(str::to_owned).collect();
        if value.is_empty() { None } else { Some(Given { value, raw: raw.to_owned() }) }
    }

    pub(super) fn overflow_mode(&self) -> Option<Result<Given<OverflowMode>, Diagnostic>> {
        self.of("ge.exec.dumpDebugMode", &OverflowMode::names(), OverflowMode::from_name)
    }

    /// 1 is L1, 2 is L0, anything else enables nothing.
    pub(super) fn exception(&self) -> Option<Given<ExceptionLevel>> {
        let raw = self.raw("ge.exec.enable_exception_dump")?;
        let value = match raw {
            "1" => ExceptionLevel::Norm,
            "2" => ExceptionLevel::Brief,
            _ => return None,
        };
        Some(Given { value, raw: raw.to_owned() })
    }
}
