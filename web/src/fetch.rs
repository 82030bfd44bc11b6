//! The page's own files.

use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use crate::words;

/// The bytes of a file beside the page.
///
/// # Errors
/// A sentence for the reader.
pub(crate) async fn bytes(path: &str) -> Result<Vec<u8>, String> {
    let missing = |what: String| words::not_loaded(path, &what);
    let window = web_sys::window().ok_or_else(|| missing(String::new()))?;
    let response =
        JsFuture::from(window.fetch_with_str(path)).await.map_err(|error| missing(text(&error)))?;
    let response: Response = response.dyn_into().map_err(|_| missing(String::new()))?;
    if !response.ok() {
        return Err(missing(format!("status {}", response.status())));
    }
    let buffer = response.array_buffer().map_err(|error| missing(text(&error)))?;
    let buffer = JsFuture::from(buffer).await.map_err(|error| missing(text(&error)))?;
    let buffer: ArrayBuffer = buffer.dyn_into().map_err(|_| missing(String::new()))?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// What an exception says.
pub(crate) fn text(error: &JsValue) -> String {
    let object = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    object.or_else(|| error.as_string()).unwrap_or_default()
}
