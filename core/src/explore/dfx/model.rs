//! The transport as a [`Model`].

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use super::judge::{Finding, Past};
use super::memory::{Access, FORGOTTEN, NOT_KEPT, Scratch, Side, Store};
use super::property::Property;
use super::scenario::{MAX_BUFFERS, MAX_LANES, Scenario, Script};
use super::weak::{Choose, Kind, MAX_PLACES, Weak};
use super::weaken::Role;
use crate::dfx::host::{
    Account, Collector, Drain, HostLayout, PayloadWriter, Replenish, Sink, Site, Taken as InHand, seed,
};
use crate::dfx::{
    Arena, Books, Done, ENTRY_BYTES, Engine, Event, Fault, Layout, Link, Owner, Pool, Recorder, Rules, Task,
    Transport as Way, Write, Written,
};
use crate::diagnostic::Diagnostic;
use crate::explore::memory::Order;
use crate::explore::{Broken, Model, Narrator, Row, Taken};
use crate::machine::{Grain, Memory, Outcome, Ticks, WideMemory, Word};
use crate::trace::{Actor, EventKind, Header, Mode, SequenceHeader, VERSION};

/// A scenario, and everything that its states have in common.
#[derive(Debug)]
pub(crate) struct Transport {
    scenario: Scenario,
    rules: Rules,
    layout: Layout,
    host: HostLayout,
    places: Places,
    /// Words of each block, over all three memories.
    blocks: Vec<Vec<u32>>,
    classes: Vec<Class>,
    /// Heads of rings whose slots are free once the head has moved: (head, first slot, width, slots).
    rings: Vec<(u32, crate::dfx::host::Ring)>,
    bench: RefCell<Bench>,
    /// Looks in vain are made at once.
    reduction: bool,
    /// Under release and acquire: the words that are flags, and names of places.
    flags: Vec<u32>,
    place_names: Vec<String>,
    initial: State,
}

/// Numbers of what the parts of a state hold; see [`Places`].
pub(crate) type State = Row<u32, 48>;

/// Where each part stands in a state.
#[derive(Clone, Copy, Debug)]
struct Places {
    lanes: usize,
    shards: usize,
    writer: bool,
    device_blocks: usize,
}

const STATUS: usize = 0;
/// Status bits: by lane, that it has come back; from `WAITS`, that it waits; from `ENDED`, by thread of
/// the host, that it has ended.
const WAITS: u32 = 4;
const ENDED: u32 = 8;
const STOP: u32 = 1 << 30;
const DEAD: u32 = 1 << 31;

impl Places {
    fn lane(self, lane: usize) -> usize {
        1 + lane
    }
    /// Threads of the host: drains, replenish, collectors, writer.
    fn threads(self) -> usize {
        2 * self.shards + 1 + usize::from(self.writer)
    }
    fn thread(self, place: usize) -> usize {
        1 + self.lanes + place
    }
    fn past(self) -> usize {
        self.thread(self.threads())
    }
    fn accounts(self) -> usize {
        self.past() + 1
    }
    fn block(self, block: usize) -> usize {
        self.accounts() + 1 + block
    }
    fn who(self, place: usize) -> Who {
        match place {
            _ if place < self.shards => Who::Drain(place as u32),
            _ if place == self.shards => Who::Replenish,
            _ if place <= 2 * self.shards => Who::Collector((place - self.shards - 1) as u32),
            _ => Who::Writer,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Drain(u32),
    Replenish,
    Collector(u32),
    Writer,
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A lane takes a step; what its loads find is chosen by the number.
    Lane(u8, u32),
    /// What a lane waits for has not come in time.
    Expire(u8),
    /// A thread of the host takes a step, from one of the places where it may stand.
    Host(u8, u8, u32),
    /// The host is asked to stop.
    Stop,
    /// The host dies.
    Crash,
}

/// One lane: its machine, how far its script is, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lane {
    recorder: Recorder,
    op: u8,
    begun: bool,
    waits: Option<(u32, u32)>,
    /// Its present wait has used up its budget.
    late: bool,
}

/// What an access to a word tells about its step. Parties: lanes, then threads of the host.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// The one party that writes it.
    writer: Option<u8>,
    /// Nobody's steps depend on what is written there.
    quiet: bool,
    /// A party whose load, if it finds this, finds it whatever others do until it goes on.
    settled: Option<(u8, Found)>,
}

/// Stands for every party.
const ANYBODY: u8 = u8::MAX;

/// What a party looks for in a word that another one writes.
#[derive(Clone, Copy, Debug)]
enum Found {
    /// Something else than what this word holds: an entry.
    NotLike(u32),
    /// Room in a ready queue whose tail is here and which is so long.
    Room(u32, u32),
    /// Room in a free queue whose tail is here and which is so long.
    Below(u32, u32),
    /// 1.
    Raised,
}

#[derive(Debug)]
struct Bench {
    scratch: Scratch,
    /// By block, the number of what stands in the scratch; `u32::MAX` if it has none.
    loaded: Vec<u32>,
    lanes: Store<Lane>,
    drains: Store<Drain>,
    replenish: Store<Replenish>,
    collectors: Store<Collector>,
    writers: Store<PayloadWriter>,
    pasts: Store<Past>,
    accounts: Store<Vec<Account>>,
    /// Places where a thread of the host may stand, as numbers of its machine, in order.
    runs: Store<Run>,
    blocks: Vec<Store<Box<[u32]>>>,
    /// Messages and views, as bytes.
    weaks: Store<Box<[u8]>>,
    bytes: Vec<u8>,
    accesses: Vec<Access>,
    events: Vec<Event>,
    record: Vec<u32>,
    values: Vec<u32>,
}

/// As many places as a thread can stand at without having found anything.
type Run = Row<u32, 16>;

/// Takes records over, and looks at them.
struct Keep<'a> {
    arenas: &'a [Arena],
    spooled: &'a mut [u8; MAX_LANES as usize],
    finding: Finding,
    /// The spool has grown: after a death that counts.
    grew: bool,
    writer_fails: bool,
}

impl Sink<Side<'_>> for Keep<'_> {
    fn copies(&mut self, _: &Pool, _: &InHand) -> bool {
        true
    }
    fn spool(&mut self, pool: &Pool, taken: &InHand, link: Link<'_, Side<'_>>) {
        self.grew = true;
        let last = &mut self.spooled[taken.pool as usize];
        for slot in 0..taken.records {
            let mut word = [0];
            link.read(pool.buffer(taken.buffer).plus(pool.first + slot * pool.record_words), &mut word);
            let [id] = word.map(|id| id as u8);
            // Records that were dropped leave gaps, never steps back.
            if id <= *last && self.finding.is_none() {
                let what = format!(
                    "pool {} delivers record {id} after record {last}, or a slot that nobody wrote",
                    taken.pool
                );
                let property =
                    if id == 0 || id == *last { Property::Conservation } else { Property::InOrder };
                self.finding = Some(Broken { property: property.name(), what });
            }
            *last = id;
        }
    }
    fn collect(&mut self, pool: &Pool, taken: &InHand, link: Link<'_, Side<'_>>) -> u32 {
        if taken.buffer != InHand::NO_BUFFER {
            link.read(pool.buffer(taken.buffer).plus(pool.first), &mut [0]);
        }
        taken.records
    }
    fn write_payloads(&mut self, lane: u32, link: Link<'_, Side<'_>>) -> bool {
        link.device().read_range(self.arenas[lane as usize].base, &mut [0]);
        !self.writer_fails
    }
}

