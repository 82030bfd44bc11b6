//! The answer to "why does thunk 8 wait?", from an exhibit alone.

use super::{Exhibit, SHOWN_IN_LOG};
use crate::explain::Place;
use crate::graph::NodeId;
use crate::trace::{RunId, State};

/// One or two sentences about `node` in execution `run`, at the instant of `state`: the same that
/// [`explain`](crate::explain) has for it.
///
/// Empty when the node is not there, or `run` is no execution of the shown sequence.
pub fn why(exhibit: &Exhibit, run: RunId, state: &State, node: NodeId) -> String {
    let shown = state.run(run).is_some_and(|execution| execution.sequence == SHOWN_IN_LOG);
    let Some(thunk) = exhibit.thunks.get(node as usize).filter(|_| shown) else { return String::new() };
    let incoming = exhibit.incoming(node).map(|edge| (edge.from, edge.kind, edge.reason));
    let outgoing = exhibit.outgoing(node).iter().map(|edge| edge.to);
    let place = Place { name: &thunk.name, incoming: incoming.collect(), outgoing: outgoing.collect() };
    place.why(run, state, node)
}
