//! Proportional rate reduction: how much may be sent on each ACK of a SACK recovery (RFC 9937, which replaces RFC 6937).

/// The state of one recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    ssthresh: u64,
    mss: u64,
    /// The proportional part rounds what it lets go up to multiples of this, in bytes.
    unit: u64,
    /// Data in flight when recovery began.
    recover_fs: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// Recovery begins with `flight` bytes outstanding that can still be delivered, towards `ssthresh`. With `whole_segments` PRR counts
    /// segments, as Linux does after a mark (measured: docs/stacks/linux.md).
    pub(crate) fn new(flight: u64, ssthresh: u64, mss: u64, whole_segments: bool) -> Self {
        let unit = if whole_segments { mss } else { 1 };
        Prr { ssthresh, mss, unit, recover_fs: flight.max(1), delivered: 0, out: 0 }
    }

    /// An ACK told that `delivered` more bytes arrived; `pipe` are in flight now. `safe`: the left edge moved and no new
    /// loss showed. The window to send up to.
    pub(crate) fn on_ack(&mut self, delivered: u64, pipe: u64, safe: bool) -> u64 {
        self.delivered += delivered;
        let mut send = if pipe > self.ssthresh {
            // In proportion: ssthresh / RecoverFS for each byte delivered, rounded up.
            let target = (u128::from(self.delivered) * u128::from(self.ssthresh)).div_ceil(u128::from(self.recover_fs)) as u64;
            target.next_multiple_of(self.unit).saturating_sub(self.out)
        } else {
            // Conservative bound, or one segment more where the ACK is good news: slow start back up to ssthresh.
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + if safe { self.mss } else { 0 };
            bound.min(self.ssthresh - pipe)
        };
        if self.out == 0 && send == 0 {
            // The fast retransmit itself must go.
            send = self.mss;
        }
        pipe + send
    }

    /// `bytes` were sent.
    pub(crate) fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One loss in a window of 20 segments, Reno's ssthresh of 10: one transmission for every other ACK, and the window ends at
    /// ssthresh (the example of RFC 6937 §4: one lost segment of 20, halving).
    #[test]
    fn halves_by_sending_on_every_other_ack() {
        let mss = 1000;
        let mut prr = Prr::new(20 * mss, 10 * mss, mss, false);
        // Three segments SACKed and one lost when recovery starts: 16 in flight.
        let mut pipe = 16 * mss;
        let mut sent = Vec::new();
        for n in 0..16 {
            let delivered = if n == 0 { 3 * mss } else { mss };
            if n > 0 {
                pipe -= mss;
            }
            let window = prr.on_ack(delivered, pipe, false);
            let mut count = 0;
            while pipe + mss <= window {
                pipe += mss;
                prr.sent(mss);
                count += 1;
            }
            sent.push(count);
        }
        // Delivered 3 -> 1.5 segments, one goes; then every second ACK, until pipe has come down to ssthresh and each
        // delivery makes room for one.
        assert_eq!(sent[..13], [1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(sent[13..].iter().sum::<u64>(), 2);
        assert_eq!(pipe, 10 * mss);
    }

    /// Most of the window lost: pipe is under ssthresh, so packet conservation, or slow start while ACKs are safe.
    #[test]
    fn grows_back_by_slow_start_when_safe() {
        let mss = 1000;
        let mut prr = Prr::new(20 * mss, 10 * mss, mss, false);
        assert_eq!(prr.on_ack(3 * mss, 2 * mss, false), 5 * mss);
        prr.sent(3 * mss);
        assert_eq!(prr.on_ack(mss, 4 * mss, false), 5 * mss);
        prr.sent(mss);
        assert_eq!(prr.on_ack(mss, 4 * mss, true), 6 * mss);
    }

    /// Ten in flight, towards seven, one delivered at a time: the windows of a kernel (6.18) after a mark, each between two ACKs. In bytes
    /// the segment that is let go in parts goes later.
    #[test]
    fn whole_segments_round_up() {
        let mss = 1000;
        for (whole, expected) in [(true, [10, 10, 10, 9, 9, 9, 8, 7]), (false, [9, 9, 9, 8, 7, 7, 7, 7])] {
            let mut prr = Prr::new(10 * mss, 7 * mss, mss, whole);
            let mut pipe = 10 * mss;
            let windows = expected.map(|_| {
                pipe -= mss;
                let window = prr.on_ack(mss, pipe, true);
                while pipe + mss <= window {
                    pipe += mss;
                    prr.sent(mss);
                }
                window.max(pipe) / mss
            });
            assert_eq!(windows, expected, "{whole}");
        }
    }
}
