//! Where records end: files, written by whoever can, each loss counted with its cause.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::log::{Grade, Journal, KEYWORD};
use super::names::{self, Layout, MANIFEST, MAPPING, Namer};
use super::properties::Properties;
use super::record::{Part, Record, Scenario};
use super::stats::{self, NanRule};
use super::value::{Content, ExceptionLevel, Stat, named};

named! {
    /// Why a file could not be written.
    Loss {
        /// No space left.
        Full = "full",
        /// Beyond the limit on the size of files.
        TooLarge = "too_large",
        /// The disk is read-only.
        ReadOnly = "read_only",
        /// The directory is gone.
        Vanished = "vanished",
        /// Something else than a directory is in the way.
        NotADirectory = "not_a_directory",
        /// No permission.
        NotAllowed = "not_allowed",
        /// Something else.
        Other = "other",
    }
}

impl Loss {
    /// What the user can do.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Full => "free space, dump fewer layers or steps, or dump_data = stats",
            Self::TooLarge => "raise the limit on the size of files (ulimit -f), or dump_data = stats",
            Self::ReadOnly => "name a dump_path on a disk that can be written",
            Self::Vanished => "do not remove the directory while the model runs",
            Self::NotADirectory => "a file has the name of a directory of the dump: name another dump_path",
            Self::NotAllowed => "change the directory's owner or mode",
            Self::Other => "look at the disk",
        }
    }
}

/// Why a [`Store`] did not take a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreError {
    /// There is such a file: nothing was overwritten.
    Exists,
    /// It is lost.
    Lost(Loss),
}

/// Files by relative path. Core writes none itself.
pub trait Store {
    /// A new file from parts; its directories are made. Afterwards it is whole, or not there.
    ///
    /// # Errors
    /// [`StoreError`].
    fn write(&mut self, path: &str, parts: &[&[u8]]) -> Result<(), StoreError>;

    /// Text at the end of a file, which is made if it is not there.
    ///
    /// # Errors
    /// [`Loss`].
    fn append(&mut self, path: &str, text: &str) -> Result<(), Loss>;
}

/// Takes records.
pub trait DumpSink {
    /// What is in force from the next iteration on; everything before has been put.
    fn configure(&mut self, _properties: &Properties) {}

    /// One record. Gives the path of its file; empty if there are no files.
    ///
    /// # Errors
    /// [`Loss`] if it is lost.
    fn put(&mut self, record: &Record<'_>, journal: &mut dyn Journal) -> Result<String, Loss>;
}

/// Takes records and forgets them.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl DumpSink for NullSink {
    fn put(&mut self, _: &Record<'_>, _: &mut dyn Journal) -> Result<String, Loss> {
        Ok(String::new())
    }
}

/// What a [`FileSink`] has written and lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Files.
    pub files: u64,
    /// Tensors in them.
    pub tensors: u64,
    /// Bytes of data in them.
    pub bytes: u64,
    /// Tensors that were lost, by cause.
    pub lost: BTreeMap<&'static str, u64>,
    /// Lines of the manifest or the mapping that could not be written: the files are there.
    pub unlisted: u64,
}

/// Writes files in one of the layouts, by way of a [`Store`].
#[derive(Debug)]
pub struct FileSink<S> {
    /// Takes the files.
    pub store: S,
    namer: Namer,
    layout: Layout,
    content: Content,
    stats: Vec<Stat>,
    rule: NanRule,
    brief: bool,
    under_path: bool,
    written: Written,
}

/// How often a name is tried with another number when there is such a file.
const MAX_TRIES: u32 = 1_000;

impl<S: Store> FileSink<S> {
    /// A sink that has not been told what is dumped: whole tensors, no directory for the time.
    pub fn new(store: S, layout: Layout) -> Self {
        Self {
            store,
            namer: Namer::new(layout),
            layout,
            content: Content::Tensor,
            stats: Vec::new(),
            rule: NanRule::Ignored,
            brief: false,
            under_path: false,
            written: Written::default(),
        }
    }

