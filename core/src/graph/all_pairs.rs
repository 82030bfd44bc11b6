//! The rule as it is stated, in O(N²): the oracle for the sweep, and its peer in the benchmark.

use super::conflict::Footprint;
use super::lists::Lists;
use super::traversal::Traversal;
use super::{Edge, EdgeKind, Graph, NodeId};
use crate::program::{Resource, Sequence};

/// All conflicting pairs, before any reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    outgoing: Vec<Vec<Edge>>,
    pairs: u64,
}

/// A reduced relation and what came with the reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The graph.
    pub graph: Graph,
    /// For each node, how many nodes it reaches.
    pub priorities: Vec<u32>,
    /// Conflicting pairs without an edge of their own.
    pub erased: u64,
}

impl Relation {
    /// Compares every pair of thunks (executor spec §2). Takes time and memory in proportion to
    /// the number of pairs.
    pub fn new(sequence: &Sequence, resources: &[Resource]) -> Self {
        let footprints: Vec<_> = sequence.thunks.iter().map(Footprint::new).collect();
        let mut outgoing = vec![Vec::new(); footprints.len()];
        let mut pairs = 0;
        for (i, later) in footprints.iter().enumerate() {
            for (j, earlier) in footprints[..i].iter().enumerate() {
                if let Some(kind) = earlier.conflict(later, resources) {
                    outgoing[j].push(Edge { node: i as NodeId, kind });
                    pairs += 1;
                }
            }
        }
        Self { outgoing, pairs }
    }

    /// A relation that is given: all edges out of each node, ascending.
    pub fn from_outgoing(outgoing: Vec<Vec<Edge>>) -> Self {
        let pairs = outgoing.iter().map(|list| list.len() as u64).sum();
        Self { outgoing, pairs }
    }

    /// The edges out of `node`, ascending.
    pub fn outgoing(&self, node: NodeId) -> &[Edge] {
        &self.outgoing[node as usize]
    }

    /// Number of conflicting pairs.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// XLA's reduction, depth first from every node.
    pub fn reduce_upstream(self) -> Reduced {
        let Self { mut outgoing, pairs } = self;
        let n = outgoing.len() as u32;
        let mut traversal = Traversal::new(n);
        let mut priorities = vec![0; n as usize];
        for node in (0..n).rev() {
            let mut list = std::mem::take(&mut outgoing[node as usize]);
            priorities[node as usize] = traversal.reduce(node, &mut list, &outgoing);
            outgoing[node as usize] = list;
        }
        finish(outgoing, priorities, pairs)
    }

    /// The unique minimum, by the bit sets that [`Graph::build`] uses.
    pub fn minimal(&self) -> Graph {
        let mut lists = Lists::default();
        self.outgoing.iter().for_each(|list| lists.push(list.iter().copied()));
        Graph::from_outgoing(super::reduce::minimal(lists))
    }

    /// The unique minimum, by the definition: nodes are split into a start and an end, and an edge
    /// goes when a path in the split graph does its work.
    pub fn reduce_exact(self) -> Reduced {
        let Self { outgoing, pairs } = self;
        let n = outgoing.len();
        let (start, end) = (|node: usize| 2 * node, |node: usize| 2 * node + 1);
        let origin = |node, kind| if kind == EdgeKind::Execution { end(node) } else { start(node) };
        let mut next = vec![Vec::new(); 2 * n];
        for (node, list) in outgoing.iter().enumerate() {
            next[start(node)].push(end(node));
            for edge in list {
                next[origin(node, edge.kind)].push(start(edge.node as usize));
            }
        }
        // What each point reaches, itself included.
        let mut reach = vec![vec![false; 2 * n]; 2 * n];
        for point in (0..2 * n).rev() {
            let mut row = vec![false; 2 * n];
            row[point] = true;
            for &target in &next[point] {
                row.iter_mut().zip(&reach[target]).for_each(|(into, from)| *into |= from);
            }
            reach[point] = row;
        }
        let redundant = |node: usize, edge: &Edge| {
            let goal = start(edge.node as usize);
            next[origin(node, edge.kind)].iter().any(|&target| target != goal && reach[target][goal])
        };
        let kept: Vec<Vec<Edge>> = outgoing
            .iter()
            .enumerate()
            .map(|(node, list)| list.iter().copied().filter(|edge| !redundant(node, edge)).collect())
            .collect();
        let starts = |node: usize| reach[start(node)].iter().step_by(2).filter(|&&bit| bit).count();
        let priorities = (0..n).map(|node| starts(node) as u32 - 1).collect();
        finish(kept, priorities, pairs)
    }
}

fn finish(outgoing: Vec<Vec<Edge>>, priorities: Vec<u32>, pairs: u64) -> Reduced {
    let mut lists = Lists::default();
    outgoing.into_iter().for_each(|list| lists.push(list));
    let graph = Graph::from_outgoing(lists);
    let erased = pairs - u64::from(graph.edge_count());
    Reduced { graph, priorities, erased }
}
