//! Runs that go wrong, are looked at, are cancelled; pools of no thread.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use thunkscope::executor::{
    Call, Completer, Ended, Error, Executor, Flags, Options, Ran, Synced, Thunks, World,
};
use thunkscope::kernel::{Rank, Settings};
use thunkscope_core::executor::progress::SuspectState;
use thunkscope_core::graph::NodeId;
use thunkscope_core::program::{Kind, Nested, Program, Role, Sequence, Thunk};
use thunkscope_core::sim::ModeChoice;

/// One thunk after the other, with these kernels.
fn chain(kernels: &[&str]) -> Program {
    let thunk = |(i, kernel): (usize, &&str)| {
        let mut thunk = Thunk::new(Kind::Kernel, format!("k{i}")).reads(0, 0, 64).writes(0, 0, 64);
        thunk.extra.insert("kernel".to_owned(), (*kernel).into());
        thunk
    };
    Program {
        sequence: Sequence { thunks: kernels.iter().enumerate().map(thunk).collect() },
        ..Program::default()
    }
}

fn rank(program: &Program, settings: Settings) -> Arc<Rank> {
    let buffers = Rank::buffers(program, 0).expect("small");
    Arc::new(Rank::new(program, 0, buffers, None, settings).expect("known kernels"))
}

/// Every way to run it, with pools of none, one and several threads.
#[track_caller]
fn check(program: &Program, expected: impl Fn(&Ended) -> bool) {
    for workers in [0, 1, 4] {
        for mode in [ModeChoice::Sequential, ModeChoice::Concurrent] {
            let options = Options { workers, mode, always_split: true, ..Options::default() };
            let thunks = rank(program, Settings::default());
            let mut executor = Executor::new(program, thunks, &options, &World::new()).expect("builds");
            // Again after it went wrong: nothing of the first run is left.
            for _ in 0..3 {
                let ended = executor.run();
                assert!(expected(&ended), "{workers} {mode:?} {ended:?}");
            }
        }
    }
}

fn fails_with(node: NodeId, message: &str) -> impl Fn(&Ended) -> bool {
    move |ended| matches!(ended, Ended::Failed(f) if f.node == node && f.message == message)
}

#[test]
fn each_way_to_end_is_told_apart() {
    check(&chain(&[]), |ended| *ended == Ended::Well);
    check(&chain(&["fill(1)", "add"]), |ended| *ended == Ended::Well);
    check(&chain(&["fill(1)", "fail", "add"]), fails_with(1, "fails, as its kernel says"));
    check(&chain(&["panic", "add"]), fails_with(0, "panicked: thunk 0 panics, as its kernel says"));
    check(&chain(&["transpose(9,9)"]), fails_with(0, "reads 64 bytes where 324 are needed"));
    check(&chain(&["add", "never", "add", "add"]), |ended| {
        let Ended::Stalled { progress } = ended else { return false };
        let says = progress[0].to_string();
        progress[0].suspects.len() == 1
            && progress[0].suspects[0].state == SuspectState::Pending
            && says.contains("thunk 1 `k1` pending for")
            && says.contains(
                "; 2 thunks never became ready, the first is thunk 2 `k2`; last completed: thunk 0 `k0`",
            )
    });
}

/// The queue of the lane on which a kernel panics holds others, which still have to be counted off.
#[test]
fn a_panic_loses_nothing_that_was_ready() {
    let mut program = chain(&["fill(1)"]);
    for i in 1..40 {
        let mut thunk = Thunk::new(Kind::Kernel, format!("k{i}")).reads(0, 0, 64).writes(0, 64 * i, 64);
        thunk.extra.insert("kernel".to_owned(), if i == 20 { "panic" } else { "copy" }.into());
        program.sequence.thunks.push(thunk);
    }
    check(&program, fails_with(20, "panicked: thunk 20 panics, as its kernel says"));
}

#[test]
fn a_failure_inside_control_flow_is_found_where_it_happened() {
    let inner = chain(&["fill(1)", "fail"]);
    let mut call = Thunk::new(Kind::Call, "call");
    call.nested = vec![Nested { role: Role::Called, sequence: inner.sequence }];
    let mut outer = Thunk::new(Kind::Call, "outer");
    outer.nested = vec![Nested { role: Role::Called, sequence: Sequence { thunks: vec![call] } }];
    let program = Program { sequence: Sequence { thunks: vec![outer] }, ..Program::default() };
    check(
        &program,
        |ended| matches!(ended, Ended::Failed(f) if f.path == "entry/0.call/0.call" && f.node == 1),
    );
}

/// A loop whose body pends each time goes round on the completing thread, a thousand times.
#[test]
fn a_long_loop_of_pending_thunks_takes_no_stack() {
    let mut body = chain(&["add", "add"]).sequence;
    body.thunks[1].pending = true;
    let mut turn = Thunk::new(Kind::While, "while");
    turn.trip_count = Some(3_000);
    turn.nested = vec![Nested { role: Role::Body, sequence: body }];
    let program = Program { sequence: Sequence { thunks: vec![turn] }, ..Program::default() };
    let options = Options { max_trips: 3_000, ..Options::default() };
    for mode in [ModeChoice::Sequential, ModeChoice::Concurrent] {
        let options = Options { mode, ..options.clone() };
        let thunks = rank(&program, Settings::default());
        let mut executor = Executor::new(&program, thunks, &options, &World::new()).expect("builds");
        assert_eq!(executor.run(), Ended::Well);
    }
}

