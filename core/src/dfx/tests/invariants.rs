//! I1 to I20 (dfx spec §9.1), each over random shapes and seeded schedules.

use std::sync::OnceLock;

use super::super::host::{Sink, Taken};
use super::super::*;
use super::world::{Disturbance, Shape, World};
use crate::machine::{Grain, Outcome};
use crate::rng::Rng;

/// Schedules for each invariant; `DFX_SEEDS` sets another number.
fn seeds() -> u64 {
    let wished = std::env::var("DFX_SEEDS").ok().and_then(|text| text.parse().ok());
    wished.unwrap_or(if cfg!(target_arch = "wasm32") { 200 } else { 10_000 })
}

struct Report {
    judged: [u64; INVARIANTS.len()],
    broken: Vec<(u64, usize, String)>,
    freezes: u64,
}

/// All schedules once, for all invariants: each is judged in every run.
fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let mut report = Report { judged: [0; INVARIANTS.len()], broken: Vec::new(), freezes: 0 };
        for seed in 0..seeds() {
            let mut shape = Shape::of(seed);
            // Half of the runs are undisturbed; in the others the host dies, sleeps, or fails.
            let mut rng = Rng::new(seed ^ 0xd157);
            let step = 1 + rng.below(900);
            shape.disturbance = match seed % 8 {
                1 | 3 => Disturbance::Crash(step),
                5 => Disturbance::Stall(step),
                6 => Disturbance::Fails(2 + rng.below(6)),
                7 => Disturbance::Corrupts(1 + rng.below(6)),
                _ => Disturbance::None,
            };
            if seed % 16 == 2 {
                shape.rules = Rules { policy: Policy::PerLane, ..shape.rules };
            }
            if seed % 16 == 10 {
                shape.rules = Rules { policy: Policy::Drop, ..shape.rules };
                shape.disturbance = Disturbance::Stall(u64::MAX);
            }
            let world = World::new(shape, seed).run(seed);
            report.freezes += world.freezes;
            let Verdicts { judged, broken } = world.verdicts;
            report.judged.iter_mut().zip(judged).for_each(|(all, one)| *all += one);
            report.broken.extend(broken.into_iter().map(|(n, what)| (seed, n, what)));
        }
        report
    })
}

#[track_caller]
fn check(invariant: usize) {
    let report = report();
    let broken: Vec<_> = report.broken.iter().filter(|(_, n, _)| *n == invariant).collect();
    if let Some((seed, _, what)) = broken.first() {
        panic!("I{invariant} is broken in {} runs, first by seed {seed}: {what}", broken.len());
    }
    assert!(report.judged[invariant] > seeds() / 100, "I{invariant} was hardly judged");
    assert!(report.freezes > seeds() / 4, "only {} freezes", report.freezes);
}

