//! Opening: the SYNs, what they agree on, and what is refused (RFC 9293 §3.5, §3.10.7).

use super::{Abort, Connection, Sending, State};
use crate::TcpConfig;
use crate::clock::Clock;
use crate::ecn::{ACE, EcnKind};
use crate::peer_window::PeerWindow;
use longfat_core::packet::{Ecn, Segment, flags};
use longfat_core::time::{Duration, Time};

/// RFC 9768 §3.1.4.1, §3.2.3.2.2: SYNs and SYN-ACKs ask for AccECN, or agree to it, once more when they are lost; not after so many
/// timeouts.
const LAST_TRY: u32 = 2;

/// Times of the SYNs, and what they said: a sender that is made later starts from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// Time when our SYN went out for the first time.
    sent: Time,
    /// Timeouts without an answer to it; at most 255.
    timeouts: u8,
    /// Time when it was acknowledged; [`Time::MAX`]: not yet.
    pub done: Time,
    /// Maximum segment size, as agreed.
    pub mss: u32,
    /// The window field of the other side's SYN, and the window with which data began, in bytes.
    pub syn_window: u16,
    pub first_window: u32,
}

impl Handshake {
    pub(super) const NONE: Self = Handshake { sent: Time::ZERO, timeouts: 0, done: Time::MAX, mss: 0, syn_window: 0, first_window: 0 };

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.done != Time::MAX
    }

    /// The round trip of the SYN; of one sent more than once it is not known.
    pub(super) fn rtt(&self) -> Option<Duration> {
        (self.is_done() && self.timeouts == 0).then(|| self.done.since(self.sent))
    }
}

/// The clock of our timestamps, where there are any.
pub(super) fn timestamp_clock(config: &TcpConfig, phase: Duration) -> Option<Clock> {
    config.timestamps.then(|| Clock::new(config.timers.timestamp_tick, phase))
}

/// How long it has been tried when the wait for the answer to repetition `last` of a SYN ends, where the first `linear` timeouts do not double
/// the wait.
fn waited(config: &TcpConfig, last: u32, linear: u32) -> Duration {
    let doubled =
        |i: u32| config.timers.rto_initial.saturating_mul(1 << i.min(config.timers.rto_doublings).min(40)).min(config.timers.rto_max);
    (0..=last).map(|i| doubled(i.saturating_sub(linear))).fold(Duration::ZERO, |sum, wait| sum + wait)
}

impl Connection {
    /// RFC 9293 §3.10.7.1: a segment for a connection that is not there is answered with a reset, so that the other side does
    /// not try for ever.
    pub(super) fn refuse(&mut self, segment: &Segment) {
        if segment.has(flags::RST) {
            return;
        }
        let mut reset = Segment::new(segment.ack, flags::RST, 0);
        if !segment.has(flags::ACK) {
            reset = Segment::new(0, flags::RST | flags::ACK, 0);
            reset.ack = segment.seq.wrapping_add(segment.seq_len());
        }
        self.say_first(reset);
    }

    /// RFC 9293 §3.10.7.2.
    pub(super) fn handle_in_listen(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if segment.has(flags::ACK) {
            self.refuse(segment);
            return;
        }
        if segment.has(flags::RST) || !segment.has(flags::SYN) {
            return;
        }
        self.accept_syn(now, segment, ecn);
        self.answer_fast_open(now, segment, ecn);
        self.state = State::SynReceived;
        self.syn_now = true;
    }

    /// RFC 9293 §3.10.7.3.
    pub(super) fn handle_in_syn_sent(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let acceptable = segment.has(flags::ACK) && self.sent_until() == 1 && self.acknowledges_syn(segment.ack);
        if segment.has(flags::RST) {
            if acceptable {
                self.aborted = Some(Abort::Reset);
                self.end();
            }
            return;
        }
        if segment.has(flags::ACK) && !acceptable {
            self.refuse(segment);
            return;
        }
        if !segment.has(flags::SYN) {
            return;
        }
        self.accept_syn(now, segment, ecn);
        if acceptable {
            self.establish(now, segment);
            if segment.len > 0 && self.knows_fast_open() {
                // RFC 7413 §4.2.2: a SYN-ACK may bring the server's answer.
                self.take_syn_data(now, segment, ecn);
                self.note_early_fin(now);
            }
            self.ack_now = true;
            if self.receiver.echo.kind() == EcnKind::AccEcn {
                self.answer_syn_ack(now, ecn);
            }
        } else {
            // Both sides opened at once (RFC 9293 §3.5 figure 8).
            self.state = State::SynReceived;
            self.syn_now = true;
        }
    }

