//! What the stage shows: an exhibit, and the runs of it that are looked at, on one clock.

use std::fmt::Write as _;
use std::rc::Rc;

use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::executor::Queue;
use thunkscope_core::exhibit::{Exhibit, SHOWN_IN_LOG, ThunkLine};
use thunkscope_core::graph::NodeId;
use thunkscope_core::layout::Point;
use thunkscope_core::machine::Ticks;
use thunkscope_core::trace::{EventKind, Log, NodeState, Replay, RunId, Together};

use crate::command::Shown;
use crate::zoom::Zoom;

/// What is shared, and compared by identity.
#[derive(Debug)]
pub(crate) struct Fixed<T>(pub(crate) Rc<T>);

impl<T> Fixed<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Rc::new(value))
    }
}

impl<T> Clone for Fixed<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> PartialEq for Fixed<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// Room around the graph for outlines, in its own units.
const MARGIN: i32 = 6;

/// Everything that stays the same while the position and the shown runs change.
pub(crate) struct Model {
    pub(crate) exhibit: Exhibit,
    pub(crate) priorities: Vec<u32>,
    pub(crate) sources: usize,
    pub(crate) sinks: usize,
    /// By thunk: the thunks that it waits for, ascending.
    incoming: Vec<Vec<NodeId>>,
}

/// A model as it is shown: some of its runs, on one clock.
pub(crate) struct Scene {
    pub(crate) model: Rc<Model>,
    pub(crate) shown: Shown,
    pub(crate) runs: Vec<Run>,
    pub(crate) clock: Together,
    /// By position: the log, and the place in it, of the event before it.
    pub(crate) order: Vec<(usize, usize)>,
    /// The scrubber's marks, as paths in a picture [`MARKS`] wide and 20 high: of any kind, and of interest.
    pub(crate) marks: [Rc<str>; 2],
}

/// What one log holds besides its states.
pub(crate) struct Run {
    pub(crate) queue: Queue,
    /// The execution of the sequence that is shown.
    pub(crate) entry: RunId,
    /// By lane: what it ran. Lanes that never ran anything are left out at the end.
    pub(crate) spans: Vec<Vec<Span>>,
}

/// A thunk on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) node: NodeId,
    pub(crate) from: Ticks,
    /// When the lane was free again; the end of the log if it never was.
    pub(crate) to: Ticks,
    /// When the thunk's event came, if it was pending after `to`.
    pub(crate) pending_to: Option<Ticks>,
    pub(crate) failed: bool,
}

impl Model {
    /// From the bytes of an exhibit.
    ///
    /// # Errors
    /// As [`Exhibit::from_bytes`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Diagnostic> {
        Exhibit::from_bytes(bytes).map(Self::new)
    }

    pub(crate) fn new(exhibit: Exhibit) -> Self {
        let mut incoming = vec![Vec::new(); exhibit.thunks.len()];
        for edge in &exhibit.edges {
            incoming[edge.to as usize].push(edge.from);
        }
        Self {
            priorities: exhibit.thunks.iter().map(|thunk| thunk.priority).collect(),
            sources: exhibit.sources(),
            sinks: exhibit.sinks(),
            incoming,
            exhibit,
        }
    }

    /// Number of thunks.
    pub(crate) fn len(&self) -> NodeId {
        self.exhibit.thunks.len() as NodeId
    }

    pub(crate) fn thunk(&self, node: NodeId) -> Option<&ThunkLine> {
        self.exhibit.thunks.get(node as usize)
    }

    /// What the page calls a thunk.
    pub(crate) fn label(&self, node: NodeId) -> &str {
        self.thunk(node).map_or("", |thunk| &thunk.label)
    }

    /// The thunks that `node` waits for.
    pub(crate) fn needs(&self, node: NodeId) -> &[NodeId] {
        self.incoming.get(node as usize).map_or(&[], Vec::as_slice)
    }

    /// The thunks that wait for `node`.
    pub(crate) fn releases(&self, node: NodeId) -> Vec<NodeId> {
        self.exhibit.outgoing(node).iter().map(|edge| edge.to).collect()
    }

    /// Where a thunk is in the picture, with some room around it: its upper left and lower right corners.
    pub(crate) fn bounds(&self, node: NodeId) -> Option<(Point, Point)> {
        let picture = &self.exhibit.picture;
        let at = picture.centres.get(node as usize)?;
        let Point { x: width, y: height } = picture.node;
        let from = Point { x: at.x - width, y: at.y - height };
        Some((from, Point { x: at.x + width, y: at.y + height }))
    }

    /// The thunk at a point of the picture.
    pub(crate) fn node_at(&self, x: i32, y: i32) -> Option<NodeId> {
        let picture = &self.exhibit.picture;
        let near =
            |at: &Point| (at.x - x).abs() <= picture.node.x / 2 && (at.y - y).abs() <= picture.node.y / 2;
        picture.centres.iter().position(near).map(|node| node as NodeId)
    }

    /// Whether there is a run of this queue.
    pub(crate) fn has(&self, shown: Shown) -> bool {
        match shown {
            Shown::All => true,
            Shown::One(queue) => self.exhibit.runs.iter().any(|run| run.queue == queue),
        }
    }
}

impl Scene {
    pub(crate) fn new(model: Rc<Model>, shown: Shown) -> Self {
        let shown = if model.has(shown) { shown } else { Shown::All };
        let lines = || model.exhibit.runs.iter().filter(|run| shown.includes(run.queue));
        let runs = lines().map(|line| Run::new(line.queue, &line.log)).collect();
        let clock = Together::new(lines().map(|line| Replay::new(line.log.clone())).collect());
        let mut seen = vec![0; clock.replays().len()];
        let order = (0..clock.len()).filter_map(|place| {
            let log = clock.log_at(place)?;
            seen[log] += 1;
            Some((log, seen[log] - 1))
        });
        let order = order.collect();
        let marks = [false, true].map(|interesting| marks(&clock, interesting));
        Self { runs, order, marks, clock, shown, model }
    }

