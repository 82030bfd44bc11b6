//! DumpOp: builds one request to the dump kernel, and launches it (seed 003 "DumpOp Core Flow",
//! ge-dump spec §6). All room is taken when a configuration is latched.

use std::fmt;

use prost::Message;

use super::batch::{Batch, Header, QueueFull, bit};
use super::blacklist::Position;
use super::log::{Grade, Journal, KEYWORD, OVERFLOW_KEYWORD};
use super::message::{
    AddressType, ContextAddress, Input, OpIdentity, OpMappingInfo, Output, Shape, Space, Task, TaskContext,
    TaskType,
};
use super::model::{Model, Op, OpId, OpKind, Slot, Tensor};
use super::properties::Properties;
use super::record::{Phase, Scenario};
use super::selection::{Choice, Selection, Skip};
use super::summary::Counts;
use super::target::{Located, Target};
use super::value::Content;

/// Task and stream of an op with several contexts: they have none of their own.
pub(super) const NO_TASK: u32 = 65_535;

/// Room for dimensions, where a model does not show how many there will be.
const DIMS: usize = 32;

/// What is asked of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) op: OpId,
    pub(super) scenario: Scenario,
    pub(super) phase: Phase,
    pub(super) lane: u32,
    pub(super) device: u32,
    pub(super) step: u64,
    pub(super) time: u64,
}

/// One lane's room for requests.
#[derive(Debug)]
pub(super) struct DumpOp {
    mapping: OpMappingInfo,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    spaces: Vec<Space>,
    contexts: Vec<TaskContext>,
    /// Address and size of each part, in the order of the data.
    parts: Vec<(u64, u64)>,
    bytes: Vec<u8>,
}

impl DumpOp {
    /// Takes the room for any op of a model.
    pub(super) fn new(model: &Model) -> Self {
        let most = |count: fn(&Op) -> usize| model.ops.iter().map(count).max().unwrap_or(0);
        let tensors = || model.ops.iter().flat_map(Model::tensors).filter_map(|(_, tensor)| tensor);
        let dims = tensors().map(|t| t.shape.len()).max().unwrap_or(0).max(DIMS);
        let name = tensors().map(|t| t.original.name.len()).max().unwrap_or(0);
        let shape = || Some(Shape { dim: Vec::with_capacity(dims) });
        let input = || Input { shape: shape(), origin_shape: shape(), ..Input::default() };
        let output = || Output {
            shape: shape(),
            origin_shape: shape(),
            original_name: String::with_capacity(name),
            ..Output::default()
        };
        let (ins, outs) = (most(|op| op.inputs.len()), most(|op| op.outputs.len()));
        let (spaces, contexts) = (most(|op| op.workspace.len()), most(|op| op.contexts.len()));
        let context = || TaskContext {
            input: Vec::with_capacity(most(|op| {
                op.contexts.iter().map(|c| c.inputs.len()).max().unwrap_or(0)
            })),
            output: Vec::with_capacity(most(|op| {
                op.contexts.iter().map(|c| c.outputs.len()).max().unwrap_or(0)
            })),
            ..TaskContext::default()
        };
        let text = |bytes: usize| String::with_capacity(bytes);
        let task = Task {
            op: Some(OpIdentity {
                op_name: text(most(|op| op.name.len())),
                op_type: text(most(|op| op.op_type.len())),
            }),
            input: Vec::with_capacity(ins),
            output: Vec::with_capacity(outs),
            space: Vec::with_capacity(spaces),
            context: Vec::with_capacity(contexts),
            ..Task::default()
        };
        let parts = ins
            + outs
            + spaces
            + most(|op| op.contexts.iter().map(|c| c.inputs.len() + c.outputs.len()).sum());
        Self {
            mapping: OpMappingInfo { task: vec![task], ..OpMappingInfo::default() },
            inputs: (0..ins).map(|_| input()).collect(),
            outputs: (0..outs).map(|_| output()).collect(),
            spaces: vec![Space::default(); spaces],
            contexts: (0..contexts).map(|_| context()).collect(),
            parts: Vec::with_capacity(parts),
            // Generous: a tensor's message has at most 15 small fields and two shapes.
            bytes: Vec::with_capacity(1_024 + parts * (256 + 20 * dims + name)),
        }
    }

    /// What all requests of a configuration have in common. May allocate: an iteration has not begun.
    pub(super) fn latch(&mut self, properties: &Properties, model: &Model, single: bool, device: u32) {
        let directory = properties.directory().unwrap_or_default();
        self.mapping.dump_path = format!("{directory}/{device}/");
        self.mapping.flag = 1;
        self.mapping.dump_data = (properties.content == Content::Stats) as i32;
        self.mapping.model_name = (!single).then(|| record_name(properties, model).to_owned());
        self.mapping.model_id = (!single).then_some(model.id);
        self.mapping.dump_step = if single { String::new() } else { properties.steps.to_string() };
        // Fields that follow the model's name in the same room.
        self.bytes.reserve(self.mapping.encoded_len());
    }

