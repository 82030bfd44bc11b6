//! Release and acquire for the transport, by views.
//!
//! As in [`memory::views`](crate::explore::memory::Views), with what a transport needs beside it:
//! machines that run for ever, and data that are not atomic.
//!
//! * A *flag or index* is a list of messages in the order of its changes. Each party has a view: per
//!   word, the newest message that it knows of. A load takes any message that is not older; one that
//!   was written with release carries its writer's view, and a load that acquires takes that over.
//! * A *place* is what one party at a time may touch, without atomics: an entry, a slot, the records
//!   and the count of a buffer, the arena of a lane. Whoever touches it must know of the last touch,
//!   whoever made it; then only this party knows, until it hands its view on. Touching what one does
//!   not know of is a data race. Reading counts as touching: so that the next writer overwrites
//!   nothing that is still being read. It asks more than C++ does, which lets two parties read.
//!
//! Left out: stores are ordered as executed, nothing is speculated, and there are no fences.
//! Messages that nobody can read any more are gone, and what a message carries that all its readers
//! know is gone too, so that states which differ in such things alone are one.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

use super::weaken::{Role, Weaken};
use crate::explore::executor::Side;

/// What a word is to this memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// One party's own, or of no consequence.
    #[default]
    Own,
    /// A flag or an index, with its number among them.
    Flag(u8, Role),
    /// Part of a place, with its number among them.
    Place(u8),
}

/// Places that there is room for.
pub(super) const MAX_PLACES: usize = u128::BITS as usize;

/// What a party knows, or a message carries: by flag, the newest message; by place, whether the last
/// touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct View {
    seen: Vec<u8>,
    places: u128,
}

impl View {
    /// True if there was something new.
    fn join(&mut self, other: &Self) -> bool {
        let mut new = other.places & !self.places != 0;
        for (mine, theirs) in self.seen.iter_mut().zip(&other.seen) {
            new |= theirs > mine;
            *mine = (*mine).max(*theirs);
        }
        self.places |= other.places;
        new
    }

    fn is_empty(&self) -> bool {
        self.places == 0 && self.seen.iter().all(|&seen| seen == 0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    value: u32,
    /// No `seen` if it carries nothing.
    carries: View,
}

/// Which of the messages that it may see a load takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choose {
    /// The k-th newest; four bits for each load that has a choice, the first in the lowest.
    Path(u32),
    /// The one that the party knows already.
    Known,
}

/// The messages and views of one state, and what its present step chooses.
#[derive(Clone, Debug)]
pub(super) struct Weak {
    flags: Vec<Vec<Message>>,
    /// By party; none for one that has ended.
    views: Vec<Option<View>>,
    weakened: Vec<Weaken>,
    choose: Choose,
    /// Of the loads of this step that had a choice, between how many.
    choices: Vec<u8>,
    /// The first place that was touched without knowing.
    race: Option<u8>,
    /// Somebody knows more, or less, or something was written.
    changed: bool,
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}

impl Weak {
    /// Everybody knows what stands there; `values` by flag.
    pub(super) fn new(values: &[u32], parties: usize, places: usize, weakened: &[Weaken]) -> Self {
        let all = if places == MAX_PLACES { u128::MAX } else { (1 << places) - 1 };
        let view = View { seen: vec![0; values.len()], places: all };
        Self {
            flags: values.iter().map(|&value| vec![Message { value, carries: View::default() }]).collect(),
            views: vec![Some(view); parties],
            weakened: weakened.to_vec(),
            choose: Choose::Path(0),
            choices: Vec::new(),
            race: None,
            changed: false,
        }
    }

    /// The next loads choose so.
    pub(super) fn choose(&mut self, choose: Choose) {
        self.choose = choose;
        self.choices.clear();
        self.race = None;
        self.changed = false;
    }

    /// Whether anything is different since [`Self::choose`].
    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Of the loads since [`Self::choose`] that had a choice, between how many.
    pub(super) fn choices(&self) -> &[u8] {
        &self.choices
    }

    /// The first place since [`Self::choose`] that was touched by a party that did not know of the
    /// last touch.
    pub(super) fn race(&self) -> Option<u8> {
        self.race
    }

    /// Whether the party could read something else than the newest.
    pub(super) fn is_behind(&self, party: u8) -> bool {
        let Some(view) = &self.views[usize::from(party)] else { return false };
        self.flags.iter().zip(&view.seen).any(|(messages, &seen)| usize::from(seen) + 1 < messages.len())
    }

