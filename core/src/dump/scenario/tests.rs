//! Whole runs: the matrix of ge-dump spec §11.1, files read back by a reader of their own.

mod content;
#[cfg(not(target_arch = "wasm32"))]
mod laws;
mod reader;

use serde_json::{Value, json};

use super::*;
use crate::dump::log::Lines;
use crate::dump::names::Layout;
use crate::dump::path::PathState;
use crate::dump::sink::{FileSink, Loss, MemoryStore, Store, StoreError};
use crate::program::json as program_json;
use reader::{File, read_file};

fn fine(_: &str) -> PathState {
    PathState::Fine
}

fn program(thunks: Value, more: Value) -> Program {
    let mut text = json!({ "format": program_json::FORMAT, "name": "m", "sequence": { "thunks": thunks } });
    for (name, value) in more.as_object().into_iter().flatten() {
        text[name] = value.clone();
    }
    program_json::read(text.to_string().as_bytes()).expect("a program").program
}

fn tensor(allocation: u64, access: &str) -> Value {
    json!({ "allocation": allocation, "size": 16, "access": access, "dtype": "FLOAT", "shape": [4] })
}

/// Three ops in a chain: a, b, c; the dynamic form has an InferShape and an Alloc for each.
fn chain(dynamic: bool) -> Program {
    let op = |name: &str, at: u64| json!({ "kind": "kernel", "name": name, "op_type": "Add", "uses": [tensor(at, "read"), tensor(at + 1, "write")] });
    if !dynamic {
        return program(json!([op("a", 0), op("b", 1), op("c", 2)]), json!({}));
    }
    let mut thunks = Vec::new();
    for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
        let launch = 3 * n + 2;
        // The helpers write what the launch reads, so that it waits for them.
        let (infer, alloc) = (10 + 2 * n as u64, 11 + 2 * n as u64);
        thunks.push(json!({ "kind": "other", "sets_shape": [launch], "uses": [tensor(infer, "write")] }));
        thunks.push(json!({ "kind": "other", "sets_address": [launch], "uses": [tensor(alloc, "write")] }));
        let mut op = op(name, n as u64);
        op["uses"].as_array_mut().expect("a list").extend([
            json!({ "allocation": infer, "size": 16, "access": "read", "input": 1 }),
            json!({ "allocation": alloc, "size": 16, "access": "read", "input": 2 }),
        ]);
        thunks.push(op);
    }
    program(json!(thunks), json!({ "mode": "dynamic" }))
}

struct Ran {
    files: BTreeMap<String, Vec<u8>>,
    log: Vec<String>,
    outcome: Outcome,
}

impl Ran {
    /// Names of data files, without directory.
    fn names(&self) -> Vec<&str> {
        let data = |path: &&String| !path.ends_with(".jsonl") && !path.ends_with("mapping.csv");
        self.files.keys().filter(data).map(|path| path.rsplit('/').next().unwrap_or(path)).collect()
    }

    fn file(&self, name: &str) -> File {
        let (_, bytes) = self.files.iter().find(|(path, _)| path.ends_with(name)).expect(name);
        read_file(bytes)
    }

    fn says(&self, text: &str) -> bool {
        self.log.iter().any(|line| line.contains(text))
    }

    fn skipped(&self, iteration: usize) -> String {
        let counts = &self.outcome.summaries[iteration].counts;
        counts.skipped.iter().map(|(skip, n)| format!("{skip}:{n}")).collect::<Vec<_>>().join(" ")
    }
}

fn scenario(fields: Value) -> Scenario {
    let mut all = json!({ "format": FORMAT });
    for (name, value) in fields.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    Scenario::read(all.to_string().as_bytes()).expect("a scenario")
}

fn run_with(program: &Program, scenario: &Scenario, layout: Layout, sync: bool) -> Ran {
    let mut sink = FileSink::new(MemoryStore::default(), layout);
    let mut lines = Lines::default();
    let output = Output { sink: &mut sink, journal: &mut lines, sync, batch: 0 };
    let outcome = run(program, scenario, &fine, Some("T"), output).expect("runs");
    let log = lines.lines.iter().map(ToString::to_string).collect();
    Ran { files: sink.store.files, log, outcome }
}

