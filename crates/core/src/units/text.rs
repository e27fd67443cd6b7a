//! Quantities as text: `"68 ms"`, `"44.21 Mbit/s"`, `"384 KiB"`. They are exact in both directions: decimals are never rounded, and written
//! text reads back as the same number.

use std::fmt;

/// A kind of quantity: its units, largest last, and the number of base units in each.
#[derive(Debug, PartialEq)]
pub struct Dimension {
    /// Quantity that is measured: "a rate".
    pub what: &'static str,
    /// A quantity as a user would write it.
    pub example: &'static str,
    /// The units and how many base units each has, the largest last.
    pub units: &'static [(&'static str, u64)],
    /// Other spellings people use, and what to write instead.
    hints: &'static [(&'static str, &'static str)],
}

/// Time, in picoseconds.
pub static TIME: Dimension = Dimension {
    what: "a duration",
    example: "68 ms",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
    hints: &[("sec", "s"), ("seconds", "s"), ("second", "s"), ("msec", "ms"), ("usec", "us"), ("minutes", "min"), ("hours", "h")],
};

/// Rates, in bits per second; k, M, G, T are powers of 1000.
pub static RATE: Dimension = Dimension {
    what: "a rate",
    example: "44.21 Mbit/s",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000), ("Tbit/s", 1_000_000_000_000)],
    hints: &[
        ("bps", "bit/s"),
        ("kbps", "kbit/s (as tc reads `kbps`, kilobytes a second: 8 kbit/s)"),
        ("Kbps", "kbit/s"),
        ("Mbps", "Mbit/s"),
        ("mbps", "Mbit/s (as tc reads `mbps`, megabytes a second: 8 Mbit/s)"),
        ("Gbps", "Gbit/s"),
        ("gbps", "Gbit/s (as tc reads `gbps`, gigabytes a second: 8 Gbit/s)"),
        ("kb/s", "kbit/s"),
        ("Mb/s", "Mbit/s"),
        ("Gb/s", "Gbit/s"),
        ("Kbit/s", "kbit/s"),
        ("mbit/s", "Mbit/s"),
        ("gbit/s", "Gbit/s"),
        ("kB/s", "kbit/s (8 bits per byte)"),
        ("MB/s", "Mbit/s (8 bits per byte)"),
        ("GB/s", "Gbit/s (8 bits per byte)"),
        ("k", "kbit/s"),
        ("K", "kbit/s"),
        ("M", "Mbit/s"),
        ("G", "Gbit/s"),
        ("T", "Tbit/s"),
        ("bit", "bit/s"),
        ("kbit", "kbit/s"),
        ("mbit", "Mbit/s"),
        ("Mbit", "Mbit/s"),
        ("gbit", "Gbit/s"),
        ("Gbit", "Gbit/s"),
    ],
};

/// Sizes, in bytes; kB is 1000 and KiB 1024 bytes.
pub static SIZE: Dimension = Dimension {
    what: "a size",
    example: "64 KiB",
    units: &[
        ("bytes", 1),
        ("byte", 1),
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
        ("TB", 1_000_000_000_000),
        ("TiB", 1 << 40),
    ],
    hints: &[
        ("KB", "KiB (1024 bytes) or kB (1000 bytes)"),
        ("K", "KiB (1024 bytes) or kB (1000 bytes)"),
        ("k", "KiB (1024 bytes) or kB (1000 bytes)"),
        ("kb", "KiB (1024 bytes) or kB (1000 bytes)"),
        ("kib", "KiB"),
        ("M", "MiB or MB"),
        ("mb", "MiB or MB"),
        ("Mb", "MiB or MB"),
        ("G", "GiB or GB"),
        ("b", "bytes"),
    ],
};

