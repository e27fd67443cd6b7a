//! Round trips: the estimator and the clocks it reads, what is timed, and what timestamps tell.

use crate::clock::Clock;
use crate::rtt::{RttEstimator, Rules};
use crate::seq::{TIMESTAMP_LIFE, timestamp_before};
use crate::{RtoMinOf, TcpConfig};
use longfat_core::packet::Segment;
use longfat_core::quantiles::Quantiles;
use longfat_core::time::{Duration, Time};
use std::num::NonZeroU64;

#[derive(Debug)]
pub(crate) struct RoundTrips {
    estimator: RttEstimator,
    /// Clock of the stack's timers, and of round trips measured without timestamps.
    clock: Clock,
    /// Clock of our TSvals, where the SYNs agreed on timestamps.
    timestamps: Option<Clock>,
    /// The next sample for the estimator is of data beyond this; or the first of a round trip, where every ACK gives one.
    sampled_until: u64,
    /// Segment timed without timestamps on a ticking clock, one at a time: (end offset, tick).
    timed: Option<(NonZeroU64, u64)>,
    /// The least that was measured; zero without one.
    least: Duration,
    /// The exact ones since they were last forgotten.
    measured: Quantiles,
}

/// An ACK as it may answer a retransmission: by how long that has been out, and by what the ACK echoes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub now: Time,
    pub rtt_min: Duration,
    /// The clock of our timestamps, and the tick of it that the ACK echoes.
    pub echo: Option<(Clock, u32)>,
}

impl Answer {
    /// The ACK can be that of a retransmission `sent` then, and not of what was sent before it: RFC 8985 §6.2 step 2.
    #[inline]
    pub(crate) fn is_of(self, sent: Time) -> bool {
        let is_older = |(clock, ecr): (Clock, u32)| timestamp_before(ecr, clock.ticks(sent) as u32);
        self.now.since(sent) >= self.rtt_min && !self.echo.is_some_and(is_older)
    }
}

/// RFC 6298 §2 with the bounds of the stack: G is the clock's tick; of an exact clock, 1 ms.
fn estimator(config: &TcpConfig) -> RttEstimator {
    let granularity = if config.timers.slow_timer.is_zero() { Duration::from_millis(1) } else { config.timers.slow_timer };
    let (min, granularity) = if config.timers.rto_min_of == RtoMinOf::Variance {
        (Duration::ZERO, granularity.max(config.timers.rto_min))
    } else {
        (config.timers.rto_min, granularity)
    };
    let (variances, doublings) = (config.timers.rto_variances, config.timers.rto_doublings);
    let of_each_ack = config.timers.rtt_of_each_ack && config.timers.slow_timer.is_zero();
    let rules = Rules { min, max: config.timers.rto_max, granularity, variances, doublings };
    RttEstimator::new(rules, config.timers.rto_initial, of_each_ack)
}

impl RoundTrips {
    /// Creates a state without measurements. `phase` shifts the clocks against time zero.
    pub(crate) fn new(config: &TcpConfig, phase: Duration) -> Self {
        RoundTrips {
            estimator: estimator(config),
            clock: Clock::new(config.timers.slow_timer, phase),
            timestamps: config.timestamps.then(|| Clock::new(config.timers.timestamp_tick, phase)),
            sampled_until: 0,
            timed: None,
            least: Duration::ZERO,
            measured: Quantiles::default(),
        }
    }

    /// The handshake begins anew.
    pub(crate) fn start_over(&mut self, config: &TcpConfig) {
        self.estimator = estimator(config);
    }

    /// The SYN was acknowledged, after `rtt`, unless it was sent more than once. `timestamps`: the SYNs agreed on them.
    pub(crate) fn establish(&mut self, config: &TcpConfig, now: Time, rtt: Option<Duration>, timestamps: bool) {
        self.timestamps = self.timestamps.filter(|_| timestamps);
        match rtt {
            Some(rtt) if self.clock.is_exact() => self.estimator.sample(rtt, true),
            Some(rtt) => {
                let start = Time::from_ps(now.as_ps() - rtt.as_ps());
                self.estimator.sample(self.clock.span(self.clock.ticks(now) - self.clock.ticks(start)), true);
            }
            None => self.estimator.after_syn_loss(config.timers.rto_after_syn_loss),
        }
    }

