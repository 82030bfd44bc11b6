//! Every sentence and label of the interface, in one place (English now; another language would
//! be another table).

use thunkscope_core::executor::Queue;
use thunkscope_core::exhibit::SequenceLine;
use thunkscope_core::graph::NodeId;
use thunkscope_core::machine::Ticks;
use thunkscope_core::sim::{Fault, FaultKind};
use thunkscope_core::trace::{Actor, Entry, EventKind, Mode, NodeState};

use crate::command::{self, Command, Dialog, Shown};
use crate::frame::{Column, Frame, Node};
use crate::instrument::Instrument;
use crate::model::{Model, Span};

/// The states in the order of the legend, each with what it means.
pub(crate) const STATES: [(&str, &str); 7] = [
    ("waiting", "held by edges"),
    ("ready", "in a ready queue"),
    ("running", "on a lane"),
    ("pending", "returned, not complete"),
    ("done", "complete"),
    ("failed", "complete with an error"),
    ("skipped", "not executed after a failure"),
];

/// The commands that have a name, in the order of the palette, each with its keys.
pub(crate) const COMMANDS: [(Command, &str, &[&str]); 32] = [
    (Command::Toggle, "Play or pause", &["Space"]),
    (Command::Forward, "One step: edges, pop, split, run", &["→"]),
    (Command::Back, "One step back", &["←"]),
    (Command::NextOfInterest, "Next event of interest", &["Shift", "→"]),
    (Command::LastOfInterest, "Previous event of interest", &["Shift", "←"]),
    (Command::ForwardEvent, "One single event", &["."]),
    (Command::BackEvent, "One single event back", &[","]),
    (Command::First, "To the beginning", &["Home"]),
    (Command::Last, "To the end", &["End"]),
    (Command::Faster, "Play faster", &["]"]),
    (Command::Slower, "Play slower", &["["]),
    (Command::NextThunk, "Look at the next thunk", &["J"]),
    (Command::LastThunk, "Look at the previous thunk", &["K"]),
    (Command::Show(Shown::All), "Show all three queues", &["0"]),
    (Command::Show(Shown::One(Queue::Fifo)), "Show FIFO", &["1"]),
    (Command::Show(Shown::One(Queue::Lifo)), "Show LIFO", &["2"]),
    (Command::Show(Shown::One(Queue::Priority)), "Show priority", &["3"]),
    (Command::Go(command::Mode::Read), "Read: the chapter", &["R"]),
    (Command::Go(command::Mode::Lab), "Lab: the whole window", &["L"]),
    (Command::Instrument(None), "Lab: the thunk executor", &[]),
    (Command::Instrument(Some(Instrument::Dump)), "Lab: dump configuration", &[]),
    (Command::Instrument(Some(Instrument::Backpressure)), "Lab: DFX backpressure", &[]),
    (Command::Instrument(Some(Instrument::Explorer)), "Lab: the explorer", &[]),
    (Command::Instrument(Some(Instrument::Log)), "Lab: an event log", &[]),
    (Command::ZoomIn, "Zoom in (Lab)", &["+"]),
    (Command::ZoomOut, "Zoom out (Lab)", &["−"]),
    (Command::Fit, "Fit the graph (Lab)", &["F"]),
    (Command::OpenFile, "Open a file of your own", &["O"]),
    (Command::SaveProgram, "Save the program as JSON", &[]),
    (Command::CopyLink, "Copy a link to this moment", &["C"]),
    (Command::Theme, "Dark or light", &["T"]),
    (Command::Open(Dialog::Keys), "Keys", &["?"]),
];

/// The key of the palette itself.
pub(crate) const PALETTE_KEYS: (&[&str], &str) = (&["Ctrl", "K"], "All commands");

