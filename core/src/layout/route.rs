//! One polyline per edge, and the finished picture.

use super::items::Items;
use super::{Layout, Point, Spacing};
use crate::graph::{Graph, NodeId};

/// Puts together the layout: `x` holds the centre of every item.
pub(super) fn layout(
    graph: &Graph,
    items: &Items,
    heights: &[i32],
    spacing: Spacing,
    x: &[i32],
    crossings: u64,
) -> Layout {
    let nodes = graph.len() as usize;
    let rows = rows(items, heights, spacing);
    let right = |node: usize| x[node] + items.width[node] / 2;
    let inner = (0..nodes).map(right).chain(x[nodes..].iter().copied()).max().unwrap_or(0);
    let (lanes, lane_count) = lanes(graph, items);
    let lane_x = |lane: u32| inner.saturating_add(spacing.lane.saturating_mul(lane as i32 + 1));

    let mut layout = Layout {
        size: Point {
            x: if lane_count == 0 { inner } else { lane_x(lane_count - 1) },
            y: rows.last().map_or(0, |row| row.1),
        },
        centres: Vec::with_capacity(nodes),
        sizes: (0..nodes).map(|node| Point { x: items.width[node], y: heights[node] }).collect(),
        layers: items.layer[..nodes].to_vec(),
        edges: Vec::with_capacity(graph.edge_count() as usize),
        starts: vec![0],
        points: Vec::new(),
        trunks: Vec::with_capacity(nodes),
        crossings,
    };
    for node in 0..nodes {
        let (top, bottom) = rows[items.layer[node] as usize];
        layout.centres.push(Point { x: x[node], y: top + (bottom - top) / 2 });
        let (first, end) = items.trunk[node];
        layout.trunks.push(x[first as usize..end as usize].to_vec());
    }
    for from in 0..graph.len() {
        for edge in graph.outgoing(from) {
            let (start, end) =
                (items.layer[from as usize] as usize, items.layer[edge.node as usize] as usize);
            let border = |node: NodeId, side: i32| {
                let centre = layout.centres[node as usize];
                Point { x: centre.x, y: centre.y + side * (heights[node as usize] / 2) }
            };
            let (leave, arrive) = (border(from, 1), border(edge.node, -1));
            layout.points.push(leave);
            // Past taller neighbours the edge is vertical; it bends between rows only.
            if leave.y < rows[start].1 {
                layout.points.push(Point { x: leave.x, y: rows[start].1 });
            }
            let first = items.trunk[from as usize].0 as usize;
            for (passed, &(top, bottom)) in rows[start + 1..end].iter().enumerate() {
                let x = lanes[from as usize].map_or_else(|| x[first + passed], lane_x);
                // Within a trunk that stays straight, the points between add nothing.
                if passed > 0 && layout.points.last().is_some_and(|last| last.x == x) {
                    layout.points.pop();
                } else {
                    layout.points.push(Point { x, y: top });
                }
                layout.points.push(Point { x, y: bottom });
            }
            if arrive.y > rows[end].0 {
                layout.points.push(Point { x: arrive.x, y: rows[end].0 });
            }
            layout.points.push(arrive);
            layout.edges.push((from, edge.node, edge.kind));
            layout.starts.push(layout.points.len() as u32);
        }
    }
    layout
}

/// Top and bottom of each row.
fn rows(items: &Items, heights: &[i32], spacing: Spacing) -> Vec<(i32, i32)> {
    let mut top = 0i32;
    (0..items.rows())
        .map(|row| {
            let nodes = items.row(row).iter().filter(|&&item| !items.is_passage(item));
            let height = nodes.map(|&node| heights[node as usize]).max().unwrap_or(2);
            let bottom = top.saturating_add(height);
            let this = (top, bottom);
            top = bottom.saturating_add(spacing.row);
            this
        })
        .collect()
}

/// The side lane of each node that needs one, and how many lanes there are. Two nodes share a
/// lane when their rows do not meet.
fn lanes(graph: &Graph, items: &Items) -> (Vec<Option<u32>>, u32) {
    let mut lanes = vec![None; graph.len() as usize];
    let mut spans: Vec<(u32, u32, NodeId)> = items
        .in_lanes
        .iter()
        .map(|&node| {
            let deepest = graph.outgoing(node).iter().map(|edge| items.layer[edge.node as usize]).max();
            (items.layer[node as usize], deepest.unwrap_or(0), node)
        })
        .collect();
    spans.sort_unstable();
    // Lanes by the row in which they become free: the one that has been free longest is taken.
    let mut busy = std::collections::BinaryHeap::new();
    let mut count = 0;
    for (top, bottom, node) in spans {
        let free = busy.peek().is_some_and(|&std::cmp::Reverse((until, _))| until <= top);
        let lane = match busy.pop() {
            Some(std::cmp::Reverse((_, lane))) if free => lane,
            popped => {
                busy.extend(popped);
                count += 1;
                count - 1
            }
        };
        busy.push(std::cmp::Reverse((bottom, lane)));
        lanes[node as usize] = Some(lane);
    }
    (lanes, count)
}
