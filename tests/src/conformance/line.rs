//! One line of `graphs/*.jsonl.gz`: a thunk sequence and what XLA's own log said about it.

use serde::Deserialize;
use thunkscope_core::graph::{EdgeKind, Graph};
use thunkscope_core::import::xla_log::{LoggedExecutor, LoggedNode};
use thunkscope_core::program::{
    Access, BufferUse, Kind, Resource, ResourceKind, ResourceUse, Sequence, Slice, Thunk,
};

/// One line. Everything that XLA printed is optional, since older releases print less.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    /// Program.
    pub p: String,
    /// Sequence, such as `entry/4.body`.
    pub path: String,
    /// The release that made it.
    #[serde(default)]
    pub jaxlib: String,
    /// The thunks, as decoded from the executable.
    pub thunks: Vec<ThunkLine>,
    /// How many nodes the log shows before it is cut; all if not given.
    pub printed: Option<usize>,
    /// Names of the dependencies of each printed node.
    pub deps: Option<Vec<Vec<String>>>,
    /// Indices of them; `None` where the name is shared by several earlier thunks.
    pub dep_ids: Option<Vec<Option<Vec<Option<u32>>>>>,
    /// Priorities of printed nodes.
    pub prio: Option<Vec<u64>>,
    /// Number of sources.
    pub sources: Option<u64>,
    /// Number of sinks.
    pub sinks: Option<u64>,
    /// Edges removed by the reduction.
    pub erased: Option<u64>,
    /// `(from, to, "E"|"S")`, before the reduction, resource conflicts only.
    pub res_edges: Option<Vec<(u32, u32, String)>>,
    /// The chain rule.
    pub graph_seq: Option<bool>,
    /// The decision.
    pub seq: Option<bool>,
    /// The small-buffers rule.
    pub small: Option<bool>,
}

/// `[kind, name, [[allocation, offset, size, access]], [[resource, kind, access]]]`.
#[derive(Clone, Debug, Deserialize)]
pub struct ThunkLine(
    /// Kind.
    pub String,
    /// Name.
    pub String,
    /// Uses of slices.
    pub Vec<(u32, u64, u64, String)>,
    /// Uses of resources; no access where the capture could not tell it.
    pub Vec<(u32, String, Option<String>)>,
);

impl Line {
    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// For people: `moe10 entry (0.10.2)`.
    pub fn title(&self) -> String {
        format!("{} {} ({})", self.p, self.path, self.jaxlib)
    }

    /// How many nodes the log shows.
    pub fn printed(&self) -> usize {
        self.printed.unwrap_or(self.thunks.len()).min(self.thunks.len())
    }

    /// The sequence with its resources. Control flow stands there with the union of its uses.
    ///
    /// # Errors
    /// An access or a kind of resource that is not known.
    pub fn sequence(&self) -> Result<(Sequence, Vec<Resource>), String> {
        let mut resources: Vec<Resource> = Vec::new();
        let mut thunks = Vec::with_capacity(self.thunks.len());
        for ThunkLine(kind, name, uses, resource_uses) in &self.thunks {
            // The rules do not depend on it; a kind of another release is no reason to stop.
            let kind = Kind::from_name(kind).unwrap_or(Kind::Other);
            let mut thunk = Thunk::new(kind, name.as_str());
            for (allocation, offset, size, how) in uses {
                let slice = Slice::new(*allocation, *offset, *size);
                thunk.uses.push(BufferUse { slice, access: access(how)? });
            }
            for (resource, kind, how) in resource_uses {
                let kind = match kind.as_str() {
                    "C" => ResourceKind::Communicator,
                    "T" => ResourceKind::Token,
                    other => return Err(format!("unknown kind of resource {other}")),
                };
                if *resource > 1 << 16 {
                    return Err(format!("resource {resource}"));
                }
                while resources.len() <= *resource as usize {
                    resources.push(Resource { kind, label: String::new() });
                }
                resources[*resource as usize].kind = kind;
                // Unknown means both: the thunk hands the token on.
                let how = how.as_deref().map_or(Ok(Access::Write), access)?;
                thunk.resources.push(ResourceUse { resource: *resource, access: how });
            }
            thunks.push(thunk);
        }
        Ok((Sequence { thunks }, resources))
    }

    /// What XLA printed, in the form in which a log is read.
    pub fn logged(&self) -> LoggedExecutor {
        let node = |index: usize| {
            let kind = self.thunks[index].0.as_str();
            LoggedNode {
                index: index as u32,
                name: self.thunks[index].1.clone(),
                kind: Kind::from_name(kind).map(|kind| kind.name().to_owned()),
                dependencies: self
                    .deps
                    .as_ref()
                    .and_then(|deps| deps.get(index))
                    .cloned()
                    .unwrap_or_default(),
                source: None,
                sink: None,
                priority: self.prio.as_ref().and_then(|all| all.get(index)).copied(),
            }
        };
        let printed = if self.deps.is_some() { self.printed() } else { 0 };
        let edge = |(from, to, kind): &(u32, u32, String)| {
            let kind = if kind == "S" { EdgeKind::Scheduling } else { EdgeKind::Execution };
            (*from, *to, kind)
        };
        LoggedExecutor {
            line: 0,
            thunks: Some(self.thunks.len() as u64),
            sources: self.sources,
            sinks: self.sinks,
            is_sequential: self.seq,
            small_buffers: self.small,
            is_chain: self.graph_seq,
            erased: self.erased,
            operations: Vec::new(),
            resource_edges: self.res_edges.iter().flatten().map(edge).collect(),
            all_resource_edges: self.res_edges.is_some(),
            nodes: (0..printed).map(node).collect(),
            list_bytes: 0,
            contradiction: None,
        }
    }

    /// The first dependency, by index where the name does not tell it, that `graph` lacks or has
    /// too much.
    pub fn wrong_dependency(&self, graph: &Graph) -> Option<String> {
        let known = self.dep_ids.iter().flatten().take(self.printed()).enumerate();
        known.filter_map(|(node, ids)| Some((node, ids.as_ref()?))).find_map(|(node, ids)| {
            let ours: Vec<u32> = graph.incoming(node as u32).iter().map(|edge| edge.node).collect();
            let equal = ours.len() == ids.len()
                && ours.iter().zip(ids).all(|(ours, known)| known.is_none_or(|known| known == *ours));
            (!equal).then(|| format!("thunk {node} waits for {ours:?}, XLA has {ids:?}"))
        })
    }
}

fn access(text: &str) -> Result<Access, String> {
    match text {
        "R" => Ok(Access::Read),
        "W" => Ok(Access::Write),
        other => Err(format!("unknown access {other}")),
    }
}
