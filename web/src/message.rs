//! What happens to the page.

use thunkscope_core::sim::{self, FaultKind};
use web_sys::{Element, File};

use crate::command::Command;
use crate::desk::Turn;
use crate::instrument::{Does, Instrument};
use crate::search::Find;
use crate::state::Move;
use crate::view::Shows;

/// Everything that can happen: from the reader, from a clock, from the engine.
#[derive(Clone)]
pub(crate) enum Msg {
    /// The reader asks for something, by key, button or name.
    Command(Command),
    /// The reader is somewhere else.
    Move(Move),
    /// Something on the Lab's desk has changed.
    Turn(Turn),
    /// The address leads elsewhere.
    Address,
    /// Time for the rest of the stage.
    Rest,
    /// The reader has stood still for a while.
    Settled,
    /// A short message, gone by itself.
    Said(Option<&'static str>),
    /// What is painted has to be painted again.
    Repaint,
    /// In the palette.
    Find(Find),
    /// The event log was unfolded, folded or scrolled.
    Log(Shows),
    /// On a picture that zooms.
    Gesture(Gesture),
    /// A file of the reader's.
    Open(File),
    /// Another program of the list.
    Choose(usize),
    /// Another sequence of the program, by its place in the exhibit.
    Sequence(usize),
    /// The same file, read with less care.
    Leniently,
    /// An option of the run becomes this.
    Set(fn(&mut sim::Options, u64), u64),
    /// What goes wrong with the selected thunk.
    Fault(Option<FaultKind>),
    /// A fault of the list goes.
    Mend(usize),
    /// Nobody waits for the job any more.
    Cancel,
    /// Another instrument; none: the executor.
    Instrument(Option<Instrument>),
    /// On the instrument that is open.
    Bench(Does),
}

/// What wheel and pointer do on a picture. Coordinates are the window's, in CSS pixels.
#[derive(Clone)]
pub(crate) enum Gesture {
    Click(Element, (i32, i32)),
    /// Closer or further away, by eighths.
    Wheel(Element, (i32, i32), i32),
    Press((i32, i32)),
    /// The pointer of this id was moved to the first, by the second.
    Drag(Element, i32, (i32, i32), (i32, i32)),
}
