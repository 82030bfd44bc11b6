//! One step of one rank.

use std::cell::{Cell, RefCell};

use super::compiled::{Compiled, Nodes, bit, each};
use super::weakened::{Region, Weakened};
use super::world::{Answers, Call, Doing, Item, Place, Rank, Ready, Thread, Work, pack, past, queue, ready};
use super::{Ordered, Property};
use crate::executor::{
    Attached, Begin, Completed, Continuation, Event, Failure, Happening, Observer, ReadyQueue, Role, Run,
    Runner, Session, State, Task, Worker,
};
use crate::explore::memory::Shared;
use crate::explore::{Broken, Narrator};
use crate::graph::NodeId;
use crate::machine::{Access, Answer, Fine, LocalMemory, Memory, Moment, Operation, Part, Word};
use crate::trace::{Actor, Entry, EventKind};

/// A step in the making: who takes it, in which rank, and who is told.
pub(super) struct Step<'s, M: Shared, N> {
    pub(super) compiled: &'s Compiled,
    pub(super) rank: &'s mut Rank<M>,
    /// Number of the rank: its run in a log, and its list of tasks.
    pub(super) number: u8,
    pub(super) narrator: &'s mut N,
    /// A collective that has started.
    pub(super) called: Option<NodeId>,
    /// See [`Taken`](crate::explore::Taken).
    pub(super) alone: bool,
}

/// What a call did beside its access, in its order.
enum Effect {
    Happening(Happening),
    /// The task's nodes, the place that it holds, the nodes that were kept.
    Post(Ready, Place, u32),
}

struct Effects<'f, 'a, M> {
    fine: &'f Fine<'a, M>,
    /// Of this step alone.
    list: RefCell<Vec<Effect>>,
    /// Nodes that the last split kept, in whichever step it was.
    kept: Cell<u32>,
}

impl<M: Memory + Clone> Effects<'_, '_, M> {
    fn add(&self, effect: impl FnOnce() -> Effect) {
        if self.fine.moment() == Moment::Now {
            self.list.borrow_mut().push(effect());
        }
    }
}

impl<M: Memory + Clone> Observer for &Effects<'_, '_, M> {
    fn on(&mut self, happening: Happening) {
        if let Happening::Split { kept, .. } = happening {
            self.kept.set(kept);
        }
        (*self).add(|| Effect::Happening(happening));
    }
}

impl<Q: ReadyQueue, M: Memory + Clone> Runner<Q> for &Effects<'_, '_, M> {
    fn available(&self) -> bool {
        true
    }
    fn post(&mut self, task: Task<Q>) {
        let place = if task.blocking { Place::Joined } else { Place::Tried };
        (*self).add(|| Effect::Post(ready(&task.ready), place, self.kept.get()));
    }
}

/// How a call went on.
enum Went {
    /// It is not over.
    On,
    Begun(Begin),
    Done,
    Suspended(Continuation),
}

