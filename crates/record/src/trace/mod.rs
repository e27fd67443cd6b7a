//! Records of a run: counters of each flow and link, time series, events. Backends fill it; metrics and results read it.
//!
//! [`columns`] says what each value is called in results, in which unit, and how it is stored.

mod cause;
pub mod columns;
mod counts;
pub mod host;
mod links;
mod packet_log;
mod packets;
mod series;
pub mod tcp_info;
#[cfg(test)]
mod tests;

pub use cause::Cause;
pub use counts::FlowCounts;
pub use host::HostSample;
pub(crate) use links::mean;
pub use links::{CellTotals, LinkTotals};
pub use packet_log::{Offsets, PacketLog, PacketPlace};
pub use packets::{PacketEvent, PacketKind};
#[cfg(test)]
pub(crate) use series::tests::with_rows_in_memory;
pub use series::{Recorded, Sample, Series, Spill};
pub use tcp_info::InfoSample;

use core::net::Ipv6Addr;
use std::sync::Arc;

use longfat_core::atm::port;
use longfat_core::queue::DropReason;
use longfat_core::time::Time;

/// The quantiles of delays that are recorded.
pub const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Everything one run leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// One record per flow, in the order of [`longfat_model::Experiment::flows`].
    pub flows: Vec<FlowRecord>,
    /// One record per one-way link, in the order of the network's links.
    pub links: Vec<LinkRecord>,
    /// One record per host that the experiment describes, in the order of [`longfat_model::Experiment::hosts`].
    pub hosts: Vec<HostRecord>,
    /// Samples of flows, in order of time, then flow.
    pub flow_series: Series<FlowSample>,
    /// Samples of links, in order of time, then link.
    pub link_series: Series<LinkSample>,
    /// Events, in order of time.
    pub events: Vec<Event>,
    /// Events of packets, in order of time; those of one instant by kind, then by place.
    pub packets: Vec<PacketEvent>,
    /// Senders as each of their ACKs finds them, in order of time, then flow.
    pub acks: Vec<AckSample>,
    /// `TCP_INFO` of both ends of each flow between real hosts, in order of time.
    pub tcp_info: Vec<InfoSample>,
    /// Probes between real hosts: all those to the far host, then those from it, each in order of their numbers.
    pub probes: Vec<ProbeSample>,
    /// Datagrams of flows over UDP between real hosts, the first ones of each.
    pub datagrams: Vec<DatagramSample>,
    /// Routers on the way to the far host: those before the run, then those of each flow, then those after the run, each in order of their TTL.
    pub hops: Vec<HopSample>,
    /// Counters of the real hosts between which a run took place, in order of time.
    pub host_series: Vec<HostSample>,
    /// End of the run, in virtual time.
    pub end: Time,
    /// The measured span: from the end of the warmup (or the first start of a measured flow, if that is later) to the
    /// last delivery of a measured flow (or the end of the run). Measured flows are the ttcp flows, or all if there is none.
    pub span: (Time, Time),
    /// Most packets kept at once, in queues and on wires: the cost of the run in memory. (It depends on how far the parts of a network are
    /// ahead of each other, so it is no result.)
    pub packets_in_network_max: u64,
    /// Work of the run: events at endpoints, and turns of the parts of the network.
    pub steps: u64,
    /// Measurements of how far the run can be trusted, if it ran in real time.
    pub real_time: Option<RealTime>,
}

impl Trace {
    /// Returns an empty trace, whose series go to `spill` when they outgrow memory.
    pub fn spilling(spill: Option<Arc<dyn Spill>>) -> Self {
        Trace { flow_series: Series::with_spill(spill.clone()), link_series: Series::with_spill(spill), ..Trace::default() }
    }
}

