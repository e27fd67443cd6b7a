//! Merge of the arrivals at a stage by several inputs, in order.

use longfat_core::packet::PacketId;
use longfat_core::time::Time;

/// Arrival of a packet: its time, its rank among those of that instant, and the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
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

/// Arrivals, input after input, in memory that is reused.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    arrivals: Vec<Arrival>,
    room: Vec<Arrival>,
    /// Start of each bucket; in the end, its end.
    buckets: Vec<u32>,
}

impl Batch {
    /// Adds an arrival, of the same input or of the next one.
    #[inline]
    pub(crate) fn push(&mut self, arrival: Arrival) {
        self.arrivals.push(arrival);
    }

    /// Returns the number of arrivals.
    pub(crate) fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// All of them by time, then by rank; those that have both in common in the order in which they were pushed. None is left.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Arrival> {
        if self.arrivals.len() > 1 {
            self.sort();
        }
        self.arrivals.drain(..)
    }

    /// A bucket sort: each bucket holds an equal stretch of time, and there are about as many of them as arrivals. What comes to a link is
    /// spread over the time it lives through, so most buckets hold one or two, and the cost does not grow with the number of inputs.
    fn sort(&mut self) {
        let times = self.arrivals.iter().map(|arrival| arrival.time.as_ps());
        let (first, last) = times.clone().fold((u64::MAX, 0), |(first, last), time| (time.min(first), time.max(last)));
        // The stretch of a bucket is a power of two.
        let shift = u64::BITS - ((last - first) / self.arrivals.len() as u64).leading_zeros();
        let bucket = |time: u64| ((time - first) >> shift) as usize;
        self.buckets.clear();
        self.buckets.resize(bucket(last) + 1, 0);
        times.for_each(|time| self.buckets[bucket(time)] += 1);
        let mut start = 0;
        for count in &mut self.buckets {
            start += std::mem::replace(count, start);
        }
        // Every place is written below.
        self.room.resize(self.arrivals.len(), self.arrivals[0]);
        for arrival in &self.arrivals {
            let place = &mut self.buckets[bucket(arrival.time.as_ps())];
            self.room[*place as usize] = *arrival;
            *place += 1;
        }
        let mut start = 0;
        for end in self.buckets.iter().map(|end| *end as usize) {
            if end > start + 1 {
                self.room[start..end].sort_by_key(Arrival::key);
            }
            start = end;
        }
        std::mem::swap(&mut self.arrivals, &mut self.room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::packet::{Direction, Ecn, Packet, Packets, Segment};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_stable_sort(inputs in prop::collection::vec((0_u32..4, prop::collection::vec(0_u64..20, 0..12)), 0..30), unit in 1_u64..1 << 40) {
            let (mut packets, mut batch, mut plain) = (Packets::new(), Batch::default(), Vec::new());
            for (rank, mut times) in inputs {
                times.sort_unstable();
                for time in times.into_iter().map(|time| Time::from_ps(unit * time)) {
                    let segment = Segment::new(0, 0, 0);
                    let id = packets.insert(Direction::There, Packet::new(time, 0, Ecn::NotEct, &segment), segment);
                    batch.push(Arrival { time, rank, id });
                    plain.push((time, rank, id));
                }
            }
            plain.sort_by_key(|(time, rank, _)| (*time, *rank));
            prop_assert_eq!(batch.len(), plain.len());
            let merged: Vec<_> = batch.drain().map(|arrival| (arrival.time, arrival.rank, arrival.id)).collect();
            prop_assert_eq!(merged, plain);
            prop_assert_eq!(batch.len(), 0);
        }
    }
}
