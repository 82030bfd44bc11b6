//! A log that is small and quick to read: the header as always, the events as one list of whole
//! numbers.
//!
//! An event is its time since the one before it, its actor, its run, the number of its kind, and
//! the kind's fields in the order of [`EventKind`]; a list is its length, then its members; what
//! may be missing is 0, or 1 and the value. Times are differences, so that none is beyond what
//! JavaScript can read.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::graph::{EdgeKind, NodeId};
use crate::trace::{Actor, Entry, Event, EventKind, Header, Log, Mode};

#[derive(Serialize)]
struct Out<'a> {
    header: &'a Header,
    events: Vec<u64>,
}

#[derive(Deserialize)]
struct In {
    header: Header,
    events: Vec<u64>,
}

pub(super) fn serialize<S: Serializer>(log: &Log, serializer: S) -> Result<S::Ok, S::Error> {
    Out { header: &log.header, events: pack(&log.events) }.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Log, D::Error> {
    let In { header, events } = In::deserialize(deserializer)?;
    let events = unpack(&events).ok_or_else(|| D::Error::custom("a list that is no packed event log"))?;
    Log::checked(header, events).map_err(D::Error::custom)
}

fn pack(events: &[Event]) -> Vec<u64> {
    let mut out = Vec::with_capacity(events.len() * 6);
    let mut before = 0;
    for Event { t, actor, run, kind } in events {
        out.extend([t.saturating_sub(before), actor.0.into(), (*run).into()]);
        before = *t;
        pack_kind(kind, &mut out);
    }
    out
}

fn pack_kind(kind: &EventKind, out: &mut Vec<u64>) {
    use EventKind as K;
    let list = |out: &mut Vec<u64>, nodes: &[NodeId]| {
        out.push(nodes.len() as u64);
        out.extend(nodes.iter().map(|&node| u64::from(node)));
    };
    match kind {
        K::IterationStart { iteration } => out.extend([0, (*iteration).into()]),
        K::IterationEnd { iteration } => out.extend([1, (*iteration).into()]),
        K::RunStart { sequence, mode, parent } => {
            out.extend([2, (*sequence).into(), u64::from(*mode == Mode::Concurrent)]);
            match parent {
                None => out.push(0),
                Some((run, node)) => out.extend([1, (*run).into(), (*node).into()]),
            }
        }
        K::LoopStart { by: Entry::Caller } => out.extend([3, 0]),
        K::LoopStart { by: Entry::Task(task) } => out.extend([3, 1, (*task).into()]),
        K::LoopStart { by: Entry::Continuation(node) } => out.extend([3, 2, (*node).into()]),
        K::LoopEnd => out.push(4),
        K::Popped { node } => out.extend([5, (*node).into()]),
        K::Split { kept, task, nodes } => {
            out.extend([6, (*kept).into(), (*task).into()]);
            list(out, nodes);
        }
        K::Refused { ready } => out.extend([7, (*ready).into()]),
        K::Posted { task, node } => out.extend([8, (*task).into(), (*node).into()]),
        K::Workers { count } => out.extend([9, (*count).into()]),
        K::Started { node } => out.extend([10, (*node).into()]),
        K::Pending { node } => out.extend([11, (*node).into()]),
        K::Available { node } => out.extend([12, (*node).into()]),
        K::Finished { node } => out.extend([13, (*node).into()]),
        K::Failed { node } => out.extend([14, (*node).into()]),
        K::Skipped { node } => out.extend([15, (*node).into()]),
        K::Released { from, to, edge, left } => {
            let execution = u64::from(*edge == EdgeKind::Execution);
            out.extend([16, (*from).into(), (*to).into(), execution, (*left).into()]);
        }
        K::PendingNodes { count } => out.extend([17, (*count).into()]),
        K::Aborted { node } => out.extend([18, (*node).into()]),
        K::Done { failed: None } => out.extend([19, 0]),
        K::Done { failed: Some(node) } => out.extend([19, 1, (*node).into()]),
        K::Quiet { never_ready, suspects } => {
            out.extend([20, (*never_ready).into()]);
            list(out, suspects);
        }
        K::Broken { property, what } => {
            out.push(21);
            for text in [property, what] {
                out.push(text.len() as u64);
                out.extend(text.bytes().map(u64::from));
            }
        }
    }
}

/// `None` for what [`pack`] does not write.
pub(super) fn unpack(numbers: &[u64]) -> Option<Vec<Event>> {
    let mut rest = Rest(numbers);
    let mut events = Vec::new();
    let mut t = 0_u64;
    while !rest.0.is_empty() {
        t = t.checked_add(rest.wide()?)?;
        let actor = Actor(u16::try_from(rest.wide()?).ok()?);
        let run = rest.next()?;
        events.push(Event { t, actor, run, kind: rest.kind()? });
    }
    Some(events)
}

struct Rest<'a>(&'a [u64]);

