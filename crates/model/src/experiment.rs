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
    /// For people: it changes no number.
    pub title: String,
    /// Repeats differ only in this.
    pub seed: u64,
    /// The order of what comes to a router at one instant.
    pub ties: Ties,
    /// Whether a departure from a queue comes after the arrivals at it of the same instant, instead of before them.
    pub departures_last: bool,
    /// Where the flows run.
    pub network: Network,
    /// The hosts of which anything is said; the others are infinitely fast.
    pub hosts: Vec<Host>,
    /// The routers whose ports share a memory.
    pub routers: Vec<Router>,
    /// Every flow, groups in the order of the file.
    pub flows: Vec<Flow>,
    /// What is recorded.
    pub measure: Measure,
}

impl Experiment {
    /// What each flow is called: its group, and its number in it from 1.
    pub fn flow_names(&self) -> impl Iterator<Item = String> {
        let mut seen = BTreeMap::new();
        self.flows.iter().map(move |flow| {
            let number: &mut u32 = seen.entry(&*flow.group).or_default();
            *number += 1;
            format!("{} {number}", flow.group)
        })
    }

    /// When the measured span begins at the earliest: at the end of the warmup, or when the first flow that has a volume starts, or the
    /// first of all where none has.
    pub fn span_start(&self) -> Duration {
        let volumes = self.flows.iter().filter(|flow| flow.traffic.volume().is_some()).map(|flow| flow.start).min();
        let first = volumes.or_else(|| self.flows.iter().map(|flow| flow.start).min());
        self.measure.warmup.max(first.unwrap_or(Duration::ZERO))
    }
}

/// In what order packets are queued that arrive at a router at the same instant, by different links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ties {
    /// By the numbers of the links, the lowest first (Weigle and Feng 2001, section IV-D).
    #[default]
    LinkOrder,
    /// In a random order, drawn anew each time.
    Random,
}

/// Nodes, and the one-way links between them (a duplex link of the file is two).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Network {
    /// Hosts, routers and switches.
    pub nodes: Vec<Node>,
    /// One-way links.
    pub links: Vec<Link>,
    /// When what takes a link goes by another, in order of time.
    pub moves: Vec<Move>,
}

/// From some time on packets that would take a link take another between the same two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// From when on: by when a packet comes to the router in front of the links.
    pub at: Duration,
    /// The link of the route: an index into [`Network::links`].
    pub link: usize,
    /// The one that is taken; the same, to go back.
    pub by: usize,
}

/// Where links meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// As in the file.
    pub name: String,
    /// What it does.
    pub kind: NodeKind,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// It ends flows, and passes nothing on.
    Host,
    /// It passes packets on.
    Router,
    /// It passes cells on.
    Switch {
        /// How many.
        ports: u64,
        /// Whether cells wait at its inputs, and not at its outputs.
        buffers_at_inputs: bool,
    },
}

impl Node {
    /// Whether flows end here.
    pub fn is_host(&self) -> bool {
        self.kind == NodeKind::Host
    }

    /// Whether this is a switch.
    pub fn is_switch(&self) -> bool {
        matches!(self.kind, NodeKind::Switch { .. })
    }
}

/// A one-way link with the queue in front of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Unique, e.g. `ds3-1>` and `ds3-1<` for the two ways of the link `ds3-1`.
    pub name: String,
    /// The node it starts at: an index into [`Network::nodes`].
    pub from: usize,
    /// The node it leads to.
    pub to: usize,
    /// Rate of framed packets: what is left of the line rate after physical framing. The mean, or what is said to be usual, where it changes.
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
    /// Capacities in BDPs are already bytes. From a switch it stays empty, since packets are no longer packets there.
    pub queue: Choice,
    /// From a switch: the policy of the output port in front of the link.
    pub discard: Option<Choice>,
    /// What happens to packets on the line.
    pub loss: Choice,
    /// What of it changes over time, or is not the same for each packet.
    pub unsteady: Unsteady,
    /// Where the trace of its rate is from, if that is a file.
    pub rate_file: Option<TraceFile>,
    /// Where that of its delay is from.
    pub delay_file: Option<TraceFile>,
    /// Hardware flow control: those who fill the queue are stopped in time.
    pub pause: Option<Pause>,
    /// The link whose utilization headlines the report.
    pub bottleneck: bool,
}

impl Link {
    /// No more than so many bits a second for long. Of opportunities nothing can be said: many may come at once.
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

/// IEEE 802.3x flow control by the switch that a link comes from: what its queue holds decides when the links that fill it are told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// They are told to stop once it holds so many bytes or more (IP).
    pub on: u64,
    /// They may go on once it holds so many or fewer.
    pub off: u64,
    /// For how long they are told to stop at most, in times of 512 bits at their rate.
    pub quanta: u64,
}

impl Pause {
    /// What a PAUSE frame says to a link of this rate: the time of [`Pause::quanta`] (IEEE 802.3 annex 31B).
    pub fn time(&self, rate: Rate) -> Duration {
        rate.transmit_time(64 * self.quanta)
    }
}

/// A router with one memory for the queues of all its links.
#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    /// Index into [`Network::nodes`].
    pub node: usize,
    /// Of IP packets: how much there is.
    pub shared_buffer: u64,
    /// How much of it each may take.
    pub sharing: Choice,
}

