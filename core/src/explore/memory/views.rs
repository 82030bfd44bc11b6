//! Release and acquire, by views.
//!
//! A word is a list of messages in the order of its changes. Each actor has a *view*: per word, the
//! newest message it knows of. A load may take any message that is not older than that, so a value
//! can look stale for as long as nothing carries the news; a message written with release carries
//! its writer's view, and a load that acquires takes that view over. An operation that reads and
//! writes takes the newest message and hands on the view of what it read: a release sequence.
//!
//! What this leaves out, both ways:
//!
//! * A store goes to the end of its word's order of changes at the moment when it is executed. So
//!   what needs a store to be ordered before one that was executed earlier is not found (two
//!   writers that race on two words, "2+2W"). For a word with one storing actor, or one that is
//!   changed by read-modify-write alone, nothing is lost.
//! * Nothing is speculated: a load never reads from a store that comes later (load buffering).
//! * There are no fences. `SeqCst` counts as an access between two sequentially consistent fences,
//!   which is stronger than C++ says; no machine of this crate uses it.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

use super::Shared;
use super::words::{pack, unpack};
use crate::machine::{Memory, Word};

/// A memory of messages and views.
#[derive(Clone, Debug)]
pub struct Views {
    inner: RefCell<Inner>,
    actor: Cell<u8>,
    choice: Cell<u8>,
    choices: Cell<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inner {
    /// By word, oldest first; a message's place is its time.
    words: Vec<Vec<Message>>,
    /// By actor.
    views: Vec<View>,
    /// What the last sequentially consistent access had seen.
    total: View,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Message {
    value: u8,
    /// What it tells whoever acquires it.
    carries: Option<View>,
}

/// By word, the newest message that is known; and which data are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    seen: Vec<u8>,
    data: u64,
}

impl View {
    fn join(&mut self, other: &Self) {
        if self.seen.len() < other.seen.len() {
            self.seen.resize(other.seen.len(), 0);
        }
        for (mine, theirs) in self.seen.iter_mut().zip(&other.seen) {
            *mine = (*mine).max(*theirs);
        }
        self.data |= other.data;
    }

    fn at_least(&mut self, word: usize, time: u8) {
        self.seen[word] = self.seen[word].max(time);
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}

impl Inner {
    fn newest(&self, word: usize) -> u8 {
        (self.words[word].len() - 1) as u8
    }

    fn before(&mut self, actor: usize, order: Ordering) {
        if order == SeqCst {
            let total = self.total.clone();
            self.views[actor].join(&total);
        }
    }

    fn after(&mut self, actor: usize, order: Ordering) {
        if order == SeqCst {
            let view = self.views[actor].clone();
            self.total.join(&view);
        }
    }

    /// `actor` reads the message of `word` at `time`.
    fn read(&mut self, actor: usize, word: usize, time: u8, order: Ordering) -> u8 {
        let message = &self.words[word][usize::from(time)];
        let view = &mut self.views[actor];
        view.at_least(word, time);
        if acquires(order)
            && let Some(carried) = &message.carries
        {
            view.join(carried);
        }
        message.value
    }

    /// `actor` adds a message to `word`; `handed_on` is the view of the message that the same
    /// operation has read.
    fn write(&mut self, actor: usize, word: usize, value: u8, order: Ordering, handed_on: Option<View>) {
        let time = self.words[word].len() as u8;
        let view = &mut self.views[actor];
        view.at_least(word, time);
        let mut carries = handed_on;
        if releases(order) {
            carries.get_or_insert_default().join(view);
        }
        self.words[word].push(Message { value, carries });
        self.forget(word);
    }

    /// Messages that nobody can read any more are all alike, so that states that differ in them
    /// alone are equal.
    fn forget(&mut self, word: usize) {
        let known = self.views.iter().map(|view| view.seen[word]).min().unwrap_or(0);
        self.words[word][..usize::from(known)].fill(Message::default());
    }
}

impl Views {
    /// The actor, the number of the result it wants, once.
    fn turn(&self) -> (usize, u8) {
        (usize::from(self.actor.get()), self.choice.replace(0))
    }

    fn read_modify_write(&self, word: Word, order: Ordering, new: impl FnOnce(u32) -> u32) -> u32 {
        let (actor, _) = self.turn();
        self.choices.set(1);
        let mut inner = self.inner.borrow_mut();
        let word = word.0 as usize;
        inner.before(actor, order);
        let time = inner.newest(word);
        let held = inner.read(actor, word, time, order);
        let handed_on = inner.words[word][usize::from(time)].carries.clone();
        inner.write(actor, word, pack(new(unpack(held))), order, handed_on);
        inner.after(actor, order);
        unpack(held)
    }

