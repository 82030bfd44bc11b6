//! One region with its memory and all of its host: what simulator and explorer snapshot.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::event::{Cause, Event, Observer};
use super::host::{Account, Collector, Drain, HostLayout, PayloadWriter, Replenish, Sink, Site, Taken, seed};
use super::layout::{ENTRY_WORDS, Layout};
use super::ledger::{Ledger, Line};
use super::link::Link;
use super::profile::Transport;
use super::rules::Rules;
use crate::machine::{Memory, Outcome, PagedMemory, Ticks, WideMemory, Word};

/// Words that somebody stored to, where another party may look: `true` for the device's memory.
#[derive(Clone, Debug, Default)]
pub struct Touched(RefCell<Vec<(bool, Word)>>);

impl Touched {
    /// Whether nothing was noted since the last call of [`Touched::take`].
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Takes what was noted since the last call into `into`.
    pub fn take(&self, into: &mut Vec<(bool, Word)>) {
        into.clear();
        std::mem::swap(into, &mut self.0.borrow_mut());
    }
}

/// A memory that notes which words were released to others. Relaxed stores are the owner's own.
#[derive(Clone, Copy, Debug)]
pub struct Tap<'a> {
    memory: &'a PagedMemory,
    touched: &'a Touched,
    device: bool,
}

impl Tap<'_> {
    #[inline]
    fn note(&self, word: Word, order: Ordering) {
        if order != Ordering::Relaxed {
            self.touched.0.borrow_mut().push((self.device, word));
        }
    }
}

impl Memory for Tap<'_> {
    #[inline]
    fn load(&self, word: Word, order: Ordering) -> u32 {
        self.memory.load(word, order)
    }
    #[inline]
    fn store(&self, word: Word, value: u32, order: Ordering) {
        self.note(word, order);
        self.memory.store(word, value, order);
    }
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.note(word, order);
        self.memory.swap(word, value, order)
    }
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.note(word, order);
        self.memory.fetch_add(word, value, order)
    }
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.note(word, order);
        self.memory.fetch_sub(word, value, order)
    }
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.note(word, success);
        self.memory.compare_exchange(word, current, new, success, failure)
    }
}

impl WideMemory for Tap<'_> {
    #[inline]
    fn load64(&self, word: Word, order: Ordering) -> u64 {
        self.memory.load64(word, order)
    }
    #[inline]
    fn store64(&self, word: Word, value: u64, order: Ordering) {
        self.note(word, order);
        self.memory.store64(word, value, order);
    }
    #[inline]
    fn write_range(&self, start: Word, values: &[u32]) {
        self.memory.write_range(start, values);
    }
    #[inline]
    fn read_range(&self, start: Word, values: &mut [u32]) {
        self.memory.read_range(start, values);
    }
}

/// A thread of one region's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostActor {
    /// The drain of a shard.
    Drain(u32),
    /// The replenish thread.
    Replenish,
    /// The collector of a shard.
    Collector(u32),
    /// The payload writer.
    Writer,
}

/// One region: memories, host threads, accounts. Its lanes' engines are the driver's.
#[derive(Clone, Debug)]
pub struct Rig {
    /// The region.
    pub layout: Arc<Layout>,
    /// The host's own words.
    pub host_layout: Arc<HostLayout>,
    /// The rules in force.
    pub rules: Rules,
    /// What the device sees.
    pub device: PagedMemory,
    shadow: Option<PagedMemory>,
    /// The host's own memory.
    pub host: PagedMemory,
    drains: Vec<Drain>,
    replenish: Replenish,
    collectors: Vec<Collector>,
    writer: Option<PayloadWriter>,
    /// By pool.
    pub accounts: Vec<Account>,
    /// Threads that have ended, by place in [`Rig::actors`].
    ended: Vec<bool>,
    /// The host died: nobody steps any more.
    pub dead: bool,
}

impl PartialEq for Rig {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
            && self.device == other.device
            && self.shadow == other.shadow
            && self.host == other.host
            && self.drains == other.drains
            && self.replenish == other.replenish
            && self.collectors == other.collectors
            && self.writer == other.writer
            && self.accounts == other.accounts
            && self.ended == other.ended
            && self.dead == other.dead
    }
}

