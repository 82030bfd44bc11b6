//! The sweep against the all-pairs rule, on random programs.

use proptest::prelude::*;

use super::all_pairs::Relation;
use super::analysis::{Analysis, Reuse};
use super::cause::{Cause, causes};
use super::*;
use crate::program::{Access, BufferUse, Kind, Nested, ResourceKind, Role, Thunk};

/// Small coordinates, so that slices meet; empty ones are common.
fn thunk() -> impl Strategy<Value = Thunk> {
    let access = || prop_oneof![2 => Just(Access::Read), 1 => Just(Access::Write)];
    let buffer = (0u32..3, 0u64..10, prop_oneof![1 => Just(0u64), 3 => 1u64..4, 1 => 4u64..10], access());
    let resource = (0u32..4, access());
    let kind = prop_oneof![4 => Just(Kind::Kernel), 1 => Just(Kind::Sort), 1 => Just(Kind::AllReduce)];
    let buffers = prop::collection::vec(buffer, 0..4);
    let resources = prop_oneof![3 => Just(Vec::new()), 2 => prop::collection::vec(resource, 1..3)];
    let parts = (kind, buffers, resources, prop::bool::weighted(0.02));
    parts.prop_map(|(kind, buffers, resources, unknown)| {
        let mut thunk = Thunk::new(kind, "t");
        for (allocation, offset, size, access) in buffers {
            thunk = match access {
                Access::Read => thunk.reads(allocation, offset, size),
                Access::Write => thunk.writes(allocation, offset, size),
            };
        }
        for (resource, access) in resources {
            thunk = thunk.takes(resource, access);
        }
        thunk.uses_unknown = unknown;
        thunk
    })
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let nested = prop::collection::vec(thunk(), 1..3).prop_map(|thunks| {
        let mut outer = Thunk::new(Kind::Call, "call");
        outer.nested.push(Nested { role: Role::Called, sequence: Sequence { thunks } });
        outer
    });
    prop::collection::vec(prop_oneof![9 => thunk(), 1 => nested], 0..24)
        .prop_map(|thunks| Sequence { thunks })
}

/// Three listed ones, and index 3 that is not listed.
fn resources() -> Vec<Resource> {
    [ResourceKind::Communicator, ResourceKind::Communicator, ResourceKind::Token]
        .map(|kind| Resource { kind, label: String::new() })
        .to_vec()
}

fn build(sequence: &Sequence, reduction: Reduction) -> Graph {
    Graph::build(sequence, &resources(), reduction).expect("few edges")
}

/// What a slice covers: bytes `2p + 1`, or for an empty slice the cut `2p` before byte `p`. A
/// slice that is not empty covers the cuts inside as well.
fn points(use_: &BufferUse) -> Vec<u64> {
    let (begin, end) = (2 * use_.slice.offset, 2 * use_.slice.end());
    if begin == end { vec![begin] } else { (begin + 1..end).collect() }
}

fn clashes(from: &Thunk, to: &Thunk) -> Vec<(u32, u32, &'static str)> {
    let mut found = Vec::new();
    for (a, from_use) in from.all_uses().iter().zip(0..) {
        for (b, to_use) in to.all_uses().iter().zip(0..) {
            let meet = a.slice.allocation == b.slice.allocation
                && points(a).iter().any(|point| points(b).contains(point));
            match (a.access, b.access) {
                _ if !meet => {}
                (Access::Read, Access::Read) => {}
                (Access::Write, Access::Read) => found.push((from_use, to_use, "RAW")),
                (Access::Read, Access::Write) => found.push((from_use, to_use, "WAR")),
                (Access::Write, Access::Write) => found.push((from_use, to_use, "WAW")),
            }
        }
    }
    found
}

fn strength(cause: &Cause) -> EdgeKind {
    match *cause {
        Cause::Resource { kind, .. } => kind,
        Cause::Buffer { .. } | Cause::Unknown => EdgeKind::Execution,
    }
}