    /// Reads one of the messages that `actor` may see and `fits` lets pass; the newest always does.
    fn read_some(&self, word: Word, order: Ordering, fits: impl Fn(u8) -> bool) -> (u32, bool) {
        let (actor, choice) = self.turn();
        let mut inner = self.inner.borrow_mut();
        let word = word.0 as usize;
        inner.before(actor, order);
        let newest = inner.newest(word);
        let oldest = inner.views[actor].seen[word];
        let older = (oldest..newest).rev().filter(|&time| fits(inner.words[word][usize::from(time)].value));
        let times: Vec<u8> = std::iter::once(newest).chain(older).collect();
        self.choices.set(times.len() as u8);
        let time = times.get(usize::from(choice)).copied().unwrap_or(newest);
        let held = inner.read(actor, word, time, order);
        inner.after(actor, order);
        inner.forget(word);
        (unpack(held), time == newest)
    }
}

impl PartialEq for Views {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}
impl Eq for Views {}

impl Hash for Views {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.borrow().hash(state);
    }
}

impl Memory for Views {
    fn load(&self, word: Word, order: Ordering) -> u32 {
        self.read_some(word, order, |_| true).0
    }
    fn store(&self, word: Word, value: u32, order: Ordering) {
        let (actor, _) = self.turn();
        self.choices.set(1);
        let mut inner = self.inner.borrow_mut();
        inner.before(actor, order);
        inner.write(actor, word.0 as usize, pack(value), order, None);
        inner.after(actor, order);
    }
    fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.read_modify_write(word, order, |_| value)
    }
    fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.read_modify_write(word, order, |held| held.wrapping_add(value))
    }
    fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
        self.read_modify_write(word, order, |held| held.wrapping_sub(value))
    }
    /// One that is refused is a load, and may have seen an old value. One that succeeds has seen
    /// the newest.
    fn compare_exchange(
        &self,
        word: Word,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        let newest = self.newest(word);
        if self.choice.get() == 0 && newest == current {
            let others = {
                let inner = self.inner.borrow();
                let word = word.0 as usize;
                let oldest = usize::from(inner.views[usize::from(self.actor.get())].seen[word]);
                let older = &inner.words[word][oldest..usize::from(inner.newest(word))];
                older.iter().filter(|message| unpack(message.value) != current).count()
            };
            let held = self.read_modify_write(word, success, |_| new);
            self.choices.set(1 + others as u8);
            return Ok(held);
        }
        Err(self.read_some(word, failure, |value| unpack(value) != current).0)
    }
}

impl Shared for Views {
    type View = View;
    const WEAK: bool = true;

    fn new(words: u32, actors: u8) -> Self {
        let view = View { seen: vec![0; words as usize], data: 0 };
        let inner = Inner {
            words: vec![vec![Message::default()]; words as usize],
            views: vec![view.clone(); usize::from(actors)],
            total: view,
        };
        Self { inner: RefCell::new(inner), actor: Cell::new(0), choice: Cell::new(0), choices: Cell::new(1) }
    }

    fn start(&mut self) {
        let inner = self.inner.get_mut();
        for word in &mut inner.words {
            let value = word.last().map_or(0, |message| message.value);
            *word = vec![Message { value, carries: None }];
        }
        let start = View { seen: vec![0; inner.words.len()], data: 0 };
        inner.views.fill(start.clone());
        inner.total = start;
    }

    fn act(&self, actor: u8, choice: u8) {
        self.actor.set(actor);
        self.choice.set(choice);
    }

    fn choices(&self) -> u8 {
        self.choices.get()
    }

    fn view(&self, actor: u8) -> View {
        self.inner.borrow().views[usize::from(actor)].clone()
    }

    fn see(&self, actor: u8, view: &View) {
        self.inner.borrow_mut().views[usize::from(actor)].join(view);
    }

    fn write(&self, actor: u8, datum: u8) {
        self.inner.borrow_mut().views[usize::from(actor)].data |= 1 << datum;
    }

    fn knows(&self, actor: u8, datum: u8) -> bool {
        self.inner.borrow().views[usize::from(actor)].data >> datum & 1 == 1
    }

    fn newest(&self, word: Word) -> u32 {
        let inner = self.inner.borrow();
        unpack(inner.words[word.0 as usize].last().map_or(0, |message| message.value))
    }

    fn heap(&self) -> usize {
        let inner = self.inner.borrow();
        let view = size_of::<View>() + inner.words.len();
        let message = |message: &Message| {
            size_of::<Message>() + message.carries.as_ref().map_or(0, |_| inner.words.len())
        };
        let words = inner
            .words
            .iter()
            .map(|word| size_of::<Vec<Message>>() + word.iter().map(message).sum::<usize>());
        inner.views.len() * view + words.sum::<usize>()
    }

    fn rename(&mut self, first: u8, order: &[u8]) {
        let first = usize::from(first);
        let views = &mut self.inner.get_mut().views;
        let old: Vec<View> = views[first..first + order.len()].to_vec();
        for (place, &from) in order.iter().enumerate() {
            views[first + place] = old[usize::from(from)].clone();
        }
    }
}
