//! Inputs: the packets on their way from one stage to another, in lines that belong to neither.

use std::ops::{Index, IndexMut};

use longfat_core::packet::{Line, PacketId, Packets};
use longfat_core::rng::Rng;
use longfat_core::time::Time;

use super::merge::{Arrival, Batch};

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
    /// Arrivals by several inputs in one order: room used again and again.
    pub batch: Batch,
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

    /// Puts the packets that arrive up to `until` by the inputs in `waiting` into the batch. Inputs with more packets stay in `waiting`.
    /// Returns the time of the next of those.
    pub(crate) fn gather(&mut self, waiting: &mut Vec<InputId>, until: Time, packets: &Packets) -> Time {
        let Inputs { all, batch, .. } = self;
        // The first input goes first where time and rank are equal, whichever began to wait first.
        waiting.sort();
        let mut next = Time::MAX;
        waiting.retain(|of| {
            let input = &mut all[of.0 as usize];
            let before = batch.len();
            while let Some(id) = input.line.first() {
                let time = packets[id].stamp;
                if time > until {
                    next = next.min(time);
                    break;
                }
                input.line.pop(packets);
                let rank = input.tie.as_mut().map_or(input.rank, |tie| tie.rank(time));
                batch.push(Arrival { time, rank, id });
            }
            input.delivered += (batch.len() - before) as u64;
            !input.line.is_empty()
        });
        next
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
