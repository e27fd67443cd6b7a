"""What the tests measured and the paper shows only as averages, or in words: each pair of stacks, and the round trips."""

from __future__ import annotations

import math
from collections.abc import Callable

from longfat.paper import Table
from longfat.plot import Axis, Heat, Plot, Series

from .cells import PATHS, SIZES, STACKS, WINDOWS, Cells

PAIRED = STACKS[1:]


def pairs(c: Cells, path: str) -> dict[str, list[float]]:
    """Asymmetry of each stack beside each other (section 5.2); a stack is not paired with itself."""
    return {stack: [math.nan if stack == other else c.pair(path, stack, other) for other in PAIRED] for stack in PAIRED}


def pairs_table(c: Cells, path: str) -> Table:
    """As a table."""
    return Table(f"asymmetry of each stack (row) beside each other to {path}: 1 takes all, -1 leaves all", list(PAIRED), pairs(c, path))


def pairs_figure(c: Cells, path: str) -> Plot:
    """As a map."""
    heat = Heat(list(pairs(c, path).values()), low=-1, high=1, title="asymmetry")
    return Plot(
        f"pairs-{path.lower()}",
        f"Asymmetry of every pair to {path}",
        Axis("beside", names=PAIRED),
        Axis("stack", names=PAIRED),
        heat=heat,
        caption="1 takes all, -1 leaves all, 0 is fair; third window.",
    )


def inflation(c: Cells, path: str, size: int, stack: str) -> float:
    """Mean of ping over the least round trip that any test of the path saw."""
    return c.rtt(path, size, stack) / c.rtt_min(path)


def rtt_table(c: Cells, title: str, value: Callable[[str, int, str], float]) -> Table:
    """A value of each path and window by stack."""
    rows = {f"{path} {WINDOWS[path][n - 1]}": [value(path, n, stack) for stack in STACKS] for path in PATHS for n in SIZES}
    return Table(title, list(STACKS), rows)


def rtt_figure(c: Cells) -> Plot:
    """Section 4.1: a colour a path, a marker a window; no two at one place."""
    series = [
        Series(
            f"{path} {WINDOWS[path][n - 1]}",
            [x + (3 * i + n - 5) * 0.08 for x in range(len(STACKS))],
            [inflation(c, path, n, stack) for stack in STACKS],
            line=False,
            colour=i,
            marker=n - 1,
        )
        for i, path in enumerate(PATHS)
        for n in SIZES
    ]
    names = Axis("stack", start=-0.5, end=len(STACKS) - 0.5, names=STACKS)
    y = Axis("mean RTT of ping / least of the path", log=True)
    return Plot("rtt", "Round trips, over those of an empty path", names, y, series)
