//! What may run when: the execution graph of one sequence.
//!
//! [`Graph::build`] finds the conflicts that matter with one sweep over the program and reduces
//! them; [`all_pairs`] is the rule as XLA states it, in O(N²), and the oracle of the tests.
//! [`decision`] says whether the executor uses the graph at all.

pub mod all_pairs;
pub mod analysis;
pub mod cause;
pub mod decision;

mod accesses;
mod conflict;
mod count;
mod last_access;
mod lists;
mod reduce;
mod sweep;
mod traversal;
mod upstream;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::fmt;

use self::accesses::{Accesses, Overlap};
use self::lists::{Lists, list};
use self::sweep::Limits;
use crate::diagnostic::Diagnostic;
use crate::program::{Resource, Sequence};

/// Index of a thunk in its sequence.
pub type NodeId = u32;

/// How strongly an edge `from → to` binds (executor spec §2). The order is by strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// `to` may start once `from` has *started*: keeps collectives in the same order on every rank.
    Scheduling,
    /// `to` may start once `from` has *completed*: prevents data races.
    Execution,
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Scheduling => "scheduling",
            Self::Execution => "execution",
        })
    }
}

/// One end of an edge, as seen from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The node at the other end.
    pub node: NodeId,
    /// The kind of the edge.
    pub kind: EdgeKind,
}

/// An execution graph. Edges always lead from an earlier thunk to a later one, and each list of
/// edges is in ascending order of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    incoming: Lists,
    outgoing: Lists,
    sources: Vec<NodeId>,
    sinks: Vec<NodeId>,
}

/// What a run reads of a graph: where to begin, and the edges out of each node.
///
/// A copy of the slices, so that a loop need not look them up again after each call of a kernel,
/// which for all that the compiler knows may have changed the graph.
#[derive(Clone, Copy, Debug)]
pub struct Successors<'g> {
    sources: &'g [NodeId],
    start: &'g [u32],
    edges: &'g [Edge],
}

impl<'g> Successors<'g> {
    /// As [`Graph::sources`].
    pub fn sources(self) -> &'g [NodeId] {
        self.sources
    }

    /// As [`Graph::outgoing`]; nothing if there is no such node.
    #[inline]
    pub fn of(self, node: NodeId) -> &'g [Edge] {
        list(self.start, self.edges, node)
    }
}

impl Graph {
    /// The execution graph of `sequence` (executor spec §2), with what `reduction` keeps.
    ///
    /// `resources` are those of the program. A resource index beyond the list counts as a token.
    ///
    /// # Errors
    /// `GR001` when the reduced graph has more than [`MAX_EDGES`] edges, `GR002` when XLA's own
    /// procedure, which [`Reduction::Upstream`] follows where scheduling edges are, takes too long.
    pub fn build(
        sequence: &Sequence,
        resources: &[Resource],
        reduction: Reduction,
    ) -> Result<Self, Diagnostic> {
        Conflicts::sweep(sequence, resources)?.reduce(reduction)
    }

    /// The graph with the given edges into each node: `incoming[i]` lists the dependencies of
    /// node `i` in ascending order.
    ///
    /// # Panics
    /// If a list is not ascending or names a node that is not earlier: such a list is a bug of
    /// the builder, never of an input.
    pub fn from_incoming(incoming: &[Vec<Edge>]) -> Self {
        let mut lists = Lists::default();
        incoming.iter().for_each(|list| lists.push(list.iter().copied()));
        Self::from_flat(lists.start, lists.edges)
    }

    /// As [`Graph::from_incoming`], from one flat array: the edges into node `i` are
    /// `edges[start[i]..start[i + 1]]`.
    ///
    /// # Panics
    /// As [`Graph::from_incoming`].
    pub fn from_flat(start: Vec<u32>, edges: Vec<Edge>) -> Self {
        let incoming = Lists { start, edges };
        for node in 0..incoming.len() {
            let list = incoming.of(node);
            let ascending = list.windows(2).all(|pair| pair[0].node < pair[1].node);
            assert!(
                ascending && list.last().is_none_or(|edge| edge.node < node),
                "edges into {node}: {list:?}"
            );
        }
        let outgoing = incoming.transposed();
        Self::from_lists(incoming, outgoing)
    }

    /// As [`Graph::from_incoming`], from the edges out of each node.
    fn from_outgoing(outgoing: Lists) -> Self {
        let incoming = outgoing.transposed();
        Self::from_lists(incoming, outgoing)
    }

    fn from_lists(incoming: Lists, outgoing: Lists) -> Self {
        let without = |lists: &Lists| (0..lists.len()).filter(|&node| lists.of(node).is_empty()).collect();
        let (sources, sinks) = (without(&incoming), without(&outgoing));
        Self { incoming, outgoing, sources, sinks }
    }

