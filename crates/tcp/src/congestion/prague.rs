//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP made fit for the Internet. It sends ECT(1), asks for accurate
//! feedback, is paced, keeps growing while it shrinks, and behaves on a short path as if its round trip were longer.
//!
//! "The draft" below is revision 04, July 2024; "its §2.4.1" and so on are its sections.

use super::dctcp::Alpha;
use super::promises::{beside_cubic, queues_segments, shares, uses};
use super::window::float;
use super::{AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, PrrUse, Traits, Variable, Window};
use crate::TcpConfig;
use crate::ecn::EcnUse;
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

pub(super) const KIND: ControlKind = ControlKind {
    name: "prague",
    summary: "L4S: DCTCP paced, less dependent on the round trip, with ECT(1) and accurate ECN",
    source: "draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331",
    params: &[
        ParamSpec {
            name: "rtt_virt_min",
            kind: Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(1) },
            // The draft, §2.4.4.
            default: Some(Value::Duration(Duration::from_millis(25))),
            doc: "the least round trip that it grows and shrinks by; 0 s: always the real one",
        },
        ParamSpec {
            name: "rtt_independent_after",
            kind: Kind::Count { unit: "rounds", min: 0, max: 1_000_000 },
            // The draft, §2.4.4 (D): short flows shall not be slowed.
            default: Some(Value::Count(500)),
            doc: "round trips from the start in which it goes by the real round trip all the same",
        },
    ],
    linux: &[],
    ecn: EcnUse::L4S,
    promises: &[
        uses(0.95, "RFC 9330: a full link with less than a millisecond of queue"),
        queues_segments(0.0, 2.0, "RFC 9332 appendix A.1: all are marked that wait over 1.2 ms, two packets"),
        shares(0.9, "draft-briscoe-iccrg-prague-congestion-control-04: equal flows converge"),
        beside_cubic(
            0.4,
            0.75,
            "RFC 9332 section 2.1: about equal windows, so that the rate goes with the round trip: 40 ms, and 15 more for CUBIC",
        ),
    ],
    build: |c| Box::new(Prague::new(c)),
};

/// The draft, §2.4.1: the weight of a virtual round trip in alpha.
const G: f64 = 1.0 / 16.0;

/// DCTCP's window and alpha, by a virtual round trip.
#[derive(Clone, Debug)]
pub struct Prague {
    window: Window,
    /// `window.cwnd` rounded up to whole segments when it was last looked at; a division otherwise for each time somebody asks.
    whole: u64,
    alpha: Alpha,
    rtt_virt_min: Duration,
    independent_after: u64,
    round: u64,
    /// Smoothed round trip of the last round, also in seconds.
    srtt: Duration,
    srtt_s: f64,
    /// The pacing rate for this cwnd, in slow start or not, and that srtt: a division otherwise for each segment.
    paced: (u64, bool),
    pace: Rate,
    /// (srtt / virtual round trip)^2, which growth is slowed by; 1 where the real one counts.
    slowed: f64,
    /// Times of the last update of alpha and of the last reduction of the window.
    updated: Time,
    reduced: Option<Time>,
}

impl Prague {
    /// Creates the control from `config`.
    pub fn new(config: &TcpConfig) -> Self {
        let params = &config.congestion_control.params;
        Prague {
            window: Window::new(config),
            whole: 0,
            alpha: Alpha::new(G),
            rtt_virt_min: params.duration("rtt_virt_min"),
            independent_after: params.integer("rtt_independent_after"),
            round: 0,
            srtt: Duration::ZERO,
            srtt_s: 0.0,
            paced: (0, false),
            pace: Rate::from_bps(1),
            slowed: 1.0,
            updated: Time::ZERO,
            reduced: None,
        }
    }

    fn independent(&self) -> bool {
        self.round >= self.independent_after && !self.window.in_slow_start()
    }

    /// The draft, §2.4.4: the round trip it goes by.
    fn rtt_virt(&self) -> Duration {
        if self.independent() { self.srtt.max(self.rtt_virt_min) } else { self.srtt }
    }

    /// Updates the state once per round trip.
    fn new_round(&mut self, ack: &AckSample) {
        self.round = ack.round;
        (self.srtt, self.srtt_s) = (ack.srtt, ack.srtt.as_secs_f64());
        let ratio = if self.srtt.is_zero() { 1.0 } else { self.srtt_s / self.rtt_virt().as_secs_f64() };
        self.slowed = ratio * ratio;
        if ack.now.since(self.updated) >= self.rtt_virt() {
            self.updated = ack.now;
            self.alpha.update();
        }
        self.paced = (0, false);
    }

