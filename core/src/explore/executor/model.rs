//! The executor as a [`Model`].

use std::marker::PhantomData;

use super::Property;
use super::compiled::{Compiled, Nodes, bit, each};
use super::step::Step;
use super::world::{Call, Doing, Rank, Thread, World, ready};
use crate::executor::{ReadyQueue, Role, Run, Session, State, Worker};
use crate::explore::memory::Shared;
use crate::explore::{Broken, Model, Narrator, Taken};
use crate::graph::{EdgeKind, NodeId};
use crate::machine::{LocalMemory, Word};
use crate::trace::{Actor, Entry, EventKind, Header, Mode};

/// A scenario under one class of ready queue and on one kind of memory.
#[derive(Debug)]
pub(super) struct Executor<Q, M> {
    compiled: Compiled,
    of: PhantomData<(Q, M)>,
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Action {
    rank: u8,
    what: What,
    /// Which of the possible results the access gives.
    choice: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// This thread goes on.
    Go(u8),
    /// This idle thread takes this item.
    Take(u8, u8),
    /// This pending thunk completes.
    Complete(u8),
}

impl<Q, M> Executor<Q, M> {
    pub(super) fn new(compiled: Compiled) -> Self {
        Self { compiled, of: PhantomData }
    }
}

impl<Q: ReadyQueue, M: Shared> Executor<Q, M> {
    /// All that can happen, but for the choice of results.
    fn enabled(&self, world: &World<M>, actions: &mut Vec<Action>) {
        for (number, rank) in (0..).zip(&world.ranks) {
            let mut add = |what| actions.push(Action { rank: number, what, choice: 0 });
            let mut idle = None;
            for (index, thread) in (0..).zip(&rank.threads) {
                match thread.doing {
                    Doing::Idle if index == 0 => {}
                    Doing::Idle => {
                        // Of equal threads the first stands for all.
                        if idle.is_none() || !self.compiled.symmetry {
                            (0..rank.items.len()).for_each(|item| add(What::Take(index, item as u8)));
                        }
                        idle = Some(index);
                    }
                    Doing::Call(Call::Finish(node))
                        if thread.answers.is_empty() && !self.may_complete(world, number, node) => {}
                    _ => add(What::Go(index)),
                }
            }
            for &(node, _) in &rank.completing {
                add(What::Complete(node));
            }
            let completing = rank.started & !rank.completed & self.compiled.pending & !self.compiled.never;
            for node in each(completing).filter(|&node| self.may_complete(world, number, node)) {
                add(What::Complete(node as u8));
            }
        }
    }

    /// Whether a thunk that runs may complete: a collective only when every rank has come to it,
    /// and a communicator does one after the other, in the order of their starts.
    fn may_complete(&self, world: &World<M>, number: u8, node: NodeId) -> bool {
        let Some(communicator) = self.compiled.communicators[node as usize] else { return true };
        if self.compiled.ranks == 1 {
            return true;
        }
        let on = |rank: &Rank<M>| -> Vec<NodeId> {
            let calls = rank.calls.iter().map(|&node| NodeId::from(node));
            calls.filter(|&node| self.compiled.communicators[node as usize] == Some(communicator)).collect()
        };
        let mine = on(&world.ranks[usize::from(number)]);
        let Some(place) = mine.iter().position(|&other| other == node) else { return false };
        world.ranks.iter().all(|rank| on(rank).get(..=place) == Some(&mine[..=place]))
    }

    fn take(
        &self,
        world: &mut World<M>,
        action: Action,
        narrator: &mut impl Narrator,
    ) -> Result<Taken, Broken> {
        let Action { rank: number, what, choice } = action;
        let mut step = Step {
            compiled: &self.compiled,
            rank: &mut world.ranks[usize::from(number)],
            number,
            narrator,
            called: None,
            alone: false,
        };
        match what {
            What::Complete(node) => step.complete(node.into(), choice)?,
            What::Go(thread) => step.thread::<Q>(thread, choice)?,
            What::Take(thread, item) => {
                step.take(thread, usize::from(item));
                step.thread::<Q>(thread, choice)?;
                // Others could have taken it.
                step.alone = false;
            }
        }
        let Step { called, alone, .. } = step;
        if let Some(node) = called {
            self.check_start_order(world, number, node)?;
        }
        Ok(Taken { alone: alone && !(M::WEAK && self.weak_choice(world, number)), ..Taken::default() })
    }

