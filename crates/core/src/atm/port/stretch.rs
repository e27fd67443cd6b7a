//! Slots that are alike, all at once: one input or two that are in the middle of their runs, and nobody else.

use super::Port;
use super::channel::State;
use crate::atm::discard::{AfterLoss, CellDrop};

/// What becomes of the next cells of an input.
#[derive(Clone, Copy)]
struct Part {
    input: usize,
    channel: usize,
    /// `None`: they pass.
    drop: Option<CellDrop>,
}

impl Port {
    /// Does several slots before the slot `end`, as [`Port::pass_cells`] would one by one. Whether there were any alike.
    #[inline]
    pub(super) fn pass_stretch(&mut self, end: u64) -> bool {
        let lines = self.ready.count_ones() as usize;
        // A line slower than the switch, and accounts of channels, are for single slots.
        if lines > 2 || self.slot_time != self.cell_time || !self.occupancy.is_empty() {
            return false;
        }
        let first = self.ready.trailing_zeros() as usize;
        let last = 63 - self.ready.leading_zeros() as usize;
        let (Some(a), Some(b)) = (self.part(first), self.part(last)) else { return false };
        let parts = &[a, b][..lines];
        let passing = parts.iter().filter(|part| part.drop.is_none()).count() as u64;
        let mut slots = end - self.slot;
        // Before the last cell of a run, and before another input has one.
        for part in parts {
            slots = slots.min(self.inputs[part.input].left().saturating_sub(1));
        }
        if self.next != super::input::NEVER {
            slots = slots.min((self.next - self.slot * self.slot_time).div_ceil(self.slot_time));
        }
        let mut is_contested = false;
        if lines == 2 {
            // With one place left, they have equal chances. Of two cells in each slot one stays.
            let places = self.buffer - 1 - self.queued;
            is_contested = passing == 2 && places == 0 && self.queued > 0 && self.after_loss == AfterLoss::Nothing;
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

    /// In each of so many slots two cells come, and there is one place; what loses is not heeded after that. Of the two the one of `last` is served last, but
    /// before the other where the coin says so.
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

    /// What the next cells of `input` come to, if they are in the middle of a run that keeps up with the slots.
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

    /// In each of so many slots, `cells` come in, one or two, and one leaves if there is one.
    #[inline]
    fn admit_stretch(&mut self, slots: u64, cells: u64, input: usize) {
        let time = self.cell_time;
        let start = self.free.max(self.slot_end());
        if start > self.free {
            self.busy_from = start;
        }
        let wait = u128::from(start - self.slot_end());
        let (n, all) = (u128::from(slots), slots * cells);
        // One: each waits as long as the first. Two: the first of each slot a cell time longer than that of the slot before,
        // and the second one more.
        self.count.waits += if cells == 1 { n * wait } else { 2 * n * wait + n * n * u128::from(time) };
        self.count.passed += all;
        self.free = start + all * time;
        self.queued += if cells == 1 { 1 } else { slots + 1 };
        self.count.queue_max = self.count.queue_max.max(self.queued);
        self.head = self.free - self.queued * time;
        if self.is_before_switch {
            let run = *self.inputs[input].head().expect("it is in the middle of a run");
            self.pass_on(&run, start + time, slots as u32, false);
        }
    }
}

/// The input served last when each of `parts` had its turn after `turn`.
#[inline]
fn after_all(parts: &[Part], turn: u32) -> u32 {
    match parts {
        // The first after the turn is served first, so that the other one is last.
        [a, b] if (turn as usize) < a.input || (turn as usize) >= b.input => b.input as u32,
        [a, _] | [a] => a.input as u32,
        _ => turn,
    }
}
