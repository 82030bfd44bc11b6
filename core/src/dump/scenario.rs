//! A program, its configuration, and what happens to it, driven by the simulator: overflows,
//! failures, and switches at given moments (ge-dump spec §8).

mod device;

#[cfg(test)]
mod tests;

pub use device::{Bytes, SimDevice};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::batch::Batch;
use super::dumper::{Dumper, Lane, Scene};
use super::env::EnvLayer;
use super::event::{self as dump, DumpEvent, DumpLog, Kinds, Noted};
use super::exception;
use super::log::Journal;
use super::manager::{DumpManager, Now, Phase};
use super::model::{Model, ThunkRef};
use super::option::{OptionLayer, Scope};
use super::path::PathProbe;
use super::selection::Skip;
use super::sink::DumpSink;
use super::summary::{Counts, Skips, Summary};
use super::switch::Switch;
use super::target::Status;
use super::worker;
use crate::diagnostic::Diagnostic;
use crate::executor::Plan;
use crate::machine::{LocalMemory, Ticks};
use crate::program::{Program, SequencePath};
use crate::sim::{self, Fault, FaultKind};
use crate::trace::{Actor, Event, EventKind, Header, MixedKind, RunId};

/// The format of scenario files.
pub const FORMAT: &str = "thunkscope.dump-scenario/1";

/// What happens, beside the program itself. JSON; what is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// [`FORMAT`].
    pub format: String,
    /// The ACL document that is set before the first iteration; `null` for none.
    pub acl: Option<Value>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// GE options; of the session, or with `global:` or `graph:` in front of their names.
    pub options: BTreeMap<String, String>,
    /// How often the program runs; 0 is once.
    pub iterations: u32,
    /// How the simulator runs it; its own `iterations` and `faults` are not used.
    pub run: sim::Options,
    /// The program is run as single ops.
    pub single_op: bool,
    /// Thunks that overflow, and when.
    pub overflows: Vec<Moment>,
    /// Thunks that fail, in every iteration.
    pub failures: Vec<Place>,
    /// Changes of the configuration.
    pub switches: Vec<SwitchEvent>,
}

/// One thunk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its sequence; the entry if left out.
    #[serde(default)]
    pub path: SequencePath,
    /// Its index.
    pub node: u32,
}

/// One thunk in one iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Counted from 0.
    pub iteration: u64,
    /// Its sequence; the entry if left out.
    #[serde(default)]
    pub path: SequencePath,
    /// Its index.
    pub node: u32,
}

/// A change of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchEvent {
    /// In which iteration.
    pub iteration: u64,
    /// After which thunk of the entry has ended; before the iteration starts if left out.
    #[serde(default)]
    pub after: Option<u32>,
    /// A document for `aclmdlSetDump`, `"off"` for the switch, or `"finalize"`.
    pub to: Value,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// By iteration.
    pub summaries: Vec<Summary>,
    /// Tensors lost on the way to the sink.
    pub lost: Skips,
    /// What could not be used of switches.
    pub diagnostics: Vec<Diagnostic>,
    /// Waits for the device: one per iteration that dumped.
    pub syncs: u64,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// `DU040` for JSON that is none, with the place; `DU041` for another format.
    pub fn read(text: &[u8]) -> Result<Self, Diagnostic> {
        let scenario: Self = serde_json::from_slice(text).map_err(|error| {
            let place = format!("line {} column {}", error.line(), error.column());
            Diagnostic::error("DU040", place, "a scenario").found(error)
        })?;
        if scenario.format != FORMAT {
            return Err(Diagnostic::error("DU041", "$.format", FORMAT).found(&scenario.format));
        }
        Ok(scenario)
    }
}

/// How records leave.
pub struct Output<'a, J> {
    /// Takes them.
    pub sink: &'a mut dyn DumpSink,
    /// Takes the log.
    pub journal: &'a mut J,
    /// Each record is written before its thunk's event fires (P-37).
    pub sync: bool,
    /// Bytes of staging per lane; 0 is as much as the largest op may need.
    pub batch: u64,
}

/// Runs a program under a scenario.
///
/// # Errors
/// What the ACL document, the simulator or the memory of the program give as an error.
pub fn run<J: Journal>(
    program: &Program,
    scenario: &Scenario,
    probe: &dyn PathProbe,
    time: Option<&str>,
    output: Output<'_, J>,
) -> Result<Outcome, Diagnostic> {
    Ok(perform(program, scenario, Now { probe, time }, output, Bytes::Simulated, None)?.0)
}

/// As [`run`], with the log of what happened: to thunks, as the simulator tells it, and to records.
///
/// # Errors
/// As [`run`].
pub fn run_logged<J: Journal>(
    program: &Program,
    scenario: &Scenario,
    probe: &dyn PathProbe,
    time: Option<&str>,
    output: Output<'_, J>,
    bytes: Bytes,
) -> Result<(Outcome, DumpLog), Diagnostic> {
    let now = Now { probe, time };
    let (outcome, header, events) = perform(program, scenario, now, output, bytes, Some(Vec::new()))?;
    Ok((outcome, DumpLog { header, events: events.unwrap_or_default() }))
}

