//! One run, resolved: every sweep chosen, every default filled in, every preset turned into nodes and links.
//! This is what a backend runs; it holds no text and no unit that still needs reading.

use crate::random::Distribution;
use crate::trace_file::TraceFile;
use longfat_core::link::{Service, Shaper, Unsteady};
use longfat_core::packet::Dscp;
use longfat_core::params::{Choice, Value};
use longfat_core::time::Duration;
use longfat_core::traffic::{Rank, Traffic};
use longfat_core::units::{Capacity, Rate};
use longfat_tcp::{Offload, TcpConfig};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One run of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Title for people: it changes no number.
    pub title: String,
    /// Repeats differ only in this.
    pub seed: u64,
    /// Order of packets that arrive at a router at the same instant.
    pub ties: Ties,
    /// True if a departure from a queue comes after the arrivals of the same instant, instead of before them.
    pub departures_last: bool,
    /// Network on which the flows run.
    pub network: Network,
    /// Hosts with properties; all other hosts are infinitely fast.
    pub hosts: Vec<Host>,
    /// The routers whose ports share a memory.
    pub routers: Vec<Router>,
    /// Every flow, groups in the order of the file.
    pub flows: Vec<Flow>,
    /// Measurements to record.
    pub measure: Measure,
    /// Real hosts, of a run between them. Its network then has no links: nobody controls the path.
    pub live: Option<Live>,
}

/// Real hosts of a run between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The two hosts, in the order of the network's nodes.
    pub hosts: Vec<LiveHost>,
    /// Time from the begin of a repeat to that of the next, at least.
    pub spread: Duration,
    /// True if the path is looked at before and after the run.
    pub survey: bool,
    /// True if both hosts capture the packets of TCP flows.
    pub capture: bool,
    /// Tables of the file that describe what such a run does not control.
    pub uncontrolled: Vec<String>,
}

/// Real host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveHost {
    /// Address: a name or a number, and a port unless it is the usual one; [`Live::LOCAL`]: this host.
    pub at: String,
    /// Name of the key for its server, which decides nothing.
    pub key: Option<String>,
}

impl Live {
    /// Address of this host.
    pub const LOCAL: &str = "local";
    /// IP bytes of a full packet of a path that nobody describes (Ethernet).
    pub const MTU: u32 = 1500;

    /// Returns the number of this host among the two.
    pub fn local(&self) -> usize {
        self.hosts.iter().position(|host| host.at == Self::LOCAL).unwrap_or(0)
    }

    /// Returns the other host.
    pub fn remote(&self) -> &LiveHost {
        &self.hosts[1 - self.local()]
    }
}

impl Experiment {
    /// Returns the name of each flow: its group, and its number in it from 1.
    pub fn flow_names(&self) -> impl Iterator<Item = String> {
        let mut seen = BTreeMap::new();
        self.flows.iter().map(move |flow| {
            let number: &mut u32 = seen.entry(&*flow.group).or_default();
            *number += 1;
            format!("{} {number}", flow.group)
        })
    }

    /// Returns the pairs of flows of which the second sends on the payload of the first, as a proxy between two connections does.
    pub fn relays(&self) -> Vec<(usize, usize)> {
        let first_of = |group: &str| self.flows.iter().position(|flow| &*flow.group == group);
        let mut all = Vec::new();
        let mut last: Option<(&Arc<str>, usize)> = None;
        for (number, flow) in self.flows.iter().enumerate() {
            let Some(group) = &flow.relays else { continue };
            let next = match last {
                Some((before, next)) if *before == flow.group => next,
                _ => first_of(group).expect("a group that is relayed is there"),
            };
            all.push((next, number));
            last = Some((&flow.group, next + 1));
        }
        all
    }

    /// Returns when the measured span begins at the earliest: at the end of the warmup, or when the first flow with a volume starts, or the
    /// first flow if none has a volume.
    pub fn span_start(&self) -> Duration {
        let volumes = self.flows.iter().filter(|flow| flow.traffic.volume().is_some()).map(|flow| flow.start).min();
        let first = volumes.or_else(|| self.flows.iter().map(|flow| flow.start).min());
        self.measure.warmup.max(first.unwrap_or(Duration::ZERO))
    }
}

