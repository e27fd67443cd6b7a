//! The sending half: what may be sent next, and when to try again. How it reacts to ACKs is in `recovery`.

use crate::packet::{Segment, flags};
use crate::tcp::clock::Clock;
use crate::tcp::congestion::{self, CongestionControl};
use crate::tcp::ecn::Feedback;
use crate::tcp::options::CwndValidation;
use crate::tcp::pacing::{self, Pacer};
use crate::tcp::prr::Prr;
use crate::tcp::rack::Rack;
use crate::tcp::rate::RateSampler;
use crate::tcp::recovery::{Forward, Probe, Timer, Undo};
use crate::tcp::rtt::RttEstimator;
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::sent_log::SentLog;
use crate::tcp::seq::wrap;
use crate::tcp::stall::Room;
use crate::tcp::validation::Validation;
use crate::tcp::{Pacing, RecoveryKind, Stats, TcpConfig};
use crate::time::{Duration, Time};
use crate::units::Rate;
use std::collections::VecDeque;

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
    limited_transmit: bool,
    nagle: bool,
    /// Partial segments wait, whatever Nagle says (tcp(7), TCP_CORK; without its ceiling of 200 ms).
    cork: bool,
    restart_after_idle: bool,
    pub(super) validation: Option<Validation>,
    /// One past the last byte written (offset 1 is the first byte).
    end: u64,
    /// Where each write that is not wholly acknowledged ends.
    writes: VecDeque<u64>,
    closed: bool,
    send_buffer: u64,
    /// Right edge of the peer's window, the segment that set it (RFC 9293's SND.WL1, SND.WL2), and the largest window seen.
    pub(super) edge: u64,
    pub(super) wl: (u32, u64),
    pub(super) max_rwnd: u64,
    pub(super) shift: u8,
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
    pub(super) rack: Rack,
    pub(super) tail: Probe,
    pub(super) timer: Timer,
    /// When the retransmission timer would go off, were the timer not set for something earlier.
    pub(super) rto_at: Time,
    /// F-RTO, while it waits for the ACKs that decide.
    pub(super) use_frto: bool,
    pub(super) forward: Option<Forward>,
    /// The last reduction, while it can still prove needless.
    pub(super) use_undo: bool,
    pub(super) undo: Option<Undo>,
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
    last_sent: Time,
    pacer: Pacer,
    /// Percent of cwnd / srtt that a window-based control is paced at, in slow start and in congestion avoidance.
    pacing_ratios: [u32; 2],
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

/// RFC 6298 §2 with the bounds of the stack: G is the clock's tick, at least 1 ms.
fn estimator(config: &TcpConfig) -> RttEstimator {
    let granularity = config.slow_timer.max(Duration::from_millis(1));
    let (min, granularity) =
        if config.rto_min_of_variance { (Duration::ZERO, granularity.max(config.rto_min)) } else { (config.rto_min, granularity) };
    RttEstimator::new(config.rto_initial, min, config.rto_max, granularity)
}

fn validation(config: &TcpConfig) -> Option<Validation> {
    (config.cwnd_validation == CwndValidation::Rfc7661).then(|| Validation::new(u64::from(config.mss) * u64::from(config.initial_window)))
}

impl Sender {
    pub fn new(config: &TcpConfig, iss: u32, phase: Duration) -> Self {
        let control = congestion::build(config);
        Sender {
            iss,
            board: Scoreboard::default(),
            kind: if control.starts_over() { RecoveryKind::Tahoe } else { config.recovery },
            rate: control.wants_rate().then(Box::default),
            control,
            rtt: estimator(config),
            stats: Stats::default(),
            mss: u64::from(config.mss),
            payload_max: u64::from(config.mss),
            ecn: Feedback::new(congestion::ecn_use(config)),
            threshold: config.dupack_threshold,
            use_prr: config.prr,
            limited_transmit: config.limited_transmit,
            nagle: config.nagle,
            cork: false,
            restart_after_idle: config.cwnd_validation == CwndValidation::Rfc5681,
            validation: validation(config),
            end: 1,
            writes: VecDeque::new(),
            closed: false,
            send_buffer: config.send_buffer,
            edge: 0,
            wl: (0, 0),
            max_rwnd: 0,
            shift: 0,
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
            rack: Rack::default(),
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
            last_sent: Time::ZERO,
            pacer: Pacer::new(config.pacing),
            pacing_ratios: [config.pacing_ss_ratio, config.pacing_ca_ratio],
            cwnd_round: None,
            cwr_pending: false,
            cwr_until: 0,
            room: Room::Yes,
            stalled_until: 0,
            round: 0,
            round_end: 0,
        }
    }

