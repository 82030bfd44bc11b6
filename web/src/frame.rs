//! Everything that can be read off the page at one position, as plain data: what the components
//! draw, what the text twin says, and what `window.thunkscope.state()` answers.

use std::rc::Rc;

use thunkscope_core::exhibit;
use thunkscope_core::graph::NodeId;
use thunkscope_core::machine::Ticks;
use thunkscope_core::trace::{NodeState, RunId, State};

use crate::model::{Fixed, Model, Run, Scene};
use crate::words;

/// The page at one position of the clock.
pub(crate) struct Frame {
    /// Name of the program.
    pub(crate) program: String,
    /// Events before this instant, over all logs.
    pub(crate) position: usize,
    /// Events in all.
    pub(crate) positions: usize,
    /// Steps taken.
    pub(crate) step: usize,
    /// Steps in all.
    pub(crate) steps: usize,
    /// The clock, in ns; a string, as every 64-bit number.
    pub(crate) time: String,
    /// The thunk that the inspector looks at.
    pub(crate) selected: NodeId,
    /// By ready queue.
    pub(crate) queues: Vec<Column>,
    /// The picture in one paragraph.
    pub(crate) sentence: String,
    /// What this is a frame of.
    scene: Fixed<Scene>,
}

/// One ready queue's run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// `fifo`, `lifo` or `priority`.
    pub(crate) queue: &'static str,
    /// By thunk.
    pub(crate) nodes: Vec<Node>,
    /// Everything that the picture is drawn from.
    pub(crate) state: Rc<State>,
    /// The execution that is shown.
    pub(crate) run: RunId,
    /// Ready queues of the lanes at work, and tasks that no lane has taken yet.
    pub(crate) ready: Vec<Ready>,
    /// By lane that ever ran something: what it runs.
    pub(crate) running: Vec<Option<NodeId>>,
    /// Completions still wanted.
    pub(crate) pending_nodes: u32,
    /// Whether the run is over.
    pub(crate) done: bool,
    /// What happened in the step that ends here, in order.
    pub(crate) happened: Vec<String>,
    /// Why the selected thunk is where it is.
    pub(crate) why: String,
    /// The column in one sentence.
    pub(crate) sentence: String,
}

/// One thunk, now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    /// Its state, in the words of the legend.
    pub(crate) state: &'static str,
    /// Edges that still hold it.
    pub(crate) left: u32,
    /// Thunks that depend on it.
    pub(crate) priority: u32,
}

/// A list of ready thunks, in pop order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ready {
    /// The lane whose queue it is; none for a posted task.
    pub(crate) lane: Option<usize>,
    /// The next one first.
    pub(crate) nodes: Vec<NodeId>,
}

impl Frame {
    /// The page at `position`, with an eye on `selected`.
    pub(crate) fn at(of: &Fixed<Scene>, position: usize, selected: NodeId) -> Self {
        let scene = &*of.0;
        let (model, together) = (&*scene.model, &scene.clock);
        let position = position.min(together.len());
        let now = together.indices_at(position);
        let before = together.indices_at(together.step_before(position));
        let queues: Vec<Column> = scene
            .runs
            .iter()
            .enumerate()
            .map(|(log, run)| {
                let replay = &together.replays()[log];
                let state = Rc::new(replay.state_at(now[log]));
                let events = &replay.log().events[before[log]..now[log]];
                let happened = events.iter().filter(|event| event.run == run.entry);
                let happened = happened.filter_map(|event| words::event(&event.kind)).collect();
                Column::new(model, run, state, selected, happened)
            })
            .collect();
        let step = together.steps().partition_point(|&end| end <= position);
        let steps = together.steps().len();
        let time = together.time_at(position);
        Self {
            program: model.exhibit.program.name.clone(),
            position,
            positions: together.len(),
            step,
            steps,
            time: time.to_string(),
            selected,
            sentence: words::frame(step, steps, time, queues.iter().map(|column| column.sentence.as_str())),
            queues,
            scene: of.clone(),
        }
    }

    /// Whether this is what there is to be seen there.
    pub(crate) fn is_at(&self, scene: &Fixed<Scene>, position: usize, selected: NodeId) -> bool {
        (&self.scene, self.position, self.selected) == (scene, position, selected)
    }

    /// The clock, in ns.
    pub(crate) fn ticks(&self) -> Ticks {
        self.time.parse().unwrap_or(0)
    }
}

impl Column {
    fn new(model: &Model, run: &Run, state: Rc<State>, selected: NodeId, happened: Vec<String>) -> Self {
        let entry = state.run(run.entry);
        let nodes: Vec<Node> = model
            .priorities
            .iter()
            .enumerate()
            .map(|(node, &priority)| match entry {
                Some(entry) => {
                    Node { state: words::state(entry.nodes[node]), left: entry.counters[node], priority }
                }
                None => {
                    let left = model.needs(node as NodeId).len() as u32;
                    Node { state: words::state(NodeState::Waiting), left, priority }
                }
            })
            .collect();
        let frames = state.lanes.iter().enumerate().flat_map(|(lane, lane_state)| {
            lane_state.frames.iter().filter(|frame| frame.run == run.entry).map(move |frame| (lane, frame))
        });
        let mut ready = Vec::new();
        let mut running = vec![None; run.spans.len()];
        for (lane, frame) in frames {
            let nodes = run.queue.pop_order(&frame.queue, &model.priorities);
            ready.push(Ready { lane: Some(lane), nodes });
            if let Some(place) = running.get_mut(lane) {
                *place = frame.running.map(|running| running.node).or(*place);
            }
        }
        ready.extend(
            state
                .waiting
                .iter()
                .filter(|task| task.run == run.entry)
                .map(|task| Ready { lane: None, nodes: task.nodes.clone() }),
        );
        let mut column = Self {
            queue: run.queue.name(),
            pending_nodes: entry.map_or(0, |entry| entry.pending_nodes),
            done: entry.is_some_and(|entry| entry.done),
            happened,
            why: exhibit::why(&model.exhibit, run.entry, &state, selected),
            sentence: String::new(),
            nodes,
            ready,
            running,
            run: run.entry,
            state: Rc::clone(&state),
        };
        column.sentence = words::column(&column);
        column
    }
}
