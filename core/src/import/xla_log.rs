//! XLA's own log of how it built its executors, for comparison (executor spec §6).
//!
//! A log is made with `TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE="thunk_executor=7,execution_graph=7"`.
//! Releases word it differently, messages are cut near 15,000 bytes, threads write between one
//! another, and anything else may stand in between: every line is looked at for itself, what is
//! not known is skipped, and what is not said stays `None`.

use std::collections::BTreeMap;

use crate::graph::EdgeKind;

/// Everything that a log says about executors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XlaLog {
    /// In the order of the log: nested sequences before the one that holds them.
    pub executors: Vec<LoggedExecutor>,
}

/// What a log says about one executor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedExecutor {
    /// Line of the log, from 1, where it is first mentioned; 0 if it does not come from a log.
    pub line: usize,
    /// Number of thunks.
    pub thunks: Option<u64>,
    /// Number of nodes without incoming edges.
    pub sources: Option<u64>,
    /// Number of nodes without outgoing edges.
    pub sinks: Option<u64>,
    /// The decision.
    pub is_sequential: Option<bool>,
    /// The small-buffers rule.
    pub small_buffers: Option<bool>,
    /// The chain rule.
    pub is_chain: Option<bool>,
    /// Edges removed by the transitive reduction.
    pub erased: Option<u64>,
    /// Names and kinds of all thunks, also of those beyond the cut, where the log has them.
    pub operations: Vec<(String, String)>,
    /// Edges from resources, before the reduction.
    pub resource_edges: Vec<(u32, u32, EdgeKind)>,
    /// Whether `resource_edges` are all there are.
    pub all_resource_edges: bool,
    /// The nodes that are printed; fewer than `thunks` when the message was cut.
    pub nodes: Vec<LoggedNode>,
    /// Bytes of the message that lists the nodes; 0 if the log has none.
    pub list_bytes: usize,
    /// Where the log contradicts itself: two lines of this executor disagree, or its list of nodes
    /// has a hole.
    pub contradiction: Option<String>,
}

/// One printed node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedNode {
    /// Index of the thunk.
    pub index: u32,
    /// Its name; not unique.
    pub name: String,
    /// Its kind; older releases do not print it.
    pub kind: Option<String>,
    /// Names of the nodes it waits for, ascending by node.
    pub dependencies: Vec<String>,
    /// Whether it is a source.
    pub source: Option<bool>,
    /// Whether it is a sink.
    pub sink: Option<bool>,
    /// How many nodes wait for it.
    pub priority: Option<u64>,
}

impl LoggedExecutor {
    fn contradict(&mut self, line: usize, words: impl FnOnce() -> String) {
        self.contradiction.get_or_insert_with(|| format!("in line {line} {}", words()));
    }

    /// Whether the list of nodes ends where XLA cuts long messages, and not by damage.
    pub fn is_cut_by_xla(&self) -> bool {
        /// XLA cuts near 15,000 bytes; prefixes and releases differ a little.
        const EARLIEST_CUT: usize = 12_000;
        self.list_bytes >= EARLIEST_CUT
    }
}

impl XlaLog {
    /// Reads a log. Never fails: a text without executors gives none.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut parser = Parser::default();
        for (index, line) in text.lines().enumerate() {
            parser.line(index + 1, line);
        }
        parser.finish()
    }
}

/// The messages of one thread come in a fixed order; those of several are mixed.
#[derive(Default)]
struct Parser {
    done: Vec<LoggedExecutor>,
    /// By thread: what was said before the executor itself is named.
    open: BTreeMap<String, Open>,
    /// The thread of the last line with a prefix: lines without one continue its message.
    thread: String,
}

#[derive(Default)]
struct Open {
    /// The graph being built.
    graph: LoggedExecutor,
    /// The executor that was named last, whose nodes may follow.
    executor: Option<usize>,
}