impl Rest<'_> {
    fn wide(&mut self) -> Option<u64> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn next(&mut self) -> Option<u32> {
        u32::try_from(self.wide()?).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        match self.wide()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn list(&mut self) -> Option<Box<[NodeId]>> {
        let length = usize::try_from(self.wide()?).ok()?;
        let (list, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        list.iter().map(|&node| u32::try_from(node).ok()).collect()
    }

    fn text(&mut self) -> Option<String> {
        let bytes: Option<Vec<u8>> = self.list()?.iter().map(|&byte| u8::try_from(byte).ok()).collect();
        String::from_utf8(bytes?).ok()
    }

    fn kind(&mut self) -> Option<EventKind> {
        use EventKind as K;
        Some(match self.wide()? {
            0 => K::IterationStart { iteration: self.next()? },
            1 => K::IterationEnd { iteration: self.next()? },
            2 => K::RunStart {
                sequence: self.next()?,
                mode: if self.flag()? { Mode::Concurrent } else { Mode::Sequential },
                parent: if self.flag()? { Some((self.next()?, self.next()?)) } else { None },
            },
            3 => K::LoopStart {
                by: match self.wide()? {
                    0 => Entry::Caller,
                    1 => Entry::Task(self.next()?),
                    2 => Entry::Continuation(self.next()?),
                    _ => return None,
                },
            },
            4 => K::LoopEnd,
            5 => K::Popped { node: self.next()? },
            6 => K::Split { kept: self.next()?, task: self.next()?, nodes: self.list()? },
            7 => K::Refused { ready: self.next()? },
            8 => K::Posted { task: self.next()?, node: self.next()? },
            9 => K::Workers { count: self.next()? },
            10 => K::Started { node: self.next()? },
            11 => K::Pending { node: self.next()? },
            12 => K::Available { node: self.next()? },
            13 => K::Finished { node: self.next()? },
            14 => K::Failed { node: self.next()? },
            15 => K::Skipped { node: self.next()? },
            16 => K::Released {
                from: self.next()?,
                to: self.next()?,
                edge: if self.flag()? { EdgeKind::Execution } else { EdgeKind::Scheduling },
                left: self.next()?,
            },
            17 => K::PendingNodes { count: self.next()? },
            18 => K::Aborted { node: self.next()? },
            19 => K::Done { failed: if self.flag()? { Some(self.next()?) } else { None } },
            20 => K::Quiet { never_ready: self.next()?, suspects: self.list()? },
            21 => K::Broken { property: self.text()?, what: self.text()? },
            _ => return None,
        })
    }
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;
    use crate::sim;

    #[test]
    fn every_seeded_log_comes_back() {
        for seed in 0..sim::SEEDED {
            let (program, options) = sim::seeded(seed);
            let log = sim::run(&program, &options).expect("runs");
            assert_eq!(unpack(&pack(&log.events)).as_deref(), Some(&*log.events), "seed {seed}");
        }
    }

    #[test]
    fn a_broken_property_comes_back() {
        let kind = EventKind::Broken { property: "worker-cap".to_owned(), what: "größer".to_owned() };
        let events = [Event { t: 3, actor: Actor(1), run: 0, kind }];
        assert_eq!(unpack(&pack(&events)).as_deref(), Some(&events[..]));
        assert_eq!(unpack(&[0, 0, 0, 21, 1, 0xff, 0]), None, "no UTF-8");
    }

    #[test]
    fn what_is_no_log_is_refused() {
        for numbers in
            [&[1][..], &[0, 0, 0, 99], &[0, 0, 0, 5], &[0, 0, 0, 6, 1, 1, 9, 1], &[0, 1 << 16, 0, 4]]
        {
            assert_eq!(unpack(numbers), None, "{numbers:?}");
        }
        assert_eq!(unpack(&[u64::MAX, 0, 0, 4, 1, 0, 0, 4]), None, "a clock that overflows");
    }
}
