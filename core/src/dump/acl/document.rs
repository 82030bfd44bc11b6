//! First pass: the document with the right types, nothing looked into yet.

use serde_json::{Map, Value};

use super::MAX_DOCUMENT;
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::program::json::kind_of;

/// The `dump` object as it was written; `None` is a field that is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the fields of the document, see docs/dump.md")]
pub struct AclDocument {
    pub path: Option<String>,
    pub mode: Option<String>,
    pub data: Option<String>,
    pub level: Option<String>,
    pub op_switch: Option<String>,
    pub debug: Option<String>,
    pub step: Option<String>,
    pub scene: Option<String>,
    pub kernel_data: Option<String>,
    pub stats: Option<Vec<String>>,
    pub list: Option<Vec<Item>>,
}

/// One item of `dump_list`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the fields of the document, see docs/dump.md")]
pub struct Item {
    pub model_name: Option<String>,
    pub layers: Option<Vec<String>>,
    pub watcher_nodes: Option<Vec<String>>,
    /// `optype_blacklist`: name and positions.
    pub by_type: Option<Vec<(String, Vec<String>)>>,
    /// `opname_blacklist`: name and positions.
    pub by_name: Option<Vec<(String, Vec<String>)>>,
    /// `opname_range`: begin and end.
    pub ranges: Option<Vec<(String, String)>>,
}

const DUMP: &[&str] = &[
    "dump_path",
    "dump_mode",
    "dump_data",
    "dump_level",
    "dump_op_switch",
    "dump_debug",
    "dump_step",
    "dump_scene",
    "dump_kernel_data",
    "dump_stats",
    "dump_list",
];
const ITEM: &[&str] =
    &["model_name", "layer", "watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range"];
const ENTRY: &[&str] = &["name", "pos"];
const RANGE: &[&str] = &["begin", "end"];

/// Most warnings about unknown keys.
const MAX_WARNINGS: usize = 100;

