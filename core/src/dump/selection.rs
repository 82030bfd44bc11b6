//! Per op and tensor: dumped, or why not. Decided when a configuration meets a model; at run time a
//! look-up in a table (ge-dump spec §3, §4.4, P-23).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use std::fmt;

use super::blacklist::Position;
use super::log::{Grade, Line};
use super::model::{Memory, Model, Op, OpId, OpKind, Tensor};
use super::properties::{Matching, ModelKey, Properties};
use super::range::RangeWalk;
use super::value::named;
use crate::nearest::nearest;

named! {
    /// Why an op or a tensor was not dumped. Every tensor that is not has one of these.
    Skip {
        /// Dump is off.
        Off = "off",
        /// No list names this model.
        ModelNameMismatch = "model_name_mismatch",
        /// No list or range names this op.
        NotSelected = "not_selected",
        /// The iteration is not among the steps.
        StepMismatch = "step_mismatch",
        /// The mode asks for the other direction.
        ModeExcludes = "mode_excludes",
        /// On the blacklist.
        Blacklisted = "blacklisted",
        /// No address: an optional argument that is missing, an offset that is not mapped.
        NullAddress = "null_address",
        /// Optional, and its shape has no elements.
        EmptyShape = "empty_shape",
        /// In on-chip memory.
        L1Memory = "l1_memory",
        /// Fewer bytes are there than its shape and type need.
        SizeMismatch = "size_mismatch",
        /// Its shape was not known when it was to be dumped.
        ShapeUnknown = "shape_unknown",
        /// `_datadump_ref` names nothing that is there.
        BadReference = "bad_reference",
        /// Its memory could not be read.
        CopyFailed = "copy_failed",
        /// The staging area was full.
        QueueFull = "queue_full",
        /// The watcher is for static programs.
        WatcherUnsupported = "watcher_unsupported",
        /// Its producers did not all run: a branch that was not taken, a run that failed.
        NeverDue = "never_due",
        /// Everything about it was there before the first event.
        ConstantFolded = "constant_folded",
        /// Overflow dump, and it did not overflow.
        NoOverflow = "no_overflow",
        /// No task of its own: dumped as its consumers' input.
        NoTask = "no_task",
        /// The file could not be written.
        WriteFailed = "write_failed",
    }
}

impl Skip {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
}

/// The decision about one op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Why nothing of the op is dumped; `None`: it is, as the tensors say.
    pub skip: Option<Skip>,
    /// Per input.
    pub inputs: Vec<Option<Skip>>,
    /// Per output.
    pub outputs: Vec<Option<Skip>>,
    /// Its workspace is dumped.
    pub workspace: bool,
    /// A source that is wanted: dumped with its consumer's task.
    pub wanted: bool,
    /// Watcher: ops whose outputs are dumped after this one.
    pub watched: Vec<OpId>,
}

/// The decisions about all ops of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    choices: Vec<Choice>,
    /// What is to be logged about it: names that match nothing, ranges that went wrong.
    pub lines: Vec<Line>,
}

