//! BBR version 3 (draft-ietf-ccwg-bbr-06, "BBR Congestion Control"; its section numbers stand at each step). This file: what moves
//! the model and the state machine on each ACK. [`startup`] has Startup and Drain, [`cycle`]
//! ProbeBW, [`probe_rtt`] ProbeRTT, [`losses`] what losses do, [`window`] the outputs.

mod cycle;
mod losses;
mod probe_rtt;
mod startup;
mod window;

use super::{Aggregation, Cwnd, MaxFilter, Pace, Rounds};
use crate::TcpConfig;
use crate::congestion::promises::{beside_cubic, queues_bdp, shares, uses};
use crate::congestion::state::Unit;
use crate::congestion::{
    AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Established, PathModel, PrrUse, Traits, Unused, Variable,
};
use crate::ecn::EcnUse;
use crate::rate::{LostPacket, RateSample};
use cycle::AckPhase;
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use losses::Undo;

pub(in crate::congestion) const KIND: ControlKind = ControlKind {
    name: "bbr3",
    summary: "version 3: a model of bandwidth, round trip and losses, with probes that give way",
    source: "draft-ietf-ccwg-bbr-06, BBR Congestion Control",
    params: &[],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.93, "draft-ietf-ccwg-bbr-06 sections 5.6.2 and 5.3.4: 1 % under the model, and ProbeRTT, 0.2 of 5 s at half"),
        queues_bdp(0.0, 0.25, "draft-ietf-ccwg-bbr-06 section 5.3.3: a probe at 1.25 goes on until there is queue, and DOWN drains it"),
        shares(0.9, "draft-ietf-ccwg-bbr-06 section 5.3.3: probes of several flows make their shares converge"),
        beside_cubic(0.3, 0.85, "draft-ietf-ccwg-bbr-06 section 5.3.3.8: it probes as often as Reno and CUBIC lose, to coexist with them"),
    ],
    build: |c| Box::new(Bbr3::new(c)),
};

/// §2.5: 4 ln 2, and the gain of Drain.
const STARTUP_PACING_GAIN: f64 = 4.0 * std::f64::consts::LN_2;
const DRAIN_PACING_GAIN: f64 = 0.5;
/// §2.5: PacingMarginPercent.
const PACING_MARGIN: f64 = 0.01;
/// §2.6.
const CWND_GAIN: f64 = 2.0;
/// §2.8.
const LOSS_THRESHOLD: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
/// §2.11 MaxBwFilterLen, in cycles; §2.12 ExtraAckedFilterLen, in rounds.
const BANDWIDTH_CYCLES: usize = 2;
const EXTRA_ACKED_ROUNDS: usize = 10;
/// §2.16.
const MIN_RTT_LASTS: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// §5.3.1.3: BBRStartupFullLossCnt.
const STARTUP_LOST_RANGES: u32 = 6;

/// No bound (the Infinity of the draft's volumes).
const UNBOUNDED: u64 = u64::MAX;

/// §5.1.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain { from_round: u64 },
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt { done: Option<Time>, round_done: bool },
}

/// §5.3.1.2: the search for a plateau of the delivery rate.
#[derive(Clone, Copy, Debug, Default)]
struct Plateau {
    bandwidth: f64,
    rounds: u32,
    /// Found since the search began.
    now: bool,
    /// Found once in the life of the connection.
    ever: bool,
}

impl Plateau {
    /// ResetFullBW, from a rate already seen.
    fn search_again(&mut self, bandwidth: f64) {
        *self = Plateau { bandwidth, ever: self.ever, ..Plateau::default() };
    }
}

/// §2.9.2: the least round trip.
#[derive(Clone, Debug, Default)]
struct LeastRtt {
    min: Option<Duration>,
    /// Least round trip in seconds: saves a division per ACK.
    min_s: f64,
    min_at: Time,
    probe_min: Option<Duration>,
    probe_min_at: Time,
    probe_expired: bool,
}

/// §2.14: where ProbeBW is in its cycle, and what its probes have found.
#[derive(Clone, Debug)]
struct Cycle {
    ack_phase: AckPhase,
    probing_samples: bool,
    up_acked: u64,
    up_acked_per_mss: u64,
    up_rounds: u32,
    rounds_since_up: u64,
    wait: Duration,
    start: Time,
    prev_too_high: bool,
    prev_precautionary: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Cycle {
            ack_phase: AckPhase::Init,
            probing_samples: false,
            up_acked: 0,
            up_acked_per_mss: UNBOUNDED,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Duration::ZERO,
            start: Time::ZERO,
            prev_too_high: false,
            prev_precautionary: false,
        }
    }
}

