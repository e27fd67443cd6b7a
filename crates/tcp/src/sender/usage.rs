//! How the windows are used: what kept the sender from sending more, round trip by round trip, and for how long.

use crate::{LimitedBy, TcpConfig};
use longfat_core::time::{Duration, Time};

/// Limit that kept the sender from sending more when it last tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Cwnd,
    Rwnd,
    Application,
    /// The host's own interface is full.
    Host,
    Pacing,
}

/// Flight before an ACK came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// Everything below it is acknowledged.
    pub una: u64,
    /// Everything below it has been sent.
    pub max: u64,
    /// Bytes.
    pub size: u64,
    /// True if cwnd had no room for another full segment.
    pub is_full: bool,
}

#[derive(Debug)]
pub(crate) struct Usage {
    limit: Limit,
    /// Round trips counted in packets; the current one ends when something beyond `round_end` is acknowledged.
    round: u64,
    round_end: u64,
    /// True if cwnd was full before the ACK under way.
    is_full: bool,
    /// cwnd was full when everything below this had been sent.
    full_until: u64,
    /// The most that was in flight, and what had been sent then: it counts until that is acknowledged.
    peak: u64,
    peak_until: u64,
    /// True if a window of which half was in use may grow in slow start.
    half_suffices: bool,
    /// The limit that its time goes to, since when, and how long each did before; `None`: nothing more was written.
    waits_for: Option<LimitedBy>,
    since: Time,
    spent: [Duration; LimitedBy::ALL.len()],
}

