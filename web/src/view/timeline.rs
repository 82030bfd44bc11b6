//! What each lane ran, all queues on one clock. Times become percentages, so that the drawing
//! follows the width of the page and text is never stretched.

use std::fmt::Write as _;

use thunkscope_core::machine::Ticks;

use super::element::{El, el, span};
use crate::model::{MARKS, Model, Scene, Span, share};
use crate::words;

/// One track per lane that ever runs something.
pub(crate) fn timeline(scene: &Scene, now: Ticks) -> El {
    let end = scene.clock.end().max(1);
    let mut timeline =
        el("div").class("timeline").id("timeline").attr("role", "group").attr("aria-label", words::TIMELINE);
    for (log, run) in scene.runs.iter().enumerate() {
        let (title, _) = words::queue(run.queue.name());
        let over = scene.clock.replays()[log].log().events.last().map_or(0, |event| event.t);
        for (lane, spans) in run.spans.iter().enumerate() {
            let label = if run.spans.len() > 1 { format!("{title} {lane}") } else { title.to_owned() };
            let bed = el("rect").class("bed").attr("width", percent(over, end)).attr("height", "100%");
            let track =
                el("svg").attr("role", "img").attr("aria-label", words::track(title, lane, spans, now));
            let track = track.child(bed.attr("rx", "3"));
            let track = if spans.len() <= MOST {
                spans.iter().fold(track, |track, span| bars(track, span, &scene.model, now, end))
            } else {
                track.child(many(spans, now, end))
            };
            let now = line(percent(now, end), "100%").class("now");
            let track = el("div").class("track").child(span("label", label)).child(track.child(now));
            timeline = timeline.child(track.key(format!("{log}-{lane}")));
        }
    }
    let ticks = ticks(end).into_iter().fold(el("svg"), |axis, t| {
        let text = el("text").attr("x", percent(t, end)).attr("y", "15");
        let text = text.attr("text-anchor", if t == 0 { "start" } else { "middle" });
        axis.child(line(percent(t, end), "4")).child(text.text(words::time(t)))
    });
    timeline.child(el("div").class("axis").attr("aria-hidden", "true").child(ticks))
}

/// A line down from the top.
fn line(x: String, to: &'static str) -> El {
    el("line").attr("x1", x.clone()).attr("x2", x).attr("y1", "0").attr("y2", to)
}

/// More bars than this on a track are drawn as two shapes: what was, and what will be.
const MOST: usize = 240;

/// The track in thousandths, where one bar can no longer be told from the next.
fn many(spans: &[Span], now: Ticks, end: Ticks) -> El {
    let x = |t: Ticks| share(t, end, MARKS);
    let path = |spans: &[Span]| {
        let mut d = String::new();
        let mut covered = None;
        for span in spans {
            let (from, to) = (x(span.from), x(span.to).max(x(span.from) + 1));
            // Nothing to see that is not there already.
            if covered.is_none_or(|covered| to > covered) {
                // Writing into a string cannot fail.
                let _ = write!(d, "M{from} 1H{}V19H{from}Z", to.saturating_sub(1).max(from + 1));
                covered = Some(to);
            }
        }
        d
    };
    let begun = spans.partition_point(|span| span.from <= now);
    el("svg")
        .class("many")
        .attr("viewBox", format!("0 0 {MARKS} 20"))
        .attr("preserveAspectRatio", "none")
        .attr("width", "100%")
        .attr("height", "20")
        .child(el("path").class("ahead").attr("d", path(&spans[begun..])))
        .child(el("path").class("done").attr("d", path(&spans[..begun])))
}

/// A thunk's bar, and one for the time in which it was pending. A bar is an outline until its time has come.
fn bars(track: El, span: &Span, model: &Model, now: Ticks, end: Ticks) -> El {
    let state = match (span.from <= now, now < span.to) {
        (false, _) => "ahead",
        (true, true) => "running",
        (true, false) if span.failed => "failed",
        (true, false) => "done",
    };
    let bar = |state: &str, from: Ticks, to: Ticks| {
        let bar = el("svg").classes(&["bar", state]).attr("x", percent(from, end));
        bar.attr("width", percent(to - from, end))
    };
    let label = model.label(span.node);
    let shape = el("rect").attr("x", "0.75").attr("y", "0.75").attr("width", "99%").attr("height", "18.5");
    // A name is shown whole or not at all: a twelfth of the track has room for ten letters.
    let wide = (span.to - span.from) >= end / 12;
    let name = wide.then(|| el("tspan").class("name").text(format!(" {label}")));
    let text = el("text").attr("x", "6").attr("y", "14").text(span.node.to_string()).maybe(name);
    let ran = bar(state, span.from, span.to)
        .child(el("title").text(words::span(span, label)))
        .child(shape.attr("rx", "3"))
        .child(text);
    let pending = span.pending_to.filter(|_| span.to <= now).map(|to| {
        let shape = el("rect").attr("width", "100%").attr("height", "100%").attr("rx", "3");
        bar(if now < to { "pending" } else { "done" }, span.to, to).child(shape)
    });
    track.child(ran).maybe(pending)
}

/// About five instants at round distances.
fn ticks(end: Ticks) -> Vec<Ticks> {
    let mut step: Ticks = 1;
    while end / step > 50 {
        step = step.saturating_mul(10);
    }
    let step =
        [1, 2, 5, 10].into_iter().map(|factor| step.saturating_mul(factor)).find(|step| end / step <= 6);
    let step = step.unwrap_or(end).max(1);
    // A last label too close to the edge would be cut off.
    (0..=end / step).map(|index| index * step).filter(|&t| t == 0 || end - t >= step / 4).collect()
}

/// `12.34%`, by integers.
fn percent(part: Ticks, whole: Ticks) -> String {
    let hundredths = share(part, whole, 10_000);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}
