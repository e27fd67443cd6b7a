//! Random histories of a connection: as the core is told of them, and as the kernel tells a program.

use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_tcp::congestion::{AckSample, Congestion, CongestionControl, CongestionEvent, Unused};

use crate::MSS;

/// Event for which the kernel would call a hook.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// An ACK. Counts are of segments.
    Ack {
        sample: Box<AckSample>,
        una: u32,
        nxt: u32,
        out: u32,
        tsval: u32,
    },
    Loss(Time),
    Recovered(Time),
    Timeout(Time),
    TimeoutAgain(Time),
    Undo,
    Restart,
}

impl Step {
    /// Gives the step to the core's `control`; a reduction leaves `more` bytes more than the control says.
    pub(crate) fn give(&self, control: &mut dyn CongestionControl, more: u64) {
        let mut reduce = |now, kind| {
            // Linux reckons a reduction from cwnd, and so does the core with its stack.
            control.on_congestion(&CongestionEvent { now, kind, flight_size: control.cwnd() });
            let window = control.window_mut().expect("every twin keeps a window");
            window.ssthresh += more;
            window.cwnd += if kind == Congestion::Loss { more } else { 0 };
        };
        match self {
            Step::Ack { sample, .. } => {
                control.on_sample(sample);
                if !sample.in_recovery {
                    control.on_ack(sample);
                }
            }
            Step::Loss(now) => reduce(*now, Congestion::Loss),
            Step::Recovered(now) => control.on_recovered(*now),
            Step::Timeout(now) => reduce(*now, Congestion::Timeout),
            Step::TimeoutAgain(now) => reduce(*now, Congestion::TimeoutAgain),
            Step::Undo => control.on_spurious(),
            Step::Restart => control.on_unused(Unused::Idle(Duration::from_secs(1))),
        }
    }
}

/// A path whose queue fills and empties at random, and a sender on it.
pub(crate) struct History {
    rng: Rng,
    now_us: u64,
    base_us: u64,
    /// Segments per ACK, on average.
    stretch: f64,
    queue_us: f64,
    rtt_min_us: u64,
    srtt_us: f64,
    una: u32,
    round: u64,
    round_end: u32,
    recovery_left: u64,
    /// True from a loss to the end of its repair.
    recovering: bool,
    /// True if the last step was a timeout: the next step depends on it.
    timed_out: bool,
}

