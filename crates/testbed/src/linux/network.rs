//! Network between the hosts: the experiment's own links, on a clock that the emulator reads. The emulator tells it the time and the
//! packets that arrive. Its events happen at the picosecond at which they would have happened, however late it is told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;

use longfat_core::link::Link;
use longfat_core::packet::{Direction, Line, Packet, PacketId, Packets};
use longfat_core::queue::{DropReason, Party, QueueLog, discard};
use longfat_core::time::Time;
use longfat_model::Experiment;
use longfat_model::made::{self, Moves};
use longfat_model::route::Routes;
use longfat_record::trace::{Event, EventKind, Offsets, PacketEvent, PacketKind, PacketLog};

use crate::linux::frame::{Header, TCP, Tuple, number, segment, tcp_segment, tos};
use crate::linux::frames::Frames;

#[cfg(test)]
mod tests;

/// Mark in place of a link: the packet has come to its host.
const END: u32 = u32::MAX;
/// Mark in place of a flow: a packet of a connection that the experiment does not know.
pub const UNKNOWN: u32 = u32::MAX;

/// A packet that has come to its host.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Time of the delivery.
    pub at: Time,
    /// Number of the host.
    pub host: u32,
    /// Bytes of the packet, in [`Frames`].
    pub frame: u32,
    /// Type of service octet, if it has changed on the way; `None`: it has not.
    pub tos: Option<u8>,
}

/// Path through the network that packets of one connection take.
#[derive(Clone, Copy, Debug)]
struct Route {
    /// Flow of the experiment, or [`UNKNOWN`].
    flow: u32,
    way: Direction,
    /// Cursor with which its packets begin.
    start: u32,
}

/// Network of links and queues, with the packets in them.
pub struct Network {
    /// Time of the last event.
    now: Time,
    /// Links, in the order of the experiment.
    pub links: Vec<Link>,
    /// Packets in queues and on wires.
    pub packets: Packets,
    /// Packets sent by each link, and not yet arrived.
    wires: Vec<Line>,
    /// Time at which each link next has something to do, and all of these in order. An entry that differs from its link's time is out of
    /// date.
    next: Vec<Time>,
    agenda: BinaryHeap<Reverse<(Time, u32)>>,
    /// Link for which a packet waits at each cursor, or [`END`]; and the number of its route.
    hops: Vec<u32>,
    route_of: Vec<u32>,
    routes: Vec<Route>,
    known: HashMap<Tuple, u32>,
    /// Host of each address; and the links between two hosts.
    host_of: BTreeMap<u32, u32>,
    paths: HashMap<(u32, u32), Option<Vec<u32>>>,
    /// Nodes of the experiment that are hosts here.
    nodes: Vec<usize>,
    topology: longfat_model::Network,
    moves: Moves,
    /// The group of each flow.
    groups: Vec<Arc<str>>,
    /// Links whose queues share a memory with each link's own, itself among them; empty if none does.
    sharing: Vec<Vec<u32>>,
    /// Log of packet events.
    pub log: Log,
    /// Packets that have arrived and are to be handed over.
    pub ready: Vec<Delivery>,
    /// Packets that arrived and were not for any host here.
    pub strays: u64,
    /// Links crossed so far.
    pub crossings: u64,
}

/// Log of the actions of queues and links on packets.
pub struct Log {
    /// Bytes of the packets.
    pub frames: Frames,
    /// Drops and marks, if the experiment records events.
    pub events: Vec<Event>,
    records: bool,
    /// Events of packets, if the experiment records them.
    pub rows: Option<PacketLog>,
    /// Packets dropped of each flow.
    pub dropped: Vec<u64>,
    /// Offsets of the sequence numbers of each flow and direction.
    streams: Vec<[Offsets; 2]>,
    flow_of: Vec<(u32, Direction)>,
    link: u32,
}

