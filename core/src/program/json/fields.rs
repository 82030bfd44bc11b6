//! Which fields each object has, and which name somebody may have meant.

pub(super) use crate::nearest::nearest;
use crate::program::{Access, AllocationKind, ResourceKind};

/// The fields of one kind of object.
pub(super) struct Fields {
    /// How it is called in the schema (`$defs`) and in messages.
    pub(super) object: &'static str,
    /// Fields that are read.
    pub(super) used: &'static [&'static str],
    /// Fields that later parts will read: kept without a warning.
    pub(super) reserved: &'static [&'static str],
}

pub(super) const PROGRAM: Fields = Fields {
    object: "program",
    used: &["format", "name", "origin", "allocations", "resources", "sequence"],
    reserved: &["model_name", "om_name", "root_graph", "mode", "submodels", "ranks", "iterations"],
};

pub(super) const ORIGIN: Fields = Fields { object: "origin", used: &["format", "release"], reserved: &[] };

pub(super) const ALLOCATION: Fields =
    Fields { object: "allocation", used: &["index", "size", "kind", "label"], reserved: &["memory"] };

pub(super) const RESOURCE: Fields = Fields { object: "resource", used: &["kind", "label"], reserved: &[] };

pub(super) const SEQUENCE: Fields = Fields { object: "sequence", used: &["thunks"], reserved: &[] };

pub(super) const THUNK: Fields = Fields {
    object: "thunk",
    used: &[
        "kind",
        "name",
        "uses",
        "resources",
        "may_block",
        "foreign_pool",
        "pending",
        "uses_unknown",
        "cost",
        "trip_count",
        "nested",
    ],
    reserved: &[
        "op_type",
        "original_names",
        "overflow",
        "workspace",
        "scalars",
        "tiling",
        "attributes",
        "contexts",
        "kernel",
        "cost_model",
        "sets_shape",
        "sets_address",
    ],
};

pub(super) const USE: Fields = Fields {
    object: "use",
    used: &["allocation", "offset", "size", "access"],
    reserved: &["input", "output", "dtype", "format", "shape", "optional"],
};

pub(super) const RESOURCE_USE: Fields =
    Fields { object: "resource_use", used: &["resource", "access"], reserved: &[] };

pub(super) const NESTED: Fields = Fields { object: "nested", used: &["role", "sequence"], reserved: &[] };

/// Allocation kinds by name.
pub(super) const ALLOCATION_KINDS: &[(&str, AllocationKind)] = &[
    ("parameter", AllocationKind::Parameter),
    ("output", AllocationKind::Output),
    ("constant", AllocationKind::Constant),
    ("temporary", AllocationKind::Temporary),
    ("thread-local", AllocationKind::ThreadLocal),
    ("unknown", AllocationKind::Unknown),
];

/// Resource kinds by name.
pub(super) const RESOURCE_KINDS: &[(&str, ResourceKind)] =
    &[("token", ResourceKind::Token), ("communicator", ResourceKind::Communicator)];

/// Accesses by name.
pub(super) const ACCESSES: &[(&str, Access)] = &[("read", Access::Read), ("write", Access::Write)];

/// The name of a value in one of the tables above.
pub(super) fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, other)| other == value).map_or("", |(name, _)| name)
}

/// Every kind of object, for the check against the schema.
#[cfg(test)]
pub(super) const ALL: [&Fields; 9] =
    [&PROGRAM, &ORIGIN, &ALLOCATION, &RESOURCE, &SEQUENCE, &THUNK, &USE, &RESOURCE_USE, &NESTED];

impl Fields {
    /// Used and reserved fields.
    pub(super) fn known(&self) -> impl Iterator<Item = &'static str> {
        self.used.iter().chain(self.reserved).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, THUNK.known()), expected);
    }

    #[test]
    fn misspellings_find_their_field() {
        check("knid", Some("kind"));
        check("use", Some("uses"));
        check("mayBlock", Some("may_block"));
        check("tripcount", Some("trip_count"));
        check("Nested", Some("nested"));
    }

    #[test]
    fn other_words_find_none() {
        check("colour", None);
        check("x", None);
        check(&"kind".repeat(1000), None);
    }
}
