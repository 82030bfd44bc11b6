//! The scenarios that are checked when none is asked for.

use super::Scenario;
use crate::executor::Queue;
use crate::program::{Access, Kind, Origin, Program, Resource, ResourceKind, Sequence, Thunk};

/// A named group of scenarios.
#[derive(Clone, Debug)]
pub struct Standard {
    /// What the command line calls it.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Too long for every day.
    pub long: bool,
    /// Smallest first.
    pub scenarios: Vec<Scenario>,
}

/// Bytes of one slot of a generated program.
const SLOT: u64 = 8;

/// The two ways in which thunks complete that every graph is explored with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completion {
    /// Before they return.
    Inline,
    /// At any time after they have started.
    Pending,
}

impl Completion {
    const ALL: [Self; 2] = [Self::Inline, Self::Pending];

    fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Pending => "pending",
        }
    }
}

fn program(name: String, resources: u32, thunks: Vec<Thunk>) -> Program {
    let communicator = Resource { kind: ResourceKind::Communicator, label: String::new() };
    Program {
        name,
        origin: Origin { format: "generated".to_owned(), release: String::new() },
        resources: vec![communicator; resources as usize],
        sequence: Sequence { thunks },
        ..Program::default()
    }
}

fn kernels(n: u32) -> Vec<Thunk> {
    (0..n).map(|i| Thunk::new(Kind::Kernel, format!("k{i}"))).collect()
}

/// Pairs of thunks of a program of `n`, the later one first in order.
fn pairs(n: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..n).flat_map(|to| (0..to).map(move |from| (from, to)))
}

/// Every way in which `n` thunks can depend on each other, once: the transitive relations that
/// respect program order, each made of uses (the earlier thunk writes a slot, the later reads it).
/// There are 1, 2, 7, 40, 357 of them.
pub fn small_graphs(n: u32) -> Vec<Program> {
    let pairs: Vec<_> = pairs(n).collect();
    let at = |from, to| pairs.iter().position(|&pair| pair == (from, to));
    let mut graphs = Vec::new();
    for relation in 0_u32..1 << pairs.len() {
        let holds = |from, to| at(from, to).is_some_and(|at| relation >> at & 1 == 1);
        let transitive = pairs.iter().all(|&(from, to)| {
            holds(from, to) || !(from + 1..to).any(|middle| holds(from, middle) && holds(middle, to))
        });
        if !transitive {
            continue;
        }
        let mut thunks = kernels(n);
        for (slot, &(from, to)) in (0..).zip(&pairs) {
            if holds(from, to) {
                write_read(&mut thunks, from, to, slot);
            }
        }
        graphs.push(program(format!("graph-{n}-{relation:x}"), 0, thunks));
    }
    graphs
}

fn write_read(thunks: &mut [Thunk], from: u32, to: u32, slot: u64) {
    let place = |thunks: &mut [Thunk], node: u32| {
        std::mem::replace(&mut thunks[node as usize], Thunk::new(Kind::Kernel, ""))
    };
    thunks[from as usize] = place(thunks, from).writes(0, slot * SLOT, SLOT);
    thunks[to as usize] = place(thunks, to).reads(0, slot * SLOT, SLOT);
}

/// Every graph of `n` nodes with edges of both kinds: each pair has none, an execution edge, or a
/// scheduling edge from a communicator of its own.
fn two_kinds(n: u32) -> Vec<Program> {
    let pairs: Vec<_> = pairs(n).collect();
    let mut graphs = Vec::new();
    for code in 0..3_u32.pow(pairs.len() as u32) {
        let mut thunks = kernels(n);
        for (slot, &(from, to)) in (0..).zip(&pairs) {
            match code / 3_u32.pow(slot) % 3 {
                0 => {}
                1 => write_read(&mut thunks, from, to, slot.into()),
                _ => {
                    for node in [from, to] {
                        let thunk =
                            std::mem::replace(&mut thunks[node as usize], Thunk::new(Kind::Kernel, ""));
                        thunks[node as usize] = thunk.takes(slot, Access::Write);
                    }
                }
            }
        }
        graphs.push(program(format!("two-kinds-{n}-{code}"), pairs.len() as u32, thunks));
    }
    graphs
}

fn with(program: &Program, completion: Completion) -> Program {
    let mut program = program.clone();
    for thunk in &mut program.sequence.thunks {
        thunk.pending = completion == Completion::Pending;
    }
    program
}

/// Each program under each queue, on one to `threads` threads beside the caller, with each way of
/// completing; the cap is one below the number of threads that there are, so that it matters.
fn all_ways(programs: &[Program], threads: u8, completions: &[Completion]) -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for program in programs {
        for queue in Queue::ALL {
            for threads in 1..=threads {
                for &completion in completions {
                    let name = format!("{} {queue} {threads} {}", program.name, completion.name());
                    scenarios.push(Scenario {
                        name,
                        queue,
                        threads,
                        max_workers: u32::from(threads).saturating_sub(1).max(1),
                        ..Scenario::new(with(program, completion))
                    });
                }
            }
        }
    }
    scenarios
}

