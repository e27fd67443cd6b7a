"""Runs of a model: points by settings, each an ordinary run of a sweep, in one folder of results per model."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longfat.errors import ExperimentError, LongfatError
from longfat.experiment import Experiment
from longfat.fit.data import Data, Measurement, log_of
from longfat.fit.unknowns import Model
from longfat.lazy import np
from longfat.results.results import Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUMS = ("_bps", "bytes_", "segments_", "packets_", "timeouts")
"""Columns of flows of which a group has the sum; of all others it has the mean."""


MEASURED = "measured"
"""Group of the transfer that was measured; the first of a file where none is called so."""


@dataclass
class Runs:
    """Points of a model that were run, and what each gave in each setting."""

    model: Model
    folder: Path | None
    file: str
    jobs: int | None = None
    executor: Executor | None = None
    tick: Callable[[int], object] = lambda _: None
    places: list[list[float]] = field(default_factory=list[list[float]])
    """Points, from 0 to 1 per unknown."""

    def add(self, places: Sequence[Sequence[float]], data: Data) -> NDArray[np.float64]:
        """Runs more points in every setting. Returns the outputs of all points, as `outputs` does."""
        self.places += [list(map(float, place)) for place in places]
        return outputs(self.sweep(self.places, data.measurements, "fit"), len(self.places), data)

    def sweep(self, places: Sequence[Sequence[float]], measurements: Sequence[Measurement], name: str) -> Results:
        """Results of points in settings. Raises LongfatError where the file has axes of its own."""
        made = self.experiment(places, measurements)
        folder = self.folder / name if self.folder else None
        return made.sweep(folder, jobs=self.jobs, executor=self.executor, tick=lambda work: self.tick(work.done))

    def experiment(self, places: Sequence[Sequence[float]], measurements: Sequence[Measurement]) -> Experiment:
        """The file over points (axis `point`) and settings (axis `setting`). The seed is another for each point."""
        made = Experiment(self.model.over(places), self.file, name="fit")
        labels = range(1, len(places) + 1)
        seeds = ", ".join(f'{{ label = "{label}", value = {label} }}' for label in labels)
        if extra := [axis for axis in made.axes if axis != "point"] or (
            [] if made.run_count == max(1, len(made.axes) and len(places)) else ["repeats"]
        ):
            raise LongfatError(f"{self.file}: varies {extra[0]}: a file to fit has unknowns, and no sweep or repeats of its own")
        made.set("seed", f'{{ name = "point", zip = "point", sweep = [{seeds}] }}')
        for path in measurements[0].setting:
            values = ", ".join(_labelled(number + 1, one.setting[path]) for number, one in enumerate(measurements))
            try:
                made.set(path, f'{{ name = "setting", zip = "setting", sweep = [{values}] }}')
            except ExperimentError as error:
                raise LongfatError(f"{measurements[0].where}: {path} cannot be set in {self.file}: {error}") from error
        return made


def _labelled(label: int, toml: str) -> str:
    return f'{{ label = "{label}", {toml[1:-1]} }}' if toml.startswith("{") else f'{{ label = "{label}", value = {toml} }}'


def outputs(results: Results, count: int, data: Data) -> NDArray[np.float64]:
    """Outputs of points: one row per point, one column per number observed, on the scale on which it is compared.

    A run without the value, such as a transfer of which nothing arrived, gets the least of all others.
    """
    made = np.full((count, len(data.observed)), np.nan)
    runs = results.runs
    point = runs["point"].astype(int).to_numpy() - 1 if "point" in runs else np.zeros(len(runs), int)
    setting = runs["setting"].astype(int).to_numpy() - 1 if "setting" in runs else np.zeros(len(runs), int)
    columns = {name: column(results, name) for name in data.observables}
    table: dict[str, Any] = {}
    for name, values in columns.items():
        grid = np.full((count, len(data.measurements)), np.nan)
        grid[point, setting] = [log_of(name, value) for value in values]
        table[name] = grid
    for number, one in enumerate(data.observed):
        values = table[one.observable][:, one.setting]
        known = values[np.isfinite(values)]
        if not len(known):
            raise LongfatError(f"no run has a value of {one.observable}: it cannot be fitted with this file")
        made[:, number] = np.where(np.isfinite(values), values, known.min() - 1)
    return made


def column(results: Results, name: str) -> list[float]:
    """An observable of each run: a metric of the run, or a column of its flows, or of the flows of a group (`GROUP.COLUMN`)."""
    group, _, what = name.rpartition(".")
    runs = results.runs
    if not group and what in runs:
        return [float(value) for value in runs[what]]
    flows = results.flows
    if group == MEASURED and MEASURED not in set(flows["group"]):
        group = str(flows["group"].iloc[0])
    some = flows[flows["group"] == group] if group else flows
    if not len(some) or what not in some:
        there = ", ".join(map(json.dumps, dict.fromkeys(flows["group"])))
        raise LongfatError(f"no flow of the file has {name}: expected a group of {there} and a column of flows")
    by_run = some.groupby("run", sort=False)[what]
    if "rtt_min" in what:
        made = by_run.min()
    elif "max" in what:
        made = by_run.max()
    elif what.startswith(SUMS) or what.endswith(SUMS):
        made = by_run.sum()
    else:
        made = by_run.mean()
    return [float(made.get(run, float("nan"))) for run in runs["run"]]
