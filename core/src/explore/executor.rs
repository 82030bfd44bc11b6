//! The thunk executor as a model: the shipped worker loop on several threads, ranks and events.
//!
//! What is explored is the code of [`crate::executor`], one access to shared memory a step; what is
//! added here is only what a driver decides. A step is
//!
//! * a thread's next access inside [`Worker::begin`](crate::executor::Worker::begin), `finish`,
//!   `suspend` or `resume`, or when it joins or leaves the session, or attaches a continuation;
//! * an idle thread taking any posted task or continuation, with its first access;
//! * a pending thunk completing, at any time after it has started.
//!
//! A thunk that completes before it returns does so with the first access after it: nobody can tell
//! the difference, since only accesses carry news. A posted task joins the pool in the step of the
//! access before it; that it may be taken late is a choice of the taker.

mod compiled;
mod fault;
mod model;
mod property;
mod scenario;
mod standard;
mod step;
mod weakened;
mod world;

#[cfg(test)]
mod tests;

pub use fault::{Fault, Ordered, Side};
pub use property::Property;
pub use scenario::{MAX_THREADS, MAX_THUNKS, Scenario};
pub use standard::{Standard, small_graphs, standard};

use self::compiled::Compiled;
use self::model::Executor;
use super::check::Searching;
use super::memory::{Order, Views, Words};
use super::{Limits, Search};
use crate::diagnostic::Diagnostic;
use crate::executor::{Fifo, Lifo, Priority, Queue, ReadyQueue};

/// The search of a scenario.
///
/// # Errors
/// `CK001` to `CK004`, and those of the graph.
pub(super) fn search(scenario: &Scenario, limits: Limits) -> Result<Box<dyn Searching>, Diagnostic> {
    fn of<Q: ReadyQueue + 'static>(compiled: Compiled, order: Order, limits: Limits) -> Box<dyn Searching> {
        match order {
            Order::Sc => Box::new(Search::new(Executor::<Q, Words>::new(compiled), limits)),
            Order::Ra => Box::new(Search::new(Executor::<Q, Views>::new(compiled), limits)),
        }
    }
    let compiled = Compiled::new(scenario)?;
    let of = match scenario.queue {
        Queue::Fifo => of::<Fifo>,
        Queue::Lifo => of::<Lifo>,
        Queue::Priority => of::<Priority>,
    };
    Ok(of(compiled, scenario.memory, limits))
}
