//! `ets`: enhanced transmission selection: strict classes in order, then classes that share the rest by their quanta (IEEE 802.1Qaz).

use super::classes::{self, CLASS, Classifier, DSCP, ECN, GROUP, HASH, HOST};
use super::inner::{QUEUE, inner, place_of_class};
use super::{Claim, Measure, Party, Queue, QueueContext, QueueKind, QueueLog};
use crate::packet::{Dscps, PacketId, Packets};
use crate::params::{Keys, Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::Time;
use std::collections::VecDeque;

const CLASS_QUANTUM: ParamSpec = ParamSpec {
    name: "quantum",
    kind: Kind::Bytes { min: 64, max: 1 << 20 },
    default: Some(Value::Auto),
    doc: "IP bytes that the class sends in its turn. When not given: the class is strict, and sends before all that take turns",
};

/// Parameters of a class.
static CLASSES: [ParamSpec; 7] = [DSCP, ECN, HASH, GROUP, HOST, CLASS_QUANTUM, QUEUE];

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "ets",
    summary: "strict classes in order, then classes that share by quanta",
    source: "IEEE 802.1Qaz-2011; tc-ets(8)",
    params: &[ParamSpec {
        name: CLASS,
        kind: Kind::Tables(Keys(&CLASSES)),
        default: Some(Value::Auto),
        doc: "the classes, strict ones first. When not given: EF, VOICE-ADMIT, CS5 to CS7, strict; all others, and CS1 and LE, 8 to 1",
    }],
    promises: &[Promise::new(Claim::Prefers, "IEEE 802.1Qaz-2011: strict priority comes before enhanced transmission selection")],
    check,
    build: |params, context| {
        let classes = classes_of(params, &context);
        Box::new(Ets {
            classifier: Classifier::new(&classes, &context),
            strict: strict(&classes),
            bands: classes
                .iter()
                .enumerate()
                .map(|(i, class)| Band {
                    quantum: if class.is_auto(CLASS_QUANTUM.name) { 0 } else { class.integer(CLASS_QUANTUM.name) as i64 },
                    allotment: 0,
                    is_active: false,
                    queue: inner(class, &place_of_class(params, i, &context)),
                })
                .collect(),
            active: VecDeque::new(),
        })
    },
};

/// Quanta in MTUs of the classes that share, where none are given: a choice of ours.
const USUAL: [u64; 2] = [8, 1];

fn classes_of(params: &Params, context: &QueueContext) -> Vec<Params> {
    let given = params.tables(CLASS);
    if !given.is_empty() {
        return given.to_vec();
    }
    let class = |names, mtus: Option<u64>| {
        let mut class = Params::defaults(&CLASSES);
        class.set(DSCP.name, Dscps::parse(names).ok().filter(|set| !set.is_empty()).map_or(Value::Auto, Value::Dscps));
        if let Some(mtus) = mtus {
            class.set(CLASS_QUANTUM.name, Value::Bytes(mtus * u64::from(context.mtu)));
        }
        class
    };
    vec![class("EF VOICE-ADMIT CS5 CS6 CS7", None), class("", Some(USUAL[0])), class("CS1 LE", Some(USUAL[1]))]
}

/// Number of strict classes.
fn strict(classes: &[Params]) -> usize {
    classes.iter().take_while(|class| class.is_auto(CLASS_QUANTUM.name)).count()
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    let classes = classes_of(params, context);
    classes::check(&classes)?;
    let first = strict(&classes);
    if let Some(place) = classes.iter().skip(first).position(|class| class.is_auto(CLASS_QUANTUM.name)) {
        return Err(format!(
            "class {} has no quantum, so it is strict, and comes after class {}, which has one: put strict classes first",
            first + place + 1,
            first + 1
        ));
    }
    Ok(())
}

struct Band {
    /// IP bytes of each turn; 0: strict.
    quantum: i64,
    /// IP bytes that it may still send in its turn; a negative rest is made up for in the next.
    allotment: i64,
    /// True if it waits for turns.
    is_active: bool,
    queue: Box<dyn Queue + Send>,
}

struct Ets {
    classifier: Classifier,
    strict: usize,
    bands: Vec<Band>,
    /// Classes that share and may hold packets, in order of turns.
    active: VecDeque<usize>,
}

impl Ets {
    /// Returns the class that sends at `at` among those that take turns, and ends the turns that are over.
    fn turn(&mut self, at: Time) -> Option<usize> {
        let mut waiting = 0;
        while let Some(&number) = self.active.front() {
            let band = &mut self.bands[number];
            if band.queue.held(Measure::Packets) == 0 {
                // A class that is empty does not save up.
                (band.is_active, band.allotment) = (false, 0);
                self.active.pop_front();
                waiting = 0;
            } else if band.queue.opens(at) > at {
                // A class that is shaped does not keep others waiting, and keeps its turn.
                waiting += 1;
                if waiting >= self.active.len() {
                    return None;
                }
                self.active.rotate_left(1);
            } else if band.allotment <= 0 {
                band.allotment += band.quantum;
                self.active.rotate_left(1);
                waiting = 0;
            } else {
                return Some(number);
            }
        }
        None
    }

    /// Returns the first time from `from` on at which a class may send.
    fn soonest(&self, from: Time) -> Option<Time> {
        self.bands.iter().filter(|band| band.queue.held(Measure::Packets) > 0).map(|band| band.queue.opens(from)).min()
    }
}

