//! Which iterations are dumped: `0|5|10-20` (ge-dump spec §1.5).

use std::fmt;

/// Most segments of an expression.
pub const MAX_SEGMENTS: usize = 100;

/// Largest iteration number that can be written.
pub const MAX_STEP: u64 = i32::MAX as u64;

/// A set of iterations, counted from 0. The empty set of segments is every iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steps {
    /// Closed intervals, ascending, with a gap between neighbours.
    intervals: Vec<(u32, u32)>,
}

/// What is wrong with an expression, in the order in which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepError {
    /// More than [`MAX_SEGMENTS`].
    TooMany {
        /// How many there are.
        segments: usize,
    },
    /// A segment with more than one `-`.
    Dashes {
        /// Which, from 0.
        segment: usize,
    },
    /// A bound that is empty or has something else than digits.
    NotDigits {
        /// Which, from 0.
        segment: usize,
    },
    /// A bound above [`MAX_STEP`].
    TooLarge {
        /// Which, from 0.
        segment: usize,
    },
    /// An interval whose end is before its begin.
    Reversed {
        /// Which, from 0.
        segment: usize,
    },
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { segments } => {
                write!(f, "at most {MAX_SEGMENTS} segments between `|`, there are {segments}")
            }
            Self::Dashes { segment } => write!(f, "at most one `-` in segment {segment}"),
            Self::NotDigits { segment } => {
                write!(f, "whole numbers in segment {segment}, as in `0|5|10-20`, without blanks")
            }
            Self::TooLarge { segment } => write!(f, "numbers up to {MAX_STEP} in segment {segment}"),
            Self::Reversed { segment } => write!(f, "a begin that is not after its end in segment {segment}"),
        }
    }
}

impl Steps {
    /// Reads an expression; the empty one is every iteration.
    ///
    /// # Errors
    /// The first [`StepError`], row by row of the validation table (ge-dump spec §1.1.1).
    pub fn parse(text: &str) -> Result<Self, StepError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let count = text.split('|').count();
        if count > MAX_SEGMENTS {
            return Err(StepError::TooMany { segments: count });
        }
        let segments = || text.split('|').enumerate();
        if let Some((segment, _)) = segments().find(|(_, text)| text.matches('-').count() > 1) {
            return Err(StepError::Dashes { segment });
        }
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((segment, _)) = segments().find(|(_, text)| !text.split('-').all(digits)) {
            return Err(StepError::NotDigits { segment });
        }
        let mut intervals = Vec::with_capacity(count);
        for (segment, text) in segments() {
            let number = |text: &str| text.parse::<u64>().ok().filter(|&n| n <= MAX_STEP).map(|n| n as u32);
            let (begin, end) = text.split_once('-').unwrap_or((text, text));
            let too_large = StepError::TooLarge { segment };
            let (begin, end) = (number(begin).ok_or(too_large)?, number(end).ok_or(too_large)?);
            if begin > end {
                return Err(StepError::Reversed { segment });
            }
            intervals.push((begin, end));
        }
        intervals.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(intervals.len());
        for (begin, end) in intervals {
            match merged.last_mut() {
                Some(last) if begin <= last.1.saturating_add(1) => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        Ok(Self { intervals: merged })
    }

    /// Whether `iteration` is dumped. No allocation; logarithmic in the number of segments.
    pub fn contains(&self, iteration: u64) -> bool {
        if self.intervals.is_empty() {
            return true;
        }
        let after = self.intervals.partition_point(|&(begin, _)| u64::from(begin) <= iteration);
        after > 0 && iteration <= u64::from(self.intervals[after - 1].1)
    }

    /// Every iteration.
    pub fn is_all(&self) -> bool {
        self.intervals.is_empty()
    }
}

/// The expression in its shortest form; reads back as the same set.
impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &(begin, end)) in self.intervals.iter().enumerate() {
            let bar = if index == 0 { "" } else { "|" };
            if begin == end { write!(f, "{bar}{begin}")? } else { write!(f, "{bar}{begin}-{end}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses; expects the shortest form, or the error.
    #[track_caller]
    fn check(text: &str, expected: Result<&str, StepError>) {
        assert_eq!(
            Steps::parse(text).map(|steps| steps.to_string()),
            expected.map(str::to_owned),
            "{text:?}"
        );
    }

    #[test]
    fn every_row_of_the_step_table() {
        check("", Ok(""));
        check("0|5|10-20", Ok("0|5|10-20"));
        check("001", Ok("1"));
        check("5-5", Ok("5"));
        check("9-3", Err(StepError::Reversed { segment: 0 }));
        check("5|", Err(StepError::NotDigits { segment: 1 }));
        check("|", Err(StepError::NotDigits { segment: 0 }));
        check("3-", Err(StepError::NotDigits { segment: 0 }));
        check("1-2-3", Err(StepError::Dashes { segment: 0 }));
        for text in [" 1 ", "1\n", "-1", "+1", "a", "１"] {
            check(text, Err(StepError::NotDigits { segment: 0 }));
        }
        check("2147483647", Ok("2147483647"));
        check("0|2147483648", Err(StepError::TooLarge { segment: 1 }));
        check("99999999999999999999999", Err(StepError::TooLarge { segment: 0 }));
        check(&["1"; 100].join("|"), Ok("1"));
        check(&["1"; 101].join("|"), Err(StepError::TooMany { segments: 101 }));
    }

    #[test]
    fn an_earlier_row_wins_over_an_earlier_segment() {
        check("a|1-2-3", Err(StepError::Dashes { segment: 1 }));
        check("9-3|x", Err(StepError::NotDigits { segment: 1 }));
    }

    #[test]
    fn neighbours_merge() {
        check("3|1|2", Ok("1-3"));
        check("10-20|15-30|0", Ok("0|10-30"));
        check("0-2147483647|5", Ok("0-2147483647"));
    }

    #[cfg(not(target_arch = "wasm32"))]
    proptest::proptest! {
        /// Invariant 9: the matcher equals the naive interval model for all n ≤ 2000.
        #[test]
        fn matches_like_a_list_of_intervals(
            list in proptest::collection::vec((0..2000u32, 0..300u32), 0..40)
        ) {
            let text: Vec<String> = list.iter().map(|(b, n)| format!("{b}-{}", b + n)).collect();
            let steps = Steps::parse(&text.join("|")).expect("valid");
            for n in 0..=2000u64 {
                let naive = list.is_empty()
                    || list.iter().any(|&(b, l)| (u64::from(b)..=u64::from(b + l)).contains(&n));
                proptest::prop_assert_eq!(steps.contains(n), naive);
            }
            proptest::prop_assert_eq!(Steps::parse(&steps.to_string()), Ok(steps));
        }
    }
}
