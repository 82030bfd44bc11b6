//! What the explorer says about the executor.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::executor::Fault as Own;
use crate::explore::Counterexample;
use crate::explore::memory::Order;
use crate::explore::{self, Check, Sweep, Totals, Verdict};
use crate::machine::Job;
use crate::program::{Access, Kind, Program, Resource, ResourceKind, Sequence, Thunk};
use crate::trace::{EventKind, Log, Replay};

/// Groups of the standard set that take a second or two.
fn groups() -> Vec<Standard> {
    standard().into_iter().filter(|group| !group.long).collect()
}

fn scenarios(name: &str) -> Vec<Scenario> {
    standard().into_iter().find(|group| group.name == name).expect("a group").scenarios
}

/// What a sweep over `scenarios` finds first.
fn sweep(scenarios: Vec<Scenario>, limits: Limits) -> (Totals, Option<(explore::Scenario, Counterexample)>) {
    let mut sweep = Sweep::new(scenarios, limits);
    sweep.finish().expect("scenarios that can be explored");
    let found = sweep.found().map(|(scenario, found)| (scenario.clone(), found.clone()));
    (sweep.totals(), found)
}

/// The committed counts: a change of the machine or of the model shows here.
const COUNTS: &str = include_str!("counts.txt");

/// Every standard scenario is clean, and has as many states as last time, natively and in wasm.
#[test]
fn standard_scenarios_are_clean_with_their_committed_counts() {
    let mut counts = String::from(
        "Scenarios explored to the end and clean: different states, steps between them, longest of the\n\
         shortest ways. Sequential consistency, with reduction and symmetry.\n\n",
    );
    counts +=
        &format!("{:<12}{:>10}{:>10}{:>13}{:>7}\n", "group", "scenarios", "states", "transitions", "depth");
    for group in groups() {
        let (totals, found) = sweep(group.scenarios, Limits::default());
        assert_eq!(found, None, "{}", group.name);
        assert_eq!(totals.unfinished, 0, "{}", group.name);
        let Totals { scenarios, states, transitions, depth, .. } = totals;
        counts += &format!("{:<12}{scenarios:>10}{states:>10}{transitions:>13}{depth:>7}\n", group.name);
    }
    assert!(counts == COUNTS, "core/src/explore/executor/counts.txt should be:\n{counts}");
}

/// The scenarios of a group with a fault, and only some properties looked at.
#[track_caller]
fn check_fault(
    group: &str,
    fault: Fault,
    properties: &[Property],
    expected: Property,
    what: &str,
) -> Counterexample {
    let mut scenarios = scenarios(group);
    for scenario in &mut scenarios {
        scenario.faults = vec![fault];
        scenario.properties = properties.to_vec();
    }
    let (_, found) = sweep(scenarios, Limits::default());
    let (_, found) = found.unwrap_or_else(|| panic!("{fault} is not found in {group}"));
    assert_eq!((found.property, &*found.what), (expected.name(), what));
    // The log is one like any other: it reads back, plays, and ends with what broke.
    let log = Log::from_json_lines(&found.log.to_json_lines()).expect("a log");
    assert_eq!(log, found.log.executor());
    let last = log.events.last().map(|event| event.kind.clone());
    assert_eq!(last, Some(EventKind::Broken { property: expected.name().to_owned(), what: what.to_owned() }));
    assert_eq!(log.events.last().map(|event| event.t), Some(found.steps.into()));
    let replay = Replay::new(log);
    assert!(!replay.state_at(replay.len()).runs.is_empty());
    found
}

/// Seed 004: the increment has to come before any decrement, or the run ends under a thunk.
#[test]
fn decrement_before_increment_ends_the_run_early() {
    let found = check_fault(
        "two-kinds",
        Fault::Executor(Own::DecrementBeforeIncrement),
        &Property::ALL,
        Property::EventOnce,
        "the run's event fires while thunk 0 `k0` has not completed",
    );
    // What the log says of a split is what its queues hold.
    let log = found.log.executor();
    for (index, event) in log.events.iter().enumerate() {
        if let EventKind::Split { kept, .. } = event.kind {
            let state = Replay::new(log.clone()).state_at(index + 1);
            assert_eq!(state.lanes[usize::from(event.actor.0)].frames[0].queue.len(), kept as usize);
        }
    }
}

/// XLA's way of joining: two workers read the same count, and both take the last place.
#[test]
fn an_inexact_cap_is_exceeded() {
    check_fault(
        "cap",
        Fault::Executor(Own::InexactCap),
        &Property::ALL,
        Property::WorkerCap,
        "3 workers have a place, and the cap is 2",
    );
}

