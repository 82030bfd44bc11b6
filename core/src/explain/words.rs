//! Numbers, names and lists as people write them.

use std::fmt::{self, Write as _};

use crate::diagnostic::shown;

/// A number in a sentence; printed where it stands, because each text of its own would be code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure<'a> {
    n: u64,
    noun: &'a str,
    plural: &'a str,
}

/// `1 thunk`, `2 thunks`, `12,345 thunks`.
pub(crate) fn count(n: u64, noun: &str) -> Figure<'_> {
    Figure { n, noun, plural: if n == 1 { "" } else { "s" } }
}

/// Digits in groups of three.
pub(crate) fn number(n: u64) -> Figure<'static> {
    Figure { n, noun: "", plural: "" }
}

impl fmt::Display for Figure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.n.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_char(',')?;
            }
            f.write_char(digit)?;
        }
        for part in [if self.noun.is_empty() { "" } else { " " }, self.noun, self.plural] {
            f.write_str(part)?;
        }
        Ok(())
    }
}

/// A thunk's name in a sentence: nothing in it steers a terminal, and 80 characters are enough.
pub(crate) fn thunk_name(name: &str) -> String {
    shown(name, 80)
}

#[cfg(feature = "engine")]
/// Bytes, exact: `516 B`, `16,384 B`.
pub(crate) fn bytes(n: u64) -> Figure<'static> {
    Figure { n, noun: "B", plural: "" }
}

/// `1`, `1 and 2`, `1, 2 and 3`; after `most` items the rest is counted.
pub(crate) fn list(items: &[String], most: usize) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        _ if items.len() > most => {
            let shown = items[..most.saturating_sub(1)].join(", ");
            format!("{shown} and {} more", number((items.len() - most.saturating_sub(1)) as u64))
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_naturally() {
        let check = |figure: Figure<'_>, expected| assert_eq!(figure.to_string(), expected);
        check(count(1, "thunk"), "1 thunk");
        check(count(1234, "thunk"), "1,234 thunks");
        check(number(0), "0");
        check(number(999), "999");
        check(number(1_000_000), "1,000,000");
        check(bytes(16_384), "16,384 B");
        let items = |n: u32| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(list(&items(1), 4), "1");
        assert_eq!(list(&items(4), 4), "1, 2, 3 and 4");
        assert_eq!(list(&items(9), 4), "1, 2, 3 and 6 more");
    }
}
