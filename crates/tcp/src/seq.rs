//! Sequence numbers and timestamps: 32 bits on the wire, where they wrap; sequence offsets are 64 bits inside, and do not.
//!
//! Offset 0 of a stream is its SYN, offset 1 its first byte.

use longfat_core::time::Duration;

/// The offset that wire number `seq` stands for: the one closest to `near` in a stream that began at `initial`
/// (RFC 9293 §3.4: comparisons are modulo 2^32, so anything within 2^31 of `near` is told apart).
#[inline]
pub(super) fn unwrap(initial: u32, near: u64, seq: u32) -> u64 {
    let difference = seq.wrapping_sub(initial).wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(difference))
}

/// The wire number of `offset` in a stream that began at `initial`.
#[inline]
pub(super) fn wrap(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// RFC 7323 §5.5: after 24 days a timestamp says nothing.
pub(super) const TIMESTAMP_LIFE: Duration = Duration::from_secs(24 * 86_400);

/// Returns true if timestamp `a` is older than `b` (RFC 7323 §5.2, modulo 2^32).
#[inline]
pub(super) fn timestamp_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_wrapped_offset_comes_back(initial: u32, near in 0..(1u64 << 40), step in -(1i64 << 30)..(1i64 << 30)) {
            let offset = near.saturating_add_signed(step);
            prop_assert_eq!(unwrap(initial, near, wrap(initial, offset)), offset);
        }
    }
}
