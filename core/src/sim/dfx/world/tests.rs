//! The fold of the log against what is really in memory, after every turn that wrote an event.

use std::sync::atomic::Ordering::Relaxed;

use super::super::state::{Core as CoreState, Phase as Folded, Region, Replay, State};
use super::super::tests::{SHIPPED, shipped};
use super::super::{Order, Synthetic};
use super::*;
use crate::dfx::{Fault, Owner, Policy, Transport};
use crate::machine::Memory;

/// Who holds each buffer of a pool, as memory says; None for one that is in somebody's hand.
fn owners(rig: &Rig, engine: &Engine, index: usize) -> Vec<Option<Owner>> {
    let pool = &rig.layout.pools[index];
    let mut owners = vec![None; pool.most as usize];
    let mut take = |buffer: u32, owner| {
        let held: &mut Option<Owner> = &mut owners[buffer as usize];
        // Put into the next queue first, taken out of the last one then: for a moment it is in both.
        *held = held.or(Some(owner));
    };
    rig.host_layout.recycled(&rig.host, index).into_iter().for_each(|b| take(b, Owner::Recycled));
    let shard = rig.layout.shard(pool.lane) as usize;
    let [ready, done] = rig.host_layout.in_rings(&rig.host, shard).map(|ring| {
        let mine = |(at, buffer): (u32, u32)| (at as usize == index).then_some(buffer);
        ring.into_iter().filter_map(mine).collect::<Vec<_>>()
    });
    ready.into_iter().for_each(|buffer| take(buffer, Owner::ReadyHost));
    let writer = engine.writer_of(index as u32).expect("its lane's engine");
    if let Some(buffer) = engine.fills(writer).and_then(|start| pool.index_of(start)) {
        take(buffer, Owner::Active);
    }
    let state = pool.state;
    let (mut head, tail) = (rig.device.load(state.fq_head, Relaxed), rig.device.load(state.fq_tail, Relaxed));
    while head != tail {
        let slot = rig.device.load64(state.fq_slots.plus(2 * (head % pool.slots)), Relaxed);
        take(pool.index_of(Word((slot / 4) as u32)).expect("one of the pool"), Owner::Queued);
        head = head.wrapping_add(1);
    }
    done.into_iter().for_each(|buffer| take(buffer, Owner::Done));
    owners
}

/// (kind, owner, buffer's address) of the entries in a lane's ready queue.
fn entries(rig: &Rig, lane: u32) -> Vec<(u32, u32)> {
    let layout = &rig.layout;
    let (mut at, tail) = (
        rig.device.load(layout.heads.plus(lane), Relaxed),
        rig.device.load(layout.tails.plus(lane), Relaxed),
    );
    let mut found = Vec::new();
    while at != tail {
        let mut entry = [0; 4];
        rig.device.read_range(layout.entry(lane, at), &mut entry);
        let [owner, kind, low, _] = entry;
        let is = |pool: &crate::dfx::Pool| (pool.kind as u32, pool.owner, pool.lane) == (kind, owner, lane);
        let pool = layout.pools.iter().position(is).expect("an entry of a pool");
        found.push((pool as u32, layout.pools[pool].index_of(Word(low / 4)).expect("one of its buffers")));
        at = (at + 1) % layout.ready;
    }
    found
}

fn compare_region(world: &World<'_>, index: usize, region: &Region) {
    let (rig, word) = (&world.rigs[index], |word| world.rigs[index].device.load(word, Relaxed));
    let (layout, block) = (&rig.layout, rig.layout.backpressure);
    for (flags, freeze, contended, generation) in [
        (region.push, block.rq_freeze_active, block.rq_contended, layout.extension.rq_generation),
        (region.pop, block.fq_freeze_active, block.fq_contended, layout.extension.fq_generation),
    ] {
        assert_eq!((flags.freeze_active, flags.contended), (word(freeze) != 0, word(contended) != 0));
        // Counted up one access after the release.
        assert!(flags.releases.wrapping_sub(word(generation)) <= 1);
    }
    for (lane, folded) in region.lanes.iter().enumerate() {
        let engine = &world.lanes[lane].recorders[index].engine;
        assert_eq!((folded.parked.is_some(), folded.silent), (engine.is_parked(), engine.is_silent()));
        let (head, tail) = (word(layout.heads.plus(lane as u32)), word(layout.tails.plus(lane as u32)));
        assert_eq!((folded.head, folded.tail), (head, tail), "ready queue of lane {lane}");
        assert_eq!(Vec::from(folded.queue.clone()), entries(rig, lane as u32), "ready queue of lane {lane}");
        if let Some(arena) = layout.arenas.get(lane) {
            let wide = |word| rig.device.load64(word, Relaxed);
            assert_eq!(folded.arena_offset, wide(arena.write_offset));
            assert_eq!(u64::from(folded.completed), wide(arena.completed));
            assert_eq!(folded.handled, rig.host_layout.handled(&rig.host, lane));
        }
    }
    for (at, (folded, line)) in region.pools.iter().zip(rig.ledger().lines).enumerate() {
        let (pool, what) = (&layout.pools[at], format!("{} pool {at}", region.subsystem));
        let engine = &world.lanes[pool.lane as usize].recorders[index].engine;
        let writer = engine.writer_of(at as u32).expect("its lane's engine");
        let leaving = engine.current(writer).is_some() && engine.fills(writer).is_none();
        assert_eq!((folded.kind, folded.owner, folded.lane), (pool.kind, pool.owner, pool.lane));
        assert_eq!(
            (folded.head, folded.tail),
            (word(pool.state.fq_head), word(pool.state.fq_tail)),
            "{what}"
        );
        assert_eq!(folded.seq, word(pool.state.seq).wrapping_add(u32::from(leaving)), "{what}");
        for (buffer, owner) in owners(rig, engine, at).into_iter().enumerate().take(folded.buffers.len()) {
            let held = folded.buffers[buffer].owner;
            let in_hand = matches!(held, Owner::Collecting | Owner::Done | Owner::Recycled);
            let queued = entries(rig, pool.lane).contains(&(at as u32, buffer as u32));
            let agrees = match owner {
                // Recycled and taken to be filled again, before its entry in the done ring was freed.
                Some(Owner::Done) => matches!(held, Owner::Done | Owner::Recycled),
                Some(owner) => owner == held,
                None => in_hand || held == Owner::ReadyDevice && queued,
            };
            assert!(agrees, "{what}: buffer {buffer} is {owner:?}, folded as {held:?}");
        }
        let ledger = folded.ledger;
        assert_eq!(
            [ledger.written, ledger.collected, ledger.in_flight(), ledger.dropped, ledger.lost],
            [line.written, line.collected, line.in_flight, line.dropped, line.lost],
            "{what}: {ledger:?} {line:?}"
        );
        assert_eq!(ledger.causes, line.causes, "{what}");
    }
}

