//! XLA's own list of executor tests, by name; the cases are written anew.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use thunkscope::executor::{Call, Ended, Error, Executor, Flags, Options, Ran, Thunks, World};
use thunkscope_core::executor::{Fifo, Lifo, Priority, Queue, ReadyQueue};
use thunkscope_core::graph::{Edge, EdgeKind, Graph, NodeId, Reduction};
use thunkscope_core::program::{Access, Kind, Program, Resource, ResourceKind, Sequence, Thunk};
use thunkscope_core::rng::Rng;
use thunkscope_core::sim::ModeChoice;

use crate::support::{in_order, run};

const I32_ADD: &str = r#"{"name": "add", "dtype": "i32"}"#;

fn kernel(thunk: Thunk, kernel: &str) -> Thunk {
    let mut thunk = thunk;
    let value = serde_json::from_str(kernel).unwrap_or_else(|_| kernel.into());
    thunk.extra.insert("kernel".to_owned(), value);
    thunk
}

/// Reads a slice twice and writes it: doubles every element.
fn double(name: &str, offset: u64, size: u64) -> Thunk {
    let thunk = Thunk::new(Kind::Kernel, name).reads(0, offset, size).reads(0, offset, size);
    kernel(thunk.writes(0, offset, size), I32_ADD)
}

fn graph(thunks: Vec<Thunk>, kind: ResourceKind) -> Graph {
    let resources = [Resource { kind, label: String::new() }];
    Graph::build(&Sequence { thunks }, &resources, Reduction::Upstream).expect("small")
}

fn edges(graph: &Graph, node: NodeId) -> Vec<(NodeId, EdgeKind)> {
    graph.incoming(node).iter().map(|&Edge { node, kind }| (node, kind)).collect()
}

#[test]
fn ordering() {
    let thunks = vec![double("a", 0, 40), double("b", 40, 40), double("c", 20, 40)];
    let graph = graph(thunks, ResourceKind::Token);
    assert_eq!((graph.sources(), graph.sinks()), (&[0, 1][..], &[2][..]));
    assert_eq!(edges(&graph, 2), [(0, EdgeKind::Execution), (1, EdgeKind::Execution)]);
}

#[test]
fn resource_ordering() {
    for (kind, edge) in
        [(ResourceKind::Token, EdgeKind::Execution), (ResourceKind::Communicator, EdgeKind::Scheduling)]
    {
        let thunk = |name| Thunk::new(Kind::Kernel, name).takes(0, Access::Write);
        let graph = graph(vec![thunk("a"), thunk("b"), Thunk::new(Kind::Kernel, "c")], kind);
        assert_eq!(edges(&graph, 1), [(0, edge)]);
        assert_eq!((graph.sources(), graph.sinks()), (&[0, 2][..], &[1, 2][..]));
    }
}

#[test]
fn transitive_reduction() {
    let thunks = vec![double("a", 0, 40), double("b", 0, 40), double("c", 0, 40)];
    let graph = graph(thunks, ResourceKind::Token);
    assert_eq!(graph.edge_count(), 2, "a → c is implied");
    assert_eq!(graph.priorities(), [2, 1, 0]);
}

/// Pushes, then pops one, then gives half away: what stays and what goes.
#[track_caller]
fn check_queue<Q: ReadyQueue>(push: &[NodeId], popped: NodeId, kept: &[NodeId], given: &[NodeId]) {
    let mut queue = Q::default();
    assert!(queue.is_empty());
    push.iter().for_each(|&node| queue.push(node, || node));
    assert_eq!((queue.len(), queue.pop()), (push.len(), Some(popped)));
    let half = queue.pop_half();
    assert_eq!((queue.in_pop_order(), half.in_pop_order()), (kept.to_vec(), given.to_vec()));
}

#[test]
fn fifo_ready_queue_test() {
    check_queue::<Fifo>(&[1, 2, 3, 4, 5], 1, &[2, 3], &[4, 5]);
    check_queue::<Fifo>(&[1, 2], 1, &[], &[2]);
}

#[test]
fn lifo_ready_queue_test() {
    check_queue::<Lifo>(&[1, 2, 3, 4, 5], 5, &[4], &[3, 2, 1]);
    check_queue::<Lifo>(&[1, 2], 2, &[], &[1]);
}

#[test]
fn priority_ready_queue_test() {
    check_queue::<Priority>(&[4, 3, 5, 1, 2], 5, &[4, 3], &[2, 1]);
    check_queue::<Priority>(&[1, 2], 2, &[], &[1]);
}

fn concurrent(queue: Queue, workers: u16, max_workers: u32, split_threshold: u32) -> Options {
    let mut options =
        Options { workers, mode: ModeChoice::Concurrent, always_split: true, ..Options::default() };
    (options.executor.queue, options.executor.max_workers) = (queue, max_workers);
    options.executor.split_threshold = split_threshold;
    options
}

