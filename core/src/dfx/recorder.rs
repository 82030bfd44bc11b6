//! A lane's way with one record, from the wish to write it to the last resort of dropping it.

use super::device::{Done, Engine, Reserve, Task};
use super::event::{Cause, Event, Observer};
use crate::machine::{Grain, Outcome, Ticks, WideMemory};

/// What is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// One record.
    Record,
    /// A chain of slots in one buffer.
    Chain {
        /// How many.
        slots: u32,
    },
    /// A slot that a core will fill.
    ForCore,
    /// A record with a payload.
    Payload {
        /// Bytes of the payload.
        bytes: u64,
    },
    /// Nothing: a full buffer is exchanged now and not before the next record.
    Switch,
    /// Nothing: what is there is published.
    Flush,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Written {
    /// The record is in a buffer; or the flush is done, as far as it could be.
    Recorded,
    /// It was dropped and counted.
    Dropped,
    /// There is room for payload and record: the lane writes the payload's bytes, then calls
    /// [`Recorder::append_with_payload`].
    Reserved {
        /// Logical offset in the arena.
        offset: u64,
        /// Bytes that are kept.
        bytes: u64,
        /// Not all of them.
        truncated: bool,
    },
}

/// One lane in one region: its engine, and the record that it is busy with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recorder {
    /// The engine.
    pub engine: Engine,
    writer: u32,
    write: Write,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Try,
    Switching,
    Emptying,
    NewLap,
    Flushing,
}

impl Recorder {
    /// A recorder with nothing to do.
    pub fn new(engine: Engine) -> Self {
        Self { engine, writer: 0, write: Write::Flush, stage: Stage::Try }
    }

    /// Begins a write; [`Recorder::advance`] until it is ready.
    pub fn begin(&mut self, writer: usize, write: Write) {
        self.writer = writer as u32;
        self.write = write;
        self.stage = Stage::Try;
    }

    /// Puts to rest what belongs to a write that has ended: see [`Engine::forget`].
    #[cfg(feature = "explore")]
    pub(crate) fn forget(&mut self, generations: Option<[u32; 2]>, busy: bool) -> bool {
        if !busy {
            (self.writer, self.write, self.stage) = (0, Write::Flush, Stage::Try);
        }
        self.engine.forget(generations)
    }

    /// Goes on with the write that was begun. `record` holds the record, or the slots of a chain.
    pub fn advance<M: WideMemory>(
        &mut self,
        mem: &M,
        record: &[u32],
        now: Ticks,
        grain: Grain,
        seen: &mut impl Observer,
    ) -> Outcome<Written> {
        loop {
            let outcome = self.step(mem, record, now, grain, seen);
            if grain == Grain::Fine || outcome != Outcome::Progress {
                return outcome;
            }
        }
    }

    fn step<M: WideMemory>(
        &mut self,
        mem: &M,
        record: &[u32],
        now: Ticks,
        grain: Grain,
        seen: &mut impl Observer,
    ) -> Outcome<Written> {
        let writer = self.writer as usize;
        if self.stage == Stage::Try {
            return match self.attempt(mem, record, seen) {
                Some(written) => Outcome::Ready(written),
                None => {
                    let (task, stage) = match self.write {
                        Write::Flush => (Task::Flush, Stage::Flushing),
                        Write::Switch => (Task::Switch, Stage::Flushing),
                        Write::Payload { .. } if !self.engine.is_full(writer) && self.has_room() => {
                            (Task::Arena, Stage::Emptying)
                        }
                        _ => (Task::Switch, Stage::Switching),
                    };
                    self.stage = stage;
                    self.engine.begin(writer, task, now);
                    Outcome::Progress
                }
            };
        }
        let done = match self.engine.advance(mem, now, grain, seen) {
            Outcome::Progress => return Outcome::Progress,
            Outcome::Wait { word, expected, deadline } => {
                return Outcome::Wait { word, expected, deadline };
            }
            Outcome::Ready(done) => done,
        };
        match (self.stage, done) {
            (Stage::Flushing, _) => Outcome::Ready(Written::Recorded),
            (Stage::Emptying, Done::Served) => {
                // The metadata buffer went with the barrier: another one, then the lap begins.
                self.stage = Stage::NewLap;
                self.engine.begin(writer, Task::Switch, now);
                Outcome::Progress
            }
            (Stage::Emptying, _) => self.give_up(mem, Cause::ArenaTimeout, seen),
            (Stage::NewLap, Done::Served) => self.in_new_lap(mem, seen),
            (_, Done::Served) => {
                self.stage = Stage::Try;
                self.step(mem, record, now, grain, seen)
            }
            // Published, and the host silent: one more try for a buffer, which does not wait.
            (_, Done::Published) => {
                self.engine.begin(writer, Task::Switch, now);
                Outcome::Progress
            }
            (_, Done::Failed(cause)) => match self.attempt(mem, record, seen) {
                // A batch was given up, and with it there is room.
                Some(written) => Outcome::Ready(written),
                None => self.give_up(mem, cause, seen),
            },
        }
    }

