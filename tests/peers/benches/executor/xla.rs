//! The micro-benchmarks of XLA's own executor test, by name, with its sizes and its generator: 1,024
//! words in each of two allocations, slices of 32 to 64 words, kernels that add.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thunkscope::executor::{Ended, Executor, Options, World};
use thunkscope::kernel::{Rank, Settings};
use thunkscope_core::executor::{Fifo, Lifo, Priority, ReadyQueue};
use thunkscope_core::program::{Access, Kind, Program, Resource, ResourceKind, Sequence, Thunk};
use thunkscope_core::rng::Rng;

const QUEUE_SIZES: [u32; 5] = [1, 2, 4, 8, 16];
const SIZES: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

pub(crate) fn run() {
    println!("\nns, median of 21 turns of some milliseconds\n");
    println!("| benchmark | ns |");
    println!("| --- | ---: |");
    queues::<Fifo>("Fifo");
    queues::<Lifo>("Lifo");
    queues::<Priority>("Priority");
    for n in SIZES {
        let program = generated(n, false);
        row(&format!("BM_CreateThunkExecutor/{n}"), || {
            black_box(executor(&program, 0));
        });
    }
    for (name, one_resource, workers) in [
        ("BM_SequentialThunkExecutor", true, 0),
        ("BM_SyncThunkExecutor", false, 0),
        ("BM_AsyncThunkExecutor", false, 8),
    ] {
        for n in SIZES {
            let mut executor = executor(&generated(n, one_resource), workers);
            row(&format!("{name}/{n}"), || assert_eq!(executor.run(), Ended::Well));
        }
    }
}

fn queues<Q: ReadyQueue>(name: &str) {
    for n in QUEUE_SIZES {
        let mut queue = Q::default();
        row(&format!("BM_{name}ReadyQueuePushPop/{n}"), || {
            (0..n).for_each(|node| queue.push(node, || node * 7 % 16));
            (0..n).for_each(|_| _ = black_box(queue.pop()));
        });
    }
    for n in QUEUE_SIZES {
        let (mut queue, mut half) = (Q::default(), Q::default());
        row(&format!("BM_{name}ReadyQueuePushPopHalf/{n}"), || {
            (0..n).for_each(|node| queue.push(node, || node * 7 % 16));
            queue.pop_half_into(&mut half);
            black_box(&mut half).clear();
            queue.clear();
        });
    }
}

fn row(name: &str, mut once: impl FnMut()) {
    let mut runs = 1u32;
    let mut turn = |runs: u32| {
        let start = Instant::now();
        (0..runs).for_each(|_| once());
        start.elapsed()
    };
    while turn(runs) < Duration::from_millis(2) && runs < 1 << 20 {
        runs *= 2;
    }
    let mut times: Vec<f64> = (0..21).map(|_| turn(runs).as_nanos() as f64 / f64::from(runs)).collect();
    times.sort_by(f64::total_cmp);
    println!("| {name} | {:.1} |", times[10]);
}

fn executor(program: &Program, workers: u16) -> Executor {
    let buffers = Rank::buffers(program, 0).expect("small");
    let rank = Rank::new(program, 0, buffers, None, Settings::default()).expect("known kernels");
    let mut options = Options { workers, ..Options::default() };
    (options.executor.buffer_threshold, options.executor.thunk_threshold) = (0, 0);
    Executor::new(program, Arc::new(rank), &options, &World::new()).expect("builds")
}

fn generated(thunks: u64, one_resource: bool) -> Program {
    const WORDS: u64 = 1_024;
    let mut rng = Rng::new(1);
    let mut slice = || {
        let start = rng.below(WORDS);
        (start * 4, (WORDS - start).min(32 + rng.below(33)) * 4)
    };
    let thunk = |i: u64| {
        let ((from, from_size), (to, to_size)) = (slice(), slice());
        let size = from_size.min(to_size);
        let thunk = Thunk::new(Kind::Kernel, i.to_string())
            .reads(0, from, size)
            .reads(1, to, size)
            .writes(1, to, size);
        let mut thunk = if one_resource { thunk.takes(0, Access::Write) } else { thunk };
        thunk.extra.insert("kernel".to_owned(), serde_json::json!({ "name": "add", "dtype": "i32" }));
        thunk
    };
    Program {
        resources: vec![Resource { kind: ResourceKind::Token, label: String::new() }],
        sequence: Sequence { thunks: (0..thunks).map(thunk).collect() },
        ..Program::default()
    }
}
