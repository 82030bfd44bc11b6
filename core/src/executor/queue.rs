//! The three ready queues (executor spec §5): what is popped next, and what a split gives away.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::graph::NodeId;

/// The class of a ready queue, as an option. Native threads turn it into a type parameter, once per run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Queue {
    /// Oldest first. XLA's default: a pop is about three instructions.
    #[default]
    Fifo,
    /// Newest first: what reads the buffers that were just written, still in cache.
    Lifo,
    /// Most dependents first: what keeps the queue full.
    Priority,
}

impl Queue {
    /// All classes, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Fifo, Self::Lifo, Self::Priority];

    /// The name of the option value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lifo => "lifo",
            Self::Priority => "priority",
        }
    }

    /// The order in which a queue of this class pops nodes that `arrived` in this order and were
    /// neither popped nor given away: what [`ReadyQueue::in_pop_order`] says. `priorities` are by
    /// node; a node without one has none.
    pub fn pop_order(self, arrived: &[NodeId], priorities: &[u32]) -> Vec<NodeId> {
        let mut nodes = arrived.to_vec();
        let priority = |node: NodeId| priorities.get(node as usize).copied().unwrap_or(0);
        match self {
            Self::Fifo => {}
            Self::Lifo => nodes.reverse(),
            Self::Priority => nodes.sort_unstable_by_key(|&node| (Reverse(priority(node)), node)),
        }
        nodes
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Queue {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|queue| queue.name() == text)
            .ok_or_else(|| format!("`{text}` is none of fifo, lifo, priority"))
    }
}

/// A container of ready nodes, owned by one worker.
pub trait ReadyQueue: Default {
    /// The option value of this class.
    fn class(&self) -> Queue;

    /// Adds a node. `priority` is only asked for by the class that orders by it.
    fn push(&mut self, node: NodeId, priority: impl FnOnce() -> u32);

    /// Takes the next node.
    fn pop(&mut self) -> Option<NodeId>;

    /// Number of nodes.
    fn len(&self) -> usize;

    /// Whether there is no node.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives half of the nodes away, into an empty queue of the same class; keeps the rest.
    /// Which half is the difference between the classes.
    fn pop_half_into(&mut self, half: &mut Self);

    /// As [`ReadyQueue::pop_half_into`], into a new queue.
    #[must_use]
    fn pop_half(&mut self) -> Self {
        let mut half = Self::default();
        self.pop_half_into(&mut half);
        half
    }

    /// Makes room for `nodes` nodes in all, so that no later push allocates.
    fn reserve(&mut self, nodes: usize);

    /// Forgets all nodes and keeps the room.
    fn clear(&mut self);

    /// The nodes in the order in which they would be popped.
    fn in_pop_order(&self) -> Vec<NodeId>;
}

/// No node: graphs have fewer.
const NONE: NodeId = NodeId::MAX;

/// Places for nodes; a queue knows which of them are in use.
///
/// `Vec::push` hands the vector to the allocator by reference, and what is known elsewhere goes
/// through memory at each step. Here only the rare call that grows takes it, and by value.
#[derive(Clone, Debug, Default)]
struct Places(Vec<NodeId>);

impl Places {
    #[inline(always)]
    fn put(&mut self, at: usize, node: NodeId) {
        match self.0.get_mut(at) {
            Some(place) => *place = node,
            None => *self = std::mem::take(self).grown(at, node),
        }
    }

    #[cold]
    #[inline(never)]
    fn grown(mut self, at: usize, node: NodeId) -> Self {
        self.reserve((2 * at).max(16));
        self.0[at] = node;
        self
    }

    fn reserve(&mut self, places: usize) {
        self.0.resize(places.max(self.0.len()), NONE);
    }
}

/// The next node, then a vector and a head index; popping erases nothing until all is popped.
///
/// What becomes ready while nothing else is never goes through memory: a chain stays in `next`.
#[derive(Clone, Debug)]
pub struct Fifo {
    /// [`NONE`] exactly when the queue is empty.
    next: NodeId,
    /// The others are `nodes[head..tail]`.
    nodes: Places,
    head: usize,
    tail: usize,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { next: NONE, nodes: Places::default(), head: 0, tail: 0 }
    }
}

impl ReadyQueue for Fifo {
    #[inline]
    fn class(&self) -> Queue {
        Queue::Fifo
    }

