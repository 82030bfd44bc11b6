//! A log adds up at every instant: the fold ignores what does not fit, so a test has to look.

use std::collections::BTreeSet;

use thunkscope_core::trace::{Entry, Event, EventKind, Log, Mode, NodeState, State};

/// Folds `log` event by event; each must fit the state that those before it add up to.
pub(crate) fn check_fold(what: &str, log: &Log) {
    let mut state = State::new(&log.header);
    for (at, event) in log.events.iter().enumerate() {
        if let Err(why) = fits(&state, event) {
            panic!("{what}: event {at}, {event:?}: {why}");
        }
        state.apply(event, &log.header);
        let runs = state.runs.iter().flat_map(|run| (0..).zip(&run.nodes).map(move |node| (run.id, node)));
        let running: BTreeSet<_> = runs
            .filter(|(_, (_, node))| **node == NodeState::Running)
            .map(|(run, (node, _))| (run, node))
            .collect();
        let frames = state.lanes.iter().flat_map(|lane| &lane.frames);
        let on_lanes: BTreeSet<_> =
            frames.filter_map(|frame| Some((frame.run, frame.running?.node))).collect();
        assert_eq!(running, on_lanes, "{what}: what runs after event {at}, {event:?}");
    }
    let entry = state.entry().expect("something was run");
    assert!(entry.done || state.quiet, "{what}: the log ends where the run did");
    if entry.done {
        assert!(state.lanes.iter().all(|lane| lane.frames.is_empty()), "{what}: a lane is in a loop");
        assert!(state.waiting.is_empty(), "{what}: a task was never taken");
    }
}

fn fits(before: &State, event: &Event) -> Result<(), String> {
    let wanted = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    wanted(event.t >= before.t, "time runs backwards")?;
    let run = before.run(event.run);
    let node_state = |node: u32| run.map(|run| run.nodes[node as usize]);
    let lane = before.lanes.get(usize::from(event.actor.0));
    let frame = lane.and_then(|lane| lane.frames.iter().rev().find(|frame| frame.run == event.run));
    let queued = |node: &u32| frame.is_some_and(|frame| frame.queue.contains(node));
    let ready = match run.map(|run| run.mode) {
        Some(Mode::Concurrent) => NodeState::Ready,
        _ => NodeState::Waiting,
    };
    match &event.kind {
        EventKind::LoopStart { by: Entry::Task(task) } => {
            wanted(before.waiting.iter().any(|waiting| waiting.task == *task), "no such task waits")
        }
        EventKind::LoopStart { by: Entry::Continuation(node) } => {
            wanted(node_state(*node) == Some(NodeState::Pending), "its thunk is not pending")
        }
        EventKind::LoopEnd => wanted(
            lane.and_then(|lane| lane.frames.last())
                .is_some_and(|frame| frame.run == event.run && frame.queue.is_empty()),
            "the innermost loop is another one, or has something to do",
        ),
        EventKind::Popped { node } => wanted(queued(node), "it is not in the queue"),
        EventKind::Split { nodes, .. } => wanted(nodes.iter().all(queued), "some are not in the queue"),
        EventKind::Started { node } => wanted(
            node_state(*node) == Some(ready) && frame.is_some_and(|frame| frame.running.is_none()),
            "it is not ready, or its lane runs something",
        ),
        EventKind::Skipped { node } => wanted(
            node_state(*node) == Some(ready) && run.is_some_and(|run| run.failed.is_some()),
            "it is not ready, or nothing has failed",
        ),
        EventKind::Pending { node } => {
            wanted(node_state(*node) == Some(NodeState::Running), "it does not run")
        }
        EventKind::Available { node } => {
            wanted(node_state(*node) == Some(NodeState::Pending), "it is not pending")
        }
        EventKind::Finished { node } | EventKind::Failed { node } => wanted(
            matches!(node_state(*node), Some(NodeState::Running | NodeState::Pending)),
            "it has not begun, or is over",
        ),
        EventKind::Released { from, to, edge, left } => wanted(
            node_state(*from).is_some_and(|from| !from.holds(*edge))
                && run.is_some_and(|run| run.counters[*to as usize] == left + 1),
            "its source holds it, or the counter is another",
        ),
        EventKind::PendingNodes { count } => {
            wanted(run.is_some_and(|run| run.pending_nodes.abs_diff(*count) == 1), "it changes by one")
        }
        // A sequence without thunks is over before it begins.
        EventKind::Done { .. } => {
            wanted(run.is_some_and(|run| !run.done || run.nodes.is_empty()), "it was over")
        }
        _ => Ok(()),
    }
}
