//! The memories that a search runs on.

mod views;
mod words;

#[cfg(test)]
mod litmus;

use std::fmt::Debug;
use std::hash::Hash;

pub use views::Views;
pub use words::Words;

use crate::machine::{Memory, Word};

/// Which memory a search runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Sequential consistency: a word has one value, and orderings do nothing.
    #[default]
    Sc,
    /// Release and acquire: a load may see an older value unless something it has seen forbids it.
    Ra,
}

impl Order {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sc, Self::Ra];

    /// The name of the option value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sc => "sc",
            Self::Ra => "ra",
        }
    }
}

/// A memory that several actors share within a state of a search.
///
/// Besides words there are *data*: what actors write without any synchronisation, each once (the
/// result of a thunk, a stored continuation). Reading one that is not known is a data race.
pub trait Shared: Memory + Clone + Debug + Eq + Hash {
    /// What an actor has seen.
    type View: Clone + Debug + Default + Eq + Ord + Hash;

    /// Whether an access can have more than one result.
    const WEAK: bool;

    /// `words` words of zero, shared by `actors` actors.
    fn new(words: u32, actors: u8) -> Self;

    /// What was written so far is the start of the world: everybody knows it, nothing is before it.
    fn start(&mut self);

    /// The next access is made by `actor`, and of its possible results gives the one with this
    /// number, 0 being the newest.
    fn act(&self, actor: u8, choice: u8);

    /// How many results the last access could have had.
    fn choices(&self) -> u8;

    /// What `actor` has seen, to be handed to others beside this memory: through a lock, a queue, a
    /// thread that is started.
    fn view(&self, actor: u8) -> Self::View;

    /// `actor` is handed a view.
    fn see(&self, actor: u8, view: &Self::View);

    /// `actor` writes a datum.
    fn write(&self, actor: u8, datum: u8);

    /// Whether `actor` is certain to read what was written there.
    fn knows(&self, actor: u8, datum: u8) -> bool;

    /// What a word holds last in its order of changes, whoever can see that.
    fn newest(&self, word: Word) -> u32;

    /// Bytes that it holds outside of itself.
    fn heap(&self) -> usize;

    /// Actors change names: actor `first + k` becomes who `first + order[k]` was.
    fn rename(&mut self, first: u8, order: &[u8]);
}
