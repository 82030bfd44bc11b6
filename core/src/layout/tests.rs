use proptest::prelude::*;

use super::*;
use crate::graph::Edge;
use crate::rng::Rng;

const SIZE: Size = Size { width: 40, height: 20 };

fn graph(incoming: &[&[NodeId]]) -> Graph {
    let edge = |&node: &NodeId| Edge { node, kind: EdgeKind::Execution };
    Graph::from_incoming(&incoming.iter().map(|list| list.iter().map(edge).collect()).collect::<Vec<_>>())
}

/// Up to four dependencies each, among the `reach` nodes before.
fn random(nodes: u32, reach: u32, seed: u64) -> Graph {
    let mut rng = Rng::new(seed);
    let incoming: Vec<Vec<Edge>> = (0..nodes)
        .map(|node| {
            let reach = reach.min(node);
            let mut list: Vec<NodeId> = (0..rng.below(5).min(reach.into()))
                .map(|_| node - 1 - rng.below(reach.into()) as NodeId)
                .collect();
            list.sort_unstable();
            list.dedup();
            list.into_iter().map(|node| Edge { node, kind: EdgeKind::Execution }).collect()
        })
        .collect();
    Graph::from_incoming(&incoming)
}

/// The mixture of experts that the page opens with.
fn moe10() -> Graph {
    graph(&[&[], &[], &[], &[], &[], &[0], &[5], &[6], &[1, 2, 3, 4, 7], &[8]])
}

/// What must hold for every layout.
fn check_sound(graph: &Graph, layout: &Layout) {
    let boxes: Vec<(i32, i32, i32, i32)> = (0..layout.len())
        .map(|node| {
            let (at, size) = (layout.centre(node), layout.node_size(node));
            (at.x - size.width / 2, at.y - size.height / 2, at.x + size.width / 2, at.y + size.height / 2)
        })
        .collect();
    for (node, &(left, top, right, bottom)) in boxes.iter().enumerate() {
        assert!(left >= 0 && top >= 0, "node {node} leaves the picture");
        assert!(right <= layout.width() && bottom <= layout.height(), "node {node} leaves the picture");
    }
    let mut by_row: Vec<usize> = (0..boxes.len()).collect();
    by_row.sort_by_key(|&node| (layout.layer(node as u32), boxes[node].0));
    for pair in by_row.windows(2) {
        if layout.layer(pair[0] as u32) == layout.layer(pair[1] as u32) {
            assert!(boxes[pair[0]].2 <= boxes[pair[1]].0, "nodes {pair:?} overlap");
        } else {
            assert!(boxes[pair[0]].3 < boxes[pair[1]].1, "rows of {pair:?} overlap");
        }
    }
    let drawn: Vec<_> = layout.routes().map(|route| (route.from, route.to, route.kind)).collect();
    let edges: Vec<_> = (0..graph.len())
        .flat_map(|from| graph.outgoing(from).iter().map(move |edge| (from, edge.node, edge.kind)))
        .collect();
    assert_eq!(drawn, edges);
    for route in layout.routes() {
        let (first, last) = (route.points[0], route.points[route.points.len() - 1]);
        let (from, to) = (boxes[route.from as usize], boxes[route.to as usize]);
        assert_eq!((first.x, first.y), (layout.centre(route.from).x, from.3));
        assert_eq!((last.x, last.y), (layout.centre(route.to).x, to.1));
        for pair in route.points.windows(2) {
            assert!(pair[0].y < pair[1].y, "edge {} -> {} leads up", route.from, route.to);
            if pair[0].x == pair[1].x {
                continue;
            }
            // A slanted piece lies between two rows: no node is there.
            let hit = |b: &&(i32, i32, i32, i32)| b.1 < pair[1].y && b.3 > pair[0].y;
            assert_eq!(boxes.iter().find(hit), None, "edge {} -> {} slants", route.from, route.to);
        }
    }
}