fn perform<J: Journal>(
    program: &Program,
    scenario: &Scenario,
    now: Now<'_>,
    output: Output<'_, J>,
    bytes: Bytes,
    events: Option<Vec<DumpEvent>>,
) -> Result<(Outcome, Header, Option<Vec<DumpEvent>>), Diagnostic> {
    let model = Arc::new(Model::read(program).model);
    let mut options = scenario.run.clone();
    options.iterations = scenario.iterations.max(1);
    options.faults = scenario
        .failures
        .iter()
        .map(|place| Fault { path: place.path.clone(), node: place.node, kind: FaultKind::Fails })
        .collect();
    let plans = Plan::all(program, &options.executor)?;
    let header = sim::header(program, &plans, &options);
    let device = SimDevice::new(program, &model, bytes)?;
    let mut driver = Driver::new(&model, device, header.lanes, scenario, now, output)?;
    driver.events = events;
    sim::watch(program, &plans, &options, |event| driver.event(event))?;
    driver.finish();
    Ok((driver.outcome, header, driver.events))
}

struct Driver<'a, 'o, J> {
    scenario: &'a Scenario,
    now: Now<'a>,
    output: Output<'o, J>,
    manager: DumpManager,
    dumper: Dumper<LocalMemory>,
    lanes: Vec<Lane>,
    device: SimDevice,
    /// By run of the simulator: the index of its sequence.
    runs: Vec<u32>,
    overflows: BTreeSet<(u64, ThunkRef)>,
    iteration: u64,
    running: bool,
    outcome: Outcome,
    /// What happened, if somebody wants to know.
    events: Option<Vec<DumpEvent>>,
    /// When, by whom and in which run the simulator's last event was.
    at: (Ticks, Actor, RunId),
}

const SESSION: u64 = 1;

impl<'a, 'o, J: Journal> Driver<'a, 'o, J> {
    fn new(
        model: &Arc<Model>,
        device: SimDevice,
        lanes: u16,
        scenario: &'a Scenario,
        now: Now<'a>,
        output: Output<'o, J>,
    ) -> Result<Self, Diagnostic> {
        let env = EnvLayer::read(scenario.env.iter().map(|(k, v)| (k.as_str(), v.as_str()))).0;
        let options: Vec<_> = scenario.options.iter().map(|(name, value)| Scope::of(name, value)).collect();
        let options =
            OptionLayer::read(options.iter().map(|(s, name, value)| (*s, name.as_str(), value.as_str()))).0;
        let mut manager = DumpManager::new(env, OptionLayer::default());
        manager.add_session(SESSION, options, now, output.journal);
        manager.init_dump(output.journal)?;
        if let Some(acl) = &scenario.acl {
            manager.set_dump(Some(acl.to_string().as_bytes()), now, output.journal)?;
        }
        let scene = if scenario.single_op { Scene::SingleOp } else { Scene::Model };
        let mut dumper = Dumper::new(Arc::clone(model), scene, 0, LocalMemory::new);
        dumper.reserve_l1(device.l1());
        let lane = |id| {
            if !device.is_zeros() {
                return dumper.lane(id, output.batch, exception::CAPACITY);
            }
            // Nobody is in a hurry: room is taken when it is needed, so that a browser has it.
            let mut lane = dumper.lane(id, 1, exception::CAPACITY);
            lane.batch = Batch::growing(usize::try_from(output.batch).unwrap_or(usize::MAX));
            lane
        };
        let lanes = (0..u32::from(lanes)).map(lane).collect();
        let places: BTreeMap<&str, u32> = model.paths.iter().map(String::as_str).zip(0..).collect();
        let overflows = scenario
            .overflows
            .iter()
            .filter_map(|moment| {
                let sequence = *places.get(moment.path.to_string().as_str())?;
                Some((moment.iteration, ThunkRef { sequence, node: moment.node }))
            })
            .collect();
        Ok(Self {
            scenario,
            now,
            output,
            manager,
            dumper,
            lanes,
            device,
            runs: Vec::new(),
            overflows,
            iteration: 0,
            running: false,
            outcome: Outcome::default(),
            events: None,
            at: (0, Actor(0), 0),
        })
    }

    fn tell(&mut self, kind: impl Into<MixedKind<dump::Event>>) {
        if let Some(events) = &mut self.events {
            let (t, actor, run) = self.at;
            events.push(DumpEvent { t, actor, run, kind: kind.into() });
        }
    }

