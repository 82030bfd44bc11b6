//! The conflict rule for one pair of thunks (executor spec §2), and the kind of its edge.

use super::EdgeKind;
use crate::program::{Access, BufferUse, Resource, ResourceKind, ResourceUse, Thunk};

/// What one thunk touches, with duplicates removed: the peer of XLA's read/write set.
pub(super) struct Footprint {
    reads: Vec<BufferUse>,
    writes: Vec<BufferUse>,
    resources: Vec<ResourceUse>,
    unknown: bool,
}

impl Footprint {
    pub(super) fn new(thunk: &Thunk) -> Self {
        let mut uses = thunk.all_uses();
        uses.sort_unstable();
        uses.dedup();
        let (reads, writes) = uses.into_iter().partition(|use_| use_.access == Access::Read);
        Self { reads, writes, resources: thunk.all_resources(), unknown: thunk.any_uses_unknown() }
    }

    /// The kind of the edge between two thunks; `None` where they do not clash.
    pub(super) fn conflict(&self, later: &Self, resources: &[Resource]) -> Option<EdgeKind> {
        if self.unknown || later.unknown || self.buffers_conflict(later) {
            return Some(EdgeKind::Execution);
        }
        let clashing = resource_conflicts(&self.resources, &later.resources);
        clashing.map(|(a, _)| edge_kind(self.resources[a].resource, resources)).max()
    }

    fn buffers_conflict(&self, later: &Self) -> bool {
        let overlap = |ours: &[BufferUse], theirs: &[BufferUse]| {
            theirs.iter().any(|b| ours.iter().any(|a| a.slice.overlaps(&b.slice)))
        };
        overlap(&self.writes, &later.writes)
            || overlap(&self.writes, &later.reads)
            || overlap(&self.reads, &later.writes)
    }
}

/// Pairs of indices of uses of the same resource that clash.
pub(super) fn resource_conflicts<'a>(
    ours: &'a [ResourceUse],
    theirs: &'a [ResourceUse],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    ours.iter().enumerate().flat_map(move |(a, x)| {
        let clashes = |y: &ResourceUse| x.resource == y.resource && x.access.clashes(y.access);
        theirs.iter().enumerate().filter(move |(_, y)| clashes(y)).map(move |(b, _)| (a, b))
    })
}

/// The kind of edge that a conflict on a resource gives. An index beyond the list, which readers
/// refuse, counts as a token: the stronger kind.
pub(super) fn edge_kind(resource: u32, resources: &[Resource]) -> EdgeKind {
    match resources.get(resource as usize).map(|resource| resource.kind) {
        Some(ResourceKind::Communicator) => EdgeKind::Scheduling,
        Some(ResourceKind::Token) | None => EdgeKind::Execution,
    }
}
