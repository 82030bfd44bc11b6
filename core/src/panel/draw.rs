//! From a panel to elements.

use super::shown::{ATTRIBUTES, Element, Shown, Stand, TAGS};
use super::{AT, Body, Clock, Fact, Field, FieldKind, Lane, Panel, Part, Place, Row, Table};
use crate::diagnostic::{Diagnostic, Severity};
use crate::machine::Ticks;

impl Panel {
    /// As the page gets it.
    pub fn shown(&self) -> Shown {
        let clock = self.clock.as_ref();
        let of = |place| {
            self.parts.iter().filter(move |part| part.place == place).map(|part| self::part(part, clock))
        };
        let headline = el("p").class("panel-headline").attr("id", "panel-headline").prose(&self.headline);
        let told = el("div").attr("id", "panel-told").children(self.told.iter().map(told));
        let main = [headline, told].into_iter().chain(of(Place::Main)).collect();
        Shown {
            fields: self.fields.iter().map(field).collect(),
            parts: [main, of(Place::Side).collect()],
            clock: clock.map(stand),
        }
    }
}

fn el(name: &str) -> Element {
    Element { tag: number(&TAGS, name), ..Element::default() }
}

/// Names are written here and nowhere else; a test draws everything there is.
fn number(names: &[&str], name: &str) -> u8 {
    let number = names.iter().position(|known| *known == name);
    debug_assert!(number.is_some(), "no element or attribute `{name}`");
    number.unwrap_or_default() as u8
}

/// Longest text of one element, in characters.
const MOST_TEXT: usize = 2_000;

impl Element {
    fn attr(mut self, name: &str, value: impl Into<String>) -> Self {
        self.attributes.push((number(&ATTRIBUTES, name), value.into()));
        self
    }

    fn class(self, class: &str) -> Self {
        self.attr("class", class)
    }

    fn text(mut self, text: impl Into<String>) -> Self {
        // A file's name must not turn the direction of writing, and none needs a page.
        self.text = crate::diagnostic::shown(&text.into(), MOST_TEXT);
        self
    }

    fn sets(mut self, field: &str) -> Self {
        field.clone_into(&mut self.field);
        self
    }

    fn child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children);
        self
    }

    /// Text in which names stand between backticks.
    fn prose(self, text: &str) -> Self {
        if !text.contains('`') {
            return self.text(text);
        }
        let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
        let parts = parts.map(|(place, part)| el(if place % 2 == 1 { "code" } else { "span" }).text(part));
        self.children(parts)
    }
}

fn field(field: &Field) -> Element {
    let id = format!("field-{}", field.id);
    let hint = format!("{id}-hint");
    let control = match &field.kind {
        FieldKind::Choice(choices) => el("select").children(
            choices
                .iter()
                .map(|(value, label)| el("option").attr("value", value.clone()).text(label.clone())),
        ),
        FieldKind::Text { rows } => el("textarea")
            .attr("rows", rows.to_string())
            .attr("spellcheck", "false")
            .attr("autocapitalize", "off"),
        FieldKind::File => el("input").attr("type", "file"),
        FieldKind::Number { min, max } => {
            el("input").attr("type", "number").attr("min", min.to_string()).attr("max", max.to_string())
        }
    };
    // What a file holds is nobody's to set.
    let control = match field.kind {
        FieldKind::File => control,
        _ => control.attr("data-value", field.value.clone()),
    };
    let control = control.attr("id", id.clone()).attr("aria-describedby", hint.clone()).sets(&field.id);
    el("div")
        .class("field")
        .child(el("label").attr("for", id).text(field.label.clone()))
        .child(control)
        .child(el("p").class("quiet small").attr("id", hint).prose(&field.hint))
}

/// A diagnostic for people: what is expected, what is there, what to do, and where.
fn told(diagnostic: &Diagnostic) -> Element {
    let class = if diagnostic.severity == Severity::Error { "told error" } else { "told warning" };
    let first = el("p")
        .child(el("b").text(diagnostic.code.clone()))
        .child(el("span").text(format!(" expected {}", diagnostic.expected)));
    let line = |name: &str, what: &str| {
        let line = el("p").text(format!("{name} ")).child(el("code").text(what));
        Some(line).filter(|_| !what.is_empty())
    };
    let hint = Some(el("p").prose(&diagnostic.hint)).filter(|_| !diagnostic.hint.is_empty());
    let lines = [line("Found:", &diagnostic.value), line("At", &diagnostic.path), hint];
    el("div").class(class).child(first).children(lines.into_iter().flatten())
}

