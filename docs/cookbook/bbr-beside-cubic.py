"""Does BBR push CUBIC aside?

Somebody on your network has turned BBR on. The others have CUBIC. You ask who gets what, and whether the buffer matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from longfat import Results
from longfat.plot import Axis, Plot, Rule, Series
from longfat.plot.units import with_interval

LIMITS = """Means of five seeds, ± half of the 95 % interval. One flow of each, with equal round trips of 40 ms. Several BBR flows together take
about what one takes (Ware and others, IMC 2019). BBR and BBR3 are those of the drafts."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By the buffer."""
    got = shares(results)
    (small, *_, large) = got["bbr"].buffers
    first, last = got["bbr"].mean[0], got["bbr"].mean[-1]
    third, deep = got["bbr3"].mean[0], got["bbr3"].mean[-1]
    one = got["bbr"].buffers.index(1)
    yield f"With a buffer of {small:g} BDP, BBR takes {got['bbr'].said(0)} of the link.", first > 75
    yield f"BBR3 is milder there: it takes {got['bbr3'].said(0)}.", third < first
    yield f"With 1 BDP, BBR takes {got['bbr'].said(one)}, and BBR3 {got['bbr3'].said(one)}.", first > got["bbr"].mean[one] > last
    yield f"With a buffer of {large:g} BDP it is the other way round: BBR gets {got['bbr'].said(-1)}, and CUBIC the rest.", last < 40
    yield f"BBR3 gets {got['bbr3'].said(-1)} there.", deep < 50
    yield "The buffer decides: BBR wins where it is small, and CUBIC where it is large.", first > 50 > last


class Shares(NamedTuple):
    """The buffers in bandwidth-delay products; the rival's part of what both get, in percent, with half of its interval."""

    buffers: list[float]
    mean: list[float]
    half: list[float]

    def said(self, place: int) -> str:
        """`96 ± 1 %`."""
        return with_interval(self.mean[place], self.half[place], "%")


def shares(results: Results) -> dict[str, Shares]:
    """By version."""
    table = results.means(by="group")
    rival = table[table["group"] == "rival"]
    made: dict[str, Shares] = {}
    for version, rows in rival.groupby("version", sort=False):
        buffers = [float(str(text).split()[0]) for text in rows["buffer"]]
        made[str(version)] = Shares(buffers, list(rows["share"] * 100), list(rows["share_ci"] * 100))
    return made


def picture(results: Results) -> Plot:
    """The rival's share against the buffer."""
    names = {"bbr": "BBR", "bbr3": "BBR3"}
    series = [Series(names[version], line.buffers, line.mean, error=line.half) for version, line in shares(results).items()]
    return Plot(
        "bbr-beside-cubic",
        "BBR's share beside one CUBIC flow",
        Axis("buffer (bandwidth-delay products)", log=True),
        Axis("of the link (%)", start=0, end=100),
        series,
        rules=[Rule("an equal share", y=50)],
    )
