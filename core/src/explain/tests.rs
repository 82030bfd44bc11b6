//! The sentences, on programs small enough to check by hand.

use super::*;
use crate::executor::{Options, Plan};
use crate::program::{Kind, Nested, Program, Role, Sequence, Thunk};
use crate::sim;
use crate::trace::Replay;

fn program(thunks: Vec<Thunk>) -> Program {
    Program { sequence: Sequence { thunks }, ..Program::default() }
}

fn independent(n: u32, size: u64) -> Program {
    program(
        (0..n)
            .map(|i| Thunk::new(Kind::Kernel, format!("k{i}")).writes(0, u64::from(i) * size, size))
            .collect(),
    )
}

/// Checks the whole card, as printed.
#[track_caller]
fn check(program: &Program, expected: &str) {
    let report = Report::new(program, Options::default()).expect("explains");
    let card = &report.cards[0];
    let mut text = format!("{}\n", card.headline);
    card.findings.iter().for_each(|finding| text += &format!("- {finding}\n"));
    card.advice.iter().for_each(|advice| text += &format!("> {advice}\n"));
    assert_eq!(text.trim(), expected.trim());
}

#[test]
fn few_thunks() {
    check(
        &independent(8, 1024),
        "
Sequential, on one thread: it has 8 thunks (the limit is 8).
- Chain rule does not hold: thunk 1 `k1` does not wait for thunk 0.
- Small-buffers rule does not hold: the largest slice has 1,024 B (thunk 0 `k0`), the limit is 512 B.
- Few-thunks rule holds: 8 thunks, the limit is 8.
- Longest chain of dependencies: 1 of 8 thunks; by data flow alone (memory never reused) 1.
- At most 7 other thunks would be ready at once if it ran concurrently; a queue is split when more than 8 are.
> More work in one jit: above 8 thunks the few-thunks rule no longer holds. No flag and no environment variable reaches this threshold.
> That alone would not bring a second thread: work is handed over only when 9 other thunks are ready, and here 7 would be. Batch or unroll independent parts.
",
    );
}

#[test]
fn small_buffers() {
    check(
        &independent(16, 512),
        "
Sequential, on one thread: no slice is larger than 512 B.
- Chain rule does not hold: thunk 1 `k1` does not wait for thunk 0.
- Small-buffers rule holds: the largest slice has 512 B (thunk 0 `k0`), the limit is 512 B.
- Few-thunks rule does not hold: 16 thunks, the limit is 8.
- Longest chain of dependencies: 1 of 16 thunks; by data flow alone (memory never reused) 1.
- At most 15 other thunks would be ready at once if it ran concurrently; a queue is split when more than 8 are.
> A larger batch or wider layers: one slice above 512 B lifts the small-buffers rule. No flag and no environment variable reaches this threshold.
",
    );
}

#[test]
fn a_chain_of_reused_memory() {
    check(
        &program((0..9).map(|i| Thunk::new(Kind::Kernel, format!("k{i}")).writes(3, 0, 1024)).collect()),
        "
Sequential, on one thread: each thunk waits for the one before it.
- Chain rule holds: every thunk waits for the one before it.
- Small-buffers rule does not hold: the largest slice has 1,024 B (thunk 0 `k0`), the limit is 512 B.
- Few-thunks rule does not hold: 9 thunks, the limit is 8.
- Longest chain of dependencies: 9 of 9 thunks; by data flow alone (memory never reused) 1.
- No other thunk would be ready at once if it ran concurrently; a queue is split when more than 8 are.
- 8 of 8 edges exist only because memory is reused: allocation 3 (8 edges).
> As compiled, nothing can run side by side. By data flow alone the longest chain would be 1 of 9 thunks: it is the reuse of memory that orders the rest.
> Reused memory lengthens the longest chain. XLA chooses the reuse; the one flag that bears on it is --xla_cpu_scheduler_type in XLA_FLAGS, whose default already favours concurrency over memory. So this helps only if CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED was asked for.
",
    );
}

