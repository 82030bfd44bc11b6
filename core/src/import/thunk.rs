//! Thunk sequences of a serialized executable (xla-import spec §2): which fields hold what a thunk
//! reads, writes and contains. Access is not in the file; it is fixed per kind, by [`LAYOUTS`].

use super::resources::{self, TokenPorts};
use super::wire::{Field, Message, Value, malformed, place};
use super::{MAX_WARNINGS, ReadOptions};
use crate::diagnostic::Diagnostic;
use crate::program::{
    Access, BufferUse, Kind, MAX_END, MAX_NESTING, Nested, Resource, Role, Sequence, SequencePath, Slice,
    Thunk,
};

/// Where the body of one kind of thunk keeps its slices and nested sequences.
struct Layout {
    /// The field of the thunk that holds this body.
    field: u32,
    kind: Kind,
    /// The slices are in this message inside the body.
    inside: Option<u32>,
    reads: &'static [Slot],
    writes: &'static [Slot],
}

/// One field of a body that holds slices.
#[derive(Clone, Copy)]
enum Slot {
    /// Exactly one.
    One(u32),
    /// Any number, in order.
    Many(u32),
}

use Slot::{Many, One};

impl Slot {
    fn field(self) -> u32 {
        match self {
            One(field) | Many(field) => field,
        }
    }
}

const fn layout(field: u32, kind: Kind, reads: &'static [Slot], writes: &'static [Slot]) -> Layout {
    Layout { field, kind, inside: None, reads, writes }
}

/// All kinds with their fields. The XNN fusion (field 6) has its choice in [`xnn`].
const LAYOUTS: &[Layout] = &[
    layout(3, Kind::Call, &[], &[]),
    layout(4, Kind::Conditional, &[One(2)], &[]),
    layout(5, Kind::Sort, &[], &[Many(5)]),
    layout(6, Kind::XnnFusion, &[], &[]),
    layout(7, Kind::Dot, &[One(2), One(3)], &[One(4)]),
    layout(8, Kind::RngGetAndUpdateState, &[], &[One(2)]),
    layout(9, Kind::TopK, &[One(4)], &[One(5), One(6)]),
    layout(10, Kind::While, &[], &[One(4)]),
    layout(11, Kind::Kernel, &[Many(5)], &[Many(6)]),
    layout(12, Kind::Copy, &[One(1)], &[One(2)]),
    layout(13, Kind::Fft, &[One(4)], &[One(5)]),
    layout(14, Kind::Infeed, &[], &[Many(2)]),
    layout(15, Kind::Outfeed, &[Many(2)], &[]),
    Layout { inside: Some(4), ..layout(16, Kind::CustomCall, &[Many(1)], &[Many(2)]) },
    layout(17, Kind::Convolution, &[One(4), One(5)], &[One(6)]),
    Layout { inside: Some(2), ..layout(18, Kind::Collective, &[Many(1)], &[Many(2)]) },
    layout(19, Kind::PartitionId, &[], &[One(1)]),
    layout(20, Kind::ReplicaId, &[], &[One(1)]),
    layout(21, Kind::YnnFusion, &[Many(3)], &[Many(4)]),
    layout(22, Kind::RngSeed, &[], &[One(1)]),
];

/// XNN fusions: one of three bodies.
const XNN: &[Layout] = &[
    layout(2, Kind::XnnFusion, &[One(2), One(3)], &[One(4)]),
    layout(3, Kind::XnnFusion, &[One(4), One(5)], &[One(6)]),
    layout(4, Kind::XnnFusion, &[Many(1)], &[Many(2)]),
];

/// Which collective, by the field inside the body that holds its parameters.
const COLLECTIVES: &[(u32, Kind)] = &[
    (4, Kind::AllGather),
    (5, Kind::AllReduce),
    (6, Kind::AllToAll),
    (7, Kind::ReduceScatter),
    (8, Kind::CollectivePermute),
];

