//! The backpressure instrument: a scenario of the simulated device, its lanes and gates on one clock,
//! and what became of every record.

use super::draw::time;
use super::words::{actor, happening};
use super::{AT, Body, Clock, Field, Fields, Lane, MOST, Mark, Panel, Part, Span};
use crate::dfx::{Event, Fault, Gate};
use crate::diagnostic::Diagnostic;
use crate::machine::Ticks;
use crate::sim::dfx::state::{Ledger, Replay, State};
use crate::sim::dfx::{Document, Entry, Overrides, Simulation, simulate};

/// The scenarios that come with the page: id and text.
macro_rules! scenarios {
    ($($id:literal),*) => {
        /// The scenarios that are shipped: id and text, the one that explains most first.
        pub const SCENARIOS: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../../www/scenarios/", $id, ".json")))),*];
    };
}

scenarios!(
    "tight-freeze",
    "tight-drop",
    "tight-per-lane",
    "one-buffer",
    "push-gate",
    "slot-first",
    "arena",
    "host-stall",
    "host-crash",
    "collector-stuck",
    "lost-wakeup",
    "real-a2a3",
    "shadow-a5"
);

/// A run that was made, kept so that another instant of it needs no other run.
pub struct Made {
    asked: Fields,
    told: Vec<Diagnostic>,
    shown: Option<(Document, Replay)>,
}

/// Runs the scenario in `fields`, unless `last` is about the same, and shows one instant of it.
pub fn backpressure(fields: &Fields, last: Option<Made>) -> (Panel, Made) {
    let mut told = Vec::new();
    let pairs = |values: &[(&str, &str)]| -> Vec<(String, String)> {
        values.iter().map(|&(value, label)| (value.to_owned(), label.to_owned())).collect()
    };
    let ids = SCENARIOS.iter().map(|&(id, _)| (id.to_owned(), id.to_owned()));
    let own = ("own".to_owned(), "another one, in JSON".to_owned());
    let scenario = fields.choice(
        ("scenario", "Scenario", "A device, its program, its host and its pools."),
        ids.chain([own]),
        &mut told,
    );
    let text = (scenario.value == "own").then(|| {
        fields.area(
            "own",
            "Its JSON",
            "`thunkscope.scenario/1`; `docs/dfx.md` has every field.",
            12,
            SCENARIOS[0].1,
        )
    });
    let as_it_says = ("", "as the scenario says");
    let policy = fields.choice(
        ("policy", "Policy", "What a lane does that runs out of buffers."),
        pairs(&[as_it_says, ("global-freeze", "global freeze"), ("drop", "drop"), ("per-lane", "per lane")]),
        &mut told,
    );
    let gate = fields.choice(
        ("peer_gate", "Order at the pop gate", "Whether a peer looks at the barrier or at its slot first."),
        pairs(&[as_it_says, ("barrier-first", "barrier first"), ("slot-first", "slot first")]),
        &mut told,
    );
    let faults: Vec<_> = Fault::ALL.iter().map(|fault| (fault.name(), fault.name())).collect();
    let fault = fields.choice(
        ("fault", "Defect", "Put into the protocol beside the scenario’s own."),
        pairs(&[&[("", "none more")], faults.as_slice()].concat()),
        &mut told,
    );
    let seed = fields.area("seed", "Seed", "Of everything random; empty: as the scenario says.", 1, "");
    let asked = fields.without(AT);
    let made = match last.filter(|last| last.asked == asked) {
        Some(made) => made,
        None => {
            let known = SCENARIOS.iter().find(|(id, _)| *id == scenario.value).map(|(_, text)| *text);
            let text = text.as_ref().map_or(known.unwrap_or_default(), |text| &text.value);
            let overrides = Overrides {
                policy: policy.value.parse().ok(),
                peer_gate: gate.value.parse().ok(),
                faults: fault.value.parse().into_iter().collect(),
                seed: number(&seed, &mut told),
                ..Overrides::default()
            };
            let shown = simulate(text.as_bytes(), &overrides).map_err(|error| told.push(error)).ok();
            let shown = shown.map(|Simulation { document, run, .. }| (document, Replay::new(run.log)));
            Made { asked, told, shown }
        }
    };
    let fields_shown = [Some(scenario), text, Some(policy), Some(gate), Some(fault), Some(seed)];
    let mut panel = match &made.shown {
        Some((document, replay)) => panel(fields, document, replay),
        None => {
            Panel { headline: "There is nothing to show of this scenario.".to_owned(), ..Panel::default() }
        }
    };
    panel.fields = fields_shown.into_iter().flatten().collect();
    panel.told.clone_from(&made.told);
    (panel, made)
}

