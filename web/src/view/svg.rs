//! Shapes of a scene as elements.

use std::fmt::Write as _;

use thunkscope_core::exhibit::scene::{Of, Prim, Shape, strokes};

use super::element::{El, el};
use crate::model::Model;
use crate::words;

/// One element. Its classes say what it looks like.
pub(crate) fn shape(prim: &Prim<'_>, model: &Model) -> El {
    let element = match &prim.shape {
        Shape::Rect { x, y, width, height, radius } => {
            let title = match prim.of {
                Of::Node(node) if prim.part == "box" => {
                    Some(words::node(node, model.label(node), prim.state))
                }
                _ => None,
            };
            numbers("rect", [("x", *x), ("y", *y), ("width", *width), ("height", *height), ("rx", *radius)])
                .children(title.map(|title| el("title").text(title)))
        }
        Shape::Route(points) => {
            let mut d = String::new();
            for stroke in strokes(points) {
                // Writing into a string cannot fail.
                let _ = write!(d, "{stroke}");
            }
            el("path").attr("d", d)
        }
        Shape::Line(from, to) => {
            numbers("line", [("x1", from.x), ("y1", from.y), ("x2", to.x), ("y2", to.y)])
        }
        Shape::Text { x, y, text } => numbers("text", [("x", *x), ("y", *y)]).text(text.to_string()),
    };
    element.key(prim.id()).class(prim.class())
}

fn numbers<const N: usize>(name: &'static str, attributes: [(&'static str, i32); N]) -> El {
    attributes.into_iter().fold(el(name), |el, (name, value)| el.number(name, value.into()))
}
