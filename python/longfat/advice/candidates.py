"""Candidates: settings of a Linux host, one line each. A new line is in the tables, the verdict and the experiment.

The order counts: the first of several equal candidates is taken, so the one with the least change comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from longfat.advice.question import Question

STREAMS = 8
"""Parallel streams of a candidate that has several; transfer tools have four to eight (ESnet, packet pacing)."""
BY_RATE = frozenset({"bbr", "bbr3"})
"""Controls that go by rates and not by losses."""
SHARE = 0.9
"""Fraction of the path's rate that all streams together get where `fq maxrate` paces them."""


@dataclass(frozen=True)
class Candidate:
    """Settings of the sending host."""

    name: str
    what: str
    """Description in words."""
    control: str = "cubic"
    streams: int = 1
    paced: bool = False
    """True if TCP paces it, as it does below the queueing discipline `fq`, though the control has no rate of its own."""
    maxrate: float | None = None
    """Fraction of the path's rate at which `fq maxrate` holds all streams together."""
    untouched: bool = False
    """True if the buffers stay as Linux has them."""
    kernel: str = ""
    """Kernel that it needs; empty if a released kernel will do."""
    usual: bool = False
    """True if people ask about it: it is run in every case, also where it is behind."""

    @property
    def by_rate(self) -> bool:
        """True if its control goes by rates and not by losses."""
        return self.control in BY_RATE


CANDIDATES = (
    Candidate("as Linux comes", "CUBIC, tcp_rmem of 6 MiB, tcp_wmem of 4 MiB", untouched=True),
    Candidate("cubic", "CUBIC with the window below", usual=True),
    Candidate("bbr", "BBR version 1", control="bbr", usual=True),
    Candidate("bbr3", "BBR version 3", control="bbr3", kernel="Google's kernel, where it is called `bbr`", usual=True),
    Candidate("cubic maxrate", f"CUBIC, held at {100 * SHARE:.0f} % of the path's rate by fq", maxrate=SHARE),
    Candidate(f"{STREAMS} x cubic maxrate", f"{STREAMS} streams of CUBIC, together at {100 * SHARE:.0f} %", streams=STREAMS, maxrate=SHARE),
    Candidate("htcp", "H-TCP", control="htcp"),
    Candidate(f"{STREAMS} x cubic", f"{STREAMS} parallel streams of CUBIC", streams=STREAMS),
    Candidate("cubic paced", "CUBIC paced by fq at 120 % of cwnd / srtt", paced=True),
    Candidate("reno", "Reno", control="reno", usual=True),
)


def asked(question: Question) -> list[Candidate]:
    """Returns the candidates for the question; each has the number of streams that the question gives, if any."""
    if question.streams is None:
        return list(CANDIDATES)
    return [replace(one, streams=question.streams) for one in CANDIDATES if one.streams == 1]