impl Eq for Rig {}

impl Hash for Rig {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Layouts never change during a run.
        (&self.device, &self.shadow, &self.host).hash(state);
        (&self.drains, &self.replenish, &self.collectors, &self.writer).hash(state);
        (&self.accounts, &self.ended, self.dead).hash(state);
    }
}

impl Rig {
    /// A region, seeded, with a host that has not begun. Free queues start at index `first`.
    pub fn new(layout: Layout, transport: Transport, rules: Rules, first: u32) -> Self {
        let host_layout = HostLayout::new(&layout, rules);
        let device = PagedMemory::new(layout.words as usize);
        let shadow = (transport == Transport::Shadow).then(|| PagedMemory::new(layout.words as usize));
        let host = PagedMemory::new(host_layout.words as usize);
        seed(&layout, &host_layout, Link::new(&device, shadow.as_ref()), &host, first);
        let writer = (!layout.arenas.is_empty()).then(|| PayloadWriter::new(rules));
        let threads = 2 * layout.shards as usize + 1 + usize::from(writer.is_some());
        Self {
            drains: (0..layout.shards).map(|shard| Drain::new(&layout, shard, rules)).collect(),
            replenish: Replenish::new(&layout, rules),
            collectors: (0..layout.shards).map(|shard| Collector::new(shard, rules)).collect(),
            writer,
            accounts: vec![Account::default(); layout.pools.len()],
            ended: vec![false; threads],
            dead: false,
            layout: Arc::new(layout),
            host_layout: Arc::new(host_layout),
            rules,
            device,
            shadow,
            host,
        }
    }

    /// All threads of the host, in a fixed order.
    pub fn actors(&self) -> Vec<HostActor> {
        let shards = self.layout.shards;
        let mut actors: Vec<_> = (0..shards).map(HostActor::Drain).collect();
        actors.push(HostActor::Replenish);
        actors.extend((0..shards).map(HostActor::Collector));
        actors.extend(self.writer.is_some().then_some(HostActor::Writer));
        actors
    }

    fn place(&self, actor: HostActor) -> usize {
        let shards = self.layout.shards as usize;
        match actor {
            HostActor::Drain(shard) => shard as usize,
            HostActor::Replenish => shards,
            HostActor::Collector(shard) => shards + 1 + shard as usize,
            HostActor::Writer => 2 * shards + 1,
        }
    }

    /// Whether a thread has ended.
    pub fn has_ended(&self, actor: HostActor) -> bool {
        self.dead || self.ended[self.place(actor)]
    }

    /// Words whose change is news for a thread: (of the device, which).
    pub fn watched(&self, actor: HostActor) -> Vec<(bool, Word)> {
        let (layout, host) = (&self.layout, &self.host_layout);
        let own = |words: Vec<Word>| words.into_iter().map(|word| (false, word));
        match actor {
            HostActor::Drain(shard) => {
                let tails = Drain::queues(layout, shard).map(|queue| (true, layout.tails.plus(queue)));
                tails.chain(own(host.watched_by_drain(shard))).collect()
            }
            HostActor::Replenish => {
                let block = layout.backpressure;
                let marks = [block.rq_contended, block.fq_contended].map(|word| (true, word));
                let heads = layout.pools.iter().map(|pool| (true, pool.state.fq_head));
                let queues = (0..layout.lanes).map(|queue| (true, layout.heads.plus(queue)));
                marks.into_iter().chain(heads).chain(queues).chain(own(host.watched_by_replenish())).collect()
            }
            HostActor::Collector(shard) => own(host.watched_by_collector(shard)).collect(),
            HostActor::Writer => own(host.watched_by_writer()).collect(),
        }
    }

    /// The device's memory, as a lane or core writes it.
    pub fn tap<'a>(&'a self, touched: &'a Touched) -> Tap<'a> {
        Tap { memory: &self.device, touched, device: true }
    }

