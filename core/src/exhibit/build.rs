//! How an exhibit is made: plans, verdicts, runs, layout.

use super::check::MAX_RUNS;
use super::{About, EdgeLine, Exhibit, FORMAT, Picture, RunLine, SequenceLine, ThunkLine, VerdictLine};
use crate::diagnostic::Diagnostic;
use crate::executor::Plan;
use crate::explain::Card;
use crate::explain::words::{bytes, number};
use crate::graph::cause::Reason;
use crate::layout::{Layout, Layouter, Point, Size, Spacing};
use crate::machine::{Job, Ticks};
use crate::program::{Access, Program, SequencePath, Thunk};
use crate::sim::{self, Simulation};
use crate::slices::{Boxed, Pause, run_through};
use crate::trace::{Log, ends_step};

/// Size of a node in the picture, in pixels.
pub const NODE: Size = Size { width: 64, height: 34 };

/// Distances in the picture, in pixels.
pub const SPACING: Spacing = Spacing { column: 8, row: 22, lane: 14 };

/// Longest log of an exhibit, in events: a page holds several of them.
pub const MAX_EVENTS: usize = 1_000_000;

/// Lines of uses that a thunk gets; the rest is counted.
const MAX_USES: usize = 8;

/// The sequence at `path` of `program`, run once for each of `runs`.
///
/// The entry is run as part of its program; any other sequence is run alone, its control-flow
/// thunks counting as one thunk each, and faults at `path` hold for it. `labels` are what the page
/// calls the thunks, by node; where there is none, the thunk's own name is taken. Verdicts hold
/// for the executor options of the first run.
///
/// # Errors
/// `GR001` for a graph with too many edges, `SM001` for a run of more than [`MAX_EVENTS`] events,
/// `SM002` for a fault that names no thunk, `EX003` for a path that names no sequence, `EX004` for
/// more than 255 runs.
pub fn build(
    program: &Program,
    path: &SequencePath,
    runs: &[sim::Options],
    labels: &[&str],
) -> Result<Exhibit, Diagnostic> {
    run_through(sliced(program, path, runs, labels, &mut async |_| Ok(())))
}

/// As [`build`], with a `pause` after each slice of some milliseconds: it is told how far the work
/// is, may let others work, and ends the work with an error.
///
/// # Errors
/// As [`build`], and those of `pause`.
pub async fn build_in_slices(
    program: &Program,
    path: &SequencePath,
    runs: &[sim::Options],
    labels: &[&str],
    mut pause: impl AsyncFnMut(Job) -> Result<(), Diagnostic>,
) -> Result<Exhibit, Diagnostic> {
    sliced(program, path, runs, labels, &mut pause).await
}

