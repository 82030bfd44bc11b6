//! Instructions per task, counted by callgrind: the same on a busy machine.

use std::process::Command;

use thunkscope_core::executor::Queue;
use thunkscope_peers::Shape;

use super::contestants::{self, Contestant, Job, job_of};

const COUNT: &str = "THUNKSCOPE_BENCH_COUNT";
const NAMES: [&str; 7] = ["loop", "counting", "sequential", "fifo", "lifo", "priority", "rayon"];

pub(crate) fn is_child() -> bool {
    std::env::var_os(COUNT).is_some()
}

/// Runs one contestant some times, and nothing else.
pub(crate) fn child() {
    let spec = std::env::var(COUNT).expect("set by the parent");
    let (name, rest) = spec.split_once(' ').expect("a name");
    let (runs, job) = rest.split_once(' ').expect("a number");
    let mut contestant = contestant(name, &job_of(job));
    contestant.run(runs.parse().expect("a number"));
}

fn contestant(name: &str, job: &Job) -> Contestant {
    match name {
        "fifo" => contestants::ours("fifo", job, Queue::Fifo),
        "lifo" => contestants::ours("lifo", job, Queue::Lifo),
        "priority" => contestants::ours("priority", job, Queue::Priority),
        "loop" => contestants::plain_loop(job),
        "counting" => contestants::counting_loop(job),
        "rayon" => contestants::rayon(job),
        _ => contestants::in_order(job),
    }
}

pub(crate) fn run() {
    println!("\nInstructions per task, empty bodies, one thread (callgrind)\n");
    println!("| shape | tasks | {} |", NAMES.join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(NAMES.len()));
    for shape in Shape::ALL {
        let job = Job { shape, n: 1_000, threads: 1, spins: 0 };
        let cells = NAMES.map(|name| match (count(name, 1, &job), count(name, 11, &job)) {
            // What building costs falls out of the difference.
            (Some(once), Some(often)) => format!("{:.1}", (often - once) as f64 / 10.0 / f64::from(job.n)),
            _ => "–".to_owned(),
        });
        println!("| {} | {} | {} |", shape.name(), job.n, cells.join(" | "));
    }
}

fn count(name: &str, runs: u32, job: &Job) -> Option<i64> {
    let exe = std::env::current_exe().ok()?;
    let spec = format!("{name} {runs} {} {} {} {}", job.shape.name(), job.n, job.threads, job.spins);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .env(COUNT, spec)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}