impl<M: Shared, N: Narrator> Step<'_, M, N> {
    fn tell(&mut self, actor: Actor, kind: impl FnOnce() -> EventKind) {
        self.narrator.on(actor, u32::from(self.number), kind);
    }

    fn lane(&self, thread: u8) -> Actor {
        Actor(u16::from(self.number) * u16::from(self.compiled.threads) + u16::from(thread))
    }

    /// A pending thunk completes: one access of its completion.
    pub(super) fn complete(&mut self, node: NodeId, choice: u8) -> Result<(), Broken> {
        let compiled = self.compiled;
        let actor = compiled.completer(node);
        let fails = compiled.fails & bit(node) != 0;
        let begun = self.rank.completing.iter().position(|(other, _)| NodeId::from(*other) == node);
        let before = match begun {
            Some(place) => self.rank.completing.remove(place).1,
            None => {
                self.rank.completed |= bit(node);
                self.rank.failed |= compiled.fails & bit(node);
                self.rank.memory.write(actor, result(node));
                self.tell(Actor::EVENTS, || EventKind::Available { node });
                Answers::default()
            }
        };
        self.rank.memory.act(actor, choice);
        let (completed, made) = {
            let past = past(&before);
            let fine = Fine::new(&self.rank.memory, &past[..before.len()]);
            let event = Part::new(&fine, compiled.event(node));
            let event = Weakened::new(event, &compiled.weakened, Region::Only(Ordered::Complete));
            let completed = Event::new(&event, Word(0)).complete(!fails);
            (fine.is_over().then_some(completed), fine.made())
        };
        match completed {
            None => {
                let mut answers = before;
                self.record(&mut answers, made)?;
                self.rank.completing.push((node as u8, answers));
                return Ok(());
            }
            Some(Completed::Early) => return Ok(()),
            Some(Completed::Twice) => {
                return compiled.broken(Property::ExactlyOnce, || {
                    format!("the event of {} finds that it has completed before", compiled.name(node))
                });
            }
            Some(Completed::Continue) => {}
        }
        let Some(place) = self.rank.attached.iter().position(|(waiting, _)| waiting.node == node) else {
            return compiled.broken(Property::ExactlyOnce, || {
                format!("the event of {} found a continuation that is not there", compiled.name(node))
            });
        };
        if !self.rank.memory.knows(actor, stored(node)) {
            compiled.broken(Property::SequentialResult, || {
                format!("the completion of {} reads a continuation it cannot see yet", compiled.name(node))
            })?;
        }
        let (continuation, place) = self.rank.attached.remove(place);
        let view = self.rank.memory.view(actor);
        self.rank.items.push(Item { work: Work::Resume(continuation), place, view });
        self.narrator.posted(usize::from(self.number));
        Ok(())
    }

    /// Adds the answer of this step's access to a call that is not over.
    fn record(&self, answers: &mut Answers, made: Option<(Access, Answer)>) -> Result<(), Broken> {
        let fits = made.is_none_or(|(_, answer)| answers.push(pack(answer)));
        if fits {
            return Ok(());
        }
        // No call of a worker over so few thunks is this long.
        let what = "a call made more accesses than the model has room for".to_owned();
        Err(Broken { property: "model", what })
    }

    /// An idle thread takes an item; its first access comes in the same step.
    pub(super) fn take(&mut self, thread: u8, item: usize) {
        let Item { work, place, view } = self.rank.items.remove(item);
        let task = self.narrator.taken(usize::from(self.number), item);
        self.rank.memory.see(thread, &view);
        let at = &mut self.rank.threads[usize::from(thread)];
        at.place = place;
        let by = match work {
            Work::Task(ready) => {
                at.ready = ready;
                at.doing = Doing::Call(Call::Begin);
                Entry::Task(task)
            }
            Work::Resume(continuation) => {
                at.doing = match place {
                    Place::None => Doing::Join(continuation),
                    Place::Joined | Place::Tried => Doing::Call(Call::Resume(continuation)),
                };
                Entry::Continuation(continuation.node)
            }
        };
        let lane = self.lane(thread);
        self.tell(lane, || EventKind::LoopStart { by });
    }

    /// A thread makes its next access, and goes on up to the one after it.
    pub(super) fn thread<Q: ReadyQueue>(&mut self, thread: u8, choice: u8) -> Result<(), Broken> {
        self.rank.memory.act(thread, choice);
        let at = usize::from(thread);
        let lane = self.lane(thread);
        loop {
            match self.rank.threads[at].doing {
                Doing::Idle => return Ok(()),
                Doing::Leave => {
                    self.session().leave();
                    self.alone = self.compiled.never_splits();
                    let place = std::mem::take(&mut self.rank.threads[at].place);
                    self.rank.tried -= u8::from(place == Place::Tried);
                    self.rank.threads[at].doing = Doing::Idle;
                    self.tell_workers(lane);
                    return Ok(());
                }
                Doing::Join(continuation) => {
                    self.session().join();
                    self.alone = self.compiled.never_splits();
                    self.rank.threads[at].place = Place::Joined;
                    self.rank.threads[at].doing = Doing::Call(Call::Resume(continuation));
                    self.tell_workers(lane);
                    return Ok(());
                }
                Doing::Attach(continuation) => {
                    return self.attach(thread, continuation);
                }
                Doing::Call(call) => {
                    if self.call::<Q>(thread, call)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// One access of the attaching.
    fn attach(&mut self, thread: u8, continuation: Continuation) -> Result<(), Broken> {
        let compiled = self.compiled;
        let (at, node) = (usize::from(thread), continuation.node);
        let mut answers = self.rank.threads[at].answers;
        if answers.is_empty() {
            // The continuation takes over the worker's place when the worker has nothing left.
            let handed = match self.rank.threads[at].ready.is_empty() {
                true => std::mem::take(&mut self.rank.threads[at].place),
                false => Place::None,
            };
            self.rank.memory.write(thread, stored(node));
            self.rank.attached.push((continuation, handed));
        }
        let (attached, made) = {
            let past = past(&answers);
            let fine = Fine::new(&self.rank.memory, &past[..answers.len()]);
            let event = Part::new(&fine, compiled.event(node));
            let event = Weakened::new(event, &compiled.weakened, Region::Only(Ordered::Attach));
            let attached = Event::new(&event, Word(0)).attach();
            (fine.is_over().then_some(attached), fine.made())
        };
        // Refused: the thunk has completed, and nobody else will come to the event.
        self.alone = !answers.is_empty() || made.is_some_and(|(_, answer)| answer.refused);
        let Some(attached) = attached else {
            self.record(&mut answers, made)?;
            self.rank.threads[at].answers = answers;
            return Ok(());
        };
        self.rank.threads[at].answers.clear();
        let Attached::Completed { well } = attached else {
            self.settle(thread);
            return Ok(());
        };
        if well != (compiled.fails & bit(node) == 0) {
            compiled.broken(Property::FirstError, || {
                format!("the event of {} does not tell how it completed", compiled.name(node))
            })?;
        }
        if let Some(place) = self.rank.attached.iter().position(|(waiting, _)| waiting.node == node) {
            let (_, handed) = self.rank.attached.remove(place);
            if handed != Place::None {
                self.rank.threads[at].place = handed;
            }
        }
        self.rank.threads[at].doing = Doing::Call(Call::Resume(continuation));
        Ok(())
    }

    fn session(&self) -> Session<Weakened<'_, Part<&M>>> {
        let part = Part::new(&self.rank.memory, self.compiled.session());
        let region = Region::Only(Ordered::Session);
        Session::new(Weakened::new(part, &self.compiled.weakened, region), self.compiled.max_workers)
    }

    fn tell_workers(&mut self, lane: Actor) {
        let count = self.rank.memory.newest(self.compiled.session());
        self.tell(lane, || EventKind::Workers { count });
    }

    /// One access of a call; false if the call ended without one.
    fn call<Q: ReadyQueue>(&mut self, thread: u8, call: Call) -> Result<bool, Broken> {
        let at = usize::from(thread);
        if self.rank.threads[at].answers.is_empty() {
            self.enter(thread, call);
        }
        let before = self.rank.threads[at];
        let past = past(&before.answers);
        let (went, after, list, made) = {
            let fine = Fine::new(&self.rank.memory, &past[..before.answers.len()]);
            let weakened = &self.compiled.weakened;
            let state = Part::new(&fine, Word(0));
            let state = State::over(Weakened::new(state, weakened, Region::State));
            let session = Part::new(&fine, self.compiled.session());
            let session = Weakened::new(session, weakened, Region::Only(Ordered::Session));
            let session = Session::new(session, self.compiled.max_workers);
            let run = Run {
                graph: self.compiled.graph.successors(),
                priorities: &self.compiled.priorities,
                state: &state.with_fault(self.compiled.fault),
                session: &session.with_fault(self.compiled.fault),
                split_threshold: self.compiled.split_threshold,
            };
            let effects = Effects { fine: &fine, list: RefCell::new(Vec::new()), kept: Cell::new(0) };
            let mut worker = Worker::with(queue::<Q>(&before.ready, &self.compiled.priorities), before.alone);
            let may_block = |node: NodeId| self.compiled.blocking & bit(node) != 0;
            let of = |node: NodeId| match self.compiled.fails & bit(node) {
                0 => Ok(()),
                _ => Err(Failure { node }),
            };
            let went = match call {
                Call::Begin => Went::Begun(worker.begin(&run, may_block, &mut &effects, &mut &effects)),
                Call::Finish(node) => {
                    worker.finish(&run, node, of(node), &mut &effects);
                    Went::Done
                }
                Call::Skip(node) => {
                    worker.finish(&run, node, Ok(()), &mut &effects);
                    Went::Done
                }
                Call::Suspend(node) => Went::Suspended(worker.suspend(&run, node, &mut &effects)),
                Call::Resume(continuation) => {
                    worker.resume(&run, continuation, of(continuation.node), &mut &effects);
                    Went::Done
                }
            };
            let went = if fine.is_over() { went } else { Went::On };
            let after = match went {
                Went::On => (before.ready, before.alone),
                _ => (ready(&worker.ready), worker.is_alone()),
            };
            (went, after, effects.list.into_inner(), fine.made())
        };
        for effect in list {
            self.effect(thread, effect)?;
        }
        if let Some((access, _)) = made {
            self.alone = self.is_alone(call, access, &before, &went);
            if matches!(went, Went::On) {
                let mut answers = before.answers;
                self.record(&mut answers, made)?;
                self.rank.threads[at].answers = answers;
                return Ok(true);
            }
        }
        self.rank.threads[at].answers.clear();
        (self.rank.threads[at].ready, self.rank.threads[at].alone) = after;
        self.leave(thread, went)?;
        Ok(made.is_some())
    }

    /// What becomes true when a call begins.
    fn enter(&mut self, thread: u8, call: Call) {
        let lane = self.lane(thread);
        match call {
            Call::Begin | Call::Suspend(_) => {}
            Call::Finish(node) => {
                self.rank.completed |= bit(node);
                self.rank.failed |= self.compiled.fails & bit(node);
                self.rank.memory.write(thread, result(node));
                self.tell_completion(lane, node);
            }
            Call::Skip(node) => {
                self.rank.completed |= bit(node);
                self.rank.failed |= bit(node);
                self.rank.memory.write(thread, result(node));
                self.tell(lane, || EventKind::Skipped { node });
            }
            Call::Resume(continuation) => self.tell_completion(lane, continuation.node),
        }
    }

    fn tell_completion(&mut self, lane: Actor, node: NodeId) {
        let failed = self.compiled.fails & bit(node) != 0;
        self.tell(lane, || if failed { EventKind::Failed { node } } else { EventKind::Finished { node } });
    }

    /// What a thread does when a call is over.
    fn leave(&mut self, thread: u8, went: Went) -> Result<(), Broken> {
        let at = usize::from(thread);
        let doing = match went {
            Went::On => return Ok(()),
            Went::Begun(Begin::Execute(node)) => {
                self.start(thread, node)?;
                Doing::Call(match self.compiled.pending & bit(node) {
                    0 => Call::Finish(node),
                    _ => Call::Suspend(node),
                })
            }
            Went::Begun(Begin::Skip(node)) => {
                self.begin_once(node)?;
                Doing::Call(Call::Skip(node))
            }
            Went::Suspended(continuation) => Doing::Attach(continuation),
            Went::Begun(Begin::Posted | Begin::Idle) | Went::Done => {
                self.settle(thread);
                return Ok(());
            }
        };
        self.rank.threads[at].doing = doing;
        Ok(())
    }

    /// The next iteration of the loop, or its end.
    fn settle(&mut self, thread: u8) {
        let lane = self.lane(thread);
        let at = &mut self.rank.threads[usize::from(thread)];
        at.doing = match (at.ready.is_empty(), at.place) {
            (false, _) => Doing::Call(Call::Begin),
            (true, Place::None) => Doing::Idle,
            (true, Place::Joined | Place::Tried) => Doing::Leave,
        };
        if at.ready.is_empty() {
            self.tell(lane, || EventKind::LoopEnd);
        }
    }

    fn begin_once(&mut self, node: NodeId) -> Result<(), Broken> {
        if self.rank.started & bit(node) != 0 {
            self.compiled
                .broken(Property::ExactlyOnce, || format!("{} begins again", self.compiled.name(node)))?;
        }
        self.rank.started |= bit(node);
        Ok(())
    }

    /// A thunk starts: it must find everything that program order puts before it.
    fn start(&mut self, thread: u8, node: NodeId) -> Result<(), Broken> {
        let lane = self.lane(thread);
        self.tell(lane, || EventKind::Started { node });
        self.begin_once(node)?;
        let compiled = self.compiled;
        let missing = compiled.after[node as usize] & !self.rank.completed;
        if let Some(other) = each(missing).next() {
            compiled.broken(Property::SequentialResult, || {
                format!("{} starts before {} has completed", compiled.name(node), compiled.name(other))
            })?;
        }
        let unseen = each(compiled.after[node as usize] & !missing)
            .find(|&other| !self.rank.memory.knows(thread, result(other)));
        if let Some(other) = unseen {
            compiled.broken(Property::SequentialResult, || {
                format!(
                    "{} starts without seeing what {} has done",
                    compiled.name(node),
                    compiled.name(other)
                )
            })?;
        }
        if let Some(other) = each(compiled.after[node as usize] & self.rank.failed).next() {
            compiled.broken(Property::FirstError, || {
                format!("{} runs although {} has failed", compiled.name(node), compiled.name(other))
            })?;
        }
        if compiled.communicators[node as usize].is_some() {
            self.rank.calls.push(node as u8);
            self.called = Some(node);
        }
        if compiled.pending & bit(node) != 0 {
            let view = self.rank.memory.view(thread);
            self.rank.memory.see(compiled.completer(node), &view);
            self.tell(lane, || EventKind::Pending { node });
        }
        Ok(())
    }

    fn effect(&mut self, thread: u8, effect: Effect) -> Result<(), Broken> {
        let compiled = self.compiled;
        let lane = self.lane(thread);
        match effect {
            Effect::Happening(Happening::Popped(node)) => {
                let counter = (0..compiled.session().0)
                    .map(Word)
                    .find(|&word| State::<LocalMemory>::role(word) == Role::Counter(node));
                let held = counter.map_or(0, |word| self.rank.memory.newest(word));
                if held != 0 {
                    compiled.broken(Property::ExactlyOnce, || {
                        format!("{} is popped while {held} edges still hold it", compiled.name(node))
                    })?;
                }
                self.tell(lane, || EventKind::Popped { node });
            }
            Effect::Happening(Happening::Split { .. }) => {
                self.rank.tried += 1;
                if u32::from(self.rank.tried) > compiled.max_workers {
                    let (tried, cap) = (self.rank.tried, compiled.max_workers);
                    compiled.broken(Property::WorkerCap, || {
                        format!("{tried} workers have a place, and the cap is {cap}")
                    })?;
                }
            }
            Effect::Post(ready, place, kept) => {
                let view = self.rank.memory.view(thread);
                self.rank.items.push(Item { work: Work::Task(ready), place, view });
                let task = self.narrator.posted(usize::from(self.number));
                match (place, &*ready) {
                    (Place::Joined, &[node]) => {
                        self.tell(lane, || EventKind::Posted { task, node: node.into() });
                    }
                    (_, nodes) => {
                        let nodes: Box<[NodeId]> = nodes.iter().map(|&node| node.into()).collect();
                        self.tell(lane, || EventKind::Split { kept, task, nodes });
                    }
                }
            }
            Effect::Happening(Happening::Released { from, to, kind, left }) => {
                if left >= compiled.graph.incoming(to).len() as u32 {
                    compiled.broken(Property::ExactlyOnce, || {
                        format!("an edge into {} is released twice", compiled.name(to))
                    })?;
                }
                self.tell(lane, || EventKind::Released { from, to, edge: kind, left });
            }
            Effect::Happening(Happening::Done(failure)) => {
                self.over()?;
                self.tell(lane, || EventKind::Done { failed: failure.map(|failure| failure.node) });
            }
            Effect::Happening(Happening::Refused { ready }) => {
                self.tell(lane, || EventKind::Refused { ready });
            }
            Effect::Happening(Happening::Workers(count)) => {
                self.tell(lane, || EventKind::Workers { count });
            }
            Effect::Happening(Happening::PendingNodes(count)) => {
                self.tell(lane, || EventKind::PendingNodes { count });
            }
            Effect::Happening(Happening::Aborted(node)) => self.tell(lane, || EventKind::Aborted { node }),
            // Told where the task is posted.
            Effect::Happening(Happening::PostedBlocking(_)) => {}
        }
        Ok(())
    }

    /// The run's event fires.
    fn over(&mut self) -> Result<(), Broken> {
        let compiled = self.compiled;
        if self.rank.over {
            compiled.broken(Property::EventOnce, || "the run's event fires a second time".to_owned())?;
        }
        self.rank.over = true;
        if let Some(node) = each(compiled.all & !self.rank.completed).next() {
            compiled.broken(Property::EventOnce, || {
                format!("the run's event fires while {} has not completed", compiled.name(node))
            })?;
        }
        let unseen = each(self.rank.completed).find(|&node| !self.seen_at_the_end(node));
        if let Some(node) = unseen {
            compiled.broken(Property::SequentialResult, || {
                format!("whoever waits for the run does not see what {} has done", compiled.name(node))
            })?;
        }
        Ok(())
    }

    /// Whether a waiter that finds the run done is certain to see the result of `node`.
    fn seen_at_the_end(&self, node: NodeId) -> bool {
        let memory = self.rank.memory.clone();
        memory.act(self.compiled.waiter(), 0);
        let state = State::over(Weakened::new(&memory, &self.compiled.weakened, Region::State));
        // The newest message is the one that says done.
        !state.is_done() || memory.knows(self.compiled.waiter(), result(node))
    }

    /// Whether this step commutes with all that others may do, and no property looks at it.
    fn is_alone(&self, call: Call, access: Access, before: &Thread, went: &Went) -> bool {
        let state = access.word.0 < self.compiled.session().0;
        if !state {
            return access.word == self.compiled.session() && self.compiled.never_splits();
        }
        // The completion of a thunk is in the first access after it, and the event's time is
        // measured by it.
        let completes = matches!(call, Call::Finish(_) | Call::Skip(_)) && before.answers.is_empty();
        match State::<LocalMemory>::role(access.word) {
            // The last release: nobody touches this counter again.
            Role::Counter(_) => {
                let last = access.operation == Operation::Sub && self.rank.memory.newest(access.word) == 0;
                !completes && (last || before.alone)
            }
            // Nobody ever writes it, unless a thunk can fail; a collective's start has its order.
            Role::Failed => {
                self.compiled.fails == 0
                    && matches!(went, Went::Begun(Begin::Execute(node))
                    if self.compiled.communicators[*node as usize].is_none())
            }
            Role::PendingNodes | Role::Done => false,
        }
    }
}

/// The datum that a thunk's result is.
fn result(node: NodeId) -> u8 {
    node as u8
}

/// The datum that a thunk's stored continuation is.
fn stored(node: NodeId) -> u8 {
    Nodes::BITS as u8 + node as u8
}
