"""One experiment by two backends, side by side: `longfat compare NAME --backends`, with a sweep over `backend`."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from longfat.errors import LongfatError
from longfat.lazy import pd
from longfat.plot import Plot, save
from longfat.plot.over_time import time_plots
from longfat.report.columns import Column, print_columns
from longfat.results.result import Result
from longfat.results.results import Results

AXIS = "backend"
FIGURES = ("goodput", "cwnd", "rtt", "queue", "drops")
GOODPUT_WITHIN = 0.05
QUEUE_WITHIN = 0.1
"""Limits of agreement: docs/agreement.md."""


@dataclass(frozen=True)
class Pair:
    """One run by two backends."""

    labels: dict[str, str]
    """The value of each other axis; and the repeat, where there are several."""
    first: Result
    second: Result

    @property
    def name(self) -> str:
        """Name that tells it from other pairs."""
        return ", ".join(self.labels.values()) or self.first.title


@dataclass(frozen=True)
class Quantity:
    """A quantity of both backends, and how near the second is to the first."""

    first: float
    second: float

    @property
    def difference(self) -> float:
        """Relative to the first; NaN where that is nothing."""
        return self.second / self.first - 1 if self.first else float("nan")


def read(results: Results, tick: Callable[[float], object] = lambda _: None) -> list[Result]:
    """Reads every run, and tells `tick` the share that is read. LongfatError, before any is read, where they are not by two backends."""
    _two(list(results.runs[AXIS].unique()) if AXIS in results.axes else [])
    runs: list[Result] = []
    for number, result in enumerate(results):
        tick(number / len(results))
        runs.append(result)
    return runs


def pairs(results: Sequence[Result]) -> list[Pair]:
    """Pairs each run by the first backend with the same by the second. LongfatError where there are not two, or no run of both."""
    backends = _two(list(dict.fromkeys(result.labels.get(AXIS, "") for result in results)))
    of: dict[str, dict[tuple[tuple[str, str], ...], Result]] = {backend: {} for backend in backends}
    repeated = len({result.repeat for result in results}) > 1
    for result in results:
        others = {axis: value for axis, value in result.labels.items() if axis != AXIS}
        others |= {"repeat": str(result.repeat)} if repeated else {}
        of[result.labels[AXIS]][tuple(others.items())] = result
    first, second = of.values()
    made = [Pair(dict(key), result, second[key]) for key, result in first.items() if key in second]
    if not made:
        raise LongfatError(f"no run is finished by both {backends[0]} and {backends[1]}")
    return made


def _two(backends: list[str]) -> list[str]:
    if len(backends) != 2 or "" in backends:
        raise LongfatError(
            f"these runs are not by two backends: `{AXIS} = {{ sweep = ['sim', 'testbed'] }}` in the experiment makes them so"
        )
    return backends


def goodput(pair: Pair) -> Quantity:
    """Payload of all flows, bit/s."""
    return Quantity(*(float(one.metrics["goodput_total_bps"]) for one in (pair.first, pair.second)))


def queue_delay(pair: Pair) -> Quantity:
    """The mean wait at the bottleneck, seconds."""
    return Quantity(*(float(one.metrics.get("bottleneck_queue_delay_mean_s", float("nan"))) for one in (pair.first, pair.second)))


def sent_again(pair: Pair) -> Quantity:
    """Fraction of all payload sent that was a retransmission."""
    return Quantity(
        *(float(one.flows["bytes_retransmitted"].sum() / max(1, one.flows["bytes_sent"].sum())) for one in (pair.first, pair.second))
    )


def table(results: Sequence[Result]) -> pd.DataFrame:
    """One row per pair: the axes, `goodput_bps`, `queue_delay_s`, `sent_again` of both backends with their difference, and the verdict."""
    rows: list[dict[str, Any]] = []
    for pair in pairs(results):
        row: dict[str, Any] = dict(pair.labels)
        names = [pair.first.labels[AXIS], pair.second.labels[AXIS]]
        for what, found in (("goodput_bps", goodput(pair)), ("queue_delay_s", queue_delay(pair)), ("sent_again", sent_again(pair))):
            row |= {f"{what} {names[0]}": found.first, f"{what} {names[1]}": found.second}
            row |= {} if what == "sent_again" else {f"{what} difference": found.difference}
        rows.append(row | {"verdict": pair.second.verdict or pair.first.verdict or ""})
    return pd.DataFrame(rows)


def show(console: Console, results: Sequence[Result]) -> None:
    """Prints the table, its numbers in units to read."""
    found = pairs(results)
    names = [found[0].first.labels[AXIS], found[0].second.labels[AXIS]]
    labels = [Column(axis, [pair.labels[axis] for pair in found], left=True) for axis in found[0].labels]
    shown = [
        ("goodput (Mbit/s)", goodput, 1e6, 2, True),
        ("queue delay (ms)", queue_delay, 1e-3, 1, True),
        ("retransmitted (%)", sent_again, 1e-2, 2, False),
    ]
    columns: list[Column] = []
    for title, of, unit, digits, differs in shown:
        values = [of(pair) for pair in found]
        columns.append(Column(f"{names[0]} {title}", [f"{value.first / unit:.{digits}f}" for value in values]))
        columns.append(Column(f"{names[1]} {title}", [f"{value.second / unit:.{digits}f}" for value in values]))
        if differs:
            columns.append(Column("difference", [f"{100 * value.difference:+.1f} %" for value in values]))
    columns.append(Column("verdict", [pair.second.verdict or pair.first.verdict or "" for pair in found], left=True))
    print_columns(console, labels, columns)
    console.print(summary(results), soft_wrap=True)


def summary(results: Sequence[Result]) -> str:
    """Number of pairs that agree, in words."""
    found = pairs(results)
    near = sum(abs(goodput(pair).difference) <= GOODPUT_WITHIN for pair in found)
    short = sum(abs(queue_delay(pair).difference) <= QUEUE_WITHIN for pair in found)
    return (
        f"goodput within {100 * GOODPUT_WITHIN:.0f} % in {near} of {len(found)}, "
        f"mean queue delay within {100 * QUEUE_WITHIN:.0f} % in {short}"
    )


def together(pair: Pair) -> Result:
    """Joins both runs, flows and bottlenecks under the name of their backend, so that they are drawn over each other."""
    sides = (pair.first, pair.second)

    def joined(name: str, number: str, label: str | None = None) -> pd.DataFrame:
        parts: list[pd.DataFrame] = []
        above = 0
        for side in sides:
            part = getattr(side, name).copy()
            if number in part:
                part[number] += above
            above += len(getattr(side, "flows" if number == "flow" else "links"))
            if label is not None:
                part[label] = [f"{value}, {side.labels[AXIS]}" for value in part[label]]
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    links = joined("links", "link", "name")
    return replace(
        pair.first,
        labels=pair.labels,
        flows=joined("flows", "flow", "group"),
        links=links[links["bottleneck"] > 0],
        flow_series=joined("flow_series", "flow"),
        link_series=joined("link_series", "link"),
        events=pair.first.events.iloc[:0],
        packets=pair.first.packets.iloc[:0],
        acks=pair.first.acks.iloc[:0],
    )


def plots(pair: Pair) -> Iterator[Plot]:
    """Throughput, windows, round trips, queues and drops over time, of both; none where the experiment sets no `measure.interval`."""
    prefix = re.sub(r"[^a-z0-9]+", "-", pair.name.lower()).strip("-")
    for plot in time_plots(together(pair), named=False):
        if plot.id in FIGURES:
            # The sum over both backends means nothing.
            series = [one for one in plot.series if one.name != "all"]
            # The fullest queue comes first, whosever it is; a backend has one colour in all figures.
            series.sort(key=lambda one: one.name.endswith(f", {pair.second.labels[AXIS]}"))
            yield replace(plot, id=f"{prefix}-{plot.id}", title=f"{plot.title}: {pair.name}", series=series)


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """Writes the figures of every pair into `folder`, as PNG and SVG; the files. LongfatError where there is nothing to draw."""
    drawn = [plot for pair in pairs(results) for plot in plots(pair)]
    if not drawn:
        raise LongfatError("there is nothing to draw over time: the experiment sets no measure.interval")
    folder.mkdir(parents=True, exist_ok=True)
    return [file for plot in drawn for file in save(plot, folder)]