/// Reasons why a text is not a quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum QuantityError {
    /// It does not begin with a number.
    NotANumber,
    /// A negative number.
    Negative,
    /// A number without a unit.
    NoUnit {
        /// Units that it could have.
        units: String,
    },
    /// An unknown unit, with what may have been meant.
    UnknownUnit {
        /// Unit as it was written.
        unit: String,
        /// Unit to write instead.
        meant: Option<String>,
        /// Units that it could have.
        units: String,
    },
    /// Not a whole number of base units.
    TooFine {
        /// The base unit.
        base: &'static str,
    },
    /// More base units than 64 bits hold.
    TooLarge,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuantityError::NotANumber => write!(f, "it does not begin with a number"),
            QuantityError::Negative => write!(f, "it is negative"),
            QuantityError::NoUnit { units } => write!(f, "the unit is missing; one of {units}"),
            QuantityError::UnknownUnit { unit, meant: Some(meant), .. } => write!(f, "`{unit}` is not a unit here; write {meant}"),
            QuantityError::UnknownUnit { unit, meant: None, units } => write!(f, "`{unit}` is not a unit here; the units are {units}"),
            QuantityError::TooFine { base } => write!(f, "it is not a whole number of {base}"),
            QuantityError::TooLarge => write!(f, "it is too large"),
        }
    }
}

/// Splits a text into a number (digits, perhaps with a decimal point) and the word after it.
pub fn split(text: &str) -> Result<(&str, &str), QuantityError> {
    let text = text.trim();
    if text.starts_with(['-', '−']) {
        return Err(QuantityError::Negative);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, word) = text.split_at(end);
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let well_formed = digits > 0 && number.len() - digits <= 1 && !number.starts_with('.') && !number.ends_with('.');
    if well_formed { Ok((number, word.trim_start())) } else { Err(QuantityError::NotANumber) }
}

/// Returns `number` times `factor`, if that is whole and fits.
pub fn scale(number: &str, factor: u64, base: &'static str) -> Result<u64, QuantityError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    // Past 25 digits after the point no factor here (at most 2^52) makes it whole.
    if fraction.len() > 25 {
        return Err(QuantityError::TooFine { base });
    }
    let parse = |s: &str| if s.is_empty() { Ok(0) } else { s.parse::<u128>().map_err(|_| QuantityError::TooLarge) };
    let whole = parse(whole)?.checked_mul(u128::from(factor)).ok_or(QuantityError::TooLarge)?;
    let unit = 10_u128.pow(fraction.len() as u32);
    let part = parse(fraction)?.checked_mul(u128::from(factor)).ok_or(QuantityError::TooLarge)?;
    if part % unit != 0 {
        return Err(QuantityError::TooFine { base });
    }
    whole.checked_add(part / unit).and_then(|n| u64::try_from(n).ok()).ok_or(QuantityError::TooLarge)
}

impl Dimension {
    /// Returns the number of base units that `text` names.
    pub fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let (number, word) = split(text)?;
        if word.is_empty() {
            return Err(QuantityError::NoUnit { units: self.unit_names() });
        }
        match self.units.iter().find(|(name, _)| *name == word) {
            Some((_, factor)) => scale(number, *factor, self.units[0].0),
            None => Err(QuantityError::UnknownUnit {
                unit: word.to_owned(),
                meant: self.meant(word).map(str::to_owned),
                units: self.unit_names(),
            }),
        }
    }

    /// Returns the unit that someone who wrote `word` may have meant: a known other spelling, or a unit in other case.
    fn meant(&self, word: &str) -> Option<&'static str> {
        let hint = self.hints.iter().find(|(wrong, _)| *wrong == word).map(|(_, right)| *right);
        hint.or_else(|| self.units.iter().map(|(name, _)| *name).find(|name| name.eq_ignore_ascii_case(word)))
    }

    /// Returns every unit, for messages.
    pub fn unit_names(&self) -> String {
        self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    /// Returns a regular expression that texts of this dimension match (and few others do).
    pub fn pattern(&self) -> String {
        let units: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        format!("^[0-9]+(\\.[0-9]+)? ?({})$", units.join("|"))
    }

    /// Returns `n` base units as text, exactly: sizes in the largest unit that divides them, the rest as decimals.
    pub fn format(&self, n: u64) -> String {
        if std::ptr::eq(self, &SIZE) { format_size(n) } else { self.format_decimal(n) }
    }

    fn format_decimal(&self, n: u64) -> String {
        // Only units that are powers of ten give a finite decimal for every n.
        let decimal = |factor: u64| factor.to_string().trim_end_matches('0') == "1";
        let (name, factor) = match self.units.iter().rfind(|(name, factor)| decimal(*factor) && *name != "µs" && *factor <= n) {
            Some(unit) => *unit,
            None => self.units[if n == 0 && std::ptr::eq(self, &TIME) { 5 } else { 0 }],
        };
        let (whole, rest) = (n / factor, n % factor);
        if rest == 0 {
            return format!("{whole} {name}");
        }
        let width = factor.to_string().len() - 1;
        let fraction = format!("{rest:0width$}");
        format!("{whole}.{} {name}", fraction.trim_end_matches('0'))
    }
}

