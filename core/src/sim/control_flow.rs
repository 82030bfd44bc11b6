//! Which nested sequences a control-flow thunk enters, one after the other.

use crate::program::{Kind, Role, Thunk};
use crate::rng::Rng;

/// The entries still to come, as indices of plans. A clone starts where the original stands.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// One round: for a `while`, body then condition; else the one sequence to enter.
    round: Vec<usize>,
    at: usize,
    rounds: u64,
}

impl Cursor {
    /// For a `while`: condition, then body and condition for each trip. Like XLA, a known trip
    /// count needs no condition. For a `conditional`: one branch, chosen by the seed.
    pub fn new(thunk: &Thunk, links: &[(Role, usize)], max_trips: u64, rng: &mut Rng) -> Self {
        let of = |role: Role| links.iter().find(|link| link.0 == role).map(|link| link.1);
        match thunk.kind {
            Kind::While => {
                let (condition, body) = (of(Role::Condition), of(Role::Body));
                let known = thunk.trip_count;
                let round: Vec<_> = body.into_iter().chain(condition.filter(|_| known.is_none())).collect();
                let rounds = known.unwrap_or(1).min(max_trips);
                match condition.filter(|_| known.is_none()) {
                    // Start in the middle of a round: the first condition has no body before it.
                    Some(_) => Self { at: round.len() - 1, round, rounds: rounds + 1 },
                    None => Self { at: 0, rounds: if round.is_empty() { 0 } else { rounds }, round },
                }
            }
            _ if links.is_empty() => Self { round: Vec::new(), at: 0, rounds: 0 },
            Kind::Conditional => {
                let branch = rng.below(links.len() as u64) as usize;
                Self { round: vec![links[branch].1], at: 0, rounds: 1 }
            }
            _ => Self { round: links.iter().map(|link| link.1).collect(), at: 0, rounds: 1 },
        }
    }

    /// Starts over where `start`, a cursor of the same thunk, stands. Nothing is allocated.
    pub fn restart(&mut self, start: &Self) {
        (self.at, self.rounds) = (start.at, start.rounds);
    }
}

impl Iterator for Cursor {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.rounds == 0 {
            return None;
        }
        let plan = *self.round.get(self.at)?;
        self.at += 1;
        if self.at == self.round.len() {
            self.at = 0;
            self.rounds -= 1;
        }
        Some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, trips: Option<u64>, links: &[(Role, usize)], expected: &[usize]) {
        let mut thunk = Thunk::new(kind, "t");
        thunk.trip_count = trips;
        let entered: Vec<_> = Cursor::new(&thunk, links, 2, &mut Rng::new(1)).collect();
        assert_eq!(entered, expected);
    }

    #[test]
    fn a_while_alternates_and_a_known_trip_count_needs_no_condition() {
        let links = [(Role::Condition, 1), (Role::Body, 2)];
        check(Kind::While, None, &links, &[1, 2, 1]);
        check(Kind::While, Some(5), &links, &[2, 2]);
        check(Kind::While, Some(0), &links, &[]);
        check(Kind::While, Some(3), &[], &[]);
        check(Kind::While, None, &links[..1], &[1, 1]);
    }

    #[test]
    fn other_control_flow_enters_one_sequence() {
        check(Kind::Call, None, &[(Role::Called, 3)], &[3]);
        check(Kind::Conditional, None, &[(Role::Branch(0), 1)], &[1]);
        check(Kind::Conditional, None, &[], &[]);
    }
}
