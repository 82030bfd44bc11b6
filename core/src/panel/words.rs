//! Events in words, for tables of any log.

use serde::Serialize;
use serde_json::Value;

/// What happened, as the log has it: the kind, then its fields.
pub(super) fn happening(kind: &impl Serialize) -> String {
    let value = serde_json::to_value(kind).unwrap_or_default();
    let mut words = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let value = match value {
            // A choice with a value: `task 0`.
            Value::Object(one) => {
                one.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(" ")
            }
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        match key.as_str() {
            "kind" => words.insert_str(0, &value.replace('_', " ")),
            _ => words += &format!(", {} {value}", key.replace('_', " ")),
        }
    }
    words
}

/// Who did it: a lane, a core, a thread of the host, or the outside world (contracts §4).
pub(super) fn actor(actor: u16) -> String {
    match actor {
        0..0x1000 => format!("lane {actor}"),
        0x1000..0x2000 => format!("core {}", actor - 0x1000),
        u16::MAX => "events".to_owned(),
        _ => format!("host {}.{}", (actor - 0x2000) >> 8, actor & 0xff),
    }
}
