//! The engine behind the page, in a Web Worker: answers the messages of
//! [`thunkscope_core::exhibit::protocol`] about programs. `www/worker.js` is the other half: it
//! starts this module and passes messages on. Loaded when the Lab first needs it, so it has nothing
//! that the page does not ask for; what pages of others call is in `thunkscope-api`.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Function, Uint8Array};
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::executor;
use thunkscope_core::exhibit::protocol::{Answer, CardLine, Handle, Opened, What};
use thunkscope_core::exhibit::{VerdictLine, build_in_slices};
use thunkscope_core::explain::Report;
use thunkscope_core::import::{self, Limits, ReadOptions};
use thunkscope_core::machine::Job;
use thunkscope_core::program::{Program, json};
use thunkscope_worker::{Answered, MAX_FILE, Pauses, Queue, Serve, small_enough};
use wasm_bindgen::prelude::*;

/// Panics become readable errors on the console.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// Answers requests one after the other.
#[wasm_bindgen(skip_typescript)]
pub struct Engine(Queue<Programs>);

#[wasm_bindgen]
impl Engine {
    /// `post(message, bytes?)` sends a message; `pause()` gives a promise that is kept once waiting
    /// messages were received.
    #[wasm_bindgen(constructor)]
    pub fn new(post: Function, pause: Function) -> Self {
        Self(Queue::new(Programs::default(), post, pause))
    }

    /// The request in work, or 0.
    pub fn current(&self) -> u32 {
        self.0.current()
    }

    /// Takes a message of the page.
    pub fn receive(&self, message: &JsValue, bytes: Option<Uint8Array>) {
        self.0.receive(message, bytes);
    }
}

/// The programs that the page has opened.
#[derive(Default)]
struct Programs {
    open: RefCell<Vec<(Handle, Rc<Program>)>>,
    last: Cell<Handle>,
}

impl Serve for Programs {
    async fn serve(&self, what: &What, bytes: Option<Uint8Array>, mut pauses: Pauses<Self>) -> Answered {
        let pause = async |job| pauses.pause(job).await;
        match what {
            What::Open { name, lenient } => self.open(name, *lenient, bytes, pause).await,
            What::Exhibit { handle, path, runs, labels } => {
                let program = self.program(*handle)?;
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                let exhibit = build_in_slices(&program, path, runs, &labels, pause).await?;
                Ok((Answer::Exhibit, Some(exhibit.to_bytes())))
            }
            What::Program { handle } => {
                let text = json::write(&*self.program(*handle)?);
                Ok((Answer::Program, Some(text.into_bytes())))
            }
            What::Instrument { .. } | What::Cancel { .. } | What::Close { .. } => {
                Err(Diagnostic::error("EX005", "message", "a request about programs"))
            }
        }
    }

    fn close(&self, handle: Handle) {
        self.open.borrow_mut().retain(|(kept, _)| *kept != handle);
    }
}

impl Programs {
    async fn open(
        &self,
        name: &str,
        lenient: bool,
        bytes: Option<Uint8Array>,
        pause: impl AsyncFnMut(Job) -> Result<(), Diagnostic>,
    ) -> Answered {
        let bytes = bytes.ok_or_else(|| Diagnostic::error("EX005", "message", "the bytes of a file"))?;
        small_enough(&bytes)?;
        let limits = Limits { decompressed: MAX_FILE.into(), ..Limits::default() };
        let read = import::read(&bytes.to_vec(), name, &ReadOptions { lenient, limits })?;
        let report = Report::in_slices(&read.program, executor::Options::default(), pause).await?;
        let cards = report.cards.iter().map(|card| CardLine {
            path: card.path.to_string(),
            thunks: card.thunks,
            held_back: card.held_back(),
            verdict: VerdictLine::of(card),
        });
        let handle = self.last.get().wrapping_add(1);
        self.last.set(handle);
        let opened = Opened {
            handle,
            name: read.program.name.clone(),
            digest: read.program.digest(),
            origin: read.program.origin.format.clone(),
            cards: cards.collect(),
            notes: report.notes,
            warnings: read.warnings,
        };
        self.open.borrow_mut().push((handle, Rc::new(read.program)));
        Ok((Answer::Opened(opened), None))
    }

    fn program(&self, handle: Handle) -> Result<Rc<Program>, Diagnostic> {
        let programs = self.open.borrow();
        let found = programs.iter().find(|(kept, _)| *kept == handle);
        found.map(|(_, program)| Rc::clone(program)).ok_or_else(|| {
            Diagnostic::error("AP004", "handle", "a program that is open")
                .found(handle)
                .hint("open the file again: the worker has been started anew")
        })
    }
}
