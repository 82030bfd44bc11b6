//! The wasm32 standard library: three ways to have it, and the toolchain that results.
//!
//! `present` → `rustup` → `debian`, the first that works. `THUNKSCOPE_WASM_STD` picks one.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debian;
use crate::failure::{Failure, Result, while_doing};
use crate::process::{ask, command, find, root, run, search_path, step, work_dir};

const TARGET: &str = "wasm32-unknown-unknown";
/// The name under which Debian's compiler is known to rustup.
const LINKED: &str = "web";
/// Debian's compiler, cargo, the source of the standard library, lints and formatter for the same version.
const DEBIAN_PACKAGES: [&str; 6] =
    ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm", "rust-web-clippy", "rustfmt-web"];
/// The linker for WebAssembly: a link to the one of some LLVM version.
const LINKER: &str = "/usr/bin/rust-lld";
/// Where Debian's compiler looks for libraries.
const RUSTLIB: &str = "/usr/lib/rustlib";
const BUILD_STD: [&str; 4] = [
    "-Zbuild-std=core,alloc,std,panic_abort,proc_macro,test",
    // A fifth of each module of the page is this library. Made for size, with smaller algorithms for sorting, searching
    // and printing numbers where there is a choice, it makes the engine's module 87 KB smaller.
    "-Zbuild-std-features=optimize_for_size",
    "--config",
    "profile.release.opt-level=\"s\"",
];

/// Uses the allocator, so that the whole library has to be there.
const PROBE: &str = "pub fn probe(n: usize) -> Vec<u8> { vec![1; n] }\n";

/// A toolchain that compiles for the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WasmToolchain {
    /// The one that this program itself was built with.
    Active,
    /// Debian's, linked into rustup.
    Linked,
    /// Debian's, without rustup.
    System,
}

impl WasmToolchain {
    /// Makes a command, and whatever it starts, use this toolchain.
    pub(crate) fn apply(self, command: &mut Command) {
        match self {
            Self::Active => {}
            Self::Linked => {
                command.env("RUSTUP_TOOLCHAIN", LINKED);
            }
            Self::System => {
                command.env("PATH", search_path(&[PathBuf::from("/usr/bin")])).env("RUSTC", "/usr/bin/rustc");
            }
        }
    }

    /// `cargo` of this toolchain.
    pub(crate) fn cargo(self) -> Command {
        self.program("cargo")
    }

    fn program(self, name: &str) -> Command {
        let mut command = match self {
            Self::System => command(Path::new("/usr/bin").join(name)),
            _ => command(name),
        };
        self.apply(&mut command);
        command
    }

    fn name(self) -> &'static str {
        match self {
            Self::Active => "the active toolchain",
            Self::Linked => "Debian's toolchain, linked as `web`",
            Self::System => "Debian's toolchain in /usr/bin",
        }
    }

    /// Compiles and links an empty library: the only proof that compiler, library and linker fit together.
    fn works(self) -> Result<bool> {
        let dir = work_dir()?;
        let source = dir.join("probe.rs");
        fs::write(&source, PROBE).map_err(while_doing(format!("writing {}", source.display())))?;
        let mut rustc = self.program("rustc");
        rustc.args(["--edition=2024", "--crate-type=cdylib", "--target", TARGET, "-Cpanic=abort"]);
        rustc.arg("-o").arg(dir.join("probe.wasm")).arg(&source);
        Ok(ask(&mut rustc).is_some())
    }
}

/// Finds a toolchain that compiles for the browser, or makes one.
pub(crate) fn ensure() -> Result<WasmToolchain> {
    let choice = env::var("THUNKSCOPE_WASM_STD").unwrap_or_default();
    match choice.as_str() {
        "" => automatic(),
        "present" if WasmToolchain::Active.works()? => Ok(WasmToolchain::Active),
        "present" => Err(Failure::new(format!("the active toolchain cannot compile for {TARGET}"))
            .by_hand(format!("rustup target add {TARGET}"))
            .by_hand("or unset THUNKSCOPE_WASM_STD to let this command look for another way")),
        "rustup" if WasmToolchain::Active.works()? => Ok(WasmToolchain::Active),
        "rustup" => with_rustup(),
        "debian" => with_debian(),
        other => {
            Err(Failure::new(format!("THUNKSCOPE_WASM_STD={other} is not one of present, rustup, debian")))
        }
    }
}

