//! The state of the page as the fragment of an address: `#v1.p=moe10&at=15&sel=8&d=…`.
//!
//! Only what differs from the defaults is written. Names are readable on purpose: a link can be
//! edited by hand, and a report that quotes one says what was looked at. Fields that are not known
//! are passed over, so that an older page opens the links of a newer one of the same version.

use std::fmt::{Display, Write as _};
use std::str::FromStr;

use crate::diagnostic::Diagnostic;
use crate::digest::{Digest, Hasher};
use crate::executor::Queue;
use crate::graph::NodeId;
use crate::program::SequencePath;
use crate::sim::{Fault, FaultKind, ModeChoice, Options, PendingThunks, Schedule};
use crate::trace::State;

/// What a fragment begins with, after `#`.
pub const VERSION: &str = "v1.";

/// Longest fragment that is read, in bytes.
pub const MAX_LENGTH: usize = 64 << 10;

/// What a link shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The program.
    pub program: Source,
    /// Its sequence.
    pub path: SequencePath,
    /// What all its runs have in common; the class of ready queue is the one that is looked at.
    pub options: Options,
    /// Position on the clock of all runs; none: where the exhibit opens.
    pub position: Option<u64>,
    /// The thunk that the inspector asks about; none: the exhibit's.
    pub selected: Option<NodeId>,
    /// The name of the view; empty for the first one.
    pub view: String,
    /// [`digest`] of what was to be seen when the link was made.
    pub digest: Option<Digest>,
}

/// Where the program of a link comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Part of the page: the id of a [`Chapter`](super::Chapter).
    Chapter(String),
    /// A file of the user's, which is not in the link: whoever opens the link needs the same file.
    File {
        /// The program's name.
        name: String,
        /// The program's digest.
        digest: Digest,
    },
}

impl Link {
    /// A link to a chapter as it opens.
    pub fn chapter(id: &str) -> Self {
        Self {
            program: Source::Chapter(id.to_owned()),
            path: SequencePath::entry(),
            options: Options::default(),
            position: None,
            selected: None,
            view: String::new(),
            digest: None,
        }
    }

    /// The fragment, without `#`: letters, digits and `-._~/:=&%` only.
    pub fn encode(&self) -> String {
        let mut out = Fields(VERSION.to_owned());
        match &self.program {
            Source::Chapter(id) => out.put("p", id),
            Source::File { name, digest } => {
                out.put("file", name);
                out.put("program", digest);
            }
        }
        if !self.path.steps().is_empty() {
            out.put("seq", &self.path);
        }
        self.encode_options(&mut out);
        self.position.iter().for_each(|position| out.put("at", position));
        self.selected.iter().for_each(|selected| out.put("sel", selected));
        if !self.view.is_empty() {
            out.put("view", &self.view);
        }
        self.digest.iter().for_each(|digest| out.put("d", digest));
        out.0
    }

    fn encode_options(&self, out: &mut Fields) {
        let (now, default) = (&self.options, Options::default());
        macro_rules! differs {
            ($($key:literal: $($field:ident).+),* $(,)?) => {$(
                if now.$($field).+ != default.$($field).+ {
                    out.put($key, &now.$($field).+);
                }
            )*};
        }
        differs! {
            "queue": executor.queue, "workers": executor.max_workers, "split": executor.split_threshold,
            "buffer": executor.buffer_threshold, "thunks": executor.thunk_threshold,
            "runner": runner, "pool": pool_threads, "post": post_latency, "base": costs.base,
            "rate": costs.bytes_per_tick, "jitter": costs.jitter_percent, "iterations": iterations,
            "trips": max_trips, "seed": seed, "events": max_events,
        }
        match now.mode {
            ModeChoice::Decided => {}
            ModeChoice::Concurrent => out.put("mode", &"concurrent"),
            ModeChoice::Sequential => out.put("mode", &"sequential"),
        }
        match now.pending {
            PendingThunks::AsDeclared => {}
            PendingThunks::Never => out.put("pending", &"never"),
            PendingThunks::All => out.put("pending", &"all"),
            PendingThunks::OneIn(n) => out.put("pending", &n),
        }
        if now.schedule == Schedule::Adversarial {
            out.put("schedule", &"adversarial");
        }
        for Fault { path, node, kind } in &now.faults {
            let key = match kind {
                FaultKind::Fails => "fails",
                FaultKind::NeverCompletes => "hangs",
            };
            out.put(key, &format_args!("{path}:{node}"));
        }
    }

