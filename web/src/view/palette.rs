//! Every command by its name; and the windows over the page.

use wasm_bindgen::JsCast;
use web_sys::{HtmlDialogElement, KeyboardEvent};
use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, el};
use super::keys::kbd;
use crate::command::{Command, Entry};
use crate::message::Msg;
use crate::search::{Find, Search};
use crate::words;

/// A window over the page, which the effects open and close.
pub(crate) fn dialog(id: &'static str, labelled_by: &'static str, sheet: El, say: &Say) -> El {
    el("dialog")
        .id(id)
        .attr("aria-labelledby", labelled_by)
        .on(ListenerKind::onclose, say, |_| Some(Msg::Command(Command::Close)))
        // A click beside the sheet closes it: only there the target is the dialogue itself.
        .on(ListenerKind::onclick, say, |event| {
            let beside = event.target()?.dyn_into::<HtmlDialogElement>().is_ok();
            beside.then_some(Msg::Command(Command::Close))
        })
        .child(sheet)
}

/// A box to type in, and the list of what matches: a combobox in the words of ARIA.
pub(crate) fn palette(search: &Search, open: bool, say: &Say) -> El {
    let found = search.found();
    let nothing = open && found.len() == 0;
    let input = el("input")
        .id("palette-input")
        .attr("type", "text")
        .attr("role", "combobox")
        .attr("aria-expanded", "true")
        .attr("aria-controls", "palette-list")
        .attr("aria-autocomplete", "list")
        .attr("autocomplete", "off")
        .attr("spellcheck", "false")
        .attr("aria-label", words::PALETTE_INPUT)
        .attr("placeholder", words::PALETTE_INPUT)
        .value(search.query.clone())
        .on_value(ListenerKind::oninput, say, |typed| Some(Msg::Find(Find::Type(typed.to_owned()))))
        .on(ListenerKind::onkeydown, say, |event| {
            let key: &KeyboardEvent = event.dyn_ref()?;
            let find = match &*key.key() {
                "ArrowDown" => Find::Down,
                "ArrowUp" => Find::Up,
                "Enter" => Find::Take,
                _ => return None,
            };
            event.prevent_default();
            Some(Msg::Find(find))
        });
    let input = if nothing { input } else { input.attr("aria-activedescendant", line_id(search.place)) };
    let lines = found.take(if open { usize::MAX } else { 0 }).enumerate();
    let sheet = el("div")
        .class("sheet")
        .child(el("h2").id("palette-title").class("sr-only").text(words::PALETTE))
        .child(input)
        .maybe(nothing.then(|| el("p").class("quiet").attr("role", "status").text(words::NO_MATCH)))
        .child(
            el("ul")
                .id("palette-list")
                .attr("role", "listbox")
                .attr("aria-label", words::PALETTE)
                .attr("tabindex", "-1")
                .children(lines.map(|(place, entry)| line(place, entry, place == search.place, say))),
        );
    dialog("palette", "palette-title", sheet, say)
}

fn line(place: usize, entry: &Entry, chosen: bool, say: &Say) -> El {
    let keys = el("span").class("keys").attr("aria-hidden", "true").children(kbd(entry.keys));
    el("li")
        .attr("role", "option")
        .id(line_id(place))
        .attr("aria-selected", if chosen { "true" } else { "false" })
        .on_click(say, Msg::Find(Find::Pick(place)))
        .child(el("span").text(entry.title.clone()))
        .child(keys)
}

/// By its place in the list.
pub(crate) fn line_id(place: usize) -> String {
    format!("palette-{place}")
}
