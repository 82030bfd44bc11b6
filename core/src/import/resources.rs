//! Resources of one sequence: its table in the file, and who reads and who writes them.
//!
//! A collective writes its communicator. Infeed and outfeed read one token and write one, but the
//! table does not say which is which; that is inferred from the order of thunks, see [`infer`].

use super::thunk::Reader;
use super::wire::{Message, Value, place};
use crate::diagnostic::Diagnostic;
use crate::program::{Access, Kind, Resource, ResourceKind, ResourceUse, SequencePath, Thunk};

const INDICES: u32 = 1;
const RESOURCE: u32 = 2;

/// Whether an infeed or outfeed takes a token in and gives one out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenPorts {
    consumes: bool,
    produces: bool,
}

impl TokenPorts {
    /// From field 1 of the body: `{1: consumed, 2: produced}`, each `{1: resource, 2: present}`.
    /// Where that cannot be read, both are assumed.
    pub(super) fn read(body: Message<'_>) -> Self {
        let present = |number| -> Option<bool> {
            let port = body.last(1).ok()??.last(number).ok()?;
            Some(port.is_some_and(|port| {
                port.fields().flatten().any(|field| {
                    field.number == 2 && matches!(field.value, Value::Varint(value) if value != 0)
                })
            }))
        };
        Self { consumes: present(1).unwrap_or(true), produces: present(2).unwrap_or(true) }
    }
}

/// The resource table of one sequence.
pub(super) struct Table {
    /// Global index of the first resource.
    first: u32,
    kinds: Vec<ResourceKind>,
    /// `(thunk, resource of this table)` in table order; a thunk may stand there twice.
    users: Vec<(u32, u32)>,
}

impl Table {
    /// Reads the table of a sequence of `thunks` thunks and adds its resources to the program's.
    ///
    /// # Errors
    /// `XI003`, `XI004`, `XI009`, `XI011`.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        entries: &[Message<'_>],
        thunks: usize,
    ) -> Result<Self, Diagnostic> {
        let first = reader.resources.len() as u32;
        let mut table = Self { first, kinds: Vec::new(), users: Vec::new() };
        for (id, entry) in entries.iter().enumerate() {
            reader.count_uses(1, entry.start)?;
            let mut kind = 0;
            for field in entry.fields() {
                let field = field?;
                match (field.number, field.value) {
                    (INDICES, Value::Varint(index)) => {
                        table.user(reader, index, id, thunks, field.at)?;
                    }
                    (INDICES, Value::Bytes(mut packed)) => {
                        while !packed.bytes.is_empty() {
                            let at = packed.start;
                            let (index, rest) = packed.varint()?;
                            packed = rest;
                            table.user(reader, index, id, thunks, at)?;
                        }
                    }
                    (RESOURCE, Value::Bytes(inner)) => {
                        [kind] = inner.integers([1], "a resource")?;
                    }
                    (INDICES | RESOURCE, _) => {
                        return Err(super::wire::malformed(field.at, "a resource entry"));
                    }
                    _ => {}
                }
            }
            let kind = match kind {
                1 => ResourceKind::Token,
                2 => ResourceKind::Communicator,
                unknown => {
                    // An enum of protobuf has 32 bits.
                    let unknown = unknown as i32;
                    reader.warn(|| {
                        Diagnostic::warning("XI009", place(entry.start), "a token (1) or a communicator (2)")
                            .found(format!("resource kind {unknown}"))
                            .hint("taken as a token, which orders most strictly")
                    });
                    ResourceKind::Token
                }
            };
            table.kinds.push(kind);
            reader.resources.push(Resource { kind, label: String::new() });
        }
        Ok(table)
    }

    fn user(
        &mut self,
        reader: &mut Reader<'_>,
        index: u64,
        id: usize,
        thunks: usize,
        at: usize,
    ) -> Result<(), Diagnostic> {
        reader.count_uses(1, at)?;
        let Some(index) = u32::try_from(index).ok().filter(|&index| (index as usize) < thunks) else {
            return Err(Diagnostic::error("XI009", place(at), format!("a thunk below {thunks}"))
                .found(index)
                .hint("the resource table names a thunk that is not there: the file is damaged"));
        };
        self.users.push((index, id as u32));
        Ok(())
    }

    /// Gives each thunk its uses of resources. Control flow gets what the table says for it; what
    /// is inside it has resources of its own.
    pub(super) fn assign(
        mut self,
        reader: &mut Reader<'_>,
        thunks: &mut [Thunk],
        ports: &[TokenPorts],
        path: &SequencePath,
    ) {
        if self.kinds.is_empty() {
            self.assume(reader, thunks, path);
        }
        // By thunk, then by resource: the order in which uses are listed.
        self.users.sort_unstable();
        let users = std::mem::take(&mut self.users);
        let mut feeds = Vec::new();
        for group in users.chunk_by(|a, b| a.0 == b.0) {
            let index = group[0].0 as usize;
            let thunk = &mut thunks[index];
            let is_feed = matches!(thunk.kind, Kind::Infeed | Kind::Outfeed);
            let (tokens, others): (Vec<u32>, Vec<u32>) = group
                .iter()
                .map(|user| user.1)
                .partition(|&id| self.kinds[id as usize] == ResourceKind::Token);
            let written = if is_feed { others } else { group.iter().map(|user| user.1).collect() };
            thunk.resources.extend(written.into_iter().map(|id| self.global(id, Access::Write)));
            if !tokens.is_empty() {
                let feed = if is_feed { Feed::of(&tokens, ports[index]) } else { Feed::writing(tokens) };
                feeds.push((index, is_feed, feed));
            }
        }
        let choices = infer(feeds.iter().map(|(_, _, feed)| feed), self.kinds.len());
        for ((index, is_feed, feed), swap) in feeds.into_iter().zip(choices.swapped) {
            let (reads, writes) = match feed {
                Feed::Fixed { reads, writes } => (reads, writes),
                Feed::Either(a, b) if swap => (Some(b), vec![a]),
                Feed::Either(a, b) => (Some(a), vec![b]),
            };
            if is_feed {
                let uses = &mut thunks[index].resources;
                uses.extend(reads.map(|id| self.global(id, Access::Read)));
                uses.extend(writes.into_iter().map(|id| self.global(id, Access::Write)));
            }
        }
        for thunk in thunks {
            thunk.resources.sort_unstable();
            thunk.resources.dedup();
        }
        if choices.ambiguous {
            reader.warn(|| {
                Diagnostic::warning("XI017", path.to_string(), "tokens that form one chain").hint(
                    "the file does not say which token an infeed or outfeed reads; the likeliest is used",
                )
            });
        }
    }

    fn global(&self, id: u32, access: Access) -> ResourceUse {
        ResourceUse { resource: self.first + id, access }
    }

    /// Without a table (0.5.3 has none): one token for all feeds and one communicator for all
    /// collectives, each written by all, which is the safe reading.
    fn assume(&mut self, reader: &mut Reader<'_>, thunks: &[Thunk], path: &SequencePath) {
        let mut users = [Vec::new(), Vec::new()];
        for (index, thunk) in thunks.iter().enumerate() {
            let inside = |kind| {
                let uses = thunk.nested.iter().flat_map(|nested| &nested.sequence.thunks);
                uses.flat_map(|thunk| &thunk.resources)
                    .any(|used| reader.resources[used.resource as usize].kind == kind)
            };
            if matches!(thunk.kind, Kind::Infeed | Kind::Outfeed) || inside(ResourceKind::Token) {
                users[0].push(index as u32);
            }
            if thunk.kind.is_collective() || inside(ResourceKind::Communicator) {
                users[1].push(index as u32);
            }
        }
        // Nested sequences have added theirs in the meantime.
        self.first = reader.resources.len() as u32;
        let shared = users.iter().any(|users| users.len() > 1);
        for (kind, users) in [ResourceKind::Token, ResourceKind::Communicator].into_iter().zip(users) {
            if users.is_empty() {
                continue;
            }
            let id = self.kinds.len() as u32;
            self.kinds.push(kind);
            reader.resources.push(Resource { kind, label: "assumed".to_owned() });
            self.users.extend(users.into_iter().map(|thunk| (thunk, id)));
        }
        if shared {
            reader.warn(||
                Diagnostic::warning("XI019", path.to_string(), "a resource table")
                    .hint("jaxlib 0.5 has none: all feeds are taken to share one token, and all collectives one communicator"),
            );
        }
    }
}