pub(crate) const STEP: &str = "Step";
pub(crate) const BACK: &str = "Step back";
pub(crate) const PLAY: &str = "Play";
pub(crate) const PAUSE: &str = "Pause";
pub(crate) const STEP_EVENT: &str = "One event";
pub(crate) const BACK_EVENT: &str = "One event back";
pub(crate) const NEXT_OF_INTEREST: &str = "Next event of interest";
pub(crate) const LAST_OF_INTEREST: &str = "Previous event of interest";
pub(crate) const SPEED: &str = "Speed";
pub(crate) const HELP: &str = "Keys";
pub(crate) const PALETTE: &str = "Commands";
pub(crate) const PALETTE_INPUT: &str = "Find a command or a thunk";
pub(crate) const NO_MATCH: &str = "Nothing of that name.";
pub(crate) const LOG: &str = "Event log";
pub(crate) const MORE: &str = "more";
pub(crate) const SHOWN: &str = "Ready queue";
pub(crate) const ALL: &str = "All three";
pub(crate) const CLOSE: &str = "Close";
pub(crate) const SCRUB: &str = "Position on the clock";
pub(crate) const TIMELINE: &str = "What each lane ran";
pub(crate) const READY: &str = "ready";
pub(crate) const NOTHING_READY: &str = "nothing ready";
pub(crate) const VERDICT: &str = "Verdict";
pub(crate) const TRANSPORT: &str = "Clock";
pub(crate) const POSTED: &str = "posted";
pub(crate) const LANE: &str = "lane";
pub(crate) const LAB: &str = "Lab";
pub(crate) const SIDE: &str = "What is run, and how";
pub(crate) const NAME: &str = "name";
pub(crate) const KIND: &str = "kind";
pub(crate) const PRIORITY: &str = "dependents";
pub(crate) const RELEASES: &str = "releases";
pub(crate) const USES: &str = "memory";
pub(crate) const NOTHING: &str = "–";
pub(crate) const ADVICE: &str = "What can be done";
pub(crate) const WHY_NOT: &str = "What stands behind it";
pub(crate) const LEGEND: &str = "States of a thunk";
pub(crate) const THUNK: &str = "thunk";
pub(crate) const NEEDS: &str = "waits for";
/// Before and after the choice of a thunk.
pub(crate) const WHY: (&str, &str) = ("Why does", "wait?");
pub(crate) const PART_OF_TABLE: &str =
    "Thunks that are ready, running, pending or failed, and the one looked at.";

/// The name of a state.
pub(crate) fn state(state: NodeState) -> &'static str {
    match state {
        NodeState::Waiting => "waiting",
        NodeState::Ready => "ready",
        NodeState::Running => "running",
        NodeState::Pending => "pending",
        NodeState::Done => "done",
        NodeState::Failed => "failed",
        NodeState::Skipped => "skipped",
    }
}

/// A queue's heading and its rule.
pub(crate) fn queue(name: &str) -> (&'static str, &'static str) {
    match name {
        "fifo" => ("FIFO", "oldest first"),
        "lifo" => ("LIFO", "newest first"),
        _ => ("Priority", "most dependents first"),
    }
}

/// A duration or instant: whole nanoseconds, in the largest unit that shows them.
pub(crate) fn time(ns: Ticks) -> String {
    let (unit, name) = match ns {
        0 => return "0 µs".to_owned(),
        1..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    match (ns % unit) * 10 / unit {
        0 => format!("{} {name}", ns / unit),
        tenths => format!("{}.{tenths} {name}", ns / unit),
    }
}

/// Longer lists are cut.
const MOST_LISTED: usize = 40;

/// `1, 2, 3`; the rest of a long list is counted.
fn commas(nodes: &[NodeId]) -> String {
    let shown: Vec<String> = nodes.iter().take(MOST_LISTED).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    if nodes.len() > MOST_LISTED { format!("{shown} {}", more(nodes.len() - MOST_LISTED)) } else { shown }
}

/// `1, 2 and 3`.
pub(crate) fn list(nodes: &[NodeId]) -> String {
    match nodes {
        many if many.len() > MOST_LISTED => commas(many),
        [] => String::new(),
        [only] => only.to_string(),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("{} and {last}", most.join(", "))
        }
    }
}

/// The counter below a node's name.
pub(crate) fn counter(node: &Node) -> String {
    if node.left > 0 { format!("{} left", node.left) } else { format!("p{}", node.priority) }
}

/// A graph's name for those who do not see it.
pub(crate) fn graph(title: &str) -> String {
    format!("Execution graph under the {title} queue")
}

/// A thunk of the picture in one line.
pub(crate) fn node(id: NodeId, label: &str, state: &str) -> String {
    format!("{id} {label}: {state}")
}