    /// Files go below the configured path, taken as one below the store's root.
    #[must_use]
    pub fn under_path(mut self) -> Self {
        self.under_path = true;
        self
    }

    /// What was written and lost so far.
    pub fn written(&self) -> &Written {
        &self.written
    }

    fn lose(&mut self, loss: Loss, tensors: u64, journal: &mut dyn Journal) {
        let count = self.written.lost.entry(loss.name()).or_insert(0);
        if *count == 0 {
            journal.line(
                Grade::Warning,
                format_args!("{KEYWORD} a file could not be written ({loss}): {}", loss.hint()),
            );
        }
        *count += tensors;
    }
}

impl<S: Store> DumpSink for FileSink<S> {
    fn configure(&mut self, properties: &Properties) {
        let path = if self.under_path {
            properties.path.as_deref().or(properties.exception_path.as_deref())
        } else {
            None
        };
        self.namer.enable(path.map(below_root), properties.time_dir.clone());
        self.content = properties.content;
        self.stats.clone_from(&properties.stats);
        self.brief = properties.exception == Some(ExceptionLevel::Brief);
    }

    fn put(&mut self, record: &Record<'_>, journal: &mut dyn Journal) -> Result<String, Loss> {
        let tensors =
            record.payloads.iter().filter(|p| matches!(p.part, Part::Input | Part::Output)).count() as u64;
        // Statistics are of data: an overflow's own record and an exception are always whole.
        let stats = self.content == Content::Stats && record.identity.scenario == Scenario::Normal;
        let text;
        let head;
        let mut parts: Vec<&[u8]> = Vec::new();
        if stats {
            text = stats::csv(record, &self.stats, self.rule);
            parts.push(text.as_bytes());
        } else {
            head = record.head();
            parts.push(&head);
            parts.extend(record.data());
        }
        let suffix = if stats { ".csv" } else { "" };
        let mut tries = 0;
        let place = loop {
            let mut place = self.namer.place(&record.identity, suffix);
            if self.brief && self.layout == Layout::Cann && record.identity.scenario == Scenario::Exception {
                let identity = &record.identity;
                place.name = format!(
                    "exception_info.{}.{}.{}",
                    identity.stream,
                    identity.task,
                    identity.time / 1_000 + u64::from(tries)
                );
                place.wanted.clone_from(&place.name);
                place.hashed = false;
            }
            match self.store.write(&place.path(), &parts) {
                Ok(()) => break place,
                Err(StoreError::Exists) if tries < MAX_TRIES => tries += 1,
                Err(error) => {
                    let loss = if let StoreError::Lost(loss) = error { loss } else { Loss::Other };
                    self.lose(loss, tensors.max(1), journal);
                    return Err(loss);
                }
            }
        };
        self.written.files += 1;
        self.written.tensors += tensors;
        self.written.bytes += record.data().map(|part| part.len() as u64).sum::<u64>();
        let beside = |name: &str| match place.directory.as_str() {
            "" => name.to_owned(),
            directory => format!("{directory}/{name}"),
        };
        let mapped = place.mapping().map_or(Ok(()), |line| self.store.append(&beside(MAPPING), &line));
        let root = match self.layout {
            Layout::Seed => beside(MANIFEST),
            Layout::Cann => self.namer.at_root(MANIFEST),
        };
        let listed = self.store.append(&root, &names::manifest_line(record, &place, stats));
        for result in [mapped, listed] {
            if let Err(loss) = result {
                if self.written.unlisted == 0 {
                    journal.line(
                        Grade::Warning,
                        format_args!(
                            "{KEYWORD} {MANIFEST} or {MAPPING} could not be written ({loss}): {}",
                            loss.hint()
                        ),
                    );
                }
                self.written.unlisted += 1;
            }
        }
        if record.identity.scenario == Scenario::Exception {
            // Tools look for this line (ge-dump spec §7.2).
            journal.line(
                Grade::Error,
                format_args!(
                    "{} dump exception to file, file:{}",
                    super::log::EXCEPTION_KEYWORD,
                    place.path()
                ),
            );
        }
        Ok(place.path())
    }
}

