//! Long jobs made of other long jobs: work in slices, with a pause after each.
//!
//! Such a job is an `async fn` with a `pause` that it awaits; it awaits nothing else. So the caller
//! decides: let others work, show how far it is, end it with an error, or nothing at all.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::diagnostic::Diagnostic;
use crate::machine::Job;

/// A job, or a pause of it, of whatever kind: compiled once and not once per caller. The box costs
/// nothing beside a slice of milliseconds.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, Diagnostic>> + 'a>>;

/// A pause of any caller.
pub(crate) trait Pause {
    /// Told how far the work is; an error ends it.
    fn pause(&mut self, job: Job) -> Boxed<'_, ()>;
}

impl<P: AsyncFnMut(Job) -> Result<(), Diagnostic>> Pause for P {
    fn pause(&mut self, job: Job) -> Boxed<'_, ()> {
        Box::pin(self(job))
    }
}

/// Runs a job whose pauses do not wait.
pub(crate) fn run_through<T>(job: impl Future<Output = T>) -> T {
    let mut job = pin!(job);
    loop {
        if let Poll::Ready(result) = job.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}
