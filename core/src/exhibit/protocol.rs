//! What the page and its Web Worker say to each other: plain data in postcard's format, since the
//! page reads no JSON. Both come from one build; pages of others call the functions of the
//! JavaScript API, in a worker of their own where programs are large.
//!
//! A message is an object `{ message, bytes }`. `message` is a `Uint8Array`: a [`Request`] or
//! [`Response`]. `bytes` is a `Uint8Array` that is handed over
//! without a copy: the file of [`What::Open`], the exhibit of [`Answer::Exhibit`], a panel. Once its module
//! has started the worker says `{ ready: true }`, and `{ stopped }`, a text for a bug report, when
//! the module has failed (out of memory, or a mistake of ours): nothing more comes from it then.
//!
//! Requests are worked on one after the other, in slices; each gets any number of
//! [`Answer::Progress`] and then one other answer.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::VerdictLine;
use crate::binary;
use crate::diagnostic::Diagnostic;
use crate::digest::Digest;
use crate::program::SequencePath;
use crate::sim;

/// Something that the page wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the page; comes back with every answer. Not 0.
    pub id: u32,
    /// What is wanted.
    pub what: What,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Read the file in the message's bytes and keep its program: [`Answer::Opened`].
    Open {
        /// The file's name.
        name: String,
        /// Take thunks of kinds that are not known to clash with everything, instead of refusing
        /// the file.
        lenient: bool,
    },
    /// The exhibit of one sequence: [`Answer::Exhibit`].
    Exhibit {
        /// The program.
        handle: Handle,
        /// The sequence.
        path: SequencePath,
        /// One run for each.
        runs: Vec<sim::Options>,
        /// What the page calls the thunks, by node; may be shorter than their number.
        labels: Vec<String>,
    },
    /// The program in the format `thunkscope.program/1`: [`Answer::Program`].
    Program {
        /// The program.
        handle: Handle,
    },
    /// What an instrument says: [`Answer::Panel`].
    Instrument {
        /// Its name.
        id: String,
        /// What is asked of it: names and texts of [`panel`](crate::panel) fields.
        fields: Vec<(String, String)>,
    },
    /// Give up another request: it is answered by [`Answer::Cancelled`], unless its answer is
    /// already on its way. This request itself has no answer.
    Cancel {
        /// The other request.
        request: u32,
    },
    /// Forget a program. No answer.
    Close {
        /// The program.
        handle: Handle,
    },
}

/// A program that the worker keeps.
pub type Handle = u32;

/// Something that the worker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The request's; 0 where a message could not be read.
    pub id: u32,
    /// What.
    pub answer: Answer,
}

/// What the worker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Work goes on.
    Progress {
        /// Units of work done.
        done: u64,
        /// Units in all; an estimate.
        total: u64,
    },
    /// A program was read.
    Opened(Opened),
    /// The exhibit is in the message's bytes.
    Exhibit,
    /// The program is in the message's bytes.
    Program,
    /// The [`Panel`](crate::panel::Panel) is in the message's bytes.
    Panel,
    /// The request was given up.
    Cancelled,
    /// The request could not be answered.
    Error(Diagnostic),
}

/// A program that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// For later requests.
    pub handle: Handle,
    /// The program's name.
    pub name: String,
    /// Its digest.
    pub digest: Digest,
    /// The reader, as in [`About`](super::About).
    pub origin: String,
    /// A card per sequence, worst first.
    pub cards: Vec<CardLine>,
    /// Findings about the program as a whole.
    pub notes: Vec<String>,
    /// What was odd in the file.
    pub warnings: Vec<Diagnostic>,
}

/// What there is to say about one sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardLine {
    /// Its path.
    pub path: String,
    /// Number of thunks.
    pub thunks: u32,
    /// Thunks kept from running side by side.
    pub held_back: u32,
    /// The verdict.
    pub verdict: VerdictLine,
}

/// Messages as bytes.
macro_rules! messages {
    ($($type:ty),*) => {$(
        impl $type {
            /// In postcard's format.
            pub fn to_bytes(&self) -> Vec<u8> {
                binary::write(self)
            }

            /// From what [`to_bytes`](Self::to_bytes) wrote.
            ///
            /// # Errors
            /// `EX005` for bytes that are no such message.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self, Diagnostic> {
                binary::read(bytes).map_err(|error| no_message(stringify!($type), &error))
            }
        }
    )*};
}

messages!(Request, Response);

fn no_message(kind: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("EX005", "message", format!("a {kind}")).found(error)
}