/// A bar of the timeline in one line.
pub(crate) fn span(span: &Span, label: &str) -> String {
    format!("{} {label}: {} to {}", span.node, time(span.from), time(span.to))
}

/// A track of the timeline in one line.
pub(crate) fn track(title: &str, lane: usize, spans: &[Span], now: Ticks) -> String {
    let ran: Vec<NodeId> = spans.iter().filter(|span| span.to <= now).map(|span| span.node).collect();
    let runs = spans.iter().find(|span| span.from <= now && now < span.to);
    let ran = if ran.is_empty() { "nothing yet".to_owned() } else { list(&ran) };
    let runs = runs.map_or(String::new(), |span| format!(", runs {}", span.node));
    format!("{title}, lane {lane}: ran {ran}{runs}")
}

/// The position, for the transport bar.
pub(crate) fn position(frame: &Frame) -> String {
    format!("step {} of {} · {}", frame.step, frame.steps, time(frame.ticks()))
}

/// What an event did, in as few words as a caption has room for; none for what the picture shows
/// anyway.
pub(crate) fn event(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::Popped { node } => format!("pop {node}"),
        EventKind::Split { kept, task, nodes } => {
            format!("split: {} to task {task}, {kept} kept", nodes.len())
        }
        EventKind::Refused { .. } => "split refused".to_owned(),
        EventKind::Posted { task, node } => format!("post {node} as task {task}"),
        EventKind::Started { node } => format!("run {node}"),
        EventKind::Pending { node } => format!("{node} pending"),
        EventKind::Available { node } => format!("{node} available"),
        EventKind::Finished { node } => format!("{node} done"),
        EventKind::Failed { node } => format!("{node} failed"),
        EventKind::Skipped { node } => format!("skip {node}"),
        EventKind::Released { to, left: 0, .. } => format!("{to} ready"),
        EventKind::Released { to, left, .. } => format!("{to}: {left} left"),
        EventKind::Done { failed: None } => "run over".to_owned(),
        EventKind::Done { failed: Some(node) } => format!("run over, {node} failed"),
        EventKind::Quiet { never_ready, .. } => format!("nothing moves, {never_ready} never ready"),
        EventKind::Broken { what, .. } => what.clone(),
        _ => return None,
    })
}

/// A step in which this run's workers only went on.
pub(crate) fn no_event(column: &Column) -> String {
    let running: Vec<NodeId> = column.running.iter().flatten().copied().collect();
    match (column.done, running.is_empty()) {
        (true, _) => "run over".to_owned(),
        (false, true) => "not begun".to_owned(),
        (false, false) => format!("{} still running", list(&running)),
    }
}

/// One run at an instant.
pub(crate) fn column(column: &Column) -> String {
    let (title, _) = queue(column.queue);
    if column.done {
        return format!("{title}: the run is over.");
    }
    let mut parts: Vec<String> = column
        .running
        .iter()
        .enumerate()
        .filter_map(|(lane, running)| Some(format!("lane {lane} runs {}", (*running)?)))
        .collect();
    if parts.is_empty() {
        parts.push("no lane runs".to_owned());
    }
    for ready in &column.ready {
        let nodes = commas(&ready.nodes);
        parts.push(match (ready.lane, nodes.is_empty()) {
            (Some(_), true) => NOTHING_READY.to_owned(),
            (Some(_), false) => format!("{READY}: {nodes}"),
            (None, _) => format!("posted: {nodes}"),
        });
    }
    format!("{title}: {}.", parts.join("; "))
}

/// The whole frame.
pub(crate) fn frame<'a>(
    step: usize,
    steps: usize,
    now: Ticks,
    columns: impl Iterator<Item = &'a str>,
) -> String {
    let columns: Vec<&str> = columns.collect();
    format!("Step {step} of {steps}, at {}. {}", time(now), columns.join(" "))
}

/// What the program is, in the stage's heading.
pub(crate) fn program(model: &Model) -> String {
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    [
        count(model.len() as usize, "thunk", "thunks"),
        count(model.sources, "source", "sources"),
        count(model.sinks, "sink", "sinks"),
        count(model.exhibit.edges.len(), "edge", "edges"),
    ]
    .join(" · ")
}

