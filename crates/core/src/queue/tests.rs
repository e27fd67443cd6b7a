//! Promises of every queue of the registry, whatever its parameters, as long as its `check` accepts them.

pub(super) mod rig;
mod trees;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::fifo::{Limit, Measure};
use super::*;
use crate::packet::{Direction, Dscp, Ecn, Packet, Segment, flags};
use crate::params::testing::any_params;
use crate::params::{Kind, Value};
use crate::rng::Rng;
use crate::units::Capacity;

/// Returns packet number `seq`, of `len` bytes of payload.
pub(super) fn packet(seq: u32, len: u16, ingress: u16) -> (Packet, Segment) {
    let segment = Segment::new(seq, 0, len);
    let mut packet = Packet::new(Time::ZERO, ingress.into(), Ecn::NotEct, &segment);
    packet.ingress = ingress;
    (packet, segment)
}

/// Returns the packet of [`packet`] with the ECN field `ecn`.
pub(super) fn packet_with(ecn: Ecn, seq: u32, len: u16) -> (Packet, Segment) {
    let (mut packet, segment) = packet(seq, len, 0);
    packet.ecn = ecn;
    (packet, segment)
}

pub(super) fn context(bps: u64, rtt_ms: u64, mtu: u32) -> QueueContext {
    QueueContext { rate: Rate::from_bps(bps), rtt: Duration::from_millis(rtt_ms), mtu, rng: Rng::named(1, "queue") }
}

/// A log that keeps all entries.
#[derive(Default, Debug, PartialEq)]
pub(super) struct Ledger {
    /// Drops: sequence number (the test's name of a packet), time, reason.
    pub dropped: Vec<(u32, Time, DropReason)>,
    pub marked: Vec<u32>,
}

impl QueueLog for Ledger {
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason) {
        self.dropped.push((packets.segment(id).seq, now, reason));
    }
    fn marked(&mut self, _now: Time, id: PacketId, packets: &Packets) {
        assert_eq!(packets[id].ecn, Ecn::Ce);
        self.marked.push(packets.segment(id).seq);
    }
}

/// One step of a random history.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { len: u16, flow: u32, ecn: Ecn, dscp: Dscp },
    Depart,
    Wait { us: u64 },
}

const MTU: u32 = 1500;

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![Just(0_u16), Just(1460), 0..=1460_u16];
    let ecn = select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let dscp = select(["CS0", "CS1", "EF", "AF11", "AF12", "AF13"].map(|name| Dscp::parse(name).unwrap()).to_vec());
    prop_oneof![
        6 => (len, 0..6_u32, ecn, dscp).prop_map(|(len, flow, ecn, dscp)| Step::Arrive { len, flow, ecn, dscp }),
        4 => Just(Step::Depart),
        1 => (0..20_000_u64).prop_map(|us| Step::Wait { us }),
    ]
}

/// Returns a queue by name, with any parameters.
fn any_kind_and_params() -> impl Strategy<Value = (&'static str, Params)> {
    select(NAMES).prop_flat_map(|name| any_params(named(name).params).prop_map(move |params| (name, params)))
}

/// Observable results of one history.
#[derive(Debug, PartialEq)]
struct Seen {
    ledger: Ledger,
    out: Vec<(u32, Time, Ecn)>,
}

