//! Merging what comes to a stage by several inputs, each of which is in order.

use std::hint::select_unpredictable;

use longfat_core::packet::PacketId;
use longfat_core::time::Time;

/// A packet that comes: when, its rank among those of that instant, and itself.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub time: Time,
    pub rank: u32,
    pub id: PacketId,
}

impl Arrival {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.as_ps()) << 32 | u128::from(self.rank)
    }
}

/// Arrivals, input after input. Room that is used again and again.
#[derive(Debug, Default)]
pub struct Batch {
    arrivals: Vec<Arrival>,
    /// Where each input ends.
    ends: Vec<usize>,
    merged: Vec<Arrival>,
}

impl Batch {
    /// One more arrival by the same input, not before the last one.
    #[inline]
    pub fn push(&mut self, arrival: Arrival) {
        self.arrivals.push(arrival);
    }

    /// What comes after this comes by another input.
    #[inline]
    pub fn end_input(&mut self) {
        if self.ends.last().copied().unwrap_or(0) < self.arrivals.len() {
            self.ends.push(self.arrivals.len());
        }
    }

    /// How many arrivals there are.
    pub fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// All of them by time, then by rank; those that have both in common in the order of their inputs, and by one input in its own. None
    /// is left.
    pub fn drain(&mut self) -> impl Iterator<Item = Arrival> {
        // Each input is a run in order: merging two and two takes a step for each doubling of their number, and a sort would take more.
        while self.ends.len() > 1 {
            self.merged.clear();
            self.merged.reserve(self.arrivals.len());
            let (mut start, mut kept) = (0, 0);
            for i in (0..self.ends.len()).step_by(2) {
                let middle = self.ends[i];
                let end = self.ends.get(i + 1).copied().unwrap_or(middle);
                merge(&self.arrivals[start..middle], &self.arrivals[middle..end], &mut self.merged);
                (start, self.ends[kept]) = (end, end);
                kept += 1;
            }
            self.ends.truncate(kept);
            std::mem::swap(&mut self.arrivals, &mut self.merged);
        }
        self.ends.clear();
        self.arrivals.drain(..)
    }
}

/// Appends `a` and `b` to `to`, in order.
#[inline]
fn merge(a: &[Arrival], b: &[Arrival], to: &mut Vec<Arrival>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        // Which is first is anybody's guess.
        let takes_b = b[j].key() < a[i].key();
        to.push(select_unpredictable(takes_b, b[j], a[i]));
        j += usize::from(takes_b);
        i += usize::from(!takes_b);
    }
    to.extend_from_slice(&a[i..]);
    to.extend_from_slice(&b[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::packet::{Ecn, Packet, Packets, Segment, Way};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_stable_sort(inputs in prop::collection::vec((0_u32..4, prop::collection::vec(0_u64..20, 0..12)), 0..12)) {
            let (mut packets, mut batch, mut plain) = (Packets::new(), Batch::default(), Vec::new());
            for (rank, mut times) in inputs {
                times.sort_unstable();
                for time in times.into_iter().map(Time::from_ps) {
                    let segment = Segment::new(0, 0, 0);
                    let id = packets.insert(Way::There, Packet::new(time, 0, Ecn::NotEct, &segment), segment);
                    batch.push(Arrival { time, rank, id });
                    plain.push((time, rank, id));
                }
                batch.end_input();
            }
            plain.sort_by_key(|(time, rank, _)| (*time, *rank));
            prop_assert_eq!(batch.len(), plain.len());
            let merged: Vec<_> = batch.drain().map(|arrival| (arrival.time, arrival.rank, arrival.id)).collect();
            prop_assert_eq!(merged, plain);
            prop_assert_eq!(batch.len(), 0);
        }
    }
}
