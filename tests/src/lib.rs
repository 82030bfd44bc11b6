//! What the cross-crate tests, the conformance command and the benchmarks share.
#![forbid(unsafe_code)]

pub mod conformance;
pub mod pages;
pub mod reduction;