/// Runs `steps` against a new queue, checking after each one, then drains it.
fn run(kind: &QueueKind, params: &Params, context: &QueueContext, steps: &[Step]) -> Seen {
    let name = kind.name;
    let mut queue = (kind.build)(params, context.clone());
    let limit = params.0.iter().find(|(name, value)| *name == "limit" && *value != Value::Auto);
    let limit = limit.map(|_| Limit::new(params.capacity("limit"), context));
    // The last flow's hosts and group are unknown.
    let names = ["a", "b", "c"];
    for flow in 0..5_u32 {
        let [group, from, to] = [flow, flow + 1, flow / 2].map(|n| names[n as usize % 3]);
        queue.tell(flow, &Party { group, hosts: [from, to] });
    }
    let mut now = Time::ZERO;
    let mut kept = Packets::new();
    let mut seen = Seen { ledger: Ledger::default(), out: vec![] };
    let mut arrived: Vec<(Packet, Time)> = vec![];
    // Content that the queue must hold: arrivals less departures and drops.
    let (mut bytes, mut packets, mut drops) = (0_u64, 0_u64, 0);
    // The packet that the queue has said leaves next, whatever comes before it does.
    let mut first: Option<u32> = None;
    assert!(queue.dequeue(now, &mut kept, &mut seen.ledger).is_none(), "{name}: a new queue is empty");
    let drain = steps.iter().filter(|s| matches!(s, Step::Arrive { .. })).map(|_| Step::Depart);
    for step in steps.iter().copied().chain(drain) {
        if matches!(step, Step::Depart) && queue.shapes() && packets > 0 {
            // No packet leaves before that time, and then one does.
            now = queue.opens(now);
            assert_eq!(queue.opens(now), now, "{name} has opened");
        }
        first = first.or_else(|| queue.first().map(|id| kept.segment(id).seq));
        match step {
            Step::Wait { us } => now += Duration::from_micros(us),
            Step::Arrive { len, flow, ecn, dscp } => {
                let (mut packet, mut segment) = packet(arrived.len() as u32, len, (flow % 3) as u16);
                // Packets without payload are ACKs, some of them duplicates. Some packets with payload are ACKs, too.
                if len < 1000 {
                    (segment.flags, segment.ack) = (flags::ACK, segment.seq / 2);
                }
                (packet.route, packet.ecn, packet.dscp) = (flow, ecn, dscp);
                arrived.push((packet, now));
                packets += 1;
                bytes += u64::from(packet.ip_len());
                let id = kept.insert(Direction::There, packet, segment);
                let passes = packets == 1 && packet.ip_len() <= queue.passes();
                queue.enqueue(now, id, &mut kept, &mut seen.ledger);
                assert!(
                    !passes || queue.held(Measure::Packets) == 1 && kept[id].ecn == ecn,
                    "{name}: what need not be asked is neither dropped nor marked"
                );
            }
            Step::Depart => match queue.dequeue(now, &mut kept, &mut seen.ledger) {
                Some(id) => {
                    let (packet, seq) = (kept[id], kept.segment(id).seq);
                    assert!(first.take().is_none_or(|first| first == seq), "{name}: another packet leaves than it said was first");
                    kept.remove(id);
                    packets -= 1;
                    bytes -= u64::from(packet.ip_len());
                    let (sent, at) = arrived[seq as usize];
                    assert_eq!((packet.route, packet.ingress, packet.len), (sent.route, sent.ingress, sent.len), "{name}");
                    assert_eq!(packet.stamp, at, "{name}: the stamp is when it entered");
                    let changed = packet.ecn != sent.ecn;
                    assert!(!changed || (packet.ecn == Ecn::Ce && sent.ecn != Ecn::NotEct), "{name}: only ECT packets are marked");
                    assert!(!changed || seen.ledger.marked.contains(&seq), "{name}: a mark is logged");
                    seen.out.push((seq, now, packet.ecn));
                }
                // It may have dropped all that it had, or all that might go now.
                None => assert!(
                    queue.held(Measure::Packets) == 0 || queue.shapes() && queue.opens(now) > now,
                    "{name}: what is held can be had"
                ),
            },
        }
        for &(seq, at, _) in &seen.ledger.dropped[drops..] {
            assert_eq!(at, now, "{name}: a drop is told at once");
            assert_ne!(first, Some(seq), "{name} drops the packet that it said leaves next");
            packets -= 1;
            bytes -= u64::from(arrived[seq as usize].0.ip_len());
        }
        drops = seen.ledger.dropped.len();
        assert_eq!((queue.held(Measure::Packets), queue.held(Measure::Bytes)), (packets, bytes), "{name}: packets and bytes held");
        assert_eq!(kept.len() as u64, packets, "{name}: what is dropped is let go of");
        if let Some(Limit { measure, max }) = limit {
            let held = if measure == Measure::Bytes { bytes } else { packets };
            assert!(held <= max, "{name}: {held} {} held, limit {max}", measure.unit());
        }
    }
    assert_eq!(packets, 0, "{name}: drained");
    let mut fates: Vec<u32> = seen.out.iter().map(|o| o.0).chain(seen.ledger.dropped.iter().map(|d| d.0)).collect();
    fates.sort_unstable();
    assert_eq!(fates, (0..arrived.len() as u32).collect::<Vec<_>>(), "{name}: each packet left or was dropped, once");
    // Order is kept within a flow; a queue with several flow queues keeps it among like packets.
    let splits = ["dualpi2", "prio", "htb", "ets", "tbf", "cake"].contains(&name);
    let mut last = BTreeMap::new();
    for (seq, ..) in &seen.out {
        let sent = &arrived[*seq as usize].0;
        let line = if splits { (sent.route, sent.ecn as u8, sent.dscp) } else { (sent.route, 0, Dscp::DEFAULT) };
        // A flow that becomes a heavy hitter waits elsewhere than its packets before.
        let keeps = last.insert(line, *seq).is_none_or(|before| before < *seq) || name == "hhf";
        assert!(keeps, "{name}: flow {} keeps its order", sent.route);
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 100_000, ..ProptestConfig::default() })]
    #[test]
    fn whatever_check_accepts_conserves_packets(
        (name, params) in any_kind_and_params(),
        steps in prop::collection::vec(step(), 1..250),
        bps in select(vec![1_000_000_u64, 44_209_694, 10_000_000_000]),
    ) {
        let context = context(bps, 20, MTU);
        prop_assume!((named(name).check)(&params, &context).is_ok());
        let first = run(named(name), &params, &context, &steps);
        let second = run(named(name), &params, &context, &steps);
        prop_assert_eq!(first, second, "{}: equal seeds, equal runs", name);
    }
}

