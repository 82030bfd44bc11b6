//! What the tests share: thunks that are counted, runs that are compared.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::fold::check_fold;
use thunkscope::executor::{Call, Ended, Error, Executor, Flags, Options, Ran, Thunks, World};
use thunkscope::kernel::{Rank, Settings};
use thunkscope_core::executor::Plan;
use thunkscope_core::graph::{EdgeKind, NodeId};
use thunkscope_core::program::Program;
use thunkscope_core::sim::ModeChoice;
use thunkscope_core::trace::{EventKind, Log, Mode};

/// The thunks of a rank, counted.
#[derive(Clone)]
pub(crate) struct Counted {
    rank: Arc<Rank>,
    counts: Arc<Vec<Vec<AtomicU32>>>,
}

impl Counted {
    pub(crate) fn new(program: &Program) -> Self {
        let buffers = Rank::buffers(program, 0).expect("small");
        let rank = Rank::new(program, 0, buffers, None, Settings::default()).expect("known kernels");
        let counters = |thunks: usize| (0..thunks).map(|_| AtomicU32::new(0)).collect();
        let counts =
            program.sequences().iter().map(|(_, sequence)| counters(sequence.thunks.len())).collect();
        Self { rank: Arc::new(rank), counts: Arc::new(counts) }
    }

    /// How often each thunk was run, by sequence, since this was asked last.
    pub(crate) fn take_counts(&self) -> Vec<Vec<u32>> {
        self.counts.iter().map(|plan| plan.iter().map(|count| count.swap(0, Relaxed)).collect()).collect()
    }
}

impl Thunks for Counted {
    fn flags(&self, plan: usize, node: NodeId) -> Flags {
        self.rank.flags(plan, node)
    }
    fn name(&self, plan: usize, node: NodeId) -> String {
        self.rank.name(plan, node)
    }
    fn run(&self, call: &Call<'_>) -> Ran {
        self.counts[call.plan][call.node as usize].fetch_add(1, Relaxed);
        self.rank.run(call)
    }
    fn run_later(&self, call: &Call<'_>) -> Result<(), Error> {
        self.rank.run_later(call)
    }
}

/// What a run came to.
pub(crate) struct Outcome {
    pub(crate) ended: Ended,
    pub(crate) counts: Vec<Vec<u32>>,
    pub(crate) bytes: Vec<(u32, Vec<u8>)>,
}

/// Runs `program` `repeat` times from freshly filled buffers.
pub(crate) fn run(program: &Program, options: &Options, repeat: usize) -> (Vec<Outcome>, Option<Log>) {
    let thunks = Counted::new(program);
    let mut executor = Executor::new(program, thunks.clone(), options, &World::new()).expect("builds");
    let mut outcomes = Vec::new();
    for _ in 0..repeat {
        thunks.rank.refill();
        let ended = executor.run();
        let bytes = thunks.rank.bytes().expect("nothing runs any more");
        outcomes.push(Outcome { ended, counts: thunks.take_counts(), bytes });
    }
    let report = executor.report();
    assert!(report.peak_tried <= options.executor.max_workers as usize, "the cap is exact: {report:?}");
    (outcomes, executor.take_log(program, String::new()).map(|(log, _)| log))
}

/// The same in program order, on one thread.
pub(crate) fn in_order(program: &Program, options: &Options) -> Outcome {
    let options = Options {
        mode: ModeChoice::Sequential,
        workers: 0,
        record: None,
        without_scheduling_edges: false,
        cores: 0,
        ..options.clone()
    };
    let (mut outcomes, _) = run(program, &options, 1);
    outcomes.remove(0)
}

/// Executor spec §7 on the log of a real run: every node begins once, after what holds it; no run
/// ends twice, or before its thunks; nothing runs over a failure.
pub(crate) fn check_log(what: &str, program: &Program, options: &Options, log: &Log) {
    let plans = Plan::all(program, &options.executor).expect("builds");
    let mut runs: Vec<(usize, Mode)> = Vec::new();
    let (mut begun, mut completed, mut failed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut done = BTreeSet::new();
    for event in &log.events {
        let run = event.run;
        match event.kind {
            EventKind::RunStart { sequence, mode, .. } => runs.push((sequence as usize, mode)),
            EventKind::Started { node } | EventKind::Skipped { node } => {
                let started = matches!(event.kind, EventKind::Started { .. });
                assert!(begun.insert((run, node)), "{what}: thunk {node} of run {run} began twice");
                let (plan, mode) = runs[run as usize];
                if mode == Mode::Sequential {
                    continue;
                }
                for edge in plans[plan].graph.incoming(node) {
                    let before = (run, edge.node);
                    let released = match edge.kind {
                        EdgeKind::Execution => completed.contains(&before),
                        EdgeKind::Scheduling => begun.contains(&before),
                    };
                    assert!(released, "{what}: {node} of run {run} began before its {edge:?}");
                    let over = started && edge.kind == EdgeKind::Execution && failed.contains(&before);
                    assert!(!over, "{what}: {node} of run {run} ran over a failure");
                }
                if !started {
                    completed.insert((run, node));
                }
            }
            EventKind::Finished { node } | EventKind::Failed { node } => {
                assert!(completed.insert((run, node)), "{what}: thunk {node} of run {run} completed twice");
                if matches!(event.kind, EventKind::Failed { .. }) {
                    failed.insert((run, node));
                }
            }
            EventKind::Done { failed: first } => {
                assert!(done.insert(run), "{what}: run {run} ended twice");
                let (plan, mode) = runs[run as usize];
                let any = failed.iter().any(|&(r, _)| r == run);
                assert_eq!(first.is_some(), any, "{what}: error of run {run}");
                let all = (0..plans[plan].graph.len()).all(|node| completed.contains(&(run, node)));
                assert!(mode == Mode::Sequential || all, "{what}: run {run} ended before its thunks");
            }
            _ => {}
        }
    }
    // What was written is what readers accept, and it adds up at every instant.
    let read = Log::from_json_lines(&log.to_json_lines());
    assert_eq!(read.as_ref(), Ok(log), "{what}");
    check_fold(what, log);
}
