//! The runs themselves: in program order first, to compare with, then on threads.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thunkscope::executor::{Ended, Executor, Monitor, Report, World, run_together};
use thunkscope::kernel::{Rank, Rendezvous, Settings};
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::dump::event::DumpLog;
use thunkscope_core::dump::switch::Switch;
use thunkscope_core::program::Program;
use thunkscope_core::sim::ModeChoice;

use super::dump::{Dumped, Happened, RankDump, switch};
use super::options::Arguments;
use super::summary::{Check, RankSummary, Summary};

/// What is being run now, for whoever watches.
#[derive(Default)]
pub(super) struct Stage {
    monitors: Mutex<Vec<Monitor>>,
    cancelled: AtomicBool,
}

/// Bytes of all allocations of one rank.
type Bytes = Vec<(u32, Vec<u8>)>;

/// Everything of one series of runs.
struct Series {
    ended: Vec<Ended>,
    /// By rank: how long each run took.
    times: Vec<Vec<Duration>>,
    reports: Vec<Report>,
    logs: Vec<Option<(DumpLog, u64)>>,
    /// By rank: the bytes after the first run.
    bytes: Vec<Option<Bytes>>,
    /// Runs whose bytes differ from what was expected: rank, run, allocation.
    differences: Vec<(usize, u32, u32)>,
    overflowed: Vec<Vec<String>>,
    /// By rank, if something was dumped.
    dumps: Vec<Option<Dumped>>,
}

/// How often the program is run in program order, and for how long at most, for its time.
const SEQUENTIAL_RUNS: u32 = 5;

