//! An exhibit from its binary form, which postcard has written: read by hand. What serde derives for
//! so many structures is three times the code, and the page has to load it before there is anything
//! to see. Every exhibit of the tests is read both ways.

use super::packed::unpack;
use super::{About, EdgeLine, Exhibit, Picture, RunLine, SequenceLine, ThunkLine, VerdictLine};
use crate::digest::Digest;
use crate::executor::Queue;
use crate::graph::EdgeKind;
use crate::graph::cause::Reason;
use crate::layout::Point;
use crate::trace::{Header, Log, SequenceHeader};

/// All of `bytes`, or nothing if they are no exhibit.
pub(super) fn read(bytes: &[u8]) -> Option<Exhibit> {
    let mut bytes = Bytes(bytes);
    let exhibit = exhibit(&mut bytes)?;
    bytes.0.is_empty().then_some(exhibit)
}

/// What is left to be read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    /// Seven bits a byte, the low ones first.
    #[inline(never)]
    fn wide(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn number(&mut self) -> Option<u32> {
        self.wide()?.try_into().ok()
    }

    /// The sign is the lowest bit.
    fn signed(&mut self) -> Option<i32> {
        let number = self.number()?;
        Some((number >> 1) as i32 ^ -((number & 1) as i32))
    }

    #[inline(never)]
    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.wide()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }

    /// Memory grows with what is really there, whatever the length says.
    fn list<T>(&mut self, item: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.wide()?;
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(item(self)?);
        }
        Some(items)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.number()? as usize).copied()
    }
}

fn exhibit(from: &mut Bytes<'_>) -> Option<Exhibit> {
    Some(Exhibit {
        format: from.text()?,
        program: About {
            name: from.text()?,
            digest: Digest(from.wide()?),
            origin: from.text()?,
            release: from.text()?,
        },
        sequences: from.list(sequence)?,
        shown: from.number()?,
        thunks: from.list(thunk)?,
        edges: from.list(edge)?,
        picture: Picture {
            width: from.signed()?,
            height: from.signed()?,
            node: point(from)?,
            centres: from.list(point)?,
            routes: from.list(|from| from.list(point))?,
        },
        runs: from.list(run)?,
        verdict: VerdictLine {
            name: from.text()?,
            headline: from.text()?,
            findings: from.list(Bytes::text)?,
            advice: from.list(Bytes::text)?,
        },
        opening: from.number()?,
        asked: from.number()?,
    })
}

fn sequence(from: &mut Bytes<'_>) -> Option<SequenceLine> {
    Some(SequenceLine {
        path: from.text()?,
        thunks: from.number()?,
        verdict: from.text()?,
        held_back: from.number()?,
    })
}

fn thunk(from: &mut Bytes<'_>) -> Option<ThunkLine> {
    Some(ThunkLine {
        kind: from.text()?,
        name: from.text()?,
        label: from.text()?,
        priority: from.number()?,
        uses: from.list(Bytes::text)?,
        nested: from.list(Bytes::number)?,
    })
}

fn edge(bytes: &mut Bytes<'_>) -> Option<EdgeLine> {
    let (from, to) = (bytes.number()?, bytes.number()?);
    let kind = bytes.one_of(&[EdgeKind::Scheduling, EdgeKind::Execution])?;
    let reason = bytes.one_of(&[
        Reason::ReadAfterWrite,
        Reason::WriteAfterRead,
        Reason::WriteAfterWrite,
        Reason::Resource,
        Reason::Unknown,
    ])?;
    Some(EdgeLine { from, to, kind, reason })
}

fn point(from: &mut Bytes<'_>) -> Option<Point> {
    Some(Point { x: from.signed()?, y: from.signed()? })
}

fn run(from: &mut Bytes<'_>) -> Option<RunLine> {
    let queue = from.one_of(&Queue::ALL)?;
    let header = Header {
        format: from.text()?,
        program: from.text()?,
        digest: Digest(from.wide()?),
        options: from.text()?,
        seed: from.wide()?,
        clock: from.text()?,
        lanes: from.number()?.try_into().ok()?,
        sequences: from.list(|from| {
            let (path, counters) = (from.text()?, from.list(Bytes::number)?);
            Some(SequenceHeader { path, counters, sinks: from.number()? })
        })?,
    };
    let events = unpack(&from.list(Bytes::wide)?)?;
    Some(RunLine { queue, log: Log::checked(header, events).ok()? })
}
