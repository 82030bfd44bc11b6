//! What the reader should know about what is shown: above it, until it is dismissed.

use super::element::{El, Say, button, el};
use super::side::told;
use crate::desk::{Note, Turn};
use crate::message::Msg;
use crate::words;

pub(crate) fn note(note: Option<&Note>, say: &Say) -> El {
    let remark = note.map(|note| {
        let told = match note {
            Note::Told(diagnostic) => told(diagnostic),
            Note::Words(words) => el("div").class("told warning").child(el("p").text(words.clone())),
        };
        let dismiss = button("dismiss", words::DISMISS, say, Msg::Turn(Turn::Note(None)));
        el("div").class("remark").child(told).child(dismiss)
    });
    el("div").id("note").attr("role", "status").children(remark)
}

/// Said once, and gone by itself.
pub(crate) fn toast(said: Option<&'static str>) -> El {
    let toast = el("div").id("toast").attr("role", "status");
    match said {
        Some(said) => toast.class("shown").text(said),
        None => toast,
    }
}
