//! The sending half: what it knows. What may be sent next is in `transmit`; how it reacts to ACKs is in `recovery`.

mod buffer;
mod stream;
mod timers;
mod transmit;

use crate::CwndValidation;
use crate::clock::Clock;
use crate::congestion::{self, CongestionControl};
use crate::ecn::Feedback;
use crate::pacing::{Paced, Pacer};
use crate::peer_window::PeerWindow;
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rate::RateSampler;
use crate::recovery::{Forward, Probe, Timer, Undo};
use crate::rtt::{RttEstimator, Rules};
use crate::scoreboard::Scoreboard;
use crate::sent_log::SentLog;
use crate::stall::Room;
use crate::validation::Validation;
use crate::window_sizing::SendState;
use crate::{RecoveryKind, Stats, TcpConfig};
use buffer::SendBuffer;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use stream::Stream;

/// Where the sender is in repairing losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a timeout (or under Tahoe): everything outstanding is sent again, in slow start, until `recover` is acknowledged.
    Loss,
}

/// What kept the sender from sending more when it last tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    Cwnd,
    Rwnd,
    Application,
    Pacing,
}

/// One transmission: offsets `start..end` of the stream (data, and the FIN as its last octet).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub start: u64,
    pub end: u64,
    /// Whether it was sent before.
    pub again: bool,
}

#[derive(Debug)]
pub(super) struct Sender {
    pub(super) iss: u32,
    pub(super) board: Scoreboard,
    pub(super) control: Box<dyn CongestionControl + Send>,
    pub(super) rtt: RttEstimator,
    pub(super) stats: Stats,
    pub(super) mss: u64,
    /// `mss` less the options that the next segment carries.
    pub(super) payload_max: u64,
    /// What the ACKs tell of ECN marks.
    pub(super) ecn: Feedback,
    pub(super) kind: RecoveryKind,
    pub(super) threshold: u32,
    pub(super) use_prr: bool,
    pub(super) repeated_fast_retransmit: bool,
    pub(super) halve_each_timeout: bool,
    limited_transmit: bool,
    restart_after_idle: bool,
    pub(super) validation: Option<Box<Validation>>,
    pub(super) stream: Stream,
    pub(super) buffer: SendBuffer,
    pub(super) peer: PeerWindow,
    pub(super) phase: Phase,
    /// Fast recovery and Loss end when this is acknowledged (RFC 6582 and 6675: recover, RecoveryPoint).
    pub(super) recover: u64,
    /// Without SACK: no fast retransmit while the left edge is below this (RFC 6582 §3.2 step 1).
    pub(super) no_fast_retransmit_below: u64,
    pub(super) duplicates: u32,
    /// Reno's artificial window: segments that have left the network (RFC 5681 §3.2).
    pub(super) inflation: i64,
    pub(super) prr: Option<Prr>,
    /// The window during a SACK recovery.
    pub(super) recovery_window: u64,
    /// The first segment must be retransmitted whatever the window says.
    pub(super) force: bool,
    /// RFC 6675 §4 rule 4: already rescued in this recovery.
    pub(super) rescued: bool,
    pub(super) partial_acks: u32,
    pub(super) limit: Limit,
    pub(super) log: SentLog,
    /// Loss detection by time, the tail loss probe, and what the one timer of both is for: with `RecoveryKind::Rack` only.
    pub(super) rack: Option<Box<Rack>>,
    pub(super) use_tail_probe: bool,
    pub(super) tail: Probe,
    pub(super) timer: Timer,
    /// When the retransmission timer would go off, were the timer not set for something earlier.
    pub(super) rto_at: Time,
    /// F-RTO, while it waits for the ACKs that decide.
    pub(super) use_frto: bool,
    pub(super) forward: Option<Forward>,
    /// The last reduction, while it can still prove needless.
    pub(super) use_undo: bool,
    pub(super) undo: Option<Box<Undo>>,
    /// The next sample for the estimator is of data beyond this.
    pub(super) sampled_until: u64,
    /// Without timestamps on a ticking clock, one segment at a time is timed: (end offset, tick).
    pub(super) timed: Option<(u64, u64)>,
    pub(super) clock: Clock,
    pub(super) timestamp_clock: Option<Clock>,
    pub(super) deadline: Time,
    /// Probing a closed window: how many probes went unanswered.
    pub(super) persist: Option<u32>,
    probe: bool,
    /// `una` at the last timeout: the same again means no progress.
    pub(super) timeout_una: Option<u64>,
    /// Since when nothing has answered what is sent again, or a window probe, and the left edge then.
    unanswered: (u64, Time),
    last_sent: Time,
    pub(super) pacer: Pacer,
    /// The last round in which cwnd was the limit.
    cwnd_round: Option<u64>,
    /// For a control that wants rates.
    pub(super) rate: Option<Box<RateSampler>>,
    /// An ECN reduction is answered with CWR on the next new segment, and none more until this is acknowledged.
    pub(super) cwr_pending: bool,
    pub(super) cwr_until: u64,
    /// Whether the host's interface takes another segment; no second reduction for it before this is acknowledged.
    pub(super) room: Room,
    pub(super) stalled_until: u64,
    /// Round trips counted in packets; the current one ends when something beyond `round_end` is acknowledged.
    pub(super) round: u64,
    pub(super) round_end: u64,
}

