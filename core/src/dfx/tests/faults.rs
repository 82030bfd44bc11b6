//! Each defect of the real code is caught by an invariant, and only while it is switched on.

use super::super::{Fault, Faults, Rules, Subsystem};
use super::world::{Disturbance, Shape, World};

fn shape(fault: Fault, seed: u64, on: bool) -> Shape {
    let mut shape = Shape::of(seed);
    let faults = if on { [fault].into_iter().collect() } else { Faults::default() };
    shape.rules = Rules { faults, allocate: false, ..shape.rules };
    let step = 1 + crate::rng::Rng::new(seed).below(400);
    match fault {
        Fault::StampedCount | Fault::AcquireBeforePublish => {
            shape.subsystems = vec![Subsystem::Swimlane];
        }
        Fault::StalePredicate
        | Fault::LostPayloadBlocks
        | Fault::ClearBeforeOpen
        | Fault::FreezeLoadedFirst => shape.subsystems = vec![Subsystem::TensorDump],
        Fault::ScopeDepth => shape.subsystems = vec![Subsystem::ScopeStats],
        _ => {}
    }
    shape.disturbance = match fault {
        Fault::PopWaitUnbounded => Disturbance::Crash(step),
        Fault::PublishThenDrop | Fault::LostOnFailedFlush => Disturbance::Stall(step),
        Fault::LostPayloadBlocks => Disturbance::Fails(3),
        _ => Disturbance::None,
    };
    shape
}

/// Runs seeds until an invariant breaks; the same seed passes with the fault off.
#[track_caller]
fn check(fault: Fault, expected: &[usize]) {
    for seed in 0..4_000 {
        let world = World::new(shape(fault, seed, true), seed).run(seed);
        let Some((n, what)) = world
            .verdicts
            .broken
            .iter()
            .find(|(n, _)| expected.contains(n))
            .map(|(n, what)| (*n, what.clone()))
        else {
            continue;
        };
        println!("{fault}: I{n} is broken by seed {seed}: {what}");
        let off = World::new(shape(fault, seed, false), seed).run(seed);
        assert_eq!(off.verdicts.broken.first_key_value(), None, "{fault} off, seed {seed}");
        return;
    }
    panic!("no seed shows {fault}");
}

macro_rules! faults {
    ($($name:ident: $fault:ident breaks $expected:expr,)+) => {
        /// A fault that nobody added here would not be looked for.
        #[test]
        fn every_fault_is_looked_for() {
            assert_eq!([$(Fault::$fault),+], Fault::ALL);
        }
        $(#[test] fn $name() { check(Fault::$fault, &$expected); })+
    };
}

faults! {
    t01_release_with_empty_queues: ReleaseWithEmptyQueues breaks [7, 9],
    t02_pop_wait_unbounded: PopWaitUnbounded breaks [8],
    t03_publish_then_drop: PublishThenDrop breaks [13],
    t04_two_free_queue_writers: TwoFreeQueueWriters breaks [1, 3],
    t05_acquire_before_publish: AcquireBeforePublish breaks [7],
    t06_stale_predicate: StalePredicate breaks [7, 9],
    t07_lost_payload_blocks: LostPayloadBlocks breaks [9, 7, 12],
    t09_allocate_per_freeze: AllocatePerFreeze breaks [1],
    t10_stamped_count: StampedCount breaks [5],
    t11_ack_before_deliver: AckBeforeDeliver breaks [14],
    t12_done_ring_ignored: DoneRingIgnored breaks [1, 7],
    t13_scope_depth: ScopeDepth breaks [6],
    t14_stop_while_frozen: StopWhileFrozen breaks [17],
    t15_lost_on_failed_flush: LostOnFailedFlush breaks [5],
    clear_before_open: ClearBeforeOpen breaks [2],
    freeze_loaded_first: FreezeLoadedFirst breaks [2],
    generation_less_barrier: GenerationLessBarrier breaks [10],
}
