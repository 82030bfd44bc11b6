//! Whose turn comes first.

use crate::machine::Ticks;

/// Stands for "only news can wake it".
const NEVER: Ticks = Ticks::MAX;

/// When each actor goes on: a tree of minima, so that finding the first of hundreds and moving one
/// cost a few steps.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Node `n` holds the least of its children `2n` and `2n + 1`; the leaves begin at `leaves`.
    tree: Vec<Ticks>,
    leaves: usize,
    actors: usize,
}

impl Schedule {
    /// So many actors, none of which goes on.
    pub(super) fn new(actors: usize) -> Self {
        let leaves = actors.next_power_of_two().max(2);
        Self { tree: vec![NEVER; 2 * leaves], leaves, actors }
    }

    /// When an actor goes on.
    pub(super) fn get(&self, actor: usize) -> Option<Ticks> {
        Some(self.tree[self.leaves + actor]).filter(|at| *at != NEVER)
    }

    /// Says when an actor goes on.
    #[inline]
    pub(super) fn set(&mut self, actor: usize, at: Option<Ticks>) {
        let mut node = self.leaves + actor;
        self.tree[node] = at.unwrap_or(NEVER);
        while node > 1 {
            let least = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            if self.tree[node] == least {
                return;
            }
            self.tree[node] = least;
        }
    }

    /// The first to go on; of those with the same time the one with the lowest number.
    #[inline]
    pub(super) fn first(&self) -> Option<(Ticks, usize)> {
        let at = self.tree[1];
        if at == NEVER {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] != at);
        }
        Some((at, node - self.leaves))
    }

    /// All that go on until `latest`, in their order.
    pub(super) fn until(&self, latest: Ticks) -> impl Iterator<Item = (Ticks, usize)> + Clone + '_ {
        let actors = &self.tree[self.leaves..][..self.actors];
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
