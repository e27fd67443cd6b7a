//! What a run records: counters of each flow and link, time series, events. Backends fill it; metrics and results read it.
//!
//! [`columns`] says what each value is called in results, in which unit, and how it is stored.

pub mod columns;
mod counts;
mod links;
mod packet_log;
mod packets;
mod series;
#[cfg(test)]
mod tests;

pub use counts::FlowCounts;
pub(crate) use links::mean;
pub use links::{CellTotals, LinkTotals};
pub use packet_log::{Offsets, PacketLog, PacketPlace};
pub use packets::{PacketEvent, PacketKind};
#[cfg(test)]
pub(crate) use series::tests::with_rows_in_memory;
pub use series::{Recorded, Sample, Series, Spill};

use std::sync::Arc;

use longfat_core::atm::port;
use longfat_core::queue::DropReason;
use longfat_core::time::Time;
use longfat_tcp::LimitedBy;

/// The quantiles of delays that are recorded.
pub const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Everything one run leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// One record a flow, in the order of [`longfat_model::Experiment::flows`].
    pub flows: Vec<FlowRecord>,
    /// One record a one-way link, in the order of the network's links.
    pub links: Vec<LinkRecord>,
    /// One record a host of which something is said, in the order of [`longfat_model::Experiment::hosts`].
    pub hosts: Vec<HostRecord>,
    /// Samples of flows, in order of time, then flow.
    pub flow_series: Series<FlowSample>,
    /// Samples of links, in order of time, then link.
    pub link_series: Series<LinkSample>,
    /// Events, in order of time.
    pub events: Vec<Event>,
    /// What happened to packets, in order of time; those of one instant by kind, then by place.
    pub packets: Vec<PacketEvent>,
    /// Senders as each of their ACKs finds them, in order of time, then flow.
    pub acks: Vec<AckSample>,
    /// When the run ended, in virtual time.
    pub end: Time,
    /// The measured span: from the end of the warmup (or the first start of a measured flow, if that is later) to the
    /// last delivery of a measured flow (or the end of the run). Measured flows are the ttcp flows, or all if there is none.
    pub span: (Time, Time),
    /// The most packets that were kept at once, in queues and on wires: what the run cost in memory. (How far the parts of a network are
    /// ahead of each other has a share in it, so it is no result.)
    pub packets_in_network_max: u64,
    /// What the run cost in work: what happened at endpoints, and turns that the parts of the network had.
    pub steps: u64,
    /// How far it can be trusted, where it ran in real time.
    pub real_time: Option<RealTime>,
}

impl Trace {
    /// Without anything; series that outgrow memory go to `spill`.
    pub fn spilling(spill: Option<Arc<dyn Spill>>) -> Self {
        Trace { flow_series: Series::with_spill(spill.clone()), link_series: Series::with_spill(spill), ..Trace::default() }
    }
}

/// What can spoil a run in real time, as measured while it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RealTime {
    /// How much later than its time a packet was handed over to its host: the shares [`LATE`] of all were no later.
    pub late: [Time; 3],
    /// The latest.
    pub late_max: Time,
    /// How much later than it was sent a packet can have come to its first link: the shares [`LATE`] of all no later.
    pub unseen: [Time; 3],
    /// Packets handed over.
    pub handed_over: u64,
    /// Packets lost between a host and the emulated network, either way.
    pub lost_at_device: u64,
    /// Packets lost in the input queues of the kernel's cores.
    pub lost_at_input: u64,
    /// Packets that a socket or a connection had no room for.
    pub lost_at_socket: u64,
    /// How long the emulator's thread, and that of the endpoints, waited for a core that something else had.
    pub emulator_waited: Time,
    /// The same of the endpoints.
    pub endpoints_waited: Time,
    /// Time of its cores that the machine itself did not get, where it is a virtual one (`steal` of `/proc/stat`).
    pub stolen: Time,
    /// By how much the clock of the run was corrected while it ran, forward or back.
    pub clock_corrected: Time,
    /// The most memory that TCP had on the whole machine while it ran, in bytes; and from which on the kernel keeps windows small (`net.ipv4.tcp_mem`).
    pub tcp_memory_max: u64,
    /// Zero where the kernel does not say.
    pub tcp_memory_pressure: u64,
}

