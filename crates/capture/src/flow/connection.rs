//! A connection: its two ends, its handshake, and where the capture was taken.

use super::clock::Clock;
use super::way::{STAMPS, Way};
use crate::read::{Address, Packet};
use longfat_core::packet::flags;

/// Where a capture was taken, as seen by the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// At the sender, or less than a tenth of the round trip from it.
    Sender,
    /// At the receiver, as near.
    Receiver,
    /// In between.
    Between,
    /// There is nothing to tell by.
    Unknown,
}

impl Point {
    /// Its word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Point::Sender => "sender",
            Point::Receiver => "receiver",
            Point::Between => "between",
            Point::Unknown => "unknown",
        }
    }
}

/// A connection. The way `0` is that of the end that opened it, as far as the capture shows.
#[derive(Debug)]
pub struct Connection {
    /// From 0, by the first packet.
    pub number: u64,
    pub ends: [Address; 2],
    pub ways: [Way; 2],
    pub first: i64,
    pub last: i64,
    /// Packets, copies left out.
    pub packets: u64,
    /// Packets captured before the one that stands before them.
    pub backwards: u64,
    pub clock: Clock,
    syn_ack: Option<i64>,
    is_established: bool,
}

impl Connection {
    pub fn new(number: u64, packet: &Packet) -> Connection {
        let is_answer = packet.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK;
        let ends = if is_answer { [packet.to, packet.from] } else { [packet.from, packet.to] };
        Connection {
            number,
            ends,
            ways: Default::default(),
            first: packet.time,
            last: packet.time,
            packets: 0,
            backwards: 0,
            clock: Clock::default(),
            syn_ack: None,
            is_established: false,
        }
    }

    /// Whether `packet` opens another connection between the same ends.
    pub fn is_over(&self, packet: &Packet) -> bool {
        let side = usize::from(packet.from != self.ends[0]);
        let is_syn = packet.flags & (flags::SYN | flags::ACK) == flags::SYN;
        let was_closed = self.ways.iter().any(|way| way.fin || way.reset);
        is_syn && self.ways[side].isn != Some(packet.seq) && (was_closed || self.is_established || self.ways[side].isn.is_none())
    }

    /// One more packet of it.
    pub fn add(&mut self, packet: &Packet) {
        let side = usize::from(packet.from != self.ends[0]);
        self.packets += 1;
        self.backwards += u64::from(packet.time < self.last);
        self.last = self.last.max(packet.time);
        self.clock.note(packet.time);
        self.ways[side].clear = self.clock.clear();
        self.ways[1 - side].clear = self.clock.clear();
        if packet.flags & flags::ACK != 0 {
            let scale = self.scale(side);
            self.ways[1 - side].knows_edge = scale.is_some();
            self.ways[1 - side].acknowledged(packet, scale.unwrap_or(0));
            if let Some((value, _)) = packet.options.timestamps {
                self.ways[1 - side].acked_with(packet.time, value);
            }
        }
        let agreed = self.agreed();
        self.ways[side].sent(packet, agreed);
        if !self.is_established {
            self.handshake(packet, side);
        }
    }

    /// SYN, SYN-ACK and ACK: the first round trips of both parts of the path. Of a SYN sent twice nothing is known.
    fn handshake(&mut self, packet: &Packet, side: usize) {
        let is_syn = packet.flags & flags::SYN != 0;
        let is_ack = packet.flags & flags::ACK != 0;
        match (is_syn, is_ack, side) {
            (true, true, 1) => {
                if let (Some(syn), 1, None) = (self.ways[0].syn_time, self.ways[0].syns, self.syn_ack) {
                    self.ways[1].near.add((packet.time - syn).max(0));
                    self.syn_ack = Some(packet.time);
                }
            }
            (false, true, 0) => {
                if let (Some(syn), Some(syn_ack), 1) = (self.ways[0].syn_time, self.syn_ack, self.ways[1].syns) {
                    self.ways[0].near.add((packet.time - syn_ack).max(0));
                    self.ways[0].sample(syn_ack, syn_ack - syn);
                    self.ways[1].sample(packet.time, packet.time - syn_ack);
                }
                self.is_established = true;
            }
            (false, ..) => self.is_established = true,
            _ => {}
        }
    }

    /// Whether both SYNs were captured: then it is known what was agreed.
    pub fn has_handshake(&self) -> bool {
        self.ways.iter().all(|way| way.isn.is_some())
    }

    /// Whether each segment carries timestamps.
    pub fn has_timestamps(&self) -> bool {
        self.ways.iter().all(|way| way.timestamps)
    }

    /// The longest payload that both agreed on.
    pub fn agreed(&self) -> Option<u32> {
        let [Some(one), Some(other)] = [self.ways[0].mss, self.ways[1].mss] else { return None };
        let options = if self.has_timestamps() { STAMPS } else { 0 };
        Some(u32::from(one.min(other)).saturating_sub(options).max(1))
    }

    /// By how much the window field of the end `side` is shifted; none where the SYNs were not captured.
    pub fn scale(&self, side: usize) -> Option<u8> {
        if !self.has_handshake() {
            return None;
        }
        let [Some(_), Some(_)] = [self.ways[0].window_scale, self.ways[1].window_scale] else { return Some(0) };
        self.ways[side].window_scale
    }

    /// The way that carries more data; of one that was not captured, what was acknowledged of it counts.
    pub fn main(&self) -> usize {
        let carried = |way: &Way| way.counts.bytes.max(way.acked.saturating_sub(way.acked_first.unwrap_or(way.acked)));
        usize::from(carried(&self.ways[1]) > carried(&self.ways[0]))
    }

    /// Where the capture was taken, of the data that goes `side`'s way.
    pub fn point(&self, side: usize) -> Point {
        let way = &self.ways[side];
        if !way.far.is_known() || !way.near.is_known() {
            return Point::Unknown;
        }
        let (near, far) = (way.near.min.max(0) as f64, way.far.min.max(0) as f64);
        let share = near / (near + far).max(1.0);
        if near + far == 0.0 {
            Point::Unknown
        } else if share < 0.1 {
            Point::Sender
        } else if share > 0.9 {
            Point::Receiver
        } else {
            Point::Between
        }
    }

    /// Nothing more comes.
    pub fn finish(&mut self) {
        for way in &mut self.ways {
            way.finish(self.last);
        }
    }
}
