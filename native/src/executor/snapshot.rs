//! A look at a running executor, without stopping it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use thunkscope_core::executor::progress::{Named, Suspect, SuspectState};
use thunkscope_core::executor::{Progress, ReadyQueue};
use thunkscope_core::graph::NodeId;
use thunkscope_core::trace::Mode;

use super::drive::Shared;
use super::handle::Monitor;
use super::lane::Lane;
use super::thunks::Thunks;

/// What one look saw.
pub(super) struct Snapshot {
    /// Sequences that are being run, outermost first.
    pub(super) sequences: Vec<Seen>,
}

/// What a lane completed last: sequence and thunk.
type Last = Option<(usize, NodeId)>;

/// One sequence that is being run.
pub(super) struct Seen {
    plan: usize,
    pub(super) progress: Progress,
    /// Pending thunks, and for how many ns.
    pub(super) pending: Vec<(NodeId, u64)>,
    /// Lanes that are inside a thunk of it: lane, thunk, what the lane completed before.
    running: Vec<(usize, NodeId, Last)>,
}

impl Snapshot {
    pub(super) fn of<Q: ReadyQueue + Send + 'static, T: Thunks>(shared: &Shared<Q, T>) -> Self {
        let mut sequences = Vec::new();
        // In program order a lane says what it has completed by what it has begun.
        let last = |lane: &Lane| match lane.current() {
            Some((p, node)) if node > 0 && shared.plans[p].mode == Mode::Sequential => Some((p, node - 1)),
            _ => lane.last(),
        };
        for (index, plan) in shared.plans.iter().enumerate() {
            if !plan.active.load(Acquire) {
                continue;
            }
            let named = |node| Named { node, name: shared.thunks.name(index, node) };
            let mut progress =
                Progress { path: plan.path.to_string(), thunks: plan.graph.len(), ..Progress::default() };
            if plan.mode == Mode::Concurrent {
                progress.count(&plan.graph, &plan.state, &named);
            } else {
                let next = plan.sequential.lock().unwrap_or_else(PoisonError::into_inner).next();
                // In program order a thunk becomes ready when all before it have completed.
                let current = shared.lanes.iter().filter_map(|lane| lane.current());
                let current = current.filter(|&(p, _)| p == index).map(|(_, node)| node).max();
                if let Some(node) = current.or(next) {
                    progress.never_ready = plan.graph.len() - 1 - node.min(plan.graph.len() - 1);
                    progress.first_never_ready = (node + 1..plan.graph.len()).take(1).map(named).collect();
                }
            }
            for lane in &shared.lanes {
                if let Some((p, node)) = last(lane)
                    && p == index
                {
                    progress.last_completed.push(named(node));
                }
            }
            let mut pending = Vec::new();
            for thunk in plan.pending() {
                let Some((_, event)) = plan.pending_thunk(thunk.node) else { continue };
                if event.is_waiting() {
                    let since = thunk.left.lock().unwrap_or_else(PoisonError::into_inner).since;
                    let ns = since.map_or(0, |since| since.elapsed().as_nanos() as u64);
                    pending.push((thunk.node, ns));
                }
            }
            pending.extend(shared.cores.busy(index).into_iter().map(|node| (node, 0)));
            let mut running = Vec::new();
            for (lane, slot) in shared.lanes.iter().enumerate() {
                if let Some((p, node)) = slot.current()
                    && p == index
                {
                    running.push((lane, node, last(slot)));
                }
            }
            progress.suspects = pending
                .iter()
                .map(|&(node, for_ns)| Suspect { thunk: named(node), state: SuspectState::Pending, for_ns })
                .chain(running.iter().map(|&(_, node, _)| Suspect {
                    thunk: named(node),
                    state: SuspectState::Running,
                    for_ns: 0,
                }))
                .collect();
            sequences.push(Seen { plan: index, progress, pending, running });
        }
        Self { sequences }
    }

    /// The snapshot for people; `running` tells for how long a lane has been inside a thunk.
    pub(super) fn into_progress(self, running: &dyn Fn(usize, usize, NodeId) -> u64) -> Vec<Progress> {
        let finish = |seen: Seen| {
            let Seen { plan, mut progress, pending, running: lanes } = seen;
            for (suspect, &(lane, node, _)) in progress.suspects[pending.len()..].iter_mut().zip(&lanes) {
                suspect.for_ns = running(lane, plan, node);
            }
            progress.suspects.sort_by_key(|suspect| (std::cmp::Reverse(suspect.for_ns), suspect.thunk.node));
            progress
        };
        self.sequences.into_iter().map(finish).collect()
    }
}

/// Looks again and again: then it also knows for how long lanes have been inside a thunk.
#[derive(Debug)]
pub struct Sampler {
    monitor: Monitor,
    /// By lane: sequence, thunk, what was completed before, and since when it looked like that.
    seen: BTreeMap<usize, (usize, NodeId, Last, Instant)>,
}

impl Sampler {
    /// A sampler that has seen nothing yet.
    pub fn new(monitor: Monitor) -> Self {
        Self { monitor, seen: BTreeMap::new() }
    }

    /// Whether it looks at the same executor as `monitor`.
    pub fn is_of(&self, monitor: &Monitor) -> bool {
        Arc::ptr_eq(&self.monitor.engine, &monitor.engine)
    }

    /// How each sequence stands that is being run, outermost first.
    pub fn sample(&mut self) -> Vec<Progress> {
        let snapshot = self.monitor.engine.snapshot();
        let now = Instant::now();
        let mut seen = BTreeMap::new();
        for sequence in &snapshot.sequences {
            for &(lane, node, last) in &sequence.running {
                let since = match self.seen.get(&lane) {
                    Some(&(p, n, l, since)) if (p, n, l) == (sequence.plan, node, last) => since,
                    _ => now,
                };
                seen.insert(lane, (sequence.plan, node, last, since));
            }
        }
        self.seen = seen;
        let running = |lane: usize, _: usize, _: NodeId| {
            self.seen.get(&lane).map_or(0, |&(.., since)| now.duration_since(since).as_nanos() as u64)
        };
        snapshot.into_progress(&running)
    }
}
