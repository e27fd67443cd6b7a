//! Careful Resume (draft-ietf-tsvwg-careful-resume-24, which became RFC 9959): after the first round trip the window jumps to half of what an
//! earlier connection over the path used. A round trip of acknowledgments validates it; a loss before that means a safe retreat.

use super::Step;
use crate::TcpConfig;
use crate::congestion::AckSample;
use crate::pacing;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

/// Phases of the draft's section 3. Places in the stream are counted by what was acknowledged.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// Looks whether the path is the one of before.
    Reconnaissance,
    /// The window has jumped, and what it sends is paced.
    Unvalidated {
        /// First byte of the jump.
        first: u64,
        /// Pacing rate: the window over a round trip.
        rate: Rate,
        /// End of the phase, a round trip after its start.
        until: Time,
    },
    /// Acknowledgments of the jump come in.
    Validating {
        /// End of the jump.
        last: u64,
    },
    /// A loss has ended the jump, and its response is not over.
    SafeRetreat {
        /// End of the jump.
        last: u64,
    },
    /// Slow start as without Careful Resume.
    Normal,
}

#[derive(Clone, Debug)]
pub struct CarefulResume {
    phase: Phase,
    mss: u64,
    initial: u64,
    saved_cwnd: u64,
    saved_rtt: Option<Duration>,
    acked: u64,
    pipe_size: u64,
}

/// Initial windows that a saved window must have: for less the jump is not worth it (Observing, saved_cwnd).
const LEAST_INITIAL_WINDOWS: u64 = 4;

impl CarefulResume {
    pub fn new(config: &TcpConfig) -> Self {
        let (initial, mss) = (config.first_window(), u64::from(config.mss));
        let saved_cwnd = config.growth.saved_cwnd.map_or(0, |segments| u64::from(segments) * mss);
        let phase = if saved_cwnd >= LEAST_INITIAL_WINDOWS * initial { Phase::Reconnaissance } else { Phase::Normal };
        CarefulResume { phase, mss, initial, saved_cwnd, saved_rtt: config.growth.saved_rtt, acked: 0, pipe_size: 0 }
    }

    /// Returns true if `least`, the least round trip so far, is that of the path: over half of the saved one, and at most ten times it.
    fn confirms(&self, least: Duration) -> bool {
        self.saved_rtt.is_none_or(|saved| least * 2 > saved && least <= saved.saturating_mul(10))
    }