impl Selection {
    /// Decides. Linear in ops and lists (times a logarithm).
    pub fn new(model: &Model, properties: &Properties, matching: Matching) -> Self {
        let mut lines = Vec::new();
        let in_range = ranges(model, properties, &mut lines);
        let names = model.names();
        let whole = if !properties.is_on() {
            Some(Skip::Off)
        } else if !properties.model_needs_dump(names) {
            Some(Skip::ModelNameMismatch)
        } else if properties.is_watcher() && model.dynamic {
            lines.push(Line::new(Grade::Warning, "the watcher is for static programs: nothing is dumped"));
            Some(Skip::WatcherUnsupported)
        } else {
            None
        };
        let blacklists: Vec<_> = properties.blacklists_of(names).collect();
        let watched: Vec<OpId> = if properties.is_watcher() {
            let ids = model.ops.iter().zip(0..);
            ids.filter(|(op, _)| properties.is_watched(op.names())).map(|(_, id)| id).collect()
        } else {
            Vec::new()
        };
        let choices = model
            .ops
            .iter()
            .zip(&in_range)
            .map(|(op, &in_range)| {
                let skip = whole.or_else(|| op_skip(model, properties, op, in_range, matching));
                let everything = properties.overflow.is_some();
                let tensor = |position, tensor: Option<&Tensor>| {
                    let listed = || blacklists.iter().any(|list| list.has(&op.op_type, &op.name, position));
                    tensor_skip(properties, op, position, tensor, everything, listed)
                };
                let inputs = op.inputs.iter().zip(0..).map(|(t, i)| tensor(Position::Input(i), t.as_ref()));
                let outputs =
                    op.outputs.iter().zip(0..).map(|(t, i)| tensor(Position::Output(i), t.as_ref()));
                let layer = whole.is_none() && properties.is_watcher_layer(op.names());
                let wanted = whole.is_none()
                    && op.kind == OpKind::Source
                    && properties.data
                    && properties.mode.outputs()
                    && !properties.is_watcher()
                    && properties.layer_need(names, op.names(), matching);
                Choice {
                    skip,
                    wanted,
                    inputs: inputs.collect(),
                    outputs: outputs.collect(),
                    workspace: properties.mode == super::value::Mode::All || everything || op.preprocess,
                    watched: if layer { watched.clone() } else { Vec::new() },
                }
            })
            .collect();
        let mut selection = Self { choices, lines };
        selection.report_unknown(model, properties);
        selection
    }

    /// The decision about one op; no allocation, the same time for any lists.
    #[inline]
    pub fn op(&self, op: OpId) -> &Choice {
        &self.choices[op as usize]
    }

    /// Every decision, by op.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Something of some op is dumped.
    pub fn any(&self) -> bool {
        self.choices.iter().any(|choice| choice.skip.is_none() || choice.wanted || !choice.watched.is_empty())
    }

    /// Names in lists that match nothing of the model, with what was probably meant.
    fn report_unknown(&mut self, model: &Model, properties: &Properties) {
        if !properties.is_on() || properties.models.values().all(BTreeSet::is_empty) {
            return;
        }
        let known: BTreeSet<&str> = model.ops.iter().flat_map(Op::names).collect();
        let mine = |key: &ModelKey| match key {
            ModelKey::Named(name) => model.names().each().any(|own| own == name),
            _ => true,
        };
        let layers = properties.models.iter().filter(|(key, _)| mine(key)).flat_map(|(_, set)| set);
        let unknown: Vec<&String> = layers.filter(|name| !known.contains(name.as_str())).collect();
        for name in unknown.iter().take(MAX_UNKNOWN) {
            // The distance costs time: only for models of a size that a person wrote.
            let near = if known.len() <= 2_000 { nearest(name, known.iter().copied()) } else { None };
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.lines.push(Line::new(
                Grade::Warning,
                format_args!("layer `{name}` is not in model `{}`{hint}", model.name),
            ));
        }
        if unknown.len() > MAX_UNKNOWN {
            let more = unknown.len() - MAX_UNKNOWN;
            self.lines
                .push(Line::new(Grade::Warning, format_args!("{more} more layers are not in the model")));
        }
        if self.choices.first().is_some_and(|choice| choice.skip == Some(Skip::ModelNameMismatch)) {
            let configured: Vec<&str> = properties
                .models
                .keys()
                .filter_map(|key| if let ModelKey::Named(name) = key { Some(name.as_str()) } else { None })
                .take(8)
                .collect();
            self.lines.push(Line::new(
                Grade::Warning,
                format_args!(
                    "no list is for model `{}`: model_name is {}; use `{}`",
                    model.name,
                    configured.join(", "),
                    model.om_name.as_deref().unwrap_or(&model.name)
                ),
            ));
        }
    }
}

/// Most unknown layers that are told one by one.
const MAX_UNKNOWN: usize = 10;

