//! Run in headless Chromium: `cargo xtask test --wasm`.

use std::rc::Rc;

use thunkscope_core::executor::Queue;
use thunkscope_core::exhibit::{Chapter, build};
use thunkscope_core::program::{SequencePath, Shape, json};
use thunkscope_core::sim;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

use crate::command::{Command, Mode, Shown, entries};
use crate::frame::Frame;
use crate::model::{Fixed, Model, Scene, share};
use crate::search::{Find, MOST, Search};
use crate::state::{Arrival, Move, Place, Reading};
use crate::zoom::Zoom;
use crate::{address, expose, panic, words};

wasm_bindgen_test_configure!(run_in_browser);

fn scene(model: Model) -> Fixed<Scene> {
    Fixed::new(Scene::new(Rc::new(model), Shown::All))
}

fn moe10() -> Fixed<Scene> {
    let program =
        json::read(include_bytes!("../../www/programs/moe10.json")).expect("a sound program").program;
    let chapter = Chapter::find("moe10").expect("a chapter");
    scene(Model::new(chapter.exhibit(&program).expect("an exhibit")))
}

/// Forty thunks that wait for nothing but the first, and one that waits for them all.
fn wide40() -> Fixed<Scene> {
    let program = Shape::Wide.generate(42, 0);
    let runs = Chapter::runs(&sim::Options::default());
    scene(Model::new(build(&program, &SequencePath::entry(), &runs, &[]).expect("an exhibit")))
}

/// The thunks in the order in which `queue` ran them.
fn order(scene: &Scene, queue: Queue) -> Vec<u32> {
    let run = scene.runs.iter().find(|run| run.queue == queue).expect("one run per queue");
    let mut spans: Vec<_> = run.spans.iter().flatten().collect();
    spans.sort_by_key(|span| span.from);
    spans.iter().map(|span| span.node).collect()
}

/// What the frame says, a line per queue.
fn check(scene: &Fixed<Scene>, position: usize, expected: &str) {
    let frame = Frame::at(scene, position, 0);
    let lines: Vec<String> = frame
        .queues
        .iter()
        .map(|column| format!("{} [{}]", column.sentence, column.happened.join(" · ")))
        .collect();
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(lines, expected);
}

#[wasm_bindgen_test]
fn the_chapter_opens_where_each_queue_has_chosen_once() {
    let scene = moe10();
    check(
        &scene,
        scene.0.model.exhibit.opening as usize,
        "FIFO: lane 0 runs 0; ready: 1, 2, 3, 4. [pop 0 · run 0]
         LIFO: lane 0 runs 4; ready: 3, 2, 1, 0. [pop 4 · run 4]
         Priority: lane 0 runs 0; ready: 1, 2, 3, 4. [pop 0 · run 0]",
    );
}

#[wasm_bindgen_test]
fn the_last_position_is_the_end_of_all_runs() {
    let scene = moe10();
    let frame = Frame::at(&scene, usize::MAX, 9);
    assert_eq!((frame.position, frame.step), (frame.positions, frame.steps));
    for column in &frame.queues {
        assert!(column.done && column.nodes.iter().all(|node| node.state == "done"), "{column:?}");
        assert!(column.running.iter().all(Option::is_none), "{column:?}");
        assert_eq!(column.pending_nodes, 0);
    }
}

/// What the chapter's text claims.
#[wasm_bindgen_test]
fn the_answer_to_now_you_try_is_true() {
    let scene = moe10();
    let scene = scene.0;
    let place = |queue| order(&scene, queue).iter().position(|&node| node == 5).map(|place| place + 1);
    assert_eq!(Queue::ALL.map(place), [Some(6), Some(6), Some(2)]);
    let ends: Vec<_> = scene.clock.replays().iter().map(|r| r.log().events.last().map(|e| e.t)).collect();
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0], ends[2]);
    assert_eq!(scene.runs.iter().map(|run| run.spans.len()).collect::<Vec<_>>(), [1, 1, 1]);
}

#[wasm_bindgen_test]
fn a_split_shows_several_lanes_and_posted_tasks() {
    let scene = wide40();
    let split = scene.0.clock.interesting_after(0);
    let frame = Frame::at(&scene, split, 0);
    let fifo = &frame.queues[0];
    assert!(fifo.happened.iter().any(|what| what.starts_with("split")), "{:?}", fifo.happened);
    assert!(fifo.ready.iter().any(|ready| ready.lane.is_none()), "{:?}", fifo.ready);
    assert!(scene.0.runs[0].spans.len() > 1);
    assert_eq!(order(&scene.0, Queue::Fifo).len(), 42);
}

