//! The subscriber of one executor: ModelStart, ExecuteStart, ExecuteEnd, ModelEnd (seed 003
//! "Dynamic Graph", ge-dump spec §5). Static and dynamic programs, normal, overflow and exception
//! dumps share this flow; they differ in trigger, content and priority.
//!
//! Between ModelStart and ModelEnd a dumper is only read: threads share it, each with a [`Lane`] of
//! its own. Nothing on a lane allocates or waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::batch::{Batch, Header};
use super::data_dumper::{DataDumper, L1_BUFFER, LoadContext, model_id};
use super::exception::{ANY, Launched, Ring};
use super::kernel::DumpKernel;
use super::log::{AIC_KEYWORD, EXCEPTION_KEYWORD, Grade, Journal, KEYWORD, OVERFLOW_KEYWORD};
use super::model::{Memory as OnChip, Model, Op, OpId, OpKind, Role, ThunkRef};
use super::overflow::{Block, Info, OverflowRecord, RECORD_SIZE};
use super::properties::{Matching, ModelKey, Properties};
use super::record::{Phase, Scenario};
use super::request::{Ask, DumpOp, References, staged};
use super::selection::{Choice, Selection, Skip};
use super::summary::{Counts, Skips, Summary};
use super::switch::{Latch, Switch};
use super::target::{Status, Target, Unreadable};
use super::units::Units;
use super::value::ExceptionLevel;
use crate::machine::{Memory, Word};
use crate::program::Slice;
use std::sync::atomic::Ordering;

/// How a program is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scene {
    /// As a model, iteration by iteration.
    #[default]
    Model,
    /// As single ops: no step filter, no model name, no iteration (seed 003 "Constraints" 3).
    SingleOp,
}

/// Where a dumper stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// No iteration with dump on has begun yet.
    #[default]
    Uninit,
    /// Between iterations.
    Ready,
    /// In an iteration.
    Running,
}

/// Smallest staging area of a lane, in bytes.
pub const MIN_BATCH: u64 = 1 << 20;
/// Largest staging area of a lane that is taken without being asked, in bytes.
pub const MAX_BATCH: u64 = 256 << 20;

/// One thread's room.
#[derive(Debug)]
pub struct Lane {
    /// Its number: the StreamID of file names.
    pub id: u32,
    /// What waits to be written.
    pub batch: Batch,
    /// What it counted in this iteration.
    pub counts: Counts,
    /// The last launches.
    pub ring: Ring,
    request: DumpOp,
    /// Of its last event, in microseconds.
    time: u64,
    /// An exception is being dumped: a second one meanwhile is not.
    in_exception: bool,
}

/// What is fixed for an iteration.
#[derive(Debug)]
struct Latched {
    generation: u64,
    properties: Arc<Properties>,
    selection: Selection,
    /// Tensors of ops that are not dumped, by reason; the same in every iteration.
    skipped: Skips,
    /// Tensors that a load left out, by reason.
    load_skips: Skips,
    /// Selected tensors per op.
    wanted: Vec<u32>,
}

/// The dumper of one executor.
#[derive(Debug)]
pub struct Dumper<M> {
    model: Arc<Model>,
    scene: Scene,
    device: u32,
    state: State,
    iteration: u64,
    /// The step filter lets this iteration through.
    gate: bool,
    latched: Latched,
    units: Units<M>,
    /// Per op: the iteration + 1 in which its moment last came, wrapped to 32 bits.
    seen: M,
    references: References,
    /// The model itself if it is static, else its static submodels.
    data_dumpers: BTreeMap<Option<u32>, DataDumper>,
    kernel: DumpKernel,
    /// Of the fusion buffer; 0 if there is none.
    l1: u64,
    /// Ops without anything that could end: dumped once (P-19).
    folded: Vec<OpId>,
    folded_done: bool,
    told: Told,
}