fn op_skip(
    model: &Model,
    properties: &Properties,
    op: &Op,
    in_range: bool,
    matching: Matching,
) -> Option<Skip> {
    match op.kind {
        OpKind::Source if !model.dynamic => return Some(Skip::NoTask),
        OpKind::NetOutput => return Some(Skip::NotSelected),
        _ if !op.allowed => return Some(Skip::NotSelected),
        _ => {}
    }
    // In watcher mode ordinary need is none: only watched nodes are dumped, and by others' tasks.
    if properties.is_watcher() {
        return Some(Skip::NotSelected);
    }
    // Every op is a candidate; only those that overflow are written (ge-dump spec §3.2).
    if properties.overflow.is_some() {
        return None;
    }
    if !properties.data {
        return Some(Skip::NotSelected);
    }
    let wanted = in_range || properties.layer_need(model.names(), op.names(), matching);
    if wanted { None } else { Some(Skip::NotSelected) }
}

/// The decision about one tensor of an op that is dumped.
fn tensor_skip(
    properties: &Properties,
    op: &Op,
    position: Position,
    tensor: Option<&Tensor>,
    everything: bool,
    listed: impl FnOnce() -> bool,
) -> Option<Skip> {
    let in_mode = match position {
        Position::Input(_) => properties.mode.inputs(),
        Position::Output(_) => properties.mode.outputs(),
    };
    if op.preprocess || !(in_mode || everything) {
        return Some(Skip::ModeExcludes);
    }
    if listed() {
        return Some(Skip::Blacklisted);
    }
    let Some(tensor) = tensor else { return Some(Skip::NullAddress) };
    if tensor.memory == Memory::L1 {
        return Some(Skip::L1Memory);
    }
    if tensor.bad_reference {
        return Some(Skip::BadReference);
    }
    None
}

/// By op: inside any range of its model. Ranges see the main sequence in launch order; nested
/// sequences and ops with several contexts take no part (ge-dump spec §3.4).
fn ranges(model: &Model, properties: &Properties, lines: &mut Vec<Line>) -> Vec<bool> {
    let mut inside = vec![false; model.ops.len()];
    let ranges = properties.ranges_of(model.names());
    if ranges.is_empty() || !properties.data {
        return inside;
    }
    // By op name, the ranges that begin or end there: one op touches few ranges.
    let mut walks: Vec<_> = ranges.iter().map(|(b, e)| (RangeWalk::new(b, e), false)).collect();
    let mut touched: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, (begin, end)) in ranges.iter().enumerate() {
        touched.entry(begin).or_default().push(index);
        if begin != end {
            touched.entry(end).or_default().push(index);
        }
    }
    // A range that is open includes whatever passes; after its end the next other op closes it.
    let (mut open, mut stopped): (BTreeSet<usize>, BTreeSet<usize>) = Default::default();
    let mut nested = false;
    for (op, inside) in model.ops.iter().zip(&mut inside) {
        if op.at.sequence != 0 {
            nested |= touched.contains_key(op.name.as_str());
            continue;
        }
        if matches!(op.kind, OpKind::Source) {
            continue;
        }
        let here = touched.get(op.name.as_str()).map_or(&[][..], Vec::as_slice);
        for index in std::mem::take(&mut stopped) {
            if !here.contains(&index) {
                walks[index].0.step(&op.name);
            }
        }
        for &index in here {
            let (walk, told) = &mut walks[index];
            open.remove(&index);
            if walk.step(&op.name) {
                *inside = true;
                if walk.stopped() {
                    stopped.insert(index)
                } else {
                    open.insert(index)
                };
            }
            if walk.failed() && !std::mem::replace(told, true) {
                let (begin, end) = &ranges[index];
                lines.push(Line::new(
                    Grade::Warning,
                    format_args!("range {begin}..{end}: its end comes before its begin at op `{}`; nothing more of it is dumped", op.name),
                ));
            }
        }
        *inside |= !open.is_empty();
        *inside &= op.contexts.is_empty();
    }
    if nested {
        lines.push(Line::new(
            Grade::Warning,
            "ranges do not reach into nested sequences: their ops are not dumped by range",
        ));
    }
    inside
}

#[cfg(test)]
pub(in crate::dump) mod tests;
