//! The sending half of a connection. It composes owners, each with a state of its own: the [`Stream`], the [`SendBuffer`], [`RoundTrips`],
//! [`Timers`], [`Repair`], the control as it is [`Measured`], [`Usage`] of the windows, what becomes of an [`Unused`] one, [`Reductions`],
//! the [`Pacer`] and the [`Host`]. It passes to each what it needs, and does what they decide: ACKs come in `ack`, losses and timers are
//! answered in `loss`, congestion in `response`, and what goes next is in `send`.

mod ack;
mod buffer;
mod host;
mod loss;
mod plain;
mod response;
mod send;
mod stream;
#[cfg(test)]
mod testing;
mod timers;
mod unused;
mod usage;

use crate::congestion::held::Taken;
use crate::congestion::{self, CongestionControl, Established, Measured};
use crate::ecn::Feedback;
use crate::pacing::{Paced, Pacer};
use crate::peer_window::PeerWindow;
use crate::repair::{Phase, Repair};
use crate::round_trips::RoundTrips;
use crate::scoreboard::Scoreboard;
use crate::window_sizing::{MemoryUse, SendState};
use crate::{CaState, LimitedBy, RecoveryKind, Stats, TcpConfig, TcpInfo, WindowProbe};
use buffer::SendBuffer;
use host::Host;
pub(super) use host::Room;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
use response::Reductions;
use stream::Stream;
use timers::{Timer, Timers};
use unused::Unused;
use usage::{Limit, Usage};

/// Transmission: offsets `start..end` of the stream (data, and the FIN as its last octet).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub start: u64,
    pub end: u64,
    /// True if it was sent before.
    pub retransmitted: bool,
}

