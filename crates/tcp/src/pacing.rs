//! Pacing: when the next burst of segments may leave.
//!
//! draft-ietf-ccwg-bbr-06 §5.6.2 spaces what is sent by its size over the pacing rate; §5.6.3 lets a quantum go at once, of 1 ms at
//! that rate but no more than 64 KiB and no less than two segments. Rates are of payload.

use crate::{Pacing, TcpConfig};
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

const QUANTUM_TIME: Duration = Duration::from_millis(1);
const QUANTUM_MAX: u64 = 64 << 10;
/// Segments that may leave at once at any rate, as a rule.
pub(super) const BURST_LEAST: u64 = 2;

/// Returns how much may leave at once at `rate`, in whole segments of `mss`, and `least` of them.
pub(super) fn quantum(rate: Rate, mss: u64, least: u64) -> u64 {
    let bytes = rate.bytes_in(QUANTUM_TIME).min(QUANTUM_MAX);
    (bytes / mss).max(least) * mss
}

/// Inputs to the rate of a window-based control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    /// Bytes, and the smoothed round trip that they are spread over.
    pub window: u64,
    pub srtt: Duration,
    /// True if cwnd is below ssthresh.
    pub slow_start: bool,
}

/// The rate of one sender, and the clock of its bursts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    mode: Pacing,
    /// Percent of cwnd / srtt that a window-based control is paced at, in slow start and in congestion avoidance.
    ratios: [u32; 2],
    /// The application's bound on the rate.
    most: Option<Rate>,
    /// Time when the next burst may leave.
    next: Time,
    /// The burst that began at `began`, and what of it has not left.
    began: Time,
    left: u64,
    /// Length, rate and duration of the last transmission. The next one usually has the same length, often the same rate, and a division
    /// is most of what pacing costs.
    last_bytes: u32,
    last_rate: Rate,
    last_took: Duration,
}

impl Pacer {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Pacer {
            mode: config.sending.pacing,
            ratios: [config.sending.pacing_ss_ratio, config.sending.pacing_ca_ratio],
            most: None,
            next: Time::ZERO,
            began: Time::ZERO,
            left: 0,
            last_bytes: 0,
            last_rate: Rate::from_bps(1),
            last_took: Duration::ZERO,
        }
    }

    /// The application bounds the rate (SO_MAX_PACING_RATE), or no longer does.
    pub(crate) fn set_most(&mut self, rate: Option<Rate>) {
        self.most = rate;
    }

    /// The rate to space segments at, if any. `own`: the control's. `is_unused`: nothing has validated the window, and what it holds is
    /// spread over a round trip (RFC 7661 §4.4.2): line-rate bursts of it could find a queue that others have filled meanwhile.
    #[inline]
    pub(crate) fn rate(&self, own: Option<Rate>, is_unused: impl FnOnce() -> bool, paced: impl FnOnce() -> Paced) -> Option<Rate> {
        let rate = match self.mode {
            Pacing::Off => None,
            _ if own.is_some() => own,
            Pacing::Auto => is_unused().then(|| {
                let Paced { window, srtt, .. } = paced();
                window_rate(window, srtt, 100)
            }),
            Pacing::On => Some(self.would_be(paced())),
        };
        match (rate, self.most) {
            (Some(rate), Some(most)) => Some(rate.min(most)),
            (rate, most) => rate.or(most),
        }
    }

    /// Returns the rate that a window-based control would have if it were paced.
    pub(crate) fn would_be(&self, paced: Paced) -> Rate {
        let [ss, ca] = self.ratios;
        window_rate(paced.window, paced.srtt, if paced.slow_start { ss } else { ca })
    }

    /// Returns true if nothing may leave now.
    #[inline]
    pub(crate) fn holds(&self, now: Time) -> bool {
        // (Without a branch: what an ACK finds is anybody's guess.)
        (now < self.next) & !((self.left > 0) & (now == self.began))
    }

    /// Returns the time when the next burst may leave.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// `bytes` of payload leave, at `rate`; `quantum`: how much may leave at once.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, bytes: u64, rate: Rate, quantum: impl FnOnce() -> u64) {
        if now >= self.next {
            (self.began, self.left) = (now, quantum());
        }
        self.left = self.left.saturating_sub(bytes);
        if (u64::from(self.last_bytes), self.last_rate) != (bytes, rate) {
            (self.last_bytes, self.last_rate, self.last_took) = (bytes as u32, rate, rate.transmit_time(bytes));
        }
        self.next = self.next.max(now) + self.last_took;
    }
}

/// The rate of a window-based control that is paced: so many percent of a window each smoothed round trip. Before there is one,
/// 1 ms stands for it (draft-ietf-ccwg-bbr-06 §5.6.2 has the same for BBR's first rate).
fn window_rate(window: u64, srtt: Duration, percent: u32) -> Rate {
    let srtt = if srtt.is_zero() { Duration::from_millis(1) } else { srtt };
    rate(window as f64 * f64::from(percent) / 100.0 / srtt.as_secs_f64())
}