/// A seed, if one is given.
fn number(field: &Field, told: &mut Vec<Diagnostic>) -> Option<u64> {
    let text = field.value.trim();
    if text.is_empty() {
        return None;
    }
    let number = text.parse().ok();
    if number.is_none() {
        told.push(Diagnostic::error("EX006", "seed", "a whole number below 2⁶⁴").found(text));
    }
    number
}

fn panel(fields: &Fields, document: &Document, replay: &Replay) -> Panel {
    let clock = clock(fields, replay);
    let events = &replay.log().events;
    let state = replay.state_at(events.partition_point(|entry| entry.t <= clock.now));
    let mut parts = vec![lanes(document, replay)];
    parts.extend(gates(&state));
    parts.push(pools(&state));
    parts.push(happenings(replay, &clock));
    parts.push(ledger(&state));
    parts.push(costs(document));
    parts.push(invariants(document));
    Panel { headline: headline(document), clock: Some(clock), parts, ..Panel::default() }
}

fn headline(document: &Document) -> String {
    let records = &document.records;
    let blocked: Ticks = document.lanes.iter().map(|lane| lane.blocked_ns).sum();
    let fate = match (document.is_sound(), records.missing) {
        (false, _) => "and an invariant breaks".to_owned(),
        (true, 0) => "none is missing".to_owned(),
        (true, missing) => format!("{missing} are missing, each with its cause"),
    };
    format!(
        "`{}`: {} records written, {} collected, {fate}; lanes stood {} at gates, in {} freezes. {}",
        document.policy,
        records.written,
        records.collected,
        time(blocked),
        document.freezes,
        document.about
    )
}

fn clock(fields: &Fields, replay: &Replay) -> Clock {
    let events = &replay.log().events;
    let end = events.last().map_or(0, |entry| entry.t);
    let mut steps: Vec<Ticks> = events.iter().map(|entry| entry.t).collect();
    steps.dedup();
    let telling = replay.log().dfx().filter(|(_, event)| event.is_interesting());
    let mut marks: Vec<Ticks> = telling.map(|(entry, _)| entry.t).collect();
    marks.dedup();
    // It opens where something is to be seen: a lane at a gate, once the run is well under way.
    let stands = |(_, event): &(&Entry, Event)| matches!(event, Event::Park { .. });
    let after = |from: Ticks| replay.log().dfx().filter(stands).find(move |(entry, _)| entry.t >= from);
    let opening = after(end / 4).or(after(0)).map(|(entry, _)| entry.t);
    let opening = opening.or(marks.first().copied()).unwrap_or(end / 2);
    marks.truncate(MOST);
    let now = fields.get(AT).and_then(|at| at.parse().ok()).unwrap_or(opening).min(end);
    Clock { now, end, counts: false, steps, marks }
}

/// What stands on each lane and core over the whole run: gates where a lane stopped, tasks on cores.
fn lanes(document: &Document, replay: &Replay) -> Part {
    let log = replay.log();
    let end = log.events.last().map_or(0, |entry| entry.t);
    let count = document.lanes.len();
    let mut stops: Vec<Vec<Span>> = vec![Vec::new(); count];
    let mut parked: Vec<Vec<(Gate, crate::dfx::Subsystem, Ticks)>> = vec![Vec::new(); count];
    let mut tasks = vec![(Vec::new(), None); document.cores as usize];
    for (entry, event) in log.dfx() {
        let lane = usize::from(entry.actor.0);
        match event {
            Event::Park { subsystem, gate, .. } if lane < count => {
                parked[lane].push((gate, subsystem, entry.t))
            }
            Event::Resume { subsystem, gate, gave_up } if lane < count => {
                let place = parked[lane].iter().position(|&(at, of, _)| (at, of) == (gate, subsystem));
                if let Some((gate, subsystem, from)) = place.map(|place| parked[lane].remove(place)) {
                    stops[lane].push(stop(gate, subsystem.name(), from, entry.t, gave_up));
                }
            }
            Event::Start { core, node } => {
                if let Some((_, open)) = tasks.get_mut(core as usize) {
                    *open = Some((node, entry.t));
                }
            }
            Event::End { core, .. } => {
                if let Some((spans, open)) = tasks.get_mut(core as usize)
                    && let Some((node, from)) = open.take()
                {
                    spans.push(Span { from, to: entry.t, label: node.to_string(), mark: Mark::On });
                }
            }
            _ => {}
        }
    }
    let mut lanes = Vec::new();
    for (number, (mut spans, still)) in stops.into_iter().zip(parked).enumerate() {
        spans.extend(still.into_iter().map(|(gate, of, from)| stop(gate, of.name(), from, end, true)));
        spans.sort_by_key(|span| span.from);
        spans.truncate(MOST);
        let name = if number + 1 == count { "orchestrator".to_owned() } else { format!("lane {number}") };
        lanes.push(Lane { name, spans });
    }
    for (number, (mut spans, _)) in tasks.into_iter().enumerate().take(16) {
        spans.truncate(MOST);
        lanes.push(Lane { name: format!("core {number}"), spans });
    }
    Part::of("Lanes and cores", Body::Lanes(lanes)).text(
        "Hatched: a lane stands at a gate of one of its subsystems, and sees its cores finish only after it. \
         Below: what each core really ran; start and end there are true.",
    )
}

