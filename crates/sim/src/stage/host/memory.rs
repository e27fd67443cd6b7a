//! The memory of a host, for the data its connections have written and not got acknowledged, and received and not read.
//!
//! Every end of a connection has two buffers, one for each way, and each has a part of the pool set aside for it. What a buffer asks
//! for, it gets while there is memory. When the pool is all set aside, the fair share is max-min: nobody gets more than it asks for,
//! and what those with small wishes leave is shared evenly by the others (Semke, Mahdavi and Mathis 1998 share out a sender's memory
//! like this; Weigle and Feng 2001, section II, leave it to a fairness algorithm for either end). A part above the fair share is not
//! taken away: it shrinks as its data is acknowledged or read.
//!
//! A window advertised is memory promised (Weigle and Feng 2001, section V). Where the window sizing promises no more than it is
//! given, its promises are set aside, and every packet within them finds room. Where it does not, only what has arrived is
//! counted, and a packet for which nothing is left is lost.

use longfat_core::packet::Segment;
use longfat_core::time::{Duration, Time};
use longfat_record::recorder::MemoryTotals;
use longfat_tcp::Connection;
use longfat_tcp::window_sizing::MemoryUse;

/// Time between two looks at all connections. Each look computes the fair share anew, and samples the wasted memory. Between two looks a
/// buffer grows only as far as memory is free, at once.
pub(super) const PERIOD: Duration = Duration::from_millis(100);
/// The least time from now to a look that was not due yet.
pub(crate) const SOONEST: Duration = Duration::from_millis(10);

/// Memory set aside for one end of a connection, and the part of it in use.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// Number of the endpoint among those of the host.
    member: usize,
    /// True if its advertised window is memory set aside.
    keeps: bool,
    send: u64,
    receive: u64,
    /// Lower bound of `send` and of `receive`.
    least: u64,
    /// Bytes acknowledged when `send` was set.
    acked: u64,
    /// Bytes as counted in the pool's gauges.
    buffered: u64,
    promised: u64,
}

/// The memory of one host.
#[derive(Debug)]
pub(crate) struct Pool {
    size: u64,
    /// Bytes neither set aside nor taken.
    free: u64,
    /// Fair share; `u64::MAX` while all can have what they ask for.
    level: u64,
    /// True if windows that have received no data do not get what they ask for, since memory is scarce.
    is_tight: bool,
    /// Bytes that all windows ask for at the start, and the least of the send buffers.
    asked: u64,
    shares: Vec<Share>,
    /// True if a connection has asked for more than was free since the last look.
    is_short: bool,
    /// Time of the next look at all connections.
    next_look: Time,
    pub promised: Gauge,
    pub buffered: Gauge,
    pub wasted: Gauge,
    /// Packets that found no memory.
    pub drops: u64,
}

/// A quantity over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    value: u64,
    pub peak: u64,
    since: Time,
    /// Integral, in byte picoseconds.
    sum: u128,
}

impl Gauge {
    fn set(&mut self, now: Time, value: u64) {
        self.sum = self.integral(now);
        (self.since, self.value) = (now, value);
        self.peak = self.peak.max(value);
    }

    /// Returns the integral over time, up to `now`, in byte picoseconds.
    fn integral(&self, now: Time) -> u128 {
        self.sum + u128::from(self.value) * u128::from(now.since(self.since).as_ps())
    }
}

impl Pool {
    /// Returns a pool of `size` bytes without connections.
    pub(crate) fn new(size: u64) -> Self {
        let none = Gauge::default();
        Pool {
            size,
            free: size,
            level: u64::MAX,
            is_tight: false,
            asked: 0,
            shares: Vec::new(),
            is_short: false,
            next_look: Time::ZERO + SOONEST,
            promised: none,
            buffered: none,
            wasted: none,
            drops: 0,
        }
    }

    /// Adds a connection that ends at the endpoint `member` of the host, with at least `least` bytes in each direction. Returns the number
    /// of its share.
    pub(crate) fn join(&mut self, member: usize, tcp: &mut Connection, least: u64) -> usize {
        let keeps = tcp.keeps_to_memory();
        let receive = if keeps { least } else { 0 };
        self.free =
            self.free.checked_sub(least + receive).expect("the experiment was checked: a pool has the least of all its connections");
        self.shares.push(Share { member, keeps, send: least, receive, least, acked: tcp.memory().acked, buffered: 0, promised: 0 });
        tcp.set_memory_limit(least, least);
        // The share until the first look assumes that all ask for more than there is.
        self.asked = self.asked.saturating_add(least + tcp.memory().receive_wanted.max(least));
        self.is_tight = self.asked > self.size;
        self.level = self.size / (2 * self.shares.len() as u64);
        self.shares.len() - 1
    }

