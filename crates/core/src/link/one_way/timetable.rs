//! A plain FIFO before a line that nothing holds back, as most links have. When each of its packets begins is known when it comes: so it goes
//! on at once, with the time of its arrival, and is counted as carried. The timetable knows which of them have yet to begin.

use std::collections::VecDeque;

use super::Link;
use super::transmit::Framed;
use super::waits::Waits;
use crate::link::count::{Carried, Count, Counted};
use crate::packet::{Front, Line, Packet, PacketId, Packets};
use crate::queue::fifo::Limit;
use crate::queue::{DropReason, QueueLog, discard};
use crate::time::{Duration, Time};

/// Packets that have yet to begin, one directly after the other. [`Count::backlog`] is their number. Their waits are counted already, as of
/// packets that have left.
#[derive(Debug)]
pub(super) struct Timetable {
    limit: Limit,
    /// Time at which the first of them begins.
    starts: Time,
    /// Packets of equal length that follow each other: the last run, and those before it.
    last: Run,
    before: VecDeque<Run>,
    /// When each packet came, if waits are recorded.
    came: VecDeque<Time>,
}

/// Packets of one length.
#[derive(Debug, Default)]
struct Run {
    packets: u64,
    frame: Framed,
}

impl Timetable {
    pub(super) fn new(limit: Limit) -> Self {
        Timetable { limit, starts: Time::ZERO, last: Run::default(), before: VecDeque::new(), came: VecDeque::new() }
    }

    /// The next packets have the frame `frame`.
    #[cold]
    fn begin_run(&mut self, frame: Framed) {
        let before = std::mem::replace(&mut self.last, Run { packets: 0, frame });
        if before.packets > 0 {
            self.before.push_back(before);
        }
    }

    /// Returns the time at which the first packet begins; `None`: none has yet to begin.
    pub(super) fn starts(&self, count: &Count) -> Option<Time> {
        (count.backlog > 0).then_some(self.starts)
    }

    /// Returns what is counted as carried and has yet to begin, and its IP bytes. Its waits end when it begins.
    pub(super) fn ahead(&self) -> Carried {
        let (mut ahead, mut starts) = (Carried::default(), self.starts);
        for Run { packets, frame } in self.before.iter().chain([&self.last]) {
            let (count, first, time) = (u128::from(*packets), u128::from(starts.as_ps()), u128::from(frame.time.as_ps()));
            let sum = count * first + time * (count * count.saturating_sub(1) / 2);
            ahead.waited = ahead.waited.wrapping_add(sum);
            ahead.waited_bytes = ahead.waited_bytes.wrapping_add(sum.wrapping_mul(frame.ip_len.into()));
            ahead.transmitted += packets;
            ahead.ip_bytes += packets * u64::from(frame.ip_len);
            ahead.wire_bytes += packets * u64::from(frame.bytes);
            ahead.busy_ps += packets * frame.time.as_ps();
            starts += frame.time * *packets;
        }
        ahead
    }
}

/// A link with a timetable while packets of one length come to it: what changes with each of them, where the processor has it at hand.
/// [`Batch::end`] writes it back.
struct Batch<'a> {
    link: &'a mut Link,
    timetable: Box<Timetable>,
    /// The length of the packets, in bytes, and the time of each on the line.
    len: u32,
    time: Duration,
    busy_until: Time,
    /// Packets taken, and the sum of their waits in ps.
    taken: u64,
    waited: u128,
    backlog: u64,
    backlog_bytes: u64,
    backlog_max: u64,
    backlog_bytes_max: u64,
}

impl<'a> Batch<'a> {
    /// Begins a batch of packets of `len` bytes.
    #[inline(always)]
    fn new(link: &'a mut Link, len: u32) -> Option<Self> {
        let mut timetable = link.timetable.take()?;
        if len != link.last.ip_len {
            link.last = link.config.framed(len);
            timetable.begin_run(link.last);
        }
        let (busy_until, time) = (link.busy_until, link.last.time);
        let Count { backlog, backlog_bytes, backlog_max, backlog_bytes_max, .. } = link.count;
        Some(Batch { link, timetable, len, time, busy_until, taken: 0, waited: 0, backlog, backlog_bytes, backlog_max, backlog_bytes_max })
    }

