//! The ledger: what became of every packet that left the network otherwise than at its endpoint, by flow and by link.

use longfat_core::packet::{PacketId, Packets, Segment};
use longfat_core::queue::{DropReason, QueueLog};
use longfat_core::tcp::Stats;
use longfat_core::time::Time;
use longfat_core::trace::{Event, EventKind};

/// Packets, and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub packets: u64,
    pub bytes: u64,
}

impl Tally {
    /// One more packet, of `bytes`.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Drops by flow, the number of packets in the network, and the events, if asked for.
#[derive(Debug)]
pub struct Ledger {
    /// For each route cursor, the endpoint that sends there. Endpoint `2 f` sends for flow `f`, `2 f + 1` answers.
    origin: Vec<u32>,
    dropped: Vec<Tally>,
    in_network: u64,
    in_network_max: u64,
    /// `None`: not asked for.
    events: Option<Vec<Event>>,
    /// With events: one for each endpoint.
    streams: Vec<Stream>,
}

/// What an endpoint has sent, as far as events tell of it.
#[derive(Debug)]
struct Stream {
    /// Its first sequence number, and how far it has sent.
    iss: u32,
    sent: u64,
    /// Fast retransmits, timeouts, recoveries ended and undone that are written down.
    noted: [u64; 4],
}

impl Ledger {
    /// Nothing yet. `initial` are the initial sequence numbers of the endpoints.
    pub fn new(origin: Vec<u32>, initial: &[u32], events: bool) -> Self {
        Ledger {
            origin,
            dropped: vec![Tally::default(); initial.len() / 2],
            in_network: 0,
            in_network_max: 0,
            events: events.then(Vec::new),
            streams: if events { initial.iter().map(|&iss| Stream { iss, sent: 0, noted: [0; 4] }).collect() } else { Vec::new() },
        }
    }

    /// `endpoint` put a packet into the network.
    #[inline]
    pub fn entered(&mut self, endpoint: usize, segment: &Segment) {
        self.in_network += 1;
        self.in_network_max = self.in_network_max.max(self.in_network);
        if self.events.is_some() {
            let end = self.offset(endpoint, segment.seq.wrapping_add(u32::from(segment.len)));
            let stream = &mut self.streams[endpoint];
            stream.sent = stream.sent.max(end);
        }
    }

    /// A packet reached its endpoint.
    #[inline]
    pub fn left(&mut self) {
        self.in_network -= 1;
    }

    /// A packet was dropped, at `link`.
    #[inline]
    pub fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason, link: u32) {
        self.in_network -= 1;
        let packet = &packets[id];
        let flow = self.origin[packet.route as usize] / 2;
        self.dropped[flow as usize].add(packet.ip_len());
        self.packet_event(now, id, packets, EventKind::Dropped(reason), link);
    }

    fn packet_event(&mut self, time: Time, id: PacketId, packets: &Packets, kind: EventKind, link: u32) {
        if self.events.is_some() {
            let endpoint = self.origin[packets[id].route as usize];
            let seq = self.offset(endpoint as usize, packets.segment(id).seq);
            self.event(Event { time, kind, flow: endpoint / 2, link: Some(link), seq });
        }
    }

    /// Records `event`, if events are asked for.
    pub fn event(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    /// An event for each thing worth one that `endpoint` has counted in its `stats` since the last call.
    pub fn note(&mut self, time: Time, endpoint: usize, stats: &Stats) {
        let now = [stats.fast_retransmits, stats.timeouts, stats.recoveries_ended, stats.spurious_recoveries];
        let kinds = [EventKind::FastRetransmit, EventKind::Timeout, EventKind::RecoveryEnd, EventKind::RecoveryUndone];
        let before = std::mem::replace(&mut self.streams[endpoint].noted, now);
        for (i, kind) in kinds.into_iter().enumerate() {
            for _ in before[i]..now[i] {
                self.event(Event { time, kind, flow: (endpoint / 2) as u32, link: None, seq: sent_so_far(stats) });
            }
        }
    }

    /// Whether events are asked for.
    #[inline]
    pub fn keeps_events(&self) -> bool {
        self.events.is_some()
    }

    /// How far into the stream of `endpoint` the sequence number is: the offset nearest to what it has sent so far
    /// (the 32 bits of the wire wrap; RFC 9293 §3.4). The SYN and the first byte are both at 0.
    fn offset(&self, endpoint: usize, seq: u32) -> u64 {
        let Stream { iss, sent, .. } = self.streams[endpoint];
        let first_byte = iss.wrapping_add(1);
        let ahead = seq.wrapping_sub(first_byte).wrapping_sub(sent as u32) as i32;
        sent.saturating_add_signed(i64::from(ahead))
    }

    /// For each route cursor, the endpoint that sends there.
    pub fn origin(&self) -> &[u32] {
        &self.origin
    }

    /// What was dropped of `flow`, both ways.
    pub fn dropped_of(&self, flow: usize) -> Tally {
        self.dropped[flow]
    }

    /// Packets in queues and on wires now, and those dropped of which that has not been found out yet.
    pub fn in_network(&self) -> u64 {
        self.in_network
    }

    /// The most there were.
    pub fn in_network_max(&self) -> u64 {
        self.in_network_max
    }

    /// The events in order of time; those of one instant by flow, what happened at its ends first, then by link, by kind and by place in
    /// the stream. (They are not written in order: what happens is found out later than it happens, and how much later says nothing.)
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut events = self.events.take().unwrap_or_default();
        events.sort_by_key(|event| (event.time, event.flow, event.link, event.kind, event.seq));
        events
    }
}