fn stop(gate: Gate, subsystem: &str, from: Ticks, to: Ticks, gave_up: bool) -> Span {
    let mark = if gave_up { Mark::Bad } else { Mark::Frozen };
    Span { from, to, label: format!("{subsystem}: {} gate", gate_name(gate)), mark }
}

fn gate_name(gate: Gate) -> &'static str {
    match gate {
        Gate::Push => "push",
        Gate::Pop => "pop",
        Gate::Arena => "arena",
    }
}

/// The flags of both gates and the lanes at them, region by region.
fn gates(state: &State) -> [Part; 2] {
    let set = |on: bool| if on { "1" } else { "0" }.to_owned();
    let rows = state.regions.iter().flat_map(|region| {
        [(Gate::Push, "rq", &region.push), (Gate::Pop, "fq", &region.pop)].map(|(gate, name, flags)| {
            let at: Vec<String> = (0..)
                .zip(&region.lanes)
                .filter(|(_, lane)| lane.parked == Some(gate))
                .map(|(n, _): (u32, _)| n.to_string())
                .collect();
            let mark = if flags.freeze_active {
                Mark::Frozen
            } else if flags.contended {
                Mark::On
            } else {
                Mark::Plain
            };
            let stand = if at.is_empty() { "nobody".to_owned() } else { at.join(", ") };
            (
                mark,
                [
                    format!("`{}` {}", region.subsystem.name(), gate_name(gate)),
                    format!("`{name}_freeze_active` {}", set(flags.freeze_active)),
                    format!("`{name}_contended` {}", set(flags.contended)),
                    stand,
                    flags.releases.to_string(),
                ],
            )
        })
    });
    let gates =
        Part::table("Gates", ["gate", "host → device", "device → host", "lanes there", "releases"], rows);
    let queues = state.regions.iter().flat_map(|region| {
        (0..).zip(&region.lanes).filter(|(_, lane)| !lane.queue.is_empty()).map(|(number, lane): (u32, _)| {
            let full = lane.queue.len() as u32 + 1 >= region.ready;
            let entries: Vec<String> =
                lane.queue.iter().map(|(pool, buffer)| format!("{pool}:{buffer}")).collect();
            let mark = if full { Mark::Frozen } else { Mark::On };
            let row = [
                format!("`{}` lane {number}", region.subsystem.name()),
                format!("{} of {}", lane.queue.len(), region.ready.saturating_sub(1)),
                entries.join(" "),
                format!("head {} tail {}", lane.head, lane.tail),
            ];
            (mark, row)
        })
    });
    let queues = Part::table(
        "Ready queues, device to host",
        ["queue", "full", "pool:buffer, oldest first", "indices"],
        queues,
    )
    .text("Queues with nothing in them are left out.");
    [gates, queues]
}

fn pools(state: &State) -> Part {
    let rows = state.regions.iter().flat_map(|region| {
        (0..).zip(&region.pools).map(|(number, pool): (u32, _)| {
            let holders: Vec<String> = pool
                .buffers
                .iter()
                .map(|buffer| format!("{} ({})", buffer.owner.name(), buffer.records))
                .collect();
            let free = pool.tail.wrapping_sub(pool.head);
            let mark = if free == 0 { Mark::Frozen } else { Mark::Plain };
            let row = [
                format!("`{}` {number}: {}", region.subsystem.name(), pool.kind.name()),
                format!("{free} of {}", pool.slots),
                holders.join(", "),
                pool.ledger.written.to_string(),
                pool.ledger.in_flight().to_string(),
                pool.ledger.collected.to_string(),
            ];
            (mark, row)
        })
    });
    Part::table(
        "Pools",
        ["pool", "free queue", "buffers: who holds them (records)", "written", "on their way", "collected"],
        rows,
    )
}

/// The last events up to now, newest first.
fn happenings(replay: &Replay, clock: &Clock) -> Part {
    let events = &replay.log().events;
    let done = events.partition_point(|entry| entry.t <= clock.now);
    let rows = events[..done].iter().rev().take(14).map(|entry| {
        let mark = if entry.t == clock.now { Mark::On } else { Mark::Plain };
        (mark, [time(entry.t), actor(entry.actor.0), happening(&entry.kind)])
    });
    Part::table("What happened last", ["when", "who", "what"], rows)
        .text(format!("{done} of {} events.", events.len()))
}

