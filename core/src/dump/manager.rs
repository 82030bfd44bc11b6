//! One per process: the ACL layer, the options of each session, the environment, the switch
//! (ge-dump spec §1.1.3, §2.6, §8). Owned by whoever runs things: there is no global in core.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::acl::{self, AclLayer};
use super::env::EnvLayer;
use super::log::{Grade, Journal, KEYWORD};
use super::option::OptionLayer;
use super::path::PathProbe;
use super::properties::Properties;
use super::resolve::{Context, Entries, Resolved, resolve};
use super::switch::{Flags, GlobalDumper, Switch};
use super::value::ExceptionLevel;
use crate::diagnostic::Diagnostic;

/// What the outside world says at the moment of a call.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    /// Looks at paths.
    pub probe: &'a dyn PathProbe,
    /// `YYYYMMDDHHMMSS`, for a directory if dump is enabled by this call.
    pub time: Option<&'a str>,
}

/// How far the ACL interface has been set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing was called.
    #[default]
    Fresh,
    /// `aclInit` was given a document with a dump section.
    ByInit,
    /// `aclmdlInitDump` was called.
    Ready,
}

/// The manager.
#[derive(Debug, Default)]
pub struct DumpManager {
    phase: Phase,
    acl: Option<AclLayer>,
    env: EnvLayer,
    global: OptionLayer,
    sessions: BTreeMap<u64, Session>,
    time_dir: Option<String>,
    generation: u64,
    dumpers: GlobalDumper,
}

#[derive(Debug, Default)]
struct Session {
    options: OptionLayer,
    resolved: Option<Arc<Resolved>>,
}

impl DumpManager {
    /// A manager that has read the environment once (P-10).
    pub fn new(env: EnvLayer, global: OptionLayer) -> Self {
        Self { env, global, ..Self::default() }
    }

    /// Where the ACL interface stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The ACL layer in force.
    pub fn acl(&self) -> &AclLayer {
        self.acl.as_ref().unwrap_or(&AclLayer::Unset)
    }

    /// `aclInit` with a document: configures dump unless it has no dump section.
    ///
    /// # Errors
    /// As [`DumpManager::set_dump`]; `EP0008` when dump was set up before.
    pub fn acl_init(
        &mut self,
        text: &[u8],
        now: Now<'_>,
        journal: &mut impl Journal,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        if self.phase != Phase::Fresh {
            return Err(sequence("aclInit", "called before `aclmdlInitDump` and once"));
        }
        let warnings = self.apply("aclInit", text, now, journal)?;
        if self.acl() != &AclLayer::Unset {
            self.phase = Phase::ByInit;
        }
        Ok(warnings)
    }

    /// `aclmdlInitDump`.
    ///
    /// # Errors
    /// `EP0008` when `aclInit` has configured dump, or a second time.
    pub fn init_dump(&mut self, journal: &mut impl Journal) -> Result<(), Diagnostic> {
        journal.line(Grade::Info, format_args!("{KEYWORD} aclmdlInitDump called"));
        match self.phase {
            Phase::Fresh => {
                self.phase = Phase::Ready;
                Ok(())
            }
            Phase::ByInit => Err(sequence("aclmdlInitDump", "dump not configured by `aclInit`")),
            Phase::Ready => Err(sequence("aclmdlInitDump", "called once before `aclmdlFinalizeDump`")),
        }
    }

    /// `aclmdlSetDump`, also known as `aclmdlSetDumpConfig`: replaces the whole ACL layer. Gives the
    /// warnings.
    ///
    /// # Errors
    /// `EP0007` for no document, `EP0008` out of sequence, else what [`acl::read`] gives. The layer
    /// in force stays: nothing is half applied.
    pub fn set_dump(
        &mut self,
        text: Option<&[u8]>,
        now: Now<'_>,
        journal: &mut impl Journal,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        let Some(text) = text else {
            return Err(Diagnostic::error("EP0007", "aclmdlSetDump", "a document").found("a null pointer"));
        };
        if text.is_empty() {
            return Err(Diagnostic::error("EP0006", "aclmdlSetDump", "a document").found("nothing"));
        }
        if self.phase != Phase::Ready {
            return Err(sequence("aclmdlSetDump", "`aclmdlInitDump` first"));
        }
        self.apply("aclmdlSetDump", text, now, journal)
    }

    /// `aclmdlFinalizeDump`: the ACL layer is unset, lower entries count again.
    ///
    /// # Errors
    /// `EP0008` without `aclmdlInitDump`.
    pub fn finalize_dump(&mut self, now: Now<'_>, journal: &mut impl Journal) -> Result<(), Diagnostic> {
        journal.line(Grade::Info, format_args!("{KEYWORD} aclmdlFinalizeDump called"));
        if self.phase != Phase::Ready {
            return Err(sequence("aclmdlFinalizeDump", "`aclmdlInitDump` first"));
        }
        self.phase = Phase::Fresh;
        self.acl = None;
        self.refreshed(now, journal);
        Ok(())
    }

    /// The dynamic switch: off, whatever any entry says (ge-dump spec §2.3).
    pub fn disable(&mut self, now: Now<'_>, journal: &mut impl Journal) {
        journal.line(Grade::Info, format_args!("{KEYWORD} disable called"));
        self.acl = Some(AclLayer::Off);
        self.refreshed(now, journal);
    }

