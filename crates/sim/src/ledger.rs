//! The ledger: what became of every packet that left the network otherwise than at its endpoint, by flow and by link.

use longfat_core::packet::{Packet, PacketId, Packets, Segment, flags};
use longfat_core::queue::{DropReason, QueueLog};
use longfat_core::time::Time;
use longfat_core::traffic::HEADERS;
use longfat_model::Experiment;
use longfat_record::trace::{AckSample, Event, EventKind, Offsets, PacketEvent, PacketKind, PacketLog};
use longfat_tcp::{Stats, TcpInfo};

/// Packets, and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub packets: u64,
    pub bytes: u64,
}

impl Tally {
    /// Counts a packet of `bytes`.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Drops by flow, the number of packets in the network, and the events, if asked for.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Endpoint that sends at each route cursor. Endpoint `2 f` sends for flow `f`, `2 f + 1` answers.
    origin: Vec<u32>,
    dropped: Vec<Tally>,
    /// Packets that links carried twice.
    duplicated: Vec<Tally>,
    in_network: u64,
    in_network_max: u64,
    /// `None` if the experiment does not record them.
    events: Option<Vec<Event>>,
    /// `None` if the experiment does not record them.
    packets: Option<Box<PacketLog>>,
    /// `None` if the experiment does not record them.
    acks: Option<Vec<AckSample>>,
    /// True if any of these three is recorded.
    keeps_any: bool,
    /// Streams of the endpoints, if any of these three is recorded.
    streams: Vec<Stream>,
}

/// Data that an endpoint has sent, as far as events show it.
#[derive(Debug)]
struct Stream {
    /// Offsets of its sequence numbers.
    offsets: Offsets,
    /// Fast retransmits, timeouts, recoveries ended and undone that have been recorded.
    noted: [u64; 4],
    /// True if it is TCP. Other traffic has packet numbers in place of sequence numbers.
    is_tcp: bool,
    /// Offset at which the retransmissions since the last note begin.
    again: Option<u64>,
    /// Event of a fast retransmit whose segment has not been sent yet.
    awaits: Option<usize>,
}

impl Ledger {
    /// Returns an empty ledger. `initial` are the initial sequence numbers of the endpoints.
    pub(crate) fn new(origin: Vec<u32>, initial: &[u32], experiment: &Experiment) -> Self {
        let (events, packets) = (experiment.measure.events, PacketLog::new(experiment).map(Box::new));
        let keeps_any = events || packets.is_some() || experiment.measure.acks;
        let ends = experiment.flows.iter().flat_map(|flow| [flow.traffic.is_tcp(); 2]);
        let stream = |(&iss, is_tcp)| Stream { offsets: Offsets::from_iss(iss), noted: [0; 4], is_tcp, again: None, awaits: None };
        Ledger {
            origin,
            dropped: vec![Tally::default(); initial.len() / 2],
            duplicated: vec![Tally::default(); initial.len() / 2],
            in_network: 0,
            in_network_max: 0,
            events: events.then(Vec::new),
            packets,
            acks: experiment.measure.acks.then(Vec::new),
            keeps_any,
            streams: if keeps_any { initial.iter().zip(ends).map(stream).collect() } else { Vec::new() },
        }
    }

    /// `endpoint` put `packet` into the network now.
    #[inline]
    pub(crate) fn entered(&mut self, now: Time, endpoint: usize, packet: &Packet, segment: &Segment) {
        self.in_network += 1;
        self.in_network_max = self.in_network_max.max(self.in_network);
        if self.keeps_any {
            self.note_entry(now, endpoint, packet, segment);
        }
    }

    #[cold]
    fn note_entry(&mut self, now: Time, endpoint: usize, packet: &Packet, segment: &Segment) {
        let stream = &mut self.streams[endpoint];
        // Data that goes with a SYN comes after it.
        let first = segment.seq.wrapping_add(u32::from(segment.len > 0 && segment.has(flags::SYN)));
        let start = stream.offsets.of(first);
        let end = stream.offsets.of(first.wrapping_add(u32::from(segment.len)));
        if segment.len > 0 && start < stream.offsets.next() {
            match (stream.awaits.take(), &mut self.events) {
                (Some(event), Some(events)) => events[event].seq = start,
                _ => stream.again = stream.again.or(Some(start)),
            }
        }
        stream.offsets.sent(end);
        self.packet(now, PacketKind::Sent, None, packet, segment);
    }

