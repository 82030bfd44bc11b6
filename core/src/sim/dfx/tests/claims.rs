//! What the shipped scenarios say of themselves is what happens, and their logs stay what they are.

use std::fmt::Write as _;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::super::*;
use super::SHIPPED;
use crate::dfx::{Cause, Event, Fault, Gate, PeerGate, Policy};

/// What a log tells, counted.
#[derive(Debug, Default)]
struct Facts {
    /// By gate: push, pop.
    opens: [u32; 2],
    /// By gate: push, pop, arena.
    parks: [u32; 3],
    /// Buffers claimed while the pop gate was closed.
    claims_in_freeze: u32,
    silent: u32,
    heard: u32,
    /// The longest freeze, in ns.
    longest: u64,
    /// Laps of the fullest arena.
    laps: u64,
    /// Records collected after the last lane trusted the host again.
    after_heard: u32,
}

impl Facts {
    fn of(simulation: &Simulation) -> Self {
        let mut facts = Self::default();
        let mut open = std::collections::BTreeMap::new();
        for (entry, event) in simulation.run.log.dfx() {
            match event {
                Event::Open { subsystem, gate } => {
                    facts.opens[usize::from(gate != Gate::Push)] += 1;
                    open.insert((subsystem, gate), entry.t);
                }
                Event::Release { subsystem, gate } => {
                    let began = open.remove(&(subsystem, gate)).unwrap_or(entry.t);
                    facts.longest = facts.longest.max(entry.t - began);
                }
                Event::Park { gate, .. } => facts.parks[gate as usize] += 1,
                Event::Claim { subsystem, .. } => {
                    facts.claims_in_freeze += u32::from(open.contains_key(&(subsystem, Gate::Pop)));
                }
                Event::Silent { .. } => facts.silent += 1,
                Event::Heard { .. } => (facts.heard, facts.after_heard) = (facts.heard + 1, 0),
                Event::Payload { offset, bytes, .. } => {
                    facts.laps = facts.laps.max((offset + bytes) / simulation.scenario.profile.arena_bytes);
                }
                Event::Collected { records, .. } => facts.after_heard += records,
                _ => {}
            }
        }
        facts
    }
}

fn simulated(name: &str, overrides: &Overrides) -> (Simulation, Facts) {
    let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name).expect("is shipped");
    let simulation = simulate(text.as_bytes(), overrides).expect("runs");
    let facts = Facts::of(&simulation);
    (simulation, facts)
}

