//! Grants: a line on which a sender must ask for time, as the upstream of a cable modem (DOCSIS).
//!
//! Time comes in intervals. In each there is one instant at which the modem may ask: on the burst that it was granted there, or else at
//! some instant of the interval that everyone may use. It asks for all packets that wait and were not asked for. A request is granted, as
//! one burst at the beginning of an interval, as soon as the request can have been heard and the burst announced; the part that does not
//! fit into an interval follows in the next. A token bucket bounds the grants over a long time. Within a burst the line sends waiting
//! packets at its rate: packets may begin in one burst and end in another.
//!
//! All amounts here are times on the line, in picoseconds.

use std::collections::VecDeque;

use super::course::Outages;
use super::service::{GrantedKind, bits_time};
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::{Duration, Time};
use crate::units::Rate;
use crate::units::text::{RATE, TIME};

/// The registry entry.
pub(super) const KIND: GrantedKind = GrantedKind {
    name: "docsis",
    summary: "the upstream of a cable modem: it asks for time on the line, and sends when it is granted, in bursts at rate",
    source: "CableLabs, Data-Over-Cable Service Interface Specifications, MAC and Upper Layer Protocols Interface, CM-SP-MULPIv3.1; the interval, and what happens when, as the documentation of CableLabs' DOCSIS model for ns-3 has it (model-overview)",
    params: &[
        ParamSpec { name: "rate", kind: Kind::Rate, default: None, doc: "within a burst, of framed packets: that of the channel" },
        ParamSpec {
            name: "sustained",
            kind: Kind::Rate,
            default: Some(Value::Auto),
            doc: "the most over a long time, of framed packets (Maximum Sustained Traffic Rate). When not given: rate",
        },
        ParamSpec {
            name: "burst",
            kind: Kind::Bytes { min: 1522, max: 1 << 40 },
            default: Some(Value::Bytes(3044)),
            doc: "framed bytes that may be granted at once when little was before (Maximum Traffic Burst); never less than what sustained is in an interval",
        },
        ParamSpec {
            name: "map_interval",
            kind: INTERVAL,
            default: Some(Value::Duration(Duration::from_millis(2))),
            doc: "from one announcement of grants (MAP) to the next",
        },
        ParamSpec {
            name: "request_to_grant",
            kind: INTERVAL,
            default: Some(Value::Duration(Duration::from_micros(1620))),
            doc: "from a request to the beginning of the first interval in which it can be granted, at least: 12 frames of 0.135 ms",
        },
    ],
    check: |params| {
        let (interval, lead) = (params.duration("map_interval"), params.duration("request_to_grant"));
        if lead > interval * 1000 {
            let words = |time: Duration| TIME.format(time.as_ps());
            return Err(format!("request_to_grant ({}) is more than 1000 times the map_interval ({})", words(lead), words(interval)));
        }
        let (rate, sustained) = (params.rate("rate"), sustained(params));
        if sustained > rate {
            let words = |rate: Rate| RATE.format(rate.as_bps());
            return Err(format!("sustained ({}) is more than rate ({})", words(sustained), words(rate)));
        }
        Ok(())
    },
    build: |params| RequestGrant {
        rate: params.rate("rate"),
        sustained: sustained(params),
        burst: params.integer("burst"),
        interval: params.duration("map_interval"),
        lead: params.duration("request_to_grant"),
    },
};

const INTERVAL: Kind = Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(10) };

fn sustained(params: &Params) -> Rate {
    params.rate(if params.is_auto("sustained") { "rate" } else { "sustained" })
}

/// Configuration of requests and grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestGrant {
    /// Rate of framed packets within a burst.
    pub rate: Rate,
    /// Rate over a long time, not more than `rate`.
    pub sustained: Rate,
    /// Framed bytes that may be granted at once, or those of `sustained` in an interval if these are more.
    pub burst: u64,
    /// Interval in which grants are announced.
    pub interval: Duration,
    /// Time from a request to the first interval in which it can be granted.
    pub lead: Duration,
}

/// State of a transmitter with grants.
#[derive(Clone)]
pub(super) struct Grants {
    config: RequestGrant,
    outages: Outages,
    rng: Rng,
    /// Tokens of line time: those that come with each interval, the most there may be, and those left.
    each: u64,
    most: u64,
    tokens: u64,
    /// Current interval, the time granted in it, the time at which the modem may ask in it, and whether that is over.
    number: u64,
    granted: u64,
    asks: Time,
    has_asked: bool,
    /// Requests not granted yet: the first interval in which each can be granted, and the time on the line that it asks for.
    asked: VecDeque<(u64, u64)>,
    /// Time on the line of the packets that wait in the queue.
    waits: u64,
    /// Time that the packet in the transmitter still needed before this interval, and the instant at which it came there.
    left: u64,
    since: Time,
}