#[test]
fn concurrent_but_never_split() {
    check(
        &independent(9, 1024),
        "
Concurrent, but never split: at most 8 other thunks are ready at once, and work is handed over only above 8. One task, one thread.
- Chain rule does not hold: thunk 1 `k1` does not wait for thunk 0.
- Small-buffers rule does not hold: the largest slice has 1,024 B (thunk 0 `k0`), the limit is 512 B.
- Few-thunks rule does not hold: 9 thunks, the limit is 8.
- Longest chain of dependencies: 1 of 9 thunks; by data flow alone (memory never reused) 1.
> More independent work in one jit: 9 ready thunks beside the running one are needed, 8 were seen. Batching or unrolling independent parts raises that number.
",
    );
}

#[test]
fn concurrent() {
    check(
        &independent(40, 1024),
        "
Concurrent: hands work over 4 times, so at most 5 threads take part.
- Chain rule does not hold: thunk 1 `k1` does not wait for thunk 0.
- Small-buffers rule does not hold: the largest slice has 1,024 B (thunk 0 `k0`), the limit is 512 B.
- Few-thunks rule does not hold: 40 thunks, the limit is 8.
- Longest chain of dependencies: 1 of 40 thunks; by data flow alone (memory never reused) 1.
- At most 39 other thunks are ready at once; a queue is split when more than 8 are.
",
    );
}

/// Nothing is split: a blocking thunk on a thread of its own does not make the rest parallel.
#[test]
fn one_collective_does_not_make_a_program_parallel() {
    let mut thunks: Vec<_> =
        (0..12).map(|i| Thunk::new(Kind::Kernel, format!("k{i}")).writes(0, 0, 1024)).collect();
    let collective = Thunk::new(Kind::AllReduce, "all-reduce").writes(5, 0, 1024);
    thunks.insert(0, Thunk { may_block: true, ..collective });
    check(
        &program(thunks),
        "
Concurrent, but never split: at most 1 other thunk is ready at once, and work is handed over only above 8. One task, one thread, apart from blocking thunks.
- Chain rule does not hold: thunk 1 `k0` does not wait for thunk 0.
- Small-buffers rule does not hold: the largest slice has 1,024 B (thunk 0 `all-reduce`), the limit is 512 B.
- Few-thunks rule does not hold: 13 thunks, the limit is 8.
- Longest chain of dependencies: 12 of 13 thunks; by data flow alone (memory never reused) 1.
- 1 thunk that may block (collectives, infeed, outfeed) is handed to another thread, each alone and without asking for the cap of 4 workers.
- 11 of 11 edges exist only because memory is reused: allocation 0 (11 edges).
> More independent work in one jit: 9 ready thunks beside the running one are needed, 1 was seen. Batching or unrolling independent parts raises that number.
> Reused memory lengthens the longest chain. XLA chooses the reuse; the one flag that bears on it is --xla_cpu_scheduler_type in XLA_FLAGS, whose default already favours concurrency over memory. So this helps only if CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED was asked for.
",
    );
}

/// What comes out of a conditional may be what was there before it: no reuse, but data flow.
#[test]
fn a_branch_not_taken_lets_data_through() {
    let mut conditional = Thunk::new(Kind::Conditional, "if");
    let branch = |n, thunks| Nested { role: Role::Branch(n), sequence: Sequence { thunks } };
    conditional.nested =
        vec![branch(0, vec![Thunk::new(Kind::Copy, "b").writes(0, 0, 1024)]), branch(1, Vec::new())];
    let program = program(vec![
        Thunk::new(Kind::Kernel, "init").writes(0, 0, 1024),
        conditional,
        Thunk::new(Kind::Kernel, "use").reads(0, 0, 1024).writes(1, 0, 1024),
    ]);
    let report = Report::new(&program, Options::default()).expect("explains");
    let entry = report.cards.iter().find(|card| card.plan == 0).expect("the entry");
    assert_eq!((entry.analysis.true_depth, entry.analysis.false_edges.len()), (3, 0));
}

