"""Numbers in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from longfat.plot.units import with_unit


def at(seconds: float) -> str:
    """A moment, to the millisecond in a short run: `0.207 s`, `12.35 s`, `1204.5 s`."""
    return f"{seconds:.{3 if seconds < 10 else 2 if seconds < 1000 else 1}f} s"


def span(seconds: float) -> str:
    """A time that something lasts: `83 ms`, `1.2 s`."""
    return with_unit(seconds, "s")


def size(bytes_: float) -> str:
    """Bytes: `1.52 MB`."""
    return with_unit(bytes_, "B")


def rate(bits_per_second: float) -> str:
    """A rate: `19.2 Mbit/s`."""
    return with_unit(bits_per_second, "bit/s")


def share(part: float) -> str:
    """A part of one: `98 %`, `0.4 %`."""
    percent = 100 * part
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else "under 0.1 %" if percent < 0.1 else f"{percent:.1f} %"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def times(seconds: Sequence[float], most: int = 4) -> str:
    """Moments: `at 10.3 s, 20.5 s and 30.7 s`; of many the first and the last."""
    if len(seconds) > most:
        return f"from {at(seconds[0])} to {at(seconds[-1])}"
    return f"at {listed([at(one) for one in seconds])}"
