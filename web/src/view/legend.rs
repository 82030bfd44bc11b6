//! What the states look like, and the patterns that draw them.

use super::element::{El, el};
use crate::words;

/// The fills that are more than a colour, once per page.
pub(crate) fn patterns() -> El {
    let pattern = |id: &'static str, size: i64| {
        el("pattern")
            .id(id)
            .number("width", size)
            .number("height", size)
            .attr("patternUnits", "userSpaceOnUse")
            .attr("patternTransform", "rotate(45)")
    };
    let rect = |class: &'static str, width: i64, height: i64| {
        el("rect").class(class).number("width", width).number("height", height)
    };
    let stripe = pattern("stripe", 8).child(rect("stripe-ground", 8, 8)).child(rect("stripe-line", 3, 8));
    let hatch = pattern("hatch", 6)
        .child(rect("hatch-ground", 6, 6))
        .child(el("path").class("hatch-line").attr("d", "M0 0V6M0 0H6"));
    el("svg")
        .class("patterns")
        .number("width", 0)
        .number("height", 0)
        .attr("aria-hidden", "true")
        .child(el("defs").child(stripe).child(hatch))
}

/// One sample per state that this exhibit can show.
pub(crate) fn legend() -> El {
    let sample = |&(state, meaning): &(&'static str, &'static str)| {
        let shape =
            el("rect").classes(&["box", state]).attr("width", "22").attr("height", "14").attr("rx", "3");
        let cross = (state == "failed").then(|| el("path").class("cross").attr("d", "M0 0L22 14"));
        let svg = el("svg")
            .attr("viewBox", "-1 -1 24 16")
            .attr("width", "24")
            .attr("height", "16")
            .attr("aria-hidden", "true");
        el("li").attr("title", meaning).child(svg.child(shape).maybe(cross)).text(state)
    };
    el("ul").class("legend").attr("aria-label", words::LEGEND).children(words::STATES.iter().map(sample))
}
