//! The fine grain: one access at a time, out of the very function that makes many.
//!
//! A protocol function of this crate is straight code: it makes some accesses to a memory and
//! returns, and never waits. Run as it is, that is [`Grain::Coarse`](super::Grain::Coarse), and it
//! compiles to what stands there. [`Fine`] runs the same compiled function one access further each
//! time: it answers the accesses made so far from a record, makes the next one for real, and lets
//! the rest of the function run out on a copy of the memory, whose effects are dropped. What stands
//! between two accesses is local to the actor, so nobody can see that it is computed again.
//!
//! So there is one source for both grains and not even a branch in it for the explorer's sake, and
//! where an actor stands is a small value: the arguments of the call and the record of answers.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::Ordering;

use super::{Memory, Word};

/// What an access gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The value that the word held before; 0 for a store.
    pub value: u32,
    /// A compare-and-exchange found another value and wrote nothing.
    pub refused: bool,
}

/// How a word was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Read.
    Load,
    /// Written.
    Store,
    /// Written, and read in the same step.
    Swap,
    /// Added to.
    Add,
    /// Subtracted from.
    Sub,
    /// Compared and exchanged.
    Exchange,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Which word.
    pub word: Word,
    /// How.
    pub operation: Operation,
}

/// When something happens inside a function that is run at the fine grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// In an earlier step: it has had its effect.
    Past,
    /// In this step.
    Now,
    /// After the next access, which is not made yet: it may never happen so.
    Beyond,
}

/// A memory that makes one access for real. See the module's text.
///
/// The function must be deterministic and must end when nobody else interferes.
#[derive(Debug)]
pub struct Fine<'a, M> {
    memory: &'a M,
    past: &'a [Answer],
    count: Cell<usize>,
    made: Cell<Option<(Access, Answer)>>,
    beyond: OnceCell<M>,
}

impl<'a, M: Memory + Clone> Fine<'a, M> {
    /// For a function that has made the accesses with the answers `past`.
    pub fn new(memory: &'a M, past: &'a [Answer]) -> Self {
        Self { memory, past, count: Cell::new(0), made: Cell::new(None), beyond: OnceCell::new() }
    }

    /// Whether what happens in the function at this point belongs to this step. Effects that are no
    /// access (a task that is posted, something that is reported) have theirs only [`Moment::Now`]:
    /// after this step's access and before the next one; in the first step, before it too.
    pub fn moment(&self) -> Moment {
        let (count, past) = (self.count.get(), self.past.len());
        match count {
            0 if past == 0 => Moment::Now,
            _ if count <= past => Moment::Past,
            _ if count == past + 1 => Moment::Now,
            _ => Moment::Beyond,
        }
    }

    /// The access of this step; `None` if the function returned without another one.
    pub fn made(&self) -> Option<(Access, Answer)> {
        self.made.get()
    }

    /// To be asked when the function has returned: whether it has returned for real, so that its
    /// result counts.
    pub fn is_over(&self) -> bool {
        self.count.get() <= self.past.len() + 1
    }

    fn access(&self, word: Word, operation: Operation, perform: impl Fn(&M) -> Answer) -> Answer {
        let count = self.count.get();
        self.count.set(count + 1);
        if let Some(&answer) = self.past.get(count) {
            return answer;
        }
        if count > self.past.len() {
            return perform(self.beyond.get_or_init(|| self.memory.clone()));
        }
        let answer = perform(self.memory);
        self.made.set(Some((Access { word, operation }, answer)));
        answer
    }
}

fn held(value: u32) -> Answer {
    Answer { value, refused: false }
}