    /// The other side takes no more than `mss` bytes in a segment.
    pub fn agree_mss(&mut self, config: &TcpConfig, mss: u64) {
        self.mss = mss;
        let config = TcpConfig { mss: mss as u32, ..config.clone() };
        self.control = congestion::build(&config);
        self.validation = validation(&config);
    }

    pub fn write(&mut self, bytes: u64) {
        self.check_app_limited();
        self.end = self.end.saturating_add(bytes).min(u64::MAX / 2);
        let una = self.board.una();
        while self.writes.front().is_some_and(|end| *end <= una) {
            self.writes.pop_front();
        }
        if self.writes.back() != Some(&self.end) {
            self.writes.push_back(self.end);
        }
    }

    pub fn set_nagle(&mut self, on: bool) {
        self.nagle = on;
    }

    pub fn set_cork(&mut self, on: bool) {
        self.cork = on;
    }

    /// Bytes written and not acknowledged, and those of them not sent yet.
    pub fn unacked(&self) -> (u64, u64) {
        (self.end.saturating_sub(self.board.una().max(1)), self.end.saturating_sub(self.board.max().max(1)))
    }

    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The application stops: what was written and not yet sent is forgotten, and the FIN follows what was.
    pub fn stop(&mut self) {
        if !self.closed {
            self.end = self.end.min(self.board.max().max(1));
            self.closed = true;
        }
    }

    /// End of the stream in sequence space: the data, and the FIN once closed.
    fn stream_end(&self) -> u64 {
        self.end + u64::from(self.closed)
    }

    /// One past what the application has been able to write so far.
    pub(super) fn end_of_buffered(&self) -> u64 {
        self.stream_end().min(self.board.una().saturating_add(self.send_buffer))
    }

    /// Whether all that was written (and the FIN, if closed) is acknowledged.
    pub fn all_acked(&self) -> bool {
        self.board.una() >= self.stream_end()
    }

    /// Whether the FIN has been sent, and whether it has been acknowledged.
    pub fn fin(&self) -> (bool, bool) {
        (self.closed && self.board.max() > self.end, self.closed && self.board.una() > self.end)
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

    /// Whether a closed window is being probed.
    #[inline]
    pub fn is_probing(&self) -> bool {
        self.persist.is_some()
    }

    /// The peer's window, as far as known.
    pub fn rwnd(&self) -> u64 {
        self.edge.saturating_sub(self.board.una())
    }

    /// The next transmission allowed now. It is counted as sent.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<Range> {
        if self.probe {
            return Some(self.window_probe(now));
        }
        if self.pacer.holds(now) {
            self.limit = self.limit_when_paced();
            if self.limit == Limit::Rwnd {
                // A window that closed meanwhile is probed, whatever pacing says.
                self.arm_persist(now);
            }
            return None;
        }
        if self.tail.due {
            return self.tail_probe(now);
        }
        let pipe = self.board.pipe();
        let mut window = self.window();
        match self.forward {
            Some(Forward::Second { allowed }) => return self.next_forward(now, allowed),
            Some(Forward::First { end }) if end > 0 => {
                // One segment is all that cwnd allows after a timeout.
                self.limit = Limit::Cwnd;
                return None;
            }
            _ => {}
        }
        if self.phase == Phase::Recovery || self.phase == Phase::Loss || self.force {
            if let Some(range) = self.next_repair(now, pipe, window) {
                return Some(range);
            }
            if self.limit == Limit::Cwnd {
                return None;
            }
        } else if self.duplicates > 0 {
            if !self.limited_transmit {
                window = window.saturating_sub(self.board.sacked_bytes());
            } else if !self.kind.is_selective() {
                // RFC 3042: on the first two duplicate ACKs, up to cwnd + 2 SMSS may be outstanding.
                window += u64::from(self.duplicates.min(2)) * self.mss;
            }
        }
        let new = self.next_new(now, pipe, window);
        if new.is_none() && self.phase == Phase::Recovery && self.limit != Limit::Cwnd && self.kind == RecoveryKind::Sack {
            return self.next_speculative(now, pipe, window);
        }
        new
    }

