//! How the sender reacts: to ACKs, duplicate ACKs, SACKs, ECN echoes and the retransmission timer.

mod by_time;
mod measure;
mod spurious;
mod timeout;

pub(super) use by_time::{Probe, Timer};
pub(super) use spurious::{Forward, Undo};

use crate::RecoveryKind;
use crate::congestion::{AckSample, Congestion, CongestionEvent};
use crate::ecn::Marks;
use crate::prr::Prr;
use crate::sender::{Phase, Sender};
use crate::seq::unwrap;
use longfat_core::packet::{Segment, flags};
use longfat_core::time::{Duration, Time};

/// What an ACK that is taken in brings.
struct News {
    ack: u64,
    /// Of the stream, what had been delivered before, below the left edge or SACKed; and how many bytes this ACK adds.
    delivered_before: u64,
    delivered: u64,
    /// RFC 6675's pipe before it.
    in_flight: u64,
    /// The round trip of what it SACKs.
    rtt: Option<Duration>,
    marks: Marks,
}

impl Sender {
    /// Takes in the ACK side of a segment. Whether it is refused: it acknowledges what was never sent, or is too old.
    pub fn handle_ack(&mut self, now: Time, segment: &Segment) -> bool {
        let una = self.board.una();
        let ack = unwrap(self.iss, una, segment.ack);
        if ack > self.board.max() {
            // RFC 9293 §3.10.7.4.
            return true;
        }
        if ack < una {
            // RFC 5961 §5.2: older than anything that can still be on its way (MAX.SND.WND).
            return ack.saturating_add(self.peer.max()) < una;
        }
        self.check_app_limited();
        if self.awaits_nothing(segment) {
            self.update_window(now, segment, ack);
            if self.ecn.is_on() && self.ecn.take(segment, 0, self.mss).any {
                let flight_size = self.flight_size();
                self.echo_of_congestion(now, ack, flight_size);
            }
            return false;
        }
        let delivered_before = una + self.board.sacked_bytes();
        let in_flight = self.board.pipe();
        let selective = self.kind.is_selective() && segment.sack_count() > 0;
        let reported = if selective { self.duplicate_told(segment, ack) } else { None };
        if let Some(rack) = &mut self.rack {
            rack.begin();
        }
        let sacked = if selective { self.take_sacks(now, segment) } else { 0 };
        let rtt = self.board.highest_sacked().filter(|_| sacked > 0).and_then(|top| self.measure_sacked(now, top));
        let window_changed = self.update_window(now, segment, ack);
        let delivered = sacked + self.board.missing_below(ack);
        let marks = self.ecn.take(segment, delivered, self.mss);
        if self.undo.is_some() || self.forward.is_some() {
            self.judge_reduction(now, segment, ack, sacked, reported, marks.any);
        }
        if let Some(range) = reported.filter(|range| Some(range.1) != self.tail.end) {
            debug_assert!(range.0 < range.1);
            if let Some(rack) = &mut self.rack {
                rack.duplicate_reported(self.board.max());
            }
        }
        let news = News { ack, delivered_before, delivered, in_flight, rtt, marks };
        if ack > una {
            self.new_ack(now, segment, &news);
        } else {
            self.still_ack(now, segment, &news, window_changed);
        }
        if self.rack.is_some() {
            self.probe_answered(now, ack, ack > una, segment, reported);
            self.set_timer(now);
        }
        self.size_buffer(now);
        false
    }

    /// Whether there is nothing that `segment` could acknowledge or report: of a stream that only goes the other way, always.
    #[inline]
    fn awaits_nothing(&self, segment: &Segment) -> bool {
        self.board.outstanding() == 0
            && segment.sack_count() == 0
            && !(self.undo.is_some() || self.forward.is_some() || self.tail.end.is_some())
    }

    /// The left edge stands still.
    fn still_ack(&mut self, now: Time, segment: &Segment, news: &News, window_changed: bool) {
        let sacked = news.delivered;
        if sacked > 0 {
            let sample = self.sample(now, segment, news, 0, None);
            self.tell(&sample);
        }
        if news.marks.any {
            let flight_size = self.flight_size();
            self.echo_of_congestion(now, news.ack, flight_size);
        }
        if self.board.outstanding() > 0 && self.persist.is_none() {
            // RFC 6675 §2 counts ACKs that SACK something new; RFC 5681 §2 those that change nothing.
            let duplicate = match self.kind {
                RecoveryKind::Sack | RecoveryKind::Rack => sacked > 0,
                _ => segment.seq_len() == 0 && !window_changed,
            };
            if duplicate {
                self.duplicate_ack(now, news.delivered_before);
            }
        }
    }

