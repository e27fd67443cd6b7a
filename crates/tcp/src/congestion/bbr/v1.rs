//! BBR version 1 (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", CACM 60(2), 2017;
//! draft-cardwell-iccrg-bbr-congestion-control-00, whose section numbers stand at each step).
//!
//! BBR here does not sample policed paths ("long-term bandwidth"): neither paper nor draft has it. It ignores ECN echoes.

mod probe_rtt;

use super::{Aggregation, Cwnd, MaxFilter, Pace, Rounds, bdp};
use crate::TcpConfig;
use crate::congestion::promises::{beside_cubic, queues_bdp, shares, uses};
use crate::congestion::state::Unit;
use crate::congestion::{
    AckSample, Congestion, CongestionControl, CongestionEvent, ControlKind, Established, PathModel, PrrUse, Traits, Unused, Variable,
};
use crate::ecn::EcnUse;
use crate::rate::{LostPacket, RateSample};
use longfat_core::params::{Kind, ParamSpec, Value};
use longfat_core::rng::Rng;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;

pub(in crate::congestion) const KIND: ControlKind = ControlKind {
    name: "bbr",
    summary: "version 1: paces at the bandwidth it measures, with two bandwidth-delay products in flight at most",
    source: "Cardwell et al., BBR: Congestion-Based Congestion Control, CACM 60(2), 2017; draft-cardwell-iccrg-bbr-congestion-control-00",
    params: &[ParamSpec {
        name: "extra_acked",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "whether the window has room for what ACKs aggregate, as in Linux since 5.1; the paper and the draft are without",
    }],
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.93, "Cardwell et al. 2016: full but for ProbeRTT, 0.2 of 10 s"),
        queues_bdp(0.0, 0.25, "Cardwell et al. 2016: a probe at 1.25 queues 0.25 BDP at most, and the phase after it drains that"),
        shares(0.9, "Cardwell et al. 2016: flows converge to equal shares"),
        beside_cubic(
            0.5,
            0.99,
            "Hock, Bless and Zitterbart, Experimental Evaluation of BBR, ICNP 2017: over its share where the buffer is of one BDP or less",
        ),
    ],
    build: |c| Box::new(Bbr::new(c)),
};

/// §4.3.2.1: 2 / ln 2, the least gain that doubles the rate each round.
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
/// §4.3.4.1.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// §4.1.1.2: BtlBwFilterLen, in rounds.
const BANDWIDTH_ROUNDS: usize = 10;
/// §4.1.2.2 and §4.3.5: RTpropFilterLen and ProbeRTTInterval.
const MIN_RTT_LASTS: Duration = Duration::from_secs(10);
/// The surplus of ACKs counts for so many rounds, and is at most what the bandwidth carries in [`EXTRA_ACKED_LASTS`] (Jha, Cardwell, Cheng et al.,
/// "tcp_bbr: adapt cwnd based on ack aggregation estimation", 2019; "An update on BBR work at Google", ICCRG, IETF 101, 2018; the rounds:
/// draft-ietf-ccwg-bbr-06 §2.9).
const EXTRA_ACKED_ROUNDS: usize = 10;
const EXTRA_ACKED_LASTS: f64 = 0.1;
/// §4.3.5: ProbeRTTDuration.
const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);

/// §3.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw { phase: usize, since: Time },
    ProbeRtt(Drained),
}

/// §4.3.5: how far ProbeRTT has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Drained {
    /// More than the minimum is still in flight.
    No,
    /// ProbeRTT ends not before `until`, and not before a round has passed.
    Since { until: Time, round_done: bool },
}

/// §4.3.2.2: whether the pipe is full.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    full: bool,
    bandwidth: f64,
    rounds: u32,
}

/// A fast recovery that is over: when, and what of it would go on.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Time,
    cwnd: u64,
    conserve_until: Option<u64>,
}

