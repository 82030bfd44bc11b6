//! The replenish tick: returned buffers, acknowledgements, and the freeze machine (dfx spec §3.4,
//! §3.5, with the order of §9.4: open → ready queues → refill → predicate → release).

use std::sync::atomic::Ordering::{Acquire, Release};

use super::super::event::{Event, Gate, Observer};
use super::super::layout::Layout;
use super::super::rules::{Fault, Policy, Rules};
use super::drain::Fill;
use super::{HostLayout, POLL, Site};
use crate::machine::{Outcome, WideMemory, Word};

/// The one replenish thread. It alone opens and releases freezes and clears contended flags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replenish {
    rules: Rules,
    at: At,
    /// Shard, lane, queue or pool that the present state is about.
    index: u32,
    head: u32,
    entry: [u32; 2],
    /// Gates that are closed, and those that were when this tick began.
    closed: [bool; 2],
    before: [bool; 2],
    heartbeat: u32,
    requests: u32,
    completed: Vec<u32>,
    published: Vec<u32>,
    generations: [u32; 2],
    /// Buffers ever allocated, by pool; only where that is allowed.
    allocated: Vec<u32>,
    fill: Fill,
    /// T6: what the predicate said before the gates were looked at.
    early: bool,
    /// Something was done in this tick.
    busy: bool,
    stopping: bool,
    ticks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Heartbeat,
    Stop,
    Done,
    Recycle,
    Freed,
    Allocate,
    EarlyPredicate,
    Handled,
    Completed,
    Contended(Gate),
    Open(Gate),
    Consume(Gate),
    Queues,
    Returned,
    Published,
    FillHere,
    Request,
    Granted,
    Predicate,
    Release(Gate),
    Generation(Gate),
    Starved,
    End,
}

/// A `Drop` host looks for dry free queues only every so many ticks: before the design, a queue was
/// filled when an entry came from it, and a lane without a buffer sends none (policies spec).
const LOOK_EVERY: u32 = 16;

impl Replenish {
    /// The replenish thread of a region.
    pub fn new(layout: &Layout, rules: Rules) -> Self {
        Self {
            rules,
            at: At::Heartbeat,
            index: 0,
            head: 0,
            entry: [0; 2],
            closed: [false; 2],
            before: [false; 2],
            heartbeat: 0,
            requests: 0,
            completed: vec![0; layout.arenas.len()],
            published: vec![0; layout.arenas.len()],
            generations: [0; 2],
            allocated: layout.pools.iter().map(|pool| pool.count).collect(),
            fill: Fill::default(),
            early: false,
            busy: false,
            stopping: false,
            ticks: 0,
        }
    }

    /// As [`Rig::forget_ticks`](super::super::Rig::forget_ticks).
    pub fn forget_ticks(&mut self) {
        self.heartbeat = 0;
        self.ticks %= LOOK_EVERY;
    }

    /// As [`Drain::forget`](super::Drain::forget): requests count from `requests`, releases from now if
    /// `releases` says so.
    /// Whether something was done in this tick is forgotten too, so there is no
    /// [`Event::Tick`].
    #[cfg(feature = "explore")]
    pub(crate) fn forget(&mut self, requests: u32, releases: bool) {
        self.forget_ticks();
        if self.rules.policy != Policy::Drop {
            self.ticks = 0;
        }
        if releases {
            self.generations = [0; 2];
        }
        self.requests = self.requests.wrapping_sub(requests);
        self.busy = false;
        if !matches!(self.at, At::Recycle | At::Freed | At::Completed) {
            self.head = 0;
        }
        if self.at != At::Recycle {
            self.entry = [0; 2];
        }
        if self.at != At::FillHere {
            self.fill = Fill::default();
        }
        let predicate = matches!(self.at, At::FillHere | At::Request | At::Granted | At::Predicate);
        if !predicate {
            self.published.fill(0);
        }
        let late = matches!(
            self.at,
            At::Heartbeat
                | At::Queues
                | At::Returned
                | At::Published
                | At::Release(_)
                | At::Generation(_)
                | At::End
        );
        if predicate || late {
            self.before = [false; 2];
        }
        self.early &= !matches!(self.at, At::Heartbeat | At::Stop | At::End);
    }

    /// Releases so far, by gate (push, pop), and requests.
    #[cfg(feature = "explore")]
    pub(crate) fn counts(&self) -> ([u32; 2], u32) {
        (self.generations, self.requests)
    }

    /// Whether a freeze is open, by gate (push, pop).
    pub fn closed(&self) -> [bool; 2] {
        self.closed
    }

