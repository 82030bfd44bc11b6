//! A scenario as the steps need it.

use super::scenario::{MAX_THREADS, MAX_THUNKS, Scenario};
use super::{Fault, Property};
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::executor::{self, State};
use crate::explore::Broken;
use crate::graph::{Edge, EdgeKind, Graph, NodeId, Reduction};
use crate::machine::{LocalMemory, Word};
use crate::program::{Access, ResourceKind, Thunk};
use crate::trace::{Header, SequenceHeader, VERSION};

/// A set of thunks.
pub(super) type Nodes = u16;

pub(super) fn bit(node: NodeId) -> Nodes {
    1 << node
}

/// The thunks of a set, ascending.
pub(super) fn each(nodes: Nodes) -> impl Iterator<Item = NodeId> {
    (0..Nodes::BITS).filter(move |&node| nodes & bit(node) != 0)
}

/// What stays the same in all states.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) graph: Graph,
    pub(super) priorities: Vec<u32>,
    pub(super) names: Vec<String>,
    pub(super) all: Nodes,
    /// By thunk: those before it in program order with which it shares a byte or a token that one
    /// of them writes. From the uses alone, not from the graph.
    pub(super) after: Vec<Nodes>,
    pub(super) pending: Nodes,
    pub(super) blocking: Nodes,
    pub(super) fails: Nodes,
    pub(super) never: Nodes,
    /// By thunk, the communicator it takes.
    pub(super) communicators: Vec<Option<u32>>,
    pub(super) threads: u8,
    pub(super) ranks: u8,
    pub(super) max_workers: u32,
    pub(super) split_threshold: u32,
    pub(super) fault: Option<executor::Fault>,
    /// Those that weaken an ordering.
    pub(super) weakened: Vec<Fault>,
    properties: Vec<Property>,
    pub(super) symmetry: bool,
    program: String,
    digest: Digest,
    summary: String,
}

impl Compiled {
    pub(super) fn new(scenario: &Scenario) -> Result<Self, Diagnostic> {
        let Scenario { program, threads, ranks, .. } = scenario;
        let thunks = &program.sequence.thunks;
        let count = thunks.len() as u32;
        if !(1..=MAX_THUNKS).contains(&count) {
            return Err(Diagnostic::error("CK001", "thunks", format!("1 to {MAX_THUNKS} thunks"))
                .found(count)
                .hint("every interleaving is looked at: cut the program down to the part in question"));
        }
        if !(1..=MAX_THREADS).contains(threads) {
            let expected = format!("1 to {MAX_THREADS} threads beside the caller");
            return Err(Diagnostic::error("CK002", "threads", expected).found(threads));
        }
        if !(1..=2).contains(ranks) {
            return Err(Diagnostic::error("CK003", "ranks", "1 or 2 ranks").found(ranks));
        }
        for (name, nodes) in [("fails", &scenario.fails), ("never", &scenario.never)] {
            if let Some(node) = nodes.iter().find(|&&node| node >= count) {
                return Err(Diagnostic::error("CK004", name, "a thunk of the program").found(node));
            }
        }
        let faulty = |fault| scenario.faults.contains(&fault);
        let mut graph = Graph::build(&program.sequence, &program.resources, Reduction::Upstream)?;
        if faulty(Fault::NoSchedulingEdges) {
            graph = without_scheduling_edges(&graph);
        }
        let set = |keep: &dyn Fn(NodeId, &Thunk) -> bool| {
            (0..)
                .zip(thunks)
                .filter(|(node, thunk)| keep(*node, thunk))
                .fold(0, |set, (node, _)| set | bit(node))
        };
        let token = |resource: u32| {
            program.resources.get(resource as usize).is_none_or(|r| r.kind == ResourceKind::Token)
        };
        let communicator = |thunk: &Thunk| {
            let taken = thunk.all_resources();
            taken.iter().map(|used| used.resource).find(|&resource| !token(resource))
        };
        let after = (0..thunks.len())
            .map(|i| {
                (0..i)
                    .filter(|&j| clash(&thunks[j], &thunks[i], &token))
                    .fold(0, |set, j| set | bit(j as u32))
            })
            .collect();
        let executor_fault = scenario.faults.iter().find_map(|fault| match fault {
            Fault::Executor(fault) => Some(*fault),
            _ => None,
        });
        Ok(Self {
            priorities: graph.priorities(),
            names: thunks.iter().map(|thunk| thunk.name.clone()).collect(),
            all: set(&|_, _| true),
            after,
            pending: set(&|_, thunk| thunk.pending),
            blocking: set(&|_, thunk| thunk.may_block),
            fails: set(&|node, _| scenario.fails.contains(&node)),
            never: set(&|node, thunk| thunk.pending && scenario.never.contains(&node)),
            communicators: thunks.iter().map(communicator).collect(),
            threads: threads + 1,
            ranks: *ranks,
            max_workers: scenario.max_workers,
            split_threshold: scenario.split_threshold,
            fault: executor_fault,
            weakened: scenario
                .faults
                .iter()
                .copied()
                .filter(|fault| matches!(fault, Fault::Weaken(..)))
                .collect(),
            properties: scenario.properties.clone(),
            symmetry: scenario.symmetry,
            program: program.name.clone(),
            digest: program.digest(),
            summary: scenario.summary(),
            graph,
        })
    }

