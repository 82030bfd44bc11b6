//! The picture as a file of its own: for pages without JavaScript, papers and issues.

use std::fmt::Write as _;

use super::Exhibit;
use super::scene::{Look, Shape, scene, strokes};
use crate::layout::Point;
use crate::trace::State;

/// Room around the picture for outlines, in pixels.
const MARGIN: i32 = 6;

/// An SVG document with a title and a description, styled by `style`: rules for the classes of
/// [`Prim::class`](super::scene::Prim::class), and for `stripe-ground`, `stripe-line`,
/// `hatch-ground`, `hatch-line` of its two patterns, `url(#stripe)` and `url(#hatch)`.
pub fn svg(exhibit: &Exhibit, state: &State, look: &Look, title: &str, style: &str) -> String {
    let (width, height) = (exhibit.picture.width + 2 * MARGIN, exhibit.picture.height + 2 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{} {} {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\">\n",
        -MARGIN, -MARGIN
    );
    out += &format!("<title id=\"title\">{}</title>\n", escaped(title));
    out += &format!("<desc id=\"desc\">{}</desc>\n", escaped(&describe(exhibit, state, look)));
    out += &format!("<style>\n{}\n</style>\n", style.trim());
    out += "<defs>\n\
            <pattern id=\"stripe\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
            <rect class=\"stripe-ground\" width=\"8\" height=\"8\"/><rect class=\"stripe-line\" width=\"3\" height=\"8\"/></pattern>\n\
            <pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
            <rect class=\"hatch-ground\" width=\"6\" height=\"6\"/><path class=\"hatch-line\" d=\"M0 6L6 0\"/></pattern>\n\
            </defs>\n";
    for prim in scene(exhibit, state, look) {
        let (id, class) = (prim.id(), prim.class());
        // Writing into a string cannot fail.
        let _ = match prim.shape {
            Shape::Rect { x, y, width, height, radius } => writeln!(
                out,
                "<rect id=\"{id}\" class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
            ),
            Shape::Route(points) => {
                let d: String = strokes(points).map(|stroke| stroke.to_string()).collect();
                writeln!(out, "<path id=\"{id}\" class=\"{class}\" d=\"{d}\"/>")
            }
            Shape::Line(Point { x, y }, to) => {
                writeln!(out, "<path id=\"{id}\" class=\"{class}\" d=\"M{x} {y}L{} {}\"/>", to.x, to.y)
            }
            Shape::Text { x, y, text } => {
                writeln!(
                    out,
                    "<text id=\"{id}\" class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>",
                    escaped(&text)
                )
            }
        };
    }
    out + "</svg>\n"
}

/// The picture in words: which thunks stand how.
fn describe(exhibit: &Exhibit, state: &State, look: &Look) -> String {
    let mut by_state: Vec<(&str, Vec<&str>)> = Vec::new();
    let nodes = state.run(look.run).map(|run| &run.nodes);
    for (node, thunk) in exhibit.thunks.iter().enumerate() {
        let name = nodes.and_then(|nodes| nodes.get(node)).map_or("waiting", |now| now.name());
        match by_state.iter_mut().find(|(other, _)| *other == name) {
            Some((_, labels)) => labels.push(&thunk.label),
            None => by_state.push((name, vec![&thunk.label])),
        }
    }
    let parts = by_state.iter().map(|(state, labels)| format!("{state}: {}", labels.join(", ")));
    format!("{}.", parts.collect::<Vec<_>>().join("; "))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            // Characters that XML cannot have, not even escaped.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhibit::build;
    use crate::program::{Kind, Program, Sequence, SequencePath, Thunk};

    #[test]
    fn names_cannot_break_the_document() {
        let thunk = Thunk::new(Kind::Kernel, "</svg>\u{1}\"&").writes(0, 0, 8);
        let program = Program { sequence: Sequence { thunks: vec![thunk] }, ..Program::default() };
        let exhibit =
            build(&program, &SequencePath::entry(), &[crate::sim::Options::default()], &[]).expect("builds");
        let state = State::new(&exhibit.runs[0].log.header);
        let text = svg(&exhibit, &state, &Look::default(), "a < b", ".box { fill: red }");
        assert!(text.contains("<title id=\"title\">a &lt; b</title>"), "{text}");
        assert!(text.contains(">&lt;/svg&gt;\u{fffd}&quot;&amp;</text>"), "{text}");
        assert!(text.contains("waiting: &lt;/svg&gt;"), "{text}");
        assert_eq!(text.matches("</svg>").count(), 1);
    }
}
