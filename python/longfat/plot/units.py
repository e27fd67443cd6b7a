"""Units that fit what they measure: 53.7 Gbit/s, 256 MiB, 80 ms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

DIGITS = 4
"""Significant digits of a value without an interval."""
Unit = Literal["bit/s", "B", "iB", "s", "%", "1"]

STEPS: dict[Unit, tuple[tuple[str, float], ...]] = {
    "bit/s": (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)),
    "B": (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0)),
    "iB": (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0)),
    "s": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "%": (("%", 1.0),),
    "1": (("", 1.0),),
}


def scaled(unit: Unit, largest: float) -> tuple[str, float]:
    """Returns the unit in which `largest` is at least 1, and how many of the base unit it is."""
    steps = STEPS[unit]
    if not abs(largest) > 0:
        return next(step for step in steps if step[1] == 1.0)
    return next((step for step in steps if abs(largest) >= step[1] * (1 - 1e-9)), steps[-1])


def with_interval(mean: float, half: float, unit: Unit) -> str:
    """A mean with half of its confidence interval, to one digit: `9.32 ± 0.75 Gbit/s`.

    The interval has two digits at most, and is left out where it is NaN or under 0.5 % of the mean.
    """
    word = with_unit(mean, unit)
    if not half > 0.005 * abs(mean):
        return word
    number, _, name = word.partition(" ")
    size = scaled(unit, mean)[1]
    digits = min(len(number.partition(".")[2]), max(0, 1 - math.floor(math.log10(half / size))))
    # `43 ± 0.3` keeps a digit of the interval.
    digits = max(digits, -math.floor(math.log10(half / size))) if round(half / size, digits) == 0 else digits
    return f"{mean / size:.{digits}f} ± {half / size:.{digits}f} {name}".strip()


ROUNDING = 1e-12
"""Relative error of a mean of equal values, at most."""


def with_half(mean: float, half: float) -> str:
    """A mean with half of its interval: two digits of that, and as many of the mean as it has; a dash where there is no value.

    An interval that is the rounding error of equal values is left out.
    """
    if math.isnan(mean):
        return "–"
    if not half > ROUNDING * abs(mean):
        return f"{mean:.{DIGITS}g}" if abs(mean) < 10**DIGITS else f"{mean:.0f}"
    places = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:.{places}f} ± {half:.{places}f}"


def of_column(unit: Unit, values: Iterable[float]) -> tuple[str, float]:
    """Returns the unit for a column: that of its largest value, or a smaller one in which no value but 0 is below 0.01."""
    sizes = [abs(value) for value in values if value and not math.isnan(value)]
    word, size = scaled(unit, max(sizes, default=0.0))
    smaller = (step for step in STEPS[unit] if step[1] <= size and min(sizes) >= 0.01 * step[1]) if sizes else iter(())
    return next(smaller, (word, size))


def with_unit(value: float, unit: Unit, digits: int = 3) -> str:
    """A number with its unit: `53.7 Gbit/s`. NaN is a dash."""
    if value != value:
        return "–"
    word, size = scaled(unit, value)
    return f"{value / size:.{digits}g} {word}".strip()
