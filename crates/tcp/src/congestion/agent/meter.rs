//! The meter: adds up what the hooks of a congestion control tell between two decisions.

use crate::congestion::{AckSample, Congestion, CongestionEvent};
use longfat_core::time::{Duration, Time};

use super::moment::Moment;

/// When a decision is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// At each ACK that delivers something.
    Ack,
    /// Once per round trip of the flow, counted in packets ([`AckSample::round`]).
    Round,
    /// At equal distances in time.
    Time(Duration),
}

/// Measures since the last decision. It needs nothing but a control's hooks, so a control by name has the same observations as an agent.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    mss: f64,
    /// Time of the last decision, and of the last ACK.
    begin: Time,
    now: Time,
    has_begun: bool,
    /// Round of the last ACK, and of the last decision.
    round: u64,
    round_then: u64,
    in_flight: u64,
    srtt: Duration,
    rtt_min: Duration,
    rate_max: f64,
    sums: Sums,
}

/// Sums over the ACKs since the last decision. Times are in seconds, and since the last decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// ACKs that delivered something.
    pub acks: f64,
    /// Bytes delivered.
    pub delivered: u64,
    /// Bytes of these marked CE.
    pub marked: u64,
    /// ACKs that found the window full.
    pub limited: f64,
    /// ACKs in fast recovery.
    pub recovery: f64,
    /// Reductions for losses or marks.
    pub reductions: f64,
    /// Retransmission timeouts.
    pub timeouts: f64,
    /// Round-trip times.
    pub rtts: f64,
    /// Sum of the round-trip times.
    pub rtt: f64,
    /// Sum of the times at which they were measured.
    pub t: f64,
    /// Sum of the squares of these times.
    pub tt: f64,
    /// Sum of time times round-trip time.
    pub t_rtt: f64,
}

/// A step that another meter has measured: the program of the testbed's kernel.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Time of the last decision.
    pub begin: Time,
    /// Time of the last ACK.
    pub now: Time,
    /// Bytes in flight before that ACK.
    pub in_flight: u64,
    /// Smoothed round trip; zero before the first.
    pub srtt: Duration,
    /// Least round trip of the connection; zero before the first.
    pub rtt_min: Duration,
    /// Sums over the ACKs of the step.
    pub sums: Sums,
}

impl Meter {
    /// A meter of a connection with segments of `mss` bytes.
    pub fn new(mss: u64) -> Self {
        Meter { mss: mss as f64, ..Meter::default() }
    }

    /// True once an ACK has delivered data.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Time of the last ACK.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Bytes delivered and marked since the last decision.
    pub fn marked(&self) -> (u64, u64) {
        (self.sums.delivered, self.sums.marked)
    }

    /// Takes a whole step, in place of its ACKs and reductions.
    pub fn take(&mut self, step: Step) {
        (self.begin, self.now, self.has_begun) = (step.begin, step.now, true);
        (self.in_flight, self.srtt, self.rtt_min, self.sums) = (step.in_flight, step.srtt, step.rtt_min, step.sums);
    }

    /// Takes an ACK. Returns true if a decision by `clock` is due.
    pub fn on_ack(&mut self, ack: &AckSample, clock: Clock) -> bool {
        let is_first = !self.has_begun;
        if is_first {
            (self.has_begun, self.begin, self.round_then) = (true, ack.now, ack.round);
        }
        (self.now, self.round) = (ack.now, ack.round);
        (self.in_flight, self.srtt, self.rtt_min) = (ack.in_flight, ack.srtt, ack.rtt_min);
        let sums = &mut self.sums;
        sums.acks += 1.0;
        sums.delivered += ack.delivered;
        sums.marked += ack.marked;
        sums.limited += f64::from(u8::from(ack.cwnd_limited));
        sums.recovery += f64::from(u8::from(ack.in_recovery));
        if let Some(rtt) = ack.rtt {
            let (t, rtt) = (ack.now.since(self.begin).as_secs_f64(), rtt.as_secs_f64());
            sums.rtts += 1.0;
            sums.rtt += rtt;
            sums.t += t;
            sums.tt += t * t;
            sums.t_rtt += t * rtt;
        }
        is_first
            || match clock {
                Clock::Ack => true,
                Clock::Round => self.round != self.round_then,
                // By an ACK, since a control has no timer of its own.
                Clock::Time(every) => ack.now.since(self.begin) >= every,
            }
    }

    /// Takes a reduction that the sender asks for.
    pub fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            Congestion::Timeout | Congestion::TimeoutAgain => self.sums.timeouts += 1.0,
            Congestion::Loss | Congestion::Ecn | Congestion::Local => self.sums.reductions += 1.0,
        }
    }

    /// A decision at `now`, or with the last ACK: returns what has been measured since the last one, and begins anew.
    pub fn decide(&mut self, now: Option<Time>) -> Moment {
        let now = now.unwrap_or(self.now);
        let sums = std::mem::take(&mut self.sums);
        let step = now.since(self.begin).as_secs_f64();
        let delivery_rate = if step > 0.0 { sums.delivered as f64 * 8.0 / step } else { f64::NAN };
        // Over less than a round trip the ACKs of a burst would say more than the path carries.
        if self.srtt > Duration::ZERO && step >= 0.5 * self.srtt.as_secs_f64() {
            self.rate_max = self.rate_max.max(delivery_rate);
        }
        let share = |of: f64| if sums.acks > 0.0 { of / sums.acks } else { f64::NAN };
        // Vivace (Dong et al., NSDI 2018, section 4.1) takes the gradient of the round trip by linear regression.
        let spread = sums.rtts * sums.tt - sums.t * sums.t;
        let gradient = (sums.rtts * sums.t_rtt - sums.t * sums.rtt) / spread;
        let moment = Moment {
            time: now.since(Time::ZERO).as_secs_f64(),
            step,
            mss: self.mss,
            in_flight: self.in_flight as f64,
            srtt: known(self.srtt),
            rtt_min: known(self.rtt_min),
            rtt: sums.rtt / sums.rtts,
            rtt_gradient: if sums.rtts >= 2.0 && spread > 0.0 { gradient } else { f64::NAN },
            delivered: sums.delivered as f64,
            delivery_rate,
            delivery_rate_max: if self.rate_max > 0.0 { self.rate_max } else { f64::NAN },
            reductions: sums.reductions,
            timeouts: sums.timeouts,
            cwnd_limited: share(sums.limited),
            in_recovery: share(sums.recovery),
            ..Moment::default()
        };
        (self.begin, self.round_then) = (now, self.round);
        moment
    }
}

/// Zero is a time not measured yet.
pub fn known(time: Duration) -> f64 {
    if time.is_zero() { f64::NAN } else { time.as_secs_f64() }
}
