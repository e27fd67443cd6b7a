"""Does BBR push CUBIC aside?

Somebody on your network has turned BBR on. The others have CUBIC. You ask who gets what, and whether the buffer of the link matters.
"""

from __future__ import annotations

from collections.abc import Iterator

from longfat import Results
from longfat.plot import Axis, Plot, Rule, Series

LIMITS = """One flow of each, with equal round trips of 40 ms. Several BBR flows together take about what one takes (Ware and others,
Modeling BBR's Interactions with Loss-Based Congestion Control, IMC 2019). BBR and BBR3 are those of the drafts."""


def answer(results: Results) -> Iterator[tuple[str, bool]]:
    """By the buffer."""
    got = shares(results)
    (small, *_, large) = got["bbr"][0]
    first, last = got["bbr"][1][0], got["bbr"][1][-1]
    third, deep = got["bbr3"][1][0], got["bbr3"][1][-1]
    yield f"With a buffer of {small:g} BDP, BBR takes {first:.0f} % of the link.", first > 75
    yield f"BBR3 is milder there: it takes {third:.0f} %.", third < first
    yield f"With a buffer of {large:g} BDP it is the other way round: BBR gets {last:.0f} %, and CUBIC the rest.", last < 40
    yield f"BBR3 gets {deep:.0f} % there.", deep < 50
    yield "So the buffer decides: BBR wins where it is small, and CUBIC where it is large.", first > 50 > last


def shares(results: Results) -> dict[str, tuple[list[float], list[float]]]:
    """Of each version: the buffers in products, and the rival's part of what both get, in percent."""
    made: dict[str, tuple[list[float], list[float]]] = {}
    for version, flows in results.flows.groupby("version", sort=False):
        table = flows.pivot_table(index="buffer_bdp", columns="group", values="goodput_bps").sort_index()
        made[str(version)] = list(table.index), list(table["rival"] / (table["rival"] + table["cubic"]) * 100)
    return made


def picture(results: Results) -> Plot:
    """The rival's share against the buffer."""
    series = [Series({"bbr": "BBR", "bbr3": "BBR3"}[version], *line) for version, line in shares(results).items()]
    return Plot(
        "bbr-beside-cubic",
        "What BBR takes beside one CUBIC flow",
        Axis("buffer (bandwidth-delay products)", log=True),
        Axis("of the link (%)", start=0, end=100),
        series,
        rules=[Rule("an equal share", y=50)],
    )
