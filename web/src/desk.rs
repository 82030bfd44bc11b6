//! What lies on the Lab's desk: programs, how the chosen one is run, and what is being worked on.

use std::rc::Rc;

use thunkscope_core::diagnostic::Diagnostic;

use crate::engine::Trouble;
use crate::lab::{Program, Setting, Work};
use crate::model::Fixed;

pub(crate) struct Desk {
    /// All programs, the page's own first.
    pub(crate) programs: Vec<Fixed<Program>>,
    /// The one that is shown.
    pub(crate) chosen: Fixed<Program>,
    /// How it is run.
    pub(crate) setting: Setting,
    /// What is being worked on.
    pub(crate) work: Option<Work>,
    /// Why the last job came to nothing.
    pub(crate) trouble: Option<Failed>,
    /// What the reader should know about what is shown.
    pub(crate) note: Option<Note>,
}

/// A job that came to nothing.
pub(crate) struct Failed {
    pub(crate) program: Fixed<Program>,
    pub(crate) trouble: Trouble,
}

/// Something to know about what is shown.
#[derive(Clone)]
pub(crate) enum Note {
    Told(Diagnostic),
    Words(String),
}

/// What happens on the desk.
#[derive(Clone)]
pub(crate) enum Turn {
    Working(Work),
    /// The scene is there.
    Made(Fixed<Program>, Setting),
    /// Nothing more to do.
    Idle,
    Failed(Fixed<Program>, Trouble),
    Note(Option<Note>),
}

impl Desk {
    pub(crate) fn new(program: Program) -> Self {
        let program = Fixed(Rc::new(program));
        Self {
            programs: vec![program.clone()],
            chosen: program,
            setting: Setting::default(),
            work: None,
            trouble: None,
            note: None,
        }
    }

    /// Takes note of it.
    pub(crate) fn take(&mut self, turn: Turn) {
        match turn {
            Turn::Working(work) => (self.work, self.trouble) = (Some(work), None),
            Turn::Made(program, setting) => {
                (self.work, self.trouble) = (None, None);
                if !self.programs.contains(&program) {
                    self.programs.push(program.clone());
                }
                (self.chosen, self.setting) = (program, setting);
            }
            Turn::Idle => self.work = None,
            Turn::Failed(_, Trouble::Cancelled) => self.work = None,
            Turn::Failed(program, trouble) => {
                self.work = None;
                self.trouble = Some(Failed { program, trouble });
            }
            Turn::Note(note) => self.note = note,
        }
    }
}
