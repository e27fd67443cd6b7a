//! The parameters of a TCP endpoint: one table, a row for each, that the experiment file, the stacks, the schema and the
//! documentation all read ([`PARAMS`]). The endpoint works from a plain struct with a field for each, [`TcpConfig`].

use crate::config::{CwndValidation, DelayedAck, FastOpen, Pacing, Parameter, ReceiveBy, RecoveryKind, RtoMinOf, SendBy, WindowProbe};
use crate::congestion::{self, slow_start};
use crate::ecn::EcnKind;
use crate::window_sizing;
use longfat_core::params::{Choice, Kind, ParamSpec, Params, Value};
use longfat_core::time::Duration;

const fn seconds(s: u64) -> Value {
    Value::Duration(Duration::from_secs(s))
}
const fn millis(ms: u64) -> Value {
    Value::Duration(Duration::from_millis(ms))
}
const ANY_TIME: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_secs(100_000) };
const SOME_TIME: Kind = Kind::Duration { min: Duration::from_micros(1), max: Duration::from_secs(100_000) };
const PERCENT: Kind = Kind::Count { unit: "", min: 1, max: 1000 };
const RETRIES: Kind = Kind::Count { unit: "", min: 0, max: 20 };
const BUFFER: Kind = Kind::Bytes { min: 1, max: 1 << 30 };

