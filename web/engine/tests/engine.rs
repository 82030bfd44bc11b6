//! The engine as the page's worker drives it, in a browser.
#![cfg(target_arch = "wasm32")]

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect, Uint8Array};
use thunkscope_core::exhibit::Exhibit;
use thunkscope_core::exhibit::protocol::{Answer, Request, Response, What};
use thunkscope_engine::Engine;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const MOE10: &[u8] = include_bytes!("../../../tests/oracle/programs/moe10/exec.bin");

/// An engine, and what it has said so far.
struct Desk {
    engine: Engine,
    said: Rc<RefCell<Vec<(Response, Option<Vec<u8>>)>>>,
}

impl Desk {
    fn new() -> Self {
        let said: Rc<RefCell<Vec<_>>> = Rc::default();
        let heard = Rc::clone(&said);
        let post = Closure::<dyn Fn(JsValue, JsValue)>::new(move |message: JsValue, bytes: JsValue| {
            let response = Response::from_bytes(&Uint8Array::new(&message).to_vec()).expect("a response");
            heard.borrow_mut().push((response, bytes.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec)));
        });
        // As the worker's: other messages come first.
        let pause = Function::new_no_args("return new Promise((done) => setTimeout(done))");
        Self { engine: Engine::new(post.into_js_value().unchecked_into(), pause), said }
    }

    fn ask(&self, id: u32, what: What, bytes: Option<&[u8]>) {
        let message = Uint8Array::from(&*Request { id, what }.to_bytes());
        self.engine.receive(&message, bytes.map(Uint8Array::from));
    }

    /// Waits for the answer to request `id` that is no progress.
    async fn answer(&self, id: u32) -> (Answer, Option<Vec<u8>>) {
        for _ in 0..10_000 {
            let mut said = self.said.borrow_mut();
            let place = said.iter().position(|(response, _)| {
                response.id == id && !matches!(response.answer, Answer::Progress { .. })
            });
            if let Some(place) = place {
                let (response, bytes) = said.remove(place);
                return (response.answer, bytes);
            }
            drop(said);
            let turn = Promise::new(&mut |done, _| {
                let window = js_sys::global().unchecked_into::<JsValue>();
                let set_timeout: Function =
                    Reflect::get(&window, &"setTimeout".into()).expect("a function").unchecked_into();
                set_timeout.call2(&window, &done, &1.into()).expect("a timer");
            });
            JsFuture::from(turn).await.expect("a turn");
        }
        panic!("no answer to request {id}");
    }

    async fn open(&self, id: u32, bytes: &[u8]) -> Answer {
        self.ask(id, What::Open { name: "file".to_owned(), lenient: false }, Some(bytes));
        self.answer(id).await.0
    }
}

fn show(handle: u32, iterations: u32) -> What {
    let options = thunkscope_core::sim::Options { iterations, ..Default::default() };
    What::Exhibit { handle, path: Default::default(), runs: vec![options], labels: Vec::new() }
}

#[wasm_bindgen_test]
async fn the_engine_opens_and_shows() {
    let desk = Desk::new();
    let Answer::Opened(opened) = desk.open(1, MOE10).await else { panic!("not opened") };
    assert_eq!((opened.name.as_str(), opened.cards.len(), opened.cards[0].thunks), ("file", 1, 10));
    desk.ask(2, show(opened.handle, 1), None);
    let (answer, bytes) = desk.answer(2).await;
    assert_eq!(answer, Answer::Exhibit);
    let made = Exhibit::from_bytes(&bytes.expect("bytes")).expect("an exhibit");
    assert_eq!(made.program.name, "file");
    desk.ask(3, What::Close { handle: opened.handle }, None);
    desk.ask(4, show(opened.handle, 1), None);
    let Answer::Error(error) = desk.answer(4).await.0 else { panic!("it was closed") };
    assert_eq!(error.code, "AP004");
}

#[wasm_bindgen_test]
async fn the_engine_lives_on_after_bad_files() {
    let desk = Desk::new();
    let cut = &MOE10[..MOE10.len() / 2];
    for (id, (bytes, code)) in (1..).zip([(&b""[..], "XI001"), (b"\x7fELF", "XI002"), (cut, "XI003")]) {
        let Answer::Error(error) = desk.open(id, bytes).await else { panic!("opened {code}") };
        assert_eq!(error.code, code);
    }
    for nonsense in ["nonsense".into(), Uint8Array::from(&b"nonsense"[..]).into(), JsValue::NULL] {
        desk.engine.receive(&nonsense, None);
        let Answer::Error(error) = desk.answer(0).await.0 else { panic!("understood") };
        assert_eq!(error.code, "EX005");
    }
    assert!(matches!(desk.open(9, MOE10).await, Answer::Opened(_)));
}

#[wasm_bindgen_test]
async fn a_long_job_is_cancelled_and_the_next_one_answered() {
    let desk = Desk::new();
    let Answer::Opened(opened) = desk.open(1, MOE10).await else { panic!("not opened") };
    // Some 900,000 events: long enough to be interrupted.
    desk.ask(2, show(opened.handle, 20_000), None);
    desk.ask(3, show(opened.handle, 1), None);
    desk.ask(4, show(opened.handle, 1), None);
    desk.ask(0, What::Cancel { request: 3 }, None);
    desk.ask(0, What::Cancel { request: 2 }, None);
    assert_eq!(desk.answer(3).await.0, Answer::Cancelled);
    assert_eq!(desk.answer(2).await.0, Answer::Cancelled);
    assert_eq!(desk.answer(4).await.0, Answer::Exhibit);
    assert_eq!(desk.engine.current(), 0);
}
