//! Careful Resume (draft-ietf-tsvwg-careful-resume): after the first round trip the window jumps to half of what an earlier connection over
//! the path used. A round trip of acknowledgments validates it; a loss before that means a safe retreat.

use super::Step;
use crate::TcpConfig;
use crate::congestion::AckSample;
use crate::pacing;
use longfat_core::time::Duration;
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
    },
    /// Acknowledgments of the jump come in.
    Validating {
        /// End of the jump.
        last: u64,
    },
    /// A loss has ended the jump, and its response is not over.
    SafeRetreat,
    /// As without it.
    Normal,
}

#[derive(Clone, Debug)]
pub struct CarefulResume {
    phase: Phase,
    initial: u64,
    saved_cwnd: u64,
    saved_rtt: Option<Duration>,
    acked: u64,
    pipe_size: u64,
}

/// Initial windows that a saved window must have: for less the jump is not worth it (the Observe Phase, small CWND).
const LEAST_INITIAL_WINDOWS: u64 = 4;

impl CarefulResume {
    pub fn new(config: &TcpConfig) -> Self {
        let initial = config.first_window();
        let saved_cwnd = config.growth.saved_cwnd.map_or(0, |segments| u64::from(segments) * u64::from(config.mss));
        let phase = if saved_cwnd >= LEAST_INITIAL_WINDOWS * initial { Phase::Reconnaissance } else { Phase::Normal };
        CarefulResume { phase, initial, saved_cwnd, saved_rtt: config.growth.saved_rtt, acked: 0, pipe_size: 0 }
    }

    /// Returns true if the round trip is that of the path: at least half of the saved one, and at most ten times it.
    fn confirms(&self, rtt: Duration) -> bool {
        self.saved_rtt.is_none_or(|saved| rtt * 2 >= saved && rtt <= saved.saturating_mul(10))
    }

