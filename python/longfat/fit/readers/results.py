"""Folders of results of longfat, of any backend: each combination of the axes is a measurement, repeats give its spread."""

# pandas leaves the type of cells open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from pathlib import Path

from longfat.errors import LongfatError
from longfat.experiment import load_results
from longfat.fit.data import Measurement, is_share
from longfat.fit.readers.names import Names
from longfat.fit.readers.table import toml
from longfat.store import Store

METRICS = ("goodput_total_bps", "flow_rtt_mean_s", "retransmission_rate")
"""Metrics that are read of each run: those that a person who measures would know."""
ALSO = "rtt_min_s"


def takes(path: Path) -> bool:
    """True for a folder of results."""
    return path.is_dir() and Store(path).is_there()


def read(path: Path, _: Names) -> list[Measurement]:
    """Reads every run. Raises LongfatError where an axis is not called as its value is set, so that nothing can be set by it."""
    results = load_results(path)
    document = Store(path).document()
    places = {name: _place(document, name) for name in results.axes}
    if wrong := [name for name, place in places.items() if place is None]:
        raise LongfatError(f"{path}: the axis {wrong[0]!r} cannot be read back: expected axes of single values, named after their keys")
    least = results.flows.groupby("run")[ALSO].min()
    made: list[Measurement] = []
    for row in results.runs.to_dict("records"):
        setting = {str(places[name]): toml(str(row[name])) for name in results.axes}
        values = {name: float(row[name]) for name in METRICS if name in row and row[name] == row[name]}
        values[ALSO] = float(least[row["run"]])
        kept = {name: value for name, value in values.items() if value == value and (value > 0 or is_share(name))}
        made.append(Measurement(setting, kept, {}, f"{path}: run {str(row['run'])[:8]}"))
    return made


def _place(document: object, name: str) -> str | None:
    """The place in the file of an axis; None where several values go with it, or its values are not plain."""
    found = [path for path, axis in _axes(document) if axis == name]
    return found[0] if len(found) == 1 else None


def _axes(document: object) -> list[tuple[str, str]]:
    """Place and name of each axis of a file."""
    import tomllib

    made: list[tuple[str, str]] = []

    def walk(value: object, path: str) -> None:
        if isinstance(value, dict):
            if "sweep" in value or "between" in value:
                made.append((path, str(value.get("name", path.rpartition(".")[2].partition("[")[0]))))
                return
            for key, one in value.items():
                walk(one, f"{path}.{key}" if path else str(key))
        elif isinstance(value, list):
            for number, one in enumerate(value):
                walk(one, f"{path}[{number}]")

    walk(tomllib.loads(getattr(document, "text", "")), "")
    return made
