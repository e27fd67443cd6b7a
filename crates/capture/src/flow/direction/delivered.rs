//! Times at which a sender learns that data it sent at some time has arrived (RFC 8985 section 6.2: `RACK.xmit_ts`).

use std::collections::VecDeque;

/// Times that are kept: of 64 round trips.
const MOST: usize = 2048;
/// Acknowledgments within this share of a round trip are one.
const SHARE: i64 = 32;

/// The newest transmission that is known to have arrived, over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivered {
    /// Send time and end in the stream of data, and the time at which its sender learned of its arrival. Both grow.
    list: VecDeque<((i64, u64), i64)>,
}

impl Delivered {
    /// Records that the sender learns at `learned` that data sent at `sent.0`, up to `sent.1` of the stream, has arrived, on a path of
    /// `rtt` ns.
    pub(crate) fn note(&mut self, sent: (i64, u64), learned: i64, rtt: i64) {
        match self.list.back_mut() {
            Some((newest, _)) if sent <= *newest => {}
            Some((newest, since)) if learned - *since < rtt / SHARE => *newest = sent,
            _ => {
                if self.list.len() == MOST {
                    self.list.pop_front();
                }
                self.list.push_back((sent, learned));
            }
        }
    }

    /// Returns when the sender learned that data sent behind `sent` had arrived: later, or at the same time and further in the stream.
    pub(crate) fn learned(&self, sent: (i64, u64)) -> Option<i64> {
        let place = self.list.partition_point(|(newest, _)| *newest <= sent);
        self.list.get(place).map(|(_, learned)| *learned)
    }
}

#[cfg(test)]
mod tests {
    use super::Delivered;

    #[test]
    fn the_first_answer_to_something_later_counts() {
        let mut delivered = Delivered::default();
        delivered.note((10, 9), 1010, 1000);
        delivered.note((500, 1), 1500, 1000);
        // An older transmission says nothing new; one that is learned of at nearly the same time belongs to it.
        delivered.note((400, 5), 1600, 1000);
        delivered.note((510, 2), 1510, 1000);
        delivered.note((900, 3), 2000, 1000);
        let learned = [(0, 9), (10, 8), (10, 9), (505, 9), (510, 2), (900, 3)].map(|sent| delivered.learned(sent));
        assert_eq!(learned, [Some(1010), Some(1010), Some(1500), Some(1500), Some(2000), None]);
    }
}
