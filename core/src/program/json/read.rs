//! From JSON to a program: every number in its range, every name known, every place in a message.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::fields::{
    ACCESSES, ALLOCATION, ALLOCATION_KINDS, Fields, NESTED, ORIGIN, PROGRAM, RESOURCE, RESOURCE_KINDS,
    RESOURCE_USE, SEQUENCE, THUNK, USE, nearest,
};
use super::{FORMAT, MAX_TEXT, MAX_THUNKS, MAX_USES, MAX_VALUES, MAX_WARNINGS, text as json_text};
use crate::diagnostic::Diagnostic;
use crate::program::{
    Access, Allocation, AllocationKind, BufferUse, Kind, MAX_END, MAX_NESTING, Nested, Origin, Program,
    Resource, ResourceUse, Role, Sequence, Slice, Thunk,
};

/// A program and what is to be said about how it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The program.
    pub program: Program,
    /// Unknown fields, with the name that was probably meant; at most [`MAX_WARNINGS`].
    pub warnings: Vec<Diagnostic>,
}

/// Deepest nesting of brackets: each nested sequence takes five levels (thunk, list, nested,
/// sequence, list), and fields that are only kept get some of their own.
const MAX_DEPTH: usize = 5 * MAX_NESTING + 32;

/// Reads a program.
///
/// # Errors
/// `PG001` to `PG012`, at a JSON path such as `$.sequence.thunks[3].uses[0].size`: see
/// `docs/diagnostics.md`.
pub fn read(text: &[u8]) -> Result<Read, Diagnostic> {
    let root = parse(text)?;
    let kinds = Kind::ALL.iter().map(|&kind| (kind.name(), kind)).collect();
    let mut reader = Reader { warnings: Vec::new(), thunks: 0, uses: 0, resources: Vec::new(), kinds };
    let program = reader.program(root)?;
    Ok(Read { program, warnings: reader.warnings })
}

fn parse(text: &[u8]) -> Result<Value, Diagnostic> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.len() > MAX_TEXT {
        return Err(Diagnostic::error("PG009", "$", format!("at most {MAX_TEXT} bytes of JSON"))
            .found(format!("{} bytes", text.len())));
    }
    // Checked on the text, so that the parser's own recursion and memory are bounded.
    check_structure(text)?;
    let mut json = serde_json::Deserializer::from_slice(text);
    json.disable_recursion_limit();
    Value::deserialize(&mut json).and_then(|value| json.end().map(|()| value)).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        Diagnostic::error("PG001", place, "JSON").found(error).hint("the file is cut, or was edited by hand")
    })
}

fn check_structure(text: &[u8]) -> Result<(), Diagnostic> {
    let (mut depth, mut values, mut in_text, mut escaped) = (0usize, 0usize, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => (depth, values) = (depth + 1, values + 1),
            b',' if !in_text => values += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(too_deep(format!("byte {at}")));
        }
    }
    if values > MAX_VALUES {
        return Err(Diagnostic::error("PG009", "$", format!("at most {MAX_VALUES} values and lists"))
            .found(format!("{values} of them")));
    }
    Ok(())
}

fn too_deep(path: String) -> Diagnostic {
    Diagnostic::error("PG008", path, format!("sequences nested at most {MAX_NESTING} deep"))
        .hint("no program of XLA is nested like this")
}

/// A place in the document; printed only when there is something to say.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn field<'a>(&'a self, name: &'a str) -> Place<'a> {
        Place::Field(self, name)
    }

    fn item(&self, index: usize) -> Place<'_> {
        Place::Item(self, index)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("$"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Field(parent, name) => {
                let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
                if plain {
                    write!(f, "{parent}.{name}")
                } else {
                    let quoted: String = name.chars().take(60).flat_map(char::escape_debug).collect();
                    write!(f, "{parent}[\"{quoted}\"]")
                }
            }
        }
    }
}

