//! `udp`: UDP packets (RFC 768) that leave on schedule, without feedback.

use super::datagrams::{Arrived, HEADERS};
use super::{
    Datagram, DatagramStats, Datagrams, Demand, Departures, LEAST_SIZE, Life, Over, Rank, SOME_TIME, Schedule, Spell, Traffic, TrafficKind,
    Volume, as_said, rate,
};
use crate::params::{Kind, ParamSpec, Params, Refusal, Value};
use crate::time::{Duration, Time};
use crate::units::Rate;
use crate::units::text::TIME;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "udp",
    summary: "UDP at a constant rate, or on and off at even times; the run does not wait for it",
    source: "RFC 768",
    params: &[
        rate("rate", "rate of IP packets, while on"),
        PACKET,
        ParamSpec {
            name: "on",
            kind: SOME_TIME,
            default: Some(Value::Auto),
            doc: "how long it sends before each pause; by default it does not pause",
        },
        ParamSpec { name: "off", kind: SOME_TIME, default: Some(Value::Auto), doc: "how long each pause is" },
    ],
    check: |params| {
        let (on, off) = (params.is_auto("on"), params.is_auto("off"));
        if on != off {
            let (there, missing) = if off { ("on", "off") } else { ("off", "on") };
            let sentence = format!("there is `{there}` without `{missing}`");
            return Err(Refusal { param: there, sentence, expected: "both, or neither".to_owned() });
        }
        if on { Ok(()) } else { holds_a_packet(params) }
    },
    canonical: as_said,
    rank: Rank::Background,
    volume: Volume::None,
    demand: |params, time| demand(schedule(params), params, time),
    over: Over::Datagrams {
        sender: |params, life| sender(schedule(params), params, life),
        receiver: || Box::new(Udp::receive()),
        peak: |params| peak(schedule(params), params),
    },
};

impl Traffic {
    /// Returns the traffic of UDP in packets of `size` bytes (IP) at a constant `rate`.
    pub fn udp(rate: Rate, size: u32) -> Self {
        Traffic::of("udp", &[("rate", Value::Rate(rate)), ("size", Value::Bytes(size.into()))])
    }
}

/// Parameter that every kind of UDP has.
pub(super) const PACKET: ParamSpec = ParamSpec {
    name: "size",
    kind: Kind::Bytes { min: LEAST_SIZE as u64, max: 65_535 },
    default: Some(Value::Bytes(1500)),
    doc: "the whole IP packet",
};

/// Checks that the times on have room for a packet.
pub(super) fn holds_a_packet(params: &Params) -> Result<(), Refusal> {
    let least = params.rate("rate").transmit_time(params.integer("size"));
    if params.duration("on") >= least {
        return Ok(());
    }
    let expected = format!("at least {}, the time of a packet", TIME.format(least.as_ps()));
    Err(Refusal { param: "on", sentence: "a packet takes longer than it is on".to_owned(), expected })
}

/// Returns the sending end of UDP on this schedule.
pub(super) fn sender(schedule: Schedule, params: &Params, life: Life) -> Box<dyn Datagrams> {
    let size = params.integer("size") as u32;
    Box::new(Udp::send(Departures::new(schedule, size, life.start, life.rng), size))
}

/// Returns the demand of UDP on this schedule in `time`.
pub(super) fn demand(schedule: Schedule, params: &Params, time: Duration) -> Demand {
    let size = params.integer("size") as u32;
    let packets = schedule.mean_bps() * time.as_secs_f64() / (8.0 * f64::from(size));
    Demand::datagrams(packets, size)
}

/// Returns the most payload of UDP on this schedule within one second, in bytes.
pub(super) fn peak(schedule: Schedule, params: &Params) -> f64 {
    let size = params.integer("size") as f64;
    (schedule.peak_bps() / 8.0 / size).ceil() * (size - f64::from(HEADERS))
}

fn schedule(params: &Params) -> Schedule {
    let (rate, spell) = (params.rate("rate"), |name| Spell { mean: params.duration(name), shape: None });
    if params.is_auto("on") { Schedule::Constant { rate } } else { Schedule::OnOff { rate, on: spell("on"), off: spell("off") } }
}

/// One end of UDP: the one that sends, or the one that receives.
#[derive(Debug)]
pub(super) struct Udp {
    /// Departures; `None`: this end receives.
    departures: Option<Departures>,
    size: u32,
    sent: u64,
    arrived: Arrived,
}

impl Udp {
    /// Returns the end that sends packets of `size` bytes (the whole IP packet).
    pub(super) fn send(departures: Departures, size: u32) -> Self {
        assert!((LEAST_SIZE..=65_535).contains(&size), "a packet of {size} bytes");
        Udp { departures: Some(departures), size, sent: 0, arrived: Arrived::default() }
    }

    /// Returns the end that receives.
    pub(super) fn receive() -> Self {
        Udp { departures: None, size: LEAST_SIZE, sent: 0, arrived: Arrived::default() }
    }
}

impl Datagrams for Udp {
    fn handle(&mut self, _now: Time, datagram: &Datagram) {
        self.arrived.add(datagram);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if self.poll_timeout()? > now {
            return None;
        }
        let datagram = Datagram { number: self.sent as u32, size: self.size, is_reply: false };
        self.sent += 1;
        self.departures.as_mut()?.advance();
        Some(datagram)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.departures.as_ref().map(Departures::next)
    }

    fn stats(&self) -> DatagramStats {
        let bytes_sent = self.sent * u64::from(self.size - HEADERS);
        DatagramStats { sent: self.sent, bytes_sent, ..self.arrived.stats() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::traffic::until;

    #[test]
    fn sends_in_time_until_it_stops() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let departures = Departures::new(Schedule::Constant { rate: Rate::from_bps(12_000) }, 1500, at(500), Rng::named(1, "udp"));
        let (mut a, mut b) = (until(at(2500), Box::new(Udp::send(departures, 1500))), Udp::receive());
        assert_eq!((a.poll_transmit(at(499)), a.poll_timeout(), b.poll_timeout()), (None, Some(at(500)), None));
        for ms in [500, 1500] {
            let packet = a.poll_transmit(at(ms)).unwrap();
            assert_eq!((packet.size, a.poll_transmit(at(ms))), (1500, None));
            b.handle(at(ms), &packet);
        }
        assert_eq!((a.poll_timeout(), a.poll_transmit(at(2500))), (None, None), "it has stopped");
        assert_eq!((a.stats().sent, a.stats().bytes_sent, b.stats().bytes_delivered), (2, 2 * 1472, 2 * 1472));
    }
}
