"""Criteria of start-ups: one line each, with an experiment in `experiments/startup/`.

RFC 9743 section 5.1.5 asks how short flows fare and what they do to long ones, and gives no bound. Each is compared with slow start of
RFC 5681 and with HyStart++ (RFC 9406) on the same path, all below CUBIC.
"""

from __future__ import annotations

from longfat.evaluate import measures
from longfat.evaluate.criteria import Criterion, Suite
from longfat.evaluate.measures import dropped_of, mean_of
from longfat.evaluate.rules import Rule

STANDARDS = ("standard", "hystart++")
SOURCE = "RFC 9743 gives no bound: beside slow start (RFC 5681) and HyStart++ (RFC 9406) on the same path"
TIME = Rule("less", SOURCE, None, 0.05, 1.25, STANDARDS)

CRITERIA = (
    Criterion(
        "completion", "5.1.5", "completion of 10 kB to 10 MB on four paths", "completion", "s", TIME, mean_of("subject", "completion_s")
    ),
    Criterion(
        "request", "5.1.5", "completion of 1 kB to 1 MB that a client asks for", "request", "s", TIME, mean_of("subject", "completion_s")
    ),
    Criterion(
        "long-fat", "7.5", "completion of 10 MB to 1 GB over 10 Gbit/s, 600 ms", "long-fat", "s", TIME, mean_of("subject", "completion_s")
    ),
    Criterion("radio", "6.4", "completion of 10 MB over LTE and LEO", "radio", "s", TIME, mean_of("subject", "completion_s")),
    Criterion(
        "overshoot",
        "5.1.3",
        "packets dropped in the first 8 s",
        "overshoot",
        "packets",
        Rule("less", SOURCE, None, 10.0, 1.5, STANDARDS),
        measures.dropped,
    ),
    Criterion("jitter", "7.3", "completion of 20 MB where packets jitter", "jitter", "s", TIME, mean_of("subject", "completion_s")),
    Criterion(
        "harm-long",
        "5.1.5",
        "goodput of a long flow while another starts",
        "newcomer",
        "bit/s",
        Rule("more", SOURCE, None, 1e6, 1.25, STANDARDS),
        measures.goodput_of("long"),
    ),
    Criterion(
        "harm-call",
        "5.2.2",
        "packets that a call loses while another starts",
        "newcomer",
        "share",
        Rule("less", SOURCE, None, 0.01, 1.5, STANDARDS),
        dropped_of("call"),
    ),
)

NOT_SHOWN = (
    ("5.1.5", "memory of earlier connections: `saved_cwnd` is the empty path's window, and never that of another path"),
    ("5.1.5", "Fast Open where the path drops a SYN with data, and how many clients have a cookie: `fast_open` has one"),
)

FAST_OPEN = "fast_open"
"""Name under which TCP Fast Open (RFC 7413) is judged, with a cookie, above slow start of RFC 5681."""


def keys_of(name: str) -> dict[str, str]:
    """Keys of a flow that is to start so."""
    return {"slow_start": "standard", "fast_open": "cached"} if name == FAST_OPEN else {"slow_start": name, "fast_open": "off"}


STARTUPS = Suite(
    "startup",
    "RFC 9743",
    "Start-ups by the criteria of RFC 9743",
    CRITERIA,
    NOT_SHOWN,
    ("standard", "hystart", "hystart++"),
    "startup",
)