#[wasm_bindgen_test]
fn forward_and_back_meet_and_playing_ends_by_itself() {
    let scene = moe10().0;
    let start = Place { position: 0, selected: 0, ..Place::opening(&scene) };
    let go = |place: &Place, command| place.after(&Move::Command(command), &scene);
    let once = go(&start, Command::Forward);
    let twice = go(&once, Command::Forward);
    assert_eq!(go(&twice, Command::Back), once);
    assert_eq!(go(&once, Command::Back), start);
    assert_eq!(go(&go(&once, Command::ForwardEvent), Command::BackEvent), once);

    let mut place = go(&start, Command::Toggle);
    let mut ticks = 0;
    while place.playing {
        place = place.after(&Move::Tick, &scene);
        ticks += 1;
        assert!(ticks <= scene.clock.steps().len(), "playing never ends");
    }
    assert_eq!(place, go(&start, Command::Last));
    assert_eq!(go(&place, Command::Toggle), Place { playing: true, ..start });
}

#[wasm_bindgen_test]
fn the_selection_goes_round() {
    let scene = moe10().0;
    let at = |selected| Place { selected, ..Place::opening(&scene) };
    let go = |selected, command| at(selected).after(&Move::Command(command), &scene);
    assert_eq!(go(9, Command::NextThunk), at(0));
    assert_eq!(go(0, Command::LastThunk), at(9));
    assert_eq!(go(0, Command::Look(77)), at(9));
}

#[wasm_bindgen_test]
fn one_queue_alone_shows_the_same_time() {
    let scene = moe10();
    let mut place = Place::opening(&scene.0);
    place.position = scene.0.clock.steps()[7];
    let now = scene.0.clock.time_at(place.position);
    let reading = Reading { scene, place };
    let one = reading.after(&Move::Command(Command::Show(Shown::One(Queue::Lifo))));
    assert_eq!(one.scene.0.runs.iter().map(|run| run.queue).collect::<Vec<_>>(), [Queue::Lifo]);
    let then = one.scene.0.clock.time_at(one.place.position);
    let next = one.scene.0.clock.time_at(one.scene.0.clock.step_after(one.place.position));
    assert!(then <= now && now < next, "{then} {now} {next}");

    let model = Fixed(Rc::clone(&one.scene.0.model));
    let far = Arrival::At { position: Some(usize::MAX), selected: Some(u32::MAX) };
    let end = one.after(&Move::Enter(model, Shown::All, far));
    assert_eq!((end.place.position, end.place.selected), (end.scene.0.clock.len(), 9));
}

#[wasm_bindgen_test]
fn the_log_lists_every_event_in_its_place() {
    let scene = moe10().0;
    assert_eq!(scene.order.len(), scene.clock.len());
    for place in 0..scene.clock.len() {
        let (log, index) = scene.order[place];
        assert_eq!(scene.clock.indices_at(place)[log], index);
        let event = &scene.clock.replays()[log].log().events[index];
        assert_eq!(scene.clock.time_at(place + 1), event.t);
        assert!(!words::event_line(&event.kind).is_empty(), "{event:?}");
    }
}

#[wasm_bindgen_test]
fn the_palette_finds_by_words() {
    let all = || Search::new(entries(&moe10().0.model));
    let typed = |query: &str| {
        let mut search = all();
        search.after(Find::Type(query.to_owned()));
        search
    };
    let found = |query| typed(query).after(Find::Take);
    assert_eq!(found("play or"), Some(Command::Toggle));
    assert_eq!(found("LAB"), Some(Command::Go(Mode::Lab)));
    assert_eq!(found("expert 3"), Some(Command::Look(3)));
    assert_eq!(found("no such thing"), None);
    assert_eq!(typed("no such thing").found().len(), 0);
    assert_eq!(all().found().len(), entries(&moe10().0.model).len().min(MOST));
}

