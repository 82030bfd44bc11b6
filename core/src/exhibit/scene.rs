//! The picture of an exhibit at an instant, as a list of simple shapes that SVG and canvas draw
//! alike. No colours here: a shape has classes, a style sheet or a palette gives them a look.
//!
//! Shapes come back to front: edges, then nodes in program order. Each has an id of its own
//! ([`Prim::id`]) that stays the same from instant to instant.

use std::borrow::Cow;
use std::fmt;

use super::{Exhibit, SHOWN_IN_LOG};
use crate::graph::{EdgeKind, NodeId};
use crate::layout::Point;
use crate::trace::{NodeState, RunId, RunState, State};

/// What the eye is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The execution whose thunks are shown.
    pub run: RunId,
    /// A thunk that is marked, with the edges that hold it.
    pub selected: Option<NodeId>,
    /// Leaves out what lies outside: for pictures too large to be drawn whole.
    pub window: Option<Window>,
}

/// A part of the picture, in its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Upper left corner.
    pub from: Point,
    /// Lower right corner.
    pub to: Point,
}

/// One shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prim<'a> {
    /// Edge or thunk that it belongs to.
    pub of: Of,
    /// Which part of it: `edge`; `box`, `ring`, `cross`, `name`, `note` of a thunk.
    pub part: &'static str,
    /// How it stands: `held` or `released`; the thunk's state, as `ready` ([`NodeState::name`]).
    pub state: &'static str,
    /// `scheduling` for an edge of that kind, else empty.
    pub kind: &'static str,
    /// `selected` for parts of the marked thunk, `asked` for an edge that holds it, else empty.
    pub mark: &'static str,
    /// Its form.
    pub shape: Shape<'a>,
}

/// What a shape belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Index into [`Exhibit::edges`].
    Edge(u32),
    /// A thunk.
    Node(NodeId),
}

/// The form of a shape, in pixels of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// A rectangle with rounded corners.
    Rect {
        /// Left edge.
        x: i32,
        /// Upper edge.
        y: i32,
        /// To the right.
        width: i32,
        /// Downwards.
        height: i32,
        /// Of the corners.
        radius: i32,
    },
    /// A way from point to point; [`strokes`] says how.
    Route(&'a [Point]),
    /// A straight line.
    Line(Point, Point),
    /// Text, centred on `x`, its base line at `y`.
    Text {
        /// Its middle.
        x: i32,
        /// Its base line.
        y: i32,
        /// What it says.
        text: Cow<'a, str>,
    },
}

impl Prim<'_> {
    /// `e7`, `n8-box`: unique within a scene.
    pub fn id(&self) -> String {
        match self.of {
            Of::Edge(edge) => format!("e{edge}"),
            Of::Node(node) => format!("n{node}-{}", self.part),
        }
    }

    /// All its classes, as an attribute has them: `box ready selected`.
    pub fn class(&self) -> String {
        let all = [self.part, self.state, self.kind, self.mark];
        all.into_iter().filter(|class| !class.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// One stroke of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// Starts here.
    Move(Point),
    /// A straight line to here.
    Line(Point),
    /// A cubic curve with two control points, to here.
    Curve(Point, Point, Point),
}

/// How a route is drawn: straight down where x stays, an S between two rows where it changes.
pub fn strokes(points: &[Point]) -> impl Iterator<Item = Stroke> {
    let first = points.first().map(|&first| Stroke::Move(first));
    first.into_iter().chain(points.windows(2).map(|pair| {
        let [from, to] = [pair[0], pair[1]];
        if from.x == to.x {
            return Stroke::Line(to);
        }
        // Neighbouring rows are near; points of any file are within 2^28.
        let y = (from.y + to.y) / 2;
        Stroke::Curve(Point { x: from.x, y }, Point { x: to.x, y }, to)
    }))
}

impl fmt::Display for Stroke {
    /// As in the `d` of an SVG path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Move(to) => write!(f, "M{} {}", to.x, to.y),
            Self::Line(to) => write!(f, "L{} {}", to.x, to.y),
            Self::Curve(a, b, to) => write!(f, "C{} {} {} {} {} {}", a.x, a.y, b.x, b.y, to.x, to.y),
        }
    }
}

