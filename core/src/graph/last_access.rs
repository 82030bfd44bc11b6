//! Who last wrote each byte of an allocation, and who has read it since.
//!
//! One segment tree per allocation over the pieces between the end points of its slices. A write
//! collapses what it covers into one tree node, so that a range which many small accesses have
//! cut up costs its size once, not at every later large access. Work over a whole sweep is
//! `O((uses + edges found) · log pieces)`. Where slices cover few pieces each, as they mostly do,
//! there is nothing to collapse, and the pieces are kept without a tree above them.
//!
//! Two kinds of edge that a later reader makes needless are not even found. Say `r` read
//! everything below a node, some `w` wrote there afterwards, and now `i` reads it all. Then
//! `r → w → i`, so `i` need not wait for the writers before `r`; and who waits for `i` need not
//! wait for `r`. Without this, small writes between large reads would give edges without end.

/// No thunk: the bytes hold what they held before the sequence.
const NOBODY: u32 = u32::MAX;
/// The pieces below a tree node differ in their last writer.
const MIXED: u32 = u32::MAX - 1;
/// The end of a list of readers.
const END: u32 = u32::MAX;

/// One tree per allocation or resource, all in flat arrays.
pub(super) struct LastAccess {
    trees: Vec<Tree>,
    nodes: Vec<Node>,
    readers: Vec<Reader>,
    /// Head of the list of unused entries of `readers`.
    free: u32,
}

#[derive(Clone, Copy)]
struct Tree {
    /// Tree node `v ≥ 1` is `nodes[base + v]`; its children are `2v` and `2v + 1`.
    base: usize,
    /// A power of two; 0 if there is no tree: then piece `p` is `nodes[base + p]`.
    leaves: u32,
}

/// How large a tree must be.
#[derive(Clone, Copy)]
pub(super) struct TreeSize {
    /// Number of pieces, at least 1.
    pub(super) pieces: u32,
    /// Only pieces, no tree above them: accesses cover few.
    pub(super) flat: bool,
}

#[derive(Clone, Copy)]
struct Node {
    /// The last writer of *all* pieces here, or `MIXED`. Unless `MIXED`, writers below are stale.
    writer: u32,
    /// List of those who have read *all* pieces here since the last write.
    readers: u32,
    /// Whether nodes below have readers. Unless this or `MIXED`, everything below but `all_read`
    /// is stale.
    below: bool,
    /// 1 + the latest writer of some piece here, or 0.
    newest: u32,
    /// 1 + the last that read all pieces here, or 0. Once true, it is true for ever.
    all_read: u32,
}

const UNTOUCHED: Node = Node { writer: NOBODY, readers: END, below: false, newest: 0, all_read: 0 };

#[derive(Clone, Copy)]
struct Reader {
    thunk: u32,
    next: u32,
    /// If a write to another piece under the same node moved this entry down: 1 + its writer.
    /// The writer waits for the reader.
    followed: u32,
}

impl Reader {
    /// Whether `writer` need not wait for this reader, because a later one did. `all_read`: of the
    /// nodes above the one whose list this is in.
    ///
    /// The write that moved this entry here was below that node, so that the later reader waits
    /// for it (or is the one that wrote). What `writer` itself has moved is still to be found.
    fn is_implied(&self, all_read: u32, writer: u32) -> bool {
        let moved = self.followed != 0 && self.followed != writer + 1;
        moved && self.followed <= all_read && self.thunk + 1 != all_read
    }
}

/// The pieces `lo..hi` of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pieces {
    pub(super) tree: u32,
    pub(super) lo: u32,
    pub(super) hi: u32,
}

/// A tree node and the pieces `lo..hi` below it.
#[derive(Clone, Copy)]
struct At {
    v: usize,
    lo: u32,
    hi: u32,
}

/// What makes writers needless.
#[derive(Clone, Copy)]
struct Known {
    prune: bool,
    /// The largest `all_read` of the nodes above.
    all_read: u32,
    /// Writers `w` with `w + 1 <= older` are implied.
    older: u32,
}

impl Known {
    const NOTHING: Self = Self { prune: false, all_read: 0, older: 0 };
}

/// What is known on the way down to the nodes that a write clears.
#[derive(Clone, Copy)]
struct Cleared {
    /// Who writes.
    by: u32,
    /// Some reader has read it all since the last write.
    covered: bool,
    /// The last writer of everything here, if a node above knows it, else `MIXED`.
    writer: u32,
    /// The largest `all_read` of the nodes above.
    all_read: u32,
}

impl At {
    fn root(leaves: u32) -> Self {
        Self { v: 1, lo: 0, hi: leaves }
    }

