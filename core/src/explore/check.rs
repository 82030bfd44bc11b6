//! What can be checked, and the check of one scenario.

use std::fmt;
use std::str::FromStr;

use super::memory::Order;
use super::{Limits, Model, Report, Search, Verdict, dfx, executor};
use crate::diagnostic::Diagnostic;
use crate::machine::Job;

/// A small world: of thunks, or of buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// The thunk executor.
    Executor(Box<executor::Scenario>),
    /// The transport.
    Dfx(dfx::Scenario),
}

impl From<executor::Scenario> for Scenario {
    fn from(scenario: executor::Scenario) -> Self {
        Self::Executor(Box::new(scenario))
    }
}

impl From<dfx::Scenario> for Scenario {
    fn from(scenario: dfx::Scenario) -> Self {
        Self::Dfx(scenario)
    }
}

/// A defect of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Of the executor.
    Executor(executor::Fault),
    /// Of the transport.
    Dfx(crate::dfx::Fault),
    /// Of an ordering of the transport.
    Weaken(dfx::Weaken),
}

/// A property of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// Of the executor.
    Executor(executor::Property),
    /// Of the transport.
    Dfx(dfx::Property),
}

macro_rules! either {
    ($type:ident, $first:ident: $executor:ty, $($other:ident: $of:ty),+) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::$first(of) => of.fmt(f),
                    $(Self::$other(of) => of.fmt(f),)+
                }
            }
        }
        impl FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let found = <$executor>::from_str(text).map(Self::$first);
                $(let found = found.or_else(|error| {
                    let of = <$of>::from_str(text).map(Self::$other);
                    of.map_err(|more| format!("{error}; for the transport: {more}"))
                });)+
                found
            }
        }
    };
}

either!(Fault, Executor: executor::Fault, Dfx: crate::dfx::Fault, Weaken: dfx::Weaken);
either!(Property, Executor: executor::Property, Dfx: dfx::Property);

impl Property {
    /// What it says, in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Executor(of) => of.about(),
            Self::Dfx(of) => of.about(),
        }
    }

    /// All of both.
    pub fn all() -> Vec<Self> {
        let executor = executor::Property::ALL.into_iter().map(Self::Executor);
        executor.chain(dfx::Property::ALL.into_iter().map(Self::Dfx)).collect()
    }
}

impl Scenario {
    /// For people, and to ask for it.
    pub fn name(&self) -> &str {
        match self {
            Self::Executor(scenario) => &scenario.name,
            Self::Dfx(scenario) => &scenario.name,
        }
    }

    /// Puts defects in and says what to look at, as far as it is about this world. False if nothing
    /// of a list is.
    pub fn apply(&mut self, faults: &[Fault], properties: &[Property]) -> bool {
        let (faulty, looked_at) = match self {
            Self::Executor(scenario) => {
                let fault = |fault: &Fault| if let Fault::Executor(of) = fault { Some(*of) } else { None };
                let of = |of: &Property| if let Property::Executor(of) = of { Some(*of) } else { None };
                scenario.faults = faults.iter().filter_map(fault).collect();
                scenario.properties = properties.iter().filter_map(of).collect();
                (!scenario.faults.is_empty(), !scenario.properties.is_empty())
            }
            Self::Dfx(scenario) => {
                let fault = |fault: &Fault| if let Fault::Dfx(of) = fault { Some(*of) } else { None };
                let of = |of: &Property| if let Property::Dfx(of) = of { Some(*of) } else { None };
                let weaken = |fault: &Fault| if let Fault::Weaken(of) = fault { Some(*of) } else { None };
                scenario.faults = faults.iter().filter_map(fault).collect();
                scenario.weakened = faults.iter().filter_map(weaken).collect();
                scenario.properties = properties.iter().filter_map(of).collect();
                let faulty = !scenario.faults.is_empty() || !scenario.weakened.is_empty();
                (faulty, !scenario.properties.is_empty())
            }
        };
        (faulty || faults.is_empty()) && looked_at
    }

