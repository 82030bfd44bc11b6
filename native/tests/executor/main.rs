//! The executor on threads, against the run in program order.

mod chaos;
mod fold;
mod life;
mod ranks;
mod support;
mod xla;
