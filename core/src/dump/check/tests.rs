//! The report as a person asks for it: in texts.

use serde_json::{Value, json};

use super::*;
use crate::dump::resolve::Context;
use crate::dump::value::Entry;

fn context() -> Context<'static> {
    Context { probe: &|_: &str| crate::dump::path::PathState::Fine, time: Some("T") }
}

fn report(texts: Texts<'_>) -> Report {
    check_texts(texts, context())
}

/// Ops a, b, c in a chain; 16 bytes each.
fn program() -> String {
    let tensor = |at: usize, access: &str| json!({ "allocation": at, "size": 16, "access": access, "dtype": "f32", "shape": [4] });
    let op = |(at, name): (usize, &&str)| json!({ "kind": "kernel", "name": name, "uses": [tensor(at, "read"), tensor(at + 1, "write")] });
    let thunks: Vec<Value> = ["a", "b", "c"].iter().enumerate().map(op).collect();
    json!({ "format": crate::program::json::FORMAT, "name": "m", "sequence": { "thunks": thunks } })
        .to_string()
}

/// The fields of a report that somebody set: `field=value entry`, then what is shadowed.
fn fields(report: &Report) -> Vec<String> {
    let set = report.fields.iter().filter(|field| field.source != Entry::Default);
    set.map(|field| {
        let hidden: Vec<String> =
            field.shadowed.iter().map(|one| format!("{} {}", one.source, one.raw)).collect();
        format!("{}={} {} [{}]", field.field, field.value, field.source, hidden.join(", "))
    })
    .collect()
}

fn codes(report: &Report) -> Vec<String> {
    report.diagnostics.iter().map(|one| format!("{} {}", one.code, one.path)).collect()
}

#[test]
fn blocks_are_read_as_a_shell_would() {
    let report = report(Texts {
        env: "# where\n\nexport DUMP_GE_PATH=\"/e\"\n  DUMP_GE_MODE='all'\nnonsense\n",
        options: "ge.exec.dumpMode=input\nglobal:ge.exec.dumpStep=0|5\n=x",
        ..Texts::default()
    });
    assert_eq!(
        fields(&report),
        ["path=/e env []", "mode=all env [option input]", "enable=on env []", "step=0|5 option []",]
    );
    assert_eq!(codes(&report), ["DU013 env: line 5", "DU013 options: line 3", "DU010 mode"]);
    assert_eq!((report.kinds.as_slice(), report.directory.as_deref()), (&["data"][..], Some("/e/T")));
}

#[test]
fn each_text_that_cannot_be_read_is_told_by_itself_and_the_rest_is_answered() {
    let bad =
        report(Texts { acl: "{", program: "[]", scenario: "{}", env: "DUMP_GE_PATH=/e", ..Texts::default() });
    assert_eq!(codes(&bad), ["DU041 scenario: $.format", "PG002 program: $.format", "EP0004 document"]);
    assert_eq!(bad.kinds, ["data"], "the environment counts");
    assert!(bad.program.is_none() && bad.has_errors());
    let nothing = report(Texts { acl: " \n", ..Texts::default() });
    assert_eq!((codes(&nothing), nothing.kinds), (vec![], vec![]));
}

