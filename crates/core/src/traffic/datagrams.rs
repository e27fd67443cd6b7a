//! Datagrams over UDP or ICMP: packets, each for itself.

use crate::packet::{Segment, flags};
use crate::quantiles::Quantiles;
use crate::time::{Duration, Time};

/// Least size of an IP packet here: a [`Segment`] always counts an IPv4 and a TCP header.
pub const LEAST_SIZE: u32 = 40;
/// Bytes of the IPv4 header (20) with UDP (8, RFC 768) or ICMP echo (8, RFC 792): the rest of a packet is payload.
pub const HEADERS: u32 = 28;

/// One packet of UDP or ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Number, from 0 per sender; a reply has that of its request.
    pub number: u32,
    /// Bytes of the IP packet.
    pub size: u32,
    /// True if it answers another.
    pub is_reply: bool,
}

impl Datagram {
    /// Returns the bytes of payload.
    pub fn payload(&self) -> u32 {
        self.size - HEADERS
    }
}

/// Segment that links and queues carry for a datagram.
impl From<Datagram> for Segment {
    fn from(datagram: Datagram) -> Self {
        Segment::new(datagram.number, if datagram.is_reply { flags::ACK } else { 0 }, (datagram.size - LEAST_SIZE) as u16)
    }
}

impl From<&Segment> for Datagram {
    fn from(segment: &Segment) -> Self {
        Datagram { number: segment.seq, size: segment.ip_len(), is_reply: segment.has(flags::ACK) }
    }
}

/// One end of a flow of datagrams, which goes on for ever: it is told of arriving datagrams, and asked for departing ones. It has no clock
/// and no socket, like a TCP endpoint.
pub trait Datagrams: std::fmt::Debug + Send {
    /// Handles a datagram that arrived.
    fn handle(&mut self, now: Time, datagram: &Datagram);
    /// Returns the next datagram to send, if any leaves now. Call until `None`.
    fn poll_transmit(&mut self, now: Time) -> Option<Datagram>;
    /// Returns when the next datagram leaves, if one does.
    fn poll_timeout(&self) -> Option<Time>;
    /// Returns the counters so far.
    fn stats(&self) -> DatagramStats;
    /// Returns the distribution of the measured round trips; `None` if it measures none.
    fn round_trips(&self) -> Option<&Quantiles> {
        None
    }
    /// Forgets the round trips measured so far, all but the least.
    fn forget_round_trips(&mut self) {}
}

/// The sending end `datagrams`, without the packets due at `stop` or later.
pub fn until(stop: Time, datagrams: Box<dyn Datagrams>) -> Box<dyn Datagrams> {
    if stop < Time::MAX { Box::new(Stopped { datagrams, stop }) } else { datagrams }
}

#[derive(Debug)]
struct Stopped {
    datagrams: Box<dyn Datagrams>,
    stop: Time,
}

impl Datagrams for Stopped {
    fn handle(&mut self, now: Time, datagram: &Datagram) {
        self.datagrams.handle(now, datagram);
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        self.poll_timeout().and_then(|_| self.datagrams.poll_transmit(now))
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.datagrams.poll_timeout().filter(|next| *next < self.stop)
    }
    fn stats(&self) -> DatagramStats {
        self.datagrams.stats()
    }
    fn round_trips(&self) -> Option<&Quantiles> {
        self.datagrams.round_trips()
    }
    fn forget_round_trips(&mut self) {
        self.datagrams.forget_round_trips();
    }
}

/// Arrivals of datagrams that are numbered from 0. Each payload counts once, and copies count apart.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    /// Arrived numbers below the greatest so far: a bit for each.
    seen: Vec<u64>,
    bytes: u64,
    duplicates: u64,
    bytes_duplicate: u64,
}

impl Arrived {
    /// Records an arrival.
    pub(super) fn add(&mut self, datagram: &Datagram) {
        let (word, bit) = (datagram.number as usize / 64, 1 << (datagram.number % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        let bytes = u64::from(datagram.payload());
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            self.bytes += bytes;
        } else {
            self.duplicates += 1;
            self.bytes_duplicate += bytes;
        }
    }

    /// Returns the statistics of an end that only receives.
    pub(super) fn stats(&self) -> DatagramStats {
        let Arrived { bytes, duplicates, bytes_duplicate, .. } = *self;
        DatagramStats { bytes_delivered: bytes, duplicates, bytes_duplicate, ..DatagramStats::default() }
    }
}

/// Counters of one end of a flow of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatagramStats {
    /// Packets sent that are not replies.
    pub sent: u64,
    /// Replies sent.
    pub replies: u64,
    /// Payload sent, in bytes. A probe has no payload.
    pub bytes_sent: u64,
    /// Payload that arrived for the first time, in bytes.
    pub bytes_delivered: u64,
    /// Packets that arrived again.
    pub duplicates: u64,
    /// Payload that arrived again, in bytes.
    pub bytes_duplicate: u64,
    /// Round trips of answered requests.
    pub rtt: RoundTrips,
}

/// Round trips that were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrips {
    /// Number of round trips.
    pub count: u64,
    /// Last round trip.
    pub last: Duration,
    /// Least of all, those forgotten included; zero if there is none.
    pub min: Duration,
    /// Greatest round trip.
    pub max: Duration,
    /// Sum of the round trips, in ps.
    pub sum_ps: u128,
    /// Sum of the squares, in ns^2.
    pub squares_ns2: u128,
}

impl RoundTrips {
    /// Records a round trip.
    pub fn add(&mut self, rtt: Duration) {
        self.min = if self.min == Duration::ZERO { rtt } else { self.min.min(rtt) };
        self.max = self.max.max(rtt);
        self.last = rtt;
        self.count += 1;
        self.sum_ps += u128::from(rtt.as_ps());
        let ns = u128::from(rtt.as_ps() / 1000);
        self.squares_ns2 += ns * ns;
    }

    /// Forgets all but the last and the least.
    pub fn forget(&mut self) {
        *self = RoundTrips { last: self.last, min: self.min, ..RoundTrips::default() };
    }

    /// Returns the mean in seconds; NaN if there is none.
    pub fn mean_s(&self) -> f64 {
        self.sum_ps as f64 / self.count as f64 / 1e12
    }

    /// Returns the standard deviation in seconds, the root of the mean square less the square of the mean: ping of iputils prints it as
    /// `mdev`. NaN if there is none.
    pub fn deviation_s(&self) -> f64 {
        let mean_ns = self.sum_ps as f64 / self.count as f64 / 1e3;
        let mean_square = self.squares_ns2 as f64 / self.count as f64;
        // Rounding may give a negative value for equal round trips; but NaN stays NaN.
        let variance = mean_square - mean_ns * mean_ns;
        if variance < 0.0 { 0.0 } else { variance.sqrt() / 1e9 }
    }
}
