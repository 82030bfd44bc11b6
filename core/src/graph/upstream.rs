//! XLA's own result where scheduling edges meet execution edges.
//!
//! From a node that reaches no scheduling edge, all paths are of execution edges and the minimum
//! is what XLA finds too. The others get all their conflicts and XLA's procedure.

use super::accesses::{Accesses, Class};
use super::lists::Lists;
use super::sweep::Limits;
use super::traversal::Traversal;
use super::{Edge, EdgeKind, NodeId, too_many_edges};
use crate::diagnostic::Diagnostic;
use crate::program::Access;

/// XLA's reduced out-edges, given the minimal ones.
///
/// # Errors
/// `GR001` when there are more than `limits.edges`, `GR002` after `limits.steps`.
pub(super) fn reduced(accesses: &Accesses, minimal: Lists, limits: Limits) -> Result<Lists, Diagnostic> {
    let n = accesses.len();
    let mut mixed = may_begin_scheduling_edge(accesses);
    for node in (0..n).rev() {
        let reaches = minimal.of(node).iter().any(|edge| mixed[edge.node as usize]);
        mixed[node as usize] |= reaches;
    }
    if !mixed.contains(&true) {
        return Ok(minimal);
    }
    let mut conflicts = Conflicts::new(accesses);
    let mut traversal = Traversal::new(n);
    let mut outgoing: Vec<Vec<Edge>> = vec![Vec::new(); n as usize];
    let mut count = 0;
    for node in (0..n).rev() {
        let mut list = minimal.of(node).to_vec();
        if mixed[node as usize] {
            conflicts.after(node, &mut list);
            traversal.reduce(node, &mut list, &outgoing);
            list.shrink_to_fit();
        }
        conflicts.add(node);
        count += list.len();
        too_many_edges(count, limits.edges)?;
        if traversal.steps() > limits.steps {
            return Err(Diagnostic::error("GR002", "$.thunks", "a graph that XLA's procedure reduces in bounded time")
                .found(format!("more than {} steps", limits.steps))
                .hint(
                    "where collectives meet other dependencies, XLA's result depends on all conflicts of the thunks \
                     before them, and here they are too many; split the program",
                ));
        }
        outgoing[node as usize] = list;
    }
    let mut lists = Lists::default();
    outgoing.into_iter().for_each(|list| lists.push(list));
    Ok(lists)
}

/// Whether a later thunk's use of a communicator clashes with one of this thunk's.
fn may_begin_scheduling_edge(accesses: &Accesses) -> Vec<bool> {
    let n = accesses.len();
    let mut may = vec![false; n as usize];
    // Per tree: used later, written later.
    let mut later = vec![(false, false); accesses.trees.len()];
    for node in (0..n).rev() {
        let uses = || accesses.of(node).filter(|use_| accesses.class(use_) == Class::Communicator);
        may[node as usize] = uses().any(|use_| {
            let (used, written) = later[use_.pieces.tree as usize];
            if use_.access == Access::Write { used } else { written }
        });
        for use_ in uses() {
            let later = &mut later[use_.pieces.tree as usize];
            *later = (true, later.1 || use_.access == Access::Write);
        }
    }
    may
}

/// All conflicts of one node with later ones, for nodes in reverse order.
struct Conflicts<'a> {
    accesses: &'a Accesses,
    /// The slices of each tree.
    slices: Vec<Vec<u32>>,
    /// For each slice, who reads and who writes it, among the nodes that were added.
    users: Vec<[Vec<NodeId>; 2]>,
    /// `seen[i] = j + 1`: the edge `j → i` has been found.
    seen: Vec<u32>,
}

impl<'a> Conflicts<'a> {
    fn new(accesses: &'a Accesses) -> Self {
        let mut slices = vec![Vec::new(); accesses.trees.len()];
        for (pieces, slice) in accesses.slices().iter().zip(0..) {
            if let Some(list) = slices.get_mut(pieces.tree as usize) {
                list.push(slice);
            }
        }
        let users = vec![[Vec::new(), Vec::new()]; accesses.slices().len()];
        Self { accesses, slices, users, seen: vec![0; accesses.len() as usize] }
    }

    fn add(&mut self, node: NodeId) {
        for use_ in self.accesses.of(node) {
            self.users[use_.slice as usize][usize::from(use_.access == Access::Write)].push(node);
        }
    }

    /// Puts all edges out of `node` to nodes that were added into `list`, ascending.
    fn after(&mut self, node: NodeId, list: &mut Vec<Edge>) {
        list.clear();
        for kind in [EdgeKind::Execution, EdgeKind::Scheduling] {
            for use_ in self.accesses.of(node) {
                let weak = self.accesses.class(&use_) == Class::Communicator;
                if weak != (kind == EdgeKind::Scheduling) {
                    continue;
                }
                for &slice in &self.slices[use_.pieces.tree as usize] {
                    let pieces = self.accesses.slices()[slice as usize];
                    if use_.pieces.lo >= pieces.hi || pieces.lo >= use_.pieces.hi {
                        continue;
                    }
                    let [readers, writers] = &self.users[slice as usize];
                    let readers: &[NodeId] = if use_.access == Access::Write { readers } else { &[] };
                    for &later in readers.iter().chain(writers) {
                        if self.seen[later as usize] != node + 1 {
                            self.seen[later as usize] = node + 1;
                            list.push(Edge { node: later, kind });
                        }
                    }
                }
            }
        }
        list.sort_unstable();
    }
}
