//! What is explored: a small region, what its lanes write, and how the host may fail.

use super::{Property, Weaken};
use crate::dfx::{
    Fault, Faults, Layout, PeerGate, PoolKind, PoolSize, Profile, Rules, Subsystem, Transport, Write,
};
use crate::diagnostic::Diagnostic;
use crate::explore::memory::Order;

/// What a lane does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Script {
    /// Writes records (`args_dump`).
    Records,
    /// Writes records with a payload of 4 bytes in an arena (`tensor_dump`).
    Payloads {
        /// Payloads that fit into the arena: 1 or more.
        arena: u8,
    },
    /// Has its core write records (`swimlane`).
    Core,
    /// Waits for the release of a freeze that it asks for, again and again: flags and generations,
    /// and no buffer (`tensor_dump`, the arena's gate).
    Barrier,
}

/// A small world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// For people.
    pub name: String,
    /// What each lane does.
    pub script: Script,
    /// Lanes: 1 to [`MAX_LANES`]. Each has a pool and a ready queue of its own.
    pub lanes: u8,
    /// Buffers of each pool: 1 to [`MAX_BUFFERS`].
    pub buffers: u8,
    /// Records, payloads or releases of each lane: 0 to [`MAX_RECORDS`].
    pub records: u8,
    /// Records in a buffer: 1 to [`MAX_RECORDS`].
    pub capacity: u8,
    /// Slots of each free queue: 1, 2 or 4.
    pub slots: u8,
    /// Entries of each ready queue, of which one stays empty: 2 to 8.
    pub ready: u8,
    /// Drains and collectors: 1 to as many as there are lanes.
    pub shards: u8,
    /// All buffers are with the host at the start, so that the free queues are empty.
    pub dry: bool,
    /// The order at the pop gate.
    pub peer_gate: PeerGate,
    /// How the host reaches the region.
    pub transport: Transport,
    /// The host may die, at any step.
    pub crash: bool,
    /// No payload can be written.
    pub writer_fails: bool,
    /// Defects.
    pub faults: Vec<Fault>,
    /// Orderings that are weakened; has an effect under release and acquire alone.
    pub weakened: Vec<Weaken>,
    /// What must hold; nothing else is looked at.
    pub properties: Vec<Property>,
    /// The memory.
    pub memory: Order,
}

/// Most lanes.
pub const MAX_LANES: u8 = 4;
/// Most buffers of a pool.
pub const MAX_BUFFERS: u8 = 4;
/// Most records of a lane.
pub const MAX_RECORDS: u8 = 15;

impl Scenario {
    /// Lanes that write `records` records each into `buffers` buffers of one record. Free queues
    /// hold half of the buffers and ready queues one, so that both gates close.
    pub fn new(lanes: u8, buffers: u8, records: u8) -> Self {
        Self {
            name: format!("{lanes} x {buffers} x {records}"),
            script: Script::Records,
            lanes,
            buffers,
            records,
            capacity: 1,
            slots: if buffers >= 4 { 2 } else { 1 },
            ready: 2,
            shards: lanes,
            dry: false,
            peer_gate: PeerGate::BarrierFirst,
            transport: Transport::Shared,
            crash: false,
            writer_fails: false,
            faults: Vec::new(),
            weakened: Vec::new(),
            properties: Property::ALL.to_vec(),
            memory: Order::Sc,
        }
    }

    /// Whether everything is in its range.
    ///
    /// # Errors
    /// `CK005` with the field that is not.
    pub(super) fn checked(&self) -> Result<(), Diagnostic> {
        let check = |field: &str, value: u8, from: u8, to: u8| {
            if (from..=to).contains(&value) {
                return Ok(());
            }
            let path = format!("{}/{field}", self.name);
            Err(Diagnostic::error("CK005", path, format!("{from} to {to}")).found(value))
        };
        check("lanes", self.lanes, 1, MAX_LANES)?;
        check("buffers", self.buffers, 1, MAX_BUFFERS)?;
        check("records", self.records, 0, MAX_RECORDS)?;
        check("capacity", self.capacity, 1, MAX_RECORDS)?;
        check("slots", self.slots, 1, 4)?;
        check("slots", self.slots.count_ones() as u8, 1, 1)?;
        check("ready", self.ready, 2, 8)?;
        check("shards", self.shards, 1, self.lanes)?;
        if let Script::Payloads { arena } = self.script {
            check("arena", arena, 1, MAX_RECORDS)?;
        }
        Ok(())
    }

    pub(super) fn rules(&self) -> Rules {
        let faults: Faults = self.faults.iter().copied().collect();
        Rules { peer_gate: self.peer_gate, faults, ..Rules::default() }
    }

    fn subsystem(&self) -> Subsystem {
        match self.script {
            Script::Records => Subsystem::ArgsDump,
            Script::Payloads { .. } | Script::Barrier => Subsystem::TensorDump,
            Script::Core => Subsystem::Swimlane,
        }
    }

    /// The kind of pool that is written.
    pub(super) fn kind(&self) -> PoolKind {
        match self.script {
            Script::Records => PoolKind::ArgsDump,
            Script::Payloads { .. } | Script::Barrier => PoolKind::TensorDump,
            Script::Core => PoolKind::AicoreTask,
        }
    }

    /// What a lane writes each time.
    pub(super) fn write(&self) -> Write {
        match self.script {
            Script::Records | Script::Barrier => Write::Record,
            Script::Payloads { .. } => Write::Payload { bytes: 4 },
            Script::Core => Write::ForCore,
        }
    }

    pub(super) fn layout(&self) -> Option<Layout> {
        let lanes = u32::from(self.lanes);
        let mut profile = Profile::custom(lanes, lanes);
        profile.pools = [PoolSize {
            records: self.capacity.into(),
            buffers: self.buffers.into(),
            slots: self.slots.into(),
        }; 9];
        profile.ready = [self.ready.into(); 6];
        if let Script::Payloads { arena } = self.script {
            profile.arena_bytes = 4 * u64::from(arena);
        }
        let cores = if self.script == Script::Core { lanes.saturating_sub(1).max(1) } else { 0 };
        let mut layout = Layout::new(&profile, self.subsystem(), lanes, cores, self.rules().spare())?;
        // Pools that nobody writes would only be looked at.
        layout.pools.retain(|pool| pool.kind == self.kind());
        layout.shards = u32::from(self.shards);
        Some(layout)
    }

    /// One line for the log's header; equal scenarios, equal line.
    pub fn summary(&self) -> String {
        let Self { lanes, buffers, records, capacity, slots, ready, shards, .. } = self;
        let mut line = format!(
            "explore script={:?} lanes={lanes} buffers={buffers} records={records} capacity={capacity} \
             slots={slots} ready={ready} shards={shards} peer-gate={} transport={:?} memory={}",
            self.script,
            self.peer_gate,
            self.transport,
            self.memory.name()
        );
        for (name, on) in [("dry", self.dry), ("crash", self.crash), ("writer-fails", self.writer_fails)] {
            if on {
                line += &format!(" {name}");
            }
        }
        self.faults.iter().for_each(|fault| line += &format!(" fault={fault}"));
        self.weakened.iter().for_each(|weaken| line += &format!(" fault={weaken}"));
        line
    }
}
