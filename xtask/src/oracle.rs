//! `cargo xtask oracle`: new samples from real XLA, compared at once.

use std::path::PathBuf;

use crate::failure::{Failure, Result};
use crate::process::{command, find, root, run, step, work_dir};
use crate::test::conformance_command;

/// Options of `cargo xtask oracle`.
#[derive(Debug)]
pub(crate) struct Options {
    /// How many random programs to compile.
    pub(crate) programs: u32,
    /// Seed of the first program.
    pub(crate) seed: u64,
    /// A release of jax, or the newest.
    pub(crate) version: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { programs: 20, seed: 1, version: None }
    }
}

/// Compiles random programs with real XLA and compares our graphs with the ones it logged.
pub(crate) fn oracle(options: &Options) -> Result<()> {
    let python = python_with_jax(options.version.as_deref())?;
    let out = work_dir()?.join("oracle");
    let _ = std::fs::remove_dir_all(&out);
    step(
        &format!("Compiling {} random programs", options.programs),
        "Each is compiled by XLA itself, which logs the graph that it built.",
    );
    let mut make = command(&python);
    make.arg(root().join("tests/oracle/make.py")).arg("--out").arg(&out);
    make.args(["--random", &options.programs.to_string(), "--seed", &options.seed.to_string()]);
    run(&mut make)?;
    run(&mut conformance_command(&[out]))
}

/// A Python of our own, below the build folder, with jax installed.
fn python_with_jax(version: Option<&str>) -> Result<PathBuf> {
    let wanted = version.map_or_else(|| "jax".to_owned(), |version| format!("jax=={version}"));
    let venv = work_dir()?
        .join(version.map_or_else(|| "venv-jax".to_owned(), |version| format!("venv-jax-{version}")));
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let probe = crate::process::ask(command(&python).args(["-c", "import jax, jaxlib"]));
    if python.exists() && probe.is_some() {
        return Ok(python);
    }
    let system = ["python3", "python"].iter().find_map(|name| find(name)).ok_or_else(|| {
        Failure::new("Python is not installed")
            .by_hand("apt-get install -y python3 python3-venv   # as root, on Debian")
    })?;
    step(
        &format!("Installing {wanted} into {}", venv.display()),
        "About 350 MB. Remove the folder to undo it.",
    );
    run(command(system).args(["-m", "venv"]).arg(&venv))
        .map_err(|failure| failure.by_hand("apt-get install -y python3-venv   # as root, on Debian"))?;
    run(command(&python).args(["-m", "pip", "install", "--quiet", &wanted]))
        .map_err(|failure| failure.by_hand(format!("{} -m pip install {wanted}", python.display())))?;
    Ok(python)
}
