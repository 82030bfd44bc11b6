//! The Lab's instruments beside the executor: what was asked of one, and what the engine answered.
//! The page does not know what they are about: an answer says what can be asked and what is seen.

use std::rc::Rc;

use thunkscope_core::panel::AT;
use thunkscope_core::panel::shown::{Shown, Stand};

use web_sys::File;

use crate::command::Command;
use crate::engine::Trouble;
use crate::lab::Work;

/// Which instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instrument {
    Dump,
    Backpressure,
    Explorer,
    Log,
}

impl Instrument {
    pub(crate) const ALL: [Self; 4] = [Self::Dump, Self::Backpressure, Self::Explorer, Self::Log];

    /// Its name in messages and addresses.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Dump => "dump",
            Self::Backpressure => "backpressure",
            Self::Explorer => "explorer",
            Self::Log => "log",
        }
    }

    pub(crate) fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|instrument| instrument.id() == id)
    }
}

/// The instrument that is open.
pub(crate) struct Bench {
    pub(crate) which: Instrument,
    /// What the reader has set; what is not there is the instrument's choice.
    pub(crate) set: Vec<(String, String)>,
    /// What was set when the last answer came.
    answered: Vec<(String, String)>,
    /// An answer is on its way.
    pub(crate) waiting: bool,
    /// The last answer.
    pub(crate) shown: Option<Rc<Shown>>,
    pub(crate) playing: bool,
    pub(crate) work: Option<Work>,
    pub(crate) trouble: Option<Trouble>,
}

/// What happens on the bench.
#[derive(Clone)]
pub(crate) enum Does {
    /// The reader sets a field.
    Set(String, String),
    /// The reader types into a field: it is asked once he pauses.
    Type(String, String),
    /// The reader gives a field the text of a file.
    Read(String, File),
    /// The pause is there.
    Ask,
    /// The answer takes its time.
    Slow,
    Working(Work),
    Answered(Rc<Shown>),
    Failed(Trouble),
    /// The time for one step of playing is over.
    Tick,
}

impl Bench {
    pub(crate) fn new(which: Instrument, set: Vec<(String, String)>) -> Self {
        let (answered, waiting, shown, playing, work, trouble) = Default::default();
        Self { which, set, answered, waiting, shown, playing, work, trouble }
    }

    /// What a field is to show: while an answer is on its way, what was asked.
    pub(crate) fn value<'a>(&'a self, field: &str, answered: &'a str) -> &'a str {
        let set = self.set.iter().filter(|_| self.waiting).find(|(name, _)| name == field);
        set.map_or(answered, |(_, value)| value)
    }

    /// How far the work is, if anybody waits for it: a message may come late.
    pub(crate) fn working(&mut self, work: Work) {
        if self.waiting {
            self.work = Some(work);
        }
    }

    /// Remembers what was set. Another question is about another clock.
    pub(crate) fn set(&mut self, id: &str, value: String) {
        self.set.retain(|(name, _)| name != id && name != AT);
        self.set.push((id.to_owned(), value));
        self.playing = false;
    }

    pub(crate) fn answered(&mut self, shown: Rc<Shown>) {
        (self.work, self.trouble, self.waiting) = (None, None, false);
        self.answered.clone_from(&self.set);
        self.playing &= shown.clock.as_ref().is_some_and(|clock| clock.now < clock.end);
        self.shown = Some(shown);
    }

    pub(crate) fn failed(&mut self, trouble: Trouble) {
        (self.work, self.playing, self.waiting) = (None, false, false);
        match trouble {
            // What was given up is not set either.
            Trouble::Cancelled => self.set.clone_from(&self.answered),
            trouble => self.trouble = Some(trouble),
        }
    }

    /// The instant that a command leads to, if it leads anywhere.
    pub(crate) fn instant(&self, command: Command) -> Option<u64> {
        let Stand { end, targets: [forward, back, next, last], .. } = self.clock()?;
        match command {
            Command::Forward | Command::ForwardEvent => Some(*forward),
            Command::Back | Command::BackEvent => Some(*back),
            Command::NextOfInterest => Some(*next),
            Command::LastOfInterest => Some(*last),
            Command::First => Some(0),
            Command::Last => Some(*end),
            _ => None,
        }
    }

    /// Where its clock stands, if it has one.
    pub(crate) fn clock(&self) -> Option<&Stand> {
        self.shown.as_ref()?.clock.as_ref()
    }
}
