//! What is dumped of small models, and that ranges are the FSM walked over all ops.

use serde_json::json;

use super::*;
use crate::dump::acl::{self, AclLayer};
use crate::dump::path::PathState;
use crate::program::Program;
use crate::program::json;

/// A model from its JSON: the entry's thunks, and more fields of the program.
pub(in crate::dump) fn model_of(thunks: serde_json::Value, more: serde_json::Value) -> Model {
    let mut text = json!({ "format": json::FORMAT, "name": "m", "sequence": { "thunks": thunks } });
    for (name, value) in more.as_object().into_iter().flatten() {
        text[name] = value.clone();
    }
    let program: Program = json::read(text.to_string().as_bytes()).expect("a program").program;
    let read = Model::read(&program);
    assert_eq!(read.warnings, [], "{text}");
    read.model
}

/// The properties of an ACL document.
pub(in crate::dump) fn properties_of(fields: &str) -> Properties {
    let text = format!(r#"{{"dump": {{"dump_path": "/d", {fields}}}}}"#);
    match acl::read(text.as_bytes(), &|_: &str| PathState::Fine) {
        Ok((AclLayer::Set(document), _)) => document.properties(),
        other => panic!("{fields}: {other:?}"),
    }
}

/// `a b c`: ops in program order, each reading the one before; op type Add.
fn chain(names: &str) -> Model {
    let thunks: Vec<_> = names
        .split(' ')
        .enumerate()
        .map(|(i, name)| {
            json!({ "kind": "kernel", "name": name, "op_type": "Add", "uses": [
                { "allocation": i, "size": 16, "access": "read", "dtype": "FLOAT", "shape": [4] },
                { "allocation": i + 1, "size": 16, "access": "write", "dtype": "FLOAT", "shape": [4] },
            ]})
        })
        .collect();
    model_of(json!(thunks), json!({}))
}

/// Per op: its name and `+` with the tensors dumped (`i0 o0`), or `-` with the reason.
fn shown(model: &Model, properties: &Properties) -> String {
    let selection = Selection::new(model, properties, Matching::Union);
    let one = |(op, choice): (&Op, &Choice)| {
        if let Some(skip) = choice.skip {
            return format!("{}-{skip}", op.name);
        }
        let mut parts = vec![format!("{}+", op.name)];
        for (letter, list) in [("i", &choice.inputs), ("o", &choice.outputs)] {
            for (index, skip) in list.iter().enumerate() {
                match skip {
                    None => parts.push(format!("{letter}{index}")),
                    Some(Skip::ModeExcludes) => {}
                    Some(skip) => parts.push(format!("{letter}{index}:{skip}")),
                }
            }
        }
        parts.join(" ")
    };
    model.ops.iter().zip(selection.choices()).map(one).collect::<Vec<_>>().join(", ")
}

#[track_caller]
fn check(model: &Model, fields: &str, expected: &str) {
    assert_eq!(shown(model, &properties_of(fields)), expected, "{fields}");
}

#[test]
fn modes() {
    let model = chain("a b");
    check(&model, r#""dump_list": [{}]"#, "a+ o0, b+ o0");
    check(&model, r#""dump_mode": "input", "dump_list": [{}]"#, "a+ i0, b+ i0");
    check(&model, r#""dump_mode": "all", "dump_list": [{}]"#, "a+ i0 o0, b+ i0 o0");
    check(&model, r#""dump_debug": "on""#, "a+ i0 o0, b+ i0 o0");
    assert_eq!(shown(&model, &Properties::default()), "a-off, b-off");
}

#[test]
fn layers_and_models() {
    let model = chain("a b");
    check(&model, r#""dump_list": [{"layer": ["b"]}]"#, "a-not_selected, b+ o0");
    check(&model, r#""dump_list": [{"model_name": "m", "layer": ["b"]}]"#, "a-not_selected, b+ o0");
    check(&model, r#""dump_list": [{"model_name": "x"}]"#, "a-model_name_mismatch, b-model_name_mismatch");
}

#[test]
fn t3_om_name_is_preferred_and_t1_root_graph_matches() {
    let thunks = json!([{ "kind": "kernel", "name": "a" }, { "kind": "kernel", "name": "b" }]);
    let model = model_of(thunks, json!({ "model_name": "inner", "om_name": "om", "root_graph": "root" }));
    check(
        &model,
        r#""dump_list": [{"model_name": "om", "layer": ["a"]}, {"model_name": "inner", "layer": ["b"]}]"#,
        "a+, b-not_selected",
    );
    check(&model, r#""dump_list": [{"model_name": "inner"}]"#, "a+, b+");
    check(&model, r#""dump_list": [{"model_name": "root"}]"#, "a+, b+");
}

#[test]
fn original_names_select() {
    let model = model_of(
        json!([
            { "kind": "kernel", "name": "fused", "original_names": ["conv1", "relu1"] },
            { "kind": "kernel", "name": "x", "attributes": { "_datadump_original_op_names": ["pool1"] } },
        ]),
        json!({}),
    );
    check(&model, r#""dump_list": [{"layer": ["relu1"]}]"#, "fused+, x-not_selected");
    check(&model, r#""dump_list": [{"layer": ["pool1"]}]"#, "fused-not_selected, x+");
}

#[test]
fn blacklists_skip_single_tensors() {
    let model = chain("a b");
    let list = |kind: &str, name: &str, pos: &str| {
        format!(
            r#""dump_mode": "all", "dump_level": "op", "dump_list": [{{"{kind}": [{{"name": "{name}", "pos": ["{pos}"]}}]}}]"#
        )
    };
    check(&model, &list("opname_blacklist", "a", "input0"), "a+ i0:blacklisted o0, b+ i0 o0");
    check(&model, &list("optype_blacklist", "Add", "output0"), "a+ i0 o0:blacklisted, b+ i0 o0:blacklisted");
    // The list of a named model, by each of its names; of another model, not at all.
    for (model_name, hit) in [("m", true), ("x", false)] {
        let fields = format!(
            r#""dump_level": "op", "dump_list": [{{}}, {{"model_name": "{model_name}", "opname_blacklist": [{{"name": "a", "pos": ["output0"]}}]}}]"#
        );
        check(&model, &fields, if hit { "a+ o0:blacklisted, b+ o0" } else { "a+ o0, b+ o0" });
    }
}

/// Blacklist × {om, model, root, any} × {input, output} × {type, name}: exactly that tensor is skipped.
#[test]
fn every_way_to_be_on_a_blacklist() {
    let uses = json!([{ "allocation": 0, "size": 4, "access": "read" }, { "allocation": 1, "size": 4, "access": "write" }]);
    let names = json!({ "model_name": "inner", "om_name": "om", "root_graph": "root" });
    let model = model_of(
        json!([{ "kind": "kernel", "name": "a", "op_type": "A", "uses": uses }, { "kind": "kernel", "name": "b", "op_type": "B", "uses": uses }]),
        names,
    );
    for of in [r#""model_name": "om","#, r#""model_name": "inner","#, r#""model_name": "root","#, ""] {
        for (list, name) in [("optype_blacklist", "A"), ("opname_blacklist", "a")] {
            for (pos, a) in [
                ("input0", "a+ i0:blacklisted o0"),
                ("output0", "a+ i0 o0:blacklisted"),
                ("output1", "a+ i0 o0"),
            ] {
                let fields = format!(
                    r#""dump_mode": "all", "dump_level": "op", "dump_list": [{{}}, {{{of} "{list}": [{{"name": "{name}", "pos": ["{pos}"]}}]}}]"#
                );
                check(&model, &fields, &format!("{a}, b+ i0 o0"));
            }
        }
    }
    // Two lists for one key are united.
    let twice = r#""dump_mode": "all", "dump_level": "op", "dump_list": [{"opname_blacklist": [{"name": "a", "pos": ["input0"]}]}, {"opname_blacklist": [{"name": "a", "pos": ["output0"]}]}]"#;
    check(&model, twice, "a+ i0:blacklisted o0:blacklisted, b+ i0 o0");
}

#[test]
fn sources_contexts_and_nested_ops_take_no_part_in_ranges() {
    let write = |at: u64| json!([{ "allocation": at, "size": 4, "access": "write" }]);
    let model = model_of(
        json!([
            { "kind": "kernel", "name": "a", "uses": write(0) },
            { "kind": "other", "op_type": "Data", "name": "d", "uses": write(1) },
            { "kind": "kernel", "name": "f", "uses": write(2), "contexts": [{ "context_id": 0, "thread_id": 0, "outputs": [{ "allocation": 2, "size": 4 }] }] },
            { "kind": "call", "name": "sub", "nested": [{ "role": "call", "sequence": { "thunks": [{ "kind": "kernel", "name": "n", "uses": write(3) }] } }] },
            { "kind": "kernel", "name": "b", "uses": write(4) },
        ]),
        json!({}),
    );
    let range = |begin: &str, end: &str| {
        properties_of(&format!(
            r#""dump_level": "op", "dump_list": [{{"model_name": "m", "opname_range": [{{"begin": "{begin}", "end": "{end}"}}]}}]"#
        ))
    };
    let selection = Selection::new(&model, &range("a", "b"), Matching::Union);
    let inside: Vec<&str> = model
        .ops
        .iter()
        .zip(selection.choices())
        .filter(|(_, choice)| choice.skip.is_none())
        .map(|(op, _)| op.name.as_str())
        .collect();
    assert!(inside.contains(&"a") && inside.contains(&"b"), "{inside:?}");
    assert!(!inside.iter().any(|name| ["d", "f", "n"].contains(name)), "{inside:?}");
    // An op with contexts still opens and closes a range for the others.
    let closed = Selection::new(&model, &range("a", "f"), Matching::Union);
    let at = |name: &str| model.ops.iter().position(|op| op.name == name).expect(name) as OpId;
    assert_eq!(
        (closed.op(at("a")).skip, closed.op(at("f")).skip, closed.op(at("b")).skip),
        (None, Some(Skip::NotSelected), Some(Skip::NotSelected))
    );
    let nested = Selection::new(&model, &range("n", "b"), Matching::Union);
    assert!(
        nested.lines.iter().any(|line| line.grade == Grade::Warning && line.text.contains("nested")),
        "{:?}",
        nested.lines
    );
}

#[test]
fn layers_join_ranges_and_the_om_names_ranges_come_first() {
    let model = chain("a b c d");
    let both = r#""dump_level": "op", "dump_list": [{"model_name": "m", "layer": ["d"], "opname_range": [{"begin": "a", "end": "b"}]}]"#;
    check(&model, both, "a+ o0, b+ o0, c-not_selected, d+ o0");
    let model = Model { om_name: Some("om".to_owned()), ..model };
    let two = r#""dump_level": "op", "dump_list": [
        {"model_name": "m", "opname_range": [{"begin": "a", "end": "a"}]}, {"model_name": "om", "opname_range": [{"begin": "c", "end": "d"}]}]"#;
    check(&model, two, "a-not_selected, b-not_selected, c+ o0, d+ o0");
}

#[test]
fn ranges_select_by_launch_order() {
    let model = chain("a b c d e f");
    let range = |ranges: &str| {
        format!(r#""dump_level": "op", "dump_list": [{{"model_name": "m", "opname_range": [{ranges}]}}]"#)
    };
    check(
        &model,
        &range(r#"{"begin": "b", "end": "d"}, {"begin": "c", "end": "e"}"#),
        "a-not_selected, b+ o0, c+ o0, d+ o0, e+ o0, f-not_selected",
    );
    let wrong = properties_of(&range(r#"{"begin": "d", "end": "b"}"#));
    let selection = Selection::new(&model, &wrong, Matching::Union);
    assert!(selection.lines[0].text.contains("range d..b"), "{:?}", selection.lines);
    assert!(!selection.any());
}

#[test]
fn l1_host_missing_and_sources() {
    let model = model_of(
        json!([
            { "kind": "other", "op_type": "Data", "name": "d", "uses": [{ "allocation": 0, "size": 4, "access": "write" }] },
            { "kind": "kernel", "name": "k", "uses": [
                { "allocation": 0, "size": 4, "access": "read", "input": 0 },
                { "allocation": 1, "size": 4, "access": "read", "input": 2 },
                { "allocation": 2, "size": 4, "access": "write", "output": 1 },
            ], "attributes": { "_datadump_ref": { "output:1": "d:output:0" } } },
            { "kind": "other", "op_type": "NetOutput", "name": "n" },
        ]),
        json!({ "allocations": [
            { "index": 0, "size": 4 }, { "index": 1, "size": 4, "memory": "l1" }, { "index": 2, "size": 4, "memory": "host" },
        ] }),
    );
    // T9: a missing optional argument keeps its place.
    check(
        &model,
        r#""dump_mode": "all", "dump_list": [{}]"#,
        "d-no_task, k+ i0 i1:null_address i2:l1_memory o0:null_address o1, n-not_selected",
    );
}

#[test]
fn the_watcher_watches_in_static_programs_only() {
    let fields = r#""dump_scene": "watcher", "dump_list": [{"layer": ["a"], "watcher_nodes": ["b"]}]"#;
    let model = chain("a b");
    check(&model, fields, "a-not_selected, b-not_selected");
    let selection = Selection::new(&model, &properties_of(fields), Matching::Union);
    assert_eq!((selection.op(0).watched.as_slice(), selection.op(1).watched.as_slice()), (&[1][..], &[][..]));
    let dynamic = Model { dynamic: true, ..model };
    check(&dynamic, fields, "a-watcher_unsupported, b-watcher_unsupported");
}

#[test]
fn unknown_layers_are_told_with_the_nearest_name() {
    let model = chain("conv1 relu1");
    let selection = Selection::new(
        &model,
        &properties_of(r#""dump_list": [{"layer": ["cnov1", "relu1"]}]"#),
        Matching::Union,
    );
    let lines: Vec<&str> = selection.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["[Dumper] layer `cnov1` is not in model `m`; did you mean `conv1`?"]);
    let other =
        Selection::new(&model, &properties_of(r#""dump_list": [{"model_name": "M"}]"#), Matching::Union);
    assert!(!other.any());
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The sparse walk over ranges is the FSM fed with every op, for every range.
        #[test]
        fn sparse_ranges_are_the_fsm_walked_over_all_ops(
            ops in proptest::collection::vec(0..6u8, 1..30),
            ranges in proptest::collection::vec((0..6u8, 0..6u8), 1..5),
        ) {
            let name = |n: u8| ((b'a' + n) as char).to_string();
            let names: Vec<String> = ops.iter().map(|&n| name(n)).collect();
            let model = chain(&names.join(" "));
            let mut properties = properties_of(r#""dump_level": "op", "dump_list": [{"model_name": "m"}]"#);
            let list: Vec<_> = ranges.iter().map(|&(b, e)| (name(b), name(e))).collect();
            properties.ranges.insert("m".to_owned(), list.clone());
            let selection = Selection::new(&model, &properties, Matching::Union);
            let mut walks: Vec<_> = list.iter().map(|(b, e)| RangeWalk::new(b, e)).collect();
            for (index, op) in names.iter().enumerate() {
                let inside = walks.iter_mut().fold(false, |any, walk| walk.step(op) | any);
                prop_assert_eq!(selection.op(index as u32).skip.is_none(), inside, "{} in {:?} of {:?}", index, list, names);
            }
        }
    }
}