#[test]
fn without_a_disk_paths_are_not_checked() {
    let texts = Texts { acl: r#"{"dump": {"dump_path": "/d", "dump_list": [{}]}}"#, ..Texts::default() };
    let report = check_texts(texts, Context::unseen());
    assert_eq!(
        (codes(&report), report.directory.as_deref()),
        (vec!["DU004 dump_path".to_owned()], Some("/d"))
    );
}

#[test]
fn records_have_their_moment_their_thunk_and_their_file() {
    let program = program();
    let acl = r#"{"dump": {"dump_path": "/d", "dump_mode": "all", "dump_step": "1", "dump_list": [{"layer": ["a", "c"]}]}}"#;
    let report = report(Texts { acl, program: &program, iterations: 3, ..Texts::default() });
    let program = report.program.expect("a program");
    let timeline = program.timeline.expect("small enough");
    let records: Vec<_> = timeline
        .records
        .iter()
        .map(|one| {
            (
                one.at.as_deref().unwrap_or("-"),
                one.of.op.as_str(),
                one.of.iteration,
                one.bytes,
                one.file.as_str(),
            )
        })
        .collect();
    assert_eq!(
        records,
        [
            ("entry/0", "a", Some(1), 32, "T/normal_m_a_kernel_1_0_0"),
            ("entry/2", "c", Some(1), 32, "T/normal_m_c_kernel_1_0_2"),
        ]
    );
    // The order of time, inside the run.
    assert!(timeline.records[0].t < timeline.records[1].t && timeline.records[1].t <= timeline.end);
    assert_eq!(timeline.records[0].of.time_us, timeline.records[0].t / 1_000);
    // What was decided is what was written.
    assert_eq!(program.files_per_iteration * program.selected_iterations, 2);
    assert_eq!((timeline.iterations, timeline.summaries.len(), timeline.left_out), (3, 3, 0));
    assert_eq!(
        timeline.changes.iter().map(|one| (one.what, one.kinds.len())).collect::<Vec<_>>(),
        [("latched", 1); 3]
    );
}

#[test]
fn a_scenario_adds_switches_and_what_the_texts_leave_out() {
    let program = program();
    let list = json!({ "dump": { "dump_path": "/d", "dump_list": [{}] } });
    let scenario = json!({
        "format": crate::dump::scenario::FORMAT, "acl": list, "iterations": 4,
        "switches": [{ "iteration": 1, "after": 0, "to": "off" }, { "iteration": 2, "after": 0, "to": list }],
    })
    .to_string();
    let ask = |acl: &str| {
        let report = report(Texts { acl, program: &program, scenario: &scenario, ..Texts::default() });
        report.program.and_then(|program| program.timeline).expect("a timeline")
    };
    let iterations = |timeline: &Timeline| -> Vec<u64> {
        let mut all: Vec<u64> = timeline.records.iter().filter_map(|one| one.of.iteration).collect();
        all.dedup();
        all
    };
    let theirs = ask("");
    assert_eq!(iterations(&theirs), [0, 1, 3]);
    let changes: Vec<_> = theirs.changes.iter().map(|one| (one.what, one.kinds.join(" "))).collect();
    let [on, off] = ["data".to_owned(), String::new()];
    assert_eq!(
        changes,
        [
            ("latched", on.clone()),
            ("latched", on.clone()),
            ("switched", off.clone()),
            ("latched", off),
            ("switched", on.clone()),
            ("latched", on),
        ]
    );
    // A document in the editor counts before the scenario's own.
    let one_layer = ask(r#"{"dump": {"dump_path": "/d", "dump_list": [{"layer": ["b"]}]}}"#);
    assert_eq!(one_layer.records.iter().filter(|one| one.of.iteration == Some(0)).count(), 1);
}

#[test]
fn long_runs_and_large_programs_are_answered_in_part() {
    let program = program();
    let acl = r#"{"dump": {"dump_path": "/d", "dump_list": [{}]}}"#;
    let long = report(Texts { acl, program: &program, iterations: 1 << 40, ..Texts::default() });
    let long = long.program.expect("a program");
    assert_eq!((long.iterations, long.selected_iterations), (1 << 40, 1 << 40));
    assert_eq!(long.timeline.expect("some of it").iterations, MAX_ITERATIONS);
    let large = program.replace("16", "17179869184").replace("[4]", "[4294967296]");
    let large = report(Texts { acl, program: &large, ..Texts::default() });
    assert_eq!(codes(&large), ["DU043 program"]);
    let large = large.program.expect("decisions all the same");
    assert_eq!((large.timeline, large.files_per_iteration), (None, 3));
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Any texts: an answer, never a panic.
        #[test]
        fn any_texts_are_answered(acl in "\\PC{0,60}", env in "(\\PC|\n|=){0,80}", options in "(\\PC|\n|=){0,80}", program in "\\PC{0,40}", scenario in "\\PC{0,40}", iterations: u64) {
            let texts = Texts { acl: &acl, env: &env, options: &options, program: &program, scenario: &scenario, iterations, ..Texts::default() };
            let report = check_texts(texts, Context::unseen());
            prop_assert!(serde_json::to_value(&report).is_ok());
            prop_assert_eq!(&report, &check_texts(texts, Context::unseen()));
        }
    }
}
