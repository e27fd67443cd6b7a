"""Rules: how a number becomes `passes`, `fails` or `judge yourself`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from longfat.lazy import np
from longfat.results.repeats import half_width

PASSES, JUDGE, FAILS = "passes", "judge yourself", "fails"
WORDS = (PASSES, JUDGE, FAILS)
"""The verdicts, the best first."""
NOT_SHOWN = "not shown"
"""Stands for a verdict where the backend cannot run the experiment."""
STANDARD = ("reno", "cubic")
"""Controls that are IETF standards: RFC 5681 and RFC 9438. RFC 9743 section 5.2 compares with such."""


@dataclass(frozen=True)
class Estimate:
    """Mean over repeats, and half of its 95 % interval: 0 for one repeat, or where all are the same."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate of the mean of `values`; NaN among them does not count."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return Estimate(math.nan, 0.0)
    half = half_width(known)
    return Estimate(float(np.mean(known)), 0.0 if math.isnan(half) else half)


@dataclass(frozen=True)
class Rule:
    """A bound, or a comparison with the controls of reference on the same path."""

    better: Literal["less", "more"]
    source: str
    """Origin of the bound, in words."""
    bound: float | None = None
    """Value to keep to; None for a comparison."""
    matters: float = 0.0
    """Least difference that counts in a comparison."""
    factor: float = 2.0
    """Factor by which a control that fails a comparison is worse than the standard ones."""

    standard: tuple[str, ...] = STANDARD
    """References that decide a comparison, where they are among them."""

    def judge(self, own: Estimate, others: Mapping[str, Estimate]) -> tuple[str, float]:
        """The verdict on `own`, and how bad it is: the greater, the worse. `others` are the references on the same path, by name.

        With a bound: `passes` if the whole interval keeps to it, `fails` if none of it does. Without, beside the standard ones among the
        references, or all where none is: `passes` if the mean is no worse than the worst of them by more than what matters, `fails` if
        the whole interval is, and `factor` times as bad. `judge yourself` is what is between, and where nothing was measured.
        """
        sign = 1.0 if self.better == "less" else -1.0
        best, worst = sorted((sign * own.low, sign * own.high))
        if math.isnan(own.mean):
            return JUDGE, math.inf
        if self.bound is not None:
            limit = sign * self.bound
            word = PASSES if worst <= limit else FAILS if best > limit else JUDGE
            return word, sign * own.mean - limit
        known = {name: sign * one.mean for name, one in others.items() if not math.isnan(one.mean)}
        if not known:
            return JUDGE, math.inf
        standard = max([value for name, value in known.items() if name in self.standard] or known.values())
        # Of what should be much, a half is as bad as the double of what should be little.
        far = standard * self.factor if self.better == "less" else standard / self.factor
        limit = max(far, standard + self.matters)
        word = PASSES if sign * own.mean <= standard + self.matters else FAILS if best > limit else JUDGE
        return word, sign * own.mean - standard


def at_most(bound: float, source: str) -> Rule:
    """The value must be `bound` or less."""
    return Rule("less", source, bound)


BESIDE = "RFC 9743 gives no bound: beside the standard controls on the same path"


def less_than_others(matters: float, factor: float = 2.0) -> Rule:
    """The less the better, beside the references."""
    return Rule("less", BESIDE, None, matters, factor)


def more_than_others(matters: float, factor: float = 2.0) -> Rule:
    """The more the better, beside the references."""
    return Rule("more", BESIDE, None, matters, factor)
