//! The Lab's left side: what is run, and how.

use std::cmp::Reverse;

use thunkscope_core::diagnostic::{Diagnostic, Finding, Severity};
use thunkscope_core::exhibit::Exhibit;
use thunkscope_core::exhibit::protocol::Opened;
use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, button, code, el, select, span};
use super::options::options;
use super::shown::shown;
use crate::command::Command;
use crate::desk::Desk;
use crate::engine::Trouble;
use crate::lab::Work;
use crate::message::Msg;
use crate::model::Scene;
use crate::words;

pub(crate) fn side(desk: &Desk, scene: &Scene, selected: u32, say: &Say) -> El {
    let exhibit = &scene.model.exhibit;
    let report = desk.chosen.0.report();
    let several = exhibit.sequences.len() > 1;
    el("aside")
        .class("side")
        .attr("aria-label", words::SIDE)
        .child(choice(desk, say))
        .child(job(desk, report.as_deref(), say))
        .maybe(several.then(|| sequences(exhibit, report.as_deref(), say)))
        .child(shown(scene.shown, say))
        .child(options(&desk.setting, &scene.model, selected, say))
}

/// Which program.
fn choice(desk: &Desk, say: &Say) -> El {
    let chosen = desk.programs.iter().position(|program| *program == desk.chosen).unwrap_or(0);
    let list = select("program", chosen, desk.programs.iter().map(|program| program.0.name.clone().into()));
    let list = list.on_value(ListenerKind::onchange, say, |value| Some(Msg::Choose(value.parse().ok()?)));
    let button = |command, id, text| button(id, text, say, Msg::Command(command));
    let link = desk.chosen.0.chapter.is_some().then(|| button(Command::CopyLink, "link", words::LINK));
    el("section")
        .attr("aria-labelledby", "program-title")
        .child(el("h3").id("program-title").child(el("label").attr("for", "program").text(words::PROGRAM)))
        .child(list)
        .child(
            el("p")
                .class("row")
                .child(button(Command::OpenFile, "open", words::OPEN))
                .child(button(Command::SaveProgram, "save", words::SAVE))
                .maybe(link),
        )
        .child(el("p").class("quiet small").text(words::FILES).text(" ").child(el("b").text(words::STAYS)))
}

/// What is being worked on, or why it came to nothing.
fn job(desk: &Desk, report: Option<&Opened>, say: &Say) -> El {
    let trouble = desk.trouble.as_ref().and_then(|failed| trouble(&failed.trouble, say));
    let warnings = report.map_or(&[][..], |report| &report.warnings);
    let remarks = (!warnings.is_empty()).then(|| {
        let summary = el("summary").text(words::warnings(warnings.len()));
        el("details").class("warnings").child(summary).children(warnings.iter().map(told))
    });
    el("div")
        .class("job")
        .child(el("div").attr("role", "status").children(desk.work.as_ref().map(|work| progress(work, say))))
        .child(el("div").attr("role", "alert").children(trouble))
        .maybe(remarks)
}

pub(super) fn progress(work: &Work, say: &Say) -> El {
    let bar = el("progress").attr("aria-label", work.what.clone());
    let bar = match work.total {
        0 => bar,
        total => bar.attr("max", total.to_string()).attr("value", work.done.min(total).to_string()),
    };
    el("div").class("work").child(el("span").text(work.what.clone())).child(bar).child(button(
        "cancel",
        words::CANCEL,
        say,
        Msg::Cancel,
    ))
}

pub(super) fn trouble(trouble: &Trouble, say: &Say) -> Option<El> {
    match trouble {
        Trouble::Cancelled => None,
        Trouble::Broken(why) => Some(el("div").class("told error").child(el("p").text(why.clone()))),
        Trouble::Refused(diagnostic) => {
            // What cannot be understood of a file can be taken to clash with everything.
            let lenient = matches!(diagnostic.code.as_str(), "XI006" | "XI007");
            let retry = lenient.then(|| button("leniently", words::LENIENT, say, Msg::Leniently));
            Some(el("div").child(told(diagnostic)).maybe(retry))
        }
    }
}

/// A diagnostic for people: what is expected, what is there, what to do, and where.
pub(crate) fn told(diagnostic: &Diagnostic) -> El {
    let Finding { code: id, severity, path, value, expected, hint } = &**diagnostic;
    let class = if *severity == Severity::Error { "told error" } else { "told warning" };
    let line = |class: &'static str, name: &'static str, what: &String| {
        let line = el("p").classes(&[class]).text(format!("{name} ")).child(code(what.clone()));
        (!what.is_empty()).then_some(line)
    };
    let first = el("p").child(el("b").text(id.clone())).text(format!(" {}", words::expected(expected)));
    el("div")
        .class(class)
        .child(first)
        .children(line("", words::FOUND, value))
        .children(line("quiet", words::AT, path))
        .children((!hint.is_empty()).then(|| el("p").prose(hint)))
}

/// More sequences than this are left to the search field of the browser.
const MOST: usize = 200;

/// All sequences, worst first, each with its verdict.
fn sequences(exhibit: &Exhibit, report: Option<&Opened>, say: &Say) -> El {
    let lines = &exhibit.sequences;
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_unstable_by_key(|&index| (Reverse(lines[index].held_back), index));
    let card = |&index: &usize| {
        let line = &lines[index];
        let cards = report.map_or(&[][..], |report| &report.cards);
        let headline = cards.iter().find(|card| card.path == line.path).map(|card| &card.verdict.headline);
        let card = el("button").attr("type", "button").class("card").on_click(say, Msg::Sequence(index));
        let card = if index == exhibit.shown as usize { card.attr("aria-current", "true") } else { card };
        let card = card
            .child(span("path", line.path.clone()))
            .child(span("quiet", words::sequence(line)))
            .children(headline.map(|headline| el("span").class("headline").prose(headline)));
        el("li").key(line.path.clone()).child(card)
    };
    let title = el("h3").id("sequences-title").text(words::SEQUENCES);
    let more = lines.len().checked_sub(MOST).filter(|&more| more > 0);
    el("section")
        .attr("aria-labelledby", "sequences-title")
        .child(title.child(span("quiet", words::WORST_FIRST)))
        .child(el("ol").class("cards").children(order.iter().take(MOST).map(card)))
        .children(more.map(|more| el("p").class("quiet").text(words::more(more))))
}
