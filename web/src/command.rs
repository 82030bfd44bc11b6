//! What the reader can ask of the page: by key, by button, or by name in the palette.

use thunkscope_core::executor::Queue;
use thunkscope_core::graph::NodeId;

use crate::instrument::Instrument;
use crate::model::Model;
use crate::words;

/// How the page is arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The chapter's prose beside the scene.
    #[default]
    Read,
    /// The whole window for the scene.
    Lab,
}

/// Which runs are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All, side by side on one clock.
    #[default]
    All,
    /// The run of one ready queue.
    One(Queue),
}

impl Shown {
    pub(crate) const ALL: [Self; 4] =
        [Self::All, Self::One(Queue::Fifo), Self::One(Queue::Lifo), Self::One(Queue::Priority)];

    /// Whether it includes the run of `queue`.
    pub(crate) fn includes(self, queue: Queue) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == queue,
        }
    }
}

/// A window over the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialog {
    Keys,
    Palette,
}

/// One thing that the reader can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Toggle,
    Forward,
    Back,
    ForwardEvent,
    BackEvent,
    NextOfInterest,
    LastOfInterest,
    First,
    Last,
    Faster,
    Slower,
    NextThunk,
    LastThunk,
    Look(NodeId),
    Show(Shown),
    Go(Mode),
    ZoomIn,
    ZoomOut,
    Fit,
    Open(Dialog),
    Close,
    Theme,
    OpenFile,
    SaveProgram,
    CopyLink,
    /// The Lab with one of its instruments; none: the executor.
    Instrument(Option<Instrument>),
}

impl Command {
    /// The command of a key, if it has one. Keys with Ctrl, Alt or Meta belong to the browser,
    /// but for the palette's.
    pub(crate) fn of_key(key: &str, shift: bool) -> Option<Self> {
        Some(match (key, shift) {
            (" ", false) => Self::Toggle,
            ("ArrowRight", false) => Self::Forward,
            ("ArrowLeft", false) => Self::Back,
            ("ArrowRight", true) => Self::NextOfInterest,
            ("ArrowLeft", true) => Self::LastOfInterest,
            (".", _) => Self::ForwardEvent,
            (",", _) => Self::BackEvent,
            ("Home", _) => Self::First,
            ("End", _) => Self::Last,
            ("]", _) => Self::Faster,
            ("[", _) => Self::Slower,
            ("j" | "J", _) => Self::NextThunk,
            ("k" | "K", _) => Self::LastThunk,
            ("0", _) => Self::Show(Shown::All),
            ("1", _) => Self::Show(Shown::One(Queue::Fifo)),
            ("2", _) => Self::Show(Shown::One(Queue::Lifo)),
            ("3", _) => Self::Show(Shown::One(Queue::Priority)),
            ("r" | "R", _) => Self::Go(Mode::Read),
            ("l" | "L", _) => Self::Go(Mode::Lab),
            ("+" | "=", _) => Self::ZoomIn,
            ("-" | "_", _) => Self::ZoomOut,
            ("f" | "F", _) => Self::Fit,
            ("o" | "O", _) => Self::OpenFile,
            ("c" | "C", _) => Self::CopyLink,
            ("t" | "T", _) => Self::Theme,
            ("/", _) => Self::Open(Dialog::Palette),
            ("?", _) => Self::Open(Dialog::Keys),
            _ => return None,
        })
    }

    /// Whether it does something in `mode`: in the chapter the wheel and the zoom keys belong to the page.
    pub(crate) fn serves(self, mode: Mode) -> bool {
        mode == Mode::Lab || !matches!(self, Self::ZoomIn | Self::ZoomOut | Self::Fit)
    }
}

impl Command {
    /// Whether it means something while another instrument than the executor is looked at; its clock
    /// has been asked before.
    pub(crate) fn serves_instruments(self) -> bool {
        matches!(
            self,
            Self::Go(_)
                | Self::Open(_)
                | Self::Close
                | Self::Theme
                | Self::OpenFile
                | Self::CopyLink
                | Self::Instrument(_)
        )
    }
}

/// What the palette offers: what it is called, and its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: Command,
    pub(crate) title: String,
    pub(crate) keys: &'static [&'static str],
}

/// Everything that can be asked for where this is shown.
pub(crate) fn entries(model: &Model) -> Vec<Entry> {
    let named = words::COMMANDS.iter().map(|&(command, title, keys)| Entry {
        command,
        title: title.to_owned(),
        keys,
    });
    let thunks = (0..model.len()).map(|node| Entry {
        command: Command::Look(node),
        title: words::look_at(node, model.label(node)),
        keys: &[],
    });
    named.chain(thunks).collect()
}
