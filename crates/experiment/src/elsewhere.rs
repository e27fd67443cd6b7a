//! Names of other tools that longfat has under another name, or does not have, with a hint for each.

/// Names, in lower case, each with its equivalent here.
const NAMES: &[(&[&str], &str)] = &[
    (&["wfq", "pfifo_fast", "mq"], "longfat does not have it: of queues that keep flows apart it has `fq_codel`, `fq` and `drr`"),
    (
        &["pfifo", "bfifo", "fifo", "taildrop", "drop_tail", "tail_drop"],
        "it is called `droptail` here: queue = { kind = \"droptail\", limit = \"100 packets\" }",
    ),
    (&["hfsc", "cbq", "shaper"], "a link has its `rate` and its `queue`; a shaper slower than that is `tbf`, and `htb` with classes"),
    (&["tos", "dsfield", "tclass"], "the codepoint of a flow is `dscp`; ECN is `ecn`"),
    (&["netem", "dummynet"], "a link has `delay`, `rate` and `loss`; a host has `overhead` for a random delay"),
    (
        &["iperf", "iperf2", "iperf3", "netperf", "nuttcp"],
        "for a time it is `bulk` with `measure.duration`, for a volume `ttcp`, with -u `udp`; -P is `streams`",
    ),
    (&["ftp"], "without end it is `bulk`, with a volume `ttcp`"),
    (&["http"], "it is called `web` here"),
    (&["cbr"], "it is called `udp` here"),
    (&["newreno", "sack"], "the control is `reno`; how losses are repaired is `recovery`"),
    (&["bbrv1", "bbr1"], "it is called `bbr` here"),
    (&["bbr2", "bbrv2", "bbrv3"], "it is called `bbr3` here; longfat has no version 2"),
    (&["lp"], "controls that give way are `tcp_lp`, `hstcp_lp`, `ledbat` and `ledbat++`"),
    (&["ledbatpp", "ledbat_plus_plus"], "it is called `ledbat++` here"),
    (&["hstcp"], "it is called `highspeed` here"),
    (&["stcp"], "it is called `scalable` here"),
    (&["bandwidth", "bw", "capacity", "speed"], "it is called `rate` here"),
    (&["topology", "network", "net"], "it is called `path` here: [path] with preset = \"dumbbell\""),
    (&["src", "source", "client", "sender"], "it is called `from` here: the name of a host"),
    (&["dst", "dest", "destination", "server", "receiver"], "it is called `to` here: the name of a host"),
    (&["protocol", "proto", "transport"], "a flow is TCP unless its `traffic` is not: traffic = { kind = \"udp\", rate = \"10 Mbit/s\" }"),
    (&["p2p", "point_to_point", "pointtopoint", "line", "single"], "two hosts and a link between them are preset = \"dumbbell\""),
    (&["latency"], "it is called `delay` here, of a link; `rtt` of a path is there and back"),
    (&["buffer", "buffer_size", "queue_size", "qlen"], "it is the `limit` of a queue: queue = { kind = \"droptail\", limit = \"1 bdp\" }"),
    (&["loss_rate", "plr", "per"], "it is a kind of `loss`: loss = { kind = \"bernoulli\", probability = 1e-6 }"),
    (&["cc", "tcp_congestion_control", "ccalgo", "algorithm"], "it is called `congestion_control` here"),
    (&["parallel", "connections"], "`streams` are parallel connections of one sender, and `count` is how many senders there are"),
    (
        &["rwnd", "wmem", "rmem", "tcp_rmem", "tcp_wmem", "sndbuf", "rcvbuf"],
        "`window` sets both buffers; `send_buffer` and `receive_buffer` each its own",
    ),
    (&["runtime", "simulation_time"], "it is `measure.duration`"),
    (&["cwnd", "initcwnd", "iw"], "it is `initial_window`"),
];

/// Returns a hint for `name`, a name from another tool that does not exist here.
pub(crate) fn hint(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase().replace('-', "_");
    NAMES.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, hint)| *hint)
}
