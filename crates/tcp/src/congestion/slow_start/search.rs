//! SEARCH, Slow start Exit At Right CHokepoint (Chung, Kachooei, Li and Claypool, SEARCH -- a New Slow Start Algorithm for TCP and QUIC,
//! Internet-Draft, version 3.0 of the algorithm, June 2024): slow start ends where the bytes delivered no longer double in a round trip.

use super::Step;
use crate::congestion::AckSample;
use longfat_core::time::{Duration, Time};

/// W: bins of a window (line 2).
const W: u64 = 10;
/// EXTRA_BINS: most bins that a round trip may be (line 3).
const EXTRA_BINS: u64 = 15;
/// Bins that are kept. Departs from line 4, which has one less: at a shift of `EXTRA_BINS` the interpolation of line 36 reads the bin before
/// the window, whose place in an array of 25 is that of the current bin.
const NUM_BINS: usize = (W + EXTRA_BINS + 1) as usize;
/// Window in tenths of the initial round trip: 3.5 times it (line 1).
const WINDOW_TENTHS: u64 = 35;
/// THRESH: share by which the bytes delivered fall short of twice those of a round trip before (line 6).
const THRESH: f64 = 0.35;

/// Bytes delivered, by time.
#[derive(Clone, Debug)]
struct Bins {
    initial_rtt: Duration,
    duration: Duration,
    bytes: [u64; NUM_BINS],
    /// Bins that are over. The draft's `curr_idx` is one less.
    over: u64,
    end: Time,
    /// Bytes delivered since the last bin was over.
    since: u64,
}

impl Bins {
    /// Lines 7 to 9. Departs from them: it begins with the first ACK of data, not with the connection.
    fn new(now: Time, initial_rtt: Duration) -> Self {
        let duration = Duration::from_ps((initial_rtt.as_ps() * WINDOW_TENTHS / 10 / W).max(1));
        Bins { initial_rtt, duration, bytes: [0; NUM_BINS], over: 0, end: now + duration, since: 0 }
    }

    fn at(&mut self, bin: u64) -> &mut u64 {
        &mut self.bytes[(bin % NUM_BINS as u64) as usize]
    }

    /// Lines 24 to 31. Departs from line 26, which would also empty the last bin that was filled.
    fn update(&mut self, now: Time) {
        let passed = now.since(self.end).as_ps() / self.duration.as_ps() + 1;
        self.end += self.duration.saturating_mul(passed);
        for bin in self.over..self.over + passed.min(NUM_BINS as u64) {
            *self.at(bin) = 0;
        }
        // More bins than are kept were passed: all are empty.
        self.over += passed;
        let last = self.over - 1;
        *self.at(last) = std::mem::take(&mut self.since);
    }

    /// Lines 32 to 38: bytes of the bins after `first`, up to `last`, moved back by `fraction` of a bin.
    fn sum(&self, first: u64, last: u64, fraction: f64) -> f64 {
        let bin = |n: u64| self.bytes[(n % NUM_BINS as u64) as usize];
        let middle: u64 = (first + 1..last).map(bin).sum();
        middle as f64 + bin(first) as f64 * fraction + bin(last) as f64 * (1.0 - fraction)
    }

    /// Lines 12 to 19: the share that is missing, where enough bins are filled.
    fn missing(&self, rtt: Duration) -> Option<f64> {
        let current = self.over.checked_sub(1)?;
        let shift = rtt.as_ps() / self.duration.as_ps();
        let before = current.checked_sub(shift)?;
        if before < W || shift > EXTRA_BINS {
            return None;
        }
        // Line 16 has the remainder as a time; the text of section 3 has it as the share of a bin, which is meant.
        let fraction = (rtt.as_ps() % self.duration.as_ps()) as f64 / self.duration.as_ps() as f64;
        let expected = 2.0 * self.sum(before - W, before, fraction);
        (expected > 0.0).then(|| (expected - self.sum(current - W, current, 0.0)) / expected)
    }

    /// Lines 39 and 40: bytes delivered since the path was full, two initial round trips ago.
    fn overshoot(&self) -> u64 {
        let current = self.over - 1;
        let full = current.saturating_sub(self.initial_rtt.as_ps() * 2 / self.duration.as_ps());
        self.sum(full, current, 0.0) as u64
    }
}

#[derive(Clone, Debug, Default)]
pub struct Search {
    bins: Option<Bins>,
}

impl Search {
    /// An ACK of the first slow start, which would add `growth` to `cwnd`.
    pub fn step(&mut self, ack: &AckSample, cwnd: u64, growth: u64) -> Step {
        let go_on = Step { growth, ..Step::default() };
        let Some(bins) = &mut self.bins else {
            // The handshake's round trip, where there is one, or that of this ACK.
            if !ack.rtt_min.is_zero() {
                self.bins = Some(Bins { since: ack.acked, ..Bins::new(ack.now, ack.rtt_min) });
            }
            return go_on;
        };
        // Line 30: what the ACK covers that ends a bin counts in it.
        bins.since = bins.since.saturating_add(ack.acked);
        if ack.now <= bins.end {
            return go_on;
        }
        bins.update(ack.now);
        match ack.rtt.and_then(|rtt| bins.missing(rtt)) {
            Some(missing) if missing >= THRESH => Step { set: Some(cwnd.saturating_sub(bins.overshoot())), leave: true, ..Step::default() },
            _ => go_on,
        }
    }

