//! `thunkscope dump compare`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use thunkscope_core::diagnostic::{Diagnostic, shown};
use thunkscope_core::dump::compare::{Difference, FORMAT, files};
use thunkscope_core::dump::record::DumpFile;

use super::files::dumps;
use crate::Outcome;
use crate::input;
use crate::print::{out, out_json};

/// What `dump compare` is asked for.
#[derive(Args)]
pub(super) struct Arguments {
    /// A dump file, or a directory of them.
    a: PathBuf,
    /// The other one.
    b: PathBuf,
    /// Print everything as JSON (thunkscope.dump-compare/1).
    #[arg(long)]
    json: bool,
}

/// One pair of files.
struct Pair {
    name: String,
    differences: Vec<Difference>,
    /// Only one side has it.
    only: Option<&'static str>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let (a, b) = match (side(&arguments.a), side(&arguments.b)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(error), _) => return super::check::unreadable(&arguments.a, &error),
        (_, Err(error)) => return super::check::unreadable(&arguments.b, &error),
    };
    let single = !arguments.a.is_dir() && !arguments.b.is_dir();
    let mut pairs = Vec::new();
    let mut outcome = Outcome::Fine;
    let mut compare = |name: &str, left: &Path, right: &Path| {
        let read = |path: &Path| -> Result<(DumpFile, Vec<u8>), Outcome> {
            let result = input::read_file(path).and_then(|bytes| Ok((DumpFile::read(&bytes)?, bytes)));
            result.map_err(|error| super::check::unreadable(path, &error))
        };
        match (read(left), read(right)) {
            (Ok((a, a_bytes)), Ok((b, b_bytes))) => {
                let differences = files(&a, &a_bytes, &b, &b_bytes);
                if !differences.iter().all(Difference::is_equal) {
                    outcome = outcome.max(Outcome::Finding);
                }
                pairs.push(Pair { name: name.to_owned(), differences, only: None });
            }
            (Err(error), _) | (_, Err(error)) => outcome = outcome.max(error),
        }
    };
    if single {
        compare(&arguments.a.display().to_string(), &arguments.a, &arguments.b);
    } else {
        for (key, left) in &a {
            if let Some(right) = b.get(key) {
                compare(key, left, right);
            }
        }
        for (these, those, word) in [(&a, &b, "first"), (&b, &a, "second")] {
            for key in these.keys().filter(|key| !those.contains_key(*key)) {
                outcome = outcome.max(Outcome::Finding);
                pairs.push(Pair { name: key.clone(), differences: Vec::new(), only: Some(word) });
            }
        }
    }
    let printed = if arguments.json { out_json(&json(&pairs)) } else { out(&text(&pairs)) };
    printed.max(outcome)
}

/// Files by what they are of: two runs differ in time, and may differ in lanes.
fn side(path: &Path) -> Result<BTreeMap<String, PathBuf>, Diagnostic> {
    let mut named = BTreeMap::new();
    let mut manifests: BTreeMap<PathBuf, BTreeMap<String, String>> = BTreeMap::new();
    for file in dumps(path)?.into_iter().filter(|file| file.extension().is_none_or(|end| end != "csv")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let directory = file.parent().unwrap_or(Path::new("")).to_owned();
        let keys = manifests.entry(directory.clone()).or_insert_with(|| manifest(&directory));
        let key = keys.get(&name).cloned().unwrap_or(name);
        // Loop bodies give one key several times, in order.
        let mut unique = key.clone();
        let mut n = 1;
        while named.contains_key(&unique) {
            unique = format!("{key} #{n}");
            n += 1;
        }
        named.insert(unique, file);
    }
    Ok(named)
}

/// By file name: what the manifest of its directory says it is of.
fn manifest(directory: &Path) -> BTreeMap<String, String> {
    let Ok(text) = std::fs::read_to_string(directory.join("manifest.jsonl")) else { return BTreeMap::new() };
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        let name = value["file"].as_str()?.rsplit('/').next()?.to_owned();
        let text = |field: &str| value[field].as_str().unwrap_or("-").to_owned();
        let number = |field: &str| value[field].as_u64().map_or("-".to_owned(), |n| n.to_string());
        let key = format!(
            "{} {} {} {} iteration {} task {} {}",
            text("scenario"),
            text("model"),
            text("op"),
            text("op_type"),
            number("iteration"),
            number("task"),
            text("phase")
        );
        Some((
            name,
            if value["context"].is_null() { key } else { format!("{key} context {}", value["context"]) },
        ))
    };
    text.lines().filter_map(line).collect()
}

fn json(pairs: &[Pair]) -> Value {
    let pair = |pair: &Pair| json!({ "name": pair.name, "only_in": pair.only, "tensors": pair.differences });
    json!({ "format": FORMAT, "pairs": pairs.iter().map(pair).collect::<Vec<_>>() })
}

fn text(pairs: &[Pair]) -> String {
    let mut text = String::new();
    let mut equal = 0;
    for Pair { name, differences, only } in pairs {
        if let Some(only) = only {
            let _ = writeln!(text, "{}: only in the {only}", shown(name, 300));
            continue;
        }
        if differences.iter().all(Difference::is_equal) {
            equal += 1;
            continue;
        }
        let _ = writeln!(text, "{}", shown(name, 300));
        for one in differences.iter().filter(|one| !one.is_equal()) {
            let _ = write!(text, "  {} {}: ", one.part, one.index);
            let _ = match (&one.unlike, &one.first) {
                (Some(why), _) => writeln!(text, "{why}"),
                (None, Some((at, a, b))) => writeln!(
                    text,
                    "{} of {} differ, first at {at}: {a} and {b}; max abs {}, max rel {}, cosine {}",
                    one.mismatches, one.count, one.max_abs, one.max_rel, one.cosine
                ),
                (None, None) => writeln!(text, "equal"),
            };
        }
    }
    let _ = writeln!(text, "{equal} of {} pairs are equal", pairs.len());
    text
}
