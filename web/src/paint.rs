//! A scene that has too many shapes for elements, painted. The shapes are the same, and the colours come from
//! the same style sheet.

use thunkscope_core::exhibit::Exhibit;
use thunkscope_core::exhibit::scene::{Look, Prim, Shape, Stroke, Window, scene, strokes};
use thunkscope_core::graph::NodeId;
use thunkscope_core::layout::Point;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, CssStyleDeclaration, HtmlCanvasElement};

use crate::frame::Column;
use crate::zoom::Zoom;

/// The graph of one run, with a marked thunk.
pub(crate) fn graph(
    canvas: &HtmlCanvasElement,
    exhibit: &Exhibit,
    column: &Column,
    selected: NodeId,
    seen: Zoom,
) {
    let Some(window) = web_sys::window() else { return };
    let (wide, high) = (f64::from(canvas.client_width().max(1)), f64::from(canvas.client_height().max(1)));
    let dense = window.device_pixel_ratio().clamp(1.0, 3.0);
    canvas.set_width((wide * dense) as u32);
    canvas.set_height((high * dense) as u32);
    let context = canvas.get_context("2d").ok().flatten();
    let Some(context) = context.and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok())
    else {
        return;
    };
    let Some(style) = window.get_computed_style(canvas).ok().flatten() else { return };
    let scale = (wide / f64::from(seen.width)).min(high / f64::from(seen.height));
    let (left, top) = (
        (wide - f64::from(seen.width) * scale) / 2.0 - f64::from(seen.x) * scale,
        (high - f64::from(seen.height) * scale) / 2.0 - f64::from(seen.y) * scale,
    );
    let _ = context.set_transform(scale * dense, 0.0, 0.0, scale * dense, left * dense, top * dense);

    // What is seen may be wider than what was asked for: the element has a shape of its own.
    let from = Point { x: (-left / scale) as i32, y: (-top / scale) as i32 };
    let to = Point { x: ((wide - left) / scale) as i32, y: ((high - top) / scale) as i32 };
    let look = Look { run: column.run, selected: Some(selected), window: Some(Window { from, to }) };
    let prims = scene(exhibit, &column.state, &look);
    Painter { context, style, scale }.all(&prims);
}

struct Painter {
    context: CanvasRenderingContext2d,
    style: CssStyleDeclaration,
    /// CSS pixels for one unit of the picture.
    scale: f64,
}

/// Smaller than this, in CSS pixels, text is left out.
const LEGIBLE: f64 = 5.0;

impl Painter {
    fn all(&self, prims: &[Prim<'_>]) {
        // Shapes that look alike are painted at once; edges first, marked ones last.
        for (state, mark) in [("released", ""), ("held", ""), ("held", "asked")] {
            for kind in ["", "scheduling"] {
                let alike = |prim: &&Prim<'_>| {
                    prim.part == "edge" && prim.state == state && prim.mark == mark && prim.kind == kind
                };
                self.edges(prims.iter().filter(alike), state, mark, kind);
            }
        }
        for state in STATES {
            let alike = |prim: &&Prim<'_>| prim.part == "box" && prim.state == state;
            self.boxes(prims.iter().filter(alike), state);
            let parts = prims.iter().filter(|prim| prim.part != "box" && prim.state == state);
            parts.for_each(|prim| self.part(prim));
        }
    }

    fn colour(&self, name: &str) -> String {
        self.style.get_property_value(name).unwrap_or_default()
    }

