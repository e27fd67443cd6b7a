"""Adaptive sweeps: the runs wanted depend on what runs gave (`[precision]` and `[search]` of an experiment file).

The answer follows from the experiment and the metrics of finished runs alone. A sweep that was stopped goes on where it was. Its runs
are ordinary ones: each has its number in the whole sweep, which may be far larger than what is run of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from longfat._longfat import Document
from longfat.errors import LongfatError
from longfat.results.repeats import half_width, repeats_needed

if TYPE_CHECKING:
    from longfat.results.result import Result

Known: TypeAlias = "Callable[[str], Result | None]"
"""The finished run of this hash; None of one that is not finished."""
Wanted: TypeAlias = Callable[[Known], Sequence[int]]
"""The numbers of the runs that are wanted by what is finished, finished ones among them; when all are finished, there are no more."""


class Decider:
    """Decides which runs a document wants. It keeps hashes and metrics of runs, so that each is resolved and read once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._hashes: dict[int, str] = {}
        self._metrics: dict[str, Mapping[str, float]] = {}

    @property
    def is_adaptive(self) -> bool:
        """True if what it wants depends on what runs gave."""
        return bool(self.document.precision or self.document.search)

    @property
    def most(self) -> int:
        """Upper bound on the number of runs."""
        if not self.document.search:
            return self.document.run_count
        # Both ends, and one for each halving of what is between them.
        cells = sum(2 + max(0, len(line) - 2).bit_length() if len(line) > 1 else 1 for line in self._lines())
        return cells * self.document.repeats

    def wanted(self, finished: Known) -> Sequence[int]:
        """The numbers of the runs that are wanted by what is known so far, finished ones among them, in order.

        When all are finished, there are no more.
        Raises LongfatError where the metric that decides has no value in a run.
        """
        return sorted(self._wanted(finished)) if self.is_adaptive else range(self.document.run_count)

    def _wanted(self, finished: Known) -> Iterator[int]:
        for line in self._lines():
            yield from self._search(line, finished) if self.document.search else self._repeats(line[0], finished)[0]

    def _lines(self) -> list[list[int]]:
        """The combinations along the axis that is searched, one list for each combination of the others; without a search each is alone."""
        combinations = range(self.document.run_count // self.document.repeats)
        search = self.document.search
        if not search:
            return [[combination] for combination in combinations]
        lines: dict[tuple[int, ...], list[int]] = {}
        for combination in combinations:
            choice = self.document.choice(combination)
            lines.setdefault((*choice[: search[0]], *choice[search[0] + 1 :]), []).append(combination)
        return list(lines.values())

    def _search(self, line: Sequence[int], finished: Known) -> set[int]:
        """The runs that it takes to find the first of `line` that reaches the bound: the ends, then the middle of where it must be."""
        assert self.document.search
        _, metric, bound, is_floor = self.document.search
        wanted: set[int] = set()

        def reaches(place: int) -> bool | None:
            numbers, values = self._repeats(line[place], finished, metric)
            wanted.update(numbers)
            if values is None:
                return None
            mean = sum(values) / len(values)
            return mean >= bound if is_floor else mean <= bound

        low, high = 0, len(line) - 1
        first, last = reaches(low), reaches(high)
        if first is not False or last is not True:
            return wanted
        while high - low > 1:
            middle = (low + high) // 2
            there = reaches(middle)
            if there is None:
                break
            low, high = (low, middle) if there else (middle, high)
        return wanted

    def _repeats(self, combination: int, finished: Known, metric: str | None = None) -> tuple[range, list[float] | None]:
        """The runs of a combination that are wanted; when they are enough, the values of `metric` in them."""
        most = self.document.repeats
        first = combination * most
        if not self.document.precision:
            numbers = range(first, first + most)
            return numbers, self._values(numbers, finished, metric) if metric else None
        by, within, relative, count = self.document.precision
        while True:
            numbers = range(first, first + count)
            values = self._values(numbers, finished, by)
            if values is None:
                return numbers, None
            half, mean = half_width(values), sum(values) / len(values)
            width = within * abs(mean) if relative else within
            if half <= width or count == most:
                return numbers, self._values(numbers, finished, metric) if metric else None
            # The deviation is known only roughly from few repeats: no more than twice as many at a time.
            needed = repeats_needed(count, half, width)
            count = min(most, 2 * count if math.isnan(needed) else max(count + 1, min(int(needed), 2 * count)))

    def _values(self, numbers: range, finished: Known, metric: str) -> list[float] | None:
        """The metric in these runs; None while one is not finished."""
        values: list[float] = []
        for number in numbers:
            known = self._metrics_of(self._hash(number), finished)
            if known is None:
                continue
            value = known.get(metric, math.nan)
            if math.isnan(value):
                run = self.document.run(number)
                where = ", ".join([*(f"{axis} = {label}" for axis, label in run.labels), f"repeat {run.repeat}"])
                raise LongfatError(f"{metric} decides what is run, and has no value in the run with {where}: choose another metric")
            values.append(value)
        return values if len(values) == len(numbers) else None

    def _hash(self, number: int) -> str:
        if number not in self._hashes:
            self._hashes[number] = self.document.run(number).hash
        return self._hashes[number]

    def _metrics_of(self, run: str, finished: Known) -> Mapping[str, float] | None:
        if run not in self._metrics and (found := finished(run)):
            self._metrics[run] = found.metrics
        return self._metrics.get(run)
