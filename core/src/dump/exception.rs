//! What the last launches were, for when one of them turns out to have failed (ge-dump spec §7).

use super::model::{OpId, ThunkRef};

/// Stands for any number in a record or a question.
pub const ANY: u32 = u32::MAX;

/// One launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Launched {
    /// The op.
    pub op: OpId,
    /// The thunk.
    pub thunk: ThunkRef,
    /// The lane, [`ANY`] for a context.
    pub stream: u32,
    /// The task, [`ANY`] for a context.
    pub task: u32,
    /// Context and thread of an op with several.
    pub context: Option<(u32, u32)>,
    /// The iteration.
    pub step: u64,
    /// Microseconds.
    pub time: u64,
}

/// The newest launches of a lane; the oldest are overwritten. All room is taken at once.
#[derive(Clone, Debug)]
pub struct Ring {
    launches: Vec<Launched>,
    capacity: usize,
    /// The slot that is written next, once the ring is full.
    next: usize,
}

/// Launches that a lane remembers if nobody says otherwise. GE has room for four million in all, and
/// looks through them from the first: after task numbers have wrapped it finds stale ones (P-25).
pub const CAPACITY: usize = 4_096;

impl Ring {
    /// Room for `capacity` launches, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self { launches: Vec::with_capacity(capacity), capacity, next: 0 }
    }

    /// Remembers a launch.
    #[inline]
    pub fn save(&mut self, launched: Launched) {
        if self.launches.len() < self.capacity {
            self.launches.push(launched);
        } else {
            self.launches[self.next] = launched;
            self.next = (self.next + 1) % self.capacity;
        }
    }

    /// Launches that are remembered.
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// None is.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// The newest launch with these numbers. Looks through the ring: there is one question per
    /// failure, and a launch per thunk.
    pub fn find(&self, stream: u32, task: u32, context: Option<(u32, u32)>) -> Option<&Launched> {
        let same = |mine: u32, asked: u32| mine == asked || mine == ANY || asked == ANY;
        let (newer, older) = self.launches.split_at(self.next);
        newer.iter().rev().chain(older.iter().rev()).find(|one| {
            let contexts = match (one.context, context) {
                (Some((c, t)), Some((asked_c, asked_t))) => same(c, asked_c) && same(t, asked_t),
                (None, None) => true,
                (None, Some(_)) | (Some(_), None) => false,
            };
            same(one.stream, stream) && same(one.task, task) && contexts
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(task: u32, step: u64) -> Launched {
        let thunk = ThunkRef { sequence: 0, node: task };
        Launched { op: task, thunk, stream: 1, task, context: None, step, time: 0 }
    }

    fn step(ring: &Ring, stream: u32, task: u32) -> Option<u64> {
        ring.find(stream, task, None).map(|one| one.step)
    }

    #[test]
    fn the_newest_match_is_found_and_the_oldest_is_overwritten() {
        let mut ring = Ring::new(4);
        assert!(ring.is_empty());
        for n in 0..6 {
            ring.save(launched(n % 3, u64::from(n)));
        }
        assert_eq!(ring.len(), 4);
        // Kept: tasks 2, 0, 1, 2 of steps 2 to 5.
        assert_eq!((step(&ring, 1, 2), step(&ring, 1, 0), step(&ring, 1, 1)), (Some(5), Some(3), Some(4)));
        assert_eq!(step(&ring, 2, 2), None);
        assert_eq!(step(&ring, 1, ANY), Some(5));
    }

    #[test]
    fn contexts_match_by_their_own_numbers() {
        let mut ring = Ring::new(4);
        ring.save(launched(7, 0));
        ring.save(Launched { stream: ANY, task: ANY, context: Some((1, 2)), ..launched(8, 1) });
        assert_eq!(ring.find(5, 5, Some((1, 2))).map(|one| one.op), Some(8));
        assert_eq!(ring.find(5, 5, Some((1, 3))).map(|one| one.op), None);
        assert_eq!(ring.find(1, 7, None).map(|one| one.op), Some(7));
    }

    #[test]
    fn no_allocation_after_construction() {
        let mut ring = Ring::new(100);
        let capacity = ring.launches.capacity();
        (0..1_000).for_each(|n| ring.save(launched(n, 0)));
        assert_eq!(ring.launches.capacity(), capacity);
        assert_eq!(Ring::new(0).capacity, 1);
    }
}
