//! Reads a [`Value`] of a [`Kind`] from the text of a file, and writes it back.

use super::{Kept, Kind, Named, ParamSpec, Value};
use crate::packet::{Dscp, Dscps};
use crate::time::Duration;
use crate::units::text::{QuantityError, RATE, SIZE, TIME, scale, split};
use crate::units::{Capacity, Rate};

/// Highest rate of a link in bit/s: 100 Tbit/s. It keeps products of rate and time within 64 bits of bytes.
const MAX_RATE: u64 = Rate::MOST.as_bps();
/// Bounds of a capacity: 1 TiB, 10^9 packets, 1000 BDP.
const MAX_BYTES: u64 = 1 << 40;
const MAX_PACKETS: u64 = 1_000_000_000;
/// Largest window: 2^16 - 1, scaled by 2^14 (RFC 7323 §2.3), rounded up.
const MAX_WINDOW: u64 = 1 << 30;
const MAX_BDP: f64 = 1000.0;

/// A value as a file holds it, before its kind is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal<'a> {
    /// A string.
    Text(&'a str),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// Another type, such as an array, a table or a date: its name.
    Other(&'static str),
}

/// Mismatch of a literal and a kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Description of a valid value.
    pub expected: String,
    /// Reason for the mismatch.
    pub why: Why,
}

/// Reasons why a literal does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// Wrong type: a number where a word is wanted, and the like.
    OtherType,
    /// Unknown word.
    NoSuchWord,
    /// Too small, or too large.
    OutOfRange,
    /// No quantity of the kind: a sentence.
    Quantity(String),
}

impl Mismatch {
    /// Returns the error for the parameter `name`, for which `found` describes the literal.
    pub fn message(&self, name: &str, found: &str) -> String {
        match &self.why {
            Why::OtherType => format!("`{name}` must be {}", self.expected),
            Why::NoSuchWord => format!("`{name}` cannot be {found}"),
            Why::OutOfRange => format!("`{name}` is out of range"),
            Why::Quantity(why) => format!("`{name}`: {why}"),
        }
    }
}

impl ParamSpec {
    /// Reads like [`Kind::read`], and `"auto"` if the owner of the parameter may decide.
    pub fn read(&self, literal: Literal<'_>) -> Result<Value, Mismatch> {
        if self.default == Some(Value::Auto) && literal == Literal::Text("auto") {
            return Ok(Value::Auto);
        }
        self.kind.read(literal)
    }
}

