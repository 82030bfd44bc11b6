//! The DFX transport as a model: lanes, and all threads of the host, over the shipped machines.
//!
//! What is explored is the code of [`crate::dfx`]: [`Recorder`](crate::dfx::Recorder) and
//! [`Engine`](crate::dfx::Engine) of each lane, drains, collectors, the replenish thread with its
//! freeze machine, and the payload writer. They are machines already, one coordination access a step;
//! what is added here is only who goes next:
//!
//! * a lane or a thread of the host takes its next step. A thread with nothing to do polls: it may
//!   look again at any time, and so may a lane that waits;
//! * the host dies, at any step, if the scenario says so. Then each thing that a lane waits for can
//!   run into its deadline: time is that one action and no number (contracts §1);
//! * when all lanes have come back, the host is asked to stop.
//!
//! # What a state leaves out, and why nothing is lost
//!
//! | left out | why |
//! | --- | --- |
//! | ticks, the heartbeat | read by lanes that gave up on the host alone, which here is dead then; it never changes again |
//! | the number of releases | a lane asks whether there was one since it looked: kept as "none" or "some" |
//! | the number of refill requests | both sides compare for equality: kept from the one that all drains have granted |
//! | what a machine will not read again | see `forget` of each machine: the next access overwrites it |
//! | entries that were taken, slots that were claimed, records that were given back | owned by the side that will overwrite them; a read of one finds 0, which is no buffer and no record |
//! | the content of a record but its number, payload bytes | no machine looks at them |
//! | everything of a host that is dead, but what it has spooled | nobody steps there any more |
//!
//! Queue indices, sequence numbers and counts of records stay as they are: scripts end, so they do.

mod judge;
mod memory;
mod model;
mod property;
mod scenario;
mod standard;
mod weak;
mod weaken;

#[cfg(test)]
mod tests;

pub use property::Property;
pub use scenario::{MAX_BUFFERS, MAX_LANES, MAX_RECORDS, Scenario, Script};

pub use weaken::{Role, Weaken};

pub(super) use standard::standard;

use model::Transport;

use super::check::Searching;
use super::{Limits, Search};
use crate::diagnostic::Diagnostic;

/// The search of a scenario.
///
/// # Errors
/// `CK005` for a size out of its range, `CK006` for a memory that the transport is not explored on.
pub(super) fn search(scenario: &Scenario, limits: Limits) -> Result<Box<dyn Searching>, Diagnostic> {
    Ok(Box::new(Search::new(Transport::new(scenario, limits.reduction)?, limits)))
}
