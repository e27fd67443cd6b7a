//! Round trips as a delay-based control wants them: gathered over a round, judged at its end.

use super::AckSample;
use longfat_core::time::Duration;

/// Round trips that one round measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RoundTrips {
    pub least: Duration,
    pub mean: Duration,
}

/// Gathers the round trips of the round under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    round: u64,
    least: Duration,
    sum_ps: u64,
    count: u64,
}

impl Rounds {
    /// Takes in this ACK. What the round that it ends has measured, if it ends one in which anything was.
    #[inline]
    pub(super) fn sample(&mut self, ack: &AckSample) -> Option<RoundTrips> {
        let mut over = None;
        if ack.round != self.round {
            let mean = self.sum_ps.checked_div(self.count);
            over = mean.map(|mean| RoundTrips { least: self.least, mean: Duration::from_ps(mean) });
            self.restart();
            self.round = ack.round;
        }
        if let Some(rtt) = ack.rtt {
            self.least = if self.count == 0 { rtt } else { self.least.min(rtt) };
            self.sum_ps += rtt.as_ps();
            self.count += 1;
        }
        over
    }

    /// The least round trip of the round under way.
    pub(super) fn least(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.least)
    }

    /// Discards what this round has measured so far.
    pub(super) fn restart(&mut self) {
        (self.sum_ps, self.count) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_judged_when_the_next_begins() {
        let ms = Duration::from_millis;
        let mut rounds = Rounds::default();
        let mut ack = |round, rtt: Option<u64>| rounds.sample(&AckSample { round, rtt: rtt.map(ms), ..AckSample::default() });
        assert_eq!([ack(1, Some(70)), ack(1, None), ack(1, Some(80)), ack(1, Some(60))], [None; 4]);
        assert_eq!(ack(2, Some(100)), Some(RoundTrips { least: ms(60), mean: ms(70) }));
        assert_eq!(ack(3, None), Some(RoundTrips { least: ms(100), mean: ms(100) }));
        assert_eq!(ack(4, Some(50)), None, "nothing was measured in round 3");
    }
}