#[wasm_bindgen_test]
fn the_chosen_line_goes_round() {
    let mut search = Search::new(entries(&moe10().0.model));
    search.after(Find::Type("show".to_owned()));
    let last = search.found().len() - 1;
    let mut after = |find| {
        assert_eq!(search.after(find), None);
        search.place
    };
    assert_eq!([after(Find::Down), after(Find::Up), after(Find::Up)], [1, 0, last]);
    assert_eq!(after(Find::Down), 0);
    assert_eq!(search.after(Find::Pick(1)), Some(Command::Show(Shown::One(Queue::Fifo))));
    assert_eq!(search.after(Find::Pick(99)), None);
}

#[wasm_bindgen_test]
fn a_share_is_exact_and_never_overflows() {
    assert_eq!([share(0, 7, 100), share(1, 3, 10_000), share(7, 7, 10_000)], [0, 3_333, 10_000]);
    assert_eq!(share(u64::MAX, u64::MAX, 10_000), 10_000);
    assert_eq!(share(u64::MAX / 2, u64::MAX, 10_000), 4_999);
    assert_eq!(share(5, 0, 10), 0);
}

#[wasm_bindgen_test]
fn every_named_key_does_what_the_list_says() {
    for (command, _, keys) in words::COMMANDS {
        let Some((key, with)) = keys.split_last() else { continue };
        let key = match *key {
            "Space" => " ",
            "→" => "ArrowRight",
            "←" => "ArrowLeft",
            "−" => "-",
            key => key,
        };
        assert_eq!(Command::of_key(key, with == ["Shift"]), Some(command), "{keys:?}");
    }
}

#[wasm_bindgen_test]
fn zooming_keeps_the_point_and_ends_at_the_whole() {
    let whole = Zoom { x: -6, y: -6, width: 800, height: 400 };
    let near = whole.around(100, 100, 4, whole).expect("nearer");
    assert_eq!((near.width, near.height), (400, 200));
    assert_eq!((100 - near.x) * 2, 100 - whole.x);
    assert_eq!(near.by(16, whole), None);
    let moved = near.moved(5_000, 0).holding(10, 10, 50, 50);
    assert_eq!((moved.x, moved.width), (10, 400));
}

#[wasm_bindgen_test]
fn a_view_is_named_and_found_again() {
    assert_eq!(address::arrangement(""), (Mode::Read, Shown::All));
    assert_eq!(address::arrangement("lab"), (Mode::Lab, Shown::All));
    assert_eq!(address::arrangement("lab.lifo"), (Mode::Lab, Shown::One(Queue::Lifo)));
    assert_eq!(address::arrangement("nonsense.x"), (Mode::Read, Shown::All));
}

#[wasm_bindgen_test]
fn javascript_gets_the_frame_as_a_plain_object() {
    let scene = moe10();
    expose::publish(&Rc::new(Frame::at(&scene, scene.0.model.exhibit.opening as usize, 8)));
    let state = expose::state();
    let get = |object: &wasm_bindgen::JsValue, key: &str| {
        js_sys::Reflect::get(object, &key.into()).expect("an object")
    };
    assert_eq!(get(&state, "program").as_string().as_deref(), Some("moe10"));
    assert_eq!(get(&state, "time").as_string().as_deref(), Some("0"));
    let queues = js_sys::Array::from(&get(&state, "queues"));
    assert_eq!(queues.length(), 3);
    let nodes = js_sys::Array::from(&get(&queues.get(1), "nodes"));
    assert_eq!(get(&nodes.get(4), "state").as_string().as_deref(), Some("running"));
}

#[wasm_bindgen_test]
fn a_failure_is_told_in_the_page() {
    let document = web_sys::window().and_then(|window| window.document()).expect("a page");
    let panel = document.create_element("div").expect("a panel");
    panel.set_id("panic");
    panel.set_attribute("hidden", "").expect("hidden at first");
    panel.set_inner_html("<pre id='panic-detail'></pre>");
    document.body().expect("a body").append_child(&panel).expect("in the page");
    panic::show("the clock ran backwards");
    assert!(!panel.has_attribute("hidden"));
    assert_eq!(panel.text_content().as_deref(), Some("the clock ran backwards"));
    panel.remove();
}

#[wasm_bindgen_test]
fn times_read_well() {
    let shown = [0, 7, 999, 1_000, 10_448, 1_000_000, 2_500_000_000].map(words::time);
    assert_eq!(shown, ["0 µs", "7 ns", "999 ns", "1 µs", "10.4 µs", "1 ms", "2.5 s"]);
}