/// The fields of one object that are still to be read, and those that are only kept.
struct Object {
    fields: Map<String, Value>,
    extra: Map<String, Value>,
}

impl Object {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    fn need(&mut self, name: &str, at: &Place<'_>) -> Result<Value, Diagnostic> {
        self.take(name).ok_or_else(|| {
            Diagnostic::error("PG006", at.field(name).to_string(), "this field").found("nothing")
        })
    }

    /// Keeps what is to be kept of a nested part, under the name of the part.
    fn keep(&mut self, name: &str, extra: Value) {
        let empty = match &extra {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.iter().all(|item| item.as_object().is_some_and(Map::is_empty)),
            _ => false,
        };
        if !empty {
            self.extra.insert(name.to_owned(), extra);
        }
    }
}

struct Reader {
    warnings: Vec<Diagnostic>,
    thunks: usize,
    uses: usize,
    /// The program's resources, known before its thunks are read.
    resources: Vec<Resource>,
    kinds: Vec<(&'static str, Kind)>,
}

impl Reader {
    fn program(&mut self, value: Value) -> Result<Program, Diagnostic> {
        let at = &Place::Root;
        // Told first: of a file in another format every other field would be wrong as well.
        match value.get("format") {
            Some(Value::String(format)) if format == FORMAT => {}
            other => {
                let found = other.map_or_else(|| "no such field".to_owned(), json_text);
                return Err(Diagnostic::error("PG002", "$.format", format!("\"{FORMAT}\""))
                    .found(found)
                    .hint("this JSON is no program of Thunkscope, or a later version of the format"));
            }
        }
        let mut object = self.object(value, &PROGRAM, at)?;
        let name = text_or_empty(object.take("name"), &at.field("name"))?;
        let origin = match object.take("origin") {
            Some(value) => {
                let at = at.field("origin");
                let mut inner = self.object(value, &ORIGIN, &at)?;
                let origin = Origin {
                    format: text_or_empty(inner.take("format"), &at.field("format"))?,
                    release: text_or_empty(inner.take("release"), &at.field("release"))?,
                };
                object.keep("origin", inner.extra.into());
                origin
            }
            None => Origin { format: "program".to_owned(), release: String::new() },
        };
        let allocations = self.list(&mut object, "allocations", at, Self::allocation)?;
        self.resources = self.list(&mut object, "resources", at, Self::resource)?;
        let (sequence, extra) = self.sequence(object.need("sequence", at)?, &at.field("sequence"), 0)?;
        object.keep("sequence", extra.into());
        let allocations = in_order(allocations, &mut object.extra)?;
        Ok(Program {
            name,
            origin,
            allocations,
            resources: std::mem::take(&mut self.resources),
            sequence,
            extra: object.extra,
        })
    }

    fn allocation(
        &mut self,
        value: Value,
        at: &Place<'_>,
        _: usize,
    ) -> Result<(Allocation, Map<String, Value>), Diagnostic> {
        let mut object = self.object(value, &ALLOCATION, at)?;
        self.count_uses(at)?;
        let index = u32_of(&object.need("index", at)?, &at.field("index"))?;
        let size = u64_of(&object.need("size", at)?, &at.field("size"), MAX_END)?;
        let kind = match object.take("kind") {
            Some(value) => named(&value, &at.field("kind"), ALLOCATION_KINDS)?,
            None => AllocationKind::Unknown,
        };
        let label = text_or_empty(object.take("label"), &at.field("label"))?;
        Ok((Allocation { index, size, kind, label }, object.extra))
    }

    fn resource(
        &mut self,
        value: Value,
        at: &Place<'_>,
        _: usize,
    ) -> Result<(Resource, Map<String, Value>), Diagnostic> {
        let mut object = self.object(value, &RESOURCE, at)?;
        self.count_uses(at)?;
        let kind = named(&object.need("kind", at)?, &at.field("kind"), RESOURCE_KINDS)?;
        let label = text_or_empty(object.take("label"), &at.field("label"))?;
        Ok((Resource { kind, label }, object.extra))
    }

