//! The messages of requests and files (ge-dump spec §4.5, §9.3), field numbers as the readers of
//! dump files expect them.

#![expect(missing_docs, reason = "fields are named as in the tables of the formats, see docs/dump.md")]

use prost::Message;

/// A list of dimensions.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Shape {
    #[prost(uint64, repeated, tag = "1")]
    pub dim: Vec<u64>,
}

/// A request to the dump kernel: dump these tasks now, or whenever they run.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct OpMappingInfo {
    #[prost(string, tag = "1")]
    pub dump_path: String,
    // The optional ones are one-of fields with one member: the same on the wire.
    #[prost(string, optional, tag = "2")]
    pub model_name: Option<String>,
    #[prost(uint32, optional, tag = "3")]
    pub model_id: Option<u32>,
    #[prost(uint64, optional, tag = "4")]
    pub step_id_addr: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub iterations_per_loop_addr: Option<u64>,
    #[prost(uint64, optional, tag = "6")]
    pub loop_cond_addr: Option<u64>,
    /// 1 load, 0 unload.
    #[prost(uint32, tag = "7")]
    pub flag: u32,
    #[prost(message, repeated, tag = "8")]
    pub task: Vec<Task>,
    #[prost(string, tag = "9")]
    pub dump_step: String,
    /// 0 tensors, 1 statistics.
    #[prost(int32, tag = "10")]
    pub dump_data: i32,
    #[prost(uint64, tag = "11")]
    pub dump_switch_addr: u64,
}

/// One task.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Task {
    #[prost(uint32, tag = "1")]
    pub task_id: u32,
    #[prost(uint32, tag = "2")]
    pub stream_id: u32,
    #[prost(message, optional, tag = "3")]
    pub op: Option<OpIdentity>,
    #[prost(message, repeated, tag = "4")]
    pub output: Vec<Output>,
    #[prost(bool, tag = "5")]
    pub end_graph: bool,
    #[prost(message, repeated, tag = "6")]
    pub input: Vec<Input>,
    #[prost(message, repeated, tag = "7")]
    pub buffer: Vec<Buffer>,
    #[prost(enumeration = "TaskType", tag = "8")]
    pub task_type: i32,
    #[prost(uint32, tag = "9")]
    pub context_id: u32,
    #[prost(message, repeated, tag = "10")]
    pub attr: Vec<Attribute>,
    #[prost(message, repeated, tag = "11")]
    pub space: Vec<Space>,
    #[prost(message, repeated, tag = "12")]
    pub context: Vec<TaskContext>,
    #[prost(uint32, tag = "13")]
    pub thread_id: u32,
}

