//! One op's dump as bytes: length, header, raw data (ge-dump spec §9.3).

use prost::Message;

use super::message::{Attribute, DumpData, OpBuffer, OpInput, OpOutput, OriginalOp, Shape, Workspace};
use super::types::{DataType, Format};
use super::value::named;
use crate::diagnostic::Diagnostic;
use serde::{Serialize, Serializer};
use std::fmt;

named! {
    /// What made somebody dump: first part of a file's name in the seed's layout.
    Scenario {
        /// An iteration that is selected.
        Normal = "normal",
        /// An op that overflowed.
        Overflow = "overflow",
        /// An op that failed.
        Exception = "exception",
    }
}

named! {
    /// Which moment of an op a record is of.
    Phase {
        /// After it, inputs and outputs.
        Whole = "whole",
        /// Before a collective: its inputs.
        Before = "in",
        /// After a collective: its outputs.
        After = "out",
    }
}

named! {
    /// What a payload is of its op.
    Part {
        /// An input.
        Input = "input",
        /// An output.
        Output = "output",
        /// On-chip memory.
        Buffer = "buffer",
        /// Scratch memory.
        Workspace = "workspace",
    }
}

/// What a file is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What made somebody dump.
    pub scenario: Scenario,
    /// Which moment of the op.
    pub phase: Phase,
    /// The model; `None` for a single op.
    pub model: Option<String>,
    /// The model's number; `None` for a single op.
    pub model_id: Option<u32>,
    /// The op.
    pub op: String,
    /// Its type.
    pub op_type: String,
    /// Counted from 0; `None` for a single op.
    pub iteration: Option<u64>,
    /// The lane.
    pub stream: u32,
    /// The thunk's index in its sequence.
    pub task: u32,
    /// The device.
    pub device: u32,
    /// Context and thread of an op with several.
    pub context: Option<(u32, u32)>,
    /// When, in microseconds.
    pub time: u64,
}

/// One tensor's data with what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Of what.
    pub part: Part,
    /// Which of them, counted from 0.
    pub index: u32,
    /// Type of the elements.
    pub dtype: DataType,
    /// Layout of the elements.
    pub format: Format,
    /// Dimensions.
    pub shape: Vec<u64>,
    /// Dimensions before the device's layout.
    pub origin_shape: Vec<u64>,
    /// Where it was.
    pub address: u64,
    /// What it was before fusion: name, output index, type, format.
    pub original: Option<(String, u32, i32, i32)>,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Everything of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it is about.
    pub identity: Identity,
    /// Inputs, then outputs, buffers, workspaces.
    pub payloads: Vec<Payload<'a>>,
    /// Name and value.
    pub attributes: Vec<(String, String)>,
}

/// Longest header that is written or read.
pub const MAX_HEADER: u64 = (2 << 30) - 1;

impl<'a> Record<'a> {
    fn of(&self, part: Part) -> impl Iterator<Item = &Payload<'a>> {
        self.payloads.iter().filter(move |payload| payload.part == part)
    }

    /// The header message: no data in it, only sizes.
    pub fn header(&self) -> DumpData {
        let shape = |dims: &[u64]| Some(Shape { dim: dims.to_vec() });
        let output = |p: &Payload<'_>| OpOutput {
            data_type: p.dtype.number(),
            format: p.format.primary() as i32,
            shape: shape(&p.shape),
            original_op: p.original.clone().map(|(name, output_index, data_type, format)| OriginalOp {
                name,
                output_index,
                data_type,
                format,
            }),
            data: Vec::new(),
            size: p.bytes.len() as u64,
            original_shape: shape(&p.origin_shape),
            sub_format: p.format.sub(),
            address: p.address,
        };
        let input = |p: &Payload<'_>| OpInput {
            data_type: p.dtype.number(),
            format: p.format.primary() as i32,
            shape: shape(&p.shape),
            data: Vec::new(),
            size: p.bytes.len() as u64,
            original_shape: shape(&p.origin_shape),
            sub_format: p.format.sub(),
            address: p.address,
        };
        let size = |p: &Payload<'_>| p.bytes.len() as u64;
        DumpData {
            version: "2.0".to_owned(),
            dump_time: self.identity.time,
            output: self.of(Part::Output).map(output).collect(),
            input: self.of(Part::Input).map(input).collect(),
            buffer: self
                .of(Part::Buffer)
                .map(|p| OpBuffer { buffer_type: 0, data: Vec::new(), size: size(p) })
                .collect(),
            op_name: self.identity.op.clone(),
            attr: self
                .attributes
                .iter()
                .map(|(name, value)| Attribute { name: name.clone(), value: value.clone() })
                .collect(),
            space: self
                .of(Part::Workspace)
                .map(|p| Workspace { space_type: 0, data: Vec::new(), size: size(p) })
                .collect(),
        }
    }

    /// Length and header; the data follows as [`Record::data`] has it.
    pub fn head(&self) -> Vec<u8> {
        let header = self.header();
        let mut bytes = Vec::with_capacity(8 + header.encoded_len());
        bytes.extend_from_slice(&(header.encoded_len() as u64).to_le_bytes());
        header.encode_raw(&mut bytes);
        bytes
    }

    /// The raw parts in the file's order.
    pub fn data(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        Part::ALL.iter().flat_map(|&part| self.of(part)).map(|payload| payload.bytes)
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        self.data().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

/// A file that was read back: header, and where each part lies in the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct DumpFile {
    /// The header.
    pub header: DumpData,
    /// Inputs, outputs, buffers, workspaces.
    pub tensors: Vec<TensorEntry>,
}