    /// Number of nodes.
    pub fn len(&self) -> u32 {
        self.incoming.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of edges.
    pub fn edge_count(&self) -> u32 {
        self.incoming.edges.len() as u32
    }

    /// By node: how many edges lead into it.
    pub fn in_degrees(&self) -> impl Iterator<Item = u32> {
        self.incoming.start.windows(2).map(|ends| ends[1] - ends[0])
    }

    /// The edges into `node`, ascending.
    pub fn incoming(&self, node: NodeId) -> &[Edge] {
        self.incoming.of(node)
    }

    /// The edges out of `node`, ascending.
    #[inline]
    pub fn outgoing(&self, node: NodeId) -> &[Edge] {
        self.outgoing.of(node)
    }

    /// What a run reads of the graph.
    #[inline]
    pub fn successors(&self) -> Successors<'_> {
        let Lists { start, edges } = &self.outgoing;
        Successors { sources: &self.sources, start, edges }
    }

    /// Nodes without incoming edges, ascending: what may run at once.
    pub fn sources(&self) -> &[NodeId] {
        &self.sources
    }

    /// Nodes without outgoing edges, ascending: the run is over when all have completed.
    pub fn sinks(&self) -> &[NodeId] {
        &self.sinks
    }

    /// The chain rule: every node after the first has an edge from the node just before it.
    pub fn is_chain(&self) -> bool {
        self.first_break().is_none()
    }

    /// The first node after node 0 without an edge from the node just before it.
    pub fn first_break(&self) -> Option<NodeId> {
        (1..self.len()).find(|&node| self.incoming(node).last().is_none_or(|edge| edge.node != node - 1))
    }

    /// XLA's priorities: for each node, how many nodes it reaches (executor spec §2).
    ///
    /// Takes time in proportion to nodes × edges / 512, so it is done on request only.
    pub fn priorities(&self) -> Vec<u32> {
        reduce::reach(&self.outgoing)
    }

    /// XLA's number of erased edges: conflicting pairs without an edge of their own, for the graph
    /// of `sequence`. Cost: [`conflicting_pairs`].
    pub fn erased(&self, sequence: &Sequence, resources: &[Resource]) -> u64 {
        conflicting_pairs(sequence, resources).saturating_sub(u64::from(self.edge_count()))
    }
}

/// Number of conflicting pairs of thunks, implied ones included: up to n · (n − 1) / 2.
///
/// Takes time in proportion to thunks² / 512, so it is done on request only.
pub fn conflicting_pairs(sequence: &Sequence, resources: &[Resource]) -> u64 {
    count::conflicting_pairs(&Accesses::new(sequence, resources, Overlap::Xla))
}

/// Which implied edges a graph still has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reduction {
    /// Exactly what XLA keeps. Where both kinds of edge meet, that can be more than needed.
    #[default]
    Upstream,
    /// The unique minimum. Proof and exhaustion: `docs/reduction.md`.
    Exact,
}

/// The most edges of a reduced graph. Each takes 16 bytes.
pub const MAX_EDGES: u32 = 50_000_000;

/// Conflicts held before the part of the graph that is known is reduced to make room.
const WAITING: usize = 8_000_000;

/// Edges looked at while XLA's own procedure is followed: some ten seconds. It is quadratic or
/// worse, and only runs where scheduling edges make its result differ from the minimum.
const STEPS: u64 = 10_000_000_000;

/// The conflicts of a sequence that are not implied by others in an obvious way: what the sweep
/// finds, and what is reduced to a [`Graph`].
pub struct Conflicts {
    accesses: Accesses,
    incoming: Lists,
    limits: Limits,
}

impl Conflicts {
    /// One pass over the program: last writers and the readers since, per byte.
    ///
    /// # Errors
    /// As [`Graph::build`].
    pub fn sweep(sequence: &Sequence, resources: &[Resource]) -> Result<Self, Diagnostic> {
        Self::within(
            sequence,
            resources,
            Limits { edges: MAX_EDGES as usize, waiting: WAITING, steps: STEPS },
        )
    }

    fn within(sequence: &Sequence, resources: &[Resource], limits: Limits) -> Result<Self, Diagnostic> {
        let accesses = Accesses::new(sequence, resources, Overlap::Xla);
        let incoming = sweep::incoming(&accesses, limits)?;
        Ok(Self { accesses, incoming, limits })
    }

    /// Number of edges found.
    pub fn edge_count(&self) -> u32 {
        self.incoming.edges.len() as u32
    }

    /// Removes what is implied.
    ///
    /// # Errors
    /// As [`Graph::build`].
    pub fn reduce(self, reduction: Reduction) -> Result<Graph, Diagnostic> {
        let outgoing = self.incoming.transposed();
        drop(self.incoming);
        let minimal = reduce::minimal(outgoing);
        too_many_edges(minimal.edges.len(), self.limits.edges)?;
        let kept = match reduction {
            Reduction::Exact => minimal,
            Reduction::Upstream => upstream::reduced(&self.accesses, minimal, self.limits)?,
        };
        Ok(Graph::from_outgoing(kept))
    }
}

fn too_many_edges(count: usize, limit: usize) -> Result<(), Diagnostic> {
    if count <= limit {
        return Ok(());
    }
    Err(Diagnostic::error("GR001", "$.thunks", format!("a graph of at most {limit} edges after reduction"))
        .found(format!("{count} edges or more"))
        .hint("split the program, or merge thunks that read or write the same slices side by side"))
}
