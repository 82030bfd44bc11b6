//! Both reductions on every small graph (`docs/reduction.md`).

use thunkscope_tests::reduction::{Exhausted, exhaust};

#[track_caller]
fn check(nodes: usize, graphs: u64, upstream_keeps_more: u64, edges_too_many: u64) {
    assert_eq!(exhaust(nodes), Exhausted { graphs, upstream_keeps_more, edges_too_many });
}

#[test]
fn every_graph_of_up_to_five_nodes() {
    check(0, 1, 0, 0);
    check(2, 3, 0, 0);
    // 0 → 1 and 0 → 2 by execution, 1 → 2 by scheduling.
    check(3, 27, 1, 1);
    check(4, 729, 109, 117);
    check(5, 59_049, 20_087, 24_799);
}
