//! Which ready queue is looked at.

use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, el};
use crate::command::{Command, Shown};
use crate::message::Msg;
use crate::words;

/// One radio button per run, and one for all of them.
pub(crate) fn shown(now: Shown, say: &Say) -> El {
    let choice = |shown: Shown| {
        let title = match shown {
            Shown::All => words::ALL,
            Shown::One(queue) => words::queue(queue.name()).0,
        };
        let radio = el("input").attr("type", "radio").attr("name", "shown").checked(shown == now);
        let radio = radio.on(ListenerKind::onchange, say, move |_| Some(Msg::Command(Command::Show(shown))));
        el("label").child(radio).child(el("span").text(title))
    };
    el("fieldset")
        .class("segments")
        .id("shown")
        .child(el("legend").text(words::SHOWN))
        .child(el("div").children(Shown::ALL.into_iter().map(choice)))
}