    fn sequence(
        &mut self,
        value: Value,
        at: &Place<'_>,
        depth: usize,
    ) -> Result<(Sequence, Map<String, Value>), Diagnostic> {
        if depth > MAX_NESTING {
            return Err(too_deep(at.to_string()));
        }
        let mut object = self.object(value, &SEQUENCE, at)?;
        let list = object.need("thunks", at)?;
        let at = at.field("thunks");
        let mut thunks = Vec::new();
        for (index, value) in array(list, &at)?.into_iter().enumerate() {
            thunks.push(self.thunk(value, &at.item(index), depth)?);
        }
        Ok((Sequence { thunks }, object.extra))
    }

    fn thunk(&mut self, value: Value, at: &Place<'_>, depth: usize) -> Result<Thunk, Diagnostic> {
        self.thunks += 1;
        if self.thunks > MAX_THUNKS {
            return Err(Diagnostic::error("PG009", at.to_string(), format!("at most {MAX_THUNKS} thunks")));
        }
        let mut object = self.object(value, &THUNK, at)?;
        let kind = named(&object.need("kind", at)?, &at.field("kind"), &self.kinds)?;
        let mut thunk = Thunk::new(kind, text_or_empty(object.take("name"), &at.field("name"))?);
        thunk.uses = self.list(&mut object, "uses", at, Self::buffer_use)?;
        thunk.resources = self.list(&mut object, "resources", at, Self::resource_use)?;
        thunk.may_block = flag(object.take("may_block"), &at.field("may_block"))?;
        thunk.foreign_pool = flag(object.take("foreign_pool"), &at.field("foreign_pool"))?;
        thunk.pending = flag(object.take("pending"), &at.field("pending"))?;
        thunk.uses_unknown = flag(object.take("uses_unknown"), &at.field("uses_unknown"))?;
        let number = |value: Option<Value>, name| {
            value.map(|value| u64_of(&value, &at.field(name), u64::MAX)).transpose()
        };
        thunk.cost = number(object.take("cost"), "cost")?;
        thunk.trip_count = number(object.take("trip_count"), "trip_count")?;
        thunk.nested = self
            .list(&mut object, "nested", at, |reader, value, at, _| reader.nested(value, at, depth, kind))?;
        let mut roles: Vec<_> = thunk.nested.iter().map(|nested| nested.role).zip(0..).collect();
        roles.sort_unstable();
        let doubled = roles.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min();
        if let Some(index) = doubled {
            let at = at.field("nested");
            let at = at.item(index);
            return Err(Diagnostic::error("PG012", at.field("role").to_string(), "each role once")
                .found(thunk.nested[index].role));
        }
        thunk.extra = object.extra;
        Ok(thunk)
    }

    fn nested(
        &mut self,
        value: Value,
        at: &Place<'_>,
        depth: usize,
        kind: Kind,
    ) -> Result<(Nested, Map<String, Value>), Diagnostic> {
        let mut object = self.object(value, &NESTED, at)?;
        self.count_uses(at)?;
        let place = at.field("role");
        let role = match object.need("role", at)? {
            Value::String(text) => text.parse::<Role>().map_err(|()| bad_role(&place, kind).found(text))?,
            other => return Err(wrong_type(&other, &place, "a text")),
        };
        let fits = match kind {
            Kind::While => matches!(role, Role::Condition | Role::Body),
            Kind::Conditional => matches!(role, Role::Branch(_)),
            Kind::Call => role == Role::Called,
            Kind::Other => true,
            _ => false,
        };
        if !fits {
            return Err(bad_role(&place, kind).found(role));
        }
        let (sequence, extra) =
            self.sequence(object.need("sequence", at)?, &at.field("sequence"), depth + 1)?;
        object.keep("sequence", extra.into());
        Ok((Nested { role, sequence }, object.extra))
    }

