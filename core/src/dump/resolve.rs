//! Three entries to one meaning: a pure function (ge-dump spec §2, P-9).
//!
//! ACL above environment above GE options. A set ACL layer hides the other two; among defaults,
//! options and environment a higher one replaces exactly the fields that it sets.

use std::collections::BTreeSet;

use serde::Serialize;

use super::acl::{AclDocument, AclLayer};
use super::env::EnvLayer;
use super::log::{Grade, Line};
use super::option::OptionLayer;
use super::path::{self, PathProbe};
use super::properties::{ModelKey, Properties};
use super::value::{Entry, ExceptionLevel, Level, Mode, OverflowMode, Scene};
use crate::diagnostic::{Diagnostic, Severity};

/// What a field is, where it came from, and what it hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The field: `path`, `mode`, …
    pub field: &'static str,
    /// Its value in force, as a person would write it.
    pub value: String,
    /// The highest entry that sets it; the ACL layer sets all fields at once.
    pub source: Entry,
    /// As it was written there; empty for a default.
    pub raw: String,
    /// Values of lower entries that do not count, highest first.
    pub shadowed: Vec<Shadowed>,
}

/// A value that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shadowed {
    /// Who set it.
    pub source: Entry,
    /// As it was written.
    pub raw: String,
}

/// What the three entries come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// What to dump. Nothing after this looks at where it came from.
    pub properties: Properties,
    /// Per field, in a fixed order.
    pub provenance: Vec<Provenance>,
    /// Mistakes and conflicts. After an error of an entry, that entry enables nothing.
    pub diagnostics: Vec<Diagnostic>,
    /// What is to be logged about the above, at its grade.
    pub lines: Vec<Line>,
}

/// The three entries.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// The ACL layer.
    pub acl: &'a AclLayer,
    /// The environment.
    pub env: &'a EnvLayer,
    /// The options of the session.
    pub options: &'a OptionLayer,
}

/// What the outside world says.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Looks at paths.
    pub probe: &'a dyn PathProbe,
    /// `YYYYMMDDHHMMSS` of the moment at which dump was enabled; `None` leaves the directory out.
    pub time: Option<&'a str>,
}

impl Context<'_> {
    /// Nobody can look at the disk or at a clock, as in a browser: paths are told to be not checked.
    pub fn unseen() -> Context<'static> {
        fn unknown(_: &str) -> path::PathState {
            path::PathState::Unknown
        }
        static UNKNOWN: fn(&str) -> path::PathState = unknown;
        Context { probe: &UNKNOWN, time: None }
    }
}

/// Resolves the entries. Pure: the same arguments give the same result.
pub fn resolve(entries: Entries<'_>, context: Context<'_>) -> Resolved {
    let mut out = Builder { resolved: empty(), probe: context.probe };
    match entries.acl {
        AclLayer::Set(document) => out.by_acl(document, entries),
        AclLayer::Off => out.off(entries),
        AclLayer::Unset => out.by_lower(entries),
    }
    let mut resolved = out.resolved;
    if resolved.properties.is_on() {
        resolved.properties.time_dir = context.time.map(str::to_owned);
    }
    let graded = resolved.diagnostics.iter().map(|diagnostic| {
        // A conflict is told as an error (seed 003); other mistakes of users are warnings (P-33).
        let conflict = diagnostic.code == "DU010" && diagnostic.severity == Severity::Error;
        Line::new(if conflict { Grade::Error } else { Grade::Warning }, diagnostic)
    });
    resolved.lines.extend(graded);
    resolved
}

fn empty() -> Resolved {
    Resolved {
        properties: Properties::default(),
        provenance: Vec::new(),
        diagnostics: Vec::new(),
        lines: Vec::new(),
    }
}

struct Builder<'a> {
    resolved: Resolved,
    probe: &'a dyn PathProbe,
}

