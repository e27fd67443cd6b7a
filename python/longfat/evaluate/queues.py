"""Criteria of RFC 7928 for a queue: one line per criterion, with an experiment in `experiments/queue/`.

RFC 7928 gives scenarios and metrics, and no bounds. Delay is compared with the active queues that are RFCs, use of the link and loss with
drop-tail. Section 2.7 weighs delay against goodput: both stand in the table for each scenario.
"""

from __future__ import annotations

from longfat.evaluate import measures
from longfat.evaluate.criteria import Criterion, Suite
from longfat.evaluate.measures import dropped_of, mean_of, part_of
from longfat.evaluate.rules import Rule

ACTIVE = ("codel", "pie", "fq_codel")
"""RFC 8289, RFC 8033 and RFC 8290."""
TAIL = ("droptail",)
DELAY = Rule("less", "RFC 7928 gives no bound: beside CoDel, PIE and FQ-CoDel on the same path", None, 0.01, 2.0, ACTIVE)
USE = Rule("more", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 1e6, 1.25, TAIL)
LOSS = Rule("less", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 0.01, 2.0, TAIL)
SHARE = Rule("more", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 0.1, 2.0, TAIL)
TIME = Rule("less", "RFC 7928 gives no bound: beside drop-tail on the same path", None, 0.05, 1.5, TAIL)
PING = Rule("less", "RFC 7928 gives no bound: beside CoDel, PIE and FQ-CoDel on the same path", None, 0.01, 1.5, ACTIVE)

CRITERIA = (
    Criterion("delay", "5", "queue, p95, with five transports", "transports", "s", DELAY, measures.queue_p95),
    Criterion("use", "5", "goodput of five transports", "transports", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("unresponsive", "5.3", "share of a flow beside a stream", "unresponsive", "of a fair share", SHARE, part_of("bulk")),
    Criterion("rtt-fairness", "6.2", "what 200 ms gets beside 20 ms", "rtts", "of a fair share", SHARE, part_of("far")),
    Criterion("bursts", "7.2", "completion of bursts of ten packets", "bursts", "s", TIME, mean_of("burst", "completion_s")),
    Criterion("burst-loss", "7.2", "packets of such bursts that are dropped", "bursts", "share", LOSS, dropped_of("burst")),
    Criterion("levels-delay", "8.2", "queue, p95, of 2, 8 and 20 flows", "levels", "s", DELAY, measures.queue_p95),
    Criterion("levels-use", "8.2", "goodput of 2, 8 and 20 flows", "levels", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("load-delay", "8.2.5", "queue, p95, where ten flows come and go", "load-change", "s", DELAY, measures.queue_p95),
    Criterion("rate-delay", "8.2.6", "queue, p95, where the rate steps", "capacity", "s", DELAY, measures.queue_p95),
    Criterion("rate-use", "8.2.6", "goodput where the rate steps", "capacity", "bit/s", USE, measures.goodput_of("bulk")),
    Criterion("mix-ping", "9.1", "round trip of a ping in a mix, p95", "mix", "s", PING, mean_of("ping", "rtt_p95_s")),
    Criterion("mix-web", "9.1", "completion of web transfers in a mix", "mix", "s", TIME, mean_of("web", "completion_s")),
    Criterion("mix-call", "9.1", "packets that a call loses in a mix", "mix", "share", LOSS, dropped_of("call")),
    Criterion("two-way", "9.2", "goodput with traffic both ways", "two-way", "bit/s", USE, measures.goodput_of("there")),
)

NOT_SHOWN = (
    ("8.3", "sensitivity of each parameter: sweep them, as experiments/queues does"),
    ("10", 'several queues in a row: `preset = "parking_lot"` runs it, and no verdict follows from the RFC'),
    ("11", "cost of implementation: the simulator does not measure it"),
)

QUEUES = Suite("queue", "RFC 7928", CRITERIA, NOT_SHOWN, ("droptail", *ACTIVE))
