//! What the explorer says about the transport.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::dfx::{Fault, PeerGate, Transport as Way};
use crate::explore::memory::Order;
use crate::explore::{Check, Counterexample, Group, Limit, Report, Sweep, Totals, Verdict};
use crate::machine::Job;
use crate::sim::dfx::{DfxLog, Kind};
use crate::trace::{EventKind, Replay};

fn groups(long: bool) -> impl Iterator<Item = Group> {
    standard().into_iter().filter(move |group| group.long == long)
}

/// The committed counts: a change of a machine or of the model shows here.
const COUNTS: &str = include_str!("counts.txt");

/// Every group of every day is clean, and has as many states as last time, natively and in wasm.
#[test]
fn standard_scenarios_are_clean_with_their_committed_counts() {
    let mut counts = String::from(
        "Scenarios explored to the end and clean: different states, steps between them, longest of the\n\
         shortest ways. Sequential consistency, with reduction.\n\n",
    );
    counts +=
        &format!("{:<16}{:>10}{:>10}{:>13}{:>7}\n", "group", "scenarios", "states", "transitions", "depth");
    for group in groups(false) {
        let mut sweep = Sweep::new(group.scenarios, Limits::default());
        sweep.finish().expect("scenarios that can be explored");
        let found = sweep.found().map(|(scenario, found)| (scenario.name(), found.property, &*found.what));
        assert_eq!(found, None, "{}", group.name);
        let Totals { scenarios, states, transitions, depth, unfinished, .. } = sweep.totals();
        assert_eq!(unfinished, 0, "{}", group.name);
        counts += &format!("{:<16}{scenarios:>10}{states:>10}{transitions:>13}{depth:>7}\n", group.name);
    }
    assert!(counts == COUNTS, "core/src/explore/dfx/counts.txt should be:\n{counts}");
}

fn report(scenario: &Scenario, reduction: bool) -> Report {
    let limits = Limits { reduction, ..Limits::default() };
    Check::new(scenario.clone(), limits).expect("a scenario that can be explored").finish()
}

fn crashing(lanes: u8, buffers: u8, records: u8) -> Scenario {
    Scenario { crash: true, ..Scenario::new(lanes, buffers, records) }
}

fn payloads(records: u8) -> Scenario {
    Scenario { script: Script::Payloads { arena: 1 }, ..crashing(1, 1, records) }
}

fn barrier(lanes: u8, releases: u8) -> Scenario {
    Scenario { script: Script::Barrier, dry: true, shards: 1, crash: false, ..crashing(lanes, 1, releases) }
}

fn core(buffers: u8, records: u8, capacity: u8) -> Scenario {
    Scenario { script: Script::Core, capacity, crash: false, ..crashing(1, buffers, records) }
}

/// The scenario is clean; with the fault, the property breaks, and the log tells how.
#[track_caller]
fn check(fault: Fault, scenario: Scenario, expected: Property, what: &str) -> Counterexample {
    assert_eq!(report(&scenario, true).verdict, Verdict::Clean, "{fault} off");
    let report = report(&Scenario { faults: vec![fault], ..scenario }, true);
    let Verdict::Broken(found) = report.verdict else { panic!("{fault} is not found: {report:?}") };
    assert_eq!((found.property, &*found.what), (expected.name(), what), "{fault}");
    // The log is one like any other: it reads back, plays, and ends with what broke.
    let log = DfxLog::from_json_lines(&found.log.to_json_lines()).expect("a log");
    assert_eq!(log, found.log);
    let last = log.events.last().map(|entry| entry.kind.clone());
    let broken = EventKind::Broken { property: expected.name().to_owned(), what: what.to_owned() };
    assert_eq!(last, Some(Kind::Executor(broken)));
    assert!(log.executor().events.len() >= 2);
    let replay = Replay::new(log.executor());
    assert_eq!(replay.state_at(replay.len()).runs.len(), 1);
    *found
}

/// T2, in a handful of steps: a lane whose free queue is empty waits without a deadline.
#[test]
fn t02_pop_wait_unbounded() {
    let scenario = Scenario { dry: true, ..crashing(1, 1, 1) };
    let what = "lane 0 waits without a deadline: should the host die, it waits for ever";
    let found = check(
        Fault::PopWaitUnbounded,
        Scenario { peer_gate: PeerGate::SlotFirst, ..scenario },
        Property::Bounded,
        what,
    );
    assert_eq!(found.steps, 4, "it looks for a buffer, finds none, marks, and waits");
}

