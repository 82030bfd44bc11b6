//! What is there to run: thunks, the buffer slices and resources they use, nested sequences.

mod generate;
#[cfg(feature = "engine")]
pub mod json;
mod kind;
mod path;
mod slice;

pub use generate::Shape;
pub use kind::Kind;
pub use path::{SequencePath, Step};
pub use slice::{Access, BufferUse, MAX_END, Slice};

use crate::digest::{Digest, Hasher};

/// A program: one sequence of thunks over a set of allocations and resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// For people: a file name, a module name, `moe10`.
    pub name: String,
    /// What it was read from.
    pub origin: Origin,
    /// Known allocations, by ascending index. May be empty: slices carry all that the rules need.
    pub allocations: Vec<Allocation>,
    /// Resources; a resource's identity is its place here (seed 004: by reference, not by kind).
    pub resources: Vec<Resource>,
    /// The thunks in program order.
    pub sequence: Sequence,
    /// Fields of the JSON form that this version does not use: kept and written back.
    #[cfg(feature = "engine")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// Where a program came from; decides which findings can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The reader: `program`, `xla-executable`, `jax-cache`, `generated`.
    pub format: String,
    /// The producer's release where the file tells it, such as `0.10.2`; else empty.
    pub release: String,
}

/// One memory allocation that slices point into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// What slices call it.
    pub index: u32,
    /// Bytes.
    pub size: u64,
    /// What it is for.
    pub kind: AllocationKind,
    /// For people; may be empty.
    pub label: String,
}

/// What an allocation is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AllocationKind {
    /// An argument of the program.
    Parameter,
    /// A result of the program.
    Output,
    /// Read only, part of the program.
    Constant,
    /// Scratch: where slices are reused, and parallelism is lost to that reuse.
    Temporary,
    /// One copy per thread.
    ThreadLocal,
    /// The file does not say.
    #[default]
    Unknown,
}

/// Something other than memory that thunks take turns on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Decides the kind of edge (executor spec §2).
    pub kind: ResourceKind,
    /// For people; may be empty.
    pub label: String,
}

/// The kinds of resource that XLA knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// Orders side effects, such as infeed and outfeed: execution edges.
    Token,
    /// Orders the *starts* of collectives: scheduling edges.
    Communicator,
}

/// One thunk's use of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceUse {
    /// Index into [`Program::resources`].
    pub resource: u32,
    /// Read or write; two reads do not clash.
    pub access: Access,
}

/// A list of thunks in program order, with a graph and a sequential decision of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The thunks; a node of the graph is an index into this list.
    pub thunks: Vec<Thunk>,
}

/// One unit of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thunk {
    /// What it does.
    pub kind: Kind,
    /// Its operation's name; not unique.
    pub name: String,
    /// The slices it declares itself. See [`Thunk::all_uses`] for control flow.
    pub uses: Vec<BufferUse>,
    /// The resources it declares itself. See [`Thunk::all_resources`] for control flow.
    pub resources: Vec<ResourceUse>,
    /// Running it may block the calling thread.
    pub may_block: bool,
    /// It completes on a thread pool that the executor does not own.
    pub foreign_pool: bool,
    /// It returns before it is done; its event becomes available later.
    pub pending: bool,
    /// The file did not say what it uses: it is taken to clash with everything (lenient import).
    pub uses_unknown: bool,
    /// How long it runs, in ns; `None` where nobody knows.
    pub cost: Option<u64>,
    /// How often a `while` runs its body, where known.
    pub trip_count: Option<u64>,
    /// Nested sequences of a control-flow thunk.
    pub nested: Vec<Nested>,
    /// Fields of the JSON form that this version does not use: kept and written back.
    #[cfg(feature = "engine")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// One nested sequence and the part it plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// Which part.
    pub role: Role,
    /// Its thunks.
    pub sequence: Sequence,
}

/// The part that a nested sequence plays in its thunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The condition of a `while`.
    Condition,
    /// The body of a `while`.
    Body,
    /// Branch `n` of a `conditional`.
    Branch(u32),
    /// The sequence of a `call`.
    Called,
}

