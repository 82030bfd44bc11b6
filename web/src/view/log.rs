//! The event log as a list: only the rows that can be seen exist.

use wasm_bindgen::JsCast;
use web_sys::{Element, Event};
use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, el, span};
use crate::command::Mode;
use crate::message::Msg;
use crate::model::Scene;
use crate::page;
use crate::state::{Move, Reading};
use crate::words;

/// Height of a row in CSS pixels; the style sheet has the same.
const ROW: i32 = 24;
/// Rows that exist above the first one in view, and in all.
const ABOVE: usize = 12;
const ROWS: usize = 60;

/// The list's frame, which scrolls.
const FRAME: &str = "log";

/// What the reader sees of it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shows {
    /// Whether it is unfolded. A folded one has no rows.
    pub(crate) open: bool,
    /// The first row in view.
    pub(crate) first: usize,
}

pub(crate) fn event_log(reading: &Reading, shows: Shows, say: &Say) -> El {
    let (scene, now) = (&*reading.scene.0, reading.place.position);
    let all = scene.clock.len();
    let first = shows.first.saturating_sub(ABOVE).min(all);
    let last = if shows.open { (first + ROWS).min(all) } else { first };
    // Inline styles are forbidden here, but a drawing has a height of its own.
    let room = |rows: usize| {
        let svg = el("svg").attr("width", "1").number("height", rows as i64 * i64::from(ROW));
        svg.attr("aria-hidden", "true")
    };
    let rows = el("div")
        .class("rows")
        .id(FRAME)
        .attr("role", "region")
        .attr("tabindex", "0")
        .attr("aria-label", words::LOG)
        .on(ListenerKind::onscroll, say, shown)
        .child(room(first))
        .child(el("ol").children((first..last).map(|place| row(scene, place, now, say))))
        .child(room(all - last));
    let summary = el("summary").text(words::LOG).child(span("quiet", words::events(now, all)));
    let log = el("details").class("log").flag("open", reading.place.mode == Mode::Lab);
    log.on(ListenerKind::ontoggle, say, shown).child(summary).child(rows)
}

fn row(scene: &Scene, place: usize, now: usize, say: &Say) -> El {
    let (log, index) = scene.order[place];
    let event = &scene.clock.replays()[log].log().events[index];
    let position = place + 1;
    let row = el("li")
        .key(place.to_string())
        .classes(&[if position > now { "ahead" } else { "" }, if position == now { "current" } else { "" }]);
    let row = if position == now { row.attr("aria-current", "step") } else { row };
    let title = words::queue(scene.runs[log].queue.name()).0;
    row.number("aria-setsize", scene.clock.len() as i64)
        .number("aria-posinset", position as i64)
        .on_click(say, Msg::Move(Move::Seek(position)))
        .child(span("t", words::time(event.t)))
        .maybe((scene.runs.len() > 1).then(|| span("q", title)))
        .child(span("who", words::actor(event.actor)))
        .child(span("what", words::event_line(&event.kind)))
}

/// What is seen of the log that the event comes from. It may not be in the page yet.
fn shown(event: &Event) -> Option<Msg> {
    let log = event.target()?.dyn_into::<Element>().ok()?.closest("details").ok()??;
    let scrolled = log.query_selector(".rows").ok()??.scroll_top();
    let open = log.has_attribute("open");
    Some(Msg::Log(Shows { open, first: (scrolled / ROW).max(0) as usize }))
}

/// Brings the row before `position` into view.
pub(crate) fn scroll_log(position: usize) {
    let frame = page::document().and_then(|document| document.get_element_by_id(FRAME));
    let Some(frame) = frame else { return };
    let (height, at) = (frame.client_height(), position.saturating_sub(1) as i32 * ROW);
    let seen = frame.scroll_top();
    if at < seen || at + ROW > seen + height {
        frame.set_scroll_top(at - height / 2);
    }
}
