"""Why does the far site always lose?

Two sites share a link of 200 Mbit/s. One is 20 ms away, the other 160 ms. Both send all the time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. One flow each, a queue of 2 MB, two minutes. A smaller queue makes round trips and
shares differ more. [Validation](../validation.md) has RTT unfairness of every control."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By control."""
    table = shares(results)
    far = table["share"]

    def said(control: str) -> str:
        return with_interval(far[control], table["share_ci"][control], "%")

    yield (
        f"With Reno the far site gets {said('reno')} of what both get: it grows by a packet each round trip, and its trips are longer.",
        far["reno"] < 40,
    )
    yield f"CUBIC grows by the clock and not by round trips, and gives it {said('cubic')}.", far["cubic"] > far["reno"] + 3
    yield f"BBR3 turns it round: {said('bbr3')}.", far["bbr3"] > 50
    yield "It loses by Reno: change the control, at both sites.", far["reno"] == far.min()


def shares(results: Results) -> pd.DataFrame:
    """Of each control what the far site has of the whole, in percent: `share` and `share_ci`."""
    table = results.means(by="group")
    return table[table["group"] == "long"].set_index("control")[["share", "share_ci"]] * 100


def picture(results: Results) -> Plot:
    """The share of the far site."""
    far = shares(results)
    return Plot(
        "long-and-short",
        "Rate of the far site",
        Axis("control", names=list(far.index)),
        Axis("of both (%)", start=0, end=100),
        [Series("far site", [float(i) for i in range(len(far))], list(far["share"]), error=list(far["share_ci"]), bar=True)],
    )
