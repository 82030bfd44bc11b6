//! What a dump costs on the lane: per tensor, against a copy of the same bytes, and per thunk in an
//! iteration that is not selected. And what long lists cost, before the lane.
//!
//! `cargo bench -p thunkscope-tests --bench dump_overhead [-- instructions]`. Prints the tables of
//! `docs/performance.md`.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use thunkscope_core::dump::acl::{self, AclLayer};
use thunkscope_core::dump::dumper::{Dumper, Scene};
use thunkscope_core::dump::env::EnvLayer;
use thunkscope_core::dump::model::{Model, ThunkRef};
use thunkscope_core::dump::option::OptionLayer;
use thunkscope_core::dump::path::PathState;
use thunkscope_core::dump::properties::{Matching, Properties};
use thunkscope_core::dump::resolve::{Context, Entries, resolve};
use thunkscope_core::dump::selection::Selection;
use thunkscope_core::dump::switch::Switch;
use thunkscope_core::dump::target::{Status, Target, Unreadable};
use thunkscope_core::machine::LocalMemory;
use thunkscope_core::program::{Slice, json as program_json};

/// Bytes of one tensor.
const SIZES: [u64; 6] = [16, 256, 4 << 10, 64 << 10, 1 << 20, 8 << 20];
const OPS: usize = 8;

/// Memory that is read as a copy.
struct Host(Vec<u8>);

impl Target for Host {
    fn address(&self, slice: Slice) -> Option<u64> {
        Some(1 + slice.offset)
    }
    fn read(&self, _: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        bytes.copy_from_slice(&self.0[..bytes.len()]);
        Ok(())
    }
}

fn main() {
    if let Ok(spec) = std::env::var(COUNT) {
        return child(&spec);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "instructions") {
        return instructions();
    }
    tensors();
    lists();
}

fn tensors() {
    println!("nanoseconds per tensor, medians of interleaved runs\n");
    println!(
        "| bytes | copy | static dump | dynamic dump | static − copy | dynamic − copy | static ÷ copy | dynamic ÷ copy |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for size in SIZES {
        let (mut fixed, mut dynamic, mut copy) =
            (Run::new(size, false, true), Run::new(size, true, true), Copy::new(size));
        let (mut copies, mut fixes, mut dynamics) = (Vec::new(), Vec::new(), Vec::new());
        let rounds = (64 << 20) / (size as usize * OPS);
        for _ in 0..rounds.clamp(7, 2_001) {
            copies.push(time(|| copy.round()));
            fixes.push(fixed.iteration());
            dynamics.push(dynamic.iteration());
        }
        let [copy, fixed, dynamic] = [copies, fixes, dynamics].map(|times| median(times) / OPS as f64);
        println!(
            "| {size} | {copy:.0} | {fixed:.0} | {dynamic:.0} | {:+.0} | {:+.0} | {:.2} | {:.2} |",
            fixed - copy,
            dynamic - copy,
            fixed / copy,
            dynamic / copy
        );
    }
    let mut off = Run::new(16, true, false);
    let times: Vec<Duration> = (0..2_001).map(|_| off.iteration()).collect();
    println!("\ndump on, iteration not selected: {:.1} ns per thunk", median(times) / off.thunks as f64);
}

