//! Every code that a reader can give is explained in `docs/diagnostics.md`, and no other.

use std::collections::BTreeSet;
use std::path::Path;

/// The codes with that prefix in a text, between quotes or backquotes.
fn codes(text: &str, prefix: &str) -> BTreeSet<String> {
    text.split(['"', '`'])
        .filter(|word| (5..=6).contains(&word.len()) && word.starts_with(prefix))
        .filter(|word| word[prefix.len()..].bytes().all(|byte| byte.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

fn sources(dir: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            text += &sources(&path);
        } else if !path.ends_with("tests.rs") {
            let source = std::fs::read_to_string(&path).expect("a source");
            // Codes in tests and in comments are none that are given.
            let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            text.extend(
                source
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"))
                    .map(|line| format!("{line}\n")),
            );
        }
    }
    text
}

#[track_caller]
fn check(prefix: &str, least: usize, dirs: &[&str]) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let doc = std::fs::read_to_string(package.join("../docs/diagnostics.md")).expect("the document");
    let rows: String = doc
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .collect::<Vec<_>>()
        .join("\n");
    let source: String = dirs.iter().map(|dir| sources(&package.join("..").join(dir))).collect();
    let given = codes(&source, prefix);
    assert!(given.len() >= least, "{given:?}");
    assert_eq!(codes(&rows, prefix), given);
}

#[test]
fn import_codes_are_explained() {
    check("XI", 10, &["core/src/import"]);
}

#[test]
fn program_codes_are_explained() {
    check("PG", 10, &["core/src/program/json"]);
}

#[test]
fn dump_codes_are_explained() {
    check("EP", 8, &["core/src/dump"]);
    check("E1", 3, &["core/src/dump"]);
    check("DU", 20, &["core/src/dump"]);
}

#[test]
fn other_codes_are_explained() {
    check("GR", 2, &["core/src"]);
    check("SM", 2, &["core/src"]);
    check("DX", 5, &["core/src/sim"]);
    check("CK", 6, &["core/src/explore"]);
    check("LG", 3, &["core/src"]);
    check("EX", 7, &["core/src/exhibit", "core/src/panel", "web"]);
    check("AP", 4, &["web"]);
    check("FS", 5, &["native/src"]);
    check("RN", 3, &["native/src"]);
}