fn sliced<'a>(
    program: &'a Program,
    path: &'a SequencePath,
    runs: &'a [sim::Options],
    labels: &'a [&str],
    pause: &'a mut dyn Pause,
) -> Boxed<'a, Exhibit> {
    Box::pin(async move {
        if runs.len() > MAX_RUNS {
            return Err(Diagnostic::error("EX004", "runs", "at most 255 runs").found(runs.len()));
        }
        let executor = runs.first().map(|options| options.executor).unwrap_or_default();
        let plans = Plan::all(program, &executor)?;
        let shown = plans.iter().position(|plan| plan.path == *path).ok_or_else(|| {
            Diagnostic::error("EX003", path.to_string(), "a sequence of the program")
                .hint("`thunkscope explain` lists the sequences of a program")
        })?;
        let plan = &plans[shown];
        let thunks: u64 = plans.iter().map(|plan| u64::from(plan.graph.len())).sum();
        let mut slices = Slices::new(thunks, plan, runs.len(), pause);

        let mut sequences = Vec::with_capacity(plans.len());
        let mut verdict = VerdictLine::default();
        for (index, plan) in plans.iter().enumerate() {
            let card = Card::new(program, plan, index, &executor)?;
            sequences.push(SequenceLine {
                path: plan.path.to_string(),
                thunks: card.thunks,
                verdict: card.verdict.name().to_owned(),
                held_back: card.held_back(),
            });
            if index == shown {
                verdict = VerdictLine::of(&card);
            }
            slices.did(u64::from(plan.graph.len()) * CARD).await?;
        }

        let alone = [plan.alone()];
        let mut lines = Vec::with_capacity(runs.len());
        for options in runs {
            let options = as_shown(options, path);
            let plans = if path.steps().is_empty() { &plans[..] } else { &alone };
            let log = run(program, plans, &options, &mut slices).await?;
            lines.push(RunLine { queue: options.executor.queue, log });
        }

        let mut layouter = Layouter::new(&plan.graph, &vec![NODE; plan.graph.len() as usize], SPACING);
        let start = slices.done;
        while let Job::Running { done, .. } = layouter.run(LAYOUT_SLICE) {
            slices.reached(start.saturating_add(done / LAYOUT_ITEMS)).await?;
        }
        let layout = layouter.finish();

        let mut edges = Vec::with_capacity(layout.edge_count() as usize);
        for (index, route) in layout.routes().enumerate() {
            let [from, to] = [route.from, route.to].map(|node| &plan.sequence.thunks[node as usize]);
            let reason = Reason::of(from, to, &program.resources);
            edges.push(EdgeLine { from: route.from, to: route.to, kind: route.kind, reason });
            if index % 1024 == 1023 {
                slices.did(1).await?;
            }
        }
        let asked = (0..plan.graph.len()).find(|&node| !plan.graph.incoming(node).is_empty());
        Ok(Exhibit {
            format: FORMAT.to_owned(),
            program: About {
                name: program.name.clone(),
                digest: program.digest(),
                origin: program.origin.format.clone(),
                release: program.origin.release.clone(),
            },
            sequences,
            shown: shown as u32,
            thunks: thunk_lines(plan, labels),
            edges,
            picture: picture(&layout),
            opening: opening(&lines),
            runs: lines,
            verdict,
            asked: asked.unwrap_or(0),
        })
    })
}

impl VerdictLine {
    /// What a card says in words.
    pub fn of(card: &Card) -> Self {
        Self {
            name: card.verdict.name().to_owned(),
            headline: card.headline.clone(),
            findings: card.findings.clone(),
            advice: card.advice.clone(),
        }
    }
}

/// Units of work: a thunk planned counts one; the others by experience.
const CARD: u64 = 4;
const RUN: u64 = 8;
const LAYOUT: u64 = 4;
const LAYOUT_ITEMS: u64 = 8;
/// Of a layout, about 5 ms.
const LAYOUT_SLICE: u64 = 40_000;
/// Turns of a lane, about 5 ms.
const RUN_SLICE: u32 = 4_000;

/// How far the work is.
struct Slices<'a> {
    done: u64,
    total: u64,
    run: u64,
    pause: &'a mut dyn Pause,
}

impl<'a> Slices<'a> {
    fn new(thunks: u64, plan: &Plan<'_>, runs: usize, pause: &'a mut dyn Pause) -> Self {
        let shown = u64::from(plan.graph.len());
        let run = RUN * if plan.path.steps().is_empty() { thunks } else { shown };
        let total = (CARD + 1) * thunks + run * runs as u64 + LAYOUT * shown + 1;
        Self { done: thunks, total, run, pause }
    }

    async fn did(&mut self, units: u64) -> Result<(), Diagnostic> {
        self.reached(self.done.saturating_add(units)).await
    }

    async fn reached(&mut self, done: u64) -> Result<(), Diagnostic> {
        self.done = self.done.max(done).min(self.total);
        self.pause.pause(Job::Running { done: self.done, total: self.total }).await
    }
}