    fn apply(
        &mut self,
        call: &str,
        text: &[u8],
        now: Now<'_>,
        journal: &mut impl Journal,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        let result = acl::read(text, now.probe);
        match &result {
            Ok((AclLayer::Set(document), _)) => {
                let properties = document.properties();
                journal.line(
                    Grade::Info,
                    format_args!(
                        "{KEYWORD} {call} called: path={} mode={} content={} models={} layers={} step={}",
                        properties.path.as_deref().unwrap_or("-"),
                        properties.mode,
                        properties.content,
                        properties.models.len(),
                        properties.models.values().map(|set| set.len()).sum::<usize>(),
                        properties.steps
                    ),
                );
            }
            Ok((layer, _)) => {
                let off = matches!(layer, AclLayer::Off);
                journal.line(
                    Grade::Info,
                    format_args!("{KEYWORD} {call} called: {}", if off { "off" } else { "nothing enabled" }),
                );
            }
            Err(error) => {
                journal.line(Grade::Warning, format_args!("{KEYWORD} {call} refused: {error}"));
            }
        }
        let (layer, mut warnings) = result?;
        // Beside data dump it cannot stand in one document, so there is nothing else to take from it.
        if exception_of(self.acl()).is_some() && exception_of(&layer).is_some() {
            let told = Diagnostic::warning(
                "DU014",
                "dump_scene",
                "exception dump to be off before it is set",
            )
            .found("it is on already")
            .hint("this document was ignored; call disable or aclmdlFinalizeDump first to change the level");
            journal.line(Grade::Warning, format_args!("{KEYWORD} {told}"));
            warnings.push(told);
            return Ok(warnings);
        }
        let was_set = matches!(self.acl(), AclLayer::Set(_));
        self.acl = Some(layer);
        for warning in &warnings {
            journal.line(Grade::Warning, format_args!("{KEYWORD} {warning}"));
        }
        self.refreshed(now, journal);
        if was_set && self.acl() == &AclLayer::Unset {
            let on =
                self.sessions.values().any(|s| s.resolved.as_ref().is_some_and(|r| r.properties.is_on()));
            // P-38: say what now applies.
            let applies = if on { "environment and options now apply" } else { "nothing is dumped now" };
            warnings.push(
                Diagnostic::warning("DU012", "dump", "a document that enables something")
                    .found("one that does not, in place of one that did")
                    .hint(applies),
            );
        }
        Ok(warnings)
    }

    /// A session with its options; its ACL layer is the process's.
    pub fn add_session(&mut self, id: u64, options: OptionLayer, now: Now<'_>, journal: &mut impl Journal) {
        self.sessions.insert(id, Session { options, resolved: None });
        self.refreshed(now, journal);
    }

    /// Forgets a session. The ACL layer stays (T22).
    pub fn remove_session(&mut self, id: u64) {
        self.sessions.remove(&id);
    }

    /// Takes the environment anew; it is read at no other time (P-10).
    pub fn refresh(&mut self, env: EnvLayer, now: Now<'_>, journal: &mut impl Journal) {
        journal.line(Grade::Info, format_args!("{KEYWORD} environment read again"));
        self.env = env;
        self.refreshed(now, journal);
    }

    /// Resolves every session again; if something changed, a new generation begins.
    fn refreshed(&mut self, now: Now<'_>, journal: &mut impl Journal) {
        let acl = self.acl.as_ref().unwrap_or(&AclLayer::Unset);
        let (mut changed, mut any_on, mut flags) = (false, false, Flags::default());
        // One directory for all writers, from the moment dump went on until it goes off (P-11, T5).
        let time = self.time_dir.clone().or(now.time.map(str::to_owned));
        for session in self.sessions.values_mut() {
            let mut options = self.global.clone();
            options.extend(&session.options);
            let entries = Entries { acl, env: &self.env, options: &options };
            let resolved = resolve(entries, Context { probe: now.probe, time: time.as_deref() });
            any_on |= resolved.properties.is_on();
            flags = flags.with(Flags::of(&resolved.properties));
            if session.resolved.as_deref() != Some(&resolved) {
                for line in &resolved.lines {
                    journal.line(line.grade, format_args!("{}", line.text));
                }
                session.resolved = Some(Arc::new(resolved));
                changed = true;
            }
        }
        self.time_dir = if any_on { time } else { None };
        if changed {
            self.generation += 1;
            journal.line(
                Grade::Info,
                format_args!(
                    "{KEYWORD} switch: generation {}, {}",
                    self.generation,
                    if any_on { "on" } else { "off" }
                ),
            );
            self.dumpers.set_flags(flags);
        }
    }

    /// What a session dumps from its next iteration on; unknown sessions dump nothing (T7).
    pub fn switch(&self, session: u64) -> Switch {
        let resolved = self.sessions.get(&session).and_then(|session| session.resolved.as_ref());
        let properties = resolved.map_or_else(Properties::default, |resolved| resolved.properties.clone());
        Switch { generation: self.generation, properties: Arc::new(properties) }
    }

    /// Properties, provenance and diagnostics of a session.
    pub fn resolved(&self, session: u64) -> Option<&Arc<Resolved>> {
        self.sessions.get(&session)?.resolved.as_ref()
    }

    /// The directory that other tools write into as well; `None` while nothing is dumped (T6).
    pub fn directory(&self, session: u64) -> Option<String> {
        let resolved = self.resolved(session)?;
        if resolved.properties.is_on() { resolved.properties.directory() } else { None }
    }

    /// Those who are told when the switch changes.
    pub fn dumpers(&mut self) -> &mut GlobalDumper {
        &mut self.dumpers
    }
}

/// The level of exception dump that a layer enables.
fn exception_of(layer: &AclLayer) -> Option<ExceptionLevel> {
    match layer {
        AclLayer::Set(document) => document.properties().exception,
        _ => None,
    }
}

fn sequence(call: &str, expected: &str) -> Diagnostic {
    Diagnostic::error("EP0008", call, expected)
        .found("a call out of sequence")
        .hint("aclInit, aclmdlInitDump, aclmdlSetDump, load the model, run, aclmdlFinalizeDump")
}

#[cfg(test)]
mod tests;