fn automatic() -> Result<WasmToolchain> {
    if WasmToolchain::Active.works()? {
        return Ok(WasmToolchain::Active);
    }
    // Debian's way, when it has been prepared: a look costs nothing, rustup's server may be out of reach.
    if let Some(toolchain) = prepared_debian()? {
        return Ok(toolchain);
    }
    let rustup = match with_rustup() {
        Ok(toolchain) => return Ok(toolchain),
        Err(failure) => failure,
    };
    match debian::can_install() {
        Ok(()) => {
            println!("    That did not work: {rustup}");
            with_debian()
        }
        Err(_) if debian::is_debian() => {
            let rustup = rustup.by_hand("or, where rustup's server cannot be reached, on Debian 12:");
            Err(as_root().into_iter().fold(rustup, Failure::by_hand))
        }
        Err(_) => Err(rustup),
    }
}

fn with_rustup() -> Result<WasmToolchain> {
    let by_hand = format!("rustup target add {TARGET}");
    step(
        &by_hand,
        "The page is WebAssembly; its standard library is a part of the toolchain that can be added.",
    );
    if find("rustup").is_none() {
        return Err(Failure::new("rustup is not installed")
            .by_hand(format!("add the target {TARGET} the way your Rust was installed")));
    }
    run(command("rustup").args(["target", "add", TARGET])).map_err(|failure| failure.by_hand(&by_hand))?;
    if WasmToolchain::Active.works()? {
        Ok(WasmToolchain::Active)
    } else {
        Err(Failure::new(format!("the target {TARGET} is installed and still does not compile"))
            .by_hand(format!("rustup target remove {TARGET} && {by_hand}")))
    }
}

fn debian_toolchain() -> WasmToolchain {
    if find("rustup").is_some() { WasmToolchain::Linked } else { WasmToolchain::System }
}

/// Debian's toolchain, when root has prepared it, perhaps for somebody else. Making it known to this user's rustup
/// needs no root.
fn prepared_debian() -> Result<Option<WasmToolchain>> {
    let toolchain = debian_toolchain();
    if toolchain.works()? {
        return Ok(Some(toolchain));
    }
    if toolchain == WasmToolchain::Linked && !is_linked() && WasmToolchain::System.works()? {
        link()?;
        return Ok(toolchain.works()?.then_some(toolchain));
    }
    Ok(None)
}

/// What root has to type so that Debian's compiler compiles for the browser, whoever uses it afterwards. Needs neither
/// this program nor rustup, and writes nothing into the project.
fn as_root() -> Vec<String> {
    let mut lines = vec!["as root, all of it:".to_owned()];
    if !debian::are_installed(&DEBIAN_PACKAGES) {
        lines.push(format!(
            "apt-get update && apt-get install -y --no-install-recommends {}",
            DEBIAN_PACKAGES.join(" ")
        ));
    }
    if !Path::new(LINKER).exists() {
        lines.push(format!(
            "apt-get install -y --no-install-recommends $(basename $(readlink {LINKER}))   # the linker"
        ));
    }
    lines.extend([
        "(cd $(mktemp -d) && export PATH=/usr/bin:/bin RUSTC=/usr/bin/rustc && unset CARGO_TARGET_DIR &&"
            .to_owned(),
        "cargo init --quiet --lib --vcs none --name wasm_std_stub . &&".to_owned(),
        format!(
            "RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes cargo build --release --target {TARGET} {} &&",
            BUILD_STD.map(|option| format!("'{option}'")).join(" ")
        ),
        format!("rm -rf {RUSTLIB}/{TARGET}/lib target/{TARGET}/release/deps/libwasm_std_stub* &&"),
        format!("install -D -m 644 -t {RUSTLIB}/{TARGET}/lib target/{TARGET}/release/deps/lib*.rlib)"),
        "and then, as yourself, this command again".to_owned(),
    ]);
    lines
}

fn with_debian() -> Result<WasmToolchain> {
    if let Some(toolchain) = prepared_debian()? {
        return Ok(toolchain);
    }
    let toolchain = debian_toolchain();
    if let Err(why) = debian::can_install() {
        let why = if debian::are_installed(&DEBIAN_PACKAGES) {
            format!("only root can write to {RUSTLIB}, and this command never uses sudo")
        } else {
            why.to_owned()
        };
        let failure = Failure::new(format!("Debian's compiler cannot compile for {TARGET} yet: {why}"));
        let lines = if debian::is_debian() { as_root() } else { Vec::new() };
        return Err(lines.into_iter().fold(failure, Failure::by_hand));
    }
    let by_hand = debian::install_command(&DEBIAN_PACKAGES);
    let linker_gone = || !Path::new(LINKER).exists();
    if !debian::are_installed(&DEBIAN_PACKAGES) {
        step(
            "Debian packages: Rust with the source of its standard library",
            "A second way to compile for the browser, without rustup's server.",
        );
    }
    debian::install(&DEBIAN_PACKAGES)?;
    if linker_gone() {
        // `rust-lld` is a link to the linker of one LLVM version, which the packages do not pull in.
        let linker = fs::read_link(LINKER).map_err(|error| {
            Failure::new(format!("{LINKER}: {error}; the packages should have made it")).by_hand(&by_hand)
        })?;
        let package = linker.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        step(
            &format!("Debian package {package}"),
            &format!("{LINKER} points to it: the linker for WebAssembly."),
        );
        debian::install(&[&package])?;
    }
    if toolchain == WasmToolchain::Linked && !is_linked() {
        link()?;
    }
    if !toolchain.works()? {
        build_library()?;
    }
    if toolchain.works()? {
        Ok(toolchain)
    } else {
        Err(Failure::new("Debian's compiler is installed and still does not compile for the browser")
            .by_hand(format!(
                "rustc +{LINKED} --target {TARGET} --crate-type cdylib {}",
                work_dir()?.join("probe.rs").display()
            ))
            .by_hand("shows the compiler's own message"))
    }
}

