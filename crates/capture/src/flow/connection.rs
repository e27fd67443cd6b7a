//! A connection: its two ends, its handshake, and where the capture was taken.

use super::clock::Clock;
use super::direction::{Direction, STAMPS};
use crate::read::{Address, Packet};
use longfat_core::packet::flags;

/// Place where a capture was taken, as seen by the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// At the sender, or less than a tenth of the round trip from it.
    Sender,
    /// At the receiver, or less than a tenth of the round trip from it.
    Receiver,
    /// Between both, farther from either.
    Between,
    /// Unknown: no round trips were seen.
    Unknown,
}

impl Point {
    /// Returns its word in reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Point::Sender => "sender",
            Point::Receiver => "receiver",
            Point::Between => "between",
            Point::Unknown => "unknown",
        }
    }
}

/// Connection in a capture. Direction `0` is that of the end that opened it, as far as the capture shows.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Number from 0, in the order of first packets.
    pub number: u64,
    pub ends: [Address; 2],
    pub directions: [Direction; 2],
    pub first: i64,
    pub last: i64,
    /// Packets, copies left out.
    pub packets: u64,
    /// Packets with an earlier capture time than the packet before them in the file.
    pub backwards: u64,
    pub clock: Clock,
    syn_ack: Option<i64>,
    is_established: bool,
}

impl Connection {
    pub(crate) fn new(number: u64, packet: &Packet) -> Connection {
        let is_answer = packet.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK;
        let ends = if is_answer { [packet.to, packet.from] } else { [packet.from, packet.to] };
        Connection::between(number, ends, packet.time)
    }

    /// A connection without a packet, from `time` on.
    pub(crate) fn between(number: u64, ends: [Address; 2], time: i64) -> Connection {
        Connection {
            number,
            ends,
            directions: Default::default(),
            first: time,
            last: time,
            packets: 0,
            backwards: 0,
            clock: Clock::default(),
            syn_ack: None,
            is_established: false,
        }
    }

    /// True if `packet` opens another connection between the same ends.
    pub(crate) fn is_over(&self, packet: &Packet) -> bool {
        let side = usize::from(packet.from != self.ends[0]);
        let is_syn = packet.flags & (flags::SYN | flags::ACK) == flags::SYN;
        let was_closed = self.directions.iter().any(|direction| direction.closing.fin || direction.closing.reset);
        is_syn
            && self.directions[side].handshake.isn != Some(packet.seq)
            && (was_closed || self.is_established || self.directions[side].handshake.isn.is_none())
    }

    /// Adds a packet.
    pub(crate) fn add(&mut self, packet: &Packet) {
        let side = usize::from(packet.from != self.ends[0]);
        self.packets += 1;
        self.backwards += u64::from(packet.time < self.last);
        self.last = self.last.max(packet.time);
        self.clock.note(packet.time);
        self.directions[side].rates.clear = self.clock.clear();
        self.directions[1 - side].rates.clear = self.clock.clear();
        if packet.flags & flags::ACK != 0 {
            let scale = self.scale(side);
            self.directions[1 - side].sender.knows_edge = scale.is_some();
            self.directions[1 - side].acknowledged(packet, scale.unwrap_or(0));
            if let Some((value, _)) = packet.options.timestamps {
                self.directions[1 - side].acked_with(packet.time, value);
            }
        }
        let agreed = self.agreed();
        self.directions[side].sent(packet, agreed);
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
                if let (Some(syn), 1, None) = (self.directions[0].handshake.syn_time, self.directions[0].handshake.syns, self.syn_ack) {
                    self.directions[1].rtt.near.add((packet.time - syn).max(0));
                    self.syn_ack = Some(packet.time);
                }
            }
            (false, true, 0) => {
                if let (Some(syn), Some(syn_ack), 1) =
                    (self.directions[0].handshake.syn_time, self.syn_ack, self.directions[1].handshake.syns)
                {
                    self.directions[0].rtt.near.add((packet.time - syn_ack).max(0));
                    self.directions[0].sample(syn_ack, syn_ack - syn);
                    self.directions[1].sample(packet.time, packet.time - syn_ack);
                }
                self.is_established = true;
            }
            (false, ..) => self.is_established = true,
            _ => {}
        }
    }

    /// True if both SYNs were captured. The options that both ends agreed on are then known.
    pub(crate) fn has_handshake(&self) -> bool {
        self.directions.iter().all(|direction| direction.handshake.isn.is_some())
    }

    /// True if each segment carries timestamps.
    pub(crate) fn has_timestamps(&self) -> bool {
        self.directions.iter().all(|direction| direction.handshake.timestamps)
    }

    /// Returns the longest payload that both agreed on.
    pub(crate) fn agreed(&self) -> Option<u32> {
        let [Some(one), Some(other)] = [self.directions[0].handshake.mss, self.directions[1].handshake.mss] else { return None };
        let options = if self.has_timestamps() { STAMPS } else { 0 };
        Some(u32::from(one.min(other)).saturating_sub(options).max(1))
    }

    /// Returns the window scale of the end `side`; none if the SYNs were not captured.
    pub(crate) fn scale(&self, side: usize) -> Option<u8> {
        if !self.has_handshake() {
            return None;
        }
        let [Some(_), Some(_)] = [self.directions[0].handshake.window_scale, self.directions[1].handshake.window_scale] else {
            return Some(0);
        };
        self.directions[side].handshake.window_scale
    }

    /// Returns the direction that carries more data. If its data was not captured, its acknowledged bytes count.
    pub(crate) fn main(&self) -> usize {
        let carried = |direction: &Direction| {
            direction.counts.bytes.max(direction.acked.saturating_sub(direction.acked_first.unwrap_or(direction.acked)))
        };
        usize::from(carried(&self.directions[1]) > carried(&self.directions[0]))
    }

    /// Returns the place where the capture was taken, as seen by the data of direction `side`.
    pub(crate) fn point(&self, side: usize) -> Point {
        let direction = &self.directions[side];
        if !direction.rtt.far.is_known() || !direction.rtt.near.is_known() {
            return Point::Unknown;
        }
        let (near, far) = (direction.rtt.near.min.max(0) as f64, direction.rtt.far.min.max(0) as f64);
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

    /// Ends the connection: no packets follow.
    pub(crate) fn finish(&mut self) {
        for direction in &mut self.directions {
            direction.finish(self.last);
        }
    }
}