#[test]
fn a_run_is_looked_at_and_cancelled_from_outside() {
    let program = chain(&["add", "sleep(3600000000000)", "add"]);
    let options = Options { mode: ModeChoice::Concurrent, ..Options::default() };
    let thunks = rank(&program, Settings::default());
    let mut executor = Executor::new(&program, thunks, &options, &World::new()).expect("builds");
    let monitor = executor.monitor();
    let looks = std::thread::spawn(move || {
        let start = Instant::now();
        loop {
            let progress = monitor.progress();
            let running = progress.first().and_then(|entry| entry.suspects.first());
            if running.is_some_and(|suspect| suspect.thunk.node == 1) {
                let entry = progress[0].clone();
                let synced = monitor.sync(0, Duration::from_millis(1));
                monitor.cancel();
                return (entry, synced);
            }
            assert!(start.elapsed() < Duration::from_secs(60), "the run never came to its second thunk");
            std::thread::yield_now();
        }
    });
    assert_eq!(executor.run(), Ended::Cancelled);
    let (entry, synced) = looks.join().expect("looks");
    assert_eq!((entry.never_ready, entry.suspects[0].state), (1, SuspectState::Running));
    assert_eq!(entry.last_completed.iter().map(|thunk| thunk.node).collect::<Vec<_>>(), [0]);
    assert_eq!(synced, Synced::TimeOut);
}

#[test]
fn a_sync_of_a_lane_answers_what_happened_on_it() {
    let answer = |kernels: &[&str], op_debug| {
        let program = chain(kernels);
        let thunks = rank(&program, Settings { op_debug, ..Settings::default() });
        let options = Options { workers: 0, ..Options::default() };
        let mut executor =
            Executor::new(&program, Arc::clone(&thunks), &options, &World::new()).expect("builds");
        executor.run();
        let monitor = executor.monitor();
        let sync = || monitor.sync(0, Duration::from_secs(60));
        ((sync(), sync()), thunks.take_overflowed())
    };
    let none = Vec::<String>::new();
    assert_eq!(answer(&["fill(1)"], true), ((Synced::None, Synced::None), none.clone()));
    assert_eq!(answer(&["overflow"], false), ((Synced::None, Synced::None), none.clone()));
    let named = vec!["thunk 1 `k1`".to_owned()];
    assert_eq!(answer(&["fill(1)", "overflow"], true), ((Synced::Overflow, Synced::None), named));
    assert_eq!(answer(&["fail"], true), ((Synced::Error, Synced::None), none));
}

/// Gives its completers away.
#[derive(Clone, Default)]
struct GivenAway(Arc<Mutex<Vec<Completer>>>);

impl Thunks for GivenAway {
    fn flags(&self, _: usize, _: NodeId) -> Flags {
        Flags { may_pend: true, ..Flags::default() }
    }
    fn run(&self, call: &Call<'_>) -> Ran {
        self.0.lock().expect("never poisoned").push(call.completer());
        Ran::Pending
    }
}

/// Threads that the executor knows nothing of complete its thunks; a completer that is dropped fails
/// its thunk, instead of leaving it for ever.
#[test]
fn completers_work_from_anywhere() {
    for dropped in [false, true] {
        let program = Program {
            sequence: Sequence {
                thunks: (0..20).map(|i| Thunk::new(Kind::Kernel, "k").writes(0, i % 4 * 4, 4)).collect(),
            },
            ..Program::default()
        };
        let thunks = GivenAway::default();
        let options = Options { workers: 1, ..Options::default() };
        let mut executor = Executor::new(&program, thunks.clone(), &options, &World::new()).expect("builds");
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let completing = std::thread::spawn(move || {
            while stopped.try_recv().is_err() {
                let given: Vec<_> = thunks.0.lock().expect("never poisoned").drain(..).collect();
                for (i, completer) in given.into_iter().enumerate() {
                    if dropped && i % 2 == 0 { drop(completer) } else { completer.complete(Ok(())) }
                }
                std::thread::yield_now();
            }
        });
        let ended = executor.run();
        stop.send(()).expect("still there");
        completing.join().expect("completes");
        match ended {
            Ended::Well => assert!(!dropped),
            Ended::Failed(failed) => assert!(dropped && failed.message.contains("was dropped"), "{failed:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_thunk_that_pends_undeclared_fails() {
    struct Undeclared;
    impl Thunks for Undeclared {
        fn flags(&self, _: usize, _: NodeId) -> Flags {
            Flags::default()
        }
        fn run(&self, _: &Call<'_>) -> Ran {
            Ran::Pending
        }
        fn run_later(&self, _: &Call<'_>) -> Result<(), Error> {
            Ok(())
        }
    }
    let program = chain(&["add"]);
    for mode in [ModeChoice::Sequential, ModeChoice::Concurrent] {
        let options = Options { mode, ..Options::default() };
        let mut executor = Executor::new(&program, Undeclared, &options, &World::new()).expect("builds");
        assert!(
            matches!(executor.run(), Ended::Failed(failed) if failed.message.contains("had not declared"))
        );
    }
}
