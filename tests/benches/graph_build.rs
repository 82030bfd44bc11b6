//! Building execution graphs: the sweep against the all-pairs rule, in one run.
//!
//! `cargo bench -p thunkscope-tests --bench graph_build [-- SHAPE…]`. Prints the tables of
//! `docs/performance.md`; what they mean is said there. Graphs are compared wherever both run.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use thunkscope_core::graph::all_pairs::{Reduced, Relation};
use thunkscope_core::graph::{Conflicts, Graph, Reduction};
use thunkscope_core::program::{Program, Shape};

const SIZES: [u32; 4] = [1_000, 3_000, 10_000, 100_000];
/// All-pairs compares n²/2 pairs: 5 · 10⁷ here, 5 · 10⁹ at the next size.
const MOST_FOR_ALL_PAIRS: u32 = 10_000;
/// Its reduction walks over conflicts × edges: minutes at the next size.
const MOST_FOR_ITS_REDUCTION: u32 = 3_000;
/// Twice the last-level cache of large machines.
const EVICTED_BYTES: usize = 128 << 20;
/// Set for the child that builds one graph and reports its peak memory.
const MEMORY_OF: &str = "THUNKSCOPE_BENCH_MEMORY_OF";

fn main() {
    if let Ok(shape) = std::env::var(MEMORY_OF) {
        return report_memory(&shape);
    }
    // Cargo adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |shape: &Shape| wanted.is_empty() || wanted.iter().any(|name| name == shape.name());
    let shapes: Vec<Shape> = Shape::ALL.into_iter().filter(wanted).collect();
    println!("milliseconds, median of interleaved runs (at least 5 where a run takes less than 5 s)\n");
    println!(
        "| shape | thunks | edges | sweep | all-pairs | ratio | reduction | priorities | build | all-pairs reduction | ratio of both |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut growth = Vec::new();
    for &shape in &shapes {
        let sweeps: Vec<f64> = SIZES.iter().map(|&n| row(shape, n)).collect();
        growth.push(format!("{} {:.1}", shape.name(), sweeps[3] / sweeps[2]));
    }
    println!("\nsweep, 100k over 10k thunks: {}", growth.join(" · "));
    let memory: Vec<_> = shapes.iter().map(|&shape| format!("{} {}", shape.name(), peak(shape))).collect();
    println!("peak memory at 100k thunks, program included (MiB): {}", memory.join(" · "));
}

/// Prints one line; returns the time of the sweep.
fn row(shape: Shape, n: u32) -> f64 {
    let program = shape.generate(n, 1);
    let (sequence, resources) = (&program.sequence, &program.resources[..]);
    let (mut sweep, mut reduce, mut priority) = (Times::default(), Times::default(), Times::default());
    let (mut pairs, mut pairs_reduce) = (Times::default(), Times::default());
    let mut edges = 0;
    let mut cache = vec![0u64; EVICTED_BYTES / 8];
    while sweep.0.len() < 5 || sweep.total() < Duration::from_millis(200) && sweep.0.len() < 100 {
        evict(&mut cache);
        let conflicts = sweep.time(|| Conflicts::sweep(sequence, resources).expect("few edges"));
        let graph = reduce.time(|| conflicts.reduce(Reduction::Upstream).expect("few edges"));
        let priorities = priority.time(|| graph.priorities());
        edges = graph.edge_count();
        if n <= MOST_FOR_ALL_PAIRS && pairs.wanted() {
            evict(&mut cache);
            let relation = pairs.time(|| Relation::new(sequence, resources));
            if pairs.0.len() == 1 {
                assert_eq!(relation.minimal(), graph, "{}-{n}", shape.name());
            }
            if n <= MOST_FOR_ITS_REDUCTION && pairs_reduce.wanted() {
                let reduced = pairs_reduce.time(|| relation.reduce_upstream());
                assert_equal(&graph, &priorities, &reduced);
            }
        }
    }
    let [s, r, p] = [&sweep, &reduce, &priority].map(|times| times.median().unwrap_or(0.0));
    let (a, ar) = (pairs.median(), pairs_reduce.median());
    let show = |value: Option<f64>, digits| value.map_or("–".to_owned(), |v| format!("{v:.digits$}"));
    println!(
        "| {} | {n} | {edges} | {s:.2} | {} | {} | {r:.2} | {p:.2} | {:.2} | {} | {} |",
        shape.name(),
        show(a, 1),
        show(a.map(|a| a / s), 0),
        s + r,
        show(ar, 1),
        show(a.zip(ar).map(|(a, ar)| (a + ar) / (s + r + p)), 0),
    );
    s
}

/// A graph is built once per program: caches hold something else then. Without this, small
/// programs would be read from a cache and large ones from memory.
fn evict(cache: &mut [u64]) {
    cache.iter_mut().step_by(8).for_each(|word| *word += 1);
    black_box(cache);
}

fn assert_equal(graph: &Graph, priorities: &[u32], oracle: &Reduced) {
    assert_eq!(graph, &oracle.graph);
    assert_eq!(priorities, oracle.priorities);
}

#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = black_box(work());
        self.0.push(start.elapsed());
        result
    }

    fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    fn wanted(&self) -> bool {
        self.0.len() < 5 && self.0.iter().all(|time| *time < Duration::from_secs(5))
    }

    /// In milliseconds.
    fn median(&self) -> Option<f64> {
        let mut times = self.0.clone();
        times.sort_unstable();
        times.get(times.len() / 2).map(|time| time.as_secs_f64() * 1e3)
    }
}

/// Peak memory of a process of its own.
fn peak(shape: Shape) -> String {
    let child =
        std::env::current_exe().and_then(|exe| Command::new(exe).env(MEMORY_OF, shape.name()).output());
    child.map_or("?".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn report_memory(name: &str) {
    let Some(shape) = Shape::ALL.into_iter().find(|shape| shape.name() == name) else { return };
    let Program { sequence, resources, .. } = shape.generate(SIZES[3], 1);
    let graph = Graph::build(&sequence, &resources, Reduction::Upstream).expect("few edges");
    black_box(graph.priorities());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    println!("{}", kib.map_or("?".to_owned(), |kib| (kib / 1024).to_string()));
}