/// Disturbances of a run in real time, as measured while it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RealTime {
    /// Lateness of packets when handed over to their host, at the shares [`LATE`] of all packets.
    pub late: [Time; 3],
    /// Greatest lateness of all packets.
    pub late_max: Time,
    /// Time between a packet's sending and its arrival at its first link, at most: at the shares [`LATE`] of all packets.
    pub unseen: [Time; 3],
    /// Packets handed over.
    pub handed_over: u64,
    /// Packets lost between a host and the emulated network, in either direction.
    pub lost_at_device: u64,
    /// Packets lost in the input queues of the kernel's cores.
    pub lost_at_input: u64,
    /// Packets that a socket or a connection had no room for.
    pub lost_at_socket: u64,
    /// Time for which the emulator's thread waited for a core that another thread had.
    pub emulator_waited: Time,
    /// Time for which threads of the endpoints waited for a core that another thread had.
    pub endpoints_waited: Time,
    /// Time of its cores that the machine itself did not get, if it is a virtual one (`steal` of `/proc/stat`).
    pub stolen: Time,
    /// Correction of the run's clock while it ran, forward or back.
    pub clock_corrected: Time,
    /// Most memory that TCP had on the whole machine while the run lasted, in bytes.
    pub tcp_memory_max: u64,
    /// Memory in bytes above which the kernel keeps windows small (`net.ipv4.tcp_mem`); zero where the kernel does not say.
    pub tcp_memory_pressure: u64,
    /// Between real hosts: round-trip time of a connection's handshake before and after the run, the least of some; zero where none came.
    pub base_rtt: [Time; 2],
    /// Between real hosts: bound that the server sets to the rate of all flows together, in bit/s of payload; zero: none.
    pub rate_limit: u64,
    /// Between real hosts: time of the run in which another session ran at the far host.
    pub beside: Time,
    /// Reason why the run ended before its end: one of [`cut`]; zero: it did not.
    pub cut_by: u64,
    /// Between real hosts: probes from the near host to the far one, and back.
    pub probes: [ProbeRecord; 2],
    /// Between real hosts: what the far host's clock gains on the near one's, and what it loses, in parts per billion; one of them is zero.
    pub clock_skew: [u64; 2],
    /// Between real hosts: steps of the difference of the clocks, as the probes show them.
    pub clock_steps: u64,
    /// Between real hosts: probes that arrived, and that the kernel of an end did not stamp.
    pub probes_unstamped: u64,
    /// Between real hosts: the path before the run and after it.
    pub surveys: [SurveyRecord; 2],
    /// Between real hosts: least delay of probes to the far host and from it, by wall clocks that are synchronised; known where the error is.
    pub one_way: [Time; 2],
    /// Between real hosts: error of these delays as the hosts estimate it, and its bound; zero: the clocks are not synchronised.
    pub one_way_error: [Time; 2],
    /// Between real hosts: ports of the near host's control connection and of its probes as the far host sees them, where NAT changed them or the
    /// address; zero: it did not.
    pub nat: [u64; 2],
    /// Between real hosts: seconds from the begin of 1970 (UTC) to that of the run, by the near host's clock.
    pub begun_unix_s: u64,
    /// Between real hosts: captures at the near host and at the far one.
    pub captures: [Seen; 2],
}

/// Capture of the packets of TCP flows at a real host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Outcome: one of the constants below.
    pub outcome: u64,
    /// Packets captured.
    pub packets: u64,
    /// Packets that the capture had no room for.
    pub lost: u64,
    /// Captured packets that are judged, and not kept.
    pub left_out: u64,
}

impl Seen {
    /// The run asked for no capture.
    pub const NOT_ASKED: u64 = 0;
    /// The host captured.
    pub const CAPTURED: u64 = 1;
    /// The process lacks `CAP_NET_RAW`.
    pub const NO_RIGHT: u64 = 2;
    /// The server does not let this client ask for a capture.
    pub const NOT_ALLOWED: u64 = 3;
    /// The system refused it, or the far host was lost.
    pub const FAILED: u64 = 4;
}