impl Kind {
    /// Returns the value that `literal` stands for.
    pub fn read(&self, literal: Literal<'_>) -> Result<Value, Mismatch> {
        let mismatch = |why: Why| Mismatch { expected: self.expectation(), why };
        let quantity = |e: QuantityError| mismatch(Why::Quantity(e.to_string()));
        let out_of_range = || mismatch(Why::OutOfRange);
        let within = |ok: bool, value: Value| if ok { Ok(value) } else { Err(out_of_range()) };
        match (*self, literal) {
            (Kind::Bytes { min, max }, Literal::Text(text)) => {
                let n = SIZE.parse(text).map_err(quantity)?;
                within((min..=max).contains(&n), Value::Bytes(n))
            }
            (Kind::Duration { min, max }, Literal::Text(text)) => {
                let d = Duration::from_ps(TIME.parse(text).map_err(quantity)?);
                within((min..=max).contains(&d), Value::Duration(d))
            }
            (Kind::Rate, Literal::Text(text)) => match RATE.parse(text).map_err(quantity)? {
                bps @ 1..=MAX_RATE => Ok(Value::Rate(Rate::from_bps(bps))),
                _ => Err(out_of_range()),
            },
            (Kind::Capacity, Literal::Text(text)) => read_capacity(text).map_err(quantity)?.map(Value::Capacity).ok_or_else(out_of_range),
            (Kind::Window, Literal::Text(text)) => read_window(text).map_err(quantity)?.map(Value::Capacity).ok_or_else(out_of_range),
            (Kind::Count { unit: "", min, max }, Literal::Integer(n)) => {
                let n = u64::try_from(n).map_err(|_| out_of_range())?;
                within((min..=max).contains(&n), Value::Count(n))
            }
            (Kind::Count { unit, min, max }, Literal::Text(text)) if !unit.is_empty() => {
                let n = read_count(text, unit).map_err(quantity)?;
                within((min..=max).contains(&n), Value::Count(n))
            }
            (Kind::Number { min, max }, Literal::Float(x)) => within(x.is_finite() && x >= min && x <= max, Value::Number(unsigned(x))),
            (Kind::Number { min, max }, Literal::Integer(n)) => within(n as f64 >= min && n as f64 <= max, Value::Number(n as f64)),
            (Kind::Portion { unit }, Literal::Text(text)) => Ok(Value::Count(read_count(text, unit).map_err(quantity)?)),
            (Kind::Portion { .. }, Literal::Float(x)) => within((0.0..=1.0).contains(&x), Value::Number(unsigned(x))),
            (Kind::Portion { .. }, Literal::Integer(n)) => within((0..=1).contains(&n), Value::Number(n as f64)),
            (Kind::Bool, Literal::Bool(b)) => Ok(Value::Bool(b)),
            (Kind::ChoiceOrCsv(_), Literal::Text(text)) if text.ends_with(".csv") => Ok(Value::Names(Kept::from(vec![text.to_owned()]))),
            (Kind::Choice(words) | Kind::ChoiceOrCsv(words), Literal::Text(text)) => {
                words.iter().find(|w| **w == text).map(|w| Value::Choice(w)).ok_or_else(|| mismatch(Why::NoSuchWord))
            }
            (Kind::Dscp, Literal::Text(text)) => Dscp::parse(text).map(Value::Dscp).ok_or_else(|| mismatch(no_dscp(text))),
            (Kind::Dscp, Literal::Integer(n)) => dscp(n).map(Value::Dscp).ok_or_else(out_of_range),
            (Kind::Dscps, Literal::Text(text)) => match Dscps::parse(text) {
                Ok(set) if !set.is_empty() => Ok(Value::Dscps(set)),
                Ok(_) => Err(mismatch(Why::Quantity("it names no codepoint".to_owned()))),
                Err(word) => Err(mismatch(no_dscp(&word))),
            },
            (Kind::Dscps, Literal::Integer(n)) => dscp(n).map(|one| Value::Dscps(one.into())).ok_or_else(out_of_range),
            (Kind::Names(_), Literal::Text(name)) => Ok(Value::Names(Kept::from(vec![name.to_owned()]))),
            (
                Kind::Bytes { .. } | Kind::Duration { .. } | Kind::Rate | Kind::Capacity | Kind::Window,
                Literal::Integer(_) | Literal::Float(_),
            ) => Err(mismatch(Why::Quantity(format!("a quantity is a string with its unit: write {}", self.with_units(literal))))),
            (Kind::Count { unit, .. }, Literal::Integer(n)) if !unit.is_empty() => {
                Err(mismatch(Why::Quantity(format!("a quantity is a string with its unit: write \"{n} {unit}\""))))
            }
            _ => Err(mismatch(Why::OtherType)),
        }
    }

    /// Returns spellings with a unit that the bare number `literal` may stand for.
    fn with_units(&self, literal: Literal<'_>) -> String {
        let number = match literal {
            Literal::Integer(n) => n.to_string(),
            Literal::Float(x) => x.to_string(),
            _ => return self.expectation(),
        };
        let units: &[&str] = match self {
            Kind::Duration { .. } => &["ms", "s"],
            Kind::Rate => &["Mbit/s", "Gbit/s"],
            Kind::Capacity => &["packets", "KiB", "bdp"],
            Kind::Window => &["KiB", "MiB", "segments"],
            _ => &["bytes", "KiB"],
        };
        let spellings: Vec<String> = units.iter().map(|unit| format!("\"{number} {unit}\"")).collect();
        spellings.join(" or ")
    }