    /// True if there is memory for the data that `tcp`, of share `number`, would hold after `segment`, when the application is ready to
    /// read `reads` bytes. If not, the segment is counted as dropped.
    pub(crate) fn has_room_for(&mut self, number: usize, tcp: &Connection, segment: &Segment, reads: u64) -> bool {
        let needs = tcp.would_hold(segment, reads);
        let has_room = needs == 0 || needs <= self.free + self.shares[number].receive.saturating_sub(tcp.memory().receive_buffered);
        self.is_short |= !has_room;
        self.drops += u64::from(!has_room);
        has_room
    }

    /// Sets aside the memory that `tcp`, of share `number`, asks for after an event, as far as there is memory. Returns true if that is
    /// more than it had.
    pub(crate) fn provide(&mut self, number: usize, tcp: &mut Connection) -> bool {
        let has = tcp.memory();
        let before = self.shares[number];
        let mut share = before;
        let (send, receive) = asks(&share, tcp, &has, self.is_tight);
        // Written data stays until it is acknowledged.
        let written = has.send_buffered.min(share.send.saturating_sub(has.acked - share.acked));
        share.acked = has.acked;
        share.send = self.resize(share.send, self.fair(send, &share).max(written));
        let fair = self.fair(receive, &share);
        let limit = if share.keeps {
            share.receive = self.resize(share.receive, fair.max(has.receive_committed()));
            share.receive
        } else {
            share.receive = self.resize(share.receive, has.receive_buffered);
            assert!(share.receive == has.receive_buffered, "data was taken in for which there is no memory");
            self.level.max(share.least)
        };
        self.shares[number] = share;
        tcp.set_memory_limit(share.send, limit);
        share.send > before.send || share.receive > before.receive
    }

    fn fair(&self, ask: u64, share: &Share) -> u64 {
        ask.min(self.level).max(share.least)
    }

    /// Resizes a part from `from` to `to`, as far as memory is free; returns its new size.
    fn resize(&mut self, from: u64, to: u64) -> u64 {
        if to <= from {
            self.free += from - to;
            return to;
        }
        let more = (to - from).min(self.free);
        self.free -= more;
        self.is_short |= more < to - from;
        from + more
    }

    /// Counts what `tcp`, of share `number`, has promised and holds. The next look may come earlier for it, [`SOONEST`] from now.
    pub(crate) fn account(&mut self, now: Time, number: usize, tcp: &Connection) {
        let (has, share) = (tcp.memory(), &mut self.shares[number]);
        let (buffered, promised) = (has.send_buffered + has.receive_buffered, has.promised);
        if buffered != share.buffered {
            self.buffered.set(now, self.buffered.value - share.buffered + buffered);
            share.buffered = buffered;
        }
        if promised != share.promised {
            self.promised.set(now, self.promised.value - share.promised + promised);
            share.promised = promised;
        }
        // A connection could not have what it asked for, and by the fair share could have.
        if self.is_short && self.level == u64::MAX {
            self.next_look = self.next_look.min(now + SOONEST);
        }
    }

    /// Returns the bytes promised, buffered and wasted up to `now`, and the packets lost.
    pub(crate) fn totals(&self, now: Time) -> MemoryTotals {
        let gauges = [&self.promised, &self.buffered, &self.wasted];
        MemoryTotals { integrals: gauges.map(|of| of.integral(now)), peaks: gauges.map(|of| of.peak), drops: self.drops }
    }

    /// Time of the next look at all connections.
    pub(crate) fn next_look(&self) -> Time {
        self.next_look
    }

    /// Returns the endpoint of each share.
    pub(crate) fn members(&self) -> impl Iterator<Item = usize> {
        self.shares.iter().map(|share| share.member)
    }

