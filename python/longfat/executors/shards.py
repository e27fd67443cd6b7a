"""Which runs are those of a shard: that follows from the runs alone, so that shards need not know of each other."""

from __future__ import annotations

import heapq

import numpy as np

from longfat.errors import LongfatError
from longfat.planned import Items


def read(text: str) -> tuple[int, int]:
    """`3/40`: the shard and of how many. LongfatError."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise LongfatError(f"--shard {text}: expected a number and of how many, such as 3/40; the first is 1/40, the last 40/40")
    return int(number), int(of)


def split(items: Items, shards: int) -> list[Items]:
    """The runs in `shards` parts of about equal cost: the longest first, each to the part with the least so far.

    No part has more than the mean and one run (Graham 1969, "Bounds on Multiprocessing Timing Anomalies").
    """
    parts: list[list[int]] = [[] for _ in range(shards)]
    least = [(0.0, index) for index in range(shards)]
    # By hash where the cost is equal: the order of axes in the file does not matter.
    order = np.lexsort((items.digests, -items.costs))
    for place, each in zip(order.tolist(), items.costs[order].tolist(), strict=True):
        cost, index = least[0]
        parts[index].append(place)
        heapq.heapreplace(least, (cost + each, index))
    return [items.where(np.array(part, np.int64)) for part in parts]
