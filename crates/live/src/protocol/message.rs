//! Messages of a control channel, as JSON: one per frame, every name known, every length bounded.

use std::net::SocketAddr;

use longfat_core::units::Rate;
use serde::{Deserialize, Serialize};

use super::application::Application;
use super::frame::MOST;
use super::noise::TAG;
use super::token::Token;
use super::{Fault, Nanos, fault};

/// Version of the protocol.
pub const VERSION: u8 = 6;
/// Most bytes of a message.
pub const LONGEST: usize = MOST - TAG;
/// Most columns of results.
pub const COLUMNS: usize = 128;
/// Longest run that can be asked for: a day.
pub const LONGEST_RUN_MS: u64 = 24 * 3600 * 1000;
/// Most flows of a session.
pub const FLOWS: usize = 64;
/// Most samples of a session at each side: they take some 70 MB.
pub const SAMPLES: u64 = 100_000;
/// Most bytes of UDP payload of a survey.
pub const SURVEY: u64 = 1 << 30;
/// Most settings of a kernel.
const SETTINGS: u64 = 64;
/// Most bytes of a sentence.
const SENTENCE: usize = 500;
/// Most bytes of a name of the kernel (`TCP_CA_NAME_MAX` is 16).
const NAME: usize = 32;

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Client: what it wants.
    Offer(Offer),
    /// Server: it is another's turn.
    Queued(Queued),
    /// Server: what is granted.
    Granted(Granted),
    /// Server: nothing is.
    Refused(Reason),
    /// Client, if probes were granted or flows go over UDP: the nonces that came by datagrams.
    Reached(Reached),
    /// Server: the data connections have come, and the client's answer about probes; and where it sees the client.
    Ready(Seen),
    /// Client: begin.
    Start,
    /// Server: it has begun.
    Running,
    /// Both, each second.
    Heartbeat(Heartbeat),
    /// Client: end now.
    Stop,
    /// Server: a piece of the results.
    Results(Rows),
    /// Server: that was all; client: it has all.
    Done(Reason),
}

/// Addresses of a client as its server sees them. NAT on the way makes them others than the client's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Address of the control connection.
    pub control: Option<SocketAddr>,
    /// Address of the probes or the survey; `None`: there are none.
    pub udp: Option<SocketAddr>,
}

/// Direction of a flow, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The client sends.
    Up,
    /// The server sends.
    Down,
}

/// Measurement that a client wants: flows that run at the same time, or a survey of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Milliseconds for which it runs.
    pub ms: u64,
    /// Microseconds between samples.
    pub interval_us: u64,
    /// The flows, each on a connection of its own, or between two UDP ports of its own.
    pub flows: Vec<FlowOffer>,
    /// Probes both ways beside them; `None`: none.
    pub probe: Option<ProbeOffer>,
    /// True: the server captures the packets of its ends of these TCP flows, if it may, and tells what it makes of them.
    pub capture: bool,
    /// Bytes of UDP payload, both ways together, of a survey ([`super::survey`]), which has neither flows nor probes; `None`: it is none.
    pub survey: Option<u64>,
}

/// Probes: numbered datagrams in each direction at equal intervals, for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeOffer {
    /// Microseconds from one to the next.
    pub interval_us: u64,
}

/// Answer of a client about datagrams: the nonces that came to each of its ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reached {
    /// Nonce of the probes; `None`: no datagram came, and no probes are sent.
    pub nonce: Option<Token>,
    /// Nonces of the flows over UDP, in their order. A client whose datagrams do not come through ends the session instead.
    pub flows: Vec<Token>,
}

/// One flow: the settings of the server's end, and its traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowOffer {
    /// Direction of the data.
    pub direction: Direction,
    /// Microseconds from the beginning of the run to the first write.
    pub start_us: u64,
    /// Microseconds from the beginning of the run to the last write; `None`: it goes on to the end.
    pub stop_us: Option<u64>,
    /// Application of its sender.
    pub application: Application,
    /// Payload that the application of its receiver reads, in bit/s; `None`: all, at once.
    pub read_rate: Option<u64>,
    /// Congestion control of the server's end; `None`: as the host has it.
    pub control: Option<String>,
    /// Bytes of payload that the server's end advertises at most; `None`: as the kernel sizes it.
    pub window: Option<u64>,
    /// True: small segments wait (RFC 896).
    pub nagle: bool,
    /// Differentiated services codepoint of its packets (RFC 2474).
    pub dscp: u8,
    /// Way in which the application of its sender gives the kernel its data.
    pub send: SendWay,
    /// Way in which the application of its receiver takes it.
    pub receive: ReceiveWay,
}

/// Ways in which an application takes its data from the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveWay {
    /// Thrown away in the kernel.
    #[default]
    Truncate,
    /// Copied into its memory.
    Copy,
}

/// Ways in which an application gives the kernel its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendWay {
    /// Copied from its memory.
    #[default]
    Copy,
    /// From a file.
    Sendfile,
    /// From its memory, which the kernel reads itself.
    Zerocopy,
}