impl Transport {
    /// # Errors
    /// `CK005` for a size out of its range, `CK006` for a world that is not explored on its memory.
    pub(crate) fn new(scenario: &Scenario, reduction: bool) -> Result<Self, Diagnostic> {
        scenario.checked()?;
        let layout = scenario.layout().ok_or_else(|| {
            Diagnostic::error("CK005", scenario.name.clone(), "a region that fits into its memory")
        })?;
        let rules = scenario.rules();
        let host = HostLayout::new(&layout, rules);
        let shadowed = scenario.transport == Way::Shadow;
        let (blocks, device_blocks) = blocks(&layout, &host, shadowed);
        let total = layout.words + host.words + if shadowed { layout.words } else { 0 };
        let mut block_of = vec![NOT_KEPT; total as usize];
        for (block, words) in (0..).zip(&blocks) {
            words.iter().for_each(|&word| block_of[word as usize] = block);
        }
        let mut forgotten = vec![layout.extension.heartbeat.0];
        if shadowed {
            // The host's copies of what the device writes are made anew before each use.
            let start = layout.words + host.words;
            let block = layout.backpressure;
            forgotten.push(start + layout.extension.heartbeat.0);
            forgotten.extend([block.rq_contended, block.fq_contended].map(|word| start + word.0));
            forgotten.extend((0..layout.lanes).map(|lane| start + layout.tails.0 + lane));
            forgotten.extend(layout.pools.iter().map(|pool| start + pool.state.fq_head.0));
            forgotten.extend(layout.arenas.iter().map(|arena| start + arena.published.0));
        }
        forgotten.iter().for_each(|&word| block_of[word as usize] = FORGOTTEN);
        let places = Places {
            lanes: usize::from(scenario.lanes),
            shards: layout.shards as usize,
            writer: !layout.arenas.is_empty(),
            device_blocks,
        };
        let bench = Bench {
            scratch: Scratch::new(block_of),
            loaded: vec![u32::MAX; blocks.len()],
            lanes: Store::default(),
            drains: Store::default(),
            replenish: Store::default(),
            collectors: Store::default(),
            writers: Store::default(),
            pasts: Store::default(),
            accounts: Store::default(),
            runs: Store::default(),
            blocks: blocks.iter().map(|_| Store::default()).collect(),
            weaks: Store::default(),
            bytes: Vec::new(),
            accesses: Vec::new(),
            events: Vec::new(),
            record: Vec::new(),
            values: Vec::new(),
        };
        let mut model = Self {
            classes: classes(&layout, &host, places, rules, total),
            rings: rings(&layout, &host),
            scenario: scenario.clone(),
            rules,
            layout,
            host,
            places,
            blocks,
            bench: RefCell::new(bench),
            reduction,
            flags: Vec::new(),
            place_names: Vec::new(),
            initial: State::default(),
        };
        if scenario.memory == Order::Ra {
            model.weaken()?;
        }
        model.initial = model.start();
        Ok(model)
    }

    /// From now on under release and acquire.
    fn weaken(&mut self) -> Result<(), Diagnostic> {
        let refused = |expected: String| Diagnostic::error("CK006", self.scenario.name.clone(), expected);
        if self.scenario.transport != Way::Shared {
            return Err(refused("memory sc, or no shadow".to_owned()).found(Order::Ra.name()));
        }
        let total = self.layout.words + self.host.words;
        let (kinds, flags, names) = kinds(&self.layout, &self.host, total);
        if names.len() > MAX_PLACES || flags.len() >= usize::from(u8::MAX) {
            let error = refused(format!("memory sc, or {MAX_PLACES} buffers, slots and entries at most"));
            return Err(error.found(names.len()));
        }
        let parties = usize::from(self.main()) + 1;
        let weak = Weak::new(&vec![0; flags.len()], parties, names.len(), &self.scenario.weakened);
        self.bench.get_mut().scratch.weaken(weak, kinds);
        (self.flags, self.place_names) = (flags, names);
        Ok(())
    }

    /// The party that starts and joins all others.
    fn main(&self) -> u8 {
        (self.places.lanes + self.places.threads()) as u8
    }

    fn is_weak(&self) -> bool {
        !self.flags.is_empty()
    }

    /// Where messages and views stand in a state.
    fn weak_place(&self) -> usize {
        self.places.block(self.blocks.len())
    }

    /// Puts the messages and views of a state there.
    fn load_weak(&self, bench: &Bench, parts: &[u32]) {
        if self.is_weak() {
            bench.scratch.restore_weak(bench.weaks.get(parts[self.weak_place()]), &self.flags);
        }
    }

    /// Takes messages and views over into the state.
    fn save_weak(&self, bench: &mut Bench, parts: &mut [u32]) {
        if self.is_weak() {
            let Bench { scratch, bytes, .. } = &mut *bench;
            scratch.weakly(|weak| {
                weak.settle();
                weak.encode(bytes);
            });
            parts[self.weak_place()] = bench.weaks.put_block(&bench.bytes);
        }
    }

    /// The first state.
    fn start(&self) -> State {
        let bench = &mut *self.bench.borrow_mut();
        let (device, host, shadow) = self.sides(&bench.scratch);
        seed(&self.layout, &self.host, Link::new(&device, shadow.as_ref()), &host, 0);
        if self.scenario.dry {
            for (pool, mine) in self.layout.pools.iter().zip(&self.host.pools) {
                let queued = pool.count.min(pool.slots);
                for side in [Some(device), shadow].into_iter().flatten() {
                    side.store(pool.state.fq_tail, 0, Ordering::Relaxed);
                    (0..pool.slots).for_each(|slot| {
                        side.store64(pool.state.fq_slots.plus(2 * slot), 0, Ordering::Relaxed);
                    });
                }
                (0..queued).for_each(|buffer| mine.ring.push(&host, &[buffer]));
                host.store(mine.held, pool.count, Ordering::Relaxed);
            }
        }
        let mut parts = vec![0; self.weak_place() + usize::from(self.is_weak())];
        if self.is_weak() {
            // What was done so far is the start of the world: everybody knows it.
            let values: Vec<u32> = self.flags.iter().map(|&word| bench.scratch.get(word)).collect();
            let parties = usize::from(self.main()) + 1;
            let weak = Weak::new(&values, parties, self.place_names.len(), &self.scenario.weakened);
            bench.scratch.weakly(|now| *now = weak);
        }
        for lane in 0..self.places.lanes {
            let recorder = Recorder::new(Engine::new(&self.layout, lane as u32, self.rules));
            parts[self.places.lane(lane)] =
                bench.lanes.put(Lane { recorder, op: 0, begun: false, waits: None, late: false });
            if self.ops(lane) == 0 {
                parts[STATUS] |= 1 << lane;
                bench.scratch.weakly(|weak| weak.join(lane as u8, self.main()));
            }
        }
        for place in 0..self.places.threads() {
            let id = match self.places.who(place) {
                Who::Drain(shard) => bench.drains.put(Drain::new(&self.layout, shard, self.rules)),
                Who::Replenish => bench.replenish.put(Replenish::new(&self.layout, self.rules)),
                Who::Collector(shard) => bench.collectors.put(Collector::new(shard, self.rules)),
                Who::Writer => bench.writers.put(PayloadWriter::new(self.rules)),
            };
            parts[self.places.thread(place)] = bench.runs.put(Run::of([id]));
        }
        parts[self.places.past()] = bench.pasts.put(Past::new(&self.layout, self.scenario.dry));
        parts[self.places.accounts()] = bench.accounts.put(vec![Account::default(); self.layout.pools.len()]);
        for block in 0..self.blocks.len() {
            parts[self.places.block(block)] = self.put_block(bench, block);
        }
        bench.scratch.take_dirty();
        self.save_weak(bench, &mut parts);
        let mut start = [0; 48];
        let len = parts.len();
        start[..len].copy_from_slice(&parts);
        for place in (0..self.places.threads()).filter(|_| self.reduction) {
            self.look_on(bench, &mut start, place);
        }
        State::of(start[..len].iter().copied())
    }

