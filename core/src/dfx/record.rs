//! The records themselves, word by word (dfx spec §1.5). Little-endian; task ids are
//! `ring << 32 | local`.

use super::profile::PoolKind;

/// Builds a record of at most [`Record::MOST`] bytes; words that nobody sets are padding. Those of dep_gen
/// are longer: [`dep_gen`] builds them.
#[derive(Clone, Debug)]
pub struct Record {
    words: [u32; Self::MOST as usize / 4],
    len: usize,
}

impl Record {
    /// Bytes of the longest.
    pub const MOST: u32 = 128;

    /// A record of `bytes` bytes of zero; at most [`Record::MOST`].
    #[inline]
    pub fn new(bytes: u32) -> Self {
        Self { words: [0; Self::MOST as usize / 4], len: (bytes.min(Self::MOST) / 4) as usize }
    }

    /// Sets the 32-bit field at byte `at`.
    #[must_use]
    #[inline]
    pub fn u32(mut self, at: usize, value: u32) -> Self {
        self.words[at / 4] = value;
        self
    }

    /// Sets the 64-bit field at byte `at`; fields of the real records are 4-byte aligned at least.
    #[must_use]
    #[inline]
    pub fn u64(self, at: usize, value: u64) -> Self {
        self.u32(at, value as u32).u32(at + 4, (value >> 32) as u32)
    }

    /// Sets the 16-bit field at byte `at`.
    #[must_use]
    #[inline]
    pub fn u16(self, at: usize, value: u16) -> Self {
        let [low, high] = value.to_le_bytes();
        self.u8(at, low).u8(at + 1, high)
    }

    /// Sets the byte at `at`.
    #[must_use]
    #[inline]
    pub fn u8(mut self, at: usize, value: u8) -> Self {
        set_byte(&mut self.words, at, value);
        self
    }

    /// The words.
    pub fn words(&self) -> &[u32] {
        &self.words[..self.len]
    }
}

fn set_byte(words: &mut [u32], at: usize, value: u8) {
    let shift = at % 4 * 8;
    let word = &mut words[at / 4];
    *word = *word & !(0xff << shift) | u32::from(value) << shift;
}

/// Reads fields of a record.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(pub &'a [u32]);

