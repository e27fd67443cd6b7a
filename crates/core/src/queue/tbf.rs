//! `tbf`: a token bucket that packets wait for: a shaper, with a FIFO or any other queue in front of it.

use super::bucket::Bucket;
use super::fifo::{LIMIT, Limit, Measure, limit_of};
use super::inner::{QUEUE, build, inner};
use super::policer::{burst_of, rate_of};
use super::{Claim, Party, Queue, QueueContext, QueueKind, QueueLog};
use crate::packet::{PacketId, Packets};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::promise::Promise;
use crate::time::Time;
use crate::units::{Capacity, Rate};

/// The registry entry.
pub(super) const KIND: QueueKind = QueueKind {
    name: "tbf",
    summary: "a token bucket filter: packets wait for the tokens of a rate and a burst, in one FIFO line or in any other queue; a shaper",
    source: "tc-tbf(8); RFC 2697 section 3 for the bucket",
    params: &[
        ParamSpec {
            name: "rate",
            kind: Kind::Rate,
            default: Some(Value::Auto),
            doc: "rate of tokens, in IP packets. By default that of the link",
        },
        ParamSpec {
            name: "burst",
            kind: Kind::Capacity,
            default: Some(Value::Capacity(Capacity::Packets(10))),
            doc: "tokens that the bucket holds; it is full at the start. A packet is one of the MTU",
        },
        ParamSpec {
            name: "peakrate",
            kind: Kind::Rate,
            default: Some(Value::Auto),
            doc: "rate of a burst (IP packets), by a second bucket of one packet of the MTU. When not given: as fast as the link",
        },
        ParamSpec { doc: "the most that waits where no `queue` is given. A bdp is that of the link", ..LIMIT },
        ParamSpec {
            doc: "any queue: what packets wait in. A bdp inside is that of `rate`. When not given: `droptail` of `limit`",
            ..QUEUE
        },
    ],
    promises: &[Promise::with(&[("rate", Value::Rate(Rate::from_bps(10_000_000)))], Claim::Shapes, "tc-tbf(8): the rate, after a burst")],
    check,
    build: |params, context| {
        let bucket = Bucket::full(rate_of(params, &context), burst_of(params, &context));
        let peak = (!params.is_auto("peakrate")).then(|| Bucket::full(params.rate("peakrate"), context.mtu.into()));
        let inside = match params.queue(QUEUE.name) {
            Some(_) => inner(params, &context),
            None => {
                let limit = (LIMIT.name, params.get(LIMIT.name));
                build(&super::choice(super::droptail::KIND.name).with(&[limit]), context.clone())
            }
        };
        Box::new(Tbf { bucket, peak, inside, mtu: context.mtu, needs: 0 })
    },
};

fn check(params: &Params, context: &QueueContext) -> Result<(), String> {
    let limit = limit_of(params, context);
    if params.queue(QUEUE.name).is_none() {
        limit.check_holds_a_packet(LIMIT.name, context)?;
    } else if limit != Limit::new(Capacity::Bdp(1.0), context) {
        // The default has no effect then; any other value was intended.
        return Err("limit is that of the line which it has without a `queue`: give the queue inside its own".into());
    }
    Limit { measure: Measure::Bytes, max: burst_of(params, context) }.check_holds_a_packet("burst", context)?;
    let rate = rate_of(params, context);
    if rate > context.rate {
        return Err(format!(
            "rate ({} bit/s) is more than that of the link ({} bit/s), so that it shapes nothing",
            rate.as_bps(),
            context.rate.as_bps()
        ));
    }
    if !params.is_auto("peakrate") && params.rate("peakrate") <= rate {
        return Err(format!("peakrate ({} bit/s) must be over rate ({} bit/s)", params.rate("peakrate").as_bps(), rate.as_bps()));
    }
    Ok(())
}

struct Tbf {
    bucket: Bucket,
    peak: Option<Bucket>,
    inside: Box<dyn Queue + Send>,
    mtu: u32,
    /// Returns the bytes of tokens that the next packet needs: its IP bytes if it is known which one is next, or else those of the largest.
    needs: u32,
}

impl Tbf {
    fn look(&mut self, packets: &Packets) {
        self.needs = self.inside.first().map_or(self.mtu, |id| packets[id].ip_len());
    }
}

