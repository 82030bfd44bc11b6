//! A cache entry. The first byte picks: the rest as it is, or as the executable inside a zlib stream, so that what
//! lies behind the check sum is reached too.
#![no_main]

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use libfuzzer_sys::fuzz_target;
use thunkscope_core::import::{Limits, ReadOptions, read};

fuzz_target!(|bytes: &[u8]| {
    let options =
        ReadOptions { lenient: false, limits: Limits { decompressed: 8 << 20, ..Limits::default() } };
    let _ = read(bytes, "fuzz", &options);
    if let [0, inner @ ..] = bytes {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&[0; 4]).and_then(|()| encoder.write_all(inner)).expect("in memory");
        let _ = read(&encoder.finish().expect("in memory"), "fuzz", &options);
    }
});
