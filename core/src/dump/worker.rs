//! The back half of the dump kernel: decodes what was staged and hands records to a sink.

use prost::Message;

use super::batch::{Batch, Header, bit};
use super::log::{Grade, Journal, KEYWORD};
use super::message::{Attribute, Input, OpMappingInfo, Output, Task};
use super::record::{Identity, Part, Payload, Record, Scenario};
use super::selection::Skip;
use super::sink::DumpSink;
use super::step::Steps;
use super::summary::Skips;
use super::types::{DataType, Format};

/// Writes everything that a batch holds and empties it. Gives the tensors that were lost.
///
/// Runs wherever it does not hold up the program: it allocates, and the sink may wait for a disk.
pub fn drain(batch: &mut Batch, sink: &mut dyn DumpSink, journal: &mut dyn Journal) -> Skips {
    let mut skips = Skips::default();
    for (header, request, data) in batch.entries() {
        let mapping = match OpMappingInfo::decode(request) {
            Ok(mapping) => mapping,
            Err(error) => {
                journal.line(
                    Grade::Error,
                    format_args!("{KEYWORD} a request could not be read and was dropped: {error}"),
                );
                skips.add(Skip::WriteFailed, 1);
                continue;
            }
        };
        // As the device does: the step is looked at once more, in the request itself.
        let steps = Steps::parse(&mapping.dump_step).unwrap_or_default();
        let data_scenario = header.scenario == Scenario::Normal;
        if data_scenario && mapping.model_id.is_some() && !steps.contains(header.step) {
            skips.add(Skip::StepMismatch, 1);
            continue;
        }
        for task in mapping.task.iter().filter(|task| !task.end_graph) {
            for record in records(&header, &mapping, task, data) {
                let tensors = record.payloads.len() as u64;
                if sink.put(&record, journal).is_err() {
                    skips.add(Skip::WriteFailed, tensors);
                }
            }
        }
    }
    batch.clear();
    skips
}

fn records<'a>(header: &Header, mapping: &OpMappingInfo, task: &Task, data: &'a [u8]) -> Vec<Record<'a>> {
    let exception = header.scenario == Scenario::Exception;
    let mut parts = Parts { data, failed: header.failed, index: 0, exception };
    let (op, op_type) = task.op.clone().map(|op| (op.op_name, op.op_type)).unwrap_or_default();
    let identity = |context| Identity {
        scenario: header.scenario,
        phase: header.phase,
        model: mapping.model_name.clone(),
        model_id: mapping.model_id,
        op: op.clone(),
        op_type: op_type.clone(),
        iteration: mapping.model_id.map(|_| header.step),
        stream: header.lane,
        task: task.task_id,
        device: header.device,
        context,
        time: header.time,
    };
    let attributes =
        |attr: &[Attribute]| attr.iter().map(|a| (a.name.clone(), a.value.clone())).collect::<Vec<_>>();
    if task.context.is_empty() {
        let mut payloads = Vec::with_capacity(task.input.len() + task.output.len());
        for one in &task.input {
            payloads.extend(parts.next(one.size).map(|bytes| input(one, bytes)));
        }
        for one in &task.output {
            payloads.extend(parts.next(one.size).map(|bytes| output(one, bytes)));
        }
        for (index, one) in (0..).zip(&task.buffer) {
            // No address: the buffer is announced, there is nothing to copy.
            if one.address != 0 {
                payloads
                    .extend(parts.next(one.size).map(|bytes| raw(Part::Buffer, index, one.address, bytes)));
            }
        }
        for (index, one) in (0..).zip(&task.space) {
            payloads
                .extend(parts.next(one.size).map(|bytes| raw(Part::Workspace, index, one.data_addr, bytes)));
        }
        return vec![Record { identity: identity(None), payloads, attributes: attributes(&task.attr) }];
    }
    let in_context = |context: &super::message::TaskContext, parts: &mut Parts<'a>| {
        let mut payloads = Vec::new();
        for (index, at) in context.input.iter().enumerate() {
            let Some(bytes) = parts.next(at.size) else { continue };
            let mut payload = match task.input.get(index) {
                Some(one) => input(one, bytes),
                None => raw(Part::Input, index as u32, at.address, bytes),
            };
            slice_of(&mut payload, at.address, index as u32);
            payloads.push(payload);
        }
        for (index, at) in context.output.iter().enumerate() {
            let Some(bytes) = parts.next(at.size) else { continue };
            let mut payload = match task.output.get(index) {
                Some(one) => output(one, bytes),
                None => raw(Part::Output, index as u32, at.address, bytes),
            };
            slice_of(&mut payload, at.address, index as u32);
            payloads.push(payload);
        }
        payloads
    };
    task.context
        .iter()
        .map(|context| Record {
            identity: identity(Some((context.context_id, context.thread_id))),
            payloads: in_context(context, &mut parts),
            attributes: attributes(&task.attr),
        })
        .collect()
}

/// A context's part of a tensor: as many elements as its bytes hold.
fn slice_of(payload: &mut Payload<'_>, address: u64, index: u32) {
    payload.address = address;
    payload.index = index;
    let size = payload.bytes.len() as u64;
    if DataType::bytes(payload.dtype, payload.shape.iter().product()) != Some(size) {
        payload.shape = vec![size * 8 / payload.dtype.bits().max(1)];
    }
}

/// Takes the data apart, leaving out what could not be read.
struct Parts<'a> {
    data: &'a [u8],
    failed: u64,
    index: usize,
    exception: bool,
}

impl<'a> Parts<'a> {
    fn next(&mut self, size: u64) -> Option<&'a [u8]> {
        let failed = self.failed & bit(self.index) != 0;
        self.index += 1;
        let (bytes, rest) = self.data.split_at_checked(usize::try_from(size).ok()?)?;
        self.data = rest;
        match (failed, self.exception) {
            (false, _) => Some(bytes),
            // The record of an exception says that there was a tensor, without its bytes.
            (true, true) => Some(&[]),
            (true, false) => None,
        }
    }
}

fn dims(shape: &Option<super::message::Shape>) -> Vec<u64> {
    shape.as_ref().map(|shape| shape.dim.clone()).unwrap_or_default()
}

fn input<'a>(one: &Input, bytes: &'a [u8]) -> Payload<'a> {
    Payload {
        part: Part::Input,
        index: one.offset as u32,
        dtype: DataType::from_number(one.data_type).unwrap_or_default(),
        format: Format(one.format as u32),
        shape: dims(&one.shape),
        origin_shape: dims(&one.origin_shape),
        address: one.address,
        original: None,
        bytes,
    }
}

fn output<'a>(one: &Output, bytes: &'a [u8]) -> Payload<'a> {
    let original = (!one.original_name.is_empty()).then(|| {
        (
            one.original_name.clone(),
            one.original_output_index as u32,
            one.original_output_data_type,
            one.original_output_format,
        )
    });
    Payload {
        part: Part::Output,
        index: one.offset as u32,
        dtype: DataType::from_number(one.data_type).unwrap_or_default(),
        format: Format(one.format as u32),
        shape: dims(&one.shape),
        origin_shape: dims(&one.origin_shape),
        address: one.address,
        original,
        bytes,
    }
}

fn raw(part: Part, index: u32, address: u64, bytes: &[u8]) -> Payload<'_> {
    let shape = vec![bytes.len() as u64];
    Payload {
        part,
        index,
        dtype: DataType::Uint8,
        format: Format::ND,
        origin_shape: shape.clone(),
        shape,
        address,
        original: None,
        bytes,
    }
}
