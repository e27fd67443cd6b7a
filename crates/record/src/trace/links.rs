//! Records of links, the same for every backend.

use longfat_core::atm::port;
use longfat_core::link::Link;
use longfat_core::queue::DropReason;
use longfat_core::time::{Duration, Time};

use super::{CellRecord, LinkRecord, LinkSample, QUANTILES};

/// Totals of a link at some instant, besides its own counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkTotals {
    /// Packets offered to the queue.
    pub packets_in: u64,
    /// Packets that left the queue.
    pub transmitted: u64,
    /// Packets dropped by the queue or the link, for whatever reason.
    pub dropped: u64,
    /// Packets that an ACK filter removed; `dropped` has them as well.
    pub filtered: u64,
    /// Time for which it has been busy.
    pub busy: Duration,
    /// Integrals over time of packets and bytes queued, in ps.
    pub waited: (u128, u128),
    /// Quantiles [`QUANTILES`] of the waits of its packets, if it is a bottleneck.
    pub waits: Option<[Duration; 3]>,
    /// Cells at its output port, if it comes from a switch.
    pub cells: Option<CellTotals>,
}

/// Cells at the output port in front of a link, by some instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct CellTotals {
    /// Counts of the port: cells by what it did to them.
    pub count: port::Count,
    /// Cells that have left.
    pub transmitted: u64,
}

/// Mean over `span` of a quantity whose integrals over time, in ps, were these at its ends.
pub(crate) fn mean(span: Duration, from: u128, to: u128) -> f64 {
    if span.is_zero() { 0.0 } else { to.saturating_sub(from) as f64 / span.as_ps() as f64 }
}

impl CellRecord {
    /// Returns the record over a run that ended with the totals `end`, and a measured span that began and ended with `from` and `to`.
    #[must_use]
    pub fn of(end: &CellTotals, from: &CellTotals, to: &CellTotals) -> Self {
        CellRecord {
            total: end.count,
            transmitted: end.transmitted,
            in_span: to.count.since(&from.count),
            transmitted_in_span: to.transmitted.saturating_sub(from.transmitted),
        }
    }
}

impl LinkTotals {
    /// Returns the totals of `link`, which has been advanced to `time`.
    #[must_use]
    pub fn of(link: &Link, time: Time) -> Self {
        let count = &link.count;
        LinkTotals {
            packets_in: count.packets_in,
            transmitted: link.carried().transmitted,
            dropped: count.drops.iter().sum(),
            filtered: count.drops[DropReason::AckFilter as usize],
            busy: link.busy(time),
            waited: link.waited(time),
            waits: link.waits(QUANTILES),
            cells: None,
        }
    }
}

impl LinkSample {
    /// Returns a sample of `link`, which is the experiment's link `number` and has been advanced to `time`.
    #[must_use]
    pub fn of(number: usize, link: &Link, time: Time) -> Self {
        let count = &link.count;
        LinkSample {
            time,
            link: number as u32,
            backlog_packets: count.backlog,
            backlog_bytes: count.backlog_bytes,
            wire_bytes: link.carried().wire_bytes,
            drops: count.drops.iter().sum(),
            marks: count.marks,
        }
    }
}

impl LinkRecord {
    /// Returns the record of `link`, over a measured span that took `span` and began and ended with these totals. It has no name yet.
    #[must_use]
    pub fn of(link: &Link, span: Duration, from: &LinkTotals, to: &LinkTotals) -> Self {
        let (count, carried) = (&link.count, link.carried());
        LinkRecord {
            name: String::new(),
            packets_in: count.packets_in,
            packets_transmitted: carried.transmitted,
            packets_in_in_span: to.packets_in.saturating_sub(from.packets_in),
            packets_transmitted_in_span: to.transmitted.saturating_sub(from.transmitted),
            packets_dropped_in_span: to.dropped.saturating_sub(from.dropped),
            packets_filtered_in_span: to.filtered.saturating_sub(from.filtered),
            packets_delivered: count.delivered,
            packets_lost: count.lost,
            packets_queued: count.backlog,
            packets_in_flight: link.in_flight(),
            ip_bytes: carried.ip_bytes,
            wire_bytes: carried.wire_bytes,
            busy_s: to.busy.saturating_sub(from.busy).as_secs_f64(),
            drops: DropReason::ALL.iter().copied().zip(count.drops).filter(|(_, n)| *n > 0).collect(),
            marks: count.marks,
            pauses: count.pauses,
            held_s: Duration::from_ps(count.held_ps).as_secs_f64(),
            queue_max_packets: count.backlog_max,
            queue_max_bytes: count.backlog_bytes_max,
            queue_mean_packets: mean(span, from.waited.0, to.waited.0),
            queue_mean_bytes: mean(span, from.waited.1, to.waited.1),
            wait_quantiles_s: to.waits.map_or([f64::NAN; 3], |of| of.map(Duration::as_secs_f64)),
            cells: None,
        }
    }
}