    fn has_room(&self) -> bool {
        self.engine.current(self.writer as usize).is_some()
    }

    fn give_up<M: WideMemory>(
        &mut self,
        mem: &M,
        cause: Cause,
        seen: &mut impl Observer,
    ) -> Outcome<Written> {
        let slots = if let Write::Chain { slots } = self.write { slots } else { 1 };
        self.engine.drop_record(mem, self.writer as usize, slots, cause, seen);
        Outcome::Ready(Written::Dropped)
    }

    fn in_new_lap<M: WideMemory>(&mut self, mem: &M, seen: &mut impl Observer) -> Outcome<Written> {
        let Write::Payload { bytes } = self.write else { return Outcome::Ready(Written::Recorded) };
        match self.engine.reserve_in_new_lap(mem, bytes, seen) {
            Some(Reserve::At { offset, bytes, truncated }) => {
                Outcome::Ready(Written::Reserved { offset, bytes, truncated })
            }
            _ => self.give_up(mem, Cause::Oversize, seen),
        }
    }

    #[inline]
    fn recorded(&self, seen: &mut impl Observer) -> Written {
        seen.on(self.appended());
        Written::Recorded
    }

    /// What is to be told of the last record that was appended: [`Recorder::append_with_payload`]
    /// leaves that to its caller.
    pub fn appended(&self) -> Event {
        let (pool, records) = self.engine.current_count(self.writer as usize);
        Event::Append { subsystem: self.engine.subsystem(), pool, records }
    }

    /// What needs no machine: None if a buffer or the arena must be got first.
    #[inline]
    fn attempt<M: WideMemory>(
        &mut self,
        mem: &M,
        record: &[u32],
        seen: &mut impl Observer,
    ) -> Option<Written> {
        let writer = self.writer as usize;
        match self.write {
            Write::Record => self.engine.append(mem, writer, record).then(|| self.recorded(seen)),
            Write::Chain { slots } if !self.engine.fits(writer, slots) => {
                self.engine.drop_record(mem, writer, slots, Cause::Oversize, seen);
                Some(Written::Dropped)
            }
            Write::Chain { .. } => self.engine.append_chain(mem, writer, record).then(|| self.recorded(seen)),
            Write::ForCore => self.engine.reserve_for_core(mem, writer).then(|| self.recorded(seen)),
            Write::Payload { bytes } => {
                if !self.has_room() || self.engine.is_full(writer) {
                    return None;
                }
                match self.engine.reserve(mem, bytes, seen) {
                    Some(Reserve::At { offset, bytes, truncated }) => {
                        Some(Written::Reserved { offset, bytes, truncated })
                    }
                    Some(Reserve::Full) | None => None,
                }
            }
            Write::Flush | Write::Switch => None,
        }
    }

    /// Ends a write that was [`Written::Reserved`]: the payload's bytes are in the arena.
    pub fn append_with_payload<M: WideMemory>(&mut self, mem: &M, record: &[u32], kept: u64) {
        let writer = self.writer as usize;
        let appended = if kept == 0 {
            self.engine.append(mem, writer, record)
        } else {
            self.engine.append_with_payload(mem, writer, record)
        };
        debug_assert!(appended, "the buffer had room when the payload was reserved");
    }
}