    /// A SYN after the first. Whether what comes with it is to be looked at, too.
    pub(super) fn handle_late_syn(&mut self, now: Time, segment: &Segment, ecn: Ecn, accepted: bool) -> bool {
        let (_, irs) = self.receiver.next();
        let answers = segment.has(flags::ACK);
        if self.state == State::SynReceived && !answers {
            if segment.seq == irs {
                self.asked_again(segment, ecn);
            } else if accepted && self.passive && !self.opened_fast() {
                // RFC 9293 §3.10.7.4, fourth.
                self.listen_again();
            } else {
                self.challenge(now);
            }
            return false;
        }
        if answers && self.receiver.echo.kind() == EcnKind::AccEcn {
            self.answer_syn_ack(now, ecn);
        } else {
            // A repeated SYN-ACK, or an attack (RFC 5961 §4.2).
            self.challenge(now);
        }
        self.state == State::SynReceived
    }

    /// The SYN comes again: the SYN-ACK has not arrived.
    fn asked_again(&mut self, segment: &Segment, ecn: Ecn) {
        let (offered, agreed) = (self.config.ecn, self.receiver.echo.kind());
        if offered.is_contradicted(agreed, segment.flags) {
            // RFC 9768 §3.1.5: each side could end up with another kind of feedback.
            self.abort();
            if self.passive {
                self.listen_again();
            }
            return;
        }
        if agreed == EcnKind::AccEcn && segment.flags & ACE == 0 {
            // §3.1.5: the client may have given up AccECN.
            self.sender().ecn.withhold();
        }
        self.syn_now = true;
        self.syn_ecn = ecn;
    }

    /// Handles the timeout of the SYN, or of the SYN-ACK.
    pub(super) fn syn_timeout(&mut self) {
        let asks = self.state == State::SynSent;
        let (retries, linear) = if asks {
            (self.config.timers.syn_retries, self.config.timers.syn_linear_timeouts)
        } else {
            (self.config.timers.syn_ack_retries, 0)
        };
        let (timeouts, config) = (u32::from(self.handshake.timeouts), &self.config);
        // The time is the one that `retries` take with doubling alone. Measured on Linux 6.18: with 2 of them, and 4 linear timeouts, SYNs go
        // after 0, 1, 2, 3, 4 and 5 s, and the attempt ends after 7 s, as it does without linear timeouts.
        if retries.is_some_and(|most| waited(config, timeouts, linear) >= waited(config, most, 0)) {
            self.give_up();
            return;
        }
        self.handshake.timeouts = self.handshake.timeouts.saturating_add(1);
        let sender = self.sender();
        if timeouts >= linear {
            sender.trips.back_off();
        }
        sender.timers.stop();
        self.syn_now = true;
    }

    /// Goes back to LISTEN and forgets everything that the SYN has set (RFC 9293 §3.10.7.4). The application's settings stay.
    pub(super) fn listen_again(&mut self) {
        self.state = State::Listen;
        (self.ack_now, self.syn_now, self.handshake.timeouts) = (false, false, 0);
        match self.sending.sender_mut() {
            Some(sender) if self.speaks => sender.listen_again(&self.config),
            _ => self.sending = Sending::silent(&self.config),
        }
        self.receiver.listen_again(&self.config);
        self.forget_fast_open();
    }

    /// Agrees on the options that the other side's SYN offers and this end uses.
    fn accept_syn(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        self.timestamps = timestamp_clock(&self.config, self.phase).filter(|_| segment.timestamps().is_some());
        self.window_scale = self.config.window_scale && segment.window_scale().is_some();
        let sack = self.config.sack && segment.sack_permitted();
        // RFC 7323 §2.3: a shift above 14 is taken as 14.
        let peer_shift = if self.window_scale { segment.window_scale().unwrap_or(0).min(14) } else { 0 };
        let shift = if self.window_scale { self.receiver.wanted_shift() } else { 0 };
        self.receiver.agree(shift, sack);
        // RFC 9293 §3.7.1: 536 where the option is missing; RFC 6691: options come off it. What timestamps would have taken of
        // our own segments is payload where the other side does not have them.
        let options = |on: bool| if on { 12 } else { 0 };
        let peer = u64::from(segment.mss().unwrap_or(536)).saturating_sub(options(self.timestamps.is_some())).max(1);
        let own = u64::from(self.config.mss) + options(self.config.timestamps && self.timestamps.is_none());
        self.handshake.mss = peer.min(own) as u32;
        self.handshake.syn_window = segment.window;
        let answers = segment.has(flags::ACK);
        let offered = self.config.ecn;
        let agreed = if answers { offered.agreed_by_syn_ack(segment.flags) } else { offered.agreed_to_syn(segment.flags) };
        self.syn_ecn = ecn;
        self.receiver.echo.agree(agreed, answers);
        self.receiver.start(now, segment);
        let (config, mss) = (self.config.clone(), self.handshake.mss);
        let sender = self.sender();
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        sender.agree(&config, mss, sack, PeerWindow::new(segment.seq, segment.window.into(), peer_shift));
        sender.ecn.agree(agreed);
        if answers {
            sender.ecn.take_syn_ack(segment);
        }
    }

