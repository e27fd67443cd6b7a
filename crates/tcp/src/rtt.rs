//! Round-trip time and retransmission timeout: RFC 6298, with the clock granularity of the stack.

use longfat_core::time::Duration;

/// Rules of a stack for its retransmission timeout.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub min: Duration,
    pub max: Duration,
    /// Clock granularity G.
    pub granularity: Duration,
    /// RTTVARs that are added to SRTT: K of RFC 6298.
    pub variances: u32,
    /// The most backoffs that count.
    pub doublings: u32,
}

/// Deviation with many samples per round trip: how far single ones are from what is expected, and the most of it in this round trip.
#[derive(Clone, Debug, Default)]
struct Many {
    deviation: Duration,
    most: Duration,
}

/// SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    rules: Rules,
    srtt: Duration,
    rttvar: Duration,
    /// Deviation, where every ACK gives a sample.
    many: Option<Box<Many>>,
    /// Before backoff and bounds.
    base: Duration,
    backoff: u32,
    measured: bool,
}

impl RttEstimator {
    /// An rto of `initial` before a round trip has been measured. A sample of each round trip, or of each ACK.
    pub(crate) fn new(rules: Rules, initial: Duration, of_each_ack: bool) -> Self {
        RttEstimator {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            many: of_each_ack.then(Box::default),
            base: initial,
            backoff: 0,
            measured: false,
            rules,
        }
    }

    /// RFC 6298 §2.3: RTO = SRTT + max(G, K RTTVAR).
    fn set_base(&mut self) {
        self.base = self.srtt + (self.rttvar * u64::from(self.rules.variances)).max(self.rules.granularity);
    }

    /// Returns true if every ACK gives a sample, and not one per round trip.
    #[inline]
    pub(crate) fn is_of_each_ack(&self) -> bool {
        self.many.is_some()
    }

    /// A measured round trip, `is_first` of those measured in one; ends any backoff (RFC 6298 §5, note after 5.7: a new sample after backoff
    /// resets it).
    pub(crate) fn sample(&mut self, rtt: Duration, is_first: bool) {
        self.backoff = 0;
        let error = if self.srtt > rtt { self.srtt - rtt } else { rtt - self.srtt };
        if !self.measured {
            // RFC 6298 §2.2.
            (self.srtt, self.rttvar, self.measured) = (rtt, rtt / 2, true);
        } else if let Some(many) = &mut self.many {
            // RTTVAR must not vanish between two round trips. It is the most that the deviation comes to in one, and falls once in each,
            // by a quarter of the way (Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002).
            if is_first {
                self.rttvar = towards(self.rttvar, many.most.min(self.rttvar), 4);
                many.most = Duration::ZERO;
            }
            many.deviation = towards(many.deviation, error, 4);
            many.most = many.most.max(many.deviation);
            self.rttvar = self.rttvar.max(many.most);
            self.srtt = towards(self.srtt, rtt, 8);
        } else {
            // RFC 6298 §2.3: RTTVAR first, with beta 1/4; then SRTT, with alpha 1/8.
            self.rttvar = towards(self.rttvar, error, 4);
            self.srtt = towards(self.srtt, rtt, 8);
        }
        self.set_base();
    }

    /// The timer went off too early, for a delay of `rtt` that may come again: RFC 4015 §3, step 9. Ends the backoff.
    pub(crate) fn after_spike(&mut self, rtt: Duration) {
        self.backoff = 0;
        self.srtt = self.srtt.max(rtt);
        self.rttvar = self.rttvar.max(rtt / 2);
        self.set_base();
    }

    /// The timer went off: RFC 6298 §5.5, double.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }

    /// Returns true if the timer went off since the last sample.
    #[inline]
    pub(crate) fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// Returns how often the timer went off since the last sample.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The SYN was lost: data begins with an rto of at least `least` (RFC 6298 §5.7: 3 s).
    pub(crate) fn after_syn_loss(&mut self, least: Duration) {
        self.backoff = 0;
        if !self.measured {
            self.base = self.base.max(least);
        }
    }

    /// The timeout to arm now (RFC 6298 §2.4, §2.5: between least and most).
    pub(crate) fn rto(&self) -> Duration {
        let Rules { min, max, doublings, .. } = self.rules;
        self.base.max(min).saturating_mul(1 << self.backoff.min(doublings)).min(max)
    }

    pub(crate) fn srtt(&self) -> Duration {
        self.srtt
    }

    pub(crate) fn rttvar(&self) -> Duration {
        self.rttvar
    }
}

