//! Inputs: the packets on their way from one stage to another, in lines that belong to neither.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::{Index, IndexMut};

use longfat_core::packet::{Line, PacketId, Packets};
use longfat_core::rng::Rng;
use longfat_core::time::Time;

/// Number of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InputId(u32);

/// Packets that come to a stage from one source, in order of time.
#[derive(Debug)]
pub(crate) struct Input {
    /// The stage it leads to, by its place in the order of a sweep.
    pub to: usize,
    /// Number among the inputs of that stage, if that is a host or a port.
    pub at: usize,
    /// The link by which packets come; `None` if an endpoint sends them.
    pub from: Option<u32>,
    /// The packets, each stamped with the time at which it comes.
    pub line: Line,
    /// Packets that the stage has taken and that `from` has not counted yet.
    pub delivered: u64,
    /// Order of arrivals at one time: the number of the link by which they come, or that of the endpoint that sends them, after all links.
    pub rank: u32,
    /// Random tie-break, with random ties, if the rank is that of a link.
    pub tie: Option<Box<Tie>>,
}

impl Input {
    /// An input by which nothing has come yet.
    pub(crate) fn new(to: usize, from: Option<u32>, rank: u32) -> Self {
        Input { to, at: 0, from, line: Line::new(), delivered: 0, rank, tie: None }
    }

    /// Returns the place of the next arrival by this input, number `of`.
    #[inline]
    fn head(&mut self, of: InputId, packets: &Packets) -> Option<Place> {
        let time = packets[self.line.first()?].stamp;
        Some(of.place(time, self.tie.as_mut().map_or(self.rank, |tie| tie.rank(time))))
    }

    /// Takes the packets whose places are before `bound`.
    #[inline]
    fn run(&mut self, of: InputId, bound: Place, packets: &Packets) -> Line {
        let Input { line, rank, tie, .. } = self;
        match tie {
            None => line.take_while(packets, |packet| of.place(packet.stamp, *rank) < bound),
            Some(tie) => line.take_while(packets, |packet| of.place(packet.stamp, tie.rank(packet.stamp)) < bound),
        }
    }
}

/// Place of an arrival among all: its time, its rank, and the number of the input, from the highest bits down.
type Place = u128;

impl InputId {
    /// Returns the place of an arrival by this input.
    #[inline]
    fn place(self, time: Time, rank: u32) -> Place {
        Place::from(time.as_ps()) << 64 | Place::from(rank) << 32 | Place::from(self.0)
    }

    /// Returns the input of an arrival, and its time.
    fn of(place: Place) -> (InputId, Time) {
        (InputId(place as u32), Time::from_ps((place >> 64) as u64))
    }
}

/// Ranks of arrivals by one input where ties between links are broken at random. Each instant has a rank of its own, drawn from the input's
/// own stream: it does not depend on how much is done at once.
#[derive(Debug)]
pub(crate) struct Tie {
    rng: Rng,
    instant: Time,
    rank: u32,
}

impl Tie {
    /// Ranks from the stream `rng`.
    pub(crate) fn new(rng: Rng) -> Self {
        Tie { rng, instant: Time::MAX, rank: 0 }
    }

    /// Returns the rank of arrivals at `instant`, below those of endpoints that wake.
    fn rank(&mut self, instant: Time) -> u32 {
        if instant != self.instant {
            (self.instant, self.rank) = (instant, (self.rng.next_u64() >> 33) as u32);
        }
        self.rank
    }
}

/// All inputs.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    all: Vec<Input>,
    /// Inputs in which nothing waited before this turn.
    pub fresh: Vec<InputId>,
    /// First arrivals by several inputs, the next one on top: room used again and again.
    heads: BinaryHeap<Reverse<Place>>,
}

impl Inputs {
    /// Adds an input.
    pub(crate) fn add(&mut self, input: Input) -> InputId {
        self.all.push(input);
        InputId(self.all.len() as u32 - 1)
    }