    /// Whether the access could have had other results: those are other actions of the same actor.
    fn weak_choice(&self, world: &World<M>, number: u8) -> bool {
        world.ranks[usize::from(number)].memory.choices() > 1
    }

    fn check_start_order(&self, world: &World<M>, number: u8, node: NodeId) -> Result<(), Broken> {
        let compiled = &self.compiled;
        let communicator = compiled.communicators[node as usize];
        let calls = |rank: &Rank<M>| -> Vec<NodeId> {
            let calls = rank.calls.iter().map(|&node| NodeId::from(node));
            calls.filter(|&node| compiled.communicators[node as usize] == communicator).collect()
        };
        let mine = calls(&world.ranks[usize::from(number)]);
        let place = mine.len() - 1;
        for (other, rank) in world.ranks.iter().enumerate() {
            if let Some(&theirs) = calls(rank).get(place)
                && theirs != node
            {
                compiled.broken(Property::StartOrder, || {
                    format!(
                        "rank {number} starts {} where rank {other} has started {}",
                        compiled.name(node),
                        compiled.name(theirs)
                    )
                })?;
            }
        }
        Ok(())
    }

    fn check_rank(&self, number: usize, rank: &Rank<M>) -> Result<(), Broken> {
        let compiled = &self.compiled;
        let state = State::over(&rank.memory);
        let at = if compiled.ranks == 1 { String::new() } else { format!(" on rank {number}") };
        if !rank.over && compiled.never == 0 {
            let stuck = each(rank.started & !rank.completed).map(|node| compiled.name(node));
            let never = each(compiled.all & !rank.started).count();
            let stuck: Vec<_> = stuck.collect();
            compiled.broken(Property::NoDeadlock, || {
                format!(
                    "nothing can happen any more{at}, and the run is not over: {}; {never} thunks never began",
                    if stuck.is_empty() {
                        "no thunk is running".to_owned()
                    } else {
                        format!("{} never completes", stuck.join(", "))
                    }
                )
            })?;
        }
        if compiled.never != 0 {
            // What does not depend on a thunk that never completes is done all the same.
            let held = self.held();
            if let Some(node) = each(compiled.all & !held & !rank.completed).next() {
                compiled.broken(Property::NoDeadlock, || {
                    format!(
                        "{} does not depend on what never completes, and is not done",
                        compiled.name(node)
                    )
                })?;
            }
            if rank.over {
                compiled.broken(Property::EventOnce, || "the run ended without all its thunks".to_owned())?;
            }
            return Ok(());
        }
        let left = rank.threads.iter().any(|thread| thread.doing != Doing::Idle)
            || !rank.items.is_empty()
            || !rank.attached.is_empty()
            || !rank.completing.is_empty();
        let workers = rank.memory.newest(compiled.session());
        let pending = state.pending_nodes();
        if left || workers != 0 {
            compiled.broken(Property::NoDeadlock, || {
                format!("the run is over{at}, but {workers} workers are still counted or waiting")
            })?;
        }
        if rank.over && pending != 0 {
            compiled.broken(Property::EventOnce, || {
                format!("the run is over{at} with {pending} pending nodes")
            })?;
        }
        // A failing thunk that was skipped has not failed.
        let failed = rank.failed & compiled.fails;
        let reported = rank.memory.newest(failed_word(compiled));
        let right = match reported {
            0 => failed == 0,
            _ => failed & bit(reported - 1) != 0,
        };
        if !right {
            compiled.broken(Property::FirstError, || match reported {
                0 => "a thunk failed, and the run returns no error".to_owned(),
                _ => format!("the run returns an error of {}, which has none", compiled.name(reported - 1)),
            })?;
        }
        Ok(())
    }

    /// Thunks that never complete, and what waits for them.
    fn held(&self) -> Nodes {
        let never = self.compiled.never;
        let mut waiting: Nodes = 0;
        for node in 0..self.compiled.nodes() {
            let waits = self.compiled.graph.incoming(node).iter().any(|edge| {
                let from = bit(edge.node);
                waiting & from != 0 || (edge.kind == EdgeKind::Execution && never & from != 0)
            });
            waiting |= if waits { bit(node) } else { 0 };
        }
        never | waiting
    }
}

/// The word that holds the first failure.
fn failed_word(compiled: &Compiled) -> Word {
    (0..compiled.session().0)
        .map(Word)
        .find(|&word| State::<LocalMemory>::role(word) == Role::Failed)
        .unwrap_or(Word(0))
}

impl<Q: ReadyQueue, M: Shared> Model for Executor<Q, M> {
    type State = World<M>;
    type Action = Action;

