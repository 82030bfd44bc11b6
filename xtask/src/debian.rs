//! Debian packages. Only as root, never through another program that asks for a password.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::process::{ask, command, find, run};

/// Whether packages can be installed here, or the sentence that says why not.
pub(crate) fn can_install() -> std::result::Result<(), &'static str> {
    if !is_debian() {
        return Err("this is not Debian (no /etc/debian_version and apt-get)");
    }
    if ask(command("id").arg("-u")).is_none_or(|id| id.trim() != "0") {
        return Err("only root can install packages, and this command never uses sudo");
    }
    Ok(())
}

/// Whether this system has Debian's package tools.
pub(crate) fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists() && find("apt-get").is_some()
}

/// The command that a person can run to have these packages.
pub(crate) fn install_command(packages: &[&str]) -> String {
    format!("apt-get update && apt-get install -y --no-install-recommends {}   # as root", packages.join(" "))
}

/// Installs what is missing of `packages`. Asks the network only when something is.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = install_command(&missing);
    can_install().map_err(|why| Failure::new(format!("cannot install packages: {why}")).by_hand(&by_hand))?;
    // The lists of a fresh image are empty or old. A failure here shows up in the next command anyway.
    let _ = run(apt().args(["-q", "update"]));
    run(apt().args(["-q", "install", "-y", "--no-install-recommends"]).args(&missing))
        .map_err(|failure| failure.by_hand(by_hand))
}

/// Whether every one of these packages is installed.
pub(crate) fn are_installed(packages: &[&str]) -> bool {
    packages.iter().all(|package| is_installed(package))
}

fn apt() -> std::process::Command {
    let mut apt = command("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}

fn is_installed(package: &str) -> bool {
    ask(command("dpkg-query").args(["-W", "-f=${db:Status-Status}", package]))
        .is_some_and(|s| s == "installed")
}
