//! F-RTO (RFC 5682): was the timeout for nothing? After it one segment goes again, then up to two new ones; what they bring decides.

/// Step of F-RTO after a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// F-RTO is not used.
    Never,
    /// There was no timeout, or its verdict is known.
    Idle,
    /// §2.1 and §3.1, step 2: the first segment was retransmitted, up to `end` (0: not yet); its ACK is awaited.
    First { end: u64 },
    /// Step 3: so many new segments may go; the next ACK decides. `needed`: the first one answered the retransmission.
    Second { allowed: u8, needed: bool },
}

#[derive(Debug)]
pub(crate) struct Frto {
    step: Step,
}

/// Segments that may be sent while F-RTO waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allowance {
    /// F-RTO sets no limit.
    Any,
    /// One segment is all that cwnd allows after a timeout.
    Nothing,
    /// Step 2b: new segments, if any.
    New { most: u8 },
}

/// Verdict of an ACK on the timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finding {
    Undecided,
    Spurious,
    /// Something was lost: the repair goes on.
    Loss,
}

/// An ACK, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckReport {
    pub ack: u64,
    /// The left edge moves.
    pub moves: bool,
    /// It does not, and there is nothing to the ACK but that (RFC 5681 §2).
    pub duplicate: bool,
    /// True if it tells that something arrived that was sent only once.
    pub original: bool,
    /// One past the highest byte SACKed.
    pub highest_sacked: u64,
    /// True if it echoes a time not before that of the retransmission.
    pub answers_again: bool,
}

impl Frto {
    /// Step 2b: so many new segments.
    const MOST_NEW: u8 = 2;

    pub(crate) fn new(enabled: bool) -> Self {
        Frto { step: if enabled { Step::Idle } else { Step::Never } }
    }

    /// A timeout. Step 1: only where it is the `first` sign of a loss.
    pub(crate) fn begin(&mut self, first: bool) {
        if self.step != Step::Never {
            self.step = if first { Step::First { end: 0 } } else { Step::Idle };
        }
    }

    pub(crate) fn stop(&mut self) {
        if self.step != Step::Never {
            self.step = Step::Idle;
        }
    }