/// Reasons why a run between real hosts ended before its end.
pub mod cut {
    /// The user stopped it.
    pub const USER: u64 = 1;
    /// The far host or the path was lost. Samples of the far end are missing.
    pub const LOST: u64 = 2;
    /// The server ended it, by a limit of its own.
    pub const SERVER: u64 = 3;
}

/// View of an idle path. Zero: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurveyRecord {
    /// Least and greatest of some round trips, without the time at the far host.
    pub rtt: [Time; 2],
    /// Bytes of the largest packet that comes through unfragmented: to the far host, and from it.
    pub mtu: [u64; 2],
    /// Links on the way to the far host, and from it: one more than there are routers.
    pub links: [u64; 2],
}

/// Router on the way to the far host, by the time exceeded of its TTL.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HopSample {
    /// False: asked before the run; true: after it.
    pub is_after: bool,
    /// TCP flow whose addresses and ports the question had; [`columns::NONE`]: those of the survey.
    pub flow: u64,
    /// TTL that ends there, from 1.
    pub ttl: u32,
    /// Address as IPv6, high bits and low ones; one of IPv4 as `::ffff:a.b.c.d` (RFC 4291 section 2.5.5.2). Zero: it stayed silent.
    pub address: [u64; 2],
    /// Round trip to it; NaN of a silent one.
    pub rtt_s: f64,
}

impl HopSample {
    /// Returns the address as it is written; `None`: the router stayed silent.
    pub fn named(&self) -> Option<String> {
        let [high, low] = self.address.map(u128::from);
        let address = Ipv6Addr::from_bits(high << 64 | low);
        (!address.is_unspecified()).then(|| address.to_canonical().to_string())
    }
}

/// One probe between real hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProbeSample {
    /// Time at which it was due, in seconds since the flows begin, on the near host's clock; negative before them.
    pub time_s: f64,
    /// True of a probe from the far host.
    pub is_down: bool,
    /// Number among those of its direction, from 0.
    pub number: u32,
    /// Seconds from when it was due until it left its sender.
    pub timer_error_s: f64,
    /// Seconds that it waited in queues; NaN of one that did not arrive, and where the clocks do not tell.
    pub queue_delay_s: f64,
    /// 1 if it arrived; [`columns::NONE`]: only the far host knows, which was lost.
    pub arrived: u64,
    /// 1 if the kernel of an end did not stamp it: the time at which a thread called the kernel stands for that.
    pub unstamped: u64,
}

/// One datagram of a flow over UDP between real hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatagramSample {
    /// Time at which it was due, in seconds since the flows begin, on the near host's clock.
    pub time_s: f64,
    /// Number of the flow.
    pub flow: u32,
    /// Number among those of the flow that left, from 0.
    pub number: u32,
    /// Seconds from when it was due until it left its sender.
    pub timer_error_s: f64,
    /// Seconds since the flows began at which it left, on its sender's clock.
    pub sent_s: f64,
    /// Seconds since the flows began at which it arrived, on its receiver's clock; NaN: it did not.
    pub arrived_s: f64,
    /// 1 if the kernel of an end did not stamp it: the time at which a thread called the kernel stands for that.
    pub unstamped: u64,
}

/// Record of the probes of one direction. Where a count is zero, its quantiles say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeRecord {
    /// Probes sent, up to the last that arrived.
    pub sent: u64,
    /// Probes that arrived; 0: there were none, or none came through.
    pub arrived: u64,
    /// Probes sent before the flows began whose wait is known.
    pub idle_count: u64,
    /// Their queueing delay: median, and 95 of 100.
    pub idle: [Time; 2],
    /// Probes sent in the measured span whose wait is known.
    pub loaded_count: u64,
    /// Their queueing delay: median, 95 and 99 of 100.
    pub loaded: [Time; 3],
    /// Time from when a probe was due until it left its sender, of all sent: median, and 99 of 100.
    pub timer_error: [Time; 2],
}

