//! Thunkscope on real threads: the core's executor driven by a thread pool, and kernels that compute.
//!
//! The rules are in `thunkscope-core`; here are threads, waiting, buffers and files. The worker
//! loop of [`executor`] makes the same calls of the same machine as the simulator.

#![deny(unsafe_code)]

pub mod executor;
pub mod kernel;
pub mod sys;