/// Without scheduling edges the ranks start their collectives in different orders, and each waits
/// for the other for ever.
#[test]
fn without_scheduling_edges_two_ranks_deadlock() {
    check_fault(
        "collectives",
        Fault::NoSchedulingEdges,
        &Property::ALL,
        Property::StartOrder,
        "rank 1 starts thunk 1 `all-reduce1` where rank 0 has started thunk 0 `all-reduce0`",
    );
    let found = check_fault(
        "collectives",
        Fault::NoSchedulingEdges,
        &[Property::NoDeadlock],
        Property::NoDeadlock,
        "nothing can happen any more on rank 0, and the run is not over: thunk 0 `all-reduce0`, thunk 1 \
         `all-reduce1` never completes; 0 thunks never began",
    );
    let lanes: std::collections::BTreeSet<_> = found.log.events.iter().map(|event| event.run).collect();
    assert_eq!(lanes.len(), 2, "both ranks are in the log");
}

/// Reduction and symmetry change counts, never verdicts.
#[test]
fn reduction_and_symmetry_change_no_verdict() {
    let mut faulty: Vec<Scenario> = scenarios("cap");
    faulty.iter_mut().for_each(|scenario| scenario.faults = vec![Fault::Executor(Own::InexactCap)]);
    let mut unordered = scenarios("two-kinds");
    unordered.iter_mut().for_each(|scenario| {
        scenario.faults = vec![Fault::Executor(Own::DecrementBeforeIncrement)];
    });
    let some = |name: &str, step: usize| scenarios(name).into_iter().step_by(step);
    let all =
        some("graphs", 3).chain(some("two-kinds", 7)).chain(some("errors", 11)).chain(some("blocking", 5));
    let all = all.chain(some("never", 13)).chain(faulty).chain(unordered.into_iter().step_by(2));
    let (mut states, mut broken) = ([0; 4], 0);
    for scenario in all {
        let mut verdicts = Vec::new();
        for (way, states) in states.iter_mut().enumerate() {
            let limits = Limits { reduction: way & 1 == 0, ..Limits::default() };
            let scenario = Scenario { symmetry: way & 2 == 0, ..scenario.clone() };
            let report = Check::new(scenario, limits).expect("a scenario").finish();
            *states += report.states;
            verdicts.push(match report.verdict {
                Verdict::Clean => None,
                Verdict::Broken(found) => Some((found.property, found.steps)),
                Verdict::NotExhaustive(limit) => panic!("{limit:?}"),
            });
        }
        broken += u32::from(verdicts[0].is_some());
        assert!(verdicts.iter().all(|verdict| *verdict == verdicts[0]), "{}: {verdicts:?}", scenario.name);
    }
    assert!(broken > 10, "{broken} broken scenarios");
    // Each of the two saves something on its own.
    let [both, symmetry, reduction, none] = states;
    assert!(both < symmetry && both < reduction && symmetry < none && reduction < none, "{states:?}");
}

/// A search that is stopped says how far it came, and one that goes on in slices comes to the same.
#[test]
fn a_search_says_what_it_has_not_seen() {
    let scenario = scenarios("cap").pop().expect("one");
    let whole = Check::new(scenario.clone(), Limits::default()).expect("a scenario").finish();
    let mut sliced = Check::new(scenario.clone(), Limits::default()).expect("a scenario");
    let mut slices = 0;
    while sliced.run(7) != Job::Done {
        slices += 1;
    }
    assert!(slices > 10);
    assert_eq!(sliced.report(), whole);
    let limits = Limits { states: whole.states / 2, ..Limits::default() };
    let half = Check::new(scenario.clone(), limits).expect("a scenario").finish();
    assert_eq!(half.verdict, Verdict::NotExhaustive(explore::Limit::States));
    assert!(half.depth < whole.depth && half.states >= limits.states, "{half:?}");
    let limits = Limits { bytes: 1, ..Limits::default() };
    let mut bounded = scenarios("collectives").pop().expect("one");
    bounded.symmetry = false;
    let bounded = Check::new(bounded, limits).expect("a scenario").finish();
    assert_eq!(bounded.verdict, Verdict::NotExhaustive(explore::Limit::Bytes));
    let mut stopped = Check::new(scenario, Limits::default()).expect("a scenario");
    stopped.run(3);
    stopped.stop();
    assert_eq!(stopped.run(1), Job::Done);
    assert_eq!(stopped.report().verdict, Verdict::NotExhaustive(explore::Limit::Stopped));
}

