//! An output port of a cell switch: cells come from several inputs, wait in one buffer, and leave one after the other.
//!
//! RF95 §2 describes an output-buffered switch. Its time is cut into slots of one cell time, that of its fastest line. In a slot, at most
//! two cells come to the output, from different inputs. If more inputs have a cell, they are served in turn, and the others wait at their
//! inputs. If two cells come and there is one place, each has an equal chance of it.
//!
//! [`Port::advance`] does all slots up to a time that the caller gives; nothing happens by itself. The buffer is first in, first out, so
//! that the slot in which a cell leaves is known when it comes in: no cell is kept.

mod buffers;
mod channel;
mod coin;
mod count;
mod frames;
mod input;
mod judge;
mod stretch;
#[cfg(test)]
mod tests;

pub use count::Count;
pub use frames::{Outcome, Run};

use super::discard::{AfterLoss, CellDrop, Discard};
use crate::packet::PacketId;
use crate::queue::DropReason;
use crate::rng::Rng;
use crate::time::{Duration, Time};
use buffers::InputBuffer;
use channel::{Channel, Occupancy};
use coin::Coin;
use input::Input;

/// Most inputs of a port.
pub const MAX_INPUTS: usize = u64::BITS as usize;

/// Configuration of a port.
pub struct PortConfig {
    /// Time from one slot to the next.
    pub slot_time: Duration,
    /// Cell time of the line behind the port; at least a slot.
    pub cell_time: Duration,
    /// Cells that a buffer holds.
    pub buffer: u64,
    /// True if each input has a buffer; false if the output has one buffer. With buffers at the inputs no other switch may follow.
    pub at_inputs: bool,
    /// Cell time of the line into each input.
    pub inputs: Vec<Duration>,
    /// Channels that cross the port.
    pub channels: usize,
    /// True if another switch follows and needs the cells.
    pub is_before_switch: bool,
    /// Cells dropped after the buffer has lost one.
    pub after_loss: AfterLoss,
    /// True if the policy is told how many cells each channel has in the buffer.
    pub accounts: bool,
    /// Random stream of the port.
    pub rng: Rng,
}

/// The line behind a port, kept busy by the cells that came so far. Times are in ps.
struct Line {
    cell_time: u64,
    /// Cells in the buffer that have not begun to leave before this slot ends, and when the first of them will.
    queued: u64,
    head: u64,
    /// Time until which it is busy, and time since which it has been busy without a pause.
    free: u64,
    busy_from: u64,
}

/// One output port.
pub struct Port {
    slot_time: u64,
    buffer: u64,
    is_before_switch: bool,
    after_loss: AfterLoss,
    /// Policies, one for each buffer.
    discards: Vec<Box<dyn Discard + Send>>,
    inputs: Vec<Input>,
    /// Input buffers, one for each input; empty if the output has the buffer.
    buffers: Vec<InputBuffer>,
    /// Cells in the input buffers, and the sum of the times since when they wait, in ps.
    waiting: u64,
    entered: u128,
    channels: Vec<Channel>,
    /// Next slot to do.
    slot: u64,
    /// Inputs that have a cell in that slot, a bit for each.
    ready: u64,
    /// Inputs with a run of which cells are still to come to the output, a bit for each.
    coming: u64,
    /// Inputs to which an end of a frame may still come, a bit for each.
    ending: u64,
    /// Time at which the first of the other inputs has a cell.
    next: u64,
    /// Input that was served last.
    turn: u32,
    line: Line,
    coin: Coin,
    /// Accounts of channels, one for each buffer; empty if the policy needs none.
    occupancy: Vec<Occupancy>,
    /// Counters of the port.
    pub count: Count,
    outcomes: Vec<Outcome>,
    onward: Vec<Run>,
}