    /// Whether the thread's next step is the long one: reading a buffer, writing payloads.
    pub fn is_about_to_work(&self, actor: HostActor) -> bool {
        match actor {
            HostActor::Collector(shard) => self.collectors[shard as usize].is_about_to_collect(),
            HostActor::Writer => self.writer.as_ref().is_some_and(PayloadWriter::is_about_to_write),
            _ => false,
        }
    }

    /// One step of one thread.
    pub fn step<S>(
        &mut self,
        actor: HostActor,
        sink: &mut S,
        now: Ticks,
        touched: &Touched,
        seen: &mut impl Observer,
    ) -> Outcome<()>
    where
        S: for<'t> Sink<Tap<'t>>,
    {
        self.steps(actor, sink, now, touched, seen, |_, _| false).0
    }

    /// Steps of one thread for as long as each was only a look: `again(seen, steps)` says whether there
    /// may be another one after so many. What was noted or is to be told, a long step that comes next, and
    /// everything but [`Outcome::Progress`] end it. Also how many steps there were.
    pub fn steps<'a, S, O: Observer>(
        &'a mut self,
        actor: HostActor,
        sink: &mut S,
        now: Ticks,
        touched: &'a Touched,
        seen: &mut O,
        again: impl Fn(&O, u64) -> bool,
    ) -> (Outcome<()>, u64)
    where
        S: for<'t> Sink<Tap<'t>>,
    {
        let place = self.place(actor);
        let Self { layout, host_layout, device, shadow, host, accounts, .. } = self;
        let device = Tap { memory: device, touched, device: true };
        // Nobody but the host reads the shadow.
        let unseen = Touched::default();
        let shadow = shadow.as_ref().map(|memory| Tap { memory, touched: &unseen, device: false });
        let link = Link::new(&device, shadow.as_ref());
        let host = &Tap { memory: host, touched, device: false };
        let site = Site { layout, host: host_layout, link, mem: host, now };
        let mut steps = 0;
        let mut ends = |outcome: Outcome<()>, long: bool, seen: &O| {
            steps += 1;
            outcome != Outcome::Progress || long || !touched.is_empty() || !again(seen, steps)
        };
        let outcome = match actor {
            HostActor::Drain(shard) => {
                let drain = &mut self.drains[shard as usize];
                loop {
                    let outcome = drain.step(site, accounts, sink, seen);
                    if ends(outcome, false, seen) {
                        break outcome;
                    }
                }
            }
            HostActor::Replenish => loop {
                let outcome = self.replenish.step(site, seen);
                if ends(outcome, false, seen) {
                    break outcome;
                }
            },
            HostActor::Collector(shard) => {
                let collector = &mut self.collectors[shard as usize];
                loop {
                    let outcome = collector.step(site, accounts, sink, seen);
                    if ends(outcome, collector.is_about_to_collect(), seen) {
                        break outcome;
                    }
                }
            }
            HostActor::Writer => match &mut self.writer {
                Some(writer) => loop {
                    let outcome = writer.step(site, sink, seen);
                    if ends(outcome, writer.is_about_to_write(), seen) {
                        break outcome;
                    }
                },
                None => {
                    steps = 1;
                    Outcome::Ready(())
                }
            },
        };
        if outcome == Outcome::Ready(()) {
            self.ended[place] = true;
            self.after_end(touched, seen);
        }
        (outcome, steps)
    }

    /// What the thread that started the others does when it has joined some of them.
    fn after_end(&mut self, touched: &Touched, seen: &mut impl Observer) {
        let host = Tap { memory: &self.host, touched, device: false };
        if self.host_layout.join(&host, &self.ended) {
            seen.on(Event::Stop { subsystem: self.layout.subsystem });
        }
    }

    /// Asks the host to stop: the device has flushed.
    pub fn stop(&self, touched: &Touched) {
        let host = Tap { memory: &self.host, touched, device: false };
        host.store(self.host_layout.stop, 1, Ordering::Release);
    }

    /// Forgets how often the host has ticked: two states that differ in this alone are one to a search.
    pub fn forget_ticks(&mut self) {
        self.device.store(self.layout.extension.heartbeat, 0, Ordering::Relaxed);
        self.replenish.forget_ticks();
    }

    /// Whether every thread has ended, or the host is dead.
    pub fn is_over(&self) -> bool {
        self.dead || self.ended.iter().all(|ended| *ended)
    }

    /// As [`Books::reconcile`].
    pub fn reconcile<S>(&mut self, sink: &mut S, touched: &Touched, seen: &mut impl Observer)
    where
        S: for<'t> Sink<Tap<'t>>,
    {
        let Self { layout, device, shadow, accounts, dead, .. } = self;
        let device = Tap { memory: device, touched, device: true };
        let shadow = shadow.as_ref().map(|memory| Tap { memory, touched, device: false });
        let books = Books { layout, device: &device, shadow: shadow.as_ref(), dead: *dead };
        books.reconcile(accounts, sink, seen);
    }

    /// As [`Books::ledger`].
    pub fn ledger(&self) -> Ledger {
        let Self { layout, device, shadow, accounts, dead, .. } = self;
        Books { layout, device, shadow: shadow.as_ref(), dead: *dead }.ledger(accounts)
    }
}

