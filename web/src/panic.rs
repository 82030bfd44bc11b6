//! Should the page ever fail: the console gets the trace, the reader a panel in plain words.

use std::panic::set_hook;

/// Installs both.
pub(crate) fn install() {
    set_hook(Box::new(|info| {
        console_error_panic_hook::hook(info);
        show(&info.to_string());
    }));
}

/// Fills the panel that `index.html` keeps hidden. A failure in here is not worth a second panic.
pub(crate) fn show(what: &str) {
    let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
    if let Some(detail) = document.get_element_by_id("panic-detail") {
        detail.set_text_content(Some(what));
    }
    if let Some(panel) = document.get_element_by_id("panic") {
        let _ = panel.remove_attribute("hidden");
    }
}
