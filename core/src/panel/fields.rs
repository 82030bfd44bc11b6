//! What was asked of an instrument.

use super::{Field, FieldKind};
use crate::diagnostic::Diagnostic;

/// Names and texts. What is not there has the instrument's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// From names and texts; of a name that comes twice the last one counts.
    pub fn new(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(fields.into_iter().collect())
    }

    /// The text of a field.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == id).map(|(_, value)| value.as_str())
    }

    /// All but one.
    #[must_use]
    pub fn without(&self, id: &str) -> Self {
        Self(self.0.iter().filter(|(name, _)| name != id).cloned().collect())
    }

    /// A text of several lines, and what it is.
    pub fn area(&self, id: &str, label: &str, hint: &str, rows: u32, default: &str) -> Field {
        self.field(id, label, hint, FieldKind::Text { rows }, default.to_owned())
    }

    /// One of `choices` (value, label); the first is the default. What is none of them is an error.
    pub fn choice(
        &self,
        (id, label, hint): (&str, &str, &str),
        choices: impl IntoIterator<Item = (String, String)>,
        told: &mut Vec<Diagnostic>,
    ) -> Field {
        let choices: Vec<_> = choices.into_iter().collect();
        let first = choices.first().map(|(value, _)| value.clone()).unwrap_or_default();
        let mut field = self.field(id, label, hint, FieldKind::Choice(Vec::new()), first.clone());
        if !choices.iter().any(|(value, _)| *value == field.value) {
            let names: Vec<&str> = choices.iter().map(|(value, _)| value.as_str()).collect();
            told.push(
                Diagnostic::error("EX006", id, format!("one of {}", names.join(", "))).found(&field.value),
            );
            field.value = first;
        }
        field.kind = FieldKind::Choice(choices);
        field
    }

    /// A whole number in `min..=max`, and its value. What is none is an error, and the default holds.
    pub fn number(
        &self,
        (id, label, hint): (&str, &str, &str),
        (min, max): (u64, u64),
        default: u64,
        told: &mut Vec<Diagnostic>,
    ) -> (Field, u64) {
        let mut field = self.field(id, label, hint, FieldKind::Number { min, max }, default.to_string());
        let number = field.value.trim().parse().ok().filter(|number| (min..=max).contains(number));
        if number.is_none() {
            let expected = format!("a whole number from {min} to {max}");
            told.push(Diagnostic::error("EX006", id, expected).found(&field.value));
        }
        let number = number.unwrap_or(default);
        field.value = number.to_string();
        (field, number)
    }

    fn field(&self, id: &str, label: &str, hint: &str, kind: FieldKind, default: String) -> Field {
        let value = self.get(id).map_or(default, str::to_owned);
        Field { id: id.to_owned(), label: label.to_owned(), hint: hint.to_owned(), value, kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_choice_and_no_number_is_told_and_the_default_holds() {
        let fields = Fields::new([("color".into(), "green".into()), ("size".into(), "12".into())]);
        let mut told = Vec::new();
        let colors = ["red", "blue"].map(|color| (color.to_owned(), color.to_owned()));
        let color = fields.choice(("color", "Colour", ""), colors, &mut told);
        let (size, number) = fields.number(("size", "Size", ""), (0, 9), 4, &mut told);
        assert_eq!((color.value.as_str(), size.value.as_str(), number), ("red", "4", 4));
        let told: Vec<String> = told.iter().map(Diagnostic::to_string).collect();
        assert_eq!(
            told,
            [
                "error EX006 at color: expected one of red, blue, found green",
                "error EX006 at size: expected a whole number from 0 to 9, found 12",
            ]
        );
    }

    #[test]
    fn the_last_one_of_a_name_counts() {
        let fields = Fields::new([("a".into(), "1".into()), ("a".into(), "2".into())]);
        assert_eq!((fields.get("a"), fields.get("b")), (Some("2"), None));
        assert_eq!(fields.without("a"), Fields::default());
    }
}
