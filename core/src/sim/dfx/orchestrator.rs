//! What the orchestrator's lane writes for each thunk that it submits (contracts §5).

use super::device::Todo;
use super::world::World;
use crate::dfx::record::{Record, dep_gen_used};
use crate::dfx::{PoolKind, Write};
use crate::machine::Ticks;
use crate::program::Access;

impl World<'_> {
    /// The records of submitting `node` at `now`, and the submission itself.
    pub(super) fn submit(&mut self, node: u32, now: Ticks) {
        let last = self.lanes.len() - 1;
        let plans = self.plans;
        let plan = &plans[0];
        let thunk = &plan.sequence.thunks[node as usize];
        let (task, depth) = (self.task(node), 1);
        let nested = !thunk.nested.is_empty();
        if node == 0 {
            self.scope(0, 0, false);
        }
        if nested {
            self.scope(depth, node, false);
        }
        if self.scenario.swimlane_level >= 4 {
            let (start, end) = (self.cycles(now), self.cycles(now + SUBMIT));
            let record = Record::new(32).u64(0, start).u64(8, end).u64(16, task).u32(24, node);
            self.record(last, PoolKind::OrchPhase, 0, Write::Record, record.words());
        }
        let deps: Vec<u64> = plan.graph.incoming(node).iter().map(|edge| self.task(edge.node)).collect();
        let arguments: Vec<_> = thunk
            .uses
            .iter()
            .map(|used| {
                let kind = u8::from(used.access == Access::Write);
                (kind, u64::from(used.slice.allocation) << 40 | used.slice.offset, used.slice.size)
            })
            .collect();
        let mut words = std::mem::take(&mut self.chain);
        let slots = dep_gen_used(&mut words, task, &deps, thunk.kind as i32, &arguments);
        self.record(last, PoolKind::DepGen, 0, Write::Chain { slots }, &words);
        self.chain = words;
        self.lanes[last].todo.push_back(Todo::Submitted { node });
        if nested {
            self.scope(depth, node, true);
        }
        if node + 1 == plan.graph.len() {
            self.scope(0, 0, true);
        }
    }

    /// A scope's begin or end: the iteration (depth 0), or the nested sequences of a thunk.
    fn scope(&mut self, depth: u32, node: u32, end: bool) {
        let faults = self.scenario.rules.faults;
        let depth = if end { self.scopes.end() } else { self.scopes.begin(faults) }.unwrap_or(depth);
        let site = if depth == 0 { "iteration" } else { "sequence" };
        let live = self.live_counters();
        let heap: u64 = self.plans[0]
            .sequence
            .thunks
            .get(node as usize)
            .map_or(0, |thunk| thunk.uses.iter().map(|used| used.slice.end()).max().unwrap_or(0));
        let mut record = Record::new(80)
            .u64(32, heap)
            .u64(40, heap)
            .u32(48, node)
            .u32(52, node)
            .u32(56, self.submitted)
            .u32(60, live)
            .u32(64, live)
            .u32(68, self.pending)
            .u16(72, depth as u16)
            .u16(76, u16::from(end));
        for (at, byte) in site.bytes().enumerate() {
            record = record.u8(at, byte);
        }
        let last = self.lanes.len() - 1;
        self.record(last, PoolKind::ScopeStats, 0, Write::Record, record.words());
    }

    fn live_counters(&self) -> u32 {
        let nodes = 0..self.plans[0].graph.len();
        // Sampled, not summed, for long programs: the first thousand nodes.
        nodes.take(1000).filter(|&node| self.state.counter(node) > 0).count() as u32
    }
}

/// How long a submit takes, in ns.
pub(super) const SUBMIT: Ticks = 200;
