//! Intervals of op names in execution order (ge-dump spec §3.4).

/// Where one range stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RangeState {
    /// Before its begin.
    #[default]
    Init,
    /// Between begin and end.
    Start,
    /// Its end has just been.
    Stop,
    /// An end without begin, or a begin right after an end.
    Error,
}

/// What an op is to one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RangeEvent {
    /// Its begin.
    Start,
    /// Its end.
    End,
    /// Neither.
    Other,
}

impl RangeState {
    /// The table. An op is inside exactly if the next state is `Start` or `Stop`.
    #[must_use]
    pub fn next(self, event: RangeEvent) -> Self {
        match (self, event) {
            (Self::Error, _) | (Self::Init, RangeEvent::End) | (Self::Stop, RangeEvent::Start) => Self::Error,
            (Self::Start, RangeEvent::End) | (Self::Stop, RangeEvent::End) => Self::Stop,
            (Self::Init | Self::Start, RangeEvent::Start) | (Self::Start, RangeEvent::Other) => Self::Start,
            (Self::Init | Self::Stop, RangeEvent::Other) => Self::Init,
        }
    }

    /// The table by numbers, as state comes out of a file; numbers that are none give `Error`.
    #[must_use]
    pub fn next_by_number(state: u32, event: u32) -> Self {
        let states = [Self::Init, Self::Start, Self::Stop, Self::Error];
        let events = [RangeEvent::Start, RangeEvent::End, RangeEvent::Other];
        match (states.get(state as usize), events.get(event as usize)) {
            (Some(&state), Some(&event)) => state.next(event),
            _ => Self::Error,
        }
    }
}

/// One range while ops pass by, each once per execution (P-14, T19).
#[derive(Clone, Copy, Debug)]
pub struct RangeWalk<'a> {
    begin: &'a str,
    end: &'a str,
    state: RangeState,
}

impl<'a> RangeWalk<'a> {
    /// A walk before its first op.
    pub fn new(begin: &'a str, end: &'a str) -> Self {
        Self { begin, end, state: RangeState::Init }
    }

    /// The next op in execution order; whether it is inside.
    pub fn step(&mut self, op: &str) -> bool {
        // Begin and end in one: it opens, includes, and closes. A second time in a row it stays closed.
        if self.begin == self.end && op == self.begin {
            let inside = self.state != RangeState::Error;
            if inside {
                self.state = RangeState::Stop;
            }
            return inside;
        }
        let event = match op {
            _ if op == self.begin => RangeEvent::Start,
            _ if op == self.end => RangeEvent::End,
            _ => RangeEvent::Other,
        };
        self.state = self.state.next(event);
        matches!(self.state, RangeState::Start | RangeState::Stop)
    }

    /// Its end has just been.
    pub fn stopped(&self) -> bool {
        self.state == RangeState::Stop
    }

    /// The range has gone wrong; what was inside before stays.
    pub fn failed(&self) -> bool {
        self.state == RangeState::Error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_table() {
        use RangeEvent::{End, Other, Start};
        use RangeState as S;
        for (state, event, expected) in [
            (S::Init, Start, S::Start),
            (S::Init, End, S::Error),
            (S::Init, Other, S::Init),
            (S::Start, Start, S::Start),
            (S::Start, End, S::Stop),
            (S::Start, Other, S::Start),
            (S::Stop, Start, S::Error),
            (S::Stop, End, S::Stop),
            (S::Stop, Other, S::Init),
            (S::Error, Start, S::Error),
            (S::Error, End, S::Error),
            (S::Error, Other, S::Error),
        ] {
            assert_eq!(state.next(event), expected, "{state:?} × {event:?}");
            assert_eq!(RangeState::next_by_number(state as u32, event as u32), expected);
        }
    }

    #[test]
    fn numbers_out_of_the_table_are_errors() {
        for (state, event) in [(4, 0), (0, 3), (u32::MAX, u32::MAX)] {
            assert_eq!(RangeState::next_by_number(state, event), RangeState::Error);
        }
    }

    /// Ops in execution order, ranges `b-e`; which ops are inside any.
    #[track_caller]
    fn check(ops: &str, ranges: &[(&str, &str)], expected: &str) {
        let mut walks: Vec<_> = ranges.iter().map(|(b, e)| RangeWalk::new(b, e)).collect();
        let inside: String = ops
            .split(' ')
            .filter(|op| walks.iter_mut().fold(false, |any, walk| walk.step(op) | any))
            .collect();
        assert_eq!(inside, expected, "{ops} {ranges:?}");
    }

    #[test]
    fn walks() {
        check("a b c d e f", &[("b", "d"), ("c", "e")], "bcde");
        check("a b c d", &[("b", "c")], "bc");
        check("a b c c d", &[("b", "c")], "bcc");
        check("a b c x b c d", &[("b", "c")], "bcbc");
        check("a c b d", &[("b", "c")], "");
        check("a b c b c", &[("b", "c")], "bc");
        check("a b c d", &[("b", "z")], "bcd");
    }

    #[test]
    fn t19_one_op_as_begin_and_end() {
        check("a b c", &[("b", "b")], "b");
        check("a b b c b", &[("b", "b")], "bbb");
    }

    #[test]
    fn begin_after_end_is_an_error_that_keeps_what_it_had() {
        let mut walk = RangeWalk::new("b", "c");
        assert!(walk.step("b") && walk.step("c"));
        assert!(!walk.step("b"));
        assert!(walk.failed());
        assert!(!walk.step("c"));
    }
}
