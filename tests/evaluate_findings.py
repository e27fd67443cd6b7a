"""Known findings of the literature, each with the criterion that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longfat.evaluate import show
from longfat.evaluate.card import Answer, Card, OnPath


@dataclass(frozen=True)
class Finding:
    """One finding: who shows it by failing a criterion, and who does not."""

    says: str
    source: str
    published: str
    """The source's number; its words, where the number could not be read."""
    what: Literal["control", "queue"]
    criterion: str
    shows: str
    """Control or queue that fails the criterion."""
    spared: str
    """Control or queue that does not fail it."""
    path: dict[str, str]
    """Path of the numbers: the value of each axis."""


NO_NUMBER = "number not read"
HOCK = "Hock, Bless and Zitterbart, ICNP 2017"
XU = "Xu, Harfoush and Rhee, INFOCOM 2004, abstract"

FINDINGS = (
    Finding(
        "BBR loses packets in shallow buffers",
        f"{HOCK}, by RFC 9743, section 5.1.3",
        "sustained loss of several flows below about 1.5 BDP; share: " + NO_NUMBER,
        "control",
        "own-loss",
        "bbr",
        "cubic",
        {"buffer": "1 bdp", "flows": "6"},
    ),
    Finding(
        "BBR takes the link from loss-based flows in shallow buffers",
        HOCK,
        f"paper not at hand, {NO_NUMBER}",
        "control",
        "harm-four",
        "bbr",
        "reno",
        {"buffer": "0.5 bdp", "peer": "cubic"},
    ),
    Finding(
        "Vegas loses to Reno",
        "Feng and Vanichpun, SAINT 2003, abstract",
        f"mediocre wherever Reno is; {NO_NUMBER}",
        "control",
        "gets",
        "vegas",
        "cubic",
        {"buffer": "4 bdp", "peer": "reno"},
    ),
    Finding(
        "Scalable TCP starves long round trips",
        XU,
        f"severe with synchronized losses; {NO_NUMBER}",
        "control",
        "unequal-rtts",
        "scalable",
        "cubic",
        {"buffer": "1 bdp"},
    ),
    Finding(
        "BIC's unfairness grows with the round trips",
        XU,
        "linear at large windows: 29 % of a fair share at 6 to 1",
        "control",
        "unequal-rtts",
        "bic",
        "cubic",
        {"buffer": "1 bdp"},
    ),
    Finding(
        "CUBIC fills any buffer",
        "RFC 9743, section 5.1.2",
        "rate grows until the buffer is full: 16 round trips in 16 BDP at most",
        "control",
        "bufferbloat",
        "cubic",
        "vegas",
        {"buffer": "16 bdp"},
    ),
    Finding(
        "LEDBAT's late comer pushes the first aside, LEDBAT++'s does not",
        "Carofiglio and others, arXiv:1006.3018, abstract; Bagnulo and García-Martínez, Computer Networks 212, 2022, abstract",
        "the last one takes all: 0 % for the first; LEDBAT++ overcomes it",
        "control",
        "first-comer",
        "ledbat",
        "ledbat++",
        {},
    ),
    Finding(
        "DCTCP starves Reno in one queue that marks",
        "draft-ietf-tsvwg-aqm-dualq-coupled-01, abstract",
        f"Reno approaches starvation; {NO_NUMBER}",
        "control",
        "harm-marked",
        "dctcp",
        "cubic",
        {"queue": "codel", "peer": "reno"},
    ),
    Finding(
        "Prague starves Reno in one queue that marks",
        "Heist and Morton, L4S Tests, 2021, scenario 6",
        "42 to 1 in CoDel at 50 Mbit/s and 20 ms: 98 % harm",
        "control",
        "harm-marked",
        "prague",
        "cubic",
        {"queue": "codel", "peer": "reno"},
    ),
    Finding(
        "CoDel leaves a long path idle",
        "RFC 8511, abstract, of short queues and large BDPs",
        f"noticeable with few flows; {NO_NUMBER}",
        "queue",
        "long-use",
        "codel",
        "droptail",
        {"rtt": "560 ms"},
    ),
)
"""Findings of the literature on controls and queues. No criterion names one of them."""


def on(answer: Answer, path: dict[str, str]) -> OnPath:
    """The judgement on the path of these labels."""
    return next(one for one in answer.paths if one.labels == path)


