//! What an endpoint is told: the values of [`options::PARAMS`], as it reads them.

use crate::congestion;
use crate::ecn::EcnKind;
use crate::options;
use crate::window_sizing;
use longfat_core::params::{Choice, Params, Value};
use longfat_core::time::Duration;

/// How losses are repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryKind {
    /// Slow start after every loss (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends at the first new ACK (RFC 2581).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// Selective acknowledgments (RFC 6675).
    Sack,
    /// Selective acknowledgments and time (RFC 8985).
    Rack,
}

impl RecoveryKind {
    /// Whether SACKs steer it.
    #[inline]
    pub fn is_selective(self) -> bool {
        matches!(self, RecoveryKind::Sack | RecoveryKind::Rack)
    }
}

/// When an ACK that need not go at once goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayedAck {
    /// At once.
    Off,
    /// So long after the first unacknowledged segment.
    Timer(Duration),
    /// At the next tick of a free-running clock (BSD's fast timer).
    Heartbeat(Duration),
}

/// What becomes of a congestion window that is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndValidation {
    /// It is kept.
    Off,
    /// The initial window after an idle rto (RFC 5681 §4.1).
    Rfc5681,
    /// Decays while it is not used (RFC 2861).
    Rfc2861,
    /// Kept, and validated by use (RFC 7661).
    Rfc7661,
}

/// Whose segments are spaced out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// Those of a control that has a rate.
    Auto,
    /// Also those of a window-based control.
    On,
    /// Nobody's: they leave in bursts.
    Off,
}

/// Everything an endpoint is told. The fields are the parameters of [`options::PARAMS`].
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)] // PARAMS says what each one is
pub struct TcpConfig {
    pub congestion_control: Choice,
    /// In a kernel: our twin of the control, also where the kernel has one of its own.
    pub twin: bool,
    pub recovery: RecoveryKind,
    pub mss: u32,
    pub send_buffer: u64,
    pub receive_buffer: u64,
    pub window_sizing: Choice,
    /// In segments; 0 is RFC 6928's ([`TcpConfig::first_window`]).
    pub initial_window: u32,
    pub initial_ssthresh: u64,
    pub ssthresh_half_rwnd: bool,
    pub ssthresh_from_cwnd: bool,
    pub slow_start: &'static str,
    pub max_ssthresh: u32,
    pub hystart_divisor: u32,
    pub slow_start_half_used: bool,
    pub rtt_of_each_ack: bool,
    /// Percent.
    pub growth_before_loss: u32,
    /// CUBIC: its Reno-friendly window grows a segment a round trip once it is back at cwnd before the last reduction (RFC 9438 §4.3).
    pub reno_above_prior: bool,
    /// A reduction counts whole segments of cwnd, and leaves whole ones.
    pub whole_segments: bool,
    pub window_scale: bool,
    pub timestamps: bool,
    pub sack: bool,
    pub dsack: bool,
    pub ecn: EcnKind,
    pub delayed_ack: DelayedAck,
    pub ack_every: u32,
    pub quick_acks: u32,
    pub slow_timer: Duration,
    pub rto_initial: Duration,
    pub rto_min: Duration,
    pub rto_min_of_variance: bool,
    pub rto_max: Duration,
    pub rto_variances: u32,
    pub rto_doublings: u32,
    pub halve_each_timeout: bool,
    pub rto_after_syn_loss: Duration,
    pub user_timeout: Option<Duration>,
    pub syn_retries: Option<u32>,
    pub syn_linear_timeouts: u32,
    pub syn_ack_retries: Option<u32>,
    pub timestamp_tick: Duration,
    pub dupack_threshold: u32,
    pub repeated_fast_retransmit: bool,
    pub limited_transmit: bool,
    pub prr: bool,
    pub prr_on_marks: bool,
    pub tail_probe: bool,
    pub frto: bool,
    pub undo: bool,
    pub abc_limit: u32,
    pub extra_increment: bool,
    pub count_segments: bool,
    pub cwnd_validation: CwndValidation,
    /// A probe of a closed window carries no data.
    pub empty_window_probe: bool,
    pub nagle: bool,
    pub pacing: Pacing,
    pub pacing_ss_ratio: u32,
    pub pacing_ca_ratio: u32,
}

