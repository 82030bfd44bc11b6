//! A scenario as text in, everything about its run out: what `thunkscope sim --json` prints and what
//! the JavaScript function `sim` gives back.

use serde::Serialize;
use serde_json::Value;

use super::read::{Object, read};
use super::report::{Causes, Report};
use super::scenario::{Scenario, Synthetic};
use super::world::{Outcome, Run, judged};
use crate::dfx::artifact::ledger_json;
use crate::dfx::{Event, Fault, PeerGate, Policy, Profile, Transport, Verdict};
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::machine::Ticks;

/// What is to be different from the scenario's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Another policy.
    pub policy: Option<Policy>,
    /// Another order at the pop gate.
    pub peer_gate: Option<PeerGate>,
    /// None of the scenario's own faults.
    pub no_faults: bool,
    /// Faults beside the scenario's.
    pub faults: Vec<Fault>,
    /// Another seed.
    pub seed: Option<u64>,
    /// The sizes of another device, all of them: `a2a3`, `a5` or `custom`. What the scenario says
    /// of sizes is then not used; lanes and cores are cut to what the device has.
    pub profile: Option<String>,
}

impl Overrides {
    /// Reads `{"policy", "peer_gate", "no_faults", "faults", "seed", "profile"}`, each of which may be
    /// missing.
    ///
    /// # Errors
    /// `DX003` a field that is not known, `DX004` a value that is not one of those allowed.
    pub fn read(value: Value) -> Result<Self, Diagnostic> {
        let mut object = Object::new(value, "$")?;
        let parsed = |name: &str| -> Option<Policy> { name.parse().ok() };
        let policy = object.option("policy", &["global-freeze", "drop", "per-lane"])?.and_then(parsed);
        let gate = object.option("peer_gate", &["barrier-first", "slot-first"])?;
        let faults = object.list("faults", &Fault::ALL.map(Fault::name))?.unwrap_or_default();
        let overrides = Self {
            policy,
            peer_gate: gate.and_then(|name| name.parse().ok()),
            no_faults: object.flag("no_faults")?,
            faults: faults.iter().filter_map(|name| name.parse().ok()).collect(),
            seed: object.maybe("seed", 0, u64::MAX)?,
            profile: object.option("profile", &["custom", "a2a3", "a5"])?.map(str::to_owned),
        };
        object.end()?;
        Ok(overrides)
    }

    /// Changes a scenario.
    ///
    /// # Errors
    /// `DX004` a profile of another name.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<(), Diagnostic> {
        let rules = &mut scenario.rules;
        rules.policy = self.policy.unwrap_or(rules.policy);
        rules.peer_gate = self.peer_gate.unwrap_or(rules.peer_gate);
        let own = rules.faults.iter().filter(|_| !self.no_faults);
        rules.faults = own.chain(self.faults.iter().copied()).collect();
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        match self.profile.as_deref() {
            Some("a2a3") => scenario.profile = Profile::a2a3(),
            Some("a5") => scenario.profile = Profile::a5(),
            Some("custom") => scenario.profile = Profile::custom(scenario.lanes, scenario.cores),
            Some(other) => {
                return Err(Diagnostic::error("DX004", "$.profile", "one of custom, a2a3, a5").found(other));
            }
            None => {}
        }
        scenario.lanes = scenario.lanes.min(scenario.profile.max_lanes);
        scenario.cores = scenario.cores.min(scenario.profile.max_cores);
        Ok(())
    }
}

/// A run with everything about it.
#[derive(Debug)]
pub struct Simulation {
    /// What was run.
    pub scenario: Scenario,
    /// Its log, its ledgers, its records.
    pub run: Run,
    /// What is told of it.
    pub document: Document,
}

/// Runs a scenario, and judges it by the invariants I1 to I18.
///
/// # Errors
/// As [`read`](super::read()), [`Overrides::apply`] and [`run`](super::run()).
pub fn simulate(text: &[u8], overrides: &Overrides) -> Result<Simulation, Diagnostic> {
    let mut scenario = read(text)?;
    overrides.apply(&mut scenario)?;
    let run = judged(&scenario, &Synthetic(scenario.dump.every))?;
    let document = Document::new(&scenario, &run);
    Ok(Simulation { scenario, run, document })
}

