//! `run --acl`: the dump subscribes to the thunks of a rank, and a thread writes its files.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use thunkscope::executor::{Call, Error, Flags, Ran, Thunks};
use thunkscope::kernel::Rank;
use thunkscope::sys::buffers::Buffers;
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::dump::acl::AclLayer;
use thunkscope_core::dump::batch::Batch;
use thunkscope_core::dump::dumper::{Dumper, Lane, Scene};
use thunkscope_core::dump::env::EnvLayer;
use thunkscope_core::dump::event::{Event, Kinds, Noted, told};
use thunkscope_core::dump::exception;
use thunkscope_core::dump::log::{Grade, Lines, Room};
use thunkscope_core::dump::manager::{DumpManager, Now};
use thunkscope_core::dump::model::{Model, ThunkRef};
use thunkscope_core::dump::option::OptionLayer;
use thunkscope_core::dump::path::PathState;
use thunkscope_core::dump::selection::Skip;
use thunkscope_core::dump::sink::{DumpSink, FileSink, Written};
use thunkscope_core::dump::summary::Summary;
use thunkscope_core::dump::switch::Switch;
use thunkscope_core::dump::target::{Status, Target, Unreadable};
use thunkscope_core::dump::worker;
use thunkscope_core::graph::NodeId;
use thunkscope_core::machine::AtomicMemory;
use thunkscope_core::program::{Access, BufferUse, Program, Slice};
use thunkscope_core::trace::Actor;

use super::options::Arguments;
use crate::dump::{DiskStore, now};

/// What a dumped run wrote.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Dumped {
    /// By iteration.
    pub(super) summaries: Vec<Summary>,
    /// Files, tensors, bytes; what was lost, by cause.
    #[serde(flatten)]
    pub(super) written: Written,
}

/// What happened to records, and when; and how many events did not fit.
pub(super) type Happened = (Vec<(Instant, Actor, Event)>, u64);

/// The dump of one rank.
pub(super) struct RankDump {
    shared: Arc<Shared>,
    switch: Switch,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    dumper: RwLock<Dumper<AtomicMemory>>,
    lanes: Vec<Mutex<Slot>>,
    memory: Memory,
    files: Mutex<Files>,
    log: Mutex<Log>,
    sync: bool,
    /// Something may be dumped in this iteration. If not, a thunk pays for one look at this.
    watching: AtomicBool,
    wake: Mutex<Wake>,
    woken: Condvar,
    start: SystemTime,
}

/// What one lane has for itself: nothing in it allocates while thunks run.
struct Slot {
    lane: Lane,
    log: Room,
    /// Since it was last drained; what does not fit is counted.
    events: Vec<(Instant, Event)>,
    left_out: u64,
}

impl Slot {
    /// An event, if there is room.
    fn tell(&mut self, now: Instant, event: Event) {
        if self.events.len() < self.events.capacity() {
            self.events.push((now, event));
        } else {
            self.left_out += 1;
        }
    }
}

struct Files {
    sink: FileSink<DiskStore>,
    /// An empty staging area, to be put in the place of a full one.
    spare: Batch,
    lost: u64,
    summaries: Vec<Summary>,
    events: Vec<(Instant, Actor, Event)>,
    left_out: u64,
}

impl Files {
    fn tell(&mut self, now: Instant, actor: Actor, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push((now, actor, event));
        } else {
            self.left_out += 1;
        }
    }
}

/// Events about records that are kept.
const MAX_EVENTS: usize = 1_000_000;
/// Bytes and lines of log that a lane has room for between two drains.
const LANE_LOG: (usize, usize) = (64 << 10, 1_024);

/// Lines on standard error: warnings and errors at once, the rest if it was asked for.
#[derive(Default)]
struct Log {
    lines: Lines,
}

#[derive(Default)]
struct Wake {
    /// Lanes with something to write.
    full: Vec<usize>,
    end: bool,
}

/// A rank's buffers as a device with addresses.
struct Memory {
    buffers: Arc<Buffers>,
    /// By allocation: index, first address, bytes; ascending in both.
    regions: Vec<(u32, u64, u64)>,
}

impl Memory {
    fn new(buffers: Arc<Buffers>) -> Self {
        let mut next = 0x1_0000;
        let mut regions = Vec::new();
        for (index, size) in buffers.sizes() {
            regions.push((index, next, size as u64));
            next += (size as u64).next_multiple_of(64).max(64);
        }
        Self { buffers, regions }
    }
}

