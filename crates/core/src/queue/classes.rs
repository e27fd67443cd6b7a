//! Classes of packets: the classifier that every queue with classes uses.
//!
//! A class selects packets: by codepoint, ECN field, a share of the flows, flows of a group, packets of a host. The first class that
//! matches takes a packet. One class has no selector, and takes the rest.

use super::flows::mix;
use super::{Party, QueueContext};
use crate::packet::{Dscps, Ecn, Packet};
use crate::params::{Kind, Named, ParamSpec, Params, Value};

/// Key of a class for codepoints, in the table of its parameters.
pub(super) const DSCP: ParamSpec =
    ParamSpec { name: "dscp", kind: Kind::Dscps, default: Some(Value::Auto), doc: "the codepoints that it takes. When not given: all" };
pub(super) const ECN: ParamSpec = ParamSpec {
    name: "ecn",
    kind: Kind::Choice(&["not_ect", "ect0", "ect1", "ce", "l4s"]),
    default: Some(Value::Auto),
    doc: "the ECN field that it takes; `l4s` is ect1 and ce. When not given: all",
};
pub(super) const HASH: ParamSpec = ParamSpec {
    name: "hash",
    kind: Kind::Number { min: 0.0, max: 1.0 },
    default: Some(Value::Auto),
    doc: "the share of the flows that it takes, each flow whole, by a hash. When not given: all",
};
/// Key of a class for groups of flows.
pub const GROUP: ParamSpec = ParamSpec {
    name: "group",
    kind: Kind::Names(Named::Groups),
    default: Some(Value::Auto),
    doc: "the flows that it takes, by the `name` of the `[[flow]]`, both ways. When not given: all",
};
/// Key of a class for hosts.
pub const HOST: ParamSpec = ParamSpec {
    name: "host",
    kind: Kind::Names(Named::Hosts),
    default: Some(Value::Auto),
    doc: "the hosts whose packets it takes: what they send and what is sent to them. When not given: all",
};

/// Name of the tables of classes.
pub(super) const CLASS: &str = "class";

/// A set of ECN fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ecns(u8);

impl Ecns {
    /// Scalable traffic (RFC 9331 section 5.1): ECT(1), and CE, which may have been ECT(1).
    pub(super) const L4S: Ecns = Ecns(1 << Ecn::Ect1 as u8 | 1 << Ecn::Ce as u8);

    fn named(word: &str) -> Self {
        match word {
            "not_ect" => Ecns(1 << Ecn::NotEct as u8),
            "ect0" => Ecns(1 << Ecn::Ect0 as u8),
            "ect1" => Ecns(1 << Ecn::Ect1 as u8),
            "ce" => Ecns(1 << Ecn::Ce as u8),
            _ => Ecns::L4S,
        }
    }
    /// Returns true if `ecn` is in the set.
    #[inline]
    pub(super) const fn has(self, ecn: Ecn) -> bool {
        self.0 >> ecn as u8 & 1 != 0
    }
}

/// Filter of one class among the packets of its parties: a packet must match every part.
#[derive(Clone, Copy, Debug, Default)]
struct Rule {
    dscp: Option<Dscps>,
    ecn: Option<Ecns>,
    /// Bound below which hashes of flows are taken; the second number is the key, so that each class takes a share of its own.
    hash: Option<(u64, u64)>,
}

impl Rule {
    fn new(class: &Params, key: u64) -> Self {
        let given = |name| (!class.is_auto(name)).then_some(name);
        Rule {
            dscp: class.dscps(DSCP.name),
            ecn: given(ECN.name).map(|name| Ecns::named(class.choice(name))),
            // A share of 2^64 hashes; the whole is one less than 2^64, which no test will find.
            hash: given(HASH.name).map(|name| ((class.number(name) * 18_446_744_073_709_551_616.0) as u64, key)),
        }
    }
    const fn takes_all(&self) -> bool {
        self.dscp.is_none() && self.ecn.is_none() && self.hash.is_none()
    }
    #[inline]
    fn takes(&self, packet: &Packet) -> bool {
        self.dscp.is_none_or(|set| set.has(packet.dscp))
            && self.ecn.is_none_or(|set| set.has(packet.ecn))
            && self.hash.is_none_or(|(below, key)| mix(packet.route, key) < below)
    }
}