    /// The error for a property that does not hold, if it is looked at.
    pub(super) fn broken(&self, property: Property, what: impl FnOnce() -> String) -> Result<(), Broken> {
        if !self.properties.contains(&property) {
            return Ok(());
        }
        Err(Broken { property: property.name(), what: what() })
    }

    /// A thunk, as a sentence calls it.
    pub(super) fn name(&self, node: NodeId) -> String {
        format!("thunk {node} `{}`", self.names[node as usize])
    }

    pub(super) fn nodes(&self) -> u32 {
        self.graph.len()
    }

    /// The word of the session; those of the state are before it.
    pub(super) fn session(&self) -> Word {
        Word(State::<LocalMemory>::words(self.nodes()) as u32)
    }

    /// The word of a thunk's event.
    pub(super) fn event(&self, node: NodeId) -> Word {
        self.session().plus(1 + node)
    }

    /// Words in all.
    pub(super) fn words(&self) -> u32 {
        self.event(self.nodes()).0
    }

    /// The actor that completes a pending thunk.
    pub(super) fn completer(&self, node: NodeId) -> u8 {
        self.threads + node as u8
    }

    /// The actor that waits for the run's event.
    pub(super) fn waiter(&self) -> u8 {
        self.threads + self.nodes() as u8
    }

    /// Whether no queue can ever be long enough for a split: then nobody looks at the session.
    pub(super) fn never_splits(&self) -> bool {
        self.nodes() - 1 <= self.split_threshold
    }

    pub(super) fn header(&self) -> Header {
        let sequence = SequenceHeader {
            path: "entry".to_owned(),
            counters: (0..self.nodes()).map(|node| self.graph.incoming(node).len() as u32).collect(),
            sinks: self.graph.sinks().len() as u32,
        };
        Header {
            format: VERSION.to_owned(),
            program: self.program.clone(),
            digest: self.digest,
            options: self.summary.clone(),
            seed: 0,
            clock: "ns".to_owned(),
            lanes: u16::from(self.ranks) * u16::from(self.threads),
            sequences: vec![sequence],
        }
    }
}

fn without_scheduling_edges(graph: &Graph) -> Graph {
    let kept = |node| {
        let edges = graph.incoming(node).iter().copied();
        edges.filter(|edge: &Edge| edge.kind == EdgeKind::Execution).collect()
    };
    Graph::from_incoming(&(0..graph.len()).map(kept).collect::<Vec<_>>())
}

/// Whether two thunks touch a common byte or token, and not both only read it.
fn clash(earlier: &Thunk, later: &Thunk, token: &dyn Fn(u32) -> bool) -> bool {
    if earlier.any_uses_unknown() || later.any_uses_unknown() {
        return true;
    }
    let writes = |a: Access, b: Access| a == Access::Write || b == Access::Write;
    let (a, b) = (earlier.all_uses(), later.all_uses());
    let bytes = a.iter().any(|a| {
        b.iter().any(|b| {
            writes(a.access, b.access)
                && a.slice.allocation == b.slice.allocation
                && a.slice.offset.max(b.slice.offset) < a.slice.end().min(b.slice.end())
        })
    });
    let (a, b) = (earlier.all_resources(), later.all_resources());
    bytes
        || a.iter().any(|a| {
            b.iter().any(|b| a.resource == b.resource && token(a.resource) && writes(a.access, b.access))
        })
}