fn part(part: &Part, clock: Option<&Clock>) -> Element {
    let text = Some(el("p").prose(&part.text)).filter(|_| !part.text.is_empty());
    let body = match &part.body {
        Body::Text => None,
        Body::Facts(facts) => Some(el("dl").class("panel-facts").children(facts.iter().map(fact))),
        Body::Table(table) => Some(rows(table, &part.title)),
        Body::Lanes(lanes) => clock.map(|clock| drawn(lanes, clock)),
    };
    el("section").child(el("h3").text(part.title.clone())).children(text).children(body)
}

fn fact(fact: &Fact) -> Element {
    let value = el("dd").class(fact.mark.name()).prose(&fact.value);
    el("div").child(el("dt").prose(&fact.name)).child(value)
}

fn rows(table: &Table, title: &str) -> Element {
    let heading = |text: &String| el("th").attr("scope", "col").text(text.clone());
    let row = |Row { cells, mark }: &Row| {
        let cells = cells.iter().enumerate().map(|(place, cell)| {
            let element = if place == 0 { el("th").attr("scope", "row") } else { el("td") };
            element.prose(cell)
        });
        el("tr").class(mark.name()).children(cells)
    };
    let head = el("thead").child(el("tr").children(table.columns.iter().map(heading)));
    let body = el("tbody").children(table.rows.iter().map(row));
    let more = el("p").class("quiet").text(format!("and {} more", table.more));
    let scroll = el("div")
        .class("scroll")
        .attr("role", "region")
        .attr("tabindex", "0")
        .attr("aria-label", title)
        .child(el("table").child(head).child(body));
    el("div").child(scroll).children(Some(more).filter(|_| table.more > 0))
}

/// Lanes on the clock; what they say in words is the part's text and each lane's label.
fn drawn(lanes: &[Lane], clock: &Clock) -> Element {
    let end = clock.end.max(1);
    let tracks = lanes.iter().map(|lane| {
        let here = lane.spans.iter().filter(|span| span.from <= clock.now && clock.now < span.to);
        let labels: Vec<&str> = here.map(|span| span.label.as_str()).collect();
        let now = if labels.is_empty() { "nothing".to_owned() } else { labels.join(", ") };
        let words = format!("{}: {} in all; now {now}", lane.name, lane.spans.len());
        let bed = el("rect").class("bed").attr("width", "100%").attr("height", "100%").attr("rx", "3");
        let bars = lane.spans.iter().map(|span| {
            let state = if span.from > clock.now { "ahead" } else { span.mark.name() };
            let (from, to) = (span.from.min(end), span.to.min(end));
            let shape =
                el("rect").attr("x", "0.5").attr("y", "0.75").attr("width", "100%").attr("height", "18.5");
            // A name is shown whole or not at all: a twelfth of the track has room for ten letters.
            let wide = to.saturating_sub(from) >= end / 12;
            let name = el("text").attr("x", "6").attr("y", "14").text(span.label.clone());
            el("svg")
                .class(&format!("bar {state}"))
                .attr("x", percent(from, end))
                .attr("width", percent(to.saturating_sub(from), end))
                .child(el("title").text(format!(
                    "{}: {} to {}",
                    span.label,
                    clock.says(from),
                    clock.says(to)
                )))
                .child(shape.attr("rx", "2"))
                .children(Some(name).filter(|_| wide))
        });
        let now = line(&percent(clock.now.min(end), end), "100%").class("now");
        let track =
            el("svg").attr("role", "img").attr("aria-label", words).child(bed).children(bars).child(now);
        el("div").class("track").child(el("span").class("label").text(lane.name.clone())).child(track)
    });
    let axis = (0..=4).map(|quarter| {
        let t = Ticks::from((u128::from(end) * quarter / 4) as u64);
        let anchor = ["start", "middle", "middle", "middle", "end"][quarter as usize];
        let text = el("text").attr("x", percent(t, end)).attr("y", "15").attr("text-anchor", anchor);
        (line(&percent(t, end), "4"), text.text(clock.says(t)))
    });
    let axis = axis.fold(el("svg"), |axis, (mark, text)| axis.child(mark).child(text));
    let axis = el("div").class("axis").attr("aria-hidden", "true").child(axis);
    el("div").class("timeline").children(tracks).child(axis)
}

