//! `cargo xtask lint`: format, clippy, documentation, where `unsafe` may be, licences.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result};
use crate::process::{command, find, root, run, step};
use crate::test::files_below;
use crate::wasm_std;

/// Crates that must forbid unsafe code.
const SAFE: [&str; 4] = ["core", "web", "xtask", "tests"];
/// The only folder whose files may hold unsafe code.
const UNSAFE_HOME: &str = "native/src/sys";
/// A counting allocator, which needs one, may stand in a file of this name in the tests.
const COUNTING_ALLOCATOR: &str = "counting_alloc.rs";

pub(crate) fn lint() -> Result<()> {
    step("Format", "One style, so that a diff shows only what changed.");
    run(command("cargo").args(["fmt", "--all", "--check"]))
        .map_err(|failure| failure.by_hand("cargo fmt --all"))?;

    step("Where unsafe code may be", "In native/src/sys alone; the other crates forbid it.");
    unsafe_rule(&root())?;

    step("Clippy, on the host", "Warnings are errors here.");
    run(command("cargo").args(["clippy", "--locked", "--all-targets", "--", "--deny", "warnings"]))?;

    step("Clippy, for the browser", "The page and the core are compiled for WebAssembly too.");
    let mut cargo = wasm_std::ensure()?.cargo();
    cargo.args(["clippy", "--locked", "--all-targets", "--target", "wasm32-unknown-unknown"]);
    cargo.args(["-p", "thunkscope-core", "-p", "thunkscope-web", "--", "--deny", "warnings"]);
    run(&mut cargo)?;

    step("Documentation", "Links between items must lead somewhere.");
    run(command("cargo").args(["doc", "--locked", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings"))?;

    if find("cargo-deny").is_some() {
        step(
            "cargo deny",
            "Licences, duplicate and banned crates, sources. Not advisories: they need another server.",
        );
        run(command("cargo").args(["deny", "--offline", "check", "licenses", "bans", "sources"]))?;
    } else {
        println!("    Left out: licences and sources of the crates. (cargo install cargo-deny)");
    }
    println!("Lint: all fine.");
    Ok(())
}

/// Checks the rule on unsafe code: the compiler enforces it in the crates that forbid it, a search finds it in the
/// rest (crates of single test files, benches, and the one crate that cannot forbid it as a whole).
fn unsafe_rule(root: &Path) -> Result<()> {
    let mut broken = Vec::new();
    for name in SAFE {
        for file in ["src/lib.rs", "src/main.rs"].map(|file| root.join(name).join(file)) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            if !text.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]") {
                broken.push(format!("{}: lacks #![forbid(unsafe_code)]", shown(root, &file)));
            }
        }
    }
    let files = SAFE.iter().chain(&["native"]).flat_map(|name| files_below(&root.join(name), "rs"));
    for file in files {
        let in_tests = file.starts_with(root.join("tests"));
        if file.starts_with(root.join(UNSAFE_HOME)) || in_tests && file.ends_with(COUNTING_ALLOCATOR) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        for line in unsafe_lines(&text) {
            broken.push(format!("{}:{line}: unsafe code outside {UNSAFE_HOME}", shown(root, &file)));
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(Failure::new(broken.join("\n"))) }
}

/// Numbers of the lines where `unsafe` begins a block, an item or an attribute: not in a comment, not in a sentence.
fn unsafe_lines(text: &str) -> Vec<usize> {
    let begins_code = |rest: &str| {
        let rest = rest.trim_start();
        ["{", "(", "fn ", "impl", "trait ", "extern "].iter().any(|next| rest.starts_with(next))
            || rest.is_empty()
    };
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let code = line.split("//").next().unwrap_or_default();
        let unquoted = || code.split('"').step_by(2);
        unquoted()
            .any(|code| code.match_indices("unsafe").any(|(at, word)| begins_code(&code[at + word.len()..])))
            || ["allow(", "expect("]
                .iter()
                .any(|level| unquoted().any(|c| c.contains(&format!("{level}unsafe_code"))))
    });
    lines.map(|(index, _)| index + 1).collect()
}

fn shown(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_unsafe_in_code_only() {
        let text = "#![deny(unsafe_code)]\n// unsafe is bad\nlet unsafe_thing = 'unsafe';\nunsafe { f() }\n#[expect(unsafe_code)]\n"
            .replace('\'', "\"");
        assert_eq!(unsafe_lines(&text), [4, 5]);
    }

    #[test]
    fn a_crate_that_does_not_forbid_unsafe_code_is_named() {
        let root = std::env::temp_dir().join(format!("xtask-unsafe-rule-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("folder");
            fs::write(path, text).expect("file");
        };
        write("core/src/lib.rs", "#![forbid(unsafe_code)]\n");
        write("web/src/main.rs", "fn main() {}\n");
        write("native/src/sys/map.rs", "unsafe fn f() {}\n");
        assert_eq!(
            unsafe_rule(&root).map_err(|failure| failure.to_string()),
            Err("web/src/main.rs: lacks #![forbid(unsafe_code)]".to_owned())
        );
        write("web/src/main.rs", "#![forbid(unsafe_code)]\nfn main() {}\n");
        assert_eq!(unsafe_rule(&root).map_err(|failure| failure.to_string()), Ok(()));
        write("native/src/main.rs", "fn main() {\n    unsafe { f() }\n}\n");
        assert_eq!(
            unsafe_rule(&root).map_err(|failure| failure.to_string()),
            Err("native/src/main.rs:2: unsafe code outside native/src/sys".to_owned())
        );
        fs::remove_dir_all(&root).expect("clean-up");
    }
}
