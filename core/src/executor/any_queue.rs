//! A ready queue whose class is chosen when it is made: one copy of the code for all classes.

use super::{Fifo, Lifo, Priority, Queue, ReadyQueue};
use crate::graph::NodeId;

/// A ready queue of any class, for where the size of the code counts more than a branch per push:
/// the simulator, which the page downloads. Native threads have the class as a type parameter.
#[derive(Clone, Debug)]
pub enum AnyQueue {
    /// Oldest first.
    Fifo(Fifo),
    /// Newest first.
    Lifo(Lifo),
    /// Most dependents first.
    Priority(Priority),
}

impl AnyQueue {
    /// An empty queue of `class`.
    pub fn new(class: Queue) -> Self {
        match class {
            Queue::Fifo => Self::Fifo(Fifo::default()),
            Queue::Lifo => Self::Lifo(Lifo::default()),
            Queue::Priority => Self::Priority(Priority::default()),
        }
    }
}

/// Empty, of the class that is the option's default.
impl Default for AnyQueue {
    fn default() -> Self {
        Self::new(Queue::default())
    }
}

/// Calls the same method on whichever queue it is.
macro_rules! each {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            AnyQueue::Fifo($inner) => $call,
            AnyQueue::Lifo($inner) => $call,
            AnyQueue::Priority($inner) => $call,
        }
    };
}

impl ReadyQueue for AnyQueue {
    fn class(&self) -> Queue {
        each!(self, queue => queue.class())
    }

    fn push(&mut self, node: NodeId, priority: impl FnOnce() -> u32) {
        each!(self, queue => queue.push(node, priority));
    }

    fn pop(&mut self) -> Option<NodeId> {
        each!(self, queue => queue.pop())
    }

    fn len(&self) -> usize {
        each!(self, queue => queue.len())
    }

    fn pop_half_into(&mut self, half: &mut Self) {
        if half.class() != self.class() {
            *half = Self::new(self.class());
        }
        match (self, half) {
            (Self::Fifo(queue), Self::Fifo(half)) => queue.pop_half_into(half),
            (Self::Lifo(queue), Self::Lifo(half)) => queue.pop_half_into(half),
            (Self::Priority(queue), Self::Priority(half)) => queue.pop_half_into(half),
            // Of the same class since a moment ago.
            _ => {}
        }
    }

    fn reserve(&mut self, nodes: usize) {
        each!(self, queue => queue.reserve(nodes));
    }

    fn clear(&mut self) {
        each!(self, queue => queue.clear());
    }

    fn in_pop_order(&self) -> Vec<NodeId> {
        each!(self, queue => queue.in_pop_order())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue chosen when it runs does what the queue of that class does.
    #[track_caller]
    fn check<Q: ReadyQueue>() {
        let mut known = Q::default();
        let mut any = AnyQueue::new(known.class());
        assert_eq!(any.class(), known.class());
        for node in 0..9 {
            known.push(node, || node % 4);
            any.push(node, || node % 4);
        }
        assert_eq!(any.pop(), known.pop());
        // `pop_half` starts from the default, which is of another class for two of the three.
        let (half, any_half) = (known.pop_half(), any.pop_half());
        assert_eq!(any_half.in_pop_order(), half.in_pop_order());
        assert_eq!(any.in_pop_order(), known.in_pop_order());
        assert_eq!(any.len(), known.len());
        any.clear();
        assert_eq!((any.pop(), any.class()), (None, known.class()));
    }

    #[test]
    fn any_class_behaves_as_the_class_itself() {
        check::<Fifo>();
        check::<Lifo>();
        check::<Priority>();
    }
}