fn compare(world: &World<'_>, state: &State) {
    for (index, region) in state.regions.iter().enumerate() {
        compare_region(world, index, region);
    }
    for (core, real) in world.cores.iter().enumerate() {
        let phase = |phase| match phase {
            Phase::Receive => Folded::Dispatched,
            Phase::Start => Folded::Received,
            Phase::End => Folded::Running,
            Phase::Finished => Folded::Finished,
        };
        let task = real.task.as_ref().map(|task| (task.node, phase(task.phase)));
        assert_eq!(state.cores.get(core).copied().unwrap_or_default(), CoreState { task });
    }
}

/// Runs a scenario; after each turn the fold of its log is what memory says, and after each event the
/// folded ledger balances.
#[track_caller]
fn check(scenario: &Scenario) {
    let program = match &scenario.workload {
        Workload::Shape(shape, n) => shape.generate(*n, scenario.seed),
        Workload::Program(program) => (**program).clone(),
    };
    let plans = Plan::all(&program, &executor::Options::default()).expect("plans");
    let payloads = Synthetic(scenario.dump.every);
    let mut world = World::new(scenario, &program, &plans, &payloads, false).expect("fits");
    let (mut state, mut seen, mut on) = (State::default(), 0, true);
    while on {
        on = world.turn();
        if seen == world.log.events.len() {
            continue;
        }
        for entry in &world.log.events[seen..] {
            state.apply(entry);
            for pool in state.regions.iter().flat_map(|region| &region.pools) {
                assert!(pool.ledger.balances(), "{} at {entry:?}: {:?}", scenario.name, pool.ledger);
            }
        }
        seen = world.log.events.len();
        compare(&world, &state);
    }
    let run = world.finish().expect("ends");
    run.log.events[seen..].iter().for_each(|entry| state.apply(entry));
    for (region, ledger) in state.regions.iter().zip(&run.ledgers) {
        for (pool, line) in region.pools.iter().zip(&ledger.lines) {
            let folded = pool.ledger;
            assert_eq!(
                (folded.in_flight(), folded.causes),
                (line.in_flight, line.causes),
                "{}",
                scenario.name
            );
            assert_eq!(
                (folded.written, folded.collected),
                (line.written, line.collected),
                "{}",
                scenario.name
            );
        }
    }
    let (events, all) = (run.log.events.len(), Replay::new(run.log));
    assert_eq!(all.state_at(events), state);
    for n in [0, 1, 127, 128, 129, events / 2, events - 1] {
        assert_eq!(all.state_at(n), State::after(all.log(), n), "{} after {n} events", scenario.name);
    }
}

#[test]
fn a_fold_of_the_log_is_the_state_of_every_shipped_scenario() {
    SHIPPED.iter().for_each(|(name, _)| check(&shipped(name)));
}

/// The same under every policy, order and transport, with all mishaps of a host.
#[test]
fn a_fold_of_the_log_is_the_state_whatever_happens() {
    for seed in 0..60_u64 {
        let mut scenario = shipped("tight-freeze");
        scenario.workload = Workload::Shape(crate::program::Shape::Transformer, 12);
        scenario.seed = seed;
        scenario.rules.policy = [Policy::GlobalFreeze, Policy::Drop, Policy::PerLane][(seed % 3) as usize];
        scenario.order = [Order::ByTime, Order::Random, Order::Adversarial][(seed / 3 % 3) as usize];
        scenario.rules.allocate = seed % 4 == 1;
        scenario.rules.budget = 400_000;
        scenario.profile.transport = [Transport::Shared, Transport::Shadow][(seed % 2) as usize];
        let host = &mut scenario.host;
        match seed % 7 {
            0 => host.crash_at = Some(seed * 3_000),
            1 => host.stall = Some((10_000, 1_300_000)),
            2 => host.copy_fails_one_in = 3,
            3 => host.write_fails_one_in = 2,
            4 => (host.sink_records, host.crash_at) = (6, Some(90_000)),
            5 => host.collectors_stuck = Some((5_000, 200_000)),
            _ => scenario.rules.faults = [Fault::ReleaseWithEmptyQueues].into_iter().collect(),
        }
        scenario.name = format!("seed {seed}");
        check(&scenario);
    }
}