impl Grants {
    pub(super) fn new(config: RequestGrant, outages: Outages, rng: Rng) -> Self {
        let share = u128::from(config.interval.as_ps()) * u128::from(config.sustained.as_bps());
        let each = (share / u128::from(config.rate.as_bps().max(1))).max(1) as u64;
        let most = each.max(bits_time(config.burst * 8, config.rate.as_bps()).as_ps());
        let mut grants = Grants {
            each,
            most,
            tokens: most,
            config,
            outages,
            rng,
            number: 0,
            granted: 0,
            asks: Time::ZERO,
            has_asked: false,
            asked: VecDeque::new(),
            waits: 0,
            left: 0,
            since: Time::ZERO,
        };
        grants.enter(0);
        grants
    }

    /// Returns the time on the line of `bytes` bytes, in ps.
    fn work(&self, bytes: u64) -> u64 {
        bits_time(bytes * 8, self.config.rate.as_bps()).as_ps()
    }

    /// Takes note that the queue holds `bytes` framed bytes since `now`. Times never run backwards.
    pub(super) fn note(&mut self, now: Time, bytes: u64) {
        self.advance(now);
        self.waits = self.work(bytes);
    }

    /// Returns when a packet of `bytes` framed bytes has left that the transmitter takes at `start`; `in_queue` bytes stay in the queue.
    pub(super) fn sends(&mut self, start: Time, bytes: u32, in_queue: u64) -> Time {
        // Packets that arrive at the instant of a request are too late for it. Packets that leave the queue then are in it.
        self.advance(start);
        debug_assert!(self.end().is_none_or(|end| end <= start), "it is free");
        (self.left, self.since, self.waits) = (self.work(bytes.into()), start, self.work(in_queue));
        if let Some(end) = self.end() {
            return end;
        }
        // Later packets do not change the departure of this packet: they are granted later.
        let mut ahead = self.clone();
        loop {
            ahead.ask();
            ahead.leave();
            if let Some(end) = ahead.end() {
                return end;
            }
        }
    }

    /// Returns the least time for a byte.
    pub(super) fn least(&self) -> Duration {
        Duration::from_ps(self.work(1))
    }

    /// Returns when the packet in the transmitter has left, if that is in this burst.
    fn end(&self) -> Option<Time> {
        if self.left == 0 {
            return Some(self.since);
        }
        let end = self.sends_from() + Duration::from_ps(self.left);
        (self.granted > 0 && end <= self.burst_ends()).then_some(end)
    }

    fn begins(&self) -> Time {
        Time::from_ps(self.number * self.config.interval.as_ps())
    }

    fn burst_ends(&self) -> Time {
        self.begins() + Duration::from_ps(self.granted)
    }

    fn sends_from(&self) -> Time {
        self.begins().max(self.since)
    }

    /// Does everything up to and including `now`.
    fn advance(&mut self, now: Time) {
        loop {
            if !self.has_asked {
                if self.asks > now {
                    return;
                }
                self.ask();
            }
            if self.begins() + self.config.interval > now {
                return;
            }
            self.leave();
            if self.left == 0 && self.waits == 0 && self.granted == 0 && self.asked.is_empty() {
                // Nothing happens until it has a packet to ask for.
                let is_in = now.as_ps() / self.config.interval.as_ps();
                if is_in > self.number {
                    self.enter(is_in);
                }
            }
        }
    }

    /// Asks, if it has not in this interval.
    fn ask(&mut self) {
        if std::mem::replace(&mut self.has_asked, true) || self.is_down(self.asks) {
            return;
        }
        let known = self.granted + self.asked.iter().map(|(_, time)| time).sum::<u64>();
        let more = (self.left + self.waits).saturating_sub(known);
        if more > 0 {
            let heard = self.asks + self.config.lead;
            self.asked.push_back((heard.as_ps().div_ceil(self.config.interval.as_ps()), more));
        }
    }

    /// Ends this interval.
    fn leave(&mut self) {
        let can = self.burst_ends().as_ps().saturating_sub(self.sends_from().as_ps());
        self.left -= self.left.min(can);
        self.enter(self.number + 1);
    }

    fn enter(&mut self, number: u64) {
        self.tokens = self.tokens.saturating_add(self.each.saturating_mul(number - self.number)).min(self.most);
        (self.number, self.granted, self.has_asked) = (number, 0, false);
        let begins = self.begins();
        let interval = self.config.interval.as_ps();
        if !self.is_down(begins) {
            let can = interval.min(self.tokens);
            while let Some((first, time)) = self.asked.front_mut()
                && *first <= number
                && self.granted < can
            {
                let part = (*time).min(can - self.granted);
                (self.granted, *time) = (self.granted + part, *time - part);
                if *time == 0 {
                    self.asked.pop_front();
                }
            }
        }
        self.tokens -= self.granted;
        // The request goes on the burst, or else at an instant drawn uniformly.
        self.asks = if self.granted > 0 { begins } else { begins + Duration::from_ps(self.rng.below(interval)) };
    }

    fn is_down(&self, at: Time) -> bool {
        self.outages.next(at).is_some_and(|(from, _)| from <= at)
    }
}

#[cfg(test)]
mod tests;