impl Parser {
    fn line(&mut self, number: usize, line: &str) {
        let message = match prefix(line) {
            Some((thread, message)) => {
                if self.thread != thread {
                    thread.clone_into(&mut self.thread);
                }
                message
            }
            None => line,
        };
        if let Some(rest) = after(message, "Processing operation ") {
            self.operation(number, rest);
        } else if let Some(rest) = after(message, "Added edge ") {
            if let Some(edge) = edge(rest) {
                self.open().graph.resource_edges.push(edge);
            }
        } else if let Some(rest) = after(message, "Transitive reduction erased ") {
            self.open().graph.erased = leading_number(rest);
        } else if let Some(rest) = after(message, "Constructed execution graph with ") {
            let graph = &mut self.open().graph;
            graph.is_chain = value(rest, "is_sequential=").and_then(boolean);
            counts(graph, number, leading_number(rest), rest);
        } else if let Some(rest) = after(message, "Constructed ThunkExecutor with ") {
            let mut executor = std::mem::take(&mut self.open().graph);
            counts(&mut executor, number, leading_number(rest), rest);
            executor.is_sequential = value(rest, "is_sequential=").and_then(boolean);
            executor.small_buffers = value(rest, "small_buffers=").and_then(boolean);
            self.push(executor);
        } else if let Some(rest) = after(message, "ThunkExecutor: #thunks=") {
            self.body(number, rest);
        } else if let Some(rest) = after(message, "thunk #") {
            let executor = self.open.get(&self.thread).and_then(|open| open.executor);
            let Some(executor) = executor.and_then(|executor| self.done.get_mut(executor)) else { return };
            executor.list_bytes += line.len() + 1;
            if let Some(node) = node(rest) {
                let expected = executor.nodes.len();
                if node.index as usize != expected {
                    executor.contradict(number, || {
                        format!("thunk {} stands where thunk {expected} should", node.index)
                    });
                }
                executor.nodes.push(node);
            }
        }
    }

    fn open(&mut self) -> &mut Open {
        self.open.entry(self.thread.clone()).or_default()
    }

    fn push(&mut self, executor: LoggedExecutor) {
        self.done.push(executor);
        self.open().executor = Some(self.done.len() - 1);
    }

    fn operation(&mut self, number: usize, rest: &str) {
        let graph = &mut self.open().graph;
        let index = leading_number(rest);
        if index == Some(0) {
            *graph = LoggedExecutor { line: number, ..LoggedExecutor::default() };
        }
        // A line that was lost makes the list useless: better none than a shifted one.
        if index != Some(graph.operations.len() as u64) {
            return;
        }
        if let Some((name, kind)) = after(rest, "name: op: ").and_then(|text| text.rsplit_once(" (kind: ")) {
            let kind = kind.split(')').next().unwrap_or_default();
            graph.operations.push((name.to_owned(), kind.to_owned()));
        }
    }

    /// The head of the list of nodes. Usually of the executor just named; where that line is
    /// missing (another log level) it names one itself.
    fn body(&mut self, number: usize, rest: &str) {
        let thunks = leading_number(rest);
        let named = self.open().executor;
        let fits = named.is_some_and(|named| self.done[named].list_bytes == 0);
        if !fits {
            let executor = std::mem::take(&mut self.open().graph);
            self.push(executor);
        }
        let executor = if fits { named } else { Some(self.done.len() - 1) };
        if let Some(executor) = executor.and_then(|executor| self.done.get_mut(executor)) {
            counts(executor, number, thunks, rest);
            executor.list_bytes = rest.len();
        }
    }

    fn finish(self) -> XlaLog {
        let mut executors = self.done;
        // Releases that do not log such edges log none at all.
        let logs_edges = executors.iter().any(|executor| !executor.resource_edges.is_empty());
        for executor in &mut executors {
            // A list that lacks operations is no list of all.
            if executor.thunks != Some(executor.operations.len() as u64) {
                executor.operations.clear();
            }
            executor.all_resource_edges = logs_edges && !executor.operations.is_empty();
            executor.nodes.sort_by_key(|node| node.index);
            executor.nodes.dedup_by_key(|node| node.index);
        }
        XlaLog { executors }
    }
}

fn counts(executor: &mut LoggedExecutor, line: usize, thunks: Option<u64>, text: &str) {
    if executor.line == 0 {
        executor.line = line;
    }
    let found = |names: [&str; 2]| names.iter().find_map(|name| value(text, name)).and_then(leading_number);
    let LoggedExecutor { thunks: all, sources, sinks, erased, contradiction, .. } = executor;
    let facts = [
        ("thunks", all, thunks),
        ("source nodes", sources, found(["source_nodes=", "sources="])),
        ("sink nodes", sinks, found(["sink_nodes=", "sinks="])),
        ("erased edges", erased, found(["erased_edges=", "erased="])),
    ];
    for (what, known, now) in facts {
        match (*known, now) {
            (Some(before), Some(now)) if before != now => {
                contradiction
                    .get_or_insert_with(|| format!("line {line} says {now} {what}, an earlier one {before}"));
            }
            (None, now) => *known = now,
            _ => {}
        }
    }
}

