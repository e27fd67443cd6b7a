//! One end of a TCP connection: opening, closing, and the two halves between (RFC 9293).

mod challenge;
mod ending;
mod info;
mod memory;
mod opening;
mod sockopt;

pub use ending::Abort;

use self::challenge::Challenges;
pub use self::info::{Stats, TcpInfo};
use crate::packet::{Ecn, Segment, flags};
use crate::tcp::TcpConfig;
use crate::tcp::receiver::{Receiver, Verdict};
use crate::tcp::sender::{Range, Sender};
use crate::tcp::seq::wrap;
use crate::tcp::stall::Room;
use crate::time::{Duration, Time};
use std::sync::Arc;

/// The states of RFC 9293 §3.3.2. CLOSED before opening is `Listen` or `SynSent` that has not sent yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// One end of a TCP connection. Time enters only through `now`; it never runs backwards.
#[derive(Debug)]
pub struct Connection {
    state: State,
    config: Arc<TcpConfig>,
    sender: Sender,
    receiver: Receiver,
    iss: u32,
    /// An acknowledgment must go out, data or not.
    ack_now: bool,
    /// The SYN (or SYN-ACK) must go out.
    syn_now: bool,
    syn_sent_at: Time,
    syn_retransmitted: bool,
    /// The round trip of the SYN; zero: not known.
    handshake_rtt: Duration,
    /// Negotiated by the SYNs.
    timestamps: bool,
    window_scale: bool,
    /// The ECN field of the last SYN that arrived.
    syn_ecn: Ecn,
    time_wait: Time,
    /// What goes before all else: a reset that answers a segment without a connection or ends this one, or an ACK that must not
    /// wait for data to carry it.
    prompt: Option<Segment>,
    /// Nobody will read what arrives: the application has closed both ways.
    released: bool,
    /// It was opened by a SYN of the other side, for which it waited.
    passive: bool,
    aborted: Option<Abort>,
    /// Challenge ACKs sent, where any was.
    challenges: Option<Box<Challenges>>,
}

/// Where a sender is in loss recovery, by the names of `tcpi_ca_state` (tcp(7), `TCP_INFO`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CaState {
    /// Nothing is amiss.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs, but nothing lost yet.
    Disorder,
    /// The window was reduced without a loss: an ECN echo, until what was outstanding then is acknowledged.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// RFC 9293 §3.4.2: the maximum segment lifetime; TIME-WAIT lasts two.
const MSL: Duration = Duration::from_secs(30);

impl Connection {
    /// The side that opens: its first segment is a SYN with sequence number `iss`. `phase` shifts its free-running
    /// clocks (slow timer, delayed-ACK heartbeat, timestamps) against time zero.
    pub fn connect(config: impl Into<Arc<TcpConfig>>, iss: u32, phase: Duration) -> Self {
        let mut connection = Self::new(config.into(), iss, phase, State::SynSent);
        connection.syn_now = true;
        connection
    }

    /// The side that waits for a SYN.
    pub fn listen(config: impl Into<Arc<TcpConfig>>, iss: u32, phase: Duration) -> Self {
        Self::new(config.into(), iss, phase, State::Listen)
    }

    fn new(config: Arc<TcpConfig>, iss: u32, phase: Duration, state: State) -> Self {
        Connection {
            state,
            sender: Sender::new(&config, iss, phase),
            receiver: Receiver::new(&config, phase),
            iss,
            ack_now: false,
            syn_now: false,
            syn_sent_at: Time::ZERO,
            syn_retransmitted: false,
            handshake_rtt: Duration::ZERO,
            timestamps: config.timestamps,
            window_scale: config.window_scale,
            syn_ecn: Ecn::NotEct,
            time_wait: Time::MAX,
            prompt: None,
            released: false,
            passive: state == State::Listen,
            aborted: None,
            challenges: None,
            config,
        }
    }

    /// The application has `bytes` more to send; the send buffer takes them as it can. Saturates: `u64::MAX` is "without end".
    pub fn write(&mut self, bytes: u64) {
        if self.state != State::Closed {
            self.sender.write(bytes);
        }
    }

    /// The application stops writing in the middle of a stream without end: a FIN follows the last byte that has been sent.
    pub fn stop(&mut self) {
        self.sender.stop();
    }

