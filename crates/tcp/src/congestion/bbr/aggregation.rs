//! How much more is acknowledged at a time than the bandwidth explains: stretched ACKs, and ACKs that come in bursts.

use longfat_core::time::Time;

use super::MaxFilter;

/// The estimate (draft-ietf-ccwg-bbr-06 §5.5.9): the greatest surplus of the last `N` rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation<const N: usize> {
    /// When the epoch began, and what it delivered.
    pub from: Time,
    delivered: u64,
    pub extra: MaxFilter<N>,
}

impl<const N: usize> Aggregation<N> {
    pub(super) fn new() -> Self {
        Aggregation { from: Time::ZERO, delivered: 0, extra: MaxFilter::new() }
    }

    /// An ACK of `now`, in this round, delivered so many bytes; `bandwidth` is in bytes per second. The surplus that counts is `most` bytes at
    /// most.
    pub(super) fn update(&mut self, now: Time, round: u64, delivered: u64, bandwidth: f64, most: u64) {
        let mut expected = (bandwidth * now.since(self.from).as_secs_f64()) as u64;
        if self.delivered <= expected {
            (self.delivered, self.from, expected) = (0, now, 0);
        }
        self.delivered += delivered;
        self.extra.advance(round);
        self.extra.update((self.delivered - expected).min(most) as f64);
    }
}