/// What is told once.
#[derive(Debug, Default)]
struct Told {
    protocol: bool,
}

impl<M: Memory> Dumper<M> {
    /// A dumper of a program; `words` makes regions of that many zeroed words. Nothing is on before
    /// the first [`Dumper::model_start`].
    pub fn new(model: Arc<Model>, scene: Scene, device: u32, words: impl Fn(usize) -> M) -> Self {
        Self::with_replaced(model, scene, device, words, &BTreeMap::new())
    }

    /// As [`Dumper::new`], after passes that put thunks in the place of others.
    pub fn with_replaced(
        model: Arc<Model>,
        scene: Scene,
        device: u32,
        words: impl Fn(usize) -> M,
        replaced: &BTreeMap<ThunkRef, ThunkRef>,
    ) -> Self {
        let units = Units::new(&model, words(Units::<M>::words(&model)), replaced);
        let properties = Arc::new(Properties::default());
        let selection = Selection::new(&model, &properties, Matching::Union);
        let mut data_dumpers = BTreeMap::new();
        if model.dynamic {
            data_dumpers
                .extend(model.submodels.iter().flatten().map(|&at| (Some(at), DataDumper::default())));
        } else {
            data_dumpers.insert(None, DataDumper::default());
        }
        let folded = (0..)
            .zip(&model.ops)
            .filter(|(id, op)| model.dynamic && op.kind == OpKind::Task && units.total(*id) == 0)
            .map(|(id, _)| id)
            .collect();
        Self {
            scene,
            device,
            state: State::Uninit,
            iteration: 0,
            gate: false,
            latched: Latched {
                generation: 0,
                properties,
                selection,
                skipped: Skips::default(),
                load_skips: Skips::default(),
                wanted: Vec::new(),
            },
            seen: words(model.ops.len()),
            units,
            references: References::new(&model),
            data_dumpers,
            kernel: DumpKernel::default(),
            l1: 0,
            folded,
            folded_done: false,
            told: Told::default(),
            model,
        }
    }

    /// Reserves the on-chip fusion buffer that static models with L1 tensors are dumped with.
    pub fn reserve_l1(&mut self, address: u64) {
        self.l1 = address;
    }

    /// A lane for one thread. `limit` bytes of staging; 0 is as much as the largest op may need.
    pub fn lane(&self, id: u32, limit: u64, ring: usize) -> Lane {
        let limit = if limit == 0 { self.suggested_batch() } else { limit };
        let mut request = DumpOp::new(&self.model);
        request.latch(&self.latched.properties, &self.model, self.scene == Scene::SingleOp, self.device);
        Lane {
            id,
            batch: Batch::new(usize::try_from(limit).unwrap_or(usize::MAX)),
            counts: Counts::default(),
            ring: Ring::new(ring),
            request,
            time: 0,
            in_exception: false,
        }
    }

