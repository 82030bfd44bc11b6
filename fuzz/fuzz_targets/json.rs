//! A program in JSON: what is read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thunkscope_core::program::json;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(first) = json::read(bytes) {
        let second =
            json::read(json::write(&first.program).as_bytes()).expect("what was read can be written");
        assert_eq!(second.program, first.program);
    }
});
