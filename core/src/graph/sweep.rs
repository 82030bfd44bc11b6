//! The conflicts that matter, by one pass in program order.
//!
//! A thunk is ordered after the last writers of what it reads, after the readers since then of
//! what it writes, and after the last writer where nobody has read. Every other conflict is
//! implied by a path of these ([`reduce`](super::reduce) and `docs/reduction.md`).

use super::accesses::{Accesses, Class, Touch};
use super::last_access::LastAccess;
use super::lists::Lists;
use super::{Edge, EdgeKind, NodeId, reduce, too_many_edges};
use crate::diagnostic::Diagnostic;
use crate::program::Access;

/// How many edges may be held.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Of the reduced graph: more is an error.
    pub(super) edges: usize,
    /// Before the graph of the thunks so far is reduced, to make room.
    pub(super) waiting: usize,
    /// Edges looked at while XLA's own procedure is followed: more is an error.
    pub(super) steps: u64,
}

/// Edges into each node that have the same closure as all conflicts.
///
/// # Errors
/// `GR001` when more edges than `limits` allow are left after reduction.
pub(super) fn incoming(accesses: &Accesses, limits: Limits) -> Result<Lists, Diagnostic> {
    let n = accesses.len();
    let mut last = LastAccess::new(accesses.trees.iter().map(|tree| tree.size));
    let any_communicator = accesses.trees.iter().any(|tree| tree.class == Class::Communicator);
    let mut found = Found { of: 0, seen: vec![0; n as usize], nodes: Vec::new() };
    let mut incoming = Lists::default();
    let mut room = limits.waiting;
    for i in 0..n {
        found.of = i;
        let uses = accesses.of(i);
        let strict = |use_: &Touch| !any_communicator || accesses.class(use_) != Class::Communicator;
        sweep_thunk(&mut last, uses.clone().filter(strict), &mut found);
        incoming.push(found.nodes.iter().map(|&node| Edge { node, kind: EdgeKind::Execution }));
        if any_communicator {
            // After the others: a pair that is ordered by an execution edge needs nothing more.
            found.nodes.clear();
            sweep_thunk(&mut last, uses.filter(|use_| !strict(use_)), &mut found);
            incoming.extend_last(found.nodes.iter().map(|&node| Edge { node, kind: EdgeKind::Scheduling }));
        }
        found.nodes.clear();
        incoming.sort_last();
        if incoming.edges.len() > room {
            // Edges between earlier nodes depend on these nodes alone, so they can be reduced
            // before the rest is known.
            let outgoing = std::mem::take(&mut incoming).transposed();
            incoming = reduce::minimal(outgoing).transposed();
            too_many_edges(incoming.edges.len(), limits.edges)?;
            room = limits.waiting.max(2 * incoming.edges.len()).min(limits.waiting + limits.edges);
        }
    }
    Ok(incoming)
}

/// Those that the thunk `of` must wait for, each once.
struct Found {
    of: NodeId,
    /// `seen[j] = i + 1`: `j` was found for `i`.
    seen: Vec<u32>,
    nodes: Vec<NodeId>,
}

impl Found {
    fn add(&mut self, node: NodeId) {
        let seen = &mut self.seen[node as usize];
        if *seen != self.of + 1 && node != self.of {
            *seen = self.of + 1;
            self.nodes.push(node);
        }
    }
}

/// All reads of a thunk come before all its writes.
fn sweep_thunk(last: &mut LastAccess, uses: impl Iterator<Item = Touch> + Clone, found: &mut Found) {
    let of = found.of;
    for use_ in uses.clone().filter(|use_| use_.access == Access::Read) {
        last.read(use_.pieces, of, &mut |node| found.add(node));
    }
    for use_ in uses.filter(|use_| use_.access == Access::Write) {
        last.write(use_.pieces, of, &mut |node| found.add(node));
    }
}
