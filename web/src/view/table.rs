//! The three graphs in words: one row per thunk.

use thunkscope_core::graph::NodeId;

use super::element::{El, el, span};
use crate::frame::Frame;
use crate::model::Model;
use crate::words;

/// More thunks than this are not all listed.
const MOST: NodeId = 400;

pub(crate) fn state_table(model: &Model, frame: &Frame) -> El {
    let queues = &frame.queues;
    // Of a large graph the rows that say something now: what neither waits nor is done.
    let large = model.len() > MOST;
    let telling = |node: &NodeId| {
        let says = |state| !matches!(state, "waiting" | "done" | "skipped");
        let mut states = queues.iter().map(|column| column.nodes[*node as usize].state);
        !large || *node == frame.selected || states.any(says)
    };
    let row = |node: NodeId| {
        let needs = model.needs(node);
        let needs = if needs.is_empty() { words::NOTHING.to_owned() } else { words::list(needs) };
        let name = el("th").attr("scope", "row").text(format!("{node} {}", model.label(node)));
        let states = queues.iter().map(|column| {
            let state = column.nodes[node as usize];
            let counter = span("quiet", format!(" · {}", words::counter(&state)));
            el("td").id(format!("state-{}-{node}", column.queue)).text(state.state).child(counter)
        });
        el("tr").key(node.to_string()).child(name).child(el("td").text(needs)).children(states)
    };
    let title = words::table(queues.len());
    let heading = |text: &'static str| el("th").attr("scope", "col").text(text);
    let head = el("tr")
        .child(heading(words::THUNK))
        .child(heading(words::NEEDS))
        .children(queues.iter().map(|column| heading(words::queue(column.queue).0)));
    let rows = (0..model.len()).filter(telling).take(MOST as usize).map(row);
    let table = el("table").child(el("thead").child(head)).child(el("tbody").children(rows));
    el("details")
        .class("twin")
        .child(el("summary").text(title))
        .maybe(large.then(|| el("p").class("quiet").text(words::PART_OF_TABLE)))
        .child(
            el("div")
                .class("scroll")
                .attr("role", "region")
                .attr("tabindex", "0")
                .attr("aria-label", title)
                .child(table),
        )
}