    /// Grows the window by the bytes that came back without a mark.
    #[inline]
    fn grow(&mut self, unmarked: &AckSample) {
        if !self.window.slow_start(unmarked) {
            // The draft, §2.4.4: a segment each virtual round trip, in a window that is rate times the real one, is
            // (srtt / rtt_virt)^2 segments a real one.
            self.window.increase(unmarked, self.slowed);
        }
    }

    /// The draft, §2.4.6: the window over a round trip; twice that in slow start, which doubles within it.
    fn rate(&self) -> Rate {
        let per_second = float(self.window.cwnd) / self.srtt_s;
        let gain = if self.window.in_slow_start() { 2.0 } else { 1.0 };
        Rate::from_bps(((8.0 * per_second * gain) as u64).saturating_add(1))
    }
}

impl CongestionControl for Prague {
    keeps_window!();

    fn state(&mut self) -> Vec<Variable<'_>> {
        vec![Variable::number("alpha", self.alpha.value_mut(), 0.0..=1.0)]
    }

    /// Returns cwnd in whole segments, rounded up, so that the pacing below is what holds the fraction (the draft, §2.4.6).
    #[inline]
    fn cwnd(&self) -> u64 {
        let Window { cwnd, mss, .. } = self.window;
        if cwnd <= self.whole && self.whole < cwnd + mss { self.whole } else { cwnd.next_multiple_of(mss) }
    }

    fn on_sample(&mut self, ack: &AckSample) {
        self.alpha.count(ack);
        if ack.round != self.round || self.srtt.is_zero() {
            self.new_round(ack);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        // The draft, §2.4.3: bytes that come back marked add nothing, the others do, also in the round trip of a reduction.
        match ack.acked.saturating_sub(ack.marked) {
            0 => {}
            all if all == ack.acked => self.grow(ack),
            acked => self.grow(&AckSample { acked, ..*ack }),
        }
        self.whole = self.cwnd();
        (self.paced, self.pace) = ((self.window.cwnd, self.window.in_slow_start()), self.rate());
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.kind != Congestion::Ecn {
            // The draft, §2.4.2, and RFC 9331 §4.3: a loss is answered as Reno does (RFC 5681 Eq. 4).
            self.window.reduce(event, 0.5);
        } else if self.reduced.is_none_or(|at| event.now.since(at) >= self.rtt_virt()) {
            // The draft, §2.4.2: by alpha / 2, once a virtual round trip.
            self.window.reduce_to(event, (self.window.cwnd as f64 * self.alpha.decrease() + 0.5) as u64);
        } else {
            return;
        }
        self.reduced = Some(event.now);
    }

    /// It moves its window itself, down as well as up, by fractions of a segment: the reference does so as it processes an ACK
    /// (github.com/L4STeam/linux, issue 17), by Linux's hook `cong_control`, which takes the place of PRR (the change "new CC hook to set
    /// sending rate with rate_sample in any CA state", 2016).
    ///
    /// RFC 9331 §4.3: the queue that bursts cause is to be limited. On a slow link the second of two segments waits for longer than an L4S
    /// queue allows, and is marked for that: a small window, of which it is a larger part, would shrink the more.
    fn traits(&self) -> Traits {
        Traits { prr: PrrUse::Losses, burst_least: 1, ..Traits::WINDOW }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.srtt.is_zero() {
            return None;
        }
        let known = self.paced == (self.window.cwnd, self.window.in_slow_start());
        Some(if known { self.pace } else { self.rate() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::choice;
    use crate::stack;

    const MSS: u64 = 1000;

    fn prague(cwnd: u32, after: u64) -> Prague {
        let mut control = choice("prague");
        control.params.set("rtt_independent_after", Value::Count(after));
        let basis = TcpConfig::new(&stack::find("rfc").unwrap().params(), 1500);
        Prague::new(&TcpConfig { congestion_control: control, mss: MSS as u32, initial_window: cwnd, initial_ssthresh: 1, ..basis })
    }

    /// Round trip `n` of `rtt`: a window of ACKs, `marked` of them of marked segments.
    fn round(p: &mut Prague, n: u64, rtt: Duration, marked: u64) {
        let acks = p.window.cwnd / MSS;
        for i in 0..acks {
            let ack = AckSample {
                now: Time::ZERO + rtt * n,
                acked: MSS,
                delivered: MSS,
                marked: if i < marked { MSS } else { 0 },
                srtt: rtt,
                round: n,
                cwnd_limited: true,
                ..AckSample::default()
            };
            p.on_sample(&ack);
            p.on_ack(&ack);
        }
    }

    fn ecn(at: Duration) -> CongestionEvent {
        CongestionEvent { now: Time::ZERO + at, kind: Congestion::Ecn, flight_size: 0 }
    }

    /// In 100 ms of a path of 5 ms: 4 virtual round trips of 25 ms, and of each the window (a fifth of rate times 25 ms) grows by a
    /// fifth of a segment.
    #[test]
    fn a_short_path_grows_as_a_longer_one_does() {
        let rtt = Duration::from_millis(5);
        let (mut real, mut virt) = (prague(10, 1_000), prague(10, 0));
        (1..=20).for_each(|n| round(&mut real, n, rtt, 0));
        (1..=20).for_each(|n| round(&mut virt, n, rtt, 0));
        assert!((real.window.segments() - 29.0).abs() < 1.5, "{}", real.window.segments());
        assert!((virt.window.segments() - 10.8).abs() < 0.05, "{}", virt.window.segments());
        // A path longer than that is what it is.
        let mut long = prague(10, 0);
        (1..=20).for_each(|n| round(&mut long, n, Duration::from_millis(50), 0));
        assert_eq!(long.window.cwnd, real.window.cwnd);
    }

    #[test]
    fn alpha_and_reductions_go_by_the_virtual_round_trip() {
        let mut p = prague(10, 0);
        (1..=51).for_each(|n| round(&mut p, n, Duration::from_millis(5), 0));
        // 10 updates in 255 ms, none of them with a mark.
        let expected = (0..10).fold(1.0, |alpha, _| alpha * 15.0 / 16.0);
        assert!((p.alpha.value() - expected).abs() < 1e-12, "{} {expected}", p.alpha.value());
        let before = p.window.cwnd;
        p.on_congestion(&ecn(Duration::from_millis(300)));
        let once = p.window.cwnd;
        assert!((once as f64 / before as f64 - (1.0 - expected / 2.0)).abs() < 1e-3);
        p.on_congestion(&ecn(Duration::from_millis(320)));
        assert_eq!(p.window.cwnd, once);
        p.on_congestion(&ecn(Duration::from_millis(325)));
        assert!(p.window.cwnd < once);
    }

    #[test]
    fn marked_bytes_add_nothing_and_unmarked_ones_do() {
        let rtt = Duration::from_millis(50);
        let grown = |marked| {
            let mut p = prague(100, 0);
            round(&mut p, 1, rtt, marked);
            p.window.segments() - 100.0
        };
        assert!((grown(0) - 1.0).abs() < 0.01 && (grown(50) - 0.5).abs() < 0.01 && grown(100) == 0.0);
        // The first mark ends slow start.
        let mut p = prague(10, 0);
        p.window.ssthresh = u64::MAX;
        round(&mut p, 1, rtt, 4);
        assert_eq!(p.window.cwnd, 16 * MSS);
        p.on_congestion(&ecn(rtt));
        assert!(!p.window.in_slow_start());
    }

    #[test]
    fn the_window_is_whole_segments_and_the_pace_has_the_fraction() {
        let mut p = prague(10, 0);
        assert_eq!(p.pacing_rate(), None, "no round trip yet");
        round(&mut p, 1, Duration::from_millis(100), 0);
        assert_eq!(p.cwnd(), 11 * MSS);
        let bps = p.pacing_rate().unwrap().as_bps();
        assert_eq!(bps, p.window.cwnd * 80 + 1);
        assert!(p.window.cwnd > 10 * MSS && p.window.cwnd < 11 * MSS);
        p.window.ssthresh = u64::MAX;
        assert_eq!(p.pacing_rate().unwrap().as_bps(), p.window.cwnd * 160 + 1);
    }

    #[test]
    fn a_loss_halves_as_reno_does() {
        let mut p = prague(100, 0);
        p.on_congestion(&CongestionEvent { now: Time::ZERO, kind: Congestion::Loss, flight_size: 80 * MSS });
        assert_eq!((p.window.cwnd, p.ssthresh()), (40 * MSS, 40 * MSS));
    }
}
