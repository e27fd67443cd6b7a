//! `[[host]]`: fields of hosts.

use super::SOME_TIME;
use crate::shape::{Field, Shape};
use longfat_core::params::{Kind, Value};
use longfat_core::time::Duration;
use std::sync::LazyLock;

/// A host, or several alike.
pub(crate) fn host() -> &'static [Field] {
    static TABLE: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let cycles = Kind::Count { unit: "cycles", min: 0, max: 1_000_000_000 };
        let packet = |name, doc| Field::or(name, cycles, Value::Count(0), doc);
        let byte = |name, doc| Field::or(name, Kind::Number { min: 0.0, max: 1e6 }, Value::Number(0.0), doc);
        vec![
            Field::required("name", Shape::Names, "a host, a group of them (`left`, `right`, `in`, `out`) or a list"),
            Field::auto(
                "txqueuelen",
                Kind::Count { unit: "packets", min: 1, max: 1_000_000_000 },
                "length of the transmit queue in front of each of its links; by default it has room for all",
            ),
            Field::or(
                "on_full",
                Kind::Choice(&["stall", "wait", "drop"]),
                Value::Choice("stall"),
                "fate of TCP's segment when that is full: not sent and taken as congestion (Linux 2.4), kept until there is room, or lost",
            ),
            Field::auto(
                "cpu",
                Kind::Count { unit: "MHz", min: 1, max: 1_000_000 },
                "clock of the processor that serves its packets one after the other; by default they take no time",
            ),
            packet("send_packet", "to send a packet, whatever its size"),
            byte("send_byte", "cycles for each byte of a packet sent (IP)"),
            packet("receive_packet", "to receive a packet"),
            byte("receive_byte", "cycles for each byte of a packet received (IP)"),
            Field::auto(
                "rx_ring",
                Kind::Count { unit: "packets", min: 1, max: 1_000_000_000 },
                "how many packets wait in the receive ring of its interface; by default it has room for all",
            ),
            Field::or(
                "rx_usecs",
                Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(1) },
                Value::Duration(Duration::ZERO),
                "how long the interface waits after a packet before it interrupts (coalescing); without a processor all that waits then comes to TCP at once",
            ),
            Field::auto(
                "rx_frames",
                Kind::Count { unit: "packets", min: 1, max: 1_000_000_000 },
                "it interrupts sooner once so many packets wait",
            ),
            Field::auto(
                "netdev_max_backlog",
                Kind::Count { unit: "packets", min: 1, max: 1_000_000_000 },
                "length of the queue into which interrupts move what has come; by default the processor takes packets from the ring itself (NAPI)",
            ),
            Field::or(
                "on_backlog_full",
                Kind::Choice(&["drop", "throttle"]),
                Value::Choice("drop"),
                "fate of packets that find it full: they are lost, and with `throttle` so is all that comes until it is empty (Linux 2.4)",
            ),
            Field::auto(
                "profile",
                Kind::Choice(&["linux-10g", "linux-100g"]),
                "settings of such a host's interface, unless set beside it: txqueuelen, on_full, gso_max_size, limit_output_bytes, rx_usecs, gro_max_size",
            ),
            Field::auto(
                "gso_max_size",
                Kind::Bytes { min: 1, max: 8 * 65_535 },
                "segmentation offload: its TCP sends bursts of up to so many bytes (payload) back to back; by default each segment as soon as it may go",
            ),
            Field::or("min_tso_segs", Kind::Count { unit: "", min: 1, max: 65_535 }, Value::Count(2), "segments of a burst at least"),
            Field::or(
                "tso_win_divisor",
                Kind::Count { unit: "", min: 0, max: 255 },
                Value::Count(3),
                "a burst is at most the congestion window divided by this; 0: there is no such bound",
            ),
            Field::or(
                "tso_rtt_log",
                Kind::Count { unit: "", min: 0, max: 31 },
                Value::Count(9),
                "near hosts send larger bursts: gso_max_size more, halved for each 2^this us of the least round trip; 0: none",
            ),
            Field::auto(
                "limit_output_bytes",
                Kind::Bytes { min: 1, max: 1 << 30 },
                "small queues: a connection with so much in the transmit queue (IP), or 1/1024 s at its pacing rate if that is less, waits; by default as much as fits",
            ),
            Field::auto(
                "gro_max_size",
                Kind::Bytes { min: 1, max: 8 * 65_535 },
                "receive offload: segments of one flow that wait for the same interrupt one behind the other come to TCP as one of up to so many bytes (payload)",
            ),
            Field::auto(
                "overhead",
                SOME_TIME,
                "each packet it sends is held for a random time, even between none and this, and none overtakes another",
            ),
            Field::auto(
                "shape_rate",
                Kind::Rate,
                "its interface sends no faster than this (IP): a packet begins when the one before it would have ended at this rate",
            ),
            Field::or(
                "shape_burst",
                Kind::Bytes { min: 0, max: 1 << 30 },
                Value::Bytes(0),
                "unused share of that rate that may go at once (IP)",
            ),
            Field::auto(
                "memory",
                Kind::Bytes { min: 1, max: 1 << 50 },
                "for the data that its connections have written and not got acknowledged, and received and not read (payload); by default it has room for all",
            ),
            Field::auto(
                "memory_min",
                Kind::Bytes { min: 1, max: 1 << 30 },
                "least share of each end of a connection, to send, and the same to receive; by default two segments",
            ),
        ]
    });
    &TABLE
}
