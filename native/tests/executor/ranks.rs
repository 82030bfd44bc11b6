//! Several ranks in one process: collectives meet, and what happens when they cannot.

use std::sync::Arc;

use thunkscope::executor::{Ended, Executor, Options, World, run_together};
use thunkscope::kernel::{Rank, Rendezvous, Settings};
use thunkscope_core::executor::Queue;
use thunkscope_core::program::{Access, Kind, Program, Resource, ResourceKind, Sequence, Thunk};
use thunkscope_core::rng::Rng;
use thunkscope_core::sim::ModeChoice;

/// Each rank's buffers.
type Bytes = Vec<Vec<(u32, Vec<u8>)>>;

/// Runs `program` on ranks with these options, `repeat` times.
fn run(program: &Program, options: &[Options], settings: Settings, repeat: u32) -> (Vec<Ended>, Bytes) {
    let world = World::new();
    let buffers: Vec<_> =
        (0..options.len()).map(|rank| Rank::buffers(program, rank).expect("small")).collect();
    let rendezvous = Rendezvous::new(&world, buffers.clone());
    let mut ranks = Vec::new();
    let mut executors = Vec::new();
    for (number, (options, buffers)) in options.iter().zip(buffers).enumerate() {
        let rank = Rank::new(program, number, buffers, Some(Arc::clone(&rendezvous)), settings);
        let rank = Arc::new(rank.expect("known kernels"));
        executors.push(Executor::new(program, Arc::clone(&rank), options, &world).expect("builds"));
        ranks.push(rank);
    }
    let ended = run_together(&mut executors, repeat, &|_, _, _| {});
    drop(executors);
    (ended, ranks.iter().map(|rank| rank.bytes().expect("nothing runs")).collect())
}

fn options(queue: Queue, workers: u16, mode: ModeChoice) -> Options {
    let mut options = Options { workers, mode, always_split: true, ..Options::default() };
    options.executor.queue = queue;
    options
}

fn communicator() -> Vec<Resource> {
    vec![Resource { kind: ResourceKind::Communicator, label: String::new() }]
}

/// Collectives of one communicator among kernels.
fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let kinds =
        [Kind::AllReduce, Kind::AllGather, Kind::AllToAll, Kind::CollectivePermute, Kind::ReduceScatter];
    let thunk = |i: u64, rng: &mut Rng| {
        let slot = |rng: &mut Rng| (rng.below(2) as u32, rng.below(8) * 64);
        let ((a, from), (b, to)) = (slot(rng), slot(rng));
        let kind = if rng.one_in(3) { kinds[rng.below(5) as usize] } else { Kind::Kernel };
        let thunk = Thunk::new(kind, format!("t{i}")).reads(a, from, 64).writes(b, to, 64);
        if kind == Kind::Kernel { thunk } else { thunk.takes(0, Access::Write) }
    };
    let thunks = (0..20).map(|i| thunk(i, &mut rng)).collect();
    Program { resources: communicator(), sequence: Sequence { thunks }, ..Program::default() }
}

#[test]
fn ranks_get_what_they_get_in_program_order() {
    for seed in 0..40 {
        let program = program(seed);
        let ranks = 2 + seed as usize % 3;
        let in_order = vec![options(Queue::Fifo, 0, ModeChoice::Sequential); ranks];
        let (ended, expected) = run(&program, &in_order, Settings::default(), 2);
        assert_eq!(ended, vec![Ended::Well; ranks], "seed {seed}");
        let queue = Queue::ALL[seed as usize % 3];
        let workers = (seed % 4) as u16;
        let concurrent = vec![options(queue, workers, ModeChoice::Concurrent); ranks];
        let (ended, bytes) = run(&program, &concurrent, Settings::default(), 2);
        assert_eq!(ended, vec![Ended::Well; ranks], "seed {seed}");
        assert_eq!(bytes, expected, "seed {seed}");
    }
}

/// Two collectives that share nothing but their communicator.
fn two_collectives() -> Program {
    let thunk = |i: u32| {
        Thunk::new(Kind::AllReduce, format!("all-reduce.{i}"))
            .reads(i, 0, 64)
            .writes(i, 0, 64)
            .takes(0, Access::Write)
    };
    Program {
        resources: communicator(),
        sequence: Sequence { thunks: vec![thunk(0), thunk(1)] },
        ..Program::default()
    }
}

/// One thread a rank, collectives that keep it, and ranks whose queues differ: program order of the
/// starts is all that keeps them from waiting for each other.
#[test]
fn without_scheduling_edges_two_ranks_deadlock_and_say_so() {
    let settings = Settings { blocking_collectives: true, ..Settings::default() };
    let mut ranks =
        [options(Queue::Fifo, 0, ModeChoice::Concurrent), options(Queue::Lifo, 0, ModeChoice::Concurrent)];
    let (ended, _) = run(&two_collectives(), &ranks, settings, 3);
    assert_eq!(ended, [Ended::Well, Ended::Well], "with them");
    ranks.iter_mut().for_each(|options| options.without_scheduling_edges = true);
    let (ended, _) = run(&two_collectives(), &ranks, settings, 3);
    for (rank, ended) in ended.iter().enumerate() {
        let Ended::Failed(failed) = ended else { panic!("rank {rank}: {ended:?}") };
        assert_eq!(failed.node, rank as u32);
        assert_eq!(
            failed.message,
            "deadlock: the ranks wait for each other; in thunk 0 `all-reduce.0` rank 0 waits for rank 1; \
             in thunk 1 `all-reduce.1` rank 1 waits for rank 0. They started their collectives in \
             different orders; scheduling edges prevent that"
        );
    }
}

#[test]
fn a_rank_that_ends_is_missed_by_the_others() {
    for blocking_collectives in [false, true] {
        let settings = Settings { blocking_collectives, ..Settings::default() };
        let all = options(Queue::Fifo, 1, ModeChoice::Concurrent);
        let world = World::new();
        let programs = [two_collectives(), {
            // The same thunks, but the first fails before it meets anybody.
            let mut other = two_collectives();
            other.sequence.thunks[0].extra.insert("kernel".to_owned(), "fail".into());
            other
        }];
        let buffers: Vec<_> = (0..2).map(|rank| Rank::buffers(&programs[0], rank).expect("small")).collect();
        let rendezvous = Rendezvous::new(&world, buffers.clone());
        let mut executors: Vec<_> = programs
            .iter()
            .zip(buffers)
            .enumerate()
            .map(|(number, (program, buffers))| {
                let rank = Rank::new(program, number, buffers, Some(Arc::clone(&rendezvous)), settings);
                let rank = Arc::new(rank.expect("known kernels"));
                Executor::new(program, rank, &all, &world).expect("builds")
            })
            .collect();
        let ended = run_together(&mut executors, 1, &|_, _, _| {});
        let Ended::Failed(failed) = &ended[0] else { panic!("{ended:?}") };
        assert!(failed.message.starts_with("waits for a rank that will not come"), "{failed:?}");
        assert!(failed.message.ends_with("Rank 1 has ended, failed or stalled"), "{failed:?}");
        assert!(matches!(&ended[1], Ended::Failed(failed) if failed.message.contains("fails")), "{ended:?}");
    }
}
