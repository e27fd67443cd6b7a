"""The further measurement: which one would tell most, by runs of points that explain the numbers so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from longfat.errors import LongfatError
from longfat.fit.data import SPREAD, SPREAD_OF_SHARES, Data, Measurement, Observed, is_share
from longfat.fit.runs import outputs
from longfat.fit.search import Searched
from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

POINTS = 24
"""Points of the posterior that each candidate is run with."""
USUAL = (("streams", "8"), ("congestion_control", '"bbr"'), ("window", '"256 KiB"'))
"""Values that are easy to set for one more measurement, under `flow`."""


@dataclass(frozen=True)
class Further:
    """A measurement that was not made, and what it would tell."""

    measurement: Measurement
    changes: dict[str, str]
    """Values that differ from the first measurement's."""
    narrows: str
    """Name of the unknown whose interval it narrows most."""
    to: float
    """Expected width of that interval, as a share of its width now."""
    gain: float
    """Expected reduction of the uncertainty of all unknowns, in nats."""

    def __str__(self) -> str:
        said = ", ".join(f"{path.rpartition('.')[2]} {value.strip(chr(34))}" for path, value in self.changes.items())
        return f"{said}: the interval of {self.narrows} narrows to {100 * self.to:.0f} % of its width"


def further(one: Searched, asked: Sequence[dict[str, str]] | None) -> list[Further]:
    """Candidates, the one that tells most first. `asked` are settings to try, in place of the usual ones."""
    if not one.dimensions:
        return []
    rng = np.random.default_rng(400)
    places = one.draws[rng.choice(len(one.draws), min(POINTS, len(one.draws)), replace=False)]
    first = one.data.measurements[0]
    every = [(changes, Measurement(first.setting | changes, first.values, {}, "[fit] next")) for changes in asked or _usual(one.data)]
    if not every:
        return []
    observed = [
        Observed(number, name, 1.0, 0.0, SPREAD_OF_SHARES if is_share(name) else SPREAD)
        for number in range(len(every))
        for name in first.values
    ]
    data = Data([measurement for _, measurement in every], observed)
    try:
        found = outputs(one.runs.sweep(places.tolist(), data.measurements, "next"), len(places), data)
    except LongfatError:
        if asked:
            raise
        return []  # a usual value that this file cannot take
    sigma = np.array([other.sigma for other in observed])
    setting = np.array([other.setting for other in observed])
    made = [_told(one, places, found[:, setting == number], sigma[setting == number], every[number]) for number in range(len(every))]
    return sorted(made, key=lambda further: -further.gain)


def _usual(data: Data) -> list[dict[str, str]]:
    """Usual values that no measurement has, of what measurements set; and a window where none was set."""
    made: list[dict[str, str]] = []
    first = data.measurements[0].setting
    for key, value in USUAL:
        path = next((path for path in first if path.startswith("flow") and path.endswith(f".{key}")), None)
        taken = {one.setting.get(path) for one in data.measurements} if path else {None}
        if path and value not in taken:
            made.append({path: value})
    duration = first.get("measure.duration")
    if duration and (seconds := json.loads(duration)) and all(one.setting["measure.duration"] == duration for one in data.measurements):
        number, _, unit = str(seconds).partition(" ")
        made.append({"measure.duration": f'"{4 * float(number):g} {unit}"'})
    return made


def _told(
    one: Searched,
    places: NDArray[np.float64],
    found: NDArray[np.float64],
    sigma: NDArray[np.float64],
    what: tuple[dict[str, str], Measurement],
) -> Further:
    """Expected narrowing, where unknowns and numbers are jointly normal: the variance that a regression leaves (Rasmussen, A.6)."""
    centred = places - places.mean(axis=0)
    numbers = found - found.mean(axis=0)
    count = len(places) - 1
    own = numbers.T @ numbers / count + np.diag(sigma**2)
    shared = centred.T @ numbers / count
    before = (centred**2).sum(axis=0) / count
    solved: NDArray[np.float64] = np.asarray(cast("Any", np.linalg.solve)(own, shared.T), float)
    explained = (shared * solved.T).sum(axis=1)
    # A regression on so many numbers explains some of anything: that part is taken off.
    chance = before * found.shape[1] / count
    left = np.clip(1 - np.maximum(explained - chance, 0) / np.maximum(before, 1e-12), 0.01, 1)
    most = int(left.argmin())
    return Further(what[1], what[0], one.runs.model.unknowns[most].name, float(np.sqrt(left[most])), float(-0.5 * np.log(left).sum()))
