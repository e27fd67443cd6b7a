//! SUSS, Speeding Up Slow Start (Arghavani, Zhang, Eyers and Arghavani, SUSS: Improving TCP Performance by Speeding Up Slow-Start,
//! SIGCOMM 2024): where a train of ACKs shows that `HyStart` would not end slow start in the next round either, the window grows
//! fourfold in this one. What doubling would not have sent is paced.
//!
//! The paper was not at hand. Its two conditions and its parts (clocking, guard, pacing) come from slides about it, the pacing rate and the
//! train of a part of the window from memory.

use super::Step;
use super::hystart::ACK_DELTA;
use crate::TcpConfig;
use crate::congestion::AckSample;
use crate::pacing;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

/// Least window, in segments, in which the end is looked for (Ha and Rhee 2011, Algorithm 1).
const LOW_WINDOW: u64 = 16;
/// Round trips measured in a round before their least says that the queue grows (Ha and Rhee 2011, Algorithm 1).
const SAMPLES: u32 = 8;

/// One round. Its ACKs are of what the round before sent: first the clocked data, then the paced.
#[derive(Clone, Copy, Debug)]
struct Round {
    number: u64,
    start: Time,
    /// Window of the round before, in bytes: what was in flight when this one began.
    window: u64,
    /// Bytes of it that ACKs clocked; the rest was paced.
    clocked: u64,
    /// Bytes acknowledged in this round.
    acked: u64,
    /// The last ACK of the train that began with the round.
    train: Time,
    samples: u32,
    least: Duration,
}

#[derive(Clone, Debug)]
pub struct Suss {
    low_window: u64,
    /// minRTT, of data.
    least: Duration,
    /// Round in which it was measured.
    least_round: u64,
    round: Option<Round>,
    /// Rate of the paced part; None in a clocking period, and where there is none.
    rate: Option<Rate>,
}

const INFINITE: Duration = Duration::from_ps(u64::MAX);

impl Suss {
    pub fn new(config: &TcpConfig) -> Self {
        Suss { low_window: LOW_WINDOW * u64::from(config.mss), least: INFINITE, least_round: 0, round: None, rate: None }
    }

    /// An ACK of the first slow start, which would add `growth` to `cwnd`.
    pub fn step(&mut self, ack: &AckSample, cwnd: u64, growth: u64) -> Step {
        let mut round = match self.round {
            Some(round) if round.number == ack.round => round,
            last => {
                // The clocked data of a round is twice that which was acknowledged in it. The first window was sent at once.
                self.rate = None;
                let window = ack.in_flight.min(cwnd);
                let clocked = last.map_or(window, |last| last.clocked.saturating_mul(2).min(window));
                Round { number: ack.round, start: ack.now, window, clocked, acked: 0, train: ack.now, samples: 0, least: INFINITE }
            }
        };
        if let Some(rtt) = ack.rtt {
            if rtt < self.least {
                (self.least, self.least_round) = (rtt, ack.round);
            }
            round.least = round.least.min(rtt);
            round.samples += 1;
        }
        let clocks = round.acked < round.clocked;
        // Ha and Rhee 2011, Algorithm 1: a longer gap is no train of the bottleneck's. SUSS changes which ACKs make the train, not that.
        let in_train = ack.now.since(round.train) <= ACK_DELTA;
        if in_train {
            round.train = ack.now;
        }
        round.acked = round.acked.saturating_add(ack.acked);
        self.round = Some(round);
        let go_on = Step { growth, ..Step::default() };
        if self.least == INFINITE || round.clocked == 0 {
            return go_on;
        }
        // The train of the clocked part tells how long one of the whole window would take.
        let train = ack.now.since(round.start).as_secs_f64() * round.window as f64 / round.clocked as f64;
        let least = self.least.as_secs_f64();
        // HyStart: a train of half of minRTT, or a round trip of over 1.125 minRTT.
        let full = clocks && in_train && train >= least / 2.0;
        let queue = round.samples >= SAMPLES && round.least.as_secs_f64() > 1.125 * least;
        if cwnd >= self.low_window && (full || queue) {
            self.rate = None;
            return Step { leave: true, ..Step::default() };
        }
        // The clocked part is acknowledged: does exponential growth go on in the next round, too?
        if clocks && round.acked >= round.clocked && ack.cwnd_limited && self.continues(&round, train, least) {
            self.rate = Some(pacing::rate(4.0 * round.window as f64 / least));
            return Step { paced: 2 * round.window, ..go_on };
        }
        go_on
    }

    /// Returns true if `HyStart`'s conditions hold in the next round as well, as far as this one tells.
    fn continues(&self, round: &Round, train: f64, least: f64) -> bool {
        // Condition 1: the next train is twice as long, and half of minRTT at most.
        let clocking = train <= least / 4.0;
        // Condition 2: the round trip grows on as it did since minRTT was measured, and to 1.125 of it at most.
        let rise = round.least.as_secs_f64() - least;
        let rounds = round.number.saturating_sub(self.least_round).max(1) as f64;
        round.least != INFINITE && clocking && rise + rise / rounds <= 0.125 * least
    }

    /// Rate of the paced part: the window over minRTT, in the round that has one.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    pub fn reset(&mut self) {
        (self.round, self.rate) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::slow_start::tests::{MSS, config};

    const RTT_US: u64 = 100_000;

    fn suss() -> Suss {
        Suss::new(&config("suss"))
    }

