//! Thunkscope for JavaScript: `import init, { read, explain, simulate, exhibit, dump_check, sim, check } from
//! './thunkscope-api.js'`. Mounts nothing, keeps nothing: plain objects in, plain objects out.
//!
//! The page loads it for the instruments of its Lab beside the executor ([`instruments`]); the
//! executor's engine is a module of its own. Options come in through `serde-wasm-bindgen`; what goes
//! out goes as JSON: `JSON.parse` is faster than building objects one property at a time, and what
//! an object has is what the schemas in `docs/` say. Wrong input throws an `Error` that carries the
//! fields of
//! a [`Diagnostic`] (`types.d.ts` has the types, `docs/api.md` examples).
#![forbid(unsafe_code)]

pub mod instruments;

use serde::Deserialize;
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::dump::check::{Texts, check_texts};
use thunkscope_core::dump::names::Layout;
use thunkscope_core::dump::resolve::Context;
use thunkscope_core::exhibit::{self, Chapter};
use thunkscope_core::explain::{Report, to_text};
use thunkscope_core::explore::document::{Document, Line, named};
use thunkscope_core::explore::memory::Order;
use thunkscope_core::explore::{Fault, Limits as Bounds, Property, Sweep, standard};
use thunkscope_core::import::{self, Imported, Limits, ReadOptions};
use thunkscope_core::program::{SequencePath, json};
use thunkscope_core::sim::dfx::{self, Overrides, Simulation};
use thunkscope_core::{executor, sim as simulator};
use thunkscope_worker::{MAX_FILE, options, plain, text_or_bytes, thrown};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

/// Panics become readable errors on the console.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// Reads a program from a file's bytes, or from `thunkscope.program/1` as a text or an object.
///
/// # Errors
/// A diagnostic: see `docs/diagnostics.md`.
#[wasm_bindgen(skip_typescript)]
pub fn read(file: &JsValue, how: &JsValue) -> Result<JsValue, JsValue> {
    let read = program(file, &options(how)?).map_err(thrown)?;
    let warnings = serde_json::to_string(&read.warnings).unwrap_or_default();
    plain(&format!(r#"{{"program":{},"warnings":{warnings}}}"#, json::write(&read.program)))
}

/// The report on a program, in the format `thunkscope.explain/1`.
///
/// # Errors
/// As [`read`], and `GR001`, `SM001`.
#[wasm_bindgen(skip_typescript)]
pub fn explain(file: &JsValue, executor: &JsValue) -> Result<JsValue, JsValue> {
    let executor: executor::Options = options(executor)?;
    let read = program(file, &How::default()).map_err(thrown)?;
    let report = Report::new(&read.program, executor).map_err(thrown)?;
    plain(&to_text(&report))
}

/// The event log of a run in virtual time, in the format `thunkscope.log/1`: header and events.
///
/// # Errors
/// As [`read`], and `GR001`, `SM001`, `SM002`.
#[wasm_bindgen(skip_typescript)]
pub fn simulate(file: &JsValue, how: &JsValue) -> Result<JsValue, JsValue> {
    let how: simulator::Options = options(how)?;
    let read = program(file, &How::default()).map_err(thrown)?;
    let log = simulator::run(&read.program, &how).map_err(thrown)?;
    plain(&log_object(&log.to_json_lines()))
}

/// What [`exhibit()`] shows.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Show {
    path: SequencePath,
    /// None: one run for each class of ready queue.
    runs: Option<Vec<simulator::Options>>,
    labels: Vec<String>,
}

/// Everything a page shows of one sequence, in the format `thunkscope.exhibit/1`.
///
/// # Errors
/// As [`simulate`], and `EX003`, `EX004`.
#[wasm_bindgen(skip_typescript)]
pub fn exhibit(file: &JsValue, show: &JsValue) -> Result<JsValue, JsValue> {
    let Show { path, runs, labels } = options(show)?;
    let runs = runs.unwrap_or_else(|| Chapter::runs(&simulator::Options::default()));
    let read = program(file, &How::default()).map_err(thrown)?;
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    plain(&exhibit::build(&read.program, &path, &runs, &labels).map_err(thrown)?.to_json())
}

/// A dump configuration, as people type it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Configuration {
    acl: String,
    env: String,
    options: String,
    program: String,
    scenario: String,
    iterations: u64,
    layout: Option<String>,
}

/// What a dump configuration would write, in the format `thunkscope.dump-check/1`. What is wrong with
/// it is in the report; nobody looks at directories.
///
/// # Errors
/// `AP002` for fields that there are not.
#[wasm_bindgen(skip_typescript)]
pub fn dump_check(configuration: &JsValue) -> Result<JsValue, JsValue> {
    let asked: Configuration = options(configuration)?;
    let layout = match &asked.layout {
        None => Layout::Seed,
        Some(name) => Layout::from_name(name).ok_or_else(|| {
            thrown(Diagnostic::error("AP002", "options.layout", Layout::names()).found(name))
        })?,
    };
    let Configuration { acl, env, options, program, scenario, iterations, .. } = &asked;
    let texts = Texts { acl, env, options, program, scenario, iterations: *iterations, layout };
    let report = check_texts(texts, Context::unseen());
    plain(&serde_json::to_string(&report).unwrap_or_default())
}

