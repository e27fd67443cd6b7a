//! What can be set on a TCP endpoint: one table ([`PARAMS`]) that the experiment file, the stacks, the schema and the
//! documentation all read. The endpoint works from a plain struct, [`TcpConfig`](crate::TcpConfig).

use crate::congestion::{self, slow_start};
use crate::ecn::EcnKind;
use crate::window_sizing;
use longfat_core::params::{Kind, ParamSpec, Params, Value};
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

/// Every TCP parameter, with the default of a plain RFC stack. A stack profile overrides some.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "congestion_control",
        kind: Kind::Choice(congestion::NAMES),
        default: Some(Value::Choice("reno")),
        doc: "how cwnd grows and shrinks: a name, or a table of `kind` and its parameters",
    },
    ParamSpec {
        name: "twin",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "on the testbed: the control is longfat's program in BPF, also where the kernel has one of its own; the simulator does not differ",
    },
    ParamSpec {
        name: "recovery",
        kind: Kind::Choice(&["tahoe", "reno", "newreno", "sack", "rack"]),
        default: Some(Value::Choice("sack")),
        doc: "how losses are repaired: Tahoe (slow start after fast retransmit), Reno (RFC 2581), NewReno (RFC 6582), SACK (RFC 6675), RACK-TLP (RFC 8985; SACK with losses found by time, and probes for lost tails)",
    },
    ParamSpec {
        name: "mss",
        kind: Kind::Bytes { min: 32, max: 65_483 },
        default: Some(Value::Auto),
        doc: "payload bytes of a full segment, as `ss -i` shows it; by default what the path's MTU leaves after the headers",
    },
    ParamSpec {
        name: "send_buffer",
        kind: BUFFER,
        default: Some(Value::Bytes(1 << 30)),
        doc: "SO_SNDBUF: bytes written but not yet acknowledged",
    },
    ParamSpec { name: "receive_buffer", kind: BUFFER, default: Some(Value::Bytes(1 << 30)), doc: "SO_RCVBUF: the most rwnd can be" },
    ParamSpec {
        name: "window_sizing",
        kind: Kind::Choice(window_sizing::NAMES),
        default: Some(Value::Choice("static")),
        doc: "how the buffers follow the path, within what send_buffer and receive_buffer allow: a name, or a table of `kind` and its parameters",
    },
    ParamSpec {
        name: "initial_window",
        kind: Kind::Count { unit: "segments", min: 1, max: 1000 },
        default: Some(Value::Auto),
        doc: "cwnd after the handshake; by default RFC 6928's: 10 segments, but of segments over 1460 bytes only 14,600 bytes, or two",
    },
    ParamSpec {
        name: "initial_ssthresh",
        kind: BUFFER,
        default: Some(Value::Auto),
        doc: "ssthresh at the start; by default without bound",
    },
    ParamSpec {
        name: "ssthresh_half_rwnd",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "ssthresh starts at half of the window that the peer first advertises, whatever `initial_ssthresh` says (Romanow and Floyd 1995 section 2)",
    },
    ParamSpec {
        name: "ssthresh_from_cwnd",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "at congestion ssthresh is reckoned from cwnd, as Linux does, not from what is in flight (RFC 5681 Eq. 4; RFC 9438 section 4.6 knows both)",
    },
    ParamSpec {
        name: "slow_start",
        kind: Kind::Choice(slow_start::NAMES),
        default: Some(Value::Choice("standard")),
        doc: "how cwnd grows below ssthresh, and when that ends without a loss: RFC 5681; limited (RFC 3742); HyStart (Ha and Rhee 2008); HyStart++ (RFC 9406). The stack `linux` has HyStart with `cubic` alone",
    },
    ParamSpec {
        name: "max_ssthresh",
        kind: Kind::Count { unit: "segments", min: 2, max: 1_000_000 },
        default: Some(Value::Count(100)),
        doc: "limited slow start: from this window on it adds no more than about half of it a round trip (RFC 3742 §2: 100)",
    },
    ParamSpec {
        name: "hystart_divisor",
        kind: Kind::Count { unit: "", min: 1, max: 64 },
        default: Some(Value::Count(8)),
        doc: "slow start `hystart`: it ends once the round trip is longer by this part of the least: 8 is an eighth, as Linux has it since 5.6; 16 before, and in Ha and Rhee 2008",
    },
    ParamSpec {
        name: "slow_start_half_used",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "in slow start cwnd grows while more than half of it is in use, as in Linux, not only while all of it is (RFC 9438 section 5.8)",
    },
    ParamSpec {
        name: "growth_before_loss",
        kind: Kind::Count { unit: "", min: 0, max: 100 },
        default: Some(Value::Count(0)),
        doc: "`cubic` alone: past slow start, and before the first loss, cwnd grows by at least so much of what is acknowledged, a round trip's growth in percent (Linux: 5)",
    },
    ParamSpec {
        name: "reno_above_prior",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "`cubic` alone: its Reno-friendly window grows a segment a round trip once it is back at cwnd before the last reduction (RFC 9438 §4.3); off: by alpha on, as in Linux",
    },
    ParamSpec {
        name: "whole_segments",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "a reduction counts whole segments of cwnd, and leaves whole ones, the rest cut off, as in Linux",
    },
    ParamSpec {
        name: "window_scale",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "RFC 7323 window scaling; off limits the window to 65,535 bytes",
    },
    ParamSpec { name: "timestamps", kind: Kind::Bool, default: Some(Value::Bool(true)), doc: "RFC 7323 timestamps and PAWS" },
    ParamSpec {
        name: "sack",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "offer and answer selective acknowledgments (RFC 2018)",
    },
    ParamSpec {
        name: "dsack",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "report what arrived twice in the first SACK block (RFC 2883)",
    },
    ParamSpec {
        name: "ecn",
        kind: Kind::Choice(EcnKind::NAMES),
        default: Some(Value::Auto),
        doc: "explicit congestion notification: `off`, `classic` (RFC 3168), `dctcp` (RFC 8257), `accecn` (RFC 9768); by default what the sender's congestion control needs, for most of them `off`",
    },
    ParamSpec {
        name: "delayed_ack",
        kind: Kind::Choice(&["off", "timer", "heartbeat"]),
        default: Some(Value::Choice("timer")),
        doc: "`timer`: so long after the segment arrived; `heartbeat`: at the next tick of a free-running clock, as BSD does; `off`: every segment at once",
    },
    ParamSpec { name: "delayed_ack_time", kind: SOME_TIME, default: Some(millis(40)), doc: "the delay, or the tick of the heartbeat" },
    ParamSpec {
        name: "ack_every",
        kind: Kind::Count { unit: "segments", min: 1, max: 64 },
        default: Some(Value::Count(2)),
        doc: "acknowledge at the latest after so many full segments (RFC 9293: 2)",
    },
    ParamSpec {
        name: "quick_acks",
        kind: Kind::Count { unit: "segments", min: 0, max: 1000 },
        default: Some(Value::Count(0)),
        doc: "so many segments at the start are acknowledged at once",
    },
    ParamSpec {
        name: "slow_timer",
        kind: ANY_TIME,
        default: Some(Value::Duration(Duration::ZERO)),
        doc: "tick of the clock that measures RTT and runs the retransmission timer (BSD: 500 ms); 0 s: exact",
    },
    ParamSpec { name: "rto_initial", kind: SOME_TIME, default: Some(seconds(1)), doc: "rto before the first RTT sample (RFC 6298: 1 s)" },
    ParamSpec { name: "rto_min", kind: ANY_TIME, default: Some(seconds(1)), doc: "least rto (RFC 6298: 1 s; Linux: 200 ms)" },
    ParamSpec {
        name: "rtt_of_each_ack",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "every ACK counts for srtt, as in Linux (Sarolahti and Kuznetsov, USENIX 2002), and not one of each round trip (RFC 6298 section 3); on an exact clock (`slow_timer` 0 s)",
    },
    ParamSpec {
        name: "rto_min_of",
        kind: Kind::Choice(&["rto", "variance"]),
        default: Some(Value::Choice("rto")),
        doc: "what `rto_min` bounds: the whole rto (RFC 6298), or only what is added to srtt, as Linux does (Sarolahti and Kuznetsov, USENIX 2002)",
    },
    ParamSpec { name: "rto_max", kind: SOME_TIME, default: Some(seconds(60)), doc: "most rto, also after backoff" },
    ParamSpec {
        name: "rto_variances",
        kind: Kind::Count { unit: "", min: 1, max: 16 },
        default: Some(Value::Count(4)),
        doc: "rto is srtt and so many rttvar (RFC 6298: 4; Jacobson 1988: 2)",
    },
    ParamSpec {
        name: "rto_doublings",
        kind: Kind::Count { unit: "", min: 0, max: 20 },
        default: Some(Value::Count(20)),
        doc: "so many timeouts in a row double rto, as far as `rto_max` (BSD: 6, to 64 times)",
    },
    ParamSpec {
        name: "halve_each_timeout",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "a timeout repeated without progress lowers ssthresh again, to two segments, as before RFC 5681 section 3.1 left it",
    },
    ParamSpec {
        name: "rto_after_syn_loss",
        kind: ANY_TIME,
        default: Some(seconds(3)),
        doc: "least rto with which data begins when the SYN was lost and no RTT has been measured (RFC 6298 section 5.7: 3 s)",
    },
    ParamSpec {
        name: "user_timeout",
        kind: SOME_TIME,
        default: Some(Value::Auto),
        doc: "so long without an answer to what is sent again, or to probes of a closed window, and the connection is given up (RFC 9293 §3.8.3: R2; Linux: tcp_retries2); by default never",
    },
    ParamSpec {
        name: "syn_retries",
        kind: RETRIES,
        default: Some(Value::Auto),
        doc: "a SYN is sent again so often, and then the attempt is given up (Linux: tcp_syn_retries); by default without end",
    },
    ParamSpec {
        name: "syn_linear_timeouts",
        kind: RETRIES,
        default: Some(Value::Count(0)),
        doc: "so many timeouts of a SYN do not double the next; `syn_retries` then still bounds the time that doubling would take (Linux since 6.5: tcp_syn_linear_timeouts, 4)",
    },
    ParamSpec {
        name: "syn_ack_retries",
        kind: RETRIES,
        default: Some(Value::Auto),
        doc: "the same of a SYN-ACK, whose sender then waits for another SYN (Linux: tcp_synack_retries)",
    },
    ParamSpec { name: "timestamp_tick", kind: SOME_TIME, default: Some(millis(1)), doc: "one tick of TSval (RFC 7323 §5.4: 1 ms to 1 s)" },
    ParamSpec {
        name: "dupack_threshold",
        kind: Kind::Count { unit: "", min: 1, max: 1000 },
        default: Some(Value::Count(3)),
        doc: "duplicate ACKs that stand for a loss",
    },
    ParamSpec {
        name: "repeated_fast_retransmit",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "without SACK: duplicate ACKs within a window that is being repaired start another fast retransmit, as in Tahoe and Reno before RFC 2582; recovery `reno` always does",
    },
    ParamSpec {
        name: "limited_transmit",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "new data on the first duplicate ACKs (RFC 3042)",
    },
    ParamSpec {
        name: "prr",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "proportional rate reduction in SACK recovery (RFC 9937); off: RFC 6675's cwnd at once",
    },
    ParamSpec {
        name: "prr_on_marks",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "with `prr`: a reduction for marks, or for a full transmit queue of the host, goes by PRR over a round trip, too; off: at once (RFC 3168 section 6.1.2)",
    },
    ParamSpec {
        name: "tail_probe",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "with recovery `rack`: two round trips without an ACK send a tail loss probe (RFC 8985 section 7)",
    },
    ParamSpec {
        name: "frto",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "after a timeout, new data before old, to find out whether it was spurious; if so, no go-back-N and the window as before (F-RTO, RFC 5682)",
    },
    ParamSpec {
        name: "undo",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "take a reduction back that timestamps (Eifel, RFC 3522 and 4015) or DSACKs (RFC 3708) prove needless",
    },
    ParamSpec {
        name: "abc_limit",
        kind: Kind::Count { unit: "segments", min: 0, max: 1_000_000 },
        default: Some(Value::Count(2)),
        doc: "slow start grows by the bytes acknowledged, at most so many segments an ACK (RFC 3465); 0: one segment an ACK, as before it",
    },
    ParamSpec {
        name: "extra_increment",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "congestion avoidance adds mss/8 more an ACK, as BSD did (RFC 2525 §2.6)",
    },
    ParamSpec {
        name: "count_segments",
        kind: Kind::Bool,
        default: Some(Value::Bool(false)),
        doc: "growth by ACKs (`abc_limit` 0): congestion avoidance counts a cwnd of them and adds a segment, as Linux does, instead of mss*mss/cwnd bytes for each, which are at least one (RFC 5681 §3.1) and so too many beyond mss*mss",
    },
    ParamSpec {
        name: "cwnd_validation",
        kind: Kind::Choice(&["off", "rfc5681", "rfc2861", "rfc7661"]),
        default: Some(Value::Choice("rfc5681")),
        doc: "what becomes of a cwnd that is not used: `rfc5681`: back to the initial window after an rto of idleness (§4.1); `rfc2861`: halved for each rto of idleness, and every rto halfway to what was used; `rfc7661`: kept for five minutes, but at congestion what was used counts; `off`: kept",
    },
    ParamSpec {
        name: "window_probe",
        kind: Kind::Choice(&["byte", "empty"]),
        default: Some(Value::Choice("byte")),
        doc: "a probe of a closed window: `byte`, one byte of new data (RFC 9293 §3.8.6.1); `empty`, no data and the sequence number before the oldest unacknowledged byte, as Linux has it",
    },
    ParamSpec {
        name: "nagle",
        kind: Kind::Bool,
        default: Some(Value::Bool(true)),
        doc: "hold back a partial segment while data is unacknowledged (RFC 896)",
    },
    ParamSpec {
        name: "pacing",
        kind: Kind::Choice(&["auto", "on", "off"]),
        default: Some(Value::Choice("auto")),
        doc: "space segments out: `auto`, at the rate of a control that has one; `on`, also window-based controls, at a multiple of cwnd / srtt; `off`, never",
    },
    ParamSpec {
        name: "pacing_ss_ratio",
        kind: PERCENT,
        default: Some(Value::Count(200)),
        doc: "percent of cwnd / srtt at which a window-based control is paced in slow start (Linux: tcp_pacing_ss_ratio)",
    },
    ParamSpec {
        name: "pacing_ca_ratio",
        kind: PERCENT,
        default: Some(Value::Count(120)),
        doc: "the same in congestion avoidance (Linux: tcp_pacing_ca_ratio)",
    },
];

/// The kind of ECN that is asked for, or that the control needs.
pub fn ecn(params: &Params) -> EcnKind {
    match params.get("ecn") {
        Value::Choice(name) => EcnKind::named(name),
        _ => congestion::named(params.choice("congestion_control")).ecn.default,
    }
}
