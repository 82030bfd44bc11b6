//! The engine: other modules in Web Workers, each started when it is first needed. They read files,
//! simulate and lay out; the page only asks.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use js_sys::{Array, Object, Reflect, Uint8Array};
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::exhibit::protocol::{Answer, Request, Response, What};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, Event, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::words;

/// Which module: each has a worker of its own. Both are beside the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Module {
    /// Programs, their graphs and runs.
    #[default]
    Programs,
    /// The Lab's other instruments.
    Instruments,
}

impl Module {
    fn script(self) -> &'static str {
        match self {
            Self::Programs => "worker.js",
            Self::Instruments => "worker.js?instruments",
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trouble {
    /// The reader gave up, or asked for something else meanwhile.
    Cancelled,
    /// The engine refuses, and says why.
    Refused(Diagnostic),
    /// There is no engine.
    Broken(String),
}

/// An answer, and the bytes that came with it.
pub(crate) type Answered = (Answer, Vec<u8>);

/// A handle on a worker; its clones talk to the same one.
#[derive(Clone)]
pub(crate) struct Engine(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    module: Module,
    worker: Option<Started>,
    last: u32,
    generation: u32,
    /// What was asked last. An earlier question has been given up.
    asked: Option<Asked>,
    /// What is sent as soon as the worker is ready.
    held: Vec<Outgoing>,
}

/// A message, and the bytes that go with it.
type Outgoing = (Vec<u8>, Option<Vec<u8>>);

struct Started {
    worker: Worker,
    ready: bool,
    /// Hears messages and errors.
    _hear: Closure<dyn FnMut(Event)>,
}

struct Asked {
    id: u32,
    progress: Rc<dyn Fn(u64, u64)>,
    answer: Option<Result<Answered, Trouble>>,
    waker: Option<Waker>,
}

impl Engine {
    pub(crate) fn new(module: Module) -> Self {
        Self(Rc::new(RefCell::new(Inner { module, ..Inner::default() })))
    }

    /// Asks, and waits for the answer; `progress` hears how far the work is. Gives up what was
    /// asked before.
    pub(crate) async fn ask(
        &self,
        what: What,
        bytes: Option<Vec<u8>>,
        progress: Rc<dyn Fn(u64, u64)>,
    ) -> Result<Answered, Trouble> {
        self.cancel();
        self.start()?;
        let id = self.next();
        self.0.borrow_mut().asked = Some(Asked { id, progress, answer: None, waker: None });
        self.send(&Request { id, what }, bytes);
        poll_fn(|context| self.poll(id, context)).await
    }

    fn poll(&self, id: u32, context: &mut Context<'_>) -> Poll<Result<Answered, Trouble>> {
        match &mut self.0.borrow_mut().asked {
            Some(asked) if asked.id == id => match asked.answer.take() {
                Some(answer) => Poll::Ready(answer),
                None => {
                    asked.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            },
            _ => Poll::Ready(Err(Trouble::Cancelled)),
        }
    }

    /// Gives up whatever is being worked on.
    pub(crate) fn cancel(&self) {
        let waiting =
            self.0.borrow().asked.as_ref().filter(|asked| asked.answer.is_none()).map(|asked| asked.id);
        if let Some(request) = waiting {
            self.send(&Request { id: self.next(), what: What::Cancel { request } }, None);
            self.settle(request, Err(Trouble::Cancelled));
        }
    }

    /// Which worker this is: what it keeps is gone with it.
    pub(crate) fn generation(&self) -> u32 {
        self.0.borrow().generation
    }

    fn next(&self) -> u32 {
        let mut inner = self.0.borrow_mut();
        inner.last = inner.last.wrapping_add(1).max(1);
        inner.last
    }

    fn start(&self) -> Result<(), Trouble> {
        if self.0.borrow().worker.is_some() {
            return Ok(());
        }
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = Worker::new_with_options(self.0.borrow().module.script(), &options)
            .map_err(|error| Trouble::Broken(words::no_engine(&crate::fetch::text(&error))))?;
        let engine = self.clone();
        let hear = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            if let Some(message) = event.dyn_ref::<MessageEvent>() {
                engine.hear(&message.data());
            } else {
                event.prevent_default();
                engine.broke(&event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).unwrap_or_default());
            }
        });
        worker.set_onmessage(Some(hear.as_ref().unchecked_ref()));
        worker.set_onerror(Some(hear.as_ref().unchecked_ref()));
        self.0.borrow_mut().worker = Some(Started { worker, ready: false, _hear: hear });
        Ok(())
    }

