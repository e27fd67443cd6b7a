"""The figures of the paper, and tables it has as averages and in words.

A colour a path or stack, a dash a period; what was published in hollow marks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean

from longfat.paper import Measured, Table
from longfat.plot import Axis, Plot, Rule, Series
from longfat.results.repeats import spread

from . import extra
from .cells import LONG_QUEUE_PATHS, PATHS, SIZES, STACKS, WINDOWS, Cells
from .study import PUBLISHED, cells, paper, table1

MBPS = Axis("throughput (Mb/s, payload)", start=0)
NAMES = Axis("stack", start=-0.5, end=len(STACKS) - 0.5, names=STACKS)


def _by_stack(name: str, values: list[float], colour: int, *, line: bool = False, dash: int = 0, published: bool = False) -> Series:
    return Series(name, list(range(len(values))), values, line=line, published=published, colour=colour, marker=colour, dash=dash)


BARS = "Ours: the mean over seeds, with its 95 % confidence interval."


def _of_seeds(
    name: str, c: Cells, stem: str, value: Callable[[Cells, str], float], colour: int, *, stacks: Sequence[str] = STACKS, line: bool = False
) -> Series:
    """The mean of what each seed of an experiment has, by stack."""
    values = [[value(one, stack) for one in c.seeds(stem)] for stack in stacks]
    error = [spread(of_stack) for of_stack in values]
    return Series(name, list(range(len(stacks))), [mean(of) for of in values], line=line, error=error, colour=colour, marker=colour)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _deviation(path: str, stack: str) -> float:
    """Published standard deviation over mean, of windows 2 and 3 (Table 1)."""
    rows = [
        row for row in PUBLISHED if row.quantity == "throughput" and row.where == "Table 1" and (row["path"], row["stack"]) == (path, stack)
    ]
    return mean(row.uncertainty / row.value for row in rows if int(row["size"]) > 1 and row.uncertainty is not None and row.value)


@paper.figure(where="Figure 1")
def figure1(measured: Measured) -> Plot:
    """By path and on average."""
    c, published = cells(measured), table1()
    series = [_of_seeds(path, c, "throughput", lambda c, s, path=path: c.thr_mean(path, s), i) for i, path in enumerate(PATHS)]
    series.append(_of_seeds("average", c, "throughput", lambda c, s: c.average(s), 6, line=True))
    for i, path in enumerate(PATHS):
        series.append(_by_stack(f"{path}, published", [mean(published[path, n, s] for n in (2, 3)) for s in STACKS], i, published=True))
    average = [mean(published[p, n, s] for p in PATHS for n in (2, 3)) for s in STACKS]
    series.append(_by_stack("average, published", average, 6, line=True, dash=1, published=True))
    return Plot("figure1", "Throughput, windows 2 and 3", NAMES, MBPS, series, caption=BARS)


@paper.figure(where="Table 1")
def table1_scatter(measured: Measured) -> Plot:
    """Every cell, ours against the published."""
    c, published = cells(measured), table1()
    series = [
        Series(
            path,
            [published[path, n, s] for n in SIZES for s in STACKS],
            [c.thr(path, n, s) for n in SIZES for s in STACKS],
            line=False,
            colour=i,
            marker=i,
        )
        for i, path in enumerate(PATHS)
    ]
    series.append(Series("equal", [0, 600], [0, 600], markers=False, colour=6, dash=2))
    ranks = ", ".join(f"{path} {c.rank_correlation(path, published):.2f}" for path in PATHS)
    stacks = ", ".join(f"{path} {c.stacks_correlation(path, published):.2f}" for path in PATHS)
    return Plot(
        "table1",
        "Every cell of Table 1",
        Axis("published throughput (Mb/s, payload)", start=0, end=600),
        Axis("ours (Mb/s, payload)", start=0, end=600),
        series,
        caption=f"Rank correlation over all 72 cells {c.rank_correlation(None, published):.2f}; {ranks}. "
        f"Of the eight stacks alone (means of windows 2 and 3): {stacks}.",
    )


def _series_of(measured: Measured, stem: str, groups: tuple[str, ...], **where: str) -> list[Series]:
    c = cells(measured)
    run = c.rows(stem, **where)["run"].iloc[0]
    rates = c.intervals(stem, run, groups)
    return [Series(group, rates.index.tolist(), rates[group].tolist(), markers=False) for group in groups]


@paper.figure(where="Figure 2")
def figure2(measured: Measured) -> Plot:
    """BIC beside the sinusoid."""
    series = _series_of(measured, "sinusoid", ("test", "udp"), path="UFL", window="8 MiB", stack="BIC", period="60 s")
    total = [a + b for a, b in zip(series[0].y, series[1].y, strict=True)]
    series.append(Series("total", series[0].x, total, markers=False))
    return Plot("figure2", "BIC and sinusoidal UDP to UFL, 8 MiB", Axis("time (s)"), MBPS, series)


@paper.figure(where="Figure 3")
def figure3(measured: Measured) -> Plot:
    """Stability by path."""
    c = cells(measured)
    series = [_of_seeds(path, c, "throughput", lambda c, s, path=path: c.stability_mean(s, path), i) for i, path in enumerate(PATHS)]
    series.append(_of_seeds("average", c, "throughput", lambda c, s: c.stability_mean(s), 6, line=True))
    series += [_by_stack(f"{path}, Table 1", [_deviation(path, s) for s in STACKS], i, published=True) for i, path in enumerate(PATHS)]
    return Plot("figure3", "Stability, windows 2 and 3", NAMES, Axis("standard deviation / mean", start=0), series, caption=BARS)


@paper.figure(where="Figure 4")
def figure4(measured: Measured) -> Plot:
    """Stability beside UDP by period."""
    c = cells(measured)
    series = [
        _of_seeds(f"period {period} s", c, "sinusoid", lambda c, s, period=period: c.stability_udp_mean(s, period), i)
        for i, period in enumerate((30, 60))
    ]
    series.append(replace(_of_seeds("without UDP", c, "throughput", lambda c, s: c.stability_mean(s), 6, line=True), dash=1))
    y = Axis("standard deviation / mean", start=0)
    return Plot("figure4", "Stability beside sinusoidal UDP, windows 2 and 3", NAMES, y, series, caption=BARS)


def _two(number: str, stack: str) -> None:
    @paper.figure(where="Figure 5")
    def figure(measured: Measured) -> Plot:
        index = cells(measured).fair("UFL", 3, stack)
        series = _series_of(measured, "intra", ("first", "second"), path="UFL", window=WINDOWS["UFL"][2], stack=stack)
        return Plot(f"figure5{number}", f"Two flows of {stack} to UFL, 8 MiB: index {index:.3f}", Axis("time (s)"), MBPS, series)


_two("a", "FAST")
_two("b", "HS-TCP")


def _challenge_figure(measured: Measured, name: str, stem: str, flows: Sequence[str], title: str) -> Plot:
    """Flows as points and the link's total as a line, as the paper draws them, of the first seed."""
    c = cells(measured)
    rates, total = c.challenge(stem, flows), c.challenge_total(stem)
    series = [Series("all on the link (wire)", (total.index / 60).tolist(), total.tolist(), markers=False, colour=6)]
    for i, flow in enumerate(flows):
        sent = rates[flow][rates[flow] > 0]
        series.append(Series(flow, (sent.index / 60).tolist(), sent.tolist(), line=False, colour=i, marker=i))
    caption = f"One of {len(c.seeds(stem))} seeds."
    return Plot(name, title, Axis("time (minutes)", start=0), Axis("rate (Mb/s; flows: payload)", start=0), series, caption=caption)


