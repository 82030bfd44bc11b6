//! What there is to say about the sequence as a whole.

use thunkscope_core::exhibit::Exhibit;

use super::element::{El, code, el};
use crate::words;

pub(crate) fn verdict(exhibit: &Exhibit) -> El {
    let verdict = &exhibit.verdict;
    let path = (exhibit.sequences.len() > 1).then(|| code(exhibit.path().to_owned()));
    let title = el("h3").id("verdict-title").text(words::VERDICT).children(path);
    let lines = |lines: &[String]| el("ul").children(lines.iter().map(|line| el("li").prose(line)));
    let behind = (!verdict.findings.is_empty() || !verdict.advice.is_empty()).then(|| {
        let behind = el("details").child(el("summary").text(words::WHY_NOT)).child(lines(&verdict.findings));
        if verdict.advice.is_empty() {
            return behind;
        }
        behind.child(el("h4").class("plain").text(words::ADVICE)).child(lines(&verdict.advice))
    });
    el("section")
        .id("verdict")
        .attr("aria-labelledby", "verdict-title")
        .child(title)
        .child(el("p").prose(&verdict.headline))
        .maybe(behind)
}