/// What the ledger of a region is made from, beside the host's accounts.
#[derive(Clone, Copy, Debug)]
pub struct Books<'a, M> {
    /// The region.
    pub layout: &'a Layout,
    /// What the device sees.
    pub device: &'a M,
    /// What the host sees, if that is another memory.
    pub shadow: Option<&'a M>,
    /// The host died.
    pub dead: bool,
}

/// What of a pool is in a ready queue.
#[derive(Clone, Copy, Debug)]
struct Published {
    records: u32,
    /// The number of the first buffer that is neither there nor with the host.
    next_seq: u32,
}

impl<M: WideMemory> Books<'_, M> {
    /// Records in entries of a lane's ready queue that the host has not taken over, by pool.
    fn in_ready_queues(&self, accounts: &[Account]) -> Vec<Published> {
        let layout = self.layout;
        let published = |account: &Account| Published { records: 0, next_seq: account.next_seq };
        let mut all: Vec<_> = accounts.iter().map(published).collect();
        for queue in 0..layout.lanes {
            let tail = self.device.load(layout.tails.plus(queue), Ordering::Acquire) % layout.ready;
            let mut head = self.device.load(layout.heads.plus(queue), Ordering::Acquire) % layout.ready;
            while head != tail {
                let mut entry = [0; ENTRY_WORDS as usize];
                self.device.read_range(layout.entry(queue, head), &mut entry);
                let [owner, kind, _, _, seq, _, count, _] = entry;
                let pool = layout
                    .pools
                    .iter()
                    .position(|pool| pool.kind as u32 == kind && pool.owner == owner && pool.lane == queue);
                // Spooled, and only not acknowledged: then it is collected already.
                if let Some(pool) = pool
                    && seq.wrapping_sub(accounts[pool].next_seq) < u32::MAX / 2
                {
                    all[pool] =
                        Published { records: all[pool].records + count, next_seq: seq.wrapping_add(1) };
                }
                head = (head + 1) % layout.ready;
            }
        }
        all
    }

    /// Records in the buffer that a lane or core fills. One that is published stays its current one
    /// for a moment, and is not counted twice.
    fn in_current(&self, pool: usize, published: Published) -> u32 {
        let pool = &self.layout.pools[pool];
        let current = self.device.load64(pool.state.current, Ordering::Acquire);
        let seq = self.device.load(pool.state.seq, Ordering::Acquire);
        if current == 0 || seq.wrapping_sub(published.next_seq) >= u32::MAX / 2 {
            return 0;
        }
        self.device.load(Word((current / 4) as u32).plus(pool.count_at), Ordering::Acquire)
    }

    /// What remains after everybody has ended: a living host takes what a failed flush left behind;
    /// what a dead host never came for is lost to it. Then nothing is in flight.
    pub fn reconcile(&self, accounts: &mut [Account], sink: &mut impl Sink<M>, seen: &mut impl Observer) {
        let subsystem = self.layout.subsystem;
        let published = self.in_ready_queues(accounts);
        if self.dead {
            for (pool, &Published { records, next_seq }) in published.iter().enumerate() {
                if records == 0 {
                    continue;
                }
                accounts[pool].lost[Cause::HostDied as usize] += records;
                accounts[pool].next_seq = next_seq;
                let cause = Cause::HostDied;
                seen.on(Event::Lost { subsystem, pool: pool as u32, cause, records });
            }
        }
        for index in 0..self.layout.pools.len() {
            let records = self.in_current(index, published[index]);
            if records == 0 {
                continue;
            }
            let pool = &self.layout.pools[index];
            let current = Word((self.device.load64(pool.state.current, Ordering::Acquire) / 4) as u32);
            if self.dead {
                let word = pool.state.causes.plus(Cause::FlushTimeout as u32);
                self.device.fetch_add(word, records, Ordering::Relaxed);
                self.device.fetch_add(pool.state.dropped, records, Ordering::Relaxed);
                let cause = Cause::FlushTimeout;
                seen.on(Event::Dropped { subsystem, pool: index as u32, cause, records });
            } else {
                let link = Link::new(self.device, self.shadow);
                link.fetch(current, pool.buffer_words);
                let seq = self.device.load(pool.state.seq, Ordering::Acquire);
                let buffer = pool.index_of(current).unwrap_or(0);
                let taken = Taken { pool: index as u32, buffer, seq, records, marks: 0 };
                sink.spool(pool, &taken, link);
                let kept = sink.collect(pool, &taken, link).min(records);
                accounts[index].collected += kept;
                accounts[index].spooled += records;
                let Taken { pool, buffer, .. } = taken;
                seen.on(Event::Spool { subsystem, pool, buffer, seq, records });
                seen.on(Event::Collected { subsystem, pool, buffer, records: kept });
                if records > kept {
                    let (records, cause) = (records - kept, Cause::SinkFull);
                    accounts[index].lost[cause as usize] += records;
                    seen.on(Event::Lost { subsystem, pool, cause, records });
                }
            }
            // The count is the host's now, and the total has to have it.
            self.device.fetch_add(pool.state.total, records, Ordering::Relaxed);
            self.device.store(current.plus(pool.count_at), 0, Ordering::Relaxed);
        }
    }

    /// Where every record of every pool is, by what is really there.
    pub fn ledger(&self, accounts: &[Account]) -> Ledger {
        let published = self.in_ready_queues(accounts);
        let line = |(index, pool): (usize, &super::layout::Pool)| {
            let word = |word: Word| self.device.load(word, Ordering::Acquire);
            let account = &accounts[index];
            let mut causes = account.lost;
            for cause in Cause::ALL.into_iter().filter(|cause| cause.is_drop()) {
                causes[cause as usize] = word(pool.state.causes.plus(cause as u32));
            }
            let counted = |drop: bool| {
                Cause::ALL
                    .into_iter()
                    .filter(|cause| cause.is_drop() == drop)
                    .map(|cause| causes[cause as usize])
                    .fold(0_u32, u32::wrapping_add)
            };
            let (dropped, lost) = (counted(true), counted(false));
            // What a dead host had spooled counts as collected (contracts §6).
            let kept = account.spooled.wrapping_sub(causes[Cause::SinkFull as usize]);
            let collected = if self.dead { kept } else { account.collected };
            let at_host = kept.wrapping_sub(account.collected);
            Line {
                pool: index as u32,
                kind: pool.kind,
                owner: pool.owner,
                written: word(pool.state.total)
                    .wrapping_add(pool.state.overflow.map_or(0, word))
                    .wrapping_add(self.in_current(index, published[index])),
                collected,
                dropped,
                lost,
                in_flight: self
                    .in_current(index, published[index])
                    .wrapping_add(published[index].records)
                    .wrapping_add(if self.dead { 0 } else { at_host }),
                causes,
            }
        };
        Ledger {
            subsystem: self.layout.subsystem,
            lines: self.layout.pools.iter().enumerate().map(line).collect(),
        }
    }
}
