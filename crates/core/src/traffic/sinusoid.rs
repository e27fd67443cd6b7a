//! `sinusoid`: UDP whose rate follows a sine wave.

use super::udp::{self, PACKET};
use super::{Over, SOME_TIME, Schedule, TrafficKind, rate};
use crate::params::{ParamSpec, Params, Refusal};
use crate::units::text::RATE;

/// The registry entry.
pub(super) const KIND: TrafficKind = TrafficKind {
    name: "sinusoid",
    summary: "UDP at mean + amplitude sin(2 pi t / period), t from the start of the flow; the run does not wait for it",
    source: "Bulot, Cottrell and Hughes-Jones, Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks, 2004, sections 3 and 4.5",
    params: &[
        rate("mean", "mean rate of IP packets"),
        rate("amplitude", "how far the rate goes above and below the mean; at most the mean"),
        ParamSpec { name: "period", kind: SOME_TIME, default: None, doc: "period of the sine" },
        PACKET,
    ],
    check: |params| {
        let (mean, amplitude) = (params.rate("mean"), params.rate("amplitude"));
        if amplitude <= mean {
            return Ok(());
        }
        let expected = format!("at most the mean, {}", RATE.format(mean.as_bps()));
        Err(Refusal { param: "amplitude", sentence: "the rate would fall below nothing".to_owned(), expected })
    },
    demand: |params, time| udp::demand(schedule(params), params, time),
    over: Over::Datagrams {
        sender: |params, life| udp::sender(schedule(params), params, life),
        receiver: || Box::new(udp::Udp::receive()),
        peak: |params| udp::peak(schedule(params), params),
    },
    ..udp::KIND
};

fn schedule(params: &Params) -> Schedule {
    Schedule::Sinusoid { mean: params.rate("mean"), amplitude: params.rate("amplitude"), period: params.duration("period") }
}
