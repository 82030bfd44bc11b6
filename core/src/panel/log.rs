//! Somebody's log as an instrument: what `thunkscope run` or `thunkscope check` wrote, lane by lane and
//! instant by instant.

use std::collections::BTreeMap;

use super::draw::time;
use super::words::{actor, happening};
use super::{AT, Body, Clock, Field, FieldKind, Fields, Lane, MOST, Mark, Panel, Part, Span};
use crate::diagnostic::Diagnostic;
use crate::graph::NodeId;
use crate::machine::Ticks;
use crate::trace::{Actor, Event, EventKind, Log, NodeState, Replay, RunId, RunState};

/// What a reader finds before he has a log of his own: a run that the simulator makes of `moe10`.
const MOE10: &str = include_str!("../../../www/programs/moe10.json");

/// A log that was read, kept so that another instant of it needs no other reading.
pub struct Opened {
    text: Option<String>,
    replay: Replay,
}

/// Shows one instant of the log in `fields`.
pub fn log(fields: &Fields, last: Option<Opened>) -> (Panel, Option<Opened>) {
    let text = fields.get("log");
    let field = Field {
        id: "log".to_owned(),
        label: "Event log".to_owned(),
        hint: "`log.jsonl`, as `thunkscope run --out` and `thunkscope check --log` write it; or drop it anywhere on the page."
            .to_owned(),
        value: String::new(),
        kind: FieldKind::File,
    };
    let opened = match last.filter(|last| last.text.as_deref() == text) {
        Some(opened) => Ok(opened),
        None => read(text).map(|log| Opened { text: text.map(str::to_owned), replay: Replay::new(log) }),
    };
    let (mut panel, opened) = match opened {
        Ok(opened) => (panel(fields, &opened.replay, text.is_none()), Some(opened)),
        Err(error) => {
            let headline = "There is nothing to show of this log.".to_owned();
            (Panel { headline, told: vec![error], ..Panel::default() }, None)
        }
    };
    panel.fields = vec![field];
    (panel, opened)
}

fn read(text: Option<&str>) -> Result<Log, Diagnostic> {
    let Some(text) = text else {
        let program = crate::program::json::read(MOE10.as_bytes())?.program;
        return crate::sim::run(&program, &crate::sim::Options::default());
    };
    let only = Log::from_json_lines(text);
    #[cfg(feature = "dfx")]
    if only.is_err()
        && let Ok(mixed) = crate::sim::dfx::DfxLog::from_json_lines(text)
    {
        return Ok(mixed.executor());
    }
    only
}

fn panel(fields: &Fields, replay: &Replay, sample: bool) -> Panel {
    let log = replay.log();
    let end = log.events.last().map_or(0, |event| event.t);
    let mut steps: Vec<Ticks> = log.events.iter().map(|event| event.t).collect();
    steps.dedup();
    let mut marks: Vec<Ticks> =
        log.events.iter().filter(|event| event.kind.is_interesting()).map(|event| event.t).collect();
    marks.dedup();
    marks.truncate(MOST);
    let now = fields.get(AT).and_then(|at| at.parse().ok()).unwrap_or(end / 2).min(end);
    let clock = Clock { now, end, counts: false, steps, marks };
    let done = log.events.partition_point(|event| event.t <= now);
    let state = replay.state_at(done);
    let mut parts = vec![lanes(log), happenings(log, done, now)];
    parts.extend(state.entry().map(nodes));
    parts.extend(state.entry().map(counts));
    parts.push(head(log));
    let what = if sample { "A sample, simulated: open a log of your own. " } else { "" };
    let broken = log.events.iter().find_map(|event| match &event.kind {
        EventKind::Broken { property, what } => Some(format!(" `{property}` breaks: {what}.")),
        _ => None,
    });
    let headline = format!(
        "{what}`{}`: {} events on {} lanes.{}",
        log.header.program,
        log.events.len(),
        log.header.lanes,
        broken.unwrap_or_default()
    );
    Panel { headline, clock: Some(clock), parts, ..Panel::default() }
}