/// One tensor of a file that was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TensorEntry {
    /// Of what.
    pub part: Part,
    /// Which of them, in the file's order.
    pub index: u32,
    /// Type, as the file numbers it.
    pub dtype: i32,
    /// Format, as the file numbers it.
    pub format: i32,
    /// Dimensions.
    pub shape: Vec<u64>,
    /// First byte in the file.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

impl TensorEntry {
    /// Its bytes in the file that it was read from.
    pub fn bytes<'f>(&self, file: &'f [u8]) -> &'f [u8] {
        let start = usize::try_from(self.start).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(self.size).unwrap_or(usize::MAX));
        file.get(start..end).unwrap_or_default()
    }
}

impl DumpFile {
    /// Reads a file.
    ///
    /// # Errors
    /// `DU030` for a length that does not fit, `DU031` for a header that is no message, `DU032` when
    /// length, header and sizes do not add up to the file: it was cut.
    pub fn read(bytes: &[u8]) -> Result<Self, Diagnostic> {
        let hint = "this is no dump file, or one that was cut";
        let length = bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first));
        let total = bytes.len() as u64;
        let length = length.filter(|&n| n > 0 && n <= MAX_HEADER && n <= total - 8).ok_or_else(|| {
            Diagnostic::error("DU030", "byte 0", "the length of a header that is in the file")
                .found(length.map_or("fewer than 8 bytes".to_owned(), |n| n.to_string()))
                .hint(hint)
        })?;
        let header = &bytes[8..8 + length as usize];
        let header = DumpData::decode(header).map_err(|error| {
            Diagnostic::error("DU031", "byte 8", "a DumpData message").found(error).hint(hint)
        })?;
        let mut start = 8 + length;
        let mut tensors = Vec::new();
        let mut add = |part, index: usize, dtype, format, shape: &Option<Shape>, size: u64| {
            let shape = shape.as_ref().map(|shape| shape.dim.clone()).unwrap_or_default();
            tensors.push(TensorEntry { part, index: index as u32, dtype, format, shape, start, size });
            start = start.saturating_add(size);
        };
        for (index, one) in header.input.iter().enumerate() {
            add(Part::Input, index, one.data_type, one.format, &one.shape, one.size);
        }
        for (index, one) in header.output.iter().enumerate() {
            add(Part::Output, index, one.data_type, one.format, &one.shape, one.size);
        }
        for (index, one) in header.buffer.iter().enumerate() {
            add(Part::Buffer, index, DataType::Uint8.number(), 2, &None, one.size);
        }
        for (index, one) in header.space.iter().enumerate() {
            add(Part::Workspace, index, DataType::Uint8.number(), 2, &None, one.size);
        }
        if start != total {
            return Err(Diagnostic::error("DU032", "end of file", format!("{start} bytes"))
                .found(total)
                .hint("header and sizes do not add up: the file was cut, or is still being written"));
        }
        Ok(Self { header, tensors })
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cut_files_are_refused_at_every_length() {
        let identity = Identity {
            scenario: Scenario::Normal,
            phase: Phase::Whole,
            model: None,
            model_id: None,
            op: "a".to_owned(),
            op_type: "Add".to_owned(),
            iteration: None,
            stream: 0,
            task: 0,
            device: 0,
            context: None,
            time: 5,
        };
        let payload = |part, index, bytes| Payload {
            part,
            index,
            dtype: DataType::Int8,
            format: Format(0x103),
            shape: vec![3],
            origin_shape: vec![3],
            address: 16,
            original: (part == Part::Output).then(|| ("o".to_owned(), 1, 2, 3)),
            bytes,
        };
        let payloads = vec![
            payload(Part::Output, 0, b"out".as_slice()),
            payload(Part::Input, 0, b"inp"),
            payload(Part::Workspace, 0, b"wsp"),
        ];
        let record = Record { identity, payloads, attributes: vec![("n".to_owned(), "v".to_owned())] };
        let bytes = record.to_bytes();
        let file = DumpFile::read(&bytes).expect("reads");
        let parts: Vec<_> = file.tensors.iter().map(|t| (t.part, t.bytes(&bytes))).collect();
        assert_eq!(parts, [(Part::Input, &b"inp"[..]), (Part::Output, b"out"), (Part::Workspace, b"wsp")]);
        assert_eq!((file.header.output[0].format, file.header.output[0].sub_format), (3, 1));
        for cut in 0..bytes.len() {
            assert!(DumpFile::read(&bytes[..cut]).is_err(), "{cut}");
        }
        assert_eq!(
            DumpFile::read(&[&bytes[..], b"x"].concat()).map_err(|e| e.code.clone()),
            Err("DU032".to_owned())
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_file_or_a_diagnostic(bytes in proptest::collection::vec(any::<u8>(), 0..200), length in 0..40u64) {
            let _ = DumpFile::read(&bytes);
            let framed = [&length.to_le_bytes()[..], &bytes].concat();
            let _ = DumpFile::read(&framed);
        }
    }
}
