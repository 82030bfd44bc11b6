//! Whether the executor runs a sequence in program order on one thread (executor spec §3).
//!
//! The decision is made once, when the executor is built. All three rules are reported with their
//! margins, not only the first that holds.

use super::{Graph, NodeId};
use crate::program::Sequence;

/// The two limits of XLA's executor. No environment variable and no XLA flag reaches them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thresholds {
    /// Largest slice of a program of small buffers, in bytes (`execute_sequential_buffer_threshold`).
    pub buffer: u64,
    /// Most thunks of a small program (`execute_sequential_num_thunks_threshold`).
    pub thunks: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { buffer: 512, thunks: 8 }
    }
}

/// Sequential or not, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Whether any of the rules holds: program order, one thread.
    pub sequential: bool,
    /// The graph leaves no choice.
    pub chain: Chain,
    /// Nothing that is used is large.
    pub small_buffers: SmallBuffers,
    /// There is little to run.
    pub few_thunks: FewThunks,
}

/// Rule: every node after the first has an edge from the node just before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    /// Whether the rule holds. It does for 0 or 1 thunks.
    pub holds: bool,
    /// The first node that could start without its predecessor in program order.
    pub first_break: Option<NodeId>,
}

/// Rule: every slice that any thunk declares is at most `threshold` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmallBuffers {
    /// Whether the rule holds. A thunk without buffer uses does not break it.
    pub holds: bool,
    /// The largest slice and the first thunk that uses one of that size; `None` without uses.
    pub largest: Option<LargestSlice>,
    /// The first thunk whose uses the file does not tell. It breaks the rule: nobody knows how
    /// large they are.
    pub unknown: Option<NodeId>,
    /// In bytes.
    pub threshold: u64,
}

/// A slice that decides the rule of small buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LargestSlice {
    /// Its size.
    pub bytes: u64,
    /// Who uses it, itself or in a nested sequence.
    pub thunk: NodeId,
}

/// Rule: there are at most `threshold` thunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FewThunks {
    /// Whether the rule holds.
    pub holds: bool,
    /// How many there are.
    pub thunks: u32,
    /// How many there may be.
    pub threshold: u64,
}

impl Decision {
    /// Applies all three rules to a sequence and its graph.
    pub fn new(sequence: &Sequence, graph: &Graph, thresholds: Thresholds) -> Self {
        let first_break = graph.first_break();
        let chain = Chain { holds: first_break.is_none(), first_break };
        let small_buffers = small_buffers(sequence, thresholds.buffer);
        let thunks = sequence.thunks.len() as u32;
        let few_thunks =
            FewThunks { holds: u64::from(thunks) <= thresholds.thunks, thunks, threshold: thresholds.thunks };
        let sequential = chain.holds || small_buffers.holds || few_thunks.holds;
        Self { sequential, chain, small_buffers, few_thunks }
    }
}

fn small_buffers(sequence: &Sequence, threshold: u64) -> SmallBuffers {
    let mut largest: Option<LargestSlice> = None;
    let mut unknown = None;
    for (thunk, id) in sequence.thunks.iter().zip(0..) {
        super::accesses::each_thunk(thunk, &mut |part, _| {
            if part.uses_unknown {
                unknown = unknown.or(Some(id));
            }
            for bytes in part.uses.iter().map(|use_| use_.slice.size) {
                if largest.is_none_or(|largest| bytes > largest.bytes) {
                    largest = Some(LargestSlice { bytes, thunk: id });
                }
            }
        });
    }
    let holds = unknown.is_none() && largest.is_none_or(|largest| largest.bytes <= threshold);
    SmallBuffers { holds, largest, unknown, threshold }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Reduction;
    use crate::program::{Kind, Thunk};

    /// `sizes[i]`: the slices that thunk `i` writes, each in an allocation of its own thunk.
    #[track_caller]
    fn check(sizes: &[&[u64]], expected: &str) {
        let thunks = sizes.iter().zip(0..).map(|(sizes, i)| {
            sizes.iter().fold(Thunk::new(Kind::Kernel, "k"), |thunk, &size| thunk.writes(i, 0, size))
        });
        let sequence = Sequence { thunks: thunks.collect() };
        let graph = Graph::build(&sequence, &[], Reduction::Upstream).expect("small");
        let decision = Decision::new(&sequence, &graph, Thresholds::default());
        let Decision { sequential, chain, small_buffers: small, few_thunks: few } = decision;
        let actual = format!(
            "{} · chain {} {:?} · small {} {:?} of {} · few {} {} of {}",
            if sequential { "sequential" } else { "concurrent" },
            chain.holds,
            chain.first_break,
            small.holds,
            small.largest.map(|slice| (slice.bytes, slice.thunk)),
            small.threshold,
            few.holds,
            few.thunks,
            few.threshold,
        );
        assert_eq!(actual, expected);
    }

    #[test]
    fn nothing_and_one_thunk_are_chains() {
        check(&[], "sequential · chain true None · small true None of 512 · few true 0 of 8");
        check(
            &[&[600]],
            "sequential · chain true None · small false Some((600, 0)) of 512 · few true 1 of 8",
        );
    }

    #[test]
    fn eight_thunks_are_few_and_nine_are_not() {
        check(
            &[&[600][..]; 8],
            "sequential · chain false Some(1) · small false Some((600, 0)) of 512 · few true 8 of 8",
        );
        check(
            &[&[600][..]; 9],
            "concurrent · chain false Some(1) · small false Some((600, 0)) of 512 · few false 9 of 8",
        );
    }

    #[test]
    fn one_float_flips_the_rule_of_small_buffers() {
        let mut sizes: [&[u64]; 20] = [&[512]; 20];
        check(
            &sizes,
            "sequential · chain false Some(1) · small true Some((512, 0)) of 512 · few false 20 of 8",
        );
        sizes[17] = &[4, 516];
        check(
            &sizes,
            "concurrent · chain false Some(1) · small false Some((516, 17)) of 512 · few false 20 of 8",
        );
    }

    #[test]
    fn a_thunk_without_uses_does_not_break_the_rule() {
        let mut sizes: [&[u64]; 9] = [&[4]; 9];
        sizes[3] = &[];
        check(&sizes, "sequential · chain false Some(1) · small true Some((4, 0)) of 512 · few false 9 of 8");
    }

    #[test]
    fn unknown_uses_break_it() {
        let mut thunk = Thunk::new(Kind::Other, "?");
        thunk.uses_unknown = true;
        let sequence = Sequence { thunks: vec![Thunk::new(Kind::Kernel, "k"), thunk] };
        let graph = Graph::build(&sequence, &[], Reduction::Upstream).expect("small");
        let rule = Decision::new(&sequence, &graph, Thresholds::default()).small_buffers;
        assert_eq!((rule.holds, rule.unknown), (false, Some(1)));
    }
}
