//! Conformance with real XLA: reads folders laid out like `tests/oracle` and compares.
//!
//! | what | compared with |
//! | --- | --- |
//! | each line of `graphs/*.jsonl[.gz]`: the graph of its thunks | what XLA printed, in the line |
//! | `programs/NAME/exec.bin`: thunks and uses | the lines of that program |
//! | the same: the graph of each sequence | XLA's log beside it, `vlog.txt` |
//! | `cache/NAME-cache`: thunks and uses | the lines of that program |

pub mod decoded;
pub mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use thunkscope_core::graph::{Graph, Reduction};
use thunkscope_core::import::verify::{Verdict, difference, verify};
use thunkscope_core::import::xla_log::XlaLog;
use thunkscope_core::import::{Imported, ReadOptions, read};
use thunkscope_core::program::Program;

use line::Line;

/// What was compared, and with what result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Comparisons that came out equal.
    pub passed: u32,
    /// Each comparison that did not: where, and the first difference.
    pub differences: Vec<String>,
    /// What was looked at, for people.
    pub notes: Vec<String>,
}

impl Report {
    fn compare(&mut self, place: impl FnOnce() -> String, difference: Option<String>) {
        match difference {
            None => self.passed += 1,
            Some(words) => self.differences.push(format!("{}: {words}", place())),
        }
    }

    /// Runs one part and notes what it compared.
    fn part(&mut self, title: String, part: impl FnOnce(&mut Self)) {
        let before = (self.passed, self.differences.len());
        part(self);
        let equal = self.passed - before.0;
        let all = equal as usize + self.differences.len() - before.1;
        self.notes.push(format!("{title}: {all} compared, {equal} equal"));
    }

    /// The whole report; the last line counts.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in &self.notes {
            let _ = writeln!(out, "{line}");
        }
        for line in &self.differences {
            let _ = writeln!(out, "DIFFERENT {line}");
        }
        let _ = writeln!(out, "{} passed, {} failed", self.passed, self.differences.len());
        out
    }
}

const PARTS: [&str; 3] = ["graphs", "programs", "cache"];

/// Compares everything in a folder; if it is not laid out like `tests/oracle` itself, in each
/// folder inside it that is. Nothing to compare counts as a difference.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn run(dir: &Path) -> io::Result<Report> {
    let mut report = Report::default();
    let laid_out = |dir: &Path| PARTS.iter().any(|part| dir.join(part).is_dir());
    let dirs = if laid_out(dir) {
        vec![dir.to_owned()]
    } else {
        entries(dir)?.into_iter().filter(|inner| laid_out(inner)).collect()
    };
    for dir in &dirs {
        folder(dir, &mut report)?;
    }
    if report.passed == 0 && report.differences.is_empty() {
        report.differences.push(format!("{}: nothing to compare", dir.display()));
    }
    Ok(report)
}

fn folder(dir: &Path, report: &mut Report) -> io::Result<()> {
    let mut lines: Vec<Line> = Vec::new();
    for file in entries(&dir.join("graphs"))? {
        let Some(text) = jsonl(&file)? else { continue };
        report.part(file.display().to_string(), |report| {
            for (number, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
                match Line::parse(text) {
                    Ok(line) => {
                        report.compare(|| line.title(), graph_difference(&line));
                        lines.push(line);
                    }
                    Err(error) => {
                        report.compare(|| format!("{} line {}", file.display(), number + 1), Some(error))
                    }
                }
            }
        });
    }
    let mut captured: BTreeMap<&str, Releases<'_>> = BTreeMap::new();
    for line in &lines {
        captured.entry(&line.p).or_default().entry(&line.jaxlib).or_default().push(line);
    }
    for program in entries(&dir.join("programs"))? {
        let name = file_name(&program);
        let Some(bytes) = maybe(&program.join("exec.bin"))? else { continue };
        let log = maybe(&program.join("vlog.txt"))?;
        report.part(program.display().to_string(), |report| {
            let Some(imported) = import(&bytes, &name, report) else { return };
            decode(&imported.program, captured.get(&*name), report);
            if let Some(log) = log {
                logged(&imported.program, &XlaLog::parse(&log), report);
            }
        });
    }
    for entry in entries(&dir.join("cache"))? {
        let name = file_name(&entry);
        // Beside each entry newer JAX keeps the time of its last use.
        if name.ends_with("-atime") || entry.is_dir() {
            continue;
        }
        let bytes = fs::read(&entry)?;
        report.part(entry.display().to_string(), |report| {
            let program = name.strip_suffix("-cache").unwrap_or(&name);
            if let Some(imported) = import(&bytes, program, report) {
                decode(&imported.program, captured.get(program), report);
            }
        });
    }
    Ok(())
}

