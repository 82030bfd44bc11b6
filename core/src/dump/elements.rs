//! Elements of a tensor as numbers, whatever their type.

use super::types::DataType;

/// One element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Exact.
    Whole(i128),
    /// With a fraction, infinite, or none at all.
    Real(f64),
}

impl Number {
    /// As a floating-point number; wholes beyond 2⁵³ are rounded.
    pub fn real(self) -> f64 {
        match self {
            Self::Whole(n) => n as f64,
            Self::Real(x) => x,
        }
    }
}

/// Whether elements of the type can be read as numbers.
pub fn is_numeric(dtype: DataType) -> bool {
    element(dtype, &[0; 8]).is_some()
}

/// Bytes of one element, where that is whole.
pub fn element_size(dtype: DataType) -> Option<usize> {
    let bits = dtype.bits();
    (bits >= 8 && bits.is_multiple_of(8)).then_some((bits / 8) as usize)
}

/// The elements of a tensor; empty where the type is no number. A cut last element is left out.
pub fn elements(dtype: DataType, bytes: &[u8]) -> impl Iterator<Item = Number> + '_ {
    let size = element_size(dtype).unwrap_or(8);
    bytes.chunks_exact(size).map_while(move |chunk| element(dtype, chunk))
}

fn element(dtype: DataType, bytes: &[u8]) -> Option<Number> {
    macro_rules! whole {
        ($kind:ty) => {
            Number::Whole(i128::from(<$kind>::from_le_bytes(*bytes.first_chunk()?)))
        };
    }
    Some(match dtype {
        DataType::Float => Number::Real(f64::from(f32::from_le_bytes(*bytes.first_chunk()?))),
        DataType::Double => Number::Real(f64::from_le_bytes(*bytes.first_chunk()?)),
        DataType::Float16 => Number::Real(small(u32::from(u16::from_le_bytes(*bytes.first_chunk()?)), 5, 10)),
        DataType::Bf16 => Number::Real(small(u32::from(u16::from_le_bytes(*bytes.first_chunk()?)), 8, 7)),
        DataType::Float8E5m2 => Number::Real(small(u32::from(*bytes.first()?), 5, 2)),
        DataType::Float8E4m3fn => Number::Real(match *bytes.first()? {
            // No infinity: the largest exponent holds numbers, and one pattern that is none.
            0x7f | 0xff => f64::NAN,
            byte => finite(u32::from(byte), 4, 3),
        }),
        DataType::Int8 => whole!(i8),
        DataType::Uint8 => whole!(u8),
        DataType::Int16 => whole!(i16),
        DataType::Uint16 => whole!(u16),
        DataType::Int32 => whole!(i32),
        DataType::Uint32 => whole!(u32),
        DataType::Int64 => whole!(i64),
        DataType::Uint64 => whole!(u64),
        DataType::Bool => Number::Whole(i128::from(*bytes.first()? != 0)),
        _ => return None,
    })
}

/// A number of few bits after IEEE 754: its largest exponent is infinity or none (T12).
fn small(bits: u32, exponent_bits: u32, fraction_bits: u32) -> f64 {
    let exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    if exponent != (1 << exponent_bits) - 1 {
        return finite(bits, exponent_bits, fraction_bits);
    }
    let negative = bits >> (exponent_bits + fraction_bits) & 1 == 1;
    match (bits & ((1 << fraction_bits) - 1), negative) {
        (0, false) => f64::INFINITY,
        (0, true) => f64::NEG_INFINITY,
        _ => f64::NAN,
    }
}

/// As [`small`], every exponent a number. Built from the bits of an `f64`, so exact everywhere.
fn finite(bits: u32, exponent_bits: u32, fraction_bits: u32) -> f64 {
    let bias = (1u64 << (exponent_bits - 1)) - 1;
    let exponent = u64::from(bits >> fraction_bits & ((1 << exponent_bits) - 1));
    let fraction = u64::from(bits & ((1 << fraction_bits) - 1));
    let sign = u64::from(bits >> (exponent_bits + fraction_bits) & 1) << 63;
    let power = |exponent: u64| f64::from_bits(exponent << 52);
    let magnitude = if exponent == 0 {
        fraction as f64 * power(1023 + 1 - bias - u64::from(fraction_bits))
    } else {
        f64::from_bits((exponent + 1023 - bias) << 52 | fraction << (52 - fraction_bits))
    };
    f64::from_bits(magnitude.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dtype: DataType, bytes: &[u8], expected: f64) {
        let all: Vec<f64> = elements(dtype, bytes).map(Number::real).collect();
        assert_eq!(all.len(), 1);
        assert!(all[0] == expected || all[0].is_nan() && expected.is_nan(), "{dtype} {bytes:?}: {}", all[0]);
    }

    #[test]
    fn t12_half_precision_with_infinities() {
        for (bits, expected) in [
            (0x0000u16, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_477_539_063e-8),
            (0x0400, 6.103_515_625e-5),
            (0x7c00, f64::INFINITY),
            (0xfc00, f64::NEG_INFINITY),
            (0x7c01, f64::NAN),
            (0xffff, f64::NAN),
        ] {
            check(DataType::Float16, &bits.to_le_bytes(), expected);
        }
    }

    #[test]
    fn bfloat_is_the_upper_half_of_a_float() {
        for bits in 0..=u16::MAX {
            let float = f64::from(f32::from_bits(u32::from(bits) << 16));
            check(DataType::Bf16, &bits.to_le_bytes(), float);
        }
    }

    #[test]
    fn eight_bits() {
        for (byte, expected) in
            [(0x3c, 1.0), (0x7b, 57344.0), (0x7c, f64::INFINITY), (0x7d, f64::NAN), (0x01, 1.0 / 65536.0)]
        {
            check(DataType::Float8E5m2, &[byte], expected);
        }
        for (byte, expected) in
            [(0x38, 1.0), (0x7e, 448.0), (0x7f, f64::NAN), (0xb8, -1.0), (0x01, 1.0 / 512.0), (0x78, 256.0)]
        {
            check(DataType::Float8E4m3fn, &[byte], expected);
        }
    }

    #[test]
    fn wholes() {
        check(DataType::Int8, &[0xff], -1.0);
        check(DataType::Uint64, &[0xff; 8], u64::MAX as f64);
        check(DataType::Bool, &[7], 1.0);
        assert_eq!(elements(DataType::Int32, &[1, 0, 0, 0, 2]).count(), 1);
        assert_eq!(elements(DataType::Complex64, &[0; 16]).count(), 0);
        assert!(is_numeric(DataType::Bool) && !is_numeric(DataType::Hifloat8));
    }
}
