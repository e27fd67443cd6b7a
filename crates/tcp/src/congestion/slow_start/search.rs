//! SEARCH (draft-chung-ccwg-search): slow start ends where what is delivered in a window of some round trips is no longer twice what was
//! delivered a round trip before.

use crate::congestion::AckSample;
use longfat_core::time::{Duration, Time};

// The parameters of the draft's algorithm, version 3: a window of 3.5 round trips in 10 bins, 15 bins more to look back, and a threshold.
const WINDOW_RTTS_X10: u64 = 35;
const W: usize = 10;
const EXTRA_BINS: usize = 15;
const NUM_BINS: usize = W + EXTRA_BINS;
const THRESH: f64 = 0.35;

/// Bins of acknowledged bytes.
#[derive(Clone, Debug)]
struct Bins {
    initial_rtt: Duration,
    width: Duration,
    bytes: [u64; NUM_BINS],
    /// Number of the last full bin plus 1: the draft's curr_idx + 1.
    full: usize,
    end: Time,
    /// Bytes acknowledged since that bin.
    since: u64,
}

impl Bins {
    /// The first bin begins with the connection, a round trip before its first ACK.
    fn new(ack: &AckSample, rtt: Duration) -> Self {
        let width = Duration::from_ps((rtt.as_ps() * WINDOW_RTTS_X10 / (10 * W as u64)).max(1));
        let start = Time::from_ps(ack.now.as_ps().saturating_sub(rtt.as_ps()));
        Bins { initial_rtt: rtt, width, bytes: [0; NUM_BINS], full: 0, end: start + width, since: 0 }
    }

    /// update_bins: this ACK is past the end of a bin, or of several.
    fn update(&mut self, now: Time) {
        let passed = now.since(self.end).as_ps() / self.width.as_ps() + 1;
        self.end += self.width * passed;
        // Departs from the loop of line 26, which would empty the bin before as well: the text has each bin passed.
        for n in 0..(passed as usize).min(NUM_BINS) {
            self.bytes[(self.full + n) % NUM_BINS] = 0;
        }
        self.full += passed as usize;
        self.bytes[(self.full - 1) % NUM_BINS] = self.since;
        self.since = 0;
    }

    /// sum_bins: bytes of the bins over `first` up to `last`, moved back by `fraction` of one.
    fn sum(&self, first: usize, last: usize, fraction: f64) -> f64 {
        let bin = |n: usize| self.bytes[n % NUM_BINS] as f64;
        let whole: f64 = (first + 1..last).map(bin).sum();
        whole + bin(first) * fraction + bin(last) * (1.0 - fraction)
    }

    /// Whether the bytes of the last window fall short of twice those of the window a round trip before.
    fn fall_short(&self, rtt: Duration) -> bool {
        let Some(current) = self.full.checked_sub(1) else { return false };
        let back = (rtt.as_ps() / self.width.as_ps()) as usize;
        // Lines 13 and 14: enough bins, and not too far back.
        if back > EXTRA_BINS || current < back + W {
            return false;
        }
        let previous = current - back;
        let fraction = (rtt.as_ps() % self.width.as_ps()) as f64 / self.width.as_ps() as f64;
        // Bins that the ring no longer holds: it has NUM_BINS, and the first one of the sum may be just behind them.
        if current - (previous - W) >= NUM_BINS && fraction > 0.0 {
            return false;
        }
        let now = self.sum(current - W, current, 0.0);
        let expected = 2.0 * self.sum(previous - W, previous, fraction);
        expected > 0.0 && (expected - now) / expected >= THRESH
    }
}

#[derive(Clone, Debug)]
pub struct Search {
    /// In a box: most connections have none.
    bins: Option<Box<Bins>>,
}

impl Search {
    pub fn new() -> Self {
        Search { bins: None }
    }

    /// ACK_arrived. Returns true if slow start is over.
    pub fn found(&mut self, ack: &AckSample) -> bool {
        if !ack.cwnd_limited {
            // What is not sent cannot be delivered. Departs from the draft, which has no word on a window that is not used.
            self.bins = None;
            return false;
        }
        let Some(rtt) = ack.rtt.or((!ack.srtt.is_zero()).then_some(ack.srtt)) else { return false };
        let bins = self.bins.get_or_insert_with(|| Box::new(Bins::new(ack, if ack.rtt_min.is_zero() { rtt } else { ack.rtt_min })));
        bins.since += ack.acked;
        if ack.now <= bins.end {
            return false;
        }
        bins.update(ack.now);
        bins.fall_short(rtt)
    }