    /// Looks at all connections, which `tcp` gives by the number of their endpoint: computes the fair share, and samples the wasted memory.
    /// `outstanding` is, for each share, the bytes that the other end has sent and that are not acknowledged. Returns the endpoints that
    /// may now have more than before.
    pub(crate) fn look<'a>(&mut self, now: Time, tcp: impl Fn(usize) -> &'a Connection, outstanding: &[u64]) -> Vec<usize> {
        self.next_look = now + PERIOD;
        self.is_short = false;
        let wasted = self.shares.iter().zip(outstanding).map(|(share, coming)| {
            let has = tcp(share.member).memory();
            // Bytes written and not sent, and bytes promised with nothing on its way to them.
            has.send_buffered.saturating_sub(has.outstanding) + has.promised.saturating_sub(*coming)
        });
        let wasted = wasted.sum();
        let before = self.level;
        self.is_tight = false;
        self.level = level(self.size, &mut self.wishes(&tcp));
        if self.level < u64::MAX {
            self.is_tight = true;
            self.level = level(self.size, &mut self.wishes(&tcp));
        }
        self.wasted.set(now, wasted);
        if self.level == u64::MAX && before == u64::MAX { Vec::new() } else { self.members().collect() }
    }

    /// Returns the bytes that all the buffers ask for.
    fn wishes<'a>(&self, tcp: &impl Fn(usize) -> &'a Connection) -> Vec<u64> {
        let of = |share: &Share| {
            let end = tcp(share.member);
            let (send, receive) = asks(share, end, &end.memory(), self.is_tight);
            [send.max(share.least), receive.max(share.least)]
        };
        self.shares.iter().flat_map(of).collect()
    }

    /// Checks the memory at the end of a run: memory set aside and free memory add up to all, all held data fits, and the counts are right.
    pub(crate) fn audit<'a>(&self, tcp: impl Fn(usize) -> &'a Connection) {
        let set_aside: u64 = self.shares.iter().map(|share| share.send + share.receive).sum();
        assert_eq!(set_aside + self.free, self.size, "memory set aside + free = all");
        let held = |has: MemoryUse| has.send_buffered + has.receive_buffered;
        let held: u64 = self.shares.iter().map(|share| held(tcp(share.member).memory())).sum();
        assert_eq!(held, self.buffered.value, "bytes held = bytes counted");
        assert!(self.buffered.peak <= self.size, "{} bytes in {} of memory", self.buffered.peak, self.size);
    }
}

/// Returns the bytes that a connection asks for, to send and to receive.
fn asks(share: &Share, tcp: &Connection, has: &MemoryUse, is_tight: bool) -> (u64, u64) {
    // An application that does not fill its buffer has no use for a larger one.
    let send = if has.send_buffered < has.send_buffer && !has.writer_waits { has.send_buffered } else { has.send_wanted };
    // A window that has never received data gets its least where memory is scarce: on a server, much memory is promised to connections that
    // only listen.
    let is_used = tcp.bytes_delivered() > 0 || has.receive_buffered > 0;
    (send, if is_used || !is_tight { has.receive_wanted } else { share.least })
}

/// Returns the max-min fair share of `size` among `wishes`: the least of each wish and the share add up to `size`. `u64::MAX` if all wishes
/// can be met.
fn level(size: u64, wishes: &mut [u64]) -> u64 {
    wishes.sort_unstable();
    let (mut left, mut n) = (size, wishes.len() as u64);
    for wish in wishes {
        if left / n < *wish {
            return left / n;
        }
        left -= *wish;
        n -= 1;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fair_share_is_max_min() {
        // Wishes of 2 and 6 are met. The rest of 30 is two times 11.
        assert_eq!(level(30, &mut [20, 2, 40, 6]), 11);
        assert_eq!(level(68, &mut [20, 2, 40, 6]), u64::MAX);
        assert_eq!(level(67, &mut [20, 2, 40, 6]), 39);
        assert_eq!(level(30, &mut []), u64::MAX);
    }

    proptest! {
        #[test]
        fn nothing_is_left_over_and_nobody_has_more_than_it_asks_for(size in 0_u64..10_000, wishes in prop::collection::vec(0_u64..2000, 1..30)) {
            let level = level(size, &mut wishes.clone());
            let used: u64 = wishes.iter().map(|wish| *wish.min(&level)).sum();
            prop_assert!(used <= size);
            prop_assert!(level == u64::MAX || size - used < wishes.len() as u64);
        }
    }

    #[test]
    fn a_gauge_has_the_mean_and_the_peak() {
        let mut gauge = Gauge::default();
        let at = |ps| Time::from_ps(ps);
        gauge.set(at(10), 5);
        gauge.set(at(20), 2);
        assert_eq!((gauge.integral(at(30)), gauge.peak), (5 * 10 + 2 * 10, 5));
    }
}
