//! Where do I draw it? A layered layout of an execution graph: deterministic, integers only,
//! resumable, and steady when the graph changes a little.
//!
//! The rows are the longest-path layers, so every edge leads down. Edges that pass more than one
//! row run in a *trunk* per source: all long edges out of one node share it and branch off where
//! their targets hang, which keeps the number of helper points near the number of nodes. Trunks
//! beyond that budget run down one side of the picture in lanes.
//!
//! 1. rows and trunks (the private module `items`);
//! 2. the order within each row: median sweeps down and up, until they stop helping (`order`);
//! 3. coordinates: the four extreme alignments of Brandes and Köpf, averaged (`place`);
//! 4. one polyline per edge (`route`).
//!
//! Ties go to the lower id. An earlier [`Layout`] may be the starting order ([`Layouter::seeded`]):
//! then a new order must be clearly better before nodes move.

mod items;
mod order;
mod place;
mod route;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::graph::{EdgeKind, Graph, NodeId};
use crate::machine::Job;

use items::Items;
use order::Sweeps;
use place::Alignments;

/// A place, in pixels: x grows to the right, y grows downwards. In JSON a pair, `[x, y]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(i32, i32)", into = "(i32, i32)")]
pub struct Point {
    /// Pixels from the left edge of the picture.
    pub x: i32,
    /// Pixels from its top.
    pub y: i32,
}

impl From<(i32, i32)> for Point {
    fn from((x, y): (i32, i32)) -> Self {
        Self { x, y }
    }
}

impl From<Point> for (i32, i32) {
    fn from(Point { x, y }: Point) -> Self {
        (x, y)
    }
}

/// Width and height, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Pixels, taken into `2..=4096` and rounded up to an even number, so that centres are whole.
    pub width: i32,
    /// Pixels, treated like the width.
    pub height: i32,
}

/// Distances, in pixels; each is taken into `0..=4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spacing {
    /// Between neighbouring nodes of a row.
    pub column: i32,
    /// Between the bottom of a row and the top of the next; at least 1, so that edges lead down.
    pub row: i32,
    /// Between a trunk and whatever is beside it.
    pub lane: i32,
}

impl Default for Spacing {
    fn default() -> Self {
        Self { column: 14, row: 28, lane: 12 }
    }
}

/// A finished layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    size: Point,
    centres: Vec<Point>,
    sizes: Vec<Point>,
    layers: Vec<u32>,
    edges: Vec<(NodeId, NodeId, EdgeKind)>,
    starts: Vec<u32>,
    points: Vec<Point>,
    /// Where each node's trunk passes the rows below it: what a later layout starts from.
    trunks: Vec<Vec<i32>>,
    crossings: u64,
}

/// One edge as drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Its kind.
    pub kind: EdgeKind,
    /// From the middle of the source's bottom edge to the middle of the target's top edge. `y`
    /// grows strictly; between two points of equal `x` the line is vertical.
    pub points: &'a [Point],
}

impl Layout {
    /// Width of the picture, in pixels.
    pub fn width(&self) -> i32 {
        self.size.x
    }

    /// Height of the picture, in pixels.
    pub fn height(&self) -> i32 {
        self.size.y
    }

    /// Number of nodes.
    pub fn len(&self) -> u32 {
        self.centres.len() as u32
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.centres.is_empty()
    }

    /// The centre of `node`.
    pub fn centre(&self, node: NodeId) -> Point {
        self.centres[node as usize]
    }

    /// Width and height of `node`, as drawn.
    pub fn node_size(&self, node: NodeId) -> Size {
        let size = self.sizes[node as usize];
        Size { width: size.x, height: size.y }
    }

    /// The row of `node`: 0 for sources, else one more than the deepest of its dependencies.
    pub fn layer(&self, node: NodeId) -> u32 {
        self.layers[node as usize]
    }

    /// Number of edges.
    pub fn edge_count(&self) -> u32 {
        self.edges.len() as u32
    }

    /// Every edge, by ascending source, then target.
    pub fn routes(&self) -> impl ExactSizeIterator<Item = Route<'_>> {
        self.edges.iter().enumerate().map(|(index, &(from, to, kind))| Route {
            from,
            to,
            kind,
            points: &self.points[self.starts[index] as usize..self.starts[index + 1] as usize],
        })
    }

    /// How often two edges cross, counted between neighbouring rows; lanes at the side are not
    /// counted.
    pub fn crossings(&self) -> u64 {
        self.crossings
    }
}

