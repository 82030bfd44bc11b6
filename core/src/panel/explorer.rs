//! The explorer as an instrument: pick a set of scenarios and a defect, and see every interleaving
//! searched; what breaks is played step by step.

use super::words::{actor, happening};
use super::{AT, Body, Clock, Field, Fields, Lane, MOST, Mark, Panel, Part, Span};
use crate::diagnostic::Diagnostic;
use crate::explore::memory::Order;
use crate::explore::{Counterexample, Fault, Group, Limits, Property, Sweep, dfx, executor, standard};
use crate::machine::Job;
use crate::sim::dfx::{Entry, Kind};
use crate::trace::{Actor, EventKind};

/// States of one scenario, at most: some hundred MB.
const MOST_STATES: u64 = 3_000_000;
const MOST_BYTES: u64 = 600 << 20;

/// States between two pauses: some ms.
const SLICE: u64 = 2_000;

/// Defects in words; the others weaken one side of a memory ordering, and their names say which.
const FAULTS: [(&str, &str); 3] = [
    ("decrement-before-increment", "a completion is counted down before it is counted up"),
    ("inexact-cap", "the worker cap is read, then added to"),
    ("no-scheduling-edges", "communicators give no scheduling edges"),
];

/// What is offered: value and label, no defect first.
fn faults() -> impl Iterator<Item = (String, String)> {
    let none = (String::new(), "none: the code as it ships".to_owned());
    let executor = executor::Fault::all().into_iter().map(Fault::Executor);
    let transport = crate::dfx::Fault::ALL.into_iter().map(Fault::Dfx);
    let weakened = dfx::Weaken::all().map(Fault::Weaken);
    [none].into_iter().chain(executor.chain(transport).chain(weakened).map(|fault| {
        let name = fault.to_string();
        let label = FAULTS.iter().find(|(known, _)| *known == name).map_or(name.as_str(), |(_, label)| label);
        let label = label.to_owned();
        (name, label)
    }))
}

/// A search that was made, kept so that another instant of its counterexample needs no other search.
pub struct Search {
    asked: Fields,
    sweep: Sweep,
}

/// Searches, unless `last` was about the same, and shows what was found. `pause` is awaited now and
/// then; its error ends the search.
///
/// # Errors
/// That of `pause`, and what a scenario is refused for.
pub async fn explorer(
    fields: &Fields,
    last: Option<Search>,
    mut pause: impl AsyncFnMut(Job) -> Result<(), Diagnostic>,
) -> Result<(Panel, Search), Diagnostic> {
    let mut told = Vec::new();
    let groups: Vec<_> = standard().into_iter().filter(|group| !group.long).collect();
    let every = (String::new(), "all that take seconds".to_owned());
    let named = |group: &Group| (group.name.to_owned(), format!("{}: {}", group.name, group.about));
    let names = [every].into_iter().chain(groups.iter().map(named));
    let fault = fields.choice(
        ("fault", "Defect", "Put into the machine before it is searched. Those that weaken an ordering show under release and acquire alone."),
        faults(),
        &mut told,
    );
    let group = fields.choice(("scenarios", "Scenarios", "What is run in every order."), names, &mut told);
    let orders = Order::ALL.map(|order| {
        let label = match order.name() {
            "sc" => "sequentially consistent",
            _ => "release and acquire, with stale reads",
        };
        (order.name().to_owned(), label.to_owned())
    });
    let memory = fields.choice(("memory", "Memory", "What a load may return."), orders, &mut told);
    let reductions = [("on", "on"), ("off", "off: every order of independent steps")];
    let reduction = fields.choice(
        ("reduction", "Partial-order reduction", "Verdicts are the same with it and without."),
        reductions.map(|(value, label)| (value.to_owned(), label.to_owned())),
        &mut told,
    );
    let asked = fields.without(AT);
    let search = match last.filter(|last| last.asked == asked) {
        Some(search) => search,
        None => {
            let faults: Vec<Fault> = fault.value.parse().into_iter().collect();
            // Of the machine that has the defect; the executor if there is none.
            let transport = matches!(faults.first(), Some(Fault::Dfx(_) | Fault::Weaken(_)));
            let chosen = groups.iter().filter(|one| match group.value.as_str() {
                "" => one.name.starts_with("dfx") == transport,
                name => one.name == name,
            });
            let order = Order::ALL.into_iter().find(|order| order.name() == memory.value).unwrap_or_default();
            let mut scenarios: Vec<_> = chosen.flat_map(|group| group.scenarios.iter().cloned()).collect();
            scenarios.iter_mut().for_each(|scenario| scenario.run_on(order, true));
            scenarios.retain_mut(|scenario| scenario.apply(&faults, &Property::all()));
            if scenarios.is_empty() && !faults.is_empty() {
                told.push(
                    Diagnostic::warning("EX006", "fault", "a defect of what these scenarios run")
                        .found(&fault.value)
                        .hint(
                            "choose other scenarios: those whose names begin with dfx are of the transport",
                        ),
                );
            }
            let limits =
                Limits { states: MOST_STATES, bytes: MOST_BYTES, reduction: reduction.value == "on" };
            let mut sweep = Sweep::new(scenarios, limits);
            loop {
                let job = sweep.run(SLICE)?;
                if job == Job::Done {
                    break;
                }
                pause(job).await?;
            }
            Search { asked, sweep }
        }
    };
    let fields_shown = vec![fault, group, memory, reduction];
    let panel = panel(fields, fields_shown, told, &search.sweep);
    Ok((panel, search))
}