impl Target for Memory {
    fn address(&self, slice: Slice) -> Option<u64> {
        let at = self.regions.binary_search_by_key(&slice.allocation, |region| region.0).ok()?;
        let (_, first, size) = self.regions[at];
        if slice.end() <= size { Some(first + slice.offset) } else { None }
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        let after = self.regions.partition_point(|region| region.1 <= address);
        let &(index, first, size) =
            after.checked_sub(1).and_then(|at| self.regions.get(at)).ok_or(Unreadable)?;
        let (offset, length) = (address - first, bytes.len() as u64);
        if offset.checked_add(length).is_none_or(|end| end > size) {
            return Err(Unreadable);
        }
        // As a kernel would: refused while somebody writes there.
        let whole = [BufferUse { slice: Slice::new(index, offset, length), access: Access::Read }];
        let claim = self.buffers.claim(&whole, u64::MAX).map_err(|_| Unreadable)?;
        claim.reads().for_each(|read| read.copy_to(bytes));
        Ok(())
    }
}

/// What is to be dumped, resolved from `--acl`; `None` without it.
pub(super) fn switch(arguments: &Arguments) -> Result<Option<Switch>, Diagnostic> {
    let (Some(acl), Some(out)) = (&arguments.acl, &arguments.out) else { return Ok(None) };
    let text = crate::input::read_file(acl)?;
    std::fs::create_dir_all(out)
        .map_err(|error| Diagnostic::error("FS005", "--out", "a folder that can be written").found(error))?;
    let time = now();
    // The configured path is resolved below --out, where directories are made as they are needed.
    let now = Now { probe: &|_: &str| PathState::Fine, time: Some(&time) };
    let mut lines = Lines::default();
    let mut manager = DumpManager::new(EnvLayer::default(), OptionLayer::default());
    manager.add_session(1, OptionLayer::default(), now, &mut lines);
    manager.init_dump(&mut lines)?;
    manager.set_dump(Some(&text), now, &mut lines)?;
    let mut log = Log::default();
    lines.lines.into_iter().for_each(|line| log.lines.lines.push(line));
    log.print(arguments.dump_log);
    if matches!(manager.acl(), AclLayer::Set(_)) { Ok(Some(manager.switch(1))) } else { Ok(None) }
}