    /// While pacing holds the sender back: what would keep it from sending if pacing did not.
    fn limit_when_paced(&self) -> Limit {
        if self.force || self.tail.due {
            // Neither heeds the window.
            Limit::Pacing
        } else if self.board.pipe() + self.payload_max > self.window() {
            Limit::Cwnd
        } else if self.board.has_lost() {
            Limit::Pacing
        } else if self.board.max() >= self.end_of_buffered() {
            Limit::Application
        } else if self.board.max() >= self.edge {
            Limit::Rwnd
        } else {
            Limit::Pacing
        }
    }

    /// Whether cwnd keeps the sender from sending more. Between two bursts of a paced sender that is told from this round and the
    /// one before: a window used up once a round is the limit, whatever spaces the segments within it.
    #[inline]
    pub(super) fn cwnd_limited(&mut self) -> bool {
        match self.limit {
            Limit::Cwnd => {
                self.cwnd_round = Some(self.round);
                true
            }
            Limit::Pacing => self.cwnd_round.is_some_and(|last| self.round <= last + 1),
            Limit::Rwnd | Limit::Application => false,
        }
    }

    /// Lost data, oldest first. Sets `limit` to Cwnd where only the window forbids it.
    fn next_repair(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        self.limit = Limit::Application;
        if self.force && !self.kind.is_selective() {
            if !self.may_transmit() {
                return None;
            }
            self.force = false;
            let start = self.board.una();
            let range = Range { start, end: (start + self.payload_max).min(self.board.max()), again: true };
            if self.board.next_lost(self.payload_max) == Some((start, range.end)) {
                self.board.retransmitted(start, range.end);
            }
            return (range.end > start).then(|| self.count_repair(now, range));
        }
        let (start, end) = self.board.next_lost(self.payload_max)?;
        if !self.force && pipe + (end - start) > window {
            self.limit = Limit::Cwnd;
            return None;
        }
        if !self.may_transmit() {
            return None;
        }
        self.force = false;
        self.board.retransmitted(start, end);
        Some(self.count_repair(now, Range { start, end, again: true }))
    }

    /// Something lost goes again.
    fn count_repair(&mut self, now: Time, range: Range) -> Range {
        if let Some(validation) = &mut self.validation {
            validation.repaired(range.end - range.start);
        }
        self.count(now, range)
    }