impl Usage {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Usage {
            limit: Limit::Application,
            round: 0,
            round_end: 0,
            is_full: false,
            full_until: 0,
            peak: 0,
            peak_until: 0,
            half_suffices: config.growth.slow_start_half_used,
            waits_for: None,
            since: Time::ZERO,
            spent: Default::default(),
        }
    }

    /// The handshake is done: time counts from here on, also where data went before (RFC 7413).
    pub(super) fn begins(&mut self, now: Time) {
        (self.spent, self.since) = (Default::default(), now);
    }

    #[inline]
    pub(super) fn limited_by(&mut self, limit: Limit) {
        self.limit = limit;
    }

    #[inline]
    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    /// The number of the round trip under way.
    #[inline]
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// An ACK has come; this was in flight before it.
    #[inline]
    pub(super) fn note(&mut self, flight: Flight) {
        self.is_full = flight.is_full;
        if flight.is_full {
            self.full_until = flight.max;
        }
        if flight.una >= self.peak_until || flight.size > self.peak {
            (self.peak, self.peak_until) = (flight.size, flight.max);
        }
    }

    /// The sender has nothing to send at `now`, or may not: from now on its time is that of the limit it has come to. `is_send_buffer`: that
    /// is the receiver's window, and it reaches beyond the send buffer.
    #[inline]
    pub(super) fn waits(&mut self, now: Time, is_send_buffer: bool) {
        let limit = match self.limit {
            Limit::Cwnd => Some(LimitedBy::Cwnd),
            // The application may have written more than the send buffer holds.
            Limit::Rwnd if is_send_buffer => Some(LimitedBy::SendBuffer),
            Limit::Rwnd => Some(LimitedBy::Rwnd),
            Limit::Pacing => Some(LimitedBy::Pacing),
            Limit::Host => Some(LimitedBy::Host),
            Limit::Application => None,
        };
        self.spends(limit, now);
    }

    /// Counts the time from `now` on for `limit`.
    #[inline]
    fn spends(&mut self, limit: Option<LimitedBy>, now: Time) {
        if limit != self.waits_for {
            self.spent = self.spent(now);
            (self.waits_for, self.since) = (limit, now);
        }
    }

    /// Returns how long each limit, in the order of [`LimitedBy::ALL`], held the sender back until `until`.
    pub(super) fn spent(&self, until: Time) -> [Duration; LimitedBy::ALL.len()] {
        let mut spent = self.spent;
        if let Some(limit) = self.waits_for
            && until > self.since
        {
            spent[limit as usize] += until.since(self.since);
        }
        spent
    }

    /// cwnd was reduced: how the greater one was used says nothing.
    pub(super) fn forget(&mut self) {
        (self.full_until, self.peak, self.peak_until) = (0, 0, 0);
    }

    /// Everything below `ack` is acknowledged, and everything below `max` has been sent.
    #[inline]
    pub(super) fn acked(&mut self, ack: u64, max: u64) {
        if ack > self.round_end {
            self.round += 1;
            self.round_end = max;
        }
    }

    /// Returns true if an ACK of what lies from `una` on shows that cwnd was used.
    ///
    /// RFC 7661 §4.5.3: it was when as much was in flight as it allows, whether or not more waited. Where nothing waits, or pacing spaces
    /// the segments, that is told of the whole flight acknowledged. Where rwnd or the host holds back what cwnd would allow, it is
    /// told of now: the sender sends less than cwnd (RFC 9438 §5.8).
    #[inline]
    fn is_cwnd_limited(&self, una: u64) -> bool {
        match self.limit {
            Limit::Cwnd => true,
            Limit::Application | Limit::Pacing => una < self.full_until,
            Limit::Rwnd | Limit::Host => self.is_full,
        }
    }

    /// Returns true if an ACK of what lies from `una` on lets the window grow; `cwnd_and_ssthresh` are what they are.
    ///
    /// With `half_suffices` it does in slow start if more than half of cwnd was in use of late: it leads to twice what was in flight
    /// (draft-ietf-ccwg-ratelimited-increase §3; its appendix on implementations says that Linux has the rule since 3.16).
    #[inline]
    pub(super) fn lets_grow(&self, una: u64, cwnd_and_ssthresh: impl FnOnce() -> (u64, u64)) -> bool {
        self.is_cwnd_limited(una) || (self.half_suffices && self.is_half_used(cwnd_and_ssthresh()))
    }

    fn is_half_used(&self, (cwnd, ssthresh): (u64, u64)) -> bool {
        cwnd < ssthresh && cwnd < 2 * self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused() -> Usage {
        Usage::new(&TcpConfig::new(&crate::stack::named("rfc").params(), 1500))
    }

    /// Each time the limit, what is in flight (`una..max`), and whether that fills cwnd; then whether cwnd was used.
    fn limited(history: &[(Limit, u64, u64, bool)]) -> Vec<bool> {
        let mut usage = unused();
        let one = |&(limit, una, max, is_full): &(Limit, u64, u64, bool)| {
            usage.limited_by(limit);
            usage.note(Flight { una, max, size: max - una, is_full });
            usage.is_cwnd_limited(una)
        };
        history.iter().map(one).collect()
    }

    #[test]
    fn a_flight_that_filled_the_window_used_it_to_its_last_ack() {
        for limit in [Limit::Application, Limit::Pacing] {
            // Ten were in flight when cwnd was ten; the eleventh was sent when it was more.
            let history = [(limit, 0, 10, true), (limit, 1, 11, false), (limit, 9, 11, false), (limit, 10, 11, false)];
            assert_eq!(limited(&history), [true, true, true, false], "{limit:?}");
        }
        // It was not full before cwnd was the limit, and then it was.
        assert_eq!(limited(&[(Limit::Application, 0, 9, false), (Limit::Cwnd, 1, 11, true)]), [false, true]);
    }

    #[test]
    fn what_holds_data_back_that_cwnd_allows_is_the_limit_at_once() {
        for limit in [Limit::Rwnd, Limit::Host] {
            assert_eq!(limited(&[(limit, 0, 10, true), (limit, 1, 11, false), (limit, 2, 12, true)]), [true, false, true], "{limit:?}");
        }
    }

    #[test]
    fn the_peak_counts_until_what_was_in_flight_is_acknowledged() {
        let mut usage = unused();
        let peaks = [(0, 9), (5, 12), (8, 12), (9, 12), (12, 14)].map(|(una, max)| {
            usage.note(Flight { una, max, size: max - una, is_full: false });
            usage.peak
        });
        assert_eq!(peaks, [9, 9, 9, 3, 2]);
        usage.forget();
        assert_eq!(usage.peak, 0);
    }

    #[test]
    fn a_round_ends_when_what_was_sent_after_its_start_is_acknowledged() {
        let mut usage = unused();
        let rounds = [1, 500, 1000, 1001, 2001].map(|ack| {
            usage.acked(ack, ack + 999);
            usage.round()
        });
        assert_eq!(rounds, [1, 1, 1, 2, 3]);
    }

    #[test]
    fn each_limit_has_the_time_until_the_next() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut usage = unused();
        let history = [
            (10, Some(LimitedBy::Cwnd)),
            (15, Some(LimitedBy::Cwnd)),
            (30, None),
            (50, Some(LimitedBy::Rwnd)),
            (51, Some(LimitedBy::Cwnd)),
        ];
        history.into_iter().for_each(|(ms, limit)| usage.spends(limit, at(ms)));
        let ms = |spent: [Duration; 5]| spent.map(|time| time.as_ps() / 1_000_000_000);
        assert_eq!(ms(usage.spent(at(60))), [29, 1, 0, 0, 0]);
        // A question about the past is answered as of the last change.
        assert_eq!(ms(usage.spent(at(40))), [20, 1, 0, 0, 0]);
    }
}