#[test]
fn defaults_conserve_packets_under_overload() {
    for kind in REGISTRY {
        let params = Params::defaults(kind.params);
        let context = context(10_000_000, 20, MTU);
        assert_eq!((kind.check)(&params, &context), Ok(()), "{}", kind.name);
        let steps: Vec<Step> = (0..3000_u32)
            .flat_map(|n| {
                let arrive = |n: u32| Step::Arrive {
                    len: 1460,
                    flow: n % 6,
                    ecn: if n.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct },
                    dscp: Dscp::DEFAULT,
                };
                [arrive(2 * n), arrive(2 * n + 1), Step::Depart, Step::Wait { us: 1200 }]
            })
            .collect();
        let seen = run(kind, &params, &context, &steps);
        assert!(!seen.ledger.dropped.is_empty(), "{}: twice the rate overflows any limit", kind.name);
        assert!(seen.out.len() >= 3000, "{}: the link stayed busy", kind.name);
    }
}

#[test]
fn the_registry_is_sound() {
    for kind in REGISTRY {
        for spec in kind.params {
            let place = format!("{}.{}", kind.name, spec.name);
            assert_eq!(kind.params.iter().filter(|other| other.name == spec.name).count(), 1, "{place}");
            let fits = match (spec.default, spec.kind) {
                (None | Some(Value::Auto), _)
                | (Some(Value::Bool(_)), Kind::Bool)
                | (Some(Value::Rate(_)), Kind::Rate)
                | (Some(Value::Capacity(_)), Kind::Capacity) => true,
                (Some(Value::Bytes(n)), Kind::Bytes { min, max }) | (Some(Value::Count(n)), Kind::Count { min, max, .. }) => {
                    (min..=max).contains(&n)
                }
                (Some(Value::Number(x)), Kind::Number { min, max }) => (min..=max).contains(&x),
                (Some(Value::Duration(d)), Kind::Duration { min, max }) => (min..=max).contains(&d),
                (Some(Value::Choice(word)), Kind::Choice(words)) => words.contains(&word),
                _ => false,
            };
            assert!(fits, "{place}: the default is not of its kind");
            assert!(!spec.doc.is_empty() && !spec.doc.ends_with('.'), "{place}");
        }
    }
    assert!(find("codel-typo").is_none());
}