    /// All of the graph's picture, with room around it for outlines. A graph that has the whole
    /// middle of the window for itself is not drawn larger than is good to read.
    pub(crate) fn picture(&self) -> Zoom {
        let picture = &self.model.exhibit.picture;
        let whole = Zoom {
            x: -MARGIN,
            y: -MARGIN,
            width: picture.width.saturating_add(2 * MARGIN),
            height: picture.height.saturating_add(2 * MARGIN),
        };
        let (width, height) = self.room();
        whole.at_least(width, height * 2 / 3)
    }

    /// What can be read at once in the Lab.
    fn room(&self) -> (i32, i32) {
        if self.runs.len() == 1 { (620, 600) } else { (330, 600) }
    }

    /// What a picture opens on in the Lab: all of it, unless that is too small to read and the part that can be
    /// read is enough to find one's way.
    pub(crate) fn first_zoom(&self) -> Option<Zoom> {
        let ((width, height), whole) = (self.room(), self.picture());
        let small = whole.width > width * 3 / 2 || whole.height > height * 3 / 2;
        let (from, to) = self.model.bounds(self.model.exhibit.asked)?;
        let zoom = Zoom { width: width.min(whole.width), height: height.min(whole.height), ..whole };
        (small && self.model.len() <= 400).then(|| zoom.holding(from.x, from.y, to.x, to.y))
    }

    /// `zoom`, moved to where something runs if nothing of that is in it.
    pub(crate) fn following(&self, zoom: Zoom, position: usize) -> Zoom {
        let (Some(replay), Some(run)) = (self.clock.replays().first(), self.runs.first()) else {
            return zoom;
        };
        let now = self.clock.indices_at(position).first().copied().unwrap_or(0);
        let state = replay.state_at(now);
        let Some(entry) = state.run(run.entry) else { return zoom };
        let running = entry.nodes.iter().enumerate().filter(|(_, state)| **state == NodeState::Running);
        let bounds: Vec<_> = running.filter_map(|(node, _)| self.model.bounds(node as NodeId)).collect();
        let seen = |&(from, to): &(Point, Point)| zoom.shows(from.x, from.y, to.x, to.y);
        match bounds.first() {
            Some(&(from, to)) if !bounds.iter().any(seen) => zoom.holding(from.x, from.y, to.x, to.y),
            _ => zoom,
        }
    }
}

/// `part` of `whole`, in `of` parts.
pub(crate) fn share(part: u64, whole: u64, of: u16) -> u64 {
    // Beyond 48 bits the last ones are no pixel of any picture, and the product would not fit.
    let shift = (u64::BITS - whole.leading_zeros()).saturating_sub(48);
    (part.min(whole) >> shift) * u64::from(of) / (whole >> shift).max(1)
}

/// Width of the scrubber's marks: more than it has pixels.
pub(crate) const MARKS: u16 = 4_000;

/// One path with all marks. Where one can no longer be told from the next, there is one.
fn marks(clock: &Together, interesting: bool) -> Rc<str> {
    let (top, bottom) = if interesting { (2, 18) } else { (6, 14) };
    let mut path = String::new();
    let mut last = None;
    for mark in clock.marks().iter().filter(|mark| mark.interesting == interesting) {
        let x = share(mark.position as u64, clock.len() as u64, MARKS);
        if last != Some(x) {
            // Writing into a string cannot fail.
            let _ = write!(path, "M{x} {top}V{bottom}");
            last = Some(x);
        }
    }
    path.into()
}

impl Run {
    fn new(queue: Queue, log: &Log) -> Self {
        let entry = log.events.iter().find(|event| {
            matches!(event.kind, EventKind::RunStart { parent: None, sequence: SHOWN_IN_LOG, .. })
        });
        let entry = entry.map_or(0, |event| event.run);
        let end = log.events.last().map_or(0, |event| event.t);
        let mut spans: Vec<Vec<Span>> = vec![Vec::new(); usize::from(log.header.lanes)];
        for event in log.events.iter().filter(|event| event.run == entry) {
            match event.kind {
                EventKind::Started { node } => {
                    if let Some(lane) = spans.get_mut(usize::from(event.actor.0)) {
                        lane.push(Span { node, from: event.t, to: end, pending_to: None, failed: false });
                    }
                }
                EventKind::Pending { node } => {
                    if let Some(span) = find(&mut spans, node) {
                        (span.to, span.pending_to) = (event.t, Some(end));
                    }
                }
                EventKind::Available { node } => {
                    if let Some(span) = find(&mut spans, node) {
                        span.pending_to = Some(event.t);
                    }
                }
                EventKind::Finished { node } | EventKind::Failed { node } => {
                    if let Some(span) = find(&mut spans, node) {
                        span.failed = matches!(event.kind, EventKind::Failed { .. });
                        if span.pending_to.is_none() {
                            span.to = event.t;
                        }
                    }
                }
                _ => {}
            }
        }
        let used = spans.iter().rposition(|lane| !lane.is_empty()).map_or(1, |last| last + 1);
        spans.truncate(used);
        Self { queue, entry, spans }
    }
}

/// The span of `node`: each node runs once per execution.
fn find(spans: &mut [Vec<Span>], node: NodeId) -> Option<&mut Span> {
    spans.iter_mut().flatten().find(|span| span.node == node)
}
