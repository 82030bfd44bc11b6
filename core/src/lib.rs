//! Every rule and every state machine of Thunkscope.
//!
//! Nothing here waits, reads a clock, starts a thread, opens a file or looks at the environment:
//! time, memory and randomness are arguments. Three drivers run this code — the simulator
//! ([`sim`]), native threads (crate `thunkscope`) and the explorer (`explore`) — and the page draws
//! what they log.
//!
//! The modules are rooms with one question each; an arrow only points to an earlier line:
//!
//! | module | question |
//! | --- | --- |
//! | [`program`] | what is there to run? |
//! | [`graph`] | what may run when? |
//! | [`executor`] | what runs next? |
//! | `dump` (a feature) | what gets recorded? |
//! | `dfx` (a feature) | how do records leave without loss? |
//! | [`trace`] | what happened? |
//! | [`layout`] | where do I draw it? |
//! | [`sim`] | what if? |
//! | `explore` (a feature) | can it ever go wrong? |
//! | `import` (a feature) | where do programs come from? |
//! | [`explain`] | what does it mean? |
//! | [`exhibit`] | what does the page show of a program? |
//! | [`panel`] | what do the other instruments of the Lab show? |
//!
//! Shared by all: [`diagnostic`] (what users get told), [`machine`] (memory, waiting, ticks),
//! [`digest`] and [`rng`] (determinism).
#![forbid(unsafe_code)]

mod binary;
#[cfg(feature = "dfx")]
pub mod dfx;
pub mod diagnostic;
pub mod digest;
#[cfg(feature = "dump")]
pub mod dump;
pub mod executor;
pub mod exhibit;
pub mod explain;
#[cfg(feature = "explore")]
pub mod explore;
pub mod graph;
#[cfg(feature = "import")]
pub mod import;
pub mod layout;
pub mod machine;
mod nearest;
mod number;
pub mod panel;
pub mod program;
pub mod rng;
pub mod sim;
#[cfg(feature = "engine")]
mod slices;
pub mod trace;
