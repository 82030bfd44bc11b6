//! The live stage: the one component, what it remembers, and what each message does to it.

use std::rc::Rc;

use thunkscope_core::exhibit::Chapter;
use thunkscope_core::exhibit::link::{Link, Source};
use thunkscope_core::panel::AT;
use thunkscope_core::sim::{self, Fault};
use wasm_bindgen_futures::spawn_local;
use web_sys::Element;
use yew::prelude::*;

use crate::address::{self, Asked};
use crate::command::{Command, Dialog, Mode, entries};
use crate::desk::{Desk, Note, Turn};
use crate::effects::Effects;
use crate::engine::Trouble;
use crate::frame::Frame;
use crate::gesture;
use crate::instrument::{Bench, Does, Instrument};
use crate::jobs::{Jobs, Wanted, differs};
use crate::lab::{Program, Setting, Work};
use crate::listen::Listener;
use crate::message::Msg;
use crate::model::{Fixed, Scene};
use crate::search::Search;
use crate::state::{Arrival, Move, Place, Reading};
use crate::timer::Timer;
use crate::view::{self, Memos, Say, Shows};
use crate::{expose, files, keys, page, words};

/// The chapter that is mounted: the page has one.
pub(crate) const CHAPTER: &Chapter = &Chapter::ALL[0];

/// How long the address may lag behind, and how long a short message stays, in ms.
const SETTLED: i32 = 400;
const TOAST: i32 = 2_500;

/// How long a pause in typing is, and between two instants of an instrument that plays, in ms.
const TYPED: i32 = 350;
const BENCH_PACE: i32 = 240;

/// How long an answer may take before the page says that it waits, in ms.
const SLOW: i32 = 400;

/// All that the stage remembers.
pub(crate) struct Live {
    pub(crate) say: Say,
    /// The page's own exhibit.
    home: Fixed<Scene>,
    pub(crate) reading: Reading,
    pub(crate) desk: Desk,
    /// The Lab's instrument, where it is not the executor.
    pub(crate) bench: Option<Bench>,
    /// What was set on the instruments that were put away.
    set: Vec<(Instrument, Vec<(String, String)>)>,
    /// What is to be seen where the reader is.
    pub(crate) frame: Rc<Frame>,
    pub(crate) search: Search,
    pub(crate) toast: Option<&'static str>,
    pub(crate) log: Shows,
    /// Whether all of the stage is drawn: in two short tasks instead of a long one.
    pub(crate) whole: bool,
    pub(crate) memos: Memos,
    jobs: Jobs,
    effects: Effects,
    /// Where a press on a picture began.
    press: Option<(i32, i32)>,
    play: Option<Timer>,
    settle: Option<Timer>,
    unsay: Option<Timer>,
    /// Until what was typed is asked.
    typed: Option<Timer>,
    /// Until an instrument that plays takes a step, and until it says that it is at work.
    turn: Option<Timer>,
    slow: Option<Timer>,
    /// Until all of the stage is drawn.
    rest: Option<Timer>,
    _listeners: Vec<Option<Listener>>,
}

#[derive(Properties, PartialEq)]
pub(crate) struct Props {
    scene: Fixed<Scene>,
    /// Where the stage goes once all of it is drawn.
    place: Element,
    /// What it is drawn in.
    frame: Element,
}

/// Draws the stage, out of sight; then it takes the place of what stands in `place`.
pub(crate) fn mount(place: &Element, scene: &Fixed<Scene>) {
    let Some(frame) = page::document().and_then(|document| document.create_element("div").ok()) else {
        return;
    };
    // Its children count as the place's own.
    frame.set_class_name("frame");
    let props = Props { scene: scene.clone(), place: place.clone(), frame: frame.clone() };
    yew::Renderer::<Live>::with_root_and_props(frame, props).render();
}

impl Component for Live {
    type Message = Msg;
    type Properties = Props;

    /// Listens before anything of the stage is there to be seen: whoever sees it can use its keys.
    fn create(context: &Context<Self>) -> Self {
        let say = context.link().callback(|msg: Msg| msg);
        let home = context.props().scene.clone();
        let reading = Reading { place: Place::opening(&home.0), scene: home.clone() };
        let mut live = Self {
            frame: Rc::new(Frame::at(&home, reading.place.position, reading.place.selected)),
            desk: Desk::new(Program::of_chapter(CHAPTER)),
            bench: None,
            set: Vec::new(),
            search: Search::default(),
            toast: None,
            log: Shows::default(),
            whole: false,
            memos: Memos::default(),
            jobs: Jobs::new(say.clone()),
            effects: Effects::default(),
            press: None,
            play: None,
            settle: None,
            unsay: None,
            typed: None,
            turn: None,
            slow: None,
            rest: None,
            _listeners: listeners(&say),
            reading,
            home,
            say,
        };
        expose::publish(&live.frame);
        live.go(true);
        live.follow_up();
        live
    }

