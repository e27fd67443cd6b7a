//! Challenge ACKs (RFC 5961): what may be an attack, or a peer that has lost its state, is answered with an ACK, from which a peer in
//! earnest learns what to say; and not too often.

use super::{Connection, Rare};
use longfat_core::time::{Duration, Time};

/// RFC 5961 §7, its example: at most so many in any such interval. Of each connection by itself (erratum 4772): a limit that is shared
/// tells an attacker of other connections.
const MOST: usize = 10;
const INTERVAL: Duration = Duration::from_secs(5);

/// Times of the last challenge ACKs.
#[derive(Clone, Debug)]
pub(super) struct Challenges {
    at: [Option<Time>; MOST],
    oldest: usize,
}

impl Challenges {
    pub(super) const NONE: Self = Challenges { at: [None; MOST], oldest: 0 };

    /// Returns true if another challenge ACK may go now, and counts it.
    fn permits(&mut self, now: Time) -> bool {
        let permitted = self.at[self.oldest].is_none_or(|at| now.since(at) >= INTERVAL);
        if permitted {
            self.at[self.oldest] = Some(now);
            self.oldest = (self.oldest + 1) % MOST;
        }
        permitted
    }
}

impl Connection {
    /// Answers with an ACK, unless there have been too many.
    #[cold]
    pub(super) fn challenge(&mut self, now: Time) {
        if self.rare.get_or_insert_with(|| Box::new(Rare::NONE)).challenges.permits(now) {
            self.ack_now = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5961 §7.
    #[test]
    fn ten_go_in_any_five_seconds() {
        let mut challenges = Challenges::NONE;
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let sent: Vec<u64> = (0..120).map(|n| 100 * n).filter(|ms| challenges.permits(at(*ms))).collect();
        let expected: Vec<u64> = (0..3).flat_map(|n| (0..10).map(move |i| 5_000 * n + 100 * i)).collect();
        assert_eq!(sent, expected);
    }
}