/// Parties whose packets one class takes: one name of each list that it has must match.
#[derive(Clone, Copy, Debug, Default)]
struct Whose {
    groups: Option<&'static [String]>,
    hosts: Option<&'static [String]>,
}

impl Whose {
    fn new(class: &Params) -> Self {
        Whose { groups: class.names(GROUP.name), hosts: class.names(HOST.name) }
    }
    const fn takes_all(&self) -> bool {
        self.groups.is_none() && self.hosts.is_none()
    }
    fn takes(&self, party: &Party<'_>) -> bool {
        self.groups.is_none_or(|names| names.iter().any(|name| name == party.group))
            && self.hosts.is_none_or(|names| names.iter().any(|name| party.hosts.contains(&name.as_str())))
    }
}

/// Share of a party's packets that a class takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Share {
    /// No packets.
    None,
    /// Packets with some codepoints, ECN fields or hashes.
    Some,
    /// All packets.
    All,
}

/// Returns the share of `party`'s packets that the class with these parameters takes, if no class before it takes any.
pub fn share(class: &Params, party: &Party<'_>) -> Share {
    match (Whose::new(class).takes(party), Rule::new(class, 0).takes_all()) {
        (false, _) => Share::None,
        (true, false) => Share::Some,
        (true, true) => Share::All,
    }
}

/// Classifier of the packets of one queue.
#[derive(Debug)]
pub(super) struct Classifier {
    /// Rules, each with the number of its class.
    rules: Vec<(Whose, Rule, usize)>,
    /// Class of the packets that no rule takes.
    rest: usize,
    /// Sheets: the rules that apply to a set of parties. The first sheet is for unknown parties.
    sheets: Vec<Vec<(Rule, usize)>>,
    /// Sheet of each route, as far as that is known; empty if no class selects by party.
    sheet_of: Vec<u32>,
}

impl Classifier {
    /// Returns the classifier of the tables `classes`, which [`check`] let pass.
    pub(super) fn new(classes: &[Params], context: &QueueContext) -> Self {
        let mut rng = context.rng.clone();
        let rules = classes.iter().map(|class| (Whose::new(class), Rule::new(class, rng.next_u64()))).zip(0..);
        let rules = rules.map(|((whose, rule), class)| (whose, rule, class));
        let (all, rules): (Vec<_>, Vec<_>) = rules.partition(|(whose, rule, _)| whose.takes_all() && rule.takes_all());
        let unknown = rules.iter().filter(|(whose, ..)| whose.takes_all()).map(|&(_, rule, class)| (rule, class)).collect();
        Classifier { rules, rest: all.first().map_or(0, |(.., class)| *class), sheets: vec![unknown], sheet_of: Vec::new() }
    }
    /// Records that packets with this route are of `party`.
    pub(super) fn tell(&mut self, route: u32, party: &Party<'_>) {
        if self.rules.iter().all(|(whose, ..)| whose.takes_all()) {
            return;
        }
        let theirs = self.rules.iter().filter(|(whose, ..)| whose.takes(party));
        let sheet: Vec<(Rule, usize)> = theirs.map(|&(_, rule, class)| (rule, class)).collect();
        let same = |other: &Vec<(Rule, usize)>| other.iter().map(|(_, class)| class).eq(sheet.iter().map(|(_, class)| class));
        let number = self.sheets.iter().position(same).unwrap_or_else(|| {
            self.sheets.push(sheet);
            self.sheets.len() - 1
        });
        let place = route as usize;
        if self.sheet_of.len() <= place {
            self.sheet_of.resize(place + 1, 0);
        }
        self.sheet_of[place] = number as u32;
    }
    /// Returns the number of the class of `packet`.
    #[inline]
    pub(super) fn class(&self, packet: &Packet) -> usize {
        let sheet = self.sheet_of.get(packet.route as usize).map_or(0, |sheet| *sheet as usize);
        self.sheets[sheet].iter().find(|(rule, _)| rule.takes(packet)).map_or(self.rest, |(_, class)| *class)
    }
}

