//! Admission of a cell to a buffer.

use super::channel::State;
use super::{Outcome, Port, Run};
use crate::atm::discard::{AfterLoss, Arrival, CellDrop};
use crate::time::Time;

impl Port {
    /// Judges the cell just taken from `run` for a buffer that holds `queued` cells: whether it is let in, and whether its packet is whole
    /// with it.
    #[inline]
    pub(super) fn judge(&mut self, run: &Run, buffer: usize, queued: u64) -> (bool, bool) {
        let is_end = run.cells == 0 && run.is_end;
        let number = run.channel as usize;
        if self.channels[number].state == State::Between {
            self.begin_frame(run, buffer, queued);
        }
        let channel = &mut self.channels[number];
        // RF95 §4: the end of a frame passes, so that the next frame can arrive. §5: the end of a frame dropped whole does not pass, unless
        // the far end still waits for the end of another.
        let drop = match channel.state {
            _ if channel.to_drop > 0 => Some(CellDrop::Rest),
            State::Rest if !is_end => Some(CellDrop::Rest),
            State::Dropping if !(is_end && channel.far_end.is_open()) => Some(CellDrop::Early),
            _ if queued >= self.buffer => Some(CellDrop::Overflow),
            _ => None,
        };
        let mut whole = false;
        match drop {
            None => {
                channel.far_end.come(1);
                if is_end {
                    whole = channel.far_end.end_of_frame(run.of);
                }
            }
            Some(why) => {
                self.count.dropped[why as usize] += 1;
                channel.cause.get_or_insert(why);
                channel.to_drop = channel.to_drop.saturating_sub(1);
                match self.after_loss {
                    AfterLoss::Rest if why == CellDrop::Overflow => channel.state = State::Rest,
                    AfterLoss::Cells(cells) if why == CellDrop::Overflow => channel.to_drop = cells,
                    _ => {}
                }
            }
        }
        if is_end {
            // An end was dropped while the far end waits for one: the next cells are the rest of the same frame to it, and lost.
            let doomed = drop.is_some() && self.after_loss == AfterLoss::Rest && channel.far_end.is_open();
            channel.state = if doomed { State::Rest } else { State::Between };
        }
        (drop.is_none(), whole)
    }

    /// Begins a frame on the channel of `run`, and decides on it.
    fn begin_frame(&mut self, run: &Run, buffer: usize, queued: u64) {
        let now = Time::from_ps(self.slot * self.slot_time);
        let (own, channels) = self.occupancy.get_mut(buffer).map_or((0, 0), |occupancy| occupancy.of(run.channel, queued));
        let silent_from = self.buffers.get(buffer).map_or(self.leaves(), |buffer| buffer.silent_from(now));
        let verdict = self.discards[buffer].on_frame(&Arrival { now, queued, silent_from, own, channels, is_ect: run.is_ect });
        if self.channels[run.channel as usize].begin(verdict) {
            self.count.packets_marked += 1;
            self.outcomes.push(Outcome::Marked { packet: run.packet, route: run.route, at: now });
        }
    }
}