def here(finding: Finding, shows: Answer, spared: Answer) -> str:
    """Cell of the table: the criterion, the numbers of both, and the path."""
    numbers = [show.said(one.criterion, on(one, finding.path).own, interval=True) for one in (shows, spared)]
    unit = show.unit_of(shows.criterion)[0]
    path = on(shows, finding.path).name
    return f"`{finding.criterion}`: `{finding.shows}` {numbers[0]} {unit}, `{finding.spared}` {numbers[1]}; {path}"


PATH_RTTS = {"10 Mbit/s 20 ms": 0.02, "100 Mbit/s 80 ms": 0.08, "50 Mbit/s 600 ms": 0.6, "1 Gbit/s 200 ms": 0.2}
SIZES, PATHS = ("10 kB", "100 kB", "1 MB", "4 MB"), ("100 Mbit/s 80 ms", "50 Mbit/s 600 ms", "1 Gbit/s 200 ms")
SHORTER = (
    ("suss", "SUSS: over 20 % shorter below 5 MB over more than 50 ms", "its abstract", "hystart", 0.2),
    ("careful_resume", "Careful Resume: more rapidly up to speed, on the saved path", "RFC 9959, abstract", "standard", 0.0),
)
"""Claims of shorter transfers: start-up, claim, source, the start-up beside it, and the share by which it is said to be shorter."""
FEWER = (
    (
        "search",
        "SEARCH: ends before packets are lost",
        "its draft, abstract; version 3.0 of 2024 is judged, not the later text",
        "standard",
    ),
    ("hystart", "HyStart: no heavy losses", "Ha and Rhee 2011, abstract", "standard"),
    ("hystart++", "HyStart++: fewer packets lost than by slow start", "RFC 9406, section 1", "standard"),
    ("limited", "Limited Slow-Start: fewer packets lost than by slow start", "RFC 3742, section 1", "standard"),
    ("suss", "SUSS: no more packets lost", "its abstract: no measured negative impacts", "hystart"),
    ("careful_resume", "Careful Resume: no more packets lost", "RFC 9959, abstract: a cautious method", "standard"),
)
"""Claims about losses: start-up, claim, source and the start-up beside it."""
NONE, NO_MORE = ("search",), ("suss", "careful_resume")
"""Start-ups that are said to lose no packet, and no more than the other; the rest lose fewer."""


def claims(cards: dict[str, Card]) -> str:
    """Table of what the sources of start-ups claim, beside the same here."""
    lines = ["| claim | source | here | |", "|---|---|---|---|"]
    for name, claim, source, rest, share in SHORTER:
        for size in SIZES:
            gains = [
                1.0 - one.own.mean / one.others[rest].mean
                for one in cards[name]["completion"].paths
                if one.labels["volume"] == size and one.labels["path"] in PATHS
            ]
            held = "held" if min(gains) > share else "held in part" if max(gains) > share else "not held"
            gained = f"{100 * min(gains):.1f} to {100 * max(gains):.1f} % shorter than {TITLES[rest]} on {len(gains)} paths"
            lines.append(f"| {claim}; {size} | {source} | {gained} | {held} |")
    for size in ("1 kB", "10 kB", "100 kB", "1 MB"):
        saved = [
            (one.others["standard"].mean - one.own.mean) / PATH_RTTS[one.labels["path"]]
            for one in cards["fast_open"]["request"].paths
            if one.labels["volume"] == size
        ]
        held = "held" if min(saved) > 0.95 and max(saved) < 1.05 else "not held"
        lines.append(
            f"| TCP Fast Open: saves up to a round trip; {size} that a client asks for | RFC 7413, abstract | "
            f"{min(saved):.2f} to {max(saved):.2f} round trips on {len(saved)} paths | {held} |"
        )
    for buffer in ("0.1 bdp", "1 bdp", "2 bdp", "4 bdp"):
        for name, claim, source, rest in FEWER:
            paths = [one for one in cards[name]["overshoot"].paths if one.labels["buffer"] == buffer]
            own, other = (sum(side) for side in zip(*((one.own.mean, one.others[rest].mean) for one in paths), strict=True))
            good = own == 0 if name in NONE else own <= other if name in NO_MORE else own < other or own == other == 0
            lines.append(
                f"| {claim}; buffer {buffer} | {source} | {own:.0f} packets over {len(paths)} paths, {rest} {other:.0f} | "
                f"{'held' if good else 'not held'} |"
            )
    return "\n".join(lines)


TITLES = {"hystart": "HyStart", "standard": "slow start"}
