//! What happens to buffers, gates and records: the `dfx` families of the event log (contracts §4).

use serde::{Deserialize, Serialize};

use super::profile::{PoolKind, Subsystem};

/// The two places where a lane can run out of something (seed 000), and the arena's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The ready queue is full.
    Push,
    /// The free queue is empty.
    Pop,
    /// The payload arena is full.
    Arena,
}

/// Why records are missing. Nothing is missing without a cause (dfx spec §9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// No ready-queue slot in time: the batch was given up.
    PushTimeout,
    /// No free buffer in time.
    PopTimeout,
    /// No buffer, and no waiting for one: the host was found silent, or the policy does not wait.
    NoBuffer,
    /// The arena was not acknowledged in time.
    ArenaTimeout,
    /// Larger than the arena, or than a buffer.
    Oversize,
    /// The last flush found no ready-queue slot in time, and nobody came for the buffer.
    FlushTimeout,
    /// Before the pool was there.
    PreInit,
    /// The host could not copy the buffer.
    CopyFailed,
    /// The ready-queue entry named no buffer of its pool.
    CorruptEntry,
    /// The buffer's count was larger than the buffer.
    CountClamped,
    /// The payload writer failed.
    WriterFailed,
    /// There was no room for more records.
    SinkFull,
    /// The device ended in the middle.
    DeviceDied,
    /// The host ended before it came for a published buffer.
    HostDied,
}

impl Cause {
    /// All of them, those that a device counts first.
    pub const ALL: [Self; 14] = [
        Self::PushTimeout,
        Self::PopTimeout,
        Self::NoBuffer,
        Self::ArenaTimeout,
        Self::Oversize,
        Self::FlushTimeout,
        Self::PreInit,
        Self::CopyFailed,
        Self::CorruptEntry,
        Self::CountClamped,
        Self::WriterFailed,
        Self::SinkFull,
        Self::DeviceDied,
        Self::HostDied,
    ];

    /// As it is written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PushTimeout => "push-timeout",
            Self::PopTimeout => "pop-timeout",
            Self::NoBuffer => "no-buffer",
            Self::ArenaTimeout => "arena-timeout",
            Self::Oversize => "oversize",
            Self::FlushTimeout => "flush-timeout",
            Self::PreInit => "pre-init",
            Self::CopyFailed => "copy-failed",
            Self::CorruptEntry => "corrupt-entry",
            Self::CountClamped => "count-clamped",
            Self::WriterFailed => "writer-failed",
            Self::SinkFull => "sink-full",
            Self::DeviceDied => "device-died",
            Self::HostDied => "host-died",
        }
    }

    /// Counted by the device as dropped, not by the host as lost.
    pub const fn is_drop(self) -> bool {
        (self as u32) < super::layout::DEVICE_CAUSES
    }
}

