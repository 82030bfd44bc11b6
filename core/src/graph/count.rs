//! How many pairs of thunks clash, without looking at each pair.
//!
//! 512 earlier thunks at a time: what they touch goes into bit sets on segment trees, each
//! different slice of the program asks once whom it clashes with, and a thunk's answer is the
//! union over its slices.

use super::accesses::Accesses;
use super::last_access::Pieces;
use super::reduce::{COLUMNS, Row, WORDS, union};
use crate::program::Access;

/// Number of conflicting pairs.
pub(super) fn conflicting_pairs(accesses: &Accesses) -> u64 {
    let n = accesses.len();
    let mut block = Marks::new(accesses);
    // For each slice: whom a read of it clashes with, and whom a write.
    let mut answers: Vec<Option<[Row; 2]>> = Vec::new();
    let mut pairs = 0;
    for begin in (0..n).step_by(COLUMNS as usize) {
        let end = n.min(begin + COLUMNS);
        block.clear();
        for node in begin..end {
            for use_ in accesses.of(node) {
                block.mark(use_.pieces, node - begin, use_.access);
            }
        }
        answers.clear();
        answers.resize(accesses.slices().len(), None);
        for node in begin + 1..n {
            let mut clashes = [0; WORDS];
            for use_ in accesses.of(node) {
                let answer = answers[use_.slice as usize].get_or_insert_with(|| block.touching(use_.pieces));
                union(&mut clashes, &answer[usize::from(use_.access == Access::Write)]);
            }
            if node < end {
                mask(&mut clashes, node - begin);
            }
            pairs += clashes.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
    }
    pairs
}

/// Keeps the columns before `column`.
fn mask(row: &mut Row, column: u32) {
    for (word, first) in row.iter_mut().zip((0..).step_by(64)) {
        *word &= match column.saturating_sub(first) {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        };
    }
}

/// Which thunks of a block touch which pieces.
struct Marks {
    /// Of each tree: where its nodes begin, and its number of leaves.
    trees: Vec<(usize, u32)>,
    /// Of each tree node: its place in `rows`, or `NONE`.
    place: Vec<u32>,
    used: Vec<usize>,
    rows: Vec<Touched>,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Default)]
struct Touched {
    /// Writers, and all, of every piece here.
    whole: [Row; 2],
    /// Writers, and all, of some piece here.
    part: [Row; 2],
}

impl Marks {
    fn new(accesses: &Accesses) -> Self {
        let (mut trees, mut size) = (Vec::new(), 0);
        for tree in &accesses.trees {
            let leaves = tree.size.pieces.next_power_of_two();
            trees.push((size, leaves));
            size += 2 * leaves as usize;
        }
        Self { trees, place: vec![NONE; size], used: Vec::new(), rows: Vec::new() }
    }

    fn clear(&mut self) {
        self.rows.clear();
        for node in self.used.drain(..) {
            self.place[node] = NONE;
        }
    }

    fn mark(&mut self, pieces: Pieces, column: u32, access: Access) {
        let (base, leaves) = self.trees[pieces.tree as usize];
        self.mark_at(base, 1, [0, leaves], pieces, column, access);
    }

    fn mark_at(
        &mut self,
        base: usize,
        v: usize,
        [lo, hi]: [u32; 2],
        pieces: Pieces,
        column: u32,
        access: Access,
    ) {
        let place = &mut self.place[base + v];
        if *place == NONE {
            *place = self.rows.len() as u32;
            self.used.push(base + v);
            self.rows.push(Touched::default());
        }
        let Touched { whole, part } = &mut self.rows[*place as usize];
        let inside = pieces.lo <= lo && hi <= pieces.hi;
        let [written, any] = if inside { whole } else { part };
        let (word, bit) = ((column / 64) as usize, 1 << (column % 64));
        any[word] |= bit;
        if access == Access::Write {
            written[word] |= bit;
        }
        if inside {
            return;
        }
        let mid = lo + (hi - lo) / 2;
        for (child, [lo, hi]) in [(2 * v, [lo, mid]), (2 * v + 1, [mid, hi])] {
            if pieces.lo < hi && lo < pieces.hi {
                self.mark_at(base, child, [lo, hi], pieces, column, access);
            }
        }
    }

    /// Who writes, and who touches, any of `pieces`.
    fn touching(&self, pieces: Pieces) -> [Row; 2] {
        let (base, leaves) = self.trees[pieces.tree as usize];
        let mut found = [[0; WORDS]; 2];
        self.touching_at(base, 1, [0, leaves], pieces, &mut found);
        found
    }

    fn touching_at(&self, base: usize, v: usize, [lo, hi]: [u32; 2], pieces: Pieces, found: &mut [Row; 2]) {
        let place = self.place[base + v];
        if place == NONE {
            return;
        }
        let Touched { whole, part } = &self.rows[place as usize];
        found.iter_mut().zip(whole).for_each(|(found, row)| union(found, row));
        if pieces.lo <= lo && hi <= pieces.hi {
            found.iter_mut().zip(part).for_each(|(found, row)| union(found, row));
            return;
        }
        let mid = lo + (hi - lo) / 2;
        for (child, [lo, hi]) in [(2 * v, [lo, mid]), (2 * v + 1, [mid, hi])] {
            if pieces.lo < hi && lo < pieces.hi {
                self.touching_at(base, child, [lo, hi], pieces, found);
            }
        }
    }
}
