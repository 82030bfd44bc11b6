//! What an instrument says: its fields to the left, what there is to see in the middle and to the
//! right, its clock below. The engine sends elements; what they are about is nothing to the page.

use thunkscope_core::panel::shown::{ATTRIBUTES, Element, Stand, TAGS};
use yew::Html;
use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, el, span, value_of};
use super::side::{progress, trouble};
use super::transport;
use crate::files;
use crate::instrument::{Bench, Does, Instrument};
use crate::message::Msg;
use crate::words;

/// Everything below the head of the stage: fields, middle, clock, column to the right.
pub(crate) fn bench(bench: &Bench, say: &Say) -> [Html; 4] {
    let shown = bench.shown.as_deref();
    let all = |elements: &[Element]| elements.iter().map(|one| element(one, bench, say)).collect::<Vec<_>>();
    let fields = shown.map_or_else(Vec::new, |shown| all(&shown.fields));
    let [main, aside] =
        shown.map_or_else(Default::default, |shown| [all(&shown.parts[0]), all(&shown.parts[1])]);
    let work = bench.work.as_ref().map(|work| progress(work, say));
    let trouble = bench.trouble.as_ref().and_then(|why| trouble(why, say));
    let none = shown.is_none().then(|| el("p").class("quiet").text(words::ASKING));
    let side = el("aside")
        .class("side")
        .attr("aria-label", words::FIELDS)
        .child(el("div").children(fields))
        .child(el("p").class("quiet small").child(el("b").text(words::STAYS)));
    let middle = el("div")
        .class("scene panel")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", words::PANEL)
        .child(el("div").attr("role", "status").maybe(none).children(work))
        .child(el("div").attr("role", "alert").children(trouble))
        .child(el("div").attr("aria-live", if bench.playing { "off" } else { "polite" }).children(main));
    let clock = shown.and_then(|shown| shown.clock.as_ref());
    [
        side.into(),
        middle.into(),
        clock.map_or_else(Html::default, |clock| transport::of_clock(bench, clock, say).into()),
        el("div").class("inspector panel").children(aside).into(),
    ]
}

/// Which instrument, the executor first.
pub(crate) fn choice(open: Option<Instrument>, say: &Say) -> El {
    let all = [None].into_iter().chain(Instrument::ALL.map(Some));
    let radio = |which: Option<Instrument>| {
        let radio = el("input").attr("type", "radio").attr("name", "instrument").checked(which == open);
        let radio = radio.on(ListenerKind::onchange, say, move |_| Some(Msg::Instrument(which)));
        el("label").child(radio).child(el("span").text(words::instrument(which)))
    };
    el("fieldset")
        .class("segments")
        .id("instrument")
        .child(el("legend").class("sr-only").text(words::INSTRUMENT))
        .child(el("div").children(all.map(radio)))
}

/// An element of a panel. One that sets a field says so: at once, or once its reader stops typing.
pub(super) fn element(one: &Element, bench: &Bench, say: &Say) -> El {
    let name = TAGS.get(usize::from(one.tag)).copied().unwrap_or("span");
    let mut made = el(name);
    for (attribute, value) in &one.attributes {
        if let Some(attribute) = ATTRIBUTES.get(usize::from(*attribute)) {
            let value = if *attribute == "data-value" { bench.value(&one.field, value) } else { value };
            made = made.attr(attribute, value.to_owned());
        }
    }
    if !one.field.is_empty() {
        let field = one.field.clone();
        let typed = name == "textarea";
        let is_file = one.attributes.iter().any(|(_, value)| value == "file");
        // A slider is followed; a list or a number counts once it is chosen.
        let slides = field == thunkscope_core::panel::AT;
        let kind = if typed || slides { ListenerKind::oninput } else { ListenerKind::onchange };
        made = made.on(kind, say, move |event| {
            if is_file {
                return Some(Msg::Bench(Does::Read(field.clone(), files::chosen(event)?)));
            }
            let value = value_of(event.target());
            let set = if typed { Does::Type } else { Does::Set };
            Some(Msg::Bench(set(field.clone(), value)))
        });
    }
    if !one.text.is_empty() {
        made = made.text(one.text.clone());
    }
    made.children(one.children.iter().map(|child| element(child, bench, say)))
}

/// The instant, in words.
pub(super) fn instant(clock: &Stand) -> El {
    span("where", clock.words.clone()).id("where")
}