/// A picture in text, one character per 10 × 10 px, and the corners of each edge.
fn text(layout: &Layout) -> String {
    let mut rows = vec![vec![' '; layout.width() as usize / 10 + 1]; layout.height() as usize / 10 + 1];
    for route in layout.routes() {
        for pair in route.points.windows(2) {
            let vertical = pair[0].x == pair[1].x;
            for y in pair[0].y / 10..=(pair[1].y - 1) / 10 {
                let t = i64::from(y * 10 + 5 - pair[0].y).max(0);
                let run = i64::from(pair[1].x - pair[0].x) * t / i64::from(pair[1].y - pair[0].y);
                let x = (i64::from(pair[0].x) + run) as usize / 10;
                rows[y as usize][x] = match (vertical, pair[0].x < pair[1].x) {
                    (true, _) => '|',
                    (_, true) => '\\',
                    (_, false) => '/',
                };
            }
        }
    }
    for node in 0..layout.len() {
        let (at, size) = (layout.centre(node), layout.node_size(node));
        let label: Vec<char> =
            format!("[{node:^width$}]", width = size.width as usize / 10 - 2).chars().collect();
        let left = (at.x - size.width / 2) as usize / 10;
        rows[at.y as usize / 10][left..left + label.len()].copy_from_slice(&label);
    }
    let lines: Vec<String> =
        rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}

fn check(graph: &Graph, expected: &str) {
    let layout = layered(graph, SIZE, Spacing { column: 10, row: 30, lane: 10 });
    check_sound(graph, &layout);
    let lines = expected.lines().map(|line| line.strip_prefix("        ").unwrap_or(line));
    let expected = lines.collect::<Vec<_>>().join("\n");
    let drawn = text(&layout);
    assert_eq!(drawn.trim_matches('\n'), expected.trim_matches('\n').trim_end(), "\n{drawn}\n");
}

#[test]
fn nothing_has_no_extent() {
    let layout = layered(&graph(&[]), SIZE, Spacing::default());
    assert!(layout.is_empty());
    assert_eq!((layout.width(), layout.height()), (0, 0));
}

#[test]
fn a_diamond() {
    check(
        &graph(&[&[], &[0], &[0], &[1, 2]]),
        r"
          [0 ]
            \
           / \
          /   \

        [1 ] [2 ]
          \   /
           \ /
            \/

          [3 ]
",
    );
}

#[test]
fn long_edges_run_straight_beside_the_nodes() {
    check(
        &moe10(),
        r"
        [0 ] [1 ] [2 ] [3 ] [4 ]
          |    |    |    |    |
          |    |    |    |    |
          |    |    |    |    |
               |    |    |    |
        [5 ]   |    |    |    |
          |    |    |    |    |
          |    |    |    |    |
          |    |    |    |    |
               |    |    |    |
        [6 ]   |    |    |    |
          |    |    |    |    |
          |    |    |    |    |
          |    |    |    |    |
               |    |    |    |
        [7 ]   |    |    |    |
           \   \    |   /   /
               \ \  | /  /
                  \\//

                  [8 ]
                    |
                    |
                    |

                  [9 ]
",
    );
}

#[test]
fn crossings_that_need_not_be_are_removed() {
    let crossed = graph(&[&[], &[], &[], &[2], &[1], &[0]]);
    assert_eq!(layered(&crossed, SIZE, Spacing::default()).crossings(), 0);
    let complete = graph(&[&[], &[], &[0, 1], &[0, 1]]);
    assert_eq!(layered(&complete, SIZE, Spacing::default()).crossings(), 1);
}

#[test]
fn one_step_at_a_time_gives_the_same() {
    let graph = random(60, 20, 3);
    let sizes = vec![SIZE; 60];
    let mut slow = Layouter::new(&graph, &sizes, Spacing::default());
    let mut slices = 0;
    let mut before = 0;
    while let Job::Running { done, total } = slow.run(1) {
        assert!(before < done && done < total);
        before = done;
        slices += 1;
    }
    assert!(slices > 10, "{slices} slices");
    assert_eq!(slow.finish(), layered(&graph, SIZE, Spacing::default()));
}

#[test]
fn an_erased_edge_moves_nobody_to_the_other_side() {
    let before = graph(&[&[], &[0], &[0], &[0], &[1, 2], &[2, 3], &[4, 5]]);
    let after = graph(&[&[], &[0], &[0], &[0], &[1], &[2, 3], &[4, 5]]);
    let sizes = vec![SIZE; 7];
    let first = layered(&before, SIZE, Spacing::default());
    let second = Layouter::seeded(&after, &sizes, Spacing::default(), &first).finish();
    check_sound(&after, &second);
    for row in [1..4, 4..6] {
        let order = |layout: &Layout| {
            let mut nodes: Vec<NodeId> = row.clone().collect();
            nodes.sort_by_key(|&node| layout.centre(node).x);
            nodes
        };
        assert_eq!(order(&first), order(&second));
    }
}

