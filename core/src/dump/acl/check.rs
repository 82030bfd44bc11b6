//! Second and third pass: allowed values, and what goes together (ge-dump spec §1.1.1).

use super::{AclDocument, Item, Scene};
use crate::diagnostic::Diagnostic;
use crate::dump::blacklist::Position;
use crate::dump::path::{self, PathProbe};
use crate::dump::step::Steps;
use crate::dump::value::{Content, KernelData, Level, Mode, Stat, Switch};
use crate::nearest::nearest;

/// Most entries of one blacklist.
const MAX_BLACKLIST: usize = 100;

/// Second pass: every field that has a list of allowed values.
pub(super) fn values(document: &AclDocument) -> Result<(), Diagnostic> {
    macro_rules! one_of {
        ($field:ident, $name:literal, $kind:ident) => {
            if let Some(text) = &document.$field {
                one_of($name, text, $kind::ALL.iter().map(|value| value.name()))?;
            }
        };
    }
    one_of!(mode, "dump_mode", Mode);
    one_of!(data, "dump_data", Content);
    one_of!(level, "dump_level", Level);
    one_of!(op_switch, "dump_op_switch", Switch);
    one_of!(debug, "dump_debug", Switch);
    one_of!(scene, "dump_scene", Scene);
    if let Some(text) = &document.kernel_data {
        if text.is_empty() {
            return Err(empty("dump_kernel_data"));
        }
        for part in text.split(',') {
            allowed("dump_kernel_data", part, KernelData::ALL.iter().map(|value| value.name()))?;
        }
    }
    for (index, text) in document.stats.iter().flatten().enumerate() {
        one_of(&format!("dump_stats[{index}]"), text, Stat::ALL.iter().map(|value| value.name()))?;
    }
    Ok(())
}

fn one_of<'a>(at: &str, text: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), Diagnostic> {
    if text.is_empty() { Err(empty(at)) } else { allowed(at, text, names) }
}

fn allowed<'a>(at: &str, text: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), Diagnostic> {
    if names.clone().any(|name| name == text) {
        return Ok(());
    }
    let expected = names.clone().collect::<Vec<_>>().join("/");
    let error = Diagnostic::error("EP0002", at, expected).found(text);
    Err(match nearest(text, names) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error,
    })
}

fn empty(at: &str) -> Diagnostic {
    Diagnostic::error("EP0001", at, "a value")
        .found("an empty text")
        .hint("leave the field out for its default")
}

fn conflict(at: &str, expected: &str, found: &str) -> Diagnostic {
    Diagnostic::error("EP0005", at, expected).found(found)
}

/// Third pass, in the order of the table.
pub(super) fn constraints(
    document: &AclDocument,
    probe: &dyn PathProbe,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let on = |text: &Option<String>| text.as_deref() == Some("on");
    let (debug, op_switch) = (on(&document.debug), on(&document.op_switch));
    let scene = document.scene();
    if let Some(scene) = scene {
        if debug || op_switch {
            let switch = if debug { "dump_debug" } else { "dump_op_switch" };
            return Err(conflict("dump_scene", "no `dump_debug` or `dump_op_switch` that is on", switch)
                .hint("one document configures one kind of dump"));
        }
        if scene == Scene::Watcher && document.mode.as_deref().is_some_and(|mode| mode != "output") {
            return Err(conflict("dump_mode", "`output` in the watcher scene", &text(&document.mode)));
        }
        if scene.is_exception() {
            if scene == Scene::Detail {
                warnings.push(
                    Diagnostic::warning("DU003", "dump_scene", "`aic_err_norm_dump` or `aic_err_brief_dump`")
                        .found(scene)
                        .hint("there are no core registers here: treated as `aic_err_norm_dump`"),
                );
            }
            return Ok(());
        }
    }
    check_path(document, probe, warnings)?;
    if debug && op_switch {
        return Err(conflict("dump_debug", "not both `dump_debug` and `dump_op_switch` on", "both on"));
    }
    if debug {
        if document.list.as_ref().is_some_and(|list| !list.is_empty()) {
            warnings.push(
                Diagnostic::warning("DU003", "dump_list", "no list with `dump_debug` on")
                    .found("a list")
                    .hint("overflow dump looks at every op: the list is not used"),
            );
        }
        return Ok(());
    }
    if let Some(expression) = &document.step {
        Steps::parse(expression)
            .map_err(|error| Diagnostic::error("EP0003", "dump_step", error.to_string()).found(expression))?;
    }
    let watcher = scene == Some(Scene::Watcher);
    let op_level = document.level.as_deref() == Some("op");
    for (index, item) in document.list.iter().flatten().enumerate() {
        check_item(item, &format!("dump_list[{index}]"), op_switch, watcher, op_level)?;
    }
    notes(document, warnings);
    if document.stats.as_ref().is_some_and(Vec::is_empty) {
        return Err(Diagnostic::error("EP0001", "dump_stats", "at least one column").found("an empty list"));
    }
    if document.stats.is_some() && document.data.as_deref() != Some("stats") {
        return Err(conflict(
            "dump_stats",
            "`dump_data` = `stats`",
            document.data.as_deref().unwrap_or("tensor"),
        ));
    }
    Ok(())
}

fn text(field: &Option<String>) -> String {
    field.clone().unwrap_or_default()
}