/// RFC 6298 §2 with the bounds of the stack: G is the clock's tick; of an exact clock, 1 ms.
fn estimator(config: &TcpConfig) -> RttEstimator {
    let granularity = if config.slow_timer.is_zero() { Duration::from_millis(1) } else { config.slow_timer };
    let (min, granularity) =
        if config.rto_min_of_variance { (Duration::ZERO, granularity.max(config.rto_min)) } else { (config.rto_min, granularity) };
    let (variances, doublings) = (config.rto_variances, config.rto_doublings);
    RttEstimator::new(Rules { initial: config.rto_initial, min, max: config.rto_max, granularity, variances, doublings })
}

fn rack(kind: RecoveryKind) -> Option<Box<Rack>> {
    (kind == RecoveryKind::Rack).then(Box::default)
}

fn validation(config: &TcpConfig) -> Option<Box<Validation>> {
    (config.cwnd_validation == CwndValidation::Rfc7661)
        .then(|| Box::new(Validation::new(u64::from(config.mss) * u64::from(config.initial_window))))
}

impl Sender {
    pub fn new(config: &TcpConfig, iss: u32, phase: Duration) -> Self {
        let control = congestion::build(config);
        let kind = if control.starts_over() { RecoveryKind::Tahoe } else { config.recovery };
        Sender {
            iss,
            board: Scoreboard::default(),
            kind,
            rate: control.wants_rate().then(Box::default),
            control,
            rtt: estimator(config),
            stats: Stats::default(),
            mss: u64::from(config.mss),
            payload_max: u64::from(config.mss),
            ecn: Feedback::new(congestion::ecn_use(config)),
            threshold: config.dupack_threshold,
            use_prr: config.prr,
            repeated_fast_retransmit: config.repeated_fast_retransmit,
            halve_each_timeout: config.halve_each_timeout,
            limited_transmit: config.limited_transmit,
            restart_after_idle: config.cwnd_validation == CwndValidation::Rfc5681,
            validation: validation(config),
            stream: Stream::new(config.nagle),
            buffer: SendBuffer::new(config),
            peer: PeerWindow::default(),
            phase: Phase::Open,
            recover: 0,
            no_fast_retransmit_below: 0,
            duplicates: 0,
            inflation: 0,
            prr: None,
            recovery_window: 0,
            force: false,
            rescued: false,
            partial_acks: 0,
            limit: Limit::Application,
            log: SentLog::default(),
            rack: rack(kind),
            use_tail_probe: config.tail_probe,
            tail: Probe::default(),
            timer: Timer::Retransmission,
            rto_at: Time::MAX,
            use_frto: config.frto,
            forward: None,
            use_undo: config.undo,
            undo: None,
            sampled_until: 0,
            timed: None,
            clock: Clock::new(config.slow_timer, phase),
            timestamp_clock: config.timestamps.then(|| Clock::new(config.timestamp_tick, phase)),
            deadline: Time::MAX,
            persist: None,
            probe: false,
            timeout_una: None,
            unanswered: (0, Time::ZERO),
            last_sent: Time::ZERO,
            pacer: Pacer::new(config),
            cwnd_round: None,
            cwr_pending: false,
            cwr_until: 0,
            room: Room::Yes,
            stalled_until: 0,
            round: 0,
            round_end: 0,
        }
    }

    /// Losses are repaired like this; none has been.
    fn repair_by(&mut self, kind: RecoveryKind) {
        (self.kind, self.rack) = (kind, rack(kind));
    }

    /// The handshake begins anew, with a SYN yet to come.
    pub fn listen_again(&mut self, config: &TcpConfig) {
        self.board = Scoreboard::default();
        self.rtt = estimator(config);
        self.repair_by(if self.control.starts_over() { RecoveryKind::Tahoe } else { config.recovery });
        self.ecn = Feedback::new(congestion::ecn_use(config));
        self.deadline = Time::MAX;
    }

    /// The other side takes no more than `mss` bytes in a segment.
    fn agree_mss(&mut self, config: &TcpConfig, mss: u64) {
        self.mss = mss;
        let config = TcpConfig { mss: mss as u32, ..config.clone() };
        self.control = congestion::build(&config);
        self.validation = validation(&config);
        self.buffer.start_over(&config);
    }

    /// Another control; nothing but the SYN has been sent.
    pub fn replace_control(&mut self, config: &TcpConfig) {
        let config = TcpConfig { mss: self.mss as u32, ..config.clone() };
        self.control = congestion::build(&config);
        self.rate = self.control.wants_rate().then(Box::default);
        self.ecn.set_uses(congestion::ecn_use(&config));
        if self.control.starts_over() {
            self.repair_by(RecoveryKind::Tahoe);
        }
    }

