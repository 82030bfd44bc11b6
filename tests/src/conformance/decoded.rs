//! Does our reader of executables see the same thunks and uses as the captured lines?

use std::collections::BTreeSet;

use thunkscope_core::import::verify::is_kind;
use thunkscope_core::program::{Access, Kind, Program, ResourceKind, Sequence, SequencePath, Thunk};

use super::line::{Line, ThunkLine};

/// The first difference between one sequence of a program and its line, if any.
pub fn difference(program: &Program, line: &Line) -> Option<String> {
    let sequence = match line.path.parse::<SequencePath>() {
        Ok(path) => program.sequence_at(&path),
        Err(()) => return Some(format!("the path {} cannot be read", line.path)),
    };
    let Some(sequence) = sequence else { return Some("the program has no such sequence".to_owned()) };
    if sequence.thunks.len() != line.thunks.len() {
        return Some(format!("{} thunks, expected {}", sequence.thunks.len(), line.thunks.len()));
    }
    let renumbered = (by_rank(sequence), by_rank_of_line(line));
    sequence.thunks.iter().zip(&line.thunks).enumerate().find_map(|(index, (ours, expected))| {
        thunk_difference(program, ours, expected, &renumbered)
            .map(|what| format!("thunk {index} `{}`: {what}", expected.1))
    })
}

fn thunk_difference(
    program: &Program,
    ours: &Thunk,
    ThunkLine(kind, name, uses, resources): &ThunkLine,
    (our_ranks, line_ranks): &(Vec<u32>, Vec<u32>),
) -> Option<String> {
    if Kind::from_name(kind).is_some() && !is_kind(ours.kind, kind) {
        return Some(format!("kind {}, expected {kind}", ours.kind));
    }
    if ours.name != *name {
        return Some(format!("name {}, expected {name}", ours.name));
    }
    if ours.any_uses_unknown() {
        return Some("uses are not known".to_owned());
    }
    let letter = |access| if access == Access::Read { "R" } else { "W" };
    let our_uses: Vec<_> = ours
        .all_uses()
        .iter()
        .map(|used| {
            let slice = used.slice;
            (slice.allocation, slice.offset, slice.size, letter(used.access).to_owned())
        })
        .collect();
    // The order says nothing. A control-flow thunk uses the union of what is inside it: a set.
    let (mut sorted, mut expected) = (our_uses.clone(), uses.clone());
    sorted.sort();
    expected.sort();
    if !ours.nested.is_empty() {
        sorted.dedup();
        expected.dedup();
    }
    if sorted != expected {
        return Some(format!("uses {our_uses:?}, expected {uses:?}"));
    }
    let rank = |ranks: &[u32], id| ranks.iter().position(|&other| other == id);
    let our_resources: BTreeSet<_> = ours
        .resources
        .iter()
        .map(|used| {
            let kind = match program.resources[used.resource as usize].kind {
                ResourceKind::Token => "T",
                ResourceKind::Communicator => "C",
            };
            (rank(our_ranks, used.resource), kind, letter(used.access))
        })
        .collect();
    // Where the capture could not tell the access, the thunk takes the token and hands it on.
    let expected: BTreeSet<_> = resources
        .iter()
        .flat_map(|(id, kind, how)| {
            let accesses = match how.as_deref() {
                Some(how) => vec![how],
                None => vec!["R", "W"],
            };
            accesses.into_iter().map(move |how| (rank(line_ranks, *id), kind.as_str(), how))
        })
        .collect();
    (our_resources != expected)
        .then(|| format!("resources {our_resources:?}, expected {expected:?} (rank, kind, access)"))
}

/// The distinct resources that the thunks of a sequence use themselves, ascending.
fn by_rank(sequence: &Sequence) -> Vec<u32> {
    let all: BTreeSet<u32> =
        sequence.thunks.iter().flat_map(|thunk| &thunk.resources).map(|used| used.resource).collect();
    all.into_iter().collect()
}

fn by_rank_of_line(line: &Line) -> Vec<u32> {
    let all: BTreeSet<u32> = line.thunks.iter().flat_map(|thunk| &thunk.3).map(|used| used.0).collect();
    all.into_iter().collect()
}
