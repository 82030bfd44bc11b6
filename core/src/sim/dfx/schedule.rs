//! Whose turn comes first.

use crate::machine::Ticks;

/// Stands for "only news can wake it".
const NEVER: Ticks = Ticks::MAX;

/// When each actor goes on: a tree of minima, so that finding the first of hundreds and moving one
/// cost a few steps.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Pair `n` holds the children of node `n`, which are `2n` and `2n + 1`; an inner node is the least of
    /// its children, and the leaves begin at `leaves`. By pairs, since both are wanted together: that is
    /// one look at the bounds for two numbers.
    pairs: Vec<[Ticks; 2]>,
    leaves: usize,
    actors: usize,
}

impl Schedule {
    /// So many actors, none of which goes on.
    pub(super) fn new(actors: usize) -> Self {
        let leaves = actors.next_power_of_two().max(2);
        Self { pairs: vec![[NEVER; 2]; leaves], leaves, actors }
    }

    /// When an actor goes on.
    #[inline]
    pub(super) fn get(&self, actor: usize) -> Option<Ticks> {
        let leaf = self.leaves + actor;
        Some(self.pairs[leaf / 2][leaf % 2]).filter(|at| *at != NEVER)
    }

    /// Says when an actor goes on. Always up to the root: whoever has just gone on was the least of all
    /// the way, and a loop that always takes as long is foreseen by the processor.
    #[inline]
    pub(super) fn set(&mut self, actor: usize, at: Option<Ticks>) {
        let mut node = self.leaves + actor;
        let mut least = at.unwrap_or(NEVER);
        while node > 1 {
            let pair = &mut self.pairs[node / 2];
            pair[node % 2] = least;
            least = pair[0].min(pair[1]);
            node /= 2;
        }
    }

    /// The first to go on; of those with the same time the one with the lowest number.
    #[inline]
    pub(super) fn first(&self) -> Option<(Ticks, usize)> {
        let [left, right] = self.pairs[1];
        let at = left.min(right);
        if at == NEVER {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.pairs[node][0] != at);
        }
        Some((at, node - self.leaves))
    }

    /// All that go on until `latest`, in their order.
    pub(super) fn until(&self, latest: Ticks) -> impl Iterator<Item = (Ticks, usize)> + Clone + '_ {
        let actors = &self.pairs[self.leaves / 2..].as_flattened()[..self.actors];
        let soon = move |(actor, &at): (usize, &Ticks)| (at <= latest && at != NEVER).then_some((at, actor));
        actors.iter().enumerate().filter_map(soon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn it_finds_what_a_look_at_all_finds() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let actors = 1 + rng.below(40) as usize;
            let mut schedule = Schedule::new(actors);
            let mut plain = vec![None; actors];
            for _ in 0..200 {
                let actor = rng.below(actors as u64) as usize;
                let at = (rng.below(4) > 0).then(|| rng.below(9));
                plain[actor] = at;
                schedule.set(actor, at);
                let all = plain.iter().enumerate().filter_map(|(actor, at)| Some(((*at)?, actor)));
                assert_eq!(schedule.first(), all.clone().min(), "seed {seed}");
                assert_eq!(schedule.get(actor), at, "seed {seed}");
                let soon = all.filter(|(at, _)| *at <= 4);
                assert!(schedule.until(4).eq(soon), "seed {seed}");
            }
        }
    }
}