/// The lines of one program, by release.
type Releases<'a> = BTreeMap<&'a str, Vec<&'a Line>>;

fn graph_difference(line: &Line) -> Option<String> {
    let (sequence, resources) = match line.sequence() {
        Ok(parts) => parts,
        Err(error) => return Some(error),
    };
    let graph = match Graph::build(&sequence, &resources, Reduction::Upstream) {
        Ok(graph) => graph,
        Err(error) => return Some(error.to_string()),
    };
    difference(&sequence, &resources, &graph, &line.logged()).or_else(|| line.wrong_dependency(&graph))
}

fn import(bytes: &[u8], name: &str, report: &mut Report) -> Option<Imported> {
    match read(bytes, name, &ReadOptions::default()) {
        Ok(imported) => {
            report.passed += 1;
            for warning in &imported.warnings {
                report.notes.push(format!("{name}: {warning}"));
            }
            Some(imported)
        }
        Err(error) => {
            report.compare(|| name.to_owned(), Some(error.to_string()));
            None
        }
    }
}

/// Compares with the lines of the program, if there are any. No file says which release wrote it:
/// the release that fits best counts.
fn decode(program: &Program, releases: Option<&Releases<'_>>, report: &mut Report) {
    let Some(releases) = releases else {
        report.notes.push(format!("{}: no captured lines", program.name));
        return;
    };
    let best =
        releases.values().map(|lines| differences(program, lines)).min_by_key(|(_, found)| found.len());
    if let Some((equal, differences)) = best {
        report.passed += equal;
        report.differences.extend(differences);
    }
}

fn differences(program: &Program, lines: &[&Line]) -> (u32, Vec<String>) {
    let mut out = Report::default();
    for line in lines {
        out.compare(|| format!("decoded {}", line.title()), decoded::difference(program, line));
    }
    let captured: BTreeSet<&str> = lines.iter().map(|line| line.path.as_str()).collect();
    for (path, _) in program.sequences() {
        let path = path.to_string();
        if !captured.contains(path.as_str()) {
            out.differences.push(format!("decoded {} {path}: no such sequence was captured", program.name));
        }
    }
    (out.passed, out.differences)
}

fn logged(program: &Program, log: &XlaLog, report: &mut Report) {
    let sequences = program.sequences();
    let mut graphs = Vec::with_capacity(sequences.len());
    for (path, sequence) in &sequences {
        match Graph::build(sequence, &program.resources, Reduction::Upstream) {
            Ok(graph) => graphs.push(graph),
            Err(error) => {
                report.compare(|| format!("{} {path}", program.name), Some(error.to_string()));
                return;
            }
        }
    }
    for checked in verify(program, &graphs.iter().collect::<Vec<_>>(), log) {
        let place = || format!("{} {} against its log", program.name, checked.path);
        report.compare(
            place,
            match checked.verdict {
                Verdict::Equal { .. } => None,
                Verdict::Different(words) => Some(words),
                Verdict::NotInLog => Some("the log has no such executor".to_owned()),
            },
        );
    }
}

/// The entries of a folder in the order of their names; none if there is no such folder.
fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let list = match fs::read_dir(dir) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = list.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn maybe(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text of a `.jsonl` or `.jsonl.gz` file; `None` for any other.
fn jsonl(path: &Path) -> io::Result<Option<String>> {
    let name = file_name(path);
    if name.ends_with(".jsonl") {
        fs::read_to_string(path).map(Some)
    } else if name.ends_with(".jsonl.gz") {
        let mut text = String::new();
        GzDecoder::new(fs::File::open(path)?).read_to_string(&mut text)?;
        Ok(Some(text))
    } else {
        Ok(None)
    }
}
