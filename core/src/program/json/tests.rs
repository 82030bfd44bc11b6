//! The reader's messages, the schema, and the round trip.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fields::{self, ACCESSES, ALLOCATION_KINDS, RESOURCE_KINDS};
use super::*;
use crate::diagnostic::Diagnostic;
use crate::program::{
    Access, Allocation, AllocationKind, BufferUse, Kind, MAX_END, MAX_NESTING, Nested, Origin, Program,
    Resource, ResourceKind, ResourceUse, Role, Sequence, Slice, Thunk,
};

/// Wraps the JSON of some thunks into a program.
fn program_of(thunks: &str) -> String {
    format!(
        r#"{{"format": "{FORMAT}", "resources": [{{"kind": "token"}}], "sequence": {{"thunks": [{thunks}]}}}}"#
    )
}

/// One line per error or warning: code, path, what was found, hint.
fn shown(text: &str) -> String {
    let line = |d: &Diagnostic| {
        [d.code.as_str(), &d.path, &d.value, &d.hint]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    match read(text.as_bytes()) {
        Ok(read) => read.warnings.iter().map(line).collect::<Vec<_>>().join("\n"),
        Err(error) => line(&error),
    }
}

/// Reads thunks; expects the message, or none.
#[track_caller]
fn check(thunks: &str, expected: &str) {
    assert_eq!(shown(&program_of(thunks)), expected);
}

/// Reads one use of one thunk.
#[track_caller]
fn check_use(fields: &str, expected: &str) {
    check(&format!(r#"{{"kind": "copy", "uses": [{{{fields}}}]}}"#), expected);
}

#[test]
fn numbers_may_be_texts_and_have_ranges() {
    check_use(r#""allocation": 0, "size": 4, "access": "read""#, "");
    check_use(
        r#""allocation": "4294967295", "offset": "0", "size": "9223372036854775807", "access": "read""#,
        "",
    );
    let path = "$.sequence.thunks[0].uses[0]";
    let bad = |name: &str, value: &str| format!("PG005 | {path}.{name} | {value}");
    check_use(r#""allocation": 0, "size": -1, "access": "read""#, &bad("size", "-1"));
    check_use(r#""allocation": 0, "size": 1.5, "access": "read""#, &bad("size", "1.5"));
    check_use(r#""allocation": 0, "size": "+1", "access": "read""#, &bad("size", "\"+1\""));
    check_use(r#""allocation": 0, "size": "", "access": "read""#, &bad("size", "\"\""));
    check_use(r#""allocation": 0, "size": 1e30, "access": "read""#, &bad("size", "1e+30"));
    check_use(r#""allocation": 4294967296, "size": 1, "access": "read""#, &bad("allocation", "4294967296"));
    check_use(
        r#""allocation": 0, "offset": 1, "size": 9223372036854775807, "access": "read""#,
        &bad("size", "9223372036854775807"),
    );
}

#[test]
fn wrong_values_name_the_nearest() {
    check(r#"{"kind": "kernle"}"#, "PG003 | $.sequence.thunks[0].kind | kernle | did you mean `kernel`?");
    check(r#"{"kind": "zzzzzzzz"}"#, "PG003 | $.sequence.thunks[0].kind | zzzzzzzz");
    check_use(
        r#""allocation": 0, "size": 4, "access": "reads""#,
        "PG003 | $.sequence.thunks[0].uses[0].access | reads | did you mean `read`?",
    );
}

#[test]
fn wrong_types_and_missing_fields() {
    check(r#"{}"#, "PG006 | $.sequence.thunks[0].kind | nothing");
    check(r#"{"kind": null}"#, "PG006 | $.sequence.thunks[0].kind | nothing");
    check(r#"{"kind": 5}"#, "PG004 | $.sequence.thunks[0].kind | a number");
    check(r#"7"#, "PG004 | $.sequence.thunks[0] | a number");
    check(r#"{"kind": "copy", "uses": {}}"#, "PG004 | $.sequence.thunks[0].uses | an object");
    check(r#"{"kind": "copy", "pending": 1}"#, "PG004 | $.sequence.thunks[0].pending | a number");
    check(r#"{"kind": "copy", "cost": true}"#, "PG004 | $.sequence.thunks[0].cost | true or false");
    check_use(r#""allocation": 0, "size": 4"#, "PG006 | $.sequence.thunks[0].uses[0].access | nothing");
}

#[test]
fn unknown_fields_are_kept_with_a_warning_reserved_ones_without() {
    check(
        r#"{"kind": "copy", "use": []}"#,
        "PG007 | $.sequence.thunks[0].use | use | did you mean `uses`? It is kept, but not used.",
    );
    check(
        r#"{"kind": "copy", "a b": []}"#,
        "PG007 | $.sequence.thunks[0][\"a b\"] | a b | it is kept, but not used",
    );
    check_use(r#""allocation": 0, "size": 4, "access": "read", "dtype": "f32", "shape": [1]"#, "");
    check(r#"{"kind": "copy", "workspace": 5, "attributes": {"_datadump_ref": 1}}"#, "");
}

#[test]
fn resources_must_be_there() {
    check(r#"{"kind": "infeed", "resources": [{"resource": 0, "access": "write"}]}"#, "");
    check(
        r#"{"kind": "infeed", "resources": [{"resource": 1, "access": "write"}]}"#,
        "PG010 | $.sequence.thunks[0].resources[0].resource | 1",
    );
}

#[test]
fn nested_roles_fit_their_thunk_and_come_once() {
    let nested = |kind: &str, roles: &[&str]| {
        let list: Vec<String> = roles
            .iter()
            .map(|role| format!(r#"{{"role": "{role}", "sequence": {{"thunks": []}}}}"#))
            .collect();
        format!(r#"{{"kind": "{kind}", "nested": [{}]}}"#, list.join(","))
    };
    check(&nested("while", &["cond", "body"]), "");
    check(&nested("conditional", &["branch_0", "branch_1"]), "");
    check(&nested("call", &["call"]), "");
    check(&nested("other", &["body"]), "");
    check(&nested("while", &["call"]), "PG012 | $.sequence.thunks[0].nested[0].role | call");
    check(&nested("while", &["loop"]), "PG012 | $.sequence.thunks[0].nested[0].role | loop");
    check(&nested("kernel", &["body"]), "PG012 | $.sequence.thunks[0].nested[0].role | body");
    check(&nested("while", &["body", "body"]), "PG012 | $.sequence.thunks[0].nested[1].role | body");
}

#[test]
fn allocations_are_put_in_order_and_come_once() {
    let text = |first: u32, second: u32| {
        format!(
            r#"{{"format": "{FORMAT}", "sequence": {{"thunks": []}}, "allocations": [
            {{"index": {first}, "size": 1, "memory": "host"}}, {{"index": {second}, "size": 2}}]}}"#
        )
    };
    let program = read(text(5, 2).as_bytes()).expect("reads").program;
    assert_eq!(program.allocations.iter().map(|a| (a.index, a.size)).collect::<Vec<_>>(), [(2, 2), (5, 1)]);
    assert_eq!(program.extra["allocations"], json!([{}, {"memory": "host"}]));
    assert_eq!(shown(&text(2, 2)), "PG011 | $.allocations[1].index | 2");
}

#[test]
fn other_documents() {
    assert_eq!(shown("[]").split(" | ").next(), Some("PG002"));
    assert_eq!(shown("{}").split(" | ").next(), Some("PG002"));
    assert_eq!(shown(r#"{"traceEvents": []}"#).split(" | ").next(), Some("PG002"));
    assert!(
        shown(r#"{"format": "thunkscope.program/2"}"#)
            .starts_with("PG002 | $.format | \"thunkscope.program/2\"")
    );
    assert!(shown(r#"{"format": "#).starts_with("PG001 | line 1 column"));
    assert!(shown(r#"{"format": 1} x"#).starts_with("PG001 | line 1 column 15"));
    assert!(shown("").starts_with("PG001 | line 1 column 0"));
    assert!(shown("\u{feff}{").starts_with("PG001"));
}

/// `depth` calls in one another.
fn calls(depth: usize) -> String {
    let mut text = r#"{"kind": "copy"}"#.to_owned();
    for _ in 0..depth {
        text = format!(
            r#"{{"kind": "call", "nested": [{{"role": "call", "sequence": {{"thunks": [{text}]}}}}]}}"#
        );
    }
    text
}

#[test]
fn depth_is_bounded() {
    check(&calls(MAX_NESTING), "");
    assert!(shown(&program_of(&calls(MAX_NESTING + 1))).starts_with("PG008 | $.sequence.thunks[0].nested"));
    assert!(shown(&program_of(&calls(2_000))).starts_with("PG008 | byte "));
    assert!(shown(&"[".repeat(1_000_000)).starts_with("PG008 | byte 352"));
    // Brackets in texts are no depth.
    check(&format!(r#"{{"kind": "copy", "name": "\"{}"}}"#, "[".repeat(1000)), "");
}

#[test]
fn the_schema_lists_what_the_reader_knows() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/program.schema.json")).expect("JSON");
    let defs = schema["$defs"].as_object().expect("definitions");
    assert_eq!(defs.len(), fields::ALL.len());
    for object in fields::ALL {
        let properties = defs[object.object]["properties"].as_object().expect("properties");
        let in_schema: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(in_schema, object.known().collect(), "{}", object.object);
        for (name, property) in properties {
            let marked = property["description"].as_str().is_some_and(|text| text.starts_with("Reserved: "));
            assert_eq!(marked, object.reserved.contains(&name.as_str()), "{} {name}", object.object);
        }
    }
    let names = |list: Vec<&'static str>| json!(list);
    let kinds = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(defs["thunk"]["properties"]["kind"]["enum"], names(kinds));
    let table = |table: &[(&'static str, Access)]| table.iter().map(|(name, _)| *name).collect();
    assert_eq!(defs["use"]["properties"]["access"]["enum"], names(table(ACCESSES)));
    assert_eq!(defs["resource_use"]["properties"]["access"]["enum"], names(table(ACCESSES)));
    let kinds = ALLOCATION_KINDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(defs["allocation"]["properties"]["kind"]["enum"], names(kinds));
    let kinds = RESOURCE_KINDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(defs["resource"]["properties"]["kind"]["enum"], names(kinds));
}

#[test]
fn examples_of_the_schema_read_without_a_word_and_need_what_they_are_said_to_need() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/program.schema.json")).expect("JSON");
    let examples = schema["examples"].as_array().expect("examples");
    assert!(examples.len() >= 2);
    for example in examples {
        assert_eq!(shown(&example.to_string()), "");
    }
    // Every required field of every object in the fuller example: without it, PG006 or PG002.
    let full = &examples[1];
    let places = [
        ("program", ""),
        ("allocation", "/allocations/0"),
        ("resource", "/resources/0"),
        ("sequence", "/sequence"),
        ("thunk", "/sequence/thunks/0"),
        ("use", "/sequence/thunks/0/uses/0"),
        ("resource_use", "/sequence/thunks/0/resources/0"),
        ("nested", "/sequence/thunks/1/nested/0"),
    ];
    for (object, place) in places {
        let all = full.pointer(place).and_then(Value::as_object).expect(place).keys();
        for field in all {
            let mut less = full.clone();
            less.pointer_mut(place).and_then(Value::as_object_mut).expect(place).remove(field);
            let required =
                schema["$defs"][object]["required"].as_array().expect("a list").contains(&json!(field));
            let code = shown(&less.to_string());
            let refused = code.starts_with("PG006") || code.starts_with("PG002");
            // Without its resources a program has uses of resources that are not there.
            assert_eq!(refused, required, "{object} {field}: {code}");
        }
    }
}

fn any_extra() -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let key = prop_oneof!["x_[a-z]{1,4}", Just("op_type".to_owned()), Just("ключ \"\u{1}".to_owned())];
    let value =
        prop_oneof![Just(json!(null)), Just(json!([1, {"a": [2.5]}])), "\\PC{0,6}".prop_map(Value::from)];
    proptest::collection::vec((key, value), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn any_access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Read), Just(Access::Write)]
}

fn any_slice() -> impl Strategy<Value = Slice> {
    let big = prop_oneof![0..10_000u64, Just(1 << 53), Just((1 << 53) - 1), Just(MAX_END)];
    (any::<u32>(), big.clone(), big).prop_map(|(a, offset, size)| Slice::new(a, offset, size))
}

fn any_number() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (0..100u64).prop_map(Some), Just(Some(u64::MAX)), Just(Some(1 << 53))]
}

fn any_sequence() -> impl Strategy<Value = Sequence> {
    let uses = proptest::collection::vec((any_slice(), any_access()), 0..3).prop_map(|uses| {
        uses.into_iter().map(|(slice, access)| BufferUse { slice, access }).collect::<Vec<_>>()
    });
    let resources = proptest::collection::vec((0..3u32, any_access()), 0..3).prop_map(|uses| {
        uses.into_iter().map(|(resource, access)| ResourceUse { resource, access }).collect::<Vec<_>>()
    });
    let leaf_kind = proptest::sample::select(
        Kind::ALL.iter().copied().filter(|kind| !kind.is_control_flow()).collect::<Vec<_>>(),
    );
    let flags = any::<[bool; 4]>();
    let leaf = (leaf_kind, "\\PC{0,8}", uses, resources, flags, any_number(), any_number(), any_extra())
        .prop_map(|(kind, name, uses, resources, flags, cost, trip_count, extra)| Thunk {
            uses,
            resources,
            may_block: flags[0],
            foreign_pool: flags[1],
            pending: flags[2],
            uses_unknown: flags[3],
            cost,
            trip_count,
            extra,
            ..Thunk::new(kind, name)
        });
    let leaf_sequence = proptest::collection::vec(leaf, 0..4).prop_map(|thunks| Sequence { thunks });
    leaf_sequence.prop_recursive(3, 20, 4, |inner| {
        (inner.clone(), inner, 0..4u32, 0..5usize).prop_map(|(mut outer, inner, which, at)| {
            let nested = |role| Nested { role, sequence: inner.clone() };
            let (kind, list) = match which {
                0 => (Kind::While, vec![nested(Role::Condition), nested(Role::Body)]),
                1 => (Kind::Conditional, (0..3).map(|n| nested(Role::Branch(n))).collect()),
                2 => (Kind::Call, vec![nested(Role::Called)]),
                _ => (Kind::Other, vec![nested(Role::Body)]),
            };
            let thunk = Thunk { nested: list, ..Thunk::new(kind, "control") };
            outer.thunks.insert(at.min(outer.thunks.len()), thunk);
            outer
        })
    })
}

fn any_program() -> impl Strategy<Value = Program> {
    let kinds = proptest::sample::select(
        ALLOCATION_KINDS.iter().map(|(_, kind)| *kind).collect::<Vec<AllocationKind>>(),
    );
    let allocations = proptest::collection::btree_map(any::<u32>(), (0..=MAX_END, kinds, "\\PC{0,4}"), 0..4);
    let resource = (any::<bool>(), "\\PC{0,4}").prop_map(|(token, label)| Resource {
        kind: if token { ResourceKind::Token } else { ResourceKind::Communicator },
        label,
    });
    let resources = proptest::collection::vec(resource, 3..4);
    let origin = prop_oneof![
        Just(Origin::default()),
        Just(Origin { format: "program".to_owned(), release: String::new() }),
        Just(Origin { format: "xla-executable".to_owned(), release: "0.10.2".to_owned() }),
    ];
    ("\\PC{0,8}", origin, allocations, resources, any_sequence(), any_extra()).prop_map(
        |(name, origin, allocations, resources, sequence, extra)| Program {
            name,
            origin,
            allocations: allocations
                .into_iter()
                .map(|(index, (size, kind, label))| Allocation { index, size, kind, label })
                .collect(),
            resources,
            sequence,
            extra: extra.into_iter().filter(|(name, _)| name != "op_type").collect(),
        },
    )
}

proptest! {
    #[test]
    fn written_programs_read_back(program in any_program()) {
        let text = write(&program);
        let back = read(text.as_bytes()).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&back.program, &program, "{}", text);
        prop_assert_eq!(write(&back.program), text);
    }
}

#[test]
fn fields_of_every_object_are_kept_where_they_stood() {
    let text = format!(
        r#"{{"format": "{FORMAT}", "x": 1, "origin": {{"x": 2}},
        "allocations": [{{"index": 0, "size": 1}}, {{"index": 1, "size": 1, "x": 3}}],
        "resources": [{{"kind": "token", "x": 4}}],
        "sequence": {{"x": 5, "thunks": [{{"kind": "call", "x": 6,
          "uses": [{{"allocation": 0, "size": 1, "access": "read", "dtype": "f32"}}],
          "resources": [{{"resource": 0, "access": "read", "x": 7}}],
          "nested": [{{"role": "call", "x": 8, "sequence": {{"x": 9, "thunks": []}}}}]}}]}}}}"#
    );
    let first = read(text.as_bytes()).expect("reads");
    assert_eq!(first.warnings.len(), 9);
    let second = read(write(&first.program).as_bytes()).expect("reads");
    assert_eq!(second, first);
    assert_eq!(first.program.sequence.thunks[0].extra["uses"], json!([{"dtype": "f32"}]));
    assert_eq!(first.program.sequence.thunks[0].extra["nested"], json!([{"x": 8, "sequence": {"x": 9}}]));
}

#[test]
fn more_values_than_a_parser_should_hold_are_refused() {
    let text = format!(r#"{{"format": "thunkscope.program/1", "x": [{}0]}}"#, "0,".repeat(MAX_VALUES));
    let error = read(text.as_bytes()).expect_err("too many values");
    assert_eq!((error.code.as_str(), error.path.as_str()), ("PG009", "$"));
}
