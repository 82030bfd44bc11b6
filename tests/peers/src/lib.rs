//! What all contestants of the executor benchmark run: graphs, and kernels behind one indirect call.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use thunkscope_core::graph::{Graph, Reduction};
use thunkscope_core::program::{Kind, Program, Sequence, Thunk};
use thunkscope_core::rng::Rng;

/// A family of graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One after the other.
    Chain,
    /// One, then all others side by side, then one.
    Wide,
    /// Each node enables two.
    Tree,
    /// Each node waits for up to four among the 64 before it.
    Random,
    /// A grid: each node waits for its neighbours above and on the left.
    Stencil,
}

impl Shape {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::Chain, Self::Wide, Self::Tree, Self::Random, Self::Stencil];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Wide => "wide",
            Self::Tree => "tree",
            Self::Random => "random",
            Self::Stencil => "stencil",
        }
    }

    /// A program whose graph has this shape, and `n` thunks.
    pub fn program(self, n: u32) -> Program {
        const SLOT: u64 = 1024;
        let slot = |i: u32| u64::from(i) * SLOT;
        let mut rng = Rng::new(1);
        let width = if n >= 10_000 {
            100
        } else if n >= 1_000 {
            40
        } else {
            10
        };
        let thunk = |i: u32, rng: &mut Rng| {
            let thunk = Thunk::new(Kind::Kernel, format!("k{i}"));
            let reads: Vec<u32> = match self {
                Self::Chain => return thunk.writes(0, 0, SLOT),
                Self::Wide if i + 1 == n => (1..i).collect(),
                Self::Wide => (0..i.min(1)).collect(),
                Self::Tree => i.checked_sub(1).map(|above| above / 2).into_iter().collect(),
                Self::Random => {
                    let reads = rng.below(5).min(u64::from(i));
                    (0..reads).map(|_| i - 1 - rng.below(u64::from(i.min(64))) as u32).collect()
                }
                Self::Stencil => {
                    let left = (i % width > 0).then(|| i - 1);
                    i.checked_sub(width).into_iter().chain(left).collect()
                }
            };
            reads.into_iter().fold(thunk, |thunk, read| thunk.reads(0, slot(read), SLOT)).writes(
                0,
                slot(i),
                SLOT,
            )
        };
        let thunks = (0..n).map(|i| thunk(i, &mut rng)).collect();
        Program { name: format!("{}-{n}", self.name()), sequence: Sequence { thunks }, ..Program::default() }
    }
}

/// The reduced graph of a program, as flat lists of successors.
#[derive(Debug)]
pub struct Edges {
    /// By node: how many it waits for.
    pub incoming: Vec<u32>,
    /// The successors of node `i` are `to[start[i]..start[i + 1]]`.
    pub start: Vec<u32>,
    /// Successors.
    pub to: Vec<u32>,
    /// Nodes that wait for none.
    pub sources: Vec<u32>,
}

impl Edges {
    /// The graph that the executor builds for `program`.
    pub fn of(program: &Program) -> Self {
        let graph = Graph::build(&program.sequence, &[], Reduction::Upstream).expect("few edges");
        let mut edges = Self {
            incoming: graph.in_degrees().collect(),
            start: vec![0],
            to: Vec::new(),
            sources: graph.sources().to_vec(),
        };
        for node in 0..graph.len() {
            edges.to.extend(graph.outgoing(node).iter().map(|edge| edge.node));
            edges.start.push(edges.to.len() as u32);
        }
        edges
    }

    /// Successors of a node.
    #[inline]
    pub fn after(&self, node: u32) -> &[u32] {
        &self.to[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.incoming.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.incoming.is_empty()
    }
}

/// One kernel, on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub struct Node {
    run: fn(&Self),
    /// How often it ran.
    pub runs: AtomicU32,
    spins: u32,
}

impl Node {
    /// Runs the kernel: the one indirect call that every contestant makes.
    #[inline]
    pub fn call(&self) {
        (self.run)(self);
    }
}

fn count(node: &Node) {
    node.runs.store(node.runs.load(Relaxed).wrapping_add(1), Relaxed);
}

fn count_and_spin(node: &Node) {
    count(node);
    spin(node.spins);
}

/// A chain of dependent multiplications.
fn spin(times: u32) {
    let mut x = 1u64;
    for _ in 0..times {
        x = black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

/// How many turns of [`spin`] take a microsecond.
pub fn spins_per_microsecond() -> f64 {
    let measure = || {
        let start = Instant::now();
        spin(1_000_000);
        1e6 / (start.elapsed().as_nanos() as f64 / 1e3)
    };
    // The fastest: the others were interrupted.
    (0..9).map(|_| measure()).fold(0.0, f64::max)
}

/// `n` kernels of so many turns; 0 for the empty body.
pub fn nodes(n: usize, spins: u32) -> Vec<Node> {
    let run = if spins == 0 { count } else { count_and_spin };
    (0..n).map(|_| Node { run, runs: AtomicU32::new(0), spins }).collect()
}
