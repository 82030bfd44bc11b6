//! The static path: all requests of a model are made when it is loaded, and the device dumps by
//! itself whenever a task ends (seed 003 "Static Graph", ge-dump spec §4).

use std::collections::BTreeMap;

use prost::Message;

use super::blacklist::Position;
use super::log::{Grade, Journal, KEYWORD};
use super::message::{
    AddressType, Attribute, Buffer, ContextAddress, Input, OpIdentity, OpMappingInfo, Output, Shape, Space,
    Task, TaskContext, TaskType,
};
use super::model::{Memory, Model, Op, OpId, OpKind, Slot, Tensor};
use super::overflow;
use super::properties::Properties;
use super::record::Phase;
use super::request::{NO_TASK, References, bytes_of, fill_output, record_name};
use super::selection::{Selection, Skip};
use super::summary::Skips;
use super::target::Target;
use super::value::{Content, Mode};

/// Bytes of the on-chip fusion buffer that a dumped model reserves.
pub const L1_BUFFER: u64 = 2 << 20;

/// Name of the record that ends an iteration.
pub const END_GRAPH: &str = "Node_EndGraph";

/// Attribute of a task that tells which moment of a collective it is.
pub(super) const PHASE: &str = "phase";

/// Where a static model stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Load {
    /// Never loaded.
    #[default]
    Never,
    /// The device has its tasks.
    Loaded,
    /// It had.
    Unloaded,
}

/// What is loaded of one static model, or one static submodel.
#[derive(Debug, Default)]
pub struct DataDumper {
    state: Load,
    model_id: u32,
    /// Task and stream of everything that was loaded, those of contexts as well (T24).
    loaded: Vec<(u32, u32)>,
}

/// The parts of one load.
pub(super) struct LoadContext<'a, T: ?Sized> {
    pub(super) model: &'a Model,
    pub(super) properties: &'a Properties,
    pub(super) selection: &'a Selection,
    pub(super) references: &'a References,
    pub(super) target: &'a T,
    pub(super) device: u32,
    /// Address of the fusion buffer; 0 if there is none.
    pub(super) l1: u64,
    /// `None`: the model itself; else this static submodel of it.
    pub(super) submodel: Option<u32>,
}

// By hand: a derive would ask it of the target as well.
impl<T: ?Sized> Clone for LoadContext<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for LoadContext<'_, T> {}

impl DataDumper {
    /// Where it stands.
    pub fn state(&self) -> Load {
        self.state
    }

    /// The message that loads the model's tasks; `None` if there is nothing to load or they are
    /// loaded already. Filters are evaluated anew every time (P-16).
    pub(super) fn load<T: Target + ?Sized>(
        &mut self,
        context: LoadContext<'_, T>,
        skips: &mut Skips,
        journal: &mut impl Journal,
    ) -> Option<Vec<u8>> {
        if self.state == Load::Loaded {
            journal.line(Grade::Warning, format_args!("{KEYWORD} load: the model is loaded already"));
            return None;
        }
        let mapping = mapping(context, skips)?;
        self.model_id = mapping.model_id.unwrap_or(0);
        self.loaded = mapping.task.iter().map(|task| (task.task_id, task.stream_id)).collect();
        self.state = Load::Loaded;
        journal.line(
            Grade::Info,
            format_args!("{KEYWORD} load: model {} with {} tasks", self.model_id, self.loaded.len()),
        );
        Some(mapping.encode_to_vec())
    }

    /// The message that takes them away again; `None` if they are not loaded.
    pub(super) fn unload(&mut self, journal: &mut impl Journal) -> Option<Vec<u8>> {
        if self.state != Load::Loaded {
            return None;
        }
        self.state = Load::Unloaded;
        journal.line(Grade::Info, format_args!("{KEYWORD} unload: model {}", self.model_id));
        let task = |&(task_id, stream_id): &(u32, u32)| Task { task_id, stream_id, ..Task::default() };
        let mapping = OpMappingInfo {
            model_id: Some(self.model_id),
            flag: 0,
            task: self.loaded.iter().map(task).collect(),
            ..OpMappingInfo::default()
        };
        self.loaded.clear();
        Some(mapping.encode_to_vec())
    }
}

/// The number that a static submodel's records carry.
pub(super) fn model_id(model: &Model, submodel: Option<u32>) -> u32 {
    submodel.map_or(model.id, |index| model.id.saturating_add(1).saturating_add(index))
}

