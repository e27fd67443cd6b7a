//! Queues that fill in front of another link than the bottleneck.

use super::asked::{bytes, sends_more_than};
use super::{Asked, Check, Warning};
use crate::trace::{LinkRecord, Trace};
use longfat_core::queue::DropReason;

pub(super) const WARNING: Warning = Warning {
    name: "queue_elsewhere",
    summary: "another queue than the bottleneck's dropped more, or held packets longer",
    advice: "mark the link that should limit with `bottleneck = true`, give the others a higher rate, or give hosts a transmit queue that holds TCP back: `txqueuelen` with `on_full = \"wait\"`",
    source: "none: longfat's own",
    about: &[],
    check: Check::After(check),
};

/// A mean wait counts from this part of the shortest round trip, and this many full packets, on: less is a burst.
const PART_OF_RTT: f64 = 0.1;
const PACKETS: f64 = 10.0;

fn check(asked: &Asked<'_>, trace: &Trace) -> Vec<String> {
    let sending = asked.experiment.flows.iter().filter(|flow| sends_more_than(flow, 0.0));
    let rtts = sending.filter_map(|flow| asked.round_trip(flow)).map(|way| way.rtt.as_secs_f64());
    let Some(shortest) = rtts.min_by(f64::total_cmp) else { return Vec::new() };
    let overflow = |link: &LinkRecord| link.drops.iter().filter(|drop| drop.0 == DropReason::Overflow).map(|drop| drop.1).sum::<u64>();
    let wait = |i: usize| trace.links[i].queue_mean_bytes * 8.0 / asked.links()[i].rate.as_bps() as f64;
    let (bottlenecks, others): (Vec<usize>, Vec<usize>) = (0..trace.links.len()).partition(|i| asked.is_bottleneck(*i));
    let dropped_there: u64 = bottlenecks.iter().map(|i| overflow(&trace.links[*i])).sum();
    let waited_there = bottlenecks.iter().map(|i| wait(*i)).fold(0.0, f64::max);
    let name = |i: usize| &asked.links()[i].name;
    let Some(there) = bottlenecks.first().map(|i| name(*i)) else { return Vec::new() };
    let told = |i: usize| {
        let link = &trace.links[i];
        let (dropped, waited) = (overflow(link), wait(i));
        if dropped > dropped_there {
            return Some(format!(
                "the queue in front of {} overflowed and dropped {dropped} packets; the bottleneck {there} dropped {dropped_there}",
                name(i)
            ));
        }
        let is_long = waited > PART_OF_RTT * shortest && link.queue_mean_bytes > PACKETS * f64::from(asked.links()[i].mtu);
        (waited > waited_there && is_long).then(|| {
            format!(
                "packets waited {:.3} ms in front of {} on average, where up to {} queued, and {:.3} ms at the bottleneck {there}",
                waited * 1e3,
                name(i),
                bytes(link.queue_max_bytes as f64),
                waited_there * 1e3
            )
        })
    };
    others.into_iter().filter_map(told).collect()
}
