//! `step`: one queue that marks packets that arrive at more than a threshold, or that leave after a longer wait than a threshold.

use super::fifo::{Fifo, LIMIT, Limit, Measure, limit_of};
use super::{Claim, DropReason, Queue, QueueContext, QueueKind, QueueLog, discard, mark};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::{Duration, Time};
use crate::units::Capacity;

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "step",
    summary: "a step marker for dctcp and prague: marks ECN-capable packets over a threshold of the instantaneous queue, drops only what does not fit",
    source: "RFC 8257 section 3.1; Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, section 3.1; RFC 9331 section 5",
    params: &[
        LIMIT,
        ParamSpec {
            name: "threshold",
            kind: Kind::Capacity,
            default: Some(Value::Auto),
            doc: "an arrival that finds more than this is marked (K of RFC 8257). When neither it nor `delay` is given: 0.17 bdp",
        },
        ParamSpec {
            name: "delay",
            kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(10) },
            default: Some(Value::Auto),
            doc: "instead of `threshold`: what waited longer than this is marked as it leaves",
        },
    ],
    promises: &[Promise::with(
        &[("threshold", Value::Capacity(Capacity::Packets(20))), ("limit", Value::Capacity(Capacity::Packets(200)))],
        Claim::Marks,
        "RFC 8257 section 3.1: marked over the threshold, dropped only at the limit",
    )],
    check,
    build: |params, context| {
        Box::new(Step { fifo: Fifo::new(limit_of(params, &context)), mark: if_over(params, &context).expect("checked") })
    },
};

/// Threshold for marks.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// Queue length: a packet that arrives with more than this queued is marked.
    Over(Limit),
    /// Wait: a packet that leaves after more than this is marked.
    After(Duration),
}

fn if_over(params: &Params, context: &QueueContext) -> Result<Mark, String> {
    match (params.is_auto("threshold"), params.is_auto("delay")) {
        (false, false) => Err("threshold and delay are two ways to say when to mark; give one of them".into()),
        (_, false) => Ok(Mark::After(params.duration("delay"))),
        (false, true) => Ok(Mark::Over(Limit::new(params.capacity("threshold"), context))),
        // Alizadeh, Javanmard and Prabhakar, "Analysis of DCTCP", SIGMETRICS 2011: 17 % of a bandwidth-delay product lose no throughput.
        (true, true) => Ok(Mark::Over(Limit::new(Capacity::Bdp(0.17), context))),
    }
}

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    let limit = limit_of(params, context);
    limit.check_holds_a_packet(LIMIT.name, context)?;
    match if_over(params, context)? {
        Mark::Over(threshold) if threshold.measure == limit.measure && threshold.max >= limit.max => {
            let unit = limit.measure.unit();
            Err(format!("threshold ({} {unit}) must be under the limit ({} {unit}), or nothing is ever marked", threshold.max, limit.max))
        }
        _ => Ok(()),
    }
}

struct Step {
    fifo: Fifo,
    mark: Mark,
}

impl Queue for Step {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        if !self.fifo.fits(&packets[id]) {
            discard(now, id, DropReason::Overflow, packets, log);
            return;
        }
        packets[id].stamp = now;
        // RFC 8257 §3.1: the queue as it is, no average.
        if let Mark::Over(threshold) = self.mark
            && self.fifo.held(threshold.measure) > threshold.max
        {
            mark(now, id, packets, log);
        }
        self.fifo.push(id, packets);
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let id = self.fifo.pop(packets)?;
        if let Mark::After(delay) = self.mark
            && now.since(packets[id].stamp) > delay
        {
            mark(now, id, packets, log);
        }
        Some(id)
    }
    fn held(&self, measure: Measure) -> u64 {
        self.fifo.held(measure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, Ecn, Packet, Segment, flags};
    use crate::rng::Rng;
    use crate::units::Rate;

    struct Marked(Vec<u32>);
    impl QueueLog for Marked {
        fn dropped(&mut self, _: Time, id: PacketId, packets: &Packets, reason: DropReason) {
            assert_eq!((reason, packets[id].ecn), (DropReason::Overflow, Ecn::NotEct));
        }
        fn marked(&mut self, _: Time, id: PacketId, packets: &Packets) {
            self.0.push(packets.segment(id).seq);
        }
    }

    fn context() -> QueueContext {
        QueueContext { rate: Rate::from_bps(1_000_000_000), rtt: Duration::from_millis(10), mtu: 1500, rng: Rng::named(1, "step") }
    }

    fn params(changes: &[(&'static str, Value)]) -> Params {
        let mut params = Params::defaults(KIND.params);
        changes.iter().for_each(|(name, value)| params.set(name, *value));
        params
    }

    /// Returns the marked packets of ten that arrive at once, 1 and 4 of them not ECN-capable; then they leave, one per millisecond.
    fn marked(changes: &[(&'static str, Value)]) -> Vec<u32> {
        let mut queue = (KIND.build)(&params(changes), context());
        let (mut packets, mut log) = (Packets::new(), Marked(vec![]));
        for seq in 0..10 {
            let ecn = if matches!(seq, 1 | 4) { Ecn::NotEct } else { [Ecn::Ect0, Ecn::Ect1][seq as usize % 2] };
            let segment = Segment::new(seq, flags::ACK, 1460);
            let id = packets.insert(Direction::There, Packet::new(Time::ZERO, 0, ecn, &segment), segment);
            queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        for n in 0..10 {
            let id = queue.dequeue(Time::ZERO + Duration::from_millis(n), &mut packets, &mut log).unwrap();
            assert_eq!(packets[id].ecn == Ecn::Ce, log.0.contains(&packets.segment(id).seq));
            packets.remove(id);
        }
        log.0
    }

    #[test]
    fn what_finds_more_than_the_threshold_is_marked() {
        assert_eq!(marked(&[("threshold", Value::Capacity(Capacity::Packets(3)))]), [5, 6, 7, 8, 9]);
        assert_eq!(marked(&[("threshold", Value::Capacity(Capacity::Bytes(4500)))]), [5, 6, 7, 8, 9]);
        assert_eq!(marked(&[("threshold", Value::Capacity(Capacity::Packets(0)))]), [2, 3, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn what_waited_longer_than_the_delay_is_marked() {
        assert_eq!(marked(&[("delay", Value::Duration(Duration::from_millis(6)))]), [7, 8, 9]);
    }
}
