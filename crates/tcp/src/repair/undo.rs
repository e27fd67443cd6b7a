//! The last reduction, as long as it can be taken back: Eifel detection (RFC 3522) and DSACKs (RFC 3708) tell whether it was for
//! nothing.

use crate::seq::timestamp_before;
use longfat_core::packet::Segment;

#[derive(Clone, Copy, Debug)]
struct Reduction {
    timeout: bool,
    /// What was outstanding.
    from: u64,
    until: u64,
    /// RetransmitTS: TSval of the first retransmission (RFC 3522 §3.2 step 2).
    stamp: Option<u32>,
    /// The first ACK that moved the left edge has come.
    answered: bool,
    /// Bytes sent again, and of them those not reported as duplicates.
    retransmitted: u64,
    unreported: u64,
}

#[derive(Debug)]
pub(crate) struct Undo {
    enabled: bool,
    last: Option<Box<Reduction>>,
}

impl Undo {
    pub fn new(enabled: bool) -> Self {
        Undo { enabled, last: None }
    }

    /// A reduction for a loss, or for a `timeout`, with `from..until` outstanding: from now on it is watched.
    pub fn watch(&mut self, timeout: bool, from: u64, until: u64) {
        let reduction = Reduction { timeout, from, until, stamp: None, answered: false, retransmitted: 0, unreported: 0 };
        self.last = self.enabled.then(|| Box::new(reduction));
    }

    /// What the window is now is not to be taken back.
    pub fn forget(&mut self) {
        self.last = None;
    }

    #[inline]
    pub fn is_watching(&self) -> bool {
        self.last.is_some()
    }

    /// Whether the reduction that is watched was for a timeout.
    pub fn is_of_timeout(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.timeout)
    }

    /// `len` bytes are sent again, with the TSval that `stamp` gives.
    #[inline]
    pub fn sent_again(&mut self, len: u64, stamp: impl FnOnce() -> Option<u32>) {
        if let Some(last) = &mut self.last {
            if last.retransmitted == 0 {
                last.stamp = stamp();
            }
            last.retransmitted += len;
            last.unreported += len;
        }
    }

    /// RFC 3522 §3.2: whether the first new ACK after a retransmission (`moves`: the left edge moves) echoes a time before it.
    pub fn eifel(&mut self, segment: &Segment, moves: bool) -> bool {
        let Some(last) = self.last.as_mut().filter(|last| moves && !last.answered && last.retransmitted > 0) else { return false };
        last.answered = true;
        match (segment.timestamps(), last.stamp) {
            (Some((_, ecr)), Some(stamp)) => timestamp_before(ecr, stamp),
            _ => false,
        }
    }

    /// RFC 3708 §3: `left..right` arrived twice. Whether every byte that was sent again had arrived before. `waiting`: more is to be
    /// sent again.
    pub fn dsack(&mut self, (left, right): (u64, u64), waiting: bool) -> bool {
        let Some(last) = self.last.as_mut().filter(|last| last.from <= left && right <= last.until) else { return false };
        last.unreported = last.unreported.saturating_sub(right - left);
        last.retransmitted > 0 && last.unreported == 0 && !waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echoing(ecr: u32) -> Segment {
        let mut segment = Segment::new(1, 0, 0);
        segment.set_timestamps(1, ecr);
        segment
    }

    fn watched() -> Undo {
        let mut undo = Undo::new(true);
        undo.watch(false, 1000, 5000);
        undo.sent_again(1000, || Some(77));
        undo.sent_again(500, || Some(80));
        undo
    }

    #[test]
    fn the_first_new_ack_decides_by_what_it_echoes() {
        assert!(watched().eifel(&echoing(76), true));
        assert!(!watched().eifel(&echoing(77), true));
        let mut undo = watched();
        assert!(!undo.eifel(&echoing(76), false), "not one that moves nothing");
        assert!(!undo.eifel(&Segment::new(1, 0, 0), true));
        assert!(!undo.eifel(&echoing(76), true), "only the first");
    }

    #[test]
    fn every_byte_must_be_reported() {
        let mut undo = watched();
        assert!(!undo.dsack((0, 1000), false), "not of this reduction");
        assert!(!undo.dsack((1000, 2000), false));
        assert!(!undo.dsack((2000, 2500), true), "more goes again");
        assert!(undo.dsack((2000, 2500), false));
    }

    #[test]
    fn nothing_is_watched_where_it_is_off() {
        let mut undo = Undo::new(false);
        undo.watch(true, 0, 10);
        undo.sent_again(10, || unreachable!("nobody asks for the time"));
        assert!(!undo.is_watching() && !undo.is_of_timeout() && !undo.dsack((0, 10), false));
    }
}