const KIND: u32 = 1;
const INFO: u32 = 2;
/// In the info.
const OP_NAME: u32 = 1;
const SEQUENCE_THUNK: u32 = 1;
const SEQUENCE_RESOURCE: u32 = 2;

/// Reads sequences and counts what it has made, so that a small file cannot grow without bound.
pub(super) struct Reader<'o> {
    options: &'o ReadOptions,
    /// What is known about the producer, for messages: `jaxlib 0.10.2 or near`.
    pub(super) producer: &'static str,
    /// All resources of all sequences.
    pub(super) resources: Vec<Resource>,
    /// What is to be said.
    pub(super) warnings: Vec<Diagnostic>,
    thunks: u32,
    uses: u32,
}

impl<'o> Reader<'o> {
    /// A reader that has read nothing.
    pub(super) fn new(options: &'o ReadOptions, producer: &'static str) -> Self {
        Self { options, producer, resources: Vec::new(), warnings: Vec::new(), thunks: 0, uses: 0 }
    }

    /// Notes a warning, unless there are too many already; made only if it is kept, since a
    /// hostile file can ask for millions.
    pub(super) fn warn(&mut self, warning: impl FnOnce() -> Diagnostic) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning());
        }
    }

    /// Counts uses of slices or resources.
    pub(super) fn count_uses(&mut self, more: usize, at: usize) -> Result<(), Diagnostic> {
        let most = self.options.limits.uses;
        self.uses = u32::try_from(more).ok().and_then(|more| self.uses.checked_add(more)).unwrap_or(u32::MAX);
        if self.uses > most { Err(too_many(at, most, "uses of slices and resources")) } else { Ok(()) }
    }

    fn count_thunk(&mut self, at: usize) -> Result<(), Diagnostic> {
        let most = self.options.limits.thunks;
        self.thunks = self.thunks.saturating_add(1);
        if self.thunks > most { Err(too_many(at, most, "thunks")) } else { Ok(()) }
    }

    /// Reads one sequence and everything nested in it. Its resource table is its own: the file
    /// gives a nested sequence fresh resources.
    ///
    /// # Errors
    /// See `docs/diagnostics.md`: `XI003`, `XI004`, `XI006` to `XI011`.
    pub(super) fn sequence(
        &mut self,
        message: Message<'_>,
        path: &SequencePath,
    ) -> Result<Sequence, Diagnostic> {
        let deepest = self.options.limits.nesting.min(MAX_NESTING);
        if path.steps().len() > deepest {
            return Err(Diagnostic::error(
                "XI010",
                place(message.start),
                format!("sequences nested at most {deepest} deep"),
            )
            .hint("no program of XLA is nested like this: the file is damaged"));
        }
        // The table stands behind the thunks; read first, so that outer resources come first.
        let mut entries = Vec::new();
        let mut bodies = Vec::new();
        for field in message.fields() {
            let field = field?;
            match field.number {
                SEQUENCE_THUNK => bodies.push(field),
                SEQUENCE_RESOURCE => entries.push(field.message("a resource entry")?),
                number => self.warn(|| skipped(field, format!("field {number} of a thunk sequence"))),
            }
            if bodies.len() as u64 > u64::from(self.options.limits.thunks) {
                return Err(too_many(field.at, self.options.limits.thunks, "thunks"));
            }
            if entries.len() as u64 > u64::from(self.options.limits.uses) {
                return Err(too_many(field.at, self.options.limits.uses, "resources"));
            }
        }
        let table = resources::Table::read(self, &entries, bodies.len())?;
        let mut thunks = Vec::new();
        let mut ports = Vec::new();
        for (index, field) in bodies.iter().enumerate() {
            self.count_thunk(field.at)?;
            let (thunk, thunk_ports) = self
                .thunk(*field, path, index as u32)
                .map_err(|diagnostic| within(diagnostic, path, index))?;
            thunks.push(thunk);
            ports.push(thunk_ports);
        }
        table.assign(self, &mut thunks, &ports, path);
        Ok(Sequence { thunks })
    }

    fn thunk(
        &mut self,
        field: Field<'_>,
        path: &SequencePath,
        index: u32,
    ) -> Result<(Thunk, TokenPorts), Diagnostic> {
        let message = field.message("a thunk")?;
        let mut kind_name = "";
        let mut name = "";
        let mut body = None;
        let mut unknown = None;
        for field in message.fields() {
            let field = field?;
            match field.number {
                KIND => kind_name = field.message("the kind of a thunk")?.text()?,
                INFO => {
                    let name_in_info = field.message("the info of a thunk")?.last(OP_NAME)?;
                    name = name_in_info.map_or(Ok(""), Message::text)?;
                }
                number => match LAYOUTS.iter().find(|layout| layout.field == number) {
                    Some(layout) => {
                        let inner = field.message("the body of a thunk")?;
                        if let Some((other, _)) = body.replace((layout, inner)) {
                            let other: &Layout = other;
                            return Err(unreadable(field.at, "a thunk with one body")
                                .found(format!("field {} and field {number}", other.field)));
                        }
                    }
                    None => unknown = unknown.or(Some(field)),
                },
            }
        }
        let read = match (body, unknown) {
            (Some((layout, inner)), unknown) => {
                if let Some(field) = unknown {
                    self.warn(|| {
                        within(
                            skipped(field, format!("field {} of a {} thunk", field.number, layout.kind)),
                            path,
                            index as usize,
                        )
                    });
                }
                self.body(layout, inner, kind_name, name, path, index)
            }
            (None, Some(field)) => Err(self.unknown_thunk(field, kind_name)),
            (None, None) => Err(unreadable(message.start, "a thunk with a body").found(kind_name)),
        };
        match read {
            Err(problem) if self.options.lenient && matches!(problem.code.as_str(), "XI006" | "XI007") => {
                let kind = body.map(|(layout, _)| layout.kind).or_else(|| Kind::from_name(kind_name));
                let mut thunk = Thunk::new(kind.unwrap_or(Kind::Other), name);
                thunk.uses_unknown = true;
                self.warn(|| {
                    within(
                        Diagnostic::warning("XI015", &problem.path, &problem.expected)
                            .found(&problem.value)
                            .hint("read leniently: this thunk is taken to clash with every other one"),
                        path,
                        index as usize,
                    )
                });
                Ok((thunk, TokenPorts::default()))
            }
            other => other,
        }
    }

    fn unknown_thunk(&self, field: Field<'_>, kind_name: &str) -> Diagnostic {
        let known = LAYOUTS.last().map_or(0, |last| last.field);
        Diagnostic::error("XI006", place(field.at), format!("a thunk in one of the fields 3 to {known}"))
            .found(format!("field {} of kind `{kind_name}`, written by {}", field.number, self.producer))
            .hint(
                "this kind of thunk is newer than this reader; read it leniently (`--lenient`) to take it as \
                 one that clashes with everything",
            )
    }

    fn body(
        &mut self,
        layout: &'static Layout,
        message: Message<'_>,
        kind_name: &str,
        name: &str,
        path: &SequencePath,
        index: u32,
    ) -> Result<(Thunk, TokenPorts), Diagnostic> {
        let mut thunk = Thunk::new(kind_of(layout, message, kind_name)?, name);
        if !kind_name.is_empty() && kind_name != layout.kind.name() && kind_name != thunk.kind.name() {
            self.warn(|| {
                within(
                    Diagnostic::warning("XI018", place(message.start), format!("kind `{}`", layout.kind))
                        .found(kind_name)
                        .hint("what the thunk holds decides; the name is not used"),
                    path,
                    index as usize,
                )
            });
        }
        let (layout, holder) = match layout.kind {
            Kind::XnnFusion => xnn(message)?,
            _ => (layout, message),
        };
        let inside = match layout.inside {
            Some(number) => holder.last(number)?.unwrap_or(holder.first(0)),
            None => holder,
        };
        for (slots, access) in [(layout.reads, Access::Read), (layout.writes, Access::Write)] {
            for &slot in slots {
                let before = thunk.uses.len();
                for field in inside.fields() {
                    let field = field?;
                    if field.number == slot.field() {
                        self.count_uses(1, field.at)?;
                        let slice = slice(field.message("a slice")?, layout.kind)?;
                        thunk.uses.push(BufferUse { slice, access });
                    }
                }
                if let (One(number), found @ (0 | 2..)) = (slot, thunk.uses.len() - before) {
                    return Err(unreadable(
                        inside.start,
                        &format!("one slice in field {number} of a {} thunk", layout.kind),
                    )
                    .found(found));
                }
            }
        }
        let mut ports = TokenPorts::default();
        match layout.kind {
            Kind::Call => self.nested(&mut thunk, message, 1, |_| Role::Called, 1, path, index)?,
            Kind::Conditional => {
                self.nested(&mut thunk, message, 1, Role::Branch, usize::MAX, path, index)?;
            }
            Kind::While => {
                self.nested(&mut thunk, message, 1, |_| Role::Condition, 1, path, index)?;
                self.nested(&mut thunk, message, 2, |_| Role::Body, 1, path, index)?;
                thunk.trip_count = trip_count(message)?;
            }
            Kind::Infeed | Kind::Outfeed => ports = TokenPorts::read(message),
            _ => {}
        }
        // A collective waits for the other ranks and infeed and outfeed wait for the host, on the
        // thread that runs them. Nothing in the file says that a thunk returns before it is done
        // or completes on another pool, so `pending` and `foreign_pool` stay unset.
        thunk.may_block = thunk.kind.is_collective() || matches!(thunk.kind, Kind::Infeed | Kind::Outfeed);
        Ok((thunk, ports))
    }

    /// Reads the nested sequences in field `number`; `most` of them are allowed, and where it is
    /// one, one is needed.
    #[allow(clippy::too_many_arguments)]
    fn nested(
        &mut self,
        thunk: &mut Thunk,
        message: Message<'_>,
        number: u32,
        role: fn(u32) -> Role,
        most: usize,
        path: &SequencePath,
        index: u32,
    ) -> Result<(), Diagnostic> {
        let mut count = 0;
        for field in message.fields() {
            let field = field?;
            if field.number != number {
                continue;
            }
            let role = role(count as u32);
            count += 1;
            // Branches without thunks are cheap to write and cost memory: they count.
            self.count_uses(1, field.at)?;
            if count <= most {
                let sequence = self.sequence(field.message("a thunk sequence")?, &path.child(index, role))?;
                thunk.nested.push(Nested { role, sequence });
            }
        }
        if most == 1 && count != 1 {
            return Err(unreadable(
                message.start,
                &format!("one sequence in field {number} of a {} thunk", thunk.kind),
            )
            .found(count));
        }
        Ok(())
    }
}

