//! Counts of a flow at an instant. Every backend makes its records of flows from them, here.

use longfat_core::quantiles::Quantiles;
use longfat_core::time::{Duration, Time};
use longfat_tcp::LimitedBy;

use super::{FlowRecord, QUANTILES, RttRecord};
use longfat_model::Flow;

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

impl FlowCounts {
    /// Counts since `before`, 0 where a count fell: one that a kernel was asked for may, when a peer reneges.
    #[must_use]
    pub fn since(&self, before: &FlowCounts) -> FlowCounts {
        FlowCounts {
            delivered: self.delivered.saturating_sub(before.delivered),
            arrived: self.arrived.saturating_sub(before.arrived),
            duplicate: self.duplicate.saturating_sub(before.duplicate),
            sent: self.sent.saturating_sub(before.sent),
            retransmitted: self.retransmitted.saturating_sub(before.retransmitted),
            segments_sent: self.segments_sent.saturating_sub(before.segments_sent),
            segments_retransmitted: self.segments_retransmitted.saturating_sub(before.segments_retransmitted),
            packets_dropped: self.packets_dropped.saturating_sub(before.packets_dropped),
            limited_s: std::array::from_fn(|i| self.limited_s[i] - before.limited_s[i]),
        }
    }
}

impl FlowRecord {
    /// This record of `flow` with its start and its counts: of the whole run, `end`; at the end of the warmup, `None` if the run ended before; and at the
    /// ends of the measured span.
    #[must_use]
    pub fn counted(self, flow: &Flow, end: &FlowCounts, at_warmup: Option<&FlowCounts>, span: (&FlowCounts, &FlowCounts)) -> Self {
        let at_warmup = if flow.is_measured_whole() { FlowCounts::default() } else { *at_warmup.unwrap_or(end) };
        FlowRecord {
            start: Time::ZERO + flow.start,
            total: *end,
            at_warmup,
            bytes_arrived_in_span: span.1.arrived.saturating_sub(span.0.arrived),
            bytes_duplicate_in_span: span.1.duplicate.saturating_sub(span.0.duplicate),
            ..self
        }
    }

    /// This record with the round trips `trips`, since the flow has been measured, and the least of the whole run.
    #[must_use]
    pub fn with_round_trips(self, trips: Option<&Quantiles>, least: Option<Duration>) -> Self {
        let quantiles = trips.and_then(|trips| Some((trips, trips.at(QUANTILES, 0)?)));
        // The middle of a bin may lie beyond all that is in it.
        let within = |trips: &Quantiles, rtt: Duration| rtt.clamp(least.unwrap_or_default().min(trips.max()), trips.max()).as_secs_f64();
        let rtt = RttRecord {
            min_s: least.map_or(f64::NAN, Duration::as_secs_f64),
            mean_s: quantiles.map_or(f64::NAN, |(trips, _)| trips.mean_s()),
            max_s: quantiles.map_or(f64::NAN, |(trips, _)| trips.max().as_secs_f64()),
            quantiles_s: quantiles.map_or([f64::NAN; 3], |(trips, of)| of.map(|rtt| within(trips, rtt))),
            ..self.rtt
        };
        FlowRecord { rtt, ..self }
    }

    /// Counts since the flow has been measured: since the warmup, or the whole run of a flow with a volume.
    #[must_use]
    pub fn measured(&self) -> FlowCounts {
        self.total.since(&self.at_warmup)
    }
}