/// BBR's variables.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    cwnd: Cwnd,
    state: State,
    rounds: Rounds,
    bandwidth: MaxFilter<BANDWIDTH_ROUNDS>,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    min_rtt_expired: bool,
    pipe_full: FullPipe,
    /// ACK aggregation, if the window has room for it.
    aggregation: Option<Aggregation<EXTRA_ACKED_ROUNDS>>,
    pace: Pace,
    /// A fast recovery is under way.
    is_fast: bool,
    /// Packet conservation, until something sent after this much was delivered arrives.
    conserve_until: Option<u64>,
    ended: Option<Ended>,
    idle_restart: bool,
    /// Bytes in flight at the last sample, bytes that it delivered, and bytes lost since.
    in_flight: u64,
    delivered: u64,
    total_delivered: u64,
    newly_lost: u64,
    rng: Rng,
}

impl Bbr {
    /// Creates the control from `config`.
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let cwnd = Cwnd::new(config);
        Bbr {
            cwnd,
            state: State::Startup,
            rounds: Rounds::default(),
            bandwidth: MaxFilter::new(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            min_rtt_expired: false,
            pipe_full: FullPipe::default(),
            aggregation: config.congestion_control.params.boolean("extra_acked").then(Aggregation::new),
            pace: Pace::new(HIGH_GAIN, &cwnd),
            is_fast: false,
            conserve_until: None,
            ended: None,
            idle_restart: false,
            in_flight: 0,
            delivered: 0,
            total_delivered: 0,
            newly_lost: 0,
            rng: Rng::named(0, "bbr"),
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw { phase, .. } => CYCLE[phase],
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw { .. } => 2.0,
            State::ProbeRtt(_) => 1.0,
        }
    }

    /// §4.2.2.
    fn send_quantum(&self) -> f64 {
        let bits = self.pace.bytes_per_second * 8.0;
        if bits < 1.2e6 {
            self.cwnd.mss as f64
        } else if bits < 24e6 {
            (2 * self.cwnd.mss) as f64
        } else {
            (self.pace.bytes_per_second * 1e-3).min(65_536.0)
        }
    }

    /// §4.2.3.2, BBRInflight.
    fn target(&self, gain: f64) -> u64 {
        let Some(rtt) = self.min_rtt else { return self.cwnd.initial };
        (gain * bdp(self.bandwidth.max(), rtt) + 3.0 * self.send_quantum()) as u64
    }

    /// Room in the window beyond the target, once the pipe is known to be full. Before, in Startup, the gain is room enough.
    fn extra_acked(&self) -> u64 {
        self.aggregation.as_ref().filter(|_| self.pipe_full.full).map_or(0, |of| of.extra.max() as u64)
    }

