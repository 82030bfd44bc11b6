//! Where the reader is, and what changes it. No effects: those are the app's.

use std::rc::Rc;

use thunkscope_core::graph::NodeId;

use crate::command::{Command, Dialog, Mode, Shown};
use crate::model::{Fixed, Model, Scene};
use crate::zoom::Zoom;

/// Between two steps while playing at normal speed, in ms: long enough to read what happened.
const PACE: i32 = 900;

/// Speeds, in quarters of the normal one.
pub(crate) const SPEEDS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const NORMAL: usize = 2;

/// Where in a new scene the reader arrives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arrival {
    /// Where it opens.
    Opening,
    /// At the same time on the clock, with the eye on the same thunk.
    Same,
    /// There, if that is a position of it.
    At { position: Option<usize>, selected: Option<NodeId> },
}

/// Where the reader is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) position: usize,
    pub(crate) playing: bool,
    /// Index into [`SPEEDS`].
    pub(crate) speed: usize,
    pub(crate) selected: NodeId,
    pub(crate) mode: Mode,
    pub(crate) dialog: Option<Dialog>,
    /// The part of the graph that is seen; none: all of it.
    pub(crate) zoom: Option<Zoom>,
}

/// What changes it.
#[derive(Clone, PartialEq)]
pub(crate) enum Move {
    Command(Command),
    Seek(usize),
    Speed(usize),
    Zoom(Option<Zoom>),
    /// The time for one step of playing is over.
    Tick,
    /// Another model takes the stage.
    Enter(Fixed<Model>, Shown, Arrival),
}

impl Place {
    /// Where a scene opens.
    pub(crate) fn opening(scene: &Scene) -> Self {
        Self {
            position: (scene.model.exhibit.opening as usize).min(scene.clock.len()),
            playing: false,
            speed: NORMAL,
            selected: scene.model.exhibit.asked,
            mode: Mode::Read,
            dialog: None,
            zoom: None,
        }
    }

    /// Between two steps, in ms.
    pub(crate) fn pace(&self) -> i32 {
        PACE * 4 / SPEEDS[self.speed] as i32
    }

    /// Where a reader is after `change`, in the same scene.
    pub(crate) fn after(&self, change: &Move, scene: &Scene) -> Self {
        let clock = &scene.clock;
        let at = |position: usize| Self { playing: false, ..self.moved(position, scene) };
        match change {
            Move::Seek(position) => at((*position).min(clock.len())),
            Move::Speed(speed) => Self { speed: (*speed).min(SPEEDS.len() - 1), ..self.clone() },
            Move::Zoom(zoom) => Self { zoom: *zoom, ..self.clone() },
            Move::Tick => {
                let position = clock.step_after(self.position);
                Self { playing: self.playing && position < clock.len(), ..self.moved(position, scene) }
            }
            Move::Command(command) => self.obeying(*command, scene),
            Move::Enter(..) => self.clone(),
        }
    }

    /// At another position; what runs there stays in view.
    fn moved(&self, position: usize, scene: &Scene) -> Self {
        let zoom = self.zoom.map(|zoom| scene.following(zoom, position));
        Self { position, zoom, ..self.clone() }
    }

