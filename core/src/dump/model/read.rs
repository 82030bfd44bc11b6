//! From the kept fields of a program to ops.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::tensor::{Memory, Original, Reference, Tensor};
use super::{Context, Model, Op, OpKind, ReadModel, Role, ThunkRef, Workspace};
use crate::diagnostic::Diagnostic;
use crate::dump::types::{DataType, Format};
use crate::program::{Access, BufferUse, MAX_END, Program, Slice, Thunk};

/// Most warnings that are kept.
const MAX_WARNINGS: usize = 100;

/// Most arguments of one op in one direction, and most dimensions of one shape: an index beyond is
/// no place for a slot.
const MAX_SLOTS: u64 = 65_536;

pub(super) fn read(program: &Program) -> ReadModel {
    let mut reader = Reader { warnings: Vec::new(), memory: memories(program) };
    let text = |name: &str| program.extra.get(name).and_then(Value::as_str).map(str::to_owned);
    let sequences = program.sequences();
    let mut model = Model {
        id: 1,
        name: text("model_name").unwrap_or_else(|| program.name.clone()),
        om_name: text("om_name"),
        root_graph: text("root_graph"),
        dynamic: program.extra.get("mode").and_then(Value::as_str) == Some("dynamic"),
        ops: Vec::new(),
        thunks: Vec::with_capacity(sequences.len()),
        paths: sequences.iter().map(|(path, _)| path.to_string()).collect(),
        submodels: vec![None; sequences.len()],
    };
    let roots: BTreeSet<u64> = program
        .extra
        .get("submodels")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_u64).collect())
        .unwrap_or_default();
    for (index, (path, sequence)) in sequences.iter().enumerate() {
        if let Some(step) = path.steps().first()
            && roots.contains(&u64::from(step.thunk))
        {
            model.submodels[index] = Some(step.thunk);
        }
        reader.sequence(&mut model, index as u32, &path.to_string(), &sequence.thunks);
    }
    ReadModel { model, warnings: reader.warnings }
}

/// By allocation: where it is, where that is said.
fn memories(program: &Program) -> BTreeMap<u32, Memory> {
    let kept = program.extra.get("allocations").and_then(Value::as_array);
    let named = |value: &Value| match value.get("memory")?.as_str()? {
        "host" => Some(Memory::Host),
        "l1" => Some(Memory::L1),
        _ => Some(Memory::Device),
    };
    program
        .allocations
        .iter()
        .zip(kept.into_iter().flatten())
        .filter_map(|(allocation, extra)| Some((allocation.index, named(extra)?)))
        .collect()
}

struct Reader {
    warnings: Vec<Diagnostic>,
    memory: BTreeMap<u32, Memory>,
}