/// What happened, in one subsystem's region. Pools are numbered as in the
/// [`Layout`](super::Layout), buffers from 0 within their pool, `seq` counts a pool's buffers in
/// their order; `head` and `tail` are the queue's indices after the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
// Fields mean the same in every variant and are described above.
#[allow(missing_docs)]
pub enum Event {
    /// A region is there, with so many lanes, entries of each ready queue, shards of its host and
    /// bytes of a lane's arena: a log says itself how large everything is.
    Region {
        subsystem: Subsystem,
        lanes: u32,
        ready: u32,
        shards: u32,
        #[serde(with = "crate::number::wide")]
        arena_bytes: u64,
    },
    /// A pool of it, with records of a buffer, buffers, slots of the free queue and its first index.
    /// As many buffers as there are slots are queued, the others recycled.
    Pool {
        subsystem: Subsystem,
        pool: u32,
        of: PoolKind,
        owner: u32,
        lane: u32,
        records: u32,
        buffers: u32,
        slots: u32,
        first: u32,
    },
    /// A lane raised a gate's contended flag.
    Mark { subsystem: Subsystem, gate: Gate },
    /// The host closed a gate: a freeze begins.
    Open { subsystem: Subsystem, gate: Gate },
    /// The host took note of a contended flag and cleared it.
    Consume { subsystem: Subsystem, gate: Gate },
    /// The host opened a gate again: the freeze is over.
    Release { subsystem: Subsystem, gate: Gate },
    /// A lane stops at a gate.
    Park { subsystem: Subsystem, gate: Gate },
    /// A lane goes on; `gave_up` if it did so without what it waited for.
    Resume { subsystem: Subsystem, gate: Gate, gave_up: bool },
    /// A lane gave up on the host: it will not wait in this region until the host shows life.
    Silent { subsystem: Subsystem },
    /// A lane that had given up saw the host's heart beat: it waits again.
    Heard { subsystem: Subsystem },
    /// A record is in the current buffer, which now holds so many.
    Append { subsystem: Subsystem, pool: u32, records: u32 },
    /// A filled buffer entered the lane's ready queue, whose tail is now `tail`.
    Publish { subsystem: Subsystem, pool: u32, buffer: u32, seq: u32, records: u32, tail: u32 },
    /// A buffer left the free queue, whose head is now `head`, and is being filled.
    Claim { subsystem: Subsystem, pool: u32, buffer: u32, seq: u32, head: u32 },
    /// Records were dropped by the device.
    Dropped { subsystem: Subsystem, pool: u32, cause: Cause, records: u32 },
    /// Payload bytes are about to be written into the lane's arena.
    Payload {
        subsystem: Subsystem,
        pool: u32,
        #[serde(with = "crate::number::wide")]
        offset: u64,
        #[serde(with = "crate::number::wide")]
        bytes: u64,
    },
    /// The host has spooled the records of a buffer: from now on they are its own (contracts §6).
    Spool { subsystem: Subsystem, pool: u32, buffer: u32, seq: u32, records: u32 },
    /// The host has the buffer: its records are spooled, it is in the ready ring of its shard.
    Deliver { subsystem: Subsystem, pool: u32, buffer: u32, seq: u32, records: u32 },
    /// The host advanced the head of a lane's ready queue.
    Acknowledge { subsystem: Subsystem, queue: u32, head: u32 },
    /// A collector begins to read the buffer.
    Collect { subsystem: Subsystem, pool: u32, buffer: u32 },
    /// The collector has taken over so many of its records.
    Collected { subsystem: Subsystem, pool: u32, buffer: u32, records: u32 },
    /// The collector gave the buffer back.
    Return { subsystem: Subsystem, pool: u32, buffer: u32, records: u32 },
    /// The buffer is in its pool's recycled ring.
    Recycle { subsystem: Subsystem, pool: u32, buffer: u32 },
    /// A new buffer was added to the pool.
    Allocate { subsystem: Subsystem, pool: u32, buffer: u32 },
    /// The buffer entered the free queue, whose tail is now `tail`.
    Refill { subsystem: Subsystem, pool: u32, buffer: u32, tail: u32 },
    /// Records were lost by the host.
    Lost { subsystem: Subsystem, pool: u32, cause: Cause, records: u32 },
    /// The host is done with this many of a lane's payloads.
    Handled { subsystem: Subsystem, lane: u32, payloads: u32 },
    /// The lane was told so.
    Completed { subsystem: Subsystem, lane: u32, payloads: u32 },
    /// A tick of the host that changed something.
    Tick { subsystem: Subsystem },
    /// The host's side of a region stopped, all gates open.
    Stop { subsystem: Subsystem },
    /// The host died.
    Crash,
    /// A lane wrote a task to a core.
    Dispatched { core: u32, node: u32 },
    /// A core received its task.
    Ack { core: u32, node: u32 },
    /// A core began to run it.
    Start { core: u32, node: u32 },
    /// A core ended it.
    End { core: u32, node: u32 },
    /// A lane saw that a core had finished.
    Fin { core: u32, node: u32 },
    /// The last word on a pool: what became of its records.
    Ledger {
        subsystem: Subsystem,
        pool: u32,
        of: PoolKind,
        written: u32,
        collected: u32,
        dropped: u32,
        lost: u32,
        in_flight: u32,
    },
}

impl Event {
    /// The region in which it happened; None for what happens to cores, and for the host's death.
    pub fn subsystem(&self) -> Option<Subsystem> {
        match *self {
            Self::Region { subsystem, .. }
            | Self::Pool { subsystem, .. }
            | Self::Mark { subsystem, .. }
            | Self::Open { subsystem, .. }
            | Self::Consume { subsystem, .. }
            | Self::Release { subsystem, .. }
            | Self::Park { subsystem, .. }
            | Self::Resume { subsystem, .. }
            | Self::Silent { subsystem }
            | Self::Heard { subsystem }
            | Self::Append { subsystem, .. }
            | Self::Publish { subsystem, .. }
            | Self::Claim { subsystem, .. }
            | Self::Dropped { subsystem, .. }
            | Self::Payload { subsystem, .. }
            | Self::Spool { subsystem, .. }
            | Self::Deliver { subsystem, .. }
            | Self::Acknowledge { subsystem, .. }
            | Self::Collect { subsystem, .. }
            | Self::Collected { subsystem, .. }
            | Self::Return { subsystem, .. }
            | Self::Recycle { subsystem, .. }
            | Self::Allocate { subsystem, .. }
            | Self::Refill { subsystem, .. }
            | Self::Lost { subsystem, .. }
            | Self::Handled { subsystem, .. }
            | Self::Completed { subsystem, .. }
            | Self::Tick { subsystem }
            | Self::Stop { subsystem }
            | Self::Ledger { subsystem, .. } => Some(subsystem),
            Self::Crash
            | Self::Dispatched { .. }
            | Self::Ack { .. }
            | Self::Start { .. }
            | Self::End { .. }
            | Self::Fin { .. } => None,
        }
    }

    /// Whether a reader would want to stop here.
    pub fn is_interesting(&self) -> bool {
        matches!(
            self,
            Self::Mark { .. }
                | Self::Open { .. }
                | Self::Release { .. }
                | Self::Park { .. }
                | Self::Resume { .. }
                | Self::Silent { .. }
                | Self::Dropped { .. }
                | Self::Lost { .. }
                | Self::Crash
                | Self::Ledger { .. }
        )
    }
}

/// Sees what happens. `()` sees nothing and compiles to nothing.
pub trait Observer {
    /// Called once for each event, in order.
    fn on(&mut self, event: Event);
}

impl Observer for () {
    #[inline(always)]
    fn on(&mut self, _: Event) {}
}

impl Observer for Vec<Event> {
    fn on(&mut self, event: Event) {
        self.push(event);
    }
}