    fn update(&mut self, _: &Context<Self>, msg: Msg) -> bool {
        match msg {
            Msg::Settled => {
                self.update_address();
                return false;
            }
            Msg::Log(shows) => {
                if shows.open && !self.log.open {
                    self.effects.unfolded();
                }
                let changed = self.log != shows;
                self.log = shows;
                return changed;
            }
            Msg::Rest => self.whole = true,
            Msg::Command(command) => self.obey(command),
            Msg::Move(change) => self.change(&change),
            Msg::Turn(turn) => self.desk.take(turn),
            Msg::Address => self.go(false),
            Msg::Said(said) => {
                self.toast = said;
                self.unsay = said.and_then(|_| self.after(TOAST, Msg::Said(None)));
            }
            Msg::Repaint => self.effects.repaint(),
            Msg::Find(find) => {
                if let Some(command) = self.search.after(find) {
                    self.change(&Move::Command(Command::Close));
                    self.obey(command);
                }
            }
            Msg::Gesture(gesture) => {
                let did = gesture::after(gesture, &mut self.press, &self.reading);
                let Some(change) = did else { return false };
                self.change(&change);
            }
            // A log, by its name.
            Msg::Open(file) if file.name().ends_with(".jsonl") => {
                self.take_up(Some(Instrument::Log));
                self.jobs.read("log".to_owned(), file);
            }
            Msg::Open(file) => {
                self.put_away();
                self.change(&Move::Command(Command::Go(Mode::Lab)));
                self.jobs.open(file);
            }
            Msg::Choose(index) => {
                let program = self.desk.programs.get(index).cloned();
                program.into_iter().for_each(|program| self.run(program, Setting::default()));
            }
            Msg::Sequence(index) => self.show_sequence(index),
            Msg::Leniently => {
                let failed = self.desk.trouble.as_ref().map(|failed| failed.program.0.leniently());
                failed.into_iter().for_each(|program| self.run(Fixed::new(program), Setting::default()));
            }
            Msg::Set(set, value) => self.run_with(|options| set(options, value)),
            Msg::Fault(kind) => {
                let (path, node) = (self.desk.setting.path.clone(), self.reading.place.selected);
                self.run_with(|options| {
                    options.faults.retain(|fault| (&fault.path, fault.node) != (&path, node));
                    options.faults.extend(kind.map(|kind| Fault { path, node, kind }));
                });
            }
            Msg::Mend(index) => self.run_with(|options| {
                if index < options.faults.len() {
                    options.faults.remove(index);
                }
            }),
            Msg::Cancel => match &mut self.bench {
                Some(bench) => {
                    self.jobs.leave();
                    bench.failed(Trouble::Cancelled);
                }
                None => self.jobs.cancel(),
            },
            Msg::Instrument(which) => self.take_up(which),
            Msg::Bench(does) => self.bench(does),
        }
        self.follow_up();
        true
    }

    fn view(&self, _: &Context<Self>) -> Html {
        view::stage(self)
    }

    fn rendered(&mut self, context: &Context<Self>, first: bool) {
        if first {
            self.rest = self.after(0, Msg::Rest);
        }
        if !self.whole {
            return;
        }
        if self.rest.take().is_some() {
            let Props { place, frame, .. } = context.props();
            place.replace_children_with_node_1(frame);
        }
        self.effects.after(&self.reading, &self.frame, &self.search, self.log);
    }
}

/// Everything that is heard from outside the stage's own elements.
fn listeners(say: &Say) -> Vec<Option<Listener>> {
    let on_click = |id, command: Command| {
        let say = say.clone();
        page::on_click(id, move || say.emit(Msg::Command(command)))
    };
    let on = |name, msg: Msg| {
        let say = say.clone();
        Listener::new(name, move |_| say.emit(msg.clone()))
    };
    let mut all = vec![
        keys::listen(say.clone()),
        on_click("find", Command::Open(Dialog::Palette)),
        // The address may say so already, and then a click on a link changes nothing.
        on_click("to-read", Command::Go(Mode::Read)),
        on_click("to-lab", Command::Go(Mode::Lab)),
        on("hashchange", Msg::Address),
        on("themechange", Msg::Repaint),
        on("resize", Msg::Repaint),
    ];
    all.extend(files::accept(say));
    all
}

