"""What is to be said of all runs of a sweep together: how long they took, and what they should not keep to themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from longfat.warned import Merged, RunWarning

if TYPE_CHECKING:
    from longfat.result import Result


class Told(NamedTuple):
    """What is said of a run in all of them together."""

    run: str
    labels: tuple[str, ...]
    numbers: bytes
    """A digest of its metrics."""
    warnings: tuple[RunWarning, ...]
    wall_s: float
    cpu_s: float
    cost: float

    @classmethod
    def of(cls, result: Result) -> Told:
        """Of a run."""
        labels, numbers = tuple(result.labels.values()), _numbers(result.metrics)
        return cls(result.run, labels, numbers, tuple(result.warnings), result.wall_s, result.cpu_s, result.cost)


@dataclass
class _Repeats:
    """The repeats of one combination of the axes."""

    numbers: bytes
    runs: list[str]
    alike: bool = True


@dataclass
class Totals:
    """Of runs that come one after the other, in the order of the sweep. It holds their hashes, and nothing else of them."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    cost: float = 0.0
    _merged: Merged = field(default_factory=Merged)
    _combinations: dict[tuple[str, ...], _Repeats] = field(default_factory=dict[tuple[str, ...], _Repeats])

    def add(self, results: Iterable[Result]) -> None:
        """These come next."""
        self.hear(map(Told.of, results))

    def hear(self, told: Iterable[Told]) -> None:
        """The same, of what is to be said of them."""
        for one in told:
            self.wall_s += one.wall_s
            self.cpu_s += one.cpu_s
            self.cost += one.cost
            self._merged.add(one.warnings)
            combination = self._combinations.setdefault(one.labels, _Repeats(one.numbers, []))
            combination.runs.append(one.run)
            combination.alike &= one.numbers == combination.numbers

    @property
    def warnings(self) -> list[RunWarning]:
        """Each once, with the runs it is of."""
        repeated = [one for one in self._combinations.values() if len(one.runs) > 1]
        same = [one for one in repeated if one.alike]
        if not same:
            return self._merged.all()
        of_all = "" if len(repeated) == 1 else f" in {len(same):,} of {len(repeated):,} combinations"
        text = f"{len(same[0].runs)} repeats gave the same in every metric{of_all}: nothing that matters is random"
        return [RunWarning("repeats_alike", text, 1, tuple(run for one in same for run in one.runs)), *self._merged.all()]


def _numbers(metrics: Mapping[str, float]) -> bytes:
    """A digest of what a run gave."""
    return hashlib.sha256(repr([None if value != value else value for value in metrics.values()]).encode()).digest()[:16]
