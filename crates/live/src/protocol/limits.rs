//! Limits of a server, and the ledger that holds it to them: per key, per network (/24 of IPv4, /56 of IPv6), and in all.

use std::collections::VecDeque;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::message::Offer;
use super::noise::KeyId;
use super::{Nanos, SECOND};

/// Time in which a handshake must be over.
pub const HANDSHAKE: Nanos = 5 * SECOND;
/// Time over which bytes are counted.
const HOUR: Nanos = 3600 * SECOND;
/// Time beside its running for which a session is reckoned to have its turn.
const AROUND_MS: u64 = 5000;

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds for which a session may send.
    pub seconds: u64,
    /// Bytes that a session may send.
    pub bytes: u64,
    /// Bound of the rate of all flows of a session together, in bit/s of payload; 0: none.
    pub rate: u64,
    /// Bound of the rate of a session's datagrams in each direction, flows and probes, in bit/s of UDP payload; 0: none are sent.
    pub udp_rate: u64,
    /// Bytes of UDP payload, both ways together, of a session that surveys the path; 0: none may.
    pub survey_bytes: u64,
    /// Flows of a session.
    pub flows: u64,
    /// Bytes per hour of one key.
    pub key_bytes_per_hour: u64,
    /// Bytes per hour of one network.
    pub network_bytes_per_hour: u64,
    /// Bytes per hour in all.
    pub bytes_per_hour: u64,
    /// Sessions that wait for their turn.
    pub waiting: u32,
    /// Handshakes under way of one network.
    pub network_handshakes: u32,
    /// Handshakes under way in all.
    pub handshakes: u32,
}

impl Default for Limits {
    /// Returns the limits of sessions with a key.
    fn default() -> Self {
        Limits {
            seconds: 3600,
            bytes: 1 << 42,
            rate: 0,
            udp_rate: 10_000_000,
            survey_bytes: 20_000_000,
            flows: 64,
            key_bytes_per_hour: 1 << 43,
            network_bytes_per_hour: 1 << 43,
            bytes_per_hour: 1 << 44,
            waiting: 16,
            network_handshakes: 8,
            handshakes: 64,
        }
    }
}

impl Limits {
    /// Returns the limits of sessions without a key: enough to see a path, too little to harm one.
    pub fn open() -> Self {
        Limits {
            seconds: 15,
            bytes: 1 << 30,
            rate: 1_000_000_000,
            udp_rate: 0,
            survey_bytes: 0,
            flows: 4,
            key_bytes_per_hour: 1 << 33,
            network_bytes_per_hour: 1 << 32,
            bytes_per_hour: 1 << 33,
            waiting: 4,
            ..Limits::default()
        }
    }
}

/// Whose a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// Key; `None`: none, on an open server.
    pub key: Option<KeyId>,
    /// Address from which it came.
    pub address: IpAddr,
}

/// Returns the network of an address: the first 24 bits of IPv4, also where it is written as IPv6, and the first 56 of IPv6.
pub fn network(address: IpAddr) -> [u8; 8] {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            [0, 0, 0, 0, 4, a, b, c]
        }
        IpAddr::V6(v6) => {
            let mut first = [0; 8];
            first[..7].copy_from_slice(&v6.octets()[..7]);
            // Apart from the form of IPv4: no global address of IPv6 begins with zeros (RFC 4291).
            first[7] = 6;
            first
        }
    }
}

/// Limits of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Milliseconds for which it may send.
    pub ms: u64,
    /// Bytes of payload that it may send.
    pub bytes: u64,
    /// Bound of the rate, in bit/s of payload.
    pub rate: Option<u64>,
    /// Bound of the rate of its datagrams in each direction, in bit/s of UDP payload; `None`: it has none.
    pub udp_rate: Option<u64>,
    /// True if it has probes.
    pub probes: bool,
}

/// Bytes that were sent.
#[derive(Clone, Copy, Debug)]
struct Spent {
    at: Nanos,
    who: Who,
    bytes: u64,
}

/// A session that has its turn, or waits for it.
#[derive(Clone, Copy, Debug)]
struct Turn {
    session: u64,
    ms: u64,
}

/// Ledger of a server.
#[derive(Debug)]
pub struct Ledger {
    limits: Limits,
    /// Limits of sessions without a key.
    open: Limits,
    handshakes: Vec<(Nanos, [u8; 8])>,
    spent: VecDeque<Spent>,
    turns: Vec<Turn>,
}

impl Ledger {
    /// Returns an empty ledger: `limits` are of sessions with a key, `open` of those without.
    pub fn new(limits: Limits, open: Limits) -> Self {
        Ledger { limits, open, handshakes: Vec::new(), spent: VecDeque::new(), turns: Vec::new() }
    }

    fn limits_of(&self, who: &Who) -> Limits {
        if who.key.is_some() { self.limits } else { self.open }
    }

