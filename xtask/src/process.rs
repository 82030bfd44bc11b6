//! Running other programs: a clean environment, a search path with cargo's own folder, output that can be both shown
//! and read.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::failure::{Failure, Result, while_doing};

/// The root of the project: the parent of this crate's folder.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the compile-time value serves a binary that was started directly.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Cargo's build folder, wherever the user has put it.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Where this crate keeps its own files. `cargo clean` may remove it at any time.
pub(crate) fn work_dir() -> Result<PathBuf> {
    let dir = target_dir().join("xtask");
    std::fs::create_dir_all(&dir).map_err(while_doing(format!("creating {}", dir.display())))?;
    Ok(dir)
}

/// Where `cargo install` puts programs.
pub(crate) fn cargo_bin() -> PathBuf {
    let home = env::var_os("CARGO_INSTALL_ROOT").or_else(|| env::var_os("CARGO_HOME")).map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    home.unwrap_or_else(|| PathBuf::from(".cargo")).join("bin")
}

/// The search path of every child: `first`, the user's own, and cargo's folder, which a fresh shell often lacks.
pub(crate) fn search_path(first: &[PathBuf]) -> OsString {
    let own = env::var_os("PATH").unwrap_or_default();
    let parts = first.iter().cloned().chain(env::split_paths(&own)).chain([cargo_bin()]);
    env::join_paths(parts).unwrap_or(own)
}

/// The first program of that name on the search path.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&search_path(&[])).map(|dir| dir.join(&name)).find(|path| path.is_file())
}

/// A command run in the project's root, without the variables that `cargo run` added for this program alone.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).env("PATH", search_path(&[]));
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let of_this_run = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|p| text.starts_with(p))
            || matches!(text, "CARGO" | "CARGO_CRATE_NAME" | "OUT_DIR");
        if of_this_run {
            command.env_remove(name);
        }
    }
    // `cargo run` puts the libraries of *its* compiler here; a compiler of another toolchain must not find them.
    if let Some(paths) = env::var_os("LD_LIBRARY_PATH") {
        let foreign =
            |dir: &PathBuf| dir.starts_with(target_dir()) || dir.iter().any(|part| part == "toolchains");
        match env::join_paths(env::split_paths(&paths).filter(|dir| !foreign(dir))) {
            Ok(rest) if !rest.is_empty() => command.env("LD_LIBRARY_PATH", rest),
            _ => command.env_remove("LD_LIBRARY_PATH"),
        };
    }
    command
}

/// The command line as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| {
            let word = word.to_string_lossy();
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
            if !word.is_empty() && word.chars().all(plain) { word.into_owned() } else { format!("'{word}'") }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Shows the command, runs it without input, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("    $ {}", shown(command));
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(while_doing(format!("starting `{}`", shown(command))))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` ended with {status}", shown(command))))
    }
}

/// Standard output of a command that is quick and has no effect; `None` when it cannot be run or fails.
pub(crate) fn ask(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command while passing its standard output on, line by line, and returns what was written.
pub(crate) fn tee(command: &mut Command) -> Result<(ExitStatus, String)> {
    println!("    $ {}", shown(command));
    let name = shown(command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(while_doing(format!("starting `{name}`")))?;
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(while_doing(format!("reading from `{name}`")))? > 0
        {
            let _ = std::io::stdout().write_all(&line);
            text.push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
        let _ = std::io::stdout().flush();
    }
    let status = child.wait().map_err(while_doing(format!("waiting for `{name}`")))?;
    Ok((status, text))
}

/// Announces a step: what is done, and why.
pub(crate) fn step(what: &str, why: &str) {
    println!("==> {what}\n    {why}");
}
