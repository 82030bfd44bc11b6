//! Files of the reader's: in by choice or drop, out by download.

use js_sys::{Array, ArrayBuffer, Uint8Array};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, DragEvent, Event, File, HtmlAnchorElement, HtmlElement, HtmlInputElement, Url};

use crate::lab::LARGEST_FILE;
use crate::listen::Listener;
use crate::message::Msg;
use crate::view::Say;
use crate::{fetch, words};

/// The input that stands for the browser's own dialogue.
pub(crate) const INPUT: &str = "file";

/// Opens the browser's dialogue.
pub(crate) fn choose() {
    let document = web_sys::window().and_then(|window| window.document());
    let input = document.and_then(|document| document.get_element_by_id(INPUT));
    if let Some(input) = input.and_then(|input| input.dyn_into::<HtmlElement>().ok()) {
        input.click();
    }
}

/// The file that was chosen. The same one can be chosen again.
pub(crate) fn chosen(event: &Event) -> Option<File> {
    let input: HtmlInputElement = event.target()?.dyn_into().ok()?;
    let file = input.files()?.get(0);
    input.set_value("");
    file
}

/// Takes files that are dropped anywhere.
pub(crate) fn accept(say: &Say) -> [Option<Listener>; 3] {
    let say = say.clone();
    let over = |event: Event| {
        let holds_files = event
            .dyn_ref::<DragEvent>()
            .and_then(DragEvent::data_transfer)
            .is_some_and(|data| data.types().iter().any(|kind| kind.as_string().as_deref() == Some("Files")));
        if holds_files {
            event.prevent_default();
            mark(true);
        }
    };
    [
        Listener::new("dragover", over),
        Listener::new("dragleave", |event| {
            let outside = event.dyn_ref::<DragEvent>().is_some_and(|drag| drag.related_target().is_none());
            if outside {
                mark(false);
            }
        }),
        Listener::new("drop", move |event| {
            mark(false);
            let files =
                event.dyn_ref::<DragEvent>().and_then(DragEvent::data_transfer).and_then(|data| data.files());
            if let Some(file) = files.and_then(|files| files.get(0)) {
                event.prevent_default();
                say.emit(Msg::Open(file));
            }
        }),
    ]
}

/// Says that a drop would be taken.
fn mark(on: bool) {
    let root = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.document_element());
    if let Some(root) = root {
        let _ = root.class_list().toggle_with_force("dropping", on);
    }
}

/// Its bytes.
///
/// # Errors
/// A sentence for the reader.
pub(crate) async fn read(file: &File) -> Result<Vec<u8>, String> {
    if file.size() > LARGEST_FILE {
        return Err(words::too_large(&file.name()));
    }
    let buffer = JsFuture::from(file.array_buffer()).await;
    let buffer = buffer.map_err(|error| words::unreadable(&file.name(), &fetch::text(&error)))?;
    let buffer: ArrayBuffer = buffer.dyn_into().map_err(|_| words::unreadable(&file.name(), ""))?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// Offers bytes as a download.
pub(crate) fn save(name: &str, bytes: &[u8]) {
    let parts = Array::of1(&Uint8Array::from(bytes));
    let Ok(blob) = Blob::new_with_u8_array_sequence(&parts) else { return };
    let Ok(url) = Url::create_object_url_with_blob(&blob) else { return };
    let document = web_sys::window().and_then(|window| window.document());
    let link = document.and_then(|document| document.create_element("a").ok());
    if let Some(link) = link.and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok()) {
        link.set_href(&url);
        link.set_download(name);
        link.click();
    }
    let _ = Url::revoke_object_url(&url);
}
