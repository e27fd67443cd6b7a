//! A flow whose both ends were sampled, and not captured: the same features and rules say what limited it.
//!
//! Samples give what a capture has to infer: bytes that were written and not sent, the window in force, the state of loss recovery, the
//! counters of the hosts. They do not give each packet: the first loss of an episode is the byte at which acknowledgments stopped, and runs
//! of losses are unknown.

use super::connection::Connection;
use super::direction::{Direction, Episode, ORIGIN};
use super::ranges::Waited;
use super::records::Verdict;
use super::verdict::{Feature, features, verdict};
use crate::read::Address;
use longfat_record::trace::Cause;
use std::net::Ipv6Addr;

/// Segments that pass between two samples and stand one by one before the token buckets: a bound for fast paths.
const PIECES: u64 = 64;
/// Fewer probes than this do not show the queue.
const PROBES: usize = 100;
/// Fewer samples than this do not show whose queue the probes see.
const SAMPLES: u32 = 50;
/// Share of samples from which the probes' queue is not the flow's: the middle of the ramp of `own_queue`.
const APART: f64 = 0.05;
/// Round trip beyond the wait of probes that is no queue of its own, in ns: delayed ACKs, and hosts.
const HOSTS: i64 = 2_000_000;
/// Segments that a sender lets go at once for an ACK in slow start (RFC 5681, section 3.1): they wait for each other.
const BURST: i64 = 2;
/// Segments in flight from which ACKs are not delayed for long.
const LEAST_FLIGHT: u64 = 10;
/// Longest time between a loss and a probe that says how long the queue was then, in ns.
const NEAR: i64 = 50_000_000;

/// The sending end at one instant. Bytes are offsets in its stream, in payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sender {
    /// Time, in ns since the flow's run began.
    pub time: i64,
    /// Acknowledged in order.
    pub acked: u64,
    /// Bytes in flight.
    pub flight: u64,
    /// Written and not sent.
    pub unsent: u64,
    /// True if the application has more to write than the socket takes.
    pub wants: bool,
    /// Window of the receiver.
    pub window: u64,
    /// Smoothed round trip, in ns.
    pub rtt: i64,
    /// True in fast recovery or after a timeout.
    pub is_recovering: bool,
    /// True after a timeout.
    pub is_timeout: bool,
    /// Segments sent with data so far.
    pub segments: u64,
    /// Segments retransmitted so far.
    pub again: u64,
    /// Retransmissions so far that the other end reports as duplicates.
    pub needless: u64,
    /// Segments so far that arrived marked.
    pub marked: u64,
}

/// A flow between two hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Payload of a full segment.
    pub mss: u32,
    /// Least round trip, in ns.
    pub rtt_min: i64,
    /// Samples of the sender, in order of time.
    pub sender: Vec<Sender>,
    /// Segments with data that had arrived at the receiver by a time in ns, in order of time.
    pub arrived: Vec<(i64, u64)>,
    /// Waits of probes that went beside the data: when each was sent, and its wait, both in ns, in order of time.
    pub waits: Vec<(i64, i64)>,
    /// Packets that the receiving host's counters say it dropped meanwhile, in its rings, input queues and sockets.
    pub dropped: u64,
}

impl Flow {
    /// Says what limited it, and how sure that is.
    pub fn verdict(&self) -> (Cause, Verdict) {
        let connection = self.connection();
        let mut found = features(&connection, 0);
        // Nothing shows which segments were lost one behind the other.
        found.set([(Feature::Run, f64::NAN), (Feature::InRuns, f64::NAN), (Feature::Blocks, f64::NAN)]);
        let total = self.span().max(1) as f64;
        let lost = connection.directions[0].counts.retransmitted().saturating_sub(connection.directions[0].counts.needless);
        found.set([
            (
                Feature::BufferFull,
                self.spans().filter(|(_, now)| self.is_buffer_full(now)).map(|(span, _)| span as f64).sum::<f64>() / total,
            ),
            (Feature::HostDrops, if lost > 0 { (self.dropped as f64 / lost as f64).min(1.0) } else { 0.0 }),
            (Feature::OwnQueue, self.own_queue().unwrap_or(f64::NAN)),
        ]);
        let verdict = verdict(&connection, 0, &found);
        let cause = Cause::ALL.iter().find(|cause| cause.word() == verdict.cause).copied().unwrap_or(Cause::Unknown);
        (cause, verdict)
    }

    fn is_buffer_full(&self, now: &Sender) -> bool {
        now.wants && now.unsent < u64::from(self.mss) && !now.is_recovering && !self.is_blocked(now)
    }

    /// True if the next segment does not fit into the receiver's window.
    fn is_blocked(&self, now: &Sender) -> bool {
        (now.wants || now.unsent > 0) && now.flight + u64::from(self.mss) > now.window
    }

