//! UDP (RFC 768): packets that leave when their schedule says, whatever becomes of them.

use super::Departures;
use crate::packet::Segment;
use crate::time::Time;

/// The least size of an IP packet: a [`Segment`] always counts an IPv4 and a TCP header.
pub const LEAST_SIZE: u32 = 40;
/// IPv4 (20 bytes) and UDP (8 bytes, RFC 768) headers: what else there is of a packet is payload.
const HEADERS: u32 = 28;

/// One end: the one that sends, or the one that receives. Sans-io, like a TCP connection.
#[derive(Debug)]
pub struct Udp {
    /// `None`: this end receives.
    departures: Option<Departures>,
    stop: Time,
    size: u32,
    packets_sent: u64,
    bytes_delivered: u64,
}

impl Udp {
    /// The end that sends packets of `size` bytes (the whole IP packet) before `stop`.
    pub fn send(departures: Departures, size: u32, stop: Time) -> Self {
        assert!((LEAST_SIZE..=65_535).contains(&size), "a packet of {size} bytes");
        Udp { departures: Some(departures), stop, size, packets_sent: 0, bytes_delivered: 0 }
    }

    /// The end that receives.
    pub fn receive() -> Self {
        Udp { departures: None, stop: Time::ZERO, size: LEAST_SIZE, packets_sent: 0, bytes_delivered: 0 }
    }

    /// A packet arrived.
    pub fn handle_segment(&mut self, segment: &Segment) {
        self.bytes_delivered += u64::from(segment.ip_len() - HEADERS);
    }

    /// The next packet to send, if any leaves now. Call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.poll_timeout()? > now {
            return None;
        }
        let segment = Segment::new(self.packets_sent as u32, 0, (self.size - LEAST_SIZE) as u16);
        self.packets_sent += 1;
        self.departures.as_mut()?.advance();
        Some(segment)
    }

    /// When the next packet leaves.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.departures.as_ref().map(Departures::next).filter(|next| *next < self.stop)
    }

    /// Packets sent so far.
    pub fn packets_sent(&self) -> u64 {
        self.packets_sent
    }

    /// Payload sent so far.
    pub fn bytes_sent(&self) -> u64 {
        self.packets_sent * u64::from(self.size - HEADERS)
    }

    /// Payload that arrived.
    pub fn bytes_delivered(&self) -> u64 {
        self.bytes_delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::time::Duration;
    use crate::traffic::Schedule;
    use crate::units::Rate;

    #[test]
    fn sends_in_time_until_it_stops() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let departures = Departures::new(Schedule::Constant { rate: Rate::from_bps(12_000) }, 1500, at(500), Rng::named(1, "udp"));
        let (mut a, mut b) = (Udp::send(departures, 1500, at(2500)), Udp::receive());
        assert_eq!((a.poll_transmit(at(499)), a.poll_timeout(), b.poll_timeout()), (None, Some(at(500)), None));
        for ms in [500, 1500] {
            let packet = a.poll_transmit(at(ms)).unwrap();
            assert_eq!((packet.ip_len(), a.poll_transmit(at(ms))), (1500, None));
            b.handle_segment(&packet);
        }
        assert_eq!((a.poll_timeout(), a.poll_transmit(at(2500))), (None, None), "it has stopped");
        assert_eq!((a.packets_sent(), a.bytes_sent(), b.bytes_delivered()), (2, 2 * 1472, 2 * 1472));
    }
}
