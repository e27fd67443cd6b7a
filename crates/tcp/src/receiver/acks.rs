//! Delayed ACKs: when data is acknowledged.

use crate::clock::Clock;
use crate::{DelayedAck, TcpConfig};
use longfat_core::time::{Duration, Time};

/// The longest that an ACK waits by the adaptive rule (measured on Linux 6.18, notebook/delayed-ack.md).
const MOST: Duration = Duration::from_millis(200);

/// Data in order, and the ACKs owed for it.
#[derive(Debug)]
pub(crate) struct Acks {
    /// Octets taken in since the last ACK.
    pub unacked: u64,
    /// Full segments that are acknowledged at once.
    every: u32,
    /// Segments still to come that are acknowledged at once.
    pub quick: u32,
    delay: Delay,
    deadline: Time,
}

/// Delay of an ACK.
#[derive(Debug)]
enum Delay {
    None,
    Timer(Duration),
    Heartbeat(Clock),
    /// (Apart: it would be half as large again as the others.)
    Adaptive(Box<Adaptive>),
}

/// A delay that follows the gaps between segments, as Linux's does. No document gives the rule; it is measured on Linux 6.18
/// (notebook/delayed-ack.md).
#[derive(Debug)]
struct Adaptive {
    /// The shortest delay.
    least: Duration,
    /// The delay, before it is bounded by the round trip.
    ato: Duration,
    /// Arrival of the last segment in order; before the first, [`Time::MAX`].
    last: Time,
    /// The longest delay: the round trip as this end measures it, or `least`.
    most: Duration,
    /// The rto of this end.
    rto: Duration,
    /// Segments acknowledged at once after silence.
    quick: u32,
}

impl Adaptive {
    /// A segment in order. Returns true if it ends a silence of more than an rto.
    #[inline]
    fn arrived(&mut self, now: Time) -> bool {
        let last = std::mem::replace(&mut self.last, now);
        if last > now {
            return false;
        }
        let gap = now.since(last);
        if gap >= self.ato {
            return gap > self.rto;
        }
        self.ato = (self.ato / 2 + gap.max(self.least / 2)).min(MOST);
        false
    }

    /// Returns the time that the ACK of a segment waits.
    fn delay(&self) -> Duration {
        self.ato.min(self.most)
    }
}

impl Acks {
    pub(super) fn new(config: &TcpConfig, phase: Duration) -> Self {
        let delay = match (config.delayed_ack, config.delayed_ack_time) {
            (DelayedAck::Timer, Some(delay)) => Delay::Timer(delay),
            (DelayedAck::Heartbeat, Some(tick)) => Delay::Heartbeat(Clock::new(tick, phase)),
            (DelayedAck::Adaptive, Some(least)) => Delay::Adaptive(Box::new(Adaptive {
                least,
                ato: least,
                last: Time::MAX,
                most: least,
                rto: Duration::MAX,
                quick: config.quick_acks,
            })),
            _ => Delay::None,
        };
        Acks { unacked: 0, every: config.ack_every, quick: config.quick_acks, delay, deadline: Time::MAX }
    }

    /// This end measures a round trip of `srtt`, and would wait `rto` for an ACK of its own data.
    #[inline]
    pub(super) fn follow(&mut self, srtt: Duration, rto: Duration) {
        if let Delay::Adaptive(adaptive) = &mut self.delay {
            (adaptive.most, adaptive.rto) = (srtt.max(adaptive.least), rto);
        }
    }

    /// `fresh` octets came in order, in segments of up to `largest`. Returns true if they are acknowledged at once, as `urgent` asks.
    #[inline]
    pub(super) fn arrived(&mut self, now: Time, fresh: u64, largest: u32, urgent: bool) -> bool {
        self.unacked += fresh;
        if let Delay::Adaptive(adaptive) = &mut self.delay
            && adaptive.arrived(now)
        {
            self.quick = adaptive.quick;
        }
        if urgent || matches!(self.delay, Delay::None) {
            return true;
        }
        if self.quick > 0 {
            self.quick -= 1;
            return true;
        }
        // RFC 9293 §3.8.6.3: at least every second full-sized segment.
        if self.unacked >= u64::from(self.every) * u64::from(largest) {
            return true;
        }
        match &self.delay {
            Delay::Adaptive(adaptive) => {
                if self.deadline != Time::MAX && self.deadline <= now + adaptive.ato / 4 {
                    return true;
                }
                self.deadline = self.deadline.min(now.saturating_add(adaptive.delay()));
            }
            Delay::Timer(delay) if self.deadline == Time::MAX => self.deadline = now.saturating_add(*delay),
            Delay::Heartbeat(clock) if self.deadline == Time::MAX => self.deadline = clock.deadline(now, clock.span(1)),
            _ => {}
        }
        false
    }

    /// An ACK of all that has come is on its way.
    #[inline]
    pub(super) fn sent(&mut self) {
        (self.unacked, self.deadline) = (0, Time::MAX);
    }

