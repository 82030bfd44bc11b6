//! Where programs come from: readers of files that others wrote.
//!
//! Every input here is untrusted: each byte may be anything, and the answer is a program or one
//! [`Diagnostic`], in bounded time and memory ([`Limits`]).

mod allocations;
mod executable;
mod inflate;
mod resources;
mod sniff;
mod thunk;
pub mod verify;
mod wire;
pub mod xla_log;

use crate::diagnostic::Diagnostic;
use crate::program::{MAX_NESTING, Program, json};

/// What a reader does where it has a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// A thunk that cannot be understood becomes one with `uses_unknown`, which clashes with
    /// everything, and a warning; without this it is an error.
    pub lenient: bool,
    /// Where to stop.
    pub limits: Limits,
}

/// Bounds on what an input may make the reader do. The defaults are far above what XLA writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest decompressed size in bytes.
    pub decompressed: u64,
    /// Deepest nesting of sequences; at most [`MAX_NESTING`].
    pub nesting: usize,
    /// Most thunks, nested ones included.
    pub thunks: u32,
    /// Most uses of slices and resources, nested ones included.
    pub uses: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { decompressed: 1 << 30, nesting: MAX_NESTING, thunks: 1_000_000, uses: 8_000_000 }
    }
}

/// A program and what is to be said about how it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The program.
    pub program: Program,
    /// Things that were read, but deserve a look; at most [`MAX_WARNINGS`].
    pub warnings: Vec<Diagnostic>,
}

/// Warnings beyond this number are dropped: a damaged file must not flood its reader.
pub const MAX_WARNINGS: usize = 100;

/// Reads a program from any format that is known: our own JSON, a serialized XLA executable, or an
/// entry of JAX's persistent cache. The format is told by the bytes; `name` names the result (a
/// program in JSON keeps the name it has).
///
/// # Errors
/// One diagnostic, with a byte offset or a JSON path: see `docs/diagnostics.md`, `XI` and `PG`.
pub fn read(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Imported, Diagnostic> {
    match sniff::sniff(bytes) {
        sniff::Format::Json => {
            let mut read = json::read(bytes)?;
            if read.program.name.is_empty() {
                read.program.name = name.to_owned();
            }
            Ok(Imported { program: read.program, warnings: read.warnings })
        }
        sniff::Format::Executable => executable::read(bytes, name, "xla-executable", options),
        sniff::Format::Compressed(method) => {
            let inner = inflate::inflate(bytes, method, &options.limits)?;
            let body = inflate::without_compile_time(&inner)?;
            executable::read(body, name, "jax-cache", options).map_err(|mut diagnostic| {
                diagnostic.path.push_str(" of the decompressed executable");
                diagnostic
            })
        }
        sniff::Format::Other(looks_like) => Err(looks_like.diagnostic()),
    }
}

#[cfg(test)]
mod tests;
