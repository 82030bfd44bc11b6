//! What the two modules that run in a Web Worker share: the queue of requests, and how values cross
//! the border to JavaScript. No `#[wasm_bindgen]` here: what is exported is each module's own.
#![forbid(unsafe_code)]

mod queue;
mod value;

pub use queue::{Answered, Pauses, Queue, Serve};
pub use value::{options, plain, small_enough, text_or_bytes, thrown};

/// Largest file that is read, in bytes, as it is and decompressed: a module has 4 GiB of memory at
/// most, and a program needs several times its file.
pub const MAX_FILE: u32 = 256 << 20;
