//! The Dump instrument: three entries in, what would be written out, and when.

use super::draw::time;
use super::{AT, Body, Clock, Fields, Lane, MOST, Mark, Panel, Part, Span};
use crate::dump::check::{OpReport, ProgramReport, RecordReport, Report, Texts, Timeline, check_texts};
use crate::dump::names::Layout;
use crate::dump::resolve::Context;
use crate::machine::Ticks;

/// What a new reader finds: a document that dumps one model in some of its iterations.
const ACL: &str = r#"{
  "dump": {
    "dump_path": "/tmp/dump",
    "dump_mode": "all",
    "dump_step": "0-4|10",
    "dump_list": [{ "model_name": "jit_f" }]
  }
}"#;

const MOE10: &str = include_str!("../../../www/programs/moe10.json");

/// What the configuration in `fields` would write. Nobody looks at directories: a page has none.
pub fn dump(fields: &Fields) -> Panel {
    let mut told = Vec::new();
    let acl = fields.area(
        "acl",
        "ACL document",
        "What `aclInit` or `aclmdlSetDump` is given. Empty: there is none.",
        9,
        ACL,
    );
    let env =
        fields.area("env", "Environment", "A line `NAME=value` each, such as `DUMP_GE_PATH=/tmp/ge`.", 2, "");
    let options = fields.area(
        "options",
        "GE options",
        "A line `name=value` each, such as `ge.exec.enableDump=1`; with `global:` or `graph:` before the name for these scopes.",
        2,
        "",
    );
    let scenario = fields.area(
        "scenario",
        "What else happens",
        "Switches, overflows and failures, as in `thunkscope.dump-scenario/1`. Empty: nothing.",
        2,
        "",
    );
    let choices = [("moe10", "moe10, the page’s own"), ("own", "another one, in JSON"), ("none", "none")];
    let which = fields.choice(
        ("program", "Program", "Whose ops and tensors are decided about."),
        choices.map(|(value, label)| (value.to_owned(), label.to_owned())),
        &mut told,
    );
    let own = (which.value == "own").then(|| {
        fields.area(
            "own",
            "Its JSON",
            "`thunkscope.program/1`, as the Lab saves any program it has read.",
            6,
            "",
        )
    });
    let layouts =
        [Layout::Seed, Layout::Cann].map(|layout| (layout.name().to_owned(), layout.name().to_owned()));
    let layout = fields.choice(("layout", "Layout", "Of directories and names."), layouts, &mut told);
    let (iterations, count) = fields.number(
        ("iterations", "Iterations", "How often the program runs."),
        (1, 1_000_000),
        12,
        &mut told,
    );
    let texts = Texts {
        acl: &acl.value,
        env: &env.value,
        options: &options.value,
        program: match which.value.as_str() {
            "moe10" => MOE10,
            _ => own.as_ref().map_or("", |own| &own.value),
        },
        scenario: &scenario.value,
        iterations: count,
        layout: Layout::from_name(&layout.value).unwrap_or(Layout::Seed),
    };
    let report = check_texts(texts, Context::unseen());
    // That nobody looked at the disk is said once, below the table of values.
    told.extend(report.diagnostics.iter().filter(|diagnostic| diagnostic.code != "DU004").cloned());
    let timeline = report.program.as_ref().and_then(|program| program.timeline.as_ref());
    let clock = timeline.filter(|timeline| !timeline.records.is_empty()).map(|timeline| {
        let asked = fields.get(AT).and_then(|at| at.parse().ok()).unwrap_or(timeline.end);
        clock(timeline, asked)
    });
    let parts = parts(&report, clock.as_ref());
    let fields = [
        Some(acl),
        Some(env),
        Some(options),
        Some(which),
        own,
        Some(iterations),
        Some(layout),
        Some(scenario),
    ];
    Panel { fields: fields.into_iter().flatten().collect(), headline: headline(&report), told, clock, parts }
}

fn clock(timeline: &Timeline, asked: Ticks) -> Clock {
    let mut steps: Vec<Ticks> = timeline.records.iter().map(|record| record.t).collect();
    steps.extend(timeline.changes.iter().map(|change| change.t));
    steps.sort_unstable();
    steps.dedup();
    let mut marks: Vec<Ticks> = timeline.changes.iter().map(|change| change.t).collect();
    marks.dedup();
    marks.truncate(MOST);
    Clock { now: asked.min(timeline.end), end: timeline.end, counts: false, steps, marks }
}

