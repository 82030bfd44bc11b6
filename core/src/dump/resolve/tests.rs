//! The worked examples of ge-dump spec §2.4, and the laws of the resolver.

use super::*;
use crate::dump::acl;
use crate::dump::option::Scope;
use crate::dump::path::PathState;

const TIME: &str = "20260801120000";

fn disk(path: &str) -> PathState {
    if path.contains("missing") { PathState::Missing } else { PathState::Fine }
}

fn layer(text: &str) -> AclLayer {
    match text {
        "" => AclLayer::Unset,
        "off" => AclLayer::Off,
        text => acl::read(format!(r#"{{"dump": {{{text}}}}}"#).as_bytes(), &disk).expect(text).0,
    }
}

/// `K=V` pairs between `;`.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split(';').filter_map(|pair| pair.split_once('=')).collect()
}

fn env(text: &str) -> EnvLayer {
    let names = [("PATH", "DUMP_GE_PATH"), ("MODE", "DUMP_GE_MODE"), ("LAYER", "DUMP_GE_LAYER")];
    let long = |name| names.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| *long);
    EnvLayer::read(pairs(text).into_iter().map(|(name, value)| (long(name), value))).0
}

fn options(text: &str) -> OptionLayer {
    let named: Vec<(Scope, String, &str)> = pairs(text)
        .into_iter()
        .map(|(name, value)| match name.split_once(':') {
            Some((scope, name)) => (Scope::from_name(scope).expect(scope), format!("ge.exec.{name}"), value),
            None => (Scope::Session, format!("ge.exec.{name}"), value),
        })
        .collect();
    OptionLayer::read(named.iter().map(|(scope, name, value)| (*scope, name.as_str(), *value))).0
}

fn resolved(acl: &str, env_text: &str, option_text: &str) -> Resolved {
    let (acl, env, options) = (layer(acl), env(env_text), options(option_text));
    resolve(Entries { acl: &acl, env: &env, options: &options }, Context { probe: &disk, time: Some(TIME) })
}

/// What is on, where to, how, of what, when; then every field that somebody set, with who did.
fn shown(resolved: &Resolved) -> String {
    let p = &resolved.properties;
    if !p.is_on() {
        return "off".to_owned();
    }
    let kind = match (p.data, p.overflow, p.exception) {
        (true, ..) => "data",
        (_, Some(_), _) => "overflow",
        _ => "exception",
    };
    let source = |field: &str| {
        let found = resolved.provenance.iter().find(|one| one.field == field).expect(field);
        found.source.name()
    };
    format!(
        "{kind} {}({}) {}({}) {}({}) [{}]",
        p.directory().unwrap_or_default(),
        source("path"),
        p.mode,
        source("mode"),
        if p.steps.is_all() { "all".to_owned() } else { p.steps.to_string() },
        source("step"),
        show_models(p)
    )
}