impl History {
    pub(crate) fn new(mut rng: Rng) -> Self {
        let stretch = 10.0_f64.powf(2.5 * rng.uniform());
        let base_us = (10.0_f64.powf(2.0 + 3.5 * rng.uniform())) as u64;
        History {
            rng,
            now_us: 5_000_000,
            base_us,
            stretch,
            queue_us: 0.0,
            rtt_min_us: 0,
            srtt_us: 0.0,
            una: 0,
            round: 0,
            round_end: 0,
            recovery_left: 0,
            recovering: false,
            timed_out: false,
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + Duration::from_micros(self.now_us)
    }

    pub(crate) fn next(&mut self) -> Step {
        if self.recovering && self.recovery_left == 0 {
            self.recovering = false;
            return Step::Recovered(self.now());
        }
        self.now_us += 1 + (self.rng.exponential(self.base_us as f64 / 8.0) as u64).min(60_000_000);
        let timed_out = std::mem::take(&mut self.timed_out);
        match self.rng.below(1000) {
            0..6 if self.recovery_left == 0 => {
                self.recovery_left = self.rng.below(12);
                self.recovering = true;
                Step::Loss(self.now())
            }
            6..8 => {
                self.timed_out = true;
                (self.recovery_left, self.recovering) = (0, false);
                Step::Timeout(self.now())
            }
            8..200 if timed_out => {
                self.timed_out = true;
                Step::TimeoutAgain(self.now())
            }
            8..11 => {
                (self.recovery_left, self.recovering) = (0, false);
                Step::Undo
            }
            11..13 => {
                self.now_us += 1_000_000;
                Step::Restart
            }
            _ => self.ack(),
        }
    }

    fn ack(&mut self) -> Step {
        let in_recovery = self.recovery_left > 0;
        self.recovery_left = self.recovery_left.saturating_sub(1);
        let acked = 1 + self.rng.exponential(self.stretch) as u32;
        // Some segments arrive out of order.
        let delivered = acked + if in_recovery { self.rng.below(3) as u32 } else { 0 };
        let out = self.rng.exponential(50.0 * self.stretch) as u32;
        self.una += acked;
        let nxt = self.una + out;
        if self.una > self.round_end {
            self.round += 1;
            self.round_end = nxt;
        }
        // A queue of up to about twice the path, that stays a while as it is.
        let full = 2.0 * self.base_us as f64;
        self.queue_us = (self.queue_us + full / 40.0 * (self.rng.uniform() * 2.0 - 1.05)).clamp(0.0, full);
        let rtt_us = self.base_us + self.queue_us as u64;
        let rtt = (!self.rng.chance(0.1)).then_some(rtt_us);
        // The peer's clock ticks each ms, and began at another time than ours.
        let sent_us = self.now_us - rtt_us.min(self.now_us);
        let tsval = ((sent_us + self.base_us / 2 + self.queue_us as u64) / 1000) as u32 + 77_000_000;
        if rtt.is_some() {
            self.rtt_min_us = if self.rtt_min_us == 0 { rtt_us } else { self.rtt_min_us.min(rtt_us) };
            self.srtt_us = if self.srtt_us == 0.0 { rtt_us as f64 } else { self.srtt_us * 0.875 + rtt_us as f64 * 0.125 };
        }
        let bytes = |segments: u32| u64::from(segments) * MSS;
        let sample = AckSample {
            now: self.now(),
            acked: bytes(acked),
            delivered: bytes(delivered),
            in_flight: bytes(out + acked),
            rtt: rtt.map(Duration::from_micros),
            srtt: Duration::from_micros(self.srtt_us as u64),
            rtt_min: Duration::from_micros(self.rtt_min_us),
            forward_delay: rtt.map(|_| (i64::from(tsval) * 1000 - sent_us as i64) * 1_000_000),
            round: self.round,
            cwnd_limited: !self.rng.chance(0.05),
            in_recovery,
            ..AckSample::default()
        };
        Step::Ack { sample: Box::new(sample), una: self.una, nxt, out, tsval }
    }
}

/// Over 50 ms and a queue that comes and goes, ACKs of one and of two segments. What is sent next follows at once, as late as it may for an
/// ACK of one to count (`max(window / 2, 4)` to a round trip), a little later, or long after; and the receiver may have held the ACK of one
/// until then, for up to 40 ms.
pub(crate) fn with_held_acks(mut rng: Rng, acks: usize) -> Vec<Step> {
    const RTT_US: u64 = 50_000;
    let window = 2 + rng.below(60) as u32;
    let spaced = RTT_US / u64::from((window / 2).max(4));
    let (mut sent_us, mut now_us, mut queue_us) = (2_000_000, 0, 0);
    let (mut una, mut round, mut round_end) = (0, 0, 0);
    let mut steps = vec![Step::Loss(Time::ZERO + Duration::from_secs(1))];
    for _ in 0..acks {
        if rng.chance(0.05) {
            queue_us = 1000 * [0, 0, 2, 8, 30][rng.below(5) as usize];
        }
        let acked = (1 + rng.below(2) as u32).min(window);
        let next_us = sent_us + [0, spaced, spaced + 1, RTT_US][rng.below(4) as usize];
        let held_us = if acked == 1 && rng.chance(0.5) { (next_us - sent_us).min(40_000) } else { 0 };
        // In the order in which they were sent.
        now_us = (sent_us + RTT_US + queue_us + held_us).max(now_us);
        let rtt_us = now_us - sent_us;
        una += acked;
        let out = window - acked;
        if una > round_end {
            (round, round_end) = (round + 1, una + out);
        }
        let tsval = ((now_us - RTT_US / 2) / 1000) as u32 + 77_000_000;
        let sample = AckSample {
            now: Time::ZERO + Duration::from_micros(now_us),
            acked: u64::from(acked) * MSS,
            delivered: u64::from(acked) * MSS,
            in_flight: u64::from(window) * MSS,
            rtt: Some(Duration::from_micros(rtt_us)),
            srtt: Duration::from_micros(RTT_US),
            rtt_min: Duration::from_micros(RTT_US),
            forward_delay: Some((i64::from(tsval) * 1000 - sent_us as i64) * 1_000_000),
            round,
            cwnd_limited: true,
            ..AckSample::default()
        };
        steps.push(Step::Ack { sample: Box::new(sample), una, nxt: una + out, out, tsval });
        sent_us = next_us;
    }
    steps
}
