//! RACK-TLP in the sender (RFC 8985): losses found by time, the tail loss probe, and the one timer that serves both and the
//! retransmission timeout.

use crate::congestion::{Congestion, CongestionEvent};
use crate::rack::Rack;
use crate::sampling::lost;
use crate::sender::{Phase, Range, Sender};
use crate::seq::timestamp_before;
use crate::stall::Room;
use longfat_core::packet::Segment;
use longfat_core::time::{Duration, Time};

/// What the sender's timer is set for (RFC 8985 §8: one at a time).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    Retransmission,
    /// RFC 8985 §6.2 step 5: something is lost unless it arrives before.
    Reordering,
    /// RFC 8985 §7.2.
    Probe,
}

/// The tail loss probe (RFC 8985 §7).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Probe {
    /// The timer went off: one is to be sent.
    pub due: bool,
    /// TLP.end_seq: one is out, and this was SND.NXT then.
    pub end: Option<u64>,
    /// TLP.is_retrans.
    again: bool,
}

/// TLP.max_ack_delay (RFC 8985 §7.2): what a receiver may wait before it acknowledges a lone segment. The peer's own is not known;
/// 200 ms is what most stacks stay under (RFC 9293 §3.8.6.3 allows 500 ms).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

impl Sender {
    /// Whether an ACK at `now` can be that of a retransmission sent at a given time, and not of what was sent before it: RFC 8985
    /// §6.2 step 2. What TSecr says holds for what is acknowledged cumulatively; a SACKed segment leaves the receiver's TS.Recent
    /// as it was (RFC 7323 §4.3).
    pub(super) fn tells_of_retransmission(&self, now: Time, cumulative: Option<&Segment>) -> impl Fn(Time) -> bool + Copy + use<> {
        let echo = cumulative.and_then(Segment::timestamps).and_then(|(_, ecr)| self.timestamp_clock.map(|clock| (clock, ecr)));
        let least = self.stats.rtt_min;
        move |sent| now.since(sent) >= least && !echo.is_some_and(|(clock, ecr)| timestamp_before(ecr, clock.ticks(sent) as u32))
    }

    /// What the left edge passes on its way to `ack`: when the first and the last of it left that were sent once and had not
    /// arrived before.
    #[inline]
    pub(super) fn told_in_order(&mut self, now: Time, segment: &Segment, ack: u64) -> Option<(Time, Time)> {
        let rack = self.rack.as_mut()?;
        if !self.board.has_sacked() && rack.again.is_empty() {
            let span = self.log.arrived(ack)?;
            rack.arrived_in_order(now, ack, span.1);
            return Some(span);
        }
        let tells = self.tells_of_retransmission(now, Some(segment));
        let rack = self.rack.as_mut()?;
        rack.span = None;
        let mut at = self.board.una();
        while let Some((start, end)) = self.board.next_missing(at, ack) {
            rack.arrived(now, start, end, &self.log, tells);
            at = end;
        }
        self.log.arrived(ack);
        rack.span
    }

    /// RFC 8985 §6.2 step 4.
    fn reordering_window(&mut self) -> Duration {
        let at_once = self.phase != Phase::Open || self.board.has_sacked_enough(self.threshold, self.mss);
        let window = |rack: &mut Box<Rack>| rack.reordering_window(self.board.una(), self.stats.rtt_min, self.rtt.srtt(), at_once);
        self.rack.as_mut().map_or(Duration::ZERO, window)
    }

    /// RFC 8985 §6.2 step 5. Whether anything became lost.
    pub(super) fn detect_losses(&mut self, now: Time) -> bool {
        let window = self.reordering_window();
        let Some(rack) = &mut self.rack else { return false };
        rack.detect(now, window, &mut self.board, &self.log, lost(&mut self.rate, &mut self.control))
    }

