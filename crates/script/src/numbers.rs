//! The script's numbers and the endpoint's: a script counts our sequence numbers from the SYN it expects, and our timestamps from
//! the first it expects. The other side's numbers are what the script injects.

use crate::host::ISS;
use crate::syntax::Packet;
use longfat_core::packet::{Segment, flags};
use std::collections::BTreeMap;

#[derive(Clone, Default, Debug)]
pub(crate) struct Numbers {
    /// The script's number of our SYN.
    iss: u32,
    /// Our timestamps less the script's, once one was expected.
    timestamps: Option<u32>,
    /// Our timestamp behind each of the script's, for echoes.
    echoes: BTreeMap<u32, u32>,
}

impl Numbers {
    /// A segment of the script, in the endpoint's numbers.
    pub(crate) fn inject(&self, packet: &Packet) -> Segment {
        let theirs = &packet.segment;
        let mut segment = Segment::new(theirs.seq, theirs.flags, theirs.len);
        segment.ack = if packet.ack.is_some() { self.ours(theirs.ack) } else { 0 };
        segment.window = theirs.window;
        if let Some(mss) = theirs.mss() {
            segment.set_mss(mss);
        }
        if let Some(shift) = theirs.window_scale() {
            segment.set_window_scale(shift);
        }
        if theirs.sack_permitted() {
            segment.set_sack_permitted();
        }
        if let Some((val, ecr)) = theirs.timestamps() {
            segment.set_timestamps(val, self.echo(ecr));
        }
        for i in 0..theirs.sack_count() {
            let (left, right) = theirs.sack(i);
            segment.push_sack(self.ours(left), self.ours(right));
        }
        if let Some(option) = theirs.accecn() {
            segment.set_accecn(option);
        }
        if let Some(cookie) = theirs.fast_open() {
            segment.set_fast_open(cookie);
        }
        segment
    }

    fn ours(&self, number: u32) -> u32 {
        number.wrapping_sub(self.iss).wrapping_add(ISS)
    }

    fn echo(&self, ecr: u32) -> u32 {
        self.echoes.get(&ecr).copied().unwrap_or_else(|| ecr.wrapping_add(self.timestamps.unwrap_or(0)))
    }

    /// Learns how the script counts from the first packet of its kind, before `expected` is compared with the packet that was sent.
    pub(crate) fn learn(&mut self, expected: &Packet, sent: &Segment) {
        if expected.segment.has(flags::SYN) && sent.has(flags::SYN) {
            self.iss = expected.segment.seq;
        }
        let (Some((script, _)), Some((val, _))) = (expected.segment.timestamps(), sent.timestamps()) else { return };
        self.timestamps.get_or_insert(val.wrapping_sub(script));
        self.echoes.insert(script, val);
    }

    /// A segment that was sent, in the script's numbers.
    pub(crate) fn show(&self, sent: &Segment) -> Segment {
        // A reset that refuses a SYN has no number of ours: 0 (RFC 9293 §3.10.7.1).
        let refuses = sent.has(flags::RST | flags::ACK) && sent.seq == 0;
        let mut segment = *sent;
        if !refuses {
            segment.seq = sent.seq.wrapping_sub(ISS).wrapping_add(self.iss);
        }
        if let Some((val, ecr)) = sent.timestamps() {
            segment.set_timestamps(val.wrapping_sub(self.timestamps.unwrap_or(0)), ecr);
        }
        segment
    }
}
