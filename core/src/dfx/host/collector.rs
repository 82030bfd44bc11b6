//! A collector: reads the buffers of its shard's ready ring and gives them back.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::super::event::{Cause, Event, Observer};
use super::super::profile::PoolKind;
use super::super::rules::{Fault, Rules};
use super::{Account, POLL, Sink, Site, Taken};
use crate::machine::{Outcome, WideMemory};

/// One collector thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collector {
    shard: u32,
    rules: Rules,
    at: At,
    taken: Taken,
    head: u32,
    finishing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Complete,
    Take,
    Free,
    Collect,
    Payloads,
    Return,
}

impl Collector {
    /// The collector of `shard`.
    pub fn new(shard: u32, rules: Rules) -> Self {
        Self { shard, rules, at: At::Complete, taken: Taken::default(), head: 0, finishing: false }
    }

    /// As [`Drain::forget`](super::Drain::forget).
    #[cfg(feature = "explore")]
    pub(crate) fn forget(&mut self) {
        if self.at != At::Free {
            self.head = 0;
        }
        if matches!(self.at, At::Complete | At::Take) {
            self.taken = Taken::default();
        }
        self.finishing &= self.at != At::Complete;
    }

    /// The buffer in hand, if there is one.
    pub fn in_hand(&self) -> Option<Taken> {
        matches!(self.at, At::Collect | At::Payloads | At::Return).then_some(self.taken)
    }

    /// Whether the next step reads a buffer: that is what takes a collector's time.
    pub fn is_about_to_collect(&self) -> bool {
        self.at == At::Collect
    }

    /// One access. `Ready` once the ring is empty and nothing more can come.
    pub fn step<M: WideMemory>(
        &mut self,
        site: Site<'_, M>,
        accounts: &mut [Account],
        sink: &mut impl Sink<M>,
        seen: &mut impl Observer,
    ) -> Outcome<()> {
        let Site { layout, host, link, mem, now } = site;
        let subsystem = layout.subsystem;
        let words = &host.shards[self.shard as usize];
        match self.at {
            // Looked at before the ring: whoever saw it set sees everything that was delivered.
            At::Complete => {
                self.finishing = mem.load(host.complete, Acquire) != 0;
                self.at = At::Take;
            }
            At::Take => {
                self.head = mem.load(words.ready.head, Acquire);
                let tail = mem.load(words.ready.tail, Acquire);
                if tail == self.head {
                    self.at = At::Complete;
                    if self.finishing {
                        return Outcome::Ready(());
                    }
                    return Outcome::Wait {
                        word: words.ready.tail,
                        expected: tail,
                        deadline: Some(now + 10 * POLL),
                    };
                }
                let [pool, buffer, seq, records, marks] = words.ready.read(mem, self.head);
                self.taken = Taken { pool, buffer, seq, records, marks };
                self.at = At::Free;
            }
            At::Free => {
                mem.store(words.ready.head, self.head.wrapping_add(1), Release);
                let Taken { pool, buffer, .. } = self.taken;
                if buffer != Taken::NO_BUFFER {
                    seen.on(Event::Collect { subsystem, pool, buffer });
                }
                self.at = At::Collect;
            }
            At::Collect => {
                let pool = &layout.pools[self.taken.pool as usize];
                let account = &mut accounts[self.taken.pool as usize];
                let kept = sink.collect(pool, &self.taken, link).min(self.taken.records);
                let (records, cause) = (self.taken.records - kept, Cause::SinkFull);
                account.collected = account.collected.wrapping_add(kept);
                if self.taken.buffer != Taken::NO_BUFFER {
                    let Taken { pool, buffer, .. } = self.taken;
                    seen.on(Event::Collected { subsystem, pool, buffer, records: kept });
                }
                if records > 0 {
                    account.lose(cause, records);
                    seen.on(Event::Lost { subsystem, pool: self.taken.pool, cause, records });
                }
                self.at = if pool.kind == PoolKind::TensorDump { At::Payloads } else { At::Return };
            }
            At::Payloads => {
                // As many entries as buffers fit, and each buffer has one entry: there is room.
                let tail = mem.load(words.payloads.tail, Acquire);
                let lane = layout.pools[self.taken.pool as usize].lane;
                if words.payloads.is_full(mem.load(words.payloads.head, Acquire), tail) {
                    return Outcome::Wait {
                        word: words.payloads.head,
                        expected: mem.load(words.payloads.head, Acquire),
                        deadline: Some(now + POLL),
                    };
                }
                words.payloads.write(mem, tail, &[lane, self.taken.marks]);
                mem.store(words.payloads.tail, tail.wrapping_add(1), Release);
                let real = self.taken.buffer != Taken::NO_BUFFER;
                self.at = if real { At::Return } else { At::Complete };
            }
            At::Return => {
                let Taken { pool, buffer, records, .. } = self.taken;
                let (head, tail) = (mem.load(words.done.head, Acquire), mem.load(words.done.tail, Acquire));
                if words.done.is_full(head, tail) {
                    self.at = At::Complete;
                    if self.rules.faults.has(Fault::DoneRingIgnored) {
                        return Outcome::Progress;
                    }
                    self.at = At::Return;
                    return Outcome::Wait {
                        word: words.done.head,
                        expected: head,
                        deadline: Some(now + POLL),
                    };
                }
                words.done.write(mem, tail, &[pool, buffer]);
                mem.store(words.done.tail, tail.wrapping_add(1), Release);
                seen.on(Event::Return { subsystem, pool, buffer, records });
                self.at = At::Complete;
            }
        }
        Outcome::Progress
    }
}