    fn buffer_use(
        &mut self,
        value: Value,
        at: &Place<'_>,
        _: usize,
    ) -> Result<(BufferUse, Map<String, Value>), Diagnostic> {
        self.count_uses(at)?;
        let mut object = self.object(value, &USE, at)?;
        let allocation = u32_of(&object.need("allocation", at)?, &at.field("allocation"))?;
        let offset = match object.take("offset") {
            Some(value) => u64_of(&value, &at.field("offset"), MAX_END)?,
            None => 0,
        };
        let size = u64_of(&object.need("size", at)?, &at.field("size"), MAX_END - offset)?;
        let access = access(&mut object, at)?;
        Ok((BufferUse { slice: Slice { allocation, offset, size }, access }, object.extra))
    }

    fn resource_use(
        &mut self,
        value: Value,
        at: &Place<'_>,
        _: usize,
    ) -> Result<(ResourceUse, Map<String, Value>), Diagnostic> {
        self.count_uses(at)?;
        let mut object = self.object(value, &RESOURCE_USE, at)?;
        let resource = u32_of(&object.need("resource", at)?, &at.field("resource"))?;
        if resource as usize >= self.resources.len() {
            return Err(Diagnostic::error(
                "PG010",
                at.field("resource").to_string(),
                format!("an index into the {} resources of the program", self.resources.len()),
            )
            .found(resource));
        }
        let access = access(&mut object, at)?;
        Ok((ResourceUse { resource, access }, object.extra))
    }

    fn count_uses(&mut self, at: &Place<'_>) -> Result<(), Diagnostic> {
        self.uses += 1;
        if self.uses > MAX_USES {
            return Err(Diagnostic::error("PG009", at.to_string(), format!("at most {MAX_USES} uses")));
        }
        Ok(())
    }

