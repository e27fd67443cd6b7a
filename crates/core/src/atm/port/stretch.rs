//! Several equal slots at once: one or two inputs are in the middle of their runs, or more inputs of which all cells pass, and no other
//! input has a cell.

use super::channel::State;
use super::{Port, after};
use crate::atm::discard::{AfterLoss, CellDrop};

/// Outcome of the next cells of an input.
#[derive(Clone, Copy)]
struct Part {
    input: usize,
    channel: usize,
    /// Reason of the drop; `None`: the cells pass.
    drop: Option<CellDrop>,
}

impl Port {
    /// Does several slots before the slot `end`, as [`Port::pass_cells`] would one by one. Returns true if there were any.
    #[inline]
    pub(super) fn pass_stretch(&mut self, end: u64) -> bool {
        // Single slots serve lines slower than the switch, and accounts of channels.
        if self.slot_time != self.line.cell_time || !self.occupancy.is_empty() {
            return false;
        }
        let (first, others) = (self.ready.trailing_zeros() as usize, self.ready & (self.ready - 1));
        // The last cell of a run has a slot of its own, and so has a single cell.
        if self.inputs[first].left() < 3 {
            return false;
        }
        if others & others.wrapping_sub(1) != 0 {
            return self.pass_rounds(end, self.ready.count_ones().into());
        }
        let Some(a) = self.part(first) else { return false };
        let lines = 1 + usize::from(others != 0);
        let Some(b) = (if lines == 1 { Some(a) } else { self.part(others.trailing_zeros() as usize) }) else { return false };
        let parts = &[a, b][..lines];
        let passing = parts.iter().filter(|part| part.drop.is_none()).count() as u64;
        let mut slots = self.slots_before_another(end);
        // The stretch ends before the last cell of a run.
        for part in parts {
            slots = slots.min(self.inputs[part.input].left().saturating_sub(1));
        }
        let mut is_contested = false;
        if lines == 2 {
            // The two cells have equal chances of one place. One of two cells in each slot stays.
            let places = self.buffer - 1 - self.line.queued;
            is_contested = passing == 2 && places == 0 && self.line.queued > 0 && self.after_loss == AfterLoss::Nothing;
            if (passing == 2 || places == 0) && !is_contested {
                slots = slots.min(places);
            }
        }
        if slots < 2 || (passing == 2 && self.is_before_switch) {
            return false;
        }
        let turn = after_all(parts, self.turn);
        if is_contested {
            self.contest(slots, parts, turn);
        }
        for part in parts {
            self.inputs[part.input].skip(slots);
            if is_contested {
                continue;
            }
            let channel = &mut self.channels[part.channel];
            match part.drop {
                None => channel.far_end.come(slots as u32),
                Some(why) => {
                    channel.cause.get_or_insert(why);
                    self.count.dropped[why as usize] += slots;
                }
            }
        }
        if let Some(part) = parts.iter().find(|part| part.drop.is_none()) {
            self.admit_stretch(slots, if is_contested { 1 } else { passing }, part.input);
        }
        self.turn = turn;
        self.slot += slots;
        true
    }

    /// Returns the slots before `end`, and before another input has a cell.
    #[inline]
    fn slots_before_another(&self, end: u64) -> u64 {
        let slots = end - self.slot;
        if self.next == super::input::NEVER {
            return slots;
        }
        slots.min((self.next - self.slot * self.slot_time).div_ceil(self.slot_time))
    }

    /// Passes stretches of more than two lines, all in the middle of frames that pass. Each line is served twice in as many slots as there
    /// are lines.
    fn pass_rounds(&mut self, end: u64, lines: u64) -> bool {
        let mut slots = self.slots_before_another(end).min(self.buffer - 1 - self.line.queued);
        if slots < lines || self.is_before_switch {
            return false;
        }
        for input in bits(self.ready) {
            if !matches!(self.part(input), Some(Part { drop: None, .. })) {
                return false;
            }
            slots = slots.min(self.inputs[input].left().saturating_sub(1) / 2 * lines);
        }
        let rounds = slots / lines;
        if rounds == 0 {
            return false;
        }
        for input in bits(self.ready) {
            let channel = self.inputs[input].head().expect("it is in the middle of a run").channel;
            self.inputs[input].skip(2 * rounds);
            self.channels[channel as usize].far_end.come(2 * rounds as u32);
        }
        let first = after(self.ready, self.turn);
        let before = self.ready & ((1 << first) - 1);
        self.turn = (if before == 0 { self.ready } else { before }).ilog2();
        self.admit_stretch(rounds * lines, 2, first as usize);
        self.slot += rounds * lines;
        true
    }

    /// Passes slots in each of which two cells come and there is one place. The cell of `last` is served last, but before the other one if
    /// the coin says so.
    fn contest(&mut self, slots: u64, parts: &[Part], last: u32) {
        let heads = self.coin.toss_all(slots);
        for part in parts {
            let won = if part.input == last as usize { heads } else { slots - heads };
            let channel = &mut self.channels[part.channel];
            channel.far_end.come(won as u32);
            if won < slots {
                channel.cause.get_or_insert(CellDrop::Overflow);
                self.count.dropped[CellDrop::Overflow as usize] += slots - won;
            }
        }
    }

    /// Returns the outcome of the next cells of `input`, if they are in the middle of a run that keeps up with the slots.
    #[inline]
    fn part(&self, input: usize) -> Option<Part> {
        let run = self.inputs[input].head()?;
        let channel = &self.channels[run.channel as usize];
        if channel.to_drop > 0 {
            return None;
        }
        let drop = match channel.state {
            State::Between => return None,
            State::Passing => None,
            State::Rest => Some(CellDrop::Rest),
            State::Dropping => Some(CellDrop::Early),
        };
        (self.inputs[input].spacing() <= self.slot_time).then_some(Part { input, channel: run.channel as usize, drop })
    }

    /// Accounts for slots in each of which `cells` cells come in, one or two, and one leaves if there is one.
    #[inline]
    fn admit_stretch(&mut self, slots: u64, cells: u64, input: usize) {
        let time = self.line.cell_time;
        let start = self.line.free.max(self.slot_end());
        if start > self.line.free {
            self.line.busy_from = start;
        }
        let wait = u128::from(start - self.slot_end());
        let (n, all) = (u128::from(slots), slots * cells);
        // One: each waits as long as the first. Two: the first of each slot a cell time longer than that of the slot before,
        // and the second one more.
        self.count.waits += if cells == 1 { n * wait } else { 2 * n * wait + n * n * u128::from(time) };
        self.count.passed += all;
        self.line.free = start + all * time;
        self.line.queued += if cells == 1 { 1 } else { slots + 1 };
        self.count.queue_max = self.count.queue_max.max(self.line.queued);
        self.line.head = self.line.free - self.line.queued * time;
        if self.is_before_switch {
            let run = *self.inputs[input].head().expect("it is in the middle of a run");
            self.pass_on(&run, start + time, slots as u32, false);
        }
    }
}

/// Returns the inputs whose bits are set in `set`, in order.
#[inline]
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        first
    })
}

/// Returns the input served last when each of `parts` had its turn after `turn`.
#[inline]
fn after_all(parts: &[Part], turn: u32) -> u32 {
    match parts {
        // The first after the turn is served first, so that the other one is last.
        [a, b] if (turn as usize) < a.input || (turn as usize) >= b.input => b.input as u32,
        [a, _] | [a] => a.input as u32,
        _ => turn,
    }
}
