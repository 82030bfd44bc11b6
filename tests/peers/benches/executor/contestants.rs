//! Who takes part.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::time::{Duration, Instant};

use bevy_ecs::prelude::*;
use bevy_ecs::schedule::ExecutorKind;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use thunkscope::executor::{Call, Ended, Executor, Flags, Options, Ran, Thunks, World as Threads};
use thunkscope_core::executor::Queue;
use thunkscope_core::graph::NodeId;
use thunkscope_core::sim::ModeChoice;
use thunkscope_peers::{Edges, Node, Shape, nodes};

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) shape: Shape,
    pub(crate) n: u32,
    pub(crate) threads: u32,
    pub(crate) spins: u32,
}

/// Somebody who runs it so many times.
pub(crate) struct Contestant {
    name: &'static str,
    run: Box<dyn FnMut(u32) -> Duration>,
}

impl Contestant {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn run(&mut self, times: u32) -> Duration {
        (self.run)(times)
    }

    /// From something that runs once.
    fn new(name: &'static str, mut once: impl FnMut() + 'static) -> Self {
        let run = move |times| {
            let start = Instant::now();
            (0..times).for_each(|_| once());
            start.elapsed()
        };
        Self { name, run: Box::new(run) }
    }
}

/// Everybody that this job is for.
pub(crate) fn all(job: &Job) -> Vec<Contestant> {
    let mut all = vec![
        plain_loop(job),
        counting_loop(job),
        in_order(job),
        ours("fifo", job, Queue::Fifo),
        ours("lifo", job, Queue::Lifo),
        ours("priority", job, Queue::Priority),
        rayon(job),
    ];
    // Its schedules are built in time that grows with the square of the systems.
    if job.n <= 1_000 {
        all.push(bevy(job));
    }
    all.extend(tbb(job));
    all
}

pub(crate) fn plain_loop(job: &Job) -> Contestant {
    let nodes = nodes(job.n as usize, job.spins);
    Contestant::new("loop", move || nodes.iter().for_each(Node::call))
}

/// The least that anything with dependencies does: count down, queue what is ready.
pub(crate) fn counting_loop(job: &Job) -> Contestant {
    let edges = Edges::of(&job.shape.program(job.n));
    let nodes = nodes(edges.len(), job.spins);
    let mut counters = edges.incoming.clone();
    let mut queue = Vec::with_capacity(edges.len());
    Contestant::new("counting", move || {
        counters.copy_from_slice(&edges.incoming);
        queue.clear();
        queue.extend_from_slice(&edges.sources);
        let mut head = 0;
        while let Some(&node) = queue.get(head) {
            head += 1;
            nodes[node as usize].call();
            for &to in edges.after(node) {
                counters[to as usize] -= 1;
                if counters[to as usize] == 0 {
                    queue.push(to);
                }
            }
        }
    })
}

/// The kernels as thunks.
#[derive(Clone)]
struct Kernels(&'static [Node]);

impl Thunks for Kernels {
    fn flags(&self, _: usize, _: NodeId) -> Flags {
        Flags::default()
    }
    #[inline]
    fn run(&self, call: &Call<'_>) -> Ran {
        self.0[call.node as usize].call();
        Ran::Done(Ok(()))
    }
}

fn executor(job: &Job, queue: Queue, mode: ModeChoice) -> (Executor, Kernels) {
    // Left behind: a few megabytes for each row of a table.
    let kernels = Kernels(nodes(job.n as usize, job.spins).leak());
    let mut options = Options { workers: job.threads as u16 - 1, mode, ..Options::default() };
    options.executor.queue = queue;
    let executor =
        Executor::new(&job.shape.program(job.n), kernels.clone(), &options, &Threads::new()).expect("builds");
    (executor, kernels)
}

pub(crate) fn in_order(job: &Job) -> Contestant {
    let (mut executor, _) = executor(job, Queue::Fifo, ModeChoice::Sequential);
    Contestant::new("sequential", move || assert_eq!(executor.run(), Ended::Well))
}

pub(crate) fn ours(name: &'static str, job: &Job, queue: Queue) -> Contestant {
    let (mut executor, kernels) = executor(job, queue, ModeChoice::Concurrent);
    let mut runs = 0u32;
    Contestant::new(name, move || {
        assert_eq!(executor.run(), Ended::Well);
        runs += 1;
        assert_eq!(kernels.0[0].runs.load(Relaxed), runs);
    })
}

/// What people write with rayon: a counter a node, the first successor that becomes ready is run by
/// whoever made it ready, the others are spawned.
pub(crate) fn rayon(job: &Job) -> Contestant {
    struct Graph {
        edges: Edges,
        counters: Vec<AtomicU32>,
        nodes: Vec<Node>,
    }
    fn go<'s>(graph: &'s Graph, scope: &rayon::Scope<'s>, mut node: u32) {
        loop {
            graph.nodes[node as usize].call();
            let mut next = None;
            for &to in graph.edges.after(node) {
                if graph.counters[to as usize].fetch_sub(1, AcqRel) == 1 {
                    match next {
                        None => next = Some(to),
                        Some(_) => scope.spawn(move |scope| go(graph, scope, to)),
                    }
                }
            }
            match next {
                Some(to) => node = to,
                None => return,
            }
        }
    }
    let edges = Edges::of(&job.shape.program(job.n));
    let counters = edges.incoming.iter().map(|_| AtomicU32::new(0)).collect();
    let nodes = nodes(edges.len(), job.spins);
    let graph = Graph { edges, counters, nodes };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.threads as usize).build().expect("a pool");
    let run = move |times| {
        pool.install(|| {
            let start = Instant::now();
            for _ in 0..times {
                for (counter, &incoming) in graph.counters.iter().zip(&graph.edges.incoming) {
                    counter.store(incoming, Relaxed);
                }
                rayon::scope(|scope| {
                    let (first, others) = graph.edges.sources.split_first().expect("some source");
                    for &source in others {
                        let graph = &graph;
                        scope.spawn(move |scope| go(graph, scope, source));
                    }
                    go(&graph, scope, *first);
                });
            }
            start.elapsed()
        })
    };
    Contestant { name: "rayon", run: Box::new(run) }
}