    fn send(&self, request: &Request, bytes: Option<Vec<u8>>) {
        let mut inner = self.0.borrow_mut();
        let message = (request.to_bytes(), bytes);
        match &inner.worker {
            Some(started) if started.ready => post(&started.worker, &message),
            Some(_) => inner.held.push(message),
            None => {}
        }
    }

    fn hear(&self, data: &JsValue) {
        let get = |key: &str| Reflect::get(data, &key.into()).unwrap_or(JsValue::UNDEFINED);
        if let Some(why) = get("stopped").as_string() {
            return self.broke(&why);
        }
        let bytes_of = |key: &str| get(key).dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec());
        let Ok(message) = bytes_of("message") else { return self.ready() };
        let response = match Response::from_bytes(&message) {
            Ok(response) => response,
            Err(diagnostic) => return self.broke(&diagnostic.to_string()),
        };
        match response.answer {
            Answer::Progress { done, total } => {
                let inner = self.0.borrow();
                let asked = inner.asked.as_ref().filter(|asked| asked.id == response.id);
                let progress = asked.map(|asked| Rc::clone(&asked.progress));
                drop(inner);
                progress.into_iter().for_each(|progress| progress(done, total));
            }
            Answer::Cancelled => self.settle(response.id, Err(Trouble::Cancelled)),
            Answer::Error(diagnostic) => self.settle(response.id, Err(Trouble::Refused(diagnostic))),
            answer => self.settle(response.id, Ok((answer, bytes_of("bytes").unwrap_or_default()))),
        }
    }

    /// The worker's module has started.
    fn ready(&self) {
        let mut inner = self.0.borrow_mut();
        let held = std::mem::take(&mut inner.held);
        if let Some(started) = &mut inner.worker {
            started.ready = true;
            held.iter().for_each(|message| post(&started.worker, message));
        }
    }

    /// Hands the answer over, if somebody still waits for it.
    fn settle(&self, id: u32, answer: Result<Answered, Trouble>) {
        let mut inner = self.0.borrow_mut();
        let asked = inner.asked.as_mut().filter(|asked| asked.id == id && asked.answer.is_none());
        let Some(asked) = asked else { return };
        asked.answer = Some(answer);
        let waker = asked.waker.take();
        drop(inner);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The worker has failed: whoever waits is told, and the next one to ask gets a new worker.
    fn broke(&self, why: &str) {
        let id = {
            let mut inner = self.0.borrow_mut();
            if let Some(started) = inner.worker.take() {
                started.worker.terminate();
                // Its listener may be what is running now.
                std::mem::forget(started);
            }
            inner.held.clear();
            inner.generation += 1;
            inner.asked.as_ref().map_or(0, |asked| asked.id)
        };
        self.settle(id, Err(Trouble::Broken(words::no_engine(why))));
    }
}

/// The bytes are handed over, not copied.
fn post(worker: &Worker, (message, bytes): &Outgoing) {
    let object = Object::new();
    // A new object of our own: nothing can refuse a property.
    let _ = Reflect::set(&object, &"message".into(), &Uint8Array::from(&**message));
    let handed = Array::new();
    if let Some(bytes) = bytes {
        let bytes = Uint8Array::from(&**bytes);
        let _ = Reflect::set(&object, &"bytes".into(), &bytes);
        handed.push(&bytes.buffer());
    }
    let _ = worker.post_message_with_transfer(&object, &handed);
}
