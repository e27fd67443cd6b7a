//! Round-trip time and retransmission timeout: RFC 6298, with the clock granularity of the stack.

use longfat_core::time::Duration;

/// What a stack says of its retransmission timeout.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Before a round trip has been measured.
    pub initial: Duration,
    pub min: Duration,
    pub max: Duration,
    /// Clock granularity G.
    pub granularity: Duration,
    /// RTTVARs that are added to SRTT: K of RFC 6298.
    pub variances: u32,
    /// The most backoffs that count.
    pub doublings: u32,
}

/// SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    rules: Rules,
    srtt: Duration,
    rttvar: Duration,
    /// Before backoff and bounds.
    base: Duration,
    backoff: u32,
    measured: bool,
}

impl RttEstimator {
    pub fn new(rules: Rules) -> Self {
        RttEstimator { srtt: Duration::ZERO, rttvar: Duration::ZERO, base: rules.initial, backoff: 0, measured: false, rules }
    }

    /// RFC 6298 §2.3: RTO = SRTT + max(G, K RTTVAR).
    fn set_base(&mut self) {
        self.base = self.srtt + (self.rttvar * u64::from(self.rules.variances)).max(self.rules.granularity);
    }

    /// A measured round trip; ends any backoff (RFC 6298 §5, note after 5.7: a new sample after backoff resets it).
    pub fn sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        if self.measured {
            // RFC 6298 §2.3: RTTVAR first, with beta 1/4; then SRTT, with alpha 1/8.
            let error = if self.srtt > rtt { self.srtt - rtt } else { rtt - self.srtt };
            self.rttvar = Duration::from_ps(self.rttvar.as_ps() - self.rttvar.as_ps() / 4 + error.as_ps() / 4);
            self.srtt = Duration::from_ps(self.srtt.as_ps() - self.srtt.as_ps() / 8 + rtt.as_ps() / 8);
        } else {
            // RFC 6298 §2.2.
            self.srtt = rtt;
            self.rttvar = rtt / 2;
            self.measured = true;
        }
        self.set_base();
    }

    /// The timer went off too early, for a delay of `rtt` that may come again: RFC 4015 §3, step 9. Ends the backoff.
    pub fn after_spike(&mut self, rtt: Duration) {
        self.backoff = 0;
        self.srtt = self.srtt.max(rtt);
        self.rttvar = self.rttvar.max(rtt / 2);
        self.set_base();
    }

    /// The timer went off: RFC 6298 §5.5, double.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }

    /// Whether the timer went off since the last sample.
    #[inline]
    pub fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// How often the timer went off since the last sample.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The SYN was lost: data begins with an rto of at least `least` (RFC 6298 §5.7: 3 s).
    pub fn after_syn_loss(&mut self, least: Duration) {
        self.backoff = 0;
        if !self.measured {
            self.base = self.base.max(least);
        }
    }

    /// The timeout to arm now (RFC 6298 §2.4, §2.5: between least and most).
    pub fn rto(&self) -> Duration {
        let Rules { min, max, doublings, .. } = self.rules;
        self.base.max(min).saturating_mul(1 << self.backoff.min(doublings)).min(max)
    }

    pub fn srtt(&self) -> Duration {
        self.srtt
    }

    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    const RULES: Rules = Rules {
        initial: Duration::from_secs(1),
        min: Duration::from_millis(200),
        max: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
        variances: 4,
        doublings: 20,
    };

    fn estimator() -> RttEstimator {
        RttEstimator::new(RULES)
    }

    /// By hand from RFC 6298 §2: R = 100 ms, then 200 ms.
    #[test]
    fn follows_rfc_6298_section_2() {
        let mut e = estimator();
        assert_eq!(e.rto(), Duration::from_secs(1));
        e.sample(ms(100));
        assert_eq!((e.srtt(), e.rttvar(), e.rto()), (ms(100), ms(50), ms(300)));
        e.sample(ms(200));
        // rttvar = 3/4 50 + 1/4 100 = 62.5; srtt = 7/8 100 + 1/8 200 = 112.5; rto = 112.5 + 250.
        assert_eq!(
            (e.srtt(), e.rttvar(), e.rto()),
            (Duration::from_micros(112_500), Duration::from_micros(62_500), Duration::from_micros(362_500))
        );
    }

    #[test]
    fn backs_off_to_the_most_and_a_sample_ends_it() {
        let mut e = estimator();
        e.sample(ms(100));
        let mut expected = ms(300);
        for _ in 0..12 {
            assert_eq!(e.rto(), expected.min(Duration::from_secs(60)));
            e.back_off();
            expected = expected * 2;
        }
        e.sample(ms(100));
        assert!(e.rto() < ms(300));
    }

    /// Jacobson 1988: twice the mean deviation; RFC 6298, four times.
    #[test]
    fn tahoe_adds_half_of_what_the_rfc_does() {
        let mut e = RttEstimator::new(Rules { variances: 2, ..RULES });
        e.sample(ms(1000));
        assert_eq!((e.rttvar(), e.rto()), (ms(500), ms(2000)));
    }

    /// TCP/IP Illustrated vol. 2 §25: BSD's table of backoffs ends at 64.
    #[test]
    fn the_backoff_of_bsd_ends_at_64_times() {
        let mut e = RttEstimator::new(Rules { initial: ms(200), max: Duration::from_secs(64), doublings: 6, ..RULES });
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
        e.sample(ms(100));
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
            e.sample(ms(500));
        }
        // 4 rttvar shrinks under G = 1 ms.
        assert_eq!(e.rto().as_ps() / 1_000_000_000, 501);
        for _ in 0..200 {
            e.sample(ms(10));
        }
        assert_eq!(e.rto(), ms(200));
    }
}
