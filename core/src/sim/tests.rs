//! Properties of every simulated run (executor spec §7), over the seeded scenarios and golden cases.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::executor::{self, Plan, Queue};
use crate::graph::EdgeKind;
use crate::program::{Access, Kind, Program, Resource, ResourceKind, Sequence, SequencePath, Thunk};
use crate::trace::{EventKind, Log, Mode, NodeState, Replay};

/// Seeds beside those with committed digests, for the properties.
const MORE: u64 = 1_500;

/// What each byte of each allocation holds after the thunks of a log have touched it.
///
/// A thunk reads its inputs when it starts, scrambles its outputs at once and writes them when it
/// completes: two thunks that overlap in time and clash leave a trace.
fn memory_after(program: &Program, log: &Log) -> BTreeMap<(u32, u64), u64> {
    let mut memory = BTreeMap::new();
    let mut inputs = BTreeMap::new();
    let mut sequences = Vec::new();
    let paths = program.sequences();
    for event in &log.events {
        if let EventKind::RunStart { sequence, .. } = event.kind {
            sequences.push(sequence as usize);
        }
        let (EventKind::Started { node } | EventKind::Finished { node }) = event.kind else { continue };
        let sequence = sequences[event.run as usize];
        let thunk = &paths[sequence].1.thunks[node as usize];
        if !thunk.nested.is_empty() {
            continue;
        }
        let id = (sequence as u64) << 32 | u64::from(node);
        let bytes = |access: Access| {
            let slices = thunk.uses.iter().filter(move |used| used.access == access).map(|used| used.slice);
            slices.flat_map(|slice| (slice.offset..slice.end()).map(move |byte| (slice.allocation, byte)))
        };
        if matches!(event.kind, EventKind::Started { .. }) {
            let input = bytes(Access::Read).fold(id, |hash, byte| {
                (hash ^ memory.get(&byte).copied().unwrap_or(0))
                    .wrapping_mul(0x0000_0100_0000_01b3)
                    .rotate_left(7)
            });
            inputs.insert((event.run, node), input);
            memory.extend(bytes(Access::Write).map(|byte| (byte, !id)));
        } else {
            let input = inputs[&(event.run, node)];
            memory.extend(bytes(Access::Write).map(|byte| (byte, input ^ byte.1)));
        }
    }
    memory
}

/// Runs `program` and checks everything that must hold of any run. `seed` is for messages.
pub(super) fn check_properties(seed: u64, program: &Program, options: &Options) {
    let log = run(program, options).expect("a scenario runs");
    let plans = Plan::all(program, &options.executor).expect("a scenario has plans");
    let never = options.faults.iter().any(|fault| fault.kind == FaultKind::NeverCompletes);
    let fails = options.faults.iter().any(|fault| fault.kind == FaultKind::Fails);
    check_each_run(seed, &plans, &log);
    check_start_order(seed, program, &log);
    let ends: Vec<_> =
        log.events.iter().filter(|event| matches!(event.kind, EventKind::IterationEnd { .. })).collect();
    let quiet = log.events.iter().any(|event| matches!(event.kind, EventKind::Quiet { .. }));
    assert!(quiet || ends.len() == options.iterations as usize, "seed {seed}: iterations");
    assert!(never || !quiet, "seed {seed}: quiet without a thunk that never completes");
    if !never && !fails {
        let sequential = Options {
            mode: ModeChoice::Sequential,
            pending: PendingThunks::Never,
            schedule: Schedule::ByTime,
            ..options.clone()
        };
        let expected = run(program, &sequential).expect("runs in program order");
        assert_eq!(memory_after(program, &log), memory_after(program, &expected), "seed {seed}: values");
    }
}

/// Executor spec §7.4: within one execution, collectives of one communicator start in program
/// order; so do all ranks, and none waits for another that waits for it.
fn check_start_order(seed: u64, program: &Program, log: &Log) {
    let paths = program.sequences();
    let mut sequences = Vec::new();
    let mut last: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for event in &log.events {
        match event.kind {
            EventKind::RunStart { sequence, .. } => sequences.push(sequence as usize),
            EventKind::Started { node } => {
                let thunk = &paths[sequences[event.run as usize]].1.thunks[node as usize];
                for used in thunk.all_resources().iter().filter(|used| used.access == Access::Write) {
                    let before = last.insert((event.run, used.resource), node);
                    assert!(
                        before.is_none_or(|before| before <= node),
                        "seed {seed}: {before:?} before {node}"
                    );
                }
            }
            _ => {}
        }
    }
}