/// A file of the page's own that does not come.
pub(crate) fn not_loaded(path: &str, what: &str) -> String {
    format!("{path} could not be loaded. {what} Reload the page to try again.")
}

/// A palette entry.
pub(crate) fn look_at(node: NodeId, label: &str) -> String {
    format!("Look at {node} {label}")
}

/// A pace, as a factor: `¼×`.
pub(crate) fn pace(quarters: u32) -> String {
    match quarters {
        1 => "¼×".to_owned(),
        2 => "½×".to_owned(),
        n => format!("{}×", n / 4),
    }
}

/// `and 12 more`.
pub(crate) fn more(n: usize) -> String {
    format!("and {n} {MORE}")
}

/// The heading of what is known about a thunk.
pub(crate) fn facts(node: NodeId) -> String {
    format!("About thunk {node}")
}

/// How far into the log.
pub(crate) fn events(position: usize, all: usize) -> String {
    format!("{position} of {all}")
}

/// Who did it.
pub(crate) fn actor(actor: Actor) -> String {
    if actor == Actor::EVENTS { "events".to_owned() } else { format!("{LANE} {}", actor.0) }
}

/// Any event, in a line of the log.
pub(crate) fn event_line(kind: &EventKind) -> String {
    if let Some(short) = event(kind) {
        return short;
    }
    match kind {
        EventKind::IterationStart { iteration } => format!("iteration {iteration} begins"),
        EventKind::IterationEnd { iteration } => format!("iteration {iteration} is over"),
        EventKind::RunStart { mode: Mode::Concurrent, .. } => "begins, concurrent".to_owned(),
        EventKind::RunStart { mode: Mode::Sequential, .. } => "begins, sequential".to_owned(),
        EventKind::LoopStart { by: Entry::Caller } => "takes the sources".to_owned(),
        EventKind::LoopStart { by: Entry::Task(task) } => format!("takes task {task}"),
        EventKind::LoopStart { by: Entry::Continuation(node) } => format!("goes on after {node}"),
        EventKind::LoopEnd => "queue empty, leaves".to_owned(),
        EventKind::Workers { count } => format!("workers: {count}"),
        EventKind::PendingNodes { count } => format!("completions wanted: {count}"),
        EventKind::Aborted { node } => format!("aborted by {node}"),
        _ => String::new(),
    }
}

// The Lab.

pub(crate) const PROGRAM: &str = "Program";
pub(crate) const OPEN: &str = "Open a file…";
pub(crate) const SAVE: &str = "Save as JSON";
pub(crate) const LINK: &str = "Copy link";
pub(crate) const LINK_COPIED: &str = "Link copied";
pub(crate) const LINK_SHOWN: &str = "The link is in the address bar";
pub(crate) const FILES: &str = "An XLA executable (exec.bin), a JAX cache entry or Thunkscope’s own JSON; or drop it anywhere on the page.";
pub(crate) const STAYS: &str = "Nothing leaves this machine.";
pub(crate) const DROP: &str = "Drop the file: it stays on this machine.";
pub(crate) const CANCEL: &str = "Cancel";
pub(crate) const DISMISS: &str = "Dismiss";
pub(crate) const LENIENT: &str = "Read it all the same";
pub(crate) const FOUND: &str = "Found:";
pub(crate) const AT: &str = "At";
pub(crate) const RUNNING: &str = "Running, then drawing";
pub(crate) const SAVING: &str = "Writing JSON";
pub(crate) const SEQUENCES: &str = "Sequences";
pub(crate) const WORST_FIRST: &str = "worst first";
pub(crate) const OPTIONS: &str = "How it runs";
pub(crate) const RESET: &str = "Back to XLA’s defaults";

/// Options of a run: what the field is called, and what it means.
pub(crate) const WORKERS: (&str, &str) =
    ("workers at most", "Workers beside the calling thread (kMaxWorkers)");
pub(crate) const SPLIT: (&str, &str) =
    ("split above", "A queue is split while more than this many other thunks are ready (kSplitThreshold)");
