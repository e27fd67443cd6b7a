//! Access for tests to a sender, and the invariants that they check.

use super::Sender;

impl Sender {
    /// Checks the invariants that hold between any two calls. `at_rest`: no timer need run, whatever is outstanding.
    pub(crate) fn assert_invariants(&self, at_rest: bool) {
        let (board, mss) = (&self.board, self.mss);
        // RFC 6675 §4 SetPipe counts twice what was retransmitted without being lost (NextSeg rule 3).
        let twice = board.retransmitted_until().saturating_sub(board.lost_until());
        assert!(board.pipe() <= board.outstanding() + twice, "{self:?}");
        assert!(board.sacked_bytes() <= board.outstanding(), "{self:?}");
        assert!(self.window() >= mss && self.control.cwnd() >= mss, "{self:?}");
        assert!(self.control.ssthresh() >= 2 * mss, "{self:?}");
        // RFC 6298 §5.1: what is outstanding has a timer.
        assert!(board.outstanding() == 0 || self.timers.is_set() || at_rest, "{self:?}");
    }
}
