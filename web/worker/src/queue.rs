//! Requests of the page, answered one after the other in slices, with progress and cancel: the
//! worker's half of [`thunkscope_core::exhibit::protocol`].

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use js_sys::{Date, Function, Promise, Uint8Array};
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::exhibit::protocol::{Answer, Request, Response, What};
use thunkscope_core::machine::Job;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::{JsFuture, spawn_local};

/// How long the worker works before it looks for messages, in ms.
const SLICE: f64 = 20.0;

/// An answer and the bytes that go with it, or why there is none.
pub type Answered = Result<(Answer, Option<Vec<u8>>), Diagnostic>;

/// What answers requests.
#[allow(async_fn_in_trait, reason = "one thread, and only the two modules beside this one implement it")]
pub trait Serve: 'static {
    /// Answers `what`, which is neither [`What::Cancel`] nor [`What::Close`], with the bytes of its
    /// message. Awaits a pause now and then and ends with its error.
    async fn serve(&self, what: &What, bytes: Option<Uint8Array>, pauses: Pauses<Self>) -> Answered
    where
        Self: Sized;

    /// Forgets a program.
    fn close(&self, handle: u32);
}

/// The requests of one page.
pub struct Queue<S>(Rc<Inner<S>>);

struct Inner<S> {
    serve: S,
    /// `(message, bytes?)`: to the page.
    post: Function,
    /// A promise that lets messages come in.
    pause: Function,
    waiting: RefCell<VecDeque<(Request, Option<Uint8Array>)>>,
    /// The request in work, else 0.
    current: Cell<u32>,
    /// The request in work, once it is given up.
    cancelled: Cell<Option<u32>>,
}

impl<S: Serve> Queue<S> {
    /// `post(message, bytes?)` sends a message; `pause()` gives a promise that is kept once waiting
    /// messages were received.
    pub fn new(serve: S, post: Function, pause: Function) -> Self {
        let (waiting, current, cancelled) = Default::default();
        Self(Rc::new(Inner { serve, post, pause, waiting, current, cancelled }))
    }

    /// The request in work, or 0.
    pub fn current(&self) -> u32 {
        self.0.current.get()
    }

    /// Takes a message of the page.
    pub fn receive(&self, message: &JsValue, bytes: Option<Uint8Array>) {
        let inner = &self.0;
        let request = match Request::from_bytes(&Uint8Array::new(message).to_vec()) {
            Ok(request) => request,
            Err(error) => return inner.answer(0, Answer::Error(error), None),
        };
        match request.what {
            What::Cancel { request } => inner.cancel(request),
            What::Close { handle } => inner.serve.close(handle),
            _ => {
                inner.waiting.borrow_mut().push_back((request, bytes));
                if inner.current.get() == 0 {
                    // Marks the engine as busy until the first request is taken.
                    inner.current.set(u32::MAX);
                    spawn_local(work(Rc::clone(inner)));
                }
            }
        }
    }
}

/// Works until no request is left.
async fn work<S: Serve>(inner: Rc<Inner<S>>) {
    loop {
        let next = inner.waiting.borrow_mut().pop_front();
        let Some((Request { id, what }, bytes)) = next else { break };
        inner.current.set(id);
        let pauses = Pauses { inner: Rc::clone(&inner), request: id, since: Date::now() };
        let answered = inner.serve.serve(&what, bytes, pauses).await;
        let cancelled = inner.cancelled.take() == Some(id);
        match answered {
            Ok((answer, bytes)) => inner.answer(id, answer, bytes),
            Err(_) if cancelled => inner.answer(id, Answer::Cancelled, None),
            Err(error) => inner.answer(id, Answer::Error(error), None),
        }
    }
    inner.current.set(0);
}

impl<S> Inner<S> {
    fn cancel(&self, request: u32) {
        let mut waiting = self.waiting.borrow_mut();
        let place = waiting.iter().position(|(waiting, _)| waiting.id == request);
        if place.and_then(|place| waiting.remove(place)).is_some() {
            self.answer(request, Answer::Cancelled, None);
        } else if self.current.get() == request {
            self.cancelled.set(Some(request));
        }
    }

    fn answer(&self, id: u32, answer: Answer, bytes: Option<Vec<u8>>) {
        let message = Uint8Array::from(&*Response { id, answer }.to_bytes());
        let bytes = bytes.map_or(JsValue::UNDEFINED, |bytes| Uint8Array::from(&*bytes).into());
        // A page that is gone hears nothing.
        let _ = self.post.call2(&JsValue::UNDEFINED, &message, &bytes);
    }
}

/// What a request in work does between two slices.
pub struct Pauses<S> {
    inner: Rc<Inner<S>>,
    request: u32,
    since: f64,
}

impl<S> Pauses<S> {
    /// Lets messages come in, if the slice is over.
    ///
    /// # Errors
    /// Ends the request, where the page has given it up. Shown to nobody.
    pub async fn pause(&mut self, job: Job) -> Result<(), Diagnostic> {
        let Self { inner, request, since } = self;
        // A clock that was set back makes a pause too many.
        if !(0.0..SLICE).contains(&(Date::now() - *since)) {
            if let Job::Running { done, total } = job {
                inner.answer(*request, Answer::Progress { done, total }, None);
            }
            if let Ok(promise) = inner.pause.call0(&JsValue::UNDEFINED) {
                // However it ends, the work goes on.
                let _ = JsFuture::from(Promise::from(promise)).await;
            }
            *since = Date::now();
        }
        match inner.cancelled.get() == Some(*request) {
            true => Err(Diagnostic::error("EX005", "request", "no cancel")),
            false => Ok(()),
        }
    }
}