/// The shares of packets of which lateness is recorded.
pub const LATE: [f64; 3] = [0.5, 0.99, 0.999];

/// What one flow did over the whole run. Byte counts are payload bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowRecord {
    /// When it begins.
    pub start: Time,
    /// When the handshake ended at the sender.
    pub established: Option<Time>,
    /// When the receiver's application had every byte and the end of the stream (`ttcp -r`).
    pub delivered_all: Option<Time>,
    /// When the sender knew all of it to be acknowledged (`ttcp -t` after close).
    pub acked_all: Option<Time>,
    /// When one end gave the connection up, since nothing answered.
    pub gave_up: Option<Time>,
    /// In-order bytes given to the receiving application.
    pub bytes_delivered: u64,
    /// Payload bytes that arrived for the first time, in order or not, read or not.
    pub bytes_arrived: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments sent again.
    pub segments_retransmitted: u64,
    /// Segments without data that the receiver sent.
    pub acks_sent: u64,
    /// Of those, and of the data that came back, the packets that reached the sender since the SYN was answered.
    pub acks_received: u64,
    /// How often it entered fast recovery.
    pub fast_retransmits: u64,
    /// How often the retransmission timer expired.
    pub timeouts: u64,
    /// Segments that found the transmit queue of their host full, and were taken as congestion.
    pub send_stalls: u64,
    /// Data segments that arrived and held nothing new.
    pub duplicates_received: u64,
    /// Payload bytes that arrived again.
    pub bytes_duplicate: u64,
    /// The counts by the end of the warmup, which rates leave out; all zero of a flow with a volume, which is measured whole.
    pub at_warmup: FlowCounts,
    /// Payload bytes that arrived within the measured span for the first time, in order or not.
    pub bytes_arrived_in_span: u64,
    /// Payload bytes that arrived again within the measured span.
    pub bytes_duplicate_in_span: u64,
    /// Packets of this flow (both ways) that a queue or link dropped.
    pub packets_dropped: u64,
    /// Least RTT sample of the whole run, in seconds; NaN without one.
    pub rtt_min_s: f64,
    /// Mean of the RTT samples since the flow was measured (see `at_warmup`), in seconds; NaN without one.
    pub rtt_mean_s: f64,
    /// The greatest of them, in seconds.
    pub rtt_max_s: f64,
    /// The quantiles [`QUANTILES`] of them, in seconds, within 1/128.
    pub rtt_quantiles_s: [f64; 3],
    /// Their standard deviation; only of a probe, NaN for TCP.
    pub rtt_deviation_s: f64,
    /// Packets that arrived at the receiving end.
    pub packets_delivered: u64,
    /// The most bytes in flight at once.
    pub in_flight_max: u64,
    /// Seconds for which each limit, in the order of [`LimitedBy::ALL`], kept it from sending more that was written; NaN of what is not TCP.
    pub limited_s: [f64; LimitedBy::ALL.len()],
    /// The congestion window when the run ended, in bytes; none where it was not recorded, and of what is not TCP.
    pub cwnd_end: Option<u64>,
    /// The slow start threshold then, in bytes; none: no bound.
    pub ssthresh_end: Option<u64>,
    /// 1 where the sender had found that the path spoils marks; none where it was not recorded.
    pub gave_up_ecn: Option<u64>,
    /// Whose program its sender's congestion control was.
    pub control_from: ControlFrom,
}

/// Whose program a congestion control was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ControlFrom {
    /// The simulator's; or there was no connection.
    #[default]
    Longfat,
    /// The kernel's own.
    Kernel,
    /// Our twin in BPF.
    Twin,
}

