//! Counters of Linux's `tcp_info` that the endpoint does not need. They are kept beside it, from the segments that arrive and leave.

use longfat_core::packet::{Segment, flags};
use longfat_core::time::{Duration, Time};
use longfat_tcp::Connection;

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counters {
    /// Segments received and sent (RFC 4898: SegsIn, SegsOut), and received segments with data.
    pub segs_in: u64,
    pub segs_out: u64,
    pub data_segs_in: u64,
    /// Timeouts since the left edge last moved.
    pub retransmits: u64,
    pub last_data_sent: Option<Time>,
    pub last_data_recv: Option<Time>,
    pub last_ack_recv: Option<Time>,
    /// Time with data to send, or to be acknowledged.
    busy: Duration,
    busy_since: Option<Time>,
    /// Timeouts and unacknowledged bytes at the last look.
    timeouts: u64,
    unacked: u64,
}

impl Counters {
    pub(crate) fn came(&mut self, now: Time, segment: &Segment) {
        self.segs_in += 1;
        if segment.len > 0 {
            self.data_segs_in += 1;
            self.last_data_recv = Some(now);
        }
        if segment.has(flags::ACK) {
            self.last_ack_recv = Some(now);
        }
    }

    pub(crate) fn went(&mut self, now: Time, segment: &Segment) {
        self.segs_out += 1;
        if segment.len > 0 {
            self.last_data_sent = Some(now);
        }
    }

    /// Takes in an event of `connection`, if there was one.
    pub(crate) fn follow(&mut self, now: Time, connection: &Connection) {
        let (unacked, _) = connection.unacked();
        let timeouts = connection.stats().timeouts;
        self.retransmits = if unacked < self.unacked { 0 } else { self.retransmits } + timeouts.saturating_sub(self.timeouts);
        (self.timeouts, self.unacked) = (timeouts, unacked);
        match (self.busy_since, unacked > 0) {
            (None, true) => self.busy_since = Some(now),
            (Some(since), false) => {
                self.busy += now.since(since);
                self.busy_since = None;
            }
            _ => {}
        }
    }

    pub(crate) fn busy(&self, now: Time) -> Duration {
        self.busy + self.busy_since.map_or(Duration::ZERO, |since| now.since(since))
    }
}