    fn take_sacks(&mut self, now: Time, segment: &Segment) -> u64 {
        let una = self.board.una();
        let mut news = 0;
        let tells = self.tells_of_retransmission(now, None);
        for i in 0..segment.sack_count() {
            let (left, right) = segment.sack(i);
            let (left, right) = (unwrap(self.iss, una, left), unwrap(self.iss, una, right));
            // A duplicate report (RFC 2883) lies below the left edge or inside what is SACKed: it adds nothing.
            if left >= una && left < right && right <= self.board.max() {
                self.note_arrived(now, left, right);
                news += self.board.sack(left, right, |start, end| {
                    if let Some(rack) = &mut self.rack {
                        rack.arrived(now, start, end, &self.log, tells);
                    }
                });
            }
        }
        news
    }

    /// The other side's window may be another now. Whether it is.
    #[inline]
    fn update_window(&mut self, now: Time, segment: &Segment, ack: u64) -> bool {
        let before = self.peer.edge;
        if !self.peer.update(segment, ack) {
            return false;
        }
        if self.persist.is_some() {
            self.probe_was_answered();
            if self.peer.edge > self.board.una().max(ack) {
                self.window_opened(now, ack);
            }
        }
        self.peer.edge != before
    }

    /// The left edge moves.
    #[inline]
    fn new_ack(&mut self, now: Time, segment: &Segment, news: &News) {
        let &News { ack, delivered_before, marks, .. } = news;
        let una = self.board.una();
        let acked = ack - una;
        let flight_size = if marks.any { self.flight_size() } else { 0 };
        // That of what was sent last, where there are two.
        let rtt = self.measure(now, segment, ack).into_iter().chain(news.rtt).min();
        self.note_arrived(now, self.board.una(), ack);
        self.board.acknowledge(ack);
        self.duplicates = 0;
        self.timeout_una = None;
        if ack > self.round_end {
            self.round += 1;
            self.round_end = self.board.max();
        }
        if let Some(validation) = &mut self.validation
            && self.phase != Phase::Recovery
            && validation.is_new(self.round)
        {
            validation.round(now, self.round, ack, self.rtt.srtt());
            self.validate(now);
        }
        let sample = self.sample(now, segment, news, acked, rtt);
        self.tell(&sample);
        if marks.any {
            self.echo_of_congestion(now, una, flight_size);
        }
        let mut restart_timer = true;
        match self.phase {
            // RFC 3168 §6.1.2: an ACK that echoes a mark does not let the window grow.
            Phase::Open if self.ecn.is_classic() && segment.has(flags::ECE) => {}
            Phase::Open => self.control.on_ack(&sample),
            Phase::Loss => {
                self.control.on_ack(&sample);
                if ack >= self.recover {
                    self.phase = Phase::Open;
                    self.note_recovered();
                }
            }
            Phase::Recovery => restart_timer = self.ack_in_recovery(now, ack, acked, delivered_before),
        }
        if self.phase != Phase::Recovery && (self.board.has_sacked() || self.rack.as_ref().is_some_and(|rack| !rack.again.is_empty())) {
            self.look_for_losses(now, delivered_before);
        }
        if self.board.outstanding() == 0 {
            // RFC 6298 §5.2.
            self.deadline = Time::MAX;
            self.persist = None;
        } else if restart_timer && self.persist.is_none() {
            // RFC 6298 §5.3.
            self.arm_rto(now);
        }
    }

    /// What this ACK tells the control.
    #[inline]
    fn sample(&mut self, now: Time, segment: &Segment, news: &News, acked: u64, rtt: Option<Duration>) -> AckSample {
        // From when the newest data was sent, not from the echo: that is of the first segment the ACK answers (RFC 7323 §4.3), which
        // may have waited for the second, and as coarse as our own clock. The peer's clock is taken to tick as ours does.
        let forward_delay = match (segment.timestamps(), self.timestamp_clock, rtt) {
            (Some((val, _)), Some(clock), Some(rtt)) => {
                let sent = now.as_ps() - rtt.as_ps();
                let ticks = i64::from(val.wrapping_sub(clock.ticks(Time::from_ps(sent)) as u32) as i32);
                Some(ticks * clock.span(1).as_ps() as i64 - clock.since_tick(Time::from_ps(sent)).as_ps() as i64)
            }
            _ => None,
        };
        AckSample {
            now,
            acked,
            delivered: news.delivered,
            marked: news.marks.bytes,
            in_flight: news.in_flight,
            rtt,
            srtt: self.rtt.srtt(),
            rtt_min: self.stats.rtt_min,
            forward_delay,
            round: self.round,
            cwnd_limited: self.cwnd_limited(),
            after_timeout: self.phase == Phase::Loss,
            in_recovery: self.phase == Phase::Recovery,
            rate: self.rate_sample(now),
        }
    }