/// A graph that lacks an edge: the data-flow check goes by the uses, and is no echo of the graph.
#[test]
fn a_missing_edge_breaks_the_sequential_result() {
    let thunks = vec![
        Thunk::new(Kind::Kernel, "write").takes(0, Access::Write),
        Thunk::new(Kind::Kernel, "read").takes(0, Access::Write),
    ];
    let program = Program {
        resources: vec![Resource { kind: ResourceKind::Token, label: String::new() }],
        sequence: Sequence { thunks },
        ..Program::default()
    };
    let scenario = Scenario::new(program);
    let mut unordered = Compiled::new(&scenario).expect("a scenario");
    unordered.graph = crate::graph::Graph::from_incoming(&[vec![], vec![]]);
    let model = Executor::<Fifo, Words>::new(unordered);
    let Verdict::Broken(found) = Search::new(model, Limits::default()).finish().verdict else {
        panic!("nothing found");
    };
    assert_eq!(found.property, "sequential-result");
    assert_eq!(found.what, "thunk 1 `read` starts before thunk 0 `write` has completed");
}

/// What must hold under release and acquire, and which half of which ordering it hangs on.
mod orderings {
    use super::*;
    // Not by the glob: there it would be ambiguous.
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn with(order: Order, faults: &[Fault]) -> Vec<Scenario> {
        let mut all: Vec<_> = scenarios("graphs").into_iter().filter(|s| s.threads == 2).collect();
        all.extend(scenarios("two-kinds").into_iter().filter(|s| s.threads == 1));
        all.extend(scenarios("errors").into_iter().filter(|s| s.threads == 1));
        all.extend(scenarios("cap").into_iter().take(1));
        for scenario in &mut all {
            scenario.memory = order;
            scenario.faults = faults.to_vec();
        }
        all
    }

    #[test]
    fn suffice() {
        let (totals, found) = sweep(with(Order::Ra, &[]), Limits::default());
        assert_eq!(found, None);
        assert_eq!(totals.unfinished, 0);
        let (strong, _) = sweep(with(Order::Sc, &[]), Limits::default());
        assert!(totals.states > strong.states, "{totals:?} {strong:?}");
    }

    /// What each weakening leads to; under sequential consistency all are harmless.
    #[test]
    fn are_needed_or_not_as_stated() {
        let mut said = String::new();
        for of in Ordered::ALL {
            for side in Side::ALL {
                let fault = Fault::Weaken(of, side);
                let (_, found) = sweep(with(Order::Ra, &[fault]), Limits::default());
                let verdict = found.map_or("clean", |(_, found)| found.property);
                said += &format!("{fault:<26} {verdict}\n");
                let few = with(Order::Sc, &[fault]).into_iter().step_by(20).collect();
                assert_eq!(sweep(few, Limits::default()).1, None, "{fault} under sc");
            }
        }
        assert_eq!(said, NEEDED, "\n{said}");
    }

    /// What is clean here is stronger than it need be: the words are only ever counted, or carry
    /// nothing but themselves.
    const NEEDED: &str = "\
counter-without-release    sequential-result
counter-without-acquire    sequential-result
pending-without-release    sequential-result
pending-without-acquire    sequential-result
expect-without-release     clean
expect-without-acquire     clean
failed-without-release     clean
failed-without-acquire     clean
done-without-release       sequential-result
done-without-acquire       sequential-result
session-without-release    clean
session-without-acquire    clean
attach-without-release     sequential-result
attach-without-acquire     sequential-result
complete-without-release   sequential-result
complete-without-acquire   sequential-result
";
}

/// Coarse is an unpreempted run of fine: the same function called as it is, and cut into single
/// accesses with nobody in between.
mod grains {
    use super::*;
    // Not by the glob: there it would be ambiguous.
    use crate::executor::{
        Begin, Failure, Happening, Observer, Plan, Run, Runner, Session, State, Task, Worker,
    };
    use crate::machine::{Fine, LocalMemory, Memory, Moment, Part, Word};
    use crate::sim;
    use std::cell::RefCell;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Everything that a call shows.
    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Shown {
        Happening(Happening),
        Posted(Vec<u32>),
        Began(Begin),
    }