    #[inline]
    fn push(&mut self, node: NodeId, _: impl FnOnce() -> u32) {
        if self.next == NONE {
            self.next = node;
        } else {
            self.nodes.put(self.tail, node);
            self.tail += 1;
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<NodeId> {
        let node = self.next;
        if node == NONE {
            return None;
        }
        if self.head < self.tail {
            self.next = self.nodes.0[self.head];
            self.head += 1;
        } else {
            // What is empty starts over at the front, where the cache has it.
            self.clear();
        }
        Some(node)
    }

    #[inline]
    fn len(&self) -> usize {
        self.tail - self.head + usize::from(self.next != NONE)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.next == NONE
    }

    /// Gives the newest away: everything from the middle to the end.
    fn pop_half_into(&mut self, half: &mut Self) {
        let keep = self.len() / 2;
        // The first that is kept stands in `next`.
        let middle = self.head + keep.saturating_sub(1);
        if keep == 0 && self.next != NONE {
            half.push(self.next, || 0);
        }
        self.nodes.0[middle..self.tail].iter().for_each(|&node| half.push(node, || 0));
        self.tail = middle;
        if keep == 0 {
            self.clear();
        }
    }

    fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
    }

    #[inline]
    fn clear(&mut self) {
        self.next = NONE;
        (self.head, self.tail) = (0, 0);
    }

    fn in_pop_order(&self) -> Vec<NodeId> {
        let next = (self.next != NONE).then_some(self.next);
        next.into_iter().chain(self.nodes.0[self.head..self.tail].iter().copied()).collect()
    }
}

/// The newest node, then a vector popped from the back.
#[derive(Clone, Debug)]
pub struct Lifo {
    /// [`NONE`] exactly when the queue is empty.
    next: NodeId,
    /// The others are `nodes[..tail]`.
    nodes: Places,
    tail: usize,
}

impl Default for Lifo {
    fn default() -> Self {
        Self { next: NONE, nodes: Places::default(), tail: 0 }
    }
}

impl ReadyQueue for Lifo {
    #[inline]
    fn class(&self) -> Queue {
        Queue::Lifo
    }

    #[inline]
    fn push(&mut self, node: NodeId, _: impl FnOnce() -> u32) {
        if self.next != NONE {
            self.nodes.put(self.tail, self.next);
            self.tail += 1;
        }
        self.next = node;
    }

    #[inline]
    fn pop(&mut self) -> Option<NodeId> {
        let node = self.next;
        if node == NONE {
            return None;
        }
        self.next = match self.tail.checked_sub(1) {
            Some(last) => {
                self.tail = last;
                self.nodes.0[last]
            }
            None => NONE,
        };
        Some(node)
    }

    #[inline]
    fn len(&self) -> usize {
        self.tail + usize::from(self.next != NONE)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.next == NONE
    }

    /// Gives the oldest `len / 2 + 1` away: the front of the vector.
    fn pop_half_into(&mut self, half: &mut Self) {
        let given = (self.len() / 2 + 1).min(self.len());
        let old = given.min(self.tail);
        self.nodes.0[..old].iter().for_each(|&node| half.push(node, || 0));
        self.nodes.0.copy_within(old..self.tail, 0);
        self.tail -= old;
        if old < given {
            half.push(std::mem::replace(&mut self.next, NONE), || 0);
        }
    }

    fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
    }

    fn clear(&mut self) {
        self.next = NONE;
        self.tail = 0;
    }

    fn in_pop_order(&self) -> Vec<NodeId> {
        let next = (self.next != NONE).then_some(self.next);
        next.into_iter().chain(self.nodes.0[..self.tail].iter().rev().copied()).collect()
    }
}

/// A heap by priority. Equal priorities: lower id first, so that runs repeat.
#[derive(Clone, Debug, Default)]
pub struct Priority {
    heap: BinaryHeap<(u32, Reverse<NodeId>)>,
}

impl ReadyQueue for Priority {
    #[inline]
    fn class(&self) -> Queue {
        Queue::Priority
    }

    fn push(&mut self, node: NodeId, priority: impl FnOnce() -> u32) {
        self.heap.push((priority(), Reverse(node)));
    }

    fn pop(&mut self) -> Option<NodeId> {
        self.heap.pop().map(|(_, Reverse(node))| node)
    }

    fn len(&self) -> usize {
        self.heap.len()
    }

    /// Keeps the `len / 2` nodes with the highest priorities and gives the rest away.
    fn pop_half_into(&mut self, half: &mut Self) {
        let keep = self.len() / 2;
        half.heap.extend((0..keep).filter_map(|_| self.heap.pop()));
        std::mem::swap(&mut self.heap, &mut half.heap);
    }

    fn reserve(&mut self, nodes: usize) {
        self.heap.reserve(nodes.saturating_sub(self.heap.len()));
    }

    fn clear(&mut self) {
        self.heap.clear();
    }

