//! Why does a thunk stand where it stands? Answers for the inspector.

use super::words::{count, list, thunk_name};
use crate::graph::cause::Reason;
use crate::graph::{EdgeKind, NodeId};
use crate::trace::{Mode, NodeState, RunId, RunState, State};

/// One or two sentences about `node` in execution `run`, at the instant of `state`.
///
/// Empty when the run or the node is not there.
#[cfg(feature = "engine")]
pub fn why(
    program: &crate::program::Program,
    plans: &[crate::executor::Plan<'_>],
    state: &State,
    run: RunId,
    node: NodeId,
) -> String {
    let Some(execution) = state.run(run) else { return String::new() };
    let Some(plan) = plans.get(execution.sequence as usize) else { return String::new() };
    let thunks = &plan.sequence.thunks;
    let Some(thunk) = thunks.get(node as usize) else { return String::new() };
    let incoming = plan.graph.incoming(node).iter().map(|edge| {
        let reason = Reason::of(&thunks[edge.node as usize], thunk, &program.resources);
        (edge.node, edge.kind, reason)
    });
    let outgoing = plan.graph.outgoing(node).iter().map(|edge| edge.node);
    let place = Place { name: &thunk.name, incoming: incoming.collect(), outgoing: outgoing.collect() };
    place.why(run, state, node)
}

/// A node and its edges: all that the sentences need to know of a program.
pub(crate) struct Place<'a> {
    /// The thunk's name.
    pub(crate) name: &'a str,
    /// Who holds it, how strongly, and why; by ascending node.
    pub(crate) incoming: Vec<(NodeId, EdgeKind, Reason)>,
    /// Who waits for it, ascending.
    pub(crate) outgoing: Vec<NodeId>,
}

impl Place<'_> {
    /// As [`why`](crate::explain).
    pub(crate) fn why(&self, run: RunId, state: &State, node: NodeId) -> String {
        let Some(execution) = state.run(run) else { return String::new() };
        let Some(&now) = execution.nodes.get(node as usize) else { return String::new() };
        let subject = format!("Thunk {node} `{}`", thunk_name(self.name));
        let released = list(&names(self.outgoing.iter().copied()), 6);
        match now {
            NodeState::Waiting if execution.mode == Mode::Sequential => {
                format!("{subject} waits for its turn: the sequence runs in program order.")
            }
            NodeState::Waiting => self.waiting(execution, node, &subject),
            NodeState::Ready => ready(state, run, node, &subject),
            NodeState::Running => {
                format!("{subject} runs. {}", then(&released, "When it completes it releases"))
            }
            NodeState::Pending => format!(
                "{subject} has returned, but its event is not available yet. {}",
                then(&released, "When it is, it releases")
            ),
            NodeState::Done => format!("{subject} has completed. {}", then(&released, "It released")),
            NodeState::Failed => format!(
                "{subject} failed: the run is aborted, and thunks that have not started are skipped. Edges are \
                 still released, so that the run ends."
            ),
            NodeState::Skipped => format!("{subject} was skipped: an earlier thunk failed."),
        }
    }

    fn waiting(&self, execution: &RunState, node: NodeId, subject: &str) -> String {
        // By reason, the predecessors that still hold the node.
        let reasons = [
            ("it reads what", "write"),
            ("it overwrites what", "read"),
            ("it overwrites what", "write too"),
            ("it shares a resource with", ""),
        ];
        let mut holders: [Vec<NodeId>; 4] = Default::default();
        for &(from, kind, reason) in &self.incoming {
            let now = execution.nodes.get(from as usize).copied().unwrap_or(NodeState::Waiting);
            if !now.holds(kind) {
                continue;
            }
            let place = match reason {
                Reason::ReadAfterWrite => 0,
                Reason::WriteAfterRead => 1,
                Reason::WriteAfterWrite => 2,
                Reason::Resource | Reason::Unknown => 3,
            };
            holders[place].push(from);
        }
        let mut parts = Vec::new();
        for ((verb, tail), nodes) in reasons.iter().zip(holders) {
            if nodes.is_empty() {
                continue;
            }
            let who = list(&names(nodes.iter().copied()), 6);
            // `write` is the plural; one thunk `writes`.
            let tail = match (nodes.len(), *tail) {
                (_, "") => String::new(),
                (1, tail) => match tail.split_once(' ') {
                    Some((verb, rest)) => format!(" {verb}s {rest}"),
                    None => format!(" {tail}s"),
                },
                (_, tail) => format!(" {tail}"),
            };
            parts.push(format!("{verb} {who}{tail}"));
        }
        let left = execution.counters.get(node as usize).copied().unwrap_or(0);
        let all = self.incoming.len() as u64;
        format!("{subject} waits: {}. Counter {left} of {}.", list(&parts, 4), count(all, "edge"))
    }
}

fn then(targets: &str, verb: &str) -> String {
    if targets.is_empty() { "Nothing waits for it.".to_owned() } else { format!("{verb} {targets}.") }
}

fn names(nodes: impl Iterator<Item = NodeId>) -> Vec<String> {
    nodes.map(|node| node.to_string()).collect()
}

fn ready(state: &State, run: RunId, node: NodeId, subject: &str) -> String {
    for (index, lane) in state.lanes.iter().enumerate() {
        for frame in lane.frames.iter().filter(|frame| frame.run == run) {
            if frame.queue.contains(&node) {
                let others = frame.queue.len() as u64 - 1;
                return match others {
                    0 => format!("{subject} is ready, alone in the queue of lane {index}."),
                    _ => format!(
                        "{subject} is ready, in the queue of lane {index} with {}.",
                        count(others, "other")
                    ),
                };
            }
        }
    }
    match state.waiting.iter().find(|task| task.run == run && task.nodes.contains(&node)) {
        Some(task) => format!("{subject} is ready, in task {} that no thread has taken yet.", task.task),
        None => format!("{subject} is ready."),
    }
}
