//! Thunkscope's page. It holds no rule of any protocol: the core simulates, the event log says
//! what happened, and what is here turns one position of the log into a picture and its text.
//!
//! | module | holds |
//! | --- | --- |
//! | `model` | what is shown: a program, its graph and layout, one log per ready queue |
//! | `frame` | everything that can be read off the page at one position, as plain data |
//! | `words` | every sentence and label of the interface |
//! | `command`, `search` | what the reader can ask for, by key, button or name |
//! | `state`, `desk` | where the reader is and what is run, and what changes it |
//! | `message`, `live` | everything that can happen, and the one component: what it does to the rest |
//! | `view` | pure functions from all that to elements |
//! | `effects`, `paint` | what is done after drawing: dialogues, scrolling, canvases |
//! | `keys`, `gesture`, `files`, `listen`, `timer`, `page`, `fetch` | the browser |
//! | `engine`, `lab`, `jobs` | the workers, programs, and how they are run |
//! | `instrument` | the Lab's other instruments: what was asked, what was answered |
//! | `address` | the state in the address |
//! | `expose` | `window.thunkscope.state()` |
//! | `panic` | what is shown should the page ever fail |
#![forbid(unsafe_code)]

mod address;
mod command;
mod desk;
mod effects;
mod engine;
mod expose;
mod fetch;
mod files;
mod frame;
mod gesture;
mod instrument;
mod jobs;
mod keys;
mod lab;
mod listen;
mod live;
mod message;
mod model;
mod page;
mod paint;
mod panic;
mod search;
mod state;
mod timer;
mod view;
mod words;
mod zoom;

#[cfg(all(test, target_arch = "wasm32"))]
mod tests;

use std::rc::Rc;

use wasm_bindgen_futures::spawn_local;
use web_sys::Element;

use crate::command::Shown;
use crate::live::CHAPTER;
use crate::model::{Fixed, Model, Scene};
use crate::timer::Timer;

/// Mounts the live stage into the page's chapter, if the page has a place for it.
pub fn start() {
    panic::install();
    expose::install();
    if let Some(place) = page::document().and_then(|document| document.get_element_by_id("stage")) {
        spawn_local(mount(place));
    }
}

/// Fetches the chapter's exhibit and puts the live stage into `place`. What is there stays until then.
async fn mount(place: Element) {
    match opening().await {
        Ok(scene) => {
            // In a task of its own, so that none is long.
            let timer = Timer::new(0, move || live::mount(&place, &scene));
            // Dropped, it would not call.
            std::mem::forget(timer);
        }
        Err(why) => page::refuse(&place, &why),
    }
}

async fn opening() -> Result<Fixed<Scene>, String> {
    let bytes = fetch::bytes(&format!("exhibits/{}.bin", CHAPTER.id)).await?;
    let model = Model::from_bytes(&bytes).map_err(|diagnostic| diagnostic.to_string())?;
    Ok(Fixed::new(Scene::new(Rc::new(model), Shown::All)))
}
