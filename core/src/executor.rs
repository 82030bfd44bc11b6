//! What runs next: the thunk executor as a machine without I/O (executor spec §4–§6, seed 004).
//!
//! A run is one [`State`] (counters, pending nodes, first error) over a [`Graph`](crate::graph::Graph).
//! Each thread that takes part holds a [`Worker`] with a ready queue of its own and repeats:
//! [`Worker::begin`] → the thunk runs, wherever and however the driver likes → [`Worker::finish`].
//! Nothing here waits, and nothing here knows what a thunk does.
//!
//! | here | upstream |
//! | --- | --- |
//! | [`Options`] | `ThunkExecutor::Options` |
//! | [`Session::join`], [`Session::try_join`] | `ExecuteSession::Join`, `TryJoin` |
//! | [`State`] | `ExecuteState` |
//! | [`Worker::begin`], [`Worker::split`] | `Execute`, `SplitReadyQueue` |
//! | [`Event`] | the `AsyncValue` that a thunk returns, and its `AndThen` |
//! | [`Worker::finish`], [`Worker::suspend`], [`Worker::resume`] | `ProcessCompletedOutEdges`, `ProcessScheduledOutEdges` and the continuation after it |

use serde::{Deserialize, Serialize};

mod any_queue;
mod event;
mod fault;
mod plan;
pub mod progress;
mod queue;
mod sequential;
mod session;
mod state;
mod worker;

pub use any_queue::AnyQueue;
pub use event::{Attached, Completed, Event};
pub use fault::Fault;
pub use plan::Plan;
pub use progress::Progress;
pub use queue::{Fifo, Lifo, Priority, Queue, ReadyQueue};
pub use sequential::Sequential;
pub use session::Session;
pub use state::{Failure, Role, State};
pub use worker::{Begin, Continuation, Happening, Observer, Run, Runner, Task, Worker};

/// What can be chosen about an executor. Defaults are XLA's; in JSON, what is left out has its
/// default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The class of the ready queues.
    pub queue: Queue,
    /// Workers beside the thread that starts the run (`kMaxWorkers`).
    pub max_workers: u32,
    /// A worker splits its queue while more than this many other thunks are ready (`kSplitThreshold`).
    pub split_threshold: u32,
    /// Small-buffers rule: sequential if every declared slice is at most this large, in bytes.
    #[serde(with = "crate::number::wide")]
    pub buffer_threshold: u64,
    /// Few-thunks rule: sequential if there are at most this many thunks.
    pub thunk_threshold: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue: Queue::Fifo,
            max_workers: 4,
            split_threshold: 8,
            buffer_threshold: 512,
            thunk_threshold: 8,
        }
    }
}
