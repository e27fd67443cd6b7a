//! Fields of a link, in one direction and in both, of its queue and of events on it.

use super::unsteady::{DELAY_TRACE, RATE_TRACE, harq, jitter, outage, reorder};
use super::{DELAY, FALSE, one_of};
use crate::shape::{Case, Field, QUEUE, Shape, Variants};
use longfat_core::atm::discard;
use longfat_core::link::{framing, loss};
use longfat_core::params::{Kind, Value};
use std::sync::LazyLock;

/// The least MTU: leaves the 32 bytes of the least mss after 40 bytes of headers and 12 of timestamps.
const LEAST_MTU: u64 = 84;

pub(crate) static DISCARD: Variants = one_of!(discard::REGISTRY, "discard policy");
pub(crate) static LOSS: Variants = one_of!(loss::REGISTRY, "loss");

/// One way of a link.
pub(crate) fn way() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        vec![
            Field::auto(
                "type",
                Kind::Choice(framing::NAMES),
                "gives rate, overhead, min_frame and mtu, each of which can be changed beside it, and whether packets go in cells; by default `plain`",
            ),
            Field::auto("rate", Kind::Rate, "rate of framed packets; needed where the type gives none"),
            Field::auto("delay", DELAY, "propagation, one way; by default 0 s, or what the path's rtt leaves"),
            Field::auto("mtu", Kind::Bytes { min: LEAST_MTU, max: 65_535 }, "largest IP packet"),
            Field::auto(
                "overhead",
                Kind::Bytes { min: 0, max: 10_000 },
                "link-layer bytes added to each packet; with cells, in the AAL5 frame",
            ),
            Field::auto("min_frame", Kind::Bytes { min: 0, max: 65_535 }, "least frame, with overhead; shorter ones are padded"),
            Field::new(
                "queue",
                Shape::Variants(&QUEUE),
                "in front of the link; by default one BDP of droptail at a bottleneck, and none that limits (1 GiB) elsewhere",
            ),
            Field::new(
                "discard",
                Shape::Variants(&DISCARD),
                "policy of the output port of the switch that the link comes from; by default `plain`",
            ),
            Field::new(
                "pause",
                Shape::Table(pause),
                "IEEE 802.3x flow control by the switch in front of the link: the links that fill its queue are stopped before it overflows",
            ),
            Field::new("loss", Shape::Variants(&LOSS), "packets the link loses; by default none"),
            Field::new(
                "rate_trace",
                Shape::Variants(&RATE_TRACE),
                "the rate over time, of framed packets; `rate` is then what capacities in BDPs go by, by default the mean",
            ),
            Field::new(
                "delay_trace",
                Shape::Variants(&DELAY_TRACE),
                "the propagation delay over time, one way; `delay` is then the least it may be, by default the least it is. A packet has the delay of the instant at which it leaves the transmitter, and overtakes none",
            ),
            Field::new(
                "down",
                Shape::List(&Shape::Table(outage)),
                "outages: nothing is sent, and packets wait in the queue. A packet in transmission goes on afterwards",
            ),
            Field::new("jitter", Shape::Table(jitter), "a random time that each packet takes longer; by default none"),
            Field::new("reorder", Shape::Table(reorder), "packets that are held back, so that others overtake them; by default none"),
            Field::auto(
                "duplicate",
                Kind::Number { min: 0.0, max: 1.0 },
                "probability that a packet that is not lost arrives twice; by default 0",
            ),
            Field::new(
                "harq",
                Shape::Table(harq),
                "hybrid ARQ as of LTE: what is sent within a block of time arrives together, later if the block failed, and in order; by default none",
            ),
            Field::auto(
                "limit_in_delay",
                Kind::Count { unit: "packets", min: 1, max: 1_000_000_000 },
                "packets that the link has at once, in its queue, in transmission and on the wire: netem's `limit`. One more is dropped; by default only the queue has a limit",
            ),
            Field::or("bottleneck", Kind::Bool, FALSE, "the link whose utilization heads the report"),
        ]
    });
    &TABLE
}

/// Flow control by what a queue holds.
pub(crate) fn pause() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let bytes = Kind::Bytes { min: 1, max: 1 << 40 };
        vec![
            Field::auto("on", bytes, "the links are stopped once the queue holds so much or more (IP); needed"),
            Field::auto(
                "off",
                Kind::Bytes { min: 0, max: 1 << 40 },
                "they may go on once it holds so much or less; by default half of `on`",
            ),
            Field::or(
                "quanta",
                Kind::Count { unit: "quanta", min: 1, max: 65_535 },
                Value::Count(65_535),
                "for how long a PAUSE frame stops a link, in times of 512 bits at its rate; it is told anew before that has run out",
            ),
        ]
    });
    &TABLE
}

/// Returns the fields of a link in both directions.
pub(crate) fn link() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = way().to_vec();
        fields.push(Field::new("reverse", Shape::Table(way), "differences in the reverse direction"));
        fields
    });
    &TABLE
}

/// A link of an explicit path.
pub(crate) fn explicit_link() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = vec![
            Field::new("name", Shape::Text, "by default its ends: `a-b`"),
            Field::required("from", Shape::Text, "one end"),
            Field::required("to", Shape::Text, "the other end"),
        ];
        fields.extend(link());
        fields
    });
    &TABLE
}
