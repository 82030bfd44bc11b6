//! Seeded scenarios: the simulations whose logs have committed digests (contracts §2).

use super::{Costs, Fault, FaultKind, Options, PendingThunks, Schedule};
use crate::executor::{self, Queue};
use crate::program::{
    Access, Kind, Nested, Origin, Program, Resource, ResourceKind, Role, Sequence, SequencePath, Thunk,
};
use crate::rng::Rng;

/// How many scenarios have committed digests.
pub const SEEDED: u64 = 50;

/// A program and options from a seed: every queue class, worker caps 0 to 5, inline and pending
/// and blocking thunks, foreign pools, collectives and tokens, nested sequences, errors, and
/// sometimes a thunk that never completes.
pub fn seeded(seed: u64) -> (Program, Options) {
    let mut rng = Rng::new(seed);
    let program = program(seed, &mut rng);
    let nodes = program.sequence.thunks.len() as u64;
    let fault =
        |kind, rng: &mut Rng| Fault { path: SequencePath::entry(), node: rng.below(nodes) as u32, kind };
    let mut faults = Vec::new();
    if rng.one_in(4) {
        faults.push(fault(FaultKind::Fails, &mut rng));
    }
    if rng.one_in(8) {
        faults.push(fault(FaultKind::NeverCompletes, &mut rng));
    }
    let options = Options {
        executor: executor::Options {
            queue: Queue::ALL[rng.below(3) as usize],
            max_workers: rng.below(6) as u32,
            split_threshold: [0, 1, 2, 8][rng.below(4) as usize],
            buffer_threshold: if rng.one_in(8) { 512 } else { 0 },
            thunk_threshold: if rng.one_in(4) { 8 } else { 0 },
        },
        runner: !rng.one_in(8),
        pool_threads: 1 + rng.below(5) as u16,
        post_latency: rng.below(3) * 700,
        costs: Costs { base: 1 + rng.below(2_000), bytes_per_tick: rng.below(3), jitter_percent: 50 },
        pending: match rng.below(4) {
            0 => PendingThunks::Never,
            1 => PendingThunks::All,
            2 => PendingThunks::OneIn(3),
            _ => PendingThunks::AsDeclared,
        },
        faults,
        schedule: if rng.one_in(2) { Schedule::Adversarial } else { Schedule::ByTime },
        iterations: 1 + rng.below(2) as u32,
        seed,
        ..Options::default()
    };
    (program, options)
}

fn program(seed: u64, rng: &mut Rng) -> Program {
    let resources = [ResourceKind::Communicator, ResourceKind::Token, ResourceKind::Communicator]
        .map(|kind| Resource { kind, label: String::new() });
    let size = 2 + rng.below(60);
    Program {
        name: format!("seeded-{seed}"),
        origin: Origin { format: "generated".to_owned(), release: String::new() },
        resources: resources.to_vec(),
        sequence: sequence(size, 2, rng),
        ..Program::default()
    }
}

/// Bytes per slot of a generated allocation.
const SLOT: u64 = 16;

fn sequence(thunks: u64, depth: u32, rng: &mut Rng) -> Sequence {
    // Few slots make chains, many make width.
    let slots = 1 + rng.below(2 * thunks);
    Sequence { thunks: (0..thunks).map(|i| thunk(i, slots, depth, rng)).collect() }
}

fn thunk(index: u64, slots: u64, depth: u32, rng: &mut Rng) -> Thunk {
    let name = format!("t{index}");
    if depth > 0 && rng.one_in(12) {
        return control_flow(name, depth - 1, rng);
    }
    let collective = rng.one_in(6);
    let mut thunk = Thunk::new(if collective { Kind::AllReduce } else { Kind::Kernel }, name);
    for _ in 0..rng.below(3) {
        thunk = thunk.reads(rng.below(2) as u32, rng.below(slots) * SLOT, SLOT * rng.below(3));
    }
    for _ in 0..rng.below(2) {
        thunk = thunk.writes(rng.below(2) as u32, rng.below(slots) * SLOT, SLOT * rng.below(3));
    }
    if collective {
        thunk = thunk.takes(2 * rng.below(2) as u32, Access::Write);
    } else if rng.one_in(12) {
        thunk = thunk.takes(1, if rng.one_in(2) { Access::Read } else { Access::Write });
    }
    thunk.may_block = rng.one_in(8);
    thunk.pending = rng.one_in(8);
    thunk.foreign_pool = rng.one_in(10);
    thunk.cost = rng.one_in(3).then(|| 1 + rng.below(5_000));
    thunk
}

fn control_flow(name: String, depth: u32, rng: &mut Rng) -> Thunk {
    let nested = |role, rng: &mut Rng| {
        let size = rng.below(14);
        Nested { role, sequence: sequence(size, depth, rng) }
    };
    let (kind, roles) = match rng.below(3) {
        0 => (Kind::While, vec![Role::Condition, Role::Body]),
        1 => (Kind::Conditional, vec![Role::Branch(0), Role::Branch(1)]),
        _ => (Kind::Call, vec![Role::Called]),
    };
    let mut thunk = Thunk::new(kind, name);
    thunk.trip_count = (kind == Kind::While && rng.one_in(2)).then(|| rng.below(4));
    thunk.nested = roles.into_iter().map(|role| nested(role, rng)).collect();
    thunk
}