impl View<'_> {
    /// The 32-bit field at byte `at`.
    pub fn u32(self, at: usize) -> u32 {
        self.0.get(at / 4).copied().unwrap_or(0)
    }
    /// The signed 32-bit field at byte `at`.
    pub fn i32(self, at: usize) -> i32 {
        self.u32(at) as i32
    }
    /// The 64-bit field at byte `at`.
    pub fn u64(self, at: usize) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }
    /// The 16-bit field at byte `at`.
    pub fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes([self.u8(at), self.u8(at + 1)])
    }
    /// The byte at `at`.
    pub fn u8(self, at: usize) -> u8 {
        (self.u32(at / 4 * 4) >> (at % 4 * 8)) as u8
    }
    /// A text that ends at the first zero.
    pub fn text(self, at: usize, most: usize) -> String {
        let bytes: Vec<u8> = (at..at + most).map(|at| self.u8(at)).take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Dependencies that a dep_gen record holds itself.
pub const INLINE_DEPS: usize = 64;
/// Dependencies in each slot after it.
pub const OVERFLOW_DEPS: usize = 582;
/// dep_gen: the chain goes on; a slot of a chain; its last one.
pub const HAS_OVERFLOW: u32 = 2;
/// As [`HAS_OVERFLOW`].
pub const OVERFLOW: u32 = 4;
/// As [`HAS_OVERFLOW`].
pub const LAST_OVERFLOW: u32 = 8;

/// The slots of a dep_gen record: one, and one more for each 582 dependencies above 64 (dfx spec §6.4).
pub fn dep_gen(task: u64, deps: &[u64], kernel: i32, arguments: &[(u8, u64, u64)]) -> Vec<u32> {
    let mut words = Vec::new();
    let slots = dep_gen_used(&mut words, task, deps, kernel, arguments);
    words.resize(slots as usize * DEP_GEN_WORDS, 0);
    words
}

/// Words of one slot of dep_gen.
const DEP_GEN_WORDS: usize = PoolKind::DepGen.record_bytes() as usize / 4;

/// As [`dep_gen`], into `words` and without what nobody sets at the end of the last slot: that is most of
/// it. How many slots there are.
pub fn dep_gen_used(
    words: &mut Vec<u32>,
    task: u64,
    deps: &[u64],
    kernel: i32,
    arguments: &[(u8, u64, u64)],
) -> u32 {
    let (inline, rest) = deps.split_at(deps.len().min(INLINE_DEPS));
    let arguments = &arguments[..arguments.len().min(32)];
    let flags = if rest.is_empty() { 0 } else { HAS_OVERFLOW };
    let halves = |value: u64| [value as u32, (value >> 32) as u32];
    let pair = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
    words.clear();
    words.extend(halves(task));
    words.extend([flags, pair(arguments.len() as u16, inline.len() as u16)]);
    words.extend(inline.iter().flat_map(|&dep| halves(dep)));
    words.resize(140, 0);
    for (n, (kind, ..)) in arguments.iter().enumerate() {
        set_byte(words, 528 + n, *kind);
    }
    words.extend([kernel as u32, u32::MAX, u32::MAX, 1]);
    for (n, &(_, address, bytes)) in arguments.iter().enumerate() {
        words.resize(144 + 32 * n, 0);
        words.extend(halves(address));
        words.extend(halves(bytes));
    }
    let mut slots = 1;
    let last = rest.len().div_ceil(OVERFLOW_DEPS);
    for (n, deps) in rest.chunks(OVERFLOW_DEPS).enumerate() {
        let flags = if n + 1 == last { OVERFLOW | LAST_OVERFLOW } else { OVERFLOW };
        words.resize(slots * DEP_GEN_WORDS, 0);
        words.extend(halves(task));
        words.extend([flags, pair(deps.len() as u16, 0)]);
        words.extend(deps.iter().flat_map(|&dep| halves(dep)));
        slots += 1;
    }
    slots as u32
}

/// The argument records of both dumps.
#[derive(Clone, Debug, Default)]
pub struct Argument {
    /// `ring << 32 | local`.
    pub task: u64,
    /// 0 input, 1 output, 2 both.
    pub role: u8,
    /// 0 before dispatch, 1 after completion.
    pub stage: u8,
    /// Its place among the task's arguments.
    pub index: u32,
    /// dfx spec §4.5.
    pub dtype: u8,
    /// At most five.
    pub shape: Vec<u32>,
    /// Of its elements, in elements.
    pub strides: Vec<u32>,
    /// Of the first element, in elements.
    pub start: u64,
    /// 0 tensor, 1 scalar.
    pub kind: u8,
    /// Its bits, if it is a scalar.
    pub scalar: u64,
    /// Function of the task; 0xFFFF where unknown.
    pub function: u16,
}

impl Argument {
    /// The record, without a payload.
    pub fn record(&self) -> Record {
        let contiguous = self.is_contiguous();
        let mut record = Record::new(128)
            .u64(0, self.task)
            .u8(8, self.role)
            .u8(9, self.stage)
            .u8(10, self.shape.len().min(5) as u8)
            .u32(12, self.index)
            .u8(16, self.dtype)
            .u8(18, u8::from(contiguous))
            .u64(40, self.scalar)
            .u8(48, self.kind)
            .u16(50, self.function)
            .u8(56, 1)
            .u64(64, self.start);
        for (n, (stride, extent)) in self.strides.iter().zip(&self.shape).take(5).enumerate() {
            record = record.u32(72 + 4 * n, *stride).u32(92 + 4 * n, *extent);
        }
        record
    }

    /// Whether its elements lie side by side in the order of its indices.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1_u64;
        self.shape.iter().zip(&self.strides).rev().all(|(extent, stride)| {
            let holds = *extent == 1 || u64::from(*stride) == expected;
            expected = expected.saturating_mul(u64::from(*extent));
            holds
        })
    }
}

/// The logical, contiguous bytes of a strided view (dfx spec §4.1): the innermost dimension in one
/// copy where its stride is 1, else element by element. Bytes beyond `memory` are 0. They are put at the
/// end of `bytes`, at most `most` of them.
pub fn gather(argument: &Argument, element: usize, memory: &[u8], most: usize, bytes: &mut Vec<u8>) {
    let most = bytes.len().saturating_add(most);
    let count = argument.shape.iter().fold(1_u64, |count, extent| count.saturating_mul(u64::from(*extent)));
    let (run, step) = match (argument.shape.last(), argument.strides.last()) {
        (Some(&extent), Some(&1)) => (u64::from(extent), argument.shape.len() - 1),
        _ => (1, argument.shape.len()),
    };
    // Of the dimensions that are not copied whole.
    let mut index = vec![0_u64; step];
    let mut done = 0;
    while done < count && bytes.len() < most {
        let offset = index
            .iter()
            .zip(&argument.strides)
            .fold(argument.start, |at, (i, stride)| at.saturating_add(i * u64::from(*stride)));
        let start = usize::try_from(offset).unwrap_or(usize::MAX).saturating_mul(element);
        let wanted = (run as usize).saturating_mul(element).min(most - bytes.len());
        let there = memory.get(start.min(memory.len())..).unwrap_or(&[]);
        let have = there.len().min(wanted);
        bytes.extend_from_slice(&there[..have]);
        bytes.resize(bytes.len() + wanted - have, 0);
        done += run.max(1);
        // The odometer of the outer dimensions.
        for at in (0..step).rev() {
            index[at] += 1;
            if index[at] < u64::from(argument.shape[at]) {
                break;
            }
            index[at] = 0;
        }
    }
}

