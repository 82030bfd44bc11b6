//! A panel as the page gets it: elements of a few kinds, so that the page can draw any panel without
//! knowing one. Names of elements and attributes are numbers from two fixed lists, text is text: what
//! a panel says can do nothing to the page but be read.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::machine::Ticks;

/// The elements that there are, by number.
pub const TAGS: [&str; 26] = [
    "div", "section", "h3", "p", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "code",
    "label", "input", "textarea", "select", "option", "svg", "rect", "line", "text", "title", "span", "b",
];

/// The attributes that there are, by number.
pub const ATTRIBUTES: [&str; 30] = [
    "class",
    "id",
    "for",
    "type",
    "min",
    "max",
    "rows",
    "value",
    "data-value",
    "aria-label",
    "aria-describedby",
    "aria-hidden",
    "role",
    "tabindex",
    "scope",
    "x",
    "y",
    "width",
    "height",
    "x1",
    "x2",
    "y1",
    "y2",
    "rx",
    "text-anchor",
    "spellcheck",
    "autocapitalize",
    "aria-valuetext",
    "step",
    "aria-live",
];

/// One element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// Into [`TAGS`].
    pub tag: u8,
    /// The name of the [`Field`](super::Field) that it sets, else empty.
    pub field: String,
    /// Into [`ATTRIBUTES`], with the value.
    pub attributes: Vec<(u8, String)>,
    /// Comes before the children.
    pub text: String,
    /// Inside of it.
    pub children: Vec<Element>,
}

/// All that the page gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// What can be asked; one element for each field, in an order that may change.
    pub fields: Vec<Element>,
    /// What there is to see: in the middle, and in the column to the right.
    pub parts: [Vec<Element>; 2],
    /// Where the clock stands, if there is one.
    pub clock: Option<Stand>,
}

/// Where a clock stands, and where it can go from there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stand {
    /// The instant that is shown.
    pub now: Ticks,
    /// The last one.
    pub end: Ticks,
    /// Both in words.
    pub words: String,
    /// A step forward and back, and the next and the last mark.
    pub targets: [Ticks; 4],
    /// The slider.
    pub slider: Element,
}

impl Shown {
    /// Writes it as the worker sends it.
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::binary::write(self)
    }

    /// Reads what [`Shown::to_bytes`] wrote.
    ///
    /// # Errors
    /// `EX005` for bytes that are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Diagnostic> {
        crate::binary::read(bytes)
            .map_err(|error| Diagnostic::error("EX005", "message", "a panel").found(error))
    }
}
