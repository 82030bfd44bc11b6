//! Lanes and cores of the simulated device.

use std::collections::VecDeque;

use crate::dfx::{Recorder, Write};
use crate::executor::{Continuation, Fifo, Worker};
use crate::machine::{Ticks, Word};

/// Something that a lane has decided to do, and does in this order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Todo {
    /// Write a record: the next `words` of the lane's [`Stock`], with the next `payload` bytes there.
    Record { rig: usize, writer: usize, write: Write, words: usize, payload: usize },
    /// Hand a thunk to a core, with the slot reserved before, if there was one.
    Dispatch { core: usize, node: u32 },
    /// The orchestrator has submitted this node.
    Submitted { node: u32 },
}

/// What the records on a lane's list are made of, in their order: one after the other, so that a record costs
/// no memory of its own.
#[derive(Debug, Default)]
pub(super) struct Stock {
    words: Vec<u32>,
    bytes: Vec<u8>,
    /// How much of both is used up.
    used: (usize, usize),
}

impl Stock {
    /// The words and bytes of the next record.
    pub(super) fn next(&mut self, words: usize, payload: usize) -> (&mut [u32], &[u8]) {
        let (word, byte) = self.used;
        (&mut self.words[word..][..words], &self.bytes[byte..][..payload])
    }

    /// That record is written.
    fn use_up(&mut self, words: usize, payload: usize) {
        self.used.0 += words;
        self.used.1 += payload;
        if self.used == (self.words.len(), self.bytes.len()) {
            self.words.clear();
            self.bytes.clear();
            self.used = (0, 0);
        }
    }
}

/// One lane.
#[derive(Debug)]
pub(super) struct Lane {
    /// By region; all regions have one, whether or not the lane writes there.
    pub(super) recorders: Vec<Recorder>,
    pub(super) todo: VecDeque<Todo>,
    pub(super) stock: Stock,
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

impl Lane {
    /// Puts a record on the list; `payload` adds its bytes to those that are there.
    pub(super) fn put(
        &mut self,
        (rig, writer): (usize, usize),
        write: Write,
        words: &[u32],
        payload: impl FnOnce(&mut Vec<u8>),
    ) {
        self.stock.words.extend_from_slice(words);
        let before = self.stock.bytes.len();
        payload(&mut self.stock.bytes);
        let payload = self.stock.bytes.len() - before;
        self.todo.push_back(Todo::Record { rig, writer, write, words: words.len(), payload });
    }

    /// Takes the first thing off the list: it is done.
    pub(super) fn take_off(&mut self) {
        if let Some(Todo::Record { words, payload, .. }) = self.todo.pop_front() {
            self.stock.use_up(words, payload);
        }
    }
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
