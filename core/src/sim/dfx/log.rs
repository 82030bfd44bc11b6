//! The log of such a run: `thunkscope.log/1` with the families of executor and transport in one order.

use crate::dfx;
use crate::trace::{MixedEvent, MixedKind, MixedLog};

/// One thing that happened. Lanes from 0, cores from 0x1000, host threads from 0x2000 (0x100 for each
/// region, in the order of the scenario), or [`Actor::EVENTS`](crate::trace::Actor::EVENTS).
pub type Entry = MixedEvent<dfx::Event>;

/// What happened: to buffers, gates and cores, or to thunks.
pub type Kind = MixedKind<dfx::Event>;

/// A whole log.
pub type DfxLog = MixedLog<dfx::Event>;

impl DfxLog {
    /// The transport's part, each with its time.
    pub fn dfx(&self) -> impl Iterator<Item = (&Entry, dfx::Event)> + '_ {
        self.events.iter().filter_map(|entry| match entry.kind {
            Kind::Other(event) => Some((entry, event)),
            Kind::Executor(_) => None,
        })
    }
}
