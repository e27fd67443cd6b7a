"""The runs of a sweep before they are run: for each its number, its hash and its cost, in arrays, as a sweep may be of a million."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from longfat.cores import default_jobs
from longfat.lazy import np
from longfat.results.warning import Merged, RunWarning
from longfat.sweep.hashes import FORM, Hashes, in_hexadecimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from longfat._longfat import Document, Planned

AT_ONCE = 10_000
"""Runs that a thread plans in one go."""


class Item(NamedTuple):
    """A run of a sweep."""

    number: int
    """Number of the run, as in `Experiment.resolve`."""
    hash: str
    cost: float
    is_alone: bool = False
    """True if nothing else may run meanwhile."""


@dataclass(frozen=True, eq=False)
class Items:
    """Runs, 49 bytes for each."""

    numbers: NDArray[np.uint64]
    digests: NDArray[np.bytes_]
    """Their hashes, 32 bytes each."""
    costs: NDArray[np.float64]
    alone: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Item]:
        for start in range(0, len(self), AT_ONCE):
            yield from self.where(slice(start, start + AT_ONCE))._listed()

    def _listed(self) -> Iterator[Item]:
        return map(Item, self.numbers.tolist(), self.hashes, self.costs.tolist(), self.alone.tolist())

    def __getitem__(self, place: int) -> Item:
        return next(self.where(np.array([place]))._listed())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Items) and np.array_equal(self.numbers, other.numbers) and np.array_equal(self.digests, other.digests)

    __hash__ = None  # type: ignore[assignment]

    @property
    def cost(self) -> float:
        """Cost of all runs together."""
        return float(self.costs.sum())

    @property
    def hashes(self) -> Iterator[str]:
        """Hash of each run."""
        return in_hexadecimal(self.digests)

    @property
    def as_set(self) -> Hashes:
        """Hashes of the runs, each once."""
        return Hashes.joined([self.digests])

    def where(self, which: NDArray[Any] | slice) -> Items:
        """Subset by boolean mask or by index."""
        return Items(self.numbers[which], self.digests[which], self.costs[which], self.alone[which])

    def first(self, count: int) -> Items:
        """Returns the first `count` runs."""
        return self.where(slice(count))

    def after(self, count: int) -> Items:
        """Returns the runs after the first `count`."""
        return self.where(slice(count, None))

    def without(self, hashes: Iterable[str]) -> Items:
        """Returns the runs whose hashes are not among these."""
        return self.those(~Hashes.of(hashes).among(self.digests))

    def those(self, which: NDArray[np.bool_]) -> Items:
        """Subset by boolean mask; no copy where it is true of all."""
        return self if which.all() else self.where(which)

    def once(self) -> Items:
        """Keeps each run at the first of its places: two values of an axis may resolve to the same ("64 KiB" and "65536 bytes")."""
        _, first = np.unique(self.digests, return_index=True)
        return self if len(first) == len(self) else self.where(np.sort(first))

    def longest_first(self) -> Items:
        """Sorts the runs by cost, the longest first; runs of the same cost stay in order."""
        return self.where(np.argsort(-self.costs, kind="stable"))

    def in_rounds(self, repeats: int) -> Iterator[Item]:
        """Yields the runs one by one, repeat after repeat, and within a repeat in the order of their hashes: one that the seed draws."""
        yield from self.where(np.lexsort((self.digests, self.numbers % np.uint64(repeats))))

    def each_longest_first(self) -> Iterator[Item]:
        """Yields the runs one by one, the longest first, without a copy of all of them."""
        order = np.argsort(-self.costs, kind="stable").astype(np.uint32)
        for start in range(0, len(order), AT_ONCE):
            yield from self.where(order[start : start + AT_ONCE])._listed()


def _items(numbers: NDArray[np.uint64], digests: bytes, costs: NDArray[np.float64], alone: NDArray[np.bool_]) -> Items:
    return Items(numbers, np.frombuffer(digests, FORM), costs, alone)


@cache
def nothing() -> Items:
    """No runs."""
    return _items(np.empty(0, np.uint64), b"", np.empty(0), np.empty(0, np.bool_))


@dataclass(slots=True)
class Named:
    """A run with its labels, as `longfat._longfat.Run` has them."""

    index: int
    hash: str
    labels: list[tuple[str, str]]
    repeat: int


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment, and what is said of them all."""

    document: Document
    every: Items
    """Runs in order; some may be the same run."""
    items: Items
    """Runs, each once."""
    backends: list[str]
    seeds: NDArray[np.uint64]
    """Seeds, sorted, each once."""
    warnings: list[RunWarning]
    """Warnings that can be given before the runs are run."""

    @classmethod
    def of(cls, document: Document, numbers: Iterable[int], tick: Callable[[int], object] = lambda _: None) -> Plan:
        """Plans these runs of an experiment, in order; `tick` is told how many are.

        Raises ExperimentError for the first that has a fault.
        """
        parts: list[Items] = [nothing()]
        backends: set[str] = set()
        seeds: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
        said = Merged()
        for some, (digests, costs, seeds_here, alone, names, warnings) in _planned(document, numbers):
            part = _items(np.array(some, np.uint64), digests, costs, alone)
            parts.append(part)
            tick(sum(map(len, parts)))
            backends.update(names)
            seeds.append(np.unique(seeds_here))
            said.add(RunWarning(name, text, count, tuple(part.where(np.array(places)).hashes)) for name, text, count, places in warnings)
        whole = Items(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "digests", "costs", "alone")))
        return cls(document, whole, whole.once(), sorted(backends), np.unique(np.concatenate(seeds)), said.all())

    @property
    def named(self) -> Iterator[Named]:
        """Yields all runs in order, with what they are called."""
        repeats = self.document.repeats
        for combination, items in groupby(self.every, lambda item: item.number // repeats):
            labels = self.document.labels(combination)
            for item in items:
                yield Named(item.number, item.hash, labels, item.number % repeats)


def _planned(document: Document, numbers: Iterable[int]) -> Iterator[tuple[list[int], Planned]]:
    """Yields what `Document.plan` says of the runs, `AT_ONCE` at a time, in order. All cores do it."""
    rest = iter(numbers)
    stretches = iter(lambda: list(islice(rest, AT_ONCE)), [])
    jobs = default_jobs()
    with ThreadPoolExecutor(jobs, thread_name_prefix="longfat plan") as pool:
        under_way = deque((some, pool.submit(document.plan, some)) for some in islice(stretches, 2 * jobs))
        try:
            while under_way:
                some, future = under_way.popleft()
                yield some, future.result()
                under_way.extend((some, pool.submit(document.plan, some)) for some in islice(stretches, 1))
        finally:
            pool.shutdown(cancel_futures=True)