    /// Each sample from the first data on, with the time since the one before it.
    fn spans(&self) -> impl Iterator<Item = (i64, &Sender)> {
        let began = self.sender.iter().position(|one| one.flight > 0).unwrap_or(self.sender.len());
        self.sender[began..].windows(2).map(|pair| (pair[1].time - pair[0].time, &pair[1]))
    }

    fn span(&self) -> i64 {
        self.spans().map(|(span, _)| span).sum()
    }

    /// Share of the samples whose round trip shows more than twice the longest wait of the probes that were under way with that data, and a burst of
    /// its own: a queue which probes do not find is the flow's own. None where too little is known.
    fn own_queue(&self) -> Option<f64> {
        let (mut all, mut own) = (0_u32, 0_u32);
        for pair in self.sender.windows(2) {
            let (before, now) = (&pair[0], &pair[1]);
            if now.acked == before.acked || now.is_recovering || now.flight < LEAST_FLIGHT * u64::from(self.mss) {
                continue;
            }
            // The kernel smooths over the ACKs of one round trip and a half or so.
            let [from, until] = [now.time - now.rtt * 5 / 2, now.time - now.rtt / 2].map(|time| self.place(time));
            let Some(most) = self.waits[from..until].iter().map(|(_, wait)| *wait).max() else { continue };
            all += 1;
            let burst = BURST * i64::from(self.mss) * now.rtt / now.flight as i64;
            own += u32::from(now.rtt - self.rtt_min > 2 * most + burst + HOSTS);
        }
        (all >= SAMPLES).then(|| f64::from(own) / f64::from(all))
    }

    /// True if the probes find the flow's queue: then they show it better than round trips, which the kernel smooths.
    fn is_shared(&self) -> bool {
        self.waits.len() >= PROBES && self.rtt_min > 0 && self.own_queue().is_some_and(|own| own < APART)
    }

    /// Place of the first probe sent at `time` or later.
    fn place(&self, time: i64) -> usize {
        self.waits.partition_point(|(sent, _)| *sent < time)
    }

    /// Longer wait of the probes sent before and after `time`, in ns: a queue that dropped something was at least as long.
    fn wait_about(&self, time: i64) -> Option<i64> {
        let place = self.place(time);
        let near = self.waits[place.saturating_sub(1)..(place + 1).min(self.waits.len())].iter();
        near.filter(|(sent, _)| (sent - time).abs() <= NEAR).map(|(_, wait)| *wait).max()
    }

    /// Wait of the probe sent nearest to `time`, in ns.
    fn wait(&self, time: i64) -> Option<i64> {
        let place = self.place(time);
        let near = self.waits[place.saturating_sub(1)..(place + 1).min(self.waits.len())].iter();
        near.filter(|(sent, _)| (sent - time).abs() <= NEAR).min_by_key(|(sent, _)| (sent - time).abs()).map(|(_, wait)| *wait)
    }

    /// The flow as a capture at its sender would leave it.
    fn connection(&self) -> Connection {
        // Both hosts are known, so a handshake stands for what a capture would have to learn from one.
        let ends = [1, 2].map(|port| Address::new(Ipv6Addr::UNSPECIFIED.into(), port));
        let mut made = Connection::between(0, ends, self.sender.first().map_or(0, |one| one.time));
        for direction in &mut made.directions {
            (direction.handshake.isn, direction.handshake.mss) = (Some(0), Some(self.mss.min(u16::MAX.into()) as u16));
        }
        let Some(last) = self.sender.last() else { return made };
        made.last = last.time;
        let direction = &mut made.directions[0];
        direction.rtt.near.add(0);
        let is_shared = self.is_shared();
        self.count(direction);
        self.watch(direction, is_shared);
        direction.losses.episodes = self.episodes(is_shared);
        direction.losses.is_exact = is_shared;
        let full = u64::from(self.mss);
        for (time, segments) in &self.arrived {
            direction.rates.ack_trains.passed(*time, ORIGIN + segments * full, 0);
        }
        for (_, wait) in &self.waits {
            direction.rates.lateness.ranks.note((wait / 1000).clamp(0, u32::MAX.into()) as u32);
        }
        self.fill(direction);
        made
    }

    fn count(&self, direction: &mut Direction) {
        let Some((first, last)) = self.sender.first().zip(self.sender.last()) else { return };
        let since = |of: fn(&Sender) -> u64| of(last).saturating_sub(of(first));
        let counts = &mut direction.counts;
        counts.segments = since(|one| one.segments);
        counts.bytes = counts.segments * u64::from(self.mss);
        counts.again[0] = since(|one| one.again);
        counts.needless = since(|one| one.needless).min(counts.again[0]);
        counts.bytes_again = counts.again[0] * u64::from(self.mss);
        counts.ece = since(|one| one.marked);
        counts.acks = counts.segments;
        direction.acked_first = Some(ORIGIN + first.acked);
        direction.acked = ORIGIN + last.acked;
        let begun = self.sender.iter().find(|one| one.flight > 0).map(|one| one.time);
        (direction.first_data, direction.last_data) = (begun, Some(last.time));
        let moved = self.sender.windows(2).rev().find(|pair| pair[1].acked > pair[0].acked);
        direction.last_acked_time = moved.map_or(0, |pair| pair[1].time);
    }

