//! The allocations of a buffer assignment: sizes and purposes, for people and for the analysis of
//! reuse. The rules do not need them, so a buffer assignment that cannot be read is a warning.

use super::wire::Message;
use crate::diagnostic::Diagnostic;
use crate::program::{Allocation, AllocationKind, MAX_END};

/// Where a buffer assignment lists its allocations.
const ALLOCATION: u32 = 3;

/// XLA's `BufferAllocation`, as far as it is used: index, size, thread local, parameter, its number, live out,
/// constant. Field numbers as seen in the samples.
const FIELDS: [u32; 7] = [1, 2, 3, 5, 6, 7, 12];

/// More allocations than this are not read.
const MAX_ALLOCATIONS: usize = 1_000_000;

/// The allocations, by ascending index.
///
/// # Errors
/// `XI003`, `XI004`, `XI008`, `XI011`: the caller turns them into the warning `XI014`.
pub(super) fn read(assignment: Message<'_>) -> Result<Vec<Allocation>, Diagnostic> {
    let mut allocations = Vec::new();
    for field in assignment.fields() {
        let field = field?;
        if field.number != ALLOCATION {
            continue;
        }
        if allocations.len() == MAX_ALLOCATIONS {
            return Err(Diagnostic::error(
                "XI011",
                super::wire::place(field.at),
                format!("at most {MAX_ALLOCATIONS} allocations"),
            ));
        }
        let numbers = field.message("an allocation")?.integers(FIELDS, "an allocation")?;
        allocations.push(allocation(numbers).ok_or_else(|| {
            let [index, size, ..] = numbers;
            Diagnostic::error("XI008", super::wire::place(field.at), "an index and a size in range")
                .found(format!("index {index}, size {size}"))
        })?);
    }
    allocations.sort_unstable_by_key(|allocation| allocation.index);
    if let Some(pair) = allocations.windows(2).find(|pair| pair[0].index == pair[1].index) {
        return Err(Diagnostic::error("XI008", super::wire::place(assignment.start), "each allocation once")
            .found(format!("index {} twice", pair[0].index)));
    }
    Ok(allocations)
}

fn allocation(numbers: [i64; FIELDS.len()]) -> Option<Allocation> {
    let [index, size, thread_local, parameter, parameter_number, live_out, constant] = numbers;
    let size = u64::try_from(size).ok().filter(|&size| size <= MAX_END)?;
    // A donated argument is both parameter and output: it is there before the program runs.
    let kind = if parameter != 0 {
        AllocationKind::Parameter
    } else if constant != 0 {
        AllocationKind::Constant
    } else if live_out != 0 {
        AllocationKind::Output
    } else if thread_local != 0 {
        AllocationKind::ThreadLocal
    } else {
        AllocationKind::Temporary
    };
    let label = match kind {
        AllocationKind::Parameter => format!("parameter {parameter_number}"),
        _ => String::new(),
    };
    Some(Allocation { index: u32::try_from(index).ok()?, size, kind, label })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let shown = match read(Message::whole(bytes)) {
            Ok(list) => list
                .iter()
                .map(|a| format!("{}:{}:{:?}:{}", a.index, a.size, a.kind, a.label))
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.code.clone(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn kinds_by_flag() {
        check(b"\x1a\x04\x10\x08\x38\x01", "0:8:Output:");
        check(b"\x1a\x06\x08\x01\x10\x08\x28\x01", "1:8:Parameter:parameter 0");
        check(b"\x1a\x06\x08\x01\x28\x01\x30\x05", "1:0:Parameter:parameter 5");
        check(b"\x1a\x06\x08\x02\x10\x08\x60\x01", "2:8:Constant:");
        check(b"\x1a\x06\x08\x02\x10\x08\x18\x01", "2:8:ThreadLocal:");
        check(b"\x1a\x04\x08\x03\x10\x08", "3:8:Temporary:");
    }

    #[test]
    fn order_is_by_index_and_other_fields_are_skipped() {
        check(b"\x1a\x08\x08\x04\x10\x08\x4a\x02ab", "4:8:Temporary:");
        check(
            b"\x0a\x02\x08\x01\x1a\x04\x08\x03\x10\x08\x1a\x04\x08\x01\x10\x08",
            "1:8:Temporary: 3:8:Temporary:",
        );
    }

    #[test]
    fn bad_ones_are_refused() {
        check(b"\x1a\x04\x08\x03", "XI003");
        check(b"\x18\x04", "XI004");
        check(b"\x1a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "XI008");
        check(b"\x1a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "XI008");
        check(b"\x1a\x02\x08\x03\x1a\x02\x08\x03", "XI008");
    }
}
