//! `thunkscope dump show`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use thunkscope_core::diagnostic::{Diagnostic, shown};
use thunkscope_core::dump::elements::{self, Number};
use thunkscope_core::dump::npy::npy;
use thunkscope_core::dump::overflow::{OP_TYPE, OverflowRecord, RECORD_SIZE};
use thunkscope_core::dump::record::{DumpFile, Part, TensorEntry};
use thunkscope_core::dump::stats::{NanRule, Stats, short};
use thunkscope_core::dump::types::{DataType, Format};

use super::files::dumps;
use crate::Outcome;
use crate::input;
use crate::print::{err, name, out, out_json};

/// What `dump show` is asked for.
#[derive(Args)]
pub(super) struct Arguments {
    /// A dump file, or a directory of them.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Also the statistics of each tensor.
    #[arg(long)]
    stats: bool,
    /// Write each tensor as a file of its own, beside the dump: NAME.input.0.npy.
    #[arg(long, value_name = "FORMAT")]
    export: Option<Export>,
    /// Write exports into this directory instead.
    #[arg(long, value_name = "DIR", requires = "export")]
    to: Option<PathBuf>,
    /// Print everything as JSON (thunkscope.dump-show/1).
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Export {
    /// NumPy's format.
    Npy,
    /// One value a line.
    Txt,
    /// Index and value.
    Csv,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let files = match dumps(&arguments.path) {
        Ok(files) => files,
        Err(error) => return super::check::unreadable(&arguments.path, &error),
    };
    let mut outcome = Outcome::Fine;
    let (mut text, mut list) = (String::new(), Vec::new());
    for path in files {
        let is_csv = path.extension().is_some_and(|end| end == "csv");
        let bytes = match input::read_file(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                outcome = outcome.max(super::check::unreadable(&path, &error));
                continue;
            }
        };
        if is_csv {
            let statistics = String::from_utf8_lossy(&bytes);
            let _ = writeln!(text, "{}", name(&path));
            statistics.lines().for_each(|line| {
                let _ = writeln!(text, "  {}", shown(line, 400));
            });
            list.push(json!({ "file": path.display().to_string(), "statistics": statistics }));
            continue;
        }
        match DumpFile::read(&bytes) {
            Ok(file) => {
                list.push(file_json(&path, &file, &bytes, arguments));
                file_text(&path, &file, &bytes, arguments, &mut text);
                if let Some(export) = arguments.export
                    && let Err(error) = export_all(&path, &file, &bytes, export, arguments.to.as_deref())
                {
                    outcome = outcome.max(super::check::unreadable(&path, &error));
                }
            }
            Err(error) => outcome = outcome.max(super::check::unreadable(&path, &error)),
        }
    }
    if list.is_empty() && outcome == Outcome::Fine {
        err(&format!("{}: no dump files there", name(&arguments.path)));
        return Outcome::Unreadable;
    }
    let printed = if arguments.json {
        out_json(&json!({ "format": "thunkscope.dump-show/1", "files": list }))
    } else {
        out(&text)
    };
    printed.max(outcome)
}

fn file_json(path: &Path, file: &DumpFile, bytes: &[u8], arguments: &Arguments) -> Value {
    let tensors: Vec<Value> = file
        .tensors
        .iter()
        .map(|tensor| {
            let mut value = json!({
                "part": tensor.part.name(), "index": tensor.index, "dtype": dtype(tensor).map(DataType::name),
                "format": Format(tensor.format as u32).name(), "shape": tensor.shape, "size": tensor.size,
            });
            if let (true, Some(stats)) = (arguments.stats, stats(tensor, bytes)) {
                value["stats"] = json!(columns(&stats).into_iter().collect::<serde_json::Map<_, _>>());
            }
            value
        })
        .collect();
    json!({
        "file": path.display().to_string(), "op": file.header.op_name, "version": file.header.version,
        "time_us": file.header.dump_time.to_string(), "tensors": tensors,
    })
}

