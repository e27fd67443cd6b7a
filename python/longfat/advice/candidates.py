"""What could be set on a Linux host: one line each. A new line is in the tables, the verdict and the experiment.

The order counts: of candidates that are alike the first is taken, so what asks for the least change comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from longfat.advice.question import Question

STREAMS = 8
"""Parallel streams of a candidate that has several; transfer tools have four to eight (ESnet, packet pacing)."""
SHARE = 0.9
"""Of the path's rate, for all streams together, where they are paced by `fq maxrate`."""


@dataclass(frozen=True)
class Candidate:
    """Settings of the sending host."""

    name: str
    what: str
    """In words."""
    control: str = "cubic"
    streams: int = 1
    paced: bool = False
    """Whether TCP paces it, as it does below the queueing discipline `fq`, though the control has no rate of its own."""
    maxrate: float | None = None
    """The share of the path's rate at which `fq maxrate` holds all streams together."""
    untouched: bool = False
    """Whether the buffers stay as Linux has them."""
    kernel: str = ""
    """What it needs that no released kernel has; empty where any has it."""


CANDIDATES = (
    Candidate("as Linux comes", "CUBIC, tcp_rmem of 6 MiB, tcp_wmem of 4 MiB", untouched=True),
    Candidate("cubic", "CUBIC with the window below"),
    Candidate("bbr", "BBR version 1", control="bbr"),
    Candidate("bbr3", "BBR version 3", control="bbr3", kernel="Google's kernel, where it is called `bbr`"),
    Candidate("cubic maxrate", f"CUBIC, held at {100 * SHARE:.0f} % of the path's rate by fq", maxrate=SHARE),
    Candidate(f"{STREAMS} x cubic maxrate", f"{STREAMS} streams of CUBIC, together at {100 * SHARE:.0f} %", streams=STREAMS, maxrate=SHARE),
    Candidate("htcp", "H-TCP", control="htcp"),
    Candidate(f"{STREAMS} x cubic", f"{STREAMS} parallel streams of CUBIC", streams=STREAMS),
    Candidate("cubic paced", "CUBIC paced by fq at 120 % of cwnd / srtt", paced=True),
    Candidate("reno", "Reno", control="reno"),
)


def asked(question: Question) -> list[Candidate]:
    """Those that answer the question: of a number of streams that is given, each with that many."""
    if question.streams is None:
        return list(CANDIDATES)
    return [replace(one, streams=question.streams) for one in CANDIDATES if one.streams == 1]