    fn in_pop_order(&self) -> Vec<NodeId> {
        let mut entries: Vec<_> = self.heap.iter().copied().collect();
        entries.sort_unstable_by(|a, b| b.cmp(a));
        entries.into_iter().map(|(_, Reverse(node))| node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes `0..n` (priority = `n - node`, in pairs, so that there are ties), pops one, splits.
    #[track_caller]
    fn check<Q: ReadyQueue>(n: u32, popped: NodeId, kept: &[NodeId], given: &[NodeId]) {
        let mut queue = Q::default();
        for node in 0..n {
            queue.push(node, || (n - node) / 2);
        }
        assert_eq!(queue.pop(), Some(popped));
        let half = queue.pop_half();
        assert_eq!(queue.in_pop_order(), kept, "kept");
        assert_eq!(half.in_pop_order(), given, "given away");
        assert_eq!(drain(queue), kept);
        assert_eq!(drain(half), given);
    }

    fn drain<Q: ReadyQueue>(mut queue: Q) -> Vec<NodeId> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn fifo_gives_the_newest_away() {
        check::<Fifo>(6, 0, &[1, 2], &[3, 4, 5]);
        check::<Fifo>(2, 0, &[], &[1]);
    }

    #[test]
    fn lifo_gives_the_oldest_away() {
        check::<Lifo>(6, 5, &[4, 3], &[2, 1, 0]);
        check::<Lifo>(5, 4, &[3], &[2, 1, 0]);
        check::<Lifo>(2, 1, &[], &[0]);
    }

    #[test]
    fn priority_keeps_the_most_wanted() {
        check::<Priority>(6, 0, &[1, 2], &[3, 4, 5]);
    }

    #[test]
    fn pop_order_is_what_the_queues_pop() {
        fn check_order<Q: ReadyQueue>(class: Queue, arrived: &[NodeId], priorities: &[u32]) {
            let mut queue = Q::default();
            arrived.iter().for_each(|&node| queue.push(node, || priorities[node as usize]));
            assert_eq!(class.pop_order(arrived, priorities), queue.in_pop_order());
        }
        let (arrived, priorities) = ([4, 0, 2, 6, 1, 3], [1, 7, 7, 0, 2, 9, 2]);
        check_order::<Fifo>(Queue::Fifo, &arrived, &priorities);
        check_order::<Lifo>(Queue::Lifo, &arrived, &priorities);
        check_order::<Priority>(Queue::Priority, &arrived, &priorities);
    }

    /// Executor spec §7.6: whatever was pushed, popped and split before, the two halves together
    /// are the queue before, each in its pop order, and nothing is lost or doubled.
    #[cfg(not(target_arch = "wasm32"))]
    mod splits {
        use super::*;
        use proptest::prelude::*;

        fn check_split<Q: ReadyQueue>(steps: &[Option<u32>]) {
            let mut queue = Q::default();
            for (node, step) in (0..).zip(steps) {
                match step {
                    Some(priority) => queue.push(node, || *priority),
                    None => drop(queue.pop()),
                }
            }
            let before = queue.in_pop_order();
            let half = queue.pop_half();
            let (kept, given) = (queue.in_pop_order(), half.in_pop_order());
            let split = match queue.class() {
                Queue::Fifo | Queue::Priority => before.len() / 2,
                Queue::Lifo => before.len() - (before.len() / 2 + 1).min(before.len()),
            };
            // All classes keep what they would pop first, and give the rest away in order.
            assert_eq!([kept, given], [before[..split].to_vec(), before[split..].to_vec()]);
            assert_eq!(drain(queue), before[..split]);
            assert_eq!(drain(half), before[split..]);
        }

        proptest! {
            #[test]
            fn lose_and_double_nothing(steps in prop::collection::vec(prop::option::weighted(0.8, 0..5u32), 0..60)) {
                check_split::<Fifo>(&steps);
                check_split::<Lifo>(&steps);
                check_split::<Priority>(&steps);
            }
        }
    }

    #[test]
    fn empty_queues_split_into_empty_queues() {
        fn empty<Q: ReadyQueue>() {
            let mut queue = Q::default();
            assert_eq!(queue.pop_half().len() + queue.len(), 0);
            assert_eq!(queue.pop(), None);
        }
        empty::<Fifo>();
        empty::<Lifo>();
        empty::<Priority>();
    }

    /// Executor spec §5: 40 sources, one popped; gives away 20, 10, 5 and keeps 4.
    #[test]
    fn golden_case_of_forty_in_every_class() {
        fn sizes<Q: ReadyQueue>() -> Vec<usize> {
            let mut queue = Q::default();
            (0..40).for_each(|node| queue.push(node, || 0));
            queue.pop();
            let mut sizes = Vec::new();
            while queue.len() > 8 {
                sizes.push(queue.pop_half().len());
            }
            sizes.push(queue.len());
            sizes
        }
        let expected = [20, 10, 5, 4];
        assert_eq!([sizes::<Fifo>(), sizes::<Lifo>(), sizes::<Priority>()], [expected, expected, expected]);
    }
}