fn dtype(tensor: &TensorEntry) -> Option<DataType> {
    DataType::from_number(tensor.dtype)
}

fn stats(tensor: &TensorEntry, bytes: &[u8]) -> Option<Stats> {
    Stats::of(dtype(tensor)?, tensor.bytes(bytes), NanRule::Ignored)
}

fn columns(stats: &Stats) -> Vec<(String, Value)> {
    let number = |number: Option<Number>| number.map(shown_number);
    [
        ("count", json!(stats.count)),
        ("max", json!(number(stats.max))),
        ("min", json!(number(stats.min))),
        ("avg", json!(stats.avg.map(short))),
        ("nan", json!(stats.nan)),
        ("negative_inf", json!(stats.neg_inf)),
        ("positive_inf", json!(stats.pos_inf)),
        ("l2norm", json!(stats.l2norm.map(short))),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn shown_number(number: Number) -> String {
    match number {
        Number::Whole(n) => n.to_string(),
        Number::Real(x) => short(x),
    }
}

fn file_text(path: &Path, file: &DumpFile, bytes: &[u8], arguments: &Arguments, text: &mut String) {
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{}  op {}", name(path), shown(&file.header.op_name, 120));
    for tensor in &file.tensors {
        let kind = dtype(tensor).map_or("?", DataType::name);
        let format = Format(tensor.format as u32).name().unwrap_or("-");
        let _ = writeln!(
            text,
            "  {} {}: {kind} {format} {:?} {} B",
            tensor.part, tensor.index, tensor.shape, tensor.size
        );
        if let (true, Some(stats)) = (arguments.stats, stats(tensor, bytes)) {
            let parts: Vec<String> = columns(&stats)
                .into_iter()
                .map(|(name, value)| {
                    format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect();
            let _ = writeln!(text, "    {}", parts.join(", "));
        }
    }
}

fn export_all(
    path: &Path,
    file: &DumpFile,
    bytes: &[u8],
    export: Export,
    to: Option<&Path>,
) -> Result<(), Diagnostic> {
    let base = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let directory = to.map_or_else(|| path.parent().unwrap_or(Path::new("")).to_owned(), Path::to_owned);
    let unwritable = |error| Diagnostic::error("FS005", "export", "a file that can be written").found(error);
    fs::create_dir_all(&directory).map_err(unwritable)?;
    for tensor in &file.tensors {
        let data = tensor.bytes(bytes);
        let is_record = tensor.part == Part::Output && data.len() == RECORD_SIZE && base.contains(OP_TYPE);
        let (end, content) = if is_record {
            ("json", OverflowRecord::read(data)?.to_json().into_bytes())
        } else {
            let dtype = dtype(tensor).unwrap_or_default();
            match export {
                Export::Npy => ("npy", npy(dtype, &tensor.shape, data)),
                Export::Txt => ("txt", lines(dtype, data, false)),
                Export::Csv => ("csv", lines(dtype, data, true)),
            }
        };
        let target = directory.join(format!("{base}.{}.{}.{end}", tensor.part, tensor.index));
        fs::write(&target, content).map_err(unwritable)?;
        err(&format!("wrote {}", name(&target)));
    }
    Ok(())
}

/// One value a line; types that are no numbers as bytes.
fn lines(dtype: DataType, data: &[u8], index: bool) -> Vec<u8> {
    let dtype = if elements::is_numeric(dtype) { dtype } else { DataType::Uint8 };
    let mut text = if index { "index,value\n".to_owned() } else { String::new() };
    for (at, number) in elements::elements(dtype, data).enumerate() {
        // All digits that tell the value apart, not only six.
        let value = match number {
            Number::Whole(n) => n.to_string(),
            Number::Real(x) => x.to_string(),
        };
        let _ = if index { writeln!(text, "{at},{value}") } else { writeln!(text, "{value}") };
    }
    text.into_bytes()
}