    /// On which memory, and whether equal threads may swap names.
    pub fn run_on(&mut self, memory: Order, symmetry: bool) {
        match self {
            Self::Executor(scenario) => {
                scenario.memory = memory;
                scenario.symmetry = symmetry;
            }
            Self::Dfx(scenario) => scenario.memory = memory,
        }
    }

    fn search(&self, limits: Limits) -> Result<Box<dyn Searching>, Diagnostic> {
        match self {
            Self::Executor(scenario) => executor::search(scenario, limits),
            Self::Dfx(scenario) => dfx::search(scenario, limits),
        }
    }
}

/// A named group of scenarios.
#[derive(Clone, Debug)]
pub struct Group {
    /// What the command line calls it.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Too long for every day.
    pub long: bool,
    /// Smallest first.
    pub scenarios: Vec<Scenario>,
}

/// The standard set.
pub fn standard() -> Vec<Group> {
    let executor = executor::standard().into_iter().map(|group| Group {
        name: group.name,
        about: group.about,
        long: group.long,
        scenarios: group.scenarios.into_iter().map(Scenario::from).collect(),
    });
    executor.chain(dfx::standard()).collect()
}

/// A search whose model is chosen by the scenario.
pub(super) trait Searching {
    fn run(&mut self, budget: u64) -> Job;
    fn report(&self) -> Report;
    fn stop(&mut self);
}

impl<M: Model> Searching for Search<M> {
    fn run(&mut self, budget: u64) -> Job {
        Self::run(self, budget)
    }
    fn report(&self) -> Report {
        Self::report(self)
    }
    fn stop(&mut self) {
        Self::stop(self);
    }
}

/// A search without reduction may take so many times the states of the one before.
const AGAIN: u64 = 100;

/// The check of one scenario, in slices.
pub struct Check {
    scenario: Scenario,
    limits: Limits,
    search: Box<dyn Searching>,
    /// What a search with reduction has found, while one without looks for the shortest way.
    reduced: Option<Report>,
}

impl Check {
    /// Nothing is looked at yet.
    ///
    /// # Errors
    /// `CK001` to `CK006` for a scenario that cannot be explored, and those of the graph.
    pub fn new(scenario: impl Into<Scenario>, limits: Limits) -> Result<Self, Diagnostic> {
        let scenario = scenario.into();
        let search = scenario.search(limits)?;
        Ok(Self { scenario, limits, search, reduced: None })
    }

    /// Looks at up to `budget` more states.
    pub fn run(&mut self, budget: u64) -> Job {
        let job = self.search.run(budget);
        if job != Job::Done || self.reduced.is_some() || !self.limits.reduction {
            return job;
        }
        let report = self.search.report();
        if !matches!(report.verdict, Verdict::Broken(_)) {
            return Job::Done;
        }
        // Reduction may have left the shortest way out: look again without, but not for ever.
        let states = self.limits.states.min(AGAIN * report.states);
        let limits = Limits { reduction: false, states, ..self.limits };
        match self.scenario.search(limits) {
            Ok(search) => self.search = search,
            // It could be built a moment ago.
            Err(_) => return Job::Done,
        }
        let states = report.states;
        self.reduced = Some(report);
        Job::Running { done: states, total: states }
    }

    /// Ends the search where it stands.
    pub fn stop(&mut self) {
        self.search.stop();
    }

    /// What was found so far.
    pub fn report(&self) -> Report {
        let report = self.search.report();
        match &self.reduced {
            Some(reduced) if !matches!(report.verdict, Verdict::Broken(_)) => reduced.clone(),
            _ => report,
        }
    }

    /// Runs to the end.
    pub fn finish(mut self) -> Report {
        while self.run(u64::MAX) != Job::Done {}
        self.report()
    }
}