/// The kind as exactly as the file tells it.
fn kind_of(layout: &Layout, message: Message<'_>, kind_name: &str) -> Result<Kind, Diagnostic> {
    if layout.kind != Kind::Collective {
        return Ok(layout.kind);
    }
    for field in message.fields() {
        let number = field?.number;
        if let Some(&(_, kind)) = COLLECTIVES.iter().find(|(field, _)| *field == number) {
            return Ok(kind);
        }
    }
    Ok(Kind::from_name(kind_name).filter(|kind| kind.is_collective()).unwrap_or(Kind::Collective))
}

fn xnn(message: Message<'_>) -> Result<(&'static Layout, Message<'_>), Diagnostic> {
    for field in message.fields() {
        let field = field?;
        if let Some(layout) = XNN.iter().find(|layout| layout.field == field.number) {
            return Ok((layout, field.message("the body of an XNN fusion")?));
        }
    }
    Err(unreadable(message.start, "an XNN dot, convolution or fusion"))
}

/// A slice in any of the three forms that releases use, told apart by wire type: plain
/// `{1: offset, 2: size, 3: allocation}`; with its shape in front, `{1: shape, 2: slice}`; or, the
/// arguments of kernels since 0.10.2, `{1: slice, 2: shape}`.
fn slice(message: Message<'_>, kind: Kind) -> Result<Slice, Diagnostic> {
    let holder = if kind == Kind::Kernel { 1 } else { 2 };
    let mut plain = false;
    let mut wrapped = None;
    for field in message.fields() {
        let field = field?;
        match (field.number, field.value) {
            (1..=3, Value::Varint(_)) => plain = true,
            (number @ 1..=2, Value::Bytes(inner)) => {
                wrapped = wrapped.or(Some(None));
                if number == holder {
                    wrapped = Some(Some(inner));
                }
            }
            (1..=3, _) => return Err(malformed(field.at, "a slice")),
            _ => {}
        }
    }
    let inner = match (plain, wrapped) {
        (true, Some(_)) => return Err(malformed(message.start, "a slice, or a slice with a shape")),
        // All numbers of a slice are optional with default 0: no bytes are the empty slice at 0.
        (_, None) => message,
        (false, Some(inner)) => inner.unwrap_or(message.first(0)),
    };
    let [offset, size, allocation] = inner.integers([1, 2, 3], "a slice")?;
    in_range(offset, size, allocation).ok_or_else(|| {
        Diagnostic::error(
            "XI008",
            place(inner.start),
            "offset and size of 0 or more with a sum of at most 2^63-1, and an allocation below 2^32",
        )
        .found(format!("offset {offset}, size {size}, allocation {allocation}"))
        .hint("the file is damaged, or no serialized XLA executable")
    })
}

