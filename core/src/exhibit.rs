//! What does the page show? Everything there is to see about one sequence of one program under
//! some runs, as plain data.
//!
//! An [`Exhibit`] is made where the engine is (`exhibit::build`: natively, at compile time of the
//! page, or in its Web Worker) and shown where the engine is not: the page's first load has neither
//! the simulator nor any reader of programs. What a page needs to say and draw comes from the
//! exhibit alone: [`why`] and [`scene()`]; [`link`] is its state in an address, [`protocol`] how it
//! talks with the worker. Both exhibits and messages have a binary form, which the page reads, and
//! one in JSON, for everybody else.

#[cfg(feature = "engine")]
mod build;
mod chapter;
mod check;
pub mod link;
mod packed;
pub mod protocol;
mod read;
pub mod scene;
#[cfg(feature = "engine")]
mod svg;
#[cfg(all(test, feature = "engine"))]
mod tests;
mod why;

#[cfg(feature = "engine")]
pub use build::{MAX_EVENTS, NODE, SPACING, build, build_in_slices};
pub use chapter::Chapter;
pub use scene::scene;
#[cfg(feature = "engine")]
pub use svg::svg;
pub use why::why;

use serde::{Deserialize, Serialize};

use crate::binary;
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::executor::Queue;
use crate::graph::cause::Reason;
use crate::graph::{EdgeKind, NodeId};
use crate::layout::Point;
use crate::trace::Log;

/// The format that is written, and the newest that is read. Schema of its JSON form:
/// `docs/exhibit.schema.json`. What the page loads has the same fields in postcard's binary form
/// ([`Exhibit::to_bytes`]): it is a third of the size, and its reader a tenth of one for JSON.
pub const FORMAT: &str = "thunkscope.exhibit/1";

/// One sequence of one program under some runs. What [`Exhibit::from_bytes`] accepts or
/// `exhibit::build` makes is consistent: every index in it is one of something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhibit {
    /// [`FORMAT`].
    pub format: String,
    /// The program.
    pub program: About,
    /// All its sequences in program order: the entry first, then depth-first.
    pub sequences: Vec<SequenceLine>,
    /// The one that is shown: an index into `sequences`.
    pub shown: u32,
    /// By node: the thunks of the shown sequence, in program order.
    pub thunks: Vec<ThunkLine>,
    /// The edges of its graph, by ascending source, then target.
    pub edges: Vec<EdgeLine>,
    /// Where things are drawn.
    pub picture: Picture,
    /// The runs, in the order in which they are shown. In each log the shown sequence is sequence
    /// [`SHOWN_IN_LOG`] of the header.
    pub runs: Vec<RunLine>,
    /// What there is to say about the shown sequence.
    pub verdict: VerdictLine,
    /// The position at which the page opens, on the clock of all runs together
    /// ([`Together`](crate::trace::Together)).
    pub opening: u32,
    /// The thunk that the inspector asks about first; 0 in an empty sequence.
    pub asked: NodeId,
}

/// The place of the shown sequence in the header of every log of an exhibit: the entry is run as
/// part of its program, any other sequence is run alone.
pub const SHOWN_IN_LOG: u32 = 0;

/// What the program is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// For people.
    pub name: String,
    /// Digest of everything that the rules look at.
    pub digest: Digest,
    /// The reader: `program`, `xla-executable`, `jax-cache`, `generated`.
    pub origin: String,
    /// The producer's release where the file tells it, else empty.
    pub release: String,
}

/// One sequence, for a list to pick from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceLine {
    /// Its path, such as `entry/4.body`.
    pub path: String,
    /// Number of thunks.
    pub thunks: u32,
    /// Its verdict in words: `sequential`, `concurrent but never split`, `concurrent`, `empty`.
    pub verdict: String,
    /// Thunks kept from running side by side: the more, the worse.
    pub held_back: u32,
}

/// One thunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThunkLine {
    /// The name of its kind.
    pub kind: String,
    /// Its operation's name; not unique.
    pub name: String,
    /// What the page calls it: the chapter's word for it, else its name.
    pub label: String,
    /// How many thunks depend on it, directly or through others.
    pub priority: u32,
    /// What it reads and writes, a line each; long lists are cut and say so.
    pub uses: Vec<String>,
    /// The sequences inside it: indices into [`Exhibit::sequences`].
    pub nested: Vec<u32>,
}

