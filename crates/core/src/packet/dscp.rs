//! Differentiated services codepoints: the names that `ip` and `tc` know, from the RFCs that assign them.

/// A codepoint: the upper six bits of the former type of service (RFC 2474 section 3), 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Dscp(u8);

/// Names, each with its codepoint. If a codepoint has two names, the first is the one that is written.
const NAMES: &[(&str, u8)] = &[
    // RFC 2474 section 4.2.2: class selectors, the precedences of old; CS0 is the default.
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    // RFC 2597 section 6: assured forwarding, four classes of three drop precedences each.
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    // RFC 3246 section 2.7: expedited forwarding.
    ("EF", 46),
    // RFC 5865 section 2.1: capacity-admitted traffic.
    ("VOICE-ADMIT", 44),
    // RFC 8622 section 4: lower effort.
    ("LE", 1),
    // Name of CS0 in `ip` and `tc`.
    ("DEFAULT", 0),
];

impl Dscp {
    /// No particular treatment.
    pub const DEFAULT: Dscp = Dscp(0);
    /// Number of codepoints.
    pub const COUNT: u8 = 64;

    /// Returns the codepoint with this number; `None` over 63.
    pub const fn new(number: u8) -> Option<Self> {
        if number < Dscp::COUNT { Some(Dscp(number)) } else { None }
    }
    /// Returns the codepoint with this name, in capitals or not, or with this number.
    pub fn parse(text: &str) -> Option<Self> {
        let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, number)| Dscp(*number));
        named.or_else(|| text.parse().ok().and_then(Dscp::new))
    }
    /// Returns its number, 0 to 63.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }
    /// Returns its name, or else its number.
    pub fn name(self) -> String {
        NAMES.iter().find(|(_, number)| *number == self.0).map_or_else(|| self.0.to_string(), |(name, _)| (*name).to_owned())
    }
    /// Returns every name, as it is written.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

/// A set of codepoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dscps(u64);

impl Dscps {
    /// Reads a list of names and numbers with blanks or commas between. The error is the first word that is no codepoint.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        words.map(|word| Dscp::parse(word).ok_or_else(|| word.to_owned())).collect()
    }
    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Returns true if `dscp` is in the set.
    #[inline]
    pub const fn has(self, dscp: Dscp) -> bool {
        self.0 >> dscp.0 & 1 != 0
    }
    /// Returns the codepoints in both sets.
    pub const fn and(self, other: Dscps) -> Dscps {
        Dscps(self.0 & other.0)
    }
    /// Returns the codepoints in either set.
    pub const fn or(self, other: Dscps) -> Dscps {
        Dscps(self.0 | other.0)
    }
    /// Returns the codepoints in the set, by number.
    pub fn iter(self) -> impl Iterator<Item = Dscp> {
        (0..Dscp::COUNT).map(Dscp).filter(move |dscp| self.has(*dscp))
    }
    /// Returns their names, with blanks between.
    pub fn names(self) -> String {
        self.iter().map(Dscp::name).collect::<Vec<_>>().join(" ")
    }
}

impl From<Dscp> for Dscps {
    fn from(one: Dscp) -> Self {
        Dscps(1 << one.0)
    }
}

impl FromIterator<Dscp> for Dscps {
    fn from_iter<I: IntoIterator<Item = Dscp>>(all: I) -> Self {
        Dscps(all.into_iter().fold(0, |set, dscp| set | 1 << dscp.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_the_same() {
        assert_eq!(["EF", "ef", "46"].map(|text| Dscp::parse(text).unwrap().number()), [46; 3]);
        assert_eq!(["64", "-1", "AF14", "", "CS8"].map(Dscp::parse), [None; 5]);
        (0..64).for_each(|number| assert_eq!(Dscp::parse(&Dscp(number).name()), Some(Dscp(number))));
        // RFC 2597 section 6: class c and precedence p are 8 c + 2 p; RFC 2474: class selector c is 8 c.
        for class in 1..=4 {
            assert_eq!(Dscp::parse(&format!("CS{class}")), Some(Dscp(8 * class)));
            (1..=3).for_each(|p| assert_eq!(Dscp::parse(&format!("AF{class}{p}")), Some(Dscp(8 * class + 2 * p))));
        }
    }

    #[test]
    fn a_set_is_written_as_it_is_read() {
        let set = Dscps::parse("AF41, 5 EF").unwrap();
        assert_eq!((set.names().as_str(), Dscps::parse(&set.names())), ("5 AF41 EF", Ok(set)));
        assert!(set.has(Dscp(46)) && !set.has(Dscp(0)) && Dscps::default().is_empty());
        assert_eq!(Dscps::parse("EF AF44"), Err("AF44".to_owned()));
    }
}
