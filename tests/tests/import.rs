//! Readers of files from elsewhere, against the captured samples.

use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use thunkscope_core::import::{ReadOptions, read};
use thunkscope_core::program::json;
use thunkscope_tests::conformance::decoded;
use thunkscope_tests::conformance::line::Line;

fn oracle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle")
}

fn lines(file: &str) -> Vec<Line> {
    let bytes = std::fs::File::open(oracle().join("graphs").join(file)).expect("a sample");
    let text = std::io::read_to_string(GzDecoder::new(bytes)).expect("text");
    text.lines().map(|line| Line::parse(line).expect("a line")).collect()
}

#[test]
fn every_sample_decodes_to_the_captured_thunks() {
    let mut compared = 0;
    for line in lines("handwritten.jsonl.gz") {
        let bytes =
            std::fs::read(oracle().join("programs").join(&line.p).join("exec.bin")).expect("a sample");
        let imported =
            read(&bytes, &line.p, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", line.p));
        assert_eq!(decoded::difference(&imported.program, &line), None, "{}", line.title());
        assert_eq!(imported.warnings, [], "{}", line.title());
        compared += 1;
    }
    assert_eq!(compared, 47);
}

#[test]
fn a_cache_entry_decodes_like_the_executable() {
    let bytes = std::fs::read(oracle().join("cache/moe10-cache")).expect("a sample");
    let imported = read(&bytes, "moe10", &ReadOptions::default()).expect("an entry");
    assert_eq!(imported.program.origin.format, "jax-cache");
    let line = lines("handwritten.jsonl.gz").into_iter().find(|line| line.p == "moe10").expect("a line");
    assert_eq!(decoded::difference(&imported.program, &line), None);
    assert_eq!(imported.warnings, []);
}

/// The page's sample. Written anew with `UPDATE=1 cargo test`.
#[test]
fn the_sample_of_the_page_is_the_imported_executable() {
    let bytes = std::fs::read(oracle().join("programs/moe10/exec.bin")).expect("a sample");
    let imported = read(&bytes, "moe10", &ReadOptions::default()).expect("an executable");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/programs/moe10.json");
    let written = json::write(&imported.program);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, &written).expect("written");
    }
    let committed = std::fs::read(&file).expect("the sample of the page");
    let sample = read(&committed, "", &ReadOptions::default()).expect("a program");
    assert_eq!(sample, imported);
    assert_eq!(String::from_utf8(committed).expect("text"), written);
}
