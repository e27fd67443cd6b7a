//! Limits of a testbed's kernel: keys of an experiment that it cannot be told.

use super::Limit;
use super::linux::tcp;

/// Everything beside TCP's parameters, and the controls.
pub(super) const CANNOT: &[Limit] = &[
    Limit {
        what: "a transfer that the receiver asks for",
        key: "flow.traffic",
        only: &["bulk", "ttcp", "flows", "ping", "udp", "udpmon", "sinusoid", "on_off", "writes", "telnet", "web"],
        with: None,
        written: &[],
    },
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
    Limit { what: "a proxy between two connections", key: "flow.relays", only: &[], with: None, written: &[] },
    Limit { what: "bounded memory of hosts", key: "host.memory", only: &[], with: None, written: &[] },
    tcp!("send", "another way to give the kernel data: CPU time is measured between two hosts", []),
    tcp!("receive", "another way to take data from the kernel: CPU time is measured between two hosts", []),
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
];
