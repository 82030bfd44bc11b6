//! The functions as JavaScript sees them, in a browser.
#![cfg(target_arch = "wasm32")]

use js_sys::{Function, JSON, Promise, Reflect, Uint8Array};
use thunkscope_api::instruments::Engine;
use thunkscope_api::{check, dump_check, exhibit, explain, read, sim, simulate};
use thunkscope_core::exhibit::Exhibit;
use thunkscope_core::exhibit::protocol::{Answer, Request, Response, What};
use thunkscope_core::sim::dfx as device;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const MOE10: &[u8] = include_bytes!("../../../tests/oracle/programs/moe10/exec.bin");
const JSON_TEXT: &str = include_str!("../../../www/programs/moe10.json");
const MADE: &[u8] = include_bytes!("../../../www/exhibits/moe10.bin");

fn object(json: &str) -> JsValue {
    JSON::parse(json).expect("JSON")
}

fn at(value: &JsValue, path: &str) -> JsValue {
    path.split('.').fold(value.clone(), |value, key| Reflect::get(&value, &key.into()).expect("an object"))
}

fn text(value: &JsValue) -> String {
    JSON::stringify(value).ok().and_then(|text| text.as_string()).unwrap_or_default()
}

/// The code and place that an error carries.
#[track_caller]
fn check_error(result: Result<JsValue, JsValue>, expected: &str) {
    let error = result.expect_err("an error");
    assert!(error.is_instance_of::<js_sys::Error>(), "{error:?}");
    let said =
        ["name", "code", "severity", "path"].map(|key| at(&error, key).as_string().unwrap_or_default());
    assert_eq!(said.join(" "), expected);
}

