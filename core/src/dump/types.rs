//! Data types and formats by the numbers of dump files (ge-dump spec §9.3). GE numbers its types
//! otherwise; converting with the wrong table was a bug upstream (T21).

use std::fmt;

macro_rules! data_types {
    ($($value:literal $variant:ident $name:literal $bits:literal,)*) => {
        /// Type of a tensor's elements. Numbers are those of dump files.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the names of the format's own table")]
        pub enum DataType {
            #[default]
            $($variant = $value,)*
        }

        impl DataType {
            /// Every type, by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The table's name, such as `FLOAT16`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Bits of one element; 0 where elements have no fixed size.
            pub fn bits(self) -> u64 {
                match self {
                    $(Self::$variant => $bits,)*
                }
            }
        }
    };
}

data_types! {
    0 Undefined "UNDEFINED" 0,
    1 Float "FLOAT" 32,
    2 Float16 "FLOAT16" 16,
    3 Int8 "INT8" 8,
    4 Uint8 "UINT8" 8,
    5 Int16 "INT16" 16,
    6 Uint16 "UINT16" 16,
    7 Int32 "INT32" 32,
    8 Int64 "INT64" 64,
    9 Uint32 "UINT32" 32,
    10 Uint64 "UINT64" 64,
    11 Bool "BOOL" 8,
    12 Double "DOUBLE" 64,
    13 String "STRING" 0,
    14 DualSubInt8 "DUAL_SUB_INT8" 8,
    15 DualSubUint8 "DUAL_SUB_UINT8" 8,
    16 Complex64 "COMPLEX64" 64,
    17 Complex128 "COMPLEX128" 128,
    18 Qint8 "QINT8" 8,
    19 Qint16 "QINT16" 16,
    20 Qint32 "QINT32" 32,
    21 Quint8 "QUINT8" 8,
    22 Quint16 "QUINT16" 16,
    23 Resource "RESOURCE" 64,
    24 StringRef "STRING_REF" 0,
    25 Dual "DUAL" 40,
    26 Variant "VARIANT" 64,
    27 Bf16 "BF16" 16,
    28 Int4 "INT4" 4,
    29 Uint1 "UINT1" 1,
    30 Int2 "INT2" 2,
    31 Uint2 "UINT2" 2,
    32 Complex32 "COMPLEX32" 32,
    33 Hifloat8 "HIFLOAT8" 8,
    34 Float8E5m2 "FLOAT8_E5M2" 8,
    35 Float8E4m3fn "FLOAT8_E4M3FN" 8,
    36 Float8E8m0 "FLOAT8_E8M0" 8,
    37 Float6E3m2 "FLOAT6_E3M2" 6,
    38 Float6E2m3 "FLOAT6_E2M3" 6,
    39 Float4E2m1 "FLOAT4_E2M1" 4,
    40 Float4E1m2 "FLOAT4_E1M2" 4,
    41 Hifloat4 "HIFLOAT4" 4,
    42 Hifloat4Scale "HIFLOAT4_SCALE" 8,
}

/// Names of XLA's types, as imported programs carry them.
const XLA: &[(&str, DataType)] = &[
    ("pred", DataType::Bool),
    ("s1", DataType::Uint1),
    ("s2", DataType::Int2),
    ("s4", DataType::Int4),
    ("s8", DataType::Int8),
    ("s16", DataType::Int16),
    ("s32", DataType::Int32),
    ("s64", DataType::Int64),
    ("u1", DataType::Uint1),
    ("u2", DataType::Uint2),
    ("u8", DataType::Uint8),
    ("u16", DataType::Uint16),
    ("u32", DataType::Uint32),
    ("u64", DataType::Uint64),
    ("f16", DataType::Float16),
    ("bf16", DataType::Bf16),
    ("f32", DataType::Float),
    ("f64", DataType::Double),
    ("c64", DataType::Complex64),
    ("c128", DataType::Complex128),
    ("f8e5m2", DataType::Float8E5m2),
    ("f8e4m3fn", DataType::Float8E4m3fn),
    ("f8e8m0fnu", DataType::Float8E8m0),
    ("f4e2m1fn", DataType::Float4E2m1),
    ("float32", DataType::Float),
    ("float64", DataType::Double),
    ("bfloat16", DataType::Bf16),
];