fn ran(program: &Program, fields: Value) -> Ran {
    run_with(program, &scenario(fields), Layout::Seed, false)
}

fn acl(fields: &str) -> Value {
    serde_json::from_str(&format!(r#"{{"dump": {{"dump_path": "/d", {fields}}}}}"#)).expect("JSON")
}

const ALL: &str = r#""dump_mode": "all", "dump_list": [{}]"#;

#[test]
fn a_static_run_writes_what_is_selected() {
    let run = ran(&chain(false), json!({ "acl": acl(ALL), "iterations": 2 }));
    assert_eq!(
        run.names(),
        [
            "normal_m_a_Add_0_0_0",
            "normal_m_a_Add_1_0_0",
            "normal_m_b_Add_0_0_1",
            "normal_m_b_Add_1_0_1",
            "normal_m_c_Add_0_0_2",
            "normal_m_c_Add_1_0_2"
        ]
    );
    let a = run.file("normal_m_a_Add_1_0_0");
    assert_eq!((a.op_name.as_str(), a.inputs.len(), a.outputs.len()), ("a", 1, 1));
    // b read in that iteration what a wrote in it.
    assert_eq!(run.file("normal_m_b_Add_1_0_1").inputs[0].data, a.outputs[0].data);
    assert_ne!(run.file("normal_m_a_Add_0_0_0").outputs[0].data, a.outputs[0].data);
    assert_eq!(run.outcome.syncs, 2, "one wait per iteration");
    assert!(run.says("INFO [Dumper] load: model 1 with 4 tasks"), "{:#?}", run.log);
    assert!(
        run.says("iter=1 ops_due=3 ops_dumped=3 tensors_written=6 bytes=96 skipped={}"),
        "{:#?}",
        run.log
    );
    assert!(run.says("unload: model 1"));
}

#[test]
fn static_and_dynamic_runs_write_the_same_tensors() {
    let one = ran(&chain(false), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
    let two =
        ran(&chain(true), json!({ "acl": acl(r#""dump_list": [{}]"#), "run": { "mode": "concurrent" } }));
    assert_eq!(one.names().len(), 3);
    assert_eq!(two.names().len(), 3);
    for op in ["a", "b", "c"] {
        let of = |run: &Ran| {
            let name =
                (*run.names().iter().find(|name| name.contains(&format!("_{op}_"))).expect(op)).to_owned();
            run.file(&name).outputs[0].clone()
        };
        let (one, two) = (of(&one), of(&two));
        assert_eq!((one.data.len(), one.shape, one.dtype), (two.data.len(), two.shape, two.dtype));
    }
}

/// {single op, one stream, many streams, many threads} × {static, dynamic} × {normal, overflow,
/// exception}: which records there are, whatever the streams.
#[test]
fn the_matrix() {
    for dynamic in [false, true] {
        let program = chain(dynamic);
        let b = if dynamic { 5 } else { 1 };
        for streams in ["single op", "one stream", "many streams", "many threads"] {
            let run = match streams {
                "single op" | "one stream" => {
                    json!({ "mode": "sequential", "runner": false, "pool_threads": 1 })
                }
                "many streams" => {
                    json!({ "mode": "concurrent", "executor": { "split_threshold": 0 }, "pool_threads": 4, "post_latency": 0 })
                }
                _ => {
                    json!({ "mode": "concurrent", "pending": "all", "schedule": "adversarial", "seed": "5", "pool_threads": 4 })
                }
            };
            let single = streams == "single op";
            for kind in ["normal", "overflow", "exception"] {
                let what = format!("{streams}, dynamic {dynamic}, {kind}");
                let acl = match kind {
                    "normal" if single => acl(r#""dump_op_switch": "on""#),
                    "normal" => acl(r#""dump_list": [{}]"#),
                    "overflow" => acl(r#""dump_debug": "on""#),
                    _ => acl(r#""dump_scene": "aic_err_norm_dump""#),
                };
                let mut fields = json!({ "acl": acl, "single_op": single, "run": run });
                match kind {
                    "overflow" => fields["overflows"] = json!([{ "iteration": 0, "node": b }]),
                    "exception" => fields["failures"] = json!([{ "node": b }]),
                    _ => {}
                }
                let ran = ran(&program, fields);
                let mut ops: Vec<String> = ran
                    .names()
                    .iter()
                    .map(|name| {
                        let parts: Vec<&str> = name.split('_').collect();
                        format!("{}:{}", parts[0], parts[2])
                    })
                    .collect();
                ops.sort();
                let expected: &[&str] = match kind {
                    "normal" => &["normal:a", "normal:b", "normal:c"],
                    // The device's own record comes with loaded models.
                    "overflow" if !dynamic && !single => &["overflow:Node", "overflow:b"],
                    "overflow" => &["overflow:b"],
                    _ => &["exception:b"],
                };
                assert_eq!(ops, expected, "{what}: {:#?}", ran.log);
                match kind {
                    "overflow" => {
                        assert!(ran.says("WARNING [Overflow][Dumper] overflow in op `b` type Add"), "{what}");
                        let name =
                            ran.names().into_iter().find(|name| name.contains("_b_")).expect(kind).to_owned();
                        let file = ran.file(&name);
                        assert!(
                            !file.inputs.is_empty()
                                && file.outputs[0].data[..4] == f32::INFINITY.to_le_bytes(),
                            "{what}"
                        );
                    }
                    "exception" => {
                        assert!(
                            ran.says("ERROR [Dump][Exception] dump exception to file, file:"),
                            "{what}: {:#?}",
                            ran.log
                        );
                        assert!(ran.says("[AIC_INFO] op `b` type: Add"), "{what}");
                    }
                    _ if single => {
                        assert!(ran.names().iter().all(|name| name.starts_with("normal_-_")), "{what}")
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn overflow_record_reads_as_its_table_says() {
    let run = ran(
        &chain(false),
        json!({ "acl": acl(r#""dump_debug": "on""#), "overflows": [{ "iteration": 0, "node": 1 }] }),
    );
    let name = run.names().into_iter().find(|name| name.contains("OpDebug")).expect("a record").to_owned();
    let file = run.file(&name);
    let word = |at: usize| u64::from_le_bytes(file.outputs[0].data[at..at + 8].try_into().expect("eight"));
    assert_eq!(file.outputs[0].data.len(), 2048);
    assert_eq!((word(256), word(264), word(272)), (1, 0, 1), "model, stream, task");
    assert_eq!(run.skipped(0), "no_overflow:4");
}

#[test]
fn no_overflow_no_files() {
    let run = ran(&chain(true), json!({ "acl": acl(r#""dump_debug": "on""#) }));
    assert!(run.names().is_empty());
    assert!(run.skipped(0).contains("no_overflow"), "{}", run.skipped(0));
}

#[test]
fn steps_gate_whole_iterations_and_the_summary_says_so() {
    let run =
        ran(&chain(true), json!({ "acl": acl(r#""dump_step": "1", "dump_list": [{}]"#), "iterations": 3 }));
    assert_eq!(run.names().len(), 3);
    assert!(run.names().iter().all(|name| name.contains("_Add_1_")), "{:?}", run.names());
    assert_eq!(run.skipped(0), "step_mismatch:3");
    assert_eq!(run.outcome.syncs, 1);
}

#[test]
fn a_switch_takes_effect_at_the_next_iteration() {
    // Invariant 5, and: on to off to on between iterations is nothing.
    let list = acl(r#""dump_list": [{}]"#);
    let run = ran(
        &chain(false),
        json!({ "iterations": 5, "switches": [
            { "iteration": 1, "after": 0, "to": list },
            { "iteration": 3, "after": 1, "to": "off" },
            { "iteration": 4, "after": 0, "to": list },
        ] }),
    );
    let iterations: BTreeSet<&str> =
        run.names().iter().map(|name| name.split('_').nth(4).expect("a name")).collect();
    assert_eq!(iterations, BTreeSet::from(["2", "3"]));
    assert_eq!(run.log.iter().filter(|line| line.contains("load: model")).count(), 2, "one load, one unload");
    let collapsed = ran(
        &chain(false),
        json!({ "acl": list, "iterations": 2, "switches": [
            { "iteration": 0, "after": 0, "to": "off" }, { "iteration": 0, "after": 1, "to": list },
        ] }),
    );
    assert_eq!(collapsed.names().len(), 6);
    assert_eq!(collapsed.log.iter().filter(|line| line.contains(" load: model")).count(), 1);
    assert!(collapsed.says("Keep"));
}

#[test]
fn a_changed_filter_reloads_static_submodels_of_a_dynamic_program() {
    let inner = json!([{ "kind": "kernel", "name": "x", "uses": [tensor(0, "write")] }, { "kind": "kernel", "name": "y", "uses": [tensor(1, "write")] }]);
    let program = program(
        json!([
            { "kind": "call", "name": "sub", "nested": [{ "role": "call", "sequence": { "thunks": inner } }] },
            { "kind": "kernel", "name": "z", "uses": [tensor(2, "write")] },
        ]),
        json!({ "mode": "dynamic", "submodels": [0] }),
    );
    let layers = |name: &str| acl(&format!(r#""dump_list": [{{"layer": ["{name}", "z"]}}]"#));
    let run = ran(
        &program,
        json!({ "acl": layers("x"), "iterations": 2, "switches": [{ "iteration": 0, "after": 1, "to": layers("y") }] }),
    );
    assert_eq!(
        run.names(),
        [
            "normal_m_x_kernel_0_0_0",
            "normal_m_y_kernel_1_0_1",
            "normal_m_z_kernel_0_0_1",
            "normal_m_z_kernel_1_0_1"
        ]
    );
    let loads: Vec<&String> = run.log.iter().filter(|line| line.contains("load: model 2")).collect();
    assert_eq!(loads.len(), 4, "load, unload, load, unload at the end: {loads:?}");
}

#[test]
fn a_collective_is_dumped_before_and_after() {
    let program = |dynamic: bool| {
        program(
            json!([
                { "kind": "kernel", "name": "k", "uses": [tensor(0, "write")] },
                { "kind": "all-reduce", "name": "r", "op_type": "HcomAllReduce", "uses": [
                    { "allocation": 0, "size": 16, "access": "write", "input": 0, "output": 0, "dtype": "FLOAT", "shape": [4] },
                ] },
            ]),
            if dynamic { json!({ "mode": "dynamic" }) } else { json!({}) },
        )
    };
    for dynamic in [false, true] {
        for (mode, expected) in [("input", &["in"][..]), ("output", &["out"]), ("all", &["in", "out"])] {
            let run = ran(
                &program(dynamic),
                json!({ "acl": acl(&format!(r#""dump_mode": "{mode}", "dump_list": [{{"layer": ["r"]}}]"#)) }),
            );
            let phases: Vec<&str> =
                run.names().iter().map(|name| name.rsplit('_').next().expect("a name")).collect();
            assert_eq!(phases, expected, "{mode} {dynamic}");
            if mode == "all" {
                // In place: before it there is what k wrote, after it something else.
                let name = |phase: &str| {
                    (*run.names().iter().find(|name| name.ends_with(phase)).expect(phase)).to_owned()
                };
                assert_ne!(run.file(&name("in")).inputs[0].data, run.file(&name("out")).outputs[0].data);
            }
        }
    }
}

#[test]
fn contexts_have_files_of_their_own() {
    let slice = |offset: u64| json!({ "allocation": 1, "offset": offset, "size": 8 });
    let program = |mode: &str| {
        program(
            json!([{ "kind": "kernel", "name": "f", "op_type": "Conv", "uses": [tensor(0, "read"), tensor(1, "write")],
                "contexts": [
                    { "context_id": 3, "thread_id": 0, "inputs": [], "outputs": [slice(0)] },
                    { "context_id": 3, "thread_id": 1, "inputs": [], "outputs": [slice(8)] },
                ] }]),
            json!({ "mode": mode }),
        )
    };
    for mode in ["static", "dynamic"] {
        let run = ran(&program(mode), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
        assert_eq!(run.names(), ["normal_m_f_Conv_0_0_65535_3_0", "normal_m_f_Conv_0_0_65535_3_1"], "{mode}");
        let file = run.file("_3_1");
        assert_eq!((file.outputs[0].data.len(), file.outputs[0].shape.as_slice()), (8, &[2][..]));
        let cann = run_with(
            &program(mode),
            &scenario(json!({ "acl": acl(r#""dump_list": [{}]"#) })),
            Layout::Cann,
            false,
        );
        assert!(
            cann.names().iter().all(|name| name.starts_with("Conv.f.65535.0.") && name.contains(".4.3.")),
            "{:?}",
            cann.names()
        );
    }
}

#[test]
fn t2_collectives_in_static_submodels_match_by_root_graph() {
    let inner =
        json!([{ "kind": "all-reduce", "name": "r", "uses": [tensor(0, "read"), tensor(1, "write")] }]);
    let program = program(
        json!([{ "kind": "call", "name": "sub", "nested": [{ "role": "call", "sequence": { "thunks": inner } }] }]),
        json!({ "mode": "dynamic", "submodels": [0], "root_graph": "root" }),
    );
    let run =
        ran(&program, json!({ "acl": acl(r#""dump_mode": "all", "dump_list": [{"model_name": "root"}]"#) }));
    let phases: Vec<&str> = run.names().iter().filter_map(|name| name.rsplit('_').next()).collect();
    assert_eq!(phases.iter().filter(|phase| ["in", "out"].contains(phase)).count(), 2, "{:?}", run.names());
}

#[test]
fn t29_two_contexts_of_one_thread_are_refused() {
    let context = json!({ "context_id": 0, "thread_id": 1, "outputs": [{ "allocation": 0, "size": 8 }] });
    let program = program(
        json!([{ "kind": "kernel", "name": "f", "uses": [tensor(0, "write")], "contexts": [context, context] }]),
        json!({}),
    );
    let read = Model::read(&program);
    assert_eq!((read.model.ops[0].contexts.len(), read.warnings.len()), (1, 1));
    assert_eq!(
        (read.warnings[0].code.as_str(), read.warnings[0].path.as_str()),
        ("DU020", "entry/0.contexts[1]")
    );
}

#[test]
fn the_cann_layout() {
    let run = run_with(
        &chain(false),
        &scenario(json!({ "acl": acl(r#""dump_list": [{"layer": ["a"]}]"#) })),
        Layout::Cann,
        false,
    );
    let path = run.files.keys().find(|path| path.contains("Add.a")).expect("a file");
    assert!(path.starts_with("T/0/m/1/0/Add.a.0.0."), "{path}");
    let overflow = run_with(
        &chain(false),
        &scenario(
            json!({ "acl": acl(r#""dump_debug": "on""#), "overflows": [{ "iteration": 0, "node": 0 }] }),
        ),
        Layout::Cann,
        false,
    );
    assert!(
        overflow.files.keys().any(|path| path.starts_with("T/0/m/1/0/Opdebug.Node_OpDebug.")),
        "{:?}",
        overflow.files.keys()
    );
    let exception = run_with(
        &chain(false),
        &scenario(json!({ "acl": acl(r#""dump_scene": "aic_err_norm_dump""#), "failures": [{ "node": 1 }] })),
        Layout::Cann,
        false,
    );
    assert!(
        exception.files.keys().any(|path| path.starts_with("extra-info/data-dump/0/Add.b.1.")),
        "{:?}",
        exception.files.keys()
    );
    let single = run_with(
        &chain(false),
        &scenario(json!({ "acl": acl(r#""dump_op_switch": "on""#), "single_op": true })),
        Layout::Cann,
        false,
    );
    assert!(single.files.keys().any(|path| path.starts_with("T/0/Add.a.0.0.")), "{:?}", single.files.keys());
}

#[test]
fn statistics_instead_of_tensors() {
    let run =
        ran(&chain(false), json!({ "acl": acl(r#""dump_data": "stats", "dump_list": [{"layer": ["a"]}]"#) }));
    assert_eq!(run.names(), ["normal_m_a_Add_0_0_0.csv"]);
    let text = String::from_utf8(run.files["T/normal_m_a_Add_0_0_0.csv"].clone()).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[1].starts_with("Output,0,16,DT_FLOAT,ND,4,"), "{text}");
}

#[test]
fn a_while_body_is_dumped_once_per_trip_and_an_untaken_branch_never() {
    let body = |name: &str, at: u64| json!({ "thunks": [{ "kind": "kernel", "name": name, "uses": [tensor(at, "write")] }] });
    let program = |mode: &str| {
        program(
            json!([
                { "kind": "while", "name": "w", "trip_count": 2, "uses": [], "nested": [{ "role": "body", "sequence": body("inside", 0) }] },
                { "kind": "conditional", "name": "if", "nested": [
                    { "role": "branch_0", "sequence": body("left", 1) }, { "role": "branch_1", "sequence": body("right", 2) },
                ] },
            ]),
            json!({ "mode": mode }),
        )
    };
    for mode in ["static", "dynamic"] {
        let run = ran(&program(mode), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
        let names = run.names();
        let count = |op: &str| names.iter().filter(|name| name.contains(&format!("_{op}_"))).count();
        assert_eq!((count("inside"), count("left") + count("right")), (2, 1), "{mode} {names:?}");
        assert!(names.contains(&"normal_m_inside_kernel_0_0_0_1"), "{names:?}");
        assert_eq!(run.outcome.summaries[0].counts.skipped.of(Skip::NeverDue), 1, "{mode}");
    }
}

#[test]
fn t4_sources_are_dumped_with_their_consumers() {
    let program = program(
        json!([
            { "kind": "other", "op_type": "Data", "name": "d", "uses": [tensor(0, "write")] },
            { "kind": "kernel", "name": "k", "uses": [tensor(0, "read"), tensor(1, "write")] },
        ]),
        json!({}),
    );
    let run = ran(&program, json!({ "acl": acl(r#""dump_list": [{"layer": ["d"]}]"#) }));
    assert_eq!(run.names(), ["normal_m_d_Data_0_0_1"]);
}

#[test]
fn references_redirect_the_address_and_bad_ones_are_skipped() {
    let program = |reference: &str| {
        program(
            json!([
                { "kind": "kernel", "name": "raw", "uses": [tensor(0, "write")] },
                { "kind": "kernel", "name": "aipp", "uses": [tensor(1, "write")], "attributes": { "_datadump_ref": { "output:0": reference } } },
            ]),
            json!({}),
        )
    };
    let run = ran(&program("raw:output:0"), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
    assert_eq!(run.file("aipp_kernel_0_0_1").outputs[0].data, run.file("raw_kernel_0_0_0").outputs[0].data);
    for bad in ["raw:output:x", "nobody:output:0", "raw:output:7"] {
        let run = ran(&program(bad), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
        assert_eq!(run.names(), ["normal_m_raw_kernel_0_0_0"], "{bad}");
        assert_eq!(run.outcome.summaries[0].counts.skipped.of(Skip::BadReference), 1, "{bad}");
    }
}

#[test]
fn l1_tensors_become_a_buffer_in_static_and_are_skipped_in_dynamic_programs() {
    let program = |mode: &str| {
        program(
            json!([{ "kind": "kernel", "name": "k", "uses": [tensor(0, "write"), tensor(1, "write")] }]),
            json!({ "mode": mode, "allocations": [{ "index": 0, "size": 16, "memory": "l1" }, { "index": 1, "size": 16 }] }),
        )
    };
    let run = ran(&program("static"), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
    let file = run.file("normal_m_k_kernel_0_0_0");
    assert_eq!((file.outputs.len(), file.buffers.as_slice()), (1, &[2 << 20][..]));
    assert_eq!(run.skipped(0), "l1_memory:1");
    let run = ran(&program("dynamic"), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
    assert_eq!(
        (run.file("normal_m_k_kernel_0_0_0").buffers.len(), run.skipped(0).as_str()),
        (0, "l1_memory:1")
    );
}

#[test]
fn p34_optional_empty_outputs_are_skipped_required_ones_recorded() {
    let empty = |optional: bool| json!({ "allocation": 0, "size": 0, "access": "write", "dtype": "FLOAT", "shape": [0, 4], "optional": optional });
    for mode in ["static", "dynamic"] {
        let run = |optional: bool| {
            let program = program(
                json!([{ "kind": "kernel", "name": "k", "uses": [empty(optional), tensor(1, "write")] }]),
                json!({ "mode": mode }),
            );
            ran(&program, json!({ "acl": acl(r#""dump_list": [{}]"#) }))
        };
        assert_eq!(
            (run(true).skipped(0).as_str(), run(true).file("_k_kernel_0_0_0").outputs.len()),
            ("empty_shape:1", 1),
            "{mode}"
        );
        let required = run(false);
        let sizes: Vec<usize> =
            required.file("_k_kernel_0_0_0").outputs.iter().map(|o| o.data.len()).collect();
        assert_eq!(sizes, [0, 16], "{mode}");
    }
}

#[test]
fn the_watcher_dumps_nodes_again_after_layers() {
    let run = ran(
        &chain(false),
        json!({ "acl": acl(r#""dump_scene": "watcher", "dump_list": [{"layer": ["b", "c"], "watcher_nodes": ["a"]}]"#) }),
    );
    assert_eq!(run.names(), ["normal_m_b_To_a_Add_0_0_1", "normal_m_c_To_a_Add_0_0_2"]);
    let dynamic = ran(
        &chain(true),
        json!({ "iterations": 3, "acl": acl(r#""dump_scene": "watcher", "dump_list": [{"layer": ["b"], "watcher_nodes": ["a"]}]"#) }),
    );
    assert!(dynamic.names().is_empty());
    assert_eq!(
        dynamic.log.iter().filter(|line| line.contains("the watcher is for static programs")).count(),
        1
    );
}

#[test]
fn synchronous_and_asynchronous_runs_write_the_same_files() {
    for dynamic in [false, true] {
        let scenario = scenario(
            json!({ "acl": acl(ALL), "iterations": 3, "run": { "mode": "concurrent", "seed": "3", "pending": "all" } }),
        );
        let one = run_with(&chain(dynamic), &scenario, Layout::Seed, false);
        let two = run_with(&chain(dynamic), &scenario, Layout::Seed, true);
        assert_eq!(one.names(), two.names());
        let data = |run: &Ran| {
            run.files
                .iter()
                .filter(|(path, _)| !path.ends_with(".jsonl"))
                .map(|(_, bytes)| bytes.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(data(&one), data(&two));
    }
}

/// A disk that takes `left` files.
#[derive(Debug)]
struct Disk {
    left: u32,
    loss: Loss,
    inner: MemoryStore,
}

impl Store for Disk {
    fn write(&mut self, path: &str, parts: &[&[u8]]) -> Result<(), StoreError> {
        self.left = self.left.checked_sub(1).ok_or(StoreError::Lost(self.loss))?;
        self.inner.write(path, parts)
    }
    fn append(&mut self, path: &str, text: &str) -> Result<(), Loss> {
        if self.left == 0 { Err(self.loss) } else { self.inner.append(path, text) }
    }
}

#[test]
fn every_lost_tensor_is_counted_with_its_cause_and_the_log_says_what_to_do() {
    for (loss, word) in
        [(Loss::Full, "free space"), (Loss::ReadOnly, "can be written"), (Loss::Vanished, "do not remove")]
    {
        let disk = Disk { left: 2, loss, inner: MemoryStore::default() };
        let mut sink = FileSink::new(disk, Layout::Seed);
        let mut lines = Lines::default();
        let output = Output { sink: &mut sink, journal: &mut lines, sync: false, batch: 0 };
        let scenario = scenario(json!({ "acl": acl(ALL), "iterations": 2 }));
        let outcome =
            run(&chain(false), &scenario, &fine, None, output).expect("the model's result is untouched");
        let written = sink.written();
        assert_eq!((written.files, written.tensors, written.lost[loss.name()]), (2, 4, 8));
        assert_eq!(outcome.lost.of(Skip::WriteFailed), 8);
        assert_eq!(outcome.summaries[1].counts.skipped.of(Skip::WriteFailed), 6);
        let told = lines.lines.iter().filter(|line| line.text.contains(word)).count();
        assert!((1..=2).contains(&told), "{:#?}", lines.lines);
    }
}

#[test]
fn a_small_staging_area_drops_whole_records_and_counts_them() {
    let mut sink = FileSink::new(MemoryStore::default(), Layout::Seed);
    let mut lines = Lines::default();
    let output = Output { sink: &mut sink, journal: &mut lines, sync: false, batch: 300 };
    let outcome =
        run(&chain(false), &scenario(json!({ "acl": acl(ALL) })), &fine, None, output).expect("runs");
    let counts = &outcome.summaries[0].counts;
    assert_eq!(counts.tensors + counts.skipped.of(Skip::QueueFull), 6);
    assert!(counts.skipped.of(Skip::QueueFull) > 0);
    assert_eq!(lines.lines.iter().filter(|line| line.text.contains("staging area full")).count(), 1);
    for (path, bytes) in sink.store.files.iter().filter(|(path, _)| !path.ends_with(".jsonl")) {
        assert!(!read_file(bytes).outputs.is_empty(), "{path}");
    }
}

#[test]
fn long_names_are_hashed_and_mapped() {
    let long = "op/".repeat(120);
    let program =
        program(json!([{ "kind": "kernel", "name": long, "uses": [tensor(0, "write")] }]), json!({}));
    let run = ran(&program, json!({ "acl": acl(r#""dump_list": [{}]"#) }));
    let mapping = String::from_utf8(run.files["T/mapping.csv"].clone()).expect("text");
    let (hash, name) = mapping.trim_end().split_once(',').expect("one line");
    assert_eq!(name, format!("normal_m_{}_kernel_0_0_0", "op_".repeat(120)));
    assert_eq!(run.names(), [hash]);
    assert_eq!(hash, crate::digest::Digest::of(name.as_bytes()).0.to_string());
    let manifest = String::from_utf8(run.files["T/manifest.jsonl"].clone()).expect("text");
    let line: Value = serde_json::from_str(manifest.trim_end()).expect("a line of JSON");
    assert_eq!((line["op"].as_str(), line["hashed"].as_str()), (Some(long.as_str()), Some(name)));
}

#[test]
fn the_manifest_has_everything_that_a_name_cannot_say() {
    let run = ran(&chain(false), json!({ "acl": acl(r#""dump_list": [{"layer": ["b"]}]"#) }));
    let manifest = String::from_utf8(run.files["T/manifest.jsonl"].clone()).expect("text");
    let line: Value = serde_json::from_str(manifest.trim_end()).expect("one line");
    for (field, expected) in [
        ("format", json!("thunkscope.dump-record/1")),
        ("file", json!("T/normal_m_b_Add_0_0_1")),
        ("op", json!("b")),
        ("op_type", json!("Add")),
        ("iteration", json!(0)),
        ("stream", json!(0)),
        ("task", json!(1)),
    ] {
        assert_eq!(line[field], expected, "{field}");
    }
    assert_eq!(line["tensors"][0]["dtype"], "FLOAT");
    assert_eq!(line["tensors"][0]["size"], 16);
}

#[test]
fn scenarios_that_are_none() {
    for (text, code) in
        [("", "DU040"), ("{}", "DU041"), (r#"{"format": "x"}"#, "DU041"), (r#"{"formt": "x"}"#, "DU040")]
    {
        assert_eq!(
            Scenario::read(text.as_bytes()).map_err(|error| error.code.clone()),
            Err(code.to_owned()),
            "{text}"
        );
    }
}