fn headline(report: &Report) -> String {
    let kinds = match report.kinds.as_slice() {
        [] => return "Nothing is dumped.".to_owned(),
        kinds => kinds.join(" and "),
    };
    let place =
        report.directory.as_ref().map_or_else(String::new, |directory| format!(" below `{directory}`"));
    let Some(program) = &report.program else { return format!("A dump of {kinds}{place}.") };
    let files = program.files_per_iteration.saturating_mul(program.selected_iterations);
    format!(
        "A dump of {kinds}{place}: {files} files with {} B in {} of {} iterations.",
        program.bytes, program.selected_iterations, program.iterations
    )
}

fn parts(report: &Report, clock: Option<&Clock>) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(program) = &report.program {
        if let (Some(timeline), Some(clock)) = (&program.timeline, clock) {
            parts.push(records_on_lanes(timeline, clock));
            parts.push(written(timeline, clock));
        }
        parts.push(ops(program));
        parts.push(files(program));
    }
    let fields = report.fields.iter().flat_map(|field| {
        let value = if field.value.is_empty() { "–" } else { &field.value };
        let as_written = if field.raw == field.value { String::new() } else { field.raw.clone() };
        let row = [field.field.to_owned(), value.to_owned(), field.source.to_string(), as_written];
        let hidden = field.shadowed.iter().map(|hidden| {
            let row = [
                field.field.to_owned(),
                "not used".to_owned(),
                hidden.source.to_string(),
                hidden.raw.clone(),
            ];
            (Mark::Off, row)
        });
        [(Mark::Plain, row)].into_iter().chain(hidden)
    });
    parts.push(
        Part::table("Where each value comes from", ["field", "value", "from", "as written"], fields).text(
            "ACL over environment over options; what a higher entry hides is said below it. \
             Whether directories are there is for the command line to see: `thunkscope dump check`.",
        ),
    );
    let log = report.log.iter().map(|line| (Mark::Plain, [line.to_string()]));
    if !report.log.is_empty() {
        parts.push(Part::table("What a run would log", ["line"], log).aside());
    }
    parts
}

/// Records have no length: each lasts to the next one of its lane, at most a hundredth of the clock.
fn records_on_lanes(timeline: &Timeline, clock: &Clock) -> Part {
    let short = (clock.end / 100).max(1);
    let mut lanes: Vec<Lane> = Vec::new();
    let count =
        timeline.records.iter().map(|record| record.lane).max().map_or(0, |lane| usize::from(lane) + 1);
    for lane in 0..count {
        let of_lane = || timeline.records.iter().filter(|record| usize::from(record.lane) == lane);
        if of_lane().next().is_none() {
            continue;
        }
        let spans = of_lane().take(MOST).map(|record| Span {
            from: record.t,
            to: record.t.saturating_add(short).min(clock.end),
            label: record.of.op.clone(),
            mark: Mark::On,
        });
        lanes.push(Lane { name: format!("lane {lane}"), spans: spans.collect() });
    }
    let done = timeline.records.partition_point(|record| record.t <= clock.now);
    let all = timeline.records.len() as u64 + timeline.left_out;
    Part::of("Records on the clock", Body::Lanes(lanes)).text(format!(
        "{done} of {all} records are written at this instant; {} of the iterations were simulated.",
        timeline.iterations
    ))
}

/// The last records up to now, newest first.
fn written(timeline: &Timeline, clock: &Clock) -> Part {
    let done = timeline.records.partition_point(|record| record.t <= clock.now);
    let rows = timeline.records[..done].iter().rev().take(12).map(|record| {
        let RecordReport { t, at, of, file, bytes, .. } = record;
        let iteration = of.iteration.map_or_else(String::new, |iteration| iteration.to_string());
        let at = at.clone().unwrap_or_else(|| "end of iteration".to_owned());
        (
            Mark::Plain,
            [time(*t), format!("`{}`", of.op), iteration, at, bytes.to_string(), format!("`{file}`")],
        )
    });
    Part::table("Written last", ["when", "op", "iteration", "at", "bytes", "file"], rows)
}