    struct Watch<'w> {
        list: &'w RefCell<Vec<Shown>>,
        now: &'w dyn Fn() -> bool,
    }

    impl Observer for Watch<'_> {
        fn on(&mut self, happening: Happening) {
            if (self.now)() {
                self.list.borrow_mut().push(Shown::Happening(happening));
            }
        }
    }

    impl<Q: ReadyQueue> Runner<Q> for Watch<'_> {
        fn available(&self) -> bool {
            true
        }
        fn post(&mut self, task: Task<Q>) {
            if (self.now)() {
                self.list.borrow_mut().push(Shown::Posted(task.ready.in_pop_order()));
            }
        }
    }

    /// One whole iteration over the first ready node; false when there is none.
    fn iteration<Q: ReadyQueue, M: Memory>(
        worker: &mut Worker<Q>,
        memory: &M,
        plan: &Plan<'_>,
        options: &sim::Options,
        list: &RefCell<Vec<Shown>>,
        now: &dyn Fn() -> bool,
    ) -> Begin {
        let state = State::over(Part::new(memory, Word(0)));
        let words = State::<LocalMemory>::words(plan.graph.len()) as u32;
        let session = Session::new(Part::new(memory, Word(words)), options.executor.max_workers);
        let run = Run {
            graph: plan.graph.successors(),
            priorities: plan.priorities(),
            state: &state,
            session: &session,
            split_threshold: options.executor.split_threshold,
        };
        let thunks = &plan.sequence.thunks;
        let may_block = |node: u32| thunks[node as usize].may_block;
        let watch = || Watch { list, now };
        let begin = worker.begin(&run, may_block, &mut watch(), &mut watch());
        match begin {
            Begin::Idle | Begin::Posted => {}
            Begin::Skip(node) => worker.finish(&run, node, Ok(()), &mut watch()),
            Begin::Execute(node) if thunks[node as usize].pending => {
                let continuation = worker.suspend(&run, node, &mut watch());
                worker.resume(&run, continuation, Ok(()), &mut watch());
            }
            Begin::Execute(node) => {
                let fails = options.faults.iter().any(|fault| fault.node == node);
                worker.finish(&run, node, if fails { Err(Failure { node }) } else { Ok(()) }, &mut watch());
            }
        }
        begin
    }

    /// As a state of the explorer keeps it: the programs here are short enough.
    fn copy<Q: ReadyQueue>(worker: &Worker<Q>, plan: &Plan<'_>) -> Worker<Q> {
        let row = explore::Row::of(worker.ready.in_pop_order().into_iter().map(|node| node as u8));
        Worker::with(world::queue(&row, plan.priorities()), worker.is_alone())
    }

    fn check<Q: ReadyQueue>(plan: &Plan<'_>, options: &sim::Options) -> usize {
        let words = State::<LocalMemory>::words(plan.graph.len()) + 1;
        let (coarse, fine) = (LocalMemory::new(words), LocalMemory::new(words));
        for memory in [&coarse, &fine] {
            State::new(memory, &plan.graph);
        }
        let start = || {
            let mut ready = Q::default();
            for &node in plan.graph.sources() {
                ready.push(node, || plan.priorities()[node as usize]);
            }
            Worker::with(ready, true)
        };
        let (mut straight, mut stepped) = (start(), start());
        let (mut shown, mut accesses) = (Vec::new(), 0);
        loop {
            let list = RefCell::new(Vec::new());
            let began = iteration(&mut straight, &coarse, plan, options, &list, &|| true);
            list.borrow_mut().push(Shown::Began(began));
            let expected = list.take();
            let mut past = Vec::new();
            let list = RefCell::new(Vec::new());
            loop {
                let step = Fine::new(&fine, &past);
                let mut worker = copy(&stepped, plan);
                let now = || step.moment() == Moment::Now;
                let began = iteration(&mut worker, &step, plan, options, &list, &now);
                let over = step.is_over();
                past.extend(step.made().map(|(_, answer)| answer));
                if over {
                    stepped = worker;
                    list.borrow_mut().push(Shown::Began(began));
                    break;
                }
            }
            assert_eq!(list.take(), expected);
            assert_eq!(fine, coarse);
            assert_eq!(stepped.ready.in_pop_order(), straight.ready.in_pop_order());
            accesses += past.len();
            shown.extend(expected);
            if began == Begin::Idle {
                return accesses;
            }
        }
    }

    #[test]
    fn agree() {
        let mut accesses = 0;
        for seed in 0..300 {
            let (mut program, options) = sim::seeded(seed);
            program.sequence.thunks.truncate(MAX_THUNKS as usize);
            let plans = Plan::all(&program, &options.executor).expect("plans");
            accesses += check::<Fifo>(&plans[0], &options);
            accesses += check::<Lifo>(&plans[0], &options);
            accesses += check::<Priority>(&plans[0], &options);
        }
        assert!(accesses > 10_000, "{accesses}");
    }
}
