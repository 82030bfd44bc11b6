//! Statistics of tensors as CSV (ge-dump spec §9.4, P-31).

use std::fmt::Write as _;

use super::elements::{self, Number};
use super::record::{Part, Record};
use super::types::{DataType, Format};
use super::value::{DEFAULT_STATS, Stat};

/// Most dimensions that are written out.
const MAX_DIMS: usize = 25;

/// How a not-a-number takes part in largest and smallest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NanRule {
    /// Only if all elements are none.
    #[default]
    Ignored,
    /// Fault: comparisons start at the first element, and one that is none sticks (upstream).
    FirstSticks,
}

/// Statistics of one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// Elements.
    pub count: u64,
    /// Largest; `None` without elements.
    pub max: Option<Number>,
    /// Smallest; `None` without elements.
    pub min: Option<Number>,
    /// Mean; `None` without elements.
    pub avg: Option<f64>,
    /// Elements that are no number.
    pub nan: u64,
    /// Elements that are negative infinity.
    pub neg_inf: u64,
    /// Elements that are positive infinity.
    pub pos_inf: u64,
    /// Euclidean norm; `None` without elements.
    pub l2norm: Option<f64>,
}

impl Stats {
    /// Of a tensor's bytes; `None` for types that are no numbers.
    pub fn of(dtype: DataType, bytes: &[u8], rule: NanRule) -> Option<Self> {
        if !elements::is_numeric(dtype) {
            return None;
        }
        let mut stats =
            Self { count: 0, max: None, min: None, avg: None, nan: 0, neg_inf: 0, pos_inf: 0, l2norm: None };
        let (mut mean, mut squares, mut finite) = (0.0f64, 0.0f64, 0u64);
        for number in elements::elements(dtype, bytes) {
            stats.count += 1;
            let real = number.real();
            squares += real * real;
            if real.is_nan() {
                stats.nan += 1;
                if rule == NanRule::FirstSticks && stats.count == 1 {
                    (stats.max, stats.min) = (Some(number), Some(number));
                }
                continue;
            }
            if real.is_infinite() {
                if real > 0.0 { stats.pos_inf += 1 } else { stats.neg_inf += 1 }
            } else {
                finite += 1;
                mean += (real - mean) / finite as f64;
            }
            let sticks = |kept: Number| kept.real().is_nan();
            stats.max = Some(
                stats.max.map_or(number, |max| if sticks(max) || !above(number, max) { max } else { number }),
            );
            stats.min = Some(
                stats.min.map_or(number, |min| if sticks(min) || !above(min, number) { min } else { number }),
            );
        }
        if stats.count > 0 {
            if stats.nan == stats.count {
                (stats.max, stats.min) = (Some(Number::Real(f64::NAN)), Some(Number::Real(f64::NAN)));
            }
            stats.avg = Some(match (stats.nan, stats.neg_inf, stats.pos_inf) {
                (0, 0, 0) => mean,
                (0, 0, _) => f64::INFINITY,
                (0, _, 0) => f64::NEG_INFINITY,
                _ => f64::NAN,
            });
            stats.l2norm = Some(squares.sqrt());
        }
        Some(stats)
    }

    fn cell(&self, stat: Stat) -> String {
        let number = |number: Option<Number>| match number {
            Some(Number::Whole(n)) => n.to_string(),
            Some(Number::Real(x)) => short(x),
            None => String::new(),
        };
        let real = |x: Option<f64>| x.map(short).unwrap_or_default();
        match stat {
            Stat::Max => number(self.max),
            Stat::Min => number(self.min),
            Stat::Avg => real(self.avg),
            Stat::Nan => self.nan.to_string(),
            Stat::NegInf => self.neg_inf.to_string(),
            Stat::PosInf => self.pos_inf.to_string(),
            Stat::L2norm => real(self.l2norm),
        }
    }
}

fn above(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a > b,
        _ => a.real() > b.real(),
    }
}