impl ControlFrom {
    /// Each in its place, as results have it.
    pub const ALL: [ControlFrom; 3] = [ControlFrom::Longfat, ControlFrom::Kernel, ControlFrom::Twin];
    /// Their words.
    pub const WORDS: [&'static str; 3] = ["", "kernel", "twin"];
}

/// What one one-way link did over the whole run, unless a field says otherwise. Checked at the end of every run:
/// `packets_in` = `packets_transmitted` + drops in the queue + `packets_queued`, and
/// `packets_transmitted` = `packets_delivered` + `packets_lost` + `packets_in_flight`.
///
/// From a switch, a packet counts as transmitted when all its cells passed, and what `queue_*` counts as packets is cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRecord {
    /// As in the network.
    pub name: String,
    /// That came to its queue.
    pub packets_in: u64,
    /// That left the queue.
    pub packets_transmitted: u64,
    /// Packets offered to the queue within the measured span.
    pub packets_in_in_span: u64,
    /// Packets that left the queue within the measured span.
    pub packets_transmitted_in_span: u64,
    /// Packets dropped by the queue or the link within the measured span, for whatever reason.
    pub packets_dropped_in_span: u64,
    /// Packets that an ACK filter removed within the measured span.
    pub packets_filtered_in_span: u64,
    /// That arrived at its far end.
    pub packets_delivered: u64,
    /// Lost on the wire.
    pub packets_lost: u64,
    /// At the end: in the queue, and on the wire or in transmission.
    pub packets_queued: u64,
    /// At the end: on the wire or in transmission.
    pub packets_in_flight: u64,
    /// IP bytes and framed bytes transmitted.
    pub ip_bytes: u64,
    /// Framed bytes transmitted.
    pub wire_bytes: u64,
    /// Seconds of the measured span in which the link was transmitting.
    pub busy_s: f64,
    /// Packets dropped, by reason; those that never happened are left out.
    pub drops: Vec<(DropReason, u64)>,
    /// Packets that its queue marked CE.
    pub marks: u64,
    /// PAUSE frames that came to its transmitter.
    pub pauses: u64,
    /// Seconds of the whole run in which a packet waited though the line was free: for the end of a PAUSE, or for its host's leaky bucket.
    pub held_s: f64,
    /// The most in the queue at once, the packet in transmission not counted.
    pub queue_max_packets: u64,
    /// The most bytes in the queue at once.
    pub queue_max_bytes: u64,
    /// Mean over the measured span.
    pub queue_mean_packets: f64,
    /// Mean over the measured span, in bytes.
    pub queue_mean_bytes: f64,
    /// The quantiles [`QUANTILES`] of the waits of packets in front of a bottleneck that left within the measured span, in seconds, within
    /// 1/128; NaN elsewhere, and behind a switch.
    pub wait_quantiles_s: [f64; 3],
    /// From a switch.
    pub cells: Option<CellRecord>,
}

impl LinkRecord {
    /// Packets that the line carried twice: what arrived, was lost or is on the wire more than was sent.
    pub fn packets_duplicated(&self) -> u64 {
        (self.packets_delivered + self.packets_lost + self.packets_in_flight).saturating_sub(self.packets_transmitted)
    }
}

/// What the output port in front of a link did to cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellRecord {
    /// Over the whole run.
    pub total: port::Count,
    /// Cells that have left, over the whole run.
    pub transmitted: u64,
    /// Over the measured span.
    pub in_span: port::Count,
    /// Cells that have left, over the measured span.
    pub transmitted_in_span: u64,
}

/// What one host did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRecord {
    /// Seconds of the measured span in which its processor was at work; NaN where it has none.
    pub cpu_busy_s: f64,
    /// Where its memory is bounded.
    pub memory: Option<MemoryRecord>,
}

/// What the connections of a host had of its memory, in payload bytes: means over the measured span, peaks over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryRecord {
    /// Advertised, and not yet filled in order.
    pub promised: Level,
    /// Held.
    pub buffered: Level,
    /// Set aside for nothing: written and not sent, or promised with nothing on its way to it.
    pub wasted: Level,
    /// Packets that came and found none left.
    pub drops: u64,
}

/// A quantity over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Over the measured span.
    pub mean: f64,
    /// Over the whole run.
    pub peak: u64,
}

/// The sender of a flow at the instant at which an ACK comes to it, before it is processed: what the tracepoint `tcp_probe` of Linux has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// When.
    pub time: Time,
    /// Which flow, by its number.
    pub flow: u32,
    /// Acknowledged so far, in bytes: SND.UNA as an offset of the stream, in which the FIN is one more byte.
    pub acked: u64,
    /// Up to which offset has been sent.
    pub sent: u64,
    /// Bytes.
    pub cwnd: u64,
    /// Bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Peer's window, bytes.
    pub rwnd: u64,
    /// The smoothed RTT, in seconds (RFC 6298).
    pub srtt_s: f64,
}

