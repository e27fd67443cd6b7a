//! What tests do to a connection, and what they check of it.

use super::{Connection, State};
use crate::congestion::CongestionControl;

impl Connection {
    /// The receiver gives up what it holds out of order, as RFC 2018 §8 allows it.
    pub(crate) fn renege(&mut self) {
        self.receiver.renege();
    }

    /// Another control, from here on.
    pub(crate) fn set_control(&mut self, control: Box<dyn CongestionControl + Send>) {
        self.outlet().control = control;
    }

    /// What must hold between any two calls.
    pub(crate) fn assert_invariants(&self) {
        let Some(sender) = self.sending.sender() else { return };
        let (board, mss) = (&sender.board, sender.mss);
        // RFC 6675 §4 SetPipe counts twice what was sent again without being lost (NextSeg rule 3).
        let twice = board.retransmitted_until().saturating_sub(board.lost_until());
        assert!(board.pipe() <= board.outstanding() + twice, "{self:?}");
        assert!(board.sacked_bytes() <= board.outstanding(), "{self:?}");
        assert!(sender.window() >= mss && sender.control.cwnd() >= mss, "{self:?}");
        assert!(sender.control.ssthresh() >= 2 * mss, "{self:?}");
        // RFC 6298 §5.1: what is outstanding has a timer.
        assert!(board.outstanding() == 0 || sender.timers.is_set() || self.syn_now || self.state == State::Closed, "{self:?}");
    }
}
