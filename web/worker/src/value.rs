//! Values across the border: plain objects in, plain objects out.

use js_sys::{ArrayBuffer, Error, JSON, Object, Reflect, Uint8Array};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thunkscope_core::diagnostic::Diagnostic;
use wasm_bindgen::{JsCast, JsValue};

use crate::MAX_FILE;

/// Options as a plain object; `undefined` and `null` are the defaults.
///
/// # Errors
/// `AP002`, thrown.
pub fn options<T: Default + DeserializeOwned>(value: &JsValue) -> Result<T, JsValue> {
    if value.is_undefined() || value.is_null() {
        return Ok(T::default());
    }
    let error = |found: String| {
        thrown(Diagnostic::error("AP002", "options", "the fields of these options").found(found))
    };
    // Not at once: serde-wasm-bindgen looks for the fields that there are, and passes over mistyped ones.
    let value: Value =
        serde_wasm_bindgen::from_value(value.clone()).map_err(|found| error(found.to_string()))?;
    serde_json::from_value(value).map_err(|found| error(found.to_string()))
}

/// A file: bytes, a text, or an object that stands for its JSON.
///
/// # Errors
/// `AP001` for something else, `AP003` for too much of it.
pub fn text_or_bytes(file: &JsValue) -> Result<Vec<u8>, Diagnostic> {
    if let Some(text) = file.as_string() {
        return Ok(text.into_bytes());
    }
    let array = match (file.dyn_ref::<Uint8Array>(), file.dyn_ref::<ArrayBuffer>()) {
        (Some(array), _) => array.clone(),
        (None, Some(buffer)) => Uint8Array::new(buffer),
        (None, None) => {
            let text = file.is_object().then(|| JSON::stringify(file).ok()).flatten();
            let text = text.and_then(|text| text.as_string());
            return text.map(String::into_bytes).ok_or_else(|| {
                Diagnostic::error("AP001", "program", "a Uint8Array, an ArrayBuffer, a text or an object")
                    .found(file.js_typeof().as_string().unwrap_or_default())
            });
        }
    };
    small_enough(&array)?;
    Ok(array.to_vec())
}

/// Before anything is copied.
///
/// # Errors
/// `AP003`.
pub fn small_enough(array: &Uint8Array) -> Result<(), Diagnostic> {
    if array.length() <= MAX_FILE {
        return Ok(());
    }
    Err(Diagnostic::error("AP003", "file", format!("at most {MAX_FILE} bytes"))
        .found(array.length())
        .hint("the command line reads larger files: `thunkscope explain FILE`"))
}

/// A plain object from JSON.
///
/// # Errors
/// For a text that is no JSON: a mistake of ours.
pub fn plain(json: &str) -> Result<JsValue, JsValue> {
    JSON::parse(json)
}

/// An `Error` named `Diagnostic`, with the fields of one.
pub fn thrown(diagnostic: Diagnostic) -> JsValue {
    let error = Error::new(&diagnostic.to_string());
    error.set_name("Diagnostic");
    let fields = serde_json::to_string(&diagnostic).ok().and_then(|fields| JSON::parse(&fields).ok());
    if let Some(fields) = fields.as_ref().and_then(JsValue::dyn_ref::<Object>) {
        for key in Object::keys(fields).iter() {
            // A new object of our own: nothing can refuse a property.
            let _ = Reflect::get(fields, &key).and_then(|value| Reflect::set(&error, &key, &value));
        }
    }
    error.into()
}
