//! A log with one more family of events beside the executor's (contracts §4), in one order.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::json::{from_lines, to_lines};
use super::{Actor, Event, EventKind, Header, Log, RunId};
use crate::diagnostic::Diagnostic;
use crate::digest::{Digest, Hasher};
use crate::machine::Ticks;

/// One thing that happened; `E` is the other family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedEvent<E> {
    /// When.
    #[serde(with = "crate::number::wide")]
    pub t: Ticks,
    /// Lanes from 0, [`Actor::EVENTS`], or whom the family adds.
    pub actor: Actor,
    /// In which execution of the program.
    pub run: RunId,
    /// What.
    #[serde(flatten)]
    pub kind: MixedKind<E>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MixedKind<E> {
    /// To what the other family is about.
    Other(E),
    /// To thunks.
    Executor(EventKind),
}

/// A whole log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixedLog<E> {
    /// What was run, and how.
    pub header: Header,
    /// In one total order.
    pub events: Vec<MixedEvent<E>>,
}

impl<E> MixedLog<E> {
    /// Puts events of the other family into a log, each behind all that happened until its time; it
    /// gets the run that its actor was last seen in. `others` must be in the order of their times.
    pub fn join(log: Log, others: Vec<(Ticks, Actor, E)>) -> Self {
        let mut events = Vec::with_capacity(log.events.len() + others.len());
        let mut runs: BTreeMap<Actor, RunId> = BTreeMap::new();
        let other = |(t, actor, event), runs: &BTreeMap<Actor, RunId>| {
            let run = runs.get(&actor).copied().unwrap_or(0);
            MixedEvent { t, actor, run, kind: MixedKind::Other(event) }
        };
        let mut others = others.into_iter().peekable();
        for Event { t, actor, run, kind } in log.events {
            while let Some(one) = others.next_if(|(earlier, ..)| *earlier < t) {
                events.push(other(one, &runs));
            }
            runs.insert(actor, run);
            events.push(MixedEvent { t, actor, run, kind: MixedKind::Executor(kind) });
        }
        // Clocks that are read apart may differ by a little: what comes last stays last.
        let end = events.last().map_or(0, |last| last.t);
        events.extend(others.map(|(t, actor, event)| other((t.max(end), actor, event), &runs)));
        Self { header: log.header, events }
    }

    /// The executor's part: what the page replays.
    pub fn executor(&self) -> Log {
        let events = self.events.iter().filter_map(|event| match &event.kind {
            MixedKind::Executor(kind) => {
                Some(Event { t: event.t, actor: event.actor, run: event.run, kind: kind.clone() })
            }
            MixedKind::Other(_) => None,
        });
        Log { header: self.header.clone(), events: events.collect() }
    }
}

impl<E: Serialize> MixedLog<E> {
    /// JSON lines: the header, then one event a line.
    pub fn to_json_lines(&self) -> String {
        to_lines(&self.header, &self.events)
    }

    /// Digest of header and events: same input, same seed, same digest.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        hasher.text(&self.to_json_lines());
        hasher.finish()
    }
}

impl<E: DeserializeOwned> MixedLog<E> {
    /// Reads JSON lines.
    ///
    /// # Errors
    /// `LG001`, `LG002`, `LG003` as [`Log::from_json_lines`]; the executor's events are checked by it.
    pub fn from_json_lines(text: &str) -> Result<Self, Diagnostic> {
        let mut events: Vec<MixedEvent<E>> = Vec::new();
        let header = from_lines(text, None, |_, path, event: MixedEvent<E>| {
            if events.last().is_some_and(|last| last.t > event.t) {
                let expected = "a time that does not run backwards";
                return Err(Diagnostic::error("LG003", path, expected).found(event.t));
            }
            events.push(event);
            Ok(())
        })?;
        let log = Self { header, events };
        Log::checked(log.header.clone(), log.executor().events)?;
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Note {
        #[serde(rename = "note")]
        Note { n: u64 },
    }

    #[test]
    fn events_of_another_family_stand_at_their_time_and_read_back() {
        let (program, options) = sim::seeded(3);
        let log = sim::run(&program, &options).expect("runs");
        let (middle, end) = (log.events[log.events.len() / 2].t, log.events.last().expect("events").t);
        let times = [0, middle, middle, end, end + 5];
        let notes = (0..).zip(times).map(|(n, t)| (t, Actor(0), Note::Note { n })).collect();
        let mixed = MixedLog::join(log.clone(), notes);
        assert_eq!(mixed.executor(), log);
        assert!(mixed.events.is_sorted_by_key(|event| event.t));
        let note = |event: &MixedEvent<Note>| match event.kind {
            MixedKind::Other(Note::Note { n }) => Some((n, event.t)),
            MixedKind::Executor(_) => None,
        };
        let noted: Vec<_> = mixed.events.iter().filter_map(note).collect();
        assert_eq!(noted, (0..).zip(times).collect::<Vec<_>>());
        // Behind all that happened until then.
        let at =
            mixed.events.iter().position(|event| note(event).is_some_and(|(n, _)| n == 1)).expect("there");
        assert!(mixed.events[at..].iter().all(|event| note(event).is_some() || event.t > middle));
        let text = mixed.to_json_lines();
        assert_eq!(MixedLog::from_json_lines(&text), Ok(mixed));
        let cut = text.replacen("\"note\"", "\"nota\"", 1);
        assert_eq!(
            MixedLog::<Note>::from_json_lines(&cut).map_err(|error| error.code.clone()),
            Err("LG002".to_owned())
        );
    }
}
