//! Statistics and state that a connection reports.

use super::{CaState, Connection, State};
use crate::ecn::Feedback;
use crate::sender::Sender;
use crate::window_sizing::MemoryUse;
use longfat_core::quantiles::Quantiles;
use longfat_core::time::{Duration, Time};

/// Totals since the start. Bytes are payload; a segment is counted as data where it has any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Payload sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload retransmitted, for a loss or as a probe.
    pub bytes_retransmitted: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments retransmitted: of `segments_sent`, those that were not the first of their data.
    pub segments_retransmitted: u64,
    /// FINs retransmitted without data.
    pub fins_retransmitted: u64,
    /// Pure ACKs sent.
    pub acks_sent: u64,
    /// Fast recoveries begun, and under Tahoe fast retransmits (RFC 5681 §3.2).
    pub fast_retransmits: u64,
    /// Fast recoveries that ended whole: by an ACK of all that was outstanding when they began.
    pub recoveries_ended: u64,
    /// Expiries of the retransmission timer (RFC 6298 §5.4), probes of a closed window left out.
    pub timeouts: u64,
    /// Reductions taken back: the losses they were for were none (RFC 4015).
    pub spurious_recoveries: u64,
    /// Tail loss probes sent (RFC 8985 §7.3).
    pub tail_probes: u64,
    /// Tail loss probes that repaired a loss by themselves (RFC 8985 §7.4.2).
    pub tail_losses: u64,
    /// Segments that the host's interface refused and that counted as congestion: Web100's SendStall.
    pub send_stalls: u64,
    /// Data segments received that held nothing new.
    pub duplicates_received: u64,
    /// Received bytes that were there already, whether or not all of their segment was.
    pub bytes_duplicate: u64,
    /// The least round trip measured, of data that was sent once; zero without one.
    pub rtt_min: Duration,
    /// The most that was outstanding at once: sent and not acknowledged, in bytes of the sequence space.
    pub in_flight_max: u64,
}

/// Limits that keep a sender from sending more, though more was written. Linux's `ss -i` reports two of them, as `rwnd_limited` and
/// `sndbuf_limited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// The congestion window, or that of a recovery.
    Cwnd,
    /// The window that the peer advertised.
    Rwnd,
    /// The send buffer: the application would have written more.
    SendBuffer,
    /// Pacing: the windows allow more, though not yet.
    Pacing,
    /// The interface of its host takes no more.
    Host,
}

impl LimitedBy {
    /// Each of them.
    pub const ALL: [Self; 5] = [LimitedBy::Cwnd, LimitedBy::Rwnd, LimitedBy::SendBuffer, LimitedBy::Pacing, LimitedBy::Host];
}

/// The state of a connection at one instant, for time series and assertions: what `tcp_info` says (tcp(7)), in bytes unless a field says
/// otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// The congestion window, or that of the recovery under way.
    pub cwnd: u64,
    /// `u64::MAX` before the first reduction, unless a parameter says otherwise.
    pub ssthresh: u64,
    /// Believed to be in the network: RFC 6675's pipe.
    pub in_flight: u64,
    /// The peer's window, from the left edge on.
    pub rwnd: u64,
    /// The smoothed round trip (RFC 6298 §2); zero before the first.
    pub srtt: Duration,
    /// Mean deviation of the round trip (RFC 6298 §2).
    pub rttvar: Duration,
    /// The retransmission timeout, bounds and backoff included.
    pub rto: Duration,
    /// Timeouts of the retransmission timer since the last round trip was measured.
    pub backoff: u32,
    /// Payload bytes of a full segment, as agreed.
    pub mss: u64,
    /// Sent and not acknowledged.
    pub outstanding: u64,
    /// True if the SYNs agreed on timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// True if the SYNs agreed on selective acknowledgments (RFC 2018 §2).
    pub sack: bool,
    /// True if the SYNs agreed on scaled windows (RFC 7323 §2).
    pub window_scale: bool,
    /// True if the SYNs agreed on ECN of any kind.
    pub ecn: bool,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// How far out of order segments are known to arrive, in segments; where time finds losses (`rack`), measured, else the
    /// duplicate ACK threshold.
    pub reordering: u32,
    /// Outstanding segments that are SACKed.
    pub sacked: u32,
    /// Outstanding segments marked lost, retransmitted since or not.
    pub lost: u32,
    /// Outstanding segments that were retransmitted.
    pub retrans: u32,
    /// The round trip as the receiving side measures it, where its window follows the flow.
    pub rcv_rtt: Duration,
    /// The bytes that came in the last of these round trips.
    pub rcv_space: u64,
    /// Use of the host's memory.
    pub memory: MemoryUse,
}

