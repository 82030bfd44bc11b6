//! Programs made from a seed: the shapes that tests and benchmarks share.

use super::{Kind, Origin, Program, Sequence, Thunk};
use crate::rng::Rng;

/// A family of generated programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Every thunk writes the same buffer: a chain, and N²/2 conflicting pairs.
    Chain,
    /// One thunk writes, N−2 read it side by side, the last reads them all.
    Wide,
    /// Each thunk reads up to four slices that were written among the last 64 and writes one.
    Local,
    /// Blocks of attention and MLP over a few temporaries whose slices are reused block by block.
    Transformer,
}

impl Shape {
    /// Every shape, in the order of the benchmark tables.
    pub const ALL: [Self; 4] = [Self::Chain, Self::Wide, Self::Local, Self::Transformer];

    /// For people and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Wide => "wide",
            Self::Local => "local",
            Self::Transformer => "transformer",
        }
    }

    /// A program of `n` thunks. The same arguments give the same program everywhere.
    pub fn generate(self, n: u32, seed: u64) -> Program {
        let thunks = match self {
            Self::Chain => (0..n).map(|i| kernel(i).writes(0, 0, 4096)).collect(),
            Self::Wide => wide(n),
            Self::Local => local(n, &mut Rng::new(seed)),
            Self::Transformer => transformer(n),
        };
        Program {
            name: format!("{}-{n}", self.name()),
            origin: Origin { format: "generated".to_owned(), release: String::new() },
            sequence: Sequence { thunks },
            ..Program::default()
        }
    }
}

/// Bytes of one generated slice: above the small-buffers threshold.
const SLICE: u64 = 1024;

fn kernel(i: u32) -> Thunk {
    Thunk::new(Kind::Kernel, format!("k{i}"))
}

fn wide(n: u32) -> Vec<Thunk> {
    let slot = |i: u32| u64::from(i) * SLICE;
    let mut thunks = Vec::with_capacity(n as usize);
    for i in 0..n {
        let last = i + 1 == n && n > 2;
        let thunk = kernel(i);
        thunks.push(if i == 0 {
            thunk.writes(0, 0, SLICE)
        } else if last {
            (1..i).fold(thunk, |thunk, j| thunk.reads(1, slot(j), SLICE)).writes(0, 0, SLICE)
        } else {
            thunk.reads(0, 0, SLICE).writes(1, slot(i), SLICE)
        });
    }
    thunks
}

fn local(n: u32, rng: &mut Rng) -> Vec<Thunk> {
    /// How far back a thunk reads; slices of one temporary are reused at twice that distance.
    const WINDOW: u32 = 64;
    let slot = |i: u32| u64::from(i % (2 * WINDOW)) * SLICE;
    (0..n)
        .map(|i| {
            let reads = rng.below(5).min(u64::from(i));
            let thunk = (0..reads).fold(kernel(i), |thunk, _| {
                let back = 1 + rng.below(u64::from(WINDOW.min(i))) as u32;
                thunk.reads(0, slot(i - back), SLICE)
            });
            thunk.writes(0, slot(i), SLICE)
        })
        .collect()
}

fn transformer(n: u32) -> Vec<Thunk> {
    // Allocation 0: activations, two halves used in turn. 1: temporaries, reused by every block.
    // 2 + block: the block's weights, read only.
    const HEADS: u32 = 8;
    const PER_BLOCK: u32 = 2 + 3 * HEADS + 3;
    let temp = |slot: u32| u64::from(slot) * SLICE;
    (0..n)
        .map(|i| {
            let (block, at) = (i / PER_BLOCK, i % PER_BLOCK);
            let (x, y) = (u64::from(block % 2) * SLICE, u64::from(1 - block % 2) * SLICE);
            let weights = 2 + block;
            let thunk = kernel(i);
            match at {
                // Normalise, then project to q, k and v of all heads in one slice.
                0 => thunk.reads(0, x, SLICE).writes(1, temp(0), SLICE),
                1 => thunk.reads(1, temp(0), SLICE).reads(weights, 0, SLICE).writes(1, temp(1), SLICE),
                // Three thunks per head: scores, softmax in place, weighted sum.
                at if at < 2 + 3 * HEADS => {
                    let (head, part) = ((at - 2) / 3, (at - 2) % 3);
                    let (score, out) = (temp(2 + head), temp(2 + HEADS + head));
                    match part {
                        0 => thunk.reads(1, temp(1), SLICE).writes(1, score, SLICE),
                        1 => thunk.reads(1, score, SLICE).writes(1, score, SLICE),
                        _ => thunk.reads(1, score, SLICE).reads(1, temp(1), SLICE).writes(1, out, SLICE),
                    }
                }
                // Join the heads, MLP up, MLP down with the residual into the other half.
                at => match at - 2 - 3 * HEADS {
                    0 => thunk
                        .reads(1, temp(2 + HEADS), u64::from(HEADS) * SLICE)
                        .reads(weights, 0, SLICE)
                        .writes(1, temp(0), SLICE),
                    1 => thunk.reads(1, temp(0), SLICE).reads(weights, 0, SLICE).writes(1, temp(1), SLICE),
                    _ => thunk.reads(1, temp(1), SLICE).reads(0, x, SLICE).writes(0, y, SLICE),
                },
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_the_size_asked_for_and_repeat() {
        for shape in Shape::ALL {
            for n in [0, 1, 2, 3, 100] {
                let program = shape.generate(n, 7);
                assert_eq!(program.sequence.thunks.len(), n as usize, "{shape:?}");
                assert_eq!(program, shape.generate(n, 7));
            }
        }
    }
}
