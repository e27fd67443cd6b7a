//! Estimate of the sender's cwnd by a receiver without timestamps: the largest flight since the sender last had a reason to send less.
//!
//! Its flights are what comes in a guess of the round trip. When a queue makes the round trip longer, less comes in that time, and it
//! looks as if cwnd were smaller. But cwnd grows or stays until there is a loss, a mark, or a pause (RFC 5681 §3.1 and §4.1, RFC 3168 §6.1.2),
//! and the receiver sees these: a gap, the mark, the silence. So does Weigle and Feng 2001 §II reduce awnd only after a multiplicative
//! decrease is detected. Between two of them a smaller flight is the same cwnd over a longer round trip.
//!
//! A control that sends less by itself, without loss (Vegas, BBR), is taken at its largest: that costs memory, not throughput.

use super::Arrival;
use longfat_core::time::{Duration, Time};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cwnd {
    /// Zero: not known since the last reason to send less.
    bytes: u64,
    /// Round trips for which flights still change by the last reason.
    unsettled: u32,
    last: Time,
}

/// One round trip until the sender has heard of a loss and what it sent before has come; another until all that counts was sent after.
const SETTLES: u32 = 2;

/// After so long without a segment, or a round trip if that is longer, the sender has had a timeout, or was idle for as long as one
/// (RFC 6298 §2.4: a second at least). One whose timers are shorter is taken at its largest after a shorter pause.
const SILENCE: Duration = Duration::from_secs(1);

impl Cwnd {
    /// Data has come.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival, rtt: Duration) {
        let silence = arrival.now.since(self.last);
        self.last = arrival.now;
        let beyond_a_gap = arrival.received > arrival.next;
        if beyond_a_gap || arrival.marked || silence > SILENCE.max(rtt) {
            (self.bytes, self.unsettled) = (0, SETTLES);
        }
    }

    /// Returns the bytes in flight, where `flight` seemed to be.
    pub(super) fn at_least(&mut self, flight: u64, ends_round: bool) -> u64 {
        if self.unsettled > 0 {
            self.unsettled -= u32::from(ends_round);
            return flight;
        }
        self.bytes = self.bytes.max(flight);
        self.bytes
    }
}