    /// exit_slow_start, lines 39 and 40: the bytes acknowledged in the last two initial round trips, each of which made cwnd grow by one.
    pub fn overshoot(&self) -> u64 {
        let Some(bins) = &self.bins else { return 0 };
        let Some(current) = bins.full.checked_sub(1) else { return 0 };
        let back = (2 * bins.initial_rtt.as_ps() / bins.width.as_ps()) as usize;
        if back > current { 0 } else { bins.sum(current - back, current, 0.0) as u64 }
    }

    pub fn reset(&mut self) {
        self.bins = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const MSS: u64 = 1000;

    /// Acknowledges so many segments in each round trip, evenly. In which round slow start ends, and what to take back.
    fn exit(s: &mut Search, rounds: &[u64]) -> Option<(usize, u64)> {
        for (round, &segments) in rounds.iter().enumerate() {
            for n in 0..segments {
                let now = Time::ZERO + RTT * (round as u64 + 1) + Duration::from_ps(RTT.as_ps() * n / segments);
                let ack =
                    AckSample { now, acked: MSS, rtt: Some(RTT), srtt: RTT, rtt_min: RTT, cwnd_limited: true, ..AckSample::default() };
                if s.found(&ack) {
                    return Some((round, s.overshoot()));
                }
            }
        }
        None
    }

    #[test]
    fn what_doubles_goes_on() {
        let doubling: Vec<u64> = (0..12).map(|n| 10 << n).collect();
        assert_eq!(exit(&mut Search::new(), &doubling), None);
    }

    /// The draft's section on the threshold: it is reached about two round trips after capacity.
    #[test]
    fn a_plateau_ends_it_about_two_round_trips_later() {
        // 640 segments a round trip from the round 6 on, when 1280 would double.
        let rounds = [10, 20, 40, 80, 160, 320, 640, 640, 640, 640, 640, 640];
        let (round, overshoot) = exit(&mut Search::new(), &rounds).unwrap();
        assert!((8..=9).contains(&round), "{round}");
        // Two round trips of 640 segments, in whole bins: 5 bins of 35 ms of 5.7.
        assert!((overshoot as f64 / (1120.0 * MSS as f64) - 1.0).abs() < 0.02, "{overshoot}");
    }

    /// norm_diff of a plateau that lasts: half of what is expected.
    #[test]
    fn the_difference_goes_from_nothing_to_a_half() {
        let bins = |rate: &dyn Fn(usize) -> u64| {
            let mut bytes = [0; NUM_BINS];
            (0..NUM_BINS).for_each(|n| bytes[n] = rate(n));
            let width = Duration::from_millis(35);
            Bins { initial_rtt: RTT, width, bytes, full: NUM_BINS, end: Time::ZERO, since: 0 }
        };
        let flat = bins(&|_| 1000);
        let (now, before) = (flat.sum(14, 24, 0.0), flat.sum(12, 22, 0.0));
        assert_eq!((2.0 * before - now) / (2.0 * before), 0.5);
        // A fraction moves the window back within bins: of the ramp 0, 100, 200, ... by 30 % it is 30 less a bin.
        let ramp = bins(&|n| 100 * n as u64);
        assert!((ramp.sum(12, 22, 0.0) - ramp.sum(12, 22, 0.3) - 300.0).abs() < 1e-9);
    }

    #[test]
    fn a_window_that_is_not_used_starts_over() {
        let mut s = Search::new();
        assert_eq!(exit(&mut s, &[10, 20, 40, 80, 160, 320, 640, 640]), None);
        assert!(s.bins.is_some());
        s.found(&AckSample { cwnd_limited: false, ..AckSample::default() });
        assert!(s.bins.is_none());
    }

    #[test]
    fn bins_without_an_ack_are_empty() {
        let mut bins = Bins::new(&AckSample { now: Time::ZERO + RTT, ..AckSample::default() }, RTT);
        bins.since = 500;
        // 35 ms a bin: at 40 ms the first is over. At 150 ms four more.
        bins.update(Time::ZERO + Duration::from_millis(40));
        bins.since = 700;
        bins.update(Time::ZERO + Duration::from_millis(150));
        assert_eq!((bins.full, bins.bytes[..5].to_vec()), (4, vec![500, 0, 0, 700, 0]));
    }
}