    /// Waits, windows and round trips, sample by sample; round trips by probes, where they share the flow's queue.
    fn watch(&self, direction: &mut Direction, is_shared: bool) {
        let mut window_max = 0;
        if self.rtt_min > 0 {
            direction.sample(self.sender[0].time, self.rtt_min);
        }
        let full = u64::from(self.mss);
        let mut before: Option<&Sender> = None;
        for (span, now) in self.spans() {
            window_max = window_max.max(now.window);
            let waits = &mut direction.waits;
            waits.longest = waits.longest.max(span);
            if now.is_recovering {
                waits.recovery += span;
            } else if self.is_blocked(now) {
                waits.receiver += span;
                waits.closing += if 10 * now.window < 7 * window_max { span } else { 0 };
            } else if now.wants || now.unsent >= full {
                waits.acks += span;
            } else if now.unsent > 0 && now.flight < full {
                waits.nagle += span;
                waits.nagles += u32::from(before.is_none_or(|before| before.acked < now.acked));
            } else {
                // Less than a segment that waits behind others (RFC 896): the next write fills it.
                waits.idle += span;
            }
            if now.window == 0 {
                direction.counts.zero_window_time += span;
                direction.counts.zero_windows += u64::from(before.is_some_and(|before| before.window > 0));
            }
            if !is_shared && now.rtt > 0 && before.is_none_or(|before| now.acked > before.acked) {
                direction.sample(now.time, now.rtt);
            }
            let sent = |one: &Sender| one.acked + one.flight;
            let bin = direction.series.at(now.time);
            if let Some(before) = before {
                if sent(now) > sent(before) {
                    bin.flight_max = bin.flight_max.max(now.flight);
                }
                bin.sent += sent(now).saturating_sub(sent(before));
                bin.acked += now.acked.saturating_sub(before.acked);
                bin.again += now.again.saturating_sub(before.again) as u32;
                bin.marks += now.marked.saturating_sub(before.marked) as u32;
            }
            bin.window_min = Some(bin.window_min.map_or(now.window, |least| least.min(now.window)));
            direction.flight_max = direction.flight_max.max(now.flight);
            before = Some(now);
        }
        direction.receiver.window_max = window_max;
        if is_shared {
            let during = direction.first_data.unwrap_or(0)..direction.last_data.unwrap_or(0);
            for (sent, wait) in self.waits.iter().filter(|(sent, _)| during.contains(sent)) {
                direction.sample(sent + self.rtt_min + wait, self.rtt_min + wait);
            }
        }
    }

    /// Recoveries: from the first retransmission, or the state of the kernel, to the end of both.
    fn episodes(&self, is_shared: bool) -> Vec<Episode> {
        let mut episodes: Vec<Episode> = Vec::new();
        let mut is_open = false;
        for pair in self.sender.windows(2) {
            let (before, now) = (&pair[0], &pair[1]);
            let (again, needless) = (now.again.saturating_sub(before.again) as u32, now.needless.saturating_sub(before.needless) as u32);
            if !is_open && again > 0 {
                let offset = ORIGIN + before.acked.max(now.acked.min(before.acked + u64::from(self.mss)));
                let sent = self.sent_at(before.acked + 1);
                let wait = self.wait_about(sent);
                let late = wait.map(|wait| (wait / 1000).clamp(0, u32::MAX.into()) as u32);
                episodes.push(Episode {
                    is_timeout: now.is_timeout,
                    flight: before.flight,
                    rtt: wait.filter(|_| is_shared).map_or(before.rtt, |wait| self.rtt_min + wait),
                    again: 0,
                    run: 1,
                    needless: 0,
                    recover: ORIGIN + before.acked + before.flight,
                    start: now.time,
                    end: now.time,
                    first_lost: (sent, offset),
                    last_lost: (sent, offset),
                    lost: 0,
                    waited: Waited { ahead: 0, late },
                });
                is_open = true;
            }
            if let Some(episode) = episodes.last_mut() {
                episode.again += again;
                episode.lost += u64::from(again * self.mss);
                // A report of a duplicate comes a round trip later.
                episode.needless = (episode.needless + needless).min(episode.again);
                if again > 0 {
                    episode.end = now.time;
                }
            }
            is_open &= now.is_recovering || again > 0;
        }
        episodes
    }

