//! L4S queues in front of links so slow that a single packet is more than they allow.

use super::asked::{rate, sends_more_than};
use super::{Asked, Check, Warning};
use longfat_core::packet::Ecn;
use longfat_core::units::text::TIME;
use longfat_tcp::congestion;
use std::collections::BTreeMap;

pub(super) const WARNING: Warning = Warning {
    name: "marked_by_one_packet",
    summary: "several L4S flows share a dualpi2 whose marks begin at less than the time that the link takes for a packet",
    advice: "set `min_th` of the queue to the time that the link takes for two packets",
    source: "RFC 9332 appendix A.2: a link on which two packets take longer than the ramp's beginning needs a later one",
    about: &["min_th"],
    check: Check::Before(check),
};

fn check(asked: &Asked<'_>) -> Vec<String> {
    // L4S flows by the bottlenecks on their way.
    let mut flows: BTreeMap<usize, usize> = BTreeMap::new();
    for flow in asked.experiment.flows.iter().filter(|flow| sends_more_than(flow, 0.0)) {
        if congestion::ecn_use(&flow.sender).ect != Ecn::Ect1 {
            continue;
        }
        let there = asked.round_trip(flow).map_or(&[][..], |way| &way.there);
        there.iter().filter(|link| asked.is_bottleneck(**link)).for_each(|link| *flows.entry(*link).or_default() += 1);
    }
    let told = |(i, count): (usize, usize)| {
        let link = &asked.links()[i];
        if count < 2 || link.queue.kind != "dualpi2" {
            return None;
        }
        let (begins, packet) = (link.queue.params.duration("min_th"), link.rate.transmit_time(link.mtu.into()));
        (packet > begins).then(|| {
            format!(
                "{} takes {} for a packet at {}, and its L4S queue marks from {} on: of {count} L4S flows some are marked for a packet of another, and may get several times less",
                link.name,
                TIME.format(packet.as_ps()),
                rate(link.rate.as_bps() as f64),
                TIME.format(begins.as_ps())
            )
        })
    };
    flows.into_iter().filter_map(told).collect()
}
