//! The position as a slider, with a mark where something happens.

use std::rc::Rc;

use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, el};
use crate::message::Msg;
use crate::model::{MARKS, Scene};
use crate::state::Move;
use crate::words;

/// `text`: where the position is, in words, for screen readers.
pub(crate) fn scrubber(scene: &Scene, position: usize, text: String, say: &Say) -> El {
    let slider = el("input")
        .attr("type", "range")
        .id("scrub")
        .attr("min", "0")
        .number("max", scene.clock.len() as i64)
        .attr("step", "1")
        .value(position.to_string())
        .attr("aria-label", words::SCRUB)
        .attr("aria-valuetext", text)
        .on_value(ListenerKind::oninput, say, |value| Some(Msg::Move(Move::Seek(value.parse().ok()?))));
    let mark = |class: &'static str, path: &Rc<str>| el("path").class(class).attr("d", Rc::clone(path));
    let marks = el("svg")
        .class("marks")
        .attr("viewBox", format!("0 0 {MARKS} 20"))
        .attr("preserveAspectRatio", "none")
        .attr("aria-hidden", "true")
        .child(mark("mark", &scene.marks[0]))
        .child(mark("mark key", &scene.marks[1]));
    el("div").class("scrub").child(marks).child(slider)
}