/// Shares of packets at which lateness is recorded.
pub const LATE: [f64; 3] = [0.5, 0.99, 0.999];

/// Record of one flow over the whole run. Byte counts are payload bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowRecord {
    /// Start of the flow.
    pub start: Time,
    /// End of the handshake at the sender.
    pub established: Option<Time>,
    /// Time when the receiver's application had every byte and the end of the stream (`ttcp -r`).
    pub delivered_all: Option<Time>,
    /// Time when the sender knew all of it to be acknowledged (`ttcp -t` after close).
    pub acked_all: Option<Time>,
    /// Time when one end gave the connection up, since nothing answered.
    pub gave_up: Option<Time>,
    /// Counts of the whole run.
    pub total: FlowCounts,
    /// Counts by the end of the warmup, which rates leave out; all zero for a flow with a volume, which is measured whole.
    pub at_warmup: FlowCounts,
    /// Segments without data that the receiver sent.
    pub acks_sent: u64,
    /// ACKs, and data that came back, which reached the sender since the SYN was answered: packets.
    pub acks_received: u64,
    /// Number of times it entered fast recovery.
    pub fast_retransmits: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Segments that found the transmit queue of their host full, which TCP took as congestion.
    pub send_stalls: u64,
    /// Data segments that arrived and held nothing new.
    pub duplicates_received: u64,
    /// Payload bytes that arrived within the measured span for the first time, in order or not.
    pub bytes_arrived_in_span: u64,
    /// Payload bytes that arrived again within the measured span.
    pub bytes_duplicate_in_span: u64,
    /// Round-trip times.
    pub rtt: RttRecord,
    /// Packets that arrived at the receiving end.
    pub packets_delivered: u64,
    /// Most bytes in flight at once.
    pub in_flight_max: u64,
    /// Congestion window at the end of the run, in bytes; none where it was not recorded, or if it is not TCP.
    pub cwnd_end: Option<u64>,
    /// Slow start threshold at the end of the run, in bytes; none: no bound.
    pub ssthresh_end: Option<u64>,
    /// 1 where the sender had found that the path spoils marks; none where it was not recorded.
    pub gave_up_ecn: Option<u64>,
    /// Implementation of its sender's congestion control.
    pub control_from: ControlFrom,
    /// Cause that limited it, and the confidence in that, from 0 to 1; none where no verdict was made.
    pub limit: Option<(Cause, f64)>,
    /// Cause and confidence by the packets captured at its sender and at its receiver.
    pub captured: [Option<(Cause, f64)>; 2],
    /// Sends without a copy of which the sender's kernel has said how it took them.
    pub sends_completed: u64,
    /// Sends that it copied all the same.
    pub sends_copied: u64,
}

/// Round-trip times that the sender of a flow measured, in seconds; NaN without a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RttRecord {
    /// Least sample of the whole run.
    pub min_s: f64,
    /// Mean of the samples since the flow was measured (see [`FlowRecord::at_warmup`]).
    pub mean_s: f64,
    /// Greatest of these samples.
    pub max_s: f64,
    /// Quantiles [`QUANTILES`] of these samples, within 1/128.
    pub quantiles_s: [f64; 3],
    /// Standard deviation of these samples, for a probe; NaN for TCP.
    pub deviation_s: f64,
}

/// Implementation of a congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ControlFrom {
    /// Congestion control of the simulator, or none, if there was no connection.
    #[default]
    Longfat,
    /// Congestion control of the kernel.
    Kernel,
    /// Our twin in BPF.
    Twin,
    /// Policy that steers our program in BPF.
    Policy,
}

