//! What one session dumps: the same whichever entry it came through (ge-dump spec §3).

use std::collections::{BTreeMap, BTreeSet};

use super::blacklist::Blacklist;
use super::step::Steps;
use super::value::{Content, DEFAULT_STATS, ExceptionLevel, KernelData, Level, Mode, OverflowMode, Stat};

/// Which model a list of layers is for. Never a text: a model may be called anything (P-4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelKey {
    /// Every layer of every model.
    All,
    /// These layers, in any model.
    AnyLayerOp,
    /// The nodes that the watcher dumps again.
    Watcher,
    /// The model of this name.
    Named(String),
}

/// The names by which a configuration may mean a running model, most wanted first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelNames<'a> {
    /// Of the offline model's file, without suffix.
    pub om: Option<&'a str>,
    /// The model's inner name.
    pub model: Option<&'a str>,
    /// The root graph that the running subgraph belongs to (T1).
    pub root: Option<&'a str>,
}

impl<'a> ModelNames<'a> {
    /// The names that are there, om name first.
    pub fn each(self) -> impl Iterator<Item = &'a str> {
        [self.om, self.model, self.root].into_iter().flatten()
    }
}

/// What to dump. Made by [`resolve`](super::resolve::resolve); immutable from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Tensors are dumped in every iteration that the steps let through.
    pub data: bool,
    /// Tensors of overflowing ops are dumped.
    pub overflow: Option<OverflowMode>,
    /// The context of a failing op is dumped.
    pub exception: Option<ExceptionLevel>,
    /// Root of the output, cleaned; without the directory of the time.
    pub path: Option<String>,
    /// Root of exception dumps; may be another one (ge-dump spec §1.2).
    pub exception_path: Option<String>,
    /// Name of the directory below `path`, `YYYYMMDDHHMMSS` (P-11).
    pub time_dir: Option<String>,
    /// Which tensors.
    pub mode: Mode,
    /// Bytes or statistics.
    pub content: Content,
    /// Op or kernel level.
    pub level: Level,
    /// Single ops, outside of any model, are dumped.
    pub op_switch: bool,
    /// Which iterations.
    pub steps: Steps,
    /// Which layers of which models; an empty set is all layers.
    pub models: BTreeMap<ModelKey, BTreeSet<String>>,
    /// Tensors that are never dumped.
    pub blacklists: BTreeMap<ModelKey, Blacklist>,
    /// Closed intervals of op names in execution order, by model.
    pub ranges: BTreeMap<String, Vec<(String, String)>>,
    /// Columns of the statistics, in [`Stat`]'s order.
    pub stats: Vec<Stat>,
    /// In-kernel streams.
    pub kernel_data: Vec<KernelData>,
}

impl Default for Properties {
    /// The table of ge-dump spec §1.4: nothing is enabled.
    fn default() -> Self {
        Self {
            data: false,
            overflow: None,
            exception: None,
            path: None,
            exception_path: None,
            time_dir: None,
            mode: Mode::Output,
            content: Content::Tensor,
            level: Level::All,
            op_switch: false,
            steps: Steps::default(),
            models: BTreeMap::new(),
            blacklists: BTreeMap::new(),
            ranges: BTreeMap::new(),
            stats: DEFAULT_STATS.to_vec(),
            kernel_data: vec![KernelData::All],
        }
    }
}

/// How layers are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// A list for any model and one for a named model are united (P-12).
    #[default]
    Union,
    /// Fault: while a list for any model is there, named models are not looked at (strict upstream).
    AnyShadowsNamed,
}

impl Properties {
    /// Anything at all is dumped.
    pub fn is_on(&self) -> bool {
        self.data || self.overflow.is_some() || self.exception.is_some()
    }

    /// The watcher is on.
    pub fn is_watcher(&self) -> bool {
        self.models.contains_key(&ModelKey::Watcher)
    }

    /// The model's set of layers among the named ones: om name, else model name, else root graph.
    fn named(&self, names: ModelNames<'_>) -> Option<&BTreeSet<String>> {
        names.each().find_map(|name| self.models.get(&ModelKey::Named(name.to_owned())))
    }