    /// Room for the largest op a few times over.
    pub fn suggested_batch(&self) -> u64 {
        let largest = self.model.ops.iter().map(room).max().unwrap_or(0).max(self.kernel.largest());
        largest.saturating_mul(4).clamp(MIN_BATCH, MAX_BATCH.max(largest))
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Iterations that have ended.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// What is in force for the running iteration.
    pub fn properties(&self) -> &Properties {
        &self.latched.properties
    }

    /// The decisions in force.
    pub fn selection(&self) -> &Selection {
        &self.latched.selection
    }

    /// The device's side.
    pub fn kernel(&self) -> &DumpKernel {
        &self.kernel
    }

    /// Something may happen between ModelStart and ModelEnd. If not, run the loop without an
    /// observer: it is the same as if there were no dump.
    pub fn watches(&self) -> bool {
        let properties = &self.latched.properties;
        properties.exception.is_some() || self.gate && (properties.data || properties.overflow.is_some())
    }

    /// ModelStart: takes over what the switch says, resets counts, opens or closes the gate.
    pub fn model_start<T: Target + ?Sized>(
        &mut self,
        switch: &Switch,
        lanes: &mut [Lane],
        target: &T,
        journal: &mut impl Journal,
    ) {
        if self.state == State::Running {
            if !std::mem::replace(&mut self.told.protocol, true) {
                journal.line(
                    Grade::Error,
                    format_args!("{KEYWORD} ModelStart in a running iteration: it is ended first"),
                );
            }
            self.model_end(lanes, target, journal);
        }
        if switch.generation != self.latched.generation {
            self.latch(switch, lanes, target, journal);
        }
        let properties = &self.latched.properties;
        self.gate = properties.is_on()
            && (self.scene == Scene::SingleOp
                || properties.overflow.is_some()
                || properties.steps.contains(self.iteration));
        self.units.reset();
        for lane in lanes {
            lane.counts = Counts::default();
        }
        if properties.is_on() {
            self.state = State::Running;
        }
    }

    /// The switch has another generation: everything that may allocate happens here, before the
    /// iteration. Off and on again in between come to nothing (ge-dump spec §8).
    fn latch<T: Target + ?Sized>(
        &mut self,
        switch: &Switch,
        lanes: &mut [Lane],
        target: &T,
        journal: &mut impl Journal,
    ) {
        let mut wanted = Arc::clone(&switch.properties);
        if self.scene == Scene::SingleOp {
            wanted = Arc::new(single_op(&wanted));
        }
        let latch = Latch::between(&self.latched.properties, &wanted);
        journal.line(
            Grade::Info,
            format_args!(
                "{KEYWORD} generation {} to {}: {latch:?}",
                self.latched.generation, switch.generation
            ),
        );
        self.latched.generation = switch.generation;
        if latch == Latch::Keep {
            return;
        }
        for dumper in self.data_dumpers.values_mut() {
            if let Some(message) = dumper.unload(journal)
                && let Err(refused) = self.kernel.accept(&message)
            {
                journal.line(Grade::Error, format_args!("{KEYWORD} unload was refused: {refused:?}"));
            }
        }
        let selection = Selection::new(&self.model, &wanted, Matching::Union);
        for line in selection.lines.iter().filter(|_| latch != Latch::Off) {
            journal.line(line.grade, format_args!("{}", line.text));
        }
        if latch == Latch::On && wanted.exception.is_some() {
            journal
                .line(Grade::Info, format_args!("{KEYWORD} ring of launches created, {} lanes", lanes.len()));
        }
        self.latched.properties = wanted;
        self.latched.selection = selection;
        self.load(target, journal);
        self.count_selected();
        let single = self.scene == Scene::SingleOp;
        for lane in lanes {
            lane.request.latch(&self.latched.properties, &self.model, single, self.device);
        }
    }

    /// Load or reload of the static models, with the filters of now (P-16).
    fn load<T: Target + ?Sized>(&mut self, target: &T, journal: &mut impl Journal) {
        let Latched { properties, selection, .. } = &self.latched;
        let mut skips = Skips::default();
        if (properties.data || properties.overflow.is_some()) && self.scene == Scene::Model {
            for (&submodel, dumper) in &mut self.data_dumpers {
                let context = LoadContext {
                    model: &self.model,
                    properties,
                    selection,
                    references: &self.references,
                    target,
                    device: self.device,
                    l1: self.l1,
                    submodel,
                };
                if let Some(message) = dumper.load(context, &mut skips, journal)
                    && let Err(refused) = self.kernel.accept(&message)
                {
                    journal.line(Grade::Error, format_args!("{KEYWORD} load was refused: {refused:?}"));
                }
            }
        }
        self.latched.load_skips = skips;
    }

    fn count_selected(&mut self) {
        let Latched { selection, skipped, wanted, .. } = &mut self.latched;
        *skipped = Skips::default();
        wanted.clear();
        for choice in selection.choices() {
            let tensors = choice.inputs.iter().chain(&choice.outputs);
            match choice.skip {
                Some(skip) => {
                    skipped.add(skip, tensors.count() as u64);
                    wanted.push(0);
                }
                None => wanted.push(tensors.filter(|skip| skip.is_none()).count() as u32),
            }
        }
    }

    /// The device dumps this thunk's op by itself.
    fn is_static(&self, thunk: ThunkRef) -> Option<Option<u32>> {
        if self.scene == Scene::SingleOp {
            return None;
        }
        match self.model.submodels.get(thunk.sequence as usize) {
            _ if !self.model.dynamic => Some(None),
            Some(Some(submodel)) => Some(Some(*submodel)),
            _ => None,
        }
    }

    fn ask(&self, op: OpId, scenario: Scenario, phase: Phase, lane: u32, time: u64) -> Ask {
        Ask { op, scenario, phase, lane, device: self.device, step: self.iteration, time }
    }

    /// ExecuteStart of a thunk, on the thread that is about to run it.
    #[inline]
    pub fn execute_start<T: Target + ?Sized>(
        &self,
        thunk: ThunkRef,
        lane: &mut Lane,
        target: &T,
        time: u64,
        journal: &mut impl Journal,
    ) {
        if self.state != State::Running || !self.gate || !self.latched.properties.data {
            return;
        }
        // Only collectives are dumped before they run: afterwards their input may be gone.
        let Some(id) = self.model.launched(thunk) else { return };
        if self.model.op(id).is_none_or(|op| !op.collective) || self.latched.properties.overflow.is_some() {
            return;
        }
        if let Some(submodel) = self.is_static(thunk) {
            return self.task_event(thunk, submodel, Phase::Before, lane, target, time, journal);
        }
        let choice = self.latched.selection.op(id);
        if choice.skip.is_none() && self.latched.properties.mode.inputs() {
            self.units.clear(id);
            let ask = self.ask(id, Scenario::Normal, Phase::Before, lane.id, time);
            self.dump(ask, lane, target, journal);
        }
    }

    /// ExecuteEnd of a thunk, on the thread that completed it, before its successors may start.
    #[inline]
    pub fn execute_end<T: Target + ?Sized>(
        &self,
        thunk: ThunkRef,
        status: Status,
        lane: &mut Lane,
        target: &T,
        time: u64,
        journal: &mut impl Journal,
    ) {
        if self.state != State::Running {
            return;
        }
        lane.time = time;
        // An exception dump saves contexts beside whatever else is on (P-17).
        if self.latched.properties.exception.is_some()
            && let Some(op) = self.model.launched(thunk)
        {
            self.save(thunk, op, lane, time);
            if status == Status::Failed {
                self.exception(lane.id, thunk.node, None, lane, target, time, journal);
            }
        }
        if !self.gate {
            return;
        }
        match status {
            Status::Timeout => {
                journal.line(
                    Grade::Error,
                    format_args!("{OVERFLOW_KEYWORD} thunk {thunk}: the stream did not synchronise in time; no overflow"),
                );
                return;
            }
            Status::Failed => return,
            _ => {}
        }
        // Overflow before data, one of the two (P-17).
        if self.latched.properties.overflow.is_some() {
            self.overflow_end(thunk, status, lane, target, time, journal);
        } else if self.latched.properties.data {
            self.data_end(thunk, lane, target, time, journal);
        }
    }

    fn data_end<T: Target + ?Sized>(
        &self,
        thunk: ThunkRef,
        lane: &mut Lane,
        target: &T,
        time: u64,
        journal: &mut impl Journal,
    ) {
        if let Some(submodel) = self.is_static(thunk) {
            let collective =
                self.model.launched(thunk).and_then(|id| self.model.op(id)).is_some_and(|op| op.collective);
            if collective {
                self.task_event(thunk, submodel, Phase::After, lane, target, time, journal);
            }
            return self.task_event(thunk, submodel, Phase::Whole, lane, target, time, journal);
        }
        let launched = self.model.launched(thunk);
        if let Some(id) = launched
            && self.model.op(id).is_some_and(|op| op.collective)
        {
            // No tick: that would dump it a third time (ge-dump spec §5.6).
            self.units.clear(id);
            let choice = self.latched.selection.op(id);
            if choice.skip.is_none() {
                lane.counts.ops_due += 1;
                self.mark(id);
                if self.latched.properties.mode.outputs() {
                    let ask = self.ask(id, Scenario::Normal, Phase::After, lane.id, time);
                    self.dump(ask, lane, target, journal);
                }
            }
        }
        for &id in self.units.of(thunk) {
            let collective = self.model.op(id).is_some_and(|op| op.collective);
            if launched == Some(id) && collective {
                continue;
            }
            if self.units.tick(id).is_none() || collective {
                continue;
            }
            if self.latched.selection.op(id).skip.is_none() {
                lane.counts.ops_due += 1;
                self.mark(id);
                let ask = self.ask(id, Scenario::Normal, Phase::Whole, lane.id, time);
                self.dump(ask, lane, target, journal);
            }
        }
    }

    fn overflow_end<T: Target + ?Sized>(
        &self,
        thunk: ThunkRef,
        status: Status,
        lane: &mut Lane,
        target: &T,
        time: u64,
        journal: &mut impl Journal,
    ) {
        if let (true, Some(id)) = (status.is_overflow(), self.model.launched(thunk)) {
            if let Some(op) = self.model.op(id) {
                journal.line(
                    Grade::Warning,
                    format_args!(
                        "{OVERFLOW_KEYWORD} overflow in op `{}` type {} stream {} task {}",
                        op.name, op.op_type, lane.id, thunk.node
                    ),
                );
            }
            self.units.flag(id);
            self.debug_record(thunk, status, lane, time, journal);
        }
        if let Some(submodel) = self.is_static(thunk) {
            let Some(id) = self.model.launched(thunk) else { return };
            lane.counts.ops_due += 1;
            self.mark(id);
            if status.is_overflow() {
                self.task_event(thunk, submodel, Phase::Whole, lane, target, time, journal);
            } else {
                let tensors = self.latched.wanted.get(id as usize).copied().unwrap_or(0);
                lane.counts.skipped.add(Skip::NoOverflow, u64::from(tensors));
            }
            return;
        }
        for &id in self.units.of(thunk) {
            let Some(flagged) = self.units.tick(id) else { continue };
            lane.counts.ops_due += 1;
            self.mark(id);
            if flagged && self.latched.selection.op(id).skip.is_none() {
                let ask = self.ask(id, Scenario::Overflow, Phase::Whole, lane.id, time);
                self.dump(ask, lane, target, journal);
            } else {
                let tensors = self.latched.wanted.get(id as usize).copied().unwrap_or(0);
                lane.counts.skipped.add(Skip::NoOverflow, u64::from(tensors));
            }
        }
    }

    /// The device's own record of an overflow: 2048 bytes, as `Opdebug` (ge-dump spec §9.5).
    fn debug_record(
        &self,
        thunk: ThunkRef,
        status: Status,
        lane: &mut Lane,
        time: u64,
        journal: &mut impl Journal,
    ) {
        let submodel = self.model.submodels.get(thunk.sequence as usize).copied().flatten();
        let id = model_id(&self.model, if self.model.dynamic { submodel } else { None });
        let Some(request) = self.kernel.debug(id) else { return };
        let info = Info {
            model_id: u64::from(id),
            stream_id: u64::from(lane.id),
            task_id: u64::from(thunk.node),
            ..Info::default()
        };
        let mut block = Block { info, ..Block::default() };
        block.status.status = status as u64;
        let record = OverflowRecord { ai_core: block, ..OverflowRecord::default() }.to_bytes();
        let header = Header {
            scenario: Scenario::Overflow,
            phase: Phase::Whole,
            lane: lane.id,
            device: self.device,
            step: self.iteration,
            time,
            failed: 0,
        };
        let parts = [(1, RECORD_SIZE as u64)];
        if lane.batch.push(header, request, parts.into_iter(), &Bytes(&record)).is_err() {
            journal.line(Grade::Warning, format_args!("{OVERFLOW_KEYWORD} no room for the overflow record"));
        }
    }

    /// What the device does when a task of a static model ends: it looks whether something waits.
    #[expect(clippy::too_many_arguments, reason = "the device has all of this at hand")]
    fn task_event<T: Target + ?Sized>(
        &self,
        thunk: ThunkRef,
        submodel: Option<u32>,
        phase: Phase,
        lane: &mut Lane,
        target: &T,
        time: u64,
        journal: &mut impl Journal,
    ) {
        let overflow = self.latched.properties.overflow.is_some();
        let waiting = self.kernel.waiting(model_id(&self.model, submodel), thunk, self.iteration);
        let mut first = true;
        for one in waiting.iter().filter(|one| one.phase == phase) {
            let Some(op) = self.model.launched(thunk).and_then(|id| self.model.op(id)) else { return };
            if std::mem::take(&mut first) && !overflow && phase != Phase::Before {
                lane.counts.ops_due += 1;
            }
            if let Some(id) = self.model.launched(thunk) {
                self.mark(id);
            }
            let scenario = if overflow { Scenario::Overflow } else { Scenario::Normal };
            let Lane { id, batch, counts, .. } = lane;
            let header = Header {
                scenario,
                phase,
                lane: *id,
                device: self.device,
                step: self.iteration,
                time,
                failed: 0,
            };
            if one.parts.is_empty() {
                continue;
            }
            let result = batch.push(header, &one.request, one.parts.iter().copied(), target);
            staged(result, op, &one.parts, one.tensors, counts, journal);
            if result.is_ok() {
                journal.line(
                    Grade::Info,
                    format_args!(
                        "{KEYWORD} {scenario} op `{}` type {} stream {id} task {}: {} tensors at {}",
                        op.name,
                        op.op_type,
                        thunk.node,
                        one.tensors,
                        Addresses(&one.parts)
                    ),
                );
            }
        }
    }

    fn dump<T: Target + ?Sized>(&self, ask: Ask, lane: &mut Lane, target: &T, journal: &mut impl Journal) {
        let Lane { batch, counts, request, .. } = lane;
        request.dump(
            ask,
            &self.model,
            &self.latched.selection,
            &self.references,
            target,
            batch,
            counts,
            journal,
        );
    }

    fn mark(&self, op: OpId) {
        self.seen.store(Word(op), (self.iteration as u32).wrapping_add(1), Ordering::Relaxed);
    }

    /// Remembers a launch, each context of it by itself.
    fn save(&self, thunk: ThunkRef, op: OpId, lane: &mut Lane, time: u64) {
        let stream = lane.id;
        let launched =
            Launched { op, thunk, stream, task: thunk.node, context: None, step: self.iteration, time };
        lane.ring.save(launched);
        for context in self.model.op(op).map_or(&[][..], |op| &op.contexts) {
            let context = Some((context.context_id, context.thread_id));
            lane.ring.save(Launched { stream: ANY, task: ANY, context, ..launched });
        }
    }

    /// The runtime reports an exception by its numbers: the newest launch with these is dumped, with
    /// everything that is there. Never fails, never again while it is at it.
    #[expect(clippy::too_many_arguments, reason = "an exception comes with all of its numbers")]
    pub fn exception<T: Target + ?Sized>(
        &self,
        stream: u32,
        task: u32,
        context: Option<(u32, u32)>,
        lane: &mut Lane,
        target: &T,
        time: u64,
        journal: &mut impl Journal,
    ) -> bool {
        if self.latched.properties.exception.is_none() || lane.in_exception {
            return false;
        }
        let Some(&found) = lane.ring.find(stream, task, context) else {
            journal.line(
                Grade::Warning,
                format_args!("{EXCEPTION_KEYWORD} stream {stream} task {task}: no launch with these numbers is remembered"),
            );
            return false;
        };
        lane.in_exception = true;
        if let Some(op) = self.model.op(found.op) {
            let mut line = |name: &str, value: &str| {
                // Long texts in pieces that every log takes (ge-dump spec §7.1).
                let mut rest = value;
                loop {
                    let cut = rest.char_indices().nth(750).map_or(rest.len(), |(at, _)| at);
                    let (piece, after) = rest.split_at(cut);
                    journal
                        .line(Grade::Error, format_args!("{AIC_KEYWORD} op `{}` {name}: {piece}", op.name));
                    rest = after;
                    if rest.is_empty() {
                        break;
                    }
                }
            };
            line("type", &op.op_type);
            if !op.tiling.is_empty() {
                line("tiling", &op.tiling);
            }
            if self.latched.properties.exception == Some(ExceptionLevel::Norm) {
                for (name, value) in &op.attributes {
                    line(name, value);
                }
            }
            let ask = Ask {
                step: found.step,
                ..self.ask(found.op, Scenario::Exception, Phase::Whole, lane.id, time)
            };
            let Lane { batch, counts, request, .. } = lane;
            let everything = Everything(target);
            request.dump(
                ask,
                &self.model,
                &self.latched.selection,
                &self.references,
                &everything,
                batch,
                counts,
                journal,
            );
        }
        lane.in_exception = false;
        true
    }

    /// ModelEnd, of a run that went well or not: one synchronisation if something was dumped, the
    /// summary, the next iteration's number (P-22).
    pub fn model_end<T: Target + ?Sized>(
        &mut self,
        lanes: &mut [Lane],
        target: &T,
        journal: &mut impl Journal,
    ) -> Summary {
        let mut summary = Summary { iteration: self.iteration, counts: Counts::default() };
        if self.state == State::Running {
            self.dump_folded(lanes, target, journal);
            let staged = lanes.iter().any(|lane| !lane.batch.is_empty());
            if staged {
                target.sync();
            }
            for lane in lanes.iter_mut() {
                summary.counts.merge(&lane.counts);
                lane.counts = Counts::default();
            }
            let Latched { properties, skipped, load_skips, wanted, selection, .. } = &self.latched;
            if properties.data || properties.overflow.is_some() {
                let skips = &mut summary.counts.skipped;
                skips.merge(skipped);
                let open = self.gate;
                if open && self.scene == Scene::Model {
                    skips.merge(load_skips);
                }
                let now = (self.iteration as u32).wrapping_add(1);
                for (id, (&tensors, choice)) in (0..).zip(wanted.iter().zip(selection.choices())) {
                    let due = self.seen.load(Word(id), Ordering::Relaxed) == now;
                    if due || choice.skip.is_some() {
                        continue;
                    }
                    let reason = match open {
                        false => Skip::StepMismatch,
                        true if self.folded.contains(&id) => Skip::ConstantFolded,
                        true => Skip::NeverDue,
                    };
                    skips.add(reason, u64::from(tensors));
                }
                journal.line(Grade::Info, format_args!("{KEYWORD} {summary}"));
            }
            self.state = State::Ready;
        }
        self.iteration += 1;
        summary
    }

    /// Ops whose every part was there before the first event: once, at the first end of an iteration
    /// that is dumped (P-19).
    fn dump_folded<T: Target + ?Sized>(
        &mut self,
        lanes: &mut [Lane],
        target: &T,
        journal: &mut impl Journal,
    ) {
        if self.folded_done || !self.gate || !self.latched.properties.data {
            return;
        }
        self.folded_done = true;
        let Some(lane) = lanes.first_mut() else { return };
        for &id in &self.folded {
            if self.latched.selection.op(id).skip.is_none() {
                lane.counts.ops_due += 1;
                self.mark(id);
                let ask = self.ask(id, Scenario::Normal, Phase::Whole, lane.id, lane.time);
                self.dump(ask, lane, target, journal);
            }
        }
    }

    /// The model is unloaded: what the device holds is taken away.
    pub fn unload(&mut self, journal: &mut impl Journal) {
        for dumper in self.data_dumpers.values_mut() {
            if let Some(message) = dumper.unload(journal)
                && let Err(refused) = self.kernel.accept(&message)
            {
                journal.line(Grade::Error, format_args!("{KEYWORD} unload was refused: {refused:?}"));
            }
        }
    }

    /// What a choice says, for reports.
    pub fn choice(&self, op: OpId) -> &Choice {
        self.latched.selection.op(op)
    }

    /// How many ticks make an op due; 0 for static programs' ops and what is there from the start.
    pub fn total(&self, op: OpId) -> u32 {
        self.units.total(op)
    }

    /// Whether the thunk launches something.
    pub fn launches(&self, thunk: ThunkRef) -> bool {
        matches!(self.model.role(thunk), Role::Launch(_) | Role::Again(_))
    }
}

/// Bytes of staging that one record of an op may need.
pub(super) fn room(op: &Op) -> u64 {
    let tensors = op.inputs.iter().chain(&op.outputs).flatten().filter_map(|tensor| tensor.slice);
    let slices = tensors.map(|slice| slice.size).chain(op.workspace.iter().map(|space| space.size));
    let on_chip = op.inputs.iter().chain(&op.outputs).flatten().any(|t| t.memory == OnChip::L1);
    let fixed = if on_chip { 4_096 + L1_BUFFER } else { 4_096 };
    slices.fold(fixed, u64::saturating_add)
}

/// Single ops: the switch for them decides alone, of every op; no steps, no models.
pub(super) fn single_op(properties: &Properties) -> Properties {
    let mut single = properties.clone();
    single.data = properties.data && properties.op_switch;
    single.models = [(ModelKey::All, Default::default())].into();
    single.steps = Default::default();
    single.ranges.clear();
    single
}

/// First addresses of a request, for a line of bounded length.
struct Addresses<'a>(&'a [(u64, u64)]);