/// What one thunk does with tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Feed {
    /// Known.
    Fixed { reads: Option<u32>, writes: Vec<u32> },
    /// Reads one of the two and writes the other.
    Either(u32, u32),
}

impl Feed {
    /// A thunk that is taken to write all of them.
    fn writing(tokens: Vec<u32>) -> Self {
        Self::Fixed { reads: None, writes: tokens }
    }

    /// An infeed or outfeed that stands with `tokens` in the table.
    fn of(tokens: &[u32], ports: TokenPorts) -> Self {
        match *tokens {
            [a, b] if a != b => Self::Either(a, b),
            [token] | [token, _] => {
                let both = tokens.len() == 2 || ports.consumes == ports.produces;
                Self::Fixed {
                    reads: (both || ports.consumes).then_some(token),
                    writes: if both || ports.produces { vec![token] } else { Vec::new() },
                }
            }
            _ => Self::writing(tokens.to_vec()),
        }
    }
}

/// One choice per thunk: whether a [`Feed::Either`] is swapped, that is, reads the second.
struct Choices {
    swapped: Vec<bool>,
    /// Another choice would have been as good.
    ambiguous: bool,
}

/// What is known of a token while going through the thunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    /// Nobody wrote it.
    Unset,
    /// Written, and not read since.
    Fresh,
    /// Written and read.
    Spent,
}

/// One way through the thunks so far.
#[derive(Clone)]
struct Way {
    /// Exceptions to the chain.
    cost: u32,
    tokens: Vec<Token>,
    /// The last choice, in the trail.
    last: usize,
    /// Another way of the same cost came to the same tokens.
    tied: bool,
}

