//! Two dumps of one op: how far apart are they? (`dump compare`)

use serde::Serialize;

use super::elements::{self, Number};
use super::record::{DumpFile, Part, TensorEntry};
use super::stats::short;
use super::types::DataType;

/// The format of the report (schema: docs/dump-compare.schema.json).
pub const FORMAT: &str = "thunkscope.dump-compare/1";

/// How two tensors differ. Numbers are texts of six significant digits, so that they are the same
/// everywhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Of what.
    pub part: Part,
    /// Which.
    pub index: u32,
    /// Not even comparable: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlike: Option<String>,
    /// Elements compared; bytes where the type is no number.
    #[serde(with = "crate::number::wide")]
    pub count: u64,
    /// Elements that differ.
    #[serde(with = "crate::number::wide")]
    pub mismatches: u64,
    /// Index of the first, and both values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<(u64, String, String)>,
    /// Largest absolute difference.
    pub max_abs: String,
    /// Largest difference relative to the larger of both.
    pub max_rel: String,
    /// Cosine of the angle between both; `nan` if one is all zero.
    pub cosine: String,
}

impl Difference {
    /// Both are the same.
    pub fn is_equal(&self) -> bool {
        self.unlike.is_none() && self.mismatches == 0
    }
}

/// Compares the tensors of two files, pairwise by part and index.
pub fn files(a: &DumpFile, a_bytes: &[u8], b: &DumpFile, b_bytes: &[u8]) -> Vec<Difference> {
    let mut differences = Vec::new();
    let same = |x: &TensorEntry, y: &TensorEntry| x.part == y.part && x.index == y.index;
    for left in &a.tensors {
        differences.push(match b.tensors.iter().find(|right| same(left, right)) {
            Some(right) => tensors(left, left.bytes(a_bytes), right, right.bytes(b_bytes)),
            None => unlike(left, "only in the first file".to_owned()),
        });
    }
    let only = b.tensors.iter().filter(|right| !a.tensors.iter().any(|left| same(left, right)));
    differences.extend(only.map(|right| unlike(right, "only in the second file".to_owned())));
    differences
}

fn unlike(tensor: &TensorEntry, why: String) -> Difference {
    Difference {
        part: tensor.part,
        index: tensor.index,
        unlike: Some(why),
        count: 0,
        mismatches: 0,
        first: None,
        max_abs: String::new(),
        max_rel: String::new(),
        cosine: String::new(),
    }
}

/// Compares two tensors.
pub fn tensors(left: &TensorEntry, a: &[u8], right: &TensorEntry, b: &[u8]) -> Difference {
    let name = |number: i32| DataType::from_number(number).map_or("-", DataType::name);
    if left.dtype != right.dtype {
        return unlike(left, format!("types differ: {} and {}", name(left.dtype), name(right.dtype)));
    }
    if left.shape != right.shape || a.len() != b.len() {
        return unlike(left, format!("shapes differ: {:?} and {:?}", left.shape, right.shape));
    }
    let dtype = DataType::from_number(left.dtype).unwrap_or_default();
    // What is no number is compared as bytes.
    let dtype = if elements::is_numeric(dtype) { dtype } else { DataType::Uint8 };
    let mut found = unlike(left, String::new());
    found.unlike = None;
    let (mut max_abs, mut max_rel) = (0.0f64, 0.0f64);
    let (mut dot, mut aa, mut bb) = (0.0f64, 0.0f64, 0.0f64);
    for (x, y) in elements::elements(dtype, a).zip(elements::elements(dtype, b)) {
        let (p, q) = (x.real(), y.real());
        (dot, aa, bb) = (dot + p * q, aa + p * p, bb + q * q);
        // Two that are no numbers are the same; so are both zeros.
        let same = match (x, y) {
            (Number::Whole(x), Number::Whole(y)) => x == y,
            _ => p == q || p.is_nan() && q.is_nan(),
        };
        if !same {
            found.mismatches += 1;
            if found.first.is_none() {
                found.first = Some((found.count, shown(x), shown(y)));
            }
            let abs = (p - q).abs();
            let scale = p.abs().max(q.abs());
            let rel = if scale > 0.0 { abs / scale } else { abs };
            max_abs = larger(max_abs, abs);
            max_rel = larger(max_rel, rel);
        }
        found.count += 1;
    }
    found.max_abs = short(max_abs);
    found.max_rel = short(max_rel);
    found.cosine = short(dot / (aa.sqrt() * bb.sqrt()));
    found
}

/// The larger; what is no number is larger than all.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn shown(number: Number) -> String {
    match number {
        Number::Whole(n) => n.to_string(),
        Number::Real(x) => short(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(dtype: DataType, shape: &[u64]) -> TensorEntry {
        TensorEntry {
            part: Part::Output,
            index: 0,
            dtype: dtype.number(),
            format: 2,
            shape: shape.to_vec(),
            start: 0,
            size: 0,
        }
    }

    #[track_caller]
    fn check(a: &[f32], b: &[f32], mismatches: u64, max_abs: &str, max_rel: &str, cosine: &str) {
        let bytes = |list: &[f32]| list.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let entry = entry(DataType::Float, &[a.len() as u64]);
        let found = tensors(&entry, &bytes(a), &entry, &bytes(b));
        assert_eq!(
            (found.mismatches, found.max_abs.as_str(), found.max_rel.as_str(), found.cosine.as_str()),
            (mismatches, max_abs, max_rel, cosine)
        );
        assert_eq!(found.is_equal(), mismatches == 0);
    }

    #[test]
    fn differences() {
        check(&[1.0, 2.0], &[1.0, 2.0], 0, "0", "0", "1");
        check(&[1.0, 2.0], &[1.0, 4.0], 1, "2", "0.5", "0.976187");
        check(&[1.0, 0.0], &[0.0, 1.0], 2, "1", "1", "0");
        check(&[0.0], &[0.0], 0, "0", "0", "nan");
        check(&[f32::NAN], &[f32::NAN], 0, "0", "0", "nan");
        check(&[f32::NAN], &[1.0], 1, "nan", "nan", "nan");
        check(&[f32::INFINITY], &[f32::INFINITY], 0, "0", "0", "nan");
    }

    #[test]
    fn what_is_not_comparable_says_why() {
        let unlike =
            |a: &TensorEntry, b: &TensorEntry| tensors(a, &[0; 8], b, &[0; 8]).unlike.unwrap_or_default();
        assert_eq!(
            unlike(&entry(DataType::Float, &[2]), &entry(DataType::Int32, &[2])),
            "types differ: FLOAT and INT32"
        );
        assert_eq!(
            unlike(&entry(DataType::Float, &[2]), &entry(DataType::Float, &[1, 2])),
            "shapes differ: [2] and [1, 2]"
        );
        let bytes = entry(DataType::Hifloat8, &[2]);
        let found = tensors(&bytes, &[1, 2], &bytes, &[1, 3]);
        assert_eq!(
            (found.count, found.mismatches, found.first),
            (2, 1, Some((1, "2".to_owned(), "3".to_owned())))
        );
    }
}
