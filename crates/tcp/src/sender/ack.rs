//! How the sender takes in ACKs: what they acknowledge, SACK, echo and advertise.

use super::{Phase, Sender};
use crate::congestion::{AckSample, Congestion};
use crate::ecn::Marks;
use crate::repair::Reported;
use crate::seq::unwrap;
use longfat_core::packet::{Segment, flags};
use longfat_core::time::{Duration, Time};

/// News of an ACK that is taken in.
struct News {
    ack: u64,
    /// Bytes of the stream delivered before, below the left edge or SACKed; and bytes that this ACK adds.
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
    pub(crate) fn handle_ack(&mut self, now: Time, segment: &Segment) -> bool {
        let una = self.board.una();
        let ack = unwrap(self.iss, una, segment.ack);
        if ack > self.board.max() {
            // RFC 9293 §3.10.7.4.
            return true;
        }
        // RFC 5961 §5.2: older than anything that can still be on its way (MAX.SND.WND).
        if ack.saturating_add(self.peer.max()) < una {
            return true;
        }
        if let Some(feedback) = segment.returned_feedback() {
            self.control.on_feedback(feedback.into());
        }
        self.take_ack(now, segment, ack);
        false
    }

    /// Takes in one that is neither of those. Overtaken by a later one, it acknowledges nothing (RFC 9293 §3.10.7.4), has no window
    /// to tell and is no duplicate ACK; but what it SACKs has arrived, and the scoreboard learns it (RFC 6675 §5).
    fn take_ack(&mut self, now: Time, segment: &Segment, told: u64) {
        let una = self.board.una();
        let late = told < una;
        let ack = told.max(una);
        self.check_app_limited();
        if self.awaits_nothing(segment) {
            if late {
                return;
            }
            self.update_window(now, segment, ack);
            if self.ecn.is_on() && self.ecn.take(segment, 0, self.mss).any {
                let flight_size = self.flight_size();
                self.echo_of_congestion(now, ack, flight_size, 0);
            }
            return;
        }
        let delivered_before = una + self.board.sacked_bytes();
        let in_flight = self.board.pipe();
        self.note_use(in_flight);
        let selective = self.repair.is_selective() && segment.sack_count() > 0;
        if late && !selective {
            return;
        }
        let duplicate = if selective { self.duplicate_told(segment, told) } else { None };
        self.repair.ack_begins(late);
        let (sacked, originals) = if selective { self.take_sacks(now, segment) } else { (0, 0) };
        let rtt = self.board.highest_sacked().filter(|_| sacked > 0).and_then(|top| self.measure_sacked(now, top));
        let window_changed = !late && self.update_window(now, segment, ack);
        let delivered = sacked + self.board.missing_below(ack);
        let is_bare = segment.seq_len() == 0 && !window_changed && !late;
        let marks = if late { Marks::NONE } else { self.ecn.take(segment, delivered, self.mss) };
        let spurious = self.repair.is_spurious(segment, ack, late, Reported { originals, duplicate, is_bare }, &self.board);
        // RFC 4015 §3, step 8: not where the network asks for a reduction.
        if spurious && !marks.any {
            self.take_back(now, segment);
        }
        if let Some(range) = duplicate {
            self.repair.duplicate_reported(range, self.board.max());
        }
        let news = News { ack, delivered_before, delivered, in_flight, rtt, marks };
        if ack > una {
            self.new_ack(now, segment, &news);
        } else {
            self.still_ack(now, segment, &news, is_bare);
        }
        if !late && self.repair.probe_repaired(ack, ack > una, segment.sack_count() > 0, duplicate) {
            self.stats.tail_losses += 1;
            let flight_size = self.flight_size();
            self.respond(now, Congestion::Loss, flight_size, false);
        }
        self.set_timer(now);
        self.size_buffer(now);
    }

    /// Returns true if `segment` can acknowledge or report nothing: always, for a stream that only goes in the other direction.
    #[inline]
    fn awaits_nothing(&self, segment: &Segment) -> bool {
        self.board.outstanding() == 0 && segment.sack_count() == 0 && !self.repair.awaits_verdict()
    }

    /// The left edge stands still. `is_bare`: there is nothing to the ACK but that.
    fn still_ack(&mut self, now: Time, segment: &Segment, news: &News, is_bare: bool) {
        let sacked = news.delivered;
        if sacked > 0 {
            let sample = self.sample(now, segment, news, 0, None);
            self.control.tell(&sample, self.board.pipe());
        }
        if news.marks.any {
            let flight_size = self.flight_size();
            self.echo_of_congestion(now, news.ack, flight_size, news.in_flight);
        }
        if self.repair.eases() {
            self.come_down(news, false);
        }
        if self.board.outstanding() > 0 && !self.timers.is_probing() && self.repair.is_duplicate(sacked, is_bare) {
            self.duplicate_ack(now, news.delivered_before);
        }
    }

    /// An ACK while the window comes down, with nothing lost.
    fn come_down(&mut self, news: &News, advanced: bool) {
        if self.repair.still_eases(self.board.una()) {
            self.repair.steer(news.delivered, self.board.pipe(), advanced, || self.control.cwnd());
        }
    }

    /// Bytes newly SACKed, and how many of them were sent once, where F-RTO wants to know.
    fn take_sacks(&mut self, now: Time, segment: &Segment) -> (u64, u64) {
        let una = self.board.una();
        let (mut news, mut originals, mut told) = (0, 0, [(0, 0); 3]);
        for i in 0..segment.sack_count() {
            let (left, right) = self.block(segment, i, una);
            // A duplicate report (RFC 2883) lies below the left edge or inside what is SACKed: it adds nothing.
            if left < una || left >= right || right > self.board.max() {
                continue;
            }
            if let Some(told) = told.get_mut(i) {
                *told = (left, right);
            }
            if !self.board.was_told((left, right)) {
                let sacked = self.repair.sacked(now, (left, right), &mut self.board, &self.trips, &mut self.control);
                news += sacked.bytes;
                originals += sacked.originals;
            }
        }
        self.board.note_told(told);
        (news, originals)
    }