    pub fn reset(&mut self) {
        self.bins = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(200);

    /// Steps with an ACK each millisecond, whose bytes double each round trip until `full` ms, and stay. Time and the step that left.
    fn leaves(full: u64, cwnd: u64, rtt: impl Fn(u64) -> Duration) -> Option<(u64, Step)> {
        let mut search = Search::default();
        (0..10_000).find_map(|ms| {
            let acked = (100.0 * libm::exp2(ms.min(full) as f64 / 200.0)) as u64;
            let now = Time::ZERO + Duration::from_millis(ms);
            let ack = AckSample { now, acked, rtt: Some(rtt(ms)), rtt_min: RTT, ..AckSample::default() };
            let step = search.step(&ack, cwnd, acked);
            step.leave.then_some((ms, step))
        })
    }

    #[test]
    fn it_leaves_two_round_trips_after_the_path_is_full() {
        // With a rate of 2^t up to t = 0 and of 1 then (t in round trips), the windows of 3.5 hold, at t = 2,
        // (1 - 2^-1.5) / ln 2 + 2 = 2.9326 now and (1 - 2^-2.5) / ln 2 + 1 = 2.1877 before: 1 - 2.9326 / 4.3754 = 0.330. At t = 2.2 they
        // hold 3.0568 and 2.4012: 0.3635. 0.35 is passed at 2.12, and the bin of 0.35 round trips that it is in ends by 2.47.
        let (at, _) = leaves(2_000, 1 << 30, |_| RTT).unwrap();
        assert!((2_000 + 424..=2_000 + 495).contains(&at), "{at}");
        // A path that is never full is never left.
        assert_eq!(leaves(u64::MAX, 1 << 30, |ms| if ms < 3_000 { RTT } else { Duration::from_secs(9) }), None);
    }

    #[test]
    fn what_was_delivered_since_the_path_was_full_is_taken_back() {
        // Two round trips are 5 whole bins of 70 ms: 350 ACKs of 100 * 2^10 bytes.
        let (_, step) = leaves(2_000, 1 << 30, |_| RTT).unwrap();
        assert_eq!(step, Step { set: Some((1 << 30) - 350 * 102_400), leave: true, ..Step::default() });
        // No more than there is.
        assert_eq!(leaves(2_000, 1_000, |_| RTT).unwrap().1.set, Some(0));
    }

    #[test]
    fn a_round_trip_of_more_than_fifteen_bins_is_not_looked_at() {
        // 15 bins of 70 ms are 1050 ms; just under 16 still count as 15.
        assert!(leaves(2_000, 1 << 30, |_| Duration::from_micros(1_119_999)).is_some());
        assert_eq!(leaves(2_000, 1 << 30, |_| Duration::from_millis(1_120)), None);
    }

    #[test]
    fn the_example_of_section_4_is_missing_27_percent() {
        // Delivered in each round trip: 1, 2, 4, 8, 16, 16. A window of four round trips has 44, and had 30: (60 - 44) / 60.
        let mut bins = Bins::new(Time::ZERO, RTT);
        // Ten bins stand for the four round trips: 2.5 bins each.
        bins.duration = RTT * 2 / 5;
        let rounds = [1.0, 2.0, 4.0, 8.0, 16.0, 16.0];
        for half in 0..30 {
            // In halves of a bin, five a round trip, times a million.
            let at = rounds[half / 5] * 1e6 / 5.0;
            *bins.at(half as u64 / 2) += at as u64;
        }
        bins.over = 15;
        assert!((bins.missing(RTT).unwrap() - 16.0 / 60.0).abs() < 0.01, "{:?}", bins.missing(RTT));
    }

    #[test]
    fn bins_that_pass_without_an_ack_are_empty() {
        let mut bins = Bins::new(Time::ZERO, RTT);
        let ms = |n| Time::ZERO + Duration::from_millis(n);
        (bins.since, bins.over) = (7, 0);
        bins.update(ms(71));
        assert_eq!((bins.over, bins.bytes[0], bins.end), (1, 7, ms(140)));
        // Two more bins, of which the second has what the ACK brought.
        bins.since = 9;
        bins.update(ms(211));
        assert_eq!((bins.over, &bins.bytes[..4], bins.end), (3, &[7, 0, 9, 0][..], ms(280)));
        bins.update(ms(100_000));
        assert_eq!(bins.bytes, [0; NUM_BINS]);
    }
}