fn ops(program: &ProgramReport) -> Part {
    let rows = program.ops.iter().map(|OpReport { op, op_type, at, skip, tensors, files }| {
        let decision = match skip {
            Some(skip) => skip.to_string(),
            None => {
                let dumped = tensors.iter().filter(|tensor| tensor.skip.is_none());
                let (count, bytes) =
                    dumped.fold((0, 0u64), |(n, sum), tensor| (n + 1, sum.saturating_add(tensor.size)));
                format!("{count} of {} tensors, {bytes} B", tensors.len())
            }
        };
        let why: Vec<String> = tensors
            .iter()
            .filter_map(|tensor| Some(format!("{} {}: {}", tensor.part, tensor.index, tensor.skip?)))
            .filter(|_| skip.is_none())
            .collect();
        let mark = if files.is_empty() { Mark::Off } else { Mark::Plain };
        (mark, [format!("`{op}`"), op_type.clone(), at.clone(), decision, why.join("; ")])
    });
    Part::table("Op by op", ["op", "type", "thunk", "dumped", "left out"], rows)
        .text(format!("Model `{}`; ops in program order.", program.model))
}

fn files(program: &ProgramReport) -> Part {
    let names =
        program.ops.iter().flat_map(|op| op.files.iter()).map(|file| (Mark::Plain, [format!("`{file}`")]));
    Part::table("Files of one iteration", ["name"], names)
        .text("The run fills in `{iteration}`, `{lane}` and `{time}`.")
        .aside()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic;
    use crate::panel::shown::Shown;

    /// The panel that `fields` give: its headline, then what was told.
    #[track_caller]
    fn check(fields: &[(&str, &str)], expected: &[&str]) {
        let fields = Fields::new(fields.iter().map(|&(id, text)| (id.to_owned(), text.to_owned())));
        let panel = dump(&fields);
        let mut got = vec![panel.headline.clone()];
        got.extend(panel.told.iter().map(|told: &Diagnostic| format!("{} at {}", told.code, told.path)));
        assert_eq!(got, expected);
        let shown = panel.shown();
        assert_eq!(Shown::from_bytes(&shown.to_bytes()), Ok(shown));
    }

    #[test]
    fn the_opening_example_writes_files() {
        check(&[], &["A dump of data below `/tmp/dump`: 60 files with 2113560 B in 6 of 12 iterations."]);
    }

    #[test]
    fn records_stand_on_the_clock() {
        let at = |t: u64| {
            let panel = dump(&Fields::new([(AT.to_owned(), t.to_string())]));
            let records = panel.parts.iter().find(|part| part.title == "Records on the clock");
            (panel.clock.expect("records"), records.expect("lanes").text.clone())
        };
        let (clock, end) = at(u64::MAX);
        assert_eq!(clock.now, clock.end);
        assert!(end.starts_with("60 of 60 records"), "{end}");
        let (_, start) = at(0);
        assert!(start.starts_with("0 of 60 records"), "{start}");
    }

    #[test]
    fn nothing_set_dumps_nothing() {
        check(&[("acl", " \n")], &["Nothing is dumped."]);
    }

    #[test]
    fn each_entry_is_read() {
        check(
            &[("acl", ""), ("env", "# mine\nexport DUMP_GE_PATH=\"/tmp/ge\"\n"), ("program", "none")],
            &["A dump of data below `/tmp/ge`."],
        );
        check(
            &[
                ("acl", ""),
                ("options", "graph:ge.exec.enableDump=1\nge.exec.dumpPath=/tmp/o"),
                ("program", "none"),
            ],
            &["A dump of data below `/tmp/o`."],
        );
    }

    #[test]
    fn mistakes_are_told_and_the_rest_is_shown() {
        check(
            &[("acl", "{"), ("env", "DUMP_GE_PATH"), ("iterations", "-1"), ("program", "moe11")],
            &[
                "Nothing is dumped.",
                "EX006 at program",
                "EX006 at iterations",
                "DU013 at env: line 1",
                "EP0004 at document",
            ],
        );
        check(
            &[("program", "own"), ("own", "{}")],
            &["A dump of data below `/tmp/dump`.", "PG002 at program: $.format"],
        );
    }
}
