//! What holds in every exhibit, so that nobody who shows one has to look again.

use super::{Exhibit, FORMAT, SHOWN_IN_LOG};
use crate::diagnostic::Diagnostic;

/// Beyond it nothing is drawn: coordinates are added and doubled.
const MAX_COORDINATE: i32 = 1 << 28;

/// More runs are no exhibit: positions count the log in one byte.
pub(super) const MAX_RUNS: usize = 255;

impl Exhibit {
    /// Whether the parts fit together.
    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        let wrong = |path: &str, expected: &str| {
            Diagnostic::error("EX002", path, expected).hint("the file was cut or edited")
        };
        let ensure = |holds: bool, path: &str, expected: &str| {
            if holds { Ok(()) } else { Err(wrong(path, expected)) }
        };
        if self.format != FORMAT {
            return Err(Diagnostic::error("EX001", "$.format", FORMAT)
                .found(&self.format)
                .hint("this file is no saved exhibit, or one of a newer version"));
        }
        let nodes = self.thunks.len();
        let known = |node: u32| (node as usize) < nodes;
        let shown = self.sequences.get(self.shown as usize);
        ensure(shown.is_some_and(|line| line.thunks as usize == nodes), "$.shown", "the shown sequence")?;
        let nested = self.thunks.iter().flat_map(|thunk| &thunk.nested);
        let inside = nested.into_iter().all(|&sequence| (sequence as usize) < self.sequences.len());
        ensure(inside, "$.thunks", "nested sequences that are in the list")?;
        ensure(known(self.asked) || nodes == 0, "$.asked", "a thunk")?;

        ensure(
            self.edges.iter().all(|edge| edge.from < edge.to && known(edge.to)),
            "$.edges",
            "edges that lead on",
        )?;
        let ascending = self.edges.is_sorted_by(|a, b| (a.from, a.to) < (b.from, b.to));
        ensure(ascending, "$.edges", "ascending edges")?;

        let picture = &self.picture;
        ensure(picture.centres.len() == nodes, "$.picture.centres", "a centre for each thunk")?;
        ensure(picture.routes.len() == self.edges.len(), "$.picture.routes", "a route for each edge")?;
        let size = crate::layout::Point { x: picture.width, y: picture.height };
        let mut points =
            picture.centres.iter().chain(picture.routes.iter().flatten()).chain([&picture.node, &size]);
        let near = |value: i32| (-MAX_COORDINATE..=MAX_COORDINATE).contains(&value);
        ensure(points.all(|point| near(point.x) && near(point.y)), "$.picture", "a picture of modest size")?;

        ensure(self.runs.len() <= MAX_RUNS, "$.runs", "at most 255 runs")?;
        let mut counters = vec![0_u32; nodes];
        self.edges.iter().for_each(|edge| counters[edge.to as usize] += 1);
        for (index, run) in self.runs.iter().enumerate() {
            let path = format!("$.runs[{index}].log");
            let header = run.log.header.sequences.get(SHOWN_IN_LOG as usize);
            ensure(header.is_some_and(|header| header.counters == counters), &path, "a log of this graph")?;
        }
        let events: usize = self.runs.iter().map(|run| run.log.events.len()).sum();
        ensure(self.opening as usize <= events, "$.opening", "a position on the clock")
    }
}