fn check_each_run(seed: u64, plans: &[Plan<'_>], log: &Log) {
    let mut runs: Vec<(usize, Mode)> = Vec::new();
    let mut begun: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut completed: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut failed: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut done: BTreeSet<u32> = BTreeSet::new();
    let mut workers = 0;
    for event in &log.events {
        let run = event.run;
        let graph = |runs: &[(usize, Mode)]| &plans[runs[run as usize].0].graph;
        match event.kind {
            EventKind::RunStart { sequence, mode, .. } => runs.push((sequence as usize, mode)),
            EventKind::Started { node } | EventKind::Skipped { node } => {
                assert!(begun.insert((run, node)), "seed {seed}: thunk {node} of run {run} began twice");
                for edge in graph(&runs).incoming(node) {
                    let before = (run, edge.node);
                    let held = match edge.kind {
                        EdgeKind::Execution => !completed.contains(&before),
                        EdgeKind::Scheduling => !begun.contains(&before),
                    };
                    assert!(!held, "seed {seed}: {node} of run {run} began before its {edge:?}");
                }
                if let (EventKind::Started { .. }, Some(failed)) = (&event.kind, failed.get(&run)) {
                    let incoming = graph(&runs).incoming(node);
                    let over_a_failure = |edge: &crate::graph::Edge| {
                        edge.kind == EdgeKind::Execution && failed.contains(&edge.node)
                    };
                    assert!(!incoming.iter().any(over_a_failure), "seed {seed}: {node} ran over a failure");
                }
                if matches!(event.kind, EventKind::Skipped { .. }) {
                    completed.insert((run, node));
                }
            }
            EventKind::Finished { node } | EventKind::Failed { node } => {
                assert!(completed.insert((run, node)), "seed {seed}: thunk {node} completed twice");
                if matches!(event.kind, EventKind::Failed { .. }) {
                    failed.entry(run).or_default().insert(node);
                }
            }
            EventKind::Split { .. } => {
                // The worker that joined is counted just after the split.
                assert!(workers < plans_cap(log), "seed {seed}: TryJoin passed the cap");
            }
            EventKind::Workers { count } => workers = count,
            EventKind::Done { failed: first } => {
                assert!(done.insert(run), "seed {seed}: run {run} ended twice");
                assert_eq!(first.is_some(), failed.contains_key(&run), "seed {seed}: error of run {run}");
                let (plan, mode) = runs[run as usize];
                if mode == Mode::Concurrent {
                    let all = (0..plans[plan].graph.len()).all(|node| completed.contains(&(run, node)));
                    assert!(all, "seed {seed}: run {run} ended before its thunks");
                }
            }
            _ => {}
        }
    }
    assert!(runs.len() >= done.len());
}

/// The worker cap, from the header.
fn plans_cap(log: &Log) -> u32 {
    let word = log.header.options.split(' ').find_map(|word| word.strip_prefix("workers="));
    word.and_then(|word| word.parse().ok()).expect("the header names the cap")
}

#[test]
fn every_run_keeps_the_properties() {
    // Fewer in the browser: the same seeds run natively.
    let seeds = if cfg!(target_arch = "wasm32") { 100 } else { SEEDED + MORE };
    for seed in 0..seeds {
        let (program, options) = seeded(seed);
        check_properties(seed, &program, &options);
    }
}

#[test]
fn seeded_logs_have_their_committed_digests() {
    let line = |seed| {
        let (program, options) = seeded(seed);
        let log = run(&program, &options).expect("a seeded scenario runs");
        format!("{seed:2} {} {:5} events\n", log.digest(), log.events.len())
    };
    let now: String = (0..SEEDED).map(line).collect();
    #[cfg(not(target_arch = "wasm32"))]
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sim/digests.txt");
        std::fs::write(path, &now).expect("the source tree is writable");
        return;
    }
    assert_eq!(now, include_str!("digests.txt"), "logs changed: UPDATE_EXPECT=1 accepts them");
}

#[test]
fn logs_read_back_and_states_digest_alike() {
    for seed in 0..SEEDED {
        let (program, options) = seeded(seed);
        let log = run(&program, &options).expect("a seeded scenario runs");
        let read = Log::from_json_lines(&log.to_json_lines()).expect("a written log reads back");
        assert_eq!(read, log, "seed {seed}");
        let replay = Replay::new(log);
        let mut folded = crate::trace::State::new(&replay.log().header);
        for (index, event) in replay.log().events.iter().enumerate() {
            assert_eq!(replay.state_at(index).digest(), folded.digest(), "seed {seed} at {index}");
            folded.apply(event, &replay.log().header);
        }
    }
}

/// `n` thunks that wait for nothing.
fn independent(n: u32) -> Program {
    let thunk = |i: u32| Thunk::new(Kind::Kernel, format!("k{i}")).writes(0, u64::from(i) * 1024, 1024);
    Program { sequence: Sequence { thunks: (0..n).map(thunk).collect() }, ..Program::default() }
}