    fn recycle(&mut self) {
        let task = &mut self.mapping.task[0];
        self.inputs.append(&mut task.input);
        self.outputs.append(&mut task.output);
        self.spaces.append(&mut task.space);
        for mut context in task.context.drain(..) {
            context.input.clear();
            context.output.clear();
            self.contexts.push(context);
        }
        self.parts.clear();
    }

    /// Builds the request for an op and stages it with its data. Counts what was and was not staged.
    ///
    /// Never fails for its caller: whatever goes wrong is counted and told, and the model goes on.
    #[expect(clippy::too_many_arguments, reason = "called in one place per path, with what it has at hand")]
    pub(super) fn dump<T: Target + ?Sized>(
        &mut self,
        ask: Ask,
        model: &Model,
        selection: &Selection,
        references: &References,
        target: &T,
        batch: &mut Batch,
        counts: &mut Counts,
        journal: &mut impl Journal,
    ) {
        let (Some(op), choice) = (model.op(ask.op), selection.op(ask.op)) else { return };
        self.recycle();
        self.build(ask, op, choice, references, model, target, counts);
        self.launch(ask, op, target, batch, counts, journal);
    }

    #[expect(clippy::too_many_arguments, reason = "see `dump`")]
    fn build<T: Target + ?Sized>(
        &mut self,
        ask: Ask,
        op: &Op,
        choice: &Choice,
        references: &References,
        model: &Model,
        target: &T,
        counts: &mut Counts,
    ) {
        let exception = ask.scenario == Scenario::Exception;
        let task = &mut self.mapping.task[0];
        let identity = task.op.get_or_insert_default();
        identity.op_name.clear();
        identity.op_name.push_str(&op.name);
        identity.op_type.clear();
        identity.op_type.push_str(&op.op_type);
        let several = !op.contexts.is_empty();
        task.task_id = if several { NO_TASK } else { op.at.node };
        task.stream_id = if several { NO_TASK } else { ask.lane };
        task.task_type = if several { TaskType::FftsPlus } else { TaskType::AiCore } as i32;
        for (index, tensor) in (0..).zip(&op.inputs) {
            if ask.phase == Phase::After {
                break;
            }
            let position = Position::Input(index);
            let skip = skip_of(choice.inputs[index as usize], exception, tensor.as_ref());
            let Some(mut input) = self.inputs.pop() else { break };
            match locate(ask.op, position, tensor.as_ref(), skip, references, model, target, &mut input.shape)
            {
                Ok((tensor, at, size)) => {
                    fill_shape(&mut input.origin_shape, &tensor.origin_shape);
                    input.data_type = tensor.dtype.number();
                    input.format = tensor.format.0 as i32;
                    input.address = at.address;
                    input.size = size;
                    input.addr_type = AddressType::Raw as i32;
                    // Which input it is: the message has no field for it, `offset` is not used by RAW.
                    input.offset = u64::from(index);
                    self.parts.push((at.address, size));
                    self.mapping.task[0].input.push(input);
                }
                Err(skip) => {
                    counts.skipped.add(skip, 1);
                    self.inputs.push(input);
                }
            }
        }
        for (index, tensor) in (0..).zip(&op.outputs) {
            if ask.phase == Phase::Before {
                break;
            }
            let position = Position::Output(index);
            let skip = skip_of(choice.outputs[index as usize], exception, tensor.as_ref());
            let Some(mut output) = self.outputs.pop() else { break };
            match locate(
                ask.op,
                position,
                tensor.as_ref(),
                skip,
                references,
                model,
                target,
                &mut output.shape,
            ) {
                Ok((tensor, at, size)) => {
                    fill_output(&mut output, tensor, at.address, size, index);
                    self.parts.push((at.address, size));
                    self.mapping.task[0].output.push(output);
                }
                Err(skip) => {
                    counts.skipped.add(skip, 1);
                    self.outputs.push(output);
                }
            }
        }
        if (choice.workspace || exception) && ask.phase == Phase::Whole {
            for space in &op.workspace {
                let at = space.slice.and_then(|slice| target.address(slice));
                let (Some(address), Some(mut message)) = (at, self.spaces.pop()) else { continue };
                (message.data_addr, message.size) = (address, space.size);
                self.parts.push((address, space.size));
                self.mapping.task[0].space.push(message);
            }
        }
        if several {
            self.contexts_of(op, target);
        }
    }