    /// Returns true if F-RTO waits for ACKs.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.step, Step::Never | Step::Idle)
    }

    /// Something up to `end` was retransmitted.
    pub(crate) fn sent_again(&mut self, end: u64) {
        if let Step::First { end: first @ 0 } = &mut self.step {
            *first = end;
        }
    }

    #[inline]
    pub(crate) fn allows(&self) -> Allowance {
        match self.step {
            Step::Second { allowed, .. } => Allowance::New { most: allowed },
            Step::First { end } if end > 0 => Allowance::Nothing,
            _ => Allowance::Any,
        }
    }

    /// Step 2b: a new segment was `sent`, or there is none. Where there is none at all F-RTO is over, and what was lost goes again as ever:
    /// whether that is so.
    pub(crate) fn tried_new(&mut self, sent: bool) -> bool {
        match &mut self.step {
            Step::Second { allowed, .. } if sent => *allowed -= 1,
            Step::Second { allowed: Self::MOST_NEW, .. } => {
                self.stop();
                return true;
            }
            _ => {}
        }
        false
    }

    /// The basic algorithm (§2.1), or, where recovery is `selective`, the enhanced one (§3.1). Everything outstanding at the timeout
    /// lay below `recover`.
    ///
    /// Departures from §3.1: step 2a is that of §2.1, so an ACK of a part of what was retransmitted ends it. A duplicate that tells nothing
    /// new does not decide step 3 (it may report a copy, or change the window): the next ACK does.
    ///
    /// Beyond the RFC: if timestamps tell that the receiver missed the segment retransmitted, the timeout was not spurious, whatever comes
    /// late after it. A segment that was retransmitted before the timeout is no original (RFC 4138, appendix B).
    pub(crate) fn judge(&mut self, told: AckReport, recover: u64, selective: bool) -> Finding {
        let AckReport { ack, moves, duplicate, original, highest_sacked, answers_again } = told;
        match self.step {
            Step::First { end } if moves => {
                // Step 2a: all of it is there, or not even what was retransmitted.
                let goes_on = end > 0 && ack >= end && ack < recover;
                // Step 2b.
                self.step = if goes_on { Step::Second { allowed: Self::MOST_NEW, needed: answers_again } } else { Step::Idle };
            }
            // Step 2a of §2.1; §3.1 takes in the SACKs and waits. §2.1: what neither moves the edge nor is a duplicate is ignored.
            Step::First { .. } if !selective && duplicate => self.step = Step::Idle,
            Step::Second { needed, .. } => {
                let beyond = selective && highest_sacked.max(ack) > recover;
                // Step 3a: it was a loss. Step 3b: this was sent before the timeout. (Neither: an ACK that says nothing new.)
                if beyond || (!selective && duplicate) || (original && needed) {
                    self.step = Step::Idle;
                    return Finding::Loss;
                }
                if original {
                    return Finding::Spurious;
                }
            }
            _ => {}
        }
        Finding::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECOVER: u64 = 10_000;

    fn ack(ack: u64, moves: bool) -> AckReport {
        AckReport { ack, moves, duplicate: !moves, original: moves, highest_sacked: 0, answers_again: false }
    }

    fn after_first() -> Frto {
        let mut frto = Frto::new(true);
        frto.begin(true);
        assert_eq!(frto.allows(), Allowance::Any);
        frto.sent_again(1000);
        assert_eq!(frto.allows(), Allowance::Nothing);
        frto
    }

    /// RFC 5682 §2.1.
    #[test]
    fn two_acks_that_move_the_edge_say_spurious() {
        let mut frto = after_first();
        assert_eq!(frto.judge(ack(1000, true), RECOVER, false), Finding::Undecided);
        assert_eq!(frto.allows(), Allowance::New { most: 2 });
        assert!(!frto.tried_new(true));
        assert_eq!(frto.allows(), Allowance::New { most: 1 });
        assert_eq!(frto.judge(ack(2000, true), RECOVER, false), Finding::Spurious);
    }

    #[test]
    fn a_duplicate_says_loss_at_either_step() {
        let mut frto = after_first();
        assert_eq!(frto.judge(ack(0, false), RECOVER, false), Finding::Undecided);
        assert!(!frto.is_running());
        let mut frto = after_first();
        frto.judge(ack(1000, true), RECOVER, false);
        assert_eq!(frto.judge(ack(1000, false), RECOVER, false), Finding::Loss);
        assert!(!frto.is_running());
    }

    /// §2.1: a change of the window, or the peer's own data, is no duplicate, and nothing is concluded from it.
    #[test]
    fn what_is_no_duplicate_is_ignored() {
        let mut frto = after_first();
        let other = |ack| AckReport { duplicate: false, ..self::ack(ack, false) };
        assert_eq!(frto.judge(other(0), RECOVER, false), Finding::Undecided);
        assert_eq!(frto.allows(), Allowance::Nothing);
        frto.judge(ack(1000, true), RECOVER, false);
        assert_eq!(frto.judge(other(1000), RECOVER, false), Finding::Undecided);
        assert_eq!(frto.judge(ack(2000, true), RECOVER, false), Finding::Spurious);
    }

    /// §3.1: SACKs of what was sent before the timeout are good news, those of what was sent after it are not.
    #[test]
    fn sacks_decide_by_when_it_was_sent() {
        let second = || {
            let mut frto = after_first();
            assert_eq!(frto.judge(ack(0, false), RECOVER, true), Finding::Undecided);
            frto.judge(ack(1000, true), RECOVER, true);
            frto
        };
        let sack = |highest_sacked| AckReport { original: true, highest_sacked, ..ack(1000, false) };
        assert_eq!(second().judge(sack(RECOVER), RECOVER, true), Finding::Spurious);
        assert_eq!(second().judge(sack(RECOVER + 500), RECOVER, true), Finding::Loss);
        assert_eq!(second().judge(ack(1000, false), RECOVER, true), Finding::Undecided);
    }

    /// Echo of the first ACK decides. A retransmission from before the timeout is no sign of life of the originals.
    #[test]
    fn a_timeout_that_was_needed_is_not_undone() {
        for (answers_again, finding) in [(false, Finding::Spurious), (true, Finding::Loss)] {
            let mut frto = Frto::new(true);
            frto.begin(true);
            frto.sent_again(1000);
            assert_eq!(frto.judge(AckReport { answers_again, ..ack(1000, true) }, RECOVER, true), Finding::Undecided);
            assert_eq!(frto.allows(), Allowance::New { most: 2 });
            assert_eq!(frto.judge(AckReport { original: false, ..ack(2000, true) }, RECOVER, true), Finding::Undecided);
            assert_eq!(frto.judge(ack(3000, true), RECOVER, true), finding);
        }
    }

    #[test]
    fn it_does_not_begin_where_it_is_off_or_all_is_acknowledged() {
        let mut off = Frto::new(false);
        off.begin(true);
        assert!(!off.is_running());
        let mut frto = after_first();
        frto.judge(ack(RECOVER, true), RECOVER, false);
        assert!(!frto.is_running());
        frto.begin(false);
        assert!(!frto.is_running());
    }
}