    /// A new ACK during fast recovery. Whether the retransmission timer restarts.
    fn ack_in_recovery(&mut self, now: Time, ack: u64, acked: u64, delivered_before: u64) -> bool {
        let ends = ack >= self.recover || self.kind == RecoveryKind::Reno;
        if ends {
            self.end_recovery();
            self.control.on_recovered(now);
            if let Some(validation) = &mut self.validation
                && let Some(to) = validation.recovered(self.control.ssthresh())
            {
                self.control.on_validation(to.cwnd, to.ssthresh);
            }
            return true;
        }
        match self.kind {
            RecoveryKind::Sack | RecoveryKind::Rack => {
                self.steer(now, delivered_before, true);
                true
            }
            _ => {
                // RFC 6582 §3.2 step 3, partial ACK: retransmit the next hole, deflate by what was acknowledged, add back one
                // segment; the timer restarts on the first partial ACK only.
                self.force = true;
                self.note_lost_head();
                self.inflation -= acked as i64;
                if acked >= self.mss {
                    self.inflation += self.mss as i64;
                }
                self.partial_acks += 1;
                self.partial_acks == 1
            }
        }
    }

    /// Whole: back to the control's own window, ssthresh (RFC 6582 §3.2 step 3, full ACK, option 2; RFC 9937 §6.3).
    fn end_recovery(&mut self) {
        // Without SACK, what still counts as lost here is the rest of a timeout's go-back-N that Reno's fast retransmit
        // interrupted: it goes on where it was.
        self.phase = if !self.kind.is_selective() && self.board.has_lost() { Phase::Loss } else { Phase::Open };
        self.inflation = 0;
        self.prr = None;
        self.force = false;
        self.note_recovered();
        self.stats.recoveries_ended += 1;
    }

