//! Congestion controls: how `cwnd` grows and shrinks. One file each, one line in [`REGISTRY`].
//!
//! A control owns `cwnd`, `ssthresh` and its pacing rate. The sender owns loss recovery (and the window *during* it,
//! by PRR or by Reno's inflation) and the pacing itself.

/// Implements the methods by which a control shows the [`Window`] in its field `window`; the rest of [`CongestionControl`] uses it.
macro_rules! keeps_window {
    () => {
        fn window(&self) -> Option<&Window> {
            Some(&self.window)
        }

        fn window_mut(&mut self) -> Option<&mut Window> {
            Some(&mut self.window)
        }
    };
}

pub mod agent;
pub mod aimd;
pub mod bbr;
pub mod bic;
pub mod cdg;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod extensions;
pub mod fast;
pub mod held;
pub mod highspeed;
pub mod hstcp_lp;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod nv;
pub mod prague;
pub mod reno;
pub mod scalable;
pub mod tahoe;
pub mod tcp_lp;
pub mod vegas;
pub mod veno;
pub mod vivace;
pub mod westwood;
pub mod xcp;
pub mod yeah;

mod extremes;
mod low_priority;
mod measured;
pub mod promises;
mod queueing_delay;
mod rounds;
pub mod slow_start;
pub mod state;
mod window;

use crate::TcpConfig;
use crate::ecn::EcnUse;
use crate::pacing::BURST_LEAST;
use crate::rate::{LostPacket, RateSample};
use longfat_core::by_name;
use longfat_core::params::{Choice, ParamSpec, Params, Value};
use longfat_core::promise::Promise;
use longfat_core::time::{Duration, Time};
use longfat_core::units::Rate;
pub(crate) use measured::Measured;
pub use promises::Claim;
pub use slow_start::SlowStart;
pub use state::Variable;
use window::COUNT_ACKS;
pub use window::Window;

/// ACK that delivered something. Byte counts are of the stream's payload (a FIN counts as one).
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Time of arrival.
    pub now: Time,
    /// Bytes newly acknowledged, cumulatively.
    pub acked: u64,
    /// Bytes newly known to have arrived, cumulatively or by SACK; each counts once.
    pub delivered: u64,
    /// Bytes of `delivered` that ECN feedback says were marked CE; zero under classic ECN (RFC 3168), which does not say.
    pub marked: u64,
    /// Bytes in flight before this ACK.
    pub in_flight: u64,
    /// A round trip measured by this ACK: of the newest data it covers.
    pub rtt: Option<Duration>,
    /// The smoothed round trip (RFC 6298 §2), this ACK's sample included; zero before the first.
    pub srtt: Duration,
    /// The least round trip of the connection so far; zero before the first.
    pub rtt_min: Duration,
    /// One-way delay of the newest data from here to there, in ps, up to an unknown constant (the clocks are not synchronized). It uses
    /// the peer's last tick: up to one tick of its timestamps too short. Needs timestamps both ways, and a control that asks for it
    /// ([`Traits::wants_forward_delay`]).
    pub forward_delay: Option<i64>,
    /// Round trips so far, counted in packets: one more whenever something sent after the start of the round is acknowledged.
    pub round: u64,
    /// True if cwnd kept the sender from sending more (not the application, not rwnd).
    pub cwnd_limited: bool,
    /// True in slow start after a timeout (RFC 3465 §2.3 wants L = 1 there).
    pub after_timeout: bool,
    /// True during fast recovery.
    pub in_recovery: bool,
    /// Delivery rate, where the control asks for it ([`Traits::wants_rate`]).
    pub rate: Option<RateSample>,
}

/// Reasons for which the window must shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// A loss seen by duplicate ACKs or SACK.
    Loss,
    /// The retransmission timer, or a loss under Tahoe, which treats both alike: cwnd falls to one segment.
    Timeout,
    /// Another timeout without progress since the last: ssthresh stays (RFC 5681 §3.1 after Eq. 4).
    TimeoutAgain,
    /// ECN feedback tells of marks, at most once a round trip. To a control that needs exact feedback it comes only where there
    /// is such: elsewhere a mark comes as a `Loss` (RFC 3168 §5).
    Ecn,
    /// The host's own transmit queue was full: Linux 2.4's local congestion, Web100's send stall.
    Local,
}

/// A reduction asked of the control.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// Time when the sender learnt of it.
    pub now: Time,
    /// Kind of event. It decides the response: to end below the old window, or at one segment.
    pub kind: Congestion,
    /// FlightSize of RFC 5681: bytes sent and not acknowledged, limited transmit left out.
    pub flight_size: u64,
}