/// The parameters: each its name, the type of its field, the values it may have, its default and one line for listings. A group is a struct of
/// its own, with its own line.
macro_rules! parameters {
    (
        { $($a:ident: $at:ty, $ak:expr, $ad:expr, $ao:literal;)* }
        $g:ident: $group:ident, $go:literal { $($b:ident: $bt:ty, $bk:expr, $bd:expr, $bo:literal;)* }
        { $($c:ident: $ct:ty, $ck:expr, $cd:expr, $co:literal;)* }
        $($h:ident: $more:ident, $ho:literal { $($d:ident: $dt:ty, $dk:expr, $dd:expr, $do:literal;)* })*
    ) => {
        /// Every TCP parameter, with the default of a plain RFC stack. A stack profile overrides some.
        pub const PARAMS: &[ParamSpec] = &[
            $(ParamSpec { name: stringify!($a), kind: $ak, default: Some($ad), doc: $ao },)*
            $(ParamSpec { name: stringify!($b), kind: $bk, default: Some($bd), doc: $bo },)*
            $(ParamSpec { name: stringify!($c), kind: $ck, default: Some($cd), doc: $co },)*
            $($(ParamSpec { name: stringify!($d), kind: $dk, default: Some($dd), doc: $do },)*)*
        ];

        /// Everything an endpoint is told: a field for each of [`PARAMS`], in groups.
        #[derive(Clone, PartialEq, Debug)]
        pub struct TcpConfig {
            $(#[doc = $ao] pub $a: $at,)*
            $(#[doc = $co] pub $c: $ct,)*
            #[doc = $go] pub $g: $group,
            $(#[doc = $ho] pub $h: $more,)*
        }

        #[doc = $go]
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct $group {
            $(#[doc = $bo] pub $b: $bt,)*
        }

        $(
            #[doc = $ho]
            #[derive(Clone, Copy, PartialEq, Debug)]
            pub struct $more {
                $(#[doc = $do] pub $d: $dt,)*
            }
        )*

        /// Bytes of IPv4 and TCP headers in front of full segments: 40 (RFC 9293 section 3.7.1), 12 more for the timestamps option with its
/// padding (RFC 7323 appendix A).
pub fn headers(timestamps: bool) -> u32 {
    40 + if timestamps { 12 } else { 0 }
}

impl TcpConfig {
    /// [`headers`] of this connection's full segments.
    pub fn headers(&self) -> u32 {
        headers(self.timestamps)
    }

            /// The values of `params`, one for each of [`PARAMS`]. Where one says "auto", that of [`Parameter`].
            fn of(params: &Params) -> Self {
                TcpConfig {
                    $($a: Parameter::of(params.get(stringify!($a)), $ak),)*
                    $($c: Parameter::of(params.get(stringify!($c)), $ck),)*
                    $g: $group { $($b: Parameter::of(params.get(stringify!($b)), $bk),)* },
                    $($h: $more { $($d: Parameter::of(params.get(stringify!($d)), $dk),)* },)*
                }
            }

            /// The value of the parameter `name`, one of [`PARAMS`]: the opposite of [`TcpConfig::new`]. A control and a window sizing have
            /// more than a value: they are in their fields.
            pub fn value(&self, name: &str) -> Value {
                match name {
                    $(stringify!($a) => self.$a.value($ak, $ad),)*
                    $(stringify!($b) => self.$g.$b.value($bk, $bd),)*
                    $(stringify!($c) => self.$c.value($ck, $cd),)*
                    $($(stringify!($d) => self.$h.$d.value($dk, $dd),)*)*
                    other => panic!("no TCP parameter is called {other}"),
                }
            }
        }
    };
}

parameters! {
    {
        congestion_control: Choice, Kind::Choice(congestion::NAMES), Value::Choice("reno"),
            "how cwnd grows and shrinks: a name, or a table of `kind` and its parameters";
        twin: bool, Kind::Bool, Value::Bool(false),
            "on the testbed: the control is longfat's program in BPF, also where the kernel has one of its own; the simulator does not differ";
        recovery: RecoveryKind, Kind::Choice(RecoveryKind::NAMES), Value::Choice("sack"),
            "how losses are repaired: Tahoe (slow start after fast retransmit), Reno (RFC 2581), NewReno (RFC 6582), SACK (RFC 6675), FACK (Mathis and Mahdavi 1996), RACK-TLP (RFC 8985; SACK with losses found by time, and probes for lost tails)";
        mss: u32, Kind::Bytes { min: 32, max: 65_483 }, Value::Auto,
            "payload bytes of a full segment, as `ss -i` shows it; by default what the path's MTU leaves after the headers";
        send_buffer: u64, BUFFER, Value::Bytes(1 << 30),
            "SO_SNDBUF: bytes written but not yet acknowledged";
        receive_buffer: u64, BUFFER, Value::Bytes(1 << 30),
            "SO_RCVBUF: the most rwnd can be";
        window_sizing: Choice, Kind::Choice(window_sizing::NAMES), Value::Choice("static"),
            "how the buffers follow the path, within what send_buffer and receive_buffer allow: a name, or a table of `kind` and its parameters";
        initial_window: u32, Kind::Count { unit: "segments", min: 1, max: 1000 }, Value::Auto,
            "cwnd after the handshake; by default RFC 6928's: 10 segments, but of segments over 1460 bytes only 14,600 bytes, or two";
        initial_ssthresh: u64, BUFFER, Value::Auto,
            "ssthresh at the start; by default without bound";
    }
    growth: Growth, "how cwnd grows, and what a reduction is reckoned from" {
        ssthresh_half_rwnd: bool, Kind::Bool, Value::Bool(false),
            "ssthresh starts at half of the window that the peer first advertises, whatever `initial_ssthresh` says (Romanow and Floyd 1995 section 2)";
        ssthresh_from_cwnd: bool, Kind::Bool, Value::Bool(false),
            "at congestion ssthresh is reckoned from cwnd, as Linux does, not from what is in flight (RFC 5681 Eq. 4; RFC 9438 section 4.6 knows both)";
        slow_start: &'static str, Kind::Choice(slow_start::NAMES), Value::Choice("standard"),
            "how cwnd grows below ssthresh, and when that ends without a loss: RFC 5681; limited (RFC 3742); HyStart (Ha and Rhee 2008); HyStart++ (RFC 9406); Careful Resume; SUSS (2024); SEARCH (2024). The stack `linux` has HyStart with `cubic` alone";
        max_ssthresh: u32, Kind::Count { unit: "segments", min: 2, max: 1_000_000 }, Value::Count(100),
            "limited slow start: from this window on it adds no more than about half of it a round trip (RFC 3742 §2: 100)";
        hystart_divisor: u32, Kind::Count { unit: "", min: 1, max: 64 }, Value::Count(8),
            "slow start `hystart`: it ends once the round trip is longer by this part of the least: 8 is an eighth, as Linux has it since 5.6; 16 before, and in Ha and Rhee 2008";
        saved_cwnd: Option<u32>, Kind::Count { unit: "segments", min: 1, max: 1_000_000 }, Value::Auto,
            "slow start `careful_resume`: the window that an earlier connection over this path used; without it, or with less than four initial windows, it is standard slow start";
        saved_rtt: Option<Duration>, SOME_TIME, Value::Auto,
            "slow start `careful_resume`: the least round trip of that connection; a path of at most half or of more than ten times it is another one. By default the path is taken to be the same";
        slow_start_half_used: bool, Kind::Bool, Value::Bool(false),
            "in slow start cwnd grows while more than half of it is in use, as in Linux, not only while all of it is (RFC 9438 section 5.8)";
        growth_before_loss: u32, Kind::Count { unit: "", min: 0, max: 100 }, Value::Count(0),
            "`cubic` alone: past slow start, and before the first loss, cwnd grows by at least so much of what is acknowledged, a round trip's growth in percent (Linux: 5)";
        reno_above_prior: bool, Kind::Bool, Value::Bool(true),
            "`cubic` alone: its Reno-friendly window grows a segment a round trip once it is back at cwnd before the last reduction (RFC 9438 §4.3); off: by alpha on, as in Linux";
        whole_segments: bool, Kind::Bool, Value::Bool(false),
            "a reduction counts whole segments of cwnd, and leaves whole ones, the rest cut off, as in Linux";
        grow_at_recovery_end: bool, Kind::Bool, Value::Bool(false),
            "the ACK that ends a recovery lets cwnd grow as any other, by what it delivers, as in Linux";
    }
    {
        window_scale: bool, Kind::Bool, Value::Bool(true),
            "RFC 7323 window scaling; off limits the window to 65,535 bytes";
        timestamps: bool, Kind::Bool, Value::Bool(true),
            "RFC 7323 timestamps and PAWS";
        sack: bool, Kind::Bool, Value::Bool(true),
            "offer and answer selective acknowledgments (RFC 2018)";
        dsack: bool, Kind::Bool, Value::Bool(true),
            "report what arrived twice in the first SACK block (RFC 2883)";
        ecn: EcnKind, Kind::Choice(EcnKind::NAMES), Value::Auto,
            "explicit congestion notification: `off`, `classic` (RFC 3168), `dctcp` (RFC 8257), `accecn` (RFC 9768); by default what the sender's congestion control needs, for most of them `off`";
        delayed_ack: DelayedAck, Kind::Choice(DelayedAck::NAMES), Value::Choice("timer"),
            "`timer`: so long after the segment arrived; `heartbeat`: at the next tick of a free-running clock, as BSD does; `adaptive`: by the gaps between segments, up to a round trip and 200 ms, as in Linux; `off`: every segment at once";
        delayed_ack_time: Option<Duration>, SOME_TIME, millis(40),
            "the delay, the tick of the heartbeat, or the least of an adaptive delay";
        ack_every: u32, Kind::Count { unit: "segments", min: 1, max: 64 }, Value::Count(2),
            "acknowledge at the latest after so many full segments (RFC 9293: 2)";
        quick_acks: u32, Kind::Count { unit: "segments", min: 0, max: 1000 }, Value::Count(0),
            "segments at the start that are acknowledged at once, with `delayed_ack = \"adaptive\"` also after silence of more than an rto";
        fast_open: FastOpen, Kind::Choice(FastOpen::NAMES), Value::Choice("off"),
            "TCP Fast Open (RFC 7413), by what the client remembers of the server: `request`, nothing, so it asks for a cookie; `cached`, a cookie, so data goes with the SYN; `stale`, a cookie that is no longer good; `full`: the server has as many pending requests as it allows. `off` at one end: that end ignores it";
    }
    timers: TimerRules, "round trips, timeouts and when a connection is given up" {
        slow_timer: Duration, ANY_TIME, Value::Duration(Duration::ZERO),
            "tick of the clock that measures RTT and runs the retransmission timer (BSD: 500 ms); 0 s: exact";
        rto_initial: Duration, SOME_TIME, seconds(1),
            "rto before the first RTT sample (RFC 6298: 1 s)";
        rto_min: Duration, ANY_TIME, seconds(1),
            "least rto (RFC 6298: 1 s; Linux: 200 ms)";
        rtt_of_each_ack: bool, Kind::Bool, Value::Bool(false),
            "every ACK counts for srtt, as in Linux (Sarolahti and Kuznetsov, USENIX 2002), and not one of each round trip (RFC 6298 section 3); on an exact clock (`slow_timer` 0 s)";
        rto_min_of: RtoMinOf, Kind::Choice(RtoMinOf::NAMES), Value::Choice("rto"),
            "quantity that `rto_min` bounds: the whole rto (RFC 6298), or the part added to srtt, as Linux does (Sarolahti and Kuznetsov, USENIX 2002)";
        rto_max: Duration, SOME_TIME, seconds(60),
            "most rto, also after backoff";
        rto_variances: u32, Kind::Count { unit: "", min: 1, max: 16 }, Value::Count(4),
            "multiple of rttvar that rto adds to srtt (RFC 6298: 4; Jacobson 1988: 2)";
        rto_doublings: u32, Kind::Count { unit: "", min: 0, max: 20 }, Value::Count(20),
            "timeouts in a row that double rto, up to `rto_max` (BSD: 6, to 64 times)";
        halve_each_timeout: bool, Kind::Bool, Value::Bool(false),
            "a timeout repeated without progress lowers ssthresh again, to two segments, as before RFC 5681 section 3.1 left it";
        rto_after_syn_loss: Duration, ANY_TIME, seconds(3),
            "least rto with which data begins when the SYN was lost and no RTT has been measured (RFC 6298 section 5.7: 3 s)";
        user_timeout: Option<Duration>, SOME_TIME, Value::Auto,
            "longest time without an answer to retransmissions or window probes; then the connection is given up (RFC 9293 §3.8.3: R2; Linux: tcp_retries2); by default never";
        syn_retries: Option<u32>, RETRIES, Value::Auto,
            "retransmissions of a SYN before the attempt is given up (Linux: tcp_syn_retries); by default without end";
        syn_linear_timeouts: u32, RETRIES, Value::Count(0),
            "timeouts of a SYN that do not double the next; `syn_retries` still bounds the time that doubling would take (Linux since 6.5: tcp_syn_linear_timeouts, 4)";
        syn_ack_retries: Option<u32>, RETRIES, Value::Auto,
            "retransmissions of a SYN-ACK before its sender waits for another SYN (Linux: tcp_synack_retries)";
        timestamp_tick: Duration, SOME_TIME, millis(1),
            "one tick of TSval (RFC 7323 §5.4: 1 ms to 1 s)";
    }
    repair: RepairRules, "how losses are found and repaired, beside `recovery`" {
        dupack_threshold: u32, Kind::Count { unit: "", min: 1, max: 1000 }, Value::Count(3),
            "duplicate ACKs that stand for a loss";
        repeated_fast_retransmit: bool, Kind::Bool, Value::Bool(false),
            "without SACK: duplicate ACKs within a window that is being repaired start another fast retransmit, as in Tahoe and Reno before RFC 2582; recovery `reno` always does";
        limited_transmit: bool, Kind::Bool, Value::Bool(true),
            "new data on the first duplicate ACKs (RFC 3042)";
        prr: bool, Kind::Bool, Value::Bool(true),
            "proportional rate reduction in SACK recovery (RFC 9937); off: RFC 6675's cwnd at once";
        prr_on_marks: bool, Kind::Bool, Value::Bool(false),
            "with `prr`: a reduction for marks, or for a full transmit queue of the host, goes by PRR over a round trip, too; off: at once (RFC 3168 section 6.1.2)";
        tail_probe: bool, Kind::Bool, Value::Bool(true),
            "with recovery `rack`: two round trips without an ACK send a tail loss probe (RFC 8985 section 7)";
        frto: bool, Kind::Bool, Value::Bool(false),
            "after a timeout, new data before old, to find out whether it was spurious; if so, no go-back-N and the window as before (F-RTO, RFC 5682)";
        undo: bool, Kind::Bool, Value::Bool(false),
            "take a reduction back that timestamps (Eifel, RFC 3522 and 4015) or DSACKs (RFC 3708) prove needless";
    }
    sending: SendRules, "growth by ACKs, windows that are not used, and when a segment goes" {
        abc_limit: u32, Kind::Count { unit: "segments", min: 0, max: 1_000_000 }, Value::Count(2),
            "slow start grows by the bytes acknowledged, at most so many segments an ACK (RFC 3465); 0: one segment an ACK, as before it";
        extra_increment: bool, Kind::Bool, Value::Bool(false),
            "congestion avoidance adds mss/8 more an ACK, as BSD did (RFC 2525 §2.6)";
        count_segments: bool, Kind::Bool, Value::Bool(false),
            "growth by ACKs (`abc_limit` 0): congestion avoidance counts a cwnd of them and adds a segment, as Linux does, instead of mss*mss/cwnd bytes for each, which are at least one (RFC 5681 §3.1) and so too many beyond mss*mss";
        cwnd_validation: CwndValidation, Kind::Choice(CwndValidation::NAMES), Value::Choice("rfc5681"),
            "rule for a cwnd that is not used: `rfc5681`: back to the initial window after an rto of idleness (§4.1); `rfc2861`: halved for each rto of idleness, and every rto halfway to what was used; `rfc7661`: kept for five minutes, but at congestion what was used counts; `off`: kept";
        window_probe: WindowProbe, Kind::Choice(WindowProbe::NAMES), Value::Choice("byte"),
            "a probe of a closed window: `byte`, one byte of new data (RFC 9293 §3.8.6.1); `empty`, no data and the sequence number before the oldest unacknowledged byte, as Linux has it";
        nagle: bool, Kind::Bool, Value::Bool(true),
            "hold back a partial segment while data is unacknowledged (RFC 896)";
        send: SendBy, Kind::Choice(SendBy::NAMES), Value::Choice("copy"),
            "between two hosts: how the sending application gives the kernel its data: `copy`; `sendfile`, from a file in memory; `zerocopy`, from memory that the kernel reads itself (MSG_ZEROCOPY)";
        receive: ReceiveBy, Kind::Choice(ReceiveBy::NAMES), Value::Choice("truncate"),
            "between two hosts: how the receiving application takes its data: `truncate`, thrown away in the kernel (MSG_TRUNC); `copy`, copied into its memory";
        pacing: Pacing, Kind::Choice(Pacing::NAMES), Value::Choice("auto"),
            "space segments out: `auto`, at the rate of a control that has one; `on`, also window-based controls, at a multiple of cwnd / srtt; `off`, never";
        pacing_ss_ratio: u32, PERCENT, Value::Count(200),
            "percent of cwnd / srtt at which a window-based control is paced in slow start (Linux: tcp_pacing_ss_ratio)";
        pacing_ca_ratio: u32, PERCENT, Value::Count(120),
            "the same in congestion avoidance (Linux: tcp_pacing_ca_ratio)";
    }
    misbehaviour: Misbehaviour, "receivers that deceive the sender's congestion control (Savage and others, CCR 1999)" {
        ack_division: u32, Kind::Count { unit: "", min: 1, max: 1000 }, Value::Count(1),
            "simulated receivers that misbehave: each ACK of new data goes as so many, each of a part (Savage and others, CCR 1999, section 3.1); 1: whole";
        dupack_spoofing: u32, Kind::Count { unit: "", min: 0, max: 1000 }, Value::Count(0),
            "simulated receivers that misbehave: duplicates that follow each ACK of new data (the same, section 3.2)";
        optimistic_acks: u32, Kind::Count { unit: "segments", min: 0, max: 1_000_000 }, Value::Count(0),
            "simulated receivers that misbehave: most segments acknowledged before they come (the same, section 3.3). Lost ones are acknowledged, too, and are missing in the stream";
    }
}

impl TcpConfig {
    /// The configuration that `params` (one value for each of [`PARAMS`]) describes on a path of `mtu` bytes.
    pub fn new(params: &Params, mtu: u32) -> Self {
        let mut config = TcpConfig::of(params);
        if params.is_auto("mss") {
            config.mss = mtu - config.headers();
        }
        config.ecn = ecn(params);
        if config.delayed_ack == DelayedAck::Off {
            config.delayed_ack_time = None;
        }
        config
    }

    /// A configuration with some fields changed.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
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
}

/// The kind of ECN that is asked for, or that the control needs.
pub fn ecn(params: &Params) -> EcnKind {
    match params.get("ecn") {
        Value::Choice(name) => EcnKind::named(name),
        _ => congestion::named(params.choice("congestion_control")).ecn.default,
    }
}