/// Losses of the round, and of the fast recovery under way.
#[derive(Clone, Debug, Default)]
struct Losses {
    in_round: bool,
    round_delivered: u64,
    round_start: bool,
    ranges: u32,
    end: u64,
    /// `total_delivered` when the fast recovery under way began.
    recovery_from: Option<u64>,
}

/// BBR's variables. Bandwidths are in bytes a second, without a bound infinite.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    sack: bool,
    cwnd: Cwnd,
    state: State,
    rounds: Rounds,
    plateau: Plateau,
    pace: Pace,
    rng: Rng,
    // §2.9.1: max_bw, bw_shortterm, bw.
    max_bandwidth: MaxFilter<BANDWIDTH_CYCLES>,
    cycles: u64,
    bandwidth_shortterm: f64,
    bandwidth: f64,
    rtt: LeastRtt,
    inflight_longterm: u64,
    inflight_shortterm: u64,
    aggregation: Aggregation<EXTRA_ACKED_ROUNDS>,
    // §2.10: the greatest of the last round.
    bandwidth_latest: f64,
    inflight_latest: u64,
    cycle: Cycle,
    losses: Losses,
    undo: Undo,
    idle_restart: bool,
    /// Last rate sample.
    last: RateSample,
    last_at: Time,
}

impl Bbr3 {
    /// Creates the control from `config`. §5.2.1.
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let cwnd = Cwnd::new(config);
        Bbr3 {
            sack: config.sack,
            cwnd,
            state: State::Startup,
            rounds: Rounds::default(),
            plateau: Plateau::default(),
            pace: Pace::new(STARTUP_PACING_GAIN, &cwnd),
            rng: Rng::named(0, "bbr"),
            max_bandwidth: MaxFilter::new(),
            cycles: 0,
            bandwidth_shortterm: f64::INFINITY,
            bandwidth: 0.0,
            rtt: LeastRtt::default(),
            inflight_longterm: UNBOUNDED,
            inflight_shortterm: UNBOUNDED,
            aggregation: Aggregation::new(),
            bandwidth_latest: 0.0,
            inflight_latest: 0,
            cycle: Cycle::default(),
            losses: Losses::default(),
            undo: Undo::default(),
            idle_restart: false,
            last: RateSample::default(),
            last_at: Time::ZERO,
        }
    }

    /// §5.6.1: the gains of each state, of pacing and of cwnd.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            State::Drain { .. } => (DRAIN_PACING_GAIN, CWND_GAIN),
            State::Down => (0.9, CWND_GAIN),
            State::Cruise | State::Refill => (1.0, CWND_GAIN),
            State::Up => (1.25, 2.25),
            State::ProbeRtt { .. } => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    fn in_probe_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt { .. })
    }

    /// §5.5.5.
    fn update_max_bandwidth(&mut self, rs: &RateSample, rate: f64) {
        self.rounds.update(rs);
        self.cycle.rounds_since_up += u64::from(self.rounds.start);
        if rate > 0.0 && (rate >= self.max_bandwidth.max() || !rs.app_limited) {
            self.max_bandwidth.update(rate);
        }
    }

    /// §5.5.9.
    fn update_aggregation(&mut self, ack: &AckSample) {
        if !self.plateau.ever {
            // In Startup the filter is one round long.
            self.aggregation.extra.advance(self.rounds.count);
            self.aggregation.extra.forget_past();
        }
        self.aggregation.update(ack.now, self.rounds.count, ack.delivered, self.bandwidth, self.cwnd.bytes);
    }
}