/// Setting of a host's kernel, as `sysctl` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name below `/proc/sys/net`, such as `ipv4/tcp_sack`; `kernel`: the release of the kernel.
    pub name: String,
    /// Value, words apart by one space.
    pub value: String,
}

/// Place in the queue of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queued {
    /// Sessions before this one.
    pub before: u32,
    /// Milliseconds until its turn, at most.
    pub ms: u64,
}

/// Grant: what was asked for, cut to what the server allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// Tokens of the flows, in their order: each opens a data connection or, of a flow over UDP, is shown by a datagram.
    pub tokens: Vec<Token>,
    /// Token that opens the probes; `None`: there are none.
    pub probe: Option<Token>,
    /// Milliseconds for which it may send.
    pub ms: u64,
    /// Bytes of payload that it may send.
    pub bytes: u64,
    /// Bound of the rate of all flows together, in bit/s of payload; `None`: none.
    pub rate: Option<u64>,
    /// Settings of the server's kernel.
    pub settings: Vec<Setting>,
}

/// A reason in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The sentence.
    pub why: String,
}

/// Sign of life, which measures the round trip as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Clock of who sends it.
    pub sent: Nanos,
    /// Clock in the last heartbeat of the other side; `None`: there was none.
    pub echo: Option<Nanos>,
    /// Time since that came.
    pub held: Nanos,
}

/// Piece of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each with a value for each column; `None`: not known.
    pub rows: Vec<Vec<Option<u64>>>,
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// Bytes that are none, or one beyond its bounds. The error names what is wrong, and repeats nothing of the other side's.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() > LONGEST {
            return fault(format!("a message has at most {LONGEST} bytes"));
        }
        let at = |e: serde_json::Error| Fault(format!("a message is not of this protocol (column {})", e.column()));
        let message: Message = serde_json::from_slice(bytes).map_err(at)?;
        message.check()?;
        Ok(message)
    }

    /// Returns the bytes of the message.
    ///
    /// # Errors
    /// A message beyond its bounds.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Fault> {
        self.check()?;
        let bytes = serde_json::to_vec(self).map_err(|e| Fault(e.to_string()))?;
        if bytes.len() > LONGEST { fault(format!("a message of {} bytes is longer than {LONGEST}", bytes.len())) } else { Ok(bytes) }
    }

    fn check(&self) -> Result<(), Fault> {
        match self {
            Message::Offer(offer) => {
                bounded("ms", offer.ms, 1..=LONGEST_RUN_MS)?;
                bounded("interval_us", offer.interval_us, 1000..=60_000_000)?;
                if let Some(bytes) = offer.survey {
                    bounded("bytes of a survey", bytes, 1..=SURVEY)?;
                    let is_alone = offer.flows.is_empty() && offer.probe.is_none() && !offer.capture;
                    return if is_alone { Ok(()) } else { fault("a survey has neither flows nor probes nor a capture") };
                }
                bounded("flows", offer.flows.len() as u64, 1..=FLOWS as u64)?;
                bounded("samples", offer.samples(), 1..=SAMPLES)?;
                if let Some(probe) = offer.probe {
                    bounded("interval_us of probes", probe.interval_us, 1000..=60_000_000)?;
                    bounded("probes", probe.count(offer.ms), 1..=SAMPLES)?;
                }
                offer.flows.iter().try_for_each(FlowOffer::check)
            }
            Message::Queued(queued) => bounded("ms", queued.ms, 0..=1000 * LONGEST_RUN_MS),
            Message::Granted(granted) => {
                bounded("ms", granted.ms, 1..=LONGEST_RUN_MS)?;
                bounded("tokens", granted.tokens.len() as u64, 0..=FLOWS as u64)?;
                bounded("settings", granted.settings.len() as u64, 0..=SETTINGS)?;
                granted.settings.iter().try_for_each(Setting::check)
            }
            Message::Refused(reason) | Message::Done(reason) => {
                let is_plain = reason.why.len() <= SENTENCE && !reason.why.chars().any(char::is_control);
                if is_plain { Ok(()) } else { fault(format!("a reason is one line of at most {SENTENCE} bytes")) }
            }
            Message::Results(rows) => rows.check(),
            Message::Reached(reached) => bounded("nonces", reached.flows.len() as u64, 0..=FLOWS as u64),
            Message::Ready(_) | Message::Start | Message::Running | Message::Stop | Message::Heartbeat(_) => Ok(()),
        }
    }

    /// Returns the name of the message.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Offer(_) => "offer",
            Message::Queued(_) => "queued",
            Message::Granted(_) => "granted",
            Message::Refused(_) => "refused",
            Message::Reached(_) => "reached",
            Message::Ready(_) => "ready",
            Message::Start => "start",
            Message::Running => "running",
            Message::Heartbeat(_) => "heartbeat",
            Message::Stop => "stop",
            Message::Results(_) => "results",
            Message::Done(_) => "done",
        }
    }
}