#[wasm_bindgen_test]
fn every_form_of_a_program_is_read() {
    let bytes = Uint8Array::from(MOE10);
    let from_bytes = text(&explain(&bytes, &JsValue::UNDEFINED).expect("explains"));
    let from_buffer = text(&explain(&bytes.buffer(), &JsValue::NULL).expect("explains"));
    assert_eq!(from_bytes, from_buffer);
    let from_text = explain(&JSON_TEXT.into(), &JsValue::UNDEFINED).expect("explains");
    let from_object = explain(&object(JSON_TEXT), &JsValue::UNDEFINED).expect("explains");
    assert_eq!(text(&from_text), text(&from_object));
    let read = read(&bytes, &object(r#"{"name":"mine"}"#)).expect("reads");
    assert_eq!(at(&read, "program.name").as_string().as_deref(), Some("mine"));
    let again = explain(&at(&read, "program"), &JsValue::UNDEFINED).expect("explains");
    assert_eq!(text(&at(&again, "sequences")), text(&at(&object(&from_bytes), "sequences")));
}

#[wasm_bindgen_test]
fn a_simulation_is_a_plain_log() {
    let how = object(r#"{"executor":{"queue":"lifo"},"seed":"18446744073709551615"}"#);
    let log = simulate(&JSON_TEXT.into(), &how).expect("runs");
    assert_eq!(at(&log, "header.seed").as_string().as_deref(), Some("18446744073709551615"));
    let events = js_sys::Array::from(&at(&log, "events"));
    assert_eq!(text(&events.get(3)), r#"{"t":0,"actor":0,"run":0,"kind":"popped","node":4}"#);
}

#[wasm_bindgen_test]
fn an_exhibit_is_the_one_in_the_page() {
    let made: Exhibit = Exhibit::from_bytes(MADE).expect("an exhibit");
    let labels: Vec<&str> = made.thunks.iter().map(|thunk| &*thunk.label).collect();
    let show = object(&format!(r#"{{"labels":{labels:?}}}"#));
    let got = text(&exhibit(&JSON_TEXT.into(), &show).expect("builds"));
    let got = Exhibit { asked: made.asked, ..Exhibit::from_json(got.as_bytes()).expect("an exhibit") };
    assert_eq!(got, made);
}

#[wasm_bindgen_test]
fn mistakes_are_thrown_as_diagnostics() {
    check_error(explain(&5.into(), &JsValue::UNDEFINED), "Diagnostic AP001 error program");
    check_error(explain(&JSON_TEXT.into(), &object(r#"{"poll":1}"#)), "Diagnostic AP002 error options");
    check_error(
        explain(&JSON_TEXT.into(), &js_sys::BigInt::from(3).into()),
        "Diagnostic AP002 error options",
    );
    check_error(
        explain(&Uint8Array::new_with_length(0), &JsValue::UNDEFINED),
        "Diagnostic XI001 error byte 0",
    );
    check_error(explain(&"{\"format\":1}".into(), &JsValue::UNDEFINED), "Diagnostic PG002 error $.format");
    check_error(
        exhibit(&JSON_TEXT.into(), &object(r#"{"path":"entry/1.body"}"#)),
        "Diagnostic EX003 error entry/1.body",
    );
    let fault = r#"{"faults":[{"path":"entry","node":99,"kind":"fails"}]}"#;
    check_error(simulate(&JSON_TEXT.into(), &object(fault)), "Diagnostic SM002 error faults");
    let long = r#"{"iterations":4000000,"max_events":1000}"#;
    check_error(simulate(&JSON_TEXT.into(), &object(long)), "Diagnostic SM001 error events");
}

#[wasm_bindgen_test]
fn a_dump_configuration_is_checked() {
    let asked = object(
        r#"{"acl":"{\"dump\":{\"dump_path\":\"/tmp/d\",\"dump_mode\":\"all\",\"dump_list\":[{\"model_name\":\"jit_f\"}]}}"}"#,
    );
    assert!(Reflect::set(&asked, &"program".into(), &JSON_TEXT.into()).expect("an object"));
    let report = dump_check(&asked).expect("a report");
    assert_eq!(text(&at(&report, "kinds")), r#"["data"]"#);
    assert_eq!(at(&report, "program.files_per_iteration").as_f64(), Some(10.0));
    let nothing = dump_check(&JsValue::UNDEFINED).expect("a report");
    assert_eq!(text(&at(&nothing, "kinds")), "[]");
    check_error(dump_check(&object(r#"{"layout":"flat"}"#)), "Diagnostic AP002 error options.layout");
    check_error(dump_check(&object(r#"{"alc":""}"#)), "Diagnostic AP002 error options");
}

/// What an instrument of the Lab answers.
async fn panel_of(id: &str, fields: &[(&str, &str)]) -> Answer {
    let (tell, told) = futures_of_one_answer();
    let pause = Function::new_no_args("return new Promise((done) => setTimeout(done))");
    let engine = Engine::new(tell, pause);
    let fields = fields.iter().map(|&(id, value)| (id.to_owned(), value.to_owned())).collect();
    let message = Request { id: 1, what: What::Instrument { id: id.to_owned(), fields } }.to_bytes();
    engine.receive(&Uint8Array::from(&*message), None);
    let bytes = JsFuture::from(told).await.expect("an answer");
    Response::from_bytes(&Uint8Array::new(&bytes).to_vec()).expect("a response").answer
}

/// A function that is told, and the promise of the first thing that is no progress.
fn futures_of_one_answer() -> (Function, Promise) {
    let mut post = None;
    let told = Promise::new(&mut |done, _| {
        let call = Closure::<dyn Fn(JsValue, JsValue)>::new(move |message: JsValue, _: JsValue| {
            let response = Response::from_bytes(&Uint8Array::new(&message).to_vec());
            if !matches!(response.map(|response| response.answer), Ok(Answer::Progress { .. })) {
                done.call1(&JsValue::UNDEFINED, &message).expect("a promise");
            }
        });
        post = Some(call.into_js_value().unchecked_into());
    });
    (post.expect("a promise calls at once"), told)
}

#[wasm_bindgen_test]
async fn instruments_answer_with_panels() {
    assert_eq!(panel_of("dump", &[("iterations", "3")]).await, Answer::Panel);
    assert_eq!(panel_of("backpressure", &[("policy", "drop")]).await, Answer::Panel);
    assert_eq!(panel_of("explorer", &[("fault", "inexact-cap"), ("scenarios", "cap")]).await, Answer::Panel);
    let Answer::Error(error) = panel_of("telescope", &[]).await else { panic!("there is none") };
    assert_eq!((error.code.as_str(), error.value.as_str()), ("EX007", "telescope"));
}

#[wasm_bindgen_test]
fn a_device_is_simulated() {
    let scenario = include_str!("../../../www/scenarios/tight-freeze.json");
    let report = sim(&scenario.into(), &JsValue::UNDEFINED).expect("runs");
    assert_eq!(at(&report, "outcome").as_string().as_deref(), Some("complete"));
    assert_eq!(at(&report, "records.missing").as_f64(), Some(0.0));
    let both = sim(&object(scenario), &object(r#"{"policy":"drop","log":true}"#)).expect("runs");
    assert!(at(&both, "report.records.missing").as_f64() > Some(0.0));
    let events = js_sys::Array::from(&at(&both, "log.events"));
    assert_eq!(Some(f64::from(events.length())), at(&both, "report.events").as_f64());
    check_error(sim(&scenario.into(), &object(r#"{"policy":"hope"}"#)), "Diagnostic DX004 error $.policy");
    check_error(sim(&"{".into(), &JsValue::UNDEFINED), "Diagnostic DX001 error line 1 column 1");
}

#[wasm_bindgen_test]
fn interleavings_are_searched() {
    let found = check(&object(r#"{"scenario":"cap","fault":["inexact-cap"]}"#)).expect("a report");
    let line = js_sys::Array::from(&at(&found, "checks")).get(0);
    assert_eq!(at(&line, "verdict").as_string().as_deref(), Some("broken"));
    assert_eq!(at(&line, "counterexample.property").as_string().as_deref(), Some("worker-cap"));
    check_error(check(&object(r#"{"fault":["hope"]}"#)), "Diagnostic AP002 error options.fault");
}

/// How many events a second the simulator makes here, its log on and nothing judged. Slow, and a
/// figure of the machine, so it is run only by name:
/// `cargo test --release --target wasm32-unknown-unknown -p thunkscope-api --test api -- --ignored --nocapture`.
#[wasm_bindgen_test]
#[ignore = "prints figures, compares nothing"]
fn speed_of_the_simulator() {
    let scenarios: [(&str, &[u8]); 2] = [
        ("tight-freeze", include_bytes!("../../../www/scenarios/tight-freeze.json")),
        ("real-a2a3", include_bytes!("../../../www/scenarios/real-a2a3.json")),
    ];
    for (name, text) in scenarios {
        let mut scenario = device::read(text).expect("a shipped scenario");
        scenario.iterations = 50;
        let mut best = 0.0_f64;
        let mut events = 0;
        for _ in 0..5 {
            let start = js_sys::Date::now();
            events = device::run(&scenario, &device::Synthetic(1)).expect("runs").log.events.len();
            // Milliseconds, rounded: at least one has gone.
            best = best.max(events as f64 / (js_sys::Date::now() - start).max(1.0) / 1e3);
        }
        assert!(events > 100_000, "{name}: {events} events are too few to time");
        console_log!("{name}: {events} events, {best:.2} M events/s, the best of 5");
    }
}
