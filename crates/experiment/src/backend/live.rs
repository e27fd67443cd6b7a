//! Limits of a run between real hosts: what an unprivileged process cannot tell its kernel, and what the protocol does not carry.

use super::Limit;
use super::linux::tcp;

/// Tables and keys that describe a path, which nobody controls here.
pub(super) const UNCONTROLLED: &[&str] = &["path", "host", "router", "ties", "departures"];

/// Everything beside what no Linux can be told.
pub(super) const CANNOT: &[Limit] = &[
    Limit {
        what: "this traffic: a session has probes of its own in its place",
        key: "flow.traffic",
        only: &["bulk", "ttcp", "flows", "writes", "telnet", "web", "udp", "udpmon", "sinusoid", "on_off"],
        with: None,
        written: &[],
    },
    Limit { what: "a proxy between two connections", key: "flow.relays", only: &[], with: None, written: &[] },
    Limit { what: "a log of packets", key: "measure.packets", only: &[], with: None, written: &[] },
    Limit { what: "a log of ACKs", key: "measure.acks", only: &[], with: None, written: &[] },
    tcp!(
        "congestion_control",
        "this congestion control: Linux has none of this name",
        ["reno", "cubic", "bbr", "scalable", "highspeed", "htcp", "bic", "hybla", "westwood", "illinois", "vegas", "yeah"]
    ),
    tcp!("twin", "a program in BPF at the other host", []),
    tcp!("initial_window", "another initial window than the route has", ["10 segments"]),
    tcp!("initial_ssthresh", "another first ssthresh than the route has", []),
    tcp!("rto_min", "another least retransmission timeout than the route has", ["200 ms"]),
    tcp!("user_timeout", "another time after which a connection is given up than Linux has", ["924.6 s"]),
];
