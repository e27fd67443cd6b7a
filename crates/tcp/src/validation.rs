//! Congestion window validation (RFC 7661): a sender that had less to send than cwnd keeps cwnd, so that it can go on at its old
//! rate, and pays for it when that proves wrong: at congestion it falls to what it really used.

use crate::congestion::Unused;
use longfat_core::time::{Duration, Time};

/// The non-validated period (RFC 7661 §4.4.3): five minutes.
const NVP: Duration = Duration::from_secs(300);
/// The sampling period is kept in so many parts; a sample counts until its part has passed (§4.5.2 suggests such).
const PARTS: usize = 4;

/// A window, and what it becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Adjustment {
    pub cwnd: u64,
    pub ssthresh: u64,
}

impl From<Adjustment> for Unused {
    fn from(Adjustment { cwnd, ssthresh }: Adjustment) -> Self {
        Unused::Limited { cwnd, ssthresh }
    }
}

/// The variables of RFC 7661 §4. Byte counts are of the stream.
#[derive(Clone, Debug)]
pub(super) struct Validation {
    initial_window: u64,
    /// pipeACK, where it is defined: the most that was acknowledged in a round trip, in each part of the sampling period; newest first.
    parts: Option<[u64; PARTS]>,
    part_start: Time,
    last_sample: Time,
    /// The round trip being measured, and the left edge at its start.
    round: Option<(u64, u64)>,
    /// In the non-validated phase: since when.
    since: Option<Time>,
    /// Fast recovery from congestion in that phase: what was reduced from, and R, what was lost and retransmitted since.
    recovery: Option<(u64, u64)>,
}

impl Validation {
    /// RFC 7661 §4.1: validated, pipeACK undefined.
    pub(crate) fn new(initial_window: u64) -> Self {
        Validation {
            initial_window,
            parts: None,
            part_start: Time::ZERO,
            last_sample: Time::ZERO,
            round: None,
            since: None,
            recovery: None,
        }
    }

    /// pipeACK; `None` while it is undefined.
    fn pipe_ack(&self) -> Option<u64> {
        self.parts.and_then(|parts| parts.into_iter().max())
    }

    /// Returns true if `round` is one that has not begun yet.
    #[inline]
    pub(crate) fn is_new(&self, round: u64) -> bool {
        self.round.is_none_or(|(n, _)| n != round)
    }

    /// A round trip ends and `round` begins, with all below `una` acknowledged (RFC 7661 §4.5.1).
    pub(crate) fn round(&mut self, now: Time, round: u64, una: u64, srtt: Duration) {
        if let Some((_, start)) = self.round {
            self.expire(now, srtt);
            let parts = self.parts.get_or_insert([0; PARTS]);
            parts[0] = parts[0].max(una - start);
            self.last_sample = now;
        }
        self.round = Some((round, una));
    }

    /// Samples older than the sampling period are forgotten: the longer of 3 round trips and 1 s (§4.2).
    fn expire(&mut self, now: Time, srtt: Duration) {
        let part = period(srtt) / PARTS as u64;
        let passed = now.since(self.part_start).as_ps() / part.as_ps();
        if passed == 0 {
            return;
        }
        self.part_start = self.part_start.saturating_add(part.saturating_mul(passed));
        if let Some(parts) = &mut self.parts {
            let n = passed.min(PARTS as u64) as usize;
            parts.rotate_right(n);
            parts[..n].fill(0);
        }
    }

    /// Finds the phase by pipeACK and `cwnd` (§4.3). Whether the non-validated one has lasted too long: then the window to take.
    pub(crate) fn look(&mut self, now: Time, srtt: Duration, cwnd: u64, ssthresh: u64) -> Option<Adjustment> {
        self.expire(now, srtt);
        // RFC 7661 §4.2: validated are pipeACK of at least half of cwnd, and undefined.
        if self.pipe_ack().is_none_or(|pipe| 2 * pipe >= cwnd) {
            self.since = None;
            return None;
        }
        // An idle sender does not look: it was not validated from the moment on that its last sample expired.
        let since = *self.since.get_or_insert(now.min(self.last_sample.saturating_add(period(srtt))));
        if now.since(since) < NVP {
            return None;
        }
        self.since = Some(now);
        // RFC 7661 §4.4.3: what was sustained is remembered in ssthresh, and half of cwnd given up, down to the initial window.
        let kept = (cwnd / 2).max(self.initial_window).min(cwnd);
        Some(Adjustment { cwnd: kept, ssthresh: ssthresh.max(cwnd / 4 * 3) })
    }

    /// Returns true if the window was not used, so that it must not leave in one burst (§4.4.2).
    #[inline]
    pub(crate) fn is_unused(&self) -> bool {
        self.since.is_some()
    }

    /// Returns the base of a reduction when `flight` is in flight: in the non-validated phase cwnd says nothing (§4.4.1). The RFC halves
    /// it; here each control takes its own part.
    pub(crate) fn basis(&self, flight: u64) -> u64 {
        match self.since {
            Some(_) => flight.max(self.pipe_ack().unwrap_or(0)),
            None => flight,
        }
    }

    /// Congestion, after which the window was reduced from `basis`; what follows is a fast recovery, or not.
    pub(crate) fn congestion(&mut self, basis: u64, recovery: bool) {
        self.recovery = (recovery && self.since.is_some()).then_some((basis, 0));
        // RFC 7661 §4.4.1: undefined after recovery, so that standard TCP goes on from there; and not updated during it.
        (self.parts, self.round, self.since) = (None, None, None);
    }

