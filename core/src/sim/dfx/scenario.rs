//! What a run of the device is told.

use crate::dfx::{Profile, Rules, Subsystem};
use crate::machine::Ticks;
use crate::program::{Program, Shape, Thunk};
use crate::sim::Costs;

/// The format that is read.
pub const FORMAT: &str = "thunkscope.scenario/1";

/// A whole scenario. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// For people.
    pub name: String,
    /// What there is to see.
    pub about: String,
    /// What runs.
    pub workload: Workload,
    /// How often.
    pub iterations: u32,
    /// Sizes of the device.
    pub profile: Profile,
    /// Lanes, the last of which is the orchestrator; at least 2.
    pub lanes: u32,
    /// Cores; core `c` belongs to lane `c` modulo the scheduling lanes.
    pub cores: u32,
    /// Regions that are there.
    pub subsystems: Vec<Subsystem>,
    /// 1 cores, 2 and lanes, 3 and scheduler phases, 4 and orchestrator phases.
    pub swimlane_level: u32,
    /// Which tensors are dumped.
    pub dump: Dump,
    /// The protocol.
    pub rules: Rules,
    /// Pace and mishaps of the host.
    pub host: Host,
    /// How long thunks run on their core.
    pub costs: Costs,
    /// Who goes next.
    pub order: Order,
    /// Of everything random.
    pub seed: u64,
    /// Longest log.
    pub max_events: usize,
}

/// What runs.
#[derive(Clone, Debug)]
pub enum Workload {
    /// So many thunks of a generated shape.
    Shape(Shape, u32),
    /// A program.
    Program(Box<Program>),
}

/// Which tensors are dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dump {
    /// One thunk in so many; 0 dumps none.
    pub every: u32,
    /// Longest payload, in bytes: larger tensors are cut to it.
    pub most: u64,
}

/// Pace and mishaps of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// One step of one thread.
    pub step: Ticks,
    /// How long an idle thread sleeps.
    pub poll: Ticks,
    /// A collector's time for a buffer, and for each record in it.
    pub collect: Ticks,
    /// As above.
    pub collect_record: Ticks,
    /// The payload writer's time for a buffer's payloads.
    pub write: Ticks,
    /// The host dies.
    pub crash_at: Option<Ticks>,
    /// The host sleeps from the first to the second instant.
    pub stall: Option<(Ticks, Ticks)>,
    /// Collectors stand still from the first to the second instant.
    pub collectors_stuck: Option<(Ticks, Ticks)>,
    /// By shard: its threads take so many percent of the usual time. Missing ones are 100.
    pub skew_percent: Vec<u32>,
    /// One copy in so many fails; 0: none.
    pub copy_fails_one_in: u64,
    /// One payload write in so many fails; 0: none.
    pub write_fails_one_in: u64,
    /// Records that a pool's collector has room for; 0: any number.
    pub sink_records: u64,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            step: 50,
            poll: 10_000,
            collect: 2_000,
            collect_record: 20,
            write: 2_000,
            crash_at: None,
            stall: None,
            collectors_stuck: None,
            skew_percent: Vec::new(),
            copy_fails_one_in: 0,
            write_fails_one_in: 0,
            sink_records: 0,
        }
    }
}

/// Who goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whose time has come first.
    ByTime,
    /// The same, with every duration changed by up to a quarter, by the seed.
    Random,
    /// Anybody who can, by the seed.
    Adversarial,
}

/// Where dumped bytes come from; the Dump module's selection will be another one.
pub trait Payloads {
    /// Whether a thunk's tensors are dumped.
    fn selects(&self, node: u32) -> bool;
    /// Bytes of argument `index` of a thunk, `size` of them.
    fn bytes(&self, thunk: &Thunk, index: usize, after: bool, size: usize) -> Vec<u8>;
}

/// Bytes that tell where they are from: for runs in which nothing is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic(pub u32);

impl Payloads for Synthetic {
    fn selects(&self, node: u32) -> bool {
        self.0 > 0 && node.is_multiple_of(self.0)
    }
    fn bytes(&self, thunk: &Thunk, index: usize, after: bool, size: usize) -> Vec<u8> {
        let start = thunk.uses.get(index).map_or(0, |used| used.slice.offset);
        let (start, flip) = (start as u8, if after { 0xff } else { 0 });
        (0..size).map(|at| start.wrapping_add(at as u8) ^ flip).collect()
    }
}

impl Scenario {
    /// Whether the host always goes on, nothing fails, and the budget is at least a hundred times
    /// what the host takes for one buffer: then nothing may be missing (I4).
    pub fn is_fair(&self) -> bool {
        let Host { crash_at, stall, collectors_stuck, .. } = self.host;
        let Host { copy_fails_one_in, write_fails_one_in, sink_records, .. } = self.host;
        let fails = [copy_fails_one_in, write_fails_one_in, sink_records];
        let slow = |window: (Ticks, Ticks)| window.1 - window.0 >= self.rules.budget / 2;
        let most = self.profile.pools.iter().map(|pool| u64::from(pool.records)).max().unwrap_or(0);
        let buffer = [self.host.poll, self.host.collect, self.host.write, self.host.step];
        let each = self.host.collect_record.saturating_mul(most);
        let buffer = buffer.into_iter().fold(each, u64::saturating_add);
        crash_at.is_none()
            && fails == [0; 3]
            && ![stall, collectors_stuck].into_iter().flatten().any(slow)
            && buffer.saturating_mul(100) <= self.rules.budget
    }

    /// One line for the log's header; equal scenarios, equal line.
    pub fn summary(&self) -> String {
        let Rules { policy, peer_gate, budget, short_wait, allocate, faults } = self.rules;
        let subsystems: Vec<_> = self.subsystems.iter().map(|s| s.name()).collect();
        let pools: Vec<_> =
            self.profile.pools.iter().map(|p| format!("{}x{}/{}", p.buffers, p.records, p.slots)).collect();
        let faults: Vec<_> = faults.iter().map(crate::dfx::Fault::name).collect();
        format!(
            "profile={} transport={:?} lanes={} cores={} subsystems={} level={} ready={:?} pools={} arena={} \
             policy={policy} gate={peer_gate} budget={budget} short={short_wait} allocate={allocate} faults={} \
             dump={:?} host={:?} costs={:?} order={:?} iterations={}",
            self.profile.name,
            self.profile.transport,
            self.lanes,
            self.cores,
            subsystems.join(","),
            self.swimlane_level,
            self.profile.ready,
            pools.join(","),
            self.profile.arena_bytes,
            faults.join(","),
            self.dump,
            self.host,
            self.costs,
            self.order,
            self.iterations,
        )
    }
}
