//! Actions: what an agent may set, one row each.

use crate::congestion::held::Hold;
use longfat_core::units::Rate;

use super::Param;
use super::moment::Moment;

/// Values that an action can have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Space {
    /// A number from -1 to 1.
    Unit,
    /// One of so many choices, from 0.
    Choices(u32),
}

/// Values that an action sets. `None`: the flow's own control has it.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Command {
    /// Congestion window in bytes.
    pub cwnd: Option<u64>,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
}

impl Command {
    /// Carries it out on `hold`.
    pub fn hold(self, hold: &Hold) {
        hold.set_cwnd(self.cwnd);
        hold.set_pacing_rate(self.pacing_rate);
    }
}

/// Action in the registry.
#[derive(Debug)]
pub struct Action {
    /// Name.
    pub name: &'static str,
    /// Meaning, in one line.
    pub summary: &'static str,
    /// Source of the definition.
    pub source: &'static str,
    /// Values that it can have.
    pub space: Space,
    /// Parameters.
    pub params: &'static [Param],
    /// True if it needs a congestion control beside the agent.
    pub needs_own: bool,
    /// Returns the command: parameters, value, the last moment.
    pub of: fn(&[f64], f64, &Moment) -> Command,
}

/// Largest window (RFC 7323 §2.3).
const MOST_BYTES: f64 = (1 << 30) as f64;
/// Pacing rates as `Simulation.set` takes them.
const BPS: (f64, f64) = (1.0, 1e14);

fn cwnd(bytes: f64, moment: &Moment) -> Command {
    Command { cwnd: Some(bytes.clamp(moment.mss, MOST_BYTES) as u64), pacing_rate: None }
}

/// Pacing at `bps`, under a window of twice the bytes of a round trip, which then does not limit it: the gain of BBR's window
/// (draft-ietf-ccwg-bbr, cwnd_gain).
fn pace(bps: f64, moment: &Moment) -> Command {
    let bps = bps.clamp(BPS.0, BPS.1);
    let window = 2.0 * bps / 8.0 * if moment.srtt.is_nan() { 1.0 } else { moment.srtt };
    Command { pacing_rate: Some(Rate::from_bps(bps as u64)), ..cwnd(window.max(4.0 * moment.mss), moment) }
}

/// The pacing rate, or without pacing the window per round trip.
fn rate(moment: &Moment) -> f64 {
    if moment.pacing_rate.is_nan() { moment.cwnd * 8.0 / moment.srtt.max(1e-6) } else { moment.pacing_rate }
}

/// The point of the way from `least` to `most`, in logarithms, that -1 to 1 stands for.
fn between(least: f64, most: f64, value: f64) -> f64 {
    least * libm::pow(most / least, (value + 1.0) / 2.0)
}

/// Every action, in the order of listings.
pub const REGISTRY: &[Action] = &[
    Action {
        name: "cwnd_factor",
        summary: "multiplies cwnd by factor^a",
        source: "none: longfat's own",
        space: Space::Unit,
        params: &[Param { name: "factor", default: 2.0, doc: "the most by which one decision multiplies or divides" }],
        needs_own: false,
        of: |params, a, moment| cwnd(moment.cwnd * libm::pow(params[0], a), moment),
    },
    Action {
        name: "cwnd_choice",
        summary: "halves cwnd, takes 10 segments away, leaves it, adds 10, or doubles it",
        source: "Yan et al., Pantheon: the training ground for Internet congestion-control research, USENIX ATC 2018 (Indigo), from memory",
        space: Space::Choices(5),
        params: &[],
        needs_own: false,
        of: |_, a, moment| {
            let (now, ten) = (moment.cwnd, 10.0 * moment.mss);
            cwnd([now / 2.0, now - ten, now, now + ten, now * 2.0][a as usize], moment)
        },
    },
    Action {
        name: "own_cwnd_factor",
        summary: "multiplies the window of the flow's own control by 2^(most a)",
        source: "Abbasloo, Yen and Chao, Classic meets modern: a pragmatic learning-based congestion control for the Internet, SIGCOMM 2020 (Orca), from memory",
        space: Space::Unit,
        params: &[Param { name: "most", default: 2.0, doc: "the greatest exponent" }],
        needs_own: true,
        of: |params, a, moment| cwnd(moment.own_cwnd * libm::exp2(params[0] * a), moment),
    },
    Action {
        name: "rate_factor",
        summary: "multiplies the pacing rate by 1 + scale a, or divides it by 1 - scale a for a below 0",
        source: "Jay et al., A deep reinforcement learning perspective on Internet congestion control, ICML 2019 (Aurora), section 3, from memory",
        space: Space::Unit,
        params: &[Param { name: "scale", default: 0.025, doc: "the most by which one decision changes the rate" }],
        needs_own: false,
        of: |params, a, moment| {
            let change = params[0] * a;
            pace(if change >= 0.0 { rate(moment) * (1.0 + change) } else { rate(moment) / (1.0 - change) }, moment)
        },
    },
    Action {
        name: "cwnd",
        summary: "sets cwnd between two numbers of segments, by its logarithm",
        source: "none: longfat's own",
        space: Space::Unit,
        params: &[
            Param { name: "least", default: 2.0, doc: "segments at -1" },
            Param { name: "most", default: 10_000.0, doc: "segments at 1" },
        ],
        needs_own: false,
        of: |params, a, moment| cwnd(between(params[0], params[1], a) * moment.mss, moment),
    },
    Action {
        name: "pacing_rate",
        summary: "sets the pacing rate between two rates, by its logarithm",
        source: "none: longfat's own",
        space: Space::Unit,
        params: &[Param { name: "least", default: 1e5, doc: "bit/s at -1" }, Param { name: "most", default: 1e9, doc: "bit/s at 1" }],
        needs_own: false,
        of: |params, a, moment| pace(between(params[0], params[1], a), moment),
    },
    Action {
        name: "own",
        summary: "leaves the window and the pacing rate to the flow's own control: a baseline with the agent's observations and rewards",
        source: "none: longfat's own",
        space: Space::Choices(1),
        params: &[],
        needs_own: true,
        of: |_, _, _| Command::default(),
    },
];

/// Returns the action of this name.
pub fn find(name: &str) -> Option<&'static Action> {
    REGISTRY.iter().find(|action| action.name == name)
}

impl Space {
    /// Returns true if `value` is one of its values.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Space::Unit => (-1.0..=1.0).contains(&value),
            Space::Choices(n) => value >= 0.0 && value < f64::from(n) && value == libm::trunc(value),
        }
    }
}
