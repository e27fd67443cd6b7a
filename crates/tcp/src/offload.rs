//! Segmentation offload and small queues, as far as they decide what a sender hands to its interface, and when.
//!
//! Linux Documentation/networking/ip-sysctl says how much goes at once: what 1/1024 s carries at the pacing rate, paced or not
//! (`tcp_pacing_ss_ratio`), more where the round trip is short (`tcp_tso_rtt_log`), at least `tcp_min_tso_segs` segments, at most one part in
//! `tcp_tso_win_divisor` of the congestion window, and never more than `gso_max_size` of the interface (ip-link(8)). `tcp_limit_output_bytes` there bounds what
//! one connection has in the transmit queue. That this is less at low rates, 1 ms at the pacing rate but two bursts at least, say the notes that came with it
//! (Dumazet, "TCP Small Queues", 2012, and "TSQ can use a dynamic limit", 2013).

use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

/// Limits of a sender's interface: how much it takes at once, and in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Payload bytes of a burst at most; `None`: segments go one by one.
    pub gso_max_size: Option<u64>,
    /// Segments of a burst at least.
    pub min_tso_segs: u64,
    /// A burst is at most the congestion window divided by this; 0: there is no such bound.
    pub tso_win_divisor: u64,
    /// The round trip at which half of `gso_max_size` is added, as a power of two in us; 0: nothing is ever added.
    pub tso_rtt_log: u64,
    /// IP bytes of one connection that wait in the transmit queue, from which on it begins no burst; `None`: as many as there are.
    pub limit_output_bytes: Option<u64>,
}

impl Default for Offload {
    /// No offload, and what Linux has for the rest.
    fn default() -> Self {
        Offload { gso_max_size: None, min_tso_segs: 2, tso_win_divisor: 3, tso_rtt_log: 9, limit_output_bytes: None }
    }
}

impl Offload {
    /// Payload bytes of a burst at `rate`, in whole segments of `mss`; the least round trip is `rtt`, zero before there is one.
    pub fn burst(&self, rate: Rate, rtt: Duration, mss: u64) -> u64 {
        let Some(most) = self.gso_max_size else { return mss };
        let distance = (rtt.as_ps() / 1_000_000).checked_shr(self.tso_rtt_log as u32).unwrap_or(0);
        let is_near = self.tso_rtt_log > 0 && !rtt.is_zero();
        let near = if is_near && distance < 64 { most >> distance } else { 0 };
        let bytes = rate.as_bps() / 8 / 1024 + near;
        (bytes / mss).max(self.min_tso_segs).min(most / mss).max(1) * mss
    }

    /// IP bytes in the transmit queue from which on a connection with bursts of `burst` begins no more.
    pub fn small_queue(&self, rate: Rate, burst: u64) -> Option<u64> {
        let by_rate = (rate.as_bps() / 8 / 1024).max(2 * burst);
        self.limit_output_bytes.map(|most| most.min(by_rate))
    }
}

/// The burst under way, and what the host has of this connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bursts {
    pub offload: Offload,
    /// IP bytes in the transmit queue.
    pub queued: u64,
    /// The burst that began at `began`, and what of it has not left.
    began: Time,
    left: u64,
}

impl Bursts {
    pub(crate) fn new(offload: Offload) -> Self {
        Bursts { offload, queued: 0, began: Time::ZERO, left: 0 }
    }

    /// `bytes` of the burst under way leave, if there is one.
    pub(crate) fn goes_on(&mut self, now: Time, bytes: u64) -> bool {
        let goes = self.began == now && self.left > 0;
        self.left = self.left.saturating_sub(bytes);
        goes
    }

    /// A burst of `size` begins, with `bytes`.
    pub(crate) fn begins(&mut self, now: Time, size: u64, bytes: u64) {
        (self.began, self.left) = (now, size.saturating_sub(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn linux() -> Offload {
        Offload { gso_max_size: Some(65_536), limit_output_bytes: Some(1 << 20), ..Offload::default() }
    }

    #[test]
    fn a_burst_is_what_a_thousandth_of_a_second_carries() {
        // Far away. 100 Mb/s: 12,207 bytes, 8 segments. 400 Mb/s: 48,828 bytes, 33. From 512 Mb/s on 45, all that 64 KiB hold.
        let far = Duration::from_millis(100);
        for (mbps, segments) in [(1, 2), (10, 2), (100, 8), (400, 33), (540, 45), (10_000, 45)] {
            assert_eq!(linux().burst(Rate::from_bps(mbps * 1_000_000), far, MSS), segments * MSS, "at {mbps} Mb/s");
        }
        // ip-sysctl has no least at 1; jumbo frames: 7 of 8948 bytes; BIG TCP: 185,000 bytes hold 127.
        let slow = Rate::from_bps(1_000_000);
        assert_eq!(Offload { min_tso_segs: 1, ..linux() }.burst(slow, far, MSS), MSS);
        let fast = Rate::from_bps(100_000_000_000);
        assert_eq!(linux().burst(fast, far, 8948), 7 * 8948);
        assert_eq!(Offload { gso_max_size: Some(185_000), ..linux() }.burst(fast, far, MSS), 127 * MSS);
        assert_eq!(Offload::default().burst(fast, far, MSS), MSS, "no offload");
    }

    #[test]
    fn near_hosts_send_larger_bursts() {
        let slow = Rate::from_bps(1_000_000);
        let segments = |us, log| Offload { tso_rtt_log: log, ..linux() }.burst(slow, Duration::from_micros(us), MSS) / MSS;
        // Within 512 us all of 64 KiB, then half (22.6 segments) each further 512 us, beside the 122 bytes of the rate.
        assert_eq!([1, 511, 512, 1024, 1536, 2048, 4096].map(|us| segments(us, 9)), [45, 45, 22, 11, 5, 2, 2]);
        assert_eq!([0, 100].map(|us| segments(us, 0)), [2, 2]);
        assert_eq!(segments(0, 9), 2, "nothing is known of the round trip");
    }

    #[test]
    fn a_small_queue_is_a_thousandth_of_a_second_but_two_bursts() {
        let limit = |mbps: u64| {
            let rate = Rate::from_bps(mbps * 1_000_000);
            linux().small_queue(rate, linux().burst(rate, Duration::from_millis(100), MSS)).unwrap()
        };
        assert_eq!(limit(10), 4 * MSS);
        assert_eq!(limit(540), 90 * MSS);
        // 4 Gb/s: 488,281 bytes; 10 Gb/s: 1,220,703, and the limit is 1 MiB.
        assert_eq!((limit(4000), limit(10_000)), (488_281, 1 << 20));
        assert_eq!(Offload::default().small_queue(Rate::from_bps(1), MSS), None);
    }
}
