//! Totals by the rules of ge-dump spec §5.4, and that any interleaving makes an op due once a round.

use serde_json::{Value, json};

use super::*;
use crate::dump::selection::tests::model_of;
use crate::machine::{AtomicMemory, LocalMemory};

fn units(model: &Model) -> Units<LocalMemory> {
    Units::new(model, LocalMemory::new(model.ops.len()), &BTreeMap::new())
}

fn dynamic(thunks: Value) -> Model {
    model_of(thunks, json!({ "mode": "dynamic" }))
}

fn at(node: u32) -> ThunkRef {
    ThunkRef { sequence: 0, node }
}

fn total(model: &Model, name: &str) -> u32 {
    let id = model.ops.iter().position(|op| op.name == name).expect(name);
    units(model).total(id as u32)
}

#[test]
fn worked_examples() {
    let infer = |sets: &[u32]| json!({ "kind": "other", "sets_shape": sets });
    let alloc = |sets: &[u32]| json!({ "kind": "other", "sets_address": sets });
    let launch = |name: &str| json!({ "kind": "kernel", "name": name });
    // MatMul: InferShape, AllocMemory, Launch.
    assert_eq!(total(&dynamic(json!([infer(&[2]), alloc(&[2]), launch("MatMul")])), "MatMul"), 3);
    // Add whose output lies in its input's memory: no alloc.
    assert_eq!(total(&dynamic(json!([infer(&[1]), launch("Add")])), "Add"), 2);
    // One thunk infers and allocates.
    let fused = json!({ "kind": "other", "sets_shape": [1], "sets_address": [1] });
    assert_eq!(total(&dynamic(json!([fused, launch("Fused")])), "Fused"), 2);
    // Two launches of one op.
    let again = json!({ "kind": "kernel", "name": "a", "attributes": { "launch_of": 0 } });
    assert_eq!(total(&dynamic(json!([launch("a"), again])), "a"), 2);
    // What the initialising graph sets, and event thunks, do not count.
    let init = json!({ "kind": "other", "sets_shape": [1], "attributes": { "graph": "init" } });
    assert_eq!(total(&dynamic(json!([init, launch("a")])), "a"), 1);
    let event = json!({ "kind": "other", "op_type": "SendEvents" });
    assert_eq!(units(&dynamic(json!([event, launch("a")]))).of(at(0)), &[] as &[u32]);
    // Static programs: the op's own thunk.
    assert_eq!(total(&model_of(json!([launch("a")]), json!({})), "a"), 1);
}

#[test]
fn control_flow_ends_at_its_own_thunk_and_unknown_kinds_never() {
    let nested = json!([{ "role": "body", "sequence": { "thunks": [{ "kind": "kernel", "name": "in" }] } }]);
    let model = dynamic(json!([
        { "kind": "while", "name": "w", "trip_count": 1, "nested": nested },
        { "kind": "other", "name": "odd", "nested": [{ "role": "call", "sequence": { "thunks": [] } }] },
        { "kind": "other", "op_type": "NetOutput", "name": "out" },
    ]));
    assert_eq!(
        (total(&model, "w"), total(&model, "odd"), total(&model, "out"), total(&model, "in")),
        (1, 0, 0, 1)
    );
    assert_eq!(units(&model).unknown_control, [1]);
}

#[test]
fn replaced_thunks_count_by_what_took_their_place() {
    let model = dynamic(json!([
        { "kind": "other", "sets_shape": [2] },
        { "kind": "other", "sets_address": [2] },
        { "kind": "kernel", "name": "a" },
    ]));
    let replaced = [(at(1), at(0))].into();
    let units = Units::new(&model, LocalMemory::new(1), &replaced);
    assert_eq!((units.total(0), units.of(at(0)), units.of(at(1))), (2, &[0][..], &[][..]));
}

#[test]
fn t28_counts_of_a_failed_iteration_do_not_leak() {
    let model = dynamic(json!([{ "kind": "other", "sets_shape": [1] }, { "kind": "kernel", "name": "a" }]));
    let mut units = units(&model);
    units.reset();
    assert_eq!(units.tick(0), None);
    units.flag(0);
    units.reset();
    assert_eq!(units.current(0), 0);
    assert_eq!(units.tick(0), None);
    assert_eq!(units.tick(0), Some(false), "the flag has gone as well");
    units.flag(0);
    assert_eq!((units.tick(0), units.tick(0)), (None, Some(true)));
    units.clear(0);
    assert_eq!(units.current(0), 0);
}

#[test]
fn generations_wrap_without_stale_counts() {
    let model = dynamic(json!([{ "kind": "other", "sets_shape": [1] }, { "kind": "kernel", "name": "a" }]));
    let mut units = units(&model);
    units.reset();
    units.tick(0);
    let first = units.generation;
    units.generation = GENERATIONS - 1;
    units.reset();
    assert_eq!(units.generation, first);
    assert_eq!(units.current(0), 0);
}

#[test]
fn threads_make_an_op_due_exactly_once_a_round() {
    const THUNKS: u32 = 8;
    let sets: Vec<Value> =
        (0..THUNKS - 1).map(|_| json!({ "kind": "other", "sets_shape": [THUNKS - 1] })).collect();
    let mut thunks = sets;
    thunks.push(json!({ "kind": "kernel", "name": "a" }));
    let model = dynamic(json!(thunks));
    let mut units = Units::new(&model, AtomicMemory::new(1), &BTreeMap::new());
    assert_eq!(units.total(0), THUNKS);
    for _ in 0..200 {
        units.reset();
        let units = &units;
        let due: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|n| {
                    scope.spawn(move || {
                        (0..2).filter(|k| units.of(at(2 * n + k)) == [0] && units.tick(0).is_some()).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!(due, 1);
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Law 3: any order of the thunks of a round makes each unit due exactly once, at its last.
        #[test]
        fn any_interleaving_makes_each_unit_due_at_its_last_thunk(
            sets in proptest::collection::vec((0..6usize, any::<bool>()), 0..12),
            order in proptest::collection::vec(any::<u32>(), 18),
            rounds in 1..4u32,
        ) {
            let helpers = sets.len();
            let mut thunks: Vec<Value> = sets
                .iter()
                .map(|&(op, shape)| json!({ "kind": "other", if shape { "sets_shape" } else { "sets_address" }: [helpers + op] }))
                .collect();
            thunks.extend((0..6).map(|n| json!({ "kind": "kernel", "name": format!("op{n}") })));
            let model = dynamic(json!(thunks));
            let mut units = units(&model);
            let mut nodes: Vec<u32> = (0..thunks.len() as u32).collect();
            nodes.sort_by_key(|&n| order[n as usize]);
            for _ in 0..rounds {
                units.reset();
                let mut due: BTreeMap<OpId, u32> = BTreeMap::new();
                let mut left: BTreeMap<OpId, u32> = (0..6).map(|op| (op, units.total(op))).collect();
                for &node in &nodes {
                    for &op in units.of(at(node)) {
                        let now = left.entry(op).or_insert(0);
                        *now -= 1;
                        let is_due = units.tick(op).is_some();
                        prop_assert_eq!(is_due, *now == 0);
                        *due.entry(op).or_insert(0) += u32::from(is_due);
                    }
                }
                prop_assert!((0..6).all(|op| due.get(&op) == Some(&1)));
            }
        }
    }
}
