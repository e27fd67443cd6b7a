//! Ending: by FIN, by reset, by the application's leave (RFC 9293 §3.6, §3.10.4, §3.10.5).

use super::{Connection, MSL, State};
use crate::packet::{Segment, flags};
use crate::tcp::seq::wrap;
use crate::time::Time;

impl Connection {
    /// Nothing more will be written: a FIN follows the last byte. What arrives is still received (a half-close).
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// The application goes: nothing more will be written or read, as after close(2).
    pub fn release(&mut self) {
        self.released = true;
        if self.receiver.unread() > 0 {
            // RFC 9293 §3.6.1 (SHLD-3): a reset tells the other side that data was lost.
            self.abort();
        } else if matches!(self.state, State::Listen | State::SynSent) {
            // RFC 9293 §3.10.4: there is nobody to tell.
            self.end();
        } else {
            self.close();
        }
    }

    /// Ends the connection at once, with a reset (RFC 9293 §3.10.5). It carries an ACK, as any segment of a synchronized
    /// connection does.
    pub fn abort(&mut self) {
        if !matches!(self.state, State::Listen | State::SynSent | State::TimeWait | State::Closed) {
            let (next, irs) = self.receiver.next();
            let mut reset = Segment::new(wrap(self.iss, self.sender.board.max()), flags::RST | flags::ACK, 0);
            reset.ack = wrap(irs, next);
            self.reset = Some(reset);
        }
        self.end();
    }

    /// Whether the other side has reset the connection.
    pub fn was_reset(&self) -> bool {
        self.was_reset
    }

    /// Whether the reset came before the connection was open: it was refused.
    pub fn was_refused(&self) -> bool {
        self.was_reset && self.sender.board.una() == 0
    }

    /// CLOSED: no timer runs, nothing but a reset goes out.
    pub(super) fn end(&mut self) {
        self.state = State::Closed;
        self.sender.deadline = Time::MAX;
        self.time_wait = Time::MAX;
        self.receiver.stop();
        self.ack_now = false;
        self.syn_now = false;
    }

    /// RFC 5961 §3.2: a reset must name exactly the next byte; one elsewhere in the window is answered.
    pub(super) fn handle_reset(&mut self, segment: &Segment, accepted: bool) {
        let (nxt, irs) = self.receiver.next();
        if segment.seq == wrap(irs, nxt) {
            self.was_reset = true;
            self.end();
        } else if accepted {
            self.ack_now = true;
        }
    }

    /// Data for an application that has gone is answered with a reset (RFC 9293 §3.6.1, SHLD-3). Whether it was.
    pub(super) fn comes_too_late(&mut self, segment: &Segment) -> bool {
        let (next, irs) = self.receiver.next();
        let fresh = segment.seq.wrapping_add(u32::from(segment.len)).wrapping_sub(wrap(irs, next)) as i32 > 0;
        let late = segment.len > 0 && fresh;
        if late {
            self.end();
            self.refuse(segment);
        }
        late
    }

    /// Our FIN may be acknowledged now.
    pub(super) fn after_ack(&mut self, now: Time) {
        let (sent, acked) = self.sender.fin();
        self.state = match self.state {
            State::Established if sent => State::FinWait1,
            State::CloseWait if sent => State::LastAck,
            state => state,
        };
        if !acked {
            return;
        }
        self.state = match self.state {
            State::FinWait1 => State::FinWait2,
            State::Closing => {
                self.time_wait = now + MSL * 2;
                State::TimeWait
            }
            State::LastAck => State::Closed,
            state => state,
        };
    }

    /// The other side's FIN is in order now.
    pub(super) fn after_fin(&mut self, now: Time) {
        let (sent, acked) = self.sender.fin();
        self.state = match self.state {
            State::Established if !sent => State::CloseWait,
            State::Established | State::FinWait1 if !acked => State::Closing,
            State::Established | State::FinWait1 | State::FinWait2 => {
                self.time_wait = now + MSL * 2;
                State::TimeWait
            }
            state => state,
        };
        self.ack_now = true;
    }
}
