//! XLA's transitive reduction, one node at a time: the result that depends on its order.

use super::lists::Lists;
use super::{Edge, EdgeKind, NodeId};

/// Scratch space of the procedure.
pub(super) struct Traversal {
    /// `visited[t] = s + 1`: seen in the turn of `s`.
    visited: Vec<u32>,
    /// `edge[t]`: what is left of the edge `s → t`. Valid in the turn of `s` for its targets.
    left: Vec<Option<EdgeKind>>,
    stack: Vec<Edge>,
    /// Scheduling edges among `stack`.
    scheduling: usize,
    /// Edges looked at so far.
    steps: u64,
}

/// The reduced out-edges of the nodes from some node on, in reverse order of nodes.
pub(super) trait Reduced {
    fn outgoing(&self, node: NodeId) -> &[Edge];
}

impl Reduced for Vec<Vec<Edge>> {
    fn outgoing(&self, node: NodeId) -> &[Edge] {
        &self[node as usize]
    }
}

impl Reduced for Lists {
    fn outgoing(&self, node: NodeId) -> &[Edge] {
        self.of(node)
    }
}

impl Traversal {
    /// For a graph of `n` nodes.
    pub(super) fn new(n: u32) -> Self {
        Self {
            visited: vec![0; n as usize],
            left: vec![None; n as usize],
            stack: Vec::new(),
            scheduling: 0,
            steps: 0,
        }
    }

    /// Edges looked at so far, in all turns.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The turn of `node`: removes from `raw`, all its out-edges in ascending order, those that
    /// XLA erases, given the reduced out-edges of the later nodes. Returns its priority, the
    /// number of nodes visited.
    ///
    /// A bypass that contains a scheduling edge erases only a scheduling edge, and XLA takes any
    /// scheduling edge that waits on the stack for a part of the bypass (executor spec §2).
    pub(super) fn reduce(&mut self, node: NodeId, raw: &mut Vec<Edge>, reduced: &impl Reduced) -> u32 {
        let turn = node + 1;
        let mut visits = 0;
        for edge in &*raw {
            self.left[edge.node as usize] = Some(edge.kind);
        }
        // Erased edges have their turn as well: XLA walks over a copy.
        for first in &*raw {
            let seen = &mut self.visited[first.node as usize];
            visits += u32::from(*seen != turn);
            *seen = turn;
            visits += self.push_successors(turn, reduced.outgoing(first.node));
            while let Some(edge) = self.stack.pop() {
                self.scheduling -= usize::from(edge.kind == EdgeKind::Scheduling);
                let mixed = self.scheduling > 0
                    || edge.kind == EdgeKind::Scheduling
                    || first.kind == EdgeKind::Scheduling;
                let may_erase = if mixed { EdgeKind::Scheduling } else { EdgeKind::Execution };
                let left = &mut self.left[edge.node as usize];
                if left.is_some_and(|kind| kind <= may_erase) {
                    *left = None;
                }
                visits += self.push_successors(turn, reduced.outgoing(edge.node));
            }
        }
        // `take`, so that the next turn starts with a clean table.
        raw.retain(|edge| self.left[edge.node as usize].take().is_some());
        visits
    }

    fn push_successors(&mut self, turn: u32, edges: &[Edge]) -> u32 {
        self.steps += 1 + edges.len() as u64;
        let before = self.stack.len();
        for &edge in edges {
            let seen = &mut self.visited[edge.node as usize];
            if *seen != turn {
                *seen = turn;
                self.scheduling += usize::from(edge.kind == EdgeKind::Scheduling);
                self.stack.push(edge);
            }
        }
        (self.stack.len() - before) as u32
    }
}
