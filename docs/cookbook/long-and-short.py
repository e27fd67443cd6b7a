"""Why does the far site always lose?

Two sites share a link of 200 Mbit/s. One is 20 ms away, the other 160 ms. Both send all the time, and the far one complains.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series

LIMITS = """One flow each, a queue of 2 MB, and a run of two minutes. A smaller queue makes the round trips differ more, and the shares with
them. [Validation](../validation.md) has RTT unfairness of every control."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By control."""
    far = shares(results)
    yield (
        f"With Reno the far site gets {far['reno']:.0f} % of what both get: it grows by a packet each round trip, and its trips are longer.",
        far["reno"] < 40,
    )
    yield f"CUBIC grows by the clock and not by round trips, and gives it {far['cubic']:.0f} %.", far["cubic"] > far["reno"] + 3
    yield f"BBR3 turns it round: {far['bbr3']:.0f} %.", far["bbr3"] > 50
    yield "So it loses by Reno: change the control, at both sites.", far["reno"] == min(far.values())


def shares(results: Results) -> dict[str, float]:
    """Of each control: what the far site has of the whole, in percent."""
    got = results.flows.pivot_table(index="control", columns="group", values="goodput_bps", sort=False)
    return dict(got["long"] / got.sum(axis=1) * 100)


def picture(results: Results) -> Plot:
    """The share of the far site."""
    far = shares(results)
    return Plot(
        "long-and-short",
        "What the far site gets",
        Axis("control", names=list(far)),
        Axis("of both (%)", start=0, end=100),
        [Series("far site", [float(i) for i in range(len(far))], list(far.values()), bar=True)],
    )
