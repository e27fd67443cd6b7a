//! Counters of a port, and the progress of its line up to a given time.

use super::Port;
use crate::atm::discard::CellDrop;
use crate::time::{Duration, Time};

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Cells let into the buffer.
    pub passed: u64,
    /// Cells dropped, by [`CellDrop`].
    pub dropped: [u64; 3],
    /// Cells that passed and belong to packets that passed whole. Cells of packets that have not ended yet are in neither this nor the next
    /// counter.
    pub whole: u64,
    /// Cells that passed, of packets that did not.
    pub dead: u64,
    /// Packets: whole; without some of their cells; without any; with all, but taken for one with what was left of another.
    pub packets_whole: u64,
    /// Packets without some of their cells.
    pub packets_partial: u64,
    /// Packets without any of their cells.
    pub packets_dropped: u64,
    /// Packets with all their cells that were merged with the rest of another packet.
    pub packets_merged: u64,
    /// Packets marked here.
    pub packets_marked: u64,
    /// The most cells in the buffer.
    pub queue_max: u64,
    /// Sum of the waits in the buffer of the cells that passed, in ps.
    pub waits: u128,
}

impl Count {
    /// Returns the cells that came to the output.
    pub fn cells_in(&self) -> u64 {
        self.passed + self.dropped.iter().sum::<u64>()
    }

    /// Returns the counts since `earlier`, with the longest queue of the whole time. The counts are zero if `earlier` is later: a run may
    /// end before the measured span begins.
    pub fn since(&self, earlier: &Count) -> Count {
        Count {
            passed: self.passed.saturating_sub(earlier.passed),
            dropped: std::array::from_fn(|i| self.dropped[i].saturating_sub(earlier.dropped[i])),
            whole: self.whole.saturating_sub(earlier.whole),
            dead: self.dead.saturating_sub(earlier.dead),
            packets_whole: self.packets_whole.saturating_sub(earlier.packets_whole),
            packets_partial: self.packets_partial.saturating_sub(earlier.packets_partial),
            packets_dropped: self.packets_dropped.saturating_sub(earlier.packets_dropped),
            packets_merged: self.packets_merged.saturating_sub(earlier.packets_merged),
            packets_marked: self.packets_marked.saturating_sub(earlier.packets_marked),
            queue_max: self.queue_max,
            waits: self.waits.saturating_sub(earlier.waits),
        }
    }

    /// Returns the counter for a packet of which `passed` cells passed.
    pub(super) fn packets(&mut self, whole: bool, passed: u32, cause: Option<CellDrop>) -> &mut u64 {
        match cause {
            _ if whole => &mut self.packets_whole,
            _ if passed == 0 => &mut self.packets_dropped,
            None => &mut self.packets_merged,
            Some(_) => &mut self.packets_partial,
        }
    }
}

impl Port {
    /// Returns the cells of the last busy period; only these can still be ahead.
    fn in_a_row(&self) -> u64 {
        (self.line.free - self.line.busy_from) / self.line.cell_time
    }

    /// Returns the cells in the buffers at `now`, up to which the port was advanced: those that begin to leave later.
    pub fn backlog(&self, now: Time) -> u64 {
        self.waiting + self.at_output(now)
    }

    fn at_output(&self, now: Time) -> u64 {
        (self.line.free.saturating_sub(now.as_ps() + 1) / self.line.cell_time).min(self.in_a_row())
    }

    /// Returns the cells that have left whole by `now`, up to which the port was advanced.
    pub fn transmitted(&self, now: Time) -> u64 {
        self.count.passed - self.waiting - self.line.free.saturating_sub(now.as_ps()).div_ceil(self.line.cell_time).min(self.in_a_row())
    }

    /// Returns the time spent transmitting up to `now`, up to which the port was advanced.
    pub fn busy(&self, now: Time) -> Duration {
        let ahead = self.line.free.saturating_sub(now.as_ps().max(self.line.busy_from));
        Duration::from_ps((self.count.passed - self.waiting) * self.line.cell_time - ahead)
    }

    /// Returns the integral over time, up to `now`, of the cells in the buffer, in ps.
    pub fn waited(&self, now: Time) -> u128 {
        // The cells in the buffer still have to wait: the last one until a cell time before the line is free, and so on.
        let queued = u128::from(self.at_output(now));
        let ahead = u128::from(self.line.free.saturating_sub(now.as_ps()));
        let to_come = queued * ahead - u128::from(self.line.cell_time) * queued * (queued + 1) / 2;
        let at_inputs = (u128::from(self.waiting) * u128::from(now.as_ps())).saturating_sub(self.entered);
        self.count.waits.saturating_sub(to_come) + at_inputs
    }
}