    fn sides<'a>(&self, scratch: &'a Scratch) -> (Side<'a>, Side<'a>, Option<Side<'a>>) {
        let side = |start| Side { scratch, start };
        let host = self.layout.words;
        let shadow = host + self.host.words;
        (side(0), side(host), (self.scenario.transport == Way::Shadow).then(|| side(shadow)))
    }

    /// How many things a lane does.
    fn ops(&self, lane: usize) -> u8 {
        let writes = self.layout.pools.iter().any(|pool| pool.lane == lane as u32);
        match self.scenario.script {
            Script::Barrier => self.scenario.records,
            _ if writes => self.scenario.records + 1,
            _ => 0,
        }
    }

    fn put_block(&self, bench: &mut Bench, block: usize) -> u32 {
        bench.values.clear();
        let scratch = &bench.scratch;
        bench.values.extend(self.blocks[block].iter().map(|&word| scratch.get(word)));
        let id = bench.blocks[block].put_block(&bench.values);
        bench.loaded[block] = id;
        id
    }

    /// Puts the memory of a state into the scratch.
    fn load(&self, bench: &mut Bench, state: &State) {
        let blocks = if state[STATUS] & DEAD != 0 { self.places.device_blocks } else { self.blocks.len() };
        for block in 0..blocks {
            let id = state[self.places.block(block)];
            if bench.loaded[block] != id {
                bench.scratch.restore(&self.blocks[block], bench.blocks[block].get(id));
                bench.loaded[block] = id;
            }
        }
        self.load_weak(bench, state);
        bench.scratch.take_accesses(&mut bench.accesses);
    }

    /// Forgets what stands in the scratch where it was changed, after a step that came to nothing.
    fn spoil(bench: &mut Bench) {
        let dirty = bench.scratch.take_dirty();
        for (block, loaded) in bench.loaded.iter_mut().enumerate() {
            if dirty >> block & 1 == 1 {
                *loaded = u32::MAX;
            }
        }
    }

    /// Takes the changed memory over into the state.
    fn save(&self, bench: &mut Bench, parts: &mut [u32], dead: bool) {
        let mut dirty = bench.scratch.take_dirty();
        while dirty != 0 {
            let block = dirty.trailing_zeros() as usize;
            dirty &= dirty - 1;
            let id = self.put_block(bench, block);
            if !dead || block < self.places.device_blocks {
                parts[self.places.block(block)] = id;
            }
        }
    }

    fn finding(&self, finding: Finding) -> Result<(), Broken> {
        match finding {
            Some(broken) if self.looks_at_name(broken.property) => Err(broken),
            _ => Ok(()),
        }
    }

    fn looks_at_name(&self, name: &str) -> bool {
        self.scenario.properties.iter().any(|property| property.name() == name)
    }

    fn broken(&self, property: Property, what: impl FnOnce() -> String) -> Result<(), Broken> {
        if self.scenario.properties.contains(&property) {
            return Err(Broken { property: property.name(), what: what() });
        }
        Ok(())
    }

    fn take(
        &self,
        bench: &mut Bench,
        state: &mut State,
        action: Action,
        narrator: &mut impl Narrator,
    ) -> Result<Taken, Broken> {
        self.load(bench, state);
        bench.events.clear();
        let mut parts: [u32; 48] = [0; 48];
        parts[..state.len()].copy_from_slice(state);
        let old_past = parts[self.places.past()];
        let mut past = *bench.pasts.get(old_past);
        let mut accounts = None;
        let actor = match action {
            Action::Lane(lane, _) | Action::Expire(lane) => Actor(lane.into()),
            Action::Host(place, ..) => Actor(0x2000 + u16::from(place)),
            Action::Stop | Action::Crash => Actor::EVENTS,
        };
        let choice = match action {
            Action::Lane(_, choice) | Action::Host(_, _, choice) => choice,
            // Whatever was written has come when the time is up.
            _ => 0,
        };
        bench.scratch.weakly(|weak| weak.choose(Choose::Path(choice)));
        let mut taken = match action {
            Action::Lane(lane, _) => self.lane(bench, &mut parts, usize::from(lane), false, &mut past)?,
            Action::Expire(lane) => {
                let lane = usize::from(lane);
                // Whoever is woken goes on before its time is up.
                let local = bench.lanes.get(parts[self.places.lane(lane)]);
                if local.waits.is_none_or(|(word, expected)| bench.scratch.get(word) != expected) {
                    return Ok(Taken { vain: true, ..Taken::default() });
                }
                if std::mem::replace(&mut past.lanes[lane].expired, true) {
                    self.broken(Property::Bounded, || {
                        format!("lane {lane} waits a second time for a host that is dead")
                    })?;
                }
                self.lane(bench, &mut parts, lane, true, &mut past)?
            }
            Action::Host(place, at, _) => {
                let at = usize::from(at);
                self.thread(bench, &mut parts, usize::from(place), at, &mut past, &mut accounts)?
            }
            Action::Stop => {
                let (_, host, _) = self.sides(&bench.scratch);
                bench.scratch.act(Some(self.main()));
                host.store(self.host.stop, 1, Ordering::Release);
                bench.scratch.act(None);
                parts[STATUS] |= STOP;
                Taken::default()
            }
            Action::Crash => {
                self.crash(bench, &mut parts, &mut past, &mut accounts);
                bench.events.push(Event::Crash);
                Taken { aside: true, ..Taken::default() }
            }
        };
        let dead = parts[STATUS] & DEAD != 0;
        bench.scratch.take_accesses(&mut bench.accesses);
        let party = match action {
            Action::Lane(lane, _) | Action::Expire(lane) => lane,
            Action::Host(place, ..) => self.places.lanes as u8 + place,
            Action::Stop | Action::Crash => u8::MAX,
        };
        if self.reduction
            && matches!(action, Action::Host(..))
            && parts[STATUS] == state[STATUS]
            && accounts.is_none()
            && past == *bench.pasts.get(old_past)
            && self.is_vain(bench, party)
            && !bench.scratch.weakly(|weak| weak.is_changed())
        {
            // It was made at once, when the place before was reached.
            Self::spoil(bench);
            return Ok(Taken { vain: true, ..Taken::default() });
        }
        let chosen = bench.scratch.weakly(|weak| !weak.choices().is_empty());
        taken.alone &= party != u8::MAX && !chosen && self.accesses_alone(bench, party);
        if let Some(place) = bench.scratch.weakly(|weak| weak.race()) {
            self.broken(Property::NoRace, || {
                let (who, what) = (self.party_name(party), &self.place_names[usize::from(place)]);
                format!("{who} touches {what}, and has not seen who did so last")
            })?;
        }
        self.judge_writers(bench, party)?;
        for event in &bench.events {
            let event = *event;
            narrator.on_dfx(actor, event);
        }
        self.judge(bench, dead, (party < self.places.lanes as u8).then_some(party), &mut past)?;
        self.clear_slots(bench);
        let accounts_id = parts[self.places.accounts()];
        if let Some(accounts) = accounts {
            parts[self.places.accounts()] = bench.accounts.put(accounts);
        }
        if self.scenario.properties.contains(&Property::Conservation)
            && (!bench.events.is_empty()
                || accounts_id != parts[self.places.accounts()]
                || matches!(action, Action::Lane(..)) && taken.alone)
        {
            self.judge_ledger(bench, dead, parts[self.places.accounts()])?;
        }
        if past != *bench.pasts.get(old_past) {
            parts[self.places.past()] = bench.pasts.put(past);
        }
        self.save(bench, &mut parts, dead);
        self.save_weak(bench, &mut parts);
        if let Action::Host(place, ..) = action
            && self.reduction
        {
            self.look_on(bench, &mut parts, usize::from(place));
        }
        taken.vain = parts[..state.len()] == **state;
        *state = State::of(parts[..state.len()].iter().copied());
        Ok(taken)
    }

    /// One step of a lane.
    fn lane(
        &self,
        bench: &mut Bench,
        parts: &mut [u32],
        lane: usize,
        expires: bool,
        past: &mut Past,
    ) -> Result<Taken, Broken> {
        let part = self.places.lane(lane);
        let Bench { scratch, lanes, events, record, .. } = bench;
        let (device, ..) = self.sides(scratch);
        let mut local = lanes.get(parts[part]).clone();
        // A look at a word that has not changed: it may tell nothing, and nobody may count on it.
        local.late |= expires;
        let now: Ticks = if local.late { self.rules.budget } else { 0 };
        let idle = !expires && local.waits.is_some_and(|(word, expected)| scratch.get(word) == expected);
        let write = match self.scenario.script {
            _ if local.op == self.scenario.records => Write::Flush,
            _ => self.scenario.write(),
        };
        let barrier = self.scenario.script == Script::Barrier;
        if !local.begun {
            local.begun = true;
            past.begin(lane);
            if barrier {
                local.recorder.engine.begin(0, Task::Arena, now);
            } else {
                local.recorder.begin(0, write);
            }
        }
        let pool = self.layout.pools.iter().find(|pool| pool.lane == lane as u32);
        record.clear();
        record.resize(pool.map_or(0, |pool| pool.record_words as usize), 0);
        if let Some(id) = record.first_mut() {
            *id = u32::from(local.op) + 1;
        }
        scratch.act(Some(lane as u8));
        let outcome = if barrier {
            match local.recorder.engine.advance(&device, now, Grain::Fine, events) {
                Outcome::Ready(done) => {
                    if done == Done::Served {
                        self.finding(past.leave_arena(lane))?;
                    } else {
                        past.gave_up_arena(lane);
                    }
                    Outcome::Ready(Written::Recorded)
                }
                Outcome::Progress => Outcome::Progress,
                Outcome::Wait { word, expected, deadline } => Outcome::Wait { word, expected, deadline },
            }
        } else {
            local.recorder.advance(&device, record, now, Grain::Fine, events)
        };
        local.waits = None;
        let mut done = false;
        match outcome {
            Outcome::Progress => {}
            Outcome::Wait { word, expected, deadline } => {
                local.waits = Some((word.0, expected));
                if deadline.is_none() {
                    self.broken(Property::Bounded, || {
                        format!(
                            "lane {lane} waits without a deadline: should the host die, it waits for ever"
                        )
                    })?;
                }
            }
            Outcome::Ready(written) => {
                if let Written::Reserved { bytes, .. } = written {
                    device.write_range(self.layout.arenas[lane].base, &[0]);
                    local.recorder.append_with_payload(&device, record, bytes);
                }
                if write == Write::ForCore
                    && written == Written::Recorded
                    && let Some(slot) = local.recorder.engine.core_slot(0)
                {
                    device.write_range(slot, record);
                }
                local.op += 1;
                local.begun = false;
                done = local.op == self.ops(lane);
            }
        }
        scratch.act(None);
        if done {
            scratch.weakly(|weak| weak.join(lane as u8, self.main()));
        }
        let waits = local.waits.is_some();
        if waits && local.late {
            self.broken(Property::Bounded, || format!("lane {lane} waits on when its time is up"))?;
        }
        let gate = local.recorder.engine.waits_for_release().filter(|_| waits);
        // Who waits for a word to change that has changed already does not sleep.
        if local.waits.is_none_or(|(word, expected)| scratch.get(word) == expected) {
            self.finding(past.waits(lane, gate))?;
        }
        let generations = (!self.is_weak()).then_some([0; 2]);
        local.late &= !local.recorder.forget(generations, local.begun);
        let status = &mut parts[STATUS];
        *status = *status & !(1 << (WAITS + lane as u32)) | u32::from(waits) << (WAITS + lane as u32);
        *status |= u32::from(done) << lane;
        parts[part] = lanes.put(local);
        Ok(Taken { alone: !waits, aside: idle, ..Taken::default() })
    }

    /// One step of a thread of the host.
    fn thread(
        &self,
        bench: &mut Bench,
        parts: &mut [u32],
        place: usize,
        at: usize,
        past: &mut Past,
        changed: &mut Option<Vec<Account>>,
    ) -> Result<Taken, Broken> {
        let part = self.places.thread(place);
        let run = *bench.runs.get(parts[part]);
        let before = run[at];
        let mut accounts = bench.accounts.get(parts[self.places.accounts()]).clone();
        let Bench { scratch, drains, replenish, collectors, writers, events, .. } = bench;
        let (device, host, shadow) = self.sides(scratch);
        let link = Link::new(&device, shadow.as_ref());
        let site = Site { layout: &self.layout, host: &self.host, link, mem: &host, now: 0 };
        let mut keep = Keep {
            arenas: &self.layout.arenas,
            spooled: &mut past.spooled,
            finding: None,
            grew: false,
            writer_fails: self.scenario.writer_fails,
        };
        let party = (self.places.lanes + place) as u8;
        scratch.act(Some(party));
        let (mut counts, id);
        counts = None;
        let outcome = match self.places.who(place) {
            Who::Drain(_) => {
                let mut drain = drains.get(before).clone();
                let outcome = drain.step(site, &mut accounts, &mut keep, events);
                drain.forget(0);
                id = drains.put(drain);
                outcome
            }
            Who::Replenish => {
                let mut thread = replenish.get(before).clone();
                let outcome = thread.step(site, events);
                // Under release and acquire releases are counted as ever: who is behind still sees
                // the count before. Marks are as many as there are waits, so they end.
                counts = (!self.is_weak()).then(|| thread.counts().0);
                thread.forget(0, !self.is_weak());
                id = replenish.put(thread);
                outcome
            }
            Who::Collector(_) => {
                let mut collector = collectors.get(before).clone();
                let outcome = collector.step(site, &mut accounts, &mut keep, events);
                collector.forget();
                id = collectors.put(collector);
                outcome
            }
            Who::Writer => {
                let mut writer = writers.get(before).clone();
                let outcome = writer.step(site, &mut keep, events);
                writer.forget();
                id = writers.put(writer);
                outcome
            }
        };
        scratch.act(None);
        let (grew, finding) = (keep.grew, keep.finding);
        parts[part] = bench.runs.put(Run::of([id]));
        let events = &mut bench.events;
        self.finding(finding)?;
        if outcome == Outcome::Ready(()) {
            parts[STATUS] |= 1 << (ENDED + place as u32);
            let ended: Row<bool, 16> = Row::of(
                (0..self.places.threads()).map(|place| parts[STATUS] >> (ENDED + place as u32) & 1 == 1),
            );
            scratch.weakly(|weak| weak.join(party, self.main()));
            scratch.act(Some(self.main()));
            let joined = self.host.join(&host, &ended);
            scratch.act(None);
            if joined {
                events.push(Event::Stop { subsystem: self.layout.subsystem });
            }
        }
        if accounts != *bench.accounts.get(parts[self.places.accounts()]) {
            *changed = Some(accounts);
        }
        if let Some(generations) = counts {
            self.forget_releases(bench, parts, generations);
        }
        self.forget_requests(bench, parts);
        let alone = run.len() == 1 && outcome == Outcome::Progress && !(grew && self.scenario.crash);
        Ok(Taken { alone, ..Taken::default() })
    }

    /// Counts releases from now on, and ticks not at all.
    fn forget_releases(&self, bench: &mut Bench, parts: &mut [u32], generations: [u32; 2]) {
        let extension = self.layout.extension;
        let words = [extension.rq_generation, extension.fq_generation];
        let (device, _, shadow) = self.sides(&bench.scratch);
        for side in [Some(device), shadow].into_iter().flatten() {
            words.iter().for_each(|&word| side.store(word, 0, Ordering::Relaxed));
        }
        if generations == [0; 2] {
            return;
        }
        for lane in 0..self.places.lanes {
            let part = self.places.lane(lane);
            let mut local = bench.lanes.get(parts[part]).clone();
            local.recorder.engine.forget(Some(generations));
            if let Some((word, expected)) = &mut local.waits {
                for (at, now) in words.iter().zip(generations) {
                    if *word == at.0 {
                        *expected = if *expected == now { 0 } else { u32::MAX };
                    }
                }
            }
            parts[part] = bench.lanes.put(local);
        }
    }

    /// Counts requests from the last one that all drains have granted.
    fn forget_requests(&self, bench: &mut Bench, parts: &mut [u32]) {
        let (_, host, _) = self.sides(&bench.scratch);
        let granted = |word: Word| host.load(word, Ordering::Relaxed);
        let base = self.host.shards.iter().map(|shard| granted(shard.granted)).min().unwrap_or(0);
        if base == 0 {
            return;
        }
        for shard in &self.host.shards {
            for word in [shard.request, shard.granted] {
                bench.scratch.shift(self.layout.words + word.0, base);
            }
        }
        for place in 0..=self.places.shards {
            let part = self.places.thread(place);
            let run = *bench.runs.get(parts[part]);
            let mut ids: Vec<u32> = Vec::new();
            for &id in run.iter() {
                ids.push(if self.places.who(place) == Who::Replenish {
                    let mut thread = bench.replenish.get(id).clone();
                    thread.forget(base, !self.is_weak());
                    bench.replenish.put(thread)
                } else {
                    let mut drain = bench.drains.get(id).clone();
                    drain.forget(base);
                    bench.drains.put(drain)
                });
            }
            parts[part] = Self::put_run(bench, ids);
        }
    }

    fn put_run(bench: &mut Bench, mut ids: Vec<u32>) -> u32 {
        ids.sort_unstable();
        ids.dedup();
        bench.runs.put(Run::of(ids))
    }

    /// Where the thread may stand when it makes at once all looks that find nothing.
    ///
    /// What a thread looks for, others only bring, and it alone takes away: a look that finds
    /// nothing would have found nothing at any time before, back to the thread's last step. So every
    /// order of steps has an equal one in which such looks follow that step at once, and later the
    /// thread stands at any place that they have led to.
    fn look_on(&self, bench: &mut Bench, parts: &mut [u32], place: usize) {
        let part = self.places.thread(place);
        let run = *bench.runs.get(parts[part]);
        let [first] = *run else { return };
        if parts[STATUS] >> (ENDED + place as u32) & 1 == 1 {
            return;
        }
        let mut ids = vec![first];
        let mut past = *bench.pasts.get(parts[self.places.past()]);
        let mut id = first;
        // No thread has so many places; what it might still reach is then left to steps of their own.
        for _ in 0..64 {
            let mut ahead = [0; 48];
            ahead.copy_from_slice(parts);
            ahead[part] = bench.runs.put(Run::of([id]));
            bench.scratch.take_accesses(&mut bench.accesses);
            bench.events.clear();
            // Nothing makes a thread see news: it can always find what it knows.
            bench.scratch.weakly(|weak| weak.choose(Choose::Known));
            let mut accounts = None;
            let result = self.thread(bench, &mut ahead, place, 0, &mut past, &mut accounts);
            bench.scratch.take_accesses(&mut bench.accesses);
            let party = (self.places.lanes + place) as u8;
            let looked = result.is_ok()
                && accounts.is_none()
                && past == *bench.pasts.get(parts[self.places.past()])
                && self.is_vain(bench, party)
                && !bench.scratch.weakly(|weak| weak.is_changed());
            let own = |access: &Access| {
                let class = self.classes[access.word as usize];
                class.quiet || !access.store && class.writer == Some(party)
            };
            // Nobody can tell whether such a step was made, so it stands for where it began.
            let silent = bench.accesses.iter().all(own);
            let dirty = bench.scratch.take_dirty();
            for block in (0..self.blocks.len()).filter(|block| dirty >> block & 1 == 1) {
                let id = parts[self.places.block(block)];
                bench.scratch.restore(&self.blocks[block], bench.blocks[block].get(id));
            }
            if !looked || ahead[STATUS] != parts[STATUS] {
                self.load_weak(bench, parts);
                break;
            }
            id = bench.runs.get(ahead[part])[0];
            if silent && ids.len() > 1 {
                ids.pop();
            } else if silent {
                ids.clear();
            }
            if ids.contains(&id) {
                break;
            }
            ids.push(id);
        }
        bench.events.clear();
        parts[part] = Self::put_run(bench, ids);
    }

    /// Whether a step of a thread has only looked, and found nothing.
    fn is_vain(&self, bench: &Bench, party: u8) -> bool {
        let nothing = |access: &Access| {
            let class = self.classes[access.word as usize];
            class.quiet
                || !access.store
                    && (class.writer == Some(party)
                        || class.settled.is_some_and(|(who, found)| {
                            (who == party || who == ANYBODY) && !Self::is_found(bench, found, access.value)
                        }))
        };
        bench.scratch.is_clean() && bench.events.is_empty() && bench.accesses.iter().all(nothing)
    }

    fn is_found(bench: &Bench, found: Found, value: u32) -> bool {
        let held = |word: u32| bench.scratch.get(word);
        match found {
            Found::NotLike(word) => value != held(word),
            Found::Room(tail, ready) => (held(tail) + 1) % ready != value,
            Found::Below(tail, slots) => held(tail).wrapping_sub(value) < slots,
            Found::Raised => value == 1,
        }
    }

    fn crash(
        &self,
        bench: &mut Bench,
        parts: &mut [u32],
        past: &mut Past,
        changed: &mut Option<Vec<Account>>,
    ) {
        let lanes = (1 << ENDED) - 1;
        parts[STATUS] = parts[STATUS] & lanes | DEAD;
        for place in 0..self.places.threads() {
            parts[self.places.thread(place)] = 0;
        }
        for block in self.places.device_blocks..self.blocks.len() {
            parts[self.places.block(block)] = 0;
        }
        bench.scratch.weakly(|weak| {
            (self.places.lanes as u8..=self.main()).for_each(|party| weak.forget_party(party));
            let host = |&(_, &word): &(u8, &u32)| word >= self.layout.words;
            (0_u8..).zip(&self.flags).filter(host).for_each(|(flag, _)| weak.forget_flag(flag));
        });
        past.forget_host();
        // From now on the spool is what was collected.
        let mut accounts = bench.accounts.get(parts[self.places.accounts()]).clone();
        accounts.iter_mut().for_each(|account| account.collected = 0);
        *changed = Some(accounts);
    }

    /// Whether nobody can tell a step with these accesses from its neighbours.
    fn accesses_alone(&self, bench: &Bench, party: u8) -> bool {
        bench.accesses.iter().all(|access| {
            let class = self.classes[access.word as usize];
            if class.quiet || (!access.store && class.writer == Some(party)) {
                return true;
            }
            !access.store
                && class.settled.is_some_and(|(who, found)| {
                    (who == party || who == ANYBODY) && Self::is_found(bench, found, access.value)
                })
        })
    }

    /// I3.
    fn judge_writers(&self, bench: &Bench, party: u8) -> Result<(), Broken> {
        if party == u8::MAX {
            return Ok(());
        }
        for access in bench.accesses.iter().filter(|access| access.store) {
            let writer = self.classes[access.word as usize].writer;
            if writer.is_some_and(|writer| writer != party) {
                let name = |party| self.party_name(party);
                self.broken(Property::SingleWriter, || {
                    let writer = writer.map_or_else(String::new, name);
                    format!("{} writes {}, which is {writer}'s", name(party), self.word_name(access.word))
                })?;
            }
        }
        Ok(())
    }

    fn party_name(&self, party: u8) -> String {
        match usize::from(party).checked_sub(self.places.lanes) {
            None => format!("lane {party}"),
            Some(place) => format!("{:?}", self.places.who(place)),
        }
    }

    /// The action, once for each way in which its loads may choose.
    fn add_choices(&self, bench: &mut Bench, state: &State, action: Action, actions: &mut Vec<Action>) {
        actions.push(action);
        let party = match action {
            Action::Lane(lane, _) => lane,
            Action::Host(place, ..) => self.places.lanes as u8 + place,
            _ => return,
        };
        if !self.is_weak() {
            return;
        }
        self.load(bench, state);
        if !bench.scratch.weakly(|weak| weak.is_behind(party)) {
            return;
        }
        let mut way: Vec<u8> = Vec::new();
        loop {
            let number = (0..).zip(&way).fold(0, |sum, (at, &chosen)| sum | u32::from(chosen) << (4 * at));
            let mut parts = [0; 48];
            parts[..state.len()].copy_from_slice(state);
            let mut past = *bench.pasts.get(parts[self.places.past()]);
            self.load(bench, state);
            bench.events.clear();
            bench.scratch.weakly(|weak| weak.choose(Choose::Path(number)));
            // What breaks will break again when the step is taken.
            let _ = match action {
                Action::Host(place, at, _) => {
                    self.thread(bench, &mut parts, place.into(), at.into(), &mut past, &mut None)
                }
                _ => self.lane(bench, &mut parts, party.into(), false, &mut past),
            };
            bench.scratch.act(None);
            let choices = bench.scratch.weakly(|weak| weak.choices().to_vec());
            Self::spoil(bench);
            if number != 0 {
                actions.push(match action {
                    Action::Host(place, at, _) => Action::Host(place, at, number),
                    _ => Action::Lane(party, number),
                });
            }
            // As an odometer, the last choice fastest.
            way.resize(choices.len(), 0);
            loop {
                let Some(last) = way.pop() else { return };
                if last + 1 < choices[way.len()].min(16) {
                    way.push(last + 1);
                    break;
                }
            }
        }
    }

    fn word_name(&self, word: u32) -> String {
        let of = |(index, (pool, host)): (usize, (&Pool, &crate::dfx::host::Recycled))| {
            let slots = pool.state.fq_slots.0..pool.state.fq_slots.0 + 2 * pool.slots;
            let what = match word {
                _ if slots.contains(&word) => "a slot of the free queue",
                _ if word == pool.state.fq_tail.0 => "the tail of the free queue",
                _ if word == self.layout.words + host.ring.head.0 => "the head of the recycled ring",
                _ => return None,
            };
            Some(format!("{what} of pool {index}"))
        };
        let mut pools = self.layout.pools.iter().zip(&self.host.pools).enumerate();
        pools.find_map(of).unwrap_or_else(|| format!("word {word}"))
    }

    fn judge(&self, bench: &mut Bench, dead: bool, lane: Option<u8>, past: &mut Past) -> Result<(), Broken> {
        let lane = lane.map(usize::from);
        for index in 0..bench.events.len() {
            let event = bench.events[index];
            let scratch = &bench.scratch;
            let finding = past.see(&self.layout, dead, lane, &event, |queue| {
                let head = scratch.get(self.layout.heads.0 + queue);
                let entry = self.layout.entry(queue, (head + self.layout.ready - 1) % self.layout.ready);
                let [owner, kind, low] = [0, 1, 2].map(|word| scratch.get(entry.0 + word));
                let pool = self
                    .layout
                    .pools
                    .iter()
                    .position(|pool| (pool.owner, pool.kind as u32, pool.lane) == (owner, kind, queue))?;
                Some((pool as u32, self.layout.pools[pool].index_of(Word(low / 4))?))
            });
            self.finding(finding)?;
        }
        Ok(())
    }

    /// Clears what the side that owns it will overwrite.
    fn clear_slots(&self, bench: &mut Bench) {
        let (device, host, shadow) = self.sides(&bench.scratch);
        let clear = |side: Side<'_>, start: Word, words: u32| {
            (0..words).for_each(|n| side.store(start.plus(n), 0, Ordering::Relaxed));
        };
        for side in [Some(device), shadow].into_iter().flatten() {
            for event in &bench.events {
                match *event {
                    Event::Claim { pool, head, .. } => {
                        let pool = &self.layout.pools[pool as usize];
                        let slot = head.wrapping_sub(1) % pool.slots;
                        clear(side, pool.state.fq_slots.plus(2 * slot), 1);
                    }
                    Event::Acknowledge { queue, head, .. } => {
                        let taken = (head + self.layout.ready - 1) % self.layout.ready;
                        clear(side, self.layout.entry(queue, taken), 8);
                    }
                    Event::Return { pool, buffer, .. } => {
                        let pool = &self.layout.pools[pool as usize];
                        let start = pool.buffer(buffer);
                        clear(side, start.plus(pool.count_at), 1);
                        for slot in 0..pool.capacity {
                            clear(side, start.plus(pool.first + slot * pool.record_words), 1);
                        }
                    }
                    _ => {}
                }
            }
        }
        for access in bench.accesses.iter().filter(|access| access.store) {
            if let Some((_, ring)) = self.rings.iter().find(|(head, _)| *head == access.word) {
                clear(host, ring.slot(access.value.wrapping_sub(1)), ring.width);
            }
        }
    }

    fn books<'a>(
        &'a self,
        device: &'a Side<'a>,
        shadow: Option<&'a Side<'a>>,
        dead: bool,
    ) -> Books<'a, Side<'a>> {
        Books { layout: &self.layout, device, shadow, dead }
    }

    fn judge_ledger(&self, bench: &mut Bench, dead: bool, accounts: u32) -> Result<(), Broken> {
        let (device, _, shadow) = self.sides(&bench.scratch);
        let ledger = self.books(&device, shadow.as_ref(), dead).ledger(bench.accounts.get(accounts));
        bench.scratch.take_accesses(&mut bench.accesses);
        match ledger.lines.iter().find(|line| !line.balances()) {
            Some(line) => self.broken(Property::Conservation, || unbalanced(line)),
            None => Ok(()),
        }
    }

    /// What must hold when nothing can happen any more.
    fn end(&self, bench: &mut Bench, state: &State) -> Result<(), Broken> {
        self.load(bench, state);
        let dead = state[STATUS] & DEAD != 0;
        let mut accounts = bench.accounts.get(state[self.places.accounts()]).clone();
        let mut past = *bench.pasts.get(state[self.places.past()]);
        let (device, host, shadow) = self.sides(&bench.scratch);
        let books = self.books(&device, shadow.as_ref(), dead);
        if !dead {
            let ledger = books.ledger(&accounts);
            for line in &ledger.lines {
                if line.in_flight != 0 {
                    self.broken(Property::QuietEnd, || {
                        format!("{} records of pool {} are still on their way", line.in_flight, line.pool)
                    })?;
                }
                if line.collected != line.written {
                    self.broken(Property::Conservation, || {
                        format!("records are missing, and the host lived: {}", unbalanced(line))
                    })?;
                }
            }
            if past.open != [false; 2] {
                self.broken(Property::QuietEnd, || "everybody has ended, and a freeze is open".to_owned())?;
            }
            self.census(&past, device, host)?;
        }
        let mut keep = Keep {
            arenas: &self.layout.arenas,
            spooled: &mut past.spooled,
            finding: None,
            grew: false,
            writer_fails: false,
        };
        books.reconcile(&mut accounts, &mut keep, &mut ());
        let finding = keep.finding;
        self.finding(finding)?;
        for line in books.ledger(&accounts).lines {
            if !line.balances() || line.in_flight != 0 {
                self.broken(Property::Conservation, || unbalanced(&line))?;
            }
        }
        Ok(())
    }

    /// I1 against the memory itself.
    fn census(&self, past: &Past, device: Side<'_>, host: Side<'_>) -> Result<(), Broken> {
        let mut found: Vec<(u32, u32, Owner)> = Vec::new();
        for (index, pool) in (0_u32..).zip(&self.layout.pools) {
            let recycled = self.host.recycled(&host, index as usize);
            found.extend(recycled.into_iter().map(|buffer| (index, buffer, Owner::Recycled)));
            let word = |word: Word| device.load(word, Ordering::Relaxed);
            let (mut head, tail) = (word(pool.state.fq_head), word(pool.state.fq_tail));
            while head != tail {
                let address = word(pool.state.fq_slots.plus(2 * (head % pool.slots)));
                let buffer = pool.index_of(Word(address / 4)).unwrap_or(u32::MAX);
                found.push((index, buffer, Owner::Queued));
                head = head.wrapping_add(1);
            }
            let current = word(pool.state.current);
            if current != 0 {
                let buffer = pool.index_of(Word(current / 4)).unwrap_or(u32::MAX);
                found.push((index, buffer, Owner::Active));
            }
        }
        for shard in 0..self.layout.shards as usize {
            let [ready, done] = self.host.in_rings(&host, shard);
            found.extend(ready.into_iter().map(|(pool, buffer)| (pool, buffer, Owner::ReadyHost)));
            found.extend(done.into_iter().map(|(pool, buffer)| (pool, buffer, Owner::Done)));
        }
        for (index, pool) in (0_u32..).zip(&self.layout.pools) {
            for buffer in 0..pool.count {
                let owner = past.owners[(index * u32::from(MAX_BUFFERS) + buffer) as usize];
                let mut places = found.iter().filter(|at| (at.0, at.1) == (index, buffer));
                let (first, more) = (places.next().map(|at| at.2), places.next());
                if first != Some(owner)
                    || more.is_some()
                    || !matches!(owner, Owner::Recycled | Owner::Queued | Owner::Active | Owner::Done)
                {
                    self.broken(Property::OneOwner, || {
                        format!(
                            "buffer {buffer} of pool {index} should be {owner:?} at the end, and is {first:?}"
                        )
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn unbalanced(line: &crate::dfx::Line) -> String {
    format!(
        "pool {}: {} records written, {} collected, {} in flight, {} dropped, {} lost",
        line.pool, line.written, line.collected, line.in_flight, line.dropped, line.lost
    )
}

/// The words of each block, and how many blocks are the device's.
fn blocks(layout: &Layout, host: &HostLayout, shadowed: bool) -> (Vec<Vec<u32>>, usize) {
    let mut device: Vec<Vec<u32>> = Vec::new();
    let block = layout.backpressure;
    let extension = layout.extension;
    device.push(
        [
            block.rq_freeze_active,
            block.rq_contended,
            block.fq_freeze_active,
            block.fq_contended,
            extension.rq_generation,
            extension.fq_generation,
        ]
        .map(|word| word.0)
        .to_vec(),
    );
    for lane in 0..layout.lanes {
        let mut control = vec![layout.heads.0 + lane, layout.tails.0 + lane];
        let mut data = Vec::new();
        for index in 0..layout.ready {
            let entry = layout.entry(lane, index).0;
            data.extend([0, 1, 2, 4, 5, 6].map(|word| entry + word));
        }
        for pool in layout.pools.iter().filter(|pool| pool.lane == lane) {
            let state = pool.state;
            control.extend(
                [state.current, state.seq, state.total, state.dropped, state.fq_head, state.fq_tail]
                    .map(|word| word.0),
            );
            control.extend((0..7).map(|cause| state.causes.0 + cause));
            control.extend((0..pool.slots).map(|slot| state.fq_slots.0 + 2 * slot));
            for buffer in 0..pool.most {
                let start = pool.buffer(buffer).0;
                data.push(start + pool.count_at);
                data.extend((0..pool.capacity).map(|slot| start + pool.first + slot * pool.record_words));
            }
        }
        if let Some(arena) = layout.arenas.get(lane as usize) {
            control.extend([arena.write_offset, arena.published, arena.completed].map(|word| word.0));
        }
        device.push(control);
        device.push(data);
    }
    let count = device.len();
    let start = layout.words;
    let mut all = device.clone();
    let ring = |ring: &crate::dfx::host::Ring| start + ring.head.0..start + ring.head.0 + ring.words();
    all.push([host.stop, host.complete, host.collected].map(|word| start + word.0).to_vec());
    for shard in &host.shards {
        let mut words: Vec<u32> = ring(&shard.ready).collect();
        words.extend(ring(&shard.done));
        words.extend(ring(&shard.payloads));
        words.extend([start + shard.request.0, start + shard.granted.0]);
        all.push(words);
    }
    let mut words: Vec<u32> = host.handled.iter().map(|word| start + word.0).collect();
    for pool in &host.pools {
        words.extend(ring(&pool.ring));
        words.push(start + pool.held.0);
    }
    all.push(words);
    if shadowed {
        let shadow = layout.words + host.words;
        all.extend(device.iter().map(|words| words.iter().map(|word| shadow + word).collect::<Vec<_>>()));
    }
    (all, count)
}

fn rings(layout: &Layout, host: &HostLayout) -> Vec<(u32, crate::dfx::host::Ring)> {
    let mut rings = Vec::new();
    for shard in &host.shards {
        rings.extend([shard.ready, shard.done, shard.payloads]);
    }
    rings.extend(host.pools.iter().map(|pool| pool.ring));
    rings.into_iter().map(|ring| (layout.words + ring.head.0, ring)).collect()
}

/// What each word is under release and acquire, which words are flags, and names of places.
fn kinds(layout: &Layout, host: &HostLayout, total: u32) -> (Vec<Kind>, Vec<u32>, Vec<String>) {
    let mut kinds = vec![Kind::Own; total as usize];
    let (mut flags, mut names): (Vec<u32>, Vec<String>) = (Vec::new(), Vec::new());
    let mut flag = |word: u32, role: Role| {
        kinds[word as usize] = Kind::Flag(flags.len() as u8, role);
        flags.push(word);
    };
    let (block, extension) = (layout.backpressure, layout.extension);
    flag(block.rq_freeze_active.0, Role::Freeze);
    flag(block.fq_freeze_active.0, Role::Freeze);
    flag(block.rq_contended.0, Role::Contended);
    flag(block.fq_contended.0, Role::Contended);
    flag(extension.rq_generation.0, Role::Generation);
    flag(extension.fq_generation.0, Role::Generation);
    for lane in 0..layout.lanes {
        flag(layout.heads.0 + lane, Role::ReadyHead);
        flag(layout.tails.0 + lane, Role::ReadyTail);
    }
    for pool in &layout.pools {
        flag(pool.state.fq_head.0, Role::FreeHead);
        flag(pool.state.fq_tail.0, Role::FreeTail);
    }
    let at = |word: Word| layout.words + word.0;
    for (arena, &handled) in layout.arenas.iter().zip(&host.handled) {
        flag(arena.published.0, Role::Published);
        flag(arena.completed.0, Role::Completed);
        flag(at(handled), Role::Handled);
    }
    for word in [host.stop, host.complete, host.collected] {
        flag(at(word), Role::Stop);
    }
    for shard in &host.shards {
        flag(at(shard.request), Role::Request);
        flag(at(shard.granted), Role::Granted);
    }
    host.pools.iter().for_each(|pool| flag(at(pool.held), Role::Held));
    let rings = rings(layout, host);
    for &(head, ring) in &rings {
        flag(head, Role::RingHead);
        flag(at(ring.tail), Role::RingTail);
    }
    let mut place = |start: u32, words: u32, name: String| {
        // One too many is refused before it is used.
        kinds[start as usize..][..words as usize].fill(Kind::Place(names.len() as u8));
        names.push(name);
    };
    for lane in 0..layout.lanes {
        for index in 0..layout.ready {
            place(
                layout.entry(lane, index).0,
                ENTRY_BYTES / 4,
                format!("entry {index} of lane {lane}'s ready queue"),
            );
        }
    }
    for (index, pool) in layout.pools.iter().enumerate() {
        for slot in 0..pool.slots {
            place(pool.state.fq_slots.0 + 2 * slot, 2, format!("slot {slot} of pool {index}'s free queue"));
        }
        for buffer in 0..pool.most {
            place(pool.buffer(buffer).0, pool.buffer_words, format!("buffer {buffer} of pool {index}"));
        }
    }
    for (lane, arena) in layout.arenas.iter().enumerate() {
        place(arena.base.0, 1, format!("the arena of lane {lane}"));
    }
    for (index, (_, ring)) in rings.iter().enumerate() {
        for slot in 0..(ring.words() - 2) / ring.width {
            place(
                at(ring.slots) + slot * ring.width,
                ring.width,
                format!("slot {slot} of the host's ring {index}"),
            );
        }
    }
    (kinds, flags, names)
}

/// Who writes each word, and what others may make of it.
fn classes(layout: &Layout, host: &HostLayout, places: Places, rules: Rules, total: u32) -> Vec<Class> {
    let mut classes = vec![Class::default(); total as usize];
    let lane = |lane: u32| Some(lane as u8);
    let thread = |place: u32| Some((places.lanes + place as usize) as u8);
    let shards = layout.shards;
    let (drain, replenish) = (|shard: u32| thread(shard), thread(shards));
    let (collector, writer) = (|shard: u32| thread(shards + 1 + shard), thread(2 * shards + 1));
    let mut set = |word: u32, class: Class| classes[word as usize] = class;
    let by = |writer| Class { writer, ..Class::default() };
    let quiet = |writer| Class { writer, quiet: true, settled: None };
    let found =
        |writer, by: Option<u8>, found| Class { writer, quiet: false, settled: by.map(|by| (by, found)) };
    let block = layout.backpressure;
    let extension = layout.extension;
    for word in
        [block.rq_freeze_active, block.fq_freeze_active, extension.rq_generation, extension.fq_generation]
    {
        set(word.0, by(replenish));
    }
    set(extension.heartbeat.0, quiet(replenish));
    for queue in 0..layout.lanes {
        let shard = layout.shard(queue);
        let (head, tail) = (layout.heads.0 + queue, layout.tails.0 + queue);
        set(head, found(drain(shard), lane(queue), Found::Room(tail, layout.ready)));
        set(tail, found(lane(queue), drain(shard), Found::NotLike(head)));
    }
    for arena in &layout.arenas {
        set(arena.completed.0, by(replenish));
    }
    for word in [block.rq_contended, block.fq_contended] {
        set(word.0, found(None, replenish, Found::Raised));
    }
    for (index, pool) in layout.pools.iter().enumerate() {
        let (mine, shard) = (lane(pool.lane), layout.shard(pool.lane));
        let state = pool.state;
        for word in [state.current, state.seq] {
            set(word.0, quiet(mine));
        }
        // Slots are given with the tail, and taken with the head.
        (0..2 * pool.slots).for_each(|slot| set(state.fq_slots.0 + slot, quiet(drain(shard))));
        // A buffer has one owner.
        (0..pool.most).for_each(|buffer| set(pool.buffer(buffer).0 + pool.count_at, quiet(None)));
        let (head, tail) = (state.fq_head.0, state.fq_tail.0);
        set(head, found(mine, drain(shard), Found::Below(tail, pool.slots)));
        set(tail, found(drain(shard), mine, Found::NotLike(head)));
        let recycled = &host.pools[index];
        let at = |word: Word| layout.words + word.0;
        let (head, tail) = (at(recycled.ring.head), at(recycled.ring.tail));
        set(head, by(drain(shard)));
        set(tail, found(replenish, drain(shard), Found::NotLike(head)));
        set(at(recycled.held), by(drain(shard)));
    }
    let at = |word: Word| layout.words + word.0;
    for (shard, words) in (0..).zip(&host.shards) {
        // Rings have room for every buffer there is, so nobody waits for their heads to move, unless
        // the fault has made one of them too small.
        let (head, tail) = (at(words.ready.head), at(words.ready.tail));
        set(head, quiet(collector(shard)));
        set(tail, found(drain(shard), collector(shard), Found::NotLike(head)));
        let (head, tail) = (at(words.done.head), at(words.done.tail));
        let small = rules.faults.has(Fault::DoneRingIgnored);
        set(head, if small { by(replenish) } else { quiet(replenish) });
        set(tail, found(collector(shard), replenish, Found::NotLike(head)));
        let (head, tail) = (at(words.payloads.head), at(words.payloads.tail));
        set(head, quiet(writer));
        set(tail, found(collector(shard), writer, Found::NotLike(head)));
        let (request, granted) = (at(words.request), at(words.granted));
        set(request, found(replenish, drain(shard), Found::NotLike(granted)));
        set(granted, by(drain(shard)));
    }
    for word in [host.stop, host.complete, host.collected] {
        set(at(word), found(None, Some(ANYBODY), Found::Raised));
    }
    for (&word, arena) in host.handled.iter().zip(&layout.arenas) {
        set(at(word), found(writer, replenish, Found::NotLike(arena.completed.0)));
    }
    classes
}

impl Model for Transport {
    type State = State;
    type Action = Action;

    fn initial(&self) -> State {
        self.initial
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let status = state[STATUS];
        let dead = status & DEAD != 0;
        let bench = &mut *self.bench.borrow_mut();
        for lane in 0..self.places.lanes as u8 {
            if status >> lane & 1 == 0 {
                self.add_choices(bench, state, Action::Lane(lane, 0), actions);
                if dead && status >> (WAITS + u32::from(lane)) & 1 == 1 {
                    actions.push(Action::Expire(lane));
                }
            }
        }
        if dead {
            return;
        }
        let all = (1 << self.places.lanes) - 1;
        if status & all == all && status & STOP == 0 {
            actions.push(Action::Stop);
        }
        let before = actions.len();
        for place in 0..self.places.threads() as u8 {
            if status >> (ENDED + u32::from(place)) & 1 == 0 {
                let run = *bench.runs.get(state[self.places.thread(usize::from(place))]);
                for at in 0..run.len() as u8 {
                    self.add_choices(bench, state, Action::Host(place, at, 0), actions);
                }
            }
        }
        if self.scenario.crash && actions.len() > before {
            actions.push(Action::Crash);
        }
    }

    fn step(&self, state: &mut State, action: Action, narrator: &mut impl Narrator) -> Result<Taken, Broken> {
        let bench = &mut *self.bench.borrow_mut();
        let result = self.take(bench, state, action, narrator);
        if result.is_err() {
            Self::spoil(bench);
        }
        result
    }

    fn check_end(&self, state: &State) -> Result<(), Broken> {
        let bench = &mut *self.bench.borrow_mut();
        let result = self.end(bench, state);
        Self::spoil(bench);
        result
    }

    fn must_end(&self) -> bool {
        self.scenario.properties.contains(&Property::Completion)
    }

    fn cannot_end(&self, state: &State) -> Broken {
        let status = state[STATUS];
        let waiting: Vec<String> = (0..self.places.lanes)
            .filter(|lane| status >> lane & 1 == 0)
            .map(|lane| format!("lane {lane}"))
            .collect();
        let what = if waiting.is_empty() {
            "all lanes have come back, and from here on the host never ends".to_owned()
        } else {
            format!("from here on {} can never come back, whatever happens", waiting.join(" and "))
        };
        Broken { property: Property::Completion.name(), what }
    }

    fn shared(&self) -> u64 {
        let bench = self.bench.borrow();
        let blocks = bench.blocks.iter().zip(&self.blocks);
        bench.lanes.bytes()
            + bench.drains.bytes()
            + bench.replenish.bytes()
            + bench.collectors.bytes()
            + bench.pasts.bytes()
            + bench.accounts.bytes()
            + bench.weaks.bytes()
            + (bench.weaks.len() * 96) as u64
            + blocks.map(|(store, words)| store.bytes() + 8 * (words.len() * store.len()) as u64).sum::<u64>()
    }

    fn header(&self) -> Header {
        Header {
            format: VERSION.to_owned(),
            program: self.scenario.name.clone(),
            digest: crate::digest::Hasher::new().finish(),
            options: self.scenario.summary(),
            seed: 0,
            clock: "ns".to_owned(),
            lanes: self.scenario.lanes.into(),
            sequences: vec![SequenceHeader { path: "entry".to_owned(), counters: Vec::new(), sinks: 0 }],
        }
    }

    fn prologue(&self, narrator: &mut impl Narrator) {
        let start = EventKind::RunStart { sequence: 0, mode: Mode::Concurrent, parent: None };
        narrator.on(Actor(0), 0, || start);
    }
}