/// The picture at the instant of `state`. Before the run begins, and for a run of another
/// sequence, every thunk waits.
pub fn scene<'a>(exhibit: &'a Exhibit, state: &State, look: &Look) -> Vec<Prim<'a>> {
    let run = state.run(look.run).filter(|run| run.sequence == SHOWN_IN_LOG);
    let mut prims = Vec::new();
    for ((index, edge), route) in (0..).zip(&exhibit.edges).zip(&exhibit.picture.routes) {
        let ends = route.first().zip(route.last());
        if !ends.is_some_and(|(&from, &to)| look.sees(from, to)) {
            continue;
        }
        let held = state_of(run, edge.from).holds(edge.kind);
        prims.push(Prim {
            of: Of::Edge(index),
            part: "edge",
            state: if held { "held" } else { "released" },
            kind: if edge.kind == EdgeKind::Scheduling { "scheduling" } else { "" },
            mark: if held && look.selected == Some(edge.to) { "asked" } else { "" },
            shape: Shape::Route(route),
        });
    }
    let mut held_by = Vec::new();
    if run.is_none() {
        held_by = vec![0_u32; exhibit.thunks.len()];
        exhibit.edges.iter().for_each(|edge| held_by[edge.to as usize] += 1);
    }
    for (node, &centre) in (0..).zip(&exhibit.picture.centres) {
        if look.sees(centre, centre) {
            let counters = run.map_or(&held_by, |run| &run.counters);
            let left = counters.get(node as usize).copied().unwrap_or(0);
            draw_node(exhibit, node, centre, state_of(run, node), left, look, &mut prims);
        }
    }
    prims
}

fn state_of(run: Option<&RunState>, node: NodeId) -> NodeState {
    run.and_then(|run| run.nodes.get(node as usize)).copied().unwrap_or(NodeState::Waiting)
}

impl Look {
    /// Whether the box around two points, and a node's width around that, meets the window.
    fn sees(&self, a: Point, b: Point) -> bool {
        const MARGIN: i32 = 64;
        self.window.is_none_or(|Window { from, to }| {
            a.x.max(b.x) + MARGIN >= from.x
                && a.x.min(b.x) - MARGIN <= to.x
                && a.y.max(b.y) + MARGIN >= from.y
                && a.y.min(b.y) - MARGIN <= to.y
        })
    }
}

fn draw_node<'a>(
    exhibit: &'a Exhibit,
    node: NodeId,
    centre: Point,
    state: NodeState,
    left: u32,
    look: &Look,
    prims: &mut Vec<Prim<'a>>,
) {
    let Some(thunk) = exhibit.thunks.get(node as usize) else { return };
    let Point { x: width, y: height } = exhibit.picture.node;
    let (x, y) = (centre.x - width / 2, centre.y - height / 2);
    let selected = look.selected == Some(node);
    let mark = if selected { "selected" } else { "" };
    let mut draw = |part, shape| {
        prims.push(Prim { of: Of::Node(node), part, state: state.name(), kind: "", mark, shape });
    };
    if selected {
        draw("ring", Shape::Rect { x: x - 3, y: y - 3, width: width + 6, height: height + 6, radius: 8 });
    }
    draw("box", Shape::Rect { x, y, width, height, radius: 5 });
    if state == NodeState::Failed {
        let corner = |right, down| Point { x: x + width * right, y: y + height * down };
        draw("cross", Shape::Line(corner(0, 0), corner(1, 1)));
    }
    draw("name", Shape::Text { x: centre.x, y: centre.y - 2, text: short(&thunk.label) });
    let note =
        if left > 0 { format!("{node} · {left} left") } else { format!("{node} · p{}", thunk.priority) };
    draw("note", Shape::Text { x: centre.x, y: centre.y + 11, text: note.into() });
}

/// Most characters of a label that a node has room for.
const ROOM: usize = 9;