fn ledger(state: &State) -> Part {
    let all = || state.regions.iter().flat_map(|region| &region.pools).map(|pool| &pool.ledger);
    let sum = |of: fn(&Ledger) -> u32| all().map(|ledger| u64::from(of(ledger))).sum::<u64>();
    let (written, collected) = (sum(|ledger| ledger.written), sum(|ledger| ledger.collected));
    let lost = sum(|ledger| ledger.dropped) + sum(|ledger| ledger.lost);
    let balance = all().all(Ledger::balances);
    let fact = |name: &str, n: u64| (Mark::Plain, name.to_owned(), n.to_string());
    Part::facts(
        "Ledger, now",
        [
            fact("written", written),
            fact("being filled", sum(|ledger| ledger.active)),
            fact("published", sum(|ledger| ledger.published)),
            fact("at the host", sum(|ledger| ledger.at_host)),
            fact("collected", collected),
            (if lost > 0 { Mark::Bad } else { Mark::Plain }, "missing".to_owned(), lost.to_string()),
            (
                if balance { Mark::Plain } else { Mark::Bad },
                "balances".to_owned(),
                if balance { "in every pool" } else { "no" }.to_owned(),
            ),
        ],
    )
    .aside()
}

fn costs(document: &Document) -> Part {
    let fact = |name: &str, value: String| (Mark::Plain, name.to_owned(), value);
    let causes = document
        .records
        .causes
        .0
        .iter()
        .map(|(cause, n)| (Mark::Bad, format!("missing: {}", cause.name()), n.to_string()));
    let blocked: Ticks = document.lanes.iter().map(|lane| lane.blocked_ns).sum();
    let facts = [
        fact("records lost", document.records.missing.to_string()),
        fact("blocked, all lanes", time(blocked)),
        fact("lanes disturbed", format!("{} of {}", document.lanes_disturbed, document.lanes.len())),
        fact("recorded finish too late, median", time(document.finish_error_ns.median)),
        fact("95th percentile", time(document.finish_error_ns.p95)),
        fact(
            "lanes in the wrong order of load",
            format!("{} of {} pairs", document.wrong_ranks.pairs, document.wrong_ranks.of),
        ),
        fact("makespan", time(document.makespan_ns)),
    ];
    Part::facts("What the policy costs", facts.into_iter().chain(causes))
        .text("Of the whole run: change the policy and compare.")
        .aside()
}

fn invariants(document: &Document) -> Part {
    let rows = document.invariants.iter().map(|verdict| {
        let (mark, stand) = match &verdict.broken {
            Some(broken) => (Mark::Bad, format!("broken: {broken}")),
            None => (Mark::Plain, format!("held {} times", verdict.judged)),
        };
        (mark, [verdict.invariant.clone(), verdict.says.to_owned(), stand])
    });
    Part::table("Invariants", ["invariant", "what it says", "in this run"], rows).aside()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::shown::Shown;

    #[track_caller]
    fn check(fields: &[(&str, &str)], headline: &str) -> Panel {
        let fields = Fields::new(fields.iter().map(|&(id, text)| (id.to_owned(), text.to_owned())));
        let (panel, made) = backpressure(&fields, None);
        assert!(panel.headline.starts_with(headline), "{}", panel.headline);
        let shown = panel.shown();
        assert_eq!(Shown::from_bytes(&shown.to_bytes()), Ok(shown));
        // Another look needs no other run.
        assert_eq!(backpressure(&fields, Some(made)).0, panel);
        panel
    }

    #[test]
    fn every_shipped_scenario_is_shown() {
        for &(id, _) in SCENARIOS {
            let panel = check(&[("scenario", id)], "`");
            assert_eq!(panel.told, [], "{id}");
            assert!(
                panel.clock.is_some_and(|clock| clock.now <= clock.end && !clock.steps.is_empty()),
                "{id}"
            );
        }
    }

    #[test]
    fn a_policy_can_be_compared() {
        let lost = |policy| check(&[("policy", policy)], &format!("`{policy}`")).headline;
        assert!(lost("global-freeze").contains("none is missing"));
        assert!(lost("drop").contains("are missing, each with its cause"));
    }

    #[test]
    fn mistakes_are_told() {
        let told = |fields: &[(&str, &str)], headline| -> Vec<String> {
            check(fields, headline)
                .told
                .iter()
                .map(|told| format!("{} at {}", told.code, told.path))
                .collect()
        };
        assert_eq!(told(&[("seed", "x")], "`"), ["EX006 at seed"]);
        assert_eq!(
            told(&[("scenario", "own"), ("own", "{")], "There is nothing"),
            ["DX001 at line 1 column 1"]
        );
        assert_eq!(told(&[("policy", "hope")], "`"), ["EX006 at policy"]);
    }
}
