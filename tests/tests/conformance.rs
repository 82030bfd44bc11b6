//! Equal to real XLA on all captured samples, and able to say when it is not.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use thunkscope_tests::conformance::{Report, run};

fn oracle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle")
}

#[test]
fn everything_captured_is_equal() {
    let report = run(&oracle()).expect("the samples");
    assert_eq!(report.differences, [] as [String; 0]);
    // 1454 lines of sequences; per program its file, its decoded sequences and its logged ones.
    assert_eq!(report.passed, 1454 + 26 + 47 + 47 + 2);
}

/// A folder for one test; gone when dropped.
struct Folder(PathBuf);

impl Folder {
    /// `moe10` and `tokens_infeed` with their lines, log and cache entry.
    fn with_samples(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("thunkscope-{}-{name}", std::process::id())));
        let mut text = String::new();
        let file = fs::File::open(oracle().join("graphs/handwritten.jsonl.gz")).expect("a sample");
        GzDecoder::new(file).read_to_string(&mut text).expect("text");
        let names = ["moe10", "tokens_infeed"];
        let wanted = |line: &&str| names.iter().any(|name| line.contains(&format!("\"p\":\"{name}\"")));
        let lines: Vec<&str> = text.lines().filter(wanted).collect();
        folder.put("graphs/some.jsonl", lines.join("\n").as_bytes());
        for name in names {
            for file in ["exec.bin", "vlog.txt"] {
                let path = format!("programs/{name}/{file}");
                folder.put(&path, &fs::read(oracle().join(&path)).expect("a sample"));
            }
        }
        folder.put("cache/moe10-cache", &fs::read(oracle().join("cache/moe10-cache")).expect("a sample"));
        folder
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("written");
    }

    /// Replaces the first `from` in a file.
    fn edit(&self, path: &str, from: &[u8], to: &[u8]) {
        let mut bytes = fs::read(self.0.join(path)).expect("a sample");
        let at = bytes.windows(from.len()).position(|window| window == from).expect("is there");
        bytes.splice(at..at + from.len(), to.iter().copied());
        self.put(path, &bytes);
    }

    fn report(&self) -> Report {
        run(&self.0).expect("the copy")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Edits one file of a copy and expects a difference with these words.
#[track_caller]
fn check(name: &str, path: &str, from: &[u8], to: &[u8], expected: &str) {
    let folder = Folder::with_samples(name);
    let before = folder.report();
    assert_eq!(before.differences, [] as [String; 0]);
    folder.edit(path, from, to);
    let after = folder.report();
    assert!(!after.differences.is_empty(), "the edit went unseen");
    assert!(after.text().contains(expected), "{}", after.text());
    assert!(after.text().ends_with(" failed\n"));
}

#[test]
fn a_changed_line_is_seen() {
    let lines = "graphs/some.jsonl";
    check("prio", lines, b"\"prio\":[5,", b"\"prio\":[4,", "has priority 4 in the log, 5 here");
    check(
        "deps",
        lines,
        b"[\"wrapped_reduce\"]",
        b"[\"ynn_fusion.5\"]",
        "waits for ynn_fusion.5 in the log, for wrapped_reduce here",
    );
    check(
        "ids",
        lines,
        b"\"dep_ids\":[[],[],[],[],[],[0]",
        b"\"dep_ids\":[[],[],[],[],[],[1]",
        "thunk 5 waits for [0], XLA has [Some(1)]",
    );
    check("sources", lines, b"\"sources\":5", b"\"sources\":4", "4 source nodes in the log, 5 here");
    check("sinks", lines, b"\"sinks\":1", b"\"sinks\":2", "2 sink nodes in the log, 1 here");
    check("erased", lines, b"\"erased\":8", b"\"erased\":9", "9 erased edges in the log, 8 here");
    check(
        "chain",
        lines,
        b"\"graph_seq\":false",
        b"\"graph_seq\":true",
        "a chain in the log, not a chain here",
    );
    check("seq", lines, b"\"seq\":false", b"\"seq\":true", "sequential in the log, not sequential here");
    check(
        "small",
        lines,
        b"\"small\":false",
        b"\"small\":true",
        "below the small-buffers limit in the log, not below",
    );
    check(
        "kind",
        lines,
        b"[2,3,\"E\"]",
        b"[2,3,\"S\"]",
        "the log has a scheduling edge by resources, here is an execution edge",
    );
    check(
        "missing",
        lines,
        b"[2,3,\"E\"],",
        b"",
        "the log has no edge by resources, here is an execution edge",
    );
    check("json", lines, b"{", b"", "some.jsonl line 1");
}

#[test]
fn a_changed_use_is_seen_in_the_decoded_program() {
    let lines = "graphs/some.jsonl";
    check("size", lines, b"[1,0,16384,\"R\"]", b"[1,0,16380,\"R\"]", "thunk 0 `ynn_fusion.5`: uses");
    check(
        "name",
        lines,
        b"\"wrapped_reduce\"",
        b"\"wrapped_reduct\"",
        "name wrapped_reduce, expected wrapped_reduct",
    );
    check("token", lines, b"[1,\"T\",\"R\"]", b"[1,\"T\",\"W\"]", "resources");
}

#[test]
fn a_changed_executable_is_seen() {
    let file = "programs/moe10/exec.bin";
    // Size 1024 of the first thunk's second slice, in allocation 7: 512 instead.
    check("exec", file, b"\x10\x80\x08\x18\x07\x20\x0b", b"\x10\x80\x04\x18\x07\x20\x0b", "uses");
    check("rename", file, b"\x12\x15\x0a\x0cynn_fusion.5", b"\x12\x15\x0a\x0cynn_fusion.7", "thunk 0");
    check("cut", file, b"\x0a\x0cynn_fusion.5", b"", "XI00");
}

#[test]
fn a_changed_log_is_seen() {
    let file = "programs/moe10/vlog.txt";
    check(
        "logprio",
        file,
        b"sink=false, priority=5",
        b"sink=false, priority=6",
        "has priority 6 in the log, 5 here",
    );
    check(
        "logdeps",
        file,
        b"dependencies=[ynn_fusion.5]",
        b"dependencies=[ynn_fusion.4]",
        "waits for ynn_fusion.4",
    );
    check(
        "logname",
        file,
        b"op_name=wrapped_reduce",
        b"op_name=wrapped_reduct",
        "`wrapped_reduct` in the log",
    );
    check(
        "logflag",
        file,
        b"small_buffers=false",
        b"small_buffers=true",
        "below the small-buffers limit in the log",
    );
    let file = "programs/tokens_infeed/vlog.txt";
    check(
        "logedge",
        file,
        b"Added edge 2 -> 3 execution",
        b"Added edge 2 -> 3 scheduling",
        "from thunk 2 to thunk 3",
    );
    check("lognoedge", file, b"Added edge 2 -> 3 execution", b"", "the log has no edge by resources");
}

#[test]
fn a_changed_cache_entry_is_seen() {
    let folder = Folder::with_samples("cache");
    let bytes = fs::read(folder.0.join("cache/moe10-cache")).expect("a sample");
    folder.put("cache/moe10-cache", &bytes[..bytes.len() / 2]);
    assert!(folder.report().text().contains("XI012"), "{}", folder.report().text());
}

#[test]
fn nothing_to_compare_is_no_success() {
    let folder = Folder(std::env::temp_dir().join(format!("thunkscope-{}-empty", std::process::id())));
    folder.put("readme.txt", b"");
    assert_eq!(folder.report().differences.len(), 1);
    folder.put("graphs/readme.txt", b"");
    assert_eq!(folder.report().differences.len(), 1);
}

#[test]
fn folders_of_several_releases_may_lie_in_one() {
    let one = Folder::with_samples("outer");
    let all = one.report().passed;
    for part in ["graphs", "programs", "cache"] {
        fs::create_dir_all(one.0.join("0.10.2")).expect("a folder");
        fs::rename(one.0.join(part), one.0.join("0.10.2").join(part)).expect("moved");
    }
    assert_eq!(one.report().passed, all);
    assert_eq!(one.report().differences, [] as [String; 0]);
}

/// Infeed and outfeed in two chains, with joined tokens, and in a loop (jaxlib 0.10.2): who reads which token is not
/// in the file, so the log is what tells that it was inferred well.
#[test]
fn tokens_of_feeds_are_inferred_as_xla_had_them() {
    let report = run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/feeds")).expect("the samples");
    assert_eq!(report.differences, [] as [String; 0]);
    assert_eq!(report.passed, 3 + 5);
}
