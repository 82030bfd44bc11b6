//! `thunkscope check`: can it ever go wrong?

use std::fmt::Write as _;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::executor::Queue;
use thunkscope_core::explore::document::{Document, Line, named};
use thunkscope_core::explore::memory::Order;
use thunkscope_core::explore::{Fault, Group, Limit, Limits, Property, Scenario, Sweep, executor, standard};
use thunkscope_core::import::ReadOptions;
use thunkscope_core::machine::Job;
use thunkscope_core::sim::dfx::Kind;

use crate::Outcome;
use crate::input;
use crate::print::{err, name, out, out_json, paragraph};

const HELP: &str = "\
Every interleaving of the executor and of the transport that this program and the page run is looked
at, one access to shared memory at a time. Without a scenario, the standard set is checked; `--list`
names its groups. A defect or a property is looked at where it belongs: the others are left out.

Defects to try:
  thunkscope check --fault decrement-before-increment
  thunkscope check --fault inexact-cap
  thunkscope check --fault pop-wait-unbounded
  thunkscope check --fault clear-before-open
  thunkscope check collectives --fault no-scheduling-edges --property no-deadlock --log deadlock.jsonl";

/// What `check` is asked for.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// A group of the standard set, one scenario of it by its whole name, or a file with a program
    /// of at most 12 thunks.
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Put this defect in. May be given several times.
    #[arg(long, value_name = "NAME")]
    fault: Vec<Fault>,
    /// Look at this property and no other. May be given several times.
    #[arg(long, value_name = "NAME")]
    property: Vec<Property>,
    /// Memory: sc (sequential consistency) or ra (release and acquire).
    #[arg(long, default_value = "sc", value_name = "MODEL", value_parser = memory)]
    memory: Order,
    /// Most states of one scenario; what is beyond is not looked at, and the answer says so.
    #[arg(long, default_value_t = Limits::default().states, value_name = "N")]
    max_states: u64,
    /// Most memory for one scenario, in MiB.
    #[arg(long, default_value_t = Limits::default().bytes >> 20, value_name = "MIB")]
    max_memory: u64,
    /// Check the groups that take minutes as well.
    #[arg(long)]
    long: bool,
    /// Follow every order of steps, also where nobody could tell them apart.
    #[arg(long)]
    no_reduction: bool,
    /// Tell equal threads apart.
    #[arg(long)]
    no_symmetry: bool,
    /// Class of the ready queues, for a program of yours; all three if not given.
    #[arg(long, value_name = "CLASS")]
    queue: Option<Queue>,
    /// Threads beside the caller, for a program of yours.
    #[arg(long, default_value_t = 2, value_name = "N")]
    threads: u8,
    /// Most workers beside the caller, for a program of yours.
    #[arg(long, default_value_t = 4, value_name = "N")]
    workers: u32,
    /// Ready thunks beyond which a worker splits its queue, for a program of yours.
    #[arg(long, default_value_t = 0, value_name = "N")]
    split_threshold: u32,
    /// Processes whose collectives wait for each other, for a program of yours: 1 or 2.
    #[arg(long, default_value_t = 1, value_name = "N")]
    ranks: u8,
    /// Write the counterexample's event log there; the page opens it.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Print everything as JSON (thunkscope.check/1).
    #[arg(long)]
    json: bool,
    /// Name the groups of the standard set and end.
    #[arg(long)]
    list: bool,
}

fn memory(text: &str) -> Result<Order, String> {
    let found = Order::ALL.into_iter().find(|order| order.name() == text);
    found.ok_or_else(|| format!("`{text}` is neither sc nor ra"))
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.list {
        let line = |group: &Group| {
            let long = if group.long { ", with --long" } else { "" };
            paragraph(
                &format!("{:<14}", group.name),
                &format!("{} ({} scenarios{long})", group.about, group.scenarios.len()),
            )
        };
        return out(&standard().iter().map(line).collect::<String>());
    }
    let groups = match groups(arguments) {
        Ok(groups) => groups,
        Err(error) => {
            err(&error);
            return Outcome::Unreadable;
        }
    };
    match check(arguments, groups) {
        Ok(outcome) => outcome,
        Err(error) => {
            err(&error.to_string());
            Outcome::Unreadable
        }
    }
}

/// What to check, by name.
fn groups(arguments: &Arguments) -> Result<Vec<(String, Vec<Scenario>)>, String> {
    let named_groups = |groups: Vec<Group>| {
        groups.into_iter().map(|group| (group.name.to_owned(), group.scenarios)).collect()
    };
    let Some(scenario) = &arguments.scenario else {
        let mut groups = standard();
        groups.retain(|group| arguments.long || !group.long);
        return Ok(named_groups(groups));
    };
    if let Some(groups) = named(scenario) {
        return Ok(named_groups(groups));
    }
    let path = Path::new(scenario);
    if !path.exists() {
        return Err(format!(
            "`{scenario}` is no group, no scenario and no file; see `thunkscope check --list`"
        ));
    }
    let mut found = input::read_all(&[path.to_owned()], &ReadOptions::default());
    if let Some((path, error)) = found.errors.first() {
        return Err(format!("{}: {error}", name(path)));
    }
    let Some((_, imported)) = found.programs.pop() else { return Err(format!("{}: no program", name(path))) };
    let of = |queue: Queue| executor::Scenario {
        name: format!("{} {queue}", imported.program.name),
        queue,
        threads: arguments.threads,
        max_workers: arguments.workers,
        split_threshold: arguments.split_threshold,
        ranks: arguments.ranks,
        ..executor::Scenario::new(imported.program.clone())
    };
    let queues = arguments.queue.map_or(Queue::ALL.to_vec(), |queue| vec![queue]);
    Ok(vec![(imported.program.name.clone(), queues.into_iter().map(|queue| of(queue).into()).collect())])
}

