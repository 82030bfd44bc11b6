//! What does an instrument say? One form for everything in the Lab that is no execution graph: the
//! dump configuration, a backpressure run, a search of the explorer.
//!
//! An instrument is a pure function from the texts of its fields to a [`Panel`]: tables, lanes on a
//! clock, findings. The page knows how to draw a panel and nothing of what is in it; the functions
//! are in the modules below, each where its feature is, and run in the worker. Time is a field like
//! any other ([`AT`]): a panel shows one instant. The page gets it as elements ([`shown`]).

#[cfg(feature = "dfx")]
mod backpressure;
#[cfg(feature = "engine")]
mod draw;
#[cfg(feature = "dump")]
mod dump;
#[cfg(feature = "explore")]
mod explorer;
#[cfg(feature = "engine")]
mod fields;
#[cfg(feature = "engine")]
mod log;
#[cfg(feature = "engine")]
mod model;
pub mod shown;
#[cfg(feature = "engine")]
mod words;

#[cfg(feature = "dfx")]
pub use backpressure::{Made, SCENARIOS, backpressure};
#[cfg(feature = "dump")]
pub use dump::dump;
#[cfg(feature = "explore")]
pub use explorer::{Search, explorer};
#[cfg(feature = "engine")]
pub use fields::Fields;
#[cfg(feature = "engine")]
pub use log::{Opened, log};
#[cfg(feature = "engine")]
pub use model::{
    Body, Clock, Fact, Field, FieldKind, Lane, MOST, Mark, Panel, Part, Place, Row, Span, Table,
};

/// The field that says which instant is shown, in ticks. Without it: the panel's own choice.
pub const AT: &str = "at";
