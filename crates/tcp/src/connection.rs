//! One end of a TCP connection: opening, closing, and the two halves between (RFC 9293).

mod challenge;
mod ending;
mod fast_open;
mod host;
mod info;
mod memory;
mod misbehaviour;
mod opening;
mod plain;
mod sending;
mod sockopt;
#[cfg(test)]
mod testing;

pub use ending::Abort;
pub use fast_open::FastOpened;

use self::challenge::Challenges;
use self::fast_open::Opener;
pub use self::info::{LimitedBy, Stats, TcpInfo};
use self::opening::{Handshake, timestamp_clock};
pub use self::plain::Plain;
use self::sending::Sending;
use crate::TcpConfig;
use crate::clock::Clock;
use crate::config::FastOpen;
use crate::misbehaving::Misbehaving;
use crate::receiver::{Receiver, Verdict};
use crate::sender::Sender;
use crate::seq::wrap;
use longfat_core::packet::{CongestionHeader, Ecn, Segment, flags};
use longfat_core::time::{Duration, Time};
use std::sync::Arc;

/// The states of RFC 9293 §3.3.2. CLOSED before opening is `Listen` or `SynSent` that has not sent yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the RFC says what each one is
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
    sending: Sending,
    receiver: Receiver,
    iss: u32,
    /// Phase of the free-running clocks against time zero.
    phase: Duration,
    /// An acknowledgment must go out, data or not.
    ack_now: bool,
    /// The SYN (or SYN-ACK) must go out.
    syn_now: bool,
    handshake: Handshake,
    /// Negotiated by the SYNs: the clock of our timestamps, and whether windows are scaled.
    timestamps: Option<Clock>,
    window_scale: bool,
    /// The ECN field of the last SYN that arrived.
    syn_ecn: Ecn,
    time_wait: Time,
    /// Segment that goes before all else: a reset that answers a segment without a connection or ends this one, or an ACK that must not
    /// wait for data to carry it.
    prompt: Option<Box<Prompt>>,
    acks_sent: u64,
    /// The application has written, closed, or set something of what is sent.
    speaks: bool,
    /// True if nobody will read what arrives: the application has closed both ways.
    released: bool,
    /// True if it waited for a SYN of the other side and was opened by it.
    passive: bool,
    aborted: Option<Abort>,
    rare: Option<Box<Rare>>,
}

// Ten thousand connections are to fit into 40 MB with all that belongs to them (docs/benchmarks.md): what few of them need, or for a
// while, is in a box of its own.
const _: () = assert!(size_of::<Connection>() <= 416 && size_of::<Sender>() <= 1200);

/// State of what few connections need.
#[derive(Debug)]
struct Rare {
    challenges: Challenges,
    /// State of Fast Open, where it is on.
    opener: Option<Opener>,
}

impl Rare {
    const NONE: Self = Rare { challenges: Challenges::NONE, opener: None };

    /// The state of an end that is set to `fast_open`, if it has any.
    fn of(fast_open: FastOpen) -> Option<Box<Self>> {
        (fast_open != FastOpen::Off).then(|| Box::new(Rare { opener: Some(Opener::NONE), ..Rare::NONE }))
    }
}

/// Room for a segment that goes before all else, once there has been one. A receiver that misbehaves is here, too: the common case asks
/// whether there is such room, and an honest receiver costs it nothing more.
#[derive(Debug, Default)]
struct Prompt {
    segment: Segment,
    is_due: bool,
    misbehaving: Option<Misbehaving>,
}

