//! Names and places of files (ge-dump spec §9.1, §9.2, P-28, P-29, P-40).

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use super::record::{Identity, Phase, Record, Scenario};
use super::types::Format;
use super::value::named;
use crate::digest::Digest;

/// Longest file name, in bytes of UTF-8.
pub const MAX_NAME: usize = 255;

/// What the names of hashed files stand for: one `hash,name` a line.
pub const MAPPING: &str = "mapping.csv";

/// One line of JSON per file: everything that the name cannot say.
pub const MANIFEST: &str = "manifest.jsonl";

named! {
    /// Which file layout.
    Layout {
        /// All files in one directory, by the seed's names. The default.
        Seed = "seed",
        /// Directories and names of CANN.
        Cann = "cann",
    }
}

/// A part of a name: blanks, dots, slashes and characters that steer become `_`.
pub fn sanitise(part: &str) -> String {
    let unsafe_char = |c: char| matches!(c, ' ' | '.' | '/' | '\\') || c.is_control();
    part.chars().map(|c| if unsafe_char(c) { '_' } else { c }).collect()
}

/// Where a file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Directory below the root, without slashes at its ends; may be empty.
    pub directory: String,
    /// The name that is wanted.
    pub wanted: String,
    /// The name that is used: `wanted`, or a hash if that is too long.
    pub name: String,
    /// It is a hash: a line for [`MAPPING`].
    pub hashed: bool,
}

impl Place {
    /// The line for [`MAPPING`].
    pub fn mapping(&self) -> Option<String> {
        self.hashed.then(|| format!("{},{}\n", self.name, self.wanted))
    }

    /// Directory and name.
    pub fn path(&self) -> String {
        if self.directory.is_empty() {
            self.name.clone()
        } else {
            format!("{}/{}", self.directory, self.name)
        }
    }
}

/// Gives each file a name of its own.
#[derive(Clone, Debug)]
pub struct Namer {
    layout: Layout,
    /// Below the root of the files.
    path: Option<String>,
    /// `YYYYMMDDHHMMSS`.
    time_dir: Option<String>,
    iteration: Option<u64>,
    /// By digest of a name without its sequence number: how often it was given in this iteration.
    given: BTreeMap<u64, u32>,
    /// Hashes that are taken, and by which name.
    hashes: BTreeMap<u64, String>,
}

/// Most hashed names whose collisions are looked for.
const MAX_HASHES: usize = 1 << 20;

impl Namer {
    /// A namer without a directory for the time.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            path: None,
            time_dir: None,
            iteration: None,
            given: BTreeMap::new(),
            hashes: BTreeMap::new(),
        }
    }

    /// Files go below these directories from now on.
    pub fn enable(&mut self, path: Option<String>, time_dir: Option<String>) {
        self.path = path.filter(|path| !path.is_empty());
        self.time_dir = time_dir;
    }

    /// A file beside the directories of time.
    pub fn at_root(&self, name: &str) -> String {
        self.path.as_ref().map_or_else(|| name.to_owned(), |path| format!("{path}/{name}"))
    }

    /// A place that was not given before. `suffix` is `.csv` for statistics, else empty.
    pub fn place(&mut self, identity: &Identity, suffix: &str) -> Place {
        if self.iteration != identity.iteration {
            self.iteration = identity.iteration;
            self.given.clear();
        }
        let directory = self.directory(identity);
        let base = name(self.layout, identity, 0, suffix);
        let seen = self.given.entry(Digest::of(format!("{directory}/{base}").as_bytes()).0).or_insert(0);
        let wanted = if *seen == 0 { base } else { name(self.layout, identity, *seen, suffix) };
        *seen += 1;
        let hashed = wanted.len() > MAX_NAME;
        let name = if hashed { self.hash(&wanted) } else { wanted.clone() };
        Place { directory, wanted, name, hashed }
    }

    /// Decimal FNV-1a of the name; a taken number moves to the next one.
    fn hash(&mut self, name: &str) -> String {
        let mut hash = Digest::of(name.as_bytes()).0;
        while self.hashes.get(&hash).is_some_and(|taken| taken != name) {
            hash = hash.wrapping_add(1);
        }
        if self.hashes.len() < MAX_HASHES {
            self.hashes.insert(hash, name.to_owned());
        }
        hash.to_string()
    }

    /// Below the root. Optional levels are left out with their directory.
    fn directory(&self, identity: &Identity) -> String {
        let mut levels: Vec<String> = self.path.iter().cloned().collect();
        if self.layout == Layout::Cann && identity.scenario == Scenario::Exception {
            levels.extend(["extra-info", "data-dump"].map(str::to_owned));
            levels.push(identity.device.to_string());
            return levels.join("/");
        }
        levels.extend(self.time_dir.clone());
        if self.layout == Layout::Cann {
            levels.push(identity.device.to_string());
            levels.extend(identity.model.as_deref().map(sanitise));
            levels.extend(identity.model_id.map(|id| id.to_string()));
            levels.extend(identity.iteration.map(|iteration| iteration.to_string()));
        }
        levels.join("/")
    }
}