impl Live {
    fn after(&self, ms: i32, msg: Msg) -> Option<Timer> {
        let say = self.say.clone();
        Timer::new(ms, move || say.emit(msg.clone()))
    }

    fn change(&mut self, change: &Move) {
        let ticks = |place: &Place| (place.playing, place.position, place.pace());
        let before = ticks(&self.reading.place);
        self.reading = self.reading.after(change);
        let place = &self.reading.place;
        if ticks(place) != before {
            self.play = place.playing.then(|| self.after(place.pace(), Msg::Move(Move::Tick))).flatten();
        }
    }

    /// What follows from any change.
    fn follow_up(&mut self) {
        let Place { position, selected, playing, .. } = self.reading.place;
        let scene = &self.reading.scene;
        if !self.frame.is_at(scene, position, selected) {
            self.frame = Rc::new(Frame::at(scene, position, selected));
            expose::publish(&self.frame);
        }
        // The address follows once the reader stands still, so that it can be copied at any time.
        let still = !playing && self.desk.work.is_none();
        self.settle = still.then(|| self.after(SETTLED, Msg::Settled)).flatten();
    }

    /// Another instrument, in the Lab.
    fn take_up(&mut self, which: Option<Instrument>) {
        self.change(&Move::Command(Command::Go(Mode::Lab)));
        if self.reading.place.playing {
            self.change(&Move::Command(Command::Toggle));
        }
        self.put_away();
        self.bench = which.map(|which| {
            let kept = self.set.iter().position(|(kept, _)| *kept == which);
            Bench::new(which, kept.map(|place| self.set.remove(place).1).unwrap_or_default())
        });
        self.ask();
    }

    /// The instrument goes; what was set on it stays for the next time.
    fn put_away(&mut self) {
        self.jobs.leave();
        (self.turn, self.typed, self.slow) = (None, None, None);
        self.set.extend(self.bench.take().map(|bench| (bench.which, bench.set)));
    }

    fn ask(&mut self) {
        let Some(bench) = &mut self.bench else { return };
        bench.waiting = true;
        self.jobs.ask(bench.which, bench.set.clone());
        self.slow = self.after(SLOW, Msg::Bench(Does::Slow));
    }

    fn bench(&mut self, does: Does) {
        let Some(bench) = &mut self.bench else { return };
        match does {
            Does::Set(id, value) => {
                bench.set(&id, value);
                self.ask();
            }
            Does::Type(id, value) => {
                bench.set(&id, value);
                self.typed = self.after(TYPED, Msg::Bench(Does::Ask));
            }
            Does::Read(id, file) => self.jobs.read(id, file),
            Does::Ask => self.ask(),
            Does::Slow => bench.working(Work { what: words::ASKING.to_owned(), done: 0, total: 0 }),
            Does::Working(work) => bench.working(work),
            Does::Failed(trouble) => bench.failed(trouble),
            Does::Answered(shown) => {
                bench.answered(shown);
                let playing = bench.playing;
                self.turn = playing.then(|| self.after(BENCH_PACE, Msg::Bench(Does::Tick))).flatten();
            }
            Does::Tick => {
                self.turn_clock(Command::Forward, true);
            }
        }
    }

    /// Does what a command of the transport means for an instrument; whether it means anything.
    fn turn_clock(&mut self, command: Command, playing: bool) -> bool {
        let Some(bench) = &mut self.bench else { return false };
        let Some(clock) = bench.clock() else { return false };
        let to = match command {
            // Playing from the end starts over.
            Command::Toggle if !bench.playing && clock.now >= clock.end => Some(0),
            Command::Toggle if !bench.playing => bench.instant(Command::Forward),
            Command::Toggle => {
                bench.playing = false;
                self.turn = None;
                return true;
            }
            command => bench.instant(command),
        };
        let Some(to) = to else { return false };
        bench.set(AT, to.to_string());
        bench.playing = playing || command == Command::Toggle;
        self.ask();
        true
    }

