//! Does our graph equal the one that XLA logged? If not: the first difference, in plain words.

use super::xla_log::{LoggedExecutor, LoggedNode, XlaLog};
use crate::graph::cause::{Cause, causes};
use crate::graph::decision::{Decision, Thresholds};
use crate::graph::{EdgeKind, Graph, NodeId};
use crate::program::{Kind, Program, Resource, Sequence, SequencePath};

/// The answer for one sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Which sequence.
    pub path: SequencePath,
    /// How it compares.
    pub verdict: Verdict,
}

/// How a sequence compares with XLA's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that the log says is so here.
    Equal {
        /// Nodes that the log shows; it is cut near 15,000 bytes.
        nodes: u32,
        /// Nodes there are.
        of: u32,
    },
    /// The first difference.
    Different(String),
    /// The log has no executor that resembles the sequence.
    NotInLog,
}

/// Compares every sequence of a program with the log of its compilation. `graphs` are those of
/// [`Program::sequences`], in that order, as XLA reduces them; the answers come in the same order.
///
/// An executor of the log belongs to the sequence with the same names and kinds; where several
/// have the same, to the first that is equal, in the order in which XLA builds them (nested
/// sequences first).
pub fn verify(program: &Program, graphs: &[&Graph], log: &XlaLog) -> Vec<Checked> {
    let sequences = program.sequences();
    let mut free = vec![true; log.executors.len()];
    let mut answers: Vec<Option<Verdict>> = vec![None; sequences.len()];
    for index in program.build_order() {
        let (_, sequence) = &sequences[index];
        let Some(graph) = graphs.get(index) else { continue };
        let candidates: Vec<usize> = (0..log.executors.len())
            .filter(|&at| free[at] && unlike(sequence, &log.executors[at]).is_none())
            .collect();
        let differences = candidates.iter().map(|&at| {
            let executor = &log.executors[at];
            (at, difference(sequence, &program.resources, graph, executor))
        });
        let mut first: Option<(usize, String)> = None;
        let mut equal = None;
        for (at, difference) in differences {
            match difference {
                None => {
                    equal = Some(at);
                    break;
                }
                Some(words) => first = first.or(Some((at, words))),
            }
        }
        let (taken, verdict) = match (equal, first) {
            (Some(at), _) => {
                let nodes = log.executors[at].nodes.len() as u32;
                (Some(at), Verdict::Equal { nodes, of: sequence.thunks.len() as u32 })
            }
            (None, Some((at, words))) => {
                (Some(at), Verdict::Different(format!("log line {}: {words}", log.executors[at].line)))
            }
            (None, None) => nearest(sequence, log, &free),
        };
        if let Some(at) = taken {
            free[at] = false;
        }
        answers[index] = Some(verdict);
    }
    let verdicts = answers.into_iter().map(|answer| answer.unwrap_or(Verdict::NotInLog));
    sequences.into_iter().zip(verdicts).map(|((path, _), verdict)| Checked { path, verdict }).collect()
}

/// An executor that is alike in part: what it differs in. Not one that shares nothing but a count.
fn nearest(sequence: &Sequence, log: &XlaLog, free: &[bool]) -> (Option<usize>, Verdict) {
    let same_name = |executor: &LoggedExecutor| {
        let names = executor.nodes.iter().map(|node| (node.index as usize, node.name.as_str()));
        names
            .filter(|&(index, name)| sequence.thunks.get(index).is_some_and(|thunk| thunk.name == name))
            .count()
    };
    let best = (0..log.executors.len())
        .filter(|&at| free[at])
        .map(|at| (same_name(&log.executors[at]), at))
        .filter(|&(same, _)| same > 0)
        .max_by_key(|&(same, at)| (same, std::cmp::Reverse(at)));
    match best.and_then(|(_, at)| unlike(sequence, &log.executors[at]).map(|words| (at, words))) {
        // It stays free: another sequence may be its equal.
        Some((at, words)) => {
            (None, Verdict::Different(format!("log line {}: {words}", log.executors[at].line)))
        }
        None => (None, Verdict::NotInLog),
    }
}