    fn edges<'a>(&self, edges: impl Iterator<Item = &'a Prim<'a>>, state: &str, mark: &str, kind: &str) {
        let context = &self.context;
        let colour = match (state, mark) {
            (_, "asked") => "--ink",
            ("held", _) => "--line",
            _ => "--edge",
        };
        context.set_stroke_style_str(&self.colour(colour));
        // Never thinner than can be seen.
        context.set_line_width(if state == "held" { 1.3_f64 } else { 1.0 }.max(0.5 / self.scale));
        self.dashes(match (state, kind) {
            ("released", _) => &[1.0, 3.0],
            (_, "scheduling") => &[4.0, 3.0],
            _ => &[],
        });
        context.begin_path();
        for edge in edges {
            let Shape::Route(points) = edge.shape else { continue };
            for stroke in strokes(points) {
                match stroke {
                    Stroke::Move(to) => context.move_to(to.x.into(), to.y.into()),
                    Stroke::Line(to) => context.line_to(to.x.into(), to.y.into()),
                    Stroke::Curve(a, b, to) => context.bezier_curve_to(
                        a.x.into(),
                        a.y.into(),
                        b.x.into(),
                        b.y.into(),
                        to.x.into(),
                        to.y.into(),
                    ),
                }
            }
        }
        context.stroke();
        self.dashes(&[]);
    }

    fn boxes<'a>(&self, boxes: impl Iterator<Item = &'a Prim<'a>>, state: &str) {
        let context = &self.context;
        context.set_fill_style_str(&self.colour(match state {
            "ready" => "--ready-ground",
            "running" => "--running-ground",
            "pending" => "--pending-ground",
            "done" => "--done-ground",
            "failed" => "--failed-ground",
            _ => "--panel",
        }));
        context.set_stroke_style_str(&self.colour(match state {
            "ready" => "--ready",
            "running" => "--running",
            "pending" => "--pending",
            "done" => "--done",
            "failed" => "--failed",
            _ => "--line",
        }));
        context.set_line_width(if state == "running" { 2.0_f64 } else { 1.2 }.max(0.6 / self.scale));
        self.dashes(if state == "skipped" { &[3.0, 3.0] } else { &[] });
        context.begin_path();
        let mut pattern = Vec::new();
        for prim in boxes {
            let Shape::Rect { x, y, width, height, radius } = prim.shape else { continue };
            let (x, y, width, height) = (f64::from(x), f64::from(y), f64::from(width), f64::from(height));
            if self.scale < 0.3 {
                context.rect(x, y, width, height);
            } else {
                let _ = context.round_rect_with_f64(x, y, width, height, radius.into());
            }
            pattern.push((x, y, width, height));
        }
        context.fill();
        context.stroke();
        self.dashes(&[]);
        if matches!(state, "running" | "pending") {
            self.hatch(&pattern, state);
        }
    }

    /// The pattern that goes with the colour.
    fn hatch(&self, boxes: &[(f64, f64, f64, f64)], state: &str) {
        let context = &self.context;
        let colour = if state == "running" { "--running-line" } else { "--pending-line" };
        context.set_stroke_style_str(&self.colour(colour));
        context.set_line_width(2.5);
        context.begin_path();
        for &(x, y, width, height) in boxes {
            let mut at = 6.0;
            while at + height < width {
                context.move_to(x + at, y + height - 1.0);
                context.line_to(x + at + height - 2.0, y + 1.0);
                if state == "pending" {
                    context.move_to(x + at, y + 1.0);
                    context.line_to(x + at + height - 2.0, y + height - 1.0);
                }
                at += 8.0;
            }
        }
        context.stroke();
    }

    fn part(&self, prim: &Prim<'_>) {
        let context = &self.context;
        match &prim.shape {
            Shape::Text { x, y, text } => {
                let (size, font) = if prim.part == "name" { NAME } else { NOTE };
                if size * self.scale < LEGIBLE {
                    return;
                }
                context.set_font(font);
                context.set_text_align("center");
                context.set_fill_style_str(&self.colour(match prim.state {
                    "ready" => "--ready-ink",
                    "running" => "--running-ink",
                    "pending" => "--pending-ink",
                    "done" => "--done-ink",
                    "failed" => "--failed-ink",
                    _ => "--soft",
                }));
                let _ = context.fill_text(text, (*x).into(), (*y).into());
            }
            Shape::Rect { x, y, width, height, radius } => {
                context.set_stroke_style_str(&self.colour("--ink"));
                context.set_line_width(1.4_f64.max(1.6 / self.scale));
                context.begin_path();
                let (x, y, width, height) = ((*x).into(), (*y).into(), (*width).into(), (*height).into());
                let _ = context.round_rect_with_f64(x, y, width, height, (*radius).into());
                context.stroke();
            }
            Shape::Line(from, to) => {
                context.set_stroke_style_str(&self.colour("--failed"));
                context.set_line_width(1.0);
                context.begin_path();
                context.move_to(from.x.into(), from.y.into());
                context.line_to(to.x.into(), to.y.into());
                context.stroke();
            }
            Shape::Route(_) => {}
        }
    }

    fn dashes(&self, lengths: &[f64]) {
        let lengths: js_sys::Array =
            lengths.iter().map(|&length| wasm_bindgen::JsValue::from(length)).collect();
        let _ = self.context.set_line_dash(&lengths);
    }
}

/// Later ones over earlier ones.
const STATES: [&str; 7] = ["waiting", "skipped", "done", "ready", "pending", "failed", "running"];

/// Size in units of the picture, and the font with it.
const NAME: (f64, &str) = (11.5, "500 11.5px system-ui, sans-serif");
const NOTE: (f64, &str) = (9.8, "400 9.8px system-ui, sans-serif");
