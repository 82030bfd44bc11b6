//! Serialized XLA:CPU executables: finds the compilation result in its wrappings and reads its
//! thunk sequence (xla-import spec §2).

use super::thunk::Reader;
use super::wire::{Message, Value, place};
use super::{Imported, ReadOptions, allocations, sniff};
use crate::diagnostic::Diagnostic;
use crate::program::{Origin, Program, SequencePath};

const HLO: u32 = 1;
const BUFFER_ASSIGNMENT: u32 = 2;
const THUNKS: u32 = 6;

/// How deep the result may be wrapped in field 1.
const MAX_WRAPPINGS: usize = 3;

/// The parts of a compilation result that are read.
struct CompilationResult<'a> {
    hlo: Message<'a>,
    buffer_assignment: Option<Message<'a>>,
    thunks: Message<'a>,
}

/// Reads an executable from its bytes.
///
/// # Errors
/// `XI002` to `XI011`.
pub(super) fn read(
    bytes: &[u8],
    name: &str,
    format: &str,
    options: &ReadOptions,
) -> Result<Imported, Diagnostic> {
    let (result, producer) = unwrap(bytes)?;
    let mut reader = Reader::new(options, producer);
    let sequence = reader.sequence(result.thunks, &SequencePath::entry())?;
    let allocations = match result.buffer_assignment.map(allocations::read) {
        Some(Ok(allocations)) => allocations,
        problem => {
            let warning = Diagnostic::warning("XI014", place(result.hlo.start), "a buffer assignment")
                .hint("sizes and purposes of allocations are unknown; the graph does not need them");
            reader.warn(|| match problem {
                Some(Err(error)) => warning.at(&error.path).found(&error.expected),
                _ => warning,
            });
            Vec::new()
        }
    };
    let module = sniff::module_name(result.hlo).unwrap_or_default();
    let name = if name.is_empty() { module } else { name };
    let mut extra = serde_json::Map::new();
    if !module.is_empty() {
        extra.insert("model_name".to_owned(), module.into());
    }
    let program = Program {
        name: name.to_owned(),
        // No release writes its number into the file.
        origin: Origin { format: format.to_owned(), release: String::new() },
        allocations,
        resources: reader.resources,
        sequence,
        extra,
    };
    Ok(Imported { program, warnings: reader.warnings })
}

/// Takes off the header and the wrappings. Also tells what is known about the producer.
fn unwrap(bytes: &[u8]) -> Result<(CompilationResult<'_>, &'static str), Diagnostic> {
    const OLD: &str = "a jaxlib before 0.10";
    const NEW: &str = "jaxlib 0.10 or later";
    let whole = Message::whole(bytes);
    // A result without header begins with its first field. A header of ten bytes looks the same;
    // then the attempt fails, and the header is found.
    let bare = bytes.first() == Some(&0x0a);
    let without_header = if bare { result_in(whole) } else { Err(sniff::unknown(bytes)) };
    let error = match without_header {
        Ok(result) => return Ok((result, OLD)),
        Err(error) => error,
    };
    match header(whole)?.map(result_in) {
        Some(Ok(result)) => Ok((result, NEW)),
        // Without header the file begins well; what looked like a header was none.
        Some(Err(_)) if bare => Err(error),
        Some(Err(error)) => Err(error),
        None => Err(error),
    }
}

/// What follows the header of newer releases: its length, and that many bytes of a message.
///
/// # Errors
/// `XI003`: there is a header, but the file ends in it.
fn header(whole: Message<'_>) -> Result<Option<Message<'_>>, Diagnostic> {
    /// Says which runtime wrote the file; near the start of every header seen.
    const MARK: &[u8] = b"pjrt_ifrt";
    let Ok((length, rest)) = whole.varint() else { return Ok(None) };
    let start = &rest.bytes[..rest.bytes.len().min(64)];
    let marked = start.windows(MARK.len()).any(|window| window == MARK);
    let Some(length) = usize::try_from(length).ok().filter(|&length| length < rest.bytes.len()) else {
        return if marked {
            Err(super::wire::truncated(whole.start, &format!("at most {} bytes of header", rest.bytes.len()))
                .found(length))
        } else {
            Ok(None)
        };
    };
    let is_message = length > 0 && rest.first(length).fields().all(|field| field.is_ok());
    Ok((marked || is_message).then(|| rest.skip(length)))
}

/// The compilation result in a message, or in its field 1, and so on.
fn result_in(outermost: Message<'_>) -> Result<CompilationResult<'_>, Diagnostic> {
    let mut message = outermost;
    for _ in 0..=MAX_WRAPPINGS {
        let mut parts = [None; THUNKS as usize + 1];
        for field in message.fields() {
            let field = field?;
            if let (Value::Bytes(inner), Some(part)) = (field.value, parts.get_mut(field.number as usize)) {
                *part = Some(inner);
            }
        }
        let part = |number: u32| parts[number as usize];
        let Some(inner) = part(HLO) else { break };
        if let Some(thunks) = part(THUNKS)
            && holds_message(inner)
        {
            return Ok(CompilationResult { hlo: inner, buffer_assignment: part(BUFFER_ASSIGNMENT), thunks });
        }
        if sniff::module_name(inner).is_some() {
            return Err(Diagnostic::error("XI005", place(message.start), "a thunk sequence (field 6)")
                .found("an executable without one")
                .hint(
                    "jaxlib 0.4.38 and older do not write it: compile with a newer jaxlib, or dump text with \
                     XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\"",
                ));
        }
        if sniff::is_text(inner.bytes) {
            break;
        }
        message = inner;
    }
    Err(sniff::other_protobuf(outermost))
}

/// Whether field 1 of `message` is a nested message, as that of a module with its configuration.
fn holds_message(message: Message<'_>) -> bool {
    matches!(
        message.fields().next(),
        Some(Ok(field)) if field.number == 1 && matches!(field.value, Value::Bytes(_))
    )
}
