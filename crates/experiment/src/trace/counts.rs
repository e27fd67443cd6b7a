//! What a flow has done by some instant: the one place where records of flows over a span are made, for every backend.

use longfat_tcp::LimitedBy;

use super::FlowRecord;

/// Totals of one flow, in payload bytes unless a field says otherwise. A measurement over a span is the difference of two of these.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowCounts {
    /// In-order bytes given to the receiving application.
    pub delivered: u64,
    /// Bytes that arrived for the first time, in order or not, read or not.
    pub arrived: u64,
    /// Bytes that arrived again.
    pub duplicate: u64,
    /// Bytes sent, retransmissions included.
    pub sent: u64,
    /// Bytes retransmitted.
    pub retransmitted: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments retransmitted.
    pub segments_retransmitted: u64,
    /// Packets of the flow, in both directions, that a queue or link dropped.
    pub packets_dropped: u64,
    /// Seconds for which each limit, in the order of [`LimitedBy::ALL`], held the sender back. NaN of what is not TCP.
    pub limited_s: [f64; LimitedBy::ALL.len()],
}

impl FlowRecord {
    /// This record with the counts of the whole run, `end`, of the time before the flow was measured, `at_warmup`, and of the measured
    /// span, which began and ended with the counts of `span`. A run may end before its span begins.
    #[must_use]
    pub fn counted(self, end: &FlowCounts, at_warmup: &FlowCounts, span: (&FlowCounts, &FlowCounts)) -> Self {
        FlowRecord {
            bytes_delivered: end.delivered,
            bytes_arrived: end.arrived,
            bytes_duplicate: end.duplicate,
            bytes_sent: end.sent,
            bytes_retransmitted: end.retransmitted,
            segments_sent: end.segments_sent,
            segments_retransmitted: end.segments_retransmitted,
            packets_dropped: end.packets_dropped,
            limited_s: end.limited_s,
            at_warmup: *at_warmup,
            bytes_arrived_in_span: span.1.arrived.saturating_sub(span.0.arrived),
            bytes_duplicate_in_span: span.1.duplicate.saturating_sub(span.0.duplicate),
            ..self
        }
    }

    /// The counts since the flow has been measured: since the warmup, or the whole run of a flow with a volume.
    #[must_use]
    pub fn measured(&self) -> FlowCounts {
        let before = &self.at_warmup;
        FlowCounts {
            delivered: self.bytes_delivered - before.delivered,
            arrived: self.bytes_arrived - before.arrived,
            duplicate: self.bytes_duplicate - before.duplicate,
            sent: self.bytes_sent - before.sent,
            retransmitted: self.bytes_retransmitted - before.retransmitted,
            segments_sent: self.segments_sent - before.segments_sent,
            segments_retransmitted: self.segments_retransmitted - before.segments_retransmitted,
            packets_dropped: self.packets_dropped - before.packets_dropped,
            limited_s: std::array::from_fn(|i| self.limited_s[i] - before.limited_s[i]),
        }
    }
}
