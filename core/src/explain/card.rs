//! One sequence: verdict, margins, findings, advice.

use super::words::{Figure, bytes, count, list, number, thunk_name};
use super::{Measured, Verdict};
use crate::diagnostic::Diagnostic;
use crate::executor::{Options, Plan};
use crate::graph::analysis::Analysis;
use crate::graph::decision::Decision;
use crate::program::{Kind, Program, Role, SequencePath};

/// What there is to say about one sequence.
#[derive(Clone, Debug)]
pub struct Card {
    /// The sequence.
    pub path: SequencePath,
    /// Index of its plan in [`Report::plans`](super::Report::plans).
    pub plan: usize,
    /// Number of thunks.
    pub thunks: u32,
    /// In a word.
    pub verdict: Verdict,
    /// The three rules with their margins.
    pub decision: Decision,
    /// What a run shows.
    pub measured: Measured,
    /// Depths and false dependencies.
    pub analysis: Analysis,
    /// The verdict in one sentence.
    pub headline: String,
    /// What stands behind it, a sentence each.
    pub findings: Vec<String>,
    /// What the user can do, a sentence each. May be empty.
    pub advice: Vec<String>,
    /// How often one run of the program enters the sequence: trip counts of the loops around it
    /// multiplied, [`ASSUMED_TRIPS`] where one is not known.
    pub repeats: u64,
    /// All those trip counts are known.
    pub repeats_known: bool,
}

/// Trips of a `while` whose trip count the file does not say, for the order of the cards.
pub const ASSUMED_TRIPS: u64 = 10;

impl Card {
    /// What there is to say about the sequence of `plan`, which is plan `index` of its program.
    ///
    /// # Errors
    /// `SM001` for a run with too many events.
    pub fn new(
        program: &Program,
        plan: &Plan<'_>,
        index: usize,
        options: &Options,
    ) -> Result<Self, Diagnostic> {
        let measured = Measured::new(program, plan, options)?;
        let analysis = Analysis::new(plan.sequence, &program.resources, &plan.graph);
        let thunks = plan.graph.len();
        let verdict = Verdict::new(thunks, &plan.decision, &measured);
        let mut card = Self {
            path: plan.path.clone(),
            plan: index,
            thunks,
            verdict,
            decision: plan.decision.clone(),
            measured,
            analysis,
            headline: String::new(),
            findings: Vec::new(),
            advice: Vec::new(),
            repeats: 1,
            repeats_known: true,
        };
        card.count_repeats(program);
        card.headline = card.headline(options);
        card.findings = card.findings(program, plan, options);
        card.advice = card.advice(options);
        Ok(card)
    }

    /// Thunks that a chain of true dependencies does not explain, while all run on one thread:
    /// how bad the verdict is.
    pub fn held_back(&self) -> u32 {
        match self.verdict {
            Verdict::Empty | Verdict::Concurrent => 0,
            Verdict::Sequential | Verdict::NeverSplit => {
                self.thunks - self.analysis.true_depth.min(self.thunks)
            }
        }
    }

    /// The order of the cards, worst last: thunks held back, each time the sequence is entered.
    pub fn badness(&self) -> u64 {
        u64::from(self.held_back()).saturating_mul(self.repeats)
    }

    fn count_repeats(&mut self, program: &Program) {
        let mut sequence = &program.sequence;
        for step in self.path.steps() {
            let Some(thunk) = sequence.thunks.get(step.thunk as usize) else { return };
            if thunk.kind == Kind::While {
                self.repeats_known &= thunk.trip_count.is_some();
                self.repeats = self.repeats.saturating_mul(thunk.trip_count.unwrap_or(ASSUMED_TRIPS));
            }
            let Some(nested) = thunk.nested.iter().find(|nested| nested.role == step.role) else { return };
            sequence = &nested.sequence;
        }
    }

    /// Whether the three rules leave the sequence to the ready queues.
    fn rules_that_hold(&self) -> usize {
        let Decision { chain, small_buffers, few_thunks, .. } = &self.decision;
        [chain.holds, small_buffers.holds, few_thunks.holds].iter().filter(|&&holds| holds).count()
    }