impl Port {
    /// Returns an empty port, with a policy for each of its buffers.
    pub fn new(config: PortConfig, discards: Vec<Box<dyn Discard + Send>>) -> Self {
        assert!((1..=MAX_INPUTS).contains(&config.inputs.len()) && config.buffer > 0);
        assert!(!(config.at_inputs && config.is_before_switch));
        let buffers = if config.at_inputs { config.inputs.len() } else { 1 };
        assert_eq!(discards.len(), buffers);
        assert!(!config.slot_time.is_zero() && config.cell_time >= config.slot_time);
        Port {
            slot_time: config.slot_time.as_ps(),
            line: Line { cell_time: config.cell_time.as_ps(), queued: 0, head: 0, free: 0, busy_from: 0 },
            buffer: config.buffer,
            is_before_switch: config.is_before_switch,
            after_loss: config.after_loss,
            discards,
            buffers: (0..if config.at_inputs { buffers } else { 0 }).map(|_| InputBuffer::default()).collect(),
            waiting: 0,
            entered: 0,
            inputs: config.inputs.into_iter().map(Input::new).collect(),
            channels: vec![Channel::default(); config.channels],
            slot: 0,
            ready: 0,
            coming: 0,
            ending: 0,
            next: input::NEVER,
            turn: 0,
            coin: Coin::new(config.rng),
            occupancy: (0..if config.accounts { buffers } else { 0 }).map(|_| Occupancy::new(config.channels)).collect(),
            count: Count::default(),
            outcomes: Vec::new(),
            onward: Vec::new(),
        }
    }

    /// Adds `run` to `input`, behind what came there before, and not before the time up to which the port was advanced.
    pub fn arrive(&mut self, input: usize, run: Run) {
        self.ending |= 1 << input;
        if self.inputs[input].push(run) {
            self.step_behind(input);
            self.next = self.next.min(self.inputs[input].next);
        }
    }

