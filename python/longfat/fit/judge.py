"""The judgement: how sure each unknown is, what trades off, what is held out, and whether anything explains the numbers at all."""

# SciPy has no complete types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longfat._longfat import quantity
from longfat.fit.data import Data, is_share
from longfat.fit.posterior import draws
from longfat.fit.search import Searched
from longfat.fit.unknowns import Unknown
from longfat.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVEL = 0.95
"""Level of intervals."""
FACTOR, NARROW = 4.0, 0.25
"""An unknown is decided where its interval spans at most this factor (on a linear scale, this share of its range)."""
ROUGH = 0.5
"""It is known roughly where its interval is at most this share of its range, on its scale."""
AHEAD = 3.0
"""Least lead in the score (nats, a factor of 20) of a model that is decided."""
EDGE = 0.02
"""An interval that ends so close to an end of the range is open there."""
TRADES = 0.7
"""Rank correlation from which two unknowns trade off."""
REFUSED = 0.01
"""Probability of so large a misfit of the true model, below which a model does not explain the numbers."""
LEAST_SETTINGS = 3
"""Fewest settings of which some can be held out."""


@dataclass(frozen=True)
class Interval:
    """Verdict on an unknown: median and 95 % interval, in its unit."""

    unknown: Unknown
    low: float
    middle: float
    high: float
    verdict: str
    """`decided`, `roughly`, `at least`, `at most`, or `not decided`."""

    def __str__(self) -> str:
        said = self.unknown.said
        match self.verdict:
            case "decided" | "roughly":
                return f"{said(self.middle)} ({said(self.low)} to {said(self.high)})"
            case "at least":
                return f"at least {said(self.low)}"
            case "at most":
                return f"at most {said(self.high)}"
            case _:
                return f"not decided ({said(self.low)} to {said(self.high)})"


@dataclass(frozen=True)
class HeldOut:
    """A number predicted by a model that did not know it, on the logarithmic scale."""

    number: int
    predicted: float
    deviation: float
    score: float
    """Logarithm of the predictive density of what was measured."""
    mean: float
    """Prediction of the mean of the other settings."""
    window: float
    """Prediction of window per round trip, at most the fastest goodput of the other settings; NaN of what is no goodput."""


def intervals(one: Searched) -> list[Interval]:
    """The interval of each unknown."""
    made: list[Interval] = []
    tail = (1 - LEVEL) / 2
    for number, unknown in enumerate(one.runs.model.unknowns):
        low, middle, high = (float(value) for value in np.quantile(one.draws[:, number], [tail, 0.5, 1 - tail]))
        factor = unknown.value(high) / unknown.value(low) if unknown.scale == "log" else math.inf
        if factor <= FACTOR or (unknown.scale != "log" and high - low <= NARROW):
            verdict = "decided"
        elif high - low <= ROUGH:
            verdict = "roughly"
        elif low > EDGE * 5 and high >= 1 - 5 * EDGE:
            verdict = "at least"
        elif high < 1 - 5 * EDGE and low <= 5 * EDGE:
            verdict = "at most"
        else:
            verdict = "not decided"
        made.append(Interval(unknown, unknown.value(low), unknown.value(middle), unknown.value(high), verdict))
    return made


def trades(one: Searched) -> list[tuple[str, str, float]]:
    """Pairs of unknowns that trade off, with their rank correlation, the strongest first."""
    from scipy.stats import spearmanr

    names = [unknown.name for unknown in one.runs.model.unknowns]
    made: list[tuple[str, str, float]] = []
    for first in range(len(names)):
        for second in range(first):
            ranks: Any = spearmanr(one.draws[:, second], one.draws[:, first])
            shared = float(ranks.statistic)
            if abs(shared) >= TRADES:
                made.append((names[second], names[first], shared))
    return sorted(made, key=lambda pair: -abs(pair[2]))


def explains(one: Searched) -> float:
    """Probability of a misfit as large as that of the best point, were the model true (chi-square of numbers less unknowns)."""
    from scipy.stats import chi2

    free = max(1, len(one.data.observed) - one.dimensions)
    return float(chi2.sf(one.misfits.min(), free))