    fn note_recovered(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.recovered();
        }
    }

    /// An ACK that moved nothing but says that a segment has left the network.
    fn duplicate_ack(&mut self, now: Time, delivered_before: u64) {
        self.duplicates += 1;
        match (self.phase, self.kind) {
            (Phase::Recovery, RecoveryKind::Sack | RecoveryKind::Rack) => self.steer(now, delivered_before, false),
            // RFC 5681 §3.2 step 4: one more segment has left.
            (Phase::Recovery, _) => self.inflation += self.mss as i64,
            (_, RecoveryKind::Sack | RecoveryKind::Rack) => self.look_for_losses(now, delivered_before),
            (_, kind) => {
                if self.duplicates != self.threshold {
                    return;
                }
                // RFC 6582 §3.2 step 1: not again for losses of the window already repaired. Reno had no such guard, nor Tahoe as BSD
                // had it.
                let guarded = kind != RecoveryKind::Reno && !self.repeated_fast_retransmit;
                if guarded && self.board.una() < self.no_fast_retransmit_below {
                    return;
                }
                self.enter_recovery(now, delivered_before);
            }
        }
    }

    /// Outside fast recovery, with SACK: RFC 6675 §5 steps 1 and 2.
    fn look_for_losses(&mut self, now: Time, delivered_before: u64) {
        if self.rack.is_some() {
            self.detect_losses(now);
            if self.phase == Phase::Open && self.board.has_lost() {
                self.enter_recovery(now, delivered_before);
            }
            return;
        }
        if self.phase == Phase::Loss {
            // Everything below `recover` is being sent again already.
            return;
        }
        self.board.update_lost(self.threshold, self.mss);
        self.note_losses();
        if self.board.has_lost() || self.duplicates >= self.threshold {
            self.enter_recovery(now, delivered_before);
        }
    }

    pub(super) fn flight_size(&self) -> u64 {
        // RFC 5681 §3.2 step 2: limited transmit does not count, and what cwnd allows is what the sender meant to send. After a
        // timeout most of what is outstanding is long lost, and cwnd says what is in flight: a timeout with some progress since
        // the last one then leaves a lower ssthresh than Eq. 4 would (an upper bound), as BSD's min(cwnd, rwnd) / 2 does.
        let flight = self.board.outstanding().min(self.control.cwnd().max(self.mss));
        self.validation.as_ref().map_or(flight, |v| v.basis(flight))
    }

    /// Looks after a window that is not used (RFC 7661).
    pub(super) fn validate(&mut self, now: Time) {
        let (cwnd, ssthresh) = (self.control.cwnd(), self.control.ssthresh());
        if let Some(validation) = &mut self.validation
            && let Some(to) = validation.look(now, self.rtt.srtt(), cwnd, ssthresh)
        {
            self.control.on_validation(to.cwnd, to.ssthresh);
        }
    }

    /// The window was reduced, from `flight_size`; what follows is a fast recovery or not.
    fn validated_by_congestion(&mut self, flight_size: u64, recovery: bool) {
        if let Some(validation) = &mut self.validation {
            validation.congestion(flight_size, recovery);
        }
    }

    fn enter_recovery(&mut self, now: Time, delivered_before: u64) {
        self.stats.fast_retransmits += 1;
        let flight_size = self.flight_size();
        self.recover = self.board.max();
        self.no_fast_retransmit_below = self.recover;
        self.timed = None;
        self.tail = Probe::default();
        self.reduced();
        self.validated_by_congestion(flight_size, self.kind != RecoveryKind::Tahoe);
        self.watch(false);
        if self.kind == RecoveryKind::Tahoe {
            // Fast retransmit, then slow start over all that is outstanding (Jacobson 1988; Fall and Floyd 1996 §2).
            self.control.on_congestion(&CongestionEvent { now, kind: Congestion::Timeout, flight_size });
            self.start_over(now);
            // It stands for a timeout, so a timeout of the same segment after it is the second: ssthresh stays (RFC 5681 §3.1).
            self.timeout_una = Some(self.board.una());
            self.arm_rto(now);
            return;
        }
        self.control.on_congestion(&CongestionEvent { now, kind: Congestion::Loss, flight_size });
        self.phase = Phase::Recovery;
        self.partial_acks = 0;
        if self.kind.is_selective() {
            if self.kind == RecoveryKind::Sack {
                self.board.mark_lost_until(self.board.una() + self.mss);
            }
            self.rescued = false;
            // Nothing forces a retransmission that is still on its way from the recovery before.
            self.force = self.kind == RecoveryKind::Rack || self.board.retransmitted_until() == self.board.una();
            self.prr = (self.use_prr && self.control.uses_prr()).then(|| {
                // RFC 9937 §6.1: what was outstanding, without what was SACKed before this ACK.
                let delivered = self.board.una() + self.board.sacked_bytes() - delivered_before;
                let flight = self.board.outstanding() - self.board.sacked_bytes() + delivered;
                Prr::new(flight, self.control.ssthresh(), self.mss)
            });
            self.steer(now, delivered_before, false);
        } else {
            // RFC 5681 §3.2 step 3: the duplicate ACKs tell of segments that have left.
            self.inflation = i64::from(self.threshold) * self.mss as i64;
            self.force = true;
            self.note_lost_head();
        }
        self.arm_rto(now);
    }

    /// SACK recovery: what this ACK lets out.
    fn steer(&mut self, now: Time, delivered_before: u64, advanced: bool) {
        let newly_lost = match self.kind {
            RecoveryKind::Rack => self.detect_losses(now),
            _ => self.board.update_lost(self.threshold, self.mss),
        };
        self.note_losses();
        let delivered = (self.board.una() + self.board.sacked_bytes()).saturating_sub(delivered_before);
        self.recovery_window = match &mut self.prr {
            Some(prr) => prr.on_ack(delivered, self.board.pipe(), advanced && !newly_lost),
            None => self.control.cwnd(),
        };
    }

    /// RFC 3168 §6.1.2: after a reduction for whatever reason, CWR goes on the next new segment, and echoes of marks on what
    /// was sent before do not reduce again.
    pub(super) fn reduced(&mut self) {
        if self.ecn.is_on() {
            self.cwr_until = self.board.max();
            self.cwr_pending = self.ecn.answers_by_cwr();
        }
    }

    /// An ACK tells of marks; before it, all was acknowledged up to `una`, and `flight_size` was in flight. RFC 3168 §6.1.2: as for a
    /// loss, at most once a round trip, and without retransmitting. How far the window shrinks is the control's business, also
    /// where it counts the marks (RFC 8257 §3.3).
    fn echo_of_congestion(&mut self, now: Time, una: u64, flight_size: u64) {
        if self.phase == Phase::Open && una >= self.cwr_until && flight_size > 0 {
            self.control.on_congestion(&CongestionEvent { now, kind: self.ecn.event(), flight_size });
            self.validated_by_congestion(flight_size, false);
            self.reduced();
            // What this leaves is not to be taken back for an earlier loss that was none.
            self.undo = None;
        }
    }
}
