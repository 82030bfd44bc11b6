//! Node packages: `wasm-opt` and the driver of the browser tests. All of it is optional.

use std::fs;
use std::path::PathBuf;

use crate::debian;
use crate::failure::{Failure, Result, while_doing};
use crate::process::{ask, command, find, root, run, step};

/// What the driver of the browser tests demands, and what Debian 12 has. Releases of the driver after 1.61 want 20.
const OLDEST: u32 = 18;
const PACKAGES: [&str; 2] = ["nodejs", "npm"];

/// Why something that wants Node was left out.
pub(crate) type Missing = String;

/// The folder with `package.json`.
pub(crate) fn folder() -> PathBuf {
    root().join("tests/browser")
}

/// `wasm-opt`: the user's own, or the one in the project's Node packages.
pub(crate) fn wasm_opt() -> Option<PathBuf> {
    let ours = folder().join("node_modules/.bin/wasm-opt");
    if ours.exists() { Some(ours) } else { find("wasm-opt") }
}

/// Installs Node where that is possible, and the packages of the lock file, unless exactly these are there.
/// `Ok(Err(…))`: there is no Node, why, and how to have it.
pub(crate) fn ensure() -> Result<std::result::Result<(), Missing>> {
    if missing().is_some() && debian::can_install().is_ok() && !debian::are_installed(&PACKAGES) {
        step(
            "Debian packages: nodejs and npm",
            "They run the tests of the page in a browser, and fetch wasm-opt. A few hundred small packages, a minute or two.",
        );
        // The page can be built without.
        if let Err(failure) = debian::install(&PACKAGES) {
            println!("    That did not work: {failure}");
        }
    }
    if let Some(what) = missing() {
        let by_hand = if debian::is_debian() {
            debian::install_command(&PACKAGES)
        } else {
            "install it from your system's packages or from nodejs.org".to_owned()
        };
        return Ok(Err(format!("{what} ({by_hand})")));
    }
    let lock = folder().join("package-lock.json");
    // npm's own record of what it installed leaves out what other systems need; a copy of the lock file is plain.
    let stamp = folder().join("node_modules/.installed-from-this-lock.json");
    let wanted = fs::read(&lock).map_err(while_doing(format!("reading {}", lock.display())))?;
    if fs::read(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(Ok(()));
    }
    step(
        "npm ci in tests/browser",
        "wasm-opt makes the page small; playwright-core drives the browser in tests. Kept inside that folder.",
    );
    let mut npm = command("npm");
    npm.current_dir(folder()).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    run(&mut npm)
        .map_err(|failure: Failure| failure.by_hand("cd tests/browser && npm ci --ignore-scripts"))?;
    fs::write(&stamp, wanted).map_err(while_doing(format!("writing {}", stamp.display())))?;
    Ok(Ok(()))
}

/// What is wrong with Node here, if anything.
fn missing() -> Option<String> {
    let version = ask(command("node").arg("--version"));
    match version.as_deref().map(|text| (text.trim(), major(text))) {
        None => Some(format!("Node.js {OLDEST} or newer is not installed")),
        Some((_, Some(major))) if major >= OLDEST => {
            find("npm").is_none().then(|| "Node.js is there, npm is not".to_owned())
        }
        Some((version, _)) => {
            let path = find("node").unwrap_or_default();
            Some(format!("{} is {version}, and Node.js {OLDEST} or newer is needed", path.display()))
        }
    }
}

/// The first number of `v20.20.2`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("unknown"), None);
    }
}
