//! Parts of a direction, by what changes together.

use super::again::Episode;
use super::bucket::Buckets;
use super::bursts::Bursts;
use super::delivered::Delivered;
use super::lateness::Lateness;
use super::sender::Answer;
use super::trains::Trains;
use crate::flow::ranges::Waited;
use crate::flow::rtt::Rtt;
use crate::read::Packet;
use std::collections::VecDeque;

/// SYN of a direction, and the options that it offers.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    pub isn: Option<u32>,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: bool,
    pub syn_time: Option<i64>,
    pub syns: u32,
}

impl Handshake {
    /// `packet` is a SYN; only the first one counts.
    pub(crate) fn syn(&mut self, packet: &Packet) {
        self.syns += 1;
        if self.isn.is_none() {
            self.isn = Some(packet.seq);
            self.syn_time = Some(packet.time);
            self.mss = packet.options.mss;
            self.window_scale = packet.options.window_scale;
            self.sack_permitted = packet.options.sack_permitted;
            self.timestamps = packet.options.timestamps.is_some();
        }
    }
}

/// The end of a direction.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    pub fin: bool,
    /// Offset behind its last byte, once its FIN was seen: the FIN takes a number of its own.
    pub stream_end: Option<u64>,
    pub reset: bool,
}

/// Round trips of the near part, the far part and the whole path.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    pub far: Rtt,
    pub near: Rtt,
    pub whole: Rtt,
    /// The near part as the handshake said it, where data came sooner behind the window that they need.
    pub near_said: Option<i64>,
    pub echo: VecDeque<(u32, i64)>,
    pub last_echo: Option<u32>,
}

/// Sender's knowledge and its actions. Acknowledgments count once they have reached it.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// Acknowledgments on their way to it.
    pub pending: VecDeque<Answer>,
    pub acked: u64,
    pub edge: u64,
    /// The window scale is known.
    pub knows_edge: bool,
    pub ack_time: i64,
    pub answer: Answer,
    pub last_new: Option<i64>,
    pub was_blocked: bool,
    pub was_closing: bool,
    pub window_max: u64,
    pub flight_recent: u64,
    /// Time since which there is a hole before the data that has arrived, and its duration since the newest segment.
    pub hole_since: Option<i64>,
    pub hole_time: i64,
}

/// The receiver's window.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    pub window_max: u64,
    pub window_min: Option<u64>,
    pub window: Option<u64>,
    pub zero_since: Option<i64>,
    /// The byte of a window probe, not acknowledged so far.
    pub probed: Option<u64>,
}

/// Data out of order, and causes of retransmissions.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub highest_sacked: u64,
    pub duplicates: u32,
    pub last_evidence: i64,
    pub last_advance: i64,
    pub timeout_until: u64,
    pub delivered: Delivered,
    pub last_blocks: [(u64, u64); 4],
}

/// Signs of the bottleneck: rates of trains, and what waited in front of it.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Samples of acknowledged data, and of segments as they pass here.
    pub ack_trains: Trains,
    pub data_trains: Trains,
    pub bursts: Bursts,
    pub buckets: Buckets,
    pub lateness: Lateness,
    pub last_waited: Waited,
    /// The least time that a rate may be known by, in ns.
    pub clear: i64,
}

/// Episodes of retransmissions.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    pub episodes: Vec<Episode>,
    /// Round trips of episodes show the queue that lost something, and not an earlier one.
    pub is_exact: bool,
    /// Episodes that were not kept.
    pub forgotten: u64,
    pub last_end: u64,
    pub run: u32,
    /// The newest round trip when the newest hole appeared.
    pub rtt_at_hole: i64,
}
