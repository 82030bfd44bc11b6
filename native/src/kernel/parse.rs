//! From the `kernel` field of a thunk to what it means.

use serde_json::Value;
use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::program::{Kind, Thunk};

use super::collective::Collective;

/// What a thunk does, and on elements of which type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// What.
    pub operation: Operation,
    /// On what; collectives of replay add bytes as 32-bit words.
    pub dtype: Option<Dtype>,
}

/// Type of the elements of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// 32-bit integer; sums wrap.
    I32,
    /// Byte; sums wrap.
    U8,
}

/// What a kernel does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// Every element becomes this value.
    Fill(f64),
    /// Copies.
    Copy,
    /// Sums element by element.
    Add,
    /// Multiplies element by element.
    Multiply,
    /// Multiplies two matrices, m × k and k × n.
    Matmul(Option<[u32; 3]>),
    /// Sums everything.
    Reduce,
    /// Sorts.
    Sort,
    /// Transposes a matrix, m × n.
    Transpose(Option<[u32; 2]>),
    /// Keeps the core busy for so many ns.
    Spin(u64),
    /// Waits for so many ns.
    Sleep(u64),
    /// Fails.
    Fail,
    /// Panics.
    Panic,
    /// Returns, and never completes.
    Never,
    /// Writes infinities.
    Overflow,
    /// Meets the other ranks.
    Collective(Collective),
    /// Touches the declared slices, takes the declared cost.
    Replay,
}

/// Longest time of a spin or sleep: an hour, in ns.
const MAX_NS: u64 = 3_600_000_000_000;

impl Kernel {
    /// The kernel of a thunk; `path` is where it stands, for messages.
    ///
    /// # Errors
    /// `RN002` for a kernel that is not known, or arguments that it does not take.
    pub fn of(thunk: &Thunk, path: &str) -> Result<Self, Diagnostic> {
        let Some(value) = thunk.extra.get("kernel").filter(|value| !value.is_null()) else {
            let operation = Collective::of(thunk.kind).map_or(Operation::Replay, Operation::Collective);
            return Ok(Self { operation, dtype: None });
        };
        let bad = |found: &dyn std::fmt::Display| {
            Diagnostic::error("RN002", format!("{path}.kernel"), format!("a kernel such as {KNOWN}"))
                .found(found)
                .hint("a text such as \"spin(1000)\", or an object with name, args and dtype")
        };
        let (name, arguments, dtype) = parts(value).ok_or_else(|| bad(value))?;
        let dtype = match dtype {
            Some(name) => Some(Dtype::named(&name).ok_or_else(|| {
                let path = format!("{path}.kernel.dtype");
                Diagnostic::error("RN002", path, "f32, f64, i32 or u8").found(name)
            })?),
            None => None,
        };
        let operation = operation(&name, &arguments, thunk.kind).ok_or_else(|| bad(value))?;
        Ok(Self { operation, dtype })
    }

    /// Whether overflow can be seen in what it writes.
    pub fn is_float(&self) -> bool {
        let computes =
            !matches!(self.operation, Operation::Replay | Operation::Spin(_) | Operation::Sleep(_));
        computes && matches!(self.dtype, None | Some(Dtype::F32 | Dtype::F64))
    }
}

const KNOWN: &str = "fill(v), copy, add, multiply, matmul(m,k,n), reduce, sort, transpose(m,n), spin(ns), \
                     sleep(ns), fail, panic, never, overflow, all-reduce, all-gather, all-to-all, \
                     collective-permute, reduce-scatter, replay";

impl Dtype {
    fn named(name: &str) -> Option<Self> {
        match name {
            "f32" => Some(Self::F32),
            "f64" => Some(Self::F64),
            "i32" => Some(Self::I32),
            "u8" => Some(Self::U8),
            _ => None,
        }
    }
}

