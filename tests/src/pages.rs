//! What is in `www/` and is not written by hand: `cargo xtask pages` makes it.
//!
//! For each chapter its exhibit, which the page loads instead of making it, and its pictures, which
//! stand in the text for readers without JavaScript.

use std::path::{Path, PathBuf};
use std::{fs, io};

use thunkscope_core::exhibit::scene::Look;
use thunkscope_core::exhibit::{Chapter, Exhibit, svg};
use thunkscope_core::program::json;
use thunkscope_core::trace::{EventKind, Replay, Together};

/// A file that is made: its path below `www/`, and what is in it.
pub type File = (PathBuf, Vec<u8>);

/// Makes all files from what is in `www`.
///
/// # Errors
/// For a program or style sheet that is missing or wrong.
pub fn make(www: &Path) -> io::Result<Vec<File>> {
    let style = style(&fs::read_to_string(www.join("styles.css"))?)?;
    let mut files = Vec::new();
    for chapter in &Chapter::ALL {
        let program = fs::read(www.join("programs").join(chapter.id).with_extension("json"))?;
        let program = json::read(&program).map_err(io::Error::other)?.program;
        let exhibit = chapter.exhibit(&program).map_err(io::Error::other)?;
        files.push((Path::new("exhibits").join(chapter.id).with_extension("bin"), exhibit.to_bytes()));
        files.extend(pictures(chapter.id, &exhibit, &style));
    }
    Ok(files)
}

/// Each run where the chapter opens, with the thunk that is asked about.
fn pictures(id: &str, exhibit: &Exhibit, style: &str) -> Vec<File> {
    let replays = exhibit.runs.iter().map(|run| Replay::new(run.log.clone())).collect();
    let together = Together::new(replays);
    let now = together.indices_at(exhibit.opening as usize);
    let runs = exhibit.runs.iter().zip(together.replays()).zip(now);
    runs.map(|((run, replay), index)| {
        let first = run
            .log
            .events
            .iter()
            .find(|event| matches!(event.kind, EventKind::RunStart { parent: None, .. }));
        let look =
            Look { run: first.map_or(0, |event| event.run), selected: Some(exhibit.asked), window: None };
        let title = format!("Execution graph of {id} under the {} queue, after its first choice", run.queue);
        let text = svg(exhibit, &replay.state_at(index), &look, &title, style);
        (Path::new("pictures").join(format!("{id}-{}.svg", run.queue)), text.into_bytes())
    })
    .collect()
}

/// How the shapes look; the colours are those of the page, by day and by night.
const SHAPES: &str = r#"
text { text-anchor: middle; fill: var(--soft); font-family: system-ui, sans-serif; }
.name { font-size: 11.5px; font-weight: 500; }
.note { font-size: 9.8px; }
.edge { fill: none; stroke: var(--line); stroke-width: 1.3; }
.edge.scheduling { stroke-dasharray: 4 3; }
.edge.released { stroke: var(--edge); stroke-width: 1; stroke-dasharray: 1 3; stroke-linecap: round; }
.edge.asked { stroke: var(--ink); }
.box { fill: var(--panel); stroke: var(--line); stroke-width: 1.2; }
.ring { fill: none; stroke: var(--ink); stroke-width: 1.4; }
.box.ready { fill: var(--ready-ground); stroke: var(--ready); }
text.ready { fill: var(--ready-ink); }
.box.running { fill: url(#stripe); stroke: var(--running); stroke-width: 1.8; }
text.running { fill: var(--running-ink); }
.box.pending { fill: url(#hatch); stroke: var(--pending); stroke-width: 1.5; }
text.pending { fill: var(--pending-ink); }
.box.done { fill: var(--done-ground); stroke: var(--done); stroke-width: .8; }
text.done { fill: var(--done-ink); }
.box.failed { fill: var(--failed-ground); stroke: var(--failed); }
text.failed { fill: var(--failed-ink); }
.cross { stroke: var(--failed); opacity: .6; }
.box.skipped { stroke-dasharray: 3 3; }
.stripe-ground { fill: var(--running-ground); }
.stripe-line { fill: var(--running-line); }
.hatch-ground { fill: var(--pending-ground); }
.hatch-line { fill: none; stroke: var(--pending-line); stroke-width: 1.6; }
"#;

/// The style of a picture: the page's colours, then [`SHAPES`].
fn style(sheet: &str) -> io::Result<String> {
    let after = |text: &str, mark: &str| text.split_once(mark).map(|(_, rest)| rest.to_owned());
    let block = |text: Option<String>| {
        let text =
            text.ok_or_else(|| io::Error::other("styles.css has no colours where they are looked for"))?;
        let used = |line: &&str| {
            line.split_once(':').is_some_and(|(name, _)| SHAPES.contains(&format!("var({name})")))
        };
        let lines = text.split('}').next().unwrap_or_default().lines().map(str::trim);
        Ok::<_, io::Error>(lines.filter(used).collect::<Vec<_>>().join(" "))
    };
    let day = block(after(sheet, ":root {"))?;
    let night = block(after(sheet, "prefers-color-scheme: dark) {").and_then(|rest| after(&rest, "{")))?;
    Ok(format!(
        "svg {{ {day} }}\n@media (prefers-color-scheme: dark) {{ svg {{ {night} }} }}\n{}",
        SHAPES.trim()
    ))
}