impl Stage {
    /// One monitor for each rank.
    pub(super) fn monitors(&self) -> Vec<Monitor> {
        self.monitors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends what is being run, and what would be.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Release);
        self.monitors().iter().for_each(Monitor::cancel);
    }

    /// Runs in program order, then as asked.
    pub(super) fn run(&self, program: &Program, arguments: &Arguments) -> Result<Summary, Diagnostic> {
        let dump = switch(arguments)?;
        let sequential = self.series(program, arguments, None, None)?;
        let sequential_ns = median(&sequential);
        let cancelled = self.cancelled.load(Acquire);
        let series = if cancelled {
            None
        } else {
            Some(self.series(program, arguments, Some(&sequential), dump.as_ref())?)
        };
        let series = series.unwrap_or(sequential);
        let check = arguments.check.then(|| match series.differences.first() {
            Some(&(rank, run, allocation)) => Check::Different { rank, run, allocation },
            None if series.ended.iter().all(|ended| *ended == Ended::Well) => Check::Equal,
            None => Check::NotCompared,
        });
        let wall_ns = median(&series);
        let ranks = series.ended.into_iter().zip(series.times).zip(series.reports).zip(series.overflowed);
        let ranks =
            ranks.zip(series.dumps).map(|((((ended, times), report), overflowed), dump)| RankSummary {
                ended,
                runs: times.len() as u32,
                total_ns: times.iter().map(Duration::as_nanos).sum::<u128>() as u64,
                report,
                overflowed,
                dump,
            });
        Ok(Summary {
            program: program.name.clone(),
            digest: program.digest(),
            options: arguments.line(0),
            thunks: program.sequences().iter().map(|(_, sequence)| sequence.thunks.len() as u64).sum(),
            workers: arguments.workers(),
            wall_ns,
            sequential_ns,
            check,
            ranks: ranks.collect(),
            logs: series.logs.into_iter().flatten().collect(),
        })
    }

    /// A series of runs from freshly filled buffers; in program order where there is nothing to
    /// compare with yet.
    fn series(
        &self,
        program: &Program,
        arguments: &Arguments,
        expected: Option<&Series>,
        dump: Option<&Switch>,
    ) -> Result<Series, Diagnostic> {
        let world = World::new();
        let buffers: Vec<_> = (0..usize::from(arguments.ranks))
            .map(|rank| Rank::buffers(program, rank))
            .collect::<Result<_, _>>()?;
        let meets = arguments.ranks > 1;
        let rendezvous = meets.then(|| Rendezvous::new(&world, buffers.clone()));
        let in_order = expected.is_none();
        let settings = Settings {
            op_debug: arguments.op_debug || dump.is_some_and(|dump| dump.properties.overflow.is_some()),
            // A collective that returns early completes out of the dump's sight.
            blocking_collectives: (arguments.blocking_collectives || dump.is_some() && meets) && !in_order,
        };
        let mut ranks = Vec::new();
        let mut executors = Vec::new();
        let mut dumps: Vec<RankDump> = Vec::new();
        for (number, buffers) in (0..arguments.ranks).zip(buffers) {
            let rank =
                Rank::new(program, usize::from(number), Arc::clone(&buffers), rendezvous.clone(), settings)?;
            let rank = Arc::new(rank);
            let mut options = arguments.executor(number);
            if in_order {
                (options.mode, options.workers, options.record) = (ModeChoice::Sequential, 0, None);
                (options.without_scheduling_edges, options.cores) = (false, 0);
            }
            let own = Arc::clone(&rank);
            executors.push(match (dump, &arguments.out) {
                (Some(switch), Some(out)) => {
                    let dump = RankDump::new(program, number, buffers, switch.clone(), arguments, out);
                    let executor = Executor::new(program, dump.watch(own), &options, &world)?;
                    dumps.push(dump);
                    executor
                }
                _ => Executor::new(program, own, &options, &world)?,
            });
            ranks.push(rank);
        }
        *self.monitors.lock().unwrap_or_else(PoisonError::into_inner) =
            executors.iter().map(Executor::monitor).collect();
        if self.cancelled.load(Acquire) {
            self.cancel();
        }
        let repeat = if in_order { SEQUENTIAL_RUNS.min(arguments.repeat) } else { arguments.repeat };
        let kept: Vec<Mutex<Kept>> = ranks.iter().map(|_| Mutex::default()).collect();
        // Ranks must not refill what others still read: with several, only the first run compares.
        let between = |rank: usize, run: u32, time: Duration| {
            if let Some(dump) = dumps.get(rank) {
                dump.end();
                if run + 1 < repeat {
                    dump.start();
                }
            }
            let mut kept = kept[rank].lock().unwrap_or_else(PoisonError::into_inner);
            kept.times.push(time);
            if !arguments.check || (run > 0 && (in_order || meets)) {
                return;
            }
            let bytes = ranks[rank].bytes();
            let wanted = expected.and_then(|expected| expected.bytes[rank].as_ref());
            if let (Some(bytes), Some(wanted)) = (&bytes, wanted)
                && let Some(allocation) = difference(bytes, wanted)
            {
                kept.differences.push((rank, run, allocation));
            }
            kept.bytes = bytes;
            if !meets && !in_order {
                ranks[rank].refill();
            }
        };
        dumps.iter().for_each(RankDump::start);
        let ended = run_together(&mut executors, repeat, &between);
        let (mut dumped, mut happened): (Vec<Option<Dumped>>, Vec<Happened>) = dumps
            .into_iter()
            .map(|dump| dump.finish(arguments.dump_log))
            .map(|(dumped, happened)| (Some(dumped), happened))
            .unzip();
        dumped.resize(ranks.len(), None);
        happened.resize_with(ranks.len(), Happened::default);
        let mut series = Series {
            ended,
            times: Vec::new(),
            reports: executors.iter().map(Executor::report).collect(),
            logs: Vec::new(),
            bytes: Vec::new(),
            differences: Vec::new(),
            overflowed: ranks.iter().map(|rank| rank.take_overflowed()).collect(),
            dumps: dumped,
        };
        for ((number, executor), (happened, unfit)) in (0..).zip(&mut executors).zip(happened) {
            let clock = executor.clock();
            let log = executor.take_log(program, arguments.line(number));
            series.logs.push(log.zip(clock).map(|((log, left_out), clock)| {
                let since = |time: Instant| time.saturating_duration_since(clock).as_nanos() as u64;
                let others = happened.into_iter().map(|(time, actor, event)| (since(time), actor, event));
                (DumpLog::join(log, others.collect()), left_out + unfit)
            }));
        }
        for kept in kept {
            let Kept { times, bytes, differences } =
                kept.into_inner().unwrap_or_else(PoisonError::into_inner);
            series.times.push(times);
            series.bytes.push(bytes);
            series.differences.extend(differences);
        }
        // A failed run leaves bytes of no meaning.
        for (bytes, ended) in series.bytes.iter_mut().zip(&series.ended) {
            if *ended != Ended::Well {
                *bytes = None;
            }
        }
        Ok(series)
    }
}

/// What is kept of the runs of one rank.
#[derive(Default)]
struct Kept {
    times: Vec<Duration>,
    bytes: Option<Bytes>,
    differences: Vec<(usize, u32, u32)>,
}

/// The first allocation that differs.
fn difference(bytes: &Bytes, wanted: &Bytes) -> Option<u32> {
    let differs = bytes.iter().zip(wanted).find(|(is, should)| is != should);
    differs.map(|((index, _), _)| *index)
}

/// The median time of a run of rank 0; `None` if one did not end well.
fn median(series: &Series) -> Option<u64> {
    if series.ended.iter().any(|ended| *ended != Ended::Well) {
        return None;
    }
    let mut times = series.times.first()?.clone();
    times.sort_unstable();
    times.get(times.len() / 2).map(|time| time.as_nanos() as u64)
}