impl ControlFrom {
    /// Every implementation, in the order of results.
    pub const ALL: [ControlFrom; 4] = [ControlFrom::Longfat, ControlFrom::Kernel, ControlFrom::Twin, ControlFrom::Policy];
    /// Words for them in results.
    pub const WORDS: [&'static str; 4] = ["", "kernel", "twin", "policy"];
}

/// Record of one one-way link over the whole run, unless a field says otherwise. Checked at the end of every run:
/// `packets_in` = `packets_transmitted` + drops in the queue + `packets_queued`, and
/// `packets_transmitted` = `packets_delivered` + `packets_lost` + `packets_in_flight`.
///
/// Packets from a switch count as transmitted when all their cells have passed, and `queue_*` count cells, not packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRecord {
    /// Name in the network.
    pub name: String,
    /// Packets offered to the queue.
    pub packets_in: u64,
    /// Packets that left the queue.
    pub packets_transmitted: u64,
    /// Packets offered to the queue within the measured span.
    pub packets_in_in_span: u64,
    /// Packets that left the queue within the measured span.
    pub packets_transmitted_in_span: u64,
    /// Packets dropped by the queue or the link within the measured span, for whatever reason.
    pub packets_dropped_in_span: u64,
    /// Packets that an ACK filter removed within the measured span.
    pub packets_filtered_in_span: u64,
    /// Packets that arrived at the far end.
    pub packets_delivered: u64,
    /// Packets lost on the wire.
    pub packets_lost: u64,
    /// Packets in the queue at the end of the run.
    pub packets_queued: u64,
    /// Packets on the wire or in transmission at the end of the run.
    pub packets_in_flight: u64,
    /// IP bytes transmitted.
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
    /// Seconds of the whole run in which a packet waited though the link was free: for the end of a PAUSE, or for its host's leaky bucket.
    pub held_s: f64,
    /// Most packets in the queue at once, without the packet in transmission.
    pub queue_max_packets: u64,
    /// Most bytes in the queue at once.
    pub queue_max_bytes: u64,
    /// Mean packets in the queue over the measured span.
    pub queue_mean_packets: f64,
    /// Mean bytes in the queue over the measured span.
    pub queue_mean_bytes: f64,
    /// The quantiles [`QUANTILES`] of the waits of packets in front of a bottleneck that left within the measured span, in seconds, within
    /// 1/128; NaN elsewhere, and behind a switch.
    pub wait_quantiles_s: [f64; 3],
    /// Cells at its output port, if it comes from a switch.
    pub cells: Option<CellRecord>,
}

impl LinkRecord {
    /// Packets that the link carried twice: packets that arrived, were lost or are on the wire beyond those sent.
    pub fn packets_duplicated(&self) -> u64 {
        (self.packets_delivered + self.packets_lost + self.packets_in_flight).saturating_sub(self.packets_transmitted)
    }
}

/// Counts of cells at the output port in front of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellRecord {
    /// Counts over the whole run.
    pub total: port::Count,
    /// Cells that have left, over the whole run.
    pub transmitted: u64,
    /// Counts over the measured span.
    pub in_span: port::Count,
    /// Cells that have left, over the measured span.
    pub transmitted_in_span: u64,
}

/// Record of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRecord {
    /// Seconds of the measured span in which its processor was busy; NaN if it has none.
    pub cpu_busy_s: f64,
    /// Memory of its connections, if it is bounded.
    pub memory: Option<MemoryRecord>,
}

/// Memory of a host's connections, in payload bytes: means over the measured span, peaks over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryRecord {
    /// Bytes advertised, and not yet filled in order.
    pub promised: Level,
    /// Bytes held in buffers.
    pub buffered: Level,
    /// Bytes set aside and unused: written and not sent, or promised with nothing on its way to them.
    pub wasted: Level,
    /// Packets that arrived and found no memory left.
    pub drops: u64,
}

/// A quantity over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Mean over the measured span.
    pub mean: f64,
    /// Peak over the whole run.
    pub peak: u64,
}