    fn obey(&mut self, command: Command) {
        if self.reading.place.mode == Mode::Lab && self.turn_clock(command, false) {
            return;
        }
        match command {
            Command::Instrument(which) => self.take_up(which),
            // What belongs to the executor stands still while another instrument is looked at.
            command if self.on_bench() && !command.serves_instruments() => {}
            Command::Theme => page::toggle_theme(),
            Command::OpenFile => files::choose(),
            Command::SaveProgram => self.jobs.save(self.desk.chosen.clone()),
            Command::CopyLink => self.copy_link(),
            Command::Show(shown) if !self.reading.scene.0.model.has(shown) => self.jobs.run(Wanted {
                program: self.desk.chosen.clone(),
                setting: self.desk.setting.clone(),
                shown: Some(shown),
                arrival: Arrival::Same,
                link: None,
            }),
            Command::Open(dialog) => {
                if dialog == Dialog::Palette {
                    self.search = Search::new(entries(&self.reading.scene.0.model));
                }
                self.change(&Move::Command(command));
            }
            command if command.serves(self.reading.place.mode) => self.change(&Move::Command(command)),
            _ => {}
        }
    }

    /// Whether another instrument than the executor is looked at.
    fn on_bench(&self) -> bool {
        self.bench.is_some() && self.reading.place.mode == Mode::Lab
    }

    fn copy_link(&self) {
        if self.on_bench() {
            // The address of an instrument says which it is.
            self.update_address();
            return self.copy_address();
        }
        match address::link(&self.desk, &self.reading.scene.0, &self.reading.place) {
            Some(link) => {
                page::set_fragment(&link.encode());
                self.copy_address();
            }
            // What the page does not hold cannot be linked to; it can be handed on as a file.
            None => self.jobs.save(self.desk.chosen.clone()),
        }
    }

    fn copy_address(&self) {
        let say = self.say.clone();
        spawn_local(async move {
            let copied = page::copy(&page::address()).await;
            say.emit(Msg::Said(Some(if copied { words::LINK_COPIED } else { words::LINK_SHOWN })));
        });
    }

    fn update_address(&self) {
        let open = self.bench.as_ref().map(|bench| bench.which);
        address::write(&self.desk, &self.reading.scene.0, &self.reading.place, open);
    }

    fn run(&self, program: Fixed<Program>, setting: Setting) {
        let same = program == self.desk.chosen && setting.path == self.desk.setting.path;
        let (shown, arrival) = match same {
            true => (Some(self.reading.scene.0.shown), Arrival::Same),
            false => (None, Arrival::Opening),
        };
        self.jobs.run(Wanted { program, setting, shown, arrival, link: None });
    }

    fn run_with(&self, change: impl FnOnce(&mut sim::Options)) {
        let mut setting = self.desk.setting.clone();
        change(&mut setting.options);
        self.run(self.desk.chosen.clone(), setting);
    }

    fn show_sequence(&self, index: usize) {
        let line = self.reading.scene.0.model.exhibit.sequences.get(index);
        if let Some(path) = line.and_then(|line| line.path.parse().ok()) {
            self.run(self.desk.chosen.clone(), Setting { path, ..self.desk.setting.clone() });
        }
    }

    /// Goes where the address leads.
    fn go(&mut self, first: bool) {
        match address::read() {
            // The page opens there by itself.
            Asked::Mode(Mode::Read) if first => {}
            Asked::Mode(mode) => self.change(&Move::Command(Command::Go(mode))),
            Asked::Instrument(which) => self.take_up(Some(which)),
            Asked::Link(Ok(link)) => self.follow(*link),
            Asked::Link(Err(diagnostic)) => self.desk.take(Turn::Note(Some(Note::Told(diagnostic)))),
        }
    }

    fn follow(&mut self, link: Link) {
        let (mode, shown) = address::arrangement(&link.view);
        self.change(&Move::Command(Command::Go(mode)));
        let arrival = Arrival::At {
            position: link.position.map(|position| usize::try_from(position).unwrap_or(usize::MAX)),
            selected: link.selected,
        };
        let strange = match &link.program {
            Source::File { name, .. } => Some(words::needs_file(name)),
            Source::Chapter(id) => (id != CHAPTER.id).then(|| words::no_chapter(id)),
        };
        if let Some(strange) = strange {
            return self.desk.take(Turn::Note(Some(Note::Words(strange))));
        }
        let program = self.desk.programs[0].clone();
        let setting = Setting { path: link.path.clone(), options: link.options.clone() };
        if setting == Setting::default() {
            // The page's own exhibit will do.
            let model = Fixed(Rc::clone(&self.home.0.model));
            self.desk.take(Turn::Made(program, setting));
            self.desk.take(Turn::Note(differs(&link, &model, shown, &arrival)));
            self.change(&Move::Enter(model, shown, arrival));
        } else {
            self.jobs.run(Wanted { program, setting, shown: Some(shown), arrival, link: Some(link) });
        }
    }
}