    /// The ranges for a model, those by its om name first.
    pub fn ranges_of(&self, names: ModelNames<'_>) -> &[(String, String)] {
        names.each().find_map(|name| self.ranges.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Some list is for this model, or for all.
    pub fn model_needs_dump(&self, names: ModelNames<'_>) -> bool {
        self.overflow.is_some()
            || self.models.contains_key(&ModelKey::All)
            || self.models.contains_key(&ModelKey::AnyLayerOp)
            || self.named(names).is_some()
            || !self.ranges_of(names).is_empty()
    }

    /// Whether an op known by any of `op_names` is wanted, ranges aside (ge-dump spec §3.1).
    pub fn layer_need<'a>(
        &self,
        names: ModelNames<'_>,
        op_names: impl Iterator<Item = &'a str> + Clone,
        matching: Matching,
    ) -> bool {
        let in_set = |set: &BTreeSet<String>| op_names.clone().any(|name| set.contains(name));
        if self.models.contains_key(&ModelKey::All) {
            return true;
        }
        if let Some(any) = self.models.get(&ModelKey::AnyLayerOp) {
            if any.is_empty() || in_set(any) {
                return true;
            }
            if matching == Matching::AnyShadowsNamed {
                return false;
            }
        }
        match self.named(names) {
            Some(set) if set.is_empty() => self.ranges_of(names).is_empty(),
            Some(set) => in_set(set),
            None => false,
        }
    }

    /// Watcher: after an op known by any of these names the watched nodes are dumped.
    pub fn is_watcher_layer<'a>(&self, mut op_names: impl Iterator<Item = &'a str>) -> bool {
        self.is_watcher()
            && self
                .models
                .get(&ModelKey::AnyLayerOp)
                .is_some_and(|set| set.is_empty() || op_names.any(|name| set.contains(name)))
    }

    /// Watcher: this node is dumped after the layers.
    pub fn is_watched<'a>(&self, mut op_names: impl Iterator<Item = &'a str>) -> bool {
        self.models.get(&ModelKey::Watcher).is_some_and(|set| op_names.any(|name| set.contains(name)))
    }

    /// The blacklists that apply to a model: its om name's, model name's, root graph's, any model's.
    pub fn blacklists_of(&self, names: ModelNames<'_>) -> impl Iterator<Item = &Blacklist> {
        names
            .each()
            .map(|name| ModelKey::Named(name.to_owned()))
            .chain([ModelKey::AnyLayerOp])
            .filter_map(|key| self.blacklists.get(&key))
    }

    /// Adds layers for a model; a second list for one model joins the first (P-13). True if there
    /// was one already.
    pub(super) fn add_model(&mut self, key: ModelKey, layers: BTreeSet<String>) -> bool {
        match self.models.get_mut(&key) {
            Some(set) => {
                // An empty set is all layers, and stays all layers.
                if set.is_empty() || layers.is_empty() {
                    set.clear()
                } else {
                    set.extend(layers)
                }
                true
            }
            None => {
                self.models.insert(key, layers);
                false
            }
        }
    }

    /// One form for one meaning: any layer of any model is every layer of every model (law 11).
    pub(super) fn normalise(&mut self) {
        if self.is_watcher() {
            return;
        }
        if self.models.get(&ModelKey::AnyLayerOp).is_some_and(BTreeSet::is_empty) {
            self.models.remove(&ModelKey::AnyLayerOp);
            self.models.insert(ModelKey::All, BTreeSet::new());
        }
    }

    /// Where dumps go: root and time. `None` without a path.
    pub fn directory(&self) -> Option<String> {
        Some(below(self.path.as_deref()?, self.time_dir.as_deref()))
    }
}

