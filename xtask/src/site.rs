//! The page: serving it, building it for release, and how large it is.

use std::env;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result, while_doing};
use crate::process::{command, root, run, shown, step, work_dir};
use crate::wasm_std::WasmToolchain;
use crate::{node, setup, wasm_std};

/// What rustc emits for this target today. Named one by one, because more would shut out browsers that are still used.
const WASM_FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Options of `cargo xtask serve`.
#[derive(Debug)]
pub(crate) struct Serve {
    pub(crate) port: u16,
    pub(crate) release: bool,
    pub(crate) open: bool,
}

/// Builds the page, serves it, and builds again on every change, until it is interrupted.
pub(crate) fn serve(options: &Serve) -> Result<()> {
    let address = format!("http://127.0.0.1:{}/", options.port);
    if TcpStream::connect((Ipv4Addr::LOCALHOST, options.port)).is_ok() {
        return Err(Failure::new(format!("something else is listening on port {}", options.port))
            .by_hand("cargo xtask serve --port 8081"));
    }
    let toolchain = setup::for_page()?;
    wasm_std::make_default_here(toolchain)?;

    let mut trunk = trunk(toolchain, "serve");
    trunk.args(["--address", "127.0.0.1", "--port", &options.port.to_string()]);
    // Not dist/: that is the release build, and tests may be reading it.
    trunk.arg("--dist").arg(work_dir()?.join("serve"));
    if options.release {
        trunk.arg("--release");
    }
    let has_screen = cfg!(not(target_os = "linux"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some_and(|v| !v.is_empty()));
    if options.open && has_screen && env::var_os("CI").is_none() {
        trunk.arg("--open");
    }
    step("Building the page, then serving it", "The first build takes a minute or two. Ctrl-C ends it.");
    println!("    $ {}", shown(&trunk));
    println!("\n  Thunkscope will be at  {address}  as soon as trunk has built it.\n");
    let _ = std::io::stdout().flush();
    become_program(trunk.stdin(Stdio::null()))
}

/// Ends this program and lets the other take its place, so that whoever ends this process ends that one.
#[cfg(unix)]
fn become_program(program: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    // Returns only when it could not be started.
    Err(while_doing(format!("starting `{}`", shown(program)))(program.exec()))
}

/// Runs the other program to its end.
#[cfg(not(unix))]
fn become_program(program: &mut Command) -> Result<()> {
    let status = program.status().map_err(while_doing(format!("starting `{}`", shown(program))))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` ended with {status}", shown(program))))
    }
}

/// `cargo xtask build`: the folder `dist/`, which any static server can hand out from any path.
pub(crate) fn build() -> Result<PathBuf> {
    let toolchain = setup::for_page()?;
    let without_node = node::ensure()?.err();
    step("Building the page for release", "Into dist/, with relative addresses, size first.");
    let mut trunk = trunk(toolchain, "build");
    // The page itself names the cargo profile of its release build.
    trunk.args(["--release", "--public-url", "./"]);
    trunk.env("RUSTFLAGS", without_places_of_this_machine());
    run(&mut trunk)?;
    let dist = root().join("dist");
    add_policy(&dist.join("index.html"))?;
    match (node::wasm_opt(), without_node) {
        (Some(wasm_opt), _) => shrink(&wasm_opt, &dist)?,
        (None, why) => println!(
            "    Made without wasm-opt, so the page is larger than it has to be: {}",
            why.unwrap_or_else(|| "wasm-opt is not installed".into())
        ),
    }
    println!("Built {}", dist.display());
    Ok(dist)
}

/// Flags with which panics name the files of other crates by crate and file: where this machine keeps them is nobody
/// else's business, makes the modules differ from machine to machine, and is two kilobytes in each.
fn without_places_of_this_machine() -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo"))).unwrap_or_default();
    let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
    let mut flags = env::var("RUSTFLAGS").unwrap_or_default();
    for registry in registries {
        let registry = registry.path().display().to_string();
        // A flag with a blank in it would be two.
        if !registry.contains(char::is_whitespace) {
            flags.push_str(&format!(" --remap-path-prefix={registry}/="));
        }
    }
    flags
}

/// `cargo xtask pages`: the files of `www/` that are made, by a program that may use the core.
pub(crate) fn pages() -> Result<()> {
    let mut cargo = command("cargo");
    cargo.args(["run", "--locked", "-p", "thunkscope-tests", "--bin", "pages", "--", "www"]);
    run(&mut cargo)
}

/// What the page may do, for hosts that send no header of their own: nothing but what stands beside it. Not in
/// `index.html` itself, because trunk adds an inline script while it serves.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      connect-src 'self'; img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'";

/// Writes the policy into the page, as its first tag after the encoding.
fn add_policy(index: &Path) -> Result<()> {
    let text = fs::read_to_string(index).map_err(while_doing(format!("reading {}", index.display())))?;
    let text = with_policy(&text).ok_or_else(|| Failure::new("index.html names no encoding"))?;
    fs::write(index, text).map_err(while_doing(format!("writing {}", index.display())))
}

fn with_policy(page: &str) -> Option<String> {
    const ENCODING: &str = "<meta charset=\"utf-8\">";
    let (before, after) = page.split_once(ENCODING)?;
    Some(format!(
        "{before}{ENCODING}<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">{after}"
    ))
}

/// Runs wasm-opt over every module. Trunk could do it, but would download the program where it is missing.
fn shrink(wasm_opt: &Path, dist: &Path) -> Result<()> {
    for module in files_with_extension(dist, "wasm")? {
        let smaller = module.with_extension("wasm.opt");
        let mut optimise = command(wasm_opt);
        // -Os: a few hundred bytes more than -Oz, and fewer once they are compressed. The third one moves constants
        // into addresses. It holds because nothing lies in the first KiB of memory but the last of the stack: no
        // address is computed from one below zero.
        optimise
            .args([
                "-Os",
                "--converge",
                "--low-memory-unused",
                "--strip-producers",
                "--strip-target-features",
            ])
            .args(WASM_FEATURES)
            .arg(&module)
            .arg("-o")
            .arg(&smaller);
        run(&mut optimise)?;
        fs::rename(&smaller, &module).map_err(while_doing(format!("replacing {}", module.display())))?;
    }
    Ok(())
}

fn trunk(toolchain: WasmToolchain, verb: &str) -> Command {
    let mut trunk = command("trunk");
    toolchain.apply(&mut trunk);
    // Offline: set-up has fetched everything, and a tool that is missing must be an error here, not a download.
    trunk.args([verb, "--offline", "--skip-version-check", "--locked"]);
    if env::var_os("NO_COLOR").is_some() {
        // Trunk insists on `true` or `false` in this variable, which others only have to be set.
        trunk.env_remove("NO_COLOR").args(["--color", "never"]);
    }
    trunk
}

fn files_with_extension(dir: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).map_err(while_doing(format!("reading {}", dir.display())))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_stands_before_everything_that_loads() {
        let page = with_policy("<head><meta charset=\"utf-8\"><script src=a.js></script></head>");
        let page = page.expect("the page names its encoding");
        assert!(page.find(POLICY) < page.find("<script"), "{page}");
        assert_eq!(with_policy("<head></head>"), None);
    }
}
