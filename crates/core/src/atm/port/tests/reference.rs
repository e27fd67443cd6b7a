//! Reference implementation of the port.

use super::*;
use crate::atm::discard::Arrival;
use crate::atm::port::channel::State;

/// A cell of one of its packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub run: Run,
    /// Number of the cell in its packet.
    pub number: u32,
}

impl Cell {
    pub(super) fn is_end(&self) -> bool {
        self.number + 1 == self.run.of
    }
}

/// Reference implementation of the port: every cell is kept, and every slot is done.
pub(super) struct Reference {
    pub after_loss: AfterLoss,
    pub buffer: usize,
    pub discard: Box<dyn Discard + Send>,
    pub inputs: Vec<VecDeque<(Time, Cell)>>,
    pub turn: usize,
    pub coin: Coin,
    pub cell_time: Duration,
    /// Cells in the buffer, with the end of the slot in which they came.
    pub held: VecDeque<(Time, Cell)>,
    pub free: Time,
    /// Cells with the time they have left.
    pub sent: Vec<(Time, Cell)>,
    pub dropped: Vec<(Cell, CellDrop)>,
    /// State of the frame, and cells passed since the last end of a frame, per channel.
    pub channels: Vec<(State, usize)>,
    /// Cells to be dropped after a lost one, per channel.
    pub to_drop: Vec<u32>,
    pub marked: BTreeSet<u32>,
    pub integral: u128,
}

impl Reference {
    pub(super) fn new(kind: &DiscardKind, params: &Params, lines: usize, cell_time: Duration) -> Self {
        Reference {
            after_loss: (kind.after_loss)(params),
            buffer: discard::buffer(params) as usize,
            discard: (kind.build)(params, context()),
            inputs: vec![VecDeque::new(); lines],
            turn: 0,
            coin: Coin::new(Rng::named(1, "fabric")),
            cell_time,
            held: VecDeque::new(),
            free: Time::ZERO,
            sent: Vec::new(),
            dropped: Vec::new(),
            channels: vec![(State::Between, 0); CHANNELS],
            to_drop: vec![0; CHANNELS],
            marked: BTreeSet::new(),
            integral: 0,
        }
    }

    pub(super) fn announce(&mut self, line: usize, run: Run) {
        for number in 0..run.cells {
            self.inputs[line].push_back((run.arrives + spacing(line) * u64::from(number), Cell { run, number }));
        }
    }

    /// Returns when each cell in the buffer will begin to leave, and when the line is free after them.
    pub(super) fn starts(&self) -> (Vec<Time>, Time) {
        let mut free = self.free;
        let mut start = |entered: Time| {
            let start = free.max(entered);
            free = start + self.cell_time;
            start
        };
        let starts = self.held.iter().map(|(entered, _)| start(*entered)).collect();
        (starts, free)
    }

    /// Returns the cells that begin to leave after `now`.
    pub(super) fn backlog(&self, now: Time) -> u64 {
        let sent = self.sent.iter().rev().filter(|(left, _)| left.as_ps() - self.cell_time.as_ps() > now.as_ps()).count();
        (sent + self.starts().0.into_iter().filter(|start| *start > now).count()) as u64
    }

    pub(super) fn slot(&mut self, slot: u64) {
        let now = Time::from_ps(slot * CELL_TIME.as_ps());
        let end = now + CELL_TIME;
        for start in self.starts().0.into_iter().take_while(|start| *start < end) {
            let (entered, cell) = self.held.pop_front().unwrap();
            self.integral += u128::from(start.since(entered).as_ps());
            self.free = start + self.cell_time;
            self.sent.push((self.free, cell));
        }
        let lines = self.inputs.len();
        let ready = |line: &usize| self.inputs[*line].front().is_some_and(|(time, _)| *time <= now);
        let mut chosen: Vec<usize> = (1..=lines).map(|i| (self.turn + i) % lines).filter(ready).take(2).collect();
        if let Some(last) = chosen.last() {
            self.turn = *last;
        }
        if chosen.len() == 2 && self.held.len() + 1 == self.buffer && self.coin.toss() {
            chosen.reverse();
        }
        for line in chosen {
            let (_, cell) = self.inputs[line].pop_front().unwrap();
            self.come(now, end, cell);
        }
    }

    pub(super) fn come(&mut self, now: Time, end: Time, cell: Cell) {
        let of_channel = |held: &(Time, Cell)| held.1.run.channel;
        let Run { channel, is_ect, route, .. } = cell.run;
        if self.channels[channel as usize].0 == State::Between {
            let silent_from = self.starts().1;
            let own = self.held.iter().filter(|held| of_channel(held) == channel).count() as u64;
            let channels = self.held.iter().map(of_channel).collect::<BTreeSet<_>>().len() as u64;
            let arrival = Arrival { now, queued: self.held.len() as u64, silent_from, own, channels, is_ect };
            let verdict = self.discard.on_frame(&arrival);
            if verdict == Verdict::Mark {
                assert!(is_ect, "a packet that is not ECN-capable was marked");
                self.marked.insert(route);
            }
            self.channels[channel as usize].0 = if verdict == Verdict::Drop { State::Dropping } else { State::Passing };
        }
        let (state, open) = &mut self.channels[channel as usize];
        let to_drop = &mut self.to_drop[channel as usize];
        let drop = match *state {
            _ if *to_drop > 0 => Some(CellDrop::Rest),
            State::Rest if !cell.is_end() => Some(CellDrop::Rest),
            State::Dropping if !cell.is_end() || *open == 0 => Some(CellDrop::Early),
            _ => (self.held.len() == self.buffer).then_some(CellDrop::Overflow),
        };
        match drop {
            None => {
                *open = if cell.is_end() { 0 } else { *open + 1 };
                self.held.push_back((end, cell));
            }
            Some(why) => {
                self.dropped.push((cell, why));
                match (why, self.after_loss) {
                    (CellDrop::Overflow, AfterLoss::Rest) => *state = State::Rest,
                    (CellDrop::Overflow, AfterLoss::Cells(cells)) => *to_drop = cells,
                    (CellDrop::Rest, AfterLoss::Cells(_)) => *to_drop -= 1,
                    _ => {}
                }
            }
        }
        if cell.is_end() {
            *state = if drop.is_some() && *open > 0 && self.after_loss == AfterLoss::Rest { State::Rest } else { State::Between };
        }
    }

    /// Returns the packets that reach the far end whole, and when, in order: the cells of a channel up to an end are one frame.
    pub(super) fn whole(&self) -> Vec<(u32, Time)> {
        let mut frames = vec![Vec::new(); CHANNELS];
        let mut whole = Vec::new();
        for (time, cell) in &self.sent {
            let frame: &mut Vec<Cell> = &mut frames[cell.run.channel as usize];
            frame.push(*cell);
            if cell.is_end() {
                let same = frame.iter().all(|other| other.run.route == cell.run.route);
                if same && frame.len() == cell.run.of as usize {
                    whole.push((cell.run.route, *time));
                }
                frame.clear();
            }
        }
        whole
    }
}
