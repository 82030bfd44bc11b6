//! What can be chosen about the protocol: policy, gate order, time, faults (dfx spec §9.4).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::machine::Ticks;

/// What a lane does that runs out of buffers (policies spec).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Waits a short time, then counts its records as dropped and goes on.
    Drop,
    /// The host stops every lane at its gate until all queues are drained and refilled (seed 000).
    #[default]
    GlobalFreeze,
    /// The lane waits alone, for its own queue.
    PerLane,
}

/// Whether a lane that meets an open freeze at the pop gate looks at the gate or at its queue first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeerGate {
    /// It parks even if a buffer is there, so that the gap is common to all lanes (seed 000).
    #[default]
    BarrierFirst,
    /// A lane that has a buffer passes.
    SlotFirst,
}

/// A real defect of the protocol, kept selectable (dfx spec §9.2, §9.4). All are off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// T1: a freeze is released although buffers are still at the collectors.
    ReleaseWithEmptyQueues,
    /// T2: the wait at the pop gate has no end unless a freeze is open.
    PopWaitUnbounded,
    /// T3: a time-out after publication is taken for a failure to publish.
    PublishThenDrop,
    /// T4: the replenish thread fills free queues itself, beside the drains.
    TwoFreeQueueWriters,
    /// T5: a core's next buffer is waited for before the old one is published.
    AcquireBeforePublish,
    /// T6: the release predicate is evaluated before the gates, and acknowledgements wait for a freeze.
    StalePredicate,
    /// T7: a payload that cannot be written is never counted as handled.
    LostPayloadBlocks,
    /// T9: each release allocates buffers until the free queues are full.
    AllocatePerFreeze,
    /// T10: the last buffer of a core is stamped as full.
    StampedCount,
    /// T11: an entry is acknowledged before the host has its buffer.
    AckBeforeDeliver,
    /// T12: a full done ring is not noticed.
    DoneRingIgnored,
    /// T13: a scope too deep to be recorded ends an outer one.
    ScopeDepth,
    /// T14: stopping leaves a freeze open.
    StopWhileFrozen,
    /// T15: a buffer whose flush failed is forgotten.
    LostOnFailedFlush,
    /// The host clears the contended flag before it closes the gate.
    ClearBeforeOpen,
    /// The arena's leader looks at the freeze before it looks at the contended flag.
    FreezeLoadedFirst,
    /// A parked lane looks at the flag alone, and can sleep through a release.
    GenerationLessBarrier,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::ReleaseWithEmptyQueues,
        Self::PopWaitUnbounded,
        Self::PublishThenDrop,
        Self::TwoFreeQueueWriters,
        Self::AcquireBeforePublish,
        Self::StalePredicate,
        Self::LostPayloadBlocks,
        Self::AllocatePerFreeze,
        Self::StampedCount,
        Self::AckBeforeDeliver,
        Self::DoneRingIgnored,
        Self::ScopeDepth,
        Self::StopWhileFrozen,
        Self::LostOnFailedFlush,
        Self::ClearBeforeOpen,
        Self::FreezeLoadedFirst,
        Self::GenerationLessBarrier,
    ];

    /// As it is written on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReleaseWithEmptyQueues => "release-with-empty-queues",
            Self::PopWaitUnbounded => "pop-wait-unbounded",
            Self::PublishThenDrop => "publish-then-drop",
            Self::TwoFreeQueueWriters => "two-free-queue-writers",
            Self::AcquireBeforePublish => "acquire-before-publish",
            Self::StalePredicate => "stale-predicate",
            Self::LostPayloadBlocks => "lost-payload-blocks",
            Self::AllocatePerFreeze => "allocate-per-freeze",
            Self::StampedCount => "stamped-count",
            Self::AckBeforeDeliver => "ack-before-deliver",
            Self::DoneRingIgnored => "done-ring-ignored",
            Self::ScopeDepth => "scope-depth",
            Self::StopWhileFrozen => "stop-while-frozen",
            Self::LostOnFailedFlush => "lost-on-failed-flush",
            Self::ClearBeforeOpen => "clear-before-open",
            Self::FreezeLoadedFirst => "freeze-loaded-first",
            Self::GenerationLessBarrier => "generation-less-barrier",
        }
    }
}

macro_rules! names {
    ($type:ty, $($value:path => $name:literal),+) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($value => $name),+ })
            }
        }
        impl FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok($value),)+
                    _ => Err(format!("expected one of {}", [$($name),+].join(", "))),
                }
            }
        }
    };
}

names!(Policy, Self::Drop => "drop", Self::GlobalFreeze => "global-freeze", Self::PerLane => "per-lane");
names!(PeerGate, Self::BarrierFirst => "barrier-first", Self::SlotFirst => "slot-first");

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fault {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|fault| fault.name() == text)
            .ok_or_else(|| format!("expected one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// A set of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults(u32);

impl Faults {
    /// Whether `fault` is on.
    #[inline]
    pub fn has(self, fault: Fault) -> bool {
        self.0 & 1 << fault as u32 != 0
    }

    /// Whether any is on.
    pub fn any(self) -> bool {
        self.0 != 0
    }

    /// Those that are on.
    pub fn iter(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(move |&fault| self.has(fault))
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        Self(faults.into_iter().fold(0, |set, fault| set | 1 << fault as u32))
    }
}

/// The rules of one run, the same for every region and for both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// What a lane does that runs out of buffers.
    pub policy: Policy,
    /// The order at the pop gate.
    pub peer_gate: PeerGate,
    /// Back-stop: the longest single wait, from its start. 30 s unless set otherwise.
    pub budget: Ticks,
    /// The longest wait under [`Policy::Drop`]; 20 µs unless set otherwise.
    pub short_wait: Ticks,
    /// The host may add buffers to a pool that runs dry.
    pub allocate: bool,
    /// Defects that are switched on.
    pub faults: Faults,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            peer_gate: PeerGate::default(),
            budget: 30_000_000_000,
            short_wait: 20_000,
            allocate: false,
            faults: Faults::default(),
        }
    }
}

impl Rules {
    /// How long a lane waits at a gate.
    pub fn bound(&self) -> Ticks {
        if self.policy == Policy::Drop { self.short_wait } else { self.budget }
    }

    /// Buffers beside the configured ones that a pool needs room for.
    pub fn spare(&self) -> u32 {
        if self.allocate || self.faults.has(Fault::AllocatePerFreeze) { 8 } else { 0 }
    }
}