/// Checks that each class can get a packet, and that each packet has a class. The error is one sentence for the user.
pub(super) fn check(classes: &[Params]) -> Result<(), String> {
    let mut rest = None;
    let mut taken = Dscps::default();
    for (class, number) in classes.iter().zip(1..) {
        let (whose, rule) = (Whose::new(class), Rule::new(class, 0));
        if whose.takes_all() && rule.takes_all() {
            if let Some(first) = rest.replace(number) {
                return Err(format!(
                    "class {first} and class {number} both take everything: say `dscp`, `ecn`, `hash`, `group` or `host` of one of them"
                ));
            }
            continue;
        }
        if rule.hash.is_some_and(|(below, _)| below == 0) {
            return Err(format!("class {number} takes no flows: hash must be over 0"));
        }
        if let Some(set) = rule.dscp {
            if set.and(taken) == set {
                return Err(format!("class {number} never gets a packet: classes before it take {}", set.names()));
            }
            if whose.takes_all() && rule.ecn.is_none() && rule.hash.is_none() {
                taken = taken.or(set);
            }
        }
    }
    if rest.is_none() {
        return Err("no class takes what the others do not: leave `dscp`, `ecn`, `hash`, `group` and `host` out of one".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, packet_with};
    use super::*;
    use crate::packet::Dscp;
    use crate::params::Kept;

    const SPECS: &[ParamSpec] = &[DSCP, ECN, HASH, GROUP, HOST];

    fn class(given: &[(&'static str, Value)]) -> Params {
        let mut params = Params::defaults(SPECS);
        given.iter().for_each(|&(name, value)| params.set(name, value));
        params
    }
    fn dscps(text: &str) -> (&'static str, Value) {
        ("dscp", Value::Dscps(Dscps::parse(text).unwrap()))
    }
    fn of(ecn: Ecn, dscp: &str, route: u32) -> Packet {
        let mut packet = packet_with(ecn, 0, 100).0;
        (packet.dscp, packet.route) = (Dscp::parse(dscp).unwrap(), route);
        packet
    }

    #[test]
    fn the_first_class_that_takes_a_packet_has_it() {
        let l4s = ("ecn", Value::Choice("l4s"));
        let classes = [class(&[dscps("EF")]), class(&[]), class(&[l4s]), class(&[dscps("AF41 EF"), ("ecn", Value::Choice("not_ect"))])];
        assert_eq!(check(&classes), Ok(()));
        let classifier = Classifier::new(&classes, &context(1_000_000, 10, 1500));
        let number = |ecn, dscp| classifier.class(&of(ecn, dscp, 1));
        assert_eq!([number(Ecn::Ect1, "EF"), number(Ecn::NotEct, "EF")], [0, 0]);
        assert_eq!([number(Ecn::Ect1, "CS0"), number(Ecn::Ce, "AF41"), number(Ecn::Ect0, "CS0")], [2, 2, 1]);
        assert_eq!([number(Ecn::NotEct, "AF41"), number(Ecn::Ect0, "AF41")], [3, 1], "all that it says must hold");
    }

    #[test]
    fn a_share_of_the_flows_is_one_whatever_they_send() {
        let share = |x| ("hash", Value::Number(x));
        let classes = [class(&[share(0.25)]), class(&[share(0.5)]), class(&[])];
        let classifier = Classifier::new(&classes, &context(1_000_000, 10, 1500));
        let mut count = [0_u32; 3];
        for route in 0..40_000 {
            let number = classifier.class(&of(Ecn::NotEct, "CS0", route));
            assert_eq!(number, classifier.class(&of(Ecn::Ce, "EF", route)));
            count[number] += 1;
        }
        // A quarter, half of the rest, and the other half; four standard deviations are 350, 390 and 390.
        assert!(count[0].abs_diff(10_000) < 350 && count[1].abs_diff(15_000) < 390 && count[2].abs_diff(15_000) < 390, "{count:?}");
    }

    fn names(key: &'static str, names: &[&str]) -> (&'static str, Value) {
        (key, Value::Names(Kept::from(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())))
    }

    #[test]
    fn hosts_and_groups_are_known_by_who_was_told_of() {
        let classes = [
            class(&[names("host", &["a", "b"]), dscps("EF")]),
            class(&[names("group", &["uploads"])]),
            class(&[names("host", &["a"])]),
            class(&[names("group", &["web"]), names("host", &["c"])]),
            class(&[]),
            class(&[dscps("EF")]),
        ];
        assert_eq!(check(&classes), Ok(()));
        let mut classifier = Classifier::new(&classes, &context(1_000_000, 10, 1500));
        let parties = [
            ("uploads", ["x", "a"]),
            ("web", ["c", "a"]),
            ("web", ["x", "c"]),
            ("web", ["x", "y"]),
            ("other", ["c", "b"]),
            ("", ["a", "x"]),
        ];
        for ((group, hosts), route) in parties.into_iter().zip([7, 3, 5, 9, 2, 8]) {
            classifier.tell(route, &Party { group, hosts });
        }
        let number = |dscp, route| classifier.class(&of(Ecn::NotEct, dscp, route));
        assert_eq!(
            [7, 3, 5, 9, 2, 8].map(|route| number("CS0", route)),
            [1, 2, 3, 4, 4, 2],
            "the first has it, and all that it says must hold"
        );
        assert_eq!([7, 3, 5, 9, 2, 8].map(|route| number("EF", route)), [0, 0, 3, 5, 0, 0]);
        // Routes of which nothing is known, and routes beyond all that are known.
        assert_eq!([number("CS0", 6), number("EF", 6), number("CS0", 100), number("EF", 100)], [4, 5, 4, 5]);
        assert!(classifier.sheets.len() <= parties.len() + 1);
    }

    #[test]
    fn nothing_is_kept_of_anybody_where_no_class_goes_by_it() {
        let mut classifier = Classifier::new(&[class(&[dscps("EF")]), class(&[])], &context(1_000_000, 10, 1500));
        classifier.tell(1_000_000, &Party { group: "uploads", hosts: ["a", "b"] });
        assert_eq!((classifier.sheet_of.len(), classifier.sheets.len()), (0, 1));
    }

    #[test]
    fn what_a_class_takes_of_somebody_is_nothing_some_or_all() {
        let party = Party { group: "uploads", hosts: ["a", "b"] };
        let of = |given: &[(&'static str, Value)]| share(&class(given), &party);
        assert_eq!([of(&[]), of(&[names("host", &["b"])]), of(&[names("group", &["x", "uploads"])])], [Share::All; 3]);
        assert_eq!([of(&[dscps("EF")]), of(&[names("host", &["a"]), ("hash", Value::Number(0.5))])], [Share::Some; 2]);
        assert_eq!([of(&[names("host", &["c"])]), of(&[names("host", &["a"]), names("group", &["b"])])], [Share::None; 2]);
    }

    #[test]
    fn classes_that_cannot_work_are_one_sentence() {
        let refused = |classes: &[Params]| check(classes).unwrap_err();
        assert_eq!(
            refused(&[class(&[dscps("EF")])]),
            "no class takes what the others do not: leave `dscp`, `ecn`, `hash`, `group` and `host` out of one"
        );
        assert_eq!(
            refused(&[class(&[]), class(&[dscps("EF")]), class(&[])]),
            "class 1 and class 3 both take everything: say `dscp`, `ecn`, `hash`, `group` or `host` of one of them"
        );
        assert_eq!(
            refused(&[class(&[dscps("EF")]), class(&[dscps("AF41")]), class(&[dscps("AF41 EF")]), class(&[])]),
            "class 3 never gets a packet: classes before it take AF41 EF"
        );
        assert_eq!(refused(&[class(&[("hash", Value::Number(0.0))]), class(&[])]), "class 1 takes no flows: hash must be over 0");
    }
}