/// `path/part`, never with a doubled or a missing slash (T25).
fn below(path: &str, part: Option<&str>) -> String {
    match part {
        Some(part) if path.ends_with('/') => format!("{path}{part}"),
        Some(part) => format!("{path}/{part}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn named(name: &str) -> ModelKey {
        ModelKey::Named(name.to_owned())
    }

    /// The lists; the model (om m.om, inner m, root r); which of the ops a, b, c are wanted.
    #[track_caller]
    fn check(models: &[(ModelKey, &[&str])], expected: &str) {
        let mut properties = Properties::default();
        for (key, layers) in models {
            properties.add_model(key.clone(), set(layers));
        }
        let names = ModelNames { om: Some("om"), model: Some("m"), root: Some("r") };
        let wanted: String = ["a", "b", "c"]
            .into_iter()
            .filter(|op| properties.layer_need(names, [*op].into_iter(), Matching::Union))
            .collect();
        assert_eq!(wanted, expected, "{models:?}");
    }

    #[test]
    fn layer_need_row_by_row() {
        use ModelKey::{All, AnyLayerOp};
        check(&[], "");
        check(&[(All, &[])], "abc");
        check(&[(AnyLayerOp, &[])], "abc");
        check(&[(AnyLayerOp, &["a"])], "a");
        check(&[(named("x"), &[])], "");
        check(&[(named("m"), &[])], "abc");
        check(&[(named("m"), &["b"])], "b");
        check(&[(named("r"), &["b"])], "b");
        check(&[(named("om"), &["a"]), (named("m"), &["b"])], "a");
        check(&[(named("M"), &[])], "");
    }

    #[test]
    fn any_and_named_lists_are_united_and_upstream_is_a_fault() {
        check(&[(ModelKey::AnyLayerOp, &["a"]), (named("m"), &["b"])], "ab");
        let mut properties = Properties::default();
        properties.add_model(ModelKey::AnyLayerOp, set(&["a"]));
        properties.add_model(named("m"), set(&["b"]));
        let names = ModelNames { model: Some("m"), ..ModelNames::default() };
        assert!(properties.layer_need(names, ["b"].into_iter(), Matching::Union));
        assert!(!properties.layer_need(names, ["b"].into_iter(), Matching::AnyShadowsNamed));
    }

    #[test]
    fn one_model_twice_is_a_union() {
        check(&[(named("m"), &["a"]), (named("m"), &["c"])], "ac");
        check(&[(named("m"), &["a"]), (named("m"), &[])], "abc");
        check(&[(named("m"), &[]), (named("m"), &["a"])], "abc");
    }

    #[test]
    fn with_ranges_an_empty_set_is_not_all() {
        let mut properties = Properties::default();
        properties.add_model(named("m"), BTreeSet::new());
        properties.ranges.insert("m".to_owned(), vec![("a".to_owned(), "b".to_owned())]);
        let names = ModelNames { model: Some("m"), ..ModelNames::default() };
        assert!(!properties.layer_need(names, ["a"].into_iter(), Matching::Union));
        assert!(properties.model_needs_dump(names));
    }

    #[test]
    fn any_original_name_is_enough() {
        let mut properties = Properties::default();
        properties.add_model(ModelKey::AnyLayerOp, set(&["conv1"]));
        let need =
            |ops: &[&str]| properties.layer_need(ModelNames::default(), ops.iter().copied(), Matching::Union);
        assert!(need(&["fused", "relu1", "conv1"]));
        assert!(!need(&["fused", "relu1"]));
    }

    /// The table of ge-dump spec §1.4.
    #[test]
    fn every_default() {
        let Properties {
            data,
            overflow,
            exception,
            path,
            mode,
            content,
            level,
            op_switch,
            steps,
            models,
            stats,
            ..
        } = Properties::default();
        assert_eq!((mode.name(), content.name(), level.name()), ("output", "tensor", "all"));
        assert_eq!((data, overflow, exception, op_switch, path), (false, None, None, false, None));
        assert!(steps.is_all() && models.is_empty());
        assert_eq!(
            stats.iter().map(|stat| stat.name()).collect::<Vec<_>>(),
            ["Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf"]
        );
    }

    /// Which predicate of ge-dump spec §3.2 each kind of dump sets.
    #[test]
    fn what_counts_as_on_and_which_models_need_dump() {
        let names = ModelNames { model: Some("m"), ..ModelNames::default() };
        let with = |change: &dyn Fn(&mut Properties)| {
            let mut properties = Properties::default();
            change(&mut properties);
            (properties.is_on(), properties.model_needs_dump(names))
        };
        assert_eq!(with(&|_| {}), (false, false));
        assert_eq!(with(&|p| p.data = true), (true, false));
        // Overflow looks at no list (ge-dump spec §3.2).
        assert_eq!(with(&|p| p.overflow = Some(OverflowMode::AiCore)), (true, true));
        assert_eq!(with(&|p| p.exception = Some(ExceptionLevel::Brief)), (true, false));
        for (key, needs) in [
            (ModelKey::All, true),
            (ModelKey::AnyLayerOp, true),
            (ModelKey::Watcher, false),
            (named("m"), true),
            (named("x"), false),
        ] {
            let set_key = key.clone();
            let got = with(&move |p| {
                p.add_model(set_key.clone(), BTreeSet::new());
            });
            assert_eq!(got, (false, needs), "{key:?}");
        }
        assert_eq!(OverflowMode::ALL.iter().map(|mode| mode.bits()).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn watcher_predicates() {
        let mut properties = Properties::default();
        properties.add_model(ModelKey::Watcher, set(&["w"]));
        assert!(!properties.is_watcher_layer(["a"].into_iter()));
        properties.add_model(ModelKey::AnyLayerOp, set(&["a"]));
        assert!(properties.is_watcher_layer(["a"].into_iter()));
        assert!(!properties.is_watcher_layer(["w"].into_iter()));
        assert!(properties.is_watched(["w"].into_iter()));
        assert!(!properties.is_watched(["a"].into_iter()));
    }

    #[test]
    fn t25_paths_are_joined_with_one_slash() {
        assert_eq!(below("/o", Some("t")), "/o/t");
        assert_eq!(below("/", Some("t")), "/t");
        assert_eq!(below("/o", None), "/o");
    }
}
