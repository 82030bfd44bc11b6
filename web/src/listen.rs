//! Listeners on what is not the stage's own.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Event, EventTarget};

/// A listener, until dropped.
pub(crate) struct Listener {
    target: EventTarget,
    name: &'static str,
    call: Closure<dyn FnMut(Event)>,
}

impl Listener {
    /// Calls `call` for every event of that name that reaches the window.
    pub(crate) fn new(name: &'static str, call: impl FnMut(Event) + 'static) -> Option<Self> {
        Self::on(web_sys::window()?.into(), name, Box::new(call))
    }

    /// Calls `call` for every event of that name that reaches `target`.
    pub(crate) fn on(target: EventTarget, name: &'static str, call: Box<dyn FnMut(Event)>) -> Option<Self> {
        let call = Closure::wrap(call);
        target.add_event_listener_with_callback(name, call.as_ref().unchecked_ref()).ok()?;
        Some(Self { target, name, call })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let call = self.call.as_ref().unchecked_ref();
        let _ = self.target.remove_event_listener_with_callback(self.name, call);
    }
}
