//! Helpers that the unit tests of the controls share: a control in congestion avoidance, round trips of ACKs, losses.

use super::*;
use crate::stack;
use longfat_core::params::Value;

pub(super) const MSS: u64 = 1000;

/// The control `name` with `params`, `cwnd` segments of [`MSS`] in congestion avoidance; every ACK counts its bytes.
pub(super) fn config(name: &str, params: &[(&'static str, Value)], cwnd: u64) -> TcpConfig {
    let mut control = choice(name);
    for (name, value) in params {
        control.params.set(name, *value);
    }
    TcpConfig {
        congestion_control: control,
        mss: MSS as u32,
        initial_window: cwnd as u32,
        initial_ssthresh: 2 * MSS,
        ..TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500)
    }
}

/// Returns an ACK for one segment.
pub(super) fn ack(now: Time, rtt: Duration) -> AckSample {
    AckSample { now, acked: MSS, delivered: MSS, rtt: Some(rtt), srtt: rtt, rtt_min: rtt, cwnd_limited: true, ..AckSample::default() }
}

pub(super) use crate::conformance::give;

/// A round trip: an ACK for each segment of the window, spread over `sample.rtt`, in round `sample.round`. When it ends.
pub(super) fn round(control: &mut dyn CongestionControl, sample: &AckSample) -> Time {
    let rtt = sample.rtt.unwrap();
    let n = control.cwnd() / MSS;
    for i in 0..n {
        let now = sample.now + Duration::from_ps((u128::from(rtt.as_ps()) * u128::from(i) / u128::from(n)) as u64);
        let in_flight = control.cwnd();
        give(control, &AckSample { now, in_flight, ..*sample });
    }
    sample.now + rtt
}

/// `n` round trips of `rtt` from `now` on, numbered from `number`. When the last ends.
pub(super) fn rounds(control: &mut dyn CongestionControl, mut now: Time, rtt: Duration, number: u64, n: u64) -> Time {
    for i in 0..n {
        now = round(control, &AckSample { round: number + i, ..ack(now, rtt) });
    }
    now
}

/// A reduction with the whole window in flight.
pub(super) fn reduce(control: &mut dyn CongestionControl, now: Time, kind: Congestion) {
    let flight_size = control.cwnd();
    control.on_congestion(&CongestionEvent { now, kind, flight_size });
}

/// `cwnd` in segments.
pub(super) fn segments(control: &dyn CongestionControl) -> f64 {
    control.cwnd() as f64 / MSS as f64
}

/// A path whose round trips a test chooses, and where a connection over it is in its rounds.
pub(super) struct Path {
    rtt_min: Duration,
    round: u64,
    pub now: Time,
}

impl Path {
    /// A path of so many milliseconds while it is empty.
    pub(super) fn new(rtt_min: u64) -> Self {
        Path { rtt_min: Duration::from_millis(rtt_min), round: 0, now: Time::ZERO }
    }

    /// Plays a round trip of `rtt` milliseconds.
    pub(super) fn round(&mut self, control: &mut dyn CongestionControl, rtt: u64) {
        self.round_with(control, rtt, None);
    }

    /// Plays a round trip of `rtt` milliseconds, with a one-way delay in milliseconds.
    pub(super) fn round_with(&mut self, control: &mut dyn CongestionControl, rtt: u64, forward_delay: Option<i64>) {
        self.round += 1;
        let forward_delay = forward_delay.map(|ms| ms * 1_000_000_000);
        let sample = AckSample { round: self.round, rtt_min: self.rtt_min, forward_delay, ..ack(self.now, Duration::from_millis(rtt)) };
        self.now = round(control, &sample);
    }
}
