//! The transport bar.

use thunkscope_core::panel::shown::Stand;
use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, el, select, span};
use super::panel;
use super::scrubber::scrubber;
use crate::command::{Command, Dialog};
use crate::frame::Frame;
use crate::instrument::Bench;
use crate::message::Msg;
use crate::state::{Move, Reading, SPEEDS};
use crate::words;

pub(crate) fn transport(reading: &Reading, frame: &Frame, say: &Say) -> El {
    let place = &reading.place;
    let (start, end) = (place.position == 0, place.position == frame.positions);
    let button = |command, id, label, glyph, off| button(say, command, id, label, glyph, off);
    let buttons = el("div")
        .class("buttons")
        .child(button(Command::LastOfInterest, "last", words::LAST_OF_INTEREST, back(INTEREST), start))
        .child(button(Command::BackEvent, "back-event", words::BACK_EVENT, back(EVENT), start))
        .child(button(Command::Back, "back", words::BACK, back(STEP), start))
        .child(play(place.playing, say))
        .child(button(Command::Forward, "step", words::STEP, ahead(STEP), end))
        .child(button(Command::ForwardEvent, "event", words::STEP_EVENT, ahead(EVENT), end))
        .child(button(Command::NextOfInterest, "next", words::NEXT_OF_INTEREST, ahead(INTEREST), end));
    let text = words::position(frame);
    let speed = select("speed", place.speed, SPEEDS.map(|quarters| words::pace(quarters).into()))
        .attr("aria-label", words::SPEED)
        .attr("title", words::SPEED)
        .on_value(ListenerKind::onchange, say, |value| Some(Msg::Move(Move::Speed(value.parse().ok()?))));
    let question = span("glyph", "?").attr("aria-hidden", "true");
    el("div")
        .class("transport")
        .attr("role", "toolbar")
        .attr("aria-label", words::TRANSPORT)
        .child(buttons)
        .child(scrubber(&reading.scene.0, place.position, text.clone(), say))
        .child(span("where", text).id("where"))
        .child(speed)
        .child(button(Command::Open(Dialog::Keys), "help", words::HELP, question, false))
}

/// The transport bar of an instrument.
pub(crate) fn of_clock(bench: &Bench, clock: &Stand, say: &Say) -> El {
    let (start, end) = (clock.now == 0, clock.now >= clock.end);
    let button = |command, id, label, glyph, off| button(say, command, id, label, glyph, off);
    let buttons = el("div")
        .class("buttons")
        .child(button(Command::LastOfInterest, "last", words::LAST_OF_INTEREST, back(INTEREST), start))
        .child(button(Command::Back, "back", words::BACK, back(STEP), start))
        .child(play(bench.playing, say))
        .child(button(Command::Forward, "step", words::STEP, ahead(STEP), end))
        .child(button(Command::NextOfInterest, "next", words::NEXT_OF_INTEREST, ahead(INTEREST), end));
    el("div")
        .class("transport")
        .attr("role", "toolbar")
        .attr("aria-label", words::TRANSPORT)
        .child(buttons)
        .child(panel::element(&clock.slider, bench, say))
        .child(panel::instant(clock))
}

fn play(playing: bool, say: &Say) -> El {
    let (label, glyph) = if playing { (words::PAUSE, PAUSE) } else { (words::PLAY, PLAY) };
    button(say, Command::Toggle, "play", label, ahead(glyph), false)
}

fn button(say: &Say, command: Command, id: &'static str, label: &'static str, glyph: El, off: bool) -> El {
    el("button")
        .attr("type", "button")
        .id(id)
        .classes(&["button", id])
        // Not `disabled`: a button that loses the focus at the end of the run loses the reader too.
        .attr("aria-disabled", if off { "true" } else { "false" })
        .attr("title", label)
        .on_click(say, Msg::Command(command))
        .child(glyph)
        .child(span("word", label))
}

fn ahead(path: &'static str) -> El {
    picture(path, false)
}

fn back(path: &'static str) -> El {
    picture(path, true)
}

// In a square of 16, pointing forward.
const PLAY: &str = "M4 2.5l9 5.5-9 5.5z";
const PAUSE: &str = "M4 3h3v10H4zM9 3h3v10H9z";
const STEP: &str = "M3 3l7 5-7 5zM11.5 3h2v10h-2z";
/// A small step: the arrow and a dot.
const EVENT: &str = "M3.5 4.5L8.5 8l-5 3.5zM12 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z";
/// A leap: two arrows and a bar.
const INTEREST: &str = "M1.5 3.5L7 8l-5.5 4.5zM7 3.5L12.5 8 7 12.5zM13 3h1.8v10H13z";

fn picture(path: &'static str, back: bool) -> El {
    let path = el("path").attr("d", path);
    let path = if back { path.attr("transform", "matrix(-1 0 0 1 16 0)") } else { path };
    el("svg").class("glyph").attr("viewBox", "0 0 16 16").attr("aria-hidden", "true").child(path)
}