impl Way {
    fn step(&self, reads: Option<u32>, writes: &[u32]) -> Self {
        let mut next = self.clone();
        if let Some(token) = reads {
            let state = &mut next.tokens[token as usize];
            next.cost += u32::from(*state != Token::Fresh);
            *state = Token::Spent;
        }
        for &token in writes {
            let state = &mut next.tokens[token as usize];
            next.cost += u32::from(*state == Token::Fresh);
            *state = Token::Fresh;
        }
        next
    }

    /// Tokens that nobody reads in the end are exceptions too.
    fn total(&self) -> u32 {
        self.cost + self.tokens.iter().filter(|&&token| token == Token::Fresh).count() as u32
    }
}

/// Chooses who reads which token so that tokens are handed on as in a chain: each one that is
/// read was written before, and each one that is written gets read, once. Every exception costs 1;
/// the cheapest choice wins, the lower token read first where two are equal. A beam search: exact
/// while few chains are open at a time, and bounded always.
fn infer<'a>(feeds: impl ExactSizeIterator<Item = &'a Feed> + Clone, tokens: usize) -> Choices {
    const BEAM: usize = 64;
    /// Thunks times tokens beyond which nothing is tried.
    const MAX_WORK: usize = 1 << 17;

    let length = feeds.len();
    let open = feeds.clone().any(|feed| matches!(feed, Feed::Either(..)));
    if !open || length.saturating_mul(tokens.max(8)) > MAX_WORK {
        return Choices { swapped: vec![false; length], ambiguous: open };
    }
    // All choices made on any way: (the one before, swapped).
    let mut trail = vec![(0, false)];
    let start = Way { cost: 0, tokens: vec![Token::Unset; tokens], last: 0, tied: false };
    let mut beam = vec![start];
    for feed in feeds {
        let mut next: Vec<Way> = Vec::with_capacity(2 * beam.len());
        let mut go = |way: &Way, reads, writes: &[u32], swapped| {
            trail.push((way.last, swapped));
            next.push(Way { last: trail.len() - 1, ..way.step(reads, writes) });
        };
        for way in &beam {
            match feed {
                Feed::Fixed { reads, writes } => go(way, *reads, writes, false),
                &Feed::Either(a, b) => {
                    go(way, Some(a), &[b], false);
                    go(way, Some(b), &[a], true);
                }
            }
        }
        // Of ways that came to the same tokens the cheapest stays, the first where costs are equal.
        next.sort_unstable_by(|a, b| (&a.tokens, a.cost, a.last).cmp(&(&b.tokens, b.cost, b.last)));
        next.dedup_by(|later, kept| {
            let same = later.tokens == kept.tokens;
            kept.tied |= same && (later.cost == kept.cost);
            same
        });
        next.sort_unstable_by_key(|way| (way.cost, way.last));
        next.truncate(BEAM);
        beam = next;
    }
    beam.sort_unstable_by_key(|way| (way.total(), way.last));
    let best = &beam[0];
    let ambiguous = best.tied || beam.get(1).is_some_and(|second| second.total() == best.total());
    let mut swapped = Vec::with_capacity(length);
    let mut at = best.last;
    while at != 0 {
        swapped.push(trail[at].1);
        at = trail[at].0;
    }
    swapped.reverse();
    Choices { swapped, ambiguous }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a|b` reads one and writes the other; `a>b` reads and writes as said. The answer has all as
    /// `read>written`.
    #[track_caller]
    fn check(input: &str, expected: &str, ambiguous: bool) {
        let number = |text: &str| text.parse::<u32>().expect("a token");
        let feeds: Vec<Feed> = input
            .split(' ')
            .map(|word| match (word.split_once('|'), word.split_once('>')) {
                (Some((a, b)), _) => Feed::Either(number(a), number(b)),
                (_, Some((a, b))) => Feed::Fixed { reads: Some(number(a)), writes: vec![number(b)] },
                _ => panic!("{word}"),
            })
            .collect();
        let choices = infer(feeds.iter(), 10);
        let shown: Vec<String> = feeds
            .iter()
            .zip(&choices.swapped)
            .map(|(feed, &swapped)| match feed {
                Feed::Either(a, b) if swapped => format!("{b}>{a}"),
                Feed::Either(a, b) => format!("{a}>{b}"),
                Feed::Fixed { reads, writes } => format!("{}>{}", reads.expect("read"), writes[0]),
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
        assert_eq!(choices.ambiguous, ambiguous);
    }

    #[test]
    fn a_chain_through_reused_tokens() {
        // The sample `tokens_infeed`.
        check("1|2 1|2 1|2 2>2 0|2", "1>2 2>1 1>2 2>2 2>0", false);
    }

    #[test]
    fn chains_of_many_tokens() {
        check("0|1 1|2 2|3 3|4", "0>1 1>2 2>3 3>4", false);
        check("1|2 0|1 0|3", "2>1 1>0 0>3", false);
    }

    #[test]
    fn two_chains_side_by_side() {
        check("0|1 2|3 1|4 3|5", "0>1 2>3 1>4 3>5", false);
    }

    #[test]
    fn one_thunk_alone_tells_nothing() {
        check("0|1", "0>1", true);
    }
}
