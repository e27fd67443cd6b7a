//! A switch that buffers at its inputs: each input has a buffer and a policy of its own, and in a slot one cell crosses to the output,
//! from the buffers in turn.
//!
//! RF95 §2 says that its results are the same whether a switch buffers at its outputs or at its inputs, and does not describe the latter;
//! this is the plainest way. Cells for other outputs are in nobody's way, as everywhere here.

use std::collections::VecDeque;

use super::{Outcome, Port, after, input};
use crate::packet::PacketId;
use crate::time::Time;

/// A packet that is whole when its last cell has left: the packet, its route, and whether it is marked.
type Last = (PacketId, u32, bool);

/// The buffer of one input.
#[derive(Default)]
pub(super) struct InputBuffer {
    /// Cells that wait: since when, in ps, and what leaves with each.
    cells: VecDeque<(u64, Option<Last>)>,
    came: u64,
    crossed: u64,
    /// Ends of frames here, each as its number among the cells that came.
    ends: VecDeque<u64>,
    /// Time at which the last cell left it, in ps.
    empty_since: u64,
}

impl InputBuffer {
    pub(super) fn len(&self) -> u64 {
        self.cells.len() as u64
    }

    /// Returns the time at which it was last seen to hold a cell, as of `now`.
    pub(super) fn silent_from(&self, now: Time) -> Time {
        if self.cells.is_empty() { Time::from_ps(self.empty_since) } else { now }
    }

    /// Returns the packets that leave with their last cell.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = (PacketId, u32, bool)> {
        self.cells.iter().filter_map(|(_, last)| last.map(|(packet, route, _)| (packet, route, false)))
    }

    /// Notes that the cell that came last is the end of a packet that will be whole.
    pub(super) fn ends_with(&mut self, last: Last) {
        self.cells.back_mut().expect("its last cell has just come").1 = Some(last);
    }

    /// Returns a slot before which the next end of a frame does not cross.
    pub(super) fn end_of_frame(&self, slot: u64) -> u64 {
        self.ends.front().map_or(input::NEVER, |number| slot + (number - self.crossed - 1))
    }
}

impl Port {
    /// Does one slot: arriving cells are let in or not, and a cell crosses.
    pub(super) fn pass_slot_of_inputs(&mut self) {
        let mut ready = self.ready;
        while ready != 0 {
            self.take_in(ready.trailing_zeros() as usize);
            ready &= ready - 1;
        }
        // A line slower than the switch makes one cell wait at the output until the line is free.
        if self.waiting > 0 && self.line.free <= self.slot_end() + self.slot_time {
            self.cross();
        }
    }

    /// Takes the next cell of `input` to its buffer.
    fn take_in(&mut self, input: usize) {
        let run = self.inputs[input].take();
        let is_end = run.cells == 0 && run.is_end;
        let queued = self.buffers[input].len();
        let (passes, whole) = self.judge(&run, input, queued);
        if passes {
            let entered = self.slot_end();
            let buffer = &mut self.buffers[input];
            buffer.cells.push_back((entered, None));
            buffer.came += 1;
            if is_end {
                buffer.ends.push_back(buffer.came);
            }
            self.waiting += 1;
            self.entered += u128::from(entered);
            self.count.passed += 1;
            self.count.queue_max = self.count.queue_max.max(queued + 1);
            if let Some(occupancy) = self.occupancy.get_mut(input) {
                occupancy.come(run.channel, queued);
            }
        }
        self.end_cell(input, &run, whole);
    }

    /// Takes the next cell of the next buffer that has one across to the output.
    fn cross(&mut self) {
        let holds = self.buffers.iter().enumerate().fold(0, |bits, (i, buffer)| bits | u64::from(!buffer.cells.is_empty()) << i);
        self.turn = after(holds, self.turn);
        let slot_end = self.slot_end();
        let buffer = &mut self.buffers[self.turn as usize];
        let (entered, last) = buffer.cells.pop_front().expect("it holds a cell");
        buffer.crossed += 1;
        if buffer.ends.front() == Some(&buffer.crossed) {
            buffer.ends.pop_front();
        }
        buffer.empty_since = slot_end;
        self.waiting -= 1;
        self.entered -= u128::from(entered);
        let start = self.line.free.max(slot_end);
        if start > self.line.free {
            self.line.busy_from = start;
        }
        self.line.free = start + self.line.cell_time;
        self.count.waits += u128::from(start - entered);
        if let Some((packet, route, is_marked)) = last {
            self.outcomes.push(Outcome::Whole { packet, route, leaves: self.leaves(), is_marked });
        }
    }
}