#[test]
fn the_same_graph_seeded_by_itself_stays_as_it_is() {
    for seed in 0..20 {
        let graph = random(40, 12, seed);
        let first = layered(&graph, SIZE, Spacing::default());
        let again = Layouter::seeded(&graph, &vec![SIZE; 40], Spacing::default(), &first).finish();
        if again.crossings() == first.crossings() {
            assert_eq!(again, first, "seed {seed}");
        } else {
            assert!(again.crossings() <= first.crossings() - first.crossings() / 4, "seed {seed}");
        }
    }
}

#[test]
fn very_long_edges_take_lanes_at_the_side() {
    // 400 sources, and each node of a chain of 400 reads one of them: trunks of 80,000 passages
    // in all, where the budget is some 1,700.
    let incoming: Vec<Vec<Edge>> = (0..800u32)
        .map(|node| {
            let edge = |node| Edge { node, kind: EdgeKind::Execution };
            match node {
                0..400 => vec![],
                400 => vec![edge(0)],
                _ => vec![edge(node - 400), edge(node - 1)],
            }
        })
        .collect();
    let graph = Graph::from_incoming(&incoming);
    let layout = layered(&graph, SIZE, Spacing::default());
    assert!(layout.points.len() < 4 * graph.edge_count() as usize, "{} points", layout.points.len());
    check_sound(&graph, &layout);
}

#[test]
fn sizes_out_of_range_are_tamed() {
    let graph = moe10();
    let sizes: Vec<Size> = (0..9)
        .map(|node| Size { width: [i32::MIN, -1, i32::MAX][node % 3], height: [7, i32::MAX, 0][node % 3] })
        .collect();
    let spacing = Spacing { column: i32::MIN, row: 0, lane: i32::MAX };
    check_sound(&graph, &Layouter::new(&graph, &sizes, spacing).finish());
}

proptest! {
    #[test]
    fn random_graphs_are_drawn_soundly(nodes in 0..80u32, reach in 1..80u32, seed: u64, odd in 0..30i32) {
        let graph = random(nodes, reach, seed);
        let sizes: Vec<Size> = (0..nodes as i32)
            .map(|node| Size { width: 20 + node % 7 * odd, height: 20 + node % 3 * odd })
            .collect();
        let layout = Layouter::new(&graph, &sizes, Spacing::default()).finish();
        check_sound(&graph, &layout);
        prop_assert_eq!(&Layouter::new(&graph, &sizes, Spacing::default()).finish(), &layout);
        let other = random(nodes, reach, seed ^ 1);
        check_sound(&other, &Layouter::seeded(&other, &sizes, Spacing::default(), &layout).finish());
    }

    #[test]
    fn crossings_are_those_of_the_picture(nodes in 2..30u32, seed: u64) {
        let graph = random(nodes, 10, seed);
        let layout = layered(&graph, SIZE, Spacing::default());
        // Pieces between rows, each once: edges of one trunk share them.
        let mut pieces: Vec<(Point, Point)> = layout
            .routes()
            .flat_map(|route| route.points.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>())
            .collect();
        pieces.sort_unstable();
        pieces.dedup();
        // Long straight pieces are cut at the rows they pass.
        let mut rows: Vec<(i32, i32)> = (0..nodes).map(|node| {
            let y = layout.centre(node).y;
            (y + SIZE.height / 2, y + SIZE.height / 2 + Spacing::default().row)
        }).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut crossings = 0;
        for (top, bottom) in rows {
            let mut here: Vec<(i32, i32)> = pieces
                .iter()
                .filter(|(a, b)| a.y <= top && b.y >= bottom)
                .map(|(a, b)| (a.x, b.x))
                .collect();
            here.sort_unstable();
            here.dedup();
            for (at, a) in here.iter().enumerate() {
                crossings += here[at + 1..].iter().filter(|b| a.0 < b.0 && a.1 > b.1).count() as u64;
            }
        }
        prop_assert_eq!(layout.crossings(), crossings);
    }
}
