//! What runs at one end of a flow: TCP, UDP, or a probe. The world treats all alike.

use longfat_core::packet::{Ecn, Segment};
use longfat_core::probe::Ping;
use longfat_core::time::Time;
use longfat_core::traffic::Udp;
use longfat_tcp::{Abort, Connection, Stats, TcpInfo};

/// One end's protocol.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // nearly all are TCP, and a pointer to each would cost every packet a cache line
pub enum Agent {
    Tcp(Connection),
    Ping(Box<Ping>),
    Udp(Box<Udp>),
}

impl Agent {
    /// A packet arrived.
    #[inline]
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        // TCP first, here and below: nearly every packet is its, and a branch costs less than a table of jumps.
        if let Agent::Tcp(tcp) = self {
            tcp.handle_segment(now, segment, ecn);
        } else {
            self.handle_other(now, segment);
        }
    }

    #[cold]
    fn handle_other(&mut self, now: Time, segment: &Segment) {
        match self {
            Agent::Tcp(_) => {}
            Agent::Ping(ping) => ping.handle_segment(now, segment),
            Agent::Udp(udp) => udp.handle_segment(segment),
        }
    }

    /// The time asked for has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if let Agent::Tcp(tcp) = self {
            tcp.handle_timeout(now);
        }
    }

    /// Whether it has nothing to send for now: then [`Agent::poll_transmit`] need not be asked.
    #[inline]
    pub fn is_silent(&mut self) -> bool {
        if let Agent::Tcp(tcp) = self { tcp.is_silent() } else { false }
    }

    /// The next packet to send, if any: written to `segment`, and its ECN field.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        if let Agent::Tcp(tcp) = self {
            return tcp.poll_transmit_into(now, segment);
        }
        *segment = self.poll_other(now)?;
        Some(Ecn::NotEct)
    }

    #[cold]
    fn poll_other(&mut self, now: Time) -> Option<Segment> {
        match self {
            Agent::Tcp(_) => None,
            Agent::Ping(ping) => ping.poll_transmit(now),
            Agent::Udp(udp) => udp.poll_transmit(now),
        }
    }

    /// When it wants to be woken: a timer, or pacing.
    #[inline]
    pub fn wake_at(&self, now: Time) -> Time {
        if let Agent::Tcp(tcp) = self {
            return tcp.poll_timeout().unwrap_or(Time::MAX).min(tcp.paced_until(now).unwrap_or(Time::MAX));
        }
        self.wake_other_at()
    }

    #[cold]
    fn wake_other_at(&self) -> Time {
        let at = match self {
            Agent::Tcp(_) => None,
            Agent::Ping(ping) => ping.poll_timeout(),
            Agent::Udp(udp) => udp.poll_timeout(),
        };
        at.unwrap_or(Time::MAX)
    }

    /// Whether a timer of it is due.
    pub fn is_due(&self, now: Time) -> bool {
        matches!(self, Agent::Tcp(tcp) if tcp.poll_timeout().is_some_and(|timeout| timeout <= now))
    }

    /// Whether it has given its connection up, since nothing answered.
    pub fn gave_up(&self) -> bool {
        matches!(self, Agent::Tcp(tcp) if tcp.aborted() == Some(Abort::TimedOut))
    }

    /// Totals so far; packets of UDP count as segments, and of a probe requests count as segments and replies as ACKs.
    pub fn stats(&self) -> Stats {
        match self {
            Agent::Tcp(tcp) => tcp.stats(),
            Agent::Ping(ping) => {
                let s = ping.stats();
                Stats {
                    segments_sent: s.requests_sent,
                    acks_sent: s.replies_sent,
                    rtt_min: s.rtt_min,
                    rtt_max: s.rtt_max,
                    rtt_sum_ps: s.rtt_sum_ps,
                    rtt_samples: s.answered,
                    ..Stats::default()
                }
            }
            Agent::Udp(udp) => Stats { segments_sent: udp.packets_sent(), bytes_sent: udp.bytes_sent(), ..Stats::default() },
        }
    }

    /// State, for sampling: of a probe only the last round trip, of UDP nothing.
    pub fn info(&self) -> TcpInfo {
        match self {
            Agent::Tcp(tcp) => tcp.info(),
            Agent::Ping(ping) => TcpInfo { srtt: ping.stats().rtt_last, ..TcpInfo::default() },
            Agent::Udp(_) => TcpInfo::default(),
        }
    }

    /// Payload bytes that arrived here; of TCP, in order, and read by the application.
    #[inline]
    pub fn bytes_delivered(&self) -> u64 {
        match self {
            Agent::Tcp(tcp) => tcp.bytes_read(),
            Agent::Ping(_) => 0,
            Agent::Udp(udp) => udp.bytes_delivered(),
        }
    }
}