impl TcpConfig {
    /// The configuration that `params` (one value for each of [`options::PARAMS`]) describes on a path of `mtu` bytes.
    pub fn new(params: &Params, mtu: u32) -> Self {
        let timestamps = params.boolean("timestamps");
        let mss = match params.get("mss") {
            Value::Bytes(n) => n as u32,
            _ => mtu - 40 - if timestamps { 12 } else { 0 },
        };
        let delay = params.duration("delayed_ack_time");
        let limit = |name| (!params.is_auto(name)).then(|| params.integer(name) as u32);
        TcpConfig {
            congestion_control: congestion::choice(params.choice("congestion_control")),
            twin: params.boolean("twin"),
            recovery: match params.choice("recovery") {
                "tahoe" => RecoveryKind::Tahoe,
                "reno" => RecoveryKind::Reno,
                "newreno" => RecoveryKind::NewReno,
                "rack" => RecoveryKind::Rack,
                _ => RecoveryKind::Sack,
            },
            mss,
            send_buffer: params.integer("send_buffer"),
            receive_buffer: params.integer("receive_buffer"),
            window_sizing: window_sizing::choice(params.choice("window_sizing")),
            initial_window: limit("initial_window").unwrap_or(0),
            initial_ssthresh: if params.is_auto("initial_ssthresh") { u64::MAX } else { params.integer("initial_ssthresh") },
            ssthresh_half_rwnd: params.boolean("ssthresh_half_rwnd"),
            ssthresh_from_cwnd: params.boolean("ssthresh_from_cwnd"),
            slow_start: params.choice("slow_start"),
            max_ssthresh: params.integer("max_ssthresh") as u32,
            rtt_of_each_ack: params.boolean("rtt_of_each_ack"),
            hystart_divisor: params.integer("hystart_divisor") as u32,
            slow_start_half_used: params.boolean("slow_start_half_used"),
            growth_before_loss: params.integer("growth_before_loss") as u32,
            reno_above_prior: params.boolean("reno_above_prior"),
            whole_segments: params.boolean("whole_segments"),
            window_scale: params.boolean("window_scale"),
            timestamps,
            sack: params.boolean("sack"),
            dsack: params.boolean("dsack"),
            ecn: options::ecn(params),
            delayed_ack: match params.choice("delayed_ack") {
                "off" => DelayedAck::Off,
                "heartbeat" => DelayedAck::Heartbeat(delay),
                _ => DelayedAck::Timer(delay),
            },
            ack_every: params.integer("ack_every") as u32,
            quick_acks: params.integer("quick_acks") as u32,
            slow_timer: params.duration("slow_timer"),
            rto_initial: params.duration("rto_initial"),
            rto_min: params.duration("rto_min"),
            rto_min_of_variance: params.choice("rto_min_of") == "variance",
            rto_max: params.duration("rto_max"),
            rto_variances: params.integer("rto_variances") as u32,
            rto_doublings: params.integer("rto_doublings") as u32,
            halve_each_timeout: params.boolean("halve_each_timeout"),
            rto_after_syn_loss: params.duration("rto_after_syn_loss"),
            user_timeout: (!params.is_auto("user_timeout")).then(|| params.duration("user_timeout")),
            syn_retries: limit("syn_retries"),
            syn_linear_timeouts: params.integer("syn_linear_timeouts") as u32,
            syn_ack_retries: limit("syn_ack_retries"),
            timestamp_tick: params.duration("timestamp_tick"),
            dupack_threshold: params.integer("dupack_threshold") as u32,
            repeated_fast_retransmit: params.boolean("repeated_fast_retransmit"),
            limited_transmit: params.boolean("limited_transmit"),
            prr: params.boolean("prr"),
            prr_on_marks: params.boolean("prr_on_marks"),
            tail_probe: params.boolean("tail_probe"),
            frto: params.boolean("frto"),
            undo: params.boolean("undo"),
            abc_limit: params.integer("abc_limit") as u32,
            extra_increment: params.boolean("extra_increment"),
            count_segments: params.boolean("count_segments"),
            cwnd_validation: match params.choice("cwnd_validation") {
                "off" => CwndValidation::Off,
                "rfc2861" => CwndValidation::Rfc2861,
                "rfc7661" => CwndValidation::Rfc7661,
                _ => CwndValidation::Rfc5681,
            },
            empty_window_probe: params.choice("window_probe") == "empty",
            nagle: params.boolean("nagle"),
            pacing: match params.choice("pacing") {
                "on" => Pacing::On,
                "off" => Pacing::Off,
                _ => Pacing::Auto,
            },
            pacing_ss_ratio: params.integer("pacing_ss_ratio") as u32,
            pacing_ca_ratio: params.integer("pacing_ca_ratio") as u32,
        }
    }

    /// The initial window in bytes.
    pub fn first_window(&self) -> u64 {
        let mss = u64::from(self.mss);
        match self.initial_window {
            // RFC 6928 §2, Eq. 1.
            0 => (10 * mss).min((2 * mss).max(14_600)),
            segments => mss * u64::from(segments),
        }
    }