    /// An ACK of slow start, which would add `growth` to `cwnd`.
    pub fn step(&mut self, ack: &AckSample, cwnd: u64, growth: u64) -> Step {
        self.acked += ack.acked;
        let outstanding = ack.in_flight.saturating_sub(ack.delivered);
        let sent = self.acked + outstanding;
        let normal = Step { growth, set: None, leave: false };
        match self.phase {
            // The initial data has arrived, and there is more of it than the window takes.
            Phase::Reconnaissance if self.acked >= self.initial => {
                let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) else { return normal };
                let jump = self.saved_cwnd / 2;
                if !self.confirms(rtt) || jump <= cwnd + growth {
                    self.phase = Phase::Normal;
                } else if ack.cwnd_limited {
                    self.pipe_size = cwnd;
                    self.phase = Phase::Unvalidated { first: sent, rate: pacing::rate(jump as f64 / rtt.as_secs_f64()) };
                    return Step { set: Some(jump), ..normal };
                }
                normal
            }
            Phase::Unvalidated { first, .. } => {
                self.pipe_size += ack.acked;
                if self.acked <= first {
                    return Step { growth: 0, ..normal };
                }
                // Validating Phase, limiting CWND on entry: what is in flight, and from then on the normal growth.
                self.phase = Phase::Validating { last: sent };
                Step { set: Some(outstanding + growth), ..normal }
            }
            Phase::Validating { last } => {
                self.pipe_size += ack.acked;
                if self.acked >= last {
                    self.phase = Phase::Normal;
                }
                normal
            }
            Phase::SafeRetreat => {
                self.phase = Phase::Normal;
                normal
            }
            Phase::Reconnaissance | Phase::Normal => normal,
        }
    }

    /// Returns the pacing rate of an unvalidated window.
    pub fn pacing_rate(&self) -> Option<Rate> {
        match self.phase {
            Phase::Unvalidated { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// A loss or a mark: returns PipeSize if it is of a window that is not validated. ssthresh is no more than that, and cwnd half of it.
    pub fn retreat(&mut self) -> Option<u64> {
        let unvalidated = matches!(self.phase, Phase::Unvalidated { .. } | Phase::Validating { .. });
        self.phase = if unvalidated { Phase::SafeRetreat } else { Phase::Normal };
        unvalidated.then_some(self.pipe_size)
    }

    /// Returns true from a safe retreat until slow start goes on: proportional rate reduction would give up the window too slowly.
    pub fn is_retreating(&self) -> bool {
        self.phase == Phase::SafeRetreat
    }

    /// A timeout, or idleness: it is over.
    pub fn reset(&mut self) {
        if self.phase != Phase::SafeRetreat {
            self.phase = Phase::Normal;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{MSS, config};
    use super::*;
    use crate::congestion::{Congestion, CongestionEvent, PrrUse, Window, find};
    use longfat_core::time::Time;

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
        // The round trip is half of the saved one, and a tenth of ten times it.
        assert_eq!(after_the_first_round(&resume(Some(1000), 200)).0, 500);
        assert_eq!(after_the_first_round(&resume(Some(1000), 10)).0, 500);
        // Another path, a small window, no window: as standard slow start.
        for other in [resume(Some(1000), 201), resume(Some(1000), 9), resume(Some(39), 100), resume(None, 100)] {
            assert_eq!(after_the_first_round(&other), (20, None));
        }
    }

    /// A window in its jump, 500 segments in flight.
    fn jumped() -> Box<dyn crate::congestion::CongestionControl + Send> {
        let mut c = (find("reno").unwrap().build)(&resume(Some(1000), 100));
        for _ in 0..10 {
            let in_flight = c.cwnd();
            c.on_ack(&ack(in_flight));
        }
        c
    }

    #[test]
    fn a_round_trip_of_acknowledgments_validates_it() {
        let mut c = jumped();
        // 18 segments were in flight at the jump, which cwnd waits for.
        for n in 0..18 {
            c.on_ack(&ack(500 * MSS - n));
            assert_eq!(c.cwnd(), 500 * MSS);
        }
        // The first of the jump: what is in flight, 399 segments, and growth by what is acknowledged from then on.
        c.on_ack(&ack(400 * MSS));
        assert_eq!((c.cwnd(), c.pacing_rate()), (400 * MSS, None));
        c.on_ack(&ack(400 * MSS));
        assert_eq!(c.cwnd(), 401 * MSS);
    }

    #[test]
    fn a_loss_means_half_of_what_was_validated() {
        let mut c = jumped();
        for _ in 0..40 {
            c.on_ack(&ack(500 * MSS));
        }
        // PipeSize: 19 segments before the jump, and 40 acknowledged since.
        c.on_congestion(&CongestionEvent { now: Time::ZERO, kind: Congestion::Loss, flight_size: 500 * MSS });
        assert_eq!((c.cwnd(), c.ssthresh()), (59 * MSS / 2, 59 * MSS));
        assert_eq!(c.traits().prr, PrrUse::Never);
        // Then slow start up to PipeSize.
        c.on_ack(&ack(29 * MSS));
        assert_eq!((c.cwnd(), c.traits().prr), (59 * MSS / 2 + MSS, PrrUse::Reductions));
    }

    #[test]
    fn a_loss_before_the_jump_or_after_it_is_one_like_any() {
        let mut c = (find("reno").unwrap().build)(&resume(Some(1000), 100));
        c.on_congestion(&CongestionEvent { now: Time::ZERO, kind: Congestion::Loss, flight_size: 10 * MSS });
        assert_eq!(c.cwnd(), 5 * MSS);
        let mut c = jumped();
        for _ in 0..1000 {
            c.on_ack(&ack(500 * MSS));
        }
        c.on_congestion(&CongestionEvent { now: Time::ZERO, kind: Congestion::Loss, flight_size: 600 * MSS });
        assert_eq!((c.cwnd(), c.traits().prr), (300 * MSS, PrrUse::Reductions));
    }
}