def folds(data: Data, hold_out: float) -> list[NDArray[np.bool_]]:
    """Which numbers each fold holds out: whole settings, each once. None where there are too few settings."""
    settings = len(data.measurements)
    if settings < LEAST_SETTINGS or not hold_out:
        return []
    count = min(settings, max(2, round(1 / hold_out)))
    order = np.random.default_rng(1).permutation(settings)
    parts = [set(order[start::count].tolist()) for start in range(count)]
    return [np.array([one.setting in part for one in data.observed]) for part in parts]


def held_out(one: Searched, hold_out: float) -> list[HeldOut]:
    """Each number, predicted from the settings of the other folds. The runs are those that there are: only what counts as known changes."""
    made: list[HeldOut] = []
    for seed, held in enumerate(folds(one.data, hold_out)):
        points = draws(one.emulators, one.dimensions, without=held, seed=300 + seed)
        means, deviations = one.emulators.logs(points)
        scores = one.emulators.log_likelihoods(points)
        for number in np.flatnonzero(held).tolist():
            mean = float(means[:, number].mean())
            spread = math.sqrt(float((deviations[:, number] ** 2).mean() + means[:, number].var()))
            score = float(np.logaddexp.reduce(scores[:, number]) - math.log(len(points)))
            known = [other for other, is_held in zip(one.data.observed, held, strict=True) if not is_held]
            others = [other.log for other in known if other.observable == one.data.observed[number].observable]
            average = sum(others) / len(others) if others else math.nan
            made.append(HeldOut(number, mean, spread, score, average, _by_window(one.data, number, held)))
    return sorted(made, key=lambda held: held.number)


def _by_window(data: Data, number: int, held: NDArray[np.bool_]) -> float:
    """Logarithm of window per round trip, at most the fastest of what is known; NaN for what is no goodput."""
    asked = data.observed[number]
    if not asked.observable.endswith("_bps"):
        return math.nan
    known = [one for one, is_held in zip(data.observed, held, strict=True) if not is_held]
    fastest = max((one.value for one in known if one.observable == asked.observable), default=math.nan)
    trips = [one.value for one in known if one.observable.endswith("rtt_min_s")]
    setting = data.measurements[asked.setting].setting
    window = next((quantity(value.strip('"')) for path, value in setting.items() if path.endswith(".window")), None)
    streams = next((float(value) for path, value in setting.items() if path.endswith((".streams", ".count"))), 1.0)
    limit = 8 * window[0] * streams / min(trips) if window and trips else math.inf
    return math.log(min(fastest, limit)) if fastest == fastest else math.nan


def error(data: Data, predicted: Sequence[tuple[int, float]], what: str = "_bps") -> float:
    """Median relative error of predictions of observables that end with `what`; NaN without any. 0.1 is 10 %, a factor of 1.1."""
    found = [
        math.expm1(abs(log - data.observed[number].log))
        for number, log in predicted
        if data.observed[number].observable.endswith(what) and not is_share(data.observed[number].observable) and log == log
    ]
    return float(np.median(found)) if found else math.nan


def score(one: Searched, held: Sequence[HeldOut]) -> float:
    """How well a model predicts what it did not know: sum of the logarithms of densities.

    Without anything held out: its best likelihood, less half the logarithm of how many numbers there are per unknown (Schwarz 1978).
    """
    if held:
        return sum(one.score for one in held)
    return -0.5 * float(one.misfits.min()) - 0.5 * one.dimensions * math.log(len(one.data.observed))


def lead(data: Data, best: Sequence[HeldOut], other: Sequence[HeldOut]) -> tuple[float, float]:
    """Lead of the best model over another in the score of numbers held out, and its standard error over settings."""
    differences = np.zeros(len(data.measurements))
    for one, another in zip(best, other, strict=True):
        differences[data.observed[one.number].setting] += one.score - another.score
    return float(differences.sum()), float(np.sqrt(len(differences)) * differences.std(ddof=1))
