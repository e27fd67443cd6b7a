"""How large a buffer does my router need?

The old rule says one bandwidth-delay product. Appenzeller, Keslassy and McKeown (SIGCOMM 2004) say that n long flows need only that over
the root of n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from longfat import Results
from longfat.plot import Axis, Plot, Rule, Series

LIMITS = """Means of five seeds. All flows are long and Reno, with round trips of 60 to 100 ms and a little random delay in the hosts. Short flows need a
buffer of their own. With 256 flows a window is a few packets, and losses are many: look at `retransmission_rate`, too."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """The old rule, and the new one."""
    table = shares(results)
    n = "64"
    one, many = table["1"], table[n]
    rule = 1 / math.sqrt(int(n))
    at_rule = float(np.interp(rule, *many))
    small = float(np.interp(rule, *one))
    yield f"One flow needs the whole product: with all of it the link is busy {one[1][-1]:.1f} % of the time.", one[1][-1] > 97
    yield (
        f"{n} flows need far less: with 1/√{n} of it, which is {rule:.3g}, they keep the link busy {at_rule:.1f} % of the time.",
        at_rule > 95,
    )
    yield f"One flow with so little gets {small:.0f} %.", small < at_rule - 10
    yield "The new rule holds for many flows that are not in step, and the old one for one.", at_rule > 95 > small


def shares(results: Results) -> dict[str, tuple[list[float], list[float]]]:
    """Of each number of flows: the buffers, in products, and the share of the time in which the link is busy, in percent."""
    made: dict[str, tuple[list[float], list[float]]] = {}
    for flows, group in results.runs.groupby("flows", sort=False):
        means = group.groupby("buffer_bdp")["bottleneck_utilization"].mean().sort_index() * 100
        made[str(flows)] = list(means.index), list(means)
    return made


def picture(results: Results) -> Plot:
    """Utilization against the buffer, a line for each number of flows."""
    table = shares(results)
    series = [Series(f"{flows} flow{'s' if flows != '1' else ''}", *table[flows]) for flows in table]
    rules = [Rule(f"1/√{flows}", x=1 / math.sqrt(int(flows))) for flows in table if flows != "1"]
    return Plot(
        "router-buffer",
        "How busy the link is, by the buffer of the router",
        Axis("buffer (bandwidth-delay products)", log=True),
        Axis("time busy (%)", end=101),
        series,
        rules=rules,
    )