/// State of loss recovery, by the names of `tcpi_ca_state` (tcp(7), `TCP_INFO`).
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
    /// A timeout is being repaired.
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
            sending: Sending::silent(&config),
            receiver: Receiver::new(&config, phase),
            iss,
            phase,
            ack_now: false,
            syn_now: false,
            handshake: Handshake::NONE,
            timestamps: timestamp_clock(&config, phase),
            window_scale: config.window_scale,
            syn_ecn: Ecn::NotEct,
            time_wait: Time::MAX,
            prompt: Misbehaving::new(&config).map(|one| Box::new(Prompt { misbehaving: Some(one), ..Prompt::default() })),
            acks_sent: 0,
            speaks: false,
            released: false,
            passive: state == State::Listen,
            aborted: None,
            rare: Rare::of(config.fast_open),
            config,
        }
    }

    /// The application has `bytes` more to send; the send buffer takes them as it can. Saturates: `u64::MAX` is "without end".
    pub fn write(&mut self, bytes: u64) {
        if self.state != State::Closed {
            self.outlet().write(bytes);
        }
    }

    /// The application stops writing in the middle of a stream without end: a FIN follows the last byte that has been sent.
    pub fn stop(&mut self) {
        let on_syn = if self.is_established() { 0 } else { u64::from(self.sent_with_syn()) };
        self.outlet().stop(on_syn);
    }

    /// Sets whether arriving data counts as read at once (the default), or waits for [`Connection::read`].
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
            // RFC 9293 §3.10.7.4: only what was sent can be acknowledged. That is the SYN, unless data goes before the handshake is done.
            if !self.acknowledges_syn(segment.ack) {
                self.refuse(segment);
                return;
            }
            self.establish(now, segment);
        }
        if self.receiver.is_current(now, segment) {
            if self.handle_ack(now, segment) {
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
                self.say_first(ack);
            }
            let had_ended = self.receiver.end_of_stream();
            let is_ahead = self.skip_gap(segment);
            if segment.len > 0
                && let Some(sender) = self.sending.sender()
            {
                self.receiver.follow(sender.trips.srtt(), sender.trips.rto());
            }
            if self.receiver.handle(now, segment, ecn) == Verdict::AckNow {
                self.ack_now = true;
            }
            if self.receiver.end_of_stream() && !had_ended {
                self.after_fin(now);
            }
            if is_ahead {
                self.go_ahead(segment);
            }
        } else if !accepted {
            self.retreat();
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
        if let Some(sender) = self.sending.sender_mut()
            && now >= sender.timers.deadline()
        {
            match self.state {
                State::SynSent | State::SynReceived => self.syn_timeout(),
                State::Listen | State::Closed => sender.timers.stop(),
                _ => {
                    sender.time_is_up(now);
                    self.mind_user_timeout(now);
                }
            }
        }
        if now >= self.time_wait {
            self.time_wait = Time::MAX;
            self.state = State::Closed;
        }
    }

    /// Returns true if `poll_transmit` would return `None`: nothing to send, as at an end that only receives whenever no ACK is due.
    #[inline]
    pub fn is_silent(&mut self, now: Time) -> bool {
        self.state == State::Established
            && !self.ack_now
            && self.prompt.as_ref().is_none_or(|prompt| !prompt.is_due)
            && self.sending.sender_mut().is_none_or(|sender| {
                let done = sender.is_done();
                if done {
                    sender.waits(now);
                }
                done
            })
    }

    /// The next segment to send, if any may go now, and its ECN field. Call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment).map(|ecn| (segment, ecn))
    }

    /// Works as [`Self::poll_transmit`], but writes the segment to where it is to stay. A copy of it would take as long as all the rest.
    #[inline]
    pub fn poll_transmit_into(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        if let Some(prompt) = &mut self.prompt
            && prompt.is_due
        {
            prompt.is_due = false;
            *segment = prompt.segment;
            // Segments that an application call set off carry no time yet.
            if let (Some((_, ecr)), Some(clock)) = (segment.timestamps(), self.timestamps) {
                segment.set_timestamps(clock.ticks(now) as u32, ecr);
            }
            return Some(Ecn::NotEct);
        }
        if self.state == State::Established || !matches!(self.state, State::Listen | State::SynSent | State::SynReceived | State::Closed) {
            if let Some(ecn) = self.next(now, segment) {
                return Some(ecn);
            }
        } else if self.syn_now {
            *segment = self.syn(now);
            return Some(Ecn::NotEct);
        } else if self.answers_early() {
            // RFC 7413 §4.2.2: within the initial window, before the handshake is done.
            let next = self.next(now, segment);
            // Only the SYN-ACK is retransmitted until then.
            self.sender().wait_for_handshake();
            if next.is_some() {
                return next;
            }
        }
        if self.ack_now && !matches!(self.state, State::Listen | State::Closed) {
            self.pure_ack(now, segment);
            return Some(Ecn::NotEct);
        }
        None
    }

    /// The next segment of the stream that may go now.
    #[inline]
    fn next(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        let sender = self.sending.sender_mut()?;
        if sender.is_done() {
            sender.waits(now);
            return None;
        }
        let header = if sender.is_explicit() || self.receiver.returns_feedback(sender.mss()) { CongestionHeader::LEN.into() } else { 0 };
        sender.carry_options(self.receiver.options_len(sender.mss(), self.timestamps.is_some()) + header);
        let Some(range) = sender.next(now) else {
            sender.waits(now);
            return None;
        };
        sender.segment(range, segment);
        if segment.len > 0 && sender.is_explicit() {
            sender.ask_routers(segment);
        }
        if range.retransmitted && range.start == 1 {
            self.receiver.echo.forgo_option();
        }
        // RFC 3168 §6.1.5, §6.1.6: retransmissions and window probes are not ECN-capable.
        let capable = segment.len > 0 && !range.retransmitted && !sender.is_probing();
        let ecn = if capable { sender.ecn.codepoint() } else { Ecn::NotEct };
        let room = if segment.len > 0 { sender.mss().saturating_sub(u64::from(segment.len)) } else { u64::MAX };
        self.stamp(now, segment, room);
        if segment.has(flags::FIN) {
            self.after_ack(now);
        }
        Some(ecn)
    }

    /// One past the highest octet sent: data, SYN or FIN.
    fn sent_until(&self) -> u64 {
        self.sending.sender().map_or_else(|| self.is_established().into(), Sender::sent_until)
    }

    fn pure_ack(&mut self, now: Time, segment: &mut Segment) {
        *segment = Segment::new(wrap(self.iss, self.sent_until()), 0, 0);
        self.stamp(now, segment, u64::MAX);
        self.acks_sent += 1;
    }

    /// Stamps everything that each segment carries. Without data, options have all the `room` that there can be; with data, only what the
    /// payload leaves of a full segment.
    #[inline]
    fn stamp(&mut self, now: Time, segment: &mut Segment, room: u64) {
        if let Some(clock) = self.timestamps {
            segment.set_timestamps(clock.ticks(now) as u32, self.receiver.ts_recent());
        }
        self.receiver.stamp(now, segment, room);
        self.ack_now = false;
        if let Some(misbehaving) = self.prompt.as_deref_mut().and_then(|prompt| prompt.misbehaving.as_mut())
            && !segment.has(flags::SYN)
        {
            let ack = misbehaving.acknowledge(self.receiver.next().0);
            self.receiver.restate(segment, ack);
            self.ack_now = misbehaving.has_more();
        }
    }

    /// `segment` goes next, before all else.
    fn say_first(&mut self, segment: Segment) {
        match &mut self.prompt {
            Some(prompt) => (prompt.segment, prompt.is_due) = (segment, true),
            None => self.prompt = Some(Box::new(Prompt { segment, is_due: true, misbehaving: None })),
        }
    }

    /// Returns the time at which `handle_timeout` is wanted.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let deadline = self.sending.sender().map_or(Time::MAX, |sender| sender.timers.deadline());
        let at = deadline.min(self.receiver.ack_deadline()).min(self.time_wait);
        if at == Time::MAX { None } else { Some(at) }
    }

    /// Returns the time until which pacing holds a segment back: `poll_transmit` is worth asking again then, though nothing arrived.
    #[inline]
    pub fn paced_until(&self, now: Time) -> Option<Time> {
        let at = self.sending.sender()?.paced_until(now);
        if at == Time::MAX { None } else { Some(at) }
    }
}
