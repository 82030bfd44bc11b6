//! The event of a pending thunk: who goes on when it has completed.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::machine::{Memory, Word};

/// Nothing has happened yet.
const PENDING: u32 = 0;
/// The worker has left; whoever completes the thunk goes on from there.
const ATTACHED: u32 = 1;
/// Completed well before the worker had left.
const GOOD: u32 = 2;
/// Completed with an error before the worker had left.
const BAD: u32 = 3;
/// Completed, and somebody goes on.
const OVER: u32 = 4;

/// One word between the worker that started a pending thunk and whoever completes it.
///
/// The worker releases the scheduling edges ([`Worker::suspend`](super::Worker::suspend)), then
/// attaches the continuation. Whichever of [`attach`](Self::attach) and
/// [`complete`](Self::complete) comes second runs it, so it runs exactly once.
#[derive(Debug)]
pub struct Event<'m, M> {
    memory: &'m M,
    word: Word,
}

/// What [`Event::attach`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// The thunk is still pending: its completion runs the continuation.
    Waits,
    /// The thunk had completed already, well or not: the worker runs the continuation itself.
    Completed {
        /// Whether it completed well.
        well: bool,
    },
}

/// What [`Event::complete`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// The worker has not attached yet, and will go on by itself.
    Early,
    /// The worker has left: the caller runs the continuation.
    Continue,
    /// It had completed before; nothing changed.
    Twice,
}

impl<'m, M: Memory> Event<'m, M> {
    /// The event in `word`, which is 0 at first.
    pub fn new(memory: &'m M, word: Word) -> Self {
        Self { memory, word }
    }

    /// Makes the event ready for another run. Nobody may be using it.
    pub fn reset(&self) {
        self.memory.store(self.word, PENDING, Relaxed);
    }

    /// The worker leaves the thunk to its completion.
    pub fn attach(&self) -> Attached {
        // Acquire and release: the continuation sees what the worker wrote, whoever runs it.
        match self.memory.compare_exchange(self.word, PENDING, ATTACHED, AcqRel, Acquire) {
            Ok(_) => Attached::Waits,
            Err(early) => {
                self.memory.store(self.word, OVER, Relaxed);
                Attached::Completed { well: early == GOOD }
            }
        }
    }

    /// The thunk has completed.
    pub fn complete(&self, well: bool) -> Completed {
        let early = if well { GOOD } else { BAD };
        match self.memory.compare_exchange(self.word, PENDING, early, AcqRel, Acquire) {
            Ok(_) => Completed::Early,
            Err(_) => match self.memory.compare_exchange(self.word, ATTACHED, OVER, AcqRel, Acquire) {
                Ok(_) => Completed::Continue,
                Err(_) => Completed::Twice,
            },
        }
    }

    /// Whether a worker has left and nobody has completed the thunk: a suspect, if nothing moves.
    pub fn is_waiting(&self) -> bool {
        self.memory.load(self.word, Acquire) == ATTACHED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::LocalMemory;

    /// Steps in order: `a` attaches, `g` completes well, `b` completes badly.
    #[track_caller]
    fn check(steps: &str, continuations: &[&str]) {
        let memory = LocalMemory::new(1);
        let event = Event::new(&memory, Word(0));
        let mut ran = Vec::new();
        for step in steps.chars() {
            match step {
                'a' => match event.attach() {
                    Attached::Waits => assert!(event.is_waiting()),
                    Attached::Completed { well } => {
                        ran.push(if well { "worker, well" } else { "worker, badly" })
                    }
                },
                _ => {
                    if event.complete(step == 'g') == Completed::Continue {
                        ran.push("completer");
                    }
                }
            }
        }
        assert_eq!(ran, continuations, "{steps}");
    }

    #[test]
    fn whoever_comes_second_goes_on_and_nobody_else() {
        check("a", &[]);
        check("g", &[]);
        check("ag", &["completer"]);
        check("ab", &["completer"]);
        check("ga", &["worker, well"]);
        check("ba", &["worker, badly"]);
        check("agg", &["completer"]);
        check("gga", &["worker, well"]);
        check("gab", &["worker, well"]);
    }

    #[test]
    fn an_event_is_used_again_after_a_reset() {
        let memory = LocalMemory::new(1);
        let event = Event::new(&memory, Word(0));
        assert_eq!((event.attach(), event.complete(true)), (Attached::Waits, Completed::Continue));
        assert_eq!(event.complete(true), Completed::Twice);
        event.reset();
        assert_eq!(
            (event.complete(false), event.attach()),
            (Completed::Early, Attached::Completed { well: false })
        );
    }
}
