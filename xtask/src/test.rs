//! `cargo xtask test`: every test there is, and one summary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::Browser;
use crate::failure::{Failure, Result};
use crate::process::{command, root, step, tee};
use crate::summary::{Counts, Summary};
use crate::wasm_std::WasmToolchain;
use crate::{browser, node, site, tools, wasm_std};

/// The crates with tests that run in a browser.
const WASM_CRATES: [&str; 4] = ["thunkscope-core", "thunkscope-web", "thunkscope-engine", "thunkscope-api"];

/// Which suites to run; none chosen means all.
#[derive(Debug, Default)]
pub(crate) struct Suites {
    pub(crate) host: bool,
    pub(crate) wasm: bool,
    pub(crate) browser: bool,
}

/// Runs the chosen suites, prints the summary, and returns how many tests failed.
pub(crate) fn test(chosen: &Suites) -> Result<u64> {
    let all = !(chosen.host || chosen.wasm || chosen.browser);
    let mut summary = Summary::default();
    if all || chosen.host {
        suite(&mut summary, "host", host);
        suite(&mut summary, "conformance", || conformance(&["tests/oracle".into()]));
    }
    if all || chosen.wasm {
        suite(&mut summary, "wasm", wasm);
    }
    if all || chosen.browser {
        suite(&mut summary, "browser", end_to_end);
    }
    println!("\n{}", summary.text());
    Ok(summary.total().failed)
}

/// What became of a suite.
enum Outcome {
    Ran(Counts),
    /// Ran, and there is something to tell of it.
    Unsteady {
        counts: Counts,
        note: String,
    },
    Skipped {
        tests: u64,
        why: String,
    },
}

/// Runs one suite. One that cannot run at all counts as a failure, and the others still run.
fn suite(summary: &mut Summary, name: &'static str, run: impl FnOnce() -> Result<Outcome>) {
    println!("\n==> Tests: {name}");
    match run() {
        Ok(Outcome::Ran(counts)) => summary.push(name, counts),
        Ok(Outcome::Unsteady { counts, note }) => summary.push_with_note(name, counts, note),
        Ok(Outcome::Skipped { tests, why }) => {
            println!("    Skipped: {why}");
            let counts = Counts { skipped: tests, ..Counts::default() };
            summary.push_with_note(name, counts, format!("skipped: {why}"));
        }
        Err(failure) => {
            eprintln!("{failure}");
            summary.push_with_note(
                name,
                Counts { failed: 1, ..Counts::default() },
                "could not run, see above",
            );
        }
    }
}

/// Tests in a browser. What fails is run once more: a browser on a busy machine can miss a deadline, or
/// not start at all. What passed at the second try only is told in the summary.
#[derive(Default)]
struct InBrowser {
    counts: Counts,
    unsteady: Vec<String>,
}

impl InBrowser {
    fn run(&mut self, part: &str, once: impl Fn() -> Result<Counts>) -> Result<()> {
        let mut counts = once()?;
        if counts.failed > 0 {
            println!("    {part} failed: once more.");
            counts = once()?;
            if counts.failed == 0 {
                self.unsteady.push(part.to_owned());
            }
        }
        self.counts.add(counts);
        Ok(())
    }

    fn outcome(self) -> Outcome {
        match self.unsteady.is_empty() {
            true => Outcome::Ran(self.counts),
            false => {
                let note = format!("passed at the second try only: {}", self.unsteady.join(", "));
                Outcome::Unsteady { counts: self.counts, note }
            }
        }
    }
}

fn harness(cargo: &mut Command) -> Result<Outcome> {
    let (status, output) = tee(cargo)?;
    Ok(Outcome::Ran(Counts::from_harness(&output).or_failed_as_a_whole(status.success())))
}

