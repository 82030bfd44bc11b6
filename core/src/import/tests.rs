//! Executables made by hand: every kind, every form of slice, and everything that can be wrong.

use super::*;
use crate::program::{Access, Kind, ResourceKind, Sequence};

/// A length-delimited field.
fn f(number: u32, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [varint(u64::from(number) << 3 | 2), varint(body.len() as u64), body].concat()
}

/// A number.
fn v(number: u32, value: i64) -> Vec<u8> {
    [varint(u64::from(number) << 3), varint(value as u64)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A plain slice `{offset, size, allocation}`, zeros left out as protobuf does.
fn plain(allocation: i64, offset: i64, size: i64) -> Vec<u8> {
    [(1, offset), (2, size), (3, allocation)]
        .into_iter()
        .filter(|&(_, value)| value != 0)
        .flat_map(|(number, value)| v(number, value))
        .collect()
}

const SHAPE: &[u8] = b"\x10\x0b\x1a\x02\x40\x40";

/// `{1: shape, 2: slice}`.
fn shaped(allocation: i64, offset: i64, size: i64) -> Vec<u8> {
    [f(1, &[SHAPE]), f(2, &[&plain(allocation, offset, size)])].concat()
}

/// `{1: slice, 2: shape}`, as kernels have it since 0.10.2.
fn argument(allocation: i64, offset: i64, size: i64) -> Vec<u8> {
    [f(1, &[&plain(allocation, offset, size)]), f(2, &[SHAPE])].concat()
}

fn thunk(kind: &str, name: &str, field: u32, body: &[&[u8]]) -> Vec<u8> {
    let info = f(2, &[&f(1, &[name.as_bytes()]), &f(2, &[b"jit_f"])]);
    [f(1, &[kind.as_bytes()]), info, f(field, body)].concat()
}

fn sequence(thunks: &[Vec<u8>], table: &[Vec<u8>]) -> Vec<u8> {
    let thunks = thunks.iter().map(|thunk| f(1, &[thunk]));
    thunks.chain(table.iter().map(|entry| f(2, &[entry]))).flatten().collect()
}

/// An entry of the resource table: packed indices, kind 1 token or 2 communicator.
fn entry(thunks: &[u8], kind: i64) -> Vec<u8> {
    [f(1, &[thunks]), f(2, &[&v(1, kind)])].concat()
}

/// The module with its configuration, which every executable begins with.
fn hlo() -> Vec<u8> {
    let module = [f(1, &[b"jit_f"]), f(2, &[b"main"]), f(3, &[b""])].concat();
    [f(1, &[&module]), f(2, &[b""])].concat()
}

/// A compilation result with two allocations.
fn result(thunks: &[u8]) -> Vec<u8> {
    let allocations = [f(3, &[&v(2, 64), &v(5, 1)]), f(3, &[&v(1, 1), &v(2, 32), &v(7, 1)])].concat();
    [f(1, &[&hlo()]), f(2, &[&allocations]), f(6, &[thunks])].concat()
}

fn show(sequence: &Sequence, program: &Program) -> String {
    let letter = |access| if access == Access::Read { 'R' } else { 'W' };
    let one = |thunk: &crate::program::Thunk| {
        let mut out = format!("{} {}", thunk.kind, thunk.name);
        for used in &thunk.uses {
            let slice = used.slice;
            out += &format!(" {}[{}:{}+{}]", letter(used.access), slice.allocation, slice.offset, slice.size);
        }
        for used in &thunk.resources {
            let kind = match program.resources[used.resource as usize].kind {
                ResourceKind::Token => 'T',
                ResourceKind::Communicator => 'C',
            };
            out += &format!(" {}{kind}{}", letter(used.access), used.resource);
        }
        for (flag, word) in
            [(thunk.may_block, "blocks"), (thunk.uses_unknown, "unknown"), (thunk.pending, "pending")]
        {
            if flag {
                out += &format!(" {word}");
            }
        }
        if let Some(count) = thunk.trip_count {
            out += &format!(" {count}x");
        }
        for nested in &thunk.nested {
            out += &format!(" {}{{{}}}", nested.role, show(&nested.sequence, program));
        }
        out
    };
    sequence.thunks.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn shown(bytes: &[u8], options: &ReadOptions) -> String {
    match read(bytes, "test", options) {
        Ok(Imported { program, warnings }) => {
            let mut out = show(&program.sequence, &program);
            for warning in warnings {
                out += &format!(" | {} {}", warning.code, warning.path);
            }
            out
        }
        Err(error) => format!("{} {} ({})", error.code, error.path, error.value),
    }
}

/// Reads a sequence of thunks with a resource table.
#[track_caller]
fn check_sequence(thunks: &[Vec<u8>], table: &[Vec<u8>], expected: &str) {
    assert_eq!(shown(&result(&sequence(thunks, table)), &ReadOptions::default()), expected);
}

/// Reads one thunk.
#[track_caller]
fn check(kind: &str, field: u32, body: &[&[u8]], expected: &str) {
    check_sequence(&[thunk(kind, "t", field, body)], &[], expected);
}

#[test]
fn copy_like_kinds() {
    let (a, b, c) = (shaped(1, 0, 8), shaped(2, 8, 16), shaped(3, 4, 4));
    check("copy", 12, &[&f(1, &[&a]), &f(2, &[&b])], "copy t R[1:0+8] W[2:8+16]");
    check("fft", 13, &[&v(1, 1), &f(4, &[&a]), &f(5, &[&b])], "fft t R[1:0+8] W[2:8+16]");
    check(
        "dot",
        7,
        &[&f(1, &[]), &f(2, &[&a]), &f(3, &[&b]), &f(4, &[&c])],
        "dot t R[1:0+8] R[2:8+16] W[3:4+4]",
    );
    check(
        "convolution",
        17,
        &[&f(4, &[&a]), &f(5, &[&b]), &f(6, &[&c])],
        "convolution t R[1:0+8] R[2:8+16] W[3:4+4]",
    );
    check("sort", 5, &[&f(5, &[&a]), &f(5, &[&b])], "sort t W[1:0+8] W[2:8+16]");
    check(
        "topk",
        9,
        &[&v(1, 8), &f(4, &[&plain(1, 0, 8)]), &f(5, &[&plain(2, 0, 4)]), &f(6, &[&plain(3, 0, 4)])],
        "topk t R[1:0+8] W[2:0+4] W[3:0+4]",
    );
}

#[test]
fn random_numbers_and_identities() {
    check(
        "rng-get-and-update-state",
        8,
        &[&v(1, 7), &f(2, &[&plain(9, 0, 16)])],
        "rng-get-and-update-state t W[9:0+16]",
    );
    check("rng-seed", 22, &[&f(1, &[&plain(1, 0, 8)])], "rng-seed t W[1:0+8]");
    check("partition-id", 19, &[&f(1, &[&plain(1, 0, 4)])], "partition-id t W[1:0+4]");
    check("replica-id", 20, &[&f(1, &[&plain(1, 0, 4)])], "replica-id t W[1:0+4]");
    // A slice of zeros has no bytes.
    check("replica-id", 20, &[&f(1, &[])], "replica-id t W[0:0+0]");
}

#[test]
fn kernels_of_both_generations() {
    let (old, new) = (plain(2, 8, 16), argument(2, 8, 16));
    check("kernel", 11, &[&f(1, &[b"k"]), &f(5, &[&old]), &f(6, &[&old])], "kernel t R[2:8+16] W[2:8+16]");
    check("kernel", 11, &[&f(1, &[b"k"]), &f(5, &[&new]), &f(6, &[&new])], "kernel t R[2:8+16] W[2:8+16]");
    // Nothing in it but an allocation; the empty slice; a slice of zeros with its shape.
    check("kernel", 11, &[&f(5, &[&v(3, 7)]), &f(6, &[])], "kernel t R[7:0+0] W[0:0+0]");
    check(
        "kernel",
        11,
        &[&f(5, &[&f(1, &[]), &f(2, &[SHAPE])]), &f(6, &[&f(2, &[SHAPE])])],
        "kernel t R[0:0+0] W[0:0+0]",
    );
    check("kernel", 11, &[], "kernel t");
}

#[test]
fn library_fusions() {
    let (a, b, c) = (shaped(1, 0, 8), shaped(2, 0, 8), shaped(3, 0, 8));
    check(
        "ynn-fusion",
        21,
        &[&f(3, &[&a]), &f(3, &[&b]), &f(4, &[&c])],
        "ynn-fusion t R[1:0+8] R[2:0+8] W[3:0+8]",
    );
    let dot = f(2, &[&f(2, &[&a]), &f(3, &[&b]), &f(4, &[&c])]);
    check("xnn-fusion", 6, &[&f(1, &[]), &dot], "xnn-fusion t R[1:0+8] R[2:0+8] W[3:0+8]");
    let convolution = f(3, &[&f(4, &[&a]), &f(5, &[&b]), &f(6, &[&c])]);
    check("xnn-fusion", 6, &[&convolution], "xnn-fusion t R[1:0+8] R[2:0+8] W[3:0+8]");
    let fusion = f(4, &[&f(1, &[&a]), &f(1, &[&b]), &f(2, &[&c])]);
    check("xnn-fusion", 6, &[&fusion], "xnn-fusion t R[1:0+8] R[2:0+8] W[3:0+8]");
    let custom = f(4, &[&f(1, &[&a]), &f(1, &[&b]), &f(2, &[&c])]);
    check("custom-call", 16, &[&f(2, &[b"target"]), &custom], "custom-call t R[1:0+8] R[2:0+8] W[3:0+8]");
    check("custom-call", 16, &[&f(2, &[b"target"])], "custom-call t");
}

/// A collective with that field of parameters.
fn collective(name: &str, kind: &str, parameters: Option<u32>) -> Vec<u8> {
    let buffers = f(2, &[&f(1, &[&shaped(1, 0, 8)]), &f(2, &[&shaped(2, 0, 8)])]);
    let parameters = parameters.map(|field| f(field, &[])).unwrap_or_default();
    thunk(kind, name, 18, &[&f(1, &[]), &buffers, &parameters])
}

#[test]
fn collectives_by_their_parameters() {
    let uses = "R[1:0+8] W[2:0+8] WC0 blocks";
    for (field, kind) in [
        (4, "all-gather"),
        (5, "all-reduce"),
        (6, "all-to-all"),
        (7, "reduce-scatter"),
        (8, "collective-permute"),
    ] {
        check_sequence(
            &[collective("c", "collective", Some(field))],
            &[entry(&[0], 2)],
            &format!("{kind} c {uses}"),
        );
        assert!(Kind::from_name(kind).is_some_and(Kind::is_collective));
    }
    check_sequence(
        &[collective("c", "all-to-all", None)],
        &[entry(&[0], 2)],
        &format!("all-to-all c {uses}"),
    );
    check_sequence(
        &[collective("c", "collective", None)],
        &[entry(&[0], 2)],
        &format!("collective c {uses}"),
    );
}

/// An infeed (14) or outfeed (15).
fn feed(name: &str, field: u32) -> Vec<u8> {
    let port = |number| f(number, &[&f(1, &[&v(1, 1)]), &v(2, 1)]);
    let kind = if field == 14 { "infeed" } else { "outfeed" };
    thunk(kind, name, field, &[&f(1, &[&port(1), &port(2)]), &f(2, &[&shaped(1, 0, 8)])])
}

#[test]
fn feeds_hand_their_token_on() {
    check_sequence(
        &[feed("in", 14), feed("out", 15), feed("more", 15)],
        &[entry(&[0], 1), entry(&[0, 1], 1), entry(&[1, 2], 1), entry(&[2], 1)],
        "infeed in W[1:0+8] RT0 WT1 blocks; outfeed out R[1:0+8] RT1 WT2 blocks; outfeed more R[1:0+8] RT2 WT3 blocks",
    );
    // Twice in one entry: takes a token and gives the same one back.
    check_sequence(&[feed("in", 14)], &[entry(&[0, 0], 1)], "infeed in W[1:0+8] RT0 WT0 blocks");
    check_sequence(
        &[feed("in", 14)],
        &[entry(&[0], 1), entry(&[0], 1)],
        "infeed in W[1:0+8] RT0 WT1 blocks | XI017 entry",
    );
}

#[test]
fn one_token_that_is_only_taken_or_only_given() {
    let with = |ports: &[u8]| thunk("infeed", "in", 14, &[&f(1, &[ports]), &f(2, &[&shaped(1, 0, 8)])]);
    let port = |number| f(number, &[&v(2, 1)]);
    check_sequence(&[with(&port(1))], &[entry(&[0], 1)], "infeed in W[1:0+8] RT0 blocks");
    check_sequence(&[with(&port(2))], &[entry(&[0], 1)], "infeed in W[1:0+8] WT0 blocks");
    check_sequence(&[with(&[])], &[entry(&[0], 1)], "infeed in W[1:0+8] RT0 WT0 blocks");
}

#[test]
fn without_a_table_all_share() {
    let two =
        [collective("a", "collective", Some(5)), collective("b", "collective", Some(5)), feed("in", 14)];
    check_sequence(
        &two,
        &[],
        "all-reduce a R[1:0+8] W[2:0+8] WC1 blocks; all-reduce b R[1:0+8] W[2:0+8] WC1 blocks; \
         infeed in W[1:0+8] RT0 WT0 blocks | XI019 entry",
    );
    // One alone shares with nobody: nothing to say.
    check_sequence(&two[..1], &[], "all-reduce a R[1:0+8] W[2:0+8] WC0 blocks");
}

#[test]
fn nested_sequences_have_resources_of_their_own() {
    let inner = sequence(&[collective("i", "collective", Some(5))], &[entry(&[0], 2)]);
    let condition = sequence(&[thunk("kernel", "less", 11, &[&f(6, &[&plain(4, 0, 1)])])], &[]);
    let body: &[&[u8]] =
        &[&f(1, &[&condition]), &f(2, &[&inner]), &f(3, &[&v(1, 5), &v(2, 1)]), &f(4, &[&plain(4, 0, 1)])];
    check_sequence(
        &[collective("o", "collective", Some(5)), thunk("while", "w", 10, body)],
        &[entry(&[0, 1], 2)],
        "all-reduce o R[1:0+8] W[2:0+8] WC0 blocks; \
         while w W[4:0+1] WC0 5x cond{kernel less W[4:0+1]} body{all-reduce i R[1:0+8] W[2:0+8] WC1 blocks}",
    );
    check_sequence(
        &[collective("o", "collective", Some(5)), thunk("while", "w", 10, body)],
        &[],
        "all-reduce o R[1:0+8] W[2:0+8] WC1 blocks; \
         while w W[4:0+1] WC1 5x cond{kernel less W[4:0+1]} body{all-reduce i R[1:0+8] W[2:0+8] WC0 blocks} | XI019 entry",
    );
}

#[test]
fn control_flow() {
    let one = |name: &str| sequence(&[thunk("replica-id", name, 20, &[&f(1, &[&plain(1, 0, 4)])])], &[]);
    check("call", 3, &[&f(1, &[&one("a")])], "call t call{replica-id a W[1:0+4]}");
    check(
        "conditional",
        4,
        &[&f(1, &[&one("a")]), &f(1, &[]), &f(1, &[&one("b")]), &f(2, &[&plain(2, 0, 4)])],
        "conditional t R[2:0+4] branch_0{replica-id a W[1:0+4]} branch_1{} branch_2{replica-id b W[1:0+4]}",
    );
    // A loop whose number of rounds is not known, and one as an older release might write it.
    let parts = |count: Vec<u8>| [f(1, &[]), f(2, &[]), count, f(4, &[&plain(2, 0, 1)])].concat();
    check("while", 10, &[&parts(f(3, &[]))], "while t W[2:0+1] cond{} body{}");
    check("while", 10, &[&parts(v(3, 6))], "while t W[2:0+1] 6x cond{} body{}");
    check("while", 10, &[&parts(f(3, &[&v(1, -6), &v(2, 1)]))], "while t W[2:0+1] cond{} body{}");
}

#[test]
fn all_wrappings() {
    let inner = result(&sequence(&[thunk("kernel", "k", 11, &[])], &[]));
    let once = [f(1, &[&inner]), f(2, &[b""])].concat();
    let twice = f(1, &[&once]);
    let header = [v(1, 3), f(2, &[b"pjrt_ifrt"])].concat();
    let with_header = |rest: &[u8]| [varint(header.len() as u64), header.clone(), rest.to_vec()].concat();
    for bytes in [
        inner.clone(),
        once.clone(),
        twice.clone(),
        with_header(&inner),
        with_header(&once),
        with_header(&twice),
    ] {
        assert_eq!(shown(&bytes, &ReadOptions::default()), "kernel k");
    }
    // A header of ten bytes has the length that a first field would begin with.
    let ten = [varint(10), f(2, &[b"12345678"]), once].concat();
    assert_eq!(shown(&ten, &ReadOptions::default()), "kernel k");
    let program = read(&inner, "", &ReadOptions::default()).expect("reads").program;
    assert_eq!(program.name, "jit_f");
    assert_eq!(program.allocations.len(), 2);
}

#[test]
fn no_allocations_is_no_error() {
    let thunks = f(6, &[]);
    let without = [f(1, &[&hlo()]), thunks.clone()].concat();
    assert_eq!(shown(&without, &ReadOptions::default()), " | XI014 byte 2");
    let broken = [f(1, &[&hlo()]), f(2, &[b"\x1a\x05"]), thunks].concat();
    assert!(shown(&broken, &ReadOptions::default()).starts_with(" | XI014 byte "));
}

#[test]
fn old_executables_and_other_protobuf() {
    let old = [f(1, &[&hlo()]), f(2, &[b""]), f(3, &[b"entry"]), f(4, &[b"\x7fELF"])].concat();
    assert_eq!(shown(&old, &ReadOptions::default()), "XI005 byte 0 (an executable without one)");
    // Sizes that make the first ten bytes after the first look like a header.
    let module = [f(1, &[b"jit_f"]), f(2, &[b"main"]), f(3, &[&[0; 5000]])].concat();
    let long = f(1, &[&f(1, &[&f(1, &[&module]), &f(2, &[&[0; 700]])]), &f(4, &[&[0; 1500]])]);
    assert!(shown(&long, &ReadOptions::default()).starts_with("XI005 byte 3"));
    let module = [f(1, &[b"jit_f"]), f(2, &[b"main"])].concat();
    let hlo_proto = f(1, &[&module]);
    assert_eq!(shown(&hlo_proto, &ReadOptions::default()), "XI002 byte 0 (an HLO module in protobuf)");
    let trace = f(1, &[&v(1, 0), &f(2, &[b"/host:CPU"])]);
    assert!(
        shown(&trace, &ReadOptions::default()).contains("XSpace"),
        "{}",
        shown(&trace, &ReadOptions::default())
    );
    let other = f(3, &[b"\x01\x02"]);
    assert!(
        shown(&other, &ReadOptions::default())
            .starts_with("XI002 byte 0 (bytes of no known format: 1a 02 01 02)")
    );
}

#[test]
fn unknown_thunks_are_named_or_taken_to_clash_with_everything() {
    let bytes =
        result(&sequence(&[thunk("quantum", "q", 23, &[b"abc"]), thunk("kernel", "k", 11, &[])], &[]));
    let strict = shown(&bytes, &ReadOptions::default());
    assert!(strict.starts_with("XI006 byte "), "{strict}");
    assert!(
        strict.contains("in entry thunk 0 (field 23 of kind `quantum`, written by a jaxlib before 0.10)"),
        "{strict}"
    );
    let lenient = shown(&bytes, &ReadOptions { lenient: true, ..ReadOptions::default() });
    assert!(lenient.starts_with("other q unknown; kernel k | XI015 byte "), "{lenient}");
    // A known name with an unknown body keeps its kind.
    let bytes = result(&sequence(&[thunk("copy", "q", 23, &[b"abc"])], &[]));
    let lenient = shown(&bytes, &ReadOptions { lenient: true, ..ReadOptions::default() });
    assert!(lenient.starts_with("copy q unknown | XI015"), "{lenient}");
}

#[test]
fn unknown_fields_beside_known_ones_are_skipped_and_said() {
    let extra = [thunk("kernel", "k", 11, &[]), v(30, 1)].concat();
    let text = shown(&result(&sequence(&[extra], &[])), &ReadOptions::default());
    assert!(text.starts_with("kernel k | XI016 byte ") && text.ends_with(" in entry thunk 0"), "{text}");
    let text = shown(&result(&f(9, &[b"x"])), &ReadOptions::default());
    assert!(text.starts_with(" | XI016 byte "), "{text}");
    let text = shown(&result(&sequence(&[thunk("copy", "k", 11, &[])], &[])), &ReadOptions::default());
    assert!(text.starts_with("kernel k | XI018 byte "), "{text}");
}

/// Reads one thunk that is wrong: expects the code, and the place of the thunk.
#[track_caller]
fn check_wrong(thunk: Vec<u8>, code: &str) {
    let text = shown(&result(&sequence(&[thunk], &[])), &ReadOptions::default());
    assert!(text.starts_with(&format!("{code} byte ")), "{text}");
    assert!(text.contains(" in entry thunk 0 ("), "{text}");
}

#[test]
fn slices_out_of_range() {
    let copy =
        |slice: Vec<u8>| thunk("copy", "t", 12, &[&f(1, &[&f(2, &[&slice])]), &f(2, &[&shaped(0, 0, 1)])]);
    for slice in [
        plain(0, -1, 1),
        plain(0, 0, -1),
        plain(-1, 0, 1),
        plain(1 << 32, 0, 1),
        plain(0, i64::MAX, 1),
        plain(0, 1, i64::MAX),
        plain(0, i64::MAX, i64::MAX),
        plain(0, i64::MIN, i64::MIN),
    ] {
        check_wrong(copy(slice), "XI008");
    }
    let bytes = result(&sequence(&[copy(plain(i64::from(u32::MAX), 1, i64::MAX - 1))], &[]));
    assert!(shown(&bytes, &ReadOptions::default()).starts_with("copy t R[4294967295:1+9223372036854775806]"));
}

#[test]
fn bodies_that_are_not_as_their_kind_needs_them() {
    let slice = shaped(1, 0, 8);
    check_wrong(thunk("copy", "t", 12, &[&f(1, &[&slice])]), "XI007");
    check_wrong(thunk("copy", "t", 12, &[&f(1, &[&slice]), &f(1, &[&slice]), &f(2, &[&slice])]), "XI007");
    check_wrong(thunk("while", "t", 10, &[&f(1, &[]), &f(4, &[&plain(0, 0, 1)])]), "XI007");
    check_wrong(thunk("call", "t", 3, &[&f(1, &[]), &f(1, &[])]), "XI007");
    check_wrong(thunk("xnn-fusion", "t", 6, &[]), "XI007");
    check_wrong([f(1, &[b"copy"])].concat(), "XI007");
    check_wrong([thunk("copy", "t", 12, &[]), f(11, &[])].concat(), "XI007");
    // Wrong wire types, and texts that are none.
    check_wrong([f(1, &[b"copy"]), v(12, 1)].concat(), "XI004");
    check_wrong(thunk("copy", "t", 12, &[&v(1, 5), &f(2, &[&slice])]), "XI004");
    check_wrong(thunk("kernel", "t", 11, &[&f(5, &[&v(1, 1), &f(2, &[SHAPE])])]), "XI004");
    check_wrong([v(1, 5)].concat(), "XI004");
    check_wrong([f(1, &[b"\xff\xfe"])].concat(), "XI004");
    check_wrong(vec![0x0b, 0x0c], "XI004");
    check_wrong(vec![0x0a, 0x7f], "XI003");
    // Lenient reading takes a body that lacks something as one that clashes with everything, but
    // does not guess where bytes are broken.
    let lenient = ReadOptions { lenient: true, ..ReadOptions::default() };
    let bytes = result(&sequence(&[thunk("copy", "t", 12, &[])], &[]));
    assert!(shown(&bytes, &lenient).starts_with("copy t unknown | XI015"));
    let bytes = result(&sequence(&[vec![0x0a, 0x7f]], &[]));
    assert!(shown(&bytes, &lenient).starts_with("XI003"));
}

#[test]
fn resource_tables_that_are_wrong() {
    let one = [collective("c", "collective", Some(5))];
    let read = |table: Vec<u8>| shown(&result(&sequence(&one, &[table])), &ReadOptions::default());
    assert!(read(entry(&[1], 2)).starts_with("XI009 byte "), "{}", read(entry(&[1], 2)));
    assert!(read(entry(&[0x80], 2)).starts_with("XI003 byte "));
    assert!(read([v(1, -1), f(2, &[&v(1, 2)])].concat()).starts_with("XI009 byte "));
    assert!(read([f(1, &[&[0]]), v(2, 2)].concat()).starts_with("XI004 byte "));
    // Not packed: as good. Of an unknown kind: taken as the stricter one.
    assert_eq!(read([v(1, 0), f(2, &[&v(1, 2)])].concat()), "all-reduce c R[1:0+8] W[2:0+8] WC0 blocks");
    assert!(read(entry(&[0], 3)).starts_with("all-reduce c R[1:0+8] W[2:0+8] WT0 blocks | XI009 byte "));
}

/// `depth` calls in one another.
fn calls(depth: usize) -> Vec<u8> {
    let mut inner = sequence(&[], &[]);
    for _ in 0..depth {
        inner = sequence(&[thunk("call", "c", 3, &[&f(1, &[&inner])])], &[]);
    }
    result(&inner)
}

#[test]
fn depth_is_bounded() {
    assert!(shown(&calls(MAX_NESTING), &ReadOptions::default()).starts_with("call c call{call c"));
    assert!(shown(&calls(MAX_NESTING + 1), &ReadOptions::default()).starts_with("XI010 byte "));
    assert!(shown(&calls(1_000), &ReadOptions::default()).starts_with("XI010 byte "));
}

#[test]
fn numbers_of_things_are_bounded() {
    let kernels = vec![thunk("kernel", "k", 11, &[&f(5, &[]), &f(5, &[])]); 10];
    let bytes = result(&sequence(&kernels, &[entry(&[1, 2, 3], 2)]));
    let with = |limits| shown(&bytes, &ReadOptions { lenient: false, limits });
    assert!(with(Limits { thunks: 9, ..Limits::default() }).starts_with("XI011 byte "));
    assert!(with(Limits { uses: 23, ..Limits::default() }).starts_with("XI011 byte "));
    assert!(with(Limits { thunks: 10, uses: 24, ..Limits::default() }).starts_with("kernel k"));
    assert!(with(Limits { uses: 3, ..Limits::default() }).starts_with("XI011 byte "));
}

#[test]
fn warnings_are_bounded() {
    let fields: Vec<u8> = (0..1000).flat_map(|_| v(30, 1)).collect();
    let imported = read(&result(&fields), "", &ReadOptions::default()).expect("reads");
    assert_eq!(imported.warnings.len(), MAX_WARNINGS);
}