/// Sentences for users, to be judged by eye.
#[test]
fn contradictions_are_one_sentence() {
    use Capacity::{Bytes, Packets};
    let capacity = |c| Value::Capacity(c);
    let cases: &[(&str, &[(&'static str, Value)])] = &[
        ("droptail", &[("limit", capacity(Bytes(1000)))]),
        ("droptail", &[("limit", capacity(Packets(0)))]),
        ("droptail", &[("limit", capacity(Capacity::Bdp(0.01)))]),
        ("buffer_pool", &[("buffers", Value::Count(2))]),
        ("buffer_pool", &[("buffers", Value::Count(60)), ("transmit_per_peer", Value::Count(61))]),
        ("buffer_pool", &[("buffers", Value::Count(60)), ("transmit_per_peer", Value::Count(58))]),
        ("buffer_pool", &[("transmit_buffers", Value::Count(100)), ("transmit_per_peer", Value::Count(128))]),
        ("buffer_pool", &[("reserved_per_peer", Value::Count(70)), ("peers", Value::Count(4))]),
        ("buffer_pool", &[("reserved_per_peer", Value::Count(20)), ("transmit_per_peer", Value::Count(10))]),
        ("red", &[("limit", capacity(Bytes(100)))]),
        ("red", &[("min_threshold", capacity(Packets(20))), ("max_threshold", capacity(Packets(20)))]),
        ("red", &[("min_threshold", capacity(Packets(20))), ("max_threshold", capacity(Bytes(60_000)))]),
        ("red", &[("limit", capacity(Packets(50))), ("max_threshold", capacity(Packets(60)))]),
        ("red", &[("wq", Value::Number(0.0))]),
        ("red_ansnet", &[("min_threshold", Value::Number(0.9)), ("max_threshold", Value::Number(0.8))]),
        ("red_ansnet", &[("buffers", Value::Count(0))]),
        ("red_ansnet", &[("receive_buffers", Value::Count(2))]),
        ("step", &[("threshold", capacity(Packets(20))), ("delay", Value::Duration(Duration::from_millis(1)))]),
        ("step", &[("limit", capacity(Packets(20))), ("threshold", capacity(Packets(20)))]),
        ("codel", &[("limit", capacity(Bytes(1000)))]),
        ("codel", &[("target", Value::Duration(Duration::from_millis(100)))]),
        ("fq_codel", &[("interval", Value::Duration(Duration::from_millis(5)))]),
        ("pie", &[("limit", capacity(Packets(0)))]),
        ("dualpi2", &[("target", Value::Duration(Duration::from_millis(1)))]),
        ("tbf", &[("rate", Value::Rate(Rate::from_bps(50_000_000)))]),
        ("tbf", &[("peakrate", Value::Rate(Rate::from_bps(1_000_000)))]),
    ];
    let sentences: Vec<String> = cases
        .iter()
        .map(|(name, given)| {
            let kind = find(name).unwrap();
            let mut params = Params::defaults(kind.params);
            for &(name, value) in *given {
                params.set(name, value);
            }
            format!("{name}: {}", (kind.check)(&params, &context(44_209_694, 68, 4352)).unwrap_err())
        })
        .collect();
    insta::assert_snapshot!(sentences.join("\n"), @r"
    droptail: limit is 1000 bytes, less than one packet of the MTU (4352 bytes)
    droptail: limit is 0 packets, less than one packet of the MTU (4352 bytes)
    droptail: limit is 3758 bytes, less than one packet of the MTU (4352 bytes)
    buffer_pool: a peer card may take 2 buffers on the transmit side, but one packet of the MTU (4352 bytes) takes 3
    buffer_pool: transmit_per_peer is 61 buffers, more than the 60 `buffers` there are
    buffer_pool: 2 buffers are left for the receive side, but one packet of the MTU (4352 bytes) takes 3; leave none, or at least 3
    buffer_pool: transmit_per_peer is 128 buffers, more than the 100 there are on the transmit side
    buffer_pool: reserved_per_peer (70) for 4 peers leaves too few of 224 transmit-side buffers for the common pool: one packet of the MTU (4352 bytes) takes 3
    buffer_pool: reserved_per_peer is 20 buffers, more than the 10 that one peer may take
    red: limit is 100 bytes, less than one packet of the MTU (4352 bytes)
    red: min_threshold (20 packets) must be under max_threshold (20 packets)
    red: min_threshold is in packets and max_threshold in bytes; give both in the same unit
    red: max_threshold (60 packets) must not be over the limit (50 packets)
    red: wq must be over 0: with 0 the average never moves
    red_ansnet: min_threshold (0.9) must be under max_threshold (0.8)
    red_ansnet: a peer card may take 0 buffers on the transmit side, but one packet of the MTU (4352 bytes) takes 3
    red_ansnet: 2 buffers are left for the receive side, but one packet of the MTU (4352 bytes) takes 3; leave none, or at least 3
    step: threshold and delay are two ways to say when to mark; give one of them
    step: threshold (20 packets) must be under the limit (20 packets), or nothing is ever marked
    codel: limit is 1000 bytes, less than one packet of the MTU (4352 bytes)
    codel: target (100 ms) must be under interval (100 ms): a twentieth to a tenth of it is usual
    fq_codel: target (5 ms) must be under interval (5 ms): a twentieth to a tenth of it is usual
    pie: limit is 0 packets, less than one packet of the MTU (4352 bytes)
    dualpi2: min_th + range (1.2 ms) must be under target (1 ms): the L4S line is the short one
    tbf: rate (50000000 bit/s) is more than that of the link (44209694 bit/s), so that it shapes nothing
    tbf: peakrate (1000000 bit/s) must be over rate (44209694 bit/s)
    ");
}

/// Each queue has its page, under the fixed headings, with every parameter.
#[test]
fn every_queue_has_its_page() {
    for kind in REGISTRY {
        let path = format!("{}/../../docs/queues/{}.md", env!("CARGO_MANIFEST_DIR"), kind.name);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, ["Model", "References", "Parameters", "Example", "Validation"], "{path}");
        for spec in kind.params {
            assert!(page.contains(&format!("| `{}` |", spec.name)), "{path} does not list {}", spec.name);
        }
    }
}
