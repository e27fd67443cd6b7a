//! `on_off`: UDP on and off for random times with heavy tails.

use super::udp::{self, PACKET};
use super::{Over, SHAPE, SOME_TIME, Schedule, Spell, TrafficKind, rate, shape_of};
use crate::params::{ParamSpec, Params, Value};

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "on_off",
    summary: "UDP on and off for random times with heavy tails: many together are long-range dependent; the run does not wait for it",
    source: "Willinger, Taqqu, Sherman and Wilson, Self-Similarity Through High-Variability, IEEE/ACM ToN 5(1), 1997; Cox, Renewal Theory, 1962",
    params: &[
        rate("rate", "rate of IP packets, while on"),
        PACKET,
        ParamSpec { name: "on", kind: SOME_TIME, default: None, doc: "mean of the times it is on" },
        ParamSpec { name: "off", kind: SOME_TIME, default: None, doc: "mean of the times it is off" },
        shape("on_shape", "shape of the Pareto distribution of the times on; the variance is infinite below 2"),
        shape("off_shape", "the same of the times off"),
    ],
    check: udp::holds_a_packet,
    demand: |params, time| udp::demand(schedule(params), params, time),
    over: Over::Datagrams {
        sender: |params, life| udp::sender(schedule(params), params, life),
        receiver: || Box::new(udp::Udp::receive()),
        peak: |params| udp::peak(schedule(params), params),
    },
    ..udp::KIND
};

const fn shape(name: &'static str, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: SHAPE, default: Some(Value::Number(1.5)), doc }
}

fn schedule(params: &Params) -> Schedule {
    let spell = |mean, shape| Spell { mean: params.duration(mean), shape: shape_of(params, shape) };
    Schedule::OnOff { rate: params.rate("rate"), on: spell("on", "on_shape"), off: spell("off", "off_shape") }
}