fn panel(asked: &Fields, fields: Vec<Field>, told: Vec<Diagnostic>, sweep: &Sweep) -> Panel {
    let totals = sweep.totals();
    // Groups of the transport are named so.
    let of_transport = match asked.get("scenarios").unwrap_or_default() {
        "" => asked
            .get("fault")
            .is_some_and(|fault| matches!(fault.parse(), Ok(Fault::Dfx(_) | Fault::Weaken(_)))),
        name => name.starts_with("dfx"),
    };
    let count = |name: &str, n: u64| (Mark::Plain, name.to_owned(), n.to_string());
    let mut parts = vec![
        Part::facts(
            "What was looked at",
            [
                count("scenarios", totals.scenarios),
                count("states", totals.states),
                count("steps from one to another", totals.transitions),
                count("depth", totals.depth.into()),
                count("most states of one scenario", totals.most),
                count("scenarios not looked at to the end", totals.unfinished),
            ],
        )
        .aside(),
        Part::table(
            "What must hold",
            ["property", "in words"],
            Property::all().into_iter().filter(|of| matches!(of, Property::Dfx(_)) == of_transport).map(
                |property| {
                    let broken =
                        sweep.found().is_some_and(|(_, found)| found.property == property.to_string());
                    let mark = if broken { Mark::Bad } else { Mark::Plain };
                    (mark, [format!("`{property}`"), property.about().to_owned()])
                },
            ),
        )
        .aside(),
    ];
    let (headline, clock) = match sweep.found() {
        Some((scenario, found)) => {
            let clock = clock(asked, &found.log.events);
            parts.extend(counterexample(found, &clock));
            let headline = format!(
                "`{}` breaks after {} steps of `{}`: {}.",
                found.property,
                found.steps,
                scenario.name(),
                found.what
            );
            (headline, Some(clock))
        }
        None if totals.unfinished > 0 => (
            format!(
                "Nothing breaks in {} states; {} scenarios were not looked at to the end, but everything up to depth {} was.",
                totals.states,
                totals.unfinished,
                totals.covered.unwrap_or(0)
            ),
            None,
        ),
        None => (
            format!(
                "Nothing can go wrong here: all {} states of {} scenarios were looked at, and every property holds in each.",
                totals.states, totals.scenarios
            ),
            None,
        ),
    };
    Panel { fields, headline, told, clock, parts }
}

/// The steps of a counterexample are its time.
fn clock(asked: &Fields, events: &[Entry]) -> Clock {
    let end = events.last().map_or(0, |event| event.t);
    let mut steps: Vec<_> = events.iter().map(|event| event.t).collect();
    steps.dedup();
    let now = asked.get(AT).and_then(|at| at.parse().ok()).unwrap_or(end).min(end);
    Clock { now, end, counts: true, steps, marks: vec![end] }
}