    /// Takes a packet that comes at `now`. Returns when it begins; `None`: there is no room for it.
    #[inline(always)]
    fn take(&mut self, now: Time) -> Option<Time> {
        if self.backlog > 0 {
            self.begin_by(Time::from_ps(now.as_ps().saturating_sub(u64::from(self.link.config.departs_last))));
        }
        let start = if (self.busy_until <= now) & (self.len <= self.link.passes) { now } else { self.queue(now)? };
        self.busy_until = start + self.time;
        self.taken += 1;
        Some(start)
    }

    /// Puts a packet that comes at `now` behind all others, if it fits. Returns when it begins.
    #[inline(always)]
    fn queue(&mut self, now: Time) -> Option<Time> {
        let (limit, start) = (self.timetable.limit, self.busy_until.max(now));
        if !limit.has_room(limit.measure.of(self.backlog, self.backlog_bytes), self.len) | (self.len > self.link.config.mtu) {
            return None;
        }
        if start > now {
            if self.backlog == 0 {
                self.timetable.starts = start;
            }
            self.timetable.last.packets += 1;
            self.backlog += 1;
            self.backlog_bytes += u64::from(self.len);
            self.backlog_max = self.backlog_max.max(self.backlog);
            self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog_bytes);
            self.waited += u128::from(start.since(now).as_ps());
            if self.link.waits.is_some() {
                self.timetable.came.push_back(now);
            }
        }
        Some(start)
    }

    /// The packets that begin by `until` are in the queue no more.
    #[inline(always)]
    fn begin_by(&mut self, until: Time) {
        while (self.backlog > 0) & (self.timetable.starts <= until) {
            let Timetable { starts, last, before, came, .. } = &mut *self.timetable;
            let run = before.front_mut().unwrap_or(last);
            // One at once, and one more in the time of each.
            let began = run.packets.min(until.since(*starts).as_ps() / run.frame.time.as_ps().max(1) + 1);
            if let Some(waits) = &mut self.link.waits {
                waits.record_first(began as usize, came, *starts, run.frame.time);
            }
            *starts += run.frame.time * began;
            run.packets -= began;
            self.backlog -= began;
            self.backlog_bytes -= began * u64::from(run.frame.ip_len);
            if run.packets == 0 {
                before.pop_front();
            }
        }
    }

    /// Returns the line as [`Steady`] for a packet that comes at `now` behind one that this batch has taken, if no packet of another length
    /// has yet to begin, or has begun since.
    #[inline(always)]
    fn steady(&self, now: Time, until: Time) -> Option<Steady> {
        let Batch { link, timetable, len, time, .. } = self;
        // Where a packet leaves behind one that comes at that instant, packets that wait are counted one by one.
        if link.config.departs_last && self.busy_until > now {
            return None;
        }
        let is_alike = timetable.before.is_empty() & ((self.backlog == 0) | (timetable.starts <= now + *time));
        (is_alike & (*len <= link.passes)).then(|| {
            let Limit { measure, max } = timetable.limit;
            let fit = if link.config.departs_last { 0 } else { max / measure.cost(*len) };
            let most = Duration::from_ps(fit.saturating_mul(time.as_ps()));
            Steady { len: *len, time: *time, lag: link.last.lead + link.config.delay, port: link.config.port, until, most }
        })
    }

    /// The packets of `line` from `first` on are taken as far as they find the line `steady`. Returns the last of them.
    #[inline(always)]
    fn carry(&mut self, steady: &Steady, line: &Line, first: PacketId, slots: &mut [Packet]) -> Option<PacketId> {
        let Timetable { starts, last, came, .. } = &mut *self.timetable;
        let pending = Pending { busy_until: self.busy_until, packets: self.backlog };
        let waits = self.link.waits.as_deref_mut().map(|waits| (waits, came));
        let Crossing { front, pending, waited, longest } = steady.cross(line, first, pending, slots, waits);
        self.busy_until = pending.busy_until;
        self.taken += u64::from(front.len);
        self.waited += waited;
        (*starts, last.packets, self.backlog) = (pending.starts(steady.time), pending.packets, pending.packets);
        self.backlog_bytes = pending.packets * u64::from(self.len);
        if !longest.is_zero() {
            // Packets ahead of one that waits the longest have yet to begin: each takes the same time.
            let most = (longest.as_ps() - 1) / self.time.as_ps() + 1;
            self.backlog_max = self.backlog_max.max(most);
            self.backlog_bytes_max = self.backlog_bytes_max.max(most * u64::from(self.len));
        }
        front.last
    }

    /// Counts the packets taken, and writes everything back.
    #[inline(always)]
    fn end(self) {
        let Batch { link, timetable, busy_until, taken, waited, backlog, backlog_bytes, backlog_max, backlog_bytes_max, .. } = self;
        (link.timetable, link.busy_until) = (Some(timetable), busy_until);
        let count = &mut link.count;
        count.packets_in += taken;
        count.carried.transmit(taken, &link.last, waited);
        (count.backlog, count.backlog_bytes, count.backlog_max, count.backlog_bytes_max) =
            (backlog, backlog_bytes, backlog_max, backlog_bytes_max);
    }
}

