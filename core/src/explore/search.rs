//! Breadth-first search over the states of a model.

use std::collections::VecDeque;

use super::key::Key;
use super::visited::Visited;
use super::{Broken, Model, Teller};
use crate::machine::Job;
use crate::sim::dfx::{DfxLog, Entry, Kind};
use crate::trace::{Actor, EventKind};

/// Where a search gives up, and how it goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most states.
    pub states: u64,
    /// Most bytes of memory for what is kept of the states and for those waiting to be looked at.
    pub bytes: u64,
    /// Partial-order reduction: a step that nobody can tell from its neighbours is taken alone.
    pub reduction: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states: 20_000_000, bytes: 2 << 30, reduction: true }
    }
}

/// What stopped a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::states`].
    States,
    /// [`Limits::bytes`].
    Bytes,
    /// Whoever ran it had enough.
    Stopped,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every reachable state was looked at, and nothing is wrong in any.
    Clean,
    /// Something can go wrong.
    Broken(Box<Counterexample>),
    /// Nothing is wrong in the states that were looked at; there are more.
    NotExhaustive(Limit),
}

/// How a property breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The name of the property.
    pub property: &'static str,
    /// What was found, and where.
    pub what: String,
    /// How many steps lead there; with the reduction off there is no shorter way.
    pub steps: u32,
    /// All of them, as a log that ends with the property that broke.
    pub log: DfxLog,
}

/// The result of a search, or how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was found.
    pub verdict: Verdict,
    /// Different states.
    pub states: u64,
    /// Steps from one state to another.
    pub transitions: u64,
    /// Everything fewer steps than this from the start was looked at; for [`Verdict::Clean`], the
    /// length of the longest of the shortest ways.
    pub depth: u32,
    /// Most bytes that were in use.
    pub bytes: u64,
}

/// A search that can be advanced in slices.
#[derive(Debug)]
pub struct Search<M: Model> {
    model: M,
    limits: Limits,
    visited: Visited,
    /// By state, in the order of finding: the state it was found from, and by which action.
    origins: Vec<Origin>,
    frontier: VecDeque<(u32, M::State)>,
    /// The first state of the level after the one that is being looked at.
    next_level: u32,
    depth: u32,
    transitions: u64,
    /// Of the states in the frontier.
    waiting: u64,
    /// The most so far, and the number of states at which to look again.
    bytes: u64,
    measure_at: usize,
    verdict: Option<Verdict>,
    actions: Vec<M::Action>,
    found: Vec<Next<M::State>>,
    ends: Option<Ends>,
}

/// A state that was found.
#[derive(Debug)]
struct Next<S> {
    action: u16,
    aside: bool,
    state: S,
    key: Key,
}

/// The graph of states, to find those from which no end can be reached.
#[derive(Debug, Default)]
struct Ends {
    /// Steps that count, by the state they lead from, in the order of states: where they lead.
    steps: Vec<u32>,
    /// By state, how many of these are its own; `END` if nothing can happen there.
    counts: Vec<u8>,
}

const END: u8 = u8::MAX;

impl Ends {
    fn bytes(&self) -> u64 {
        (self.steps.capacity() * 4 + self.counts.capacity()) as u64
    }

