//! The uses of a sequence in the form that the sweeps want: pieces of trees.
//!
//! XLA's overlap rule, empty slices included, is "share a point" once coordinates are doubled:
//! `[a, b)` covers the points `2a + 1 ..= 2b − 1`, and an empty slice at `p` covers `2p` alone.

use std::ops::Range;

use super::NodeId;
use super::last_access::{Pieces, TreeSize};
use crate::program::{Access, Resource, ResourceKind, Sequence, Slice, Thunk};

/// What it means for two slices to overlap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    /// XLA's formula, with its view of empty slices.
    Xla,
    /// They share a byte; empty slices are left out.
    Bytes,
}

/// Every use of every thunk of a sequence, by thunk.
pub(super) struct Accesses {
    /// Uses of thunk `i` are `uses[start[i]..start[i + 1]]`.
    start: Vec<usize>,
    uses: Vec<Use>,
    /// The slices that are used; most programs use the same ones again and again. Those of
    /// resources come first.
    slices: Vec<Pieces>,
    /// What each tree stands for.
    pub(super) trees: Vec<TreeInfo>,
}

/// One use, as it is stored.
#[derive(Clone, Copy)]
struct Use {
    slice: u32,
    access: Access,
    takes_data: bool,
}

/// One use, as it is wanted.
#[derive(Clone, Copy)]
pub(super) struct Touch {
    /// Uses of the same slice have the same pieces; the reverse need not hold.
    pub(super) slice: u32,
    pub(super) pieces: Pieces,
    pub(super) access: Access,
    /// For the analysis of true dependencies: bytes flow into the thunk from here.
    pub(super) takes_data: bool,
}

/// What a tree stands for.
#[derive(Clone, Copy)]
pub(super) struct TreeInfo {
    pub(super) class: Class,
    /// The number of the allocation or resource.
    pub(super) number: u32,
    /// How many pieces.
    pub(super) size: TreeSize,
}

/// What a conflict in a tree means (executor spec §2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// An allocation.
    Buffer,
    /// A token.
    Token,
    /// A collective communicator.
    Communicator,
    /// Everything: written by thunks whose uses are unknown, read by all others.
    Unknown,
}

/// The tree of slices in allocations that nothing writes: they cause no conflict.
const UNWRITTEN: u32 = u32::MAX;

impl Accesses {
    /// Collects the uses of `sequence`.
    pub(super) fn new(sequence: &Sequence, resources: &[Resource], rule: Overlap) -> Self {
        // A hostile index must not cost memory: beyond the list, all share one token.
        let listed = resources.len() as u32;
        let classes = resources.iter().map(|resource| class(resource.kind));
        let classes = classes.chain([Class::Token, Class::Unknown]);
        let trees: Vec<_> = classes
            .zip(0..)
            .map(|(class, number)| TreeInfo { class, number, size: TreeSize { pieces: 1, flat: true } })
            .collect();
        let slices = (0..=listed + 1).map(|tree| Pieces { tree, lo: 0, hi: 1 }).collect();
        let mut this = Self { start: vec![0], uses: Vec::new(), slices, trees };
        this.start.reserve(sequence.thunks.len());
        let mut declared = Declared::new(listed + 2);
        let mut unknown = Vec::new();
        for (thunk, node) in sequence.thunks.iter().zip(0..) {
            each_thunk(thunk, &mut |part, in_place| {
                for use_ in &part.uses {
                    if rule == Overlap::Xla || use_.slice.size > 0 {
                        let (slice, access) = (declared.slice(use_.slice, use_.access), use_.access);
                        this.uses.push(Use { slice, access, takes_data: access == Access::Read || in_place });
                    }
                }
                for use_ in &part.resources {
                    let slice = use_.resource.min(listed);
                    this.uses.push(Use { slice, access: use_.access, takes_data: true });
                }
                if part.uses_unknown && unknown.last() != Some(&node) {
                    unknown.push(node);
                }
            });
            this.start.push(this.uses.len());
        }
        declared.place(&mut this.slices, &mut this.trees);
        if !unknown.is_empty() {
            this.add_unknown(&unknown, listed + 1);
        }
        this
    }

    /// Number of thunks.
    pub(super) fn len(&self) -> u32 {
        (self.start.len() - 1) as u32
    }

    /// All slices, in the order of their numbers.
    pub(super) fn slices(&self) -> &[Pieces] {
        &self.slices
    }

