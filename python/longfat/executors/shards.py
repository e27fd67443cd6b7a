"""Which runs are those of a shard: that follows from the experiment alone, so that shards need not know of each other.

Runs go to groups of shards by their numbers, and within a group to shards by what they cost. A shard therefore plans its group alone: that
is all of a small sweep, and of a large one as many runs as make even shares.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longfat.errors import LongfatError
from longfat.lazy import np
from longfat.sweep.plan import Items

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 1_000_000
"""Shards. More than any batch system has tasks."""
TOGETHER = 20_000
"""Runs of a group, about, where a shard has not more: it takes a second to plan them, and means of so many differ by 1 % where single runs
differ as much as their mean."""


def read(text: str) -> tuple[int, int]:
    """`3/40`: the shard and of how many. LongfatError."""
    number, slash, of = text.partition("/")
    digits = len(str(MOST))
    is_pair = slash and all(part.isdecimal() and len(part) <= digits for part in (number, of))
    if not (is_pair and 1 <= int(number) <= int(of) <= MOST):
        raise LongfatError(
            f"--shard {text}: expected a number and of how many, such as 3/40; the first is 1/40, the last 40/40; at most {MOST:,}"
        )
    return int(number), int(of)


@dataclass(frozen=True)
class Cut:
    """A sweep of `runs` runs in `shards` shards."""

    runs: int
    shards: int

    @property
    def groups(self) -> int:
        """How many there are; each has as many shards, or one more."""
        return max(1, min(self.shards, self.runs // TOGETHER))

    def group(self, shard: int) -> int:
        """Group of a shard, from 0."""
        return shard * self.groups // self.shards

    def members(self, group: int) -> range:
        """The shards of a group."""
        return range(-(-group * self.shards // self.groups), -(-(group + 1) * self.shards // self.groups))

    def numbers(self, group: int) -> NDArray[np.uint64]:
        """The runs of a group, in order."""
        blocks = np.arange(-(-self.runs // self.shards), dtype=np.uint64)
        members = np.array(self.members(group), np.uint64)
        place = (members + np.uint64(self.shards) - self._turns(blocks)[:, None]) % np.uint64(self.shards)
        numbers = np.sort(blocks[:, None] * np.uint64(self.shards) + place).ravel()
        return numbers[numbers < self.runs]

    def groups_of(self, numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The group of each of these runs."""
        shards = np.uint64(self.shards)
        shard = (numbers % shards + self._turns(numbers // shards)) % shards
        return (shard * np.uint64(self.groups) // shards).astype(np.int64)

    def _turns(self, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Each shard has one of as many runs as there are shards, one after the other in the sweep: by how much they are turned.

        Not by the same each time, or a shard would have all runs of one value of an axis.
        """
        # SplitMix64 of the block's number.
        mixed = (blocks + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (mixed ^ (mixed >> np.uint64(31))) % np.uint64(self.shards)

    def split(self, every: Items) -> list[Items]:
        """All runs of the sweep in shards. A run that is there twice is in one shard of each group that has it."""
        groups = self.groups_of(every.numbers)
        return [part for group in range(self.groups) for part in balanced(every.where(groups == group).once(), len(self.members(group)))]


def balanced(items: Items, parts: int) -> list[Items]:
    """The runs in `parts` parts of about equal cost: the longest first, each to the part with the least so far.

    No part has more than the mean and one run (Graham 1969, "Bounds on Multiprocessing Timing Anomalies").
    """
    taken = min(parts, len(items))
    places: list[list[int]] = [[] for _ in range(taken)]
    least = [(0.0, index) for index in range(taken)]
    # Runs of equal cost are sorted by hash: the order of axes in the file does not matter.
    order = np.lexsort((items.digests, -items.costs))
    for place, each in zip(order.tolist(), items.costs[order].tolist(), strict=True):
        cost, index = least[0]
        places[index].append(place)
        heapq.heapreplace(least, (cost + each, index))
    return [items.where(np.array(part, np.int64)) for part in places] + [items.first(0)] * (parts - taken)