    /// Smoothed; zero before there is one.
    #[inline]
    pub(crate) fn srtt(&self) -> Duration {
        self.estimator.srtt()
    }

    pub(crate) fn rttvar(&self) -> Duration {
        self.estimator.rttvar()
    }

    /// The retransmission timeout, backoff included.
    pub(crate) fn rto(&self) -> Duration {
        self.estimator.rto()
    }

    /// The least round trip measured, of data that was sent once; zero without one.
    #[inline]
    pub(crate) fn least(&self) -> Duration {
        self.least
    }

    /// The round trips measured since they were last forgotten.
    pub(crate) fn measured(&self) -> &Quantiles {
        &self.measured
    }

    /// Forgets what [`Self::measured`] has.
    pub(crate) fn forget_measured(&mut self) {
        self.measured.clear();
    }

    #[inline]
    fn note(&mut self, rtt: Duration) {
        self.least = if self.least.is_zero() { rtt } else { rtt.min(self.least) };
        self.measured.record(rtt);
    }

    /// Returns how often the retransmission timer went off since the last sample.
    pub(crate) fn backoff(&self) -> u32 {
        self.estimator.backoff()
    }

    /// The retransmission timer went off.
    pub(crate) fn back_off(&mut self) {
        self.estimator.back_off();
    }

    /// Returns the time at which a timer set now for `span` goes off.
    #[inline]
    pub(crate) fn expiry(&self, now: Time, span: Duration) -> Time {
        self.clock.deadline(now, span)
    }

    /// The TSval of what is sent now.
    pub(crate) fn tsval(&self, now: Time) -> Option<u32> {
        self.timestamps.map(|clock| clock.ticks(now) as u32)
    }

