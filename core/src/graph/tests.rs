use super::*;
use crate::program::{Access, Kind, MAX_END, Nested, ResourceKind, Role, Thunk};

fn graph(incoming: &[&[NodeId]]) -> Graph {
    let edge = |&node: &NodeId| Edge { node, kind: EdgeKind::Execution };
    Graph::from_incoming(&incoming.iter().map(|list| list.iter().map(edge).collect()).collect::<Vec<_>>())
}

#[test]
fn outgoing_edges_mirror_incoming_ones() {
    let graph = graph(&[&[], &[0], &[0], &[1, 2], &[]]);
    let targets = |node| graph.outgoing(node).iter().map(|edge| edge.node).collect::<Vec<_>>();
    assert_eq!([targets(0), targets(1), targets(2), targets(3)], [vec![1, 2], vec![3], vec![3], vec![]]);
    assert_eq!(graph.sources(), [0, 4]);
    assert_eq!(graph.sinks(), [3, 4]);
}

#[test]
fn chains_are_told_from_the_rest() {
    assert!(graph(&[]).is_chain());
    assert!(graph(&[&[]]).is_chain());
    assert!(graph(&[&[], &[0], &[0, 1]]).is_chain());
    assert!(!graph(&[&[], &[0], &[0]]).is_chain());
}

/// `programs[i]`: the accesses of thunk `i`, such as `r0:0-8` or `w1:4-4`; resources as `C`, `T`
/// (write) and `c`, `t` (read). The kept edges, scheduling ones with `~`.
#[track_caller]
fn check(program: &str, expected: &str) {
    check_as(Reduction::Upstream, program, expected);
    check_as(Reduction::Exact, program, expected);
}

#[track_caller]
fn check_as(reduction: Reduction, program: &str, expected: &str) {
    let graph = Graph::build(&sequence(program), &resources(), reduction).expect("few edges");
    let mut edges = Vec::new();
    for from in 0..graph.len() {
        edges.extend(graph.outgoing(from).iter().map(|edge| match edge.kind {
            EdgeKind::Execution => format!("{from}-{}", edge.node),
            EdgeKind::Scheduling => format!("{from}~{}", edge.node),
        }));
    }
    assert_eq!(edges.join(" "), expected, "{reduction:?}");
}

fn resources() -> Vec<Resource> {
    let kinds = [ResourceKind::Communicator, ResourceKind::Token];
    kinds.map(|kind| Resource { kind, label: String::new() }).to_vec()
}

fn sequence(program: &str) -> Sequence {
    let thunk = |text: &str| {
        text.split_whitespace().fold(Thunk::new(Kind::Kernel, "k"), |thunk, part| match part {
            "." => thunk,
            "C" => thunk.takes(0, Access::Write),
            "c" => thunk.takes(0, Access::Read),
            "T" => thunk.takes(1, Access::Write),
            "t" => thunk.takes(1, Access::Read),
            "?" => Thunk { uses_unknown: true, ..thunk },
            slice => {
                let number = |text: &str| text.parse::<u64>().expect(slice);
                let (allocation, range) = slice[1..].split_once(':').expect(slice);
                let (begin, end) = range.split_once('-').expect(slice);
                let (begin, end) = (number(begin), number(end));
                match &slice[..1] {
                    "r" => thunk.reads(number(allocation) as u32, begin, end - begin),
                    "w" => thunk.writes(number(allocation) as u32, begin, end - begin),
                    _ => panic!("{slice}"),
                }
            }
        })
    };
    Sequence { thunks: program.split('|').map(thunk).collect() }
}

#[test]
fn dependency_ordering() {
    check("w0:0-8 | r0:0-8 | w0:0-8", "0-1 1-2");
    check("r0:0-8 | r0:0-8 | r0:0-8", "");
    check("w0:0-8 | w0:0-8 | w0:0-8", "0-1 1-2");
}

#[test]
fn same_allocation_other_bytes() {
    check("w0:0-8 | w0:8-16 | r0:0-8 | r0:8-16 | w0:4-12", "0-2 1-3 2-4 3-4");
}

#[test]
fn partial_overwrite_leaves_the_rest() {
    check("w0:0-16 | w0:4-8 | r0:0-4 | r0:0-16", "0-1 0-2 1-3");
    check("r0:0-16 | r0:4-8 | w0:6-7 | w0:0-16", "0-2 1-2 2-3");
}

#[test]
fn in_place_thunks_are_links_of_a_chain() {
    check("w0:0-8 | r0:0-8 w0:0-8 | r0:0-8 w0:0-8 | r0:0-8", "0-1 1-2 2-3");
}