/// The definition of true dependencies byte by byte: `truth[i]` lists those of thunk `i`.
fn true_dependencies(sequence: &Sequence) -> Vec<Vec<NodeId>> {
    let mut writer = std::collections::BTreeMap::new();
    let mut truth = Vec::new();
    for (i, to) in sequence.thunks.iter().enumerate() {
        let mut parts = Vec::new();
        accesses::each_thunk(to, &mut |part, in_place| parts.push((part, in_place)));
        let bytes = |use_: &BufferUse| {
            let allocation = use_.slice.allocation;
            (use_.slice.offset..use_.slice.end()).map(move |byte| (allocation, byte))
        };
        let mut list: Vec<NodeId> = Vec::new();
        for &(part, in_place) in &parts {
            let reads = |use_: &&BufferUse| use_.access == Access::Read || in_place;
            list.extend(part.uses.iter().filter(reads).flat_map(bytes).filter_map(|byte| writer.get(&byte)));
        }
        for (part, _) in &parts {
            let writes = |use_: &&BufferUse| use_.access == Access::Write;
            writer.extend(part.uses.iter().filter(writes).flat_map(bytes).map(|byte| (byte, i as NodeId)));
        }
        for (j, from) in sequence.thunks[..i].iter().enumerate() {
            let shared = causes(from, to, &resources(), usize::MAX);
            if shared.iter().any(|cause| !matches!(cause, Cause::Buffer { .. })) {
                list.push(j as NodeId);
            }
        }
        list.sort_unstable();
        list.dedup();
        truth.push(list);
    }
    truth
}

