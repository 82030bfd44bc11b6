//! Views: pure functions from what is to be seen to elements. None of them remembers anything; what
//! the reader does to an element becomes a message.

mod element;
mod facts;
mod graph;
mod inspector;
mod keys;
mod legend;
mod log;
mod notes;
mod options;
mod palette;
mod panel;
mod queues;
mod scrubber;
mod shown;
mod side;
mod svg;
mod table;
mod timeline;
mod transport;
mod verdict;

pub(crate) use element::{El, Say};
pub(crate) use graph::graph_id;
pub(crate) use log::{Shows, scroll_log};
pub(crate) use palette::line_id;

use std::cell::RefCell;

use yew::Html;
use yew::virtual_dom::ListenerKind;

use self::element::{code, el, list};
use crate::command::{Dialog, Mode};
use crate::files;
use crate::frame::Column;
use crate::live::Live;
use crate::message::Msg;
use crate::model::{Fixed, Scene};
use crate::state::{Place, Reading};
use crate::words;

/// The whole stage.
pub(crate) fn stage(live: &Live) -> Html {
    let Live { reading, frame, say, .. } = live;
    let Reading { scene, place } = reading;
    let lab = place.mode == Mode::Lab;
    let file = el("input").attr("type", "file").id(files::INPUT).flag("hidden", true);
    let file = file
        .attr("aria-label", words::OPEN)
        .on(ListenerKind::onchange, say, |event| files::chosen(event).map(Msg::Open));
    let drop = el("p").class("drop").attr("aria-hidden", "true").text(words::DROP);
    // In its place from the beginning, so that what stands there stays the same element.
    let later = |make: &dyn Fn() -> El| if live.whole { Html::from(make()) } else { Html::default() };
    let [side, picture, transport, inspector] = match live.bench.as_ref().filter(|_| lab) {
        Some(bench) => {
            let [fields, middle, aside, clock] = panel::bench(bench, say);
            [fields, middle, clock, aside]
        }
        None => [
            if lab {
                later(&|| side::side(&live.desk, &scene.0, place.selected, say))
            } else {
                Html::default()
            },
            middle(live).into(),
            later(&|| transport::transport(reading, frame, say)),
            later(&|| inspector(live)),
        ],
    };
    list([
        legend::patterns().into(),
        file.into(),
        drop.into(),
        head(live).into(),
        side,
        picture,
        transport,
        inspector,
        // An instrument has words of its own.
        if live.bench.is_some() && lab { Html::default() } else { later(&|| twin(live)) },
        later(&|| keys::keys(place.dialog == Some(Dialog::Keys), say)),
        later(&|| palette::palette(&live.search, place.dialog == Some(Dialog::Palette), say)),
    ])
}

/// The graphs and the lanes.
fn middle(live: &Live) -> El {
    let Live { reading, frame, say, .. } = live;
    let columns = live.memos.columns.get(reading, || {
        let columns = frame.queues.iter().map(|column| column_of(reading, column, say));
        el("div").class(format!("columns of-{}", frame.queues.len())).children(columns)
    });
    let timeline = live.whole.then(|| timeline::timeline(&reading.scene.0, frame.ticks()));
    el("div").class("scene").child(columns).maybe(timeline)
}

/// What there is to say.
fn inspector(live: &Live) -> El {
    let Live { reading, frame, say, .. } = live;
    let Reading { scene, place } = reading;
    let model = &scene.0.model;
    let table = live.memos.table.get(reading, || table::state_table(model, frame));
    el("div")
        .class("inspector")
        .child(inspector::inspector(reading, frame, say))
        .child(verdict::verdict(&model.exhibit))
        .child(log::event_log(reading, live.log, say))
        .child(facts::facts(model, place.selected, place.mode == Mode::Lab, say))
        .child(table)
}

/// The picture in words.
fn twin(live: &Live) -> El {
    // While playing, a screen reader would be talked over; the twin speaks when the clock stands.
    let polite = if live.reading.place.playing { "off" } else { "polite" };
    let twin = el("p").id("twin").class("sr-only").attr("role", "status").attr("aria-live", polite);
    twin.text(live.frame.sentence.clone())
}

fn head(live: &Live) -> El {
    let Reading { scene, place } = &live.reading;
    let exhibit = &scene.0.model.exhibit;
    let lab = place.mode == Mode::Lab;
    let hidden = el("h1").class("sr-only").text(words::LAB);
    let open = live.bench.as_ref().map(|bench| bench.which).filter(|_| lab);
    let title = match open {
        Some(instrument) => el("h2").text(words::instrument(Some(instrument))),
        None => {
            let path = (exhibit.sequences.len() > 1).then(|| code(exhibit.path().to_owned()));
            el("h2")
                .text(live.frame.program.clone())
                .children(path)
                .child(el("span").text(words::program(&scene.0.model)))
        }
    };
    el("header")
        .class("stage-head")
        .maybe(lab.then_some(hidden))
        .maybe(lab.then(|| panel::choice(open, &live.say)))
        .child(title)
        .maybe(open.is_none().then(legend::legend))
        .child(notes::note(live.desk.note.as_ref(), &live.say))
        .child(notes::toast(live.toast))
}

/// The graph of one run, what is ready in it, and what happened.
fn column_of(reading: &Reading, column: &Column, say: &Say) -> El {
    let (title, rule) = words::queue(column.queue);
    el("figure")
        .class("column")
        .id(format!("queue-{}", column.queue))
        .key(column.queue.to_owned())
        .child(el("h3").text(title).child(el("em").text(rule)))
        .child(graph::graph(reading, column, say))
        .child(queues::ready_queues(column, reading.place.selected, say))
        .child(queues::caption(column))
}

/// What is worth keeping while the reader stays where he is: the parts with the most elements.
#[derive(Default)]
pub(crate) struct Memos {
    columns: Memo,
    table: Memo,
}

/// Elements that are made again only for another place of the reader.
#[derive(Default)]
struct Memo(RefCell<Option<(Fixed<Scene>, Place, Html)>>);

impl Memo {
    fn get(&self, reading: &Reading, make: impl FnOnce() -> El) -> Html {
        let place = Place { dialog: None, playing: false, speed: 0, ..reading.place.clone() };
        let mut kept = self.0.borrow_mut();
        match &*kept {
            Some((scene, at, html)) if *scene == reading.scene && *at == place => html.clone(),
            _ => {
                let html: Html = make().into();
                *kept = Some((reading.scene.clone(), place, html.clone()));
                html
            }
        }
    }
}
