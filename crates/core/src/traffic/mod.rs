//! Traffic: the applications at the two ends of a flow. One file per kind, one line in [`REGISTRY`].
//!
//! An application decides, without clock or I/O: over TCP it is an [`Application`] with a [`Socket`], over UDP and ICMP it is asked for
//! [`Datagrams`]. The simulator runs them, and a process on a real host could run the very same. Random values come from the flow's own
//! stream.

mod application;
mod bulk;
mod datagrams;
mod departures;
mod fetch;
mod flows;
mod on_off;
mod ping;
mod reader;
mod schedule;
mod sinusoid;
mod telnet;
#[cfg(test)]
mod tests;
mod ttcp;
mod udp;
mod udpmon;
mod web;
mod writes;

pub use application::{Application, Program, Socket, Wait};
pub use datagrams::{Datagram, DatagramStats, Datagrams, HEADERS, LEAST_SIZE, RoundTrips, until};
pub use departures::Departures;
pub use flows::mean_size;
pub use reader::Reader;
pub use schedule::{Schedule, Spell};

use crate::by_name;
use crate::params::{Choice, Kind, ParamSpec, Params, Refusal, Value};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use std::fmt;
use std::sync::Arc;

/// One kind of traffic.
pub struct TrafficKind {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Parameters that users can set. Kinds over UDP or ICMP have a `size`, the size of their IP packets.
    pub params: &'static [ParamSpec],
    /// Checks what bounds on single parameters cannot say.
    pub check: fn(&Params) -> Result<(), Refusal>,
    /// Returns the canonical form of a choice that can be written in several ways: these are one run, and have one hash.
    pub canonical: fn(Choice) -> Choice,
    /// Role of such flows in a run: the subject, or background.
    pub rank: Rank,
    /// Payload bytes after which such a flow is done. A run ends once all of its flows that have a volume are.
    pub volume: Volume,
    /// Returns the bytes sent in a time if nothing holds the flow up: only for estimates of how long a run takes.
    pub demand: fn(&Params, Duration) -> Demand,
    /// Protocol underneath, with the makers of its ends.
    pub over: Over,
}

/// Payload bytes after which a flow is done.
#[derive(Clone, Copy)]
pub enum Volume {
    /// No volume: it is never done.
    None,
    /// Volume that its parameters give.
    Said(fn(&Params) -> u64),
    /// Volume that is drawn for each flow.
    Drawn(fn(&Params, &mut Rng) -> u64),
}

/// Protocol under a kind of traffic, with the functions that make its two ends.
pub enum Over {
    /// A TCP connection. The function makes the sending end; the other end reads what comes, and closes after the end of the stream.
    Tcp(fn(&Params, Life) -> Box<dyn Application>),
    /// A TCP connection that the receiver opens, and at which the sender listens.
    Asked {
        /// Makes the receiving end, which asks; it closes after the end of the stream.
        asks: fn(&Params) -> Box<dyn Application>,
        /// Makes the sending end. It reads the request.
        answers: fn(&Params) -> Box<dyn Application>,
    },
    /// UDP, or ICMP echo.
    Datagrams {
        /// Makes the end that sends first.
        sender: fn(&Params, Life) -> Box<dyn Datagrams>,
        /// Makes the end that answers, if it does.
        receiver: fn() -> Box<dyn Datagrams>,
        /// Returns the most payload that is due within one second, in bytes.
        peak: fn(&Params) -> f64,
    },
}

/// Facts about its flow that a sending end is given. The time to stop is not its own affair ([`Program::new`], [`until`]).
#[derive(Clone, Debug)]
pub struct Life {
    /// Start of the flow.
    pub start: Time,
    /// Random stream of the flow.
    pub rng: Rng,
    /// Volume that was drawn for it, or that its parameters give.
    pub volume: Option<u64>,
}

/// Rank of flows in a run. The run is about the flows of the first rank that any of its flows has, and never about a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Has a fixed volume.
    Volume,
    /// Takes all bandwidth that it gets.
    Endless,
    /// Has a rate of its own over TCP.
    Limited,
    /// Background traffic.
    Background,
    /// Measures the path.
    Probe,
}

/// Bytes that a flow sends if nothing holds it up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Payload bytes; infinite: all that the path takes.
    pub bytes: f64,
    /// Most payload bytes per packet, for all that the application has to do with it.
    pub piece: u32,
}

impl Demand {
    /// Returns the demand of `packets` packets of `size` bytes (IP).
    pub fn datagrams(packets: f64, size: u32) -> Self {
        let piece = size - HEADERS;
        Demand { bytes: packets * f64::from(piece), piece }
    }
}

