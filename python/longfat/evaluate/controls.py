"""Criteria of RFC 9743 for a congestion control: one line per criterion, with an experiment in `experiments/control/`.

A new line is in the tables, the pages and the tests. Bounds come from the source that the line names. Where RFC 9743 gives none, the
control is compared with the standard ones on the same path.
"""

from __future__ import annotations

from longfat.evaluate import measures
from longfat.evaluate.criteria import Criterion, Suite
from longfat.evaluate.measures import dropped_of, mean_of, part_of
from longfat.evaluate.rules import at_most, less_than_others, more_than_others

FULL_BACKOFF = at_most(1.0, "RFC 9743 section 5.1.1: full back-off is one packet per round trip, and then less")
TIMER = at_most(8.0, "RFC 6298 section 5.5: a timeout that doubles from 1 s expires twice in these 40 s; 8 leave room for probes")
ONE_BDP = at_most(
    1.0, "RFC 9743 section 5.1.2 asks for no excessive queue; more than one path full is excess (Appenzeller 2004, section 2)"
)
PART = less_than_others(0.01)
"""Shares of packets: a hundredth matters."""
HARM = less_than_others(0.1, 1.25)
"""Harm: a tenth matters (Ware and others, HotNets 2019: no more than the standard controls do to each other)."""

CONVERGES = less_than_others(5.0)
"""Delta-fair convergence time (RFC 5166 section 2.3.3): 5 s matter, and double is bad."""