/// A label that fits. Names of thunks differ at their ends, so the middle is left out.
fn short(label: &str) -> Cow<'_, str> {
    let count = label.chars().count();
    if count <= ROOM {
        return Cow::Borrowed(label);
    }
    let head: String = label.chars().take(ROOM / 2).collect();
    let tail: String = label.chars().skip(count - ROOM / 2).collect();
    Cow::Owned(format!("{head}…{tail}"))
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;
    use crate::exhibit::{Chapter, build};
    use crate::program::{Program, SequencePath, json};
    use crate::sim;
    use crate::trace::{EventKind, Replay};

    fn moe10() -> Exhibit {
        let program: Program =
            json::read(include_bytes!("../../../www/programs/moe10.json")).expect("reads").program;
        Chapter::find("moe10").expect("a chapter").exhibit(&program).expect("builds")
    }

    /// One line per shape that matches.
    #[track_caller]
    fn check(prims: &[Prim<'_>], keep: impl Fn(&Prim<'_>) -> bool, expected: &str) {
        let lines: Vec<String> = prims
            .iter()
            .filter(|prim| keep(prim))
            .map(|prim| {
                let shape = match &prim.shape {
                    Shape::Rect { x, y, width, height, radius } => {
                        format!("{x} {y} {width} {height} {radius}")
                    }
                    Shape::Route(points) => strokes(points).map(|stroke| stroke.to_string()).collect(),
                    Shape::Line(a, b) => format!("{} {} {} {}", a.x, a.y, b.x, b.y),
                    Shape::Text { x, y, text } => format!("{x} {y} {text}"),
                };
                format!("{}: {} [{shape}]", prim.id(), prim.class())
            })
            .collect();
        let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_selected_thunk_its_edges_and_texts() {
        let exhibit = moe10();
        let replay = Replay::new(exhibit.runs[0].log.clone());
        // Two experts are done.
        let done = |event: &crate::trace::Event| matches!(event.kind, EventKind::Released { to: 8, .. });
        let events = &replay.log().events;
        let index = events.iter().enumerate().filter(|(_, event)| done(event)).nth(1).expect("two").0 + 1;
        let look = Look { selected: Some(8), ..Look::default() };
        let scene = scene(&exhibit, &replay.state_at(index), &look);
        check(
            &scene,
            |prim| matches!(prim.of, Of::Node(8 | 2 | 6)) || matches!(prim.of, Of::Edge(2 | 3)),
            "e2: edge released [M176 34L176 56L176 202L176 224]
             e3: edge held asked [M248 34L248 56L248 202C248 213 176 213 176 224]
             n2-box: box done [144 0 64 34 5]
             n2-name: name done [176 15 expert 2]
             n2-note: note done [176 28 2 · p2]
             n6-box: box waiting [0 112 64 34 5]
             n6-name: name waiting [32 127 exp]
             n6-note: note waiting [32 140 6 · 1 left]
             n8-ring: ring waiting selected [141 221 70 40 8]
             n8-box: box waiting selected [144 224 64 34 5]
             n8-name: name waiting selected [176 239 sum]
             n8-note: note waiting selected [176 252 8 · 3 left]",
        );
    }

    #[test]
    fn before_the_run_everything_waits() {
        let exhibit = moe10();
        let scene = scene(&exhibit, &State::new(&exhibit.runs[0].log.header), &Look::default());
        assert!(scene.iter().all(|prim| ["waiting", "held"].contains(&prim.state)));
        check(
            &scene,
            |prim| prim.part == "note" && prim.of == Of::Node(8),
            "n8-note: note waiting [176 252 8 · 5 left]",
        );
    }

    #[test]
    fn a_window_leaves_out_what_is_far() {
        let exhibit = moe10();
        let state = State::new(&exhibit.runs[0].log.header);
        let window = Window { from: Point { x: 0, y: 300 }, to: Point { x: 400, y: 400 } };
        let all = scene(&exhibit, &state, &Look::default());
        let seen = scene(&exhibit, &state, &Look { window: Some(window), ..Look::default() });
        assert!(seen.iter().all(|prim| all.contains(prim)));
        let boxes = |prims: &[Prim<'_>]| prims.iter().filter(|prim| prim.part == "box").count();
        assert_eq!((boxes(&all), boxes(&seen)), (10, 2));
    }

    /// An edge is drawn as held exactly as long as its release has not been logged, and ids are unique.
    #[test]
    fn edges_are_held_until_they_are_released() {
        for seed in 0..sim::SEEDED {
            let (program, options) = sim::seeded(seed);
            let exhibit = build(&program, &SequencePath::entry(), &[options], &[]).expect("builds");
            let replay = Replay::new(exhibit.runs[0].log.clone());
            let log = replay.log();
            for index in 1..=replay.len() {
                let at = &log.events[index - 1];
                // Between a completion and its releases the edge is already no reason to wait.
                let settled = log.events.get(index).is_none_or(|next| next.t > at.t);
                let state = replay.state_at(index);
                let Some(shown) = state.runs.iter().find(|run| run.sequence == SHOWN_IN_LOG) else {
                    continue;
                };
                let run = shown.id;
                if !settled {
                    continue;
                }
                let prims = scene(&exhibit, &state, &Look { run, ..Look::default() });
                let mut held = vec![0; exhibit.thunks.len()];
                for prim in &prims {
                    if let (Of::Edge(edge), "held") = (prim.of, prim.state) {
                        held[exhibit.edges[edge as usize].to as usize] += 1;
                    }
                }
                if shown.mode == crate::trace::Mode::Concurrent {
                    assert_eq!(held, shown.counters, "seed {seed}, after {index} events");
                }
                let mut ids: Vec<String> = prims.iter().map(Prim::id).collect();
                ids.sort_unstable();
                ids.dedup();
                assert_eq!(ids.len(), prims.len());
            }
        }
    }

    #[test]
    fn long_labels_keep_both_ends() {
        assert_eq!(
            ["expert 1", "subtract_exponential_fusion", "ynn_fusion.12"].map(short),
            ["expert 1", "subt…sion", "ynn_…n.12"]
        );
    }
}
