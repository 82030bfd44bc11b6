//! What happened: the event log of a run, and the state at any instant of it (contracts §4).
//!
//! A [`Log`] is a header and one total order of events. [`State`] is what a prefix of the log adds
//! up to; [`Replay`] finds it for any instant from the nearest keyframe; [`Together`] puts several
//! replays on one clock. The page draws from these and from nothing else, so it can only show
//! what the machines did.

mod event;
#[cfg(feature = "engine")]
pub(crate) mod json;
mod log;
#[cfg(feature = "engine")]
mod mixed;
mod replay;
mod state;
mod together;

pub use event::{Actor, Entry, Event, EventKind, Mode, RunId, TaskId};
pub use log::{Header, Log, SequenceHeader, VERSION};
#[cfg(feature = "engine")]
pub use mixed::{MixedEvent, MixedKind, MixedLog};
pub use replay::Replay;
pub use state::{Frame, Lane, NodeState, RunState, Running, State, Waiting};
#[cfg(feature = "engine")]
pub(crate) use together::ends_step;
pub use together::{Mark, Together};