fn counterexample(found: &Counterexample, clock: &Clock) -> [Part; 2] {
    let events = &found.log.events;
    let mut actors: Vec<Actor> = events.iter().map(|event| event.actor).collect();
    actors.sort_unstable();
    actors.dedup();
    let lanes = actors.into_iter().map(|who| {
        let spans = events.iter().filter(|event| event.actor == who).take(MOST).map(|event| Span {
            from: event.t,
            to: event.t + 1,
            label: happening(&event.kind),
            mark: if matches!(event.kind, Kind::Executor(EventKind::Broken { .. })) {
                Mark::Bad
            } else {
                Mark::On
            },
        });
        Lane { name: actor(who.0), spans: spans.collect() }
    });
    let lanes = Part::of("Who took which step", Body::Lanes(lanes.collect()))
        .text("A step is one access to shared memory; its number is its time.");
    let rows = events.iter().map(|event| {
        let mark = match (&event.kind, event.t > clock.now) {
            (_, true) => Mark::Off,
            (Kind::Executor(EventKind::Broken { .. }), _) => Mark::Bad,
            _ if event.t == clock.now => Mark::On,
            _ => Mark::Plain,
        };
        (mark, [event.t.to_string(), actor(event.actor.0), happening(&event.kind)])
    });
    [lanes, Part::table("The counterexample", ["step", "who", "what"], rows)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slices::run_through;

    #[track_caller]
    fn check(fields: &[(&str, &str)], headline: &str) -> Panel {
        let fields = Fields::new(fields.iter().map(|&(id, text)| (id.to_owned(), text.to_owned())));
        let shown = run_through(explorer(&fields, None, async |_| Ok(())));
        let (panel, _) = shown.expect("is searched");
        assert!(panel.headline.starts_with(headline), "{}", panel.headline);
        assert_eq!(panel.told, []);
        panel
    }

    #[test]
    fn the_code_as_it_ships_is_clean() {
        check(&[], "Nothing can go wrong here: all ");
    }

    #[test]
    fn a_defect_is_found_and_can_be_played() {
        let defect = ("fault", "decrement-before-increment");
        let panel = check(&[defect], "`event-once` breaks after ");
        let clock = panel.clock.expect("a counterexample");
        assert_eq!(clock.now, clock.end);
        assert!(clock.steps.len() > 3);
        let earlier = check(&[defect, (AT, "1")], "`event-once` breaks after ");
        assert_eq!(earlier.clock.expect("a counterexample").now, 1);
        check(&[("fault", "inexact-cap"), ("scenarios", "cap")], "`worker-cap` breaks after ");
        check(&[("fault", "no-scheduling-edges"), ("scenarios", "collectives")], "`");
    }

    #[test]
    fn the_transport_is_searched_as_well() {
        check(&[("scenarios", "dfx-flags")], "Nothing can go wrong here: all ");
        let panel = check(
            &[("scenarios", "dfx-one-lane"), ("fault", "pop-wait-unbounded")],
            "`bounded` breaks after ",
        );
        assert!(panel.clock.is_some());
        let fields = [("scenarios", "dfx-flags"), ("fault", "inexact-cap")];
        let fields = Fields::new(fields.map(|(id, text)| (id.to_owned(), text.to_owned())));
        let (panel, _) = run_through(explorer(&fields, None, async |_| Ok(()))).expect("is searched");
        assert_eq!(panel.told.iter().map(|told| told.path.as_str()).collect::<Vec<_>>(), ["fault"]);
    }

    #[test]
    fn another_instant_needs_no_other_search() {
        let fields = Fields::new([("fault".to_owned(), "decrement-before-increment".to_owned())]);
        let (_, search) = run_through(explorer(&fields, None, async |_| Ok(()))).expect("is searched");
        let at = Fields::new([
            ("fault".to_owned(), "decrement-before-increment".to_owned()),
            (AT.into(), "2".into()),
        ]);
        let refused = async |_| Err(Diagnostic::error("EX005", "request", "no cancel"));
        let (panel, search) = run_through(explorer(&at, Some(search), refused)).expect("is there");
        assert_eq!(panel.clock.map(|clock| clock.now), Some(2));
        let other = Fields::new([("fault".to_owned(), "inexact-cap".to_owned())]);
        let refused = async |_| Err(Diagnostic::error("EX005", "request", "no cancel"));
        assert!(run_through(explorer(&other, Some(search), refused)).is_err());
    }
}
