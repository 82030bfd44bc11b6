//! What does it mean? The sentences that people read, and the figures behind them.
//!
//! A [`Report`] holds one [`Card`] per sequence of a program, worst first: which rule made it
//! sequential and by how much, or where the parallelism goes, and what the user can do. [`why`]
//! says why one thunk stands where it stands at one instant of a run.

#[cfg(feature = "engine")]
mod card;
#[cfg(feature = "engine")]
mod json;
#[cfg(feature = "engine")]
mod lint;
#[cfg(feature = "engine")]
mod measure;
#[cfg(feature = "engine")]
mod report;
#[cfg(feature = "engine")]
mod verdict;
mod why;
pub(crate) mod words;
#[cfg(feature = "engine")]
mod xla_text;

#[cfg(all(test, feature = "engine"))]
mod tests;

pub(crate) use why::Place;
#[cfg(feature = "engine")]
pub use {
    card::{ASSUMED_TRIPS, Card},
    json::{FORMAT, document, to_json, to_text},
    measure::Measured,
    report::Report,
    verdict::Verdict,
    why::why,
    xla_text::to_xla_text,
};