impl Queue for Ets {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let class = self.classifier.class(&packets[id]);
        let band = &mut self.bands[class];
        band.queue.enqueue(now, id, packets, log);
        if band.quantum > 0 && !band.is_active {
            (band.is_active, band.allotment) = (true, band.quantum);
            self.active.push_back(class);
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let at = self.soonest(now)?;
        for band in &mut self.bands[..self.strict] {
            if band.queue.held(Measure::Packets) > 0
                && band.queue.opens(at) <= at
                && let Some(id) = band.queue.dequeue(at, packets, log)
            {
                return Some(id);
            }
        }
        while let Some(number) = self.turn(at) {
            let band = &mut self.bands[number];
            if let Some(id) = band.queue.dequeue(at, packets, log) {
                band.allotment -= i64::from(packets[id].ip_len());
                return Some(id);
            }
            // It dropped all that it could have sent: the next one's turn.
            if band.queue.held(Measure::Packets) > 0 {
                return None;
            }
        }
        None
    }
    fn shapes(&self) -> bool {
        self.bands.iter().any(|band| band.queue.shapes())
    }
    fn opens(&self, from: Time) -> Time {
        self.soonest(from).unwrap_or(from)
    }
    fn tell(&mut self, route: u32, party: &Party<'_>) {
        self.classifier.tell(route, party);
        self.bands.iter_mut().for_each(|band| band.queue.tell(route, party));
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.bands.iter().filter_map(|band| band.queue.poll_timeout()).min()
    }
    fn handle_timeout(&mut self, now: Time) {
        let due = |band: &&mut Band| band.queue.poll_timeout().is_some_and(|at| at <= now);
        self.bands.iter_mut().filter(due).for_each(|band| band.queue.handle_timeout(now));
    }
    fn held(&self, measure: Measure) -> u64 {
        self.bands.iter().map(|band| band.queue.held(measure)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::super::tests::rig::{Rig, at};
    use super::*;
    use crate::packet::Dscp;
    use crate::params::Kept;
    use crate::units::Rate;

    /// Classes by codepoint and quantum.
    fn params(classes: &[(&str, Option<u64>)]) -> Params {
        let one = |&(names, quantum): &(&str, Option<u64>)| {
            let mut class = Params::defaults(&CLASSES);
            class.set(DSCP.name, Dscps::parse(names).ok().filter(|set| !set.is_empty()).map_or(Value::Auto, Value::Dscps));
            if let Some(quantum) = quantum {
                class.set(CLASS_QUANTUM.name, Value::Bytes(quantum));
            }
            class
        };
        let mut params = Params::defaults(KIND.params);
        params.set(CLASS, Value::Tables(Kept::from(classes.iter().map(one).collect::<Vec<_>>())));
        params
    }

    fn arrive(rig: &mut Rig<dyn Queue + Send>, seq: u32, dscp: &str, size: u16) {
        rig.arrive(Time::ZERO, seq, size, |packet| packet.dscp = Dscp::parse(dscp).unwrap());
    }

    #[test]
    fn strict_classes_come_first_and_the_rest_share_by_quanta() {
        let mut rig = Rig::of("ets", &params(&[("EF", None), ("AF11", Some(3000)), ("", Some(1500))]));
        for n in 0..4 {
            arrive(&mut rig, n, "AF11", 1500);
            arrive(&mut rig, 10 + n, "CS0", 1500);
        }
        arrive(&mut rig, 20, "EF", 1500);
        let all: Vec<_> = std::iter::from_fn(|| rig.depart(Time::ZERO)).collect();
        assert_eq!(all, [20, 0, 1, 10, 2, 3, 11, 12, 13]);
    }

    /// A packet may overdraw a turn; the next one is shorter by that.
    #[test]
    fn an_overdrawn_turn_is_made_up_for() {
        let mut rig = Rig::of("ets", &params(&[("AF11", Some(1000)), ("", Some(1000))]));
        for n in 0..4 {
            arrive(&mut rig, n, "AF11", 1500);
            arrive(&mut rig, 10 + n, "CS0", 500);
        }
        // 1500 of 1000 bytes; twice 500; 500 are left for the second turn: 1500 of 500; twice 500; then the third turn brings it to zero.
        let all: Vec<_> = std::iter::from_fn(|| rig.depart(Time::ZERO)).collect();
        assert_eq!(all, [0, 10, 11, 1, 12, 13, 2, 3]);
    }

    #[test]
    fn a_class_that_must_wait_lets_others_pass() {
        let rate = ("rate", Value::Rate(Rate::from_bps(1_200_000)));
        let burst = ("burst", Value::Capacity(crate::units::Capacity::Packets(1)));
        let mut params = params(&[("AF11", Some(1500)), ("", Some(1500))]);
        let mut classes = params.tables(CLASS).to_vec();
        classes[0].set("queue", Value::Queue(Kept::from(super::super::choice("tbf").with(&[rate, burst]))));
        params.set(CLASS, Value::Tables(Kept::from(classes)));
        let mut rig = Rig::of("ets", &params);
        [(0, "AF11"), (1, "AF11"), (2, "CS0"), (3, "CS0")].into_iter().for_each(|(seq, dscp)| arrive(&mut rig, seq, dscp, 1500));
        assert_eq!([rig.depart(Time::ZERO), rig.depart(at(1000)), rig.depart(at(2000))], [Some(0), Some(2), Some(3)]);
        assert_eq!(rig.queue.opens(at(3000)), at(10_000));
        assert_eq!(rig.depart(at(10_000)), Some(1));
    }

    #[test]
    fn a_strict_class_behind_one_that_shares_is_refused() {
        let context = context(12_000_000, 100, 1500);
        let said = check(&params(&[("AF11", Some(1500)), ("", None)]), &context).unwrap_err();
        assert_eq!(said, "class 2 has no quantum, so it is strict, and comes after class 1, which has one: put strict classes first");
    }
}
