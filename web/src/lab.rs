//! What the Lab runs: programs of the page and of the reader, and how they become a scene.

use std::cell::RefCell;
use std::rc::Rc;

use thunkscope_core::executor::Queue;
use thunkscope_core::exhibit::Chapter;
use thunkscope_core::exhibit::protocol::{Answer, Opened, What};
use thunkscope_core::graph::NodeId;
use thunkscope_core::program::SequencePath;
use thunkscope_core::sim;

use crate::command::Shown;
use crate::engine::{Engine, Trouble};
use crate::fetch;
use crate::model::Model;
use crate::words;

/// A sequence with more thunks than this is run under one queue at a time.
const MOST_FOR_ALL: NodeId = 2_000;

/// Longest log that is made for the page, in events.
const MOST_EVENTS: usize = 400_000;

/// Largest file that is read, in bytes.
pub(crate) const LARGEST_FILE: f64 = 536_870_912.0;

/// A program that can be run.
pub(crate) struct Program {
    /// What the list calls it.
    pub(crate) name: String,
    /// The chapter that shows it; none for a file of the reader's.
    pub(crate) chapter: Option<&'static Chapter>,
    lenient: bool,
    bytes: RefCell<Vec<u8>>,
    /// With the generation of the engine that keeps it.
    opened: RefCell<Option<(u32, Rc<Opened>)>>,
}

/// How a program is run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) path: SequencePath,
    pub(crate) options: sim::Options,
}

impl Default for Setting {
    fn default() -> Self {
        Self { path: SequencePath::entry(), options: sim::Options::default() }
    }
}

/// How far a job is: what it does, units done, units in all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Work {
    pub(crate) what: String,
    pub(crate) done: u64,
    pub(crate) total: u64,
}

impl Program {
    pub(crate) fn of_chapter(chapter: &'static Chapter) -> Self {
        Self {
            name: chapter.id.to_owned(),
            chapter: Some(chapter),
            lenient: false,
            bytes: RefCell::default(),
            opened: RefCell::default(),
        }
    }

    /// A file of the reader's. `lenient`: what cannot be understood of it clashes with everything.
    pub(crate) fn of_file(name: String, bytes: Vec<u8>, lenient: bool) -> Self {
        Self { name, chapter: None, lenient, bytes: RefCell::new(bytes), opened: RefCell::default() }
    }

    /// The same file, read with less care.
    pub(crate) fn leniently(&self) -> Self {
        Self::of_file(self.name.clone(), self.bytes.borrow().clone(), true)
    }

    /// What its reader said about it, once it has been read.
    pub(crate) fn report(&self) -> Option<Rc<Opened>> {
        self.opened.borrow().as_ref().map(|(_, opened)| Rc::clone(opened))
    }

    /// Reads it in the engine, unless it is there already.
    pub(crate) async fn open(&self, engine: &Engine, tell: &Rc<dyn Fn(Work)>) -> Result<Rc<Opened>, Trouble> {
        if let Some((generation, opened)) = &*self.opened.borrow()
            && *generation == engine.generation()
        {
            return Ok(Rc::clone(opened));
        }
        if let Some(chapter) = self.chapter
            && self.bytes.borrow().is_empty()
        {
            let bytes = fetch::bytes(&format!("programs/{}.json", chapter.id)).await;
            self.bytes.replace(bytes.map_err(Trouble::Broken)?);
        }
        let what = What::Open { name: self.name.clone(), lenient: self.lenient };
        let bytes = self.bytes.borrow().clone();
        let (answer, _) = engine.ask(what, Some(bytes), progress(words::reading(&self.name), tell)).await?;
        let Answer::Opened(opened) = answer else { return Err(surprise()) };
        let opened = Rc::new(opened);
        self.opened.replace(Some((engine.generation(), Rc::clone(&opened))));
        Ok(opened)
    }

    /// Runs one of its sequences; `shown` is what the reader wants to see of it.
    pub(crate) async fn run(
        &self,
        setting: &Setting,
        shown: Shown,
        engine: &Engine,
        tell: &Rc<dyn Fn(Work)>,
    ) -> Result<Model, Trouble> {
        let opened = self.open(engine, tell).await?;
        let path = setting.path.to_string();
        let thunks = opened.cards.iter().find(|card| card.path == path).map_or(0, |card| card.thunks);
        let queues = match shown {
            _ if thunks <= MOST_FOR_ALL => Queue::ALL.to_vec(),
            Shown::One(queue) => vec![queue],
            Shown::All => vec![Queue::Fifo],
        };
        let run = |queue| {
            let mut options = setting.options.clone();
            options.executor.queue = queue;
            options.max_events = options.max_events.min(MOST_EVENTS);
            options
        };
        let entry = setting.path.steps().is_empty();
        let labels = self.chapter.filter(|_| entry).map(|chapter| chapter.labels).unwrap_or_default();
        let what = What::Exhibit {
            handle: opened.handle,
            path: setting.path.clone(),
            runs: queues.into_iter().map(run).collect(),
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
        };
        let (answer, bytes) = engine.ask(what, None, progress(words::RUNNING.to_owned(), tell)).await?;
        let Answer::Exhibit = answer else { return Err(surprise()) };
        Model::from_bytes(&bytes).map_err(Trouble::Refused)
    }

    /// Itself in our own format.
    pub(crate) async fn save(&self, engine: &Engine, tell: &Rc<dyn Fn(Work)>) -> Result<Vec<u8>, Trouble> {
        let opened = self.open(engine, tell).await?;
        let what = What::Program { handle: opened.handle };
        let (answer, bytes) = engine.ask(what, None, progress(words::SAVING.to_owned(), tell)).await?;
        let Answer::Program = answer else { return Err(surprise()) };
        Ok(bytes)
    }
}

fn progress(what: String, tell: &Rc<dyn Fn(Work)>) -> Rc<dyn Fn(u64, u64)> {
    let tell = Rc::clone(tell);
    tell(Work { what: what.clone(), done: 0, total: 0 });
    Rc::new(move |done, total| tell(Work { what: what.clone(), done, total }))
}

/// An answer to another question. It would be a mistake of ours.
fn surprise() -> Trouble {
    Trouble::Broken(words::no_engine(""))
}