impl Offer {
    /// Returns how many samples each side takes, at most.
    pub fn samples(&self) -> u64 {
        (1000 * self.ms / self.interval_us.max(1) + 1).saturating_mul(self.flows.len() as u64)
    }

    /// Returns the number of flows over UDP.
    pub fn over_udp(&self) -> usize {
        self.flows.iter().filter(|flow| flow.peak().is_some()).count()
    }

    /// Returns the most UDP payload that its flows have due within a second, in bit/s: to the server, and from it.
    pub fn udp_rates(&self) -> [u64; 2] {
        [Direction::Up, Direction::Down].map(|direction| {
            let those = self.flows.iter().filter(|flow| flow.direction == direction);
            those.filter_map(FlowOffer::peak).fold(0, |sum: u64, peak| sum.saturating_add(peak.saturating_mul(8)))
        })
    }

    /// Returns the share of `rate`, which all flows may have together, of each TCP flow: what the flows over UDP leave, in equal parts.
    pub fn share(&self, rate: u64) -> u64 {
        let left = self.udp_rates().iter().fold(rate, |left, udp| left.saturating_sub(*udp));
        left / (self.flows.len() - self.over_udp()).max(1) as u64
    }

    /// Returns the datagrams of each flow over UDP whose times are results: the first ones. All together are a session's probes at most.
    pub fn timed(&self) -> u32 {
        (SAMPLES / 4 / self.over_udp().max(1) as u64) as u32
    }
}

impl ProbeOffer {
    /// UDP payload of a probe: the nonce of its session, and its number.
    pub const BYTES: usize = Token::LEN + 4;

    /// Returns how many there are in a run of `ms`, at most, in each direction.
    pub fn count(self, ms: u64) -> u64 {
        1000 * ms / self.interval_us.max(1) + 1
    }

    /// Returns the rate of one direction, in bit/s of UDP payload.
    pub fn rate(self) -> u64 {
        (8 * ProbeOffer::BYTES as u64 * 1_000_000).div_ceil(self.interval_us.max(1))
    }
}

impl FlowOffer {
    /// Returns the most payload that it has due within a second, in bytes, if it goes over UDP.
    pub fn peak(&self) -> Option<u64> {
        self.application.traffic().ok()?.peak()
    }

    fn check(&self) -> Result<(), Fault> {
        let longest = 1000 * LONGEST_RUN_MS;
        bounded("start_us", self.start_us, 0..=longest)?;
        self.stop_us.map_or(Ok(()), |stop| bounded("stop_us", stop, 0..=longest))?;
        self.application.check()?;
        let is_of_tcp = self.control.is_some() || self.window.is_some() || self.read_rate.is_some();
        if is_of_tcp && self.peak().is_some() {
            return fault("a flow over UDP has no `control`, `window` or `read_rate`");
        }
        self.read_rate.map_or(Ok(()), |rate| bounded("read_rate", rate, 1..=Rate::MOST.as_bps()))?;
        self.window.map_or(Ok(()), |window| bounded("window", window, 1..=1 << 30))?;
        bounded("dscp", self.dscp.into(), 0..=63)?;
        if self.control.as_ref().is_some_and(|control| !is_name(control)) { fault("`control` is no name") } else { Ok(()) }
    }
}

impl Setting {
    fn check(&self) -> Result<(), Fault> {
        let is_plain = |text: &str, most| text.len() <= most && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let is_good = is_plain(&self.name, 64) && is_plain(&self.value, 128);
        if is_good { Ok(()) } else { fault("a setting is a name and a value of one line") }
    }
}

impl Rows {
    fn check(&self) -> Result<(), Fault> {
        if self.columns.len() > COLUMNS || !self.columns.iter().all(|name| is_name(name)) {
            return fault(format!("results have at most {COLUMNS} columns, each with a name"));
        }
        if self.rows.iter().any(|row| row.len() != self.columns.len()) {
            fault("a row of results has a value for each column")
        } else {
            Ok(())
        }
    }

    /// Cuts a table into pieces of which each fits into a message.
    pub fn pieces(columns: &[String], rows: Vec<Vec<Option<u64>>>) -> Vec<Rows> {
        let names: usize = columns.iter().map(|name| name.len() + 3).sum();
        let mut pieces: Vec<Rows> = Vec::new();
        let mut room = 0;
        for row in rows {
            // A value has at most 20 digits, and a comma.
            let len = 3 + row.iter().map(|value| value.map_or(5, |value| value.max(1).ilog10() as usize + 2)).sum::<usize>();
            if len > room {
                pieces.push(Rows { columns: columns.to_vec(), rows: Vec::new() });
                room = LONGEST - names - 100;
            }
            room -= len;
            pieces.last_mut().expect("one was begun").rows.push(row);
        }
        pieces
    }
}

fn bounded(name: &str, value: u64, bounds: std::ops::RangeInclusive<u64>) -> Result<(), Fault> {
    if bounds.contains(&value) { Ok(()) } else { fault(format!("`{name}` is from {} to {}", bounds.start(), bounds.end())) }
}

fn is_name(text: &str) -> bool {
    (1..=NAME).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-'))
}
