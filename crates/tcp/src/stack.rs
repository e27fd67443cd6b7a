//! Stack profiles: named sets of TCP parameters that together are a stack people run or ran. One entry a stack.

use crate::options::PARAMS;
use longfat_core::by_name;
use longfat_core::params::{Params, Value};
use longfat_core::time::Duration;

/// A named set of overrides over the defaults of [`PARAMS`].
pub struct Stack {
    /// As the key `stack` of an experiment file names it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Where it is defined: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// What differs from the defaults; names are those of [`PARAMS`].
    pub overrides: &'static [(&'static str, Value)],
}

/// Every stack, in the order of listings.
pub const REGISTRY: &[Stack] = &[
    Stack {
        name: "rfc",
        summary: "what the RFCs say today: SACK with PRR, initial window 10, rto of at least 1 s",
        source: "RFC 9293, 5681, 6298, 2018, 6675, 9937, 6928, 3042, 3465 and 7323",
        overrides: &[],
    },
    Stack {
        name: "bsd-tahoe-1988",
        summary: "4.3BSD-Tahoe: slow start after every loss, ssthresh from half the peer's window, 500 ms slow timer, no options but MSS",
        source: "Jacobson, Congestion avoidance and control, SIGCOMM 1988; Stevens, TCP/IP Illustrated, vol. 1 chapters 20 and 21, vol. 2 chapter 25; Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, IEEE JSAC, 1995, section 2 and appendix B",
        overrides: &[
            ("recovery", Value::Choice("tahoe")),
            ("timestamps", Value::Bool(false)),
            ("window_scale", Value::Bool(false)),
            ("sack", Value::Bool(false)),
            ("initial_window", Value::Count(1)),
            ("ssthresh_half_rwnd", Value::Bool(true)),
            ("send_buffer", Value::Bytes(4096)),
            ("receive_buffer", Value::Bytes(4096)),
            ("delayed_ack", Value::Choice("heartbeat")),
            ("delayed_ack_time", Value::Duration(Duration::from_millis(200))),
            ("slow_timer", Value::Duration(Duration::from_millis(500))),
            ("rto_initial", Value::Duration(Duration::from_secs(6))),
            ("rto_min", Value::Duration(Duration::from_secs(1))),
            ("rto_max", Value::Duration(Duration::from_secs(64))),
            ("rto_variances", Value::Count(2)),
            ("rto_doublings", Value::Count(6)),
            ("halve_each_timeout", Value::Bool(true)),
            ("rto_after_syn_loss", Value::Duration(Duration::ZERO)),
            ("repeated_fast_retransmit", Value::Bool(true)),
            ("limited_transmit", Value::Bool(false)),
            ("prr", Value::Bool(false)),
            ("abc_limit", Value::Count(0)),
        ],
    },
    // The first two describe 4.3BSD-Reno and its descendants; the third names IRIX 5.2: BSD Reno with RFC 1323 by Skibo.
    Stack {
        name: "bsd-reno-1994",
        summary: "IRIX 5.2-like BSD Reno with RFC 1323: 500 ms slow timer, 200 ms delayed-ACK heartbeat, initial window 1",
        source: "RFC 2525; Stevens, TCP/IP Illustrated, vol. 1 chapter 21, vol. 2 chapter 25; Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, section 4.3",
        overrides: &[
            ("recovery", Value::Choice("reno")),
            ("sack", Value::Bool(false)),
            ("initial_window", Value::Count(1)),
            ("send_buffer", Value::Bytes(61_440)),
            ("receive_buffer", Value::Bytes(61_440)),
            ("delayed_ack", Value::Choice("heartbeat")),
            ("delayed_ack_time", Value::Duration(Duration::from_millis(200))),
            ("slow_timer", Value::Duration(Duration::from_millis(500))),
            ("timestamp_tick", Value::Duration(Duration::from_millis(500))),
            ("rto_initial", Value::Duration(Duration::from_secs(6))),
            ("rto_min", Value::Duration(Duration::from_secs(1))),
            ("rto_max", Value::Duration(Duration::from_secs(64))),
            ("limited_transmit", Value::Bool(false)),
            ("prr", Value::Bool(false)),
            ("abc_limit", Value::Count(0)),
            ("extra_increment", Value::Bool(true)),
        ],
    },
    // The RFCs as they stood for the simulators of their time, which had no handshake options to agree on.
    // That they began with one segment and acknowledged each is what the packets of papers/drs, counted, say.
    Stack {
        name: "reno-2001",
        summary: "Reno as simulators of 2001 had it: RFC 2581 and 2988, initial window 1, an ACK a segment, no SACK, no timestamps",
        source: "RFC 2581; RFC 2988; Weigle and Feng, Dynamic Right-Sizing in TCP: A Simulation Study, ICCCN 2001, whose packets were counted",
        overrides: &[
            ("recovery", Value::Choice("reno")),
            ("sack", Value::Bool(false)),
            ("timestamps", Value::Bool(false)),
            ("initial_window", Value::Count(1)),
            ("delayed_ack", Value::Choice("off")),
            ("slow_timer", Value::Duration(Duration::from_millis(100))),
            ("rto_initial", Value::Duration(Duration::from_secs(3))),
            ("limited_transmit", Value::Bool(false)),
            ("prr", Value::Bool(false)),
            // A segment an ACK in slow start. Simulators counted windows in segments: growth in bytes an ACK, rounded up to one
            // (RFC 5681 §3.1), would be exponential beyond mss^2 bytes.
            ("abc_limit", Value::Count(1)),
        ],
    },
    // The first describes Linux 2.4; the second ran 2.4.19 to 2.4.22 with other congestion controls in it.
    Stack {
        name: "linux-2.4",
        summary: "Linux 2.4 of 2002 to 2004: Reno by ACKs, SACK, initial window 3, rto of at least 200 ms, 10 ms clock",
        source: "Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002; Bulot, Cottrell and Hughes-Jones, Evaluation of Advanced TCP Stacks on Fast Long-Distance Production Networks, 2004, section 3",
        overrides: &[
            ("initial_window", Value::Count(3)),
            ("rto_initial", Value::Duration(Duration::from_secs(3))),
            ("rto_min", Value::Duration(Duration::from_millis(200))),
            ("rto_min_of", Value::Choice("variance")),
            ("rto_max", Value::Duration(Duration::from_secs(120))),
            ("timestamp_tick", Value::Duration(Duration::from_millis(10))),
            ("quick_acks", Value::Count(16)),
            ("abc_limit", Value::Count(0)),
            // Linux counts cwnd in segments, and ACKs up to a cwnd of them.
            ("count_segments", Value::Bool(true)),
        ],
    },
    // ip-sysctl: tcp_sack, tcp_timestamps, tcp_window_scaling and tcp_slow_start_after_idle on,
    // tcp_recovery = 1 (RACK), tcp_early_retrans = 3 (tail loss probe), tcp_frto = 2, tcp_dsack = 1,
    // tcp_ecn = 2 (answers but does not ask: off between two such), tcp_rto_max_ms 120 s, tcp_rto_min_us 200 ms. Buffers are left
    // without bound, as a host tuned for a long fat path has them: tcp_rmem and tcp_wmem end at 6 MiB and 4 MiB by default.
    Stack {
        name: "linux",
        summary: "today's Linux defaults: CUBIC with HyStart, initial window 10, RACK-TLP with PRR, F-RTO and undo, rto of at least 200 ms",
        source: "Linux Documentation/networking/ip-sysctl; tcp(7); RFC 6928",
        overrides: &[
            ("congestion_control", Value::Choice("cubic")),
            ("recovery", Value::Choice("rack")),
            ("frto", Value::Bool(true)),
            ("undo", Value::Bool(true)),
            // Of segments of whatever size.
            ("initial_window", Value::Count(10)),
            ("ssthresh_from_cwnd", Value::Bool(true)),
            ("slow_start", Value::Choice("hystart")),
            ("slow_start_half_used", Value::Bool(true)),
            ("growth_before_loss", Value::Count(5)),
            ("cwnd_validation", Value::Choice("rfc2861")),
            ("rto_min", Value::Duration(Duration::from_millis(200))),
            ("rto_min_of", Value::Choice("variance")),
            ("rto_max", Value::Duration(Duration::from_secs(120))),
            // What tcp_retries2 = 15 comes to.
            ("user_timeout", Value::Duration(Duration::from_millis(924_600))),
            ("syn_retries", Value::Count(6)),
            ("syn_ack_retries", Value::Count(5)),
            ("quick_acks", Value::Count(16)),
            ("abc_limit", Value::Count(1_000_000)),
        ],
    },
];
by_name!(Stack, "stack");

impl Stack {
    /// One value for every parameter: the defaults with this stack's overrides.
    pub fn params(&self) -> Params {
        let mut params = Params::defaults(PARAMS);
        for (name, value) in self.overrides {
            params.set(name, *value);
        }
        params
    }
}
