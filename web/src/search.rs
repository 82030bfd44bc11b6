//! The palette: what is typed, what matches, and which line is chosen.

use crate::command::{Command, Entry};

/// As many lines as fit; typing brings up the others.
pub(crate) const MOST: usize = 40;

/// What the reader looks for.
#[derive(Default)]
pub(crate) struct Search {
    entries: Vec<Entry>,
    pub(crate) query: String,
    /// The entries that match, best first: indices.
    found: Vec<usize>,
    /// The chosen one of them.
    pub(crate) place: usize,
}

/// What the reader does.
#[derive(Clone)]
pub(crate) enum Find {
    Type(String),
    Down,
    Up,
    /// The chosen line.
    Take,
    /// This line.
    Pick(usize),
}

impl Search {
    /// Nothing typed yet.
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let mut search = Self { entries, ..Self::default() };
        search.type_in(String::new());
        search
    }

    /// What is listed.
    pub(crate) fn found(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.found.iter().map(|&index| &self.entries[index])
    }

    /// Does it; what was taken has to be done.
    pub(crate) fn after(&mut self, find: Find) -> Option<Command> {
        let last = self.found.len().saturating_sub(1);
        match find {
            Find::Type(query) => self.type_in(query),
            Find::Down => self.place = if self.place >= last { 0 } else { self.place + 1 },
            Find::Up => self.place = self.place.checked_sub(1).unwrap_or(last),
            Find::Take => return self.command(self.place),
            Find::Pick(place) => return self.command(place),
        }
        None
    }

    fn command(&self, place: usize) -> Option<Command> {
        self.found.get(place).map(|&index| self.entries[index].command)
    }

    /// Entries whose title holds every word, those that begin with all that was typed first.
    fn type_in(&mut self, query: String) {
        let typed = query.as_bytes().trim_ascii();
        let holds = |entry: &Entry| query.split_ascii_whitespace().all(|word| contains(&entry.title, word));
        let begins = |entry: &Entry| {
            entry.title.as_bytes().get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
        };
        let mut found = Vec::new();
        for first in [true, false] {
            for (index, entry) in self.entries.iter().enumerate() {
                if found.len() < MOST && begins(entry) == first && holds(entry) {
                    found.push(index);
                }
            }
        }
        (self.found, self.query, self.place) = (found, query, 0);
    }
}

/// Whether `title` holds `word`, in capitals or not.
fn contains(title: &str, word: &str) -> bool {
    title.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}