/// A configured path as one below a root: nothing of it leads out.
fn below_root(path: &str) -> String {
    path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect::<Vec<_>>().join("/")
}

/// Takes files and keeps none: for whoever wants to know what would be written.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStore;

impl Store for NoStore {
    fn write(&mut self, _: &str, _: &[&[u8]]) -> Result<(), StoreError> {
        Ok(())
    }

    fn append(&mut self, _: &str, _: &str) -> Result<(), Loss> {
        Ok(())
    }
}

/// Files in memory: for tests, and for whoever wants them as values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryStore {
    /// By path.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Store for MemoryStore {
    fn write(&mut self, path: &str, parts: &[&[u8]]) -> Result<(), StoreError> {
        if self.files.contains_key(path) {
            return Err(StoreError::Exists);
        }
        self.files.insert(path.to_owned(), parts.concat());
        Ok(())
    }

    fn append(&mut self, path: &str, text: &str) -> Result<(), Loss> {
        self.files.entry(path.to_owned()).or_default().extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// A piece of a record, for callers that register a callback instead of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Name of the file it would have been.
    pub name: &'a str,
    /// Bytes of the whole.
    pub total: u64,
    /// Where the piece begins.
    pub offset: u64,
    /// The piece, at most [`MAX_CHUNK`] bytes.
    pub bytes: &'a [u8],
    /// Nothing follows.
    pub is_last: bool,
}

/// Longest piece.
pub const MAX_CHUNK: usize = 128 << 20;

/// Hands files to a callback in pieces.
pub struct ChunkStore<F> {
    call: F,
    most: usize,
}

impl<F> fmt::Debug for ChunkStore<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStore").field("most", &self.most).finish_non_exhaustive()
    }
}

impl<F: FnMut(Chunk<'_>)> ChunkStore<F> {
    /// Pieces of at most [`MAX_CHUNK`] bytes.
    pub fn new(call: F) -> Self {
        Self { call, most: MAX_CHUNK }
    }

    /// Pieces of at most `most` bytes; at least 1.
    pub fn with_most(call: F, most: usize) -> Self {
        Self { call, most: most.clamp(1, MAX_CHUNK) }
    }
}

impl<F: FnMut(Chunk<'_>)> Store for ChunkStore<F> {
    fn write(&mut self, path: &str, parts: &[&[u8]]) -> Result<(), StoreError> {
        let total: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let mut offset = 0;
        for piece in parts.iter().flat_map(|part| part.chunks(self.most)) {
            let is_last = offset + piece.len() as u64 == total;
            (self.call)(Chunk { name: path, total, offset, bytes: piece, is_last });
            offset += piece.len() as u64;
        }
        Ok(())
    }

    fn append(&mut self, _: &str, _: &str) -> Result<(), Loss> {
        // Whoever takes pieces keeps their own list.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_for_a_callback_are_marked() {
        let mut seen = Vec::new();
        let mut store = ChunkStore::with_most(
            |chunk: Chunk<'_>| seen.push((chunk.offset, chunk.bytes.to_vec(), chunk.total, chunk.is_last)),
            3,
        );
        store.write("f", &[b"ab", b"cdefg"]).expect("never fails");
        let piece = |offset, bytes: &[u8], last| (offset, bytes.to_vec(), 7, last);
        assert_eq!(seen, [piece(0, b"ab", false), piece(2, b"cde", false), piece(5, b"fg", true)]);
    }

    #[test]
    fn configured_paths_stay_below_the_root() {
        for (path, expected) in
            [("/tmp/d", "tmp/d"), ("../../etc", "etc"), ("/", ""), (".", ""), ("1.2.3.4:/d", "1.2.3.4:/d")]
        {
            assert_eq!(below_root(path), expected);
        }
    }
}