    /// The value of the parameter `name`, one of [`options::PARAMS`]: the opposite of [`TcpConfig::new`]. A control and a window sizing have more
    /// than a value: they are in their fields.
    pub fn value(&self, name: &str) -> Value {
        let count = |n: u32| Value::Count(n.into());
        match name {
            "recovery" => Value::Choice(match self.recovery {
                RecoveryKind::Tahoe => "tahoe",
                RecoveryKind::Reno => "reno",
                RecoveryKind::NewReno => "newreno",
                RecoveryKind::Sack => "sack",
                RecoveryKind::Rack => "rack",
            }),
            "twin" => Value::Bool(self.twin),
            "mss" => Value::Bytes(self.mss.into()),
            "send_buffer" => Value::Bytes(self.send_buffer),
            "receive_buffer" => Value::Bytes(self.receive_buffer),
            "initial_window" if self.initial_window == 0 => Value::Auto,
            "initial_window" => count(self.initial_window),
            "initial_ssthresh" if self.initial_ssthresh == u64::MAX => Value::Auto,
            "initial_ssthresh" => Value::Bytes(self.initial_ssthresh),
            "ssthresh_half_rwnd" => Value::Bool(self.ssthresh_half_rwnd),
            "ssthresh_from_cwnd" => Value::Bool(self.ssthresh_from_cwnd),
            "slow_start" => Value::Choice(self.slow_start),
            "max_ssthresh" => count(self.max_ssthresh),
            "rtt_of_each_ack" => Value::Bool(self.rtt_of_each_ack),
            "hystart_divisor" => count(self.hystart_divisor),
            "slow_start_half_used" => Value::Bool(self.slow_start_half_used),
            "growth_before_loss" => count(self.growth_before_loss),
            "reno_above_prior" => Value::Bool(self.reno_above_prior),
            "whole_segments" => Value::Bool(self.whole_segments),
            "window_scale" => Value::Bool(self.window_scale),
            "timestamps" => Value::Bool(self.timestamps),
            "sack" => Value::Bool(self.sack),
            "dsack" => Value::Bool(self.dsack),
            "ecn" => Value::Choice(self.ecn.name()),
            "delayed_ack" => Value::Choice(match self.delayed_ack {
                DelayedAck::Off => "off",
                DelayedAck::Timer(_) => "timer",
                DelayedAck::Heartbeat(_) => "heartbeat",
            }),
            "delayed_ack_time" => match self.delayed_ack {
                DelayedAck::Off => Value::Auto,
                DelayedAck::Timer(d) | DelayedAck::Heartbeat(d) => Value::Duration(d),
            },
            "ack_every" => count(self.ack_every),
            "quick_acks" => count(self.quick_acks),
            "slow_timer" => Value::Duration(self.slow_timer),
            "rto_initial" => Value::Duration(self.rto_initial),
            "rto_min" => Value::Duration(self.rto_min),
            "rto_min_of" => Value::Choice(if self.rto_min_of_variance { "variance" } else { "rto" }),
            "rto_max" => Value::Duration(self.rto_max),
            "rto_variances" => count(self.rto_variances),
            "rto_doublings" => count(self.rto_doublings),
            "halve_each_timeout" => Value::Bool(self.halve_each_timeout),
            "rto_after_syn_loss" => Value::Duration(self.rto_after_syn_loss),
            "user_timeout" => self.user_timeout.map_or(Value::Auto, Value::Duration),
            "syn_retries" => self.syn_retries.map_or(Value::Auto, count),
            "syn_linear_timeouts" => count(self.syn_linear_timeouts),
            "syn_ack_retries" => self.syn_ack_retries.map_or(Value::Auto, count),
            "timestamp_tick" => Value::Duration(self.timestamp_tick),
            "dupack_threshold" => count(self.dupack_threshold),
            "repeated_fast_retransmit" => Value::Bool(self.repeated_fast_retransmit),
            "limited_transmit" => Value::Bool(self.limited_transmit),
            "prr" => Value::Bool(self.prr),
            "prr_on_marks" => Value::Bool(self.prr_on_marks),
            "tail_probe" => Value::Bool(self.tail_probe),
            "frto" => Value::Bool(self.frto),
            "undo" => Value::Bool(self.undo),
            "abc_limit" => count(self.abc_limit),
            "count_segments" => Value::Bool(self.count_segments),
            "extra_increment" => Value::Bool(self.extra_increment),
            "cwnd_validation" => Value::Choice(match self.cwnd_validation {
                CwndValidation::Off => "off",
                CwndValidation::Rfc5681 => "rfc5681",
                CwndValidation::Rfc2861 => "rfc2861",
                CwndValidation::Rfc7661 => "rfc7661",
            }),
            "window_probe" => Value::Choice(if self.empty_window_probe { "empty" } else { "byte" }),
            "nagle" => Value::Bool(self.nagle),
            "pacing" => Value::Choice(match self.pacing {
                Pacing::Auto => "auto",
                Pacing::On => "on",
                Pacing::Off => "off",
            }),
            "pacing_ss_ratio" => count(self.pacing_ss_ratio),
            "pacing_ca_ratio" => count(self.pacing_ca_ratio),
            other => panic!("no TCP parameter is called {other}"),
        }
    }
}
