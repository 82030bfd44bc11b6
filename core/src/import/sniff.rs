//! What an input is, told by its bytes; and for what is not read, what to do instead.

use super::inflate::Method;
use super::wire::{Message, Value, place};
use crate::diagnostic::Diagnostic;

/// What an input looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Our own JSON, or some other JSON.
    Json,
    /// Protobuf, as far as can be told.
    Executable,
    /// An entry of JAX's persistent cache.
    Compressed(Method),
    /// Something that is not read here.
    Other(LooksLike),
}

/// Something else, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LooksLike {
    code: &'static str,
    what: &'static str,
    hint: &'static str,
}

const EXPECTED: &str = "a serialized XLA executable, a JAX cache entry or a program in JSON";

/// How to make the best input; the end of most hints.
const SERIALIZE: &str = "write the executable itself: open(\"exec.bin\", \"wb\").write(\
     jax.jit(f).lower(*args).compile().runtime_executable().serialize())";

impl LooksLike {
    const fn new(what: &'static str, hint: &'static str) -> Self {
        Self { code: "XI002", what, hint }
    }

    pub(super) fn diagnostic(self) -> Diagnostic {
        Diagnostic::error(self.code, "byte 0", EXPECTED).found(self.what).hint(self.hint)
    }
}

const EMPTY: LooksLike =
    LooksLike { code: "XI001", what: "an empty file", hint: "nothing was written to it; write it again" };

/// Formats that are told by their first bytes.
const BY_PREFIX: &[(&[u8], LooksLike)] = &[
    (b"HloModule", LooksLike::new("an HLO text dump", SERIALIZE)),
    (b"BufferAssignment", LooksLike::new("a buffer assignment in text", SERIALIZE)),
    (b"module @", LooksLike::new("StableHLO or MLIR in text, which is not compiled yet", SERIALIZE)),
    (b"module {", LooksLike::new("StableHLO or MLIR in text, which is not compiled yet", SERIALIZE)),
    (b"#loc", LooksLike::new("StableHLO or MLIR in text, which is not compiled yet", SERIALIZE)),
    (b"ML\xefR", LooksLike::new("MLIR bytecode, which is not compiled yet", SERIALIZE)),
    (b"; ModuleID", LooksLike::new("LLVM IR of a module's kernels", SERIALIZE)),
    (b"BC\xc0\xde", LooksLike::new("LLVM bitcode of a module's kernels", SERIALIZE)),
    (b"\x7fELF", LooksLike::new("an ELF object: kernels, without the thunks that call them", SERIALIZE)),
    (b"\x80\x03", LooksLike::new("a Python pickle", SERIALIZE)),
    (b"\x80\x04", LooksLike::new("a Python pickle", SERIALIZE)),
    (b"\x80\x05", LooksLike::new("a Python pickle", SERIALIZE)),
    (b"\x1f\x8b", LooksLike::new("gzip", "unpack it first: gunzip FILE")),
    (b"PK\x03\x04", LooksLike::new("a zip archive", "unpack it and give the files in it")),
    (b"\x93NUMPY", LooksLike::new("a NumPy array", SERIALIZE)),
    (b"\x89PNG", LooksLike::new("a PNG image", SERIALIZE)),
    (b"SQLite format 3", LooksLike::new("an SQLite database", SERIALIZE)),
    (b"digraph", LooksLike::new("a graph for Graphviz", SERIALIZE)),
];

const XLA_LOG: LooksLike = LooksLike::new(
    "a log of XLA",
    "a log holds the graph but not what thunks read and write: give it with --verify beside the executable",
);

const TAR: LooksLike = LooksLike::new("a tar archive", "unpack it and give the files in it");

const TEXT: LooksLike = LooksLike::new("text", SERIALIZE);

/// The first of these in a text tells a log of XLA.
const LOG_MARKS: &[&[u8]] =
    &[b"ThunkExecutor", b"thunk_executor.cc", b"execution_graph.cc", b"execution graph", b"pjrt_client.cc"];

/// How much of an input is looked at.
const WINDOW: usize = 4096;

