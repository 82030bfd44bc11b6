//! Both reductions on every graph of 6 nodes with two kinds of edge: 14.3 million, half a minute.
//!
//! `cargo bench -p thunkscope-tests --bench reduction [-- NODES]`. The test binary does up to 5
//! nodes. Results: `docs/reduction.md`.
#![forbid(unsafe_code)]

use thunkscope_tests::reduction::{Exhausted, exhaust};

fn main() {
    let nodes = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(6).min(7);
    let Exhausted { graphs, upstream_keeps_more, edges_too_many } = exhaust(nodes);
    println!("{nodes} nodes: {graphs} graphs, all minimal and with unchanged meaning");
    println!("XLA keeps more in {upstream_keeps_more}, {edges_too_many} edges too many");
}