/// Six significant digits, as C++ streams write them by default.
pub fn short(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if x == 0.0 {
        return if x.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{x:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        trimmed(&format!("{x:.*}", (5 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(mantissa), exponent.unsigned_abs())
    }
}

fn column(stat: Stat) -> &'static str {
    match stat {
        Stat::Max => "Max Value",
        Stat::Min => "Min Value",
        Stat::Avg => "Avg Value",
        Stat::Nan => "Nan Count",
        Stat::NegInf => "Negative Inf Count",
        Stat::PosInf => "Positive Inf Count",
        Stat::L2norm => "l2norm",
    }
}

/// The file for a record: header, inputs, outputs. The default columns give the device's own form,
/// any other choice the host's (ge-dump spec §9.4).
pub fn csv(record: &Record<'_>, stats: &[Stat], rule: NanRule) -> String {
    let legacy = stats == DEFAULT_STATS;
    let mut text = "Input/Output,Index,Data Size,Data Type,Format,Shape".to_owned();
    let columns: Vec<Option<Stat>> = if legacy {
        let (before, after) = stats.split_at(3);
        before
            .iter()
            .map(|&stat| Some(stat))
            .chain([None])
            .chain(after.iter().map(|&stat| Some(stat)))
            .collect()
    } else {
        [None].into_iter().chain(stats.iter().map(|&stat| Some(stat))).collect()
    };
    for stat in &columns {
        text.push(',');
        text.push_str(stat.map_or("Count", column));
    }
    text.push('\n');
    for part in [Part::Input, Part::Output] {
        for payload in record.payloads.iter().filter(|payload| payload.part == part) {
            let unknown = if legacy { "-" } else { "UNKNOW" };
            let dtype = match payload.dtype {
                DataType::Undefined => unknown.to_owned(),
                dtype => format!("DT_{dtype}"),
            };
            let side = if part == Part::Input { "Input" } else { "Output" };
            // Writing to a text cannot fail.
            let _ = write!(
                text,
                "{side},{},{},{dtype},{},{}",
                payload.index,
                payload.bytes.len(),
                Format::name(payload.format).unwrap_or("-"),
                shape(&payload.shape)
            );
            let found =
                if payload.address == 0 { None } else { Stats::of(payload.dtype, payload.bytes, rule) };
            for stat in &columns {
                text.push(',');
                match (&found, stat) {
                    (Some(found), None) => {
                        let _ = write!(text, "{}", found.count);
                    }
                    (Some(found), Some(stat)) => text.push_str(&found.cell(*stat)),
                    // P-31: the row keeps its columns.
                    (None, _) if !legacy => text.push_str("NA"),
                    (None, _) => {}
                }
            }
            text.push('\n');
        }
    }
    text
}

/// `2x3`; `-` for a scalar, `NA` for more than 25 dimensions.
fn shape(dims: &[u64]) -> String {
    match dims.len() {
        0 => "-".to_owned(),
        n if n > MAX_DIMS => "NA".to_owned(),
        _ => dims.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::record::{Identity, Payload, Phase, Scenario};

    #[test]
    fn six_significant_digits() {
        for (x, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (123456.0, "123456"),
            (1234567.0, "1.23457e+06"),
            (999999.5, "1e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000123456789, "0.000123457"),
            (-2.5, "-2.5"),
            (1e100, "1e+100"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(short(x), expected);
        }
    }

    fn floats(list: &[f32]) -> Vec<u8> {
        list.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// Count, max, min, avg, nan, −inf, +inf of some floats.
    #[track_caller]
    fn check(list: &[f32], rule: NanRule, expected: &str) {
        let stats = Stats::of(DataType::Float, &floats(list), rule).expect("numbers");
        let cells: Vec<String> = DEFAULT_STATS.iter().map(|&stat| stats.cell(stat)).collect();
        assert_eq!(format!("{} {}", stats.count, cells.join(" ")), expected);
    }

    #[test]
    fn p31_what_is_no_number_is_left_out_unless_nothing_else_is_there() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        check(&[1.0, 3.0, 2.0], NanRule::Ignored, "3 3 1 2 0 0 0");
        check(&[nan, 1.0, 3.0], NanRule::Ignored, "3 3 1 nan 1 0 0");
        check(&[nan, nan], NanRule::Ignored, "2 nan nan nan 2 0 0");
        check(&[1.0, inf], NanRule::Ignored, "2 inf 1 inf 0 0 1");
        check(&[1.0, -inf], NanRule::Ignored, "2 1 -inf -inf 0 1 0");
        check(&[-inf, inf], NanRule::Ignored, "2 inf -inf nan 0 1 1");
        check(&[], NanRule::Ignored, "0    0 0 0");
        check(&[nan, 1.0, 3.0], NanRule::FirstSticks, "3 nan nan nan 1 0 0");
        check(&[1.0, nan, 3.0], NanRule::FirstSticks, "3 3 1 nan 1 0 0");
    }

    #[test]
    fn wholes_are_exact() {
        let bytes: Vec<u8> = [u64::MAX, u64::MAX - 1].iter().flat_map(|n| n.to_le_bytes()).collect();
        let stats = Stats::of(DataType::Uint64, &bytes, NanRule::Ignored).expect("numbers");
        assert_eq!(
            (stats.cell(Stat::Max), stats.cell(Stat::Min)),
            ("18446744073709551615".to_owned(), "18446744073709551614".to_owned())
        );
        let norm = Stats::of(DataType::Int8, &[3, 4], NanRule::Ignored).expect("numbers");
        assert_eq!(norm.cell(Stat::L2norm), "5");
        assert_eq!(Stats::of(DataType::String, b"abc", NanRule::Ignored), None);
    }

    fn record(payloads: Vec<Payload<'_>>) -> Record<'_> {
        let identity = Identity {
            scenario: Scenario::Normal,
            phase: Phase::Whole,
            model: None,
            model_id: None,
            op: "a".to_owned(),
            op_type: "Add".to_owned(),
            iteration: None,
            stream: 0,
            task: 0,
            device: 0,
            context: None,
            time: 0,
        };
        Record { identity, payloads, attributes: Vec::new() }
    }

    fn payload<'b>(part: Part, dtype: DataType, shape: &[u64], bytes: &'b [u8]) -> Payload<'b> {
        Payload {
            part,
            index: 0,
            dtype,
            format: Format::ND,
            shape: shape.to_vec(),
            origin_shape: Vec::new(),
            address: 1,
            original: None,
            bytes,
        }
    }

    #[test]
    fn the_default_columns_are_the_devices_own_form() {
        let bytes = floats(&[1.0, 2.0]);
        let text = csv(
            &record(vec![
                payload(Part::Output, DataType::Undefined, &[], b"xy"),
                payload(Part::Input, DataType::Float, &[1, 2], &bytes),
            ]),
            &DEFAULT_STATS,
            NanRule::Ignored,
        );
        assert_eq!(
            text,
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count\n\
             Input,0,8,DT_FLOAT,ND,1x2,2,1,1.5,2,0,0,0\n\
             Output,0,2,-,ND,-,,,,,,,\n"
        );
    }

    #[test]
    fn other_columns_put_the_count_first_and_keep_their_places() {
        let bytes = floats(&[1.0, 2.0]);
        let many = [1; 26];
        let mut null = payload(Part::Input, DataType::Float, &[2], &bytes);
        null.address = 0;
        let text = csv(
            &record(vec![
                null,
                payload(Part::Output, DataType::Float, &many, &bytes),
                payload(Part::Output, DataType::Undefined, &[2], b"xy"),
            ]),
            &[Stat::Max, Stat::L2norm],
            NanRule::Ignored,
        );
        assert_eq!(
            text,
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,l2norm\n\
             Input,0,8,DT_FLOAT,ND,2,NA,NA,NA\n\
             Output,0,8,DT_FLOAT,ND,NA,2,2,2.23607\n\
             Output,0,2,UNKNOW,ND,2,NA,NA,NA\n"
        );
    }
}