/// Moves `from` one of so many `parts` of the way to `to`.
fn towards(from: Duration, to: Duration, parts: u64) -> Duration {
    Duration::from_ps(from.as_ps() - from.as_ps() / parts + to.as_ps() / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    const RULES: Rules = Rules {
        min: Duration::from_millis(200),
        max: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
        variances: 4,
        doublings: 20,
    };

    fn estimator() -> RttEstimator {
        RttEstimator::new(RULES, Duration::from_secs(1), false)
    }

    /// RFC 6298 §2, computed by hand: R = 100 ms, then 200 ms.
    #[test]
    fn follows_rfc_6298_section_2() {
        let mut e = estimator();
        assert_eq!(e.rto(), Duration::from_secs(1));
        e.sample(ms(100), true);
        assert_eq!((e.srtt(), e.rttvar(), e.rto()), (ms(100), ms(50), ms(300)));
        e.sample(ms(200), true);
        // rttvar = 3/4 50 + 1/4 100 = 62.5; srtt = 7/8 100 + 1/8 200 = 112.5; rto = 112.5 + 250.
        assert_eq!(
            (e.srtt(), e.rttvar(), e.rto()),
            (Duration::from_micros(112_500), Duration::from_micros(62_500), Duration::from_micros(362_500))
        );
    }

    #[test]
    fn backs_off_to_the_most_and_a_sample_ends_it() {
        let mut e = estimator();
        e.sample(ms(100), true);
        let mut expected = ms(300);
        for _ in 0..12 {
            assert_eq!(e.rto(), expected.min(Duration::from_secs(60)));
            e.back_off();
            expected = expected * 2;
        }
        e.sample(ms(100), true);
        assert!(e.rto() < ms(300));
    }

    /// Jacobson 1988: twice the mean deviation; RFC 6298, four times.
    #[test]
    fn tahoe_adds_half_of_what_the_rfc_does() {
        let mut e = RttEstimator::new(Rules { variances: 2, ..RULES }, Duration::from_secs(1), false);
        e.sample(ms(1000), true);
        assert_eq!((e.rttvar(), e.rto()), (ms(500), ms(2000)));
    }

    /// TCP/IP Illustrated vol. 2 §25: BSD's table of backoffs ends at 64.
    #[test]
    fn the_backoff_of_bsd_ends_at_64_times() {
        let mut e = RttEstimator::new(Rules { max: Duration::from_secs(64), doublings: 6, ..RULES }, ms(200), false);
        let mut factors = Vec::new();
        for _ in 0..9 {
            factors.push(e.rto().as_ps() / ms(200).as_ps());
            e.back_off();
        }
        assert_eq!(factors, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
    }

    /// RFC 4015 §3, step 9: after a spurious timeout, a timeout that outlasts the delay that caused it.
    #[test]
    fn a_spike_is_remembered() {
        let mut e = estimator();
        e.sample(ms(100), true);
        e.back_off();
        e.after_spike(ms(500));
        assert_eq!((e.srtt(), e.rttvar(), e.rto()), (ms(500), ms(250), ms(1500)));
        // No less than before.
        e.after_spike(ms(50));
        assert_eq!(e.rto(), ms(1500));
    }

    #[test]
    fn a_steady_round_trip_ends_at_the_least_rto_or_the_granularity() {
        let mut e = estimator();
        for _ in 0..200 {
            e.sample(ms(500), true);
        }
        // 4 rttvar shrinks under G = 1 ms.
        assert_eq!(e.rto().as_ps() / 1_000_000_000, 501);
        for _ in 0..200 {
            e.sample(ms(10), true);
        }
        assert_eq!(e.rto(), ms(200));
    }

    /// Linux 6.18 did this with an RTT that rose from 100 to 500 ms over a second, and a sample each 1.2 ms: srtt followed within a few
    /// samples, and rto was 200 to 236 ms above it all the while.
    #[test]
    fn of_each_ack_srtt_follows_at_once_and_the_variance_does_not_vanish() {
        let rules = Rules { min: Duration::ZERO, granularity: ms(200), ..RULES };
        let mut e = RttEstimator::new(rules, Duration::from_secs(1), true);
        let mut rtt = ms(100);
        for n in 0..1000 {
            rtt += Duration::from_micros(if n < 333 { 1200 } else { 0 });
            // A round trip of about 200 samples.
            e.sample(rtt, n % 200 == 0);
            assert!(rtt - e.srtt() < ms(10) && e.rto() - e.srtt() >= ms(200) && e.rto() - e.srtt() < ms(210), "{n}: {e:?}");
        }
        // A jump: the variance rises with the sample, and falls by a quarter of the way at each round trip.
        let quiet = e.rttvar();
        e.sample(rtt + ms(160), false);
        let risen = e.rttvar();
        assert!(risen >= ms(40) && risen < ms(42) && risen > quiet, "{quiet:?} {risen:?}");
        (0..400).for_each(|_| e.sample(rtt, false));
        assert_eq!(e.rttvar(), risen);
        e.sample(rtt, true);
        assert_eq!(e.rttvar(), risen);
        (0..400).for_each(|_| e.sample(rtt, false));
        e.sample(rtt, true);
        assert!(e.rttvar() < risen && e.rttvar() >= risen * 3 / 4, "{e:?}");
    }
}