    fn loses(&self, role: Role, side: Side) -> bool {
        self.weakened.contains(&Weaken { role, side })
    }

    pub(super) fn load(&mut self, party: u8, flag: u8, role: Role, order: Ordering) -> u32 {
        let newest = self.flags[usize::from(flag)].len() - 1;
        let known = self.seen(party, flag);
        let mut at = newest;
        match &mut self.choose {
            Choose::Known => at = known,
            Choose::Path(path) if known < newest => {
                let back = (*path & 15) as usize;
                *path >>= 4;
                at = newest.saturating_sub(back).max(known);
                self.choices.push((newest - known + 1) as u8);
            }
            Choose::Path(_) => {}
        }
        let acquires = acquires(order) && !self.loses(role, Side::Acquire);
        self.take(party, flag, at, acquires)
    }

    fn seen(&self, party: u8, flag: u8) -> usize {
        self.views[usize::from(party)].as_ref().map_or(0, |view| usize::from(view.seen[usize::from(flag)]))
    }

    fn take(&mut self, party: u8, flag: u8, at: usize, acquires: bool) -> u32 {
        let message = &self.flags[usize::from(flag)][at];
        if let Some(view) = &mut self.views[usize::from(party)] {
            let seen = &mut view.seen[usize::from(flag)];
            self.changed |= usize::from(*seen) < at;
            *seen = (*seen).max(at as u8);
            if acquires {
                self.changed |= view.join(&message.carries);
            }
        }
        message.value
    }

    pub(super) fn store(&mut self, party: u8, flag: u8, role: Role, value: u32, order: Ordering) {
        let releases = releases(order) && !self.loses(role, Side::Release);
        self.add(party, flag, value, releases, View::default());
    }

    fn add(&mut self, party: u8, flag: u8, value: u32, releases: bool, mut carries: View) {
        self.changed = true;
        let at = self.flags[usize::from(flag)].len() as u8;
        if let Some(view) = &mut self.views[usize::from(party)] {
            view.seen[usize::from(flag)] = at;
            if releases {
                carries.seen.resize(view.seen.len(), 0);
                carries.join(view);
            }
        }
        self.flags[usize::from(flag)].push(Message { value, carries });
    }

    /// A read-modify-write takes the newest, and hands on what that carries.
    pub(super) fn modify(&mut self, party: u8, flag: u8, role: Role, value: u32, order: Ordering) {
        let newest = self.flags[usize::from(flag)].len() - 1;
        self.take(party, flag, newest, acquires(order) && !self.loses(role, Side::Acquire));
        let carries = self.flags[usize::from(flag)][newest].carries.clone();
        let releases = releases(order) && !self.loses(role, Side::Release);
        self.add(party, flag, value, releases, carries);
    }

    /// A party touches a place.
    pub(super) fn touch(&mut self, party: u8, place: u8) {
        self.changed = true;
        let bit = 1 << place;
        let Some(view) = &self.views[usize::from(party)] else { return };
        if view.places & bit == 0 {
            self.race.get_or_insert(place);
        }
        for messages in &mut self.flags {
            messages.iter_mut().for_each(|message| message.carries.places &= !bit);
        }
        self.views.iter_mut().flatten().for_each(|view| view.places &= !bit);
        if let Some(view) = &mut self.views[usize::from(party)] {
            view.places |= bit;
        }
    }

    /// A party ends, and another one waits for that and then knows what it knew.
    pub(super) fn join(&mut self, ended: u8, by: u8) {
        self.changed = true;
        if let Some(view) = self.views[usize::from(ended)].take()
            && let Some(by) = &mut self.views[usize::from(by)]
        {
            by.join(&view);
        }
    }

    /// A party dies.
    pub(super) fn forget_party(&mut self, party: u8) {
        self.views[usize::from(party)] = None;
    }

    /// A flag that nobody reads any more.
    pub(super) fn forget_flag(&mut self, flag: u8) {
        self.flags[usize::from(flag)] = vec![Message { value: 0, carries: View::default() }];
        for view in self.views.iter_mut().flatten() {
            view.seen[usize::from(flag)] = 0;
        }
        for message in self.flags.iter_mut().flatten() {
            if let Some(seen) = message.carries.seen.get_mut(usize::from(flag)) {
                *seen = 0;
            }
        }
    }