async fn run(
    program: &Program,
    plans: &[Plan<'_>],
    options: &sim::Options,
    slices: &mut Slices<'_>,
) -> Result<Log, Diagnostic> {
    let mut simulation = Simulation::new(program, plans, options)?;
    let (start, share) = (slices.done, slices.run);
    while let Job::Running { done, .. } = simulation.advance(RUN_SLICE)? {
        slices.reached(start.saturating_add(done.min(share))).await?;
    }
    slices.reached(start.saturating_add(share)).await?;
    simulation.finish()
}

/// The options for the run of the sequence at `path`.
fn as_shown(options: &sim::Options, path: &SequencePath) -> sim::Options {
    let mut options = options.clone();
    options.max_events = options.max_events.min(MAX_EVENTS);
    if !path.steps().is_empty() {
        options.faults.retain(|fault| fault.path == *path);
        options.faults.iter_mut().for_each(|fault| fault.path = SequencePath::entry());
    }
    options
}

/// The end of the first step on the clock of all runs together: what
/// [`Together::step_after`](crate::trace::Together::step_after) says, without following any state.
fn opening(runs: &[RunLine]) -> u32 {
    let first =
        |run: &RunLine| run.log.events.iter().find(|event| ends_step(&event.kind)).map(|event| event.t);
    // Events of one instant belong together. The end of everything ends a step too.
    let end = runs.iter().filter_map(first).min().unwrap_or(Ticks::MAX);
    let before = runs.iter().map(|run| run.log.events.partition_point(|event| event.t <= end));
    u32::try_from(before.sum::<usize>()).unwrap_or(0)
}

fn picture(layout: &Layout) -> Picture {
    Picture {
        width: layout.width(),
        height: layout.height(),
        node: Point { x: NODE.width, y: NODE.height },
        centres: (0..layout.len()).map(|node| layout.centre(node)).collect(),
        routes: layout.routes().map(|route| route.points.to_vec()).collect(),
    }
}

fn thunk_lines(plan: &Plan<'_>, labels: &[&str]) -> Vec<ThunkLine> {
    let thunks = plan.sequence.thunks.iter().zip(plan.priorities()).zip(&plan.nested).enumerate();
    thunks
        .map(|(node, ((thunk, &priority), nested))| ThunkLine {
            kind: thunk.kind.name().to_owned(),
            name: thunk.name.clone(),
            label: labels.get(node).map_or_else(|| thunk.name.clone(), |&label| label.to_owned()),
            priority,
            uses: uses(thunk),
            nested: nested.iter().map(|&(_, plan)| plan as u32).collect(),
        })
        .collect()
}

/// What `thunk` itself declares, a line each.
fn uses(thunk: &Thunk) -> Vec<String> {
    let verb = |access| match access {
        Access::Read => "reads",
        Access::Write => "writes",
    };
    let slices = thunk.uses.iter().map(|used| {
        let slice = used.slice;
        let verb = verb(used.access);
        format!(
            "{verb} {} of allocation {} from {}",
            bytes(slice.size),
            slice.allocation,
            number(slice.offset)
        )
    });
    let resources =
        thunk.resources.iter().map(|used| format!("{} resource {}", verb(used.access), used.resource));
    let unknown = thunk.uses_unknown.then(|| "may use anything: the file does not tell".to_owned());
    let all = thunk.uses.len() + thunk.resources.len() + usize::from(unknown.is_some());
    let shown = if all > MAX_USES { MAX_USES - 1 } else { all };
    let mut lines: Vec<String> = slices.chain(resources).chain(unknown).take(shown).collect();
    if all > shown {
        lines.push(format!("and {} more", number((all - shown) as u64)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhibit::Chapter;
    use crate::program::Shape;
    use crate::trace::{Replay, Together};

    /// The position at which a page opens is where its own clock has the first step.
    #[track_caller]
    fn check(program: &Program, options: &sim::Options) {
        let exhibit = build(program, &SequencePath::entry(), &Chapter::runs(options), &[]).expect("builds");
        let replays = exhibit.runs.iter().map(|run| Replay::new(run.log.clone())).collect();
        assert_eq!(exhibit.opening as usize, Together::new(replays).step_after(0));
    }

    #[test]
    fn the_page_opens_after_the_first_step() {
        check(&Program::default(), &sim::Options::default());
        for (shape, post_latency) in Shape::ALL.into_iter().zip([0, 2_000, 0, 7]) {
            let options = sim::Options { post_latency, iterations: 2, ..sim::Options::default() };
            check(&shape.generate(40, 1), &options);
        }
    }
}