impl Log {
    /// Records an event of the packet `id` at this link, and a row, if asked for. Returns the number of its flow.
    fn note(&mut self, now: Time, id: PacketId, packets: &Packets, kind: EventKind) -> u32 {
        let (flow, way) = self.flow_of[packets[id].route as usize];
        if self.records && flow != UNKNOWN {
            let offsets = self.streams[flow as usize][way as usize];
            let seq = Header::of(self.frames.get(packets.segment(id).seq)).map_or(0, |header| offsets.of(header.seq));
            self.events.push(Event { time: now, kind, flow, link: Some(self.link), seq });
        }
        let of_packet = if let EventKind::Dropped(reason) = kind { PacketKind::Dropped(reason) } else { PacketKind::Marked };
        self.row(now, id, packets, of_packet, Some(self.link));
        flow
    }

    /// Records a row for an event of the packet `id`, at `link` or at an end, if packets are recorded.
    #[inline]
    fn row(&mut self, now: Time, id: PacketId, packets: &Packets, kind: PacketKind, link: Option<u32>) {
        if self.rows.is_some() {
            self.write_row(now, id, packets, kind, link);
        }
    }

    #[cold]
    fn write_row(&mut self, time: Time, id: PacketId, packets: &Packets, kind: PacketKind, link: Option<u32>) {
        let packet = &packets[id];
        let (flow, way) = self.flow_of[packet.route as usize];
        let is_back = way == Direction::Back;
        let Some(rows) = self.rows.as_mut().filter(|rows| flow != UNKNOWN && rows.watches(flow, is_back, kind.place(link))) else { return };
        let frame = self.frames.get(packets.segment(id).seq);
        let Some(header) = Header::of(frame) else { return };
        let mut row = PacketEvent { time, kind, flow, is_back, link, ip_len: packet.ip_len(), ecn: packet.ecn, ..PacketEvent::default() };
        if let Some((segment, _)) = tcp_segment(frame, &header) {
            let streams = &self.streams[flow as usize];
            row.set_segment(&segment, streams[way as usize].of(segment.seq), &streams[usize::from(!is_back)]);
        } else {
            (row.seq, row.len) = (number(frame, &header).unwrap_or(0).into(), packet.len.into());
        }
        rows.push(row);
    }

    /// Records that a TCP segment of `flow` goes in direction `way`: its numbers are now those of its stream.
    fn sent(&mut self, flow: u32, way: Direction, header: &Header) {
        let offsets = &mut self.streams[flow as usize][way as usize];
        if header.syn && offsets.first_byte() != header.seq.wrapping_add(1) {
            *offsets = Offsets::from_iss(header.seq);
        }
        let end = offsets.of(header.seq) + u64::from(header.len);
        offsets.sent(end);
    }

    /// Returns, for each flow, the sequence number of its sender's first byte, as seen in its SYN.
    pub fn first_bytes(&self) -> Vec<u32> {
        self.streams.iter().map(|ways| ways[Direction::There as usize].first_byte()).collect()
    }
}

impl QueueLog for Log {
    fn dropped(&mut self, now: Time, id: PacketId, packets: &Packets, reason: DropReason) {
        let flow = self.note(now, id, packets, EventKind::Dropped(reason));
        if let Some(count) = self.dropped.get_mut(flow as usize) {
            *count += 1;
        }
        self.frames.free(packets.segment(id).seq);
    }
    fn marked(&mut self, now: Time, id: PacketId, packets: &Packets) {
        self.note(now, id, packets, EventKind::Marked);
    }
    fn duplicated(&mut self, _now: Time, id: PacketId, packets: &Packets) {
        self.frames.share(packets.segment(id).seq);
    }
}