/// Results of the handshake.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// Time when the SYN was acknowledged.
    pub now: Time,
    /// Round trip of the SYN, if it was sent only once.
    pub rtt: Option<Duration>,
    /// True if both ends do selective acknowledgments.
    pub sack: bool,
    /// Seed of the connection, for a control that draws random numbers.
    pub seed: u64,
}

/// A window that is not used: what becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unused {
    /// Idle time, more than an rto: sending starts again (RFC 5681 §4.1).
    Idle(Duration),
    /// New limits of the window and ssthresh, in bytes (RFC 2861, RFC 7661 §4.4).
    Limited {
        /// The congestion window.
        cwnd: u64,
        /// The slow start threshold.
        ssthresh: u64,
    },
}

/// Reductions in which proportional rate reduction may steer the window in place of the control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrUse {
    /// The control's window holds at all times.
    Never,
    /// During the repair of a loss.
    Losses,
    /// Losses, and with `prr_on_marks` also reductions without a loss.
    Reductions,
}

/// Services that a control asks of the sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Traits {
    /// Reductions that PRR may steer.
    pub prr: PrrUse,
    /// Segments that pacing lets go at once, at least.
    pub burst_least: u64,
    /// True if a loss is answered like a timeout, by slow start over all that is outstanding (Tahoe), whatever `recovery` says.
    pub starts_over: bool,
    /// True if samples must carry the delivery rate. The sender then keeps a record per transmission in flight.
    pub wants_rate: bool,
    /// True if samples must carry the forward delay. It takes two divisions per ACK.
    pub wants_forward_delay: bool,
    /// The price at which data carries a congestion header, whose cwnd is divided by it (XCP); zero: data carries none.
    pub explicit: f64,
}

impl Traits {
    /// A control that keeps a window, and asks for nothing else.
    pub const WINDOW: Self = Traits {
        prr: PrrUse::Reductions,
        burst_least: BURST_LEAST,
        starts_over: false,
        wants_rate: false,
        wants_forward_delay: false,
        explicit: 0.0,
    };
}

/// A congestion control. Windows are in bytes. Each hook stands for one of Linux's `tcp_congestion_ops`.
pub trait CongestionControl: std::fmt::Debug {
    /// Services that it asks of the sender: when a connection begins, and `prr` whenever a reduction does.
    fn traits(&self) -> Traits {
        let retreats = self.window().is_some_and(Window::is_retreating);
        Traits { prr: if retreats { PrrUse::Never } else { PrrUse::Reductions }, ..Traits::WINDOW }
    }
    /// The window of a control that keeps one: what follows from it is the same for all, and an override only adds what the control keeps
    /// beside it. `None`: the control models the path, and overrides what it must.
    fn window(&self) -> Option<&Window> {
        None
    }
    /// Returns the window of [`Self::window`], to be changed.
    fn window_mut(&mut self) -> Option<&mut Window> {
        None
    }
    /// The hooks of a control that models the path.
    fn path_model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }
    /// Returns the other variables that the control decides with, by name: to be read and set from outside ([`state`]).
    fn state(&mut self) -> Vec<Variable<'_>> {
        Vec::new()
    }
    /// The congestion window.
    fn cwnd(&self) -> u64 {
        self.window().expect("a control without a window knows its cwnd").cwnd
    }
    /// The slow start threshold; `u64::MAX` while there is none.
    fn ssthresh(&self) -> u64 {
        self.window().map_or(u64::MAX, |window| window.ssthresh)
    }
    /// Returns the pacing rate; `None`: ACKs clock the segments.
    fn pacing_rate(&self) -> Option<Rate> {
        self.window().and_then(Window::pacing_rate)
    }
    /// An ACK delivered something, in whatever phase; comes before [`Self::on_ack`]. For what measures rather than grows.
    fn on_sample(&mut self, _ack: &AckSample) {}
    /// New data was acknowledged outside fast recovery: the window may grow.
    fn on_ack(&mut self, ack: &AckSample);
    /// Routers change the window by `feedback` bytes: comes before [`Self::on_sample`]. Only with [`Traits::explicit`].
    fn on_feedback(&mut self, _feedback: f64) {}
    /// Congestion: choose ssthresh, and cwnd as it shall be when recovery ends.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// Fast recovery is over: all that was outstanding when it began has arrived.
    fn on_recovered(&mut self, _now: Time) {
        if let Some(window) = self.window_mut() {
            window.recovered();
        }
    }
    /// The last reduction was for nothing: take it back.
    fn on_spurious(&mut self) {
        if let Some(window) = self.window_mut() {
            window.undo();
        }
    }
    /// The window was not in use.
    fn on_unused(&mut self, unused: Unused) {
        if let Some(window) = self.window_mut() {
            window.unused(unused);
        }
    }
}