/// The whole load message; `None` if no op of it is dumped.
fn mapping<T: Target + ?Sized>(context: LoadContext<'_, T>, skips: &mut Skips) -> Option<OpMappingInfo> {
    let LoadContext { model, properties, selection, device, submodel, .. } = context;
    let mut tasks = Vec::new();
    let consumers = consumers(model);
    for (id, op) in (0..).zip(&model.ops) {
        if model.submodels.get(op.at.sequence as usize).copied().flatten() != submodel {
            continue;
        }
        let choice = selection.op(id);
        if choice.skip.is_none() {
            tasks.extend(op_tasks(context, id, op, skips));
        }
        if op.kind == OpKind::Source && choice.wanted {
            tasks.extend(source_task(context, op, &consumers));
        }
        for &watched in &choice.watched {
            tasks.extend(watcher_task(context, op, watched, skips));
        }
    }
    let overflow = properties.overflow.is_some();
    if tasks.is_empty() && !overflow {
        return None;
    }
    let last = model.ops.last().map_or(0, |op| op.at.node);
    let named =
        |name: &str, kind: &str| Some(OpIdentity { op_name: name.to_owned(), op_type: kind.to_owned() });
    if overflow {
        tasks.push(Task {
            task_id: u32::MAX,
            op: named(overflow::OP_NAME, overflow::OP_TYPE),
            task_type: TaskType::Debug as i32,
            output: vec![Output {
                data_type: super::types::DataType::Uint8.number(),
                format: 2,
                shape: Some(Shape { dim: vec![overflow::RECORD_SIZE as u64] }),
                size: overflow::RECORD_SIZE as u64,
                addr_type: AddressType::Traditional as i32,
                ..Output::default()
            }],
            ..Task::default()
        });
    }
    tasks.push(Task {
        task_id: last + 1,
        op: named(END_GRAPH, "EndGraph"),
        end_graph: true,
        ..Task::default()
    });
    let directory = properties.directory().unwrap_or_default();
    Some(OpMappingInfo {
        dump_path: format!("{directory}/{device}/"),
        model_name: Some(record_name(properties, model).to_owned()),
        model_id: Some(model_id(model, submodel)),
        flag: 1,
        task: tasks,
        dump_step: properties.steps.to_string(),
        dump_data: (properties.content == Content::Stats) as i32,
        ..OpMappingInfo::default()
    })
}

fn identity(op: &Op) -> Option<OpIdentity> {
    Some(OpIdentity { op_name: op.name.clone(), op_type: op.op_type.clone() })
}

/// The tasks of one op: one, or two around a collective whose address is not redirected (P-21).
fn op_tasks<T: Target + ?Sized>(
    context: LoadContext<'_, T>,
    id: OpId,
    op: &Op,
    skips: &mut Skips,
) -> Vec<Task> {
    let LoadContext { selection, target, l1, properties, .. } = context;
    let choice = selection.op(id);
    let mut task = Task {
        task_id: op.at.node,
        stream_id: op.at.sequence,
        op: identity(op),
        task_type: if op.contexts.is_empty() { TaskType::AiCore } else { TaskType::FftsPlus } as i32,
        ..Task::default()
    };
    let mut on_chip = false;
    for (position, tensor) in Model::tensors(op) {
        let skip = match position {
            Position::Input(n) => choice.inputs[n as usize],
            Position::Output(n) => choice.outputs[n as usize],
        };
        // Nobody asked for the other direction: no buffer for it either.
        on_chip |= skip == Some(Skip::L1Memory) && tensor.is_some_and(|t| t.memory == Memory::L1);
        match place(context, Slot { op: id, position }, tensor, skip) {
            Ok((tensor, address, size)) => match position {
                Position::Input(n) => task.input.push(input(tensor, address, size, n)),
                Position::Output(n) => {
                    let mut output = Output { shape: shape(&tensor.shape), ..Output::default() };
                    fill_output(&mut output, tensor, address, size, n);
                    task.output.push(output);
                }
            },
            Err(skip) => skips.add(skip, 1),
        }
    }
    if on_chip {
        // Once per op is enough (ge-dump spec §4.4).
        task.buffer.push(Buffer { buffer_type: 0, address: l1, size: L1_BUFFER });
    }
    if choice.workspace {
        for space in &op.workspace {
            if let Some(address) = space.slice.and_then(|slice| target.address(slice)) {
                task.space.push(Space { space_type: 0, data_addr: address, size: space.size });
            }
        }
    }
    if !op.contexts.is_empty() {
        (task.task_id, task.stream_id) = (NO_TASK, NO_TASK);
        (task.context_id, task.thread_id) = (op.at.node, op.at.sequence);
        task.context = contexts(op, &task, target);
    }
    let redirected = op.inputs.iter().chain(&op.outputs).flatten().any(|tensor| tensor.reference.is_some());
    if !op.collective || redirected || properties.overflow.is_some() {
        return vec![task];
    }
    let phase = |phase: Phase| Attribute { name: PHASE.to_owned(), value: phase.name().to_owned() };
    let before =
        Task { output: Vec::new(), space: Vec::new(), attr: vec![phase(Phase::Before)], ..task.clone() };
    let after = Task { input: Vec::new(), attr: vec![phase(Phase::After)], ..task };
    [before, after].into_iter().filter(|task| !task.input.is_empty() || !task.output.is_empty()).collect()
}