    /// New data, as far as the windows, the buffer and the silly-window rules allow.
    #[inline]
    pub(super) fn next_new(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        let start = self.board.max();
        let una = self.board.una();
        let left = self.end.saturating_sub(start);
        // What the application has been able to write so far.
        let buffered = left.min(una.saturating_add(self.send_buffer).saturating_sub(start));
        let payload = buffered.min(self.payload_max).min(self.edge.saturating_sub(start));
        // The FIN takes a place in the window like any octet.
        let fin = self.closed && start + payload == self.end && start + payload < self.edge;
        let len = payload + u64::from(fin);
        if len == 0 || start > self.end {
            self.limit = if start < self.stream_end() { Limit::Rwnd } else { Limit::Application };
            if self.limit == Limit::Rwnd {
                self.arm_persist(now);
            }
            return None;
        }
        let idle = una == start;
        if idle && self.rate.as_ref().is_some_and(|rate| rate.is_app_limited()) {
            self.control.on_idle_end(now);
        }
        if idle && self.restart_after_idle && start > 1 && now.since(self.last_sent) > self.rtt.rto() {
            // RFC 5681 §4.1.
            self.control.on_restart(now.since(self.last_sent));
            self.last_sent = now;
        }
        if idle {
            self.validate(now);
        }
        // RFC 9293 §3.8.6.2.1: a full segment; or all there is, subject to Nagle; or half the largest window.
        let last = payload == buffered;
        let nagle_permits = (!self.nagle || idle) && !self.cork || (self.closed && payload == left);
        if !(payload == self.payload_max || fin || (last && nagle_permits) || (payload > 0 && 2 * payload >= self.max_rwnd)) {
            self.limit = if last { Limit::Application } else { Limit::Rwnd };
            if !last {
                self.arm_persist(now);
            }
            return None;
        }
        if pipe + len > window && !(fin && pipe + payload <= window) {
            self.limit = Limit::Cwnd;
            return None;
        }
        if !self.may_transmit() {
            // The host is the limit: cwnd must not grow for it.
            self.limit = Limit::Application;
            return None;
        }
        let end = start + len;
        self.board.sent_new(len);
        self.log.sent(start, end, now);
        if self.timed.is_none() && !self.clock.is_exact() {
            self.timed = Some((end, self.clock.ticks(now)));
        }
        Some(self.count(now, Range { start, end, again: false }))
    }

    /// RFC 6675 §4, NextSeg rules 3 and 4: with nothing lost and nothing new to send, a hole that may be lost; then, once a
    /// recovery, the last segment, so that ACKs keep coming.
    fn next_speculative(&mut self, now: Time, pipe: u64, window: u64) -> Option<Range> {
        if pipe + self.payload_max > window {
            return None;
        }
        if let Some((start, end)) = self.board.next_hole(self.payload_max) {
            if !self.may_transmit() {
                return None;
            }
            self.board.retransmitted(start, end);
            return Some(self.count(now, Range { start, end, again: true }));
        }
        if self.rescued || self.board.retransmitted_until() >= self.board.max() {
            return None;
        }
        // Departs from rule 4 where the highest outstanding byte is SACKed: the ACK clock then needs no rescue, and the highest
        // hole has been sent again already by rule 1 or 3.
        let (start, end) = self.board.last_segment(self.payload_max)?;
        if !self.may_transmit() {
            return None;
        }
        self.rescued = true;
        Some(self.count(now, Range { start, end, again: true }))
    }

