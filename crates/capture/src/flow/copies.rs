//! Copies of one packet in a capture: mirror ports, several interfaces, a router that is captured on both sides.
//!
//! A retransmission has an IP identification of its own, a copy does not, whatever its delay. Without an identification (IPv6, or a sender that
//! leaves it constant) a hop limit that is less, on the same timestamps, tells a copy.

use crate::read::Packet;
use longfat_core::packet::flags;

/// Classes of fingerprints, and packets of each that are remembered: together fewer than there are identifications.
const CLASSES: usize = 1 << 13;
const KEPT: usize = 7;
/// A SYN is repeated after 1 s at the soonest (RFC 6298 section 2.1); half of it, for clocks that are not exact.
const SYN_TIMER: i64 = 500_000_000;

/// Fingerprints of one class, and which place is next. (One line of a processor's cache, which is all that most packets need.)
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Class {
    prints: [u64; KEPT],
    next: usize,
}

/// Capture time of a packet's first copy, and its hop limit then.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    time: i64,
    ttl: u8,
}

/// The newest packets of a capture.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    classes: Vec<Class>,
    seen: Vec<[Seen; KEPT]>,
}

/// The identifications that one end gives its packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identifications {
    last: Option<u16>,
    is_repeated: bool,
}

impl Identifications {
    /// The end sent a packet of identification `id`.
    pub(crate) fn note(&mut self, id: u16) {
        self.is_repeated = self.last.replace(id) == Some(id);
    }

    /// Does `id` identify a packet of this end? Not if it is zero, or if this end repeats identifications.
    pub(crate) fn tell(self, id: u16) -> bool {
        id != 0 && !(self.is_repeated && self.last == Some(id))
    }
}

impl Copies {
    /// The delay behind the packet that `packet`, of an end with these identifications, is a copy of; none where it is no copy.
    pub(crate) fn delay(&mut self, packet: &Packet, ids: Identifications) -> Option<i64> {
        if self.seen.is_empty() {
            (self.classes, self.seen) = (vec![Class::default(); CLASSES], vec![Default::default(); CLASSES]);
        }
        let (print, now) = (print(packet), Seen { time: packet.time, ttl: packet.ttl });
        let place = print as usize % CLASSES;
        let class = &mut self.classes[place];
        let Some(found) = class.prints.iter().position(|one| *one == print) else {
            class.prints[class.next] = print;
            self.seen[place][class.next] = now;
            class.next = (class.next + 1) % KEPT;
            return None;
        };
        let first = &mut self.seen[place][found];
        let delay = packet.time.saturating_sub(first.time).saturating_abs();
        let has_passed_hop = packet.ttl < first.ttl && packet.options.timestamps.is_some();
        let is_soon = packet.flags & flags::SYN != 0 && delay < SYN_TIMER;
        if ids.tell(packet.id) || has_passed_hop || is_soon {
            return Some(delay);
        }
        *first = now;
        None
    }
}

/// Returns a number of everything that copies have in common.
fn print(packet: &Packet) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let (value, echo) = packet.options.timestamps.unwrap_or_default();
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let small = u64::from(packet.id) | u64::from(packet.checksum) << 16 | u64::from(packet.window) << 32 | u64::from(packet.flags) << 48;
    let words = [pair(packet.seq, packet.ack), pair(value, echo), small, packet.len.into()];
    let mixed = packet.from.words().into_iter().chain(packet.to.words()).chain(words);
    let print = mixed.fold(0, |print: u64, word| (print.rotate_left(5) ^ word).wrapping_mul(ODD));
    // (0 is no packet.)
    (print ^ (print >> 32)).max(1)
}
