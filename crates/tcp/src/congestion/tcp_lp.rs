//! TCP-LP (Kuzmanovic and Knightly 2003): Reno that uses only what others leave, by early congestion indications.

use super::low_priority::{Growth, LowPriority, PARAMS};
use super::promises::{beside_cubic, queues_bdp, shares, uses};
use super::{ControlKind, Window};
use crate::ecn::EcnUse;

pub(super) const KIND: ControlKind = ControlKind {
    name: "tcp_lp",
    summary: "low priority: Reno that yields as soon as one-way delays tell of others; needs timestamps",
    source: "Kuzmanovic and Knightly, TCP-LP: a distributed algorithm for low priority data transfer, INFOCOM 2003",
    params: PARAMS,
    linux: &[],
    ecn: EcnUse::CLASSIC,
    promises: &[
        uses(0.7, "arithmetic: it halves at 0.15 BDP of queue; a window from 0.58 to 1.15 BDP uses 84 %"),
        queues_bdp(0.0, 0.15, "Kuzmanovic and Knightly 2003: it yields at delta = 0.15 of the greatest delay"),
        shares(0.8, "Kuzmanovic and Knightly 2003: equal flows share"),
        beside_cubic(0.0, 0.15, "Kuzmanovic and Knightly 2003: it uses what others leave"),
    ],
    build: |c| Box::new(LowPriority::new(c, Reno)),
};

/// A segment for each window, and half of it.
#[derive(Clone, Copy, Debug)]
struct Reno;

impl Growth for Reno {
    fn increase(&mut self, _w: &Window) -> f64 {
        1.0
    }

    fn decrease(_w: f64) -> f64 {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AckSample, Congestion, CongestionControl, testing::*};
    use super::*;
    use crate::TcpConfig;
    use longfat_core::time::{Duration, Time};

    type TcpLp = LowPriority<Reno>;

    fn tcp_lp(config: &TcpConfig) -> TcpLp {
        LowPriority::new(config, Reno)
    }

    fn lp(segments: u64) -> (Path, TcpLp) {
        let (mut path, mut lp) = (Path::new(100), tcp_lp(&config("tcp_lp", &[], 2 * segments)));
        reduce(&mut lp, Time::ZERO, Congestion::Loss);
        // One-way delays from -40 ms (the clocks differ) to 60 ms; with a tick of 1 ms, early congestion is beyond -24.15 ms.
        path.round_with(&mut lp, 100, Some(-40));
        path.round_with(&mut lp, 100, Some(-40));
        lp.delays.measure(&pair(path.now, 60));
        (path, lp)
    }

    /// Returns an ACK of two segments in the second round, with a delay of so many milliseconds.
    fn pair(now: Time, delay: i64) -> AckSample {
        let forward_delay = Some(delay * 1_000_000_000);
        AckSample { round: 2, acked: 2 * MSS, in_flight: 90 * MSS, forward_delay, ..ack(now, Duration::from_millis(100)) }
    }

    /// The window in segments after rounds of so many milliseconds one way.
    fn windows(path: &mut Path, lp: &mut TcpLp, delays: &[i64]) -> Vec<u64> {
        let mut window = |delay: &i64| {
            path.round_with(lp, 100, Some(*delay));
            lp.cwnd() / MSS
        };
        delays.iter().map(&mut window).collect()
    }

