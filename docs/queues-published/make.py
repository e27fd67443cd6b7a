"""Writes the tables of docs/queues-published.md again, but for the first, from the results of `longfat run queues`.

    longfat run queues
    python docs/queues-published/make.py [RESULTS]

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the functions below are named so. The sentences around them are not
touched: read them again, and say in the CHANGELOG what moved.
"""

# pandas leaves the type of cells open, and the module of the family is known when it is loaded.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longfat.paper.measured import load_measured
from longfat.paper.model import load_paper
from longfat.paper.published import load_published
from longfat.store import location

PAGE = Path(__file__).parent.with_suffix(".md")
FAMILY = PAGE.parents[1] / "experiments" / "queues"
PLACE = re.compile(r"(?<=<!-- table: )(\w+)( -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)
Lines = Iterator[list[str]]


def sparse(c: Any) -> Lines:
    """The wait of a sparse flow, by queue and by what it sends."""
    shares = sys.modules[type(c).__module__].SHARES
    yield ["queue", *shares]
    for queue in ("droptail", "codel", "drr", "sfq", "fq_codel", "fq_pie"):
        yield [queue, *(two(1e3 * c.sparse_wait(queue, share)) for share in shares)]


def policers(c: Any) -> Lines:
    """Goodput, loss and round trip."""
    controls = ("reno", "cubic", "bbr", "bbr3")
    yield ["", *controls]
    for by in ("policer, 12 kB", "policer, 50 kB", "policer, 500 kB", "shaper, 50 kB", "shaper, 500 kB"):
        yield [
            by,
            *(
                ", ".join((percent(c.policed_share(by, x)), percent(c.policed_loss(by, x), 1), f"{1e3 * c.policed_rtt(by, x):.0f} ms"))
                for x in controls
            ),
        ]


def steps(c: Any) -> Lines:
    """Seconds after a step in rate."""
    controls = ("cubic", "bbr", "bbr3")
    yield ["", *(f"up: {x}" for x in controls), *(f"down: {x}" for x in controls)]
    for queue, name in (("droptail, 1 bdp", "droptail, 1 BDP"), ("droptail, 8 bdp", "droptail, 8 BDP"), ("fq_codel", "fq_codel")):
        seconds = [*(c.rise(queue, x) for x in controls), *(c.settle(queue, x) for x in controls)]
        yield [name, *("never" if math.isnan(x) else f"{x:.1f}" for x in seconds)]


def leo(c: Any) -> Lines:
    """Goodput in Mb/s, and the median wait where the queue is a plain one."""
    controls = ("cubic", "bbr", "bbr3")
    yield ["", "loss", *controls]
    for queue in ("droptail", "fq_codel"):
        for loss in (0.0, 0.001, 0.01):
            waits = queue == "droptail" and loss == 0
            cells = [
                f"{c.leo_rate(queue, x, loss) / 1e6:.0f}" + (f", {1e3 * c.leo_delay(queue, x, loss):.2g} ms" if waits else "")
                for x in controls
            ]
            yield [queue if loss == 0 else "", percent(loss, 1) if loss else "none", *cells]


def l4s_10m(c: Any) -> Lines:
    """Rate over rate at 10 Mb/s, ours / theirs."""
    yield from ratios(c, "10m", ("droptail", "fq_codel", "dualpi2", "dualpi2, from 2 packets"))


def l4s_50m(c: Any) -> Lines:
    """The same at 50 Mb/s."""
    yield from ratios(c, "50m", ("droptail", "fq_codel", "dualpi2"))


def l4s_agreement(c: Any) -> Lines:
    """How many are near what was published."""
    yield ["", "within 10 %", "within 25 %", "median factor"]
    for words, places in {
        "fq_codel, 10 and 50 Mb/s": (("10m", "fq_codel"), ("50m", "fq_codel")),
        "droptail, 10 and 50 Mb/s": (("10m", "droptail"), ("50m", "droptail")),
        "dualpi2, 50 Mb/s": (("50m", "dualpi2"),),
        "dualpi2, 10 Mb/s": (("10m", "dualpi2"),),
        "the same, its ramp from two packets on": (("10m", "dualpi2, from 2 packets"),),
    }.items():
        factors = [[ours / theirs for ours, theirs in pairs(c, *place)] for place in places]
        off = [abs(x - 1) for some in factors for x in some]
        near = [f"{sum(x <= limit for x in off)} of {len(off)}" for limit in (0.1, 0.25)]
        yield [words, *near, ", ".join(f"{statistics.median(max(x, 1 / x) for x in some):.2f}" for some in factors)]


def ratios(c: Any, rate: str, queues: tuple[str, ...]) -> Lines:
    """A row for each queue and pair of controls."""
    module = sys.modules[type(c).__module__]
    yield ["queue", "first, second", *module.RTTS]
    for queue in queues:
        cells = [" / ".join(f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}" for ratio in both) for both in pairs(c, rate, queue)]
        for n, pair in enumerate(module.PAIRS):
            yield [queue, ", ".join(pair), *cells[n * len(module.RTTS) : (n + 1) * len(module.RTTS)]]


def pairs(c: Any, rate: str, queue: str) -> list[tuple[float, float]]:
    """Ours and theirs: the pairs of controls one after the other, of each all pairs of round trips."""
    module = sys.modules[type(c).__module__]
    theirs = {(r["rate"], r["queue"], r["rtts"], r["first"], r["second"]): r.value for r in ROWS if r.quantity == "rate_ratio"}
    both: list[tuple[float, float]] = []
    for pair in module.PAIRS:
        for rtts in module.RTTS:
            value = theirs[rate, queue.partition(",")[0], rtts, *pair]
            assert value is not None
            both.append((c.rate_ratio(rate, queue, rtts, *pair), value))
    return both


def percent(share: float, digits: int = 0) -> str:
    """A share in words, with digits where it is a few per cent."""
    return f"{100 * share:.{digits if 5e-4 <= share < 0.05 and share != 0.01 else 0}f} %"


def two(number: float) -> str:
    """With two digits that count, or as a whole number."""
    return f"{number:.0f}" if number >= 10 else f"{number:#.2g}"


def table(lines: Lines) -> str:
    """As Markdown."""
    head, *rest = lines
    rows = ["|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in (head, *rest)]
    return "\n".join([rows[0], "|" + "---|" * len(head), *rows[1:]])


ROWS = load_published(FAMILY)
TABLES = {make.__name__: make for make in (sparse, policers, steps, leo, l4s_10m, l4s_50m, l4s_agreement)}


def main(results: str = "results") -> None:
    """Writes the page."""
    load_paper(FAMILY)
    cells = sys.modules["longfat_paper_queues.cells"].Cells
    measured = load_measured(FAMILY, location(results))
    text = PAGE.read_text(encoding="utf-8")
    text = PLACE.sub(lambda place: f"{place[1]}{place[2]}{table(TABLES[place[1]](cells.of(measured)))}\n", text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