fn codes(resolved: &Resolved) -> String {
    let one = |d: &Diagnostic| {
        let mark = if d.severity == Severity::Error { "!" } else { "" };
        format!("{mark}{} {}", d.code, d.path)
    };
    resolved.diagnostics.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[track_caller]
fn check(acl: &str, env: &str, options: &str, expected: &str, diagnostics: &str) {
    let resolved = resolved(acl, env, options);
    assert_eq!(shown(&resolved), expected, "{:?}", resolved.diagnostics);
    assert_eq!(codes(&resolved), diagnostics);
}

const ALL: &str = "[all layers of all models]";

#[test]
fn example_1_nothing() {
    check("", "", "", "off", "");
}

#[test]
fn example_2_options_alone() {
    check(
        "",
        "",
        "enableDump=1;dumpPath=/o",
        &format!("data /o/{TIME}(option) output(default) all(default) {ALL}"),
        "",
    );
}

#[test]
fn example_3_path_conflict_the_rest_from_options() {
    check(
        "",
        "PATH=/e",
        "enableDump=1;dumpPath=/o;dumpMode=all;dumpStep=0|5",
        &format!("data /e/{TIME}(env) all(option) 0|5(option) {ALL}"),
        "!DU010 path",
    );
    let resolved = resolved("", "PATH=/e", "enableDump=1;dumpPath=/o");
    let error = resolved.diagnostics[0].to_string();
    assert!(error.contains("path") && error.contains("env /e, option /o"), "{error}");
    let line = resolved.lines.iter().find(|line| line.grade == Grade::Error).expect("an ERROR line");
    assert!(line.text.contains("/e"), "{}", line.text);
}

#[test]
fn example_4_only_the_mode_conflicts() {
    check(
        "",
        "PATH=/e;MODE=input",
        "enableDump=1;dumpPath=/e/;dumpMode=all",
        &format!("data /e/{TIME}(env) input(env) all(default) {ALL}"),
        "!DU010 mode",
    );
}

#[test]
fn example_5_mode_from_env_path_from_option() {
    check(
        "",
        "MODE=all",
        "enableDump=1;dumpPath=/o",
        &format!("data /o/{TIME}(option) all(env) all(default) {ALL}"),
        "",
    );
}

#[test]
fn example_6_mode_without_path() {
    check("", "MODE=all", "", "off", "DU009 DUMP_GE_MODE");
}

#[test]
fn example_7_acl_hides_all() {
    let acl = r#""dump_path": "/a", "dump_list": [{"model_name": "m"}]"#;
    check(
        acl,
        "PATH=/e;MODE=all",
        "enableDump=1;dumpPath=/o",
        &format!("data /a/{TIME}(acl) output(acl) all(acl) [model m: all layers]"),
        "",
    );
    let resolved = resolved(acl, "PATH=/e;MODE=all", "enableDump=1;dumpPath=/o");
    let path = resolved.provenance.iter().find(|one| one.field == "path").expect("a path");
    let hidden: Vec<_> = path.shadowed.iter().map(|one| (one.source, one.raw.as_str())).collect();
    assert_eq!(hidden, [(Entry::Env, "/e"), (Entry::Option, "/o")]);
    let infos = resolved.lines.iter().filter(|line| line.grade == Grade::Info).count();
    assert_eq!(infos, 4, "path twice, mode, enable: {:?}", resolved.lines);
}

#[test]
fn example_8_an_inert_document_does_not_count() {
    check(
        r#""dump_path": "/a""#,
        "PATH=/e",
        "",
        &format!("data /e/{TIME}(env) output(default) all(default) {ALL}"),
        "",
    );
}

#[test]
fn example_9_off_is_off() {
    check("off", "PATH=/e", "enableDump=1;dumpPath=/o", "off", "");
}

#[test]
fn example_11_equal_sets_are_no_conflict() {
    check(
        "",
        "PATH=/e;LAYER=a b",
        "dumpLayer=b a",
        &format!("data /e/{TIME}(env) output(default) all(default) [any model: a b]"),
        "",
    );
    check(
        "",
        "PATH=/e;LAYER=a, b",
        "dumpLayer=b c",
        &format!("data /e/{TIME}(env) output(default) all(default) [any model: a b]"),
        "!DU010 layer",
    );
}

#[test]
fn example_12_overflow_only() {
    check(
        r#""dump_debug": "on", "dump_path": "/a""#,
        "",
        "enableDump=1;dumpPath=/o",
        &format!("overflow /a/{TIME}(acl) output(acl) all(acl) []"),
        "",
    );
    let resolved = resolved(r#""dump_debug": "on", "dump_path": "/a""#, "", "");
    assert_eq!(resolved.properties.overflow.map(OverflowMode::bits), Some(3));
}

#[test]
fn example_13_data_and_overflow_through_options() {
    check("", "", "enableDump=1;enableDumpDebug=1;dumpPath=/o", "off", "!E10001 ge.exec.enableDumpDebug");
}

#[test]
fn example_14_a_second_document_replaces() {
    let first = resolved(r#""dump_path": "/a", "dump_mode": "all", "dump_list": [{}]"#, "", "");
    let second = resolved(r#""dump_path": "/a", "dump_list": [{}]"#, "", "");
    assert_eq!((first.properties.mode, second.properties.mode), (Mode::All, Mode::Output));
}

#[test]
fn enable_conflicts() {
    check(
        "",
        "PATH=/e",
        "enableDump=0",
        &format!("data /e/{TIME}(env) output(default) all(default) {ALL}"),
        "!DU010 enable",
    );
    check(
        "",
        "PATH=/e",
        "enableDumpDebug=1;dumpPath=/e",
        &format!("data /e/{TIME}(env) output(default) all(default) {ALL}"),
        "!DU010 overflow",
    );
}

#[test]
fn options_are_checked() {
    for (options, code) in [
        ("enableDump=2;dumpPath=/o", "!E10001 ge.exec.enableDump"),
        ("enableDumpDebug=yes;dumpPath=/o", "!E10001 ge.exec.enableDumpDebug"),
        ("enableDump=1", "!E10058 ge.exec.dumpPath"),
        ("enableDumpDebug=1;dumpDebugMode=all", "!E10058 ge.exec.dumpPath"),
        ("enableDump=1;dumpPath=/missing", "!E10001 ge.exec.dumpPath"),
        ("enableDump=1;dumpPath=/o;dumpMode=both", "!E10001 ge.exec.dumpMode"),
        ("enableDump=1;dumpPath=/o;dumpData=raw", "!E10001 ge.exec.dumpData"),
        ("enableDump=1;dumpPath=/o;dumpStep=9-3", "!E10001 ge.exec.dumpStep"),
        ("enableDumpDebug=1;dumpPath=/o;dumpDebugMode=x", "!E10001 ge.exec.dumpDebugMode"),
        ("enableDumpDebug=1;dumpPath=/o", "DU011 ge.exec.dumpDebugMode"),
        ("dumpMode=both", "E10001 ge.exec.dumpMode"),
    ] {
        check("", "", options, "off", code);
    }
    for (mode, bits) in [("aicore_overflow", 1), ("atomic_overflow", 2), ("all", 3)] {
        let resolved = resolved("", "", &format!("enableDumpDebug=1;dumpPath=/o;dumpDebugMode={mode}"));
        assert_eq!(resolved.properties.overflow.map(OverflowMode::bits), Some(bits));
    }
    check(
        "",
        "",
        "enableDump=1;dumpPath=/o;dumpStep=all",
        &format!("data /o/{TIME}(option) output(default) all(option) {ALL}"),
        "",
    );
}

#[test]
fn p7_the_more_specific_scope_wins() {
    check(
        "",
        "",
        "global:enableDump=1;global:dumpPath=/g;session:dumpPath=/s;graph:dumpPath=/t;global:dumpMode=all;graph:dumpMode=",
        &format!("data /t/{TIME}(option) all(option) all(default) {ALL}"),
        "",
    );
    let resolved = resolved("", "", "global:enableDump=1;global:dumpPath=/g;graph:dumpPath=/t");
    let path = resolved.provenance.iter().find(|one| one.field == "path").expect("a path");
    assert_eq!(path.shadowed, [Shadowed { source: Entry::Option, raw: "/g".to_owned() }]);
}

#[test]
fn p5_blank_variables_are_not_set() {
    check("", "PATH= ;MODE=all", "", "off", "DU009 DUMP_GE_MODE");
    check(
        "",
        "PATH=/e;MODE=ALL",
        "",
        &format!("data /e/{TIME}(env) output(default) all(default) {ALL}"),
        "EP0002 DUMP_GE_MODE",
    );
    check(
        "",
        "PATH=/e;MODE= all ;LAYER=,;",
        "",
        &format!("data /e/{TIME}(env) all(env) all(default) {ALL}"),
        "",
    );
    check("", "PATH=/missing", "", "off", "EP0003 DUMP_GE_PATH");
}

#[test]
fn shadowed_values_are_checked_as_warnings() {
    check(
        r#""dump_path": "/a", "dump_list": [{}]"#,
        "MODE=x",
        "enableDump=2;dumpStep=a",
        &format!("data /a/{TIME}(acl) output(acl) all(acl) {ALL}"),
        "EP0002 DUMP_GE_MODE, E10001 ge.exec.enableDump, E10001 ge.exec.dumpStep",
    );
}

#[test]
fn exception_levels_and_roots() {
    let level = |acl: &str, env: &str, options: &str| {
        let p = resolved(acl, env, options).properties;
        (p.exception.map(|level| level.name()), p.exception_path.unwrap_or_default())
    };
    assert_eq!(level("", "", "enable_exception_dump=1"), (Some("L1 norm"), ".".to_owned()));
    assert_eq!(level("", "", "enable_exception_dump=2"), (Some("L0 brief"), ".".to_owned()));
    assert_eq!(level("", "", "enable_exception_dump=3").0, None);
    assert_eq!(level("", "NPU_COLLECT_PATH=/n", "enable_exception_dump=2").0, Some("L1 norm"));
    assert_eq!(level("", "ASCEND_DUMP_SCENE=aic_err_brief_dump;NPU_COLLECT_PATH=/n", "").0, Some("L0 brief"));
    assert_eq!(level("", "ASCEND_DUMP_SCENE=watcher", "").0, None);
    let acl = r#""dump_scene": "aic_err_norm_dump", "dump_path": "/a""#;
    assert_eq!(level(acl, "", ""), (Some("L1 norm"), "/a".to_owned()));
    assert_eq!(level(acl, "ASCEND_WORK_PATH=/w", "").1, "/w");
    assert_eq!(level(acl, "ASCEND_WORK_PATH=/w;ASCEND_DUMP_PATH=/p", "").1, "/p");
    assert_eq!(level(acl, "ASCEND_DUMP_SCENE=aic_err_brief_dump", "").0, Some("L0 brief"));
}

#[test]
fn t11_env_redirects_exceptions_only() {
    let p = resolved(r#""dump_path": "/a", "dump_list": [{}]"#, "ASCEND_DUMP_PATH=/p", "").properties;
    assert_eq!((p.path.as_deref(), p.exception_path.as_deref()), (Some("/a"), Some("/p")));
}

#[test]
fn acl_data_with_npu_collect_path_is_refused() {
    check(
        r#""dump_path": "/a", "dump_list": [{}]"#,
        "NPU_COLLECT_PATH=/n",
        "",
        "off",
        "!E10056 NPU_COLLECT_PATH",
    );
}

#[test]
fn law_11_one_meaning_through_every_entry() {
    for (layers_acl, layers_env, layers_option) in
        [("{}", "", ""), (r#"{"layer": ["a", "b"]}"#, ";LAYER=b a", ";dumpLayer=a b")]
    {
        let acl = resolved(
            &format!(r#""dump_path": "/d", "dump_mode": "all", "dump_list": [{layers_acl}]"#),
            "",
            "",
        );
        let env = resolved("", &format!("PATH=/d/.;MODE=all{layers_env}"), "");
        let option = resolved("", "", &format!("enableDump=1;dumpPath=/d/;dumpMode=all{layers_option}"));
        assert_eq!(acl.properties, env.properties);
        assert_eq!(env.properties, option.properties);
    }
    // Overflow and exceptions: ACL and options can both say it.
    let acl = resolved(r#""dump_path": "/d", "dump_debug": "on""#, "", "").properties;
    let option = resolved("", "", "enableDumpDebug=1;dumpDebugMode=all;dumpPath=/d").properties;
    assert_eq!((acl.overflow, &acl.path, acl.data), (option.overflow, &option.path, option.data));
}

#[cfg(not(target_arch = "wasm32"))]
mod laws {
    use proptest::prelude::*;

    use super::*;

    fn any_env() -> impl Strategy<Value = Vec<(&'static str, String)>> {
        let value = prop_oneof![
            Just("/e".to_owned()),
            Just("/o/".to_owned()),
            Just("/missing".to_owned()),
            Just(" ".to_owned()),
            Just("all".to_owned()),
            Just("input".to_owned()),
            Just("a b".to_owned()),
            "\\PC{0,8}",
        ];
        let name = proptest::sample::select(crate::dump::env::VARIABLES.to_vec());
        proptest::collection::vec((name, value), 0..6)
    }

    fn any_options() -> impl Strategy<Value = Vec<(Scope, &'static str, String)>> {
        let value = prop_oneof![
            Just("0".to_owned()),
            Just("1".to_owned()),
            Just("/o".to_owned()),
            Just("all".to_owned()),
            Just("stats".to_owned()),
            Just("0|5".to_owned()),
            Just("a b".to_owned()),
            "\\PC{0,8}",
        ];
        let name = proptest::sample::select(crate::dump::option::OPTIONS.to_vec());
        let scope = proptest::sample::select(Scope::ALL.to_vec());
        proptest::collection::vec((scope, name, value), 0..8)
    }

    fn any_acl() -> impl Strategy<Value = AclLayer> {
        prop_oneof![
            2 => Just(AclLayer::Unset),
            1 => Just(AclLayer::Off),
            1 => Just(layer(r#""dump_path": "/a", "dump_list": [{"model_name": "m"}]"#)),
            1 => Just(layer(r#""dump_path": "/a", "dump_debug": "on""#)),
        ]
    }

    proptest! {
        /// Law 1, and: a source is the highest entry that sets the field.
        #[test]
        fn resolve_is_pure_and_names_the_highest_setter(
            acl in any_acl(), env in any_env(), options in any_options()
        ) {
            let env_layer = EnvLayer::read(env.iter().map(|(k, v)| (*k, v.as_str()))).0;
            let option_layer = OptionLayer::read(options.iter().map(|(s, k, v)| (*s, *k, v.as_str()))).0;
            let entries = Entries { acl: &acl, env: &env_layer, options: &option_layer };
            let context = Context { probe: &disk, time: Some(TIME) };
            let once = resolve(entries, context);
            prop_assert_eq!(&once, &resolve(entries, context));
            let fields: BTreeSet<_> = once.provenance.iter().map(|one| one.field).collect();
            prop_assert_eq!(fields.len(), once.provenance.len(), "each field once");
            for one in &once.provenance {
                for shadowed in &one.shadowed {
                    prop_assert!(shadowed.source <= one.source);
                }
                if !matches!(acl, AclLayer::Unset) {
                    prop_assert_eq!(one.source, Entry::Acl);
                }
            }
            prop_assert!(!(once.properties.data && once.properties.overflow.is_some()));
            prop_assert!(!once.properties.data || once.properties.path.is_some());
        }

        /// Law 2: with ACL set or off, environment and options change nothing but exceptions (§1.2).
        #[test]
        fn a_set_acl_layer_hides_the_rest(env in any_env(), options in any_options()) {
            let acl = layer(r#""dump_path": "/a", "dump_list": [{"model_name": "m"}]"#);
            let env: Vec<_> = env.into_iter().filter(|(name, _)| name.starts_with("DUMP_GE")).collect();
            let env_layer = EnvLayer::read(env.iter().map(|(k, v)| (*k, v.as_str()))).0;
            let option_layer = OptionLayer::read(options.iter().map(|(s, k, v)| (*s, *k, v.as_str()))).0;
            let context = Context { probe: &disk, time: Some(TIME) };
            let with = resolve(Entries { acl: &acl, env: &env_layer, options: &option_layer }, context);
            let (none, no_options) = (EnvLayer::default(), OptionLayer::default());
            let without = resolve(Entries { acl: &acl, env: &none, options: &no_options }, context);
            prop_assert_eq!(with.properties, without.properties);
        }
    }
}
