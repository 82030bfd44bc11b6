//! Runs programs on threads (executor spec §4): the driver of the core's two-phase machine.
//!
//! An [`Executor`] is built once and run many times; after the first run, a run allocates nothing.
//! What a thunk does is up to the [`Thunks`] it is given.
//!
//! Who works on a run: the calling thread (lane 0), the threads of its pool (lanes 1 to `workers`),
//! and its completion threads, which complete pending thunks and go on from there. A thread that
//! has nothing to do spins for some microseconds, then parks; the caller first helps with posted
//! tasks. When nobody does anything and nothing is on its way, a run that is not over never will
//! be: the caller is told so ([`Ended::Stalled`]) instead of waiting for ever.

mod activity;
mod drive;
mod handle;
mod lane;
mod mailbox;
mod offload;
mod plan;
mod post;
mod record;
mod snapshot;
mod thunks;
mod timers;

pub use activity::World;
pub use handle::{Ended, Executor, Failed, Monitor, Options, Report, Synced, run_together};
pub use lane::LaneReport;
pub use snapshot::Sampler;
pub use thunks::{Call, Completer, Error, Flags, Ran, Thunks};
