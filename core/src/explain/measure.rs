//! What a simulated run of one sequence shows.

use crate::diagnostic::Diagnostic;
use crate::executor::{Options, Plan};
use crate::program::Program;
use crate::sim;
use crate::trace::{Entry, Event, EventKind};

/// Figures of one sequence, executed by counters and ready queues even if it is decided to be
/// sequential: what it would have to offer.
///
/// The sequence runs alone, each control-flow thunk counting as one thunk, and every thunk
/// completes before it returns: files do not tell which ones return early, and the figures must
/// not rest on a guess. As long as nothing is split there is one thread, and how long thunks run
/// makes no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The most other thunks that were ready when a worker had popped one.
    pub peak_ready: u32,
    /// Tasks posted by splitting.
    pub tasks: u32,
    /// Blocking thunks posted alone, so that the worker need not wait for them.
    pub blocking: u32,
    /// The most workers in the session beside the caller; blocking thunks join regardless of the cap.
    pub workers: u32,
}

impl Measured {
    /// Runs `plan`'s sequence in virtual time.
    ///
    /// # Errors
    /// `SM001` for a run with too many events.
    pub fn new(program: &Program, plan: &Plan<'_>, options: &Options) -> Result<Self, Diagnostic> {
        let options = sim::Options {
            executor: *options,
            mode: sim::ModeChoice::Concurrent,
            pending: sim::PendingThunks::Never,
            pool_threads: u16::try_from(options.max_workers).unwrap_or(u16::MAX),
            ..sim::Options::default()
        };
        let mut watcher = Watcher {
            measured: Self::default(),
            sources: plan.graph.sources().len() as u32,
            ready: vec![0; usize::from(options.pool_threads) + 2],
            posted: Vec::new(),
        };
        sim::watch(program, &[plan.alone()], &options, |event| watcher.see(event))?;
        Ok(watcher.measured)
    }
}

/// Follows the length of each lane's ready queue.
struct Watcher {
    measured: Measured,
    sources: u32,
    /// By lane.
    ready: Vec<u32>,
    /// Nodes of each task.
    posted: Vec<u32>,
}

impl Watcher {
    fn see(&mut self, event: &Event) {
        let Self { measured, sources, ready, posted } = self;
        let Some(ready) = ready.get_mut(usize::from(event.actor.0)) else { return };
        match &event.kind {
            EventKind::LoopStart { by: Entry::Caller } => *ready = *sources,
            EventKind::LoopStart { by: Entry::Task(task) } => *ready = posted[*task as usize],
            EventKind::LoopStart { by: Entry::Continuation(_) } => *ready = 0,
            EventKind::Popped { .. } => {
                *ready -= 1;
                measured.peak_ready = measured.peak_ready.max(*ready);
            }
            EventKind::Split { kept, nodes, .. } => {
                *ready = *kept;
                posted.push(nodes.len() as u32);
                measured.tasks += 1;
            }
            EventKind::Posted { .. } => {
                posted.push(1);
                measured.blocking += 1;
            }
            EventKind::Released { left: 0, .. } => *ready += 1,
            EventKind::Workers { count } => measured.workers = measured.workers.max(*count),
            _ => {}
        }
    }
}
