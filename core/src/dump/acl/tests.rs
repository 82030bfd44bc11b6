//! Every row of the validation table, and what documents mean.

use super::*;
use crate::dump::path::PathState;
use crate::dump::resolve::show_models;

fn disk(path: &str) -> PathState {
    match path {
        "/missing" => PathState::Missing,
        "/file" => PathState::NotADirectory,
        "/locked" => PathState::NoAccess,
        "/unknown" => PathState::Unknown,
        _ => PathState::Fine,
    }
}

/// `set`, `off`, `unset` with the codes and places of the warnings, or the error.
fn shown(text: &str) -> String {
    let place = |d: &Diagnostic| format!("{} {}", d.code, d.path);
    match read(text.as_bytes(), &disk) {
        Ok((layer, warnings)) => {
            let word = match layer {
                AclLayer::Unset => "unset",
                AclLayer::Off => "off",
                AclLayer::Set(_) => "set",
            };
            [word.to_owned()].into_iter().chain(warnings.iter().map(place)).collect::<Vec<_>>().join(", ")
        }
        Err(error) => place(&error),
    }
}

/// Reads the fields of a `dump` object.
#[track_caller]
fn check(fields: &str, expected: &str) {
    assert_eq!(shown(&format!(r#"{{"dump": {{{fields}}}}}"#)), expected, "{fields}");
}

/// As [`check`], with a path and a list that enables something.
#[track_caller]
fn check_with(fields: &str, expected: &str) {
    check(&format!(r#""dump_path": "/d", "dump_list": [{{}}], {fields}"#), expected);
}

/// As [`check`], for the fields of one item of the list.
#[track_caller]
fn check_item(before: &str, item: &str, expected: &str) {
    check(&format!(r#""dump_path": "/d", {before} "dump_list": [{{{item}}}]"#), expected);
}

#[test]
fn top_level() {
    assert_eq!(shown("{}"), "unset, DU002 dump");
    assert_eq!(shown(r#"{"profiler": {}}"#), "unset, DU002 dump");
    assert_eq!(shown(r#"{"dumpp": {}}"#), "unset, DU001 dumpp, DU002 dump");
    assert_eq!(shown(r#"{"dump": {}}"#), "unset, DU002 dump");
    for wrong in ["[]", "null", "1", "\"x\"", "true"] {
        assert_eq!(shown(&format!(r#"{{"dump": {wrong}}}"#)), "EP0001 dump");
    }
    for broken in ["", "{", r#"{"dump": {]}"#, "[]", "null", "\u{0}", &"[".repeat(100_000)] {
        assert_eq!(shown(broken), "EP0004 document");
    }
    assert_eq!(shown("\u{feff}{}"), "unset, DU002 dump");
}

#[test]
fn row_type_any_field_of_the_wrong_type() {
    let strings = [
        "dump_path",
        "dump_mode",
        "dump_data",
        "dump_level",
        "dump_op_switch",
        "dump_debug",
        "dump_step",
        "dump_scene",
        "dump_kernel_data",
    ];
    for field in strings {
        for wrong in ["null", "1", "[]", "{}", "true"] {
            check(&format!(r#""{field}": {wrong}"#), &format!("EP0001 {field}"));
        }
    }
    check(r#""dump_stats": "Max""#, "EP0001 dump_stats");
    check(r#""dump_stats": ["Max", 1]"#, "EP0001 dump_stats[1]");
    check(r#""dump_list": {}"#, "EP0001 dump_list");
    check(r#""dump_list": [1]"#, "EP0001 dump_list[0]");
    for (item, place) in [
        (r#""model_name": 1"#, "model_name"),
        (r#""layer": "a""#, "layer"),
        (r#""layer": ["a", null]"#, "layer[1]"),
        (r#""watcher_nodes": 1"#, "watcher_nodes"),
        (r#""optype_blacklist": {}"#, "optype_blacklist"),
        (r#""optype_blacklist": [1]"#, "optype_blacklist[0]"),
        (r#""opname_blacklist": [{"name": 1}]"#, "opname_blacklist[0].name"),
        (r#""opname_blacklist": [{"name": "a", "pos": "input0"}]"#, "opname_blacklist[0].pos"),
        (r#""opname_blacklist": [{"name": "a", "pos": [0]}]"#, "opname_blacklist[0].pos[0]"),
        (r#""opname_range": [{"begin": 1}]"#, "opname_range[0].begin"),
        (r#""opname_range": [{"begin": "a", "end": null}]"#, "opname_range[0].end"),
    ] {
        check_item("", item, &format!("EP0001 dump_list[0].{place}"));
    }
}

#[test]
fn row_value_enum_fields() {
    let fields = [
        "dump_mode",
        "dump_data",
        "dump_level",
        "dump_op_switch",
        "dump_debug",
        "dump_scene",
        "dump_kernel_data",
    ];
    for field in fields {
        check(&format!(r#""{field}": """#), &format!("EP0001 {field}"));
        check(&format!(r#""{field}": "ON""#), &format!("EP0002 {field}"));
    }
    check(r#""dump_kernel_data": "printf,tensr""#, "EP0002 dump_kernel_data");
    check(r#""dump_kernel_data": "printf,""#, "EP0002 dump_kernel_data");
    check(r#""dump_stats": ["Max", "Mean"]"#, "EP0002 dump_stats[1]");
    check(r#""dump_stats": [""]"#, "EP0001 dump_stats[0]");
    check_with(r#""dump_kernel_data": "printf,tensor,assert,timestamp""#, "set");
    let error = read(br#"{"dump": {"dump_mode": "outputs"}}"#, &disk).expect_err("no such mode");
    assert_eq!(
        (error.expected.as_str(), error.hint.as_str()),
        ("input/output/all", "did you mean `output`?")
    );
}

#[test]
fn types_are_looked_at_before_values_and_values_before_constraints() {
    check(r#""dump_mode": "x", "dump_list": 1"#, "EP0001 dump_list");
    check(r#""dump_stats": ["x"], "dump_path": """#, "EP0002 dump_stats[0]");
}

#[test]
fn row_scene() {
    check(r#""dump_scene": "lite_exception", "dump_debug": "on""#, "EP0005 dump_scene");
    check(r#""dump_scene": "watcher", "dump_op_switch": "on""#, "EP0005 dump_scene");
    check(r#""dump_scene": "watcher", "dump_mode": "all""#, "EP0005 dump_mode");
    for scene in ["lite_exception", "aic_err_brief_dump", "aic_err_norm_dump"] {
        // Stops here: no path is needed, nothing else is looked at.
        check(&format!(r#""dump_scene": "{scene}", "dump_step": "x""#), "set");
    }
    check(r#""dump_scene": "aic_err_detail_dump""#, "set, DU003 dump_scene");
}

#[test]
fn row_path() {
    let list = r#""dump_list": [{}]"#;
    check(list, "EP0001 dump_path");
    check(r#""dump_path": "", "dump_list": [{}]"#, "EP0001 dump_path");
    check(&format!(r#""dump_path": "{}", {list}"#, "a".repeat(513)), "EP0003 dump_path");
    for path in ["/missing", "/file", "/locked", "300.1.1.1:/d", "1.2.3.4:", "1.2.3.4:/a b"] {
        check(&format!(r#""dump_path": "{path}", {list}"#), "EP0003 dump_path");
    }
    check(&format!(r#""dump_path": "10.1.2.3:/missing", {list}"#), "set");
    check(&format!(r#""dump_path": "/unknown", {list}"#), "set, DU004 dump_path");
    check(r#""dump_mode": "all""#, "EP0001 dump_path");
}

#[test]
fn row_debug() {
    check(r#""dump_path": "/d", "dump_debug": "on", "dump_op_switch": "on""#, "EP0005 dump_debug");
    // Stops here: steps are not looked at.
    check(r#""dump_path": "/d", "dump_debug": "on", "dump_step": "x""#, "set");
    check_with(r#""dump_debug": "on""#, "set, DU003 dump_list");
    check(r#""dump_debug": "on""#, "EP0001 dump_path");
}

#[test]
fn row_step() {
    let many = ["1"; 101].join("|");
    for step in [&many, "1-2-3", "a", "5|", "3-", "9-3", "all"] {
        check_with(&format!(r#""dump_step": "{step}""#), "EP0003 dump_step");
    }
    for step in ["", "0", "5-5", "0|5|10-20", "001"] {
        check_with(&format!(r#""dump_step": "{step}""#), "set");
    }
}

#[test]
fn t8_row_list_present_but_empty() {
    check_item("", r#""model_name": """#, "EP0001 dump_list[0].model_name");
    check_item("", r#""layer": []"#, "EP0001 dump_list[0].layer");
    check_item("", r#""layer": ["a", ""]"#, "EP0001 dump_list[0].layer[1]");
    check_item(r#""dump_op_switch": "on","#, r#""model_name": """#, "set");
}

#[test]
fn row_list_watcher() {
    let watcher = r#""dump_scene": "watcher","#;
    check_item(watcher, r#""layer": ["a"]"#, "EP0001 dump_list[0].watcher_nodes");
    check_item(watcher, r#""watcher_nodes": []"#, "EP0001 dump_list[0].watcher_nodes");
    check_item(watcher, r#""watcher_nodes": ["w"], "model_name": "m""#, "EP0005 dump_list[0].model_name");
    check_item(watcher, r#""watcher_nodes": ["w"], "layer": ["a"]"#, "set");
    check_item("", r#""watcher_nodes": ["w"]"#, "EP0005 dump_list[0].watcher_nodes");
    check_item("", r#""watcher_nodes": []"#, "set");
}

#[test]
fn row_list_blacklist() {
    let entries = |n| vec![r#"{"name": "a", "pos": ["input0"]}"#; n].join(",");
    let op = r#""dump_level": "op","#;
    for list in ["optype_blacklist", "opname_blacklist"] {
        check_item(op, &format!(r#""{list}": [{}]"#, entries(100)), "set");
        check_item(op, &format!(r#""{list}": [{}]"#, entries(101)), &format!("EP0003 dump_list[0].{list}"));
        check_item("", &format!(r#""{list}": [{}]"#, entries(1)), &format!("EP0005 dump_list[0].{list}"));
        check_item(
            r#""dump_level": "all","#,
            &format!(r#""{list}": []"#),
            &format!("EP0005 dump_list[0].{list}"),
        );
    }
    check_item(
        op,
        r#""opname_blacklist": [{"name": "a", "pos": ["input0", "inputx", "output4294967296"]}, {"pos": ["input0"]}]"#,
        "set, DU006 dump_list[0].opname_blacklist[0].pos, DU006 dump_list[0].opname_blacklist[0].pos, DU006 dump_list[0].opname_blacklist[1]",
    );
}

#[test]
fn row_list_range() {
    let op = r#""dump_level": "op","#;
    let range = r#""opname_range": [{"begin": "a", "end": "b"}]"#;
    check_item(op, &format!(r#""model_name": "m", {range}"#), "set");
    check_item("", &format!(r#""model_name": "m", {range}"#), "EP0005 dump_list[0].opname_range");
    check_item(op, range, "EP0001 dump_list[0].model_name");
    for bad in [r#"{"begin": "a"}"#, r#"{"begin": "", "end": "b"}"#, r#"{"begin": "a", "end": ""}"#] {
        check_item(
            op,
            &format!(r#""model_name": "m", "opname_range": [{bad}]"#),
            "EP0003 dump_list[0].opname_range[0]",
        );
    }
}

#[test]
fn list_rows_run_item_by_item() {
    check(
        r#""dump_path": "/d", "dump_list": [{"opname_range": []}, {"model_name": ""}]"#,
        "EP0005 dump_list[0].opname_range",
    );
}

#[test]
fn row_stats() {
    check_with(r#""dump_stats": []"#, "EP0001 dump_stats");
    check_with(r#""dump_stats": ["Max"]"#, "EP0005 dump_stats");
    check_with(r#""dump_stats": ["Max"], "dump_data": "tensor""#, "EP0005 dump_stats");
    check_with(r#""dump_stats": ["L2norm", "Max"], "dump_data": "stats""#, "set");
}

#[test]
fn p1_unknown_keys_are_told_once_each() {
    check_with(r#""dump_moed": "all""#, "set, DU001 dump.dump_moed");
    check(
        r#""dump_path": "/d", "dump_list": [{"layers": ["a"]}, {"layers": ["b"]}]"#,
        "set, DU001 dump_list[0].layers, DU005 dump_list[1]",
    );
}

#[test]
fn p3_p38_documents_that_enable_nothing() {
    check(r#""dump_path": "./""#, "unset, DU002 dump");
    check(r#""dump_path": "/d", "dump_list": []"#, "unset, DU002 dump");
    check(r#""dump_path": "/d", "dump_op_switch": "off""#, "off, DU002 dump");
    check(r#""dump_path": "/d", "dump_op_switch": "off", "dump_debug": "off""#, "off, DU002 dump");
    check(r#""dump_path": "/d", "dump_op_switch": "off", "dump_list": [{}]"#, "set");
    check(r#""dump_path": "/d", "dump_op_switch": "on""#, "set");
}

/// The models of a document, as a person would read them.
#[track_caller]
fn check_models(fields: &str, expected: &str) {
    let text = format!(r#"{{"dump": {{"dump_path": "/d", {fields}}}}}"#);
    let (layer, _) = read(text.as_bytes(), &disk).expect(fields);
    let AclLayer::Set(document) = layer else { panic!("{fields}: not set") };
    assert_eq!(show_models(&document.properties()), expected);
}

#[test]
fn every_row_of_what_a_document_becomes() {
    check_models(r#""dump_list": [{"model_name": "m"}]"#, "model m: all layers");
    check_models(r#""dump_list": [{"model_name": "m", "layer": ["a", "b"]}]"#, "model m: a b");
    check_models(r#""dump_list": [{"layer": ["a"]}]"#, "any model: a");
    check_models(r#""dump_list": [{}]"#, "all layers of all models");
    check_models(
        r#""dump_scene": "watcher", "dump_list": [{"layer": ["a"], "watcher_nodes": ["w"]}]"#,
        "any model: a; watched: w",
    );
    check_models(r#""dump_op_switch": "on""#, "all layers of all models");
    check_models(r#""dump_debug": "on""#, "");
    // P-13: the same model twice.
    check_models(
        r#""dump_list": [{"model_name": "m", "layer": ["a"]}, {"model_name": "m", "layer": ["b"]}]"#,
        "model m: a b",
    );
}

#[test]
fn kinds_exclude_each_other_in_one_document() {
    let properties = |fields: &str| {
        let text = format!(r#"{{"dump": {{"dump_path": "/d", {fields}}}}}"#);
        match read(text.as_bytes(), &disk) {
            Ok((AclLayer::Set(document), _)) => document.properties(),
            other => panic!("{fields}: {other:?}"),
        }
    };
    let debug = properties(r#""dump_debug": "on""#);
    assert_eq!((debug.data, debug.overflow), (false, Some(OverflowMode::All)));
    let kernel = properties(r#""dump_level": "kernel", "dump_list": [{}]"#);
    assert!(!kernel.data);
    let exception = properties(r#""dump_scene": "aic_err_norm_dump""#);
    assert_eq!((exception.data, exception.exception), (false, Some(ExceptionLevel::Norm)));
    let stats = properties(r#""dump_data": "stats", "dump_stats": ["L2norm", "Max"], "dump_list": [{}]"#);
    assert_eq!(stats.stats, [Stat::Max, Stat::L2norm]);
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use proptest::prelude::*;

    use super::*;

    fn any_json() -> impl Strategy<Value = String> {
        let key = proptest::sample::select(vec![
            "dump_path",
            "dump_mode",
            "dump_data",
            "dump_level",
            "dump_op_switch",
            "dump_debug",
            "dump_step",
            "dump_scene",
            "dump_kernel_data",
            "dump_stats",
            "dump_list",
            "model_name",
            "layer",
            "watcher_nodes",
            "optype_blacklist",
            "opname_blacklist",
            "opname_range",
            "name",
            "pos",
            "begin",
            "end",
            "dump",
            "x",
        ]);
        let leaf = prop_oneof![
            proptest::sample::select(vec![
                "null",
                "1",
                "-1e999",
                "true",
                "\"\"",
                "\"on\"",
                "\"all\"",
                "\"/d\"",
                "\"op\"",
                "\"stats\"",
                "\"watcher\"",
                "\"input0\"",
                "\"0|5\"",
                "\"Max\"",
                "[]",
                "{}",
                "[{}]"
            ])
            .prop_map(str::to_owned),
            "\\PC{0,12}".prop_map(|text| serde_json::Value::from(text).to_string()),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                proptest::collection::vec((key.clone(), inner), 0..6).prop_map(|fields| {
                    let fields: Vec<String> = fields.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
                    format!("{{{}}}", fields.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_layer_or_a_diagnostic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, &disk);
        }

        #[test]
        fn any_document_gives_a_layer_or_one_of_five_codes(json in any_json()) {
            match read(format!(r#"{{"dump": {json}}}"#).as_bytes(), &disk) {
                Ok((AclLayer::Set(document), _)) => {
                    prop_assert!(document.needed());
                    let _ = document.properties();
                }
                Ok(_) => {}
                Err(error) => prop_assert!(
                    ["EP0001", "EP0002", "EP0003", "EP0004", "EP0005"].contains(&error.code.as_str())
                ),
            }
        }
    }
}
