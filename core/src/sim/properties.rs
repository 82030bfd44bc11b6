//! The properties of executor spec §7 on programs that shrink: small, flat, every flag free.

use proptest::prelude::*;

use super::tests::check_properties;
use super::*;
use crate::executor::{self, Queue};
use crate::program::{Access, Kind, Program, Resource, ResourceKind, Sequence, SequencePath, Thunk};

/// Bytes of one slot; thunks use a few slots of one allocation.
const SLOT: u64 = 4;

fn thunks() -> impl Strategy<Value = Vec<Thunk>> {
    let slots = || prop::collection::vec((0..12u64, 0..3u64), 0..3);
    let resource = prop::option::weighted(0.3, (0..2u32, any::<bool>()));
    let flags = (prop::bool::weighted(0.15), prop::bool::weighted(0.2), prop::bool::weighted(0.15));
    let thunk =
        (slots(), slots(), resource, flags, 1..50u64).prop_map(|(reads, writes, resource, flags, cost)| {
            let mut thunk = Thunk::new(Kind::Kernel, "k");
            for (slot, size) in reads {
                thunk = thunk.reads(0, slot * SLOT, size * SLOT);
            }
            for (slot, size) in writes {
                thunk = thunk.writes(0, slot * SLOT, size * SLOT);
            }
            if let Some((resource, write)) = resource {
                thunk = thunk.takes(resource, if write { Access::Write } else { Access::Read });
            }
            (thunk.may_block, thunk.pending, thunk.foreign_pool) = flags;
            thunk.cost = Some(cost);
            thunk
        });
    prop::collection::vec(thunk, 1..24)
}

fn options() -> impl Strategy<Value = Options> {
    let executor = (0..3usize, 0..6u32, 0..4u32).prop_map(|(queue, max_workers, split_threshold)| {
        let queue = Queue::ALL[queue];
        executor::Options { queue, max_workers, split_threshold, buffer_threshold: 0, thunk_threshold: 0 }
    });
    let faults = prop::collection::vec((0..24u32, prop::bool::weighted(0.3)), 0..3);
    let pending =
        prop_oneof![Just(PendingThunks::AsDeclared), Just(PendingThunks::Never), Just(PendingThunks::All)];
    let flags = (prop::bool::weighted(0.9), any::<bool>());
    (executor, faults, pending, flags, 1..5u16, 0..30u64, any::<u64>()).prop_map(
        |(executor, faults, pending, (runner, adversarial), pool_threads, post_latency, seed)| Options {
            executor,
            // Also what the decision would run in order, such as chains.
            mode: ModeChoice::Concurrent,
            runner,
            pool_threads,
            post_latency,
            pending,
            faults: faults
                .into_iter()
                .map(|(node, never)| Fault {
                    path: SequencePath::entry(),
                    node,
                    kind: if never { FaultKind::NeverCompletes } else { FaultKind::Fails },
                })
                .collect(),
            schedule: if adversarial { Schedule::Adversarial } else { Schedule::ByTime },
            seed,
            ..Options::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Any queue class, worker cap, order of completion, mix of inline, pending and blocking
    /// thunks, errors and thunks that never complete.
    #[test]
    fn any_schedule_keeps_the_properties(thunks in thunks(), mut options in options()) {
        options.faults.retain(|fault| (fault.node as usize) < thunks.len());
        let kinds = [ResourceKind::Communicator, ResourceKind::Token];
        let program = Program {
            resources: kinds.map(|kind| Resource { kind, label: String::new() }).to_vec(),
            sequence: Sequence { thunks },
            ..Program::default()
        };
        check_properties(options.seed, &program, &options);
    }
}
