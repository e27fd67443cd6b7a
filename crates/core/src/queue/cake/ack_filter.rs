//! The ACK filter: drops acknowledgments that are redundant, since one behind them in the same flow queue says all that they do.

use crate::packet::{Segment, flags};

/// Words of tc-cake(8), without `ack-filter` in each.
pub(super) const WORDS: &[&str] = &["off", "on", "aggressive"];

/// Returns the redundant ACKs per flow that stay in its queue; `None`: all.
pub(super) fn spare(word: &str) -> Option<usize> {
    match word {
        "off" => None,
        "aggressive" => Some(0),
        _ => Some(2),
    }
}

/// Flags that a redundant ACK may have: those of classic ECN (RFC 3168).
const ECN: u16 = flags::ECE | flags::CWR;

/// Returns true if `segment` is an ACK and nothing else: no payload, no options but timestamps and SACK blocks, no congestion header, no flag
/// with a meaning of its own.
#[inline]
pub(super) fn is_pure(segment: &Segment) -> bool {
    segment.len == 0
        && segment.has(flags::ACK)
        && segment.flags & !(flags::ACK | ECN) == 0
        && !segment.has_accecn()
        && !segment.has_congestion()
}

/// Returns true if the pure ACK `old` is redundant once `new` comes, which is behind it.
pub(super) fn is_redundant(old: &Segment, new: &Segment) -> bool {
    new.has(flags::ACK)
        && new.flags & (flags::SYN | flags::RST) == 0
        && (old.flags ^ new.flags) & (ECN | flags::AE) == 0
        && is_later(old, new)
        && says_more(old, new)
}

/// RFC 7323 section 5: PAWS discards a segment with an older timestamp than the last one, so `new` would say nothing.
fn is_later(old: &Segment, new: &Segment) -> bool {
    match (old.timestamps(), new.timestamps()) {
        (Some((old, _)), Some((new, _))) => !is_before(new, old),
        (None, None) => true,
        _ => false,
    }
}

/// Returns true if `new` acknowledges all that `old` does, and more. An equal ACK is a duplicate ACK, which counts.
fn says_more(old: &Segment, new: &Segment) -> bool {
    let is_known = |block: (u32, u32)| !is_before(new.ack, block.1) || blocks(new).any(|other| contains(other, block));
    !is_before(new.ack, old.ack)
        && !is_dsack(old)
        && blocks(old).all(is_known)
        && (is_before(old.ack, new.ack) || blocks(new).any(|block| !blocks(old).any(|other| contains(other, block))))
}

fn blocks(segment: &Segment) -> impl Iterator<Item = (u32, u32)> {
    (0..segment.sack_count()).map(|i| segment.sack(i))
}

/// RFC 2883 section 4: the first block reports a duplicate if it is under the acknowledgment, or within the second block.
fn is_dsack(segment: &Segment) -> bool {
    let mut blocks = blocks(segment);
    let Some(first) = blocks.next() else { return false };
    is_before(first.0, segment.ack) || blocks.next().is_some_and(|second| contains(second, first))
}

/// Returns true if `block` is within `other`.
const fn contains(other: (u32, u32), block: (u32, u32)) -> bool {
    !is_before(block.0, other.0) && !is_before(other.1, block.1)
}

/// Returns true if `a` is before `b`, for sequence numbers and timestamps, which wrap (RFC 9293 section 3.4).
const fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests;
