//! Many scenarios, one after the other, up to the first counterexample.

use super::{Check, Counterexample, Limit, Limits, Report, Scenario, Verdict};
use crate::diagnostic::Diagnostic;
use crate::machine::Job;

/// A check of a list of scenarios, in slices.
pub struct Sweep {
    scenarios: Vec<Scenario>,
    limits: Limits,
    next: usize,
    current: Option<Check>,
    totals: Totals,
    found: Option<(Scenario, Counterexample)>,
}

/// What was looked at, over all scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Scenarios that are done.
    pub scenarios: u64,
    /// Different states.
    pub states: u64,
    /// Steps from one state to another.
    pub transitions: u64,
    /// The longest of the shortest ways to a state.
    pub depth: u32,
    /// Most states of one scenario.
    pub most: u64,
    /// Scenarios that were not looked at to the end, and what stopped the first of them.
    pub unfinished: u64,
    /// What stopped the first unfinished one.
    pub limit: Option<Limit>,
    /// To what depth the unfinished ones were looked at, at least.
    pub covered: Option<u32>,
}

impl Sweep {
    /// Nothing is looked at yet. `limits` hold for each scenario.
    pub fn new<S: Into<Scenario>>(scenarios: impl IntoIterator<Item = S>, limits: Limits) -> Self {
        let scenarios = scenarios.into_iter().map(S::into).collect();
        Self { scenarios, limits, next: 0, current: None, totals: Totals::default(), found: None }
    }

    /// Looks at up to `budget` more states.
    ///
    /// # Errors
    /// As [`Check::new`], for the scenario that is next.
    pub fn run(&mut self, budget: u64) -> Result<Job, Diagnostic> {
        let mut left = budget;
        while left > 0 && self.found.is_none() {
            let Some(check) = &mut self.current else {
                let Some(scenario) = self.scenarios.get(self.next) else { break };
                self.current = Some(Check::new(scenario.clone(), self.limits)?);
                continue;
            };
            let before = check.report().states;
            if check.run(left) == Job::Done {
                left = left.saturating_sub((check.report().states - before).max(1));
                self.close();
            } else {
                left = 0;
            }
        }
        let total = self.scenarios.len() as u64;
        let over = self.found.is_some() || (self.current.is_none() && self.next >= self.scenarios.len());
        Ok(if over { Job::Done } else { Job::Running { done: self.totals.scenarios, total } })
    }

    /// Ends the sweep where it stands.
    pub fn stop(&mut self) {
        if let Some(check) = &mut self.current {
            check.stop();
            self.close();
        }
        self.totals.unfinished += (self.scenarios.len() - self.next) as u64;
        if self.next < self.scenarios.len() {
            self.totals.limit.get_or_insert(Limit::Stopped);
            self.totals.covered = Some(0);
        }
        self.next = self.scenarios.len();
    }

    /// Takes the report of the current scenario.
    fn close(&mut self) {
        let Some(check) = self.current.take() else { return };
        let report = check.report();
        let totals = &mut self.totals;
        totals.scenarios += 1;
        totals.states += report.states;
        totals.transitions += report.transitions;
        totals.depth = totals.depth.max(report.depth);
        totals.most = totals.most.max(report.states);
        match report.verdict {
            Verdict::Clean => {}
            Verdict::Broken(found) => self.found = Some((self.scenarios[self.next].clone(), *found)),
            Verdict::NotExhaustive(limit) => {
                totals.unfinished += 1;
                totals.limit.get_or_insert(limit);
                totals.covered = Some(totals.covered.map_or(report.depth, |least| least.min(report.depth)));
            }
        }
        self.next += 1;
    }

    /// What was looked at so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// How the scenario stands that is being looked at.
    pub fn current(&self) -> Option<Report> {
        self.current.as_ref().map(Check::report)
    }

    /// The counterexample, and the scenario that it is one of.
    pub fn found(&self) -> Option<(&Scenario, &Counterexample)> {
        self.found.as_ref().map(|(scenario, found)| (scenario, found))
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`Sweep::run`].
    pub fn finish(&mut self) -> Result<(), Diagnostic> {
        while self.run(u64::MAX)? != Job::Done {}
        Ok(())
    }
}
