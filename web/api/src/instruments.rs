//! The Lab's instruments beside the executor, in a Web Worker: answers [`What::Instrument`] with a panel.

use std::cell::RefCell;

use js_sys::{Function, Uint8Array};
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::exhibit::protocol::{Answer, What};
use thunkscope_core::panel::{Fields, Made, Opened, Panel, Search, backpressure, dump, explorer, log};
use thunkscope_worker::{Answered, Pauses, Queue, Serve};
use wasm_bindgen::prelude::*;

/// Answers requests one after the other.
#[wasm_bindgen(skip_typescript)]
pub struct Engine(Queue<Instruments>);

#[wasm_bindgen]
impl Engine {
    /// `post(message, bytes?)` sends a message; `pause()` gives a promise that is kept once waiting
    /// messages were received.
    #[wasm_bindgen(constructor)]
    pub fn new(post: Function, pause: Function) -> Self {
        Self(Queue::new(Instruments::default(), post, pause))
    }

    /// Takes a message of the page.
    pub fn receive(&self, message: &JsValue, bytes: Option<Uint8Array>) {
        self.0.receive(message, bytes);
    }
}

/// What was done last: another instant of it needs no other work.
#[derive(Default)]
struct Instruments {
    search: RefCell<Option<Search>>,
    made: RefCell<Option<Made>>,
    opened: RefCell<Option<Opened>>,
}

impl Serve for Instruments {
    async fn serve(&self, what: &What, _: Option<Uint8Array>, mut pauses: Pauses<Self>) -> Answered {
        let What::Instrument { id, fields } = what else {
            return Err(Diagnostic::error("EX005", "message", "a request about an instrument"));
        };
        let fields = Fields::new(fields.iter().cloned());
        let panel: Panel = match id.as_str() {
            "dump" => dump(&fields),
            "backpressure" => {
                let (panel, made) = backpressure(&fields, self.made.take());
                self.made.replace(Some(made));
                panel
            }
            "log" => {
                let (panel, opened) = log(&fields, self.opened.take());
                self.opened.replace(opened);
                panel
            }
            "explorer" => {
                let last = self.search.take();
                let (panel, search) = explorer(&fields, last, async |job| pauses.pause(job).await).await?;
                self.search.replace(Some(search));
                panel
            }
            _ => {
                return Err(
                    Diagnostic::error("EX007", "instrument", "dump, backpressure, explorer or log").found(id)
                );
            }
        };
        Ok((Answer::Panel, Some(panel.shown().to_bytes())))
    }

    fn close(&self, _: u32) {}
}
