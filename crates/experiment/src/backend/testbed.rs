//! Limits of a testbed's kernel: keys of an experiment that it cannot be told.

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

/// All that an experiment may ask for. Of TCP's parameters those stay free that a socket, a route or a namespace can be told; the others may
/// be at their default, which asks for nothing, or as the stack `linux` has them.
pub(super) const CANNOT: &[Limit] = &[
    Limit { what: "cell switches", key: "path.switches", only: &[], with: None, written: &["path.switches", "path.preset=atm"] },
    Limit { what: "flow control between switches and hosts", key: "path.link.pause", only: &[], with: None, written: &[] },
    Limit { what: "a random order of what comes at one instant", key: "ties", only: &[], with: None, written: &["ties"] },
    Limit { what: "another transmit queue than the kernel's", key: "host.txqueuelen", only: &[], with: None, written: &[] },
    Limit { what: "another processor than this machine's", key: "host.cpu", only: &[], with: None, written: &[] },
    Limit { what: "a random delay in a host", key: "host.overhead", only: &[], with: None, written: &[] },
    Limit { what: "other offloads than this machine's", key: "host.profile", only: &[], with: None, written: &[] },
    Limit { what: "other offloads than this machine's", key: "host.gso_max_size", only: &[], with: None, written: &[] },
    Limit { what: "other small queues than the kernel's", key: "host.limit_output_bytes", only: &[], with: None, written: &[] },
    Limit { what: "interrupts otherwise than this machine has them", key: "host.rx_usecs", only: &[], with: None, written: &[] },
    Limit { what: "bounded memory of hosts", key: "host.memory", only: &[], with: None, written: &[] },
    tcp!(
        "congestion_control",
        "this congestion control: there is no program of it for the kernel",
        [
            "reno",
            "cubic",
            "bbr",
            "scalable",
            "highspeed",
            "htcp",
            "bic",
            "hybla",
            "westwood",
            "illinois",
            "vegas",
            "fast",
            "yeah",
            "compound",
            "tcp_lp",
            "hstcp_lp"
        ]
    ),
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
    tcp!("saved_cwnd", []),
    tcp!("saved_rtt", []),
    tcp!("slow_start_half_used", ["true"]),
    Limit { with: Some(("congestion_control", "cubic")), ..tcp!("growth_before_loss", ["5"]) },
    Limit { with: Some(("congestion_control", "cubic")), ..tcp!("reno_above_prior", ["false"]) },
    tcp!("whole_segments", ["true"]),
    tcp!("window_probe", ["empty"]),
    tcp!("delayed_ack", []),
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
];