fn format_size(n: u64) -> String {
    let divides = |(_, factor): &&(&str, u64)| *factor > 1 && n >= *factor && n.is_multiple_of(*factor);
    let binary = SIZE.units.iter().filter(|(name, _)| name.contains('i')).rfind(divides);
    match binary.or_else(|| SIZE.units.iter().rfind(divides)) {
        Some((name, factor)) => format!("{} {name}", n / factor),
        None if n == 1 => "1 byte".to_owned(),
        None => format!("{n} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_write() {
        assert_eq!(TIME.parse("68 ms"), Ok(68_000_000_000));
        assert_eq!(TIME.parse("0.5s"), Ok(500_000_000_000));
        assert_eq!(TIME.parse("33.333333333 ms"), Ok(33_333_333_333));
        assert_eq!(RATE.parse("44.21 Mbit/s"), Ok(44_210_000));
        assert_eq!(RATE.parse("44.736 Mbit/s"), Ok(44_736_000));
        assert_eq!(SIZE.parse("2 KiB"), Ok(2048));
        assert_eq!(SIZE.parse("1.5 KiB"), Ok(1536));
        assert_eq!(SIZE.parse("64 kB"), Ok(64_000));
    }

    #[test]
    fn what_they_write_wrongly() {
        let text = |r: Result<u64, QuantityError>| r.unwrap_err().to_string();
        assert_eq!(text(RATE.parse("50M")), "`M` is not a unit here; write Mbit/s");
        assert_eq!(text(RATE.parse("100mbit")), "`mbit` is not a unit here; write Mbit/s");
        assert_eq!(text(RATE.parse("45 Mbps")), "`Mbps` is not a unit here; write Mbit/s");
        assert_eq!(text(SIZE.parse("64 KB")), "`KB` is not a unit here; write KiB (1024 bytes) or kB (1000 bytes)");
        assert_eq!(text(RATE.parse("45")), "the unit is missing; one of bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s");
        assert_eq!(text(TIME.parse("-3 ms")), "it is negative");
        assert_eq!(text(TIME.parse("0.5 ps")), "it is not a whole number of ps");
        assert_eq!(text(SIZE.parse("20000000 TiB")), "it is too large");
        for wrong in ["", "ms", ".5 s", "1. s", "1.2.3 s", "1e3 s", "nan s", "1,5 s"] {
            assert!(TIME.parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn how_they_are_written_back() {
        assert_eq!(TIME.format(68_000_000_000), "68 ms");
        assert_eq!(TIME.format(0), "0 s");
        assert_eq!(TIME.format(90_500_000_000_000), "90.5 s");
        assert_eq!(RATE.format(44_210_000), "44.21 Mbit/s");
        assert_eq!(SIZE.format(393_216), "384 KiB");
        assert_eq!(SIZE.format(64_000), "64 kB");
        assert_eq!(SIZE.format(1500), "1500 bytes");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(n in any::<u64>(), shift in 0_u32..64) {
            for dimension in [&TIME, &RATE, &SIZE] {
                for n in [n, n >> shift, (n >> shift) << (shift / 2), (n >> shift) / 1000 * 1000] {
                    prop_assert_eq!(dimension.parse(&dimension.format(n)), Ok(n));
                }
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            for dimension in [&TIME, &RATE, &SIZE] {
                let _ = dimension.parse(&text);
            }
        }
    }
}