    /// The uses of one thunk that can cause conflicts.
    pub(super) fn of(&self, node: NodeId) -> impl Iterator<Item = Touch> + Clone {
        let touch = |&Use { slice, access, takes_data }: &Use| {
            let pieces = self.slices[slice as usize];
            (pieces.tree != UNWRITTEN).then_some(Touch { slice, pieces, access, takes_data })
        };
        self.uses[self.range(node)].iter().filter_map(touch)
    }

    /// The class of a use.
    pub(super) fn class(&self, touch: &Touch) -> Class {
        self.trees[touch.pieces.tree as usize].class
    }

    fn range(&self, node: NodeId) -> Range<usize> {
        self.start[node as usize]..self.start[node as usize + 1]
    }

    /// The nodes of `unknown` write the slice that stands for everything, all others read it.
    fn add_unknown(&mut self, unknown: &[NodeId], everything: u32) {
        let mut uses = Vec::with_capacity(self.uses.len() + self.start.len());
        for node in 0..self.len() {
            let own = self.range(node);
            self.start[node as usize] = uses.len();
            uses.extend_from_slice(&self.uses[own]);
            let is_unknown = unknown.binary_search(&node).is_ok();
            let access = if is_unknown { Access::Write } else { Access::Read };
            uses.push(Use { slice: everything, access, takes_data: true });
        }
        if let Some(end) = self.start.last_mut() {
            *end = uses.len();
        }
        self.uses = uses;
    }
}

fn class(kind: ResourceKind) -> Class {
    match kind {
        ResourceKind::Token => Class::Token,
        ResourceKind::Communicator => Class::Communicator,
    }
}

/// The thunk, then all thunks nested in it, in the order of [`Thunk::all_uses`]; with each, whether
/// old content may come out of what it writes ([`Kind::updates_in_place`](crate::program::Kind),
/// its own or that of a thunk around it).
pub(super) fn each_thunk<'a>(thunk: &'a Thunk, visit: &mut impl FnMut(&'a Thunk, bool)) {
    fn walk<'a>(thunk: &'a Thunk, inside: bool, visit: &mut impl FnMut(&'a Thunk, bool)) {
        let in_place = inside || thunk.kind.updates_in_place();
        visit(thunk, in_place);
        for nested in &thunk.nested {
            for thunk in &nested.sequence.thunks {
                walk(thunk, in_place, visit);
            }
        }
    }
    walk(thunk, false, visit);
}

/// Slices of memory on their way from bytes to pieces.
struct Declared {
    /// The number of the first slice.
    first: u32,
    slices: Vec<(Slice, Usage)>,
    /// By hash: the last slice that had it. A slice that is forgotten here is only listed twice.
    recent: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Usage {
    uses: u64,
    written: bool,
}

impl Declared {
    /// A power of two.
    const RECENT: usize = 2048;

    fn new(first: u32) -> Self {
        Self { first, slices: Vec::new(), recent: vec![u32::MAX; Self::RECENT] }
    }

    /// The number of the slice; notes the use.
    fn slice(&mut self, slice: Slice, access: Access) -> u32 {
        let mixed = slice.offset ^ slice.size.rotate_left(24) ^ (u64::from(slice.allocation) << 40);
        // Fibonacci hashing: the upper bits of the product depend on all others.
        let hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::RECENT.ilog2());
        let recent = &mut self.recent[hash as usize];
        if self.slices.get(*recent as usize).is_none_or(|(other, _)| *other != slice) {
            *recent = self.slices.len() as u32;
            self.slices.push((slice, Usage::default()));
        }
        let (_, usage) = &mut self.slices[*recent as usize];
        usage.uses += 1;
        usage.written |= access == Access::Write;
        self.first + *recent
    }