CRITERIA = (
    Criterion(
        "heavy-loss",
        "5.1.1",
        "packets sent per round trip where 30 to 70 % are lost",
        "heavy-loss",
        "packets per RTT",
        FULL_BACKOFF,
        measures.packets_per_rtt,
    ),
    Criterion("dead-path", "5.1.1", "packets sent in 40 s into a path that died", "dead-path", "packets", TIMER, measures.packets_sent),
    Criterion(
        "crowd-loss",
        "5.1.1",
        "loss where each flow's share is under two packets",
        "crowd",
        "share",
        less_than_others(0.05, 1.5),
        measures.bottleneck_loss,
    ),
    Criterion("bufferbloat", "5.1.2", "mean queue in buffers of 1 to 16 BDP", "bufferbloat", "RTT", ONE_BDP, measures.queue_in_rtts),
    Criterion("own-loss", "5.1.3", "loss that 2 and 6 flows alike cause", "own-loss", "share", PART, measures.bottleneck_loss),
    Criterion("alike", "5.1.4", "Jain's index of 2, 10 and 100 flows alike", "alike", "index", more_than_others(0.05, 1.15), measures.jain),
    Criterion(
        "late-comer",
        "5.1.4",
        "what a flow gets that comes 20 s later",
        "late-comer",
        "of a fair share",
        more_than_others(0.15, 1.5),
        part_of("subject-late"),
    ),
    Criterion(
        "first-comer",
        "5.1.4",
        "what a flow keeps when another comes 30 s later",
        "first-comer",
        "of a fair share",
        more_than_others(0.15, 1.5),
        part_of("subject"),
    ),
    Criterion("converges", "5.1.4", "time until a late comer shares evenly", "late-comer", "s", CONVERGES, measures.converges),
    Criterion(
        "unequal-rtts",
        "5.1.4",
        "what a flow over 120 ms gets beside one over 20 ms",
        "unequal-rtts",
        "of a fair share",
        more_than_others(0.05),
        part_of("subject-far"),
    ),
    Criterion(
        "short-flows",
        "5.1.5",
        "completion of 100 kB beside two long flows alike",
        "short-flows",
        "s",
        less_than_others(0.05, 1.5),
        mean_of("subject-short", "completion_s"),
    ),
    Criterion("harm-one", "5.2.1", "goodput that one takes from one", "harm-pair", "harm", HARM, harms="goodput_bps"),
    Criterion("harm-one-in-4", "5.2.1", "goodput that one takes from four", "harm-against-many", "harm", HARM, harms="goodput_bps"),
    Criterion("harm-four", "5.2.1", "goodput that four take from four", "harm-many", "harm", HARM, harms="goodput_bps"),
    Criterion(
        "harm-marked",
        "5.2.1",
        "goodput that one takes from one in a queue that marks",
        "harm-marked",
        "harm",
        less_than_others(0.1, 1.5),
        harms="goodput_bps",
    ),
    Criterion("harm-delay", "5.2", "round trips that one makes longer for one, p95", "harm-pair", "harm", HARM, harms="rtt_p95_s"),
    Criterion("harm-loss", "5.2", "retransmissions of a flow beside one", "harm-pair", "share", PART, mean_of("peer", "retransmit_share")),
    Criterion("gets", "5.2.1", "what it gets beside one", "harm-pair", "of a fair share", more_than_others(0.1), part_of("subject")),
    Criterion(
        "receivers",
        "7.6",
        "goodput that one whose receiver misbehaves takes from one",
        "receivers",
        "harm",
        HARM,
        harms="goodput_bps",
    ),
    Criterion("harm-short", "5.2.3", "time that two add to transfers of 100 kB", "short-beside", "harm", HARM, harms="completion_s"),
    Criterion("call-delay", "5.2.2", "queue that a call finds, p95", "real-time", "s", less_than_others(0.005, 1.5), measures.queue_p95),
    Criterion("call-loss", "5.2.2", "packets that a call loses", "real-time", "share", PART, dropped_of("call")),
    Criterion("aqm-delay", "7.1", "queue in six AQMs, p95", "aqm", "s", less_than_others(0.01), measures.queue_p95),
    Criterion("aqm-use", "7.1", "goodput through six AQMs", "aqm", "bit/s", more_than_others(1e6, 1.25), measures.goodput),
    Criterion("ecn-delay", "7.1", "queue in six AQMs that mark, p95", "aqm-ecn", "s", less_than_others(0.01), measures.queue_p95),
    Criterion("ecn-use", "7.1", "goodput through six AQMs that mark", "aqm-ecn", "bit/s", more_than_others(1e6, 1.25), measures.goodput),
    Criterion("shallow-loss", "6.1", "loss in 10 and 40 packets of buffer", "shallow", "share", PART, measures.bottleneck_loss),
    Criterion(
        "shallow-use", "6.1", "goodput with 10 and 40 packets of buffer", "shallow", "bit/s", more_than_others(5e6, 1.25), measures.goodput
    ),
    Criterion("policer-loss", "6.1", "packets that a policer drops", "policer", "share", PART, measures.bottleneck_loss),
    Criterion(
        "radio-loss", "6.4", "goodput where 0.1 and 1 % are lost", "radio-loss", "bit/s", more_than_others(5e5, 1.5), measures.goodput
    ),
    Criterion("rate-use", "7.9", "goodput over a rate that varies", "varying-rate", "bit/s", more_than_others(5e5, 1.5), measures.goodput),
    Criterion(
        "rate-delay",
        "7.9",
        "queue in front of a rate that varies, p95",
        "varying-rate",
        "s",
        less_than_others(0.02),
        measures.queue_p95,
    ),
    Criterion(
        "delay-use", "7.3", "goodput over a delay that varies", "varying-delay", "bit/s", more_than_others(5e5, 1.5), measures.goodput
    ),
    Criterion("satellite", "7.5", "goodput over 600 ms", "satellite", "bit/s", more_than_others(5e5, 1.5), measures.goodput),
    Criterion("reordering", "7.7", "goodput where packets come late", "reordering", "bit/s", more_than_others(5e5, 1.5), measures.goodput),
    Criterion("outage", "7.8", "goodput in the 20 s after an outage", "outage", "bit/s", more_than_others(1e6, 1.5), measures.goodput),
    Criterion(
        "onset-loss", "7.8", "loss in the 10 s after a stream takes 3/4 of the link", "onset", "share", PART, measures.bottleneck_loss
    ),
    Criterion("idle-loss", "5.1.3", "loss by bursts of an application that idles", "idle", "share", PART, measures.bottleneck_loss),
    Criterion("slow-use", "6", "goodput over 10 kbit/s to 1 Mbit/s", "slow", "bit/s", more_than_others(1e3, 1.25), measures.goodput),
    Criterion("fast-use", "6", "goodput over 1, 10 and 100 Gbit/s", "fast", "bit/s", more_than_others(2e7, 1.5), measures.goodput),
)

NOT_SHOWN = (
    ("6.2", "tunnels: an inner flow that its outer queue does not know is not modelled"),
    ("7.2", "circuit breakers: no operator's breaker is modelled; own-loss and call-loss say what would trip one"),
    ("7.4", "Internet of Things: cost in memory, processor and power is not simulated; slow-use has slow links"),
    ("7.10", "multipath: a connection has one path"),
    ("7.11", "data centers: their criteria are their operator's, and no general ones"),
    ("5.3", "principles and deployment: these are for the specification to argue"),
)

CONTROLS = Suite(
    "control",
    "RFC 9743",
    "Congestion controls by the criteria of RFC 9743",
    CRITERIA,
    NOT_SHOWN,
    ("reno", "cubic", "bbr3"),
    "control",
)
"""References: two standards (RFC 5681, RFC 9438), and BBRv3, whose kin are widely deployed."""
