//! Segmentation offload, as far as it shows: which segments a host hands over at once, as one frame, and the PSH flag at its end.
//!
//! Linux sets PSH on the last segment of each frame of two segments or more, so that the other host's receive offload need not wait;
//! elsewhere the flag is at the end of what was written alone (RFC 9293 §3.9.1.2). Seen with Linux 6.18 over its loopback: of 10,000
//! bytes written at once with an mss of 1000, an initial window of 10 and a round trip near zero, the segments that end at 5000 and
//! 10,000 have it; with a window of 3, no single segment. So a frame has at most half of cwnd.
//!
//! How large frames are otherwise says Linux Documentation/networking/ip-sysctl (`tcp_min_tso_segs`, `tcp_tso_rtt_log`,
//! `tcp_pacing_ss_ratio`): what 1/1024 s carries at the pacing rate, and more the shorter the path is.

use longfat_core::packet::{Segment, flags};
use longfat_core::params::Params;
use longfat_core::time::Duration;
use longfat_tcp::Connection;

/// The most that a frame can have (`gso_max_size`; ip-link(8): 65,536).
const GSO_MAX_SIZE: u64 = 65_536;

/// `tcp_min_tso_segs` and `tcp_tso_rtt_log`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offload {
    pub min_segments: u64,
    pub rtt_log: u32,
}

impl Default for Offload {
    fn default() -> Self {
        Offload { min_segments: 2, rtt_log: 9 }
    }
}

impl Offload {
    /// Returns the most segments of a frame that is sent now.
    pub(crate) fn segments(self, connection: &Connection, params: &Params) -> u64 {
        let info = connection.info();
        let half = info.cwnd / 2 / info.mss;
        self.autosize(bytes_per_second(connection, params), connection.min_rtt(), info.mss).min(half).max(1)
    }

    /// Returns the segments of a frame (ip-sysctl, `tcp_tso_rtt_log`): 1024 frames per second, and more segments in each where the round
    /// trip is short.
    fn autosize(self, bytes_per_second: Option<u64>, min_rtt: Option<Duration>, mss: u64) -> u64 {
        let Some(rate) = bytes_per_second else { return GSO_MAX_SIZE / mss };
        let micros = min_rtt.map_or(u64::MAX, |rtt| rtt.as_ps() / 1_000_000);
        let near = match self.rtt_log {
            0 => 0,
            log => u32::try_from(micros >> log.min(63)).ok().and_then(|distance| GSO_MAX_SIZE.checked_shr(distance)).unwrap_or(0),
        };
        ((rate / 1024 + near).min(GSO_MAX_SIZE) / mss).max(self.min_segments)
    }
}

/// Returns the rate at which Linux would pace, paced or not; `None`: it is too high to matter.
fn bytes_per_second(connection: &Connection, params: &Params) -> Option<u64> {
    if let Some(rate) = connection.pacing_rate() {
        return Some(rate.as_bps() / 8);
    }
    let info = connection.info();
    let percent = params.integer(if info.cwnd < info.ssthresh { "pacing_ss_ratio" } else { "pacing_ca_ratio" });
    let per_srtt = u128::from(info.cwnd) * u128::from(percent) / 100;
    (per_srtt * 1_000_000_000_000).checked_div(info.srtt.as_ps().into()).and_then(|rate| u64::try_from(rate).ok())
}

/// The frame under way.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Frame {
    segments: u64,
    next: u32,
}

impl Frame {
    /// Adds `segment`, of new data or not. Returns true if the frame before is complete with the segment before, and is to be marked.
    pub(crate) fn takes(&mut self, segment: &Segment, new: bool, most: u64) -> bool {
        let goes_on = new && self.segments > 0 && self.segments < most && segment.seq == self.next;
        let ended = !goes_on && self.ends();
        self.segments = if goes_on { self.segments + 1 } else { u64::from(new) };
        self.next = segment.seq.wrapping_add(segment.len.into());
        ended
    }

    /// True if it is a frame, should no segment follow.
    pub(crate) fn ends(&self) -> bool {
        self.segments > 1
    }
}

pub(crate) fn mark(segment: &mut Segment) {
    segment.flags |= flags::PSH;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ip-sysctl: of 600 flows at 20 MB/s, "4 segments" of 4 KiB; a near path takes the largest.
    #[test]
    fn frames_follow_the_rate_and_the_distance() {
        let ms = Duration::from_millis;
        let linux = Offload::default();
        assert_eq!(linux.autosize(Some(20_000_000), Some(ms(100)), 4096), 4);
        assert_eq!(linux.autosize(Some(20_000_000), Some(Duration::from_micros(100)), 4096), 16);
        // 1024 us are twice 512 us away: a quarter of 64 KiB.
        assert_eq!(linux.autosize(Some(0), Some(Duration::from_micros(1024)), 1024), 16);
        assert_eq!(linux.autosize(Some(100_000), Some(ms(100)), 1000), 2);
        assert_eq!(linux.autosize(None, None, 1000), 65);
        assert_eq!(Offload { rtt_log: 0, ..linux }.autosize(Some(20_000_000), Some(ms(0)), 4096), 4);
    }
}