    fn children(self) -> [Self; 2] {
        let mid = self.lo + (self.hi - self.lo) / 2;
        [Self { v: 2 * self.v, hi: mid, ..self }, Self { v: 2 * self.v + 1, lo: mid, ..self }]
    }
}

impl LastAccess {
    /// Trees of the given sizes, untouched.
    pub(super) fn new(sizes: impl Iterator<Item = TreeSize>) -> Self {
        let (mut trees, mut base) = (Vec::new(), 0);
        for TreeSize { pieces, flat } in sizes {
            let leaves = if flat { 0 } else { pieces.next_power_of_two() };
            trees.push(Tree { base, leaves });
            base += if flat { pieces } else { 2 * leaves } as usize;
        }
        Self { trees, nodes: vec![UNTOUCHED; base], readers: Vec::new(), free: END }
    }

    /// Hands the last writers of `pieces` to `found` and notes `reader`. Repeats are possible, and
    /// writers that the others wait for may be missing.
    pub(super) fn read(&mut self, pieces: Pieces, reader: u32, found: &mut impl FnMut(u32)) {
        let Tree { base, leaves } = self.trees[pieces.tree as usize];
        match leaves {
            0 => {
                (pieces.lo..pieces.hi).for_each(|piece| self.read_all(base, piece as usize, reader, 0, found))
            }
            leaves => self.read_at(base, At::root(leaves), pieces, reader, 0, found),
        }
    }

    /// Hands everyone that a write to `pieces` must wait for to `found`: the readers since the last
    /// write and, where there are none, the last writer. Then `writer` is the last writer and
    /// there are no readers. Repeats are possible, and readers that the others wait for may be
    /// missing.
    ///
    /// A thunk's reads come before its writes: where it reads what it writes, the last writer was
    /// found by the read.
    pub(super) fn write(&mut self, pieces: Pieces, writer: u32, found: &mut impl FnMut(u32)) {
        let Tree { base, leaves } = self.trees[pieces.tree as usize];
        match leaves {
            0 => (pieces.lo..pieces.hi)
                .for_each(|piece| self.write_all(base, piece as usize, writer, 0, found)),
            leaves => self.write_at(base, At::root(leaves), pieces, writer, 0, found),
        }
    }

    /// Hands exactly the last writers of `pieces` to `found`; repeats are possible.
    pub(super) fn last_writers(&mut self, pieces: Pieces, found: &mut impl FnMut(u32)) {
        let Tree { base, leaves } = self.trees[pieces.tree as usize];
        match leaves {
            0 => (pieces.lo..pieces.hi)
                .for_each(|piece| self.writers_at(base, piece as usize, Known::NOTHING, found)),
            leaves => self.look_at(base, At::root(leaves), pieces, found),
        }
    }

    /// Reads everything below `v`.
    fn read_all(&mut self, base: usize, v: usize, reader: u32, above: u32, found: &mut impl FnMut(u32)) {
        self.writers_at(base, v, Known { prune: true, all_read: above, older: 0 }, found);
        let next = self.nodes[base + v].readers;
        if next == END || self.readers[next as usize].thunk != reader {
            self.nodes[base + v].readers = self.entry(Reader { thunk: reader, next, followed: 0 });
        }
        self.nodes[base + v].all_read = reader + 1;
    }

    /// Writes everything below `v`.
    fn write_all(&mut self, base: usize, v: usize, writer: u32, above: u32, found: &mut impl FnMut(u32)) {
        self.clear(base, v, Cleared { by: writer, covered: false, writer: MIXED, all_read: above }, found);
        let all_read = self.nodes[base + v].all_read;
        self.nodes[base + v] = Node { writer, newest: writer + 1, all_read, ..UNTOUCHED };
    }

    /// `above`, here and below: the largest `all_read` of the nodes above.
    fn read_at(
        &mut self,
        base: usize,
        at: At,
        pieces: Pieces,
        reader: u32,
        above: u32,
        found: &mut impl FnMut(u32),
    ) {
        if pieces.lo <= at.lo && at.hi <= pieces.hi {
            return self.read_all(base, at.v, reader, above, found);
        }
        self.push_writer(base, at.v);
        let above = above.max(self.nodes[base + at.v].all_read);
        for child in at.children() {
            if pieces.lo < child.hi && child.lo < pieces.hi {
                self.read_at(base, child, pieces, reader, above, found);
            }
        }
        self.nodes[base + at.v].below = true;
    }

