//! The ACL entry: the JSON of `aclmdlSetDump` (ge-dump spec §1.1).
//!
//! Checked in three passes, the first error wins: types of the whole document, then values of
//! fields that have a list of allowed ones, then what goes together with what, row by row.

mod check;
mod document;

#[cfg(test)]
mod tests;

pub(in crate::dump) use check::not_checked;
pub use document::{AclDocument, Item};

use std::collections::BTreeSet;

use super::blacklist::{Blacklist, Position};
use super::path::{self, PathProbe};
use super::properties::{ModelKey, Properties};
use super::step::Steps;
use super::value::{
    Content, DEFAULT_STATS, ExceptionLevel, KernelData, Level, Mode, OverflowMode, Scene, Stat, Switch,
};
use crate::diagnostic::Diagnostic;

/// What ACL callers get back for a bad dump configuration.
pub const ACL_ERROR_INVALID_DUMP_CONFIG: u32 = 100_009;

/// Longest document that is read, in bytes.
pub const MAX_DOCUMENT: usize = 16 << 20;

/// What an accepted document makes of the ACL layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AclLayer {
    /// Not set, or set to something that enables nothing: lower entries count.
    Unset,
    /// Switched off: nothing is dumped, whatever lower entries say.
    Off,
    /// Set: lower entries do not count.
    Set(Box<AclDocument>),
}

/// Reads and checks a document. Warnings come with the layer: nothing was refused because of them.
///
/// # Errors
/// `EP0001` to `EP0005`: see `docs/diagnostics.md`.
pub fn read(text: &[u8], probe: &dyn PathProbe) -> Result<(AclLayer, Vec<Diagnostic>), Diagnostic> {
    let mut warnings = Vec::new();
    let Some(document) = document::parse(text, &mut warnings)? else {
        warnings.push(inert("it has no `dump` object"));
        return Ok((AclLayer::Unset, warnings));
    };
    check::values(&document)?;
    let empty = document == AclDocument::default();
    if !empty {
        check::constraints(&document, probe, &mut warnings)?;
    }
    if document.needed() {
        return Ok((AclLayer::Set(Box::new(document)), warnings));
    }
    // P-38: switches that are written down, all of them off, mean off.
    if document.op_switch.is_some() || document.debug.is_some() {
        warnings.push(
            Diagnostic::warning("DU002", "dump", "a switch that is on, a list or a scene")
                .found("switches that are all off")
                .hint("dump is now off, whatever environment and options say"),
        );
        return Ok((AclLayer::Off, warnings));
    }
    warnings.push(inert(if empty { "`dump` is empty" } else { "no list, switch or scene" }));
    Ok((AclLayer::Unset, warnings))
}

/// P-3: the most common reason for an empty directory.
fn inert(found: &str) -> Diagnostic {
    Diagnostic::warning("DU002", "dump", "`dump_list`, `dump_op_switch`, `dump_debug` or `dump_scene`")
        .found(found)
        .hint("this document is valid but dumps nothing; to dump every layer of every model add \"dump_list\": [{}]")
}

impl AclDocument {
    /// Whether anything is to be dumped at all (ge-dump spec §1.1.1).
    pub fn needed(&self) -> bool {
        self.list.as_ref().is_some_and(|list| !list.is_empty())
            || self.op_switch.as_deref() == Some("on")
            || self.debug.as_deref() == Some("on")
            || self.scene.as_deref().is_some_and(|scene| !scene.is_empty())
    }

    fn scene(&self) -> Option<Scene> {
        Scene::from_name(self.scene.as_deref()?)
    }

    /// What the document means (ge-dump spec §1.1.2). It must have been checked.
    pub(super) fn properties(&self) -> Properties {
        let named = |text: &Option<String>| text.clone().unwrap_or_default();
        let on = |text: &Option<String>| text.as_deref() == Some(Switch::On.name());
        let scene = self.scene();
        let overflow = on(&self.debug);
        let exception = match scene {
            Some(Scene::LiteException | Scene::Brief) => Some(ExceptionLevel::Brief),
            Some(Scene::Norm | Scene::Detail) => Some(ExceptionLevel::Norm),
            Some(Scene::Watcher) | None => None,
        };
        let level = Level::from_name(&named(&self.level)).unwrap_or(Level::All);
        let listed = self.list.as_ref().is_some_and(|list| !list.is_empty());
        let op_switch = on(&self.op_switch);
        let mut properties = Properties {
            // A kernel level has no operators: dump_status is off (ge-dump spec §1.1).
            data: !overflow && exception.is_none() && level != Level::Kernel && (listed || op_switch),
            overflow: overflow.then_some(OverflowMode::All),
            exception,
            path: self.path.as_deref().filter(|path| !path.is_empty()).map(path::clean),
            mode: Mode::from_name(&named(&self.mode)).unwrap_or(Mode::Output),
            content: Content::from_name(&named(&self.data)).unwrap_or(Content::Tensor),
            level,
            op_switch,
            steps: Steps::parse(&named(&self.step)).unwrap_or_default(),
            stats: self.stats(),
            kernel_data: match &self.kernel_data {
                Some(text) => text.split(',').filter_map(KernelData::from_name).collect(),
                None => vec![KernelData::All],
            },
            ..Properties::default()
        };
        properties.exception_path = properties.path.clone();
        if overflow {
            return properties;
        }
        for item in self.list.iter().flatten() {
            item.apply(&mut properties, scene == Some(Scene::Watcher));
        }
        if !listed && op_switch {
            properties.add_model(ModelKey::All, BTreeSet::new());
        }
        properties.normalise();
        properties
    }

    fn stats(&self) -> Vec<Stat> {
        let Some(names) = &self.stats else { return DEFAULT_STATS.to_vec() };
        Stat::ALL.iter().copied().filter(|stat| names.iter().any(|name| name == stat.name())).collect()
    }
}

impl Item {
    fn apply(&self, properties: &mut Properties, watcher: bool) {
        let layers: BTreeSet<String> = self.layers.iter().flatten().cloned().collect();
        let key = match &self.model_name {
            Some(name) => ModelKey::Named(name.clone()),
            None => ModelKey::AnyLayerOp,
        };
        properties.add_model(key.clone(), layers);
        if watcher {
            let nodes = self.watcher_nodes.iter().flatten().cloned().collect();
            properties.add_model(ModelKey::Watcher, nodes);
        }
        let blacklist = self.blacklist();
        if !blacklist.is_empty() {
            properties.blacklists.entry(key).or_default().merge(blacklist);
        }
        if let (Some(name), Some(ranges)) = (&self.model_name, &self.ranges) {
            properties.ranges.entry(name.clone()).or_default().extend(ranges.iter().cloned());
        }
    }

    fn blacklist(&self) -> Blacklist {
        let mut blacklist = Blacklist::default();
        let lists = [(&self.by_type, &mut blacklist.by_type), (&self.by_name, &mut blacklist.by_name)];
        for (entries, positions) in lists {
            for (name, pos) in entries.iter().flatten() {
                let pos: BTreeSet<Position> = pos.iter().filter_map(|pos| Position::parse(pos)).collect();
                if !name.is_empty() && !pos.is_empty() {
                    positions.entry(name.clone()).or_default().extend(pos);
                }
            }
        }
        blacklist
    }
}