/// The first thunk that shows that the executor is of another sequence.
fn unlike(sequence: &Sequence, executor: &LoggedExecutor) -> Option<String> {
    let ours = sequence.thunks.len() as u64;
    if let Some(theirs) = executor.thunks.filter(|&theirs| theirs != ours) {
        return Some(format!("{theirs} thunks in the log, {ours} here"));
    }
    let operations = executor.operations.iter().enumerate().map(|(at, (name, kind))| (at, name, Some(kind)));
    let nodes = executor.nodes.iter().map(|node| (node.index as usize, &node.name, node.kind.as_ref()));
    if executor.thunks.is_none() && executor.nodes.is_empty() {
        return Some("no thunks in the log".to_owned());
    }
    operations.chain(nodes).find_map(|(index, name, kind)| {
        let Some(thunk) = sequence.thunks.get(index) else {
            return Some(format!("thunk {index} `{name}` in the log, only {ours} here"));
        };
        if thunk.name != *name {
            return Some(format!("thunk {index} is `{name}` in the log, `{}` here", thunk.name));
        }
        kind.filter(|kind| !is_kind(thunk.kind, kind))
            .map(|kind| format!("thunk {index} `{name}` is a {kind} in the log, a {} here", thunk.kind))
    })
}

/// Whether XLA calls a thunk of that kind so: all collectives are `collective` to it.
pub fn is_kind(kind: Kind, logged: &str) -> bool {
    kind.name() == logged || (logged == Kind::Collective.name() && kind.is_collective())
}

/// The first difference between a graph as XLA reduces it and what XLA said about it; `None` if
/// all that was said is so.
pub fn difference(
    sequence: &Sequence,
    resources: &[Resource],
    graph: &Graph,
    logged: &LoggedExecutor,
) -> Option<String> {
    let decision = Decision::new(sequence, graph, Thresholds::default());
    unlike(sequence, logged)
        .or_else(|| logged.contradiction.clone().map(|words| format!("the log contradicts itself: {words}")))
        .or_else(|| missing(sequence, logged))
        .or_else(|| count("source nodes", logged.sources, || graph.sources().len() as u64))
        .or_else(|| count("sink nodes", logged.sinks, || graph.sinks().len() as u64))
        .or_else(|| resource_edges(sequence, resources, logged))
        .or_else(|| logged.nodes.iter().find_map(|node| dependencies(sequence, graph, node)))
        .or_else(|| priorities(graph, logged))
        .or_else(|| count("erased edges", logged.erased, || graph.erased(sequence, resources)))
        .or_else(|| flag("a chain", logged.is_chain, decision.chain.holds))
        .or_else(|| flag("below the small-buffers limit", logged.small_buffers, decision.small_buffers.holds))
        .or_else(|| flag("sequential", logged.is_sequential, decision.sequential))
}

/// A list of nodes that ends too early for XLA's own cut.
fn missing(sequence: &Sequence, logged: &LoggedExecutor) -> Option<String> {
    let (listed, all) = (logged.nodes.len(), sequence.thunks.len());
    (logged.list_bytes > 0 && listed < all && !logged.is_cut_by_xla()).then(|| {
        format!("the log lists {listed} of {all} thunks, and ends too early for XLA's cut near 15,000 bytes")
    })
}

fn count(what: &str, logged: Option<u64>, ours: impl FnOnce() -> u64) -> Option<String> {
    let logged = logged?;
    let ours = ours();
    (logged != ours).then(|| format!("{logged} {what} in the log, {ours} here"))
}

