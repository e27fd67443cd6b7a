//! Limited slow start (RFC 3742): above `max_ssthresh` no more than about half of it is added a round trip, so that the queue a
//! very large window finds full loses hundreds of segments and not tens of thousands.

use crate::TcpConfig;

/// RFC 3742 §2.
#[derive(Clone, Debug)]
pub struct Limited {
    max_ssthresh: u64,
}

impl Limited {
    pub fn new(config: &TcpConfig) -> Self {
        Limited { max_ssthresh: u64::from(config.growth.max_ssthresh) * u64::from(config.mss) }
    }

    /// Returns what remains of `standard`, the growth of standard slow start, at `cwnd`.
    #[inline]
    pub fn growth(&self, cwnd: u64, standard: u64) -> u64 {
        if cwnd <= self.max_ssthresh {
            return standard;
        }
        // RFC 3742 §2: K = int(cwnd / (max_ssthresh / 2)), and a K-th of a segment for each ACK; here, as all growth, a K-th of what
        // byte counting allows.
        (standard / (2 * cwnd / self.max_ssthresh)).max(1)
    }
}
