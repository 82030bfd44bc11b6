//! What `run` is asked for.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use thunkscope::executor;
use thunkscope_core::dump::names::Layout;
use thunkscope_core::executor::Queue;
use thunkscope_core::sim::ModeChoice;

const HELP: &str = "\
A thunk's `kernel` field says what it computes: fill(v), copy, add, multiply, matmul(m,k,n), reduce,
sort, transpose(m,n), spin(ns), sleep(ns), overflow, fail, panic, never, and collectives over --ranks.
Without one, and in programs of XLA, a thunk is replayed: it touches its slices and takes its cost.

Ctrl-C says how the run stands and cancels it; a second one ends the process.";

/// What `run` is asked for.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// A serialized executable, a JAX cache entry, or thunkscope.program/1 JSON.
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: PathBuf,
    /// Threads beside the calling one, for each rank; by default one for each other core, at most 4.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1023))]
    pub(crate) workers: Option<u16>,
    /// Most places in the session taken by splitting (XLA: 4).
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=1023))]
    pub(crate) cap: u32,
    /// Class of the ready queues: fifo, lifo or priority.
    #[arg(long, default_value = "fifo", value_name = "CLASS")]
    pub(crate) queue: Queue,
    /// How often the program is run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Ranks, each with buffers and threads of its own; collectives meet.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) ranks: u16,
    /// Lanes run thunks themselves (the default).
    #[arg(long, conflicts_with = "offloaded")]
    pub(crate) inline: bool,
    /// Lanes dispatch thunks to cores and poll for their completion.
    #[arg(long)]
    pub(crate) offloaded: bool,
    /// Cores that a lane dispatches to, with --offloaded.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) cores: u16,
    /// Say who is suspected when nothing has completed for this long, such as 5s.
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) watchdog: Option<Duration>,
    /// Compare every byte with a run in program order.
    #[arg(long)]
    pub(crate) check: bool,
    /// How sequences run: as decided, all concurrent, or all sequential.
    #[arg(long, value_name = "MODE", default_value = "decided", value_parser = mode)]
    pub(crate) mode: ModeChoice,
    /// Split whenever XLA's rule says so, also where thunks are too short for it to pay.
    #[arg(long)]
    pub(crate) always_split: bool,
    /// Report infinities and what is no number in what float kernels write.
    #[arg(long)]
    pub(crate) op_debug: bool,
    /// How often a loop of unknown length runs.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) max_trips: u64,
    /// Fault: leave scheduling edges out, and let odd ranks take their newest thunk first.
    #[arg(long)]
    pub(crate) without_scheduling_edges: bool,
    /// Collectives keep their thread until all ranks have come.
    #[arg(long)]
    pub(crate) blocking_collectives: bool,
    /// Take thunks of unknown kinds to clash with everything, instead of giving up.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Print the summary as JSON (thunkscope.run/1).
    #[arg(long)]
    pub(crate) json: bool,
    /// Record the run: program.json and log.jsonl (open them in the page), and run.json.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Dump tensors as this ACL document says; its dump_path is taken below --out.
    #[arg(long, value_name = "FILE", requires = "out")]
    pub(crate) acl: Option<PathBuf>,
    /// Write each record before its thunk's event fires.
    #[arg(long, requires = "acl")]
    pub(crate) dump_sync: bool,
    /// Names of dump files: seed or cann.
    #[arg(long, value_name = "LAYOUT", default_value = "seed", value_parser = crate::dump::layout)]
    pub(crate) dump_layout: Layout,
    /// Also print what the dump logs at level INFO.
    #[arg(long, requires = "acl")]
    pub(crate) dump_log: bool,
}

/// Events of one log; as many as a simulation has.
const MAX_EVENTS: usize = 4_000_000;

impl Arguments {
    /// Threads of each rank beside the calling one.
    pub(crate) fn workers(&self) -> u16 {
        let others = || std::thread::available_parallelism().map_or(1, |cores| cores.get() - 1).clamp(1, 4);
        self.workers.unwrap_or_else(|| others() as u16)
    }

    /// The options of the executor of one rank.
    pub(crate) fn executor(&self, rank: u16) -> executor::Options {
        let mut options = executor::Options {
            workers: self.workers(),
            mode: self.mode,
            always_split: self.always_split,
            measure: true,
            record: self.out.is_some().then_some(MAX_EVENTS),
            max_trips: self.max_trips,
            without_scheduling_edges: self.without_scheduling_edges,
            cores: if self.offloaded { self.cores } else { 0 },
            ..executor::Options::default()
        };
        options.executor.queue = match self.queue {
            Queue::Fifo if self.without_scheduling_edges && rank % 2 == 1 => Queue::Lifo,
            queue => queue,
        };
        options.executor.max_workers = self.cap;
        options
    }

    /// The options in force, for the header of a log.
    pub(crate) fn line(&self, rank: u16) -> String {
        let executor::Options { executor, workers, mode, always_split, max_trips, cores, .. } =
            self.executor(rank);
        let mut line = format!(
            "native queue={} workers={} split={} buffer={} thunks={} mode={mode:?} pool={workers} \
             always_split={always_split} trips={max_trips} rank={rank}/{} repeat={}",
            executor.queue,
            executor.max_workers,
            executor.split_threshold,
            executor.buffer_threshold,
            executor.thunk_threshold,
            self.ranks,
            self.repeat,
        );
        if cores > 0 {
            line += &format!(" cores={cores}");
        }
        if self.without_scheduling_edges {
            line += " without-scheduling-edges";
        }
        line
    }
}

fn mode(text: &str) -> Result<ModeChoice, String> {
    match text {
        "decided" => Ok(ModeChoice::Decided),
        "concurrent" => Ok(ModeChoice::Concurrent),
        "sequential" => Ok(ModeChoice::Sequential),
        _ => Err("one of decided, concurrent, sequential".to_owned()),
    }
}