    /// Something lost is retransmitted.
    pub(crate) fn repaired(&mut self, bytes: u64) {
        if let Some((_, lost)) = &mut self.recovery {
            *lost += bytes;
        }
    }

    /// Fast recovery is over, with `ssthresh` for its window: what was lost shows by how much the path was exceeded, at least.
    pub(crate) fn recovered(&mut self, ssthresh: u64) -> Option<Adjustment> {
        self.round = None;
        let (basis, lost) = self.recovery.take()?;
        // RFC 7661 §4.4.1: cwnd = (max(pipeACK, LossFlightSize) - R) / 2; in the control's own ratio. ssthresh is the same.
        let left = basis.saturating_sub(lost);
        let cwnd = (u128::from(ssthresh) * u128::from(left) / u128::from(basis.max(1))) as u64;
        Some(Adjustment { cwnd, ssthresh: cwnd })
    }
}

fn period(srtt: Duration) -> Duration {
    (srtt * 3).max(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A round trip of 100 ms in which `bytes` were acknowledged, from `ms` on; then the state at its end.
    fn used(v: &mut Validation, ms: u64, bytes: u64, una: &mut u64) {
        for end in [0, 100] {
            if end > 0 {
                *una += bytes;
            }
            v.round(at(ms + end), ms / 100 + u64::from(end > 0), *una, RTT);
        }
    }

    #[test]
    fn half_of_cwnd_validates_it() {
        let mut v = Validation::new(10_000);
        let mut una = 1;
        // Undefined: validated, and standard TCP.
        assert_eq!((v.look(at(0), RTT, 100_000, 1), v.since, v.basis(40_000)), (None, None, 40_000));
        used(&mut v, 0, 50_000, &mut una);
        v.look(at(100), RTT, 100_000, 1);
        assert_eq!((v.since, v.basis(40_000)), (None, 40_000));
        v.look(at(100), RTT, 100_001, 1);
        assert_eq!((v.since, v.basis(40_000)), (Some(at(100)), 50_000));
        // More in flight than ever acknowledged: that counts.
        assert_eq!(v.basis(60_000), 60_000);
        // Using it again ends the phase.
        used(&mut v, 100, 50_001, &mut una);
        v.look(at(200), RTT, 100_001, 1);
        assert_eq!(v.since, None);
    }

    #[test]
    fn a_sample_counts_for_a_second_or_three_round_trips() {
        for (srtt, lives, expired) in [(100, 800, 1_000), (1_000, 2_300, 3_000)] {
            let srtt = Duration::from_millis(srtt);
            let mut v = Validation::new(10_000);
            v.round(at(10_000), 1, 1, srtt);
            v.round(at(10_100), 2, 50_001, srtt);
            assert_eq!(v.pipe_ack(), Some(50_000));
            v.expire(at(10_000 + lives), srtt);
            assert_eq!(v.pipe_ack(), Some(50_000));
            v.expire(at(10_100 + expired), srtt);
            assert_eq!(v.pipe_ack(), Some(0), "idle: defined, and nothing");
        }
    }

    #[test]
    fn five_minutes_are_kept_then_half_is_given_up() {
        let mut v = Validation::new(10_000);
        let mut una = 1;
        used(&mut v, 0, 50_000, &mut una);
        // Idle from 0.1 s on, until it sends again: not validated since 1.1 s.
        assert_eq!(v.look(at(301_099), RTT, 100_000, 60_000), None);
        assert_eq!(v.since, Some(at(1_100)));
        assert_eq!(v.look(at(301_100), RTT, 100_000, 60_000), Some(Adjustment { cwnd: 50_000, ssthresh: 75_000 }));
        // Another five minutes.
        assert_eq!(v.look(at(400_000), RTT, 50_000, 75_000), None);
        assert_eq!(v.look(at(601_100), RTT, 16_000, 75_000), Some(Adjustment { cwnd: 10_000, ssthresh: 75_000 }));
        assert_eq!(v.look(at(901_100), RTT, 5_000, u64::MAX), Some(Adjustment { cwnd: 5_000, ssthresh: u64::MAX }));
    }

    #[test]
    fn what_was_lost_lowers_the_window_after_recovery() {
        let mut v = Validation::new(10_000);
        let mut una = 1;
        used(&mut v, 0, 30_000, &mut una);
        v.look(at(100), RTT, 100_000, u64::MAX);
        let basis = v.basis(20_000);
        assert_eq!(basis, 30_000);
        v.congestion(basis, true);
        v.repaired(3_000);
        v.repaired(1_000);
        // RFC 7661 §4.4.1: (30,000 - 4,000) / 2.
        assert_eq!(v.recovered(15_000), Some(Adjustment { cwnd: 13_000, ssthresh: 13_000 }));
        // Then pipeACK is undefined: standard TCP.
        v.look(at(5_000), RTT, 100_000, 1);
        assert_eq!((v.basis(20_000), v.recovered(15_000)), (20_000, None));
        // A window that was in use is reduced in the standard way.
        used(&mut v, 6_000, 60_000, &mut una);
        v.look(at(6_100), RTT, 100_000, 1);
        v.congestion(v.basis(90_000), true);
        v.repaired(5_000);
        assert_eq!(v.recovered(45_000), None);
    }
}
