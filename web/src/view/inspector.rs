//! Why is the selected thunk where it is?

use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, el, select};
use crate::command::{Command, Mode};
use crate::frame::{Column, Frame};
use crate::message::Msg;
use crate::state::Reading;
use crate::words;

/// More thunks than this are chosen by number.
const MOST: u32 = 1_000;

pub(crate) fn inspector(reading: &Reading, frame: &Frame, say: &Say) -> El {
    let (model, selected) = (&reading.scene.0.model, frame.selected);
    let thunk = if model.len() > MOST {
        let input = el("input").attr("type", "number").id("thunk").attr("min", "0");
        input.number("max", i64::from(model.len() - 1)).attr("data-value", selected.to_string())
    } else {
        let option = |node| format!("{node} {}", model.label(node)).into();
        select("thunk", selected as usize, (0..model.len()).map(option))
    };
    let look = |value: &str| Some(Msg::Command(Command::Look(value.parse().ok()?)));
    let title = el("h3")
        .id("why-title")
        .child(el("label").attr("for", "thunk").text(words::WHY.0))
        .child(thunk.on_value(ListenerKind::onchange, say, look))
        .text(words::WHY.1);
    let section = el("section").id("why").attr("aria-labelledby", "why-title").child(title);

    // Below their graphs every answer has its place; in the Lab's list the same answer is given once.
    let queues = &frame.queues;
    let answer = |column: &Column| (column.nodes.get(selected as usize).copied(), column.why.clone());
    let alike = reading.place.mode == Mode::Lab
        && queues.len() > 1
        && queues.windows(2).all(|pair| answer(&pair[0]) == answer(&pair[1]));
    if alike {
        return section.child(reason(&queues[0], words::ALL, selected));
    }
    let reasons = queues.iter().map(|column| reason(column, words::queue(column.queue).0, selected));
    section.child(el("div").class(format!("columns of-{}", queues.len())).children(reasons))
}

/// Below its queue: how the thunk stands, and why.
fn reason(column: &Column, title: &'static str, selected: u32) -> El {
    let reason = el("div").class("reason").key(column.queue.to_owned()).id(format!("why-{}", column.queue));
    let Some(node) = column.nodes.get(selected as usize) else { return reason };
    let token = el("span").classes(&["token", node.state]).text(node.state);
    reason.child(el("h4").text(title)).child(el("p").child(token).text(" ").prose(&column.why))
}
