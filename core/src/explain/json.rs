//! The whole report as data: `thunkscope.explain/1`, schema in `docs/explain.schema.json`.

use serde::{Serialize, Serializer};

use super::{Card, Report, Verdict};
use crate::digest::Digest;
use crate::executor::Plan;
use crate::graph::EdgeKind;
use crate::graph::cause::{Cause, causes};
use crate::number::wide;
use crate::program::{self, Access, BufferUse, Program, ResourceKind, ResourceUse};

/// What the field `format` says.
pub const FORMAT: &str = "thunkscope.explain/1";

/// Causes given for one edge; further ones are left out.
const MAX_CAUSES: usize = 8;

/// The erased count walks all conflicting pairs, so it is given up to this many thunks.
const MAX_THUNKS_FOR_ERASED: u32 = 20_000;

/// The report of one program, to be serialized; `file` is where the program came from.
///
/// Thunks and edges are made while they are written, so a report of any size can go to a file or a
/// pipe. Numbers of 64 bits are JSON numbers up to 2⁵³ − 1 and decimal strings above, as in
/// `thunkscope.program/1`.
pub fn document<'a>(report: &'a Report<'_>, file: Option<&'a str>) -> impl Serialize + 'a {
    let program = report.program;
    let options = &report.options;
    Document {
        format: FORMAT,
        file,
        program: &program.name,
        origin: Origin { format: &program.origin.format, release: &program.origin.release },
        digest: program.digest(),
        options: Options {
            queue: options.queue.name(),
            max_workers: options.max_workers,
            split_threshold: options.split_threshold,
            buffer_threshold: Wide(options.buffer_threshold),
            thunk_threshold: options.thunk_threshold,
        },
        summary: &report.summary,
        notes: &report.notes,
        sequences: Each(|| report.cards.iter().map(|card| sequence(program, &report.plans[card.plan], card))),
    }
}

/// The report of one program as a value in memory.
pub fn to_json(report: &Report<'_>) -> serde_json::Value {
    // Plain structures of numbers and strings: serializing them cannot fail.
    serde_json::to_value(document(report, None)).unwrap_or_default()
}

/// The report of one program as text.
pub fn to_text(report: &Report<'_>) -> String {
    // As above.
    serde_json::to_string(&document(report, None)).unwrap_or_default()
}

/// A list that is made anew each time it is serialized, one item at a time.
struct Each<F>(F);

impl<F, I> Serialize for Each<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

#[derive(Serialize)]
struct Document<'a, S> {
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    program: &'a str,
    origin: Origin<'a>,
    digest: Digest,
    options: Options,
    summary: &'a str,
    notes: &'a [String],
    /// Worst first.
    sequences: S,
}

#[derive(Serialize)]
struct Origin<'a> {
    format: &'a str,
    release: &'a str,
}

#[derive(Serialize)]
struct Options {
    queue: &'static str,
    max_workers: u32,
    split_threshold: u32,
    buffer_threshold: Wide,
    thunk_threshold: u32,
}

/// A 64-bit number that JavaScript can read.
struct Wide(u64);

impl Serialize for Wide {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        wide::serialize(&self.0, serializer)
    }
}

#[derive(Serialize)]
struct Sequence<'a, T, E> {
    path: String,
    verdict: Verdict,
    headline: &'a str,
    findings: &'a [String],
    advice: &'a [String],
    decision: Decision<'a>,
    analysis: Analysis,
    sources: &'a [u32],
    sinks: &'a [u32],
    /// Edges removed by the reduction; null where counting them would take too long.
    erased: Option<Wide>,
    thunks: T,
    edges: E,
}

#[derive(Serialize)]
struct Decision<'a> {
    sequential: bool,
    chain: Chain,
    small_buffers: SmallBuffers<'a>,
    few_thunks: FewThunks,
}

#[derive(Serialize)]
struct Chain {
    holds: bool,
    first_break: Option<u32>,
}

#[derive(Serialize)]
struct SmallBuffers<'a> {
    holds: bool,
    largest_bytes: Option<Wide>,
    largest_thunk: Option<u32>,
    largest_name: Option<&'a str>,
    threshold: Wide,
}

#[derive(Serialize)]
struct FewThunks {
    holds: bool,
    thunks: u32,
    threshold: Wide,
}

#[derive(Serialize)]
struct Analysis {
    depth: u32,
    true_depth: u32,
    peak_ready: u32,
    tasks_posted: u32,
    workers: u32,
    blocking_posted: u32,
    held_back: u32,
    repeats: Wide,
    repeats_known: bool,
    false_dependencies: Vec<(u32, u32)>,
    reused_allocations: Vec<Reuse>,
}

#[derive(Serialize)]
struct Reuse {
    allocation: u32,
    edges: u32,
}

#[derive(Serialize)]
struct Thunk<'a> {
    index: u32,
    kind: &'static str,
    name: &'a str,
    priority: u32,
    uses: Vec<Use>,
    resources: Vec<UsedResource>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nested: Vec<String>,
}