    /// Lets a handshake from `address` begin; false: there are too many. One that is not over in time counts no more. So many as are `awaited`
    /// from there, connections of sessions that were granted, may begin beside those of strangers.
    pub fn begin_handshake(&mut self, now: Nanos, address: IpAddr, awaited: usize) -> bool {
        self.handshakes.retain(|(end, _)| *end > now);
        let of = network(address);
        let near = self.handshakes.iter().filter(|(_, network)| *network == of).count();
        let is_let =
            near < self.limits.network_handshakes as usize + awaited && self.handshakes.len() < self.limits.handshakes as usize + awaited;
        if is_let {
            self.handshakes.push((now + HANDSHAKE, of));
        }
        is_let
    }

    /// A handshake from `address` is over, well or not.
    pub fn end_handshake(&mut self, address: IpAddr) {
        let of = network(address);
        if let Some(at) = self.handshakes.iter().position(|(_, network)| *network == of) {
            self.handshakes.swap_remove(at);
        }
    }

    /// Cuts `offer` to what `who` may do now; or the reason why nothing is left.
    ///
    /// # Errors
    /// The reason, in a sentence for the client.
    pub fn grant(&mut self, now: Nanos, who: Who, offer: &Offer) -> Result<Grant, String> {
        while self.spent.front().is_some_and(|spent| now.saturating_sub(spent.at) > HOUR) {
            self.spent.pop_front();
        }
        let spent = |is: &dyn Fn(&Who) -> bool| -> u64 {
            self.spent.iter().filter(|spent| is(&spent.who)).fold(0, |sum, spent| sum.saturating_add(spent.bytes))
        };
        let limits = self.limits_of(&who);
        let left = [
            (limits.key_bytes_per_hour, spent(&|other| other.key == who.key), "this key"),
            (limits.network_bytes_per_hour, spent(&|other| network(other.address) == network(who.address)), "your network"),
            (limits.bytes_per_hour, spent(&|_| true), "this server"),
        ];
        let (least, whose) =
            left.map(|(limit, spent, whose)| (limit.saturating_sub(spent), whose)).into_iter().min().expect("there are three");
        let bytes = least.min(limits.bytes);
        if bytes == 0 || limits.seconds == 0 {
            return Err(format!("{whose} has sent all that it may per hour: try again in an hour"));
        }
        if offer.flows.len() as u64 > limits.flows {
            return Err(format!("{} flows were asked for, and a session may have {}", offer.flows.len(), limits.flows));
        }
        if let Some(asked) = offer.survey {
            if limits.survey_bytes == 0 {
                return Err("nobody may survey the path: the limit `survey_bytes` is 0 there".to_owned());
            }
            // Its datagrams are bounded by their bytes, and its bursts by the rate of flows.
            let bytes = bytes.min(limits.survey_bytes).min(asked);
            let rate = Some(limits.rate).filter(|rate| *rate > 0);
            return Ok(Grant { ms: offer.ms.min(1000 * limits.seconds), bytes, rate, udp_rate: Some(0), probes: true });
        }
        let rates = offer.udp_rates();
        let most = rates.into_iter().max().unwrap_or(0);
        if most > limits.udp_rate {
            let why = format!(
                "{most} bit/s of UDP payload were asked for in one direction, and the limit `udp_rate` is {} there",
                limits.udp_rate
            );
            return Err(why);
        }
        let all = rates[0].saturating_add(rates[1]);
        if limits.rate > 0 && all >= limits.rate {
            return Err(format!("{all} bit/s of UDP payload were asked for, and the limit `rate` of all flows is {} there", limits.rate));
        }
        let probes = offer.probe.is_some_and(|probe| most.saturating_add(probe.rate()) <= limits.udp_rate);
        let udp_rate = Some(limits.udp_rate).filter(|_| probes || most > 0);
        let rate = Some(limits.rate).filter(|rate| *rate > 0);
        Ok(Grant { ms: offer.ms.min(1000 * limits.seconds), bytes, rate, udp_rate, probes })
    }

    /// Notes that `who` has sent `bytes`.
    pub fn spend(&mut self, now: Nanos, who: Who, bytes: u64) {
        if bytes > 0 {
            self.spent.push_back(Spent { at: now, who, bytes });
        }
    }

    /// Puts `session` of `who`, which runs for `ms`, in line; false: the queue is full.
    pub fn enter(&mut self, session: u64, who: &Who, ms: u64) -> bool {
        let is_let = self.turns.len() <= self.limits_of(who).waiting as usize;
        if is_let {
            self.turns.push(Turn { session, ms: ms.saturating_add(AROUND_MS) });
        }
        is_let
    }

    /// Returns the sessions before `session`, and the milliseconds that they take at most; none: it is its turn. `None`: it is not in line.
    pub fn before(&self, session: u64) -> Option<(u32, u64)> {
        let place = self.turns.iter().position(|turn| turn.session == session)?;
        Some((place as u32, self.turns[..place].iter().fold(0, |sum: u64, turn| sum.saturating_add(turn.ms))))
    }

    /// `session` is over, or has given up its place.
    pub fn leave(&mut self, session: u64) {
        self.turns.retain(|turn| turn.session != session);
    }
}