#[test]
fn execute() {
    let fill = kernel(
        Thunk::new(Kind::Kernel, "one").writes(0, 0, 80),
        r#"{"name": "fill", "args": [1], "dtype": "i32"}"#,
    );
    let thunks = vec![fill, double("a", 0, 40), double("b", 40, 40), double("c", 20, 40)];
    let program = Program { sequence: Sequence { thunks }, ..Program::default() };
    for queue in Queue::ALL {
        let (outcomes, _) = run(&program, &concurrent(queue, 4, 8, 0), 50);
        for outcome in outcomes {
            assert_eq!(outcome.ended, Ended::Well);
            let values =
                outcome.bytes[0].1.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().expect("four")));
            let expected = [2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2];
            assert_eq!(values.collect::<Vec<_>>(), expected);
        }
    }
}

/// Completes on a foreign pool; counts on which lanes thunks are run.
#[derive(Clone, Default)]
struct NoOpAsync(Arc<[AtomicU32; 8]>);

impl Thunks for NoOpAsync {
    fn flags(&self, _: usize, _: NodeId) -> Flags {
        Flags { may_pend: true, foreign: true, may_block: false }
    }
    fn run(&self, call: &Call<'_>) -> Ran {
        self.0[usize::from(call.lane)].fetch_add(1, Relaxed);
        Ran::Later(Duration::from_micros(300))
    }
    fn run_later(&self, _: &Call<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// A completion on a foreign pool hands the run back: no thunk is run by a completing thread.
#[test]
fn execute_on_correct_thread_pool() {
    let thunks = (0..100).map(|i| Thunk::new(Kind::Kernel, "no-op").writes(0, i % 3 * 20, 20)).collect();
    let program = Program { sequence: Sequence { thunks }, ..Program::default() };
    let thunks = NoOpAsync::default();
    let options = concurrent(Queue::Fifo, 1, 1, 1_000);
    let mut executor = Executor::new(&program, thunks.clone(), &options, &World::new()).expect("builds");
    assert_eq!(executor.run(), Ended::Well);
    let on = |lane: usize| thunks.0[lane].load(Relaxed);
    // Lane 0 is the caller, lane 1 the pool, lane 2 completes.
    assert_eq!((on(0) + on(1), on(2)), (100, 0));
}

/// XLA's generator: `elements` words in each of two allocations, slices of 32 to 64 words.
fn generated(
    elements: u64,
    thunks: u64,
    resource: Option<(ResourceKind, u64)>,
    errors: bool,
    seed: u64,
) -> Program {
    let mut rng = Rng::new(seed);
    let slice = |rng: &mut Rng| {
        let start = rng.below(elements);
        (start * 4, (elements - start).min(32 + rng.below(33)) * 4)
    };
    let thunk = |i: u64, rng: &mut Rng| {
        let ((from, from_size), (to, to_size)) = (slice(rng), slice(rng));
        let size = from_size.min(to_size);
        let mut thunk = Thunk::new(Kind::Kernel, i.to_string())
            .reads(0, from, size)
            .reads(1, to, size)
            .writes(1, to, size);
        if let Some((_, one_in)) = resource
            && rng.one_in(one_in)
        {
            thunk = thunk.takes(0, Access::Write);
        }
        let fails = errors && rng.one_in(thunks / 10);
        kernel(thunk, if fails { "fail" } else { I32_ADD })
    };
    let thunks = (0..thunks).map(|i| thunk(i, &mut rng)).collect();
    let kind = resource.map_or(ResourceKind::Token, |(kind, _)| kind);
    Program {
        resources: vec![Resource { kind, label: String::new() }],
        sequence: Sequence { thunks },
        ..Program::default()
    }
}

/// `ThunkExecutorStressTest.Execute`: sizes × runner or none × resources × errors × queues.
#[test]
fn thunk_executor_stress_test() {
    let (token, communicator) = (ResourceKind::Token, ResourceKind::Communicator);
    let mut cases = 0;
    for thunks in [10, 100, 500] {
        for resource in [
            None,
            Some((token, 1)),
            Some((token, thunks / 10 + 1)),
            Some((communicator, 1)),
            Some((communicator, thunks / 10 + 1)),
        ] {
            for errors in [false, true] {
                let program = generated(1_024, thunks, resource, errors, cases);
                for queue in Queue::ALL {
                    for workers in [0, 8] {
                        let options = concurrent(queue, workers, 4, 8);
                        let expected = in_order(&program, &options);
                        let (outcomes, _) = run(&program, &options, 1);
                        let what = format!("{thunks} {resource:?} {errors} {queue} {workers}");
                        match expected.ended {
                            Ended::Well => {
                                assert_eq!(outcomes[0].ended, Ended::Well, "{what}");
                                assert_eq!(outcomes[0].bytes, expected.bytes, "{what}");
                            }
                            _ => assert!(matches!(outcomes[0].ended, Ended::Failed(_)), "{what}"),
                        }
                        cases += 1;
                    }
                }
            }
        }
    }
    assert_eq!(cases, 180);
}