impl Thunk {
    /// A thunk that uses nothing.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            uses: Vec::new(),
            resources: Vec::new(),
            may_block: false,
            foreign_pool: false,
            pending: false,
            uses_unknown: false,
            cost: None,
            trip_count: None,
            nested: Vec::new(),
            #[cfg(feature = "engine")]
            extra: serde_json::Map::new(),
        }
    }

    /// Adds a slice that is read: builder for tests, generators and examples.
    #[must_use]
    pub fn reads(mut self, allocation: u32, offset: u64, size: u64) -> Self {
        self.uses.push(BufferUse { slice: Slice::new(allocation, offset, size), access: Access::Read });
        self
    }

    /// Adds a slice that is written: builder for tests, generators and examples.
    #[must_use]
    pub fn writes(mut self, allocation: u32, offset: u64, size: u64) -> Self {
        self.uses.push(BufferUse { slice: Slice::new(allocation, offset, size), access: Access::Write });
        self
    }

    /// Adds a use of a resource: builder for tests, generators and examples.
    #[must_use]
    pub fn takes(mut self, resource: u32, access: Access) -> Self {
        self.resources.push(ResourceUse { resource, access });
        self
    }

    /// Everything this thunk touches: its own uses, then those of all nested thunks
    /// (executor spec §1: control flow declares the union of what is inside).
    pub fn all_uses(&self) -> Vec<BufferUse> {
        let mut all = Vec::new();
        self.collect(&mut |thunk| all.extend_from_slice(&thunk.uses));
        all
    }

    /// As [`Thunk::all_uses`], for resources.
    pub fn all_resources(&self) -> Vec<ResourceUse> {
        let mut all = Vec::new();
        self.collect(&mut |thunk| all.extend_from_slice(&thunk.resources));
        all
    }

    /// Whether this thunk, or one inside it, has unknown uses.
    pub fn any_uses_unknown(&self) -> bool {
        let mut any = false;
        self.collect(&mut |thunk| any |= thunk.uses_unknown);
        any
    }

    /// Feeds all but the nested sequences, which have paths of their own.
    fn feed(&self, hasher: &mut Hasher) {
        let Self { kind, name, uses, resources, may_block, foreign_pool, pending, uses_unknown, .. } = self;
        hasher.text(kind.name());
        hasher.text(name);
        hasher.u64(uses.len() as u64);
        for BufferUse { slice, access } in uses {
            hasher.u64(u64::from(slice.allocation));
            hasher.u64(slice.offset);
            hasher.u64(slice.size);
            hasher.u64(*access as u64);
        }
        hasher.u64(resources.len() as u64);
        for used in resources {
            hasher.u64(u64::from(used.resource));
            hasher.u64(used.access as u64);
        }
        for flag in [may_block, foreign_pool, pending, uses_unknown] {
            hasher.u64(u64::from(*flag));
        }
        for number in [self.cost, self.trip_count] {
            hasher.u64(u64::from(number.is_some()));
            hasher.u64(number.unwrap_or(0));
        }
    }

    /// Depth-first, this thunk first. Recursion is bounded: readers limit nesting to
    /// [`MAX_NESTING`].
    fn collect<'a>(&'a self, visit: &mut impl FnMut(&'a Thunk)) {
        visit(self);
        for nested in &self.nested {
            for thunk in &nested.sequence.thunks {
                thunk.collect(visit);
            }
        }
    }
}

/// Deepest nesting of sequences that readers accept.
pub const MAX_NESTING: usize = 64;

impl Program {
    /// All sequences with their paths: `entry` first, then depth-first in program order.
    pub fn sequences(&self) -> Vec<(SequencePath, &Sequence)> {
        fn walk<'a>(
            path: &SequencePath,
            sequence: &'a Sequence,
            out: &mut Vec<(SequencePath, &'a Sequence)>,
        ) {
            out.push((path.clone(), sequence));
            for (index, thunk) in sequence.thunks.iter().enumerate() {
                for nested in &thunk.nested {
                    walk(&path.child(index as u32, nested.role), &nested.sequence, out);
                }
            }
        }
        let mut out = Vec::new();
        walk(&SequencePath::entry(), &self.sequence, &mut out);
        out
    }

    /// Indices into [`Program::sequences`] in the order in which XLA builds their executors: those
    /// of one control-flow thunk together, after everything inside them, and the entry last.
    pub fn build_order(&self) -> Vec<usize> {
        fn walk(sequence: &Sequence, next: &mut usize, order: &mut Vec<usize>) {
            for thunk in &sequence.thunks {
                let mut own = Vec::with_capacity(thunk.nested.len());
                for nested in &thunk.nested {
                    own.push(*next);
                    *next += 1;
                    walk(&nested.sequence, next, order);
                }
                order.extend(own);
            }
        }
        let mut order = Vec::new();
        walk(&self.sequence, &mut 1, &mut order);
        order.push(0);
        order
    }

    /// Digest of everything that the rules look at: kinds, names, uses, flags, costs, nesting.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        hasher.u64(self.resources.len() as u64);
        for resource in &self.resources {
            hasher.u64(resource.kind as u64);
        }
        for (path, sequence) in self.sequences() {
            hasher.text(&path.to_string());
            hasher.u64(sequence.thunks.len() as u64);
            for thunk in &sequence.thunks {
                thunk.feed(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// The sequence at `path`, if there is one.
    pub fn sequence_at(&self, path: &SequencePath) -> Option<&Sequence> {
        path.steps().iter().try_fold(&self.sequence, |sequence, step| {
            let thunk = sequence.thunks.get(step.thunk as usize)?;
            Some(&thunk.nested.iter().find(|nested| nested.role == step.role)?.sequence)
        })
    }
}