    /// One task per sub-op, one context per context and thread; the data is the contexts' (P-35).
    fn contexts_of<T: Target + ?Sized>(&mut self, op: &Op, target: &T) {
        let task = &mut self.mapping.task[0];
        let (with_inputs, with_outputs) = (!task.input.is_empty(), !task.output.is_empty());
        self.parts.clear();
        for context in &op.contexts {
            let Some(mut message) = self.contexts.pop() else { break };
            (message.context_id, message.thread_id) = (context.context_id, context.thread_id);
            for (wanted, slices, list) in [
                (with_inputs, &context.inputs, &mut message.input),
                (with_outputs, &context.outputs, &mut message.output),
            ] {
                for &slice in slices.iter().filter(|_| wanted) {
                    let address = target.address(slice).unwrap_or(0);
                    let size = if address == 0 { 0 } else { slice.size };
                    list.push(ContextAddress { address, size });
                    self.parts.push((address, size));
                }
            }
            task.context.push(message);
        }
    }

    fn launch<T: Target + ?Sized>(
        &mut self,
        ask: Ask,
        op: &Op,
        target: &T,
        batch: &mut Batch,
        counts: &mut Counts,
        journal: &mut impl Journal,
    ) {
        let task = &self.mapping.task[0];
        let tensors = match task.context.is_empty() {
            true => task.input.len() + task.output.len(),
            false => self.parts.len(),
        };
        if self.parts.is_empty() {
            return;
        }
        let Ask { scenario, phase, lane, device, step, time, .. } = ask;
        let header = Header { scenario, phase, lane, device, step, time, failed: 0 };
        self.bytes.clear();
        self.mapping.encode_raw(&mut self.bytes);
        let result = batch.push(header, &self.bytes, self.parts.iter().copied(), target);
        staged(result, op, &self.parts, tensors, counts, journal);
        if result.is_ok() {
            let overflow = scenario == Scenario::Overflow;
            let (keyword, grade) =
                if overflow { (OVERFLOW_KEYWORD, Grade::Warning) } else { (KEYWORD, Grade::Info) };
            let Op { name, op_type, at, .. } = op;
            journal.line(
                grade,
                format_args!(
                    "{keyword} {scenario} op `{name}` type {op_type} stream {lane} task {}: {}",
                    at.node,
                    Listed(task)
                ),
            );
        }
    }
}

/// Counts what became of a request; the first `tensors` of its parts are tensors.
pub(super) fn staged(
    result: Result<u64, QueueFull>,
    op: &Op,
    parts: &[(u64, u64)],
    tensors: usize,
    counts: &mut Counts,
    journal: &mut (impl Journal + ?Sized),
) {
    match result {
        Ok(failed) => {
            let mut lost = 0;
            for (index, (_, size)) in parts.iter().enumerate() {
                if failed & bit(index) == 0 {
                    counts.bytes = counts.bytes.saturating_add(*size);
                } else if index < tensors {
                    lost += 1;
                }
            }
            if failed != 0 {
                journal.line(
                    Grade::Warning,
                    format_args!("{KEYWORD} op `{}`: memory that could not be read is left out", op.name),
                );
                counts.skipped.add(Skip::CopyFailed, lost);
            }
            counts.ops_dumped += 1;
            counts.tensors += tensors as u64 - lost;
        }
        Err(QueueFull) => {
            if counts.skipped.of(Skip::QueueFull) == 0 {
                journal.line(
                    Grade::Warning,
                    format_args!(
                        "{KEYWORD} staging area full at op `{}`: dump fewer layers or steps, or with --dump-sync",
                        op.name
                    ),
                );
            }
            counts.skipped.add(Skip::QueueFull, tensors as u64);
        }
    }
}

/// The name that records carry: the one that is configured, om name first (T3).
pub(super) fn record_name<'a>(properties: &Properties, model: &'a Model) -> &'a str {
    use super::properties::ModelKey;
    let configured = |name: &&str| properties.models.contains_key(&ModelKey::Named((*name).to_owned()));
    model.names().each().find(configured).unwrap_or(&model.name)
}

/// An exception wants every tensor that is there, whatever the mode.
fn skip_of(skip: Option<Skip>, exception: bool, tensor: Option<&Tensor>) -> Option<Skip> {
    match skip {
        Some(Skip::ModeExcludes | Skip::Blacklisted) if exception => {
            if tensor.is_none() {
                Some(Skip::NullAddress)
            } else {
                None
            }
        }
        skip => skip,
    }
}