    /// Every access is one step further in a call that ends.
    const ACYCLIC: bool = true;

    fn initial(&self) -> World<M> {
        let compiled = &self.compiled;
        let rank = || {
            let mut memory = M::new(compiled.words(), compiled.waiter() + 1);
            let sources = {
                let state = State::new(&memory, &compiled.graph);
                // `start` looks at the graph and the priorities alone.
                let session = Session::new(&memory, 0);
                let run = Run {
                    graph: compiled.graph.successors(),
                    priorities: &compiled.priorities,
                    state: &state,
                    session: &session,
                    split_threshold: compiled.split_threshold,
                };
                ready(&Worker::<Q>::start(&run).ready)
            };
            memory.start();
            let mut threads = vec![Thread::default(); usize::from(compiled.threads)];
            threads[0] =
                Thread { doing: Doing::Call(Call::Begin), ready: sources, alone: true, ..Thread::default() };
            Rank {
                memory,
                started: 0,
                completed: 0,
                failed: 0,
                over: false,
                tried: 0,
                threads,
                items: Vec::new(),
                attached: Vec::new(),
                completing: Vec::new(),
                calls: Vec::new(),
            }
        };
        World { ranks: (0..compiled.ranks).map(|_| rank()).collect() }
    }

    fn actions(&self, world: &World<M>, actions: &mut Vec<Action>) {
        self.enabled(world, actions);
        if !M::WEAK {
            return;
        }
        // How many results an access can have is known when it was made.
        for index in 0..actions.len() {
            let action = actions[index];
            let mut next = world.clone();
            if self.take(&mut next, action, &mut ()).is_ok() {
                let choices = next.ranks[usize::from(action.rank)].memory.choices();
                actions.extend((1..choices).map(|choice| Action { choice, ..action }));
            }
        }
    }

    fn step(
        &self,
        world: &mut World<M>,
        action: Action,
        narrator: &mut impl Narrator,
    ) -> Result<Taken, Broken> {
        self.take(world, action, narrator)
    }

    fn check_end(&self, world: &World<M>) -> Result<(), Broken> {
        world.ranks.iter().enumerate().try_for_each(|(number, rank)| self.check_rank(number, rank))
    }

    fn canonicalise(&self, world: &mut World<M>) {
        if !self.compiled.symmetry {
            return;
        }
        for rank in &mut world.ranks {
            if rank.items.len() > 1 {
                rank.items.sort_unstable();
            }
            if rank.attached.len() > 1 {
                rank.attached.sort_unstable();
            }
            if rank.completing.len() > 1 {
                rank.completing.sort_unstable();
            }
            let pool = &mut rank.threads[1..];
            if !M::WEAK {
                pool.sort_unstable();
                continue;
            }
            let mut order: Vec<u8> = (0..pool.len() as u8).collect();
            let key = |&index: &u8| (pool[usize::from(index)], rank.memory.view(1 + index));
            order.sort_by_cached_key(key);
            let sorted: Vec<Thread> = order.iter().map(|&index| pool[usize::from(index)]).collect();
            pool.copy_from_slice(&sorted);
            rank.memory.rename(1, &order);
        }
    }

    fn heap(&self, world: &World<M>) -> u64 {
        let of = |rank: &Rank<M>| {
            size_of::<Rank<M>>()
                + size_of_val(&*rank.threads)
                + size_of_val(&*rank.items)
                + size_of_val(&*rank.attached)
                + size_of_val(&*rank.completing)
                + rank.calls.len()
                + rank.memory.heap()
        };
        world.ranks.iter().map(|rank| of(rank) as u64).sum()
    }

    fn header(&self) -> Header {
        self.compiled.header()
    }

    fn prologue(&self, narrator: &mut impl Narrator) {
        for number in 0..self.compiled.ranks {
            let lane = Actor(u16::from(number) * u16::from(self.compiled.threads));
            let start = EventKind::RunStart { sequence: 0, mode: Mode::Concurrent, parent: None };
            narrator.on(lane, number.into(), || start);
        }
        for number in 0..self.compiled.ranks {
            let lane = Actor(u16::from(number) * u16::from(self.compiled.threads));
            narrator.on(lane, number.into(), || EventKind::LoopStart { by: Entry::Caller });
        }
    }
}
