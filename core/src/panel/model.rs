//! What an instrument shows, before it is drawn.

use crate::diagnostic::Diagnostic;
use crate::machine::Ticks;

/// What an instrument shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Panel {
    /// What can be asked, with what was asked.
    pub fields: Vec<Field>,
    /// In one sentence, for everybody; names are between backticks.
    pub headline: String,
    /// What is wrong with a field, or odd.
    pub told: Vec<Diagnostic>,
    /// The clock, if there is one.
    pub clock: Option<Clock>,
    /// What there is to see, in reading order.
    pub parts: Vec<Part>,
}

/// One thing that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in [`Fields`](super::Fields).
    pub id: String,
    /// For people.
    pub label: String,
    /// What it is for, in a sentence.
    pub hint: String,
    /// What it is now.
    pub value: String,
    /// How it is asked.
    pub kind: FieldKind,
}

/// How something is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A text of several lines.
    Text {
        /// Lines that are seen at first.
        rows: u32,
    },
    /// One of these: value and label.
    Choice(Vec<(String, String)>),
    /// The text of a file.
    File,
    /// A whole number.
    Number {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
}

/// The clock of a panel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// The instant that is shown.
    pub now: Ticks,
    /// The last one.
    pub end: Ticks,
    /// It counts steps, not nanoseconds.
    pub counts: bool,
    /// Where something happens, ascending: what a step goes to.
    pub steps: Vec<Ticks>,
    /// Those among them that deserve a look, ascending.
    pub marks: Vec<Ticks>,
}

/// One thing to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub title: String,
    /// What it says, in a sentence or more: the text twin of what is drawn, or a remark. May be empty.
    pub text: String,
    /// What is drawn.
    pub body: Body,
    /// Where it stands in a wide window.
    pub place: Place,
}

/// Where a part stands in a wide window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the middle, with the room it needs.
    Main,
    /// In the column to the right.
    Side,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing but the text.
    Text,
    /// Names and values.
    Facts(Vec<Fact>),
    /// Rows under headings.
    Table(Table),
    /// What happened on each lane, on the panel's clock.
    Lanes(Vec<Lane>),
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What.
    pub name: String,
    /// How much, or which.
    pub value: String,
    /// How it stands.
    pub mark: Mark,
}

/// Rows under headings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The headings.
    pub columns: Vec<String>,
    /// The rows, a cell for each heading. The first cell names the row.
    pub rows: Vec<Row>,
    /// Rows that are left out, because there are too many.
    pub more: u64,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it says. Names are between backticks.
    pub cells: Vec<String>,
    /// How it stands.
    pub mark: Mark,
}

/// How something stands: never said by the mark alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// As most.
    #[default]
    Plain,
    /// Left out, over, or not so.
    Off,
    /// Happening now.
    On,
    /// Stopped by a freeze.
    Frozen,
    /// Wrong, or lost.
    Bad,
}

impl Mark {
    /// Its name, as in a style sheet.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Off => "off",
            Self::On => "on",
            Self::Frozen => "frozen",
            Self::Bad => "bad",
        }
    }
}

/// One lane on the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// What happened on it, by start.
    pub spans: Vec<Span>,
}

/// Something that lasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub from: Ticks,
    /// Its end, no earlier.
    pub to: Ticks,
    /// What it was, in a word or two; shown where there is room.
    pub label: String,
    /// How it stands.
    pub mark: Mark,
}

/// Most rows of a table, and most spans of a lane: a page has to draw them.
pub const MOST: usize = 400;

impl Part {
    /// Rows under headings; those beyond [`MOST`] are counted.
    pub(crate) fn table<const N: usize>(
        title: &str,
        columns: [&str; N],
        rows: impl IntoIterator<Item = (Mark, [String; N])>,
    ) -> Self {
        let mut rows = rows.into_iter();
        let shown = rows.by_ref().take(MOST);
        let rows_shown = shown.map(|(mark, cells)| Row { cells: cells.into(), mark }).collect();
        let columns = columns.map(str::to_owned).into();
        let table = Table { columns, rows: rows_shown, more: rows.count() as u64 };
        Self::of(title, Body::Table(table))
    }

    /// Names and values.
    pub(crate) fn facts(title: &str, facts: impl IntoIterator<Item = (Mark, String, String)>) -> Self {
        let facts = facts.into_iter().map(|(mark, name, value)| Fact { name, value, mark });
        Self::of(title, Body::Facts(facts.collect()))
    }

    /// Something to see in the middle, without a remark.
    pub(crate) fn of(title: &str, body: Body) -> Self {
        Self { title: title.to_owned(), text: String::new(), body, place: Place::Main }
    }

    /// With a remark.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// In the column to the right.
    pub(crate) fn aside(mut self) -> Self {
        self.place = Place::Side;
        self
    }
}