impl Connection {
    /// State, for sampling.
    pub fn info(&self) -> TcpInfo {
        let (rcv_rtt, rcv_space) = self.receiver.measured();
        TcpInfo {
            rcv_rtt,
            rcv_space,
            timestamps: self.timestamps.is_some(),
            sack: self.receiver.sacks(),
            window_scale: self.window_scale,
            ecn: self.sending.ecn().is_some(),
            memory: self.memory(),
            ..self.ask_sender(Sender::info)
        }
    }

    /// Returns true if AccECN was agreed on, and the path then found to spoil it: nothing sent from then on is ECN-capable.
    pub fn gave_up_ecn(&self) -> bool {
        self.sending.ecn().is_some_and(Feedback::was_given_up)
    }

    /// Totals so far.
    pub fn stats(&self) -> Stats {
        Stats {
            acks_sent: self.acks_sent,
            duplicates_received: self.receiver.duplicates,
            bytes_duplicate: self.receiver.bytes_duplicate,
            ..self.sending.sender().map_or_else(Stats::default, Sender::stats)
        }
    }

    /// The round trips measured since they were last forgotten; `None` of a connection that sends nothing.
    pub fn round_trips(&self) -> Option<&Quantiles> {
        self.sending.sender().map(|sender| sender.trips.measured())
    }

    /// Forgets what [`Connection::round_trips`] has.
    pub fn forget_round_trips(&mut self) {
        if let Some(sender) = self.sending.sender_mut() {
            sender.trips.forget_measured();
        }
    }

    /// How long each limit, in the order of [`LimitedBy::ALL`], has held its sender back until `until`, which is not before anything that it
    /// was told of. The rest of the time the application had written nothing more.
    pub fn limited(&self, until: Time) -> [Duration; LimitedBy::ALL.len()] {
        self.sending.sender().map_or_else(Default::default, |sender| sender.limited(until))
    }

    /// In-order bytes received here (gaps left by optimistic ACKs do not count), read by the application or not.
    #[inline]
    pub fn bytes_delivered(&self) -> u64 {
        self.receiver.delivered() - self.left_out()
    }

    /// Bytes written here and not acknowledged, and those of them not sent yet.
    pub fn unacked(&self) -> (u64, u64) {
        self.sending.sender().map_or((0, 0), Sender::unacked)
    }

    /// In-order bytes that wait for [`Connection::read`].
    pub fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    /// In-order bytes that the application has read.
    pub fn bytes_read(&self) -> u64 {
        self.receiver.read_so_far() - self.left_out()
    }

    /// Bytes that never came and were acknowledged all the same: optimistic ACKs are not honest. The stream has gaps there.
    #[inline]
    fn left_out(&self) -> u64 {
        self.misbehaving().map_or(0, |misbehaving| misbehaving.left_out)
    }

    /// Returns true if the other side has closed and every byte before its FIN was delivered here.
    #[inline]
    pub fn end_of_stream(&self) -> bool {
        self.receiver.end_of_stream()
    }

    /// Returns true if everything written here, and the FIN if closed, has been acknowledged.
    #[inline]
    pub fn all_acked(&self) -> bool {
        self.sending.sender().map_or_else(|| self.is_established(), Sender::all_acked)
    }

    /// The state of RFC 9293.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns true once the handshake is done, whatever came after it.
    pub fn is_established(&self) -> bool {
        self.handshake.is_done()
    }
}