    /// Does the slots that began before `now`: a cell that comes at the time of a slot's beginning is in that slot.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        let end = now.as_ps().div_ceil(self.slot_time);
        while self.slot < end {
            if self.ready == 0 && self.waiting == 0 {
                let next = self.next.div_ceil(self.slot_time);
                if next >= end {
                    self.slot = end;
                    return;
                }
                self.slot = self.slot.max(next);
            }
            if self.next <= self.slot * self.slot_time {
                self.look_at_inputs();
            }
            if !self.buffers.is_empty() {
                self.pass_slot_of_inputs();
                self.slot += 1;
                continue;
            }
            self.send_cells();
            if !self.pass_stretch(end) {
                self.pass_cells();
                self.slot += 1;
            }
        }
    }

    /// Returns the inputs that have a cell in this slot.
    fn look_at_inputs(&mut self) {
        let now = self.slot * self.slot_time;
        self.next = input::NEVER;
        for i in stretch::bits(self.coming) {
            let next = self.inputs[i].next;
            if next <= now {
                self.ready |= 1 << i;
            } else {
                self.next = self.next.min(next);
            }
        }
    }

    /// Takes from the buffer the cells that begin to leave before this slot ends.
    #[inline]
    fn send_cells(&mut self) {
        let end = self.slot_end();
        if self.line.free < end + self.line.cell_time {
            self.line.queued = 0;
        }
        while self.line.queued > 0 && self.line.head < end {
            self.line.queued -= 1;
            self.line.head += self.line.cell_time;
        }
    }

    #[inline]
    fn slot_end(&self) -> u64 {
        (self.slot + 1) * self.slot_time
    }

    /// Passes the cells of one slot (RF95 §2).
    #[inline]
    fn pass_cells(&mut self) {
        let first = after(self.ready, self.turn);
        let others = self.ready & !(1 << first);
        if others == 0 {
            self.turn = first;
            return self.serve(first as usize);
        }
        let second = after(others, first);
        self.turn = second;
        let one_place = self.line.queued + 1 == self.buffer;
        let (first, second) = if one_place && self.coin.toss() { (second, first) } else { (first, second) };
        self.serve(first as usize);
        self.serve(second as usize);
    }

    /// Takes the next cell of `input` to the output.
    #[inline]
    fn serve(&mut self, input: usize) {
        let run = self.inputs[input].take();
        let is_end = run.cells == 0 && run.is_end;
        let queued = self.line.queued;
        let (passes, whole) = self.judge(&run, 0, queued);
        if passes {
            self.admit(&run, queued, is_end);
        }
        self.end_cell(input, &run, whole);
    }

    /// Moves on in `run`, the head of `input`, whose cell has just been placed.
    #[inline]
    fn end_cell(&mut self, input: usize, run: &Run, whole: bool) {
        if run.cells == 0 {
            if run.is_final {
                self.end_packet(input, run, whole);
            }
            self.step_behind(input);
        }
        let next = self.inputs[input].next;
        if next > self.slot_end() {
            self.ready &= !(1 << input);
            self.next = self.next.min(next);
        }
    }

    /// Puts the cell just taken from `run` into the buffer.
    #[inline]
    fn admit(&mut self, run: &Run, queued: u64, is_end: bool) {
        let start = self.line.free.max(self.slot_end());
        if start > self.line.free {
            self.line.busy_from = start;
        }
        if queued == 0 {
            self.line.head = start;
        }
        self.line.free = start + self.line.cell_time;
        self.line.queued = queued + 1;
        self.count.passed += 1;
        self.count.waits += u128::from(start - self.slot_end());
        self.count.queue_max = self.count.queue_max.max(self.line.queued);
        if let Some(occupancy) = self.occupancy.first_mut() {
            occupancy.come(run.channel, queued);
        }
        if self.is_before_switch {
            self.pass_on(run, self.line.free, 1, is_end);
        }
    }

    /// Ends the packet of `run`: no more of its cells will come into `input`.
    fn end_packet(&mut self, input: usize, run: &Run, whole: bool) {
        let now = Time::from_ps(self.slot * self.slot_time);
        let Run { packet, route, .. } = *run;
        let channel = &mut self.channels[run.channel as usize];
        let passed = channel.far_end.end_of_packet();
        let cause = channel.cause.take();
        let is_marked = channel.is_marked || run.is_marked;
        *self.count.packets(whole, passed, cause) += 1;
        *(if whole { &mut self.count.whole } else { &mut self.count.dead }) += u64::from(passed);
        if let (true, Some(buffer)) = (whole, self.buffers.get_mut(input)) {
            return buffer.ends_with((packet, route, is_marked));
        }
        // A packet that was merged with the rest of another frame may still be saved if the next switch drops that rest.
        if whole || (self.is_before_switch && passed == run.of) {
            if let Some(last) = self.onward.last_mut() {
                last.is_final = true;
            }
            return self.outcomes.push(Outcome::Whole { packet, route, leaves: self.leaves(), is_marked });
        }
        let is_gone = passed == 0 || !self.is_before_switch;
        if !is_gone {
            self.end_onward(run);
        }
        if !run.is_lost {
            let reason = cause.map_or(DropReason::Corrupted, CellDrop::reason);
            self.outcomes.push(Outcome::Lost { packet, route, at: now, reason, is_gone });
        } else if is_gone {
            self.outcomes.push(Outcome::Gone { packet });
        }
    }

    /// Passes `cells` cells of `run` on to the next switch; the first of them leaves at `leaves`.
    fn pass_on(&mut self, run: &Run, leaves: u64, cells: u32, is_end: bool) {
        let is_marked = self.channels[run.channel as usize].is_marked || run.is_marked;
        if let Some(last) = self.onward.last_mut()
            && !last.is_final
            && last.packet == run.packet
            && last.arrives.as_ps() + u64::from(last.cells) * self.line.cell_time == leaves
        {
            last.cells += cells;
            last.is_end = is_end;
            return;
        }
        self.onward.push(Run { cells, arrives: Time::from_ps(leaves), is_end, is_final: false, is_marked, ..*run });
    }

    /// Ends the packet of `run`, which is not whole, for the next switch.
    fn end_onward(&mut self, run: &Run) {
        let leaves = self.leaves();
        self.onward.push(Run { cells: 0, arrives: leaves, is_end: false, is_final: true, is_lost: true, ..*run });
    }

    /// Moves `input` on to its next run, if there is one. A run of no cells takes no slot.
    fn step_behind(&mut self, input: usize) {
        while let Some(run) = self.inputs[input].step() {
            self.end_packet(input, &run, false);
        }
        let bit = 1 << input;
        self.coming = if self.inputs[input].head().is_some() { self.coming | bit } else { self.coming & !bit };
    }

    /// Returns the time at which the cell that came in last will have left, or has.
    fn leaves(&self) -> Time {
        Time::from_ps(self.line.free)
    }

    /// Returns the first time to which the port must be advanced for any result: then the last cell of a frame may come to the output, or,
    /// before another switch, any cell.
    pub fn next_news(&mut self) -> Time {
        let slot = if !self.is_before_switch {
            let mut first = input::NEVER;
            let mut ending = self.ending;
            while ending != 0 {
                let i = ending.trailing_zeros();
                ending &= ending - 1;
                let end = self.inputs[i as usize].end_of_frame(self.slot, self.slot_time);
                if end == input::NEVER {
                    self.ending &= !(1 << i);
                }
                first = first.min(end);
            }
            let to_come = std::iter::once(first);
            to_come.chain(self.buffers.iter().map(|buffer| buffer.end_of_frame(self.slot))).min().unwrap_or(input::NEVER)
        } else if self.ready != 0 {
            self.slot
        } else if self.next < input::NEVER {
            self.slot.max(self.next.div_ceil(self.slot_time))
        } else {
            input::NEVER
        };
        // A slot is done by an advance to any time after it began.
        if slot == input::NEVER { Time::MAX } else { Time::from_ps(slot * self.slot_time + 1) }
    }

    /// Returns the latest time to which the port must be advanced if it has no result before `news`: its results then leave the line no
    /// earlier than [`Port::lag`] after that. This lags behind the buffer, so that a port with a long queue need not be asked for long; but
    /// never by more than `patience`, since the announced runs wait as long.
    #[inline]
    pub fn may_wait(&self, news: Time, patience: Duration) -> Time {
        let free = Time::from_ps((self.line.free + 1).saturating_sub(self.slot_time));
        news.max(free.min(news.saturating_add(patience)))
    }

    /// Returns the time of [`Port::next_news`] for a cell that arrives at `at` and that the port has not been told of yet.
    #[inline]
    pub fn news_at(&self, at: Time) -> Time {
        Time::from_ps(at.as_ps().next_multiple_of(self.slot_time) + 1)
    }

    /// Returns the least time from the arrival of a cell until it has left the line: a slot in which it crosses, and its own time there.
    /// Cells that an advance has not passed leave the line later than this after the time of the advance.
    pub fn lag(&self) -> Duration {
        Duration::from_ps(self.slot_time + self.line.cell_time - 1)
    }

    /// Returns the time that one cell takes on the line behind the port.
    pub fn cell_time(&self) -> Duration {
        Duration::from_ps(self.line.cell_time)
    }

    /// Returns the outcomes of packets since the last call.
    pub fn outcomes(&mut self) -> std::vec::Drain<'_, Outcome> {
        self.outcomes.drain(..)
    }

    /// Returns the cells for the next switch since the last call, each run as it leaves here.
    pub fn onward(&mut self) -> std::vec::Drain<'_, Run> {
        self.onward.drain(..)
    }

    /// Returns the packets that have not ended, each in its final run: (packet, route, whether it is lost).
    pub fn unfinished(&self) -> impl Iterator<Item = (PacketId, u32, bool)> {
        let runs = self.inputs.iter().flat_map(Input::runs);
        let waiting = self.buffers.iter().flat_map(InputBuffer::unfinished);
        runs.filter(|run| run.is_final).map(|run| (run.packet, run.route, run.is_lost)).chain(waiting)
    }
}

/// Returns the first of `inputs` after `turn`, in a circle.
#[inline]
fn after(inputs: u64, turn: u32) -> u32 {
    let ahead = inputs & !(u64::MAX >> (63 - turn));
    if ahead != 0 { ahead.trailing_zeros() } else { inputs.trailing_zeros() }
}
