//! What a connection tells of itself.

use super::{CaState, Connection, State};
use crate::ecn::Feedback;
use crate::sender::Sender;
use crate::window_sizing::MemoryUse;
use longfat_core::time::Duration;

/// Totals since the start. Byte counts are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Stats {
    pub bytes_sent: u64,
    pub bytes_retransmitted: u64,
    pub segments_sent: u64,
    pub segments_retransmitted: u64,
    pub acks_sent: u64,
    pub fast_retransmits: u64,
    pub recoveries_ended: u64,
    pub timeouts: u64,
    /// Reductions taken back: the losses they were for were none.
    pub spurious_recoveries: u64,
    /// Tail loss probes sent, and those that repaired a loss by themselves.
    pub tail_probes: u64,
    pub tail_losses: u64,
    pub send_stalls: u64,
    pub duplicates_received: u64,
    /// Of what was received, what was there already, whether or not all of its segment was.
    pub bytes_duplicate: u64,
    pub rtt_min: Duration,
    pub rtt_max: Duration,
    pub rtt_sum_ps: u128,
    pub rtt_samples: u64,
    pub in_flight_max: u64,
}

/// The state of a connection at one instant, for time series and assertions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct TcpInfo {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub in_flight: u64,
    pub rwnd: u64,
    pub srtt: Duration,
    pub rttvar: Duration,
    pub rto: Duration,
    /// How often the retransmission timer went off since the last round trip was measured.
    pub backoff: u32,
    /// Payload bytes of a full segment, as agreed.
    pub mss: u64,
    /// Bytes sent and not acknowledged.
    pub outstanding: u64,
    /// What the SYNs agreed on.
    pub timestamps: bool,
    pub sack: bool,
    pub window_scale: bool,
    pub ecn: bool,
    pub ca_state: CaState,
    /// How far out of order segments are known to arrive, in segments; where time finds losses (`rack`), measured, else the
    /// duplicate ACK threshold.
    pub reordering: u32,
    /// Of the segments outstanding: SACKed; called lost; sent again.
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// The round trip as the receiving side measures it, and the bytes that came in the last one: where its window follows them.
    pub rcv_rtt: Duration,
    pub rcv_space: u64,
    /// What it has of its host's memory.
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

    /// Whether AccECN was agreed on, and the path then found to spoil it: nothing sent from then on is ECN-capable.
    pub fn gave_up_ecn(&self) -> bool {
        self.sending.ecn().is_some_and(Feedback::was_given_up)
    }

    /// Totals so far.
    pub fn stats(&self) -> Stats {
        Stats {
            acks_sent: self.acks_sent,
            duplicates_received: self.receiver.duplicates,
            bytes_duplicate: self.receiver.bytes_duplicate,
            ..self.sending.sender().map_or_else(Stats::default, |sender| sender.stats)
        }
    }

    /// In-order bytes received here, read by the application or not.
    #[inline]
    pub fn bytes_delivered(&self) -> u64 {
        self.receiver.delivered()
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
        self.receiver.read_so_far()
    }

    /// Whether the other side has closed and every byte before it was delivered here.
    #[inline]
    pub fn end_of_stream(&self) -> bool {
        self.receiver.end_of_stream()
    }

    /// Whether everything written here, and the FIN if closed, has been acknowledged.
    #[inline]
    pub fn all_acked(&self) -> bool {
        self.sending.sender().map_or_else(|| self.is_established(), Sender::all_acked)
    }

    /// The state of RFC 9293.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the handshake is done, whatever came after it.
    pub fn is_established(&self) -> bool {
        self.handshake.is_done()
    }
}