    /// A round of `count` ACKs of a segment each, `gap` us apart, with round trips of `rtt` us. The steps.
    fn round(s: &mut Suss, number: u64, count: u64, gap: u64, rtt: u64) -> Vec<Step> {
        let cwnd = count * MSS;
        let ack = |n: u64| AckSample {
            now: Time::ZERO + Duration::from_micros(number * RTT_US + n * gap),
            acked: MSS,
            in_flight: cwnd,
            round: number,
            rtt: Some(Duration::from_micros(rtt)),
            cwnd_limited: true,
            ..AckSample::default()
        };
        (0..count).map(|n| s.step(&ack(n), cwnd, MSS)).collect()
    }

    fn paced(steps: &[Step]) -> u64 {
        steps.iter().map(|step| step.paced).sum::<u64>() / MSS
    }

    #[test]
    fn a_short_train_quadruples_the_window_and_paces_the_second_half() {
        let mut s = suss();
        let steps = round(&mut s, 1, 10, 1_000, RTT_US);
        // Doubled by ten ACKs; with the last, at 9 ms of the 25 that are a quarter of minRTT, 20 segments more. 40 segments of 1000 bytes
        // over 100 ms are 3.2 Mbit/s.
        assert_eq!((steps.iter().map(|step| step.growth).sum::<u64>(), paced(&steps[..9]), paced(&steps)), (10 * MSS, 0, 20));
        assert_eq!(s.pacing_rate().map(|rate| (rate.as_bps() + 500) / 1000), Some(3_200));
    }

    #[test]
    fn the_clocked_part_is_a_half_of_the_window_and_then_a_quarter() {
        let mut s = suss();
        round(&mut s, 1, 10, 100, RTT_US);
        // 40 in flight, of which the first 20 were clocked: the 20th ACK decides, at twice its time.
        let steps = round(&mut s, 2, 40, 500, RTT_US);
        assert_eq!(steps.iter().position(|step| step.paced > 0), Some(19));
        assert_eq!(paced(&steps), 80);
        // 160 in flight, 40 of them clocked. 39 ACKs of 170 us are 6.6 ms: 26.5 ms with the rest, more than a quarter.
        let steps = round(&mut s, 3, 160, 170, RTT_US);
        assert_eq!((paced(&steps), s.pacing_rate()), (0, None));
        assert!(steps.iter().all(|step| step.growth == MSS && !step.leave));
    }

    #[test]
    fn the_train_of_a_quarter_of_the_round_trip_is_the_bound() {
        // The tenth ACK comes after nine gaps: 24.9 and 25.2 ms.
        for (gap, more) in [(2_770, 20), (2_800, 0)] {
            assert_eq!(paced(&round(&mut suss(), 1, 10, gap, RTT_US)), more, "{gap}");
        }
    }

    #[test]
    fn a_round_trip_that_would_rise_by_an_eighth_is_the_bound() {
        // minRTT of round 1; in round 3, two rounds later, half of the rise is to come: 8.3 ms and 4.15 more are under 12.5, 8.4 are not.
        for (rise, more) in [(8_300, true), (8_400, false)] {
            let mut s = suss();
            round(&mut s, 1, 10, 3_000, RTT_US);
            round(&mut s, 2, 10, 3_000, RTT_US);
            assert_eq!(paced(&round(&mut s, 3, 10, 100, RTT_US + rise)) > 0, more, "{rise}");
        }
    }

    #[test]
    fn slow_start_ends_as_hystart_ends_it() {
        // A train of half a round trip, at 1 ms each.
        let mut s = suss();
        let steps = round(&mut s, 1, 100, 1_000, RTT_US);
        assert_eq!(steps.iter().position(|step| step.leave), Some(50));
        // The eighth round trip of a round that is over an eighth more.
        let mut s = suss();
        round(&mut s, 1, 20, 100, RTT_US);
        let steps = round(&mut s, 2, 80, 100, RTT_US * 9 / 8 + 1);
        assert_eq!(steps.iter().position(|step| step.leave), Some(7));
        // Under 16 segments it goes on.
        assert!(round(&mut suss(), 1, 15, 20_000, RTT_US).iter().all(|step| !step.leave));
    }

    #[test]
    fn a_gap_of_more_than_two_ms_ends_the_train() {
        // The ACK after a gap comes at half of a round trip: it is no train of a full path, and those close behind it are none.
        for (gap, ends) in [(2_000, true), (2_001, false)] {
            let mut s = suss();
            let steps = round(&mut s, 1, 60, gap, RTT_US);
            assert_eq!(steps.iter().any(|step| step.leave), ends, "{gap}");
        }
        let mut s = suss();
        let leaves = (0..40_u64).any(|n| {
            let now = Time::ZERO + Duration::from_micros(n * 100 + if n < 20 { 0 } else { 60_000 });
            let rtt = Some(Duration::from_micros(RTT_US));
            s.step(&AckSample { now, rtt, acked: MSS, in_flight: 40 * MSS, round: 1, ..AckSample::default() }, 40 * MSS, MSS).leave
        });
        assert!(!leaves);
    }

    #[test]
    fn the_paced_data_is_no_train() {
        let mut s = suss();
        round(&mut s, 1, 10, 100, RTT_US);
        // ACKs of 40 segments, of which the last 20 come through the whole round trip.
        let mut steps = round(&mut s, 2, 20, 100, RTT_US);
        steps.extend(round(&mut s, 2, 20, 4_500, RTT_US));
        assert!(steps.iter().all(|step| !step.leave));
    }
}
