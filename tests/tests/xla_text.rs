//! Our text of the graphs equals XLA's own log, line by line.

use std::path::Path;

use thunkscope_core::executor::Options;
use thunkscope_core::explain::{Report, to_xla_text};
use thunkscope_core::import::{self, ReadOptions};

/// The lines that both have: XLA's without time stamps.
fn lines(text: &str) -> Vec<&str> {
    const STARTS: [&str; 3] = [" thunk #", "ThunkExecutor: #", "Constructed ThunkExecutor"];
    let unstamped = |line| str::find(line, STARTS[2]).map_or(line, |at| &line[at..]);
    text.lines().map(unstamped).filter(|line| STARTS.iter().any(|start| line.starts_with(start))).collect()
}

#[test]
fn the_text_equals_xlas_log() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/programs");
    let mut equal = 0;
    for entry in std::fs::read_dir(folder).expect("the oracle is there") {
        let folder = entry.expect("an entry").path();
        let log = std::fs::read_to_string(folder.join("vlog.txt")).expect("a log");
        let bytes = std::fs::read(folder.join("exec.bin")).expect("an executable");
        let imported = import::read(&bytes, "p", &ReadOptions::default()).expect("reads");
        let text = to_xla_text(&Report::new(&imported.program, Options::default()).expect("explains"));
        // XLA cuts long messages in the middle of a line.
        let cut =
            log.lines().filter(|line| line.starts_with(" thunk #")).any(|line| !line.contains("priority="));
        if cut {
            continue;
        }
        assert_eq!(lines(&text), lines(&log), "{}", folder.display());
        equal += 1;
    }
    assert!(equal >= 20, "only {equal} logs are whole");
}
