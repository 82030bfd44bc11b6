//! How the program is run.

use thunkscope_core::sim::{self, Fault, FaultKind, ModeChoice, PendingThunks, Schedule};
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;
use yew::virtual_dom::ListenerKind;

use super::element::{El, Say, button, el, select};
use crate::lab::Setting;
use crate::message::Msg;
use crate::model::Model;
use crate::{page, words};

/// A number among the options.
struct Number {
    id: &'static str,
    words: (&'static str, &'static str),
    range: (u64, u64),
    get: fn(&sim::Options) -> u64,
    set: fn(&mut sim::Options, u64),
}

/// A number that is in range fits its field.
macro_rules! number {
    ($id:literal, $words:ident, $min:literal..=$max:literal, $($field:ident).+) => {
        Number {
            id: $id,
            words: words::$words,
            range: ($min, $max),
            get: |options| u64::from(options.$($field).+),
            set: |options, value| options.$($field).+ = value.try_into().unwrap_or_default(),
        }
    };
}

const NUMBERS: [Number; 6] = [
    number!("workers", WORKERS, 0..=64, executor.max_workers),
    number!("split", SPLIT, 0..=1_000, executor.split_threshold),
    number!("pool", POOL, 1..=64, pool_threads),
    number!("post", POST, 0..=1_000_000_000, post_latency),
    number!("jitter", JITTER, 0..=100, costs.jitter_percent),
    number!("seed", SEED, 0..=9_007_199_254_740_991, seed),
];

/// One of several.
struct Choice {
    id: &'static str,
    words: (&'static str, &'static str),
    choices: &'static [&'static str],
    get: fn(&sim::Options) -> Option<usize>,
    set: fn(&mut sim::Options, u64),
}

const MODES: [ModeChoice; 3] = [ModeChoice::Decided, ModeChoice::Concurrent, ModeChoice::Sequential];
const PENDING: [PendingThunks; 4] =
    [PendingThunks::AsDeclared, PendingThunks::Never, PendingThunks::OneIn(4), PendingThunks::All];
const SCHEDULES: [Schedule; 2] = [Schedule::ByTime, Schedule::Adversarial];

macro_rules! choice {
    ($id:literal, $words:ident, $choices:ident, $values:ident, $field:ident) => {
        Choice {
            id: $id,
            words: words::$words,
            choices: &words::$choices,
            get: |options| $values.iter().position(|value| *value == options.$field),
            set: |options, value| options.$field = $values[value as usize % $values.len()],
        }
    };
}

const CHOICES: [Choice; 3] = [
    choice!("mode", MODE, MODES, MODES, mode),
    choice!("pending", PENDING, PENDINGS, PENDING, pending),
    choice!("schedule", SCHEDULE, SCHEDULES, SCHEDULES, schedule),
];

pub(crate) fn options(setting: &Setting, model: &Model, selected: u32, say: &Say) -> El {
    let options = &setting.options;
    let grid = || el("div").class("options");
    let numbers = NUMBERS.iter().fold(grid(), |grid, number| {
        grid.child(label(number.id, number.words)).child(input(number, (number.get)(options), say))
    });
    let all = CHOICES.iter().fold(numbers, |grid, choice| {
        let (chosen, set) = ((choice.get)(options).unwrap_or(0), choice.set);
        let list = select(choice.id, chosen, choice.choices.iter().map(|&choice| choice.into()));
        let list = list.on(ListenerKind::onchange, say, move |event| {
            Some(Msg::Set(set, super::element::value_of(event.target()).parse().ok()?))
        });
        grid.child(label(choice.id, choice.words)).child(list)
    });
    let reset: Msg = Msg::Set(|options, _| *options = sim::Options::default(), 0);
    let changed = *options != sim::Options::default();
    el("details")
        .class("how")
        .flag("open", page::is_wide())
        .child(el("summary").text(words::OPTIONS))
        .child(all)
        .child(faults(setting, model, selected, grid(), say))
        .maybe(changed.then(|| button("reset", words::RESET, say, reset)))
}

fn label(id: &'static str, (name, meaning): (&'static str, &'static str)) -> El {
    el("label").attr("for", id).attr("title", meaning).text(name)
}

fn input(number: &Number, value: u64, say: &Say) -> El {
    let ((min, max), set) = (number.range, number.set);
    el("input")
        .attr("type", "number")
        .id(number.id)
        .attr("min", min.to_string())
        .attr("max", max.to_string())
        .attr("step", "1")
        // Not `.value`: the page would take back what is being typed whenever it draws anything.
        .attr("data-value", value.to_string())
        .on(ListenerKind::onchange, say, move |event| {
            let input: HtmlInputElement = event.target()?.dyn_into().ok()?;
            match input.value().parse() {
                Ok(typed) if (min..=max).contains(&typed) => Some(Msg::Set(set, typed)),
                // What is no number in range goes back to what was there.
                _ => {
                    input.set_value(&value.to_string());
                    None
                }
            }
        })
}

/// Faults: the selected thunk's, and a list of all.
fn faults(setting: &Setting, model: &Model, selected: u32, grid: El, say: &Say) -> El {
    let all = &setting.options.faults;
    let of_selected = all.iter().find(|fault| fault.path == setting.path && fault.node == selected);
    let chosen = match of_selected.map(|fault| fault.kind) {
        None => 0,
        Some(FaultKind::Fails) => 1,
        Some(FaultKind::NeverCompletes) => 2,
    };
    let list = select("fault", chosen, words::FAULTS.map(Into::into));
    let list = list.on_value(ListenerKind::onchange, say, |value| {
        Some(Msg::Fault(match value {
            "1" => Some(FaultKind::Fails),
            "2" => Some(FaultKind::NeverCompletes),
            _ => None,
        }))
    });
    let line = |(index, fault): (usize, &Fault)| {
        let mend = el("button").attr("type", "button").class("to").attr("aria-label", words::no_fault(fault));
        let mend = mend.text("×").on_click(say, Msg::Mend(index));
        el("li").child(el("span").text(words::fault(fault))).child(mend)
    };
    let of = words::fault_of(selected, model.label(selected));
    el("div")
        .class("faults")
        .child(grid.child(label("fault", (words::FAULT, words::FAULT_HINT))).child(list))
        .child(el("p").class("quiet small").text(of))
        .child(el("ul").children(all.iter().enumerate().map(line)))
}