/// The layout of `graph` with every node of the same `size`, in one go.
pub fn layered(graph: &Graph, size: Size, spacing: Spacing) -> Layout {
    Layouter::new(graph, &vec![size; graph.len() as usize], spacing).finish()
}

/// A layout in the making: a job in slices ([`Layouter::run`]).
#[derive(Clone, Debug)]
pub struct Layouter<'g> {
    graph: &'g Graph,
    spacing: Spacing,
    heights: Vec<i32>,
    items: Items,
    phase: Phase,
    done: u64,
}

#[derive(Clone, Debug)]
enum Phase {
    Order(Box<Sweeps>),
    Place(Alignments),
    Done(Vec<i32>, u64),
}

/// How many passes over all items a layout is expected to take, for progress reports.
const PASSES: u64 = 16;

impl<'g> Layouter<'g> {
    /// A layout of `graph`; node `i` gets `sizes[i]`. Missing sizes are the smallest there are.
    pub fn new(graph: &'g Graph, sizes: &[Size], spacing: Spacing) -> Self {
        Self::start(graph, sizes, spacing, None)
    }

    /// As [`Layouter::new`], starting from the order of an earlier layout of this or a similar
    /// graph. Nodes change sides only if that removes a quarter of the crossings.
    pub fn seeded(graph: &'g Graph, sizes: &[Size], spacing: Spacing, earlier: &Layout) -> Self {
        Self::start(graph, sizes, spacing, Some(earlier))
    }

    fn start(graph: &'g Graph, sizes: &[Size], spacing: Spacing, earlier: Option<&Layout>) -> Self {
        let even = |value: i32| (value.clamp(2, 4096) + 1) & !1;
        let side =
            |node: u32, of: fn(&Size) -> i32| sizes.get(node as usize).map_or(2, |size| even(of(size)));
        let spacing = Spacing {
            column: spacing.column.clamp(0, 4096),
            row: spacing.row.clamp(1, 4096),
            lane: spacing.lane.clamp(0, 4096),
        };
        let widths = (0..graph.len()).map(|node| side(node, |size| size.width)).collect();
        let heights = (0..graph.len()).map(|node| side(node, |size| size.height)).collect();
        let items = Items::new(graph, widths);
        let sweeps = Box::new(Sweeps::new(&items, earlier));
        Self { graph, spacing, heights, items, phase: Phase::Order(sweeps), done: 0 }
    }

    /// Works on about `budget` items (a node, or a trunk passing a row; some 0.1 µs each), at
    /// least one row of them.
    pub fn run(&mut self, budget: u64) -> Job {
        let mut left = i128::from(budget.max(1));
        while left > 0 {
            let cost = match &mut self.phase {
                Phase::Order(sweeps) => match sweeps.step(&self.items) {
                    Some(cost) => cost,
                    None => {
                        let crossings = sweeps.settle(&mut self.items);
                        let alignments = Alignments::new(&self.items, self.spacing, crossings);
                        self.phase = Phase::Place(alignments);
                        self.items.len()
                    }
                },
                Phase::Place(alignments) => match alignments.step(&self.items) {
                    Some(cost) => cost,
                    None => {
                        let (x, crossings) = alignments.settle(&self.items);
                        self.phase = Phase::Done(x, crossings);
                        self.items.len()
                    }
                },
                Phase::Done(..) => return Job::Done,
            };
            let cost = u64::from(cost).max(1);
            self.done = self.done.saturating_add(cost);
            left -= i128::from(cost);
        }
        match self.phase {
            Phase::Done(..) => Job::Done,
            _ => {
                let total = (PASSES * u64::from(self.items.len())).max(self.done + 1);
                Job::Running { done: self.done, total }
            }
        }
    }

    /// Runs what is left, and hands over the layout.
    pub fn finish(mut self) -> Layout {
        loop {
            if let Phase::Done(x, crossings) = &self.phase {
                return route::layout(self.graph, &self.items, &self.heights, self.spacing, x, *crossings);
            }
            self.run(u64::MAX);
        }
    }
}