/// What is told of a run (`thunkscope.sim/1`). Times are nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// `thunkscope.sim/1`.
    pub format: &'static str,
    /// Its name.
    pub scenario: String,
    /// What there is to see, in the words of the scenario.
    pub about: String,
    /// The device.
    pub profile: &'static str,
    /// How the host reaches its memory.
    pub transport: Transport,
    /// Cores that ran.
    pub cores: u32,
    /// What a lane does that runs out of buffers.
    pub policy: Policy,
    /// The order at the pop gate.
    pub peer_gate: PeerGate,
    /// Defects that were switched on.
    pub faults: Vec<Fault>,
    /// The longest single wait.
    #[serde(with = "crate::number::wide")]
    pub budget_ns: Ticks,
    /// Of everything random.
    #[serde(with = "crate::number::decimal")]
    pub seed: u64,
    /// How the ledger stands.
    pub outcome: Outcome,
    /// Records of all pools.
    pub records: Records,
    /// Payloads that the host could not write; their records say so by having none.
    pub payloads_unwritten: u64,
    /// By lane; the last is the orchestrator.
    pub lanes: Vec<Lane>,
    /// Lanes that stopped at a gate at least once.
    pub lanes_disturbed: usize,
    /// Freezes that the host opened, of all regions and gates.
    pub freezes: u64,
    /// Recorded finish minus the core's own end.
    pub finish_error_ns: Spread,
    /// Pairs of scheduling lanes that the records put in the wrong order of load.
    pub wrong_ranks: Ranks,
    /// From the first submit to the last task.
    pub makespan_ns: Ticks,
    /// Steps that host threads took.
    pub host_steps: u64,
    /// The ledger of every pool (`thunkscope.ledger/1`).
    pub ledger: Value,
    /// I1 to I18: how often each was judged, and what broke it.
    pub invariants: Vec<Verdict>,
    /// Events of the log.
    pub events: usize,
    /// The log's digest: same scenario, same seed, same digest.
    pub log_digest: Digest,
}

/// Records of all pools.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Records {
    pub written: u64,
    pub collected: u64,
    pub missing: u64,
    pub causes: Causes,
}

/// What one lane went through.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// Time at gates.
    pub blocked_ns: Ticks,
    /// How often it stopped at one.
    pub stops: u32,
    /// Time its cores were running.
    pub busy_ns: u64,
    /// The same as its records tell.
    pub seen_ns: u64,
}

/// Of a distribution.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Spread {
    pub median: u64,
    pub p95: u64,
    pub max: u64,
}

/// So many of so many pairs.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Ranks {
    pub pairs: u32,
    pub of: u32,
}

impl Document {
    /// What is told of `run`; its invariants were judged only if it came from [`simulate`].
    pub fn new(scenario: &Scenario, run: &Run) -> Self {
        let Report { outcome, records, causes, lanes, finish_error, wrong_ranks, makespan, host_steps } =
            &run.report;
        let [written, collected, missing] = *records;
        let [median, p95, max] = *finish_error;
        let opens = run.log.dfx().filter(|(_, event)| matches!(event, Event::Open { .. }));
        Self {
            format: "thunkscope.sim/1",
            scenario: scenario.name.clone(),
            about: scenario.about.clone(),
            profile: scenario.profile.name,
            transport: scenario.profile.transport,
            cores: scenario.cores,
            policy: scenario.rules.policy,
            peer_gate: scenario.rules.peer_gate,
            faults: scenario.rules.faults.iter().collect(),
            budget_ns: scenario.rules.budget,
            seed: scenario.seed,
            outcome: *outcome,
            records: Records { written, collected, missing, causes: causes.clone() },
            payloads_unwritten: run.kept.iter().map(|(_, keeper)| keeper.unwritten).sum(),
            lanes: lanes
                .iter()
                .map(|lane| Lane {
                    blocked_ns: lane.blocked,
                    stops: lane.stops,
                    busy_ns: lane.busy,
                    seen_ns: lane.seen,
                })
                .collect(),
            lanes_disturbed: run.report.disturbed(),
            freezes: opens.count() as u64,
            finish_error_ns: Spread { median, p95, max },
            wrong_ranks: Ranks { pairs: wrong_ranks.0, of: wrong_ranks.1 },
            makespan_ns: *makespan,
            host_steps: *host_steps,
            ledger: ledger_json(&run.ledgers, &scenario.rules),
            invariants: run.verdicts.list(),
            events: run.log.events.len(),
            log_digest: run.log.digest(),
        }
    }

    /// Whether the ledger balances and no invariant is broken: what may be missing is accounted for.
    pub fn is_sound(&self) -> bool {
        self.outcome != Outcome::Unbalanced && self.invariants.iter().all(|verdict| verdict.broken.is_none())
    }
}
