//! How do records leave without loss? The DFX transport: buffers, queues, gates, freezes (seed 000).
//!
//! Lanes append records to fixed buffers in memory that they share with a host. Two kinds of queue
//! carry buffers, never records: a ready queue for each lane (device → host) and a free queue for
//! each pool (host → device). A lane can run out of something only where it switches buffers; what
//! happens then is the [`Policy`]. Nothing is missing without a [`Cause`].
//!
//! | here | upstream (dfx spec §9.5) |
//! | --- | --- |
//! | [`layout::Backpressure`] | `DfxBackpressureHeader` |
//! | [`Engine`], its push and pop gate | `enqueue_ready`, `push_freeze_barrier`, `wait_for_free_queue_entry`, `pop_freeze_barrier` |
//! | [`Task::Arena`] | `ensure_dump_arena_capacity`, `wait_for_release` |
//! | [`Task::Switch`] | `switch_buffer` |
//! | [`host::Replenish`] | `mgmt_replenish_loop`, `update_backpressure_freeze` |
//! | [`host::Drain`] | `mgmt_drain_loop`, `top_up_free_queue` |

pub mod artifact;
mod device;
mod event;
pub mod host;
mod layout;
mod ledger;
mod link;
mod oracle;
mod profile;
pub mod record;
mod recorder;
mod rig;
mod rules;

#[cfg(test)]
mod tests;

pub use device::{Done, Engine, Reserve, Task};
pub use event::{Cause, Event, Gate, Observer};
pub use layout::{Arena, Backpressure, ENTRY_BYTES, Extension, Layout, MAX_BYTES, Pool, State};
pub use ledger::{Ledger, Line};
pub use link::Link;
pub use oracle::{Disturbed, INVARIANTS, Oracle, Owner, Party, Verdict, Verdicts};
pub use profile::{PoolKind, PoolSize, Profile, Subsystem, Transport};
pub use recorder::{Recorder, Write, Written};
pub use rig::{Books, HostActor, Rig, Tap, Touched};
pub use rules::{Fault, Faults, PeerGate, Policy, Rules};