/// Reads the `dump` object; `None` if there is none.
pub(super) fn parse(text: &[u8], warnings: &mut Vec<Diagnostic>) -> Result<Option<AclDocument>, Diagnostic> {
    let refused = |found: String| {
        Diagnostic::error("EP0004", "document", "a JSON object of at most 16 MiB")
            .found(found)
            .hint("check brackets, quotes and commas")
    };
    if text.len() > MAX_DOCUMENT {
        return Err(refused(format!("{} bytes", text.len())));
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let root: Value = serde_json::from_slice(text).map_err(|error| refused(error.to_string()))?;
    let Value::Object(root) = root else { return Err(refused(kind_of(&root).to_owned())) };
    let Some(dump) = root.get("dump") else {
        // Other top-level keys belong to other modules; only a misspelling of ours is told.
        for key in root.keys().filter(|key| nearest(key, ["dump"]).is_some()) {
            warnings.push(unknown(key, key, &["dump"]));
        }
        return Ok(None);
    };
    let mut reader = Reader { warnings };
    let dump = reader.object(dump, "dump", DUMP)?;
    let stats = match dump.get("dump_stats") {
        Some(value) => Some(texts(value, "dump_stats")?),
        None => None,
    };
    let list = match dump.get("dump_list") {
        Some(value) => Some(reader.items(value, "dump_list", Reader::item)?),
        None => None,
    };
    let text = |name: &str| dump.get(name).map(|value| text_at(value, name)).transpose();
    Ok(Some(AclDocument {
        path: text("dump_path")?,
        mode: text("dump_mode")?,
        data: text("dump_data")?,
        level: text("dump_level")?,
        op_switch: text("dump_op_switch")?,
        debug: text("dump_debug")?,
        step: text("dump_step")?,
        scene: text("dump_scene")?,
        kernel_data: text("dump_kernel_data")?,
        stats,
        list,
    }))
}

struct Reader<'w> {
    warnings: &'w mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn object<'v>(
        &mut self,
        value: &'v Value,
        at: &str,
        known: &[&str],
    ) -> Result<&'v Map<String, Value>, Diagnostic> {
        let Value::Object(fields) = value else { return Err(wrong_type(value, at, "an object")) };
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            // Once per key, wherever it stands (P-1).
            let told = self.warnings.iter().any(|warning| warning.code == "DU001" && warning.value == *key);
            if !told && self.warnings.len() < MAX_WARNINGS {
                self.warnings.push(unknown(key, &format!("{at}.{key}"), known));
            }
        }
        Ok(fields)
    }

    fn items<T>(
        &mut self,
        value: &Value,
        at: &str,
        mut item: impl FnMut(&mut Self, &Value, &str) -> Result<T, Diagnostic>,
    ) -> Result<Vec<T>, Diagnostic> {
        let Value::Array(items) = value else { return Err(wrong_type(value, at, "a list")) };
        items.iter().enumerate().map(|(index, value)| item(self, value, &format!("{at}[{index}]"))).collect()
    }

    fn item(&mut self, value: &Value, at: &str) -> Result<Item, Diagnostic> {
        let fields = self.object(value, at, ITEM)?;
        let place = |name: &str| format!("{at}.{name}");
        let names = |name: &str| fields.get(name).map(|value| texts(value, &place(name))).transpose();
        let mut item = Item {
            model_name: fields
                .get("model_name")
                .map(|value| text_at(value, &place("model_name")))
                .transpose()?,
            layers: names("layer")?,
            watcher_nodes: names("watcher_nodes")?,
            ..Item::default()
        };
        if let Some(value) = fields.get("optype_blacklist") {
            item.by_type = Some(self.items(value, &place("optype_blacklist"), Self::entry)?);
        }
        if let Some(value) = fields.get("opname_blacklist") {
            item.by_name = Some(self.items(value, &place("opname_blacklist"), Self::entry)?);
        }
        if let Some(value) = fields.get("opname_range") {
            item.ranges = Some(self.items(value, &place("opname_range"), Self::range)?);
        }
        Ok(item)
    }

    fn entry(&mut self, value: &Value, at: &str) -> Result<(String, Vec<String>), Diagnostic> {
        let fields = self.object(value, at, ENTRY)?;
        let name = optional_text(fields, "name", at)?;
        let pos = match fields.get("pos") {
            Some(value) => texts(value, &format!("{at}.pos"))?,
            None => Vec::new(),
        };
        Ok((name, pos))
    }

    fn range(&mut self, value: &Value, at: &str) -> Result<(String, String), Diagnostic> {
        let fields = self.object(value, at, RANGE)?;
        Ok((optional_text(fields, "begin", at)?, optional_text(fields, "end", at)?))
    }
}

fn optional_text(fields: &Map<String, Value>, name: &str, at: &str) -> Result<String, Diagnostic> {
    fields.get(name).map_or(Ok(String::new()), |value| text_at(value, &format!("{at}.{name}")))
}

fn text_at(value: &Value, at: &str) -> Result<String, Diagnostic> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(wrong_type(other, at, "a text")),
    }
}

fn texts(value: &Value, at: &str) -> Result<Vec<String>, Diagnostic> {
    let Value::Array(items) = value else { return Err(wrong_type(value, at, "a list of texts")) };
    items.iter().enumerate().map(|(index, item)| text_at(item, &format!("{at}[{index}]"))).collect()
}

fn unknown(key: &str, at: &str, known: &[&str]) -> Diagnostic {
    let warning = Diagnostic::warning("DU001", at, "a known key").found(key);
    match nearest(key, known.iter().copied()) {
        Some(meant) => warning.hint(format!("did you mean `{meant}`? It was ignored.")),
        None => warning.hint("it was ignored"),
    }
}

fn wrong_type(value: &Value, at: &str, expected: &str) -> Diagnostic {
    Diagnostic::error("EP0001", at, expected).found(kind_of(value))
}
