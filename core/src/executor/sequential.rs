//! The sequential path: thunks in program order on one thread, the first error ends it.

use std::ops::Range;

use super::Failure;
use crate::graph::NodeId;

/// A run in program order (executor spec §4): no counters, no queue, nothing allocated.
///
/// The default has nothing to run. Call [`next`](Self::next), run the thunk, call [`finish`](Self::finish); a thunk that is
/// pending is finished by whichever thread completes it, and that thread goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequential {
    thunks: u32,
    next: NodeId,
    failure: Option<Failure>,
}

impl Sequential {
    /// A run of `thunks` thunks.
    pub fn new(thunks: u32) -> Self {
        Self { thunks, next: 0, failure: None }
    }

    /// The thunk to run now; `None` when the run is over.
    #[inline]
    pub fn next(&self) -> Option<NodeId> {
        (self.failure.is_none() && self.next < self.thunks).then_some(self.next)
    }

    /// The thunks that are left, for a loop over those that complete well one after the other. It
    /// says with [`reach`](Self::reach) how far it came, before anything else is asked.
    #[inline]
    pub fn ahead(&self) -> Range<NodeId> {
        self.next..if self.failure.is_none() { self.thunks } else { self.next }
    }

    /// All thunks before `node` have completed well.
    #[inline]
    pub fn reach(&mut self, node: NodeId) {
        debug_assert!(self.ahead().start <= node && node <= self.thunks);
        self.next = node;
    }

    /// The current thunk has completed.
    #[inline]
    pub fn finish(&mut self, result: Result<(), Failure>) {
        match result {
            Ok(()) => self.next += 1,
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// The error that ended the run.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_order_and_stops_at_the_first_error() {
        let mut run = Sequential::new(3);
        assert_eq!(run.next(), Some(0));
        run.finish(Ok(()));
        assert_eq!(run.next(), Some(1));
        run.finish(Err(Failure { node: 1 }));
        assert_eq!((run.next(), run.failure()), (None, Some(Failure { node: 1 })));
        assert_eq!(Sequential::new(0).next(), None);
    }

    #[test]
    fn a_loop_over_what_is_ahead_says_how_far_it_came() {
        let mut run = Sequential::new(4);
        assert_eq!(run.ahead(), 0..4);
        run.reach(2);
        assert_eq!((run.next(), run.ahead()), (Some(2), 2..4));
        run.finish(Err(Failure { node: 2 }));
        assert_eq!(run.ahead(), 2..2, "nothing runs after a failure");
    }
}