    /// Bookkeeping common to every transmission.
    #[inline]
    pub(super) fn count(&mut self, now: Time, range: Range) -> Range {
        let len = range.end - range.start;
        let payload = range.end.min(self.end.max(range.start)) - range.start;
        self.stats.bytes_sent += payload;
        self.stats.segments_sent += u64::from(payload > 0);
        if range.again {
            self.stats.bytes_retransmitted += payload;
            self.stats.segments_retransmitted += 1;
            self.timed = None;
            if self.kind == RecoveryKind::Rack {
                self.rack.again.sent(range.start, range.end, self.board.max(), now);
            } else {
                self.log.sent_again(range.end);
            }
            if let Some(Forward::First { end: end @ 0 }) = &mut self.forward {
                *end = range.end;
            }
            if let Some(undo) = &mut self.undo {
                undo.sent(len, self.timestamp_clock.map(|clock| clock.ticks(now) as u32));
            }
        }
        if let Some(prr) = &mut self.prr {
            prr.sent(len);
        }
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.board.outstanding());
        self.last_sent = now;
        // RFC 6298 §5.1.
        if self.deadline == Time::MAX {
            self.arm_rto(now);
        }
        if self.kind == RecoveryKind::Rack && self.persist.is_none() {
            self.set_timer(now);
        }
        if let Some(rate) = &mut self.rate {
            rate.sent(now, range.start, range.end, range.again, self.board.pipe());
        }
        if let Some(rate) = self.pacing_rate() {
            self.pacer.sent(now, payload, rate, self.mss);
        }
        range
    }

    /// The rate to space segments at, if any (of payload).
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        let own = self.control.pacing_rate();
        match self.pacer.mode {
            Pacing::Auto => own,
            Pacing::Off => None,
            Pacing::On => own.or_else(|| {
                let slow_start = self.control.cwnd() < self.control.ssthresh();
                let [ss, ca] = self.pacing_ratios;
                Some(pacing::window_rate(self.window(), self.rtt.srtt(), if slow_start { ss } else { ca }))
            }),
        }
    }

    /// The TCP header of `range`, without what the receiver half stamps on it.
    #[inline]
    pub fn segment(&mut self, range: Range) -> Segment {
        let payload = range.end.min(self.end.max(range.start)) - range.start;
        let mut segment = Segment::new(wrap(self.iss, range.start), 0, payload as u16);
        if range.end > self.end {
            segment.flags |= flags::FIN;
        }
        // RFC 9293 §3.9.1.2: without a PUSH of its own, an interface sets the flag on the last segment of what was written.
        if payload > 0 && self.writes.binary_search(&(range.start + payload)).is_ok() {
            segment.flags |= flags::PSH;
        }
        // RFC 3168 §6.1.2: on new data; §6.1.6: not on a window probe.
        if self.cwr_pending && !range.again && payload > 0 && self.persist.is_none() {
            segment.flags |= flags::CWR;
            self.cwr_pending = false;
        }
        segment
    }

    /// The SYN's round trip.
    pub fn handshake_rtt(&mut self, rtt: Duration, now: Time) {
        if self.clock.is_exact() {
            self.rtt.sample(rtt);
        } else {
            let start = Time::from_ps(now.as_ps() - rtt.as_ps());
            self.rtt.sample(self.clock.span(self.clock.ticks(now) - self.clock.ticks(start)));
        }
    }

    pub fn arm_rto(&mut self, now: Time) {
        self.deadline = self.clock.deadline(now, self.rtt.rto());
        self.rto_at = self.deadline;
        self.timer = Timer::Retransmission;
    }

    /// The peer's window keeps us from sending and nothing is in flight: ask again later (RFC 9293 §3.8.6.1).
    fn arm_persist(&mut self, now: Time) {
        if self.board.outstanding() == 0 && self.persist.is_none() && self.board.max() >= 1 {
            // The send buffer alone cannot be the cause: with nothing outstanding it is empty.
            self.persist = Some(0);
            self.deadline = self.clock.deadline(now, self.persist_delay(0));
        }
    }

    fn persist_delay(&self, probes: u32) -> Duration {
        self.rtt.rto().saturating_mul(1 << probes.min(16)).min(Duration::from_secs(60))
    }

    /// The timer went off while probing.
    pub fn persist_timeout(&mut self, now: Time, probes: u32) {
        self.probe = true;
        self.persist = Some(probes + 1);
        self.deadline = self.clock.deadline(now, self.persist_delay(probes + 1));
    }

    /// At least one byte, more if the window has room that silly-window avoidance held back.
    fn window_probe(&mut self, now: Time) -> Range {
        self.probe = false;
        let start = self.board.una();
        let again = self.board.max() > start;
        if !again {
            let room = self.edge.saturating_sub(start).max(1);
            let len = room.min(self.payload_max).min(self.send_buffer).min(self.stream_end() - start);
            self.board.sent_new(len);
            self.log.sent(start, start + len, now);
        }
        let end = self.board.max().min(start + self.payload_max);
        self.count(now, Range { start, end, again })
    }

    /// When pacing lets the next segment go, if that is what holds it.
    pub fn paced_until(&self, now: Time) -> Time {
        if self.limit == Limit::Pacing && self.pacer.next() > now { self.pacer.next() } else { Time::MAX }
    }
}