    /// RFC 8985 §6.3: the retransmission timer went off. Only what has been out for long enough is lost.
    pub(super) fn lose_overdue(&mut self, now: Time) {
        let window = self.reordering_window();
        if let Some(rack) = &mut self.rack {
            rack.timeout(now, window, &mut self.board, &self.log, self.mss, lost(&mut self.rate, &mut self.control));
        }
    }

    /// Sets the timer for what comes first.
    #[inline]
    pub(crate) fn set_timer(&mut self, now: Time) {
        if self.deadline == Time::MAX || self.persist.is_some() {
            return;
        }
        (self.deadline, self.timer) = match self.rack.as_ref().and_then(|rack| rack.wake) {
            Some(wake) if wake < self.rto_at => (wake, Timer::Reordering),
            // RFC 8985 §7.2: not in recovery, nothing SACKed, and no probe out.
            None if self.use_tail_probe
                && self.phase == Phase::Open
                && !self.board.has_sacked()
                && self.tail.end.is_none()
                && !self.tail.due =>
            {
                ((now + self.probe_timeout()).min(self.rto_at), Timer::Probe)
            }
            _ => (self.rto_at, Timer::Retransmission),
        };
    }

    /// PTO (RFC 8985 §7.2).
    #[inline]
    fn probe_timeout(&self) -> Duration {
        let srtt = self.rtt.srtt();
        if srtt.is_zero() {
            return Duration::from_secs(1);
        }
        let alone = self.board.outstanding() <= self.mss;
        srtt * 2 + if alone { MAX_ACK_DELAY } else { Duration::ZERO }
    }

    /// The timer went off for something other than a retransmission timeout. Whether it did.
    pub(super) fn time_is_up(&mut self, now: Time) -> bool {
        match self.timer {
            Timer::Retransmission => return false,
            Timer::Probe => {
                self.tail.due = self.board.outstanding() > 0;
                // RFC 8985 §7.3: after a probe, the retransmission timer.
                self.arm_rto(now);
            }
            Timer::Reordering => {
                let delivered = self.board.una() + self.board.sacked_bytes();
                if self.phase == Phase::Recovery {
                    self.steer(now, delivered, false);
                } else {
                    self.look_for_losses(now, delivered);
                }
                self.set_timer(now);
            }
        }
        true
    }

    /// RFC 8985 §7.3: new data, whatever cwnd says, or the last segment again.
    pub(crate) fn tail_probe(&mut self, now: Time) -> Option<Range> {
        let range = self.next_new(now, 0, u64::MAX).or_else(|| {
            let (start, end) = self.board.last_segment(self.payload_max).filter(|_| self.may_transmit())?;
            Some(self.count(now, Range { start, end, again: true }))
        });
        // One that the host had no room for waits.
        self.tail.due = range.is_none() && self.room == Room::Refused;
        let range = range?;
        self.stats.tail_probes += 1;
        self.tail = Probe { due: false, end: Some(self.board.max()), again: range.again };
        self.arm_rto(now);
        Some(range)
    }

    /// RFC 8985 §7.4.2: does this ACK say that the probe repaired a loss? `moved`: the left edge moved.
    pub(super) fn probe_answered(&mut self, now: Time, ack: u64, moved: bool, segment: &Segment, duplicate: Option<(u64, u64)>) {
        // RFC 8985 §7.2: data acknowledged is a reason to wait anew; a probe may have been kept back by pacing or by the host.
        self.tail.due &= !moved;
        let Some(end) = self.tail.end.filter(|end| ack >= *end) else { return };
        if !self.tail.again || duplicate.is_some_and(|(_, right)| right == end) {
            self.tail.end = None;
        } else if ack > end {
            self.tail.end = None;
            if self.phase == Phase::Open {
                self.stats.tail_losses += 1;
                let flight_size = self.flight_size();
                self.control.on_congestion(&CongestionEvent { now, kind: Congestion::Loss, flight_size });
                self.validated_by_congestion(flight_size, false);
                self.reduced();
                self.undo = None;
            }
        } else if !moved && segment.sack_count() == 0 {
            self.tail.end = None;
        }
    }
}