    /// `packet` has reached its endpoint now.
    #[inline]
    pub(crate) fn left(&mut self, now: Time, packet: &Packet, segment: &Segment) {
        self.in_network -= 1;
        if self.packets.is_some() {
            self.packet(now, PacketKind::Delivered, None, packet, segment);
        }
    }

    /// The packet `id` has come to the queue of `link`.
    #[inline]
    pub(crate) fn queued(&mut self, now: Time, id: PacketId, packets: &Packets, link: u32) {
        if self.packets.is_some() {
            self.packet(now, PacketKind::Queued, Some(link), &packets[id], packets.segment(id));
        }
    }

    /// Records an event of `packet`, at a link or at an end, if the packet is watched.
    #[cold]
    fn packet(&mut self, time: Time, kind: PacketKind, link: Option<u32>, packet: &Packet, segment: &Segment) {
        let Some(log) = &mut self.packets else { return };
        // Endpoint that has sent the packet.
        let from = self.origin[packet.route as usize] as usize;
        let (flow, is_back, ip_len) = ((from / 2) as u32, from % 2 == 1, packet.ip_len());
        if !log.watches(flow, is_back, kind.place(link)) {
            return;
        }
        let mut row = PacketEvent { time, kind, flow, is_back, link, ip_len, ecn: packet.ecn, ..PacketEvent::default() };
        if self.streams[from].is_tcp {
            row.set_segment(segment, self.streams[from].offsets.of(segment.seq), &self.streams[from ^ 1].offsets);
        } else {
            (row.seq, row.len) = (segment.seq.into(), ip_len - HEADERS);
        }
        log.push(row);
    }