pub(crate) const POOL: (&str, &str) = ("pool threads", "Threads that take posted tasks and completions");
pub(crate) const POST: (&str, &str) = ("post latency, ns", "From posting a task to its first step");
pub(crate) const JITTER: (&str, &str) = ("jitter, ± %", "Random change of each thunk’s duration");
pub(crate) const SEED: (&str, &str) = ("seed", "Of everything random");
pub(crate) const MODE: (&str, &str) = ("mode", "Whether the sequence runs as XLA decides");
pub(crate) const MODES: [&str; 3] = ["as decided", "concurrent", "sequential"];
pub(crate) const PENDING: (&str, &str) = ("pending thunks", "Which thunks return before they are done");
pub(crate) const PENDINGS: [&str; 4] = ["as declared", "none", "one in four", "all"];
pub(crate) const SCHEDULE: (&str, &str) = ("who goes next", "Among those that could");
pub(crate) const SCHEDULES: [&str; 2] = ["by time", "adversarial"];
pub(crate) const FAULT: &str = "fault";
pub(crate) const FAULT_HINT: &str = "What goes wrong with the selected thunk";
pub(crate) const FAULTS: [&str; 3] = ["none", "fails", "never completes"];

// Instruments.

pub(crate) const INSTRUMENT: &str = "Instrument";
pub(crate) const FIELDS: &str = "What is asked";
pub(crate) const PANEL: &str = "What is seen";
pub(crate) const ASKING: &str = "Working …";

pub(crate) const NO_TEXT: &str = "It holds no text.";

/// An instrument; none: the executor.
pub(crate) fn instrument(which: Option<Instrument>) -> &'static str {
    match which {
        None => "Executor",
        Some(Instrument::Dump) => "Dump",
        Some(Instrument::Backpressure) => "Backpressure",
        Some(Instrument::Explorer) => "Explorer",
        Some(Instrument::Log) => "Log",
    }
}

/// A job.
pub(crate) fn reading(name: &str) -> String {
    format!("Reading {name}")
}

/// The worker does not start, or has failed.
pub(crate) fn no_engine(why: &str) -> String {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    format!(
        "The engine has stopped{why}. That is a mistake of ours; the page goes on, and the next run starts it again."
    )
}

/// A file beyond what is read.
pub(crate) fn too_large(name: &str) -> String {
    format!("{name} is larger than 512 MB. Use `thunkscope explain` on the command line.")
}

/// A file that the browser does not hand out.
pub(crate) fn unreadable(name: &str, why: &str) -> String {
    format!("{name} could not be read. {why}")
}

/// What a reader remarked.
pub(crate) fn warnings(n: usize) -> String {
    if n == 1 { "1 remark on the file".to_owned() } else { format!("{n} remarks on the file") }
}

/// What a diagnostic wanted.
pub(crate) fn expected(what: &str) -> String {
    format!("expected {what}")
}

/// A sequence in a line.
pub(crate) fn sequence(line: &SequenceLine) -> String {
    let thunks = if line.thunks == 1 { "1 thunk".to_owned() } else { format!("{} thunks", line.thunks) };
    format!("{thunks} · {}", line.verdict)
}

/// Whose fault is set.
pub(crate) fn fault_of(node: NodeId, label: &str) -> String {
    format!("of the selected thunk, {node} {label}")
}

/// A fault in a line.
pub(crate) fn fault(fault: &Fault) -> String {
    let what = match fault.kind {
        FaultKind::Fails => FAULTS[1],
        FaultKind::NeverCompletes => FAULTS[2],
    };
    let place = if fault.path.steps().is_empty() { String::new() } else { format!(" of {}", fault.path) };
    format!("thunk {}{place} {what}", fault.node)
}

/// The button that removes it.
pub(crate) fn no_fault(of: &Fault) -> String {
    format!("Remove: {}", fault(of))
}

/// A link about a program that is not part of the page.
pub(crate) fn needs_file(name: &str) -> String {
    format!("This link is about {name}, a file that the link does not hold. Open the file here to see it.")
}

/// A link about a chapter that this page does not have.
pub(crate) fn no_chapter(name: &str) -> String {
    format!("This link is about {name}, which this version of the page does not have.")
}

/// The heading of the table.
pub(crate) fn table(graphs: usize) -> &'static str {
    if graphs == 1 { "The graph as a table" } else { "The three graphs as a table" }
}