/// The name of a file; `seq` tells repetitions of one key apart.
pub fn name(layout: Layout, identity: &Identity, seq: u32, suffix: &str) -> String {
    let Identity { scenario, phase, op, op_type, stream, task, context, time, device, .. } = identity;
    let (op, op_type) = (sanitise(op), sanitise(op_type));
    // Writing to a text cannot fail.
    let mut name = String::new();
    match layout {
        Layout::Seed => {
            let model = identity.model.as_deref().map_or_else(|| "-".to_owned(), sanitise);
            let iteration = identity.iteration.map_or_else(|| "-".to_owned(), |n| n.to_string());
            let _ = write!(name, "{scenario}_{model}_{op}_{op_type}_{iteration}_{stream}_{task}");
            if let Some((context, thread)) = context {
                let _ = write!(name, "_{context}_{thread}");
            }
            if *phase != Phase::Whole {
                let _ = write!(name, "_{phase}");
            }
            if seq > 0 {
                let _ = write!(name, "_{seq}");
            }
        }
        Layout::Cann => {
            // Names differ by time: a repetition within a microsecond gets the next one.
            let time = time.saturating_add(u64::from(seq));
            let _ = match scenario {
                Scenario::Exception => write!(name, "{op_type}.{op}.{task}.{time}"),
                _ => write!(name, "{op_type}.{op}.{task}.{stream}.{time}"),
            };
            if let Some((context, thread)) = context {
                let _ = match scenario {
                    Scenario::Exception => write!(name, ".4.{context}.{thread}"),
                    _ => write!(name, ".4.{context}.{thread}.{device}"),
                };
            }
        }
    }
    name.push_str(suffix);
    name
}

/// One line of [`MANIFEST`], schema in docs/dump-record.schema.json.
#[derive(Clone, Debug, Serialize)]
struct Line<'a> {
    format: &'static str,
    file: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    hashed: &'a str,
    content: &'static str,
    scenario: Scenario,
    phase: Phase,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_id: Option<u32>,
    op: &'a str,
    op_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration: Option<u64>,
    stream: u32,
    task: u32,
    device: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<(u32, u32)>,
    time_us: String,
    tensors: Vec<TensorLine<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct TensorLine<'a> {
    part: super::record::Part,
    index: u32,
    dtype: &'static str,
    format: &'a str,
    shape: Vec<u64>,
    size: u64,
    address: String,
}

/// What a line of the manifest says it is.
pub const RECORD_FORMAT: &str = "thunkscope.dump-record/1";