/// Order in which packets are queued that arrive at a router at the same instant over different links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ties {
    /// Order of link numbers, the lowest first (Weigle and Feng 2001, section IV-D).
    #[default]
    LinkOrder,
    /// Random order, drawn anew each time.
    Random,
}

/// Nodes, and the one-way links between them (a duplex link of the file is two).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Network {
    /// Hosts, routers and switches.
    pub nodes: Vec<Node>,
    /// One-way links.
    pub links: Vec<Link>,
    /// Route changes, in order of time.
    pub moves: Vec<Move>,
}

/// Route change: from some time on, packets take another link between the same two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Start of the change, compared with the time at which a packet arrives at the router in front of the links.
    pub at: Duration,
    /// The link of the route: an index into [`Network::links`].
    pub link: usize,
    /// Link that is taken instead; equal to `link` to go back.
    pub by: usize,
}

/// Node at which links meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name as in the file.
    pub name: String,
    /// Kind of the node.
    pub kind: NodeKind,
}

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Ends flows, and does not forward packets.
    Host,
    /// Forwards packets.
    Router,
    /// Forwards cells.
    Switch {
        /// Number of ports.
        ports: u64,
        /// True if cells wait at its inputs; false if at its outputs.
        buffers_at_inputs: bool,
    },
}

impl Node {
    /// Returns true if flows end here.
    pub fn is_host(&self) -> bool {
        self.kind == NodeKind::Host
    }

    /// Returns true if this is a switch.
    pub fn is_switch(&self) -> bool {
        matches!(self.kind, NodeKind::Switch { .. })
    }
}

/// A one-way link with the queue in front of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Unique name, e.g. `ds3-1>` and `ds3-1<` for the two directions of the link `ds3-1`.
    pub name: String,
    /// The node it starts at: an index into [`Network::nodes`].
    pub from: usize,
    /// The node it leads to.
    pub to: usize,
    /// Rate of framed packets: the line rate less physical framing. The mean or nominal rate if it changes.
    pub rate: Rate,
    /// Propagation delay, the least where it changes.
    pub delay: Duration,
    /// Packets are carried as AAL5 frames, in cells.
    pub cells: bool,
    /// Link-layer bytes added to each IP packet; with cells, within the AAL5 frame.
    pub overhead: u32,
    /// Least frame, in bytes with overhead; shorter ones are padded.
    pub min_frame: u32,
    /// Largest IP packet.
    pub mtu: u32,
    /// Queue in front of the link. Capacities in BDPs are already bytes. The queue of a link from a switch stays empty, since it carries
    /// cells.
    pub queue: Choice,
    /// Policy of the output port in front of a link from a switch.
    pub discard: Option<Choice>,
    /// Loss model of the line.
    pub loss: Choice,
    /// Properties that change over time or from packet to packet.
    pub unsteady: Unsteady,
    /// File of the rate trace, if there is one.
    pub rate_file: Option<TraceFile>,
    /// File of the delay trace, if there is one.
    pub delay_file: Option<TraceFile>,
    /// Hardware flow control: the links that fill the queue are stopped in time.
    pub pause: Option<Pause>,
    /// The link whose utilization headlines the report.
    pub bottleneck: bool,
}

impl Link {
    /// Returns the greatest sustained rate in bit/s; infinite for opportunities, of which many may come at once.
    pub fn greatest_bps(&self) -> f64 {
        match &self.unsteady.service {
            None => self.rate.as_bps() as f64,
            Some(Service::Rate(course)) => course.greatest() as f64,
            Some(service @ Service::Granted(_)) => service.greatest() as f64,
            Some(Service::Opportunities(_)) => f64::INFINITY,
        }
    }
}

impl Link {
    /// The most bytes of full packets that its queue holds, where that is a droptail queue.
    pub fn droptail_bytes(&self) -> Option<u64> {
        if self.queue.kind != "droptail" {
            return None;
        }
        match self.queue.params.get("limit") {
            Value::Capacity(Capacity::Bytes(bytes)) => Some(bytes),
            Value::Capacity(Capacity::Packets(packets)) => Some(packets.saturating_mul(self.mtu.into())),
            _ => None,
        }
    }
}

