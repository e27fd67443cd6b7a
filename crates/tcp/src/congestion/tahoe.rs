//! Tahoe (Jacobson 1988): every loss, however it is seen, sends the window back to one segment, and slow start begins again.

use super::promises::{AS_RENO_BESIDE_CUBIC, CONVERGES, sawtooth, uses};
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Traits, Unused, Variable, Window, reno::Reno};
use crate::ecn::EcnUse;

pub(super) const KIND: ControlKind = ControlKind {
    name: "tahoe",
    summary: "every loss goes to one segment and slow start; implies recovery = \"tahoe\"",
    source: "Jacobson, Congestion avoidance and control, SIGCOMM 1988",
    params: &[],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.9, "arithmetic: slow start from one segment takes 6 of some 70 round trips between losses, and fills half of them"),
        sawtooth(0.5, "Jacobson 1988: slow start ends at half of the window"),
        CONVERGES,
        AS_RENO_BESIDE_CUBIC,
    ],
    build: |c| Box::new(Tahoe(Reno::new(c))),
};

/// Reno to which a loss is a timeout.
#[derive(Clone, Debug)]
pub struct Tahoe(Reno);

impl CongestionControl for Tahoe {
    fn state(&mut self) -> Vec<Variable<'_>> {
        self.0.state()
    }

    fn window(&self) -> Option<&Window> {
        self.0.window()
    }

    fn window_mut(&mut self) -> Option<&mut Window> {
        self.0.window_mut()
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.0.on_ack(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let kind = match event.kind {
            // Jacobson 1988 §2: half of the window is the new threshold, and slow start gets there from one segment.
            Congestion::Loss => Congestion::Timeout,
            // A mark or a full queue of the host lost nothing that slow start would have to find again: RFC 3168 §6.1.2 halves.
            other => other,
        };
        self.0.on_congestion(&CongestionEvent { kind, ..*event });
    }

    fn on_spurious(&mut self) {
        self.0.on_spurious();
    }

    fn on_unused(&mut self, unused: Unused) {
        self.0.on_unused(unused);
    }

    fn traits(&self) -> Traits {
        Traits { starts_over: true, ..Traits::WINDOW }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use longfat_core::time::{Duration, Time};

    #[test]
    fn a_loss_is_one_segment_and_slow_start_to_half_the_window() {
        let mut c = (KIND.build)(&config("tahoe", &[], 64));
        reduce(c.as_mut(), Time::ZERO, Congestion::Loss);
        assert_eq!((c.cwnd(), c.ssthresh()), (MSS, 32 * MSS));
        let rtt = Duration::from_millis(50);
        let mut windows = Vec::new();
        for _ in 0..7 {
            rounds(c.as_mut(), Time::ZERO, rtt, 0, 1);
            windows.push(c.cwnd() / MSS);
        }
        assert_eq!(windows, [2, 4, 8, 16, 32, 33, 34]);
    }

    #[test]
    fn a_mark_halves() {
        for kind in [Congestion::Ecn, Congestion::Local] {
            let mut c = (KIND.build)(&config("tahoe", &[], 64));
            reduce(c.as_mut(), Time::ZERO, kind);
            assert_eq!((c.cwnd(), c.ssthresh()), (32 * MSS, 32 * MSS));
        }
    }
}