    /// An ACK outside fast recovery. Slow start would add `growth` to `cwnd`.
    pub fn step(&mut self, ack: &AckSample, cwnd: u64, growth: u64) -> Step {
        self.acked += ack.acked;
        self.pipe_size = self.pipe_size.saturating_add(ack.delivered);
        let flight_size = ack.in_flight.saturating_sub(ack.delivered);
        let sent = self.acked + flight_size;
        let normal = Step { growth, ..Step::default() };
        let held = Step { growth: 0, ..normal };
        match self.phase {
            // The initial data has arrived, and there is more of it than the window takes.
            Phase::Reconnaissance if self.acked >= self.initial => {
                let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) else { return normal };
                let jump = self.saved_cwnd / 2;
                if !self.confirms(ack.rtt_min) || jump <= cwnd + growth {
                    self.phase = Phase::Normal;
                } else if ack.cwnd_limited {
                    // Section 3.4: PipeSize begins as the flight size; what is sent is paced by the round trip of now.
                    self.pipe_size = flight_size;
                    self.phase =
                        Phase::Unvalidated { first: sent, rate: pacing::rate(jump as f64 / rtt.as_secs_f64()), until: ack.now + rtt };
                    return Step { set: Some(jump), ..normal };
                }
                normal
            }
            Phase::Unvalidated { first, until, .. } => {
                let all_is_sent = ack.in_flight + self.mss > cwnd;
                if !all_is_sent && self.acked <= first && ack.now <= until {
                    return held;
                }
                if flight_size < self.initial || flight_size <= self.pipe_size {
                    // The jump was not used: the window is what was validated.
                    self.phase = Phase::Normal;
                    return Step { set: Some(self.pipe_size.max(self.initial).min(cwnd)), ..held };
                }
                self.phase = Phase::Validating { last: sent };
                Step { set: Some(flight_size), ..held }
            }
            Phase::Validating { last } => {
                if self.acked >= last {
                    self.phase = Phase::Normal;
                }
                normal
            }
            Phase::SafeRetreat { .. } => held,
            Phase::Reconnaissance | Phase::Normal => normal,
        }
    }

    /// An ACK in fast recovery. PipeSize goes on with what arrived at the first attempt; a left edge that moves tells of retransmissions.
    pub fn in_recovery(&mut self, ack: &AckSample) {
        self.acked += ack.acked;
        if ack.acked == 0 {
            self.pipe_size = self.pipe_size.saturating_add(ack.delivered);
        }
    }

    /// Returns the pacing rate of an unvalidated window.
    pub fn pacing_rate(&self) -> Option<Rate> {
        match self.phase {
            Phase::Unvalidated { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// A loss or a mark with `outstanding` bytes not acknowledged: returns PipeSize if it is of a window that is not validated. cwnd is no more
    /// than half of that.
    pub fn retreat(&mut self, outstanding: u64) -> Option<u64> {
        let unvalidated = matches!(self.phase, Phase::Unvalidated { .. } | Phase::Validating { .. });
        self.phase = if unvalidated { Phase::SafeRetreat { last: self.acked + outstanding } } else { Phase::Normal };
        unvalidated.then_some(self.pipe_size)
    }

    /// Returns the most that ssthresh may be, once the last byte of the jump is acknowledged after a safe retreat: PipeSize by half, the
    /// default of Beta. `recovered`: fast recovery is over.
    pub fn end_of_retreat(&mut self, recovered: bool) -> Option<u64> {
        match self.phase {
            Phase::SafeRetreat { last } if recovered || self.acked >= last => {
                self.phase = Phase::Normal;
                Some(self.pipe_size / 2)
            }
            _ => None,
        }
    }

    /// Returns true while a jump is on its way: acknowledgments count also where the window is not in slow start.
    pub fn is_resuming(&self) -> bool {
        !matches!(self.phase, Phase::Reconnaissance | Phase::Normal)
    }

    /// Returns true during a safe retreat: proportional rate reduction would give up the window too slowly.
    pub fn is_retreating(&self) -> bool {
        matches!(self.phase, Phase::SafeRetreat { .. })
    }

    /// A timeout, idleness, or a control that ends slow start by itself: it is over.
    pub fn reset(&mut self) {
        self.phase = Phase::Normal;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{MSS, config};
    use super::*;
    use crate::congestion::{Congestion, CongestionControl, CongestionEvent, PrrUse, Window, find};

    const RTT: Duration = Duration::from_millis(100);

    fn resume(saved_cwnd: Option<u32>, saved_rtt_ms: u64) -> TcpConfig {
        TcpConfig { initial_ssthresh: u64::MAX, ..config("reno", &[], 10) }.with(|tcp| {
            tcp.growth.slow_start = "careful_resume";
            tcp.growth.saved_cwnd = saved_cwnd;
            tcp.growth.saved_rtt = Some(Duration::from_millis(saved_rtt_ms));
            tcp.sending.abc_limit = 2;
        })
    }

    fn ack(in_flight: u64) -> AckSample {
        AckSample {
            now: Time::ZERO,
            acked: MSS,
            delivered: MSS,
            in_flight,
            rtt: Some(RTT),
            rtt_min: RTT,
            srtt: RTT,
            cwnd_limited: true,
            ..AckSample::default()
        }
    }

    /// The window in segments after the initial data of ten segments, and the rate it is paced at, in Mbit/s.
    fn after_the_first_round(config: &TcpConfig) -> (u64, Option<f64>) {
        let mut w = Window::new(config);
        for _ in 0..10 {
            let in_flight = w.cwnd;
            w.slow_start(&ack(in_flight));
        }
        (w.cwnd / MSS, w.pacing_rate().map(|rate| rate.as_bps() as f64 / 1e6))
    }

    #[test]
    fn the_window_jumps_to_half_of_the_saved_one() {
        // 500 segments of 1000 bytes over 100 ms: 40 Mbit/s.
        assert_eq!(after_the_first_round(&resume(Some(1000), 100)), (500, Some(40.0)));
        // The round trip is just over half of the saved one, and ten times it.
        assert_eq!(after_the_first_round(&resume(Some(1000), 199)).0, 500);
        assert_eq!(after_the_first_round(&resume(Some(1000), 10)).0, 500);
        // Another path, a small window, no window: as standard slow start.
        for other in [resume(Some(1000), 200), resume(Some(1000), 9), resume(Some(39), 100), resume(None, 100)] {
            assert_eq!(after_the_first_round(&other), (20, None));
        }
    }

    /// A window that has just jumped to 500 segments: 18 are in flight.
    fn jumped() -> Box<dyn CongestionControl + Send> {
        let mut c = (find("reno").unwrap().build)(&resume(Some(1000), 100));
        for _ in 0..10 {
            let in_flight = c.cwnd();
            c.on_ack(&ack(in_flight));
        }
        c
    }

    fn congestion(c: &mut dyn CongestionControl, kind: Congestion, flight: u64) {
        c.on_congestion(&CongestionEvent { now: Time::ZERO, kind, flight_size: flight * MSS });
    }

    #[test]
    fn the_first_byte_of_the_jump_ends_its_sending_and_the_last_validates_it() {
        let mut c = jumped();
        // 18 segments were in flight at the jump, which cwnd waits for.
        for n in 0..18 {
            c.on_ack(&ack((18 + 20 * n) * MSS));
            assert_eq!(c.cwnd(), 500 * MSS);
        }
        // The first of the jump: what is in flight, 399 segments, and growth by what is acknowledged from then on.
        c.on_ack(&ack(400 * MSS));
        assert_eq!((c.cwnd(), c.pacing_rate()), (399 * MSS, None));
        c.on_ack(&ack(399 * MSS));
        assert_eq!(c.cwnd(), 400 * MSS);
    }

    #[test]
    fn all_of_it_sent_and_a_round_trip_end_its_sending_as_well() {
        let mut c = jumped();
        c.on_ack(&ack(500 * MSS - 1));
        assert_eq!((c.cwnd(), c.pacing_rate()), (499 * MSS - 1, None));
        let mut c = jumped();
        c.on_ack(&AckSample { now: Time::ZERO + RTT, ..ack(300 * MSS) });
        assert_eq!(c.cwnd(), 500 * MSS);
        c.on_ack(&AckSample { now: Time::ZERO + RTT + Duration::from_ps(1), ..ack(300 * MSS) });
        assert_eq!((c.cwnd(), c.pacing_rate()), (299 * MSS, None));
    }

    #[test]
    fn a_jump_that_is_not_used_leaves_what_was_validated() {
        let mut c = jumped();
        for _ in 0..19 {
            c.on_ack(&ack(20 * MSS));
        }
        // PipeSize: 18 segments in flight before the jump, and 19 acknowledged since. The window is in slow start again.
        assert_eq!((c.cwnd(), c.pacing_rate()), (37 * MSS, None));
        congestion(c.as_mut(), Congestion::Loss, 37);
        assert_eq!((c.cwnd(), c.traits().prr), (37 * MSS / 2, PrrUse::Reductions));
    }

    /// The example of a loss in the Validating Phase (appendix B.4), with 500 segments for its 150 and 18 for its 29.
    #[test]
    fn a_loss_leaves_half_of_what_was_validated_and_ssthresh_half_of_what_arrived() {
        let mut c = jumped();
        for _ in 0..52 {
            c.on_ack(&ack(500 * MSS));
        }
        congestion(c.as_mut(), Congestion::Loss, 450);
        assert_eq!(c.cwnd(), 70 * MSS / 2, "18 segments, and 52 acknowledged since");
        assert_eq!(c.traits().prr, PrrUse::Never);
        // In recovery 100 more are SACKed. What a moving left edge says is of retransmissions.
        for acked in [0, MSS] {
            for _ in 0..100 {
                c.window_mut().unwrap().in_recovery(&AckSample { acked, in_recovery: true, ..ack(300 * MSS) });
            }
        }
        assert_eq!(c.cwnd(), 35 * MSS);
        c.on_recovered(Time::ZERO);
        assert_eq!((c.cwnd(), c.ssthresh(), c.traits().prr), (35 * MSS, 170 * MSS / 2, PrrUse::Reductions));
        c.on_ack(&ack(35 * MSS));
        assert_eq!(c.cwnd(), 36 * MSS, "slow start, up to ssthresh");
    }

    #[test]
    fn a_mark_holds_the_window_until_the_jump_is_acknowledged() {
        let mut c = jumped();
        for _ in 0..52 {
            c.on_ack(&ack(500 * MSS));
        }
        congestion(c.as_mut(), Congestion::Ecn, 100);
        for _ in 0..99 {
            c.on_ack(&ack(100 * MSS));
            assert_eq!((c.cwnd(), c.traits().prr), (35 * MSS, PrrUse::Never));
        }
        c.on_ack(&ack(100 * MSS));
        assert_eq!((c.ssthresh(), c.traits().prr), (50 * MSS, PrrUse::Reductions), "half of the flight, less than half of PipeSize");
    }

    #[test]
    fn a_timeout_ends_it_and_so_does_undo() {
        let mut c = jumped();
        congestion(c.as_mut(), Congestion::Timeout, 500);
        assert_eq!((c.cwnd(), c.ssthresh(), c.pacing_rate()), (MSS, 250 * MSS, None));
        let mut c = jumped();
        congestion(c.as_mut(), Congestion::Loss, 500);
        c.on_spurious();
        assert_eq!((c.cwnd(), c.traits().prr), (500 * MSS, PrrUse::Reductions));
    }

    #[test]
    fn a_jump_beyond_ssthresh_is_validated_in_congestion_avoidance() {
        let config = TcpConfig { initial_ssthresh: 300 * MSS, ..resume(Some(1000), 100) };
        let mut c = (find("reno").unwrap().build)(&config);
        for _ in 0..10 {
            let in_flight = c.cwnd();
            c.on_ack(&ack(in_flight));
        }
        for n in 0..18 {
            c.on_ack(&ack((18 + 20 * n) * MSS));
            assert_eq!(c.cwnd(), 500 * MSS);
        }
        c.on_ack(&ack(400 * MSS));
        assert_eq!((c.cwnd() / MSS, c.pacing_rate()), (399, None));
    }

    #[test]
    fn a_loss_before_the_jump_or_after_it_is_one_like_any() {
        let mut c = (find("reno").unwrap().build)(&resume(Some(1000), 100));
        congestion(c.as_mut(), Congestion::Loss, 10);
        assert_eq!(c.cwnd(), 5 * MSS);
        let mut c = jumped();
        for _ in 0..1000 {
            c.on_ack(&ack(500 * MSS));
        }
        congestion(c.as_mut(), Congestion::Loss, 600);
        assert_eq!((c.cwnd(), c.traits().prr), (300 * MSS, PrrUse::Reductions));
    }
}
