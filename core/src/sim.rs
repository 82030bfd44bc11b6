//! What if? The executor in virtual time, on simulated lanes.
//!
//! The simulator drives the machines of [`executor`](crate::executor) and decides only what a
//! machine leaves open: how long a thunk runs, which lane goes next, when an event becomes
//! available, what fails. Everything that happens becomes an event of the log. The same program,
//! options and seed give the same log, byte for byte, natively and in wasm.

#[cfg(feature = "engine")]
mod control_flow;
#[cfg(feature = "dfx")]
pub mod dfx;
#[cfg(feature = "engine")]
mod lane;
mod options;
#[cfg(feature = "engine")]
mod pool;
#[cfg(feature = "engine")]
mod scenario;
#[cfg(feature = "engine")]
mod simulation;

#[cfg(all(test, feature = "engine", not(target_arch = "wasm32")))]
mod properties;
#[cfg(all(test, feature = "engine"))]
mod tests;

#[cfg(feature = "engine")]
pub use control_flow::Cursor;
pub use options::{Costs, Fault, FaultKind, ModeChoice, Options, PendingThunks, Schedule};
#[cfg(feature = "engine")]
pub use scenario::{SEEDED, seeded};
#[cfg(feature = "engine")]
pub use simulation::{Simulation, header, run, run_plans, watch};
