//! Agents at the ends of flows: TCP, or senders of datagrams. The world treats both alike.

use longfat_core::packet::{Ecn, Segment};
use longfat_core::quantiles::Quantiles;
use longfat_core::time::{Duration, Time};
use longfat_core::traffic::{Datagram, DatagramStats, Datagrams, RoundTrips, Socket};
use longfat_tcp::{Abort, Connection, LimitedBy, Stats, TcpInfo};

/// One end's protocol.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // nearly all are TCP, and a pointer to each would cost every packet a cache line
pub(crate) enum Agent {
    Tcp(Connection),
    Datagrams(Box<dyn Datagrams>),
}

/// A connection as its application has it.
pub(super) struct Stream<'a>(pub &'a mut Connection);

impl Socket for Stream<'_> {
    fn write(&mut self, bytes: u64) {
        self.0.write(bytes);
    }
    fn close(&mut self) {
        self.0.close();
    }
    fn stop(&mut self) {
        self.0.stop();
    }
    fn read(&mut self, most: u64) -> u64 {
        self.0.read(most)
    }
    fn unread(&self) -> u64 {
        self.0.unread()
    }
}

impl Agent {
    /// Returns the connection.
    ///
    /// # Panics
    /// It sends datagrams.
    pub(crate) fn tcp(&self) -> &Connection {
        let Agent::Tcp(tcp) = self else { panic!("memory is for TCP") };
        tcp
    }

    /// Handles a packet that arrived.
    #[inline]
    pub(crate) fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        // TCP first, here and below: nearly every packet is its, and a branch costs less than a table of jumps.
        if let Agent::Tcp(tcp) = self {
            tcp.handle_segment(now, segment, ecn);
        } else {
            self.handle_other(now, segment);
        }
    }

    #[cold]
    fn handle_other(&mut self, now: Time, segment: &Segment) {
        if let Agent::Datagrams(datagrams) = self {
            datagrams.handle(now, &Datagram::from(segment));
        }
    }

    /// Handles a timer that has expired.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if let Agent::Tcp(tcp) = self {
            tcp.handle_timeout(now);
        }
    }

    /// True if it has nothing to send for now: then [`Agent::poll_transmit`] need not be asked.
    #[inline]
    pub(crate) fn is_silent(&mut self, now: Time) -> bool {
        if let Agent::Tcp(tcp) = self { tcp.is_silent(now) } else { false }
    }

    /// Writes the next packet to `segment`, if there is one, and returns its ECN field.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        if let Agent::Tcp(tcp) = self {
            return tcp.poll_transmit_into(now, segment);
        }
        *segment = self.poll_other(now)?;
        Some(Ecn::NotEct)
    }

    #[cold]
    fn poll_other(&mut self, now: Time) -> Option<Segment> {
        if let Agent::Datagrams(datagrams) = self { datagrams.poll_transmit(now).map(Segment::from) } else { None }
    }

    /// Returns the time of its next wake-up, by a timer or by pacing.
    #[inline]
    pub(crate) fn wake_at(&self, now: Time) -> Time {
        if let Agent::Tcp(tcp) = self {
            return tcp.poll_timeout().unwrap_or(Time::MAX).min(tcp.paced_until(now).unwrap_or(Time::MAX));
        }
        self.wake_other_at()
    }

    #[cold]
    fn wake_other_at(&self) -> Time {
        if let Agent::Datagrams(datagrams) = self { datagrams.poll_timeout().unwrap_or(Time::MAX) } else { Time::MAX }
    }

    /// True if one of its timers is due.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        matches!(self, Agent::Tcp(tcp) if tcp.poll_timeout().is_some_and(|timeout| timeout <= now))
    }

    /// True if it has given its connection up, since nothing answered.
    pub(crate) fn gave_up(&self) -> bool {
        matches!(self, Agent::Tcp(tcp) if tcp.aborted() == Some(Abort::TimedOut))
    }

    /// Returns the totals so far. Datagrams count as segments, and replies to them as ACKs.
    pub(crate) fn stats(&self) -> Stats {
        match self {
            Agent::Tcp(tcp) => tcp.stats(),
            Agent::Datagrams(datagrams) => {
                let DatagramStats { sent, replies, bytes_sent, duplicates, bytes_duplicate, rtt, .. } = datagrams.stats();
                Stats {
                    segments_sent: sent,
                    acks_sent: replies,
                    bytes_sent,
                    duplicates_received: duplicates,
                    bytes_duplicate,
                    rtt_min: rtt.min,
                    ..Stats::default()
                }
            }
        }
    }

    /// The round trips that it has measured since it last forgot them.
    pub(crate) fn round_trips(&self) -> Option<&Quantiles> {
        match self {
            Agent::Tcp(tcp) => tcp.round_trips(),
            Agent::Datagrams(datagrams) => datagrams.round_trips(),
        }
    }

    /// Forgets the round trips measured so far, all but the least.
    pub(crate) fn forget_round_trips(&mut self) {
        match self {
            Agent::Tcp(tcp) => tcp.forget_round_trips(),
            Agent::Datagrams(datagrams) => datagrams.forget_round_trips(),
        }
    }

    /// Returns the time for which each limit has held it back until `until`; `None` for datagrams.
    pub(crate) fn limited(&self, until: Time) -> Option<[Duration; LimitedBy::ALL.len()]> {
        if let Agent::Tcp(tcp) = self { Some(tcp.limited(until)) } else { None }
    }

    /// State, for sampling: of datagrams only the last round trip.
    pub(crate) fn info(&self) -> TcpInfo {
        match self {
            Agent::Tcp(tcp) => tcp.info(),
            Agent::Datagrams(datagrams) => TcpInfo { srtt: datagrams.stats().rtt.last, ..TcpInfo::default() },
        }
    }

    /// Standard deviation of the round trips that a probe has measured, in seconds; NaN where there is none.
    pub(crate) fn rtt_deviation_s(&self) -> f64 {
        let rtt = if let Agent::Datagrams(datagrams) = self { datagrams.stats().rtt } else { RoundTrips::default() };
        rtt.deviation_s()
    }

    /// Payload bytes that arrived here for the first time, in order or not, read or not.
    pub(crate) fn bytes_arrived(&self) -> u64 {
        match self {
            Agent::Tcp(tcp) => tcp.bytes_read() + tcp.memory().receive_buffered,
            Agent::Datagrams(datagrams) => datagrams.stats().bytes_delivered,
        }
    }

    /// Payload bytes that arrived here; of TCP, in order, and read by the application.
    #[inline]
    pub(crate) fn bytes_delivered(&self) -> u64 {
        match self {
            Agent::Tcp(tcp) => tcp.bytes_read(),
            Agent::Datagrams(datagrams) => datagrams.stats().bytes_delivered,
        }
    }
}