#[derive(Serialize)]
struct Use {
    allocation: u32,
    offset: Wide,
    size: Wide,
    access: &'static str,
}

#[derive(Serialize)]
struct UsedResource {
    resource: u32,
    kind: &'static str,
    access: &'static str,
}

#[derive(Serialize)]
struct Edge {
    from: u32,
    to: u32,
    kind: EdgeKind,
    causes: Vec<EdgeCause>,
}

#[derive(Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
enum EdgeCause {
    /// Indices into the two thunks' uses.
    Buffer {
        hazard: &'static str,
        from_use: u32,
        to_use: u32,
    },
    Resource {
        resource: u32,
    },
    Unknown,
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
    }
}

fn sequence<'a>(program: &'a Program, plan: &'a Plan<'_>, card: &'a Card) -> impl Serialize + 'a {
    let graph = &plan.graph;
    let thunks = &plan.sequence.thunks;
    let decision = &card.decision;
    let largest = decision.small_buffers.largest.as_ref();
    Sequence {
        path: card.path.to_string(),
        verdict: card.verdict,
        headline: &card.headline,
        findings: &card.findings,
        advice: &card.advice,
        decision: Decision {
            sequential: decision.sequential,
            chain: Chain { holds: decision.chain.holds, first_break: decision.chain.first_break },
            small_buffers: SmallBuffers {
                holds: decision.small_buffers.holds,
                largest_bytes: largest.map(|largest| Wide(largest.bytes)),
                largest_thunk: largest.map(|largest| largest.thunk),
                largest_name: largest.map(|largest| thunks[largest.thunk as usize].name.as_str()),
                threshold: Wide(decision.small_buffers.threshold),
            },
            few_thunks: FewThunks {
                holds: decision.few_thunks.holds,
                thunks: decision.few_thunks.thunks,
                threshold: Wide(decision.few_thunks.threshold),
            },
        },
        analysis: Analysis {
            depth: card.analysis.depth,
            true_depth: card.analysis.true_depth,
            peak_ready: card.measured.peak_ready,
            tasks_posted: card.measured.tasks,
            workers: card.measured.workers,
            blocking_posted: card.measured.blocking,
            held_back: card.held_back(),
            repeats: Wide(card.repeats),
            repeats_known: card.repeats_known,
            false_dependencies: card.analysis.false_edges.clone(),
            reused_allocations: card
                .analysis
                .reused
                .iter()
                .map(|reuse| Reuse { allocation: reuse.allocation, edges: reuse.edges })
                .collect(),
        },
        sources: graph.sources(),
        sinks: graph.sinks(),
        erased: (graph.len() <= MAX_THUNKS_FOR_ERASED)
            .then(|| Wide(graph.erased(plan.sequence, &program.resources))),
        thunks: Each(move || {
            thunks.iter().zip(0..).map(move |(thunk, index)| self::thunk(program, plan, thunk, index))
        }),
        edges: Each(move || {
            let into = move |to: u32| graph.incoming(to).iter().map(move |edge| (edge.node, to, edge.kind));
            (0..graph.len()).flat_map(into).map(move |(from, to, kind)| edge(program, thunks, from, to, kind))
        }),
    }
}

fn edge(program: &Program, thunks: &[program::Thunk], from: u32, to: u32, kind: EdgeKind) -> Edge {
    let (earlier, later) = (&thunks[from as usize], &thunks[to as usize]);
    let cause = |cause: Cause| match cause {
        Cause::Buffer { from_use, to_use, hazard } => {
            EdgeCause::Buffer { hazard: hazard.short(), from_use, to_use }
        }
        Cause::Resource { from_use, .. } => {
            EdgeCause::Resource { resource: earlier.all_resources()[from_use as usize].resource }
        }
        Cause::Unknown => EdgeCause::Unknown,
    };
    let causes = causes(earlier, later, &program.resources, MAX_CAUSES).into_iter().map(cause).collect();
    Edge { from, to, kind, causes }
}

fn thunk<'a>(program: &Program, plan: &Plan<'_>, thunk: &'a program::Thunk, index: u32) -> Thunk<'a> {
    let uses = thunk.all_uses().into_iter().map(|BufferUse { slice, access: how }| Use {
        allocation: slice.allocation,
        offset: Wide(slice.offset),
        size: Wide(slice.size),
        access: access(how),
    });
    let resources = thunk.all_resources().into_iter().map(|ResourceUse { resource, access: how }| {
        let kind = match program.resources.get(resource as usize).map(|resource| resource.kind) {
            Some(ResourceKind::Token) => "token",
            Some(ResourceKind::Communicator) => "communicator",
            None => "unknown",
        };
        UsedResource { resource, kind, access: access(how) }
    });
    Thunk {
        index,
        kind: thunk.kind.name(),
        name: &thunk.name,
        priority: plan.priorities()[index as usize],
        uses: uses.collect(),
        resources: resources.collect(),
        nested: thunk.nested.iter().map(|nested| plan.path.child(index, nested.role).to_string()).collect(),
    }
}