    fn write_at(
        &mut self,
        base: usize,
        at: At,
        pieces: Pieces,
        writer: u32,
        above: u32,
        found: &mut impl FnMut(u32),
    ) {
        if pieces.lo <= at.lo && at.hi <= pieces.hi {
            return self.write_all(base, at.v, writer, above, found);
        }
        self.push_writer(base, at.v);
        self.push_readers(base, at.v, writer, above);
        let above = above.max(self.nodes[base + at.v].all_read);
        for child in at.children() {
            if pieces.lo < child.hi && child.lo < pieces.hi {
                self.write_at(base, child, pieces, writer, above, found);
            }
        }
        let [left, right] = [self.nodes[base + 2 * at.v], self.nodes[base + 2 * at.v + 1]];
        let node = &mut self.nodes[base + at.v];
        node.writer = if left.writer == right.writer { left.writer } else { MIXED };
        node.below = left.below || right.below || left.readers != END || right.readers != END;
        node.newest = writer + 1;
    }

    fn look_at(&mut self, base: usize, at: At, pieces: Pieces, found: &mut impl FnMut(u32)) {
        if (pieces.lo <= at.lo && at.hi <= pieces.hi) || self.nodes[base + at.v].writer != MIXED {
            return self.writers_at(base, at.v, Known::NOTHING, found);
        }
        for child in at.children() {
            if pieces.lo < child.hi && child.lo < pieces.hi {
                self.look_at(base, child, pieces, found);
            }
        }
    }

    /// Finds the last writers of everything below `v`, but for those that are implied.
    fn writers_at(&self, base: usize, v: usize, mut known: Known, found: &mut impl FnMut(u32)) {
        let Node { writer, newest, all_read, .. } = self.nodes[base + v];
        if known.prune {
            known.all_read = known.all_read.max(all_read);
            if newest >= known.all_read {
                known.older = known.older.max(known.all_read.saturating_sub(1));
            }
        }
        match writer {
            _ if newest <= known.older => {}
            NOBODY => {}
            MIXED => {
                self.writers_at(base, 2 * v, known, found);
                self.writers_at(base, 2 * v + 1, known, found);
            }
            writer => found(writer),
        }
    }

    /// Finds whom a write to everything below `v` waits for, and frees the lists of readers.
    fn clear(&mut self, base: usize, v: usize, mut state: Cleared, found: &mut impl FnMut(u32)) {
        let node = self.nodes[base + v];
        state.covered |= node.readers != END;
        let mut entry = node.readers;
        while entry != END {
            let reader = self.readers[entry as usize];
            if !reader.is_implied(state.all_read, state.by) {
                found(reader.thunk);
            }
            self.release(entry);
            entry = reader.next;
        }
        if state.writer == MIXED {
            state.writer = node.writer;
        }
        state.all_read = state.all_read.max(node.all_read);
        if node.below {
            self.clear(base, 2 * v, state, found);
            self.clear(base, 2 * v + 1, state, found);
        } else if !state.covered {
            match state.writer {
                NOBODY => {}
                MIXED => self.writers_at(base, v, Known::NOTHING, found),
                writer => found(writer),
            }
        }
    }

    /// Makes the children of `v` up to date in everything but `v`'s own readers.
    fn push_writer(&mut self, base: usize, v: usize) {
        let Node { writer, below, .. } = self.nodes[base + v];
        if writer == MIXED {
            return;
        }
        let newest = if writer == NOBODY { 0 } else { writer + 1 };
        for child in [2 * v, 2 * v + 1] {
            let child = &mut self.nodes[base + child];
            let live = if below { *child } else { Node { all_read: child.all_read, ..UNTOUCHED } };
            *child = Node { writer, newest, ..live };
        }
    }

    /// Moves `v`'s readers to its children, because `writer` writes below: it waits for each of
    /// them that is not implied, so the copies are paid for by edges.
    fn push_readers(&mut self, base: usize, v: usize, writer: u32, above: u32) {
        let mut entry = std::mem::replace(&mut self.nodes[base + v].readers, END);
        while entry != END {
            let reader = self.readers[entry as usize];
            self.release(entry);
            if !reader.is_implied(above, writer) {
                for child in [2 * v, 2 * v + 1] {
                    let next = self.nodes[base + child].readers;
                    let moved = Reader { thunk: reader.thunk, next, followed: writer + 1 };
                    self.nodes[base + child].readers = self.entry(moved);
                }
            }
            entry = reader.next;
        }
    }

    fn release(&mut self, entry: u32) {
        self.readers[entry as usize].next = self.free;
        self.free = entry;
    }

    fn entry(&mut self, reader: Reader) -> u32 {
        if self.free == END {
            self.readers.push(reader);
            (self.readers.len() - 1) as u32
        } else {
            let entry = self.free;
            self.free = self.readers[entry as usize].next;
            self.readers[entry as usize] = reader;
            entry
        }
    }
}
