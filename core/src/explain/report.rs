//! Everything there is to say about one program.

use super::{Card, Verdict, lint, words};
use crate::diagnostic::Diagnostic;
use crate::executor::{Options, Plan};
use crate::machine::Job;
use crate::program::Program;
use crate::slices::{Boxed, Pause, run_through};

/// Everything there is to say about one program.
#[derive(Clone, Debug)]
pub struct Report<'p> {
    /// The program.
    pub program: &'p Program,
    /// The options that the verdicts hold for.
    pub options: Options,
    /// One plan per sequence, in the order of [`Program::sequences`].
    pub plans: Vec<Plan<'p>>,
    /// One card per sequence, worst first: the more thunks are kept from running side by side, and
    /// the more often the sequence is entered, the earlier.
    pub cards: Vec<Card>,
    /// The answer for the program as a whole, in one sentence.
    pub summary: String,
    /// Findings about the program as a whole.
    pub notes: Vec<String>,
}

impl<'p> Report<'p> {
    /// Explains `program` under `options`.
    ///
    /// # Errors
    /// `GR001` for a graph with too many edges.
    pub fn new(program: &'p Program, options: Options) -> Result<Self, Diagnostic> {
        run_through(Self::sliced(program, options, &mut async |_| Ok(())))
    }

    /// As [`Report::new`], with a `pause` after each sequence: it is told how many thunks were
    /// looked at, may let others work, and ends the work with an error.
    ///
    /// # Errors
    /// As [`Report::new`], and those of `pause`.
    pub async fn in_slices(
        program: &'p Program,
        options: Options,
        mut pause: impl AsyncFnMut(Job) -> Result<(), Diagnostic>,
    ) -> Result<Self, Diagnostic> {
        Self::sliced(program, options, &mut pause).await
    }

    fn sliced<'a>(program: &'p Program, options: Options, pause: &'a mut dyn Pause) -> Boxed<'a, Self>
    where
        'p: 'a,
    {
        Box::pin(async move {
            let plans = Plan::all(program, &options)?;
            let total = plans.iter().map(|plan| u64::from(plan.graph.len())).sum();
            let mut done = 0;
            let mut cards = Vec::with_capacity(plans.len());
            for (index, plan) in plans.iter().enumerate() {
                cards.push(Card::new(program, plan, index, &options)?);
                done += u64::from(plan.graph.len());
                pause.pause(Job::Running { done, total }).await?;
            }
            // Equal cards stay in program order.
            cards.sort_unstable_by_key(|card| (std::cmp::Reverse((card.badness(), card.thunks)), card.plan));
            let summary = summary(&cards);
            Ok(Self { program, options, plans, cards, summary, notes: lint::notes(program) })
        })
    }
}

fn summary(cards: &[Card]) -> String {
    let split: Vec<_> = cards.iter().filter(|card| card.verdict == Verdict::Concurrent).collect();
    let all = words::count(cards.len() as u64, "sequence");
    match split.as_slice() {
        [] => "Nothing here is split between threads: as far as thunks go, this program runs on one core."
            .to_owned(),
        split if split.len() == cards.len() => "Work is split between threads.".to_owned(),
        split => {
            let paths: Vec<_> = split.iter().map(|card| card.path.to_string()).collect();
            format!("Work is split between threads in {} of {all}: {}.", split.len(), words::list(&paths, 4))
        }
    }
}