    fn headline(&self, options: &Options) -> String {
        let Decision { chain, small_buffers, few_thunks, .. } = &self.decision;
        match self.verdict {
            Verdict::Empty => "There is nothing to run.".to_owned(),
            Verdict::Sequential if self.thunks == 1 => {
                "One thunk: there is nothing to run beside it.".to_owned()
            }
            Verdict::Sequential => {
                let mut rules = Vec::new();
                if chain.holds {
                    rules.push("each thunk waits for the one before it".to_owned());
                }
                if small_buffers.holds {
                    rules.push(match &small_buffers.largest {
                        Some(_) => format!("no slice is larger than {}", bytes(small_buffers.threshold)),
                        None => "no thunk uses a buffer, and none that is larger than the limit".to_owned(),
                    });
                }
                if few_thunks.holds {
                    let limit = number(few_thunks.threshold);
                    rules.push(format!("it has {} (the limit is {limit})", self.thunk_count()));
                }
                format!("Sequential, on one thread: {}.", list(&rules, rules.len()))
            }
            Verdict::NeverSplit if options.max_workers == 0 => {
                "Concurrent, but no worker is allowed beside the calling thread: one thread does everything."
                    .to_owned()
            }
            Verdict::NeverSplit => format!(
                "Concurrent, but never split: at most {} ready at once, and work is handed over only above {}. One \
                 task, one thread{}.",
                match self.measured.peak_ready {
                    0 => "no other thunk is".to_owned(),
                    1 => "1 other thunk is".to_owned(),
                    n => format!("{} other thunks are", number(u64::from(n))),
                },
                number(u64::from(options.split_threshold)),
                match self.measured.blocking {
                    0 => "",
                    _ => ", apart from blocking thunks",
                }
            ),
            Verdict::Concurrent => format!(
                "Concurrent: hands work over {}, so at most {} take part.",
                match self.measured.tasks {
                    1 => "once".to_owned(),
                    n => format!("{} times", number(u64::from(n))),
                },
                count(u64::from(self.measured.workers) + 1, "thread"),
            ),
        }
    }