/// Name, arguments and element type of either form.
fn parts(value: &Value) -> Option<(String, Vec<f64>, Option<String>)> {
    match value {
        Value::String(text) => {
            let text = text.trim();
            let (name, arguments) = match text.split_once('(') {
                Some((name, rest)) => (name.trim(), rest.strip_suffix(')')?),
                None => (text, ""),
            };
            let arguments = arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty());
            let arguments = arguments.map(|argument| argument.parse().ok()).collect::<Option<_>>()?;
            Some((name.to_owned(), arguments, None))
        }
        Value::Object(fields) => {
            let known = |name: &String| ["name", "args", "dtype"].contains(&name.as_str());
            if !fields.keys().all(known) {
                return None;
            }
            let arguments = match fields.get("args") {
                None => Vec::new(),
                Some(Value::Array(arguments)) => {
                    arguments.iter().map(Value::as_f64).collect::<Option<_>>()?
                }
                Some(_) => return None,
            };
            let dtype = match fields.get("dtype") {
                None => None,
                Some(name) => Some(name.as_str()?.to_owned()),
            };
            Some((fields.get("name")?.as_str()?.to_owned(), arguments, dtype))
        }
        _ => None,
    }
}

fn operation(name: &str, arguments: &[f64], kind: Kind) -> Option<Operation> {
    let whole = |value: f64, most: u64| {
        (value >= 0.0 && value <= most as f64 && value.fract() == 0.0).then_some(value as u64)
    };
    let size = |value: f64| whole(value, u64::from(u32::MAX)).map(|value| value as u32);
    let plain = |operation| arguments.is_empty().then_some(operation);
    match (name, arguments) {
        ("fill", []) => Some(Operation::Fill(0.0)),
        ("fill", &[value]) => Some(Operation::Fill(value)),
        ("spin", &[ns]) => whole(ns, MAX_NS).map(Operation::Spin),
        ("sleep", &[ns]) => whole(ns, MAX_NS).map(Operation::Sleep),
        ("matmul", []) => Some(Operation::Matmul(None)),
        ("matmul", &[m, k, n]) => Some(Operation::Matmul(Some([size(m)?, size(k)?, size(n)?]))),
        ("transpose", []) => Some(Operation::Transpose(None)),
        ("transpose", &[m, n]) => Some(Operation::Transpose(Some([size(m)?, size(n)?]))),
        ("copy", _) => plain(Operation::Copy),
        ("add", _) => plain(Operation::Add),
        ("multiply", _) => plain(Operation::Multiply),
        ("reduce", _) => plain(Operation::Reduce),
        ("sort", _) => plain(Operation::Sort),
        ("fail", _) => plain(Operation::Fail),
        ("panic", _) => plain(Operation::Panic),
        ("never", _) => plain(Operation::Never),
        ("overflow", _) => plain(Operation::Overflow),
        ("replay", _) => plain(Collective::of(kind).map_or(Operation::Replay, Operation::Collective)),
        (name, _) => {
            let kind = Kind::from_name(name)?;
            plain(Operation::Collective(Collective::of(kind)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<Operation>) {
        let mut thunk = Thunk::new(Kind::Kernel, "k");
        thunk.extra.insert("kernel".to_owned(), serde_json::from_str(json).expect("JSON"));
        let kernel = Kernel::of(&thunk, "$.t");
        assert_eq!(kernel.as_ref().ok().map(|kernel| kernel.operation), expected, "{json} {kernel:?}");
        if let Err(error) = kernel {
            assert_eq!((error.code.as_str(), error.path.starts_with("$.t.kernel")), ("RN002", true));
        }
    }

    #[test]
    fn kernels_are_read_in_both_forms() {
        check("\"fill(1.5)\"", Some(Operation::Fill(1.5)));
        check("\" matmul( 2, 3 ,4)\"", Some(Operation::Matmul(Some([2, 3, 4]))));
        check("{\"name\": \"spin\", \"args\": [1000]}", Some(Operation::Spin(1000)));
        check("{\"name\": \"add\", \"dtype\": \"i32\"}", Some(Operation::Add));
        check("\"all-gather\"", Some(Operation::Collective(Collective::AllGather)));
        check("null", Some(Operation::Replay));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        for json in [
            "\"fil\"",
            "\"spin\"",
            "\"spin(-1)\"",
            "\"spin(1e30)\"",
            "\"spin(x)\"",
            "\"spin(1\"",
            "\"matmul(1,2)\"",
            "\"matmul(1,2,0.5)\"",
            "\"copy(1)\"",
            "\"kernel\"",
            "7",
            "{\"args\": []}",
            "{\"name\": \"add\", \"dtype\": \"f16\"}",
            "{\"name\": \"add\", \"typo\": 1}",
        ] {
            check(json, None);
        }
    }
}
