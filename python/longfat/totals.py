"""What is to be said of all runs of a sweep together: how long they took, and what they should not keep to themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longfat.warned import Merged, RunWarning

if TYPE_CHECKING:
    from longfat.results import Result


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
        for result in results:
            self.wall_s += result.wall_s
            self.cpu_s += result.cpu_s
            self.cost += result.cost
            self._merged.add(result.warnings)
            numbers = _numbers(result.metrics)
            combination = self._combinations.setdefault(tuple(result.labels.values()), _Repeats(numbers, []))
            combination.runs.append(result.run)
            combination.alike &= numbers == combination.numbers

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