    fn update_aggregation(&mut self, ack: &AckSample) {
        let bandwidth = self.bandwidth.max();
        let most = self.cwnd.bytes.min((bandwidth * EXTRA_ACKED_LASTS) as u64);
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.update(ack.now, self.rounds.count, ack.delivered, bandwidth, most);
        }
    }

    /// §4.1.1.5.
    fn update_bandwidth(&mut self, rs: &RateSample) {
        self.rounds.update(rs);
        self.bandwidth.advance(self.rounds.count);
        let rate = rs.bytes_per_second();
        if rate > 0.0 && (rate >= self.bandwidth.max() || !rs.app_limited) {
            self.bandwidth.update(rate);
        }
    }

    /// §4.3.4.3, BBRCheckCyclePhase.
    fn check_cycle_phase(&mut self, ack: &AckSample) {
        let State::ProbeBw { phase, since } = self.state else { return };
        let whole = ack.now.since(since) > self.min_rtt.unwrap_or(Duration::ZERO);
        let gain = CYCLE[phase];
        let over = if gain > 1.0 {
            whole && (self.newly_lost > 0 || ack.in_flight >= self.target(gain))
        } else if gain < 1.0 {
            whole || ack.in_flight <= self.target(1.0)
        } else {
            whole
        };
        if over {
            self.state = State::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: ack.now };
        }
    }

    /// §4.3.4.2: at any phase but that of 3/4.
    fn enter_probe_bw(&mut self, now: Time) {
        // BBRGainCycleLen - 1 - (0..=6), and one on.
        let phase = (CYCLE.len() - self.rng.below(7) as usize) % CYCLE.len();
        self.state = State::ProbeBw { phase, since: now };
    }

    /// §4.3.2.2.
    fn check_full_pipe(&mut self, rs: &RateSample) {
        let pipe = &mut self.pipe_full;
        if pipe.full || !self.rounds.start || rs.app_limited || rs.interval.is_zero() {
            return;
        }
        if self.bandwidth.max() >= pipe.bandwidth * 1.25 {
            (pipe.bandwidth, pipe.rounds) = (self.bandwidth.max(), 0);
            return;
        }
        pipe.rounds += 1;
        pipe.full = pipe.rounds >= 3;
    }

    /// §4.3.3.
    fn check_drain(&mut self, now: Time, in_flight: u64) {
        if self.state == State::Startup && self.pipe_full.full {
            self.state = State::Drain;
        }
        if self.state == State::Drain && in_flight <= self.target(1.0) {
            self.enter_probe_bw(now);
        }
    }

    fn in_probe_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    fn end_recovery(&mut self) {
        self.is_fast = false;
        if self.cwnd.end_recovery() {
            self.conserve_until = None;
            self.bound_cwnd();
        }
    }

    /// §4.2.3.4: packets are conserved in the first round of the loss-repair process; in later rounds no more than twice as much is sent
    /// as arrives. Where one ACK ends a recovery, be it that of a timeout, and begins the next, losses are repaired all the while: the
    /// process goes on, in the round that it is in.
    fn enter_recovery(&mut self, now: Time) {
        if let Some(ended) = self.ended.take().filter(|ended| ended.at == now) {
            (self.cwnd.bytes, self.conserve_until) = (ended.cwnd, ended.conserve_until);
            self.cwnd.recovering = true;
        }
        self.is_fast = true;
        if self.cwnd.recovering {
            return;
        }
        self.cwnd.save(self.in_probe_rtt());
        self.cwnd.recovering = true;
        self.cwnd.bytes = self.conserved();
        self.conserve_until = Some(self.total_delivered);
    }

    /// Returns the bytes in flight, less those lost since the last sample, plus those that it delivered: packet conservation.
    fn conserved(&self) -> u64 {
        self.in_flight.saturating_sub(self.newly_lost) + self.delivered.max(self.cwnd.mss)
    }

    /// §4.2.3.5.
    fn bound_cwnd(&mut self) {
        if self.in_probe_rtt() {
            self.cwnd.bytes = self.cwnd.bytes.min(self.cwnd.least());
        }
    }

    /// §4.2.3.6, with §4.2.3.4 and §4.2.3.5.
    fn set_cwnd(&mut self, ack: &AckSample, rs: &RateSample) {
        let target = self.target(self.cwnd_gain()) + self.extra_acked();
        if self.conserve_until.is_some_and(|until| rs.prior_delivered >= until) {
            self.conserve_until = None;
        }
        if self.conserve_until.is_some() {
            self.cwnd.bytes = self.cwnd.bytes.max(rs.in_flight + ack.delivered);
        } else {
            self.cwnd.grow(ack.delivered, rs.total_delivered, target, self.pipe_full.full);
        }
        self.bound_cwnd();
    }
}

