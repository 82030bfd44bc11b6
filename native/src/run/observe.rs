//! The main thread while a program runs: progress bar, watchdog, Ctrl-C.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::SIGINT;
use thunkscope::executor::Sampler;
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::executor::Progress;

use super::options::Arguments;
use super::stage::Stage;
use crate::print::err;

/// How often the main thread looks.
const TICK: Duration = Duration::from_millis(50);
/// A run that takes longer gets a progress bar.
const LONG: Duration = Duration::from_secs(1);

/// Watches until the work has sent its result. `None`: a second Ctrl-C gave up on it, and the
/// process must end.
pub(super) fn until<T>(
    ended: &Receiver<T>,
    stage: &Stage,
    arguments: &Arguments,
) -> Result<Option<T>, Diagnostic> {
    let interrupted = Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(SIGINT, Arc::clone(&interrupted)) {
        err(&format!("Ctrl-C will end the process without a word: {error}"));
    }
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let mut watch = Watch::default();
    let mut interrupts = 0;
    loop {
        match ended.recv_timeout(TICK) {
            Ok(result) => {
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
                return Ok(Some(result));
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let progress = watch.look(stage);
        if interrupted.swap(false, Relaxed) {
            interrupts += 1;
            say(&progress, "interrupted");
            if interrupts > 1 {
                // What runs cannot be stopped: leave it behind.
                std::process::exit(1);
            }
            stage.cancel();
        }
        if let Some(time) = arguments.watchdog
            && watch.has_stood_for(time)
        {
            say(&progress, "watchdog");
            watch.told();
        }
        if start.elapsed() > LONG && std::io::stderr().is_terminal() {
            let bar = bar.get_or_insert_with(new_bar);
            let done = |progress: &Progress| u64::from(progress.thunks - progress.never_ready);
            bar.set_length(progress.iter().map(|(_, progress)| u64::from(progress.thunks)).sum());
            bar.set_position(progress.iter().map(|(_, progress)| done(progress)).sum());
        }
    }
}

fn new_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed} {wide_bar} {pos}/{len} thunks ready or done");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Says how each sequence of each rank stands.
fn say(progress: &[(usize, Progress)], who: &str) {
    let ranks = progress.iter().map(|(rank, _)| rank).max().map_or(0, |rank| rank + 1);
    if progress.is_empty() {
        err(&format!("{who}: nothing is being run"));
    }
    for (rank, progress) in progress {
        let of_rank = if ranks > 1 { format!("rank {rank}, ") } else { String::new() };
        err(&format!("{who}: {of_rank}{}: {progress}", progress.path));
    }
}

/// Notices when nothing completes any more.
#[derive(Default)]
struct Watch {
    samplers: Vec<Sampler>,
    /// What moves when something completes: by rank and sequence.
    last: Vec<(u32, Vec<u32>)>,
    since: Option<Instant>,
    told: bool,
}

impl Watch {
    fn look(&mut self, stage: &Stage) -> Vec<(usize, Progress)> {
        let monitors = stage.monitors();
        if self.samplers.len() != monitors.len()
            || monitors.iter().zip(&self.samplers).any(|(m, s)| !s.is_of(m))
        {
            self.samplers = monitors.into_iter().map(Sampler::new).collect();
        }
        let progress: Vec<_> = self
            .samplers
            .iter_mut()
            .enumerate()
            .flat_map(|(rank, sampler)| sampler.sample().into_iter().map(move |progress| (rank, progress)))
            .collect();
        let now: Vec<_> = progress
            .iter()
            .map(|(_, progress)| {
                (progress.never_ready, progress.last_completed.iter().map(|thunk| thunk.node).collect())
            })
            .collect();
        if now != self.last || self.since.is_none() {
            (self.last, self.since, self.told) = (now, Some(Instant::now()), false);
        }
        progress
    }

    fn has_stood_for(&self, time: Duration) -> bool {
        !self.told && self.since.is_some_and(|since| since.elapsed() >= time)
    }

    /// Says it again only after the same time again.
    fn told(&mut self) {
        self.since = Some(Instant::now());
    }
}
