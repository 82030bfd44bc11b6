//! What thunks do: kernels that compute on the buffers of a rank, chosen by the `kernel` field.
//!
//! | `kernel` | does |
//! | --- | --- |
//! | `fill(v)` | every element written becomes `v` |
//! | `copy` | each written slice becomes the read slice of the same place in the list |
//! | `add`, `multiply` | element by element over all read slices |
//! | `matmul(m,k,n)` | first read slice times second; of a square where no sizes are given |
//! | `reduce` | each written element becomes the sum of all that is read |
//! | `sort` | the read slices one after the other, ascending; without reads, in place |
//! | `transpose(m,n)` | of an m × n matrix |
//! | `spin(ns)`, `sleep(ns)` | keeps the core busy, or not, then does what replay does |
//! | `fail`, `panic`, `never` | fails, panics, returns with an event that nobody completes |
//! | `overflow` | writes infinities |
//! | `all-reduce`, `all-gather`, `all-to-all`, `collective-permute`, `reduce-scatter` | over ranks |
//! | `replay` | touches the declared slices and takes the thunk's cost: what it does without a `kernel` field |
//!
//! A thunk's kernel is a text such as `"matmul(8,8,8)"`, or an object with `name`, `args` and
//! `dtype` (`f32` unless given; `f64`, `i32`, `u8`).

mod collective;
mod compute;
mod parse;
mod rank;
mod replay;

pub use collective::{Collective, Rendezvous};
pub use parse::{Dtype, Kernel, Operation};
pub use rank::{MAX_BYTES, Rank, Settings};