#[test]
fn empty_slices_follow_the_formula() {
    check("w0:0-8 | r0:4-4 | r0:0-0 | r0:8-8", "0-1");
    check("w0:4-4 | r0:4-4 | r0:5-5", "0-1");
    check("w0:0-4 | w0:4-8 | w0:4-4 | w0:0-8", "0-3 1-3 2-3");
}

#[test]
fn tokens_give_execution_edges() {
    check("T | T | t | t | T", "0-1 1-2 1-3 2-4 3-4");
}

#[test]
fn communicators_give_scheduling_edges() {
    check("C | C | C", "0~1 1~2");
    check("c | c | C", "0~2 1~2");
}

#[test]
fn the_stronger_reason_decides_the_kind() {
    check("w0:0-8 C | r0:0-8 C", "0-1");
    check("T C | T C", "0-1");
}

#[test]
fn scheduling_does_not_replace_execution() {
    // 0 -> 2 must wait for the completion of 0, and 0 ~> 1 -> 2 does not make it.
    check("C w0:0-8 | C w1:0-8 | r0:0-8 r1:0-8", "0~1 0-2 1-2");
    // The other way round, a wait for the completion contains one for the start.
    check("C w0:0-8 | r0:0-8 w1:0-8 | C r1:0-8", "0-1 1-2");
}

#[test]
fn upstream_keeps_more_than_needed_where_kinds_meet() {
    // 2 starts after 1 starts, which is after 0 has completed: 0 -> 2 says nothing new.
    let program = "w0:0-8 w1:0-8 | C r0:0-8 | C r1:0-8";
    check_as(Reduction::Upstream, program, "0-1 0-2 1~2");
    check_as(Reduction::Exact, program, "0-1 1~2");
}

#[test]
fn unknown_uses_clash_with_everything() {
    check("w0:0-8 | . | ? | w1:0-8 | . | ?", "0-2 1-2 2-3 2-4 3-5 4-5");
    check("? | ?", "0-1");
}

#[test]
fn control_flow_clashes_for_what_is_inside() {
    let mut sequence = sequence("w0:0-8 | . | r1:0-8");
    let inside = self::sequence("r0:0-8 | w1:0-8");
    sequence.thunks[1].nested.push(Nested { role: Role::Body, sequence: inside });
    let graph = Graph::build(&sequence, &[], Reduction::Upstream).expect("few edges");
    assert!(graph.is_chain());
}

#[test]
fn huge_numbers_are_only_numbers() {
    let end = MAX_END;
    check(&format!("w4294967295:0-{end} | r4294967295:{}-{end} | r4294967295:{end}-{end}", end - 1), "0-1");
    let odd = Thunk::new(Kind::Kernel, "k").takes(u32::MAX, Access::Write);
    let sequence = Sequence { thunks: vec![odd.clone(), odd] };
    let graph = Graph::build(&sequence, &[], Reduction::Upstream).expect("few edges");
    assert_eq!(graph.outgoing(0), [Edge { node: 1, kind: EdgeKind::Execution }]);
}

#[test]
fn too_many_edges_are_a_diagnostic() {
    // Ten writers side by side, then ten readers of all: 100 edges, none implied.
    let program: Vec<_> = (0..10).map(|i| format!("w0:{i}-{}", i + 1)).collect();
    let program = program.join("|") + &"| r0:0-10".repeat(10);
    let build = |edges, waiting| {
        let limits = Limits { edges, waiting, steps: u64::MAX };
        Conflicts::within(&sequence(&program), &[], limits)?.reduce(Reduction::Upstream)
    };
    for waiting in [0, 60, 1000] {
        assert_eq!(build(100, waiting).map(|graph| graph.edge_count()), Ok(100));
        assert_eq!(build(99, waiting).map_err(|error| error.code.clone()), Err("GR001".to_owned()));
    }
}

#[test]
fn an_endless_reduction_is_a_diagnostic() {
    // Collectives over one buffer: XLA's procedure looks at every conflict of each.
    let program = ["w0:0-8 C"; 12].join("|");
    let build = |reduction, steps| {
        let limits = Limits { edges: 1000, waiting: 1000, steps };
        Conflicts::within(&sequence(&program), &resources(), limits)?.reduce(reduction)
    };
    let enough = build(Reduction::Upstream, 1000).expect("a thousand steps are enough");
    assert_eq!(enough.edge_count(), 11);
    let error = build(Reduction::Upstream, 20).expect_err("twenty are not");
    assert_eq!(error.code, "GR002");
    assert_eq!(build(Reduction::Exact, 0), Ok(enough));
}
