//! The device's side of the static path: what it was told to dump, by task (ge-dump spec §4.5, §4.6).

use std::collections::BTreeMap;

use prost::Message;

use super::data_dumper::PHASE;
use super::message::{OpMappingInfo, Task};
use super::model::ThunkRef;
use super::overflow;
use super::record::Phase;
use super::request::NO_TASK;
use super::step::Steps;

/// A request that waits for its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) phase: Phase,
    /// The load message with this task alone.
    pub(super) request: Vec<u8>,
    /// Address and size of each part.
    pub(super) parts: Vec<(u64, u64)>,
    /// How many of them are tensors.
    pub(super) tensors: usize,
}

/// What was loaded of one model.
#[derive(Clone, Debug, Default)]
struct Loaded {
    steps: Steps,
    tasks: BTreeMap<ThunkRef, Vec<Waiting>>,
    /// The request for the overflow record.
    debug: Option<Vec<u8>>,
}

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// It cannot be decoded.
    NoMessage,
    /// That model is loaded already.
    LoadedTwice,
    /// That model is not loaded.
    NotLoaded,
}

/// The device.
#[derive(Clone, Debug, Default)]
pub struct DumpKernel {
    models: BTreeMap<u32, Loaded>,
}

impl DumpKernel {
    /// Takes a load or unload message.
    ///
    /// # Errors
    /// [`Refused`]: loads and unloads of a model alternate (invariant 6).
    pub fn accept(&mut self, message: &[u8]) -> Result<(), Refused> {
        let mapping = OpMappingInfo::decode(message).map_err(|_| Refused::NoMessage)?;
        let id = mapping.model_id.unwrap_or(0);
        if mapping.flag == 0 {
            return self.models.remove(&id).map(drop).ok_or(Refused::NotLoaded);
        }
        if self.models.contains_key(&id) {
            return Err(Refused::LoadedTwice);
        }
        let mut loaded =
            Loaded { steps: Steps::parse(&mapping.dump_step).unwrap_or_default(), ..Loaded::default() };
        let head = OpMappingInfo { task: Vec::new(), ..mapping };
        for task in OpMappingInfo::decode(message).map_err(|_| Refused::NoMessage)?.task {
            // Of a load's tasks, the end of the graph dumps nothing.
            if task.end_graph {
                continue;
            }
            let debug = task.op.as_ref().is_some_and(|op| op.op_type == overflow::OP_TYPE);
            let at = match (task.task_id, task.stream_id) {
                // Contexts have no task of their own: where they belong is said beside them.
                (NO_TASK, NO_TASK) => ThunkRef { sequence: task.thread_id, node: task.context_id },
                (node, sequence) => ThunkRef { sequence, node },
            };
            let waiting = waiting(&head, task);
            if debug {
                loaded.debug = Some(waiting.request);
            } else {
                loaded.tasks.entry(at).or_default().push(waiting);
            }
        }
        self.models.insert(id, loaded);
        Ok(())
    }

    /// What is loaded for a task of a model, if its step filter lets this step through.
    #[inline]
    pub(super) fn waiting(&self, model: u32, thunk: ThunkRef, step: u64) -> &[Waiting] {
        match self.models.get(&model) {
            Some(loaded) if loaded.steps.contains(step) => {
                loaded.tasks.get(&thunk).map_or(&[], Vec::as_slice)
            }
            _ => &[],
        }
    }

    /// The request for a model's overflow record.
    pub(super) fn debug(&self, model: u32) -> Option<&[u8]> {
        self.models.get(&model)?.debug.as_deref()
    }

    /// Models that are loaded.
    pub fn loaded(&self) -> impl Iterator<Item = u32> {
        self.models.keys().copied()
    }

    /// Bytes that the largest record of what is loaded needs in a staging area.
    pub(super) fn largest(&self) -> u64 {
        let bytes = |waiting: &Waiting| {
            waiting
                .parts
                .iter()
                .fold(waiting.request.len() as u64 + 64, |sum, (_, size)| sum.saturating_add(*size))
        };
        self.models.values().flat_map(|loaded| loaded.tasks.values().flatten()).map(bytes).max().unwrap_or(0)
    }
}

fn waiting(head: &OpMappingInfo, mut task: Task) -> Waiting {
    let phase = task.attr.iter().find(|attr| attr.name == PHASE);
    let phase = phase.and_then(|attr| Phase::from_name(&attr.value)).unwrap_or(Phase::Whole);
    task.attr.retain(|attr| attr.name != PHASE);
    let mut parts: Vec<(u64, u64)> = Vec::new();
    if task.context.is_empty() {
        parts.extend(task.input.iter().map(|one| (one.address, one.size)));
        parts.extend(task.output.iter().map(|one| (one.address, one.size)));
    } else {
        for context in &task.context {
            parts.extend(context.input.iter().chain(&context.output).map(|one| (one.address, one.size)));
        }
    }
    let tensors = parts.len();
    parts.extend(task.buffer.iter().filter(|one| one.address != 0).map(|one| (one.address, one.size)));
    parts.extend(task.space.iter().map(|one| (one.data_addr, one.size)));
    let request = OpMappingInfo { task: vec![task], ..head.clone() }.encode_to_vec();
    Waiting { phase, request, parts, tensors }
}

/// The iteration as the device computes it from its cells (ge-dump spec §4.6).
pub fn device_step(step: u64, iterations_per_loop: u64, loop_cond: u64) -> u64 {
    step.saturating_mul(iterations_per_loop.saturating_add(1)).saturating_add(loop_cond)
}