/// One edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(NodeId, NodeId, EdgeKind, Reason)", into = "(NodeId, NodeId, EdgeKind, Reason)")]
pub struct EdgeLine {
    /// The thunk that comes first.
    pub from: NodeId,
    /// The thunk that waits.
    pub to: NodeId,
    /// What of `from` it waits for: its start, or its completion.
    pub kind: EdgeKind,
    /// The first thing on which the two clash.
    pub reason: Reason,
}

impl From<(NodeId, NodeId, EdgeKind, Reason)> for EdgeLine {
    fn from((from, to, kind, reason): (NodeId, NodeId, EdgeKind, Reason)) -> Self {
        Self { from, to, kind, reason }
    }
}

impl From<EdgeLine> for (NodeId, NodeId, EdgeKind, Reason) {
    fn from(EdgeLine { from, to, kind, reason }: EdgeLine) -> Self {
        (from, to, kind, reason)
    }
}

/// Where things are drawn: what a [`Layout`](crate::layout::Layout) found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Pixels.
    pub width: i32,
    /// Pixels.
    pub height: i32,
    /// Width and height of every node, in pixels: even numbers.
    pub node: Point,
    /// By node: its centre.
    pub centres: Vec<Point>,
    /// By edge of [`Exhibit::edges`]: its way, as [`Route::points`](crate::layout::Route::points).
    pub routes: Vec<Vec<Point>>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLine {
    /// The class of its ready queues.
    pub queue: Queue,
    /// What happened. Its events are packed into one list of numbers.
    #[serde(with = "packed")]
    pub log: Log,
}

/// The verdict on the shown sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictLine {
    /// In words, as in [`SequenceLine::verdict`].
    pub name: String,
    /// In one sentence.
    pub headline: String,
    /// What stands behind it, a sentence each.
    pub findings: Vec<String>,
    /// What the user can do, a sentence each. May be empty.
    pub advice: Vec<String>,
}

impl Exhibit {
    /// Reads [`FORMAT`] in its binary form. Takes no more memory than a few times the bytes.
    ///
    /// # Errors
    /// `EX001` for bytes that are no exhibit or one of a newer format, `EX002` for parts that do
    /// not fit together.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Diagnostic> {
        let exhibit = read::read(bytes).ok_or_else(|| {
            Diagnostic::error("EX001", "$", format!("bytes in the format {FORMAT}"))
                .hint("this file is no saved exhibit, or one of a newer version")
        })?;
        exhibit.check()?;
        Ok(exhibit)
    }

    /// Writes [`FORMAT`] in its binary form.
    pub fn to_bytes(&self) -> Vec<u8> {
        binary::write(self)
    }

    /// Reads [`FORMAT`] in JSON.
    ///
    /// # Errors
    /// As [`Exhibit::from_bytes`].
    #[cfg(feature = "engine")]
    pub fn from_json(text: &[u8]) -> Result<Self, Diagnostic> {
        let exhibit: Self = serde_json::from_slice(text).map_err(|error| {
            Diagnostic::error("EX001", "$", format!("a text in the format {FORMAT}"))
                .found(error)
                .hint("this file is no saved exhibit, or one of a newer version")
        })?;
        exhibit.check()?;
        Ok(exhibit)
    }

    /// Writes [`FORMAT`] in JSON, on one line.
    #[cfg(feature = "engine")]
    pub fn to_json(&self) -> String {
        // Lists, structures and texts: serialising them cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The path of the shown sequence.
    pub fn path(&self) -> &str {
        self.sequences.get(self.shown as usize).map_or("entry", |line| &line.path)
    }

    /// The edges out of `node`, by ascending target.
    pub fn outgoing(&self, node: NodeId) -> &[EdgeLine] {
        let start = self.edges.partition_point(|edge| edge.from < node);
        let length = self.edges[start..].partition_point(|edge| edge.from == node);
        &self.edges[start..start + length]
    }

    /// The edges into `node`, by ascending source.
    pub fn incoming(&self, node: NodeId) -> impl Iterator<Item = &EdgeLine> {
        self.edges.iter().filter(move |edge| edge.to == node)
    }

    /// Thunks that nothing holds at first.
    pub fn sources(&self) -> usize {
        let mut source = vec![true; self.thunks.len()];
        self.edges.iter().for_each(|edge| source[edge.to as usize] = false);
        source.into_iter().filter(|&source| source).count()
    }

    /// Thunks that nothing waits for.
    pub fn sinks(&self) -> usize {
        let mut sink = vec![true; self.thunks.len()];
        self.edges.iter().for_each(|edge| sink[edge.from as usize] = false);
        sink.into_iter().filter(|&sink| sink).count()
    }
}
