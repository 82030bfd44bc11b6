//! The list of keys.

use super::element::{El, Say, el};
use super::palette::dialog;
use crate::command::{Command, Dialog};
use crate::message::Msg;
use crate::words;

/// Every command that has a key. Folded away, it is empty.
pub(crate) fn keys(open: bool, say: &Say) -> El {
    let rows = words::COMMANDS.iter().map(|&(_, what, keys)| (keys, what)).chain([words::PALETTE_KEYS]);
    let row = |(keys, what): (&[&'static str], &'static str)| {
        el("div").child(el("dt").children(kbd(keys))).child(el("dd").text(what))
    };
    let close = el("button").attr("type", "button").class("button").text(words::CLOSE);
    // Above the list: what can be focused first is what is seen first.
    let head = el("div")
        .class("sheet-head")
        .child(el("h2").id("keys-title").text(words::HELP))
        .child(close.on_click(say, Msg::Command(Command::Open(Dialog::Keys))));
    let sheet = el("div")
        .class("sheet")
        .child(head)
        .child(el("dl").children(rows.filter(|(keys, _)| open && !keys.is_empty()).map(row)));
    dialog("keys", "keys-title", sheet, say)
}

/// Keys that are pressed together.
pub(crate) fn kbd(keys: &[&'static str]) -> impl Iterator<Item = El> {
    keys.iter().map(|&key| el("kbd").text(key))
}
