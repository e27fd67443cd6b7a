"""Before and after, measured in turn on the real path."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from longfat.errors import LongfatError
from longfat.results.repeats import half_width
from longfat.tune import script

PAIRS = 5
"""Pairs of measurements. Four degrees of freedom leave an interval that says something."""


@dataclass(frozen=True)
class Compared:
    """Goodput of one direction before and after, payload in bit/s."""

    direction: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Geometric mean of after over before, and the ends of its 95 % interval; NaN for fewer than two pairs."""
        logs = [math.log(after / before) for before, after in zip(self.before, self.after, strict=True) if before > 0 and after > 0]
        if not logs:
            return math.nan, math.nan, math.nan
        mean, half = sum(logs) / len(logs), half_width(logs)
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def compare(
    folder: Path,
    measure: Callable[[], dict[str, float]],
    set_up: Callable[[Path, str], bool] = script.run_quietly,
    pairs: int = PAIRS,
    tick: Callable[[float], object] = lambda share: None,
) -> list[Compared]:
    """Goodput by direction in `pairs` of runs before and after, in an order drawn anew for each. The host is as before at the end."""
    orders = random.Random(1)
    found: dict[str, dict[str, list[float]]] = {}
    done = 0
    try:
        for _ in range(pairs):
            for name in orders.sample(("revert.sh", "apply.sh"), 2):
                if not set_up(folder, name):
                    raise LongfatError(f"{folder / name} did not succeed, so nothing is compared")
                for direction, goodput in measure().items():
                    found.setdefault(direction, {"revert.sh": [], "apply.sh": []})[name].append(goodput)
                done += 1
                tick(done / (2 * pairs))
    finally:
        set_up(folder, "revert.sh")
    return [Compared(direction, tuple(runs["revert.sh"]), tuple(runs["apply.sh"])) for direction, runs in found.items()]


def lines(compared: Sequence[Compared]) -> list[str]:
    """A sentence per direction."""
    made: list[str] = []
    for one in compared:
        ratio, low, high = one.ratio
        mean = [sum(runs) / len(runs) / 1e6 for runs in (one.before, one.after)]
        verdict = "no difference is shown" if low <= 1 <= high or math.isnan(low) else "faster" if ratio > 1 else "slower"
        made.append(
            f"{one.direction}: {mean[0]:,.1f} → {mean[1]:,.1f} Mbit/s, {ratio:.3f} times "
            f"(95 % interval {low:.3f} to {high:.3f}, {len(one.before)} pairs): {verdict}"
        )
    return made