/// The body of a loop comes before what runs once, and the program has one answer.
#[test]
fn loops_weigh_by_their_trips() {
    let body = |n: u32| independent(n, 1024).sequence;
    let mut looped = Thunk::new(Kind::While, "while");
    looped.nested = vec![Nested { role: Role::Body, sequence: body(4) }];
    looped.trip_count = Some(200);
    let mut thunks = body(8).thunks;
    thunks.push(looped);
    let program = program(thunks);
    let report = Report::new(&program, Options::default()).expect("explains");
    let order: Vec<_> = report.cards.iter().map(|card| (card.path.to_string(), card.repeats)).collect();
    assert_eq!(order, [("entry/8.body".to_owned(), 200), ("entry".to_owned(), 1)]);
    assert_eq!(
        report.summary,
        "Nothing here is split between threads: as far as thunks go, this program runs on one core."
    );
}

#[test]
fn names_cannot_steer_a_terminal() {
    let thunk = Thunk::new(Kind::Kernel, "\u{1b}[31m\nfake").writes(0, 0, 1024);
    let program = program(vec![thunk.clone(), thunk]);
    let report = Report::new(&program, Options::default()).expect("explains");
    let text = report.cards[0].findings.join(" ") + &to_xla_text(&report);
    assert!(text.contains("\\u{1b}[31m\\nfake"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn nothing_and_one_thunk() {
    check(&program(Vec::new()), "There is nothing to run.");
    check(
        &independent(1, 4),
        "
One thunk: there is nothing to run beside it.
- Chain rule holds: every thunk waits for the one before it.
- Small-buffers rule holds: the largest slice has 4 B (thunk 0 `k0`), the limit is 512 B.
- Few-thunks rule holds: 1 thunk, the limit is 8.
",
    );
}

/// What `why` says about each node at the instant after the first `step` starts.
#[track_caller]
fn check_why(program: &Program, starts: usize, expected: &[&str]) {
    let options = sim::Options { mode: sim::ModeChoice::Concurrent, ..sim::Options::default() };
    let plans = Plan::all(program, &options.executor).expect("plans");
    let replay = Replay::new(sim::run_plans(program, &plans, &options).expect("runs"));
    let started = |event: &crate::trace::Event| matches!(event.kind, crate::trace::EventKind::Started { .. });
    let places = replay.log().events.iter().enumerate().filter(|(_, event)| started(event));
    let index = places.map(|(index, _)| index + 1).nth(starts - 1).expect("that many starts");
    let state = replay.state_at(index);
    let said: Vec<_> = (0..expected.len() as u32).map(|node| why(program, &plans, &state, 0, node)).collect();
    assert_eq!(said, expected);
}

#[test]
fn why_each_thunk_stands_where_it_stands() {
    let kernel = |name: &str| Thunk::new(Kind::Kernel, name);
    let program = program(vec![
        kernel("a").writes(0, 0, 64),
        kernel("b").writes(0, 64, 64),
        kernel("sum").reads(0, 0, 128).writes(0, 128, 64),
        kernel("reuse").writes(0, 0, 64),
    ]);
    check_why(
        &program,
        1,
        &[
            "Thunk 0 `a` runs. When it completes it releases 2.",
            "Thunk 1 `b` is ready, alone in the queue of lane 0.",
            "Thunk 2 `sum` waits: it reads what 0 and 1 write. Counter 2 of 2 edges.",
            "Thunk 3 `reuse` waits: it overwrites what 2 reads. Counter 1 of 1 edge.",
        ],
    );
    check_why(
        &program,
        2,
        &[
            "Thunk 0 `a` has completed. It released 2.",
            "Thunk 1 `b` runs. When it completes it releases 2.",
            "Thunk 2 `sum` waits: it reads what 1 writes. Counter 1 of 2 edges.",
        ],
    );
}
