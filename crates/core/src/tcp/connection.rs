//! One end of a TCP connection.

use crate::packet::{Ecn, Segment};
use crate::tcp::TcpConfig;
use crate::time::{Duration, Time};

/// One end of a TCP connection. Time enters only through `now`; it never runs backwards.
#[derive(Debug)]
pub struct Connection {}

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
    pub duplicates_received: u64,
    pub rtt_min: Duration,
    pub rtt_sum: Duration,
    pub rtt_max: Duration,
    pub rtt_samples: u64,
    pub in_flight_max: u64,
    pub checksum_failures: u64,
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
}

#[allow(unused_variables)]
impl Connection {
    /// The side that opens: its first segment is a SYN with sequence number `iss`. `phase` shifts its free-running
    /// clocks (slow timer, delayed-ACK heartbeat, timestamps) against time zero.
    pub fn connect(config: TcpConfig, iss: u32, phase: Duration) -> Self {
        todo!()
    }
    /// The side that waits for a SYN.
    pub fn listen(config: TcpConfig, iss: u32, phase: Duration) -> Self {
        todo!()
    }
    /// The application has `bytes` more to send; the send buffer takes them as it can. Saturates: `u64::MAX` is "without end".
    pub fn write(&mut self, now: Time, bytes: u64) {
        todo!()
    }
    /// Nothing more will be written: a FIN follows the last byte.
    pub fn close(&mut self, now: Time) {
        todo!()
    }
    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        todo!()
    }
    /// The time that `poll_timeout` named has come (calling it early does no harm).
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }
    /// The next segment to send, if any may go now. Call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        todo!()
    }
    /// When `handle_timeout` is wanted.
    pub fn poll_timeout(&self) -> Option<Time> {
        todo!()
    }
    /// State, for sampling.
    pub fn info(&self) -> TcpInfo {
        todo!()
    }
    /// Totals so far.
    pub fn stats(&self) -> &Stats {
        todo!()
    }
    /// In-order bytes given to the application here.
    pub fn bytes_delivered(&self) -> u64 {
        todo!()
    }
    /// Whether the other side has closed and every byte before it was delivered here.
    pub fn end_of_stream(&self) -> bool {
        todo!()
    }
    /// Whether everything written here, and the FIN if closed, has been acknowledged.
    pub fn all_acked(&self) -> bool {
        todo!()
    }
    /// Whether the handshake is done.
    pub fn is_established(&self) -> bool {
        todo!()
    }
}