    /// Returns all inputs, in order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Input> {
        self.all.iter_mut()
    }

    /// Returns all inputs with their numbers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (InputId, &Input)> {
        self.all.iter().enumerate().map(|(number, input)| (InputId(number as u32), input))
    }

    /// Records that the packet `id` will arrive by the input `to` at the time of its stamp.
    #[inline(always)]
    pub(crate) fn put(&mut self, to: InputId, id: PacketId, packets: &mut Packets) {
        let input = &mut self.all[to.0 as usize];
        if input.line.is_empty() {
            self.fresh.push(to);
        }
        input.line.push(id, packets);
    }

    /// Appends all packets of `line` to the input `to`.
    #[inline]
    pub(crate) fn append(&mut self, to: InputId, line: &mut Line, packets: &mut Packets) {
        let input = &mut self.all[to.0 as usize];
        if input.line.is_empty() && !line.is_empty() {
            self.fresh.push(to);
        }
        input.line.append(line, packets);
    }

    /// Takes the packets that arrive up to `until` by the inputs in `waiting`, in order of their places. Inputs with more packets stay in
    /// `waiting`. Returns the packets, and the arrival of the next one.
    ///
    /// Packets of one input go in runs, each up to the first arrival by another input.
    pub(crate) fn merge(&mut self, waiting: &mut Vec<InputId>, until: Time, packets: &mut Packets) -> (Line, Time) {
        let Inputs { all, heads, .. } = self;
        // Behind every place of that time.
        let end = InputId(u32::MAX).place(until, u32::MAX);
        heads.extend(waiting.drain(..).filter_map(|of| all[of.0 as usize].head(of, packets)).map(Reverse));
        let mut line = Line::new();
        while let Some(of) = heads.peek().filter(|head| head.0 < end).map(|head| InputId::of(head.0).0) {
            // The second in order is one of the two below the top.
            let bound = heads.as_slice().iter().skip(1).take(2).fold(end, |bound, head| bound.min(head.0));
            let input = &mut all[of.0 as usize];
            let mut run = input.run(of, bound, packets);
            input.delivered += run.len() as u64;
            line.append(&mut run, packets);
            let mut top = heads.peek_mut().expect("it has a head");
            match input.head(of, packets) {
                Some(head) => *top = Reverse(head),
                None => drop(PeekMut::pop(top)),
            }
        }
        let next = heads.peek().map_or(Time::MAX, |head| InputId::of(head.0).1);
        waiting.extend(heads.drain().map(|head| InputId::of(head.0).0));
        (line, next)
    }
}

impl Index<InputId> for Inputs {
    type Output = Input;
    #[inline]
    fn index(&self, id: InputId) -> &Input {
        &self.all[id.0 as usize]
    }
}

impl IndexMut<InputId> for Inputs {
    #[inline]
    fn index_mut(&mut self, id: InputId) -> &mut Input {
        &mut self.all[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longfat_core::packet::{Direction, Ecn, Packet, Segment};
    use proptest::prelude::*;

    proptest! {
        /// Whatever has come so far: by time, by rank, by input, and then in the order in which they stand.
        #[test]
        fn packets_come_in_order_of_their_places(
            inputs in prop::collection::vec((0_u32..4, prop::collection::vec(0_u64..20, 0..12)), 0..30),
            stops in prop::collection::vec(0_u64..20, 0..4),
            unit in 1_u64..1 << 40,
        ) {
            let (mut packets, mut all, mut waiting, mut plain) = (Packets::new(), Inputs::default(), Vec::new(), Vec::new());
            for (rank, mut times) in inputs {
                let of = all.add(Input::new(0, None, rank));
                times.sort_unstable();
                for time in times.into_iter().map(|time| Time::from_ps(unit * time)) {
                    let segment = Segment::new(0, 0, 0);
                    let id = packets.insert(Direction::There, Packet::new(time, 0, Ecn::NotEct, &segment), segment);
                    all.put(of, id, &mut packets);
                    plain.push((time, rank, id));
                }
            }
            // The input that began to wait last is the first.
            waiting.extend(all.fresh.drain(..).rev());
            plain.sort_by_key(|(time, rank, _)| (*time, *rank));
            for stop in stops.into_iter().map(|stop| Time::from_ps(unit * stop)).chain([Time::MAX]) {
                let (merged, next) = all.merge(&mut waiting, stop, &mut packets);
                let later = plain.split_off(plain.partition_point(|(time, ..)| *time <= stop));
                prop_assert!(merged.iter(&packets).eq(plain.iter().map(|(.., id)| *id)));
                prop_assert_eq!(next, later.first().map_or(Time::MAX, |(time, ..)| *time));
                plain = later;
            }
            prop_assert!(waiting.is_empty());
        }
    }
}