    /// Whether arriving data counts as read at once (the default), or waits for [`Connection::read`].
    pub fn set_auto_read(&mut self, on: bool) {
        self.receiver.set_auto_read(on);
        self.ack_now |= self.receives() && self.receiver.wants_update();
    }

    /// The application reads up to `bytes`; how many it got.
    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = self.receiver.read(bytes);
        self.ack_now |= self.receives() && self.receiver.wants_update();
        taken
    }

    fn receives(&self) -> bool {
        !matches!(self.state, State::Listen | State::SynSent | State::SynReceived | State::Closed)
    }

    /// A segment arrived whole (its checksum held).
    #[inline]
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        match self.state {
            State::Listen => self.handle_in_listen(now, segment, ecn),
            State::SynSent => self.handle_in_syn_sent(now, segment, ecn),
            State::Closed => self.refuse(segment),
            _ => self.handle_synchronized(now, segment, ecn),
        }
    }

    #[inline]
    fn handle_synchronized(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let accepted = self.receiver.accepts(now, segment);
        if segment.has(flags::RST) {
            self.handle_reset(now, segment, accepted);
            return;
        }
        if segment.has(flags::SYN) && !self.handle_late_syn(now, segment, ecn, accepted) {
            return;
        }
        if !segment.has(flags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            // RFC 9293 §3.10.7.4: nothing but the SYN was sent, so only it can be acknowledged.
            if segment.ack != self.iss.wrapping_add(1) {
                self.refuse(segment);
                return;
            }
            self.establish(now, segment);
        }
        if self.receiver.is_current(now, segment) {
            if self.sender.handle_ack(now, segment) {
                // RFC 5961 §5.2: it acknowledges what was never sent, or what has long been acknowledged. Its data is not taken either.
                self.challenge(now);
                return;
            }
            self.after_ack(now);
        }
        if self.released && accepted && self.comes_too_late(segment) {
            return;
        }
        if accepted && !segment.has(flags::SYN) {
            if segment.len > 0 && self.receiver.splits_ack(ecn) {
                let mut ack = Segment::default();
                self.pure_ack(now, &mut ack);
                self.prompt = Some(ack);
            }
            let had_ended = self.receiver.end_of_stream();
            if self.receiver.handle(now, segment, ecn) == Verdict::AckNow {
                self.ack_now = true;
            }
            if self.receiver.end_of_stream() && !had_ended {
                self.after_fin(now);
            }
        } else if !accepted {
            self.receiver.handle_unacceptable(segment);
            self.ack_now = true;
            if self.state == State::TimeWait && segment.has(flags::FIN) {
                // RFC 9293 §3.10.7.4, TIME-WAIT: a repeated FIN restarts the wait.
                self.time_wait = now + MSL * 2;
            }
        }
    }

    /// The time that `poll_timeout` named has come (calling it early does no harm).
    pub fn handle_timeout(&mut self, now: Time) {
        if self.receiver.ack_due(now) {
            self.ack_now = true;
        }
        if now >= self.sender.deadline {
            match self.state {
                State::SynSent | State::SynReceived => self.syn_timeout(),
                State::Listen | State::Closed => self.sender.deadline = Time::MAX,
                _ => {
                    self.sender.retransmission_timeout(now);
                    self.mind_user_timeout(now);
                }
            }
        }
        if now >= self.time_wait {
            self.time_wait = Time::MAX;
            self.state = State::Closed;
        }
    }

    /// Whether there is nothing to send, as at an end that only receives whenever no ACK is due: `poll_transmit` would say `None`.
    #[inline]
    pub fn is_silent(&mut self) -> bool {
        self.state == State::Established && !self.ack_now && self.prompt.is_none() && self.sender.is_done()
    }

    /// The next segment to send, if any may go now, and its ECN field. Call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment).map(|ecn| (segment, ecn))
    }

    /// The same, written to where it is to stay: a copy of what has just been put together field by field takes as long as all the rest.
    #[inline]
    pub fn poll_transmit_into(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        if let Some(prompt) = self.prompt.take() {
            *segment = prompt;
            return Some(Ecn::NotEct);
        }
        if self.state == State::Established || !matches!(self.state, State::Listen | State::SynSent | State::SynReceived | State::Closed) {
            if let Some(range) = self.next(now) {
                self.sender.segment(range, segment);
                if range.again && range.start == 1 {
                    self.receiver.echo.forgo_option();
                }
                self.stamp(now, segment);
                if segment.has(flags::FIN) {
                    self.after_ack(now);
                }
                // RFC 3168 §6.1.5, §6.1.6: retransmissions and window probes are not ECN-capable.
                let capable = segment.len > 0 && !range.again && !self.sender.is_probing();
                return Some(if capable { self.sender.ecn.codepoint() } else { Ecn::NotEct });
            }
        } else if self.syn_now {
            *segment = self.syn(now);
            return Some(Ecn::NotEct);
        }
        if self.ack_now && !matches!(self.state, State::Listen | State::Closed) {
            self.pure_ack(now, segment);
            return Some(Ecn::NotEct);
        }
        None
    }

    #[inline]
    fn next(&mut self, now: Time) -> Option<Range> {
        if self.sender.is_done() {
            return None;
        }
        // RFC 6691 §2: the payload makes room for the options that go with it.
        self.sender.payload_max = self.sender.mss - self.receiver.options_len(self.sender.mss, self.timestamps);
        self.sender.next(now)
    }

    fn pure_ack(&mut self, now: Time, segment: &mut Segment) {
        *segment = Segment::new(wrap(self.iss, self.sender.board.max()), 0, 0);
        self.stamp(now, segment);
        self.sender.stats.acks_sent += 1;
    }

    #[inline]
    fn stamp(&mut self, now: Time, segment: &mut Segment) {
        if self.timestamps
            && let Some(clock) = self.sender.timestamp_clock
        {
            segment.set_timestamps(clock.ticks(now) as u32, self.receiver.ts_recent());
        }
        // A pure ACK has the option space to itself; beside data, only what the payload leaves of a full segment.
        let room = if segment.len == 0 { u64::MAX } else { self.sender.mss.saturating_sub(u64::from(segment.len)) };
        self.receiver.stamp(now, segment, room);
        self.ack_now = false;
    }

    /// When `handle_timeout` is wanted.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let at = self.sender.deadline.min(self.receiver.ack_deadline()).min(self.time_wait);
        if at == Time::MAX { None } else { Some(at) }
    }

    /// Whether the host's interface takes another segment: `poll_transmit` gives none with data while it does not. Pure ACKs and
    /// window probes go in any case.
    pub fn set_room(&mut self, room: bool) {
        self.sender.room = if room { Room::Yes } else { Room::No };
    }

    /// Whether `poll_transmit` has kept back a segment for want of room.
    pub fn wants_room(&self) -> bool {
        self.sender.room == Room::Refused
    }

    /// The interface has refused a segment, and this stack takes that as congestion: counts a send stall, and reduces the
    /// window, once a round trip.
    pub fn local_congestion(&mut self, now: Time) {
        self.sender.local_congestion(now);
    }

    /// When `poll_transmit` is worth asking again though nothing arrived: pacing holds a segment back until then.
    #[inline]
    pub fn paced_until(&self, now: Time) -> Option<Time> {
        let at = self.sender.paced_until(now);
        if at == Time::MAX { None } else { Some(at) }
    }
}

