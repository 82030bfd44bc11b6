//! What is explored: a program, and how it is run.

use super::{Fault, Property};
use crate::executor::Queue;
use crate::explore::memory::Order;
use crate::graph::NodeId;
use crate::program::Program;

/// A small program with everything that its runs depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// For people.
    pub name: String,
    /// Its entry sequence is run, every control-flow thunk as one thunk. Thunks that are `pending`
    /// return before they complete, those that `may_block` are posted alone.
    pub program: Program,
    /// The class of the ready queues.
    pub queue: Queue,
    /// Threads beside the caller, which take posted tasks and continuations: 1 to [`MAX_THREADS`].
    pub threads: u8,
    /// The session's cap.
    pub max_workers: u32,
    /// A worker splits its queue while more than this many other thunks are ready.
    pub split_threshold: u32,
    /// Processes that run the same program, and whose collectives wait for each other: 1 or 2.
    pub ranks: u8,
    /// Thunks that fail.
    pub fails: Vec<NodeId>,
    /// Pending thunks that never complete.
    pub never: Vec<NodeId>,
    /// Defects.
    pub faults: Vec<Fault>,
    /// What must hold; nothing else is looked at.
    pub properties: Vec<Property>,
    /// The memory.
    pub memory: Order,
    /// Whether states that differ in the names of equal threads alone count as one.
    pub symmetry: bool,
}

/// Most thunks of a scenario. More would not be explored to the end anyway.
pub const MAX_THUNKS: u32 = 12;

/// Most threads beside the caller.
pub const MAX_THREADS: u8 = 4;

impl Scenario {
    /// `program` under a FIFO queue on two threads beside the caller, one rank, all properties.
    pub fn new(program: Program) -> Self {
        Self {
            name: program.name.clone(),
            program,
            queue: Queue::Fifo,
            threads: 2,
            max_workers: 4,
            split_threshold: 0,
            ranks: 1,
            fails: Vec::new(),
            never: Vec::new(),
            faults: Vec::new(),
            properties: Property::ALL.to_vec(),
            memory: Order::Sc,
            symmetry: true,
        }
    }

    /// One line for the log's header; equal scenarios, equal line.
    pub fn summary(&self) -> String {
        let Self {
            queue, threads, max_workers, split_threshold, ranks, fails, never, faults, memory, ..
        } = self;
        let mut line = format!(
            "explore queue={queue} threads={threads} workers={max_workers} split={split_threshold} \
             ranks={ranks} memory={}",
            memory.name()
        );
        for (name, nodes) in [("fails", fails), ("never", never)] {
            nodes.iter().for_each(|node| line += &format!(" {name}={node}"));
        }
        faults.iter().for_each(|fault| line += &format!(" fault={fault}"));
        line
    }
}
