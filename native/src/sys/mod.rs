//! The one place with `unsafe`: each module says why its interface is safe.

#![allow(unsafe_code)]

pub mod buffers;
