//! How a sequence is named: `entry`, `entry/4.body`, `entry/4.body/2.branch_1`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Role;

/// One step down: into the nested sequence of one role of one thunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// Index of the control-flow thunk in its sequence.
    pub thunk: u32,
    /// Which of its sequences.
    pub role: Role,
}

/// The way from the program's entry to one sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequencePath(Vec<Step>);

impl SequencePath {
    /// The program's own sequence.
    pub fn entry() -> Self {
        Self::default()
    }

    /// The nested sequence `role` of thunk `thunk`.
    #[must_use]
    pub fn child(&self, thunk: u32, role: Role) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step { thunk, role });
        Self(steps)
    }

    /// The steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition => f.write_str("cond"),
            Self::Body => f.write_str("body"),
            Self::Branch(n) => write!(f, "branch_{n}"),
            Self::Called => f.write_str("call"),
        }
    }
}

impl FromStr for Role {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "cond" => Ok(Self::Condition),
            "body" => Ok(Self::Body),
            "call" => Ok(Self::Called),
            _ => text.strip_prefix("branch_").and_then(|n| n.parse().ok()).map(Self::Branch).ok_or(()),
        }
    }
}

impl fmt::Display for SequencePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("entry")?;
        self.0.iter().try_for_each(|step| write!(f, "/{}.{}", step.thunk, step.role))
    }
}

impl FromStr for SequencePath {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('/');
        if parts.next() != Some("entry") {
            return Err(());
        }
        parts
            .map(|part| {
                let (thunk, role) = part.split_once('.').ok_or(())?;
                Ok(Step { thunk: thunk.parse().map_err(|_| ())?, role: role.parse()? })
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// In JSON, the text.
impl Serialize for SequencePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SequencePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let error =
            |()| serde::de::Error::custom(format!("`{text}` is no sequence path such as `entry/4.body`"));
        text.parse().map_err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_reads_back() {
        for text in ["entry", "entry/4.body", "entry/4.body/2.branch_1/0.call/3.cond"] {
            let path: SequencePath = text.parse().expect(text);
            assert_eq!(path.to_string(), text);
        }
        for text in ["", "entry/", "body", "entry/4", "entry/x.body", "entry/4.branch_"] {
            assert!(text.parse::<SequencePath>().is_err(), "{text}");
        }
    }
}
