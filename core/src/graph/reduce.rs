//! Reachability by blocked bit sets: the minimal graph, and how many nodes each node reaches.
//!
//! Nodes are columns, 512 at a time, and one sweep over the rows in reverse program order fills
//! the bits of a block: a cache line per row. Rows after the block are zero, and so are those of
//! no interest before it.

use super::lists::Lists;
use super::{EdgeKind, NodeId};

/// 64-bit words of a row: one cache line.
pub(super) const WORDS: usize = 8;
/// Nodes per block.
pub(super) const COLUMNS: u32 = 64 * WORDS as u32;

/// The columns of one block.
pub(super) type Row = [u64; WORDS];

/// The unique minimum with the same meaning ([`Reduction::Exact`](super::Reduction::Exact)), from
/// outgoing to outgoing lists.
///
/// An execution edge is redundant iff another path between its ends begins with an execution
/// edge, a scheduling edge iff there is any other path. Proof: `docs/reduction.md`. With execution
/// edges only, this is the ordinary transitive reduction.
pub(super) fn minimal(mut outgoing: Lists) -> Lists {
    let n = outgoing.len();
    let mut redundant = vec![false; outgoing.edges.len()];
    // Only rows from the first that has an edge into the block matter. In a program with
    // locality that is a short window.
    let mut first = vec![n; n.div_ceil(COLUMNS) as usize];
    for node in 0..n {
        for edge in outgoing.of(node) {
            let first = &mut first[(edge.node / COLUMNS) as usize];
            *first = (*first).min(node);
        }
    }
    let mut rows = Vec::new();
    for (block, &first) in first.iter().enumerate() {
        let block = Block::new(block as u32, first, n);
        block.fill(&outgoing, &mut rows, |node, paths, _| {
            let from = outgoing.start[node as usize] as usize;
            for (at, edge) in outgoing.of(node).iter().enumerate() {
                if edge.node >= block.end {
                    break;
                }
                if edge.node >= block.begin {
                    redundant[from + at] = block.has(paths.of(edge.kind), edge.node);
                }
            }
        });
    }
    outgoing.retain(|at| !redundant[at]);
    outgoing
}

/// The number of nodes that each node reaches.
pub(super) fn reach(outgoing: &Lists) -> Vec<u32> {
    let n = outgoing.len();
    let mut count = vec![0; n as usize];
    let mut rows = Vec::new();
    for block in 0..n.div_ceil(COLUMNS) {
        Block::new(block, 0, n).fill(outgoing, &mut rows, |node, _, reached| {
            count[node as usize] += reached.iter().map(|word| word.count_ones()).sum::<u32>();
        });
    }
    count
}

/// What is reached by paths of two or more edges.
struct Paths {
    any: Row,
    /// By paths that begin with an execution edge.
    strict: Row,
}

impl Paths {
    fn of(&self, kind: EdgeKind) -> &Row {
        match kind {
            EdgeKind::Scheduling => &self.any,
            EdgeKind::Execution => &self.strict,
        }
    }
}

/// The columns `begin..end`, for the rows `first..end`.
struct Block {
    first: NodeId,
    begin: NodeId,
    end: NodeId,
}

impl Block {
    fn new(index: u32, first: NodeId, n: u32) -> Self {
        let begin = index * COLUMNS;
        Self { first, begin, end: n.min(begin + COLUMNS) }
    }

    fn has(&self, row: &Row, node: NodeId) -> bool {
        let column = node - self.begin;
        row[(column / 64) as usize] >> (column % 64) & 1 == 1
    }

    /// Fills `rows` (any content), last row first, and shows each to `visit`: the node, what it
    /// reaches by longer paths, what it reaches at all.
    fn fill(&self, outgoing: &Lists, rows: &mut Vec<Row>, mut visit: impl FnMut(NodeId, &Paths, &Row)) {
        rows.resize(rows.len().max(self.end.saturating_sub(self.first) as usize), [0; WORDS]);
        for node in (self.first..self.end).rev() {
            let mut paths = Paths { any: [0; WORDS], strict: [0; WORDS] };
            let mut direct = [0; WORDS];
            for edge in outgoing.of(node) {
                if edge.node >= self.end {
                    break;
                }
                let row = &rows[(edge.node - self.first) as usize];
                union(&mut paths.any, row);
                if edge.kind == EdgeKind::Execution {
                    union(&mut paths.strict, row);
                }
                if edge.node >= self.begin {
                    let column = edge.node - self.begin;
                    direct[(column / 64) as usize] |= 1 << (column % 64);
                }
            }
            union(&mut direct, &paths.any);
            visit(node, &paths, &direct);
            rows[(node - self.first) as usize] = direct;
        }
    }
}

pub(super) fn union(into: &mut Row, row: &Row) {
    for (into, word) in into.iter_mut().zip(row) {
        *into |= word;
    }
}
