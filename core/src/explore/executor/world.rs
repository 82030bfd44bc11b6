//! The state of a search: what all ranks' threads are in the middle of.

use super::compiled::Nodes;
use super::scenario::MAX_THUNKS;
use crate::executor::{Continuation, ReadyQueue};
use crate::explore::Row;
use crate::explore::memory::Shared;
use crate::graph::NodeId;
use crate::machine::Answer;

/// A list of thunks.
pub(super) type Ready = Row<u8, { MAX_THUNKS as usize }>;

/// Everything that a step can depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World<M: Shared> {
    pub(super) ranks: Vec<Rank<M>>,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rank<M: Shared> {
    /// The words of the run's state, of the session, and of each thunk's event.
    pub(super) memory: M,
    pub(super) started: Nodes,
    /// Skipped thunks included.
    pub(super) completed: Nodes,
    /// Completed with an error, or skipped.
    pub(super) failed: Nodes,
    /// The run's event has fired.
    pub(super) over: bool,
    /// Places taken with `try_join` and not given back.
    pub(super) tried: u8,
    /// The caller, then the pool.
    pub(super) threads: Vec<Thread>,
    /// Posted tasks and continuations that nobody has taken.
    pub(super) items: Vec<Item<M::View>>,
    /// Continuations that wait for their events.
    pub(super) attached: Vec<(Continuation, Place)>,
    /// Pending thunks whose completion has begun, with what its accesses gave so far.
    pub(super) completing: Vec<(u8, Answers)>,
    /// Collectives in the order of their starts.
    pub(super) calls: Vec<u8>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Thread {
    pub(super) doing: Doing,
    pub(super) place: Place,
    /// Its ready queue in the order of popping, as it was when the call began. The order is all
    /// there is to a queue: one that is filled from it behaves the same.
    pub(super) ready: Ready,
    /// It goes by being the only worker of the run, as it was when the call began.
    pub(super) alone: bool,
    /// What the call's accesses gave so far.
    pub(super) answers: Answers,
}

/// A place in the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    #[default]
    None,
    /// Taken regardless of the cap.
    Joined,
    /// Taken under the cap.
    Tried,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Doing {
    /// Nothing: waits in the pool, or has left for good.
    #[default]
    Idle,
    Call(Call),
    /// Leaves the continuation at the event.
    Attach(Continuation),
    /// Is about to join the session for the continuation that it took.
    Join(Continuation),
    /// Is about to leave the session.
    Leave,
}

/// A call of the worker that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Call {
    Begin,
    /// Until its first access the thunk is running.
    Finish(NodeId),
    /// The run is aborted: the thunk does not run.
    Skip(NodeId),
    Suspend(NodeId),
    Resume(Continuation),
}

/// Something for an idle thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Item<V> {
    pub(super) work: Work,
    pub(super) place: Place,
    /// What whoever left it here had seen.
    pub(super) view: V,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Work {
    Task(Ready),
    Resume(Continuation),
}

/// The answers of a call, a byte each.
pub(super) type Answers = Row<u8, 24>;

const REFUSED: u8 = 0x80;
/// Answers from −8 up have room beside the mark.
const BELOW: u32 = 8;

pub(super) fn pack(answer: Answer) -> u8 {
    let value = answer.value.wrapping_add(BELOW);
    assert!(value < u32::from(REFUSED), "{answer:?} does not fit");
    value as u8 | if answer.refused { REFUSED } else { 0 }
}

fn unpack(byte: u8) -> Answer {
    let value = u32::from(byte & !REFUSED).wrapping_sub(BELOW);
    Answer { value, refused: byte & REFUSED != 0 }
}

/// All answers of a call.
pub(super) fn past(answers: &Answers) -> [Answer; 24] {
    let mut past = [Answer::default(); 24];
    for (answer, &byte) in past.iter_mut().zip(answers.iter()) {
        *answer = unpack(byte);
    }
    past
}

/// A queue that pops in the given order.
pub(super) fn queue<Q: ReadyQueue>(ready: &Ready, priorities: &[u32]) -> Q {
    let mut queue = Q::default();
    let class = queue.class();
    let mut push = |&node: &u8| queue.push(node.into(), || priorities[usize::from(node)]);
    match class {
        crate::executor::Queue::Lifo => ready.iter().rev().for_each(&mut push),
        _ => ready.iter().for_each(&mut push),
    }
    queue
}

/// The content of a queue.
pub(super) fn ready<Q: ReadyQueue>(queue: &Q) -> Ready {
    Row::of(queue.in_pop_order().into_iter().map(|node| node as u8))
}
