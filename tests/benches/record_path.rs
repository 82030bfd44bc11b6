//! What recording costs a lane while nothing is contended, in instructions: run under callgrind by
//! `cargo bench -p thunkscope-tests --bench record_path`, which starts itself under it. Also how
//! many events a second the simulator makes.

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use thunkscope_core::dfx::{Engine, Layout, Policy, PoolSize, Profile, Rules, Subsystem, Task, Transport};
use thunkscope_core::dfx::{PoolKind, Rig, Touched};
use thunkscope_core::machine::{Grain, LocalMemory, Memory, WideMemory, Word};
use thunkscope_core::sim::dfx::{self, Synthetic};

/// Names the part that a process under callgrind runs.
const PART: &str = "THUNKSCOPE_RECORD_PATH";
/// Records of one part; two parts differ by this many, so that set-up cancels.
const RECORDS: u32 = 20_000;

fn main() {
    if let Ok(part) = std::env::var(PART) {
        return run(&part);
    }
    println!("| record | one buffer | one of many | recorded | above | ratio | of many |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (kind, bytes) in KINDS {
        let plain = per_record(&format!("plain {bytes}"));
        let many = per_record(&format!("many {bytes}"));
        let ours = per_record(&format!("{} global-freeze", kind.name()));
        let drop = per_record(&format!("{} drop", kind.name()));
        let (Some(plain), Some(many), Some(ours), Some(drop)) = (plain, many, ours, drop) else {
            println!("callgrind is missing: install valgrind");
            break;
        };
        let apart = 100.0 * (ours - drop).abs() / drop;
        let (above, ratio) = (ours - plain, ours / plain);
        let of_many = ours / many;
        println!(
            "| {kind}, {bytes} B | {plain:.1} | {many:.1} | {ours:.1} | {above:.1} | {ratio:.2} | {of_many:.2} |"
        );
        println!("  global-freeze against drop: {apart:.2} %");
    }
    println!("\n| scenario | events | M events/s | instructions an event |");
    println!("| --- | ---: | ---: | ---: |");
    for (name, text) in SCENARIOS {
        let mut rates = Vec::new();
        let mut events = 0;
        for _ in 0..5 {
            let start = Instant::now();
            events = simulate(text, 100);
            rates.push(events as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
        rates.sort_by(f64::total_cmp);
        let (short, long) = (instructions(&format!("{name} sim 5")), instructions(&format!("{name} sim 10")));
        let apart = (simulate(text, 10) - simulate(text, 5)) as f64;
        let each = short.zip(long).map_or(0.0, |(short, long)| (long - short) as f64 / apart);
        println!("| {name} | {events} | {:.2} | {each:.0} |", rates[2]);
    }
}

/// Scenarios for the simulator: one whose gates are reached all the time, one whose are not.
const SCENARIOS: [(&str, &[u8]); 2] = [
    ("tight-freeze", include_bytes!("../../www/scenarios/tight-freeze.json")),
    ("real-a2a3", include_bytes!("../../www/scenarios/real-a2a3.json")),
];

/// Events of a run of so many iterations, with the log on.
fn simulate(text: &[u8], iterations: u32) -> usize {
    let mut scenario = dfx::read(text).expect("a shipped scenario");
    scenario.iterations = iterations;
    let run = dfx::run(&scenario, &Synthetic(1)).expect("runs");
    black_box(&run.log).events.len()
}

const KINDS: [(PoolKind, u32); 4] = [
    (PoolKind::OrchPhase, 32),
    (PoolKind::SchedPhase, 64),
    (PoolKind::ArgsDump, 128),
    (PoolKind::DepGen, 4672),
];

/// Instructions for one record, from two runs of different length.
fn per_record(part: &str) -> Option<f64> {
    let count = |n: u32| instructions(&format!("{part} {n}"));
    Some((count(2 * RECORDS)? - count(RECORDS)?) as f64 / f64::from(RECORDS))
}

/// Instructions that a process takes for one part.
fn instructions(part: &str) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .env(PART, part)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn run(part: &str) {
    let words: Vec<&str> = part.split(' ').collect();
    let n: u32 = words[2].parse().expect("a number");
    if words[1] == "sim" {
        let (_, text) = SCENARIOS.into_iter().find(|(name, _)| *name == words[0]).expect("a scenario");
        black_box(simulate(text, n));
        return;
    }
    if words[0] == "plain" || words[0] == "many" {
        let bytes: u32 = words[1].parse().expect("a number");
        let memory = LocalMemory::new((CAPACITY * 4672 / 4 + 64) as usize);
        match (words[0], bytes) {
            ("plain", 32) => plain::<8>(&memory, n),
            ("plain", 64) => plain::<16>(&memory, n),
            ("plain", 128) => plain::<32>(&memory, n),
            ("plain", _) => plain::<1168>(&memory, n),
            (_, 32) => many::<8>(&memory, n),
            (_, 64) => many::<16>(&memory, n),
            (_, 128) => many::<32>(&memory, n),
            _ => many::<1168>(&memory, n),
        }
        return;
    }
    let kind = PoolKind::ALL.into_iter().find(|kind| kind.name() == words[0]).expect("a kind");
    let policy: Policy = words[1].parse().expect("a policy");
    match kind.record_bytes() {
        32 => recorded::<8>(kind, policy, n),
        64 => recorded::<16>(kind, policy, n),
        128 => recorded::<32>(kind, policy, n),
        _ => recorded::<1168>(kind, policy, n),
    }
}

/// Records of a buffer: large enough that switching is rare, as on the real device.
const CAPACITY: u32 = 1000;

/// The least that anybody could do: look whether there is room, copy, count.
#[inline(never)]
fn plain<const N: usize>(memory: &LocalMemory, n: u32) {
    let record = black_box([7; N]);
    let mut count = 0;
    for _ in 0..n {
        if count >= CAPACITY {
            count = 0;
        }
        memory.write_range(Word(64 + count * N as u32), &record);
        count += 1;
        Memory::store(memory, Word(0), count, std::sync::atomic::Ordering::Relaxed);
    }
    black_box(count);
}

/// The same for one of several buffers: where it stands is in memory, not in registers.
#[inline(never)]
fn many<const N: usize>(memory: &LocalMemory, n: u32) {
    struct Buffer {
        next: Word,
        count: u32,
        most: u32,
        count_word: Word,
    }
    let fresh = || Buffer { next: Word(64), count: 0, most: CAPACITY, count_word: Word(0) };
    let mut buffers = black_box(vec![fresh(), fresh()]);
    let (record, buffer) = (black_box([7; N]), black_box(1));
    for _ in 0..n {
        let held = &mut buffers[buffer];
        let count = held.count;
        if count >= held.most {
            *held = fresh();
            continue;
        }
        memory.write_range(held.next, &record);
        held.next.0 += N as u32;
        held.count = count + 1;
        Memory::store(memory, held.count_word, count + 1, std::sync::atomic::Ordering::Relaxed);
    }
    black_box(&buffers);
}

#[inline(never)]
fn recorded<const N: usize>(kind: PoolKind, policy: Policy, n: u32) {
    let (mut lane, memory) = Bench::new(kind, policy);
    let record = black_box([7; N]);
    let writer = lane.writer;
    for _ in 0..n {
        if !lane.engine.append(&memory, writer, &record) {
            lane.again(&memory);
            let _ = lane.engine.append(&memory, writer, &record);
        }
    }
    black_box(&memory);
}

/// A lane with one pool, and a host that is always in time.
struct Bench {
    engine: Engine,
    writer: usize,
    layout: Layout,
    rules: Rules,
    lane: u32,
    /// The region as it was at first.
    fresh: Vec<u32>,
}

impl Bench {
    fn new(kind: PoolKind, policy: Policy) -> (Self, LocalMemory) {
        let subsystem = Subsystem::ALL.into_iter().find(|s| s.kinds().contains(&kind)).expect("in one");
        let mut profile = Profile::custom(2, 1);
        profile.pools = [PoolSize { records: CAPACITY, buffers: 4, slots: 4 }; 9];
        let layout = Layout::new(&profile, subsystem, 2, 1, 0).expect("fits");
        let rules = Rules { policy, ..Rules::default() };
        let rig = Rig::new(layout.clone(), Transport::Shared, rules, 0);
        // A copy in plain cells: what a lane would see, without the simulator's pages.
        let memory = LocalMemory::new(layout.words as usize);
        let mut fresh = vec![0; layout.pools[0].buffers.0 as usize];
        rig.tap(&Touched::default()).read_range(Word(0), &mut fresh);
        let pool = layout.pools.iter().position(|pool| pool.kind == kind).expect("has one");
        let lane = layout.pools[pool].lane;
        let engine = Engine::new(&layout, lane, rules);
        let writer = engine.writer_of(pool as u32).expect("its lane");
        let mut bench = Self { engine, writer, layout, rules, lane, fresh };
        bench.again(&memory);
        (bench, memory)
    }

    /// The same buffer comes back at once. Not inlined, as no lane would have it in its loop.
    #[cold]
    #[inline(never)]
    fn again(&mut self, memory: &LocalMemory) {
        self.engine = Engine::new(&self.layout, self.lane, self.rules);
        memory.write_range(Word(0), &self.fresh);
        self.engine.attach(memory);
        self.engine.begin(self.writer, Task::Switch, 0);
        let _ = self.engine.advance(memory, 0, Grain::Coarse, &mut ());
    }
}
