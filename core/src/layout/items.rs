//! Rows, and what stands in them: the nodes, and one item per row that a trunk passes.

use crate::graph::{Graph, NodeId};

/// An item: a node (ids below [`Items::nodes`]) or a trunk's passage through a row.
pub(super) type Item = u32;

/// Everything that has a place in a row. Segments join items of neighbouring rows.
#[derive(Clone, Debug)]
pub(super) struct Items {
    /// How many items are nodes; the rest are passages.
    pub(super) nodes: u32,
    /// Row of each item.
    pub(super) layer: Vec<u32>,
    /// Width of each item, even; 0 for passages.
    pub(super) width: Vec<i32>,
    /// Neighbours in the row above, by item.
    pub(super) up: Neighbours,
    /// Neighbours in the row below, by item.
    pub(super) down: Neighbours,
    /// Items of all rows, in order; row `r` is `order[start[r]..start[r + 1]]`.
    pub(super) order: Vec<Item>,
    /// See `order`.
    pub(super) start: Vec<u32>,
    /// Place of each item in its row: the inverse of `order`.
    pub(super) place: Vec<u32>,
    /// Passages of each node's trunk, topmost first, as a range of item ids; empty when all its
    /// edges are short, or when they run in a lane.
    pub(super) trunk: Vec<(Item, Item)>,
    /// Nodes whose long edges run in a lane at the side, ascending.
    pub(super) in_lanes: Vec<NodeId>,
}

/// A list of neighbours per item, in two flat arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    start: Vec<u32>,
    list: Vec<Segment>,
}

/// One end of a segment, as seen from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The item at the other end.
    pub(super) item: Item,
    /// The segment's own number, the same from both ends.
    pub(super) id: u32,
}

impl Neighbours {
    pub(super) fn of(&self, item: Item) -> &[Segment] {
        &self.list[self.start[item as usize] as usize..self.start[item as usize + 1] as usize]
    }

    /// Orders every list by the places of the other ends.
    pub(super) fn sort_by_place(&mut self, place: &[u32]) {
        for item in 0..self.start.len() - 1 {
            let range = self.start[item] as usize..self.start[item + 1] as usize;
            self.list[range].sort_unstable_by_key(|segment| place[segment.item as usize]);
        }
    }

    fn new(items: usize, ends: impl Iterator<Item = (Item, Item)> + Clone) -> Self {
        let mut start = vec![0u32; items + 1];
        for (item, _) in ends.clone() {
            start[item as usize + 1] += 1;
        }
        for item in 0..items {
            start[item + 1] += start[item];
        }
        let mut next = start.clone();
        let mut list = vec![Segment { item: 0, id: 0 }; start[items] as usize];
        for (id, (item, other)) in ends.enumerate() {
            list[next[item as usize] as usize] = Segment { item: other, id: id as u32 };
            next[item as usize] += 1;
        }
        Self { start, list }
    }
}

impl Items {
    /// The rows of `graph`, in order of item id.
    pub(super) fn new(graph: &Graph, mut width: Vec<i32>) -> Self {
        let nodes = graph.len();
        let mut layer = vec![0u32; nodes as usize];
        for node in 0..nodes {
            let above = graph.incoming(node).iter().map(|edge| layer[edge.node as usize] + 1);
            layer[node as usize] = above.max().unwrap_or(0);
        }
        let (trunk, in_lanes) = trunks(graph, &layer);
        let mut segments: Vec<(Item, Item)> = Vec::new();
        for node in 0..nodes {
            let row = layer[node as usize];
            let (first, end) = trunk[node as usize];
            for passage in first..end {
                layer.push(row + 1 + (passage - first));
                segments.push((if passage == first { node } else { passage - 1 }, passage));
            }
            for edge in graph.outgoing(node) {
                match layer[edge.node as usize] - row {
                    1 => segments.push((node, edge.node)),
                    rows if first < end => segments.push((first + rows - 2, edge.node)),
                    _ => {}
                }
            }
        }
        width.resize(layer.len(), 0);
        let items = layer.len();
        let rows = layer.iter().max().map_or(0, |&last| last as usize + 1);
        let mut start = vec![0u32; rows + 1];
        for &row in &layer {
            start[row as usize + 1] += 1;
        }
        for row in 0..rows {
            start[row + 1] += start[row];
        }
        let mut all = Self {
            nodes,
            up: Neighbours::new(items, segments.iter().map(|&(upper, lower)| (lower, upper))),
            down: Neighbours::new(items, segments.iter().copied()),
            order: vec![0; items],
            place: vec![0; items],
            layer,
            width,
            start,
            trunk,
            in_lanes,
        };
        let mut next = all.start.clone();
        for item in 0..items as Item {
            let row = all.layer[item as usize] as usize;
            all.order[next[row] as usize] = item;
            next[row] += 1;
        }
        all.index();
        all
    }

    /// Number of items.
    pub(super) fn len(&self) -> u32 {
        self.layer.len() as u32
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.start.len() - 1
    }

    /// The items of `row`, in order.
    pub(super) fn row(&self, row: usize) -> &[Item] {
        &self.order[self.start[row] as usize..self.start[row + 1] as usize]
    }

    /// Number of segments.
    pub(super) fn segments(&self) -> usize {
        self.down.list.len()
    }

    pub(super) fn is_passage(&self, item: Item) -> bool {
        item >= self.nodes
    }

    /// Brings `place` up to date with `order`.
    pub(super) fn index(&mut self) {
        for row in 0..self.rows() {
            let range = self.start[row] as usize..self.start[row + 1] as usize;
            for (place, at) in range.enumerate() {
                self.place[self.order[at] as usize] = place as u32;
            }
        }
    }
}

/// Which item ids the trunk of each node takes, and which nodes get a lane instead.
///
/// Short trunks come first, until there are two passages per edge: beyond that the passages, and
/// not the nodes, would set the time and the width of the layout.
fn trunks(graph: &Graph, layer: &[u32]) -> (Vec<(Item, Item)>, Vec<NodeId>) {
    let length = |node: NodeId| {
        let deepest = graph.outgoing(node).iter().map(|edge| layer[edge.node as usize]).max();
        deepest.map_or(0, |deepest| deepest - layer[node as usize] - 1)
    };
    let mut long: Vec<(u32, NodeId)> =
        (0..graph.len()).map(|node| (length(node), node)).filter(|&(length, _)| length > 0).collect();
    long.sort_unstable();
    let mut budget = 2 * u64::from(graph.edge_count()) + 64;
    let fits = long.iter().take_while(|&&(length, _)| {
        let fits = u64::from(length) <= budget;
        budget = budget.saturating_sub(u64::from(length));
        fits
    });
    let (admitted, refused) = long.split_at(fits.count());
    let mut trunk = vec![(0, 0); graph.len() as usize];
    let mut admitted: Vec<(NodeId, u32)> = admitted.iter().map(|&(length, node)| (node, length)).collect();
    admitted.sort_unstable();
    let mut next = graph.len();
    for (node, length) in admitted {
        trunk[node as usize] = (next, next + length);
        next += length;
    }
    let mut in_lanes: Vec<NodeId> = refused.iter().map(|&(_, node)| node).collect();
    in_lanes.sort_unstable();
    (trunk, in_lanes)
}
