//! Defects of memory ordering: an access to a flag or an index loses one side of it.

use std::fmt;
use std::str::FromStr;

use crate::explore::executor::Side;

/// A group of flags or indices with the same use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Tail of a ready queue: a lane publishes.
    ReadyTail,
    /// Head of a ready queue: a drain acknowledges.
    ReadyHead,
    /// Tail of a free queue: a drain refills.
    FreeTail,
    /// Head of a free queue: a lane claims.
    FreeHead,
    /// A contended flag: a lane marks, the host clears.
    Contended,
    /// A freeze flag.
    Freeze,
    /// How many releases there were.
    Generation,
    /// Payloads that a lane has published.
    Published,
    /// Payloads that the host has acknowledged to a lane.
    Completed,
    /// Payloads that the writer is done with.
    Handled,
    /// Tail of a ring between threads of the host.
    RingTail,
    /// Head of a ring between threads of the host.
    RingHead,
    /// The replenish thread asks for free queues to be filled.
    Request,
    /// A drain has filled them.
    Granted,
    /// How many buffers of a pool the host has.
    Held,
    /// What tells threads of the host to end.
    Stop,
}

/// Accesses to flags of one role lose one side of their ordering. Has an effect under `ra` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weaken {
    /// Which flags.
    pub role: Role,
    /// Which side.
    pub side: Side,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::ReadyTail,
        Self::ReadyHead,
        Self::FreeTail,
        Self::FreeHead,
        Self::Contended,
        Self::Freeze,
        Self::Generation,
        Self::Published,
        Self::Completed,
        Self::Handled,
        Self::RingTail,
        Self::RingHead,
        Self::Request,
        Self::Granted,
        Self::Held,
        Self::Stop,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::ReadyTail => "ready-tail",
            Self::ReadyHead => "ready-head",
            Self::FreeTail => "free-tail",
            Self::FreeHead => "free-head",
            Self::Contended => "contended",
            Self::Freeze => "freeze",
            Self::Generation => "generation",
            Self::Published => "published",
            Self::Completed => "completed",
            Self::Handled => "handled",
            Self::RingTail => "ring-tail",
            Self::RingHead => "ring-head",
            Self::Request => "request",
            Self::Granted => "granted",
            Self::Held => "held",
            Self::Stop => "stop",
        }
    }
}

impl Weaken {
    /// All of them, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = Self> {
        Role::ALL.into_iter().flat_map(|role| Side::ALL.map(|side| Self { role, side }))
    }
}

impl fmt::Display for Weaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}-without-{}", self.role.name(), self.side.name()))
    }
}

impl FromStr for Weaken {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|weaken| weaken.to_string() == text);
        found.ok_or_else(|| {
            let roles = Role::ALL.map(Role::name).join(", ");
            format!("`{text}` is not -without-release or -without-acquire behind one of {roles}")
        })
    }
}