/// Long lists: reading and resolving them, deciding about a model, looking a decision up.
fn lists() {
    println!("\nlong lists, medians of 15; the model has 1,000 ops\n");
    println!("| layers | blacklist | read and resolve, µs | ns per name | decide, µs | look up an op, ns |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    let model = Run::model(16, false, 1_000);
    for (layers, entries) in [(100, 1), (1_000, 10), (10_000, 100), (100_000, 100)] {
        let document = Lists { layers, entries }.document();
        let mut found = None;
        let rounds = || 0..15;
        let resolves = rounds().map(|_| time(|| found = Some(properties_of(&document)))).collect();
        let properties = found.expect("resolved");
        let mut selection = None;
        let decides = rounds()
            .map(|_| time(|| selection = Some(Selection::new(&model, &properties, Matching::Union))))
            .collect();
        let selection = selection.expect("decided");
        let looks = rounds()
            .map(|_| {
                time(|| {
                    (0..1_000).for_each(|op| {
                        black_box(selection.op(black_box(op)).skip);
                    });
                })
            })
            .collect();
        let [resolve, decide, look] = [resolves, decides, looks].map(median);
        let names = (layers + entries * 100) as f64;
        println!(
            "| {layers} | {entries} × 100 | {:.0} | {:.0} | {:.0} | {:.1} |",
            resolve / 1e3,
            resolve / names,
            decide / 1e3,
            look / 1e3
        );
    }
}

/// Names of layers, and entries of a blacklist with a hundred positions each.
struct Lists {
    layers: usize,
    entries: usize,
}

impl Lists {
    fn document(&self) -> String {
        let names: Vec<String> = (0..self.layers).map(|n| format!("\"layer{n}\"")).collect();
        let positions: Vec<String> = (0..100).map(|n| format!("\"input{n}\"")).collect();
        let entry = |n| format!(r#"{{"name": "t{n}", "pos": [{}]}}"#, positions.join(","));
        let list: Vec<String> = (0..self.entries).map(entry).collect();
        format!(
            r#"{{"dump": {{"dump_path": "/d", "dump_level": "op", "dump_list": [{{"layer": [{}], "optype_blacklist": [{}]}}]}}}}"#,
            names.join(","),
            list.join(",")
        )
    }
}

/// Instructions per tensor by callgrind: the same on a busy machine.
fn instructions() {
    println!("instructions per tensor (callgrind)\n");
    println!("| bytes | copy | static dump | dynamic dump | static − copy | dynamic − copy |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for size in SIZES.into_iter().filter(|size| *size <= 64 << 10) {
        let per_tensor = |kind: &str| -> Option<f64> {
            let (few, many) = (count(&format!("{kind} {size} 5"))?, count(&format!("{kind} {size} 25"))?);
            Some((many - few) as f64 / 20.0 / OPS as f64)
        };
        match ["copy", "static", "dynamic"].map(per_tensor) {
            [Some(copy), Some(fixed), Some(dynamic)] => println!(
                "| {size} | {copy:.0} | {fixed:.0} | {dynamic:.0} | {:+.0} | {:+.0} |",
                fixed - copy,
                dynamic - copy
            ),
            _ => println!("| {size} | – | – | – | – | – |"),
        }
    }
    println!();
    for layers in [1_000, 10_000, 100_000] {
        let figure = count(&format!("lists {layers} 1")).zip(count(&format!("lists {layers} 3")));
        if let Some((one, three)) = figure {
            let (all, names) = ((three - one) / 2, layers + 100 * 100);
            println!(
                "read and resolve {layers} layers and 100 × 100 positions: {all} instructions, {} a name",
                all / names
            );
        }
    }
}

const COUNT: &str = "THUNKSCOPE_BENCH_COUNT";

/// `KIND SIZE ROUNDS`: that many rounds, and nothing else.
fn child(spec: &str) {
    let mut words = spec.split(' ');
    let (kind, size, rounds) = (words.next(), words.next(), words.next());
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (size, rounds) = (number(size), number(rounds));
    match kind {
        Some("copy") => {
            let mut copy = Copy::new(size);
            (0..rounds).for_each(|_| copy.round());
        }
        Some("lists") => {
            let document = Lists { layers: size as usize, entries: 100 }.document();
            (0..rounds).for_each(|_| drop(black_box(properties_of(&document))));
        }
        kind => {
            let mut run = Run::new(size, kind == Some("dynamic"), true);
            (0..rounds).for_each(|_| {
                black_box(run.iteration());
            });
        }
    }
}

/// Instructions of a child's whole life; between events of iterations alone for dumps.
fn count(spec: &str) -> Option<i64> {
    let exe = std::env::current_exe().ok()?;
    let output = std::process::Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .env(COUNT, spec)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}

/// The same bytes, copied.
struct Copy {
    room: Vec<u8>,
    source: Vec<u8>,
}

impl Copy {
    fn new(size: u64) -> Self {
        Self { room: vec![0u8; size as usize * OPS], source: vec![1u8; size as usize] }
    }

    fn round(&mut self) {
        let Self { room, source } = self;
        room.chunks_exact_mut(source.len()).for_each(|chunk| chunk.copy_from_slice(black_box(source)));
        black_box(room);
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e9
}

struct Run {
    dumper: Dumper<LocalMemory>,
    lanes: [thunkscope_core::dump::dumper::Lane; 1],
    host: Host,
    switch: Switch,
    thunks: u32,
}

impl Run {
    fn model(size: u64, dynamic: bool, ops: usize) -> Model {
        let mut thunks = Vec::new();
        for op in 0..ops {
            let launch = thunks.len() + if dynamic { 2 } else { 0 };
            if dynamic {
                thunks.push(json!({ "kind": "other", "sets_shape": [launch] }));
                thunks.push(json!({ "kind": "other", "sets_address": [launch] }));
            }
            thunks.push(json!({ "kind": "kernel", "name": format!("op{op}"),
                "uses": [{ "allocation": 0, "size": size, "access": "write", "dtype": "u8", "shape": [size] }] }));
        }
        let mode = if dynamic { "dynamic" } else { "static" };
        let text = json!({ "format": program_json::FORMAT, "mode": mode, "sequence": { "thunks": thunks } });
        let program = program_json::read(text.to_string().as_bytes()).expect("a program").program;
        Model::read(&program).model
    }

    fn new(size: u64, dynamic: bool, selected: bool) -> Self {
        let model = Arc::new(Self::model(size, dynamic, OPS));
        let thunks = model.thunks[0].len() as u32;
        let dumper = Dumper::new(model, Scene::Model, 0, LocalMemory::new);
        let lanes = [dumper.lane(0, (size + 1_024) * OPS as u64 * 2, 16)];
        let step = if selected { "" } else { r#""dump_step": "2147483647","# };
        let document = format!(r#"{{"dump": {{"dump_path": "/d", {step} "dump_list": [{{}}]}}}}"#);
        let switch = Switch { generation: 1, properties: Arc::new(properties_of(&document)) };
        Self { dumper, lanes, host: Host(vec![1; size as usize]), switch, thunks }
    }

    /// The events of one iteration; its start and end are not measured.
    fn iteration(&mut self) -> Duration {
        let Self { dumper, lanes, host, switch, thunks } = self;
        dumper.model_start(switch, lanes, host, &mut ());
        let took = time(|| {
            for node in 0..*thunks {
                let thunk = ThunkRef { sequence: 0, node };
                dumper.execute_start(thunk, &mut lanes[0], host, 0, &mut ());
                dumper.execute_end(thunk, Status::Ok, &mut lanes[0], host, 0, &mut ());
            }
        });
        dumper.model_end(lanes, host, &mut ());
        black_box(&lanes[0].batch);
        lanes[0].batch.clear();
        took
    }
}

fn properties_of(document: &str) -> Properties {
    let probe = |_: &str| PathState::Fine;
    let acl: AclLayer = acl::read(document.as_bytes(), &probe).expect("a document").0;
    let (env, options) = (EnvLayer::default(), OptionLayer::default());
    let entries = Entries { acl: &acl, env: &env, options: &options };
    resolve(entries, Context { probe: &probe, time: None }).properties
}
