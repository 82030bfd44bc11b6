//! A queue's ready thunks as chips, and its run in words.

use thunkscope_core::graph::NodeId;

use super::element::{El, Say, el, span};
use crate::command::Command;
use crate::frame::{Column, Ready};
use crate::message::Msg;
use crate::words;

/// More chips than this are counted.
const MOST: usize = 24;

/// Chips in pop order, one row per lane at work and per task that waits for one.
pub(crate) fn ready_queues(column: &Column, selected: NodeId, say: &Say) -> El {
    let nothing = [Ready { lane: Some(0), nodes: Vec::new() }];
    let rows = if column.ready.is_empty() { &nothing[..] } else { &column.ready };
    let several = rows.len() > 1;
    let rows = rows.iter().map(|ready| {
        let label = match ready.lane {
            None => words::POSTED.to_owned(),
            Some(lane) if several => format!("{} {lane}", words::LANE),
            Some(_) => words::READY.to_owned(),
        };
        let row = el("div").class("queue").child(span("label", label));
        if ready.nodes.is_empty() {
            return row.child(span("none", "–").attr("aria-label", words::NOTHING_READY));
        }
        let chips = ready.nodes.iter().take(MOST).enumerate();
        let chips = chips.map(|(place, &node)| chip(node, place == 0, node == selected, say));
        let more = ready.nodes.len().checked_sub(MOST).filter(|&more| more > 0);
        row.child(el("ol").children(chips)).children(more.map(|more| span("quiet", words::more(more))))
    });
    el("div").class("queues").id(format!("ready-{}", column.queue)).children(rows)
}

fn chip(node: NodeId, next: bool, selected: bool, say: &Say) -> El {
    el("li")
        .key(node.to_string())
        .classes(&["chip", if next { "next" } else { "" }, if selected { "selected" } else { "" }])
        .text(node.to_string())
        .on_click(say, Msg::Command(Command::Look(node)))
}

/// What this queue's worker did in the step that ends here: one iteration of its loop.
pub(crate) fn caption(column: &Column) -> El {
    let caption = el("figcaption").id(format!("caption-{}", column.queue));
    let caption = caption.child(span("sr-only", format!("{} ", column.sentence)));
    if column.happened.is_empty() {
        return caption.child(span("quiet", words::no_event(column)));
    }
    column.happened.iter().enumerate().fold(caption, |caption, (place, what)| {
        let dot = (place > 0).then(|| span("dot", " · "));
        caption.children(dot).child(el("span").text(what.clone()))
    })
}