    /// A returned buffer that is between two rings.
    pub fn in_hand(&self) -> Option<(u32, u32)> {
        (self.at == At::Recycle).then_some((self.entry[0], self.entry[1]))
    }

    fn go(&mut self, at: At) {
        self.at = at;
        self.index = 0;
    }

    /// One access. `Ready` after the tick that a stop asks for: it leaves every gate open.
    pub fn step<M: WideMemory>(&mut self, site: Site<'_, M>, seen: &mut impl Observer) -> Outcome<()> {
        let Site { layout, host, link, mem, now } = site;
        let subsystem = layout.subsystem;
        let freezes = self.rules.policy == Policy::GlobalFreeze;
        let block = layout.backpressure;
        let faults = self.rules.faults;
        let fault = |fault| faults.has(fault);
        match self.at {
            At::Heartbeat => {
                self.heartbeat = self.heartbeat.wrapping_add(1);
                link.put(layout.extension.heartbeat, self.heartbeat);
                self.before = self.closed;
                self.busy = false;
                self.ticks = self.ticks.wrapping_add(1);
                self.go(At::Stop);
            }
            At::Stop => {
                self.stopping = mem.load(host.stop, Acquire) != 0;
                if self.stopping && fault(Fault::StopWhileFrozen) {
                    return Outcome::Ready(());
                }
                self.go(At::Done);
            }
            At::Done => {
                let ring = &host.shards[self.index as usize].done;
                self.head = mem.load(ring.head, Acquire);
                if mem.load(ring.tail, Acquire) != self.head {
                    let [pool, buffer, ..] = ring.read(mem, self.head);
                    self.entry = [pool, buffer];
                    self.busy = true;
                    self.at = At::Recycle;
                    return Outcome::Progress;
                }
                self.index += 1;
                if self.index == layout.shards {
                    let next = if self.rules.allocate { At::Allocate } else { self.after_buffers() };
                    self.go(next);
                }
            }
            At::Recycle => {
                let [pool, buffer] = self.entry;
                // A buffer never leaves its pool: what is attainable there never shrinks.
                host.pools[pool as usize].ring.push(mem, &[buffer]);
                seen.on(Event::Recycle { subsystem, pool, buffer });
                self.at = At::Freed;
            }
            At::Freed => {
                let ring = &host.shards[self.index as usize].done;
                mem.store(ring.head, self.head.wrapping_add(1), Release);
                self.at = At::Done;
            }
            At::Allocate => {
                let pool = &layout.pools[self.index as usize];
                let tail = link.peek(pool.state.fq_tail);
                let dry = link.get(pool.state.fq_head) == tail;
                let recycled = &host.pools[self.index as usize].ring;
                let none = mem.load(recycled.head, Acquire) == mem.load(recycled.tail, Acquire);
                if dry && none {
                    self.allocate(site, seen);
                }
                self.index += 1;
                if self.index as usize == layout.pools.len() {
                    self.go(self.after_buffers());
                }
            }
            At::EarlyPredicate => {
                for (mark, arena) in self.published.iter_mut().zip(&layout.arenas) {
                    *mark = link.get64(arena.published) as u32;
                }
                self.early = self.all_handled(host, mem);
                self.go(At::Contended(Gate::Push));
            }
            At::Handled => {
                let lane = self.index;
                let handled = mem.load(host.handled[lane as usize], Acquire);
                self.head = handled;
                // T6: acknowledgements wait for a freeze.
                let withheld = fault(Fault::StalePredicate) && self.before == [false; 2];
                if handled != self.completed[lane as usize] && !withheld {
                    self.at = At::Completed;
                    return Outcome::Progress;
                }
                self.next_lane(layout);
            }
            At::Completed => {
                let (lane, payloads) = (self.index, self.head);
                self.completed[lane as usize] = payloads;
                link.put64(layout.arenas[lane as usize].completed, u64::from(payloads));
                seen.on(Event::Completed { subsystem, lane, payloads });
                self.busy = true;
                self.next_lane(layout);
            }
            At::Contended(gate) => {
                let (_, contended) = words(layout, gate);
                if !self.closed[slot(gate)] && link.get(contended) != 0 {
                    self.busy = true;
                    // The other way round, a leader can see both clear in the middle (seed 000).
                    let clear_first = fault(Fault::ClearBeforeOpen);
                    self.at = if clear_first { At::Consume(gate) } else { At::Open(gate) };
                } else {
                    self.after_gate(gate);
                }
            }
            At::Open(gate) => {
                link.put(words(layout, gate).0, 1);
                self.closed[slot(gate)] = true;
                seen.on(Event::Open { subsystem, gate });
                if fault(Fault::ClearBeforeOpen) {
                    self.after_gate(gate);
                } else {
                    self.at = At::Consume(gate);
                }
            }
            At::Consume(gate) => {
                link.put(words(layout, gate).1, 0);
                seen.on(Event::Consume { subsystem, gate });
                if fault(Fault::ClearBeforeOpen) {
                    self.at = At::Open(gate);
                } else {
                    self.after_gate(gate);
                }
            }
            At::Queues => {
                let queue = self.index;
                let head = link.peek(layout.heads.plus(queue));
                if link.get(layout.tails.plus(queue)) != head {
                    self.go(At::End);
                    return Outcome::Progress;
                }
                self.index += 1;
                if self.index == layout.lanes {
                    // T1: "nothing could be added" was taken for "everything is there".
                    let skip = fault(Fault::ReleaseWithEmptyQueues);
                    let next = if skip { At::Published } else { At::Returned };
                    self.go(next);
                }
            }
            // Attainable is what the device does not hold: buffers in rings and at collectors are
            // waited for.
            At::Returned => {
                let pool = &host.pools[self.index as usize];
                let held = mem.load(pool.held, Acquire);
                let recycled =
                    mem.load(pool.ring.tail, Acquire).wrapping_sub(mem.load(pool.ring.head, Acquire));
                if held != recycled {
                    self.go(At::End);
                    return Outcome::Progress;
                }
                self.index += 1;
                if self.index as usize == layout.pools.len() {
                    self.go(At::Published);
                }
            }
            // What was published until the queues were drained; a lane that still has buffers may
            // publish more, and must not put off the release for ever (I11).
            At::Published => {
                for (mark, arena) in self.published.iter_mut().zip(&layout.arenas) {
                    *mark = link.get64(arena.published) as u32;
                }
                let holds = self.all_handled(host, mem) || fault(Fault::StalePredicate);
                let next = if holds { self.refill() } else { At::End };
                self.go(next);
            }
            // T4 and T9: the replenish thread does it itself.
            At::FillHere => {
                if fault(Fault::AllocatePerFreeze) && self.fill.pushed == 0 {
                    self.allocate_until_full(site, seen);
                }
                if self.fill.step(site, seen) {
                    let next = self.fill.pool + 1;
                    if next as usize == layout.pools.len() {
                        self.go(At::Predicate);
                    } else {
                        self.fill = Fill::of(next);
                    }
                }
            }
            At::Request => {
                if self.index == 0 {
                    self.requests = self.requests.wrapping_add(1);
                }
                mem.store(host.shards[self.index as usize].request, self.requests, Release);
                self.index += 1;
                if self.index == layout.shards {
                    self.go(At::Granted);
                }
            }
            At::Granted => {
                let word = host.shards[self.index as usize].granted;
                let granted = mem.load(word, Acquire);
                if granted != self.requests {
                    if mem.load(host.stop, Acquire) != 0 {
                        self.go(At::End);
                        return Outcome::Progress;
                    }
                    return Outcome::Wait { word, expected: granted, deadline: Some(now + POLL) };
                }
                self.index += 1;
                if self.index == layout.shards {
                    self.go(if freezes { At::Predicate } else { At::End });
                }
            }
            At::Predicate => {
                let holds =
                    if fault(Fault::StalePredicate) { self.early } else { self.all_handled(host, mem) };
                self.go(if holds { At::Release(Gate::Push) } else { At::End });
            }
            At::Release(gate) => {
                if !self.closed[slot(gate)] {
                    self.after_release(gate);
                    return Outcome::Progress;
                }
                link.put(words(layout, gate).0, 0);
                self.closed[slot(gate)] = false;
                self.busy = true;
                seen.on(Event::Release { subsystem, gate });
                self.at = At::Generation(gate);
            }
            At::Generation(gate) => {
                let generation = &mut self.generations[slot(gate)];
                *generation = generation.wrapping_add(1);
                let word = match gate {
                    Gate::Push => layout.extension.rq_generation,
                    Gate::Pop | Gate::Arena => layout.extension.fq_generation,
                };
                link.put(word, *generation);
                self.after_release(gate);
            }
            At::Starved => {
                let pool = &layout.pools[self.index as usize];
                let ring = &host.pools[self.index as usize].ring;
                let some = mem.load(ring.tail, Acquire) != mem.load(ring.head, Acquire);
                let tail = link.peek(pool.state.fq_tail);
                if some && tail.wrapping_sub(link.get(pool.state.fq_head)) < pool.slots {
                    self.busy = true;
                    self.go(At::Request);
                    return Outcome::Progress;
                }
                self.index += 1;
                if self.index as usize == layout.pools.len() {
                    self.go(At::End);
                }
            }
            At::End => {
                if std::mem::take(&mut self.busy) {
                    seen.on(Event::Tick { subsystem });
                }
                self.go(At::Heartbeat);
                if self.stopping && self.closed == [false; 2] {
                    return Outcome::Ready(());
                }
                if self.stopping {
                    self.go(At::Release(Gate::Push));
                    return Outcome::Progress;
                }
                let word = block.fq_contended;
                return Outcome::Wait { word, expected: link.peek(word), deadline: Some(now + POLL) };
            }
        }
        Outcome::Progress
    }

