//! From a program to JSON: one line per allocation, resource and thunk, so that people can read it
//! and a diff shows what changed.

use serde_json::{Map, Value};

use super::fields::{ACCESSES, ALLOCATION_KINDS, RESOURCE_KINDS, name_of};
use super::{FORMAT, text};
use crate::number::MAX_SAFE;
use crate::program::{Origin, Program, Sequence, Thunk};

/// Writes a program; reading it gives the same program again.
pub fn write(program: &Program) -> String {
    let mut out = String::from("{\n  \"format\": ");
    let mut extra = Extra::of(&program.extra);
    out.push_str(&text(&FORMAT.into()));
    field(&mut out, "name", &program.name.as_str().into());
    let Origin { format, release } = &program.origin;
    let kept = extra.fields("origin");
    if !(format == "program" && release.is_empty() && kept.is_empty()) {
        let origin = object([("format", format.as_str().into()), ("release", release.as_str().into())], kept);
        field(&mut out, "origin", &origin.into());
    }
    for (name, value) in &extra.rest("origin allocations resources sequence") {
        field(&mut out, name, value);
    }
    let mut kept = extra.items("allocations");
    let allocations = program.allocations.iter().map(|allocation| {
        let mut line = object(
            [
                ("index", allocation.index.into()),
                ("size", number(allocation.size)),
                ("kind", name_of(ALLOCATION_KINDS, &allocation.kind).into()),
            ],
            Map::new(),
        );
        unless_empty(&mut line, "label", &allocation.label);
        line.extend(kept.next().unwrap_or_default());
        line
    });
    lines(&mut out, "allocations", allocations.collect());
    let mut kept = extra.items("resources");
    let resources = program.resources.iter().map(|resource| {
        let mut line = object([("kind", name_of(RESOURCE_KINDS, &resource.kind).into())], Map::new());
        unless_empty(&mut line, "label", &resource.label);
        line.extend(kept.next().unwrap_or_default());
        line
    });
    lines(&mut out, "resources", resources.collect());
    out.push_str(",\n  \"sequence\": ");
    sequence(&mut out, &program.sequence, extra.fields("sequence"), 2);
    out.push_str("\n}\n");
    out
}

/// A field of the program, on a line of its own.
fn field(out: &mut String, name: &str, value: &Value) {
    for part in [",\n  ", &text(&name.into()), ": ", &text(value)] {
        out.push_str(part);
    }
}

/// A list of the program, an item on each line.
fn lines(out: &mut String, name: &str, items: Vec<Map<String, Value>>) {
    if items.is_empty() {
        return;
    }
    out.push_str(&format!(",\n  \"{name}\": [\n"));
    for (index, item) in items.into_iter().enumerate() {
        out.push_str(if index == 0 { "    " } else { ",\n    " });
        out.push_str(&text(&item.into()));
    }
    out.push_str("\n  ]");
}

fn sequence(out: &mut String, sequence: &Sequence, kept: Map<String, Value>, indent: usize) {
    out.push('{');
    for (name, value) in &kept {
        for part in [&text(&name.as_str().into()), ": ", &text(value), ", "] {
            out.push_str(part);
        }
    }
    out.push_str("\"thunks\": [");
    for (index, one) in sequence.thunks.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(indent + 2));
        thunk(out, one, indent + 2);
    }
    if !sequence.thunks.is_empty() {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    }
    out.push_str("]}");
}

fn thunk(out: &mut String, thunk: &Thunk, indent: usize) {
    let mut extra = Extra::of(&thunk.extra);
    let mut line = object([("kind", thunk.kind.name().into())], Map::new());
    unless_empty(&mut line, "name", &thunk.name);
    let mut kept = extra.items("uses");
    list(
        &mut line,
        "uses",
        thunk.uses.iter().map(|used| {
            let fields = [
                ("allocation", used.slice.allocation.into()),
                ("offset", number(used.slice.offset)),
                ("size", number(used.slice.size)),
                ("access", name_of(ACCESSES, &used.access).into()),
            ];
            object(fields, kept.next().unwrap_or_default()).into()
        }),
    );
    let mut kept = extra.items("resources");
    list(
        &mut line,
        "resources",
        thunk.resources.iter().map(|used| {
            let fields =
                [("resource", used.resource.into()), ("access", name_of(ACCESSES, &used.access).into())];
            object(fields, kept.next().unwrap_or_default()).into()
        }),
    );
    for (name, flag) in [
        ("may_block", thunk.may_block),
        ("foreign_pool", thunk.foreign_pool),
        ("pending", thunk.pending),
        ("uses_unknown", thunk.uses_unknown),
    ] {
        if flag {
            line.insert(name.to_owned(), true.into());
        }
    }
    for (name, value) in [("cost", thunk.cost), ("trip_count", thunk.trip_count)] {
        if let Some(value) = value {
            line.insert(name.to_owned(), number(value));
        }
    }
    let mut kept = extra.items("nested");
    line.extend(extra.rest("uses resources nested"));
    let start = text(&line.into());
    if thunk.nested.is_empty() {
        out.push_str(&start);
        return;
    }
    out.push_str(start.strip_suffix('}').unwrap_or(&start));
    out.push_str(",\"nested\":[");
    for (index, nested) in thunk.nested.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(indent + 2));
        let mut kept = kept.next().unwrap_or_default();
        let inner = match kept.shift_remove("sequence") {
            Some(Value::Object(inner)) => inner,
            _ => Map::new(),
        };
        let head = text(&object([("role", nested.role.to_string().into())], kept).into());
        out.push_str(head.strip_suffix('}').unwrap_or(&head));
        out.push_str(",\"sequence\": ");
        sequence(out, &nested.sequence, inner, indent + 2);
        out.push('}');
    }
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push_str("]}");
}

fn list(line: &mut Map<String, Value>, name: &str, items: impl Iterator<Item = Value>) {
    let items: Vec<Value> = items.collect();
    if !items.is_empty() {
        line.insert(name.to_owned(), items.into());
    }
}

fn unless_empty(line: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        line.insert(name.to_owned(), text.into());
    }
}

fn number(value: u64) -> Value {
    if value > MAX_SAFE { value.to_string().into() } else { value.into() }
}

/// Fields in this order, then what was `kept`.
fn object<const N: usize>(fields: [(&str, Value); N], kept: Map<String, Value>) -> Map<String, Value> {
    let mut object = Map::new();
    for (name, value) in fields {
        object.insert(name.to_owned(), value);
    }
    object.extend(kept);
    object
}

fn fields_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Fields that were kept by the reader, taken out again one by one.
struct Extra(Map<String, Value>);

impl Extra {
    fn of(extra: &Map<String, Value>) -> Self {
        Self(extra.clone())
    }

    /// What was kept of the object in field `name`.
    fn fields(&mut self, name: &str) -> Map<String, Value> {
        fields_of(self.0.shift_remove(name).unwrap_or_default())
    }

    /// What was kept of the items of the list in field `name`, in their order.
    fn items(&mut self, name: &str) -> impl Iterator<Item = Map<String, Value>> + use<> {
        let items = match self.0.shift_remove(name) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        items.into_iter().map(fields_of)
    }

    /// The fields that stand for themselves, without the `parts` (names between blanks).
    fn rest(&self, parts: &str) -> Map<String, Value> {
        let part = |name: &str| parts.split(' ').any(|part| part == name);
        self.0
            .iter()
            .filter(|(name, _)| !part(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}
