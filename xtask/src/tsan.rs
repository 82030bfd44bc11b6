//! `cargo xtask tsan`: the native tests under ThreadSanitizer, which reports what two threads do to the same memory
//! without an order between them, on the schedules that the tests happen to take.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::process::{ask, command, run, step, work_dir};

/// Runs the tests of the native crate, or what `arguments` ask cargo for instead.
pub(crate) fn tsan(arguments: &[String]) -> Result<()> {
    let target = target()?;
    step(
        "The native tests under ThreadSanitizer",
        "The standard library is built with it too: else its locks and reference counts look like races.",
    );
    let mut cargo = command("cargo");
    cargo.args(["+nightly", "test", "--locked", "-Zbuild-std", "--target", &target]);
    cargo.arg("--target-dir").arg(work_dir()?.join("tsan"));
    match arguments {
        [] => cargo.args(["-p", "thunkscope", "--lib", "--test", "executor", "--test", "run"]),
        arguments => cargo.args(arguments),
    };
    // Any report makes a test binary end with an error.
    run(cargo.env("RUSTFLAGS", "-Zsanitizer=thread"))
}

/// The host, if there is a compiler that can do it.
fn target() -> Result<String> {
    let install = "rustup toolchain install nightly --component rust-src";
    let version = ask(command("rustc").args(["+nightly", "-vV"])).ok_or_else(|| {
        Failure::new("ThreadSanitizer is a feature of nightly compilers, and none is installed")
            .by_hand(install)
    })?;
    let sysroot = ask(command("rustc").args(["+nightly", "--print", "sysroot"])).unwrap_or_default();
    if !Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock").exists() {
        return Err(Failure::new("the nightly compiler has come without the source of the standard library")
            .by_hand("rustup component add rust-src --toolchain nightly"));
    }
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    if !host.ends_with("-linux-gnu") && !host.ends_with("-apple-darwin") {
        return Err(Failure::new(format!("there is no ThreadSanitizer for `{host}`")));
    }
    Ok(host.to_owned())
}