#[expect(clippy::too_many_arguments, reason = "one place for the rules of ge-dump spec §5.5")]
fn locate<'t, T: Target + ?Sized>(
    op: OpId,
    position: Position,
    tensor: Option<&'t Tensor>,
    skip: Option<Skip>,
    references: &References,
    model: &Model,
    target: &T,
    shape: &mut Option<Shape>,
) -> Result<(&'t Tensor, Located, u64), Skip> {
    if let Some(skip) = skip {
        return Err(skip);
    }
    let tensor = tensor.ok_or(Skip::NullAddress)?;
    let slot = Slot { op, position };
    let dims = &mut shape.get_or_insert_default().dim;
    dims.clear();
    if !target.shape(slot, tensor, dims) {
        return Err(Skip::ShapeUnknown);
    }
    let (at, size) = bytes_of(slot, tensor, dims, references, model, target)?;
    Ok((tensor, at, size))
}

/// Where the bytes of a tensor with these dimensions are, and how many, on either path (ge-dump spec
/// §5.5).
pub(super) fn bytes_of<T: Target + ?Sized>(
    slot: Slot,
    tensor: &Tensor,
    dims: &[u64],
    references: &References,
    model: &Model,
    target: &T,
) -> Result<(Located, u64), Skip> {
    if tensor.optional && Tensor::is_empty(dims) {
        return Err(Skip::EmptyShape);
    }
    let at = if tensor.reference.is_some() {
        // The address is another node's; shape, type and size stay this tensor's.
        let other = references.of(slot).ok_or(Skip::BadReference)?;
        let named = model.op(other.op).and_then(|op| op.tensor(other.position)).ok_or(Skip::BadReference)?;
        target.locate(other, named)
    } else {
        target.locate(slot, tensor)
    };
    if at.address == 0 {
        return Err(Skip::NullAddress);
    }
    let size = tensor.size(dims, at.room);
    if size > at.room {
        return Err(Skip::SizeMismatch);
    }
    Ok((at, size))
}

fn fill_shape(shape: &mut Option<Shape>, dims: &[u64]) {
    let dim = &mut shape.get_or_insert_default().dim;
    dim.clear();
    dim.extend_from_slice(dims);
}

pub(super) fn fill_output(output: &mut Output, tensor: &Tensor, address: u64, size: u64, index: u32) {
    fill_shape(&mut output.origin_shape, &tensor.origin_shape);
    output.data_type = tensor.dtype.number();
    output.format = tensor.format.0 as i32;
    output.address = address;
    output.size = size;
    output.addr_type = AddressType::Raw as i32;
    output.offset = u64::from(index);
    let original = &tensor.original;
    output.original_name.clear();
    output.original_name.push_str(&original.name);
    output.original_output_index = original.output_index.unwrap_or(0) as i32;
    output.original_output_data_type = original.dtype.map_or(0, |dtype| dtype.number());
    output.original_output_format = original.format.map_or(0, |format| format.0 as i32);
}

/// `in 0@0x10:4, out 0@0x20:8`, at most [`MAX_LISTED`] of them.
struct Listed<'a>(&'a Task);

/// Most tensors that a line names.
const MAX_LISTED: usize = 8;

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Task { input, output, .. } = self.0;
        let inputs = input.iter().map(|one| ("in", one.offset, one.address, one.size));
        let outputs = output.iter().map(|one| ("out", one.offset, one.address, one.size));
        for (n, (side, index, address, size)) in inputs.chain(outputs).take(MAX_LISTED).enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{side} {index}@{address:#x}:{size}")?;
        }
        let more = (input.len() + output.len()).saturating_sub(MAX_LISTED);
        if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

/// Where each `_datadump_ref` of a model leads.
#[derive(Clone, Debug, Default)]
pub(super) struct References(Vec<(Slot, Slot)>);

impl References {
    /// Resolves the references of a model by name; what names nothing is not in it.
    pub(super) fn new(model: &Model) -> Self {
        let by_name: std::collections::BTreeMap<&str, OpId> =
            (0..model.ops.len()).rev().map(|id| (model.ops[id].name.as_str(), id as OpId)).collect();
        let mut all = Vec::new();
        for (id, op) in (0..).zip(&model.ops) {
            for (position, tensor) in Model::tensors(op) {
                let Some(reference) = tensor.and_then(|tensor| tensor.reference.as_ref()) else { continue };
                let Some(&other) = by_name.get(reference.node.as_str()) else { continue };
                // A reference to a data op is to something without a task: it has a slice all the same.
                if model.ops[other as usize].kind != OpKind::NetOutput
                    && model.ops[other as usize].tensor(reference.position).is_some()
                {
                    all.push((Slot { op: id, position }, Slot { op: other, position: reference.position }));
                }
            }
        }
        all.sort_unstable();
        Self(all)
    }

    /// Where one leads.
    pub(super) fn of(&self, slot: Slot) -> Option<Slot> {
        self.0.binary_search_by_key(&slot, |(from, _)| *from).ok().map(|at| self.0[at].1)
    }
}
