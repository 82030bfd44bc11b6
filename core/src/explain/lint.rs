//! Findings about a program as a whole.

use crate::program::{Program, Sequence, Thunk};

/// Notes for the end of a report.
pub(super) fn notes(program: &Program) -> Vec<String> {
    let mut notes = Vec::new();
    let loaded = ["xla-executable", "jax-cache"].contains(&program.origin.format.as_str());
    if loaded && program.sequences().iter().any(|(_, sequence)| mixes_collectives(sequence)) {
        notes.push(
            "This file holds collectives both beside and inside a control-flow thunk. Loading a serialized or \
             cached executable gives each nested sequence a communicator of its own, so the scheduling edges \
             between the two are lost; a freshly compiled module keeps them. Ranks may then start these \
             collectives in different orders."
                .to_owned(),
        );
    }
    if program.sequences().iter().any(|(_, sequence)| sequence.thunks.iter().any(|thunk| thunk.uses_unknown))
    {
        notes.push(
            "Some thunks are of a kind that this reader does not know. They are taken to clash with \
             everything, so the real graph may be wider than shown."
                .to_owned(),
        );
    }
    notes
}

fn mixes_collectives(sequence: &Sequence) -> bool {
    let outer = sequence.thunks.iter().any(|thunk| thunk.kind.is_collective());
    outer && sequence.thunks.iter().any(contains_collective)
}

fn contains_collective(thunk: &Thunk) -> bool {
    thunk.nested.iter().any(|nested| {
        nested.sequence.thunks.iter().any(|inner| inner.kind.is_collective() || contains_collective(inner))
    })
}
