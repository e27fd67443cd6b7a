"""I have an idea for a congestion control. Is it any good?

Your control gives up an eighth of its window at a loss, where Reno gives up half. You ask what it does to others, and to itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Series
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. One path. For a paper, run it in [validation](../validation.md), which asks the same
of every control. An idea that is more than two numbers is a [class in Python](../python-control.md)."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """Alone, beside itself, beside Reno."""
    busy, error = (100 * results.pivot(f"bottleneck_utilization{end}", index="first", columns="second") for end in ("", "_ci"))
    table = results.means(by="group").set_index(["first", "second", "group"])
    got = table["goodput_bps"].unstack()
    reno, idea = "reno", "AIMD(1, 1/8)"
    beside = got.loc[(idea, reno)]
    alike = got.loc[(idea, idea)]

    def used(one: str) -> str:
        return with_interval(busy.loc[one, one], error.loc[one, one], "%")

    def said(first: str, second: str, group: str) -> str:
        row = table.loc[(first, second, group)]
        return with_interval(row["goodput_bps"], row["goodput_bps_ci"], "bit/s")

    yield (
        f"It fills the link: two of it keep it busy {used(idea)} of the time, two Renos {used(reno)}.",
        (busy.loc[idea, idea] > busy.loc[reno, reno] + 2),
    )
    yield (
        f"Two of it share evenly in the end: {said(idea, idea, 'idea')} and {said(idea, idea, 'other')}.",
        alike.min() > 0.7 * alike.max(),
    )
    yield (
        f"But beside Reno it takes {said(idea, reno, 'idea')} and leaves {said(idea, reno, 'other')}.",
        beside["idea"] > 2 * beside["other"],
    )
    yield "It is not better but greedier: who gives up less at a loss wins against who gives up more.", beside["idea"] > alike["idea"]


def picture(results: Results) -> Plot:
    """Who gets what, in each pair."""
    table = results.means(by="group").set_index(["first", "second", "group"])[["goodput_bps"]] / 1e6
    got = table["goodput_bps"].unstack(sort=False)
    names = [f"{first}\n{second}" for first, second in got.index]
    x = [float(i) for i in range(len(names))]
    series = [Series(name, x, list(got[group]), bar=True) for name, group in (("first", "idea"), ("second", "other"))]
    return Plot("my-idea", "Pairs on 100 Mbit/s", Axis("first, second", names=names), Axis("goodput (Mbit/s, payload)", start=0), series)
