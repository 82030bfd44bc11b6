//! One argument of an op.

use crate::dump::blacklist::Position;
use crate::dump::types::{DataType, Format};
use crate::program::Slice;

use super::OpId;

/// Where an allocation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Memory {
    /// On the device.
    #[default]
    Device,
    /// On the host.
    Host,
    /// In on-chip memory, which has no address that could be read.
    L1,
}

/// One argument of one op, as something that has a shape and an address at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The op.
    pub op: OpId,
    /// The argument.
    pub position: Position,
}

/// `<node>:<input|output>:<index>`: the address is another node's (`_datadump_ref`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The node; may contain `:`.
    pub node: String,
    /// Its argument.
    pub position: Position,
}

impl Reference {
    /// Reads a reference from the right. An index that is no number is refused (P-15, T20).
    pub fn parse(text: &str) -> Option<Self> {
        let (rest, index) = text.rsplit_once(':')?;
        let (node, kind) = rest.rsplit_once(':')?;
        let position = match kind {
            "input" | "output" => Position::parse(&format!("{kind}{index}"))?,
            _ => return None,
        };
        if node.is_empty() { None } else { Some(Self { node: node.to_owned(), position }) }
    }
}

/// One argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// Its bytes, as far as known before the run.
    pub slice: Option<Slice>,
    /// Type of its elements; bytes where nobody says.
    pub dtype: DataType,
    /// Layout of its elements.
    pub format: Format,
    /// Its dimensions; empty for a scalar.
    pub shape: Vec<u64>,
    /// Its dimensions before the device's layout.
    pub origin_shape: Vec<u64>,
    /// The shape is only known at run time.
    pub shape_unknown: bool,
    /// It may be absent.
    pub optional: bool,
    /// Where it is.
    pub memory: Memory,
    /// Its address is somebody else's.
    pub reference: Option<Reference>,
    /// The reference could not be read.
    pub bad_reference: bool,
    /// Size by an attribute (slices of contexts, original size of a pre-processed input).
    pub size_attribute: Option<u64>,
    /// `original_*` fields of the record.
    pub original: Original,
}

/// What the op was before fusion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Original {
    /// `_datadump_origin_name`.
    pub name: String,
    /// `_datadump_origin_output_index`.
    pub output_index: Option<u32>,
    /// `_datadump_origin_data_type`.
    pub dtype: Option<DataType>,
    /// `_datadump_origin_format`.
    pub format: Option<Format>,
}

impl Tensor {
    /// Number of elements; `None` beyond 64 bits.
    pub fn elements(shape: &[u64]) -> Option<u64> {
        shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))
    }

    /// Bytes by shape and type; `None` without a fixed size or beyond 64 bits.
    pub fn computed(&self, shape: &[u64]) -> Option<u64> {
        self.dtype.bytes(Self::elements(shape)?)
    }

    /// Bytes to dump for a shape, when `room` bytes are there: by attribute, else by shape and type,
    /// else all that is there.
    pub fn size(&self, shape: &[u64], room: u64) -> u64 {
        self.size_attribute.or_else(|| self.computed(shape)).unwrap_or(room)
    }

    /// A shape without elements.
    pub fn is_empty(shape: &[u64]) -> bool {
        shape.contains(&0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_from_the_right() {
        let check = |text: &str, expected: Option<(&str, Position)>| {
            let found = Reference::parse(text);
            assert_eq!(found.as_ref().map(|r| (r.node.as_str(), r.position)), expected, "{text}");
        };
        check("a:input:0", Some(("a", Position::Input(0))));
        check("scope:a:b:output:12", Some(("scope:a:b", Position::Output(12))));
        for bad in [
            "",
            "a",
            "a:input",
            "a:input:",
            "a:input:x",
            "a:input:-1",
            "a:inputs:0",
            ":input:0",
            "a:input:4294967296",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn sizes_by_attribute_shape_or_room() {
        let mut tensor = Tensor { dtype: DataType::Float, ..Tensor::default() };
        assert_eq!(tensor.size(&[2, 3], 100), 24);
        assert_eq!(tensor.size(&[], 100), 4);
        assert_eq!(tensor.size(&[0, 3], 100), 0);
        tensor.dtype = DataType::String;
        assert_eq!(tensor.size(&[2, 3], 100), 100);
        tensor.size_attribute = Some(7);
        assert_eq!(tensor.size(&[2, 3], 100), 7);
        // T23: no narrowing, no overflow.
        tensor = Tensor { dtype: DataType::Float, ..Tensor::default() };
        assert_eq!(tensor.size(&[1 << 40], 0), 1 << 42);
        assert_eq!(tensor.computed(&[u64::MAX, 2]), None);
    }
}
