//! Log of packets: the choice of recorded packets and their rows, in one code for every backend.

use longfat_core::packet::{Segment, flags};

use super::packets::{PacketEvent, PacketKind};
use longfat_model::{Experiment, Watched};

/// Rows in one piece of memory. Rows never move once written, so that a thread in real time is not stopped to copy them all.
const PIECE: usize = 1 << 14;

/// The sequence numbers of one stream, 32 bits on the wire, as offsets from its first byte (RFC 9293 section 3.4). The SYN and the first byte are
/// both at 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offsets {
    first_byte: u32,
    sent: u64,
}

impl Offsets {
    /// Returns the offsets of a stream whose SYN has the initial sequence number `iss`.
    #[must_use]
    pub fn from_iss(iss: u32) -> Self {
        Offsets { first_byte: iss.wrapping_add(1), sent: 0 }
    }
    /// Returns the offset of `seq`: among all possible ones, the nearest to what has been sent so far.
    #[must_use]
    pub fn of(&self, seq: u32) -> u64 {
        let ahead = seq.wrapping_sub(self.first_byte).wrapping_sub(self.sent as u32) as i32;
        self.sent.saturating_add_signed(i64::from(ahead))
    }
    /// The stream was sent up to the offset `end`.
    pub fn sent(&mut self, end: u64) {
        self.sent = self.sent.max(end);
    }
    /// Returns the next offset to be sent.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.sent
    }
    /// Returns the sequence number of the first byte.
    #[must_use]
    pub fn first_byte(&self) -> u32 {
        self.first_byte
    }
}

/// Place of a packet event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketPlace {
    /// At the end that sends the packet.
    Sender,
    /// At the end to which the packet is addressed.
    Receiver,
    /// At a link, by its number.
    Link(u32),
}

/// Log of packet events, for the packets that the experiment records (`measure.packets`).
#[derive(Debug)]
pub struct PacketLog {
    rows: Vec<Vec<PacketEvent>>,
    /// True for each link, for both ends of each flow, and for each flow, if its packets are recorded.
    links: Vec<bool>,
    ends: Vec<[bool; 2]>,
    flows: Vec<bool>,
    /// True for each link behind an output port of a switch.
    ports: Vec<bool>,
}

impl PacketLog {
    /// Returns an empty log; `None` if `experiment` records no packets.
    #[must_use]
    pub fn new(experiment: &Experiment) -> Option<Self> {
        let watched = experiment.measure.packets?;
        let Experiment { network, flows, .. } = experiment;
        let links = network.links.iter().enumerate().map(|(i, link)| match watched {
            Watched::All | Watched::Flows(..) => true,
            Watched::Link(one) => i == one,
            Watched::Node(node) => link.from == node || link.to == node,
        });
        let end = |at: usize| match watched {
            Watched::All | Watched::Flows(..) => true,
            Watched::Link(_) => false,
            Watched::Node(node) => at == node,
        };
        let ends = flows.iter().map(|flow| [end(flow.from), end(flow.to)]);
        let of = (0..flows.len()).map(|i| if let Watched::Flows(first, end) = watched { (first..end).contains(&i) } else { true });
        let ports = network.links.iter().map(|link| link.discard.is_some()).collect();
        Some(PacketLog { rows: Vec::new(), links: links.collect(), ends: ends.collect(), flows: of.collect(), ports })
    }

    /// True if events at `place` to packets of `flow` are recorded; `is_back`: to packets from its receiver to its sender.
    #[must_use]
    pub fn watches(&self, flow: u32, is_back: bool, place: PacketPlace) -> bool {
        let flow = flow as usize;
        self.flows[flow]
            && match place {
                PacketPlace::Link(link) => self.links[link as usize],
                PacketPlace::Sender => self.ends[flow][usize::from(is_back)],
                PacketPlace::Receiver => self.ends[flow][usize::from(!is_back)],
            }
    }

    /// Adds a row.
    pub fn push(&mut self, row: PacketEvent) {
        if self.rows.last().is_none_or(|rows| rows.len() == PIECE) {
            self.rows.push(Vec::with_capacity(PIECE));
        }
        self.rows.last_mut().expect("one was just added").push(row);
    }

    /// Returns all rows in order of time, then kind and place. Events of one instant at one queue keep the order in which they happened.
    /// Elsewhere the order of discovery means nothing: rows are sorted by flow and place in the stream.
    #[must_use]
    pub fn into_rows(self) -> Vec<PacketEvent> {
        let mut rows = Vec::with_capacity(self.rows.iter().map(Vec::len).sum());
        self.rows.into_iter().for_each(|piece| rows.extend(piece));
        let is_in_order = |link: Option<u32>| link.is_some_and(|link| !self.ports[link as usize]);
        rows.sort_by_key(|row: &PacketEvent| {
            let rest = if is_in_order(row.link) { (0, false, 0) } else { (row.flow, row.is_back, row.seq) };
            (row.time, row.kind, row.link, rest)
        });
        rows
    }
}

impl PacketKind {
    /// Returns the place of this kind of event; `link` is its link, if known.
    #[must_use]
    pub fn place(self, link: Option<u32>) -> PacketPlace {
        match (link, self) {
            (Some(link), _) => PacketPlace::Link(link),
            (None, PacketKind::Delivered) => PacketPlace::Receiver,
            (None, _) => PacketPlace::Sender,
        }
    }
}

impl PacketEvent {
    /// Takes over what `segment` says, whose sequence number is at `seq`; `other` has the offsets of the other side's stream.
    pub fn set_segment(&mut self, segment: &Segment, seq: u64, other: &Offsets) {
        self.seq = seq;
        self.ack = segment.has(flags::ACK).then(|| other.of(segment.ack));
        (self.len, self.flags, self.window) = (segment.len.into(), segment.flags, segment.window);
        for (i, block) in self.sack.iter_mut().take(segment.sack_count()).enumerate() {
            let (left, right) = segment.sack(i);
            *block = [left, right].map(|edge| Some(other.of(edge)));
        }
        self.timestamps = segment.timestamps();
        (self.mss, self.window_scale, self.sack_permitted) = (segment.mss(), segment.window_scale(), segment.sack_permitted());
        self.accecn = segment.accecn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// An offset within 2^31 of the data sent is found again, whatever the initial sequence number, and however often the 32 bits wrap.
        #[test]
        fn offsets_are_found_again_when_numbers_wrap(iss: u32, sent in 0_u64..1 << 40, back in 0_u64..1 << 31) {
            let mut offsets = Offsets::from_iss(iss);
            offsets.sent(sent);
            offsets.sent(sent / 2);
            prop_assert_eq!(offsets.next(), sent);
            let at = sent.saturating_sub(back);
            prop_assert_eq!(offsets.of(offsets.first_byte().wrapping_add(at as u32)), at);
            let ahead = sent + back;
            prop_assert_eq!(offsets.of(iss.wrapping_add(1).wrapping_add(ahead as u32)), ahead);
        }
    }
}
