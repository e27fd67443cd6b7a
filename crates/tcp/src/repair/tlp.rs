//! The tail loss probe (RFC 8985 §7): when the last segments of a flight go unacknowledged, one more asks for an answer.

use longfat_core::time::Duration;
use std::num::NonZeroU64;

/// TLP.max_ack_delay (§7.2): what a receiver may wait before it acknowledges a lone segment. The peer's own is not known; 200 ms is
/// what most stacks stay under (RFC 9293 §3.8.6.3 allows 500 ms).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Tlp {
    enabled: bool,
    /// The timer went off: one is to be sent.
    due: bool,
    /// TLP.end_seq: one is out, and this was SND.NXT then.
    end: Option<NonZeroU64>,
    /// TLP.is_retrans.
    retransmitted: bool,
}

impl Tlp {
    pub(super) fn new(enabled: bool) -> Self {
        Tlp { enabled, due: false, end: None, retransmitted: false }
    }

    /// Resets the state: no probe is out or due.
    pub(super) fn reset(&mut self) {
        (self.due, self.end, self.retransmitted) = (false, None, false);
    }

    /// Returns true if a probe is to be sent.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Returns true if the timer may be set for a probe: probes are sent, and none is out or due (§7.2).
    #[inline]
    pub(super) fn may_be_set(&self) -> bool {
        self.enabled && self.end.is_none() && !self.due
    }

    /// PTO (§7.2). `alone`: no more than one segment is outstanding.
    #[inline]
    pub(super) fn timeout(srtt: Duration, alone: bool) -> Duration {
        if srtt.is_zero() {
            return Duration::from_secs(1);
        }
        srtt * 2 + if alone { MAX_ACK_DELAY } else { Duration::ZERO }
    }

    /// The timer went off, with something `outstanding` or not.
    pub(super) fn went_off(&mut self, outstanding: bool) {
        self.due = outstanding;
    }

    /// Notes that the probe was sent, as new data or as the last segment `retransmitted`: everything below `max` has been sent.
    pub(super) fn sent(&mut self, max: u64, retransmitted: bool) {
        (self.due, self.end, self.retransmitted) = (false, NonZeroU64::new(max), retransmitted);
    }

    /// Notes that the probe could not be sent. `later`: it will be.
    pub(super) fn kept_back(&mut self, later: bool) {
        self.due = later;
    }

    /// Returns one past what had been sent when the probe that is out left.
    #[inline]
    pub(super) fn end(&self) -> Option<u64> {
        self.end.map(NonZeroU64::get)
    }

    /// §7.4.2: an ACK. Whether it says that the probe repaired a loss. `moved`: the left edge moved; `sacks`: it has SACK blocks;
    /// `duplicate`: what it reports to have arrived twice.
    pub(super) fn acked(&mut self, ack: u64, moved: bool, sacks: bool, duplicate: Option<(u64, u64)>) -> bool {
        // §7.2: data acknowledged is a reason to wait anew; a probe may have been kept back by pacing or by the host.
        self.due &= !moved;
        let Some(end) = self.end().filter(|end| ack >= *end) else { return false };
        let harmless = !self.retransmitted || duplicate.is_some_and(|(_, right)| right == end);
        if harmless || ack > end || (!moved && !sacks) {
            self.end = None;
        }
        !harmless && ack > end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(retransmitted: bool) -> Tlp {
        let mut tlp = Tlp::new(true);
        tlp.went_off(true);
        assert!(tlp.is_due() && !tlp.may_be_set());
        tlp.sent(5000, retransmitted);
        assert!(!tlp.is_due() && !tlp.may_be_set());
        tlp
    }

    #[test]
    fn the_probe_timeout_is_two_round_trips_and_the_wait_of_a_lone_segment() {
        let ms = Duration::from_millis;
        assert_eq!(Tlp::timeout(Duration::ZERO, true), ms(1000));
        assert_eq!(Tlp::timeout(ms(50), false), ms(100));
        assert_eq!(Tlp::timeout(ms(50), true), ms(300));
    }

    /// RFC 8985 §7.4.2, case by case.
    #[test]
    fn only_a_retransmission_acknowledged_once_repaired_a_loss() {
        // New data: nothing was repaired.
        assert!(!out(false).acked(5000, true, false, None));
        // A DSACK: the original had arrived.
        assert!(!out(true).acked(5000, false, true, Some((4000, 5000))));
        // An ACK of more than had been sent then: no DSACK will come.
        assert!(out(true).acked(5001, true, false, None));
        // A duplicate ACK without SACK: the same.
        let mut tlp = out(true);
        assert!(!tlp.acked(5000, true, false, None));
        assert_eq!(tlp.end(), Some(5000), "a DSACK may yet come");
        assert!(!tlp.acked(5000, false, false, None));
        assert_eq!(tlp.end(), None);
    }

    #[test]
    fn a_probe_kept_back_goes_later_unless_data_is_acknowledged() {
        let mut tlp = Tlp::new(true);
        tlp.went_off(true);
        tlp.kept_back(true);
        assert!(!tlp.acked(100, false, false, None) && tlp.is_due());
        assert!(!tlp.acked(100, true, false, None) && !tlp.is_due());
        assert!(tlp.may_be_set() && !Tlp::new(false).may_be_set());
    }
}