/// What a host does to the packets of its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Index into [`Network::nodes`].
    pub node: usize,
    /// The transmit queue in front of its links.
    pub nic: Option<Nic>,
    /// Its processor.
    pub cpu: Option<Cpu>,
    /// Each packet it sends is held for a random time, even between none and this.
    pub overhead: Option<Duration>,
    /// Its memory for data of connections.
    pub memory: Option<Memory>,
    /// The leaky bucket in front of each of its links.
    pub shaper: Option<Shaper>,
    /// What its interface takes at once.
    pub offload: Option<Offload>,
    /// How its interface interrupts, where it has no processor.
    pub interrupts: Option<Interrupts>,
}

impl Host {
    /// A host of which nothing is said.
    pub fn new(node: usize) -> Self {
        Host { node, nic: None, cpu: None, overhead: None, memory: None, shaper: None, offload: None, interrupts: None }
    }
}

/// What a host has for what its connections have written and not got acknowledged, and received and not read: payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// How much there is.
    pub bytes: u64,
    /// What each end of a connection has of it at least, to send and to receive; by default two segments.
    pub least: Option<u64>,
}

impl Memory {
    /// What this end of a connection has at least, to send, and as much to receive. One segment would wait for the delayed ACK of
    /// the other end each time (RFC 9293 section 3.8.6.3: an ACK for every second).
    pub fn least(&self, tcp: &TcpConfig) -> u64 {
        self.least.unwrap_or(2 * u64::from(tcp.mss))
    }
}

/// The transmit queue in front of each link of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nic {
    /// Packets.
    pub txqueuelen: u64,
    /// What becomes of a segment that finds it full.
    pub on_full: OnFull,
}

/// What becomes of a segment of TCP that finds the transmit queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// It is not sent, TCP takes it as congestion, and tries again with the next ACK: Linux 2.4.
    Stall,
    /// It waits in the socket until there is room.
    Wait,
    /// It is lost.
    Drop,
}

/// A processor that serves the packets of its host one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cpu {
    /// Millions of cycles (1000 * 1000) a second.
    pub mhz: u64,
    /// To send a packet, and to receive one.
    pub send: Cycles,
    /// To receive a packet.
    pub receive: Cycles,
    /// How it gets what comes.
    pub intake: Intake,
}

/// How packets come from the interface of a host to its processor.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Intake {
    /// Packets that the receive ring of the interface holds (`ethtool -g`); `None`: all.
    pub rx_ring: Option<u64>,
    /// How long the interface waits after a packet before it interrupts (`ethtool -C rx-usecs`).
    pub rx_usecs: Duration,
    /// It interrupts sooner once so many packets wait (`ethtool -C rx-frames`).
    pub rx_frames: Option<u64>,
    /// The queue into which an interrupt moves what is in the ring; `None`: the processor takes packets from the ring itself (NAPI).
    pub backlog: Option<Backlog>,
}

/// How packets come from the interface of a host to its TCP, where nothing is said of a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interrupts {
    /// Packets that the receive ring holds (`ethtool -g`); `None`: all.
    pub rx_ring: Option<u64>,
    /// How long the interface waits after a packet before it interrupts (`ethtool -C rx-usecs`).
    pub rx_usecs: Duration,
    /// It interrupts sooner once so many packets wait (`ethtool -C rx-frames`).
    pub rx_frames: Option<u64>,
    /// Payload bytes of the segments that come to TCP as one, at most; `None`: each comes by itself.
    pub gro_max_size: Option<u64>,
}

/// The input queue of a host (`net.core.netdev_max_backlog`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Packets it holds.
    pub max: u64,
    /// Once it was full, it takes nothing until it is empty: Linux 2.4. Otherwise it takes what it has room for.
    pub throttles: bool,
}

/// Cycles for each packet, and for each byte of it (IP).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycles {
    /// For each packet.
    pub packet: u64,
    /// For each byte of its IP packet.
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
    /// The codepoint of its packets, both ways.
    pub dscp: Dscp,
    /// What it sends.
    pub traffic: Traffic,
    /// When it connects.
    pub start: Duration,
    /// How the starts of its group were drawn, where they were.
    pub drawn: Option<Arc<Starts>>,
    /// When the application stops writing, and closes; `None`: never.
    pub stop: Option<Duration>,
    /// Payload that the receiving application reads in a second; `None`: all, at once.
    pub read_rate: Option<Rate>,
    /// The sender it is a stream of. Parallel streams of one sender have the same number; numbers follow each other from 0
    /// in the order of the flows.
    pub stream_of: usize,
}

impl Flow {
    /// Whether its whole life is measured, the warmup included: a volume is its own result.
    pub fn is_measured_whole(&self) -> bool {
        self.traffic.rank() == Rank::Volume
    }
}

/// When the senders of a group start: each at a time of its own after the gaps before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Starts {
    /// From the first on.
    pub start: When,
    /// From one to the next.
    pub stagger: When,
}

/// A time as a file says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// This one.
    At(Duration),
    /// One drawn for each sender, from the seed of the run.
    Random(Distribution),
}

/// What is recorded, and when the run ends: at `duration`, or once every flow that has a volume is done, if there is one.
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
    /// Of which packets to record what happens to them.
    pub packets: Option<Watched>,
    /// Record each sender as each ACK finds it.
    pub acks: bool,
}

/// Packets that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// All of them, everywhere.
    All,
    /// At this one-way link.
    Link(usize),
    /// At this node: where they are sent and delivered there, and at the links to and from it.
    Node(usize),
    /// Those of the flows from the first up to, and without, the second.
    Flows(usize, usize),
}

impl Watched {
    /// Its name in experiment files, of all.
    pub const ALL: &'static str = "all";
}