    /// What comes after returned buffers have been routed.
    fn after_buffers(&self) -> At {
        match () {
            () if !self.completed.is_empty() => At::Handled,
            () => self.after_acknowledgements(),
        }
    }

    fn after_acknowledgements(&self) -> At {
        match self.rules.policy {
            Policy::GlobalFreeze if self.rules.faults.has(Fault::StalePredicate) => At::EarlyPredicate,
            Policy::GlobalFreeze => At::Contended(Gate::Push),
            Policy::Drop if !self.ticks.is_multiple_of(LOOK_EVERY) => At::End,
            Policy::Drop | Policy::PerLane => At::Starved,
        }
    }

    fn next_lane(&mut self, layout: &Layout) {
        self.index += 1;
        self.at = At::Handled;
        if self.index as usize == layout.arenas.len() {
            self.go(self.after_acknowledgements());
        }
    }

    fn after_gate(&mut self, gate: Gate) {
        self.go(match gate {
            Gate::Push => At::Contended(Gate::Pop),
            // A freeze that this tick opened is released by a later one: it is always to be seen.
            _ if self.before != [false; 2] => At::Queues,
            _ => At::End,
        });
    }

    fn after_release(&mut self, gate: Gate) {
        self.go(if gate == Gate::Push { At::Release(Gate::Pop) } else { At::End });
    }

