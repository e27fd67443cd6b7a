"""I have an idea for a congestion control. Is it any good?

Your control gives up an eighth of its window at a loss, where Reno gives up half. It looks faster. You ask what it does to others, and to itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_unit

LIMITS = """One path. For a paper, run it in [validation](../validation.md), which asks the same of every control. An idea that is more than two
numbers is a [class in Python](../python-control.md), in this same file."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """Alone, beside itself, beside Reno."""
    busy = results.pivot("bottleneck_utilization", index="first", columns="second") * 100
    got = results.flows.pivot_table(index=["first", "second"], columns="group", values="goodput_bps", sort=False)
    reno, idea = "reno", "AIMD(1, 1/8)"
    beside = got.loc[(idea, reno)]
    alike = got.loc[(idea, idea)]
    yield (
        f"It fills the link: two of it keep it busy {busy.loc[idea, idea]:.1f} % of the time, two Renos {busy.loc[reno, reno]:.1f} %.",
        (busy.loc[idea, idea] > busy.loc[reno, reno] + 2),
    )
    yield (
        f"Two of it share evenly in the end: {with_unit(alike['idea'], 'bit/s')} and {with_unit(alike['other'], 'bit/s')}.",
        alike.min() > 0.7 * alike.max(),
    )
    yield (
        f"But beside Reno it takes {with_unit(beside['idea'], 'bit/s')} and leaves {with_unit(beside['other'], 'bit/s')}.",
        beside["idea"] > 2 * beside["other"],
    )
    yield "So it is not better but greedier: who gives up less at a loss wins against who gives up more.", beside["idea"] > alike["idea"]


def picture(results: Results) -> Plot:
    """Who gets what, in each pair."""
    got = results.flows.pivot_table(index=["first", "second"], columns="group", values="goodput_bps", sort=False) / 1e6
    names = [f"{first}\n{second}" for first, second in got.index]
    x = [float(i) for i in range(len(names))]
    series = [Series("first", x, list(got["idea"]), bar=True), Series("second", x, list(got["other"]), bar=True)]
    return Plot("my-idea", "Pairs on 100 Mbit/s", Axis("first, second", names=names), Axis("goodput (Mbit/s, payload)", start=0), series)