@paper.figure(where="Figure 6")
def figure6(measured: Measured) -> Plot:
    """PAIX during the challenge, from 16:00."""
    return _challenge_figure(measured, "figure6", "sc2003-paix", ("HS-TCP", "S-TCP", "second S-TCP"), "Phoenix to PAIX from 16:00")


@paper.figure(where="Figure 7")
def figure7(measured: Measured) -> Plot:
    """Chicago and Amsterdam."""
    return _challenge_figure(measured, "figure7", "sc2003-abilene", ("Chicago", "Amsterdam"), "Phoenix to Chicago and Amsterdam")


@paper.figure(where="section 4.3")
def transmit_queue(measured: Measured) -> Plot:
    """Throughput against the transmit queue."""
    c = cells(measured)
    queues = (100, 2000, 10000)
    series = []
    for stack in STACKS[2:]:
        values = [[one.txqueue(stack, queue) for one in c.seeds("txqueuelen")] for queue in queues]
        series.append(Series(stack, queues, [mean(of) for of in values], error=[spread(of) for of in values]))
    return Plot(
        "txqueuelen",
        "Transmit queue of the sending host",
        Axis("txqueuelen (packets)", log=True),
        MBPS,
        series,
        caption=f"Window 2; mean of {' and '.join(LONG_QUEUE_PATHS)}. {BARS}",
    )


@paper.figure(where="Table 3")
def table3(measured: Measured) -> Plot:
    """Asymmetry by path."""
    c = cells(measured)
    series = [_of_seeds(path, c, "inter", lambda c, s, path=path: c.asym(s, path), i, stacks=STACKS[1:]) for i, path in enumerate(PATHS)]
    printed = {(row["path"], row["stack"]): row.value for row in PUBLISHED if row.where == "Table 3" and row.quantity == "asymmetry"}
    series += [
        _by_stack(f"{path}, published", [_or_nan(printed.get((path, s))) for s in STACKS[1:]], i, published=True)
        for i, path in enumerate(PATHS)
    ]
    names = Axis("stack", start=-0.5, end=len(STACKS) - 1.5, names=STACKS[1:])
    y = Axis("asymmetry: 1 takes all", start=-1, end=1)
    return Plot("table3", "Asymmetry against all others", names, y, series, rules=[Rule("fair", y=0)], caption=BARS)


# Each pair, and the round trips, which the paper has as averages and in words.

for _path in PATHS:
    paper.table(where="section 5.2")(lambda measured, path=_path: extra.pairs_table(cells(measured), path))
    paper.figure(where="section 5.2")(lambda measured, path=_path: extra.pairs_figure(cells(measured), path))


@paper.table(where="section 4.1")
def rtt_means(measured: Measured) -> Table:
    """Of ping."""
    c = cells(measured)
    return extra.rtt_table(c, "mean RTT of ping (ms)", c.rtt)


@paper.table(where="section 4.1")
def rtt_deviations(measured: Measured) -> Table:
    """Of ping."""
    c = cells(measured)
    return extra.rtt_table(c, "standard deviation of the RTT of ping (ms)", c.rtt_sd)


@paper.table(where="section 4.1")
def rtt_inflations(measured: Measured) -> Table:
    """Of ping."""
    c = cells(measured)
    return extra.rtt_table(c, "mean RTT of ping over the least of the path", lambda *cell: extra.inflation(c, *cell))


@paper.figure(where="section 4.1")
def rtt_inflation(measured: Measured) -> Plot:
    """Of ping."""
    return extra.rtt_figure(cells(measured))
