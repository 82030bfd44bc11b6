//! The environment entry (ge-dump spec §1.2). The variables are handed in: core reads none.

use std::collections::BTreeMap;

use super::path::{self, PathProbe};
use super::value::{Mode, Scene};
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;

/// Variables of seed 003, then those of the real runtime that concern exception dumps.
pub const VARIABLES: [&str; 7] = [
    "DUMP_GE_PATH",
    "DUMP_GE_MODE",
    "DUMP_GE_LAYER",
    "ASCEND_DUMP_SCENE",
    "ASCEND_DUMP_PATH",
    "ASCEND_WORK_PATH",
    "NPU_COLLECT_PATH",
];

/// A snapshot of the variables; blank ones are not in it (P-5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvLayer {
    values: BTreeMap<String, String>,
}

impl EnvLayer {
    /// Takes the variables that are ours from all that there are. A later one replaces an earlier.
    ///
    /// Warns about names that begin like ours and are none: there is no `DUMP_GE_STEP`, and
    /// `DUMP_GE_GRAPH` writes the graph, not tensors.
    pub fn read<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> (Self, Vec<Diagnostic>) {
        let mut layer = Self::default();
        let mut warnings = Vec::new();
        for (name, value) in variables {
            if VARIABLES.contains(&name) {
                if value.trim().is_empty() {
                    layer.values.remove(name);
                } else {
                    layer.values.insert(name.to_owned(), value.to_owned());
                }
            } else if name.starts_with("DUMP_GE_") && name != "DUMP_GE_GRAPH" && warnings.len() < 100 {
                let warning = Diagnostic::warning("DU007", name, VARIABLES[..3].join(", ")).found(name);
                warnings.push(match nearest(name, VARIABLES) {
                    Some(meant) => warning.hint(format!("did you mean `{meant}`? It was ignored.")),
                    None => warning.hint("it was ignored; steps and contents are GE options"),
                });
            }
        }
        (layer, warnings)
    }

    /// The value as it was set.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// `DUMP_GE_PATH`, checked. A bad one is a warning and as good as not set.
    pub(super) fn path(
        &self,
        probe: &dyn PathProbe,
        warnings: &mut Vec<Diagnostic>,
    ) -> Option<(String, String)> {
        let raw = self.raw("DUMP_GE_PATH")?;
        let trimmed = raw.trim();
        match path::check(trimmed, probe) {
            Ok(true) => {}
            Ok(false) => warnings.push(super::acl_not_checked("DUMP_GE_PATH", trimmed)),
            Err(error) => {
                let (expected, hint) = error.words();
                warnings
                    .push(Diagnostic::warning("EP0003", "DUMP_GE_PATH", expected).found(trimmed).hint(hint));
                return None;
            }
        }
        Some((path::clean(trimmed), raw.to_owned()))
    }

    /// `DUMP_GE_MODE`; a bad one is a warning and as good as not set.
    pub(super) fn mode(&self, warnings: &mut Vec<Diagnostic>) -> Option<(Mode, String)> {
        let raw = self.raw("DUMP_GE_MODE")?;
        let mode = Mode::from_name(raw.trim());
        if mode.is_none() {
            warnings.push(bad("DUMP_GE_MODE", raw, Mode::ALL.iter().map(|mode| mode.name())));
        }
        mode.map(|mode| (mode, raw.to_owned()))
    }

    /// `DUMP_GE_LAYER`, as names; `None` is all layers.
    pub(super) fn layers(&self) -> Option<(Vec<String>, String)> {
        let raw = self.raw("DUMP_GE_LAYER")?;
        let names: Vec<String> = raw
            .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() { None } else { Some((names, raw.to_owned())) }
    }

    /// `ASCEND_DUMP_SCENE`; only exception scenes.
    pub(super) fn scene(&self, warnings: &mut Vec<Diagnostic>) -> Option<(Scene, String)> {
        let raw = self.raw("ASCEND_DUMP_SCENE")?;
        let scenes = [Scene::Brief, Scene::Norm, Scene::Detail];
        let scene = scenes.into_iter().find(|scene| scene.name() == raw.trim());
        if scene.is_none() {
            warnings.push(bad("ASCEND_DUMP_SCENE", raw, scenes.iter().map(|scene| scene.name())));
        }
        scene.map(|scene| (scene, raw.to_owned()))
    }

    /// The first usable root for exception dumps among the environment's. Those directories are made
    /// if missing, so only what is there and cannot be written is passed over.
    pub(super) fn exception_root(
        &self,
        probe: &dyn PathProbe,
        warnings: &mut Vec<Diagnostic>,
    ) -> Option<(String, String)> {
        for name in ["ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"] {
            let Some(raw) = self.raw(name) else { continue };
            match path::check(raw.trim(), &|path: &str| match probe.probe(path) {
                path::PathState::Missing | path::PathState::Unknown => path::PathState::Fine,
                state => state,
            }) {
                Ok(_) => return Some((path::clean(raw.trim()), raw.to_owned())),
                Err(error) => {
                    let (expected, hint) = error.words();
                    warnings.push(Diagnostic::warning("EP0003", name, expected).found(raw).hint(hint));
                }
            }
        }
        None
    }
}

fn bad<'a>(at: &str, raw: &str, names: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    let expected = names.clone().collect::<Vec<_>>().join("/");
    let warning = Diagnostic::warning("EP0002", at, expected).found(raw);
    match nearest(raw.trim(), names) {
        Some(meant) => warning.hint(format!("did you mean `{meant}`? It is taken as not set.")),
        None => warning.hint("it is taken as not set"),
    }
}
