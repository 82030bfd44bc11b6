//! The state of the page in its address.

use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::digest::Digest;
use thunkscope_core::executor::Queue;
use thunkscope_core::exhibit::link::{self, Link, Source};

use crate::command::{Mode, Shown};
use crate::desk::Desk;
use crate::instrument::Instrument;
use crate::model::Scene;
use crate::page;
use crate::state::Place;

/// What the address of an instrument begins with.
const INSTRUMENT: &str = "lab.";

/// The link to what is shown; none for a program that is not part of the page.
pub(crate) fn link(desk: &Desk, scene: &Scene, place: &Place) -> Option<Link> {
    let chapter = desk.chosen.0.chapter?;
    let mut options = desk.setting.options.clone();
    // The class that is looked at is said by the view.
    options.executor.queue = Queue::default();
    Some(Link {
        program: Source::Chapter(chapter.id.to_owned()),
        path: desk.setting.path.clone(),
        options,
        position: Some(place.position as u64),
        selected: Some(place.selected),
        view: view(place.mode, scene.shown),
        digest: Some(digest(scene, place.position)),
    })
}

/// Digest of what is to be seen at a position.
pub(crate) fn digest(scene: &Scene, position: usize) -> Digest {
    let now = scene.clock.indices_at(position);
    let states: Vec<_> =
        scene.clock.replays().iter().zip(now).map(|(replay, index)| replay.state_at(index)).collect();
    link::digest(&states)
}

/// Says in the address what is shown. A page that was only opened keeps its plain address.
pub(crate) fn write(desk: &Desk, scene: &Scene, place: &Place, open: Option<Instrument>) {
    if let (Some(instrument), Mode::Lab) = (open, place.mode) {
        return page::set_fragment(&format!("{INSTRUMENT}{}", instrument.id()));
    }
    let opening = Place::opening(scene);
    let as_opened = place.position == opening.position && place.selected == opening.selected;
    let plain = as_opened && scene.shown == Shown::All && desk.setting == Default::default();
    let fragment = match (link(desk, scene, place), place.mode) {
        (Some(link), _) if !plain => link.encode(),
        (_, Mode::Lab) => "lab".to_owned(),
        (_, Mode::Read) => String::new(),
    };
    page::set_fragment(&fragment);
}

fn view(mode: Mode, shown: Shown) -> String {
    let mode = match mode {
        Mode::Read => "read",
        Mode::Lab => "lab",
    };
    match (mode, shown) {
        ("read", Shown::All) => String::new(),
        (mode, Shown::All) => mode.to_owned(),
        (mode, Shown::One(queue)) => format!("{mode}.{queue}"),
    }
}

/// The arrangement and the runs that a view names; what is not known is the usual.
pub(crate) fn arrangement(view: &str) -> (Mode, Shown) {
    let (mode, shown) = view.split_once('.').unwrap_or((view, ""));
    let mode = if mode == "lab" { Mode::Lab } else { Mode::Read };
    (mode, shown.parse().map_or(Shown::All, Shown::One))
}

/// What the address asks for.
pub(crate) enum Asked {
    /// An arrangement of whatever is shown.
    Mode(Mode),
    /// An instrument of the Lab.
    Instrument(Instrument),
    /// A moment; or what is wrong with the link.
    Link(Result<Box<Link>, Diagnostic>),
}

/// Reads the address.
pub(crate) fn read() -> Asked {
    let fragment = page::fragment();
    if let Some(instrument) = fragment.strip_prefix(INSTRUMENT).and_then(Instrument::of_id) {
        return Asked::Instrument(instrument);
    }
    match fragment.as_str() {
        "" | "read" | "stage" => Asked::Mode(Mode::Read),
        "lab" => Asked::Mode(Mode::Lab),
        other => Asked::Link(Link::decode(other).map(Box::new)),
    }
}
