//! A whole log: header, events, its text form and its digest.

use serde::{Deserialize, Serialize};

use super::Event;
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::graph::NodeId;
use crate::number::decimal;

/// The format that is written, and the newest that is read.
pub const VERSION: &str = "thunkscope.log/1";

/// An event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What was run, and how.
    pub header: Header,
    /// What happened, in one total order.
    pub events: Vec<Event>,
}

/// What was run, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub format: String,
    /// Name of the program.
    pub program: String,
    /// Digest of the program.
    pub digest: Digest,
    /// The options in force, as a person would write them (`queue=fifo workers=4`).
    pub options: String,
    /// Seed of everything random.
    #[serde(with = "decimal")]
    pub seed: u64,
    /// Unit of the clock: `ns`.
    pub clock: String,
    /// Lanes, the caller included.
    pub lanes: u16,
    /// The sequences of the program; a run start names one by its place.
    pub sequences: Vec<SequenceHeader>,
}

/// What the fold needs to know about a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceHeader {
    /// Its path, such as `entry/4.body`.
    pub path: String,
    /// Per node: how many edges hold it at first.
    pub counters: Vec<u32>,
    /// Nodes without outgoing edges.
    pub sinks: u32,
}

impl Log {
    /// A log of events from elsewhere.
    ///
    /// # Errors
    /// `LG001` for another format, `LG003` for an event that does not fit the header or the events
    /// before it.
    pub fn checked(header: Header, events: Vec<Event>) -> Result<Self, Diagnostic> {
        if header.format != VERSION {
            return Err(Diagnostic::error("LG001", "header", VERSION).found(header.format));
        }
        let mut runs = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| events.get(before));
            header.check(before, event, &mut runs).map_err(|(expected, found)| {
                Diagnostic::error("LG003", format!("event {index}"), expected).found(found)
            })?;
        }
        Ok(Self { header, events })
    }
}

impl Header {
    /// Whether an event fits this header and the events before it: the last of them, and which
    /// sequence each run executes. Else what was expected, and what was found.
    pub(super) fn check(
        &self,
        last: Option<&Event>,
        event: &Event,
        runs: &mut Vec<u32>,
    ) -> Result<(), (&'static str, String)> {
        use super::EventKind::{
            Aborted, Available, Failed, Finished, IterationEnd, IterationStart, Pending, Popped, Posted,
            Released, RunStart, Skipped, Split, Started,
        };
        let lane = event.actor;
        if lane != super::Actor::EVENTS && lane.0 >= self.lanes {
            return Err(("a lane of the header", lane.0.to_string()));
        }
        if last.is_some_and(|last| last.t > event.t) {
            return Err(("a time that does not run backwards", event.t.to_string()));
        }
        if let RunStart { sequence, .. } = event.kind {
            if event.run as usize != runs.len() {
                return Err(("run ids in order of their starts", event.run.to_string()));
            }
            if sequence as usize >= self.sequences.len() {
                return Err(("a sequence of the header", sequence.to_string()));
            }
            runs.push(sequence);
        }
        if matches!(event.kind, IterationStart { .. } | IterationEnd { .. }) {
            return Ok(());
        }
        let Some(&sequence) = runs.get(event.run as usize) else {
            return Err(("a run that has started", event.run.to_string()));
        };
        let nodes = self.sequences[sequence as usize].counters.len();
        let known = |node: NodeId| {
            if (node as usize) < nodes { Ok(()) } else { Err(("a node of the sequence", node.to_string())) }
        };
        match &event.kind {
            Popped { node }
            | Posted { node, .. }
            | Started { node }
            | Pending { node }
            | Available { node }
            | Finished { node }
            | Failed { node }
            | Skipped { node }
            | Aborted { node } => known(*node),
            Released { from, to, .. } => known(*from).and(known(*to)),
            Split { nodes, .. } => nodes.iter().try_for_each(|&node| known(node)),
            _ => Ok(()),
        }
    }
}