macro_rules! faults {
    ($($name:ident: $fault:ident in $scenario:expr, breaks $property:ident: $what:expr,)+) => {
        $(#[test] fn $name() { check(Fault::$fault, $scenario, Property::$property, $what); })+
    };
}

faults! {
    t01_release_with_empty_queues: ReleaseWithEmptyQueues in crashing(1, 1, 2), breaks Release:
        "released while lane 0 waits at an empty queue",
    t03_publish_then_drop: PublishThenDrop in Scenario { slots: 2, ..crashing(1, 2, 3) }, breaks Honest:
        "lane 0 counts records as dropped that it has published",
    t04_two_free_queue_writers: TwoFreeQueueWriters in crashing(1, 1, 2), breaks SingleWriter:
        "Replenish writes the head of the recycled ring of pool 0, which is Drain(0)'s",
    t05_acquire_before_publish: AcquireBeforePublish in core(1, 2, 1), breaks Completion: STUCK,
    t06_stale_predicate: StalePredicate in payloads(2), breaks Completion: STUCK,
    t07_lost_payload_blocks: LostPayloadBlocks in Scenario { writer_fails: true, crash: false, ..payloads(2) },
        breaks Completion: STUCK,
    t09_allocate_per_freeze: AllocatePerFreeze in
        Scenario { properties: vec![Property::OneOwner], ..crashing(1, 1, 2) },
        breaks OneOwner: "pool 0 grows by buffer 1, though pools are fixed",
    t10_stamped_count: StampedCount in core(1, 1, 2), breaks Conservation:
        "pool 0: 1 records written, 0 collected, 2 in flight, 0 dropped, 0 lost",
    t11_ack_before_deliver: AckBeforeDeliver in crashing(1, 1, 1), breaks Acknowledge:
        "lane 0's entry is acknowledged, and its buffer is Some(ReadyDevice)",
    t12_done_ring_ignored: DoneRingIgnored in Scenario { crash: false, ..crashing(1, 2, 2) }, breaks OneOwner:
        "buffer 1 of pool 0 should be Collecting at the end, and is None",
    t14_stop_while_frozen: StopWhileFrozen in crashing(1, 1, 2), breaks QuietEnd:
        "everybody has ended, and a freeze is open",
    t15_lost_on_failed_flush: LostOnFailedFlush in Scenario { slots: 2, ..crashing(1, 2, 2) },
        breaks Conservation: "pool 0: 2 records written, 0 collected, 1 in flight, 0 dropped, 0 lost",
    clear_before_open: ClearBeforeOpen in barrier(1, 1), breaks NoWindow: ESCAPED,
    freeze_loaded_first: FreezeLoadedFirst in barrier(1, 1), breaks NoWindow: ESCAPED,
    generation_less_barrier: GenerationLessBarrier in
        Scenario { dry: true, shards: 1, crash: false, ..crashing(2, 1, 1) },
        breaks WakeUp: "lane 0 sleeps at the Pop gate through a release",
}

const STUCK: &str = "from here on lane 0 can never come back, whatever happens";
const ESCAPED: &str = "lane 0 leaves the arena's gate, and nothing was released since it asked";

/// Seed 000: of the two orders on either side only one is safe: close the gate before the flag is
/// cleared, and look at the flag before the gate.
#[test]
fn of_four_orders_of_the_two_flags_one_passes() {
    let mut passing = Vec::new();
    for faults in [
        vec![],
        vec![Fault::ClearBeforeOpen],
        vec![Fault::FreezeLoadedFirst],
        vec![Fault::ClearBeforeOpen, Fault::FreezeLoadedFirst],
    ] {
        let mut scenario = barrier(1, 1);
        scenario.faults.clone_from(&faults);
        scenario.properties = vec![Property::NoWindow];
        match report(&scenario, true).verdict {
            Verdict::Clean => passing.push(faults),
            Verdict::Broken(found) => assert_eq!(found.property, "no-window"),
            Verdict::NotExhaustive(limit) => panic!("{limit:?}"),
        }
    }
    assert_eq!(passing, [vec![]]);
}

/// Reduction changes counts, never verdicts.
#[test]
fn reduction_changes_no_verdict() {
    let clean = [
        crashing(1, 1, 1),
        Scenario { dry: true, ..crashing(1, 1, 1) },
        Scenario { peer_gate: PeerGate::SlotFirst, ..crashing(1, 1, 2) },
        Scenario { transport: Way::Shadow, ..crashing(1, 1, 2) },
        crashing(1, 2, 2),
        barrier(1, 2),
        core(1, 2, 1),
    ];
    let faulty = |fault, scenario: Scenario| Scenario { faults: vec![fault], ..scenario };
    let faulty = [
        faulty(Fault::ReleaseWithEmptyQueues, crashing(1, 1, 2)),
        faulty(Fault::PopWaitUnbounded, crashing(1, 1, 2)),
        faulty(Fault::AckBeforeDeliver, crashing(1, 1, 1)),
        faulty(Fault::AcquireBeforePublish, core(1, 2, 1)),
        faulty(Fault::ClearBeforeOpen, barrier(1, 1)),
        faulty(Fault::StopWhileFrozen, crashing(1, 1, 2)),
    ];
    let (mut with, mut without) = (0, 0);
    for scenario in clean.into_iter().chain(faulty) {
        let name = |report: &Report| match &report.verdict {
            Verdict::Broken(found) => found.property,
            Verdict::Clean => "clean",
            Verdict::NotExhaustive(_) => "not exhaustive",
        };
        let (reduced, whole) = (report(&scenario, true), report(&scenario, false));
        assert_eq!(name(&reduced), name(&whole), "{}", scenario.summary());
        assert_eq!(name(&whole) == "clean", scenario.faults.is_empty(), "{}", scenario.summary());
        if reduced.verdict == Verdict::Clean {
            with += reduced.states;
            without += whole.states;
        }
    }
    assert!(with * 4 < without, "{with} states of {without}");
}

/// A search that goes on in slices comes to the same, and one that is stopped says so.
#[test]
fn a_search_can_be_cut_in_slices() {
    let scenario = crashing(1, 1, 2);
    let mut sliced = Check::new(scenario.clone(), Limits::default()).expect("a scenario");
    let mut slices = 0;
    while sliced.run(500) != Job::Done {
        slices += 1;
    }
    assert!(slices > 5, "{slices}");
    assert_eq!(sliced.report(), report(&scenario, true));
    let mut stopped = Check::new(scenario, Limits::default()).expect("a scenario");
    stopped.run(500);
    stopped.stop();
    assert_eq!(stopped.report().verdict, Verdict::NotExhaustive(Limit::Stopped));
}

/// Sizes out of their range, and memories that are not there, are told apart by code and place.
#[test]
fn scenarios_are_checked() {
    let code = |scenario: Scenario| {
        let error = Check::new(scenario, Limits::default()).err().expect("refused");
        (error.code.to_string(), error.path.clone())
    };
    let new = || Scenario::new(1, 1, 1);
    let at = |field: &str| ("CK005".to_owned(), format!("1 x 1 x 1/{field}"));
    assert_eq!(code(Scenario { lanes: 5, ..new() }), at("lanes"));
    assert_eq!(code(Scenario { buffers: 0, ..new() }), at("buffers"));
    assert_eq!(code(Scenario { slots: 3, ..new() }), at("slots"));
    assert_eq!(code(Scenario { ready: 1, ..new() }), at("ready"));
    assert_eq!(code(Scenario { shards: 2, ..new() }), at("shards"));
    let weak = code(Scenario { memory: Order::Ra, transport: Way::Shadow, ..new() });
    assert_eq!(weak, ("CK006".to_owned(), "1 x 1 x 1".to_owned()));
}

fn weak(scenario: Scenario) -> Scenario {
    Scenario { memory: Order::Ra, ..scenario }
}

/// Release and acquire are enough: for the flags alone, and for a lane with one buffer.
#[test]
fn release_and_acquire_are_enough() {
    let scenarios = [
        barrier(1, 1),
        Scenario { crash: true, ..barrier(1, 1) },
        Scenario::new(1, 1, 1),
        crashing(1, 1, 1),
        Scenario { dry: true, peer_gate: PeerGate::SlotFirst, ..crashing(1, 1, 1) },
    ];
    for scenario in scenarios {
        let report = report(&weak(scenario.clone()), true);
        assert_eq!(report.verdict, Verdict::Clean, "{}", scenario.summary());
    }
}

/// Without its release, or without its acquire, the ordering of a flag is missed.
#[track_caller]
fn check_weakened(name: &str, scenario: Scenario, expected: Property, what: &str) {
    let weaken = name.parse().expect("an ordering");
    let under = |memory| Scenario { weakened: vec![weaken], memory, ..scenario.clone() };
    assert_eq!(report(&under(Order::Sc), true).verdict, Verdict::Clean, "{name} under sc");
    let Verdict::Broken(found) = report(&under(Order::Ra), true).verdict else {
        panic!("{name} is not found")
    };
    assert_eq!((found.property, &*found.what), (expected.name(), what), "{name}");
}

#[test]
fn an_entry_needs_the_tail_ordered() {
    let what = "Drain(0) touches entry 0 of lane 0's ready queue, and has not seen who did so last";
    for name in ["ready-tail-without-release", "ready-tail-without-acquire"] {
        check_weakened(name, Scenario::new(1, 1, 1), Property::NoRace, what);
    }
}

#[test]
fn the_gate_needs_the_contended_flag_ordered() {
    for name in ["contended-without-release", "contended-without-acquire"] {
        check_weakened(name, barrier(1, 1), Property::NoWindow, ESCAPED);
    }
}
