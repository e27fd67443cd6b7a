//! Rewards: what an agent is to seek, one row each.

use longfat_tcp::congestion::agent::Param;
use longfat_tcp::congestion::agent::moment::Moment;

/// Reward in the registry.
#[derive(Debug)]
pub struct Reward {
    /// Name.
    pub name: &'static str,
    /// Formula, in one line.
    pub summary: &'static str,
    /// Source of the formula.
    pub source: &'static str,
    /// Parameters.
    pub params: &'static [Param],
    /// Returns the reward of a step. Where nothing was measured, 0.
    pub of: fn(&[f64], &Moment) -> f64,
}

/// Mbit/s delivered in the step; the least that counts is 1 kbit/s, so that logarithms are finite.
fn mbps(moment: &Moment) -> f64 {
    moment.delivery_rate.max(1e3) / 1e6
}

/// The round trip of the step; where it has none, the smoothed one.
fn delay(moment: &Moment) -> f64 {
    if moment.rtt.is_nan() { moment.srtt } else { moment.rtt }
}

/// 0 where it is not known.
fn or_zero(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

/// Every reward, in the order of listings.
pub const REGISTRY: &[Reward] = &[
    Reward {
        name: "power",
        summary: "(delivery rate / capacity)^alpha x rtt_min / rtt: 1 is a full path without a queue",
        source: "Kleinrock, Power and deterministic rules of thumb for probabilistic problems in computer communications, ICC 1979, normalized by the path",
        params: &[Param { name: "alpha", default: 1.0, doc: "weight of throughput" }],
        of: |params, m| libm::pow(m.delivery_rate.max(0.0) / m.capacity, params[0]) * m.rtt_min / delay(m),
    },
    Reward {
        name: "remy",
        summary: "log(delivery rate / Mbit/s) - delta log(rtt / ms)",
        source: "Winstein and Balakrishnan, TCP ex Machina: computer-generated congestion control, SIGCOMM 2013, section 3, with alpha = beta = 1, from memory",
        params: &[Param { name: "delta", default: 1.0, doc: "weight of delay" }],
        of: |params, m| libm::log(mbps(m)) - params[0] * libm::log(delay(m) * 1e3),
    },
    Reward {
        name: "copa",
        summary: "log(delivery rate / Mbit/s) - delta log(queueing delay / ms)",
        source: "Arun and Balakrishnan, Copa: practical delay-based congestion control for the Internet, NSDI 2018, section 2, from memory; the delay is rtt - rtt_min, at least 1 ms",
        params: &[Param { name: "delta", default: 0.5, doc: "weight of delay" }],
        of: |params, m| libm::log(mbps(m)) - params[0] * libm::log(((delay(m) - m.rtt_min) * 1e3).max(1.0)),
    },
    Reward {
        name: "vivace",
        summary: "x^t - b x dRTT/dt - c x L, with x the sending rate in Mbit/s and L the loss",
        source: "Dong et al., PCC Vivace: online-learning congestion control, NSDI 2018, equation 1; the constants from memory",
        params: &[
            Param { name: "t", default: 0.9, doc: "exponent of the rate" },
            Param { name: "b", default: 900.0, doc: "weight of the gradient of the round trip" },
            Param { name: "c", default: 11.35, doc: "weight of loss" },
        ],
        of: |params, m| {
            let x = or_zero(m.sent * 8.0 / 1e6 / m.step);
            libm::pow(x, params[0]) - params[1] * x * or_zero(m.rtt_gradient) - params[2] * x * or_zero(m.loss)
        },
    },
    Reward {
        name: "aurora",
        summary: "rate x delivery rate in packets/s - delay x rtt in s - loss x share lost",
        source: "Jay et al., A deep reinforcement learning perspective on Internet congestion control, ICML 2019 (Aurora), section 3, from memory",
        params: &[
            Param { name: "rate", default: 10.0, doc: "weight of throughput" },
            Param { name: "delay", default: 1000.0, doc: "weight of delay" },
            Param { name: "loss", default: 2000.0, doc: "weight of loss" },
        ],
        of: |params, m| params[0] * m.segments(m.delivery_rate / 8.0) - params[1] * delay(m) - params[2] * or_zero(m.loss),
    },
    Reward {
        name: "fairness",
        summary: "Jain's index of what the TCP flows delivered x their utilization of the path",
        source: "Jain, Chiu and Hawe, A quantitative measure of fairness and discrimination, DEC TR-301, 1984; the product is longfat's own",
        params: &[],
        of: |_, m| m.fairness * m.utilization.min(1.0),
    },
];

/// Returns the reward of this name.
pub fn find(name: &str) -> Option<&'static Reward> {
    REGISTRY.iter().find(|reward| reward.name == name)
}

impl Reward {
    /// Returns the reward of a step with these parameters; 0 where nothing was measured.
    pub fn compute(&self, params: &[f64], moment: &Moment) -> f64 {
        or_zero((self.of)(params, moment))
    }
}