fn in_range(offset: i64, size: i64, allocation: i64) -> Option<Slice> {
    let offset = u64::try_from(offset).ok()?;
    let size = u64::try_from(size).ok()?;
    let allocation = u32::try_from(allocation).ok()?;
    offset.checked_add(size).filter(|&end| end <= MAX_END)?;
    Some(Slice { allocation, offset, size })
}

/// `{1: value, 2: present}`, or a plain number; absent when the loop is dynamic.
fn trip_count(message: Message<'_>) -> Result<Option<u64>, Diagnostic> {
    const TRIP_COUNT: u32 = 3;
    for field in message.fields() {
        let field = field?;
        if field.number == TRIP_COUNT {
            return Ok(match field.value {
                Value::Varint(value) => Some(value).filter(|&value| value <= MAX_END),
                Value::Bytes(inner) => {
                    let [value, present] = inner.integers([1, 2], "a trip count")?;
                    u64::try_from(value).ok().filter(|_| present != 0)
                }
                Value::Fixed => None,
            });
        }
    }
    Ok(None)
}

/// `XI007`: the thunk's body is not as its kind needs it.
fn unreadable(at: usize, expected: &str) -> Diagnostic {
    Diagnostic::error("XI007", place(at), expected).hint(
        "the file is damaged, or newer than this reader; read it leniently (`--lenient`) to take the thunk \
         as one that clashes with everything",
    )
}

fn too_many(at: usize, most: u32, what: &str) -> Diagnostic {
    Diagnostic::error("XI011", place(at), format!("at most {most} {what}"))
        .hint("no program of XLA is that large: the file is damaged")
}

fn skipped(field: Field<'_>, what: String) -> Diagnostic {
    Diagnostic::warning("XI016", place(field.at), "a field that is known")
        .found(what)
        .hint("newer than this reader; it was skipped")
}

/// Adds the innermost thunk to the place, once.
fn within(mut diagnostic: Diagnostic, path: &SequencePath, index: usize) -> Diagnostic {
    // A place that names no thunk yet is two words: `byte 7`.
    if diagnostic.path.split(' ').count() == 2 {
        diagnostic.path = format!("{} in {path} thunk {index}", diagnostic.path);
    }
    diagnostic
}
