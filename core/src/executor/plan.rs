//! What is decided once per sequence, before anything runs.

use std::cell::OnceCell;

use super::Options;
use crate::diagnostic::Diagnostic;
use crate::graph::decision::{Decision, Thresholds};
use crate::graph::{Graph, Reduction};
use crate::program::{Program, Role, Sequence, SequencePath};

/// One sequence with its graph, its priorities and its sequential decision: what XLA calls a
/// thunk executor. Built once, run many times.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// Where the sequence stands in its program.
    pub path: SequencePath,
    /// The thunks.
    pub sequence: &'p Sequence,
    /// What may run when.
    pub graph: Graph,
    /// Sequential or not, and by which rules.
    pub decision: Decision,
    /// By node, in the order of [`Thunk::nested`](crate::program::Thunk::nested): role and index
    /// of the nested sequence's plan.
    pub nested: Vec<Vec<(Role, usize)>>,
    /// Computed when first asked for: for long sequences they cost more than the graph.
    priorities: OnceCell<Vec<u32>>,
}

impl<'p> Plan<'p> {
    /// Plans for all sequences of a program, in the order of [`Program::sequences`]: the entry first.
    ///
    /// # Errors
    /// `GR001` for a graph with too many edges.
    pub fn all(program: &'p Program, options: &Options) -> Result<Vec<Self>, Diagnostic> {
        let mut plans = Vec::new();
        for (path, sequence) in program.sequences() {
            let graph = Graph::build(sequence, &program.resources, Reduction::Upstream)
                .map_err(|error| error.at(path.to_string()))?;
            let thresholds =
                Thresholds { buffer: options.buffer_threshold, thunks: u64::from(options.thunk_threshold) };
            let decision = Decision::new(sequence, &graph, thresholds);
            let priorities = OnceCell::new();
            plans.push(Self { path, sequence, graph, decision, nested: Vec::new(), priorities });
        }
        link(&mut plans);
        Ok(plans)
    }

    /// By node: how many nodes depend on it, directly or through others.
    pub fn priorities(&self) -> &[u32] {
        self.priorities.get_or_init(|| self.graph.priorities())
    }

    /// This sequence as a program of its own: its control-flow thunks are not entered, they count
    /// as one thunk each.
    #[must_use]
    pub fn alone(&self) -> Self {
        let nested = vec![Vec::new(); self.sequence.thunks.len()];
        Self { path: SequencePath::entry(), nested, ..self.clone() }
    }
}

/// Finds each nested sequence's plan. Plans are in depth-first order, so the children of a
/// sequence follow it in the order of its thunks.
fn link(plans: &mut [Plan<'_>]) {
    /// Links plan `at`; returns the index after the last plan below it.
    fn walk(plans: &mut [Plan<'_>], at: usize) -> usize {
        let mut next = at + 1;
        let sequence = plans[at].sequence;
        let mut nested = Vec::with_capacity(sequence.thunks.len());
        for thunk in &sequence.thunks {
            let mut links = Vec::new();
            for child in &thunk.nested {
                links.push((child.role, next));
                next = walk(plans, next);
            }
            nested.push(links);
        }
        plans[at].nested = nested;
        next
    }
    if !plans.is_empty() {
        walk(plans, 0);
    }
}
