//! One call after a while.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

/// One call after a while, unless dropped before.
pub(crate) struct Timer {
    id: i32,
    _call: Closure<dyn FnMut()>,
}

impl Timer {
    /// Calls `call` in `ms` milliseconds.
    pub(crate) fn new(ms: i32, call: impl FnMut() + 'static) -> Option<Self> {
        let call = Closure::<dyn FnMut()>::new(call);
        let callback = call.as_ref().unchecked_ref();
        let id =
            web_sys::window()?.set_timeout_with_callback_and_timeout_and_arguments_0(callback, ms).ok()?;
        Some(Self { id, _call: call })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(window) = web_sys::window() {
            window.clear_timeout_with_handle(self.id);
        }
    }
}