/// The options and variables that set each field.
const SETTERS: [(&str, Option<&str>, &str); 9] = [
    ("enable", None, "ge.exec.enableDump"),
    ("overflow", None, "ge.exec.enableDumpDebug"),
    ("path", Some("DUMP_GE_PATH"), "ge.exec.dumpPath"),
    ("mode", Some("DUMP_GE_MODE"), "ge.exec.dumpMode"),
    ("data", None, "ge.exec.dumpData"),
    ("step", None, "ge.exec.dumpStep"),
    ("layer", Some("DUMP_GE_LAYER"), "ge.exec.dumpLayer"),
    ("overflow_mode", None, "ge.exec.dumpDebugMode"),
    ("exception", Some("ASCEND_DUMP_SCENE"), "ge.exec.enable_exception_dump"),
];

impl Builder<'_> {
    fn warn(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.severity = Severity::Warning;
        self.resolved.diagnostics.push(diagnostic);
    }

    fn field(
        &mut self,
        field: &'static str,
        value: impl ToString,
        source: Entry,
        raw: &str,
        shadowed: Vec<Shadowed>,
    ) {
        let (value, raw) = (value.to_string(), raw.to_owned());
        self.resolved.provenance.push(Provenance { field, value, source, raw, shadowed });
    }

    /// Lower entries' values of a field, for what hides them all.
    fn shadowed(&mut self, field: &str, entries: Entries<'_>) -> Vec<Shadowed> {
        let Some((_, variable, option)) = SETTERS.iter().find(|(name, _, _)| *name == field) else {
            return Vec::new();
        };
        let env = variable.and_then(|name| entries.env.raw(name)).map(|raw| (Entry::Env, raw));
        let option = entries.options.raw(option).map(|raw| (Entry::Option, raw));
        let hidden: Vec<Shadowed> = [env, option]
            .into_iter()
            .flatten()
            .map(|(source, raw)| Shadowed { source, raw: raw.to_owned() })
            .collect();
        for Shadowed { source, raw } in &hidden {
            let text =
                format_args!("{field} `{raw}` from the {source} entry is not used: the acl entry is set")
                    .to_string();
            self.resolved.lines.push(Line::new(Grade::Info, text));
        }
        hidden
    }

    /// Shadowed values are checked all the same, and told as warnings (ge-dump spec §2.3).
    fn check_shadowed(&mut self, entries: Entries<'_>) {
        let mut warnings = Vec::new();
        entries.env.path(self.probe, &mut warnings);
        entries.env.mode(&mut warnings);
        entries.env.scene(&mut warnings);
        let options = entries.options;
        let results = [
            options.flag("ge.exec.enableDump").and_then(Result::err),
            options.flag("ge.exec.enableDumpDebug").and_then(Result::err),
            options.path(self.probe).and_then(Result::err),
            options.mode().and_then(Result::err),
            options.content().and_then(Result::err),
            options.steps().and_then(Result::err),
            options.overflow_mode().and_then(Result::err),
        ];
        warnings.extend(results.into_iter().flatten());
        warnings.into_iter().for_each(|warning| self.warn(warning));
    }

    fn off(&mut self, entries: Entries<'_>) {
        self.check_shadowed(entries);
        let shadowed = self.shadowed("enable", entries);
        self.field("enable", "off", Entry::Acl, "off", shadowed);
        for (field, _, _) in SETTERS.iter().skip(1) {
            let shadowed = self.shadowed(field, entries);
            if !shadowed.is_empty() {
                self.field(field, "", Entry::Acl, "", shadowed);
            }
        }
    }

    fn by_acl(&mut self, document: &AclDocument, entries: Entries<'_>) {
        let mut properties = document.properties();
        self.check_shadowed(entries);
        self.exception_root(&mut properties, entries);
        // NPU_COLLECT_PATH asks for an L1 exception dump; the two cannot be had together (§1.2).
        if entries.env.raw("NPU_COLLECT_PATH").is_some() && properties.data {
            self.resolved.diagnostics.push(
                Diagnostic::error("E10056", "NPU_COLLECT_PATH", "not set while ACL dumps data")
                    .found(entries.env.raw("NPU_COLLECT_PATH").unwrap_or_default())
                    .hint("unset NPU_COLLECT_PATH, or dump data in a run of its own"),
            );
            properties.data = false;
        }
        // The environment's scene is above the document's (§1.2): it concerns exceptions only.
        let mut warnings = Vec::new();
        if let Some((scene, _)) = entries.env.scene(&mut warnings) {
            properties.exception = Some(level_of(scene));
        }
        let raw = |text: &Option<String>| text.clone().unwrap_or_default();
        let enable = if properties.data { "on" } else { "off" };
        for (field, value, raw) in [
            ("enable", enable.to_owned(), raw(&document.op_switch)),
            ("overflow", show_overflow(properties.overflow), raw(&document.debug)),
            ("path", properties.path.clone().unwrap_or_default(), raw(&document.path)),
            ("mode", properties.mode.to_string(), raw(&document.mode)),
            ("data", properties.content.to_string(), raw(&document.data)),
            ("level", properties.level.to_string(), raw(&document.level)),
            ("step", show_steps(&properties), raw(&document.step)),
            ("layer", show_models(&properties), String::new()),
            (
                "op_switch",
                if properties.op_switch { "on" } else { "off" }.to_owned(),
                raw(&document.op_switch),
            ),
            ("exception", show_exception(properties.exception), raw(&document.scene)),
            ("stats", show_stats(&properties), String::new()),
            ("blacklist", show_blacklists(&properties), String::new()),
            ("range", show_ranges(&properties), String::new()),
        ] {
            let shadowed = self.shadowed(field, entries);
            self.field(field, value, Entry::Acl, &raw, shadowed);
        }
        self.resolved.properties = properties;
    }

    fn exception_root(&mut self, properties: &mut Properties, entries: Entries<'_>) {
        let mut warnings = Vec::new();
        let root = entries.env.exception_root(self.probe, &mut warnings);
        warnings.into_iter().for_each(|warning| self.warn(warning));
        if let Some((path, _)) = root {
            properties.exception_path = Some(path);
        } else if properties.exception_path.is_none() {
            properties.exception_path = properties.path.clone();
        }
        properties.exception_path.get_or_insert_with(|| ".".to_owned());
    }

    fn by_lower(&mut self, entries: Entries<'_>) {
        let Entries { env, options, .. } = entries;
        let mut warnings = Vec::new();
        let env_path = env.path(self.probe, &mut warnings);
        let env_mode = env.mode(&mut warnings);
        let env_layers = env.layers();
        let env_scene = env.scene(&mut warnings);
        warnings.into_iter().for_each(|warning| self.warn(warning));
        let env_on = env_path.is_some();

        // What the options say about being on at all; an error in what counts turns them off.
        let enable = self.take(options.flag("ge.exec.enableDump"), false);
        let debug = self.take(options.flag("ge.exec.enableDumpDebug"), false);
        let (mut option_data, mut option_debug) = (enable == Some(true), debug == Some(true));
        if option_data && option_debug {
            self.resolved.diagnostics.push(
                Diagnostic::error(
                    "E10001",
                    "ge.exec.enableDumpDebug",
                    "not 1 together with ge.exec.enableDump",
                )
                .found("both 1")
                .hint("data and overflow dump exclude each other: nothing was enabled"),
            );
            (option_data, option_debug) = (false, false);
        }
        if env_on && enable == Some(false) {
            self.conflict("enable", "DUMP_GE_PATH is set", "0");
        }
        if env_on && option_debug {
            self.conflict("overflow", "DUMP_GE_PATH is set", "1");
            option_debug = false;
        }

        let path = self.path(env_path, entries, &mut option_data, &mut option_debug);
        let mode = self.mode(env_mode, entries, &mut option_data);
        let content = self.take(options.content(), !env_on && !option_data);
        let steps = self.take(options.steps(), !env_on && !option_data);
        let layers = self.layers(env_layers, entries);
        // An error in any option that counts: its entry enables nothing (P-33).
        if self.resolved.diagnostics.iter().any(|d| d.code == "E10001" && d.severity == Severity::Error) {
            (option_data, option_debug) = (false, false);
        }
        let overflow = self.overflow(option_debug, entries);
        let data = env_on || option_data;
        if !env_on && !option_data && !option_debug {
            for name in ["DUMP_GE_MODE", "DUMP_GE_LAYER"] {
                if let Some(raw) = env.raw(name) {
                    self.warn(Diagnostic::warning("DU009", name, "DUMP_GE_PATH as well").found(raw).hint(
                        format!(
                            "{name} without DUMP_GE_PATH enables nothing: set DUMP_GE_PATH to a directory"
                        ),
                    ));
                }
            }
        }

        let (source, raw) = match (env_on, options.raw("ge.exec.enableDump")) {
            (true, _) => (Entry::Env, env.raw("DUMP_GE_PATH").unwrap_or_default()),
            (false, Some(raw)) => (Entry::Option, raw),
            (false, None) => (Entry::Default, ""),
        };
        let (raw, hidden) = (raw.to_owned(), self.hidden("enable", source, entries));
        self.field("enable", if data { "on" } else { "off" }, source, &raw, hidden);

        let mut properties = Properties {
            data,
            overflow,
            path,
            mode: mode.unwrap_or(Mode::Output),
            level: Level::All,
            ..Properties::default()
        };
        if let Some(content) = content {
            properties.content = content;
        }
        if let Some(steps) = steps {
            properties.steps = steps;
        }
        if data || overflow.is_some() {
            match layers {
                Some(layers) => properties.add_model(ModelKey::AnyLayerOp, layers.into_iter().collect()),
                None => properties.add_model(ModelKey::All, BTreeSet::new()),
            };
        }
        properties.exception = match (&env_scene, env.raw("NPU_COLLECT_PATH"), options.exception()) {
            (Some((scene, _)), _, _) => Some(level_of(*scene)),
            (None, Some(_), _) => Some(ExceptionLevel::Norm),
            (None, None, given) => given.map(|given| given.value),
        };
        self.exception_root(&mut properties, entries);
        self.rest(&properties, entries);
        self.resolved.properties = properties;
    }

    /// The fields that options alone can set, and the defaults that none of them can.
    fn rest(&mut self, properties: &Properties, entries: Entries<'_>) {
        let Entries { env, options, .. } = entries;
        for (field, option, value) in [
            ("data", "ge.exec.dumpData", properties.content.to_string()),
            ("step", "ge.exec.dumpStep", show_steps(properties)),
            ("overflow", "ge.exec.enableDumpDebug", show_overflow(properties.overflow)),
        ] {
            let (source, raw) = options.raw(option).map_or((Entry::Default, ""), |raw| (Entry::Option, raw));
            let (raw, hidden) = (raw.to_owned(), self.hidden(field, source, entries));
            self.field(field, value, source, &raw, hidden);
        }
        let exception = [
            ("ASCEND_DUMP_SCENE", env.raw("ASCEND_DUMP_SCENE"), Entry::Env),
            ("NPU_COLLECT_PATH", env.raw("NPU_COLLECT_PATH"), Entry::Env),
            ("ge.exec.enable_exception_dump", options.raw("ge.exec.enable_exception_dump"), Entry::Option),
        ];
        let given: Vec<_> =
            exception.iter().filter_map(|(_, raw, source)| Some(((*raw)?, *source))).collect();
        let (raw, source) = given.first().copied().unwrap_or(("", Entry::Default));
        let hidden = given
            .iter()
            .skip(1)
            .map(|(raw, source)| Shadowed { source: *source, raw: (*raw).to_owned() })
            .collect();
        self.field("exception", show_exception(properties.exception), source, raw, hidden);
        for (field, value) in [
            ("level", properties.level.to_string()),
            ("op_switch", "off".to_owned()),
            ("stats", show_stats(properties)),
            ("blacklist", String::new()),
            ("range", String::new()),
        ] {
            self.field(field, value, Entry::Default, "", Vec::new());
        }
    }

    /// Wider scopes' values of an option that is in force.
    fn hidden(&self, field: &str, source: Entry, entries: Entries<'_>) -> Vec<Shadowed> {
        let Some((_, _, option)) = SETTERS.iter().find(|(name, _, _)| *name == field) else {
            return Vec::new();
        };
        let mut hidden = Vec::new();
        // A value that could not be used hides nothing: the default is in force.
        if source == Entry::Default {
            return hidden;
        }
        if source == Entry::Env
            && let Some(raw) = entries.options.raw(option)
        {
            hidden.push(Shadowed { source: Entry::Option, raw: raw.to_owned() });
        }
        hidden.extend(
            entries.options.hidden(option).into_iter().map(|raw| Shadowed { source: Entry::Option, raw }),
        );
        hidden
    }

    /// An option's value. An error counts as an error only if the option counts.
    fn take<T>(
        &mut self,
        given: Option<Result<super::option::Given<T>, Diagnostic>>,
        idle: bool,
    ) -> Option<T> {
        match given? {
            Ok(given) => Some(given.value),
            Err(error) if idle => {
                self.warn(error);
                None
            }
            Err(error) => {
                self.resolved.diagnostics.push(error);
                None
            }
        }
    }

    fn conflict(&mut self, field: &str, env: &str, option: &str) {
        self.resolved.diagnostics.push(
            Diagnostic::error("DU010", field, "environment and options to agree")
                .found(format!("env {env}, option {option}"))
                .hint(format!("the environment wins: {env}")),
        );
    }

    fn path(
        &mut self,
        env: Option<(String, String)>,
        entries: Entries<'_>,
        data: &mut bool,
        debug: &mut bool,
    ) -> Option<String> {
        let given = entries.options.path(self.probe);
        if let Some((path, raw)) = env {
            match given {
                Some(Ok(given)) if given.value.0 != path => self.conflict("path", &raw, &given.raw),
                Some(Err(error)) => {
                    let written = entries.options.raw("ge.exec.dumpPath").unwrap_or_default();
                    if path::clean(written) != path {
                        self.conflict("path", &raw, written);
                    }
                    self.warn(error);
                }
                _ => {}
            }
            let hidden = self.hidden("path", Entry::Env, entries);
            self.field("path", &path, Entry::Env, &raw, hidden);
            return Some(path);
        }
        let wanted = *data || *debug;
        let Some(given) = given else {
            if wanted {
                self.resolved.diagnostics.push(
                    Diagnostic::error("E10058", "ge.exec.dumpPath", "a directory")
                        .found("no such option")
                        .hint("dump is enabled, but there is nowhere to write: set ge.exec.dumpPath"),
                );
                (*data, *debug) = (false, false);
            }
            self.field("path", "", Entry::Default, "", Vec::new());
            return None;
        };
        match given {
            Ok(given) => {
                let (path, checked) = given.value;
                if !checked && wanted {
                    self.warn(super::acl_not_checked("ge.exec.dumpPath", &path));
                }
                let hidden = self.hidden("path", Entry::Option, entries);
                self.field("path", &path, Entry::Option, &given.raw, hidden);
                Some(path)
            }
            Err(error) => {
                if wanted {
                    self.resolved.diagnostics.push(error)
                } else {
                    self.warn(error)
                }
                self.field("path", "", Entry::Default, "", Vec::new());
                None
            }
        }
    }

    fn mode(&mut self, env: Option<(Mode, String)>, entries: Entries<'_>, data: &mut bool) -> Option<Mode> {
        let given = entries.options.mode();
        let Some((mode, raw)) = env else {
            let mode = self.take(given, !*data);
            let written = entries.options.raw("ge.exec.dumpMode");
            let (source, raw) = match (mode, written) {
                (Some(_), Some(raw)) => (Entry::Option, raw.to_owned()),
                _ => (Entry::Default, String::new()),
            };
            let hidden = self.hidden("mode", source, entries);
            self.field("mode", mode.unwrap_or(Mode::Output), source, &raw, hidden);
            return mode;
        };
        match given {
            Some(Ok(given)) if given.value != mode => self.conflict("mode", &raw, &given.raw),
            Some(Err(error)) => {
                let written = entries.options.raw("ge.exec.dumpMode").unwrap_or_default();
                self.conflict("mode", &raw, written);
                self.warn(error);
            }
            _ => {}
        }
        let hidden = self.hidden("mode", Entry::Env, entries);
        self.field("mode", mode, Entry::Env, &raw, hidden);
        Some(mode)
    }

    fn layers(&mut self, env: Option<(Vec<String>, String)>, entries: Entries<'_>) -> Option<Vec<String>> {
        let given = entries.options.layers();
        let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        let (names, source, raw) = match (env, given) {
            (Some((names, raw)), given) => {
                if let Some(given) = given
                    && set(&given.value) != set(&names)
                {
                    self.conflict("layer", &raw, &given.raw);
                }
                (Some(names), Entry::Env, raw)
            }
            (None, Some(given)) => (Some(given.value), Entry::Option, given.raw),
            (None, None) => (None, Entry::Default, String::new()),
        };
        let shown =
            names.as_deref().map_or("all layers of all models".to_owned(), |names| listed(set(names).iter()));
        let hidden = self.hidden("layer", source, entries);
        self.field("layer", shown, source, &raw, hidden);
        names
    }

    fn overflow(&mut self, on: bool, entries: Entries<'_>) -> Option<OverflowMode> {
        if !on {
            if let Some(Err(error)) = entries.options.overflow_mode() {
                self.warn(error);
            }
            return None;
        }
        match entries.options.overflow_mode() {
            Some(given) => self.take(Some(given), false),
            None => {
                self.warn(
                    Diagnostic::warning("DU011", "ge.exec.dumpDebugMode", OverflowMode::names())
                        .found("no such option")
                        .hint("overflow dump stays off without it"),
                );
                None
            }
        }
    }
}