    /// Returns a description of the values that this kind takes, for a message.
    pub fn expectation(&self) -> String {
        match self {
            Kind::Bytes { min, max } => {
                format!(
                    "a size from {} to {}, such as \"{}\"",
                    SIZE.format(*min),
                    SIZE.format(*max),
                    example(65_536, *min, *max, |n| SIZE.format(n))
                )
            }
            Kind::Count { unit: "", min, max } => format!("a whole number from {min} to {max}"),
            Kind::Count { unit, min, max } => {
                format!("a count from {min} to {max} with its unit, such as \"{} {unit}\"", 10.clamp(*min, *max))
            }
            Kind::Capacity => "a queue capacity, such as \"60 packets\", \"384 KiB\" or \"1 bdp\"".to_owned(),
            Kind::Window => {
                format!("a window of at least 1 segment and at most {}, such as \"700 segments\" or \"1 MiB\"", SIZE.format(MAX_WINDOW))
            }
            Kind::Duration { min, max } => {
                let (min, max) = (min.as_ps(), max.as_ps());
                let fitting = example(100_000_000_000, min, max, |n| TIME.format(n));
                format!("a duration from {} to {}, such as \"{fitting}\"", TIME.format(min), TIME.format(max))
            }
            Kind::Rate => "a rate from 1 bit/s to 100 Tbit/s, such as \"44.21 Mbit/s\"".to_owned(),
            Kind::Number { min, max } => format!("a number from {min} to {max}"),
            Kind::Portion { unit } => format!("a count with its unit, such as \"500 {unit}\", or a fraction from 0 to 1"),
            Kind::Bool => "true or false".to_owned(),
            Kind::Choice(words) => format!("one of {}", quoted(words)),
            Kind::ChoiceOrCsv(words) => format!("one of {}, or a file such as \"sizes.csv\"", quoted(words)),
            Kind::Dscp => format!("a codepoint: {}, or a number from 0 to 63", dscp_names()),
            Kind::Dscps => "codepoints by name or number, such as \"EF\" or \"AF41 AF42\"".to_owned(),
            Kind::Names(Named::Groups) => "the name of a flow, or a list of them".to_owned(),
            Kind::Names(Named::Hosts) => "the name of a host, or a list of them".to_owned(),
            Kind::Queue => "a queue, such as \"fq_codel\" or { kind = \"droptail\", limit = \"60 packets\" }".to_owned(),
            Kind::Tables(keys) => {
                let names: Vec<&str> = keys.0.iter().map(|spec| spec.name).collect();
                format!("an array of one or more tables with {}", names.join(", "))
            }
        }
    }

    /// Returns `value` as a file would hold it. `None` for [`Value::Auto`]; the owners of queues and tables write these.
    pub fn write(&self, value: Value) -> Option<serde_json::Value> {
        Some(match value {
            Value::Bytes(n) => SIZE.format(n).into(),
            Value::Count(n) => match *self {
                Kind::Count { unit, .. } | Kind::Portion { unit } if !unit.is_empty() => format!("{n} {unit}").into(),
                _ => n.into(),
            },
            Value::Capacity(Capacity::Bytes(n)) => SIZE.format(n).into(),
            Value::Capacity(Capacity::Packets(n)) if *self == Kind::Window => format!("{n} segments").into(),
            Value::Capacity(Capacity::Packets(n)) => format!("{n} packets").into(),
            Value::Capacity(Capacity::Bdp(x)) => format!("{x} bdp").into(),
            Value::Duration(d) => TIME.format(d.as_ps()).into(),
            Value::Rate(r) => RATE.format(r.as_bps()).into(),
            Value::Number(x) => x.into(),
            Value::Bool(b) => b.into(),
            Value::Choice(c) => c.into(),
            Value::Dscp(dscp) => dscp.name().into(),
            Value::Dscps(set) => set.names().into(),
            // Names are a list, so that a name that is also a word, such as "auto", stays a name.
            Value::Names(names) => names.all().into(),
            Value::Queue(_) | Value::Tables(_) => unreachable!("what holds parameters of its own is not written as one value"),
            Value::Auto => return None,
        })
    }
}

/// Returns `usual` if it is within bounds, else a bound.
fn example(usual: u64, min: u64, max: u64, format: impl Fn(u64) -> String) -> String {
    format(usual.clamp(min, max))
}

/// Removes the sign of zero: 0.0 and -0.0 are the same run.
fn unsigned(x: f64) -> f64 {
    x + 0.0
}

fn dscp(number: i64) -> Option<Dscp> {
    u8::try_from(number).ok().and_then(Dscp::new)
}

fn no_dscp(word: &str) -> Why {
    Why::Quantity(format!("there is no codepoint \"{word}\""))
}

fn dscp_names() -> String {
    Dscp::names().collect::<Vec<_>>().join(", ")
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ")
}

/// Reads `"60 packets"`, or `"1 packet"` for one.
fn read_count(text: &str, unit: &'static str) -> Result<u64, QuantityError> {
    let (number, word) = split(text)?;
    if word.is_empty() {
        return Err(QuantityError::NoUnit { units: unit.to_owned() });
    }
    if word != unit && Some(word) != unit.strip_suffix('s') {
        return Err(QuantityError::UnknownUnit { unit: word.to_owned(), meant: None, units: unit.to_owned() });
    }
    scale(number, 1, unit)
}

