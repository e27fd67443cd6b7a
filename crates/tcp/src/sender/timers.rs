//! The sender's timer. There is one at a time (RFC 8985 §8): retransmission timeout, reordering, tail loss probe, or, where the
//! peer's window is closed, the next window probe.

use crate::round_trips::RoundTrips;
use longfat_core::time::{Duration, Time};

/// Purpose of the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    Retransmission,
    /// RFC 8985 §6.2 step 5: something is lost unless it arrives before.
    Reordering,
    /// RFC 8985 §7.2: the tail loss probe.
    Probe,
}

#[derive(Debug)]
pub(crate) struct Timers {
    /// [`Time::MAX`]: not set.
    deadline: Time,
    set_for: Timer,
    /// Time when the retransmission timer would go off, were the timer not set for something earlier.
    rto_at: Time,
    /// Probing a closed window: how many probes went unanswered.
    persist: Option<u8>,
    /// A window probe is to be sent.
    window_probe: bool,
    /// Since when nothing has answered what is retransmitted, or a window probe, and the left edge then.
    unanswered: (u64, Time),
}

/// Returns how long to wait for the answer to a window probe when so many went unanswered (RFC 9293 §3.8.6.1: exponentially longer).
fn persist_delay(rto: Duration, probes: u8) -> Duration {
    rto.saturating_mul(1 << probes.min(16)).min(Duration::from_secs(60))
}

impl Timers {
    pub(crate) const STOPPED: Self = Timers {
        deadline: Time::MAX,
        set_for: Timer::Retransmission,
        rto_at: Time::MAX,
        persist: None,
        window_probe: false,
        unanswered: (0, Time::ZERO),
    };

    /// Returns the time at which the timer goes off; [`Time::MAX`]: never.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.deadline != Time::MAX
    }

    pub(crate) fn set_for(&self) -> Timer {
        self.set_for
    }

    pub(crate) fn stop(&mut self) {
        self.deadline = Time::MAX;
    }

    /// Sets the retransmission timer.
    pub(crate) fn arm_rto(&mut self, now: Time, trips: &RoundTrips) {
        self.deadline = trips.expiry(now, trips.rto());
        self.rto_at = self.deadline;
        self.set_for = Timer::Retransmission;
    }

    /// Sets it for what comes first, where it is set and no window is being probed: `reordering`, the tail loss probe of RFC 8985
    /// §7.2 where there is one, or the retransmission timeout.
    #[inline]
    pub(crate) fn choose(&mut self, reordering: Option<Time>, tlp: impl FnOnce() -> Option<Time>) {
        if !self.is_set() || self.persist.is_some() {
            return;
        }
        (self.deadline, self.set_for) = match reordering {
            Some(at) if at < self.rto_at => (at, Timer::Reordering),
            Some(_) => (self.rto_at, Timer::Retransmission),
            None => tlp().map_or((self.rto_at, Timer::Retransmission), |at| (at.min(self.rto_at), Timer::Probe)),
        };
    }

    /// Returns true if a closed window is being probed.
    #[inline]
    pub(crate) fn is_probing(&self) -> bool {
        self.persist.is_some()
    }

    /// Returns true if a window probe is to be sent.
    #[inline]
    pub(crate) fn probe_is_due(&self) -> bool {
        self.window_probe
    }

    pub(crate) fn probe_sent(&mut self) {
        self.window_probe = false;
    }

    /// The peer's window keeps us from sending, and nothing is in flight: ask again later (RFC 9293 §3.8.6.1).
    pub(crate) fn start_probing(&mut self, now: Time, trips: &RoundTrips) {
        self.persist = Some(0);
        self.deadline = trips.expiry(now, persist_delay(trips.rto(), 0));
    }

    /// It went off while probing a window: another probe. Whether it did.
    pub(crate) fn probe_again(&mut self, now: Time, una: u64, trips: &RoundTrips) -> bool {
        let Some(probes) = self.persist else { return false };
        self.note_unanswered(now, una, persist_delay(trips.rto(), probes));
        self.window_probe = true;
        let probes = probes.saturating_add(1);
        self.persist = Some(probes);
        self.deadline = trips.expiry(now, persist_delay(trips.rto(), probes));
        true
    }

    /// Nothing is outstanding (RFC 6298 §5.2), or the window that was closed is open.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.deadline = Time::MAX;
        self.persist = None;
    }

    /// Notes that the timer went off after `span`, and that nothing had come: everything below `una` is acknowledged.
    pub(crate) fn note_unanswered(&mut self, now: Time, una: u64, span: Duration) {
        if self.unanswered.0 != una {
            self.unanswered = (una, Time::from_ps(now.as_ps().saturating_sub(span.as_ps())));
        }
    }

    /// A window probe was answered, if only by saying that the window is still closed: the other side is there (RFC 9293 §3.8.6.1,
    /// MUST-37).
    pub(crate) fn probe_was_answered(&mut self) {
        self.unanswered.0 = 0;
    }

    /// Returns for how long nothing has answered.
    pub(crate) fn unanswered(&self, now: Time, una: u64) -> Duration {
        if una == self.unanswered.0 { now.since(self.unanswered.1) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TcpConfig, stack};

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// No round trip is known: the rto is 1 s (RFC 6298 §2.1).
    fn trips() -> RoundTrips {
        RoundTrips::new(&TcpConfig::new(&stack::named("rfc").params(), 1500), Duration::ZERO)
    }

    #[test]
    fn what_comes_first_sets_the_timer() {
        let (mut timers, trips) = (Timers::STOPPED, trips());
        timers.choose(Some(at(1)), || None);
        assert!(!timers.is_set(), "nothing is outstanding");
        timers.arm_rto(at(0), &trips);
        let mut chosen = |reordering, tlp: Option<Time>| {
            timers.choose(reordering, || tlp);
            (timers.deadline(), timers.set_for())
        };
        assert_eq!(chosen(Some(at(30)), Some(at(20))), (at(30), Timer::Reordering));
        assert_eq!(chosen(Some(at(1000)), Some(at(20))), (at(1000), Timer::Retransmission));
        assert_eq!(chosen(None, Some(at(20))), (at(20), Timer::Probe));
        assert_eq!(chosen(None, Some(at(2000))), (at(1000), Timer::Probe));
        assert_eq!(chosen(None, None), (at(1000), Timer::Retransmission));
    }

    #[test]
    fn window_probes_wait_twice_as_long_each_time_and_at_most_a_minute() {
        let (mut timers, trips) = (Timers::STOPPED, trips());
        assert!(!timers.probe_again(at(0), 5, &trips));
        timers.start_probing(at(0), &trips);
        let mut waits = vec![timers.deadline().since(at(0)).as_secs_f64()];
        for _ in 0..7 {
            let now = timers.deadline();
            assert!(timers.probe_again(now, 5, &trips) && timers.probe_is_due());
            timers.probe_sent();
            waits.push(timers.deadline().since(now).as_secs_f64());
        }
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        // Unanswered since the first was sent, an rto before it went off; an answer, or progress, ends that.
        assert_eq!(timers.unanswered(at(9000), 5), Duration::from_secs(9));
        assert_eq!(timers.unanswered(at(9000), 6), Duration::ZERO);
        timers.probe_was_answered();
        assert_eq!(timers.unanswered(at(9000), 5), Duration::ZERO);
        timers.rest();
        assert!(!timers.is_set() && !timers.is_probing());
    }
}