    /// The first state from which no end can be reached.
    ///
    /// A sweep from the last state to the first hands the news from a state to those before it; most
    /// steps lead on, so a few sweeps do.
    fn doomed(&self) -> Option<usize> {
        let mut ends = vec![false; self.counts.len()];
        loop {
            let (mut changed, mut last) = (false, self.steps.len());
            for (state, &count) in self.counts.iter().enumerate().rev() {
                let own = if count == END { 0 } else { usize::from(count) };
                let steps = &self.steps[last - own..last];
                last -= own;
                if !ends[state] && (count == END || steps.iter().any(|&to| ends[to as usize])) {
                    ends[state] = true;
                    changed = true;
                }
            }
            if !changed {
                return ends.iter().position(|ends| !ends);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Origin {
    state: u32,
    action: u16,
}

/// States that ids have room for.
const MOST: u64 = u32::MAX as u64 - 1;

impl<M: Model> Search<M> {
    /// A search that has seen the first state.
    pub fn new(model: M, limits: Limits) -> Self {
        let mut initial = model.initial();
        model.canonicalise(&mut initial);
        let ends = model.must_end().then(Ends::default);
        let mut visited = Visited::new(ends.is_some());
        visited.insert(Key::of(&initial));
        let waiting = model.heap(&initial);
        Self {
            model,
            limits,
            visited,
            origins: vec![Origin { state: 0, action: 0 }],
            frontier: VecDeque::from([(0, initial)]),
            next_level: 1,
            depth: 0,
            transitions: 0,
            waiting,
            bytes: 0,
            measure_at: 0,
            verdict: None,
            actions: Vec::new(),
            found: Vec::new(),
            ends,
        }
    }

    /// Looks at up to `budget` more states.
    pub fn run(&mut self, budget: u64) -> Job {
        for _ in 0..budget {
            if self.verdict.is_some() {
                return Job::Done;
            }
            self.advance();
        }
        if self.verdict.is_some() {
            return Job::Done;
        }
        let states = self.visited.len() as u64;
        // The total is not known before the end; what waits is a floor.
        Job::Running { done: states - self.frontier.len() as u64, total: states }
    }

    /// Ends the search where it stands.
    pub fn stop(&mut self) {
        self.verdict.get_or_insert(Verdict::NotExhaustive(Limit::Stopped));
    }

    /// What was found so far; before the end, as if stopped here.
    pub fn report(&self) -> Report {
        let verdict = self.verdict.clone().unwrap_or(Verdict::NotExhaustive(Limit::Stopped));
        Report {
            verdict,
            states: self.visited.len() as u64,
            transitions: self.transitions,
            depth: self.depth,
            bytes: self.bytes.max(self.bytes_now()),
        }
    }

    /// Runs to the end.
    pub fn finish(mut self) -> Report {
        while self.run(u64::MAX) != Job::Done {}
        self.report()
    }

    fn bytes_now(&self) -> u64 {
        self.visited.bytes()
            + (self.origins.capacity() * size_of::<Origin>()) as u64
            + (self.frontier.capacity() * size_of::<(u32, M::State)>()) as u64
            + self.waiting
            + self.ends.as_ref().map_or(0, Ends::bytes)
            + self.model.shared()
    }

    /// Looks at one state.
    fn advance(&mut self) {
        let Some((id, state)) = self.frontier.pop_front() else {
            self.bytes = self.bytes.max(self.bytes_now());
            let doomed = self.ends.as_ref().and_then(Ends::doomed);
            self.verdict = Some(doomed.map_or(Verdict::Clean, |state| self.cannot_end(state as u32)));
            return;
        };
        self.waiting -= self.model.heap(&state);
        if id >= self.next_level {
            self.next_level = self.origins.len() as u32;
            self.depth += 1;
        }
        self.verdict = match self.expand(id, &state) {
            Err(verdict) => Some(verdict),
            Ok(()) => self.limit(),
        };
    }

    fn limit(&mut self) -> Option<Verdict> {
        let limit = if self.visited.len() as u64 >= self.limits.states.min(MOST) {
            Limit::States
        } else if self.visited.len() < self.measure_at {
            return None;
        } else {
            self.measure_at = self.visited.len() + 1024;
            self.bytes = self.bytes.max(self.bytes_now());
            if self.bytes <= self.limits.bytes {
                return None;
            }
            Limit::Bytes
        };
        // The last state may just have been looked at.
        (!self.frontier.is_empty()).then_some(Verdict::NotExhaustive(limit))
    }

    fn expand(&mut self, id: u32, state: &M::State) -> Result<(), Verdict> {
        self.actions.clear();
        self.model.actions(state, &mut self.actions);
        if self.actions.is_empty() {
            if let Some(ends) = &mut self.ends {
                ends.counts.push(END);
            }
            return self.model.check_end(state).map_err(|broken| self.counterexample(id, None, broken));
        }
        self.found.clear();
        let mut alone = false;
        for index in 0..self.actions.len() {
            let mut next = state.clone();
            let taken = self.model.step(&mut next, self.actions[index], &mut ());
            let taken = taken.map_err(|broken| self.counterexample(id, Some(index), broken))?;
            if taken.vain {
                continue;
            }
            self.transitions += 1;
            self.model.canonicalise(&mut next);
            let key = Key::of(&next);
            // The guard: in a cycle, an action that is put off each time would be put off for ever.
            alone = taken.alone && self.limits.reduction && (M::ACYCLIC || !self.visited.contains(key));
            if alone {
                self.found.clear();
            }
            self.found.push(Next { action: index as u16, aside: taken.aside, state: next, key });
            if alone {
                break;
            }
        }
        if alone {
            debug_assert_eq!(self.found.len(), 1);
        }
        let mut found = std::mem::take(&mut self.found);
        let mut steps = 0;
        for Next { action, aside, state: next, key } in found.drain(..) {
            if self.visited.insert(key) {
                self.waiting += self.model.heap(&next);
                self.frontier.push_back((self.origins.len() as u32, next));
                self.origins.push(Origin { state: id, action });
            }
            if let Some(ends) = &mut self.ends
                && !aside
            {
                let to = self.visited.number(key);
                if to != id {
                    ends.steps.push(to);
                    steps += 1;
                }
            }
        }
        if let Some(ends) = &mut self.ends {
            ends.counts.push(steps);
        }
        self.found = found;
        Ok(())
    }

    /// The counterexample for a state from which no end can be reached.
    fn cannot_end(&self, id: u32) -> Verdict {
        let mut state = self.model.initial();
        self.model.canonicalise(&mut state);
        let mut actions = Vec::new();
        for index in self.way(id) {
            actions.clear();
            self.model.actions(&state, &mut actions);
            // It went well when the state was found.
            let _ = self.model.step(&mut state, actions[index], &mut ());
            self.model.canonicalise(&mut state);
        }
        self.counterexample(id, None, self.model.cannot_end(&state))
    }

    /// The actions that lead to a state.
    fn way(&self, mut id: u32) -> Vec<usize> {
        let mut way = Vec::new();
        while id != 0 {
            let Origin { state, action } = self.origins[id as usize];
            way.push(usize::from(action));
            id = state;
        }
        way.reverse();
        way
    }

    /// The way to a state, then one more action, as a log.
    fn counterexample(&self, id: u32, last: Option<usize>, broken: Broken) -> Verdict {
        let mut way = self.way(id);
        way.extend(last);
        let mut teller = Teller::default();
        self.model.prologue(&mut teller);
        let mut actions = Vec::new();
        // Actions are numbered in the states that were kept, where equal actors may have swapped
        // names. A log must not: follow the kept states beside a run that never renames.
        let (mut kept, mut told) = (self.model.initial(), self.model.initial());
        self.model.canonicalise(&mut kept);
        for (step, &index) in way.iter().enumerate() {
            actions.clear();
            self.model.actions(&kept, &mut actions);
            let action = actions[index];
            let result = self.model.step(&mut kept, action, &mut ());
            self.model.canonicalise(&mut kept);
            teller.now = step as u64 + 1;
            self.follow(&mut told, result.is_ok().then(|| Key::of(&kept)), &mut teller);
        }
        let last = teller.events.last();
        let (actor, run) = last.map_or((Actor(0), 0), |event| (event.actor, event.run));
        let header = self.model.header();
        // What is not a lane is not known to the executor's part of a log.
        let actor = if actor.0 < header.lanes { actor } else { Actor::EVENTS };
        let Broken { property, what } = broken;
        let kind = EventKind::Broken { property: property.to_owned(), what: what.clone() };
        teller.events.push(Entry { t: teller.now, actor, run, kind: Kind::Executor(kind) });
        let log = DfxLog { header, events: teller.events };
        Verdict::Broken(Box::new(Counterexample { property, what, steps: way.len() as u32, log }))
    }

    /// Takes the action that leads to the state with this key, or to a broken property.
    fn follow(&self, told: &mut M::State, key: Option<Key>, teller: &mut Teller) {
        let mut actions = Vec::new();
        self.model.actions(told, &mut actions);
        for &action in &actions {
            let mut next = told.clone();
            let result = self.model.step(&mut next, action, &mut ());
            let mut canonical = next;
            self.model.canonicalise(&mut canonical);
            let here = match key {
                Some(key) => result.is_ok() && Key::of(&canonical) == key,
                None => result.is_err(),
            };
            if here {
                // The result is known; what is wanted is what it tells.
                let _ = self.model.step(told, action, teller);
                return;
            }
        }
    }
}
