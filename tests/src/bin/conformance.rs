//! `conformance DIR…`: compares what is in folders laid out like `tests/oracle` with real XLA.
//!
//! Exit codes: 0 all equal, 1 a difference, 2 usage, 3 a folder cannot be read.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use thunkscope_tests::conformance::{Report, run};

fn main() -> ExitCode {
    let dirs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if dirs.is_empty() || dirs.iter().any(|dir| dir.to_string_lossy().starts_with('-')) {
        eprintln!(
            "usage: conformance DIR…\n\nDIR holds graphs/*.jsonl.gz, programs/*/exec.bin + vlog.txt, cache/*"
        );
        return ExitCode::from(2);
    }
    let mut all = Report::default();
    for dir in dirs {
        match run(&dir) {
            Ok(report) => {
                all.passed += report.passed;
                all.differences.extend(report.differences);
                all.notes.extend(report.notes);
            }
            Err(error) => {
                eprintln!("{}: {error}", dir.display());
                return ExitCode::from(3);
            }
        }
    }
    print!("{}", all.text());
    if all.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