    /// RFC 9768 §3.2.2.1: the SYN-ACK is answered by a pure ACK, which says what was in its ECN field.
    pub(super) fn answer_syn_ack(&mut self, now: Time, syn_ack: Ecn) {
        let mut ack = Segment::default();
        self.pure_ack(now, &mut ack);
        ack.flags &= !ACE;
        self.receiver.echo.stamp_handshake(&mut ack, syn_ack);
        self.say_first(ack);
    }

    pub(super) fn establish(&mut self, now: Time, segment: &Segment) {
        self.handshake.done = now;
        let (config, rtt, timestamps) = (self.config.clone(), self.handshake.rtt(), self.timestamps.is_some());
        if let Some(rtt) = rtt {
            self.receiver.established(rtt);
        }
        let sender = self.sender();
        sender.establish(&config, now, rtt, timestamps);
        if !segment.has(flags::SYN) {
            sender.ecn.take_handshake_ack(segment);
            let shift = sender.peer.shift;
            sender.peer = PeerWindow::new(segment.seq, u32::from(segment.window) << shift, shift);
        }
        // At most 2^30 (RFC 7323 §2.3).
        let first_window = sender.peer.max() as u32;
        sender.heed_first_window(&config, first_window);
        let (srtt, rto) = (sender.trips.srtt(), sender.trips.rto());
        self.receiver.follow(srtt, rto);
        self.handshake.first_window = first_window;
        self.state = State::Established;
        self.learn_from_syn_ack(segment);
        self.note_early_fin(now);
        self.rest();
    }

    /// The SYN, or in SYN-RECEIVED the SYN-ACK.
    pub(super) fn syn(&mut self, now: Time) -> Segment {
        let answer = self.state == State::SynReceived;
        let mut segment = Segment::new(self.iss, flags::SYN, 0);
        let first = self.sender().sent_until() == 0;
        let timeouts = u32::from(self.handshake.timeouts);
        if first {
            self.sender().syn_sent();
            self.handshake.sent = now;
        }
        // RFC 6691: the option counts neither header nor options.
        let options = if self.config.timestamps { 12 } else { 0 };
        segment.set_mss((self.config.mss + options).min(0xffff) as u16);
        if self.window_scale {
            segment.set_window_scale(self.receiver.wanted_shift());
        }
        if self.receiver.sacks() {
            segment.set_sack_permitted();
        }
        segment.window = self.receiver.first_window();
        if answer {
            self.stamp(now, &mut segment, u64::MAX);
            let agreed = self.receiver.echo.kind();
            if agreed == EcnKind::AccEcn && timeouts >= LAST_TRY {
                // RFC 9768 §3.2.3.2.2 and §3.1.5: the feedback stays what it is, but nothing sent is ECN-capable.
                self.sender().ecn.withhold();
            } else {
                segment.flags |= agreed.answer(self.syn_ecn);
            }
            // §3.2.3.2.2: not again, should it be what was lost.
            if first {
                self.grant_cookie(&mut segment);
            }
            if agreed == EcnKind::AccEcn && first {
                self.receiver.echo.stamp_first_option(&mut segment);
            }
        } else {
            if let Some(clock) = self.timestamps {
                segment.set_timestamps(clock.ticks(now) as u32, 0);
            }
            if self.config.ecn != EcnKind::AccEcn || timeouts < LAST_TRY {
                segment.flags |= self.config.ecn.request();
            }
            self.ask_fast_open(first, &mut segment);
        }
        self.syn_now = false;
        let early = answer && self.opened_fast();
        let sender = self.sender();
        sender.arm_rto(now);
        if early {
            sender.open_early();
        }
        segment
    }
}
