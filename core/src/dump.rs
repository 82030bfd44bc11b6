//! What gets recorded? The Dump module of seed 003 (rules: ge-dump spec).
//!
//! ```text
//!  ACL JSON ─┐
//!  environment ─► resolve ─► Properties ─► Selection ─┬─► static path: DataDumper ──┐
//!  GE options ─┘  (pure, with provenance)   (per op)  └─► dynamic path: units ──────┴─► DumpOp
//!                                                         ─► dump kernel ─► DumpSink ─► files
//! ```
//!
//! Nothing here does I/O: paths are looked at by a [`PathProbe`](path::PathProbe), time is an
//! argument, files go to a [`Store`](sink::Store).

#[cfg(test)]
mod audit;

pub mod acl;
pub mod batch;
pub mod blacklist;
pub mod check;
pub mod compare;
pub mod data_dumper;
pub mod dumper;
pub mod elements;
pub mod env;
pub mod event;
pub mod exception;
pub mod kernel;
pub mod log;
pub mod manager;
pub mod message;
pub mod model;
pub mod names;
pub mod npy;
pub mod option;
pub mod overflow;
pub mod path;
pub mod properties;
pub mod range;
pub mod record;
mod request;
pub mod resolve;
pub mod scenario;
pub mod selection;
pub mod sink;
pub mod stats;
pub mod step;
pub mod summary;
pub mod switch;
pub mod target;
pub mod types;
pub mod units;
pub mod value;
pub mod worker;

use acl::not_checked as acl_not_checked;
