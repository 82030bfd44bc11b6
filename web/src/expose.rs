//! `window.thunkscope.state()`: what the page shows, as a plain object, for tests and tools.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Object, Reflect};
use wasm_bindgen::JsValue;
use wasm_bindgen::closure::Closure;

use crate::frame::{Column, Frame, Node, Ready};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Frame>>> = const { RefCell::new(None) };
}

/// Remembers the frame that was drawn last.
pub(crate) fn publish(frame: &Rc<Frame>) {
    CURRENT.with(|current| current.replace(Some(Rc::clone(frame))));
}

/// The last frame as a JavaScript object, or `null` before the first.
pub(crate) fn state() -> JsValue {
    CURRENT.with(|current| current.borrow().as_deref().map_or(JsValue::NULL, frame))
}

/// Puts `thunkscope` on the window.
pub(crate) fn install() {
    let Some(window) = web_sys::window() else { return };
    // It lives as long as the page.
    let get = Closure::<dyn Fn() -> JsValue>::new(state).into_js_value();
    let object = object(&[("state", get)]);
    let _ = Reflect::set(&window, &"thunkscope".into(), &object);
}

// By hand: a serializer of any kind of value is five kilobytes of the first load.

fn frame(frame: &Frame) -> JsValue {
    object(&[
        ("program", (&*frame.program).into()),
        ("position", frame.position.into()),
        ("positions", frame.positions.into()),
        ("step", frame.step.into()),
        ("steps", frame.steps.into()),
        ("time", (&*frame.time).into()),
        ("selected", frame.selected.into()),
        ("queues", list(&frame.queues, column)),
        ("sentence", (&*frame.sentence).into()),
    ])
}

fn column(column: &Column) -> JsValue {
    object(&[
        ("queue", column.queue.into()),
        ("nodes", list(&column.nodes, node)),
        ("ready", list(&column.ready, ready)),
        ("running", list(&column.running, |node| node.map_or(JsValue::NULL, JsValue::from))),
        ("pending_nodes", column.pending_nodes.into()),
        ("done", column.done.into()),
        ("happened", list(&column.happened, |line| (&**line).into())),
        ("why", (&*column.why).into()),
        ("sentence", (&*column.sentence).into()),
    ])
}

fn node(node: &Node) -> JsValue {
    object(&[("state", node.state.into()), ("left", node.left.into()), ("priority", node.priority.into())])
}

fn ready(ready: &Ready) -> JsValue {
    let lane = ready.lane.map_or(JsValue::NULL, JsValue::from);
    object(&[("lane", lane), ("nodes", list(&ready.nodes, |&node| node.into()))])
}

fn list<T>(items: &[T], one: impl Fn(&T) -> JsValue) -> JsValue {
    items.iter().map(one).collect::<Array>().into()
}

#[inline(never)]
fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (key, value) in fields {
        // A new object of our own: nothing can refuse a property.
        let _ = Reflect::set(&object, &(*key).into(), value);
    }
    object.into()
}