macro_rules! invariants {
    ($($name:ident: $n:literal,)+) => {
        $(#[test] fn $name() { check($n); })+
    };
}

invariants! {
    i01_each_buffer_has_one_owner: 1,
    i02_no_leader_escapes_between_two_flags: 2,
    i03_each_word_has_one_writer: 3,
    i04_nothing_is_lost_while_the_host_lives: 4,
    i05_nothing_is_counted_twice: 5,
    i06_pools_are_delivered_in_order: 6,
    i07_no_deadlock_at_any_pool_size: 7,
    i08_every_wait_has_an_end_from_its_start: 8,
    i09_a_release_serves_those_who_waited: 9,
    i10_no_lane_sleeps_through_a_release: 10,
    i11_a_freeze_takes_in_boundedly_many_buffers: 11,
    i12_unread_payloads_are_not_overwritten: 12,
    i13_what_is_published_is_not_called_dropped: 13,
    i14_what_is_acknowledged_is_the_hosts: 14,
    i15_after_the_stop_nothing_is_on_its_way: 15,
    i16_lanes_outlive_the_host: 16,
    i17_freezes_begin_and_end_once: 17,
    i18_a_freeze_stops_its_own_region_only: 18,
}

/// I19: free queues that start just below 2³² wrap; that seeds do so is part of the shapes.
#[test]
fn i19_indices_wrap() {
    let wrapped = (0..200).filter(|&seed| Shape::of(seed).first > 0).count();
    assert!(wrapped > 20, "{wrapped} of 200 shapes start near the end");
    for first in [u32::MAX - 5, u32::MAX - 1, u32::MAX] {
        for seed in 0..50 {
            let world = World::new(Shape { first, ..Shape::of(seed) }, seed).run(seed);
            assert_eq!(world.verdicts.broken.first_key_value(), None, "seed {seed} from {first}");
        }
    }
}

/// I20, and with it that nothing depends on a map's order or an address.
#[test]
fn i20_same_seed_same_log() {
    for seed in 0..100 {
        let log = |_| World::new(Shape::of(seed), seed).run(seed).log.finish();
        assert_eq!(log(0), log(1), "seed {seed}");
    }
}

/// `Coarse` equals an unpreempted run of `Fine`: same memory, same ledger, whatever the host does.
#[test]
fn coarse_is_fine_without_interruption() {
    for seed in 0..400 {
        let run = |grain| {
            let mut shape = Shape::of(seed);
            shape.lanes = 1;
            shape.profile.max_lanes = 1;
            World::new(Shape { grain, ..shape }, seed).run(seed)
        };
        let (fine, coarse) = (run(Grain::Fine), run(Grain::Coarse));
        for (a, b) in fine.kept.iter().zip(&coarse.kept) {
            assert_eq!(a.records, b.records, "seed {seed}");
        }
        assert_eq!(coarse.verdicts.broken.first_key_value(), None, "seed {seed}");
    }
}

/// Takes everything over, and keeps nothing.
struct Anything;

impl<M> Sink<M> for Anything {
    fn copies(&mut self, _: &Pool, _: &Taken) -> bool {
        true
    }
    fn spool(&mut self, _: &Pool, _: &Taken, _: Link<'_, M>) {}
    fn collect(&mut self, _: &Pool, taken: &Taken, _: Link<'_, M>) -> u32 {
        taken.records
    }
    fn write_payloads(&mut self, _: u32, _: Link<'_, M>) -> bool {
        true
    }
}

/// One lane and its host, whose threads take one step each in turn.
struct Alone {
    rig: Rig,
    recorder: Recorder,
    grain: Grain,
    events: Vec<Event>,
}

impl Alone {
    /// Goes on until the lane waits or is ready, with nobody in between.
    fn go(&mut self, record: &[u32], now: u64) -> Outcome<Written> {
        let touched = Touched::default();
        loop {
            let tap = self.rig.tap(&touched);
            let outcome = self.recorder.advance(&tap, record, now, self.grain, &mut self.events);
            if outcome != Outcome::Progress {
                return outcome;
            }
        }
    }

    fn host(&mut self, now: u64) {
        for actor in self.rig.actors() {
            self.rig.step(actor, &mut Anything, now, &Touched::default(), &mut self.events);
        }
    }
}

/// `Coarse` is an unpreempted run of `Fine`, write by write: same outcome, same events, same memory.
#[test]
fn coarse_is_an_unpreempted_run_of_fine() {
    let (mut waits, mut writes) = (0, 0);
    for seed in 0..400 {
        let shape = Shape::of(seed);
        let (rules, transport) = (shape.rules, shape.profile.transport);
        let layout =
            Layout::new(&shape.profile, shape.subsystems[0], shape.lanes, shape.cores, rules.spare());
        let layout = layout.expect("small shapes fit");
        let lane = layout.pools[seed as usize % layout.pools.len()].lane;
        let [mut fine, mut coarse] = [Grain::Fine, Grain::Coarse].map(|grain| {
            let rig = Rig::new(layout.clone(), transport, rules, shape.first);
            let mut engine = Engine::new(&layout, lane, rules);
            engine.attach(&rig.device);
            Alone { rig, recorder: Recorder::new(engine), grain, events: Vec::new() }
        });
        let pools: Vec<_> = fine.recorder.engine.pools().collect();
        let (mut rng, mut now) = (Rng::new(seed), 0);
        for step in 0..40 {
            let writer = rng.below(pools.len() as u64) as usize;
            let pool = &layout.pools[pools[writer] as usize];
            let write = match rng.below(8) {
                0 => Write::Flush,
                1 => Write::Switch,
                _ if pool.kind == PoolKind::AicoreTask => Write::ForCore,
                _ => Write::Record,
            };
            let record = vec![step; pool.record_words as usize];
            [&mut fine, &mut coarse].into_iter().for_each(|alone| alone.recorder.begin(writer, write));
            for round in 0.. {
                let outcomes = [&mut fine, &mut coarse].map(|alone| alone.go(&record, now));
                assert_eq!(outcomes[0], outcomes[1], "seed {seed} write {step}");
                assert_eq!(fine.events, coarse.events, "seed {seed} write {step}");
                assert_eq!(fine.rig, coarse.rig, "seed {seed} write {step}");
                let Outcome::Wait { deadline, .. } = outcomes[0] else { break };
                waits += 1;
                // A host that does not come at all, at times: then the wait ends by itself.
                now = if round > 300 || seed % 5 == 0 { deadline.expect("an end") } else { now + 1 };
                [&mut fine, &mut coarse].into_iter().for_each(|alone| alone.host(now));
            }
            writes += 1;
        }
    }
    assert!(waits > 1_000 && writes == 400 * 40, "{waits} waits in {writes} writes");
}