/// A flow at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowSample {
    /// When.
    pub time: Time,
    /// Which, by its number.
    pub flow: u32,
    /// Bytes.
    pub cwnd: u64,
    /// Bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Bytes sent and not yet known to have left the network.
    pub in_flight: u64,
    /// Peer's window, bytes.
    pub rwnd: u64,
    /// At the sender: bytes of send buffer in use, and how large it is.
    pub send_buffered: u64,
    /// How large the send buffer is, in bytes.
    pub send_buffer: u64,
    /// At the receiver: bytes that wait, for the application or behind a gap; and bytes advertised beyond what is in order.
    pub receive_buffered: u64,
    /// Bytes advertised beyond what is in order.
    pub promised: u64,
    /// The smoothed RTT, in seconds (RFC 6298).
    pub srtt_s: f64,
    /// The retransmission timeout, in seconds.
    pub rto_s: f64,
    /// Payload bytes given to the application so far.
    pub bytes_delivered: u64,
    /// Payload bytes that have arrived for the first time so far, in order or not.
    pub bytes_arrived: u64,
    /// Payload bytes retransmitted so far.
    pub bytes_retransmitted: u64,
}

/// A link at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSample {
    /// When.
    pub time: Time,
    /// Which, by its number.
    pub link: u32,
    /// Packets in the queue.
    pub backlog_packets: u64,
    /// Bytes in the queue.
    pub backlog_bytes: u64,
    /// Totals so far.
    pub wire_bytes: u64,
    /// Packets dropped so far.
    pub drops: u64,
    /// Packets marked CE so far.
    pub marks: u64,
}

/// Something worth a mark on a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Event {
    /// When.
    pub time: Time,
    /// What happened.
    pub kind: EventKind,
    /// To which flow, by its number.
    pub flow: u32,
    /// The link, for drops and marks.
    pub link: Option<u32>,
    /// Sequence offset from the start of the stream, where there is one.
    pub seq: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A packet was dropped.
    Dropped(DropReason),
    /// A packet was marked CE.
    #[default]
    Marked,
    /// A sender entered fast recovery.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// All that was outstanding when recovery began has been acknowledged.
    RecoveryEnd,
    /// What looked like a loss was none, and the reduction is taken back.
    RecoveryUndone,
    /// An end gave the connection up, since nothing answered.
    GaveUp,
}

impl EventKind {
    /// Every kind but the drops, with its word in results and what it means.
    const OTHERS: [(EventKind, &'static str, &'static str); 6] = [
        (EventKind::Marked, "marked", "a packet was marked CE instead of dropped"),
        (EventKind::FastRetransmit, "fast_retransmit", "a sender entered fast recovery"),
        (EventKind::Timeout, "timeout", "the retransmission timer expired"),
        (EventKind::RecoveryEnd, "recovery_end", "all that was outstanding when recovery began has been acknowledged"),
        (EventKind::RecoveryUndone, "recovery_undone", "what looked like a loss was none, and the reduction was taken back"),
        (EventKind::GaveUp, "gave_up", "an end gave the connection up, since nothing answered"),
    ];

    /// Every kind: a drop for each reason and the others, each in its place, so that what came later stands behind them.
    pub fn all() -> impl Iterator<Item = EventKind> {
        let (first, later) = DropReason::ALL.split_at(DropReason::AckFilter as usize);
        let drops = |reasons: &'static [DropReason]| reasons.iter().map(|reason| EventKind::Dropped(*reason));
        drops(first).chain(Self::OTHERS.iter().map(|(kind, ..)| *kind)).chain(drops(later))
    }
    /// Its word in results.
    pub fn word(self) -> &'static str {
        if let EventKind::Dropped(reason) = self { reason.event() } else { self.other().1 }
    }
    /// What happened, in one line.
    pub fn summary(self) -> &'static str {
        if let EventKind::Dropped(reason) = self { reason.summary() } else { self.other().2 }
    }
    fn other(self) -> &'static (EventKind, &'static str, &'static str) {
        Self::OTHERS.iter().find(|(kind, ..)| *kind == self).expect("every kind is listed")
    }
}
