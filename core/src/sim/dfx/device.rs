//! Lanes and cores of the simulated device.

use std::collections::VecDeque;

use crate::dfx::{Recorder, Write};
use crate::executor::{Continuation, Fifo, Worker};
use crate::machine::{Ticks, Word};

/// Something that a lane has decided to do, and does in this order.
#[derive(Clone, Debug)]
pub(super) enum Todo {
    /// Write a record; `payload`: its bytes.
    Record { rig: usize, writer: usize, write: Write, words: Vec<u32>, payload: Vec<u8> },
    /// Hand a thunk to a core, with the slot reserved before, if there was one.
    Dispatch { core: usize, node: u32 },
    /// The orchestrator has submitted this node.
    Submitted { node: u32 },
}

/// One lane.
#[derive(Debug)]
pub(super) struct Lane {
    /// By region; all regions have one, whether or not the lane writes there.
    pub(super) recorders: Vec<Recorder>,
    pub(super) todo: VecDeque<Todo>,
    /// The first of `todo` has begun.
    pub(super) begun: bool,
    /// What it waits for: region, word, value, deadline.
    pub(super) waits: Option<(usize, Word, Option<Ticks>)>,
    pub(super) worker: Worker<Fifo>,
    /// It holds a place in the session.
    pub(super) joined: bool,
    /// Popped before they were submitted.
    pub(super) held: Vec<u32>,
    pub(super) loops: u32,
    /// A record slot for the next dispatch.
    pub(super) slot: Option<Word>,
    /// When it stopped at a gate, and how long it has stood at gates.
    pub(super) stopped: Option<Ticks>,
    pub(super) blocked: Ticks,
    pub(super) stops: u32,
    /// Flushes are on its list: it ends when they are done.
    pub(super) flushing: bool,
    pub(super) over: bool,
}

/// One core.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) lane: usize,
    /// Dispatch number on this core.
    pub(super) reg: u32,
    pub(super) task: Option<Running>,
}

/// A task on a core.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) node: u32,
    pub(super) cost: Ticks,
    pub(super) slot: Option<Word>,
    pub(super) dispatched: Ticks,
    pub(super) received: Ticks,
    pub(super) started: Ticks,
    pub(super) ended: Ticks,
    pub(super) phase: Phase,
    pub(super) continuation: Option<Continuation>,
}

/// What a core does next with its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Receive,
    Start,
    End,
    /// FIN is up; its lane has not seen it.
    Finished,
}