impl<M: Memory + Clone> Memory for Fine<'_, M> {
    fn load(&self, word: Word, order: Ordering) -> u32 {
        self.access(word, Operation::Load, |memory| held(memory.load(word, order))).value
    }
    fn store(&self, word: Word, value: u32, order: Ordering) {
        self.access(word, Operation::Store, |memory| {
            memory.store(word, value, order);
            held(0)
        });
    }
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.access(word, Operation::Swap, |memory| held(memory.swap(word, value, order))).value
    }
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.access(word, Operation::Add, |memory| held(memory.fetch_add(word, value, order))).value
    }
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.access(word, Operation::Sub, |memory| held(memory.fetch_sub(word, value, order))).value
    }
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        let answer = self.access(word, Operation::Exchange, |memory| {
            let result = memory.compare_exchange(word, current, new, success, failure);
            Answer { value: result.unwrap_or_else(|held| held), refused: result.is_err() }
        });
        if answer.refused { Err(answer.value) } else { Ok(answer.value) }
    }
}

/// Part of a memory, with addresses of its own.
#[derive(Clone, Copy, Debug)]
pub struct Part<M> {
    memory: M,
    start: Word,
}

impl<M> Part<M> {
    /// The words from `start`.
    pub fn new(memory: M, start: Word) -> Self {
        Self { memory, start }
    }
}

impl<M: Memory> Memory for Part<M> {
    fn load(&self, word: Word, order: Ordering) -> u32 {
        self.memory.load(self.start.plus(word.0), order)
    }
    fn store(&self, word: Word, value: u32, order: Ordering) {
        self.memory.store(self.start.plus(word.0), value, order);
    }
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.memory.swap(self.start.plus(word.0), value, order)
    }
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.memory.fetch_add(self.start.plus(word.0), value, order)
    }
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.memory.fetch_sub(self.start.plus(word.0), value, order)
    }
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.memory.compare_exchange(self.start.plus(word.0), current, new, success, failure)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::machine::LocalMemory;

    /// Every operation once, an effect after each; returns what it saw.
    fn straight(memory: &impl Memory, mut effect: impl FnMut(u32)) -> Vec<u32> {
        let word = Word(1);
        effect(0);
        memory.store(word, 7, Relaxed);
        effect(1);
        let mut seen = vec![memory.fetch_add(word, 2, Relaxed)];
        effect(2);
        seen.push(memory.fetch_sub(word, 1, Relaxed));
        seen.push(memory.swap(word, 20, Relaxed));
        effect(4);
        for current in [5, 20] {
            seen.push(match memory.compare_exchange(word, current, 21, Relaxed, Relaxed) {
                Ok(held) => held,
                Err(held) => 100 + held,
            });
        }
        seen.push(memory.load(word, Relaxed));
        effect(7);
        seen
    }

    /// Step by step: same result, each access once, each effect once and in order.
    #[test]
    fn steps_add_up_to_the_straight_run() {
        let coarse = LocalMemory::new(2);
        let expected = straight(&coarse, |_| {});
        let memory = LocalMemory::new(2);
        let (mut past, mut effects) = (Vec::new(), Vec::new());
        let result = loop {
            let before = memory.clone();
            let fine = Fine::new(&memory, &past);
            let result = straight(&fine, |effect| {
                if fine.moment() == Moment::Now {
                    effects.push(effect);
                }
            });
            let (over, (access, answer)) = (fine.is_over(), fine.made().expect("an access"));
            assert_eq!(access.word, Word(1));
            assert_eq!(memory == before, matches!(access.operation, Operation::Load) || answer.refused);
            past.push(answer);
            if over {
                break result;
            }
        };
        assert_eq!((result, past.len()), (expected, 7));
        assert_eq!(effects, [0, 1, 2, 4, 7]);
        assert_eq!(memory, coarse);
    }

    #[test]
    fn others_are_seen_between_two_steps() {
        let memory = LocalMemory::new(2);
        let mut past = Vec::new();
        for _ in 0..2 {
            let fine = Fine::new(&memory, &past);
            straight(&fine, |_| {});
            past.push(fine.made().expect("an access").1);
            memory.fetch_add(Word(1), 10, Relaxed);
        }
        assert_eq!(past[1].value, 17);
        assert_eq!(memory.load(Word(1), Relaxed), 29);
    }

    #[test]
    fn parts_have_addresses_of_their_own() {
        let memory = LocalMemory::new(3);
        Part::new(&memory, Word(1)).store(Word(1), 5, Relaxed);
        assert_eq!(memory.load(Word(2), Relaxed), 5);
    }
}
