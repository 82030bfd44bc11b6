//! The program format `thunkscope.program/1`: JSON, with the schema in `docs/program.schema.json`.
//!
//! Everything beyond thunks, kinds and uses is optional. Fields that this version does not use are
//! kept in `extra`, at the place that mirrors where they stood (`extra["uses"][2]["dtype"]` of a
//! thunk is field `dtype` of its third use), and written back.

mod fields;
mod read;
mod write;

#[cfg(feature = "dump")]
pub(crate) use read::kind_of;
pub use read::{Read, read};
pub use write::write;

/// What the field `format` of a program says.
pub const FORMAT: &str = "thunkscope.program/1";

/// Longest text that is read, in bytes.
pub const MAX_TEXT: usize = 256 << 20;

/// Most values, lists and objects in a text: what a parser holds is many times the text.
pub const MAX_VALUES: usize = 24_000_000;

/// Most thunks of a program, nested ones included.
pub const MAX_THUNKS: usize = 1_000_000;

/// Most uses of slices and resources of a program, nested ones included.
pub const MAX_USES: usize = 8_000_000;

/// Most warnings that are kept: a damaged file must not flood its reader.
pub const MAX_WARNINGS: usize = 100;

/// A value as text. Always through the same serializer: `Value`'s `Display` would bring a second one.
fn text(value: &serde_json::Value) -> String {
    // A value has texts as keys and no number that is not finite: it can be written.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
