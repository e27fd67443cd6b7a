//! `udpmon`: a burst of numbered UDP packets, evenly spaced or back to back: its arrivals show the bottleneck of the path.

use super::datagrams::{Arrived, HEADERS};
use super::udp::PACKET;
use super::{Datagram, DatagramStats, Datagrams, Demand, Over, Rank, Traffic, TrafficKind, Volume, as_said, nothing_to_check};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::time::{Duration, Time};

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "udpmon",
    summary: "a burst of numbered UDP packets with a gap between them, or none: UDPmon",
    source: "Antony, Blom, de Laat, Lee and Sjouw, Microscopic examination of TCP flows over transatlantic links, FGCS 19(6), 2003, sections 2 and 4",
    params: &[
        ParamSpec {
            name: "packets",
            // All packets are in the network at once if there is no gap.
            kind: Kind::Count { unit: "packets", min: 1, max: 1_000_000 },
            default: Some(Value::Count(5000)),
            doc: "how many packets a burst has",
        },
        ParamSpec {
            name: "gap",
            kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(100_000) },
            default: Some(Value::Duration(Duration::ZERO)),
            doc: "from one packet to the next; with `0 us` they leave as fast as the link of the host takes them",
        },
        PACKET,
    ],
    check: nothing_to_check,
    canonical: as_said,
    rank: Rank::Background,
    volume: Volume::None,
    demand,
    over: Over::Datagrams {
        sender: |params, life| {
            let (packets, size) = (params.integer("packets") as u32, params.integer("size") as u32);
            Box::new(UdpMon::send(packets, params.duration("gap"), size, life.start))
        },
        receiver: || Box::new(UdpMon::receive()),
        peak: |params| demand(params, Duration::from_secs(1)).bytes,
    },
};

/// Returns the demand of a burst in `time`.
fn demand(params: &Params, time: Duration) -> Demand {
    let (gap, packets) = (params.duration("gap").as_secs_f64(), params.integer("packets") as f64);
    let due = if gap > 0.0 { (time.as_secs_f64() / gap).ceil() } else { packets };
    Demand::datagrams(packets.min(due), params.integer("size") as u32)
}

impl Traffic {
    /// Returns the traffic of a burst of `packets` packets of `size` bytes (IP), with a `gap` from one to the next.
    pub fn udpmon(packets: u64, gap: Duration, size: u32) -> Self {
        let params = [("packets", Value::Count(packets)), ("gap", Value::Duration(gap)), ("size", Value::Bytes(size.into()))];
        Traffic::of("udpmon", &params)
    }
}

/// One end: the one that sends the burst, or the one that receives it.
#[derive(Debug)]
pub(super) struct UdpMon {
    /// Packets still to send, and when the next one leaves.
    left: u32,
    next: Time,
    gap: Duration,
    size: u32,
    sent: u32,
    arrived: Arrived,
}

impl UdpMon {
    /// Returns the end that sends `packets` of `size` bytes (IP), the first at `start`.
    pub(super) fn send(packets: u32, gap: Duration, size: u32, start: Time) -> Self {
        UdpMon { left: packets, next: start, gap, size, sent: 0, arrived: Arrived::default() }
    }

    /// Returns the end that receives.
    pub(super) fn receive() -> Self {
        UdpMon::send(0, Duration::ZERO, HEADERS, Time::ZERO)
    }
}

impl Datagrams for UdpMon {
    fn handle(&mut self, _now: Time, datagram: &Datagram) {
        self.arrived.add(datagram);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if self.poll_timeout()? > now {
            return None;
        }
        let datagram = Datagram { number: self.sent, size: self.size, is_reply: false };
        self.left -= 1;
        self.sent += 1;
        self.next = self.next.saturating_add(self.gap);
        Some(datagram)
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.left > 0).then_some(self.next)
    }

    fn stats(&self) -> DatagramStats {
        let sent = u64::from(self.sent);
        let bytes_sent = sent * u64::from(self.size - HEADERS);
        DatagramStats { sent, bytes_sent, ..self.arrived.stats() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_leaves_with_its_gaps_and_ends() {
        let at = |us| Time::ZERO + Duration::from_micros(us);
        let (mut sender, mut receiver) = (UdpMon::send(3, Duration::from_micros(15), 1028, at(100)), UdpMon::receive());
        assert_eq!((sender.poll_transmit(at(99)), sender.poll_timeout()), (None, Some(at(100))));
        for (number, us) in [(0, 100), (1, 115), (2, 130)] {
            let packet = sender.poll_transmit(at(us)).unwrap();
            assert_eq!((packet.number, packet.size, sender.poll_transmit(at(us))), (number, 1028, None));
            receiver.handle(at(us), &packet);
        }
        assert_eq!(sender.poll_timeout(), None);
        assert_eq!((sender.stats().sent, sender.stats().bytes_sent, receiver.stats().bytes_delivered), (3, 3000, 3000));
    }

    #[test]
    fn without_a_gap_all_leave_at_once() {
        let mut sender = UdpMon::send(5000, Duration::ZERO, 1028, Time::ZERO);
        assert_eq!(std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).count(), 5000);
        assert_eq!(sender.poll_timeout(), None);
    }
}