/// As `scenarios`, with each of the thunks failing in turn.
fn failing(scenarios: Vec<Scenario>) -> Vec<Scenario> {
    let fail = |scenario: &Scenario| {
        let thunks = scenario.program.sequence.thunks.len() as u32;
        let scenario = scenario.clone();
        (0..thunks).map(move |node| {
            let name = format!("{} {node} fails", scenario.name);
            Scenario { name, fails: vec![node], ..scenario.clone() }
        })
    };
    scenarios.iter().flat_map(fail).collect()
}

/// Collectives of one communicator without any other dependency, each after a kernel of its own if
/// `fed`.
fn collectives(n: u32, fed: bool, blocking: bool) -> Program {
    let mut thunks = Vec::new();
    for i in 0..n {
        let slot = u64::from(i) * SLOT;
        if fed {
            thunks.push(Thunk::new(Kind::Kernel, format!("feed{i}")).writes(0, slot, SLOT));
        }
        let mut thunk = Thunk::new(Kind::AllReduce, format!("all-reduce{i}")).takes(0, Access::Write);
        if fed {
            thunk = thunk.reads(0, slot, SLOT);
        }
        thunk.may_block = blocking;
        thunk.pending = !blocking;
        thunks.push(thunk);
    }
    let fed = if fed { " fed" } else { "" };
    let way = if blocking { "blocking" } else { "pending" };
    program(format!("{n} collectives{fed} {way}"), 1, thunks)
}

fn on_two_ranks(programs: &[Program]) -> Vec<Scenario> {
    let on = |program: &Program| {
        let program = program.clone();
        Queue::ALL.into_iter().map(move |queue| Scenario {
            name: format!("{} {queue}", program.name),
            queue,
            threads: 1,
            ranks: 2,
            ..Scenario::new(program.clone())
        })
    };
    programs.iter().flat_map(on).collect()
}

/// Independent thunks on as many threads, with a cap that cannot hold them all.
fn crowded(n: u32, cap: u32) -> Scenario {
    let program = program(format!("{n} at once"), 0, kernels(n));
    Scenario {
        name: format!("{n} at once, cap {cap}"),
        threads: n as u8 - 1,
        max_workers: cap,
        ..Scenario::new(program)
    }
}

/// Blocking kernels among others.
fn blocking(n: u32) -> Vec<Scenario> {
    let mut programs = small_graphs(n);
    for program in &mut programs {
        program.name += " blocking";
        program.sequence.thunks.iter_mut().step_by(2).for_each(|thunk| thunk.may_block = true);
    }
    all_ways(&programs, 2, &[Completion::Inline])
}

fn never(n: u32) -> Vec<Scenario> {
    let all = all_ways(&[small_graphs(n), two_kinds(n)].concat(), 2, &[Completion::Pending]);
    let never = |scenario: Scenario| {
        (0..n).map(move |node| {
            let name = format!("{} {node} never", scenario.name);
            Scenario { name, never: vec![node], ..scenario.clone() }
        })
    };
    all.into_iter().flat_map(never).collect()
}

/// The standard set.
pub fn standard() -> Vec<Standard> {
    let graphs = |to: u32| (1..=to).flat_map(small_graphs).collect::<Vec<_>>();
    let two = |to: u32| (2..=to).flat_map(two_kinds).collect::<Vec<_>>();
    let both = &Completion::ALL[..];
    let collective_programs = [
        collectives(2, false, false),
        collectives(2, false, true),
        collectives(3, false, false),
        collectives(2, true, true),
    ];
    vec![
        Standard {
            name: "graphs",
            about: "every program of up to 3 thunks, every queue, 1 to 3 threads beside the caller, inline and pending",
            long: false,
            scenarios: all_ways(&graphs(3), 3, both),
        },
        Standard {
            name: "two-kinds",
            about: "every graph of up to 3 thunks with edges of both kinds, pending",
            long: false,
            scenarios: all_ways(&two(3), 2, &[Completion::Pending]),
        },
        Standard {
            name: "errors",
            about: "every graph of up to 3 thunks, each thunk failing in turn",
            long: false,
            scenarios: failing(all_ways(&graphs(3), 2, both)),
        },
        Standard {
            name: "blocking",
            about: "every graph of up to 3 thunks, every other one blocking and posted alone",
            long: false,
            scenarios: (2..=3).flat_map(blocking).collect(),
        },
        Standard {
            name: "never",
            about: "every graph of up to 3 thunks, each thunk never completing in turn",
            long: false,
            scenarios: (1..=3).flat_map(never).collect(),
        },
        Standard {
            name: "cap",
            about: "more independent thunks than the session has places for",
            long: false,
            scenarios: vec![crowded(3, 1), crowded(4, 1), crowded(4, 2)],
        },
        Standard {
            name: "collectives",
            about: "two ranks whose collectives wait for each other, pending and blocking",
            long: false,
            scenarios: on_two_ranks(&collective_programs[..]),
        },
        Standard {
            name: "graphs-4",
            about: "every program of 4 thunks, every queue, 1 to 3 threads beside the caller, inline and pending",
            long: true,
            scenarios: all_ways(&small_graphs(4), 3, both),
        },
        Standard {
            name: "two-kinds-4",
            about: "every graph of 4 thunks with edges of both kinds, pending",
            long: true,
            scenarios: all_ways(&two_kinds(4), 2, &[Completion::Pending]),
        },
    ]
}
