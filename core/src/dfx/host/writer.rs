//! The payload writer of the tensor dump: copies payloads out of the arenas, in the order of each lane.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::super::event::{Event, Observer};
use super::super::rules::{Fault, Rules};
use super::{POLL, Sink, Site};
use crate::machine::{Outcome, WideMemory};

/// The writer thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PayloadWriter {
    rules: Rules,
    at: At,
    shard: u32,
    head: u32,
    lane: u32,
    marks: u32,
    /// T7: lanes with a payload that was never written, one bit each.
    blocked: u64,
    found: bool,
    finishing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Collected,
    Take,
    Write,
    Free,
    Handled,
}

impl PayloadWriter {
    /// The writer of a region.
    pub fn new(rules: Rules) -> Self {
        let at = At::Collected;
        Self { rules, at, shard: 0, head: 0, lane: 0, marks: 0, blocked: 0, found: false, finishing: false }
    }

    /// As [`Drain::forget`](super::Drain::forget).
    #[cfg(feature = "explore")]
    pub(crate) fn forget(&mut self) {
        if !matches!(self.at, At::Write | At::Free) {
            self.head = 0;
        }
        if matches!(self.at, At::Collected | At::Take) {
            (self.lane, self.marks) = (0, 0);
        }
        if self.at == At::Collected {
            (self.found, self.finishing) = (false, false);
        }
    }

    /// Whether the next step writes payloads: that is what takes its time.
    pub fn is_about_to_write(&self) -> bool {
        self.at == At::Write
    }

    /// One access. `Ready` once nothing more can come.
    pub fn step<M: WideMemory>(
        &mut self,
        site: Site<'_, M>,
        sink: &mut impl Sink<M>,
        seen: &mut impl Observer,
    ) -> Outcome<()> {
        let Site { layout, host, link, mem, now } = site;
        let words = &host.shards[self.shard as usize];
        match self.at {
            At::Collected => {
                self.finishing = mem.load(host.collected, Acquire) != 0;
                self.found = false;
                self.shard = 0;
                self.at = At::Take;
            }
            At::Take => {
                self.head = mem.load(words.payloads.head, Acquire);
                let tail = mem.load(words.payloads.tail, Acquire);
                if tail != self.head {
                    [self.lane, self.marks, ..] = words.payloads.read(mem, self.head);
                    self.found = true;
                    self.at = At::Write;
                    return Outcome::Progress;
                }
                self.shard += 1;
                if self.shard == layout.shards {
                    self.shard = 0;
                    self.at = At::Collected;
                    if self.finishing && !self.found {
                        return Outcome::Ready(());
                    }
                    if !self.found {
                        let word = words.payloads.tail;
                        return Outcome::Wait { word, expected: tail, deadline: Some(now + 10 * POLL) };
                    }
                }
            }
            At::Write => {
                let written = sink.write_payloads(self.lane, link);
                // Handled is written, failed or skipped: a lane must not wait for what will never
                // be written (T7).
                if !written && self.rules.faults.has(Fault::LostPayloadBlocks) {
                    self.blocked |= 1 << (self.lane % 64);
                }
                if self.blocked & 1 << (self.lane % 64) != 0 {
                    self.marks = mem.load(host.handled[self.lane as usize], Acquire);
                }
                self.at = At::Free;
            }
            At::Free => {
                mem.store(words.payloads.head, self.head.wrapping_add(1), Release);
                self.at = At::Handled;
            }
            At::Handled => {
                mem.store(host.handled[self.lane as usize], self.marks, Release);
                let (subsystem, lane, payloads) = (layout.subsystem, self.lane, self.marks);
                seen.on(Event::Handled { subsystem, lane, payloads });
                self.at = At::Take;
            }
        }
        Outcome::Progress
    }
}
