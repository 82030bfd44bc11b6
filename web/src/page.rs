//! What the app asks of the page around it.

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Document, Element, HtmlElement, Window};

use crate::command::Mode;
use crate::listen::Listener;

fn window() -> Option<Window> {
    web_sys::window()
}

pub(crate) fn document() -> Option<Document> {
    window()?.document()
}

/// Arranges the page: the styles look at `data-mode`, the navigation names where one is.
pub(crate) fn arrange(mode: Mode) {
    let Some(document) = document() else { return };
    let name = match mode {
        Mode::Read => "read",
        Mode::Lab => "lab",
    };
    if let Some(root) = document.document_element() {
        let _ = root.set_attribute("data-mode", name);
    }
    for (id, own) in [("to-read", Mode::Read), ("to-lab", Mode::Lab)] {
        let Some(link) = document.get_element_by_id(id) else { continue };
        let _ = if own == mode {
            link.set_attribute("aria-current", "page")
        } else {
            link.remove_attribute("aria-current")
        };
    }
}

/// Whether the Lab has room for three columns; the style sheet has the same number.
pub(crate) fn is_wide() -> bool {
    let query = window().and_then(|window| window.match_media("(min-width: 1100px)").ok().flatten());
    query.is_some_and(|query| query.matches())
}

/// What stands behind the `#` of the address.
pub(crate) fn fragment() -> String {
    let hash = window().and_then(|window| window.location().hash().ok()).unwrap_or_default();
    hash.strip_prefix('#').unwrap_or(&hash).to_owned()
}

/// Puts another one there, without an entry in the history.
pub(crate) fn set_fragment(fragment: &str) {
    if self::fragment() == fragment {
        return;
    }
    let Some(window) = window() else { return };
    let Ok(history) = window.history() else { return };
    let plain =
        window.location().pathname().unwrap_or_default() + &window.location().search().unwrap_or_default();
    let url = if fragment.is_empty() { plain } else { format!("#{fragment}") };
    let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&url));
}

/// Says above what stands in `place` why there is nothing better.
pub(crate) fn refuse(place: &Element, why: &str) {
    let Some(line) = document().and_then(|document| document.create_element("p").ok()) else { return };
    line.set_class_name("refusal");
    line.set_text_content(Some(why));
    // An attribute of a new element of our own, and its first place: nothing can refuse them.
    let _ = line.set_attribute("role", "alert");
    let _ = place.prepend_with_node_1(&line);
}

/// The whole address.
pub(crate) fn address() -> String {
    window().and_then(|window| window.location().href().ok()).unwrap_or_default()
}

/// Copies text; says whether the browser allowed it.
pub(crate) async fn copy(text: &str) -> bool {
    let Some(window) = window() else { return false };
    // Without a secure context there is no clipboard, whatever the types say.
    let clipboard = js_sys::Reflect::get(&window.navigator(), &"clipboard".into());
    if !clipboard.is_ok_and(|clipboard| clipboard.is_object()) {
        return false;
    }
    JsFuture::from(window.navigator().clipboard().write_text(text)).await.is_ok()
}

/// Dark to light and back: the button in the header knows how.
pub(crate) fn toggle_theme() {
    let button = document().and_then(|document| document.get_element_by_id("theme"));
    if let Some(button) = button.and_then(|button| button.dyn_into::<HtmlElement>().ok()) {
        button.click();
    }
}

/// Calls `call` when the page's own element of that id is clicked.
pub(crate) fn on_click(id: &str, mut call: impl FnMut() + 'static) -> Option<Listener> {
    let element = document()?.get_element_by_id(id)?;
    Listener::on(element.into(), "click", Box::new(move |_| call()))
}
