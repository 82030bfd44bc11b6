//! Tensors that are never dumped, by op name or op type (ge-dump spec §3.3).

use std::collections::{BTreeMap, BTreeSet};

/// One tensor of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// An input, counted from 0.
    Input(u32),
    /// An output, counted from 0.
    Output(u32),
}

impl Position {
    /// Reads `input0`, `output12`. An index beyond 32 bits is no position (P-2, T20).
    pub fn parse(text: &str) -> Option<Self> {
        let index = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if plain { digits.parse::<u32>().ok() } else { None }
        };
        match text.strip_prefix("input") {
            Some(digits) => index(digits).map(Self::Input),
            None => index(text.strip_prefix("output")?).map(Self::Output),
        }
    }
}

/// Blacklisted positions of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blacklist {
    /// By op type.
    pub by_type: BTreeMap<String, BTreeSet<Position>>,
    /// By op name.
    pub by_name: BTreeMap<String, BTreeSet<Position>>,
}

impl Blacklist {
    /// Joins another list to this one.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in [(&mut self.by_type, other.by_type), (&mut self.by_name, other.by_name)] {
            for (name, positions) in theirs {
                mine.entry(name).or_default().extend(positions);
            }
        }
    }

    /// Whether this tensor of this op is on the list.
    pub fn has(&self, op_type: &str, op_name: &str, position: Position) -> bool {
        let on = |list: &BTreeMap<String, BTreeSet<Position>>, key: &str| {
            list.get(key).is_some_and(|positions| positions.contains(&position))
        };
        on(&self.by_type, op_type) || on(&self.by_name, op_name)
    }

    /// Nothing is on the list.
    pub fn is_empty(&self) -> bool {
        self.by_type.is_empty() && self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions() {
        for (text, expected) in [
            ("input0", Some(Position::Input(0))),
            ("output12", Some(Position::Output(12))),
            ("input4294967295", Some(Position::Input(u32::MAX))),
            ("input4294967296", None),
            ("output99999999999999999999", None),
            ("input", None),
            ("input-1", None),
            ("input+1", None),
            ("Input0", None),
            ("input0 ", None),
            ("", None),
            ("0", None),
        ] {
            assert_eq!(Position::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_merge_by_union() {
        let list = |name: &str, index| Blacklist {
            by_name: [(name.to_owned(), [Position::Input(index)].into())].into(),
            by_type: [("Add".to_owned(), [Position::Output(index)].into())].into(),
        };
        let mut merged = list("a", 0);
        merged.merge(list("a", 1));
        merged.merge(list("b", 2));
        for (name, position, expected) in [
            ("a", Position::Input(0), true),
            ("a", Position::Input(1), true),
            ("a", Position::Input(2), false),
            ("b", Position::Input(2), true),
            ("c", Position::Output(2), true),
            ("c", Position::Output(3), false),
        ] {
            assert_eq!(merged.has("Add", name, position), expected, "{name} {position:?}");
        }
        assert!(!merged.has("Mul", "c", Position::Output(2)));
    }
}