fn flag(what: &str, logged: Option<bool>, ours: bool) -> Option<String> {
    let not = |flag| if flag { "" } else { "not " };
    logged
        .filter(|&logged| logged != ours)
        .map(|logged| format!("{}{what} in the log, {}{what} here", not(logged), not(ours)))
}

fn dependencies(sequence: &Sequence, graph: &Graph, node: &LoggedNode) -> Option<String> {
    let incoming = graph.incoming(node.index);
    let ours: Vec<&str> =
        incoming.iter().map(|edge| sequence.thunks[edge.node as usize].name.as_str()).collect();
    if ours != node.dependencies {
        let list = |names: &[&str]| match names {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        let theirs: Vec<&str> = node.dependencies.iter().map(String::as_str).collect();
        return Some(format!(
            "thunk {} `{}` waits for {} in the log, for {} here",
            node.index,
            node.name,
            list(&theirs),
            list(&ours)
        ));
    }
    let what = |part: &str| format!("thunk {} `{}`: {part}", node.index, node.name);
    flag("a source", node.source, incoming.is_empty())
        .or_else(|| flag("a sink", node.sink, graph.outgoing(node.index).is_empty()))
        .map(|words| what(&words))
}

fn priorities(graph: &Graph, logged: &LoggedExecutor) -> Option<String> {
    logged.nodes.iter().find(|node| node.priority.is_some())?;
    let ours = graph.priorities();
    logged.nodes.iter().find_map(|node| {
        let priority = ours.get(node.index as usize).copied().unwrap_or_default();
        count("", node.priority, || u64::from(priority)).map(|_| {
            let theirs = node.priority.unwrap_or_default();
            format!("thunk {} `{}` has priority {theirs} in the log, {priority} here", node.index, node.name)
        })
    })
}

/// Edges from resources alone, before the reduction. Where the log has all of them, both ways.
fn resource_edges(sequence: &Sequence, resources: &[Resource], logged: &LoggedExecutor) -> Option<String> {
    /// Pairs of users of resources beyond which only those in the log are looked at.
    const MAX_USERS: usize = 512;
    let ours = |from: NodeId, to: NodeId| -> Option<EdgeKind> {
        let thunk = |node: NodeId| sequence.thunks.get(node as usize);
        let all = causes(thunk(from)?, thunk(to)?, resources, 64);
        let kinds = all.iter().map(|cause| match cause {
            Cause::Resource { kind, .. } => Some(*kind),
            Cause::Buffer { .. } | Cause::Unknown => None,
        });
        // A pair that clashes on a buffer as well is not logged here.
        kinds.collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    let name = |kind: Option<EdgeKind>| {
        kind.map_or("no edge".to_owned(), |kind| match kind {
            EdgeKind::Scheduling => "a scheduling edge".to_owned(),
            EdgeKind::Execution => "an execution edge".to_owned(),
        })
    };
    let words = |from: NodeId, to: NodeId, theirs, ours| {
        format!(
            "from thunk {from} to thunk {to} the log has {} by resources, here is {}",
            name(theirs),
            name(ours)
        )
    };
    for &(from, to, kind) in &logged.resource_edges {
        let ours = ours(from, to);
        if ours != Some(kind) {
            return Some(words(from, to, Some(kind), ours));
        }
    }
    let users: Vec<NodeId> = sequence
        .thunks
        .iter()
        .zip(0..)
        .filter(|(thunk, _)| !thunk.all_resources().is_empty())
        .map(|(_, node)| node)
        .collect();
    if !logged.all_resource_edges || users.len() > MAX_USERS {
        return None;
    }
    let theirs: std::collections::BTreeSet<(u32, u32)> =
        logged.resource_edges.iter().map(|&(from, to, _)| (from, to)).collect();
    users.iter().enumerate().find_map(|(place, &to)| {
        users[..place].iter().find_map(|&from| {
            let ours = ours(from, to)?;
            (!theirs.contains(&(from, to))).then(|| words(from, to, None, Some(ours)))
        })
    })
}
