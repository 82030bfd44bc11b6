//! What a driver asks of the thunks, and what a thunk may ask of its driver.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thunkscope_core::graph::NodeId;

/// The thunks of a program: what each does when its turn comes.
///
/// `plan` is the place of a sequence in `Program::sequences`, 0 for the entry. Control-flow thunks
/// are run by the executor itself.
pub trait Thunks: Send + Sync + 'static {
    /// What the driver must know before it runs anything. Asked once, when the executor is built.
    fn flags(&self, plan: usize, node: NodeId) -> Flags;

    /// What people call a thunk.
    fn name(&self, plan: usize, node: NodeId) -> String {
        format!("{plan}/{node}")
    }

    /// Runs a thunk. May panic: then the thunk has failed.
    fn run(&self, call: &Call<'_>) -> Ran;

    /// Whether a float kernel overflowed on `lane` since this was asked last.
    fn take_overflow(&self, lane: u16) -> bool {
        let _ = lane;
        false
    }

    /// Does the work of a thunk that had answered [`Ran::Later`], on a completion thread.
    ///
    /// # Errors
    /// When the thunk fails.
    fn run_later(&self, call: &Call<'_>) -> Result<(), Error> {
        let _ = call;
        Ok(())
    }

    /// A control-flow thunk is over; what was inside went well.
    ///
    /// # Errors
    /// When the thunk fails all the same.
    fn leave(&self, call: &Call<'_>) -> Result<(), Error> {
        let _ = call;
        Ok(())
    }
}

/// What a driver must know about a thunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Running it may block the thread.
    pub may_block: bool,
    /// It may answer something else than [`Ran::Done`].
    pub may_pend: bool,
    /// It completes on a thread that must not go on with the run: its continuation is handed back.
    pub foreign: bool,
}

/// What became of a thunk that was run.
#[derive(Debug)]
pub enum Ran {
    /// It has completed.
    Done(Result<(), Error>),
    /// It has returned; the [`Completer`] that it took will complete it. A thunk that took none
    /// never completes.
    Pending,
    /// It has returned; after this time a completion thread calls [`Thunks::run_later`].
    Later(Duration),
}

/// Why a thunk failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// One call of a thunk.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Which sequence.
    pub plan: usize,
    /// Which thunk of it.
    pub node: NodeId,
    /// Which lane runs it.
    pub lane: u16,
    pub(super) driver: &'a dyn Driver,
}

impl Call<'_> {
    /// A handle that completes this thunk, for a thunk that answers [`Ran::Pending`]. While it
    /// exists, the run is taken to go on; dropping it fails the thunk. Take at most one.
    pub fn completer(&self) -> Completer {
        Completer {
            target: Some(self.driver.target(self.plan, self.node)),
            plan: self.plan as u32,
            node: self.node,
            active: true,
        }
    }

    /// Whether the run has been cancelled: a long kernel may end early.
    pub fn is_cancelled(&self) -> bool {
        self.driver.is_cancelled()
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call {{ plan: {}, node: {}, lane: {} }}", self.plan, self.node, self.lane)
    }
}

/// What a call can reach of its driver.
pub(super) trait Driver: Sync {
    /// The driver as something that outlives the call; the thunk counts as active from now on.
    fn target(&self, plan: usize, node: NodeId) -> Arc<dyn Target>;
    fn is_cancelled(&self) -> bool;
}

/// Where completions go.
pub(super) trait Target: Send + Sync {
    /// The thunk has completed; it was active.
    fn complete(&self, plan: usize, node: NodeId, result: Result<(), Error>);
    /// Counts the thunk as active, or no longer.
    fn set_active(&self, active: bool);
}

/// Completes one pending thunk, from any thread.
pub struct Completer {
    target: Option<Arc<dyn Target>>,
    plan: u32,
    node: NodeId,
    active: bool,
}

impl Completer {
    /// The thunk has completed. Its continuation runs here if this is a completion thread of the
    /// executor, else it is handed back to the executor's own threads.
    pub fn complete(mut self, result: Result<(), Error>) {
        self.finish(result);
    }

    /// Nobody is at work on this thunk: it waits for others. If everything waits, the run has
    /// stalled, and [`World::on_quiet`](super::World::on_quiet) is asked what to do.
    pub fn rest(&mut self) {
        if std::mem::take(&mut self.active)
            && let Some(target) = &self.target
        {
            target.set_active(false);
        }
    }

    fn finish(&mut self, result: Result<(), Error>) {
        if let Some(target) = self.target.take() {
            if !std::mem::replace(&mut self.active, true) {
                target.set_active(true);
            }
            target.complete(self.plan as usize, self.node, result);
        }
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.finish(Err(Error("was given up: its completer was dropped".to_owned())));
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Completer {{ plan: {}, node: {} }}", self.plan, self.node)
    }
}