    /// Reads a fragment, with or without `#`.
    ///
    /// # Errors
    /// `EX006` for a text that is no such fragment, or one of a newer version.
    pub fn decode(fragment: &str) -> Result<Self, Diagnostic> {
        let text = fragment.strip_prefix('#').unwrap_or(fragment);
        let error = |path: &str, expected: &str, found: &str| {
            Diagnostic::error("EX006", path, expected)
                .found(found)
                .hint("the link was cut, edited, or made by a newer version of the page")
        };
        let rest = text.strip_prefix(VERSION).filter(|_| text.len() <= MAX_LENGTH);
        let rest = rest.ok_or_else(|| error("#", "a link that begins with v1.", text))?;
        let mut link = Self::chapter("");
        let (mut name, mut program) = (None, None);
        for field in rest.split('&').filter(|field| !field.is_empty()) {
            let (key, value) = field.split_once('=').unwrap_or((field, ""));
            let value = unescape(value).ok_or_else(|| error(key, "text in UTF-8, escaped with %", value))?;
            let known = match key {
                "p" => set(&mut link.program, Some(Source::Chapter(value.clone()))),
                "file" => set(&mut name, Some(Some(value.clone()))),
                "program" => set(&mut program, digest_of(&value).map(Some)),
                "seq" => set(&mut link.path, parse(&value)),
                "at" => set(&mut link.position, parse(&value).map(Some)),
                "sel" => set(&mut link.selected, parse(&value).map(Some)),
                "view" => set(&mut link.view, Some(value.clone())),
                "d" => set(&mut link.digest, digest_of(&value).map(Some)),
                key => link.decode_option(key, &value),
            };
            known.ok_or_else(|| error(key, "a value of this field", &value))?;
        }
        if let (Some(name), Some(digest)) = (name, program) {
            link.program = Source::File { name, digest };
        }
        match &link.program {
            Source::Chapter(id) if id.is_empty() => Err(error("#", "a link that names a program", text)),
            _ => Ok(link),
        }
    }

    /// `None` for a value that the field cannot have; fields that are not known are passed over.
    fn decode_option(&mut self, key: &str, value: &str) -> Option<()> {
        let options = &mut self.options;
        let executor = &mut options.executor;
        match key {
            "queue" => set(&mut executor.queue, parse::<Queue>(value)),
            "workers" => set(&mut executor.max_workers, parse(value)),
            "split" => set(&mut executor.split_threshold, parse(value)),
            "buffer" => set(&mut executor.buffer_threshold, parse(value)),
            "thunks" => set(&mut executor.thunk_threshold, parse(value)),
            "runner" => set(&mut options.runner, parse(value)),
            "pool" => set(&mut options.pool_threads, parse(value)),
            "post" => set(&mut options.post_latency, parse(value)),
            "base" => set(&mut options.costs.base, parse(value)),
            "rate" => set(&mut options.costs.bytes_per_tick, parse(value)),
            "jitter" => set(&mut options.costs.jitter_percent, parse(value)),
            "iterations" => set(&mut options.iterations, parse(value)),
            "trips" => set(&mut options.max_trips, parse(value)),
            "seed" => set(&mut options.seed, parse(value)),
            "events" => set(&mut options.max_events, parse(value)),
            "mode" => set(
                &mut options.mode,
                match value {
                    "decided" => Some(ModeChoice::Decided),
                    "concurrent" => Some(ModeChoice::Concurrent),
                    "sequential" => Some(ModeChoice::Sequential),
                    _ => None,
                },
            ),
            "pending" => set(
                &mut options.pending,
                match value {
                    "declared" => Some(PendingThunks::AsDeclared),
                    "never" => Some(PendingThunks::Never),
                    "all" => Some(PendingThunks::All),
                    n => parse(n).map(PendingThunks::OneIn),
                },
            ),
            "schedule" => set(
                &mut options.schedule,
                match value {
                    "time" => Some(Schedule::ByTime),
                    "adversarial" => Some(Schedule::Adversarial),
                    _ => None,
                },
            ),
            "fails" | "hangs" => {
                let kind = if key == "fails" { FaultKind::Fails } else { FaultKind::NeverCompletes };
                let (path, node) = value.rsplit_once(':')?;
                options.faults.push(Fault { path: parse(path)?, node: parse(node)?, kind });
                Some(())
            }
            _ => Some(()),
        }
    }

    /// A note for the reader when what is to be seen is not what the link was made for.
    pub fn check(&self, now: Digest) -> Option<Diagnostic> {
        let made = self.digest.filter(|&made| made != now)?;
        Some(
            Diagnostic::warning("EX007", "d", format!("the state with digest {made}")).found(now).hint(
                "the link was made by another version, or for another program: what you see may differ",
            ),
        )
    }
}

/// Digest of what is to be seen: the states of all runs, in their order.
pub fn digest<'a>(states: impl IntoIterator<Item = &'a State>) -> Digest {
    let mut hasher = Hasher::new();
    states.into_iter().for_each(|state| hasher.u64(state.digest().0));
    hasher.finish()
}

struct Fields(String);

