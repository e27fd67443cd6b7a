//! The window of both versions: how it grows to what the model says, what it was before losses or ProbeRTT cut it, and whether losses are
//! being repaired.

use crate::TcpConfig;
use crate::congestion::AckSample;

/// The least window while nothing is lost, in segments: BBRMinPipeCwnd (draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.3.3),
/// MinPipeCwnd (draft-ietf-ccwg-bbr-06 §2.8).
const MIN_PIPE: u64 = 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Cwnd {
    pub bytes: u64,
    pub mss: u64,
    pub initial: u64,
    /// The last that neither loss nor ProbeRTT cut (§4.2.3.4 of version 1, §5.6.4.4 of version 3).
    pub prior: u64,
    /// Losses are being repaired.
    pub recovering: bool,
}

impl Cwnd {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let initial = config.first_window();
        Cwnd { bytes: initial, mss: config.mss.into(), initial, prior: 0, recovering: false }
    }

    /// The least window while nothing is lost.
    pub(super) fn least(&self) -> u64 {
        MIN_PIPE * self.mss
    }

    /// An ACK delivered so much, and so much has been in all. Until the pipe is known to be full the window grows up to `target`, and while
    /// the first window arrives; then it keeps to `target` (§4.2.3.6 of version 1, §5.6.4.6 of version 3).
    pub(super) fn grow(&mut self, delivered: u64, total_delivered: u64, target: u64, full_pipe: bool) {
        if full_pipe {
            self.bytes = (self.bytes + delivered).min(target);
        } else if self.bytes < target || total_delivered < self.initial {
            self.bytes += delivered;
        }
        self.bytes = self.bytes.max(self.least());
    }

    /// Saves cwnd before it is cut, while losses are repaired or in ProbeRTT perhaps not for the first time.
    pub(super) fn save(&mut self, in_probe_rtt: bool) {
        self.prior = if self.recovering || in_probe_rtt { self.prior.max(self.bytes) } else { self.bytes };
    }

    pub(super) fn restore(&mut self) {
        self.bytes = self.bytes.max(self.prior);
    }

    /// The SYN was lost, or all that was in flight counts as lost.
    pub(super) fn collapse(&mut self) {
        self.bytes = self.mss;
    }

    /// Returns true if this ACK is the first after a repair of losses.
    pub(super) fn has_recovered(&self, ack: &AckSample) -> bool {
        self.recovering && !ack.in_recovery && !ack.after_timeout
    }

    /// No loss is being repaired any more. Whether one was: then it is again as it was before.
    pub(super) fn end_recovery(&mut self) -> bool {
        let was = std::mem::replace(&mut self.recovering, false);
        if was {
            self.restore();
        }
        was
    }
}
