//! Round-trip time and retransmission timeout: RFC 6298, with the clock granularity of the stack.

use crate::time::Duration;

/// SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    srtt: Duration,
    rttvar: Duration,
    /// Before backoff and bounds.
    base: Duration,
    backoff: u32,
    min: Duration,
    max: Duration,
    /// The most backoffs that count.
    doublings: u32,
    /// Clock granularity G.
    granularity: Duration,
    measured: bool,
}

impl RttEstimator {
    pub fn new(initial: Duration, min: Duration, max: Duration, granularity: Duration, doublings: u32) -> Self {
        let (srtt, rttvar) = (Duration::ZERO, Duration::ZERO);
        RttEstimator { srtt, rttvar, base: initial, backoff: 0, min, max, doublings, granularity, measured: false }
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
        // RFC 6298 §2.3: RTO = SRTT + max(G, 4 RTTVAR).
        self.base = self.srtt + (self.rttvar * 4).max(self.granularity);
    }

    /// The timer went off too early, for a delay of `rtt` that may come again: RFC 4015 §3, step 9. Ends the backoff.
    pub fn after_spike(&mut self, rtt: Duration) {
        self.backoff = 0;
        self.srtt = self.srtt.max(rtt);
        self.rttvar = self.rttvar.max(rtt / 2);
        self.base = self.srtt + (self.rttvar * 4).max(self.granularity);
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
        self.base.max(self.min).saturating_mul(1 << self.backoff.min(self.doublings)).min(self.max)
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

    fn estimator() -> RttEstimator {
        RttEstimator::new(Duration::from_secs(1), ms(200), Duration::from_secs(60), ms(1), 20)
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

    /// TCP/IP Illustrated vol. 2 §25: BSD's table of backoffs ends at 64.
    #[test]
    fn the_backoff_of_bsd_ends_at_64_times() {
        let mut e = RttEstimator::new(ms(200), ms(2), Duration::from_secs(64), ms(1), 6);
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
