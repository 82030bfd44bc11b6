//! What is known about the selected thunk, whatever the clock says.

use thunkscope_core::graph::NodeId;

use super::element::{El, Say, code, el, span};
use crate::command::Command;
use crate::message::Msg;
use crate::model::Model;
use crate::words;

/// More neighbours or uses than this are counted.
const MOST: usize = 24;

pub(crate) fn facts(model: &Model, selected: NodeId, open: bool, say: &Say) -> El {
    let facts = el("details").class("facts").flag("open", open);
    let Some(thunk) = model.thunk(selected) else { return facts };
    let fact = |name: &'static str, what: El| el("div").child(el("dt").text(name)).child(what);
    let dd = || el("dd");
    let nodes = |nodes: &[NodeId]| {
        let links = nodes.iter().take(MOST).map(|&node| link(model, node, say));
        cut(dd().children(links), nodes.len())
    };
    let uses = thunk.uses.iter().take(MOST).map(|used| el("li").text(used.clone()));
    facts.child(el("summary").text(words::facts(selected))).child(
        el("dl")
            .child(fact(words::NAME, dd().child(code(thunk.name.clone()))))
            .child(fact(words::KIND, dd().child(code(thunk.kind.clone()))))
            .child(fact(words::NEEDS, nodes(model.needs(selected))))
            .child(fact(words::RELEASES, nodes(&model.releases(selected))))
            .child(fact(words::PRIORITY, dd().text(thunk.priority.to_string())))
            .child(fact(words::USES, cut(dd().child(el("ul").children(uses)), thunk.uses.len()))),
    )
}

/// Says that there is nothing, or more than is shown.
fn cut(list: El, length: usize) -> El {
    match length {
        0 => list.child(span("none", words::NOTHING)),
        1..=MOST => list,
        _ => list.child(span("quiet", words::more(length - MOST))),
    }
}

/// A button that leads to another thunk.
fn link(model: &Model, node: NodeId, say: &Say) -> El {
    el("button")
        .attr("type", "button")
        .class("to")
        .attr("title", model.label(node).to_owned())
        .text(node.to_string())
        .on_click(say, Msg::Command(Command::Look(node)))
}
