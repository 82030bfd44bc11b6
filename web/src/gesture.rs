//! Wheel and pointer on a picture: closer, further away, elsewhere; a click chooses a thunk.

use wasm_bindgen::JsCast;
use web_sys::{Element, Event, MouseEvent, PointerEvent, WheelEvent};
use yew::virtual_dom::ListenerKind;

use crate::command::Command;
use crate::message::{Gesture, Msg};
use crate::state::{Move, Reading};
use crate::view::{El, Say};
use crate::zoom::Zoom;

/// A press that moves less than this, in CSS pixels, is a click.
const STILL: i32 = 4;

/// A picture of a graph that hears clicks; and wheel and pointer, if it `zooms`.
pub(crate) fn heard(picture: El, say: &Say, zooms: bool) -> El {
    let picture = picture.on(ListenerKind::onclick, say, |event| {
        let mouse: &MouseEvent = event.dyn_ref()?;
        Some(Msg::Gesture(Gesture::Click(picture_of(event)?, (mouse.client_x(), mouse.client_y()))))
    });
    if !zooms {
        return picture;
    }
    let pointer = |event: &Event| -> Option<Msg> {
        let pointer: &PointerEvent = event.dyn_ref()?;
        let at = (pointer.client_x(), pointer.client_y());
        Some(Msg::Gesture(match &*event.type_() {
            "pointerdown" if pointer.button() == 0 => Gesture::Press(at),
            "pointermove" if pointer.buttons() == 1 => {
                let by = (pointer.movement_x(), pointer.movement_y());
                Gesture::Drag(picture_of(event)?, pointer.pointer_id(), at, by)
            }
            _ => return None,
        }))
    };
    picture.on(ListenerKind::onpointerdown, say, pointer).on(ListenerKind::onpointermove, say, pointer).on(
        ListenerKind::onwheel,
        say,
        |event| {
            let wheel: &WheelEvent = event.dyn_ref()?;
            wheel.prevent_default();
            let eighths = if wheel.delta_y() < 0.0 { 7 } else { 9 };
            let at = (wheel.client_x(), wheel.client_y());
            Some(Msg::Gesture(Gesture::Wheel(picture_of(event)?, at, eighths)))
        },
    )
}

fn picture_of(event: &Event) -> Option<Element> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest(".graph").ok().flatten()
}

/// What becomes of it. `press`: where the last press began.
pub(crate) fn after(gesture: Gesture, press: &mut Option<(i32, i32)>, reading: &Reading) -> Option<Move> {
    let whole = reading.scene.0.picture();
    let seen = reading.place.zoom.unwrap_or(whole);
    match gesture {
        Gesture::Click(picture, (x, y)) => {
            let (x, y) = Scale::of(&picture, seen).point(x, y);
            let node = reading.scene.0.model.node_at(x, y)?;
            Some(Move::Command(Command::Look(node)))
        }
        Gesture::Wheel(picture, (x, y), eighths) => {
            let (x, y) = Scale::of(&picture, seen).point(x, y);
            Some(Move::Zoom(seen.around(x, y, eighths, whole)))
        }
        Gesture::Press(at) => {
            *press = Some(at);
            None
        }
        Gesture::Drag(picture, pointer, (x, y), (dx, dy)) => {
            if !picture.has_pointer_capture(pointer) {
                let (from_x, from_y) = (*press)?;
                if (x - from_x).abs().max((y - from_y).abs()) < STILL {
                    return None;
                }
                let _ = picture.set_pointer_capture(pointer);
            }
            let scale = Scale::of(&picture, seen);
            Some(Move::Zoom(Some(seen.moved(-scale.length(dx), -scale.length(dy)))))
        }
    }
}

/// From CSS pixels to the picture's own units.
struct Scale {
    left: f64,
    top: f64,
    per_pixel: f64,
    seen: Zoom,
}

impl Scale {
    fn of(element: &Element, seen: Zoom) -> Self {
        let bounds = element.get_bounding_client_rect();
        let (width, height) = (bounds.width().max(1.0), bounds.height().max(1.0));
        let per_pixel = (f64::from(seen.width) / width).max(f64::from(seen.height) / height);
        // The picture stands in the middle of its element.
        let left = bounds.left() + (width - f64::from(seen.width) / per_pixel) / 2.0;
        let top = bounds.top() + (height - f64::from(seen.height) / per_pixel) / 2.0;
        Self { left, top, per_pixel, seen }
    }

    fn point(&self, x: i32, y: i32) -> (i32, i32) {
        let along = |at: i32, from: f64, start: i32| start + ((f64::from(at) - from) * self.per_pixel) as i32;
        (along(x, self.left, self.seen.x), along(y, self.top, self.seen.y))
    }

    fn length(&self, pixels: i32) -> i32 {
        (f64::from(pixels) * self.per_pixel).round() as i32
    }
}
