//! Traffic: what the applications at the two ends of a flow do. One file a kind, one line in [`REGISTRY`].
//!
//! An application decides, without clock or I/O: over TCP it is an [`Application`] with a [`Socket`], over UDP and ICMP it is asked for
//! [`Datagrams`]. The simulator runs them, and a process on a real host could run the very same. What is random comes from the flow's
//! own stream of numbers.

mod application;
mod bulk;
mod datagrams;
mod departures;
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
    /// The one way of saying it, where there are several: these are one run, and have one hash.
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
    /// It never is.
    None,
    /// Its parameters say how many.
    Said(fn(&Params) -> u64),
    /// Each flow has a number of its own.
    Drawn(fn(&Params, &mut Rng) -> u64),
}

/// Protocol under a kind of traffic, with the functions that make its two ends.
pub enum Over {
    /// A TCP connection. This makes the sending end; the other reads what comes, and closes after the end of the stream.
    Tcp(fn(&Params, Life) -> Box<dyn Application>),
    /// UDP, or ICMP echo.
    Datagrams {
        /// Makes the end that sends first.
        sender: fn(&Params, Life) -> Box<dyn Datagrams>,
        /// Makes the end that answers, if it does.
        receiver: fn() -> Box<dyn Datagrams>,
    },
}

/// Facts about its flow that a sending end is given. The time to stop is not its own affair ([`Program::new`], [`until`]).
#[derive(Clone, Debug)]
pub struct Life {
    /// When the flow begins.
    pub start: Time,
    /// The flow's own stream.
    pub rng: Rng,
    /// The volume that was drawn for it, or that its parameters say.
    pub volume: Option<u64>,
}

/// Which flows a run is about: those of the first rank that any of its flows has, and a probe never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Has a fixed volume.
    Volume,
    /// Takes all that the path gives it.
    Endless,
    /// Has a rate of its own over TCP.
    Limited,
    /// Is there for others to meet.
    Background,
    /// Measures the path.
    Probe,
}

/// Bytes that a flow sends if nothing holds it up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Payload bytes; infinite: all that the path takes.
    pub bytes: f64,
    /// Most payload bytes of a packet, for all that the application has to do with it.
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
    /// Flows of a group share them: there may be many thousands.
    params: Arc<Params>,
    /// Volume of this flow, where its kind has [`Volume::Drawn`].
    drawn: Option<u64>,
}

impl Traffic {
    /// The traffic that was chosen, in its one way of saying it.
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

    /// The kind called `name` with these parameters, and the defaults of the others. Panics where that cannot be.
    pub fn of(name: &str, params: &[(&'static str, Value)]) -> Self {
        Self::new(choice(name).with(params)).unwrap_or_else(|refusal| panic!("{name}: {}: {}", refusal.param, refusal.sentence))
    }

    /// Its kind.
    pub fn kind(&self) -> &'static TrafficKind {
        self.kind
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns true if it goes over a TCP connection.
    pub fn is_tcp(&self) -> bool {
        matches!(self.kind.over, Over::Tcp(_))
    }

    /// Bytes of its IP packets, where it goes over UDP or ICMP.
    pub fn packet_size(&self) -> Option<u32> {
        (!self.is_tcp()).then(|| self.params.integer("size") as u32)
    }

    /// Payload bytes after which it is done, if it ever is. Of a kind that draws them none before [`Traffic::draw`].
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

    /// The traffic of one flow of these: with its volume, where each has its own.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> Self {
        let drawn = if let Volume::Drawn(draw) = self.kind.volume { Some(draw(&self.params, rng)) } else { None };
        Traffic { drawn, ..self.clone() }
    }

    /// Returns the bytes sent in `time` if nothing holds the flow up.
    pub fn demand(&self, time: Duration) -> Demand {
        (self.kind.demand)(&self.params, time)
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
/// The shape of a Pareto distribution that has a mean.
const SHAPE: Kind = Kind::Number { min: 1.01, max: 100.0 };

const fn rate(name: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Rate, default: None, doc }
}

/// A shape, where there is one.
fn shape_of(params: &Params, name: &str) -> Option<f64> {
    if params.is_auto(name) { None } else { Some(params.number(name)) }
}

/// For kinds whose parameters do not contradict each other.
fn nothing_to_check(_: &Params) -> Result<(), Refusal> {
    Ok(())
}

/// For kinds that can be said in one way only.
fn as_said(choice: Choice) -> Choice {
    choice
}
