//! What would a configuration write? The report of `dump check` (schema: docs/dump-check.schema.json).

mod texts;
mod timeline;

#[cfg(test)]
mod tests;

pub use texts::{Texts, check_texts};
pub use timeline::{ChangeReport, MAX_ITERATIONS, MAX_RECORDS, RecordReport, Timeline};

use serde::Serialize;

use super::acl::{self, AclLayer};
use super::dumper;
use super::env::EnvLayer;
use super::event::Kinds;
use super::log::Line;
use super::model::{Model, Op, OpKind};
use super::names::{self, Layout};
use super::option::{OptionLayer, Scope};
use super::path::PathProbe;
use super::properties::{Matching, Properties};
use super::record::{Identity, Part, Phase, Scenario};
use super::resolve::{Context, Entries, Provenance, resolve};
use super::scenario::Scenario as DumpScenario;
use super::selection::{Selection, Skip};
use super::value::Content;
use crate::diagnostic::{Diagnostic, Severity};
use crate::program::Program;

/// The format of the report.
pub const FORMAT: &str = "thunkscope.dump-check/1";

/// What is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The ACL document, if there is one.
    pub acl: Option<&'a [u8]>,
    /// Environment variables.
    pub env: &'a [(String, String)],
    /// GE options.
    pub options: &'a [(Scope, String, String)],
    /// What is to be run.
    pub program: Option<&'a Program>,
    /// How often; 0 is as often as the scenario says, or once.
    pub iterations: u64,
    /// The names of which layout.
    pub layout: Layout,
    /// Looks at paths.
    pub probe: &'a dyn PathProbe,
    /// `YYYYMMDDHHMMSS`.
    pub time: Option<&'a str>,
    /// What else happens: switches, overflows, failures, and how the simulator runs the program. Its
    /// `acl`, `env`, `options` and `iterations` count where those above are none.
    pub scenario: Option<&'a DumpScenario>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: &'static str,
    /// What is dumped: `data`, `overflow`, `exception`; empty if nothing is.
    pub kinds: Vec<&'static str>,
    /// Where to.
    pub directory: Option<String>,
    /// Each field with its value and source.
    pub fields: Vec<Provenance>,
    /// Mistakes, conflicts, advice.
    pub diagnostics: Vec<Diagnostic>,
    /// What a run would log about the configuration.
    pub log: Vec<Line>,
    /// With a program: what it would write.
    pub program: Option<ProgramReport>,
}

/// What a program would write.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramReport {
    /// Its name in records.
    pub model: String,
    /// Iterations that were asked about.
    #[serde(with = "crate::number::wide")]
    pub iterations: u64,
    /// Those among them that the steps let through.
    #[serde(with = "crate::number::wide")]
    pub selected_iterations: u64,
    /// Files in each of them, if every op runs once.
    #[serde(with = "crate::number::wide")]
    pub files_per_iteration: u64,
    /// Bytes of tensors in each of them; statistics take some hundred bytes a file instead.
    #[serde(with = "crate::number::wide")]
    pub bytes_per_iteration: u64,
    /// Bytes in all of them.
    #[serde(with = "crate::number::wide")]
    pub bytes: u64,
    /// Op by op.
    pub ops: Vec<OpReport>,
    /// When what is written; none if that cannot be simulated here, with a diagnostic that says why.
    pub timeline: Option<Timeline>,
}

/// One op.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpReport {
    /// Its name.
    pub op: String,
    /// Its type.
    pub op_type: String,
    /// Its thunk: sequence path and index.
    pub at: String,
    /// Why nothing of it is dumped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<Skip>,
    /// Tensor by tensor.
    pub tensors: Vec<TensorReport>,
    /// Names of its files, `{iteration}`, `{lane}` and `{time}` to be filled in by the run.
    pub files: Vec<String>,
}

/// One tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TensorReport {
    /// Input or output.
    pub part: Part,
    /// Which.
    pub index: u32,
    /// Why it is not dumped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<Skip>,
    /// Bytes.
    #[serde(with = "crate::number::wide")]
    pub size: u64,
}

