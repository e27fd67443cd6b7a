//! A queue of netem's default length, in front of more than that many packets of delay.

use super::asked::{rate, sends_more_than};
use super::{Asked, Check, Warning};
use longfat_core::units::Capacity;
use std::collections::BTreeSet;

pub(super) const WARNING: Warning = Warning {
    name: "netem_limit",
    summary: "a droptail has netem's default limit of 1000 packets, and more packets than that are on the wire, which netem counts too",
    advice: "where this stands for `tc ... netem delay ... limit 1000`, say `limit_in_delay = \"1000 packets\"` at the link; where it is a queue of 1000 packets, such as a device's txqueuelen, nothing is to be done",
    source: "tc-netem(8): `limit` is the number of packets the qdisc may hold queued at a time, 1000 by default, and it holds a packet for the whole of its delay",
    about: &["limit"],
    check: Check::Before(check),
};

/// netem's `limit` where nothing is said (tc-netem(8)).
const NETEM: u64 = 1000;

fn check(asked: &Asked<'_>) -> Vec<String> {
    let sending = asked.experiment.flows.iter().filter(|flow| sends_more_than(flow, 0.0)).filter_map(|flow| asked.round_trip(flow));
    let crossed: BTreeSet<usize> = sending.flat_map(|way| way.there.iter().copied()).filter(|link| asked.is_bottleneck(*link)).collect();
    let told = |i: usize| {
        let link = &asked.links()[i];
        let is_netems = link.queue.kind == "droptail" && link.queue.params.capacity("limit") == Capacity::Packets(NETEM);
        let packet = f64::from(link.mtu) * 8.0;
        let on_wire = link.rate.as_bps() as f64 * link.delay.as_secs_f64() / packet;
        (is_netems && link.unsteady.limit_in_delay.is_none() && on_wire > NETEM as f64).then(|| {
            format!(
                "{} has a queue of {NETEM} packets, and {on_wire:.0} more on the wire; netem with `limit {NETEM}` counts both, and would carry {} at most",
                link.name,
                rate(NETEM as f64 * packet / link.delay.as_secs_f64())
            )
        })
    };
    crossed.into_iter().filter_map(told).collect()
}