impl CongestionControl for Bbr {
    fn state(&mut self) -> Vec<Variable<'_>> {
        let (bandwidth, min_rtt) = (&mut self.bandwidth, &mut self.min_rtt);
        vec![
            Variable::bytes("cwnd", &mut self.cwnd.bytes, self.cwnd.mss),
            Variable::new("bandwidth", Unit::BitsPerSecond, Some(bandwidth.max() * 8.0), 0.0..=1e14, |bps| bandwidth.set(bps / 8.0)),
            Variable::new("min_rtt", Unit::Seconds, min_rtt.map(Duration::as_secs_f64), 1e-6..=1e4, |seconds| {
                *min_rtt = Some(Duration::from_secs_f64(seconds));
            }),
            Variable::bytes("prior_cwnd", &mut self.cwnd.prior, 0),
        ]
    }

    fn cwnd(&self) -> u64 {
        self.cwnd.bytes
    }

    /// §3.5.2.
    fn on_sample(&mut self, ack: &AckSample) {
        let Some(rs) = &ack.rate else { return };
        if self.cwnd.has_recovered(ack) {
            self.end_recovery();
        }
        self.pace.learn_rtt(HIGH_GAIN, ack.srtt);
        self.update_bandwidth(rs);
        self.update_aggregation(ack);
        self.check_cycle_phase(ack);
        self.check_full_pipe(rs);
        self.check_drain(ack.now, rs.in_flight);
        self.update_min_rtt(ack.now, rs);
        self.check_probe_rtt(ack.now, rs);
        self.pace.set(self.pacing_gain() * self.bandwidth.max(), self.pipe_full.full);
        self.set_cwnd(ack, rs);
        (self.in_flight, self.delivered, self.total_delivered) = (rs.in_flight, ack.delivered, rs.total_delivered);
        self.newly_lost = 0;
    }

    /// The window does not grow by rules of its own: [`Self::on_sample`] sets it.
    fn on_ack(&mut self, _ack: &AckSample) {}

    /// §4.2.3.4.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            Congestion::Loss => self.enter_recovery(event.now),
            Congestion::Timeout | Congestion::TimeoutAgain => {
                self.cwnd.save(self.in_probe_rtt());
                self.cwnd.collapse();
                self.conserve_until = None;
                self.is_fast = false;
                self.cwnd.recovering = true;
            }
            Congestion::Ecn | Congestion::Local => {}
        }
    }

    fn on_spurious(&mut self) {
        self.end_recovery();
    }

    /// §4.3.4.4: what was in flight says what the path takes; silence does not make that untrue.
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

    fn on_recovered(&mut self, now: Time) {
        self.ended = Some(Ended { at: now, cwnd: self.cwnd.bytes, conserve_until: self.conserve_until });
        self.end_recovery();
    }
}

impl PathModel for Bbr {
    /// §4.3.1.
    fn on_established(&mut self, established: &Established) {
        self.rng = Rng::named(established.seed, "bbr");
        self.min_rtt = established.rtt;
        self.min_rtt_at = established.now;
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.from = established.now;
        }
        self.pace.learn_rtt(HIGH_GAIN, established.rtt.unwrap_or(Duration::ZERO));
    }

    fn on_syn_loss(&mut self) {
        self.cwnd.collapse();
    }

    /// §4.2.3.4: in a fast recovery cwnd shrinks by what an ACK shows to be lost, before more is sent. The sample of that ACK came before.
    fn on_lost(&mut self, packet: &LostPacket) {
        let lost = packet.end - packet.start;
        self.newly_lost += lost;
        if self.is_fast {
            let least = if self.conserve_until.is_some() { self.conserved() } else { self.cwnd.mss };
            self.cwnd.bytes = self.cwnd.bytes.saturating_sub(lost).max(least);
            self.bound_cwnd();
        }
    }

    /// §4.3.4.4.
    fn on_idle_end(&mut self, now: Time) {
        self.idle_restart = true;
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.from = now;
        }
        if matches!(self.state, State::ProbeBw { .. }) {
            self.pace.set(self.bandwidth.max(), self.pipe_full.full);
        }
    }

    /// §4.3.5: rates in ProbeRTT say nothing of the path.
    fn holds_back(&self) -> bool {
        self.in_probe_rtt()
    }
}

#[cfg(test)]
mod tests;
