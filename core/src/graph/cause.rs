//! Why one thunk must wait for another: the uses that clash.

use serde::{Deserialize, Serialize};

use super::EdgeKind;
use super::conflict::{edge_kind, resource_conflicts};
use crate::program::{Access, Resource, Thunk};

/// One reason for an edge `from → to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Two slices overlap and one of them is written.
    Buffer {
        /// Index into the earlier thunk's [`Thunk::all_uses`].
        from_use: u32,
        /// Index into the later thunk's [`Thunk::all_uses`].
        to_use: u32,
        /// Which of the two is written.
        hazard: Hazard,
    },
    /// Both use one resource and one of them writes it.
    Resource {
        /// Index into the earlier thunk's [`Thunk::all_resources`].
        from_use: u32,
        /// Index into the later thunk's [`Thunk::all_resources`].
        to_use: u32,
        /// The kind of edge that this resource gives.
        kind: EdgeKind,
    },
    /// One of the two has unknown uses and clashes with everything.
    Unknown,
}

/// How two accesses clash, by the order in which the program has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// The later one reads what was written: data may flow. RAW.
    ReadAfterWrite,
    /// The later one overwrites what was read. WAR.
    WriteAfterRead,
    /// The later one overwrites what was written. WAW.
    WriteAfterWrite,
}

impl Hazard {
    /// The usual three letters.
    pub fn short(self) -> &'static str {
        match self {
            Self::ReadAfterWrite => "RAW",
            Self::WriteAfterRead => "WAR",
            Self::WriteAfterWrite => "WAW",
        }
    }
}

/// The first cause of an edge, in a word: what a picture can show of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// [`Hazard::ReadAfterWrite`].
    #[serde(rename = "RAW")]
    ReadAfterWrite,
    /// [`Hazard::WriteAfterRead`].
    #[serde(rename = "WAR")]
    WriteAfterRead,
    /// [`Hazard::WriteAfterWrite`].
    #[serde(rename = "WAW")]
    WriteAfterWrite,
    /// They share a resource.
    #[serde(rename = "resource")]
    Resource,
    /// One of the two has unknown uses.
    #[serde(rename = "unknown")]
    Unknown,
}

impl Reason {
    /// Why `to` must wait for `from`; of several causes the first, as [`causes`] orders them.
    pub fn of(from: &Thunk, to: &Thunk, resources: &[Resource]) -> Self {
        match causes(from, to, resources, 1).first() {
            Some(Cause::Buffer { hazard: Hazard::ReadAfterWrite, .. }) => Self::ReadAfterWrite,
            Some(Cause::Buffer { hazard: Hazard::WriteAfterRead, .. }) => Self::WriteAfterRead,
            Some(Cause::Buffer { hazard: Hazard::WriteAfterWrite, .. }) => Self::WriteAfterWrite,
            Some(Cause::Resource { .. }) => Self::Resource,
            Some(Cause::Unknown) | None => Self::Unknown,
        }
    }
}

/// All causes of the edge `from → to`, at most `limit`: buffers in the order of the uses, then
/// resources. None means that the two thunks do not clash.
pub fn causes(from: &Thunk, to: &Thunk, resources: &[Resource], limit: usize) -> Vec<Cause> {
    let (ours, theirs) = (from.all_uses(), to.all_uses());
    let buffers = ours.iter().zip(0..).flat_map(|(a, from_use)| {
        theirs.iter().zip(0..).filter(|(b, _)| a.conflicts(b)).map(move |(b, to_use)| {
            let hazard = match (a.access, b.access) {
                (Access::Read, _) => Hazard::WriteAfterRead,
                (Access::Write, Access::Read) => Hazard::ReadAfterWrite,
                (Access::Write, Access::Write) => Hazard::WriteAfterWrite,
            };
            Cause::Buffer { from_use, to_use, hazard }
        })
    });
    let (ours, theirs) = (from.all_resources(), to.all_resources());
    let taken = resource_conflicts(&ours, &theirs).map(|(a, b)| Cause::Resource {
        from_use: a as u32,
        to_use: b as u32,
        kind: edge_kind(ours[a].resource, resources),
    });
    let unknown = from.any_uses_unknown() || to.any_uses_unknown();
    buffers.chain(taken).chain(unknown.then_some(Cause::Unknown)).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Kind, Nested, ResourceKind, Role, Sequence};

    fn kernel() -> Thunk {
        Thunk::new(Kind::Kernel, "k")
    }

    #[track_caller]
    fn check(from: Thunk, to: Thunk, expected: &str) {
        let resource = |kind| Resource { kind, label: String::new() };
        let resources = [resource(ResourceKind::Token), resource(ResourceKind::Communicator)];
        let shown = causes(&from, &to, &resources, 10).into_iter().map(|cause| match cause {
            Cause::Buffer { from_use, to_use, hazard } => format!("{} {from_use}-{to_use}", hazard.short()),
            Cause::Resource { from_use, to_use, kind } => format!("{kind} {from_use}-{to_use}"),
            Cause::Unknown => "unknown".to_owned(),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(", "), expected);
    }

    #[test]
    fn the_access_of_each_side_names_the_hazard() {
        let (read, write) = (|| kernel().reads(0, 0, 8), || kernel().writes(0, 4, 8));
        check(read(), read(), "");
        check(write(), read(), "RAW 0-0");
        check(read(), write(), "WAR 0-0");
        check(write(), write(), "WAW 0-0");
    }

    #[test]
    fn every_pair_of_uses_is_named() {
        check(
            kernel().reads(0, 0, 8).writes(1, 0, 8),
            kernel().reads(1, 4, 8).reads(0, 0, 8).writes(0, 0, 1).writes(1, 7, 1),
            "WAR 0-2, RAW 1-0, WAW 1-3",
        );
    }

    #[test]
    fn resources_tell_their_kind() {
        let both = || kernel().takes(1, Access::Write).takes(0, Access::Read);
        check(both(), both(), "scheduling 0-0");
        check(both(), kernel().takes(0, Access::Write), "execution 1-0");
        check(kernel().takes(9, Access::Write), kernel().takes(9, Access::Write), "execution 0-0");
    }

    #[test]
    fn nested_uses_count_after_the_own_ones() {
        let mut outer = Thunk::new(Kind::Call, "call").reads(5, 0, 8);
        let sequence = Sequence { thunks: vec![kernel().writes(0, 0, 8)] };
        outer.nested.push(Nested { role: Role::Called, sequence });
        check(outer, kernel().reads(0, 0, 8), "RAW 1-0");
    }

    #[test]
    fn unknown_uses_clash_with_everything() {
        let mut unknown = kernel();
        unknown.uses_unknown = true;
        check(kernel(), unknown, "unknown");
    }
}