/// A contestant in a process of its own, which answers each number of runs with a time.
struct Process {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Process {
    fn start(command: &mut Command, input: &str) -> Option<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (mut to, from) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        to.write_all(input.as_bytes()).ok()?;
        Some(Self { child, to, from })
    }

    fn run(&mut self, times: u32) -> Duration {
        writeln!(self.to, "{times}").and_then(|()| self.to.flush()).expect("the process reads");
        let mut line = String::new();
        self.from.read_line(&mut line).expect("the process answers");
        Duration::from_nanos(line.trim().parse().expect("a time"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends with its input; it is ours, so end it in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const BEVY: &str = "THUNKSCOPE_BENCH_BEVY";

/// One system a node, ordered by its edges. Its pool of threads is one for the whole process, so
/// each number of threads needs a process.
fn bevy(job: &Job) -> Contestant {
    let exe = std::env::current_exe().expect("this program");
    let spec = format!("{} {} {} {}", job.shape.name(), job.n, job.threads, job.spins);
    let mut process =
        Process::start(Command::new(exe).env(BEVY, spec), "").expect("this program starts again");
    Contestant { name: "bevy_ecs", run: Box::new(move |times| process.run(times)) }
}

pub(crate) fn is_child() -> bool {
    std::env::var_os(BEVY).is_some()
}

pub(crate) fn job_of(spec: &str) -> Job {
    let words: Vec<&str> = spec.split(' ').collect();
    let number = |at: usize| words[at].parse().expect("a number");
    let shape = Shape::ALL.into_iter().find(|shape| shape.name() == words[0]).expect("a shape");
    Job { shape, n: number(1), threads: number(2), spins: number(3) }
}

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place(u32);

pub(crate) fn child() {
    let job = job_of(&std::env::var(BEVY).expect("set by the parent"));
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(job.threads as usize).build());
    let edges = Edges::of(&job.shape.program(job.n));
    static NODES: OnceLock<Vec<Node>> = OnceLock::new();
    let kernels = NODES.get_or_init(|| nodes(edges.len(), job.spins));
    let mut schedule = Schedule::default();
    schedule.set_executor_kind(ExecutorKind::MultiThreaded);
    for (at, kernel) in (0u32..).zip(kernels) {
        schedule.add_systems((move || kernel.call()).in_set(Place(at)));
    }
    for node in 0..edges.len() as u32 {
        for &to in edges.after(node) {
            schedule.configure_sets(Place(to).after(Place(node)));
        }
    }
    let mut world = World::new();
    let mut runs = 0;
    for line in std::io::stdin().lines() {
        let times: u32 = line.expect("a line").trim().parse().expect("a number");
        let start = Instant::now();
        (0..times).for_each(|_| schedule.run(&mut world));
        let took = start.elapsed();
        runs += times;
        assert!(kernels.iter().all(|kernel| kernel.runs.load(Relaxed) == runs));
        println!("{}", took.as_nanos());
    }
}

/// `None` where oneTBB's headers or a C++ compiler are missing.
fn tbb(job: &Job) -> Option<Contestant> {
    static HARNESS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let harness = HARNESS.get_or_init(build_harness).as_ref()?;
    let edges = Edges::of(&job.shape.program(job.n));
    let mut input = format!("{} {} {}\n", job.threads, job.spins, edges.len());
    for node in 0..edges.len() as u32 {
        let after: Vec<_> = edges.after(node).iter().map(u32::to_string).collect();
        input += &format!("{} {}\n", after.len(), after.join(" "));
    }
    let mut process = Process::start(&mut Command::new(harness), &input)?;
    Some(Contestant { name: "oneTBB", run: Box::new(move |times| process.run(times)) })
}

fn build_harness() -> Option<PathBuf> {
    if !["/usr/include/tbb/flow_graph.h", "/usr/local/include/tbb/flow_graph.h"]
        .iter()
        .any(|p| PathBuf::from(p).exists())
    {
        eprintln!("left out: oneTBB (libtbb-dev is not installed)");
        return None;
    }
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/executor/tbb.cpp");
    let exe = std::env::current_exe().ok()?.with_file_name("thunkscope-peer-tbb");
    let built =
        Command::new("c++").args(["-std=c++17", "-O3", "-o"]).arg(&exe).arg(source).arg("-ltbb").status();
    if built.is_ok_and(|status| status.success()) {
        return Some(exe);
    }
    eprintln!("left out: oneTBB (its harness does not compile)");
    None
}