impl Fields {
    fn put(&mut self, key: &str, value: &dyn Display) {
        if !self.0.ends_with('.') || self.0.len() > VERSION.len() {
            self.0.push('&');
        }
        self.0 += key;
        self.0.push('=');
        for byte in value.to_string().bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte) {
                self.0.push(char::from(byte));
            } else {
                // Writing into a string cannot fail.
                let _ = write!(self.0, "%{byte:02X}");
            }
        }
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let [high, low] = [bytes.next()?, bytes.next()?].map(|digit| char::from(digit).to_digit(16));
                (high? * 16 + low?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

fn parse<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn digest_of(text: &str) -> Option<Digest> {
    u64::from_str_radix(text, 16).ok().map(Digest)
}

/// Sets what there is; says whether there was anything.
fn set<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exhibit::Chapter;
    use crate::program::Role;
    use crate::sim::Costs;

    #[track_caller]
    fn check(fragment: &str, expected: &str) {
        let said = match Link::decode(fragment) {
            Ok(link) => link.encode(),
            Err(error) => format!("{} {}", error.code, error.path),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn fragments_read_and_print() {
        check("#v1.p=moe10", "v1.p=moe10");
        check("v1.sel=8&p=moe10&at=15", "v1.p=moe10&at=15&sel=8");
        check("v1.p=moe10&seed=7&fails=entry/4.body:2&later=1", "v1.p=moe10&seed=7&fails=entry/4.body:2");
        check(
            "v1.file=my%20model.bin&program=0000000000000abc",
            "v1.file=my%20model.bin&program=0000000000000abc",
        );
        check("v1.p=moe10&queue=fifo&pool=4", "v1.p=moe10");
        for (wrong, expected) in [
            ("", "EX006 #"),
            ("#", "EX006 #"),
            ("v2.p=moe10", "EX006 #"),
            ("v1.at=3", "EX006 #"),
            ("v1.p=moe10&at=-3", "EX006 at"),
            ("v1.p=moe10&queue=heap", "EX006 queue"),
            ("v1.p=%ff", "EX006 p"),
            ("v1.p=%4", "EX006 p"),
        ] {
            check(wrong, expected);
        }
    }

    #[test]
    fn another_digest_is_a_warning() {
        let link = Link { digest: Some(Digest(1)), ..Link::chapter("moe10") };
        assert_eq!(link.check(Digest(1)), None);
        assert_eq!(link.check(Digest(2)).map(|note| note.code.clone()), Some("EX007".to_owned()));
        assert_eq!(Link::chapter("moe10").check(Digest(2)), None);
    }

    fn paths() -> impl Strategy<Value = SequencePath> {
        let role = prop_oneof![
            Just(Role::Body),
            Just(Role::Condition),
            Just(Role::Called),
            any::<u32>().prop_map(Role::Branch)
        ];
        proptest::collection::vec((any::<u32>(), role), 0..3).prop_map(|steps| {
            steps.into_iter().fold(SequencePath::entry(), |path, (thunk, role)| path.child(thunk, role))
        })
    }

    prop_compose! {
        fn options()(
            queue in 0..3_usize, numbers in any::<[u64; 5]>(), small in any::<[u32; 6]>(), pool in any::<u16>(),
            runner: bool, mode in 0..3_usize, pending in 0..4_usize, adversarial: bool,
            faults in proptest::collection::vec((paths(), any::<u32>(), any::<bool>()), 0..8),
        ) -> Options {
            Options {
                executor: crate::executor::Options {
                    queue: Queue::ALL[queue], max_workers: small[0], split_threshold: small[1],
                    buffer_threshold: numbers[0], thunk_threshold: small[2],
                },
                mode: [ModeChoice::Decided, ModeChoice::Concurrent, ModeChoice::Sequential][mode],
                runner,
                pool_threads: pool,
                post_latency: numbers[1],
                costs: Costs { base: numbers[2], bytes_per_tick: numbers[3], jitter_percent: small[3] },
                pending: [PendingThunks::AsDeclared, PendingThunks::Never, PendingThunks::All, PendingThunks::OneIn(numbers[4])][pending],
                faults: faults.into_iter().map(|(path, node, fails)| Fault {
                    path, node, kind: if fails { FaultKind::Fails } else { FaultKind::NeverCompletes },
                }).collect(),
                schedule: if adversarial { Schedule::Adversarial } else { Schedule::ByTime },
                iterations: small[4],
                max_trips: numbers[4],
                seed: numbers[0] ^ numbers[1],
                max_events: small[5] as usize,
            }
        }
    }

    prop_compose! {
        fn links()(
            options in options(), path in paths(), name in ".{1,40}", file: bool, digest: u64, view in "[a-z]{0,12}",
            position: Option<u64>, selected: Option<u32>, seen: Option<u64>,
        ) -> Link {
            let program = if file { Source::File { name, digest: Digest(digest) } } else { Source::Chapter(name) };
            Link { program, path, options, position, selected, view, digest: seen.map(Digest) }
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(link in links()) {
            let text = link.encode();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/:=&%".contains(&byte)), "{}", text);
            prop_assert_eq!(Link::decode(&text), Ok(link));
        }

        #[test]
        fn links_to_chapters_are_short(link in links(), chapter in 0..Chapter::ALL.len()) {
            let link = Link { program: Source::Chapter(Chapter::ALL[chapter].id.to_owned()), ..link };
            prop_assert!(link.encode().len() <= 2_000, "{}", link.encode());
        }

        #[test]
        fn no_text_is_too_much(text in "(v1\\.)?[ -~]{0,80}|.{0,60}") {
            // What is accepted means the same after a round.
            if let Ok(link) = Link::decode(&text) {
                prop_assert_eq!(Link::decode(&link.encode()), Ok(link));
            }
        }
    }
}
