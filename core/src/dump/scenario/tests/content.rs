//! What is in a record, by mode, kind of dump and place (ge-dump spec §4.2, §4.3, §5.6, §6, §7).

use super::*;

/// One op that reads, writes and has a workspace; `more` are its further fields.
fn op_with(mode: &str, more: Value) -> Program {
    let mut op = json!({ "kind": "kernel", "name": "k", "op_type": "Conv", "uses": [tensor(0, "read"), tensor(1, "write")],
        "workspace": [{ "allocation": 2, "offset": 0, "size": 24 }] });
    for (name, value) in more.as_object().into_iter().flatten() {
        op[name] = value.clone();
    }
    program(json!([op]), json!({ "mode": mode, "allocations": [{ "index": 2, "size": 24 }] }))
}

/// Numbers of inputs, outputs and workspaces in the first file of that scenario; none without a file.
fn parts(ran: &Ran, scenario: &str) -> Option<(usize, usize, usize)> {
    let name =
        ran.names().into_iter().find(|name| name.starts_with(scenario) && name.contains("_k_"))?.to_owned();
    let file = ran.file(&name);
    Some((file.inputs.len(), file.outputs.len(), file.workspaces.len()))
}

#[test]
fn every_row_of_what_a_task_contains() {
    for mode in ["static", "dynamic"] {
        let check = |fields: &str, more: Value, expected: Option<(usize, usize, usize)>| {
            let ran = ran(&op_with(mode, more), json!({ "acl": acl(fields) }));
            assert_eq!(parts(&ran, "normal"), expected, "{mode} {fields}");
        };
        check(r#""dump_mode": "output", "dump_list": [{}]"#, json!({}), Some((0, 1, 0)));
        check(r#""dump_mode": "input", "dump_list": [{}]"#, json!({}), Some((1, 0, 0)));
        check(r#""dump_mode": "all", "dump_list": [{}]"#, json!({}), Some((1, 1, 1)));
        let before = json!({ "attributes": { "preprocess": true } });
        check(r#""dump_mode": "output", "dump_list": [{}]"#, before, Some((0, 0, 1)));
        // Op debug: everything, whatever the mode.
        let overflows = json!([{ "iteration": 0, "node": 0 }]);
        for fields in [r#""dump_debug": "on""#, r#""dump_debug": "on", "dump_mode": "input""#] {
            let ran = ran(&op_with(mode, json!({})), json!({ "acl": acl(fields), "overflows": overflows }));
            assert_eq!(parts(&ran, "overflow"), Some((1, 1, 1)), "{mode} {fields}");
        }
    }
}

#[test]
fn an_exception_has_everything_whatever_mode_and_blacklist_say() {
    let fields = r#""dump_scene": "aic_err_norm_dump", "dump_mode": "input""#;
    for mode in ["static", "dynamic"] {
        let ran = ran(&op_with(mode, json!({})), json!({ "acl": acl(fields), "failures": [{ "node": 0 }] }));
        assert_eq!(parts(&ran, "exception"), Some((1, 1, 1)), "{mode}");
    }
    // With data dump beside it, through environment and options: the blacklist is data's alone.
    let data =
        json!({ "ge.exec.enableDump": "1", "ge.exec.dumpPath": "/d", "ge.exec.enable_exception_dump": "1" });
    let ran = ran(&op_with("dynamic", json!({})), json!({ "options": data, "failures": [{ "node": 0 }] }));
    assert_eq!(parts(&ran, "exception"), Some((1, 1, 1)));
    assert_eq!(parts(&ran, "normal"), None, "a failed op has no outputs to dump");
}

#[test]
fn blacklists_leave_workspaces_and_overflows_record_alone() {
    let black = r#""dump_level": "op", "dump_mode": "all", "dump_list": [{"opname_blacklist": [{"name": "k", "pos": ["input0", "output0"]}]}]"#;
    for mode in ["static", "dynamic"] {
        let ran = ran(&op_with(mode, json!({})), json!({ "acl": acl(black) }));
        // Both tensors are skipped, the task is there all the same.
        assert_eq!(parts(&ran, "normal"), Some((0, 0, 1)), "{mode}");
        assert!(ran.skipped(0).contains("blacklisted:2"), "{mode}: {}", ran.skipped(0));
    }
}

#[test]
fn what_an_output_was_before_fusion_stands_in_its_record() {
    let more = json!({ "attributes": {
        "_datadump_origin_name": { "output:0": "conv1" }, "_datadump_origin_output_index": { "output:0": 2 },
        "_datadump_origin_data_type": { "output:0": "FLOAT16" }, "_datadump_origin_format": { "output:0": "NCHW" },
    } });
    for mode in ["static", "dynamic"] {
        let ran = ran(&op_with(mode, more.clone()), json!({ "acl": acl(r#""dump_list": [{}]"#) }));
        let file = ran.file("normal_m_k_Conv_0_0_0");
        assert_eq!(file.outputs[0].original, Some(("conv1".to_owned(), 2, 2, 0)), "{mode}");
        assert!(file.time < 1_000_000, "microseconds of the simulator's clock");
    }
}

#[test]
fn a_static_collective_with_a_reference_is_dumped_once_at_the_others_address() {
    let program = |reference: Value| {
        program(
            json!([
                { "kind": "kernel", "name": "w", "uses": [tensor(0, "write")] },
                { "kind": "all-reduce", "name": "r", "op_type": "HcomAllReduce", "uses": [tensor(0, "read"), tensor(1, "write")], "attributes": reference },
            ]),
            json!({}),
        )
    };
    let fields = acl(r#""dump_mode": "all", "dump_list": [{"layer": ["r"]}]"#);
    let redirected = ran(
        &program(json!({ "_datadump_ref": { "input:0": "w:output:0", "output:0": "w:output:0" } })),
        json!({ "acl": fields }),
    );
    // It completes on a lane of the pool.
    assert_eq!(redirected.names(), ["normal_m_r_HcomAllReduce_0_1_1"]);
    let file = redirected.file("normal_m_r_HcomAllReduce_0_1_1");
    assert_eq!(file.inputs[0].data, file.outputs[0].data, "both are what w wrote");
    let plain = ran(&program(json!({})), json!({ "acl": fields }));
    assert_eq!(plain.names(), ["normal_m_r_HcomAllReduce_0_0_1_in", "normal_m_r_HcomAllReduce_0_1_1_out"]);
}

#[test]
fn blacklists_and_ranges_apply_to_collectives_as_to_any_op() {
    let program = program(
        json!([
            { "kind": "kernel", "name": "a", "uses": [tensor(0, "write")] },
            { "kind": "all-reduce", "name": "r", "uses": [tensor(0, "read"), tensor(1, "write")] },
        ]),
        json!({ "mode": "dynamic" }),
    );
    let black = acl(
        r#""dump_level": "op", "dump_mode": "all", "dump_list": [{"layer": ["r"], "opname_blacklist": [{"name": "r", "pos": ["input0"]}]}]"#,
    );
    let names = |acl: Value| ran(&program, json!({ "acl": acl })).names().join(" ");
    assert_eq!(names(black), "normal_m_r_all-reduce_0_1_1_out");
    let range = acl(
        r#""dump_level": "op", "dump_list": [{"model_name": "m", "opname_range": [{"begin": "r", "end": "r"}]}]"#,
    );
    assert_eq!(names(range), "normal_m_r_all-reduce_0_1_1_out");
}

#[test]
fn levels_of_an_exception_differ_in_attributes_and_names() {
    let more = json!({ "tiling": "ab".repeat(800), "attributes": { "alpha": 3 } });
    let run_at = |scene: &str| {
        let fields =
            json!({ "acl": acl(&format!(r#""dump_scene": "{scene}""#)), "failures": [{ "node": 0 }] });
        run_with(&op_with("static", more.clone()), &scenario(fields), Layout::Cann, false)
    };
    let (brief, norm) = (run_at("aic_err_brief_dump"), run_at("aic_err_norm_dump"));
    let lines = |ran: &Ran, part: &str| ran.log.iter().filter(|line| line.contains(part)).count();
    // 1600 characters in pieces of 750.
    assert_eq!((lines(&brief, "[AIC_INFO] op `k` tiling"), lines(&norm, "[AIC_INFO] op `k` tiling")), (3, 3));
    assert_eq!((lines(&brief, "[AIC_INFO] op `k` alpha"), lines(&norm, "[AIC_INFO] op `k` alpha")), (0, 1));
    let path = |ran: &Ran| {
        ran.files.keys().find(|path| path.starts_with("extra-info/data-dump/0/")).cloned().expect("a file")
    };
    // L0: stream, task, milliseconds; L1: type, name, task, microseconds, without the stream.
    assert!(path(&brief).ends_with("/exception_info.0.0.0"), "{}", path(&brief));
    assert!(path(&norm).contains("/Conv.k.0."), "{}", path(&norm));
    for ran in [&brief, &norm] {
        assert_eq!(lines(ran, "ERROR [Dump][Exception] dump exception to file, file:"), 1);
    }
}

#[test]
fn p22_a_failed_iteration_counts_like_any_other() {
    for dynamic in [false, true] {
        let b = if dynamic { 5 } else { 1 };
        let fields =
            json!({ "acl": acl(r#""dump_list": [{}]"#), "iterations": 3, "failures": [{ "node": b }] });
        let ran = ran(&chain(dynamic), fields);
        let iterations: Vec<u64> = ran.outcome.summaries.iter().map(|summary| summary.iteration).collect();
        assert_eq!(iterations, [0, 1, 2]);
        // b failed and c was not run: neither is due, in each iteration anew.
        for (n, name) in ran.names().iter().enumerate() {
            assert!(name.starts_with(&format!("normal_m_a_Add_{n}_")), "{:?}", ran.names());
        }
        assert_eq!(ran.outcome.summaries[2].counts.skipped.of(Skip::NeverDue), 2, "dynamic {dynamic}");
    }
}

#[test]
fn records_carry_the_name_that_was_configured() {
    let named = |model: &str| {
        let program = program(
            json!([{ "kind": "kernel", "name": "k", "uses": [tensor(0, "write")] }]),
            json!({ "model_name": "inner", "om_name": "om", "root_graph": "root" }),
        );
        ran(&program, json!({ "acl": acl(&format!(r#""dump_list": [{{{model}}}]"#)) }))
            .names()
            .first()
            .map(|name| name.split('_').nth(1).unwrap_or("").to_owned())
    };
    for (configured, expected) in [
        (r#""model_name": "om""#, Some("om")),
        (r#""model_name": "inner""#, Some("inner")),
        (r#""model_name": "root""#, Some("root")),
        (r#""model_name": "other""#, None),
        ("", Some("inner")),
    ] {
        assert_eq!(named(configured), expected.map(str::to_owned), "{configured}");
    }
}

#[test]
fn addresses_that_move_are_taken_at_the_time_of_the_dump() {
    // Two ops write one allocation one after the other: each record has what its own op wrote.
    let program = program(
        json!([
            { "kind": "kernel", "name": "x", "uses": [tensor(0, "write")] },
            { "kind": "kernel", "name": "y", "uses": [tensor(0, "write")] },
        ]),
        json!({ "mode": "dynamic" }),
    );
    let ran = ran(&program, json!({ "acl": acl(r#""dump_list": [{}]"#) }));
    assert_ne!(ran.file("_x_kernel_0_0_0").outputs[0].data, ran.file("_y_kernel_0_0_1").outputs[0].data);
}

/// The log that a scenario writes: its own schema is checked in the tests across crates.
#[test]
fn the_log_tells_each_step_of_a_record_in_order() {
    use crate::dump::event::{DumpLog, Event};
    use crate::trace::{EventKind, MixedKind};
    let list = acl(r#""dump_list": [{"layer": ["b"]}]"#);
    let scenario = scenario(
        json!({ "acl": list, "iterations": 2, "switches": [{ "iteration": 0, "after": 0, "to": "off" }] }),
    );
    let mut sink = FileSink::new(MemoryStore::default(), Layout::Seed);
    let output = Output { sink: &mut sink, journal: &mut (), sync: true, batch: 0 };
    let (_, log) =
        run_logged(&chain(false), &scenario, &fine, Some("T"), output, Bytes::Simulated).expect("runs");
    let word = |kind: &MixedKind<Event>| {
        Some(match kind {
            MixedKind::Other(Event::Latched { open, .. }) => format!("latched {open}"),
            MixedKind::Other(Event::Switched { kinds, .. }) => format!("switched {}", kinds.data),
            MixedKind::Other(Event::Copied { node, tensors, bytes }) => {
                format!("copied {node} {tensors} {bytes}")
            }
            MixedKind::Other(Event::Written { file, .. }) => format!("written {file}"),
            MixedKind::Other(Event::Summary { iteration, tensors, .. }) => {
                format!("summary {iteration} {tensors}")
            }
            MixedKind::Other(other) => format!("{other:?}"),
            MixedKind::Executor(EventKind::Finished { node }) => format!("finished {node}"),
            MixedKind::Executor(_) => return None,
        })
    };
    let words: Vec<String> = log.events.iter().filter_map(|event| word(&event.kind)).collect();
    assert_eq!(
        words,
        [
            "latched true",
            "finished 0",
            "switched false",
            "finished 1",
            "copied 1 1 16",
            "written T/normal_m_b_Add_0_0_1",
            "finished 2",
            "summary 0 1",
            "latched false",
            "finished 0",
            "finished 1",
            "finished 2",
            "summary 1 0",
        ]
    );
    assert_eq!(DumpLog::from_json_lines(&log.to_json_lines()), Ok(log.clone()));
    // Whoever has no use for records reads the rest.
    assert_eq!(crate::trace::Log::from_json_lines(&log.to_json_lines()), Ok(log.executor()));
}
