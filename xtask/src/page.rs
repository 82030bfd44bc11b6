//! Looking at the built page with a browser: pictures of every view, and how quick it is.

use std::path::PathBuf;

use crate::browser::Browser;
use crate::failure::{Failure, Result};
use crate::process::{command, run, step};
use crate::{browser, node, site};

/// `cargo xtask shots`: every view, both themes, three widths, into `tests/browser/out`.
pub(crate) fn shots(only: Option<String>) -> Result<()> {
    let (dist, chromium) = ready()?;
    step(
        "Screenshots",
        "Every view in both themes and at three widths, into tests/browser/out. Look at them.",
    );
    let mut node = command("node");
    node.current_dir(node::folder()).arg("shots.mjs").env("DIST", dist).env("CHROME", chromium);
    if let Some(only) = only {
        node.env("ONLY", only);
    }
    run(&mut node)
}

/// `cargo xtask bench-web`: how soon the page answers, how evenly it plays, what it keeps.
pub(crate) fn bench(seconds: Option<u32>) -> Result<()> {
    let (dist, chromium) = ready()?;
    step(
        "Benchmark of the page",
        "The release build, from a server on this machine. Figures go to docs/performance.md with the command.",
    );
    let mut node = command("node");
    node.current_dir(node::folder()).arg("bench.mjs").env("DIST", dist).env("CHROME", chromium);
    if let Some(seconds) = seconds {
        node.env("SECONDS", seconds.to_string());
    }
    run(&mut node)
}

/// The release build, and a browser for it.
fn ready() -> Result<(PathBuf, PathBuf)> {
    node::ensure()?.map_err(Failure::new)?;
    let Browser { chromium, .. } = browser::ensure()?.map_err(Failure::new)?;
    Ok((site::build()?, chromium))
}