/// `I1129 22:22:53.933918   15810 execution_graph.cc:122] message`, or with a year or a date in
/// front, as other loggers write it: the thread and the message.
fn prefix(line: &str) -> Option<(&str, &str)> {
    let (head, message) = line.split_once("] ").or_else(|| line.strip_suffix(']').map(|head| (head, "")))?;
    let (head, source) = head.rsplit_once(' ')?;
    let (file, number) = source.rsplit_once(':')?;
    if !file.contains('.') || number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thread = head.trim_end().rsplit(' ').next().unwrap_or_default();
    Some((thread, message))
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}

fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    after(text, name).map(|rest| rest.split([',', ' ']).next().unwrap_or_default())
}

fn leading_number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

fn boolean(text: &str) -> Option<bool> {
    match text.trim_end() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// `0 -> 5 scheduling`.
fn edge(text: &str) -> Option<(u32, u32, EdgeKind)> {
    let (from, rest) = text.split_once(" -> ")?;
    let (to, kind) = rest.split_once(' ')?;
    let kind = if kind.contains("scheduling") {
        EdgeKind::Scheduling
    } else if kind.contains("execution") {
        EdgeKind::Execution
    } else {
        return None;
    };
    Some((from.trim().parse().ok()?, to.parse().ok()?, kind))
}

/// `00003: op_name=…, kind=…, dependencies=[…], source=…, sink=…, priority=…`; `None` if it was cut.
fn node(text: &str) -> Option<LoggedNode> {
    let (index, rest) = text.split_once(": op_name=")?;
    let (head, rest) = rest.split_once(", dependencies=[")?;
    let (name, kind) = match head.rsplit_once(", kind=") {
        Some((name, kind)) => (name, Some(kind.to_owned())),
        None => (head, None),
    };
    let (dependencies, rest) = rest.rsplit_once(']')?;
    // Without the last field it cannot be told whether a digit of it is missing; newer releases
    // may add fields, older ones may lack this one.
    let priority = match after(rest, "priority=") {
        Some(text) => Some(leading_number(text)?),
        None => None,
    };
    let sink = value(rest, "sink=").and_then(boolean);
    sink?;
    Some(LoggedNode {
        index: index.trim().parse().ok()?,
        name: name.to_owned(),
        kind,
        dependencies: match dependencies {
            "" => Vec::new(),
            list => list.split(", ").map(str::to_owned).collect(),
        },
        source: value(rest, "source=").and_then(boolean),
        sink,
        priority,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a log; shows each executor in one line.
    #[track_caller]
    fn check(log: &str, expected: &[&str]) {
        let shown: Vec<String> = XlaLog::parse(log.as_bytes()).executors.iter().map(show).collect();
        assert_eq!(shown, expected);
    }

    fn show(executor: &LoggedExecutor) -> String {
        let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let flag = |value: Option<bool>| value.map_or("-", |value| if value { "yes" } else { "no" });
        let nodes: Vec<String> = executor
            .nodes
            .iter()
            .map(|node| {
                let kind = node.kind.as_deref().unwrap_or("-");
                format!(
                    "{}:{}:{kind}({})p{}",
                    node.index,
                    node.name,
                    node.dependencies.join("+"),
                    number(node.priority)
                )
            })
            .collect();
        let edges: Vec<String> =
            executor.resource_edges.iter().map(|(from, to, kind)| format!("{from}>{to}:{kind}")).collect();
        format!(
            "line {} n={} src={} snk={} seq={} small={} chain={} erased={} ops={} [{}] [{}]",
            executor.line,
            number(executor.thunks),
            number(executor.sources),
            number(executor.sinks),
            flag(executor.is_sequential),
            flag(executor.small_buffers),
            flag(executor.is_chain),
            number(executor.erased),
            executor.operations.len(),
            edges.join(" "),
            nodes.join(" "),
        )
    }

    const NODES: &str = "\
ThunkExecutor: #thunks=2 #source_nodes=1 #sink_nodes=1
 thunk #00000: op_name=a, kind=copy, dependencies=[], source=true, sink=false, priority=1
 thunk #00001: op_name=a, kind=sort, dependencies=[a], source=false, sink=true, priority=0
";

    #[test]
    fn the_newest_wording() {
        let log = format!(
            "\
I1129 22:22:53.933918   15810 execution_graph.cc:122] Processing operation 0 Operation {{name: op: a (kind: copy)}}
I1129 22:22:53.933954   15810 execution_graph.cc:122] Processing operation 1 Operation {{name: op: a (kind: sort)}}
I1129 22:22:53.933955   15810 execution_graph.cc:142] Added edge 0 -> 1 scheduling
I1129 22:22:53.933984   15810 execution_graph.cc:160] Transitive reduction erased 8 edges from the execution graph
I1129 22:22:53.933989   15810 execution_graph.cc:93] Constructed execution graph with 2 nodes: #source_nodes=1 #sink_nodes=1, is_sequential=true
I1129 22:22:53.933995   15810 thunk_executor.cc:163] Constructed ThunkExecutor with 2 thunks: #source_nodes=1 #sink_nodes=1, is_sequential=true, small_buffers=false
I1129 22:22:53.934001   15810 thunk_executor.cc:169] ThunkExecutor execution graph:
{NODES}ORACLE-END
"
        );
        let expected = "line 1 n=2 src=1 snk=1 seq=yes small=no chain=yes erased=8 ops=2 [0>1:scheduling] \
                        [0:a:copy()p1 1:a:sort(a)p0]";
        check(&log, &[expected]);
    }

    #[test]
    fn older_wordings() {
        check(
            "2025-01-31 10:11:12.131415: I external/xla/xla/backends/cpu/runtime/thunk_executor.cc:95] Constructed \
             ThunkExecutor with 3 nodes: #source_nodes=2 #sink_nodes=1, #erased_edges=4, is_sequential=0, small_buffers=1",
            &["line 1 n=3 src=2 snk=1 seq=no small=yes chain=- erased=4 ops=0 [] []"],
        );
        check(
            "ThunkExecutor: #thunks=1 #source_nodes=1 #sink_nodes=1\n thunk #00000: op_name=x, dependencies=[], source=1, sink=1",
            &["line 1 n=1 src=1 snk=1 seq=- small=- chain=- erased=- ops=0 [] [0:x:-()p-]"],
        );
    }

    #[test]
    fn two_executors_each_with_its_nodes() {
        let one = format!(
            "Constructed ThunkExecutor with 2 thunks: is_sequential=true, small_buffers=false\n{NODES}"
        );
        let shown = "n=2 src=1 snk=1 seq=yes small=no chain=- erased=- ops=0 [] [0:a:copy()p1 1:a:sort(a)p0]";
        // What the first line does not say, the head of the list does.
        check(&format!("{one}{one}"), &[&format!("line 1 {shown}"), &format!("line 5 {shown}")]);
    }

    #[test]
    fn a_cut_message_ends_with_its_last_whole_node() {
        let cut = &NODES[..NODES.len() - 30];
        check(
            &format!("{cut}\nI1129 22:22:53.934001 15810 other.cc:1] something"),
            &["line 1 n=2 src=1 snk=1 seq=- small=- chain=- erased=- ops=0 [] [0:a:copy()p1]"],
        );
    }

    #[test]
    fn threads_are_kept_apart() {
        let line =
            |thread: u32, rest: &str| format!("I1129 22:22:53.9 {thread} execution_graph.cc:1] {rest}\n");
        let log = [
            line(1, "Processing operation 0 Operation {name: op: a (kind: copy)}"),
            line(2, "Processing operation 0 Operation {name: op: b (kind: dot)}"),
            line(1, "Transitive reduction erased 1 edges"),
            line(2, "Transitive reduction erased 2 edges"),
            line(1, "Constructed ThunkExecutor with 1 thunks: is_sequential=true"),
            line(2, "Constructed ThunkExecutor with 1 thunks: is_sequential=false"),
        ]
        .concat();
        check(
            &log,
            &[
                "line 1 n=1 src=- snk=- seq=yes small=- chain=- erased=1 ops=1 [] []",
                "line 2 n=1 src=- snk=- seq=no small=- chain=- erased=2 ops=1 [] []",
            ],
        );
    }

    #[test]
    fn anything_else_is_nothing() {
        check("", &[]);
        check("dear reader\n] ]: ] thunk #", &[]);
        check("thunk #1: op_name=a, kind=b, dependencies=[], source=true, sink=true, priority=0", &[]);
        check("Added edge x -> y scheduling\nAdded edge 1 -> 2 none", &[]);
    }
}
