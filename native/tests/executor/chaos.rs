//! Random programs, queues, workers, completions, errors: the properties of executor spec §7.

use proptest::prelude::*;
use thunkscope::executor::{Ended, Options};
use thunkscope_core::executor::{Plan, Queue};
use thunkscope_core::program::{Access, Kind, Program, Resource, ResourceKind, Sequence, Thunk};
use thunkscope_core::sim::{self, ModeChoice};

use crate::support::{check_log, in_order, run};

/// Runs on threads and in program order, and compares everything that must not depend on the schedule.
fn check(what: &str, program: &Program, options: &Options, repeat: usize) {
    let expected = in_order(program, options);
    let (outcomes, log) = run(program, options, repeat);
    for outcome in outcomes {
        match (&expected.ended, &outcome.ended) {
            (Ended::Well, Ended::Well) => {
                assert_eq!(
                    outcome.counts, expected.counts,
                    "{what}: each thunk as often as in program order"
                );
                assert_eq!(outcome.bytes, expected.bytes, "{what}: bytes");
            }
            // The first error in program order may never be reached: another thunk may stall
            // before it, or fail first.
            (Ended::Failed(_) | Ended::Stalled { .. }, Ended::Failed(_)) => {}
            (Ended::Failed(_) | Ended::Stalled { .. }, Ended::Stalled { .. }) => {
                check_stalled(what, program, options, &outcome.counts, &outcome.ended);
            }
            (expected, is) => panic!("{what}: {is:?} where program order gives {expected:?}"),
        }
    }
    if let Some(log) = log {
        check_log(what, program, options, &log);
    }
}

/// Whatever does not depend on a thunk that never completes has been run, unless something failed.
fn check_stalled(what: &str, program: &Program, options: &Options, counts: &[Vec<u32>], ended: &Ended) {
    let Ended::Stalled { progress } = ended else { return };
    let plans = Plan::all(program, &options.executor).expect("builds");
    assert_eq!(progress[0].path, "entry", "{what}");
    assert!(!progress[0].suspects.is_empty(), "{what}: somebody is suspected: {progress:?}");
    let fails =
        |thunk: &Thunk| thunk.extra.get("kernel").is_some_and(|kernel| kernel == "fail" || kernel == "panic");
    if plans.len() > 1 || program.sequence.thunks.iter().any(fails) {
        return;
    }
    let graph = &plans[0].graph;
    let mut held = vec![false; graph.len() as usize];
    for node in 0..graph.len() {
        let never = |node: u32| {
            program.sequence.thunks[node as usize].extra.get("kernel").is_some_and(|kernel| kernel == "never")
        };
        held[node as usize] = graph.incoming(node).iter().any(|edge| {
            let execution = edge.kind == thunkscope_core::graph::EdgeKind::Execution;
            held[edge.node as usize] || execution && never(edge.node)
        });
        let expected = u32::from(!held[node as usize]);
        assert_eq!(counts[0][node as usize], expected, "{what}: thunk {node} ({progress:?})");
    }
}

/// The scenarios of the simulator, with their nested sequences, on threads.
#[test]
fn scenarios_of_the_simulator() {
    for seed in 0..240 {
        let (mut program, scenario) = sim::seeded(seed);
        for fault in &scenario.faults {
            let kernel = match fault.kind {
                sim::FaultKind::Fails => "fail",
                sim::FaultKind::NeverCompletes => "never",
            };
            let thunk = &mut program.sequence.thunks[fault.node as usize];
            if thunk.nested.is_empty() {
                thunk.extra.insert("kernel".to_owned(), kernel.into());
            }
        }
        let options = Options {
            executor: scenario.executor,
            workers: (seed % 9) as u16,
            completion_threads: 1 + (seed % 3) as u16,
            mode: scenario.mode,
            always_split: seed % 4 != 0,
            record: (seed % 2 == 0).then_some(1_000_000),
            seed,
            ..Options::default()
        };
        check(&format!("seed {seed}"), &program, &options, 2);
    }
}

fn thunks() -> impl Strategy<Value = Vec<Thunk>> {
    let slots = || prop::collection::vec((0..12u64, 0..3u64), 0..3);
    let resource = prop::option::weighted(0.3, (0..2u32, any::<bool>()));
    let flags = (prop::bool::weighted(0.15), prop::bool::weighted(0.2), prop::bool::weighted(0.15));
    let kernel = prop_oneof![
        8 => Just(None),
        4 => Just(Some("spin(2000)")),
        2 => Just(Some("add")),
        1 => Just(Some("sort")),
        1 => Just(Some("sleep(50000)")),
    ];
    let wrong = prop::option::weighted(0.02, prop_oneof![Just("fail"), Just("panic"), Just("never")]);
    let thunk = (slots(), slots(), resource, flags, kernel, wrong).prop_map(
        |(reads, writes, resource, flags, kernel, wrong)| {
            let mut thunk = Thunk::new(Kind::Kernel, "k");
            for (slot, size) in reads {
                thunk = thunk.reads(0, slot * 4, size * 4);
            }
            for (slot, size) in writes {
                thunk = thunk.writes(0, slot * 4, size * 4);
            }
            if let Some((resource, write)) = resource {
                thunk = thunk.takes(resource, if write { Access::Write } else { Access::Read });
            }
            (thunk.may_block, thunk.pending, thunk.foreign_pool) = flags;
            if let Some(kernel) = wrong.or(kernel) {
                thunk.extra.insert("kernel".to_owned(), kernel.into());
            }
            thunk
        },
    );
    prop::collection::vec(thunk, 1..30)
}

fn options() -> impl Strategy<Value = Options> {
    (0..3usize, 0..6u32, 0..4u32, 0..9u16, 1..3u16, any::<bool>(), any::<bool>()).prop_map(
        |(queue, max_workers, split_threshold, workers, completion_threads, record, always_split)| {
            let mut options = Options {
                workers,
                completion_threads,
                mode: ModeChoice::Concurrent,
                always_split,
                record: record.then_some(1_000_000),
                ..Options::default()
            };
            options.executor.queue = Queue::ALL[queue];
            options.executor.max_workers = max_workers;
            options.executor.split_threshold = split_threshold;
            options
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schedule_gives_the_sequential_result(thunks in thunks(), options in options()) {
        let kinds = [ResourceKind::Communicator, ResourceKind::Token];
        let program = Program {
            resources: kinds.map(|kind| Resource { kind, label: String::new() }).to_vec(),
            sequence: Sequence { thunks },
            ..Program::default()
        };
        check("random", &program, &options, 2);
    }
}

#[test]
fn a_million_thunks() {
    let program = thunkscope_core::program::Shape::Local.generate(1_000_000, 1);
    let options = Options { workers: 2, ..Options::default() };
    let (outcomes, _) = run(&program, &options, 1);
    assert_eq!(outcomes[0].ended, Ended::Well);
    assert!(outcomes[0].counts[0].iter().all(|&count| count == 1));
}