/// From start to finish, thunk by thunk.
fn lanes(log: &Log) -> Part {
    let mut open: BTreeMap<(Actor, RunId, NodeId), Ticks> = BTreeMap::new();
    let mut lanes: BTreeMap<Actor, Vec<Span>> = BTreeMap::new();
    let mut left_out = 0_u64;
    for Event { t, actor, run, kind } in &log.events {
        let ended = match *kind {
            EventKind::Started { node } => {
                open.insert((*actor, *run, node), *t);
                continue;
            }
            EventKind::Finished { node } => (node, Mark::On),
            EventKind::Failed { node } => (node, Mark::Bad),
            _ => continue,
        };
        let Some(from) = open.remove(&(*actor, *run, ended.0)) else { continue };
        let spans = lanes.entry(*actor).or_default();
        if spans.len() < MOST {
            spans.push(Span { from, to: *t, label: ended.0.to_string(), mark: ended.1 });
        } else {
            left_out += 1;
        }
    }
    let end = log.events.last().map_or(0, |event| event.t);
    for ((actor, _, node), from) in open {
        lanes.entry(actor).or_default().push(Span {
            from,
            to: end,
            label: node.to_string(),
            mark: Mark::Frozen,
        });
    }
    let lanes = lanes.into_iter().map(|(who, spans)| Lane { name: actor(who.0), spans });
    let more = if left_out > 0 { format!(" {left_out} more are not drawn.") } else { String::new() };
    Part::of("Lanes", Body::Lanes(lanes.collect()))
        .text(format!("A bar is a thunk from its start to its return; hatched: it never returned.{more}"))
}

fn happenings(log: &Log, done: usize, now: Ticks) -> Part {
    let rows = log.events[..done].iter().rev().take(20).map(|event| {
        let mark = match event.kind {
            EventKind::Broken { .. } | EventKind::Failed { .. } => Mark::Bad,
            _ if event.t == now => Mark::On,
            _ => Mark::Plain,
        };
        (mark, [time(event.t), actor(event.actor.0), event.run.to_string(), happening(&event.kind)])
    });
    Part::table("What happened last", ["when", "who", "run", "what"], rows)
        .text(format!("{done} of {} events.", log.events.len()))
}

fn nodes(run: &RunState) -> Part {
    let telling = |state: NodeState| !matches!(state, NodeState::Done | NodeState::Waiting);
    let rows = (0_u32..).zip(run.nodes.iter().zip(&run.counters)).filter(|(_, (state, _))| telling(**state));
    let rows = rows.map(|(node, (state, left))| {
        let mark = match state {
            NodeState::Running => Mark::On,
            NodeState::Failed => Mark::Bad,
            NodeState::Pending => Mark::Frozen,
            _ => Mark::Plain,
        };
        (mark, [node.to_string(), state.name().to_owned(), left.to_string()])
    });
    Part::table("Thunks of the entry sequence, now", ["thunk", "state", "edges that hold it"], rows)
        .text("Those that wait and those that are done are left out.")
}

fn counts(run: &RunState) -> Part {
    let count = |state| {
        let n = run.nodes.iter().filter(|node| **node == state).count();
        (Mark::Plain, state.name().to_owned(), n.to_string())
    };
    let states = [
        NodeState::Waiting,
        NodeState::Ready,
        NodeState::Running,
        NodeState::Pending,
        NodeState::Done,
        NodeState::Failed,
        NodeState::Skipped,
    ];
    let wanted = (Mark::Plain, "completions wanted".to_owned(), run.pending_nodes.to_string());
    Part::facts("Entry sequence, now", states.map(count).into_iter().chain([wanted])).aside()
}

fn head(log: &Log) -> Part {
    let fact = |name: &str, value: String| (Mark::Plain, name.to_owned(), value);
    let facts = [
        fact("program", log.header.program.clone()),
        fact("digest", log.header.digest.to_string()),
        fact("options", log.header.options.clone()),
        fact("seed", log.header.seed.to_string()),
        fact("sequences", log.header.sequences.len().to_string()),
    ];
    Part::facts("Of the log", facts).aside()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::shown::Shown;

    fn of(text: &str) -> Fields {
        Fields::new([("log".to_owned(), text.to_owned())])
    }

    #[test]
    fn without_a_log_there_is_a_sample() {
        let (panel, opened) = log(&Fields::default(), None);
        assert!(panel.headline.starts_with("A sample, simulated"), "{}", panel.headline);
        let text = opened.expect("a log").replay.log().to_json_lines();
        let (again, opened) = log(&of(&text), None);
        assert!(again.headline.starts_with("`moe10`: "), "{}", again.headline);
        assert_eq!(again.parts, panel.parts);
        // Another look needs no other reading.
        assert_eq!(log(&of(&text), opened).0, again);
        let shown = again.shown();
        assert_eq!(Shown::from_bytes(&shown.to_bytes()), Ok(shown));
    }

    #[test]
    fn what_is_no_log_is_told() {
        let (panel, opened) = log(&of("{}"), None);
        assert_eq!(panel.headline, "There is nothing to show of this log.");
        assert_eq!(panel.told[0].code, "LG001");
        assert!(opened.is_none());
    }
}