    fn refill(&mut self) -> At {
        let faults = self.rules.faults;
        if faults.has(Fault::TwoFreeQueueWriters) || faults.has(Fault::AllocatePerFreeze) {
            self.fill = Fill::of(0);
            return At::FillHere;
        }
        At::Request
    }

    /// The release predicate: every payload that was published is handled, lane by lane. Equal sums
    /// would not do: one lane's surplus could hide another's lack (upstream #1662).
    fn all_handled<M: WideMemory>(&self, host: &HostLayout, mem: &M) -> bool {
        let handled =
            |(mark, word): (&u32, &Word)| mem.load(*word, Acquire).wrapping_sub(*mark) < u32::MAX / 2;
        self.published.iter().zip(&host.handled).all(handled)
    }

    fn allocate<M: WideMemory>(&mut self, site: Site<'_, M>, seen: &mut impl Observer) {
        let Site { layout, host, mem, .. } = site;
        let (pool, subsystem) = (self.index, layout.subsystem);
        let buffer = self.allocated[pool as usize];
        if buffer < layout.pools[pool as usize].most {
            self.allocated[pool as usize] += 1;
            self.busy = true;
            // Counted as held before it can be taken.
            let held = host.pools[pool as usize].held;
            mem.fetch_add(held, 1, Release);
            host.pools[pool as usize].ring.push(mem, &[buffer]);
            seen.on(Event::Allocate { subsystem, pool, buffer });
        }
    }

    /// T9: until the free queue could be filled to the brim.
    fn allocate_until_full<M: WideMemory>(&mut self, site: Site<'_, M>, seen: &mut impl Observer) {
        let Site { layout, host, link, mem, .. } = site;
        let pool = &layout.pools[self.fill.pool as usize];
        let ring = &host.pools[self.fill.pool as usize].ring;
        self.index = self.fill.pool;
        for _ in 0..pool.slots {
            let queued = link.peek(pool.state.fq_tail).wrapping_sub(link.get(pool.state.fq_head));
            let recycled = mem.load(ring.tail, Acquire).wrapping_sub(mem.load(ring.head, Acquire));
            if queued + recycled < pool.slots {
                self.allocate(site, seen);
            }
        }
    }
}

fn slot(gate: Gate) -> usize {
    usize::from(gate != Gate::Push)
}

/// The freeze flag and the contended flag of a gate.
fn words(layout: &Layout, gate: Gate) -> (Word, Word) {
    let block = layout.backpressure;
    match gate {
        Gate::Push => (block.rq_freeze_active, block.rq_contended),
        Gate::Pop | Gate::Arena => (block.fq_freeze_active, block.fq_contended),
    }
}
