//! Reductions of the window: from what they are reckoned, and that there is one a round trip. Marks and local congestion reduce no window
//! that was reduced since what they tell of was sent.

use crate::TcpConfig;

#[derive(Debug)]
pub(crate) struct Reductions {
    /// CWR goes on the next new segment.
    cwr_pending: bool,
    /// No more reductions for marks before this is acknowledged.
    cwr_until: u64,
    /// None for local congestion before this is.
    stalled_until: u64,
    from_cwnd: bool,
}

impl Reductions {
    pub fn new(config: &TcpConfig) -> Self {
        Reductions { cwr_pending: false, cwr_until: 0, stalled_until: 0, from_cwnd: config.ssthresh_from_cwnd }
    }

    /// From what a reduction of `cwnd` is reckoned with so much outstanding.
    pub fn basis(&self, outstanding: u64, cwnd: u64) -> u64 {
        // RFC 9438 §4.6: so do some implementations of CUBIC, which then must not let an unused window grow.
        if self.from_cwnd && outstanding > 0 { cwnd } else { outstanding.min(cwnd) }
    }

    /// RFC 3168 §6.1.2: the window was reduced, for whatever reason. Echoes of marks on what was sent before (below `max`) do not reduce it
    /// again. `answered`: CWR tells of it.
    pub fn reduced(&mut self, max: u64, answered: bool) {
        self.cwr_until = max;
        self.cwr_pending = answered;
    }

    /// Whether, with all below `una` acknowledged, echoes of marks are of what was sent after the last reduction.
    #[inline]
    pub fn heeds_marks(&self, una: u64) -> bool {
        una >= self.cwr_until
    }

    /// Whether CWR is to go; it goes now.
    #[inline]
    pub fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_pending)
    }

    /// The same of local congestion, when the last repair was of what lies below `repaired`.
    pub fn heeds_stalls(&self, una: u64, repaired: u64) -> bool {
        una >= self.stalled_until.max(repaired).max(self.cwr_until)
    }

    /// Local congestion reduces the window.
    pub fn stalled(&mut self, max: u64) {
        self.stalled_until = max;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holds_until_what_was_outstanding_is_acknowledged() {
        let mut reductions = Reductions::new(&TcpConfig::new(&crate::stack::named("rfc").params(), 1500));
        assert!(reductions.heeds_marks(0) && reductions.heeds_stalls(0, 0) && !reductions.take_cwr());
        reductions.stalled(500);
        assert!(reductions.heeds_marks(0) && !reductions.heeds_stalls(499, 0) && reductions.heeds_stalls(500, 0));
        reductions.reduced(1000, true);
        assert!(!reductions.heeds_marks(999) && reductions.heeds_marks(1000));
        assert!(!reductions.heeds_stalls(999, 0) && !reductions.heeds_stalls(1000, 1200) && reductions.heeds_stalls(1200, 1200));
        assert!(reductions.take_cwr() && !reductions.take_cwr(), "once");
    }
}