fn link() -> Result<()> {
    step(
        "rustup toolchain link web /usr",
        "Makes Debian's compiler known to rustup under the name `web`. No network.",
    );
    run(command("rustup").args(["toolchain", "link", LINKED, "/usr"]))
        .map_err(|failure| failure.by_hand("rustup toolchain link web /usr"))
}

fn is_linked() -> bool {
    let list = ask(command("rustup").args(["toolchain", "list"])).unwrap_or_default();
    list.lines().any(|line| line.split_whitespace().next() == Some(LINKED))
}

/// Builds the standard library from Debian's source and puts it where Debian's compiler looks for it.
fn build_library() -> Result<()> {
    step(
        "Building the wasm32 standard library from Debian's source",
        "Debian ships the source but not the library for this target. Once, about a minute and a half.",
    );
    let destination = Path::new(RUSTLIB).join(TARGET).join("lib");
    let copying = || while_doing(format!("copying the library to {}", destination.display()));
    // Before the build, which takes longer to fail.
    fs::create_dir_all(&destination).map_err(copying())?;
    let stub = work_dir()?.join("wasm-std");
    let doing = || while_doing(format!("preparing {}", stub.display()));
    // Left-overs of another compiler version would be copied along.
    let _ = fs::remove_dir_all(&stub);
    fs::create_dir_all(stub.join("src")).map_err(doing())?;
    fs::write(
        stub.join("Cargo.toml"),
        "[package]\nname = \"wasm_std_stub\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n",
    )
    .map_err(doing())?;
    fs::write(stub.join("src/lib.rs"), "#![no_std]\n").map_err(doing())?;

    let mut cargo = WasmToolchain::System.cargo();
    cargo.current_dir(&stub).args(["build", "--release", "--target", TARGET]);
    cargo.args(BUILD_STD);
    // The option is unstable in name only here: the source is the compiler's own.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Cembed-bitcode=yes");
    cargo.env("CARGO_TARGET_DIR", stub.join("target")).env_remove("RUSTUP_TOOLCHAIN");
    run(&mut cargo)?;

    let built = stub.join("target").join(TARGET).join("release/deps");
    let _ = fs::remove_dir_all(&destination);
    fs::create_dir_all(&destination).map_err(copying())?;
    for entry in fs::read_dir(&built).map_err(copying())? {
        let path = entry.map_err(copying())?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("lib") && name.ends_with(".rlib") && !name.starts_with("libwasm_std_stub") {
            fs::copy(&path, destination.join(&name)).map_err(copying())?;
        }
    }
    Ok(())
}

/// Lets plain `trunk serve` and `cargo` in this folder find the toolchain that was chosen.
///
/// Only for people: a run under `CI` passes the toolchain to each command and leaves rustup's settings alone.
pub(crate) fn make_default_here(toolchain: WasmToolchain) -> Result<()> {
    if toolchain != WasmToolchain::Linked || env::var_os("CI").is_some_and(|value| !value.is_empty()) {
        return Ok(());
    }
    // rustup tells its children which toolchain it chose; without that we learn what a new shell would get.
    let mut active = command("rustup");
    active.args(["show", "active-toolchain"]).env_remove("RUSTUP_TOOLCHAIN");
    if ask(&mut active).is_some_and(|text| text.split_whitespace().next() == Some(LINKED)) {
        return Ok(());
    }
    let path = root();
    step(
        "rustup override set web",
        &format!(
            "So that plain `trunk serve` in this folder also compiles with it.\n    To undo: rustup override unset --path {}",
            path.display()
        ),
    );
    run(command("rustup").args(["override", "set", LINKED, "--path"]).arg(&path))
        .map_err(|failure| failure.by_hand("RUSTUP_TOOLCHAIN=web trunk serve"))
}

/// One line for the end of the set-up.
pub(crate) fn describe(toolchain: WasmToolchain) -> String {
    format!("WebAssembly compiles with {}", toolchain.name())
}
