//! Between the start and the end of an iteration a dump allocates nothing on a lane, and what is
//! selected is looked up: no allocation, no work that grows with the lists. In a binary of its own,
//! as it has an allocator of its own.

mod counting_alloc;

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use counting_alloc::Counting;
use serde_json::json;
use thunkscope_core::dump::acl::{self, AclLayer};
use thunkscope_core::dump::dumper::{Dumper, Lane, Scene};
use thunkscope_core::dump::env::EnvLayer;
use thunkscope_core::dump::log::{Grade, Journal};
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

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

struct Zeros;

impl Target for Zeros {
    fn address(&self, slice: Slice) -> Option<u64> {
        Some(1 + u64::from(slice.allocation))
    }
    fn read(&self, _: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        bytes.fill(7);
        Ok(())
    }
}

/// Formats every line into room that it has.
struct Page(String);

impl Journal for Page {
    fn line(&mut self, _: Grade, text: fmt::Arguments<'_>) {
        self.0.clear();
        // Writing to a text cannot fail; lines are shorter than the page.
        let _ = self.0.write_fmt(text);
    }
}

fn fine(_: &str) -> PathState {
    PathState::Fine
}

/// `n` ops that write four floats each; in a dynamic program each has an infer and an alloc thunk.
fn model(n: usize, dynamic: bool) -> Model {
    let mut thunks = Vec::new();
    for at in 0..n {
        let launch = thunks.len() + if dynamic { 2 } else { 0 };
        if dynamic {
            thunks.push(json!({ "kind": "other", "sets_shape": [launch] }));
            thunks.push(json!({ "kind": "other", "sets_address": [launch] }));
        }
        let kind = if at % 7 == 3 { "all-reduce" } else { "kernel" };
        thunks.push(json!({ "kind": kind, "name": format!("op{at}"), "op_type": "Add",
            "workspace": [{ "allocation": 9, "size": 64 }],
            "uses": [
                { "allocation": 0, "size": 16, "access": "read", "dtype": "f32", "shape": [2, 2] },
                { "allocation": 1, "size": 16, "access": "write", "dtype": "f32", "shape": [4] },
            ] }));
    }
    let mode = if dynamic { "dynamic" } else { "static" };
    let text = json!({ "format": program_json::FORMAT, "name": "m", "mode": mode, "sequence": { "thunks": thunks } });
    Model::read(&program_json::read(text.to_string().as_bytes()).expect("a program").program).model
}

fn layer(fields: &str) -> AclLayer {
    let text = format!(r#"{{"dump": {{"dump_path": "/d", {fields}}}}}"#);
    acl::read(text.as_bytes(), &fine).expect("a document").0
}

fn properties(fields: &str) -> Properties {
    let (acl, env, options) = (layer(fields), EnvLayer::default(), OptionLayer::default());
    let entries = Entries { acl: &acl, env: &env, options: &options };
    resolve(entries, Context { probe: &fine, time: Some("T") }).properties
}

/// One iteration; how often its events allocated.
fn iteration(
    dumper: &mut Dumper<LocalMemory>,
    lanes: &mut [Lane],
    switch: &Switch,
    thunks: u32,
    page: &mut Page,
) -> u64 {
    dumper.model_start(switch, lanes, &Zeros, page);
    let count = ALLOCATOR.during(|| {
        for node in 0..thunks {
            let thunk = ThunkRef { sequence: 0, node };
            let status = if node % 5 == 2 { Status::AiCoreOverflow } else { Status::Ok };
            dumper.execute_start(thunk, &mut lanes[0], &Zeros, u64::from(node), page);
            dumper.execute_end(thunk, status, &mut lanes[0], &Zeros, u64::from(node), page);
        }
    });
    dumper.model_end(lanes, &Zeros, page);
    assert!(lanes[0].batch.records() > 0, "something was dumped");
    lanes[0].batch.clear();
    count
}

#[test]
fn nothing_is_allocated_between_start_and_end() {
    for dynamic in [false, true] {
        for fields in [
            r#""dump_mode": "all", "dump_list": [{}]"#,
            r#""dump_mode": "input", "dump_step": "0-9", "dump_list": [{}]"#,
            r#""dump_debug": "on""#,
        ] {
            let model = Arc::new(model(40, dynamic));
            let thunks = model.thunks[0].len() as u32;
            let mut dumper = Dumper::new(model, Scene::Model, 0, LocalMemory::new);
            let mut lanes = [dumper.lane(0, 0, 64)];
            let mut page = Page(String::with_capacity(1 << 12));
            let switch = Switch { generation: 1, properties: Arc::new(properties(fields)) };
            for n in 0..3 {
                let count = iteration(&mut dumper, &mut lanes, &switch, thunks, &mut page);
                assert_eq!(count, 0, "iteration {n} of {fields}, dynamic {dynamic}");
            }
        }
    }
}

#[test]
fn an_exception_is_remembered_without_allocating() {
    let mut dumper = Dumper::new(Arc::new(model(40, true)), Scene::Model, 0, LocalMemory::new);
    let mut lanes = [dumper.lane(0, 0, 64)];
    let switch =
        Switch { generation: 1, properties: Arc::new(properties(r#""dump_scene": "aic_err_norm_dump""#)) };
    dumper.model_start(&switch, &mut lanes, &Zeros, &mut ());
    let count = ALLOCATOR.during(|| {
        for node in 0..120 {
            dumper.execute_end(ThunkRef { sequence: 0, node }, Status::Ok, &mut lanes[0], &Zeros, 0, &mut ());
        }
    });
    assert_eq!((count, lanes[0].ring.len()), (0, 40));
}

#[test]
fn a_decision_is_a_look_up() {
    let model = model(40, false);
    let names: Vec<String> = (0..10_000).map(|n| format!("\"op{n}\"")).collect();
    let long = properties(&format!(r#""dump_list": [{{"layer": [{}]}}]"#, names.join(",")));
    let selection = Selection::new(&model, &long, Matching::Union);
    let count = ALLOCATOR.during(|| {
        for op in 0..40 {
            assert!(selection.op(op).skip.is_none());
        }
    });
    assert_eq!(count, 0);
}

/// Allocations stand for work: they are the same everywhere, and there is no quadratic work without
/// allocations per pair here (sets and maps are looked up, lists are walked once).
#[test]
fn resolving_long_lists_is_linear() {
    let count = |layers: usize, entries: usize| {
        let names: Vec<String> = (0..layers).map(|n| format!("\"layer{n}\"")).collect();
        let positions: Vec<String> = (0..100).map(|n| format!("\"input{n}\"")).collect();
        let list: Vec<String> = (0..entries)
            .map(|n| format!(r#"{{"name": "t{n}", "pos": [{}]}}"#, positions.join(",")))
            .collect();
        let fields = format!(
            r#""dump_level": "op", "dump_list": [{{"layer": [{}], "optype_blacklist": [{}]}}]"#,
            names.join(","),
            list.join(",")
        );
        let mut found = Properties::default();
        let count = ALLOCATOR.during(|| found = properties(&fields));
        assert_eq!(found.models.values().map(|set| set.len()).sum::<usize>(), layers);
        count
    };
    let (small, large) = (count(1_000, 10), count(10_000, 100));
    assert!(large <= 11 * small, "{small} allocations for a tenth, {large} for the whole");
}
