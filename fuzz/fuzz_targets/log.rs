//! A log of XLA, compared with a program that has nothing to do with it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thunkscope_core::graph::{Graph, Reduction};
use thunkscope_core::import::verify::verify;
use thunkscope_core::import::xla_log::XlaLog;
use thunkscope_core::program::Shape;

fuzz_target!(|bytes: &[u8]| {
    let log = XlaLog::parse(bytes);
    let program = Shape::Local.generate(10, 1);
    let graph = Graph::build(&program.sequence, &program.resources, Reduction::Upstream).expect("ten thunks");
    let answers = verify(&program, &[&graph], &log);
    assert_eq!(answers.len(), 1);
});
