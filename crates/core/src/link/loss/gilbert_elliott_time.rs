//! `gilbert_elliott_time`: losses in bursts of time, as of a radio link or a handover: the line is good or bad for a while, however much is sent.

use super::{CORRUPTION, Fate, Loss, LossKind, draw, probability};
use crate::packet::Packet;
use crate::params::{Kind, ParamSpec, Params, Value};
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// The registry entry.
pub(super) const KIND: LossKind = LossKind {
    name: "gilbert_elliott_time",
    summary: "losses in bursts of time: the line is good or bad for a while, however many packets it carries meanwhile",
    source: "Gilbert, Capacity of a Burst-Noise Channel, BSTJ 39(5), 1960; in continuous time as in Altman, Avrachenkov and Barakat, TCP in Presence of Bursty Losses, Performance Evaluation 42, 2000",
    params: &[
        time("good_for", "mean time for which the line is good"),
        time("bad_for", "mean time for which it is bad"),
        ParamSpec {
            name: "lengths",
            kind: Kind::Choice(&["exponential", "fixed"]),
            default: Some(Value::Choice("exponential")),
            doc: "how these times are distributed; `fixed`: each is its mean, and only where the line is at the start is random",
        },
        probability("loss_good", Some(Value::Number(0.0)), "probability that a packet is lost on a good line"),
        probability("loss_bad", Some(Value::Number(1.0)), "probability that a packet is lost on a bad line"),
        CORRUPTION,
    ],
    check: |_| Ok(()),
    build: |params, rng| Some(Box::new(InTime::new(params, rng))),
};

const fn time(name: &'static str, doc: &'static str) -> ParamSpec {
    let kind = Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) };
    ParamSpec { name, kind, default: None, doc }
}

/// Pairs are indexed by the state: good, bad.
struct InTime {
    bad: bool,
    /// Time at which the state ends.
    until: Time,
    lengths: [Duration; 2],
    fixed: bool,
    loss: [f64; 2],
    corruption: f64,
    /// Stream of the states, apart from the packets' fates: the bad times do not depend on the packets.
    states: Rng,
    fates: Rng,
}

impl InTime {
    fn new(params: &Params, mut rng: Rng) -> Self {
        let lengths = [params.duration("good_for"), params.duration("bad_for")];
        let states = Rng::named(rng.next_u64(), "states");
        let mut line = InTime {
            bad: false,
            until: Time::ZERO,
            lengths,
            fixed: params.choice("lengths") == "fixed",
            loss: [params.number("loss_good"), params.number("loss_bad")],
            corruption: params.number("corruption"),
            states,
            fates: rng,
        };
        // Stationary start: the line is bad with the probability of its share of time, and, with fixed lengths, at any point of the state.
        let [good, bad] = lengths.map(|length| length.as_ps() as f64);
        line.bad = line.states.chance(bad / (good + bad));
        let first = line.length();
        let part = if line.fixed { line.states.uniform() } else { 1.0 };
        line.until = Time::ZERO.saturating_add(Duration::from_ps((first.as_ps() as f64 * part) as u64));
        line
    }

    /// Draws the length of the state that begins.
    fn length(&mut self) -> Duration {
        let mean = self.lengths[usize::from(self.bad)];
        if self.fixed { mean } else { Duration::from_ps(1 + self.states.exponential(mean.as_ps() as f64) as u64) }
    }
}

impl Loss for InTime {
    fn on_packet(&mut self, now: Time, _packet: &Packet) -> Fate {
        while self.until <= now {
            self.bad = !self.bad;
            self.until = self.until.saturating_add(self.length());
        }
        draw(&mut self.fates, self.loss[usize::from(self.bad)], self.corruption)
    }
}
