"""Measured numbers: what was set, what was measured then, and how far the numbers spread."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from longfat._longfat import columns, registries
from longfat.errors import LongfatError

FLOOR = 1e-4
"""Shares (losses, retransmissions) without a stated spread are compared as logarithms of the share and this: below it, all are alike."""
SPREAD = 0.05
"""Relative standard deviation of a measured number of which nothing else is said."""
SPREAD_OF_SHARES = 0.3
"""Relative standard deviation of a share: hosts count retransmissions differently, and single runs scatter."""
FAR = 8.0
"""Standard deviations between two numbers of one setting from which they contradict each other."""


@dataclass(frozen=True)
class Measurement:
    """Numbers that were measured with one setting."""

    setting: dict[str, str]
    """Values that were set, as TOML, by their places in the experiment file."""
    values: dict[str, float]
    """Measured values by observable, in the unit of its name."""
    spreads: dict[str, float] = field(default_factory=dict[str, float])
    """Standard deviation of a value, in its unit, of those where it is known."""
    where: str = ""
    """File and line."""

    @property
    def name(self) -> str:
        """The setting in words: `cubic, window 64 KiB`."""
        words: list[str] = []
        for path, value in self.setting.items():
            key, shown = path.rpartition(".")[2], value.strip('"')
            if not path.startswith("measure.") and path != "flow[1].stop":
                words.append(shown if key == "congestion_control" else f"{key} {shown}")
        return ", ".join(words) or "as in the file"


@dataclass(frozen=True)
class Observed:
    """One number to explain: the value of an observable in one setting, on the scale on which it is compared."""

    setting: int
    observable: str
    value: float
    """As measured."""
    log: float
    """Its logarithm; of a share, that of the share and `FLOOR`."""
    sigma: float
    """Standard deviation of `log`."""
    relative: float = 0.0
    """Stated standard deviation of a share over the share and `FLOOR`: the share is then compared on its own scale. 0 otherwise."""


@dataclass(frozen=True)
class Data:
    """Measurements, each setting once."""

    measurements: list[Measurement]
    observed: list[Observed]
    notes: list[str] = field(default_factory=list[str])

    @property
    def observables(self) -> list[str]:
        """Names of what was measured."""
        return list(dict.fromkeys(one.observable for one in self.observed))


def is_share(observable: str) -> bool:
    """True if an observable has no unit: it may be 0, and is compared with `FLOOR`."""
    return not observable.endswith(("_bps", "_s", "_bytes", "_packets", "_rpm", "_segments"))


def log_of(observable: str, value: float) -> float:
    """The scale on which values are compared. NaN of what has no logarithm."""
    shown = value + FLOOR if is_share(observable) else value
    return math.log(shown) if shown > 0 else math.nan


def value_of(observable: str, log: float) -> float:
    """The value on its own scale."""
    return max(0.0, math.exp(log) - FLOOR) if is_share(observable) else math.exp(log)


def gathered(found: Iterable[Measurement], metrics: Sequence[str] | None = None, spread: float | None = None) -> Data:
    """Makes data of measurements: each setting once, each number checked.

    `metrics` are the observables that count (all, by default); `spread` the relative standard deviation of a number without one. Raises
    LongfatError where nothing is left, a number cannot be, or two contradict each other.
    """
    measurements = list(found)
    if not measurements:
        raise LongfatError("the data hold no measurement: expected at least one")
    known = list(dict.fromkeys(name for one in measurements for name in one.values))
    for name in known:
        check_observable(name, measurements[0].where)
    if metrics and (wrong := [name for name in metrics if name not in known]):
        raise LongfatError(f"[fit] metrics: the data have no {wrong[0]}: expected some of {', '.join(known)}")
    wanted = list(metrics or known)
    _check_places(measurements)
    groups: dict[tuple[tuple[str, str], ...], list[Measurement]] = {}
    for one in measurements:
        groups.setdefault(tuple(sorted(one.setting.items())), []).append(one)
    merged = [_merged(group) for group in groups.values()]
    observed: list[Observed] = []
    for number, one in enumerate(merged):
        _check_sense(one)
        observed += [_observed(number, one, name, spread) for name in wanted if name in one.values]
    if not observed:
        raise LongfatError("the data hold no number to explain")
    notes: list[str] = []
    if any(len(group) > 1 for group in groups.values()):
        count = len(measurements)
        notes.append(f"{count} measurements of {len(merged)} settings: repeats count by their mean and its standard error.")
    if without := sum(not merged[one.setting].spreads.get(one.observable) for one in observed):
        assumed = f"{100 * (SPREAD if spread is None else spread):g} %, and {100 * SPREAD_OF_SHARES:g} % for shares"
        notes.append(f"{without} of {len(observed)} numbers state no spread: {assumed} is assumed ([fit] spread).")
    return Data(merged, observed, notes)


def check_observable(name: str, where: str) -> None:
    """Raises LongfatError where nothing of a run is called so."""
    _, _, column = name.rpartition(".")
    flows = {column["name"] for column in columns()["flows"]}
    known = {entry["name"] for entry in registries()["metrics"]} | flows
    if column not in known:
        near = difflib.get_close_matches(column, sorted(known), n=1)
        hint = f"did you mean {near[0]}?" if near else "`longfat list metrics` shows what there is"
        raise LongfatError(f"{where}: nothing is measured that is called {name!r}: {hint}")


def _check_places(measurements: Sequence[Measurement]) -> None:
    """Every measurement sets the same values, since a value that one leaves open may be any."""
    places = {path for one in measurements for path in one.setting}
    for one in measurements:
        if missing := sorted(places - set(one.setting)):
            raise LongfatError(f"{one.where}: has no value of {missing[0]}, which other measurements set: say what it was")


def _check_sense(one: Measurement) -> None:
    for name, value in one.values.items():
        if not math.isfinite(value) or value < 0 or (value == 0 and not is_share(name)):
            raise LongfatError(f"{one.where}: {name} is {value:g}: expected a number above 0{' or 0' if is_share(name) else ''}")
        if is_share(name) and value > 1 and "share" in name:
            raise LongfatError(f"{one.where}: {name} is {value:g}: expected a share from 0 to 1 (2 % is 0.02)")
    for name, low in one.values.items():
        prefix, _, column = name.rpartition(".")
        if "rtt_min_s" not in column:
            continue
        for other in ("rtt_mean_s", "rtt_max_s", "rtt_p50_s"):
            beside = f"{prefix}.{other}" if prefix else other
            high = one.values.get(beside)
            within = max(0.02 * low, FAR / 2 * math.hypot(one.spreads.get(name, 0.0), one.spreads.get(beside, 0.0)))
            if high is not None and high < low - within:
                raise LongfatError(f"{one.where}: the numbers contradict each other: {other} is {high:g} s, less than rtt_min_s, {low:g} s")


def _merged(group: Sequence[Measurement]) -> Measurement:
    """Repeats of one setting as one: means, and their standard errors. LongfatError where stated spreads do not allow it."""
    if len(group) == 1:
        return group[0]
    first = group[0]
    values: dict[str, float] = {}
    spreads: dict[str, float] = {}
    for name in dict.fromkeys(name for one in group for name in one.values):
        some = [one for one in group if name in one.values]
        numbers = [one.values[name] for one in some]
        values[name] = sum(numbers) / len(numbers)
        stated = [one.spreads.get(name) for one in some]
        least, most = min(some, key=lambda one: one.values[name]), max(some, key=lambda one: one.values[name])
        if all(stated):
            both = math.hypot(least.spreads[name], most.spreads[name])
            if most.values[name] - least.values[name] > FAR * both:
                raise LongfatError(
                    f"{least.where} and {most.where} contradict each other: {name} is {least.values[name]:g} and {most.values[name]:g} "
                    f"with the same setting, {(most.values[name] - least.values[name]) / both:.0f} standard deviations apart"
                )
            spreads[name] = math.sqrt(sum(one * one for one in stated if one)) / len(some)
        if len(numbers) > 1:
            variance = sum((number - values[name]) ** 2 for number in numbers) / (len(numbers) - 1)
            # Repeats tell more than what was stated, where they differ by more.
            spreads[name] = max(spreads.get(name, 0.0), math.sqrt(variance / len(numbers)))
    return replace(first, values=values, spreads=spreads)


def _observed(setting: int, one: Measurement, name: str, spread: float | None) -> Observed:
    value, share = one.values[name], is_share(name)
    relative = spread if spread is not None else SPREAD
    log = log_of(name, value)
    known = one.spreads.get(name)
    # A deviation on the scale of logarithms, which a large one cannot be read from one end alone.
    stated = known / (value + FLOOR if share else value) if known else 0.0
    sigma = math.log1p(stated) or (SPREAD_OF_SHARES if share else relative)
    return Observed(setting, name, value, log, max(sigma, 1e-3), max(stated, 1e-3) if share and stated else 0.0)
