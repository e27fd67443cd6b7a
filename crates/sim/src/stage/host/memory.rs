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

/// From one look at all connections to the next: the fair share is worked out anew, and what is wasted is sampled. Between two looks
/// a buffer grows only as far as memory is free, at once.
pub const PERIOD: Duration = Duration::from_millis(100);
/// The least time from now to a look that was not due yet.
pub const SOONEST: Duration = Duration::from_millis(10);

/// What is set aside for one end of a connection, and what it has of that.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// The number of the endpoint among those of the host.
    member: usize,
    /// Whether its window is one that is set aside.
    keeps: bool,
    send: u64,
    receive: u64,
    /// The least of either.
    least: u64,
    /// Bytes acknowledged when `send` was set.
    acked: u64,
    /// As counted in the pool's gauges.
    buffered: u64,
    promised: u64,
}

/// The memory of one host.
#[derive(Debug)]
pub struct Pool {
    size: u64,
    /// Neither set aside nor taken.
    free: u64,
    /// The fair share; `u64::MAX` while all can have what they ask for.
    level: u64,
    /// Whether there is too little to give windows what they ask for before anything has come by them.
    is_tight: bool,
    /// What all windows ask for at the start, and the least of the send buffers.
    asked: u64,
    shares: Vec<Share>,
    /// Somebody has asked for more than was free since the last look.
    is_short: bool,
    /// When it next looks at all connections.
    next_look: Time,
    pub promised: Gauge,
    pub buffered: Gauge,
    pub wasted: Gauge,
    /// Packets that found no memory.
    pub drops: u64,
}

/// A quantity over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
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

    /// Over time, up to `now`, in byte picoseconds.
    fn integral(&self, now: Time) -> u128 {
        self.sum + u128::from(self.value) * u128::from(now.since(self.since).as_ps())
    }
}

impl Pool {
    /// So many bytes for nobody yet.
    pub fn new(size: u64) -> Self {
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

    /// One more connection ends here, at the endpoint `member` of the host, with at least `least` bytes each way. The number of its share.
    pub fn join(&mut self, member: usize, tcp: &mut Connection, least: u64) -> usize {
        let keeps = tcp.keeps_to_memory();
        let receive = if keeps { least } else { 0 };
        self.free =
            self.free.checked_sub(least + receive).expect("the experiment was checked: a pool has the least of all its connections");
        self.shares.push(Share { member, keeps, send: least, receive, least, acked: tcp.memory().acked, buffered: 0, promised: 0 });
        tcp.set_memory_limit(least, least);
        // Until the first look, as if all asked for more than there is.
        self.asked = self.asked.saturating_add(least + tcp.memory().receive_wanted.max(least));
        self.is_tight = self.asked > self.size;
        self.level = self.size / (2 * self.shares.len() as u64);
        self.shares.len() - 1
    }

    /// Whether there is memory for what `segment` would have `tcp`, of share `number`, hold, when the application is ready to read so many
    /// bytes. If not, it is counted as dropped.
    pub fn has_room_for(&mut self, number: usize, tcp: &Connection, segment: &Segment, reads: u64) -> bool {
        let needs = tcp.would_hold(segment, reads);
        let has_room = needs == 0 || needs <= self.free + self.shares[number].receive.saturating_sub(tcp.memory().receive_buffered);
        self.is_short |= !has_room;
        self.drops += u64::from(!has_room);
        has_room
    }

    /// Something has happened at `tcp`, of share `number`: sets aside for it what it asks for, as far as there is memory. Whether that
    /// is more than it had.
    pub fn provide(&mut self, number: usize, tcp: &mut Connection) -> bool {
        let has = tcp.memory();
        let before = self.shares[number];
        let mut share = before;
        let (send, receive) = asks(&share, tcp, &has, self.is_tight);
        // What is written stays until it is acknowledged.
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

    /// What was `from` becomes `to`, or as much of it as is free.
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
    pub fn account(&mut self, now: Time, number: usize, tcp: &Connection) {
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
        // Somebody could not have what it asked for, and by the fair share could have.
        if self.is_short && self.level == u64::MAX {
            self.next_look = self.next_look.min(now + SOONEST);
        }
    }

    /// What has been promised, buffered and wasted up to `now`, and what was lost.
    pub fn totals(&self, now: Time) -> MemoryTotals {
        let gauges = [&self.promised, &self.buffered, &self.wasted];
        MemoryTotals { integrals: gauges.map(|of| of.integral(now)), peaks: gauges.map(|of| of.peak), drops: self.drops }
    }

    /// When it next looks at all connections.
    pub fn next_look(&self) -> Time {
        self.next_look
    }

    /// The endpoint of each share.
    pub fn members(&self) -> impl Iterator<Item = usize> {
        self.shares.iter().map(|share| share.member)
    }

    /// Looks at all connections, which `tcp` gives by the number of their endpoint: works out the fair share, and samples what is
    /// wasted. `outstanding` says for each share how many bytes the other end has sent that are not acknowledged. The endpoints that may now
    /// have more than before.
    pub fn look<'a>(&mut self, now: Time, tcp: impl Fn(usize) -> &'a Connection, outstanding: &[u64]) -> Vec<usize> {
        self.next_look = now + PERIOD;
        self.is_short = false;
        let wasted = self.shares.iter().zip(outstanding).map(|(share, coming)| {
            let has = tcp(share.member).memory();
            // Written and not sent; promised, and nothing on its way to it.
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

    /// What all the buffers ask for.
    fn wishes<'a>(&self, tcp: &impl Fn(usize) -> &'a Connection) -> Vec<u64> {
        let of = |share: &Share| {
            let end = tcp(share.member);
            let (send, receive) = asks(share, end, &end.memory(), self.is_tight);
            [send.max(share.least), receive.max(share.least)]
        };
        self.shares.iter().flat_map(of).collect()
    }

    /// At the end of a run: what is set aside and what is free is all there is, all that is held fits, and what was counted is
    /// what there is.
    pub fn audit<'a>(&self, tcp: impl Fn(usize) -> &'a Connection) {
        let set_aside: u64 = self.shares.iter().map(|share| share.send + share.receive).sum();
        assert_eq!(set_aside + self.free, self.size, "memory set aside + free = all");
        let held = |has: MemoryUse| has.send_buffered + has.receive_buffered;
        let held: u64 = self.shares.iter().map(|share| held(tcp(share.member).memory())).sum();
        assert_eq!(held, self.buffered.value, "bytes held = bytes counted");
        assert!(self.buffered.peak <= self.size, "{} bytes in {} of memory", self.buffered.peak, self.size);
    }
}

/// What a connection asks for, to send and to receive.
fn asks(share: &Share, tcp: &Connection, has: &MemoryUse, is_tight: bool) -> (u64, u64) {
    // An application that does not fill its buffer has no use for a larger one.
    let send = if has.send_buffered < has.send_buffer && !has.writer_waits { has.send_buffered } else { has.send_wanted };
    // Where memory is scarce, a window that nothing has ever come by is left its least: much of what is promised on a server is promised
    // to those that only listen.
    let is_used = tcp.bytes_delivered() > 0 || has.receive_buffered > 0;
    (send, if is_used || !is_tight { has.receive_wanted } else { share.least })
}

/// The max-min fair share of `size` among `wishes`: the least of each wish and it add up to `size`. `u64::MAX` where all wishes can be
/// met.
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
        // 2 and 6 are met; what they leave of 30 is two times 11.
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
