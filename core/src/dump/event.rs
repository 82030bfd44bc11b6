//! What happens to records, as events of the log (contracts §4): the `dump_` family.
//!
//! Nothing on a lane writes events: a lane counts, and whoever drives it tells the difference between
//! before and after ([`told`]).

use serde::{Deserialize, Serialize};

use super::log::Journal;
use super::properties::Properties;
use super::record::{Part, Phase, Record, Scenario};
use super::selection::Skip;
use super::sink::{DumpSink, Loss};
use super::summary::{Counts, Summary};
use crate::trace::{MixedEvent, MixedKind, MixedLog};

/// A log of the executor and of its dump in one order. The actor is the lane whose record it is.
pub type DumpLog = MixedLog<Event>;

/// One line of such a log.
pub type DumpEvent = MixedEvent<Event>;

/// What kinds of dump are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kinds {
    /// Tensors of selected ops.
    pub data: bool,
    /// Tensors of ops that overflow.
    pub overflow: bool,
    /// What is known of ops that fail.
    pub exception: bool,
}

impl Kinds {
    /// Of a configuration.
    pub fn of(properties: &Properties) -> Self {
        Self {
            data: properties.data,
            overflow: properties.overflow.is_some(),
            exception: properties.exception.is_some(),
        }
    }

    /// Their names: `data`, `overflow`, `exception`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [("data", self.data), ("overflow", self.overflow), ("exception", self.exception)];
        all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name)
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Event {
    /// The configuration was changed; it counts from the next iteration on.
    #[serde(rename = "dump_switched")]
    Switched {
        /// Of the configuration, counted up at every change.
        #[serde(with = "crate::number::wide")]
        generation: u64,
        /// What is on then.
        #[serde(flatten)]
        kinds: Kinds,
    },
    /// An iteration begins under this configuration.
    #[serde(rename = "dump_latched")]
    Latched {
        /// Of the configuration.
        #[serde(with = "crate::number::wide")]
        generation: u64,
        /// What is on.
        #[serde(flatten)]
        kinds: Kinds,
        /// Something may be dumped in this iteration: the steps let it through.
        open: bool,
    },
    /// Tensors were copied into the lane's staging area.
    #[serde(rename = "dump_copied")]
    Copied {
        /// The thunk that ran, of the run's sequence.
        node: u32,
        /// How many.
        #[serde(with = "crate::number::wide")]
        tensors: u64,
        /// Their bytes.
        #[serde(with = "crate::number::wide")]
        bytes: u64,
    },
    /// Tensors whose moment came were left out.
    #[serde(rename = "dump_skipped")]
    Skipped {
        /// The thunk that ran, of the run's sequence.
        node: u32,
        /// Why.
        reason: Skip,
        /// How many.
        #[serde(with = "crate::number::wide")]
        tensors: u64,
    },
    /// A record left for a file.
    #[serde(rename = "dump_written")]
    Written {
        /// Where it went; empty if the sink has no files.
        file: String,
        /// What it is of.
        #[serde(flatten)]
        of: Of,
        /// Bytes of data in it.
        #[serde(with = "crate::number::wide")]
        bytes: u64,
    },
    /// A record could not be written.
    #[serde(rename = "dump_lost")]
    Lost {
        /// Why.
        cause: Loss,
        /// What it is of.
        #[serde(flatten)]
        of: Of,
    },
    /// An iteration is over.
    #[serde(rename = "dump_summary")]
    Summary {
        /// Counted from 0.
        #[serde(with = "crate::number::wide")]
        iteration: u64,
        /// Ops whose moment came.
        #[serde(with = "crate::number::wide")]
        ops_due: u64,
        /// Ops of which something was copied.
        #[serde(with = "crate::number::wide")]
        ops_dumped: u64,
        /// Tensors copied.
        #[serde(with = "crate::number::wide")]
        tensors: u64,
        /// Tensors that were not, for whatever reason.
        #[serde(with = "crate::number::wide")]
        skipped: u64,
    },
}

/// What a record is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Of {
    /// The op.
    pub op: String,
    /// Its type.
    pub op_type: String,
    /// What made somebody dump.
    pub scenario: Scenario,
    /// Which moment of the op.
    pub phase: Phase,
    /// Counted from 0; none for a single op.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iteration: Option<u64>,
    /// When it was copied, in microseconds of the clock that names files.
    #[serde(with = "crate::number::wide")]
    pub time_us: u64,
    /// Inputs and outputs in it.
    #[serde(with = "crate::number::wide")]
    pub tensors: u64,
}

impl Of {
    fn record(record: &Record<'_>) -> Self {
        let identity = &record.identity;
        let tensors = record.payloads.iter().filter(|one| matches!(one.part, Part::Input | Part::Output));
        Self {
            op: identity.op.clone(),
            op_type: identity.op_type.clone(),
            scenario: identity.scenario,
            phase: identity.phase,
            iteration: identity.iteration,
            time_us: identity.time,
            tensors: tensors.count() as u64,
        }
    }
}

impl From<&Summary> for Event {
    fn from(summary: &Summary) -> Self {
        let Counts { ops_due, ops_dumped, tensors, skipped, .. } = summary.counts;
        let (iteration, skipped) = (summary.iteration, skipped.total());
        Self::Summary { iteration, ops_due, ops_dumped, tensors, skipped }
    }
}

/// What a thunk's event made of a lane's counts.
pub fn told(node: u32, before: &Counts, after: &Counts, mut tell: impl FnMut(Event)) {
    let (tensors, bytes) = (after.tensors - before.tensors, after.bytes - before.bytes);
    if tensors > 0 {
        tell(Event::Copied { node, tensors, bytes });
    }
    for (reason, count) in after.skipped.iter() {
        let tensors = count - before.skipped.of(reason);
        if tensors > 0 {
            tell(Event::Skipped { node, reason, tensors });
        }
    }
}

/// Hands records on and keeps what became of each.
#[derive(Debug)]
pub struct Noted<'a, S: ?Sized> {
    inner: &'a mut S,
    /// In their order.
    pub events: Vec<Event>,
}

impl<'a, S: DumpSink + ?Sized> Noted<'a, S> {
    /// In front of a sink.
    pub fn new(inner: &'a mut S) -> Self {
        Self { inner, events: Vec::new() }
    }
}

impl<S: DumpSink + ?Sized> DumpSink for Noted<'_, S> {
    fn configure(&mut self, properties: &Properties) {
        self.inner.configure(properties);
    }

    fn put(&mut self, record: &Record<'_>, journal: &mut dyn Journal) -> Result<String, Loss> {
        let result = self.inner.put(record, journal);
        let of = Of::record(record);
        self.events.push(match &result {
            Ok(file) => {
                let bytes = record.payloads.iter().map(|payload| payload.bytes.len() as u64).sum();
                Event::Written { file: file.clone(), of, bytes }
            }
            Err(cause) => Event::Lost { cause: *cause, of },
        });
        result
    }
}

impl From<Event> for MixedKind<Event> {
    fn from(event: Event) -> Self {
        Self::Other(event)
    }
}