/// Every kind, in the order of listings.
pub const REGISTRY: &[TrafficKind] = &[
    bulk::KIND,
    ttcp::KIND,
    fetch::KIND,
    flows::KIND,
    ping::KIND,
    udp::KIND,
    udpmon::KIND,
    sinusoid::KIND,
    on_off::KIND,
    writes::KIND,
    telnet::KIND,
    web::KIND,
];
by_name!(TrafficKind, "kind of traffic", with params);

/// Applications of one flow: a kind, and its parameters.
#[derive(Clone)]
pub struct Traffic {
    kind: &'static TrafficKind,
    /// Parameters. Flows of a group share them: there may be many thousands.
    params: Arc<Params>,
    /// Volume of this flow, where its kind has [`Volume::Drawn`].
    drawn: Option<u64>,
}

impl Traffic {
    /// Returns the traffic of a choice, in its canonical form.
    ///
    /// # Errors
    /// A parameter that cannot be what it is, beside the others.
    pub fn new(choice: Choice) -> Result<Self, Refusal> {
        (named(choice.kind).check)(&choice.params)?;
        let Choice { kind, params } = (named(choice.kind).canonical)(choice);
        let kind = named(kind);
        let params = Params(kind.params.iter().map(|spec| (spec.name, params.get(spec.name))).collect());
        Ok(Traffic { kind, params: Arc::new(params), drawn: None })
    }

    /// Returns the kind `name` with these parameters, and the defaults of the others. Panics if that cannot be.
    pub fn of(name: &str, params: &[(&'static str, Value)]) -> Self {
        Self::new(choice(name).with(params)).unwrap_or_else(|refusal| panic!("{name}: {}: {}", refusal.param, refusal.sentence))
    }

    /// Returns its kind.
    pub fn kind(&self) -> &'static TrafficKind {
        self.kind
    }

    /// Returns its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns true if it goes over a TCP connection.
    pub fn is_tcp(&self) -> bool {
        !matches!(self.kind.over, Over::Datagrams { .. })
    }

    /// Returns the bytes of its IP packets, if it goes over UDP or ICMP.
    pub fn packet_size(&self) -> Option<u32> {
        (!self.is_tcp()).then(|| self.params.integer("size") as u32)
    }

    /// Returns the payload bytes after which it is done, if it ever is. A kind that draws them has none before [`Traffic::draw`].
    pub fn volume(&self) -> Option<u64> {
        match self.kind.volume {
            Volume::None => None,
            Volume::Said(volume) => Some(volume(&self.params)),
            Volume::Drawn(_) => self.drawn,
        }
    }

    /// Returns true if each flow has a volume of its own.
    pub fn is_drawn(&self) -> bool {
        matches!(self.kind.volume, Volume::Drawn(_))
    }

    /// Returns the traffic of one flow of these: with its volume, if each has its own.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> Self {
        let drawn = if let Volume::Drawn(draw) = self.kind.volume { Some(draw(&self.params, rng)) } else { None };
        Traffic { drawn, ..self.clone() }
    }

    /// Returns the bytes sent in `time` if nothing holds the flow up.
    pub fn demand(&self, time: Duration) -> Demand {
        (self.kind.demand)(&self.params, time)
    }

    /// Returns the most payload that is due within one second, in bytes, if it goes over UDP or ICMP.
    pub fn peak(&self) -> Option<u64> {
        match self.kind.over {
            Over::Tcp(_) | Over::Asked { .. } => None,
            Over::Datagrams { peak, .. } => Some(peak(&self.params).ceil() as u64),
        }
    }

    /// Returns the role of such flows in a run.
    pub fn rank(&self) -> Rank {
        self.kind.rank
    }
}

impl PartialEq for Traffic {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.params == other.params && self.drawn == other.drawn
    }
}

impl fmt::Debug for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.kind.name);
        for (name, value) in &self.params.0 {
            out.field(name, value);
        }
        if let Some(volume) = self.drawn {
            out.field("volume", &volume);
        }
        out.finish()
    }
}

const SOME_TIME: Kind = Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) };
/// Kind of the shape of a Pareto distribution that has a mean.
const SHAPE: Kind = Kind::Number { min: 1.01, max: 100.0 };

const fn rate(name: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Rate, default: None, doc }
}

/// Returns a shape, if there is one.
fn shape_of(params: &Params, name: &str) -> Option<f64> {
    if params.is_auto(name) { None } else { Some(params.number(name)) }
}

/// Accepts all parameters, for kinds whose parameters do not contradict each other.
fn nothing_to_check(_: &Params) -> Result<(), Refusal> {
    Ok(())
}

/// Returns the choice, for kinds that can be written in one way only.
fn as_said(choice: Choice) -> Choice {
    choice
}
