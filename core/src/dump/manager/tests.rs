//! The life cycle of the ACL interface, sessions, and when things change.

use std::sync::Mutex;

use super::*;
use crate::dump::log::Lines;
use crate::dump::option::Scope;
use crate::dump::path::PathState;

const A: &[u8] = br#"{"dump": {"dump_path": "/a", "dump_list": [{"model_name": "m"}]}}"#;
const INERT: &[u8] = br#"{"dump": {"dump_path": "/a"}}"#;
const OFF: &[u8] = br#"{"dump": {"dump_path": "/a", "dump_op_switch": "off"}}"#;

fn fine(_: &str) -> PathState {
    PathState::Fine
}

fn at(time: &str) -> Now<'_> {
    Now { probe: &fine, time: Some(time) }
}

fn manager(env: &[(&str, &str)]) -> DumpManager {
    let mut manager = DumpManager::new(EnvLayer::read(env.iter().copied()).0, OptionLayer::default());
    manager.add_session(1, OptionLayer::default(), at("t0"), &mut ());
    manager
}

fn code(result: Result<impl Sized, Diagnostic>) -> String {
    result.err().map_or("ok".to_owned(), |error| error.code.clone())
}

#[test]
fn every_call_in_every_phase() {
    for (phase, expected) in [
        // init, set, finalize, aclInit
        (Phase::Fresh, ["ok", "EP0008", "EP0008", "ok"]),
        (Phase::Ready, ["EP0008", "ok", "ok", "EP0008"]),
        (Phase::ByInit, ["EP0008", "EP0008", "EP0008", "EP0008"]),
    ] {
        for (call, expected) in expected.into_iter().enumerate() {
            let mut m = manager(&[]);
            match phase {
                Phase::Fresh => {}
                Phase::Ready => m.init_dump(&mut ()).expect("the first"),
                Phase::ByInit => drop(m.acl_init(A, at("t"), &mut ()).expect("the first")),
            }
            assert_eq!(m.phase(), phase);
            let got = match call {
                0 => code(m.init_dump(&mut ())),
                1 => code(m.set_dump(Some(A), at("t"), &mut ())),
                2 => code(m.finalize_dump(at("t"), &mut ())),
                _ => code(m.acl_init(A, at("t"), &mut ())),
            };
            assert_eq!(got, expected, "call {call} in {phase:?}");
        }
    }
}

#[test]
fn bad_arguments() {
    let mut m = manager(&[]);
    m.init_dump(&mut ()).expect("the first");
    assert_eq!(code(m.set_dump(None, at("t"), &mut ())), "EP0007");
    assert_eq!(code(m.set_dump(Some(b""), at("t"), &mut ())), "EP0006");
    assert_eq!(code(m.set_dump(Some(b"{"), at("t"), &mut ())), "EP0004");
}