/// Executor spec §5: 40 sources are spread over four threads in three rounds, then the piece of
/// 20 takes the last place and everyone else is refused.
#[test]
fn golden_case_of_forty() {
    for queue in Queue::ALL {
        let options = Options {
            executor: executor::Options { queue, ..Default::default() },
            costs: Costs { base: 10_000, bytes_per_tick: 0, jitter_percent: 0 },
            ..Options::default()
        };
        let log = run(&independent(40), &options).expect("runs");
        let mut splits = Vec::new();
        let mut refused = 0;
        for event in &log.events {
            match &event.kind {
                EventKind::Split { kept, nodes, .. } => splits.push((event.actor.0, nodes.len(), *kept)),
                EventKind::Refused { .. } => refused += 1,
                _ => {}
            }
        }
        let by_caller: Vec<_> = splits.iter().filter(|split| split.0 == 0).map(|split| split.1).collect();
        assert_eq!(by_caller, [20, 10, 5], "{queue}: rounds of the caller");
        let last = splits.iter().rfind(|split| split.0 == 0).expect("three splits");
        assert_eq!(last.2, 4, "{queue}: what the caller keeps");
        let others: Vec<_> = splits.iter().filter(|split| split.0 != 0).map(|split| split.1).collect();
        assert_eq!(others, [10], "{queue}: the piece of 20 splits once more");
        assert!(refused > 0, "{queue}: then the session is full");
    }
}

#[test]
fn nine_ready_thunks_are_never_split_and_ten_are() {
    #[track_caller]
    fn check(sources: u32, expected: usize) {
        let log = run(&independent(sources), &Options::default()).expect("runs");
        let splits = log.events.iter().filter(|event| matches!(event.kind, EventKind::Split { .. })).count();
        assert_eq!(splits, expected, "{sources} sources");
    }
    check(9, 0);
    check(10, 1);
}

/// Seed 004: a thunk that never completes leaves the process quiet; independent thunks finish.
#[test]
fn a_thunk_that_never_completes_leaves_quiet() {
    let mut program = independent(12);
    for node in [4, 7] {
        program.sequence.thunks[node] =
            Thunk::new(Kind::Kernel, "after").reads(0, 3 * 1024, 1024).writes(0, node as u64 * 1024, 1024);
    }
    let fault = Fault { path: SequencePath::entry(), node: 3, kind: FaultKind::NeverCompletes };
    let log = run(&program, &Options { faults: vec![fault], ..Options::default() }).expect("runs");
    let last = log.events.last().expect("something happened");
    assert_eq!(last.kind, EventKind::Quiet { never_ready: 2, suspects: Box::new([3]) });
    let replay = Replay::new(log);
    let end = replay.state_at(replay.len());
    let nodes = &end.entry().expect("the entry run").nodes;
    let count = |state| nodes.iter().filter(|&&node| node == state).count();
    assert_eq!((count(NodeState::Done), count(NodeState::Pending), count(NodeState::Waiting)), (9, 1, 2));
    assert!(end.quiet && end.lanes.iter().all(|lane| lane.frames.is_empty()), "all threads are idle");
}

/// Seed 004: while the first collective is on the network, the second one starts.
#[test]
fn a_scheduling_edge_lets_collectives_overlap() {
    let collective = |i: u64| {
        Thunk::new(Kind::AllReduce, format!("all-reduce.{i}"))
            .writes(0, i * 1024, 1024)
            .takes(0, Access::Write)
    };
    let mut program = independent(12);
    program.resources = vec![Resource { kind: ResourceKind::Communicator, label: String::new() }];
    program.sequence.thunks[0] = Thunk { cost: Some(1_000_000), ..collective(0) };
    program.sequence.thunks[1] = collective(1);
    let log = run(&program, &Options::default()).expect("runs");
    let position = |wanted: EventKind| {
        log.events.iter().position(|event| event.kind == wanted).unwrap_or_else(|| panic!("{wanted:?}"))
    };
    let first_pending = position(EventKind::Pending { node: 0 });
    // The completion is counted before the edge is released (seed 004).
    assert_eq!(log.events[first_pending + 1].kind, EventKind::PendingNodes { count: 12 });
    let second = position(EventKind::Started { node: 1 });
    assert!(first_pending < second && second < position(EventKind::Finished { node: 0 }));
}

#[test]
fn faults_must_name_a_thunk() {
    let fault = Fault { path: SequencePath::entry(), node: 12, kind: FaultKind::Fails };
    let error = run(&independent(12), &Options { faults: vec![fault], ..Options::default() });
    assert_eq!(error.expect_err("there is no thunk 12").code, "SM002");
}

#[test]
fn logs_are_limited() {
    let error = run(&independent(12), &Options { max_events: 5, ..Options::default() });
    assert_eq!(error.expect_err("five events are not enough").code, "SM001");
}