    fn obeying(&self, command: Command, scene: &Scene) -> Self {
        let clock = &scene.clock;
        let nodes = scene.model.len().max(1);
        let at = |position: usize| Self { playing: false, ..self.moved(position, scene) };
        let look = |selected: NodeId| {
            // The thunk comes into view.
            let zoom = self.zoom.map(|zoom| match scene.model.bounds(selected) {
                Some((from, to)) => zoom.holding(from.x, from.y, to.x, to.y),
                None => zoom,
            });
            Self { selected, zoom, ..self.clone() }
        };
        let graph = scene.picture();
        let zoom = |eighths: i32| {
            let from = self.zoom.unwrap_or(graph);
            Self { zoom: from.by(eighths, graph), ..self.clone() }
        };
        match command {
            // Playing from the end starts over.
            Command::Toggle if !self.playing && self.position >= clock.len() => {
                Self { playing: true, ..self.moved(0, scene) }
            }
            Command::Toggle => Self { playing: !self.playing, ..self.clone() },
            Command::Forward => at(clock.step_after(self.position)),
            Command::Back => at(clock.step_before(self.position)),
            Command::ForwardEvent => at((self.position + 1).min(clock.len())),
            Command::BackEvent => at(self.position.saturating_sub(1)),
            Command::NextOfInterest => at(clock.interesting_after(self.position)),
            Command::LastOfInterest => at(clock.interesting_before(self.position)),
            Command::First => at(0),
            Command::Last => at(clock.len()),
            Command::Faster => Self { speed: (self.speed + 1).min(SPEEDS.len() - 1), ..self.clone() },
            Command::Slower => Self { speed: self.speed.saturating_sub(1), ..self.clone() },
            Command::NextThunk => look((self.selected + 1) % nodes),
            Command::LastThunk => look((self.selected + nodes - 1) % nodes),
            Command::Look(node) => look(node.min(nodes - 1)),
            Command::Go(mode) if mode == self.mode => self.clone(),
            Command::Go(mode) => Self { mode, zoom: first_zoom(mode, scene), ..self.clone() },
            Command::ZoomIn => zoom(6),
            Command::ZoomOut => zoom(11),
            Command::Fit => Self { zoom: None, ..self.clone() },
            Command::Open(dialog) => {
                Self { dialog: (self.dialog != Some(dialog)).then_some(dialog), ..self.clone() }
            }
            Command::Close => Self { dialog: None, ..self.clone() },
            // Another scene, or an effect.
            Command::Show(_)
            | Command::Theme
            | Command::OpenFile
            | Command::SaveProgram
            | Command::CopyLink
            | Command::Instrument(_) => self.clone(),
        }
    }
}

/// What is seen of the graph at first.
fn first_zoom(mode: Mode, scene: &Scene) -> Option<Zoom> {
    if mode == Mode::Lab { scene.first_zoom() } else { None }
}

/// A place, together with what it is a place in.
#[derive(Clone, PartialEq)]
pub(crate) struct Reading {
    pub(crate) scene: Fixed<Scene>,
    pub(crate) place: Place,
}

impl Reading {
    /// Where a reader is after `change`.
    pub(crate) fn after(&self, change: &Move) -> Self {
        match change {
            Move::Enter(model, shown, arrival) => self.entering(Rc::clone(&model.0), *shown, arrival),
            Move::Command(Command::Show(shown)) => self.showing(*shown),
            change => {
                let place = self.place.after(change, &self.scene.0);
                Self { scene: self.scene.clone(), place }
            }
        }
    }

    /// The same model with other runs, at the same time of the clock.
    fn showing(&self, shown: Shown) -> Self {
        if self.scene.0.shown == shown {
            return self.clone();
        }
        self.entering(Rc::clone(&self.scene.0.model), shown, &Arrival::Same)
    }

    fn entering(&self, model: Rc<Model>, shown: Shown, arrival: &Arrival) -> Self {
        let scene = Scene::new(model, shown);
        let nodes = scene.model.len().max(1);
        let opening = Place::opening(&scene);
        let (position, selected) = match arrival {
            Arrival::Opening => (opening.position, opening.selected),
            Arrival::Same => (self.same_time(&scene), self.place.selected),
            Arrival::At { position, selected } => {
                (position.unwrap_or(opening.position), selected.unwrap_or(opening.selected))
            }
        };
        let place = Place {
            position: position.min(scene.clock.len()),
            selected: selected.min(nodes - 1),
            playing: false,
            zoom: first_zoom(self.place.mode, &scene),
            ..self.place.clone()
        };
        Self { scene: Fixed(Rc::new(scene)), place }
    }

    /// The end of the last step of `scene` that lies no later than where the reader is.
    fn same_time(&self, scene: &Scene) -> usize {
        let now = self.scene.0.clock.time_at(self.place.position);
        let steps = scene.clock.steps();
        let begun = self.place.position > 0;
        let step = steps.partition_point(|&step| scene.clock.time_at(step) <= now);
        if begun { step.checked_sub(1).map_or(0, |step| steps[step]) } else { 0 }
    }
}
