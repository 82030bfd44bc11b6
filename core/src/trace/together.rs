//! Several replays on one clock.

use super::{Event, EventKind, Replay};
use crate::machine::Ticks;

/// Replays side by side. A *position* counts events of all logs in the order of their times
/// (ties: by log, then by place in the log), so one number says where every log stands.
#[derive(Clone, Debug)]
pub struct Together {
    replays: Vec<Replay>,
    /// Which log each event comes from, in merged order.
    order: Vec<u8>,
    /// When each event happened, in merged order: ascending.
    times: Vec<Ticks>,
    /// Positions at which a step ends, ascending; the last is the end.
    steps: Vec<usize>,
    marks: Vec<Mark>,
}

/// A place on the scrubber worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The position just after the event.
    pub position: usize,
    /// Which log.
    pub log: usize,
    /// Work handed over or refused, something pending, something wrong, the end.
    pub interesting: bool,
}

impl Together {
    /// Merges the logs.
    ///
    /// # Panics
    /// With more than 255 logs.
    pub fn new(replays: Vec<Replay>) -> Self {
        assert!(replays.len() <= usize::from(u8::MAX), "at most 255 logs on one clock");
        let (mut order, mut times) = (Vec::new(), Vec::new());
        let (mut steps, mut marks) = (Vec::new(), Vec::new());
        // Of each log, how many events are merged already.
        let mut merged = vec![0; replays.len()];
        let mut next = earliest(&replays, &merged);
        let mut taken = false;
        while let Some((log, event)) = next {
            merged[log] += 1;
            order.push(log as u8);
            times.push(event.t);
            let position = order.len();
            taken |= ends_step(&event.kind);
            let interesting = event.kind.is_interesting();
            if interesting || matches!(event.kind, EventKind::Started { .. }) {
                marks.push(Mark { position, log, interesting });
            }
            next = earliest(&replays, &merged);
            // A step ends where time moves on: events of one instant belong together.
            let instant_ends = next.is_none_or(|(_, after)| after.t > event.t);
            if instant_ends && (taken || next.is_none()) {
                steps.push(position);
                taken = false;
            }
        }
        Self { replays, order, times, steps, marks }
    }

    /// The replays, in the order given.
    pub fn replays(&self) -> &[Replay] {
        &self.replays
    }

    /// The last position: all events of all logs.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nothing ever happened.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// For each log, how many of its events lie before `position`.
    pub fn indices_at(&self, position: usize) -> Vec<usize> {
        let mut indices = vec![0; self.replays.len()];
        for &log in &self.order[..position.min(self.len())] {
            indices[usize::from(log)] += 1;
        }
        indices
    }

    /// The log that the event at `place` of the merged order comes from, 0 being the first event.
    pub fn log_at(&self, place: usize) -> Option<usize> {
        self.order.get(place).map(|&log| usize::from(log))
    }

    /// The time at `position`: that of the last event before it.
    pub fn time_at(&self, position: usize) -> Ticks {
        let last = position.min(self.len()).checked_sub(1);
        last.map_or(0, |last| self.times[last])
    }

    /// The time of the very last event.
    pub fn end(&self) -> Ticks {
        self.time_at(self.len())
    }

    /// Positions at which a step ends: every instant at which some worker has taken its next
    /// thunk (one iteration of the worker loop: edges of the last thunk, pop, split, run), and the end.
    pub fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// Marks for the scrubber, ascending.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The end of the next step after `position`.
    pub fn step_after(&self, position: usize) -> usize {
        let next = self.steps.partition_point(|&step| step <= position);
        self.steps.get(next).copied().unwrap_or(self.len())
    }

    /// The end of the step before `position`, or 0.
    pub fn step_before(&self, position: usize) -> usize {
        let before = self.steps.partition_point(|&step| step < position);
        before.checked_sub(1).map_or(0, |index| self.steps[index])
    }

    /// The next interesting mark after `position`, at the end of its instant; or the end.
    pub fn interesting_after(&self, position: usize) -> usize {
        let mark = self.marks.iter().find(|mark| mark.interesting && self.settle(mark.position) > position);
        mark.map_or(self.len(), |mark| self.settle(mark.position))
    }

    /// The last interesting mark before `position`, at the end of its instant; or 0.
    pub fn interesting_before(&self, position: usize) -> usize {
        let mark =
            self.marks.iter().rev().find(|mark| mark.interesting && self.settle(mark.position) < position);
        mark.map_or(0, |mark| self.settle(mark.position))
    }

    /// The position after all events of the instant that `position` lies in.
    fn settle(&self, position: usize) -> usize {
        let t = self.time_at(position);
        self.times.partition_point(|&time| time <= t)
    }
}

/// The event that comes next when so many of each log have been taken, and its log.
fn earliest<'a>(replays: &'a [Replay], taken: &[usize]) -> Option<(usize, &'a Event)> {
    let mut first: Option<(usize, &Event)> = None;
    for (log, (replay, &taken)) in replays.iter().zip(taken).enumerate() {
        if let Some(event) = replay.log().events.get(taken)
            && first.is_none_or(|(_, other)| event.t < other.t)
        {
            first = Some((log, event));
        }
    }
    first
}

/// Whether a step ends with the instant of such an event.
pub(crate) fn ends_step(kind: &EventKind) -> bool {
    use EventKind::{Done, Finished, Quiet, Skipped, Started};
    // `Finished` without a new start is the last iteration of a lane: its queue is empty.
    matches!(kind, Started { .. } | Skipped { .. } | Finished { .. } | Done { .. } | Quiet { .. })
}
