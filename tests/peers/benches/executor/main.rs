//! The executor against its peers, in turns. What the tables mean is said in `docs/performance.md`.
//!
//! `cargo bench -p thunkscope-peers --bench executor [-- bars|two|full|xla|instructions]`
#![forbid(unsafe_code)]

mod contestants;
mod instructions;
mod xla;

use std::collections::BTreeMap;
use std::time::Duration;

use contestants::{Contestant, Job};
use thunkscope_core::executor::Queue;
use thunkscope_peers::{Shape, spins_per_microsecond};

const SIZES: [u32; 3] = [100, 1_000, 10_000];
/// Kernel bodies, in ns.
const BODIES: [u32; 4] = [0, 100, 1_000, 10_000];

fn main() {
    // A contestant that needs a process of its own is this program again.
    if contestants::is_child() {
        return contestants::child();
    }
    if instructions::is_child() {
        return instructions::child();
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is = |name: &str| wanted.iter().any(|arg| arg == name);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load average before: {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "));
    let spins = spins_per_microsecond();
    if is("full") {
        full(spins);
    } else if is("two") {
        two_threads(spins);
    } else if is("xla") {
        xla::run();
    } else if is("instructions") {
        instructions::run();
    } else {
        bars(spins);
    }
}

/// Time per task of each contestant, in ns: the least of the rounds, and the median.
type Times = BTreeMap<&'static str, (f64, f64)>;

/// Runs all contestants in turns.
fn measure(job: &Job, contestants: &mut [Contestant], rounds: usize) -> Times {
    /// A turn of a contestant.
    const TURN: Duration = Duration::from_millis(4);
    let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let runs: Vec<u32> = contestants
        .iter_mut()
        .map(|contestant| {
            let once = contestant.run(1).max(contestant.run(1)).max(Duration::from_nanos(100));
            (TURN.as_nanos() / once.as_nanos()).clamp(1, 10_000) as u32
        })
        .collect();
    for _ in 0..rounds {
        for (contestant, &runs) in contestants.iter_mut().zip(&runs) {
            let took = contestant.run(runs).as_nanos() as f64;
            times.entry(contestant.name()).or_default().push(took / f64::from(runs) / f64::from(job.n));
        }
    }
    times
        .into_iter()
        .map(|(name, mut times)| {
            times.sort_by(f64::total_cmp);
            (name, (times[0], times[times.len() / 2]))
        })
        .collect()
}

fn show(value: Option<&(f64, f64)>) -> String {
    value.map_or("–".to_owned(), |(least, median)| format!("{least:.1} / {median:.1}"))
}

/// The rows that have bars, with their ratios.
fn bars(spins: f64) {
    println!("\nOne thread, empty bodies: ns per task, least / median of the rounds; ratios of the least.\n");
    println!(
        "| shape | tasks | loop | counting loop | sequential | fifo | lifo | priority | rayon | bevy_ecs | oneTBB | sequential ÷ loop | fifo ÷ counting | lifo ÷ counting | fifo ÷ best peer | lifo ÷ best peer |"
    );
    println!(
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for shape in Shape::ALL {
        for n in SIZES {
            let job = Job { shape, n, threads: 1, spins: 0 };
            let mut all = contestants::all(&job);
            let times = measure(&job, &mut all, 25);
            let least = |name: &str| times.get(name).map(|times| times.0);
            let peer = ["rayon", "bevy_ecs", "oneTBB"]
                .iter()
                .filter_map(|peer| least(peer))
                .fold(f64::MAX, f64::min);
            let ratio = |a: &str, b: Option<f64>| {
                least(a).zip(b).map_or("–".to_owned(), |(a, b)| format!("{:.2}", a / b))
            };
            println!(
                "| {} | {n} | {} | {} | {} | {} | {} |",
                shape.name(),
                ["loop", "counting", "sequential", "fifo", "lifo", "priority", "rayon", "bevy_ecs", "oneTBB"]
                    .map(|name| show(times.get(name)))
                    .join(" | "),
                ratio("sequential", least("loop")),
                ratio("fifo", least("counting")),
                ratio("lifo", least("counting")),
                ratio("fifo", Some(peer)) + " | " + &ratio("lifo", Some(peer)),
            );
        }
    }
    two_threads(spins);
}

/// Two threads against one.
fn two_threads(spins: f64) {
    println!("\nTwo threads, FIFO: µs per run (least), against one thread in the same turns.\n");
    println!("| shape | tasks | body | one thread | two threads | times as fast | bar |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
    for shape in Shape::ALL {
        for (n, body) in SIZES.map(|n| (n, 0)).into_iter().chain([(10_000, 1_000)]) {
            let spins = (spins * f64::from(body) / 1e3) as u32;
            let job = Job { shape, n, threads: 2, spins };
            let mut all = vec![
                contestants::ours("one", &Job { threads: 1, ..job }, Queue::Fifo),
                contestants::ours("two", &job, Queue::Fifo),
            ];
            let times = measure(&job, &mut all, 15);
            let [one, two] = ["one", "two"].map(|name| times[name].0 * f64::from(n) / 1e3);
            let bar = if body == 0 {
                format!(
                    "≤ {:.1} µs: {}",
                    one * 1.1 + 10.0,
                    if two <= one * 1.1 + 10.0 { "kept" } else { "missed" }
                )
            } else if matches!(shape, Shape::Wide | Shape::Random | Shape::Tree) {
                format!("≥ 1.7: {}", if one / two >= 1.7 { "kept" } else { "missed" })
            } else {
                "–".to_owned()
            };
            println!(
                "| {} | {n} | {body} ns | {one:.1} | {two:.1} | {:.2} | {bar} |",
                shape.name(),
                one / two
            );
        }
    }
}

/// Every shape, size, body, number of threads and queue.
fn full(spins: f64) {
    println!("\nns per task: least / median of 5 rounds\n");
    println!(
        "| shape | tasks | body | threads | loop | counting loop | sequential | fifo | lifo | priority | rayon | bevy_ecs | oneTBB |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for shape in Shape::ALL {
        for n in SIZES {
            for body in BODIES {
                for threads in [1, 2] {
                    let job = Job { shape, n, threads, spins: (spins * f64::from(body) / 1e3) as u32 };
                    let times = measure(&job, &mut contestants::all(&job), 5);
                    let cells = [
                        "loop",
                        "counting",
                        "sequential",
                        "fifo",
                        "lifo",
                        "priority",
                        "rayon",
                        "bevy_ecs",
                        "oneTBB",
                    ]
                    .map(|name| show(times.get(name)));
                    println!("| {} | {n} | {body} ns | {threads} | {} |", shape.name(), cells.join(" | "));
                }
            }
        }
    }
}
