//! `thunkscope sim`: a scenario on the simulated device.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use thunkscope_core::dfx::{Fault, PeerGate, Policy};
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::sim::dfx::{self, Document, Outcome as Ended, Overrides, Records, Simulation};

use crate::Outcome;
use crate::input::read_file;
use crate::print::{err, name, out, out_json};

/// What `sim` is asked for.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A scenario (thunkscope.scenario/1); docs/dfx.md has its fields, www/scenarios has examples.
    #[arg(value_name = "SCENARIO")]
    path: PathBuf,
    /// Another policy: drop, global-freeze or per-lane.
    #[arg(long)]
    policy: Option<Policy>,
    /// Another order at the pop gate: barrier-first or slot-first.
    #[arg(long, value_name = "ORDER")]
    peer_gate: Option<PeerGate>,
    /// Switch on a defect of the real code; may be given several times.
    #[arg(long, value_name = "NAME")]
    fault: Vec<Fault>,
    /// Switch off the scenario's own faults first.
    #[arg(long)]
    no_faults: bool,
    /// Another seed.
    #[arg(long)]
    seed: Option<u64>,
    /// The sizes of another device: a2a3, a5 or custom.
    #[arg(long, value_parser = ["a2a3", "a5", "custom"])]
    profile: Option<String>,
    /// Write logs, ledger and all artifacts into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print every pool of the ledger.
    #[arg(long)]
    ledger: bool,
    /// Print the report as JSON (thunkscope.sim/1).
    #[arg(long)]
    json: bool,
}

/// Runs the command. Records that are missing, payloads that were not written, a ledger that does not balance and an invariant that
/// is broken are findings.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let overrides = Overrides {
        policy: arguments.policy,
        peer_gate: arguments.peer_gate,
        no_faults: arguments.no_faults,
        faults: arguments.fault.clone(),
        seed: arguments.seed,
        profile: arguments.profile.clone(),
    };
    let simulation = match read_file(&arguments.path).and_then(|text| dfx::simulate(&text, &overrides)) {
        Ok(simulation) => simulation,
        Err(error) => return fail(&arguments.path, &error),
    };
    if let Some(folder) = &arguments.out
        && let Err(error) = write(folder, &simulation)
    {
        return fail(folder, &error);
    }
    let document = &simulation.document;
    let printed = if arguments.json { out_json(document) } else { out(&text(&simulation, arguments.ledger)) };
    printed.max(match document.outcome {
        Ended::Complete if document.is_sound() && document.payloads_unwritten == 0 => Outcome::Fine,
        _ => Outcome::Finding,
    })
}

fn fail(path: &Path, error: &Diagnostic) -> Outcome {
    err(&format!("{}: {error}", name(path)));
    Outcome::Unreadable
}

fn write(folder: &Path, simulation: &Simulation) -> Result<(), Diagnostic> {
    for file in dfx::files(&simulation.scenario, &simulation.run) {
        let path = folder.join(&file.path);
        let result =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &file.bytes));
        result.map_err(|error| {
            Diagnostic::error("FS005", file.path.clone(), "a folder that can be written").found(error)
        })?;
    }
    Ok(())
}

fn text(simulation: &Simulation, ledger: bool) -> String {
    let Simulation { scenario, run, document } = simulation;
    let Document { records, lanes, finish_error_ns: late, wrong_ranks, .. } = document;
    let mut text = format!("{} · {} · {}", document.scenario, document.policy, document.profile);
    // Writing to a string cannot fail.
    let _ = writeln!(text, " · {} lanes, {} cores", scenario.lanes, scenario.cores);
    if !document.about.is_empty() {
        let _ = writeln!(text, "  {}", document.about);
    }
    if !document.faults.is_empty() {
        let names: Vec<_> = document.faults.iter().map(|fault| fault.name()).collect();
        let _ = writeln!(text, "  faults: {}", names.join(", "));
    }
    let ended = match document.outcome {
        Ended::Complete => "nothing is missing",
        Ended::Missing => "records are missing, each with a cause",
        Ended::Unbalanced => "the ledger does not balance",
    };
    let Records { written, collected, missing, causes } = records;
    let _ = writeln!(text, "  records: {written} written, {collected} collected, {missing} missing: {ended}");
    for (cause, n) in &causes.0 {
        let _ = writeln!(text, "    {n} {}", cause.name());
    }
    if document.payloads_unwritten > 0 {
        let _ = writeln!(text, "  payloads: {} could not be written", document.payloads_unwritten);
    }
    for (index, lane) in lanes.iter().enumerate() {
        let what = if index + 1 == lanes.len() { " (orchestrator)" } else { "" };
        let _ = writeln!(text, "  lane {index}{what}: stopped {} times, {} ns", lane.stops, lane.blocked_ns);
    }
    let _ = writeln!(
        text,
        "  {} freezes, {} of {} lanes stopped",
        document.freezes,
        document.lanes_disturbed,
        lanes.len()
    );
    let _ = writeln!(
        text,
        "  recorded finish after the core's own end: median {} ns, 95 % {} ns, at most {} ns",
        late.median, late.p95, late.max
    );
    let _ = writeln!(
        text,
        "  lanes ranked by their records: {} of {} pairs the wrong way round",
        wrong_ranks.pairs, wrong_ranks.of
    );
    let _ = writeln!(
        text,
        "  makespan {} ns, {} steps of host threads",
        document.makespan_ns, document.host_steps
    );
    let broken: Vec<_> = document.invariants.iter().filter(|verdict| verdict.broken.is_some()).collect();
    if broken.is_empty() {
        let judged = document.invariants.iter().filter(|verdict| verdict.judged > 0).count();
        let _ = writeln!(text, "  invariants: {judged} of {} judged, all hold", document.invariants.len());
    }
    for verdict in broken {
        let what = verdict.broken.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "  {} is broken by seed {} ({}): {what}",
            verdict.invariant, document.seed, verdict.says
        );
    }
    if ledger {
        for ledger in &run.ledgers {
            for line in &ledger.lines {
                let _ = writeln!(
                    text,
                    "  {:12} {:12} {:3}: {} written = {} collected + {} in flight + {} dropped + {} lost{}",
                    ledger.subsystem,
                    line.kind,
                    line.owner,
                    line.written,
                    line.collected,
                    line.in_flight,
                    line.dropped,
                    line.lost,
                    if line.balances() { "" } else { "  DOES NOT BALANCE" }
                );
            }
        }
    }
    text
}