impl Network {
    /// The network of `experiment`, whose host `i` is the node `nodes[i]` and has the address `addresses[i]`.
    pub fn new(experiment: &Experiment, nodes: &[usize], addresses: &[u32]) -> Self {
        let made::Made { links, memories } = made::links(experiment);
        let shares =
            |node: usize| experiment.network.links.iter().zip(0..).filter(move |(link, _)| link.from == node).map(|(_, number)| number);
        let sharing = |link: &longfat_model::Link| if memories.contains_key(&link.from) { shares(link.from).collect() } else { Vec::new() };
        let mtu = experiment.network.links.iter().map(|link| link.mtu).max().unwrap_or(1500);
        Network {
            now: Time::ZERO,
            packets: Packets::new(),
            wires: links.iter().map(|_| Line::new()).collect(),
            next: vec![Time::MAX; links.len()],
            agenda: BinaryHeap::new(),
            hops: Vec::new(),
            route_of: Vec::new(),
            routes: Vec::new(),
            known: HashMap::new(),
            host_of: addresses.iter().copied().zip(0..).collect(),
            paths: HashMap::new(),
            nodes: nodes.to_vec(),
            topology: experiment.network.clone(),
            moves: Moves::new(experiment),
            groups: experiment.flows.iter().map(|flow| flow.group.clone()).collect(),
            sharing: experiment.network.links.iter().map(sharing).collect(),
            log: Log {
                frames: Frames::new(mtu as usize),
                events: Vec::new(),
                records: experiment.measure.events,
                rows: PacketLog::new(experiment),
                dropped: vec![0; experiment.flows.len()],
                streams: vec![[Offsets::default(); 2]; experiment.flows.len()],
                flow_of: Vec::new(),
                link: 0,
            },
            ready: Vec::new(),
            strays: 0,
            crossings: 0,
            links,
        }
    }

    /// Assigns packets between the ends of `tuple`, in both directions, to `flow`, whose first end sends.
    pub fn expect(&mut self, tuple: Tuple, flow: u32) {
        self.route(tuple, flow, Direction::There);
        self.route(tuple.back(), flow, Direction::Back);
    }

    /// The route of a connection; a new one, where it was not expected. `None`: it leads nowhere.
    fn route(&mut self, tuple: Tuple, flow: u32, way: Direction) -> Option<u32> {
        if let Some(route) = self.known.get(&tuple) {
            return Some(*route);
        }
        let ends = (*self.host_of.get(&tuple.from)?, *self.host_of.get(&tuple.to)?);
        let (topology, nodes) = (&self.topology, &self.nodes);
        let path = self.paths.entry(ends).or_insert_with(|| {
            let path = Routes::new(topology).path(nodes[ends.0 as usize], nodes[ends.1 as usize]);
            path.map(|links| links.into_iter().map(|link| link as u32).collect())
        });
        let path = path.as_ref().filter(|path| !path.is_empty())?;
        let (number, start) = (self.routes.len() as u32, self.hops.len() as u32);
        // The hosts of a connection are known even if the experiment does not know the connection.
        let group = self.groups.get(flow as usize).map_or("", |group| group);
        let hosts = [ends.0, ends.1].map(|host| topology.nodes[nodes[host as usize]].name.as_str());
        self.moves.tell(&mut self.links, path, start, &Party { group, hosts });
        self.hops.extend(path.iter().copied().chain([END]));
        self.route_of.resize(self.hops.len(), number);
        self.log.flow_of.resize(self.hops.len(), (flow, way));
        self.routes.push(Route { flow, way, start });
        self.known.insert(tuple, number);
        Some(number)
    }

    /// Takes in a packet in `frame` from a host at `now`. Everything before has been done ([`Network::advance`]).
    pub fn enter(&mut self, now: Time, frame: u32) {
        let header = Header::of(self.log.frames.get(frame));
        let Some((header, number)) = header.and_then(|header| Some((header, self.route(header.tuple, UNKNOWN, Direction::There)?))) else {
            self.strays += 1;
            self.log.frames.free(frame);
            return;
        };
        let Route { flow, way, start } = self.routes[number as usize];
        if header.tuple.protocol == TCP && flow != UNKNOWN {
            self.log.sent(flow, way, &header);
        }
        // The segment stands for the bytes: its sequence number says where they are.
        let segment = segment(self.log.frames.get(frame), &header, frame);
        let mut packet = Packet::new(now, start, header.ecn, &segment);
        (packet.header_len, packet.dscp) = (header.header_len, header.dscp);
        let id = self.packets.insert(way, packet, segment);
        self.now = self.now.max(now);
        self.log.row(now, id, &self.packets, PacketKind::Sent, None);
        self.hop(now, id);
    }