/// `bytes_per_second`, as a rate: at least one bit a second.
pub(super) fn rate(bytes_per_second: f64) -> Rate {
    Rate::from_bps(((bytes_per_second * 8.0) as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack;

    const MSS: u64 = 1448;

    fn pacer(pacing: Pacing) -> Pacer {
        Pacer::new(&TcpConfig::new(&stack::named("rfc").params(), 1500).with(|tcp| tcp.sending.pacing = pacing))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    /// Returns the bursts of the first `span`: when each leaves, and how many segments it has.
    fn bursts(bps: u64, span: Duration) -> Vec<(Time, u64)> {
        let rate = Rate::from_bps(bps);
        let mut pacer = pacer(Pacing::Auto);
        let (mut now, mut bursts) = (Time::ZERO, Vec::new());
        while now < Time::ZERO + span {
            let mut n = 0;
            while !pacer.holds(now) {
                pacer.sent(now, MSS, rate, || quantum(rate, MSS, BURST_LEAST));
                n += 1;
            }
            bursts.push((now, n));
            now = pacer.next();
        }
        bursts
    }

    #[test]
    fn a_quantum_is_a_millisecond_between_two_segments_and_64_kib() {
        // §5.6.3: 1 ms at 100 Mb/s is 12,500 bytes, 8 whole segments.
        for (bps, segments) in [(1_000, 2), (10_000_000, 2), (100_000_000, 8), (400_000_000, 34), (10_000_000_000, 45)] {
            assert_eq!(quantum(Rate::from_bps(bps), MSS, BURST_LEAST), segments * MSS, "at {bps} b/s");
        }
    }

    #[test]
    fn bursts_keep_the_rate_whatever_the_quantum() {
        for bps in [500_000, 10_000_000, 622_000_000, 10_000_000_000] {
            let span = Duration::from_secs(1);
            let bursts = bursts(bps, span);
            let bytes: u64 = bursts.iter().map(|(_, n)| n * MSS).sum();
            let end = bursts.last().unwrap().0 + Rate::from_bps(bps).transmit_time(bursts.last().unwrap().1 * MSS);
            let exact = Rate::from_bps(bps).bytes_in(end.since(Time::ZERO));
            // Each segment's time is rounded to a picosecond.
            assert!(bytes.abs_diff(exact) <= 1 + bytes / 1_000_000, "{bps} b/s: {bytes} of {exact}");
        }
    }

    #[test]
    fn a_burst_cut_short_is_not_made_up_for_later() {
        let rate = Rate::from_bps(100_000_000);
        let mut pacer = pacer(Pacing::Auto);
        for _ in 0..3 {
            assert!(!pacer.holds(at(0)));
            pacer.sent(at(0), MSS, rate, || quantum(rate, MSS, BURST_LEAST));
        }
        // Three segments take 347.52 us; until then nothing goes, though the quantum is eight.
        assert!(!pacer.holds(at(0)));
        assert!(pacer.holds(at(1)) && pacer.holds(at(347)) && !pacer.holds(at(348)));
        // Silence gives no credit beyond one quantum.
        let mut n = 0;
        while !pacer.holds(at(10_000)) {
            pacer.sent(at(10_000), MSS, rate, || quantum(rate, MSS, BURST_LEAST));
            n += 1;
        }
        assert_eq!(n, 8);
    }

    #[test]
    fn a_paced_window_has_the_ratio_of_ip_sysctl() {
        // 100 segments each 100 ms are 1,448,000 bytes/s.
        assert_eq!(window_rate(100 * MSS, Duration::from_millis(100), 120).as_bps(), 13_900_800);
        assert_eq!(window_rate(100 * MSS, Duration::from_millis(100), 200).as_bps(), 23_168_000);
        assert_eq!(window_rate(MSS, Duration::ZERO, 200).as_bps(), 23_168_000);
    }

    #[test]
    fn the_rate_is_the_controls_or_the_windows_and_never_over_the_bound() {
        let paced = |slow_start| move || Paced { window: 100 * MSS, srtt: Duration::from_millis(100), slow_start };
        let own = Some(Rate::from_bps(1_000_000));
        let bps = |rate: Option<Rate>| rate.map(Rate::as_bps);
        let mut auto = pacer(Pacing::Auto);
        assert_eq!(bps(auto.rate(own, || true, paced(true))), Some(1_000_000));
        assert_eq!(bps(auto.rate(None, || false, paced(true))), None);
        assert_eq!(bps(auto.rate(None, || true, paced(true))), Some(11_584_000));
        // Defaults are 200 % and 120 % (ip-sysctl).
        let on = pacer(Pacing::On);
        assert_eq!([true, false].map(|ss| bps(on.rate(None, || false, paced(ss)))), [Some(23_168_000), Some(13_900_800)]);
        assert_eq!(bps(pacer(Pacing::Off).rate(own, || true, paced(true))), None);
        auto.set_most(Some(Rate::from_bps(500_000)));
        assert_eq!(bps(auto.rate(own, || false, paced(true))), Some(500_000));
        assert_eq!(bps(auto.rate(None, || false, paced(true))), Some(500_000));
    }
}
