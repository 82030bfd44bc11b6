//! Both reductions on *every* small graph with two kinds of edge.
//!
//! The judge here knows nothing of paths that "begin with an execution edge": it splits each node
//! into a start and an end, closes the order over these points, and asks which edges it can do
//! without. See `docs/reduction.md`.

use thunkscope_core::graph::all_pairs::Relation;
use thunkscope_core::graph::{Edge, EdgeKind, Graph};

/// What was seen in all graphs of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exhausted {
    /// How many graphs there are: 3 to the number of pairs.
    pub graphs: u64,
    /// Those where XLA's reduction keeps more than the minimum.
    pub upstream_keeps_more: u64,
    /// How many edges too many that is, over all graphs.
    pub edges_too_many: u64,
}

/// Checks every graph of `nodes ≤ 8` nodes in program order: the minimum is the transitive
/// reduction of the split graph, XLA's result means the same and contains it.
///
/// # Panics
/// At the first graph where that is not so.
pub fn exhaust(nodes: usize) -> Exhausted {
    let pairs: Vec<_> = (0..nodes).flat_map(|j| (j + 1..nodes).map(move |i| (j, i))).collect();
    let mut seen = Exhausted::default();
    for code in 0..3u64.pow(pairs.len() as u32) {
        let mut outgoing = vec![Vec::new(); nodes];
        let mut rest = code;
        for &(j, i) in &pairs {
            let kind = [None, Some(EdgeKind::Scheduling), Some(EdgeKind::Execution)][(rest % 3) as usize];
            rest /= 3;
            outgoing[j].extend(kind.map(|kind| Edge { node: i as u32, kind }));
        }
        let order = closure(&outgoing);
        let expected = necessary(&outgoing, &order);
        let relation = Relation::from_outgoing(outgoing);
        let exact = edges(&relation.minimal());
        assert_eq!(exact, expected, "minimum of graph {code} of {nodes} nodes");
        assert_eq!(closure(&exact), order, "meaning of graph {code} of {nodes} nodes");
        let upstream = edges(&relation.reduce_upstream().graph);
        assert_eq!(closure(&upstream), order, "meaning of XLA's graph {code} of {nodes} nodes");
        let too_many = count(&upstream) - count(&exact);
        let contained =
            exact.iter().zip(&upstream).all(|(some, all)| some.iter().all(|edge| all.contains(edge)));
        assert!(contained, "XLA lacks an edge in graph {code} of {nodes} nodes");
        seen.graphs += 1;
        seen.upstream_keeps_more += u64::from(too_many > 0);
        seen.edges_too_many += too_many;
    }
    seen
}

type Outgoing = Vec<Vec<Edge>>;

fn edges(graph: &Graph) -> Outgoing {
    (0..graph.len()).map(|node| graph.outgoing(node).to_vec()).collect()
}

fn count(outgoing: &Outgoing) -> u64 {
    outgoing.iter().map(|list| list.len() as u64).sum()
}

/// Point `2n` is the start of node `n`, point `2n + 1` its end. Bit `q` of entry `p`: `p` comes
/// before `q`.
fn closure(outgoing: &Outgoing) -> [u16; 16] {
    let mut after = [0u16; 16];
    for node in (0..outgoing.len()).rev() {
        for point in [2 * node + 1, 2 * node] {
            for target in targets(outgoing, point) {
                after[point] |= after[target] | 1 << target;
            }
        }
    }
    after
}

/// Where the edges out of a point lead.
fn targets(outgoing: &Outgoing, point: usize) -> impl Iterator<Item = usize> + '_ {
    let (node, is_end) = (point / 2, point % 2 == 1);
    let kind = if is_end { EdgeKind::Execution } else { EdgeKind::Scheduling };
    let edges = outgoing[node].iter().filter(move |edge| edge.kind == kind);
    edges.map(|edge| 2 * edge.node as usize).chain((!is_end).then_some(point + 1))
}

/// The edges `p → q` such that nothing lies between `p` and `q`: the transitive reduction.
fn necessary(outgoing: &Outgoing, order: &[u16; 16]) -> Outgoing {
    let keep = |node: usize, edge: &Edge| {
        let from = 2 * node + usize::from(edge.kind == EdgeKind::Execution);
        let to = 2 * edge.node as usize;
        !(0..16).any(|between| order[from] >> between & 1 == 1 && order[between] >> to & 1 == 1)
    };
    let lists = outgoing.iter().enumerate();
    lists.map(|(node, list)| list.iter().copied().filter(|edge| keep(node, edge)).collect()).collect()
}
