//! Protobuf's wire format with byte offsets: the fields of a message in file order, nothing copied.

use prost::encoding::{WireType, decode_key, decode_varint};

use crate::diagnostic::Diagnostic;

/// The bytes of one message, and where they are in the (decompressed) input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    /// The message's own bytes.
    pub(super) bytes: &'a [u8],
    /// Offset of the first of them in the input.
    pub(super) start: usize,
}

/// One field as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    /// Field number, 1 or more.
    pub(super) number: u32,
    /// What it holds.
    pub(super) value: Value<'a>,
    /// Offset of its key.
    pub(super) at: usize,
}

/// The value of a field, by wire type. Groups are not used by any format read here.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    /// An integer, a boolean or an enum.
    Varint(u64),
    /// Four or eight bytes: floats and fixed integers, none of which are needed here.
    Fixed,
    /// A text, a nested message or packed integers.
    Bytes(Message<'a>),
}

impl<'a> Message<'a> {
    /// The whole input.
    pub(super) fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, start: 0 }
    }

    /// The rest of the message from byte `at` of it.
    pub(super) fn skip(self, at: usize) -> Self {
        let at = at.min(self.bytes.len());
        Self { bytes: &self.bytes[at..], start: self.start + at }
    }

    /// The first `len` bytes of it.
    pub(super) fn first(self, len: usize) -> Self {
        Self { bytes: &self.bytes[..len.min(self.bytes.len())], ..self }
    }

    /// Its fields in file order; ends after the first error.
    pub(super) fn fields(self) -> Fields<'a> {
        Fields { rest: self }
    }

    /// The last length-delimited field of that number, as protobuf reads a repeated single field.
    ///
    /// # Errors
    /// `XI003`, `XI004`: the message is broken.
    pub(super) fn last(self, number: u32) -> Result<Option<Message<'a>>, Diagnostic> {
        let mut found = None;
        for field in self.fields() {
            let field = field?;
            if let (true, Value::Bytes(inner)) = (field.number == number, field.value) {
                found = Some(inner);
            }
        }
        Ok(found)
    }

    /// Reads one varint and what follows it.
    ///
    /// # Errors
    /// `XI003`, `XI004`.
    pub(super) fn varint(self) -> Result<(u64, Message<'a>), Diagnostic> {
        let mut rest = self.bytes;
        let value = decode_varint(&mut rest).map_err(|_| self.bad_varint())?;
        Ok((value, self.skip(self.bytes.len() - rest.len())))
    }

    /// The text in these bytes.
    ///
    /// # Errors
    /// `XI004`: it is not UTF-8.
    pub(super) fn text(self) -> Result<&'a str, Diagnostic> {
        std::str::from_utf8(self.bytes)
            .map_err(|error| malformed(self.start + error.valid_up_to(), "UTF-8 text"))
    }

    /// Its integer fields of these numbers: the last value of each, 0 where there is none, as protobuf has it. Other
    /// fields may hold anything.
    ///
    /// # Errors
    /// `XI003`, `XI004`: the message is broken, or one of the fields has another type.
    pub(super) fn integers<const N: usize>(
        self,
        numbers: [u32; N],
        what: &str,
    ) -> Result<[i64; N], Diagnostic> {
        let mut integers = [0; N];
        self.read_integers(&numbers, &mut integers, what)?;
        Ok(integers)
    }

    fn read_integers(self, numbers: &[u32], integers: &mut [i64], what: &str) -> Result<(), Diagnostic> {
        for field in self.fields() {
            let field = field?;
            if let Some(place) = numbers.iter().position(|&number| number == field.number) {
                let Value::Varint(value) = field.value else { return Err(malformed(field.at, what)) };
                integers[place] = value as i64;
            }
        }
        Ok(())
    }

    fn bad_varint(self) -> Diagnostic {
        let cut = self.bytes.len() < 10 && self.bytes.iter().all(|byte| byte & 0x80 != 0);
        if cut {
            truncated(self.start, "the rest of a number").found("the end of the data")
        } else {
            malformed(self.start, "a number of at most 64 bits")
        }
    }
}

/// Iterator over [`Message::fields`].
pub(super) struct Fields<'a> {
    rest: Message<'a>,
}