fn depth(incoming: &[Vec<NodeId>]) -> u32 {
    let mut depth: Vec<u32> = Vec::new();
    for list in incoming {
        depth.push(1 + list.iter().map(|&j| depth[j as usize]).max().unwrap_or(0));
    }
    depth.into_iter().max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sweep_is_all_pairs(sequence in sequence()) {
        let oracle = Relation::new(&sequence, &resources()).reduce_upstream();
        let graph = build(&sequence, Reduction::Upstream);
        prop_assert_eq!(&graph, &oracle.graph);
        prop_assert_eq!(graph.priorities(), oracle.priorities);
        prop_assert_eq!(graph.erased(&sequence, &resources()), oracle.erased);
    }

    #[test]
    fn exact_is_the_definition(sequence in sequence()) {
        let oracle = Relation::new(&sequence, &resources()).reduce_exact();
        let graph = build(&sequence, Reduction::Exact);
        prop_assert_eq!(&graph, &oracle.graph);
        prop_assert_eq!(graph.priorities(), oracle.priorities);
    }

    /// An edge is in the relation iff it has a cause, and each cause is what it says: decided here
    /// by looking at bytes, with an empty slice taken as a cut between two bytes.
    #[test]
    fn causes_are_the_clashes(sequence in sequence()) {
        let relation = Relation::new(&sequence, &resources());
        for (j, from) in sequence.thunks.iter().enumerate() {
            for (i, to) in sequence.thunks.iter().enumerate().skip(j + 1) {
                let causes = causes(from, to, &resources(), usize::MAX);
                let edge = relation.outgoing(j as u32).iter().find(|edge| edge.node == i as u32);
                prop_assert_eq!(edge.map(|edge| edge.kind), causes.iter().map(strength).max());
                let expected = clashes(from, to);
                let found: Vec<_> = causes.iter().filter_map(|cause| match *cause {
                    Cause::Buffer { from_use, to_use, hazard } => Some((from_use, to_use, hazard.short())),
                    _ => None,
                }).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    /// The same when the sweep has to make room all the time.
    #[test]
    fn little_room_changes_nothing(sequence in sequence(), waiting in 0usize..20) {
        for reduction in [Reduction::Upstream, Reduction::Exact] {
            let limits = Limits { edges: 10_000, waiting, steps: u64::MAX };
            let graph = Conflicts::within(&sequence, &resources(), limits).and_then(|c| c.reduce(reduction));
            prop_assert_eq!(graph, Ok(build(&sequence, reduction)));
        }
    }

    #[test]
    fn exact_keeps_a_part_of_upstream(sequence in sequence()) {
        let (exact, upstream) = (build(&sequence, Reduction::Exact), build(&sequence, Reduction::Upstream));
        for node in 0..exact.len() {
            for edge in exact.outgoing(node) {
                prop_assert!(upstream.outgoing(node).contains(edge), "{} -> {:?}", node, edge);
            }
        }
        prop_assert_eq!(exact.priorities(), upstream.priorities());
    }

    #[test]
    fn analysis_is_the_definition(sequence in sequence()) {
        let graph = build(&sequence, Reduction::Exact);
        let truth = true_dependencies(&sequence);
        let incoming = |i| graph.incoming(i).iter().map(|edge| edge.node).collect::<Vec<_>>();
        let kept: Vec<_> = (0..graph.len()).map(incoming).collect();
        let analysis = Analysis::new(&sequence, &resources(), &graph);
        prop_assert_eq!(analysis.depth, depth(&kept));
        prop_assert_eq!(analysis.true_depth, depth(&truth));
        let mut false_edges = Vec::new();
        for (i, list) in kept.iter().enumerate() {
            let reuse = list.iter().filter(|j| !truth[i].contains(j));
            false_edges.extend(reuse.map(|&j| (j, i as NodeId)));
        }
        let mut reused = Vec::new();
        for allocation in 0..3 {
            let shares = |&&(j, i): &&(NodeId, NodeId)| {
                let (from, to) = (&sequence.thunks[j as usize], &sequence.thunks[i as usize]);
                let all = to.all_uses();
                let mine = |use_: &&BufferUse| use_.slice.allocation == allocation;
                from.all_uses().iter().filter(mine).any(|a| all.iter().any(|b| a.conflicts(b)))
            };
            let edges = false_edges.iter().filter(shares).count() as u32;
            reused.extend((edges > 0).then_some(Reuse { allocation, edges }));
        }
        reused.sort_by_key(|reuse| std::cmp::Reverse(reuse.edges));
        prop_assert_eq!(analysis.false_edges, false_edges);
        prop_assert_eq!(analysis.reused, reused);
    }
}

/// Programs of several blocks of columns.
mod large {
    use super::*;
    use crate::program::Shape;
    use crate::rng::Rng;

    #[track_caller]
    fn check(sequence: &Sequence) {
        let oracle = Relation::new(sequence, &resources());
        let upstream = oracle.clone().reduce_upstream();
        let graph = build(sequence, Reduction::Upstream);
        assert_eq!(graph, upstream.graph);
        assert_eq!(graph.priorities(), upstream.priorities);
        assert_eq!(graph.erased(sequence, &resources()), upstream.erased);
        assert_eq!(build(sequence, Reduction::Exact), oracle.reduce_exact().graph);
    }

    #[test]
    fn shapes() {
        for shape in Shape::ALL {
            check(&shape.generate(1100, 3).sequence);
        }
    }

    /// Slices at random; one thunk in `one_in` uses a resource.
    fn random(thunks: u32, one_in: u64) -> Sequence {
        let mut rng = Rng::new(one_in);
        let mut thunk = |_| {
            let mut thunk = Thunk::new(Kind::Kernel, "k").writes(0, rng.below(400), rng.below(8));
            for _ in 0..rng.below(3) {
                thunk = thunk.reads(0, rng.below(400), rng.below(20));
            }
            if rng.one_in(one_in) {
                let access = if rng.one_in(3) { Access::Read } else { Access::Write };
                thunk = thunk.takes(rng.below(3) as u32, access);
            }
            thunk
        };
        Sequence { thunks: (0..thunks).map(&mut thunk).collect() }
    }

    #[test]
    fn buffers_only() {
        check(&random(1300, u64::MAX));
    }

    /// Small accesses cut an allocation up, large ones go over all of it.
    fn fragments(seed: u64) -> Sequence {
        let mut rng = Rng::new(seed);
        let mut thunk = |_| {
            let mut thunk = Thunk::new(Kind::Kernel, "k");
            for _ in 0..1 + rng.below(2) {
                let (offset, size) = match rng.below(4) {
                    0 => (0, 64),
                    1 => (rng.below(32), 32),
                    _ => (rng.below(64), 1),
                };
                let write = if size == 1 { rng.one_in(2) } else { rng.one_in(20) };
                thunk = if write { thunk.writes(0, offset, size) } else { thunk.reads(0, offset, size) };
            }
            thunk
        };
        Sequence { thunks: (0..150).map(&mut thunk).collect() }
    }

    #[test]
    fn small_and_large_accesses() {
        (0..200).for_each(|seed| check(&fragments(seed)));
    }

    #[test]
    fn with_resources() {
        check(&random(700, 10));
        check(&random(1100, 200));
    }
}