    /// Moves the packet `id` to the next link of its path, or delivers it at the end.
    #[inline]
    fn hop(&mut self, now: Time, id: PacketId) {
        let cursor = self.packets[id].route as usize;
        let link = self.hops[cursor];
        if link == END {
            return self.deliver(now, id);
        }
        let link = self.moves.at(link, now);
        self.crossings += 1;
        self.make_room(link, now);
        self.log.link = link;
        self.log.row(now, id, &self.packets, PacketKind::Queued, Some(link));
        self.links[link as usize].offer(now, id, &mut self.packets, &mut self.log);
        self.settle(link);
    }

    /// Removes the packets that have left by `now` from the other queues that share a memory with the queue in front of `link`.
    #[inline]
    fn make_room(&mut self, link: u32, now: Time) {
        for at in 0..self.sharing[link as usize].len() {
            let other = self.sharing[link as usize][at];
            self.log.link = other;
            self.links[other as usize].advance_before(now, &mut self.packets, &mut self.log);
            self.settle(other);
        }
    }

    fn deliver(&mut self, at: Time, id: PacketId) {
        let packet = self.packets[id];
        if packet.corrupted {
            self.links[self.log.link as usize].count.drops[DropReason::Corrupted as usize] += 1;
            return discard(at, id, DropReason::Corrupted, &mut self.packets, &mut self.log);
        }
        self.log.row(at, id, &self.packets, PacketKind::Delivered, None);
        let frame = self.packets.segment(id).seq;
        let header = Header::of(self.log.frames.get(frame)).expect("it was one when it came");
        let host = self.host_of[&header.tuple.to];
        self.packets.remove(id);
        let has_changed = (packet.dscp, packet.ecn) != (header.dscp, header.ecn);
        self.ready.push(Delivery { at, host, frame, tos: has_changed.then(|| tos(packet.dscp, packet.ecn)) });
    }

    /// Takes what the link has sent, and notes when it has something to do.
    #[inline]
    fn settle(&mut self, number: u32) {
        let at = number as usize;
        let link = &mut self.links[at];
        while let Some(id) = link.take_sent(&self.packets) {
            self.wires[at].push(id, &mut self.packets);
        }
        let arrival = self.wires[at].first().map_or(Time::MAX, |id| self.packets[id].stamp);
        let next = arrival.min(link.due());
        if next != self.next[at] {
            self.next[at] = next;
            if next < Time::MAX {
                self.agenda.push(Reverse((next, number)));
            }
        }
    }

    /// Does all that happens up to and including `until`, in order of time.
    pub fn advance(&mut self, until: Time) {
        while let Some(&Reverse((time, number))) = self.agenda.peek()
            && time <= until
        {
            self.agenda.pop();
            self.now = self.now.max(time);
            let at = number as usize;
            if self.next[at] != time {
                continue;
            }
            self.next[at] = Time::MAX;
            let arrived = self.wires[at].first().filter(|id| self.packets[*id].stamp <= time);
            if arrived.is_some() {
                let id = self.wires[at].pop(&self.packets).expect("it is the first");
                self.links[at].count.delivered += 1;
                self.settle(number);
                self.log.link = number;
                self.hop(time, id);
            } else {
                self.log.link = number;
                self.links[at].advance_before(time, &mut self.packets, &mut self.log);
                // Packets with different delays are sent on when nothing can overtake them any more.
                self.links[at].settle(time, &mut self.packets, &mut self.log);
                self.settle(number);
            }
        }
    }

    /// Returns the time of the next event; [`Time::MAX`]: the next packet's arrival.
    pub fn next(&self) -> Time {
        self.agenda.peek().map_or(Time::MAX, |Reverse((time, _))| *time)
    }

    /// Returns every link, and its losses, up to and including `time`, for looking at it; and the time it is then, which is later where
    /// something has happened since.
    pub fn catch_up(&mut self, time: Time) -> Time {
        self.advance(time);
        let now = self.now.max(time);
        for (number, link) in self.links.iter_mut().enumerate() {
            self.log.link = number as u32;
            link.advance_before(now, &mut self.packets, &mut self.log);
            link.settle(now, &mut self.packets, &mut self.log);
        }
        (0..self.links.len() as u32).for_each(|link| self.settle(link));
        now
    }
}