impl Log {
    fn print(&mut self, all: bool) {
        for line in self.lines.lines.drain(..).filter(|line| all || line.grade >= Grade::Warning) {
            crate::print::err(&line.to_string());
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RankDump {
    /// The dump of rank `number`, and the thread that writes its files below `out`.
    pub(super) fn new(
        program: &Program,
        number: u16,
        buffers: Arc<Buffers>,
        switch: Switch,
        arguments: &Arguments,
        out: &Path,
    ) -> Self {
        let model = Arc::new(Model::read(program).model);
        let dumper = Dumper::new(model, Scene::Model, u32::from(number), AtomicMemory::new);
        // The caller, the pool, and the thread that completes what is pending.
        let lanes = u32::from(arguments.workers()) + 2;
        let thunks: usize = program.sequences().iter().map(|(_, sequence)| sequence.thunks.len()).sum();
        let least = if arguments.dump_log { Grade::Debug } else { Grade::Warning };
        let slot = |id| Slot {
            lane: dumper.lane(id, 0, exception::CAPACITY),
            log: Room::new(LANE_LOG.0, LANE_LOG.1, least),
            events: Vec::with_capacity(4 * thunks + 64),
            left_out: 0,
        };
        let lanes: Vec<_> = (0..lanes).map(|id| Mutex::new(slot(id))).collect();
        let spare = Batch::new(usize::try_from(dumper.suggested_batch()).unwrap_or(usize::MAX));
        // Ranks give equal names: each has a directory of its own.
        let root = if arguments.ranks > 1 { out.join(format!("rank-{number}")) } else { out.to_owned() };
        // If it cannot be made, every tensor is lost, and counted.
        let _ = std::fs::create_dir_all(&root);
        let mut sink = FileSink::new(DiskStore::new(root), arguments.dump_layout).under_path();
        sink.configure(&switch.properties);
        let lane_count = lanes.len();
        let shared = Arc::new(Shared {
            dumper: RwLock::new(dumper),
            lanes,
            memory: Memory::new(buffers),
            files: Mutex::new(Files {
                sink,
                spare,
                lost: 0,
                summaries: Vec::new(),
                events: Vec::new(),
                left_out: 0,
            }),
            log: Mutex::default(),
            sync: arguments.dump_sync,
            watching: AtomicBool::new(false),
            wake: Mutex::new(Wake { full: Vec::with_capacity(lane_count), end: false }),
            woken: Condvar::new(),
            start: SystemTime::now(),
        });
        let own = Arc::clone(&shared);
        // Without a thread of its own, files are written at the end of each iteration.
        let writer = std::thread::Builder::new().name("dump".to_owned()).spawn(move || own.write()).ok();
        Self { shared, switch, writer }
    }

    /// The thunks of `rank`, watched.
    pub(super) fn watch(&self, rank: Arc<Rank>) -> Watched {
        Watched { rank, shared: Arc::clone(&self.shared) }
    }

    /// An iteration is about to begin.
    pub(super) fn start(&self) {
        let (kinds, open) = self.shared.with_all(|dumper, lanes, memory, log| {
            dumper.model_start(&self.switch, lanes, memory, log);
            (Kinds::of(dumper.properties()), dumper.watches())
        });
        // Read by threads that the run's start wakes, which orders it.
        self.shared.watching.store(open, Relaxed);
        let latched = Event::Latched { generation: self.switch.generation, kinds, open };
        locked(&self.shared.files).tell(Instant::now(), Actor(0), latched);
    }

    /// An iteration is over: whatever is left is written.
    pub(super) fn end(&self) {
        let mut summary =
            self.shared.with_all(|dumper, lanes, memory, log| dumper.model_end(lanes, memory, log));
        for lane in 0..self.shared.lanes.len() {
            self.shared.drain(lane);
        }
        let mut files = locked(&self.shared.files);
        summary.counts.skipped.add(Skip::WriteFailed, std::mem::take(&mut files.lost));
        files.tell(Instant::now(), Actor(0), (&summary).into());
        files.summaries.push(summary);
    }

    /// What was written in all, and what happened; prints the log.
    pub(super) fn finish(mut self, all: bool) -> (Dumped, Happened) {
        locked(&self.shared.wake).end = true;
        self.shared.woken.notify_all();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has written what it has.
            let _ = writer.join();
        }
        locked(&self.shared.log).print(all);
        let mut files = locked(&self.shared.files);
        let mut events = std::mem::take(&mut files.events);
        events.sort_by_key(|(time, ..)| *time);
        let dumped = Dumped { summaries: files.summaries.clone(), written: files.sink.written().clone() };
        (dumped, (events, files.left_out))
    }
}

impl Shared {
    /// Between iterations nobody else has a lane: all of them at once.
    fn with_all<R>(
        &self,
        work: impl FnOnce(&mut Dumper<AtomicMemory>, &mut [Lane], &Memory, &mut Lines) -> R,
    ) -> R {
        let mut dumper = self.dumper.write().unwrap_or_else(PoisonError::into_inner);
        let mut guards: Vec<_> = self.lanes.iter().map(locked).collect();
        // The dumper wants a slice: lanes are taken out and put back.
        let mut lanes: Vec<Lane> = Vec::with_capacity(guards.len());
        for guard in &mut guards {
            let empty = dumper.lane(guard.lane.id, 1, 1);
            lanes.push(std::mem::replace(&mut guard.lane, empty));
        }
        let result = work(&mut dumper, &mut lanes, &self.memory, &mut locked(&self.log).lines);
        for (guard, lane) in guards.iter_mut().zip(lanes) {
            guard.lane = lane;
        }
        result
    }

    /// Writes what a lane has staged, and takes over what it told.
    fn drain(&self, lane: usize) {
        let mut files = locked(&self.files);
        let actor = Actor(u16::try_from(lane).unwrap_or(u16::MAX));
        let mut lines = Lines::default();
        let staged = {
            let mut slot = locked(&self.lanes[lane]);
            slot.log.move_to(&mut lines);
            let Slot { events, left_out, .. } = &mut *slot;
            events.drain(..).for_each(|(time, event)| files.tell(time, actor, event));
            files.left_out += std::mem::take(left_out);
            let staged = !slot.lane.batch.is_empty();
            if staged {
                std::mem::swap(&mut slot.lane.batch, &mut files.spare);
            }
            staged
        };
        if staged {
            let Files { sink, spare, lost, .. } = &mut *files;
            let mut sink = Noted::new(sink);
            *lost += worker::drain(spare, &mut sink, &mut lines).of(Skip::WriteFailed);
            let (now, told) = (Instant::now(), sink.events);
            told.into_iter().for_each(|event| files.tell(now, actor, event));
        }
        drop(files);
        locked(&self.log).lines.lines.append(&mut lines.lines);
    }

    /// The writer's thread.
    fn write(&self) {
        loop {
            let full = {
                let mut wake = locked(&self.wake);
                loop {
                    if let Some(lane) = wake.full.pop() {
                        break lane;
                    }
                    if wake.end {
                        return;
                    }
                    wake = self.woken.wait(wake).unwrap_or_else(PoisonError::into_inner);
                }
            };
            self.drain(full);
        }
    }

    fn time(&self) -> u64 {
        let since = self.start.duration_since(UNIX_EPOCH).unwrap_or_default()
            + self.start.elapsed().unwrap_or_default();
        since.as_micros() as u64
    }

    fn on(&self, call: &Call<'_>, event: impl FnOnce(&Dumper<AtomicMemory>, ThunkRef, &mut Lane, &mut Room)) {
        let dumper = self.dumper.read().unwrap_or_else(PoisonError::into_inner);
        let thunk = ThunkRef { sequence: call.plan as u32, node: call.node };
        let index = usize::from(call.lane).min(self.lanes.len() - 1);
        let (staged, busy) = {
            let mut slot = locked(&self.lanes[index]);
            let Slot { lane, log, .. } = &mut *slot;
            let (before, counts) = (lane.batch.len(), lane.counts);
            event(&dumper, thunk, lane, log);
            let (after, now) = (lane.batch.len(), lane.counts);
            if now != counts {
                let time = Instant::now();
                told(thunk.node, &counts, &now, |event| slot.tell(time, event));
            }
            (after > before, after > WRITE_AT)
        };
        drop(dumper);
        if staged && self.sync {
            self.drain(index);
        } else if staged && busy {
            let mut wake = locked(&self.wake);
            if !wake.full.contains(&index) {
                wake.full.push(index);
                self.woken.notify_one();
            }
        }
    }

    fn ended(&self, call: &Call<'_>, well: bool, overflow: bool) {
        let status = match (well, overflow) {
            (false, _) => Status::Failed,
            (true, true) => Status::Overflow,
            (true, false) => Status::Ok,
        };
        let time = self.time();
        self.on(call, |dumper, thunk, lane, log| {
            dumper.execute_end(thunk, status, lane, &self.memory, time, log)
        });
    }
}

/// Staged bytes of a lane from which on they are written while it goes on.
const WRITE_AT: usize = 256 << 10;

/// A rank whose thunks are dumped.
pub(super) struct Watched {
    rank: Arc<Rank>,
    shared: Arc<Shared>,
}

impl Watched {
    fn is_on(&self) -> bool {
        self.shared.watching.load(Relaxed)
    }

    fn overflowed(&self, call: &Call<'_>) -> bool {
        self.rank.take_overflow(call.lane)
    }
}

impl Thunks for Watched {
    fn flags(&self, plan: usize, node: NodeId) -> Flags {
        self.rank.flags(plan, node)
    }

    fn name(&self, plan: usize, node: NodeId) -> String {
        self.rank.name(plan, node)
    }

    fn run(&self, call: &Call<'_>) -> Ran {
        if !self.is_on() {
            return self.rank.run(call);
        }
        let time = self.shared.time();
        self.shared.on(call, |dumper, thunk, lane, log| {
            dumper.execute_start(thunk, lane, &self.shared.memory, time, log);
        });
        let ran = catch_unwind(AssertUnwindSafe(|| self.rank.run(call))).unwrap_or_else(|panic| {
            // The executor makes a failure of it; an exception dump must have seen it first.
            self.shared.ended(call, false, false);
            resume_unwind(panic)
        });
        if let Ran::Done(result) = &ran {
            self.shared.ended(call, result.is_ok(), self.overflowed(call));
        }
        ran
    }

    fn run_later(&self, call: &Call<'_>) -> Result<(), Error> {
        let result = self.rank.run_later(call);
        if !self.is_on() {
            return result;
        }
        self.shared.ended(call, result.is_ok(), self.overflowed(call));
        result
    }

    fn leave(&self, call: &Call<'_>) -> Result<(), Error> {
        let result = self.rank.leave(call);
        if !self.is_on() {
            return result;
        }
        self.shared.ended(call, result.is_ok(), false);
        result
    }
}
