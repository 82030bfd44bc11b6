//! The two programs that turn Rust into a page: trunk and wasm-bindgen.

use std::fs;
use std::process::Command;

use crate::failure::{Failure, Result, while_doing};
use crate::process::{ask, command, find, root, run, step};

/// The newest trunk that the compilers we support can build.
const TRUNK: &str = "0.21.14";
/// Older ones lack options that we pass.
const OLDEST_TRUNK: (u64, u64) = (0, 21);

/// Whether the programs that take long to install are there, in whatever version.
pub(crate) fn are_installed() -> bool {
    ["trunk", "wasm-bindgen"].iter().all(|name| find(name).is_some())
}

/// Installs trunk, unless a suitable one is there.
pub(crate) fn ensure_trunk() -> Result<()> {
    let found = version_of("trunk");
    if found.as_deref().and_then(major_minor).is_some_and(|version| version >= OLDEST_TRUNK) {
        return Ok(());
    }
    step(
        &format!("Installing trunk {TRUNK}"),
        "It builds the page and serves it while you edit. Compiled here, once: 4 to 15 minutes.",
    );
    say_replaced("trunk", found.as_deref());
    install("trunk", TRUNK, &["--locked", "--no-default-features"])
}

/// Installs wasm-bindgen's programs in exactly the version of the crate that the page is built with.
pub(crate) fn ensure_wasm_bindgen() -> Result<()> {
    let wanted = wasm_bindgen_version()?;
    let found = version_of("wasm-bindgen");
    if found.as_deref() == Some(&wanted) && find("wasm-bindgen-test-runner").is_some() {
        return Ok(());
    }
    step(
        &format!("Installing wasm-bindgen-cli {wanted}"),
        "It joins WebAssembly and JavaScript, and runs tests in a browser; its version must equal the crate's in\n    Cargo.lock. Compiled here, once: 4 to 15 minutes.",
    );
    say_replaced("wasm-bindgen", found.as_deref());
    install("wasm-bindgen-cli", &wanted, &["--no-default-features"])
}

/// Downloads the crates of all members, so that later steps need no network.
pub(crate) fn ensure_crates() -> Result<()> {
    if ask(command("cargo").args(["fetch", "--locked", "--offline", "--quiet"])).is_some() {
        return Ok(());
    }
    step("cargo fetch --locked", "Downloads the crates that the page and the tests are built from.");
    run(command("cargo").args(["fetch", "--locked"]))
        .map_err(|failure| failure.by_hand("cargo fetch --locked"))
}

fn say_replaced(name: &str, found: Option<&str>) {
    if let (Some(found), Some(path)) = (found, find(name)) {
        println!("    The one at {} is {found}, which does not fit.", path.display());
    }
}

fn install(package: &str, version: &str, options: &[&str]) -> Result<()> {
    let mut cargo = command("cargo");
    cargo.args(["install", package, "--version", version, "--force"]).args(options);
    // These programs run for seconds and are compiled for minutes: speed of the build is what counts.
    cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "0").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    // Neither the browser's flags nor the project's build folder are meant for them.
    for name in ["RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_TARGET_DIR"] {
        cargo.env_remove(name);
    }
    let by_hand = format!("cargo install {package} --version {version} {}", options.join(" "));
    run(&mut cargo).map_err(|failure| failure.by_hand(by_hand))
}

/// The version that a program reports: `trunk 0.21.14` → `0.21.14`.
fn version_of(name: &str) -> Option<String> {
    let text = ask(Command::new(find(name)?).arg("--version").env_remove("NO_COLOR"))?;
    text.split_whitespace().nth(1).map(str::to_owned)
}

fn major_minor(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn wasm_bindgen_version() -> Result<String> {
    let path = root().join("Cargo.lock");
    let lock = fs::read_to_string(&path).map_err(while_doing(format!("reading {}", path.display())))?;
    locked_version(&lock, "wasm-bindgen")
        .ok_or_else(|| Failure::new("Cargo.lock names no wasm-bindgen").by_hand("cargo generate-lockfile"))
}

/// The version of the first package of that name in a Cargo.lock.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_version_from_a_lock_file() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"9.9.9\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\nsource = \"x\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen").as_deref(), Some("0.2.130"));
        assert_eq!(locked_version(lock, "trunk"), None);
    }

    #[test]
    fn an_old_trunk_is_not_suitable() {
        let suits = |version| major_minor(version).is_some_and(|version| version >= OLDEST_TRUNK);
        assert!(suits(TRUNK));
        assert!(suits("1.0.0"));
        assert!(!suits("0.20.3"));
        assert!(!suits("unknown"));
    }
}
