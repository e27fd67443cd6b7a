//! How the windows are used: what kept the sender from sending more, round trip by round trip.

/// What kept the sender from sending more when it last tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Cwnd,
    Rwnd,
    Application,
    Pacing,
}

#[derive(Debug)]
pub(crate) struct Usage {
    limit: Limit,
    /// Round trips counted in packets; the current one ends when something beyond `round_end` is acknowledged.
    round: u64,
    round_end: u64,
    /// Before this round cwnd has been the limit in the round under way or in the one before it.
    cwnd_until: u64,
}

impl Usage {
    pub const NONE: Self = Usage { limit: Limit::Application, round: 0, round_end: 0, cwnd_until: 0 };

    #[inline]
    pub fn limited_by(&mut self, limit: Limit) {
        self.limit = limit;
    }

    #[inline]
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// The number of the round trip under way.
    #[inline]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Everything below `ack` is acknowledged, and everything below `max` has been sent.
    #[inline]
    pub fn acked(&mut self, ack: u64, max: u64) {
        if ack > self.round_end {
            self.round += 1;
            self.round_end = max;
        }
    }

    /// Whether cwnd keeps the sender from sending more. Between two bursts of a paced sender that is told from this round and the
    /// one before: a window used up once a round is the limit, whatever spaces the segments within it.
    #[inline]
    pub fn is_cwnd_limited(&mut self) -> bool {
        match self.limit {
            Limit::Cwnd => {
                self.cwnd_until = self.round + 2;
                true
            }
            Limit::Pacing => self.round < self.cwnd_until,
            Limit::Rwnd | Limit::Application => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_sender_is_limited_by_a_window_used_up_in_this_round_or_the_last() {
        let mut usage = Usage::NONE;
        assert!(!usage.is_cwnd_limited());
        usage.limited_by(Limit::Pacing);
        assert!(!usage.is_cwnd_limited());
        usage.limited_by(Limit::Cwnd);
        assert!(usage.is_cwnd_limited());
        usage.limited_by(Limit::Pacing);
        // A round ends when what was sent after it began is acknowledged.
        let limited: Vec<bool> = [1, 500, 1000, 1001, 2001]
            .map(|ack| {
                usage.acked(ack, ack + 999);
                usage.is_cwnd_limited()
            })
            .to_vec();
        assert_eq!((usage.round(), limited), (3, vec![true, true, true, false, false]));
        usage.limited_by(Limit::Rwnd);
        assert!(!usage.is_cwnd_limited());
    }
}
