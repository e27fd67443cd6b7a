//! A receiving application that reads slowly.

use super::{Application, Socket, Wait};
use crate::time::Time;
use crate::units::Rate;

/// Reads a block, and waits for the time of that block at its rate before it reads the next.
#[derive(Debug)]
pub struct Reader {
    rate: Rate,
    block: u64,
    /// Time at which it is ready for the next block.
    next: Time,
}

impl Reader {
    /// Returns a reader of `rate` payload per second, in blocks of at most so many bytes.
    pub fn new(rate: Rate, block: u64) -> Self {
        Reader { rate, block, next: Time::ZERO }
    }
}

impl Application for Reader {
    fn act(&mut self, now: Time, socket: &mut dyn Socket) -> Wait {
        if self.next <= now {
            let taken = socket.read(self.block);
            if taken > 0 {
                self.next = now + self.rate.transmit_time(taken);
            }
        }
        let until = if socket.unread() > 0 { self.next } else { Time::MAX };
        Wait { until, readable: true, acked: false }
    }

    fn would_read(&self, now: Time) -> u64 {
        if self.next > now { 0 } else { self.block }
    }
}