    /// Time at which the byte before `offset` was sent first.
    fn sent_at(&self, offset: u64) -> i64 {
        let place = self.sender.partition_point(|one| one.acked + one.flight < offset);
        self.sender.get(place).or(self.sender.last()).map_or(0, |one| one.time)
    }

    /// Gives the token buckets what was sent between two samples, evenly spaced, with the first loss of each episode in its place.
    fn fill(&self, direction: &mut Direction) {
        let trip = direction.trips().smoothed.max(1);
        let mut losses =
            direction.losses.episodes.iter().filter(|one| one.again > one.needless).map(|one| one.first_lost.1 - ORIGIN).peekable();
        let full = u64::from(self.mss);
        let mut sent = self.sender.first().map_or(0, |one| one.acked + one.flight);
        for pair in self.sender.windows(2) {
            let (from, until) = (pair[0].time, pair[1].time);
            let upto = pair[1].acked + pair[1].flight;
            let count = upto.saturating_sub(sent).div_ceil(full).min(PIECES);
            let begin = sent;
            for piece in 1..=count {
                let end = begin + (upto - begin) * piece / count;
                let time = from + (until - from) * piece as i64 / count as i64;
                let is_lost = losses.next_if(|offset| *offset < end).is_some();
                direction.rates.buckets.add(time, ORIGIN + end, end - sent, is_lost, self.wait(time), trip);
                sent = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// 10 s at 50 ms and 10 Mbit/s with `flight` bytes in flight, sampled each 10 ms, as `change` has it.
    fn flow(flight: u64, change: impl Fn(u64, &mut Sender)) -> Flow {
        let passed = flight / 5;
        let sample = |step: u64| {
            let usual =
                Sender { time: step as i64 * 10 * MS, acked: step * passed, flight, unsent: 100_000, wants: true, ..Sender::default() };
            let mut now = Sender { window: 1 << 20, rtt: 50 * MS, segments: step * passed / 1000, ..usual };
            change(step, &mut now);
            now
        };
        Flow {
            mss: 1000,
            rtt_min: 50 * MS,
            sender: (0..1000).map(sample).collect(),
            arrived: (0..1000).map(|step| (step as i64 * 10 * MS, step * passed / 1000)).collect(),
            ..Flow::default()
        }
    }

    #[test]
    fn each_end_says_what_it_waited_for() {
        let found = |flow: &Flow| flow.verdict().0;
        assert_eq!(found(&flow(20_000, |_, now| now.window = 20_500)), Cause::ReceiveWindow);
        assert_eq!(found(&flow(20_000, |_, now| now.unsent = 0)), Cause::SendBuffer);
        assert_eq!(found(&flow(20_000, |_, now| (now.unsent, now.wants) = (0, false))), Cause::Application);
        let end_of_a_write = |flight: u64| flow(flight, move |_, now| (now.unsent, now.wants) = (900, false));
        assert_eq!(found(&end_of_a_write(20_000)), Cause::Application);
        assert_eq!(found(&end_of_a_write(900)), Cause::Nagle);
        let shrinking = |step: u64, now: &mut Sender| now.window = if step < 20 { 60_000 } else { 20_500 };
        assert_eq!(found(&flow(20_000, shrinking)), Cause::ClosingWindow);
        assert_eq!(Flow::default().verdict().0, Cause::Unknown);
    }

    #[test]
    fn a_queue_that_probes_do_not_find_is_the_flows_own() {
        // Round trips of up to 90 ms, in a sawtooth of a second each, with a loss at the top. The probes wait as long, or not at all.
        let length = |step: u64| (step % 100) as i64 * 400_000;
        let lossy = |waits: &dyn Fn(u64) -> i64| Flow {
            waits: (0..1000).map(|step| (step as i64 * 10 * MS, waits(step))).collect(),
            ..flow(40_000, |step, now| {
                now.rtt = 50 * MS + length(step);
                now.again = (step + 5) / 100;
            })
        };
        let (apart, shared) = (lossy(&|_| 0), lossy(&length));
        assert!(apart.own_queue().unwrap() > 0.8 && !apart.is_shared());
        assert!(shared.own_queue().unwrap() < 0.05 && shared.is_shared());
        assert_eq!(apart.verdict().0, Cause::ActiveQueue);
        assert_ne!(shared.verdict().0, Cause::ActiveQueue);
        assert_eq!(Flow::default().own_queue(), None);
    }

    #[test]
    fn counters_of_the_receiver_tell_its_ring_from_the_path() {
        // A loss of 10 segments each second, which the receiver's counters know or do not know of.
        let lossy = |dropped: u64| Flow { dropped, ..flow(40_000, |step, now| now.again = 10 * (step / 100)) };
        assert_eq!(lossy(90).verdict().0, Cause::ReceiverRing);
        assert_ne!(lossy(0).verdict().0, Cause::ReceiverRing);
    }
}