    /// The list in field `name`, which may be absent; what is to be kept of its items is kept.
    fn list<T>(
        &mut self,
        object: &mut Object,
        name: &str,
        at: &Place<'_>,
        mut item: impl FnMut(&mut Self, Value, &Place<'_>, usize) -> Result<(T, Map<String, Value>), Diagnostic>,
    ) -> Result<Vec<T>, Diagnostic> {
        let Some(value) = object.take(name) else { return Ok(Vec::new()) };
        let at = at.field(name);
        let mut items = Vec::new();
        let mut extras: Vec<Value> = Vec::new();
        for (index, value) in array(value, &at)?.into_iter().enumerate() {
            let (read, extra) = item(self, value, &at.item(index), index)?;
            items.push(read);
            if !extra.is_empty() {
                extras.resize(index, Map::new().into());
                extras.push(extra.into());
            }
        }
        object.keep(name, extras.into());
        Ok(items)
    }

    /// Takes an object apart; unknown fields are kept and warned about.
    fn object(&mut self, value: Value, known: &Fields, at: &Place<'_>) -> Result<Object, Diagnostic> {
        let Value::Object(all) = value else { return Err(wrong_type(&value, at, "an object")) };
        let mut object = Object { fields: Map::new(), extra: Map::new() };
        for (name, value) in all {
            if known.used.contains(&name.as_str()) {
                object.fields.insert(name, value);
                continue;
            }
            if !known.reserved.contains(&name.as_str()) && self.warnings.len() < MAX_WARNINGS {
                let place = at.field(&name).to_string();
                let warning =
                    Diagnostic::warning("PG007", place, format!("a known field of a {}", known.object))
                        .found(&name);
                self.warnings.push(match nearest(&name, known.known()) {
                    Some(meant) => warning.hint(format!("did you mean `{meant}`? It is kept, but not used.")),
                    None => warning.hint("it is kept, but not used"),
                });
            }
            object.extra.insert(name, value);
        }
        Ok(object)
    }
}

/// Allocations by ascending index, and what is kept of them in the same order.
fn in_order(
    allocations: Vec<Allocation>,
    extra: &mut Map<String, Value>,
) -> Result<Vec<Allocation>, Diagnostic> {
    if allocations.windows(2).all(|pair| pair[0].index < pair[1].index) {
        return Ok(allocations);
    }
    let mut order: Vec<usize> = (0..allocations.len()).collect();
    order.sort_unstable_by_key(|&place| (allocations[place].index, place));
    if let Some(pair) = order.windows(2).find(|pair| allocations[pair[0]].index == allocations[pair[1]].index)
    {
        let at = Place::Root.field("allocations").item(pair[1]).field("index").to_string();
        return Err(Diagnostic::error("PG011", at, "each index once").found(allocations[pair[1]].index));
    }
    if let Some(Value::Array(kept)) = extra.get_mut("allocations") {
        let mut old = std::mem::take(kept);
        old.resize(order.len(), Map::new().into());
        *kept = order.iter().map(|&place| old[place].take()).collect();
        while kept.last().is_some_and(|item| item.as_object().is_some_and(Map::is_empty)) {
            kept.pop();
        }
    }
    Ok(order.iter().map(|&place| allocations[place].clone()).collect())
}

fn bad_role(at: &Place<'_>, kind: Kind) -> Diagnostic {
    let expected = match kind {
        Kind::While => "cond or body",
        Kind::Conditional => "branch_0, branch_1, …",
        Kind::Call => "call",
        Kind::Other => "cond, body, call or branch_0, branch_1, …",
        _ => "no nested sequence",
    };
    Diagnostic::error("PG012", at.to_string(), format!("{expected} in a {kind} thunk"))
}

fn access(object: &mut Object, at: &Place<'_>) -> Result<Access, Diagnostic> {
    named(&object.need("access", at)?, &at.field("access"), ACCESSES)
}

/// One of the values in `table`, by its name.
fn named<T: Copy>(value: &Value, at: &Place<'_>, table: &[(&'static str, T)]) -> Result<T, Diagnostic> {
    let Value::String(text) = value else { return Err(wrong_type(value, at, "a text")) };
    if let Some(&(_, found)) = table.iter().find(|(name, _)| name == text) {
        return Ok(found);
    }
    let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    let error =
        Diagnostic::error("PG003", at.to_string(), format!("one of {}", names.join(", "))).found(text);
    Err(match nearest(text, names) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error,
    })
}

fn text_or_empty(value: Option<Value>, at: &Place<'_>) -> Result<String, Diagnostic> {
    match value {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong_type(&other, at, "a text")),
    }
}

fn flag(value: Option<Value>, at: &Place<'_>) -> Result<bool, Diagnostic> {
    match value {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(other) => Err(wrong_type(&other, at, "true or false")),
    }
}

fn array(value: Value, at: &Place<'_>) -> Result<Vec<Value>, Diagnostic> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(wrong_type(&other, at, "a list")),
    }
}

fn u32_of(value: &Value, at: &Place<'_>) -> Result<u32, Diagnostic> {
    // In range by the bound.
    u64_of(value, at, u64::from(u32::MAX)).map(|number| number as u32)
}

/// A whole number from 0 to `most`, as a JSON number or as decimal digits in a text.
fn u64_of(value: &Value, at: &Place<'_>, most: u64) -> Result<u64, Diagnostic> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        // Digits only: `parse` would take a sign as well.
        Value::String(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().ok()
        }
        Value::String(_) => None,
        other => return Err(wrong_type(other, at, "a whole number")),
    };
    number.filter(|&number| number <= most).ok_or_else(|| {
        Diagnostic::error("PG005", at.to_string(), format!("a whole number from 0 to {most}"))
            .found(json_text(value))
    })
}

fn wrong_type(value: &Value, at: &Place<'_>, expected: &str) -> Diagnostic {
    Diagnostic::error("PG004", at.to_string(), expected).found(kind_of(value))
}

/// What a JSON value is, for people.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
