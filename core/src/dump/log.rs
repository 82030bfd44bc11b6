//! What the module says about itself: grades and keywords (seed 003, "Logging Specifications").

use std::fmt;

use super::value::named;
use serde::{Serialize, Serializer};

named! {
    /// How loud a line is.
    Grade {
        /// Per tensor.
        Debug = "DEBUG",
        /// Calls, changes of state, ops, the summary.
        Info = "INFO",
        /// A user's mistake, with the way to correct it; overflow found.
        Warning = "WARNING",
        /// A conflict between entries, something internal, damaged data.
        Error = "ERROR",
    }
}

/// In every line of the module.
pub const KEYWORD: &str = "[Dumper]";
/// In lines about an overflow.
pub const OVERFLOW_KEYWORD: &str = "[Overflow][Dumper]";
/// In the line that names an exception dump; tools look for it.
pub const EXCEPTION_KEYWORD: &str = "[Dump][Exception]";
/// In lines with the data of a failing op.
pub const AIC_KEYWORD: &str = "[AIC_INFO]";

/// Takes lines. Arguments are formatted by the taker: what nobody reads costs nothing, and a taker
/// with room of its own makes no allocation.
pub trait Journal {
    /// One line.
    fn line(&mut self, grade: Grade, text: fmt::Arguments<'_>);
}

/// Takes nothing.
impl Journal for () {
    fn line(&mut self, _: Grade, _: fmt::Arguments<'_>) {}
}

/// One line that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// How loud.
    pub grade: Grade,
    /// The text, keyword first.
    pub text: String,
}

impl Line {
    /// A line; the module's keyword is put in front.
    pub fn new(grade: Grade, text: impl fmt::Display) -> Self {
        Self { grade, text: format!("{KEYWORD} {text}") }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.grade, self.text)
    }
}

/// Keeps lines, at most [`MAX_LINES`]: a long run must not fill the memory with its log.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Those that were kept.
    pub lines: Vec<Line>,
    /// How many were not.
    pub dropped: u64,
}

/// Most lines that [`Lines`] keeps.
pub const MAX_LINES: usize = 100_000;

impl Journal for Lines {
    fn line(&mut self, grade: Grade, text: fmt::Arguments<'_>) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(Line { grade, text: text.to_string() });
        } else {
            self.dropped += 1;
        }
    }
}

impl<J: Journal + ?Sized> Journal for &mut J {
    fn line(&mut self, grade: Grade, text: fmt::Arguments<'_>) {
        (**self).line(grade, text);
    }
}

/// Keeps lines in room that was taken beforehand: for lanes, which must not allocate. What does not
/// fit is cut or counted.
#[derive(Clone, Debug)]
pub struct Room {
    text: String,
    /// Per line: how loud, and where it ends.
    ends: Vec<(Grade, usize)>,
    least: Grade,
    dropped: u64,
}

impl Room {
    /// Room for `bytes` of text in at most `lines` lines that are at least that loud.
    pub fn new(bytes: usize, lines: usize, least: Grade) -> Self {
        Self { text: String::with_capacity(bytes), ends: Vec::with_capacity(lines), least, dropped: 0 }
    }

    /// Moves the lines elsewhere; the room stays.
    pub fn move_to(&mut self, lines: &mut impl Journal) {
        let mut start = 0;
        for (grade, end) in self.ends.drain(..) {
            lines.line(grade, format_args!("{}", &self.text[start..end]));
            start = end;
        }
        self.text.clear();
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            lines.line(Grade::Warning, format_args!("{KEYWORD} {dropped} lines of the log had no room"));
        }
    }
}

impl fmt::Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut fits = text.len().min(self.text.capacity() - self.text.len());
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.text.push_str(&text[..fits]);
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Journal for Room {
    fn line(&mut self, grade: Grade, text: fmt::Arguments<'_>) {
        if grade < self.least {
            return;
        }
        if self.ends.len() == self.ends.capacity() || self.text.len() == self.text.capacity() {
            self.dropped += 1;
            return;
        }
        // A line that is longer than the room is cut.
        let _ = fmt::Write::write_fmt(self, text);
        self.ends.push((grade, self.text.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_cuts_counts_and_never_grows() {
        let mut room = Room::new(12, 3, Grade::Warning);
        let before = (room.text.as_ptr(), room.text.capacity());
        for line in ["one", "quieter", "größer", "x", "y"] {
            let grade = if line == "quieter" { Grade::Info } else { Grade::Error };
            room.line(grade, format_args!("{line}{}", ""));
        }
        room.line(Grade::Error, format_args!("z"));
        assert_eq!((room.text.as_ptr(), room.text.capacity()), before);
        let mut lines = Lines::default();
        room.move_to(&mut lines);
        let texts: Vec<&str> = lines.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["one", "größer", "x", "[Dumper] 2 lines of the log had no room"]);
        room.line(Grade::Error, format_args!("ööööööö"));
        let mut lines = Lines::default();
        room.move_to(&mut lines);
        assert_eq!(lines.lines[0].text, "öööööö", "cut between characters");
    }
}
