//! Measurement of a path to a reflector of STAMP ([`crate::protocol::stamp`]).

use serde::Serialize;

use crate::protocol::Nanos;
use crate::protocol::stamp::Losses;

/// Packets of one session, and their answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stamped {
    /// Address and port of the reflector.
    pub address: String,
    /// Packets that were sent.
    pub sent: u32,
    /// Time between two: nanoseconds.
    pub interval_ns: Nanos,
    /// Round trips of packets that were answered, without the time at the reflector, in order of their numbers: nanoseconds.
    pub rtt_ns: Vec<Nanos>,
    /// Times that they spent at the reflector.
    pub held_ns: Vec<Nanos>,
    /// Waits in queues on the way there; empty where there are no two answers. `None` where a clock was set meanwhile.
    pub wait_up_ns: Vec<Option<f64>>,
    /// Waits in queues on the way back.
    pub wait_down_ns: Vec<Option<f64>>,
    /// Packets that nobody answered, by direction.
    #[serde(flatten)]
    pub losses: Losses,
    /// Answers beyond the first of a packet.
    pub duplicates: u32,
    /// Routers on the way there, by the TTL that the reflector saw; `None`: it does not tell.
    pub routers_up: Option<u8>,
    /// Rate of the reflector's clock over ours, less 1.
    pub skew: f64,
    /// Steps of a clock.
    pub steps: usize,
    /// True if the reflector says that its clock is synchronised.
    pub is_synchronised: bool,
    /// True if the caller stopped it.
    pub is_cut: bool,
}