    /// Counts from `base` in all that was ever written to this flag.
    pub(super) fn shift(&mut self, flag: u8, base: u32) {
        for message in &mut self.flags[usize::from(flag)] {
            message.value = message.value.wrapping_sub(base);
        }
    }

    /// Forgets what can make no difference any more.
    pub(super) fn settle(&mut self) {
        for flag in 0..self.flags.len() {
            let known = self.views.iter().flatten().map(|view| view.seen[flag]).min();
            let known = known.unwrap_or(self.flags[flag].len() as u8 - 1);
            if known == 0 {
                continue;
            }
            self.flags[flag].drain(..usize::from(known));
            self.views.iter_mut().flatten().for_each(|view| view.seen[flag] -= known);
            for message in self.flags.iter_mut().flatten() {
                if let Some(seen) = message.carries.seen.get_mut(flag) {
                    *seen = seen.saturating_sub(known);
                }
            }
        }
        let Self { flags, views, .. } = self;
        for (flag, messages) in flags.iter_mut().enumerate() {
            for (at, message) in messages.iter_mut().enumerate() {
                let carries = &mut message.carries;
                if carries.seen.is_empty() {
                    continue;
                }
                let mut places = u128::MAX;
                let mut gains = vec![false; carries.seen.len()];
                for view in views.iter().flatten().filter(|view| usize::from(view.seen[flag]) <= at) {
                    places &= view.places;
                    for ((gain, carried), seen) in gains.iter_mut().zip(&carries.seen).zip(&view.seen) {
                        *gain |= carried > seen;
                    }
                }
                carries.places &= !places;
                for (carried, _) in carries.seen.iter_mut().zip(gains).filter(|(_, gains)| !gains) {
                    *carried = 0;
                }
                if carries.is_empty() {
                    *carries = View::default();
                }
            }
        }
    }

    /// As bytes, but for the values of flags with one message. Equal memories, equal bytes.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        let kept = |messages: &Vec<Message>| messages.len() > 1 || !messages[0].carries.seen.is_empty();
        for (flag, messages) in (0_u8..).zip(&self.flags).filter(|(_, messages)| kept(messages)) {
            bytes.extend([flag, messages.len() as u8]);
            for message in messages {
                bytes.extend(message.value.to_le_bytes());
                encode(&message.carries, bytes);
            }
        }
        bytes.push(u8::MAX);
        for party in &self.views {
            bytes.push(u8::from(party.is_some()));
            party.iter().for_each(|view| encode(view, bytes));
        }
    }

    /// Back from bytes; `value` by flag, as it stands.
    pub(super) fn decode(&mut self, bytes: &[u8], value: impl Fn(usize) -> u32) {
        let mut bytes = bytes.iter().copied();
        let flags = self.flags.len();
        for (flag, messages) in self.flags.iter_mut().enumerate() {
            messages.clear();
            messages.push(Message { value: value(flag), carries: View::default() });
        }
        while let Some(flag) = bytes.next().filter(|&flag| flag != u8::MAX) {
            let messages = &mut self.flags[usize::from(flag)];
            messages.clear();
            for _ in 0..bytes.next().unwrap_or(0) {
                let value = u32::from_le_bytes(std::array::from_fn(|_| bytes.next().unwrap_or(0)));
                let mut carries = decode(&mut bytes, flags);
                if carries.is_empty() {
                    carries = View::default();
                }
                messages.push(Message { value, carries });
            }
        }
        for view in &mut self.views {
            *view = (bytes.next() == Some(1)).then(|| decode(&mut bytes, flags));
        }
    }
}

/// What is not 0.
fn encode(view: &View, bytes: &mut Vec<u8>) {
    let len = 16 - view.places.leading_zeros() as usize / 8;
    bytes.push(len as u8);
    bytes.extend(&view.places.to_le_bytes()[..len]);
    let seen = (0_u8..).zip(&view.seen).filter(|&(_, &seen)| seen > 0);
    bytes.push(seen.clone().count() as u8);
    bytes.extend(seen.flat_map(|(flag, &seen)| [flag, seen]));
}

fn decode(bytes: &mut impl Iterator<Item = u8>, flags: usize) -> View {
    let mut next = || bytes.next().unwrap_or(0);
    let mut places = [0; 16];
    let len = usize::from(next());
    places.iter_mut().take(len).for_each(|byte| *byte = next());
    let mut view = View { seen: vec![0; flags], places: u128::from_le_bytes(places) };
    for _ in 0..next() {
        let flag = usize::from(next());
        view.seen[flag] = next();
    }
    view
}
