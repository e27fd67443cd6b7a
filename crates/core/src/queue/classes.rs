//! Which class of a queue a packet is of: what every queue with classes shares.
//!
//! A class says what it takes: codepoints, ECN fields, a share of the flows. Of those that do, the first takes a packet. One class says
//! nothing, and takes what is left.

use super::QueueContext;
use super::flows::mix;
use crate::packet::{Dscps, Ecn, Packet};
use crate::params::{Kind, ParamSpec, Params, Value};

/// What a class takes, for the table of its parameters.
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

/// What tables of classes are called.
pub(super) const CLASS: &str = "class";

/// A set of ECN fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ecns(u8);

impl Ecns {
    /// Scalable traffic (RFC 9331 section 5.1): ECT(1), and CE, which may have been that.
    pub const L4S: Ecns = Ecns(1 << Ecn::Ect1 as u8 | 1 << Ecn::Ce as u8);

    fn named(word: &str) -> Self {
        match word {
            "not_ect" => Ecns(1 << Ecn::NotEct as u8),
            "ect0" => Ecns(1 << Ecn::Ect0 as u8),
            "ect1" => Ecns(1 << Ecn::Ect1 as u8),
            "ce" => Ecns(1 << Ecn::Ce as u8),
            _ => Ecns::L4S,
        }
    }
    /// Whether `ecn` is in it.
    #[inline]
    pub const fn has(self, ecn: Ecn) -> bool {
        self.0 >> ecn as u8 & 1 != 0
    }
}

/// What one class takes: all that each part allows.
#[derive(Clone, Copy, Debug, Default)]
struct Rule {
    dscp: Option<Dscps>,
    ecn: Option<Ecns>,
    /// Hashes of flows under the first; the second is the key, so that each class takes a share of its own.
    hash: Option<(u64, u64)>,
}

impl Rule {
    fn new(class: &Params, key: u64) -> Self {
        let given = |name| (!class.is_auto(name)).then_some(name);
        Rule {
            dscp: class.dscps(DSCP.name),
            ecn: given(ECN.name).map(|name| Ecns::named(class.choice(name))),
            // Of 2^64 as many as it says; the whole is one less, which no test will find.
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

/// Tells the classes of one queue apart.
#[derive(Debug)]
pub struct Classifier {
    /// Each with the number of its class.
    rules: Vec<(Rule, usize)>,
    /// The class of what no rule takes.
    rest: usize,
}

impl Classifier {
    /// Of the tables `classes`, which [`check`] let pass.
    pub fn new(classes: &[Params], context: &QueueContext) -> Self {
        let mut rng = context.rng.clone();
        let rules = classes.iter().map(|class| Rule::new(class, rng.next_u64())).zip(0..);
        let (all, rules): (Vec<_>, Vec<_>) = rules.partition(|(rule, _)| rule.takes_all());
        Classifier { rules, rest: all.first().map_or(0, |(_, class)| *class) }
    }
    /// The number of the class of `packet`.
    #[inline]
    pub fn class(&self, packet: &Packet) -> usize {
        self.rules.iter().find(|(rule, _)| rule.takes(packet)).map_or(self.rest, |(_, class)| *class)
    }
}

/// One sentence for the user unless each class can get a packet, and each packet has a class.
pub(super) fn check(classes: &[Params]) -> Result<(), String> {
    let mut rest = None;
    let mut taken = Dscps::default();
    for (class, number) in classes.iter().zip(1..) {
        let rule = Rule::new(class, 0);
        if rule.takes_all() {
            if let Some(first) = rest.replace(number) {
                return Err(format!("class {first} and class {number} both take everything: say `dscp`, `ecn` or `hash` of one of them"));
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
            if rule.ecn.is_none() && rule.hash.is_none() {
                taken = taken.or(set);
            }
        }
    }
    if rest.is_none() {
        return Err("no class takes what the others do not: leave `dscp`, `ecn` and `hash` out of one".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, packet_with};
    use super::*;
    use crate::packet::Dscp;

    const SPECS: &[ParamSpec] = &[DSCP, ECN, HASH];

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

    #[test]
    fn classes_that_cannot_work_are_one_sentence() {
        let refused = |classes: &[Params]| check(classes).unwrap_err();
        assert_eq!(refused(&[class(&[dscps("EF")])]), "no class takes what the others do not: leave `dscp`, `ecn` and `hash` out of one");
        assert_eq!(
            refused(&[class(&[]), class(&[dscps("EF")]), class(&[])]),
            "class 1 and class 3 both take everything: say `dscp`, `ecn` or `hash` of one of them"
        );
        assert_eq!(
            refused(&[class(&[dscps("EF")]), class(&[dscps("AF41")]), class(&[dscps("AF41 EF")]), class(&[])]),
            "class 3 never gets a packet: classes before it take AF41 EF"
        );
        assert_eq!(refused(&[class(&[("hash", Value::Number(0.0))]), class(&[])]), "class 1 takes no flows: hash must be over 0");
    }
}
