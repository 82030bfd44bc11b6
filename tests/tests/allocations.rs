//! After the first run, a run allocates nothing: in program order, concurrent, with splits, blocking
//! and pending thunks, nested sequences. A binary of its own, for its allocator.

mod counting_alloc;

use std::sync::Arc;

use counting_alloc::Counting;
use thunkscope::executor::{Ended, Executor, Options, World};
use thunkscope::kernel::{Rank, Settings};
use thunkscope_core::executor::Queue;
use thunkscope_core::program::{Kind, Nested, Program, Role, Sequence, Shape, Thunk};
use thunkscope_core::sim::ModeChoice;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// Every queue, with and without threads.
fn check(what: &str, program: &Program, mode: ModeChoice) {
    for queue in Queue::ALL {
        for workers in [0, 1, 4] {
            let buffers = Rank::buffers(program, 0).expect("small");
            let rank = Arc::new(Rank::new(program, 0, buffers, None, Settings::default()).expect("kernels"));
            let mut options = Options { workers, mode, always_split: true, ..Options::default() };
            options.executor.queue = queue;
            let mut executor = Executor::new(program, rank, &options, &World::new()).expect("builds");
            assert_eq!(executor.run(), Ended::Well);
            let mut counts = Vec::new();
            // A thread that was just started allocates a little when it begins, and the first run
            // need not wait for it: at most so many rounds see one of them begin.
            for _ in 0..=workers + options.completion_threads {
                let before = ALLOCATOR.count();
                for _ in 0..50 {
                    assert_eq!(executor.run(), Ended::Well);
                }
                counts.push(ALLOCATOR.count() - before);
                if counts.last() == Some(&0) {
                    break;
                }
            }
            assert_eq!(counts.last(), Some(&0), "{what}, {mode:?}, {queue}, {workers} workers: {counts:?}");
        }
    }
}

/// One test: another one beside it would be counted too.
#[test]
fn a_run_after_the_first_allocates_nothing() {
    let mut mixed = Shape::Local.generate(300, 1);
    for (i, thunk) in mixed.sequence.thunks.iter_mut().enumerate() {
        thunk.may_block = i % 7 == 0;
        thunk.pending = i % 11 == 0;
        thunk.foreign_pool = i % 13 == 0;
    }
    let mut turn = Thunk::new(Kind::While, "while");
    turn.trip_count = Some(2);
    turn.nested = vec![Nested { role: Role::Body, sequence: Shape::Wide.generate(40, 1).sequence }];
    let nested = Program { sequence: Sequence { thunks: vec![turn] }, ..Program::default() };
    for mode in [ModeChoice::Sequential, ModeChoice::Concurrent] {
        check("wide", &Shape::Wide.generate(200, 1), mode);
        check("mixed", &mixed, mode);
        check("nested", &nested, mode);
    }
}
