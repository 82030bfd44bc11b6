//! Who is doing anything at all: how a run that will never end is noticed at once.

use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Executors that may complete each other's thunks, such as the ranks of a collective program.
///
/// It counts everything that can still move something: threads at work, posted items, work for
/// completion threads, completers in foreign hands. At zero nothing will ever happen again.
#[derive(Default)]
pub struct World {
    /// What is active, and above [`RUN`] the runs that somebody waits for.
    active: AtomicUsize,
    stalled: AtomicBool,
    members: Mutex<Vec<Weak<dyn Member>>>,
    hooks: Mutex<Vec<Hook>>,
}

/// One run, in the upper half of the count.
const RUN: usize = 1 << (usize::BITS / 2);

type Hook = Arc<dyn Fn() -> bool + Send + Sync>;

/// Somebody who waits for a run.
pub(super) trait Member: Send + Sync {
    /// Nothing will ever happen again.
    fn wake(&self);
}

impl World {
    /// A world without executors.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// `hook` is asked when nothing moves any more. It may fail thunks that wait for each other,
    /// and answers whether it did.
    pub fn on_quiet(&self, hook: impl Fn() -> bool + Send + Sync + 'static) {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(hook));
    }

    pub(super) fn join(&self, member: Weak<dyn Member>) {
        self.members.lock().unwrap_or_else(PoisonError::into_inner).push(member);
    }

    /// One more thing moves.
    pub(crate) fn activate(&self) {
        self.active.fetch_add(1, AcqRel);
    }

    /// It moves no longer.
    pub(crate) fn deactivate(&self) {
        if self.active.fetch_sub(1, AcqRel) % RUN == 1 {
            self.quiet();
        }
    }

    /// A run begins; whoever waits for it counts as active.
    pub(super) fn enter_run(&self) {
        self.active.fetch_add(RUN + 1, AcqRel);
    }

    /// It is over. With the last one there is nobody left who could wait in vain, so nothing needs
    /// to be noticed, and no thread that sleeps is woken.
    pub(super) fn leave_run(&self) {
        let before = self.active.fetch_sub(RUN + 1, AcqRel);
        if before % RUN == 1 && before / RUN > 1 {
            self.quiet();
        }
    }

    /// Nothing moved any more, and nobody could change that. Reset by the next run.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled.load(Acquire)
    }

    pub(super) fn reset(&self) {
        self.stalled.store(false, Release);
    }

    fn quiet(&self) {
        // Nothing is active, so nothing races with this but a new run, which starts with a reset.
        // Not under the lock: what a hook sets going may be over, and all quiet again, before it returns.
        let hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !hooks.iter().any(|hook| hook()) {
            self.stalled.store(true, Release);
            for member in &*self.members.lock().unwrap_or_else(PoisonError::into_inner) {
                if let Some(member) = member.upgrade() {
                    member.wake();
                }
            }
        }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let active = self.active.load(Acquire);
        write!(f, "World {{ active: {}, runs: {} }}", active % RUN, active / RUN)
    }
}