/// Sender of a flow at the instant at which an ACK arrives, before it is processed, as in Linux's tracepoint `tcp_probe`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// Time of the arrival.
    pub time: Time,
    /// Flow, by its number.
    pub flow: u32,
    /// Acknowledged so far, in bytes: SND.UNA as an offset of the stream, in which the FIN is one more byte.
    pub acked: u64,
    /// Offset up to which data has been sent: SND.NXT.
    pub sent: u64,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Slow start threshold, in bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Peer's window, bytes.
    pub rwnd: u64,
    /// The smoothed RTT, in seconds (RFC 6298).
    pub srtt_s: f64,
}

/// A flow at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowSample {
    /// Time of the sample.
    pub time: Time,
    /// Flow, by its number.
    pub flow: u32,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Slow start threshold, in bytes; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Bytes sent and not yet known to have left the network.
    pub in_flight: u64,
    /// Peer's window, bytes.
    pub rwnd: u64,
    /// Bytes of the send buffer in use.
    pub send_buffered: u64,
    /// Size of the send buffer, in bytes.
    pub send_buffer: u64,
    /// Bytes that wait at the receiver, for the application or behind a gap.
    pub receive_buffered: u64,
    /// Bytes advertised beyond the data that is in order.
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
    /// Time of the sample.
    pub time: Time,
    /// Link, by its number.
    pub link: u32,
    /// Packets in the queue.
    pub backlog_packets: u64,
    /// Bytes in the queue.
    pub backlog_bytes: u64,
    /// Framed bytes transmitted so far.
    pub wire_bytes: u64,
    /// Packets dropped so far.
    pub drops: u64,
    /// Packets marked CE so far.
    pub marks: u64,
}

/// Event of a run, worth a mark on a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Event {
    /// Time of the event.
    pub time: Time,
    /// Kind of event.
    pub kind: EventKind,
    /// Flow that it happened to, by its number.
    pub flow: u32,
    /// Link of the event, for drops and marks.
    pub link: Option<u32>,
    /// Sequence offset from the start of the stream, where there is one.
    pub seq: u64,
}

/// Kind of event.
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
    /// A loss recovery was spurious, and its reduction is taken back.
    RecoveryUndone,
    /// An end gave the connection up, since nothing answered.
    GaveUp,
}

impl EventKind {
    /// Every kind but the drops, with its word in results and its meaning.
    const OTHERS: [(EventKind, &'static str, &'static str); 6] = [
        (EventKind::Marked, "marked", "a packet was marked CE instead of dropped"),
        (EventKind::FastRetransmit, "fast_retransmit", "a sender entered fast recovery"),
        (EventKind::Timeout, "timeout", "the retransmission timer expired"),
        (EventKind::RecoveryEnd, "recovery_end", "all that was outstanding when recovery began has been acknowledged"),
        (EventKind::RecoveryUndone, "recovery_undone", "what looked like a loss was none, and the reduction was taken back"),
        (EventKind::GaveUp, "gave_up", "an end gave the connection up, since nothing answered"),
    ];

    /// Returns every kind, a drop for each reason included. Each keeps its place, so later kinds stand behind earlier ones.
    pub fn all() -> impl Iterator<Item = EventKind> {
        let (first, later) = DropReason::ALL.split_at(DropReason::AckFilter as usize);
        let drops = |reasons: &'static [DropReason]| reasons.iter().map(|reason| EventKind::Dropped(*reason));
        drops(first).chain(Self::OTHERS.iter().map(|(kind, ..)| *kind)).chain(drops(later))
    }
    /// Returns its word in results.
    pub fn word(self) -> &'static str {
        if let EventKind::Dropped(reason) = self { reason.event() } else { self.other().1 }
    }
    /// Describes the event in one line.
    pub fn summary(self) -> &'static str {
        if let EventKind::Dropped(reason) = self { reason.summary() } else { self.other().2 }
    }
    fn other(self) -> &'static (EventKind, &'static str, &'static str) {
        Self::OTHERS.iter().find(|(kind, ..)| *kind == self).expect("every kind is listed")
    }
}