#[cfg(test)]
use crate::tcp::congestion::CongestionControl;

#[cfg(test)]
impl Connection {
    /// The receiver gives up what it holds out of order, as RFC 2018 §8 allows it.
    pub(super) fn renege(&mut self) {
        self.receiver.renege();
    }

    /// Another control, from here on.
    pub(super) fn set_control(&mut self, control: Box<dyn CongestionControl + Send>) {
        self.sender.control = control;
    }

    /// What must hold between any two calls.
    pub(super) fn assert_invariants(&self) {
        let (board, mss) = (&self.sender.board, self.sender.mss);
        // RFC 6675 §4 SetPipe counts twice what was sent again without being lost (NextSeg rule 3).
        let twice = board.retransmitted_until().saturating_sub(board.lost_until());
        assert!(board.pipe() <= board.outstanding() + twice, "{self:?}");
        assert!(board.sacked_bytes() <= board.outstanding(), "{self:?}");
        assert!(self.sender.window() >= mss && self.sender.control.cwnd() >= mss, "{self:?}");
        assert!(self.sender.control.ssthresh() >= 2 * mss, "{self:?}");
        // RFC 6298 §5.1: what is outstanding has a timer.
        assert!(board.outstanding() == 0 || self.sender.deadline != Time::MAX || self.syn_now || self.state == State::Closed, "{self:?}");
    }
}