fn stand(clock: &Clock) -> Stand {
    let Clock { now, end, steps, marks, .. } = clock;
    let after =
        |times: &[Ticks]| times[times.partition_point(|t| t <= now)..].first().copied().unwrap_or(*end);
    let before = |times: &[Ticks]| times[..times.partition_point(|t| t < now)].last().copied().unwrap_or(0);
    let words = format!("{} of {}", clock.says(*now), clock.says(*end));
    let slider = el("input")
        .attr("type", "range")
        .attr("id", "scrub")
        .attr("min", "0")
        .attr("max", end.to_string())
        .attr("step", "1")
        .attr("data-value", now.to_string())
        .attr("aria-label", "Position on the clock")
        .attr("aria-valuetext", words.clone())
        .sets(AT);
    let drawn = marks.iter().map(|t| line(&percent((*t).min(*end), (*end).max(1)), "100%").class("mark"));
    let drawn = el("svg").class("marks").attr("aria-hidden", "true").children(drawn);
    let slider = el("div").class("scrub").child(drawn).child(slider);
    Stand {
        now: *now,
        end: *end,
        words,
        targets: [after(steps), before(steps), after(marks), before(marks)],
        slider,
    }
}

/// A line down from the top.
fn line(x: &str, to: &str) -> Element {
    el("line").attr("x1", x).attr("x2", x).attr("y1", "0").attr("y2", to)
}

/// `12.34%`, by integers.
fn percent(part: Ticks, whole: Ticks) -> String {
    let hundredths = u128::from(part) * 10_000 / u128::from(whole.max(1));
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

impl Clock {
    /// An instant as people write it.
    fn says(&self, t: Ticks) -> String {
        if self.counts { format!("step {t}") } else { time(t) }
    }
}

/// A time as people write it.
pub(super) fn time(ns: Ticks) -> String {
    let (unit, name) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    match (ns % unit) * 10 / unit {
        0 => format!("{} {name}", ns / unit),
        tenth => format!("{}.{tenth} {name}", ns / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mark, Span};
    use super::*;

    /// Elements as text: what a reader could copy.
    fn text(elements: &[Element]) -> String {
        let mut all = String::new();
        for element in elements {
            all += &element.text;
            all += &text(&element.children);
            if matches!(TAGS[usize::from(element.tag)], "p" | "th" | "td" | "h3" | "dd" | "dt" | "label") {
                all += "|";
            }
        }
        all
    }

    #[test]
    fn everything_a_panel_can_hold_is_drawn() {
        let clock = Clock { now: 30, end: 100, counts: false, steps: vec![10, 30, 60], marks: vec![60] };
        let span = |from, to, label: &str| Span { from, to, label: label.to_owned(), mark: Mark::Frozen };
        let lane =
            Lane { name: "lane 0".to_owned(), spans: vec![span(20, 40, "frozen"), span(90, 91, "later")] };
        let field = |id: &str, kind| Field {
            id: id.to_owned(),
            label: id.to_uppercase(),
            hint: "As `it` is.".to_owned(),
            value: "1".to_owned(),
            kind,
        };
        let panel = Panel {
            fields: vec![
                field("a", FieldKind::Text { rows: 3 }),
                field("b", FieldKind::Choice(vec![("1".into(), "one".into()), ("2".into(), "two".into())])),
                field("c", FieldKind::Number { min: 0, max: 9 }),
                field("d", FieldKind::File),
            ],
            headline: "`x` is not lost.".to_owned(),
            told: vec![Diagnostic::error("EX006", "a", "b").found("c").hint("do `d`")],
            clock: Some(clock),
            parts: vec![
                Part::table(
                    "T",
                    ["k", "v"],
                    (0..402).map(|n| (Mark::Plain, [n.to_string(), "w".to_owned()])),
                ),
                Part::facts("F", [(Mark::Bad, "lost".to_owned(), "3".to_owned())]).aside(),
                Part::of("L", Body::Lanes(vec![lane])).text("One is frozen."),
            ],
        };
        let shown = panel.shown();
        assert_eq!(text(&shown.fields), "A|As it is.|B|onetwoAs it is.|C|As it is.|D|As it is.|");
        let main = text(&shown.parts[0]);
        assert!(
            main.starts_with("x is not lost.|EX006 expected b|Found: c|At a|do d|T|k|v|0|w|1|w|"),
            "{main}"
        );
        assert!(main.contains("399|w|and 2 more|L|One is frozen.|lane 0frozen: 20 ns to 40 ns"), "{main}");
        assert_eq!(text(&shown.parts[1]), "F|lost|3|");
        let stand = shown.clock.clone().expect("a clock");
        assert_eq!((stand.targets, stand.words.as_str()), ([60, 10, 60, 0], "30 ns of 100 ns"));
        assert_eq!(Shown::from_bytes(&shown.to_bytes()), Ok(shown));
    }
}