impl Reader {
    fn warn(&mut self, at: &str, expected: &str, found: &Value) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(
                Diagnostic::warning("DU020", at, expected).found(found).hint("this field was not used"),
            );
        }
    }

    fn sequence(&mut self, model: &mut Model, sequence: u32, path: &str, thunks: &[Thunk]) {
        let first = model.ops.len();
        let mut roles = Vec::with_capacity(thunks.len());
        let mut again = Vec::new();
        for (node, thunk) in thunks.iter().enumerate() {
            let at = format!("{path}/{node}");
            let attributes = thunk.extra.get("attributes").and_then(Value::as_object);
            let attribute = |name: &str| attributes.and_then(|all| all.get(name));
            let op_type = thunk.extra.get("op_type").and_then(Value::as_str);
            let sets = |name: &str| self.indices(thunk, name, thunks.len());
            let (shapes, addresses) = (sets("sets_shape"), sets("sets_address"));
            let sets_others = shapes.iter().chain(&addresses).any(|&other| other as usize != node);
            let sets_self = shapes.iter().chain(&addresses).any(|&other| other as usize == node);
            let launch_of =
                attribute("launch_of").and_then(Value::as_u64).filter(|&n| n < thunks.len() as u64);
            let role = if attribute("graph").and_then(Value::as_str) == Some("init") {
                Role::Init
            } else if matches!(op_type, Some("SendEvents" | "WaitEvents")) {
                Role::Event
            } else if let Some(other) = launch_of {
                again.push((node as u32, other as u32));
                Role::Helper
            } else if sets_others && !sets_self && op_type.is_none() && model.dynamic {
                Role::Helper
            } else {
                let id = model.ops.len() as u32;
                let place = ThunkRef { sequence, node: node as u32 };
                model.ops.push(self.op(thunk, place, &at));
                Role::Launch(id)
            };
            roles.push(role);
        }
        for (node, other) in again {
            if let Role::Launch(op) = roles[other as usize] {
                roles[node as usize] = Role::Again(op);
                model.ops[op as usize].launches.push(node);
            }
        }
        // Who sets what, by the thunk that is set.
        for (node, thunk) in thunks.iter().enumerate() {
            if roles[node] == Role::Init {
                continue;
            }
            for (name, is_shape) in [("sets_shape", true), ("sets_address", false)] {
                for target in self.indices(thunk, name, thunks.len()) {
                    if let Role::Launch(op) = roles[target as usize] {
                        let op = &mut model.ops[op as usize];
                        let setters = if is_shape { &mut op.shape_setters } else { &mut op.address_setters };
                        setters.push(node as u32);
                    }
                }
            }
        }
        debug_assert!(model.ops.len() >= first);
        model.thunks.push(roles);
    }

    fn indices(&self, thunk: &Thunk, name: &str, thunks: usize) -> Vec<u32> {
        let list = thunk.extra.get(name).and_then(Value::as_array);
        let all = list.into_iter().flatten().filter_map(Value::as_u64);
        all.filter(|&index| index < thunks as u64).map(|index| index as u32).collect()
    }

    fn op(&mut self, thunk: &Thunk, place: ThunkRef, at: &str) -> Op {
        let extra = &thunk.extra;
        let empty = Map::new();
        let attributes = extra.get("attributes").and_then(Value::as_object).unwrap_or(&empty);
        let op_type =
            extra.get("op_type").and_then(Value::as_str).unwrap_or_else(|| thunk.kind.name()).to_owned();
        let texts = |value: Option<&Value>| -> Vec<String> {
            let items = value.and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut original_names = texts(extra.get("original_names"));
        original_names.extend(texts(attributes.get("_datadump_original_op_names")));
        let kind = match op_type.as_str() {
            "Data" | "RefData" | "AippData" | "Const" | "Constant" | "Variable" => OpKind::Source,
            "NetOutput" => OpKind::NetOutput,
            _ if thunk.kind.is_control_flow() => OpKind::Control,
            _ if !thunk.nested.is_empty() => OpKind::OtherControl,
            _ => OpKind::Task,
        };
        let mut op = Op {
            name: if thunk.name.is_empty() {
                format!("{}_{}", thunk.kind, place.node)
            } else {
                thunk.name.clone()
            },
            collective: thunk.kind.is_collective() || op_type.starts_with("Hcom"),
            op_type,
            original_names,
            kind,
            inputs: Vec::new(),
            outputs: Vec::new(),
            workspace: self.workspace(extra.get("workspace"), at),
            contexts: Vec::new(),
            preprocess: attributes.get("preprocess").and_then(Value::as_bool) == Some(true),
            allowed: attributes.get("dumpable").and_then(Value::as_bool) != Some(false),
            at: place,
            shape_setters: Vec::new(),
            address_setters: Vec::new(),
            launches: Vec::new(),
            tiling: match extra.get("tiling") {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            },
            attributes: attributes
                .iter()
                .chain(extra.get("scalars").and_then(Value::as_object).into_iter().flatten())
                .map(|(name, value)| {
                    (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect(),
        };
        self.arguments(thunk, &mut op, at);
        self.tensor_attributes(attributes, &mut op, at);
        self.contexts(extra.get("contexts"), attributes, &mut op, at);
        op
    }

    fn workspace(&mut self, value: Option<&Value>, at: &str) -> Vec<Workspace> {
        match value {
            None => Vec::new(),
            Some(Value::Array(items)) => items.iter().filter_map(|item| self.space(item, at)).collect(),
            Some(one) => self.space(one, at).into_iter().collect(),
        }
    }

    fn space(&mut self, value: &Value, at: &str) -> Option<Workspace> {
        if let Some(size) = whole(value) {
            return Some(Workspace { slice: None, size });
        }
        match slice_of(value) {
            Some(slice) => Some(Workspace { slice: Some(slice), size: slice.size }),
            None => {
                self.warn(&format!("{at}.workspace"), "bytes, or a slice", value);
                None
            }
        }
    }

    fn arguments(&mut self, thunk: &Thunk, op: &mut Op, at: &str) {
        let kept = thunk.extra.get("uses").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let (mut next_input, mut next_output) = (0u64, 0u64);
        for (index, used) in thunk.uses.iter().enumerate() {
            let extra = kept.get(index).and_then(Value::as_object);
            let field = |name: &str| extra.and_then(|fields| fields.get(name));
            let at = format!("{at}.uses[{index}]");
            let (explicit_in, explicit_out) =
                (field("input").and_then(whole), field("output").and_then(whole));
            let tensor = self.tensor(used, field, &at);
            for (explicit, is_input) in [(explicit_in, true), (explicit_out, false)] {
                let default = explicit_in.is_none()
                    && explicit_out.is_none()
                    && (used.access == Access::Read) == is_input;
                if explicit.is_none() && !default {
                    continue;
                }
                let (list, next) = if is_input {
                    (&mut op.inputs, &mut next_input)
                } else {
                    (&mut op.outputs, &mut next_output)
                };
                let slot = explicit.unwrap_or(*next);
                if slot >= MAX_SLOTS {
                    let found = Value::from(slot);
                    self.warn(&at, "an argument index below 65536", &found);
                    continue;
                }
                *next = (*next).max(slot + 1);
                let slot = slot as usize;
                if list.len() <= slot {
                    list.resize(slot + 1, None);
                }
                list[slot] = Some(tensor.clone());
            }
        }
    }

    fn tensor<'v>(
        &mut self,
        used: &BufferUse,
        field: impl Fn(&str) -> Option<&'v Value>,
        at: &str,
    ) -> Tensor {
        let slice = used.slice;
        let memory = self.memory.get(&slice.allocation).copied().unwrap_or_default();
        let mut tensor = Tensor { slice: Some(slice), memory, ..Tensor::default() };
        tensor.optional = field("optional").and_then(Value::as_bool) == Some(true);
        if let Some(value) = field("format") {
            match value.as_str().and_then(Format::from_name) {
                Some(format) => tensor.format = format,
                None => self.warn(&format!("{at}.format"), "a format such as ND or NC1HWC0", value),
            }
        }
        let dtype = field("dtype").and_then(|value| {
            let dtype = value.as_str().and_then(DataType::from_name);
            if dtype.is_none() {
                self.warn(&format!("{at}.dtype"), "a data type such as FLOAT or f32", value);
            }
            dtype
        });
        let shape = field("shape").and_then(|value| {
            let items = value.as_array().filter(|items| items.len() as u64 <= MAX_SLOTS);
            // -1 and "?" stand for a dimension that is known only at run time.
            let unknown = items.is_some_and(|items| items.iter().any(|dim| dim.as_i64() == Some(-1)));
            tensor.shape_unknown = unknown;
            let shape = items.and_then(|items| items.iter().map(whole).collect::<Option<Vec<u64>>>());
            if shape.is_none() && !unknown {
                self.warn(&format!("{at}.shape"), "a list of whole numbers", value);
            }
            shape
        });
        match (dtype, shape) {
            (Some(dtype), Some(shape)) => {
                tensor.dtype = dtype;
                tensor.shape = shape;
            }
            // Half of it is not enough to divide the bytes; a vector of what is known will do.
            (Some(dtype), None) if dtype.bits() >= 8 => {
                tensor.dtype = dtype;
                tensor.shape = vec![slice.size / (dtype.bits() / 8)];
            }
            _ => {
                tensor.dtype = DataType::Uint8;
                tensor.shape = vec![slice.size];
            }
        }
        tensor.origin_shape.clone_from(&tensor.shape);
        tensor
    }

    /// Attributes that are said of single tensors: `{"output:0": value}`.
    fn tensor_attributes(&mut self, attributes: &Map<String, Value>, op: &mut Op, at: &str) {
        const NAMES: [&str; 6] = [
            "_datadump_ref",
            "_datadump_origin_name",
            "_datadump_origin_output_index",
            "_datadump_origin_data_type",
            "_datadump_origin_format",
            "_aipp_original_size",
        ];
        for name in NAMES {
            let Some(value) = attributes.get(name) else { continue };
            let Some(all) = value.as_object() else {
                self.warn(&format!("{at}.attributes.{name}"), "an object such as {\"output:0\": …}", value);
                continue;
            };
            for (place, value) in all {
                let at = format!("{at}.attributes.{name}.{place}");
                let tensor = place.split_once(':').and_then(|(kind, index)| {
                    let index: usize = index.parse().ok()?;
                    match kind {
                        "input" => op.inputs.get_mut(index)?.as_mut(),
                        "output" => op.outputs.get_mut(index)?.as_mut(),
                        _ => None,
                    }
                });
                let Some(tensor) = tensor else {
                    self.warn(&at, "an argument that is there, such as input:0", value);
                    continue;
                };
                if !set_attribute(tensor, name, value) {
                    tensor.bad_reference |= name == "_datadump_ref";
                    self.warn(&at, "a value of the attribute's form", value);
                }
            }
        }
    }

    fn contexts(&mut self, value: Option<&Value>, attributes: &Map<String, Value>, op: &mut Op, at: &str) {
        let Some(items) = value.and_then(Value::as_array) else { return };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let number = |name: &str| item.get(name).and_then(whole).and_then(|n| u32::try_from(n).ok());
            let slices = |name: &str| -> Vec<Slice> {
                item.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(slice_of).collect()
            };
            let at = format!("{at}.contexts[{index}]");
            let context = Context {
                context_id: number("context_id").unwrap_or(index as u32),
                thread_id: number("thread_id").unwrap_or(index as u32),
                inputs: slices("inputs"),
                outputs: slices("outputs"),
            };
            // T29: two contexts cannot work on one slice of the data.
            if !seen.insert(context.thread_id) {
                self.warn(&at, "a thread_id of its own", item);
                continue;
            }
            op.contexts.push(context);
        }
        self.slice_sizes(attributes, op, at);
    }

    /// `_ffts_slice`: `[thread][tensor][dim]{lower, higher}`, inputs first. Sizes of contexts whose
    /// slices do not say.
    fn slice_sizes(&mut self, attributes: &Map<String, Value>, op: &mut Op, at: &str) {
        let Some(text) = attributes.get("_ffts_slice") else { return };
        let parsed = text.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(threads) = parsed.as_ref().unwrap_or(text).as_array() else {
            return self.warn(
                &format!("{at}.attributes._ffts_slice"),
                "lists of threads, tensors, dimensions",
                text,
            );
        };
        for context in &mut op.contexts {
            let Some(tensors) = threads.get(context.thread_id as usize).and_then(Value::as_array) else {
                continue;
            };
            let kinds =
                op.inputs.iter().chain(&op.outputs).map(|t| t.as_ref().map_or(DataType::Uint8, |t| t.dtype));
            let mut sizes = tensors.iter().zip(kinds).map(|(dims, dtype)| slice_bytes(dims, dtype));
            for slice in context.inputs.iter_mut().chain(&mut context.outputs) {
                if let Some(Some(size)) = sizes.next() {
                    slice.size = size.min(MAX_END);
                }
            }
        }
    }
}

/// Product over dimensions of higher − lower, times the size of an element.
fn slice_bytes(dims: &Value, dtype: DataType) -> Option<u64> {
    let mut elements = 1u64;
    for dim in dims.as_array()? {
        let (lower, higher) = (whole(dim.get("lower")?)?, whole(dim.get("higher")?)?);
        elements = elements.checked_mul(higher.checked_sub(lower)?)?;
    }
    dtype.bytes(elements)
}

fn set_attribute(tensor: &mut Tensor, name: &str, value: &Value) -> bool {
    let text = value.as_str();
    match name {
        "_datadump_ref" => {
            tensor.reference = text.and_then(Reference::parse);
            tensor.reference.is_some()
        }
        "_datadump_origin_name" => text.is_some_and(|text| {
            tensor.original = Original { name: text.to_owned(), ..std::mem::take(&mut tensor.original) };
            true
        }),
        "_datadump_origin_output_index" => {
            tensor.original.output_index = whole(value).and_then(|n| u32::try_from(n).ok());
            tensor.original.output_index.is_some()
        }
        "_datadump_origin_data_type" => {
            tensor.original.dtype = text.and_then(DataType::from_name);
            tensor.original.dtype.is_some()
        }
        "_datadump_origin_format" => {
            tensor.original.format = text.and_then(Format::from_name);
            tensor.original.format.is_some()
        }
        _ => {
            tensor.size_attribute = whole(value);
            tensor.size_attribute.is_some()
        }
    }
}

/// A whole number, or its decimal digits.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            text.parse().ok()
        }
        _ => None,
    }
}

fn slice_of(value: &Value) -> Option<Slice> {
    let number = |name: &str| value.get(name).and_then(whole);
    let allocation = u32::try_from(number("allocation")?).ok()?;
    let (offset, size) = (number("offset").unwrap_or(0), number("size")?);
    let fits = offset.checked_add(size).is_some_and(|end| end <= MAX_END);
    if fits { Some(Slice::new(allocation, offset, size)) } else { None }
}