/// IEEE 802.3x flow control by the switch that a link comes from: its queue length decides when the links that fill it are told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Queue length in IP bytes from which on the links are told to stop.
    pub on: u64,
    /// Queue length in IP bytes down from which they may go on.
    pub off: u64,
    /// Longest pause per PAUSE frame, in times of 512 bits at their rate.
    pub quanta: u64,
}

impl Pause {
    /// Returns the pause time at a link of this rate: that of [`Pause::quanta`] (IEEE 802.3 annex 31B).
    pub fn time(&self, rate: Rate) -> Duration {
        rate.transmit_time(64 * self.quanta)
    }
}

/// A router with one memory for the queues of all its links.
#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    /// Index into [`Network::nodes`].
    pub node: usize,
    /// Size of the memory, in bytes of IP packets.
    pub shared_buffer: u64,
    /// Sharing of the memory among the ports.
    pub sharing: Choice,
}

/// Host properties that affect the packets of its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Index into [`Network::nodes`].
    pub node: usize,
    /// The transmit queue in front of its links.
    pub nic: Option<Nic>,
    /// Processor of the host.
    pub cpu: Option<Cpu>,
    /// Upper bound of the random time, uniform from zero, for which each sent packet is held.
    pub overhead: Option<Duration>,
    /// Memory for data of connections.
    pub memory: Option<Memory>,
    /// The leaky bucket in front of each of its links.
    pub shaper: Option<Shaper>,
    /// Offload of its interface.
    pub offload: Option<Offload>,
    /// Interrupts of its interface, if it has no processor.
    pub interrupts: Option<Interrupts>,
    /// True if it is a proxy: flows that start here send on the payload of flows that end here ([`Flow::relays`]).
    pub relays: bool,
}

impl Host {
    /// Returns a host without properties.
    pub fn new(node: usize) -> Self {
        Host { node, nic: None, cpu: None, overhead: None, memory: None, shaper: None, offload: None, interrupts: None, relays: false }
    }
}

/// Memory of a host for payload that its connections have written and is not acknowledged, and that they have received and not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Payload bytes in all.
    pub bytes: u64,
    /// Payload bytes that each end of a connection has at least, to send and to receive; by default two segments.
    pub least: Option<u64>,
}

impl Memory {
    /// Returns the bytes that this end of a connection has at least, to send, and as many to receive. One segment would wait for the
    /// delayed ACK of the other end each time (RFC 9293 section 3.8.6.3: an ACK for every second).
    pub fn least(&self, tcp: &TcpConfig) -> u64 {
        self.least.unwrap_or(2 * u64::from(tcp.mss))
    }
}

/// The transmit queue in front of each link of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nic {
    /// Queue length, in packets.
    pub txqueuelen: u64,
    /// Reaction to a segment that finds the queue full.
    pub on_full: OnFull,
}

/// Reactions to a TCP segment that finds the transmit queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// The segment is not sent. TCP takes this as congestion, and tries again with the next ACK: Linux 2.4.
    Stall,
    /// The segment waits in the socket until there is room.
    Wait,
    /// The segment is lost.
    Drop,
}

/// A processor that serves the packets of its host one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cpu {
    /// Clock rate: millions of cycles (1000 * 1000) per second.
    pub mhz: u64,
    /// Cycles to send a packet.
    pub send: Cycles,
    /// Cycles to receive a packet.
    pub receive: Cycles,
    /// Way in which arriving packets reach it.
    pub intake: Intake,
}

/// Path of packets from the interface of a host to its processor.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Intake {
    /// Packets that the receive ring of the interface holds (`ethtool -g`); `None`: all.
    pub rx_ring: Option<u64>,
    /// Time that the interface waits after a packet before it interrupts (`ethtool -C rx-usecs`).
    pub rx_usecs: Duration,
    /// Waiting packets at which the interface interrupts sooner (`ethtool -C rx-frames`).
    pub rx_frames: Option<u64>,
    /// The queue into which an interrupt moves what is in the ring; `None`: the processor takes packets from the ring itself (NAPI).
    pub backlog: Option<Backlog>,
}