    fn event(&mut self, event: &Event) {
        self.at = (event.t, event.actor, event.run);
        if self.events.is_some() {
            self.tell(MixedKind::Executor(event.kind.clone()));
        }
        match event.kind {
            EventKind::IterationStart { iteration } => self.start(u64::from(iteration)),
            EventKind::IterationEnd { .. } => self.end(),
            EventKind::RunStart { sequence, .. } => self.runs.push(sequence),
            EventKind::Started { node } => {
                let (thunk, lane) = self.place(event, node);
                let before = self.lanes[lane].counts;
                let Self { dumper, lanes, device, output, .. } = self;
                dumper.execute_start(thunk, &mut lanes[lane], device, event.t / 1_000, output.journal);
                self.after_event(thunk, lane, &before);
            }
            EventKind::Finished { node } => {
                let (thunk, lane) = self.place(event, node);
                let overflow = self.overflows.contains(&(self.iteration, thunk));
                self.device.finish(thunk, overflow);
                let status = if overflow { Status::AiCoreOverflow } else { Status::Ok };
                self.execute_end(event, thunk, status, lane);
                if thunk.sequence == 0 {
                    self.switch(Some(node));
                }
            }
            EventKind::Failed { node } => {
                let (thunk, lane) = self.place(event, node);
                self.execute_end(event, thunk, Status::Failed, lane);
            }
            _ => {}
        }
    }

    fn start(&mut self, iteration: u64) {
        self.iteration = iteration;
        self.switch(None);
        let switch = self.manager.switch(SESSION);
        self.output.sink.configure(&switch.properties);
        self.device.iteration(self.iteration);
        self.dumper.model_start(&switch, &mut self.lanes, &self.device, self.output.journal);
        self.running = true;
        let (kinds, open) = (Kinds::of(self.dumper.properties()), self.dumper.watches());
        self.tell(dump::Event::Latched { generation: switch.generation, kinds, open });
    }

    fn execute_end(&mut self, event: &Event, thunk: ThunkRef, status: Status, lane: usize) {
        let before = self.lanes[lane].counts;
        let Self { dumper, lanes, device, output, .. } = self;
        dumper.execute_end(thunk, status, &mut lanes[lane], device, event.t / 1_000, output.journal);
        self.after_event(thunk, lane, &before);
    }

    fn place(&self, event: &Event, node: u32) -> (ThunkRef, usize) {
        let sequence = self.runs.get(event.run as usize).copied().unwrap_or(0);
        let lane = usize::from(event.actor.0).min(self.lanes.len() - 1);
        (ThunkRef { sequence, node }, lane)
    }

    fn after_event(&mut self, thunk: ThunkRef, lane: usize, before: &Counts) {
        if self.events.is_some() {
            let after = self.lanes[lane].counts;
            dump::told(thunk.node, before, &after, |event| self.tell(event));
        }
        if self.output.sync && !self.lanes[lane].batch.is_empty() {
            self.drain(lane);
        }
    }

    fn drain(&mut self, lane: usize) {
        let mut sink = Noted::new(&mut *self.output.sink);
        let lost = worker::drain(&mut self.lanes[lane].batch, &mut sink, self.output.journal);
        sink.events.into_iter().for_each(|event| self.tell(event));
        self.outcome.lost.merge(&lost);
    }

    fn end(&mut self) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        let mut summary = self.dumper.model_end(&mut self.lanes, &self.device, self.output.journal);
        let before = self.outcome.lost;
        for lane in 0..self.lanes.len() {
            self.drain(lane);
        }
        let lost = self.outcome.lost.of(Skip::WriteFailed) - before.of(Skip::WriteFailed);
        summary.counts.skipped.add(Skip::WriteFailed, lost);
        self.tell(dump::Event::from(&summary));
        self.outcome.summaries.push(summary);
    }

    /// The simulation is over: a run that went quiet has no end of its own.
    fn finish(&mut self) {
        self.end();
        self.dumper.unload(self.output.journal);
        self.outcome.syncs = self.device.syncs();
    }

    fn switch(&mut self, after: Option<u32>) {
        let (now, before) = (self.now, self.manager.switch(SESSION).generation);
        let scenario = self.scenario;
        for event in
            scenario.switches.iter().filter(|one| one.iteration == self.iteration && one.after == after)
        {
            let journal = &mut *self.output.journal;
            let result = match &event.to {
                Value::String(word) if word == "off" => {
                    self.manager.disable(now, journal);
                    Ok(())
                }
                Value::String(word) if word == "finalize" => self.manager.finalize_dump(now, journal),
                document => {
                    let ready = if self.manager.phase() == Phase::Ready {
                        Ok(())
                    } else {
                        self.manager.init_dump(journal)
                    };
                    ready.and_then(|()| {
                        self.manager.set_dump(Some(document.to_string().as_bytes()), now, journal).map(drop)
                    })
                }
            };
            self.outcome.diagnostics.extend(result.err());
        }
        let Switch { generation, properties } = self.manager.switch(SESSION);
        if generation != before {
            self.tell(dump::Event::Switched { generation, kinds: Kinds::of(&properties) });
        }
    }
}
