"""Summary of a sweep: CPU and wall time of its runs, and their warnings, each once."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from longfat.results.warning import MOST_RUNS, Merged, RunWarning

if TYPE_CHECKING:
    from longfat.results.result import Result


class RunSummary(NamedTuple):
    """Share of one run in the summary of its sweep."""

    run: str
    labels: tuple[str, ...]
    numbers: bytes
    """A digest of its metrics."""
    warnings: tuple[RunWarning, ...]
    wall_s: float
    cpu_s: float
    cost: float

    @classmethod
    def of(cls, result: Result) -> RunSummary:
        """Summary of a run."""
        labels, numbers = tuple(result.labels.values()), _numbers(result.metrics)
        return cls(result.run, labels, numbers, tuple(result.warnings), result.wall_s, result.cpu_s, result.cost)


@dataclass(frozen=True)
class _Repeats:
    """The repeats of one combination of the axes, as far as they have come."""

    labels: tuple[str, ...]
    numbers: bytes
    first: tuple[str, ...]
    """The first `MOST_RUNS` of them."""
    count: int = 1
    alike: bool = True

    def and_of(self, one: RunSummary) -> _Repeats:
        """With the next."""
        first = (*self.first, one.run) if self.count < MOST_RUNS else self.first
        return _Repeats(self.labels, self.numbers, first, self.count + 1, self.alike and one.numbers == self.numbers)


@dataclass(frozen=True)
class _Alike:
    """Combinations with several repeats, and those whose repeats were alike."""

    repeated: int = 0
    """Number of combinations with several repeats."""
    alike: int = 0
    """Number of combinations whose repeats gave the same each time."""
    repeats: int = 0
    """Number of repeats of the first combination that did."""
    first: tuple[str, ...] = ()
    """The first `MOST_RUNS` runs of those combinations."""
    runs: int = 0
    """Number of runs of those combinations."""

    def and_of(self, one: _Repeats | None) -> _Alike:
        """With the next."""
        if one is None or one.count < 2:
            return self
        if not one.alike:
            return replace(self, repeated=self.repeated + 1)
        first = (*self.first, *one.first)[:MOST_RUNS]
        return _Alike(self.repeated + 1, self.alike + 1, self.repeats or one.count, first, self.runs + one.count)


@dataclass
class SweepSummary:
    """Summary of runs that come one after the other in the order of the sweep, the repeats of a combination of the axes together.

    It holds nothing per run, and 16 bytes per run with a warning.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    cost: float = 0.0
    _merged: Merged = field(default_factory=lambda: Merged(MOST_RUNS))
    _last: _Repeats | None = None
    _alike: _Alike = _Alike()

    def add(self, results: Iterable[Result]) -> None:
        """These runs come next."""
        self.add_all(map(RunSummary.of, results))

    def add_all(self, summaries: Iterable[RunSummary]) -> None:
        """The runs with these summaries come next."""
        for one in summaries:
            self.wall_s += one.wall_s
            self.cpu_s += one.cpu_s
            self.cost += one.cost
            self._merged.add(one.warnings)
            if self._last and self._last.labels == one.labels:
                self._last = self._last.and_of(one)
            else:
                self._alike = self._alike.and_of(self._last)
                self._last = _Repeats(one.labels, one.numbers, (one.run,))

    @property
    def warnings(self) -> list[RunWarning]:
        """Returns each warning once, with the first of its runs and the number of the others."""
        found = self._alike.and_of(self._last)
        if not found.alike:
            return self._merged.all()
        of_all = "" if found.repeated == 1 else f" in {found.alike:,} of {found.repeated:,} combinations"
        text = f"{found.repeats} repeats gave the same in every metric{of_all}: nothing that matters is random"
        more = found.runs - len(found.first)
        return [RunWarning("repeats_alike", text, 1, found.first, more), *self._merged.all()]


def _numbers(metrics: Mapping[str, float]) -> bytes:
    """A digest of what a run gave, as `tables_of_all` makes it."""
    cells = [math.nan if value != value else value for value in metrics.values()]
    return hashlib.sha256(struct.pack(f"<{len(cells)}d", *cells)).digest()[:16]