/// A line on which packets of one length begin, one directly after the other or as they come.
struct Steady {
    /// Length of the packets, and their time on the line.
    len: u32,
    time: Duration,
    /// Time from the start of a packet until it is at the far end, and the port there.
    lag: Duration,
    port: u16,
    until: Time,
    /// Longest wait of a packet that fits into the queue.
    most: Duration,
}

/// Packets that have yet to begin, or have begun since the line was last free.
struct Pending {
    /// Time at which the last of them has left.
    busy_until: Time,
    packets: u64,
}

impl Pending {
    /// Returns the time at which the first begins, each of them taking `time`.
    fn starts(&self, time: Duration) -> Time {
        Time::from_ps(self.busy_until.as_ps() - self.packets * time.as_ps())
    }
}

/// Packets that have crossed a steady line.
struct Crossing {
    front: Front,
    pending: Pending,
    /// Sum of their waits in ps, and the longest.
    waited: u128,
    longest: Duration,
}

impl Steady {
    /// Sends the packets of `line` from `first` on, as long as each fits into the queue. Waits are recorded in `waits`, which has the times
    /// at which those that are pending came.
    #[inline(never)]
    fn cross(
        &self,
        line: &Line,
        first: PacketId,
        pending: Pending,
        slots: &mut [Packet],
        mut waits: Option<(&mut Waits, &mut VecDeque<Time>)>,
    ) -> Crossing {
        let Steady { len, time, lag, port, until, most } = *self;
        let Pending { mut busy_until, mut packets } = pending;
        let (mut front, mut waited, mut longest) = (Front { last: None, len: 0 }, 0, Duration::ZERO);
        let mut at = Some(first);
        while let Some(id) = at {
            let packet = &mut slots[id.slot()];
            let now = packet.stamp;
            let wait = busy_until.since(now);
            if (now > until) | (wait > most) | (packet.ip_len() != len) {
                break;
            }
            if !wait.is_zero() {
                packets += 1;
                waited += u128::from(wait.as_ps());
                longest = longest.max(wait);
                if let Some((_, came)) = &mut waits {
                    came.push_back(now);
                }
            } else if packets == 0 {
                // Nothing waited before this packet either.
                let (free, next) = self.cross_free(line, id, busy_until, slots);
                front = Front { last: free.last, len: front.len + free.len };
                busy_until = next;
                at = free.last.and_then(|last| line.behind(last, &slots[last.slot()]));
                continue;
            } else {
                if let Some((waits, came)) = &mut waits {
                    waits.record_first(came.len(), came, Pending { busy_until, packets }.starts(time), time);
                }
                packets = 0;
            }
            let start = now + wait;
            packet.goes_on(start + lag, port);
            busy_until = start + time;
            front = Front { last: at, len: front.len + 1 };
            at = line.behind(id, packet);
        }
        Crossing { front, pending: Pending { busy_until, packets }, waited, longest }
    }

