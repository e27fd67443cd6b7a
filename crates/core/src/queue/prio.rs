//! `prio`: classes in order: a later one sends only while none before it can.

use super::classes::{self, CLASS, Classifier, DSCP, ECN, GROUP, HASH, HOST};
use super::inner::{QUEUE, inner, place_of_class};
use super::{Claim, Measure, Party, Queue, QueueKind, QueueLog};
use crate::packet::{Dscps, PacketId, Packets};
use crate::params::{Keys, Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::Time;

/// Parameters of a class.
static CLASSES: [ParamSpec; 6] = [DSCP, ECN, HASH, GROUP, HOST, QUEUE];

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "prio",
    summary: "classes in order of priority, each with any queue inside: one sends while none before it can",
    source: "tc-prio(8); the classes where none are given: RFC 3246, RFC 5865, RFC 8622, RFC 2474 section 4.2.2",
    params: &[ParamSpec {
        name: CLASS,
        kind: Kind::Tables(Keys(&CLASSES)),
        default: Some(Value::Auto),
        doc: "the classes, the first with the highest priority. When not given: EF, VOICE-ADMIT, CS5 to CS7; all others; CS1 and LE",
    }],
    promises: &[Promise::new(Claim::Prefers, "RFC 3246 section 2.2: EF leaves at its rate, whatever else there is; tc-prio(8)")],
    check: |params, _| classes::check(&classes_of(params)),
    build: |params, context| {
        let classes = classes_of(params);
        Box::new(Prio {
            classifier: Classifier::new(&classes, &context),
            bands: classes.iter().enumerate().map(|(i, class)| inner(class, &place_of_class(params, i, &context))).collect(),
        })
    },
};

fn classes_of(params: &Params) -> Vec<Params> {
    let given = params.tables(CLASS);
    if !given.is_empty() {
        return given.to_vec();
    }
    let class = |names| {
        let mut class = Params::defaults(&CLASSES);
        class.set(DSCP.name, Dscps::parse(names).ok().filter(|set| !set.is_empty()).map_or(Value::Auto, Value::Dscps));
        class
    };
    ["EF VOICE-ADMIT CS5 CS6 CS7", "", "CS1 LE"].map(class).to_vec()
}

struct Prio {
    classifier: Classifier,
    bands: Vec<Box<dyn Queue + Send>>,
}

impl Prio {
    /// Returns the first class that may send soonest from `from` on, and when.
    fn next(&self, from: Time) -> Option<(Time, usize)> {
        let held = self.bands.iter().enumerate().filter(|(_, band)| band.held(Measure::Packets) > 0);
        held.map(|(i, band)| (band.opens(from), i)).min()
    }
}

impl Queue for Prio {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let class = self.classifier.class(&packets[id]);
        self.bands[class].enqueue(now, id, packets, log);
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let mut tried = None;
        while let Some((at, band)) = self.next(now)
            && tried.is_none_or(|tried| tried == at)
        {
            let taken = self.bands[band].dequeue(at, packets, log);
            if taken.is_some() {
                return taken;
            }
            // The class dropped all that it could have sent.
            tried = Some(at);
        }
        None
    }
    fn pass(&mut self, idle: Time, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) -> bool {
        let class = self.classifier.class(&packets[id]);
        self.bands[class].pass(idle, now, id, packets, log)
    }
    fn shapes(&self) -> bool {
        self.bands.iter().any(|band| band.shapes())
    }
    fn opens(&self, from: Time) -> Time {
        self.next(from).map_or(from, |(at, _)| at)
    }
    fn tell(&mut self, route: u32, party: &Party<'_>) {
        self.classifier.tell(route, party);
        self.bands.iter_mut().for_each(|band| band.tell(route, party));
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.bands.iter().filter_map(|band| band.poll_timeout()).min()
    }
    fn handle_timeout(&mut self, now: Time) {
        self.bands.iter_mut().filter(|band| band.poll_timeout().is_some_and(|at| at <= now)).for_each(|band| band.handle_timeout(now));
    }
    fn held(&self, measure: Measure) -> u64 {
        self.bands.iter().map(|band| band.held(measure)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rig::{Rig, at};
    use super::*;
    use crate::packet::Dscp;
    use crate::params::Kept;
    use crate::units::Rate;

    fn arrive(rig: &mut Rig<dyn Queue + Send>, seq: u32, dscp: &str) {
        rig.arrive(Time::ZERO, seq, 1500, |packet| packet.dscp = Dscp::parse(dscp).unwrap());
    }

    #[test]
    fn the_highest_priority_comes_first() {
        let mut rig = Rig::of("prio", &Params::defaults(KIND.params));
        for (seq, dscp) in ["LE", "CS0", "EF", "AF41", "CS1", "CS6"].into_iter().enumerate() {
            arrive(&mut rig, seq as u32, dscp);
        }
        let first: Vec<_> = (0..3).map_while(|_| rig.depart(Time::ZERO)).collect();
        arrive(&mut rig, 6, "EF");
        let rest: Vec<_> = std::iter::from_fn(|| rig.depart(Time::ZERO)).collect();
        assert_eq!((first, rest), (vec![2, 5, 1], vec![6, 3, 0, 4]));
    }

    /// EF has at most 1.2 Mb/s, a packet per 10 ms: it comes first when it may, and the others do not wait for it.
    #[test]
    fn a_band_that_must_wait_lets_others_pass() {
        let rate = ("rate", Value::Rate(Rate::from_bps(1_200_000)));
        let burst = ("burst", Value::Capacity(crate::units::Capacity::Packets(1)));
        let shaped = super::super::choice("tbf").with(&[rate, burst]);
        let mut classes = classes_of(&Params::defaults(KIND.params));
        classes[0].set("queue", Value::Queue(Kept::from(shaped)));
        let mut params = Params::defaults(KIND.params);
        params.set("class", Value::Tables(Kept::from(classes)));
        let mut rig = Rig::of("prio", &params);
        assert!(rig.queue.shapes());
        [(0, "EF"), (1, "EF"), (2, "CS0"), (3, "CS0")].into_iter().for_each(|(seq, dscp)| arrive(&mut rig, seq, dscp));
        assert_eq!([rig.depart(Time::ZERO), rig.depart(at(1000)), rig.depart(at(2000))], [Some(0), Some(2), Some(3)]);
        assert_eq!((rig.queue.opens(at(3000)), rig.depart(at(10_000))), (at(10_000), Some(1)));
        assert_eq!(rig.queue.held(Measure::Packets), 0);
    }
}
