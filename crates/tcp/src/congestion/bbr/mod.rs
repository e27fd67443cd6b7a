//! BBR: a model of the path (its bandwidth from the greatest rate at which it delivered, its round trip from the least one) says
//! how fast to send and how much to have in flight. Version 1 is in [`v1`], version 3 in [`v3`]; here is what they share.

pub(super) mod v1;
pub(super) mod v3;

mod aggregation;
mod cwnd;
mod max_filter;

use crate::pacing::rate;
use crate::rate::RateSample;
use aggregation::Aggregation;
use cwnd::Cwnd;
use longfat_core::time::Duration;
use longfat_core::units::Rate;
use max_filter::MaxFilter;

/// Round trips told by what was delivered: one is over when something arrives that was sent after it began
/// (draft-ietf-ccwg-bbr-06 §5.5.1).
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    /// True if this ACK began a round.
    start: bool,
    next_delivered: u64,
}

impl Rounds {
    fn update(&mut self, rs: &RateSample) {
        self.start = rs.prior_delivered >= self.next_delivered;
        if self.start {
            self.begin(rs.total_delivered);
            self.count += 1;
        }
    }

    /// The round under way begins anew, now.
    fn begin(&mut self, total_delivered: u64) {
        self.next_delivered = total_delivered;
    }
}

/// The pacing rate (draft-ietf-ccwg-bbr-06 §5.6.2): until the pipe is known to be full it only rises. Beyond the draft it never falls
/// below a segment a second: slower than the least retransmission timeout (RFC 6298 §2.4) it would measure nothing but itself.
#[derive(Clone, Copy, Debug)]
struct Pace {
    bytes_per_second: f64,
    rate: Rate,
    initial_cwnd: u64,
    floor: f64,
    knows_rtt: bool,
}

impl Pace {
    fn new(gain: f64, cwnd: &Cwnd) -> Self {
        let (initial_cwnd, floor) = (cwnd.initial, cwnd.mss as f64);
        let mut pace = Pace { bytes_per_second: 0.0, rate: Rate::from_bps(1), initial_cwnd, floor, knows_rtt: false };
        pace.begin(gain, Duration::from_millis(1));
        pace
    }

    fn begin(&mut self, gain: f64, rtt: Duration) {
        self.put(gain * self.initial_cwnd as f64 / rtt.as_secs_f64());
    }

    /// The first round trip known decides what the first rate is.
    fn learn_rtt(&mut self, gain: f64, rtt: Duration) {
        if !self.knows_rtt && !rtt.is_zero() {
            self.knows_rtt = true;
            self.begin(gain, rtt);
        }
    }

    /// `bytes_per_second`, zero where no rate has been measured yet: what there is then stays.
    fn set(&mut self, bytes_per_second: f64, full_pipe: bool) {
        if (full_pipe && bytes_per_second > 0.0) || bytes_per_second > self.bytes_per_second {
            self.put(bytes_per_second);
        }
    }

    fn put(&mut self, bytes_per_second: f64) {
        self.bytes_per_second = bytes_per_second.max(self.floor);
        self.rate = rate(self.bytes_per_second);
    }
}

/// Bytes that `bandwidth`, in bytes a second, delivers in `rtt`.
fn bdp(bandwidth: f64, rtt: Duration) -> f64 {
    bandwidth * rtt.as_secs_f64()
}