/// The hooks of a control that models the path: those for which a [`Window`] alone needs nobody.
pub trait PathModel {
    /// The handshake is done.
    fn on_established(&mut self, _established: &Established) {}
    /// The SYN was lost: start with one segment (RFC 5681 §3.1).
    fn on_syn_loss(&mut self);
    /// A transmission counts as lost now. Only with [`Traits::wants_rate`].
    fn on_lost(&mut self, _packet: &LostPacket) {}
    /// Something is about to be sent after a time in which nothing was in flight for want of data. Only with [`Traits::wants_rate`].
    fn on_idle_end(&mut self, _now: Time) {}
    /// Returns true if the control sends less than it could on purpose. Rates are then no measure of the path.
    fn holds_back(&self) -> bool {
        false
    }
}

/// The handshake of `control` is done.
pub fn established(control: &mut dyn CongestionControl, established: &Established) {
    if let Some(model) = control.path_model() {
        model.on_established(established);
    }
}

/// The SYN of `control` was lost: it starts with one segment (RFC 5681 §3.1).
pub fn syn_lost(control: &mut dyn CongestionControl) {
    if let Some(model) = control.path_model() {
        model.on_syn_loss();
    } else if let Some(window) = control.window_mut() {
        window.syn_loss();
    }
}

/// Congestion control in the registry.
pub struct ControlKind {
    /// Name, as `TCP_CONGESTION` spells it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source of the definition: RFC, or authors, title, venue and year.
    pub source: &'static str,
    /// Its parameters beside those of TCP, which validation, sweeps and the schema know from here.
    pub params: &'static [ParamSpec],
    /// The values of its parameters in which Linux's variant differs from the published one, which is the default: stacks of Linux have them.
    pub linux: &'static [(&'static str, Value)],
    /// Use of ECN marks.
    pub ecn: EcnUse,
    /// Claims about whole runs, one of each kind of [`Claim`].
    pub promises: &'static [Promise<Claim>],
    /// A new one, for a connection that begins.
    pub build: fn(&TcpConfig) -> Box<dyn CongestionControl + Send>,
}

/// Every congestion control, in the order of listings.
pub const REGISTRY: &[ControlKind] = &[
    reno::KIND,
    cubic::KIND,
    tahoe::KIND,
    aimd::KIND,
    scalable::KIND,
    highspeed::KIND,
    htcp::KIND,
    bic::KIND,
    hybla::KIND,
    westwood::KIND,
    illinois::KIND,
    vegas::KIND,
    fast::KIND,
    yeah::KIND,
    compound::KIND,
    tcp_lp::KIND,
    hstcp_lp::KIND,
    ledbat::KIND,
    ledbat_plus_plus::KIND,
    veno::KIND,
    bbr::v1::KIND,
    bbr::v3::KIND,
    copa::KIND,
    cdg::KIND,
    nv::KIND,
    vivace::KIND,
    dctcp::KIND,
    prague::KIND,
    xcp::KIND,
];
by_name!(ControlKind, "congestion control", with params, and extensions::find);

/// Origin of a stack's controls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Controls as their authors published them: the defaults of their parameters.
    Published,
    /// Controls as Linux has them: [`ControlKind::linux`].
    Linux,
}

impl ControlKind {
    /// The values of its parameters that are not the defaults in `variant`.
    pub fn differs(&self, variant: Variant) -> &'static [(&'static str, Value)] {
        match variant {
            Variant::Published => &[],
            Variant::Linux => self.linux,
        }
    }
}

/// `kind`, with the defaults of its parameters.
pub(crate) fn choice_of(kind: &ControlKind) -> Choice {
    Choice { kind: kind.name, params: Params::defaults(kind.params) }
}

/// Returns how the control that `config` asks for uses ECN.
pub fn ecn_use(config: &TcpConfig) -> EcnUse {
    named(config.congestion_control.kind).ecn
}

/// The control that `config` asks for.
pub fn build(config: &TcpConfig) -> Box<dyn CongestionControl + Send> {
    (named(config.congestion_control.kind).build)(config)
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
