//! What takes a while: reading files and running programs in the engine, one job at a time. A new
//! one ends the one before. Each tells the page what became of it.

use std::cell::Cell;
use std::rc::Rc;

use thunkscope_core::exhibit::link::Link;
use thunkscope_core::exhibit::protocol::What;
use thunkscope_core::panel::shown;
use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use crate::address;
use crate::command::Shown;
use crate::desk::{Note, Turn};
use crate::engine::{Engine, Module, Trouble};
use crate::files;
use crate::instrument::{Does, Instrument};
use crate::lab::{Program, Setting, Work};
use crate::message::Msg;
use crate::model::{Fixed, Model, Scene};
use crate::state::{Arrival, Move};
use crate::view::Say;
use crate::words;

/// Three graphs side by side are too small to read beyond this number of thunks.
const MOST_SIDE_BY_SIDE: u32 = 60;

#[derive(Clone)]
pub(crate) struct Jobs {
    engine: Engine,
    /// For the Lab's instruments.
    instruments: Engine,
    /// Counts jobs.
    last: Rc<Cell<u32>>,
    say: Say,
}

/// What is to be run, and where the reader wants to arrive.
pub(crate) struct Wanted {
    pub(crate) program: Fixed<Program>,
    pub(crate) setting: Setting,
    /// Which of its runs; none: what suits the program.
    pub(crate) shown: Option<Shown>,
    pub(crate) arrival: Arrival,
    /// The link that led there.
    pub(crate) link: Option<Link>,
}

impl Jobs {
    pub(crate) fn new(say: Say) -> Self {
        let instruments = Engine::new(Module::Instruments);
        Self { engine: Engine::new(Module::Programs), instruments, last: Rc::default(), say }
    }

    /// Ends the job before; the new one's number.
    fn begin(&self) -> u32 {
        self.engine.cancel();
        self.last.set(self.last.get().wrapping_add(1));
        self.last.get()
    }

    /// Says it, if this is still the last job.
    fn tell(&self, job: u32, msg: Msg) {
        if self.last.get() == job {
            self.say.emit(msg);
        }
    }

    fn progress(&self, job: u32) -> Rc<dyn Fn(Work)> {
        let jobs = self.clone();
        Rc::new(move |work| jobs.tell(job, Msg::Turn(Turn::Working(work))))
    }

    pub(crate) fn cancel(&self) {
        let job = self.begin();
        self.tell(job, Msg::Turn(Turn::Idle));
    }

    /// Runs a program and shows it.
    pub(crate) fn run(&self, wanted: Wanted) {
        let (jobs, job) = (self.clone(), self.begin());
        spawn_local(async move { jobs.show(job, wanted).await });
    }

    async fn show(&self, job: u32, wanted: Wanted) {
        let Wanted { program, setting, shown, arrival, link } = wanted;
        let made =
            program.0.run(&setting, shown.unwrap_or_default(), &self.engine, &self.progress(job)).await;
        match made {
            Ok(model) => {
                let alone = model.len() > MOST_SIDE_BY_SIDE;
                let suits = if alone { Shown::One(model.exhibit.runs[0].queue) } else { Shown::All };
                let shown = shown.unwrap_or(suits);
                let model = Fixed::new(model);
                let note = link.and_then(|link| differs(&link, &model, shown, &arrival));
                self.tell(job, Msg::Turn(Turn::Made(program, setting)));
                self.tell(job, Msg::Turn(Turn::Note(note)));
                self.tell(job, Msg::Move(Move::Enter(model, shown, arrival)));
            }
            Err(trouble) => self.tell(job, Msg::Turn(Turn::Failed(program, trouble))),
        }
    }

    /// Reads a file of the reader's and shows it.
    pub(crate) fn open(&self, file: File) {
        let (jobs, job) = (self.clone(), self.begin());
        spawn_local(async move {
            let name = file.name();
            match files::read(&file).await {
                Ok(bytes) => {
                    let wanted = Wanted {
                        program: Fixed::new(Program::of_file(name, bytes, false)),
                        setting: Setting::default(),
                        shown: None,
                        arrival: Arrival::Opening,
                        link: None,
                    };
                    jobs.show(job, wanted).await;
                }
                Err(why) => {
                    let program = Fixed::new(Program::of_file(name, Vec::new(), false));
                    jobs.tell(job, Msg::Turn(Turn::Failed(program, Trouble::Broken(why))));
                }
            }
        });
    }

    /// Asks an instrument; what was asked before is given up.
    pub(crate) fn ask(&self, which: Instrument, fields: Vec<(String, String)>) {
        let (say, engine) = (self.say.clone(), self.instruments.clone());
        spawn_local(async move {
            let what = What::Instrument { id: which.id().to_owned(), fields };
            let tell = say.clone();
            let progress: Rc<dyn Fn(u64, u64)> = Rc::new(move |done, total| {
                let work = Work { what: words::ASKING.to_owned(), done, total };
                tell.emit(Msg::Bench(Does::Working(work)));
            });
            let answer = match engine.ask(what, None, progress).await {
                Ok((_, bytes)) => shown::Shown::from_bytes(&bytes).map_err(Trouble::Refused),
                Err(trouble) => Err(trouble),
            };
            match answer {
                Ok(shown) => say.emit(Msg::Bench(Does::Answered(Rc::new(shown)))),
                // Somebody else is asking, or nobody is.
                Err(Trouble::Cancelled) => {}
                Err(trouble) => say.emit(Msg::Bench(Does::Failed(trouble))),
            }
        });
    }

    /// Sets a field of the instrument to the text of a file.
    pub(crate) fn read(&self, id: String, file: File) {
        let say = self.say.clone();
        spawn_local(async move {
            let text = files::read(&file).await.and_then(|bytes| {
                String::from_utf8(bytes).map_err(|_| words::unreadable(&file.name(), words::NO_TEXT))
            });
            say.emit(Msg::Bench(match text {
                Ok(text) => Does::Set(id, text),
                Err(why) => Does::Failed(Trouble::Broken(why)),
            }));
        });
    }

    /// Nobody waits for the instrument any more.
    pub(crate) fn leave(&self) {
        self.instruments.cancel();
    }

    /// Offers the program as a download.
    pub(crate) fn save(&self, program: Fixed<Program>) {
        let (jobs, job) = (self.clone(), self.begin());
        spawn_local(async move {
            match program.0.save(&jobs.engine, &jobs.progress(job)).await {
                Ok(bytes) => {
                    let stem = program.0.name.strip_suffix(".json").unwrap_or(&program.0.name);
                    files::save(&format!("{stem}.thunkscope.json"), &bytes);
                    jobs.tell(job, Msg::Turn(Turn::Idle));
                }
                Err(trouble) => jobs.tell(job, Msg::Turn(Turn::Failed(program, trouble))),
            }
        });
    }
}

/// A note, if what is to be seen is not what the link was made for.
pub(crate) fn differs(link: &Link, model: &Fixed<Model>, shown: Shown, arrival: &Arrival) -> Option<Note> {
    let Arrival::At { position: Some(position), .. } = arrival else { return None };
    let scene = Scene::new(Rc::clone(&model.0), shown);
    link.check(address::digest(&scene, *position)).map(Note::Told)
}
