//! The meter: adds up what the hooks of a congestion control tell between two decisions.

use longfat_core::time::{Duration, Time};
use longfat_tcp::congestion::{AckSample, Congestion, CongestionEvent};

use crate::moment::Moment;

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

/// Sums over the ACKs since the last decision.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    acks: f64,
    delivered: u64,
    marked: u64,
    limited: f64,
    recovery: f64,
    reductions: f64,
    timeouts: f64,
    /// Round-trip times: how many; their sum; sums of time, time squared and time times round-trip time.
    rtts: f64,
    rtt: f64,
    t: f64,
    tt: f64,
    t_rtt: f64,
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
    pub(crate) fn marked(&self) -> (u64, u64) {
        (self.sums.delivered, self.sums.marked)
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
pub(crate) fn known(time: Duration) -> f64 {
    if time.is_zero() { f64::NAN } else { time.as_secs_f64() }
}
