//! Values as bytes, in postcard's format: what the page reads at first load, and what it says to its
//! worker. Fields by position, numbers of variable length; both sides are of one version.

use serde::{Deserialize, Serialize};

pub(crate) fn write<T: Serialize>(value: &T) -> Vec<u8> {
    // Structures of lists, texts and numbers, into memory: writing them cannot fail.
    postcard::to_allocvec(value).unwrap_or_default()
}

/// All of `bytes` as one value, or what is wrong with them, in a few words: postcard has many more,
/// which the page would have to load.
pub(crate) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, &'static str> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err("more bytes than belong to it"),
        Err(postcard::Error::DeserializeUnexpectedEnd) => Err("bytes that end too early"),
        Err(_) => Err("bytes that mean nothing"),
    }
}