impl Queue for Tbf {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        self.inside.enqueue(now, id, packets, log);
        self.look(packets);
    }
    fn dequeue(&mut self, now: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Option<PacketId> {
        let taken = self.inside.dequeue(now, packets, log);
        if let Some(id) = taken {
            for bucket in [Some(&mut self.bucket), self.peak.as_mut()].into_iter().flatten() {
                bucket.fill(now);
                bucket.take(packets[id].ip_len());
            }
        }
        self.look(packets);
        taken
    }
    fn shapes(&self) -> bool {
        true
    }
    fn opens(&self, from: Time) -> Time {
        let opens = self.bucket.opens(from, self.needs);
        let opens = self.peak.as_ref().map_or(opens, |peak| peak.opens(opens, self.needs));
        self.inside.opens(opens)
    }
    fn tell(&mut self, route: u32, party: &Party<'_>) {
        self.inside.tell(route, party);
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.inside.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Time) {
        self.inside.handle_timeout(now);
    }
    fn held(&self, measure: Measure) -> u64 {
        self.inside.held(measure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ledger, context, packet};
    use super::*;
    use crate::packet::Direction;
    use crate::time::Duration;
    use crate::units::Rate;

    /// Returns when each of `count` packets of 1500 bytes leaves that all come at zero, to the microsecond, on a link of 1 Gb/s: 12 us per
    /// packet.
    fn departures(given: &[(&'static str, Value)], count: u32) -> Vec<u64> {
        let mut params = Params::defaults(KIND.params);
        given.iter().for_each(|&(name, value)| params.set(name, value));
        let context = context(1_000_000_000, 100, 1500);
        assert_eq!((KIND.check)(&params, &context), Ok(()));
        let mut queue = (KIND.build)(&params, context);
        let (mut packets, mut log) = (Packets::new(), Ledger::default());
        for n in 0..count {
            let (packet, segment) = packet(n, 1460, 0);
            let id = packets.insert(Direction::There, packet, segment);
            queue.enqueue(Time::ZERO, id, &mut packets, &mut log);
        }
        let mut free = Time::ZERO;
        let mut leave = || {
            let at = queue.opens(free);
            let id = queue.dequeue(at, &mut packets, &mut log)?;
            packets.remove(id);
            free = at + Duration::from_micros(12);
            Some(at.as_ps() / 1_000_000)
        };
        std::iter::from_fn(&mut leave).collect()
    }

    fn rate(mbps: u64) -> Value {
        Value::Rate(Rate::from_bps(mbps * 1_000_000))
    }

    /// 12 Mb/s is a packet each millisecond. In the 36 us of three packets 54 bytes of tokens come: the fourth waits for the other 1446, 964 us.
    #[test]
    fn a_burst_goes_at_once_and_then_the_rate() {
        let burst = Value::Capacity(Capacity::Packets(3));
        assert_eq!(departures(&[("rate", rate(12)), ("burst", burst)], 6), [0, 12, 24, 1000, 2000, 3000]);
    }

    /// At 120 Mb/s a packet of the burst follows each 100 us.
    #[test]
    fn a_burst_goes_at_its_peak_rate() {
        let burst = Value::Capacity(Capacity::Packets(3));
        let given = [("rate", rate(12)), ("burst", burst), ("peakrate", rate(120))];
        assert_eq!(departures(&given, 6), [0, 100, 200, 1000, 2000, 3000]);
    }

    #[test]
    fn it_is_no_faster_than_its_rate_in_the_long_run() {
        // 7 Mb/s: 12000 / 7 us a packet; after the burst of ten the first waits for what is missing.
        let times = departures(&[("rate", rate(7)), ("limit", Value::Capacity(Capacity::Packets(2000)))], 1010);
        assert_eq!(times[1009], 1000 * 12_000 / 7);
    }

    #[test]
    fn what_shapes_nothing_is_refused() {
        let refused = |given: &[(&'static str, Value)]| {
            let mut params = Params::defaults(KIND.params);
            given.iter().for_each(|&(name, value)| params.set(name, value));
            (KIND.check)(&params, &context(10_000_000, 10, 1500)).unwrap_err()
        };
        assert_eq!(
            refused(&[("rate", rate(11))]),
            "rate (11000000 bit/s) is more than that of the link (10000000 bit/s), so that it shapes nothing"
        );
        assert_eq!(refused(&[("rate", rate(8)), ("peakrate", rate(8))]), "peakrate (8000000 bit/s) must be over rate (8000000 bit/s)");
        assert_eq!(
            refused(&[("burst", Value::Capacity(Capacity::Bytes(100)))]),
            "burst is 100 bytes, less than one packet of the MTU (1500 bytes)"
        );
    }
}