impl<'a> Fields<'a> {
    fn read(&mut self) -> Result<Field<'a>, Diagnostic> {
        let at = self.rest.start;
        // A key that is cut short is told from one that is wrong by reading it as a number first.
        let (_, after) = self.rest.varint()?;
        let mut key = self.rest.bytes;
        let (number, wire) =
            decode_key(&mut key).map_err(|_| malformed(at, "the key of a protobuf field"))?;
        self.rest = after;
        let value = match wire {
            WireType::Varint => {
                let (value, after) = self.rest.varint()?;
                self.rest = after;
                Value::Varint(value)
            }
            WireType::ThirtyTwoBit => self.fixed(at, number, 4)?,
            WireType::SixtyFourBit => self.fixed(at, number, 8)?,
            WireType::LengthDelimited => {
                let (length, after) = self.rest.varint()?;
                Value::Bytes(self.take(at, number, length, after)?)
            }
            WireType::StartGroup | WireType::EndGroup => {
                return Err(malformed(at, "a field that is no group").found(format!("field {number}")));
            }
        };
        Ok(Field { number, value, at })
    }

    fn fixed(&mut self, at: usize, number: u32, len: u64) -> Result<Value<'a>, Diagnostic> {
        self.take(at, number, len, self.rest).map(|_| Value::Fixed)
    }

    fn take(
        &mut self,
        at: usize,
        number: u32,
        length: u64,
        from: Message<'a>,
    ) -> Result<Message<'a>, Diagnostic> {
        let left = from.bytes.len();
        match usize::try_from(length) {
            Ok(length) if length <= left => {
                self.rest = from.skip(length);
                Ok(from.first(length))
            }
            _ => Err(truncated(at, &format!("at most {left} more bytes"))
                .found(format!("field {number} with {length} bytes"))),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Diagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.bytes.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.rest = self.rest.first(0);
        }
        Some(field)
    }
}

impl<'a> Field<'a> {
    /// The nested message.
    ///
    /// # Errors
    /// `XI004`: the field has another wire type.
    pub(super) fn message(&self, what: &str) -> Result<Message<'a>, Diagnostic> {
        match self.value {
            Value::Bytes(message) => Ok(message),
            _ => Err(malformed(self.at, what).found(format!("field {} with a plain number", self.number))),
        }
    }
}

/// `XI003`: the data ends too early, or a length runs past its end.
pub(super) fn truncated(at: usize, expected: &str) -> Diagnostic {
    Diagnostic::error("XI003", place(at), expected)
        .hint("the file is cut or damaged: write it again, and copy it in binary mode")
}

/// `XI004`: bytes that are not protobuf of the expected form.
pub(super) fn malformed(at: usize, expected: &str) -> Diagnostic {
    Diagnostic::error("XI004", place(at), expected)
        .hint("the file is damaged, or no serialized XLA executable")
}

/// How an offset is named in a diagnostic.
pub(super) fn place(at: usize) -> String {
    format!("byte {at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads all fields; shows them, or the code and place of the error.
    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let shown: Vec<String> = Message::whole(bytes)
            .fields()
            .map(|field| match field {
                Ok(Field { number, value: Value::Varint(value), .. }) => format!("{number}:{value}"),
                Ok(Field { number, value: Value::Fixed, .. }) => format!("{number}:fixed"),
                Ok(Field { number, value: Value::Bytes(inner), .. }) => {
                    format!("{number}:{}@{}", inner.bytes.len(), inner.start)
                }
                Err(error) => format!("{} {}", error.code, error.path),
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn fields_in_file_order() {
        check(b"", "");
        check(b"\x08\x96\x01\x12\x02ab\x1d1234\x218bytes!!", "1:150 2:2@5 3:fixed 4:fixed");
    }

    #[test]
    fn integers_by_number() {
        let read =
            |bytes| Message::whole(bytes).integers([1, 5], "two numbers").map_err(|error| error.path.clone());
        assert_eq!(read(b""), Ok([0, 0]));
        // The last of several counts; fields of other numbers may hold anything.
        assert_eq!(read(b"\x08\x01\x12\x02ab\x28\x03\x08\x07"), Ok([7, 3]));
        assert_eq!(read(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Ok([-1, 0]));
        assert_eq!(read(b"\x12\x00\x0a\x02ab"), Err("byte 2".to_owned()));
    }

    #[test]
    fn the_end_may_come_anywhere() {
        check(b"\x08", "XI003 byte 1");
        check(b"\x08\x96", "XI003 byte 1");
        check(b"\x88", "XI003 byte 0");
        check(b"\x12\x03ab", "XI003 byte 0");
        check(b"\x08\x01\x1d123", "1:1 XI003 byte 2");
    }

    #[test]
    fn two_gigabytes_that_are_not_there() {
        check(b"\x12\x80\x80\x80\x80\x08ab", "XI003 byte 0");
        check(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "XI003 byte 0");
    }

    #[test]
    fn keys_and_numbers_that_mean_nothing() {
        check(b"\x00\x01", "XI004 byte 0");
        check(b"\x0b\x0c", "XI004 byte 0");
        check(b"\x0e", "XI004 byte 0");
        check(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "XI004 byte 1");
    }
}