    fn thunk_count(&self) -> Figure<'static> {
        count(u64::from(self.thunks), "thunk")
    }

    fn findings(&self, program: &Program, plan: &Plan<'_>, options: &Options) -> Vec<String> {
        if self.verdict == Verdict::Empty {
            return Vec::new();
        }
        let mut findings = self.rules(plan);
        let n = u64::from(self.thunks);
        let (depth, truly) = (u64::from(self.analysis.depth), u64::from(self.analysis.true_depth));
        if n > 1 {
            findings.push(format!(
                "Longest chain of dependencies: {} of {}; by data flow alone (memory never reused) {}.",
                number(depth),
                count(n, "thunk"),
                number(truly)
            ));
        }
        // For a sequence that is never split, the headline has said so.
        if n > 1 && self.verdict != Verdict::NeverSplit {
            let verb = match (self.decision.sequential, self.measured.peak_ready) {
                (true, _) => "would be",
                (false, 1) => "is",
                (false, _) => "are",
            };
            findings.push(format!(
                "{} {verb} ready at once{}; a queue is split when more than {} are.",
                match self.measured.peak_ready {
                    0 => "No other thunk".to_owned(),
                    1 => "At most 1 other thunk".to_owned(),
                    n => format!("At most {} other thunks", number(u64::from(n))),
                },
                if self.decision.sequential { " if it ran concurrently" } else { "" },
                number(u64::from(options.split_threshold))
            ));
        }
        if self.measured.blocking > 0 && !self.decision.sequential {
            findings.push(format!(
                "{} that may block (collectives, infeed, outfeed) {} handed to another thread, each alone and \
                 without asking for the cap of {}.",
                count(u64::from(self.measured.blocking), "thunk"),
                if self.measured.blocking == 1 { "is" } else { "are" },
                count(u64::from(options.max_workers), "worker")
            ));
        }
        findings.extend(self.reuse(program, plan));
        findings
    }

    /// The three rules, whether they hold or not, each with its margin.
    fn rules(&self, plan: &Plan<'_>) -> Vec<String> {
        let Decision { chain, small_buffers, few_thunks, .. } = &self.decision;
        let name = |node: u32| match thunk_name(&plan.sequence.thunks[node as usize].name).as_str() {
            "" => format!("thunk {node}"),
            name => format!("thunk {node} `{name}`"),
        };
        let holds = |holds: bool| if holds { "holds" } else { "does not hold" };
        let chain_margin = match chain.first_break {
            Some(node) => format!("{} does not wait for thunk {}", name(node), node.saturating_sub(1)),
            None => "every thunk waits for the one before it".to_owned(),
        };
        let buffer_margin = match (&small_buffers.largest, small_buffers.unknown) {
            (_, Some(node)) => format!("nobody knows what {} uses", name(node)),
            (Some(largest), None) => {
                format!(
                    "the largest slice has {} ({}), the limit is {}",
                    bytes(largest.bytes),
                    name(largest.thunk),
                    bytes(small_buffers.threshold)
                )
            }
            (None, None) => "no thunk uses a buffer".to_owned(),
        };
        vec![
            format!("Chain rule {}: {chain_margin}.", holds(chain.holds)),
            format!("Small-buffers rule {}: {buffer_margin}.", holds(small_buffers.holds)),
            format!(
                "Few-thunks rule {}: {}, the limit is {}.",
                holds(few_thunks.holds),
                self.thunk_count(),
                number(few_thunks.threshold)
            ),
        ]
    }

    /// Edges that exist only because memory is reused, and which memory.
    fn reuse(&self, program: &Program, plan: &Plan<'_>) -> Option<String> {
        let edges = self.analysis.false_edges.len() as u64;
        if edges == 0 {
            return None;
        }
        let worst = self.analysis.reused.iter().map(|reuse| {
            // Allocations are in the order of their indices.
            let place = program.allocations.binary_search_by_key(&reuse.allocation, |known| known.index);
            let size = place.map_or(String::new(), |at| format!(", {}", bytes(program.allocations[at].size)));
            format!("allocation {} ({}{size})", reuse.allocation, count(u64::from(reuse.edges), "edge"))
        });
        Some(format!(
            "{} of {} exist{} only because memory is reused: {}.",
            number(edges),
            count(u64::from(plan.graph.edge_count()), "edge"),
            if edges == 1 { "s" } else { "" },
            list(&worst.collect::<Vec<_>>(), 4)
        ))
    }

    fn advice(&self, options: &Options) -> Vec<String> {
        let mut advice = Vec::new();
        let needed = u64::from(options.split_threshold) + 1;
        let peak = u64::from(self.measured.peak_ready);
        match self.verdict {
            Verdict::Empty | Verdict::Concurrent => {}
            Verdict::Sequential if self.thunks <= 1 => {}
            Verdict::Sequential => advice.extend(self.advice_on_rules(needed)),
            Verdict::NeverSplit if options.max_workers == 0 => {}
            Verdict::NeverSplit => advice.push(format!(
                "More independent work in {}: {} ready thunks beside the running one are needed, {} {} seen. \
                 Batching or unrolling independent parts raises that number.",
                self.place(),
                number(needed),
                number(peak),
                if peak == 1 { "was" } else { "were" },
            )),
        }
        if self.analysis.depth > self.analysis.true_depth {
            advice.push(
                "Reused memory lengthens the longest chain. XLA chooses the reuse; the one flag that bears on it is \
                 --xla_cpu_scheduler_type in XLA_FLAGS, whose default already favours concurrency over memory. So \
                 this helps only if CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED was asked for."
                    .to_owned(),
            );
        }
        advice
    }

    /// What would lift the rules that hold, and whether that would be enough.
    fn advice_on_rules(&self, needed: u64) -> Vec<String> {
        let Decision { chain, small_buffers, few_thunks, .. } = &self.decision;
        if chain.holds {
            let by_flow = self.analysis.true_depth >= self.thunks;
            return vec![if by_flow {
                "Nothing to gain between thunks: each waits for the one before. Look for parallelism inside the \
                 kernels, or batch independent work into one call."
                    .to_owned()
            } else {
                format!(
                    "As compiled, nothing can run side by side. By data flow alone the longest chain would be {} of \
                     {}: it is the reuse of memory that orders the rest.",
                    number(u64::from(self.analysis.true_depth)),
                    self.thunk_count()
                )
            }];
        }
        let mut advice = Vec::new();
        let knob = "No flag and no environment variable reaches this threshold.";
        if small_buffers.holds && small_buffers.largest.is_some() {
            advice.push(format!(
                "A larger batch or wider layers: one slice above {} lifts the small-buffers rule. {knob}",
                bytes(small_buffers.threshold)
            ));
        }
        if few_thunks.holds {
            advice.push(format!(
                "More work in {}: above {} the few-thunks rule no longer holds. {knob}",
                self.place(),
                count(few_thunks.threshold, "thunk")
            ));
        }
        if self.rules_that_hold() > 1 {
            advice.push("Each of these rules is enough by itself: all have to be lifted.".to_owned());
        }
        let peak = u64::from(self.measured.peak_ready);
        if peak < needed {
            advice.push(format!(
                "That alone would not bring a second thread: work is handed over only when {} other thunks are \
                 ready, and here {} would be. Batch or unroll independent parts.",
                number(needed),
                number(peak)
            ));
        }
        advice
    }

    /// What has to grow.
    fn place(&self) -> &'static str {
        match self.path.steps().last().map(|step| step.role) {
            None => "one jit",
            Some(Role::Condition) => "this loop's condition",
            Some(Role::Body) => "this loop's body",
            Some(Role::Branch(_)) => "this branch",
            Some(Role::Called) => "this called sequence",
        }
    }
}
