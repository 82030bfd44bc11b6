//! A check as a document: `thunkscope.check/1`, schema in `docs/check.schema.json`.
//!
//! Nothing in it depends on the machine or the hour: the same check gives the same document.

use serde::Serialize;

use super::memory::Order;
use super::{Fault, Group, Limit, Limits, Property, Sweep};
use crate::sim::dfx::Entry;
use crate::trace::Header;

/// The format that is written.
pub const FORMAT: &str = "thunkscope.check/1";

/// A whole check.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    format: &'static str,
    memory: &'static str,
    faults: Vec<String>,
    properties: Vec<String>,
    reduction: bool,
    symmetry: bool,
    #[serde(with = "crate::number::wide")]
    max_states: u64,
    /// One line for each group of scenarios.
    pub checks: Vec<Line<'a>>,
}

/// One group of scenarios.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    name: &'a str,
    verdict: &'static str,
    #[serde(with = "crate::number::wide")]
    scenarios: u64,
    #[serde(with = "crate::number::wide")]
    states: u64,
    #[serde(with = "crate::number::wide")]
    transitions: u64,
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    unfinished: Option<Unfinished>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<Found<'a>>,
}

#[derive(Debug, Serialize)]
struct Unfinished {
    #[serde(with = "crate::number::wide")]
    scenarios: u64,
    limit: &'static str,
    covered: u32,
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    scenario: &'a str,
    property: &'static str,
    what: &'a str,
    steps: u32,
    log: Events<'a>,
}

#[derive(Debug, Serialize)]
struct Events<'a> {
    header: &'a Header,
    events: &'a [Entry],
}

impl Limit {
    /// `states`, `bytes` or `stopped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::States => "states",
            Self::Bytes => "bytes",
            Self::Stopped => "stopped",
        }
    }
}

impl<'a> Document<'a> {
    /// A document without lines.
    pub fn new(
        memory: Order,
        faults: &[Fault],
        properties: &[Property],
        limits: Limits,
        symmetry: bool,
    ) -> Self {
        Self {
            format: FORMAT,
            memory: memory.name(),
            faults: faults.iter().map(Fault::to_string).collect(),
            properties: properties.iter().map(Property::to_string).collect(),
            reduction: limits.reduction,
            symmetry,
            max_states: limits.states,
            checks: Vec::new(),
        }
    }
}

impl<'a> Line<'a> {
    /// What a sweep over a group has found.
    pub fn new(name: &'a str, sweep: &'a Sweep) -> Self {
        let totals = sweep.totals();
        let found = sweep.found();
        Self {
            name,
            verdict: match (found, totals.unfinished) {
                (Some(_), _) => "broken",
                (None, 0) => "clean",
                (None, _) => "not-exhaustive",
            },
            scenarios: totals.scenarios,
            states: totals.states,
            transitions: totals.transitions,
            depth: totals.depth,
            unfinished: totals.limit.map(|limit| Unfinished {
                scenarios: totals.unfinished,
                limit: limit.name(),
                covered: totals.covered.unwrap_or(0),
            }),
            counterexample: found.map(|(scenario, found)| Found {
                scenario: scenario.name(),
                property: found.property,
                what: &found.what,
                steps: found.steps,
                log: Events { header: &found.log.header, events: &found.log.events },
            }),
        }
    }
}

/// The groups that a name of the command line means: one group, or the one scenario of this name.
pub fn named(name: &str) -> Option<Vec<Group>> {
    let mut groups = super::standard();
    if groups.iter().any(|group| group.name == name) {
        groups.retain(|group| group.name == name);
        return Some(groups);
    }
    for group in &mut groups {
        group.scenarios.retain(|scenario| scenario.name() == name);
    }
    groups.retain(|group| !group.scenarios.is_empty());
    (!groups.is_empty()).then_some(groups)
}