#[test]
fn a_refused_document_changes_nothing() {
    let mut m = manager(&[]);
    m.init_dump(&mut ()).expect("the first");
    m.set_dump(Some(A), at("t1"), &mut ()).expect("fine");
    let before = m.switch(1);
    assert_eq!(code(m.set_dump(Some(br#"{"dump": {"dump_mode": ""}}"#), at("t2"), &mut ())), "EP0001");
    let after = m.switch(1);
    assert_eq!((before.generation, before.properties), (after.generation, after.properties));
}

#[test]
fn example_10_after_finalize_the_environment_counts() {
    let mut m = manager(&[("DUMP_GE_PATH", "/e")]);
    m.init_dump(&mut ()).expect("the first");
    m.set_dump(Some(A), at("t1"), &mut ()).expect("fine");
    assert_eq!(m.switch(1).properties.path.as_deref(), Some("/a"));
    m.finalize_dump(at("t2"), &mut ()).expect("in sequence");
    assert_eq!(m.switch(1).properties.path.as_deref(), Some("/e"));
}

#[test]
fn p38_inert_replaces_set_by_unset_and_off_by_off() {
    let mut m = manager(&[("DUMP_GE_PATH", "/e")]);
    m.init_dump(&mut ()).expect("the first");
    m.set_dump(Some(A), at("t1"), &mut ()).expect("fine");
    let warnings = m.set_dump(Some(INERT), at("t2"), &mut ()).expect("fine");
    assert!(warnings.iter().any(|w| w.code == "DU012" && w.hint.contains("environment")), "{warnings:?}");
    assert_eq!(m.switch(1).properties.path.as_deref(), Some("/e"));
    m.set_dump(Some(OFF), at("t3"), &mut ()).expect("fine");
    assert!(!m.switch(1).properties.is_on());
}

#[test]
fn t5_one_directory_from_on_to_off() {
    let mut m = manager(&[]);
    m.init_dump(&mut ()).expect("the first");
    m.set_dump(Some(A), at("t1"), &mut ()).expect("fine");
    assert_eq!(m.directory(1).as_deref(), Some("/a/t1"));
    m.set_dump(Some(br#"{"dump": {"dump_path": "/a", "dump_list": [{}]}}"#), at("t2"), &mut ())
        .expect("fine");
    assert_eq!(m.directory(1).as_deref(), Some("/a/t1"));
    m.add_session(2, OptionLayer::default(), at("t3"), &mut ());
    assert_eq!(m.directory(2).as_deref(), Some("/a/t1"));
    m.disable(at("t4"), &mut ());
    assert_eq!(m.directory(1), None);
    m.set_dump(Some(A), at("t5"), &mut ()).expect("fine");
    assert_eq!(m.directory(1).as_deref(), Some("/a/t5"));
}

#[test]
fn t22_removing_a_session_keeps_acl() {
    let mut m = manager(&[]);
    m.init_dump(&mut ()).expect("the first");
    m.set_dump(Some(A), at("t1"), &mut ()).expect("fine");
    m.add_session(2, OptionLayer::default(), at("t1"), &mut ());
    m.remove_session(2);
    assert!(m.switch(1).properties.data);
}

#[test]
fn t7_sessions_have_their_own_options_and_unknown_ones_dump_nothing() {
    let mut m = manager(&[]);
    let options = OptionLayer::read([
        (Scope::Session, "ge.exec.enableDump", "1"),
        (Scope::Session, "ge.exec.dumpPath", "/o"),
    ]);
    m.add_session(7, options.0, at("t1"), &mut ());
    assert!(m.switch(7).properties.data);
    assert!(!m.switch(1).properties.is_on());
    assert!(!m.switch(99).properties.is_on());
    assert_eq!(m.directory(99), None);
}

#[test]
fn exception_dump_enabled_twice_is_told_and_the_second_ignored() {
    let scene = |name: &str| format!(r#"{{"dump": {{"dump_scene": "{name}"}}}}"#);
    let (brief, norm) = (scene("aic_err_brief_dump"), scene("aic_err_norm_dump"));
    let mut m = manager(&[]);
    m.init_dump(&mut ()).expect("the first");
    let level = |m: &DumpManager| m.switch(1).properties.exception.map(ExceptionLevel::name);
    let codes = |warnings: Vec<Diagnostic>| warnings.iter().map(|one| one.code.clone()).collect::<Vec<_>>();
    assert_eq!(m.set_dump(Some(brief.as_bytes()), at("t1"), &mut ()).map(codes), Ok(vec![]));
    let second = m.set_dump(Some(norm.as_bytes()), at("t2"), &mut ()).map(codes);
    assert_eq!((second, level(&m)), (Ok(vec!["DU014".to_owned()]), Some("L0 brief")));
    // Off in between, or another kind of dump: then it counts.
    m.disable(at("t3"), &mut ());
    m.set_dump(Some(norm.as_bytes()), at("t4"), &mut ()).expect("fine");
    assert_eq!(level(&m), Some("L1 norm"));
    m.set_dump(Some(A), at("t5"), &mut ()).expect("fine");
    assert_eq!((level(&m), m.switch(1).properties.data), (None, true));
}

#[test]
fn who_registers_after_dump_went_on_is_told_at_once() {
    let mut m = manager(&[]);
    m.init_dump(&mut ()).expect("the first");
    m.set_dump(Some(A), at("t1"), &mut ()).expect("fine");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    m.dumpers().register("late", Box::new(move |flags| told.lock().expect("no panic").push(flags)));
    m.disable(at("t2"), &mut ());
    assert_eq!(*seen.lock().expect("no panic"), [Flags::DATA, Flags::default()]);
}

#[test]
fn every_call_is_logged_with_the_keyword() {
    let mut lines = Lines::default();
    let mut m = manager(&[]);
    m.init_dump(&mut lines).expect("the first");
    m.set_dump(Some(A), at("t1"), &mut lines).expect("fine");
    let _ = m.set_dump(Some(b"{"), at("t1"), &mut lines);
    m.disable(at("t1"), &mut lines);
    m.finalize_dump(at("t1"), &mut lines).expect("in sequence");
    let text: Vec<String> = lines.lines.iter().map(ToString::to_string).collect();
    assert!(text.iter().all(|line| line.contains(KEYWORD)), "{text:?}");
    for part in [
        "INFO [Dumper] aclmdlInitDump",
        "path=/a mode=output content=tensor models=1 layers=0",
        "refused: error EP0004",
        "generation 2, on",
        "generation 3, off",
    ] {
        assert!(text.iter().any(|line| line.contains(part)), "{part}: {text:#?}");
    }
}

#[test]
fn environment_is_read_again_only_when_asked() {
    let mut m = manager(&[]);
    assert!(!m.switch(1).properties.is_on());
    m.refresh(EnvLayer::read([("DUMP_GE_PATH", "/e")]).0, at("t1"), &mut ());
    assert!(m.switch(1).properties.data);
}
