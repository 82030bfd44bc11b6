//! Who is told when dump goes on or off, and what takes effect when (ge-dump spec §8).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::properties::Properties;

/// Kinds of dump that are on. Masks, not one kind at a time (P-26, T27).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// Tensors.
    pub const DATA: Self = Self(1);
    /// Exceptions, L1.
    pub const EXCEPTION: Self = Self(2);
    /// Overflow.
    pub const OVERFLOW: Self = Self(4);
    /// The host executor's tensors.
    pub const HOST: Self = Self(8);
    /// Exceptions, L0: no subscriber.
    pub const LITE_EXCEPTION: Self = Self(16);

    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without those.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Any of those.
    pub fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Executors have to watch.
    pub fn needs_subscription(self) -> bool {
        self.0 & 0b1111 != 0
    }

    /// What is on in these properties.
    pub fn of(properties: &Properties) -> Self {
        use super::value::ExceptionLevel;
        let mut flags = Self::default();
        if properties.data {
            flags = flags.with(Self::DATA);
        }
        if properties.overflow.is_some() {
            flags = flags.with(Self::OVERFLOW);
        }
        match properties.exception {
            Some(ExceptionLevel::Norm) => flags.with(Self::EXCEPTION),
            Some(ExceptionLevel::Brief) => flags.with(Self::LITE_EXCEPTION),
            None => flags,
        }
    }
}

/// What an executor is handed at the start of an iteration; it holds on to it until the next one.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Grows with every change.
    pub generation: u64,
    /// What to dump.
    pub properties: Arc<Properties>,
}

impl Switch {
    /// Nothing is dumped.
    pub fn off() -> Self {
        Self { generation: 0, properties: Arc::new(Properties::default()) }
    }
}

/// Is told the flags, at once and at every change. It cannot call back into the registry: it does
/// not have it (T15).
pub type Handler = Box<dyn FnMut(Flags) + Send>;

/// The registry of those who want to know.
#[derive(Default)]
pub struct GlobalDumper {
    flags: Flags,
    handlers: BTreeMap<String, Handler>,
}

impl fmt::Debug for GlobalDumper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GlobalDumper")
            .field("flags", &self.flags)
            .field("handlers", &self.handlers.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl GlobalDumper {
    /// Registers and calls at once with the flags in force. False if the key is taken: then nothing
    /// changes.
    pub fn register(&mut self, key: &str, mut handler: Handler) -> bool {
        if self.handlers.contains_key(key) {
            return false;
        }
        handler(self.flags);
        self.handlers.insert(key.to_owned(), handler);
        true
    }

    /// Removes a handler.
    pub fn unregister(&mut self, key: &str) -> bool {
        self.handlers.remove(key).is_some()
    }

    /// The flags in force.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Stores the flags and tells everybody.
    pub fn set_flags(&mut self, flags: Flags) {
        self.flags = flags;
        self.handlers.values_mut().for_each(|handler| handler(flags));
    }
}

/// What an executor does at the start of an iteration about the switch (ge-dump spec §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Latch {
    /// Nothing changed, or what changed does not matter.
    Keep,
    /// Off to on: set up once, load.
    On,
    /// On with another content: select anew, unload and load again.
    Changed,
    /// On to off: unload, drain.
    Off,
}

impl Latch {
    /// The transition between what was latched and what is wanted now.
    pub fn between(old: &Properties, new: &Properties) -> Self {
        match (old.is_on(), new.is_on()) {
            (false, false) => Self::Keep,
            (false, true) => Self::On,
            (true, false) => Self::Off,
            (true, true) if old == new => Self::Keep,
            (true, true) => Self::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn handlers_are_called_at_once_and_at_every_change() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut dumpers = GlobalDumper::default();
        dumpers.set_flags(Flags::DATA);
        let handler = |name: &'static str| -> Handler {
            let seen = Arc::clone(&seen);
            Box::new(move |flags: Flags| seen.lock().expect("no panic").push((name, flags.0)))
        };
        assert!(dumpers.register("a", handler("a")));
        assert!(!dumpers.register("a", handler("again")));
        dumpers.set_flags(Flags::DATA.with(Flags::EXCEPTION));
        assert!(dumpers.unregister("a"));
        assert!(!dumpers.unregister("a"));
        dumpers.set_flags(Flags::default());
        assert_eq!(*seen.lock().expect("no panic"), [("a", 1), ("a", 3)]);
    }

    #[test]
    fn t27_kinds_do_not_overwrite_each_other() {
        let flags = Flags::DATA.with(Flags::OVERFLOW);
        assert!(flags.any(Flags::DATA) && flags.any(Flags::OVERFLOW) && !flags.any(Flags::EXCEPTION));
        assert_eq!(flags.without(Flags::DATA), Flags::OVERFLOW);
        assert!(flags.needs_subscription());
        assert!(!Flags::LITE_EXCEPTION.needs_subscription());
    }

    #[test]
    fn every_row_of_the_transition_table() {
        let off = Properties::default();
        let on = Properties { data: true, ..off.clone() };
        let other = Properties { path: Some("/o".to_owned()), ..on.clone() };
        assert_eq!(Latch::between(&off, &off), Latch::Keep);
        assert_eq!(Latch::between(&off, &on), Latch::On);
        assert_eq!(Latch::between(&on, &on.clone()), Latch::Keep);
        assert_eq!(Latch::between(&on, &other), Latch::Changed);
        assert_eq!(Latch::between(&on, &off), Latch::Off);
    }
}