    /// No ACK is owed any more.
    pub(super) fn stop(&mut self) {
        self.deadline = Time::MAX;
    }

    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// Returns true if the delayed ACK is due, and there is anything to acknowledge.
    pub(super) fn due(&mut self, now: Time) -> bool {
        if now < self.deadline {
            return false;
        }
        self.deadline = Time::MAX;
        if self.unacked > 0
            && let Delay::Adaptive(adaptive) = &mut self.delay
        {
            // No second segment came in time: the next may wait longer.
            adaptive.ato = (adaptive.ato * 2).min(MOST);
        }
        self.unacked > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;

    const MSS: u32 = 1460;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// An adaptive receiver past its quick ACKs, with `srtt` and Linux's rto on it, and the time `gap` after the last of them.
    fn past_quick_acks(srtt: u64, gap: u64) -> (Acks, Time) {
        let config = TcpConfig { delayed_ack: DelayedAck::Adaptive, quick_acks: 16, ack_every: 2, ..config("rfc") };
        let mut acks = Acks::new(&config, Duration::ZERO);
        acks.follow(ms(srtt), ms(srtt + 200));
        let mut now = Time::ZERO;
        for _ in 0..16 {
            now += ms(10);
            assert!(acks.arrived(now, MSS.into(), MSS, false));
            acks.sent();
        }
        (acks, now + ms(gap))
    }

    /// Delay of each ACK where a segment comes each `gap`; zero: at once.
    fn delays(srtt: u64, gap: u64, segments: usize) -> Vec<u64> {
        let (mut acks, mut now) = past_quick_acks(srtt, gap);
        let (mut answers, mut waits_since) = (Vec::new(), now);
        for _ in 0..segments {
            if acks.unacked == 0 {
                waits_since = now;
            }
            if acks.arrived(now, MSS.into(), MSS, false) {
                acks.sent();
                answers.push(0);
            }
            let next = now + ms(gap);
            if acks.deadline() <= next {
                let at = acks.deadline();
                assert!(acks.due(at));
                acks.sent();
                answers.push(at.since(waits_since).as_ps() / ms(1).as_ps());
            }
            now = next;
        }
        answers
    }

    /// Measured on Linux 6.18, whose timers add up to 8 ms of jiffies: notebook/delayed-ack.md.
    #[test]
    fn the_delay_doubles_where_nothing_comes_in_time_up_to_the_round_trip() {
        assert_eq!(delays(1, 100, 6), [40; 6]);
        assert_eq!(delays(60, 100, 6), [40, 60, 60, 60, 60, 60]);
        assert_eq!(delays(300, 250, 6), [40, 80, 160, 200, 200, 200]);
        assert_eq!(delays(600, 400, 6), [40, 80, 160, 200, 200, 200]);
    }

    #[test]
    fn the_delay_follows_the_gaps() {
        // 6.18 over 60 ms: 50 ms apart, the first waits 47 ms alone; then the second of each pair is answered at once.
        assert_eq!(delays(60, 50, 9), [40, 0, 0, 0, 0]);
        assert_eq!(delays(60, 30, 8), [0; 4]);
        let (mut acks, start) = past_quick_acks(60, 10);
        let mut ato = |at: u64| {
            acks.arrived(start + ms(at), MSS.into(), MSS, false);
            acks.sent();
            let Delay::Adaptive(adaptive) = &acks.delay else { unreachable!() };
            adaptive.ato
        };
        // Gaps of 20, 30, 30, 30, then 10 ms: 40/2 + 20, 40/2 + 30, 50/2 + 30, 55/2 + 30, 57.5/2 + 20.
        let all: Vec<u64> = [10, 40, 70, 100, 110].map(|at| ato(at).as_ps() / ms(1).as_ps()).into();
        assert_eq!(all, [40, 50, 55, 57, 48]);
    }

    #[test]
    fn silence_of_more_than_an_rto_begins_with_quick_acks() {
        for (silence, quick) in [(250, 0), (270, 16)] {
            let (mut acks, mut now) = past_quick_acks(60, silence);
            let mut at_once = 0;
            while acks.arrived(now, 100, MSS, false) {
                acks.sent();
                at_once += 1;
                now += ms(10);
            }
            assert_eq!(at_once, quick, "after {silence} ms");
        }
    }

    /// 6.18 with an application that does not read, gaps of 13, 16 and 19 ms: the third is answered at once, or at 13 ms waits.
    #[test]
    fn a_segment_shortly_before_the_deadline_is_answered_at_once() {
        for (gap, third) in [(13, false), (16, true), (19, true)] {
            let (mut acks, now) = past_quick_acks(60, 10);
            let answers = [0, 1, 2].map(|k| acks.arrived(now + ms(k * gap), 100, MSS, false));
            assert_eq!(answers, [false, false, third], "{gap} ms");
        }
    }
}