/// The line of [`MANIFEST`] for a record that was put at `place`.
pub fn manifest_line(record: &Record<'_>, place: &Place, stats: bool) -> String {
    let identity = &record.identity;
    let line = Line {
        format: RECORD_FORMAT,
        file: &place.path(),
        hashed: if place.hashed { &place.wanted } else { "" },
        content: if stats { "stats" } else { "tensor" },
        scenario: identity.scenario,
        phase: identity.phase,
        model: identity.model.as_deref(),
        model_id: identity.model_id,
        op: &identity.op,
        op_type: &identity.op_type,
        iteration: identity.iteration,
        stream: identity.stream,
        task: identity.task,
        device: identity.device,
        context: identity.context,
        time_us: identity.time.to_string(),
        tensors: record
            .payloads
            .iter()
            .map(|p| TensorLine {
                part: p.part,
                index: p.index,
                dtype: p.dtype.name(),
                format: Format::name(p.format).unwrap_or("-"),
                shape: p.shape.clone(),
                size: p.bytes.len() as u64,
                address: format!("{:#x}", p.address),
            })
            .collect(),
    };
    // No map with other than text keys: cannot fail.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

/// `YYYYMMDDHHMMSS` of a moment, in UTC, from seconds since 1970.
pub fn time_dir(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days, with years that begin in March.
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}{:02}{:02}{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(op: &str) -> Identity {
        Identity {
            scenario: Scenario::Normal,
            phase: Phase::Whole,
            model: Some("my.model".to_owned()),
            model_id: Some(7),
            op: op.to_owned(),
            op_type: "Mat Mul".to_owned(),
            iteration: Some(3),
            stream: 1,
            task: 2,
            device: 0,
            context: None,
            time: 99,
        }
    }

    #[test]
    fn seed_names() {
        let mut namer = Namer::new(Layout::Seed);
        let mut name = |identity: &Identity| namer.place(identity, "").name;
        assert_eq!(name(&identity("a/b")), "normal_my_model_a_b_Mat_Mul_3_1_2");
        assert_eq!(name(&identity("a/b")), "normal_my_model_a_b_Mat_Mul_3_1_2_1");
        let before = Identity { phase: Phase::Before, ..identity("r") };
        assert_eq!(name(&before), "normal_my_model_r_Mat_Mul_3_1_2_in");
        let single = Identity { model: None, model_id: None, iteration: None, ..identity("s") };
        assert_eq!(name(&single), "normal_-_s_Mat_Mul_-_1_2");
        let context = Identity { context: Some((4, 5)), scenario: Scenario::Overflow, ..identity("c") };
        assert_eq!(name(&context), "overflow_my_model_c_Mat_Mul_3_1_2_4_5");
    }

    #[test]
    fn cann_names_and_directories() {
        let mut namer = Namer::new(Layout::Cann);
        namer.enable(None, Some("20260801120000".to_owned()));
        let mut path = |identity: &Identity| namer.place(identity, "").path();
        assert_eq!(path(&identity("a.b")), "20260801120000/0/my_model/7/3/Mat_Mul.a_b.2.1.99");
        assert_eq!(path(&identity("a.b")), "20260801120000/0/my_model/7/3/Mat_Mul.a_b.2.1.100");
        let single = Identity { model: None, model_id: None, iteration: None, ..identity("s") };
        assert_eq!(path(&single), "20260801120000/0/Mat_Mul.s.2.1.99");
        let context = Identity { context: Some((4, 5)), ..identity("c") };
        assert_eq!(path(&context), "20260801120000/0/my_model/7/3/Mat_Mul.c.2.1.99.4.4.5.0");
        let exception = Identity { scenario: Scenario::Exception, context: Some((4, 5)), ..identity("e") };
        assert_eq!(path(&exception), "extra-info/data-dump/0/Mat_Mul.e.2.99.4.4.5");
    }

    #[test]
    fn names_that_are_too_long_are_hashed_and_told_apart() {
        let mut namer = Namer::new(Layout::Seed);
        let long = identity(&"模".repeat(100));
        let (one, two) = (namer.place(&long, ""), namer.place(&long, ""));
        assert!(one.hashed && one.name.len() <= 20 && one.name.parse::<u64>().is_ok());
        assert_ne!(one.name, two.name);
        assert_eq!(one.mapping(), Some(format!("{},{}\n", one.name, one.wanted)));
        assert_eq!(namer.place(&identity("short"), "").mapping(), None);
        // 255 bytes are not too long.
        let fits = identity(&"x".repeat(255 - "normal_my_model__Mat_Mul_3_1_2".len()));
        assert_eq!(namer.place(&fits, "").name.len(), 255);
        // A hash that is taken moves on.
        let taken = Digest::of(b"name").0;
        namer.hashes.insert(taken, "another".to_owned());
        assert_eq!(namer.hash("name"), taken.wrapping_add(1).to_string());
    }

    #[cfg(not(target_arch = "wasm32"))]
    proptest::proptest! {
        /// Invariant 7.
        #[test]
        fn any_names_are_short_and_without_what_steers(op in "\\PC{0,300}", seq in 0..3usize) {
            for layout in [Layout::Seed, Layout::Cann] {
                let mut namer = Namer::new(layout);
                let mut last = None;
                for _ in 0..=seq {
                    let place = namer.place(&identity(&op), "");
                    proptest::prop_assert!(place.name.len() <= MAX_NAME);
                    let bad = [' ', '/', '\\'];
                    proptest::prop_assert!(!place.name.contains(bad) && !sanitise(&op).contains(['.', ' ', '/', '\\']));
                    proptest::prop_assert_ne!(Some(&place.name), last.as_ref());
                    last = Some(place.name);
                }
            }
        }
    }
}
