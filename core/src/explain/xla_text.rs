//! The graphs in the words of XLA's own log (executor spec §6), to be diffed with it.

use std::fmt::Write as _;

use super::Report;
use crate::diagnostic::shown;
use crate::executor::Plan;
use crate::graph::NodeId;

/// What XLA logs at level 2 and level 6 for each executor, without time stamps, in the order in
/// which it builds them: nested sequences before the one that holds them.
///
/// XLA calls every collective `collective`; so does this text. It cuts a message near 15,000
/// bytes; this text is whole.
pub fn to_xla_text(report: &Report<'_>) -> String {
    let mut text = String::new();
    for at in report.program.build_order() {
        executor(&report.plans[at], &mut text);
    }
    text
}

fn executor(plan: &Plan<'_>, text: &mut String) {
    let graph = &plan.graph;
    let (n, sources, sinks) = (graph.len(), graph.sources().len(), graph.sinks().len());
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "Constructed ThunkExecutor with {n} thunks: #source_nodes={sources} #sink_nodes={sinks}, \
         is_sequential={}, small_buffers={}",
        plan.decision.sequential, plan.decision.small_buffers.holds
    );
    let _ = writeln!(text, "ThunkExecutor: #thunks={n} #source_nodes={sources} #sink_nodes={sinks}");
    let name = |node: NodeId| shown(&plan.sequence.thunks[node as usize].name, usize::MAX);
    for (thunk, node) in plan.sequence.thunks.iter().zip(0..) {
        let kind = if thunk.kind.is_collective() { "collective" } else { thunk.kind.name() };
        let dependencies: Vec<_> = graph.incoming(node).iter().map(|edge| name(edge.node)).collect();
        let _ = writeln!(
            text,
            " thunk #{node:05}: op_name={}, kind={kind}, dependencies=[{}], source={}, sink={}, priority={}",
            name(node),
            dependencies.join(", "),
            graph.incoming(node).is_empty(),
            graph.outgoing(node).is_empty(),
            plan.priorities()[node as usize]
        );
    }
}
