"""Criteria of RFC 7928 for a queue: one line per criterion, with an experiment in `experiments/queue/`.

RFC 7928 gives scenarios and metrics, and no bounds. Delay is compared with the active queues that are RFCs, use of the link and loss with
drop-tail. Section 2.7 weighs delay against goodput: a page draws both, with an ellipse per queue, for each scenario (`tradeoff`).
"""

from __future__ import annotations

from longfat.evaluate import measures
from longfat.evaluate.criteria import Criterion, Suite
from longfat.evaluate.measures import dropped_of, mean_of, part_of
from longfat.evaluate.rules import Rule, at_most

ACTIVE = ("codel", "pie", "fq_codel")
"""RFC 8289, RFC 8033 and RFC 8290."""
TAIL = ("droptail",)
DELAY = Rule("less", "RFC 7928 gives no bound: beside CoDel, PIE and FQ-CoDel on the same path", None, 0.01, 2.0, ACTIVE)
USE = Rule("more", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 1e6, 1.25, TAIL)
LOSS = Rule("less", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 0.01, 2.0, TAIL)
SHARE = Rule("more", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 0.1, 2.0, TAIL)
TIME = Rule("less", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 0.05, 1.5, TAIL)
OWN = "RFC 7928 gives no bound: beside the queue's own parameters on the same path"
PING = Rule("less", "RFC 7928 gives no bound: beside CoDel, PIE and FQ-CoDel on the same path", None, 0.01, 1.5, ACTIVE)

# RFC 7928 section 4.4: no undue advantage of small packets (RFC 7567 section 4.4). An equal share is none.
EQUAL = at_most(1.0, "RFC 7928 section 4.4: small packets have no undue advantage, so at most an equal share")
"""Bound of the share that flows of small packets get."""
SIZES = Rule("less", "RFC 7141: no probability by size; RFC 7928 gives no bound: beside drop-tail on the same path", None, 0.5, 1.5, TAIL)

CRITERIA = (
    Criterion("small-packets", "4.4", "what 500 bytes get beside 1500 bytes", "packet-sizes", "of a fair share", EQUAL, part_of("small")),
    Criterion("large-loss", "4.4", "loss of 1500 bytes over that of 500 bytes", "packet-sizes", "ratio", SIZES, measures.loss_ratio),
    Criterion("marks-delay", "4.5", "queue, p95, of flows that ask for marks", "ecn", "s", DELAY, measures.queue_p95),
    Criterion("marks-use", "4.5", "goodput of flows that ask for marks", "ecn", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("marks-loss", "4.5", "packets dropped of flows that ask for marks", "ecn", "share", LOSS, dropped_of("bulk")),
    Criterion("delay", "5", "queue, p95, with five transports", "transports", "s", DELAY, measures.queue_p95),
    Criterion("use", "5", "goodput of five transports", "transports", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("unresponsive", "5.3", "share of a flow beside a stream", "unresponsive", "of a fair share", SHARE, part_of("bulk")),
    Criterion("rtt-fairness", "6.2", "what 200 ms gets beside 20 ms", "rtts", "of a fair share", SHARE, part_of("far")),
    Criterion("long-use", "6.2", "goodput over 160 and 560 ms", "long", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("bursts", "7.2", "completion of bursts of ten packets", "bursts", "s", TIME, mean_of("burst", "completion_s")),
    Criterion("burst-loss", "7.2", "packets of such bursts that are dropped", "bursts", "share", LOSS, dropped_of("burst")),
    Criterion("levels-delay", "8.2", "queue, p95, of 12, 27 and 38 flows", "levels", "s", DELAY, measures.queue_p95),
    Criterion("levels-use", "8.2", "goodput of 12, 27 and 38 flows", "levels", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("load-delay", "8.2.5", "queue, p95, where ten flows come and go", "load-change", "s", DELAY, measures.queue_p95),
    Criterion("rate-delay", "8.2.6", "queue, p95, where the rate steps", "capacity", "s", DELAY, measures.queue_p95),
    Criterion("rate-use", "8.2.6", "goodput where the rate steps", "capacity", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("mix-ping", "9.1", "round trip of a ping in a mix, p95", "mix", "s", PING, mean_of("ping", "rtt_p95_s")),
    Criterion("mix-web", "9.1", "completion of web transfers in a mix", "mix", "s", TIME, mean_of("web", "completion_s")),
    Criterion("mix-call", "9.1", "packets that a call loses in a mix", "mix", "share", LOSS, dropped_of("call")),
    Criterion("two-way", "9.2", "goodput with traffic both ways", "two-way", "bit/s", USE, measures.goodput_of("there")),
    Criterion(
        "sensitive-delay",
        "8.3",
        "queue, p95, with a parameter halved or doubled",
        "sensitivity",
        "s",
        Rule("less", OWN, None, 0.005, 2.0, ()),
        measures.queue_p95,
        varies=True,
    ),
    Criterion(
        "sensitive-use",
        "8.3",
        "goodput with a parameter halved or doubled",
        "sensitivity",
        "bit/s",
        Rule("more", OWN, None, 1e6, 1.25, ()),
        measures.goodput_of("bulk"),
        varies=True,
    ),
    Criterion("row-delay", "10.2", "round trip over its least, p95, two alike in a row", "row", "s", DELAY, measures.excess_rtt_p95),
    Criterion("row-use", "10.2", "goodput through two alike in a row", "row", "bit/s", USE, measures.goodput_of("far", "near")),
    Criterion("next-delay", "10.2", "round trip over its least, p95, another behind", "next", "s", DELAY, measures.excess_rtt_p95),
    Criterion("next-use", "10.2", "goodput with another behind", "next", "bit/s", USE, measures.goodput_of("far", "near")),
)

NOT_SHOWN = (
    ("11", "cost of implementation: the simulator does not measure it"),
    ("12", "operator control: sensitive-delay and sensitive-use say which parameters need tuning"),
)

QUEUES = Suite("queue", "RFC 7928", "Queues by the scenarios of RFC 7928", CRITERIA, NOT_SHOWN, ("droptail", *ACTIVE), "queue")
