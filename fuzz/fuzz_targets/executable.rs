//! A serialized executable, strict and lenient: a sound program or one diagnostic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thunkscope_core::import::{ReadOptions, read};
use thunkscope_core::program::{MAX_END, MAX_NESTING, json};

fuzz_target!(|bytes: &[u8]| {
    for lenient in [false, true] {
        let Ok(imported) = read(bytes, "fuzz", &ReadOptions { lenient, ..ReadOptions::default() }) else {
            continue;
        };
        let program = &imported.program;
        for (path, sequence) in program.sequences() {
            assert!(path.steps().len() <= MAX_NESTING);
            for thunk in &sequence.thunks {
                assert!(thunk.uses.iter().all(|used| used.slice.end() <= MAX_END));
                assert!(
                    thunk.resources.iter().all(|used| (used.resource as usize) < program.resources.len())
                );
            }
        }
        let written = json::write(program);
        assert_eq!(&json::read(written.as_bytes()).expect("what was read can be written").program, program);
    }
});