/// What runs a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum TaskType {
    AiCore = 0,
    AiCpu = 1,
    Debug = 2,
    Sdma = 3,
    FftsPlus = 4,
    Dsa = 5,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct OpIdentity {
    #[prost(string, tag = "1")]
    pub op_name: String,
    #[prost(string, tag = "2")]
    pub op_type: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Output {
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    #[prost(int32, tag = "2")]
    pub format: i32,
    #[prost(message, optional, tag = "3")]
    pub shape: Option<Shape>,
    #[prost(uint64, tag = "4")]
    pub address: u64,
    #[prost(string, tag = "5")]
    pub original_name: String,
    #[prost(int32, tag = "6")]
    pub original_output_index: i32,
    #[prost(int32, tag = "7")]
    pub original_output_data_type: i32,
    #[prost(int32, tag = "8")]
    pub original_output_format: i32,
    #[prost(uint64, tag = "9")]
    pub size: u64,
    #[prost(message, optional, tag = "10")]
    pub origin_shape: Option<Shape>,
    #[prost(enumeration = "AddressType", tag = "11")]
    pub addr_type: i32,
    #[prost(uint64, tag = "12")]
    pub offset: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Input {
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    #[prost(int32, tag = "2")]
    pub format: i32,
    #[prost(message, optional, tag = "3")]
    pub shape: Option<Shape>,
    #[prost(uint64, tag = "4")]
    pub address: u64,
    #[prost(uint64, tag = "5")]
    pub size: u64,
    #[prost(message, optional, tag = "6")]
    pub origin_shape: Option<Shape>,
    #[prost(enumeration = "AddressType", tag = "7")]
    pub addr_type: i32,
    #[prost(uint64, tag = "8")]
    pub offset: u64,
}

/// How an address is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum AddressType {
    /// Of a pointer.
    Traditional = 0,
    /// Of a pointer to a descriptor with type and shape.
    NoTiling = 1,
    /// Of the data.
    Raw = 2,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Buffer {
    /// 0 is L1.
    #[prost(int32, tag = "1")]
    pub buffer_type: i32,
    #[prost(uint64, tag = "2")]
    pub address: u64,
    #[prost(uint64, tag = "3")]
    pub size: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Space {
    #[prost(int32, tag = "1")]
    pub space_type: i32,
    #[prost(uint64, tag = "2")]
    pub data_addr: u64,
    #[prost(uint64, tag = "3")]
    pub size: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct TaskContext {
    #[prost(uint32, tag = "1")]
    pub context_id: u32,
    #[prost(uint32, tag = "2")]
    pub thread_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub input: Vec<ContextAddress>,
    #[prost(message, repeated, tag = "4")]
    pub output: Vec<ContextAddress>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ContextAddress {
    #[prost(uint64, tag = "1")]
    pub address: u64,
    #[prost(uint64, tag = "2")]
    pub size: u64,
}

/// The header of a dump file. Only fields that every reader agrees about are written (P-30).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct DumpData {
    #[prost(string, tag = "1")]
    pub version: String,
    /// Microseconds.
    #[prost(uint64, tag = "2")]
    pub dump_time: u64,
    #[prost(message, repeated, tag = "3")]
    pub output: Vec<OpOutput>,
    #[prost(message, repeated, tag = "4")]
    pub input: Vec<OpInput>,
    #[prost(message, repeated, tag = "5")]
    pub buffer: Vec<OpBuffer>,
    #[prost(string, tag = "6")]
    pub op_name: String,
    #[prost(message, repeated, tag = "7")]
    pub attr: Vec<Attribute>,
    #[prost(message, repeated, tag = "8")]
    pub space: Vec<Workspace>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct OriginalOp {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(uint32, tag = "2")]
    pub output_index: u32,
    #[prost(int32, tag = "3")]
    pub data_type: i32,
    #[prost(int32, tag = "4")]
    pub format: i32,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct OpOutput {
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    #[prost(int32, tag = "2")]
    pub format: i32,
    #[prost(message, optional, tag = "3")]
    pub shape: Option<Shape>,
    #[prost(message, optional, tag = "4")]
    pub original_op: Option<OriginalOp>,
    #[prost(bytes = "vec", tag = "5")]
    pub data: Vec<u8>,
    #[prost(uint64, tag = "6")]
    pub size: u64,
    #[prost(message, optional, tag = "7")]
    pub original_shape: Option<Shape>,
    #[prost(int32, tag = "8")]
    pub sub_format: i32,
    #[prost(uint64, tag = "9")]
    pub address: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct OpInput {
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    #[prost(int32, tag = "2")]
    pub format: i32,
    #[prost(message, optional, tag = "3")]
    pub shape: Option<Shape>,
    #[prost(bytes = "vec", tag = "4")]
    pub data: Vec<u8>,
    #[prost(uint64, tag = "5")]
    pub size: u64,
    #[prost(message, optional, tag = "6")]
    pub original_shape: Option<Shape>,
    #[prost(int32, tag = "7")]
    pub sub_format: i32,
    #[prost(uint64, tag = "8")]
    pub address: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct OpBuffer {
    #[prost(int32, tag = "1")]
    pub buffer_type: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub size: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Workspace {
    #[prost(int32, tag = "1")]
    pub space_type: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Top-level fields of a message, read without its definition: number, and value if it is one.
    fn fields(message: &impl Message) -> Vec<(u64, Option<u64>)> {
        let bytes = message.encode_to_vec();
        let (mut rest, mut fields) = (&bytes[..], Vec::new());
        let varint = |rest: &mut &[u8]| {
            let (mut value, mut shift) = (0u64, 0);
            while let Some((&byte, after)) = rest.split_first() {
                *rest = after;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            value
        };
        while !rest.is_empty() {
            let key = varint(&mut rest);
            let value = varint(&mut rest);
            if key & 7 == 2 {
                rest = &rest[value as usize..];
            }
            fields.push((key >> 3, (key & 7 == 0).then_some(value)));
        }
        fields
    }

    /// `n`: a number, which is set to the field's own; `m`: a text or message.
    #[track_caller]
    fn check(message: &impl Message, expected: &str) {
        let show = |(number, value): &(u64, Option<u64>)| match value {
            Some(value) if value == number => format!("{number}n"),
            Some(value) => format!("{number}n={value}"),
            None => format!("{number}m"),
        };
        assert_eq!(fields(message).iter().map(show).collect::<Vec<_>>().join(" "), expected);
    }

    fn shape() -> Option<Shape> {
        Some(Shape { dim: vec![1] })
    }

    /// The table of ge-dump spec §4.5, field by field.
    #[test]
    fn every_field_of_a_request_has_its_number() {
        let text = || "x".to_owned();
        let mapping = OpMappingInfo {
            dump_path: text(),
            model_name: Some(text()),
            model_id: Some(3),
            step_id_addr: Some(4),
            iterations_per_loop_addr: Some(5),
            loop_cond_addr: Some(6),
            flag: 7,
            task: vec![Task::default()],
            dump_step: text(),
            dump_data: 10,
            dump_switch_addr: 11,
        };
        check(&mapping, "1m 2m 3n 4n 5n 6n 7n 8m 9m 10n 11n");
        let task = Task {
            task_id: 1,
            stream_id: 2,
            op: Some(OpIdentity::default()),
            output: vec![Output::default()],
            end_graph: true,
            input: vec![Input::default()],
            buffer: vec![Buffer::default()],
            task_type: 8,
            context_id: 9,
            attr: vec![Attribute::default()],
            space: vec![Space::default()],
            context: vec![TaskContext::default()],
            thread_id: 13,
        };
        check(&task, "1n 2n 3m 4m 5n=1 6m 7m 8n 9n 10m 11m 12m 13n");
        check(&OpIdentity { op_name: text(), op_type: text() }, "1m 2m");
        let output = Output {
            data_type: 1,
            format: 2,
            shape: shape(),
            address: 4,
            original_name: text(),
            original_output_index: 6,
            original_output_data_type: 7,
            original_output_format: 8,
            size: 9,
            origin_shape: shape(),
            addr_type: 11,
            offset: 12,
        };
        check(&output, "1n 2n 3m 4n 5m 6n 7n 8n 9n 10m 11n 12n");
        let input = Input {
            data_type: 1,
            format: 2,
            shape: shape(),
            address: 4,
            size: 5,
            origin_shape: shape(),
            addr_type: 7,
            offset: 8,
        };
        check(&input, "1n 2n 3m 4n 5n 6m 7n 8n");
        check(&Buffer { buffer_type: 1, address: 2, size: 3 }, "1n 2n 3n");
        check(&Attribute { name: text(), value: text() }, "1m 2m");
        check(&Space { space_type: 1, data_addr: 2, size: 3 }, "1n 2n 3n");
        let address = ContextAddress { address: 1, size: 2 };
        check(&address, "1n 2n");
        check(
            &TaskContext { context_id: 1, thread_id: 2, input: vec![address], output: vec![address] },
            "1n 2n 3m 4m",
        );
        let types = [
            TaskType::AiCore,
            TaskType::AiCpu,
            TaskType::Debug,
            TaskType::Sdma,
            TaskType::FftsPlus,
            TaskType::Dsa,
        ];
        assert_eq!(types.map(|kind| kind as i32), [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            [AddressType::Traditional, AddressType::NoTiling, AddressType::Raw].map(|kind| kind as i32),
            [0, 1, 2]
        );
    }

    /// The messages of ge-dump spec §9.3. P-30: nothing beyond what all readers agree about.
    #[test]
    fn every_field_of_a_files_header_has_its_number() {
        let text = || "x".to_owned();
        let data = DumpData {
            version: text(),
            dump_time: 2,
            output: vec![OpOutput::default()],
            input: vec![OpInput::default()],
            buffer: vec![OpBuffer::default()],
            op_name: text(),
            attr: vec![Attribute::default()],
            space: vec![Workspace::default()],
        };
        check(&data, "1m 2n 3m 4m 5m 6m 7m 8m");
        let original = OriginalOp { name: text(), output_index: 2, data_type: 3, format: 4 };
        check(&original, "1m 2n 3n 4n");
        let output = OpOutput {
            data_type: 1,
            format: 2,
            shape: shape(),
            original_op: Some(original),
            data: vec![0],
            size: 6,
            original_shape: shape(),
            sub_format: 8,
            address: 9,
        };
        check(&output, "1n 2n 3m 4m 5m 6n 7m 8n 9n");
        let input = OpInput {
            data_type: 1,
            format: 2,
            shape: shape(),
            data: vec![0],
            size: 5,
            original_shape: shape(),
            sub_format: 7,
            address: 8,
        };
        check(&input, "1n 2n 3m 4m 5n 6m 7n 8n");
        check(&OpBuffer { buffer_type: 1, data: vec![0], size: 3 }, "1n 2m 3n");
        check(&Workspace { space_type: 1, data: vec![0], size: 3 }, "1n 2m 3n");
    }
}
