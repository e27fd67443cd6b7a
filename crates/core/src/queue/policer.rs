//! `policer`: a token bucket that drops the excess, in front of one queue.

use super::bucket::Bucket;
use super::fifo::{Fifo, LIMIT, Limit, Measure, limit_of};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::Time;
use crate::units::{Capacity, Rate};

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "policer",
    summary: "a token bucket: what exceeds a rate and a burst is dropped at once, and nothing waits for tokens; one FIFO line behind it",
    source: "RFC 2697 section 3 (one rate, one burst, color-blind; red is dropped)",
    params: &[
        ParamSpec {
            name: "rate",
            kind: Kind::Rate,
            default: Some(Value::Auto),
            doc: "rate of tokens, in IP packets (CIR of RFC 2697). By default that of the link",
        },
        ParamSpec {
            name: "burst",
            kind: Kind::Capacity,
            default: Some(Value::Capacity(Capacity::Bdp(1.0))),
            doc: "tokens that the bucket holds (CBS of RFC 2697); it is full at the start. A bdp is that of the link",
        },
        LIMIT,
    ],
    promises: &[Promise::with(
        &[("rate", Value::Rate(Rate::from_bps(10_000_000)))],
        Claim::Shapes,
        "RFC 2697 section 3: no more than the rate, after a burst",
    )],
    check,
    build: |params, context| {
        let bucket = Bucket::full(rate_of(params, &context), burst_of(params, &context));
        Box::new(Policer { bucket, fifo: Fifo::new(limit_of(params, &context)) })
    },
};

/// Returns the rate given, or that of the link.
pub(super) fn rate_of(params: &Params, context: &QueueContext) -> Rate {
    if params.is_auto("rate") { context.rate } else { params.rate("rate") }
}

/// Returns the size of the bucket in bytes; a packet is one of the MTU.
pub(super) fn burst_of(params: &Params, context: &QueueContext) -> u64 {
    let burst = Limit::new(params.capacity("burst"), context);
    match burst.measure {
        Measure::Bytes => burst.max,
        Measure::Packets => burst.max.saturating_mul(u64::from(context.mtu)),
    }
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    limit_of(params, context).check_holds_a_packet(LIMIT.name, context)?;
    Limit { measure: Measure::Bytes, max: burst_of(params, context) }.check_holds_a_packet("burst", context)
}

struct Policer {
    bucket: Bucket,
    fifo: Fifo,
}

impl Queue for Policer {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        // RFC 2697 section 3: the bucket fills at the rate, up to the burst.
        self.bucket.fill(now);
        let len = packets[id].ip_len();
        // Dropped packets take no tokens, nor do packets that do not fit into the queue.
        if !self.bucket.has(len) || !self.fifo.fits(&packets[id]) {
            discard(now, id, DropReason::Overflow, packets, log);
            return;
        }
        self.bucket.take(len);
        packets[id].stamp = now;
        self.fifo.push(id, packets);
    }
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _log: &mut dyn QueueLog) -> Option<PacketId> {
        self.fifo.pop(packets)
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ledger, context, packet};
    use super::*;
    use crate::packet::Direction;
    use crate::time::Duration;

    fn policer(rate_bps: u64, burst: Capacity) -> Box<dyn Queue + Send> {
        let mut params = Params::defaults(KIND.params);
        params.set("rate", Value::Rate(Rate::from_bps(rate_bps)));
        params.set("burst", Value::Capacity(burst));
        let context = context(1_000_000_000, 10, 1500);
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        (KIND.build)(&params, context)
    }

    /// Returns how many of `count` packets of 1500 bytes pass that come each `us` microseconds from `start` on.
    fn passed(queue: &mut dyn Queue, start: Time, count: u32, us: u64) -> usize {
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for n in 0..count {
            let now = start + Duration::from_micros(us * u64::from(n));
            let (packet, segment) = packet(n, 1460, 0);
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(now, id, &mut packets, &mut log);
            if let Some(id) = queue.dequeue(now, &mut packets, &mut log) {
                packets.remove(id);
            }
        }
        assert!(log.dropped.iter().all(|(_, _, reason)| *reason == DropReason::Overflow));
        count as usize - log.dropped.len()
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // One packet per millisecond is 12 Mb/s; ten in a millisecond find ten packets of tokens, and one more for the time.
        let mut queue = policer(12_000_000, Capacity::Packets(10));
        assert_eq!(passed(&mut *queue, Time::ZERO, 1000, 100), 10 + 99);
    }

    #[test]
    fn the_bucket_fills_to_its_burst_and_no_further() {
        let mut queue = policer(12_000_000, Capacity::Bytes(15_000));
        assert_eq!(passed(&mut *queue, Time::ZERO, 50, 0), 10);
        assert_eq!(passed(&mut *queue, Time::ZERO + Duration::from_millis(3), 50, 0), 3);
        assert_eq!(passed(&mut *queue, Time::ZERO + Duration::from_secs(60), 50, 0), 10);
    }

    #[test]
    fn times_too_short_for_a_byte_fill_it_too() {
        // 1 kb/s for 12 s is a packet's tokens, in twelve million steps of a microsecond: an eighth of a millibyte each.
        let mut queue = policer(1000, Capacity::Packets(1));
        assert_eq!(passed(&mut *queue, Time::ZERO, 1, 0), 1);
        let mut at = 1;
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        while at < 12_000_000 {
            let (packet, segment) = packet(at, 1460, 0);
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO + Duration::from_micros(at.into()), id, &mut packets, &mut log);
            at += 997;
        }
        assert_eq!(queue.held(Measure::Packets), 0);
        assert_eq!(passed(&mut *queue, Time::ZERO + Duration::from_secs(12), 2, 0), 1);
    }

    #[test]
    fn what_can_never_pass_is_refused() {
        let mut params = Params::defaults(KIND.params);
        params.set("rate", Value::Rate(Rate::from_bps(1_000_000)));
        params.set("burst", Value::Capacity(Capacity::Bytes(1000)));
        let refused = (KIND.check)(&params, &context(1_000_000_000, 10, 1500)).unwrap_err();
        assert_eq!(refused, "burst is 1000 bytes, less than one packet of the MTU (1500 bytes)");
    }
}