    /// The SACK block `i`, near the offset `to`.
    fn block(&self, segment: &Segment, i: usize, to: u64) -> (u64, u64) {
        let (left, right) = segment.sack(i);
        (unwrap(self.iss, to, left), unwrap(self.iss, to, right))
    }

    /// The range that this ACK says has arrived twice (RFC 2883 §4): below the left edge, or inside the second block.
    fn duplicate_told(&self, segment: &Segment, ack: u64) -> Option<(u64, u64)> {
        let (left, right) = self.block(segment, 0, ack);
        let inside = |outer: (u64, u64)| outer.0 <= left && right <= outer.1;
        (left < right && (right <= ack || (segment.sack_count() > 1 && inside(self.block(segment, 1, ack))))).then_some((left, right))
    }

    /// SACKs newly reach up to `top`: its round trip.
    fn measure_sacked(&mut self, now: Time, top: u64) -> Option<Duration> {
        let sent = self.repair.newest_sacked(top)?;
        Some(self.trips.sacked(now, top, self.board.max(), sent))
    }

    /// The other side's window may be another now. Whether it is.
    #[inline]
    fn update_window(&mut self, now: Time, segment: &Segment, ack: u64) -> bool {
        let before = self.peer.edge;
        if !self.peer.update(segment, ack) {
            return false;
        }
        if self.timers.is_probing() {
            self.timers.probe_was_answered();
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
        // Round trip of the segment sent last, where there are two.
        let sent = self.repair.acknowledged(now, segment, ack, &self.board, &self.trips);
        let rtt = self.trips.acked(now, segment, ack, self.board.max(), sent).into_iter().chain(news.rtt).min();
        self.control.acked(now, &self.board, ack);
        self.board.acknowledge(ack);
        self.repair.progress();
        self.usage.acked(ack, self.board.max());
        if let Some(validation) = self.unused.validation()
            && self.repair.phase() != Phase::Recovery
            && validation.is_new(self.usage.round())
        {
            validation.round(now, self.usage.round(), ack, self.trips.srtt());
            self.validate(now);
        }
        let sample = self.sample(now, segment, news, acked, rtt);
        self.control.tell(&sample, self.board.pipe());
        if marks.any {
            self.echo_of_congestion(now, una, flight_size, news.in_flight);
        }
        let mut restart_timer = true;
        let repairs = !self.repair.is_open();
        match self.repair.phase() {
            // RFC 3168 §6.1.2: an ACK that echoes a mark does not let the window grow.
            Phase::Open if self.repair.eases() => self.come_down(news, true),
            Phase::Open if self.ecn.is_classic() && segment.has(flags::ECE) => {}
            Phase::Open => self.control.on_ack(&sample),
            Phase::Loss => {
                self.control.on_ack(&sample);
                self.repair.progress_in_loss(ack);
            }
            Phase::Recovery => {
                restart_timer = self.ack_in_recovery(now, ack, acked, delivered_before);
                // Linux 6.18 lets this ACK count, by what it delivers and if the window was used (measured, docs/linux-rules.md).
                if self.grows_at_recovery_end && self.repair.is_open() {
                    self.control.on_ack(&AckSample { acked: news.delivered, in_recovery: false, ..sample });
                }
            }
        }
        let resent = self.repair.watches_retransmissions();
        if self.repair.phase() != Phase::Recovery {
            if self.board.has_sacked() || resent {
                self.look_for_losses(now, delivered_before);
            } else {
                self.repair.nothing_waits();
            }
        }
        if repairs && self.repair.is_open() && resent {
            // RFC 5681 §4.3: losses in two successive windows are two indications of congestion. What was found lost beyond the point that
            // ended this repair, and retransmitted, is of the next window. Linux enters recovery again at this ACK (measured,
            // docs/stacks/linux.md).
            self.enter_recovery(now, delivered_before);
        }
        if self.board.outstanding() == 0 {
            // RFC 6298 §5.2.
            self.timers.rest();
        } else if restart_timer && !self.timers.is_probing() {
            // RFC 6298 §5.3.
            self.arm_rto(now);
        }
    }

    /// Returns the forward delay that this ACK tells of, if the control asks for it.
    #[inline]
    pub(super) fn forward_delay(&self, now: Time, segment: &Segment, rtt: Option<Duration>) -> Option<i64> {
        if self.wants_forward_delay { self.trips.forward_delay(now, segment, rtt) } else { None }
    }

    /// Returns the sample of this ACK for the control.
    #[inline]
    fn sample(&mut self, now: Time, segment: &Segment, news: &News, acked: u64, rtt: Option<Duration>) -> AckSample {
        AckSample {
            now,
            acked,
            delivered: news.delivered,
            marked: news.marks.bytes,
            in_flight: news.in_flight,
            rtt,
            srtt: self.trips.srtt(),
            rtt_min: self.trips.least(),
            forward_delay: self.forward_delay(now, segment, rtt),
            round: self.usage.round(),
            // The left edge may have moved.
            cwnd_limited: self.usage.lets_grow(self.board.una() - acked, || (self.control.cwnd(), self.control.ssthresh())),
            after_timeout: self.repair.phase() == Phase::Loss,
            in_recovery: self.repair.phase() == Phase::Recovery,
            rate: self.control.rate_sample(now, &self.board, self.trips.least()),
        }
    }
}