    /// Something up to `end` is sent for the first time.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, end: u64) {
        if self.timed.is_none() && !self.clock.is_exact() {
            self.timed = NonZeroU64::new(end).zip(Some(self.clock.ticks(now)));
        }
    }

    /// Something is, or will be, retransmitted: what is timed may be of it (Karn).
    #[inline]
    pub(crate) fn sent_again(&mut self) {
        self.timed = None;
    }

    /// Returns the round trip that `segment` echoes (RFC 7323 §4), unless that is in the future, or longer ago than timestamps last.
    #[inline]
    fn echo(&self, now: Time, segment: &Segment) -> Option<Duration> {
        let ((_, ecr), clock) = segment.timestamps().zip(self.timestamps)?;
        let ticks = (clock.ticks(now) as u32).wrapping_sub(ecr);
        (ticks < 1 << 31).then(|| clock.span(ticks.into())).filter(|rtt| *rtt < TIMESTAMP_LIFE)
    }

    /// The left edge moves to `ack`; everything below `max` has been sent. `sent`: when the first and the last of what is acknowledged left,
    /// where that was sent once (Karn). The estimator takes the round trip of the first, or what the echo says of any segment, sent
    /// again or not. Gives that of the last.
    #[inline]
    pub(crate) fn acked(&mut self, now: Time, segment: &Segment, ack: u64, max: u64, sent: Option<(Time, Time)>) -> Option<Duration> {
        let latest = sent.map(|(_, last)| now.since(last));
        if let Some(rtt) = latest {
            self.note(rtt);
        }
        self.estimate(now, segment, ack, max, sent.map(|(first, _)| now.since(first)));
        latest
    }

    #[inline]
    fn estimate(&mut self, now: Time, segment: &Segment, ack: u64, max: u64, exact: Option<Duration>) {
        if self.clock.is_exact() {
            if self.wants_sample(ack)
                && let Some(rtt) = exact.or_else(|| self.echo(now, segment))
            {
                self.sample(rtt, ack, max);
            }
        } else if let Some(rtt) = self.echo(now, segment) {
            self.estimator.sample(rtt, true);
        } else if let Some((end, tick)) = self.timed
            && ack >= end.get()
        {
            self.timed = None;
            self.estimator.sample(self.clock.span(self.clock.ticks(now) - tick), true);
        }
    }

    /// One sample a round trip, as RFC 6298 §3 has it: with one an ACK, alpha and beta would span a few ACKs instead of a few round trips, and
    /// rttvar would vanish (RFC 7323 §4.2 weighs them down instead, to the same end). Or one an ACK, with another rttvar.
    #[inline]
    fn wants_sample(&self, acked: u64) -> bool {
        self.estimator.is_of_each_ack() || acked > self.sampled_until || self.estimator.is_backed_off()
    }

    fn sample(&mut self, rtt: Duration, acked: u64, max: u64) {
        let is_first = acked > self.sampled_until;
        self.estimator.sample(rtt, is_first);
        if is_first || !self.estimator.is_of_each_ack() {
            self.sampled_until = max;
        }
    }

    /// SACKs newly reach up to `top`, which was `sent` then, once: that segment has just arrived, and its round trip is as good as that of
    /// one acknowledged (RFC 6298 §3 forbids only the ambiguous ones). While the left edge stands still there is no other.
    pub(crate) fn sacked(&mut self, now: Time, top: u64, max: u64, sent: Time) -> Duration {
        let rtt = now.since(sent);
        self.note(rtt);
        if self.clock.is_exact() && (self.estimator.is_of_each_ack() || top > self.sampled_until) {
            self.sample(rtt, top, max);
        }
        rtt
    }

    /// The timer went off too early: RFC 4015 §3, step 9. Such a delay can come again.
    pub(crate) fn after_spike(&mut self, now: Time, segment: &Segment, max: u64) {
        if let Some(rtt) = self.echo(now, segment) {
            self.estimator.after_spike(rtt);
            self.sampled_until = max;
        }
    }

    /// An ACK at `now`, as it may answer retransmissions. The echo of `cumulative` holds for what it acknowledges; a SACKed segment leaves the
    /// receiver's TS.Recent as it was (RFC 7323 §4.3).
    #[inline]
    pub(crate) fn answer(&self, now: Time, cumulative: Option<&Segment>) -> Answer {
        let echo = cumulative.and_then(Segment::timestamps).and_then(|(_, ecr)| self.timestamps.map(|clock| (clock, ecr)));
        Answer { now, rtt_min: self.least, echo }
    }

    /// The one-way delay of the newest data acknowledged, in picoseconds and up to a constant, where there are timestamps and that data's
    /// round trip `rtt` is known.
    ///
    /// From when the newest data was sent, not from the echo: that is of the first segment the ACK answers (RFC 7323 §4.3), which
    /// may have waited for the second, and as coarse as our own clock. The peer's clock is taken to tick as ours does.
    #[inline]
    pub(crate) fn forward_delay(&self, now: Time, segment: &Segment, rtt: Option<Duration>) -> Option<i64> {
        let ((val, _), clock) = segment.timestamps().zip(self.timestamps)?;
        let sent = Time::from_ps(now.as_ps() - rtt?.as_ps());
        let ticks = i64::from(val.wrapping_sub(clock.ticks(sent) as u32) as i32);
        Some(ticks.saturating_mul(clock.span(1).as_ps() as i64).saturating_sub(clock.since_tick(sent).as_ps() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn trips(stack: &str, timestamps: bool) -> RoundTrips {
        let config = TcpConfig { timestamps, ..TcpConfig::new(&stack::named(stack).params(), 1500) };
        RoundTrips::new(&config, Duration::ZERO)
    }

    fn echoing(ecr: u32) -> Segment {
        let mut segment = Segment::new(1, 0, 0);
        segment.set_timestamps(7, ecr);
        segment
    }

    #[test]
    fn an_exact_clock_takes_one_sample_a_round_trip() {
        let mut trips = trips("rfc", true);
        let ms = Duration::from_millis;
        trips.estimate(at(100), &echoing(0), 10, 1000, Some(ms(80)));
        assert_eq!(trips.srtt(), ms(80));
        // First in the same round trip, then in the next, by the echo alone (a clock of 1 ms).
        trips.estimate(at(110), &echoing(0), 1000, 2000, Some(ms(800)));
        assert_eq!(trips.srtt(), ms(80));
        trips.estimate(at(200), &echoing(40), 1001, 2000, None);
        assert_eq!(trips.srtt(), ms(90));
        // An echo from the future.
        trips.estimate(at(300), &echoing(301), 2001, 3000, None);
        assert_eq!(trips.srtt(), ms(90));
    }

    #[test]
    fn every_ack_counts_where_the_stack_says_so() {
        let (mut trips, ms) = (trips("linux", true), Duration::from_millis);
        for rtt in [80, 160, 160] {
            trips.estimate(at(200), &echoing(0), 10, 1000, Some(ms(rtt)));
        }
        // 80; 7/8 80 + 1/8 160 = 90; 7/8 90 + 20.
        assert_eq!(trips.srtt(), Duration::from_micros(98_750));
        trips.sacked(at(200), 20, 1000, Time::from_ps(at(200).as_ps() - Duration::from_micros(178_750).as_ps()));
        assert_eq!(trips.srtt(), Duration::from_micros(108_750));
    }

    #[test]
    fn a_ticking_clock_times_one_segment_and_none_that_is_sent_again() {
        let mut trips = trips("bsd-reno-1994", false);
        let plain = Segment::new(1, 0, 0);
        trips.sent(at(100), 500);
        trips.sent(at(400), 900);
        trips.estimate(at(1600), &plain, 499, 900, None);
        assert_eq!(trips.srtt(), Duration::ZERO);
        // Ticks of 500 ms: sent before the first, acknowledged after the third.
        trips.estimate(at(1600), &plain, 500, 900, None);
        assert_eq!(trips.srtt(), Duration::from_millis(1500));
        trips.sent(at(2000), 1000);
        trips.sent_again();
        trips.estimate(at(9000), &plain, 1000, 1000, None);
        assert_eq!(trips.srtt(), Duration::from_millis(1500));
    }

    /// Nobody sends such timestamps but who wants to see whether we can count.
    #[test]
    fn timestamps_out_of_all_bounds_say_nothing_and_overflow_nothing() {
        // Half a second a tick: 2^31 of them are 34 years.
        let mut trips = trips("bsd-reno-1994", true);
        let slow = Clock::new(Duration::from_millis(500), Duration::ZERO);
        trips.timestamps = Some(slow);
        let now = at(10_000);
        for age in [1, 24 * 86_400 * 2 - 1, 24 * 86_400 * 2, u32::MAX / 2, u32::MAX] {
            let segment = echoing((slow.ticks(now) as u32).wrapping_sub(age));
            let said = trips.echo(now, &segment);
            assert_eq!(said, (age < 24 * 86_400 * 2).then(|| slow.span(age.into())), "{age} ticks");
            trips.estimate(now, &segment, 1, 1, None);
            assert!(trips.rto() <= Duration::from_secs(120) && trips.srtt() * 3 > Duration::ZERO);
        }
        let mut far = Segment::new(1, 0, 0);
        far.set_timestamps((1 << 31) + slow.ticks(now) as u32, 0);
        assert_eq!(trips.forward_delay(now, &far, Some(Duration::ZERO)), Some(i64::MIN));
    }

    #[test]
    fn an_ack_tells_of_a_retransmission_unless_it_came_too_soon_or_echoes_an_older_segment() {
        let trips = RoundTrips { least: Duration::from_millis(50), ..trips("rfc", true) };
        let answer = trips.answer(at(100), Some(&echoing(40)));
        assert!(answer.is_of(at(40)) && !answer.is_of(at(41)) && !answer.is_of(at(51)));
        let sacked = trips.answer(at(100), None);
        assert!(sacked.is_of(at(50)) && !sacked.is_of(at(51)));
    }
}
