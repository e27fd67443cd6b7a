//! Ending: by FIN, by reset, by the application's leave (RFC 9293 §3.6, §3.10.4, §3.10.5).

use super::{Connection, MSL, State};
use crate::sender::Sender;
use crate::seq::wrap;
use longfat_core::packet::{Segment, flags};
use longfat_core::time::Time;

/// Reasons for which a connection ended that neither side had closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abort {
    /// Reset by the other side.
    Reset,
    /// Timeout: nothing answered for too long (`ETIMEDOUT`).
    TimedOut,
}

impl Connection {
    /// Closes the sending side: a FIN follows the last byte. Arriving data is still received (a half-close).
    pub fn close(&mut self) {
        self.outlet().stream.close();
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
            let mut reset = Segment::new(wrap(self.iss, self.sent_until()), flags::RST | flags::ACK, 0);
            reset.ack = wrap(irs, next);
            // RFC 7323 §3.2: a reset should have the option as well, once it is agreed on.
            if self.timestamps.is_some() {
                reset.set_timestamps(0, self.receiver.ts_recent());
            }
            self.say_first(reset);
        }
        self.end();
    }

    /// Returns the reason for which the connection was aborted, if it was.
    #[inline]
    pub fn aborted(&self) -> Option<Abort> {
        self.aborted
    }

    /// Returns true if a reset came before the connection was open: it was refused.
    pub fn was_refused(&self) -> bool {
        self.aborted == Some(Abort::Reset) && !self.is_established()
    }

    /// RFC 9293 §3.8.3: what is retransmitted has not been answered for so long that the connection is given up (R2, in units of time).
    /// R1, at which IP would be asked for another route, says nothing here.
    pub(super) fn mind_user_timeout(&mut self, now: Time) {
        if self.config.timers.user_timeout.is_some_and(|limit| self.sender().unanswered(now) >= limit) {
            self.give_up();
        }
    }

    /// Ends the connection since nothing answers, and tells nobody (RFC 9293 §3.10.8). A listener that has only seen a SYN goes on
    /// listening.
    pub(super) fn give_up(&mut self) {
        if self.state == State::SynReceived && self.passive && !self.opened_fast() {
            self.listen_again();
        } else {
            self.aborted = Some(Abort::TimedOut);
            self.end();
        }
    }

    /// CLOSED: no timer runs, nothing but a reset goes out.
    pub(super) fn end(&mut self) {
        self.state = State::Closed;
        if let Some(sender) = self.sending.sender_mut() {
            sender.timers.stop();
        }
        self.time_wait = Time::MAX;
        self.receiver.stop();
        self.ack_now = false;
        self.syn_now = false;
    }

    /// RFC 5961 §3.2: a reset must name exactly the next byte; one elsewhere in the window is answered.
    pub(super) fn handle_reset(&mut self, now: Time, segment: &Segment, accepted: bool) {
        let (nxt, irs) = self.receiver.next();
        if segment.seq != wrap(irs, nxt) {
            if accepted {
                self.challenge(now);
            }
        } else if self.state == State::SynReceived && self.passive && !self.opened_fast() {
            // RFC 9293 §3.10.7.4: the user need not hear of it.
            self.listen_again();
        } else {
            self.aborted = Some(Abort::Reset);
            self.end();
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

    /// Returns whether our FIN has been sent, and whether it has been acknowledged.
    #[inline]
    fn fin(&self) -> (bool, bool) {
        self.sending.sender().map_or((false, false), Sender::fin)
    }

    /// Our FIN may be acknowledged now.
    pub(super) fn after_ack(&mut self, now: Time) {
        let (sent, acked) = self.fin();
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
        let (sent, acked) = self.fin();
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