impl DataType {
    /// The number in dump files.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// By the number in dump files.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// By the table's name (`FLOAT16`, `DT_FLOAT16`, `float16`) or XLA's (`f16`).
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("DT_").unwrap_or(name);
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.name().eq_ignore_ascii_case(bare))
            .or_else(|| XLA.iter().find(|(xla, _)| *xla == name).map(|(_, kind)| *kind))
    }

    /// GE's own number for the type, where it has one: only for messages that compare.
    pub fn ge_number(self) -> Option<u32> {
        const GE: [(DataType, u32); 15] = [
            (DataType::Float, 0),
            (DataType::Float16, 1),
            (DataType::Int8, 2),
            (DataType::Int32, 3),
            (DataType::Uint8, 4),
            (DataType::Int16, 6),
            (DataType::Uint16, 7),
            (DataType::Uint32, 8),
            (DataType::Int64, 9),
            (DataType::Uint64, 10),
            (DataType::Double, 11),
            (DataType::Bool, 12),
            (DataType::String, 13),
            (DataType::Bf16, 27),
            (DataType::Int4, 29),
        ];
        GE.iter().find(|(kind, _)| *kind == self).map(|(_, number)| *number)
    }

    /// Bytes of so many elements, packed where they are smaller than a byte. `None` without a fixed
    /// size, or beyond 64 bits.
    pub fn bytes(self, elements: u64) -> Option<u64> {
        match self.bits() {
            0 => None,
            bits => Some(elements.checked_mul(bits)?.div_ceil(8)),
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Layout of a tensor's elements: the low byte is the format, the next two the sub-format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format(pub u32);

const FORMATS: [&str; 50] = [
    "NCHW",
    "NHWC",
    "ND",
    "NC1HWC0",
    "FRACTAL_Z",
    "NC1C0HWPAD",
    "NHWC1C0",
    "FSR_NCHW",
    "FRACTAL_DECONV",
    "C1HWNC0",
    "FRACTAL_DECONV_TRANSPOSE",
    "FRACTAL_DECONV_SP_STRIDE_TRANS",
    "NC1HWC0_C04",
    "FRACTAL_Z_C04",
    "CHWN",
    "FRACTAL_DECONV_SP_STRIDE8_TRANS",
    "HWCN",
    "NC1KHKWHWC0",
    "BN_WEIGHT",
    "FILTER_HWCK",
    "HASHTABLE_LOOKUP_LOOKUPS",
    "HASHTABLE_LOOKUP_KEYS",
    "HASHTABLE_LOOKUP_VALUE",
    "HASHTABLE_LOOKUP_OUTPUT",
    "HASHTABLE_LOOKUP_HITS",
    "C1HWNCoC0",
    "MD",
    "NDHWC",
    "FRACTAL_ZZ",
    "FRACTAL_NZ",
    "NCDHW",
    "DHWCN",
    "NDC1HWC0",
    "FRACTAL_Z_3D",
    "CN",
    "NC",
    "DHWNC",
    "FRACTAL_Z_3D_TRANSPOSE",
    "FRACTAL_ZN_LSTM",
    "FRACTAL_Z_G",
    "RESERVED",
    "ALL",
    "NULL",
    "ND_RNN_BIAS",
    "FRACTAL_ZN_RNN",
    "YUV",
    "YUV_A",
    "NCL",
    "FRACTAL_Z_WINO",
    "C1HWC0",
];

impl Format {
    /// N-dimensional, no particular layout.
    pub const ND: Self = Self(2);

    /// The format without its sub-format.
    pub fn primary(self) -> u32 {
        self.0 & 0xff
    }

    /// The sub-format.
    pub fn sub(self) -> i32 {
        ((self.0 & 0x00ff_ff00) >> 8) as i32
    }

    /// The table's name; `None` for numbers that are not in it.
    pub fn name(self) -> Option<&'static str> {
        match self.primary() {
            255 => Some("MAX"),
            number => FORMATS.get(number as usize).copied(),
        }
    }

    /// By the table's name, `FORMAT_` in front or not.
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("FORMAT_").unwrap_or(name);
        FORMATS.iter().position(|format| *format == bare).map(|number| Self(number as u32))
    }
}

impl Default for Format {
    fn default() -> Self {
        Self::ND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t21_numbers_of_dump_files_are_not_those_of_ge() {
        for (kind, dump, ge) in [
            (DataType::Float, 1, Some(0)),
            (DataType::Float16, 2, Some(1)),
            (DataType::Int32, 7, Some(3)),
            (DataType::Int64, 8, Some(9)),
            (DataType::Double, 12, Some(11)),
            (DataType::Bool, 11, Some(12)),
            (DataType::Bf16, 27, Some(27)),
            (DataType::Hifloat4Scale, 42, None),
        ] {
            assert_eq!((kind.number(), kind.ge_number()), (dump, ge), "{kind}");
        }
    }

    #[test]
    fn every_type_reads_back_by_number_and_name() {
        for (number, &kind) in DataType::ALL.iter().enumerate() {
            assert_eq!(kind.number() as usize, number);
            assert_eq!(DataType::from_number(number as i32), Some(kind));
            assert_eq!(DataType::from_name(kind.name()), Some(kind));
            assert_eq!(DataType::from_name(&format!("DT_{kind}")), Some(kind));
        }
        assert_eq!(DataType::ALL.len(), 43);
        for number in [-1, 43, i32::MAX] {
            assert_eq!(DataType::from_number(number), None);
        }
        assert_eq!(DataType::from_name("f32"), Some(DataType::Float));
        assert_eq!(DataType::from_name("f33"), None);
    }

    #[test]
    fn sizes_are_packed() {
        assert_eq!(DataType::Int4.bytes(3), Some(2));
        assert_eq!(DataType::Uint1.bytes(9), Some(2));
        assert_eq!(DataType::Float.bytes(0), Some(0));
        assert_eq!(DataType::String.bytes(3), None);
        assert_eq!(DataType::Double.bytes(u64::MAX), None);
    }

    #[test]
    fn formats_have_a_primary_and_a_sub_format() {
        let word = Format(0x0012_3403);
        assert_eq!((word.primary(), word.sub(), word.name()), (3, 0x1234, Some("NC1HWC0")));
        for (name, number) in [("NCHW", 0), ("ND", 2), ("C1HWNCoC0", 25), ("FRACTAL_NZ", 29), ("C1HWC0", 49)]
        {
            assert_eq!(Format::from_name(name), Some(Format(number)));
            assert_eq!(Format(number).name(), Some(name));
        }
        assert_eq!(Format::from_name("FORMAT_ND"), Some(Format::ND));
        assert_eq!((Format(50).name(), Format(255).name()), (None, Some("MAX")));
    }
}