fn contexts<T: Target + ?Sized>(op: &Op, task: &Task, target: &T) -> Vec<TaskContext> {
    let addresses = |slices: &[crate::program::Slice], wanted: bool| -> Vec<ContextAddress> {
        let one = |&slice: &crate::program::Slice| match target.address(slice) {
            Some(address) => ContextAddress { address, size: slice.size },
            None => ContextAddress::default(),
        };
        if wanted { slices.iter().map(one).collect() } else { Vec::new() }
    };
    op.contexts
        .iter()
        .map(|context| TaskContext {
            context_id: context.context_id,
            thread_id: context.thread_id,
            input: addresses(&context.inputs, !task.input.is_empty()),
            output: addresses(&context.outputs, !task.output.is_empty()),
        })
        .collect()
}

fn shape(dims: &[u64]) -> Option<Shape> {
    Some(Shape { dim: dims.to_vec() })
}

fn input(tensor: &Tensor, address: u64, size: u64, index: u32) -> Input {
    Input {
        data_type: tensor.dtype.number(),
        format: tensor.format.0 as i32,
        shape: shape(&tensor.shape),
        address,
        size,
        origin_shape: shape(&tensor.origin_shape),
        addr_type: AddressType::Raw as i32,
        offset: u64::from(index),
    }
}

/// Address and size of a tensor that is dumped, or why it is not.
fn place<'t, T: Target + ?Sized>(
    context: LoadContext<'_, T>,
    slot: Slot,
    tensor: Option<&'t Tensor>,
    skip: Option<Skip>,
) -> Result<(&'t Tensor, u64, u64), Skip> {
    if let Some(skip) = skip {
        return Err(skip);
    }
    let LoadContext { model, references, target, .. } = context;
    let tensor = tensor.ok_or(Skip::NullAddress)?;
    let (at, size) = bytes_of(slot, tensor, &tensor.shape, references, model, target)?;
    Ok((tensor, at.address, size))
}

/// By the allocation and offset of what an op reads: the first op that reads it, and which input.
fn consumers(model: &Model) -> BTreeMap<(u32, u64), (OpId, u32)> {
    let mut first = BTreeMap::new();
    for (id, op) in (0..).zip(&model.ops).filter(|(_, op)| op.kind == OpKind::Task) {
        for (index, tensor) in (0..).zip(&op.inputs) {
            if let Some(slice) = tensor.as_ref().and_then(|tensor| tensor.slice) {
                first.entry((slice.allocation, slice.offset)).or_insert((id, index));
            }
        }
    }
    first
}

/// A source has no task: it is dumped with its consumer's, at the address of the consumer's input (T4).
fn source_task<T: Target + ?Sized>(
    context: LoadContext<'_, T>,
    op: &Op,
    consumers: &BTreeMap<(u32, u64), (OpId, u32)>,
) -> Option<Task> {
    let LoadContext { model, target, .. } = context;
    let source = op.outputs.first()?.as_ref()?;
    let slice = source.slice?;
    let &(consumer, index) = consumers.get(&(slice.allocation, slice.offset))?;
    let consumer_op = model.op(consumer)?;
    let position = Position::Input(index);
    let read = consumer_op.tensor(position)?;
    if read.memory == Memory::L1 {
        return None;
    }
    let at = target.locate(Slot { op: consumer, position }, read);
    let size = source.size(&source.shape, at.room);
    if at.address == 0 || size > at.room {
        return None;
    }
    let mut output = Output { shape: shape(&source.shape), ..Output::default() };
    fill_output(&mut output, source, at.address, size, 0);
    Some(Task {
        task_id: consumer_op.at.node,
        stream_id: consumer_op.at.sequence,
        op: identity(op),
        output: vec![output],
        ..Task::default()
    })
}

/// After a layer op the outputs of a watched node are dumped once more, as `<layer>_To_<watched>`.
fn watcher_task<T: Target + ?Sized>(
    context: LoadContext<'_, T>,
    layer: &Op,
    watched: OpId,
    skips: &mut Skips,
) -> Option<Task> {
    let node = context.model.op(watched)?;
    let mut task = Task {
        task_id: layer.at.node,
        stream_id: layer.at.sequence,
        op: Some(OpIdentity {
            op_name: format!("{}_To_{}", layer.name, node.name),
            op_type: node.op_type.clone(),
        }),
        ..Task::default()
    };
    debug_assert_eq!(context.properties.mode, Mode::Output, "the watcher watches outputs");
    for (index, tensor) in (0..).zip(&node.outputs) {
        let position = Position::Output(index);
        let skip = context.selection.op(watched).outputs[index as usize];
        match place(context, Slot { op: watched, position }, tensor.as_ref(), skip) {
            Ok((tensor, address, size)) => {
                let mut output = Output { shape: shape(&tensor.shape), ..Output::default() };
                fill_output(&mut output, tensor, address, size, index);
                task.output.push(output);
            }
            Err(skip) => skips.add(skip, 1),
        }
    }
    if task.output.is_empty() { None } else { Some(task) }
}