    /// A packet was dropped, at `link`.
    #[inline]
    pub(crate) fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason, link: u32) {
        self.in_network -= 1;
        let packet = &packets[id];
        let flow = self.origin[packet.route as usize] / 2;
        self.dropped[flow as usize].add(packet.ip_len());
        self.packet_event(now, id, packets, EventKind::Dropped(reason), link);
    }

    /// Counts a second packet like `packet`.
    fn duplicated(&mut self, packet: &Packet) {
        self.in_network += 1;
        self.in_network_max = self.in_network_max.max(self.in_network);
        self.duplicated[self.origin[packet.route as usize] as usize / 2].add(packet.ip_len());
    }

    fn packet_event(&mut self, time: Time, id: PacketId, packets: &Packets, kind: EventKind, link: u32) {
        let of_packet = if let EventKind::Dropped(reason) = kind { PacketKind::Dropped(reason) } else { PacketKind::Marked };
        self.packet(time, of_packet, Some(link), &packets[id], packets.segment(id));
        if self.events.is_some() {
            let endpoint = self.origin[packets[id].route as usize];
            let seq = self.streams[endpoint as usize].offsets.of(packets.segment(id).seq);
            self.event(Event { time, kind, flow: endpoint / 2, link: Some(link), seq });
        }
    }

    /// Records `event`, if events are asked for.
    pub(crate) fn event(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    /// An event for each thing worth one that `endpoint` has counted in its `stats` since the last call.
    pub(crate) fn note(&mut self, time: Time, endpoint: usize, stats: &Stats) {
        let now = [stats.fast_retransmits, stats.timeouts, stats.recoveries_ended, stats.spurious_recoveries];
        let kinds = [EventKind::FastRetransmit, EventKind::Timeout, EventKind::RecoveryEnd, EventKind::RecoveryUndone];
        let stream = &mut self.streams[endpoint];
        let (before, again) = (std::mem::replace(&mut stream.noted, now), stream.again.take());
        for (i, kind) in kinds.into_iter().enumerate() {
            for _ in before[i]..now[i] {
                let seq = again.filter(|_| kind == EventKind::FastRetransmit).unwrap_or(sent_so_far(stats));
                self.event(Event { time, kind, flow: (endpoint / 2) as u32, link: None, seq });
                // Pacing, the processor or the interface may hold it back.
                if let (EventKind::FastRetransmit, None, Some(events)) = (kind, again, &self.events) {
                    self.streams[endpoint].awaits = Some(events.len() - 1);
                }
            }
        }
    }

    /// True if events are recorded.
    #[inline]
    pub(crate) fn keeps_events(&self) -> bool {
        self.events.is_some()
    }

    /// True if packets are recorded.
    #[inline]
    pub(crate) fn keeps_packets(&self) -> bool {
        self.packets.is_some()
    }

    /// True if ACKs are recorded.
    #[inline]
    pub(crate) fn keeps_acks(&self) -> bool {
        self.acks.is_some()
    }

    /// Records the state of the sender `endpoint`, to which a packet comes.
    #[cold]
    pub(crate) fn acknowledged(&mut self, now: Time, endpoint: usize, info: &TcpInfo) {
        // The SYN came first.
        let acked = info.memory.acked.saturating_sub(1);
        if let Some(acks) = &mut self.acks {
            acks.push(AckSample {
                time: now,
                flow: (endpoint / 2) as u32,
                acked,
                sent: acked + info.outstanding,
                cwnd: info.cwnd,
                ssthresh: info.ssthresh,
                rwnd: info.rwnd,
                srtt_s: info.srtt.as_secs_f64(),
            });
        }
    }

    /// Returns the endpoint that sends at each route cursor.
    pub(crate) fn origin(&self) -> &[u32] {
        &self.origin
    }

    /// Returns the endpoint to which a packet is addressed.
    pub(crate) fn receiver(&self, packet: &Packet) -> usize {
        (self.origin[packet.route as usize] ^ 1) as usize
    }

    /// Returns the drops of `flow`, in both directions.
    pub(crate) fn dropped_of(&self, flow: usize) -> Tally {
        self.dropped[flow]
    }

    /// Returns the duplicates of `flow`, in both directions.
    pub(crate) fn duplicated_of(&self, flow: usize) -> Tally {
        self.duplicated[flow]
    }

    /// Returns the packets in queues and on wires now, and the dropped packets whose drop has not been found yet.
    pub(crate) fn in_network(&self) -> u64 {
        self.in_network
    }

    /// Returns the most packets there were in the network at once.
    pub(crate) fn in_network_max(&self) -> u64 {
        self.in_network_max
    }

    /// Returns the events in order of time; those of one instant by flow, events at its ends first, then by link, by kind and by place in
    /// the stream. (They are not recorded in order: an event is found later than it happens, and how much later means nothing.)
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        let mut events = self.events.take().unwrap_or_default();
        events.sort_by_key(|event| (event.time, event.flow, event.link, event.kind, event.seq));
        events
    }

    /// Returns the senders as their ACKs found them, in order of time, then flow.
    pub(crate) fn take_acks(&mut self) -> Vec<AckSample> {
        let mut acks = self.acks.take().unwrap_or_default();
        acks.sort_by_key(|ack| (ack.time, ack.flow));
        acks
    }

    /// Returns the events of packets.
    pub(crate) fn take_packets(&mut self) -> Vec<PacketEvent> {
        self.packets.take().map_or_else(Vec::new, |log| log.into_rows())
    }
}

/// Returns how far an endpoint has sent: the recovery point of RFC 6675 §5.
pub(crate) fn sent_so_far(stats: &Stats) -> u64 {
    stats.bytes_sent - stats.bytes_retransmitted
}

/// The log of one link's queue.
pub(crate) struct LinkLog<'a> {
    pub link: u32,
    pub ledger: &'a mut Ledger,
}

impl QueueLog for LinkLog<'_> {
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason) {
        self.ledger.dropped(now, id, packets, reason, self.link);
    }
    fn marked(&mut self, now: Time, id: PacketId, packets: &Packets) {
        self.ledger.packet_event(now, id, packets, EventKind::Marked, self.link);
    }
    fn duplicated(&mut self, _now: Time, id: PacketId, packets: &Packets) {
        self.ledger.duplicated(&packets[id]);
    }
}