/// Path of packets from the interface of a host to its TCP, if the host has no processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interrupts {
    /// Packets that the receive ring holds (`ethtool -g`); `None`: all.
    pub rx_ring: Option<u64>,
    /// Time that the interface waits after a packet before it interrupts (`ethtool -C rx-usecs`).
    pub rx_usecs: Duration,
    /// Waiting packets at which the interface interrupts sooner (`ethtool -C rx-frames`).
    pub rx_frames: Option<u64>,
    /// Payload bytes of the segments that come to TCP as one, at most; `None`: each comes by itself.
    pub gro_max_size: Option<u64>,
}

/// The input queue of a host (`net.core.netdev_max_backlog`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Packets it holds.
    pub max: u64,
    /// True if a full queue takes no packets until it is empty (Linux 2.4); false if it takes packets whenever it has room.
    pub throttles: bool,
}

/// Cycles per packet, and per byte of it (IP).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycles {
    /// Cycles per packet.
    pub packet: u64,
    /// Cycles per byte of the IP packet.
    pub byte: f64,
}

/// One connection, or one flow of another kind. `count = 8` in the file is eight of these, and with `streams = 16` each is
/// sixteen.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The group's name in the file, e.g. `forward`.
    pub group: Arc<str>,
    /// The side that connects and sends: an index into [`Network::nodes`].
    pub from: usize,
    /// The side that listens.
    pub to: usize,
    /// The TCP of the side that sends. Flows of a group share it, and the name of the group: there may be many thousands.
    pub sender: Arc<TcpConfig>,
    /// The TCP of the side that listens.
    pub receiver: Arc<TcpConfig>,
    /// Codepoint of its packets, in both directions.
    pub dscp: Dscp,
    /// Traffic that it sends.
    pub traffic: Traffic,
    /// Time at which it connects.
    pub start: Duration,
    /// Distribution of the starts of its group, if they were drawn.
    pub drawn: Option<Arc<Starts>>,
    /// Time at which the application stops writing and closes; `None`: never.
    pub stop: Option<Duration>,
    /// Payload that the receiving application reads per second; `None`: all, at once.
    pub read_rate: Option<Rate>,
    /// Group whose payload it sends on: `from` reads each flow of that group, and writes it to the flow of the same number here. `None`:
    /// its payload is its own.
    pub relays: Option<Arc<str>>,
    /// The sender it is a stream of. Parallel streams of one sender have the same number; numbers follow each other from 0
    /// in the order of the flows.
    pub stream_of: usize,
}

impl Flow {
    /// Returns true if its whole life is measured, the warmup included: a volume is its own result.
    pub fn is_measured_whole(&self) -> bool {
        self.traffic.rank() == Rank::Volume
    }
}

/// Starts of the senders of a group: each at a time of its own after the gaps before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Starts {
    /// Start of the first sender.
    pub start: When,
    /// Gap from one sender to the next.
    pub stagger: When,
}

/// Time as a file gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Fixed time.
    At(Duration),
    /// Time drawn per sender, from the seed of the run.
    Random(Distribution),
}

/// Measurements to record, and the end of the run: at `duration`, or once every flow that has a volume is done, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// The longest the run may last.
    pub duration: Duration,
    /// Start of the span over which rates of bulk flows are measured.
    pub warmup: Duration,
    /// Spacing of the time series; `None`: no series.
    pub interval: Option<Duration>,
    /// Record each drop, mark, retransmission and window reduction as an event.
    pub events: bool,
    /// Packets whose events are recorded.
    pub packets: Option<Watched>,
    /// Record the state of each sender at each ACK.
    pub acks: bool,
}

/// Packets that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// All packets, everywhere.
    All,
    /// Packets at this one-way link.
    Link(usize),
    /// Packets at this node: sent and delivered there, and at the links to and from it.
    Node(usize),
    /// Packets of the flows from the first up to, and without, the second.
    Flows(usize, usize),
}

impl Watched {
    /// Name of [`Watched::All`] in experiment files.
    pub const ALL: &'static str = "all";
}
