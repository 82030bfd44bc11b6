//! Executor and DFX transport in one simulation: offloaded lanes, cores, six regions and their hosts.
//!
//! A lane does not run thunks here: it dispatches them to cores and polls (contracts §5). What it
//! records on the way goes through the gates of [`dfx`](crate::dfx), so a freeze that stops a lane
//! also delays its look at FIN: the `finish` it records moves to the release, while the core's own
//! start and end stay true (seed 000).

mod device;
mod document;
mod files;
mod host;
mod log;
mod orchestrator;
mod read;
mod report;
mod scenario;
mod schedule;
mod size;
pub mod state;
mod world;

#[cfg(test)]
mod tests;

pub use document::{Document, Lane, Overrides, Ranks, Records, Simulation, Spread, simulate};
pub use files::{File, files};
pub use log::{DfxLog, Entry, Kind};
pub use read::{read, scenario};
pub use report::{Causes, Lane as LaneReport, Report};
pub use scenario::{Dump, FORMAT, Host, Order, Payloads, Scenario, Synthetic, Workload};
pub use size::{LATENCY, Sizing, size};
pub use world::{Outcome, Run, judged, run};