impl Report {
    /// A mistake that makes an entry, or all of them, enable nothing.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Resolves and, with a program, decides.
pub fn check(asked: Question<'_>) -> Report {
    let nothing = DumpScenario::default();
    let scenario = asked.scenario.unwrap_or(&nothing);
    let document = scenario.acl.as_ref().map(ToString::to_string);
    let env: Vec<_> = scenario.env.clone().into_iter().collect();
    let options: Vec<_> = scenario.options.iter().map(|(k, v)| Scope::of(k, v.clone())).collect();
    // What is asked, with the scenario's own configuration where there is none.
    let mut question: Question<'_> = asked;
    question.acl = question.acl.or(document.as_deref().map(str::as_bytes));
    if question.env.is_empty() {
        question.env = &env;
    }
    if question.options.is_empty() {
        question.options = &options;
    }
    if question.iterations == 0 {
        question.iterations = u64::from(scenario.iterations.max(1));
    }
    let mut diagnostics = Vec::new();
    let mut acl_counts = true;
    let acl = match question.acl.map(|text| acl::read(text, question.probe)) {
        Some(Ok((layer, warnings))) => {
            diagnostics.extend(warnings);
            layer
        }
        // Refused: the layer that was in force stays, and here there was none.
        Some(Err(error)) => {
            diagnostics.push(error);
            acl_counts = false;
            AclLayer::Unset
        }
        None => AclLayer::Unset,
    };
    let (env, warnings) = EnvLayer::read(question.env.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    diagnostics.extend(warnings);
    let (options, warnings) =
        OptionLayer::read(question.options.iter().map(|(s, k, v)| (*s, k.as_str(), v.as_str())));
    diagnostics.extend(warnings);
    let entries = Entries { acl: &acl, env: &env, options: &options };
    let resolved = resolve(entries, Context { probe: question.probe, time: question.time });
    diagnostics.extend(resolved.diagnostics);
    let properties = &resolved.properties;
    let mut log = resolved.lines;
    let program = question.program.map(|program| {
        let read = Model::read(program);
        diagnostics.extend(read.warnings);
        let single = question.scenario.is_some_and(|scenario| scenario.single_op);
        let alone = single.then(|| dumper::single_op(properties));
        let properties = alone.as_ref().unwrap_or(properties);
        let selection = Selection::new(&read.model, properties, Matching::Union);
        log.extend(selection.lines.iter().cloned());
        let report = program_report(&read.model, properties, &selection, question);
        let bytes = report.bytes_per_iteration;
        let timeline = timeline::timeline(program, &read.model, question, acl_counts, bytes);
        let timeline = timeline.map_err(|warning| diagnostics.push(warning)).ok();
        ProgramReport { timeline, ..report }
    });
    Report {
        format: FORMAT,
        kinds: Kinds::of(properties).names().collect(),
        directory: if properties.is_on() { properties.directory() } else { None },
        fields: resolved.provenance,
        diagnostics,
        log,
        program,
    }
}

fn program_report(
    model: &Model,
    properties: &Properties,
    selection: &Selection,
    question: Question<'_>,
) -> ProgramReport {
    let selected_iterations = if !properties.is_on() {
        0
    } else if properties.overflow.is_some() {
        question.iterations
    } else {
        // Steps end at 2³¹: beyond it only an unlimited set goes on.
        let counted = question.iterations.min(MAX_COUNTED);
        let in_counted = (0..counted).filter(|&step| properties.steps.contains(step)).count() as u64;
        if properties.steps.is_all() { question.iterations } else { in_counted }
    };
    let mut ops = Vec::with_capacity(model.ops.len());
    let (mut files_per_iteration, mut bytes_per_iteration) = (0u64, 0u64);
    for (op, choice) in model.ops.iter().zip(selection.choices()) {
        let mut tensors = Vec::new();
        let lists = [(Part::Input, &op.inputs, &choice.inputs), (Part::Output, &op.outputs, &choice.outputs)];
        for (part, list, skips) in lists {
            for (index, (tensor, skip)) in (0..).zip(list.iter().zip(skips)) {
                let room = tensor.as_ref().and_then(|t| t.slice).map_or(0, |slice| slice.size);
                let size = tensor.as_ref().map_or(0, |t| t.size(&t.shape, room));
                let empty =
                    tensor.as_ref().is_some_and(|t| t.optional && super::model::Tensor::is_empty(&t.shape));
                let own = skip.or(if empty { Some(Skip::EmptyShape) } else { None }).or_else(|| {
                    let known = tensor.as_ref().is_some_and(|t| !t.shape_unknown);
                    if known && size > room { Some(Skip::SizeMismatch) } else { None }
                });
                tensors.push(TensorReport { part, index, skip: choice.skip.or(own), size });
            }
        }
        let dumped: Vec<&TensorReport> = tensors.iter().filter(|tensor| tensor.skip.is_none()).collect();
        let files = if dumped.is_empty() {
            Vec::new()
        } else {
            file_names(model, properties, op, &dumped, question.layout)
        };
        files_per_iteration = files_per_iteration.saturating_add(files.len() as u64);
        let bytes = dumped.iter().fold(0u64, |sum, tensor| sum.saturating_add(tensor.size));
        bytes_per_iteration = bytes_per_iteration.saturating_add(bytes);
        let at = format!(
            "{}/{}",
            model.paths.get(op.at.sequence as usize).map_or("entry", String::as_str),
            op.at.node
        );
        let skip = choice.skip.filter(|_| !choice.wanted);
        ops.push(OpReport { op: op.name.clone(), op_type: op.op_type.clone(), at, skip, tensors, files });
    }
    ProgramReport {
        model: super::request::record_name(properties, model).to_owned(),
        iterations: question.iterations,
        selected_iterations,
        files_per_iteration,
        bytes_per_iteration,
        bytes: bytes_per_iteration.saturating_mul(selected_iterations),
        ops,
        timeline: None,
    }
}

/// Most iterations that are counted one by one.
const MAX_COUNTED: u64 = 1_000_000;

fn file_names(
    model: &Model,
    properties: &Properties,
    op: &Op,
    dumped: &[&TensorReport],
    layout: Layout,
) -> Vec<String> {
    let suffix = if properties.content == Content::Stats && properties.data { ".csv" } else { "" };
    let scenario = if properties.overflow.is_some() { Scenario::Overflow } else { Scenario::Normal };
    let any = |part| dumped.iter().any(|tensor| tensor.part == part);
    let redirected = op.inputs.iter().chain(&op.outputs).flatten().any(|tensor| tensor.reference.is_some());
    let around = op.collective && !redirected && op.kind == OpKind::Task && scenario == Scenario::Normal;
    let phases: Vec<Phase> = if around {
        let both = [(Phase::Before, any(Part::Input)), (Phase::After, any(Part::Output))];
        both.into_iter().filter(|(_, there)| *there).map(|(phase, _)| phase).collect()
    } else {
        vec![Phase::Whole]
    };
    let contexts: Vec<Option<(u32, u32)>> = if op.contexts.is_empty() {
        vec![None]
    } else {
        op.contexts.iter().map(|context| Some((context.context_id, context.thread_id))).collect()
    };
    let mut files = Vec::new();
    for &phase in &phases {
        for &context in &contexts {
            let identity = Identity {
                scenario,
                phase,
                model: Some(super::request::record_name(properties, model).to_owned()),
                model_id: Some(model.id),
                op: op.name.clone(),
                op_type: op.op_type.clone(),
                iteration: Some(ITERATION),
                stream: LANE,
                task: if context.is_some() { super::request::NO_TASK } else { op.at.node },
                device: 0,
                context,
                time: TIME,
            };
            let name = names::name(layout, &identity, 0, suffix);
            files.push(
                name.replacen(&ITERATION.to_string(), "{iteration}", 1)
                    .replacen(&TIME.to_string(), "{time}", 1)
                    .replacen(&LANE.to_string(), "{lane}", 1),
            );
        }
    }
    files
}

// Numbers that stand for what only the run knows, until they are replaced in the name.
const ITERATION: u64 = u64::MAX - 1;
const TIME: u64 = u64::MAX - 2;
const LANE: u32 = u32::MAX - 3;