/// Unit, cross-crate and documentation tests of the default members. Those that need NumPy are ignored,
/// and so counted as skipped, unless Python has it.
fn host() -> Result<Outcome> {
    let mut cargo = command("cargo");
    cargo.args(["test", "--locked", "--no-fail-fast"]);
    let probe = Command::new("python3").args(["-c", "import numpy"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return harness(&mut cargo);
    }
    let Outcome::Ran(mut counts) = harness(cargo.args(["--", "--skip", NUMPY_TESTS]))? else {
        return Err(Failure::new("the tests did not run"));
    };
    let mut numpy = command("cargo");
    numpy.args([
        "test",
        "--locked",
        "--no-fail-fast",
        "-p",
        "thunkscope",
        "-p",
        "thunkscope-tests",
        "--tests",
    ]);
    if let Outcome::Ran(more) = harness(numpy.args(["--", "--ignored", NUMPY_TESTS]))? {
        counts.add(more);
    }
    Ok(Outcome::Ran(counts))
}

/// How the names of tests that need NumPy begin.
const NUMPY_TESTS: &str = "numpy_opens_";

/// `cargo xtask conformance DIR…`: our graphs against the ones that real XLA printed.
pub(crate) fn conformance_command(dirs: &[PathBuf]) -> Command {
    let mut cargo = command("cargo");
    cargo.args(["run", "--locked", "-p", "thunkscope-tests", "--bin", "conformance", "--"]).args(dirs);
    cargo
}

fn conformance(dirs: &[PathBuf]) -> Result<Outcome> {
    let (status, output) = tee(&mut conformance_command(dirs))?;
    let counts = Counts::from_conformance(&output).or_failed_as_a_whole(status.success());
    if counts == Counts::default() {
        return Err(Failure::new("the conformance command compared nothing"));
    }
    Ok(Outcome::Ran(counts))
}

/// Tests marked `#[wasm_bindgen_test]`, in a headless browser.
fn wasm() -> Result<Outcome> {
    let browser = match browser::ensure()? {
        Ok(browser) => browser,
        Err(why) => {
            let dirs = [root().join("core"), root().join("web")];
            let tests =
                dirs.iter().flat_map(|dir| files_below(dir, "rs")).map(|file| wasm_tests(&file)).sum();
            return Ok(Outcome::Skipped { tests, why });
        }
    };
    let toolchain = wasm_std::ensure()?;
    tools::ensure_wasm_bindgen()?;
    let mut tests = InBrowser::default();
    tests.run("a crate", || {
        let (status, output) = tee(&mut wasm_command(toolchain, &browser))?;
        Ok(Counts::from_harness(&output).or_failed_as_a_whole(status.success()))
    })?;
    Ok(tests.outcome())
}

fn wasm_command(toolchain: WasmToolchain, browser: &Browser) -> Command {
    let mut cargo = toolchain.cargo();
    cargo.args(["test", "--locked", "--no-fail-fast", "--target", "wasm32-unknown-unknown"]);
    // Documentation tests run on the host already, and most of them could not be told from here.
    cargo.args(["--lib", "--bins", "--tests"]);
    WASM_CRATES.iter().for_each(|name| {
        cargo.args(["-p", name]);
    });
    // Beside what these crates ask for themselves: the device's logs have committed digests too.
    cargo.args(["--features", "thunkscope-core/dfx"]);
    cargo.env("CHROMEDRIVER", &browser.driver).env("WASM_BINDGEN_USE_BROWSER", "1");
    // Seconds. Its own limit of 20 is for one test, and is no measure of anything on a busy machine.
    cargo.env("WASM_BINDGEN_TEST_TIMEOUT", "300");
    cargo
}

/// The built page, served the way a plain static host would, driven by a script.
fn end_to_end() -> Result<Outcome> {
    // Scripts that declare tests in a loop declare more than can be told without running them.
    let skipped = |why| Outcome::Skipped { tests: page_tests(), why: format!("at least this many; {why}") };
    if let Err(why) = node::ensure()? {
        return Ok(skipped(why));
    }
    let Browser { chromium, .. } = match browser::ensure()? {
        Ok(browser) => browser,
        Err(why) => return Ok(skipped(why)),
    };
    let dist = site::build()?;
    step("Browser tests", "The release build, served from the path /a/b/ without special headers.");
    let mut tests = InBrowser::default();
    for file in test_files(&node::folder()) {
        tests.run(&file.file_name().unwrap_or_default().to_string_lossy(), || {
            let mut node = command("node");
            node.current_dir(node::folder()).args(["--test", "--test-reporter=tap"]).arg(&file);
            node.env("DIST", &dist).env("CHROME", &chromium);
            let (status, output) = tee(&mut node)?;
            Ok(Counts::from_tap(&output).or_failed_as_a_whole(status.success()))
        })?;
    }
    Ok(tests.outcome())
}

fn test_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = files_below(dir, "mjs");
    files.retain(|path| path.to_string_lossy().ends_with(".test.mjs"));
    files
}

/// How many browser tests a file declares: what is skipped when they cannot run.
fn wasm_tests(file: &Path) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let renamed = text.contains("use wasm_bindgen_test::wasm_bindgen_test as test;");
    let mark = if renamed { "#[test]" } else { "#[wasm_bindgen_test]" };
    text.matches(mark).count() as u64
}

/// How many tests of the page the scripts declare.
fn page_tests() -> u64 {
    let texts = test_files(&node::folder()).into_iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.map(|text| text.lines().filter(|line| line.trim_start().starts_with("test(")).count() as u64).sum()
}

/// Files with an extension, in order of their names, leaving out what other tools put there.
pub(crate) fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "node_modules" && name != "target" {
                    dirs.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
