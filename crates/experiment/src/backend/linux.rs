//! Limits of Linux: parameters of TCP that no socket, route or namespace can be told.

use super::Limit;

/// Makes a limit whose key a stack may have brought.
macro_rules! tcp {
    ($key:literal, $what:expr, [$($only:literal),*]) => {
        Limit { what: $what, key: concat!("flow.", $key), only: &[$($only),*], with: None, written: &[concat!("flow.", $key), "flow.stack"] }
    };
    ($key:literal, [$($only:literal),*]) => {
        tcp!($key, concat!("`", $key, "` otherwise than Linux has it"), [$($only),*])
    };
}
pub(super) use tcp;

/// Parameters that may be at their default, which asks for nothing, or as the stack `linux` has them.
pub(super) const CANNOT: &[Limit] = &[
    tcp!("recovery", "another recovery than Linux has", ["newreno", "sack", "rack"]),
    tcp!("window_sizing", "another sizing of windows than Linux has", ["static", "linux"]),
    Limit {
        what: "another share of data than the kernel measures",
        key: "flow.window_sizing.rmem_data",
        only: &[],
        with: None,
        written: &[],
    },
    tcp!("ecn", "this kind of ECN", ["off", "classic"]),
    tcp!("ssthresh_half_rwnd", []),
    tcp!("ssthresh_from_cwnd", ["true"]),
    // A part of CUBIC in Linux, and of no other control.
    Limit { with: Some(("congestion_control", "cubic")), ..tcp!("slow_start", ["hystart"]) },
    tcp!("max_ssthresh", []),
    tcp!("hystart_divisor", []),
    tcp!("fast_open", "Fast Open", ["off"]),
    tcp!("saved_cwnd", []),
    tcp!("saved_rtt", []),
    tcp!("slow_start_half_used", ["true"]),
    Limit { with: Some(("congestion_control", "cubic")), ..tcp!("growth_before_loss", ["5"]) },
    Limit { with: Some(("congestion_control", "cubic")), ..tcp!("reno_above_prior", ["false"]) },
    tcp!("whole_segments", ["true"]),
    tcp!("window_probe", ["empty"]),
    tcp!("grow_at_recovery_end", ["true"]),
    tcp!("delayed_ack", ["adaptive"]),
    tcp!("delayed_ack_time", []),
    tcp!("ack_every", []),
    tcp!("quick_acks", ["16 segments"]),
    tcp!("slow_timer", []),
    tcp!("rto_initial", []),
    tcp!("rtt_of_each_ack", ["true"]),
    tcp!("rto_min_of", ["variance"]),
    tcp!("rto_max", ["120 s"]),
    tcp!("rto_variances", []),
    tcp!("rto_doublings", []),
    tcp!("halve_each_timeout", []),
    tcp!("rto_after_syn_loss", []),
    tcp!("timestamp_tick", []),
    tcp!("repeated_fast_retransmit", []),
    tcp!("limited_transmit", []),
    tcp!("prr", []),
    tcp!("prr_on_marks", ["true"]),
    tcp!("undo", ["true"]),
    tcp!("abc_limit", ["1000000 segments"]),
    tcp!("extra_increment", []),
    tcp!("count_segments", ["true"]),
    tcp!("cwnd_validation", ["off", "rfc2861"]),
    tcp!("pacing", ["on"]),
    tcp!("ack_division", "a receiver that divides its ACKs: the kernel's is honest", []),
    tcp!("dupack_spoofing", "a receiver that sends duplicate ACKs without cause: the kernel's is honest", []),
    tcp!("optimistic_acks", "a receiver that acknowledges what has not come: the kernel's is honest", []),
];
