"""The runs of a sweep for the page: which there are, and of each its figures over time, packed."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from longfat.errors import DamagedError
from longfat.plot import figure_of, pack
from longfat.plot.over_time import MOST_LINES, time_plots
from longfat.plot.sweeps import are_several, by_values, headline, mean_rtt
from longfat.report.answer import METRICS, said
from longfat.results.results import Results

MOST_SAMPLES = 10_000_000
"""Numbers over time in a page; where there would be more, each line is thinned to its lowest and highest points."""
LEAST_POINTS = 2000
"""To which a line is thinned at most: those that a screen shows."""
LINES = 4
"""Figures that have a line for each flow."""


@dataclass(frozen=True)
class Runs:
    """Data that lets a reader of the page pick runs."""

    facts: dict[str, Any]
    """Axes with their values; runs with their places on them; which two are shown first."""
    packs: list[str]
    """The figures of each run; empty where nothing was recorded over time."""
    resolved: list[dict[str, Any]]
    """Resolved form of each run."""
    damaged: dict[str, str]
    """Runs that cannot be read, and why."""

    @property
    def recorded(self) -> bool:
        """True if any run has something over time."""
        return any(self.packs)


def runs_of(results: Results, tick: Callable[[float], object] = lambda _: None) -> Runs:
    """Reads every run once, and tells `tick` the share that is read. A run that is damaged has no figures."""
    ordered = by_values(results).runs
    runs = results.runs.assign(rtt_mean_s=results.runs["run"].map(mean_rtt(results)))
    names = [axis for axis in results.axes if runs[axis].nunique() > 1] + (["repeat"] if runs["repeat"].nunique() > 1 else [])
    values = {name: [str(value) for value in dict.fromkeys(ordered[name])] for name in names}
    column = headline(results).column
    alone = not are_several(results.flows)
    # One flow is fair.
    left_out = {"jain_index"} if alone else set[str]()
    shown = [name for name in METRICS if name in runs and name not in left_out and (name == column or not name.endswith("_bps"))]
    listed: list[dict[str, Any]] = []
    packs: list[str] = []
    resolved: list[dict[str, Any]] = []
    points = _points(results)
    damaged: dict[str, str] = {}
    for number, row in enumerate(runs.to_dict("records")):
        tick(number / len(runs))
        words = [f"{METRICS[name][0]} {said(name, row[name])}" for name in shown if row[name] == row[name]]
        at = [values[name].index(str(row[name])) for name in names]
        try:
            result = results.open(str(row["run"]))
        except DamagedError as error:
            damaged[str(row["run"])] = str(error)
            listed.append({"at": at, "says": "; ".join([*words, "its files are damaged"])})
            packs.append("")
            continue
        listed.append({"at": at, "says": "; ".join(words)})
        resolved.append(json.loads(result.resolved))
        figures = [figure_of(plot, points) for plot in time_plots(result, named=False)]
        packs.append(pack(figures) if figures else "")
    rates = runs[column]
    start = [int(rates.argmax()), int(rates.argmin())] if rates.notna().any() else [0, len(runs) - 1]
    axes = [{"name": name, "values": known} for name, known in values.items()]
    return Runs({"axes": axes, "runs": listed, "start": start if len(runs) > 1 else [0]}, packs, resolved, damaged)


def _points(results: Results) -> int:
    """How many points a line may have."""
    flows = results.flows.groupby("run", sort=False).size().clip(upper=MOST_LINES)
    lines = int((flows * LINES + 2 * LINES).sum())
    return max(LEAST_POINTS, MOST_SAMPLES // max(1, lines))