fn check_path(
    document: &AclDocument,
    probe: &dyn PathProbe,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let path = document.path.as_deref().unwrap_or_default();
    match path::check(path, probe) {
        Ok(true) => Ok(()),
        Ok(false) => {
            warnings.push(not_checked("dump_path", path));
            Ok(())
        }
        Err(error) => {
            let (expected, hint) = error.words();
            let code = if path.is_empty() { "EP0001" } else { "EP0003" };
            Err(Diagnostic::error(code, "dump_path", expected).found(path).hint(hint))
        }
    }
}

/// Nobody could look at the disk.
pub(in crate::dump) fn not_checked(at: &str, path: &str) -> Diagnostic {
    Diagnostic::warning("DU004", at, "a directory that can be read and written")
        .found(path)
        .hint("not checked: there is no disk to look at here")
}

fn check_item(
    item: &Item,
    at: &str,
    op_switch: bool,
    watcher: bool,
    op_level: bool,
) -> Result<(), Diagnostic> {
    let place = |name: &str| format!("{at}.{name}");
    if !op_switch {
        if item.model_name.as_deref() == Some("") {
            return Err(empty(&place("model_name")));
        }
        if let Some(layers) = &item.layers {
            if layers.is_empty() {
                return Err(Diagnostic::error("EP0001", place("layer"), "at least one layer")
                    .found("an empty list")
                    .hint("leave `layer` out for all layers"));
            }
            if let Some(index) = layers.iter().position(String::is_empty) {
                return Err(empty(&format!("{at}.layer[{index}]")));
            }
        }
    }
    let nodes = item.watcher_nodes.as_ref().is_some_and(|nodes| !nodes.is_empty());
    if watcher && !nodes {
        return Err(Diagnostic::error("EP0001", place("watcher_nodes"), "nodes to watch").found("none"));
    }
    if watcher && item.model_name.is_some() {
        return Err(conflict(
            &place("model_name"),
            "no model name in the watcher scene",
            &text(&item.model_name),
        ));
    }
    if !watcher && nodes {
        return Err(conflict(&place("watcher_nodes"), "`dump_scene` = `watcher`", "another scene, or none"));
    }
    for (name, list) in [("optype_blacklist", &item.by_type), ("opname_blacklist", &item.by_name)] {
        let entries = list.as_ref().map_or(0, Vec::len);
        if entries > MAX_BLACKLIST {
            let expected = format!("at most {MAX_BLACKLIST} entries");
            return Err(Diagnostic::error("EP0003", place(name), expected).found(entries));
        }
    }
    for (name, there) in [
        ("optype_blacklist", item.by_type.is_some()),
        ("opname_blacklist", item.by_name.is_some()),
        ("opname_range", item.ranges.is_some()),
    ] {
        if there && !op_level {
            return Err(conflict(&place(name), "`dump_level` = `op`", "another level, or the default `all`"));
        }
    }
    if let Some(ranges) = &item.ranges {
        if item.model_name.as_deref().unwrap_or_default().is_empty() {
            return Err(Diagnostic::error("EP0001", place("model_name"), "the model that the range is in")
                .found("none"));
        }
        for (index, (begin, end)) in ranges.iter().enumerate() {
            if begin.is_empty() || end.is_empty() {
                let at = format!("{at}.opname_range[{index}]");
                return Err(Diagnostic::error("EP0003", at, "a begin and an end").found("an empty one"));
            }
        }
    }
    Ok(())
}

/// What is accepted, but does not do what somebody may have meant.
fn notes(document: &AclDocument, warnings: &mut Vec<Diagnostic>) {
    let items = document.list.as_deref().unwrap_or_default();
    let mut seen = std::collections::BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let key = item.model_name.as_deref();
        if !seen.insert(key) && warnings.len() < 100 {
            warnings.push(
                Diagnostic::warning("DU005", format!("dump_list[{index}]"), "each model once")
                    .found(key.unwrap_or("no model name"))
                    .hint("the lists of both items are united"),
            );
        }
        for (name, list) in [("optype_blacklist", &item.by_type), ("opname_blacklist", &item.by_name)] {
            for (entry, (op, positions)) in list.iter().flatten().enumerate() {
                let at = format!("dump_list[{index}].{name}[{entry}]");
                if op.is_empty() || positions.is_empty() {
                    warnings.push(
                        Diagnostic::warning("DU006", &at, "a name and at least one position")
                            .hint("this entry has no effect"),
                    );
                }
                for pos in positions.iter().filter(|pos| Position::parse(pos).is_none()) {
                    warnings.push(
                        Diagnostic::warning("DU006", format!("{at}.pos"), "`input` or `output` and an index")
                            .found(pos)
                            .hint("this position was ignored"),
                    );
                }
            }
        }
        warnings.truncate(200);
    }
    let nameless = items.iter().any(|item| item.model_name.is_none());
    if nameless && items.iter().any(|item| item.model_name.is_some()) {
        warnings.push(
            Diagnostic::warning("DU005", "dump_list", "items with a model name, or items without")
                .found("both")
                .hint("a layer is dumped if any of them names it"),
        );
    }
    if document.level.as_deref() == Some("kernel") {
        warnings.push(
            Diagnostic::warning("DU003", "dump_level", "`op` or `all`")
                .found("kernel")
                .hint("kernels here write no streams of their own: no operator is dumped at this level"),
        );
    }
}
