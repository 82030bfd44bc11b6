//! What the graph costs: how deep it is, and how much of that is only the reuse of memory
//! (xla-import spec §4).
//!
//! A dependency `j → i` is true if some byte that `i` reads was last written by `j`, or if a
//! resource causes it. For this question, kinds that work in place read what they write. All else
//! is reuse: with a buffer of its own, `i` would not have to wait.

use super::accesses::{Accesses, Class, Overlap, Touch};
use super::last_access::LastAccess;
use super::{Graph, NodeId};
use crate::program::{Access, Resource, Sequence};

/// Depths and false dependencies of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// Nodes on the longest path along the graph's edges.
    pub depth: u32,
    /// Nodes on the longest path along true dependencies.
    pub true_depth: u32,
    /// The graph's edges that are no true dependencies, as `(from, to)`, by `to`, then `from`.
    pub false_edges: Vec<(NodeId, NodeId)>,
    /// The allocations whose reuse causes them, the worst first.
    pub reused: Vec<Reuse>,
}

/// How many false dependencies one allocation causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reuse {
    /// The allocation's number.
    pub allocation: u32,
    /// How many of [`Analysis::false_edges`] come from slices of it. An edge that comes from
    /// several allocations counts for each.
    pub edges: u32,
}

impl Analysis {
    /// Analyses `graph`, which was built from `sequence` and `resources`.
    pub fn new(sequence: &Sequence, resources: &[Resource], graph: &Graph) -> Self {
        let mut truth = Truth::new(sequence, resources);
        let mut blame = Blame::new(sequence, resources);
        let n = graph.len();
        let mut depth = vec![1u32; n as usize];
        let mut true_depth = vec![1u32; n as usize];
        let mut false_edges = Vec::new();
        for i in 0..n {
            truth.advance(i);
            for &j in &truth.found {
                true_depth[i as usize] = true_depth[i as usize].max(true_depth[j as usize] + 1);
            }
            let first = false_edges.len();
            for edge in graph.incoming(i) {
                depth[i as usize] = depth[i as usize].max(depth[edge.node as usize] + 1);
                if !truth.holds(edge.node, i) {
                    false_edges.push((edge.node, i));
                }
            }
            blame.advance(i, &false_edges[first..]);
        }
        let max = |depth: Vec<u32>| depth.into_iter().max().unwrap_or(0);
        Self { depth: max(depth), true_depth: max(true_depth), false_edges, reused: blame.finish() }
    }
}

/// The true dependencies of one thunk after the other, by exact last writer.
struct Truth {
    accesses: Accesses,
    last: LastAccess,
    /// Those that the present thunk truly depends on, perhaps repeated.
    found: Vec<NodeId>,
    /// `seen[j] = i + 1`: `j` is among `found` for `i`.
    seen: Vec<u32>,
}

impl Truth {
    fn new(sequence: &Sequence, resources: &[Resource]) -> Self {
        let accesses = Accesses::new(sequence, resources, Overlap::Bytes);
        let last = LastAccess::new(accesses.trees.iter().map(|tree| tree.size));
        let seen = vec![0; accesses.len() as usize];
        Self { accesses, last, found: Vec::new(), seen }
    }

    fn advance(&mut self, i: NodeId) {
        let Self { accesses, last, found, seen } = self;
        found.clear();
        let mut add = |j: NodeId| {
            if j != i {
                found.push(j);
                seen[j as usize] = i + 1;
            }
        };
        let uses = || accesses.of(i).map(|use_| (use_, accesses.class(&use_) == Class::Buffer));
        for (use_, buffer) in uses() {
            if buffer && use_.takes_data {
                last.last_writers(use_.pieces, &mut add);
            } else if !buffer && use_.access == Access::Read {
                last.read(use_.pieces, i, &mut add);
            }
        }
        for (use_, buffer) in uses().filter(|(use_, _)| use_.access == Access::Write) {
            // What a write to a buffer must wait for is no true dependency.
            let mut waits = |j| {
                if !buffer {
                    add(j)
                }
            };
            last.write(use_.pieces, i, &mut waits);
        }
    }

    /// Whether the edge `j → i` into the present thunk is a true dependency.
    fn holds(&self, j: NodeId, i: NodeId) -> bool {
        let clash = |a: &Touch, b: &Touch| {
            a.pieces.tree == b.pieces.tree
                && a.access.clashes(b.access)
                && self.accesses.class(a) != Class::Buffer
        };
        self.seen[j as usize] == i + 1
            || self.accesses.of(j).any(|a| self.accesses.of(i).any(|b| clash(&a, &b)))
    }
}

/// Which allocations cause the false edges into one thunk after the other.
///
/// An edge is put down to each allocation in whose own sweep it is found, that is, where the
/// clash is not implied by other clashes in the same allocation.
struct Blame {
    accesses: Accesses,
    last: LastAccess,
    found: Vec<(NodeId, u32)>,
    /// By tree.
    edges: Vec<u32>,
    /// `guilty[j] = i + 1`: the edge `j → i` is false.
    guilty: Vec<u32>,
}

impl Blame {
    fn new(sequence: &Sequence, resources: &[Resource]) -> Self {
        let accesses = Accesses::new(sequence, resources, Overlap::Xla);
        let last = LastAccess::new(accesses.trees.iter().map(|tree| tree.size));
        let (edges, guilty) = (vec![0; accesses.trees.len()], vec![0; accesses.len() as usize]);
        Self { accesses, last, found: Vec::new(), edges, guilty }
    }

    fn advance(&mut self, i: NodeId, false_edges: &[(NodeId, NodeId)]) {
        let Self { accesses, last, found, edges, guilty } = self;
        for &(j, _) in false_edges {
            guilty[j as usize] = i + 1;
        }
        found.clear();
        let uses = || accesses.of(i).filter(|use_| accesses.class(use_) == Class::Buffer);
        let mut add = |j: NodeId, tree| {
            if guilty[j as usize] == i + 1 {
                found.push((j, tree));
            }
        };
        for Touch { pieces, .. } in uses().filter(|use_| use_.access == Access::Read) {
            last.read(pieces, i, &mut |j| add(j, pieces.tree));
        }
        for Touch { pieces, .. } in uses().filter(|use_| use_.access == Access::Write) {
            last.write(pieces, i, &mut |j| add(j, pieces.tree));
        }
        found.sort_unstable();
        found.dedup();
        for &(_, tree) in &*found {
            edges[tree as usize] += 1;
        }
    }

    fn finish(self) -> Vec<Reuse> {
        let mut reused: Vec<_> = self
            .edges
            .iter()
            .zip(&self.accesses.trees)
            .filter(|&(&edges, _)| edges > 0)
            .map(|(&edges, tree)| Reuse { allocation: tree.number, edges })
            .collect();
        reused.sort_unstable_by_key(|reuse| (std::cmp::Reverse(reuse.edges), reuse.allocation));
        reused
    }
}
