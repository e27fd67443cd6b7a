"""Figures that make sense for any experiment: what came out along the axes of its sweep, and runs over time."""

from __future__ import annotations

from longfat.plot.over_time import time_plots
from longfat.plot.spec import Plot
from longfat.plot.sweeps import headline, sweep_plots
from longfat.results.result import Result
from longfat.results.results import Results

__all__ = ["default_plots", "headline", "runs_to_show", "sweep_plots", "time_plots"]


def default_plots(results: Results) -> list[Plot]:
    """Plots that have something to show: of a sweep, and of the runs of `runs_to_show`."""
    plots = list(sweep_plots(results))
    plots += [plot for label, result in runs_to_show(results) for plot in time_plots(result, label)]
    return plots


def runs_to_show(results: Results) -> list[tuple[str, Result]]:
    """The run itself; of a sweep, the one with the highest and the one with the lowest throughput, or whatever runs are compared by."""
    if len(results) == 1:
        return [("", results[0])]
    metric = headline(results)
    values = results.runs[metric.column]
    if not values.notna().any():
        return [("first run", results[0])]
    return [(f"highest {metric.word}", results[int(values.argmax())]), (f"lowest {metric.word}", results[int(values.argmin())])]