#[derive(Debug)]
pub(super) struct Sender {
    iss: u32,
    board: Scoreboard,
    control: Measured,
    pub(super) trips: RoundTrips,
    pub(super) timers: Timers,
    stats: Stats,
    mss: u64,
    /// `mss` less the options that the next segment carries.
    payload_max: u64,
    /// ECN marks that the ACKs tell of.
    pub(super) ecn: Feedback,
    unused: Unused,
    pub(super) stream: Stream,
    pub(super) buffer: SendBuffer,
    pub(super) peer: PeerWindow,
    repair: Repair,
    usage: Usage,
    reductions: Reductions,
    pub(super) pacer: Pacer,
    pub(super) host: Host,
    /// A probe of a closed window carries no data.
    empty_window_probe: bool,
    /// True if the control asks for forward delays.
    wants_forward_delay: bool,
    /// True if data carries a congestion header.
    is_explicit: bool,
    /// The ACK that ends a recovery lets cwnd grow.
    grows_at_recovery_end: bool,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig, iss: u32, phase: Duration) -> Self {
        let control = congestion::build(config);
        let kind = if control.traits().starts_over { RecoveryKind::Tahoe } else { config.recovery };
        Sender {
            iss,
            board: Scoreboard::default(),
            wants_forward_delay: control.traits().wants_forward_delay,
            is_explicit: control.traits().explicit > 0.0,
            control: Measured::new(control),
            trips: RoundTrips::new(config, phase),
            timers: Timers::STOPPED,
            stats: Stats::default(),
            mss: u64::from(config.mss),
            payload_max: u64::from(config.mss),
            ecn: Feedback::new(congestion::ecn_use(config)),
            unused: Unused::new(config),
            stream: Stream::new(config.sending.nagle),
            buffer: SendBuffer::new(config),
            peer: PeerWindow::default(),
            repair: Repair::new(config, kind),
            usage: Usage::new(config),
            reductions: Reductions::new(config),
            pacer: Pacer::new(config),
            host: Host { room: Room::Yes, bursts: None },
            empty_window_probe: config.sending.window_probe == WindowProbe::Empty,
            grows_at_recovery_end: config.growth.grow_at_recovery_end,
        }
    }

    /// The handshake begins anew, with a SYN yet to come.
    pub(crate) fn listen_again(&mut self, config: &TcpConfig) {
        self.board = Scoreboard::default();
        self.trips.start_over(config);
        self.repair.set_kind(if self.control.traits().starts_over { RecoveryKind::Tahoe } else { config.recovery });
        self.ecn = Feedback::new(congestion::ecn_use(config));
        self.timers.stop();
    }

    /// The other side takes no more than `mss` bytes in a segment.
    fn agree_mss(&mut self, config: &TcpConfig, mss: u64) {
        self.mss = mss;
        let config = TcpConfig { mss: mss as u32, ..config.clone() };
        self.set_control(congestion::build(&config));
        self.unused = Unused::new(&config);
        self.buffer.start_over(&config);
    }

    /// Replaces the control; nothing but the SYN has been sent.
    pub(crate) fn replace_control(&mut self, config: &TcpConfig) {
        let config = TcpConfig { mss: self.mss as u32, ..config.clone() };
        self.control = Measured::new(congestion::build(&config));
        self.note_wishes();
        self.ecn.set_uses(congestion::ecn_use(&config));
        if self.control.traits().starts_over {
            self.repair.set_kind(RecoveryKind::Tahoe);
        }
    }

    /// Puts another control in the place of the present one, made of it by `wrap`.
    pub(crate) fn wrap_control(&mut self, wrap: impl FnOnce(Box<dyn CongestionControl + Send>) -> Box<dyn CongestionControl + Send>) {
        let control = self.control.replace(Box::new(Taken));
        self.set_control(wrap(control));
    }

    /// Replaces the control by one that goes on with what was measured for it.
    pub(crate) fn set_control(&mut self, control: Box<dyn CongestionControl + Send>) {
        self.control.replace(control);
        self.note_wishes();
    }

    /// Notes the services that the control asks of each packet.
    fn note_wishes(&mut self) {
        let traits = self.control.traits();
        (self.wants_forward_delay, self.is_explicit) = (traits.wants_forward_delay, traits.explicit > 0.0);
    }

    /// Returns true if data carries a congestion header. A segment this short has no room for one.
    #[inline]
    pub(crate) fn is_explicit(&self) -> bool {
        self.is_explicit && self.mss >= 64
    }

    /// Payload bytes of a full segment.
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    /// The next segment carries so many bytes of options, for which the payload makes room (RFC 6691 §2).
    #[inline]
    pub(crate) fn carry_options(&mut self, bytes: u64) {
        self.payload_max = self.mss - bytes;
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats { rtt_min: self.trips.least(), ..self.stats }
    }

    /// The sender has nothing to send at `now`, or may not: from now on its time is that of the limit it has come to.
    #[inline]
    pub(crate) fn waits(&mut self, now: Time) {
        let is_send_buffer = self.usage.limit() == Limit::Rwnd && self.buffered_until() < self.peer.edge;
        self.usage.waits(now, is_send_buffer);
    }

    /// Returns how long each limit held the sender back until `until`.
    pub(crate) fn limited(&self, until: Time) -> [Duration; LimitedBy::ALL.len()] {
        self.usage.spent(until)
    }

    /// The rate at which data last arrived, in bytes of payload a second, where the control has it measured.
    pub(crate) fn delivery_rate(&self) -> Option<f64> {
        self.control.delivery_rate()
    }

    /// Returns one past the highest octet sent: data, SYN or FIN.
    #[inline]
    pub(crate) fn sent_until(&self) -> u64 {
        self.board.max()
    }

    /// The SYN goes out for the first time.
    pub(crate) fn syn_sent(&mut self) {
        self.board.sent_new(1);
    }

    /// Returns the connection's use of its host's memory; `received`: the receiving half's.
    #[inline]
    pub(crate) fn memory(&self, received: MemoryUse) -> MemoryUse {
        let (acked, outstanding, unacked) = (self.board.una(), self.board.outstanding(), self.unacked().0);
        MemoryUse {
            acked,
            outstanding,
            // A buffer that has become smaller still holds what is on its way.
            send_buffered: unacked.min(self.buffered_until().saturating_sub(acked).max(outstanding)),
            writer_waits: unacked > self.buffered_until().saturating_sub(acked),
            send_buffer: self.buffer.size(),
            send_wanted: self.buffer.wanted(),
            ..received
        }
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        self.check_app_limited();
        self.buffer.refill(self.board.una(), self.stream.end());
        self.stream.write(bytes, self.board.una());
    }

    /// Bytes written and not acknowledged, and those of them not sent yet.
    pub(crate) fn unacked(&self) -> (u64, u64) {
        (self.stream.beyond(self.board.una()), self.stream.beyond(self.board.max()))
    }

    /// The application stops: what was written and not yet sent is forgotten, and the FIN follows what was. `on_syn`: bytes that went with a
    /// SYN that is not answered yet.
    pub(crate) fn stop(&mut self, on_syn: u64) {
        self.stream.stop(self.board.max().max(1 + on_syn));
    }

    /// Returns one past what the application has been able to write so far.
    pub(super) fn end_of_buffered(&self) -> u64 {
        self.stream.end().min(self.buffered_until())
    }

    /// Returns the offset up to which the send buffer reaches.
    fn buffered_until(&self) -> u64 {
        self.buffer.reach(self.board.una())
    }

    /// Returns true if all that was written (and the FIN, if closed) is acknowledged.
    pub(crate) fn all_acked(&self) -> bool {
        self.board.una() >= self.stream.end()
    }

    /// Returns whether the FIN has been sent, and whether it has been acknowledged.
    pub(crate) fn fin(&self) -> (bool, bool) {
        (self.stream.fin_is_below(self.board.max()), self.stream.fin_is_below(self.board.una()))
    }

    /// The window the sender keeps to: the control's, or that of the recovery under way.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        self.repair.window(self.mss, || self.control.cwnd())
    }

    /// The rate to space segments at, if any (of payload).
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        self.pacer.rate(self.control.pacing_rate(), || self.unused.is_not_validated(), || self.paced())
    }

    /// Returns the inputs to the rate of a window-based control.
    fn paced(&self) -> Paced {
        Paced { window: self.window(), srtt: self.trips.srtt(), slow_start: self.control.cwnd() < self.control.ssthresh() }
    }

    /// Returns true if a closed window is being probed.
    #[inline]
    pub(crate) fn is_probing(&self) -> bool {
        self.timers.is_probing()
    }

    /// Sets the retransmission timer.
    pub(crate) fn arm_rto(&mut self, now: Time) {
        self.timers.arm_rto(now, &self.trips);
    }

    /// Returns for how long nothing has answered what is retransmitted, or a window probe.
    pub(crate) fn unanswered(&self, now: Time) -> Duration {
        self.timers.unanswered(now, self.board.una())
    }

    /// The peer's window, as far as known.
    pub(crate) fn rwnd(&self) -> u64 {
        self.peer.edge.saturating_sub(self.board.una())
    }

    /// The SYNs have agreed on segments of `mss` bytes and on SACK or not, and have told of the first window.
    pub(crate) fn agree(&mut self, config: &TcpConfig, mss: u32, sack: bool, peer: PeerWindow) {
        if self.repair.is_selective() && !sack {
            self.repair.set_kind(RecoveryKind::NewReno);
        }
        if u64::from(mss) != self.mss {
            // The control counts in segments of the size agreed, not of the size we offered.
            self.agree_mss(config, mss.into());
        }
        self.peer = peer;
    }

    /// The SYN was acknowledged, at `now`; after `rtt`, unless it was sent more than once.
    pub(crate) fn establish(&mut self, config: &TcpConfig, now: Time, rtt: Option<Duration>, timestamps: bool) {
        self.board.acknowledge(1);
        self.timers.rest();
        if self.board.outstanding() > 0 {
            self.arm_rto(now);
        }
        self.usage.begins(now);
        self.trips.establish(config, now, rtt, timestamps);
        if rtt.is_none() {
            congestion::syn_lost(&mut *self.control);
        }
        self.established(now, rtt);
    }

    /// The handshake is done, and took `rtt` where that is known: the control begins.
    pub(crate) fn established(&mut self, now: Time, rtt: Option<Duration>) {
        // The initial sequence number is drawn from the connection's own stream.
        let established = Established { now, rtt, sack: self.repair.is_selective(), seed: u64::from(self.iss) };
        congestion::established(&mut *self.control, &established);
        self.size_buffer(now);
    }

    /// The window with which data begins is of `rwnd` bytes.
    pub(crate) fn heed_first_window(&mut self, config: &TcpConfig, rwnd: u32) {
        if config.growth.ssthresh_half_rwnd
            && let Some(window) = self.control.window_mut()
        {
            window.start_at_half(rwnd.into());
        }
    }

    /// Notes where the application gives too little to send: before it gives more, and before an ACK or a timer changes what may be sent.
    #[inline]
    pub(crate) fn check_app_limited(&mut self) {
        if self.control.may_run_dry(self.board.pipe()) && self.board.max() >= self.end_of_buffered() {
            self.control.runs_dry(&self.board);
        }
    }

    /// The state may have changed: sizes the send buffer.
    #[inline]
    pub(crate) fn size_buffer(&mut self, now: Time) {
        if self.buffer.is_sized() {
            self.follow_window(now);
        }
    }

    #[inline(never)]
    fn follow_window(&mut self, now: Time) {
        let cwnd = self.window();
        self.buffer.follow(&SendState {
            now,
            cwnd,
            ssthresh: self.control.ssthresh(),
            needed: self.board.outstanding() + cwnd.saturating_sub(self.board.pipe()),
            rwnd: self.rwnd(),
            una: self.board.una(),
            mss: self.mss,
            round: self.usage.round(),
            srtt: self.trips.srtt(),
        });
    }

    /// The state at this instant, without what the SYNs agreed on.
    pub(crate) fn info(&self) -> TcpInfo {
        let segments = |bytes: u64| bytes.div_ceil(self.mss) as u32;
        let (lost, retrans) = self.repair.lost_and_retransmitted(&self.board);
        TcpInfo {
            cwnd: self.window(),
            ssthresh: self.control.ssthresh(),
            in_flight: self.board.pipe(),
            rwnd: self.rwnd(),
            srtt: self.trips.srtt(),
            rttvar: self.trips.rttvar(),
            rto: self.trips.rto(),
            backoff: self.trips.backoff(),
            mss: self.mss,
            outstanding: self.board.outstanding(),
            ca_state: self.ca_state(),
            reordering: self.repair.reordering(self.mss),
            sacked: segments(self.board.sacked_bytes()),
            lost: segments(lost),
            retrans: segments(retrans),
            ..TcpInfo::default()
        }
    }

    fn ca_state(&self) -> CaState {
        match self.repair.phase() {
            Phase::Recovery => CaState::Recovery,
            Phase::Loss => CaState::Loss,
            Phase::Open if self.repair.eases() || !self.reductions.heeds_marks(self.board.una()) => CaState::Cwr,
            Phase::Open if self.board.has_sacked() || self.repair.has_duplicates() => CaState::Disorder,
            Phase::Open => CaState::Open,
        }
    }
}
