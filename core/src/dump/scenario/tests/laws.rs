//! The laws of ge-dump spec §14.2 that are about whole runs, on the seeded programs of the simulator:
//! errors, pending thunks, nested sequences, adversarial orders.

use proptest::prelude::*;

use super::*;
use crate::trace::MixedKind;

/// A seeded program, as it is or dynamic, and the scenario that runs it as it was meant to be run.
fn seeded(seed: u64, dynamic: bool, acl: Option<Value>, iterations: u32) -> (Program, Scenario) {
    let (mut program, run) = sim::seeded(seed);
    if dynamic {
        program.extra.insert("mode".to_owned(), "dynamic".into());
    }
    let fails = run.faults.iter().filter(|fault| fault.kind == FaultKind::Fails);
    let failures = fails.map(|fault| Place { path: fault.path.clone(), node: fault.node }).collect();
    (program, Scenario { format: FORMAT.to_owned(), acl, iterations, failures, run, ..Scenario::default() })
}

/// The records of a run, as the manifest has them.
fn manifest(run: &Ran) -> Vec<Value> {
    let lists = run.files.iter().filter(|(path, _)| path.ends_with("manifest.jsonl"));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    lists
        .flat_map(|(_, bytes)| text(bytes).lines().map(str::to_owned).collect::<Vec<_>>())
        .map(|line| serde_json::from_str(&line).expect("JSON"))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Law 4: what is written is what is selected, in an iteration of the steps, not on a blacklist;
    /// records are whole (the reader checks 8 + H + sizes), and as many as were counted.
    #[test]
    fn law_4_written_is_selected_in_step_and_not_blacklisted(
        seed in 0..5_000u64, dynamic: bool, mode in 0..3usize, step in 0..4usize, layers in proptest::collection::btree_set(0..12usize, 0..5), black in 0..12usize,
    ) {
        let (program, _) = seeded(seed, dynamic, None, 1);
        let model = Model::read(&program).model;
        let name = |n: usize| model.ops.get(n % model.ops.len().max(1)).map_or_else(|| "none".to_owned(), |op| op.name.clone());
        let mode = ["input", "output", "all"][mode];
        let step = ["", "0", "1", "1-2"][step];
        let layers: BTreeSet<String> = layers.into_iter().map(name).collect();
        let mut item = json!({ "opname_blacklist": [{ "name": name(black), "pos": ["output0", "input0"] }] });
        if !layers.is_empty() {
            item["layer"] = json!(layers);
        }
        let acl = json!({ "dump": { "dump_path": "/d", "dump_mode": mode, "dump_step": step, "dump_level": "op", "dump_list": [item] } });
        let (program, scenario) = seeded(seed, dynamic, Some(acl), 3);
        let run = run_with(&program, &scenario, Layout::Seed, false);
        let mut tensors = 0;
        for line in manifest(&run) {
            let op = line["op"].as_str().expect("an op");
            prop_assert!(layers.is_empty() || layers.contains(op), "{op} of {layers:?}");
            let iteration = line["iteration"].as_u64().expect("a number");
            let in_step = match step { "0" => iteration == 0, "1" => iteration == 1, "1-2" => iteration > 0, _ => true };
            prop_assert!(in_step, "{iteration} in {step}");
            for tensor in line["tensors"].as_array().expect("a list") {
                let part = tensor["part"].as_str().expect("a part");
                if part == "workspace" || part == "buffer" {
                    continue;
                }
                tensors += 1;
                prop_assert!(mode == "all" || part == mode, "{}", line);
                prop_assert!(op != name(black) || tensor["index"] != 0, "{}", line);
            }
            let bytes = &run.files[line["file"].as_str().expect("a file")];
            let file = read_file(bytes);
            prop_assert_eq!(file.op_name.as_str(), op);
        }
        let counted: u64 = run.outcome.summaries.iter().map(|summary| summary.counts.tensors).sum();
        prop_assert_eq!(tensors, counted);
    }

    /// Law 5: a switch in iteration n changes nothing before the start of n + 1, whenever it comes.
    #[test]
    fn law_5_a_switch_counts_from_the_next_iteration_on(
        seed in 0..5_000u64, dynamic: bool, at in 0..3u64, after in proptest::option::of(0..8u32), on: bool,
    ) {
        let list = acl(r#""dump_mode": "all", "dump_list": [{}]"#);
        let (program, mut scenario) = seeded(seed, dynamic, on.then(|| list.clone()), 4);
        let steady = run_with(&program, &scenario, Layout::Seed, false);
        let to = if on { "off".into() } else { list };
        scenario.switches.push(SwitchEvent { iteration: at, after, to });
        let switched = run_with(&program, &scenario, Layout::Seed, false);
        let in_iteration = |run: &Ran, wanted: &dyn Fn(u64) -> bool| -> Vec<(String, Value)> {
            let of = |line: &Value| (line["op"].to_string(), line["iteration"].clone());
            manifest(run).iter().filter(|line| wanted(line["iteration"].as_u64().unwrap_or(0))).map(of).collect()
        };
        // Before the iteration starts it is in time for it; after a thunk, for the one behind it.
        let first = if after.is_none() { at } else { at + 1 };
        prop_assert_eq!(in_iteration(&steady, &|n| n < first), in_iteration(&switched, &|n| n < first));
        if on {
            let thunk_ended = after.is_none() || switched.says("disable called");
            prop_assert!(!thunk_ended || in_iteration(&switched, &|n| n >= first).is_empty());
        }
    }

    /// Law 6: loads and unloads alternate, whatever switches there are, and the last is an unload.
    #[test]
    fn law_6_loads_and_unloads_alternate(
        seed in 0..5_000u64, switches in proptest::collection::vec((0..4u64, proptest::option::of(0..4u32), 0..3usize), 0..6),
    ) {
        let to = |n: usize| match n {
            0 => "off".into(),
            1 => acl(r#""dump_list": [{}]"#),
            _ => acl(r#""dump_mode": "input", "dump_list": [{}]"#),
        };
        let (program, mut scenario) = seeded(seed, false, Some(to(1)), 4);
        scenario.switches = switches.into_iter().map(|(iteration, after, n)| SwitchEvent { iteration, after, to: to(n) }).collect();
        let run = run_with(&program, &scenario, Layout::Seed, false);
        let mut loaded = false;
        for line in &run.log {
            if line.contains(" load: model") {
                prop_assert!(!std::mem::replace(&mut loaded, true), "{}", line);
            } else if line.contains(" unload: model") {
                prop_assert!(std::mem::replace(&mut loaded, false), "{}", line);
            }
        }
        prop_assert!(!loaded);
        prop_assert!(!run.says("refused"));
    }

    /// Law 7: names are short and without what steers; the manifest gives every op its name back, and
    /// the mapping those that were hashed.
    #[test]
    fn law_7_manifest_and_mapping_restore_every_name(names in proptest::collection::vec("\\PC{1,120}", 1..4), cann: bool) {
        let thunks: Vec<Value> = names.iter().map(|name| json!({ "kind": "kernel", "name": name, "uses": [tensor(0, "write")] })).collect();
        let program = program(json!(thunks), json!({}));
        let layout = if cann { Layout::Cann } else { Layout::Seed };
        let run = run_with(&program, &scenario(json!({ "acl": acl(r#""dump_list": [{}]"#) })), layout, false);
        let mut ops: Vec<String> = Vec::new();
        let mapped: String = run.files.iter().filter(|(path, _)| path.ends_with("mapping.csv")).map(|(_, text)| String::from_utf8_lossy(text)).collect();
        for line in manifest(&run) {
            ops.push(line["op"].as_str().expect("an op").to_owned());
            let file = line["file"].as_str().expect("a file");
            let name = file.rsplit('/').next().unwrap_or(file);
            prop_assert!(run.files.contains_key(file) && name.len() <= 255);
            prop_assert!(!name.contains([' ', '/', '\\']) && (cann || !name.contains('.')));
            if let Some(wanted) = line["hashed"].as_str() {
                let entry = format!("{name},{wanted}\n");
                prop_assert!(wanted.len() > 255 && mapped.contains(&entry), "{}", entry);
            }
        }
        // In the order in which they were written; a lone model has one lane.
        prop_assert_eq!(ops, names);
    }

    /// Law 8: the log of the run does not change by a byte, whatever the dump does and however it fails.
    #[test]
    fn law_8_a_dump_changes_nothing_of_a_run(seed in 0..5_000u64, dynamic: bool, kind in 0..4usize, loss in 0..5usize, left in 0..6u32) {
        let fields = [r#""dump_mode": "all", "dump_list": [{}]"#, r#""dump_debug": "on""#, r#""dump_scene": "aic_err_norm_dump""#, r#""dump_op_switch": "on""#][kind];
        let (program, scenario) = seeded(seed, dynamic, Some(acl(fields)), 2);
        let scenario = Scenario { single_op: kind == 3, ..scenario };
        let disk = Disk { left, loss: Loss::ALL[loss % Loss::ALL.len()], inner: MemoryStore::default() };
        let mut sink = FileSink::new(disk, Layout::Seed);
        let output = Output { sink: &mut sink, journal: &mut (), sync: seed % 2 == 0, batch: 2_000 };
        let (outcome, log) = run_logged(&program, &scenario, &fine, None, output, Bytes::Simulated).expect("runs");
        let faults = scenario.failures.iter().map(|place| Fault { path: place.path.clone(), node: place.node, kind: FaultKind::Fails }).collect();
        let options = sim::Options { iterations: 2, faults, ..scenario.run.clone() };
        prop_assert_eq!(log.executor(), sim::run(&program, &options).expect("runs"));
        // Each record is written or lost with a cause; the log says so of every one.
        use crate::dump::event::Event;
        let count = |wanted: &dyn Fn(&Event) -> bool| {
            log.events.iter().filter(|event| matches!(&event.kind, MixedKind::Other(event) if wanted(event))).count() as u64
        };
        prop_assert_eq!(count(&|event| matches!(event, Event::Written { .. })), sink.written().files);
        let lost = count(&|event| matches!(event, Event::Lost { .. }));
        prop_assert_eq!(lost > 0, !sink.written().lost.is_empty());
        prop_assert_eq!(outcome.lost.of(Skip::WriteFailed) > 0, lost > 0);
    }
}