impl CongestionControl for Bbr3 {
    fn state(&mut self) -> Vec<Variable<'_>> {
        let (max, short, bandwidth) = (&mut self.max_bandwidth, &mut self.bandwidth_shortterm, &mut self.bandwidth);
        let (min_rtt, min_rtt_s) = (&mut self.rtt.min, &mut self.rtt.min_s);
        let greatest = max.max() * 8.0;
        // The short-term bound on the greatest bandwidth holds until it is lifted.
        let set = |bps: f64| {
            max.set(bps / 8.0);
            *bandwidth = max.max().min(*short);
        };
        vec![
            Variable::bytes("cwnd", &mut self.cwnd.bytes, self.cwnd.mss),
            Variable::new("bandwidth", Unit::BitsPerSecond, Some(greatest), 0.0..=1e14, set),
            Variable::new("min_rtt", Unit::Seconds, min_rtt.map(Duration::as_secs_f64), 1e-6..=1e4, |seconds| {
                (*min_rtt, *min_rtt_s) = (Some(Duration::from_secs_f64(seconds)), seconds);
            }),
            Variable::bytes("inflight_longterm", &mut self.inflight_longterm, self.cwnd.mss),
            Variable::bytes("inflight_shortterm", &mut self.inflight_shortterm, self.cwnd.mss),
            Variable::bytes("prior_cwnd", &mut self.cwnd.prior, 0),
        ]
    }

    fn cwnd(&self) -> u64 {
        self.cwnd.bytes
    }

    /// §5.2.3, UpdateOnACK.
    fn on_sample(&mut self, ack: &AckSample) {
        let Some(rs) = &ack.rate else { return };
        let rate = rs.bytes_per_second();
        if self.cwnd.has_recovered(ack) {
            self.end_recovery();
        }
        self.pace.learn_rtt(STARTUP_PACING_GAIN, ack.srtt);
        (self.last, self.last_at) = (*rs, ack.now);
        self.update_latest(rs, rate);
        self.update_max_bandwidth(rs, rate);
        self.adapt_to_losses();
        self.update_aggregation(ack);
        self.check_plateau(rs, rate);
        self.check_startup_done(ack, rs);
        self.check_drain_done(ack.now, rs);
        self.update_cycle(ack, rs, rate);
        self.update_min_rtt(ack.now, rs);
        self.check_probe_rtt(ack.now, rs);
        self.advance_latest(rs, rate);
        // §5.5.10.3, BoundBWForModel.
        self.bandwidth = self.max_bandwidth.max().min(self.bandwidth_shortterm);
        self.set_pacing_rate(self.gains().0);
        self.set_cwnd(ack, rs);
    }

    /// The window does not grow by rules of its own: [`Self::on_sample`] sets it.
    fn on_ack(&mut self, _ack: &AckSample) {}

    /// §5.6.4.4; §3.7 for the marks.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            Congestion::Loss => {
                self.save_upon_loss();
                self.losses.recovery_from = Some(self.last.total_delivered);
                self.cwnd.recovering = true;
            }
            Congestion::Timeout | Congestion::TimeoutAgain => {
                self.save_upon_loss();
                // C.inflight + 1: all of it is taken for lost.
                self.cwnd.collapse();
                self.cwnd.recovering = true;
            }
            Congestion::Ecn => self.handle_mark(),
            // The host's own queue says nothing of the path.
            Congestion::Local => {}
        }
    }

    /// §5.5.11.2.
    fn on_spurious(&mut self) {
        self.end_recovery();
        self.undo_losses();
    }

    /// §5.4.2: no slow start after idleness.
    fn on_unused(&mut self, _unused: Unused) {}

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pace.rate)
    }

    fn traits(&self) -> Traits {
        Traits { prr: PrrUse::Never, wants_rate: true, ..Traits::WINDOW }
    }

    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn on_recovered(&mut self, _now: Time) {
        self.end_recovery();
    }
}

impl PathModel for Bbr3 {
    /// §5.2.1.
    fn on_established(&mut self, established: &Established) {
        self.rng = Rng::named(established.seed, "bbr");
        self.sack = established.sack;
        if let Some(rtt) = established.rtt {
            self.set_min_rtt(rtt);
        }
        (self.rtt.min_at, self.rtt.probe_min_at, self.aggregation.from) = (established.now, established.now, established.now);
        self.pace.learn_rtt(STARTUP_PACING_GAIN, established.rtt.unwrap_or(Duration::ZERO));
    }

    fn on_syn_loss(&mut self) {
        self.cwnd.collapse();
    }

    /// §5.5.10.2, HandleLostPacket.
    fn on_lost(&mut self, packet: &LostPacket) {
        self.handle_lost(packet);
    }

    /// §5.4.1, HandleRestartFromIdle.
    fn on_idle_end(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.from = now;
        if self.in_probe_bw() {
            self.set_pacing_rate(1.0);
        } else {
            self.check_probe_rtt_done(now, self.last.total_delivered);
        }
    }

    /// §5.3.4.3: rates in ProbeRTT say nothing of the path.
    fn holds_back(&self) -> bool {
        self.in_probe_rtt()
    }
}

#[cfg(test)]
mod tests;