/// The report on a run of the simulated device, in the format `thunkscope.sim/1`; with
/// `{ log: true }` also its whole log, as header and events.
///
/// # Errors
/// `AP001` for what is no scenario, `AP002` for options that are none, and those of the scenario (`DX`).
#[wasm_bindgen(skip_typescript)]
pub fn sim(scenario: &JsValue, how: &JsValue) -> Result<JsValue, JsValue> {
    let mut how: serde_json::Map<String, serde_json::Value> = options(how)?;
    let with_log = how.remove("log") == Some(true.into());
    let overrides = Overrides::read(how.into()).map_err(thrown)?;
    let text = text_or_bytes(scenario).map_err(thrown)?;
    let Simulation { document, run, .. } = dfx::simulate(&text, &overrides).map_err(thrown)?;
    let report = serde_json::to_string(&document).unwrap_or_default();
    if !with_log {
        return plain(&report);
    }
    plain(&format!(r#"{{"report":{report},"log":{}}}"#, log_object(&run.log.to_json_lines())))
}

/// What is searched.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    scenario: String,
    fault: Vec<String>,
    memory: String,
    max_states: u64,
    reduction: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        let (scenario, fault) = Default::default();
        Self { scenario, fault, memory: "sc".to_owned(), max_states: 2_000_000, reduction: true }
    }
}

/// Every interleaving of a group of scenarios, in the format `thunkscope.check/1`. A search of many
/// states takes its time: call it in a worker.
///
/// # Errors
/// `AP002` for names that there are not.
#[wasm_bindgen(skip_typescript)]
pub fn check(what: &JsValue) -> Result<JsValue, JsValue> {
    let wanted: Wanted = options(what)?;
    let refused = |place: &str, expected: String, found: &str| {
        thrown(Diagnostic::error("AP002", format!("options.{place}"), expected).found(found))
    };
    let mut faults: Vec<Fault> = Vec::new();
    for name in &wanted.fault {
        faults.push(name.parse().map_err(|why: String| refused("fault", why, name))?);
    }
    let memory = Order::ALL.into_iter().find(|order| order.name() == wanted.memory);
    let memory = memory.ok_or_else(|| refused("memory", "sc or ra".to_owned(), &wanted.memory))?;
    let groups = match wanted.scenario.as_str() {
        "" => standard().into_iter().filter(|group| !group.long).collect(),
        name => named(name).ok_or_else(|| refused("scenario", "a group or a scenario".to_owned(), name))?,
    };
    let limits = Bounds { states: wanted.max_states, reduction: wanted.reduction, ..Bounds::default() };
    let properties = Property::all();
    let mut sweeps: Vec<(&str, Sweep)> = Vec::new();
    for mut group in groups {
        group.scenarios.iter_mut().for_each(|scenario| scenario.run_on(memory, true));
        group.scenarios.retain_mut(|scenario| scenario.apply(&faults, &properties));
        if group.scenarios.is_empty() {
            // Nothing that was asked for is about this group.
            continue;
        }
        let mut sweep = Sweep::new(group.scenarios, limits);
        sweep.finish().map_err(thrown)?;
        let broken = sweep.found().is_some();
        sweeps.push((group.name, sweep));
        if broken {
            break;
        }
    }
    let mut document = Document::new(memory, &faults, &properties, limits, true);
    document.checks = sweeps.iter().map(|(name, sweep)| Line::new(name, sweep)).collect();
    plain(&serde_json::to_string(&document).unwrap_or_default())
}

/// JSON lines as one object: header and events.
fn log_object(lines: &str) -> String {
    let mut lines = lines.lines();
    let header = lines.next().unwrap_or("null");
    let events = lines.collect::<Vec<_>>().join(",");
    format!(r#"{{"header":{header},"events":[{events}]}}"#)
}

/// How a file is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct How {
    /// What the program is called, where the file does not say.
    name: String,
    /// As in [`ReadOptions`].
    lenient: bool,
}

/// The program in a file or an object.
fn program(file: &JsValue, how: &How) -> Result<Imported, Diagnostic> {
    let bytes = text_or_bytes(file)?;
    let limits = Limits { decompressed: MAX_FILE.into(), ..Limits::default() };
    let name = if how.name.is_empty() { "program" } else { &how.name };
    import::read(&bytes, name, &ReadOptions { lenient: how.lenient, limits })
}
