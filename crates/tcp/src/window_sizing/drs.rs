//! Dynamic right-sizing, as Weigle and Feng 2001 §II give it: the receiver infers its sender's window from what it receives, and
//! advertises what that window needs in the next round trip, and no more.

use super::flight::{Flight, FlightMeter};
use super::ideal::{SPARE, at_first};
use super::{Answer, Arrival, MAXWND, ReceiveSizing, SendSizing, SendState, SizingKind, check_maxwnd, unbounded};
use crate::TcpConfig;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::Duration;
use longfat_core::units::Capacity;

pub(super) const KIND: SizingKind = SizingKind {
    name: "drs",
    summary: "dynamic right-sizing: the window follows the cwnd that the receiver infers, as far as there is memory",
    source: "Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, section II",
    params: &[
        MAXWND,
        ParamSpec {
            name: "leeway",
            kind: Kind::Window,
            default: Some(Value::Capacity(Capacity::Packets(4))),
            doc: "the paper's delta: buffers change by multiples of so much, since memory is not allocated byte by byte (the paper gives no number)",
        },
        ParamSpec {
            name: "initial",
            kind: Kind::Window,
            default: Some(Value::Capacity(Capacity::Packets(24))),
            doc: "window before anything is known of the sender, and the least later on: by default twice the initial window of RFC 6928, and a step",
        },
        ParamSpec {
            name: "shrink_after",
            kind: Kind::Count { unit: "", min: 1, max: MOST_ROUNDS as u64 },
            default: Some(Value::Count(3)),
            doc: "round trips for which a window stays that would be too large now: the paper's few, enough for what is in the network to arrive",
        },
    ],
    check: check_maxwnd,
    most: unbounded,
    send: |config| Some(Box::new(Source::new(config))),
    receive: |config| Some(Box::new(Drs::new(config))),
};

const MOST_ROUNDS: usize = 8;

/// `bytes` in whole steps of `leeway`.
fn in_steps(bytes: u64, leeway: u64) -> u64 {
    bytes.div_ceil(leeway).saturating_mul(leeway)
}

fn leeway(config: &TcpConfig) -> u64 {
    config.window_sizing.params.window("leeway", config.mss.into()).expect("it has a default")
}

/// The source: fwnd = min(cwnd, awnd, maxwnd), in steps.
#[derive(Debug)]
struct Source {
    leeway: u64,
    buffer: u64,
}

impl Source {
    fn new(config: &TcpConfig) -> Self {
        let leeway = leeway(config);
        Source { leeway, buffer: in_steps(at_first(config), leeway) }
    }
}

impl SendSizing for Source {
    fn update(&mut self, state: &SendState) {
        self.buffer = in_steps(state.needed.min(state.rwnd) + SPARE * state.mss, self.leeway);
    }

    fn buffer(&self) -> u64 {
        self.buffer
    }
}

/// Least growth of the window in a round trip that is still slow start: between the half more that delayed ACKs leave of doubling, or the
/// quarter that HyStart++ leaves (RFC 9406 §4.2), and the segment or so of additive increase.
const FAST: (u64, u64) = (6, 5);

/// The destination.
#[derive(Debug)]
struct Drs {
    meter: FlightMeter,
    leeway: u64,
    initial: u64,
    shrink_after: usize,
    /// True if the sender is taken to be in slow start.
    slow_start: bool,
    /// Round trips in a row without growth like that of slow start.
    steady: u32,
    /// The largest flight of this round trip, and those of the three before; zero: none yet.
    flights: [u64; 4],
    /// True if a window was too full to tell.
    filled: bool,
    /// Target of the window, at most, in this round trip and in those before.
    targets: [u64; MOST_ROUNDS + 1],
    /// The largest of them, in steps.
    window: u64,
    /// Bytes that wait beyond a gap: they are in the window, and in flight no more.
    held: u64,
}

impl Drs {
    fn new(config: &TcpConfig) -> Self {
        let params = &config.window_sizing.params;
        let leeway = leeway(config);
        let initial = in_steps(params.window("initial", config.mss.into()).expect("it has a default"), leeway);
        Drs {
            meter: FlightMeter::default(),
            leeway,
            initial,
            shrink_after: params.integer("shrink_after") as usize,
            slow_start: true,
            steady: 0,
            flights: [0; 4],
            filled: false,
            targets: [0; MOST_ROUNDS + 1],
            window: initial,
            held: 0,
        }
    }

    fn take(&mut self, flight: Flight, segment: u64) {
        self.flights[0] = self.flights[0].max(flight.bytes);
        self.filled |= flight.fills_window;
        if flight.ends_round {
            self.judge();
        }
        self.targets[0] = self.targets[0].max(self.target(flight.bytes, segment));
        let most = self.targets[..=self.shrink_after].iter().copied().max().unwrap_or(0);
        self.window = in_steps(most, self.leeway).max(self.initial);
        if flight.ends_round {
            self.flights.rotate_right(1);
            self.flights[0] = 0;
            self.filled = false;
            self.targets.rotate_right(1);
            self.targets[0] = 0;
        }
    }

    /// A round trip is over: what the sender does (§II: mean rates over the last several round trips).
    fn judge(&mut self) {
        // Over two round trips each, since without timestamps a flight that comes as a burst can fall on either side of a boundary.
        let [now, last, before_last, _] = self.flights;
        let fast = (now + last) * FAST.1 >= (last + before_last) * FAST.0;
        self.steady = if fast { 0 } else { self.steady + 1 };
        // A window that was filled hides what the sender would do. It is taken for slow start, since the other error would hold
        // the sender back for good: one offered cwnd + 1 and one in additive increase look the same from here.
        if fast || self.filled {
            self.slow_start = true;
        } else if self.steady >= 2 {
            self.slow_start = false;
        }
    }

    /// The window to advertise when so much was in flight a round trip ago.
    fn target(&self, flight: u64, segment: u64) -> u64 {
        let [_, last, before_last, earlier] = self.flights;
        if self.slow_start {
            // Flights are a round trip old when the ACK with the new window reaches the sender. In slow start the window has grown by
            // then as it did the round trip before: but a quarter more, since both are counted in whole segments and whole ACKs, and no
            // more than twice.
            let grown = match before_last {
                0 => 2 * flight,
                _ => (u128::from(flight) * u128::from(last + last / 4) / u128::from(before_last)).min(2 * u128::from(flight)) as u64,
            };
            // §II: awnd >= 2 cwnd. Two segments besides, for limited transmit (RFC 3042).
            2 * grown.max(flight) + 2 * segment
        } else {
            // §II: awnd >= cwnd + 1, what additive increase adds in the round trip to come; other controls add more, and here as much as
            // they did. The two segments here also tell a sender at its own window from one at ours.
            let growth = if earlier > 0 { last.saturating_sub(earlier) / 2 } else { 0 };
            flight + growth + growth.max(segment) + 2 * segment
        }
    }
}

impl ReceiveSizing for Drs {
    fn on_established(&mut self, rtt: Duration) {
        self.meter.on_established(rtt);
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        self.held = arrival.received - arrival.next;
        if let Some(flight) = self.meter.on_arrival(arrival, !self.slow_start) {
            self.take(flight, arrival.segment);
        }
    }

    fn on_answer(&mut self, answer: &Answer) {
        self.meter.on_answer(answer);
    }

    fn measured(&self) -> (Duration, u64) {
        (self.meter.rtt(), self.flights[1])
    }

    fn buffer(&self) -> u64 {
        self.window + self.held
    }
}
