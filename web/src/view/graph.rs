//! The execution graph with the state of every thunk.

use thunkscope_core::exhibit::scene::{Look, Prim, Window, scene};
use thunkscope_core::layout::Point;

use super::element::{El, Say, el};
use super::svg;
use crate::command::Mode;
use crate::frame::Column;
use crate::gesture;
use crate::state::Reading;
use crate::words;

/// Beyond so many visible thunks the picture is painted instead of being made of elements.
const MOST_ELEMENTS: usize = 400;

/// A picture; its twin in words is the state table, which also lets the keyboard reach all of it.
pub(crate) fn graph(reading: &Reading, column: &Column, say: &Say) -> El {
    let (scene_, place) = (&reading.scene.0, &reading.place);
    let model = &scene_.model;
    let window = place.zoom.map(|zoom| Window {
        from: Point { x: zoom.x, y: zoom.y },
        to: Point { x: zoom.x + zoom.width, y: zoom.y + zoom.height },
    });
    let look = Look { run: column.run, selected: Some(place.selected), window };
    let prims = scene(&model.exhibit, &column.state, &look);
    let picture = if boxes(&prims) <= MOST_ELEMENTS {
        let seen = place.zoom.unwrap_or(scene_.picture());
        let view_box = format!("{} {} {} {}", seen.x, seen.y, seen.width, seen.height);
        el("svg").attr("viewBox", view_box).children(prims.iter().map(|prim| svg::shape(prim, model)))
    } else {
        el("canvas")
    };
    let picture = picture
        .class("graph")
        .id(graph_id(column.queue))
        .attr("role", "img")
        .attr("aria-label", words::graph(words::queue(column.queue).0))
        .attr("aria-describedby", format!("caption-{}", column.queue));
    gesture::heard(picture, say, place.mode == Mode::Lab)
}

/// By its queue.
pub(crate) fn graph_id(queue: &str) -> String {
    format!("graph-{queue}")
}

/// How many thunks these shapes show.
fn boxes(prims: &[Prim<'_>]) -> usize {
    prims.iter().filter(|prim| prim.part == "box").count()
}