    pub fn write(&mut self, bytes: u64) {
        self.check_app_limited();
        self.stream.write(bytes, self.board.una());
    }

    /// Bytes written and not acknowledged, and those of them not sent yet.
    pub fn unacked(&self) -> (u64, u64) {
        (self.stream.beyond(self.board.una()), self.stream.beyond(self.board.max()))
    }

    /// The application stops: what was written and not yet sent is forgotten, and the FIN follows what was.
    pub fn stop(&mut self) {
        self.stream.stop(self.board.max());
    }

    /// One past what the application has been able to write so far.
    pub(super) fn end_of_buffered(&self) -> u64 {
        self.stream.end().min(self.buffered_until())
    }

    /// Up to where the send buffer reaches.
    fn buffered_until(&self) -> u64 {
        self.board.una().saturating_add(self.buffer.size())
    }

    /// Whether all that was written (and the FIN, if closed) is acknowledged.
    pub fn all_acked(&self) -> bool {
        self.board.una() >= self.stream.end()
    }

    /// Whether the FIN has been sent, and whether it has been acknowledged.
    pub fn fin(&self) -> (bool, bool) {
        (self.stream.fin_is_below(self.board.max()), self.stream.fin_is_below(self.board.una()))
    }

    /// The window the sender keeps to: the control's, or that of the recovery under way.
    #[inline]
    pub fn window(&self) -> u64 {
        if self.phase == Phase::Recovery && self.kind.is_selective() {
            // PRR counts bytes: what a short segment delivered need not make room for a whole one. One segment may always be
            // in flight (the loss window of RFC 5681 §3.1), or a recovery whose pipe is empty would wait for the timer.
            self.recovery_window.max(self.mss)
        } else {
            self.control.cwnd().saturating_add_signed(self.inflation).max(self.mss)
        }
    }

    /// The rate to space segments at, if any (of payload).
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        let is_unused = || self.validation.as_ref().is_some_and(|validation| validation.is_unused());
        self.pacer.rate(self.control.pacing_rate(), is_unused, || Paced {
            window: self.window(),
            srtt: self.rtt.srtt(),
            slow_start: self.control.cwnd() < self.control.ssthresh(),
        })
    }

    /// Whether a closed window is being probed.
    #[inline]
    pub fn is_probing(&self) -> bool {
        self.persist.is_some()
    }

    /// The peer's window, as far as known.
    pub fn rwnd(&self) -> u64 {
        self.peer.edge.saturating_sub(self.board.una())
    }

    /// The SYNs have agreed on segments of `mss` bytes and on SACK or not, and have told of the first window.
    pub fn agree(&mut self, config: &TcpConfig, mss: u32, sack: bool, peer: PeerWindow) {
        if self.kind.is_selective() && !sack {
            self.repair_by(RecoveryKind::NewReno);
        }
        if u64::from(mss) != self.mss {
            // The control counts in segments of the size agreed, not of the size we offered.
            self.agree_mss(config, mss.into());
        }
        self.peer = peer;
    }

    /// The SYN was acknowledged, at `now`; after `rtt`, unless it was sent more than once.
    pub fn establish(&mut self, config: &TcpConfig, now: Time, rtt: Option<Duration>, timestamps: bool) {
        self.board.acknowledge(1);
        self.deadline = Time::MAX;
        self.timestamp_clock = self.timestamp_clock.filter(|_| timestamps);
        match rtt {
            Some(rtt) => self.handshake_rtt(rtt, now),
            None => {
                self.rtt.after_syn_loss(config.rto_after_syn_loss);
                self.control.on_syn_loss();
            }
        }
        self.established(now, rtt);
    }

    /// The window with which data begins is of `rwnd` bytes.
    pub fn heed_first_window(&mut self, config: &TcpConfig, rwnd: u32) {
        if config.ssthresh_half_rwnd {
            self.control.on_first_window(rwnd.into());
        }
    }

    /// The state may have changed: sizes the send buffer.
    #[inline]
    pub(crate) fn size_buffer(&mut self, now: Time) {
        if self.buffer.is_sized() {
            self.follow_window(now);
        }
    }

    #[inline(never)]
    fn follow_window(&mut self, now: Time) {
        let cwnd = self.window();
        self.buffer.follow(&SendState {
            now,
            cwnd,
            ssthresh: self.control.ssthresh(),
            needed: self.board.outstanding() + cwnd.saturating_sub(self.board.pipe()),
            rwnd: self.rwnd(),
            una: self.board.una(),
            mss: self.mss,
            round: self.round,
            srtt: self.rtt.srtt(),
        });
    }

    /// The SYN's round trip.
    fn handshake_rtt(&mut self, rtt: Duration, now: Time) {
        if self.clock.is_exact() {
            self.rtt.sample(rtt);
        } else {
            let start = Time::from_ps(now.as_ps() - rtt.as_ps());
            self.rtt.sample(self.clock.span(self.clock.ticks(now) - self.clock.ticks(start)));
        }
    }
}