/// Words of a scenario's text, and whether they are true.
type Claim = (&'static str, fn(&Simulation, &Facts) -> bool);

/// Runs a shipped scenario as it is, and looks at every claim of its text.
#[track_caller]
fn check(name: &str, claims: &[Claim]) {
    let (simulation, facts) = simulated(name, &Overrides::default());
    let document = &simulation.document;
    assert_eq!(document.scenario, name, "a file is named after its scenario");
    for (claim, holds) in claims {
        assert!(simulation.scenario.about.contains(claim), "{name} no longer says {claim:?}");
        assert!(holds(&simulation, &facts), "{name}: {claim:?} is wrong: {facts:?} {:?}", document.records);
    }
    // Whatever else it says, the ledger balances; without a fault all invariants hold.
    assert_ne!(document.outcome, Outcome::Unbalanced);
    assert_eq!(document.is_sound(), document.faults.is_empty(), "{name}: {:?}", document.invariants);
}

fn complete(simulation: &Simulation) -> bool {
    simulation.document.outcome == Outcome::Complete
}

#[test]
fn arena() {
    check(
        "arena",
        &[
            ("nothing is lost", |s, _| complete(s)),
            ("lapped many times", |_, f| f.laps >= 10),
            ("waits for its payloads to be written", |_, f| f.parks[2] > 10),
        ],
    );
}

#[test]
fn collector_stuck() {
    check(
        "collector-stuck",
        &[
            ("stand still from 30 to 400 µs", |s, _| {
                s.scenario.host.collectors_stuck == Some((30_000, 400_000))
            }),
            ("one freeze lasts as long", |_, f| f.longest > 300_000),
            ("nothing is lost", |s, _| complete(s)),
        ],
    );
}

#[test]
fn host_crash() {
    check(
        "host-crash",
        &[
            ("dies at 60 µs", |s, _| s.scenario.host.crash_at == Some(60_000)),
            ("within one budget for each region", |s, _| {
                let within = s.scenario.rules.budget * s.scenario.subsystems.len() as u64 + 60_000;
                s.document.lanes.iter().all(|lane| lane.blocked_ns < within)
                    && s.document.invariants[15].judged > 0
            }),
            ("the ledger balances", |s, _| s.document.outcome == Outcome::Missing),
            ("never came for is lost to its death", |s, _| {
                s.run.report.causes.0.iter().any(|(cause, n)| *cause == Cause::HostDied && *n > 0)
            }),
        ],
    );
}

#[test]
fn host_stall() {
    check(
        "host-stall",
        &[
            ("sleeps longer than the budget", |s, _| {
                s.scenario.host.stall.is_some_and(|(from, to)| to - from > s.scenario.rules.budget)
            }),
            ("lanes give up", |s, f| f.silent >= 2 && s.document.outcome == Outcome::Missing),
            ("trust it again", |_, f| f.heard >= 1 && f.after_heard > 100),
        ],
    );
}

#[test]
fn lost_wakeup() {
    check(
        "lost-wakeup",
        &[
            ("T1: a freeze is released although the buffers are still at the collectors", |s, _| {
                s.document.faults == [Fault::ReleaseWithEmptyQueues]
                    && s.document.invariants[8].broken.is_some()
            }),
            ("waits out its budget", |_, f| f.silent > 0),
        ],
    );
    let (off, facts) = simulated("lost-wakeup", &Overrides { no_faults: true, ..Overrides::default() });
    assert!(complete(&off) && off.document.is_sound() && facts.silent == 0, "{:?}", off.document.invariants);
}

#[test]
fn one_buffer() {
    check(
        "one-buffer",
        &[
            ("One buffer of one record in every pool", |s, _| {
                s.scenario
                    .profile
                    .pools
                    .iter()
                    .all(|pool| (pool.records, pool.buffers, pool.slots) == (1, 1, 1))
            }),
            ("it drains and releases", |s, f| complete(s) && f.opens[1] > 10),
        ],
    );
}

#[test]
fn push_gate() {
    check(
        "push-gate",
        &[
            ("the push gate", |s, f| complete(s) && f.parks[0] > 10 && f.opens[0] > 1),
            ("which the usual sizes never reach", |_, _| {
                let usual = ["real-a2a3", "shadow-a5", "tight-freeze"];
                usual.iter().all(|name| simulated(name, &Overrides::default()).1.parks[0] == 0)
            }),
        ],
    );
}

#[test]
fn real_sizes() {
    let cold: fn(&Simulation, &Facts) -> bool =
        |s, f| complete(s) && f.parks == [0; 3] && f.opens == [0; 2] && s.document.lanes_disturbed == 0;
    check("real-a2a3", &[("no gate is ever reached", cold)]);
    check(
        "shadow-a5",
        &[
            ("over a shadow", |s, _| s.document.transport == crate::dfx::Transport::Shadow),
            ("the whole path stays cold", cold),
        ],
    );
}

#[test]
fn slot_first() {
    check(
        "slot-first",
        &[("a lane with a buffer in its queue passes", |s, f| {
            let first = Overrides { peer_gate: Some(PeerGate::BarrierFirst), ..Overrides::default() };
            let (_, barrier) = simulated("slot-first", &first);
            complete(s) && f.claims_in_freeze > 4 * barrier.claims_in_freeze.max(1)
        })],
    );
}

#[test]
fn tight() {
    check(
        "tight-freeze",
        &[
            ("freezes", |s, f| complete(s) && f.opens[1] > 3 && s.document.freezes > 3),
            ("a finish that moves to each release", |s, _| {
                let late = s.document.finish_error_ns;
                late.max > 20_000 && late.max > 3 * late.median
            }),
        ],
    );
    check(
        "tight-drop",
        &[
            ("a short wait, then holes in the record", |s, f| {
                s.document.records.missing > 100 && f.opens == [0; 2]
            }),
            ("each counted with its cause", |s, _| {
                s.document.records.causes.0.iter().map(|(_, n)| n).sum::<u64>() == s.document.records.missing
            }),
        ],
    );
    check(
        "tight-per-lane",
        &[
            ("nothing lost", |s, _| complete(s)),
            ("no freeze", |_, f| f.opens == [0; 2] && f.parks[1] > 10),
            ("less waiting than under the freeze", |s, _| {
                let freeze = Overrides { policy: Some(Policy::GlobalFreeze), ..Overrides::default() };
                let blocked =
                    |s: &Simulation| s.document.lanes.iter().map(|lane| lane.blocked_ns).sum::<u64>();
                blocked(s) < blocked(&simulated("tight-per-lane", &freeze).0)
            }),
        ],
    );
}

/// Same scenario, same log: natively and in WebAssembly. Every shipped scenario as it is, and a small
/// one under each policy, order and transport.
#[test]
fn logs_have_their_committed_digests() {
    let mut now = String::new();
    let mut line = |name: &str, scenario: &Scenario| {
        let run = run(scenario, &Synthetic(scenario.dump.every)).expect("runs");
        writeln!(now, "{name:34} {} {:6} events", run.log.digest(), run.log.events.len()).expect("a string");
    };
    for (name, _) in SHIPPED {
        line(name, &super::shipped(name));
    }
    for policy in ["global-freeze", "drop", "per-lane"] {
        for order in ["by_time", "random", "adversarial"] {
            let mut value = super::tight(policy);
            value["program"]["thunks"] = 20.into();
            value["order"] = order.into();
            value["seed"] = 7.into();
            value["transport"] = if order == "random" { "shadow".into() } else { "shared".into() };
            line(&format!("tight {policy} {order}"), &scenario(value).expect("a good scenario"));
        }
    }
    #[cfg(not(target_arch = "wasm32"))]
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sim/dfx/digests.txt");
        std::fs::write(path, &now).expect("the file can be written");
        return;
    }
    assert_eq!(now, include_str!("../digests.txt"), "logs changed: UPDATE_EXPECT=1 accepts them");
}

/// Every fault can be switched on in every shipped scenario: the run ends, and what is off is clean.
#[test]
fn every_fault_runs_to_an_end() {
    let mut caught = std::collections::BTreeMap::new();
    for name in ["tight-freeze", "one-buffer", "arena", "host-stall", "host-crash"] {
        for fault in Fault::ALL {
            let overrides = Overrides { faults: vec![fault], ..Overrides::default() };
            let (simulation, _) = simulated(name, &overrides);
            let broken = simulation.document.invariants.iter().filter(|verdict| verdict.broken.is_some());
            let broken: Vec<_> = broken.map(|verdict| verdict.invariant.clone()).collect();
            if !broken.is_empty() {
                println!("{fault} in {name}, seed {}: {broken:?}", simulation.document.seed);
                caught.insert(fault, broken);
            }
        }
    }
    // The others need an order that these scenarios do not have: see `dfx::tests::faults`.
    assert!(caught.len() >= 6, "{caught:?}");
}