fn read_capacity(text: &str) -> Result<Option<Capacity>, QuantityError> {
    let (number, word) = split(text)?;
    Ok(match word {
        "bdp" => number.parse().ok().filter(|x| *x > 0.0 && *x <= MAX_BDP).map(Capacity::Bdp),
        "packets" | "packet" => Some(scale(number, 1, "packets")?).filter(|n| (1..=MAX_PACKETS).contains(n)).map(Capacity::Packets),
        "" => return Err(QuantityError::NoUnit { units: format!("packets, bdp, {}", SIZE.unit_names()) }),
        // The unit of netem and ns-3: `100p`.
        "p" | "pkt" | "pkts" => {
            let (unit, meant) = (word.to_owned(), Some("packets".to_owned()));
            return Err(QuantityError::UnknownUnit { unit, meant, units: format!("packets, bdp, {}", SIZE.unit_names()) });
        }
        _ => Some(SIZE.parse(text)?).filter(|n| (1..=MAX_BYTES).contains(n)).map(Capacity::Bytes),
    })
}

fn read_window(text: &str) -> Result<Option<Capacity>, QuantityError> {
    let (number, word) = split(text)?;
    Ok(match word {
        "segments" | "segment" => Some(scale(number, 1, "segments")?).filter(|n| (1..=MAX_WINDOW).contains(n)).map(Capacity::Packets),
        "" => return Err(QuantityError::NoUnit { units: format!("segments, {}", SIZE.unit_names()) }),
        _ => Some(SIZE.parse(text)?).filter(|n| (1..=MAX_WINDOW).contains(n)).map(Capacity::Bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_capacity_has_three_spellings() {
        assert_eq!(read_capacity("60 packets"), Ok(Some(Capacity::Packets(60))));
        assert_eq!(read_capacity("384 KiB"), Ok(Some(Capacity::Bytes(393_216))));
        assert_eq!(read_capacity("0.5 bdp"), Ok(Some(Capacity::Bdp(0.5))));
        assert_eq!(read_capacity("0 packets"), Ok(None));
        assert!(read_capacity("60").is_err());
    }

    #[test]
    fn a_window_is_in_segments_or_bytes() {
        assert_eq!(read_window("700 segments"), Ok(Some(Capacity::Packets(700))));
        assert_eq!(read_window("1 segment"), Ok(Some(Capacity::Packets(1))));
        assert_eq!(read_window("64 KiB"), Ok(Some(Capacity::Bytes(65_536))));
        assert_eq!(read_window("0 segments"), Ok(None));
        assert_eq!(read_window("2 GiB"), Ok(None));
        assert!(read_window("44").is_err() && read_window("44 packets").is_err() && read_window("1 bdp").is_err());
    }

    #[test]
    fn a_count_wants_its_unit() {
        let kind = Kind::Count { unit: "buffers", min: 1, max: 500 };
        assert_eq!(kind.read(Literal::Text("224 buffers")), Ok(Value::Count(224)));
        assert_eq!(kind.read(Literal::Text("1 buffer")), Ok(Value::Count(1)));
        let why = |l| kind.read(l).unwrap_err().message("n", "it");
        assert_eq!(why(Literal::Integer(224)), "`n`: a quantity is a string with its unit: write \"224 buffers\"");
        assert_eq!(why(Literal::Text("224 packets")), "`n`: `packets` is not a unit here; the units are buffers");
        assert_eq!(why(Literal::Text("0 buffers")), "`n` is out of range");
        assert_eq!(why(Literal::Text("1.5 buffers")), "`n`: it is not a whole number of buffers");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(n in 1_u64..1 << 40, x in 0.001_f64..1000.0) {
            let pairs = [
                (Kind::Capacity, Value::Capacity(Capacity::Bytes(n))),
                (Kind::Capacity, Value::Capacity(Capacity::Packets(n % MAX_PACKETS + 1))),
                (Kind::Capacity, Value::Capacity(Capacity::Bdp(x))),
                (Kind::Count { unit: "segments", min: 0, max: u64::MAX }, Value::Count(n)),
                (Kind::Rate, Value::Rate(Rate::from_bps(n))),
                (Kind::Window, Value::Capacity(Capacity::Bytes(n % MAX_WINDOW + 1))),
                (Kind::Window, Value::Capacity(Capacity::Packets(n % MAX_WINDOW + 1))),
            ];
            for (kind, value) in pairs {
                let json = kind.write(value).unwrap();
                prop_assert_eq!(kind.read(Literal::Text(json.as_str().unwrap())), Ok(value));
            }
        }
    }
}
