"""Lengths of runs: from the time that a control takes from one reduction to the next, and from how often the path loses a packet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from longfat.advice.question import HEADERS, Question, probability

PACKETS = 4e6
"""Most packets of a run that is longer than the shortest. Packets and not seconds, so that the same question is the same experiment on any
machine."""
THOROUGH = 8.0
"""Times as many packets and seconds, where one asks for it."""
PERIODS = (4, 2, 1)
"""Periods that count, after a first one that does not: as many as the packets allow. With random losses there is one, and several seeds."""
START, ROUNDS_OF_START = 2.0, 20
"""Seconds and round trips that never count: slow start."""
SHORTEST, ROUNDS = 10.0, 60
"""Seconds and round trips that count, at least: BBR drains its queue every ten seconds, and looks for a new rate every 62 round trips."""
SHORT_TRANSFERS = 40
"""Short transfers of others that begin meanwhile, where they come so often that half of the longest run has as many."""
MEAN_SIZE, SHARE_SHORT = 1.71e6, 0.53
"""Sizes of web search: their mean, bytes, and the share of those up to 80 kB (docs/traffic.md)."""
LONGEST = 60.0
"""Seconds of a run where the packets would allow more."""
CUBIC_C, CUBIC_BETA = 0.4, 0.7
"""RFC 9438 sections 4.6 and 5."""
CUBIC_ALPHA = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
"""RFC 9438 section 4.3."""


@dataclass(frozen=True)
class Length:
    """How long a run is, and how much of it does not count, s."""

    name: str
    duration: float
    warmup: float
    why: str


def cubic_period(question: Question, buffer: float) -> float:
    """Seconds from loss to loss of one CUBIC flow that fills path and `buffer` (bytes).

    It is K of RFC 9438 section 4.2, or the time of its Reno-friendly window (section 4.3) where that is less.
    """
    window = _segments(question, buffer)
    back = (1 - CUBIC_BETA) * window
    return min((back / CUBIC_C) ** (1 / 3), back / CUBIC_ALPHA * question.rtt)


def reno_period(question: Question, buffer: float) -> float:
    """Seconds from loss to loss of one Reno flow: half of its window at one segment per round trip (RFC 5681 section 3.1)."""
    return _segments(question, buffer) / 2 * question.rtt


def loss_period(question: Question, loss: float) -> float:
    """Seconds between random losses of one CUBIC flow, by its mean window (RFC 9438 section 5.1, and 1.22/sqrt(p) of Reno), or the path."""
    window = max(1.054 * (question.rtt / loss) ** 0.75, math.sqrt(1.5 / loss))
    return 1 / (loss * min(window / question.rtt, _packets(question)))


def rate_based(question: Question) -> Length:
    """Length of runs of controls that go by rates."""
    start = slow_start(question)
    return Length("by rate", _whole(start + _least(question)), start, f"BBR drains its queue every {SHORTEST:g} s")


def clean(question: Question, buffer: float) -> Length:
    """Length of runs of controls that go by losses, on a path that loses nothing of itself."""
    cubic, reno = cubic_period(question, buffer), reno_period(question, buffer)
    told = f"from loss to loss CUBIC takes {_time(cubic)} on this path, and Reno {_time(reno)}"
    for period in sorted({cubic, reno}, reverse=True):
        if (made := _of(question, period, _packets(question))) is not None:
            missing = "" if reno <= period else ", which is longer than a run may be"
            return Length("without loss", *made, f"{told}{missing}")
    start = slow_start(question)
    return Length("without loss", _whole(start + _least(question)), start, f"{told}: both are longer than a run may be")


def lossy(question: Question, losses: Sequence[float], buffer: float) -> Length:
    """Length of runs of controls that go by losses, on a path that loses packets with each of these probabilities.

    Where the buffer overflows sooner than the path loses a packet, that is the period.
    """
    start, full, periods = slow_start(question), cubic_period(question, buffer), PERIODS if question.thorough else PERIODS[-1:]
    best, told = (_whole(start + _least(question)), start), ""
    for loss in sorted(losses, reverse=True):
        lost = loss_period(question, loss)
        period = min(lost, full)
        told = f"with loss {probability(loss)} a CUBIC flow meets one in {_time(lost)}"
        told += f", and fills the buffer in {_time(full)}" if full < lost else ""
        if (made := _of(question, period, min(_packets(question), 1 / (loss * lost)), periods)) is None:
            return Length("with loss", *best, f"{told}, which is longer than a run may be")
        best = max(best, made)
    return Length("with loss", *best, told)


def _of(question: Question, period: float, packets: float, periods: Sequence[int] = PERIODS) -> tuple[float, float] | None:
    """Duration and warmup for whole periods at so many packets a second; None where that is too long."""
    warmup = max(slow_start(question), period)
    for count in periods:
        seconds = warmup + max(count * period, _least(question))
        if seconds <= LONGEST * _times(question) and seconds * packets <= PACKETS * _times(question):
            return _whole(seconds), round(warmup, 3)
    return None


def _segments(question: Question, buffer: float) -> float:
    return (question.bdp + buffer) / (question.mtu - HEADERS)


def _packets(question: Question) -> float:
    """Full packets that the path carries in a second."""
    return question.carried / (8 * question.mtu)


def _times(question: Question) -> float:
    return THOROUGH if question.thorough else 1.0


def slow_start(question: Question) -> float:
    """Seconds at the begin of a run that never count."""
    return round(max(START, ROUNDS_OF_START * question.rtt), 3)


def _least(question: Question) -> float:
    least = max(SHORTEST, ROUNDS * question.rtt)
    if not question.load:
        return least
    # Half of what a run may have, since a control's first period comes before it.
    most = _times(question) / 2 * min(LONGEST, PACKETS / _packets(question))
    return max(least, min(most, SHORT_TRANSFERS / short_transfers(question)))


def short_transfers(question: Question) -> float:
    """Short transfers of others that begin in a second, by the load."""
    return question.load * question.carried / 8 / MEAN_SIZE * SHARE_SHORT


def _whole(seconds: float) -> float:
    return float(math.ceil(round(seconds, 6)))


def _time(seconds: float) -> str:
    size, word = next(((size, word) for size, word in ((3600, "h"), (60, "min")) if seconds >= 2 * size), (1, "s"))
    return f"{seconds / size:.2g} {word}"