    /// Sends the packets of `line` from `first` on, as long as each finds the line free. Returns them, and when the line is free again.
    #[inline(never)]
    fn cross_free(&self, line: &Line, first: PacketId, mut busy_until: Time, slots: &mut [Packet]) -> (Front, Time) {
        let Steady { len, time, lag, port, until, .. } = *self;
        let (mut front, mut at) = (Front { last: None, len: 0 }, Some(first));
        while let Some(id) = at {
            let packet = &mut slots[id.slot()];
            let now = packet.stamp;
            if (now > until) | (now < busy_until) | (packet.ip_len() != len) {
                break;
            }
            busy_until = now + time;
            packet.goes_on(now + lag, port);
            front = Front { last: at, len: front.len + 1 };
            at = line.behind(id, packet);
        }
        (front, busy_until)
    }
}

impl Link {
    /// Returns true if [`Link::take_line`] may be called: a plain FIFO, and no losses.
    #[inline]
    pub fn takes_lines(&self) -> bool {
        self.timetable.is_some() & self.is_perfect
    }

    /// Takes the packets of `line` that come by `until`, and drops those that do not fit. Returns when the next one comes. Packets that go
    /// on stay in the order in which they stand: they leave as part of the line.
    pub fn take_line(&mut self, line: &mut Line, until: Time, packets: &mut Packets, log: &mut dyn QueueLog) -> Time {
        while let Some(first) = line.first() {
            if packets[first].stamp > until {
                return packets[first].stamp;
            }
            let Some((taken, stopped)) = self.take_batch(line, first, until, packets) else { break };
            self.sent.append(&mut line.take(taken, packets), packets);
            if let Some(id) = stopped {
                line.pop(packets);
                self.refuse(packets[id].stamp, id, packets, log);
            }
        }
        Time::MAX
    }

    /// Takes the packets of `line` as far as they are as long as the `first`, come by `until` and fit. Returns the last one taken and their
    /// number, and the packet that does not fit.
    #[inline(always)]
    fn take_batch(&mut self, line: &Line, first: PacketId, until: Time, packets: &mut Packets) -> Option<(Front, Option<PacketId>)> {
        let port = self.config.port;
        let mut batch = Batch::new(self, packets[first].ip_len())?;
        let lag = batch.link.last.lead + batch.link.config.delay;
        let (mut at, mut last, mut refused) = (Some(first), None, None);
        let slots = packets.slots();
        while let Some(id) = at {
            let packet = &mut slots[id.slot()];
            if (packet.stamp > until) | (packet.ip_len() != batch.len) {
                break;
            }
            let Some(start) = batch.take(packet.stamp) else {
                refused = at;
                break;
            };
            packet.goes_on(start + lag, port);
            last = at;
            at = line.behind(id, packet);
            let Some(id) = at else { break };
            if let Some(steady) = batch.steady(slots[id.slot()].stamp, until) {
                last = batch.carry(&steady, line, id, slots).or(last);
            }
            at = last.and_then(|id| line.behind(id, &slots[id.slot()]));
        }
        let taken = batch.taken;
        batch.end();
        Some((Front { last, len: taken as u32 }, refused))
    }

    /// Takes a packet of `len` bytes that comes at `now`, or drops it.
    #[inline]
    pub(super) fn take_in(&mut self, now: Time, id: PacketId, len: u32, packets: &mut Packets, log: &mut dyn QueueLog) {
        let Some(mut batch) = Batch::new(self, len) else { return };
        let start = batch.take(now);
        batch.end();
        match start {
            Some(start) => self.launch(id, start + self.last.lead + self.config.delay, packets),
            None => self.refuse(now, id, packets, log),
        }
    }

    /// Drops the packet `id`, for which there is no room.
    #[cold]
    fn refuse(&mut self, now: Time, id: PacketId, packets: &mut Packets, log: &mut dyn QueueLog) {
        let len = packets[id].ip_len();
        let reason = if len > self.config.mtu { DropReason::TooBig } else { DropReason::Overflow };
        self.count.packets_in += 1;
        self.count.enter(now, len);
        discard(now, id, reason, packets, &mut Counted { count: &mut self.count, log });
    }

    /// The packets that begin by `until` are in the queue no more.
    #[inline]
    pub(super) fn begin_by(&mut self, until: Time) {
        if self.count.backlog > 0
            && let Some(mut batch) = Batch::new(self, self.last.ip_len)
        {
            batch.begin_by(until);
            batch.end();
        }
    }
}