fn level_of(scene: Scene) -> ExceptionLevel {
    match scene {
        Scene::Norm | Scene::Detail => ExceptionLevel::Norm,
        _ => ExceptionLevel::Brief,
    }
}

fn show_overflow(mode: Option<OverflowMode>) -> String {
    mode.map_or("off".to_owned(), |mode| mode.to_string())
}

fn show_exception(level: Option<ExceptionLevel>) -> String {
    level.map_or("off".to_owned(), |level| level.to_string())
}

fn show_steps(properties: &Properties) -> String {
    if properties.steps.is_all() { "all".to_owned() } else { properties.steps.to_string() }
}

fn show_stats(properties: &Properties) -> String {
    properties.stats.iter().map(|stat| stat.name()).collect::<Vec<_>>().join(" ")
}

/// Names for a person: at most eight, then how many more.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let count = names.len();
    let first: Vec<&str> = names.take(8).map(String::as_str).collect();
    let more = count.saturating_sub(first.len());
    if more == 0 { first.join(" ") } else { format!("{} and {more} more", first.join(" ")) }
}

pub(super) fn show_models(properties: &Properties) -> String {
    let one = |(key, layers): (&ModelKey, &BTreeSet<String>)| {
        let of = match key {
            ModelKey::All => return "all layers of all models".to_owned(),
            ModelKey::AnyLayerOp => "any model".to_owned(),
            ModelKey::Watcher => "watched".to_owned(),
            ModelKey::Named(name) => format!("model {name}"),
        };
        if layers.is_empty() {
            format!("{of}: all layers")
        } else {
            format!("{of}: {}", listed(layers.iter()))
        }
    };
    properties.models.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn show_blacklists(properties: &Properties) -> String {
    let entries: usize =
        properties.blacklists.values().map(|list| list.by_name.len() + list.by_type.len()).sum();
    if entries == 0 { String::new() } else { format!("{entries} entries") }
}

fn show_ranges(properties: &Properties) -> String {
    let one = |(model, ranges): (&String, &Vec<(String, String)>)| {
        let first: Vec<String> = ranges.iter().take(8).map(|(b, e)| format!("{b}..{e}")).collect();
        format!("model {model}: {}", first.join(" "))
    };
    properties.ranges.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