impl std::fmt::Display for Addresses<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, (address, size)) in self.0.iter().take(8).enumerate() {
            write!(f, "{}{n}@{address:#x}:{size}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Memory that a record is copied out of when it is not the device's.
struct Bytes<'a>(&'a [u8]);

impl Target for Bytes<'_> {
    fn address(&self, _: Slice) -> Option<u64> {
        None
    }
    fn read(&self, _: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        if bytes.len() != self.0.len() {
            return Err(Unreadable);
        }
        bytes.copy_from_slice(self.0);
        Ok(())
    }
}

/// The device as an exception sees it: memory that cannot be read is no reason to stop.
struct Everything<'a, T: ?Sized>(&'a T);

impl<T: Target + ?Sized> Target for Everything<'_, T> {
    fn address(&self, slice: Slice) -> Option<u64> {
        self.0.address(slice)
    }
    fn locate(&self, slot: super::model::Slot, tensor: &super::model::Tensor) -> super::target::Located {
        self.0.locate(slot, tensor)
    }
    fn shape(&self, slot: super::model::Slot, tensor: &super::model::Tensor, dims: &mut Vec<u64>) -> bool {
        self.0.shape(slot, tensor, dims) || {
            // Bytes without a shape are better than none.
            dims.clear();
            dims.extend(tensor.slice.map(|slice| slice.size));
            true
        }
    }
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        self.0.read(address, bytes)
    }
}

#[cfg(test)]
mod tests;
