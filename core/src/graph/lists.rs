//! One list of edges per node, in two flat arrays.

use super::{Edge, EdgeKind, NodeId};

/// Adjacency lists; each in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lists {
    /// The edges of node `i` are `edges[start[i]..start[i + 1]]`.
    pub(super) start: Vec<u32>,
    pub(super) edges: Vec<Edge>,
}

/// The edges of `node`; none if there is no such node.
#[inline]
pub(super) fn list<'l>(start: &[u32], edges: &'l [Edge], node: NodeId) -> &'l [Edge] {
    let node = node as usize;
    // One check for both ends.
    if node + 1 >= start.len() {
        return &[];
    }
    &edges[start[node] as usize..start[node + 1] as usize]
}

impl Default for Lists {
    fn default() -> Self {
        Self { start: vec![0], edges: Vec::new() }
    }
}

impl Lists {
    pub(super) fn len(&self) -> u32 {
        (self.start.len() - 1) as u32
    }

    #[inline]
    pub(super) fn of(&self, node: NodeId) -> &[Edge] {
        list(&self.start, &self.edges, node)
    }

    /// Appends the list of the next node.
    pub(super) fn push(&mut self, list: impl IntoIterator<Item = Edge>) {
        self.edges.extend(list);
        self.start.push(self.edges.len() as u32);
    }

    /// Appends to the list of the last node.
    pub(super) fn extend_last(&mut self, list: impl IntoIterator<Item = Edge>) {
        self.edges.extend(list);
        if let Some(end) = self.start.last_mut() {
            *end = self.edges.len() as u32;
        }
    }

    /// Sorts the list of the last node.
    pub(super) fn sort_last(&mut self) {
        if let [.., start, _] = self.start[..] {
            self.edges[start as usize..].sort_unstable();
        }
    }

    /// Keeps the edges whose places in `edges` pass.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let (mut kept, mut at) = (0, 0);
        for node in 1..self.start.len() {
            for from in at..self.start[node] as usize {
                if keep(from) {
                    self.edges[kept] = self.edges[from];
                    kept += 1;
                }
            }
            at = self.start[node] as usize;
            self.start[node] = kept as u32;
        }
        self.edges.truncate(kept);
        self.edges.shrink_to_fit();
    }

    /// The lists of the other direction. There can be fewer lists here than nodes named in them
    /// only by mistake of the caller.
    pub(super) fn transposed(&self) -> Self {
        let n = self.len();
        let mut start = vec![0u32; n as usize + 1];
        for edge in &self.edges {
            start[edge.node as usize + 1] += 1;
        }
        for node in 0..n as usize {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let mut edges = vec![Edge { node: 0, kind: EdgeKind::Execution }; self.edges.len()];
        for node in 0..n {
            for edge in self.of(node) {
                let place = &mut next[edge.node as usize];
                edges[*place as usize] = Edge { node, kind: edge.kind };
                *place += 1;
            }
        }
        Self { start, edges }
    }
}