fn check(arguments: &Arguments, groups: Vec<(String, Vec<Scenario>)>) -> Result<Outcome, Diagnostic> {
    let limits = Limits {
        states: arguments.max_states,
        bytes: arguments.max_memory << 20,
        reduction: !arguments.no_reduction,
    };
    let properties = if arguments.property.is_empty() { Property::all() } else { arguments.property.clone() };
    let mut sweeps: Vec<(String, Sweep)> = Vec::new();
    let mut broken = false;
    for (name, mut scenarios) in groups {
        scenarios.iter_mut().for_each(|scenario| scenario.run_on(arguments.memory, !arguments.no_symmetry));
        scenarios.retain_mut(|scenario| scenario.apply(&arguments.fault, &properties));
        if arguments.scenario.is_none() {
            scenarios
                .retain(|scenario| arguments.memory == Order::Sc || !matches!(scenario, Scenario::Dfx(_)));
        }
        if scenarios.is_empty() {
            // Nothing that was asked for is about this group.
            continue;
        }
        let start = Instant::now();
        let mut sweep = Sweep::new(scenarios, limits);
        let mut bar = None;
        while sweep.run(SLICE)? != Job::Done {
            show(&mut bar, &name, &sweep, start);
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        if !arguments.json {
            out(&line(&name, &sweep, start));
        }
        broken = sweep.found().is_some();
        sweeps.push((name, sweep));
        if broken {
            break;
        }
    }
    let mut outcome = if broken { Outcome::Finding } else { Outcome::Fine };
    if arguments.json {
        let mut document =
            Document::new(arguments.memory, &arguments.fault, &properties, limits, !arguments.no_symmetry);
        document.checks = sweeps.iter().map(|(name, sweep)| Line::new(name, sweep)).collect();
        outcome = outcome.max(out_json(&document));
    }
    if let (Some((_, found)), Some(path)) =
        (sweeps.last().and_then(|(_, sweep)| sweep.found()), &arguments.log)
        && let Err(error) = fs::write(path, found.log.to_json_lines())
    {
        err(&format!("{}: {error}", name(path)));
        outcome = Outcome::Unreadable;
    }
    Ok(outcome)
}

/// States between two looks at the clock.
const SLICE: u64 = 20_000;

/// What takes longer shows how far it is.
const LONG: Duration = Duration::from_secs(1);

fn show(bar: &mut Option<ProgressBar>, name: &str, sweep: &Sweep, start: Instant) {
    if start.elapsed() < LONG || !std::io::stderr().is_terminal() {
        return;
    }
    let bar = bar.get_or_insert_with(|| {
        let style = ProgressStyle::with_template("{elapsed} {msg}");
        ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
    });
    let totals = sweep.totals();
    let current = sweep.current();
    let states = totals.states + current.as_ref().map_or(0, |report| report.states);
    let depth = current.map_or(0, |report| report.depth);
    bar.set_message(format!("{name}: {} scenarios done, {states} states, depth {depth}", totals.scenarios));
    bar.tick();
}

/// One group, for people.
fn line(name: &str, sweep: &Sweep, start: Instant) -> String {
    let totals = sweep.totals();
    let seconds = start.elapsed().as_secs_f64();
    let verdict = match (sweep.found(), totals.limit) {
        (Some(_), _) => "BROKEN",
        (None, None) => "clean",
        (None, Some(_)) => "not exhaustive",
    };
    let mut text = format!(
        "{name:<14} {verdict}: {} scenarios, {} states, {} steps, depth {}, {seconds:.1} s\n",
        totals.scenarios, totals.states, totals.transitions, totals.depth
    );
    if let Some(limit) = totals.limit {
        let why = match limit {
            Limit::States => "--max-states",
            Limit::Bytes => "--max-memory",
            Limit::Stopped => "stopped",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {} scenarios were not looked at to the end ({why}); all states up to depth {} were, at least.",
            totals.unfinished,
            totals.covered.unwrap_or(0)
        );
    }
    if let Some((scenario, found)) = sweep.found() {
        let what = format!(
            "{}: {}, after {} steps of `{}`.",
            found.property,
            found.what,
            found.steps,
            scenario.name()
        );
        text += &paragraph("  ", &what);
        for event in &found.log.events {
            let kind = serde_json::to_string(&event.kind).unwrap_or_default();
            let _ = writeln!(text, "    {:>4}  {:<8} {}", event.t, actor(event.actor.0, &event.kind), kind);
        }
    }
    text
}

/// Who did it, as the log numbers them.
fn actor(actor: u16, kind: &Kind) -> String {
    match (actor, kind) {
        (u16::MAX, Kind::Executor(_)) => "events".to_owned(),
        (u16::MAX, Kind::Other(_)) => "world".to_owned(),
        (0x2000.., _) => format!("host {}", actor - 0x2000),
        _ => format!("lane {actor}"),
    }
}