    #[test]
    fn an_early_indication_halves_and_three_round_trips_pass_without_growth() {
        let (mut path, mut lp) = lp(98);
        // A delay of 20 ms more is beyond 15 %, but smoothed by 1/8 an ACK it takes a few; one that does not last is none.
        assert_eq!(windows(&mut path, &mut lp, &[-40]), [100]);
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [50], "100 (and a little) halved");
        // It gave way at the 12th ACK of that round: -40 + 20 (1 - (7/8)^n) > -24.15. The phase ends 300 ms later.
        assert_eq!(windows(&mut path, &mut lp, &[-40, -40]), [50, 50]);
        let grown = windows(&mut path, &mut lp, &[-40, -40]);
        assert!(grown[0] <= 51 && grown[1] == grown[0] + 1, "{grown:?}");
    }

    #[test]
    fn a_second_one_in_the_inference_phase_leaves_one_segment() {
        let (mut path, mut lp) = lp(98);
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [50]);
        // The round after the halving still shows the delays of the window before it; the next one counts.
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [50]);
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [1]);
        // A segment alone tells nothing: its ACK may have waited for the receiver's timer.
        assert_eq!(windows(&mut path, &mut lp, &[0, 0]), [1, 1]);
        assert_eq!(lp.ssthresh(), 2 * MSS, "what follows is additive increase");
    }

    #[test]
    fn after_the_phase_it_is_a_first_one_again() {
        let (mut path, mut lp) = lp(98);
        assert_eq!(windows(&mut path, &mut lp, &[-20, -40, -40, -40]), [50, 50, 50, 50]);
        let before = lp.cwnd() / MSS;
        path.round_with(&mut lp, 100, Some(-40));
        assert!(lp.cwnd() / MSS > before);
        // 52 and a little by then, halved.
        assert_eq!(windows(&mut path, &mut lp, &[-20]), [26]);
    }

    /// The windows after rounds with a constant delay of so many milliseconds, read by a peer whose clock ticks every 10 ms, and
    /// then with 3 ms more.
    fn by_coarse_ticks(delay: u64) -> [u64; 2] {
        let tcp = config("tcp_lp", &[], 400).with(|tcp| tcp.timers.timestamp_tick = Duration::from_millis(10));
        let (mut lp, mut now) = (tcp_lp(&tcp), Time::ZERO);
        reduce(&mut lp, now, Congestion::Loss);
        let mut last = |round: u64, delay: u64| {
            for _ in 0..2000 {
                now += Duration::from_micros(50);
                let peer = (now.as_ps() / 1_000_000_000 + delay) / 10 * 10;
                let forward_delay = Some(peer as i64 * 1_000_000_000 - now.as_ps() as i64);
                let rtt = Duration::from_millis(100);
                give(&mut lp, &AckSample { round, in_flight: 200 * MSS, forward_delay, ..ack(now, rtt) });
            }
            lp.cwnd() / MSS
        };
        last(2, delay + 10);
        last(3, delay);
        [last(8, delay), last(12, delay + 3)]
    }

    #[test]
    fn a_coarse_clock_is_seen_through_whatever_its_phase() {
        for delay in 30..40 {
            let [steady, queued] = by_coarse_ticks(delay);
            assert!(steady >= 100, "{delay}: {steady}");
            assert!(queued <= steady * 6 / 10, "{delay}: {queued} of {steady}");
        }
    }

    /// ACKs of one segment each with a delay of 50 ms, more than any other: so many microseconds after `now`, of a window of 90 segments
    /// over 100 ms. Whether they count.
    fn counts(now: Time, at: &[u64]) -> bool {
        let (_, mut lp) = lp(98);
        let before = lp.delays.range;
        for &us in at {
            let single = AckSample { acked: MSS, ..pair(now + Duration::from_micros(us), 80) };
            lp.delays.measure(&single);
        }
        before != lp.delays.range
    }

    #[test]
    fn an_ack_that_the_receiver_may_have_held_tells_nothing() {
        let now = Time::ZERO + Duration::from_secs(1);
        // A segment follows the one before if it comes at twice an even spacing (100 ms / 45) or sooner.
        assert!(counts(now, &[0, 0]) && counts(now, &[0, 2222]));
        assert!(!counts(now, &[0, 2223]) && !counts(now, &[0, 40_000]));
        // One of several is enough. A segment that nothing follows yet tells nothing yet.
        assert!(counts(now, &[0, 40_000, 40_010]));
        assert!(!counts(now, &[0]));
    }

    #[test]
    fn what_follows_may_answer_two_but_must_have_been_sent_once() {
        let now = Time::ZERO + Duration::from_secs(1);
        let single = AckSample { acked: MSS, ..pair(now, 80) };
        let range = |next: &[AckSample]| {
            let (_, mut lp) = lp(98);
            lp.delays.measure(&single);
            next.iter().for_each(|ack| lp.delays.measure(ack));
            lp.delays.range.unwrap().1 / 1_000_000_000
        };
        let (next, resent) = (pair(now, -40), AckSample { rtt: None, forward_delay: None, ..pair(now, -40) });
        assert_eq!(range(&[next]), 80);
        assert_eq!(range(&[resent, next]), 60);
        // A duplicate ACK answers nothing.
        assert_eq!(range(&[AckSample { acked: 0, ..next }, next]), 80);
        // After a reduction, what was before it does not count.
        let (_, mut lp) = lp(98);
        lp.delays.measure(&single);
        reduce(&mut lp, now, Congestion::Loss);
        lp.delays.measure(&next);
        assert_eq!(lp.delays.range.unwrap().1, 60_000_000_000);
    }

    #[test]
    fn a_window_of_a_few_segments_does_not_count_its_last() {
        let (_, mut lp) = lp(98);
        let before = lp.delays.range;
        // Bursts of four, whose last one waits for a timer of 40 ms: its ACK is followed by one of what was sent 140 ms after it.
        for burst in 0..10 {
            let now = Time::ZERO + Duration::from_millis(1000 + 140 * burst);
            let of_burst = AckSample { round: 2 + burst, in_flight: 4 * MSS, ..pair(now, -40) };
            lp.delays.measure(&of_burst);
            let last = AckSample { acked: MSS, in_flight: 2 * MSS, forward_delay: Some(0), ..of_burst };
            lp.delays.measure(&last);
        }
        assert_eq!(before, lp.delays.range);
    }

    #[test]
    fn before_the_first_loss_there_is_no_greatest_delay() {
        let (mut path, mut lp) = (Path::new(100), tcp_lp(&config("tcp_lp", &[], 100)));
        // 15 % of 2 ms would be noise. The host's own queue is not the path's.
        assert_eq!(windows(&mut path, &mut lp, &[0, 2, 2]), [100, 101, 102]);
        reduce(&mut lp, path.now, Congestion::Local);
        assert_eq!(windows(&mut path, &mut lp, &[2, 2, 2]), [52, 53, 54]);
        reduce(&mut lp, path.now, Congestion::Loss);
        assert_eq!(windows(&mut path, &mut lp, &[0, 0, 2]), [28, 29, 14]);
    }

    #[test]
    fn a_loss_halves_as_in_reno() {
        let (_, mut lp) = lp(98);
        let before = lp.cwnd();
        reduce(&mut lp, Time::ZERO, Congestion::Loss);
        assert_eq!(lp.cwnd(), before.div_ceil(2));
        lp.on_spurious();
        assert_eq!(lp.cwnd(), before);
        reduce(&mut lp, Time::ZERO, Congestion::Timeout);
        assert_eq!((lp.cwnd(), lp.ssthresh()), (MSS, before.div_ceil(2)));
    }
}