/// Tells the format from the first bytes.
pub(super) fn sniff(bytes: &[u8]) -> Format {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = start.trim_ascii_start();
    match (bytes, text) {
        ([], _) => return Format::Other(EMPTY),
        // RFC 1950: method 8, and a multiple of 31.
        ([0x78, flags, ..], _) if (0x7800 + u16::from(*flags)).is_multiple_of(31) => {
            return Format::Compressed(Method::Zlib);
        }
        ([0x28, 0xb5, 0x2f, 0xfd, ..], _) => return Format::Compressed(Method::Zstd),
        // A serialized executable may begin with the same byte, but not go on like this.
        (_, [b'{', rest @ ..])
            if matches!(rest.trim_ascii_start(), [] | [b'"' | b'}' | b'{' | b'\'', ..]) =>
        {
            return Format::Json;
        }
        (_, [b'[', rest @ ..]) if is_text(&rest[..rest.len().min(WINDOW)]) => return Format::Json,
        _ => {}
    }
    if let Some((_, looks_like)) = BY_PREFIX.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        return Format::Other(*looks_like);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Format::Other(TAR);
    }
    let window = &start[..start.len().min(WINDOW)];
    if is_text(window) {
        let marked = LOG_MARKS.iter().any(|mark| window.windows(mark.len()).any(|part| part == *mark));
        return Format::Other(if marked { XLA_LOG } else { TEXT });
    }
    Format::Executable
}

/// Whether bytes are text for people: UTF-8 (a last character may be cut) without control
/// characters other than white space.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid.is_empty() && !valid.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{1b}'))
}

/// The name of the module in an HLO module with its configuration (`{1: {1: name, 2: entry
/// computation, …}, 2: configuration}`); `None` for any other message.
pub(super) fn module_name(with_config: Message<'_>) -> Option<&str> {
    hlo_name(first(with_config)?)
}

/// The name of an HLO module; `None` for any other message.
fn hlo_name(module: Message<'_>) -> Option<&str> {
    let mut fields = module.fields();
    let texts = [fields.next()?.ok()?, fields.next()?.ok()?];
    let [(1, Value::Bytes(name)), (2, Value::Bytes(entry))] = texts.map(|field| (field.number, field.value))
    else {
        return None;
    };
    (is_text(name.bytes) && is_text(entry.bytes)).then(|| name.text().ok()).flatten()
}

/// Field 1, if the message begins with it.
fn first(message: Message<'_>) -> Option<Message<'_>> {
    match message.fields().next()?.ok()? {
        field if field.number == 1 => match field.value {
            Value::Bytes(inner) => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Protobuf, but no executable: says what it is, if it is one of those that lie beside one.
pub(super) fn other_protobuf(message: Message<'_>) -> Diagnostic {
    /// A plane of a profiler trace has its name in field 2.
    fn is_plane(plane: Message<'_>) -> bool {
        plane.fields().flatten().any(|field| {
            matches!(field.value, Value::Bytes(name) if field.number == 2 && name.bytes.starts_with(b"/"))
        })
    }
    let what = if hlo_name(message).is_some() || first(message).and_then(hlo_name).is_some() {
        "an HLO module in protobuf"
    } else if first(message).is_some_and(is_plane) {
        "a trace of a profiler (XSpace)"
    } else {
        "protobuf of another kind"
    };
    Diagnostic::error("XI002", place(message.start), EXPECTED).found(what).hint(SERIALIZE)
}

/// Bytes of no known format.
pub(super) fn unknown(bytes: &[u8]) -> Diagnostic {
    let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Diagnostic::error("XI002", place(0), EXPECTED)
        .found(format!("bytes of no known format: {}", start.join(" ")))
        .hint(SERIALIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let shown = match sniff(bytes) {
            Format::Json => "json",
            Format::Executable => "executable",
            Format::Compressed(Method::Zlib) => "zlib",
            Format::Compressed(Method::Zstd) => "zstd",
            Format::Other(looks_like) => looks_like.what,
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn read_formats() {
        check(b"{\"format\": \"thunkscope.program/1\"}", "json");
        check(b"\xef\xbb\xbf \n{ }", "json");
        check(b"[1, 2]", "json");
        check(b"\x78\x9c\x01", "zlib");
        check(b"\x28\xb5\x2f\xfd\x20", "zstd");
        check(b"\xc8\x02\x08\x03", "executable");
        check(b"\x0a\x05\x0a\x03\x0a\x01\x61", "executable");
        // A header of 123 bytes begins like JSON.
        check(b"{\x08\x03\x12\x09pjrt_ifrt", "executable");
    }

    #[test]
    fn others_are_named() {
        check(b"", "an empty file");
        check(b"HloModule jit_f, is_scheduled=true", "an HLO text dump");
        check(b"BufferAssignment:\nallocation 0: size 4", "a buffer assignment in text");
        check(b"I1129 22:22:53.746521 15767 thunk_executor.cc:163] Constructed", "a log of XLA");
        check(b"ThunkExecutor: #thunks=3", "a log of XLA");
        check(b"\x80\x04\x95\x10", "a Python pickle");
        check(b"dear reader", "text");
        check(b"\x7fELF\x02", "an ELF object: kernels, without the thunks that call them");
    }
}