/// Bytes of an element by dtype (dfx spec §4.5).
pub const DTYPE_BYTES: [usize; 15] = [4, 2, 4, 2, 1, 1, 2, 8, 8, 2, 4, 1, 1, 1, 1];
/// Names of dtypes.
pub const DTYPES: [&str; 15] = [
    "FLOAT32",
    "FLOAT16",
    "INT32",
    "INT16",
    "INT8",
    "UINT8",
    "BFLOAT16",
    "INT64",
    "UINT64",
    "UINT16",
    "UINT32",
    "BOOL",
    "FP8E4M3FN",
    "FP8E8M0",
    "FP4E2M1",
];

/// Which scopes are open; a scope too deep to be recorded must not end an outer one (T13).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scopes {
    depth: u32,
    too_deep: u32,
}

/// Deepest scope that is recorded.
pub const MAX_SCOPES: u32 = 64;

impl Scopes {
    /// A scope begins: at which depth, or None if it is too deep to be recorded.
    pub fn begin(&mut self, faults: super::Faults) -> Option<u32> {
        if self.depth == MAX_SCOPES {
            self.too_deep += u32::from(!faults.has(super::Fault::ScopeDepth));
            return None;
        }
        self.depth += 1;
        Some(self.depth - 1)
    }

    /// A scope ends: which depth to record.
    pub fn end(&mut self) -> Option<u32> {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return None;
        }
        self.depth = self.depth.checked_sub(1)?;
        Some(self.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, Faults};
    use super::*;

    #[test]
    fn chains_have_the_slots_of_the_spec() {
        #[track_caller]
        fn check(deps: usize, slots: usize) {
            let deps: Vec<u64> = (0..deps as u64).collect();
            let words = dep_gen(7, &deps, 1, &[]);
            assert_eq!(words.len(), slots * 1168, "{} dependencies", deps.len());
            let mut read = Vec::new();
            for (n, slot) in words.chunks(1168).map(View).enumerate() {
                let (count, inline) = if n == 0 { (slot.u16(14), true) } else { (slot.u16(12), false) };
                read.extend((0..usize::from(count)).map(|n| slot.u64(16 + 8 * n)));
                assert_eq!(slot.u32(8) & OVERFLOW == 0, inline);
            }
            assert_eq!(read, deps);
        }
        // The lengths of the upstream scene test.
        check(0, 1);
        check(64, 1);
        check(65, 2);
        check(200, 2);
        check(391, 2);
        check(64 + 582, 2);
        check(64 + 583, 3);
    }

    #[test]
    fn a_strided_view_is_gathered_in_logical_order() {
        let memory: Vec<u8> = (0..24).collect();
        let view = |shape: &[u32], strides: &[u32], start| Argument {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            start,
            ..Argument::default()
        };
        let gather = |argument: &Argument, element, memory: &[u8], most| {
            let mut bytes = vec![9];
            gather(argument, element, memory, most, &mut bytes);
            assert_eq!(bytes.remove(0), 9, "what was there stays");
            bytes
        };
        let row = view(&[2, 3], &[6, 1], 1);
        assert!(!row.is_contiguous());
        assert_eq!(gather(&row, 1, &memory, 99), [1, 2, 3, 7, 8, 9]);
        let column = view(&[3, 2], &[1, 6], 0);
        assert_eq!(gather(&column, 1, &memory, 99), [0, 6, 1, 7, 2, 8]);
        assert_eq!(gather(&column, 2, &memory, 6), [0, 1, 12, 13, 2, 3], "cut");
        assert!(view(&[2, 12], &[12, 1], 0).is_contiguous());
        assert_eq!(gather(&view(&[], &[], 3), 1, &memory, 9), [3], "no dimensions: one element");
    }

    /// T13, an order inside a pool that I6 asks for: every end belongs to the last open begin.
    #[test]
    fn ends_belong_to_the_last_open_begin() {
        let run = |faults: Faults| {
            let mut scopes = Scopes::default();
            let begun: Vec<_> = (0..70).map(|_| scopes.begin(faults)).collect();
            let ended: Vec<_> = (0..70).map(|_| scopes.end()).collect();
            begun.into_iter().rev().eq(ended)
        };
        assert!(run(Faults::default()));
        assert!(!run([Fault::ScopeDepth].into_iter().collect()), "six ends close scopes that are open");
    }

    #[test]
    fn fields_are_where_the_device_has_them() {
        let argument =
            Argument { task: 1 << 40 | 5, role: 1, stage: 1, index: 3, dtype: 2, ..Default::default() };
        let record = argument.record().u64(24, 77).u64(32, 12);
        let view = View(record.words());
        assert_eq!((view.u64(0), view.u8(8), view.u8(9), view.u32(12)), (1 << 40 | 5, 1, 1, 3));
        assert_eq!((view.u8(16), view.u64(24), view.u64(32), view.u8(18)), (2, 77, 12, 1));
    }
}
