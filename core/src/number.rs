//! 64-bit numbers in JSON, where JavaScript reads no whole number above 2⁵³ − 1 (contracts §3).
//! Both forms are read in both places. A binary format has them as they are.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// The largest whole number up to which JavaScript has all of them.
pub(crate) const MAX_SAFE: u64 = (1 << 53) - 1;

/// Always decimal digits in a text.
pub(crate) mod decimal {
    use serde::Serializer;

    pub(crate) use super::deserialize;

    pub(crate) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(value)
        } else {
            serializer.serialize_u64(*value)
        }
    }
}

/// A number up to 2⁵³ − 1, digits in a text above.
pub(crate) mod wide {
    pub(crate) use super::{deserialize, serialize};
}

pub(crate) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    let text = serializer.is_human_readable() && *value > MAX_SAFE;
    if text { serializer.collect_str(value) } else { serializer.serialize_u64(*value) }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = u64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number below 2^64, or its decimal digits")
        }
        fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
            Ok(value)
        }
        fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
            u64::try_from(value).map_err(E::custom)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            text.parse().map_err(E::custom)
        }
    }
    if deserializer.is_human_readable() {
        deserializer.deserialize_any(Number)
    } else {
        deserializer.deserialize_u64(Number)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        #[serde(with = "super::decimal")]
        decimal: u64,
        #[serde(with = "super::wide")]
        wide: u64,
    }

    #[track_caller]
    fn check(value: u64, expected: &str) {
        let both = Both { decimal: value, wide: value };
        let text = serde_json::to_string(&both).expect("writes");
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Both>(&text).expect("reads"), both);
    }

    #[test]
    fn large_numbers_are_texts() {
        check(7, r#"{"decimal":"7","wide":7}"#);
        check((1 << 53) - 1, r#"{"decimal":"9007199254740991","wide":9007199254740991}"#);
        check(1 << 53, r#"{"decimal":"9007199254740992","wide":"9007199254740992"}"#);
        check(u64::MAX, r#"{"decimal":"18446744073709551615","wide":"18446744073709551615"}"#);
    }

    #[test]
    fn what_is_no_such_number_is_refused() {
        for value in ["-1", "1.5", "\"1.5\"", "\"\"", "null", "18446744073709551616"] {
            let text = format!(r#"{{"decimal":{value},"wide":0}}"#);
            assert!(serde_json::from_str::<Both>(&text).is_err(), "{value}");
        }
    }
}
