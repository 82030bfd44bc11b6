//! A program as the Dump module sees it: ops with their tensors, and which thunks set what.
//!
//! The fields read here are kept by the program's reader without being looked at; docs/dump.md has
//! their forms. What is not there gets what an imported executable has: a static program, arguments
//! in the order of their declaration, bytes without a type.

mod read;
mod tensor;

pub use tensor::{Memory, Reference, Slot, Tensor};

use std::fmt;

use super::blacklist::Position;
use super::properties::ModelNames;
use crate::diagnostic::Diagnostic;
use crate::program::{Program, Slice};

/// An op of a [`Model`]: its index.
pub type OpId = u32;

/// One thunk of one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThunkRef {
    /// Index into [`Program::sequences`].
    pub sequence: u32,
    /// Index into the sequence.
    pub node: u32,
}

impl fmt::Display for ThunkRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.sequence, self.node)
    }
}

/// A program, read for dumping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// Number that device-side records carry.
    pub id: u32,
    /// The inner name.
    pub name: String,
    /// Of the offline model.
    pub om_name: Option<String>,
    /// Of the root graph.
    pub root_graph: Option<String>,
    /// Shapes or addresses are set by thunks while it runs.
    pub dynamic: bool,
    /// In the order of sequences and, within them, of launches.
    pub ops: Vec<Op>,
    /// By sequence and node: what the thunk is.
    pub thunks: Vec<Vec<Role>>,
    /// By sequence: its path, for people.
    pub paths: Vec<String>,
    /// By sequence: the static submodel of a dynamic program that it belongs to.
    pub submodels: Vec<Option<u32>>,
}

/// What a thunk is to the Dump module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Launches this op.
    Launch(OpId),
    /// Another launch of an op that has one already (T19).
    Again(OpId),
    /// Sets shapes or addresses of others.
    Helper,
    /// Belongs to the initialising graph: its values are there before the first event.
    Init,
    /// Sends or waits for an event: orders, is not the op.
    Event,
}

/// What becomes of an op at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A task of its own.
    Task,
    /// `Data`, `Const`, `Variable`: no task; dumped as its consumers' input.
    Source,
    /// The model's end: nothing to dump.
    NetOutput,
    /// Control flow that ends when its nested sequence has: a `while`, a conditional, a call.
    Control,
    /// Control flow of an unknown kind.
    OtherControl,
}

/// One operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Its name; not unique.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Names of the ops that were fused into it.
    pub original_names: Vec<String>,
    /// What becomes of it.
    pub kind: OpKind,
    /// Inputs by index; `None` is an optional one that is missing and keeps its place.
    pub inputs: Vec<Option<Tensor>>,
    /// Outputs by index.
    pub outputs: Vec<Option<Tensor>>,
    /// Scratch memory.
    pub workspace: Vec<Workspace>,
    /// Exchanges data with other devices.
    pub collective: bool,
    /// Several contexts (FFTSPlus), one record each.
    pub contexts: Vec<Context>,
    /// It prepares inputs before the model: only its workspace is dumped (static).
    pub preprocess: bool,
    /// Dumping it is allowed at all.
    pub allowed: bool,
    /// The thunk that launches it.
    pub at: ThunkRef,
    /// Thunks that set the shapes of its outputs.
    pub shape_setters: Vec<u32>,
    /// Thunks that set the addresses of its outputs.
    pub address_setters: Vec<u32>,
    /// Further launches, in its sequence.
    pub launches: Vec<u32>,
    /// For exception dumps: tiling data as hex digits.
    pub tiling: String,
    /// For exception dumps: attributes and scalars, as written.
    pub attributes: Vec<(String, String)>,
}

/// Scratch memory of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workspace {
    /// Where; `None` where the program says only how much.
    pub slice: Option<Slice>,
    /// Bytes.
    pub size: u64,
}

/// One context of an op with several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Its number.
    pub context_id: u32,
    /// The slice of data that it works on.
    pub thread_id: u32,
    /// What it reads.
    pub inputs: Vec<Slice>,
    /// What it writes.
    pub outputs: Vec<Slice>,
}

/// A [`Model`] and what is to be said about how it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadModel {
    /// The model.
    pub model: Model,
    /// Fields that could not be used (`DU020`); the rest of their op is.
    pub warnings: Vec<Diagnostic>,
}

impl Model {
    /// Reads what a program says about its ops.
    pub fn read(program: &Program) -> ReadModel {
        read::read(program)
    }

    /// The names by which configurations may mean it.
    pub fn names(&self) -> ModelNames<'_> {
        ModelNames { om: self.om_name.as_deref(), model: Some(&self.name), root: self.root_graph.as_deref() }
    }

    /// What a thunk is. Thunks that are not in the program are helpers of nobody.
    pub fn role(&self, thunk: ThunkRef) -> Role {
        self.thunks
            .get(thunk.sequence as usize)
            .and_then(|sequence| sequence.get(thunk.node as usize))
            .copied()
            .unwrap_or(Role::Helper)
    }

    /// The op that a thunk launches.
    pub fn launched(&self, thunk: ThunkRef) -> Option<OpId> {
        match self.role(thunk) {
            Role::Launch(op) => Some(op),
            _ => None,
        }
    }

    /// An op.
    pub fn op(&self, id: OpId) -> Option<&Op> {
        self.ops.get(id as usize)
    }

    /// All inputs, then all outputs of an op, with their positions.
    pub fn tensors(op: &Op) -> impl Iterator<Item = (Position, Option<&Tensor>)> {
        let inputs = op.inputs.iter().enumerate().map(|(i, t)| (Position::Input(i as u32), t.as_ref()));
        let outputs = op.outputs.iter().enumerate().map(|(i, t)| (Position::Output(i as u32), t.as_ref()));
        inputs.chain(outputs)
    }
}

impl Op {
    /// Its own name and every original one.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        std::iter::once(self.name.as_str()).chain(self.original_names.iter().map(String::as_str))
    }

    /// The tensor at a position.
    pub fn tensor(&self, position: Position) -> Option<&Tensor> {
        let (list, index) = match position {
            Position::Input(index) => (&self.inputs, index),
            Position::Output(index) => (&self.outputs, index),
        };
        list.get(index as usize)?.as_ref()
    }
}
