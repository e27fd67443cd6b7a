"""Trade-off of delay and goodput in each scenario of a queue (RFC 7928 section 2.7)."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from longfat.plot import Axis, Plot, Series
from longfat.results.ellipse import Ellipse, ellipse
from longfat.results.results import Results


@dataclass(frozen=True)
class Tradeoff:
    """One queue on one path: delay beyond the least round trip in seconds (x), and total goodput in bit/s (y), each run a point.

    The delay is the mean of the round trips less the least one, of the flows with a goodput: all queues of the path count.
    """

    scenario: str
    """Name of the experiment."""
    path: dict[str, str]
    """Value of each axis, but that of the queue."""
    queue: str
    ellipse: Ellipse

    @property
    def name(self) -> str:
        """Name of the path: the value of each axis."""
        return ", ".join(f"{axis} {label}" for axis, label in self.path.items()) or "its one path"


def of_sweep(scenario: str, what: str, results: Results) -> Iterator[Tradeoff]:
    """Trade-off of each queue on each path of a sweep; `what` is the axis of the queues."""
    flows = results.flows[results.flows["goodput_bps"].notna() & results.flows["rtt_mean_s"].notna()]
    each = flows.assign(delay=flows["rtt_mean_s"] - flows["rtt_min_s"]).groupby([*results.axes, "repeat"], sort=False)
    runs = each.agg(delay=("delay", "mean"), goodput=("goodput_bps", "sum")).reset_index()
    for labels, some in runs.groupby(results.axes, sort=False):
        values = dict(zip(results.axes, map(str, cast("tuple[object, ...]", labels)), strict=True))
        points = list(zip(some["delay"].tolist(), some["goodput"].tolist(), strict=True))
        yield Tradeoff(scenario, values, values.pop(what), ellipse(points))


def figures(tradeoffs: Sequence[Tradeoff]) -> list[tuple[Plot, list[Tradeoff]]]:
    """Figure of each scenario with what it shows: a colour per queue, and per path a circle at the median in its ellipse."""
    made: list[tuple[Plot, list[Tradeoff]]] = []
    for scenario in dict.fromkeys(one.scenario for one in tradeoffs):
        some = [one for one in tradeoffs if one.scenario == scenario]
        series: list[Series] = []
        for colour, queue in enumerate(dict.fromkeys(one.queue for one in some)):
            ellipses = [one.ellipse for one in some if one.queue == queue]
            medians = [(one.x_median * 1e3, one.y_median * 1e-6) for one in ellipses]
            series.append(Series(queue, *_columns(medians), line=False, colour=colour))
            series.append(Series("", *_columns(_contours(ellipses)), markers=False, colour=colour, dash=0))
        axes = Axis("delay beyond the least round trip (ms)", start=0.0), Axis("goodput (Mbit/s, payload)")
        made.append((Plot(f"tradeoff-{scenario}", f"Delay and goodput: {scenario}", *axes, series), some))
    return made


def _contours(ellipses: Sequence[Ellipse]) -> list[tuple[float, float]]:
    """All contours in ms and Mbit/s, with a gap between two."""
    points: list[tuple[float, float]] = []
    for one in ellipses:
        x, y = one.contour()
        points += [*((a * 1e3, b * 1e-6) for a, b in zip(x, y, strict=True)), (x[-1] * 1e3, math.nan)]
    return points


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