    /// Gives each written allocation a tree, and appends the pieces of each slice.
    fn place(self, pieces: &mut Vec<Pieces>, trees: &mut Vec<TreeInfo>) {
        let Self { mut slices, .. } = self;
        let numbers = rank_allocations(&mut slices);
        let mut allocations = Allocation::collect(&slices);
        let mut points = Allocation::points(&mut allocations, &slices);
        for (allocation, rank) in allocations.iter_mut().zip(0..) {
            if !allocation.written {
                continue;
            }
            // Stable, because that sort is fast where ascending runs meet.
            let own = &mut points[allocation.first..allocation.end];
            own.sort();
            let distinct = dedup(own);
            allocation.end = allocation.first + distinct;
            allocation.tree = trees.len() as u32;
            let number = numbers.get(rank as usize).map_or(rank, |&number| number);
            let size = TreeSize { pieces: (distinct - 1) as u32, flat: false };
            trees.push(TreeInfo { class: Class::Buffer, number, size });
        }
        pieces.reserve(slices.len());
        for (slice, usage) in &slices {
            let allocation = &mut allocations[slice.allocation as usize];
            if !allocation.written {
                pieces.push(Pieces { tree: UNWRITTEN, lo: 0, hi: 0 });
                continue;
            }
            let [lo, hi] = allocation.span(slice);
            let own = &points[allocation.first..allocation.end];
            // Many slices follow the one before them, and most are one piece.
            let lo = find(own, allocation.guess, lo);
            let hi = find(own, lo + 1, hi);
            allocation.guess = hi;
            allocation.covered += usage.uses * (hi - lo) as u64;
            pieces.push(Pieces { tree: allocation.tree, lo: lo as u32, hi: hi as u32 });
        }
        for allocation in allocations.iter().filter(|allocation| allocation.written) {
            trees[allocation.tree as usize].size.flat = allocation.covered <= FLAT * allocation.uses;
        }
    }
}

/// Pieces per use up to which pieces one by one are faster than a tree.
const FLAT: u64 = 4;

/// Replaces allocations by their ranks if their numbers are too large for a table, and returns
/// the numbers by rank.
fn rank_allocations(slices: &mut [(Slice, Usage)]) -> Vec<u32> {
    let mut numbers = Vec::new();
    if slices.iter().any(|(slice, _)| slice.allocation as usize > 8 * slices.len()) {
        numbers.extend(slices.iter().map(|(slice, _)| slice.allocation));
        numbers.sort_unstable();
        numbers.dedup();
        for (slice, _) in slices {
            slice.allocation = numbers.partition_point(|&number| number < slice.allocation) as u32;
        }
    }
    numbers
}

/// One allocation, while slices are placed in it.
#[derive(Clone, Copy, Default)]
struct Allocation {
    slices: usize,
    uses: u64,
    written: bool,
    any_empty: bool,
    tree: u32,
    /// Its end points are `points[first..end]`.
    first: usize,
    end: usize,
    /// Where the next slice probably begins.
    guess: usize,
    /// Pieces of all uses together.
    covered: u64,
}

impl Allocation {
    fn collect(slices: &[(Slice, Usage)]) -> Vec<Self> {
        let count = slices.iter().map(|(slice, _)| slice.allocation as usize + 1).max().unwrap_or(0);
        let mut allocations = vec![Self::default(); count];
        for (slice, usage) in slices {
            let allocation = &mut allocations[slice.allocation as usize];
            allocation.slices += 1;
            allocation.uses += usage.uses;
            allocation.written |= usage.written;
            allocation.any_empty |= slice.size == 0;
        }
        allocations
    }

    /// The end points of the slices in written allocations, one allocation after the other.
    fn points(allocations: &mut [Self], slices: &[(Slice, Usage)]) -> Vec<u64> {
        let mut total = 0;
        for allocation in &mut *allocations {
            (allocation.first, allocation.end) = (total, total);
            if allocation.written {
                total += 2 * allocation.slices;
            }
        }
        let mut points = vec![0; total];
        for (slice, _) in slices {
            let allocation = &mut allocations[slice.allocation as usize];
            if !allocation.written {
                continue;
            }
            let [lo, hi] = allocation.span(slice);
            // Slices that continue the one before are common.
            if points[allocation.first..allocation.end].last() != Some(&lo) {
                points[allocation.end] = lo;
                allocation.end += 1;
            }
            points[allocation.end] = hi;
            allocation.end += 1;
        }
        points
    }

    /// The points that a slice covers. Without empty slices in the allocation the even points are
    /// never needed, and adjacent slices share an end point instead of having a piece between them.
    fn span(&self, slice: &Slice) -> [u64; 2] {
        match slice.size {
            0 => [2 * slice.offset, 2 * slice.offset + 1],
            _ => [2 * slice.offset + u64::from(self.any_empty), 2 * slice.end()],
        }
    }
}

/// Moves the different values of an ascending list to its front; returns how many there are.
fn dedup(list: &mut [u64]) -> usize {
    let mut kept = 0;
    for at in 0..list.len() {
        if at == 0 || list[at] != list[kept - 1] {
            list[kept] = list[at];
            kept += 1;
        }
    }
    kept
}

/// The index of `point` in an ascending list that has it, perhaps at `guess`.
fn find(list: &[u64], guess: usize, point: u64) -> usize {
    if list.get(guess) == Some(&point) { guess } else { list.partition_point(|&other| other < point) }
}