/// How far an endpoint has sent: the recovery point of RFC 6675 §5.
pub fn sent_so_far(stats: &Stats) -> u64 {
    stats.bytes_sent - stats.bytes_retransmitted
}

/// What one link counts.
#[derive(Debug, Default)]
pub struct Count {
    pub packets_in: u64,
    pub transmitted: u64,
    pub delivered: u64,
    pub lost: u64,
    pub ip_bytes: u64,
    pub wire_bytes: u64,
    /// Picoseconds of transmissions begun.
    pub busy_ps: u64,
    pub drops: [u64; DropReason::ALL.len()],
    pub marks: u64,
    /// What the queue holds. Kept here, since asking the queue would cost two calls a packet; compared at the end.
    pub backlog: u64,
    pub backlog_bytes: u64,
    pub backlog_max: u64,
    pub backlog_bytes_max: u64,
    /// Sums over the packets that waited of (when they left the queue - when they came), in ps and byte ps. A packet
    /// still there has so far only been subtracted: the sums wrap, and [`Count::waited`] sets them right.
    waited: u128,
    waited_bytes: u128,
}

impl Count {
    /// A packet came into the queue.
    #[inline]
    pub fn enter(&mut self, now: Time, len: u32) {
        self.backlog = self.backlog.wrapping_add(1);
        self.backlog_bytes = self.backlog_bytes.wrapping_add(u64::from(len));
        self.waited = self.waited.wrapping_sub(u128::from(now.as_ps()));
        self.waited_bytes = self.waited_bytes.wrapping_sub(u128::from(now.as_ps()) * u128::from(len));
    }

    /// A packet left the queue. (One that a queue drops while it passes through leaves before it is booked in.)
    #[inline]
    pub fn leave(&mut self, now: Time, len: u32) {
        self.backlog = self.backlog.wrapping_sub(1);
        self.backlog_bytes = self.backlog_bytes.wrapping_sub(u64::from(len));
        self.waited = self.waited.wrapping_add(u128::from(now.as_ps()));
        self.waited_bytes = self.waited_bytes.wrapping_add(u128::from(now.as_ps()) * u128::from(len));
    }

    /// Notes the backlog after an arrival.
    #[inline]
    pub fn note_backlog(&mut self) {
        // One by one: both maxima at once would be loaded as one, and wait for the stores of the two backlogs.
        if self.backlog > self.backlog_max {
            self.backlog_max = self.backlog;
        }
        if self.backlog_bytes > self.backlog_bytes_max {
            self.backlog_bytes_max = self.backlog_bytes;
        }
    }

    /// The integrals over time, up to `now`, of the packets and of the bytes queued, in ps.
    pub fn waited(&self, now: Time) -> (u128, u128) {
        let now = u128::from(now.as_ps());
        (self.waited.wrapping_add(now * u128::from(self.backlog)), self.waited_bytes.wrapping_add(now * u128::from(self.backlog_bytes)))
    }

    /// Packets that the queue dropped.
    pub fn queue_drops(&self) -> u64 {
        DropReason::ALL.iter().zip(self.drops).filter(|(reason, _)| is_of_queue(**reason)).map(|(_, n)| n).sum()
    }
}

fn is_of_queue(reason: DropReason) -> bool {
    matches!(reason, DropReason::Overflow | DropReason::Early | DropReason::TooBig)
}

/// The log of one link's queue.
pub struct LinkLog<'a> {
    pub link: u32,
    pub count: &'a mut Count,
    pub ledger: &'a mut Ledger,
}

impl QueueLog for LinkLog<'_> {
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason) {
        self.count.drops[reason as usize] += 1;
        if is_of_queue(reason) {
            self.count.leave(now, packets[id].ip_len());
        }
        self.ledger.dropped(now, id, packets, reason, self.link);
    }
    fn marked(&mut self, now: Time, id: PacketId, packets: &Packets) {
        self.count.marks += 1;
        self.ledger.packet_event(now, id, packets, EventKind::Marked, self.link);
    }
}
