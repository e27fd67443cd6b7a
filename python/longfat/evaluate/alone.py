"""One path of a sweep: its experiment, with one value of each axis."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, cast

from longfat.errors import ExperimentError
from longfat.experiment import Experiment


def alone(experiment: Experiment, labels: dict[str, str]) -> str:
    """The experiment as TOML with one value of each axis, those of these labels: one path, with its repeats."""
    one = Experiment(experiment.text, name=experiment.name)
    chosen = {axis: values.index(labels[axis]) for axis, values in experiment.axes.items()}
    wanted = {path: _without_label(values[chosen[axis]]) for path, axis, values in _sweeps(tomllib.loads(experiment.text), "")}
    while wanted:
        refused: dict[str, Any] = {}
        for path, value in wanted.items():
            try:
                one[path] = value
            except ExperimentError:
                # It may need another to be set first: a short duration, the warmup that goes with it.
                refused[path] = value
        if len(refused) == len(wanted):
            one[next(iter(refused))] = refused[next(iter(refused))]
        wanted = refused
    return one.changed_text


def _without_label(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    return table["value"] if "value" in table else {key: item for key, item in table.items() if key != "label"}


def _sweeps(value: Any, path: str) -> Iterator[tuple[str, str, list[Any]]]:
    """Path, axis and values of each sweep of a file."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        if "sweep" in table:
            yield path, str(table.get("name", path.rpartition(".")[2])), table["sweep"]
            return
        for key, item in table.items():
            if key != "quick":
                yield from _sweeps(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _sweeps(item, f"{path}[{number}]")
